/*
 * digest_wait.c
 *		Waits by digest: cells of threads and the chains they are folded into.
 */
#include "core/digest_wait.h"

#include "core/patience.h"
#include "core/rollup.h"
#include "core/timer.h"

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

		for (int i = 0; i < PFS_DIGEST_WAITS_MAX && (link = pfs_digest_wait_at(arena, ref)) != NULL; i++)
		{
			if (pfs_load(&link->wait) == wait)
			{
				free_link(arena, mine);
				return link;
			}
			ref = pfs_load(&link->next);
		}
		if (mine == 0)
			mine = pfs_share_alloc(arena, PFS_SHARE_DIGEST_WAITS, sizeof(PfsDigestWait));
		link = pfs_digest_wait_at(arena, mine);
		if (link == NULL)
			return NULL;
		pfs_store(&link->wait, wait);
		pfs_store(&link->epoch, pfs_load_acquire(&arena->reset_now));
		pfs_store(&link->next, head);
		if (pfs_cas32(&digest->waits, head, mine))
			return link;
		head = pfs_load_acquire(&digest->waits);
	}
	free_link(arena, mine);
	return NULL;
}

/* Takes a link for writing; its epoch, or PFS_DIGEST_WAIT_TAKEN: somebody stands still in it. */
static uint32_t
take(PfsDigestWait *link, int *sleeps)
{
	for (int tries = 0; pfs_try_take(tries, sleeps); tries++)
	{
		uint32_t	epoch = pfs_load_acquire(&link->epoch);

		if (epoch != PFS_DIGEST_WAIT_TAKEN && pfs_cas32(&link->epoch, epoch, PFS_DIGEST_WAIT_TAKEN))
			return epoch;
	}
	return PFS_DIGEST_WAIT_TAKEN;
}

/*
 * Adds a cell to its link.  What a TRUNCATE has voided meanwhile is left out: while the link is
 * taken nobody can renew it, so old content only ever joins content that is as old.
 */
static bool
add_to_link(PfsArena *arena, const PfsCacheKind *kind, PfsDigestWait *link, const PfsCacheCell *cell,
			int *sleeps)
{
	uint32_t	epoch = take(link, sleeps);

	if (epoch == PFS_DIGEST_WAIT_TAKEN)
		return false;
	if (pfs_cache_counts(arena, kind, cell->epoch))
	{
		if (!pfs_cache_counts(arena, kind, epoch))
		{
			pfs_zero_words(&link->stat, sizeof(link->stat));
			epoch = pfs_load_acquire(&arena->reset_now);
		}
		pfs_timer_stat_merge(&link->stat, &((const PfsDigestWaitCell *) cell)->stat);
	}
	pfs_store_release(&link->epoch, epoch);
	return true;
}

static bool
fold(PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, PfsCacheCell *cell, int *sleeps)
{
	PfsDigest  *digest = pfs_digest(arena, (uint32_t) (cell->key >> 32));
	bool		done = true;

	if (pfs_digest_pin(arena, digest, cell->use))
	{
		PfsDigestWait *link = link_of(arena, digest, (uint32_t) cell->key);

		done = link != NULL && add_to_link(arena, kind, link, cell, sleeps);
	}
	pfs_digest_unpin(digest);
	return done;
}

const PfsCacheKind pfs_digest_wait_cells = {
	offsetof(PfsThread, digest_wait_cell), PFS_DIGEST_WAIT_CACHE, sizeof(PfsDigestWaitCell), 1, PFS_SHARES,
	PFS_RESET_WAITS_BY_DIGEST, PFS_LOSS_WAIT_TOTALS, pfs_digest_has_row, fold, pfs_digest_state, 0, false
};

void
pfs_digest_wait_add(PfsArena *arena, PfsThread *thread, uint32_t digest, uint32_t generation,
					const PfsWaitTotals *totals)
{
	for (uint32_t i = 0; i < totals->used; i++)
	{
		uint64_t	key = (uint64_t) digest << 32 | totals->wait[i];
		uint32_t	hash = (uint32_t) (pfs_hash64(key) >> 20);
		PfsDigestWaitCell *cell = pfs_cache_find(arena, thread, &pfs_digest_wait_cells, hash, key, generation);

		if (pfs_unlikely(cell == NULL))
			cell = pfs_cache_claim(arena, thread, &pfs_digest_wait_cells, hash, key, generation);
		if (cell != NULL)
		{
			pfs_seq_write_begin(&cell->head.seq);
			pfs_timer_stat_merge(&cell->stat, &totals->stat[i]);
			pfs_seq_write_end(&cell->head.seq);
		}
		else
			pfs_add_shared(&arena->loss[PFS_LOSS_WAIT_TOTALS], totals->stat[i].count);
	}
}

void
pfs_digest_wait_free(PfsArena *arena, PfsRef chain)
{
	PfsDigestWait *link;

	for (int i = 0; i < PFS_DIGEST_WAITS_MAX && (link = pfs_digest_wait_at(arena, chain)) != NULL; i++)
	{
		PfsRef		next = pfs_load(&link->next);

		free_link(arena, chain);
		chain = next;
	}
}
