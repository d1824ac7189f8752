/*
 * test_statement_plain.c - the plain way of a statement makes what the general way makes.
 *
 * Two sessions, each in an arena of its own, do the same; one of them in the general way. Afterwards their journals
 * are the same, byte by byte.
 */
#include "arena_fixture.h"
#include "core/statement_hot.h"
#include "tap.h"

typedef struct Side
{
	PfsArena *arena;
	PfsSession *session;
	PfsTemplate template;
	uint64_t text;
} Side;

static Side
new_side(void)
{
	Side side = {.arena = fixture_arena(NULL)};

	side.session = fixture_attach(side.arena, 0, "ada", "h1");
	side.session->may_be_plain = true;
	side.session->role = FIXTURE_ROLE;
	pfs_template_make(side.session, &side.template, 1, 77, fixture_digest(side.session, 77),
					  pfs_load(&side.session->arena->digest_generation));
	side.text = side.session->oldest_text - 1;
	return side;
}

static void
leave_side(Side *side)
{
	fixture_detach(side->session);
	fixture_free(side->arena);
}

/* As a host does it. */
static PfsStatement *
begin(Side *side, bool plain, PfsTicks start)
{
	PfsSession *session = side->session;
	PfsStatement *statement;
	PfsStatementRow row;

	plain = plain && pfs_statement_may_begin_plain(session, session->plain, false);
	statement = plain ? pfs_statement_begin_here(session, &side->template, 0, false, NULL, start, session->plain,
												 session->promised, &row)
					  : pfs_statement_begin(session, &side->template, false, NULL, start);
	pfs_statement_text_refer(session, statement, "select ?", 8, &side->text);
	pfs_statement_set(statement, PFS_COUNTER_ROWS_SENT, start % 3);
	pfs_statement_publish(session, statement);
	return statement;
}

/* Returns whether it ended in the plain way. */
static bool
end(Side *side, PfsStatement *statement, bool plain, PfsTicks now)
{
	plain = plain && pfs_statement_is_plain(side->session, statement);
	if (plain)
	{
		bool first = statement == &side->session->statement[0] && side->session->running == NULL &&
					 pfs_statement_is_plain_first(side->session, statement);

		if (first ? pfs_statement_end_plain(side->session, statement, statement->since, &now, true)
				  : pfs_statement_end_plain(side->session, statement, statement->since, &now, false))
			pfs_statement_sum(side->session);
	}
	else
		pfs_statement_close(side->session, statement, now);
	return plain;
}

/* While none is open, what the plain end left to the next one: its slot of the ring, which is not open. */
static void
hide_ended(const Side *side)
{
	if (side->session->newest == NULL)
		side->session->thread->open[0] = PFS_NO_SLOT;
}

static bool
same_journals(const Side *a, const Side *b)
{
	hide_ended(a);
	hide_ended(b);
	return a->arena->thread_journal_offset == b->arena->thread_journal_offset &&
		   memcmp(a->session->thread->open, b->session->thread->open, sizeof(a->session->thread->open)) == 0 &&
		   memcmp(pfs_journal_records(a->arena, a->session->thread),
				  pfs_journal_records(b->arena, b->session->thread), pfs_journal_bytes(a->arena)) == 0;
}

static void
check_same(Side *a, Side *b, const char *what)
{
	ok(same_journals(a, b), "%s: the same journal", what);
	is_u64(a->session->thread->ended, b->session->thread->ended, "as many have ended");
	is_u64(a->session->thread->event_id, b->session->thread->event_id, "the same ids");
	ok(a->session->newest == NULL && b->session->newest == NULL, "%s: none is open", what);
	is_u64(table_sum(a->arena, "events_statements_summary_by_digest", "sum_timer_wait"),
		   table_sum(b->arena, "events_statements_summary_by_digest", "sum_timer_wait"), "the same sums");
	is_u64(table_sum(a->arena, "events_statements_history", "timer_wait"),
		   table_sum(b->arena, "events_statements_history", "timer_wait"), "the same history");
}

