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

/* In PfsStatementRecord.used, above the counters. */
#define PFS_RECORD_UNTIMED (UINT32_C(1) << 24)
#define PFS_RECORD_GLOBAL (UINT32_C(1) << 25)	/* counts at the global level only */
#define PFS_RECORD_HISTORY (UINT32_C(1) << 26)	/* a row of events_statements_history ... */
#define PFS_RECORD_LONG (UINT32_C(1) << 27) /* ... and of events_statements_history_long */
#define PFS_RECORD_FAILED (UINT32_C(1) << 28)	/* sqlstate and message are set */
#define PFS_RECORD_ROUTINE (UINT32_C(1) << 29)	/* routine is set */
#define PFS_RECORD_IN_STATEMENT (UINT32_C(1) << 30) /* nesting_event_id is one; else, if there is any, a transaction */

/*
 * What follows from a plan's shape is 1 nearly always: then these bits say so, one for each of those counters, and nothing
 * is stored with each execution.
 */
#define PFS_ONES_FIRST ((uint32_t) PFS_COUNTER_SELECT_RANGE)
#define PFS_ONES 7
#define PFS_RECORD_ONES (((UINT32_C(1) << PFS_ONES) - 1) << PFS_COUNTERS_KEPT)

_Static_assert(PFS_COUNTERS_KEPT + PFS_ONES <= 24, "flags are above");

/* The bit of a counter; 0: it has none. */
static inline uint32_t
pfs_one_bit(PfsCounter counter)
{
	uint32_t	place = (uint32_t) counter - PFS_ONES_FIRST;

	return place < PFS_ONES ? UINT32_C(1) << (PFS_COUNTERS_KEPT + place) : 0;
}

/*
 * A statement in the journal of its thread: two lines, and the rest only by the few that need it.  What most sums look at
 * is in the second one.  Counters that "used" does not mark hold whatever an earlier statement left, so do fields that
 * belong to a flag.
 */
typedef struct PfsStatementRecord
{
	uint64_t	event_id;		/* 0 = makes no row */
	uint64_t	nesting_event_id;
	PfsTicks	start;
	uint64_t	statement_id;
	uint32_t	text;			/* where the SQL text stands, see journal.h */
	uint32_t	text_length;	/* bytes kept */
	PfsRef		routine;		/* see names.h */
	uint32_t	prepared;		/* the host's, of an EXECUTE: what it executes; else of no meaning */
	uint64_t	query_id;
	PfsRef		schema;			/* name */
	uint32_t	role;			/* host's id of the role it ran as: decides who may see the texts */

	uint32_t	digest_generation;
	uint32_t	digest;			/* index in the digest table of that generation, 0 = none */
	uint16_t	class;			/* statement class */
	uint16_t	level;			/* nesting level, top = 0 */
	uint32_t	used;			/* bit i = counter[i] is not zero; PFS_RECORD_*, PFS_RECORD_ONES */
	uint32_t	epoch;			/* value of the reset counter when it ended */
	uint32_t	end_event;		/* see pfs_record_end_event */
	PfsTicks	end;
	PfsTicks	wait;			/* time it ran: less than end - start when it paused in between */
	uint64_t	counter[PFS_COUNTERS_KEPT];
	uint32_t	sqlstate;		/* host's packed SQLSTATE */
	uint32_t	message;		/* as text */
	uint32_t	message_length;
	uint32_t	spare2;
} PfsStatementRecord;

_Static_assert(sizeof(PfsStatementRecord) == 256, "four cache lines");
_Static_assert(offsetof(PfsStatementRecord, digest_generation) == PFS_CACHE_LINE &&
			   offsetof(PfsStatementRecord, counter) + 3 * sizeof(uint64_t) == 2 * PFS_CACHE_LINE, "a line for the sums");

/* Its end_event_id, which is not below the event's: the lower half is kept, beside what else is written at the end. */
static inline uint64_t
pfs_record_end_event(const PfsStatementRecord *record)
{
	return record->event_id + (record->end_event - (uint32_t) record->event_id);
}

/* A statement as the tables show it, and as it is kept when its thread has gone. */
typedef struct PfsStatementEvent
{
	uint64_t	thread_id;
	uint64_t	text_position;	/* in the text ring of the long history */
	uint32_t	check_sum;		/* of both texts; there, too */
	PfsRef		user;			/* name; decides who may see the row */
	uint8_t		running;
	uint8_t		encoding;		/* host's number of the texts' encoding */
	uint8_t		spare[6];
	PfsStatementRecord record;	/* the last: most have little of it */
} PfsStatementEvent;

static inline uint64_t
pfs_record_counter(const PfsStatementRecord *record, PfsCounter counter)
{
	if (counter == PFS_COUNTER_ERRORS)
		return (record->used & PFS_RECORD_FAILED) != 0;
	return ((record->used & PFS_USED_MASK & 1u << counter) != 0 ? record->counter[counter] : 0) +
		((record->used & pfs_one_bit(counter)) != 0);
}

