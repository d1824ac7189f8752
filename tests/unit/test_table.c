/*
 * test_table.c - all table descriptors: names, columns, scans, pushed-down conditions, edits.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/error_log.h"
#include "core/host_cache.h"
#include "core/prepared.h"

#define MAX_COLUMNS 80

static int
column_count(const PfsTable *table)
{
	int n = 0;

	while (pfs_table_column(table, n, NULL) != NULL)
		n++;
	return n;
}

static int
type_size(PfsColumnType type)
{
	switch (type)
	{
		case PFS_COLUMN_U32:
		case PFS_COLUMN_SQLSTATE:
			return 4;
		case PFS_COLUMN_U8:
		case PFS_COLUMN_YES_NO:
			return 1;
		case PFS_COLUMN_MIN:
		case PFS_COLUMN_AVERAGE:
			return sizeof(PfsTimerStat);
		case PFS_COLUMN_TEXT:
			return sizeof(PfsText);
		case PFS_COLUMN_HEX:
			return PFS_SHA_BYTES;
		default:
			return 8;
	}
}

/* Two columns of a group may share bytes only where both are about one statistic. */
static bool
overlap(const PfsColumn *a, const PfsColumn *b)
{
	bool derived = a->type == PFS_COLUMN_MIN || a->type == PFS_COLUMN_AVERAGE ||
				   b->type == PFS_COLUMN_MIN || b->type == PFS_COLUMN_AVERAGE;

	return !derived && a->offset < b->offset + type_size(b->type) &&
		   b->offset < a->offset + type_size(a->type);
}

static void
check_table(const PfsTable *table)
{
	int n = column_count(table);
	int wrong = 0;
	int keys = 0;

	for (int i = 0; i < n; i++)
	{
		int group;
		const PfsColumn *a = pfs_table_column(table, i, &group);

		wrong += a->doc == NULL || a->doc[0] == '\0' || strlen(a->name) > 63;
		wrong += type_size(a->type) % 8 == 0 && a->offset % 8 != 0;
		keys += (a->flags & PFS_COLUMN_KEY) != 0;
		wrong += (a->flags & PFS_COLUMN_UPDATABLE) != 0 && table->update == NULL;
		for (int j = 0; j < i; j++)
		{
			int other;
			const PfsColumn *b = pfs_table_column(table, j, &other);

			wrong += strcmp(a->name, b->name) == 0;
			wrong += group == other && overlap(a, b);
		}
	}
	ok(wrong == 0 && n > 0 && n < MAX_COLUMNS, "%s: %d columns", table->name, n);
	ok(keys > 0 && table->doc != NULL && table->scan != NULL, "%s has a key and a text",
	   table->name);
	ok((table->insert != NULL) == (table->remove != NULL), "what can be inserted can be deleted");
}

static void
test_descriptors(void)
{
	int tables = 0;

	for (int i = 0; pfs_tables[i] != NULL; i++)
	{
		tables++;
		check_table(pfs_tables[i]);
		ok(pfs_table_by_name(pfs_tables[i]->name) == pfs_tables[i], "its name is its own");
		ok(pfs_table_column(pfs_tables[i], -1, NULL) == NULL, "no column before the first");
	}
	ok(pfs_table_by_name("nothing") == NULL, "no such table");
	ok(tables >= 35, "%d tables", tables);
}

/* --- scans --- */

