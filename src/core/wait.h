/*
 * wait.h
 *		Recording of waits by one session: whatever a thread does instead of computing.
 *
 * A wait is begun before and ended after the thread blocks; between the two nothing is held, so
 * whoever is killed or jumps out of the middle leaves nothing behind but a wait that never ends.
 * The functions are called from wrapped libc calls: they do not fail, block, allocate or change
 * errno, and what comes while another recording is under way is counted as lost.
 *
 * The end adds to the thread's cell of the event name, to the file, socket or table it was about,
 * and to the statement that was running, which hands its waits to its digest when it ends.
 */
#ifndef PFS_WAIT_H
#define PFS_WAIT_H

#include "core/object.h"
#include "core/operation.h"
#include "core/statement.h"

/* One wait under way; in the memory of who records it. */
typedef struct PfsWait
{
	PfsTicks	start;			/* 0 = not timed */
	uint64_t	event_id;		/* of its row */
	uint32_t	wait;			/* number among the waits */
	uint8_t		operation;		/* PfsOperation */
	uint8_t		level;			/* waits around it + 1; 0 = makes no row */
	uint8_t		kind;			/* PfsWaitKind; set by begin */
	uint8_t		spare;
	uint32_t	row;			/* file, see object.h; 0 = none */
	uint32_t	use;
	PfsObjectCell **cell;		/* where this thread counts the file, as far as the caller knows; NULL = he keeps nothing */
	PfsWaitObject object;		/* what a row shows; filled by the caller if pfs_wait_shown */
} PfsWait;

/* Do waits make rows now? (The object need not be described otherwise.) */
static inline bool
pfs_wait_shown(PfsSession *session)
{
	(void) pfs_session_decided(session);
	return session->wait_rows.shown;
}

/* Number of the wait with this code of the host, or UINT32_MAX: not known (yet). */
static inline uint32_t
pfs_wait_of_code(const PfsArena *arena, uint32_t code)
{
	const uint16_t *map = PFS_AT(arena, arena->wait_map, uint16_t);

	return (code & 0xFFFF) > 0xFF ? UINT32_MAX
		: (uint32_t) pfs_load(&map[(code >> 24 & 0x0F) << 8 | (code & 0xFF)]) - 1;
}

#define PFS_WAIT_CODES (16 * 256)	/* codes with a place in the map */

/* changes: the arena's, loaded before the switches it is about. */
extern void pfs_wait_remember(PfsSession *session, PfsWaitHot *hot, uint32_t wait, uint64_t changes);

/* What the session knows of a wait by now; good until the next call. */
static inline PfsWaitHot *
pfs_wait_hot(PfsSession *session, uint32_t wait)
{
	PfsWaitHot *hot = &session->hot[wait % PFS_WAITS_HOT];
	uint64_t	changes = pfs_session_decided(session);

	if (pfs_unlikely(hot->wait != wait || hot->changes != changes))
		pfs_wait_remember(session, hot, wait, changes);
	return hot;
}

static inline bool
pfs_wait_enabled(PfsSession *session, uint32_t wait)
{
	return pfs_wait_hot(session, wait)->enabled != 0;
}

/* The statement that waits now: the one on stage, or the client's while the server works around it. */
static inline PfsStatement *
pfs_waiting_statement(const PfsSession *session)
{
	return session->running != NULL ? session->running : session->top;
}

/* The socket's statistics at the present epoch.  Owner only, inside its seq. */
static inline PfsIoStat *
pfs_socket_stat(const PfsArena *arena, PfsSocket *socket)
{
	if (pfs_unlikely(pfs_load(&socket->epoch) < pfs_load(&arena->reset_of[PFS_RESET_SOCKETS])))
	{
		pfs_zero_words(&socket->stat, sizeof(socket->stat));
		pfs_store(&socket->epoch, pfs_load_acquire(&arena->reset_now));
	}
	return &socket->stat;
}

/* Shows a wait that begins. */
extern void pfs_wait_show(PfsSession *session, PfsWait *wait);

/*
 * A wait begins.  now: the tick, or 0: read the clock here if the instrument is timed.  The object
 * must be described already (row, use; object too where rows are shown).
 */
static inline void
pfs_wait_begin_hot(PfsSession *session, PfsWait *wait, const PfsWaitHot *hot, PfsTicks now)
{
	wait->wait = hot->wait;
	wait->kind = hot->kind;
	wait->level = 0;
	wait->start = !hot->timed ? 0 : now != 0 ? now : pfs_now();
	if (pfs_unlikely(session->wait_rows.shown))
		pfs_wait_show(session, wait);
}

static inline void
pfs_wait_begin(PfsSession *session, PfsWait *wait, PfsTicks now)
{
	pfs_wait_begin_hot(session, wait, pfs_wait_hot(session, wait->wait), now);
}

