/*
 * digest.h
 *		Statement statistics by normalised statement.
 *
 * A row is (database, query id); its text, SHA-256 and first time are written once, by whoever
 * meets the statement first, and all processes agree through one lock-free hash.  Numbers are
 * collected in cells of each thread (cell_cache.h) and folded into the row, what a full histogram
 * place holds also before; a reader adds row and cells.  So the hot path writes no shared line,
 * whatever the number of sessions that run one statement.
 *
 * A cell is of one digest, class, scope and epoch: it counts for its class and in the global histogram, too.
 * What is folded moves there as well, to the thread's cell of the class and its part of the histogram
 * (thread->moves); readers of these add what the cells of digests hold, see table_cells.h.  Statements without
 * a digest have cells for their class alone.
 *
 * TRUNCATE advances the generation: rows of an older one do not exist any more, and cells count no more for them.
 */
#ifndef PFS_DIGEST_H
#define PFS_DIGEST_H

#include "core/cell_cache.h"
#include "core/histogram.h"
#include "core/journal.h"

#define PFS_DIGEST_NONE 0		/* no digest: consumer off */
#define PFS_DIGEST_OTHERS 1		/* catch-all row: table full, or no query id */

#define PFS_HISTOGRAM_PAGE_BUCKETS 16
#define PFS_HISTOGRAM_PAGES ((PFS_BUCKETS + PFS_HISTOGRAM_PAGE_BUCKETS - 1) / PFS_HISTOGRAM_PAGE_BUCKETS)
#define PFS_CELL_BUCKETS 64		/* direct-mapped: a window of 19 times fits without conflict */
#define PFS_SHA_BYTES 32

typedef struct PfsDigest
{
	PfsSeq		seq;			/* odd while key and text are being written */
	uint32_t	generation;		/* row exists if this is the arena's */
	uint32_t	next;			/* in its hash chain */
	uint32_t	pins;			/* folds, or its insertion, under way; writers: all, locked */
	uint32_t	unpins;			/* how many have ended; the same */
	uint64_t	query_id;
	uint32_t	database_id;
	PfsRef		database;		/* name */
	uint8_t		sha[PFS_SHA_BYTES];
	PfsRef		text;			/* chain of chunks, see pfs_text_store */
	uint32_t	text_length;
	int32_t		encoding;
	uint32_t	sample_busy;	/* writers: all, by CAS */
	PfsSeq		sample_seq;
	PfsRef		sample;
	uint32_t	sample_length;
	uint32_t	histogram_generation;
	uint64_t	sample_wait;	/* ticks */
	PfsTicks	sample_seen;
	PfsTicks	first_seen;
	PfsTicks	last_seen;
	PfsStatementStat stat;		/* folded so far; writers: all, locked additions */
	PfsRef		page[PFS_HISTOGRAM_PAGES];	/* 16 buckets each, claimed on demand */
	PfsRef		waits;			/* chain of PfsDigestWait; writers: all, by CAS */
} PfsDigest;

/*
 * Numbers of one digest in one thread; key: query id, use: generation, variant: see pfs_digest_variant.  The first two
 * lines, and that of a bucket, are what most statements touch.
 */
typedef struct PfsDigestCell
{
	PfsCacheCell head;
	uint32_t	digest;			/* PFS_DIGEST_NONE: only of its class */
	uint32_t	takes;			/* variant of the records that it is for, see pfs_digest_cell_takes */
	PfsTicks	last_seen;
	PfsTicks	sample_due;		/* who ends then or later may be news for the row's sample ... */
	PfsTicks	remarkable;		/* ... and who takes longer than this for it, or for the maximum */
	PfsStatementStat stat;
	PfsTicks	sample_wait;	/* no longer than this is no news: saves a look at the shared row */
	uint64_t	spare[6];
	uint16_t	bucket[PFS_CELL_BUCKETS];	/* turn and count: it is bucket turn * PFS_CELL_BUCKETS + place */
} PfsDigestCell;

#define PFS_CELL_TURN 12		/* bits of the count; the turn is above */
#define PFS_CELL_COUNT_MAX ((1 << PFS_CELL_TURN) - 1)

_Static_assert((PFS_BUCKETS - 1) / PFS_CELL_BUCKETS <= UINT16_MAX >> PFS_CELL_TURN, "there is room for each turn");

_Static_assert(offsetof(PfsDigestCell, stat) == PFS_CACHE_LINE &&
			   offsetof(PfsDigestCell, bucket) % PFS_CACHE_LINE == 0, "two lines for most, and one of buckets");

extern const PfsCacheKind pfs_digest_cells;

