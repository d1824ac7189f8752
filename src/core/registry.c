/*
 * registry.c
 *		Registration of instruments and thread classes, at start.
 */
#include "core/registry.h"

#include "core/setup.h"

static void
copy_text(char *to, size_t size, const char *from)
{
	size_t		length = strlen(from);

	length = pfs_min(length, size - 1);
	memcpy(to, from, length);
	to[length] = '\0';
}

static PfsInstrument *
fill(PfsArena *arena, uint32_t index, PfsInstrumentClass class, const char *name, const char *doc,
	 bool enabled, bool timed)
{
	PfsInstrument *instrument = pfs_instrument(arena, index);

	copy_text(instrument->name, sizeof(instrument->name), name);
	copy_text(instrument->doc, sizeof(instrument->doc), doc);
	instrument->class = class;
	instrument->enabled = enabled;
	instrument->can_be_timed = class != PFS_CLASS_ERROR;
	instrument->timed = timed && instrument->can_be_timed;
	return instrument;
}

uint32_t
pfs_register(PfsArena *arena, PfsInstrumentClass class, const char *name, const char *doc,
			 uint16_t properties, bool enabled, bool timed)
{
	uint32_t	index = arena->instrument_count;
	PfsInstrument *instrument;

	if (index >= arena->sizes.instruments ||
		(class == PFS_CLASS_STATEMENT && index >= arena->sizes.statement_classes))
	{
		pfs_lose(arena, PFS_LOSS_STATEMENT_CLASSES);
		return UINT32_MAX;
	}
	instrument = fill(arena, index, class, name, doc, enabled, timed);
	instrument->properties = properties;
	arena->instrument_count++;
	switch (class)
	{
		case PFS_CLASS_STATEMENT:
			instrument->number = (uint16_t) arena->statement_class_count++;
			break;
		case PFS_CLASS_TRANSACTION:
			arena->transaction_instrument = index;
			break;
		default:
			arena->error_instrument = index;
			break;
	}
	pfs_refresh_gate(arena);
	return instrument->number;
}

/* Readers come at any time: the row is whole before the counts include it. */
uint32_t
pfs_register_wait(PfsArena *arena, PfsWaitKind kind, const char *name, const char *doc,
				  uint32_t code, bool enabled)
{
	uint32_t	index = arena->instrument_count;
	uint32_t	wait = arena->wait_count;
	uint16_t   *map = PFS_AT(arena, arena->wait_map, uint16_t);
	PfsInstrument *instrument;

	if (index >= arena->sizes.instruments || wait >= arena->sizes.waits)
	{
		pfs_lose(arena, PFS_LOSS_WAIT_CLASSES);
		return UINT32_MAX;
	}
	if (wait == 0)
		arena->wait_instruments = index;
	instrument = fill(arena, index, PFS_CLASS_WAIT, name, doc, enabled, true);
	instrument->kind = kind;
	instrument->code = code;
	instrument->number = (uint16_t) wait;
	if (kind == PFS_WAIT_TABLE)
		arena->table_wait = wait;
	pfs_store_release(&arena->instrument_count, index + 1);
	pfs_store_release(&arena->wait_count, wait + 1);
	if (code != 0 && (code & 0xFFFF) <= 0xFF)
		pfs_store_release(&map[(code >> 24 & 0x0F) << 8 | (code & 0xFF)], (uint16_t) (wait + 1));
	pfs_refresh_gate(arena);
	return wait;
}

uint32_t
pfs_register_thread_class(PfsArena *arena, const char *name, const char *doc, bool foreground,
						  bool singleton)
{
	PfsThreadClass *class;

	if (arena->thread_class_count >= arena->sizes.thread_classes)
		return 0;
	class = PFS_AT(arena, arena->thread_classes, PfsThreadClass) + arena->thread_class_count;
	copy_text(class->name, sizeof(class->name), name);
	copy_text(class->doc, sizeof(class->doc), doc);
	class->enabled = class->history = 1;
	class->foreground = foreground;
	class->singleton = singleton;
	return arena->thread_class_count++;
}
