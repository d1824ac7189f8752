/*
 * test_stat.c - adding and merging of statistics.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/statement.h"

static void
test_timer_stat(void)
{
	PfsTimerStat stat = {0};

	is_u64(pfs_timer_stat_min(&stat), 0, "no minimum without events");
	pfs_timer_stat_add(&stat, 0);
	is_u64(stat.count, 1, "an untimed event counts");
	ok(stat.sum == 0 && stat.max == 0 && pfs_timer_stat_min(&stat) == 0, "but leaves the times");
	pfs_timer_stat_add(&stat, 30);
	pfs_timer_stat_add(&stat, 10);
	pfs_timer_stat_add(&stat, 20);
	is_u64(stat.count, 4, "count");
	is_u64(stat.sum, 60, "sum");
	is_u64(pfs_timer_stat_min(&stat), 10, "minimum: the untimed event is not one");
	is_u64(stat.max, 30, "maximum");
	pfs_timer_stat_add(&stat, 1);
	is_u64(pfs_timer_stat_min(&stat), 1, "the shortest event there is");
}

static void
test_timer_merge(void)
{
	PfsTimerStat empty = {0};
	PfsTimerStat a = {0};
	PfsTimerStat b = {0};

	pfs_timer_stat_add(&a, 5);
	pfs_timer_stat_add(&a, 9);
	pfs_timer_stat_add(&b, 7);
	pfs_timer_stat_merge(&a, &empty);
	ok(a.count == 2 && a.sum == 14 && a.max == 9 && pfs_timer_stat_min(&a) == 5,
	   "merging nothing changes nothing");
	pfs_timer_stat_merge(&empty, &b);
	ok(empty.count == 1 && pfs_timer_stat_min(&empty) == 7 && empty.max == 7,
	   "merging into nothing copies");
	pfs_timer_stat_merge(&a, &b);
	ok(a.count == 3 && a.sum == 21 && a.max == 9 && pfs_timer_stat_min(&a) == 5, "merging");
}

/* A counter of which only a bit says that it is 1. */
static void
test_ones(void)
{
	uint64_t sum[PFS_COUNTERS] = {0};
	uint64_t wrong = 0;
	uint32_t bits = 0;
	PfsStatementRecord record;
	PfsStatement statement = {.record = &record};

	memset(&record, 0xaa, sizeof(record));
	for (int i = 0; i < PFS_COUNTERS; i++)
	{
		uint32_t bit = pfs_one_bit(i);

		wrong += (bits & bit) != 0 || (bit & ~PFS_RECORD_ONES) != 0;
		bits |= bit;
		record.used = bit;
		pfs_record_counters_add(sum, &record);
		for (int other = 0; other < PFS_COUNTERS; other++)
			wrong += pfs_record_counter(&record, other) != (bit != 0 && other == i);
	}
	is_u64(wrong, 0, "each says so of its own");
	ok(bits == PFS_RECORD_ONES && pfs_one_bit(PFS_COUNTER_SELECT_RANGE) != 0 && pfs_one_bit(PFS_COUNTER_SORT_SCAN) != 0,
	   "all bits serve");
	for (int i = 0; i < PFS_COUNTERS; i++)
		wrong += sum[i] != (pfs_one_bit(i) != 0);
	is_u64(wrong, 0, "they are added");
	record.used = PFS_RECORD_ONES;
	pfs_statement_set(&statement, PFS_COUNTER_SELECT_SCAN, 5);
	is_u64(pfs_record_counter(&record, PFS_COUNTER_SELECT_SCAN), 5, "a value takes the place of the bit");
	pfs_statement_set(&statement, PFS_COUNTER_SORT_RANGE, 0);
	is_u64(pfs_record_counter(&record, PFS_COUNTER_SORT_RANGE), 1, "0 sets nothing");
	pfs_statement_count(&statement, PFS_COUNTER_SELECT_RANGE, 3);
	is_u64(pfs_record_counter(&record, PFS_COUNTER_SELECT_RANGE), 4, "more is added to it");
	pfs_statement_set(&statement, PFS_COUNTER_ROWS_SENT, 7);
	pfs_record_counters_add(sum, &record);
	ok(sum[PFS_COUNTER_SELECT_SCAN] == 6 && sum[PFS_COUNTER_SELECT_RANGE] == 5 && sum[PFS_COUNTER_SORT_RANGE] == 2 &&
	   sum[PFS_COUNTER_ROWS_SENT] == 7, "and the sums have both");
}

