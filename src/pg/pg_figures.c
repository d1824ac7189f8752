/*
 * pg_figures.c
 *		Figures of engine_metrics: the server's cumulative statistics and the state of its processes.
 *
 * They are read where they lie in shared memory, and not as pg_stat_... shows them: its views keep
 * what they have shown until the transaction ends, and a reader's transaction must go on seeing
 * that.
 */
#include "postgres.h"

#include "pg/pg_figures.h"

#include "access/multixact.h"
#include "access/parallel.h"
#include "access/transam.h"
#include "access/twophase.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "core/object.h"
#include "core/registry.h"
#include "core/table.h"
#include "core/thread.h"
#include "core/timer.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_stat_compat.h"
#include "postmaster/autovacuum.h"
#include "storage/buf_internals.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/memutils.h"

/* Everything that figures are made of, at one moment. */
typedef struct PfsPgFigures
{
	PgStat_StatDBEntry database;	/* sums of all of them ... */
	PgStat_StatTabEntry relation;
	PgStat_StatTabEntry toast;	/* of TOAST tables, as far as they are known */
	PgStat_StatReplSlotEntry slot;
	PgStat_StatSubEntry subscription;
	int64		databases;		/* ... and their numbers */
	int64		relations;
	int64		functions;
	int64		slots;
	int64		subscriptions;
	int64		never_vacuumed;
	int64		toast_tables;

	PgStat_ArchiverStats archiver;
	PgStat_BgWriterStats bgwriter;
	PgStat_CheckpointerStats checkpointer;
	PgStat_SLRUStats slru[SLRU_NUM_ELEMENTS];
	PgStat_WalStats wal;
#ifdef PFS_PG_HAS_IO
	PgStat_IO	io;
#endif

	int64		waiting;		/* by the server's list of processes */
	int64		waiting_for_rows;
	int64		transactions;
	int64		prepared;
	int64		processes;		/* by our threads */
	int64		backends;
	int64		walsenders;
	int64		autovacuum_workers;
	int64		parallel_workers;
	int64		tables_known;
	int64		files_known;

	int64		xid_age;
	int64		multixact_age;
	int64		lsn;
	int64		lsn_flushed;
	int64		lsn_redo;

	struct
	{
		int64		data;
		int64		dirty;
		int64		pinned;
	}			buffers;		/* only if somebody wants them */

	uint64	   *known_toast;	/* database << 32 | its number; sorted */
	size_t		known_toast_count;
} PfsPgFigures;

#define DB(name, before_16) (f->database.PFS_PG_SINCE_16(name, before_16))
#define RELATION(name, before_16) (f->relation.PFS_PG_SINCE_16(name, before_16))
#define TOAST(name, before_16) (f->toast.PFS_PG_SINCE_16(name, before_16))

#define STATEMENTS "events_statements_summary_global_by_event_name"
#define TRANSACTIONS "events_transactions_summary_global_by_event_name"
#define ERRORS "events_errors_summary_global_by_error"
#define WAITS "events_waits_summary_global_by_event_name"
#define FILE_EVENTS "file_summary_by_event_name"
#define INDEXES "table_io_waits_summary_by_index_usage"
#define SOCKET_EVENTS "socket_summary_by_event_name"