/* It is over.  end = 0: read the clock if it is timed.  bytes: -1 = none; rows for tables. */
extern void pfs_wait_end(PfsSession *session, PfsWait *wait, PfsTicks end, int64_t bytes);

/* The same of a wait that makes no row, and is no statement's. */
extern void pfs_wait_add(PfsSession *session, uint32_t wait, PfsTicks ticks);

/* It never was: its row disappears, nothing counts. */
extern void pfs_wait_drop(PfsSession *session, PfsWait *wait);

/*
 * Counts rows of a table, all of one operation, that took this time together (0 = untimed): one
 * event of wait/io/table.  Already over; start: for the row shown.  The time stands for so many events
 * (weight): the others were not timed.  No rows: it belongs to rows that were counted before.
 */
extern void pfs_wait_table_sampled(PfsSession *session, uint32_t row, uint32_t use,
								   PfsTableOperation operation, uint64_t rows, PfsTicks start, PfsTicks wait,
								   uint64_t weight);

static inline void
pfs_wait_table(PfsSession *session, uint32_t row, uint32_t use, PfsTableOperation operation,
			   uint64_t rows, PfsTicks start, PfsTicks wait)
{
	if (rows != 0)
		pfs_wait_table_sampled(session, row, use, operation, rows, start, wait, 1);
}

/* Are they timed, as far as their event's name decides? */
extern bool pfs_wait_rows_timed(PfsSession *session);

/* Where a caller's cell stands that knows of none: it is of no row. */
extern PfsObjectCell pfs_no_cell;

extern void pfs_wait_rows_slow(PfsSession *session, PfsObjectCell **cell, uint32_t row, uint32_t use,
							   PfsTableOperation operation, uint64_t rows);

/* A table as its rows show it, see PfsWaitObject. */
static inline uint64_t
pfs_table_object(uint32_t row, uint32_t use)
{
	return row | (uint64_t) use << 32;
}

/* The row of such an event, untimed, of the statement that waits. */
extern void pfs_wait_rows_show(PfsSession *session, const PfsStatement *statement, uint64_t object,
							   PfsTableOperation operation, uint64_t rows);

/* Is what it takes to count rows known, and how the switches are now? */
static inline bool
pfs_wait_rows_known(const PfsSession *session)
{
	return session->rows.changes == pfs_load_acquire(&session->arena->changes);
}

/* Where they count by the name of their event. */
static inline struct PfsWaitCell *
pfs_rows_cell(const PfsSession *session)
{
	return PFS_AT(session->arena, (uint64_t) session->rows.cell * 8, struct PfsWaitCell);
}

/*
 * If so, counts them the short way, without the row that rows.shown asks for: two additions, of which each is right
 * by itself, so that readers need no sequence.  False: it is not open, nothing was done.  (Row and use by address: no
 * registers are taken for them before they are compared.)
 */
static inline bool
pfs_wait_rows_quickly(PfsSession *session, PfsObjectCell *cell, const uint32_t *row, const uint32_t *use,
					  PfsTableOperation operation, uint64_t rows)
{
	/* the key is a row's number: no more than half of its word is compared, which takes no register more */
	if (pfs_unlikely((uint32_t) pfs_load(&cell->head.key) != *row) || pfs_unlikely(pfs_load(&cell->head.use) != *use) ||
		pfs_unlikely(pfs_load(&cell->head.epoch) != session->rows.reset))
		return false;
	pfs_add(&pfs_rows_cell(session)->stat.count, rows);
	pfs_add(&cell->stat.table.operation[operation].count, rows);
	return true;
}

/* *cell: kept by the caller for this row, &pfs_no_cell at first. */
static inline void
pfs_wait_rows(PfsSession *session, PfsObjectCell **cell, uint32_t row, uint32_t use,
			  PfsTableOperation operation, uint64_t rows)
{
	if (pfs_unlikely(!pfs_wait_rows_known(session) ||
					 !pfs_wait_rows_quickly(session, *cell, &row, &use, operation, rows)))
		pfs_wait_rows_slow(session, cell, row, use, operation, rows);
	else if (pfs_unlikely(session->rows.shown))
		pfs_wait_rows_show(session, pfs_waiting_statement(session), pfs_table_object(row, use), operation, rows);
}

/* What a top-level statement waited for before it was known: while it was parsed. */
extern void pfs_wait_adopt(PfsSession *session, PfsStatement *statement);

/* What the session waited for outside of statements was for this digest: a parallel worker's share. */
extern void pfs_wait_bill(PfsSession *session, uint32_t digest, uint32_t generation);

/* The waits collected for a statement go to its digest and its parent.  Inside the thread's seq. */
extern void pfs_wait_hand_over(PfsSession *session, PfsStatement *statement);

#endif							/* PFS_WAIT_H */
