/*
 * digest.c
 *		The digest table: lock-free map, cells of threads, folding.
 */
#include "core/digest.h"

#include "core/digest_wait.h"
#include "core/rollup.h"
#include "core/timer.h"

#define CHAIN_MAX 512
#define HISTOGRAM_BUSY UINT32_MAX

static uint64_t *
chain_head(const PfsArena *arena, uint32_t database_id, uint64_t query_id)
{
	uint64_t	hash = pfs_hash64(query_id + database_id * UINT64_C(0x9E3779B97F4A7C15));

	return PFS_AT(arena, arena->digest_heads, uint64_t) + (hash & (arena->digest_head_count - 1));
}

/* Rows of another generation end the chain: they belong to a table that was truncated. */
static uint32_t
find_in_chain(const PfsArena *arena, uint64_t head, uint32_t generation, uint32_t database_id,
			  uint64_t query_id)
{
	uint32_t	number = (head >> 32) == generation ? (uint32_t) head : PFS_DIGEST_NONE;

	for (int i = 0; i < CHAIN_MAX && number > PFS_DIGEST_OTHERS; i++)
	{
		const PfsDigest *digest = pfs_digest(arena, number);

		if (pfs_load_acquire(&digest->generation) != generation)
			return PFS_DIGEST_NONE;
		if (pfs_load(&digest->query_id) == query_id && pfs_load(&digest->database_id) == database_id)
			return number;
		number = pfs_load(&digest->next);
	}
	return PFS_DIGEST_NONE;
}

PFS_HOT uint32_t
pfs_digest_find(const PfsArena *arena, PfsThread *thread, uint64_t query_id)
{
	uint32_t	generation = pfs_load_acquire(&arena->digest_generation);
	PfsDigestCell *cell = pfs_cache_find(arena, thread, &pfs_digest_cells, pfs_digest_hash(query_id),
										 query_id, generation);

	if (cell != NULL && pfs_load(&cell->digest) != PFS_DIGEST_NONE)
		return pfs_load(&cell->digest);
	return find_in_chain(arena, pfs_load_acquire(chain_head(arena, thread->database_id, query_id)),
						 generation, thread->database_id, query_id);
}

PfsRef
pfs_text_store(PfsArena *arena, const char *text, size_t length)
{
	PfsPool    *pool = pfs_pool_of(arena);
	size_t		room = PFS_POOL_MAX_CHUNK - sizeof(PfsRef);
	size_t		part = pfs_min(length, room);
	PfsRef		rest = 0,
				ref;
	char	   *chunk;

	if (length == 0)
		return 0;
	if (length > room)
	{
		rest = pfs_text_store(arena, text + room, length - room);
		if (rest == 0)
			return 0;
	}
	ref = pfs_pool_alloc(pool, sizeof(PfsRef) + part);
	if (ref == 0)
	{
		pfs_text_free(arena, rest, length - part);
		pfs_lose(arena, PFS_LOSS_DIGEST_TEXT);
		return 0;
	}
	chunk = pfs_pool_at(pool, ref, sizeof(PfsRef) + part);
	pfs_store((PfsRef *) chunk, rest);
	pfs_copy_bytes(chunk + sizeof(PfsRef), text, part);
	return ref;
}

size_t
pfs_text_fetch(const PfsArena *arena, PfsRef text, size_t length, char *to)
{
	size_t		room = PFS_POOL_MAX_CHUNK - sizeof(PfsRef);
	size_t		done = 0;

	while (done < length && text != 0)
	{
		size_t		part = pfs_min(length - done, room);
		const char *chunk = pfs_pool_at(pfs_pool_of(arena), text, sizeof(PfsRef) + part);

		if (chunk == NULL)
			break;
		pfs_copy_bytes(to + done, chunk + sizeof(PfsRef), part);
		text = pfs_load((const PfsRef *) chunk);
		done += part;
	}
	return done;
}

void
pfs_text_free(PfsArena *arena, PfsRef text, size_t length)
{
	size_t		room = PFS_POOL_MAX_CHUNK - sizeof(PfsRef);

	while (text != 0 && length > 0)
	{
		size_t		part = pfs_min(length, room);
		PfsRef	   *chunk = pfs_pool_at(pfs_pool_of(arena), text, sizeof(PfsRef) + part);
		PfsRef		rest = chunk != NULL ? pfs_load(chunk) : 0;

		pfs_pool_free(pfs_pool_of(arena), text, sizeof(PfsRef) + part);
		text = rest;
		length -= part;
	}
}

