/*
 * wait.c
 *		Wait events: from begin to the summaries and histories.
 */
#include "core/wait.h"

#include "core/clock.h"
#include "core/digest_wait.h"
#include "core/rollup.h"
#include "core/wait_end.h"

const uint8_t pfs_part_of_operation[PFS_OPERATIONS] = {
#define PFS_OPERATION(symbol, word, part) [PFS_OPERATION_##symbol] = PFS_IO_##part,
#include "core/operations.def"
#undef PFS_OPERATION
};

/* --- totals of statements --- */

__attribute__((noinline)) PfsTimerStat *
pfs_wait_find_total(PfsWaitTotals *totals, uint32_t wait)
{
	uint32_t	i;

	for (i = 0; i < totals->used && totals->wait[i] != wait; i++)
		;
	if (i == PFS_WAIT_TOTALS)
		return NULL;
	totals->last = i;
	if (i == totals->used)
	{
		totals->used++;
		totals->wait[i] = (uint16_t) wait;
		totals->stat[i] = (PfsTimerStat) {0};
	}
	return &totals->stat[i];
}

void
pfs_wait_hand_over(PfsSession *session, PfsStatement *statement)
{
	const PfsWaitTotals *totals = &statement->waits;
	PfsStatement *parent = statement->parent;

	if (statement->record->digest != PFS_DIGEST_NONE)
		pfs_digest_wait_add(session->arena, session->thread, statement->record->digest,
							statement->record->digest_generation, totals);
	for (uint32_t i = 0; parent != NULL && i < totals->used; i++)
	{
		PfsTimerStat *total = pfs_wait_total_of(&parent->waits, totals->wait[i]);

		if (total != NULL)
			pfs_timer_stat_merge(total, &totals->stat[i]);
		else
			pfs_add_shared(&session->arena->loss[PFS_LOSS_WAIT_TOTALS], totals->stat[i].count);
	}
	if (parent != NULL)
		pfs_statement_count(parent, PFS_COUNTER_LOCK_TIME,
							pfs_record_counter(statement->record, PFS_COUNTER_LOCK_TIME));
}

void
pfs_wait_adopt(PfsSession *session, PfsStatement *statement)
{
	statement->waits = session->waits;
	session->waits.used = session->waits.last = 0;
	for (uint32_t i = 0; i < statement->waits.used; i++)
		if (pfs_wait_instrument(session->arena, statement->waits.wait[i])->kind == PFS_WAIT_LOCK)
			pfs_statement_count(statement, PFS_COUNTER_LOCK_TIME, statement->waits.stat[i].sum);
}

