/*
 * table_waits.c
 *		events_waits_summary_by_digest, lock_waits_history_long.
 */
#include "core/table_objects.h"

#include "core/digest_wait.h"
#include "core/history.h"
#include "core/table_cells.h"
#include "core/rollup.h"
#include "core/timer.h"

/* --- what the statements of a digest waited for --- */

typedef struct DigestWaitRow
{
	PfsText		schema;
	uint8_t		sha[PFS_SHA_BYTES];
	PfsText		digest_text;
	PfsText		name;
	PfsTimerStat stat;
} DigestWaitRow;

static const PfsColumn digest_wait_columns[] = {
	{"schema_name", "Database; NULL in the catch-all row", PFS_COLUMN_TEXT,
	offsetof(DigestWaitRow, schema), PFS_COLUMN_KEY},
	{"digest", "SHA-256 of the normalised statement", PFS_COLUMN_HEX, offsetof(DigestWaitRow, sha),
	PFS_COLUMN_KEY},
	{"digest_text", "Normalised statement", PFS_COLUMN_TEXT, offsetof(DigestWaitRow, digest_text),
	PFS_COLUMN_PRIVATE},
	{"event_name", "Instrument", PFS_COLUMN_TEXT, offsetof(DigestWaitRow, name), PFS_COLUMN_KEY},
	PFS_TIMER_COLUMNS(offsetof(DigestWaitRow, stat), "star", "wait", "waits"),
};
PFS_GROUP(digest_wait_group, digest_wait_columns);

/* What is known of one wait of a digest. */
typedef struct Sum
{
	struct Sum *next;
	uint32_t	wait;
	PfsTimerStat stat;
} Sum;

typedef struct Sums
{
	PfsCellSums cells;			/* first: its functions get its address */
	uint32_t	generation;
	uint32_t	reset;			/* older content does not count */
	Sum		  **waits;			/* by digest */
} Sums;

static uint32_t
row_of(const PfsCellSums *cells, const void *cell)
{
	const PfsCacheCell *head = cell;
	const Sums *sums = (const Sums *) cells;
	uint64_t	digest = pfs_load(&head->key) >> 32;

	return pfs_load(&head->use) == sums->generation && pfs_load(&head->epoch) >= sums->reset &&
		digest < cells->end ? (uint32_t) digest : PFS_DIGEST_NONE;
}

static void
clear(PfsCellSums *cells, uint32_t digest)
{
	for (Sum *sum = ((Sums *) cells)->waits[digest]; sum != NULL; sum = sum->next)
		memset(&sum->stat, 0, sizeof(sum->stat));
}

static void
add(PfsCellSums *cells, uint32_t digest, uint32_t wait, const PfsTimerStat *stat)
{
	Sum		  **sum = &((Sums *) cells)->waits[digest];

	while (*sum != NULL && (*sum)->wait != wait)
		sum = &(*sum)->next;
	if (*sum == NULL)
	{
		*sum = cells->scan->alloc(cells->scan, sizeof(Sum));
		(*sum)->wait = wait;
	}
	pfs_timer_stat_merge(&(*sum)->stat, stat);
}

static void
add_cell(PfsCellSums *cells, uint32_t digest, const void *cell)
{
	const PfsDigestWaitCell *of = cell;

	add(cells, digest, (uint32_t) of->head.key, &of->stat);
}

static void
add_row(PfsCellSums *cells, uint32_t number)
{
	const PfsArena *arena = cells->scan->arena;
	const PfsDigest *digest = pfs_digest(arena, number);
	const Sums *sums = (const Sums *) cells;
	PfsDigestWait *link;
	PfsRef		ref = pfs_load_acquire(&digest->waits);

	/* the row may have been given to another digest, and its links to others */
	if (pfs_load_acquire(&digest->generation) != sums->generation)
	{
		clear(cells, number);
		return;
	}
	for (int i = 0; i < PFS_DIGEST_WAITS_MAX && (link = pfs_digest_wait_at(arena, ref)) != NULL; i++)
	{
		PfsTimerStat stat;
		uint32_t	epoch = pfs_load_acquire(&link->epoch);

		pfs_copy_words(&stat, &link->stat, sizeof(stat));
		if (epoch != PFS_DIGEST_WAIT_TAKEN && epoch >= sums->reset && stat.count != 0)
			add(cells, number, pfs_load(&link->wait), &stat);
		ref = pfs_load(&link->next);
	}
}