bool
pfs_digest_pin(PfsArena *arena, PfsDigest *digest, uint32_t generation)
{
	pfs_add_shared(&digest->pins, 1);
	pfs_fence();
	/* pairs with add_to_chain: who sees the row's generation sees it empty, too */
	return pfs_load_acquire(&digest->generation) == generation &&
		pfs_load(&arena->digest_generation) == generation;
}

void
pfs_digest_unpin(PfsDigest *digest)
{
	pfs_add_release(&digest->unpins, 1);
	__atomic_fetch_sub(&digest->pins, 1, __ATOMIC_RELEASE);
}

/* As long as they can be: the words are not trusted. */
static uint32_t
digest_text_length(const PfsArena *arena, const PfsDigest *digest)
{
	return pfs_min(pfs_load(&digest->text_length), arena->sizes.digest_length);
}

static uint32_t
sample_length(const PfsArena *arena, const PfsDigest *digest)
{
	return pfs_min(pfs_load(&digest->sample_length), arena->sizes.sql_text_length);
}

/* Makes a row that nobody can find empty, whatever an earlier generation left in it. */
static void
clear_row(PfsArena *arena, PfsDigest *digest)
{
	pfs_text_free(arena, pfs_load(&digest->text), digest_text_length(arena, digest));
	pfs_text_free(arena, pfs_load(&digest->sample), sample_length(arena, digest));
	for (int i = 0; i < PFS_HISTOGRAM_PAGES; i++)
	{
		pfs_pool_free(pfs_pool_of(arena), pfs_load(&digest->page[i]),
					  PFS_HISTOGRAM_PAGE_BUCKETS * sizeof(uint64_t));
		pfs_store(&digest->page[i], 0);
	}
	pfs_digest_wait_free(arena, pfs_load(&digest->waits));
	pfs_store(&digest->waits, 0);
	pfs_store(&digest->text, 0);
	pfs_store(&digest->text_length, 0);
	pfs_store(&digest->sample, 0);
	pfs_store(&digest->sample_length, 0);
	pfs_store(&digest->sample_wait, 0);
	pfs_store(&digest->sample_seen, 0);
	pfs_store(&digest->first_seen, 0);
	pfs_store(&digest->last_seen, 0);
	pfs_zero_words(&digest->stat, sizeof(digest->stat));
	pfs_store(&digest->histogram_generation, pfs_load(&arena->digest_histogram_generation));
}

/*
 * Takes an unused row of this generation.  A row whose old generation is still being folded into
 * (its owner was preempted inside) is skipped: either that folder sees our new generation, or we
 * see its pin.
 */
static PfsDigest *
take_row(PfsArena *arena, uint32_t generation, uint32_t *number)
{
	uint64_t	alloc = pfs_load(&arena->digest_alloc);

	for (;;)
	{
		uint32_t	used = (alloc >> 32) == generation ? (uint32_t) alloc : 0;
		PfsDigest  *digest;

		if ((alloc >> 32) > generation || used >= arena->sizes.digests)
			return NULL;
		if (!pfs_cas64(&arena->digest_alloc, &alloc, (uint64_t) generation << 32 | (used + 1)))
			continue;
		*number = PFS_DIGEST_OTHERS + 1 + used;
		digest = pfs_digest(arena, *number);
		pfs_store(&digest->generation, 0);
		pfs_fence();
		if (pfs_cas32(&digest->pins, 0, 1)) /* pairs with unpin */
			return digest;
		alloc = pfs_load(&arena->digest_alloc);
	}
}

/*
 * Fills a row, pinned, and adds it to its chain, unless another process has been faster.  seen:
 * head of the chain in which the key was not.
 */
