/*
 * test_timer.c - choice of the clock and conversion of its ticks.
 */
#include "arena_fixture.h"
#include "tap.h"

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
	test_measure();
	return done_testing();
}