static void
emit_digest_wait(const Sums *sums, uint32_t number, const Sum *sum)
{
	PfsScan    *scan = sums->cells.scan;
	PfsArena   *arena = scan->arena;
	DigestWaitRow row;
	const void *parts[] = {&row};

	memset(&row, 0, sizeof(row));
	if (number > PFS_DIGEST_OTHERS)
		row.schema = pfs_text_of_name(arena, pfs_load(&pfs_digest(arena, number)->database));
	row.digest_text = pfs_read_digest_text(scan, number, sums->generation, row.sha);
	row.name = PFS_TEXT_OF(pfs_wait_instrument(arena, sum->wait)->name);
	row.stat = sum->stat;
	scan->emit(scan, parts);
}

static void
digest_waits_scan(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	Sums		sums = {
		.cells = {
			.scan = scan,.kind = &pfs_digest_wait_cells,.end = pfs_digest_rows_end(arena),.row_of = row_of,
			.clear = clear,.add_cell = add_cell,.add_row = add_row,
		},
		.generation = pfs_load_acquire(&arena->digest_generation),
		.reset = pfs_load(&arena->reset_of[PFS_RESET_WAITS_BY_DIGEST]),
	};

	sums.waits = scan->alloc(scan, sums.cells.end * sizeof(*sums.waits));
	pfs_cells_sum(&sums.cells);
	for (uint32_t number = PFS_DIGEST_OTHERS; number < sums.cells.end; number++)
		for (const Sum *sum = sums.waits[number]; sum != NULL; sum = sum->next)
			if (sum->stat.count != 0)
				emit_digest_wait(&sums, number, sum);
}

const PfsTable pfs_table_events_waits_summary_by_digest = {
	.name = "events_waits_summary_by_digest",
	.doc = "What the statements of each digest waited for, nested statements included; not in MySQL",
	.groups = {&digest_wait_group},.argument = 1 << PFS_RESET_WAITS_BY_DIGEST,
	.scan = digest_waits_scan,.reset = pfs_reset_points,
};

/* --- who waited for whom --- */

typedef struct LockWaitRow
{
	PfsLockWait wait;
	PfsTicks	start;
	PfsTicks	end;
	PfsText		user;
	PfsText		blocking_user;
	PfsText		database;
	PfsText		text;
	PfsText		blocking_text;
	PfsText		blocking_state;
	PfsText		outcome;
	PfsText		object_type;
	PfsText		object_schema;
	PfsText		object_name;
	PfsText		mode;
} LockWaitRow;

static const PfsColumn lock_wait_columns[] = {
	{"waiting_thread_id", "Thread that waited", PFS_COLUMN_U64,
	offsetof(LockWaitRow, wait.thread_id), PFS_COLUMN_KEY},
	{"waiting_pid", "Its process", PFS_COLUMN_U32, offsetof(LockWaitRow, wait.pid), 0},
	{"waiting_user", "Its user", PFS_COLUMN_TEXT, offsetof(LockWaitRow, user), 0},
	{"schema_name", "Its database", PFS_COLUMN_TEXT, offsetof(LockWaitRow, database), 0},
	{"object_type", "What was locked: RELATION, TUPLE, TRANSACTIONID, ...", PFS_COLUMN_TEXT,
	offsetof(LockWaitRow, object_type), 0},
	{"object_schema", "Schema of the relation, in the reader's own database", PFS_COLUMN_TEXT,
	offsetof(LockWaitRow, object_schema), 0},
	{"object_name", "Relation, transaction or object", PFS_COLUMN_TEXT,
	offsetof(LockWaitRow, object_name), 0},
	{"lock_mode", "Mode that was asked for", PFS_COLUMN_TEXT, offsetof(LockWaitRow, mode), 0},
	{"wait_started", "When the wait began", PFS_COLUMN_WHEN, offsetof(LockWaitRow, wait.start), 0},
	{"timer_start", "The same, picoseconds since server start", PFS_COLUMN_TICKS_SINCE_START,
	offsetof(LockWaitRow, start), 0},
	{"timer_end", "End of the wait", PFS_COLUMN_TICKS_SINCE_START, offsetof(LockWaitRow, end), 0},
	{"timer_wait", "How long it lasted, picoseconds", PFS_COLUMN_TICKS,
	offsetof(LockWaitRow, wait.wait), 0},
	{"outcome", "GRANTED, or GIVEN UP: deadlock, timeout, cancelled", PFS_COLUMN_TEXT,
	offsetof(LockWaitRow, outcome), 0},
	{"waiting_statement_id", "Statement that waited", PFS_COLUMN_U64,
	offsetof(LockWaitRow, wait.statement_id), PFS_COLUMN_NULL_IF_ZERO},
	{"waiting_queryid", "Its query id", PFS_COLUMN_U64, offsetof(LockWaitRow, wait.query_id),
	PFS_COLUMN_NULL_IF_ZERO},
	{"waiting_query", "Its text, cut to 512 bytes; NULL for those without the privileges of the role "
	"it ran as", PFS_COLUMN_TEXT, offsetof(LockWaitRow, text), 0},
	{"blocking_thread_id", "First thread that stood in the way when the wait began; NULL if not known",
	PFS_COLUMN_U64, offsetof(LockWaitRow, wait.blocking_thread_id), PFS_COLUMN_NULL_IF_ZERO},
	{"blocking_pid", "Its process; 0 of a prepared transaction is shown as NULL", PFS_COLUMN_U32,
	offsetof(LockWaitRow, wait.blocking_pid), PFS_COLUMN_NULL_IF_ZERO},
	{"blocking_user", "Its user", PFS_COLUMN_TEXT, offsetof(LockWaitRow, blocking_user), 0},
	{"blocking_state", "active, or idle: the statement below was its last one", PFS_COLUMN_TEXT,
	offsetof(LockWaitRow, blocking_state), 0},
	{"blocking_statement_id", "Statement it was in, or its last one, when the wait began",
	PFS_COLUMN_U64, offsetof(LockWaitRow, wait.blocking_statement_id), PFS_COLUMN_NULL_IF_ZERO},
	{"blocking_queryid", "Its query id", PFS_COLUMN_U64,
	offsetof(LockWaitRow, wait.blocking_query_id), PFS_COLUMN_NULL_IF_ZERO},
	{"blocking_query", "Its text, cut to 512 bytes; NULL for those without the privileges of the role "
	"it ran as", PFS_COLUMN_TEXT, offsetof(LockWaitRow, blocking_text), 0},
};
PFS_GROUP(lock_wait_group, lock_wait_columns);