static uint32_t
add_to_chain(PfsArena *arena, const PfsDigestNew *row, PfsDigest *digest, uint32_t number,
			 uint32_t generation, uint64_t seen)
{
	uint64_t   *head = chain_head(arena, row->database_id, row->query_id);

	pfs_seq_write_begin(&digest->seq);
	clear_row(arena, digest);
	pfs_store(&digest->query_id, row->query_id);
	pfs_store(&digest->database_id, row->database_id);
	pfs_store(&digest->database, row->database);
	pfs_store(&digest->encoding, row->encoding);
	pfs_copy_bytes(digest->sha, row->sha, PFS_SHA_BYTES);
	pfs_store(&digest->text, pfs_text_store(arena, row->text, row->text_length));
	pfs_store(&digest->text_length, digest->text != 0 ? row->text_length : 0);
	pfs_store(&digest->first_seen, row->now);
	for (;;)
	{
		uint32_t	other;

		pfs_store(&digest->next, (seen >> 32) == generation ? (uint32_t) seen : 0);
		pfs_store_release(&digest->generation, generation);
		pfs_seq_write_end(&digest->seq);
		if (pfs_cas64(head, &seen, (uint64_t) generation << 32 | number))
			return number;
		other = find_in_chain(arena, seen, generation, row->database_id, row->query_id);
		if (other != PFS_DIGEST_NONE)
		{
			pfs_store(&digest->generation, 0);	/* lost the race: the row stays unused */
			return other;
		}
		if ((seen >> 32) > generation)
			return PFS_DIGEST_OTHERS;	/* truncated meanwhile */
		pfs_seq_write_begin(&digest->seq);
	}
}

uint32_t
pfs_digest_insert(PfsArena *arena, const PfsDigestNew *row)
{
	uint32_t	generation = pfs_load_acquire(&arena->digest_generation);
	uint64_t	seen = pfs_load_acquire(chain_head(arena, row->database_id, row->query_id));
	uint32_t	number = find_in_chain(arena, seen, generation, row->database_id, row->query_id);
	PfsDigest  *digest;

	if (number != PFS_DIGEST_NONE)
		return number;
	digest = take_row(arena, generation, &number);
	if (digest == NULL)
		return PFS_DIGEST_OTHERS;
	number = add_to_chain(arena, row, digest, number, generation, seen);
	pfs_digest_unpin(digest);
	return number;
}

/* After a TRUNCATE of the histograms the first folder zeroes the row's pages.  Pinned. */
static bool
renew_histogram(PfsArena *arena, PfsDigest *digest)
{
	for (int tries = 0; tries < 1000; tries++)
	{
		uint32_t	now = pfs_load(&arena->digest_histogram_generation);
		uint32_t	is = pfs_load_acquire(&digest->histogram_generation);

		if (is == now)
			return true;
		if (is != HISTOGRAM_BUSY && pfs_cas32(&digest->histogram_generation, is, HISTOGRAM_BUSY))
		{
			for (int i = 0; i < PFS_HISTOGRAM_PAGES; i++)
			{
				size_t		bytes = PFS_HISTOGRAM_PAGE_BUCKETS * sizeof(uint64_t);
				void	   *page = pfs_pool_at(pfs_pool_of(arena), pfs_load(&digest->page[i]), bytes);

				if (page != NULL)
					pfs_zero_words(page, bytes);
			}
			pfs_store_release(&digest->histogram_generation, now);
			return true;
		}
		pfs_cpu_pause();
	}
	return false;
}

/* Pinned. */
static void
add_to_histogram(PfsArena *arena, PfsDigest *digest, unsigned bucket, uint64_t count)
{
	size_t		bytes = PFS_HISTOGRAM_PAGE_BUCKETS * sizeof(uint64_t);
	PfsPool    *pool = pfs_pool_of(arena);
	PfsRef	   *place = &digest->page[pfs_min(bucket, PFS_BUCKETS - 1u) / PFS_HISTOGRAM_PAGE_BUCKETS];
	uint64_t   *page = pfs_pool_at(pool, pfs_load_acquire(place), bytes);

	if (page == NULL)
	{
		PfsRef		ref = pfs_pool_alloc(pool, bytes);

		if (ref != 0 && !pfs_cas32(place, 0, ref))
		{
			pfs_pool_free(pool, ref, bytes);
			ref = pfs_load_acquire(place);
		}
		page = pfs_pool_at(pool, ref, bytes);
	}
	if (page != NULL && renew_histogram(arena, digest))
		pfs_add_shared(&page[bucket % PFS_HISTOGRAM_PAGE_BUCKETS], count);
	else
		pfs_add_shared(&arena->loss[PFS_LOSS_DIGEST_HISTOGRAM], count);
}

/* --- cells of threads --- */

bool
pfs_digest_has_row(const PfsArena *arena, const PfsCacheKind *kind, const PfsCacheCell *cell)
{
	return pfs_load(&cell->use) == pfs_load(&arena->digest_generation);
}