static PfsArena *
filled_arena(PfsSession **session)
{
	PfsArena *arena = fixture_arena(NULL);
	const char *users[] = {"ada", "bob", NULL};
	PfsErrorLog log = pfs_error_log(arena);
	PfsLogMessage message = {.thread_id = 1};
	const PfsPrepared prepared = {.name = "p", .name_length = 1, .text_length = 1};

	pfs_error_log_add(&log, &message);
	pfs_host_connected(arena, "10.0.0.1", NULL, false, 1);
	for (int i = 0; i < PFS_CONSUMERS; i++)
		pfs_set_consumer(arena, i, true);
	for (uint32_t i = 0; i < 3; i++)
	{
		session[i] = fixture_attach(arena, i, users[i], i == 0 ? "h1" : NULL);
		pfs_prepared_add(arena, session[i]->thread, &prepared, "p");
		for (uint32_t j = 0; j < 10; j++)
			fixture_statement(session[i], j % FIXTURE_CLASSES, 1 + j % 3, 50 * j + i, NULL);
		fixture_transaction(session[i], i == 1, 10);
		pfs_error_count(session[i], i, PFS_ERROR_RAISED, 50);
		pfs_error_count(session[i], FIXTURE_ERRORS - 1, PFS_ERROR_HANDLED, 50);
		fixture_all_waits(session[i]);
		session[i]->running = fixture_open(session[i], 0, 4, "outer");
		fixture_open(session[i], 1, 4, "inner");
	}
	return arena;
}

static void
test_empty(void)
{
	PfsArena *arena = fixture_arena(NULL);
	uint64_t events = 0;

	for (int i = 0; pfs_tables[i] != NULL; i++)
	{
		Rows *rows = rows_of(arena, pfs_tables[i]->name);

		if (strncmp(pfs_tables[i]->name, "events_", 7) == 0)
			for (int r = 0; r < rows->count; r++)
				for (int c = 0; c < rows->columns; c++)
					events += strncmp(pfs_table_column(rows->table, c, NULL)->name, "count", 5) == 0
								  ? strtoull(rows->cell[r * rows->columns + c], NULL, 10)
								  : 0;
		rows_free(rows);
	}
	is_u64(events, 0, "an empty arena has counted nothing");
	is_u64(table_count(arena, "threads") + table_count(arena, "accounts"), 0, "and knows nobody");
	fixture_free(arena);
}

static bool
same_row(const Rows *a, int i, const Rows *b, int j, const bool *moving)
{
	for (int c = 0; c < a->columns; c++)
	{
		const char *x = a->cell[i * a->columns + c];
		const char *y = b->cell[j * b->columns + c];

		if (!moving[c] && x != y && (x == NULL || y == NULL || strcmp(x, y) != 0))
			return false;
	}
	return true;
}

/* Columns whose value depends on the moment of the reading. */
static void
find_moving(const PfsTable *table, bool *moving)
{
	bool measured = strcmp(table->name, "performance_timers") == 0;

	for (int c = 0; c < column_count(table); c++)
	{
		const PfsColumn *column = pfs_table_column(table, c, NULL);

		moving[c] =
			column->type == PFS_COLUMN_SECONDS_AGO || strcmp(column->name, "timer_end") == 0 ||
			strcmp(column->name, "timer_wait") == 0 || (measured && column->type == PFS_COLUMN_U64);
	}
}

/* Tables of MySQL's that never have rows here. */
static bool
stays_empty(const PfsTable *table)
{
	return strcmp(table->name, "mutex_instances") == 0 || strcmp(table->name, "cond_instances") == 0;
}

/* With a condition: all rows that fulfil it, and no row that is not there without it. */
static int
wrong_under_condition(PfsArena *arena, const Rows *all, const char *column, const char *value)
{
	Rows *some = rows_where(arena, all->table->name, column, value);
	bool moving[MAX_COLUMNS];
	bool *found = calloc((size_t) some->count + 1, sizeof(bool));
	int wrong = 0;

	find_moving(all->table, moving);
	for (int i = 0; i < all->count; i++)
	{
		const char *text = row_text(all, i, column);
		bool wanted = text != NULL && strcmp(text, value) == 0;
		int j = 0;

		while (j < some->count && (found[j] || !same_row(all, i, some, j, moving)))
			j++;
		if (j < some->count)
			found[j] = true;
		else
			wrong += wanted;
	}
	for (int j = 0; j < some->count; j++)
		wrong += !found[j];
	free(found);
	rows_free(some);
	return wrong;
}

