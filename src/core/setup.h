/*
 * setup.h
 *		The switchboard: consumers, rules for actors and objects, patterns for instruments.
 *
 * Changes are made by one process at a time (the host serialises them); recorders read single
 * words.  Every change ends in pfs_refresh_gate, which flattens instruments, consumers and their
 * hierarchy into one word, so that a hook decides by one relaxed load.
 */
#ifndef PFS_SETUP_H
#define PFS_SETUP_H

#include "core/registry.h"

typedef enum PfsConsumer
{
#define PFS_CONSUMER(symbol, name, parent, on) PFS_CONSUMER_##symbol,
#include "core/consumers.def"
#undef PFS_CONSUMER
	PFS_CONSUMERS
} PfsConsumer;

/* Bits of PfsArena.gate: one per consumer (effective: all its parents are on), then ... */
#define PFS_WANTS(consumer) (1u << PFS_CONSUMER_##consumer)
#define PFS_GATE_STATEMENTS (1u << 24)	/* some statement instrument is enabled */
#define PFS_GATE_TRANSACTIONS (1u << 25)
#define PFS_GATE_ERRORS (1u << 26)
#define PFS_GATE_CALLS (1u << 27)	/* some wait instrument other than those of tables */
#define PFS_GATE_TABLES (1u << 28)	/* wait/io/table */
#define PFS_GATE_SOCKETS (1u << 29) /* some wait that a call on a socket can be */
#define PFS_GATE_ANY (PFS_GATE_STATEMENTS | PFS_GATE_TRANSACTIONS | PFS_GATE_ERRORS)

extern const char *pfs_consumer_name(PfsConsumer consumer);
extern bool pfs_consumer_is_default(PfsConsumer consumer);
extern void pfs_consumers_default(PfsArena *arena);
extern void pfs_set_consumer(PfsArena *arena, PfsConsumer consumer, bool on);
extern void pfs_refresh_gate(PfsArena *arena);

/* The host's: this process has renewed the gate.  NULL = it need not know. */
extern void (*pfs_host_gate_renewed) (void);

/* SQL-like pattern: % any run, ? or _ one character, \ escapes. */
extern bool pfs_like(const char *pattern, const char *text);

/* Sets flags of one instrument; negative leaves a flag as it is; untimable ones stay untimed. */
extern void pfs_set_instrument(PfsArena *arena, PfsInstrument *instrument, int enabled, int timed);

#define PFS_KEY_LENGTH 64

/* One row of setup_actors: '%' stands for any.  order: rows are published by "used" last. */
typedef struct PfsActor
{
	char		host[PFS_KEY_LENGTH * 4];
	char		user[PFS_KEY_LENGTH];
	char		role[PFS_KEY_LENGTH];
	uint8_t		used;
	uint8_t		enabled;
	uint8_t		history;
	uint8_t		spare[5];
} PfsActor;

typedef enum PfsObjectType
{
	PFS_OBJECT_FUNCTION,
	PFS_OBJECT_PROCEDURE,
	PFS_OBJECT_TABLE,
	PFS_OBJECT_TRIGGER,
	PFS_OBJECT_TYPES
} PfsObjectType;

/* One row of setup_objects. */
typedef struct PfsObject
{
	char		schema[PFS_KEY_LENGTH];
	char		name[PFS_KEY_LENGTH];
	uint8_t		used;
	uint8_t		type;			/* PfsObjectType */
	uint8_t		enabled;
	uint8_t		timed;
	uint8_t		spare[4];
} PfsObject;

typedef enum PfsRuleResult
{
	PFS_RULE_OK,
	PFS_RULE_DUPLICATE,
	PFS_RULE_FULL
} PfsRuleResult;

extern const char *pfs_object_type_name(PfsObjectType type);

static inline PfsActor *
pfs_actor(const PfsArena *arena, uint32_t number)
{
	return PFS_AT(arena, arena->actors, PfsActor) + number;
}

static inline PfsObject *
pfs_object(const PfsArena *arena, uint32_t number)
{
	return PFS_AT(arena, arena->objects, PfsObject) + number;
}

extern PfsRuleResult pfs_actor_insert(PfsArena *arena, const PfsActor *row);
extern PfsRuleResult pfs_object_insert(PfsArena *arena, const PfsObject *row);

/* The default rows: everybody; everything but the server's own schemas. */
extern void pfs_rules_default(PfsArena *arena);

/*
 * First hit of (user, host), (user, %), (%, host), (%, %) decides; no hit means no.
 * For sessions that connect; running sessions keep what they have.
 */
extern void pfs_actor_lookup(const PfsArena *arena, const char *user, const char *host,
							 bool *enabled, bool *history);

/* First hit of (schema, name), (schema, %), (%, %); no hit means no. */
extern void pfs_object_lookup(const PfsArena *arena, PfsObjectType type, const char *schema,
							  const char *name, bool *enabled, bool *timed);

#endif							/* PFS_SETUP_H */
