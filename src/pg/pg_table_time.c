/*
 * pg_table_time.c
 *		Times of scan and modify nodes, children subtracted, at the cost of a few instructions a row.
 *
 * The executor calls a node by a pointer in the node, ExecProcNodeReal; after ExecutorStart it is
 * replaced by one of our functions.  There is one such function for each place where a node's time
 * is kept, so that no look-up is needed: three instructions and a jump pass an untimed call on.
 *
 * The first call is timed; after it one call of each block of 4, 16, 64, then BLOCK_MAX calls, at
 * a random place in its block, and stands for them all.  Every call has a chance of 1 / block to be
 * timed and then counts block times: the sum is right on average, whatever the number of calls.
 *
 * A call that took long has waited, for a disk or a processor.  It counts once, and the next
 * EXACT_CALLS are all timed: so a scan that reads its pages from a disk is measured, not estimated,
 * and a rare stop is not taken for hundreds.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "pg/pg_hooks.h"
#include "pg/pg_table_io.h"

#define BLOCK_MAX 256
#define LONG_SHIFT 11			/* longer than 1/2048 s: the call has waited */
#define EXACT_CALLS 256			/* more than there are rows in a page */

PFS_ALIGNED PfsPgTimed pfs_pg_timed[PFS_PG_TIMED_NODES];
uint64		pfs_pg_timed_free = ~UINT64CONST(0);

/* Time of the timed calls inside the one being timed. */
static int64 inside = 0;

static uint32
random_below(uint32 power_of_two)
{
	static uint32 seed = 1;

	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) & (power_of_two - 1);
}

static PFS_HOT pg_noinline TupleTableSlot *
time_call(PfsPgTimed *node, PlanState *state)
{
	uint32		stands_for = node->block;
	int64		outer = inside;
	int64		ticks;
	PfsTicks	start;
	TupleTableSlot *slot;

	inside = 0;
	start = pfs_now();
	slot = node->real(state);
	ticks = (int64) (pfs_now() - start);
	if (pfs_unlikely(ticks > (int64) (pfs_timer.frequency >> LONG_SHIFT)))
	{
		stands_for = 1;
		node->rest = 0;
		node->block = 1;
		node->exact = EXACT_CALLS;
	}
	if (pfs_unlikely(node->exact > 0))
	{
		node->exact--;
		node->left = 0;
	}
	else
	{
		uint32		next = Min(node->block * 4, BLOCK_MAX);
		uint32		place = random_below(next);

		node->left = (int32) (node->rest + place);
		node->rest = next - 1 - place;
		node->block = next;
	}
	node->ticks += (ticks - inside) * stands_for;
	inside = outer + ticks * stands_for;
	if (node->start == 0)
		node->start = start;
	return slot;
}

#define CALL(n) \
	static PFS_HOT TupleTableSlot * \
	call_##n(PlanState *state) \
	{ \
		if (pfs_unlikely(--pfs_pg_timed[0##n].left < 0)) \
			return time_call(&pfs_pg_timed[0##n], state); \
		return pfs_pg_timed[0##n].real(state); \
	}
PFS_PG_ALL_PLACES(CALL)

#define NAME(n) call_##n,
const ExecProcNodeMtd pfs_pg_timed_calls[PFS_PG_TIMED_NODES] = {PFS_PG_ALL_PLACES(NAME)};

/* A node whose time belongs to several tables, or to none. */
void
pfs_pg_time_shared(PfsPgTimes *times, PlanState *node, PfsPgTimeRole role)
{
	role = Max(role, PFS_PG_TIME_FETCH);
	if (!times->distributes)
	{
		times->distributes = true;
		times->fetch = times->change = 0;
		times->fetch_start = times->change_start = 0;
	}
	for (uint8 i = times->first; i != 0 && times->nodes >= PFS_PG_TIMED_OF_QUERY;
		 i = pfs_pg_timed[i - 1].next)
	{
		if (pfs_pg_timed[i - 1].real == node->ExecProcNodeReal && pfs_pg_timed[i - 1].role == role)
		{
			node->ExecProcNodeReal = pfs_pg_timed_calls[i - 1];
			return;
		}
	}
	if (pfs_pg_timed_free != 0 && times->nodes < UINT8_MAX)
		pfs_pg_time_place(times, node, role, NULL);
}

void
pfs_pg_time_harvest_shared(PfsPgTimes *times, PfsPgTimed *timed)
{
	int64	   *ticks = timed->role == PFS_PG_TIME_FETCH ? &times->fetch : &times->change;
	PfsTicks   *start = timed->role == PFS_PG_TIME_FETCH ? &times->fetch_start : &times->change_start;

	if (timed->role != PFS_PG_TIME_OTHER)
	{
		*ticks += pfs_pg_time_possible(timed);
		*start = *start == 0 ? timed->start : Min(*start, timed->start);
	}
	timed->ticks = 0;
	timed->start = 0;
}
