/*
 * pg_module.c
 *		Entry of the library.  The files of src/pg in reading order:
 *
 *		pg_guc.c			settings (guc.def)
 *		pg_arena.c			the arena in shared memory
 *		pg_instruments.c	what can be observed (errors.def)
 *		pg_backend.c		this process as a thread
 *		pg_command.c		the client's command: when it came, what was answered
 *		pg_statement.c		the states of a statement, from its begin to its end
 *		pg_template.c		what the executions of a plan share
 *		pg_executor.c		hooks of parse analysis, planner, executor
 *		pg_utility.c		hook of utility statements
 *		pg_prepared.c		PREPARE, EXECUTE, DEALLOCATE
 *		pg_query.c			what is attached to a query, as long as its memory lives
 *		pg_plan.c			counters that come from the plan
 *		pg_routine.c		the routine around a nested statement
 *		pg_xact.c			transaction callbacks
 *		pg_protocol.c		messages to the client: end of statements, protocol commands
 *		pg_error.c			errors and warnings
 *		pg_digest.c			the server's scanner feeds the digest
 *		pg_digest_row.c		from a query id to its digest row
 *		pg_text.c			what is kept of texts and messages
 *		pg_digest_sql.c		the digest of a text, in SQL
 *		pg_error_log.c		what goes to the server's log
 *		pg_host_cache.c		clients that are let in and refused
 *		pg_figures.c		figures of engine_metrics (metrics.def)
 *		pg_metrics.c		what is done to its counters, and by which settings
 *		pg_wait_events.c	instruments of waits
 *		pg_wait.c			observer of libc calls: which wait a call is
 *		pg_wait_fd.c		descriptors: files and sockets
 *		pg_wait_lock.c		heavyweight locks and who holds them
 *		pg_wait_sampler.c	looks at wait events where calls are not timed
 *		relation/calls.c	rows of tables and indexes: what a call has read and changed
 *		relation/brief.c	the same of the most frequent plans
 *		relation/known.c	relations by oid
 *		relation/rows.c		names and rows of tables
 *		relation/dropped.c	rename, drop
 *		relation/copy.c		rows of COPY
 *		relation/times.c	times of the nodes that scan and change tables
 *		pg_compat.h			what differs between majors
 *
 * Hooks are installed only when the postmaster preloads the library and
 * performance_schema.enabled is on; otherwise nothing of us runs.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_guc.h"
#include "pg/pg_hooks.h"
#include "pg/pg_metrics.h"
#include "pg/pg_prepared.h"
#include "pg/pg_wait.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;					/* tables then raise an error with a hint */
	pfs_pg_preloaded = true;
	pfs_guc_define();
	if (!pfs_guc_enabled)
		return;
	EnableQueryId();			/* has an effect while compute_query_id = auto */
	pfs_pg_arena_install();
	pfs_pg_backend_install();
	pfs_pg_executor_install();
	pfs_pg_utility_install();
	pfs_pg_xact_install();
	pfs_pg_error_install();
	pfs_pg_wait_install();
	pfs_pg_metrics_install();
	pfs_pg_prepared_install();
}
