/*
 * test_setup.c - patterns, consumers and their hierarchy, the gate, rules for actors and objects.
 */
#include "arena_fixture.h"
#include "tap.h"

/* --- patterns --- */

/* The meaning of a pattern, as plainly as it can be said. */
static bool
like_plainly(const char *pattern, const char *text)
{
	if (*pattern == '\0')
		return *text == '\0';
	if (*pattern == '%')
		return like_plainly(pattern + 1, text) ||
			   (*text != '\0' && like_plainly(pattern, text + 1));
	if (*text == '\0')
		return false;
	if (*pattern == '\\' && pattern[1] != '\0')
		return pattern[1] == *text && like_plainly(pattern + 2, text + 1);
	return (*pattern == '_' || *pattern == '?' || *pattern == *text) &&
		   like_plainly(pattern + 1, text + 1);
}

static void
random_word(uint64_t *random, const char *letters, char *word, size_t max)
{
	size_t length = next_random(random) % max;

	for (size_t i = 0; i < length; i++)
		word[i] = letters[next_random(random) % strlen(letters)];
	word[length] = '\0';
}

static void
test_patterns(void)
{
	uint64_t random = 4711;
	int differences = 0;

	ok(pfs_like("statement/%", "statement/sql/select"), "%% at the end");
	ok(pfs_like("%select", "statement/sql/select"), "%% at the start");
	ok(pfs_like("s%/%t", "statement/sql/select"), "%% in between");
	ok(!pfs_like("statement", "statement/sql"), "the whole text must match");
	ok(!pfs_like("statement/sql", "statement"), "the whole pattern too");
	ok(pfs_like("a\\%b", "a%b") && !pfs_like("a\\%b", "axb"), "an escaped %%");
	ok(pfs_like("%", "") && pfs_like("%%", "") && !pfs_like("_", ""), "the empty text");
	for (int i = 0; i < 20000; i++)
	{
		char pattern[9];
		char text[9];

		random_word(&random, "ab%_?\\", pattern, sizeof(pattern));
		random_word(&random, "ab%\\", text, sizeof(text));
		if (pfs_like(pattern, text) != like_plainly(pattern, text))
		{
			differences++;
			printf("# pattern '%s' text '%s'\n", pattern, text);
		}
	}
	is_u64((uint64_t) differences, 0, "random patterns match as their definition says");
}

/* --- consumers and the gate --- */

static uint32_t
consumer_bits(const PfsArena *arena)
{
	return pfs_load(&arena->gate) & ((1u << PFS_CONSUMERS) - 1);
}

static void
test_consumers(void)
{
	PfsArena *arena = fixture_arena(NULL);
	uint32_t all = (1u << PFS_CONSUMERS) - 1;
	uint32_t gate;

	is_str(pfs_consumer_name(PFS_CONSUMER_STATEMENTS_HISTORY_LONG),
		   "events_statements_history_long", "a consumer's name");
	ok(!pfs_consumer_is_default(PFS_CONSUMER_STATEMENTS_HISTORY_LONG), "not on by default");
	is_u64(consumer_bits(arena), pfs_load(&arena->consumers), "by default all parents are on");

	for (int i = 0; i < PFS_CONSUMERS; i++)
		pfs_set_consumer(arena, i, true);
	is_u64(consumer_bits(arena), all, "everything on");
	pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_CURRENT, false);
	is_u64(consumer_bits(arena),
		   all & ~(PFS_WANTS(STATEMENTS_CURRENT) | PFS_WANTS(STATEMENTS_HISTORY) |
				   PFS_WANTS(STATEMENTS_HISTORY_LONG)),
		   "current statements off: their histories have no effect");
	pfs_set_consumer(arena, PFS_CONSUMER_THREAD, false);
	is_u64(consumer_bits(arena), PFS_WANTS(GLOBAL) | PFS_WANTS(DIGEST),
		   "thread instrumentation off: only global sums and digests");
	gate = pfs_load(&arena->gate);
	ok((gate & PFS_GATE_ANY) == PFS_GATE_ANY, "instruments are still wanted");
	pfs_set_consumer(arena, PFS_CONSUMER_GLOBAL, false);
	is_u64(pfs_load(&arena->gate), 0, "global instrumentation off: one word of zeros");
	pfs_set_consumer(arena, PFS_CONSUMER_GLOBAL, true);
	is_u64(pfs_load(&arena->gate), gate, "and back");
	pfs_consumers_default(arena);
	ok((pfs_load(&arena->consumers) & PFS_WANTS(STATEMENTS_HISTORY_LONG)) == 0, "defaults");
	fixture_free(arena);
}

