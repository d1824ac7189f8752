/*
 * test_pool_shares.c - the pool of the default size holds what it must, with everything on: all rows
 * of the digest table, with texts, histograms and waits, for many sessions; a new session finds room.
 */
#include "arena_fixture.h"
#include "tap.h"

#define DIGESTS 10000
#ifdef __SANITIZE_THREAD__
#define SESSIONS 2				/* one thread: there is nothing to find, slowly */
#else
#define SESSIONS 20
#endif
#define KINDS 5

/* As a server with 100 connections has them. */
static PfsSizes
server_sizes(void)
{
	PfsSizes sizes = fixture_sizes();

	sizes.threads = 150;
	sizes.lean_threads = 30;
	sizes.digests = DIGESTS;
	sizes.sql_text_length = 1024;
	sizes.digest_length = 1024;
	sizes.files = sizes.tables = 2000;
	sizes.pool_bytes = pfs_pool_default(&sizes);
	return sizes;
}

static void
statement_with_waits(PfsSession *session, uint64_t id)
{
	static const uint32_t waits[KINDS] = {FIXTURE_WAIT_PLAIN, FIXTURE_WAIT_FILE, FIXTURE_WAIT_SOCKET,
										  FIXTURE_WAIT_LOCK, FIXTURE_WAIT_LWLOCK};
	char text[160];
	PfsStatement *statement;

	memset(text, 'x', sizeof(text));
	snprintf(text, sizeof(text), "select a, b, c from a_table_of_the_application join another using "
			 "(id) where a_table.a = 1 and another.b < 10 order by 1, 2 limit %" PRIu64, id);
	if (pfs_digest_find(session->arena, session->thread, id) == PFS_DIGEST_NONE)
		pfs_digest_insert(session->arena, &(PfsDigestNew){
			.query_id = id, .database_id = session->thread->database_id, .text = text,
			.text_length = (uint32_t) strlen(text), .sha = (const uint8_t *) text, .now = 1});
	statement = fixture_open(session, id % FIXTURE_CLASSES, id, text);
	if (statement == NULL)
		return;
	session->running = statement;
	for (int i = 0; i < KINDS; i++)
		fixture_wait(session, waits[i], PFS_OPERATION_READ, 0, 0, 10, 1);
	session->running = NULL;
	pfs_statement_close(session, statement, FIXTURE_START + 100000 + id % 1000 * 1000);
}

static void
test_everything(void)
{
	PfsSizes sizes = server_sizes();
	PfsArena *arena = fixture_arena(&sizes);
	PfsSession *session[SESSIONS];
	PfsSession *late;
	uint64_t without_text = 0;
	char text[2048];

	for (int i = 0; i < PFS_CONSUMERS; i++)
		pfs_set_consumer(arena, i, true);
	for (uint32_t i = 0; i < SESSIONS; i++)
		session[i] = fixture_attach(arena, i, "ada", "[local]");
	for (uint64_t id = 1; id <= DIGESTS; id++)
		for (uint32_t i = 0; i < SESSIONS; i++)
			statement_with_waits(session[i], id);
	for (uint32_t i = 0; i < SESSIONS; i++)
		pfs_statement_sum(session[i]);
	is_u64((uint32_t) pfs_load(&arena->digest_alloc), DIGESTS, "every statement has its row");
	for (uint32_t number = PFS_DIGEST_OTHERS + 1; number <= DIGESTS + 1; number++)
	{
		PfsDigest *digest = pfs_digest(arena, number);

		without_text += pfs_text_fetch(arena, digest->text, digest->text_length, text) == 0 ||
			digest->sample_length == 0;
	}
	is_u64(without_text, 0, "with its texts");
	is_u64(loss_of(arena, PFS_LOSS_DIGEST), 0, "none is in the catch-all row");
	is_u64(loss_of(arena, PFS_LOSS_DIGEST_TEXT), 0, "no text was lost");
	is_u64(loss_of(arena, PFS_LOSS_DIGEST_HISTOGRAM), 0, "no time was lost");
	is_u64(loss_of(arena, PFS_LOSS_CELLS), 0, "no summary was lost");
	is_u64(pfs_pool_of(arena)->lost, 0, "the pool is not full");
	printf("# %d %% of the pool are used\n", (int) (100 * pfs_pool_bytes_used(pfs_pool_of(arena)) /
													 arena->sizes.pool_bytes));
	is_u64(table_sum(arena, "events_statements_summary_by_digest", "count_star"),
		   (uint64_t) DIGESTS * SESSIONS, "all statements count");
	ok(table_count(arena, "events_waits_summary_by_digest") >= 3 * DIGESTS,
	   "waits by digest have their share");
	late = fixture_attach(arena, SESSIONS, "newcomer", "[local]");
	fixture_all_waits(late);
	fixture_statement(late, 0, 1, 10, NULL);
	is_u64(table_number(arena, "events_statements_summary_by_user_by_event_name", "user_name",
						"newcomer", "count_star"), 2, "a new user is recorded");
	is_u64(pfs_pool_of(arena)->lost, 0, "and lacks nothing");
	fixture_detach(late);
	for (uint32_t i = 0; i < SESSIONS; i++)
		fixture_detach(session[i]);
	is_u64(arena->share_used[PFS_SHARE_DIGEST_CELLS], 0, "all cells are given back");
	ok(table_truncate(arena, "events_statements_summary_by_digest"), "truncated");
	session[0] = fixture_attach(arena, 0, "ada", "[local]");
	for (uint64_t id = 1; id <= DIGESTS; id++)
		fixture_digest(session[0], id);
	is_u64(arena->share_used[PFS_SHARE_DIGEST_WAITS], 0, "rows taken again give their waits back");
	fixture_detach(session[0]);
	fixture_free(arena);
}

int
main(void)
{
	test_everything();
	return done_testing();
}
