/*
 * test_names.c - interned texts: one reference for one text, also for many threads at once.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/names.h"

#define NAMES 300
#define THREADS 4

static PfsRef
intern(PfsArena *arena, const char *text)
{
	return pfs_name(arena, text, strlen(text));
}

static bool
reads(const PfsArena *arena, PfsRef ref, const char *want, size_t want_length)
{
	size_t length = 0;
	const char *text = pfs_name_text(arena, ref, &length);

	return text != NULL && length == want_length && memcmp(text, want, length) == 0;
}

static void
test_names(void)
{
	PfsArena *arena = fixture_arena(NULL);
	char longer[400];
	size_t length;
	PfsRef ada = intern(arena, "ada");

	ok(ada != 0 && intern(arena, "ada") == ada, "the same text has the same reference");
	ok(intern(arena, "Ada") != ada && pfs_name(arena, "adam", 4) != ada, "others have others");
	ok(pfs_name(arena, "adam", 3) == ada, "texts have a length");
	ok(reads(arena, ada, "ada", 3), "and can be read");
	is_u64(pfs_name(arena, NULL, 0), 0, "no text is no name");
	ok(reads(arena, pfs_name(arena, "", 0), "", 0), "the empty text is one");
	ok(pfs_name(arena, "a\0b", 3) != pfs_name(arena, "a\0c", 3), "zero bytes count");
	memset(longer, 'x', sizeof(longer));
	ok(reads(arena, pfs_name(arena, longer, sizeof(longer)), longer, PFS_NAME_MAX),
	   "long names are cut");
	ok(pfs_name(arena, longer, 300) == pfs_name(arena, longer, 400), "to the same name");
	ok(pfs_name_text(arena, 0, &length) == NULL, "0 has no text");
	ok(pfs_name_text(arena, UINT32_MAX, &length) == NULL, "nor has a damaged reference");
	fixture_free(arena);
}

static bool
has_parts(const PfsArena *arena, PfsRef routine, const char *schema, const char *name)
{
	PfsNameCopy copy;
	unsigned type;
	const char *parts[2];
	size_t length[2];

	return pfs_routine_parts(arena, routine, &copy, &type, &parts[0], &length[0], &parts[1],
							 &length[1]) &&
		type == PFS_OBJECT_TRIGGER && length[0] == strlen(schema) &&
		memcmp(parts[0], schema, length[0]) == 0 && length[1] == strlen(name) &&
		memcmp(parts[1], name, length[1]) == 0;
}

static void
test_routines(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsRef routine = pfs_routine_name(arena, PFS_OBJECT_TRIGGER, "shop", "check_item");
	PfsRef other = pfs_routine_name(arena, PFS_OBJECT_TRIGGER, "sho", "pcheck_item");
	char longer[200];
	char cut[64];

	ok(has_parts(arena, routine, "shop", "check_item"), "a routine has parts");
	ok(routine != other, "where the schema ends makes a difference");
	ok(!has_parts(arena, 0, "", ""), "no routine has none");
	memset(longer, 'y', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	memset(cut, 'y', sizeof(cut));
	cut[63] = '\0';
	routine = pfs_routine_name(arena, PFS_OBJECT_TRIGGER, longer, longer);
	ok(has_parts(arena, routine, cut, cut), "parts are as long as the server's names");
	fixture_free(arena);
}

#define MORE_THAN_FIT 10000

static void
test_full(void)
{
	PfsArena *arena = fixture_arena(NULL);
	uint64_t before = pfs_pool_bytes_used(pfs_pool_of(arena));
	int room = (int) arena->kept_name_units;
	static PfsRef ref[MORE_THAN_FIT];
	int kept = 0;
	int wrong = 0;

	for (int i = 0; i < MORE_THAN_FIT; i++)
	{
		char text[20];

		snprintf(text, sizeof(text), "name %d", i);
		ref[i] = intern(arena, text);
		kept += ref[i] != 0;
	}
	is_u64((uint64_t) kept, (uint64_t) room, "as many names as fit");
	is_u64(loss_of(arena, PFS_LOSS_NAMES), (uint64_t) (MORE_THAN_FIT - room), "the others are counted");
	for (int i = 0; i < room; i++)
	{
		char text[20];

		snprintf(text, sizeof(text), "name %d", i);
		wrong += intern(arena, text) != ref[i];
	}
	is_u64((uint64_t) wrong, 0, "what was there is still found");
	is_u64(pfs_pool_bytes_used(pfs_pool_of(arena)), before, "names take nothing from the pool");
	fixture_free(arena);
}

#define MANY 100000

static PfsRef
passing(PfsArena *arena, const char *what, int number)
{
	char text[40];

	return pfs_passing_name(arena, text,
							(size_t) snprintf(text, sizeof(text), "%s_%d", what, number));
}

static bool
is_named(const PfsArena *arena, PfsRef ref, const char *what, int number)
{
	PfsNameCopy copy;
	char text[40];

	snprintf(text, sizeof(text), "%s_%d", what, number);
	return pfs_name_copy(arena, ref, &copy) && copy.length == strlen(text) &&
		memcmp(copy.text, text, copy.length) == 0;
}

/* Whatever one user does, others are recorded with their names. */
static void
test_many(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "[local]");
	uint64_t before = pfs_pool_bytes_used(pfs_pool_of(arena));
	PfsRef own = passing(arena, "own", 1);
	static PfsRef ref[MANY];
	PfsNameCopy copy;
	int alive = 0;
	int wrong = 0;
	int lost = 0;

	pfs_store(&session->thread->schema, own);
	for (int i = 0; i < MANY; i++)
	{
		ref[i] = passing(arena, "schema", i);
		wrong += !is_named(arena, ref[i], "schema", i);
		pfs_routine_name(arena, PFS_OBJECT_FUNCTION, "public", "f");
	}
	is_u64((uint64_t) wrong, 0, "each of many names is there when it is used");
	for (int i = 0; i < MANY; i++)
	{
		bool there = pfs_name_copy(arena, ref[i], &copy);

		alive += there;
		lost += there != pfs_name_is_alive(arena, ref[i]);
		wrong += there && !is_named(arena, ref[i], "schema", i);
	}
	ok(alive > 0 && alive <= PFS_PASSING_NAMES, "%d of them have not given way", alive);
	is_u64((uint64_t) wrong, 0, "and no reference leads to another name");
	is_u64((uint64_t) lost, 0, "the dead ones are known");
	ok(own == passing(arena, "own", 1) && is_named(arena, own, "own", 1),
	   "the schema of a session stays");
	is_u64(loss_of(arena, PFS_LOSS_NAMES), 0, "nothing was lost");
	is_u64(pfs_pool_bytes_used(pfs_pool_of(arena)), before, "the pool was not touched");
	ok(intern(arena, "newcomer") != 0, "a new user has a name");
	ok(!pfs_name_copy(arena, 0, &copy) && !pfs_name_copy(arena, UINT32_MAX, &copy) &&
		   !pfs_name_copy(arena, intern(arena, "newcomer"), &copy),
	   "what is no passing name leads to none");
	fixture_detach(session);
	fixture_free(arena);
}

