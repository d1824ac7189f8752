/*
 * test_thread.c - slots: attach, detach, dead predecessors, switches, who sees whom.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/names.h"
#include "core/rollup.h"

#define BY_THREAD "events_statements_summary_by_thread_by_event_name"
#define BY_ACCOUNT "events_statements_summary_by_account_by_event_name"
#define GLOBAL "events_statements_summary_global_by_event_name"

static void
test_attach(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *ada = fixture_attach(arena, 2, "ada", "h1");
	PfsSession *worker = fixture_attach(arena, 5, NULL, NULL);
	PfsThreadInfo late = {.pid = 77, .class = FIXTURE_CLIENT};
	Rows *rows = rows_of(arena, "threads");

	is_u64((uint64_t) rows->count, 2, "two threads");
	is_u64(row_number(rows, 0, "thread_id"), 1, "the first number");
	is_u64(row_number(rows, 1, "thread_id"), 2, "and the next");
	is_str(row_text(rows, 0, "name"), "thread/sql/client", "class");
	is_str(row_text(rows, 0, "type"), "FOREGROUND", "type");
	is_str(row_text(rows, 1, "type"), "BACKGROUND", "type of a worker");
	is_str(row_text(rows, 0, "processlist_user"), "ada", "user");
	is_str(row_text(rows, 0, "processlist_host"), "h1", "host");
	is_str(row_text(rows, 0, "processlist_db"), "shop", "database");
	is_str(row_text(rows, 0, "application_name"), "unit", "program");
	is_str(row_text(rows, 0, "connection_type"), "Socket", "connection");
	is_u64(row_number(rows, 0, "processlist_id"), 1002, "process");
	ok(row_text(rows, 1, "processlist_id") == NULL, "a worker serves nobody");
	is_u64(row_number(rows, 1, "thread_os_id"), 1005, "but has a process id");
	rows_free(rows);
	ok(pfs_thread_by_pid(arena, 1002) == ada->thread, "found by process");
	ok(pfs_thread_by_pid(arena, 1) == NULL && pfs_thread_by_pid(arena, 0) == NULL, "or not");
	ok(pfs_thread_attach(arena, arena->sizes.threads, &late) == NULL, "no slot");
	is_u64(loss_of(arena, PFS_LOSS_THREADS), 1, "is counted");
	fixture_detach(ada);
	ok(pfs_thread_by_pid(arena, 1002) == NULL, "gone");
	is_u64(table_count(arena, "threads"), 1, "from the table too");
	ada = fixture_attach(arena, 2, "ada", "h1");
	is_u64(ada->thread->thread_id, 3, "numbers are not given again");
	fixture_detach(ada);
	fixture_detach(worker);
	fixture_free(arena);
}

static void
test_state(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsThreadInfo info = {.pid = 9, .class = FIXTURE_WORKER};
	PfsThread *helper = pfs_thread_attach(arena, 1, &info);
	PfsStatement *statement;
	Rows *rows;

	pfs_thread_set_leader(arena, helper, 1000);
	is_u64(table_sum(arena, "threads", "parent_thread_id"), session->thread->thread_id,
		   "a parallel worker knows its leader");
	pfs_thread_detach(arena, helper, NULL);
	pfs_session_state(session, PFS_THREAD_ACTIVE, 10);
	statement = fixture_open(session, 0, 0, "select sleep");
	rows = rows_of(arena, "threads");
	is_str(row_text(rows, 0, "processlist_state"), "active", "state");
	is_str(row_text(rows, 0, "processlist_command"), "Query", "command");
	is_str(row_text(rows, 0, "processlist_info"), "select sleep", "running statement");
	rows_free(rows);
	pfs_statement_close(session, statement, FIXTURE_START + 5);
	pfs_session_state(session, PFS_THREAD_IDLE_IN_TRANSACTION, 20);
	rows = rows_of(arena, "threads");
	is_str(row_text(rows, 0, "processlist_state"), "idle in transaction", "state");
	is_str(row_text(rows, 0, "processlist_command"), "Sleep", "command");
	ok(row_text(rows, 0, "processlist_info") == NULL, "no statement runs");
	rows_free(rows);
	fixture_detach(session);
	fixture_free(arena);
}

/* Who is observed: the class decides for background processes, class and actor for sessions. */
static void
test_switches(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsActor rule = {.host = "%", .user = "bob", .role = "%", .enabled = 1, .history = 0};
	PfsActor off = {.host = "%", .user = "eve", .role = "%", .enabled = 0, .history = 1};
	const char *users[] = {"ada", "bob", "eve", NULL};
	int want[][2] = {{1, 1}, {1, 0}, {0, 1}, {1, 1}};

	pfs_actor_insert(arena, &rule);
	pfs_actor_insert(arena, &off);
	for (uint32_t i = 0; i < 4; i++)
	{
		PfsSession *session = fixture_attach(arena, i, users[i], NULL);

		ok(session->thread->instrumented == want[i][0] && session->thread->history == want[i][1],
		   "switches of %s", users[i] != NULL ? users[i] : "a worker");
		fixture_detach(session);
	}
	pfs_thread_class(arena, FIXTURE_WORKER)->enabled = 0;
	pfs_thread_class(arena, FIXTURE_CLIENT)->history = 0;
	for (uint32_t i = 0; i < 4; i += 3)
	{
		PfsSession *session = fixture_attach(arena, i, users[i], NULL);

		is_u64(session->thread->instrumented, i == 0, "by class");
		is_u64(session->thread->history, i != 0, "history by class");
		fixture_detach(session);
	}
	fixture_free(arena);
}

