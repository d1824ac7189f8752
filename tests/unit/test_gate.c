/*
 * test_gate.c - the gate says what is wanted, whoever throws switches at the same time: by UPDATE
 * (under the setup lock) or by a wait that is met for the first time (under the roll-up lock).
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/rollup.h"
#include "core/setup.h"

#define THREADS 4
#define TURNS 3000

typedef struct Switcher
{
	PfsArena *arena;
	uint32_t instrument;
	PfsConsumer consumer;
	int turns;
	bool on; /* at the end */
} Switcher;

static void *
switch_all(void *argument)
{
	Switcher *switcher = argument;

	for (int i = 0; i < switcher->turns; i++)
	{
		bool last = i == switcher->turns - 1;
		bool on = last ? switcher->on : i % 2 == 0;

		pfs_set_instrument(switcher->arena, pfs_instrument(switcher->arena, switcher->instrument),
						   on, -1);
		pfs_set_consumer(switcher->arena, switcher->consumer, on);
	}
	return NULL;
}

/* All end with their last switch: whoever was last must have seen all. */
static void
test_switches(void)
{
	static const uint32_t instruments[THREADS] = {
		0, FIXTURE_CLASSES, FIXTURE_CLASSES + 1, FIXTURE_CLASSES + 2 + FIXTURE_WAIT_TABLE};
	static const PfsConsumer consumers[THREADS] = {
		PFS_CONSUMER_STATEMENTS_HISTORY_LONG, PFS_CONSUMER_TRANSACTIONS_HISTORY_LONG,
		PFS_CONSUMER_WAITS_CURRENT, PFS_CONSUMER_DIGEST};
	int stale = 0;

	for (unsigned round = 0; round < 100; round++)
	{
		PfsArena *arena = fixture_arena(NULL);
		Switcher switcher[THREADS];
		uint32_t gate;

		for (uint32_t i = 0; i < FIXTURE_INSTRUMENTS; i++)
			pfs_set_instrument(arena, pfs_instrument(arena, i), 0, -1);
		for (unsigned i = 0; i < THREADS; i++)
			switcher[i] = (Switcher){arena, instruments[i], consumers[i], TURNS / 100,
									 (round * 7 + i) % 3 != 0};
		run_threads(THREADS, switch_all, switcher, sizeof(Switcher));
		gate = pfs_load(&arena->gate);
		pfs_refresh_gate(arena);
		stale += pfs_load(&arena->gate) != gate;
		fixture_free(arena);
	}
	is_u64((uint64_t) stale, 0, "the gate is what the switches say");
}

static void *
register_waits(void *argument)
{
	PfsArena *arena = argument;

	for (int i = 0; i < 40; i++)
	{
		char name[40];

		snprintf(name, sizeof(name), "wait/extension/later_%d", i);
		while (!pfs_rollup_lock(arena, true))
			;
		pfs_register_wait(arena, PFS_WAIT_PLAIN, name, "later", 0, i % 2 == 0);
		pfs_rollup_unlock(arena);
	}
	return NULL;
}

static void *
switch_one(void *argument)
{
	PfsArena *arena = argument;

	for (int i = 0; i < 200; i++)
		pfs_set_instrument(arena, pfs_instrument(arena, 0), i % 2 == 0, -1);
	return NULL;
}

static void *
either(void *argument)
{
	Switcher *switcher = argument;

	return switcher->turns == 0 ? register_waits(switcher->arena) : switch_one(switcher->arena);
}

static void
test_registration(void)
{
	int stale = 0;
	int missing = 0;

	for (int round = 0; round < 50; round++)
	{
		PfsSizes sizes = fixture_sizes();
		PfsArena *arena;
		Switcher switcher[2];
		uint32_t gate;

		sizes.waits += 40;
		sizes.instruments += 40;
		arena = fixture_arena(&sizes);
		for (uint32_t i = 0; i < FIXTURE_INSTRUMENTS; i++)
			pfs_set_instrument(arena, pfs_instrument(arena, i), 0, -1);
		switcher[0] = (Switcher){.arena = arena, .turns = 0};
		switcher[1] = (Switcher){.arena = arena, .turns = 1};
		run_threads(2, either, switcher, sizeof(Switcher));
		gate = pfs_load(&arena->gate);
		pfs_refresh_gate(arena);
		stale += pfs_load(&arena->gate) != gate;
		missing += (gate & PFS_GATE_CALLS) == 0;
		fixture_free(arena);
	}
	is_u64((uint64_t) stale, 0, "also beside waits that are met for the first time");
	is_u64((uint64_t) missing, 0, "which open it");
}

static PfsArena *other_arena;

/* Another process throws its switch, and is done, while the first has looked and not stored yet. */
static void
other_is_faster(void)
{
	pfs_inside_gate = NULL;
	pfs_set_instrument(other_arena, pfs_instrument(other_arena, FIXTURE_CLASSES), 1, -1);
}

static void
test_overtaken(void)
{
	PfsArena *arena = fixture_arena(NULL);

	for (uint32_t i = 0; i < FIXTURE_INSTRUMENTS; i++)
		pfs_set_instrument(arena, pfs_instrument(arena, i), 0, -1);
	other_arena = arena;
	pfs_inside_gate = other_is_faster;
	pfs_set_instrument(arena, pfs_instrument(arena, 0), 1, -1);
	ok((arena->gate & PFS_GATE_STATEMENTS) != 0, "the slower switch is in the gate");
	ok((arena->gate & PFS_GATE_TRANSACTIONS) != 0, "and that of who was faster");
	fixture_free(arena);
}

int
main(void)
{
	test_overtaken();
	test_switches();
	test_registration();
	return done_testing();
}
