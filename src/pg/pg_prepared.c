/*
 * pg_prepared.c
 *		PREPARE, EXECUTE, DEALLOCATE and DISCARD.
 */
#include "postgres.h"

#include "pg/pg_prepared.h"

#include "core/table.h"
#include "commands/prepare.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"
#include "pg/pg_arena.h"
#include "pg/pg_hooks.h"
#include "pg/pg_text.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/tuplestore.h"

typedef struct Known
{
	uint64		hash;			/* of the name */
	PfsRef		row;
	uint32		serial;			/* unlike the row's place, it is not used again */
} Known;

/* Owner: this process.  The rows of the thread that it is. */
static Known *known = NULL;
static uint32 known_room = 0;
static uint64 known_thread = 0;
static uint32 last_serial = 0;

uint32		pfs_prepared_rows = 0;

static uint64
hash_name(const char *name)
{
	return hash_bytes_extended((const unsigned char *) name, (int) strlen(name), 0);
}

/* Another thread than before has no rows yet. */
static bool
is_attached(void)
{
	if (pfs_session.thread == NULL)
		return false;
	if (known_thread != pfs_session.thread->thread_id)
	{
		known_thread = pfs_session.thread->thread_id;
		pfs_prepared_rows = 0;
	}
	return true;
}

static Known *
find(const char *name)
{
	uint64		hash;

	if (!is_attached() || pfs_prepared_rows == 0)
		return NULL;
	hash = hash_name(name);
	for (uint32 i = 0; i < pfs_prepared_rows; i++)
		if (known[i].hash == hash)
			return &known[i];
	return NULL;
}

static Known *
find_serial(uint32 serial)
{
	for (uint32 i = 0; is_attached() && i < pfs_prepared_rows; i++)
		if (known[i].serial == serial)
			return &known[i];
	return NULL;
}

static void
forget(Known *one)
{
	pfs_prepared_remove(pfs_arena, pfs_session.thread, one->row);
	*one = known[--pfs_prepared_rows];
}

static void
forget_all(void)
{
	if (!is_attached())
		return;
	pfs_prepared_remove_all(pfs_arena, pfs_session.thread);
	pfs_prepared_rows = 0;
}

/* Never raises an error: without memory there is no row. */
static bool
make_room(void)
{
	uint32		room = known_room == 0 ? 16 : 2 * known_room;
	Known	   *more;

	if (pfs_prepared_rows < known_room)
		return true;
	more = MemoryContextAllocExtended(TopMemoryContext, room * sizeof(Known), MCXT_ALLOC_NO_OOM);
	if (more == NULL)
		return false;
	if (known != NULL)
	{
		memcpy(more, known, pfs_prepared_rows * sizeof(Known));
		pfree(known);
	}
	known = more;
	known_room = room;
	return true;
}

static void
add(const PfsPgPreparing *preparing, const PfsStatement *statement)
{
	const PfsStatementRecord *record = statement->record;
	PfsPrepared prepared = {
		.event_id = record->event_id,.statement_id = record->statement_id,.role = record->role,
			.prepare = (record->used & PFS_RECORD_UNTIMED) != 0 ? 0 : Max(pfs_now() - preparing->start, 1),
			.routine = (record->used & PFS_RECORD_ROUTINE) != 0 ? record->routine : 0,
			.name_length = (uint32) strlen(preparing->name)
	};
	size_t		length;
	const char *text = pfs_statement_text(&pfs_session, statement, &length);
	Known	   *older = find(preparing->name);
	PfsRef		row;

	memcpy(prepared.name, preparing->name, prepared.name_length);
	prepared.text_length = (uint32) length;
	if (older != NULL)
		forget(older);			/* the protocol has closed it while we looked away */
	if (!is_attached() || !make_room())
		return;
	row = pfs_prepared_add(pfs_arena, pfs_session.thread, &prepared, text);
	if (row != 0)
		known[pfs_prepared_rows++] = (Known) {hash_name(preparing->name), row, last_serial = Max(last_serial + 1, 1)};
}

/* What it executes is counted where it ends, and so is not plain. */
static void
begin_execute(PfsPgPreparing *preparing, PfsStatement *statement)
{
	const Known *one = find(preparing->name);
	const PreparedStatement *prepared = one != NULL ? FetchPreparedStatement(preparing->name, false) : NULL;

	if (prepared == NULL || statement == NULL)
		return;
	preparing->serial = one->serial;
	preparing->again = !prepared->plansource->is_valid;
	statement->plain = 0;
	statement->host_flags |= PFS_PG_EXECUTES;
	pfs_store(&statement->record->prepared, one->serial);
}

static void
note_plans(const PfsPgPreparing *preparing)
{
	const Known *one = find(preparing->name);
	const PreparedStatement *prepared = one != NULL ? FetchPreparedStatement(preparing->name, false) : NULL;

	if (prepared != NULL && one->serial == preparing->serial)
		pfs_prepared_planned(pfs_arena, pfs_session.thread, one->row, (uint64) prepared->plansource->num_generic_plans,
							 (uint64) prepared->plansource->num_custom_plans, preparing->again);
}

