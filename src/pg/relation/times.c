/*
 * times.c
 *		Times of the nodes that read and change tables.
 *
 * Whole executions are timed: the first ones of a relation in this process, then one in some, at random, which
 * stands for those between.  In a timed one a function of ours stands in the node's ExecProcNode, and counts in
 * a struct where the server would: both are the query's, there is nothing to be released.  Of the calls of a node
 * the first ones are timed, then one in some, at random.  What EXPLAIN ANALYZE times is read, not touched.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "core/wait.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "pg/pg_query.h"
#include "pg/relation/parts.h"
#include "pg/relation/times.h"
#include "utils/memutils.h"

#define CALLS_FIRST 16			/* that are all timed */
#define CALLS_MEAN 32			/* one in so many of the others, a power of two */
#define SKIP_MIN 64				/* executions not timed between two: these, and below twice as many more */

static uint32
random_below(uint32 power_of_two)
{
	static uint32 state = 2463534242u;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state & (power_of_two - 1);
}

/* --- executions --- */

void
pfs_times_decide(PfsRelations *relations, PfsKnown *known)
{
	if (!known->watched && !relations->routes)
		return;					/* the next one decides */
	relations->timing = PFS_TIMING_NONE;
	if (!relations->records || IsParallelWorker() || !pfs_wait_rows_timed(&pfs_session))
		return;
	if (known->until_timed > 1)
	{
		known->until_timed--;
		return;
	}
	relations->timing = PFS_TIMING_TIMED;
	relations->times = relations->routing = NULL;
	relations->weight = known->skipped;
	known->samples += known->samples < PFS_SAMPLES_FIRST;
	known->skipped = known->samples < PFS_SAMPLES_FIRST ? 0
		: (uint8) (SKIP_MIN + random_below(2 * SKIP_MIN));
	known->until_timed = known->skipped + 1;
}

/* --- calls of a node --- */

static pg_noinline TupleTableSlot *
time_this_call(PlanState *node, PfsPgNodeCounter *counter)
{
	PfsTicks	start = pfs_now();
	TupleTableSlot *slot = node->ExecProcNodeReal(node);
	PfsTicks	ticks = pfs_now() - start;

	counter->own.running = true;	/* the first call is one of these, see pfs_pg_count_call */
	if (counter->calls <= CALLS_FIRST)
	{
		counter->first_ticks += ticks;
		counter->next_timed = counter->calls + 1;
	}
	if (counter->calls >= CALLS_FIRST)
		counter->next_timed = counter->calls + 1 + random_below(2 * CALLS_MEAN);
	if (counter->calls > CALLS_FIRST)
	{
		counter->ticks += ticks;
		counter->timed++;
	}
	return slot;
}

static PFS_HOT TupleTableSlot *
time_call(PlanState *node)
{
	PfsPgNodeCounter *counter = (PfsPgNodeCounter *) node->instrument;

	if (pfs_unlikely(++counter->calls >= counter->next_timed))
		return time_this_call(node, counter);
	counter->own.running = true;
	return node->ExecProcNodeReal(node);
}

/* Time of all calls so far, those that were not timed estimated. */
static PfsTicks
time_of_calls(const PfsPgNodeCounter *counter)
{
	if (counter->calls <= CALLS_FIRST)
		return counter->first_ticks;
	if (counter->timed == 0)
		return counter->first_ticks / CALLS_FIRST * counter->calls;
	return counter->first_ticks +
		(PfsTicks) ((double) counter->ticks * (double) (counter->calls - CALLS_FIRST) / (double) counter->timed);
}

static PfsTicks
time_so_far(const PfsTime *time)
{
	const Instrumentation *server = time->node->instrument;

	if (time->counter != NULL)
		return time_of_calls(time->counter);
	return server == NULL || !server->need_timer ? 0
		: pfs_ns_to_ticks((uint64) ((server->total + INSTR_TIME_GET_DOUBLE(server->counter)) * 1e9));
}

/* --- nodes --- */

static void *
allocate(PfsRelations *relations, size_t bytes)
{
	void	   *memory = MemoryContextAllocExtended(relations->context, bytes, MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);

	if (memory == NULL)
		pfs_lose(pfs_arena, PFS_LOSS_TABLES);
	return memory;
}

/* Has nobody else put a function of his own there?  The server's first one has no name outside. */
static bool
is_untouched(const PlanState *node)
{
	static PlanState other;

	if (other.ExecProcNode == NULL)
		ExecSetExecProcNode(&other, pfs_pg_count_call);
	return node->ExecProcNode == other.ExecProcNode;
}

/* Ours that hangs there already, or a new one; NULL: the node is another's. */
static PfsPgNodeCounter *
counter_of(PfsRelations *relations, PlanState *node)
{
	PfsPgNodeCounter *counter;

	if (node->instrument != NULL)
		return node->ExecProcNode == pfs_pg_count_call ? (PfsPgNodeCounter *) node->instrument : NULL;
	counter = is_untouched(node) ? allocate(relations, sizeof(*counter)) : NULL;
	if (counter != NULL)
	{
		counter->counted = &counter->own;
		node->instrument = &counter->own;
	}
	return counter;
}

static PfsTime *
find(const PfsRelations *relations, const PlanState *node)
{
	for (PfsTime *time = relations->times; time != NULL; time = time->next)
		if (time->node == node)
			return time;
	return NULL;
}