static void
test_parties(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session[3];

	session[0] = fixture_attach(arena, 0, "ada", "h1");
	session[1] = fixture_attach(arena, 1, "ada", "h2");
	session[2] = fixture_attach(arena, 2, "ada", "h2");
	is_u64(table_count(arena, "accounts"), 2, "accounts");
	is_u64(table_count(arena, "users"), 1, "users");
	is_u64(table_count(arena, "hosts"), 2, "hosts");
	is_u64(table_sum(arena, "users", "current_connections"), 3, "connections");
	fixture_detach(session[0]);
	is_u64(table_sum(arena, "accounts", "current_connections"), 2, "one less");
	is_u64(table_sum(arena, "accounts", "total_connections"), 3, "but three in all");
	table_truncate(arena, "accounts");
	is_u64(table_count(arena, "accounts"), 1, "TRUNCATE removes accounts without connections");
	is_u64(table_sum(arena, "accounts", "total_connections"), 2, "and counts from here");
	is_u64(table_count(arena, "hosts"), 2, "hosts are another table");
	table_truncate(arena, "hosts");
	is_u64(table_count(arena, "hosts"), 1, "with a TRUNCATE of its own");
	session[0] = fixture_attach(arena, 0, "ada", "h1");
	is_u64(table_count(arena, "hosts"), 2, "a removed row comes back when needed");
	for (int i = 0; i < 3; i++)
		fixture_detach(session[i]);
	is_u64(table_sum(arena, "users", "current_connections"), 0, "all gone");
	fixture_free(arena);
}

/* A process died inside a record and did not detach. */
static void
test_dead_predecessor(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	Rows *rows;

	for (int i = 0; i < 3; i++)
		fixture_statement(session, 1, 7, 10, "ada's secret");
	fixture_transaction(session, false, 5);
	fixture_open(session, 1, 7, "ada's last");
	pfs_seq_write_begin(&session->thread->seq);
	fixture_kill(session);
	session = fixture_attach(arena, 0, "bob", "h1");
	ok((session->thread->seq & 1) == 0, "the successor opens the sequence lock");
	is_u64(table_count(arena, "events_statements_current"), 0, "shows nothing current");
	is_u64(table_count(arena, "events_statements_history"), 0, "no history");
	is_u64(table_count(arena, "events_transactions_current"), 0, "no transaction");
	is_u64(table_count(arena, "events_transactions_history"), 0, "none that ended");
	is_u64(table_count(arena, BY_THREAD), 0, "no sums");
	rows = rows_of(arena, BY_ACCOUNT);
	is_u64((uint64_t) rows->count, 1, "they went up");
	is_str(row_text(rows, 0, "user_name"), "ada", "to the right account");
	is_u64(row_number(rows, 0, "count_star"), 3, "all");
	rows_free(rows);
	is_u64(table_sum(arena, "events_statements_summary_by_digest", "count_star"), 3,
		   "digests are kept");
	is_u64(table_number(arena, "accounts", "user_name", "ada", "current_connections"), 0,
		   "ada's connection has ended");
	fixture_statement(session, 1, 7, 10, "bob's");
	is_u64(table_sum(arena, BY_THREAD, "count_star"), 1, "the successor counts from 0");
	is_u64(table_sum(arena, "events_statements_history", "event_id"), 1, "and numbers from 1");
	fixture_detach(session);
	fixture_free(arena);
}

/* --- the slot changes hands while it is read --- */

static void
replace_thread(FixtureScan *scan)
{
	PfsSession **session = scan->extra;
	PfsArena *arena = scan->scan.arena;
	uint32_t slot = (*session)->thread == pfs_thread(arena, 0) ? 0 : 1;

	scan->on_alloc = NULL;
	fixture_detach(*session);
	*session = fixture_attach(arena, slot, "bob", "h1");
	fixture_open(*session, 0, 0, "bob's secret");
}

