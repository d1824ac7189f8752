/*
 * pg_arena.c
 *		The arena in shared memory: sizes from settings, creation, the setup lock.
 *
 * The postmaster creates the arena, again after a crash of a backend: all counters then start at
 * zero together.  Backends inherit the address.
 */
#include "postgres.h"

#include "pg/pg_arena.h"

#include "core/clock.h"
#include "core/metric.h"
#include "core/statement.h"
#include "miscadmin.h"
#include "pg/pg_compat.h"
#include "pg/pg_error_log.h"
#include "pg/pg_guc.h"
#include "pg/pg_hooks.h"
#include "pg/pg_instruments.h"
#include "pg/pg_wait.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/pg_shmem.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#define LOCK_TRANCHE "performance_schema"

PFS_HOT_DATA PfsArena *pfs_arena = NULL;
bool		pfs_pg_preloaded = false;

static void *segment = NULL;	/* the shared memory in which the arena is */
static LWLock *setup_lock = NULL;
static LWLock *metrics_lock = NULL;

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

static uint32
sized(int setting, int automatic)
{
	return (uint32) (setting < 0 ? automatic : setting);
}

/* -1 becomes a size by max_connections, as MySQL derives three classes from its own. */
static PfsSizes
resolve_sizes(void)
{
	PfsSizes	sizes = {0};
	bool		tiny = MaxConnections <= 20;
	int			parties = Min(Max(MaxConnections, 64), 1024);

	sizes.threads = (uint32) (MaxBackends + NUM_AUXILIARY_PROCS);
	sizes.lean_threads = NUM_AUXILIARY_PROCS;	/* their process numbers are the last */
	sizes.accounts = sized(pfs_guc_accounts_size, parties);
	sizes.users = sized(pfs_guc_users_size, parties);
	sizes.hosts = sized(pfs_guc_hosts_size, parties);
	sizes.actors = sized(pfs_guc_setup_actors_size, 128);
	sizes.objects = sized(pfs_guc_setup_objects_size, 128);
	sizes.instruments = pfs_pg_instrument_count();
	sizes.statement_classes = pfs_pg_statement_class_count();
	sizes.thread_classes = pfs_pg_thread_class_count();
	sizes.errors = pfs_pg_error_count();
	sizes.waits = pfs_pg_wait_count();
	sizes.metrics = pfs_metric_count;
	sizes.statement_stack = (uint32) pfs_guc_max_statement_stack;
	sizes.statements_history = sized(pfs_guc_statements_history_size, tiny ? 5 : 10);
	sizes.statements_history_long = sized(pfs_guc_statements_history_long_size, tiny ? 1000 : 10000);
	sizes.transactions_history = sized(pfs_guc_transactions_history_size, tiny ? 5 : 10);
	sizes.transactions_history_long = sized(pfs_guc_transactions_history_long_size,
											tiny ? 1000 : 10000);
	sizes.waits_history = sized(pfs_guc_waits_history_size, tiny ? 5 : 10);
	sizes.waits_history_long = sized(pfs_guc_waits_history_long_size, tiny ? 1000 : 10000);
	sizes.lock_waits_history = sized(pfs_guc_lock_waits_history_long_size, tiny ? 64 : 256);
	sizes.error_log = sized(pfs_guc_error_log_size, 128);
	sizes.files = sized(pfs_guc_files_size, tiny ? 1000 : 2000);
	sizes.tables = sized(pfs_guc_tables_size, tiny ? 1000 : 2000);
	sizes.digests = sized(pfs_guc_digests_size, tiny ? 5000 : 10000);
	sizes.prepared = sized(pfs_guc_prepared_size, Min(Max(2 * MaxConnections, 128), 4096));
	sizes.sql_text_length = (uint32) pfs_guc_max_sql_text_length;
	sizes.digest_length = (uint32) pfs_guc_max_digest_length;
	if (pfs_guc_memory_pool_size >= 0)
		sizes.pool_bytes = (uint64) pfs_guc_memory_pool_size * 1024;
	else
		sizes.pool_bytes = pfs_pool_default(&sizes);
	return sizes;
}

bool
pfs_pg_arena_is_there(void)
{
	return segment != NULL && segment == UsedShmemSegAddr;
}

static void
pfs_hook_shmem_request(void)
{
	PfsSizes	sizes = resolve_sizes();

	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(add_size(pfs_arena_size(&sizes), PFS_CACHE_LINE));
	RequestNamedLWLockTranche(LOCK_TRANCHE, 2);
}

/* The postmaster's last message, "database system is shut down", comes after this. */
static void
leave_segment(int code, Datum arg)
{
	segment = NULL;
}

static void
pfs_hook_shmem_startup(void)
{
	PfsSizes	sizes = resolve_sizes();
	bool		found;
	char	   *memory;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	memory = ShmemInitStruct(LOCK_TRANCHE, add_size(pfs_arena_size(&sizes), PFS_CACHE_LINE), &found);
	memory = (char *) TYPEALIGN(PFS_CACHE_LINE, memory);
	if (!found)
	{
		pfs_timer_init(pfs_guc_cycle_timer);
		pfs_histogram_init();
		pfs_arena = pfs_arena_init(memory, &sizes);
		pfs_pg_register(pfs_arena);
		pfs_guc_apply(pfs_arena);
		if (compute_query_id == COMPUTE_QUERY_ID_OFF)
			ereport(WARNING,
					(errmsg("compute_query_id is off: all statements will share one digest row"),
					 errhint("Set compute_query_id to auto or on.")));
	}
	else
		pfs_arena = (PfsArena *) memory;
	segment = UsedShmemSegAddr;
	on_shmem_exit(leave_segment, (Datum) 0);
	pfs_pg_error_log_attach();
	setup_lock = &GetNamedLWLockTranche(LOCK_TRANCHE)[0].lock;
	metrics_lock = &GetNamedLWLockTranche(LOCK_TRANCHE)[1].lock;
	LWLockRelease(AddinShmemInitLock);
}

void
pfs_pg_arena_install(void)
{
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = pfs_hook_shmem_request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = pfs_hook_shmem_startup;
}

void
pfs_pg_setup_lock(void)
{
	LWLockAcquire(setup_lock, LW_EXCLUSIVE);
}

void
pfs_pg_setup_unlock(void)
{
	LWLockRelease(setup_lock);
}

void
pfs_pg_metrics_lock(void)
{
	LWLockAcquire(metrics_lock, LW_EXCLUSIVE);
}

void
pfs_pg_metrics_unlock(void)
{
	LWLockRelease(metrics_lock);
}

#define WALL_CLOCK_SECONDS 3600

void
pfs_pg_wall_clock(TimestampTz *time, uint64_t *ticks)
{
	pfs_pg_setup_lock();
	pfs_clock_look_again(pfs_arena);
	if (pfs_arena->wall_ticks == 0 || pfs_arena->wall_clock_state != pfs_timer.clock_state ||
		pfs_now() - pfs_arena->wall_ticks > WALL_CLOCK_SECONDS * pfs_timer.frequency)
	{
		pfs_arena->wall_time = GetCurrentTimestamp();
		pfs_arena->wall_ticks = pfs_now();
		pfs_arena->wall_clock_state = pfs_timer.clock_state;
	}
	*time = pfs_arena->wall_time;
	*ticks = pfs_arena->wall_ticks;
	pfs_pg_setup_unlock();
}
