/*
 * libraries.c
 *		Patches libraries that block through slots of their own, as soon as they are loaded.
 *
 * Most libraries in a server wait through functions of the server.  Those in the list do not.  The
 * executable's dlopen leads here, because libpq usually comes as a dependency of something else.
 * Patched libraries are pinned: their slots are in the list for ever.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "interpose/patch.h"

#include "interpose/wrappers.h"

#include <dlfcn.h>
#include <errno.h>

#define LIBRARIES_MAX 32

/* File names up to the first dot or dash: libpq.so.5, and in Python packages libpq-6197da7d.so.5 */
static const char *const wanted[] = {
	"libpq",					/* dblink, postgres_fdw, the WAL receiver: connects, COPY, cancel */
	"libmysqlclient",			/* mysql_fdw: every query */
	"libmariadb",				/* the same */
	"libcurl",					/* http and its like: every request; also -gnutls */
};

typedef struct Found
{
	PfsImage	images[LIBRARIES_MAX];
	uint32_t	count;
} Found;

/* Written by pfs_interpose_libraries, in the only thread. */
static uintptr_t done[LIBRARIES_MAX];	/* base addresses of patched libraries */
static uint32_t done_count;
static bool busy;				/* our own calls of dlopen come here when we are linked statically */

static bool
is_wanted(const char *path)
{
	const char *name = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
	size_t		length = strcspn(name, ".-");

	for (uint32_t i = 0; i < PFS_LENGTH(wanted); i++)
		if (strlen(wanted[i]) == length && memcmp(name, wanted[i], length) == 0)
			return true;
	return false;
}

static bool
is_done(uintptr_t base)
{
	for (uint32_t i = 0; i < done_count; i++)
		if (done[i] == base)
			return true;
	return false;
}

/* The dynamic linker's lock is held here: only look. */
static int
find_library(struct dl_phdr_info *info, size_t size, void *result)
{
	Found	   *found = result;

	(void) size;
	if (info->dlpi_name == NULL || !is_wanted(info->dlpi_name) || is_done(info->dlpi_addr) ||
		found->count + done_count >= LIBRARIES_MAX)
		return 0;
	found->count += pfs_image_open(&found->images[found->count], info);
	return 0;
}

void
pfs_interpose_libraries(void)
{
	int			saved = errno;
	Found		found = {.count = 0};

	if (!pfs_patch_wanted() || busy)
		return;
	busy = true;
	dl_iterate_phdr(find_library, &found);
	for (uint32_t i = 0; i < found.count; i++)
	{
		const PfsImage *library = &found.images[i];

		if (dlopen(library->path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) == NULL)
			continue;
		done[done_count++] = library->base;
		pfs_patch_image(library, library->path);
	}
	if (found.count > 0)
		dlerror();
	busy = false;
	errno = saved;
}

/*
 * A name without a slash is searched where the caller's object says.  That must stay the
 * executable, so this call must be a jump; what it loads is found after the next dlopen.
 */
void *
pfs_library_open(const char *path, int mode)
{
	void	   *(*real) (const char *, int) = pfs_wrappers[PFS_CALL_dlopen];
	void	   *handle;

	if (path == NULL || strchr(path, '/') == NULL)
	{
		real = pfs_call_real[PFS_CALL_dlopen];
		return real(path, mode);
	}
	handle = real(path, mode);
	if (handle != NULL)
		pfs_interpose_libraries();
	return handle;
}
