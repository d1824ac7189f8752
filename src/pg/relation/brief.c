/*
 * brief.c
 *		Which plans may have brief calls, and those of them that change a table, see brief.h.
 */
#include "postgres.h"

#include "parser/parsetree.h"
#include "pg/relation/brief.h"

/* --- the plan --- */

/* Does it change one table, a plain one, without looking for conflicts? */
static bool
has_one_target(const PlannedStmt *stmt, const ModifyTable *modify)
{
	return list_length(modify->resultRelations) == 1 && modify->rootRelation == 0 && modify->operation != CMD_MERGE &&
		modify->onConflictAction == ONCONFLICT_NONE &&
		rt_fetch(linitial_int(modify->resultRelations), stmt->rtable)->relkind == RELKIND_RELATION;
}

/* The only one below, itself included, that may scan anything; else NULL. */
static const Plan *
only_leaf(const Plan *plan, int *hops)
{
	while (!IsA(plan, IndexScan))
	{
		if (plan->lefttree == NULL)
			return IsA(plan, Result) || IsA(plan, ValuesScan) ? plan : NULL;
		if (!IsA(plan, Agg) && !IsA(plan, Sort) && !IsA(plan, Unique) && !IsA(plan, Limit) && !IsA(plan, LockRows) &&
			!IsA(plan, Result))
			return NULL;
		plan = plan->lefttree;
		++*hops;
	}
	return plan;
}

uint8
pfs_brief_plan(const PlannedStmt *stmt, uint8 *hops)
{
	const Plan *plan = stmt->planTree;
	PfsBrief	brief = PFS_BRIEF_SCAN;
	int			above = 0;

	*hops = 0;
	if (plan == NULL || stmt->subplans != NIL)
		return PFS_BRIEF_NOT;
	if (IsA(plan, ModifyTable))
	{
		const ModifyTable *modify = (const ModifyTable *) plan;

		if (!has_one_target(stmt, modify))
			return PFS_BRIEF_NOT;
		brief = modify->operation == CMD_INSERT ? PFS_BRIEF_INSERT
			: modify->operation == CMD_UPDATE ? PFS_BRIEF_UPDATE : PFS_BRIEF_DELETE;
		plan = plan->lefttree;
		above++;
	}
	plan = only_leaf(plan, &above);
	if (plan == NULL || above > PG_UINT8_MAX)
		return PFS_BRIEF_NOT;
	if (IsA(plan, IndexScan))
		*hops = (uint8) above;
	else if (brief == PFS_BRIEF_SCAN)
		return PFS_BRIEF_NOT;
	return brief;
}

/* --- a call begins --- */

/* Is there nothing that may conflict with new rows and has to be looked at?  As begin_conflicts in nodes.c. */
static inline bool
has_no_exclusions(Relation table, uint32 rules)
{
	const List *indexes = table->rd_indexlist;

	if (!table->rd_rel->relhasindex)
		return true;
	if (!table->rd_indexvalid)
		return false;
	for (int i = 0; i < list_length(indexes); i++)
	{
		Oid			oid = list_nth_oid(indexes, i);
		const PfsKnown *known = pfs_known_place(oid);

		if (known->oid != oid || known->kind == PFS_KNOWN_NOT || known->rules != rules || known->excludes)
			return false;
	}
	return true;
}

/* Its rows are found by an index, or (no hops) come from the client. */
static inline bool
begin_change(PfsRelations *relations, const PfsStatement *statement)
{
	Relation	table = ((const ModifyTableState *) relations->plan)->resultRelInfo->ri_RelationDesc;
	Relation	index = statement->host_hops > 0 ? pfs_brief_index(relations, statement) : NULL;
	PfsKnown   *changed = pfs_brief_ready(table);
	PfsKnown   *scanned = index != NULL ? pfs_brief_ready(index) : changed;
	PfsCounters now;

	if (changed == NULL || scanned == NULL ||
		(statement->host_brief != PFS_BRIEF_DELETE && !has_no_exclusions(table, changed->rules)) ||
		!pfs_brief_untimed(scanned))
		return false;
	pfs_known_epoch++;
	relations->own[PFS_BRIEF_SCANNED].relation = NULL;
	if (index != NULL)
		pfs_brief_note_scan(relations, index, scanned);
	pfs_counters_read_table(table->pgstat_info, &now);
	memcpy(changed->seen, now.value, sizeof(now.value));
	changed->epoch = pfs_known_epoch;
	relations->own[PFS_BRIEF_CHANGED].relation = table;
	relations->own[PFS_BRIEF_CHANGED].known = changed;
	pfs_brief_run(relations, statement->host_brief);
	return true;
}

PFS_HOT pg_noinline void
pfs_brief_begin_other(PfsRelations *relations, const PfsStatement *statement)
{
	if (statement->host_brief <= PFS_BRIEF_SCAN || !pfs_brief_may_begin() || !begin_change(relations, statement))
		pfs_relations_begin(relations);
}

/* --- a call ends --- */

/* As pfs_part_take, of the table, if nothing but this has happened to it.  False: nothing was done. */
static inline bool
take_change(const PfsPart *part, PfsTableOperation operation)
{
	PfsKnown   *known = part->known;
	const PgStat_TableStatus *status = part->relation->pgstat_info;
	PfsCounters now;
	int64		rows;

	if (status == NULL)
		return false;
	pfs_counters_read_table(status, &now);
	rows = (int64) (now.value[operation] - known->seen[operation]);
	if (rows == 0)
		return memcmp(now.value, known->seen, sizeof(now.value)) == 0;
	now.value[operation] = known->seen[operation];
	if (rows < 0 || memcmp(now.value, known->seen, sizeof(now.value)) != 0 || !pfs_wait_rows_known(&pfs_session) ||
		!pfs_wait_rows_quickly(&pfs_session, known->cell, known->row, known->use, operation, (uint64) rows))
		return false;
	if (pfs_unlikely(pfs_session.rows.shown))
		pfs_wait_rows_show(&pfs_session, known->row, known->use, operation, (uint64) rows);
	known->seen[operation] += (uint64) rows;
	return true;
}

PFS_HOT pg_noinline void
pfs_brief_end_other(PfsRelations *relations)
{
	const PfsPart *part = relations->own;

	if (pfs_likely(relations->brief > PFS_BRIEF_SCAN && pfs_relations_running == relations) &&
		(part[PFS_BRIEF_SCANNED].relation == NULL ||
		 pfs_brief_take_scan(&part[PFS_BRIEF_SCANNED], relations->statement)) &&
		take_change(&part[PFS_BRIEF_CHANGED], (PfsTableOperation) (relations->brief - PFS_BRIEF_SCAN)))
		pfs_brief_leave(relations);
	else
		pfs_relations_end(relations);
}
