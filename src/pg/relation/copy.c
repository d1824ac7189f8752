/*
 * copy.c
 *		Rows of COPY: of its target, or of the partitions of that.
 *
 * Other utility statements that read or change rows themselves are left out, see docs/parity.md.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "pg/pg_compat.h"
#include "pg/relation/known.h"
#include "pg/relation/parts.h"
#include "pg/relation/relation.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

typedef struct Copy
{
	MemoryContextCallback gone;
	PfsRelations relations;
} Copy;

static void
gone(void *copy)
{
	pfs_relations_left(&((Copy *) copy)->relations);
}

/* Without a lock, and without asking for rights: COPY does both, and reports what is wrong. */
static Oid
target_of(const RangeVar *name)
{
	Oid			schema;

	if (name == NULL || name->catalogname != NULL)
		return InvalidOid;
	if (name->schemaname == NULL)
		return RelnameGetRelid(name->relname);
	schema = LookupNamespaceNoError(name->schemaname);
	return OidIsValid(schema) ? get_relname_relid(name->relname, schema) : InvalidOid;
}

static void
begin_targets(PfsRelations *relations, Oid oid, bool from)
{
	List	   *partitions;
	ListCell   *cell;

	if (get_rel_relkind(oid) != RELKIND_PARTITIONED_TABLE)
	{
		pfs_part_begin(relations, oid, from ? PFS_READS_NOTHING : PFS_READS_TABLE);
		return;
	}
	partitions = find_all_inheritors(oid, NoLock, NULL);
	foreach(cell, partitions)
		pfs_part_begin(relations, lfirst_oid(cell), PFS_READS_NOTHING);
	list_free(partitions);
}

PfsRelations *
pfs_copy_begin(const Node *utility)
{
	const CopyStmt *stmt = (const CopyStmt *) utility;
	Oid			oid;
	Copy	   *copy;

	if (!IsA(utility, CopyStmt) || pfs_session.thread == NULL || !pfs_wants(&pfs_session, PFS_GATE_TABLES) ||
		!IsTransactionState() || !OidIsValid(oid = target_of(stmt->relation)))
		return NULL;
	copy = MemoryContextAllocExtended(CurrentMemoryContext, sizeof(Copy), MCXT_ALLOC_NO_OOM);
	if (copy == NULL)
		return NULL;
	pfs_relations_init(&copy->relations, NULL, NULL, NULL);
	copy->gone.func = gone;
	copy->gone.arg = copy;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &copy->gone);
	pfs_relations_start(&copy->relations, CurrentMemoryContext);
	begin_targets(&copy->relations, oid, stmt->is_from);
	pfs_relations_run(&copy->relations);
	return &copy->relations;
}
