/*
 * test_prepared.c - prepared statements: the list of a thread, what executions add, no room, TRUNCATE; read while it
 * changes, and while its owner stands still inside; freed with the thread, dead or alive.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/prepared.h"

#define INSTANCES "prepared_statements_instances"
#define TIMES 3000

static PfsRef
add(PfsSession *session, const char *name, const char *text)
{
	PfsPrepared what = {
		.event_id = 3,
		.statement_id = 4,
		.prepare = 5,
		.role = FIXTURE_ROLE,
		.name_length = (uint32_t) strlen(name),
		.text_length = (uint32_t) strlen(text),
	};

	memcpy(what.name, name, what.name_length);
	return pfs_prepared_add(session->arena, session->thread, &what, text);
}

static void
execute(PfsSession *session, PfsRef row, PfsTicks wait)
{
	const PfsStatementRecord outer = {
		.wait = wait,
		.used = UINT32_C(1) << PFS_COUNTER_ROWS_SENT | UINT32_C(1) << PFS_COUNTER_ROWS_EXAMINED,
		.counter = {[PFS_COUNTER_ROWS_SENT] = 2, [PFS_COUNTER_ROWS_EXAMINED] = 1000},
	};
	const PfsStatementRecord inner = {
		.wait = 7,
		.used = UINT32_C(1) << PFS_COUNTER_ROWS_SENT | UINT32_C(1) << PFS_COUNTER_ROWS_EXAMINED |
			pfs_one_bit(PFS_COUNTER_SELECT_SCAN),
		.counter = {[PFS_COUNTER_ROWS_SENT] = 1000, [PFS_COUNTER_ROWS_EXAMINED] = 30},
	};

	pfs_prepared_count(session->arena, session->thread, row, false, &inner);
	pfs_prepared_count(session->arena, session->thread, row, true, &outer);
}

static uint64_t
value(PfsArena *arena, const char *name, const char *column)
{
	return table_number(arena, INSTANCES, "statement_name", name, column);
}

static void
test_sums(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "here");
	PfsRef first = add(session, "first", "PREPARE first AS SELECT 1");

	add(session, "second", "PREPARE second AS SELECT 2");
	execute(session, first, 10);
	execute(session, first, 30);
	is_u64(table_count(arena, INSTANCES), 2, "a row each");
	is_u64(value(arena, "first", "count_execute"), 2, "each EXECUTE counts once");
	is_u64(value(arena, "first", "sum_timer_execute"), 40, "its own time");
	is_u64(value(arena, "first", "min_timer_execute"), 10, "the shortest");
	is_u64(value(arena, "first", "sum_rows_sent"), 4, "its own rows");
	is_u64(value(arena, "first", "sum_rows_examined"), 60, "what the query in it has read");
	is_u64(value(arena, "first", "sum_select_scan"), 2, "and how");
	is_u64(value(arena, "second", "count_execute"), 0, "the other one was not executed");
	is_u64(value(arena, "second", "owner_event_id"), 3, "and has its PREPARE");
	pfs_prepared_planned(arena, session->thread, first, 5, 6, true);
	is_u64(value(arena, "first", "count_generic_plans"), 5, "generic plans");
	is_u64(value(arena, "first", "count_custom_plans"), 6, "custom plans");
	is_u64(value(arena, "first", "count_reprepare"), 1, "analysed again");
	ok(table_truncate(arena, INSTANCES), "TRUNCATE");
	is_u64(value(arena, "first", "count_execute"), 0, "resets executions");
	is_u64(value(arena, "first", "count_reprepare"), 0, "and analyses");
	is_u64(value(arena, "first", "timer_prepare"), 5, "but not what it is");
	execute(session, first, 20);
	is_u64(value(arena, "first", "count_execute"), 1, "counts again");
	is_u64(value(arena, "first", "max_timer_execute"), 20, "from nothing");
	fixture_detach(session);
	is_u64(table_count(arena, INSTANCES), 0, "gone with the thread");
	fixture_free(arena);
}

static void
test_list(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "here");
	uint64_t before = pfs_pool_bytes_used(pfs_pool_of(arena));
	PfsRef row[16];
	char name[PFS_PREPARED_NAME + 8];
	char text[2 * PFS_POOL_MAX_CHUNK];
	Rows *seen;

	memset(name, 'n', sizeof(name) - 1);
	memset(text, 't', sizeof(text) - 1);
	name[sizeof(name) - 1] = text[sizeof(text) - 1] = '\0';
	for (int round = 0; round < 3; round++)
	{
		for (uint32_t i = 0; i < 12; i++)
		{
			snprintf(name, sizeof(name), "name %u", i);
			row[i] = add(session, name, i == 0 ? text : name);
			is_u64(row[i] != 0, i < arena->sizes.prepared, "as many as there is room for");
		}
		is_u64(loss_of(arena, PFS_LOSS_PREPARED), 4 * (uint64_t) (round + 1), "the others are counted");
		pfs_prepared_remove(arena, session->thread, row[3]);
		pfs_prepared_remove(arena, session->thread, row[0]);
		pfs_prepared_remove(arena, session->thread, row[7]);
		pfs_prepared_remove(arena, session->thread, row[7]);
		seen = rows_of(arena, INSTANCES);
		is_u64((uint64_t) seen->count, 5, "the others stay");
		ok(rows_find(seen, "statement_name", "name 3") == -1 && rows_find(seen, "statement_name", "name 6") >= 0, "the right ones");
		rows_free(seen);
		pfs_prepared_remove_all(arena, session->thread);
		is_u64(table_count(arena, INSTANCES), 0, "none is left");
		is_u64(pfs_pool_bytes_used(pfs_pool_of(arena)), before, "nor anything of them in the pool");
	}
	add(session, "killed", "with its owner");
	fixture_kill(session);
	session = fixture_attach(arena, 0, "bob", "there");
	is_u64(table_count(arena, INSTANCES), 0, "the successor has none");
	add(session, "his", "own");
	seen = rows_seen_by(arena, INSTANCES, "ada");
	is_u64((uint64_t) seen->count, 0, "others do not see it");
	rows_free(seen);
	seen = rows_seen_by(arena, INSTANCES, "bob");
	is_u64((uint64_t) seen->count, 1, "he does");
	rows_free(seen);
	fixture_detach(session);
	fixture_free(arena);
}

typedef struct Race
{
	PfsSession *session;
	int stop;
	uint64_t wrong;
	uint64_t read;
} Race;

/*
 * The text of each is its name twice, and it is executed as often as its name says.  It goes on until some were read, within
 * reason: it may be done before the reader has begun.
 */