uint32_t
pfs_digest_state(const PfsArena *arena, const PfsCacheKind *kind, uint32_t row)
{
	const PfsDigest *digest = pfs_digest(arena, row);

	return pfs_load_acquire(&digest->pins) != 0 ? 1 : pfs_load_acquire(&digest->unpins) << 1;
}

static bool
counts_in_histogram(const PfsArena *arena, const PfsDigestCell *cell)
{
	return cell->head.epoch >= pfs_load(&arena->reset_of[PFS_RESET_DIGEST_HISTOGRAMS]);
}

/* To the row.  last: number of the last record, which is summed when this is there; 0 = not now. */
static void
move_to_row(PfsArena *arena, PfsThread *thread, const PfsDigestCell *cell, uint64_t last)
{
	PfsDigest  *digest = pfs_digest(arena, cell->digest);

	if (cell->digest != PFS_DIGEST_NONE && pfs_digest_pin(arena, digest, cell->head.use))
	{
		pfs_statement_stat_merge_shared(&digest->stat, &cell->stat);
		pfs_raise_to(&digest->last_seen, cell->last_seen);
		for (unsigned i = 0; counts_in_histogram(arena, cell) && i < PFS_CELL_BUCKETS; i++)
			if (pfs_cell_bucket_count(cell, i) != 0)
				add_to_histogram(arena, digest, pfs_cell_bucket(cell, i), pfs_cell_bucket_count(cell, i));
	}
	if (last != 0)
		pfs_store_release(&thread->summed, last);
	if (cell->digest != PFS_DIGEST_NONE)
		pfs_digest_unpin(digest);
}

/* To the thread's cell of the class and its part of the global histogram.  Inside thread->moves. */
static void
move_to_class(PfsArena *arena, PfsThread *thread, const PfsDigestCell *cell)
{
	uint64_t   *histogram = pfs_histogram_cell(arena, thread, cell->head.epoch);

	for (unsigned i = 0; histogram != NULL && i < PFS_CELL_BUCKETS; i++)
		if (pfs_cell_bucket_count(cell, i) != 0 && pfs_cell_bucket(cell, i) < PFS_BUCKETS)
			pfs_add(&histogram[pfs_cell_bucket(cell, i)], pfs_cell_bucket_count(cell, i));
	pfs_statement_cell_merge(arena, thread, pfs_digest_cell_scope(cell), pfs_digest_cell_class(arena, cell),
							 &cell->stat, cell->head.epoch);
}

/* A successor of one who was killed in the middle does not count the digest's part twice. */
static bool
fold(PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, PfsCacheCell *head, int *sleeps)
{
	PfsDigestCell *cell = (PfsDigestCell *) head;

	pfs_seq_write_begin(&thread->moves);
	move_to_row(arena, thread, cell, 0);
	pfs_store(&head->use, 0);
	move_to_class(arena, thread, cell);
	pfs_zero_words(&cell->stat, sizeof(cell->stat));
	pfs_seq_write_end(&thread->moves);
	return true;
}

const PfsCacheKind pfs_digest_cells = {
	offsetof(PfsThread, digest_cell), PFS_DIGEST_CACHE, sizeof(PfsDigestCell), 1, PFS_SHARE_DIGEST_CELLS,
	PFS_RESETS, PFS_LOSS_DIGEST, pfs_digest_has_row, fold, pfs_digest_state,
	offsetof(PfsDigestCell, stat) - sizeof(PfsCacheCell), true
};

void
pfs_digest_flush_bucket(PfsArena *arena, PfsThread *thread, PfsDigestCell *cell, size_t bucket)
{
	size_t		place = bucket % PFS_CELL_BUCKETS;
	unsigned	old = pfs_cell_bucket(cell, place);
	unsigned	count = pfs_cell_bucket_count(cell, place);

	if (count != 0)
	{
		PfsDigest  *digest = pfs_digest(arena, cell->digest);
		uint64_t   *histogram;

		pfs_seq_write_begin(&thread->moves);
		if (cell->digest != PFS_DIGEST_NONE && counts_in_histogram(arena, cell))
		{
			if (pfs_digest_pin(arena, digest, cell->head.use))
				add_to_histogram(arena, digest, old, count);
			pfs_digest_unpin(digest);
		}
		histogram = pfs_histogram_cell(arena, thread, cell->head.epoch);
		if (histogram != NULL && old < PFS_BUCKETS)
			pfs_add(&histogram[old], count);
		pfs_store(&cell->bucket[place], 0);
		pfs_seq_write_end(&thread->moves);
	}
	pfs_store(&cell->bucket[place], (uint16_t) (bucket / PFS_CELL_BUCKETS << PFS_CELL_TURN));
}

