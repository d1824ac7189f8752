/*
 * page.c
 *		Writes a slot in a page that the dynamic linker has made read-only (RELRO).
 *
 * What a page's protection is cannot be told from the file: it depends on the linker's flags and
 * on whoever was here before.  So /proc/self/maps is asked; without it nothing is written.
 */
#include "interpose/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int
pfs_page_protection(const void *address, int *protection)
{
	FILE	   *maps = fopen("/proc/self/maps", "re");
	char		line[512];
	bool		at_start = true;	/* a line longer than the buffer comes in pieces */
	int			error = ENOMEM;		/* what mprotect says of memory that is not mapped */

	if (maps == NULL)
		return errno;
	while (error != 0 && fgets(line, sizeof(line), maps) != NULL)
	{
		uint64_t	start;
		uint64_t	stop;
		char		flags[5];

		if (at_start && sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &start, &stop, flags) == 3 &&
			(uintptr_t) address >= start && (uintptr_t) address < stop)
		{
			*protection = (flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) |
				(flags[2] == 'x' ? PROT_EXEC : 0);
			error = 0;
		}
		at_start = strchr(line, '\n') != NULL;
	}
	fclose(maps);
	return error;
}

int
pfs_page_write(PfsPage *page, void **slot, void *value)
{
	size_t		size = (size_t) sysconf(_SC_PAGESIZE);
	uintptr_t	start = (uintptr_t) slot / size * size;

	if (page->start != start)
	{
		int			error = pfs_page_protection(slot, &page->protection);

		page->start = error == 0 ? start : 0;
		if (error != 0)
			return error;
	}
	if (page->protection & PROT_WRITE)
	{
		pfs_store_release(slot, value);
		return 0;
	}
	if (mprotect((void *) start, size, page->protection | PROT_WRITE) != 0)
		return errno;
	pfs_store_release(slot, value); /* what the function reads was written before */
	mprotect((void *) start, size, page->protection);	/* gives back what we had: is not refused */
	return 0;
}
