/*
 * image.h
 *		Inside src/interpose: an executable or library, as the dynamic linker holds it in memory.
 */
#ifndef PFS_IMAGE_H
#define PFS_IMAGE_H

#include "core/base.h"

#include <link.h>

typedef struct PfsImage
{
	const char *path;			/* the dynamic linker's; "" for the executable */
	uintptr_t	base;			/* what addresses in the file are relative to */
	const ElfW(Phdr) *segments;
	uint32_t	segments_count;
	const ElfW(Sym) *symbols;
	const char *strings;
	size_t		strings_size;
	const ElfW(Half) *versions; /* of each symbol; NULL = none */
	uintptr_t	needs;			/* names of versions: a chain of ElfW(Verneed) */
	uint32_t	needs_count;
	struct
	{
		const ElfW(Rela) *first;
		size_t		count;
	}			tables[2];		/* relocations: DT_JMPREL, DT_RELA */
} PfsImage;

/* One slot that the dynamic linker fills, or has filled, with the address of a function. */
typedef struct PfsImport
{
	const char *symbol;
	const char *version;		/* NULL = none */
	const char *library;		/* that should define it; NULL = not said */
	void	  **slot;
} PfsImport;

/* Where pfs_image_next stands; zero at first. */
typedef struct PfsImportCursor
{
	uint32_t	table;
	size_t		position;
} PfsImportCursor;

/* False when there is nothing to read: no dynamic section, or one that we do not understand. */
extern bool pfs_image_open(PfsImage *image, const struct dl_phdr_info *info);

/* False after the last import. */
extern bool pfs_image_next(const PfsImage *image, PfsImportCursor *cursor, PfsImport *import);

/* Is the address inside the loaded file? */
extern bool pfs_image_contains(const PfsImage *image, const void *address);

#endif							/* PFS_IMAGE_H */