/* Class and scope of a cell, and whether it has a digest. */
#define PFS_VARIANT_GLOBAL (UINT32_C(1) << 16)
#define PFS_VARIANT_NONE (UINT32_C(1) << 17)

static inline uint32_t
pfs_variant_of(uint32_t class, const PfsStatementRecord *record)
{
	return class | ((record->used & PFS_RECORD_GLOBAL) != 0 ? PFS_VARIANT_GLOBAL : 0);
}

static inline uint32_t
pfs_digest_variant(const PfsArena *arena, const PfsStatementRecord *record, bool has_digest)
{
	return pfs_variant_of(record->class < arena->sizes.statement_classes ? record->class : 0, record) |
		(has_digest ? 0 : PFS_VARIANT_NONE);
}

static inline uint32_t
pfs_digest_cell_class(const PfsArena *arena, const PfsDigestCell *cell)
{
	uint32_t	class = (uint16_t) pfs_load(&cell->head.variant);

	return class < arena->sizes.statement_classes ? class : 0;
}

static inline PfsScope
pfs_digest_cell_scope(const PfsDigestCell *cell)
{
	return (pfs_load(&cell->head.variant) & PFS_VARIANT_GLOBAL) != 0 ? PFS_SCOPE_GLOBAL : PFS_SCOPE_THREAD;
}

/*
 * Has a copied cell of its thread this record, which had ended and was not summed?  Records are summed in their order,
 * and those of one digest, class and epoch in one cell; when the digest's row goes in between, in that of the class.
 */
static inline bool
pfs_digest_cell_has(const PfsArena *arena, const PfsDigestCell *cell, const PfsStatementRecord *record, uint64_t number)
{
	bool		has_digest = (cell->head.variant & PFS_VARIANT_NONE) == 0;

	return number <= cell->head.last && cell->head.epoch == record->epoch &&
		cell->head.variant == pfs_digest_variant(arena, record, has_digest) &&
		(!has_digest || cell->head.key == record->query_id);
}

/* Digest and generation, as they stand there side by side. */
static inline __attribute__((always_inline)) uint64_t
pfs_digest_word(const uint32_t *generation)
{
	uint64_t	word;

	_Static_assert(offsetof(PfsStatementRecord, digest) == offsetof(PfsStatementRecord, digest_generation) + 4 &&
				   offsetof(PfsDigestCell, digest) == offsetof(PfsDigestCell, head.use) + 4, "side by side");
	memcpy(&word, generation, sizeof(word));
	return word;
}

#define PFS_TAKES_NONE UINT32_MAX

/*
 * Is it the cell that takes this record of its epoch, whose digest's row is known and has not gone, or that has none?  A row
 * is of one query id, but for that of the others: their cells take none.  variant: as pfs_variant_of tells it.
 */
static inline __attribute__((always_inline)) bool
pfs_digest_cell_takes(const PfsDigestCell *cell, const PfsStatementRecord *record, uint32_t variant)
{
	return pfs_digest_word(&cell->head.use) == pfs_digest_word(&record->digest_generation) && cell->takes == variant;
}

/* Functions of kinds whose rows are digests, or belong to one; use: generation. */
extern bool pfs_digest_has_row(const PfsArena *arena, const PfsCacheKind *kind, const PfsCacheCell *cell);
extern uint32_t pfs_digest_state(const PfsArena *arena, const PfsCacheKind *kind, uint32_t row);

static inline uint32_t
pfs_digest_hash(uint64_t query_id)
{
	return (uint32_t) (pfs_hash64(query_id) >> 20);
}

static inline unsigned
pfs_cell_bucket(const PfsDigestCell *cell, size_t place)
{
	return (unsigned) (pfs_load(&cell->bucket[place]) >> PFS_CELL_TURN) * PFS_CELL_BUCKETS + (unsigned) place;
}

static inline unsigned
pfs_cell_bucket_count(const PfsDigestCell *cell, size_t place)
{
	return pfs_load(&cell->bucket[place]) & PFS_CELL_COUNT_MAX;
}

static inline PfsDigest *
pfs_digest(const PfsArena *arena, uint32_t number)
{
	return PFS_AT(arena, arena->digests, PfsDigest) +
		(number <= arena->sizes.digests + 1 ? number : 0);
}

/* Behind the number of the last row that was ever handed out. */
static inline uint32_t
pfs_digest_rows_end(const PfsArena *arena)
{
	return PFS_DIGEST_OTHERS + 1 + pfs_min((uint32_t) pfs_load(&arena->digest_alloc), arena->sizes.digests);
}

/* Row of this key, or PFS_DIGEST_NONE.  The thread's own cells are asked first. */
extern uint32_t pfs_digest_find(const PfsArena *arena, PfsThread *thread, uint64_t query_id);

