/*
 * known.c
 *		The cache of relations by oid, see known.h.
 */
#include "postgres.h"

#include "core/wait.h"
#include "pg/relation/known.h"

#define PROBES 8				/* neighbours tried, at two places */

PfsKnown	pfs_known[PFS_KNOWN] __attribute__((aligned(64)));
PFS_HOT_LINE(running) uint32 pfs_known_epoch = 1;
PFS_HOT_DATA uint32 pfs_known_owed = 0;

/* Of each entry; touched only where something is owed. */
static uint64 owed_rows[PFS_KNOWN][PFS_TABLE_OPERATIONS];

/* First its number itself, so that few pages of memory are touched: tables come in a row. */
static inline uint32
place_of(Oid oid, uint32 attempt)
{
	uint32		place = attempt < PROBES ? oid : (oid * 2654435761u) >> (32 - PFS_KNOWN_BITS);

	return (place + attempt) & (PFS_KNOWN - 1);
}

pg_noinline PfsKnown *
pfs_known_find_slow(Oid oid)
{
	PfsKnown   *place = NULL;

	StaticAssertStmt(sizeof(PfsKnown) == 64, "a cache line");
	for (uint32 i = 0; i < 2 * PROBES; i++)
	{
		PfsKnown   *known = &pfs_known[place_of(oid, i)];

		if (known->oid == oid)
			return known;
		if (place == NULL && (known->oid == InvalidOid || (known->epoch != pfs_known_epoch && !known->owed)))
			place = known;
	}
	if (place == NULL)
	{
		pfs_lose(pfs_arena, PFS_LOSS_TABLES);
		return NULL;
	}
	memset(place, 0, sizeof(*place));
	place->oid = oid;
	place->cell = &pfs_no_cell;
	place->until_timed = 1;
	return place;
}

void
pfs_known_owe(PfsKnown *known, int operation, uint64 rows)
{
	if (rows == 0)
		return;
	pfs_known_owed += !known->owed;
	known->owed = true;
	owed_rows[known - pfs_known][operation] += rows;
	pfs_session.rows.changes = 0;	/* no short way before they are recorded */
}

void
pfs_known_settle(void)
{
	for (PfsKnown *known = pfs_known; pfs_known_owed > 0 && known < pfs_known + PFS_KNOWN; known++)
	{
		uint64		rows[PFS_TABLE_OPERATIONS];

		if (!known->owed)
			continue;
		known->owed = false;
		pfs_known_owed--;
		memcpy(rows, owed_rows[known - pfs_known], sizeof(rows));
		memset(owed_rows[known - pfs_known], 0, sizeof(rows));
		if (pfs_known_watched(known))
			for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
				if (rows[i] > 0)
					pfs_wait_table(&pfs_session, known->row, known->use, i, rows[i], 0, 0);
	}
	pfs_known_owed = 0;
}
