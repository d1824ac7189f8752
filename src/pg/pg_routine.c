/*
 * pg_routine.c
 *		Which routine a nested statement stands in: by PL/pgSQL's plugin interface.
 *
 * The interface has one place and no protocol for sharing it, so what stood there before is kept
 * and called.  A function that an error leaves never reports its end; its entry is dropped with
 * the subtransaction that aborts.
 */
#include "postgres.h"

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
	Oid			function;
	Oid			trigger;
	int			level;			/* transaction nesting level */
	PfsRef		name;			/* 0 = not looked up yet */
	const TriggerData *trigdata;
} Frame;

/* Owner: this process.  Running PL/pgSQL routines, outermost first. */
static Frame frame[ROUTINE_DEPTH];
static int	frames = 0;

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

static PfsRef
look_up(const Frame *f)
{
	char	   *name = NULL;
	char	   *schema = NULL;
	PfsObjectType type = PFS_OBJECT_FUNCTION;
	PfsRef		ref = 0;

	if (f->trigdata != NULL)
	{
		type = PFS_OBJECT_TRIGGER;
		name = pstrdup(f->trigdata->tg_trigger->tgname);
		schema = get_namespace_name(RelationGetNamespace(f->trigdata->tg_relation));
	}
	else
	{
		if (get_func_prokind(f->function) == PROKIND_PROCEDURE)
			type = PFS_OBJECT_PROCEDURE;
		name = get_func_name(f->function);
		schema = get_namespace_name(get_func_namespace(f->function));
	}
	if (name != NULL && schema != NULL)
		ref = pfs_routine_name(pfs_arena, type, schema, name);
	if (name != NULL)
		pfree(name);
	if (schema != NULL)
		pfree(schema);
	return ref;
}

PfsRef
pfs_pg_current_routine(void)
{
	Frame	   *f;
	unsigned	place;

	if (frames == 0 || frames > ROUTINE_DEPTH)
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

void
pfs_pg_routine_forget(int level)
{
	while (frames > 0 && (frames > ROUTINE_DEPTH || frame[frames - 1].level >= level))
		frames--;
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
pfs_plugin_func_beg(PLpgSQL_execstate *estate, PLpgSQL_function *func)
{
	if (frames < ROUTINE_DEPTH)
	{
		Frame	   *f = &frame[frames];

		f->function = func->fn_oid;
		f->trigdata = estate->trigdata;
		f->trigger = estate->trigdata != NULL ? estate->trigdata->tg_trigger->tgoid : InvalidOid;
		f->level = GetCurrentTransactionNestLevel();
		f->name = 0;
	}
	frames++;
	if (prev_plugin != NULL && prev_plugin->func_beg)
		prev_plugin->func_beg(estate, func);
}

static void
pfs_plugin_func_end(PLpgSQL_execstate *estate, PLpgSQL_function *func)
{
	if (frames > 0)
		frames--;
	if (prev_plugin != NULL && prev_plugin->func_end)
		prev_plugin->func_end(estate, func);
}

void
pfs_pg_routine_attach(void)
{
	PLpgSQL_plugin **place = (PLpgSQL_plugin **) find_rendezvous_variable("PLpgSQL_plugin");

	frames = 0;
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
