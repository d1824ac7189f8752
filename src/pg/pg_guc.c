/*
 * pg_guc.c
 *		Definition, checking and application of the settings.
 */
#include "postgres.h"

#include "pg/pg_guc.h"

#include "core/thread.h"
#include "core/timer.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_metrics.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#define PREFIX "performance_schema."

static const struct config_enum_entry timing_options[] = {
	{"auto", PFS_TIMING_AUTO, false},
	{"sampled", PFS_TIMING_SAMPLED, false},
	{"off", PFS_TIMING_OFF, false},
	{NULL, 0, false},
};

#define PFS_BOOL(variable, name, boot, context, doc) bool pfs_guc_##variable = boot;
#define PFS_SIZE(variable, name, boot, min, max, context, doc) int pfs_guc_##variable = boot;
#define PFS_TEXT(variable, name, boot, context, check, assign, doc) char *pfs_guc_##variable = NULL;
#define PFS_CHOICE(variable, name, boot, options, context, doc) int pfs_guc_##variable = boot;
#include "pg/guc.def"
#undef PFS_BOOL
#undef PFS_SIZE
#undef PFS_TEXT
#undef PFS_CHOICE

/* One setting per consumer: performance_schema.consumer_<name>. */
static bool consumer_on[PFS_CONSUMERS];

typedef struct InstrumentRule
{
	char		pattern[PFS_NAME_LENGTH];
	int			enabled;
	int			timed;
} InstrumentRule;

