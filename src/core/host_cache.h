/*
 * host_cache.h
 *		Hosts from which clients came, and why they were refused: rows of host_cache.
 *
 * A client that is refused has no thread, and its process ends at once: so it counts here itself, under a lock that all take for a
 * moment.  A row is claimed on the first look at its address, and stays until TRUNCATE.
 */
#ifndef PFS_HOST_CACHE_H
#define PFS_HOST_CACHE_H

#include "core/arena.h"

/* Why; the first ones count as connect errors, as in MySQL. */
typedef enum PfsRefusal
{
	PFS_HOST_HANDSHAKE,			/* start-up packet: none, broken, protocol not known */
	PFS_HOST_SSL,
	PFS_HOST_ACL,				/* no line of pg_hba.conf, or one that rejects */
	PFS_HOST_AUTHENTICATION,	/* wrong password, and whatever else a method refuses; no such role */
	PFS_HOST_MAX_CONNECTIONS,
	PFS_HOST_DATABASE,			/* no such database, or none that may be used */
	PFS_HOST_LOCAL,				/* the server starts, stops, recovers, or lacks something */
	PFS_HOST_UNKNOWN,
	PFS_REFUSALS
} PfsRefusal;

#define PFS_HOST_ADDRESS 48		/* a longer one is cut */
#define PFS_HOST_NAME 64

typedef struct PfsClientHost
{
	uint32_t	use;			/* odd = it is there; the number identifies this use */
	uint32_t	last_sqlstate;	/* packed by the host, 0 = none */
	char		address[PFS_HOST_ADDRESS];	/* zero-terminated, as the name */
	char		name[PFS_HOST_NAME];
	uint64_t	connections;
	uint64_t	errors[PFS_REFUSALS];
	PfsTicks	first_seen;
	PfsTicks	last_seen;
	PfsTicks	first_error;	/* 0 = none */
	PfsTicks	last_error;
	uint8_t		validated;		/* does the name lead back to the address? */
	uint8_t		spare[7];
} PfsClientHost;

static inline PfsClientHost *
pfs_client_host(const PfsArena *arena, uint32_t number)
{
	return PFS_AT(arena, arena->host_cache, PfsClientHost) + number;
}

/* A client was let in.  name: NULL, or as it was looked up.  Any process. */
extern void pfs_host_connected(PfsArena *arena, const char *address, const char *name, bool validated, PfsTicks now);

/* One was refused. */
extern void pfs_host_refused(PfsArena *arena, const char *address, PfsRefusal error, uint32_t sqlstate, PfsTicks now);

/* TRUNCATE; false: the lock could not be had. */
extern bool pfs_host_cache_reset(PfsArena *arena);

#endif							/* PFS_HOST_CACHE_H */
