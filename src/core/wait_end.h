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
#include "core/wait_sum.h"

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
 * is good for one value of arena->changes.  They count in the thread's sums of calls (wait_sum.h).  If they have rows,
 * these stay in the thread's ring.
 *
 * Nothing else of the thread waits meanwhile, and no other recording is under way: the caller sees to it.  So neither
 * a level nor a depth is written for a call, and the thread's sequence is left alone.
 */
typedef struct PfsSocketKnown
{
	PFS_ALIGNED uint64_t changes;	/* 0 = nothing is known */
	uint64_t	object;			/* the socket's, as rows show it */
	uint64_t	what[2];		/* of rows, by PfsIoPart, see pfs_wait_row_what */
	PfsCallSums *sums;			/* where they count */
	uint32_t	wait;
	int			fd;				/* the host's: of calls with rows ... */
	int			counted_fd;		/* ... or of those that only count; else it is none */
	bool		idle;			/* idle time has rows, too */
	bool		shown;			/* calls have rows */
	uint64_t	idle_what;		/* of rows of idle time */
} PfsSocketKnown;

_Static_assert(sizeof(PfsSocketKnown) == PFS_CACHE_LINE, "one line");

/* A call under way. */
typedef struct PfsSocketCall
{
	PfsWaitRecord *record;		/* its row ... */
	uint64_t	event_id;		/* ... with this number */
	PfsTicks	start;
} PfsSocketCall;

/* False: it is not known, or not timed, or its rows do not stay. */
extern bool pfs_wait_know_socket(PfsSession *session, uint32_t wait, uint64_t object, PfsSocketKnown *known);

/* The same of idle time. */
extern void pfs_wait_know_idle(PfsSession *session, uint32_t wait, PfsSocketKnown *known);

/* What has begun in the short way ends in the general one. */
extern void pfs_wait_end_socket_otherwise(PfsSession *session, const PfsSocketKnown *known, PfsIoPart io,
										  PfsSocketCall call, int64_t bytes, PfsTicks end);

/* A call of a statement, or of one to come. */
extern void pfs_wait_charge_call(PfsSession *session, const PfsSocketKnown *known, PfsTicks start, PfsTicks end);

static inline bool
pfs_wait_is_known(const PfsSession *session, const PfsSocketKnown *known)
{
	return known->changes == pfs_load_acquire(&session->arena->changes);
}

/* There is no statement, and none will be charged; nor is anything recorded just now. */
static inline bool
pfs_wait_is_at_rest(const PfsSession *session)
{
	return pfs_session_is(session, PFS_PHASE_REST, false) &&
		((uintptr_t) session->running | (uintptr_t) session->top) == 0;
}

/*
 * May the short way begin, at rest or elsewhere, as the caller says?  At most one wait is around, which is not where the
 * next row is written.
 */
static inline __attribute__((always_inline)) bool
pfs_wait_may_begin(const PfsSession *session, const PfsSocketKnown *known, bool at_rest)
{
	return (at_rest ? pfs_wait_is_at_rest(session) : !session->busy) && pfs_wait_is_known(session, known) &&
		session->wait_rows.level_at_head == 0 && pfs_load(&session->thread->wait_depth) <= 1;
}

static inline PfsWaitNesting
pfs_wait_nesting_at_rest(const PfsSession *session)
{
	uint64_t	transaction = session->transaction.event_id;

	return (PfsWaitNesting) {transaction, transaction != 0 ? PFS_NESTING_TRANSACTION : PFS_NESTING_NONE};
}

/* A call with a row begins.  False: it is not so simple, or not as far from all statements as is said; nothing was done. */
static inline __attribute__((always_inline)) bool
pfs_wait_begin_socket(PfsSession *session, const PfsSocketKnown *known, PfsIoPart io, bool at_rest, PfsSocketCall *call)
{
	PfsThread  *thread = session->thread;
	const PfsWaitRows *rows = &session->wait_rows;
	uint32_t	head,
				depth;
	PfsWaitNesting nesting;

	if (pfs_unlikely(!(at_rest ? pfs_wait_is_at_rest(session) : !session->busy) || !pfs_wait_is_known(session, known)))
		return false;
	depth = pfs_load(&thread->wait_depth);
	if (depth == 0)				/* so nothing is at the head */
		nesting = at_rest ? pfs_wait_nesting_at_rest(session) : pfs_wait_row_nesting_busy(session);
	else if (pfs_likely(depth == 1 && rows->level_at_head == 0))
		nesting = (PfsWaitNesting) {rows->stack[0].record.event_id, PFS_NESTING_WAIT};
	else
		return false;
	head = rows->head;
	call->record = &rows->slots[head].record;
	call->start = pfs_now_near();
	call->event_id = pfs_wait_row_start(thread, call->record, known->what[io], known->object, nesting, call->start);
	pfs_store_release(&thread->wait_shown, head);	/* before that another thread's row may have stood there */
	return true;
}

