/*
 * test_rollup_add.c - waits that somebody else than their thread collected: levels, kinds, TRUNCATE.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/rollup.h"

static const char *const tables[PFS_LEVELS] = {
	"events_waits_summary_by_thread_by_event_name",
	"events_waits_summary_by_account_by_event_name",
	"events_waits_summary_by_user_by_event_name",
	"events_waits_summary_by_host_by_event_name",
	"events_waits_summary_global_by_event_name",
};

static void
add(PfsArena *arena, uint32_t account_row, uint32_t wait, uint32_t epoch)
{
	PfsTimerStat stat = {.count = 2, .sum = 50, .min_inverted = UINT64_MAX - 20, .max = 30};

	ok(pfs_rollup_lock(arena, true), "lock");
	pfs_rollup_add_wait(arena, account_row, wait, &stat, epoch);
	pfs_rollup_unlock(arena);
}

static void
check(PfsArena *arena, const uint64_t *counts, const char *when)
{
	for (int level = 0; level < PFS_LEVELS; level++)
		ok(table_sum(arena, tables[level], "count_star") == counts[level], "%s: %s", when, tables[level]);
}

static void
test_levels(uint32_t wait)
{
	static const uint64_t all[] = {0, 2, 2, 2, 2};
	static const uint64_t background[] = {0, 2, 2, 2, 4};
	static const uint64_t truncated[] = {0, 0, 4, 4, 6};
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint32_t account_row = session->thread->account_row;
	uint32_t epoch = arena->reset_now;
	Rows *rows;

	add(arena, account_row, wait, epoch);
	check(arena, all, "an account's");
	rows = rows_of(arena, tables[PFS_LEVEL_USER]);
	is_u64(row_number(rows, 0, "sum_timer_wait"), 50, "sum");
	is_u64(row_number(rows, 0, "min_timer_wait"), 20, "minimum");
	is_u64(row_number(rows, 0, "max_timer_wait"), 30, "maximum");
	rows_free(rows);
	add(arena, 0, wait, epoch);
	check(arena, background, "nobody's");
	add(arena, arena->sizes.accounts + 1, wait, epoch);
	is_u64(table_sum(arena, tables[PFS_LEVEL_GLOBAL], "count_star"), 6, "no such account");
	table_truncate(arena, tables[PFS_LEVEL_GLOBAL]);
	add(arena, account_row, wait, arena->reset_now);
	add(arena, 0, wait, arena->reset_now);
	check(arena, background, "after TRUNCATE");
	epoch = arena->reset_now;
	table_truncate(arena, tables[PFS_LEVEL_ACCOUNT]);
	add(arena, account_row, wait, epoch);
	check(arena, truncated, "collected before a TRUNCATE by account");
	table_truncate(arena, tables[PFS_LEVEL_GLOBAL]);
	add(arena, account_row, wait, epoch);
	is_u64(table_sum(arena, tables[PFS_LEVEL_GLOBAL], "count_star"), 0,
		   "what was collected before a TRUNCATE does not come back");
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_io(void)
{
	PfsArena *arena = fixture_arena(NULL);

	add(arena, 0, FIXTURE_WAIT_FILE, 0);
	add(arena, 0, FIXTURE_WAIT_SOCKET, 0);
	is_u64(table_sum(arena, "file_summary_by_event_name", "count_misc"), 2, "file: misc");
	is_u64(table_sum(arena, "file_summary_by_event_name", "count_read"), 0, "no operation is known");
	is_u64(table_sum(arena, "socket_summary_by_event_name", "sum_timer_misc"), 50, "socket: misc");
	fixture_free(arena);
}

int
main(void)
{
	test_levels(FIXTURE_WAIT_LOCK);
	test_levels(FIXTURE_WAIT_FILE);
	test_levels(FIXTURE_WAIT_SOCKET);
	test_io();
	return done_testing();
}
