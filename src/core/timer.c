/*
 * timer.c
 *		Choosing, checking and calibrating the clock.
 *
 * The cycle counter is used only if the processor says that it runs at a constant rate in all
 * power states (invariant TSC), if the kernel itself trusts it, and if two short calibrations
 * agree.  A published case of a counter that was slow or unsteady in a virtual machine is why.
 */
#include "core/timer.h"

#include <fcntl.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

PFS_HOT_LINE(waiting) __attribute__((aligned(8))) PfsTimer pfs_timer = {
	.kind = PFS_TIMER_NANOSECOND,
	.frequency = UINT64_C(1000000000),
	.ps_per_tick_q32 = UINT64_C(1000) << 32,
	.ticks_per_ns_q32 = UINT64_C(1) << 32,
};

#define CALIBRATION_NS UINT64_C(10000000)

#if defined(__x86_64__) || defined(__aarch64__)
#define HAVE_CYCLE 1

static inline uint64_t
read_cycle(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	uint64_t	ticks;

	__asm__ __volatile__("isb; mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

/* Reads both clocks as close together as possible: the tightest of several tries. */
static void
read_pair(uint64_t *cycle, uint64_t *ns)
{
	uint64_t	best = UINT64_MAX;

	*cycle = *ns = 0;
	for (int i = 0; i < 8; i++)
	{
		uint64_t	before = read_cycle();
		uint64_t	now = pfs_clock_ns(CLOCK_MONOTONIC);
		uint64_t	after = read_cycle();

		if (after - before < best)
		{
			best = after - before;
			*cycle = before + (after - before) / 2;
			*ns = now;
		}
	}
}

static uint64_t
measure_frequency(void)
{
	uint64_t	c0,
				c1,
				n0,
				n1;

	read_pair(&c0, &n0);
	do
		read_pair(&c1, &n1);
	while (n1 - n0 < CALIBRATION_NS);
	return (uint64_t) ((unsigned __int128) (c1 - c0) * UINT64_C(1000000000) / (n1 - n0));
}
#endif

#if defined(__x86_64__)
static bool
tsc_is_invariant(void)
{
	unsigned	a,
				b,
				c,
				d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)) != 0;
}

/* The kernel drops the counter as its clock source when it finds it unsteady. */
static bool
kernel_distrusts_tsc(void)
{
	char		text[512];
	int			fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource",
						  O_RDONLY | O_CLOEXEC);
	ssize_t		n;

	if (fd < 0)
		return false;			/* not told: the other checks decide */
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return strstr(text, "tsc") == NULL && strstr(text, "hyperv_clocksource_tsc_page") == NULL;
}
#endif

static const char *
cycle_refusal(uint64_t *frequency)
{
#ifndef HAVE_CYCLE
	return "no cycle counter on this processor";
#else
	uint64_t	first,
				second,
				difference;

#if defined(__x86_64__)
	if (!tsc_is_invariant())
		return "the time stamp counter is not invariant";
	if (kernel_distrusts_tsc())
		return "the kernel does not use the time stamp counter";
#endif
	first = measure_frequency();
	second = measure_frequency();
	difference = first > second ? first - second : second - first;
	if (second < 1000000)
		return "the cycle counter is too slow";
	if (difference > second / 1000)
		return "two calibrations of the cycle counter differ by more than 0.1 %";
	*frequency = first / 2 + second / 2;
	return NULL;
#endif
}

void
pfs_timer_read_both(uint64_t *cycle, uint64_t *ns)
{
#ifdef HAVE_CYCLE
	read_pair(cycle, ns);
#else
	*cycle = *ns = pfs_clock_ns(CLOCK_MONOTONIC);
#endif
}

void
pfs_timer_use_system(PfsTicks ticks, uint64_t ns)
{
	pfs_timer.system_ticks = ticks;
	pfs_timer.system_ns = ns;
	pfs_timer.kind = PFS_TIMER_NANOSECOND;
	pfs_timer.why_no_cycle = "the cycle counter has parted from the system clock";
}

void
pfs_timer_init(bool allow_cycle)
{
	uint64_t	frequency = UINT64_C(1000000000);

	pfs_timer.kind = PFS_TIMER_NANOSECOND;
	pfs_timer.why_no_cycle = "switched off";
	if (allow_cycle)
	{
		pfs_timer.why_no_cycle = cycle_refusal(&frequency);
		if (pfs_timer.why_no_cycle == NULL)
			pfs_timer.kind = PFS_TIMER_CYCLE;
	}
	pfs_timer.frequency = frequency;
	pfs_timer.ps_per_tick_q32 =
		(uint64_t) (((unsigned __int128) UINT64_C(1000000000000) << 32) / frequency);
	pfs_timer.ticks_per_ns_q32 = (uint64_t) (((unsigned __int128) frequency << 32) / UINT64_C(1000000000));
	pfs_timer.system_ticks = pfs_timer.system_ns = 0;
	pfs_timer.clock_state = 0;
	pfs_timer.looked_at = pfs_timer.origin = pfs_now();
}

static uint64_t
read_timer(PfsTimerKind kind)
{
	switch (kind)
	{
		case PFS_TIMER_CYCLE:
#ifdef HAVE_CYCLE
			return read_cycle();
#else
			return 0;
#endif
		case PFS_TIMER_NANOSECOND:
			return pfs_clock_ns(CLOCK_MONOTONIC);
		case PFS_TIMER_MICROSECOND:
			return pfs_clock_ns(CLOCK_MONOTONIC) / 1000;
		case PFS_TIMER_MILLISECOND:
			return pfs_clock_ns(CLOCK_MONOTONIC) / 1000000;
		default:
			return pfs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
}

PfsTimerInfo
pfs_timer_measure(PfsTimerKind kind)
{
	static const char *const names[PFS_TIMER_COUNT] = {"CYCLE", "NANOSECOND", "MICROSECOND",
	"MILLISECOND", "THREAD_CPU"};
	static const uint64_t frequencies[PFS_TIMER_COUNT] = {0, 1000000000, 1000000, 1000,
	1000000000};
	PfsTimerInfo info = {.name = names[kind], .frequency = frequencies[kind]};
	uint64_t	overhead = UINT64_MAX;
	uint64_t	step = UINT64_MAX;

	if (kind == PFS_TIMER_CYCLE)
		info.frequency = pfs_timer.kind == PFS_TIMER_CYCLE ? pfs_timer.frequency : 0;
	if (info.frequency == 0)
		return info;
	for (int i = 0; i < 20; i++)
	{
		PfsTicks	before = pfs_now();
		uint64_t	first = read_timer(kind);
		uint64_t	second;

		overhead = pfs_min(overhead, pfs_now() - before);
		second = read_timer(kind);
		if (second > first)
			step = pfs_min(step, second - first);
	}
	info.overhead = overhead;
	info.resolution = step == UINT64_MAX ? 1 : step;
	return info;
}
