/*
 * pg_compat.h
 *		What differs between PostgreSQL 15, 16, 17 and 18.  Only this file and pg_stat_compat.h test the version.
 *
 * Shims carry the newest signature; each says which version changed it.
 */
#ifndef PFS_PG_COMPAT_H
#define PFS_PG_COMPAT_H

#include "postgres.h"

#include "catalog/namespace.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "optimizer/pathnode.h"
#include "pgstat.h"
#include "storage/lock.h"
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

/* 16: the array of all settings comes with its length; for includers of guc_tables.h. */
#if PG_VERSION_NUM >= 160000
#define PFS_PG_SETTINGS(number) get_guc_variables(number)
#else
#define PFS_PG_SETTINGS(number) (*(number) = GetNumConfigOptions(), get_guc_variables())
#endif

/* 16: counters of a table or index lost their prefix. */
#if PG_VERSION_NUM >= 160000
#define PFS_PG_COUNTER_MEMBER(name) counts.name
#define PFS_PG_COUNTED(status) ((status)->id)
#else
#define PFS_PG_COUNTED(status) ((status)->t_id)
#define PFS_PG_COUNTER_MEMBER(name) t_counts.t_##name
#endif
#define PFS_PG_COUNTER(status, name) ((status)->PFS_PG_COUNTER_MEMBER(name))

/* 18: keys of statistics became 64 bits wide. */
#if PG_VERSION_NUM >= 180000
#define PFS_PG_COUNTED_OBJECT(key) ((key)->objid)
#define PFS_PG_DROPPED_OBJECT(item) ((Oid) (item).objid_lo)
#else
#define PFS_PG_COUNTED_OBJECT(key) ((key)->objoid)
#define PFS_PG_DROPPED_OBJECT(item) ((item).objoid)
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

/* 18: EXPLAIN's state and formatting moved to headers of their own. */
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/*
 * Declares a function of SQL.  16 marks these for export itself; before, -fvisibility=hidden would
 * hide them from the server.
 */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#endif
#define PFS_SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

/* 17: numbers of processes; see pfs_pg_process_number. */
static inline uint32
pfs_pg_number_of_proc(PGPROC *proc)
{
#if PG_VERSION_NUM >= 170000
	return (uint32) GetNumberFromPGProc(proc);
#else
	return (uint32) proc->pgprocno;
#endif
}

static inline PGPROC *
pfs_pg_process(uint32 number)
{
	return number < ProcGlobal->allProcCount ? &ProcGlobal->allProcs[number] : NULL;
}

/*
 * The explicit part of the search path.  fetch_search_path would make the temporary schema, which
 * needs a right and writes.  17: another name.
 */
#if PG_VERSION_NUM >= 170000
typedef SearchPathMatcher PfsPgSearchPath;
#define pfs_pg_search_path() GetSearchPathMatcher(CurrentMemoryContext)
#else
typedef OverrideSearchPath PfsPgSearchPath;
#define pfs_pg_search_path() GetOverrideSearchPath(CurrentMemoryContext)
#endif

/* 16: rows of the local copy of pg_stat_activity are asked for by another name; from 1. */
#if PG_VERSION_NUM >= 160000
#define pfs_pg_status_row(row) pgstat_get_local_beentry_by_index(row)
#else
#define pfs_pg_status_row(row) pgstat_fetch_stat_local_beentry(row)
#endif

/* 16: relfilenodes became relfilenumbers. */
#if PG_VERSION_NUM >= 160000
#include "utils/relfilenumbermap.h"
#define pfs_pg_relation_of_file(space, number) RelidByRelfilenumber(space, number)
#else
#include "utils/relfilenodemap.h"
#define pfs_pg_relation_of_file(space, number) RelidByRelfilenode(space, number)
#endif

/* Does this holder of a lock stand in the way of who wants these modes? */
static inline bool
pfs_pg_blocks(const PROCLOCK *holder, LOCKMASK conflicts, const PGPROC *waiter)
{
	PGPROC	   *proc = holder->tag.myProc;

	return proc != waiter && (holder->holdMask & conflicts) != 0 &&
		(proc->lockGroupLeader == NULL || proc->lockGroupLeader != waiter->lockGroupLeader);
}

/*
 * The first process that holds a lock in a mode that conflicts with what this one waits for, or
 * NULL.  The lock's partition is locked.  16: queues in shared memory became dlists.
 */
static inline PGPROC *
pfs_pg_lock_holder(LOCK *lock, const PGPROC *waiter)
{
	LOCKMASK	conflicts = GetLocksMethodTable(lock)->conflictTab[waiter->waitLockMode];

#if PG_VERSION_NUM >= 160000
	dlist_iter	at;

	dlist_foreach(at, &lock->procLocks)
	{
		PROCLOCK   *holder = dlist_container(PROCLOCK, lockLink, at.cur);

		if (pfs_pg_blocks(holder, conflicts, waiter))
			return holder->tag.myProc;
	}
#else
	SHM_QUEUE  *head = &lock->procLocks;
	PROCLOCK   *holder = (PROCLOCK *) SHMQueueNext(head, head, offsetof(PROCLOCK, lockLink));

	for (; holder != NULL;
		 holder = (PROCLOCK *) SHMQueueNext(head, &holder->lockLink, offsetof(PROCLOCK, lockLink)))
		if (pfs_pg_blocks(holder, conflicts, waiter))
			return holder->tag.myProc;
#endif
	return NULL;
}

/* 18: the bits of a lightweight lock's state follow from the largest number of backends. */
#if PG_VERSION_NUM >= 180000
#define PFS_PG_LWLOCK_EXCLUSIVE (MAX_BACKENDS + 1)
#else
#define PFS_PG_LWLOCK_EXCLUSIVE ((uint32) 1 << 24)
#endif
#define PFS_PG_LWLOCK_SHARED_MASK (PFS_PG_LWLOCK_EXCLUSIVE - 1)

/* 16: the number of backend types got a name. */
#if PG_VERSION_NUM >= 160000
#define PFS_PG_BACKEND_TYPES BACKEND_NUM_TYPES
#else
#define PFS_PG_BACKEND_TYPES (B_LOGGER + 1)
#endif

/* 16: what a check hook hands over belongs to the settings' memory.  NULL: there is none left. */
#if PG_VERSION_NUM >= 160000
#define pfs_pg_guc_alloc(bytes) guc_malloc(LOG, bytes)
#define pfs_pg_guc_free(memory) guc_free(memory)
#else
#define pfs_pg_guc_alloc(bytes) malloc(bytes)
#define pfs_pg_guc_free(memory) free(memory)
#endif

/* 17: fdw_restrictinfo (none here); 18: disabled_nodes (none here). */
static inline ForeignPath *
pfs_create_foreignscan_path(PlannerInfo *root, RelOptInfo *rel, double rows, Cost startup_cost,
							Cost total_cost, Relids required_outer)
{
#if PG_VERSION_NUM >= 180000
	return create_foreignscan_path(root, rel, NULL, rows, 0, startup_cost, total_cost, NIL,
								   required_outer, NULL, NIL, NIL);
#elif PG_VERSION_NUM >= 170000
	return create_foreignscan_path(root, rel, NULL, rows, startup_cost, total_cost, NIL,
								   required_outer, NULL, NIL, NIL);
#else
	return create_foreignscan_path(root, rel, NULL, rows, startup_cost, total_cost, NIL,
								   required_outer, NULL, NIL);
#endif
}

#endif							/* PFS_PG_COMPAT_H */
