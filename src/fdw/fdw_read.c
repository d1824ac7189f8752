/*
 * fdw_read.c
 *		Runs the scan of a descriptor: memory, privileges, the moment "now".
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "core/patience.h"
#include "core/timer.h"
#include "fdw/fdw.h"
#include "pg/pg_arena.h"

/* A scan under way; PfsScan.host points here. */
typedef struct ScanRun
{
	MemoryContext scan_context; /* what alloc gave out */
	MemoryContext row_context;
	PfsFdwRow	row;
	void	   *arg;
	Oid			role;			/* the one asked for last: rows of one session follow each other */
	bool		has_role;
} ScanRun;

static void *
alloc_for_scan(PfsScan *scan, size_t bytes)
{
	ScanRun    *run = scan->host;

	return MemoryContextAllocExtended(run->scan_context, bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* A role that was dropped has no members. */
static bool
reader_has_role(PfsScan *scan, uint32_t role)
{
	ScanRun    *run = scan->host;

	if (!OidIsValid(role))
		return false;
	if (run->role != role)
	{
		run->has_role = has_privs_of_role(GetUserId(), role);
		run->role = role;
	}
	return run->has_role;
}

static void
emit_row(PfsScan *scan, const void *const *parts)
{
	ScanRun    *run = scan->host;
	MemoryContext caller = MemoryContextSwitchTo(run->row_context);

	CHECK_FOR_INTERRUPTS();
	run->row(run->arg, parts);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(run->row_context);
}

void
pfs_fdw_reader_init(PfsFdwReader *reader)
{
	reader->sees_all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
	reader->own_user = GetUserNameFromId(GetUserId(), false);
	if (pfs_arena != NULL)
		pfs_pg_wall_clock(&reader->wall_time, &reader->wall_ticks);
	reader->now_ticks = pfs_now();
	reader->text_encoding = -1;
	reader->conversion = InvalidOid;
}

void
pfs_fdw_read(const PfsTable *table, const PfsFdwReader *reader, const PfsCondition *conditions,
			 int condition_count, PfsFdwRow row, void *arg)
{
	ScanRun		run = {.row = row, .arg = arg};
	PfsScan		scan = {
		.arena = pfs_arena,
		.table = table,
		.conditions = conditions,
		.condition_count = condition_count,
		.sees_all = reader->sees_all,
		.own_user = reader->own_user,
		.has_role = reader_has_role,
		.alloc = alloc_for_scan,
		.emit = emit_row,
		.host = &run,
	};

	pfs_fdw_require_preload();
	if (pfs_arena == NULL)
		return;
	pfs_patience_renew();
	run.scan_context = AllocSetContextCreate(CurrentMemoryContext, "performance_schema scan",
											 ALLOCSET_DEFAULT_SIZES);
	run.row_context = AllocSetContextCreate(run.scan_context, "performance_schema row",
											ALLOCSET_DEFAULT_SIZES);
	table->scan(&scan);
	MemoryContextDelete(run.scan_context);
}
