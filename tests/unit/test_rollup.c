/*
 * test_rollup.c - statistics moving up, and TRUNCATE of every level, against a model.
 *
 * The model does at once what the engine does lazily: thread -> account -> user and host,
 * host -> global.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/rollup.h"

#define STEPS 1500
#define NUMBERS 4 /* classes, errors, or waits of a family */

/* Files and sockets have a table of their own only globally: below, that of all waits. */
#define WAITS_BELOW_GLOBAL                               \
	"events_waits_summary_by_thread_by_event_name",      \
		"events_waits_summary_by_account_by_event_name", \
		"events_waits_summary_by_user_by_event_name", "events_waits_summary_by_host_by_event_name"

static const char *const tables[PFS_FAMILIES][PFS_LEVELS] = {
	{"events_statements_summary_by_thread_by_event_name",
	 "events_statements_summary_by_account_by_event_name",
	 "events_statements_summary_by_user_by_event_name",
	 "events_statements_summary_by_host_by_event_name",
	 "events_statements_summary_global_by_event_name"},
	{"events_transactions_summary_by_thread_by_event_name",
	 "events_transactions_summary_by_account_by_event_name",
	 "events_transactions_summary_by_user_by_event_name",
	 "events_transactions_summary_by_host_by_event_name",
	 "events_transactions_summary_global_by_event_name"},
	{"events_errors_summary_by_thread_by_error", "events_errors_summary_by_account_by_error",
	 "events_errors_summary_by_user_by_error", "events_errors_summary_by_host_by_error",
	 "events_errors_summary_global_by_error"},
	{WAITS_BELOW_GLOBAL, "events_waits_summary_global_by_event_name"},
	{WAITS_BELOW_GLOBAL, "file_summary_by_event_name"},
	{WAITS_BELOW_GLOBAL, "socket_summary_by_event_name"},
};
static const char *const count_columns[PFS_FAMILIES] = {
	"count_star", "count_star", "sum_error_raised", "count_star", "count_star", "count_star"};
static const char *const party_tables[] = {NULL, "accounts", "users", "hosts"};

static const uint32_t plain_waits[NUMBERS] = {FIXTURE_WAIT_PLAIN, FIXTURE_WAIT_LOCK,
											  FIXTURE_WAIT_LWLOCK, FIXTURE_WAIT_IDLE};

/* Operations of the three timers, numbered by the length of the wait. */
static const PfsOperation operations[2][PFS_IO_PARTS] = {
	{PFS_OPERATION_READ, PFS_OPERATION_WRITE, PFS_OPERATION_SYNC},
	{PFS_OPERATION_RECV, PFS_OPERATION_SEND, PFS_OPERATION_POLL},
};

/* The numbers of a family: statement classes, errors, waits; transactions have two kinds. */
static uint32_t
numbers_of(PfsFamily family)
{
	return family == PFS_FAMILY_TRANSACTIONS ? 2 : family >= PFS_FAMILY_FILES ? 1 : NUMBERS;
}

static void
one_event(PfsSession *session, PfsFamily family, uint32_t number, PfsTicks wait)
{
	if (family == PFS_FAMILY_STATEMENTS)
		fixture_statement(session, number, 0, wait, NULL);
	else if (family == PFS_FAMILY_TRANSACTIONS)
		fixture_transaction(session, number == 1, wait);
	else if (family == PFS_FAMILY_ERRORS)
		pfs_error_count(session, number, PFS_ERROR_RAISED, wait);
	else if (family == PFS_FAMILY_WAITS)
		fixture_wait(session, plain_waits[number], PFS_OPERATION_NONE, 0, 0, wait, -1);
	else
		fixture_wait(session, family == PFS_FAMILY_FILES ? FIXTURE_WAIT_FILE : FIXTURE_WAIT_SOCKET,
					 operations[family - PFS_FAMILY_FILES][wait % PFS_IO_PARTS], 0, 0, wait,
					 (int64_t) wait);
}

static uint64_t
count_at(PfsArena *arena, PfsFamily family, PfsLevel level)
{
	return table_sum(arena, tables[family][level], count_columns[family]);
}

/* --- TRUNCATE, table by table --- */

