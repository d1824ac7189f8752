/*
 * table_setup.c
 *		setup_actors, setup_consumers, setup_instruments, setup_objects, setup_threads, setup_timers,
 *		performance_timers.
 */
#include "core/table_internal.h"

#include "core/setup.h"
#include "core/timer.h"

/* Fields of an edit that hold YES or NO; NULL leaves the flag as it is (-1). */
static PfsEditResult
parse_flags(PfsFields fields, const int *numbers, int count, int *values, int *column)
{
	for (int i = 0; i < count; i++)
	{
		const char *text = fields[numbers[i]];
		uint8_t		value;

		values[i] = -1;
		if (text == NULL)
			continue;
		if (!pfs_parse_yes_no(text, &value))
		{
			*column = numbers[i];
			return PFS_EDIT_BAD_VALUE;
		}
		values[i] = value;
	}
	return PFS_EDIT_OK;
}

static void
store_flag(uint8_t *flag, int value)
{
	if (value >= 0)
		pfs_store(flag, (uint8_t) value);
}

/* Copies a key field; false when it is missing, empty or too long. */
static bool
copy_key(char *to, size_t size, const char *from)
{
	if (from == NULL || from[0] == '\0' || strlen(from) >= size)
		return false;
	strcpy(to, from);
	return true;
}

static PfsEditResult
rule_result(PfsRuleResult result)
{
	return result == PFS_RULE_OK ? PFS_EDIT_OK
		: result == PFS_RULE_DUPLICATE ? PFS_EDIT_DUPLICATE : PFS_EDIT_FULL;
}

/* --- setup_actors --- */

typedef struct ActorRow
{
	PfsText		host;
	PfsText		user;
	PfsText		role;
	uint8_t		enabled;
	uint8_t		history;
} ActorRow;

static const PfsColumn actor_columns[] = {
	{"host", "Client host, '%' = any", PFS_COLUMN_TEXT, offsetof(ActorRow, host), PFS_COLUMN_KEY},
	{"user_name", "User (MySQL: USER), '%' = any", PFS_COLUMN_TEXT, offsetof(ActorRow, user),
	PFS_COLUMN_KEY},
	{"role", "Always '%', as in MySQL", PFS_COLUMN_TEXT, offsetof(ActorRow, role), PFS_COLUMN_KEY},
	{"enabled", "Are sessions of this actor instrumented?", PFS_COLUMN_YES_NO,
	offsetof(ActorRow, enabled), PFS_COLUMN_UPDATABLE},
	{"history", "Do they keep histories?", PFS_COLUMN_YES_NO, offsetof(ActorRow, history),
	PFS_COLUMN_UPDATABLE},
};
PFS_GROUP(actor_group, actor_columns);

static void
actors_scan(PfsScan *scan)
{
	for (uint32_t i = 0; i < scan->arena->sizes.actors; i++)
	{
		PfsActor   *actor = pfs_actor(scan->arena, i);
		ActorRow	row;
		const void *parts[] = {&row};

		if (!pfs_load_acquire(&actor->used))
			continue;
		row.host = PFS_TEXT_OF(actor->host);
		row.user = PFS_TEXT_OF(actor->user);
		row.role = PFS_TEXT_OF(actor->role);
		row.enabled = pfs_load(&actor->enabled);
		row.history = pfs_load(&actor->history);
		scan->emit(scan, parts);
	}
}

static PfsActor *
find_actor(PfsArena *arena, PfsFields key)
{
	for (uint32_t i = 0; i < arena->sizes.actors; i++)
	{
		PfsActor   *actor = pfs_actor(arena, i);

		if (pfs_load(&actor->used) && key[0] != NULL && strcmp(actor->host, key[0]) == 0 &&
			key[1] != NULL && strcmp(actor->user, key[1]) == 0 &&
			(key[2] == NULL || strcmp(actor->role, key[2]) == 0))
			return actor;
	}
	return NULL;
}

