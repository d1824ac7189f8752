/*
 * brief.h
 *		The most frequent calls by far: those of plans without relations, that scan one index, or read one table, at most, and
 *		change one table at most.
 *
 * Which these are is a fact of the plan: it stands in the template, and in the statement (host_brief, host_hops).  A call
 * is brief if it is also the outermost one, all of it is recorded, and nothing is timed.  Of its parts relation and known
 * are noted, no more, see pfs_relations_spell_out.  What does not go the short way goes the general one, before
 * anything has changed.
 */
#ifndef PFS_PG_BRIEF_H
#define PFS_PG_BRIEF_H

#include "pg/relation/parts.h"
#include "pg/relation/times.h"

typedef enum PfsBrief
{
	PFS_BRIEF_NOT,
	PFS_BRIEF_NOTHING,			/* no relation at all */
	PFS_BRIEF_READ,				/* one table, all of it */
	PFS_BRIEF_SCAN,				/* of one index; what follows is this and the operation */
	PFS_BRIEF_INSERT,			/* one table is changed, maybe behind the scan of one index, or of itself (no hops) */
	PFS_BRIEF_UPDATE,
	PFS_BRIEF_DELETE
} PfsBrief;

/* Its parts; relation NULL: none. */
#define PFS_BRIEF_SCANNED 0
#define PFS_BRIEF_CHANGED 1

/* --- a call begins --- */

/*
 * The entry of a relation that is recorded, and was looked up before; else NULL.  The relation's oid is taken from where its
 * rows are counted, which is near, as it itself is not.
 */
static pg_attribute_always_inline PfsKnown *
pfs_brief_ready(const PfsArena *arena, const PgStat_TableStatus *status)
{
	PfsKnown   *known;
	Oid			oid;

	if (pfs_unlikely(status == NULL))
		return NULL;
	oid = PFS_PG_COUNTED(status);
	known = pfs_known_place(oid);
	return pfs_likely(known->oid == oid) && pfs_likely(known->watched) &&
		pfs_likely(known->rules == pfs_load(&arena->objects_changed)) ? known : NULL;
}

/* brief.c: is there nothing that may conflict with new rows and has to be looked at?  Notes it if so. */
extern bool pfs_brief_excludes_nothing(Relation table, PfsKnown *known);

/* Is this execution not timed?  As pfs_times_decide. */
static inline bool
pfs_brief_untimed(PfsKnown *known)
{
	if (pfs_likely(--known->until_timed != 0))
		return true;
	known->until_timed = 1;
	return !pfs_session.rows.timed;
}

static inline const PlanState *
pfs_brief_leaf(const PfsRelations *relations, uint32 hops)
{
	const PlanState *node = relations->plan;

	for (; hops > 0; hops--)
		node = outerPlanState(node);
	return node;
}

static inline Relation
pfs_brief_index(const PfsRelations *relations, uint32 hops)
{
	return ((const IndexScanState *) pfs_brief_leaf(relations, hops))->iss_RelationDesc;
}

static inline void
pfs_brief_note(PfsPart *part, Relation relation, PfsKnown *known)
{
	part->relation = relation;
	part->known = known;
}

/* What is returned is noted when it ends: before, nobody asks an index that is read with its table. */
static inline void
pfs_brief_note_scan(PfsRelations *relations, Relation index, const PgStat_TableStatus *status, PfsKnown *known)
{
	uint64		fetched = pfs_index_fetched(status);

	pfs_brief_note(&relations->own[PFS_BRIEF_SCANNED], index, known);
	known->epoch = pfs_known_epoch;
	known->seen[PFS_INDEX_FETCHED] = fetched;
}

/* Its epoch is noted when it is sure that the call is brief: else the general one notes all of it again. */
static inline void
pfs_brief_note_table(PfsPart *part, Relation table, const PgStat_TableStatus *status, PfsKnown *known)
{
	PfsCounters now;

	pfs_brief_note(part, table, known);
	pfs_counters_read_table(status, &now);
	for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
		known->seen[i] = now.value[i];
}