static void
check_levels(PfsArena *arena, PfsFamily family, const uint64_t *want, const char *when)
{
	for (int level = 0; level < PFS_LEVELS; level++)
		ok(count_at(arena, family, level) == want[level], "%s %s: %" PRIu64, tables[family][level],
		   when, want[level]);
}

static void
test_truncate(PfsFamily family, PfsLevel truncated)
{
	static const uint64_t before[PFS_LEVELS] = {3, 5, 5, 5, 5};
	static const uint64_t after[PFS_LEVELS][PFS_LEVELS] = {
		{0, 5, 5, 5, 5}, {0, 0, 5, 5, 5}, {0, 0, 0, 5, 5}, {0, 0, 5, 0, 5}, {0, 0, 0, 0, 0},
	};
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *live = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *gone = fixture_attach(arena, 1, "ada", "h1");
	uint64_t want[PFS_LEVELS];

	for (int i = 0; i < 3; i++)
		one_event(live, family, 1, 10);
	for (int i = 0; i < 2; i++)
		one_event(gone, family, 1, 20);
	fixture_detach(gone);
	check_levels(arena, family, before, "before");
	ok(table_truncate(arena, tables[family][truncated]), "TRUNCATE");
	check_levels(arena, family, after[truncated], "after TRUNCATE");
	one_event(live, family, 1, 30);
	for (int level = 0; level < PFS_LEVELS; level++)
		want[level] = after[truncated][level] + 1;
	check_levels(arena, family, want, "after one more");
	fixture_detach(live);
	want[PFS_LEVEL_THREAD] = 0;
	check_levels(arena, family, want, "after the end of the thread");
	for (int i = 0; i < PFS_LOSSES; i++)
		ok(loss_of(arena, i) == 0, "%s is 0", pfs_loss_name(i));
	fixture_free(arena);
}

