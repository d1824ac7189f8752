/*
 * resolve.c
 *		Finds the function that the dynamic linker would put into a slot.
 *
 * Needed where it has not done so yet, and to tell a slot that somebody else has changed.  The
 * obvious question can have a wrong answer: an executable that is not position-independent may
 * lend the address of its PLT entry to everybody as the address of the function, and calling that
 * comes back through the slot.  Then the library that should define the symbol is asked.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "interpose/patch.h"

#include <dlfcn.h>

static void *
look_up(void *where, const PfsImport *import)
{
	if (import->version != NULL)
		return dlvsym(where, import->symbol, import->version);
	return dlsym(where, import->symbol);
}

static void *
look_up_in(const char *library, const PfsImport *import)
{
	void	   *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	void	   *found;

	if (handle == NULL)
		return NULL;
	found = look_up(handle, import);
	dlclose(handle);			/* it was loaded before, and stays */
	return found;
}

void *
pfs_resolve(const PfsImage *image, const PfsImage *executable, const PfsImport *import)
{
	void	   *found = look_up(RTLD_DEFAULT, import);

	if (found == NULL || pfs_image_contains(image, found) || pfs_image_contains(executable, found))
		found = look_up_in(import->library != NULL ? import->library : "libc.so.6", import);
	if (found != NULL && (pfs_image_contains(image, found) || pfs_image_contains(executable, found)))
		found = NULL;
	dlerror();					/* what was not found is nobody else's business */
	return found;
}
