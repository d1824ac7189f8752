/*
 * brief.h
 *		The most frequent calls by far: those of plans that scan one index at most, and change one table at most.
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
	PFS_BRIEF_SCAN,				/* of one index; from here on the operation + 1 */
	PFS_BRIEF_INSERT,			/* one table is changed, maybe behind the scan of one index */
	PFS_BRIEF_UPDATE,
	PFS_BRIEF_DELETE
} PfsBrief;

/* Its parts; relation NULL: none. */
#define PFS_BRIEF_SCANNED 0
#define PFS_BRIEF_CHANGED 1

/* brief.c: the short way of one that changes a table, else the general one. */
extern void pfs_brief_begin_other(PfsRelations *relations, const PfsStatement *statement);
extern void pfs_brief_end_other(PfsRelations *relations);

/* --- a call begins --- */

/* A relation that is counted and recorded, and was looked up before; else NULL. */
static inline PfsKnown *
pfs_brief_ready(Relation relation)
{
	PfsKnown   *known = pfs_known_place(RelationGetRelid(relation));

	return pfs_likely(relation->pgstat_info != NULL && known->oid == RelationGetRelid(relation) && known->watched &&
					  known->rules == pfs_load(&pfs_arena->objects_changed)) ? known : NULL;
}

/* Is this execution not timed?  As pfs_times_decide. */
static inline bool
pfs_brief_untimed(PfsKnown *known)
{
	if (pfs_likely(known->skip > 0))
		known->skip--;
	else if (pfs_session.rows.timed)
		return false;
	return true;
}

static inline Relation
pfs_brief_index(const PfsRelations *relations, const PfsStatement *statement)
{
	const PlanState *node = relations->plan;

	for (uint32 hops = statement->host_hops; hops > 0; hops--)
		node = outerPlanState(node);
	return ((const IndexScanState *) node)->iss_RelationDesc;
}

/* What is returned is noted when it ends: before, nobody asks an index that is read with its table. */
static inline void
pfs_brief_note_scan(PfsRelations *relations, Relation index, PfsKnown *known)
{
	PfsPart    *part = &relations->own[PFS_BRIEF_SCANNED];

	part->relation = index;
	part->known = known;
	known->epoch = pfs_known_epoch;
	known->seen[PFS_INDEX_FETCHED] = pfs_index_fetched(index->pgstat_info);
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

static pg_attribute_always_inline bool
pfs_brief_begin_scan(PfsRelations *relations, const PfsStatement *statement)
{
	Relation	index = pfs_brief_index(relations, statement);
	PfsKnown   *known = pfs_brief_ready(index);

	if (pfs_unlikely(known == NULL) || pfs_unlikely(!pfs_brief_untimed(known)))
		return false;
	pfs_known_epoch++;
	pfs_brief_note_scan(relations, index, known);
	pfs_brief_run(relations, PFS_BRIEF_SCAN);
	return true;
}

/* It is the outermost one; that rows are counted as they were last says, too, that they are wanted. */
static inline bool
pfs_brief_may_begin(void)
{
	return pfs_relations_running == NULL && pfs_wait_rows_known(&pfs_session);
}

/* As pfs_relations_begin, of the query's first call. */
static pg_attribute_always_inline void
pfs_brief_begin_first(PfsRelations *relations, const PfsStatement *statement)
{
	if (pfs_unlikely(statement->host_brief != PFS_BRIEF_SCAN || !pfs_brief_may_begin()) ||
		pfs_unlikely(!pfs_brief_begin_scan(relations, statement)))
		pfs_brief_begin_other(relations, statement);
}

static pg_attribute_always_inline void
pfs_brief_begin(PfsRelations *relations, const PfsStatement *statement)
{
	if (pfs_unlikely(relations->nothing != 0))
		pfs_relations_begin(relations);
	else
		pfs_brief_begin_first(relations, statement);
}

/* --- a call ends --- */

/* As pfs_part_take, of a scan.  False: nothing was done. */
static pg_attribute_always_inline bool
pfs_brief_take_scan(const PfsPart *part, PfsStatement *statement)
{
	PfsKnown   *known = part->known;
	const PgStat_TableStatus *status = part->relation->pgstat_info;
	uint64		fetched;
	int64		rows;

	if (pfs_unlikely(status == NULL))
		return false;
	fetched = pfs_index_fetched(status);
	rows = (int64) (fetched - known->seen[PFS_INDEX_FETCHED]);
	if (pfs_likely(rows > 0))
	{
		if (pfs_unlikely(statement == NULL || !pfs_wait_rows_known(&pfs_session) ||
						 !pfs_wait_rows_quickly(&pfs_session, known->cell, known->row, known->use, PFS_TABLE_FETCH,
												(uint64) rows)))
			return false;
		if (pfs_unlikely(pfs_session.rows.shown))
			pfs_wait_rows_show(&pfs_session, known->row, known->use, PFS_TABLE_FETCH, (uint64) rows);
		pfs_statement_count(statement, PFS_COUNTER_ROWS_EXAMINED, (uint64) rows);
	}
	else if (pfs_unlikely(rows < 0))
		return false;
	pfs_index_seen(known, fetched, pfs_index_returned(status));
	return true;
}

static inline void
pfs_brief_leave(PfsRelations *relations)
{
	relations->runs = false;
	pfs_relations_running = NULL;
}

/* As pfs_relations_end. */
static pg_attribute_always_inline void
pfs_brief_end(PfsRelations *relations)
{
	if (pfs_likely(relations->brief == PFS_BRIEF_SCAN && pfs_relations_running == relations) &&
		pfs_likely(pfs_brief_take_scan(&relations->own[PFS_BRIEF_SCANNED], relations->statement)))
		pfs_brief_leave(relations);
	else
		pfs_brief_end_other(relations);
}

#endif							/* PFS_PG_BRIEF_H */