static pg_attribute_always_inline void
pfs_brief_run(PfsRelations *relations, PfsBrief brief)
{
	relations->nothing = 0;
	relations->runs = relations->built = relations->records = true;
	relations->brief = (uint8) brief;
	relations->timing = PFS_TIMING_NONE;
	relations->level = pfs_pg_nest_level;
	relations->outer = NULL;
	pfs_relations_running = relations;
}

/* It is the outermost one; that rows are counted as they were last says, too, that they are wanted. */
static inline bool
pfs_brief_may_begin(void)
{
	return pfs_likely(pfs_relations_running == NULL) && pfs_likely(pfs_wait_rows_known(&pfs_session));
}

/* As pfs_relations_begin, of the query's first call, which is PFS_BRIEF_SCAN.  False: nothing was done. */
static pg_attribute_always_inline bool
pfs_brief_begin_scan(PfsRelations *relations, const PfsStatement *statement)
{
	const PfsArena *arena = pfs_session.arena;
	const PgStat_TableStatus *status;
	Relation	index;
	PfsKnown   *known;

	if (pfs_unlikely(!pfs_brief_may_begin()))
		return false;
	index = pfs_brief_index(relations, statement->host_hops);
	status = index->pgstat_info;
	known = pfs_brief_ready(arena, status);
	if (pfs_unlikely(known == NULL) || pfs_unlikely(!pfs_brief_untimed(known)))
		return false;
	pfs_known_epoch++;
	pfs_brief_note_scan(relations, index, status, known);
	pfs_brief_run(relations, PFS_BRIEF_SCAN);
	return true;
}

/* The same of one that changes a table; its rows are found by an index, or (no hops) come from the client or this table. */
static pg_attribute_always_inline bool
pfs_brief_begin_change(PfsRelations *relations, const PfsStatement *statement)
{
	const PfsArena *arena = pfs_session.arena;
	PfsBrief	brief = (PfsBrief) statement->host_brief;
	uint32		hops = statement->host_hops;
	Relation	table,
				index = NULL;
	const PgStat_TableStatus *status;
	PfsKnown   *changed,
			   *scanned;

	if (pfs_unlikely(brief <= PFS_BRIEF_SCAN) || pfs_unlikely(!pfs_brief_may_begin()))
		return false;
	table = ((const ModifyTableState *) relations->plan)->resultRelInfo->ri_RelationDesc;
	status = table->pgstat_info;
	scanned = changed = pfs_brief_ready(arena, status);
	if (pfs_unlikely(changed == NULL) ||
		(pfs_unlikely(!changed->excludes_nothing) && brief != PFS_BRIEF_DELETE &&
		 !pfs_brief_excludes_nothing(table, changed)))
		return false;
	pfs_brief_note_table(&relations->own[PFS_BRIEF_CHANGED], table, status, changed);
	if (pfs_likely(hops > 0))
	{
		index = pfs_brief_index(relations, hops);
		status = index->pgstat_info;
		scanned = pfs_brief_ready(arena, status);
		if (pfs_unlikely(scanned == NULL))
			return false;
	}
	if (pfs_unlikely(!pfs_brief_untimed(scanned)))
		return false;
	changed->epoch = ++pfs_known_epoch;
	if (pfs_likely(index != NULL))
		pfs_brief_note_scan(relations, index, status, scanned);
	else
		relations->own[PFS_BRIEF_SCANNED].relation = NULL;
	pfs_brief_run(relations, brief);
	return true;
}

/* brief.c: the same of one that is PFS_BRIEF_READ. */
extern bool pfs_brief_begin_read(PfsRelations *relations, const PfsStatement *statement);

/* --- a call ends --- */

/* False: it was not counted.  Who counts shows the rows, too: pfs_brief_show. */
static pg_attribute_always_inline bool
pfs_brief_counts(const PfsKnown *known, PfsTableOperation operation, uint64 rows)
{
	PfsSession *session = pfs_pg_session();

	return pfs_likely(pfs_wait_rows_known(session)) &&
		pfs_likely(pfs_wait_rows_quickly(session, known->cell, &known->row, &known->use, operation, rows));
}