static void
test_gate(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "host");
	PfsInstrument *error = pfs_instrument(arena, arena->error_instrument);

	ok(pfs_wants(session, PFS_GATE_STATEMENTS), "statements are wanted");
	for (uint32_t i = 0; i < FIXTURE_CLASSES; i++)
	{
		ok(pfs_wants(session, PFS_GATE_STATEMENTS), "while class %u is on", i);
		pfs_set_instrument(arena, pfs_instrument(arena, i), 0, -1);
	}
	ok(!pfs_wants(session, PFS_GATE_STATEMENTS), "not when all classes are off");
	ok(pfs_wants(session, PFS_GATE_TRANSACTIONS), "other kinds are");
	ok(pfs_wants(session, PFS_GATE_STATEMENTS | PFS_GATE_ERRORS), "one of two kinds is enough");
	ok(pfs_load(&pfs_instrument(arena, 0)->timed), "the other flag was left as it was");
	pfs_set_instrument(arena, error, -1, 1);
	ok(!pfs_load(&error->timed), "what cannot be timed stays untimed");
	pfs_store(&session->thread->instrumented, 0);
	ok(!pfs_wants(session, PFS_GATE_ANY), "nothing is wanted from a thread that is not observed");
	fixture_detach(session);
	{
		PfsSession *none = calloc(1, sizeof(*none));

		none->arena = arena;
		ok(!pfs_wants(none, PFS_GATE_ANY), "nor from a process without a slot");
		free(none);
	}
	fixture_free(arena);
}

/* Waits have two bits: that of libc calls, and that of table I/O, which is no call. */
static void
test_gate_of_waits(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;
	PfsSession *session;
	uint32_t calls_on;
	uint32_t changes;

	sizes.waits++;
	sizes.instruments++;
	arena = fixture_arena(&sizes);
	session = fixture_attach(arena, 0, "ada", "host");
	ok(pfs_wants(session, PFS_GATE_CALLS) && pfs_wants(session, PFS_GATE_TABLES), "both wanted");
	calls_on = pfs_load(&arena->calls_on);
	changes = pfs_load(&arena->setup_changes);
	pfs_set_instrument(arena, pfs_wait_instrument(arena, FIXTURE_WAIT_TABLE), 0, -1);
	ok(!pfs_wants(session, PFS_GATE_TABLES) && pfs_wants(session, PFS_GATE_CALLS),
	   "no rows of tables");
	ok(pfs_load(&arena->setup_changes) != changes, "sessions look again");
	pfs_set_instrument(arena, pfs_wait_instrument(arena, FIXTURE_WAIT_TABLE), 1, -1);
	is_u64(pfs_load(&arena->calls_on), calls_on, "calls were observed all the time");
	for (uint32_t i = 0; i < FIXTURE_WAITS; i++)
	{
		ok(pfs_wants(session, PFS_GATE_CALLS), "while wait %u is on", i);
		if (i != FIXTURE_WAIT_TABLE)
			pfs_set_instrument(arena, pfs_wait_instrument(arena, i), 0, -1);
		if (i == FIXTURE_WAIT_IDLE)
			break;
	}
	ok(!pfs_wants(session, PFS_GATE_CALLS) && pfs_wants(session, PFS_GATE_TABLES),
	   "no wait but that of tables");
	ok(pfs_wants(session, PFS_GATE_STATEMENTS), "other kinds are wanted");
	is_u64(pfs_load(&arena->calls_on), calls_on, "what is open now is known as long as it is seen");
	pfs_register_wait(arena, PFS_WAIT_PLAIN, "wait/late", "", 0, true);
	ok(pfs_wants(session, PFS_GATE_CALLS), "a wait that comes later turns them on");
	is_u64(pfs_load(&arena->calls_on), calls_on + 1, "descriptors must be asked for again");
	pfs_set_instrument(arena, pfs_wait_instrument(arena, FIXTURE_WAIT_FILE), 1, -1);
	is_u64(pfs_load(&arena->calls_on), calls_on + 1, "once");
	pfs_set_consumer(arena, PFS_CONSUMER_GLOBAL, false);
	ok(!pfs_wants(session, PFS_GATE_CALLS | PFS_GATE_TABLES), "global instrumentation off");
	pfs_set_consumer(arena, PFS_CONSUMER_GLOBAL, true);
	is_u64(pfs_load(&arena->calls_on), calls_on + 2, "and on");
	ok(!pfs_wait_shown(session), "waits make no rows by default");
	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_HISTORY, true);
	ok(!pfs_wait_shown(session), "nor for a history without current");
	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_CURRENT, true);
	ok(pfs_wait_shown(session), "they do now");
	pfs_set_consumer(arena, PFS_CONSUMER_THREAD, false);
	ok(!pfs_wait_shown(session), "not without thread instrumentation");
	fixture_detach(session);
	fixture_free(arena);
}

/* --- rules --- */

