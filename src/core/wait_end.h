/*
 * wait_end.h
 *		The end of a wait, to be compiled into those few who see most of them.
 *
 * What is added: to the cell of the event name, to the file or socket, to the statement.
 */
#ifndef PFS_WAIT_END_H
#define PFS_WAIT_END_H

#include "core/wait.h"
#include "core/wait_row.h"

extern const uint8_t pfs_part_of_operation[PFS_OPERATIONS];	/* PfsIoPart */

/* Looks for what the session does not know any more, or not yet.  Inside seq. */
extern void *pfs_wait_find_cell(PfsSession *session, uint32_t wait);
extern PfsIoStat *pfs_wait_find_socket(PfsSession *session);

/* A kind of wait that is not the last one of these totals; NULL: too many. */
extern PfsTimerStat *pfs_wait_find_total(PfsWaitTotals *totals, uint32_t wait);

/* Of a file whose cell the caller does not know any more, or not yet; he does then.  Inside seq. */
extern PFS_COLD PfsObjectCell *pfs_wait_find_file(PfsSession *session, const PfsWait *wait);

/* The thread's cell of a wait that ends now; NULL: the pool is full.  Inside seq. */
static inline void *
pfs_wait_cell_of(PfsSession *session, uint32_t wait)
{
	const PfsWaitHot *hot = &session->hot[wait % PFS_WAITS_HOT];

	if (pfs_likely(hot->wait == wait && hot->changes == pfs_load_acquire(&session->arena->changes) &&
				   hot->cell != NULL))
		return hot->cell;
	return pfs_wait_find_cell(session, wait);
}

static inline PfsTimerStat *
pfs_wait_total_of(PfsWaitTotals *totals, uint32_t wait)
{
	uint32_t	i = totals->last;

	return pfs_likely(totals->used > 0 && totals->wait[i] == wait) ? &totals->stat[i]
		: pfs_wait_find_total(totals, wait);
}

/* Idle time belongs to no statement, and a table's time contains other waits. */
static inline void
pfs_wait_charge(PfsSession *session, PfsWaitKind kind, uint32_t wait, PfsTicks ticks)
{
	PfsStatement *statement = pfs_waiting_statement(session);
	PfsTimerStat *total;

	if (statement == NULL && (session->phase == PFS_PHASE_REST || !session->wait_rows.unbilled))
		return;					/* there will never be one */
	if (pfs_unlikely(kind == PFS_WAIT_IDLE))
	{
		session->waits.used = session->waits.last = 0;
		return;
	}
	total = pfs_wait_total_of(statement != NULL ? &statement->waits : &session->waits, wait);
	if (pfs_likely(total != NULL))
		pfs_timer_stat_add(total, ticks);
	else
		pfs_lose(session->arena, PFS_LOSS_WAIT_TOTALS);
	if (pfs_unlikely(kind == PFS_WAIT_LOCK) && statement != NULL)
		pfs_statement_count(statement, PFS_COUNTER_LOCK_TIME, ticks);
}

static inline void
pfs_wait_add_io(PfsIoStat *stat, unsigned part, PfsTicks ticks, int64_t bytes)
{
	pfs_timer_stat_add(&stat->part[part], ticks);
	if (part != PFS_IO_MISC && bytes > 0)
		pfs_add(&stat->bytes[part], (uint64_t) bytes);
}

/* NULL: there is no room. */
static inline PfsObjectCell *
pfs_wait_file_cell(PfsSession *session, const PfsWait *wait)
{
	PfsObjectCell *cell = wait->cell != NULL ? *wait->cell : NULL;

	return pfs_cache_is(session->arena, &pfs_object_cells[PFS_MAP_FILES], (const PfsCacheCell *) cell, wait->row, wait->use)
		? cell : pfs_wait_find_file(session, wait);
}

static inline void
pfs_wait_count_file(PfsSession *session, const PfsWait *wait, unsigned part, PfsTicks ticks, int64_t bytes)
{
	PfsObjectCell *file = pfs_wait_file_cell(session, wait);

	if (pfs_unlikely(file == NULL))
		return;
	pfs_seq_write_begin(&file->head.seq);
	pfs_wait_add_io(&file->stat.io, part, ticks, bytes);
	pfs_seq_write_end(&file->head.seq);
}

static inline void
pfs_wait_add_up(PfsSession *session, const PfsWait *wait, PfsTicks ticks, int64_t bytes)
{
	void	   *cell = pfs_wait_cell_of(session, wait->wait);

	if (wait->kind == PFS_WAIT_FILE || wait->kind == PFS_WAIT_SOCKET)
	{
		unsigned	part = pfs_part_of_operation[wait->operation];
		PfsIoStat  *socket;

		if (pfs_likely(cell != NULL))
			pfs_wait_add_io(&((PfsIoCell *) cell)->stat, part, ticks, bytes);
		if (wait->row != 0)
			pfs_wait_count_file(session, wait, part, ticks, bytes);
		else if (pfs_likely(wait->kind == PFS_WAIT_SOCKET))
		{
			socket = session->wait_rows.socket;
			if (pfs_likely(socket != NULL || (socket = pfs_wait_find_socket(session)) != NULL))
				pfs_wait_add_io(socket, part, ticks, bytes);
		}
	}
	else if (pfs_likely(cell != NULL))
		pfs_timer_stat_add(&((PfsWaitCell *) cell)->stat, ticks);
}

