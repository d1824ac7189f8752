/*
 * patience.c
 *		How long one waits for a writer who stands in the middle of a change.
 */
#include "core/patience.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#define SPINS 64
#define YIELDS 256				/* each is over at once where nobody else wants the processor: 0.2 ms */
#define SLEEPS_OF_READ 50		/* of a millisecond */
#define SLEEPS_OF_SCAN 200

static __thread int sleeps_of_scan = SLEEPS_OF_SCAN;	/* in tests several threads read */

void
pfs_patience_renew(void)
{
	sleeps_of_scan = SLEEPS_OF_SCAN;
}

static bool
try_again(int tries, int *sleeps)
{
	const struct timespec millisecond = {0, 1000000};
	int			keep_errno = errno;

	if (tries == 0)
		return true;
	if (tries < SPINS)
		pfs_cpu_pause();
	else if (tries < SPINS + YIELDS)
		sched_yield();
	else if (sleeps == NULL || *sleeps <= 0)
		return false;
	else
	{
		(*sleeps)--;
		nanosleep(&millisecond, NULL);
	}
	errno = keep_errno;
	return true;
}

bool
pfs_try_read(int tries)
{
	return tries < SPINS + YIELDS + SLEEPS_OF_READ && try_again(tries, &sleeps_of_scan);
}

bool
pfs_try_take(int tries, int *sleeps)
{
	return try_again(tries, sleeps);
}

bool
pfs_lock_take(uint32_t *lock, int *sleeps)
{
	for (int tries = 0; pfs_try_take(tries, sleeps); tries++)
		if (pfs_load(lock) == 0 && pfs_cas32(lock, 0, 1))
			return true;
	return false;
}