#define METRIC(name, subsystem, type, on, calls, doc, table, column, pattern) \
	{#name, subsystem, PFS_METRIC_##type, on, calls, doc, table, column, pattern},
#define PFS_METRIC(name, subsystem, type, on, figure, doc) \
	METRIC(name, subsystem, type, on, NULL, doc, NULL, NULL, NULL)
#define PFS_METRIC_EVENTS(name, subsystem, type, on, table, column, pattern, doc) \
	METRIC(name, subsystem, type, on, NULL, doc, table, column, pattern)
#define PFS_METRIC_SET(name, subsystem, calls, table, column, pattern, doc) \
	METRIC(name, subsystem, SET_OWNER, true, calls, doc, table, column, pattern)
const PfsMetricInfo pfs_pg_metric_info[PFS_PG_METRICS] = {
#include "pg/metrics.def"
};
#undef PFS_METRIC
#undef PFS_METRIC_EVENTS
#undef PFS_METRIC_SET

/* --- I/O by type of process, object and context --- */

#ifdef PFS_PG_HAS_IO

/* Sum of an operation over what is asked for; -1: of all.  PFS_NO_FIGURE: nothing of that kind is ever done. */
static int64
io_sum(const PfsPgFigures *f, int type, int object, int context, IOOp operation)
{
	int64		sum = 0;
	bool		any = false;

	for (int t = 0; t < BACKEND_NUM_TYPES; t++)
		for (int o = 0; o < IOOBJECT_NUM_TYPES; o++)
			for (int c = 0; c < IOCONTEXT_NUM_TYPES; c++)
			{
				if ((type >= 0 && t != type) || (object >= 0 && o != object) || (context >= 0 && c != context) ||
					!pgstat_tracks_io_op(t, o, c, operation))
					continue;
				any = true;
				sum += f->io.stats[t].counts[o][c][operation];
			}
	return any ? sum : PFS_NO_FIGURE;
}

/* A type that this version does not know is B_INVALID, which does no I/O. */
#define IO_OP(operation) io_sum(f, -1, IOOBJECT_RELATION, -1, IOOP_##operation)
#define IO_PAGE(object, context, operation) io_sum(f, -1, object, context, IOOP_##operation)
#define IO_TYPE(type, operation) io_sum(f, type, -1, -1, IOOP_##operation)
#else
#define IO_OP(operation) PFS_NO_FIGURE
#define IO_PAGE(object, context, operation) PFS_NO_FIGURE
#define IO_TYPE(type, operation) PFS_NO_FIGURE
#endif

/* 18: what the WAL's writes were has moved to the statistics of I/O. */
#define WAL_WRITES PFS_PG_WAL_IO(io_sum(f, -1, IOOBJECT_WAL, -1, IOOP_WRITE), f->wal.wal_write)
#define WAL_SYNCS PFS_PG_WAL_IO(io_sum(f, -1, IOOBJECT_WAL, -1, IOOP_FSYNC), f->wal.wal_sync)

/* --- reading the statistics --- */

/* Sums of counters: these structs hold nothing else but moments, which are not asked for. */
static void
add_words(void *sum, const void *words, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uint64); i++)
		((uint64 *) sum)[i] += ((const uint64 *) words)[i];
}

#define ADD(sum, shared) add_words(&(sum), &(shared), sizeof(sum))

static int
compare_words(const void *a, const void *b)
{
	uint64		first = *(const uint64 *) a,
				second = *(const uint64 *) b;

	return first < second ? -1 : first > second;
}

/*
 * The statistics do not tell what is TOAST, and catalogues are of one database: it is known of the tables that were used since the
 * server started.
 */
static void
read_known_toast(PfsPgFigures *f)
{
	uint32		rows = pfs_min(pfs_load(&pfs_arena->object_rows[PFS_MAP_TABLES].used), pfs_arena->sizes.tables);

	f->known_toast = palloc((rows + 1) * sizeof(uint64));
	for (uint32 number = 1; number <= rows; number++)
	{
		const PfsObjectRow *row = pfs_object_row_at(pfs_arena, PFS_MAP_TABLES, number);
		PfsTableKey key;

		if (row == NULL || (pfs_load(&row->use) & 1) == 0 || pfs_load(&row->relative) == 0)
			continue;
		memcpy(&key, row->key, sizeof(key));
		if (key.index == 0)
			f->known_toast[f->known_toast_count++] = (uint64) key.database << 32 | pfs_load(&row->relative);
	}
	qsort(f->known_toast, f->known_toast_count, sizeof(uint64), compare_words);
}

static void
add_toast(PfsPgFigures *f, const PgStat_HashKey *key, const PgStat_StatTabEntry *stats)
{
	uint64		wanted = (uint64) key->dboid << 32 | (uint32) PFS_PG_STAT_OBJECT(key);

	if (bsearch(&wanted, f->known_toast, f->known_toast_count, sizeof(uint64), compare_words) == NULL)
		return;
	f->toast_tables++;
	ADD(f->toast, *stats);
}