static void
emit_lock_wait(PfsScan *scan, const PfsLockWait *wait)
{
	PfsArena   *arena = scan->arena;
	PfsHostObject object = {0};
	LockWaitRow row;
	const void *parts[] = {&row};

	memset(&row, 0, sizeof(row));
	row.wait = *wait;
	row.start = wait->start;
	row.end = wait->start + wait->wait;
	row.user = pfs_text_of_name(arena, wait->user);
	row.blocking_user = pfs_text_of_name(arena, wait->blocking_user);
	row.database = pfs_text_of_name(arena, wait->database);
	row.text = pfs_scan_secret(scan, wait->role, (PfsText) {wait->text,
		pfs_min(wait->text_length, PFS_LOCK_TEXT_LENGTH), wait->encoding});
	row.blocking_text = pfs_scan_secret(scan, wait->blocking_role, (PfsText) {wait->blocking_text,
		pfs_min(wait->blocking_text_length, PFS_LOCK_TEXT_LENGTH), wait->blocking_encoding});
	if (wait->blocking_thread_id != 0)
		row.blocking_state = pfs_text_of_string(wait->blocking_running ? "active" : "idle");
	row.outcome = pfs_text_of_string(wait->granted ? "GRANTED" : "GIVEN UP");
	if (pfs_host_lock_object != NULL)
		pfs_host_lock_object(&wait->object, &object);
	row.object_type = pfs_text_of_string(object.type);
	row.object_schema = pfs_text_of_string(object.schema);
	row.object_name = pfs_text_of_string(object.name);
	row.mode = pfs_text_of_string(object.mode);
	scan->emit(scan, parts);
}

static void
lock_waits_scan(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	PfsLockWait *copy = scan->alloc(scan, sizeof(*copy));

	for (uint32_t i = 0; i < arena->sizes.lock_waits_history; i++)
		if (pfs_long_lock_wait_read(arena, i, copy) &&
			copy->epoch >= pfs_load(&arena->reset_of[PFS_RESET_LOCK_WAITS]) &&
			pfs_scan_sees_user(scan, copy->user))
			emit_lock_wait(scan, copy);
}

const PfsTable pfs_table_lock_waits_history_long = {
	.name = "lock_waits_history_long",
	.doc = "The last waits for heavyweight locks, with who stood in the way and both statements; not in MySQL",
	.groups = {&lock_wait_group},.argument = 1 << PFS_RESET_LOCK_WAITS,
	.scan = lock_waits_scan,.reset = pfs_reset_points,
};
