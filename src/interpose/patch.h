/*
 * patch.h
 *		Inside src/interpose: patching the slots of one image.
 */
#ifndef PFS_PATCH_H
#define PFS_PATCH_H

#include "interpose/interpose.h"
#include "interpose/image.h"

/*
 * Patches every slot of the object that imports.def names and adds it to the list; returns how
 * many are patched.  path is the name that the list shows; it must stay.
 */
extern uint32_t pfs_patch_image(const PfsImage *image, const char *path);

/* Whether the executable was patched: libraries then are. */
extern bool pfs_patch_wanted(void);

/* The function that belongs into the slot of an import, or NULL; resolve.c. */
extern void *pfs_resolve(const PfsImage *image, const PfsImage *executable, const PfsImport *import);

#endif							/* PFS_PATCH_H */
