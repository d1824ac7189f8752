/*
 * names.h
 *		Interned texts: user, host, database, schema and routine names.
 *
 * Event records carry a 4-byte PfsRef instead of 64-byte names.  A name is never removed, so a
 * reference stays good for the life of the server; the pool bounds their number.
 */
#ifndef PFS_NAMES_H
#define PFS_NAMES_H

#include "core/arena.h"

#define PFS_NAME_HEADS 1024
#define PFS_NAME_MAX 255

/* Finds or adds; 0 when text is NULL or the pool is full (counted).  Longer names are cut. */
extern PfsRef pfs_name(PfsArena *arena, const char *text, size_t length);

/* The text and its length; NULL for 0 or a damaged reference.  Not zero-terminated. */
extern const char *pfs_name_text(const PfsArena *arena, PfsRef name, size_t *length);

/* A routine: object type, schema and name in one reference. */
extern PfsRef pfs_routine_name(PfsArena *arena, unsigned type, const char *schema,
							   const char *name);
extern bool pfs_routine_parts(const PfsArena *arena, PfsRef routine, unsigned *type,
							  const char **schema, size_t *schema_length,
							  const char **name, size_t *name_length);

#endif							/* PFS_NAMES_H */