static PfsTime *
watch(PfsRelations *relations, PlanState *node)
{
	bool		servers = node->instrument != NULL && node->ExecProcNode != pfs_pg_count_call;
	PfsTime    *time = IsA(node, ModifyTableState) || node->ExecProcNode == time_call ? find(relations, node) : NULL;
	PfsPgNodeCounter *counter;

	if (time != NULL)
		return time;
	time = allocate(relations, sizeof(*time));
	if (time == NULL)
		return NULL;
	time->node = node;
	if (!servers)
	{
		counter = counter_of(relations, node);
		if (counter == NULL)
			return NULL;
		time->counter = counter;
		node->ExecProcNode = time_call;
	}
	if (IsA(node, ModifyTableState) && outerPlanState(node) != NULL)
		time->child = watch(relations, outerPlanState(node));
	time->next = relations->times;
	relations->times = time;
	return time;
}

PfsTime *
pfs_times_watch(PfsRelations *relations, PlanState *node)
{
	PfsTime    *time = watch(relations, node);

	if (time != NULL)
		time->reported = true;
	return time;
}

/*
 * Their own times are no more than the whole run: a call that was timed while something else had the processor
 * stands for others that were not disturbed.
 */
static void
limit(PfsRelations *relations, PfsTicks elapsed)
{
	PfsTicks	sum = 0;

	for (const PfsTime *time = relations->times; time != NULL; time = time->next)
		sum += time->reported ? time->spent : 0;
	if (sum <= elapsed)
		return;
	for (PfsTime *time = relations->times; time != NULL; time = time->next)
		time->spent = (PfsTicks) ((double) time->spent * (double) elapsed / (double) sum);
}

static void
end_run(PfsRelations *relations)
{
	PfsTicks	elapsed = pfs_now() - relations->began;

	for (PfsTime *time = relations->times; time != NULL; time = time->next)
	{
		PfsTicks	now = time_so_far(time);

		time->spent = now > time->before ? Min(now - time->before, elapsed) : 0;
		time->before = Max(now, time->before);
		time->rows = 0;
	}
	for (PfsTime *time = relations->times; time != NULL; time = time->next)
		if (time->child != NULL)
			time->spent -= Min(time->spent, time->child->spent);
	limit(relations, elapsed);
}

/* --- recording --- */

static bool
changes(const PfsPart *part)
{
	return part->reads == PFS_READS_NOTHING;
}

static uint64
rows_of(const PfsPart *part, const PfsCounters *now, int operation)
{
	return pfs_part_is_index(part) && operation != PFS_TABLE_FETCH ? 0
		: pfs_counter_difference(now->value[operation], part->known->seen[operation]);
}

/* What the part's node has spent for these rows: a scan everything, a modification its share. */
static PfsTicks
time_of(const PfsPart *part, int operation, uint64 rows)
{
	PfsTime    *time = part->time;
	PfsTicks	spent;

	if (time == NULL || changes(part) == (operation == PFS_TABLE_FETCH))
		return 0;
	spent = time->spent;
	if (changes(part))
		return time->rows == 0 ? 0 : (PfsTicks) ((double) spent * (double) rows / (double) time->rows);
	time->spent = 0;
	return spent;
}

static void
take_operation(const PfsRelations *relations, const PfsPart *part, const PfsCounters *now, int operation)
{
	PfsKnown   *known = part->known;
	uint64		rows = rows_of(part, now, operation);
	PfsTicks	ticks = time_of(part, operation, rows);

	known->seen[operation] = now->value[operation];
	if ((rows > 0 || ticks > 0) && part->records)
		pfs_wait_table_sampled(&pfs_session, known->row, known->use, operation, rows, pfs_now() - ticks, ticks,
							   (uint64) relations->weight + 1);
}

static uint64
take_fetches(const PfsRelations *relations, const PfsPart *part, const PfsCounters *now)
{
	uint64		rows = rows_of(part, now, PFS_TABLE_FETCH);
	uint64		found = pfs_counter_difference(now->value[PFS_INDEX_RETURNED], part->known->seen[PFS_INDEX_RETURNED]);

	take_operation(relations, part, now, PFS_TABLE_FETCH);
	if (pfs_part_is_index(part))
		part->known->seen[PFS_INDEX_RETURNED] = now->value[PFS_INDEX_RETURNED];
	return part->reads == PFS_READS_TABLE || part->reads == PFS_READS_INDEX ? rows
		: part->reads == PFS_READS_INDEX_ONLY ? found : 0;
}

static void
take_changes(const PfsRelations *relations, bool by_changers)
{
	PfsCounters	now;

	for (uint32 i = 0; i < relations->parts; i++)
	{
		const PfsPart *part = &relations->part[i];

		if (pfs_part_is_index(part) || changes(part) != by_changers || pfs_part_status(part) == NULL)
			continue;
		pfs_counters_read_table(pfs_part_status(part), &now);
		for (int operation = PFS_TABLE_INSERT; operation < PFS_TABLE_OPERATIONS; operation++)
			take_operation(relations, part, &now, operation);
	}
}

/* Who changes a table is asked before who only reads it: it has the time. */
pg_noinline uint64
pfs_times_take(PfsRelations *relations)
{
	uint64		examined = 0;
	PfsCounters	now;

	end_run(relations);
	for (uint32 i = 0; i < relations->parts; i++)
	{
		const PfsPart *part = &relations->part[i];

		if (pfs_part_status(part) == NULL)
			continue;
		pfs_counters_read(pfs_part_status(part), pfs_part_is_index(part), &now);
		examined += take_fetches(relations, part, &now);
		if (part->time != NULL && changes(part))
			for (int operation = PFS_TABLE_INSERT; operation < PFS_TABLE_OPERATIONS; operation++)
				part->time->rows += rows_of(part, &now, operation);
	}
	take_changes(relations, true);
	take_changes(relations, false);
	return examined;
}
