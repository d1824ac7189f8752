/*
 * image.c
 *		Reads the import slots of an executable or library from memory: no file is opened.
 *
 * A function is imported by one relocation (JUMP_SLOT: called through the PLT; GLOB_DAT: its
 * address is taken, or compiled with -fno-plt) or by both, which then have a slot each.  Every
 * address is checked to be inside the object's segments before it is read.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "interpose/image.h"

#if defined(__x86_64__) && defined(__LP64__)
#define IS_IMPORT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__) && defined(__LP64__)
#define IS_IMPORT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define IS_IMPORT(type) false	/* other machines: nothing is patched */
#endif

#define VERSION_NUMBER 0x7FFF	/* of a symbol; the highest bit says hidden */

/* What PT_DYNAMIC says, as it is found there. */
typedef struct Dynamic
{
	ElfW(Addr) symbols;
	ElfW(Addr) strings;
	ElfW(Xword) strings_size;
	ElfW(Addr) versions;
	ElfW(Addr) needs;
	ElfW(Xword) needs_count;
	ElfW(Addr) table[2];
	ElfW(Xword) table_size[2];
	ElfW(Xword) plt_kind;
} Dynamic;

/* Are these bytes in one segment that has all the flags? */
static bool
inside(const PfsImage *image, uintptr_t address, size_t size, uint32_t flags)
{
	for (uint32_t i = 0; i < image->segments_count; i++)
	{
		const ElfW(Phdr) *segment = &image->segments[i];
		uintptr_t	start = image->base + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags &&
			address >= start && size <= segment->p_memsz &&
			address - start <= segment->p_memsz - size)
			return true;
	}
	return false;
}

bool
pfs_image_contains(const PfsImage *image, const void *address)
{
	return inside(image, (uintptr_t) address, 1, 0);
}

/* glibc relocates the addresses in the dynamic section when it loads an image; others do not. */
static uintptr_t
in_memory(const PfsImage *image, ElfW(Addr) address)
{
	if (address == 0)
		return 0;
	return address >= image->base ? address : image->base + address;
}

static bool
read_dynamic(const PfsImage *image, Dynamic *dynamic)
{
	const ElfW(Dyn) *entry = NULL;
	size_t		count = 0;

	memset(dynamic, 0, sizeof(*dynamic));
	for (uint32_t i = 0; i < image->segments_count; i++)
		if (image->segments[i].p_type == PT_DYNAMIC)
		{
			entry = (const ElfW(Dyn) *) (image->base + image->segments[i].p_vaddr);
			count = image->segments[i].p_memsz / sizeof(*entry);
		}
	if (entry == NULL || !inside(image, (uintptr_t) entry, count * sizeof(*entry), PF_R))
		return false;
	for (; count > 0 && entry->d_tag != DT_NULL; entry++, count--)
		switch (entry->d_tag)
		{
			case DT_SYMTAB: dynamic->symbols = entry->d_un.d_ptr; break;
			case DT_STRTAB: dynamic->strings = entry->d_un.d_ptr; break;
			case DT_STRSZ: dynamic->strings_size = entry->d_un.d_val; break;
			case DT_VERSYM: dynamic->versions = entry->d_un.d_ptr; break;
			case DT_VERNEED: dynamic->needs = entry->d_un.d_ptr; break;
			case DT_VERNEEDNUM: dynamic->needs_count = entry->d_un.d_val; break;
			case DT_JMPREL: dynamic->table[0] = entry->d_un.d_ptr; break;
			case DT_PLTRELSZ: dynamic->table_size[0] = entry->d_un.d_val; break;
			case DT_PLTREL: dynamic->plt_kind = entry->d_un.d_val; break;
			case DT_RELA: dynamic->table[1] = entry->d_un.d_ptr; break;
			case DT_RELASZ: dynamic->table_size[1] = entry->d_un.d_val; break;
			default: break;
		}
	return dynamic->symbols != 0 && dynamic->strings != 0 && dynamic->strings_size != 0 &&
		(dynamic->table[0] == 0 || dynamic->plt_kind == DT_RELA);
}

