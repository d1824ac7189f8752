/*
 * budget.h
 *		Layout of the prototype: what is shared, what a session keeps for itself.
 *
 * See budget.c for what this is.
 */
#ifndef BUDGET_H
#define BUDGET_H

#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "libpq/libpq.h"

/* Parts: -DPART_X=0 leaves one out.  measure.py adds them one by one. */
#ifndef PART_STATEMENTS
#define PART_STATEMENTS 1		/* begin, end, record, text, nesting, open row */
#endif
#ifndef PART_SUMS
#define PART_SUMS 1				/* cells of class, digest and histograms, every 32 records */
#endif
#ifndef PART_SWITCHES
#define PART_SWITCHES 1			/* switches and TRUNCATE: one word compared */
#endif
#ifndef PART_ERRORS
#define PART_ERRORS 1			/* guard round the executor's calls */
#endif
#ifndef PART_TABLES
#define PART_TABLES 1			/* rows of tables and indexes, rows examined */
#endif
#ifndef PART_TRANSACTIONS
#define PART_TRANSACTIONS 1
#endif
#ifndef PART_PROTOCOL
#define PART_PROTOCOL 1			/* counts of messages, idle state */
#endif
#ifndef PART_IDLE
#define PART_IDLE 1				/* recv: when a command came, idle event */
#endif
#ifndef PART_UTILITIES
#define PART_UTILITIES 1
#endif
#ifndef PART_FILES
#define PART_FILES 1			/* files: timed, by event and file */
#endif
#ifndef PART_WAITS
#define PART_WAITS 1			/* rows of all waits, when they are wanted */
#endif

#define LINE __attribute__((aligned(64)))
#define HOT __attribute__((hot))
#define COLD __attribute__((cold, noinline))
#define INLINE static inline __attribute__((always_inline))

/* Seldom, but what it leads to is hot: else the compiler makes it small instead of fast, and puts it elsewhere. */
#define now_and_then(x) __builtin_expect_with_probability(!!(x), 0, 0.95)

#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

enum
{
	THREADS = 128, RING = 64, UNSUMMED = 32, DEPTH = 16, CELLS = 64, OBJECTS = 64, TEXTS = 65536, TEXT_LENGTH = 1024,
	DIGESTS = 1024, BUCKETS = 550, CELL_BUCKETS = 64, TEMPLATES = 128, WAITS_RING = 64, WAIT_CELLS = 128, FILES = 64,
	BLOCK = 32, LONG_WAITS = 512, LONG_STATEMENTS = 512, LONG_TEXTS = 1 << 20
};

/* Switches. */
enum
{
	WANT_STATEMENTS = 1, WANT_TRANSACTIONS = 2, WANT_TABLES = 4, WANT_IDLE = 8, WANT_FILES = 16,
	WANT_DEFAULT = 31, WANT_ALL_WAITS = 32, WANT_LONG = 64, WANT_EVERYTHING = 127
};

/* used */
enum
{
	RETURNS = 1, CHANGES = 2,	/* what rows are: ROWS_SENT, ROWS_AFFECTED */
	SORTS_EXAMINED = 4,			/* SORT_ROWS are ROWS_EXAMINED */
	SELECT_RANGE = 8, SELECT_SCAN = 16, NO_INDEX = 32, SORT_RANGE = 64, SORT_SCAN = 128, TMP_TABLES = 256, FULL_JOIN = 512,
	TIMED = 1 << 10, HISTORY = 1 << 11, LONG_HISTORY = 1 << 12,
	FAILED = 1 << 13, RARE = 1 << 14	/* see Rare */
};

/* What all executions of a plan share; copied into the record as it stands. */
typedef struct Block
{
	uint32		digest,
				generation;
	uint32		epoch,
				used;
	uint16		class,
				cell;
	uint16		level;
	uint8		in_statement;	/* what "nesting" is */
	uint8		spare;
	uint32		schema,
				role;
	uint32		text,
				text_length;
} Block;

