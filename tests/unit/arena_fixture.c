/*
 * arena_fixture.c - arenas, sessions, statements and table rows for the unit tests.
 */
#include "arena_fixture.h"

#include "core/history.h"
#include "core/names.h"
#include "core/wait_block.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static const PfsHostError fixture_errors[FIXTURE_ERRORS] = {
	{"22012", "division_by_zero", 1},
	{"23505", "unique_violation", 2},
	{"42601", "syntax_error", 3},
	{NULL, NULL, 0},
};

static const struct
{
	const char *name;
	PfsWaitKind kind;
	uint32_t code;
} fixture_waits[FIXTURE_WAITS] = {
	[FIXTURE_WAIT_PLAIN] = {"wait/ipc/unit/plain", PFS_WAIT_PLAIN},
	[FIXTURE_WAIT_FILE] = {"wait/io/file/unit/data", PFS_WAIT_FILE},
	[FIXTURE_WAIT_SOCKET] = {"wait/io/socket/unit/client", PFS_WAIT_SOCKET},
	[FIXTURE_WAIT_LOCK] = {"wait/lock/unit/relation", PFS_WAIT_LOCK},
	[FIXTURE_WAIT_LWLOCK] = {"wait/synch/lwlock/unit/buffer", PFS_WAIT_LWLOCK, FIXTURE_LWLOCK_CODE},
	[FIXTURE_WAIT_IDLE] = {"idle", PFS_WAIT_IDLE},
	[FIXTURE_WAIT_TABLE] = {"wait/io/table/sql/handler", PFS_WAIT_TABLE},
};

static bool
host_call(uint32_t number, PfsHostCall *call)
{
	static const PfsHostCall calls[] = {
		{"unit", "read", "PATCHED", true, 0},
		{"unit", "write", "NOT IMPORTED", false, 1},
	};

	if (number < PFS_LENGTH(calls))
		*call = calls[number];
	return number < PFS_LENGTH(calls);
}

static bool
host_lock(uint32_t number, PfsHostLock *lock)
{
	static const PfsHostLock locks[] = {
		{FIXTURE_LWLOCK_CODE, true, 0},
		{FIXTURE_LWLOCK_CODE + 1, false, 1}, /* nobody has registered it */
		{FIXTURE_LWLOCK_CODE, false, 3},
	};

	if (number < PFS_LENGTH(locks))
		*lock = locks[number];
	return number < PFS_LENGTH(locks);
}

static const char *
isolation_name(unsigned isolation)
{
	return isolation == 0 ? "READ COMMITTED" : "SERIALIZABLE";
}

static const char *
connection_type(unsigned type)
{
	return type == 0 ? "Socket" : "TCP/IP";
}

PfsSizes
fixture_sizes(void)
{
	return (PfsSizes){
		.threads = 8,
		.accounts = 4,
		.users = 4,
		.hosts = 4,
		.actors = 4,
		.objects = 20,
		.instruments = FIXTURE_INSTRUMENTS,
		.statement_classes = FIXTURE_CLASSES,
		.thread_classes = FIXTURE_THREAD_CLASSES,
		.errors = FIXTURE_ERRORS,
		.waits = FIXTURE_WAITS,
		.metrics = FIXTURE_METRICS,
		.statement_stack = 4,
		.statements_history = 5,
		.statements_history_long = 64,
		.transactions_history = 3,
		.transactions_history_long = 32,
		.waits_history = 4,
		.waits_history_long = 32,
		.lock_waits_history = 32,
		.error_log = 8,
		.files = 12,
		.tables = 12,
		.digests = 8,
		.prepared = 8,
		.sql_text_length = 64,
		.digest_length = 64,
		.pool_bytes = 1 << 20,
	};
}

static const PfsMetricInfo fixture_metrics[FIXTURE_METRICS] = {
	{.name = "counter_1", .subsystem = "fixture", .type = PFS_METRIC_SET_OWNER, .calls = "counter_2"},
	{.name = "counter_2", .subsystem = "fixture", .type = PFS_METRIC_SET_MEMBER},
};

/* Each is enabled at the first look, and has grown by one then. */
static bool
host_metrics(PfsArena *arena, PfsMetric *copy, int64_t *figures)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < arena->sizes.metrics && copy != NULL; i++)
	{
		PfsMetric *metric = pfs_metric(arena, i);

		if (!metric->enabled)
			pfs_metric_act(metric, fixture_metrics[i].type, PFS_METRIC_ENABLE, 0, 1);
		pfs_metric_look(metric, fixture_metrics[i].type, 1);
		figures[i] = 1;
		copy[i] = *metric;
	}
	pthread_mutex_unlock(&lock);
	return true;
}

