/*
 * test_damaged.c - a damaged arena: whatever stands in it, readers and recorders stay inside it.
 *
 * A populated arena is damaged word by word, random and extreme values, then everything is recorded
 * and every table read. Only the layout is spared: sizes and offsets, which are written once, before
 * there is a second process. Memory around the arena must be untouched; AddressSanitizer sees reads.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/digest_wait.h"
#include "core/history.h"
#include "core/names.h"
#include "core/prepared.h"
#include "core/rollup.h"

#include <unistd.h>

#ifndef ROUNDS
#define ROUNDS 300
#endif
#define SESSIONS 3
#define SECONDS_AT_MOST 60

typedef struct World
{
	PfsArena *arena;
	PfsSession *session[SESSIONS];
	PfsStatement *open[SESSIONS];
	PfsWait wait[SESSIONS];
} World;

static uint64_t seed;

/* --- the world --- */

static void
record_waits(PfsSession *session, int i)
{
	FixtureRow file = fixture_file(session->arena, i == 0 ? "base/5/16384" : "base/5/16385");
	FixtureRow table = fixture_table(session->arena, 5, 16384 + i, i);
	PfsLockWait lock = {.thread_id = session->thread->thread_id, .pid = 1, .wait = 10};

	for (int operation = 0; operation < PFS_OPERATIONS; operation += 5)
	{
		fixture_wait(session, FIXTURE_WAIT_FILE, operation, file.row, file.use, 10, 100);
		fixture_wait(session, FIXTURE_WAIT_SOCKET, operation, 0, 0, 10, 100);
	}
	for (uint32_t wait = 0; wait < FIXTURE_WAITS; wait++)
		fixture_wait(session, wait, PFS_OPERATION_NONE, 0, 0, 1000, -1);
	fixture_wait(session, pfs_wait_of_code(session->arena, FIXTURE_LWLOCK_CODE), PFS_OPERATION_NONE,
				 0, 0, 10, -1);
	fixture_fetch(session, table, 3, 10);
	pfs_table_lock_add(session->arena, table.row, table.use, 1 + i, 10);
	pfs_history_lock_wait(session, &lock);
}

static void
record_prepared(PfsSession *session, const PfsStatementRecord *record)
{
	PfsPrepared what = {.name = "one", .name_length = 3, .text_length = 100, .role = FIXTURE_ROLE};
	char text[100] = "";
	PfsRef row = pfs_prepared_add(session->arena, session->thread, &what, text);

	pfs_prepared_add(session->arena, session->thread, &what, text);
	pfs_prepared_count(session->arena, session->thread, row, true, record);
	pfs_prepared_count(session->arena, session->thread, pfs_load(&session->thread->prepared), false, record);
	pfs_prepared_planned(session->arena, session->thread, row, 1, 2, true);
	pfs_prepared_remove(session->arena, session->thread, row);
}

static void
record(World *world, int i)
{
	PfsSession *session = world->session[i];
	PfsArena *arena = world->arena;
	char text[80];

	memset(text, 'x', sizeof(text));
	text[79] = '\0';
	for (uint64_t id = 1; id < 12; id++)
	{
		PfsStatement *statement = fixture_open(session, id % FIXTURE_CLASSES, id, text);

		if (statement == NULL)
			continue;
		session->running = statement;
		record_prepared(session, statement->record);
		if (i == 0)
			record_waits(session, (int) id % 2);
		pfs_statement_fail(session, statement, 3, text, 20);
		pfs_store(&statement->record->schema, pfs_passing_name(arena, "public", 6));
		pfs_statement_routine_set(statement,
				  pfs_routine_name(arena, PFS_OBJECT_FUNCTION, "shop", "f"));
		pfs_statement_close(session, statement, FIXTURE_START + (1ull << (id * 5)));
	}
	record_waits(session, i);
	fixture_transaction(session, i == 1, 10);
	pfs_error_count(session, (uint32_t) i, PFS_ERROR_RAISED, 10);
	pfs_statement_tally(session, 0, 0);
	pfs_answer(session, (uint32_t) i % PFS_ANSWERS);
}

/* Sessions have a statement and a wait open, so that damage hits them in the middle. */
static void
begin_events(World *world, int i)
{
	world->wait[i] = (PfsWait){.wait = (uint32_t) i, .operation = PFS_OPERATION_READ};
	world->open[i] = fixture_open(world->session[i], 0, 3 + (uint64_t) i, "open");
	world->session[i]->running = world->open[i];
	pfs_transaction_open(world->session[i], FIXTURE_START);
	pfs_wait_begin(world->session[i], &world->wait[i], FIXTURE_START);
}

static void
end_events(World *world, int i)
{
	PfsSession *session = world->session[i];

	pfs_wait_end(session, &world->wait[i], FIXTURE_START + 10, 10);
	pfs_transaction_close(session, PFS_TRANSACTION_COMMITTED, FIXTURE_START + 10);
	if (world->open[i] != NULL)
		pfs_statement_close(session, world->open[i], FIXTURE_START + 77);
	session->running = NULL;
}

static void
read_everything(PfsArena *arena)
{
	for (int i = 0; pfs_tables[i] != NULL; i++)
		rows_free(rows_of(arena, pfs_tables[i]->name));
	rows_free(rows_seen_by(arena, "threads", "ada"));
}

/* --- damage --- */

