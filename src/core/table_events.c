/*
 * table_events.c
 *		events_statements_*, events_transactions_*, events_waits_*: current, history, history_long.
 */
#include "core/table_internal.h"

#include <stdlib.h>

#include "core/digest.h"
#include "core/history.h"
#include "core/object.h"
#include "core/operation.h"
#include "core/rollup.h"
#include "core/setup.h"
#include "core/wait_block.h"

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
#define PFS_COUNTER(symbol, place, column, is_time, doc) COUNTER_COLUMN(symbol, column, is_time, doc),
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

static PfsEventHead
head_of(const PfsStatementEvent *event)
{
	const PfsStatementRecord *record = &event->record;

	return (PfsEventHead)
	{
		.thread_id = event->thread_id,.event_id = record->event_id,
			.end_event_id = event->running ? 0 : pfs_record_end_event(record),
			.nesting_event_id = record->nesting_event_id,.timer_start = record->start,
			.timer_end = record->end,.timer_wait = record->wait,.epoch = record->epoch,
			.state = event->running ? PFS_EVENT_RUNNING : PFS_EVENT_ENDED,
			.nesting_type = (record->used & PFS_RECORD_IN_STATEMENT) != 0 ? PFS_NESTING_STATEMENT
			: record->nesting_event_id != 0 ? PFS_NESTING_TRANSACTION : PFS_NESTING_NONE,
			.timed = (record->used & PFS_RECORD_UNTIMED) == 0,.encoding = event->encoding,
			.user = event->user
	};
}

/* event and the texts are private copies.  Emits nothing if it is no row for this reader. */
static void
emit_statement(PfsScan *scan, const PfsStatementEvent *event, const char *text, const char *message,
			   PfsReset reset)
{
	PfsArena   *arena = scan->arena;
	const PfsStatementRecord *record = &event->record;
	PfsNameCopy schema;
	PfsNameCopy routine;
	StatementRow row;
	const void *parts[] = {&row};

	memset(&row, 0, sizeof(row));
	row.head.head = head_of(event);
	if (!is_row(scan, &row.head.head, reset))
		return;
	fill_head(&row.head, PFS_TEXT_OF(pfs_statement_instrument(arena, record->class)->name));
	row.sql_text = pfs_scan_secret(scan, record->role, (PfsText) {text, record->text_length, event->encoding});
	row.message = pfs_scan_secret(scan, record->role, (PfsText) {message, record->message_length,
		event->encoding});
	row.digest_text = pfs_scan_secret(scan, record->role,
									  pfs_read_digest_text(scan, record->digest,
														   record->digest_generation, row.sha));
	if (pfs_name_copy(arena, record->schema, &schema))
		row.schema = (PfsText) {schema.text, schema.length, -1};
	if ((record->used & PFS_RECORD_ROUTINE) != 0)
		pfs_texts_of_routine(arena, record->routine, &routine, &row.object_type, &row.object_schema, &row.object_name);
	row.sqlstate = (record->used & PFS_RECORD_FAILED) != 0 ? record->sqlstate : 0;
	for (int i = 0; i < PFS_COUNTERS; i++)
		row.counter[i] = pfs_record_counter(record, i);
	row.level = record->level;
	row.statement_id = record->statement_id;
	row.query_id = record->query_id;
	scan->emit(scan, parts);
}

/* Room for the two texts of a statement. */
static char *
room_for_texts(PfsScan *scan)
{
	return scan->alloc(scan, scan->arena->sizes.sql_text_length + PFS_MESSAGE_LENGTH);
}

/* A copied record of a thread, with its texts, unless the slot has another owner by now. */
static void
emit_record(PfsScan *scan, PfsThread *thread, uint64_t thread_id, const PfsStatementRecord *record,
			bool running, char *text, PfsReset reset)
{
	PfsStatementEvent event;
	char	   *message = text + scan->arena->sizes.sql_text_length;

	pfs_event_of_record(thread, record, running, &event);
	pfs_journal_read_texts(scan->arena, thread, &event.record, text, message);
	pfs_fence();
	if (event.thread_id == thread_id && pfs_load(&thread->thread_id) == thread_id)
		emit_statement(scan, &event, text, message, reset);
}