static void
test_conditions(void)
{
	PfsSession *session[3];
	PfsArena *arena = filled_arena(session);

	for (int i = 0; pfs_tables[i] != NULL; i++)
	{
		Rows *all = rows_of(arena, pfs_tables[i]->name);
		int step = all->count > 40 ? all->count / 20 : 1;
		int wrong = 0;

		for (int c = 0; c < all->columns; c++)
		{
			const PfsColumn *column = pfs_table_column(all->table, c, NULL);

			if ((column->flags & PFS_COLUMN_KEY) == 0 || strcmp(all->table->name, "status") == 0)
				continue;
			for (int r = 0; r < all->count; r += step)
				if (all->cell[r * all->columns + c] != NULL)
					wrong += wrong_under_condition(arena, all, column->name,
												   all->cell[r * all->columns + c]);
			wrong += wrong_under_condition(arena, all, column->name, "999999");
			wrong += wrong_under_condition(arena, all, column->name, "");
		}
		ok(wrong == 0 && (all->count > 0) != stays_empty(all->table),
		   "%s: %d rows; a key condition only filters",
		   all->table->name, all->count);
		rows_free(all);
	}
	for (int i = 0; i < 3; i++)
		fixture_detach(session[i]);
	fixture_free(arena);
}

/* --- TRUNCATE of every table --- */

static void
test_resets(void)
{
	for (int i = 0; pfs_tables[i] != NULL; i++)
	{
		PfsSession *session[3];
		PfsArena *arena;
		uint64_t left = 0;
		Rows *rows;

		if (pfs_tables[i]->reset == NULL)
			continue;
		arena = filled_arena(session);
		ok(table_truncate(arena, pfs_tables[i]->name), "TRUNCATE %s", pfs_tables[i]->name);
		rows = rows_of(arena, pfs_tables[i]->name);
		for (int c = 0; c < rows->columns; c++)
		{
			const char *name = pfs_table_column(rows->table, c, NULL)->name;

			if (strncmp(name, "count_", 6) == 0 || strncmp(name, "sum_", 4) == 0)
				left += rows_sum(rows, name);
		}
		is_u64(left, 0, "leaves no sum");
		rows_free(rows);
		for (int s = 0; s < 3; s++)
			fixture_detach(session[s]);
		fixture_free(arena);
	}
}

static void
test_status(void)
{
	PfsArena *arena = fixture_arena(NULL);

	pfs_lose(arena, PFS_LOSS_NAMES);
	is_u64(table_number(arena, "status", "variable_name", "performance_schema_names_lost",
						"variable_value"),
		   1, "a loss is shown");
	is_u64(table_number(arena, "status", "variable_name", "memory_bytes", "variable_value"),
		   arena->bytes, "and the size");
	table_truncate(arena, "status");
	is_u64(loss_of(arena, PFS_LOSS_NAMES), 0, "TRUNCATE zeroes the losses");
	is_u64(table_number(arena, "memory", "name", "performance_schema.memory", "memory"),
		   arena->bytes, "the memory table has the total");
	fixture_free(arena);
}

/* --- edits --- */

typedef struct Edit
{
	const char *table;
	char what; /* i, u, d */
	const char *key[3];
	const char *first; /* the two flags behind the keys */
	const char *second;
	PfsEditResult result;
	int column; /* of a bad value */
} Edit;