static PfsEditResult
actors_update(PfsArena *arena, PfsFields old, PfsFields new, int *column)
{
	PfsActor   *actor = find_actor(arena, old);
	int			flags[2];
	PfsEditResult result = parse_flags(new, (const int[]) {3, 4}, 2, flags, column);

	if (result != PFS_EDIT_OK)
		return result;
	if (actor == NULL)
		return PFS_EDIT_NO_ROW;
	store_flag(&actor->enabled, flags[0]);
	store_flag(&actor->history, flags[1]);
	return PFS_EDIT_OK;
}

static PfsEditResult
actors_insert(PfsArena *arena, PfsFields new, int *column)
{
	PfsActor	row = {.enabled = 1, .history = 1};
	int			flags[2];
	PfsEditResult result = parse_flags(new, (const int[]) {3, 4}, 2, flags, column);

	if (result != PFS_EDIT_OK)
		return result;
	*column = 0;
	if (!copy_key(row.host, sizeof(row.host), new[0] ? new[0] : "%"))
		return PFS_EDIT_BAD_VALUE;
	*column = 1;
	if (!copy_key(row.user, sizeof(row.user), new[1] ? new[1] : "%"))
		return PFS_EDIT_BAD_VALUE;
	*column = 2;
	if (!copy_key(row.role, sizeof(row.role), new[2] ? new[2] : "%"))
		return PFS_EDIT_BAD_VALUE;
	store_flag(&row.enabled, flags[0]);
	store_flag(&row.history, flags[1]);
	return rule_result(pfs_actor_insert(arena, &row));
}

static PfsEditResult
actors_remove(PfsArena *arena, PfsFields old)
{
	PfsActor   *actor = find_actor(arena, old);

	if (actor == NULL)
		return PFS_EDIT_NO_ROW;
	pfs_store_release(&actor->used, 0);
	return PFS_EDIT_OK;
}

static bool
actors_reset(PfsArena *arena, const PfsTable *table)
{
	for (uint32_t i = 0; i < arena->sizes.actors; i++)
		pfs_store_release(&pfs_actor(arena, i)->used, 0);
	return table != NULL;
}

const PfsTable pfs_table_setup_actors = {
	.name = "setup_actors",
	.doc = "Which users from which hosts are instrumented when they connect; most specific rule wins",
	.groups = {&actor_group},
	.scan = actors_scan,.reset = actors_reset,
	.update = actors_update,.insert = actors_insert,.remove = actors_remove,
};

/* --- setup_consumers --- */

typedef struct ConsumerRow
{
	PfsText		name;
	uint8_t		enabled;
} ConsumerRow;

static const PfsColumn consumer_columns[] = {
	{"name", "Consumer; has an effect only while its parents are on", PFS_COLUMN_TEXT,
	offsetof(ConsumerRow, name), PFS_COLUMN_KEY},
	{"enabled", "YES or NO", PFS_COLUMN_YES_NO, offsetof(ConsumerRow, enabled),
	PFS_COLUMN_UPDATABLE},
};
PFS_GROUP(consumer_group, consumer_columns);

static void
consumers_scan(PfsScan *scan)
{
	for (int i = 0; i < PFS_CONSUMERS; i++)
	{
		ConsumerRow row = {pfs_text_of_string(pfs_consumer_name(i)),
			(pfs_load(&scan->arena->consumers) >> i) & 1};
		const void *parts[] = {&row};

		scan->emit(scan, parts);
	}
}

static PfsEditResult
consumers_update(PfsArena *arena, PfsFields old, PfsFields new, int *column)
{
	int			flag;
	PfsEditResult result = parse_flags(new, (const int[]) {1}, 1, &flag, column);

	if (result != PFS_EDIT_OK)
		return result;
	for (int i = 0; i < PFS_CONSUMERS; i++)
		if (old[0] != NULL && strcmp(pfs_consumer_name(i), old[0]) == 0)
		{
			if (flag >= 0)
				pfs_set_consumer(arena, i, flag);
			return PFS_EDIT_OK;
		}
	return PFS_EDIT_NO_ROW;
}