/*
 * A statement: one line is written when it begins, one when it ends.  The 42 columns: thread and event name by thread
 * and class, STATEMENT_ID = thread's base + event_id, SORT_* and so on from "used" (a plan's shape is the same each
 * time), lock time, warnings, errors, temporary files in Rare.
 */
typedef struct Record
{
	uint64		event_id;
	uint64		start;
	uint64		nesting;
	Block		block;

	uint64		end;
	uint64		wait;
	uint64		end_event_id;
	uint64		rows;
	uint64		examined;
	uint64		changed;
	uint64		idle;			/* idle time before it, + 1; 0 = none */
	uint16		index;			/* objects[] where "examined" counts as fetched ... */
	uint16		table;			/* ... and "changed" as what the class does */
	uint32		routine;
} Record;

typedef struct Rare
{
	uint64		lock_time,
				tmp_bytes,
				sort_rows,
				warnings;
	uint32		sqlstate;
	char		message[128];
} Rare;

StaticAssertDecl(sizeof(Block) == 40 && sizeof(Record) == 128, "two lines");

typedef struct Timer
{
	uint64		count,
				sum,
				min_inverted,
				max;
} Timer;

/*
 * What the statements of a digest, class and shape add up to in a thread.  Sums of a class, and the global histogram,
 * are the sums of these: a reader adds them.
 */
typedef struct Cell
{
	LINE uint32 seq;
	uint32		class;
	uint64		digest;			/* and generation: as in the record */
	uint64		kind;			/* epoch and used: the same */
	uint64		last;			/* number of the last record in it */
	Timer		timer;
	uint64		rows,
				examined,
				errors,
				rare[4];
	uint64		first_seen,
				last_seen;
	uint64		sample_wait,
				sample_due;
	uint64		bucket[CELL_BUCKETS];	/* number of the bucket << 48 | count */
	uint64		other_buckets;	/* left for the row, here only their number */
} Cell;

/* Of a table or index. */
typedef struct Object
{
	LINE uint32 seq;
	Oid			oid;
	Oid			database;
	uint32		epoch;
	uint64		last;
	uint64		rows[4];		/* fetch, insert, update, delete */
	uint64		sampled_ticks,
				sampled_rows;
} Object;

typedef struct Transaction
{
	uint64		event_id,
				nesting,
				start,
				end,
				end_event_id,
				trx_id;
	uint32		epoch;
	uint8		outcome,
				read_only,
				isolation,
				autocommit;
	uint16		savepoints,
				rollbacks,
				releases,
				spare;
} Transaction;

/* A wait: see waits.c. */
typedef struct Wait
{
	uint64		event_id;
	uint64		start;
	uint64		end;			/* 0 while it lasts */
	uint64		end_event_id;
	uint64		nesting;
	int64		bytes;
	uint32		object;			/* row of a file or table, descriptor of a socket */
	uint32		digest;			/* of the statement that is charged; 0 = none */
	uint32		epoch;
	uint16		wait;
	uint8		part;			/* read, write, other; or operation of a table */
	uint8		kinds;			/* of the object, what "nesting" is */
} Wait;

StaticAssertDecl(sizeof(Transaction) == 64 && sizeof(Wait) == 64, "a line");

typedef struct WaitCell
{
	LINE uint32 seq;
	uint32		epoch;
	uint64		last;
	Timer		part[3];		/* read, write, other */
	uint64		bytes[2];
} WaitCell;

/* The client was told so, the commit is to come; it has moved out of the ring, see push. */
enum {COMPLETE = 1, MOVED};

enum {ACTIVE = 1, IDLE, IDLE_IN_TRANSACTION};
enum {ANSWER_BIND, ANSWER_DESCRIBE, ANSWER_EXECUTE, ANSWER_QUERY, ANSWERS};

