/*
 * test_journal_killed.c - a session is stopped, or killed, at any moment; others read its journal.
 *
 * It is a process of its own, as in a server, with the arena in shared memory. It counts what it begins and ends
 * beside the arena. A reader comes back, shows no row that is torn, and never more than has begun; what it leaves
 * out it says (unstable_reads). Whoever takes the slot of a killed process lacks at most the statements that
 * were being added to the summaries, PFS_UNSUMMED.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/summing.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
#define VICTIMS 8
#else
#define VICTIMS 40
#endif
#define STOPS 8
#define SECONDS_AT_MOST 100
#define WAIT 10
#define ROWS 2
#define KEYS 20

#define BY_THREAD "events_statements_summary_by_thread_by_event_name"
#define BY_ACCOUNT "events_statements_summary_by_account_by_event_name"
#define GLOBAL "events_statements_summary_global_by_event_name"
#define DIGESTS "events_statements_summary_by_digest"
#define DIGEST_HISTOGRAM "events_statements_histogram_by_digest"
#define HISTOGRAM "events_statements_histogram_global"

/* Where it stops by itself. */
typedef enum How
{
	ANYWHERE,		/* it does not: by a signal from outside */
	IN_SUM,			/* inside a sequence of a sum */
	DIES_IN_SUM,
	WAYS
} How;

/* Shared with the process. */
typedef struct Progress
{
	uint64_t begun;
	uint64_t ended;
} Progress;

static Progress *progress;
static uint64_t seed = 88172645463325252u;

/* --- the victim --- */

static struct
{
	const PfsSession *session;
	How how;
	uint64_t sequences;	/* of sums, until it stops */
} victim;

static void
stop_inside(PfsSeq *seq)
{
	if (!victim.session->busy || --victim.sequences != 0)
		return;
	victim.sequences = 3 + next_random(&seed) % 100;
	kill(getpid(), victim.how == IN_SUM ? SIGSTOP : SIGKILL);
}

static PfsStatement *
begin(PfsSession *session, uint64_t number)
{
	char text[64];
	PfsStatement *statement;
	int n = snprintf(text, sizeof(text), "%" PRIu64 ":", number);

	while (n < (int) (20 + number % 40))
		text[n++] = (char) ('a' + number % 26);
	text[n] = '\0';
	statement = fixture_open(session, number % FIXTURE_CLASSES, 1 + number % KEYS, text);
	pfs_statement_set(statement, PFS_COUNTER_ROWS_SENT, ROWS);
	pfs_statement_set(statement, PFS_COUNTER_ROWS_EXAMINED, number);
	return statement;
}

__attribute__((noreturn)) static void
be_victim(PfsArena *arena, How how, uint64_t random)
{
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* does not outlive a test that fails */
	seed = random;
	victim.session = session;
	victim.how = how;
	victim.sequences = 1 + random % 500;
	if (how != ANYWHERE)
		pfs_inside_sequence = stop_inside;
	for (uint64_t number = 1;; number += 2)
	{
		PfsStatement *outer;
		PfsStatement *inner;

		pfs_store_release(&progress->begun, number + 1);
		outer = begin(session, number);
		session->running = outer;
		inner = begin(session, number + 1);
		pfs_statement_close(session, inner, FIXTURE_START + WAIT);
		pfs_statement_close(session, outer, FIXTURE_START + WAIT);
		pfs_store_release(&progress->ended, number + 1);
	}
}

/* --- the reader --- */

static uint64_t
torn_sums(const Rows *rows)
{
	uint64_t torn = 0;

	for (int i = 0; i < rows->count; i++)
	{
		uint64_t n = row_number(rows, i, "count_star");

		torn += row_number(rows, i, "sum_timer_wait") != WAIT * n ||
			row_number(rows, i, "sum_rows_sent") != ROWS * n ||
			(n > 0 && row_number(rows, i, "max_timer_wait") != WAIT);
	}
	return torn;
}

static bool
is_text_of(const char *text, uint64_t number)
{
	char *tail;

	if (text == NULL || strtoull(text, &tail, 10) != number || *tail++ != ':')
		return text == NULL;
	return strspn(tail, (char[]){(char) ('a' + number % 26), '\0'}) == strlen(tail) &&
		strlen(text) == 20 + number % 40;
}

static uint64_t
torn_events(const Rows *rows)
{
	uint64_t torn = 0;

	for (int i = 0; i < rows->count; i++)
	{
		bool runs = row_text(rows, i, "end_event_id") == NULL;
		uint64_t number = row_number(rows, i, "rows_examined");

		/* one that has just begun has no numbers yet */
		if (!runs || number != 0)
			torn += !is_text_of(row_text(rows, i, "sql_text"), number) || row_number(rows, i, "rows_sent") != ROWS ||
				(!runs && row_number(rows, i, "timer_wait") != WAIT);
	}
	return torn;
}

/* Totals that were read, and those of which the reader said that they may lack something. */
static uint64_t sure;
static uint64_t unsure;

