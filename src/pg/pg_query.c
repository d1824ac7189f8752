/*
 * pg_query.c
 *		Attaches to a query what we know of it, see pg_query.h.
 */
#include "postgres.h"

#include "pg/pg_arena.h"
#include "pg/pg_hooks.h"
#include "pg/pg_query.h"
#include "pg/pg_statement.h"
#include "utils/memutils.h"

/* So many need no memory of the query's; those that are free, by "next". */
#define OWN_QUERIES 16

static PfsPgQuery own[OWN_QUERIES];
static PFS_HOT_DATA PfsPgQuery *free_queries = NULL;
static bool prepared = false;

static inline bool
is_own(const PfsPgQuery *query)
{
	return query >= own && query < own + OWN_QUERIES;
}

static PFS_COLD PfsPgQuery *
more_queries(MemoryContext context)
{
	PfsPgQuery *query;

	if (!prepared)
	{
		for (int i = 1; i < OWN_QUERIES; i++)
		{
			own[i].next = free_queries;
			free_queries = &own[i];
		}
		prepared = true;
		return &own[0];
	}
	query = MemoryContextAllocExtended(context, sizeof(*query), MCXT_ALLOC_NO_OOM);
	if (query == NULL)
		pfs_lose(pfs_arena, PFS_LOSS_FRAMES);
	return query;
}

PFS_HOT PfsPgQuery *
pfs_pg_query_attach(const QueryDesc *desc, PfsStatement *statement)
{
	MemoryContext context = desc->estate->es_query_cxt;
	PfsPgQuery *query = free_queries;

	if (pfs_likely(query != NULL))
		free_queries = query->next;
	else
		query = more_queries(context);
	if (pfs_unlikely(query == NULL))
		return NULL;
	query->estate = desc->estate;
	query->plan = desc->planstate;
	query->statement = statement;
	query->sorts = NULL;
	if (pfs_likely(statement != NULL))
		statement->host_query = query;
	pfs_relations_init(&query->relations, desc->estate, desc->planstate, context, &query->statement);
	query->open = true;
	pfs_pg_entry.queries++;
	query->gone.func = pfs_pg_query_gone;
	query->gone.arg = query;
	MemoryContextRegisterResetCallback(context, &query->gone);
	return query;
}

PFS_HOT void
pfs_pg_query_end(PfsPgQuery *query)
{
	if (!query->open)
		return;
	query->open = false;
	pfs_pg_entry.queries--;
	pfs_relations_left(&query->relations);
	pfs_pg_query_part(query);
}

/*
 * The query's memory goes.  If it did not end before, the query has failed, or was left: nothing will
 * end its statement any more.  Of the query nothing may be looked at, its relations may be closed.
 */
void
pfs_pg_query_gone(void *arg)
{
	PfsPgQuery *query = arg;
	PfsStatement *statement = query->statement;

	if (pfs_unlikely(query->open))
	{
		pfs_pg_query_end(query);
		if (statement != NULL)
			pfs_pg_end_orphan(statement);
	}
	if (pfs_likely(is_own(query)))
	{
		query->next = free_queries;
		free_queries = query;
	}
}