static void
replace_on_emit(PfsScan *scan, const void *const *parts)
{
	FixtureScan *own = (FixtureScan *) scan;
	const PfsColumn *id = pfs_table_column(scan->table, 0, NULL);
	char *text = column_text(id, parts[0]);

	/* extra: the session of slot 1; the reader stands at the row of slot 0 meanwhile */
	own->rows->count += strtoull(text, NULL, 10) > 2;
	free(text);
	if (own->extra != NULL)
		replace_thread(own);
	own->extra = NULL;
}

static void
test_replaced_while_read(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	FixtureScan scan;

	pfs_session_state(session, PFS_THREAD_ACTIVE, 10);
	fixture_open(session, 0, 0, "ada's own");
	scan_begin(&scan, arena, "threads");
	scan.scan.sees_all = false;
	scan.scan.own_user = "ada";
	scan.on_alloc = replace_thread;
	scan.extra = &session;
	scan.scan.table->scan(&scan.scan);
	scan_end(&scan);
	ok(scan.rows->count == 0 || strcmp(row_text(scan.rows, 0, "processlist_user"), "ada") == 0,
	   "ada does not see bob, who took the slot meanwhile");
	ok(rows_find(scan.rows, "processlist_info", "bob's secret") < 0, "nor his statement");
	rows_free(scan.rows);
	session->newest = NULL;
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_summary_of_replaced(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *first = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *second = fixture_attach(arena, 1, "ada", "h1");
	FixtureScan scan;

	fixture_statement(first, 0, 0, 10, NULL);
	fixture_statement(first, 1, 0, 10, NULL);
	fixture_statement(second, 0, 0, 10, NULL);
	scan_begin(&scan, arena, BY_THREAD);
	scan.scan.emit = replace_on_emit;
	scan.extra = &second;
	scan.scan.table->scan(&scan.scan);
	scan_end(&scan);
	is_u64((uint64_t) scan.rows->count, 0, "a successor never shows its predecessor's numbers");
	rows_free(scan.rows);
	fixture_detach(first);
	fixture_detach(second);
	fixture_free(arena);
}

static void
test_privileges(void)
{
	static const char *const tables[] = {
		"threads",
		"events_statements_current",
		"events_statements_history",
		"events_statements_history_long",
		"events_transactions_current",
		BY_THREAD,
	};
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *ada = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *bob = fixture_attach(arena, 1, "bob", "h1");
	PfsSession *worker = fixture_attach(arena, 2, NULL, NULL);

	pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_HISTORY_LONG, true);
	fixture_statement(ada, 0, 0, 10, NULL);
	fixture_statement(bob, 0, 0, 10, NULL);
	fixture_statement(worker, 0, 0, 10, NULL);
	fixture_transaction(ada, false, 1);
	fixture_transaction(bob, false, 1);
	fixture_transaction(worker, false, 1);
	for (size_t i = 0; i < PFS_LENGTH(tables); i++)
	{
		Rows *own = rows_seen_by(arena, tables[i], "bob");
		Rows *none = rows_seen_by(arena, tables[i], "eve");

		ok(table_count(arena, tables[i]) == 3 && own->count == 1 && none->count == 0 &&
			   row_number(own, 0, "thread_id") == bob->thread->thread_id,
		   "%s: bob sees his own row", tables[i]);
		rows_free(own);
		rows_free(none);
	}
	fixture_detach(ada);
	fixture_detach(bob);
	fixture_detach(worker);
	fixture_free(arena);
}

/* --- the roll-up lock is held by a process that does not go on; each call waits a second --- */

typedef struct Blocked
{
	PfsArena *arena;
	int what;
	bool refused;
} Blocked;

static void *
be_blocked(void *argument)
{
	Blocked *blocked = argument;
	PfsThreadInfo info = {.pid = 50, .class = FIXTURE_CLIENT, .user = "eve", .host = "h1"};

	if (blocked->what == 0)
		blocked->refused = pfs_thread_attach(blocked->arena, 0, &info) == NULL;
	else if (blocked->what == 1)
		blocked->refused = pfs_thread_attach(blocked->arena, 1, &info) == NULL;
	else
		blocked->refused = !table_truncate(blocked->arena, GLOBAL);
	return NULL;
}

