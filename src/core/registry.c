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
	instrument = pfs_instrument(arena, index);
	copy_text(instrument->name, sizeof(instrument->name), name);
	copy_text(instrument->doc, sizeof(instrument->doc), doc);
	instrument->class = class;
	instrument->properties = properties;
	instrument->enabled = enabled;
	instrument->can_be_timed = class != PFS_CLASS_ERROR;
	instrument->timed = timed && instrument->can_be_timed;
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