/* Tables that come and go, each with a name of its own. */
static void
test_many_tables(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "[local]");
	PfsTableNames names;
	uint64_t before;
	FixtureRow kept = fixture_table(arena, 5, 1, 0);
	int wrong = 0;

	pfs_table_name(arena, kept.row, kept.use, "public", "orders", "orders_pkey", 0);
	before = pfs_pool_bytes_used(pfs_pool_of(arena));
	for (int i = 0; i < MANY; i++)
	{
		FixtureRow row = fixture_table(arena, 5, 16384 + (uint32_t) i, 0);
		char name[40];

		wrong += pfs_table_names_read(arena, row.row, row.use, &names);
		snprintf(name, sizeof(name), "temporary_%d", i);
		pfs_table_name(arena, row.row, row.use, "pg_temp_3", name, NULL, 0);
		wrong += !pfs_table_names_read(arena, row.row, row.use, &names) ||
			strcmp(names.table, name) != 0 || names.index[0] != '\0';
		pfs_table_forget(arena, 5, 16384 + (uint32_t) i);
		wrong += pfs_table_names_read(arena, row.row, row.use, &names);
	}
	is_u64((uint64_t) wrong, 0, "each has its own name, as long as it is there");
	is_u64(pfs_pool_bytes_used(pfs_pool_of(arena)), before, "nothing of them stays");
	ok(pfs_table_names_read(arena, kept.row, kept.use, &names) &&
		   strcmp(names.index, "orders_pkey") == 0,
	   "another one keeps its name");
	for (int i = 0; i < PFS_LOSSES; i++)
		wrong += pfs_load(&arena->loss[i]) != 0;
	is_u64((uint64_t) wrong, 0, "and nothing was lost");
	fixture_detach(session);
	fixture_free(arena);
}

typedef struct Interner
{
	PfsArena *arena;
	uint32_t start;
	PfsRef ref[NAMES];
} Interner;

static void *
intern_all(void *argument)
{
	Interner *interner = argument;

	for (uint32_t i = 0; i < NAMES; i++)
	{
		uint32_t number = (i + interner->start) % NAMES;
		char text[20];

		snprintf(text, sizeof(text), "shared %u", number);
		interner->ref[number] = intern(interner->arena, text);
	}
	return NULL;
}

static void
test_threads(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;
	Interner interner[THREADS];
	int wrong = 0;

	sizes.users = THREADS * NAMES;
	arena = fixture_arena(&sizes);
	for (uint32_t i = 0; i < THREADS; i++)
		interner[i] = (Interner){.arena = arena, .start = i % 2 * 50};
	run_threads(THREADS, intern_all, interner, sizeof(Interner));
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < NAMES; i++)
			wrong += interner[t].ref[i] == 0 || interner[t].ref[i] != interner[0].ref[i];
	is_u64((uint64_t) wrong, 0, "all threads got the same references");
	fixture_free(arena);
}

/* Passing names come and go while others read them: what is read is what was meant. */
static void *
pass_all(void *argument)
{
	Interner *interner = argument;
	uint64_t wrong = 0;

	for (int i = 0; i < 20000; i++)
	{
		int number = (int) (interner->start * 1000) + i % 3000;
		PfsRef ref = passing(interner->arena, "name", number);
		PfsNameCopy copy;
		char text[40];

		if (ref == 0 || !pfs_name_copy(interner->arena, ref, &copy))
			continue; /* it has given way already */
		snprintf(text, sizeof(text), "name_%d", number);
		wrong += copy.length != strlen(text) || memcmp(copy.text, text, copy.length) != 0;
	}
	interner->ref[0] = (PfsRef) wrong;
	return NULL;
}

static void
test_passing_threads(void)
{
	PfsArena *arena = fixture_arena(NULL);
	Interner interner[THREADS];
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < THREADS; i++)
		interner[i] = (Interner){.arena = arena, .start = i};
	run_threads(THREADS, pass_all, interner, sizeof(Interner));
	for (int t = 0; t < THREADS; t++)
		wrong += interner[t].ref[0];
	is_u64(wrong, 0, "no name is mistaken for another");
	fixture_free(arena);
}

int
main(void)
{
	test_names();
	test_routines();
	test_full();
	test_many();
	test_many_tables();
	test_threads();
	test_passing_threads();
	return done_testing();
}