static void
add_relation(PfsPgFigures *f, const PgStat_StatTabEntry *stats)
{
	f->relations++;
	ADD(f->relation, *stats);
	if (stats->PFS_PG_SINCE_16(dead_tuples, n_dead_tuples) > 0 && stats->vacuum_count == 0 &&
		stats->PFS_PG_SINCE_16(autovacuum_count, autovac_vacuum_count) == 0)
		f->never_vacuumed++;
}

/* 15 has a name in front. */
static void
add_slot(PfsPgFigures *f, const PgStat_StatReplSlotEntry *stats)
{
	f->slots++;
	add_words(&f->slot.spill_txns, &stats->spill_txns,
			  sizeof(*stats) - offsetof(PgStat_StatReplSlotEntry, spill_txns));
}

static void
add_entry(PfsPgFigures *f, const PgStat_HashKey *key, const void *body)
{
	switch (key->kind)
	{
		case PGSTAT_KIND_DATABASE:
			f->databases++;
			ADD(f->database, ((const PgStatShared_Database *) body)->stats);
			break;
		case PGSTAT_KIND_RELATION:
			add_relation(f, &((const PgStatShared_Relation *) body)->stats);
			add_toast(f, key, &((const PgStatShared_Relation *) body)->stats);
			break;
		case PGSTAT_KIND_FUNCTION:
			f->functions++;
			break;
		case PGSTAT_KIND_REPLSLOT:
			add_slot(f, &((const PgStatShared_ReplSlot *) body)->stats);
			break;
		case PGSTAT_KIND_SUBSCRIPTION:
			f->subscriptions++;
			ADD(f->subscription, ((const PgStatShared_Subscription *) body)->stats);
			break;
		default:
			break;
	}
}

/* One pass over all entries, as pgstat_build_snapshot makes it. */
static void
read_entries(PfsPgFigures *f)
{
	dshash_seq_status status;
	PgStatShared_HashEntry *entry;

	dshash_seq_init(&status, pgStatLocal.shared_hash, false);
	while ((entry = dshash_seq_next(&status)) != NULL)
	{
		PgStatShared_Common *body;

		if (entry->dropped)
			continue;
		body = dsa_get_address(pgStatLocal.dsa, entry->body);
		LWLockAcquire(&body->lock, LW_SHARED);
		add_entry(f, &entry->key, body);
		LWLockRelease(&body->lock);
	}
	dshash_seq_term(&status);
}

/* Kinds of which there is one: the reader's own copy is put back. */
#define READ_ONE(kind) \
	do { \
		void	   *saved = palloc(sizeof(f->kind)); \
		memcpy(saved, &pgStatLocal.snapshot.kind, sizeof(f->kind)); \
		pgstat_##kind##_snapshot_cb(); \
		memcpy(&f->kind, &pgStatLocal.snapshot.kind, sizeof(f->kind)); \
		memcpy(&pgStatLocal.snapshot.kind, saved, sizeof(f->kind)); \
		pfree(saved); \
	} while (0)

static void
read_statistics(PfsPgFigures *f)
{
	read_known_toast(f);
	read_entries(f);
	READ_ONE(archiver);
	READ_ONE(bgwriter);
	READ_ONE(checkpointer);
	READ_ONE(slru);
	READ_ONE(wal);
#ifdef PFS_PG_HAS_IO
	READ_ONE(io);
#endif
}

/* --- reading the state of processes --- */

/* Without locks: each word is right at some moment. */
static void
read_processes(PfsPgFigures *f)
{
	uint32		first_prepared = ProcGlobal->allProcCount;	/* which does not count those */

	for (uint32 i = 0; i < first_prepared + (uint32) max_prepared_xacts; i++)
	{
		const PGPROC *proc = &ProcGlobal->allProcs[i];

		if (TransactionIdIsValid(proc->xid))
			++*(i >= first_prepared ? &f->prepared : &f->transactions);
		if (proc->waitStatus == PROC_WAIT_STATUS_WAITING)
		{
			LOCK	   *lock = proc->waitLock;

			f->waiting++;
			if (lock != NULL && (lock->tag.locktag_type == LOCKTAG_TUPLE ||
								 lock->tag.locktag_type == LOCKTAG_TRANSACTION))
				f->waiting_for_rows++;
		}
	}
}

