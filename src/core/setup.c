/*
 * setup.c
 *		Consumers, rules and patterns.
 */
#include "core/setup.h"

enum
{
	PFS_CONSUMER_NONE = -1
};

static const struct
{
	const char *name;
	int			parent;
	bool		on;
}			consumers[PFS_CONSUMERS] = {
#define PFS_CONSUMER(symbol, name, parent, on) {#name, PFS_CONSUMER_##parent, on},
#include "core/consumers.def"
#undef PFS_CONSUMER
};

const char *
pfs_consumer_name(PfsConsumer consumer)
{
	return consumers[consumer].name;
}

bool
pfs_consumer_is_default(PfsConsumer consumer)
{
	return consumers[consumer].on;
}

void
pfs_consumers_default(PfsArena *arena)
{
	uint32_t	set = 0;

	for (int i = 0; i < PFS_CONSUMERS; i++)
		set |= (uint32_t) consumers[i].on << i;
	pfs_store(&arena->consumers, set);
	pfs_refresh_gate(arena);
}

void
pfs_set_consumer(PfsArena *arena, PfsConsumer consumer, bool on)
{
	pfs_set_bits(&arena->consumers, 1u << consumer, on);
	pfs_refresh_gate(arena);
}

/* What an instrument that is enabled opens. */
static uint32_t
gate_of(const PfsInstrument *instrument)
{
	static const uint32_t class_gate[PFS_CLASSES] = {
		[PFS_CLASS_STATEMENT] = PFS_GATE_STATEMENTS,
		[PFS_CLASS_TRANSACTION] = PFS_GATE_TRANSACTIONS,
		[PFS_CLASS_ERROR] = PFS_GATE_ERRORS,
		[PFS_CLASS_WAIT] = PFS_GATE_CALLS,
	};

	if (instrument->kind == PFS_WAIT_TABLE)
		return PFS_GATE_TABLES;
	if (instrument->class == PFS_CLASS_WAIT &&
		(instrument->kind == PFS_WAIT_PLAIN || instrument->kind == PFS_WAIT_SOCKET))
		return PFS_GATE_CALLS | PFS_GATE_SOCKETS;
	return instrument->class < PFS_CLASSES ? class_gate[instrument->class] : 0;
}

/* What is wanted as switches stand now. */
static uint32_t
wanted(const PfsArena *arena)
{
	uint32_t	gate = 0;
	uint32_t	set = pfs_load(&arena->consumers);

	for (int i = 0; i < PFS_CONSUMERS; i++)
	{
		int			parent = consumers[i].parent;

		if ((set & (1u << i)) != 0 && (parent < 0 || (gate & (1u << parent)) != 0))
			gate |= 1u << i;
	}
	if ((gate & PFS_WANTS(GLOBAL)) != 0)
		for (uint32_t i = 0; i < pfs_instrument_count(arena); i++)
		{
			PfsInstrument *instrument = pfs_instrument(arena, i);

			if (pfs_load(&instrument->enabled))
				gate |= gate_of(instrument);
		}
	return gate;
}

void		(*pfs_host_gate_renewed) (void);

/*
 * Switches are thrown under the setup lock, waits that are met later are registered under the roll-up
 * lock: so this needs none.  A gate is stored only if nobody has stored one since we began to look at
 * the switches: who loses looks again, and then sees what the other one has changed.
 */
void
pfs_refresh_gate(PfsArena *arena)
{
	struct
	{
		PFS_GATE_WORD;
	}			old, new;

	old.gate_word = pfs_load_acquire(&arena->gate_word);
	do
	{
		new.gate = wanted(arena);
		new.gate_changes = old.gate_changes + 1;
#ifdef PFS_ASSERTS
		if (pfs_inside_gate != NULL)
			pfs_inside_gate();
#endif
		/* what was opened and closed unseen must not be mistaken for what is open now */
		if ((new.gate & ~old.gate & PFS_GATE_CALLS) != 0)
			pfs_add_shared(&arena->calls_on, 1);
	}
	while (!pfs_cas64(&arena->gate_word, &old.gate_word, new.gate_word));
	if (pfs_host_gate_renewed != NULL)
		pfs_host_gate_renewed();
	pfs_add_release(&arena->setup_changes, 1);
}

bool
pfs_like(const char *pattern, const char *text)
{
	const char *after_run = NULL;	/* pattern behind the last % */
	const char *retry = NULL;	/* where its run ends so far */

	while (*text != '\0')
	{
		bool		escaped = *pattern == '\\' && pattern[1] != '\0';

		if (*pattern == '%')
		{
			after_run = ++pattern;
			retry = text;
		}
		else if (escaped ? pattern[1] == *text :
				 (*pattern == *text || *pattern == '?' || *pattern == '_'))
		{
			pattern += escaped ? 2 : 1;
			text++;
		}
		else if (after_run != NULL)
		{
			pattern = after_run;
			text = ++retry;
		}
		else
			return false;
	}
	while (*pattern == '%')
		pattern++;
	return *pattern == '\0';
}

