/*
 * table_events.c
 *		events_statements_*, events_transactions_*, events_waits_*: current, history, history_long.
 */
#include "core/table_internal.h"

#include "core/digest.h"
#include "core/history.h"
#include "core/object.h"
#include "core/operation.h"
#include "core/rollup.h"
#include "core/setup.h"

/* argument of a table: which of the three, see scans below */
enum
{
	TABLE_CURRENT,
	TABLE_HISTORY,
	TABLE_HISTORY_LONG
};

/* --- what rows have in common --- */

typedef struct HeadRow
{
	PfsEventHead head;
	PfsText		name;
	PfsText		nesting_type;
} HeadRow;

#define HEAD_COLUMNS(what) \
	{"thread_id", "Thread, see threads", PFS_COLUMN_U64, \
	offsetof(HeadRow, head.thread_id), PFS_COLUMN_KEY}, \
	{"event_id", "Number of the event in its thread, given at its start", PFS_COLUMN_U64, \
	offsetof(HeadRow, head.event_id), PFS_COLUMN_KEY}, \
	{"end_event_id", "Last number given out when the event ended: events in between are inside; " \
	"NULL while it runs", PFS_COLUMN_U64, offsetof(HeadRow, head.end_event_id), \
	PFS_COLUMN_NULL_IF_ZERO}, \
	{"event_name", "Instrument", PFS_COLUMN_TEXT, offsetof(HeadRow, name), 0}, \
	{"timer_start", "Start, picoseconds since server start; NULL if not timed", \
	PFS_COLUMN_TICKS_SINCE_START, offsetof(HeadRow, head.timer_start), 0}, \
	{"timer_end", "End, or now while it runs", PFS_COLUMN_TICKS_SINCE_START, \
	offsetof(HeadRow, head.timer_end), 0}, \
	{"timer_wait", "Time spent in the " what ", picoseconds", PFS_COLUMN_TICKS, \
	offsetof(HeadRow, head.timer_wait), PFS_COLUMN_NULL_IF_ZERO}

#define NESTING_COLUMNS \
	{"nesting_event_id", "Event in which this one happened", PFS_COLUMN_U64, \
	offsetof(HeadRow, head.nesting_event_id), PFS_COLUMN_NULL_IF_ZERO}, \
	{"nesting_event_type", "TRANSACTION, STATEMENT or WAIT", PFS_COLUMN_TEXT, \
	offsetof(HeadRow, nesting_type), 0}

static void
fill_head(HeadRow *row, PfsText name)
{
	static const char *const types[] = {NULL, "TRANSACTION", "STATEMENT", "WAIT"};
	PfsEventHead *head = &row->head;

	row->name = name;
	row->nesting_type = pfs_text_of_string(types[head->nesting_type < 4 ? head->nesting_type : 0]);
	if (!head->timed)
		head->timer_start = head->timer_end = head->timer_wait = 0;
	else if (head->state == PFS_EVENT_RUNNING)
	{
		head->timer_end = pfs_max(pfs_now(), head->timer_start);
		head->timer_wait = head->timer_end - head->timer_start;
	}
}

/* Is a copied event a row for this reader, given the table's last TRUNCATE? */
static bool
is_row(const PfsScan *scan, const PfsEventHead *head, PfsReset reset)
{
	uint64_t	wanted;

	return head->state != PFS_EVENT_EMPTY &&
		head->epoch >= pfs_load(&scan->arena->reset_of[reset]) &&
		(!pfs_scan_number(scan, "thread_id", &wanted) || wanted == head->thread_id) &&
		(!pfs_scan_number(scan, "event_id", &wanted) || wanted == head->event_id) &&
		pfs_scan_sees_user(scan, head->user);
}

/* --- statements --- */

typedef struct StatementRow
{
	HeadRow		head;			/* first: HEAD_COLUMNS */
	PfsText		sql_text;
	uint8_t		sha[PFS_SHA_BYTES];
	PfsText		digest_text;
	PfsText		schema;
	PfsText		object_type;
	PfsText		object_schema;
	PfsText		object_name;
	uint32_t	sqlstate;
	PfsText		message;
	uint64_t	counter[PFS_COUNTERS];
	uint32_t	level;
	uint64_t	statement_id;
	uint64_t	query_id;
} StatementRow;