/* Reads everything beside a process that stands still; returns what is wrong. */
static uint64_t
read_all(PfsArena *arena)
{
	static const char *const totals[] = {GLOBAL, BY_ACCOUNT, BY_THREAD, DIGESTS, HISTOGRAM,
		DIGEST_HISTOGRAM};
	static const char *const events[] = {"events_statements_current", "events_statements_history",
		"events_statements_history_long"};
	uint64_t wrong = 0;

	for (size_t i = 0; i < PFS_LENGTH(totals); i++)
	{
		uint64_t unstable = loss_of(arena, PFS_LOSS_UNSTABLE_READS);
		Rows *rows = rows_of(arena, totals[i]);
		bool buckets = strncmp(totals[i], "events_statements_histogram", 27) == 0;
		uint64_t sum = rows_sum(rows, buckets ? "count_bucket" : "count_star");

		wrong += buckets ? 0 : torn_sums(rows);
		wrong += sum > pfs_load_acquire(&progress->begun);
		if (loss_of(arena, PFS_LOSS_UNSTABLE_READS) == unstable)
		{
			wrong += sum < pfs_load_acquire(&progress->ended);
			sure++;
		}
		else
			unsure++;
		rows_free(rows);
	}
	for (size_t i = 0; i < PFS_LENGTH(events); i++)
	{
		Rows *rows = rows_of(arena, events[i]);

		wrong += torn_events(rows);
		wrong += i == 1 && (uint64_t) rows->count < pfs_min(progress->ended, (uint64_t) 5);
		rows_free(rows);
	}
	return wrong;
}

static void
wait_a_moment(void)
{
	struct timespec moment = {0, (long) (next_random(&seed) % 3000000)};

	nanosleep(&moment, NULL);
}

/* Until it stands still, or is dead. */
static bool
is_stopped(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, WUNTRACED) < 0 && errno == EINTR)
		;
	return WIFSTOPPED(status);
}

/* A successor in the slot: what the dead process had counted is the account's now. */
static uint64_t
take_over(PfsArena *arena)
{
	PfsSession *session = fixture_attach(arena, 0, "bob", "h2");
	uint64_t before = table_sum(arena, GLOBAL, "count_star");
	uint64_t wrong = 0;
	uint64_t unstable;

	/* a shared row in which it stood is said to be unstable for ever: a server makes all memory anew */
	wrong += before > progress->begun || before + PFS_UNSUMMED < progress->ended;
	wrong += table_sum(arena, BY_ACCOUNT, "count_star") != before;
	wrong += table_sum(arena, HISTOGRAM, "count_bucket") > progress->begun ||
		table_sum(arena, HISTOGRAM, "count_bucket") + PFS_UNSUMMED < progress->ended;
	wrong += table_sum(arena, DIGESTS, "count_star") > progress->begun ||
		table_sum(arena, DIGESTS, "count_star") + PFS_UNSUMMED < progress->ended;
	wrong += table_count(arena, BY_THREAD) + table_count(arena, "events_statements_current") +
		table_count(arena, "events_statements_history");
	unstable = loss_of(arena, PFS_LOSS_UNSTABLE_READS);
	for (int i = 0; i < 40; i++)
		fixture_statement(session, 0, 1, WAIT, NULL);
	wrong += table_sum(arena, BY_THREAD, "count_star") != 40;
	wrong += table_sum(arena, GLOBAL, "count_star") != before + 40;
	wrong += loss_of(arena, PFS_LOSS_UNSTABLE_READS) != unstable;
	fixture_detach(session);
	return wrong;
}

static void
test_victims(How how)
{
	static const char *const names[WAYS] = {"anywhere", "stopped inside sums", "killed inside sums"};
	PfsSizes sizes = fixture_sizes();
	uint64_t wrong = 0;
	uint64_t stops = 0;
	uint64_t wrong_later = 0;
	uint64_t ended = 0;

	sizes.digests = 2 * KEYS;
	sure = unsure = 0;
	for (int i = 0; i < VICTIMS; i++)
	{
		PfsArena *arena = fixture_shared_arena(&sizes);
		size_t bytes = arena->bytes;
		uint64_t random = next_random(&seed);
		pid_t pid;

		pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_HISTORY_LONG, true);
		*progress = (Progress){0, 0};
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			be_victim(arena, how, random);
		for (int stop = 0; stop < STOPS; stop++)
		{
			if (how == ANYWHERE)
			{
				wait_a_moment();
				kill(pid, SIGSTOP);
			}
			if (!is_stopped(pid))
				break;
			stops++;
			wrong += read_all(arena);
			kill(pid, SIGCONT);
		}
		if (how != DIES_IN_SUM)
		{
			wait_a_moment();
			kill(pid, SIGKILL);
			while (is_stopped(pid))
				;
		}
		wrong += read_all(arena);
		wrong_later += take_over(arena);
		ended += progress->ended;
		munmap(arena, bytes);
	}
	is_u64(wrong, 0, names[how]);
	is_u64(wrong_later, 0, "successors show what was there");
	ok((how == DIES_IN_SUM || stops > VICTIMS) && ended > 100, "%" PRIu64 " times, %" PRIu64 " statements",
	   stops, ended);
	ok(unsure > 0 && (sure > 0 || how == DIES_IN_SUM), "%" PRIu64 " totals were sure, %" PRIu64 " were said not to be",
	   sure, unsure);
}

int
main(void)
{
	alarm(SECONDS_AT_MOST);		/* a reader that does not come back is a failure, too */
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (How how = ANYWHERE; how < WAYS; how++)
		test_victims(how);
	return done_testing();
}