static void
test_statement_stat(void)
{
	PfsStatementStat stat = {0};
	PfsStatementStat sum = {0};
	PfsStatementStat shared = {0};
	PfsStatementRecord record = {.used = 1u << PFS_COUNTER_ROWS_AFFECTED | 1u | PFS_RECORD_FAILED};

	for (int i = 0; i < PFS_COUNTERS_KEPT; i++)
		record.counter[i] = 100 + (uint64_t) i;
	pfs_record_counters_add(stat.counter, &record);
	is_u64(stat.counter[PFS_COUNTER_ROWS_AFFECTED], 100 + PFS_COUNTER_ROWS_AFFECTED, "a used counter");
	is_u64(stat.counter[0], 100, "the first counter");
	is_u64(stat.counter[PFS_COUNTER_ROWS_EXAMINED], 0, "an unused counter is not looked at");
	record.used = PFS_USED_MASK;
	pfs_record_counters_add(stat.counter, &record);
	is_u64(stat.counter[PFS_COUNTERS_KEPT - 1], 100 + PFS_COUNTERS_KEPT - 1, "the last counter");
	for (PfsTicks wait = 50; wait <= 70; wait += 10)
		pfs_timer_stat_add(&stat.timer, wait);
	record.used = 0xff000000;
	pfs_record_counters_add(stat.counter, &record);
	for (int i = 0; i < 3; i++)
	{
		pfs_statement_stat_merge(&sum, &stat);
		pfs_statement_stat_merge_shared(&shared, &stat);
	}
	ok(memcmp(&sum, &shared, sizeof(sum)) == 0, "both merges say the same");
	is_u64(sum.counter[0], 3 * 200, "counters are added");
	ok(sum.timer.count == 9 && sum.timer.sum == 540 && sum.timer.max == 70 &&
		   pfs_timer_stat_min(&sum.timer) == 50,
	   "and times");
}

static void
test_other_stats(void)
{
	PfsTransactionStat transaction = {0};
	PfsTransactionStat more = {0};
	PfsErrorStat error = {0};
	PfsErrorStat early = {.raised = 1, .handled = 2, .first_seen = 10, .last_seen = 20};
	PfsErrorStat late = {.raised = 3, .first_seen = 15, .last_seen = 40};

	pfs_timer_stat_add(&more.read_write, 5);
	pfs_timer_stat_add(&more.read_only, 6);
	pfs_transaction_stat_merge(&transaction, &more);
	pfs_transaction_stat_merge(&transaction, &more);
	ok(transaction.read_write.sum == 10 && transaction.read_only.sum == 12, "transactions");
	pfs_error_stat_merge(&error, &late);
	pfs_error_stat_merge(&error, &(PfsErrorStat){0});
	ok(error.first_seen == 15 && error.last_seen == 40, "errors never seen change no moment");
	pfs_error_stat_merge(&error, &early);
	ok(error.raised == 4 && error.handled == 2 && error.first_seen == 10 && error.last_seen == 40,
	   "first, last and counts of errors");
}

static void *
merge_often(void *argument)
{
	PfsStatementStat one = {.timer = {1, 7, UINT64_MAX - 7, 7}, .counter = {[3] = 2}};

	for (int i = 0; i < 20000; i++)
		pfs_statement_stat_merge_shared(*(PfsStatementStat **) argument, &one);
	return NULL;
}

static void
test_shared(void)
{
	PfsStatementStat sum = {0};
	PfsStatementStat *to[4] = {&sum, &sum, &sum, &sum};

	run_threads(4, merge_often, to, sizeof(to[0]));
	ok(sum.timer.count == 80000 && sum.timer.sum == 560000 && sum.counter[3] == 160000,
	   "shared merges of four threads lose nothing");
}

int
main(void)
{
	test_timer_stat();
	test_timer_merge();
	test_ones();
	test_statement_stat();
	test_other_stats();
	test_shared();
	return done_testing();
}
