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
	PFS_CLASS_WAIT,
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

/* Kinds of waits: what a wait has besides its time. */
typedef enum PfsWaitKind
{
	PFS_WAIT_PLAIN,
	PFS_WAIT_FILE,				/* bytes, reads and writes: PfsIoStat */
	PFS_WAIT_SOCKET,			/* the same */
	PFS_WAIT_LOCK,				/* heavyweight lock: counts as lock time of its statement */
	PFS_WAIT_LWLOCK,
	PFS_WAIT_IDLE,				/* between statements */
	PFS_WAIT_TABLE,				/* rows of a table; contains other waits */
	PFS_WAIT_KINDS
} PfsWaitKind;

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
	uint8_t		volatility;
	uint8_t		kind;			/* PfsWaitKind, of waits */
	uint16_t	spare;
	uint32_t	code;			/* the host's code of a wait event, 0 = none */
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
	return PFS_AT(arena, arena->instruments, PfsInstrument) +
		(number < arena->sizes.instruments ? number : 0);
}

/* How many there are; words that change are not trusted. */
static inline uint32_t
pfs_instrument_count(const PfsArena *arena)
{
	return pfs_min(pfs_load_acquire(&arena->instrument_count), arena->sizes.instruments);
}

static inline uint32_t
pfs_wait_count(const PfsArena *arena)
{
	return pfs_min(pfs_load_acquire(&arena->wait_count), arena->sizes.waits);
}

static inline uint32_t
pfs_statement_class_count(const PfsArena *arena)
{
	return pfs_min(arena->statement_class_count, arena->sizes.statement_classes);
}

static inline uint32_t
pfs_thread_class_count(const PfsArena *arena)
{
	return pfs_min(arena->thread_class_count, arena->sizes.thread_classes);
}

/*
 * Registers a wait; returns its number among the waits, or UINT32_MAX (and counts a loss).  At
 * start, after all other instruments; later under the roll-up lock.
 */
extern uint32_t pfs_register_wait(PfsArena *arena, PfsWaitKind kind, const char *name,
								  const char *doc, uint32_t code, bool enabled);

static inline PfsInstrument *
pfs_wait_instrument(const PfsArena *arena, uint32_t wait)
{
	return pfs_instrument(arena, arena->wait_instruments +
						  (wait < pfs_load_acquire(&arena->wait_count) ? wait : 0));
}

/* Statement instruments are registered first, so a statement class is its instrument's number. */
static inline PfsInstrument *
pfs_statement_instrument(const PfsArena *arena, uint32_t class)
{
	return PFS_AT(arena, arena->instruments, PfsInstrument) +
		(class < arena->sizes.statement_classes ? class : 0);
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
		(number < pfs_thread_class_count(arena) ? number : 0);
}

#endif							/* PFS_REGISTRY_H */