void
pfs_digest_sampled(const PfsArena *arena, PfsDigestCell *cell, PfsTicks wait, PfsTicks now)
{
	PfsDigest  *digest = pfs_digest(arena, cell->digest);
	uint64_t	age = pfs_load(&arena->sample_age_ticks);

	pfs_store(&cell->sample_wait, pfs_max(wait, pfs_load(&digest->sample_wait)));
	pfs_store(&cell->sample_due, age == 0 ? UINT64_MAX
			  : pfs_max(now, pfs_load(&digest->sample_seen)) + age);
}

uint32_t
pfs_digest_now(const PfsArena *arena, const PfsThread *thread, uint64_t query_id, uint32_t digest,
			   uint32_t digest_generation)
{
	uint32_t	generation = pfs_load_acquire(&arena->digest_generation);
	uint32_t	database_id = pfs_load(&thread->database_id);
	uint32_t	row;

	if (pfs_likely(digest_generation == generation) || digest == PFS_DIGEST_NONE)
		return digest;
	/* truncated since the statement started: its row may be another one's by now */
	row = find_in_chain(arena, pfs_load_acquire(chain_head(arena, database_id, query_id)), generation,
						database_id, query_id);
	return pfs_max(row, (uint32_t) PFS_DIGEST_OTHERS);
}

/* The thread's cell of a statement, claimed if need be; NULL: no room. */
static PfsDigestCell *
cell_of(PfsArena *arena, PfsThread *thread, const PfsStatementRecord *record, uint32_t row,
		uint32_t generation)
{
	uint32_t	variant = pfs_digest_variant(arena, record, row != PFS_DIGEST_NONE);
	uint64_t	key = row != PFS_DIGEST_NONE ? record->query_id : variant;
	uint32_t	hash = pfs_digest_hash(key);
	PfsDigestCell *cell = pfs_cache_find_variant(arena, thread, &pfs_digest_cells, hash, key, generation, variant);

	if (pfs_likely(cell != NULL && pfs_load(&cell->head.epoch) == record->epoch))
		return cell;
	/* no cell for a lost row: the next statement shall look for its own again */
	if (row == PFS_DIGEST_OTHERS && record->digest_generation != generation)
		return NULL;
	cell = pfs_cache_claim_variant(arena, thread, &pfs_digest_cells, hash, key, generation, variant, record->epoch);
	if (cell == NULL)
		return NULL;
	pfs_seq_write_begin(&cell->head.seq);
	pfs_store(&cell->digest, row);
	pfs_store(&cell->takes, row == PFS_DIGEST_OTHERS ? PFS_TAKES_NONE : variant & ~PFS_VARIANT_NONE);
	pfs_seq_write_end(&cell->head.seq);
	pfs_statement_cell_reserve(arena, thread, pfs_digest_cell_scope(cell), pfs_digest_cell_class(arena, cell),
							   record->epoch);
	return cell;
}

void
pfs_digest_open(PfsArena *arena, PfsThread *thread, const PfsStatementRecord *record, PfsDigestRun *run)
{
	uint32_t	generation = pfs_load_acquire(&arena->digest_generation);

	run->row = pfs_digest_now(arena, thread, record->query_id, record->digest, record->digest_generation);
	run->samples = run->row == record->digest && record->digest_generation == generation;
	/* else it was counted when the statement ended */
	run->lost = run->row == PFS_DIGEST_OTHERS && record->digest > PFS_DIGEST_OTHERS;
	if (pfs_unlikely(record->epoch < pfs_load(&arena->reset_of[PFS_RESET_DIGESTS])))
		run->row = PFS_DIGEST_NONE; /* ended before */
	run->cell = cell_of(arena, thread, record, run->row, generation);
	if (pfs_unlikely(run->cell == NULL || pfs_load(&run->cell->digest) != run->row))
	{
		run->aside = (PfsDigestCell)
		{
			.digest = run->row,.head.use = generation,.head.epoch = record->epoch,
				.head.variant = pfs_digest_variant(arena, record, run->row != PFS_DIGEST_NONE)
		};
		run->cell = &run->aside;
	}
	if (pfs_unlikely(run->row == PFS_DIGEST_NONE))
	{
		pfs_store(&run->cell->sample_wait, UINT64_MAX);
		pfs_store(&run->cell->sample_due, UINT64_MAX);
	}
	pfs_seq_write_begin(&run->cell->head.seq);
}