/* The open statements of a thread; without a top-level one the last one that has ended. */
static void
scan_current(PfsScan *scan, PfsThread *thread, uint64_t thread_id, char *text)
{
	PfsArena   *arena = scan->arena;
	PfsStatementRecord record;
	bool		has_top = false;

	for (uint32_t place = 0; place < arena->sizes.statement_stack; place++)
	{
		if (!pfs_journal_read_open(arena, thread, place, &record))
			continue;
		has_top |= record.level == 0;
		emit_record(scan, thread, thread_id, &record, true, text, PFS_RESET_STATEMENTS_CURRENT);
	}
	if (!has_top && pfs_journal_read_last(arena, thread, &record))
		emit_record(scan, thread, thread_id, &record, false, text, PFS_RESET_STATEMENTS_CURRENT);
}

/* The last records of a thread that are history, oldest first. */
static void
scan_history(PfsScan *scan, PfsThread *thread, uint64_t thread_id, char *text)
{
	PfsArena   *arena = scan->arena;
	uint32_t	size = arena->sizes.statements_history;
	PfsStatementRecord *record = scan->alloc(scan, (size_t) size * sizeof(*record));
	uint64_t	ended = pfs_load_acquire(&thread->ended);
	uint32_t	found = 0;

	for (uint64_t number = ended; number > 0 && found < size &&
		 pfs_journal_read(arena, thread, number, &record[found]); number--)
		if (record[found].event_id != 0 && (record[found].used & PFS_RECORD_HISTORY) != 0)
			found++;
	while (found-- > 0)
		emit_record(scan, thread, thread_id, &record[found], false, text, PFS_RESET_STATEMENTS_HISTORY);
}

/* --- the long history: what is in its ring, and what has not been summed yet, in the order of ends --- */

typedef struct LongKey
{
	PfsTicks	end;
	uint64_t	thread_id;
	uint64_t	end_event_id;
	uint64_t	event_id;
	const struct Unsummed *unsummed;	/* NULL = in the ring ... */
	uint32_t	row;			/* ... there */
} LongKey;

/* A private copy of an event that is not in the ring. */
typedef struct Unsummed
{
	PfsStatementEvent event;
	char		text[];			/* and message */
} Unsummed;

static LongKey
key_of(const PfsStatementEvent *event, const Unsummed *unsummed, uint32_t row)
{
	return (LongKey)
	{
		.end = event->record.end,.thread_id = event->thread_id,.end_event_id = pfs_record_end_event(&event->record),
			.event_id = event->record.event_id,.unsummed = unsummed,.row = row
	};
}

static bool
is_same_event(const LongKey *a, const LongKey *b)
{
	return a->thread_id == b->thread_id && a->event_id == b->event_id;
}

static int
compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* By their ends.  Of those that a thread ended in one tick the inner ones, which are younger, ended first. */
static int
compare_keys(const void *a, const void *b)
{
	const LongKey *left = a,
			   *right = b;
	int			order = compare(left->end, right->end);

	if (order == 0)
		order = compare(left->thread_id, right->thread_id);
	if (order == 0)
		order = compare(left->end_event_id, right->end_event_id);
	if (order == 0)
		order = compare(right->event_id, left->event_id);
	return order != 0 ? order : (left->unsummed != NULL) - (right->unsummed != NULL);
}

/* The event's texts are copied, too: later they may be gone. */
static const Unsummed *
copy_unsummed(PfsScan *scan, PfsThread *thread, const PfsStatementRecord *record, char *text)
{
	PfsStatementEvent event;
	Unsummed   *copy;
	char	   *message = text + scan->arena->sizes.sql_text_length;

	pfs_event_of_record(thread, record, false, &event);
	pfs_journal_read_texts(scan->arena, thread, &event.record, text, message);
	copy = scan->alloc(scan, sizeof(*copy) + event.record.text_length + event.record.message_length);
	copy->event = event;
	memcpy(copy->text, text, event.record.text_length);
	memcpy(copy->text + event.record.text_length, message, event.record.message_length);
	return copy;
}

