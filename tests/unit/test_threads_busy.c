/*
 * test_threads_busy.c - no live session is missing in threads, however busy it is, and also when its
 * process loses the processor in the middle of a recording, or of a change of its name.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/patience.h"

#include <sched.h>
#include <time.h>

#define READS 2000
#define WRITERS 3

typedef struct Writer
{
	PfsArena *arena;
	uint32_t slot;
	bool *stop;
} Writer;

/* Now and then the writer loses its processor inside. */
static void
lose_processor(PfsSeq *seq)
{
	static _Thread_local uint32_t count;
	struct timespec moment = {0, 300000};

	if (++count % 64 == 0)
		nanosleep(&moment, NULL);
}

static void *
write_all(void *argument)
{
	Writer *writer = argument;
	PfsSession *session = fixture_attach(writer->arena, writer->slot, "ada", "[local]");

	for (uint64_t i = 0; !pfs_load(writer->stop); i++)
	{
		fixture_transaction(session, false, 10);
		fixture_statement(session, 0, 1 + i % 8, 10, NULL);
		pfs_session_program(session, i % 2 ? "a" : "b", 1);
	}
	fixture_detach(session);
	return NULL;
}

static bool
is_program(const char *name)
{
	return name != NULL && (strcmp(name, "a") == 0 || strcmp(name, "b") == 0);
}

/* A session is there before it says its program. */
static int
named(PfsArena *arena)
{
	Rows *rows = rows_of(arena, "threads");
	int count = 0;

	for (int r = 0; r < rows->count; r++)
		count += row_text(rows, r, "application_name") != NULL;
	rows_free(rows);
	return count;
}

static void
test_busy(void)
{
	PfsArena *arena = fixture_arena(NULL);
	bool stop = false;
	Writer writer[WRITERS];
	pthread_t thread[WRITERS];
	int missing = 0;
	int wrong = 0;

	for (uint32_t i = 0; i < WRITERS; i++)
	{
		writer[i] = (Writer){arena, i, &stop};
		pthread_create(&thread[i], NULL, write_all, &writer[i]);
	}
	while (named(arena) < WRITERS)
		sched_yield();
	pfs_store(&pfs_inside_sequence, lose_processor);
	for (int i = 0; i < READS; i++)
	{
		Rows *rows;

		pfs_patience_renew();	/* as the host does */
		rows = rows_of(arena, "threads");
		missing += rows->count != WRITERS;
		for (int r = 0; r < rows->count; r++)
			wrong += !is_program(row_text(rows, r, "application_name")) ||
				strcmp(row_text(rows, r, "processlist_user"), "ada") != 0;
		rows_free(rows);
	}
	pfs_store(&stop, true);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	pfs_inside_sequence = NULL;
	is_u64((uint64_t) missing, 0, "every session is in every read");
	is_u64((uint64_t) wrong, 0, "with its names");
	fixture_free(arena);
}

/* A process that is stopped in the middle of it does not hide itself. */
static void
test_stopped(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "[local]");
	Rows *rows;

	pfs_seq_write_begin(&session->thread->seq);
	pfs_seq_write_begin(&session->thread->identity);
	rows = rows_of(arena, "threads");
	is_u64((uint64_t) rows->count, 1, "a stopped session is shown");
	is_str(row_text(rows, 0, "processlist_user"), "ada", "with its user");
	is_str(row_text(rows, 0, "application_name"), NULL, "without what may be half written");
	rows_free(rows);
	pfs_seq_write_end(&session->thread->identity);
	pfs_seq_write_end(&session->thread->seq);
	fixture_detach(session);
	fixture_free(arena);
}

int
main(void)
{
	test_busy();
	test_stopped();
	return done_testing();
}