/* Are rows that were counted shown, each event?  Their statement is on stage, or the client's only one. */
static inline bool
pfs_brief_shows(void)
{
	return pfs_unlikely(pfs_session.rows.shown);
}

static inline void
pfs_brief_show(const PfsRelations *relations, int part, PfsTableOperation operation, int64 rows)
{
	const PfsKnown *known = relations->own[part].known;

	if (rows > 0)
		pfs_wait_rows_show(&pfs_session, relations->statement, pfs_table_object(known->row, known->use), operation,
						   (uint64) rows);
}

/* It is the first call of its query, and nobody has looked at its parts: so nothing was counted before. */
static inline void
pfs_brief_examined(PfsStatement *statement, uint64 rows)
{
	PfsStatementRecord *record = statement->record;

	pfs_store(&record->counter[PFS_COUNTER_ROWS_EXAMINED], rows);
	pfs_or(&record->used, UINT32_C(1) << PFS_COUNTER_ROWS_EXAMINED);
}

/* As pfs_part_take, of a scan; returns its rows.  Below 0: nothing was done. */
static pg_attribute_always_inline int64
pfs_brief_take_scan(const PfsPart *part, PfsStatement *statement)
{
	PfsKnown   *known = part->known;
	const PgStat_TableStatus *status = part->relation->pgstat_info;
	uint64		fetched;
	int64		rows;

	if (pfs_unlikely(status == NULL))
		return -1;
	fetched = pfs_index_fetched(status);
	rows = (int64) (fetched - known->seen[PFS_INDEX_FETCHED]);
	if (pfs_likely(rows > 0))
	{
		if (pfs_unlikely(!pfs_brief_counts(known, PFS_TABLE_FETCH, (uint64) rows)))
			return -1;
		pfs_brief_examined(statement, (uint64) rows);
	}
	else if (pfs_unlikely(rows < 0))
		return -1;
	pfs_index_seen(known, fetched, pfs_index_returned(status));
	return rows;
}

/* The same of a table that is changed, if nothing else has happened to it. */
static pg_attribute_always_inline int64
pfs_brief_take_changed(const PfsPart *part, PfsTableOperation operation)
{
	PfsKnown   *known = part->known;
	const PgStat_TableStatus *status = part->relation->pgstat_info;
	const uint64 *seen = known->seen;
	uint64		after;
	uint64		sum;
	int64		rows;

	if (pfs_unlikely(status == NULL))
		return -1;
	sum = pfs_counters_read_sum(status, operation, &after);
	rows = (int64) (after - seen[operation]);
	if (pfs_unlikely(sum - (uint64) rows != seen[0] + seen[1] + seen[2] + seen[3]))
		return -1;
	if (pfs_unlikely(rows <= 0))
		return rows < 0 ? -1 : 0;
	if (pfs_unlikely(!pfs_brief_counts(known, operation, (uint64) rows)))
		return -1;
	known->seen[operation] = after;
	return rows;
}

/* Was it brief until now, and is it still the outermost one? */
static pg_attribute_always_inline bool
pfs_brief_is_last(const PfsRelations *relations)
{
	return pfs_likely(relations->brief != PFS_BRIEF_NOT) && pfs_likely(pfs_relations_running == relations);
}

static pg_attribute_always_inline void
pfs_brief_leave(PfsRelations *relations)
{
	relations->runs = false;
	pfs_relations_running = NULL;
}

/*
 * As pfs_relations_end, of a call that began so and has this statement, and of which the caller has seen that it is the last
 * (pfs_brief_is_last).  False: that has to do it, or the rest of it.  The caller shows rows.
 */
static pg_attribute_always_inline bool
pfs_brief_end_scan(PfsRelations *relations, PfsStatement *statement, int64 *rows)
{
	*rows = pfs_brief_take_scan(&relations->own[PFS_BRIEF_SCANNED], statement);
	if (pfs_unlikely(*rows < 0))
		return false;
	pfs_brief_leave(relations);
	return true;
}

