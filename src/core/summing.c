/*
 * summing.c
 *		Adds the records of a journal to the cells of their class and digest, to the histogram and to
 *		the long history.
 */
#include "core/summing.h"

#include "core/digest.h"
#include "core/rollup.h"

void
pfs_statement_stat_add_record(PfsStatementStat *stat, const PfsStatementRecord *record)
{
	pfs_timer_stat_add(&stat->timer, record->wait);
	for (uint32_t used = record->used & PFS_USED_MASK; used != 0; used &= used - 1)
	{
		int			i = __builtin_ctz(used);

		pfs_add(&stat->counter[i], record->counter[i]);
	}
	if (pfs_unlikely((record->used & PFS_RECORD_FAILED) != 0))
		pfs_add(&stat->counter[PFS_COUNTER_ERRORS], 1);
}

/* Do two records go to the same cells? */
static inline bool
goes_with(const PfsStatementSum *sum, const PfsStatementRecord *record)
{
	return record->digest == sum->digest && record->query_id == sum->query_id &&
		record->class == sum->class && record->epoch == sum->epoch &&
		record->digest_generation == sum->digest_generation &&
		((record->used ^ sum->flags) & (PFS_RECORD_GLOBAL | PFS_RECORD_TIMED)) == 0;
}

static void
begin_sum(PfsStatementSum *sum, const PfsStatementRecord *record)
{
	sum->query_id = record->query_id;
	sum->digest = record->digest;
	sum->digest_generation = record->digest_generation;
	sum->epoch = record->epoch;
	sum->class = record->class;
	sum->flags = record->used;
	sum->used = 0;
	sum->count = 0;
	sum->timer = (PfsTimerStat) {0};
	sum->last_seen = 0;
	sum->slowest = 0;
}

static inline __attribute__((always_inline)) void
add_record(PfsStatementSum *sum, const PfsStatementRecord *record, uint64_t number)
{
	uint32_t	used = record->used & PFS_USED_MASK;

	PfsTicks	wait = record->wait;

	for (uint32_t left = used; left != 0; left &= left - 1)
	{
		int			i = __builtin_ctz(left);

		sum->counter[i] = record->counter[i] + ((sum->used >> i & 1) != 0 ? sum->counter[i] : 0);
	}
	sum->used |= used;
	if (pfs_unlikely((record->used & PFS_RECORD_FAILED) != 0))
	{
		if ((sum->used & 1u << PFS_COUNTER_ERRORS) == 0)
			sum->counter[PFS_COUNTER_ERRORS] = 0;
		sum->counter[PFS_COUNTER_ERRORS]++;
		sum->used |= 1u << PFS_COUNTER_ERRORS;
	}
	if ((wait > sum->slowest_wait || sum->slowest == 0) && record->text_length > 0)
	{
		sum->slowest = number;
		sum->slowest_wait = record->wait;
		sum->slowest_end = record->end;
	}
	sum->timer.count++;
	if (wait != 0)
	{
		sum->timer.sum += wait;
		sum->timer.min_inverted = pfs_max(sum->timer.min_inverted, UINT64_MAX - wait);
		sum->timer.max = pfs_max(sum->timer.max, wait);
	}
	sum->bucket[sum->count++] = (uint16_t) pfs_bucket_of(record->wait);
	sum->last_seen = pfs_max(sum->last_seen, record->end);	/* it may have paused since */
	sum->last = number;
}

/* The thread's cell of the sum's class and its histogram. */
static void
add_to_class(PfsArena *arena, PfsThread *thread, const PfsStatementSum *sum)
{
	uint32_t	class = sum->class < arena->sizes.statement_classes ? sum->class : 0;
	PfsScope	scope = (sum->flags & PFS_RECORD_GLOBAL) != 0 ? PFS_SCOPE_GLOBAL : PFS_SCOPE_THREAD;
	PfsStatementCell *cell = pfs_cell_at(arena, thread, scope, PFS_FAMILY_STATEMENTS, class,
										 sizeof(*cell), sum->epoch);
	uint64_t   *histogram;

	if (pfs_likely(cell != NULL))
	{
		pfs_seq_write_begin(&cell->head.seq);
		pfs_statement_stat_add(&cell->stat, &sum->timer, sum->counter, sum->used);
		if (sum->last != 0)
			pfs_store(&cell->head.last, sum->last);
		pfs_seq_write_end(&cell->head.seq);
	}
	else						/* one has been counted */
		pfs_add_shared(&arena->loss[PFS_LOSS_CELLS], sum->count - 1);
	if ((sum->flags & PFS_RECORD_TIMED) == 0)
		return;
	pfs_seq_write_begin(&thread->histogram_seq);
	histogram = pfs_histogram_cell(arena, thread, sum->epoch);
	for (uint32_t i = 0; i < sum->count; i++)
		pfs_add(&histogram[sum->bucket[i]], 1);
	if (sum->last != 0)
		pfs_store(&thread->histogram_last, sum->last);
	pfs_seq_write_end(&thread->histogram_seq);
}

