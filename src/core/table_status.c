/*
 * table_status.c
 *		status (loss counters, sizes) and memory (what the extension itself holds).
 */
#include "core/table_internal.h"

#include "core/clock.h"
#include "core/digest.h"

typedef struct StatusRow
{
	PfsText		name;
	uint64_t	value;
	PfsText		doc;
} StatusRow;

static const PfsColumn status_columns[] = {
	{"variable_name", "Loss counters (..._lost), sizes and present use; MySQL's names where it has them",
	PFS_COLUMN_TEXT, offsetof(StatusRow, name), PFS_COLUMN_KEY},
	{"variable_value", "Count, or bytes where the name ends so", PFS_COLUMN_U64,
	offsetof(StatusRow, value), 0},
	{"documentation", "Meaning", PFS_COLUMN_TEXT, offsetof(StatusRow, doc), 0},
};
PFS_GROUP(status_group, status_columns);

static void
emit_status(PfsScan *scan, const char *name, uint64_t value, const char *doc)
{
	StatusRow	row = {pfs_text_of_string(name), value, pfs_text_of_string(doc)};
	const void *parts[] = {&row};

	scan->emit(scan, parts);
}

static void
status_scan(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	const PfsSizes *sizes = &arena->sizes;
	uint32_t	threads = 0;

	for (int i = 0; i < PFS_LOSSES; i++)
		emit_status(scan, pfs_loss_name(i), pfs_load(&arena->loss[i]), pfs_loss_doc(i));
	emit_status(scan, "performance_schema_pool_lost", pfs_load(&pfs_pool_of(arena)->lost),
				"Requests that found the pool full; what was lost is counted by its own counter");
	PFS_EACH_THREAD(arena, thread, slot)
		threads++;
	emit_status(scan, "threads_attached", threads, "Processes that have a thread slot now");
	emit_status(scan, "digests_used", (uint32_t) pfs_load(&arena->digest_alloc),
				"Rows taken in the digest table since its last TRUNCATE");
	emit_status(scan, "pool_bytes_used", pfs_pool_bytes_used(pfs_pool_of(arena)),
				"Bytes of the pool in use");
	emit_status(scan, "memory_bytes", arena->bytes, "Shared memory reserved");
	emit_status(scan, "threads_size", sizes->threads, "Thread slots");
	emit_status(scan, "accounts_size", sizes->accounts, "Rows of accounts");
	emit_status(scan, "users_size", sizes->users, "Rows of users");
	emit_status(scan, "hosts_size", sizes->hosts, "Rows of hosts");
	emit_status(scan, "digests_size", sizes->digests, "Rows of the digest table");
	emit_status(scan, "events_statements_history_size", sizes->statements_history,
				"Statements kept per thread");
	emit_status(scan, "events_statements_history_long_size", sizes->statements_history_long,
				"Statements kept for the server");
	emit_status(scan, "events_transactions_history_size", sizes->transactions_history,
				"Transactions kept per thread");
	emit_status(scan, "events_transactions_history_long_size", sizes->transactions_history_long,
				"Transactions kept for the server");
	emit_status(scan, "events_waits_history_size", sizes->waits_history, "Waits kept per thread");
	emit_status(scan, "events_waits_history_long_size", sizes->waits_history_long,
				"Waits kept for the server");
	emit_status(scan, "lock_waits_history_long_size", sizes->lock_waits_history,
				"Lock waits kept with both statements");
	emit_status(scan, "error_log_size", sizes->error_log, "Messages of the server's log kept in memory");
	emit_status(scan, "max_file_instances", sizes->files, "Rows of file_instances");
	emit_status(scan, "max_table_instances", sizes->tables, "Tables and indexes that are told apart");
	emit_status(scan, "max_statement_stack", sizes->statement_stack, "Nested statements kept as rows");
	emit_status(scan, "max_sql_text_length", sizes->sql_text_length, "Bytes kept of a statement");
	emit_status(scan, "max_digest_length", sizes->digest_length,
				"Bytes kept of a normalised statement");
	emit_status(scan, "clock_parted", pfs_load(&arena->clock_state) != PFS_CLOCK_AS_CHOSEN,
				"1: the cycle counter has parted from the system clock, which times all events since");
	emit_status(scan, "resets", pfs_load(&arena->reset_now), "TRUNCATEs so far");
}

static bool
status_reset(PfsArena *arena, const PfsTable *table)
{
	for (int i = 0; i < PFS_LOSSES; i++)
		__atomic_exchange_n(&arena->loss[i], 0, __ATOMIC_RELAXED);
	__atomic_exchange_n(&pfs_pool_of(arena)->lost, 0, __ATOMIC_RELAXED);
	return table != NULL;
}

const PfsTable pfs_table_status = {
	.name = "status",
	.doc = "What was lost, how large the parts are (MySQL: SHOW STATUS LIKE 'performance_schema%'); TRUNCATE zeroes the loss counters",
	.groups = {&status_group},.scan = status_scan,.reset = status_reset,
};

typedef struct MemoryRow
{
	PfsText		name;
	uint64_t	row_bytes;
	uint64_t	rows;
	uint64_t	bytes;
	PfsText		doc;
} MemoryRow;

static const PfsColumn memory_columns[] = {
	{"name", "Part; names in parentheses are not tables", PFS_COLUMN_TEXT,
	offsetof(MemoryRow, name), PFS_COLUMN_KEY},
	{"row_size", "Bytes of a row", PFS_COLUMN_U64, offsetof(MemoryRow, row_bytes), 0},
	{"row_count", "Rows reserved", PFS_COLUMN_U64, offsetof(MemoryRow, rows), 0},
	{"memory", "Bytes reserved", PFS_COLUMN_U64, offsetof(MemoryRow, bytes), 0},
	{"documentation", "Content", PFS_COLUMN_TEXT, offsetof(MemoryRow, doc), 0},
};
PFS_GROUP(memory_group, memory_columns);

static void
memory_scan(PfsScan *scan)
{
	PfsArenaPart part;

	for (int i = 0; pfs_arena_part(scan->arena, i, &part); i++)
	{
		MemoryRow	row = {pfs_text_of_string(part.name), part.row_bytes, part.rows, part.bytes,
			pfs_text_of_string(part.doc)};
		const void *parts[] = {&row};

		scan->emit(scan, parts);
	}
	{
		MemoryRow	total = {pfs_text_of_string("performance_schema.memory"), scan->arena->bytes, 1,
			scan->arena->bytes, pfs_text_of_string("Everything, alignment included")};
		const void *parts[] = {&total};

		scan->emit(scan, parts);
	}
}

const PfsTable pfs_table_memory = {
	.name = "memory",
	.doc = "Shared memory the extension holds, part by part (MySQL: SHOW ENGINE PERFORMANCE_SCHEMA STATUS)",
	.groups = {&memory_group},.scan = memory_scan,
};