typedef struct Thread
{
	LINE uint64 event_id;		/* the last one given */
	uint64		ended;			/* number of the last record that ended */
	uint64		open;			/* event id of the innermost statement, which is the next record; 0 = none */
	uint64		idle;			/* idle time that no record has yet, + 1 */
	uint64		state_since;
	uint32		state;
	uint32		answered[ANSWERS];
	uint32		depth;			/* statements around it, in outer[] */

	LINE uint64 summed;
	uint64		summing;
	uint64		transactions;	/* that ended */
	uint64		transactions_summed;
	uint64		waits;
	uint64		waits_summed;
	uint64		text_next;
	uint32		pid;
	uint32		id;
	uint64		lost,
				errors_handled,
				errors_raised;
	uint32		open_transaction;

	LINE Record ring[RING];
	Record		outer[DEPTH];
	LINE Transaction transaction[RING];
	Rare		rare[RING];
	LINE Cell	cell[CELLS];
	LINE Timer	answer[ANSWERS];	/* if they are timed, when everything is wanted */
	uint32		answer_seq;
	LINE Timer	by_transaction[2];	/* read write, read only */
	LINE WaitCell idle_cell;
	LINE Object object[OBJECTS];
	LINE uint64 wait_open;		/* event id of the one that lasts, at the head of the ring; 0 = none */
	LINE Wait	wait[WAITS_RING + 8];	/* behind the ring: idle time */
	LINE struct {uint64 key; Timer timer;} digest_wait[64];
	LINE WaitCell wait_cell[WAIT_CELLS];
	LINE WaitCell file_cell[FILES];
	char		text[TEXTS];
} Thread;

typedef struct Digest
{
	uint64		query_id;
	uint32		database;
	uint32		used;
	char		text[64];
} Digest;

typedef struct Arena
{
	LINE uint64 changes;		/* each switch advances the lower half, each TRUNCATE the upper one */
	uint32		gate;
	uint32		thread_ids;
	LINE Digest digest[DIGESTS];
	Thread		thread[THREADS];
	LINE uint64 long_wait_next;
	LINE uint64 long_statement_next;
	uint64		long_text_next;
	LINE struct {uint64 number; uint64 thread; uint64 rows; uint64 spare[5]; Wait row[BLOCK];} long_wait[LONG_WAITS];
	LINE struct {uint64 number; uint64 thread; uint64 rows; uint64 spare[5]; Record row[BLOCK];} long_statement[LONG_STATEMENTS];
	char		long_text[LONG_TEXTS];
} Arena;

/* --- private --- */

/* What is asked of a plan's relations. */
enum {BRIEF_NOT, BRIEF_NONE, BRIEF_SCAN, BRIEF_INSERT, BRIEF_UPDATE, BRIEF_DELETE};

typedef union Facts
{
	struct
	{
		uint16		index,
					table;
		uint8		brief;
		uint8		hops;		/* nodes above the scan */
		uint8		skip;		/* executions until one is timed */
		uint8		complete;	/* of a statement: COMPLETE, MOVED */
	};
	uint64		word;
} Facts;

/* A plan's template: one line, and what is rare. */
typedef struct Template
{
	LINE const void *plan;		/* NULL = free */
	uint64		key;			/* session's, for which it is right */
	Block		block;
	Facts		facts;
	struct PlanGone *gone;
	uint64		text;			/* where it stands */
	uint32		text_offset;
} Template;

StaticAssertDecl(offsetof(Template, gone) == 64, "one line");

/* A call of ExecutorRun on the C stack. */
typedef struct Run
{
	ErrorContextCallback guard;
	struct Run *outer;
	Relation	index,
				table;
	uint64		fetched;
	uint64		base[4];
	int			level;
	uint8		depth;			/* of its statement */
} Run;

/* The innermost open statement. */
typedef struct Current
{
	LINE Record *record;		/* NULL = none */
	const void *query;			/* its EState: only ever compared; NULL = over, or not plain */
	uint64		since;			/* it runs since then */
	uint64		spent;			/* and ran before */
	uint64		rows,
				examined,
				changed;
	Facts		facts;
} Current;

