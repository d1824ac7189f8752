/*
 * thread.h
 *		One slot per server process, and the parties its statistics are added up for.
 *
 * The slot number is the host's process number; an owner token (pid and thread id) tells a
 * successor from its predecessor.  A slot has one writer, its owner; UPDATE of the table threads
 * writes the two switches, and nothing else, from outside.
 */
#ifndef PFS_THREAD_H
#define PFS_THREAD_H

#include "core/event.h"
#include "core/histogram.h"
#include "core/registry.h"

/*
 * By-name statistics of one owner: transactions in place, all others in cells that are
 * claimed on their first event.  writer: owner (threads) or holder of the roll-up lock (parents).
 */
typedef struct PfsAggregate
{
	uint32_t	transaction_epoch;	/* begins as a cell */
	/* of a thread's first one: each transaction writes this line */
	uint32_t	transaction_shown;	/* where that of events_transactions_current stands, in bytes, or PFS_NO_TRANSACTION */
	uint64_t	transactions_ended; /* number of the last one in the ring */
	PfsTransactionStat transaction;
	PfsRef		cell[];			/* statement classes, errors, waits */
} PfsAggregate;

typedef struct PfsCell
{
	uint32_t	epoch;			/* reset counter when the content began; threads only */
	PfsSeq		seq;			/* of statements in threads: odd while the owner changes it */
	uint64_t	spare;
} PfsCell;

typedef struct PfsStatementCell
{
	PfsCell		head;
	PfsStatementStat stat;
} PfsStatementCell;

typedef struct PfsErrorCell
{
	PfsCell		head;
	PfsErrorStat stat;
} PfsErrorCell;

typedef struct PfsWaitCell
{
	PfsCell		head;
	PfsTimerStat stat;
} PfsWaitCell;

typedef struct PfsIoCell
{
	PfsCell		head;
	PfsIoStat	stat;
} PfsIoCell;

/* A row of accounts, users or hosts.  writer: holder of the roll-up lock. */
typedef struct PfsParty
{
	uint32_t	used;
	PfsRef		user;			/* 0 = background, or not part of the key */
	PfsRef		host;
	uint32_t	user_row;		/* accounts: its users row + 1, 0 = none */
	uint32_t	host_row;
	uint32_t	spare;
	uint64_t	current_connections;
	uint64_t	total_connections;
	PfsAggregate aggregate;		/* variable length, last */
} PfsParty;

#define PFS_STACK_MAX 256		/* open statements of one thread that have rows */
#define PFS_DIGEST_CACHE 512	/* digest cells of one thread */
#define PFS_DIGEST_WAIT_CACHE 128	/* cells of (digest, wait) of one thread */
#define PFS_OBJECT_CACHE 64		/* cells of files, and of tables, of one thread */
#define PFS_WAIT_STACK 5		/* waits inside each other */
#define PFS_WAIT_BLOCK 16		/* rows of waits that go to the long history together, see wait_block.h */
#define PFS_CALL_COUNTERS 128	/* libc calls that are counted, see interposed_calls */

/* The client connection of a thread: one row of socket_instances. */
typedef struct PfsSocket
{
	uint32_t	used;
	int32_t		fd;
	uint32_t	epoch;			/* as in a cell, of the statistics */
	uint16_t	port;
	uint8_t		spare[2];
	char		address[48];
	PfsIoStat	stat;
} PfsSocket;

/* Between commands it is what the server tells its client. */
typedef enum PfsThreadState
{
	PFS_THREAD_ACTIVE,
	PFS_THREAD_IDLE = 'I',
	PFS_THREAD_IDLE_IN_TRANSACTION = 'T',
	PFS_THREAD_IDLE_ABORTED = 'E'
} PfsThreadState;

#define PFS_NO_WAIT UINT32_MAX
#define PFS_NOT_COPIED UINT64_MAX

typedef struct PfsWaitSlot
{
	PFS_ALIGNED PfsWaitRecord record;
} PfsWaitSlot;

/* Answers to the client that are counted as events of a class, and so many that a store is dear. */
#define PFS_ANSWERS 5

/* Those that are timed. */
typedef struct PfsTimedAnswers
{
	PFS_ALIGNED PfsSeq seq;		/* odd while the owner adds one */
	uint32_t	spare;
	PfsTimerStat stat[PFS_ANSWERS];
} PfsTimedAnswers;

