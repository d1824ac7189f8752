/*
 * wrappers.h
 *		Inside src/interpose: the function that stands in for each call, and what it calls.
 */
#ifndef PFS_WRAPPERS_H
#define PFS_WRAPPERS_H

#include "interpose/interpose.h"

/* The function that goes into the slot of a call. */
extern void *const pfs_wrappers[PFS_CALLS];

/* Only calls of the thread that says this are observed; children inherit it. */
extern void pfs_wrappers_own_thread(void);

/* Stands in for dlopen, in front of its wrapper; patches what was loaded (libraries.c). */
extern void *pfs_library_open(const char *path, int mode);

#endif							/* PFS_WRAPPERS_H */