static void
test_lock_held(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *dead = fixture_attach(arena, 0, "ada", "h1");
	Blocked blocked[3];
	PfsThread *thread = pfs_thread(arena, 1);

	fixture_statement(dead, 0, 0, 10, NULL);
	fixture_kill(dead);
	pfs_store(&arena->lock, 4711);
	pfs_add(&arena->moves_begun, 1);
	for (int i = 0; i < 3; i++)
		blocked[i] = (Blocked){arena, i, false};
	run_threads(3, be_blocked, blocked, sizeof(Blocked));
	ok(blocked[0].refused, "a slot that cannot be emptied is not taken");
	ok(!blocked[1].refused, "an empty slot is");
	ok(blocked[2].refused, "TRUNCATE says that it could not");
	is_u64(loss_of(arena, PFS_LOSS_THREADS), 1, "a thread is lost");
	is_u64(loss_of(arena, PFS_LOSS_ACCOUNTS), 1, "and an account");
	is_u64(table_sum(arena, GLOBAL, "count_star"), 1, "a reader comes back");
	ok(loss_of(arena, PFS_LOSS_UNSTABLE_READS) > 0, "and says that it may be wrong");
	pfs_store(&arena->loss[PFS_LOSS_UNSTABLE_READS], 0);
	table_count(arena, "events_statements_histogram_global");
	ok(loss_of(arena, PFS_LOSS_UNSTABLE_READS) > 0, "so does one of the histogram");
	pfs_add(&arena->moves_done, 1);
	pfs_store(&arena->lock, 0);
	pfs_thread_detach(arena, thread, NULL);
	dead = fixture_attach(arena, 0, "bob", "h1");
	is_u64(table_sum(arena, BY_THREAD, "count_star"), 0, "later the slot can be taken");
	is_u64(table_sum(arena, GLOBAL, "count_star"), 1, "and nothing was lost");
	fixture_detach(dead);
	fixture_free(arena);
}

/* --- processes that must not sleep for the lock: they attach in the middle of a call --- */

static void
test_hurried(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *dead = fixture_attach(arena, 1, "ada", "h1");
	PfsThreadInfo info = {.pid = 50, .class = FIXTURE_WORKER, .hurried = true};
	PfsThread *thread;

	fixture_statement(dead, 0, 0, 10, NULL);
	fixture_wait(dead, FIXTURE_WAIT_PLAIN, PFS_OPERATION_NONE, 0, 0, 10, -1);
	fixture_kill(dead);
	ok(pfs_rollup_lock(arena, false), "somebody has the lock");
	for (uint32_t slot = 0; slot < 2; slot++)
		ok(pfs_thread_attach(arena, slot, &info) == NULL, "%s: not now",
		   slot == 0 ? "an empty slot" : "a slot with a predecessor");
	is_u64(loss_of(arena, PFS_LOSS_THREADS) + loss_of(arena, PFS_LOSS_ACCOUNTS), 0,
		   "nothing is lost by it");
	ok(pfs_thread_by_pid(arena, 50) == NULL, "the slots are as they were");
	ok(pfs_thread_by_pid(arena, 1001) == pfs_thread(arena, 1), "the predecessor's too");
	pfs_rollup_unlock(arena);
	is_u64(table_sum(arena, GLOBAL, "count_star"), 1, "and what it counted");
	for (uint32_t slot = 0; slot < 2; slot++)
	{
		info.pid = 50 + slot;
		thread = pfs_thread_attach(arena, slot, &info);
		ok(thread != NULL && pfs_thread_by_pid(arena, info.pid) == thread &&
			   thread->account_row > 0,
		   "later it has its slot and its account");
	}
	is_u64(table_sum(arena, BY_THREAD, "count_star"), 0, "the predecessor has gone");
	is_u64(table_sum(arena, GLOBAL, "count_star"), 1, "with nothing lost");
	is_u64(table_sum(arena, "events_waits_summary_global_by_event_name", "count_star"), 1,
		   "none of its waits either");
	for (uint32_t slot = 0; slot < 2; slot++)
		pfs_thread_detach(arena, pfs_thread(arena, slot), NULL);
	fixture_free(arena);
}

/* --- lean threads: the last slots, of processes that never execute a statement --- */

