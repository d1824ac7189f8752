/*
 * event.h
 *		The records of single events, as they stand in the *_current and *_history* tables.
 *
 * Records are whole words, so that pfs_copy_words can publish them.  Times are ticks.
 */
#ifndef PFS_EVENT_H
#define PFS_EVENT_H

#include "core/pool.h"
#include "core/stat.h"

typedef enum PfsNestingType
{
	PFS_NESTING_NONE,
	PFS_NESTING_TRANSACTION,
	PFS_NESTING_STATEMENT,
	PFS_NESTING_WAIT
} PfsNestingType;

typedef enum PfsEventState
{
	PFS_EVENT_EMPTY,
	PFS_EVENT_RUNNING,
	PFS_EVENT_ENDED
} PfsEventState;

typedef enum PfsTransactionState
{
	PFS_TRANSACTION_ACTIVE,
	PFS_TRANSACTION_COMMITTED,
	PFS_TRANSACTION_ROLLED_BACK,
	PFS_TRANSACTION_PREPARED
} PfsTransactionState;

/* What every event record begins with. */
typedef struct PfsEventHead
{
	uint64_t	thread_id;
	uint64_t	event_id;
	uint64_t	end_event_id;	/* 0 while running */
	uint64_t	nesting_event_id;
	PfsTicks	timer_start;
	PfsTicks	timer_end;		/* 0 while running */
	PfsTicks	timer_wait;		/* time on stage; less than end - start when paused in between */
	uint32_t	epoch;			/* value of the reset counter when written */
	uint8_t		state;			/* PfsEventState */
	uint8_t		nesting_type;	/* PfsNestingType */
	uint8_t		timed;
	uint8_t		encoding;		/* host's number of the texts' encoding */
	PfsRef		user;			/* name; decides who may see the row */
	uint32_t	spare;
} PfsEventHead;

#define PFS_MESSAGE_LENGTH 128

/*
 * Counters stand last: only those marked in "used" are ever written, copied or added, the others
 * hold whatever an earlier event left.
 */
typedef struct PfsStatementEvent
{
	PfsEventHead head;
	uint64_t	statement_id;
	uint64_t	query_id;
	uint64_t	text_position;	/* in the text ring; history_long only */
	uint32_t	used;			/* bit i = counter[i] is not zero */
	uint32_t	digest;			/* index in the digest table, 0 = none */
	uint32_t	digest_generation;
	uint32_t	sqlstate;		/* host's packed SQLSTATE, 0 = success */
	PfsRef		schema;			/* name */
	PfsRef		object;			/* routine, see names.h */
	uint32_t	text_length;	/* bytes kept of the SQL text */
	uint32_t	message_length;
	uint32_t	role;			/* host's id of the role it ran as: decides who may see the texts */
	uint16_t	class;			/* statement class */
	uint16_t	level;			/* nesting level, top = 0 */
	uint64_t	counter[PFS_COUNTERS];
} PfsStatementEvent;

/* Copies an event into or out of shared memory, counters only as far as used. */
static inline void
pfs_statement_event_copy(PfsStatementEvent *to, const PfsStatementEvent *from)
{
	uint32_t	used = pfs_load(&from->used) & PFS_USED_MASK;

	pfs_copy_words(to, from, offsetof(PfsStatementEvent, counter));
	for (; used != 0; used &= used - 1)
	{
		int			i = __builtin_ctz(used);

		pfs_store(&to->counter[i], pfs_load(&from->counter[i]));
	}
}

static inline uint64_t
pfs_statement_counter(const PfsStatementEvent *event, PfsCounter counter)
{
	return (event->used & (1u << counter)) != 0 ? event->counter[counter] : 0;
}

#define PFS_GID_LENGTH 64

typedef struct PfsTransactionEvent
{
	PfsEventHead head;
	uint64_t	trx_id;
	uint64_t	savepoints;
	uint64_t	rollbacks_to_savepoint;
	uint64_t	releases_of_savepoint;
	uint8_t		outcome;		/* PfsTransactionState */
	uint8_t		read_only;
	uint8_t		isolation;		/* host's number */
	uint8_t		autocommit;
	uint32_t	gid_length;
	char		gid[PFS_GID_LENGTH];
} PfsTransactionEvent;

typedef enum PfsWaitObjectType
{
	PFS_WAIT_OBJECT_NONE,
	PFS_WAIT_OBJECT_FILE,		/* id: row in file_instances, its use number */
	PFS_WAIT_OBJECT_SOCKET,
	PFS_WAIT_OBJECT_TABLE,		/* id: row of the table or index, its use number */
	PFS_WAIT_OBJECT_LOCK		/* id: the host's name of the lock, see pfs_host_lock_object */
} PfsWaitObjectType;

/* What is waited for. */
typedef struct PfsWaitObject
{
	uint8_t		type;			/* PfsWaitObjectType */
	uint8_t		mode;			/* of a lock, the host's number */
	uint16_t	subtype;		/* of a lock, the host's number */
	uint32_t	id[4];
	uint32_t	spare;
	uint64_t	instance;		/* shown as object_instance_begin */
} PfsWaitObject;

typedef struct PfsWaitEvent
{
	PfsEventHead head;
	PfsWaitObject object;
	int64_t		bytes;			/* or rows of a table; -1 = none */
	uint32_t	wait;			/* number among the waits */
	uint8_t		operation;		/* PfsOperation */
	uint8_t		spare[3];
} PfsWaitEvent;

_Static_assert(sizeof(PfsWaitEvent) % 8 == 0, "copied by words");
_Static_assert(sizeof(PfsStatementEvent) % 8 == 0, "copied by words");
_Static_assert(sizeof(PfsTransactionEvent) % 8 == 0, "copied by words");

#endif							/* PFS_EVENT_H */