static void
test_min_max(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	const char *table = tables[PFS_FAMILY_STATEMENTS][PFS_LEVEL_USER];
	Rows *rows;

	fixture_statement(session, 2, 0, 5, NULL);
	fixture_statement(session, 2, 0, 900, NULL);
	table_truncate(arena, table);
	fixture_statement(session, 2, 0, 40, NULL);
	fixture_statement(session, 2, 0, 60, NULL);
	rows = rows_of(arena, table);
	is_u64(row_number(rows, 0, "min_timer_wait"), 40, "the minimum since TRUNCATE");
	is_u64(row_number(rows, 0, "max_timer_wait"), 60, "the maximum since TRUNCATE");
	rows_free(rows);
	rows = rows_of(arena, tables[PFS_FAMILY_STATEMENTS][PFS_LEVEL_GLOBAL]);
	is_u64(row_number(rows, 2, "min_timer_wait"), 5, "globally the minimum of all");
	is_u64(row_number(rows, 2, "max_timer_wait"), 900, "and the maximum");
	is_u64((uint64_t) rows->count, FIXTURE_CLASSES, "global lists all classes");
	rows_free(rows);
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_histogram(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *gone = fixture_attach(arena, 1, "ada", "h1");
	const char *table = "events_statements_histogram_global";

	for (PfsTicks wait = 1; wait <= 100; wait++)
		fixture_statement(wait % 2 ? session : gone, 0, 0, wait * wait * 1000, NULL);
	fixture_detach(gone);
	is_u64(table_sum(arena, table, "count_bucket"), 100, "live and ended threads");
	is_u64(table_count(arena, table), PFS_BUCKETS, "all buckets are listed");
	table_truncate(arena, table);
	is_u64(table_sum(arena, table, "count_bucket"), 0, "TRUNCATE");
	is_u64(count_at(arena, PFS_FAMILY_STATEMENTS, PFS_LEVEL_GLOBAL), 100, "of it alone");
	fixture_statement(session, 0, 0, 7, NULL);
	is_u64(table_sum(arena, table, "count_bucket"), 1, "counts again");
	table_truncate(arena, tables[PFS_FAMILY_STATEMENTS][PFS_LEVEL_GLOBAL]);
	is_u64(table_sum(arena, table, "count_bucket"), 0, "TRUNCATE of the global summary empties it");
	fixture_detach(session);
	fixture_free(arena);
}

/* --- containers that are full --- */

static void
test_full_parties(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;
	PfsSession *session[3];
	const char *hosts[] = {"h1", "h2", "h3"};

	sizes.accounts = 2;
	sizes.hosts = 1;
	sizes.users = 1;
	arena = fixture_arena(&sizes);
	for (uint32_t i = 0; i < 3; i++)
		session[i] = fixture_attach(arena, i, "ada", hosts[i]);
	is_u64(loss_of(arena, PFS_LOSS_ACCOUNTS), 1, "the third account is lost");
	is_u64(loss_of(arena, PFS_LOSS_HOSTS), 1, "and the second one's host");
	for (int i = 0; i < 3; i++)
		one_event(session[i], PFS_FAMILY_STATEMENTS, 0, 10);
	check_levels(arena, PFS_FAMILY_STATEMENTS, (const uint64_t[]){3, 2, 2, 1, 3}, "while live");
	for (int i = 0; i < 3; i++)
		fixture_detach(session[i]);
	check_levels(arena, PFS_FAMILY_STATEMENTS, (const uint64_t[]){0, 2, 2, 1, 3}, "when gone");
	table_truncate(arena, tables[PFS_FAMILY_STATEMENTS][PFS_LEVEL_ACCOUNT]);
	check_levels(arena, PFS_FAMILY_STATEMENTS, (const uint64_t[]){0, 0, 2, 1, 3}, "moved up");
	fixture_free(arena);
}

static void
test_full_pool(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;
	PfsSession *session;

	sizes.pool_bytes = 16 * PFS_POOL_UNIT;
	arena = fixture_arena(&sizes);
	session = fixture_attach(arena, 0, "ada", "h1");
	while (pfs_pool_alloc(pfs_pool_of(arena), 1) != 0)
		;
	for (int i = 0; i < 5; i++)
	{
		one_event(session, PFS_FAMILY_STATEMENTS, 0, 10);
		one_event(session, PFS_FAMILY_ERRORS, 0, 10);
		one_event(session, PFS_FAMILY_TRANSACTIONS, 0, 10);
		one_event(session, PFS_FAMILY_WAITS, 0, 10);
		one_event(session, PFS_FAMILY_FILES, 0, 10);
		one_event(session, PFS_FAMILY_SOCKETS, 0, 10);
	}
	is_u64(count_at(arena, PFS_FAMILY_STATEMENTS, PFS_LEVEL_GLOBAL), 5,
		   "statements are there until they need a cell");
	pfs_statement_sum(session);
	is_u64(loss_of(arena, PFS_LOSS_CELLS), 25, "events without a cell are counted");
	check_levels(arena, PFS_FAMILY_TRANSACTIONS, (const uint64_t[]){5, 5, 5, 5, 5}, "need no cell");
	is_u64(table_count(arena, "events_statements_history"), 5, "the history has them");
	fixture_detach(session);
	fixture_free(arena);
}

/* --- the lock in other hands --- */

/* A recorder that cannot have the lock after a TRUNCATE says so and goes on. */
static void
test_busy_lock(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	one_event(session, PFS_FAMILY_STATEMENTS, 0, 10);
	table_truncate(arena, tables[PFS_FAMILY_STATEMENTS][PFS_LEVEL_THREAD]);
	pfs_store(&arena->lock, 99);
	one_event(session, PFS_FAMILY_STATEMENTS, 0, 10);
	is_u64(loss_of(arena, PFS_LOSS_ROLL_UP), 0, "one that only ends does not need it");
	pfs_statement_sum(session);
	is_u64(loss_of(arena, PFS_LOSS_ROLL_UP), 0, "nor does a sum: old and new stand apart");
	pfs_statement_tally(session, 0, 10);
	is_u64(loss_of(arena, PFS_LOSS_ROLL_UP), 1, "a reset that could not be applied is counted");
	pfs_store(&arena->lock, 0);
	is_u64(count_at(arena, PFS_FAMILY_STATEMENTS, PFS_LEVEL_GLOBAL), 3, "no event is lost");
	fixture_detach(session);
	is_u64(count_at(arena, PFS_FAMILY_STATEMENTS, PFS_LEVEL_GLOBAL), 3, "nor counted twice");
	fixture_free(arena);
}

/* --- the model --- */

typedef struct Cell
{
	uint64_t count;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
} Cell;

typedef struct Stats
{
	Cell cell[PFS_FAMILIES][NUMBERS];
} Stats;

#define COMBINATIONS 5 /* one more than there are rows of accounts */

static const char *const users[] = {"ada", "bob", NULL};
static const char *const hosts[] = {"h1", "h2", NULL};
static const int user_of[COMBINATIONS] = {0, 0, 1, 1, 2};
static const int host_of[COMBINATIONS] = {0, 1, 0, 1, 2};

typedef struct ModelThread
{
	PfsSession *session; /* NULL = free, or killed while live */
	bool live;
	bool has_account;
	int combination;
	Stats own;
} ModelThread;

typedef struct ModelParty
{
	bool used;
	int connections;
	Stats own;
} ModelParty;

typedef struct Model
{
	PfsArena *arena;
	uint64_t random;
	bool thread_consumer;
	ModelThread thread[8];
	ModelParty account[COMBINATIONS];
	ModelParty user[3];
	ModelParty host[3];
	Stats global;
} Model;

static void
add_cell(Cell *to, const Cell *from)
{
	if (from->count == 0)
		return;
	to->min = to->count == 0 || from->min < to->min ? from->min : to->min;
	to->max = pfs_max(to->max, from->max);
	to->count += from->count;
	to->sum += from->sum;
}

static void
add_family(Stats *to, const Stats *from, int family)
{
	for (int i = 0; i < NUMBERS; i++)
		add_cell(&to->cell[family][i], &from->cell[family][i]);
}

static void
clear_family(Stats *stats, int family)
{
	memset(stats->cell[family], 0, sizeof(stats->cell[family]));
}

static void
move_thread(Model *m, ModelThread *thread, int family)
{
	add_family(thread->has_account ? &m->account[thread->combination].own : &m->global,
			   &thread->own, family);
	clear_family(&thread->own, family);
}

static void
move_account(Model *m, int combination, int family)
{
	Stats *own = &m->account[combination].own;

	add_family(&m->user[user_of[combination]].own, own, family);
	add_family(&m->host[host_of[combination]].own, own, family);
	clear_family(own, family);
}

static void
model_truncate(Model *m, int family, PfsLevel level)
{
	for (int i = 0; i < 8; i++)
		move_thread(m, &m->thread[i], family);
	for (int i = 0; level > PFS_LEVEL_THREAD && i < COMBINATIONS; i++)
		move_account(m, i, family);
	for (int i = 0; (level == PFS_LEVEL_USER || level == PFS_LEVEL_GLOBAL) && i < 3; i++)
		clear_family(&m->user[i].own, family);
	for (int i = 0; level >= PFS_LEVEL_HOST && i < 3; i++)
	{
		add_family(&m->global, &m->host[i].own, family);
		clear_family(&m->host[i].own, family);
	}
	if (level == PFS_LEVEL_GLOBAL)
		clear_family(&m->global, family);
}

/* The families that TRUNCATE of a table empties: the tables of waits have those of I/O too. */
static void
model_truncate_table(Model *m, int family, PfsLevel level)
{
	bool is_wait = family >= PFS_FAMILY_WAITS;
	bool all_waits = is_wait && (family == PFS_FAMILY_WAITS || level != PFS_LEVEL_GLOBAL);

	for (int i = PFS_FAMILY_WAITS; all_waits && i < PFS_FAMILIES; i++)
		model_truncate(m, i, level);
	if (!all_waits)
		model_truncate(m, family, level);
}

static void
model_truncate_parties(Model *m, PfsLevel level)
{
	ModelParty *party = level == PFS_LEVEL_ACCOUNT ? m->account
						: level == PFS_LEVEL_USER  ? m->user
												   : m->host;

	for (int family = 0; family < PFS_FAMILIES; family++)
		model_truncate(m, family, level);
	for (int i = 0; i < (level == PFS_LEVEL_ACCOUNT ? COMBINATIONS : 3); i++)
		party[i].used = party[i].used && party[i].connections > 0;
}

static void
model_connect(Model *m, ModelThread *thread, int change)
{
	if (!thread->has_account)
		return;
	m->account[thread->combination].connections += change;
	m->user[user_of[thread->combination]].connections += change;
	m->host[host_of[thread->combination]].connections += change;
}

static void
model_end(Model *m, ModelThread *thread)
{
	for (int family = 0; family < PFS_FAMILIES; family++)
		move_thread(m, thread, family);
	model_connect(m, thread, -1);
	thread->live = false;
	thread->session = NULL;
}

static void
model_attach(Model *m, uint32_t slot, int combination)
{
	ModelThread *thread = &m->thread[slot];
	int rows = 0;

	if (thread->live)
		model_end(m, thread);
	for (int i = 0; i < COMBINATIONS; i++)
		rows += m->account[i].used;
	thread->live = true;
	thread->combination = combination;
	thread->has_account = m->account[combination].used || rows < 4;
	thread->session =
		fixture_attach(m->arena, slot, users[user_of[combination]], hosts[host_of[combination]]);
	if (!thread->has_account)
		return;
	m->account[combination].used = true;
	m->user[user_of[combination]].used = m->host[host_of[combination]].used = true;
	model_connect(m, thread, +1);
}

static void
model_event(Model *m, ModelThread *thread)
{
	int family = (int) (next_random(&m->random) % PFS_FAMILIES);
	uint32_t number = (uint32_t) (next_random(&m->random) % numbers_of((PfsFamily) family));
	PfsTicks wait = 1 + next_random(&m->random) % 1000;
	Stats *stats = m->thread_consumer ? &thread->own : &m->global;

	one_event(thread->session, family, number, wait);
	add_cell(&stats->cell[family][number], &(Cell){1, wait, wait, wait});
}

static void
model_step(Model *m)
{
	uint32_t slot = (uint32_t) (next_random(&m->random) % 8);
	ModelThread *thread = &m->thread[slot];
	uint64_t dice = next_random(&m->random) % 100;
	int family = (int) (next_random(&m->random) % PFS_FAMILIES);
	PfsLevel level = next_random(&m->random) % PFS_LEVELS;

	if (dice < 70 && thread->session != NULL)
		model_event(m, thread);
	else if (dice < 80 && thread->session == NULL)
		model_attach(m, slot, (int) (next_random(&m->random) % COMBINATIONS));
	else if (dice >= 80 && dice < 85 && thread->session != NULL)
	{
		fixture_detach(thread->session);
		model_end(m, thread);
	}
	else if (dice >= 85 && dice < 87 && thread->session != NULL)
	{
		fixture_kill(thread->session);
		thread->session = NULL;
	}
	else if (dice >= 87 && dice < 96)
	{
		table_truncate(m->arena, tables[family][level]);
		model_truncate_table(m, family, level);
	}
	else if (dice == 96 && level > PFS_LEVEL_THREAD && level < PFS_LEVEL_GLOBAL)
	{
		table_truncate(m->arena, party_tables[level]);
		model_truncate_parties(m, level);
	}
	else if (dice == 97)
		pfs_set_consumer(m->arena, PFS_CONSUMER_THREAD, m->thread_consumer = !m->thread_consumer);
}

/* What a table must show for an owner. */
static void
model_row(const Model *m, int family, PfsLevel level, int owner, Stats *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (int i = 0; i < 8; i++)
	{
		const ModelThread *t = &m->thread[i];
		bool mine = level == PFS_LEVEL_GLOBAL || (level == PFS_LEVEL_THREAD && i == owner);

		if (level > PFS_LEVEL_THREAD && level < PFS_LEVEL_GLOBAL && t->has_account)
			mine = owner == (level == PFS_LEVEL_ACCOUNT ? t->combination
							 : level == PFS_LEVEL_USER  ? user_of[t->combination]
														: host_of[t->combination]);
		if (mine && t->live)
			add_family(sum, &t->own, family);
	}
	for (int i = 0; level > PFS_LEVEL_THREAD && i < COMBINATIONS; i++)
		if (level == PFS_LEVEL_GLOBAL || (level == PFS_LEVEL_ACCOUNT && i == owner) ||
			(level == PFS_LEVEL_USER && user_of[i] == owner) ||
			(level == PFS_LEVEL_HOST && host_of[i] == owner))
			add_family(sum, &m->account[i].own, family);
	if (level == PFS_LEVEL_USER)
		add_family(sum, &m->user[owner].own, family);
	for (int i = 0; level >= PFS_LEVEL_HOST && i < 3; i++)
		if (level == PFS_LEVEL_GLOBAL || i == owner)
			add_family(sum, &m->host[i].own, family);
	if (level == PFS_LEVEL_GLOBAL)
		add_family(sum, &m->global, family);
}

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool
row_is_of(const Model *m, const Rows *rows, int row, PfsLevel level, int owner)
{
	if (level == PFS_LEVEL_THREAD)
		return row_number(rows, row, "thread_id") == pfs_thread(m->arena, owner)->thread_id;
	if (level == PFS_LEVEL_ACCOUNT)
		return same_text(row_text(rows, row, "user_name"), users[user_of[owner]]) &&
			   same_text(row_text(rows, row, "host"), hosts[host_of[owner]]);
	if (level == PFS_LEVEL_USER)
		return same_text(row_text(rows, row, "user_name"), users[owner]);
	return level == PFS_LEVEL_GLOBAL || same_text(row_text(rows, row, "host"), hosts[owner]);
}

/* Number of the wait that a row is about, -1: it is of another family. */
static int
row_wait(PfsArena *arena, const char *name, int family)
{
	for (uint32_t number = 0; number < numbers_of((PfsFamily) family); number++)
	{
		uint32_t wait = family == PFS_FAMILY_WAITS   ? plain_waits[number]
						: family == PFS_FAMILY_FILES ? FIXTURE_WAIT_FILE
													 : FIXTURE_WAIT_SOCKET;

		if (strcmp(name, pfs_wait_instrument(arena, wait)->name) == 0)
			return (int) number;
	}
	return -1;
}

/* Number of the class, error or wait that a row is about. */
static int
row_class(PfsArena *arena, const Rows *rows, int row, int family)
{
	uint64_t error;

	if (family >= PFS_FAMILY_WAITS)
		return row_wait(arena, row_text(rows, row, "event_name"), family);
	if (family == PFS_FAMILY_TRANSACTIONS)
		return 0;
	if (family == PFS_FAMILY_STATEMENTS)
		return row_text(rows, row, "event_name")[strlen("statement/sql/class_")] - '0';
	error = row_number(rows, row, "error_number");
	return error > 0 ? (int) error - 1 : FIXTURE_ERRORS - 1;
}

/* The timers of an I/O row add up to its total, and each event moved as many bytes as it took ticks. */
static bool
parts_fit(const Rows *rows, int row)
{
	static const char *const parts[2] = {"read", "write"};
	uint64_t count = row_number(rows, row, "count_misc");
	uint64_t sum = row_number(rows, row, "sum_timer_misc");
	bool fits = true;

	for (int i = 0; i < 2; i++)
	{
		char column[40];
		uint64_t ticks;

		snprintf(column, sizeof(column), "count_%s", parts[i]);
		count += row_number(rows, row, column);
		snprintf(column, sizeof(column), "sum_timer_%s", parts[i]);
		sum += ticks = row_number(rows, row, column);
		snprintf(column, sizeof(column), "sum_number_of_bytes_%s", parts[i]);
		fits = fits && row_number(rows, row, column) == ticks;
	}
	return fits && count == row_number(rows, row, "count_star") &&
		   sum == row_number(rows, row, "sum_timer_wait");
}

/* False: the row contradicts itself. */
static bool
add_row(PfsArena *arena, Stats *stats, const Rows *rows, int row, int family)
{
	int number = row_class(arena, rows, row, family);
	Cell *cell;

	if (number < 0)
		return true;
	cell = &stats->cell[family][number];
	if (family == PFS_FAMILY_TRANSACTIONS)
	{
		cell[0] = (Cell){row_number(rows, row, "count_read_write"),
						 row_number(rows, row, "sum_timer_read_write"),
						 row_number(rows, row, "min_timer_read_write"),
						 row_number(rows, row, "max_timer_read_write")};
		cell[1] = (Cell){row_number(rows, row, "count_read_only"),
						 row_number(rows, row, "sum_timer_read_only"),
						 row_number(rows, row, "min_timer_read_only"),
						 row_number(rows, row, "max_timer_read_only")};
	}
	else if (family == PFS_FAMILY_ERRORS)
		*cell = (Cell){row_number(rows, row, "sum_error_raised"), 0, 0, 0};
	else
		*cell = (Cell){row_number(rows, row, "count_star"), row_number(rows, row, "sum_timer_wait"),
					   row_number(rows, row, "min_timer_wait"),
					   row_number(rows, row, "max_timer_wait")};
	return strncmp(rows->table->name, "events_", strlen("events_")) == 0 || parts_fit(rows, row);
}

static int
differences(const Model *m, int family, PfsLevel level)
{
	static const int owner_count[PFS_LEVELS] = {8, COMBINATIONS, 3, 3, 1};
	Rows *rows = rows_of(m->arena, tables[family][level]);
	int wrong = 0;
	int matched = 0;

	for (int owner = 0; owner < owner_count[level]; owner++)
	{
		Stats want;
		Stats got = {0};

		model_row(m, family, level, owner, &want);
		for (int i = 0; family == PFS_FAMILY_ERRORS && i < NUMBERS; i++)
			want.cell[family][i].sum = want.cell[family][i].min = want.cell[family][i].max = 0;
		for (int row = 0; row < rows->count; row++)
			if (row_is_of(m, rows, row, level, owner))
			{
				matched++;
				wrong += !add_row(m->arena, &got, rows, row, family);
			}
		wrong += memcmp(&want.cell[family], &got.cell[family], sizeof(want.cell[family])) != 0;
	}
	wrong += matched != rows->count;
	rows_free(rows);
	return wrong;
}

static int
party_differences(const Model *m, PfsLevel level)
{
	const ModelParty *party = level == PFS_LEVEL_ACCOUNT ? m->account
							  : level == PFS_LEVEL_USER  ? m->user
														 : m->host;
	Rows *rows = rows_of(m->arena, party_tables[level]);
	int used = 0;
	int wrong = 0;

	for (int i = 0; i < (level == PFS_LEVEL_ACCOUNT ? COMBINATIONS : 3); i++)
	{
		int found = 0;

		used += party[i].used;
		for (int row = 0; row < rows->count; row++)
			if (row_is_of(m, rows, row, level, i))
				found +=
					row_number(rows, row, "current_connections") == (uint64_t) party[i].connections;
		wrong += found != party[i].used;
	}
	wrong += used != rows->count;
	rows_free(rows);
	return wrong;
}

static void
test_model(uint64_t seed)
{
	Model m = {.arena = fixture_arena(NULL), .random = seed, .thread_consumer = true};
	int wrong = 0;

	for (int step = 0; step < STEPS && wrong == 0; step++)
	{
		model_step(&m);
		if (step % 8 != 0)
			continue;
		for (int family = 0; family < PFS_FAMILIES; family++)
			for (int level = 0; level < PFS_LEVELS; level++)
				wrong += differences(&m, family, level);
		for (int level = PFS_LEVEL_ACCOUNT; level < PFS_LEVEL_GLOBAL; level++)
			wrong += party_differences(&m, level);
		if (wrong > 0)
			printf("# seed %" PRIu64 " step %d\n", seed, step);
	}
	ok(wrong == 0, "all summaries are as the model says, seed %" PRIu64, seed);
	is_u64(loss_of(m.arena, PFS_LOSS_ROLL_UP) + loss_of(m.arena, PFS_LOSS_CELLS) +
			   loss_of(m.arena, PFS_LOSS_UNSTABLE_READS),
		   0, "and nothing was lost");
	for (int i = 0; i < 8; i++)
		if (m.thread[i].session != NULL)
			fixture_detach(m.thread[i].session);
	fixture_free(m.arena);
}

int
main(void)
{
	for (int family = 0; family < PFS_FAMILIES; family++)
		for (int level = 0; level < PFS_LEVELS; level++)
			test_truncate(family, level);
	test_min_max();
	test_histogram();
	test_full_parties();
	test_full_pool();
	test_busy_lock();
	for (uint64_t seed = 1; seed <= 4; seed++)
		test_model(seed * 7919);
	return done_testing();
}
