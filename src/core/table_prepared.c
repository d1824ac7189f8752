/*
 * table_prepared.c
 *		prepared_statements_instances: what PREPARE has made in all sessions, and Parse in the reader's own.
 */
#include "core/table_internal.h"

#include "core/names.h"
#include "core/prepared.h"
#include "core/rollup.h"

bool		(*pfs_host_prepared) (uint32_t number, PfsHostPrepared *row);

typedef struct InstanceRow
{
	uint64_t	instance;
	uint64_t	statement_id;
	PfsText		name;
	PfsText		sql_text;
	uint64_t	thread_id;
	uint64_t	event_id;
	PfsText		object_type;
	PfsText		object_schema;
	PfsText		object_name;
	PfsText		engine;
} InstanceRow;

typedef struct PlanRow
{
	uint64_t	secondary;
	uint64_t	generic;
	uint64_t	custom;
} PlanRow;

static const PfsColumn instance_columns[] = {
	{"object_instance_begin", "Number of the instance", PFS_COLUMN_U64, offsetof(InstanceRow, instance), PFS_COLUMN_KEY},
	{"statement_id", "statement_id of its PREPARE; NULL for one of the protocol", PFS_COLUMN_U64,
	offsetof(InstanceRow, statement_id), PFS_COLUMN_NULL_IF_ZERO},
	{"statement_name", "Its name", PFS_COLUMN_TEXT, offsetof(InstanceRow, name), PFS_COLUMN_KEY},
	{"sql_text", "The PREPARE, of the protocol the statement itself; cut to max_sql_text_length bytes; NULL for those without "
	"the privileges of the role that prepared it", PFS_COLUMN_TEXT, offsetof(InstanceRow, sql_text), 0},
	{"owner_thread_id", "Thread whose it is", PFS_COLUMN_U64, offsetof(InstanceRow, thread_id), PFS_COLUMN_KEY},
	{"owner_event_id", "event_id of its PREPARE", PFS_COLUMN_U64, offsetof(InstanceRow, event_id), PFS_COLUMN_NULL_IF_ZERO},
	{"owner_object_type", "FUNCTION, PROCEDURE or TRIGGER that prepared it", PFS_COLUMN_TEXT,
	offsetof(InstanceRow, object_type), 0},
	{"owner_object_schema", "Schema of that routine", PFS_COLUMN_TEXT, offsetof(InstanceRow, object_schema), 0},
	{"owner_object_name", "Name of that routine", PFS_COLUMN_TEXT, offsetof(InstanceRow, object_name), 0},
	{"execution_engine", "Always PRIMARY, as PostgreSQL has one", PFS_COLUMN_TEXT, offsetof(InstanceRow, engine), 0},
};
PFS_GROUP(instance_group, instance_columns);

static const PfsColumn prepared_columns[] = {
	{"timer_prepare", "Time of its PREPARE, picoseconds; this and what is behind it is NULL for one of the protocol",
	PFS_COLUMN_TICKS, offsetof(PfsPrepared, prepare), 0},
	{"count_reprepare", "How often an EXECUTE found that it must be analysed again, as something it names has changed",
	PFS_COLUMN_U64, offsetof(PfsPrepared, analysed_again), 0},
	PFS_TIMER_COLUMNS(offsetof(PfsPrepared, stat) + offsetof(PfsStatementStat, timer), "execute", "execute", "executions"),
#define PFS_COUNTER(symbol, place, column, is_time, doc) \
	PFS_SUM_COLUMN(symbol, column, is_time, doc, offsetof(PfsPrepared, stat)),
#include "core/statement_counters.def"
#undef PFS_COUNTER
};
PFS_GROUP(prepared_group, prepared_columns);

static const PfsColumn plan_columns[] = {
	{"count_secondary", "Always 0, as PostgreSQL has one engine", PFS_COLUMN_U64, offsetof(PlanRow, secondary), 0},
	{"count_generic_plans", "Executions by the generic plan, since it was prepared; not in MySQL", PFS_COLUMN_U64,
	offsetof(PlanRow, generic), 0},
	{"count_custom_plans", "Executions by a plan of their own, since it was prepared; not in MySQL", PFS_COLUMN_U64,
	offsetof(PlanRow, custom), 0},
};
PFS_GROUP(plan_group, plan_columns);

/* A list as it was copied. */
typedef struct Copies
{
	PfsPrepared *row;
	PfsRef	   *ref;
	char	   *text;			/* PFS_PREPARED_TEXT bytes each */
	uint32_t	room;
	uint32_t	count;
} Copies;

/* Once through the list; only so much is copied as there is room for. */
static void
walk(PfsArena *arena, PfsThread *thread, Copies *copies)
{
	PfsRef		ref = pfs_load(&thread->prepared);

	for (copies->count = 0; ref != 0 && copies->count < arena->sizes.prepared; copies->count++)
	{
		PfsPrepared head;
		PfsPrepared *to = copies->count < copies->room ? &copies->row[copies->count] : &head;

		if (!pfs_prepared_copy(arena, ref, to, to == &head ? NULL : copies->text + copies->count * PFS_PREPARED_TEXT))
			return;
		if (to != &head)
			copies->ref[copies->count] = ref;
		ref = to->next;
	}
}