#define LONG_KEY \
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static const Edit edits[] = {
	{"setup_actors", 'i', {"h1", "ada", "%"}, "NO", "YES", PFS_EDIT_OK, 0},
	{"setup_actors", 'i', {"h1", "ada", "%"}, "NO", "YES", PFS_EDIT_DUPLICATE, 0},
	{"setup_actors", 'i', {"h1", "ada", NULL}, NULL, NULL, PFS_EDIT_DUPLICATE, 0},
	{"setup_actors", 'i', {"h2", "ada", "%"}, "MAYBE", "YES", PFS_EDIT_BAD_VALUE, 3},
	{"setup_actors", 'i', {"h2", "ada", "%"}, "YES", "yes", PFS_EDIT_BAD_VALUE, 4},
	{"setup_actors", 'i', {"", "ada", "%"}, NULL, NULL, PFS_EDIT_BAD_VALUE, 0},
	{"setup_actors", 'i', {"h2", LONG_KEY, "%"}, NULL, NULL, PFS_EDIT_BAD_VALUE, 1},
	{"setup_actors", 'i', {"h2", "ada", LONG_KEY}, NULL, NULL, PFS_EDIT_BAD_VALUE, 2},
	{"setup_actors", 'i', {"h2", "ada", "%"}, NULL, NULL, PFS_EDIT_OK, 0},
	{"setup_actors", 'i', {LONG_KEY, "ada", "%"}, NULL, NULL, PFS_EDIT_OK, 0},
	{"setup_actors", 'i', {"h4", "ada", "%"}, NULL, NULL, PFS_EDIT_FULL, 0},
	{"setup_actors", 'u', {"h2", "ada", "%"}, "NO", NULL, PFS_EDIT_OK, 0},
	{"setup_actors", 'u', {"h2", "ada", "%"}, "", NULL, PFS_EDIT_BAD_VALUE, 3},
	{"setup_actors", 'u', {"h9", "ada", "%"}, "NO", "NO", PFS_EDIT_NO_ROW, 0},
	{"setup_actors", 'u', {NULL, NULL, NULL}, "NO", "NO", PFS_EDIT_NO_ROW, 0},
	{"setup_actors", 'd', {"h2", "ada", "%"}, NULL, NULL, PFS_EDIT_OK, 0},
	{"setup_actors", 'd', {"h2", "ada", "%"}, NULL, NULL, PFS_EDIT_NO_ROW, 0},
	{"setup_objects", 'i', {"TABLE", "shop", "item"}, "NO", "NO", PFS_EDIT_OK, 0},
	{"setup_objects", 'i', {"TABLE", "shop", "item"}, "NO", "NO", PFS_EDIT_DUPLICATE, 0},
	{"setup_objects", 'i', {"VIEW", "shop", "item"}, NULL, NULL, PFS_EDIT_BAD_VALUE, 0},
	{"setup_objects", 'i', {"TABLE", "", "item"}, NULL, NULL, PFS_EDIT_BAD_VALUE, 1},
	{"setup_objects", 'i', {"TABLE", "shop", LONG_KEY}, NULL, NULL, PFS_EDIT_BAD_VALUE, 2},
	{"setup_objects", 'i', {"TABLE", "shop", "x"}, "1", NULL, PFS_EDIT_BAD_VALUE, 3},
	{"setup_objects", 'u', {"TABLE", "shop", "item"}, "YES", "0", PFS_EDIT_BAD_VALUE, 4},
	{"setup_objects", 'u', {"TABLE", "shop", "item"}, "YES", NULL, PFS_EDIT_OK, 0},
	{"setup_objects", 'u', {"VIEW", "shop", "item"}, "YES", NULL, PFS_EDIT_NO_ROW, 0},
	{"setup_objects", 'd', {"TABLE", "shop", "item"}, NULL, NULL, PFS_EDIT_OK, 0},
	{"setup_objects", 'd', {"TABLE", "shop", NULL}, NULL, NULL, PFS_EDIT_NO_ROW, 0},
	{"setup_consumers", 'u', {"statements_digest", NULL, NULL}, "NO", NULL, PFS_EDIT_OK, 0},
	{"setup_consumers", 'u', {"statements_digest", NULL, NULL}, "no", NULL, PFS_EDIT_BAD_VALUE, 1},
	{"setup_consumers", 'u', {"nothing", NULL, NULL}, "NO", NULL, PFS_EDIT_NO_ROW, 0},
	{"setup_consumers", 'u', {NULL, NULL, NULL}, "NO", NULL, PFS_EDIT_NO_ROW, 0},
	{"setup_instruments", 'u', {"error", NULL, NULL}, "NO", "YES", PFS_EDIT_OK, 0},
	{"setup_instruments", 'u', {"error", NULL, NULL}, "ON", NULL, PFS_EDIT_BAD_VALUE, 1},
	{"setup_instruments", 'u', {"error", NULL, NULL}, NULL, "OFF", PFS_EDIT_BAD_VALUE, 2},
	{"setup_instruments", 'u', {"wait/x", NULL, NULL}, "NO", NULL, PFS_EDIT_NO_ROW, 0},
	{"setup_threads", 'u', {"thread/sql/client", NULL, NULL}, "NO", "NO", PFS_EDIT_OK, 0},
	{"setup_threads", 'u', {"thread/sql/client", NULL, NULL}, NULL, "", PFS_EDIT_BAD_VALUE, 2},
	{"setup_threads", 'u', {"thread/x", NULL, NULL}, "NO", "NO", PFS_EDIT_NO_ROW, 0},
};

