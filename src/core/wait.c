/*
 * wait.c
 *		Wait events: from begin to the summaries and histories.
 */
#include "core/wait.h"

#include "core/clock.h"
#include "core/digest_wait.h"
#include "core/history.h"
#include "core/rollup.h"
#include "core/wait_row.h"

static const uint8_t part_of[PFS_OPERATIONS] = {
#define PFS_OPERATION(symbol, word, part) [PFS_OPERATION_##symbol] = PFS_IO_##part,
#include "core/operations.def"
#undef PFS_OPERATION
};

/* --- totals of statements --- */

/* The total of a wait; NULL when there are too many kinds. */
static inline PfsTimerStat *
total_of(PfsWaitTotals *totals, uint32_t wait)
{
	uint32_t	i = totals->last;

	if (pfs_likely(totals->used > 0 && totals->wait[i] == wait))
		return &totals->stat[i];
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

/* Idle time belongs to no statement, and a table's time contains other waits. */
static inline void
charge(PfsSession *session, PfsWaitKind kind, uint32_t wait, PfsTicks ticks)
{
	PfsStatement *statement = pfs_waiting_statement(session);
	PfsTimerStat *total;

	if (pfs_unlikely(kind == PFS_WAIT_IDLE))
	{
		session->waits.used = session->waits.last = 0;
		return;
	}
	if (statement == NULL && (session->rests || !session->wait_rows.unbilled))
		return;					/* there will never be one */
	total = total_of(statement != NULL ? &statement->waits : &session->waits, wait);
	if (pfs_likely(total != NULL))
		pfs_timer_stat_add(total, ticks);
	else
		pfs_lose(session->arena, PFS_LOSS_WAIT_TOTALS);
	if (kind == PFS_WAIT_LOCK && statement != NULL)
		pfs_statement_count(statement, PFS_COUNTER_LOCK_TIME, ticks);
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
		PfsTimerStat *total = total_of(&parent->waits, totals->wait[i]);

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
pfs_wait_remember(PfsSession *session, PfsWaitHot *hot, uint32_t wait)
{
	PfsArena   *arena = session->arena;
	/* loaded before the switches it is about */
	uint64_t	changes = pfs_load_acquire(&arena->changes);
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
static PFS_COLD void *
find_cell(PfsSession *session, uint32_t wait)
{
	PfsArena   *arena = session->arena;
	PfsWaitHot *hot = pfs_wait_hot(session, wait);
	PfsFamily	family = pfs_wait_family(hot->kind);
	char	   *cell;

	if (wait >= arena->sizes.waits || hot->cell != NULL)
		return hot->cell;
	cell = pfs_cell_at(arena, session->thread, hot->scope, family, pfs_wait_cell_number(arena, wait),
					   sizeof(PfsCell) + pfs_stat_bytes(family), (uint32_t) (hot->changes >> 32));
	/* its content is told by the kind, which is no constant: room for the largest */
	if (cell != NULL && cell + sizeof(PfsIoCell) <= PFS_AT(arena, arena->bytes, char))
		hot->cell = cell;
	return hot->cell;
}

static inline void *
cell_of(PfsSession *session, uint32_t wait)
{
	const PfsWaitHot *hot = &session->hot[wait % PFS_WAITS_HOT];

	if (pfs_likely(hot->wait == wait && hot->changes == pfs_load_acquire(&session->arena->changes) &&
				   hot->cell != NULL))
		return hot->cell;
	return find_cell(session, wait);
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

static inline void
add_io(PfsIoStat *stat, unsigned part, PfsTicks ticks, int64_t bytes)
{
	pfs_timer_stat_add(&stat->part[part], ticks);
	if (part != PFS_IO_MISC && bytes > 0)
		pfs_add(&stat->bytes[part], (uint64_t) bytes);
}

/* An I/O event counts by name, and for its file or the thread's own socket. */
static inline void
count_io(PfsSession *session, const PfsWait *wait, PfsTicks ticks, int64_t bytes)
{
	unsigned	part = part_of[wait->operation];
	PfsIoCell  *cell = cell_of(session, wait->wait);
	PfsObjectCell *file;

	if (pfs_likely(cell != NULL))
		add_io(&cell->stat, part, ticks, bytes);
	if (wait->row != 0)
	{
		file = pfs_file_cell(session->arena, session->thread, wait->row, wait->use);
		if (pfs_unlikely(file == NULL))
			return;
		pfs_seq_write_begin(&file->head.seq);
		add_io(&file->stat.io, part, ticks, bytes);
		pfs_seq_write_end(&file->head.seq);
	}
	else if (wait->kind == PFS_WAIT_SOCKET && pfs_load(&session->thread->socket.used))
		add_io(pfs_socket_stat(session->arena, &session->thread->socket), part, ticks, bytes);
}

PFS_HOT void
pfs_wait_end(PfsSession *session, PfsWait *wait, PfsTicks end, int64_t bytes)
{
	PfsTicks	ticks = 0;

	if (wait->start != 0)
	{
		end = end != 0 ? end : pfs_now();
		ticks = pfs_likely(end > wait->start) ? end - wait->start : 1;
	}
	else
		end = 0;
	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	if (wait->kind == PFS_WAIT_FILE || wait->kind == PFS_WAIT_SOCKET)
		count_io(session, wait, ticks, bytes);
	else
	{
		PfsWaitCell *cell = cell_of(session, wait->wait);

		if (pfs_likely(cell != NULL))
			pfs_timer_stat_add(&cell->stat, ticks);
	}
	charge(session, wait->kind, wait->wait, ticks);
	if (pfs_unlikely(wait->level != 0))
		pfs_wait_row_close(session, wait, end, bytes);
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

PFS_HOT void
pfs_wait_add(PfsSession *session, uint32_t wait, PfsTicks ticks)
{
	PfsWaitCell *cell;

	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	cell = cell_of(session, wait);
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

/* Rows read and changed together are one event: the count says rows, the time is that of all. */
static inline void
add_rows(PfsTimerStat *stat, uint64_t rows, PfsTicks ticks)
{
	pfs_add(&stat->count, rows - 1);
	pfs_timer_stat_add(stat, ticks);
}

PFS_HOT void
pfs_wait_table(PfsSession *session, uint32_t row, uint32_t use, PfsTableOperation operation,
			   uint64_t rows, PfsTicks start, PfsTicks ticks)
{
	static const uint8_t operations[PFS_TABLE_OPERATIONS] = {PFS_OPERATION_FETCH,
		PFS_OPERATION_INSERT, PFS_OPERATION_UPDATE, PFS_OPERATION_ROW_DELETE};
	PfsArena   *arena = session->arena;
	uint32_t	number = pfs_load(&arena->table_wait);
	PfsObjectCell *table;
	PfsWaitCell *cell;

	if (rows == 0 || !pfs_wait_enabled(session, number) || !pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	cell = cell_of(session, number);
	if (pfs_likely(cell != NULL))
		add_rows(&cell->stat, rows, ticks);
	table = pfs_table_cell(arena, session->thread, row, use);
	if (pfs_likely(table != NULL))
	{
		pfs_seq_write_begin(&table->head.seq);
		add_rows(&table->stat.table.operation[operation], rows, ticks);
		pfs_seq_write_end(&table->head.seq);
	}
	if (pfs_unlikely(session->wait_rows.shown))
	{
		PfsWait		wait = {.start = ticks != 0 ? start : 0,.wait = number,
			.operation = operations[operation],
			.object = {.type = PFS_WAIT_OBJECT_TABLE,.row = row,.use = use}};

		pfs_wait_row_open(session, &wait);
		if (wait.level != 0)
			pfs_wait_row_close(session, &wait, ticks != 0 ? start + ticks : 0, (int64_t) rows);
	}
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

/* Finds out what pfs_wait_rows needs to know; it stays NULL where each event makes a row, or none is wanted. */
static void
remember_rows(PfsSession *session, PfsObjectCell **cell, uint32_t row, uint32_t use, uint32_t number)
{
	PfsArena   *arena = session->arena;
	PfsRowsHot *hot = &session->rows;
	uint64_t	changes = pfs_load_acquire(&arena->changes);

	*cell = NULL;
	hot->changes = 0;
	if (!pfs_wait_enabled(session, number) || pfs_wait_shown(session) || !pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	*cell = pfs_table_cell(arena, session->thread, row, use);
	hot->cell = cell_of(session, number);
	pfs_seq_write_end(&session->thread->seq);
	if (hot->cell != NULL && pfs_load_acquire(&arena->changes) == changes)
	{
		hot->reset = (uint32_t) (changes >> 32);
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