/* The first counters: most have one or two of them, and no other.  They stand in the record's second line. */
#define PFS_FREQUENT 3
#define PFS_INFREQUENT_MASK (PFS_USED_MASK & ~((UINT32_C(1) << PFS_FREQUENT) - 1))

_Static_assert((int) PFS_COUNTER_ROWS_SENT < PFS_FREQUENT && (int) PFS_COUNTER_ROWS_AFFECTED < PFS_FREQUENT &&
			   (int) PFS_COUNTER_ROWS_EXAMINED < PFS_FREQUENT, "these");

/* Adds the counters that a record keeps. */
static inline __attribute__((always_inline)) void
pfs_record_counters_add(uint64_t *to, const PfsStatementRecord *record)
{
	uint32_t	used = record->used;
	const uint32_t most = 1u << PFS_COUNTER_ROWS_SENT | 1u << PFS_COUNTER_ROWS_EXAMINED;

	if (pfs_likely((used & (PFS_USED_MASK | PFS_RECORD_ONES)) == most))
	{
		pfs_add(&to[PFS_COUNTER_ROWS_SENT], pfs_load(&record->counter[PFS_COUNTER_ROWS_SENT]));
		pfs_add(&to[PFS_COUNTER_ROWS_EXAMINED], pfs_load(&record->counter[PFS_COUNTER_ROWS_EXAMINED]));
		return;
	}
	if (pfs_likely((used & 1u << PFS_COUNTER_ROWS_SENT) != 0))
		pfs_add(&to[PFS_COUNTER_ROWS_SENT], pfs_load(&record->counter[PFS_COUNTER_ROWS_SENT]));
	if (pfs_unlikely((used & 1u << PFS_COUNTER_ROWS_AFFECTED) != 0))
		pfs_add(&to[PFS_COUNTER_ROWS_AFFECTED], pfs_load(&record->counter[PFS_COUNTER_ROWS_AFFECTED]));
	if (pfs_likely((used & 1u << PFS_COUNTER_ROWS_EXAMINED) != 0))
		pfs_add(&to[PFS_COUNTER_ROWS_EXAMINED], pfs_load(&record->counter[PFS_COUNTER_ROWS_EXAMINED]));
	if (pfs_likely((used & (PFS_INFREQUENT_MASK | PFS_RECORD_ONES)) == 0))
		return;
	pfs_keep(to);
	for (uint32_t ones = used & PFS_RECORD_ONES; ones != 0; ones &= ones - 1)
		pfs_add(&to[PFS_ONES_FIRST - PFS_COUNTERS_KEPT + (uint32_t) __builtin_ctz(ones)], 1);
	for (used &= PFS_INFREQUENT_MASK; used != 0; used &= used - 1)
	{
		int			i = __builtin_ctz(used);

		pfs_add(&to[i], pfs_load(&record->counter[i]));
	}
}

/*
 * Copies what is behind the event id, counters only as far as used; the most frequent ones, which most have and nothing
 * else, at once.
 */
static inline void
pfs_record_copy_behind(PfsStatementRecord *to, const PfsStatementRecord *from)
{
	uint32_t	used;

	pfs_copy_words(&to->nesting_event_id, &from->nesting_event_id,
				   offsetof(PfsStatementRecord, counter) - offsetof(PfsStatementRecord, nesting_event_id) +
				   PFS_FREQUENT * sizeof(uint64_t));
	if (pfs_likely((to->used & (PFS_INFREQUENT_MASK | PFS_RECORD_FAILED)) == 0))
		return;
	for (used = to->used & PFS_USED_MASK; used != 0; used &= used - 1)
	{
		int			i = __builtin_ctz(used);

		pfs_store(&to->counter[i], pfs_load(&from->counter[i]));
	}
	if ((to->used & PFS_RECORD_FAILED) != 0)
		pfs_copy_words(&to->sqlstate, &from->sqlstate, 2 * sizeof(uint64_t));
}

/* Copies a record into or out of shared memory. */
static inline void
pfs_record_copy(PfsStatementRecord *to, const PfsStatementRecord *from)
{
	pfs_store(&to->event_id, pfs_load(&from->event_id));
	pfs_record_copy_behind(to, from);
}

#define PFS_GID_LENGTH 64

/*
 * A transaction in the ring of its thread: one line; what is behind it only by those that have more.  What the
 * thread knows (its id, its user) is not repeated.
 */
