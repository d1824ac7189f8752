/*
 * clock.h
 *		Does the cycle counter still keep pace with the system's clock?
 *
 * A virtual machine that moves to another host, a suspended one, processors whose counters differ:
 * what was trustworthy at start may part from the system's clock later.  So sessions compare the
 * two when they go idle, one of them a second, and so does who reads a table; the moment before may
 * have been another process's, on another processor.  When they part, all
 * processes use the system's clock from then on: a word of the arena tells them, which they look at
 * when they go idle, and whenever switches have changed.
 *
 * Ticks stay what they were, cycles: the system's clock is converted to them, and goes on where the
 * counter stood or should have stood, whichever is later.  So what was recorded before keeps its
 * meaning, and time does not go backwards.
 */
#ifndef PFS_CLOCK_H
#define PFS_CLOCK_H

#include "core/arena.h"
#include "core/timer.h"

/* Values of PfsArena.clock_state. */
typedef enum PfsClockState
{
	PFS_CLOCK_AS_CHOSEN,
	PFS_CLOCK_PARTING,			/* somebody writes clock_ticks and clock_ns */
	PFS_CLOCK_PARTED
} PfsClockState;

/* Both clocks at one moment. */
typedef struct PfsClockPair
{
	uint64_t	cycles;
	uint64_t	ns;				/* CLOCK_MONOTONIC */
} PfsClockPair;

/*
 * Compares the clocks with how they stood when any process last looked, unless that was less than a
 * second ago; when they have parted, says so in the arena.
 */
extern void pfs_clock_compare(PfsArena *arena, PfsClockPair now);

/* Takes over what another process has found out. */
extern void pfs_clock_follow(const PfsArena *arena);

/* The same, and compares; reads both clocks. */
extern void pfs_clock_look_again(PfsArena *arena);

/* At a safe point, cheap as long as there is nothing to do.  now: any recent moment. */
static inline void
pfs_clock_look(PfsArena *arena, PfsTicks now)
{
	if (pfs_unlikely(now - pfs_load(&pfs_timer.looked_at) > pfs_timer.frequency ||
					 pfs_load(&arena->clock_state) != pfs_timer.clock_state))
		pfs_clock_look_again(arena);
}

#endif							/* PFS_CLOCK_H */