static inline void
pfs_brief_show_scan(const PfsRelations *relations, int64 rows)
{
	pfs_brief_show(relations, PFS_BRIEF_SCANNED, PFS_TABLE_FETCH, rows);
}

/* Does it look for its rows in the table that it changes? */
static inline bool
pfs_brief_reads_own(const PfsRelations *relations)
{
	return relations->own[PFS_BRIEF_SCANNED].relation == NULL && relations->brief > PFS_BRIEF_INSERT;
}

/* The end, and what it shows. */
static pg_attribute_always_inline bool
pfs_brief_end_shown_scan(PfsRelations *relations, PfsStatement *statement)
{
	int64		rows;

	if (pfs_unlikely(!pfs_brief_end_scan(relations, statement, &rows)))
		return false;
	if (pfs_brief_shows())
		pfs_brief_show_scan(relations, rows);
	return true;
}

/* brief.c: as pfs_brief_take_scan, of the table that is changed. */
extern int64 pfs_brief_take_own(const PfsPart *part, PfsStatement *statement);

/* brief.c: what a change shows. */
extern void pfs_brief_show_change(const PfsRelations *relations, int64 scanned, int64 rows);

static inline PfsTableOperation
pfs_brief_operation(const PfsRelations *relations)
{
	return (PfsTableOperation) (relations->brief - PFS_BRIEF_SCAN);
}

static pg_attribute_always_inline bool
pfs_brief_end_change(PfsRelations *relations, PfsStatement *statement, int64 *scanned, int64 *rows)
{
	const PfsPart *part = relations->own;

	*scanned = 0;
	if (pfs_likely(part[PFS_BRIEF_SCANNED].relation != NULL))
		*scanned = pfs_brief_take_scan(&part[PFS_BRIEF_SCANNED], statement);
	else if (pfs_likely(pfs_brief_reads_own(relations)))
		*scanned = pfs_brief_take_own(&part[PFS_BRIEF_CHANGED], statement);
	if (pfs_unlikely(*scanned < 0))
		return false;
	*rows = pfs_brief_take_changed(&part[PFS_BRIEF_CHANGED], pfs_brief_operation(relations));
	if (pfs_unlikely(*rows < 0))
	{
		if (pfs_brief_shows())
			pfs_brief_show_change(relations, *scanned, 0);
		return false;
	}
	pfs_brief_leave(relations);
	return true;
}

extern bool pfs_brief_end_read(PfsRelations *relations, PfsStatement *statement);

/* After the query's run, if that was brief: it changes nothing, or a table without triggers, so nothing is left to be executed. */
static inline bool
pfs_brief_leaves_nothing(const PfsRelations *relations)
{
	return pfs_likely(relations->brief == PFS_BRIEF_SCAN) || relations->brief == PFS_BRIEF_READ ||
		(relations->brief != PFS_BRIEF_NOT &&
		 ((const ModifyTableState *) relations->plan)->resultRelInfo->ri_TrigDesc == NULL);
}

/* --- any query's call: the short way, else the general one --- */

/* brief.c: of one that does not just read, or not the short way. */
extern void pfs_brief_begin_other(PfsRelations *relations, const PfsStatement *statement);
extern void pfs_brief_end_other(PfsRelations *relations);

static pg_attribute_always_inline void
pfs_brief_begin(PfsRelations *relations, const PfsStatement *statement)
{
	if (pfs_unlikely(relations->nothing != 0 || statement->host_brief != PFS_BRIEF_SCAN) ||
		pfs_unlikely(!pfs_brief_begin_scan(relations, statement)))
		pfs_brief_begin_other(relations, statement);
}

static pg_attribute_always_inline void
pfs_brief_end(PfsRelations *relations)
{
	PfsStatement *statement = relations->statement;

	if (pfs_unlikely(statement == NULL || relations->brief != PFS_BRIEF_SCAN) ||
		pfs_unlikely(!pfs_brief_is_last(relations)) || pfs_unlikely(!pfs_brief_end_shown_scan(relations, statement)))
		pfs_brief_end_other(relations);
}

#endif							/* PFS_PG_BRIEF_H */
