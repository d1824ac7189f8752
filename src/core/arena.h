/*
 * arena.h
 *		The one piece of shared memory: what it holds, how large it is, where the parts are.
 *
 * A fixed part, laid out by pfs_arena_init from the sizes, and the pool behind it.  Everything is
 * reached by offsets.  Each part's own header describes its content and who writes it.
 */
#ifndef PFS_ARENA_H
#define PFS_ARENA_H

#include "core/pool.h"

/* Sizes fixed at start.  The host resolves "autosize" before it comes here. */
typedef struct PfsSizes
{
	uint32_t	threads;
	uint32_t	lean_threads;	/* the last of them: processes that never execute a statement */
	uint32_t	accounts;
	uint32_t	users;
	uint32_t	hosts;
	uint32_t	actors;			/* rows of setup_actors */
	uint32_t	objects;		/* rows of setup_objects */
	uint32_t	instruments;
	uint32_t	statement_classes;
	uint32_t	thread_classes;
	uint32_t	errors;			/* error codes of the host */
	uint32_t	metrics;		/* counters of engine_metrics */
	uint32_t	waits;			/* wait instruments, with room for those that appear later */
	uint32_t	statement_stack;
	uint32_t	statements_history;	/* rows per thread */
	uint32_t	statements_history_long;
	uint32_t	transactions_history;
	uint32_t	transactions_history_long;
	uint32_t	waits_history;
	uint32_t	waits_history_long;
	uint32_t	lock_waits_history;	/* rows of lock_waits_history_long */
	uint32_t	error_log;			/* rows of error_log */
	uint32_t	files;			/* rows of file_instances */
	uint32_t	tables;			/* tables and indexes whose I/O is counted */
	uint32_t	digests;
	uint32_t	prepared;		/* rows of prepared_statements_instances */
	uint32_t	sql_text_length;	/* bytes kept of a statement */
	uint32_t	digest_length;	/* bytes kept of a normalised statement */
	uint64_t	pool_bytes;
} PfsSizes;

typedef enum PfsLoss
{
#define PFS_LOSS(symbol, name, doc) PFS_LOSS_##symbol,
#include "core/losses.def"
#undef PFS_LOSS
	PFS_LOSSES
} PfsLoss;

/* Families of by-name summaries; each has a row of reset points, one per level. */
typedef enum PfsFamily
{
	PFS_FAMILY_STATEMENTS,
	PFS_FAMILY_TRANSACTIONS,
	PFS_FAMILY_ERRORS,
	PFS_FAMILY_WAITS,			/* waits that are no I/O */
	PFS_FAMILY_FILES,
	PFS_FAMILY_SOCKETS,
	PFS_FAMILIES
} PfsFamily;

/* Levels of aggregation, in the order in which statistics move. */
typedef enum PfsLevel
{
	PFS_LEVEL_THREAD,
	PFS_LEVEL_ACCOUNT,
	PFS_LEVEL_USER,
	PFS_LEVEL_HOST,
	PFS_LEVEL_GLOBAL,
	PFS_LEVELS
} PfsLevel;

/* Tables of single events, of objects, and the global histogram have one reset point each. */
typedef enum PfsReset
{
	PFS_RESET_STATEMENTS_CURRENT,
	PFS_RESET_STATEMENTS_HISTORY,
	PFS_RESET_STATEMENTS_HISTORY_LONG,
	PFS_RESET_TRANSACTIONS_CURRENT,
	PFS_RESET_TRANSACTIONS_HISTORY,
	PFS_RESET_TRANSACTIONS_HISTORY_LONG,
	PFS_RESET_WAITS_CURRENT,
	PFS_RESET_WAITS_HISTORY,
	PFS_RESET_WAITS_HISTORY_LONG,
	PFS_RESET_LOCK_WAITS,
	PFS_RESET_WAITS_BY_DIGEST,
	PFS_RESET_FILES,			/* statistics of files */
	PFS_RESET_SOCKETS,
	PFS_RESET_TABLE_IO,
	PFS_RESET_TABLE_LOCKS,
	PFS_RESET_HISTOGRAM_GLOBAL,
	PFS_RESET_DIGESTS,
	PFS_RESET_DIGEST_HISTOGRAMS,
	PFS_RESET_PREPARED,			/* statistics of prepared statements */
	PFS_RESETS
} PfsReset;

/* A ring of events that all threads write: slots are claimed in blocks. */
typedef struct PfsLongRing
{
	PFS_ALIGNED uint64_t next;	/* next unclaimed position; writers: all, by addition */
} PfsLongRing;

/* Blocks of rows of waits, see wait_block.h: what an exchange must know of the layout, on one line. */
typedef struct PfsWaitBlocks
{
	PFS_ALIGNED PfsOff blocks;	/* PfsWaitBlock */
	PfsOff		places;			/* uint32_t: numbers of those of the long history */
	uint32_t	count;			/* of all blocks */
	uint32_t	place_count;
	uint32_t	thread_offset;	/* in a thread: waits inside each other, then PfsThreadBlocks */
} PfsWaitBlocks;

