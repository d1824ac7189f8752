/*
 * digest_wait.c
 *		Waits by digest: cells of threads and the chains they are folded into.
 */
#include "core/digest_wait.h"

#include "core/rollup.h"
#include "core/timer.h"

#define CHAIN_MAX 1024

static PfsDigestWait *
chunk_at(const PfsArena *arena, PfsRef ref)
{
	return pfs_pool_at(pfs_pool_of(arena), ref, sizeof(PfsDigestWait));
}

/* Does content of this epoch still count? */
static inline bool
counts(const PfsArena *arena, uint32_t epoch)
{
	return epoch >= pfs_load(&arena->reset_of[PFS_RESET_WAITS_BY_DIGEST]);
}

static void
free_link(PfsArena *arena, PfsRef ref)
{
	pfs_share_free(arena, PFS_SHARE_DIGEST_WAITS, ref, sizeof(PfsDigestWait));
}

/* The link of a wait in a digest's chain, added if there is none.  The digest is pinned. */
static PfsDigestWait *
link_of(PfsArena *arena, PfsDigest *digest, uint32_t wait)
{
	uint32_t	head = pfs_load_acquire(&digest->waits);
	PfsRef		mine = 0;

	for (int tries = 0; tries < 8; tries++)
	{
		PfsRef		ref = head;
		PfsDigestWait *link;

		for (int i = 0; i < CHAIN_MAX && (link = chunk_at(arena, ref)) != NULL; i++)
		{
			if (pfs_load(&link->wait) == wait)
			{
				free_link(arena, mine);
				return link;
			}
			ref = pfs_load(&link->digest);
		}
		if (mine == 0)
			mine = pfs_share_alloc(arena, PFS_SHARE_DIGEST_WAITS, sizeof(PfsDigestWait));
		link = chunk_at(arena, mine);
		if (link == NULL)
			return NULL;
		pfs_store(&link->wait, wait);
		pfs_store(&link->epoch, pfs_load_acquire(&arena->reset_now));
		pfs_store(&link->digest, head);
		if (pfs_cas32(&digest->waits, head, mine))
			return link;
		head = pfs_load_acquire(&digest->waits);
	}
	free_link(arena, mine);
	return NULL;
}

#define EPOCH_BUSY UINT32_MAX
#define TRIES 2000

/* Takes a link for writing; its epoch, or EPOCH_BUSY: somebody was preempted in it. */
static uint32_t
take(PfsDigestWait *link)
{
	for (int i = 0; i < TRIES; i++)
	{
		uint32_t	epoch = pfs_load_acquire(&link->epoch);

		if (epoch != EPOCH_BUSY && pfs_cas32(&link->epoch, epoch, EPOCH_BUSY))
			return epoch;
		pfs_cpu_pause();
	}
	return EPOCH_BUSY;
}

/*
 * Adds a cell to its link.  What a TRUNCATE has voided meanwhile is left out: while the link is
 * taken nobody can renew it, so old content only ever joins content that is as old.
 */
static bool
add_to_link(PfsArena *arena, PfsDigestWait *link, const PfsDigestWait *cell)
{
	uint32_t	epoch = take(link);

	if (epoch == EPOCH_BUSY)
		return false;
	if (counts(arena, cell->epoch))
	{
		if (!counts(arena, epoch))
		{
			pfs_zero_words(&link->stat, sizeof(link->stat));
			epoch = pfs_load_acquire(&arena->reset_now);
		}
		pfs_timer_stat_merge(&link->stat, &cell->stat);
	}
	pfs_store_release(&link->epoch, epoch);
	return true;
}

static void
fold(PfsArena *arena, PfsThread *thread, PfsDigestWait *cell)
{
	PfsDigest  *digest = pfs_digest(arena, cell->digest);
	bool		kept = true;

	if (cell->stat.count == 0 || !counts(arena, cell->epoch))
		return;
	pfs_add(&thread->digest_folds, 1);
	pfs_fence();				/* readers see that something moves before it does */
	if (pfs_digest_pin(arena, digest, cell->generation))
	{
		PfsDigestWait *link = link_of(arena, digest, cell->wait);

		kept = link != NULL && add_to_link(arena, link, cell);
	}
	pfs_digest_unpin(digest);
	if (!kept)
		pfs_add_shared(&arena->loss[PFS_LOSS_WAIT_TOTALS], cell->stat.count);
	pfs_store(&cell->stat.count, 0);
}

/* The thread's cell; its place may have to be taken from another one. */
static PfsDigestWait *
cell_of(PfsArena *arena, PfsThread *thread, uint32_t digest, uint32_t generation, uint32_t wait)
{
	uint32_t	place = (uint32_t) (pfs_hash64((uint64_t) digest << 32 | wait) >> 20) %
		PFS_DIGEST_WAIT_CACHE;
	PfsRef	   *ref = &thread->digest_wait_cell[place];
	PfsDigestWait *cell = chunk_at(arena, pfs_load(ref));
	uint32_t	epoch = pfs_load_acquire(&arena->reset_now);

	if (cell == NULL)
	{
		PfsRef		fresh = pfs_pool_alloc(pfs_pool_of(arena), sizeof(PfsDigestWait));

		if (fresh == 0)
			return NULL;
		cell = chunk_at(arena, fresh);
		pfs_store_release(ref, fresh);
	}
	else if (pfs_likely(cell->digest == digest && cell->wait == wait &&
						cell->generation == generation && counts(arena, cell->epoch)))
		return cell;
	else
		fold(arena, thread, cell);
	pfs_store(&cell->digest, digest);
	pfs_store(&cell->generation, generation);
	pfs_store(&cell->wait, wait);
	pfs_store(&cell->epoch, epoch);
	pfs_zero_words(&cell->stat, sizeof(cell->stat));
	return cell;
}

void
pfs_digest_wait_add(PfsArena *arena, PfsThread *thread, uint32_t digest, uint32_t generation,
					const PfsWaitTotals *totals)
{
	for (uint32_t i = 0; i < totals->used; i++)
	{
		PfsDigestWait *cell = cell_of(arena, thread, digest, generation, totals->wait[i]);

		if (cell != NULL)
			pfs_timer_stat_merge(&cell->stat, &totals->stat[i]);
		else
			pfs_add_shared(&arena->loss[PFS_LOSS_WAIT_TOTALS], totals->stat[i].count);
	}
}

void
pfs_digest_wait_fold_thread(PfsArena *arena, PfsThread *thread)
{
	pfs_seq_write_begin(&thread->seq);
	pfs_add(&thread->digest_folds, 1);
	pfs_fence();				/* cells that do not count are given to others, too */
	for (uint32_t i = 0; i < PFS_DIGEST_WAIT_CACHE; i++)
	{
		PfsRef		ref = pfs_load(&thread->digest_wait_cell[i]);
		PfsDigestWait *cell = chunk_at(arena, ref);

		if (cell == NULL)
			continue;
		fold(arena, thread, cell);
		pfs_store(&thread->digest_wait_cell[i], 0);
		pfs_pool_free(pfs_pool_of(arena), ref, sizeof(PfsDigestWait));
	}
	pfs_seq_write_end(&thread->seq);
}

void
pfs_digest_wait_free(PfsArena *arena, PfsRef chain)
{
	PfsDigestWait *link;

	for (int i = 0; i < CHAIN_MAX && (link = chunk_at(arena, chain)) != NULL; i++)
	{
		PfsRef		next = pfs_load(&link->digest);

		free_link(arena, chain);
		chain = next;
	}
}