/* Makes an arena of zeroed memory and furnishes it with instruments. */
static PfsArena *
furnish(void *memory, const PfsSizes *sizes)
{
	PfsArena *arena = memory;

	pfs_histogram_init();
	pfs_host_errors = fixture_errors;
	pfs_host_isolation_name = isolation_name;
	pfs_host_connection_type = connection_type;
	pfs_host_call = host_call;
	pfs_host_lock = host_lock;
	pfs_metrics = fixture_metrics;
	pfs_metric_count = FIXTURE_METRICS;
	pfs_host_metrics = host_metrics;
	pfs_arena_init(arena, sizes);
	for (int i = 0; i < FIXTURE_CLASSES; i++)
	{
		char name[32];

		snprintf(name, sizeof(name), "statement/sql/class_%d", i);
		pfs_register(arena, PFS_CLASS_STATEMENT, name, "a class", PFS_PROPERTY_MUTABLE, true, true);
	}
	pfs_register(arena, PFS_CLASS_TRANSACTION, "transaction", "transactions", 0, true, true);
	pfs_register(arena, PFS_CLASS_ERROR, "error", "errors", PFS_PROPERTY_GLOBAL_STATISTICS, true,
				 false);
	for (int i = 0; i < FIXTURE_WAITS; i++)
		pfs_register_wait(arena, fixture_waits[i].kind, fixture_waits[i].name, "a wait",
						  fixture_waits[i].code, true);
	pfs_register_thread_class(arena, "thread/sql/client", "serves a client", true, false);
	pfs_register_thread_class(arena, "thread/sql/worker", "works", false, true);
	return arena;
}

PfsArena *
fixture_arena(const PfsSizes *wanted)
{
	PfsSizes sizes = wanted != NULL ? *wanted : fixture_sizes();

	pfs_timer_init(false);
	return furnish(aligned_alloc(PFS_CACHE_LINE, pfs_arena_size(&sizes)), &sizes);
}

PfsArena *
fixture_shared_arena(const PfsSizes *sizes)
{
	pfs_timer_init(false);
	return furnish(mmap(NULL, pfs_arena_size(sizes), PROT_READ | PROT_WRITE,
						MAP_SHARED | MAP_ANONYMOUS, -1, 0), sizes);
}

void
fixture_keep_waits(PfsArena *arena)
{
	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_CURRENT, true);
	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_HISTORY, true);
	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_HISTORY_LONG, true);
}

void
fixture_free(PfsArena *arena)
{
	free(arena);
}

PfsSession *
fixture_attach(PfsArena *arena, uint32_t slot, const char *user, const char *host)
{
	PfsSession *session = aligned_alloc(PFS_CACHE_LINE, sizeof(*session));
	PfsThreadInfo info = {
		.pid = 1000 + slot,
		.class = user != NULL ? FIXTURE_CLIENT : FIXTURE_WORKER,
		.user = user,
		.host = host,
		.database = "shop",
		.program = "unit",
		.database_id = 5,
		.encoding = 6,
	};

	memset(session, 0, sizeof(*session));
	session->arena = arena;
	session->thread = pfs_thread_attach(arena, slot, &info);
	return session;
}

void
fixture_detach(PfsSession *session)
{
	if (session->thread != NULL)
		pfs_thread_detach(session->arena, session->thread, &session->statements_long);
	free(session);
}

void
fixture_kill(PfsSession *session)
{
	free(session);
}

uint32_t
fixture_digest(PfsSession *session, uint64_t query_id)
{
	uint8_t sha[PFS_SHA_BYTES];
	char text[40];
	PfsDigestNew row = {.query_id = query_id, .text = text, .sha = sha, .now = FIXTURE_START};
	uint32_t number;

	if (query_id == 0)
		return PFS_DIGEST_NONE;
	number = pfs_digest_find(session->arena, session->thread, query_id);
	if (number != PFS_DIGEST_NONE)
		return number;
	row.text_length = (uint32_t) snprintf(text, sizeof(text), "query %" PRIu64, query_id);
	row.database_id = session->thread->database_id;
	row.database = session->thread->database;
	row.encoding = session->thread->encoding;
	memset(sha, (int) (1 + query_id % 255), sizeof(sha));
	return pfs_digest_insert(session->arena, &row);
}