bool
pfs_image_open(PfsImage *image, const struct dl_phdr_info *info)
{
	Dynamic		dynamic;

	memset(image, 0, sizeof(*image));
	image->path = info->dlpi_name;
	image->base = info->dlpi_addr;
	image->segments = info->dlpi_phdr;
	image->segments_count = info->dlpi_phnum;
	if (!read_dynamic(image, &dynamic))
		return false;
	image->symbols = (const ElfW(Sym) *) in_memory(image, dynamic.symbols);
	image->strings = (const char *) in_memory(image, dynamic.strings);
	image->strings_size = dynamic.strings_size;
	image->versions = (const ElfW(Half) *) in_memory(image, dynamic.versions);
	image->needs = in_memory(image, dynamic.needs);
	image->needs_count = (uint32_t) dynamic.needs_count;
	for (int i = 0; i < 2; i++)
	{
		uintptr_t	table = in_memory(image, dynamic.table[i]);

		if (table == 0 || !inside(image, table, dynamic.table_size[i], PF_R))
			continue;
		image->tables[i].first = (const ElfW(Rela) *) table;
		image->tables[i].count = dynamic.table_size[i] / sizeof(ElfW(Rela));
	}
	/* with a zero at the end of the table every string in it has an end */
	return inside(image, (uintptr_t) image->strings, image->strings_size, PF_R) &&
		image->strings[image->strings_size - 1] == '\0';
}

static const char *
string_at(const PfsImage *image, size_t offset)
{
	return offset < image->strings_size ? image->strings + offset : NULL;
}

/* One library's versions: does it have this number? */
static bool
find_version(const PfsImage *image, const ElfW(Verneed) *need, uint32_t number, PfsImport *import)
{
	uintptr_t	at = (uintptr_t) need + need->vn_aux;

	for (uint32_t i = 0; i < need->vn_cnt; i++)
	{
		const ElfW(Vernaux) *version = (const ElfW(Vernaux) *) at;

		if (!inside(image, at, sizeof(*version), PF_R))
			return false;
		if ((version->vna_other & VERSION_NUMBER) == number)
		{
			import->version = string_at(image, version->vna_name);
			import->library = string_at(image, need->vn_file);
			return true;
		}
		if (version->vna_next == 0)
			return false;
		at += version->vna_next;
	}
	return false;
}

/* Numbers 0 and 1 mean: no version. */
static void
read_version(const PfsImage *image, size_t symbol, PfsImport *import)
{
	uintptr_t	at = image->needs;
	uint32_t	number;

	if (image->versions == NULL ||
		!inside(image, (uintptr_t) &image->versions[symbol], sizeof(ElfW(Half)), PF_R))
		return;
	number = image->versions[symbol] & VERSION_NUMBER;
	for (uint32_t i = 0; number > 1 && i < image->needs_count; i++)
	{
		const ElfW(Verneed) *need = (const ElfW(Verneed) *) at;

		if (!inside(image, at, sizeof(*need), PF_R) || find_version(image, need, number, import) ||
			need->vn_next == 0)
			return;
		at += need->vn_next;
	}
}

static bool
read_import(const PfsImage *image, const ElfW(Rela) *relocation, PfsImport *import)
{
	size_t		number = ELF64_R_SYM(relocation->r_info);
	uintptr_t	slot = image->base + relocation->r_offset;
	const ElfW(Sym) *symbol = &image->symbols[number];

	memset(import, 0, sizeof(*import));
	if (!IS_IMPORT(ELF64_R_TYPE(relocation->r_info)) || slot % sizeof(void *) != 0 ||
		!inside(image, slot, sizeof(void *), PF_R | PF_W) ||
		!inside(image, (uintptr_t) symbol, sizeof(*symbol), PF_R) || symbol->st_shndx != SHN_UNDEF)
		return false;
	import->slot = (void **) slot;
	import->symbol = string_at(image, symbol->st_name);
	read_version(image, number, import);
	return import->symbol != NULL;
}

bool
pfs_image_next(const PfsImage *image, PfsImportCursor *cursor, PfsImport *import)
{
	for (; cursor->table < PFS_LENGTH(image->tables); cursor->table++, cursor->position = 0)
		while (cursor->position < image->tables[cursor->table].count)
			if (read_import(image, &image->tables[cursor->table].first[cursor->position++], import))
				return true;
	return false;
}
