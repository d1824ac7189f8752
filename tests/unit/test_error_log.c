/*
 * test_error_log.c - the ring of the server's log: the newest messages in order, whole under readers, nobody waits.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/error_log.h"

#define LOG "error_log"
#define WRITERS 4
#define MESSAGES 20000

/* All of its bytes say its number. */
static void
add(const PfsErrorLog *log, uint32_t number)
{
	PfsLogMessage message = {.pid = number,.message_length = PFS_LOG_TEXT_LENGTH,.severity = PFS_LOG_LOG};

	memset(message.text, 'a' + (int) (number % 26), sizeof(message.text));
	memset(message.subsystem, 'a' + (int) (number % 26), sizeof(message.subsystem) - 1);
	pfs_error_log_add(log, &message);
}

static bool
is_whole(const Rows *rows, int row)
{
	const char *text = row_text(rows, row, "data");
	char wanted = (char) ('a' + row_number(rows, row, "pid") % 26);

	if (text == NULL || strlen(text) != PFS_LOG_TEXT_LENGTH || row_text(rows, row, "subsystem")[0] != wanted)
		return false;
	for (int i = 0; i < PFS_LOG_TEXT_LENGTH; i++)
		if (text[i] != wanted)
			return false;
	return true;
}

static void
test_order(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsErrorLog log = pfs_error_log(arena);
	Rows *rows = rows_of(arena, LOG);
	bool in_order = true;

	is_u64((uint64_t) rows->count, 0, "nothing at first");
	rows_free(rows);
	for (uint32_t i = 1; i <= 3; i++)
		add(&log, i);
	rows = rows_of(arena, LOG);
	is_u64((uint64_t) rows->count, 3, "three messages");
	is_u64(row_number(rows, 0, "pid"), 1, "the oldest one first");
	rows_free(rows);
	for (uint32_t i = 4; i <= 20; i++)
		add(&log, i);
	rows = rows_of(arena, LOG);
	is_u64((uint64_t) rows->count, log.size, "as many as there is room for");
	for (int i = 0; i < rows->count; i++)
		in_order = in_order && row_number(rows, i, "pid") == 20 - log.size + 1 + (uint32_t) i && is_whole(rows, i);
	ok(in_order, "the newest ones, in order");
	rows_free(rows);
	fixture_free(arena);
}

/* A writer that stands still, or died, in a row. */
static void
test_stuck_row(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsErrorLog log = pfs_error_log(arena);
	Rows *rows;

	add(&log, 1);
	log.rows[0].stamp = 1;
	rows = rows_of(arena, LOG);
	is_u64((uint64_t) rows->count, 0, "a row that is being written is not shown");
	rows_free(rows);
	for (uint32_t i = 2; i <= 1 + log.size; i++)
		add(&log, i);
	is_u64(loss_of(arena, PFS_LOSS_ERROR_LOG), 1, "who comes to it waits not, and the loss is counted");
	rows = rows_of(arena, LOG);
	is_u64((uint64_t) rows->count, log.size - 1, "all others are there");
	rows_free(rows);
	fixture_free(arena);
}

/* Its writer trusts nothing there, its reader no length. */
static void
test_damaged(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsErrorLog log = pfs_error_log(arena);
	Rows *rows;

	add(&log, 1);
	log.rows[0].message.message_length = log.rows[0].message.detail_length = UINT16_MAX;
	log.rows[0].message.severity = UINT8_MAX;
	memset(log.rows[0].message.subsystem, 'x', PFS_LOG_SUBSYSTEM_LENGTH);
	rows = rows_of(arena, LOG);
	is_u64(strlen(row_text(rows, 0, "data")), PFS_LOG_TEXT_LENGTH, "a length that is too large is cut");
	is_str(row_text(rows, 0, "detail"), NULL, "and that of the detail");
	is_str(row_text(rows, 0, "severity"), NULL, "no severity of this number");
	is_u64(strlen(row_text(rows, 0, "subsystem")), PFS_LOG_SUBSYSTEM_LENGTH, "a string that does not end");
	rows_free(rows);
	arena->sizes.error_log = UINT32_MAX;
	arena->error_log = UINT64_MAX / 2;
	log.ring->next = UINT64_MAX - 1;
	for (uint32_t i = 0; i < 2 * log.size; i++)
		add(&log, i);
	ok(true, "who writes knows its size and place");
	fixture_free(arena);
}

static void *
write_messages(void *argument)
{
	const PfsErrorLog *log = argument;

	for (uint32_t i = 0; i < MESSAGES; i++)
		add(log, i);
	return NULL;
}

static void
test_many_writers(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsErrorLog log = pfs_error_log(arena);
	pthread_t thread[WRITERS];
	uint64_t lost;
	int torn = 0;

	for (int i = 0; i < WRITERS; i++)
		pthread_create(&thread[i], NULL, write_messages, &log);
	for (uint64_t reads = 0; pfs_load(&log.ring->next) < (uint64_t) WRITERS * MESSAGES || reads == 0; reads++)
	{
		Rows *rows = rows_of(arena, LOG);

		for (int i = 0; i < rows->count; i++)
			torn += !is_whole(rows, i);
		rows_free(rows);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	is_u64((uint64_t) torn, 0, "each message that is read is whole");
	is_u64(pfs_load(&log.ring->next), (uint64_t) WRITERS * MESSAGES, "all have had a row, or counted its loss");
	lost = loss_of(arena, PFS_LOSS_ERROR_LOG);
	ok(lost < (uint64_t) WRITERS * MESSAGES / 2, "few are lost: %" PRIu64, lost);
	fixture_free(arena);
}

int
main(void)
{
	test_order();
	test_stuck_row();
	test_damaged();
	test_many_writers();
	return done_testing();
}