/* Calls on its socket, and idle time (the third part), that are not in the cells of their event names yet, see wait_sum.h. */
typedef struct PfsCallSums
{
	PFS_ALIGNED PfsSeq seq;		/* odd while the owner adds one */
	uint32_t	epoch;			/* as in a cell, of all of them */
	uint32_t	wait;			/* numbers of their waits */
	uint32_t	idle_wait;
	uint64_t	bytes[2];
	PfsTimerStat part[PFS_IO_PARTS];
} PfsCallSums;

_Static_assert(sizeof(PfsCallSums) == 2 * PFS_CACHE_LINE, "two lines");

typedef struct PfsThread
{
	uint32_t	owner;			/* pid; 0 = free */
	uint32_t	database_id;
	uint64_t	thread_id;		/* never reused; 0 = free */
	/* of its waits, which change nothing else of the thread but event_id */
	uint64_t	waits_ended;	/* history ring head */
	uint64_t	waits_copied;	/* those up to this one are in the long history; PFS_NOT_COPIED = it does not want them */
	uint32_t	wait_depth;		/* waits inside each other now */
	uint32_t	wait_shown;		/* slot of events_waits_current, or PFS_NO_WAIT */
	PfsRef		user;
	PfsRef		host;
	uint64_t	processlist_id;	/* pid of a foreground thread, 0 = background */
	uint64_t	parent_thread_id;
	PfsTicks	attached_at;
	PfsRef		database;
	uint32_t	class;			/* thread class */
	uint32_t	account_row;	/* + 1; 0 = none */
	int32_t		encoding;		/* host's number of the texts' encoding */
	uint8_t		connection_type;	/* host's number */
	uint8_t		instrumented;	/* writers: attach, UPDATE threads */
	uint8_t		history;		/* the same */
	uint8_t		spare;
	PfsSeq		identity;		/* odd while what stands above, or the program, changes */
	PfsRef		schema;			/* present one of the session: keeps its name, see names.h */
	char		program[64];	/* application name */

	/* each statement writes this line; it begins with the head of the journal, see journal.h */
	PFS_ALIGNED uint64_t event_id;	/* last one given out */
	uint64_t	ended;			/* statements; the number of the last record */
	uint64_t	summed;			/* records up to this one are in the cells */
	uint64_t	state_since;
	uint32_t	state;			/* PfsThreadState */
	uint32_t	answered[PFS_ANSWERS];	/* not in the cells of their classes yet, see pfs_answer */
	PfsSeq		seq;			/* odd while the owner records: anything of the thread, busy */
	uint16_t	open[PFS_STACK_MAX];	/* slots of open statements, by place; most have the first, which is on this line */

	uint64_t	summing;		/* up to this one records may be summed, if the owner was killed */
	uint64_t	text_next;		/* where the next text goes */
	uint32_t	answered_epoch; /* reset counter when they began ... */
	uint32_t	answered_scope; /* ... PfsScope for which they count */

	uint32_t	histogram_epoch;	/* of what follows: the thread's part of the global histogram */
	PfsSeq		moves;			/* odd while content of its cells of digests moves there, and to cells of classes */
	uint64_t	histogram[PFS_BUCKETS];
	PfsRef		digest_cell[PFS_DIGEST_CACHE];	/* these are places, see cell_cache.h */
	PfsRef		digest_wait_cell[PFS_DIGEST_WAIT_CACHE];
	PfsRef		file_cell[PFS_OBJECT_CACHE];
	PfsRef		table_cell[PFS_OBJECT_CACHE];
	PfsRef		calls;			/* uint64_t[PFS_CALL_COUNTERS] */
	PfsRef		prepared;		/* the newest of its prepared statements, see prepared.h ... */
	PfsSeq		prepared_seq;	/* ... odd while the list or one of them changes */
	uint32_t	spare2;
	uint64_t	call_folds;		/* advances when the thread's calls move into the totals */
	PfsCallSums call_sums;
	PfsTimedAnswers timed_answers;	/* with those of "answered" */
	PfsSocket	socket;
} PfsThread;

