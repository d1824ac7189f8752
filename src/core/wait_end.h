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

static inline void
pfs_wait_show_here(PfsSession *session, PfsWait *wait)
{
	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	pfs_wait_row_open(session, wait);
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
	PfsIoCell  *cell;
	PfsIoStat  *socket;
} PfsSocketKnown;

/* False: it is not known. */
static inline bool
pfs_wait_know_socket(PfsSession *session, uint32_t wait, PfsSocketKnown *known)
{
	const PfsWaitHot *hot = &session->hot[wait % PFS_WAITS_HOT];

	known->changes = 0;
	if (hot->wait != wait || hot->cell == NULL || session->wait_rows.socket == NULL ||
		hot->changes != session->decided || (session->wants & PFS_GATE_CALLS) == 0 || !hot->enabled)
		return false;
	known->cell = hot->cell;
	known->socket = session->wait_rows.socket;
	known->changes = hot->changes;
	return true;
}

static inline __attribute__((always_inline)) void
pfs_wait_end_socket(PfsSession *session, const PfsWait *wait, const PfsSocketKnown *known, unsigned part,
					int64_t bytes)
{
	PfsTicks	end = pfs_likely(wait->start != 0) ? pfs_now() : 0;
	PfsTicks	ticks = pfs_wait_ticks(wait->start, end);

	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	pfs_timer_stat_add(&known->cell->stat.part[part], ticks);
	pfs_timer_stat_add(&known->socket->part[part], ticks);
	if (bytes > 0)
	{
		pfs_add(&known->cell->stat.bytes[part], (uint64_t) bytes);
		pfs_add(&known->socket->bytes[part], (uint64_t) bytes);
	}
	pfs_wait_charge(session, PFS_WAIT_SOCKET, wait->wait, ticks);
	if (wait->level != 0)
		pfs_wait_row_close(session, wait, end, bytes);
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

#endif							/* PFS_WAIT_END_H */
