/*
 * patience.c
 *		How long a reader waits for a writer who stands in the middle of a change.
 */
#include "core/patience.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#define SPINS 64
#define YIELDS 64
#define SLEEPS_OF_READ 50		/* of a millisecond */
#define SLEEPS_OF_SCAN 200

static __thread int sleeps = SLEEPS_OF_SCAN;	/* in tests several threads read */

void
pfs_patience_renew(void)
{
	sleeps = SLEEPS_OF_SCAN;
}

bool
pfs_try_read(int tries)
{
	const struct timespec millisecond = {0, 1000000};
	int			keep_errno = errno;

	if (tries < SPINS)
	{
		if (tries > 0)
			pfs_cpu_pause();
		return true;
	}
	if (tries < SPINS + YIELDS)
	{
		sched_yield();
		return true;
	}
	if (tries >= SPINS + YIELDS + SLEEPS_OF_READ || sleeps <= 0)
		return false;
	sleeps--;
	nanosleep(&millisecond, NULL);
	errno = keep_errno;
	return true;
}
