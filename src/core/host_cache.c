/*
 * host_cache.c
 *		Hosts from which clients came, and why they were refused.
 */
#include "core/host_cache.h"

#include "core/patience.h"

static void
copy_string(char *to, size_t size, const char *from)
{
	size_t		length = from != NULL ? strnlen(from, size - 1) : 0;

	pfs_zero_words(to, size);
	pfs_copy_bytes(to, from, length);
}

#define SLEEPS 20				/* of a millisecond, for the lock: connections, not statements, wait for it */

/* False, and counted: somebody stands still inside. */
static bool
take(PfsArena *arena)
{
	int			sleeps = SLEEPS;

	if (pfs_lock_take(&arena->host_cache_lock, &sleeps))
		return true;
	pfs_lose(arena, PFS_LOSS_HOST_CACHE);
	return false;
}

static void
claim(PfsClientHost *host, const char *address, PfsTicks now)
{
	copy_string(host->address, sizeof(host->address), address);
	pfs_zero_words(host->name, sizeof(*host) - offsetof(PfsClientHost, name));
	pfs_store(&host->last_sqlstate, 0);
	pfs_store(&host->first_seen, now);
	pfs_store_release(&host->use, host->use | 1);
}

/* NULL, and counted, if there is no room.  Lock held. */
static PfsClientHost *
find(PfsArena *arena, const char *address, PfsTicks now)
{
	PfsClientHost *free = NULL;

	for (uint32_t i = 0; i < arena->sizes.hosts; i++)
	{
		PfsClientHost *host = pfs_client_host(arena, i);

		if ((host->use & 1) != 0 && strncmp(host->address, address, PFS_HOST_ADDRESS - 1) == 0)
			return host;
		if ((host->use & 1) == 0 && free == NULL)
			free = host;
	}
	if (free != NULL)
		claim(free, address, now);
	else
		pfs_lose(arena, PFS_LOSS_HOST_CACHE);
	return free;
}

void
pfs_host_connected(PfsArena *arena, const char *address, const char *name, bool validated, PfsTicks now)
{
	PfsClientHost *host;

	if (!take(arena))
		return;
	host = find(arena, address, now);
	if (host != NULL)
	{
		pfs_add(&host->connections, 1);
		pfs_store(&host->last_seen, now);
		if (name != NULL && host->name[0] == '\0')
			copy_string(host->name, sizeof(host->name), name);
		if (validated)
			pfs_store(&host->validated, 1);
	}
	pfs_lock_release(&arena->host_cache_lock);
}

void
pfs_host_refused(PfsArena *arena, const char *address, PfsRefusal error, uint32_t sqlstate, PfsTicks now)
{
	PfsClientHost *host;

	if (!take(arena))
		return;
	host = find(arena, address, now);
	if (host != NULL)
	{
		pfs_add(&host->errors[error], 1);
		pfs_store(&host->last_seen, now);
		pfs_store(&host->last_sqlstate, sqlstate);
		if (pfs_load(&host->first_error) == 0)
			pfs_store(&host->first_error, now);
		pfs_store(&host->last_error, now);
	}
	pfs_lock_release(&arena->host_cache_lock);
}

bool
pfs_host_cache_reset(PfsArena *arena)
{
	if (!take(arena))
		return false;
	for (uint32_t i = 0; i < arena->sizes.hosts; i++)
	{
		PfsClientHost *host = pfs_client_host(arena, i);

		pfs_store(&host->use, host->use + (host->use & 1));
	}
	pfs_lock_release(&arena->host_cache_lock);
	return true;
}
