/*
 * pg_arena.h
 *		The arena in the server's shared memory, for everything in src/pg and src/fdw.
 */
#ifndef PFS_PG_ARENA_H
#define PFS_PG_ARENA_H

#include "core/arena.h"

/*
 * NULL when the library is not in shared_preload_libraries, or performance_schema.enabled = off.
 * Set in the postmaster and inherited; an extension loaded later never sets it.
 */
extern PfsArena *pfs_arena;

/* Was the library loaded by shared_preload_libraries?  (False: tables raise an error.) */
extern bool pfs_pg_preloaded;

/*
 * Serialises changes of setup tables and resets (an LWLock; caller may throw while holding it).
 * Recorders never take it.
 */
extern void pfs_pg_setup_lock(void);
extern void pfs_pg_setup_unlock(void);

#endif							/* PFS_PG_ARENA_H */
