/*
 * test_timer.c - choice of the clock and conversion of its ticks.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/clock.h"

static void
test_nanoseconds(void)
{
	PfsTicks before;
	uint64_t clock;

	pfs_timer_init(false);
	is_u64(pfs_timer.kind, PFS_TIMER_NANOSECOND, "no cycles wanted: nanoseconds");
	ok(pfs_timer.why_no_cycle != NULL, "and a reason is told");
	is_u64(pfs_timer.frequency, 1000000000, "a billion a second");
	is_u64((uint64_t) pfs_ticks_to_ps(1), 1000, "a tick is 1000 ps");
	is_u64((uint64_t) (pfs_ticks_to_ps(UINT64_MAX) / 1000), UINT64_MAX, "no overflow");
	is_u64(pfs_ns_to_ticks(12345), 12345, "and back");
	before = pfs_now();
	clock = pfs_clock_ns(CLOCK_MONOTONIC);
	ok(before <= clock && before >= pfs_timer.origin, "it is the monotonic clock");
}

/* Either choice is right here; what was chosen must be consistent. */
static void
test_cycles(void)
{
	uint64_t start_ns;
	uint64_t ns;
	PfsTicks start;
	double ratio;

	pfs_timer_init(true);
	if (pfs_timer.kind != PFS_TIMER_CYCLE)
	{
		ok(pfs_timer.why_no_cycle != NULL, "cycles refused: %s", pfs_timer.why_no_cycle);
		is_u64(pfs_timer.frequency, 1000000000, "nanoseconds instead");
		return;
	}
	ok(pfs_timer.why_no_cycle == NULL, "cycles in use");
	start = pfs_now();
	start_ns = pfs_clock_ns(CLOCK_MONOTONIC);
	while ((ns = pfs_clock_ns(CLOCK_MONOTONIC) - start_ns) < 5000000)
		;
	ratio = (double) (uint64_t) pfs_ticks_to_ps(pfs_now() - start) / 1000.0 / (double) ns;
	ok(ratio > 0.98, "cycles keep pace with the clock: %.4f", ratio);
	ratio = (double) (uint64_t) pfs_ticks_to_ps(pfs_ns_to_ticks(1000000000)) / 1e12;
	ok(ratio > 0.999999 && ratio < 1.000001, "there and back: %.9f", ratio);
}

/* An arena whose processes time by cycles of an injected counter: 2 GHz. */
#define HERTZ UINT64_C(2000000000)
#define START_CYCLES UINT64_C(5000000000000)
#define SECOND UINT64_C(1000000000)

static PfsArena *
cycling_arena(uint64_t ns)
{
	PfsArena *arena = fixture_arena(NULL);

	pfs_timer.kind = PFS_TIMER_CYCLE;
	pfs_timer.frequency = HERTZ;
	pfs_timer.ps_per_tick_q32 = UINT64_C(500) << 32;
	pfs_timer.ticks_per_ns_q32 = UINT64_C(2) << 32;
	pfs_timer.why_no_cycle = NULL;
	pfs_clock_compare(arena, (PfsClockPair){START_CYCLES, ns});
	return arena;
}

/* Seconds later the counter shows this; true: the clocks have parted. */
static bool
parted(PfsArena *arena, uint64_t ns, uint64_t seconds, int64_t cycles)
{
	pfs_clock_compare(arena, (PfsClockPair){START_CYCLES + (uint64_t) cycles, ns + seconds * SECOND});
	pfs_clock_follow(arena);
	return pfs_load(&arena->clock_state) == PFS_CLOCK_PARTED;
}

static void
test_agrees(void)
{
	uint64_t ns = pfs_clock_ns(CLOCK_MONOTONIC);
	PfsArena *arena = cycling_arena(ns);
	bool wrong = false;

	for (uint64_t i = 1; i < 100; i++)	/* slewed by 0.05 % */
		wrong = wrong || parted(arena, ns, i, (int64_t) (i * HERTZ + i * HERTZ / 2000));
	ok(!wrong, "a counter that keeps pace stays");
	is_u64(pfs_timer.kind, PFS_TIMER_CYCLE, "in use");
	is_u64(table_number(arena, "status", "variable_name", "clock_parted", "variable_value"), 0,
		   "and status does not say otherwise");
	ok(!parted(arena, ns + 99 * SECOND, 0, 0), "less than a second is no measure");
	fixture_free(arena);
}

