/*
 * summing.c
 *		Adds the records of a journal to the cells of their digests and classes, and to the long history.
 */
#include "core/summing.h"

#include "core/digest.h"

void
pfs_statement_stat_add_record(PfsStatementStat *stat, const PfsStatementRecord *record)
{
	pfs_timer_stat_add(&stat->timer, record->wait);
	pfs_record_counters_add(stat->counter, record);
	if (pfs_unlikely((record->used & PFS_RECORD_FAILED) != 0))
		pfs_add(&stat->counter[PFS_COUNTER_ERRORS], 1);
}

/* Words of a record that tell where it goes, as they stand there side by side. */
static inline uint64_t
digest_of(const PfsStatementRecord *record)
{
	uint64_t	word;

	_Static_assert(offsetof(PfsStatementRecord, digest_generation) == offsetof(PfsStatementRecord, digest) + 4, "");
	memcpy(&word, &record->digest, sizeof(word));
	return word;
}

static inline uint64_t
kind_of(const PfsStatementRecord *record)
{
	static const struct
	{
		uint16_t	class;
		uint16_t	level;
		uint32_t	flags;
	}			parts = {.class = UINT16_MAX,.flags = PFS_RECORD_GLOBAL | PFS_RECORD_TIMED};
	uint64_t	word,
				mask;

	_Static_assert(offsetof(PfsStatementRecord, used) == offsetof(PfsStatementRecord, class) + 4, "");
	memcpy(&word, &record->class, sizeof(word));
	memcpy(&mask, &parts, sizeof(mask));
	return word & mask;
}

/* Are they added together? */
static inline __attribute__((always_inline)) bool
is_like(const PfsStatementRecord *other, const PfsStatementRecord *record)
{
	return record->query_id == other->query_id && digest_of(record) == digest_of(other) &&
		kind_of(record) == kind_of(other) && record->epoch == other->epoch;
}

/*
 * Where records of one kind, one after the other, are added: their cell is open for writing meanwhile.  Most often the
 * session remembers it; then nothing of it is out of the ordinary.
 */
typedef struct Run
{
	bool		remembered;		/* the next one is not used */
	PfsDigestRun of_digest;
} Run;

/* Remembers the cell, if a later run of the same kind may take it without a further look. */
static PFS_COLD PfsDigestCell *
find_cell(PfsArena *arena, PfsThread *thread, Run *run, const PfsStatementRecord *record, PfsLongClaims *memory)
{
	PfsDigestRun *of = &run->of_digest;

	run->remembered = false;
	pfs_digest_open(arena, thread, record, of);
	if (memory != NULL && of->cell != &of->aside && !of->lost && of->samples)
		memory->cell[record->digest & (PFS_SUMS_HOT - 1)] = of->cell;
	return of->cell;
}

/* A cell that is remembered may be another one's by now: it is asked. */
static inline __attribute__((always_inline)) PfsDigestCell *
begin_run(PfsArena *arena, PfsThread *thread, Run *run, const PfsStatementRecord *record, PfsLongClaims *memory)
{
	PfsDigestCell *cell = memory != NULL ? memory->cell[record->digest & (PFS_SUMS_HOT - 1)] : NULL;

	if (pfs_unlikely(cell == NULL) || pfs_unlikely(!pfs_digest_cell_takes(cell, record)))
		return find_cell(arena, thread, run, record, memory);
	run->remembered = true;
	pfs_seq_write_begin(&cell->head.seq);
	return cell;
}

/* first, last: numbers of the records; 0 = it is not in the journal. */
static inline __attribute__((always_inline)) void
end_run(PfsArena *arena, PfsThread *thread, Run *run, PfsDigestCell *cell, uint64_t first, uint64_t last)
{
	if (pfs_likely(run->remembered))
	{
		if (last != 0)
			pfs_store(&cell->head.last, last);
		pfs_seq_write_end(&cell->head.seq);
	}
	else
		pfs_digest_close(arena, thread, &run->of_digest, last, last - first + 1);
	if (last != 0)
		pfs_store_release(&thread->summed, last);
}

/* Failed, or not timed.  False: it has no time for the histogram. */
static __attribute__((noinline)) bool
add_unusual(PfsDigestCell *cell, const PfsStatementRecord *record)
{
	if ((record->used & PFS_RECORD_FAILED) != 0)
		pfs_add(&cell->stat.counter[PFS_COUNTER_ERRORS], 1);
	return (record->used & PFS_RECORD_TIMED) != 0;
}

