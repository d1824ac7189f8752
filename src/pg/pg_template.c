/*
 * pg_template.c
 *		Templates of plans, see pg_template.h.
 */
#include "postgres.h"

#include "commands/extension.h"
#include "nodes/plannodes.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_digest.h"
#include "pg/pg_hooks.h"
#include "pg/pg_instruments.h"
#include "pg/pg_template.h"
#include "pg/pg_text.h"
#include "utils/memutils.h"

/* Of the plan's memory, one for each plan in it. */
typedef struct PfsPgPlanGone
{
	MemoryContextCallback callback;
	const PlannedStmt *plan;
	PfsPgTemplate *place;		/* NULL: another plan has it now */
} PfsPgPlanGone;

PfsPgTemplate pfs_pg_templates[PFS_PG_TEMPLATES];

static void
plan_gone(void *arg)
{
	PfsPgPlanGone *gone = arg;

	if (gone->place != NULL)
		gone->place->plan = NULL;
}

/* What tells that a cached plan goes; NULL: it is no cached plan, or there is no memory. */
static PfsPgPlanGone *
gone_of(const PlannedStmt *plan)
{
	MemoryContext context = GetMemoryChunkContext((void *) plan);
	PfsPgPlanGone *gone;

	if (strcmp(context->name, "CachedPlan") != 0)
		return NULL;
	for (MemoryContextCallback *callback = context->reset_cbs; callback != NULL; callback = callback->next)
		if (callback->func == plan_gone && ((PfsPgPlanGone *) callback->arg)->plan == plan)
			return callback->arg;
	gone = MemoryContextAllocExtended(context, sizeof(*gone), MCXT_ALLOC_NO_OOM);
	if (gone == NULL)
		return NULL;
	gone->plan = plan;
	gone->place = NULL;
	gone->callback.func = plan_gone;
	gone->callback.arg = gone;
	MemoryContextRegisterResetCallback(context, &gone->callback);
	return gone;
}

/* What is not the same at each execution is not kept: extensions' scripts, plans without an id. */
static PFS_COLD bool
take_place(PfsPgTemplate *place, const PlannedStmt *plan)
{
	PfsPgPlanGone *gone = creating_extension || plan->queryId == 0 ? NULL : gone_of(plan);

	if (gone == NULL)
		return false;
	if (place->plan != NULL)
		place->gone->place = NULL;
	if (gone->place != NULL)
		gone->place->plan = NULL;
	gone->place = place;
	place->gone = gone;
	place->plan = NULL;			/* until it is filled */
	return true;
}

static PFS_COLD void
fill(PfsPgTemplate *template, const QueryDesc *desc)
{
	const PlannedStmt *plan = desc->plannedstmt;
	uint64		query_id = (uint64) plan->queryId;
	uint32		digest = PFS_DIGEST_NONE;
	PfsPgText	text;

	if (pfs_pg_has_digest(query_id))
		digest = pfs_pg_digest(query_id, desc->sourceText, plan->stmt_location, plan->stmt_len);
	template->silent = !pfs_template_make(&pfs_session, &template->shared, 
										  pfs_pg_class_of_operation(desc->operation), query_id, digest);
	template->decided = pfs_session.decided;
	template->returns_rows = desc->operation == CMD_SELECT || plan->hasReturning;
	template->changes_rows = desc->operation != CMD_SELECT;
	template->text_length = 0;
	if (plan->stmt_location >= 0 && desc->sourceText != NULL)
	{
		pfs_pg_text_part(&text, desc->sourceText, plan->stmt_location, plan->stmt_len);
		template->text_offset = (uint32) (text.data - desc->sourceText);
		template->text_length = (uint32) pfs_pg_clip(text.data, text.length, pfs_arena->sizes.sql_text_length);
		/* nowhere yet */
		template->text = pfs_load(&pfs_session.thread->text_next) - pfs_arena->journal_texts;
	}
	pfs_pg_shape(plan, template);
	template->plain = template->silent || template->text_length == 0 ||
		template->shared.digest == PFS_DIGEST_OTHERS || (template->shared.used & PFS_RECORD_TIMED) == 0 ? 0
		: template->decided;
	template->plan = plan;
}

PFS_HOT PfsPgTemplate *
pfs_pg_template(const QueryDesc *desc)
{
	static PfsPgTemplate once;
	const PlannedStmt *plan = desc->plannedstmt;
	PfsPgTemplate *place = pfs_pg_template_place(plan);

	if (pfs_likely(place->plan == plan && place->decided == pfs_session_decided(&pfs_session)))
		return place;
	if (!take_place(place, plan))
		place = &once;
	fill(place, desc);
	return place;
}
