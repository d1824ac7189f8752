/*
 * known.h
 *		Relations as this process knows them: a cache by oid, without release.
 */
#ifndef PFS_PG_KNOWN_H
#define PFS_PG_KNOWN_H

#include "core/object.h"
#include "pg/pg_arena.h"
#include "pg/pg_hooks.h"

typedef enum PfsKnownKind
{
	PFS_KNOWN_NOT,				/* the catalogue was not asked yet */
	PFS_KNOWN_TABLE,
	PFS_KNOWN_INDEX,
	PFS_KNOWN_OTHER				/* makes no rows: a view, of TOAST, dropped, ... */
} PfsKnownKind;

/* Of an index seen[0] and seen[1] are its tuples fetched and returned. */
#define PFS_INDEX_FETCHED 0
#define PFS_INDEX_RETURNED 1

/* A cache line each. */
typedef struct PfsKnown
{
	Oid			oid;			/* 0 = free */
	uint32		row;			/* in the arena, see object.h; 0 = none */
	uint32		use;
	uint8		kind:3;			/* PfsKnownKind */
	uint8		excludes_nothing:1; /* table: none of its indexes is of an exclusion constraint, see pfs_known_attach */
	uint8		routed:1;		/* index met by routing, see routed.c */
	uint8		watched:1;		/* setup_objects says so ... */
	uint8		timed:1;		/* ... and this */
	uint8		excludes:1;		/* index of an exclusion constraint */
	uint8		owed:1;			/* rows could not be recorded when they were counted, see pfs_known_owe */
	uint8		samples:4;		/* timed executions, up to PFS_SAMPLES_FIRST */
	uint8		until_timed;	/* the next execution that is timed: 1 = the next one */
	uint8		skipped;		/* executions that are not, before it */
	uint32		rules;			/* as of this arena->objects_changed */
	uint32		epoch;			/* in which "seen" was right, see parts.h */
	PfsObjectCell *cell;		/* where this thread counts, as far as is known */
	uint64		seen[PFS_TABLE_OPERATIONS]; /* counters up to which all is recorded, or nobody's */
} PfsKnown;

/* Owner: this process. */
#define PFS_KNOWN_BITS 12
#define PFS_KNOWN (1 << PFS_KNOWN_BITS)

extern PfsKnown pfs_known[PFS_KNOWN];
extern uint32 pfs_known_epoch;	/* entries of this one are not given to others */
extern uint32 pfs_known_owed;	/* number of those with "owed" */

extern PfsKnown *pfs_known_find_slow(Oid oid);

/* Where it most often is. */
static inline PfsKnown *
pfs_known_place(Oid oid)
{
	return (PfsKnown *) ((char *) pfs_known + (oid & (PFS_KNOWN - 1)) * sizeof(PfsKnown));
}

/* NULL: no room (counted). */
static inline PfsKnown *
pfs_known_find(Oid oid)
{
	PfsKnown   *known = pfs_known_place(oid);

	return pfs_likely(known->oid == oid) ? known : pfs_known_find_slow(oid);
}

/* rows.c: once a process: what depends on tables' indexes is forgotten when the server forgets what they are. */
extern void pfs_known_attach(void);

/* Some may have that set. */
extern bool pfs_known_excludes_nothing;

/* rows.c: finds out what it is, its row and names, and whether it is watched.  May raise an error. */
extern void pfs_known_ask(PfsKnown *known);

static inline bool
pfs_known_is_right(const PfsKnown *known)
{
	return known->kind != PFS_KNOWN_NOT && known->rules == pfs_load(&pfs_arena->objects_changed);
}

/* Is it watched?  At safe points. */
static inline bool
pfs_known_watched(PfsKnown *known)
{
	if (pfs_unlikely(!pfs_known_is_right(known)))
		pfs_known_ask(known);
	return known->watched;
}

/* So many rows are to be recorded later: now it is not known whether they are watched. */
extern void pfs_known_owe(PfsKnown *known, int operation, uint64 rows);

/* What is owed is recorded: at a safe point. */
extern void pfs_known_settle(void);

/* Shows the present names of the rows of all tables and indexes: some were renamed. */
extern void pfs_rows_rename(void);

/* Row of this number of our database, and its key; false: not in use. */
extern bool pfs_rows_read(uint32 number, PfsTableKey *key, uint32 *use);

#endif							/* PFS_PG_KNOWN_H */
