/*
 * test_interrupt.c - a signal handler's wait in the middle of any recording is lost and counted; it
 * leaves the sequences as they were.
 *
 * The seam is called inside each sequence of the session, as if the signal arrived there.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/names.h"

static struct
{
	PfsSession *session;
	int calls;
	int flipped; /* sequences that were not odd any more afterwards */
	bool inside;
} interrupt;

/* Is it one of the session's thread, those of its only class of statements and its only digest included? */
static bool
is_of_thread(const PfsSeq *seq)
{
	PfsArena *arena = interrupt.session->arena;
	PfsThread *thread = interrupt.session->thread;
	const PfsStatementCell *class =
		pfs_pool_at(pfs_pool_of(arena), pfs_thread_aggregate(arena, thread, PFS_SCOPE_THREAD)->cell[0],
					sizeof(*class));

	const PfsDigestCell *digest = pfs_cache_find(arena, thread, &pfs_digest_cells, pfs_digest_hash(1), 1,
												 arena->digest_generation);

	return seq == &thread->seq || seq == &thread->identity || seq == &thread->moves ||
		(class != NULL && seq == &class->head.seq) || (digest != NULL && seq == &digest->head.seq);
}

/* What a wrapped libc call in a handler does. */
static void
handler(PfsSeq *seq)
{
	PfsWait wait = {.wait = FIXTURE_WAIT_PLAIN};

	if (interrupt.inside || !is_of_thread(seq))
		return;
	interrupt.inside = true;
	interrupt.calls++;
	pfs_wait_begin(interrupt.session, &wait, 10);
	pfs_wait_end(interrupt.session, &wait, 20, -1);
	fixture_transaction(interrupt.session, false, 10);
	interrupt.flipped += (pfs_load(seq) & 1) == 0;
	interrupt.inside = false;
}

static uint64_t
waits(PfsArena *arena)
{
	return table_number(arena, "events_waits_summary_global_by_event_name", "event_name",
						"wait/ipc/unit/plain", "count_star");
}

static void
interrupted(const char *what, void (*body)(PfsSession *session))
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "[local]");
	uint64_t before;

	fixture_all_waits(session);
	before = waits(arena);
	interrupt.session = session;
	interrupt.calls = interrupt.flipped = 0;
	pfs_inside_sequence = handler;
	body(session);
	pfs_inside_sequence = NULL;
	ok(interrupt.calls > 0, "%s: was interrupted", what);
	is_u64((uint64_t) interrupt.flipped, 0, "no sequence was flipped");
	ok(loss_of(arena, PFS_LOSS_LOCKER) >= (uint64_t) interrupt.calls, "each was counted as lost");
	is_u64(waits(arena), before, "none was recorded");
	ok((session->thread->seq & 1) == 0 && (session->thread->identity & 1) == 0 && !session->busy,
	   "and everything is at rest");
	fixture_detach(session);
	fixture_free(arena);
}

static void
transaction_open(PfsSession *session)
{
	pfs_transaction_open(session, FIXTURE_START);
}

/* As many as are summed at once: a single one enters no sequence. */
static void
statements(PfsSession *session)
{
	for (int i = 0; i < PFS_UNSUMMED; i++)
		fixture_statement(session, 0, 1, 10, NULL);
}

static void
statement_with_waits(PfsSession *session)
{
	PfsStatement *statement;

	fixture_wait(session, FIXTURE_WAIT_LOCK, PFS_OPERATION_NONE, 0, 0, 10, -1);
	statement = fixture_open(session, 0, 1, "waited");
	pfs_statement_close(session, statement, FIXTURE_START + 10);
}

static void
wait(PfsSession *session)
{
	fixture_wait(session, FIXTURE_WAIT_FILE, PFS_OPERATION_READ, 0, 0, 10, 1);
}

static void
table(PfsSession *session)
{
	fixture_fetch(session, fixture_table(session->arena, 5, 16384, 0), 3, 10);
}

static void
tally(PfsSession *session)
{
	pfs_statement_tally(session, 0, 10);
}

static void
error(PfsSession *session)
{
	pfs_error_count(session, 1, PFS_ERROR_RAISED, 10);
}

static void
bill(PfsSession *session)
{
	uint32_t digest = fixture_digest(session, 1);

	fixture_wait(session, FIXTURE_WAIT_LOCK, PFS_OPERATION_NONE, 0, 0, 10, -1);
	pfs_wait_bill(session, digest, session->arena->digest_generation);
}

static void
identity(PfsSession *session)
{
	ok(pfs_session_identity(session, pfs_name(session->arena, "stock", 5), 7, 8), "is stored");
}

static void
program(PfsSession *session)
{
	ok(pfs_session_program(session, "another", 7), "is stored");
}

/* The other way round: what is asked for inside a recording is put off. */
static void
test_refused(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "[local]");
	Rows *rows;

	session->busy = true;
	ok(!pfs_session_identity(session, 0, 7, 8), "no identity inside a recording");
	ok(!pfs_session_program(session, "another", 7), "nor a program's name");
	session->busy = false;
	is_u64(loss_of(arena, PFS_LOSS_LOCKER), 2, "both are counted");
	rows = rows_of(arena, "threads");
	is_str(row_text(rows, 0, "application_name"), "unit", "and not stored");
	rows_free(rows);
	fixture_detach(session);
	fixture_free(arena);
}

int
main(void)
{
	interrupted("begin of a transaction", transaction_open);
	interrupted("the sum of statements", statements);
	interrupted("a statement that has waited", statement_with_waits);
	interrupted("a wait", wait);
	interrupted("a table's rows", table);
	interrupted("a tally", tally);
	interrupted("an error", error);
	interrupted("a worker's waits", bill);
	interrupted("database and encoding", identity);
	interrupted("the program's name", program);
	test_refused();
	return done_testing();
}
