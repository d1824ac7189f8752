/*
 * timer.h
 *		The clock of all events: the cycle counter where it can be trusted, else clock_gettime.
 *
 * Ticks are converted to picoseconds only when a row is shown.  The choice and the calibration are
 * made once, by the process that creates the arena; children inherit the static state by fork.  Whether
 * the counter stays trustworthy is watched by clock.h.
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
	uint8_t		kind;			/* PFS_TIMER_CYCLE or PFS_TIMER_NANOSECOND */
	uint64_t	frequency;		/* ticks per second */
	uint64_t	ps_per_tick_q32;	/* picoseconds per tick, 32 fractional bits */
	uint64_t	ticks_per_ns_q32;	/* the other way round */
	PfsTicks	origin;			/* TIMER_START counts from here: server start */
	PfsTicks	system_ticks;	/* the cycle counter is not used any more, see clock.h: ticks ... */
	uint64_t	system_ns;		/* ... at this time of the system's clock; 0 = it is, or never was */
	PfsTicks	looked_at;		/* last look at clock_state ... */
	uint32_t	clock_state;	/* ... and what it was */
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

/* The system's clock, in ticks: nanoseconds, or cycles from where the counter was left. */
static inline PfsTicks
pfs_system_now(void)
{
	uint64_t	ns = pfs_clock_ns(CLOCK_MONOTONIC);

	if (pfs_likely(pfs_timer.system_ns == 0))
		return ns;
	return pfs_timer.system_ticks +
		(PfsTicks) (((unsigned __int128) (ns - pfs_timer.system_ns) * pfs_timer.ticks_per_ns_q32) >> 32);
}

/* Is the clock read in place, without a call? */
static inline bool
pfs_now_is_near(void)
{
	return pfs_likely(pfs_timer.kind == PFS_TIMER_CYCLE);
}

/* If so. */
static inline PfsTicks
pfs_now_near(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t	ticks;

	__asm__ __volatile__("isb; mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return pfs_system_now();	/* it never is */
#endif
}

static inline PfsTicks
pfs_now(void)
{
	return pfs_now_is_near() ? pfs_now_near() : pfs_system_now();
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
	return (PfsTicks) (((unsigned __int128) ns * pfs_timer.ticks_per_ns_q32) >> 32);
}

static inline uint64_t
pfs_ticks_to_ns(PfsTicks ticks)
{
	return (uint64_t) (pfs_ticks_to_ps(ticks) / 1000);
}

/* Both clocks, read as close together as possible; only where the timer is CYCLE. */
extern void pfs_timer_read_both(uint64_t *cycle, uint64_t *ns);

/* No cycle counter any more: the system's clock goes on from these ticks, which it had at this time. */
extern void pfs_timer_use_system(PfsTicks ticks, uint64_t ns);

#endif							/* PFS_TIMER_H */