void
pfs_set_instrument(PfsArena *arena, PfsInstrument *instrument, int enabled, int timed)
{
	if (enabled >= 0)
		pfs_store(&instrument->enabled, (uint8_t) (enabled != 0));
	if (timed >= 0)
		pfs_store(&instrument->timed, (uint8_t) (timed != 0 && instrument->can_be_timed));
	pfs_refresh_gate(arena);
}

const char *
pfs_object_type_name(PfsObjectType type)
{
	static const char *const names[PFS_OBJECT_TYPES] = {"FUNCTION", "PROCEDURE", "TABLE", "TRIGGER"};

	return type < PFS_OBJECT_TYPES ? names[type] : NULL;
}

PfsRuleResult
pfs_actor_insert(PfsArena *arena, const PfsActor *row)
{
	PfsActor   *free_row = NULL;

	for (uint32_t i = 0; i < arena->sizes.actors; i++)
	{
		PfsActor   *other = pfs_actor(arena, i);

		if (!pfs_load_acquire(&other->used))
			free_row = free_row != NULL ? free_row : other;
		else if (strcmp(other->host, row->host) == 0 && strcmp(other->user, row->user) == 0 &&
				 strcmp(other->role, row->role) == 0)
			return PFS_RULE_DUPLICATE;
	}
	if (free_row == NULL)
		return PFS_RULE_FULL;
	memcpy(free_row, row, offsetof(PfsActor, used));
	pfs_store(&free_row->enabled, row->enabled);
	pfs_store(&free_row->history, row->history);
	pfs_store_release(&free_row->used, 1);
	return PFS_RULE_OK;
}

PfsRuleResult
pfs_object_insert(PfsArena *arena, const PfsObject *row)
{
	PfsObject  *free_row = NULL;

	for (uint32_t i = 0; i < arena->sizes.objects; i++)
	{
		PfsObject  *other = pfs_object(arena, i);

		if (!pfs_load_acquire(&other->used))
			free_row = free_row != NULL ? free_row : other;
		else if (other->type == row->type && strcmp(other->schema, row->schema) == 0 &&
				 strcmp(other->name, row->name) == 0)
			return PFS_RULE_DUPLICATE;
	}
	if (free_row == NULL)
		return PFS_RULE_FULL;
	memcpy(free_row, row, offsetof(PfsObject, used));
	free_row->type = row->type;
	pfs_store(&free_row->enabled, row->enabled);
	pfs_store(&free_row->timed, row->timed);
	pfs_store_release(&free_row->used, 1);
	return PFS_RULE_OK;
}

void
pfs_rules_default(PfsArena *arena)
{
	static const char *const hidden[] = {"pg_catalog", "information_schema", "performance_schema"};
	PfsActor	everybody = {.host = "%", .user = "%", .role = "%", .enabled = 1, .history = 1};

	pfs_actor_insert(arena, &everybody);
	for (int type = 0; type < PFS_OBJECT_TYPES; type++)
	{
		PfsObject	rule = {.name = "%", .type = (uint8_t) type};

		for (size_t i = 0; i < PFS_LENGTH(hidden); i++)
		{
			strcpy(rule.schema, hidden[i]);
			pfs_object_insert(arena, &rule);
		}
		strcpy(rule.schema, "%");
		rule.enabled = rule.timed = 1;
		pfs_object_insert(arena, &rule);
	}
}

void
pfs_actor_lookup(const PfsArena *arena, const char *user, const char *host, bool *enabled,
				 bool *history)
{
	int			best = -1;

	*enabled = *history = false;
	for (uint32_t i = 0; i < arena->sizes.actors; i++)
	{
		const PfsActor *rule = pfs_actor(arena, i);
		int			rank = 0;

		if (!pfs_load_acquire(&rule->used))
			continue;
		if (strcmp(rule->user, user) == 0)
			rank += 2;
		else if (strcmp(rule->user, "%") != 0)
			continue;
		if (strcmp(rule->host, host) == 0)
			rank += 1;
		else if (strcmp(rule->host, "%") != 0)
			continue;
		if (rank > best)
		{
			best = rank;
			*enabled = pfs_load(&rule->enabled) != 0;
			*history = pfs_load(&rule->history) != 0;
		}
	}
}

void
pfs_object_lookup(const PfsArena *arena, PfsObjectType type, const char *schema, const char *name,
				  bool *enabled, bool *timed)
{
	int			best = -1;

	*enabled = *timed = false;
	for (uint32_t i = 0; i < arena->sizes.objects; i++)
	{
		const PfsObject *rule = pfs_object(arena, i);
		int			rank;

		if (!pfs_load_acquire(&rule->used) || rule->type != type)
			continue;
		if (strcmp(rule->schema, schema) == 0)
			rank = strcmp(rule->name, name) == 0 ? 2 : strcmp(rule->name, "%") == 0 ? 1 : -1;
		else
			rank = strcmp(rule->schema, "%") == 0 && strcmp(rule->name, "%") == 0 ? 0 : -1;
		if (rank > best)
		{
			best = rank;
			*enabled = pfs_load(&rule->enabled) != 0;
			*timed = pfs_load(&rule->timed) != 0;
		}
	}
}