void
pfs_prepared_begin(PfsPgPreparing *preparing, const Node *utility, PfsStatement *statement)
{
	const char *name = NULL;

	preparing->command = nodeTag(utility);
	preparing->start = 0;
	preparing->serial = 0;
	preparing->again = false;
	switch (preparing->command)
	{
		case T_PrepareStmt:
			name = ((const PrepareStmt *) utility)->name;
			preparing->start = pfs_now();
			break;
		case T_ExecuteStmt:
			name = ((const ExecuteStmt *) utility)->name;
			break;
		case T_DeallocateStmt:
			name = ((const DeallocateStmt *) utility)->name;
			break;
		case T_DiscardStmt:
			if (((const DiscardStmt *) utility)->target != DISCARD_ALL)
				preparing->command = T_Invalid;
			break;
		default:
			preparing->command = T_Invalid;
			return;
	}
	strlcpy(preparing->name, name != NULL ? name : "", NAMEDATALEN);
	if (preparing->command == T_ExecuteStmt)
		begin_execute(preparing, statement);
}

void
pfs_prepared_done(const PfsPgPreparing *preparing, const PfsStatement *statement)
{
	Known	   *one;

	switch (preparing->command)
	{
		case T_PrepareStmt:
			if (statement != NULL && !statement->silent)
				add(preparing, statement);
			break;
		case T_ExecuteStmt:
			if (preparing->serial != 0)
				note_plans(preparing);
			break;
		default:				/* DEALLOCATE, DISCARD */
			if (preparing->name[0] == '\0')
				forget_all();
			else if ((one = find(preparing->name)) != NULL)
				forget(one);
			break;
	}
}

void
pfs_prepared_look(void)
{
	if (!is_attached())
		return;
	for (uint32 i = pfs_prepared_rows; i-- > 0;)
	{
		PfsPrepared copy;
		char		name[PFS_PREPARED_NAME + 1];

		if (!pfs_prepared_copy(pfs_arena, known[i].row, &copy, NULL))
			continue;
		memcpy(name, copy.name, copy.name_length);
		name[copy.name_length] = '\0';
		if (FetchPreparedStatement(name, false) == NULL)
			forget(&known[i]);
	}
}

uint32
pfs_prepared_of(const PfsStatement *statement)
{
	if ((statement->host_flags & PFS_PG_EXECUTES) == 0)
		statement = statement->parent;
	return statement != NULL && (statement->host_flags & PFS_PG_EXECUTES) != 0 ? statement->record->prepared : 0;
}

void
pfs_prepared_ended(uint32 serial, bool executes, const PfsStatementRecord *record)
{
	const Known *one = find_serial(serial);

	if (one != NULL)			/* else it has been deallocated meanwhile, maybe by itself */
		pfs_prepared_count(pfs_arena, pfs_session.thread, one->row, executes, record);
}

/* --- the reader's own, by the protocol --- */

/* Owner: this process.  Valid for one scan, from number 0 on. */
static List *own = NIL;

/* The server's view of them. */
static Tuplestorestate *
server_list(ExprContext *context, TupleDesc *descriptor)
{
	LOCAL_FCINFO(fcinfo, 0);
	FmgrInfo	function;
	ReturnSetInfo result = {.type = T_ReturnSetInfo,.econtext = context,.allowedModes = SFRM_Materialize};

	fmgr_info(F_PG_PREPARED_STATEMENT, &function);
	InitFunctionCallInfoData(*fcinfo, &function, 0, InvalidOid, NULL, (Node *) &result);
	(void) FunctionCallInvoke(fcinfo);
	*descriptor = result.setDesc;
	return result.setResult;
}

static Datum
column(TupleTableSlot *slot, const char *name)
{
	const TupleDesc descriptor = slot->tts_tupleDescriptor;
	bool		is_null;

	for (int i = 0; i < descriptor->natts; i++)
		if (namestrcmp(&TupleDescAttr(descriptor, i)->attname, name) == 0)
			return slot_getattr(slot, i + 1, &is_null);
	elog(ERROR, "pg_prepared_statement has no column \"%s\"", name);
}

static void
read_own(void)
{
	ExprContext *context = CreateStandaloneExprContext();
	TupleDesc	descriptor;
	Tuplestorestate *rows = server_list(context, &descriptor);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsMinimalTuple);

	own = NIL;
	while (tuplestore_gettupleslot(rows, true, false, slot))
	{
		PfsHostPrepared *one;

		if (DatumGetBool(column(slot, "from_sql")))
			continue;
		one = palloc0(sizeof(*one));
		one->name = TextDatumGetCString(column(slot, "name"));
		one->text = TextDatumGetCString(column(slot, "statement"));
		one->generic_plans = (uint64) DatumGetInt64(column(slot, "generic_plans"));
		one->custom_plans = (uint64) DatumGetInt64(column(slot, "custom_plans"));
		one->thread_id = pfs_session.thread->thread_id;
		one->encoding = GetDatabaseEncoding();
		own = lappend(own, one);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(rows);
	FreeExprContext(context, true);
}

static bool
own_prepared(uint32_t number, PfsHostPrepared *row)
{
	if (pfs_session.thread == NULL)
		return false;
	if (number == 0)
		read_own();
	if (number >= (uint32_t) list_length(own))
		return false;
	*row = *(const PfsHostPrepared *) list_nth(own, (int) number);
	return true;
}

void
pfs_pg_prepared_install(void)
{
	pfs_host_prepared = own_prepared;
}