/* What a new row is made of. */
typedef struct PfsDigestNew
{
	uint64_t	query_id;
	uint32_t	database_id;
	PfsRef		database;
	int32_t		encoding;
	const char *text;
	uint32_t	text_length;
	const uint8_t *sha;
	PfsTicks	now;
} PfsDigestNew;

/*
 * Adds a row, or finds the one that another process has just added.  PFS_DIGEST_OTHERS when the
 * table is full.
 */
extern uint32_t pfs_digest_insert(PfsArena *arena, const PfsDigestNew *row);

/*
 * Where the statements of one digest, one after the other, are added: between open and close the owner writes into
 * the cell freely (its sequence is odd).  "aside" is used when the thread has no cell for them, and goes straight where
 * a cell is folded to at close.
 */
typedef struct PfsDigestRun
{
	PfsDigestCell *cell;
	uint32_t	row;			/* PFS_DIGEST_NONE: they have none, or ended before the last reset */
	bool		samples;		/* texts are for this row */
	bool		lost;			/* their own row is gone: they count for the catch-all row */
	PfsDigestCell aside;
} PfsDigestRun;

extern void pfs_digest_open(PfsArena *arena, PfsThread *thread, const PfsStatementRecord *record,
							PfsDigestRun *run);

/* last: number of the last record, 0 = not in the journal; count: statements that were added. */
extern void pfs_digest_close(PfsArena *arena, PfsThread *thread, PfsDigestRun *run, uint64_t last,
							 uint64_t count);

/* What stands in the place of a bucket moves to the row and the thread's histogram. */
extern void pfs_digest_flush_bucket(PfsArena *arena, PfsThread *thread, PfsDigestCell *cell, size_t bucket);

static inline __attribute__((always_inline)) void
pfs_digest_count(PfsArena *arena, PfsThread *thread, PfsDigestCell *cell, size_t bucket)
{
	size_t		place = bucket % PFS_CELL_BUCKETS;
	uint16_t	none = (uint16_t) (bucket / PFS_CELL_BUCKETS << PFS_CELL_TURN);	/* of this bucket */

	if (pfs_unlikely((uint16_t) (cell->bucket[place] - none) >= PFS_CELL_COUNT_MAX))
		pfs_digest_flush_bucket(arena, thread, cell, bucket);
	pfs_add(&cell->bucket[place], 1);
}

/* Would this statement's text replace the row's sample?  Kept in the cell until it would. */
static inline bool
pfs_digest_may_sample(const PfsDigestCell *cell, PfsTicks wait, PfsTicks end)
{
	return wait > cell->sample_wait || end >= cell->sample_due; /* their only writer reads as it likes */
}

extern void pfs_digest_sampled(const PfsArena *arena, PfsDigestCell *cell, PfsTicks wait, PfsTicks now);

/* Row of a statement that was given this one, in the present generation. */
extern uint32_t pfs_digest_now(const PfsArena *arena, const PfsThread *thread, uint64_t query_id,
							   uint32_t digest, uint32_t digest_generation);

/* Is a statement a better sample than another one (seen 0 = none): the first, slower, or that is stale? */
static inline bool
pfs_digest_sample_is_news(const PfsArena *arena, PfsTicks wait, PfsTicks seen, PfsTicks old_wait,
						  PfsTicks old_seen)
{
	uint64_t	age = pfs_load(&arena->sample_age_ticks);

	return old_seen == 0 || wait > old_wait || (age != 0 && seen >= old_seen + age);
}

/* Keeps this statement as the row's sample if it is the better one. */
extern void pfs_digest_sample(PfsArena *arena, uint32_t digest, uint32_t generation, const char *text,
							  uint32_t length, PfsTicks wait, PfsTicks now);

/*
 * A row may be written to as long as its pin is held and pin returned true: its generation is
 * right.  Unpin in any case.
 */
extern bool pfs_digest_pin(PfsArena *arena, PfsDigest *digest, uint32_t generation);
extern void pfs_digest_unpin(PfsDigest *digest);

/*
 * TRUNCATE events_statements_summary_by_digest / events_statements_histogram_by_digest.  False: the
 * roll-up lock was not to be had.
 */
extern bool pfs_digest_reset(PfsArena *arena);
extern bool pfs_digest_histogram_reset(PfsArena *arena);

/* Texts longer than a chunk are chains; store returns 0 when the pool is full. */
extern PfsRef pfs_text_store(PfsArena *arena, const char *text, size_t length);
extern size_t pfs_text_fetch(const PfsArena *arena, PfsRef text, size_t length, char *to);
extern void pfs_text_free(PfsArena *arena, PfsRef text, size_t length);

#endif							/* PFS_DIGEST_H */
