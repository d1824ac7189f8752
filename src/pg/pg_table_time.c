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
 */
#include "postgres.h"

#include "executor/executor.h"
#include "pg/pg_hooks.h"
#include "pg/pg_table_io.h"

#define TIMED_NODES 64			/* at most 64: bits of a word */
#define NODES_OF_QUERY 16		/* then nodes of a kind share a place */
#define BLOCK_MAX 128

typedef struct TimedNode
{
	uint32		left;			/* calls until the next one that is timed */
	uint32		block;			/* calls that it stands for */
	uint32		rest;			/* calls of that block behind it */
	uint8		next;			/* of the same query + 1 */
	uint8		role;			/* PfsPgTimeRole */
	ExecProcNodeMtd real;
	int64		ticks;
	PfsTicks	start;			/* of the first call since the last harvest */
	PfsPgTable *table;			/* FETCH: NULL = shared by several */
} TimedNode;

/* Owner: this process. */
static PFS_ALIGNED TimedNode timed[TIMED_NODES];
static uint64 places_used = 0;

/* Time of the timed calls inside the one being timed. */
static int64 inside = 0;

static uint32
random_below(uint32 power_of_two)
{
	static uint32 seed = 1;

	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) & (power_of_two - 1);
}

static pg_noinline TupleTableSlot *
time_call(TimedNode *node, PlanState *state)
{
	uint32		block = node->block;
	uint32		next = Min(block * 4, BLOCK_MAX);
	uint32		place = random_below(next);
	int64		outer = inside;
	int64		ticks;
	PfsTicks	start;
	TupleTableSlot *slot;

	node->left = node->rest + place;
	node->rest = next - 1 - place;
	node->block = next;
	inside = 0;
	start = pfs_now();
	slot = node->real(state);
	ticks = (int64) (pfs_now() - start);
	node->ticks += (ticks - inside) * block;
	inside = outer + ticks * block;
	if (node->start == 0)
		node->start = start;
	return slot;
}

/* One function for each place. */
#define CALL(n) \
	static TupleTableSlot * \
	call_##n(PlanState *state) \
	{ \
		if (pfs_unlikely(timed[0##n].left-- == 0)) \
			return time_call(&timed[0##n], state); \
		return timed[0##n].real(state); \
	}
#define EIGHT(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define ALL(m) EIGHT(m, 0) EIGHT(m, 1) EIGHT(m, 2) EIGHT(m, 3) EIGHT(m, 4) EIGHT(m, 5) EIGHT(m, 6) \
	EIGHT(m, 7)
ALL(CALL)

#define NAME(n) call_##n,
static const ExecProcNodeMtd calls[TIMED_NODES] = {ALL(NAME)};

/* A place that this query uses for such nodes already. */
static bool
share_place(const PfsPgTimes *times, PlanState *state, PfsPgTimeRole role)
{
	for (uint8 i = times->first; i != 0; i = timed[i - 1].next)
	{
		TimedNode  *node = &timed[i - 1];

		if (node->real == state->ExecProcNodeReal && node->role == role && node->table == NULL)
		{
			state->ExecProcNodeReal = calls[i - 1];
			return true;
		}
	}
	return false;
}

bool
pfs_pg_time_node(PfsPgTimes *times, PlanState *state, PfsPgTimeRole role, PfsPgTable *table)
{
	TimedNode  *node;
	int			place;

	if (pfs_unlikely(times->nodes >= NODES_OF_QUERY))
	{
		if (share_place(times, state, role))
			return true;
		table = NULL;
	}
	if (pfs_unlikely(~places_used == 0))
		return false;
	place = __builtin_ctzll(~places_used);
	places_used |= UINT64CONST(1) << place;
	node = &timed[place];
	node->left = 0;
	node->block = 1;
	node->rest = 0;
	node->role = (uint8) role;
	node->real = state->ExecProcNodeReal;
	node->ticks = 0;
	node->start = 0;
	node->table = table;
	node->next = times->first;
	times->first = (uint8) (place + 1);
	times->nodes++;
	if (state->ExecProcNode == state->ExecProcNodeReal)
		state->ExecProcNode = calls[place]; /* somebody has called it already */
	state->ExecProcNodeReal = calls[place];
	return true;
}

void
pfs_pg_time_harvest(PfsPgTimes *times)
{
	for (uint8 i = times->first; i != 0; i = timed[i - 1].next)
	{
		TimedNode  *node = &timed[i - 1];
		bool		own = node->role == PFS_PG_TIME_FETCH && node->table != NULL;
		int64	   *ticks = own ? &node->table->ticks
			: node->role == PFS_PG_TIME_FETCH ? &times->fetch : &times->change;
		PfsTicks   *start = own ? &node->table->start
			: node->role == PFS_PG_TIME_FETCH ? &times->fetch_start : &times->change_start;

		if (node->role == PFS_PG_TIME_OTHER || node->start == 0)
			continue;
		*ticks += node->ticks;
		*start = *start == 0 ? node->start : Min(*start, node->start);
		node->ticks = 0;
		node->start = 0;
	}
}

void
pfs_pg_time_release(PfsPgTimes *times)
{
	for (uint8 i = times->first; i != 0; i = timed[i - 1].next)
		places_used &= ~(UINT64CONST(1) << (i - 1));
	times->first = 0;
	times->nodes = 0;
}