static bool
is_truncated(const PfsArena *arena, const PfsStatementRecord *record)
{
	return record->epoch < pfs_load(&arena->reset_of[PFS_RESET_STATEMENTS_HISTORY_LONG]);
}

/* Records that wait to be summed are looked for first: what is summed meanwhile is found twice. */
static uint32_t
find_unsummed(PfsScan *scan, LongKey *key, uint32_t room, char *text)
{
	PfsArena   *arena = scan->arena;
	PfsUnsummed unsummed = {0};
	uint32_t	found = 0;

	PFS_EACH_THREAD(arena, thread, slot)
	{
		uint64_t	thread_id = pfs_load(&thread->thread_id);

		pfs_read_unsummed(scan, thread, &unsummed);
		for (uint32_t i = 0; i < unsummed.count && found < room; i++)
		{
			const PfsStatementRecord *record = &unsummed.record[i];
			const Unsummed *copy;

			if ((record->used & PFS_RECORD_LONG) == 0 || record->event_id == 0 ||
				is_truncated(arena, record))
				continue;
			copy = copy_unsummed(scan, thread, record, text);
			pfs_fence();
			if (copy->event.thread_id == thread_id && pfs_load(&thread->thread_id) == thread_id)
				key[found++] = key_of(&copy->event, copy, 0);
		}
	}
	return found;
}

static void
scan_long(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	uint32_t	size = arena->sizes.statements_history_long;
	uint32_t	room = size + arena->sizes.threads * PFS_UNSUMMED;
	LongKey    *key = scan->alloc(scan, (size_t) room * sizeof(*key));
	char	   *text = room_for_texts(scan);
	uint32_t	keys = find_unsummed(scan, key, room - size, text);
	PfsStatementEvent copy;
	uint32_t	unique = 0;

	for (uint32_t i = 0; i < size; i++)
		if (pfs_long_statement_read(arena, i, &copy, text) && !is_truncated(arena, &copy.record))
			key[keys++] = key_of(&copy, NULL, i);
	qsort(key, keys, sizeof(*key), compare_keys);
	for (uint32_t i = 0; i < keys; i++)
		if (unique == 0 || !is_same_event(&key[i], &key[unique - 1]))
			key[unique++] = key[i];
	for (uint32_t i = unique > size ? unique - size : 0; i < unique; i++)
	{
		const Unsummed *unsummed = key[i].unsummed;
		LongKey		again;

		if (unsummed != NULL)
		{
			emit_statement(scan, &unsummed->event, unsummed->text,
						   unsummed->text + unsummed->event.record.text_length,
						   PFS_RESET_STATEMENTS_HISTORY_LONG);
			continue;
		}
		if (!pfs_long_statement_read(arena, key[i].row, &copy, text))
			continue;
		again = key_of(&copy, NULL, 0);
		if (is_same_event(&again, &key[i]))	/* a younger one may have its row by now */
			emit_statement(scan, &copy, text, text + copy.record.text_length,
						   PFS_RESET_STATEMENTS_HISTORY_LONG);
	}
}