/* True: its text may be worth a sample. */
static inline __attribute__((always_inline)) bool
add_record(PfsArena *arena, PfsThread *thread, PfsDigestCell *cell, const PfsStatementRecord *record)
{
	uint32_t	used = record->used;
	PfsTicks	wait = record->wait;
	PfsTicks	end = record->end;

	pfs_add(&cell->stat.timer.count, 1);
	if (pfs_likely((used & (PFS_RECORD_TIMED | PFS_RECORD_FAILED)) == PFS_RECORD_TIMED) || add_unusual(cell, record))
	{
		pfs_add(&cell->stat.timer.sum, wait);
		pfs_timer_stat_extremes(&cell->stat.timer, wait);
		pfs_digest_count(arena, thread, cell, pfs_bucket_of(wait));
	}
	pfs_record_counters_add(cell->stat.counter, record);
	if (pfs_likely(end > cell->last_seen))	/* it may have paused since */
		pfs_store(&cell->last_seen, end);
	return pfs_unlikely(pfs_digest_may_sample(cell, wait, end));
}

/* Numbers of records whose texts may be samples. */
typedef struct Samples
{
	uint32_t	count;
	uint64_t	number[PFS_UNSUMMED];
} Samples;

static PFS_COLD void
note_sample(const PfsArena *arena, const Run *run, PfsDigestCell *cell, const PfsStatementRecord *record,
			uint64_t number, Samples *samples)
{
	if ((!run->remembered && !run->of_digest.samples) || samples->count == PFS_UNSUMMED || record->text_length == 0)
		return;
	pfs_digest_sampled(arena, cell, record->wait, record->end);
	samples->number[samples->count++] = number;
}

/* Keeps texts as samples: a look at shared rows, and maybe memory of the pool. */
static void
keep_samples(PfsArena *arena, PfsThread *thread, const Samples *samples)
{
	for (uint32_t i = 0; i < samples->count; i++)
	{
		const PfsStatementRecord *record = pfs_journal_record(arena, thread, samples->number[i]);
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
	PfsDigestCell *cell;
	Run			run;

	pfs_sum_older(arena, thread, record->epoch, long_history);
	cell = begin_run(arena, thread, &run, record, long_history);
	(void) add_record(arena, thread, cell, record);
	end_run(arena, thread, &run, cell, 0, 0);
}

void
pfs_sum_journal(PfsArena *arena, PfsThread *thread, PfsLongClaims *long_history)
{
	const PfsStatementRecord *ring = pfs_journal_record(arena, thread, 0);
	const PfsStatementRecord *record;
	uint32_t	mask = arena->journal_ring - 1;
	uint64_t	number = pfs_max(pfs_load(&thread->summed), pfs_load(&thread->summing));
	uint64_t	ended = pfs_load(&thread->ended);
	Samples		samples;
	Run			run;
	uint32_t	keeps = long_history != NULL ? PFS_RECORD_LONG : 0;

	samples.count = 0;
	pfs_answers_sum(arena, thread);
	if (!pfs_thread_has_statements(arena, thread) || pfs_load(&thread->summed) >= ended)
		return;
	number = pfs_max(number, ended - pfs_min(ended, (uint64_t) arena->journal_ring));	/* damaged */
	record = &ring[(number + 1) & mask];
	while (number < ended)
	{
		PfsDigestCell *cell = begin_run(arena, thread, &run, record, long_history);
		const PfsStatementRecord *like = record;
		uint64_t	first = number + 1;

		do
		{
			/*
			 * Of an owner that is killed from here on this one may be missing, or be there in part, but it is not
			 * added again.
			 */
			pfs_store(&thread->summing, ++number);
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
			if (pfs_unlikely((record->used & keeps) != 0))
			{
				/* all that are left, before one of them is summed: readers find them here or there, or twice */
				pfs_history_statements(arena, thread, long_history, number, ended);
				keeps = 0;
			}
			if (add_record(arena, thread, cell, record))
				note_sample(arena, &run, cell, record, number, &samples);
			if (number == ended)
				break;
			record = &ring[(number + 1) & mask];
		} while (is_like(like, record));
		end_run(arena, thread, &run, cell, first, number);
	}
	pfs_store_release(&thread->summed, ended);
	if (pfs_unlikely(samples.count > 0))
		keep_samples(arena, thread, &samples);
}
