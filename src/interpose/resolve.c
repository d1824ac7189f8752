/*
 * resolve.c
 *		Finds the function that the dynamic linker would put into a slot.
 *
 * Needed where it has not done so yet, and to tell a slot that somebody else has changed.  Two
 * answers of the obvious question are wrong.  dlvsym passes over functions without a version, which
 * a preloaded library (eatmydata) has and the dynamic linker takes.  And an executable that is not
 * position-independent may lend the address of its PLT entry to everybody as the address of the
 * function: calling that comes back through the slot.
 *
 * Caveat: in the second case preloaded libraries are not looked for.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "interpose/patch.h"

#include <dlfcn.h>

/* Which loaded object holds an address, in the order of loading. */
typedef struct Place
{
	const void *address;
	uint32_t	number;
} Place;

static int
find_place(struct dl_phdr_info *info, size_t size, void *result)
{
	Place	   *place = result;
	PfsImage	image = {
		.base = info->dlpi_addr,
		.segments = info->dlpi_phdr,
		.segments_count = info->dlpi_phnum,
	};

	(void) size;
	place->number++;
	return pfs_image_contains(&image, place->address);
}

static uint32_t
place_of(const void *address)
{
	Place		place = {.address = address};

	dl_iterate_phdr(find_place, &place);
	return place.number;
}

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

/* Neither a PLT entry nor nothing */
static bool
is_function(const PfsImage *image, const PfsImage *executable, const void *found)
{
	return found != NULL && !pfs_image_contains(image, found) && !pfs_image_contains(executable, found);
}

void *
pfs_resolve(const PfsImage *image, const PfsImage *executable, const PfsImport *import)
{
	void	   *any = dlsym(RTLD_DEFAULT, import->symbol);
	void	   *found = look_up(RTLD_DEFAULT, import);

	if (!is_function(image, executable, found))
		found = look_up_in(import->library != NULL ? import->library : "libc.so.6", import);
	if (!is_function(image, executable, found))
		found = NULL;
	if (found != NULL && any != found && is_function(image, executable, any) &&
		place_of(any) < place_of(found))
		found = any;
	dlerror();					/* what was not found is nobody else's business */
	return found;
}
