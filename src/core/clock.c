/*
 * clock.c
 *		Comparing the cycle counter with the system's clock, and doing without it.
 */
#include "core/clock.h"

#define SECOND_NS UINT64_C(1000000000)
#define TOLERANCE 1000			/* a thousandth: twice what time daemons slew */
#define SLACK_NS 50000			/* the two are not read at exactly the same moment */

static bool
have_parted(PfsClockPair last, PfsClockPair now)
{
	uint64_t	elapsed = now.ns - last.ns;
	uint64_t	tolerance = elapsed / TOLERANCE + SLACK_NS;
	uint64_t	counted;

	if (now.cycles < last.cycles)
		return true;
	counted = pfs_ticks_to_ns(now.cycles - last.cycles);
	return counted > elapsed ? counted - elapsed > tolerance : elapsed - counted > tolerance;
}

/* From now on time is the system's; the first to find out says where it stands. */
static void
part(PfsArena *arena, PfsClockPair last, PfsClockPair now)
{
	PfsTicks	expected = last.cycles + pfs_ns_to_ticks(now.ns - last.ns);

	if (!pfs_cas32(&arena->clock_state, PFS_CLOCK_AS_CHOSEN, PFS_CLOCK_PARTING))
		return;
	pfs_store(&arena->clock_ticks, pfs_max(expected, now.cycles));
	pfs_store(&arena->clock_ns, now.ns);
	pfs_store_release(&arena->clock_state, PFS_CLOCK_PARTED);	/* pairs with pfs_clock_follow */
	pfs_add_release(&arena->setup_changes, 1);	/* all look up what they remember, and see it */
}

void
pfs_clock_compare(PfsArena *arena, PfsClockPair now)
{
	PfsClockPair last;

	if (pfs_timer.kind != PFS_TIMER_CYCLE || !pfs_cas32(&arena->clock_busy, 0, 1))
		return;					/* another process is at it */
	last = (PfsClockPair) {pfs_load(&arena->clock_last_cycles), pfs_load(&arena->clock_last_ns)};
	if (last.ns == 0 || (now.ns > last.ns && now.ns - last.ns >= SECOND_NS))
	{
		pfs_store(&arena->clock_last_cycles, now.cycles);
		pfs_store(&arena->clock_last_ns, now.ns);
		if (last.ns != 0 && have_parted(last, now))
			part(arena, last, now);
	}
	pfs_store_release(&arena->clock_busy, 0);
}

void
pfs_clock_follow(const PfsArena *arena)
{
	uint32_t	state = pfs_load_acquire(&arena->clock_state);

	if (pfs_likely(state == pfs_timer.clock_state) || state != PFS_CLOCK_PARTED)
		return;
	pfs_timer.clock_state = state;
	if (pfs_timer.kind == PFS_TIMER_CYCLE)
		pfs_timer_use_system(pfs_load(&arena->clock_ticks), pfs_load(&arena->clock_ns));
}

void
pfs_clock_look_again(PfsArena *arena)
{
	PfsClockPair now;

	if (pfs_timer.kind == PFS_TIMER_CYCLE)
	{
		pfs_timer_read_both(&now.cycles, &now.ns);
		pfs_clock_compare(arena, now);
	}
	pfs_clock_follow(arena);
	pfs_store(&pfs_timer.looked_at, pfs_now());	/* unit tests have threads */
}