static void
statements_scan(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	uint64_t	wanted = 0;
	bool		one = pfs_scan_number(scan, "thread_id", &wanted);
	char	   *text;

	if (scan->table->argument == TABLE_HISTORY_LONG)
	{
		scan_long(scan);
		return;
	}
	text = room_for_texts(scan);
	PFS_EACH_THREAD(arena, thread, slot)
	{
		uint64_t	thread_id = pfs_load(&thread->thread_id);

		if (pfs_load(&thread->owner) == 0 || (one && thread_id != wanted) ||
			!pfs_thread_has_statements(arena, thread))
			continue;
		if (scan->table->argument == TABLE_CURRENT)
			scan_current(scan, thread, thread_id, text);
		else
			scan_history(scan, thread, thread_id, text);
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
	uint32_t	ring = pfs_thread_transaction_slots(&arena->sizes);
	uint32_t	first = (uint32_t) arena->thread_transactions_offset;
	const PfsAggregate *own = pfs_thread_own_aggregate(thread);
	PfsTransactionRecord record;

	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint32_t	begin = pfs_seq_read_begin(&thread->seq);
		uint64_t	ended = pfs_load(&own->transactions_ended);
		uint32_t	slot = age == 0 ? (pfs_load(&own->transaction_shown) - first) / (uint32_t) sizeof(record)
			: age <= ended ? (uint32_t) ((ended - age) % ring) : PFS_NO_TRANSACTION;

		if (slot < ring)
		{
			pfs_copy_words(&record, pfs_thread_transaction(arena, thread, slot), sizeof(record));
			pfs_event_of_transaction(thread, &record, to);
		}
		if (pfs_seq_read_ok(&thread->seq, begin))
			return slot < ring;
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return false;
}

/* The id of one that runs is asked for, if it still runs then: recording it would cost each statement. */
static void
find_transaction_id(PfsArena *arena, PfsThread *thread, uint32_t slot, PfsTransactionEvent *event)
{
	PfsTransactionEvent later;
	uint64_t	id;

	if (pfs_host_transaction_id == NULL || event->outcome != PFS_TRANSACTION_ACTIVE)
		return;
	id = pfs_host_transaction_id(slot, pfs_load(&thread->owner));
	if (read_transaction(arena, thread, 0, &later) && later.head.event_id == event->head.event_id &&
		later.outcome == PFS_TRANSACTION_ACTIVE)
		event->trx_id = id;
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
			if (!read_transaction(arena, thread, 0, &copy))
				continue;
			find_transaction_id(arena, thread, slot, &copy);
			if (is_row(scan, &copy.head, PFS_RESET_TRANSACTIONS_CURRENT))
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
	PfsObjectRow *file = pfs_object_row(arena, PFS_MAP_FILES, event->object.row, event->object.use);
	size_t		length;

	if (file == NULL)
		return;
	length = pfs_min((size_t) pfs_load(&file->key_length), (size_t) PFS_OBJECT_KEY_LENGTH);
	pfs_copy_bytes(path, file->key, length);
	pfs_fence();
	if (pfs_load(&file->use) == event->object.use)
		row->object_name = pfs_scan_path(scan, (PfsText) {path, length, -1});
}

static void
fill_table_name(const PfsArena *arena, const PfsWaitEvent *event, WaitRow *row, PfsTableNames *names)
{
	if (!pfs_table_names_read(arena, event->object.row, event->object.use, names))
		return;
	row->object_schema = PFS_TEXT_OF(names->schema);
	row->object_name = PFS_TEXT_OF(names->table);
	if (names->index[0] != '\0')
		row->index_name = PFS_TEXT_OF(names->index);
}

static uint64_t
instance_of(const PfsArena *arena, const PfsWaitObject *object)
{
	if (object->type == PFS_WAIT_OBJECT_FILE || object->type == PFS_WAIT_OBJECT_TABLE)
		return pfs_object_instance(arena, object->type == PFS_WAIT_OBJECT_FILE ? PFS_MAP_FILES : PFS_MAP_TABLES,
								   object->row, object->use);
	return object->instance;
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
	row.instance = instance_of(scan->arena, &event->object);
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
		row.instance = lock.instance;
		row.object_type = pfs_text_of_string(lock.type);
		row.object_schema = pfs_text_of_string(lock.schema);
		row.object_name = pfs_text_of_string(lock.name);
		row.operation = pfs_text_of_string(lock.mode);
	}
	scan->emit(scan, parts);
}

/* False: it changed meanwhile, maybe outside of the thread's sequence, see wait_row.h. */
static bool
copy_wait(PfsWaitRecord *to, const PfsWaitRecord *from)
{
	uint64_t	event_id = pfs_load_acquire(&from->event_id),
				end_event_id = pfs_load_acquire(&from->end_event_id);

	pfs_copy_words(to, from, sizeof(*to));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return to->event_id == event_id && pfs_load(&from->event_id) == event_id &&
		to->end_event_id == end_event_id && pfs_load(&from->end_event_id) == end_event_id;
}

/* Was a wait with this number still in the thread's ring, in the same block, when all was read that was read? */
static inline bool
stays(const PfsArena *arena, const PfsThread *thread, uint64_t number)
{
	return pfs_load(&thread->waits_ended) - number / PFS_WAIT_BLOCK * PFS_WAIT_BLOCK < pfs_thread_wait_ring(&arena->sizes);
}

