/*
 * parts.h
 *		How the relations of a call are collected: for what is no query.
 */
#ifndef PFS_PG_PARTS_H
#define PFS_PG_PARTS_H

#include "core/statement.h"
#include "pg/relation/relation.h"

/* What a call does with a relation; from PFS_READS_INDEX on it is an index. */
typedef enum PfsReads
{
	PFS_READS_TABLE,
	PFS_READS_NOTHING,			/* only changes it */
	PFS_READS_INDEX,
	PFS_READS_INDEX_ONLY,
	PFS_READS_CONFLICTS			/* which are no rows examined */
} PfsReads;

/* A call begins: first start, then its relations, then run. */
extern void pfs_relations_start(PfsRelations *relations);
extern void pfs_part_begin(PfsRelations *relations, Oid oid, PfsReads reads);
extern void pfs_relations_run(PfsRelations *relations);

#endif							/* PFS_PG_PARTS_H */
