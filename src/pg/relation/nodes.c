/*
 * nodes.c
 *		Finds the relations of a plan: those that its nodes scan and change.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "pg/relation/parts.h"
#include "pg/relation/times.h"

#define PLAN_DEPTH_MAX 200

/* node: reads or changes it. */
static pg_noinline void
begin_relation(PfsRelations *relations, Relation relation, PfsReads reads, PlanState *node)
{
	PfsPart    *part = pfs_likely(relation != NULL)
		? pfs_part_add_here(relations, relation, RelationGetRelid(relation), reads) : NULL;

	if (pfs_unlikely(part == NULL))
		return;
	pfs_part_start_here(part);
	if (relations->timing == PFS_TIMING_UNDECIDED)
		pfs_times_decide(relations, part->known);
	if (pfs_unlikely(relations->timing == PFS_TIMING_TIMED) && part->records && part->known->timed)
		part->time = pfs_times_watch(relations, node);
}

/*
 * Indexes in which the executor looks for rows that conflict with a new one, without a node of the plan.  They
 * are not open yet.
 */
static void
begin_conflicts(PfsRelations *relations, const ModifyTable *plan, Relation relation)
{
	List	   *indexes;
	ListCell   *cell;

	if (!relation->rd_indexvalid)
		list_free(RelationGetIndexList(relation));
	/* the list may be made anew while an index is asked about */
	for (int i = 0; i < list_length(relation->rd_indexlist); i++)
	{
		Oid			oid = list_nth_oid(relation->rd_indexlist, i);
		PfsKnown   *known = pfs_known_find(oid);

		if (known == NULL)
			continue;
		(void) pfs_known_watched(known);
		if (pfs_unlikely(known->excludes))
			pfs_part_begin(relations, oid, PFS_READS_CONFLICTS);
	}
	if (pfs_likely(plan->onConflictAction == ONCONFLICT_NONE))
		return;
	indexes = plan->arbiterIndexes != NIL ? plan->arbiterIndexes : RelationGetIndexList(relation);
	foreach(cell, indexes)
		pfs_part_begin(relations, lfirst_oid(cell), PFS_READS_CONFLICTS);
	if (indexes != plan->arbiterIndexes)
		list_free(indexes);
}

static void
modify(PfsRelations *relations, ModifyTableState *node)
{
	const ModifyTable *plan = (const ModifyTable *) node->ps.plan;

	relations->routes |= node->rootResultRelInfo->ri_RelationDesc->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	relations->conflicts |= plan->onConflictAction != ONCONFLICT_NONE;
	for (int i = 0; i < node->mt_nrels; i++)
	{
		Relation	relation = node->resultRelInfo[i].ri_RelationDesc;

		begin_relation(relations, relation, PFS_READS_NOTHING, &node->ps);
		if (relations->records && node->operation != CMD_DELETE && relation->rd_rel->relhasindex)
			begin_conflicts(relations, plan, relation);
	}
	if (relations->routes && pfs_unlikely(relations->timing == PFS_TIMING_TIMED))
		relations->routing = pfs_times_watch(relations, &node->ps);
}

static void look_at(PfsRelations *relations, PlanState *node, int depth);

static void
look_at_all(PfsRelations *relations, PlanState **nodes, int count, int depth)
{
	for (int i = 0; i < count; i++)
		look_at(relations, nodes[i], depth);
}

static void
look_at_list(PfsRelations *relations, List *nodes, int depth)
{
	ListCell   *cell;

	foreach(cell, nodes)
		look_at(relations, (PlanState *) lfirst(cell), depth);
}

/* Finds the scans and modifications at and below a node. */
static PFS_HOT void
look_at(PfsRelations *relations, PlanState *node, int depth)
{
	if (depth > PLAN_DEPTH_MAX)
		return;
	while (node != NULL)
	{
		switch (nodeTag(node))
		{
			case T_IndexScanState:
				begin_relation(relations, ((IndexScanState *) node)->iss_RelationDesc, PFS_READS_INDEX, node);
				return;
			case T_IndexOnlyScanState:
				begin_relation(relations, ((IndexOnlyScanState *) node)->ioss_RelationDesc, PFS_READS_INDEX_ONLY,
							   node);
				return;
			case T_CustomScanState:
				look_at_list(relations, ((CustomScanState *) node)->custom_ps, depth + 1);
				/* FALLTHROUGH */
			case T_SeqScanState:
			case T_SampleScanState:
			case T_BitmapHeapScanState:
			case T_TidRangeScanState:
				begin_relation(relations, ((ScanState *) node)->ss_currentRelation, PFS_READS_TABLE, node);
				return;
			case T_AppendState:
				look_at_all(relations, ((AppendState *) node)->appendplans, ((AppendState *) node)->as_nplans,
							depth + 1);
				return;
			case T_MergeAppendState:
				look_at_all(relations, ((MergeAppendState *) node)->mergeplans,
							((MergeAppendState *) node)->ms_nplans, depth + 1);
				return;
			case T_SubqueryScanState:
				node = ((SubqueryScanState *) node)->subplan;
				break;
			case T_ModifyTableState:
				look_at(relations, outerPlanState(node), depth + 1);
				modify(relations, (ModifyTableState *) node);
				return;
			default:
				if (innerPlanState(node) != NULL)
				{
					look_at(relations, outerPlanState(node), depth + 1);
					node = innerPlanState(node);
				}
				else
					node = outerPlanState(node);
				break;
		}
	}
}

void
pfs_plan_begin(PfsRelations *relations)
{
	look_at(relations, relations->plan, 0);
	if (pfs_unlikely(relations->estate->es_subplanstates != NIL))
		look_at_list(relations, relations->estate->es_subplanstates, 0);
}
