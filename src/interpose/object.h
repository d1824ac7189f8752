/*
 * object.h
 *		Inside src/interpose: an executable or library as the dynamic linker holds it in memory.
 */
#ifndef PFS_OBJECT_H
#define PFS_OBJECT_H

#include "core/base.h"

#include <link.h>

typedef struct PfsObject
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
} PfsObject;

/* One slot that the dynamic linker fills, or has filled, with the address of a function. */
typedef struct PfsImport
{
	const char *symbol;
	const char *version;		/* NULL = none */
	const char *library;		/* that should define it; NULL = not said */
	void	  **slot;
} PfsImport;

/* Where pfs_object_next stands; zero at first. */
typedef struct PfsImportCursor
{
	uint32_t	table;
	size_t		position;
} PfsImportCursor;

/* False when there is nothing to read: no dynamic section, or one that we do not understand. */
extern bool pfs_object_open(PfsObject *object, const struct dl_phdr_info *info);

/* False after the last import. */
extern bool pfs_object_next(const PfsObject *object, PfsImportCursor *cursor, PfsImport *import);

/* Is the address inside the loaded file? */
extern bool pfs_object_contains(const PfsObject *object, const void *address);

#endif							/* PFS_OBJECT_H */
