/*
 * history.h
 *		Where ended events are kept: a ring per thread, and the long rings that all threads share.
 *
 * A long ring is claimed in blocks of PFS_LONG_BLOCK positions, one locked addition a block.  A
 * row carries a stamp, 2 * position + 1 while it is written and + 2 when it is whole, so a reader
 * knows a row that changed under it.  Texts lie in a byte ring of their own, claimed in blocks as
 * well; a text is whole if the ring has not moved on by its own length since, and if its check sum
 * is right: a session that was stopped after its claim may have written over it.
 */
#ifndef PFS_HISTORY_H
#define PFS_HISTORY_H

#include "core/statement.h"

#define PFS_LONG_BLOCK 32

typedef struct PfsLongStatement
{
	uint64_t	stamp;
	PfsStatementEvent event;
} PfsLongStatement;

typedef struct PfsLongWait
{
	uint64_t	stamp;
	uint64_t	thread_id;
	PfsRef		user;
	uint32_t	spare;
	PfsWaitRecord record;
} PfsLongWait;

#define PFS_LOCK_TEXT_LENGTH 512

/* A wait for a heavyweight lock, with whom it was for. */
typedef struct PfsLockWait
{
	uint64_t	thread_id;
	uint64_t	blocking_thread_id; /* 0 = not known */
	uint32_t	pid;
	uint32_t	blocking_pid;
	PfsTicks	start;
	PfsTicks	wait;
	PfsWaitObject object;
	uint64_t	statement_id;
	uint64_t	blocking_statement_id;
	uint64_t	query_id;
	uint64_t	blocking_query_id;
	PfsRef		user;
	PfsRef		blocking_user;
	PfsRef		database;
	uint32_t	role;			/* as in PfsStatementEvent: of the text ... */
	uint32_t	blocking_role;	/* ... and of the blocker's */
	uint32_t	epoch;
	uint8_t		granted;		/* 0 = gave up: cancelled, timed out, deadlock */
	uint8_t		blocking_running;	/* was its statement running? */
	uint8_t		encoding;
	uint8_t		blocking_encoding;
	uint16_t	text_length;
	uint16_t	blocking_text_length;
	char		text[PFS_LOCK_TEXT_LENGTH];
	char		blocking_text[PFS_LOCK_TEXT_LENGTH];
} PfsLockWait;

typedef struct PfsLongLockWait
{
	uint64_t	stamp;
	PfsLockWait wait;
} PfsLongLockWait;

_Static_assert(sizeof(PfsLockWait) % 8 == 0, "copied by words");

/*
 * Adds those of the journal's records with these numbers that belong there, with their texts, to the long history.
 * Owner or successor.
 */
extern void pfs_history_statements(PfsArena *arena, PfsThread *thread, PfsLongClaims *claims, uint64_t first,
								   uint64_t last);

/* Adds an ended transaction of the session's to the long history. */
extern void pfs_history_transaction(PfsSession *session, const PfsTransactionRecord *record);

/*
 * Adds those waits of the thread's ring, before this number, that are not in the long history yet: owner.  Readers find these
 * in the one place or the other, or in both.
 */
extern void pfs_history_waits(PfsArena *arena, PfsThread *thread, PfsClaim *claim, uint64_t until);

/* A copied record as an event. */
extern void pfs_event_of_transaction(const PfsThread *thread, const PfsTransactionRecord *record,
									 PfsTransactionEvent *event);
extern void pfs_event_of_wait(const PfsArena *arena, const PfsWaitRecord *record, uint64_t thread_id,
							  PfsRef user, PfsWaitEvent *event);

/* Is a lock wait of this thread wanted for lock_waits_history_long? */
static inline bool
pfs_history_wants_lock_waits(const PfsSession *session)
{
	const PfsArena *arena = session->arena;

	return arena->sizes.lock_waits_history != 0 && pfs_load(&session->thread->history) &&
		(pfs_load(&arena->gate) & PFS_WANTS(LOCK_WAITS_HISTORY_LONG)) != 0;
}

/* Adds a lock wait to lock_waits_history_long.  Owner only. */
extern void pfs_history_lock_wait(PfsSession *session, const PfsLockWait *wait);

/* A copied record as an event of its thread. */
extern void pfs_event_of_record(const PfsThread *thread, const PfsStatementRecord *record, bool running,
								PfsStatementEvent *event);

/* Row at a position of a long ring, copied whole; false when it is empty, or (counted) unstable. */
extern bool pfs_long_statement_read(PfsArena *arena, uint32_t row, PfsStatementEvent *event,
									char *text);
extern bool pfs_long_transaction_read(PfsArena *arena, uint32_t row, PfsTransactionEvent *event);
extern bool pfs_long_wait_read(PfsArena *arena, uint32_t row, PfsLongWait *copy);
extern bool pfs_long_lock_wait_read(PfsArena *arena, uint32_t row, PfsLockWait *wait);

/* Writes the record behind a stamp, for this position; false, and nothing is done, when a slower or newer writer has the row. */
extern bool pfs_long_row_write(uint64_t *stamp, uint64_t position, const void *record, size_t bytes);

/* Copies the record behind a stamp whole, returns the stamp; 0 when there is none, or (counted) it never stood still. */
extern uint64_t pfs_long_row_read(PfsArena *arena, const uint64_t *stamp, void *record, size_t bytes);

#endif							/* PFS_HISTORY_H */