void
pfs_digest_close(PfsArena *arena, PfsThread *thread, PfsDigestRun *run, uint64_t last, uint64_t count)
{
	if (pfs_unlikely(run->cell == &run->aside))
	{
		/* who finds the row, or the class, as it is afterwards finds the records summed */
		pfs_seq_write_begin(&thread->moves);
		move_to_class(arena, thread, run->cell);
		move_to_row(arena, thread, run->cell, last);
		pfs_seq_write_end(&thread->moves);
	}
	else if (last != 0)
		pfs_store(&run->cell->head.last, last);
	if (pfs_unlikely(run->lost) && run->row != PFS_DIGEST_NONE)
		pfs_add_shared(&arena->loss[PFS_LOSS_DIGEST], count);
	pfs_seq_write_end(&run->cell->head.seq);
}

void
pfs_digest_sample(PfsArena *arena, uint32_t number, uint32_t generation, const char *text,
				  uint32_t length, PfsTicks wait, PfsTicks now)
{
	PfsDigest  *digest = pfs_digest(arena, number);

	if (number == PFS_DIGEST_NONE || length == 0 ||
		!pfs_digest_sample_is_news(arena, wait, now, pfs_load(&digest->sample_wait),
								   pfs_load(&digest->sample_seen)))
		return;
	if (!pfs_cas32(&digest->sample_busy, 0, 1))
		return;					/* another process keeps its own */
	if (pfs_digest_pin(arena, digest, generation))
	{
		PfsRef		old = pfs_load(&digest->sample);
		uint32_t	old_length = sample_length(arena, digest);
		PfsRef		sample = pfs_text_store(arena, text, length);

		if (sample != 0)
		{
			pfs_seq_write_begin(&digest->sample_seq);
			pfs_store(&digest->sample, sample);
			pfs_store(&digest->sample_length, length);
			pfs_store(&digest->sample_wait, wait);
			pfs_store(&digest->sample_seen, now);
			pfs_seq_write_end(&digest->sample_seq);
			pfs_text_free(arena, old, old_length);
		}
	}
	pfs_digest_unpin(digest);
	pfs_store_release(&digest->sample_busy, 0);
}

/* A new generation.  Lock held. */
static void
begin_generation(PfsArena *arena)
{
	PfsDigest  *others = pfs_digest(arena, PFS_DIGEST_OTHERS);
	uint32_t	generation = pfs_load(&arena->digest_generation) + 1;

	pfs_seq_write_begin(&others->seq);
	pfs_store(&others->generation, 0);
	pfs_fence();
	for (int i = 0; i < 100000 && pfs_load_acquire(&others->pins) != 0; i++)
		pfs_cpu_pause();		/* a fold takes less than a microsecond */
	clear_row(arena, others);
	pfs_store(&others->first_seen, pfs_now());
	pfs_store(&others->generation, generation);
	pfs_seq_write_end(&others->seq);
	pfs_store_release(&arena->digest_generation, generation);
}

static void
begin_histogram_generation(PfsArena *arena)
{
	uint32_t	next = pfs_load(&arena->digest_histogram_generation) + 1;

	pfs_store_release(&arena->digest_histogram_generation, next == HISTOGRAM_BUSY ? 1 : next);
}

/*
 * Rows and cells go by the generation, statements that wait to be summed by the reset counter: it is
 * raised after the generation, so a statement that ends with its new value counts in the new one.
 */
static bool
reset(PfsArena *arena, PfsReset what, void (*begin) (PfsArena *arena))
{
	uint32_t	epoch;

	if (!pfs_rollup_lock(arena, true))
		return false;
	epoch = pfs_load(&arena->reset_now) + 1;
	pfs_store(&arena->reset_of[what], epoch);
	begin(arena);
	pfs_store_release(&arena->reset_now, epoch);
	pfs_rollup_unlock(arena);
	return true;
}

bool
pfs_digest_reset(PfsArena *arena)
{
	return reset(arena, PFS_RESET_DIGESTS, begin_generation);
}

bool
pfs_digest_histogram_reset(PfsArena *arena)
{
	return reset(arena, PFS_RESET_DIGEST_HISTOGRAMS, begin_histogram_generation);
}