/*
 * What takes room in the pool as statements differ has a share of it, so that the rest stays for what
 * cannot do without: new sessions, rows of digests.
 */
typedef enum PfsShare
{
	PFS_SHARE_DIGEST_CELLS,		/* of threads; without one numbers go straight to the row */
	PFS_SHARE_DIGEST_WAITS,		/* rows (digest, wait) */
	PFS_SHARE_PREPARED,			/* prepared statements */
	PFS_SHARES
} PfsShare;

/* Which rows of a map of objects are taken, see object.c. */
typedef struct PfsObjectRows
{
	PFS_ALIGNED uint32_t lock;	/* 1 while somebody adds or removes a row; writers: all, by CAS */
	uint32_t	used;			/* rows taken so far, those given back included */
	uint32_t	free;			/* first row given back + 1; writer: holder of the lock */
} PfsObjectRows;

/* What is wanted, in one word with the number of its changes: written by all, together, by CAS. */
#define PFS_GATE_WORD \
	union \
	{ \
		uint64_t	gate_word; \
		struct \
		{ \
			uint32_t	gate;		/* PFS_GATE_*: what consumers and instruments leave wanted */ \
			uint32_t	gate_changes; \
		}; \
	}

typedef struct PfsArena
{
	uint64_t	magic;
	uint64_t	bytes;
	PfsSizes	sizes;

	/* the parts, in the order in which they lie */
	PfsOff		instruments;
	PfsOff		thread_classes;
	PfsOff		actors;
	PfsOff		objects;
	PfsOff		names;			/* heads of the kept ones, see names.h */
	PfsOff		kept_names;
	PfsOff		passing_names;
	PfsOff		global;			/* PfsAggregate */
	PfsOff		accounts;
	PfsOff		users;
	PfsOff		hosts;
	PfsOff		threads;		/* journals included, then ... */
	PfsOff		lean_threads;	/* ... those without */
	PfsOff		digests;
	PfsOff		digest_heads;
	PfsOff		statements_long;
	PfsOff		statements_long_text;
	PfsOff		transactions_long;
	PfsOff		waits_long;
	PfsOff		lock_waits_long;
	PfsOff		error_log;		/* PfsLogRow */
	PfsOff		host_cache;		/* PfsClientHost, as many as hosts */
	PfsOff		wait_map;		/* of the host's event codes, see wait.h */
	PfsOff		files;			/* PfsObjectRow, see object.h */
	PfsOff		file_heads;
	PfsOff		tables;
	PfsOff		table_heads;
	PfsOff		table_names;	/* PfsTableNames, by row */
	PfsOff		metrics;		/* PfsMetric, see metric.h */
	PfsOff		pool;

	/* strides and sub-offsets that follow from the sizes */
	uint32_t	aggregate_bytes;
	uint32_t	account_bytes;
	uint32_t	thread_bytes;
	uint32_t	lean_thread_bytes;	/* the same without a journal */
	uint32_t	thread_transactions_offset; /* ring of transaction slots */
	uint32_t	thread_journal_offset;	/* records, then texts */
	uint32_t	journal_ring;	/* records that a thread keeps; power of two */
	uint32_t	journal_texts;	/* bytes of its texts; power of two */
	uint32_t	journal_text_share;	/* what a history of longest texts takes of them: so much may be
									 * written after a statement has ended, see statement.c */
	uint32_t	text_block;		/* bytes of the long history's text ring claimed at once */
	uint64_t	text_ring_bytes;
	uint32_t	digest_head_count;	/* power of two */
	uint32_t	file_head_count;	/* the same */
	uint32_t	table_head_count;
	uint32_t	kept_name_units;
	uint32_t	share_limit[PFS_SHARES];	/* chunks */

	PfsWaitBlocks wait_blocks;

	/* the switchboard: read by every hook, written by UPDATE and TRUNCATE only */
	PFS_ALIGNED char switchboard[0];
	PFS_GATE_WORD;
	uint32_t	consumers;		/* bit per consumer, as set */
	uint32_t	clock_state;	/* PfsClockState, see clock.h; writers: all, by CAS */
	union
	{
		struct
		{
			uint32_t	setup_changes;	/* advances when a switch changes: instrument, consumer, thread */
			uint32_t	reset_now;	/* number of resets so far; see rollup.h */
		};
		uint64_t	changes;	/* both: what a session remembers is void when they differ */
	};
	uint32_t	digest_generation;	/* resets of the digest table */
	uint32_t	digest_histogram_generation;
	uint32_t	calls_on;		/* advances when the observation of calls begins again */
	uint32_t	objects_changed;	/* advances when a rule of setup_objects changes, or a table's name */
	uint32_t	tables_in_doubt;	/* 1 = a prepared transaction has dropped or made some, ever */
	uint32_t	reset_at[PFS_FAMILIES][PFS_LEVELS];
	uint32_t	reset_of[PFS_RESETS];
	uint64_t	sample_age_ticks;
	int64_t		wall_time;		/* host's calendar time ... */
	uint64_t	wall_ticks;		/* ... at these ticks; renewed by the host under its setup lock */
	uint64_t	clock_ticks;	/* the clocks have parted: ticks ... */
	uint64_t	clock_ns;		/* ... at this time of the system's clock */
	uint32_t	wall_clock_state;	/* clock_state when wall_time was taken */

	/* registration; written at start only */
	uint32_t	instrument_count;
	uint32_t	statement_class_count;
	uint32_t	answer_class[5];	/* statement classes of PfsThread.answered */
	uint32_t	thread_class_count;
	uint32_t	transaction_instrument;
	uint32_t	error_instrument;
	uint32_t	wait_instruments;	/* first of them; they are registered last */
	uint32_t	table_wait;		/* number of wait/io/table/sql/handler */
	uint32_t	wait_count;		/* grows at run time: writers under the roll-up lock */
	uint8_t		metrics_begun;	/* those enabled from the start are; under the host's lock for them */
	uint8_t		waits_sampled;	/* fed by a sampler, not by the calls themselves */

	/* words that several processes write, rarely */
	PFS_ALIGNED uint64_t next_thread_id;
	uint64_t	next_statement_id;	/* claimed in blocks */
	PFS_ALIGNED uint32_t lock;	/* owner of the roll-up lock, see rollup.h */
	uint32_t	spare;
	uint64_t	moves_begun;	/* roll-ups of parents under the lock */
	uint64_t	moves_done;
	uint32_t	share_used[PFS_SHARES];
	uint64_t	kept_names_used;	/* units */
	uint64_t	clock_last_cycles;	/* both clocks when they were last compared ... */
	uint64_t	clock_last_ns;
	uint32_t	clock_busy;		/* ... 1 while somebody does it; writers: all, by CAS */
	uint32_t	names_lock;		/* 1 while somebody adds a passing name; writers: all, by CAS */
	uint32_t	host_cache_lock;	/* the same while somebody changes host_cache */
	PFS_ALIGNED uint64_t digest_alloc;	/* generation << 32 | entries handed out */
	PfsObjectRows object_rows[2];	/* files, tables: PfsObjectMap */
	PFS_ALIGNED uint64_t loss[PFS_LOSSES];
	uint64_t	calls_total[128];	/* libc calls of threads that have gone; PFS_CALL_COUNTERS */
	PfsLongRing statements_long_ring;
	PfsLongRing statements_text_ring;
	PfsLongRing transactions_long_ring;
	PfsLongRing waits_long_ring;
	PfsLongRing wait_places_ring;	/* of blocks; counts from 1 */
	PfsLongRing lock_waits_ring;
	PfsLongRing error_log_ring;
} PfsArena;