PfsStatement *
fixture_open(PfsSession *session, uint32_t class, uint64_t query_id, const char *text)
{
	PfsStatement *statement = pfs_statement_open(session, class, FIXTURE_START);

	if (statement == NULL)
		return NULL;
	if ((pfs_load(&session->arena->gate) & PFS_WANTS(DIGEST)) != 0)
		pfs_store(&statement->record->digest, fixture_digest(session, query_id));
	pfs_store(&statement->record->digest_generation, pfs_load(&session->arena->digest_generation));
	pfs_store(&statement->record->query_id, query_id);
	pfs_statement_text_set(session, statement, FIXTURE_ROLE, text, strlen(text));
	pfs_statement_publish(session, statement);
	return statement;
}

void
fixture_statement(PfsSession *session, uint32_t class, uint64_t query_id, PfsTicks wait,
				  const char *text)
{
	char made[40];
	PfsStatement *statement;

	snprintf(made, sizeof(made), "select %" PRIu64, query_id);
	statement = fixture_open(session, class, query_id, text != NULL ? text : made);
	if (statement != NULL)
		pfs_statement_close(session, statement, FIXTURE_START + wait);
}

void
fixture_transaction(PfsSession *session, bool read_only, PfsTicks wait)
{
	pfs_transaction_open(session, FIXTURE_START);
	session->transaction.event->read_only = read_only;
	pfs_transaction_close(session, PFS_TRANSACTION_COMMITTED, FIXTURE_START + wait);
}

FixtureRow
fixture_file(PfsArena *arena, const char *path)
{
	FixtureRow file = {0, 0};

	file.row = pfs_file_find(arena, path, strlen(path), FIXTURE_WAIT_FILE, &file.use);
	return file;
}

FixtureRow
fixture_table(PfsArena *arena, uint32_t database, uint32_t table, uint32_t index)
{
	PfsTableKey key = {database, table, index};
	FixtureRow row = {0, 0};

	row.row = pfs_table_find(arena, &key, &row.use);
	return row;
}

void
fixture_fetch(PfsSession *session, FixtureRow table, uint64_t rows, PfsTicks ticks)
{
	pfs_wait_table(session, table.row, table.use, PFS_TABLE_FETCH, rows, FIXTURE_START, ticks);
}

void
fixture_wait(PfsSession *session, uint32_t wait, PfsOperation operation, uint32_t row, uint32_t use,
			 PfsTicks ticks, int64_t bytes)
{
	PfsWait event = {.wait = wait, .operation = operation, .row = row, .use = use};

	pfs_wait_begin(session, &event, FIXTURE_START);
	pfs_wait_end(session, &event, FIXTURE_START + ticks, bytes);
}

void
fixture_all_waits(PfsSession *session)
{
	PfsArena *arena = session->arena;
	PfsThread *thread = session->thread;
	FixtureRow file = fixture_file(arena, "base/5/16384");
	FixtureRow table = fixture_table(arena, thread->database_id, 16384, 0);
	PfsLockWait lock = {
		.thread_id = thread->thread_id,
		.pid = thread->owner,
		.wait = 10,
		.user = thread->user,
		.epoch = pfs_load(&arena->reset_now),
	};

	fixture_wait(session, FIXTURE_WAIT_FILE, PFS_OPERATION_READ, file.row, file.use, 10, 8192);
	pfs_table_name(arena, table.row, table.use, "public", "orders", NULL, 0);
	fixture_fetch(session, table, 3, 10);
	pfs_table_lock_add(arena, table.row, table.use, 1, 10);
	pfs_store(&thread->socket.used, 1);
	fixture_wait(session, FIXTURE_WAIT_SOCKET, PFS_OPERATION_RECV, 0, 0, 10, 100);
	fixture_wait(session, FIXTURE_WAIT_LOCK, PFS_OPERATION_NONE, 0, 0, 10, -1);
	pfs_history_lock_wait(session, &lock);
	fixture_statement(session, 0, 1, 100, NULL);
	fixture_wait(session, FIXTURE_WAIT_IDLE, PFS_OPERATION_IDLE, 0, 0, 10, -1);
}

uint64_t
fixture_blocks_astray(PfsArena *arena)
{
	uint64_t wrong = 0;

	for (uint32_t number = 0; number < arena->wait_blocks.count; number++)
	{
		uint32_t holder = pfs_load(&pfs_wait_block(arena, number)->holder);
		int of_history = 0, of_threads = 0;

		for (uint32_t i = 0; i < arena->wait_blocks.place_count; i++)
			of_history += PFS_AT(arena, arena->wait_blocks.places, uint32_t)[i] == number;
		for (uint32_t slot = 0; slot < arena->sizes.threads; slot++)
			for (uint32_t i = 0; i < pfs_thread_wait_blocks(&arena->sizes); i++)
				of_threads += pfs_thread_blocks(arena, pfs_thread(arena, slot))->number[i] == number;
		wrong += of_history + of_threads != 1 || (of_history != 0) != (holder == 0);
	}
	return wrong;
}

