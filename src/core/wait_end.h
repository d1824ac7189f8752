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

extern void pfs_wait_count_file(PfsSession *session, const PfsWait *wait, PfsTicks ticks, int64_t bytes);

static inline __attribute__((always_inline)) void
pfs_wait_show_as(PfsSession *session, PfsWait *wait, PfsWaitKind kind, PfsWaitObjectType type, bool easy)
{
	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	pfs_wait_row_open_as(session, wait, kind, type, easy);
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

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
			pfs_wait_count_file(session, wait, ticks, bytes);
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
 * The same of a call on the session's own socket that is over now, of which all is known: good for this value of
 * arena->changes.
 */
typedef struct PfsSocketKnown
{
	uint64_t	changes;		/* 0 = nothing is known */
	PfsTimerStat *by_name[2];	/* of its event's name, by part: read, write ... */
	PfsTimerStat *of_socket[2]; /* ... and its own */
	uint64_t   *bytes_by_name;
	uint64_t   *bytes_of_socket;
} PfsSocketKnown;

/* Such a call begins, rows are shown, and this one is easy. */
static inline __attribute__((always_inline)) void
pfs_wait_show_socket(PfsSession *session, PfsWait *wait)
{
	pfs_wait_show_as(session, wait, PFS_WAIT_SOCKET, PFS_WAIT_OBJECT_SOCKET, true);
}

static inline __attribute__((always_inline)) void
pfs_wait_show_idle(PfsSession *session, PfsWait *wait)
{
	pfs_wait_show_as(session, wait, PFS_WAIT_IDLE, PFS_WAIT_OBJECT_SOCKET, true);
}

/* False: it is not known. */
static inline bool
pfs_wait_know_socket(PfsSession *session, uint32_t wait, PfsSocketKnown *known)
{
	const PfsWaitHot *hot = &session->hot[wait % PFS_WAITS_HOT];
	PfsIoCell  *cell = hot->cell;
	PfsIoStat  *socket = session->wait_rows.socket;

	known->changes = 0;
	if (hot->wait != wait || cell == NULL || socket == NULL ||
		hot->changes != session->decided || (session->wants & PFS_GATE_CALLS) == 0 || !hot->enabled)
		return false;
	for (int part = PFS_IO_READ; part <= PFS_IO_WRITE; part++)
	{
		known->by_name[part] = &cell->stat.part[part];
		known->of_socket[part] = &socket->part[part];
	}
	known->bytes_by_name = cell->stat.bytes;
	known->bytes_of_socket = socket->bytes;
	known->changes = hot->changes;
	return true;
}

/* part: it reads or writes.  Most are timed, and between commands, so that no statement is charged. */
static inline __attribute__((always_inline)) void
pfs_wait_end_socket(PfsSession *session, PfsWait *wait, const PfsSocketKnown *known, unsigned part, int64_t bytes)
{
	PfsThread  *thread = session->thread;
	PfsTicks	end,
				ticks;

	if (pfs_unlikely(wait->start == 0 || !pfs_now_is_near() || session->phase != PFS_PHASE_REST || pfs_waiting_statement(session) != NULL))
	{
		pfs_wait_end(session, wait, 0, bytes);
		return;
	}
	end = pfs_now_near();
	ticks = pfs_likely(end > wait->start) ? end - wait->start : 1;
	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&thread->seq);
	pfs_timer_stat_add(known->by_name[part], ticks);
	pfs_timer_stat_add(known->of_socket[part], ticks);
	if (bytes > 0)
	{
		pfs_add(&known->bytes_by_name[part], (uint64_t) bytes);
		pfs_add(&known->bytes_of_socket[part], (uint64_t) bytes);
	}
	if (wait->level != 0)
		pfs_wait_row_close_as(session, wait, end, bytes, true);
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
}

/*
 * The end of idle time that has a row, while no statement is open.  cell: of its event name, known for the present
 * value of arena->changes.  False: it is not so simple, nothing was done.
 */
static inline __attribute__((always_inline)) bool
pfs_wait_end_idle(PfsSession *session, const PfsWait *wait, PfsWaitCell *cell, PfsTicks end)
{
	PfsThread  *thread = session->thread;
	PfsWaitRows *rows = &session->wait_rows;
	PfsWaitRecord *record = &rows->slots[rows->ring].record;
	PfsWaitRecord *head = &rows->slots[rows->head].record;

	if (wait->level == 0 || rows->level_at_head != 0 || record->event_id != wait->event_id ||
		record->end_event_id != 0 || !pfs_enter_recording(session))
		return false;
	pfs_seq_write_begin(&thread->seq);
	pfs_timer_stat_add(&cell->stat, pfs_wait_ticks(wait->start, end));
	pfs_wait_row_end(session, record, end, -1);
	pfs_copy_words(head, record, offsetof(PfsWaitRecord, id));
	pfs_store(&thread->wait_depth, 0);
	pfs_store(&thread->wait_shown, rows->head);
	pfs_wait_row_keep(session, thread, head);
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
	return true;
}

#endif							/* PFS_WAIT_END_H */
