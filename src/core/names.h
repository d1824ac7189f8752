/*
 * names.h
 *		Names in event records: a 4-byte PfsRef instead of 64 bytes of text.
 *
 * Two kinds, in places of their own, so that neither what a user does nor a full pool takes the room
 * that others need.  Kept names (users, hosts, databases) are never removed: a reference stays good
 * for the life of the server.  Passing names (schemas, routines) have as many places as are needed at
 * a time; where there is none left, one that no session is in gives way.  A reference to a name that
 * has given way is dead: it leads to no name, never to another one.
 */
#ifndef PFS_NAMES_H
#define PFS_NAMES_H

#include "core/arena.h"

#define PFS_NAME_HEADS 1024
#define PFS_NAME_MAX 255
#define PFS_NAME_UNIT 64		/* bytes; kept names take whole ones */

#define PFS_PASSING_NAMES 1024
#define PFS_PASSING_MAX 128		/* a routine: type, length of its schema, two names of the server's */

/* writers: all, holding the lock of the names, inside use. */
typedef struct PfsPassingName
{
	PfsSeq		use;			/* 0 = empty; advances by two with each new name */
	uint32_t	hash;
	uint32_t	length;
	uint32_t	spare;
	char		text[PFS_PASSING_MAX];
} PfsPassingName;

/* A passing name as it was read. */
typedef struct PfsNameCopy
{
	size_t		length;
	char		text[PFS_PASSING_MAX];
} PfsNameCopy;

/* Finds or adds; 0 when text is NULL or there is no room (counted).  Longer names are cut. */
extern PfsRef pfs_name(PfsArena *arena, const char *text, size_t length);
extern PfsRef pfs_passing_name(PfsArena *arena, const char *text, size_t length);

/* A routine: object type, schema and name in one reference, a passing name. */
extern PfsRef pfs_routine_name(PfsArena *arena, unsigned type, const char *schema,
							   const char *name);

/* Text of a kept name and its length; NULL for 0 or a damaged reference.  Not zero-terminated. */
extern const char *pfs_name_text(const PfsArena *arena, PfsRef name, size_t *length);

/* Copies a passing name; false for 0, and when it has given way. */
extern bool pfs_name_copy(const PfsArena *arena, PfsRef name, PfsNameCopy *copy);

/* Is it still there? */
extern bool pfs_name_is_alive(const PfsArena *arena, PfsRef name);

/* Parts of a routine's name, in the copy. */
extern bool pfs_routine_parts(const PfsArena *arena, PfsRef routine, PfsNameCopy *copy, unsigned *type,
							  const char **schema, size_t *schema_length,
							  const char **name, size_t *name_length);

#endif							/* PFS_NAMES_H */
