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

static void
test_routines(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsRef routine = pfs_routine_name(arena, PFS_OBJECT_TRIGGER, "shop", "check_item");
	PfsRef other = pfs_routine_name(arena, PFS_OBJECT_TRIGGER, "sho", "pcheck_item");
	unsigned type;
	const char *schema;
	const char *name;
	size_t schema_length;
	size_t name_length;
	char longer[200];

	ok(pfs_routine_parts(arena, routine, &type, &schema, &schema_length, &name, &name_length),
	   "a routine has parts");
	is_u64(type, PFS_OBJECT_TRIGGER, "type");
	ok(schema_length == 4 && memcmp(schema, "shop", 4) == 0, "schema");
	ok(name_length == 10 && memcmp(name, "check_item", 10) == 0, "name");
	ok(routine != other, "where the schema ends makes a difference");
	ok(!pfs_routine_parts(arena, 0, &type, &schema, &schema_length, &name, &name_length),
	   "no routine has none");
	memset(longer, 'y', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	routine = pfs_routine_name(arena, 0, longer, longer);
	ok(pfs_routine_parts(arena, routine, &type, &schema, &schema_length, &name, &name_length) &&
		   schema_length == 100 && name_length == 100,
	   "long parts are cut");
	fixture_free(arena);
}

static void
test_full(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;
	PfsRef ref[NAMES];
	int kept = 0;
	int wrong = 0;

	sizes.pool_bytes = 100 * PFS_POOL_UNIT;
	arena = fixture_arena(&sizes);
	for (int i = 0; i < NAMES; i++)
	{
		char text[20];

		snprintf(text, sizeof(text), "name %d", i);
		ref[i] = intern(arena, text);
		kept += ref[i] != 0;
	}
	is_u64((uint64_t) kept, 100, "as many names as fit");
	is_u64(loss_of(arena, PFS_LOSS_NAMES), NAMES - 100, "the others are counted");
	for (int i = 0; i < 100; i++)
	{
		char text[20];

		snprintf(text, sizeof(text), "name %d", i);
		wrong += intern(arena, text) != ref[i];
	}
	is_u64((uint64_t) wrong, 0, "what was there is still found");
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
	PfsArena *arena = fixture_arena(NULL);
	Interner interner[THREADS];
	uint64_t before = pfs_pool_bytes_used(pfs_pool_of(arena));
	int wrong = 0;

	for (uint32_t i = 0; i < THREADS; i++)
		interner[i] = (Interner){.arena = arena, .start = i % 2 * 50};
	run_threads(THREADS, intern_all, interner, sizeof(Interner));
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < NAMES; i++)
			wrong += interner[t].ref[i] == 0 || interner[t].ref[i] != interner[0].ref[i];
	is_u64((uint64_t) wrong, 0, "all threads got the same references");
	is_u64(pfs_pool_bytes_used(pfs_pool_of(arena)) - before, NAMES * PFS_POOL_UNIT,
		   "and every text was kept once");
	fixture_free(arena);
}

int
main(void)
{
	test_names();
	test_routines();
	test_full();
	test_threads();
	return done_testing();
}
