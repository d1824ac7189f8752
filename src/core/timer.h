/*
 * timer.h
 *		The clock of all events: the cycle counter where it can be trusted, else clock_gettime.
 *
 * Ticks are converted to picoseconds only when a row is shown.  The choice and the calibration are
 * made once, by the process that creates the arena; children inherit the static state by fork.
 */
#ifndef PFS_TIMER_H
#define PFS_TIMER_H

#include "core/base.h"

#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

typedef enum PfsTimerKind
{
	PFS_TIMER_CYCLE,
	PFS_TIMER_NANOSECOND,
	PFS_TIMER_MICROSECOND,
	PFS_TIMER_MILLISECOND,
	PFS_TIMER_THREAD_CPU,
	PFS_TIMER_COUNT
} PfsTimerKind;

typedef struct PfsTimerInfo
{
	const char *name;
	uint64_t	frequency;		/* ticks per second; 0 = not available */
	uint64_t	resolution;		/* smallest step, in ticks */
	uint64_t	overhead;		/* cost of one reading, in cycles (nanoseconds without CYCLE) */
} PfsTimerInfo;

typedef struct PfsTimer
{
	uint32_t	kind;			/* PFS_TIMER_CYCLE or PFS_TIMER_NANOSECOND */
	uint64_t	frequency;		/* ticks per second */
	uint64_t	ps_per_tick_q32;	/* picoseconds per tick, 32 fractional bits */
	PfsTicks	origin;			/* TIMER_START counts from here: server start */
	const char *why_no_cycle;	/* reason when the cycle counter was refused, else NULL */
} PfsTimer;

extern PfsTimer pfs_timer;

/*
 * Chooses and calibrates the timer.  Takes about 20 ms; call once, before any reading.  With
 * allow_cycle = false clock_gettime is used whatever the processor offers.
 */
extern void pfs_timer_init(bool allow_cycle);

/* Measures one of MySQL's five timers for the table performance_timers. */
extern PfsTimerInfo pfs_timer_measure(PfsTimerKind kind);

static inline uint64_t
pfs_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t) ts.tv_sec * UINT64_C(1000000000) + (uint64_t) ts.tv_nsec;
}

static inline PfsTicks
pfs_now(void)
{
#if defined(__x86_64__)
	if (pfs_likely(pfs_timer.kind == PFS_TIMER_CYCLE))
		return __rdtsc();
#elif defined(__aarch64__)
	if (pfs_likely(pfs_timer.kind == PFS_TIMER_CYCLE))
	{
		uint64_t	ticks;

		__asm__ __volatile__("isb; mrs %0, cntvct_el0" : "=r"(ticks));
		return ticks;
	}
#endif
	return pfs_clock_ns(CLOCK_MONOTONIC);
}

/* Picoseconds; 128 bits because sums pass 2^64 after seven months. */
static inline unsigned __int128
pfs_ticks_to_ps(PfsTicks ticks)
{
	return ((unsigned __int128) ticks * pfs_timer.ps_per_tick_q32) >> 32;
}

static inline PfsTicks
pfs_ns_to_ticks(uint64_t ns)
{
	return (PfsTicks) ((unsigned __int128) ns * pfs_timer.frequency / UINT64_C(1000000000));
}

#endif							/* PFS_TIMER_H */
