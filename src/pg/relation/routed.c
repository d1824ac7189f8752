/*
 * routed.c
 *		Partitions that tuple routing opens as rows come: they are met when the call ends.
 */
#include "postgres.h"

#include "pg/relation/parts.h"
#include "pg/relation/times.h"

/*
 * Indexes that were met by routing: whether the server has handed their counters over since cannot be told later,
 * so each transaction looks at them before its first call, in the epoch kept here.  What finds no room is guessed.
 */
#define ROUTED_INDEXES 64		/* their number is a byte */

static PfsKnown *routed_index[ROUTED_INDEXES];
static uint32 routed_epoch = 0;

/* An entry without "routed" was given to another relation. */
PFS_COLD void
pfs_routed_look(void)
{
	if ((int32) (routed_epoch - pfs_relations_over.epoch) >= 0)
		return;
	routed_epoch = pfs_known_epoch;
	for (uint32 i = 0; i < pfs_relations_over.routed; i++)
	{
		PfsKnown   *known = routed_index[i];

		if (!known->routed)
			routed_index[i--] = routed_index[--pfs_relations_over.routed];
		else if ((int32) (known->epoch - pfs_relations_over.epoch) < 0)
			pfs_index_start(known, pfs_status_of_oid(known->oid));
	}
}

/*
 * Partitions that tuple routing has opened: where their counters stood before is only known of those that were
 * looked at before in this transaction.  In a transaction new changes begin at zero, in a place of their own.
 */
static void
guess_seen(PfsKnown *known, const PgStat_TableStatus *status, bool index, const PfsCounters *now)
{
	PfsCounters	pending = {0};

	if ((int32) (known->epoch - pfs_relations_over.epoch) < 0)
	{
		if (index)
		{
			/* not handed over since it was last seen, if ever, unless it has gone back */
			if (now->value[0] < known->seen[0] || now->value[1] < known->seen[1])
				memset(known->seen, 0, sizeof(known->seen));
		}
		else
		{
			pfs_counters_add_pending(status->trans, &pending);
			for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
				known->seen[i] = now->value[i] - pending.value[i];
		}
	}
	known->epoch = pfs_known_epoch;
	if (index && !known->routed && pfs_relations_over.routed < ROUTED_INDEXES)
	{
		known->routed = true;
		routed_index[pfs_relations_over.routed++] = known;
	}
}

/* What cannot be looked up while an error is raised is recorded later. */
static void
owe(PfsKnown *known, const PfsCounters *now, bool index)
{
	for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
	{
		if (!index || i == PFS_TABLE_FETCH)
			pfs_known_owe(known, i, pfs_counter_difference(now->value[i], known->seen[i]));
		known->seen[i] = now->value[i];
	}
}

static void
take_routed(PfsRelations *relations, Relation relation, bool index)
{
	const PgStat_TableStatus *status = relation->pgstat_info;
	PfsPart		part = {.relation = relation,.reads = index ? PFS_READS_CONFLICTS : PFS_READS_NOTHING};
	PfsCounters	now = {0};

	part.known = status == NULL ? NULL : pfs_known_find(RelationGetRelid(relation));
	if (part.known == NULL)
		return;
	pfs_counters_read(status, index, &now);
	guess_seen(part.known, status, index, &now);
	part.records = relations->records && part.known->watched;
	if (relations->records && !pfs_known_is_right(part.known))
		owe(part.known, &now, index);
	else
		(void) pfs_part_take(&part);
}

static void
add_routed(PfsRelations *relations, Relation relation, bool index)
{
	PfsPart    *part = pfs_part_add(relations, relation, RelationGetRelid(relation),
								index ? PFS_READS_CONFLICTS : PFS_READS_NOTHING);
	const PgStat_TableStatus *status = relation->pgstat_info;
	PfsCounters	now = {0};

	if (part == NULL)
		return;
	if (status != NULL)
	{
		pfs_counters_read(status, index, &now);
		guess_seen(part->known, status, index, &now);
	}
	if (!index && part->known->timed && relations->timing == PFS_TIMING_TIMED)
		part->time = relations->routing;
}

/* Partitions opened since they were last looked at, and the indexes in which their conflicts were looked for. */
static void
for_all(PfsRelations *relations, void (*function) (PfsRelations *, Relation, bool))
{
	List	   *routed = relations->estate == NULL ? NIL : relations->estate->es_tuple_routing_result_relations;

	for (uint32 i = relations->routed; i < (uint32) list_length(routed); i++)
	{
		const ResultRelInfo *target = list_nth(routed, (int) i);

		function(relations, target->ri_RelationDesc, false);
		for (int j = 0; j < target->ri_NumIndices && target->ri_IndexRelationDescs != NULL; j++)
			if (target->ri_IndexRelationDescs[j] != NULL &&
				(relations->conflicts || target->ri_IndexRelationInfo[j]->ii_ExclusionOps != NULL))
				function(relations, target->ri_IndexRelationDescs[j], true);
	}
}

pg_noinline void
pfs_routed_add(PfsRelations *relations)
{
	for_all(relations, add_routed);
	relations->routed = (uint32) list_length(relations->estate->es_tuple_routing_result_relations);
}

pg_noinline void
pfs_routed_take(PfsRelations *relations)
{
	for_all(relations, take_routed);
}