const PfsTable pfs_table_setup_consumers = {
	.name = "setup_consumers",
	.doc = "Where events go: global and thread instrumentation, digests, current events, histories",
	.groups = {&consumer_group},.scan = consumers_scan,.update = consumers_update,
};

/* --- setup_instruments --- */

typedef struct InstrumentRow
{
	PfsText		name;
	uint8_t		enabled;
	uint8_t		timed;
	PfsText		properties;
	PfsText		flags;
	uint32_t	volatility;
	PfsText		doc;
} InstrumentRow;

static const PfsColumn instrument_columns[] = {
	{"name", "Instrument, a path from general to special", PFS_COLUMN_TEXT,
	offsetof(InstrumentRow, name), PFS_COLUMN_KEY},
	{"enabled", "Are its events recorded?", PFS_COLUMN_YES_NO, offsetof(InstrumentRow, enabled),
	PFS_COLUMN_UPDATABLE},
	{"timed", "Are they timed too? NULL where that is impossible", PFS_COLUMN_YES_NO,
	offsetof(InstrumentRow, timed), PFS_COLUMN_UPDATABLE},
	{"properties", "Set of singleton, progress, user, global_statistics, mutable", PFS_COLUMN_TEXT,
	offsetof(InstrumentRow, properties), 0},
	{"flags", "Always NULL: no controlled memory", PFS_COLUMN_TEXT, offsetof(InstrumentRow, flags), 0},
	{"volatility", "How long an instrumented object lives; 0 = not told", PFS_COLUMN_U32,
	offsetof(InstrumentRow, volatility), 0},
	{"documentation", "What is observed", PFS_COLUMN_TEXT, offsetof(InstrumentRow, doc), 0},
};
PFS_GROUP(instrument_group, instrument_columns);

static const char *
property_names(uint16_t properties)
{
	if (properties & PFS_PROPERTY_MUTABLE)
		return "mutable";
	if (properties & PFS_PROPERTY_USER)
		return "user";
	return properties & PFS_PROPERTY_SINGLETON ? "singleton" : "";
}

static void
instruments_scan(PfsScan *scan)
{
	const char *wanted = pfs_scan_text(scan, "name");

	for (uint32_t i = 0; i < pfs_instrument_count(scan->arena); i++)
	{
		PfsInstrument *instrument = pfs_instrument(scan->arena, i);
		InstrumentRow row = {.volatility = instrument->volatility};
		const void *parts[] = {&row};

		if (wanted != NULL && strcmp(wanted, instrument->name) != 0)
			continue;
		row.name = PFS_TEXT_OF(instrument->name);
		row.enabled = pfs_load(&instrument->enabled);
		row.timed = instrument->can_be_timed ? pfs_load(&instrument->timed) : 2;
		row.properties = pfs_text_of_string(property_names(instrument->properties));
		row.doc = PFS_TEXT_OF(instrument->doc);
		scan->emit(scan, parts);
	}
}

static PfsEditResult
instruments_update(PfsArena *arena, PfsFields old, PfsFields new, int *column)
{
	int			flags[2];
	PfsEditResult result = parse_flags(new, (const int[]) {1, 2}, 2, flags, column);

	if (result != PFS_EDIT_OK)
		return result;
	for (uint32_t i = 0; i < pfs_instrument_count(arena); i++)
	{
		PfsInstrument *instrument = pfs_instrument(arena, i);

		if (old[0] != NULL && strcmp(instrument->name, old[0]) == 0)
		{
			pfs_set_instrument(arena, instrument, flags[0], flags[1]);
			return PFS_EDIT_OK;
		}
	}
	return PFS_EDIT_NO_ROW;
}

const PfsTable pfs_table_setup_instruments = {
	.name = "setup_instruments",
	.doc = "What can be observed, and whether it is; changes take effect from each session's next event",
	.groups = {&instrument_group},.scan = instruments_scan,.update = instruments_update,
};

