/*
 * fdw_plan.c
 *		Planning: estimates, and which conditions on key columns the scan is told of.
 *
 * A condition "key column = value" is only a hint to the scan, which may return other rows too: it
 * stays in the plan and is checked again.  The plan keeps the column names in fdw_private and the
 * values in fdw_exprs, in the same order.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "core/histogram.h"
#include "fdw/fdw.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"

/* Reading anything at all; a row costs more than a stored one, because it is added up. */
#define SCAN_COST 10.0
#define ROW_COST 0.05

/* Share of the largest possible number of rows that is expected to exist. */
#define FILL_BY_NAME 0.1

static double
thread_count(const PfsSizes *sizes)
{
	return sizes->threads;
}

static double
account_count(const PfsSizes *sizes)
{
	return sizes->accounts;
}

static double
instrument_count(const PfsSizes *sizes)
{
	return sizes->instruments;
}

static double
statement_class_count(const PfsSizes *sizes)
{
	return Max(sizes->statement_classes * FILL_BY_NAME, 1);
}

static double
error_count(const PfsSizes *sizes)
{
	return Max(sizes->errors * FILL_BY_NAME, 1);
}

static double
digest_count(const PfsSizes *sizes)
{
	return Max(sizes->digests * FILL_BY_NAME, 1);
}

static double
bucket_count(const PfsSizes *sizes)
{
	return PFS_BUCKETS;
}

static double
history_count(const PfsSizes *sizes)
{
	return Max(sizes->statements_history, 1);
}

static double
history_long_count(const PfsSizes *sizes)
{
	return Max(sizes->statements_history_long, 1);
}

/* What a word in a table's name says about its number of rows: factors are multiplied. */
static const struct
{
	const char *word;
	double		(*factor) (const PfsSizes *sizes);
}			name_factors[] = {
	{"setup_instruments", instrument_count},
	{"threads", thread_count},
	{"accounts", account_count},
	{"users", account_count},
	{"hosts", account_count},
	{"by_thread", thread_count},
	{"by_account", account_count},
	{"by_user", account_count},
	{"by_host", account_count},
	{"_current", thread_count},
	{"_history_long", history_long_count},
	{"statements_summary_by_digest", digest_count},
	{"histogram_by_digest", digest_count},
	{"histogram", bucket_count},
	{"by_error", error_count},
};

/* Cheap, and right to an order of magnitude: the planner needs no more. */
static double
estimate_rows(const PfsTable *table)
{
	const char *name = table->name;
	const PfsSizes *sizes;
	double		rows = 1;

	if (pfs_arena == NULL)
		return 1;
	sizes = &pfs_arena->sizes;
	for (size_t i = 0; i < lengthof(name_factors); i++)
		if (strstr(name, name_factors[i].word) != NULL)
			rows *= Max(name_factors[i].factor(sizes), 1);
	if (strstr(name, "by_event_name") != NULL && strstr(name, "statements") != NULL)
		rows *= statement_class_count(sizes);
	if (strstr(name, "_history") != NULL && strstr(name, "_long") == NULL)
		rows *= thread_count(sizes) * history_count(sizes);
	return rows > 1 ? rows : 20;
}

static bool
is_key_var(const Node *node, const RelOptInfo *rel, const PfsFdwTable *table)
{
	const Var  *var = (const Var *) node;
	const PfsColumn *column;

	if (!IsA(node, Var) || var->varno != rel->relid || var->varlevelsup != 0 ||
		var->varattno <= 0 || var->varattno > table->attribute_count)
		return false;
	column = table->attribute[var->varattno - 1].column;
	return column != NULL && (column->flags & PFS_COLUMN_KEY) != 0;
}

/* Operators that are equality byte by byte, between types the scan can convert. */
static bool
is_plain_equality(const OpExpr *op)
{
	switch (get_opcode(op->opno))
	{
		case F_INT8EQ:
		case F_INT84EQ:
		case F_INT82EQ:
		case F_INT48EQ:
		case F_INT28EQ:
		case F_INT4EQ:
		case F_INT24EQ:
		case F_INT42EQ:
			return true;
		case F_TEXTEQ:
		case F_TEXTEQNAME:
		case F_NAMEEQTEXT:
			return OidIsValid(op->inputcollid) && get_collation_isdeterministic(op->inputcollid);
		default:
			return false;
	}
}

/* Is the clause "key column = value known before this relation is read"? */
static bool
match_condition(PlannerInfo *root, RelOptInfo *rel, const PfsFdwTable *table, Node *clause,
				Var **var, Expr **value)
{
	OpExpr	   *op = (OpExpr *) clause;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2 || !is_plain_equality(op))
		return false;
	for (int side = 0; side < 2; side++)
	{
		Node	   *column = list_nth(op->args, side);
		Node	   *other = list_nth(op->args, 1 - side);

		if (!is_key_var(column, rel, table) ||
			bms_is_member(rel->relid, pull_varnos(root, other)) ||
			contain_volatile_functions(other) || contain_subplans(other))
			continue;
		*var = (Var *) column;
		*value = (Expr *) other;
		return true;
	}
	return false;
}