static void
check_parted(const char *what, int64_t cycles)
{
	uint64_t ns = pfs_clock_ns(CLOCK_MONOTONIC) - 10 * SECOND;
	PfsArena *arena = cycling_arena(ns);
	PfsTicks expected = START_CYCLES + 10 * HERTZ;
	PfsTicks now;
	uint32_t changes = arena->setup_changes;
	Rows *rows;

	ok(!parted(arena, ns, 9, 9 * HERTZ), "%s: as long as it agrees it stays", what);
	ok(parted(arena, ns, 10, cycles), "and then it goes");
	is_u64(pfs_timer.kind, PFS_TIMER_NANOSECOND, "the system's clock is used");
	ok(arena->setup_changes != changes, "other processes are told");
	now = pfs_now();
	expected = pfs_max(expected, START_CYCLES + (uint64_t) pfs_max(cycles, INT64_C(0)));
	ok(now >= expected && now < expected + 5 * HERTZ, "it goes on in cycles, from where it was");
	ok(pfs_now() >= now, "and not backwards");
	is_u64((uint64_t) pfs_ticks_to_ps(HERTZ), UINT64_C(1000000000000), "ticks mean what they meant");
	is_u64(table_number(arena, "status", "variable_name", "clock_parted", "variable_value"), 1,
		   "status says so");
	rows = rows_of(arena, "setup_timers");
	is_str(row_text(rows, 0, "timer_name"), "NANOSECOND", "so does setup_timers");
	rows_free(rows);
	ok(pfs_timer_measure(PFS_TIMER_CYCLE).frequency == 0 && pfs_timer.why_no_cycle != NULL,
	   "and performance_timers knows why");
	fixture_free(arena);
}

/* Another process sees it at a safe point, and records what is comparable. */
static void
test_follows(void)
{
	uint64_t ns = pfs_clock_ns(CLOCK_MONOTONIC) - 3 * SECOND;
	PfsArena *arena = cycling_arena(ns);
	PfsTimer other = pfs_timer;
	PfsTicks first;

	ok(parted(arena, ns, 2, 100), "one process finds out");
	first = pfs_now();
	pfs_timer = other; /* another one */
	pfs_timer.looked_at = START_CYCLES;
	pfs_clock_look(arena, START_CYCLES + 1);
	is_u64(pfs_timer.kind, PFS_TIMER_NANOSECOND, "the other one follows");
	ok(pfs_now() >= first && pfs_now() - first < HERTZ, "to the same clock");
	pfs_timer = other;
	fixture_free(arena);
	arena = fixture_arena(NULL);
	pfs_clock_look_again(arena);
	is_u64(pfs_timer.kind, PFS_TIMER_NANOSECOND, "a new arena begins anew");
	is_u64(pfs_timer.system_ns, 0, "with the clock that was chosen");
	fixture_free(arena);
}

static void
test_measure(void)
{
	PfsTimerInfo info;

	pfs_timer_init(false);
	info = pfs_timer_measure(PFS_TIMER_CYCLE);
	is_str(info.name, "CYCLE", "name");
	is_u64(info.frequency, 0, "a timer not in use as cycles has no frequency");
	info = pfs_timer_measure(PFS_TIMER_MICROSECOND);
	is_u64(info.frequency, 1000000, "microseconds");
	ok(info.resolution > 0, "a smallest step");
	info = pfs_timer_measure(PFS_TIMER_THREAD_CPU);
	is_u64(info.frequency, 1000000000, "processor time in nanoseconds");
	ok(info.overhead > 0, "reading it takes time");
}

int
main(void)
{
	test_nanoseconds();
	test_cycles();
	test_agrees();
	check_parted("faster by 0.2 %", 10 * HERTZ + HERTZ / 500);
	check_parted("slower by 0.2 %", 10 * HERTZ - HERTZ / 500);
	check_parted("jumps forward", 1000 * HERTZ);
	check_parted("jumps back", 9 * HERTZ - HERTZ / 2);
	check_parted("begins again", -(int64_t) (START_CYCLES / 2));
	test_follows();
	test_measure();
	return done_testing();
}
