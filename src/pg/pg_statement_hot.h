/*
 * pg_statement_hot.h
 *		End of a statement in the plain way, to be compiled into those few who see most of them.
 */
#ifndef PFS_PG_STATEMENT_HOT_H
#define PFS_PG_STATEMENT_HOT_H

#include "core/statement_hot.h"
#include "pg/pg_query.h"
#include "pg/pg_statement.h"
#include "pg/pg_wait.h"

/* Of a query: commands tell their rows themselves.  Once, by what has run to its end, or when the statement ends. */
static pg_attribute_always_inline void
pfs_pg_store_rows(const PfsStatement *statement, uint64 rows)
{
	PfsStatementRecord *record = statement->record;

	if (pfs_unlikely(rows == 0))
		return;
	/* one of them may be something else than is marked: then nobody reads it */
	pfs_store(&record->counter[PFS_COUNTER_ROWS_SENT], rows);
	pfs_store(&record->counter[PFS_COUNTER_ROWS_AFFECTED], rows);
	pfs_store(&record->used, record->used | statement->host_rows_are);
}

StaticAssertDecl(Max(PFS_COUNTER_ROWS_SENT, PFS_COUNTER_ROWS_AFFECTED) < 8, "bits of host_rows_are");

/*
 * Its query has been answered.  Where the end of queries is not seen there is none but the untied one; else that is still to
 * come.
 */
static pg_attribute_always_inline void
pfs_pg_let_query_go(PfsStatement *statement, bool is_first)
{
	if (statement->host_query == NULL)
		return;
	if (is_first && pfs_likely(pfs_pg_entry.endings == PFS_PG_ENDINGS_OUT))
		pfs_pg_untied_over(statement, NULL);
	else
		pfs_pg_query_without(statement->host_query);
}

/*
 * It ends in the plain way, as it began; the caller has seen that it may, stored its rows, and let its query go.  is_first: that it is
 * pfs_pg_plain_top; runs: its time does, and its command was seen to come.  True: it is time to sum.
 */
static pg_attribute_always_inline bool
pfs_pg_end_plain(PfsSession *session, PfsStatement *statement, PfsTicks end, bool is_top, bool is_first, bool runs)
{
	PfsTicks	since = statement->since;	/* 0: others had the time since it began to rest */
	bool		sums;

	if (runs)
		pfs_assume(since != 0);
	sums = pfs_statement_end_plain(session, statement, since, &end, is_first);
	if (pfs_likely(is_top))
	{
		session->top = NULL;
		pfs_pg_undisturbed = NULL;
		if (runs)
			pfs_pg_command.ended = end; /* the caller sees to "since" */
		else if (pfs_likely(since != 0))
			pfs_pg_command_time_spent(end);
	}
	return pfs_unlikely(sums);
}

/* The client was told that it is complete, and is left with its commit.  Where the end of queries is not seen, it has none left. */
static pg_attribute_always_inline void
pfs_pg_complete(PfsStatement *statement, PfsTicks now)
{
	pfs_statement_complete(statement, now);
	statement->host_state = PFS_PG_COMPLETE;
	pfs_pg_command_time_spent(statement->paused_at);
}

/*
 * The client's statement, if it may end so and is the only one that is open, and its command is worked on that came so (by
 * the extended protocol or not); else NULL.  By far the most.  It may be on stage still: the caller asks pfs_pg_has_state.
 */
static pg_attribute_always_inline PfsStatement *
pfs_pg_plain_top(PfsSession *session, bool extended)
{
	PfsStatement *first = &session->statement[0];

	pfs_keep(first);
	return pfs_likely(pfs_session_is(session, PFS_PHASE_COMMAND, extended) && pfs_statement_is_plain_first(session, first) &&
					  session->top == first) ? first : NULL;
}

/* Is it off stage, in this state (or these two), and is nothing to be asked of its plan? */
static pg_attribute_always_inline bool
pfs_pg_has_state(const PfsStatement *statement, PfsPgState state, PfsPgState other)
{
	PfsStatement one,
				two,
				asked;

	one.facts = two.facts = asked.facts = 0;
	one.host_state = (uint8) state;
	two.host_state = (uint8) other;
	asked.host_state = (uint8) ~(state ^ other);
	asked.host_in_call = PG_UINT8_MAX;
	asked.host_watches = 3;
	return (statement->facts & asked.facts) == (one.facts & two.facts);
}

StaticAssertDecl((PFS_PG_RUNNING ^ PFS_PG_EXECUTED) == 2 && (PFS_PG_RUNNING & PFS_PG_EXECUTED) == 1, "one bit apart");

#endif							/* PFS_PG_STATEMENT_HOT_H */