typedef struct PfsTransactionRecord
{
	PFS_ALIGNED uint64_t event_id;	/* 0 = there is none, or it makes no row */
	uint64_t	nesting_event_id;	/* of a statement; 0 = none */
	PfsTicks	start;
	PfsTicks	end;			/* this and the next one: once it has an outcome */
	uint64_t	end_event_id;
	uint64_t	trx_id;
	union
	{
		struct
		{
			uint8_t		outcome;	/* PfsTransactionState */
			uint8_t		read_only;
			uint8_t		isolation;	/* host's number */
			uint8_t		autocommit;
			uint8_t		timed;
			uint8_t		has_more;	/* see pfs_transaction_more */
			uint8_t		global; /* counts at the global level only */
		};
		uint64_t	state;		/* all of these */
	};
	uint32_t	epoch;			/* value of the reset counter when written */
	uint32_t	spare;

	uint64_t	savepoints;
	uint64_t	rollbacks_to_savepoint;
	uint64_t	releases_of_savepoint;
	uint64_t	gid_length;
	char		gid[PFS_GID_LENGTH];
} PfsTransactionRecord;

_Static_assert(offsetof(PfsTransactionRecord, savepoints) == PFS_CACHE_LINE, "one line");

/* For who writes what only few have. */
static inline PfsTransactionRecord *
pfs_transaction_more(PfsTransactionRecord *record)
{
	if (!record->has_more)
		pfs_zero_words(&record->savepoints, offsetof(PfsTransactionRecord, gid) -
					   offsetof(PfsTransactionRecord, savepoints));
	record->has_more = true;
	return record;
}

/* How long it took that ended then, if it was timed. */
static inline PfsTicks
pfs_transaction_ticks(const PfsTransactionRecord *record, PfsTicks end)
{
	return pfs_likely(record->timed) ? pfs_max(end - record->start, (PfsTicks) 1) : 0;
}

/* To which of the two it belongs. */
static inline PfsTimerStat *
pfs_transaction_timer(PfsTransactionStat *stat, const PfsTransactionRecord *record)
{
	return record->read_only ? &stat->read_only : &stat->read_write;
}

static inline __attribute__((always_inline)) void
pfs_transaction_stat_add(PfsTransactionStat *stat, const PfsTransactionRecord *record)
{
	pfs_timer_stat_add(pfs_transaction_timer(stat, record), pfs_transaction_ticks(record, record->end));
}

/* The same as the tables show it. */
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
	uint8_t		spare[6];
	union
	{
		uint64_t	instance;	/* shown as object_instance_begin */
		struct
		{
			uint32_t	row;	/* of a file or table ... */
			uint32_t	use;	/* ... this use of it */
		};
	};
	uint32_t	id[4];			/* of a lock: all of the host's name but the mode */
} PfsWaitObject;

#define PFS_WAIT_HIDDEN 0x08	/* it is not of its thread's history, only of the long one */

/*
 * A wait in the ring of its thread: one line, written once.  What the thread knows (its id, its user) is not repeated,
 * and a lock, which has no bytes, says its name and mode instead; its instance is the host's to tell.
 */
typedef struct PfsWaitRecord
{
	uint64_t	event_id;		/* 0 = there is none */
	uint64_t	end_event_id;	/* 0 while it lasts; then the next ones have no meaning but the start */
	uint64_t	nesting_event_id;
	PfsTicks	start;			/* 0 = not timed */
	PfsTicks	end;
	union
	{
		struct
		{
			int64_t		bytes;	/* or rows of a table; -1 = none */
			uint64_t	object; /* instance, or row and use, see PfsWaitObject */
		};
		uint32_t	id[4];		/* of a lock */
	};
	union
	{
		struct
		{
			uint32_t	epoch;	/* value of the reset counter when written */
			uint16_t	wait;	/* number among the waits */
			uint8_t		operation;	/* PfsOperation; of a lock its mode */
			uint8_t		kinds;	/* PfsNestingType | PFS_WAIT_HIDDEN | PfsWaitObjectType << 4 */
		};
		uint64_t	what;		/* all four: often known before */
	};
} PfsWaitRecord;

_Static_assert(sizeof(PfsWaitRecord) == PFS_CACHE_LINE, "one line");
_Static_assert(offsetof(PfsWaitRecord, start) == offsetof(PfsWaitRecord, nesting_event_id) + sizeof(uint64_t) &&
			   offsetof(PfsWaitRecord, what) == offsetof(PfsWaitRecord, object) + sizeof(uint64_t), "side by side");

static inline bool
pfs_wait_is_of_lock(const PfsWaitRecord *record)
{
	return record->kinds >> 4 == PFS_WAIT_OBJECT_LOCK;
}

/* The same as the tables show it. */
typedef struct PfsWaitEvent
{
	PfsEventHead head;
	PfsWaitObject object;
	int64_t		bytes;
	uint32_t	wait;
	uint8_t		operation;
} PfsWaitEvent;

/* How long it took, if it was timed. */
static inline PfsTicks
pfs_wait_ticks(PfsTicks start, PfsTicks end)
{
	return start == 0 ? 0 : end > start ? end - start : 1;
}
_Static_assert(sizeof(PfsStatementEvent) % 8 == 0, "copied by words");
_Static_assert(offsetof(PfsStatementRecord, sqlstate) % 8 == 0, "copied by words");
_Static_assert(sizeof(PfsTransactionEvent) % 8 == 0, "copied by words");

#endif							/* PFS_EVENT_H */
