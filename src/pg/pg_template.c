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
#include "pg/pg_statement.h"
#include "pg/pg_template.h"
#include "pg/pg_text.h"
#include "tcop/pquery.h"
#include "utils/memutils.h"
#include "utils/portal.h"

/* Of the plan's memory, one for each plan in it. */
typedef struct PfsPgPlanGone
{
	MemoryContextCallback callback;
	const PlannedStmt *plan;
	PfsPgTemplate *place;		/* NULL: another plan has it now */
} PfsPgPlanGone;

PfsPgTemplate pfs_pg_templates[PFS_PG_TEMPLATES];
PfsPgTemplate pfs_pg_no_template = {.key = PFS_PG_NO_KEY};
PfsPgShared pfs_pg_shared[PFS_PG_SHARED];

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

/* The place that it has, or a free one, or one of the two in turn. */
static PfsPgTemplate *
choose_place(const PlannedStmt *plan, const PfsPgPlanGone *gone)
{
	static unsigned turn;
	PfsPgTemplate *place = pfs_pg_template_places(plan);

	if (gone->place != NULL)
		return gone->place;
	for (unsigned i = 0; i < 2; i++)
		if (place[i].plan == NULL)
			return &place[i];
	return &place[turn++ & 1];
}

/* NULL: what is not the same at each execution is not kept: extensions' scripts, plans without an id. */
static PFS_COLD PfsPgTemplate *
take_place(const PlannedStmt *plan)
{
	PfsPgPlanGone *gone = creating_extension ? NULL : gone_of(plan);
	PfsPgTemplate *place;

	if (gone == NULL)
		return NULL;
	place = choose_place(plan, gone);
	if (place->plan != NULL)
		place->gone->place = NULL;
	gone->place = place;
	place->gone = gone;
	place->plan = NULL;			/* until it is filled */
	return place;
}

/* Nothing about it is rare: each execution leaves the same record. */
static inline bool
is_plain(const PfsTemplate *shared)
{
	return shared->digest != PFS_DIGEST_OTHERS && (shared->used & PFS_RECORD_UNTIMED) == 0;
}

void
pfs_pg_shared_keep(const PfsTemplate *template)
{
	PfsPgShared *place = &pfs_pg_shared[template->query_id & (PFS_PG_SHARED - 1)];

	place->template = *template;
	place->decided = is_plain(template) ? pfs_session.decided : 0;
}

/* What does not need the plan's shape. */
static void
fill_common(PfsPgTemplate *template, const PlannedStmt *plan, const char *text, uint32 class, uint64 query_id)
{
	uint32		digest = PFS_DIGEST_NONE;
	uint32		generation = pfs_load_acquire(&pfs_arena->digest_generation);

	if (pfs_pg_has_digest(query_id))
		digest = pfs_pg_digest_of(query_id, text, plan->stmt_location, plan->stmt_len);
	template->silent = !pfs_template_make(&pfs_session, &template->shared, class, query_id, digest, generation);
	template->decided = pfs_session.decided;
	template->text_length = 0;
	if (plan->stmt_location >= 0 && text != NULL)
	{
		PfsPgPart	part = pfs_pg_text_part(text, plan->stmt_location, plan->stmt_len);

		template->text_offset = (uint32) (part.data - text);
		template->text_length = (uint32) pfs_pg_clip(part.data, part.length, pfs_arena->sizes.sql_text_length);
		template->text_position = pfs_session.oldest_text - 1;	/* nowhere yet */
	}
	template->may_be_plain = !template->silent && template->text_length > 0 && is_plain(&template->shared);
	template->key = PFS_PG_NO_KEY;
}

void
pfs_pg_template_good(PfsPgTemplate *template)
{
	template->text = (uint32) template->text_position;
	template->key = !template->may_be_plain ? PFS_PG_NO_KEY
		: (template->shared.used & PFS_USED_MASK) != 0 ? pfs_pg_template_shaped(pfs_session.key) : pfs_session.key;
}

/* Of a statement that is begun by it, and on stage. */
static void
set_facts(PfsPgTemplate *template)
{
	static PfsStatement begun;

	begun.host_state = PFS_PG_RUNNING;
	begun.host_in_call = true;
	begun.host_watches = template->sorts;
	begun.host_rows_are = template->rows_are;
	begun.host_brief = template->brief;
	begun.host_hops = template->hops;
	template->facts = begun.facts;
}

static void
fill_shape(PfsPgTemplate *template, const QueryDesc *desc)
{
	template->rows_are = (desc->operation == CMD_SELECT || desc->plannedstmt->hasReturning) << PFS_COUNTER_ROWS_SENT |
		(desc->operation != CMD_SELECT) << PFS_COUNTER_ROWS_AFFECTED;
	pfs_pg_shape(desc->plannedstmt, template);
	set_facts(template);
}

static PFS_COLD void
fill(PfsPgTemplate *template, const QueryDesc *desc)
{
	const PlannedStmt *plan = desc->plannedstmt;

	fill_common(template, plan, desc->sourceText, pfs_pg_class_of_operation(desc->operation), (uint64) plan->queryId);
	fill_shape(template, desc);
	template->plan = plan;
}

void
pfs_pg_template_of_utility(const PlannedStmt *plan, const PfsPgSource *source, const PfsStatement *statement)
{
	PfsPgTemplate *place;

	/* a portal with a cached plan has its memory, too */
	if (ActivePortal == NULL || ActivePortal->cplan == NULL || list_length(ActivePortal->stmts) != 1 ||
		linitial(ActivePortal->stmts) != plan || source->flags != 0 || source->query_id == 0 ||
		statement->record->text_length == 0)
		return;
	place = take_place(plan);
	if (place == NULL)
		return;
	place->rows_are = place->sorts = place->brief = place->hops = 0;
	fill_common(place, plan, source->text, source->class, source->query_id);
	place->text_position = pfs_statement_text_position(&pfs_session, statement);
	set_facts(place);
	place->plan = plan;
	pfs_pg_template_good(place);
}

const PfsPgTemplate *
pfs_pg_template_shape(const QueryDesc *desc)
{
	static PfsPgTemplate shape;

	shape.shared.used = 0;
	fill_shape(&shape, desc);
	return &shape;
}

void
pfs_pg_template_sorts(const PlannedStmt *plan, uint8 sorts)
{
	PfsPgTemplate *place = pfs_pg_template_find(plan);

	if (place == &pfs_pg_no_template)
		return;
	place->sorts = sorts;
	set_facts(place);
}

PFS_HOT PfsPgTemplate *
pfs_pg_template(const QueryDesc *desc)
{
	static PfsPgTemplate once;
	const PlannedStmt *plan = desc->plannedstmt;
	PfsPgTemplate *place = pfs_pg_template_find(plan);

	if (pfs_likely(place->decided == pfs_session_decided(&pfs_session)))
	{
		place->shared.schema = pfs_session.schema;
		place->shared.role = pfs_session.role;
		return place;
	}
	place = plan->queryId != 0 ? take_place(plan) : NULL;
	if (place == NULL)
		place = &once;
	fill(place, desc);
	return place;
}