/* Copies the innermost wait, or the last one (age 0), or one of the history (1 = the newest). */
static bool
read_wait(PfsArena *arena, PfsThread *thread, uint32_t age, PfsWaitEvent *to)
{
	uint32_t	ring = pfs_thread_wait_ring(&arena->sizes);
	PfsWaitRecord record = {0};

	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint32_t	begin = pfs_seq_read_begin(&thread->seq);
		uint64_t	ended = pfs_load_acquire(&thread->waits_ended);
		uint64_t	thread_id = pfs_load(&thread->thread_id);
		PfsRef		user = pfs_load(&thread->user);
		uint32_t	slot = age == 0 ? pfs_load_acquire(&thread->wait_shown)
			: age <= ended ? (uint32_t) ((ended - age) % ring) : PFS_NO_WAIT;
		const PfsWaitRecord *from = slot < ring ? pfs_thread_wait_row(arena, thread, slot) : NULL;

		if (slot >= pfs_thread_wait_slots(&arena->sizes))
			record.event_id = 0;
		else if (!copy_wait(&record, from != NULL ? from : &pfs_thread_wait_stack(arena, thread)[slot - ring].record) ||
				 (from != NULL && from != pfs_thread_wait_row(arena, thread, slot)))
			continue;			/* or its block is another thread's now */
		if (pfs_seq_read_ok(&thread->seq, begin) && (age == 0 || stays(arena, thread, ended - age)))
		{
			pfs_event_of_wait(arena, &record, thread_id, user, to);
			return record.event_id != 0 && (age == 0 || (record.kinds & PFS_WAIT_HIDDEN) == 0);
		}
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return false;
}

/* Where a row of the long history stands among all others. */
typedef struct LongWaitKey
{
	PfsTicks	end;			/* of an untimed one that of the one before it */
	PfsLongWait *row;			/* a copy; one that is only in its thread's ring has UINT64_MAX as its stamp */
} LongWaitKey;

/*
 * Copies what is not in the long history yet of one thread; with room for its ring.  What has ended stays as it is until the
 * ring comes round to its block, so that an owner who stands still hinders nobody.
 */