static uint64_t
some_value(const PfsArena *arena)
{
	const uint64_t values[] = {0, 1, 2, 31, 32, 255, 65535, INT32_MAX, UINT32_MAX, UINT32_MAX - 1,
		UINT64_MAX, UINT64_MAX / 2, arena->sizes.digests, arena->sizes.digests + 2,
		arena->sizes.threads, pfs_pool_of(arena)->units - 1, pfs_pool_of(arena)->units,
		pfs_pool_of(arena)->units - 2, arena->bytes, 1ull << 32, 12, 13, 64};
	uint64_t random = next_random(&seed);

	switch (random % 4)
	{
		case 0:
			return random >> 8;
		case 1:
			return random >> 8 & (arena->sizes.pool_bytes / PFS_POOL_UNIT - 1);
		default:
			return values[(random >> 8) % PFS_LENGTH(values)];
	}
}

/* Most damage goes to where something is: half of it before the pool, half into its used part. */
static void
damage(PfsArena *arena)
{
	uint64_t first = offsetof(PfsArena, gate);
	uint64_t used = pfs_load(&pfs_pool_of(arena)->next_unit) * PFS_POOL_UNIT;
	uint64_t bytes = next_random(&seed) % 2 ? arena->pool - first
		: pfs_min(arena->pool + used, arena->bytes) - first;
	uint64_t at = first + next_random(&seed) % bytes / 8 * 8;
	uint64_t value = some_value(arena);
	static const size_t widths[] = {8, 4, 4, 4, 2, 1};
	size_t width = widths[next_random(&seed) % PFS_LENGTH(widths)];

	at += next_random(&seed) % (8 / width) * width;
	if (at / 8 == (arena->pool + offsetof(PfsPool, units)) / 8)
		return;
	memcpy((char *) arena + at, &value, width);
}

static void
damage_many(PfsArena *arena, int round)
{
	int words = round % 10 == 0 ? 20000 : round % 3 == 0 ? 2000 : 100;

	for (int i = 0; i < words; i++)
		damage(arena);
	/* whoever seems to hold a lock is waited for, which is bounded, but takes its time */
	arena->lock = 0;
	for (PfsObjectMap map = 0; map < PFS_MAPS; map++)
		for (uint32_t row = 1; row <= arena->sizes.files; row++)
			pfs_object_row_at(arena, map, row)->lock = 0;
}

static void
test_damage(void)
{
	PfsSizes sizes = fixture_sizes();
	World world;
	PfsArena *made;
	char *memory;
	char *pristine;
	PfsSession *kept[SESSIONS];
	World kept_world;
	int outside = 0;

	sizes.pool_bytes = 40000;
	made = fixture_arena(&sizes);
	memory = aligned_alloc(PFS_CACHE_LINE, PFS_ALIGN_UP(made->bytes, PFS_CACHE_LINE));
	memcpy(memory, made, made->bytes);
	fixture_free(made);
	world.arena = (PfsArena *) memory;
	fixture_keep_waits(world.arena);
	for (int i = 0; i < SESSIONS; i++)
	{
		world.session[i] = fixture_attach(world.arena, (uint32_t) i, "ada", "[local]");
		pfs_store(&world.session[i]->thread->calls,
				  pfs_pool_alloc(pfs_pool_of(world.arena), PFS_CALL_COUNTERS * 8));
		pfs_store(&world.session[i]->thread->socket.used, 1);
		record(&world, i);
		begin_events(&world, i);
	}
	read_everything(world.arena);
	pristine = malloc(world.arena->bytes);
	memcpy(pristine, world.arena, world.arena->bytes);
	kept_world = world;
	for (int i = 0; i < SESSIONS; i++)
	{
		kept[i] = malloc(sizeof(PfsSession));
		memcpy(kept[i], world.session[i], sizeof(PfsSession));
	}
	for (int round = 0; round < ROUNDS; round++)
	{
		seed = 88172645463325252ull + (uint64_t) round * 7919;
		memcpy(world.arena, pristine, ((PfsArena *) pristine)->bytes);
		for (int i = 0; i < SESSIONS; i++)
			memcpy(world.session[i], kept[i], sizeof(PfsSession));
		memcpy(world.open, kept_world.open, sizeof(world.open));
		memcpy(world.wait, kept_world.wait, sizeof(world.wait));
		printf("# round %d\n", round);
		fflush(stdout);
		damage_many(world.arena, round);
		/* a reader and a recorder must both meet the damage first */
		if (round % 2 == 0)
			read_everything(world.arena);
		for (int i = 0; i < SESSIONS; i++)
		{
			end_events(&world, i);
			record(&world, i);
			begin_events(&world, i);
			if (round % 2 == 0)
				damage_many(world.arena, 1);
		}
		read_everything(world.arena);
		if (round % 4 == 0)
			for (int i = 0; pfs_tables[i] != NULL; i++)
				table_truncate(world.arena, pfs_tables[i]->name);
		pfs_file_forget(world.arena, "base/5/16384", 12);
		pfs_table_forget(world.arena, 5, round % 2 ? 16384 : 0);
		for (int i = 0; i < SESSIONS; i++)
		{
			end_events(&world, i);
			pfs_thread_detach(world.arena, world.session[i]->thread,
							  &world.session[i]->statements_long);
		}
		read_everything(world.arena);
		outside += memcmp(world.arena, pristine, offsetof(PfsArena, gate)) != 0;
	}
	is_u64((uint64_t) outside, 0, "damaged arenas: the layout stands");
	for (int i = 0; i < SESSIONS; i++)
	{
		free(kept[i]);
		free(world.session[i]);
	}
	free(pristine);
	free(memory);
}

int
main(void)
{
	alarm(SECONDS_AT_MOST);		/* a loop without an end is a failure, too */
	test_damage();
	return done_testing();
}