static inline __attribute__((always_inline)) void
pfs_wait_end_here(PfsSession *session, const PfsWait *wait, PfsTicks end, int64_t bytes)
{
	PfsTicks	ticks = 0;

	if (pfs_likely(wait->start != 0))
	{
		end = end != 0 ? end : pfs_now();
		ticks = pfs_likely(end > wait->start) ? end - wait->start : 1;
	}
	else
		end = 0;
	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	pfs_wait_add_up(session, wait, ticks, bytes);
	pfs_wait_charge(session, wait->kind, wait->wait, ticks);
	if (wait->level != 0)
		pfs_wait_row_close(session, wait, end, bytes);
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

/*
 * Calls on the session's own socket, and idle time around them, are most of all waits.  What their short way needs
 * is good for one value of arena->changes.  Nothing else of the thread waits meanwhile: neither a level nor a depth
 * is written for a call.
 */
typedef struct PfsSocketKnown
{
	PFS_ALIGNED uint64_t changes;	/* 0 = nothing is known */
	uint64_t	object;			/* the socket's, as rows show it */
	uint64_t	what[2];		/* of rows, by PfsIoPart, see pfs_wait_row_what */
	PfsIoStat  *by_name;		/* where calls count: at their event's name ... */
	PfsIoStat  *of_socket;		/* ... and at the socket */
	PfsWaitCell *idle;			/* where idle time counts; NULL = not known, or it is not timed */
	uint32_t	wait;
	int			fd;				/* the host's */
	uint64_t	idle_what;		/* of rows of idle time */
} PfsSocketKnown;

/* A call under way. */
typedef struct PfsSocketCall
{
	PfsWaitRecord *record;		/* its row ... */
	uint64_t	event_id;		/* ... with this number; 0 = it makes none */
	PfsTicks	start;
} PfsSocketCall;

/* False: it is not known, or not timed. */
extern bool pfs_wait_know_socket(PfsSession *session, uint32_t wait, uint64_t object, PfsSocketKnown *known);

/* The same of idle time. */
extern void pfs_wait_know_idle(PfsSession *session, uint32_t wait, PfsSocketKnown *known);

/* What has begun in the short way ends in the general one. */
extern void pfs_wait_end_socket_otherwise(PfsSession *session, const PfsSocketKnown *known, PfsIoPart io,
										  PfsSocketCall call, int64_t bytes);

static inline bool
pfs_wait_is_known(const PfsSession *session, const PfsSocketKnown *known)
{
	return known->changes == pfs_load_acquire(&session->arena->changes);
}

/* The same as pfs_enter_recording, of who has seen that no recording is under way. */
static inline void
pfs_enter_simply(PfsSession *session)
{
	session->busy = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* There is no statement, and none will be charged. */
static inline bool
pfs_wait_is_at_rest(const PfsSession *session)
{
	return session->phase == PFS_PHASE_REST && session->running == NULL && session->top == NULL;
}

/* May the short way begin?  At most one wait is around, which is not where the next row is written. */
static inline bool
pfs_wait_is_simple(const PfsSession *session, const PfsSocketKnown *known)
{
	return pfs_wait_is_known(session, known) && !session->busy && session->wait_rows.level_at_head == 0 &&
		pfs_load(&session->thread->wait_depth) <= 1 && pfs_now_is_near();
}

/* And so may it end? */
static inline bool
pfs_wait_ends_simply(const PfsSession *session, const PfsSocketKnown *known)
{
	return pfs_wait_is_known(session, known) && pfs_wait_is_at_rest(session);
}

/* What a wait is in that is in no other one. */
static inline PfsWaitNesting
pfs_wait_simple_nesting(PfsSession *session)
{
	uint64_t	transaction = session->transaction.event_id;

	return pfs_likely(pfs_wait_is_at_rest(session))
		? (PfsWaitNesting) {transaction, transaction != 0 ? PFS_NESTING_TRANSACTION : PFS_NESTING_NONE}
		: pfs_wait_row_nesting_busy(session);
}

/* A call begins.  False: it is not so simple, nothing was done. */
static inline __attribute__((always_inline)) bool
pfs_wait_begin_socket(PfsSession *session, const PfsSocketKnown *known, PfsIoPart io, PfsSocketCall *call)
{
	PfsThread  *thread = session->thread;
	const PfsWaitRows *rows = &session->wait_rows;
	PfsWaitRecord *record = &rows->slots[rows->head].record;
	uint64_t	id = 0;
	PfsWaitNesting nesting;
	PfsTicks	start;

	if (pfs_unlikely(!pfs_wait_is_simple(session, known)))
		return false;
	start = pfs_now_near();
	if (pfs_likely(rows->shown))
	{
		pfs_enter_simply(session);
		pfs_seq_write_begin(&thread->seq);
		if (pfs_load(&thread->wait_depth) != 0)
			nesting = (PfsWaitNesting) {rows->slots[rows->ring].record.event_id, PFS_NESTING_WAIT};
		else
			nesting = pfs_wait_simple_nesting(session);
		id = pfs_wait_row_start(thread, record, known->what[io], known->object, nesting, start);
		pfs_store(&thread->wait_shown, rows->head);
		pfs_seq_write_end(&thread->seq);
		pfs_leave_recording(session);
	}
	*call = (PfsSocketCall) {record, id, start};
	return true;
}

/* The same of idle time, if it is simple; there are rows.  idle: has all that is not set here. */
static inline __attribute__((always_inline)) void
pfs_wait_begin_idle(PfsSession *session, PfsWait *idle, const PfsSocketKnown *known)
{
	PfsThread  *thread = session->thread;
	const PfsWaitRows *rows = &session->wait_rows;
	PfsTicks	start = pfs_now_near();

	idle->start = start;
	idle->level = 1;
	pfs_enter_simply(session);
	pfs_seq_write_begin(&thread->seq);
	idle->event_id = pfs_wait_row_start(thread, &rows->slots[rows->ring].record, known->idle_what, known->object,
										pfs_wait_simple_nesting(session), start);
	pfs_store(&thread->wait_shown, rows->ring);
	pfs_store(&thread->wait_depth, 1);
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
}

/* A row has ended, and no switch has changed since it began. */
static inline void
pfs_wait_row_end_known(PfsThread *thread, PfsWaitRecord *record, PfsTicks end, int64_t bytes)
{
	pfs_store(&record->end_event_id, pfs_load(&thread->event_id));
	pfs_store(&record->end, end);
	pfs_store(&record->bytes, bytes);
}

/* The call is over, at this tick.  False: it does not end simply, nothing was done. */
static inline __attribute__((always_inline)) bool
pfs_wait_end_socket(PfsSession *session, const PfsSocketKnown *known, PfsIoPart io, const PfsSocketCall *call,
					int64_t bytes, PfsTicks end)
{
	PfsThread  *thread = session->thread;
	const PfsWaitRows *rows = &session->wait_rows;
	PfsTimerStat *by_name = &known->by_name->part[io],
			   *of_socket = &known->of_socket->part[io];
	PfsTicks	ticks = pfs_likely(end > call->start) ? end - call->start : 1;

	if (pfs_unlikely(!pfs_wait_ends_simply(session, known)))
		return false;
	if (!pfs_enter_recording(session))
		return true;
	pfs_seq_write_begin(&thread->seq);
	pfs_keep(by_name);
	pfs_timer_stat_add(by_name, ticks);
	pfs_keep(of_socket);
	pfs_timer_stat_add(of_socket, ticks);
	if (bytes > 0)
	{
		pfs_add(&known->by_name->bytes[io], (uint64_t) bytes);
		pfs_add(&known->of_socket->bytes[io], (uint64_t) bytes);
	}
	/* whoever moves the head, in a signal handler, has first written there */
	if (pfs_likely(call->record->event_id == call->event_id))
	{
		pfs_wait_row_end_known(thread, call->record, end, bytes);
		if (pfs_load(&thread->wait_depth) != 0)
			pfs_store(&thread->wait_shown, rows->ring);
		pfs_wait_row_keep(session, thread, call->record);
	}
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
	return true;
}

/* So is idle time, which has a row, after such a call.  False: it is not so simple, nothing was done. */
static inline __attribute__((always_inline)) bool
pfs_wait_end_idle(PfsSession *session, const PfsWait *idle, const PfsSocketKnown *known, PfsTicks end)
{
	PfsThread  *thread = session->thread;
	const PfsWaitRows *rows = &session->wait_rows;
	PfsWaitRecord *record = &rows->slots[rows->ring].record;
	PfsWaitRecord *head = &rows->slots[rows->head].record;

	if (idle->level == 0 || record->event_id != idle->event_id || pfs_load(&thread->wait_depth) != 1 ||
		rows->level_at_head != 0 || !pfs_enter_recording(session))
		return false;
	pfs_seq_write_begin(&thread->seq);
	pfs_timer_stat_add(&known->idle->stat, pfs_wait_ticks(idle->start, end));
	pfs_wait_row_end_known(thread, record, end, -1);
	pfs_copy_words(head, record, sizeof(*head));
	pfs_store(&thread->wait_depth, 0);
	pfs_store(&thread->wait_shown, rows->head);
	pfs_wait_row_keep(session, thread, head);
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
	return true;
}

#endif							/* PFS_WAIT_END_H */