static char *
trim(char *text)
{
	char	   *end;

	while (*text == ' ' || *text == '\t' || *text == '\n')
		text++;
	end = text + strlen(text);
	while (end > text && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\n'))
		*--end = '\0';
	return text;
}

/* "pattern = value"; false with a reason in *why. */
static bool
parse_rule(char *item, InstrumentRule *rule, const char **why)
{
	static const struct
	{
		const char *name;
		int			enabled;
		int			timed;
	}			values[] = {
		{"on", 1, 1}, {"true", 1, 1}, {"1", 1, 1}, {"yes", 1, 1}, {"timed", 1, 1},
		{"off", 0, 0}, {"false", 0, 0}, {"0", 0, 0}, {"no", 0, 0}, {"counted", 1, 0},
	};
	char	   *equal = strrchr(item, '=');
	char	   *value;

	if (equal == NULL)
	{
		*why = "it has no \"=\"";
		return false;
	}
	*equal = '\0';
	value = trim(equal + 1);
	item = trim(item);
	if (item[0] == '\0' || strlen(item) >= sizeof(rule->pattern))
	{
		*why = "its pattern is empty or too long";
		return false;
	}
	strcpy(rule->pattern, item);
	for (size_t i = 0; i < lengthof(values); i++)
		if (pg_strcasecmp(values[i].name, value) == 0)
		{
			rule->enabled = values[i].enabled;
			rule->timed = values[i].timed;
			return true;
		}
	*why = "its value is none of on, off, counted, timed";
	return false;
}

/* Calls apply for each rule of a list; false and *why at the first bad one, named by *bad. */
static bool
each_rule(const char *list, void (*apply) (const InstrumentRule *rule, void *arg), void *arg,
		  char **bad, const char **why)
{
	char	   *copy = pstrdup(list);
	char	   *save = NULL;

	for (char *item = strtok_r(copy, ",", &save); item != NULL; item = strtok_r(NULL, ",", &save))
	{
		InstrumentRule rule;

		item = trim(item);
		if (item[0] == '\0')
			continue;
		*bad = pstrdup(item);
		if (!parse_rule(item, &rule, why))
			return false;
		if (apply != NULL)
			apply(&rule, arg);
	}
	return true;
}

static bool
check_instrument(char **newval, void **extra, GucSource source)
{
	char	   *bad;
	const char *why;

	if (*newval == NULL || each_rule(*newval, NULL, NULL, &bad, &why))
		return true;
	GUC_check_errdetail("\"%s\" cannot be understood: %s.", bad, why);
	GUC_check_errhint("Write, for example, '%%=off, statement/%%=on'.");
	return false;
}

static void
assign_sample_age(int newval, void *extra)
{
	if (pfs_arena == NULL)
		return;
	pfs_store(&pfs_arena->sample_age_ticks, pfs_ns_to_ticks((uint64) newval * UINT64CONST(1000000000)));
}

void
pfs_guc_define(void)
{
#define PFS_BOOL(variable, name, boot, context, doc) \
	DefineCustomBoolVariable(PREFIX name, doc, NULL, &pfs_guc_##variable, boot, context, 0, \
							 NULL, NULL, NULL);
#define PFS_SIZE(variable, name, boot, min, max, context, doc) \
	DefineCustomIntVariable(PREFIX name, doc, (min) < 0 ? "-1 chooses a size from max_connections." : NULL, \
							&pfs_guc_##variable, boot, min, max, context, 0, NULL, \
							&pfs_guc_##variable == &pfs_guc_max_digest_sample_age ? assign_sample_age : NULL, \
							NULL);
#define PFS_TEXT(variable, name, boot, context, check, assign, doc) \
	DefineCustomStringVariable(PREFIX name, doc, NULL, &pfs_guc_##variable, boot, context, 0, \
							   check, assign, NULL);
#define PFS_CHOICE(variable, name, boot, options, context, doc) \
	DefineCustomEnumVariable(PREFIX name, doc, NULL, &pfs_guc_##variable, boot, options, context, 0, \
							 NULL, NULL, NULL);
#include "pg/guc.def"
#undef PFS_BOOL
#undef PFS_SIZE
#undef PFS_TEXT
#undef PFS_CHOICE
	for (int i = 0; i < PFS_CONSUMERS; i++)
		DefineCustomBoolVariable(psprintf(PREFIX "consumer_%s", pfs_consumer_name(i)),
								 "State of this consumer at server start", NULL, &consumer_on[i],
								 pfs_consumer_is_default(i), PGC_POSTMASTER, 0, NULL, NULL, NULL);
	/* names that start with our prefix and are none of ours get a warning, and are dropped */
	MarkGUCPrefixReserved("performance_schema");
}

/* The rules of the setting, parsed once in the postmaster and inherited. */
static InstrumentRule *rules = NULL;
static int	rule_count = 0;

static void
keep_rule(const InstrumentRule *rule, void *arg)
{
	rules = rules == NULL ? palloc(sizeof(*rules))
		: repalloc(rules, sizeof(*rules) * (size_t) (rule_count + 1));
	rules[rule_count++] = *rule;
}

/* The longest pattern wins, and of equally long ones the last. */
static const InstrumentRule *
rule_for(const char *name)
{
	const InstrumentRule *best = NULL;

	for (int i = 0; i < rule_count; i++)
		if (pfs_like(rules[i].pattern, name) &&
			(best == NULL || strlen(rules[i].pattern) >= strlen(best->pattern)))
			best = &rules[i];
	return best;
}

void
pfs_guc_apply_later(PfsArena *arena, PfsInstrument *instrument)
{
	const InstrumentRule *rule = rule_for(instrument->name);

	if (rule != NULL)
		pfs_set_instrument(arena, instrument, rule->enabled, rule->timed);
}

static bool
matches_any(PfsArena *arena, const char *pattern)
{
	for (uint32 i = 0; i < pfs_instrument_count(arena); i++)
		if (pfs_like(pattern, pfs_instrument(arena, i)->name))
			return true;
	return false;
}

static void
apply_rules(PfsArena *arena)
{
	MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
	char	   *bad;
	const char *why;

	rule_count = 0;				/* the arena is made again after a crash */
	if (pfs_guc_instrument != NULL)
		each_rule(pfs_guc_instrument, keep_rule, NULL, &bad, &why);
	MemoryContextSwitchTo(caller);
	for (uint32 i = 0; rule_count > 0 && i < pfs_instrument_count(arena); i++)
		pfs_guc_apply_later(arena, pfs_instrument(arena, i));
	for (int i = 0; i < rule_count; i++)
		if (!matches_any(arena, rules[i].pattern))
			ereport(WARNING,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("no instrument matches \"%s\" in performance_schema.instrument",
							rules[i].pattern)));
}

void
pfs_guc_apply(PfsArena *arena)
{
	apply_rules(arena);
	for (int i = 0; i < PFS_CONSUMERS; i++)
		pfs_set_consumer(arena, i, consumer_on[i]);
	assign_sample_age(pfs_guc_max_digest_sample_age, NULL);
}
