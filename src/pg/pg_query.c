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

PfsPgQuery	pfs_pg_untied __attribute__((aligned(64)));

/* So many need no memory of the query's; those that are free, by "next". */
#define OWN_QUERIES 16

static PfsPgQuery own[OWN_QUERIES] __attribute__((aligned(64)));
static PFS_HOT_DATA PfsPgQuery *free_queries = NULL;
static bool prepared = false;

static inline bool
is_own(const PfsPgQuery *query)
{
	return (size_t) ((const char *) query - (const char *) own) < sizeof(own);
}

static inline void
set_free(PfsPgQuery *query)
{
	query->next = free_queries;
	free_queries = query;
}

static void
prepare(PfsPgQuery *query)
{
	query->gone.func = pfs_pg_query_gone;
	query->gone.arg = query;
}

static PFS_COLD PfsPgQuery *
more_queries(MemoryContext context)
{
	PfsPgQuery *query = &own[0];

	if (!prepared)
	{
		for (int i = OWN_QUERIES - 1; i > 0; i--)
		{
			prepare(&own[i]);
			set_free(&own[i]);
		}
		prepared = true;
	}
	else
		query = MemoryContextAllocExtended(context, sizeof(*query), MCXT_ALLOC_NO_OOM);
	if (query == NULL)
		pfs_lose(pfs_arena, PFS_LOSS_FRAMES);
	else
		prepare(query);
	return query;
}

static inline PfsPgQuery *
take(MemoryContext context)
{
	PfsPgQuery *query = free_queries;

	if (pfs_unlikely(query == NULL))
		return more_queries(context);
	free_queries = query->next;
	return query;
}

PFS_HOT PfsPgQuery *
pfs_pg_query_attach(const QueryDesc *desc, PfsStatement *statement)
{
	MemoryContext context = desc->estate->es_query_cxt;
	PfsPgQuery *query = take(context);

	pfs_pg_endings_in();
	pfs_pg_query_pass(desc);
	if (pfs_unlikely(query == NULL))
		return NULL;
	pfs_relations_init(&query->relations, desc->estate, desc->planstate, statement);
	if (pfs_likely(statement != NULL))
		statement->host_query = query;
	pfs_pg_entry.queries++;
	pfs_pg_undisturbed = NULL;
	/* what MemoryContextRegisterResetCallback does */
	query->gone.next = context->reset_cbs;
	context->reset_cbs = &query->gone;
	context->isReset = false;
	return query;
}

/*
 * It did not end before: it has failed, or was left.  Nothing will end its statement any more.  Of the query nothing
 * may be looked at, its relations may be closed.
 */
static PFS_COLD void
leave(PfsPgQuery *query)
{
	PfsStatement *statement = query->relations.statement;

	pfs_pg_query_end(query);
	if (statement != NULL)
		pfs_pg_end_orphan(statement);
}

/* The query's memory goes. */
PFS_HOT void
pfs_pg_query_gone(void *arg)
{
	PfsPgQuery *query = arg;

	if (pfs_unlikely(query->relations.estate != NULL))
		leave(query);
	if (pfs_likely(is_own(query)))
		set_free(query);
}

/* --- the untied one --- */

PFS_COLD void
pfs_pg_untied_forget(void)
{
	leave(&pfs_pg_untied);
}

PFS_COLD void
pfs_pg_untied_closed(void)
{
	if (pfs_pg_untied.relations.estate != NULL && !PortalIsValid(GetPortalByName("")))
		pfs_pg_untied_forget();
}

PFS_COLD void
pfs_pg_untied_aborted(int level)
{
	const PfsStatement *statement = pfs_pg_untied.relations.statement;

	if (pfs_pg_untied.relations.estate != NULL && statement != NULL && statement->host_level >= level)
		pfs_pg_untied_forget();
}