static void
test_lean(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;
	PfsSession *full;
	PfsSession *lean[2];

	sizes.lean_threads = 3;
	arena = fixture_arena(&sizes);
	for (int i = 0; i < PFS_CONSUMERS; i++)
		pfs_set_consumer(arena, i, true);
	full = fixture_attach(arena, 4, "ada", "h1");
	lean[0] = fixture_attach(arena, 5, NULL, NULL);
	lean[1] = fixture_attach(arena, 7, "bob", "h1");
	for (uint32_t slot = 0; slot < sizes.threads; slot++)
		ok(pfs_thread_has_statements(arena, pfs_thread(arena, slot)) == (slot < 5), "slot %u",
		   slot);
	ok((char *) pfs_thread(arena, 7) + arena->lean_thread_bytes <=
			   PFS_AT(arena, arena->digests, char) &&
		   (char *) pfs_thread(arena, 4) + arena->thread_bytes <= (char *) pfs_thread(arena, 5),
	   "no slot reaches into the next part");
	ok(arena->lean_thread_bytes < arena->thread_bytes, "lean ones are smaller");
	is_u64(table_count(arena, "threads"), 3, "all are threads");
	for (int i = 0; i < 2; i++)
	{
		PfsStatementRecord record;
		bool found = pfs_journal_read_last(arena, lean[i]->thread, &record);

		ok(fixture_open(lean[i], 0, 7, "select") == NULL, "it records no statement");
		is_u64(loss_of(arena, PFS_LOSS_FRAMES), 1 + (uint64_t) i, "which is counted");
		pfs_statement_tally(lean[i], 1, 0);
		pfs_statement_sum(lean[i]);
		fixture_wait(lean[i], FIXTURE_WAIT_LOCK, PFS_OPERATION_SEMAPHORE, 0, 0, 5, -1);
		fixture_transaction(lean[i], false, 10);
		for (uint32_t place = 0; place < sizes.statement_stack; place++)
			found |= pfs_journal_read_open(arena, lean[i]->thread, place, &record);
		ok(!found, "whoever looks for its statements finds none: it has no journal");
	}
	is_u64(table_count(arena, "events_statements_current") +
			   table_count(arena, "events_statements_history") +
			   table_count(arena, "events_statements_history_long"),
		   0, "nor do the tables");
	is_u64(table_sum(arena, GLOBAL, "count_star"), 2, "commands are counted");
	is_u64(table_count(arena, "events_transactions_history"), 2, "transactions have rows");
	is_u64(table_count(arena, "events_waits_history"), 2, "and waits");
	fixture_statement(full, 0, 0, 10, "full");
	is_u64(table_count(arena, "events_statements_history"), 1,
		   "a full thread's neighbour is whole");
	fixture_detach(lean[0]);
	fixture_kill(lean[1]);
	lean[0] = fixture_attach(arena, 7, "bob", "h1");
	is_u64(table_count(arena, "events_waits_history"), 0, "a successor starts with nothing");
	is_u64(table_sum(arena, GLOBAL, "count_star"), 3, "nothing is lost");
	fixture_detach(lean[0]);
	fixture_detach(full);
	fixture_free(arena);
}

/* --- what does not wait for the lock: it is in its rows before, whatever becomes of the slot --- */

static void
test_fold_objects(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session[2];
	PfsPool *pool = pfs_pool_of(arena);
	size_t bytes = PFS_CALL_COUNTERS * sizeof(uint64_t);

	for (uint32_t i = 0; i < 2; i++)
	{
		uint64_t *calls;

		session[i] = fixture_attach(arena, i, "ada", "h1");
		fixture_all_waits(session[i]);
		pfs_store(&session[i]->thread->calls, pfs_pool_alloc(pool, bytes));
		calls = pfs_pool_at(pool, session[i]->thread->calls, bytes);
		pfs_store(&calls[0], 7);
	}
	for (int round = 0; round < 3; round++)
	{
		is_u64(table_sum(arena, "file_summary_by_instance", "count_star"), 2, "files");
		is_u64(table_sum(arena, "table_io_waits_summary_by_table", "count_star"), 6, "tables");
		is_u64(table_sum(arena, "events_waits_summary_by_digest", "count_star"), 6, "digests");
		is_u64(table_sum(arena, "interposed_calls", "calls"), 14, "calls");
		is_u64(table_sum(arena, "events_waits_summary_global_by_event_name", "count_star"), 14,
			   "waits by name");
		is_u64(table_count(arena, "socket_instances"), 2 - (uint64_t) round, "connections");
		if (round == 0)
			fixture_detach(session[0]);
		else if (round == 1)
		{
			fixture_kill(session[1]);
			session[1] = fixture_attach(arena, 1, "bob", "h1");
		}
	}
	is_u64(loss_of(arena, PFS_LOSS_WAIT_TOTALS) + loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0,
		   "nothing is lost");
	fixture_detach(session[1]);
	fixture_free(arena);
}

int
main(void)
{
	test_hurried();
	test_lean();
	test_fold_objects();
	test_attach();
	test_state();
	test_switches();
	test_parties();
	test_dead_predecessor();
	test_replaced_while_read();
	test_summary_of_replaced();
	test_privileges();
	test_lock_held();
	return done_testing();
}
