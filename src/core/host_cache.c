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

static void
claim(PfsClientHost *host, const char *address, PfsTicks now)
{
	copy_string(host->address, sizeof(host->address), address);
	pfs_zero_words(host->name, sizeof(*host) - offsetof(PfsClientHost, name));
	pfs_store(&host->last_sqlstate, 0);
	pfs_store(&host->first_seen, now);
	pfs_store_release(&host->state, PFS_HOST_THERE);
}

/* Is it the row of this address, or can it be made so?  Waits for another one who claims it, but not for long. */
static bool
is_row_of(PfsClientHost *host, const char *address, PfsTicks now)
{
	for (int tries = 0; pfs_try_take(tries, NULL); tries++)
		switch ((PfsHostState) pfs_load_acquire(&host->state))
		{
			case PFS_HOST_THERE:
				return strncmp(host->address, address, PFS_HOST_ADDRESS - 1) == 0;
			case PFS_HOST_FREE:
				if (!pfs_cas32(&host->state, PFS_HOST_FREE, PFS_HOST_CLAIMED))
					break;
				claim(host, address, now);
				return true;
			default:
				break;
		}
	return false;
}

/* NULL, and counted, if there is no room. */
static PfsClientHost *
find(PfsArena *arena, const char *address, PfsTicks now)
{
	for (uint32_t i = 0; i < arena->sizes.hosts; i++)
		if (is_row_of(pfs_client_host(arena, i), address, now))
			return pfs_client_host(arena, i);
	pfs_lose(arena, PFS_LOSS_HOST_CACHE);
	return NULL;
}

void
pfs_host_connected(PfsArena *arena, const char *address, const char *name, bool validated, PfsTicks now)
{
	PfsClientHost *host = find(arena, address, now);

	if (host == NULL)
		return;
	pfs_add_shared(&host->connections, 1);
	pfs_store(&host->last_seen, now);
	if (name != NULL && host->name[0] == '\0')
		copy_string(host->name, sizeof(host->name), name);
	if (validated)
		pfs_store(&host->validated, 1);
}

void
pfs_host_refused(PfsArena *arena, const char *address, PfsRefusal error, uint32_t sqlstate, PfsTicks now)
{
	PfsClientHost *host = find(arena, address, now);

	if (host == NULL)
		return;
	pfs_add_shared(&host->errors[error], 1);
	pfs_store(&host->last_seen, now);
	pfs_store(&host->last_sqlstate, sqlstate);
	if (pfs_load(&host->first_error) == 0)
		pfs_store(&host->first_error, now);
	pfs_store(&host->last_error, now);
}

void
pfs_host_cache_reset(PfsArena *arena)
{
	for (uint32_t i = 0; i < arena->sizes.hosts; i++)
		(void) pfs_cas32(&pfs_client_host(arena, i)->state, PFS_HOST_THERE, PFS_HOST_FREE);
}