/* --- setup_objects --- */

typedef struct ObjectRow
{
	PfsText		type;
	PfsText		schema;
	PfsText		name;
	uint8_t		enabled;
	uint8_t		timed;
} ObjectRow;

static const PfsColumn object_columns[] = {
	{"object_type", "FUNCTION, PROCEDURE, TABLE or TRIGGER", PFS_COLUMN_TEXT,
	offsetof(ObjectRow, type), PFS_COLUMN_KEY},
	{"object_schema", "Schema, '%' = any", PFS_COLUMN_TEXT, offsetof(ObjectRow, schema),
	PFS_COLUMN_KEY},
	{"object_name", "Name, '%' = any", PFS_COLUMN_TEXT, offsetof(ObjectRow, name), PFS_COLUMN_KEY},
	{"enabled", "Are matching objects instrumented?", PFS_COLUMN_YES_NO,
	offsetof(ObjectRow, enabled), PFS_COLUMN_UPDATABLE},
	{"timed", "Are they timed?", PFS_COLUMN_YES_NO, offsetof(ObjectRow, timed),
	PFS_COLUMN_UPDATABLE},
};
PFS_GROUP(object_group, object_columns);

static void
objects_scan(PfsScan *scan)
{
	for (uint32_t i = 0; i < scan->arena->sizes.objects; i++)
	{
		PfsObject  *object = pfs_object(scan->arena, i);
		ObjectRow	row;
		const void *parts[] = {&row};

		if (!pfs_load_acquire(&object->used))
			continue;
		row.type = pfs_text_of_string(pfs_object_type_name(object->type));
		row.schema = PFS_TEXT_OF(object->schema);
		row.name = PFS_TEXT_OF(object->name);
		row.enabled = pfs_load(&object->enabled);
		row.timed = pfs_load(&object->timed);
		scan->emit(scan, parts);
	}
}

static int
object_type_number(const char *name)
{
	for (int type = 0; name != NULL && type < PFS_OBJECT_TYPES; type++)
		if (strcmp(pfs_object_type_name(type), name) == 0)
			return type;
	return -1;
}

static PfsObject *
find_object(PfsArena *arena, PfsFields key)
{
	int			type = object_type_number(key[0]);

	for (uint32_t i = 0; i < arena->sizes.objects; i++)
	{
		PfsObject  *object = pfs_object(arena, i);

		if (pfs_load(&object->used) && object->type == type && key[1] != NULL &&
			strcmp(object->schema, key[1]) == 0 && key[2] != NULL &&
			strcmp(object->name, key[2]) == 0)
			return object;
	}
	return NULL;
}

/* Tables look their rule up again. */
static void
objects_changed(PfsArena *arena)
{
	pfs_add_release(&arena->objects_changed, 1);
}

static PfsEditResult
objects_update(PfsArena *arena, PfsFields old, PfsFields new, int *column)
{
	PfsObject  *object = find_object(arena, old);
	int			flags[2];
	PfsEditResult result = parse_flags(new, (const int[]) {3, 4}, 2, flags, column);

	if (result != PFS_EDIT_OK)
		return result;
	if (object == NULL)
		return PFS_EDIT_NO_ROW;
	store_flag(&object->enabled, flags[0]);
	store_flag(&object->timed, flags[1]);
	objects_changed(arena);
	return PFS_EDIT_OK;
}

static PfsEditResult
objects_insert(PfsArena *arena, PfsFields new, int *column)
{
	PfsObject	row = {.enabled = 1, .timed = 1};
	int			type = object_type_number(new[0] ? new[0] : "TABLE");
	int			flags[2];
	PfsEditResult result = parse_flags(new, (const int[]) {3, 4}, 2, flags, column);

	if (result != PFS_EDIT_OK)
		return result;
	*column = 0;
	if (type < 0)
		return PFS_EDIT_BAD_VALUE;
	row.type = (uint8_t) type;
	*column = 1;
	if (!copy_key(row.schema, sizeof(row.schema), new[1] ? new[1] : "%"))
		return PFS_EDIT_BAD_VALUE;
	*column = 2;
	if (!copy_key(row.name, sizeof(row.name), new[2] ? new[2] : "%"))
		return PFS_EDIT_BAD_VALUE;
	store_flag(&row.enabled, flags[0]);
	store_flag(&row.timed, flags[1]);
	result = rule_result(pfs_object_insert(arena, &row));
	objects_changed(arena);
	return result;
}