typedef union Flags
{
	struct
	{
		uint8		idle;		/* no command is worked on, or it is not known when it came */
		uint8		odd;		/* ODD_*: what forbids short ways */
		uint8		stage;		/* the innermost statement's call is on the C stack */
		uint8		depth;		/* open statements */
		uint8		block;		/* the client has begun a transaction block */
		uint8		extended,
					answered;	/* as to the messages of this command */
		uint8		spare;
	};
	uint64		word;
} Flags;

/* The innermost statement's query goes the long way; others rest; no client: ends of calls are ends of statements. */
enum {ODD_ANY = 1, ODD_RESTS = 2, ODD_CLIENT = 4};

#define NOT_TOP UINT64CONST(0xFFFFFFFF)		/* idle, odd, stage, depth */

typedef struct Session
{
	LINE Thread *thread;
	const uint64 *changes;
	uint64		plain;			/* value of *changes for which all is as always; 0 = it is not */
	uint64		key;			/* of templates that are right */
	uint64		came;			/* when the command came, or its last statement ended */
	uint64		transaction;	/* event id of the open one */
	Run		   *running;
	Flags		flags;
} Session;

typedef struct Host
{
	LINE ErrorContextCallback **errors;
	const PQcommMethods **methods;
	char	  **search_path;
	Oid			(*user) (void);
	int64	   *temporary;
	const char *path;			/* which the schema was taken from */
	Oid			role;
	uint32		schema;
	int64		temporary_seen;
} Host;

typedef struct Next
{
	LINE ExecutorStart_hook_type start;
	ExecutorRun_hook_type run;
	ExecutorFinish_hook_type finish;
	ExecutorEnd_hook_type end;
	int			(*putmessage) (char type, const char *body, size_t length);
	const PQcommMethods *theirs;
	uint64		sum_at;			/* number of the record at which to sum */
	int			nest_level;		/* of the transaction */
	bool		timed;			/* answers are, not only counted */
} Next;

extern Session S;
extern Host H;
extern Current C;
extern Next N;
extern Arena *arena;

#define CHANGED() (PART_SWITCHES && S.plain != __atomic_load_n(S.changes, __ATOMIC_ACQUIRE))

INLINE uint64
tick(void)
{
	return __builtin_ia32_rdtsc();
}

/* A signal handler may take one, too. */
INLINE uint64
next_number(uint64 *counter)
{
	uint64		one = 1;

	__asm__ __volatile__("xaddq %0, %1":"+r"(one), "+m"(*counter));
	return one + 1;
}

/* The compiler forgets where a pointer comes from, and keeps it in a register. */
#define keep(pointer) __asm__("" : "+r"(pointer))
#define add(p, v) __asm__("add%z0 %1, %0" : "+m"(*(p)) : "er"((__typeof__(*(p))) (v)) : "cc")
#define fence() __asm__ __volatile__("" ::: "memory")	/* stores are not reordered by x86 */

INLINE void
seq_begin(uint32 *seq)
{
	__asm__ __volatile__("orl $1, %0":"+m"(*seq)::"cc", "memory");
}

INLINE void
seq_end(uint32 *seq)
{
	__asm__ __volatile__("addl $1, %0":"+m"(*seq)::"cc", "memory");
}

INLINE void
timer_add(Timer *timer, uint64 wait)
{
	add(&timer->count, 1);
	add(&timer->sum, wait);
	if (~wait > timer->min_inverted)
		timer->min_inverted = ~wait;
	if (wait > timer->max)
		timer->max = wait;
}

/* budget.c */
extern void command_came_otherwise(uint64 now);
extern void wanted_again(void);
extern void sum_journal(void);

/* sums.c */
extern void buckets_init(void);
extern uint16 find_cell(const Record *record);

/* waits.c */
extern bool waits_shown;
extern void waits_show_rows(uint16 object, unsigned operation, uint64 rows);
extern void waits_install(void);
extern void waits_attach(void);
extern void waits_decide(void);
extern void waits_sum(void);
extern void waits_detach(void);

#endif
