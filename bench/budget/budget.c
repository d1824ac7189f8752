/*
 * budget.c
 *		How little the recording of all that the product must record can cost: a prototype, part by part.
 *
 * A measuring instrument, not product code: PostgreSQL 18 of PyPI only (its import slots, its libpq methods).  It holds
 * everything that a statement must leave behind by default, and executes every check that tells the plain case from the
 * rare ones; rare ways are real where it took a few lines, else they count what they leave out (lost).  measure.py
 * builds it part by part and writes results.json.
 *
 * How it differs from the product:
 *	- One struct of 64 bytes is the innermost open statement (C); a nested one saves it and puts it back.  No lists.
 *	- A statement's record is written where it will stand in the journal: the next place of the ring.  Only one that has
 *	  nested ones moves, once, to a place of its own.  So there is no order of ends to be kept, and nothing changes places.
 *	- Nothing is attached to a query.  Its EState's address is noted and only compared: each query passes ExecutorStart.
 *	- What a template says of relations (which index, how many nodes down) is not asked again at each execution.
 *	- Rows of tables and idle time stand in the record, and reach their sums with it.
 *	- One cell for digest and class: classes, and the global histogram, are sums of it that a reader makes.
 *	- Whether the Sync was here at CommandComplete is not asked: whether data was received until the commit tells.
 *
 *	- Nothing wanted: the hooks are taken out between commands, as the protocol's functions; send's import slot is ours only
 *	  while sockets are wanted.
 *	- A wait is written once, as a row of the thread's ring, shown or not; 32 of them are added to their cells, and copied to
 *	  a block of the long history, at a time.
 *
 * What is left out, and what it would cost a statement of sysbench read write (instructions): times of nodes:
 * which execution is timed is decided, and nothing is timed then (14, as in the product); digest texts, names, SHA (0); cells that
 * give way to others, and move up when something was truncated (0: rare; the readers here do not look at epochs); accounts,
 * users, hosts: folded at exit (0); secrets in texts (0); walsenders, parallel workers (0); the catalogue's part of a relation:
 * setup_objects, names, drops (0); exclusion constraints (0: by template); statements of cursors and of functions evaluated
 * piece by piece end when they first rest (0); switches one by one: but for everything, the default and nothing, statements go
 * the general way (0); text masks, warnings, lock time (0).  Nested ones: PL/pgSQL's plugin (3 each, 40 each function call).
 * Everything on: socket calls are not added to the socket's own instance (about 20 a call), waits before a statement begins
 * are inside the transaction, not that statement (5 a call), transactions have no long history (2), lock waits are not put
 * together (0), LWLock waits are written before the lock is held.
 *
 * Read: budget.h (layout), budget.c (statements), sums.c, waits.c, reading.c (SQL functions that check what was recorded).
 */
#include "budget.h"

#include "access/parallel.h"
#include "catalog/namespace.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "libpq/libpq-be.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "parser/parsetree.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/memutils.h"
#include "nodes/queryjumble.h"
#include "utils/rel.h"

#include <sys/mman.h>

PG_MODULE_MAGIC;

Session		S;
Host		H;
Current		C;
Next		N;
Arena	   *arena;

static Current saved[DEPTH];	/* of the statements around C */
static const void *any_query;	/* C's, if that does not run in the short way */
static const void *any_saved[DEPTH];
static Template templates[TEMPLATES];
static uint32 caught;			/* error that is raised, maybe caught */
static Block analysed;			/* what the client's statement will be: for an error before it begins */
static ProcessUtility_hook_type next_utility;
static post_parse_analyze_hook_type next_parse;
static PQcommMethods ours;
static bool hooks_are_out;

/* Statements that lie beside others: portals that are bound or suspended. */
static struct
{
	const void *query;
	Current		c;
	Record		record;
}			resting[8];
static int	rests;

/* Parameters are handed on as they stand. */
#define AS_IT_IS __attribute__((noinline, noclone))

static void decide(void);
static void hooks_in(void);
static void hook_utility(PlannedStmt *, const char *, bool, ProcessUtilityContext, ParamListInfo, QueryEnvironment *, DestReceiver *,
						 QueryCompletion *);
static void close_any(uint64 now);

/* --- text --- */

static COLD uint32
write_text(const char *text, uint32 length)
{
	Thread	   *thread = S.thread;
	uint64		at = thread->text_next;

	if (at % TEXTS + length > TEXTS)
		at += TEXTS - at % TEXTS;
	if ((at + length) / (TEXTS / 4) != thread->text_next / (TEXTS / 4))
		S.key++;				/* templates write theirs anew before it is overwritten */
	thread->text_next = at + length;
	fence();
	memcpy(thread->text + at % TEXTS, text, length);
	return (uint32) at;
}

/* --- templates --- */

typedef struct PlanGone
{
	MemoryContextCallback callback;
	const void *plan;
	Template   *place;
} PlanGone;

static void
plan_gone(void *arg)
{
	PlanGone   *gone = arg;

	if (gone->place != NULL)
		gone->place->plan = NULL;
}