static PfsEditResult
objects_remove(PfsArena *arena, PfsFields old)
{
	PfsObject  *object = find_object(arena, old);

	if (object == NULL)
		return PFS_EDIT_NO_ROW;
	pfs_store_release(&object->used, 0);
	objects_changed(arena);
	return PFS_EDIT_OK;
}

static bool
objects_reset(PfsArena *arena, const PfsTable *table)
{
	for (uint32_t i = 0; i < arena->sizes.objects; i++)
		pfs_store_release(&pfs_object(arena, i)->used, 0);
	objects_changed(arena);
	return table != NULL;
}

const PfsTable pfs_table_setup_objects = {
	.name = "setup_objects",
	.doc = "Rules for tables and routines, most specific one wins; used by their instruments, which come with the waits",
	.groups = {&object_group},
	.scan = objects_scan,.reset = objects_reset,
	.update = objects_update,.insert = objects_insert,.remove = objects_remove,
};

/* --- setup_threads --- */

typedef struct ThreadClassRow
{
	PfsText		name;
	uint8_t		enabled;
	uint8_t		history;
	PfsText		properties;
	uint32_t	volatility;
	PfsText		doc;
} ThreadClassRow;

static const PfsColumn thread_class_columns[] = {
	{"name", "Class of server processes", PFS_COLUMN_TEXT, offsetof(ThreadClassRow, name),
	PFS_COLUMN_KEY},
	{"enabled", "Are new processes of this class instrumented?", PFS_COLUMN_YES_NO,
	offsetof(ThreadClassRow, enabled), PFS_COLUMN_UPDATABLE},
	{"history", "Do they keep histories?", PFS_COLUMN_YES_NO, offsetof(ThreadClassRow, history),
	PFS_COLUMN_UPDATABLE},
	{"properties", "singleton: one such process; user: serves a client", PFS_COLUMN_TEXT,
	offsetof(ThreadClassRow, properties), 0},
	{"volatility", "0 = not told", PFS_COLUMN_U32, offsetof(ThreadClassRow, volatility), 0},
	{"documentation", "What such a process does", PFS_COLUMN_TEXT, offsetof(ThreadClassRow, doc), 0},
};
PFS_GROUP(thread_class_group, thread_class_columns);

static void
thread_classes_scan(PfsScan *scan)
{
	for (uint32_t i = 0; i < pfs_thread_class_count(scan->arena); i++)
	{
		PfsThreadClass *class = pfs_thread_class(scan->arena, i);
		ThreadClassRow row = {.volatility = 0};
		const void *parts[] = {&row};

		row.name = PFS_TEXT_OF(class->name);
		row.enabled = pfs_load(&class->enabled);
		row.history = pfs_load(&class->history);
		row.properties = pfs_text_of_string(class->foreground ? "user"
											: class->singleton ? "singleton" : "");
		row.doc = PFS_TEXT_OF(class->doc);
		scan->emit(scan, parts);
	}
}

static PfsEditResult
thread_classes_update(PfsArena *arena, PfsFields old, PfsFields new, int *column)
{
	int			flags[2];
	PfsEditResult result = parse_flags(new, (const int[]) {1, 2}, 2, flags, column);

	if (result != PFS_EDIT_OK)
		return result;
	for (uint32_t i = 0; i < pfs_thread_class_count(arena); i++)
	{
		PfsThreadClass *class = pfs_thread_class(arena, i);

		if (old[0] == NULL || strcmp(class->name, old[0]) != 0)
			continue;
		store_flag(&class->enabled, flags[0]);
		store_flag(&class->history, flags[1]);
		return PFS_EDIT_OK;
	}
	return PFS_EDIT_NO_ROW;
}

