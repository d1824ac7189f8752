/*
 * pg_compat.h
 *		What differs between PostgreSQL 15, 16, 17 and 18.  The only file that tests the version.
 *
 * Shims carry the newest signature; each says which version changed it.
 */
#ifndef PFS_PG_COMPAT_H
#define PFS_PG_COMPAT_H

#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/proc.h"
#include "utils/rel.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "performance_schema supports PostgreSQL 15 to 18"
#endif

/* 17: process numbers got a variable of their own. */
static inline uint32
pfs_pg_process_number(void)
{
#if PG_VERSION_NUM >= 170000
	return (uint32) MyProcNumber;
#else
	return (uint32) MyProc->pgprocno;
#endif
}

/* 18: ExecutorRun lost execute_once. */
#if PG_VERSION_NUM >= 180000
#define PFS_EXECUTOR_RUN_PARAMETERS QueryDesc *queryDesc, ScanDirection direction, uint64 count
#define PFS_EXECUTOR_RUN_ARGUMENTS queryDesc, direction, count
#else
#define PFS_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count, bool execute_once
#define PFS_EXECUTOR_RUN_ARGUMENTS queryDesc, direction, count, execute_once
#endif

/* 16: counters of a table lost their prefix. */
static inline uint64
pfs_pg_rows_read(Relation relation)
{
	if (relation->pgstat_info == NULL)
		return 0;
#if PG_VERSION_NUM >= 160000
	return (uint64) relation->pgstat_info->counts.tuples_returned +
		(uint64) relation->pgstat_info->counts.tuples_fetched;
#else
	return (uint64) relation->pgstat_info->t_counts.t_tuples_returned +
		(uint64) relation->pgstat_info->t_counts.t_tuples_fetched;
#endif
}

/* 17: how much of the client's input is buffered can be asked; before, only whether there is some. */
#define PFS_PG_SYNC_MESSAGE_BYTES 5
#if PG_VERSION_NUM >= 170000
#define pfs_pg_sync_is_waiting() (pq_buffer_remaining_data() == PFS_PG_SYNC_MESSAGE_BYTES)
#else
#define pfs_pg_sync_is_waiting() pq_buffer_has_data()
#endif

/*
 * 18: the server's query ids of utility statements ignore all literals.  Before, one row per
 * literal would result, so ids are made from the normalised text.
 */
#if PG_VERSION_NUM >= 180000
#define PFS_PG_UTILITY_IDS_IGNORE_LITERALS true
#else
#define PFS_PG_UTILITY_IDS_IGNORE_LITERALS false
#endif

/* 16: query id functions moved to their own header. */
#if PG_VERSION_NUM >= 160000
#include "nodes/queryjumble.h"
#else
#include "utils/queryjumble.h"
#endif

#endif							/* PFS_PG_COMPAT_H */