static bool
is_condition(PlannerInfo *root, RelOptInfo *rel, Node *clause)
{
	Var		   *var;
	Expr	   *value;

	return match_condition(root, rel, rel->fdw_private, clause, &var, &value);
}

static void
rel_size(PlannerInfo *root, RelOptInfo *rel, Oid foreign_table)
{
	Relation	relation = table_open(foreign_table, NoLock);
	PfsFdwTable *table = pfs_fdw_table(relation);

	table_close(relation, NoLock);
	rel->fdw_private = table;
	rel->tuples = estimate_rows(table->table);
	set_baserel_size_estimates(root, rel);
}

static void
add_scan_path(PlannerInfo *root, RelOptInfo *rel, Relids required_outer, double rows, bool by_key)
{
	double		rows_read = by_key ? rows : rel->tuples;
	Cost		startup = SCAN_COST + ROW_COST * rows_read;

	add_path(rel, (Path *) pfs_create_foreignscan_path(root, rel, rows, startup,
													   startup + cpu_tuple_cost * rows_read,
													   required_outer));
}

/* Planner callback: members of an equivalence class that are key columns of this relation. */
static bool
member_is_key(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *class,
			  EquivalenceMember *member, void *arg)
{
	return is_key_var((Node *) member->em_expr, rel, rel->fdw_private);
}

static List *
add_outer_rels(PlannerInfo *root, RelOptInfo *rel, RestrictInfo *info, List *parameterisations)
{
	Relids		outer;

	if (!join_clause_is_movable_to(info, rel) || !is_condition(root, rel, (Node *) info->clause))
		return parameterisations;
	outer = bms_union(info->clause_relids, rel->lateral_relids);
	outer = bms_del_member(outer, rel->relid);
	if (bms_is_empty(outer))
		return parameterisations;
	return list_append_unique_ptr(parameterisations, get_baserel_parampathinfo(root, rel, outer));
}

/* A path for each set of relations whose rows could give the value of a key column. */
static void
add_joined_paths(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *parameterisations = NIL;
	ListCell   *cell;

	foreach(cell, rel->joininfo)
		parameterisations = add_outer_rels(root, rel, lfirst_node(RestrictInfo, cell),
										   parameterisations);
	if (rel->has_eclass_joins)
	{
		List	   *clauses = generate_implied_equalities_for_column(root, rel, member_is_key, NULL,
																	 rel->lateral_referencers);

		foreach(cell, clauses)
			parameterisations = add_outer_rels(root, rel, lfirst_node(RestrictInfo, cell),
											   parameterisations);
	}
	foreach(cell, parameterisations)
	{
		ParamPathInfo *info = lfirst(cell);

		add_scan_path(root, rel, info->ppi_req_outer, info->ppi_rows, true);
	}
}

static void
rel_paths(PlannerInfo *root, RelOptInfo *rel, Oid foreign_table)
{
	bool		by_key = false;
	ListCell   *cell;

	foreach(cell, rel->baserestrictinfo)
		by_key |= is_condition(root, rel, (Node *) lfirst_node(RestrictInfo, cell)->clause);
	add_scan_path(root, rel, rel->lateral_relids, rel->rows, by_key);
	add_joined_paths(root, rel);
}

static ForeignScan *
scan_plan(PlannerInfo *root, RelOptInfo *rel, Oid foreign_table, ForeignPath *best_path,
		  List *targets, List *scan_clauses, Plan *outer_plan)
{
	PfsFdwTable *table = rel->fdw_private;
	List	   *clauses = extract_actual_clauses(scan_clauses, false);
	List	   *columns = NIL;
	List	   *values = NIL;
	ListCell   *cell;

	foreach(cell, clauses)
	{
		Var		   *var;
		Expr	   *value;

		if (!match_condition(root, rel, table, lfirst(cell), &var, &value))
			continue;
		columns = lappend(columns,
						  makeString(pstrdup(table->attribute[var->varattno - 1].column->name)));
		values = lappend(values, value);
	}
	return make_foreignscan(targets, clauses, rel->relid, values, columns, NIL, NIL, outer_plan);
}

static void
explain_scan(ForeignScanState *node, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	StringInfoData names;
	ListCell   *cell;

	if (plan->fdw_private == NIL)
		return;
	initStringInfo(&names);
	foreach(cell, plan->fdw_private)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", strVal(lfirst(cell)));
	ExplainPropertyText("Pushed Down", names.data, es);
}

void
pfs_fdw_plan_callbacks(FdwRoutine *routine)
{
	routine->GetForeignRelSize = rel_size;
	routine->GetForeignPaths = rel_paths;
	routine->GetForeignPlan = scan_plan;
	routine->ExplainForeignScan = explain_scan;
}