const PfsTable pfs_table_setup_threads = {
	.name = "setup_threads",
	.doc = "Classes of server processes; changes affect processes that start later",
	.groups = {&thread_class_group},
	.scan = thread_classes_scan,.update = thread_classes_update,
};

/* --- setup_timers, performance_timers --- */

typedef struct SetupTimerRow
{
	PfsText		name;
	PfsText		timer;
} SetupTimerRow;

static const PfsColumn setup_timer_columns[] = {
	{"name", "Class of instruments", PFS_COLUMN_TEXT, offsetof(SetupTimerRow, name), PFS_COLUMN_KEY},
	{"timer_name", "Timer in use; chosen at start, see performance_timers; NANOSECOND when CYCLE has parted from the system clock", PFS_COLUMN_TEXT,
	offsetof(SetupTimerRow, timer), 0},
};
PFS_GROUP(setup_timer_group, setup_timer_columns);

static void
setup_timers_scan(PfsScan *scan)
{
	static const char *const names[] = {"idle", "wait", "statement", "transaction"};
	const char *timer = pfs_timer.kind == PFS_TIMER_CYCLE ? "CYCLE" : "NANOSECOND";

	for (size_t i = 0; i < PFS_LENGTH(names); i++)
	{
		SetupTimerRow row = {pfs_text_of_string(names[i]), pfs_text_of_string(timer)};
		const void *parts[] = {&row};

		scan->emit(scan, parts);
	}
}

const PfsTable pfs_table_setup_timers = {
	.name = "setup_timers",
	.doc = "The timer that each class of instruments uses; not updatable",
	.groups = {&setup_timer_group},.scan = setup_timers_scan,
};

typedef struct TimerRow
{
	PfsText		name;
	uint64_t	frequency;
	uint64_t	resolution;
	uint64_t	overhead;
	PfsText		remark;
} TimerRow;

static const PfsColumn timer_columns[] = {
	{"timer_name", "CYCLE, NANOSECOND, MICROSECOND, MILLISECOND or THREAD_CPU", PFS_COLUMN_TEXT,
	offsetof(TimerRow, name), PFS_COLUMN_KEY},
	{"timer_frequency", "Ticks per second; NULL = not available", PFS_COLUMN_U64,
	offsetof(TimerRow, frequency), PFS_COLUMN_NULL_IF_ZERO},
	{"timer_resolution", "Smallest step seen, in ticks", PFS_COLUMN_U64,
	offsetof(TimerRow, resolution), PFS_COLUMN_NULL_IF_ZERO},
	{"timer_overhead", "Ticks of the timer in use that one reading takes, measured by this SELECT",
	PFS_COLUMN_U64, offsetof(TimerRow, overhead), PFS_COLUMN_NULL_IF_ZERO},
	{"remark", "Why the timer is not available; not in MySQL", PFS_COLUMN_TEXT,
	offsetof(TimerRow, remark), 0},
};
PFS_GROUP(timer_group, timer_columns);

static void
timers_scan(PfsScan *scan)
{
	for (int kind = 0; kind < PFS_TIMER_COUNT; kind++)
	{
		PfsTimerInfo info = pfs_timer_measure(kind);
		TimerRow	row = {pfs_text_of_string(info.name), info.frequency, info.resolution,
			info.overhead, {NULL, 0, -1}};
		const void *parts[] = {&row};

		if (info.frequency == 0)
			row.remark = pfs_text_of_string(pfs_timer.why_no_cycle);
		scan->emit(scan, parts);
	}
}

const PfsTable pfs_table_performance_timers = {
	.name = "performance_timers",
	.doc = "The timers of this machine, measured at each SELECT",
	.groups = {&timer_group},.scan = timers_scan,
};