/*
 * Number of the record that may be worth a sample of its digest, 0 = none.  Of an owner that is killed here some
 * may be missing then, but none is added again.
 */
static uint64_t
add_sum(PfsArena *arena, PfsThread *thread, const PfsStatementSum *sum)
{
	bool		sample;

	if (sum->last != 0)
		pfs_store(&thread->summing, sum->last);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	add_to_class(arena, thread, sum);
	sample = sum->digest != PFS_DIGEST_NONE && pfs_digest_add(arena, thread, sum);
	if (sum->last != 0)
		pfs_store_release(&thread->summed, sum->last);
	return sample ? sum->slowest : 0;
}

/* Keeps texts as samples: a look at shared rows, and maybe memory of the pool. */
static void
keep_samples(PfsArena *arena, PfsThread *thread, const uint64_t *sample, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
	{
		const PfsStatementRecord *record = pfs_journal_record(arena, thread, sample[i]);
		uint32_t	length = pfs_journal_text_left(arena, thread, record->text, record->text_length,
												   arena->sizes.sql_text_length);

		if (record->digest > PFS_DIGEST_OTHERS)
			pfs_digest_sample(arena, record->digest, record->digest_generation,
							  pfs_journal_texts(arena, thread) + (record->text & (arena->journal_texts - 1)),
							  length, record->wait, record->end);
	}
}

void
pfs_sum_older(PfsArena *arena, PfsThread *thread, uint32_t epoch, PfsLongClaims *long_history)
{
	uint64_t	summed = pfs_load(&thread->summed);

	/* epochs only grow: the oldest one tells */
	if (pfs_load(&thread->ended) > summed && pfs_thread_has_statements(arena, thread) &&
		pfs_load(&pfs_journal_record(arena, thread, summed + 1)->epoch) != epoch)
		pfs_sum_journal(arena, thread, long_history);
}

void
pfs_sum_record(PfsArena *arena, PfsThread *thread, const PfsStatementRecord *record,
			   PfsLongClaims *long_history)
{
	PfsStatementSum sum;

	pfs_sum_older(arena, thread, record->epoch, long_history);
	begin_sum(&sum, record);
	add_record(&sum, record, 0);
	(void) add_sum(arena, thread, &sum);
}

void
pfs_sum_journal(PfsArena *arena, PfsThread *thread, PfsLongClaims *long_history)
{
	uint64_t	number = pfs_max(pfs_load(&thread->summed), pfs_load(&thread->summing));
	uint64_t	ended = pfs_load(&thread->ended);
	uint64_t	sample[PFS_UNSUMMED];
	uint32_t	samples = 0;
	PfsStatementSum sum;

	pfs_answers_sum(arena, thread);
	if (!pfs_thread_has_statements(arena, thread) || pfs_load(&thread->summed) >= ended)
		return;
	number = pfs_max(number, ended - pfs_min(ended, (uint64_t) arena->journal_ring));	/* damaged */
	sum.count = 0;
	while (number++ < ended)	/* none, if a predecessor was killed at its end */
	{
		const PfsStatementRecord *record = pfs_journal_record(arena, thread, number);

		if (sum.count > 0 && (sum.count == PFS_UNSUMMED || !goes_with(&sum, record)))
		{
			uint64_t	slowest = add_sum(arena, thread, &sum);

			if (pfs_unlikely(slowest != 0) && samples < PFS_UNSUMMED)
				sample[samples++] = slowest;
			sum.count = 0;
		}
		if (sum.count == 0)
			begin_sum(&sum, record);
		add_record(&sum, record, number);
		if (pfs_unlikely((record->used & PFS_RECORD_LONG) != 0) && long_history != NULL &&
			record->event_id != 0 && arena->sizes.statements_history_long > 0)
			pfs_history_statement(arena, thread, long_history, record);
	}
	number = sum.count > 0 ? add_sum(arena, thread, &sum) : 0;
	pfs_store_release(&thread->summed, ended);
	if (number != 0 && samples < PFS_UNSUMMED)
		sample[samples++] = number;
	if (pfs_unlikely(samples > 0))
		keep_samples(arena, thread, sample, samples);
}