/* --- tables as texts --- */

static char *
copy_bytes(const char *data, size_t length)
{
	char *copy = malloc(length + 1);

	memcpy(copy, data, length);
	copy[length] = '\0';
	return copy;
}

static char *
number_text(uint64_t number)
{
	char text[24];

	return copy_bytes(text, (size_t) snprintf(text, sizeof(text), "%" PRIu64, number));
}

static char *
hex_text(const uint8_t *bytes)
{
	char *text;
	int set = 0;

	for (int i = 0; i < PFS_SHA_BYTES; i++)
		set |= bytes[i];
	if (set == 0)
		return NULL;
	text = malloc(2 * PFS_SHA_BYTES + 1);
	for (int i = 0; i < PFS_SHA_BYTES; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	return text;
}

/* The number in a field, of whatever width. */
static uint64_t
field_number(const PfsColumn *column, const void *field)
{
	const PfsTimerStat *stat = field;

	switch (column->type)
	{
		case PFS_COLUMN_U32:
		case PFS_COLUMN_SQLSTATE:
			return *(const uint32_t *) field;
		case PFS_COLUMN_U8:
		case PFS_COLUMN_YES_NO:
			return *(const uint8_t *) field;
		case PFS_COLUMN_MIN:
			return pfs_timer_stat_min(stat);
		case PFS_COLUMN_AVERAGE:
			return stat->count == 0 ? 0 : stat->sum / stat->count;
		default:
			return *(const uint64_t *) field;
	}
}

char *
column_text(const PfsColumn *column, const void *part)
{
	const void *field = (const char *) part + column->offset;
	const PfsText *text = field;
	uint64_t number;

	if (column->type == PFS_COLUMN_TEXT)
		return text->data == NULL ? NULL : copy_bytes(text->data, text->length);
	if (column->type == PFS_COLUMN_HEX)
		return hex_text(field);
	if (column->type == PFS_COLUMN_DOUBLE)
	{
		char out[32];

		return copy_bytes(out,
						  (size_t) snprintf(out, sizeof(out), "%.6f", *(const double *) field));
	}
	number = field_number(column, field);
	if (column->type == PFS_COLUMN_YES_NO)
		return number > 1 ? NULL : number == 1 ? copy_bytes("YES", 3) : copy_bytes("NO", 2);
	if (number == 0 &&
		((column->flags & PFS_COLUMN_NULL_IF_ZERO) != 0 || column->type == PFS_COLUMN_SQLSTATE ||
		 column->type == PFS_COLUMN_WHEN || column->type == PFS_COLUMN_TICKS_SINCE_START))
		return NULL;
	return number_text(number);
}

static void *
scan_alloc(PfsScan *scan, size_t bytes)
{
	FixtureScan *own = (FixtureScan *) scan;
	int n = own->allocations++;

	if ((n & (n - 1)) == 0)
		own->memory = realloc(own->memory, sizeof(void *) * (n == 0 ? 1 : 2 * (size_t) n));
	own->memory[n] = calloc(1, bytes > 0 ? bytes : 1);
	if (own->on_alloc != NULL)
		own->on_alloc(own);
	return own->memory[n];
}

static void
collect_row(PfsScan *scan, const void *const *parts)
{
	Rows *rows = ((FixtureScan *) scan)->rows;
	int n = rows->count++;

	if ((n & (n - 1)) == 0)
		rows->cell = realloc(rows->cell, sizeof(char *) * (size_t) rows->columns *
											 (n == 0 ? 1 : 2 * (size_t) n));
	for (int i = 0; i < rows->columns; i++)
	{
		int group;
		const PfsColumn *column = pfs_table_column(rows->table, i, &group);

		rows->cell[n * rows->columns + i] = column_text(column, parts[group]);
	}
}

void
scan_begin(FixtureScan *scan, PfsArena *arena, const char *table)
{
	memset(scan, 0, sizeof(*scan));
	scan->scan.arena = arena;
	scan->scan.table = pfs_table_by_name(table);
	scan->scan.sees_all = true;
	scan->scan.alloc = scan_alloc;
	scan->scan.emit = collect_row;
	scan->rows = calloc(1, sizeof(Rows));
	scan->rows->table = scan->scan.table;
	while (pfs_table_column(scan->scan.table, scan->rows->columns, NULL) != NULL)
		scan->rows->columns++;
}

void
scan_end(FixtureScan *scan)
{
	for (int i = 0; i < scan->allocations; i++)
		free(scan->memory[i]);
	free(scan->memory);
}

/* Everybody has the privileges of this role, and of no other. */
static bool
has_role(PfsScan *scan, uint32_t role)
{
	return role == FIXTURE_ROLE;
}

static Rows *
read_rows(PfsArena *arena, const char *table, const PfsCondition *condition, const char *user)
{
	FixtureScan scan;

	scan_begin(&scan, arena, table);
	scan.scan.conditions = condition;
	scan.scan.condition_count = condition != NULL;
	scan.scan.sees_all = user == NULL;
	scan.scan.own_user = user;
	scan.scan.has_role = has_role;
	scan.scan.table->scan(&scan.scan);
	scan_end(&scan);
	return scan.rows;
}

Rows *
rows_of(PfsArena *arena, const char *table)
{
	return read_rows(arena, table, NULL, NULL);
}

Rows *
rows_where(PfsArena *arena, const char *table, const char *column, const char *value)
{
	PfsCondition condition = {column, value, strtoull(value, NULL, 10)};

	return read_rows(arena, table, &condition, NULL);
}

Rows *
rows_seen_by(PfsArena *arena, const char *table, const char *user)
{
	return read_rows(arena, table, NULL, user);
}

void
rows_free(Rows *rows)
{
	for (int i = 0; i < rows->count * rows->columns; i++)
		free(rows->cell[i]);
	free(rows->cell);
	free(rows);
}

int
rows_column(const Rows *rows, const char *name)
{
	for (int i = 0; i < rows->columns; i++)
		if (strcmp(pfs_table_column(rows->table, i, NULL)->name, name) == 0)
			return i;
	fprintf(stderr, "table %s has no column %s\n", rows->table->name, name);
	abort();
}

const char *
row_text(const Rows *rows, int row, const char *column)
{
	if (row < 0 || row >= rows->count)
		return NULL;
	return rows->cell[row * rows->columns + rows_column(rows, column)];
}

uint64_t
row_number(const Rows *rows, int row, const char *column)
{
	const char *text = row_text(rows, row, column);

	return text != NULL ? strtoull(text, NULL, 10) : 0;
}

int
rows_find(const Rows *rows, const char *column, const char *text)
{
	for (int i = 0; i < rows->count; i++)
	{
		const char *cell = row_text(rows, i, column);

		if (cell == text || (cell != NULL && text != NULL && strcmp(cell, text) == 0))
			return i;
	}
	return -1;
}

uint64_t
rows_sum(const Rows *rows, const char *column)
{
	uint64_t sum = 0;

	for (int i = 0; i < rows->count; i++)
		sum += row_number(rows, i, column);
	return sum;
}

uint64_t
table_sum(PfsArena *arena, const char *table, const char *column)
{
	Rows *rows = rows_of(arena, table);
	uint64_t sum = rows_sum(rows, column);

	rows_free(rows);
	return sum;
}

uint64_t
table_count(PfsArena *arena, const char *table)
{
	Rows *rows = rows_of(arena, table);
	uint64_t count = (uint64_t) rows->count;

	rows_free(rows);
	return count;
}

uint64_t
table_number(PfsArena *arena, const char *table, const char *key_column, const char *key,
			 const char *column)
{
	Rows *rows = rows_of(arena, table);
	uint64_t number = row_number(rows, rows_find(rows, key_column, key), column);

	rows_free(rows);
	return number;
}

bool
table_truncate(PfsArena *arena, const char *name)
{
	const PfsTable *table = pfs_table_by_name(name);

	return table->reset != NULL && table->reset(arena, table);
}

void
run_threads(int n, void *(*body)(void *), void *argument, size_t stride)
{
	pthread_t thread[64];

	for (int i = 0; i < n; i++)
		pthread_create(&thread[i], NULL, body, (char *) argument + (size_t) i * stride);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}

bool
fixture_answer(PfsSession *session, uint32_t answer)
{
	(void) pfs_session_decided(session);
	return pfs_answer(session, answer);
}

void
fixture_rest(PfsSession *session)
{
	pfs_session_does(session, PFS_PHASE_REST);
	session->switched = session->far = false;
}