void
pfs_wait_bill(PfsSession *session, uint32_t digest, uint32_t generation)
{
	if (session->waits.used == 0 || !pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	pfs_digest_wait_add(session->arena, session->thread, digest, generation, &session->waits);
	session->waits.used = session->waits.last = 0;
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

/* --- recording --- */

void
pfs_wait_remember(PfsSession *session, PfsWaitHot *hot, uint32_t wait, uint64_t changes)
{
	PfsArena   *arena = session->arena;
	const PfsInstrument *instrument = pfs_wait_instrument(arena, wait);
	bool		busy = session->busy;

	pfs_clock_follow(arena);
	/* a signal handler in the middle would leave a mixture of its wait and ours */
	session->busy = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*hot = (PfsWaitHot)
	{
		.wait = wait,
		.changes = changes,
		.enabled = pfs_load(&instrument->enabled) && wait < arena->sizes.waits,
		.timed = pfs_load(&instrument->timed),
		.kind = instrument->kind,
		.scope = (pfs_load(&arena->gate) & PFS_WANTS(THREAD)) != 0 ? PFS_SCOPE_THREAD
			: PFS_SCOPE_GLOBAL
	};
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	session->busy = busy;
}

/* The thread's cell of a wait that ends now; NULL: the pool is full.  Inside seq. */
PFS_COLD void *
pfs_wait_find_cell(PfsSession *session, uint32_t wait)
{
	PfsArena   *arena = session->arena;
	PfsWaitHot *hot = pfs_wait_hot(session, wait);
	PfsFamily	family = pfs_wait_family(hot->kind);
	char	   *cell;

	if (wait >= arena->sizes.waits || hot->cell != NULL)
		return hot->cell;
	pfs_calls_sum(arena, session->thread);	/* cells never go back to an older epoch */
	cell = pfs_cell_at(arena, session->thread, hot->scope, family, pfs_wait_cell_number(arena, wait),
					   sizeof(PfsCell) + pfs_stat_bytes(family), (uint32_t) (hot->changes >> 32));
	/* its content is told by the kind, which is no constant: room for the largest */
	if (cell != NULL && cell + sizeof(PfsIoCell) <= PFS_AT(arena, arena->bytes, char))
		hot->cell = cell;
	return hot->cell;
}

PFS_COLD PfsIoStat *
pfs_wait_find_socket(PfsSession *session)
{
	PfsSocket  *socket = &session->thread->socket;

	if (!pfs_load(&socket->used))
		return NULL;
	pfs_calls_sum(session->arena, session->thread);
	return session->wait_rows.socket = pfs_socket_stat(session->arena, socket);
}

PFS_COLD PfsObjectCell *
pfs_wait_find_file(PfsSession *session, const PfsWait *wait)
{
	PfsObjectCell *cell = pfs_file_cell(session->arena, session->thread, wait->row, wait->use);

	if (wait->cell != NULL)
		*wait->cell = cell;
	return cell;
}

void
pfs_wait_show(PfsSession *session, PfsWait *wait)
{
	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	pfs_wait_row_open(session, wait);
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

PFS_HOT void
pfs_wait_end(PfsSession *session, PfsWait *wait, PfsTicks end, int64_t bytes)
{
	pfs_wait_end_here(session, wait, end, bytes);
}

/*
 * What the session knows of a wait that is timed; NULL: it does not know enough for a short way, for which the clock must
 * be near, too: as long as no switch changes it stays so.
 */
static const PfsWaitHot *
known_wait(PfsSession *session, uint32_t wait)
{
	const PfsWaitHot *hot = &session->hot[wait % PFS_WAITS_HOT];

	return hot->wait == wait && hot->cell != NULL && hot->changes == session->decided && hot->enabled && hot->timed &&
		(session->wants & PFS_GATE_CALLS) != 0 && pfs_now_is_near() ? hot : NULL;
}

/* What calls on a socket are, by PfsIoPart. */
static const PfsOperation socket_operations[] = {[PFS_IO_READ] = PFS_OPERATION_RECV,[PFS_IO_WRITE] = PFS_OPERATION_SEND};

bool
pfs_wait_know_socket(PfsSession *session, uint32_t wait, uint64_t object, PfsSocketKnown *known)
{
	const PfsWaitHot *hot = known_wait(session, wait);
	const PfsWaitRows *rows = &session->wait_rows;
	PfsThread  *thread = session->thread;

	*known = (PfsSocketKnown) {.object = object,.wait = wait,.shown = rows->shown};
	if (hot == NULL || rows->socket == NULL || hot->scope != PFS_SCOPE_THREAD || (rows->shown && !rows->history) ||
		!pfs_enter_recording(session))
		return false;
	for (int io = PFS_IO_READ; io <= PFS_IO_WRITE; io++)
		known->what[io] = pfs_wait_row_what(session, wait, socket_operations[io], PFS_WAIT_OBJECT_SOCKET);
	known->sums = &thread->call_sums;
	known->changes = hot->changes;
	/* what counts from now on is of this epoch */
	pfs_seq_write_begin(&thread->seq);
	pfs_calls_sum(session->arena, thread);
	pfs_store(&thread->call_sums.epoch, (uint32_t) (hot->changes >> 32));
	pfs_store(&thread->call_sums.wait, wait);
	pfs_store(&thread->call_sums.idle_wait, PFS_NO_WAIT);
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
	return true;
}

void
pfs_wait_know_idle(PfsSession *session, uint32_t wait, PfsSocketKnown *known)
{
	const PfsWaitHot *hot = known_wait(session, wait);

	known->idle = hot != NULL && hot->changes == known->changes && known->shown;
	if (!known->idle)
		return;
	known->idle_what = pfs_wait_row_what(session, wait, PFS_OPERATION_IDLE, PFS_WAIT_OBJECT_SOCKET);
	pfs_store(&known->sums->idle_wait, wait);
}

PFS_HOT __attribute__((noinline)) void
pfs_wait_charge_call(PfsSession *session, const PfsSocketKnown *known, PfsTicks start, PfsTicks end)
{
	pfs_wait_charge(session, PFS_WAIT_SOCKET, known->wait, pfs_wait_ticks(start, end));
}

void
pfs_wait_end_socket_otherwise(PfsSession *session, const PfsSocketKnown *known, PfsIoPart io, PfsSocketCall call,
							  int64_t bytes, PfsTicks end)
{
	PfsThread  *thread = session->thread;
	PfsWaitRows *rows = &session->wait_rows;
	PfsWait		wait = {.start = call.start,.event_id = call.event_id,.wait = known->wait,
		.kind = PFS_WAIT_SOCKET,.operation = socket_operations[io]};

	/* if it still stands at the head, it is one of the waits inside each other now */
	if (call.event_id != 0 && call.record == &rows->slots[rows->head].record && call.record->event_id == call.event_id)
	{
		wait.level = rows->level_at_head = (uint8_t) (pfs_load(&thread->wait_depth) + 1);
		pfs_store(&thread->wait_depth, wait.level);
	}
	pfs_wait_end(session, &wait, end, bytes);
}

PFS_HOT void
pfs_wait_add(PfsSession *session, uint32_t wait, PfsTicks ticks)
{
	PfsWaitCell *cell;

	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	cell = pfs_wait_cell_of(session, wait);
	if (pfs_likely(cell != NULL))
		pfs_timer_stat_add(&cell->stat, ticks);
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

void
pfs_wait_drop(PfsSession *session, PfsWait *wait)
{
	if (wait->level == 0 || !pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	pfs_wait_row_drop(session, wait);
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

/*
 * Rows read and changed together are one event: the count says rows, the time is that of all.  What the time stands
 * for may have made no rows, or rows that TRUNCATE took away: the average stays below the maximum.
 */
static inline void
add_rows(PfsTimerStat *stat, uint64_t rows, PfsTicks ticks, uint64_t weight)
{
	uint64_t	most;

	if (rows == 0 && pfs_load(&stat->count) == 0)
		return;					/* no time without rows */
	pfs_add(&stat->count, rows);
	if (ticks == 0)
		return;
	pfs_timer_stat_extremes(stat, ticks);
	if (__builtin_mul_overflow(pfs_load(&stat->max), pfs_load(&stat->count), &most))
		most = UINT64_MAX;
	pfs_store(&stat->sum, pfs_min(pfs_load(&stat->sum) + weight * ticks, most));
}

/* What rows of tables are in waits; with an operation more, in those of it. */
static inline uint64_t
what_of_rows(const PfsSession *session)
{
	return pfs_wait_row_what(session, pfs_load(&session->arena->table_wait), PFS_OPERATION_FETCH, PFS_WAIT_OBJECT_TABLE);
}

_Static_assert(PFS_OPERATION_INSERT == PFS_OPERATION_FETCH + (int) PFS_TABLE_INSERT &&
			   PFS_OPERATION_UPDATE == PFS_OPERATION_FETCH + (int) PFS_TABLE_UPDATE &&
			   PFS_OPERATION_ROW_DELETE == PFS_OPERATION_FETCH + (int) PFS_TABLE_DELETE, "in the same order");

static inline uint64_t
what_of_operation(uint64_t what, PfsTableOperation operation)
{
	return what + operation * (PfsWaitRecord) {.operation = 1}.what;
}

PFS_HOT void
pfs_wait_table_sampled(PfsSession *session, uint32_t row, uint32_t use, PfsTableOperation operation,
					   uint64_t rows, PfsTicks start, PfsTicks ticks, uint64_t weight)
{
	PfsArena   *arena = session->arena;
	uint32_t	number = pfs_load(&arena->table_wait);
	PfsObjectCell *table;
	PfsWaitCell *cell;

	if ((rows == 0 && ticks == 0) || !pfs_wait_enabled(session, number) || !pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	cell = pfs_wait_cell_of(session, number);
	if (pfs_likely(cell != NULL))
		add_rows(&cell->stat, rows, ticks, weight);
	table = pfs_table_cell(arena, session->thread, row, use);
	if (pfs_likely(table != NULL))
	{
		pfs_seq_write_begin(&table->head.seq);
		add_rows(&table->stat.table.operation[operation], rows, ticks, weight);
		pfs_seq_write_end(&table->head.seq);
	}
	if (pfs_unlikely(session->wait_rows.shown) && rows != 0)
		pfs_wait_row_whole(session, what_of_operation(what_of_rows(session), operation), pfs_table_object(row, use),
						   ticks != 0 ? start : 0, ticks != 0 ? start + ticks : 0, (int64_t) rows);
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

bool
pfs_wait_rows_timed(PfsSession *session)
{
	return pfs_wait_hot(session, pfs_load(&session->arena->table_wait))->timed != 0;
}

/* Inside another wait. */
static PFS_COLD void
show_rows_inside(PfsSession *session, uint64_t what, uint64_t object, uint64_t rows)
{
	pfs_seq_write_begin(&session->thread->seq);
	pfs_wait_row_whole_inside(session, what, object, 0, 0, (int64_t) rows);
	pfs_seq_write_end(&session->thread->seq);
}

PFS_HOT __attribute__((noinline)) void
pfs_wait_rows_show(PfsSession *session, const PfsStatement *statement, uint64_t object, PfsTableOperation operation,
				   uint64_t rows)
{
	uint64_t	what = what_of_operation(session->wait_rows.table_what, operation);

	if (!pfs_enter_recording(session))
		return;
	if (pfs_unlikely(pfs_load(&session->thread->wait_depth) != 0))
		show_rows_inside(session, what, object, rows);
	else
		pfs_wait_row_whole_alone(session, statement, what, object, 0, 0, (int64_t) rows);
	pfs_leave_recording(session);
}

PfsObjectCell pfs_no_cell = {.head.key = UINT64_MAX};

/* Finds out what pfs_wait_rows needs to know. */
static void
remember_rows(PfsSession *session, PfsObjectCell **cell, uint32_t row, uint32_t use, uint32_t number)
{
	PfsArena   *arena = session->arena;
	PfsRowsHot *hot = &session->rows;
	PfsObjectCell *found;
	PfsWaitCell *by_name;
	uint64_t	at;
	uint64_t	changes = pfs_load_acquire(&arena->changes);

	*cell = &pfs_no_cell;
	hot->changes = 0;
	hot->timed = pfs_wait_rows_timed(session);
	if (!pfs_wait_enabled(session, number) || !pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	found = pfs_table_cell(arena, session->thread, row, use);
	if (found != NULL)
		*cell = found;
	by_name = pfs_wait_cell_of(session, number);
	pfs_seq_write_end(&session->thread->seq);
	at = (uint64_t) ((char *) by_name - (char *) arena) / 8;
	if (by_name != NULL && at <= UINT32_MAX && pfs_load_acquire(&arena->changes) == changes)
	{
		hot->cell = (uint32_t) at;
		hot->shown = session->wait_rows.shown;
		session->wait_rows.table_what = what_of_rows(session);
		hot->changes = changes;
	}
	pfs_leave_recording(session);
}

void
pfs_wait_rows_slow(PfsSession *session, PfsObjectCell **cell, uint32_t row, uint32_t use,
				   PfsTableOperation operation, uint64_t rows)
{
	pfs_wait_table(session, row, use, operation, rows, 0, 0);
	remember_rows(session, cell, row, use, pfs_load(&session->arena->table_wait));
}
