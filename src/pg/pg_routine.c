/*
 * pg_routine.c
 *		Which routine a nested statement stands in: by PL/pgSQL's plugin interface.
 *
 * The interface has one place and no protocol for sharing it, so what stood there before is kept
 * and called.  A function that an error leaves never reports its end, nor does one during which
 * another plugin takes the place.  Its entry is dropped with the subtransaction that aborts, or when
 * the stack, which grows downwards, is seen to end above the function's state.  Till then it may
 * tell a wrong name, but it points at nothing.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "commands/trigger.h"
#include "core/names.h"
#include "fmgr.h"
#include "pg/pg_arena.h"
#include "pg/pg_hooks.h"
#include "plpgsql.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#define ROUTINE_DEPTH 256
#define ROUTINE_CACHE 64

typedef struct Frame
{
	const PLpgSQL_execstate *state; /* only its place on the stack is of interest */
	Oid			function;
	Oid			trigger;
	Oid			schema;			/* of the trigger */
	int			level;			/* transaction nesting level */
	PfsRef		name;			/* 0 = not looked up yet */
	char		trigger_name[NAMEDATALEN];
} Frame;

/*
 * Owner: this process.  Running PL/pgSQL routines, outermost first.  The last place, if taken, stands
 * for all that run deeper, too: they have no name.
 */
static Frame frame[ROUTINE_DEPTH + 1];
static int	frames = 0;

/* The innermost one that has a name; NULL = none, or it runs deeper. */
static const Frame *innermost = NULL;

static inline void
set_frames(int now)
{
	frames = now;
	innermost = now == 0 || now > ROUTINE_DEPTH ? NULL : &frame[now - 1];
}

/* Names of the routines seen last; emptied when the catalogue changes. */
static struct
{
	Oid			function;
	Oid			trigger;
	PfsRef		name;
}			routine_cache[ROUTINE_CACHE];

static PLpgSQL_plugin our_plugin;
static PLpgSQL_plugin *prev_plugin = NULL;

static void
forget_names(Datum arg, int cacheid, uint32 hashvalue)
{
	memset(routine_cache, 0, sizeof(routine_cache));
}

/* Forgets the routines whose state lies at this address of the stack or below. */
static inline void
drop_from(const void *address)
{
	while (frames > 0 && (uintptr_t) frame[frames - 1].state <= (uintptr_t) address)
		set_frames(frames - 1);
}

/* A function may have been dropped while it runs: then it has no name, and that is no error. */
static PfsRef
look_up(const Frame *f)
{
	char	   *name = NULL;
	char	   *schema = NULL;
	PfsObjectType type = PFS_OBJECT_FUNCTION;
	PfsRef		ref = 0;

	if (OidIsValid(f->trigger))
	{
		type = PFS_OBJECT_TRIGGER;
		name = pstrdup(f->trigger_name);
		schema = get_namespace_name(f->schema);
	}
	else
	{
		HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(f->function));

		if (!HeapTupleIsValid(tuple))
			return 0;
		if (((Form_pg_proc) GETSTRUCT(tuple))->prokind == PROKIND_PROCEDURE)
			type = PFS_OBJECT_PROCEDURE;
		name = pstrdup(NameStr(((Form_pg_proc) GETSTRUCT(tuple))->proname));
		schema = get_namespace_name(((Form_pg_proc) GETSTRUCT(tuple))->pronamespace);
		ReleaseSysCache(tuple);
	}
	if (name != NULL && schema != NULL)
		ref = pfs_routine_name(pfs_arena, type, schema, name);
	if (name != NULL)
		pfree(name);
	if (schema != NULL)
		pfree(schema);
	return ref;
}

