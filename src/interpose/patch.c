/*
 * patch.c
 *		The list of slots: fills it, patches them, says how they are.
 *
 * Each call has one function that its wrapper chains to.  The first slot that is patched decides
 * which; a slot that holds another one is left alone.  Everything here runs in set-up or after a
 * dlopen, never in a wrapper.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "interpose/patch.h"

#include "interpose/page.h"
#include "interpose/wrappers.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#define SLOTS_MAX 1024			/* an executable has about 160, libpq 25 */

typedef enum PatchMode
{
	MODE_UNDECIDED,
	MODE_INSTALLED,
	MODE_REFUSED
} PatchMode;

/* Written by install, refuse and after dlopen, by the only thread; children inherit copies. */
static PfsSlot slots[SLOTS_MAX];
static uint32_t slots_count;
static uint32_t slots_lost;
static PatchMode mode;
static PfsImage executable;
static bool executable_found;	/* it has imports that can be read */
static char executable_path[PATH_MAX];
static uint32_t executable_patched;

bool
pfs_patch_wanted(void)
{
	return mode == MODE_INSTALLED && executable_found;
}

uint32_t
pfs_interpose_slots_lost(void)
{
	return slots_lost;
}

const char *
pfs_slot_state_name(PfsSlotState state)
{
	static const char *const names[] = {
		[PFS_SLOT_PATCHED] = "PATCHED",
		[PFS_SLOT_CHAINED] = "CHAINED",
		[PFS_SLOT_NOT_IMPORTED] = "NOT_IMPORTED",
		[PFS_SLOT_UNRESOLVED] = "UNRESOLVED",
		[PFS_SLOT_PROTECTED] = "PROTECTED",
		[PFS_SLOT_OVERWRITTEN] = "OVERWRITTEN",
		[PFS_SLOT_OFF] = "OFF",
		[PFS_SLOT_DIFFERS] = "DIFFERS",
	};

	return (uint32_t) state < PFS_LENGTH(names) ? names[state] : "UNKNOWN";
}

static uint32_t
call_number(const char *symbol)
{
	uint32_t	number = 0;

	while (number < PFS_CALLS && strcmp(pfs_call_types[number].symbol, symbol) != 0)
		number++;
	return number;
}

static void *
wrapper_of(uint32_t number)
{
	return number == PFS_CALL_dlopen ? (void *) pfs_library_open : pfs_wrappers[number];
}

/* NULL when the list is full. */
static PfsSlot *
add_slot(const char *path, uint32_t number, PfsSlotState state, void **address)
{
	PfsSlot    *slot = &slots[slots_count];

	if (slots_count == SLOTS_MAX)
	{
		slots_lost++;
		return NULL;
	}
	*slot = (PfsSlot) {
		.object = path,
		.symbol = pfs_call_types[number].symbol,
		.number = number,
		.state = state,
		.address = address,
	};
	slots_count++;
	return slot;
}

/*
 * A slot that points into its own object has not been resolved yet: it holds the PLT's stub, and
 * calling that would let the dynamic linker overwrite the slot.
 */
static PfsSlotState
patch_slot(const PfsImage *image, const PfsImport *import, uint32_t number, PfsPage *page, int *error)
{
	void	   *held = pfs_load(import->slot);
	void	   *defined = pfs_resolve(image, &executable, import);
	void	   *real = pfs_image_contains(image, held) ? defined : held;

	if (held == NULL || real == NULL)
		return PFS_SLOT_UNRESOLVED;
	if (pfs_call_real[number] != NULL && pfs_call_real[number] != real)
		return PFS_SLOT_DIFFERS;
	pfs_call_set_real(number, real);
	*error = pfs_page_write(page, import->slot, wrapper_of(number));
	if (*error != 0)
		return PFS_SLOT_PROTECTED;
	return real == defined ? PFS_SLOT_PATCHED : PFS_SLOT_CHAINED;
}

uint32_t
pfs_patch_image(const PfsImage *image, const char *path)
{
	PfsImportCursor cursor = {0};
	PfsImport	import;
	PfsPage		page = {0};
	uint32_t	patched = 0;

	while (pfs_image_next(image, &cursor, &import))
	{
		uint32_t	number = call_number(import.symbol);
		PfsSlot    *slot;

		/* a wrapper is there already when both relocation tables list the slot */
		if (number == PFS_CALLS || pfs_load(import.slot) == wrapper_of(number))
			continue;
		slot = add_slot(path, number, PFS_SLOT_OFF, import.slot);
		if (slot == NULL || mode != MODE_INSTALLED)
			continue;
		slot->state = patch_slot(image, &import, number, &page, &slot->error);
		patched += slot->state == PFS_SLOT_PATCHED || slot->state == PFS_SLOT_CHAINED;
	}
	return patched;
}

/* The executable is the first one that is reported. */
static int
find_executable(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void) size;
	(void) unused;
	executable_found = pfs_image_open(&executable, info);
	return 1;
}

/* Lists the executable's slots, and the names that it does not import. */
static void
list_executable(PatchMode chosen)
{
	bool		imported[PFS_CALLS] = {false};
	ssize_t		length = readlink("/proc/self/exe", executable_path, sizeof(executable_path) - 1);
	uint32_t	slots_imported;

	mode = chosen;
	executable_path[length > 0 ? length : 0] = '\0';
	dl_iterate_phdr(find_executable, NULL);
	if (executable_found)
		executable_patched = pfs_patch_image(&executable, executable_path);
	slots_imported = slots_count;
	for (uint32_t i = 0; i < slots_imported; i++)
		imported[slots[i].number] = true;
	for (uint32_t number = 0; number < PFS_CALLS; number++)
		if (!imported[number])
			add_slot(executable_path, number, PFS_SLOT_NOT_IMPORTED, NULL);
}

uint32_t
pfs_interpose_install(void)
{
	if (mode == MODE_UNDECIDED)
	{
		int			saved = errno;

		pfs_wrappers_own_thread();
		list_executable(MODE_INSTALLED);
		pfs_interpose_libraries();
		errno = saved;
	}
	return executable_patched;
}

void
pfs_interpose_refuse(void)
{
	int			saved = errno;

	if (mode == MODE_UNDECIDED)
		list_executable(MODE_REFUSED);
	errno = saved;
}

bool
pfs_interpose_slot(uint32_t number, PfsSlot *slot)
{
	if (number >= slots_count)
		return false;
	*slot = slots[number];
	if ((slot->state == PFS_SLOT_PATCHED || slot->state == PFS_SLOT_CHAINED) &&
		pfs_load(slot->address) != wrapper_of(slot->number))
		slot->state = PFS_SLOT_OVERWRITTEN;
	return true;
}