/* The place becomes this plan's; false: it is no cached plan, whose memory tells when it goes. */
static bool
take_place(Template *place, const PlannedStmt *plan)
{
	MemoryContext context = GetMemoryChunkContext((void *) plan);
	PlanGone   *gone = NULL;

	if (strcmp(context->name, "CachedPlan") != 0)
		return false;
	for (MemoryContextCallback *callback = context->reset_cbs; callback != NULL; callback = callback->next)
		if (callback->func == plan_gone && ((PlanGone *) callback->arg)->plan == plan)
			gone = callback->arg;
	if (gone == NULL)
	{
		gone = MemoryContextAllocExtended(context, sizeof(*gone), MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
		if (gone == NULL)
			return false;
		gone->plan = plan;
		gone->callback.func = plan_gone;
		gone->callback.arg = gone;
		MemoryContextRegisterResetCallback(context, &gone->callback);
	}
	if (place->plan != NULL && place->gone != NULL)
		place->gone->place = NULL;
	if (gone->place != NULL)
		gone->place->plan = NULL;
	gone->place = place;
	place->gone = gone;
	return true;
}

INLINE Template *
template_place(const void *plan)
{
	return &templates[((uintptr_t) plan * UINT64CONST(0x9E3779B97F4A7C15)) >> 57];
}

static uint16
object_of(Oid oid)
{
	Object	   *objects = S.thread->object;

	for (int i = 1; i < OBJECTS; i++)
	{
		int			at = 1 + (oid + i) % (OBJECTS - 1);

		if (objects[at].oid == 0)
		{
			objects[at].database = MyDatabaseId;
			objects[at].epoch = (uint32) (S.plain >> 32);
			objects[at].oid = oid;
		}
		if (objects[at].oid == oid)
			return at;
	}
	S.thread->lost++;
	return 0;
}

/* Which relations a plan reads and changes, if it is a simple one; what its shape tells. */
static void
look_at(const PlannedStmt *plan, Template *t)
{
	const Plan *node = plan->planTree;
	Facts		facts = {.brief = BRIEF_SCAN,.skip = 255};
	uint32		used = TIMED | HISTORY;
	bool		sorts = false;

	if (plan->commandType == CMD_SELECT || plan->hasReturning)
		used |= RETURNS;
	if (plan->commandType != CMD_SELECT)
		used |= CHANGES;
	if (node == NULL || plan->subplans != NIL)
		facts.brief = BRIEF_NOT;
	else if (IsA(node, ModifyTable))
	{
		const ModifyTable *modify = (const ModifyTable *) node;
		const RangeTblEntry *target = rt_fetch(linitial_int(modify->resultRelations), plan->rtable);

		if (list_length(modify->resultRelations) != 1 || modify->rootRelation != 0 || modify->operation == CMD_MERGE ||
			modify->onConflictAction != ONCONFLICT_NONE || target->relkind != RELKIND_RELATION)
			facts.brief = BRIEF_NOT;
		else
		{
			facts.brief = modify->operation == CMD_INSERT ? BRIEF_INSERT
				: modify->operation == CMD_UPDATE ? BRIEF_UPDATE : BRIEF_DELETE;
			facts.table = object_of(target->relid);
		}
		node = node->lefttree;
		facts.hops++;
	}
	while (facts.brief != BRIEF_NOT && !IsA(node, IndexScan))
	{
		if (IsA(node, Sort))
		{
			used |= TMP_TABLES;
			sorts = true;
		}
		if (node->lefttree == NULL)
		{
			if (!IsA(node, Result) && !IsA(node, ValuesScan))
				facts.brief = BRIEF_NOT;
			else if (facts.brief == BRIEF_SCAN)
				facts.brief = BRIEF_NONE;
			break;
		}
		if (!IsA(node, Agg) && !IsA(node, Sort) && !IsA(node, Unique) && !IsA(node, Limit) && !IsA(node, LockRows) &&
			!IsA(node, Result))
			facts.brief = BRIEF_NOT;
		node = node->lefttree;
		facts.hops++;
	}
	if (facts.brief != BRIEF_NOT && IsA(node, IndexScan))
	{
		const List *conditions = ((const IndexScan *) node)->indexqual;

		facts.index = object_of(((const IndexScan *) node)->indexid);
		if (list_length(conditions) > 1)
			used |= SELECT_RANGE;
		if (sorts)				/* the product looks closer, see sorts_what_is_read there: once a plan */
			used |= SORTS_EXAMINED | SORT_RANGE;
	}
	else if (node != NULL && IsA(node, SeqScan))
		used |= SELECT_SCAN | NO_INDEX;
	t->facts = facts;
	t->block.used = used;
}

static uint32
digest_of(uint64 query_id, const char *text, uint32 length)
{
	for (uint32 i = 0; i < DIGESTS - 1; i++)
	{
		uint32		at = 1 + (query_id + i) % (DIGESTS - 1);
		uint32		none = 0;
		Digest	   *row = &arena->digest[at];

		if (row->query_id == query_id && row->database == MyDatabaseId)
			return at;
		if (row->used == 0 && __atomic_compare_exchange_n(&row->used, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		{
			memcpy(row->text, text, Min(length, sizeof(row->text) - 1));
			row->database = MyDatabaseId;
			row->query_id = query_id;
			return at;
		}
	}
	return 0;
}

static const char *
text_part(const char *source, int location, int length, uint32 *bytes)
{
	const char *text = source + Max(location, 0);
	size_t		all = length > 0 ? (size_t) length : strlen(text);

	while (all > 0 && (*text == ' ' || *text == '\n'))
		text++, all--;
	*bytes = Min(all, TEXT_LENGTH);
	return text;
}

static void
fill(Template *t, uint64 query_id, uint32 class, const char *source, int location, int length)
{
	uint32		bytes;
	const char *text = text_part(source, location, length, &bytes);
	Record		record;

	t->block.digest = digest_of(query_id, text, bytes);
	t->block.generation = 1;
	t->block.epoch = (uint32) (S.plain >> 32);
	t->block.class = class;
	t->block.level = 0;
	t->block.in_statement = 0;
	t->block.schema = H.schema;
	t->block.role = H.role;
	t->block.text = write_text(text, bytes);
	t->block.text_length = bytes;
	if ((arena->gate & WANT_LONG) != 0)
		t->block.used |= LONG_HISTORY;
	record.block = t->block;
	t->block.cell = find_cell(&record);
}

/* Of a plan that lives on, or one that serves once. */
static COLD Template *
find_template(const PlannedStmt *plan, uint32 class, const char *source)
{
	static Template once;
	Template   *t = template_place(plan);

	if (t->plan == plan && t->key == S.key)
		return t;
	if (plan->queryId == 0 || !take_place(t, plan))
		t = &once;
	t->plan = NULL;
	if (plan->utilityStmt != NULL)
	{
		t->facts.word = 0;
		t->facts.skip = 255;
		t->block.used = TIMED | HISTORY;
	}
	else
		look_at(plan, t);
	fill(t, (uint64) plan->queryId, class, source, plan->stmt_location, plan->stmt_len);
	t->key = S.key;				/* after its text was written */
	if (t != &once)
		t->plan = plan;
	return t;
}

/* --- transactions --- */

static void
transaction_open(uint64 start, uint64 parent)
{
	Thread	   *thread = S.thread;
	Transaction *x = &thread->transaction[(thread->transactions + 1) % RING];

	x->event_id = S.transaction = next_number(&thread->event_id);
	x->nesting = parent;
	x->start = start;
	x->end_event_id = 0;
	x->epoch = (uint32) (S.plain >> 32);
	x->read_only = XactReadOnly;
	x->isolation = XactIsoLevel;
	x->savepoints = x->rollbacks = x->releases = 0;
	thread->open_transaction = 1;
}

static void
transaction_close(XactEvent event, bool block, uint64 now)
{
	Thread	   *thread = S.thread;
	Transaction *x = &thread->transaction[(thread->transactions + 1) % RING];

	x->end = now;
	x->end_event_id = thread->event_id;
	x->trx_id = U64FromFullTransactionId(GetTopFullTransactionIdIfAny());
	x->outcome = event == XACT_EVENT_COMMIT ? 1 : event == XACT_EVENT_ABORT ? 2 : 3;
	x->autocommit = !block;
	thread->open_transaction = 0;
	store_release(&thread->transactions, thread->transactions + 1);
	S.transaction = 0;
	if (now_and_then(thread->transactions - thread->transactions_summed >= UNSUMMED))
		sum_journal();
}

/* --- a statement begins --- */

/* Nothing is open in the place it gets.  Its number is the first to be written. */
INLINE Record *
begin_here(const Template *t, uint64 start, uint64 nesting)
{
	Thread	   *thread = S.thread;
	Record	   *record = &thread->ring[(thread->ended + 1) % RING];
	uint64		id = next_number(&thread->event_id);

	record->event_id = id;
	fence();
	record->start = start;
	record->nesting = nesting;
	memcpy(&record->block, &t->block, sizeof(Block));
	C.record = record;
	C.query = NULL;
	C.since = start;
	C.spent = C.rows = C.examined = C.changed = 0;
	C.facts = t->facts;
	store_release(&thread->open, id);
	return record;
}

INLINE bool
identity_changed(void)
{
	return H.path != *H.search_path || H.role != H.user();
}

/* The statement around it gives up its place in the ring. */
static COLD void
move_aside(Thread *thread, uint32 depth)
{
	Record	   *place = &thread->outer[depth - 1];

	memcpy(place, C.record, sizeof(*place));
	C.record = place;
	C.facts.complete = MOVED;
	fence();
}

/* It ends: its place is the next one of the ring again. */
static COLD void
bring_back(void)
{
	Thread	   *thread = S.thread;
	Record	   *place = &thread->ring[(thread->ended + 1) % RING];

	if (C.facts.complete != MOVED)
		return;
	memcpy(place, C.record, sizeof(*place));
	C.record = place;
	C.facts.complete = 0;
}

INLINE void
push(void)
{
	Thread	   *thread = S.thread;
	uint32		depth = S.flags.depth;

	if (unlikely(C.facts.complete != MOVED))
		move_aside(thread, depth);
	saved[depth - 1] = C;
	any_saved[depth - 1] = any_query;
	any_query = NULL;
	thread->depth = depth;
	S.flags.depth = depth + 1;
}

static COLD void
rest(const void *query)
{
	if (rests == lengthof(resting))
	{
		S.thread->lost++;
		close_any(tick());
		return;
	}
	C.spent += tick() - C.since;
	resting[rests].query = query;
	resting[rests].c = C;
	resting[rests].record = *C.record;
	rests++;
	S.flags.odd |= ODD_RESTS;
	S.flags.depth--;
	S.thread->open = 0;
	C.record = NULL;
	C.query = any_query = NULL;
}

/* Whatever is not plain.  False: it is not recorded. */
static COLD bool
begin_any(const PlannedStmt *plan, uint32 class, const char *source)
{
	Template   *t;
	uint64		start;

	decide();
	if (S.thread == NULL || (arena->gate & WANT_STATEMENTS) == 0 || IsParallelWorker() || source == NULL)
		return false;
	t = find_template(plan, class, source);
	if (t->facts.skip == 255)
		t->facts.skip = 200;
	while (S.flags.depth > 1 && !S.flags.stage)
		close_any(tick());		/* of a function that is called again later: the product lets it rest */
	if (S.flags.depth > 0 && !S.flags.stage)
	{
		if (C.facts.complete == COMPLETE)
			close_any(C.since);
		else
			rest(C.query != NULL ? C.query : any_query);
	}
	if (S.flags.depth >= DEPTH)
	{
		S.thread->lost++;
		return false;
	}
	if (S.flags.depth > 0)
	{
		uint32		level = S.flags.depth;
		Record	   *record;

		push();
		record = begin_here(t, tick(), saved[level - 1].record->event_id);
		record->block.level = level;
		record->block.in_statement = 1;
	}
	else
	{
		start = PART_IDLE && S.came != 0 ? S.came : tick();
		S.flags.depth = 1;
		begin_here(t, start, S.transaction);
	}
	if (PART_TRANSACTIONS && S.transaction == 0)
		transaction_open(C.since, C.record->event_id);
	S.flags.stage = 1;
	return true;
}

static COLD void
start_recorded(QueryDesc *q, int eflags)
{
	Record	   *record;
	uint64		id;

	if (!begin_any(q->plannedstmt, q->operation, q->sourceText))
	{
		N.start(q, eflags);
		return;
	}
	record = C.record;
	id = record->event_id;
	N.start(q, eflags);
	if (C.record == NULL || C.record->event_id != id)
		return;					/* what it has called has ended it: not in this load */
	S.flags.stage = 0;
	for (int i = 0; i < rests; i++)
		if (resting[i].query == q->estate)	/* that one is dead */
			resting[i].query = NULL;
	if (C.record->block.level > 0 && (q->dest == NULL || q->dest->mydest == DestNone))
	{
		close_any(tick());		/* a cursor: the product lets its statement rest until it is closed */
		return;
	}
	/* everything but a plan that serves once and is simple goes the long way to its end */
	if (MyProcPort != NULL && q->instrument_options == 0 && C.facts.brief != BRIEF_NOT && S.plain != 0 &&
		(C.record->block.level == 0 || (q->dest != NULL && q->dest->mydest != DestNone)))
		C.query = q->estate;
	else
	{
		any_query = q->estate;
		S.flags.odd |= ODD_ANY;
	}
}

static AS_IT_IS void
start_any(QueryDesc *q, int eflags)
{
	if ((arena->gate & WANT_DEFAULT) == 0 && S.thread != NULL)
		N.start(q, eflags);
	else
		start_recorded(q, eflags);
}

/* Back from ExecutorStart. */
static COLD void
start_left(QueryDesc *q)
{
	S.thread->lost++;
}

static HOT pg_noinline void
start_nested(QueryDesc *q, int eflags)
{
	const PlannedStmt *plan = q->plannedstmt;
	Template   *t = template_place(plan);
	uint32		level = S.flags.depth;
	Record	   *record;

	if (unlikely(CHANGED() || t->plan != plan || t->key != S.key || (S.flags.word & 0xFFFF) != 0 || level >= DEPTH ||
				 q->instrument_options != 0 || *H.temporary != H.temporary_seen || S.transaction == 0 ||
				 q->dest == NULL || q->dest->mydest == DestNone || t->facts.skip-- == 0))
	{
		start_any(q, eflags);
		return;
	}
	push();
	record = begin_here(t, tick(), saved[level - 1].record->event_id);
	record->block.level = level;
	record->block.in_statement = 1;
	N.start(q, eflags);
	if (unlikely(C.record != record))
	{
		start_left(q);
		return;
	}
	S.flags.stage = 0;
	C.query = q->estate;
}

/*
 * By far the most: the client's, of a cached plan, nothing else is open, nothing has changed.
 */
static HOT pg_noinline void
start_known(QueryDesc *q, int eflags)
{
	const PlannedStmt *plan = q->plannedstmt;
	Template   *t = template_place(plan);
	Record	   *record;

	if (unlikely(identity_changed()))
	{
		start_any(q, eflags);
		return;
	}
	if (S.flags.stage)
	{
		start_nested(q, eflags);
		return;
	}
	if (unlikely(t->plan != plan || t->key != S.key || (S.flags.word & NOT_TOP) != 0 ||
				 q->instrument_options != 0 || (PART_TABLES && t->facts.skip-- == 0)))
	{
		start_any(q, eflags);
		return;
	}
	record = begin_here(t, PART_IDLE ? S.came : tick(), S.transaction);
	S.flags.stage = S.flags.depth = 1;
	if (PART_TRANSACTIONS && unlikely(S.transaction == 0))
		transaction_open(C.since, record->event_id);
	N.start(q, eflags);
	if (unlikely(C.record != record))
	{
		start_left(q);
		return;
	}
	S.flags.stage = 0;
	C.query = q->estate;
}

static HOT void
hook_start(QueryDesc *q, int eflags)
{
	if (unlikely(CHANGED()))
	{
		start_any(q, eflags);
		return;
	}
	start_known(q, eflags);
}

/* --- it runs --- */

INLINE void
protocol_back(void)
{
	if (N.theirs != NULL && *H.methods == N.theirs)
		*H.methods = &ours;
}

static void
read_changes(const PgStat_TableStatus *status, uint64 *n)
{
	n[0] = status->counts.tuples_returned + status->counts.tuples_fetched;
	n[1] = status->counts.tuples_inserted;
	n[2] = status->counts.tuples_updated;
	n[3] = status->counts.tuples_deleted;
	for (const PgStat_TableXactStatus *x = status->trans; x != NULL; x = x->upper)
	{
		n[1] += x->tuples_inserted;
		n[2] += x->tuples_updated;
		n[3] += x->tuples_deleted;
		if (unlikely(x->truncdropped))
		{
			n[1] += x->inserted_pre_truncdrop;
			n[2] += x->updated_pre_truncdrop;
			n[3] += x->deleted_pre_truncdrop;
		}
	}
}

/* Nothing was counted yet in this session, or its counts have just been handed over. */
static COLD const PgStat_TableStatus *
status_otherwise(Relation relation)
{
	static PgStat_TableStatus none;

	return pgstat_should_count_relation(relation) ? relation->pgstat_info : &none;
}

INLINE const PgStat_TableStatus *
status_of(Relation relation)
{
	return likely(relation->pgstat_info != NULL) ? relation->pgstat_info : status_otherwise(relation);
}

static pg_noinline void
begin_change(Run *run, const PlanState *node)
{
	if (unlikely(!IsA(node, ModifyTableState)))
		return;
	run->table = ((const ModifyTableState *) node)->resultRelInfo->ri_RelationDesc;
	read_changes(status_of(run->table), run->base);
}

INLINE void
begin_relations(Run *run, const QueryDesc *q)
{
	const PlanState *node = q->planstate;
	Facts		facts = C.facts;

	run->index = run->table = NULL;
	if (unlikely(facts.brief < BRIEF_SCAN))
		return;
	if (facts.brief != BRIEF_SCAN)
		begin_change(run, node);
	if (facts.index == 0)
		return;
	for (; facts.hops != 0 && likely(node != NULL); facts.hops--)
		node = outerPlanState(node);
	if (unlikely(node == NULL || !IsA(node, IndexScanState)))
		return;					/* somebody has put other nodes there: the product would go the long way */
	run->index = ((const IndexScanState *) node)->iss_RelationDesc;
	run->fetched = status_of(run->index)->counts.tuples_fetched;
}

/* Rows that no record holds: triggers' and the like. */
static COLD void
add_rows(Oid oid, int what, uint64 rows)
{
	Object	   *object = &S.thread->object[object_of(oid)];

	seq_begin(&object->seq);
	add(&object->rows[what], rows);
	seq_end(&object->seq);
}

/* What belongs to this call is not that of the calls around it. */
static COLD void
hide_from_outer(const Run *run, uint64 fetched, const uint64 *now)
{
	for (Run *outer = run->outer; outer != NULL; outer = outer->outer)
	{
		if (outer->index != NULL && outer->index == run->index)
			outer->fetched += fetched;
		if (outer->table != NULL && outer->table == run->table && now != NULL)
			for (int i = 0; i < 4; i++)
				outer->base[i] += now[i] - run->base[i];
	}
}

static pg_noinline void
end_change(Run *run)
{
	uint64		now[4];
	int			what = C.facts.brief - BRIEF_SCAN;

	read_changes(status_of(run->table), now);
	C.changed += now[what] - run->base[what];
	if (PART_WAITS && unlikely(waits_shown) && now[what] != run->base[what])
		waits_show_rows(C.facts.table, what, now[what] - run->base[what]);
	for (int i = 1; i < 4; i++)
		if (unlikely(i != what && now[i] != run->base[i]))
			add_rows(RelationGetRelid(run->table), i, now[i] - run->base[i]);
	if (unlikely(run->outer != NULL))
		hide_from_outer(run, 0, now);
}

INLINE void
end_relations(Run *run)
{
	if (run->table != NULL)
		end_change(run);
	if (likely(run->index != NULL))
	{
		uint64		fetched = status_of(run->index)->counts.tuples_fetched - run->fetched;

		C.examined += fetched;
		if (PART_WAITS && unlikely(waits_shown) && fetched != 0)
			waits_show_rows(C.facts.index, 0, fetched);
		if (unlikely(run->outer != NULL))
			hide_from_outer(run, fetched, NULL);
	}
}

/* An error is raised, or a notice: what the calls have done so far is theirs while all is open. */
static COLD void
guard_callback(void *arg)
{
	int			sqlstate = geterrcode();
	int			category = ERRCODE_TO_CATEGORY(sqlstate);

	protocol_back();
	if (category == ERRCODE_SUCCESSFUL_COMPLETION || category == ERRCODE_WARNING || category == ERRCODE_NO_DATA ||
		S.thread == NULL)
		return;
	caught = sqlstate;
	if (arg != S.running || arg == NULL)
		return;
	end_relations(S.running);
	S.running->index = S.running->table = NULL;
}

INLINE void
guard_push(Run *run)
{
	run->guard.callback = guard_callback;
	run->guard.arg = run;
	run->guard.previous = *H.errors;
	*H.errors = &run->guard;
}

INLINE void
guard_pop(const Run *run)
{
	*H.errors = run->guard.previous;
}

/* Calls above it were left by an error that somebody caught without a subtransaction. */
static COLD bool
left(Run *run, const void *query)
{
	for (Run *r = S.running; r != NULL; r = r->outer)
		if (r == run)
		{
			S.running = run;
			while (S.flags.depth > run->depth)
				close_any(tick());
			return C.query == query || any_query == query;
		}
	return false;
}

/* Relations of any plan: those of its scans and changes.  Rows go straight to the objects. */
typedef struct Part
{
	Relation	relation;
	bool		index;
	uint64		base[4];
} Part;

typedef struct Parts
{
	int			n;
	Part		part[16];
} Parts;

static bool
collect(PlanState *node, void *arg)
{
	Parts	   *parts = arg;
	Relation	relation = NULL;
	bool		index = false;

	if (IsA(node, IndexScanState))
		relation = ((IndexScanState *) node)->iss_RelationDesc, index = true;
	else if (IsA(node, IndexOnlyScanState))
		relation = ((IndexOnlyScanState *) node)->ioss_RelationDesc, index = true;
	else if (IsA(node, SeqScanState) || IsA(node, BitmapHeapScanState))
		relation = ((ScanState *) node)->ss_currentRelation;
	else if (IsA(node, ModifyTableState))
		relation = ((ModifyTableState *) node)->resultRelInfo->ri_RelationDesc;
	for (int i = 0; relation != NULL && i < parts->n; i++)
		if (parts->part[i].relation == relation)
			relation = NULL;
	if (relation != NULL && parts->n < lengthof(parts->part))
	{
		Part	   *part = &parts->part[parts->n++];
		const PgStat_TableStatus *status = status_of(relation);

		part->relation = relation;
		part->index = index;
		if (index)
			part->base[0] = status->counts.tuples_fetched + status->counts.tuples_returned;
		else
			read_changes(status, part->base);
	}
	return planstate_tree_walker(node, collect, arg);
}

static void
take_parts(const Parts *parts)
{
	for (int i = 0; i < parts->n; i++)
	{
		const Part *part = &parts->part[i];
		const PgStat_TableStatus *status = status_of(part->relation);
		uint64		now[4] = {0};

		if (part->index)
			now[0] = status->counts.tuples_fetched + status->counts.tuples_returned;
		else
			read_changes(status, now);
		for (int k = 0; k < (part->index ? 1 : 4); k++)
			if (now[k] != part->base[k])
				add_rows(RelationGetRelid(part->relation), k, now[k] - part->base[k]);
		C.examined += now[0] - part->base[0];
	}
}

static COLD void
run_recorded(QueryDesc *q, ScanDirection direction, uint64 count)
{
	Run			run;
	Parts		parts;

	if (any_query == NULL && rests > 0 && !S.flags.stage)
	{
		for (int i = rests - 1; i >= 0; i--)
			if (resting[i].query == q->estate)
			{
				C = resting[i].c;
				memcpy(&S.thread->ring[(S.thread->ended + 1) % RING], &resting[i].record, sizeof(Record));
				C.record = &S.thread->ring[(S.thread->ended + 1) % RING];
				C.since = S.came != 0 ? S.came : tick();
				C.facts.complete = 0;
				any_query = q->estate;
				S.flags.depth = 1;
				S.flags.odd |= ODD_ANY;
				resting[i] = resting[--rests];
				if (rests == 0)
					S.flags.odd &= ~ODD_RESTS;
				break;
			}
	}
	if (any_query == NULL || any_query != q->estate)
	{
		N.run(q, direction, count);
		return;
	}
	parts.n = 0;
	run.index = run.table = NULL;
	run.outer = S.running;
	run.level = N.nest_level;
	run.depth = S.flags.depth;
	S.running = &run;
	guard_push(&run);
	S.flags.stage = 1;
	if (PART_TABLES)
		collect(q->planstate, &parts);
	N.run(q, direction, count);
	guard_pop(&run);
	if (S.running != &run && !left(&run, q->estate))
		return;
	S.running = run.outer;
	S.flags.stage = 0;
	C.rows += q->estate->es_processed;
	take_parts(&parts);
}

static AS_IT_IS void
run_any(QueryDesc *q, ScanDirection direction, uint64 count)
{
	if (S.flags.odd == 0)
		N.run(q, direction, count);
	else
		run_recorded(q, direction, count);
}

static HOT pg_noinline void
run_plain(QueryDesc *q, ScanDirection direction, uint64 count)
{
	Run			run;
	bool		aside = false;

	if (PART_ERRORS)
		guard_push(&run);
	run.outer = S.running;
	run.level = N.nest_level;
	run.depth = S.flags.depth;
	S.running = &run;
	S.flags.stage = 1;
	if (PART_TABLES)
		begin_relations(&run, q);
	else
		run.index = run.table = NULL;
	if (likely(*H.methods == &ours))
	{
		*H.methods = N.theirs;
		aside = true;
	}
	N.run(q, direction, count);
	if (PART_ERRORS)
		guard_pop(&run);
	if (likely(aside))
		*H.methods = &ours;
	if (unlikely(S.running != &run || C.query != q->estate) && !left(&run, q->estate))
		return;
	S.running = run.outer;
	S.flags.stage = 0;
	if (PART_TABLES)
		end_relations(&run);
	C.rows += q->estate->es_processed;
	if (unlikely(!S.flags.extended) && q->dest->mydest == DestRemoteExecute)
		S.flags.extended = 1;
}

static HOT void
hook_run(QueryDesc *q, ScanDirection direction, uint64 count)
{
	if (unlikely(C.query != q->estate))
		run_any(q, direction, count);
	else
		run_plain(q, direction, count);
}

static HOT pg_noinline void
finish(QueryDesc *q)
{
	Run			run;

	if (unlikely(C.query != q->estate && any_query != q->estate))
	{
		N.finish(q);
		return;
	}
	if (PART_ERRORS)
		guard_push(&run);
	run.outer = S.running;
	run.level = N.nest_level;
	run.depth = S.flags.depth;
	run.index = run.table = NULL;
	S.running = &run;
	S.flags.stage = 1;
	if (unlikely(q->estate->es_auxmodifytables != NIL))
		S.thread->lost++;		/* rows of modifying CTEs */
	N.finish(q);
	if (PART_ERRORS)
		guard_pop(&run);
	if (unlikely(S.running != &run) && !left(&run, q->estate))
		return;
	S.running = run.outer;
	S.flags.stage = 0;
}

static HOT void
hook_finish(QueryDesc *q)
{
	if (q->operation == CMD_SELECT && !q->plannedstmt->hasModifyingCTE)
		N.finish(q);
	else
		finish(q);
}

/* --- it ends --- */

/* True: it is time to sum. */
INLINE bool
close_here(uint64 now)
{
	Thread	   *thread = S.thread;
	Record	   *record = C.record;
	uint64		wait = now - C.since + C.spent;
	uint64		number = thread->ended + 1;

	record->end = now;
	record->wait = wait + (wait == 0);
	record->end_event_id = thread->event_id;
	record->rows = C.rows;
	record->examined = C.examined;
	record->changed = C.changed;
	record->idle = thread->idle;
	memcpy(&record->index, &C.facts, 4);
	record->routine = 0;
	thread->idle = 0;
	thread->open = 0;
	store_release(&thread->ended, number);
	return PART_SUMS && now_and_then(number == N.sum_at);
}

/* The record is published: the statement around it is the innermost one again. */
INLINE void
pop(void)
{
	uint32		depth = --S.flags.depth;

	S.thread->depth = depth - 1;
	C = saved[depth - 1];
	any_query = any_saved[depth - 1];
	S.flags.stage = 1;
}

static HOT pg_noinline void
close_plain(uint64 now)
{
	bool		sums = close_here(now);

	C.record = NULL;
	C.query = NULL;
	S.flags.depth = 0;
	S.came = now;
	if (now_and_then(sums))
		sum_journal();
}

/* Bytes in temporary files, since the last time any were: of the innermost statement, and those around it. */
static COLD void
note_temporary(void)
{
	if (S.thread != NULL && C.record != NULL)
	{
		uint32		slot = (S.thread->ended + 1) % RING;

		S.thread->rare[slot].tmp_bytes = (*H.temporary - H.temporary_seen) * BLCKSZ;
		C.record->block.used |= RARE;
	}
	H.temporary_seen = *H.temporary;
}

/* The innermost, whatever it is. */
static COLD void
close_any(uint64 now)
{
	bool		sums;

	if (*H.temporary != H.temporary_seen)
		note_temporary();
	bring_back();
	sums = close_here(now);
	S.flags.odd &= ~ODD_ANY;
	if (S.flags.depth > 1)
	{
		pop();
		if (any_query != NULL)
			S.flags.odd |= ODD_ANY;
	}
	else
	{
		C.record = NULL;
		C.query = any_query = NULL;
		S.flags.depth = 0;
		S.flags.stage = 0;
		S.came = now;
	}
	if (now_and_then(sums))
		sum_journal();
}

static HOT pg_noinline void
close_nested(uint64 now)
{
	bool		sums;

	if (unlikely(*H.temporary != H.temporary_seen || S.flags.odd || C.facts.complete != 0 || CHANGED()))
	{
		close_any(now);
		return;
	}
	sums = close_here(now);
	pop();
	if (now_and_then(sums))
		sum_journal();
}

static COLD void
end_any(QueryDesc *q)
{
	const void *query = q->estate;

	N.end(q);
	if (any_query == query)
	{
		if (S.flags.depth > 1 || MyProcPort == NULL)
			close_any(tick());
		else
		{
			any_query = NULL;
			S.flags.odd &= ~ODD_ANY;
		}
	}
	for (int i = rests - 1; i >= 0; i--)
		if (resting[i].query == query)
		{
			/* it ended when it began to rest */
			if (S.flags.depth == 0)
			{
				C = resting[i].c;
				memcpy(&S.thread->ring[(S.thread->ended + 1) % RING], &resting[i].record, sizeof(Record));
				C.record = &S.thread->ring[(S.thread->ended + 1) % RING];
				C.since = C.since + C.spent;
				C.spent = 0;
				S.flags.depth = 1;
				close_any(C.since);
			}
			else
				S.thread->lost++;
			resting[i] = resting[--rests];
			if (rests == 0)
				S.flags.odd &= ~ODD_RESTS;
		}
}

static HOT void
hook_end(QueryDesc *q)
{
	if (C.query == q->estate)
	{
		if (S.flags.depth > 1)
		{
			N.end(q);
			close_nested(tick());
			return;
		}
		C.query = NULL;			/* the client will be told */
	}
	else if (unlikely(S.flags.odd != 0))
	{
		end_any(q);
		return;
	}
	N.end(q);
}

/* --- errors --- */

static COLD void
fail_all(uint32 sqlstate, const char *message)
{
	uint64		now = tick();
	Thread	   *thread = S.thread;

	caught = 0;
	if (thread == NULL)
		return;
	thread->errors_raised++;
	S.running = NULL;
	if (S.flags.depth == 0)
	{
		/* it never came as far as a hook: bad syntax, aborted block */
		Template	t = {.facts.skip = 255,.block.used = TIMED | HISTORY};
		static const char unknown[] = "";

		if ((arena->gate & WANT_STATEMENTS) == 0 || S.plain == 0)
			return;
		fill(&t, 1, 41, debug_query_string != NULL ? debug_query_string : unknown, 0, 0);
		S.flags.depth = 1;
		begin_here(&t, S.came != 0 ? S.came : now, S.transaction);
	}
	while (S.flags.depth > 0)
	{
		Rare	   *rare = &thread->rare[(thread->ended + 1) % RING];

		memset(rare, 0, sizeof(*rare));
		rare->sqlstate = sqlstate;
		strlcpy(rare->message, message != NULL ? message : "", sizeof(rare->message));
		C.record->block.used |= FAILED | RARE;
		close_any(now);
	}
}

static const char *
field(const char *body, size_t length, char type)
{
	size_t		at = 0;

	while (at < length && body[at] != '\0')
	{
		if (body[at] == type)
			return body + at + 1;
		at += strnlen(body + at + 1, length - at - 1) + 2;
	}
	return NULL;
}

/* --- messages to the client --- */

/* It waits for its commit: it goes on until ReadyForQuery, unless data is received until then. */
INLINE void
complete(uint64 now)
{
	C.facts.complete = COMPLETE;
	C.query = NULL;
	C.spent += now - C.since;
	C.since = now;
}

static COLD void
complete_any(uint64 now)
{
	if (S.thread == NULL || S.flags.depth != 1 || S.flags.stage || C.facts.complete == COMPLETE)
		return;
	bring_back();
	if (S.flags.extended && !S.flags.block && !S.flags.spare)
		complete(now);
	else
		close_any(now);
}

/* Since the command came. */
INLINE void
answer_timed(int answer, uint64 now)
{
	Thread	   *thread = S.thread;

	seq_begin(&thread->answer_seq);
	timer_add(&thread->answer[answer], likely(now > S.came) ? now - S.came : 1);
	seq_end(&thread->answer_seq);
}

static HOT AS_IT_IS int
put_bound_timed(char type, const char *body, size_t length)
{
	answer_timed(ANSWER_BIND, tick());
	return N.putmessage(type, body, length);
}

static HOT AS_IT_IS int
put_described_timed(char type, const char *body, size_t length)
{
	answer_timed(ANSWER_DESCRIBE, tick());
	return N.putmessage(type, body, length);
}

static HOT AS_IT_IS int
put_complete(char type, const char *body, size_t length)
{
	uint64		now = tick();
	Flags		flags = S.flags;

	if (PART_PROTOCOL)
	{
		if (unlikely(N.timed))
			answer_timed(flags.extended ? ANSWER_EXECUTE : ANSWER_QUERY, now);
		if (likely(flags.extended))
			add(&S.thread->answered[ANSWER_EXECUTE], 1);
		else
			S.flags.answered = 1;
	}
	/* depth 1, not on stage, no other query than the short way's */
	if (unlikely((flags.word & NOT_TOP) != UINT64CONST(0x01000000) || C.facts.complete || CHANGED() ||
				 *H.temporary != H.temporary_seen))
		complete_any(now);
	else if (likely(flags.block) || !flags.extended || flags.spare)
		close_plain(now);
	else
		complete(now);
	return N.putmessage(type, body, length);
}

INLINE void
begin_idle(const char *body, uint64 now)
{
	Thread	   *thread = S.thread;

	S.flags.word = (S.flags.word & UINT64CONST(0x000000FF0000FF00)) | PART_IDLE;	/* block and odd stay */
	thread->state = body[0] == 'I' ? IDLE : IDLE_IN_TRANSACTION;
	thread->state_since = now;
}

/*
 * Nothing is wanted, and no query is known: between two commands the server does without us, unless somebody stands
 * above.  What the client sends next brings us back if switches have changed (waits.c), below whoever came meanwhile.
 */
static COLD void
hooks_out(void)
{
	*H.methods = N.theirs;
	if (rests > 0 || ExecutorStart_hook != hook_start || ExecutorRun_hook != hook_run || ExecutorFinish_hook != hook_finish ||
		ExecutorEnd_hook != hook_end || ProcessUtility_hook != hook_utility)
		return;
	ExecutorStart_hook = N.start != standard_ExecutorStart ? N.start : NULL;
	ExecutorRun_hook = N.run != standard_ExecutorRun ? N.run : NULL;
	ExecutorFinish_hook = N.finish != standard_ExecutorFinish ? N.finish : NULL;
	ExecutorEnd_hook = N.end != standard_ExecutorEnd ? N.end : NULL;
	ProcessUtility_hook = next_utility != standard_ProcessUtility ? next_utility : NULL;
	hooks_are_out = true;
}

static COLD void
hooks_in(void)
{
	hooks_are_out = false;
	N.start = ExecutorStart_hook ? ExecutorStart_hook : standard_ExecutorStart;
	ExecutorStart_hook = hook_start;
	N.run = ExecutorRun_hook ? ExecutorRun_hook : standard_ExecutorRun;
	ExecutorRun_hook = hook_run;
	N.finish = ExecutorFinish_hook ? ExecutorFinish_hook : standard_ExecutorFinish;
	ExecutorFinish_hook = hook_finish;
	N.end = ExecutorEnd_hook ? ExecutorEnd_hook : standard_ExecutorEnd;
	ExecutorEnd_hook = hook_end;
	next_utility = ProcessUtility_hook ? ProcessUtility_hook : standard_ProcessUtility;
	ProcessUtility_hook = hook_utility;
}

/* Data of the client's has come, and switches have changed since nothing was wanted. */
COLD void
wanted_again(void)
{
	uint64		now = tick();

	if (S.flags.stage || S.flags.depth != 0 || IsTransactionState())
		return;					/* the next command will do */
	decide();
	S.came = S.plain != 0 ? now : 0;
}

static COLD AS_IT_IS int
put_ready_any(char type, const char *body, size_t length)
{
	while (S.thread != NULL && S.flags.depth > 0)
		close_any(C.facts.complete == COMPLETE ? C.since : tick());
	decide();
	if (S.thread != NULL && (arena->gate & WANT_DEFAULT) != 0)
	{
		if (!S.flags.extended && S.flags.answered)
			S.thread->answered[ANSWER_QUERY]++;
		begin_idle(body, tick());
	}
	else if (N.theirs != NULL && *H.methods == &ours && S.transaction == 0)
		hooks_out();
	return N.putmessage(type, body, length);
}

static HOT AS_IT_IS int
put_committed(char type, const char *body, size_t length)
{
	if (unlikely(S.flags.depth != 1 || C.facts.complete != COMPLETE || CHANGED()))
		return put_ready_any(type, body, length);
	close_plain(tick());
	begin_idle(body, S.came);
	return N.putmessage(type, body, length);
}

INLINE int
put_ready(char type, const char *body, size_t length)
{
	if (S.flags.depth != 0)
		return put_committed(type, body, length);
	if (unlikely(CHANGED() || S.came == 0))
		return put_ready_any(type, body, length);
	if (PART_PROTOCOL && !S.flags.extended && S.flags.answered)
		add(&S.thread->answered[ANSWER_QUERY], 1);
	begin_idle(body, S.came);
	return N.putmessage(type, body, length);
}

static COLD AS_IT_IS int
put_other(char type, const char *body, size_t length)
{
	const char *code;

	switch (type)
	{
		case '1':
		case '3':
		case 't':
			S.flags.extended = 1;
			break;
		case 's':
			S.flags.extended = 1;
			if (S.flags.depth == 1 && !S.flags.stage)
				rest(C.query != NULL ? C.query : any_query);
			break;
		case 'E':
			code = field(body, length, 'C');
			if (code != NULL)
				fail_all(MAKE_SQLSTATE(code[0], code[1], code[2], code[3], code[4]), field(body, length, 'M'));
			S.flags.answered = 1;
			break;
		default:
			break;
	}
	return N.putmessage(type, body, length);
}

static HOT int
our_putmessage(char type, const char *body, size_t length)
{
	if (type == 'Z')
		return put_ready(type, body, length);
	if (type == 'C')
		return put_complete(type, body, length);
	if (type == '2')
	{
		S.flags.extended = 1;
		if (PART_PROTOCOL)
			add(&S.thread->answered[ANSWER_BIND], 1);
		if (PART_PROTOCOL && unlikely(N.timed))
			return put_bound_timed(type, body, length);
	}
	else if (type == 'T' || type == 'n')
	{
		if (PART_PROTOCOL && likely(S.flags.extended && !S.flags.stage))
		{
			add(&S.thread->answered[ANSWER_DESCRIBE], 1);
			if (unlikely(N.timed))
				return put_described_timed(type, body, length);
		}
	}
	else if (type != 'D' && type != 'd')
		return put_other(type, body, length);
	return N.putmessage(type, body, length);
}

/* Data of the client has come, and it is not simply the next command. */
COLD void
command_came_otherwise(uint64 now)
{
	Thread	   *thread = S.thread;

	if (thread == NULL || S.flags.stage)
		return;
	if (S.flags.depth == 1 && C.facts.complete == COMPLETE)
	{
		/* it rested since it was complete; what commits it is its own */
		C.since = now;
		return;
	}
	if (S.flags.depth != 0)
		return;
	if (S.flags.idle)
	{
		if (thread->idle != 0)
		{
			seq_begin(&thread->idle_cell.seq);
			timer_add(&thread->idle_cell.part[0], thread->idle - 1);
			seq_end(&thread->idle_cell.seq);
		}
		thread->idle = now > thread->state_since ? now - thread->state_since + 1 : 1;
		S.flags.idle = 0;
		thread->state = ACTIVE;
		thread->state_since = now;
	}
	S.came = now;
}

/* --- commands --- */

static uint32
class_of(const Node *utility)
{
	return IsA(utility, TransactionStmt) ? 16 + ((const TransactionStmt *) utility)->kind : 40;
}

/* BEGIN and COMMIT by the simple protocol: by their text, as their plans do not live on. */
static Template by_kind[TRANS_STMT_ROLLBACK_PREPARED + 1];
static char text_of_kind[TRANS_STMT_ROLLBACK_PREPARED + 1][16];

INLINE Template *
utility_template(const PlannedStmt *plan, const char *source)
{
	Template   *t = template_place(plan);
	uint32		kind;

	if (t->plan == plan)
		return t;
	kind = ((const TransactionStmt *) plan->utilityStmt)->kind;
	if (strncmp(source, text_of_kind[kind], sizeof(text_of_kind[kind])) == 0)
		return &by_kind[kind];
	return NULL;
}

static COLD void
learn_kind(const PlannedStmt *plan, const char *source)
{
	uint32		kind = ((const TransactionStmt *) plan->utilityStmt)->kind;

	if (strlen(source) >= sizeof(text_of_kind[kind]) || plan->stmt_location > 0)
		return;
	strcpy(text_of_kind[kind], source);
	by_kind[kind] = *find_template(plan, class_of(plan->utilityStmt), source);
}

/* True: it has begun. */
static HOT bool
begin_utility(PlannedStmt *plan, const char *source)
{
	Template   *t = NULL;

	if (likely(IsA(plan->utilityStmt, TransactionStmt)))
		t = utility_template(plan, source);
	if (unlikely(t == NULL || CHANGED() || t->key != S.key || (S.flags.word & NOT_TOP) != 0 || identity_changed()))
	{
		if ((arena->gate & WANT_DEFAULT) == 0 || !begin_any(plan, class_of(plan->utilityStmt), source))
			return false;
		if (IsA(plan->utilityStmt, TransactionStmt))
			learn_kind(plan, source);
		return true;
	}
	begin_here(t, PART_IDLE ? S.came : tick(), S.transaction);
	S.flags.stage = S.flags.depth = 1;
	if (PART_TRANSACTIONS && S.transaction == 0)
		transaction_open(C.since, C.record->event_id);
	return true;
}

static HOT pg_noinline void
utility(PlannedStmt *plan, const char *source, bool readonly, ProcessUtilityContext context, ParamListInfo params,
		QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	bool		begins_block = false;
	uint64		id;
	Run			run;

	if (unlikely(context == PROCESS_UTILITY_SUBCOMMAND || !begin_utility(plan, source)))
	{
		next_utility(plan, source, readonly, context, params, env, dest, qc);
		return;
	}
	if (likely(IsA(plan->utilityStmt, TransactionStmt)))
	{
		const TransactionStmt *stmt = (const TransactionStmt *) plan->utilityStmt;

		begins_block = stmt->kind == TRANS_STMT_BEGIN || stmt->kind == TRANS_STMT_START || stmt->chain;
		if (unlikely(stmt->kind == TRANS_STMT_SAVEPOINT) && S.transaction != 0)
			S.thread->transaction[(S.thread->transactions + 1) % RING].savepoints++;
	}
	if (dest != NULL && dest->mydest == DestRemoteExecute)
		S.flags.extended = 1;
	id = C.record->event_id;
	if (PART_ERRORS)
		guard_push(&run);
	run.outer = S.running;
	run.level = N.nest_level;
	run.depth = S.flags.depth;
	run.index = run.table = NULL;
	S.running = &run;
	next_utility(plan, source, readonly, context, params, env, dest, qc);
	if (PART_ERRORS)
		guard_pop(&run);
	if (begins_block)
		S.flags.block = 1;
	if (S.running == &run)
		S.running = run.outer;
	if (unlikely(C.record == NULL || C.record->event_id != id))
		return;
	S.flags.stage = 0;
	if (qc != NULL && qc->nprocessed != 0)
		C.rows = qc->nprocessed;
	if (unlikely(S.flags.depth > 1 || MyProcPort == NULL))
		close_any(tick());
}

static HOT void
hook_utility(PlannedStmt *plan, const char *source, bool readonly, ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	if (!PART_UTILITIES)
	{
		next_utility(plan, source, readonly, context, params, env, dest, qc);
		if (IsA(plan->utilityStmt, TransactionStmt) && ((const TransactionStmt *) plan->utilityStmt)->kind == TRANS_STMT_BEGIN)
			S.flags.block = 1;
	}
	else if ((arena->gate & WANT_DEFAULT) == 0 && S.plain == 0 && S.flags.depth == 0)
		next_utility(plan, source, readonly, context, params, env, dest, qc);
	else
		utility(plan, source, readonly, context, params, env, dest, qc);
}

/* What the client's statement is, for an error before it begins: what is dear is asked for then. */
static HOT void
hook_parse(ParseState *pstate, Query *query, JumbleState *jstate)
{
	if (S.plain != 0 && !S.flags.stage)
	{
		analysed.digest = (uint32) query->queryId;
		analysed.generation = (uint32) ((uint64) query->queryId >> 32);
		analysed.text = query->stmt_location;
		analysed.text_length = query->stmt_len;
	}
	if (next_parse)
		next_parse(pstate, query, jstate);
}

/* --- ends of transactions --- */

static COLD void
aborted(int level)
{
	while (S.running != NULL && S.running->level >= level)
		S.running = S.running->outer;
	if (level <= 1)
	{
		if (rests > 0)
			S.thread->lost += rests;
		rests = 0;
		S.flags.odd &= ~ODD_RESTS;
		protocol_back();
	}
}

/* Committed, rolled back or prepared. */
static HOT pg_noinline void
after_end(XactEvent event)
{
	bool		block = S.flags.block;

	if (unlikely(S.thread == NULL))
		return;
	N.nest_level = 1;
	S.flags.block = 0;
	S.flags.spare = 1;
	if (unlikely(event == XACT_EVENT_ABORT))
		aborted(1);
	if (PART_TRANSACTIONS && likely(S.transaction != 0))
		transaction_close(event, block, tick());
}

static HOT void
xact_callback(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		after_end(event);
}

static void
subxact_callback(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();

	N.nest_level = event == SUBXACT_EVENT_COMMIT_SUB || event == SUBXACT_EVENT_ABORT_SUB ? level - 1 : level;
	if (event != SUBXACT_EVENT_ABORT_SUB || S.thread == NULL)
		return;
	if (caught != 0)
		S.thread->errors_handled++;
	caught = 0;
	while (S.flags.depth > 1 && S.running != NULL && S.running->level >= level && S.flags.depth >= S.running->depth)
	{
		C.record->block.used |= FAILED;
		if (S.flags.depth == S.running->depth)
			S.running = S.running->outer;
		close_any(tick());
	}
	aborted(level);
}

/* --- a process --- */

static void
detach(int code, Datum arg)
{
	if (S.thread == NULL)
		return;
	waits_detach();
	if (PART_SUMS)
		sum_journal();
	S.thread->state = 0;
	S.thread->pid = 0;
	S.thread = NULL;
	S.plain = 0;
	S.changes = &arena->changes;
}

static void
attach(void)
{
	if (MyProc == NULL || MyProcNumber < 0 || MyProcNumber >= THREADS || IsParallelWorker() || proc_exit_inprogress)
		return;
	S.thread = &arena->thread[MyProcNumber];
	memset(&S.thread->event_id, 0, offsetof(Thread, text));	/* the product folds what its predecessor left */
	S.thread->event_id = 1;
	S.thread->text_next = TEXTS;
	S.thread->pid = MyProcPid;
	S.thread->id = __atomic_add_fetch(&arena->thread_ids, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < WAIT_CELLS; i++)
		S.thread->wait_cell[i].epoch = (uint32) (arena->changes >> 32);
	N.sum_at = UNSUMMED;
	H.temporary_seen = *H.temporary;
	on_shmem_exit(detach, (Datum) 0);
	if (MyProcPort == NULL)
		S.flags.odd |= ODD_CLIENT;		/* executor calls are the ends of its statements */
	else if (N.theirs == NULL)
	{
		N.theirs = *H.methods;
		ours = *N.theirs;
		N.putmessage = ours.putmessage;
		ours.putmessage = our_putmessage;
		*H.methods = &ours;
	}
	N.nest_level = GetCurrentTransactionNestLevel();
	S.flags.idle = 0;
	S.came = 0;
	waits_attach();
}

/* Brings this session to the present switches, and to its schema and role. */
static COLD void
decide(void)
{
	uint64		changes = load_acquire(&arena->changes);
	bool		fresh = S.thread == NULL;

	if (fresh)
	{
		attach();
		if (S.thread == NULL)
			return;
	}
	if (H.path != *H.search_path || H.role != GetUserId())
	{
		H.path = *H.search_path;
		H.role = GetUserId();
		H.schema++;
		S.key++;
	}
	if (changes == S.plain && !fresh)
		return;
	if ((uint32) (changes >> 32) != (uint32) (S.plain >> 32) && S.plain != 0)
	{
		sum_journal();			/* what ended before the TRUNCATE */
		waits_sum();
	}
	S.plain = (arena->gate & WANT_DEFAULT) == WANT_DEFAULT ? changes : 0;
	S.key++;
	N.timed = S.plain != 0 && (arena->gate & WANT_ALL_WAITS) != 0;
	waits_decide();
	if ((arena->gate & WANT_DEFAULT) != 0 && S.flags.depth == 0)
	{
		protocol_back();
		if (hooks_are_out)
			hooks_in();
	}
}

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	arena = mmap(NULL, sizeof(Arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		elog(ERROR, "no memory");
	arena->changes = UINT64CONST(0x100000001);
	arena->gate = getenv("BUDGET_GATE") != NULL ? atoi(getenv("BUDGET_GATE")) : WANT_DEFAULT;
	S.changes = &arena->changes;
	H.errors = &error_context_stack;
	H.methods = &PqCommMethods;
	H.search_path = &namespace_search_path;
	H.user = GetUserId;
	H.temporary = &pgBufferUsage.temp_blks_written;
	EnableQueryId();
	buckets_init();
	hooks_in();
	next_parse = post_parse_analyze_hook;
	post_parse_analyze_hook = hook_parse;
	RegisterXactCallback(xact_callback, NULL);
	RegisterSubXactCallback(subxact_callback, NULL);
	waits_install();
}