/* The same of idle time, of a session at rest.  idle: has all that is not set here. */
static inline __attribute__((always_inline)) void
pfs_wait_begin_idle(PfsSession *session, PfsWait *idle, const PfsSocketKnown *known)
{
	PfsThread  *thread = session->thread;
	const PfsWaitRows *rows = &session->wait_rows;
	PfsTicks	start = pfs_now_near();

	idle->start = start;
	idle->level = 1;
	idle->event_id = pfs_wait_row_start(thread, &rows->stack[0].record, known->idle_what, known->object,
										pfs_wait_nesting_at_rest(session), start);
	pfs_store(&thread->wait_shown, rows->ring);
	pfs_store(&thread->wait_depth, 1);
}

/* The row at the head has ended, and stays in the ring. */
static inline __attribute__((always_inline)) void
pfs_wait_row_leave(PfsSession *session, PfsThread *thread)
{
	PfsWaitRows *rows = &session->wait_rows;
	uint32_t	next = rows->head + 1;

	if (pfs_unlikely(next >= rows->turn))
	{
		pfs_wait_row_leave_last(session);
		return;
	}
	pfs_publish_next(&thread->waits_ended);
	rows->head = next;
}

/* The call is over, at this tick, as far from statements as it began.  False: it does not end simply, nothing was done. */
static inline __attribute__((always_inline)) bool
pfs_wait_end_socket(PfsSession *session, const PfsSocketKnown *known, PfsIoPart io, bool at_rest,
					const PfsSocketCall *call, int64_t bytes, PfsTicks end)
{
	PfsThread  *thread = session->thread;
	PfsWaitRecord *record = call->record;

	/* whoever moves the head, in a signal handler, has first written there */
	if (pfs_unlikely(!pfs_wait_is_known(session, known) || record->event_id != call->event_id))
		return false;
	if (!at_rest)
		pfs_wait_charge_call(session, known, call->start, end);
	pfs_call_add(known->sums, io, pfs_likely(end > call->start) ? end - call->start : 1, bytes);
	pfs_store(&record->end, end);
	pfs_store(&record->bytes, bytes);
	pfs_store_release(&record->end_event_id, pfs_load(&thread->event_id));
	if (pfs_load(&thread->wait_depth) != 0)
		pfs_store(&thread->wait_shown, session->wait_rows.ring);
	pfs_wait_row_leave(session, thread);
	return true;
}

/*
 * So is idle time, right after such a call, in whose place no other wait can have begun: if its row is that of the idle
 * time, that is around nothing.  False: it is not so simple, nothing was done.
 */
static inline __attribute__((always_inline)) bool
pfs_wait_end_idle(PfsSession *session, const PfsWait *idle, const PfsSocketKnown *known, PfsTicks end)
{
	PfsThread  *thread = session->thread;
	const PfsWaitRows *rows = &session->wait_rows;
	const PfsWaitRecord *record = &rows->stack[0].record;
	PfsWaitRecord *head = &rows->slots[rows->head].record;

	if (pfs_unlikely(idle->level == 0 || idle->start == 0 || record->event_id != idle->event_id))
		return false;
	pfs_call_add(known->sums, PFS_IO_MISC, pfs_wait_ticks(idle->start, end), -1);
	pfs_store(&head->event_id, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	pfs_store(&head->end_event_id, pfs_load(&thread->event_id));
	pfs_copy_words(&head->nesting_event_id, &record->nesting_event_id, 2 * sizeof(uint64_t));	/* and the start */
	pfs_store(&head->end, end);
	pfs_store(&head->bytes, -1);
	pfs_copy_words(&head->object, &record->object, 2 * sizeof(uint64_t));	/* and what it is */
	pfs_store_release(&head->event_id, idle->event_id);
	pfs_store(&thread->wait_depth, 0);
	pfs_store_release(&thread->wait_shown, rows->head);
	pfs_wait_row_leave(session, thread);
	return true;
}

/* A call without a row is over.  False: it does not end simply, nothing was done. */
static inline __attribute__((always_inline)) bool
pfs_wait_count_socket(PfsSession *session, const PfsSocketKnown *known, PfsIoPart io, PfsTicks start, int64_t bytes,
					  PfsTicks end)
{
	if (pfs_unlikely(!pfs_wait_is_known(session, known)))
		return false;
	if (pfs_unlikely(!pfs_wait_is_at_rest(session)))
		pfs_wait_charge_call(session, known, start, end);
	pfs_call_add(known->sums, io, pfs_likely(end > start) ? end - start : 1, bytes);
	return true;
}

#endif							/* PFS_WAIT_END_H */