static void *
come_and_go(void *argument)
{
	Race *race = argument;
	PfsSession *session = race->session;
	PfsRef row[4];
	char name[16];
	char text[40];

	for (uint32_t i = 0; i < TIMES || (pfs_load(&race->read) == 0 && i < 1000 * TIMES); i++)
	{
		for (uint32_t j = 0; j < 4; j++)
		{
			snprintf(name, sizeof(name), "%u", i * 4 + j);
			snprintf(text, sizeof(text), "%s %s", name, name);
			row[j] = add(session, name, text);
			execute(session, row[j], 1 + i * 4 + j);
		}
		for (uint32_t j = 0; j < 4; j++)
			pfs_prepared_remove(session->arena, session->thread, row[(j * 3) % 4]);
	}
	pfs_store(&race->stop, 1);
	return NULL;
}

static void
test_read_meanwhile(void)
{
	PfsArena *arena = fixture_arena(NULL);
	Race race = {.session = fixture_attach(arena, 0, "ada", "here")};
	pthread_t writer;

	pthread_create(&writer, NULL, come_and_go, &race);
	while (!pfs_load(&race.stop))
	{
		Rows *seen = rows_of(arena, INSTANCES);

		for (int i = 0; i < seen->count; i++)
		{
			const char *name = row_text(seen, i, "statement_name");
			uint64_t count = row_number(seen, i, "count_execute");
			char text[40];

			snprintf(text, sizeof(text), "%s %s", name, name);
			pfs_store(&race.read, race.read + 1);
			race.wrong += strcmp(text, row_text(seen, i, "sql_text")) != 0 || count > 1 ||
				(count == 1 && row_number(seen, i, "sum_timer_execute") != 1 + strtoull(name, NULL, 10));
		}
		rows_free(seen);
	}
	pthread_join(writer, NULL);
	is_u64(race.wrong, 0, "what is read belongs together");
	ok(race.read > 0 || loss_of(arena, PFS_LOSS_UNSTABLE_READS) > 0, "some of it was read: %" PRIu64, race.read);
	is_u64(table_count(arena, INSTANCES), 0, "all are gone");
	fixture_detach(race.session);
	fixture_free(arena);
}

static void
test_owner_stands_still(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *stopped = fixture_attach(arena, 0, "ada", "here");
	PfsSession *other = fixture_attach(arena, 1, "bob", "there");

	add(stopped, "stopped", "inside");
	add(other, "other", "outside");
	pfs_seq_write_begin(&stopped->thread->prepared_seq);
	is_u64(table_count(arena, INSTANCES), 1, "the list of who stands still inside is left out");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 1, "and counted");
	pfs_seq_write_end(&stopped->thread->prepared_seq);
	is_u64(table_count(arena, INSTANCES), 2, "it goes on");
	fixture_detach(stopped);
	fixture_detach(other);
	fixture_free(arena);
}

int
main(void)
{
	pfs_timer_init(false);
	test_sums();
	test_list();
	test_read_meanwhile();
	test_owner_stands_still();
	return done_testing();
}