static PfsEditResult
apply(PfsArena *arena, const Edit *edit, int *column)
{
	const PfsTable *table = pfs_table_by_name(edit->table);
	const char *old[MAX_COLUMNS] = {NULL};
	const char *new[MAX_COLUMNS] = {NULL};
	int flags = 0;

	while ((pfs_table_column(table, flags, NULL)->flags & PFS_COLUMN_KEY) != 0)
	{
		old[flags] = new[flags] = edit->key[flags];
		flags++;
	}
	new[flags] = edit->first;
	new[flags + 1] = edit->second;
	if (edit->what == 'i')
		return table->insert(arena, new, column);
	return edit->what == 'u' ? table->update(arena, old, new, column) : table->remove(arena, old);
}

static void
test_edits(void)
{
	PfsArena *arena = fixture_arena(NULL);

	for (size_t i = 0; i < PFS_LENGTH(edits); i++)
	{
		int column = -1;
		PfsEditResult result = apply(arena, &edits[i], &column);

		ok(result == edits[i].result && (result != PFS_EDIT_BAD_VALUE || column == edits[i].column),
		   "edit %zu of %s: result %d, column %d", i, edits[i].table, (int) result, column);
	}
	is_u64(table_count(arena, "setup_actors"), 3, "actors are as the edits say");
	ok((pfs_load(&arena->gate) & PFS_WANTS(DIGEST)) == 0, "the gate follows setup_consumers");
	ok((pfs_load(&arena->gate) & PFS_GATE_ERRORS) == 0, "and setup_instruments");
	is_u64(pfs_thread_class(arena, FIXTURE_CLIENT)->enabled, 0, "setup_threads");
	table_truncate(arena, "setup_actors");
	is_u64(table_count(arena, "setup_actors"), 0, "TRUNCATE of a setup table");
	fixture_free(arena);
}

static void
test_edit_thread(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	const PfsTable *table = pfs_table_by_name("threads");
	const char *old[MAX_COLUMNS] = {"1"};
	const char *new[MAX_COLUMNS] = {"1"};
	Rows *rows = rows_of(arena, "threads");
	int instrumented = rows_column(rows, "instrumented");
	int history = rows_column(rows, "history");
	int column = -1;

	rows_free(rows);
	new[instrumented] = "NO";
	is_u64(table->update(arena, old, new, &column), PFS_EDIT_OK, "a thread is switched off");
	ok(!pfs_wants(session, PFS_GATE_ANY), "at once");
	is_u64(session->thread->history, 1, "what was not given is left");
	new[history] = "never";
	is_u64(table->update(arena, old, new, &column), PFS_EDIT_BAD_VALUE, "a bad value");
	is_u64((uint64_t) column, (uint64_t) history, "in this column");
	new[instrumented] = "";
	is_u64(table->update(arena, old, new, &column), PFS_EDIT_BAD_VALUE, "another");
	is_u64((uint64_t) column, (uint64_t) instrumented, "in that column");
	new[instrumented] = new[history] = "NO";
	old[0] = "99";
	is_u64(table->update(arena, old, new, &column), PFS_EDIT_NO_ROW, "no such thread");
	old[0] = NULL;
	is_u64(table->update(arena, old, new, &column), PFS_EDIT_NO_ROW, "no key");
	fixture_detach(session);
	fixture_free(arena);
}

int
main(void)
{
	test_descriptors();
	test_empty();
	test_conditions();
	test_resets();
	test_status();
	test_edits();
	test_edit_thread();
	return done_testing();
}