_Static_assert(offsetof(PfsThread, event_id) % PFS_CACHE_LINE == 0 &&
			   offsetof(PfsThread, open) < offsetof(PfsThread, event_id) + PFS_CACHE_LINE, "one line, with the first of them");

/* Statement class that an answer counts for. */
static inline uint32_t
pfs_answer_class(const PfsArena *arena, uint32_t answer)
{
	uint32_t	class = pfs_load(&arena->answer_class[answer]);

	return class < arena->sizes.statement_classes ? class : 0;
}

/* Which of a thread's two aggregates an event belongs to. */
typedef enum PfsScope
{
	PFS_SCOPE_THREAD,			/* all levels */
	PFS_SCOPE_GLOBAL,			/* consumer thread_instrumentation is off: global level only */
	PFS_SCOPES
} PfsScope;

static inline PfsThread *
pfs_thread(const PfsArena *arena, uint32_t slot)
{
	uint32_t	full = arena->sizes.threads - arena->sizes.lean_threads;

	return slot < full
		? PFS_AT(arena, arena->threads + (uint64_t) slot * arena->thread_bytes, PfsThread)
		: PFS_AT(arena, arena->lean_threads + (uint64_t) (slot - full) * arena->lean_thread_bytes,
				 PfsThread);
}

static inline PfsAggregate *
pfs_thread_own_aggregate(PfsThread *thread)
{
	return (PfsAggregate *) ((char *) thread + PFS_ALIGN_UP(sizeof(PfsThread), 64));
}

static inline PfsAggregate *
pfs_thread_aggregate(const PfsArena *arena, PfsThread *thread, PfsScope scope)
{
	return (PfsAggregate *) ((char *) pfs_thread_own_aggregate(thread) +
							 (pfs_unlikely(scope != PFS_SCOPE_THREAD) ? arena->aggregate_bytes : 0));
}

/* Has the thread a journal?  (False: it records no statements.) */
static inline bool
pfs_thread_has_statements(const PfsArena *arena, const PfsThread *thread)
{
	return (const char *) thread < PFS_AT(arena, arena->lean_threads, char);
}

#define PFS_NO_TRANSACTION UINT32_MAX

/*
 * Transaction slots: a ring of the history's length and one more.  A transaction is written where it will stay: in the
 * slot behind those that have ended, whose old content is no longer shown.
 */
static inline uint32_t
pfs_thread_transaction_slots(const PfsSizes *sizes)
{
	return sizes->transactions_history + 1;
}

static inline PfsTransactionRecord *
pfs_thread_transaction(const PfsArena *arena, PfsThread *thread, uint32_t slot)
{
	return (PfsTransactionRecord *) ((char *) thread + arena->thread_transactions_offset) + slot;
}

/* That of the next one. */
static inline PfsTransactionRecord *
pfs_thread_next_transaction(const PfsArena *arena, PfsThread *thread)
{
	return pfs_thread_transaction(arena, thread, (uint32_t) (pfs_load(&pfs_thread_own_aggregate(thread)->transactions_ended) %
															 pfs_thread_transaction_slots(&arena->sizes)));
}

/*
 * Waits: a ring of blocks, where they are written and stay, as transactions do, and until they go to the long history: one
 * that is written, and the history's length.  In the thread are the blocks' numbers, and PFS_WAIT_STACK slots, behind those
 * of the ring, for those that are inside each other.
 */
static inline uint32_t
pfs_thread_wait_blocks(const PfsSizes *sizes)
{
	return 1 + pfs_max(1u, (sizes->waits_history + PFS_WAIT_BLOCK - 1) / PFS_WAIT_BLOCK);
}

static inline uint32_t
pfs_thread_wait_ring(const PfsSizes *sizes)
{
	return pfs_thread_wait_blocks(sizes) * PFS_WAIT_BLOCK;
}

static inline PfsWaitSlot *
pfs_thread_wait_stack(const PfsArena *arena, PfsThread *thread)
{
	return (PfsWaitSlot *) ((char *) thread + arena->wait_blocks.thread_offset);
}

/* Which blocks, and an exchange of one for another, see wait_block.c. */
typedef struct PfsThreadBlocks
{
	uint64_t	given_until;	/* so many waits are copied afterwards */
	uint32_t	given;			/* number of a block */
	uint32_t	taken;			/* the same + 1; 0 = there is none under way */
	uint32_t	number[];		/* those of the ring */
} PfsThreadBlocks;

