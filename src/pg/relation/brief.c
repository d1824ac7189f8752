/*
 * brief.c
 *		Which plans may have brief calls, see brief.h.
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
	for (; !IsA(plan, IndexScan); plan = plan->lefttree, ++*hops)
		switch (nodeTag(plan))
		{
			case T_SeqScan:
			case T_ValuesScan:
			case T_FunctionScan:
				return plan;
			case T_Result:
				if (plan->lefttree == NULL)
					return plan;
				break;
			case T_ProjectSet:
			case T_Agg:
			case T_Group:
			case T_WindowAgg:
			case T_Sort:
			case T_IncrementalSort:
			case T_Unique:
			case T_Limit:
			case T_LockRows:
				break;
			default:
				return NULL;
		}
	return plan;
}

/* What a plan is that changes nothing. */
static PfsBrief
brief_of_leaf(const Plan *leaf)
{
	return IsA(leaf, IndexScan) ? PFS_BRIEF_SCAN : IsA(leaf, SeqScan) ? PFS_BRIEF_READ : PFS_BRIEF_NOTHING;
}

uint8
pfs_brief_plan(const PlannedStmt *stmt, uint8 *hops)
{
	const Plan *plan = stmt->planTree;
	const ModifyTable *modify = NULL;
	PfsBrief	brief;
	int			above = 0;

	*hops = 0;
	if (plan == NULL || stmt->subplans != NIL)
		return PFS_BRIEF_NOT;
	if (IsA(plan, ModifyTable))
	{
		modify = (const ModifyTable *) plan;
		if (!has_one_target(stmt, modify))
			return PFS_BRIEF_NOT;
		plan = plan->lefttree;
		above++;
	}
	plan = only_leaf(plan, &above);
	if (plan == NULL || above > PG_UINT8_MAX)
		return PFS_BRIEF_NOT;
	brief = brief_of_leaf(plan);
	/* a table that is read to be changed must be the one that is changed, and has no place of its own then */
	if (brief == PFS_BRIEF_SCAN || (brief == PFS_BRIEF_READ && modify == NULL))
		*hops = (uint8) above;
	else if (brief == PFS_BRIEF_READ &&
			 (modify->operation == CMD_INSERT || ((const Scan *) plan)->scanrelid != (Index) linitial_int(modify->resultRelations)))
		return PFS_BRIEF_NOT;
	if (modify == NULL)
		return brief;
	return modify->operation == CMD_INSERT ? PFS_BRIEF_INSERT
		: modify->operation == CMD_UPDATE ? PFS_BRIEF_UPDATE : PFS_BRIEF_DELETE;
}

/* --- a call begins --- */

/* As begin_conflicts in nodes.c. */
static bool
excludes_nothing(Relation table, uint32 rules)
{
	const List *indexes = table->rd_indexlist;

	if (!table->rd_indexvalid)
		return !table->rd_rel->relhasindex;
	for (int i = 0; i < list_length(indexes); i++)
	{
		Oid			oid = list_nth_oid(indexes, i);
		const PfsKnown *known = pfs_known_place(oid);

		if (known->oid != oid || known->kind == PFS_KNOWN_NOT || known->rules != rules || known->excludes)
			return false;
	}
	return true;
}

pg_noinline bool
pfs_brief_excludes_nothing(Relation table, PfsKnown *known)
{
	known->excludes_nothing = excludes_nothing(table, known->rules);
	pfs_known_excludes_nothing |= known->excludes_nothing;
	return known->excludes_nothing;
}

PFS_HOT pg_noinline bool
pfs_brief_begin_read(PfsRelations *relations, const PfsStatement *statement)
{
	const PgStat_TableStatus *status;
	Relation	table;
	PfsKnown   *known;

	if (pfs_unlikely(statement->host_brief != PFS_BRIEF_READ) || pfs_unlikely(!pfs_brief_may_begin()))
		return false;
	table = ((const ScanState *) pfs_brief_leaf(relations, statement->host_hops))->ss_currentRelation;
	status = table->pgstat_info;
	known = pfs_brief_ready(pfs_session.arena, status);
	if (pfs_unlikely(known == NULL) || pfs_unlikely(!pfs_brief_untimed(known)))
		return false;
	known->epoch = ++pfs_known_epoch;
	pfs_brief_note_table(&relations->own[PFS_BRIEF_SCANNED], table, status, known);
	pfs_brief_run(relations, PFS_BRIEF_READ);
	return true;
}