static pg_noinline PfsRef
find_routine(const void *caller)
{
	Frame	   *f;
	unsigned	place;

	drop_from(caller);
	if (frames == 0)
		return 0;
	f = &frame[frames - 1];
	if (f->name != 0 && pfs_name_is_alive(pfs_arena, f->name))
		return f->name;
	if (!OidIsValid(f->function) || !IsTransactionState())
		return 0;
	place = (f->function ^ f->trigger) % ROUTINE_CACHE;
	if (routine_cache[place].function != f->function ||
		routine_cache[place].trigger != f->trigger ||
		!pfs_name_is_alive(pfs_arena, routine_cache[place].name))
	{
		routine_cache[place].name = look_up(f);
		routine_cache[place].function = f->function;
		routine_cache[place].trigger = f->trigger;
	}
	f->name = routine_cache[place].name;
	return f->name;
}

PFS_HOT PfsRef
pfs_pg_current_routine(void)
{
	const Frame *f = innermost;

	if (f == NULL)
		return 0;
	if (pfs_likely((uintptr_t) f->state > (uintptr_t) __builtin_frame_address(0) &&
				   f->name != 0 && pfs_name_is_alive(pfs_arena, f->name)))
		return f->name;
	return find_routine(__builtin_frame_address(0));
}

/*
 * A subtransaction of this level has aborted, and what ran in it was left; or (level 1) the whole
 * transaction, maybe by a procedure's ROLLBACK: then those that run are further up the stack.
 */
void
pfs_pg_routine_forget(int level)
{
	if (level <= 1)
		drop_from(__builtin_frame_address(0));
	else
		while (frames > 0 && frame[frames - 1].level >= level)
			set_frames(frames - 1);
}

/* --- the plugin --- */

/* PL/pgSQL fills in its helpers; a plugin that we call must find them in its own struct. */
static void
pfs_plugin_func_setup(PLpgSQL_execstate *estate, PLpgSQL_function *func)
{
	if (prev_plugin == NULL)
		return;
	prev_plugin->error_callback = our_plugin.error_callback;
	prev_plugin->assign_expr = our_plugin.assign_expr;
	prev_plugin->assign_value = our_plugin.assign_value;
	prev_plugin->eval_datum = our_plugin.eval_datum;
	prev_plugin->cast_value = our_plugin.cast_value;
	if (prev_plugin->func_setup)
		prev_plugin->func_setup(estate, func);
}

static void
note_trigger(Frame *f, const TriggerData *trigdata)
{
	f->trigger = trigdata->tg_trigger->tgoid;
	f->schema = RelationGetNamespace(trigdata->tg_relation);
	strlcpy(f->trigger_name, trigdata->tg_trigger->tgname, sizeof(f->trigger_name));
}

static void
pfs_plugin_func_beg(PLpgSQL_execstate *estate, PLpgSQL_function *func)
{
	drop_from(estate);
	if (frames <= ROUTINE_DEPTH)
	{
		Frame	   *f = &frame[frames];

		set_frames(frames + 1);
		f->state = estate;
		f->function = func->fn_oid;
		f->trigger = InvalidOid;
		f->level = GetCurrentTransactionNestLevel();
		f->name = 0;
		if (estate->trigdata != NULL)
			note_trigger(f, estate->trigdata);
	}
	if (prev_plugin != NULL && prev_plugin->func_beg)
		prev_plugin->func_beg(estate, func);
}

static void
pfs_plugin_func_end(PLpgSQL_execstate *estate, PLpgSQL_function *func)
{
	drop_from(estate);
	if (prev_plugin != NULL && prev_plugin->func_end)
		prev_plugin->func_end(estate, func);
}

void
pfs_pg_routine_attach(void)
{
	PLpgSQL_plugin **place = (PLpgSQL_plugin **) find_rendezvous_variable("PLpgSQL_plugin");

	set_frames(0);
	if (*place == &our_plugin)
		return;
	prev_plugin = *place;
	if (prev_plugin != NULL)
		our_plugin = *prev_plugin;	/* statement callbacks go straight to it */
	our_plugin.func_setup = pfs_plugin_func_setup;
	our_plugin.func_beg = pfs_plugin_func_beg;
	our_plugin.func_end = pfs_plugin_func_end;
	*place = &our_plugin;
	CacheRegisterSyscacheCallback(PROCOID, forget_names, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, forget_names, (Datum) 0);
}
