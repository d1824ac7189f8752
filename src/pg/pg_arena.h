/*
 * pg_arena.h
 *		The arena in the server's shared memory, for everything in src/pg and src/fdw.
 */
#ifndef PFS_PG_ARENA_H
#define PFS_PG_ARENA_H

#include "core/arena.h"
#include "datatype/timestamp.h"

/*
 * NULL when the library is not in shared_preload_libraries, or performance_schema.enabled = off.
 * Set in the postmaster and inherited; an extension loaded later never sets it.
 */
extern PfsArena *pfs_arena;

/* Was the library loaded by shared_preload_libraries?  (False: tables raise an error.) */
extern bool pfs_pg_preloaded;

/* Is the arena still there?  A few processes leave shared memory, and log messages afterwards. */
extern bool pfs_pg_arena_is_there(void);

/*
 * Serialises changes of setup tables and resets (an LWLock; caller may throw while holding it).
 * Recorders never take it.
 */
extern void pfs_pg_setup_lock(void);
extern void pfs_pg_setup_unlock(void);

/* The same for the counters of engine_metrics, which are changed by who reads them. */
extern void pfs_pg_metrics_lock(void);
extern void pfs_pg_metrics_unlock(void);

/*
 * A moment of the timer and its calendar time, the same for all readers for an hour, so that a
 * moment is shown alike by two SELECTs; renewed then, as the two clocks drift apart.
 */
extern void pfs_pg_wall_clock(TimestampTz *time, uint64_t *ticks);

#endif							/* PFS_PG_ARENA_H */