/* Copies the thread's list, and finds out how long it is first; false (and counted) when it never stood still. */
static bool
copy_list(PfsScan *scan, PfsThread *thread, Copies *copies)
{
	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint32_t	begin = pfs_seq_read_begin(&thread->prepared_seq);

		walk(scan->arena, thread, copies);
		if (!pfs_seq_read_ok(&thread->prepared_seq, begin))
			continue;
		if (copies->count <= copies->room)
			return true;
		copies->room = copies->count;
		copies->row = scan->alloc(scan, copies->room * sizeof(*copies->row));
		copies->ref = scan->alloc(scan, copies->room * sizeof(*copies->ref));
		copies->text = scan->alloc(scan, copies->room * PFS_PREPARED_TEXT);
	}
	pfs_lose(scan->arena, PFS_LOSS_UNSTABLE_READS);
	return false;
}

static void
emit_prepared(PfsScan *scan, PfsPrepared *prepared, InstanceRow *row, int32_t encoding, const char *text)
{
	PlanRow		plan = {0, prepared->generic_plans, prepared->custom_plans};
	const void *parts[] = {row, prepared, &plan};
	PfsNameCopy routine;

	if (prepared->epoch < pfs_load(&scan->arena->reset_of[PFS_RESET_PREPARED]))
	{
		memset(&prepared->stat, 0, sizeof(prepared->stat));
		prepared->analysed_again = 0;
	}
	row->statement_id = prepared->statement_id;
	row->event_id = prepared->event_id;
	row->name = (PfsText) {prepared->name, prepared->name_length, encoding};
	row->sql_text = pfs_scan_secret(scan, prepared->role, (PfsText) {text, prepared->text_length, encoding});
	if (prepared->routine != 0)
		pfs_texts_of_routine(scan->arena, prepared->routine, &routine, &row->object_type, &row->object_schema, &row->object_name);
	scan->emit(scan, parts);
}

/* Is it what the reader asks for? */
static bool
is_wanted(const PfsScan *scan, uint64_t thread_id)
{
	uint64_t	wanted;

	return !pfs_scan_number(scan, "owner_thread_id", &wanted) || wanted == thread_id;
}

static void
scan_thread(PfsScan *scan, PfsThread *thread, Copies *copies)
{
	uint64_t	id = pfs_load(&thread->thread_id);
	PfsRef		user = pfs_load(&thread->user);
	int32_t		encoding = pfs_load(&thread->encoding);

	if (pfs_load(&thread->prepared) == 0 || !is_wanted(scan, id) || !copy_list(scan, thread, copies))
		return;
	pfs_fence();
	if (pfs_load(&thread->thread_id) != id || !pfs_scan_sees_user(scan, user))
		return;
	for (uint32_t i = copies->count; i-- > 0;)
		emit_prepared(scan, &copies->row[i],
					  &(InstanceRow) {.instance = (uint64_t) copies->ref[i] * PFS_POOL_UNIT,.thread_id = id,
						  .engine = pfs_text_of_string("PRIMARY")},
					  encoding, copies->text + i * PFS_PREPARED_TEXT);
}

/* Those of the protocol have numbers that no chunk of the pool has. */
static void
scan_own(PfsScan *scan)
{
	PfsHostPrepared own;

	for (uint32_t number = 0; pfs_host_prepared != NULL && pfs_host_prepared(number, &own); number++)
	{
		InstanceRow row = {
			.instance = 2 * (uint64_t) number + 1,.thread_id = own.thread_id,
				.name = {own.name, strlen(own.name), own.encoding},
				.sql_text = {own.text, pfs_min(strlen(own.text), (size_t) scan->arena->sizes.sql_text_length), own.encoding},
				.engine = pfs_text_of_string("PRIMARY")
		};
		PlanRow		plan = {0, own.generic_plans, own.custom_plans};
		const void *parts[] = {&row, NULL, &plan};

		if (is_wanted(scan, own.thread_id))
			scan->emit(scan, parts);
	}
}

static void
prepared_scan(PfsScan *scan)
{
	Copies		copies = {0};

	PFS_EACH_THREAD(scan->arena, thread, slot)
	{
		scan_thread(scan, thread, &copies);
	}
	scan_own(scan);
}

static bool
prepared_reset(PfsArena *arena, const PfsTable *table)
{
	return table != NULL && pfs_reset_events(arena, PFS_RESET_PREPARED);
}

const PfsTable pfs_table_prepared_statements_instances = {
	.name = "prepared_statements_instances",
	.doc = "Prepared statements: those of PREPARE of all sessions, with their executions, and those of the protocol of one's own; "
	"TRUNCATE resets the statistics",
	.groups = {&instance_group, &prepared_group, &plan_group},.scan = prepared_scan,.reset = prepared_reset,
};