static uint32_t
read_uncopied(PfsArena *arena, PfsThread *thread, PfsLongWait *to)
{
	uint32_t	ring = pfs_thread_wait_ring(&arena->sizes);

	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint64_t	thread_id = pfs_load_acquire(&thread->thread_id);
		PfsRef		user = pfs_load(&thread->user);
		uint64_t	first = pfs_load_acquire(&thread->waits_copied),
					ended = pfs_load_acquire(&thread->waits_ended);
		uint32_t	found = 0;

		if (first >= ended)
			return 0;
		first = pfs_max(first, ended - pfs_min(ended, (uint64_t) ring));
		for (uint64_t number = first; number < ended; number++)
		{
			to[found] = (PfsLongWait) {.stamp = UINT64_MAX,.thread_id = thread_id,.user = user};
			pfs_copy_words(&to[found++].record, pfs_thread_wait_row(arena, thread, (uint32_t) (number % ring)),
						   sizeof(PfsWaitRecord));
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (pfs_load(&thread->thread_id) == thread_id && stays(arena, thread, first))
			return found;
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return 0;
}

static int
compare_long_waits(const void *a, const void *b)
{
	const PfsLongWait *left = ((const LongWaitKey *) a)->row,
			   *right = ((const LongWaitKey *) b)->row;
	int			order = compare(left->thread_id, right->thread_id);

	if (order == 0)
		order = compare(left->record.event_id, right->record.event_id);
	return order != 0 ? order : compare(left->stamp, right->stamp);
}

static int
compare_ends(const void *a, const void *b)
{
	const LongWaitKey *left = a,
			   *right = b;
	int			order = compare(left->end, right->end);

	if (order == 0)
		order = compare(left->row->stamp, right->row->stamp);
	return order != 0 ? order : left->row < right->row ? -1 : left->row > right->row;
}

/* Adds a row that counts. */
static uint32_t
add_long_wait(const PfsArena *arena, LongWaitKey *key, uint32_t keys, PfsLongWait *row, PfsTicks *end)
{
	if (row->record.event_id == 0 || row->record.epoch < pfs_load(&arena->reset_of[PFS_RESET_WAITS_HISTORY_LONG]))
		return keys;
	*end = row->record.end != 0 && row->record.start != 0 ? row->record.end : *end;
	key[keys] = (LongWaitKey) {*end, row};
	return keys + 1;
}

/*
 * The same with rows of one thread, one after the other.  Where they begin with untimed ones, these end with what comes
 * next, if there is anything.
 */
static uint32_t
add_long_waits(const PfsArena *arena, LongWaitKey *key, uint32_t keys, PfsLongWait *rows, uint32_t count, PfsTicks *end)
{
	for (uint32_t i = 0; i < count; i++)
		if (rows[i].record.start != 0 && rows[i].record.end != 0)
		{
			*end = rows[i].record.end;
			break;
		}
	for (uint32_t i = 0; i < count; i++)
		keys = add_long_wait(arena, key, keys, &rows[i], end);
	return keys;
}

/*
 * The last waits.  Those that threads have not given away or copied yet are looked for first: what is meanwhile is found
 * twice.
 */
static void
scan_long_waits(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	uint32_t	size = arena->sizes.waits_history_long,
				ring = pfs_thread_wait_ring(&arena->sizes),
				places = arena->wait_blocks.place_count;
	PfsLongWait *rows = scan->alloc(scan, size * sizeof(*rows));
	PfsLongWait *more = NULL;
	LongWaitKey *key = scan->alloc(scan, ((size_t) size + (size_t) arena->sizes.threads * ring +
										  (size_t) places * PFS_WAIT_BLOCK) * sizeof(*key));
	uint32_t	keys = 0,
				unique = 0;
	uint64_t	next;
	PfsTicks	end;
	PfsWaitEvent event;

	if (size == 0)
		return;
	PFS_EACH_THREAD(arena, thread, slot)
	{
		uint32_t	count;

		more = more != NULL ? more : scan->alloc(scan, ring * sizeof(*more));
		count = read_uncopied(arena, thread, more);
		end = UINT64_MAX;
		keys = add_long_waits(arena, key, keys, more, count, &end);
		more = count != 0 ? NULL : more;
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* the oldest first, so that untimed ones stand behind those before them; what moves meanwhile was found above */
	next = pfs_load(&arena->wait_places_ring.next) + 1;
	end = 0;
	more = NULL;
	for (uint32_t i = 0; i < places; i++)
	{
		more = more != NULL ? more : scan->alloc(scan, PFS_WAIT_BLOCK * sizeof(*more));
		if (!pfs_wait_block_read(arena, next + i, more))
			continue;
		keys = add_long_waits(arena, key, keys, more, PFS_WAIT_BLOCK, &end);
		more = NULL;
	}
	next = pfs_load(&arena->waits_long_ring.next);
	end = 0;
	for (uint32_t i = 0; i < size; i++)
		if (pfs_long_wait_read(arena, (uint32_t) ((next + i) % size), &rows[i]))
			keys = add_long_wait(arena, key, keys, &rows[i], &end);
	qsort(key, keys, sizeof(*key), compare_long_waits);
	for (uint32_t i = 0; i < keys; i++)
		if (unique == 0 || key[i].row->thread_id != key[unique - 1].row->thread_id ||
			key[i].row->record.event_id != key[unique - 1].row->record.event_id)
			key[unique++] = key[i];
	qsort(key, unique, sizeof(*key), compare_ends);
	for (uint32_t i = unique > size ? unique - size : 0; i < unique; i++)
	{
		const PfsLongWait *row = key[i].row;

		pfs_event_of_wait(arena, &row->record, row->thread_id, row->user, &event);
		if (is_row(scan, &event.head, PFS_RESET_WAITS_HISTORY_LONG))
			emit_wait(scan, &event);
	}
}

static void
waits_scan(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	uint64_t	wanted;
	bool		one = pfs_scan_number(scan, "thread_id", &wanted);
	PfsWaitEvent copy;

	if (scan->table->argument == TABLE_HISTORY_LONG)
	{
		scan_long_waits(scan);
		return;
	}
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