static PfsActor
actor(const char *user, const char *host, int number)
{
	PfsActor row = {.role = "%", .enabled = (uint8_t) (number & 1)};

	row.history = (uint8_t) (number >> 1 & 1);
	strcpy(row.user, user);
	strcpy(row.host, host);
	return row;
}

/* enabled + 2 * history */
static uint64_t
actor_rule(const PfsArena *arena, const char *user, const char *host)
{
	bool enabled;
	bool history;

	pfs_actor_lookup(arena, user, host, &enabled, &history);
	return (uint64_t) enabled + 2 * (uint64_t) history;
}

static void
test_actors(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsActor rules[] = {actor("%", "near", 0), actor("ada", "%", 2), actor("ada", "near", 1)};
	PfsActor fifth = actor("bob", "near", 3);

	is_u64(actor_rule(arena, "ada", "near"), 3, "everybody by default");
	for (size_t i = 0; i < PFS_LENGTH(rules); i++)
		is_u64(pfs_actor_insert(arena, &rules[i]), PFS_RULE_OK, "a rule more");
	is_u64(actor_rule(arena, "ada", "near"), 1, "user and host");
	is_u64(actor_rule(arena, "ada", "far"), 2, "user before host");
	is_u64(actor_rule(arena, "bob", "near"), 0, "host before everybody");
	is_u64(actor_rule(arena, "bob", "far"), 3, "everybody");
	is_u64(pfs_actor_insert(arena, &rules[1]), PFS_RULE_DUPLICATE, "the same key again");
	is_u64(pfs_actor_insert(arena, &fifth), PFS_RULE_FULL, "a full table");
	pfs_store(&pfs_actor(arena, 0)->used, 0);
	is_u64(actor_rule(arena, "bob", "far"), 0, "no rule means no");
	is_u64(pfs_actor_insert(arena, &fifth), PFS_RULE_OK, "a removed row's place is used again");
	is_u64(actor_rule(arena, "bob", "near"), 3, "by the new rule");
	fixture_free(arena);
}

static PfsObject
object(PfsObjectType type, const char *schema, const char *name, int number)
{
	PfsObject row = {.type = (uint8_t) type, .enabled = (uint8_t) (number & 1)};

	row.timed = (uint8_t) (number >> 1 & 1);
	strcpy(row.schema, schema);
	strcpy(row.name, name);
	return row;
}

static uint64_t
object_rule(const PfsArena *arena, PfsObjectType type, const char *schema, const char *name)
{
	bool enabled;
	bool timed;

	pfs_object_lookup(arena, type, schema, name, &enabled, &timed);
	return (uint64_t) enabled + 2 * (uint64_t) timed;
}

static void
test_objects(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsObject schema = object(PFS_OBJECT_TABLE, "shop", "%", 1);
	PfsObject table = object(PFS_OBJECT_TABLE, "shop", "item", 2);
	PfsObject useless = object(PFS_OBJECT_TABLE, "%", "item", 0);
	PfsObject more = object(PFS_OBJECT_TRIGGER, "shop", "item", 0);

	is_u64(object_rule(arena, PFS_OBJECT_TABLE, "shop", "item"), 3, "all objects by default");
	is_u64(object_rule(arena, PFS_OBJECT_TABLE, "pg_catalog", "pg_class"), 0,
		   "but not the server's own");
	pfs_object_insert(arena, &schema);
	is_u64(object_rule(arena, PFS_OBJECT_TABLE, "shop", "item"), 1, "a schema's rule");
	is_u64(object_rule(arena, PFS_OBJECT_FUNCTION, "shop", "item"), 3, "is for one type only");
	pfs_object_insert(arena, &table);
	is_u64(object_rule(arena, PFS_OBJECT_TABLE, "shop", "item"), 2, "a table's rule wins");
	pfs_object_insert(arena, &useless);
	is_u64(object_rule(arena, PFS_OBJECT_TABLE, "other", "item"), 3,
		   "(%, name) is no rule, as in MySQL");
	is_u64(pfs_object_insert(arena, &table), PFS_RULE_DUPLICATE, "the same key again");
	is_u64(pfs_object_insert(arena, &more), PFS_RULE_OK, "the last place");
	strcpy(more.name, "x");
	is_u64(pfs_object_insert(arena, &more), PFS_RULE_FULL, "a full table");
	is_str(pfs_object_type_name(PFS_OBJECT_TRIGGER), "TRIGGER", "a type's name");
	ok(pfs_object_type_name(PFS_OBJECT_TYPES) == NULL, "no type has no name");
	fixture_free(arena);
}

int
main(void)
{
	test_patterns();
	test_consumers();
	test_gate();
	test_gate_of_waits();
	test_actors();
	test_objects();
	return done_testing();
}