_Static_assert(offsetof(PfsArena, objects_changed) < offsetof(PfsArena, gate) + PFS_CACHE_LINE, "what hooks ask is one line");

#define PFS_ARENA_MAGIC UINT64_C(0x5046530100000001)

/* What the pool must hold by default. */
extern uint64_t pfs_pool_default(const PfsSizes *sizes);

/* Chunks of a share; 0: it is used up, or the pool is. */
extern PfsRef pfs_share_alloc(PfsArena *arena, PfsShare share, size_t bytes);
extern void pfs_share_free(PfsArena *arena, PfsShare share, PfsRef ref, size_t bytes);

/* Bytes needed for these sizes. */
extern size_t pfs_arena_size(const PfsSizes *sizes);

/* Lays out and zeroes the arena in memory of pfs_arena_size bytes, aligned to a cache line. */
extern PfsArena *pfs_arena_init(void *memory, const PfsSizes *sizes);

/* Size of a part by name, for performance_schema.memory; false after the last. */
typedef struct PfsArenaPart
{
	const char *name;
	const char *doc;
	uint64_t	rows;
	uint64_t	row_bytes;
	uint64_t	bytes;
} PfsArenaPart;
extern bool pfs_arena_part(const PfsArena *arena, int number, PfsArenaPart *part);

#define PFS_AT(arena, offset, type) ((type *) ((char *) (uintptr_t) (arena) + (offset)))

static inline PfsPool *
pfs_pool_of(const PfsArena *arena)
{
	return PFS_AT(arena, arena->pool, PfsPool);
}

static inline void
pfs_lose(PfsArena *arena, PfsLoss loss)
{
	pfs_add_shared(&arena->loss[loss], 1);
}

extern const char *pfs_loss_name(PfsLoss loss);
extern const char *pfs_loss_doc(PfsLoss loss);

#endif							/* PFS_ARENA_H */