static inline PfsThreadBlocks *
pfs_thread_blocks(const PfsArena *arena, PfsThread *thread)
{
	return (PfsThreadBlocks *) (pfs_thread_wait_stack(arena, thread) + PFS_WAIT_STACK);
}

static inline uint32_t
pfs_thread_wait_slots(const PfsSizes *sizes)
{
	return pfs_thread_wait_ring(sizes) + PFS_WAIT_STACK;
}

static inline PfsParty *
pfs_party(const PfsArena *arena, PfsOff table, uint32_t row)
{
	return PFS_AT(arena, table + (uint64_t) row * arena->account_bytes, PfsParty);
}

/* The same by row + 1, as rows are linked; NULL = none. */
static inline PfsParty *
pfs_party_of_link(const PfsArena *arena, PfsOff table, uint32_t rows, uint32_t link)
{
	return link - 1 < rows ? pfs_party(arena, table, link - 1) : NULL;
}

static inline PfsParty *
pfs_account_of_link(const PfsArena *arena, uint32_t link)
{
	return pfs_party_of_link(arena, arena->accounts, arena->sizes.accounts, link);
}

static inline PfsParty *
pfs_user_of_link(const PfsArena *arena, uint32_t link)
{
	return pfs_party_of_link(arena, arena->users, arena->sizes.users, link);
}

static inline PfsParty *
pfs_host_of_link(const PfsArena *arena, uint32_t link)
{
	return pfs_party_of_link(arena, arena->hosts, arena->sizes.hosts, link);
}

static inline PfsAggregate *
pfs_global_aggregate(const PfsArena *arena)
{
	return &PFS_AT(arena, arena->global, PfsParty)->aggregate;
}

static inline uint64_t *
pfs_global_histogram(const PfsArena *arena)
{
	return PFS_AT(arena, arena->global + arena->account_bytes, uint64_t);
}

static inline uint32_t
pfs_error_cell_number(const PfsArena *arena, uint32_t error)
{
	return arena->sizes.statement_classes + error;
}

static inline uint32_t
pfs_wait_cell_number(const PfsArena *arena, uint32_t wait)
{
	return arena->sizes.statement_classes + arena->sizes.errors + wait;
}

/* Cells of all families in one directory. */
static inline uint32_t
pfs_cell_count(const PfsArena *arena)
{
	return pfs_wait_cell_number(arena, arena->sizes.waits);
}

/* What the host knows of a process that begins to record. */
typedef struct PfsThreadInfo
{
	uint32_t	pid;
	uint32_t	class;
	const char *user;			/* NULL for background processes */
	const char *host;
	const char *database;
	const char *program;
	uint32_t	database_id;
	int32_t		encoding;
	uint8_t		connection_type;
	bool		hurried;		/* must not sleep for the roll-up lock, see rollup.h */
} PfsThreadInfo;

/* Switches the observation of a thread on or off, from its next event on.  Any process. */
extern void pfs_thread_instrument(PfsArena *arena, PfsThread *thread, bool on);

/* The same for its histories. */
extern void pfs_thread_keep_history(PfsArena *arena, PfsThread *thread, bool on);

/*
 * Takes the slot: folds what a dead predecessor left, gives a new thread id, applies setup_actors
 * or setup_threads.  Waits up to a second for the roll-up lock, unless hurried.  Owner only; NULL
 * when slot is out of range (counted), or when a hurried caller should try again.
 */
extern PfsThread *pfs_thread_attach(PfsArena *arena, uint32_t slot, const PfsThreadInfo *info);

/* The process turns out to be a parallel worker of this one. */
extern void pfs_thread_set_leader(PfsArena *arena, PfsThread *thread, uint32_t pid);

/*
 * Moves the statistics up to the account and frees the slot.  long_history: what the session has claimed of
 * it, NULL = its last statements do not get there.  Owner only.
 */
struct PfsLongClaims;
extern void pfs_thread_detach(PfsArena *arena, PfsThread *thread, struct PfsLongClaims *long_history);

/* Slot of a live thread by its pid, or NULL. */
extern PfsThread *pfs_thread_by_pid(const PfsArena *arena, uint32_t pid);

#endif							/* PFS_THREAD_H */