static void
test_many(void)
{
	Side side[2] = {new_side(), new_side()};
	uint64_t ended_plain = 0;

	for (int i = 0; i < 1000; i++)
		for (int s = 0; s < 2; s++)
		{
			PfsTicks start = FIXTURE_START + (PfsTicks) i * 100;
			PfsStatement *statement;

			if (i % 7 == 3)
				pfs_transaction_open(side[s].session, start);
			statement = begin(&side[s], s == 1, start);
			if (i % 7 == 5)
				pfs_transaction_close(side[s].session, PFS_TRANSACTION_COMMITTED, start);
			if (i % 11 > 8)
				pfs_statement_pause(statement, start + 3);
			if (i % 11 == 9)
				pfs_statement_resume(statement, start + 4);
			/* some end when they began, or the clock stepped back */
			ended_plain += end(&side[s], statement, s == 1, start + (PfsTicks) (i % 90) - 1);
		}
	is_u64(ended_plain, 1000, "the first one, too, which did not begin so");
	check_same(&side[0], &side[1], "many");
	leave_side(&side[0]);
	leave_side(&side[1]);
}

typedef enum Trouble
{
	FAILED,
	WITH_CHILD,
	UNLISTED,
	SWITCHED,
	ON_STAGE,
	TROUBLES
} Trouble;

static void
make_trouble(Side *side, PfsStatement *statement, Trouble trouble, PfsTicks now)
{
	PfsSession *session = side->session;

	switch (trouble)
	{
		case FAILED:
			pfs_statement_fail(session, statement, 7, "no", 2);
			break;
		case WITH_CHILD:
			(void) pfs_statement_begin(session, &side->template, false, statement, now);
			break;
		case UNLISTED:
			pfs_statement_unlist(statement);
			break;
		case SWITCHED:
			pfs_set_instrument(side->arena, pfs_statement_instrument(side->arena, 2), -1, 0);
			break;
		case ON_STAGE:
			session->running = statement;
			break;
		case TROUBLES:
			break;
	}
}

static void
test_troubles(void)
{
	for (Trouble trouble = 0; trouble < TROUBLES; trouble++)
	{
		Side side[2] = {new_side(), new_side()};
		char what[20];

		snprintf(what, sizeof(what), "trouble %d", (int) trouble);
		for (int s = 0; s < 2; s++)
		{
			PfsStatement *statement;

			for (PfsTicks start = FIXTURE_START; start < FIXTURE_START + 300; start += 100)
			{
				statement = begin(&side[s], s == 1, start);
				if (start != FIXTURE_START)
					make_trouble(&side[s], statement, trouble, start + 10);
				ok(!end(&side[s], statement, s == 1, start + 50) || start == FIXTURE_START,
				   "%s: does not end in the plain way", what);
				side[s].session->running = NULL;
				while (side[s].session->newest != NULL)
					pfs_statement_close(side[s].session, side[s].session->newest, start + 60);
			}
		}
		check_same(&side[0], &side[1], what);
		leave_side(&side[0]);
		leave_side(&side[1]);
	}
}

/* A nested one may end so, too. */
static void
test_nested(void)
{
	Side side[2] = {new_side(), new_side()};

	for (int s = 0; s < 2; s++)
		for (PfsTicks start = FIXTURE_START; start < FIXTURE_START + 500; start += 100)
		{
			PfsStatement *outer = begin(&side[s], s == 1, start);
			PfsStatement *inner;
			PfsStatementRow row;

			side[s].session->running = outer;
			if (start == FIXTURE_START + 300)
				pfs_transaction_open(side[s].session, start);
			if (s == 1 && pfs_statement_may_begin_plain(side[s].session, side[s].session->plain, true))
			{
				pfs_statement_make_way(side[s].session);
				inner = pfs_statement_begin_here(side[s].session, &side[s].template, 0, false, outer, start + 10,
												 side[s].session->plain, false, &row);
			}
			else
				inner = pfs_statement_begin(side[s].session, &side[s].template, false, outer, start + 10);
			pfs_store(&inner->record->text_length, 0);
			pfs_statement_publish(side[s].session, inner);
			ok(end(&side[s], inner, s == 1, start + 20) == (s == 1), "nested, and plain");
			side[s].session->running = NULL;
			end(&side[s], outer, s == 1, start + 30);
		}
	check_same(&side[0], &side[1], "nested");
	leave_side(&side[0]);
	leave_side(&side[1]);
}

int
main(void)
{
	test_many();
	test_troubles();
	test_nested();
	return done_testing();
}