/* As pfs_relations_begin, of a query without relations. */
static inline bool
begin_nothing(PfsRelations *relations, const PfsStatement *statement)
{
	if (statement->host_brief != PFS_BRIEF_NOTHING)
		return false;
	relations->built = true;
	relations->parts = 0;
	return true;
}

PFS_HOT pg_noinline void
pfs_brief_begin_other(PfsRelations *relations, const PfsStatement *statement)
{
	if (pfs_likely(relations->nothing == 0) &&
		(begin_nothing(relations, statement) || pfs_brief_begin_read(relations, statement) ||
		 pfs_brief_begin_change(relations, statement)))
		return;
	pfs_relations_begin(relations);
}

/* --- a call ends --- */

PFS_HOT pg_noinline int64
pfs_brief_take_own(const PfsPart *part, PfsStatement *statement)
{
	PfsKnown   *known = part->known;
	const PgStat_TableStatus *status = part->relation->pgstat_info;
	uint64		read;
	int64		rows;

	if (pfs_unlikely(status == NULL))
		return -1;
	read = pfs_table_fetched(status);
	rows = (int64) (read - known->seen[PFS_TABLE_FETCH]);
	if (rows <= 0)
		return rows;
	if (pfs_unlikely(!pfs_brief_counts(known, PFS_TABLE_FETCH, (uint64) rows)))
		return -1;
	pfs_brief_examined(statement, (uint64) rows);
	known->seen[PFS_TABLE_FETCH] = read;
	return rows;
}

/* The same of a table that is only read, if nothing else has happened to it. */
static int64
take_read(const PfsPart *part, PfsStatement *statement)
{
	const PgStat_TableStatus *status = part->relation->pgstat_info;
	PfsCounters now;

	if (status == NULL)
		return -1;
	pfs_counters_read_table(status, &now);
	return memcmp(&now.value[PFS_TABLE_INSERT], &part->known->seen[PFS_TABLE_INSERT], 3 * sizeof(uint64)) != 0 ? -1
		: pfs_brief_take_own(part, statement);
}

PFS_HOT pg_noinline bool
pfs_brief_end_read(PfsRelations *relations, PfsStatement *statement)
{
	const PfsPart *part = &relations->own[PFS_BRIEF_SCANNED];
	int64		rows = relations->brief == PFS_BRIEF_READ ? take_read(part, statement) : -1;

	if (pfs_unlikely(rows < 0))
		return false;
	if (pfs_brief_shows())
		pfs_brief_show(relations, PFS_BRIEF_SCANNED, PFS_TABLE_FETCH, rows);
	pfs_brief_leave(relations);
	return true;
}

/* Its parts are as they were noted until the next call of the query. */
pg_noinline void
pfs_brief_show_change(const PfsRelations *relations, int64 scanned, int64 rows)
{
	pfs_brief_show(relations, pfs_brief_reads_own(relations) ? PFS_BRIEF_CHANGED : PFS_BRIEF_SCANNED, PFS_TABLE_FETCH, scanned);
	pfs_brief_show(relations, PFS_BRIEF_CHANGED, pfs_brief_operation(relations), rows);
}

static bool
end_change(PfsRelations *relations, PfsStatement *statement)
{
	int64		scanned;
	int64		rows;

	if (!pfs_brief_end_change(relations, statement, &scanned, &rows))
		return false;
	if (pfs_brief_shows())
		pfs_brief_show_change(relations, scanned, rows);
	return true;
}

PFS_HOT pg_noinline void
pfs_brief_end_other(PfsRelations *relations)
{
	PfsStatement *statement = relations->statement;

	if (statement == NULL || !pfs_brief_is_last(relations) ||
		!(relations->brief > PFS_BRIEF_SCAN ? end_change(relations, statement)
		  : pfs_brief_end_read(relations, statement)))
		pfs_relations_end(relations);
}
