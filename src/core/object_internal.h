/*
 * object_internal.h
 *		What the map of objects (object.c) and the cells (object_cell.c) share: locks.
 */
#ifndef PFS_OBJECT_INTERNAL_H
#define PFS_OBJECT_INTERNAL_H

#include "core/object.h"

/* Lock statistics of a table; NULL: there was no lock wait yet. */
static inline PfsTableLockStat *
pfs_object_locks(const PfsArena *arena, const PfsObjectRow *row)
{
	return pfs_pool_at(pfs_pool_of(arena), pfs_load(&row->locks), sizeof(PfsTableLockStat));
}

#endif							/* PFS_OBJECT_INTERNAL_H */