static void
read_threads(PfsPgFigures *f)
{
	static const struct
	{
		const char *name;
		size_t		count;
	}			classes[] = {
		{"thread/postgres/client_backend", offsetof(PfsPgFigures, backends)},
		{"thread/postgres/walsender", offsetof(PfsPgFigures, walsenders)},
		{"thread/postgres/autovacuum_worker", offsetof(PfsPgFigures, autovacuum_workers)},
		{"thread/postgres/parallel_worker", offsetof(PfsPgFigures, parallel_workers)},
	};

	for (uint32 slot = 0; slot < pfs_arena->sizes.threads; slot++)
	{
		PfsThread  *thread = pfs_thread(pfs_arena, slot);

		if (pfs_load(&thread->thread_id) == 0)
			continue;
		f->processes++;
		for (size_t i = 0; i < lengthof(classes); i++)
			if (strcmp(pfs_thread_class(pfs_arena, thread->class)->name, classes[i].name) == 0)
				++*(int64 *) ((char *) f + classes[i].count);
	}
}

static void
read_positions(PfsPgFigures *f)
{
	TransactionId next = ReadNextTransactionId();

	f->xid_age = (int32) (next - PFS_PG_OLDEST_XID());
	f->multixact_age = (int32) (ReadNextMultiXactId() - GetOldestMultiXactId());
	if (RecoveryInProgress())
		f->lsn = f->lsn_flushed = (int64) GetXLogReplayRecPtr(NULL);
	else
	{
		f->lsn = (int64) GetXLogInsertRecPtr();
		f->lsn_flushed = (int64) GetFlushRecPtr(NULL);
	}
	f->lsn_redo = (int64) GetRedoRecPtr();
}

/* All buffers, without locks, as pg_buffercache_summary looks at them. */
static void
read_buffers(PfsPgFigures *f)
{
	for (int i = 0; i < NBuffers; i++)
	{
		uint32		state = pg_atomic_read_u32(&GetBufferDescriptor(i)->state);

		f->buffers.data += (state & BM_VALID) != 0;
		f->buffers.dirty += (state & BM_VALID) != 0 && (state & BM_DIRTY) != 0;
		f->buffers.pinned += BUF_STATE_GET_REFCOUNT(state) > 0;
	}
}

/* --- figures --- */

static int64
known_objects(PfsObjectMap map)
{
	uint32		rows = pfs_min(pfs_load(&pfs_arena->object_rows[map].used),
							   map == PFS_MAP_FILES ? pfs_arena->sizes.files : pfs_arena->sizes.tables);
	int64		known = 0;

	for (uint32 row = 1; row <= rows; row++)
		known += pfs_object_row_at(pfs_arena, map, row) != NULL;
	return known;
}

static void *
alloc_figures(PfsScan *scan, size_t bytes)
{
	return MemoryContextAllocExtended(scan->host, bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static bool
wants_buffers(const uint8_t *wanted)
{
	for (uint32 i = 0; i < PFS_PG_METRICS; i++)
		if (wanted[i] && !pfs_pg_metric_info[i].default_on && strcmp(pfs_pg_metric_info[i].subsystem, "buffer") == 0)
			return true;
	return false;
}

void
pfs_pg_figures_read(const uint8_t *wanted, int64_t *figures)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "performance_schema metrics",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	PfsPgFigures *f = palloc0(sizeof(PfsPgFigures));
	PfsScan		scan = {.arena = pfs_arena,.alloc = alloc_figures,.host = context};
	int			i = 0;

	read_statistics(f);
	read_processes(f);
	read_threads(f);
	read_positions(f);
	if (wants_buffers(wanted))
		read_buffers(f);
	f->tables_known = known_objects(PFS_MAP_TABLES);
	f->files_known = known_objects(PFS_MAP_FILES);
#define PFS_METRIC(name, subsystem, type, on, figure, doc) figures[i++] = (figure);
#define PFS_METRIC_EVENTS(name, subsystem, type, on, table, column, pattern, doc) figures[i++] = 0;
#define PFS_METRIC_SET(name, subsystem, calls, table, column, pattern, doc) figures[i++] = 0;
#include "pg/metrics.def"
#undef PFS_METRIC
#undef PFS_METRIC_EVENTS
#undef PFS_METRIC_SET
	Assert(i == PFS_PG_METRICS);
	pfs_metric_events(&scan, wanted, figures);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}
