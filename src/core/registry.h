/*
 * registry.h
 *		Instruments: what can be observed, and whether it is enabled and timed.
 *
 * Registered by the host when the arena is created; afterwards only the two flags change, by
 * UPDATE of setup_instruments.  Every recorder reads them with relaxed loads.
 */
#ifndef PFS_REGISTRY_H
#define PFS_REGISTRY_H

#include "core/arena.h"

typedef enum PfsInstrumentClass
{
	PFS_CLASS_STATEMENT,
	PFS_CLASS_TRANSACTION,
	PFS_CLASS_ERROR,
	PFS_CLASSES
} PfsInstrumentClass;

#define PFS_NAME_LENGTH 128
#define PFS_DOC_LENGTH 160

/* Properties, as MySQL's SET column shows them. */
#define PFS_PROPERTY_SINGLETON 0x01
#define PFS_PROPERTY_PROGRESS 0x02
#define PFS_PROPERTY_USER 0x04
#define PFS_PROPERTY_GLOBAL_STATISTICS 0x08
#define PFS_PROPERTY_MUTABLE 0x10

typedef struct PfsInstrument
{
	char		name[PFS_NAME_LENGTH];
	char		doc[PFS_DOC_LENGTH];
	uint8_t		enabled;		/* writer: setup changes; readers: any; order: none */
	uint8_t		timed;			/* the same */
	uint8_t		can_be_timed;
	uint8_t		class;			/* PfsInstrumentClass */
	uint16_t	properties;
	uint16_t	number;			/* index inside its class */
	uint32_t	volatility;
} PfsInstrument;

/*
 * Registers one instrument; returns its number inside its class, or UINT32_MAX (and counts a loss)
 * when the table is full.  Host, at start only.
 */
extern uint32_t pfs_register(PfsArena *arena, PfsInstrumentClass class, const char *name,
							 const char *doc, uint16_t properties, bool enabled, bool timed);

static inline PfsInstrument *
pfs_instrument(const PfsArena *arena, uint32_t number)
{
	return PFS_AT(arena, arena->instruments, PfsInstrument) + number;
}

/* Statement instruments are registered first, so a statement class is its instrument's number. */
static inline PfsInstrument *
pfs_statement_instrument(const PfsArena *arena, uint32_t class)
{
	return pfs_instrument(arena, class < arena->statement_class_count ? class : 0);
}

/* A class of server processes: one row of setup_threads. */
typedef struct PfsThreadClass
{
	char		name[PFS_NAME_LENGTH];
	char		doc[PFS_DOC_LENGTH];
	uint8_t		enabled;
	uint8_t		history;
	uint8_t		foreground;		/* serves a client */
	uint8_t		singleton;
	uint32_t	spare;
} PfsThreadClass;

extern uint32_t pfs_register_thread_class(PfsArena *arena, const char *name, const char *doc,
										  bool foreground, bool singleton);

static inline PfsThreadClass *
pfs_thread_class(const PfsArena *arena, uint32_t number)
{
	return PFS_AT(arena, arena->thread_classes, PfsThreadClass) +
		(number < arena->thread_class_count ? number : 0);
}

#endif							/* PFS_REGISTRY_H */