#define COUNTER_COLUMN(symbol, column, is_time, doc) \
	{#column, doc, (is_time) ? PFS_COLUMN_TICKS : PFS_COLUMN_U64, \
	offsetof(StatementRow, counter) + PFS_COUNTER_##symbol * sizeof(uint64_t), 0}

static const PfsColumn statement_columns[] = {
	HEAD_COLUMNS("statement"),
	{"sql_text", "Statement, cut to max_sql_text_length bytes; this, digest_text and message_text are "
	"NULL for those without the privileges of the role it ran as", PFS_COLUMN_TEXT,
	offsetof(StatementRow, sql_text), 0},
	{"digest", "SHA-256 of the normalised statement", PFS_COLUMN_HEX,
	offsetof(StatementRow, sha), 0},
	{"digest_text", "Normalised statement", PFS_COLUMN_TEXT, offsetof(StatementRow, digest_text), 0},
	{"current_schema_name", "First schema of the search path (MySQL: CURRENT_SCHEMA)",
	PFS_COLUMN_TEXT, offsetof(StatementRow, schema), 0},
	{"object_type", "FUNCTION, PROCEDURE or TRIGGER that contains a nested statement",
	PFS_COLUMN_TEXT, offsetof(StatementRow, object_type), 0},
	{"object_schema", "Schema of that routine", PFS_COLUMN_TEXT,
	offsetof(StatementRow, object_schema), 0},
	{"object_name", "Name of that routine", PFS_COLUMN_TEXT, offsetof(StatementRow, object_name), 0},
	{"returned_sqlstate", "SQLSTATE of a failed statement, else NULL", PFS_COLUMN_SQLSTATE,
	offsetof(StatementRow, sqlstate), 0},
	{"message_text", "Error message, cut to 128 bytes", PFS_COLUMN_TEXT,
	offsetof(StatementRow, message), 0},
#define PFS_COUNTER(symbol, column, is_time, doc) COUNTER_COLUMN(symbol, column, is_time, doc),
#include "core/statement_counters.def"
#undef PFS_COUNTER
	NESTING_COLUMNS,
	{"nesting_event_level", "Depth of nesting, top = 0", PFS_COLUMN_U32,
	offsetof(StatementRow, level), 0},
	{"statement_id", "Number of the statement in the server", PFS_COLUMN_U64,
	offsetof(StatementRow, statement_id), 0},
	{"queryid", "Query id as in pg_stat_statements; not in MySQL", PFS_COLUMN_U64,
	offsetof(StatementRow, query_id), PFS_COLUMN_NULL_IF_ZERO},
};
PFS_GROUP(statement_group, statement_columns);

static void
fill_object(const PfsArena *arena, StatementRow *row, PfsRef object, PfsNameCopy *copy)
{
	unsigned	type;

	row->object_schema.encoding = row->object_name.encoding = -1;
	if (pfs_routine_parts(arena, object, copy, &type, &row->object_schema.data,
						  &row->object_schema.length, &row->object_name.data,
						  &row->object_name.length))
		row->object_type = pfs_text_of_string(pfs_object_type_name(type));
}

/* event and the texts are private copies. */
static void
emit_statement(PfsScan *scan, PfsStatementEvent *event, const char *text, const char *message)
{
	PfsArena   *arena = scan->arena;
	PfsNameCopy schema;
	PfsNameCopy object;
	StatementRow row;
	const void *parts[] = {&row};

	memset(&row, 0, sizeof(row));
	row.head.head = event->head;
	fill_head(&row.head, PFS_TEXT_OF(pfs_statement_instrument(arena, event->class)->name));
	row.sql_text = pfs_scan_secret(scan, event->role, (PfsText) {text, event->text_length,
		event->head.encoding});
	row.message = pfs_scan_secret(scan, event->role, (PfsText) {message, event->message_length,
		event->head.encoding});
	row.digest_text = pfs_scan_secret(scan, event->role,
									  pfs_read_digest_text(scan, event->digest,
														   event->digest_generation, row.sha));
	if (pfs_name_copy(arena, event->schema, &schema))
		row.schema = (PfsText) {schema.text, schema.length, -1};
	fill_object(arena, &row, event->object, &object);
	row.sqlstate = event->sqlstate;
	for (int i = 0; i < PFS_COUNTERS; i++)
		row.counter[i] = pfs_statement_counter(event, i);
	row.level = event->level;
	row.statement_id = event->statement_id;
	row.query_id = event->query_id;
	scan->emit(scan, parts);
}

static void
scan_statement_slots(PfsScan *scan, PfsThread *thread, uint32_t first, uint32_t count,
					 PfsReset reset)
{
	PfsArena   *arena = scan->arena;
	size_t		bytes = arena->statement_slot_bytes;
	PfsStatementEvent *copy = scan->alloc(scan, bytes);

	for (uint32_t i = first; i < first + count; i++)
	{
		if (!pfs_statement_read(arena, thread, i, copy, bytes))
			continue;
		copy->text_length = pfs_text_length(arena, copy);
		copy->message_length = pfs_message_length(copy);
		if (is_row(scan, &copy->head, reset))
			emit_statement(scan, copy, pfs_statement_text(copy),
						   pfs_statement_text(copy) + arena->sizes.sql_text_length);
	}
}

static void
scan_statements_long(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	PfsStatementEvent *copy = scan->alloc(scan, sizeof(*copy));
	char	   *text = scan->alloc(scan, arena->sizes.sql_text_length + PFS_MESSAGE_LENGTH);

	for (uint32_t i = 0; i < arena->sizes.statements_history_long; i++)
		if (pfs_long_statement_read(arena, i, copy, text) &&
			is_row(scan, &copy->head, PFS_RESET_STATEMENTS_HISTORY_LONG))
			emit_statement(scan, copy, text, text + copy->text_length);
}

static void
statements_scan(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	uint32_t	stack = arena->sizes.statement_stack;
	uint64_t	wanted;
	bool		one = pfs_scan_number(scan, "thread_id", &wanted);

	if (scan->table->argument == TABLE_HISTORY_LONG)
	{
		scan_statements_long(scan);
		return;
	}
	PFS_EACH_THREAD(arena, thread, slot)
	{
		if (pfs_load(&thread->owner) == 0 || (one && pfs_load(&thread->thread_id) != wanted))
			continue;
		if (scan->table->argument == TABLE_CURRENT)
			scan_statement_slots(scan, thread, 0, stack, PFS_RESET_STATEMENTS_CURRENT);
		else
			scan_statement_slots(scan, thread, stack, arena->sizes.statements_history,
								 PFS_RESET_STATEMENTS_HISTORY);
	}
}

/* --- transactions --- */

typedef struct TransactionRow
{
	HeadRow		head;			/* first: HEAD_COLUMNS */
	PfsText		state;
	uint64_t	trx_id;
	PfsText		gid;
	PfsText		xa_state;
	PfsText		access_mode;
	PfsText		isolation;
	uint8_t		autocommit;
	uint64_t	savepoints;
	uint64_t	rollbacks;
	uint64_t	releases;
} TransactionRow;

static const PfsColumn transaction_columns[] = {
	HEAD_COLUMNS("transaction"),
	{"state", "ACTIVE, COMMITTED, ROLLED BACK or PREPARED", PFS_COLUMN_TEXT,
	offsetof(TransactionRow, state), 0},
	{"trx_id", "Transaction id; NULL if the transaction wrote nothing", PFS_COLUMN_U64,
	offsetof(TransactionRow, trx_id), PFS_COLUMN_NULL_IF_ZERO},
	{"xid_gtrid", "Identifier given to PREPARE TRANSACTION, cut to 64 bytes", PFS_COLUMN_TEXT,
	offsetof(TransactionRow, gid), 0},
	{"xa_state", "PREPARED after PREPARE TRANSACTION, else NULL", PFS_COLUMN_TEXT,
	offsetof(TransactionRow, xa_state), 0},
	{"access_mode", "READ ONLY or READ WRITE", PFS_COLUMN_TEXT,
	offsetof(TransactionRow, access_mode), 0},
	{"isolation_level", "Isolation level", PFS_COLUMN_TEXT, offsetof(TransactionRow, isolation), 0},
	{"autocommit", "YES: of a statement outside a transaction block", PFS_COLUMN_YES_NO,
	offsetof(TransactionRow, autocommit), 0},
	{"number_of_savepoints", "SAVEPOINT statements", PFS_COLUMN_U64,
	offsetof(TransactionRow, savepoints), 0},
	{"number_of_rollback_to_savepoint", "ROLLBACK TO statements", PFS_COLUMN_U64,
	offsetof(TransactionRow, rollbacks), 0},
	{"number_of_release_savepoint", "RELEASE statements", PFS_COLUMN_U64,
	offsetof(TransactionRow, releases), 0},
	NESTING_COLUMNS,
};
PFS_GROUP(transaction_group, transaction_columns);

static void
emit_transaction(PfsScan *scan, PfsTransactionEvent *event)
{
	static const char *const outcomes[] = {"ACTIVE", "COMMITTED", "ROLLED BACK", "PREPARED"};
	TransactionRow row;
	const void *parts[] = {&row};

	memset(&row, 0, sizeof(row));
	row.head.head = event->head;
	fill_head(&row.head, pfs_text_of_string("transaction"));
	row.state = pfs_text_of_string(outcomes[event->outcome & 3]);
	row.trx_id = event->trx_id;
	if (event->gid_length > 0)
		row.gid = (PfsText) {event->gid, pfs_min(event->gid_length, (uint32_t) PFS_GID_LENGTH),
			event->head.encoding};
	if (event->outcome == PFS_TRANSACTION_PREPARED)
		row.xa_state = row.state;
	row.access_mode = pfs_text_of_string(event->read_only ? "READ ONLY" : "READ WRITE");
	if (pfs_host_isolation_name != NULL)
		row.isolation = pfs_text_of_string(pfs_host_isolation_name(event->isolation));
	row.autocommit = event->autocommit;
	row.savepoints = event->savepoints;
	row.rollbacks = event->rollbacks_to_savepoint;
	row.releases = event->releases_of_savepoint;
	scan->emit(scan, parts);
}

/*
 * Copies the transaction shown as current (age 0), or one of the history (age 1 = the newest);
 * false when there is none.
 */
static bool
read_transaction(PfsArena *arena, PfsThread *thread, uint32_t age, PfsTransactionEvent *to)
{
	uint32_t	ring = arena->sizes.transactions_history + 1;

	for (int i = 0; i < PFS_READ_RETRIES; i++)
	{
		uint32_t	begin = pfs_seq_read_begin(&thread->seq);
		uint64_t	ended = pfs_load(&thread->transactions_ended);
		uint32_t	slot = age == 0 ? pfs_load(&thread->transaction_shown)
			: age <= ended ? (uint32_t) ((ended - age) % ring) : PFS_NO_SLOT;

		if (slot < ring)
			pfs_copy_words(to, pfs_thread_transaction(arena, thread, slot), sizeof(*to));
		if (pfs_seq_read_ok(&thread->seq, begin))
			return slot < ring;
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return false;
}

static void
transactions_scan(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	uint64_t	wanted;
	bool		one = pfs_scan_number(scan, "thread_id", &wanted);
	PfsTransactionEvent copy;

	for (uint32_t i = 0; scan->table->argument == TABLE_HISTORY_LONG &&
		 i < arena->sizes.transactions_history_long; i++)
		if (pfs_long_transaction_read(arena, i, &copy) &&
			is_row(scan, &copy.head, PFS_RESET_TRANSACTIONS_HISTORY_LONG))
			emit_transaction(scan, &copy);
	if (scan->table->argument == TABLE_HISTORY_LONG)
		return;
	PFS_EACH_THREAD(arena, thread, slot)
	{
		if (pfs_load(&thread->owner) == 0 || (one && pfs_load(&thread->thread_id) != wanted))
			continue;
		if (scan->table->argument == TABLE_CURRENT)
		{
			if (read_transaction(arena, thread, 0, &copy) &&
				is_row(scan, &copy.head, PFS_RESET_TRANSACTIONS_CURRENT))
				emit_transaction(scan, &copy);
			continue;
		}
		for (uint32_t age = arena->sizes.transactions_history; age > 0; age--)
			if (read_transaction(arena, thread, age, &copy) &&
				is_row(scan, &copy.head, PFS_RESET_TRANSACTIONS_HISTORY))
				emit_transaction(scan, &copy);
	}
}

/* --- waits --- */

typedef struct WaitRow
{
	HeadRow		head;			/* first: HEAD_COLUMNS */
	PfsText		object_schema;
	PfsText		object_name;
	PfsText		index_name;
	PfsText		object_type;
	uint64_t	instance;
	PfsText		operation;
	uint64_t	bytes;
} WaitRow;

static const PfsColumn wait_columns[] = {
	HEAD_COLUMNS("wait"),
	{"object_schema", "Schema of a table or of the relation that is locked; of a file: of the relation "
	"it holds, in the reader's own database", PFS_COLUMN_TEXT, offsetof(WaitRow, object_schema), 0},
	{"object_name", "Path of a file, table, object that is locked, peer of a socket", PFS_COLUMN_TEXT,
	offsetof(WaitRow, object_name), 0},
	{"index_name", "Index by which rows were read", PFS_COLUMN_TEXT, offsetof(WaitRow, index_name), 0},
	{"object_type", "FILE, SOCKET, TABLE, or what is locked: RELATION, TUPLE, TRANSACTIONID, ...",
	PFS_COLUMN_TEXT, offsetof(WaitRow, object_type), 0},
	{"object_instance_begin", "Number of the file, socket, table or lock", PFS_COLUMN_U64,
	offsetof(WaitRow, instance), PFS_COLUMN_NULL_IF_ZERO},
	NESTING_COLUMNS,
	{"operation", "What was done: read, write, sync, open, recv, send, fetch, insert, lock, idle, ...; "
	"of a lock: the mode that was asked for", PFS_COLUMN_TEXT, offsetof(WaitRow, operation), 0},
	{"number_of_bytes", "Bytes read or written; rows of a table", PFS_COLUMN_U64,
	offsetof(WaitRow, bytes), PFS_COLUMN_NULL_IF_ZERO},
};
PFS_GROUP(wait_group, wait_columns);

/* Names of a file's or table's row, if it is still that one. */
static void
fill_file_name(const PfsScan *scan, const PfsWaitEvent *event, WaitRow *row, char *path)
{
	const PfsArena *arena = scan->arena;
	PfsObjectRow *file = pfs_object_row(arena, PFS_MAP_FILES, event->object.id[0], event->object.id[1]);
	size_t		length;

	if (file == NULL)
		return;
	length = pfs_min((size_t) pfs_load(&file->key_length), (size_t) PFS_OBJECT_KEY_LENGTH);
	pfs_copy_bytes(path, file->key, length);
	pfs_fence();
	if (pfs_load(&file->use) == event->object.id[1])
		row->object_name = pfs_scan_path(scan, (PfsText) {path, length, -1});
}

static void
fill_table_name(const PfsArena *arena, const PfsWaitEvent *event, WaitRow *row, PfsTableNames *names)
{
	if (!pfs_table_names_read(arena, event->object.id[0], event->object.id[1], names))
		return;
	row->object_schema = PFS_TEXT_OF(names->schema);
	row->object_name = PFS_TEXT_OF(names->table);
	if (names->index[0] != '\0')
		row->index_name = PFS_TEXT_OF(names->index);
}

static void
emit_wait(PfsScan *scan, PfsWaitEvent *event)
{
	static const char *const types[] = {NULL, "FILE", "SOCKET", "TABLE"};
	static const char *const words[PFS_OPERATIONS] = {
#define PFS_OPERATION(symbol, word, part) word,
#include "core/operations.def"
#undef PFS_OPERATION
	};
	char		path[PFS_OBJECT_KEY_LENGTH];
	PfsTableNames names;
	PfsHostObject lock = {0};
	WaitRow		row;
	const void *parts[] = {&row};

	memset(&row, 0, sizeof(row));
	row.head.head = event->head;
	fill_head(&row.head, PFS_TEXT_OF(pfs_wait_instrument(scan->arena, event->wait)->name));
	row.operation = pfs_text_of_string(words[event->operation < PFS_OPERATIONS ? event->operation : 0]);
	row.instance = event->object.instance;
	row.bytes = event->bytes > 0 ? (uint64_t) event->bytes : 0;
	if (event->object.type < PFS_LENGTH(types))
		row.object_type = pfs_text_of_string(types[event->object.type]);
	if (event->object.type == PFS_WAIT_OBJECT_FILE)
		fill_file_name(scan, event, &row, path);
	else if (event->object.type == PFS_WAIT_OBJECT_TABLE)
		fill_table_name(scan->arena, event, &row, &names);
	else if (event->object.type == PFS_WAIT_OBJECT_LOCK && pfs_host_lock_object != NULL)
	{
		pfs_host_lock_object(&event->object, &lock);
		row.object_type = pfs_text_of_string(lock.type);
		row.object_schema = pfs_text_of_string(lock.schema);
		row.object_name = pfs_text_of_string(lock.name);
		row.operation = pfs_text_of_string(lock.mode);
	}
	scan->emit(scan, parts);
}

/* Copies the wait on top of the stack (age 0), or one of the history (1 = the newest). */
static bool
read_wait(PfsArena *arena, PfsThread *thread, uint32_t age, PfsWaitEvent *to)
{
	uint32_t	size = arena->sizes.waits_history;

	for (int i = 0; i < PFS_READ_RETRIES; i++)
	{
		uint32_t	begin = pfs_seq_read_begin(&thread->seq);
		uint32_t	depth = pfs_min(pfs_load(&thread->wait_depth), (uint32_t) PFS_WAIT_STACK);
		uint64_t	ended = pfs_load(&thread->waits_ended);
		uint32_t	slot = age == 0 ? (depth > 0 ? depth - 1 : 0)
			: PFS_WAIT_STACK + (uint32_t) ((ended - age) % size);
		bool		exists = age == 0 || age <= ended;

		if (exists)
			pfs_copy_words(to, pfs_thread_waits(arena, thread) + slot, sizeof(*to));
		if (pfs_seq_read_ok(&thread->seq, begin))
			return exists && to->head.state != PFS_EVENT_EMPTY;
		pfs_cpu_pause();
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return false;
}

static void
waits_scan(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	uint64_t	wanted;
	bool		one = pfs_scan_number(scan, "thread_id", &wanted);
	PfsWaitEvent copy;

	for (uint32_t i = 0; scan->table->argument == TABLE_HISTORY_LONG &&
		 i < arena->sizes.waits_history_long; i++)
		if (pfs_long_wait_read(arena, i, &copy) &&
			is_row(scan, &copy.head, PFS_RESET_WAITS_HISTORY_LONG))
			emit_wait(scan, &copy);
	if (scan->table->argument == TABLE_HISTORY_LONG)
		return;
	PFS_EACH_THREAD(arena, thread, slot)
	{
		bool		current = scan->table->argument == TABLE_CURRENT;

		if (pfs_load(&thread->owner) == 0 || (one && pfs_load(&thread->thread_id) != wanted))
			continue;
		for (uint32_t age = current ? 0 : arena->sizes.waits_history; current || age > 0; age--)
		{
			if (read_wait(arena, thread, age, &copy) &&
				is_row(scan, &copy.head, current ? PFS_RESET_WAITS_CURRENT : PFS_RESET_WAITS_HISTORY))
				emit_wait(scan, &copy);
			if (current)
				break;
		}
	}
}

/* --- the tables --- */

static bool
events_reset(PfsArena *arena, const PfsTable *table)
{
	PfsReset	first = table->scan == statements_scan ? PFS_RESET_STATEMENTS_CURRENT
		: table->scan == waits_scan ? PFS_RESET_WAITS_CURRENT : PFS_RESET_TRANSACTIONS_CURRENT;

	return pfs_reset_events(arena, first + table->argument);
}

#define EVENTS_TABLE(events, group, suffix, which, what) \
const PfsTable pfs_table_events_##events##_##suffix = { \
	.name = "events_" #events "_" #suffix, .doc = what, .groups = {&group}, .argument = which, \
	.scan = events##_scan, .reset = events_reset}

EVENTS_TABLE(statements, statement_group, current, TABLE_CURRENT,
			 "Statements being executed, with their nesting, or each thread's last one");
EVENTS_TABLE(statements, statement_group, history, TABLE_HISTORY,
			 "The last statements of each live thread");
EVENTS_TABLE(statements, statement_group, history_long, TABLE_HISTORY_LONG,
			 "The last statements of the server, also of threads that have gone");
EVENTS_TABLE(transactions, transaction_group, current, TABLE_CURRENT,
			 "The transaction each thread is in, or its last one");
EVENTS_TABLE(transactions, transaction_group, history, TABLE_HISTORY,
			 "The last transactions of each live thread");
EVENTS_TABLE(transactions, transaction_group, history_long, TABLE_HISTORY_LONG,
			 "The last transactions of the server, also of threads that have gone");
EVENTS_TABLE(waits, wait_group, current, TABLE_CURRENT,
			 "The wait each thread is in, or its last one; kept while the consumer is on");
EVENTS_TABLE(waits, wait_group, history, TABLE_HISTORY, "The last waits of each live thread");
EVENTS_TABLE(waits, wait_group, history_long, TABLE_HISTORY_LONG,
			 "The last waits of the server, also of threads that have gone");
