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

/* What sums up a journal. */
typedef struct Sums
{
	PfsArena   *arena;
	PfsThread  *thread;
	PfsLongClaims *memory;		/* NULL = there is none */
	uint64_t	ended;
	uint32_t	unusual;		/* flags of records that are added apart */
	uint32_t	samples;		/* so many ... */
	uint64_t	sample[PFS_UNSUMMED];	/* ... numbers of records whose texts may be samples */
} Sums;

/* The rest has no meaning yet. */
static inline void
begin_sums(Sums *sums, PfsArena *arena, PfsThread *thread, PfsLongClaims *memory)
{
	sums->arena = arena;
	sums->thread = thread;
	sums->memory = memory;
	sums->samples = 0;
}

/* What a successor remembers. */
static PfsDigestCell *const nothing_remembered[PFS_SUMS_HOT];

#define UNUSUAL (PFS_RECORD_UNTIMED | PFS_RECORD_FAILED | PFS_RECORD_GLOBAL)

/* An extreme, or news for the row's sample; number: 0 = its text is none. */
static inline void
look_at(Sums *sums, PfsDigestCell *cell, const PfsStatementRecord *record, uint64_t number)
{
	if ((record->used & PFS_RECORD_UNTIMED) == 0)
		pfs_timer_stat_extremes(&cell->stat.timer, record->wait);
	if (number != 0 && pfs_digest_may_sample(cell, record->wait, record->end) && sums->samples < PFS_UNSUMMED &&
		record->text_length != 0)
	{
		pfs_digest_sampled(sums->arena, cell, record->wait, record->end);
		sums->sample[sums->samples++] = number;
	}
	pfs_store(&cell->remarkable, pfs_min(cell->stat.timer.max, cell->sample_wait));
}

static PFS_COLD void
remark(Sums *sums, PfsDigestCell *cell, const PfsStatementRecord *record, uint64_t number)
{
	look_at(sums, cell, record, number);
}

static inline __attribute__((always_inline)) void
add_record(Sums *sums, PfsDigestCell *cell, const PfsStatementRecord *record, uint64_t number, bool usual)
{
	PfsTicks	wait = record->wait;
	PfsTicks	end = record->end;

	pfs_add(&cell->stat.timer.count, 1);
	if (!usual && (record->used & PFS_RECORD_FAILED) != 0)
		pfs_add(&cell->stat.counter[PFS_COUNTER_ERRORS], 1);
	if (usual || (record->used & PFS_RECORD_UNTIMED) == 0)
	{
		pfs_add(&cell->stat.timer.sum, wait);
		pfs_digest_count(sums->arena, sums->thread, cell, pfs_bucket_of_taken(wait));
	}
	if (!usual)
		look_at(sums, cell, record, number);
	else if (pfs_unlikely(wait > cell->remarkable) || pfs_unlikely(!pfs_timer_stat_is_above(&cell->stat.timer, wait)) ||
		pfs_unlikely(end >= cell->sample_due))
		remark(sums, cell, record, number);
	pfs_record_counters_add(cell->stat.counter, record);
	if (pfs_likely(end > cell->last_seen))	/* it may have paused since */
		pfs_store(&cell->last_seen, end);
}

/* Of an owner that is killed from here on this one may be missing, or be there in part, but it is not added again. */
static inline __attribute__((always_inline)) void
begin_record(PfsThread *thread, uint64_t number)
{
	pfs_store(&thread->summing, number);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Adds one whose cell is not known, or that is out of the ordinary; number: 0 = it is not in the journal. */
static inline __attribute__((always_inline)) void
add_apart(Sums *sums, const PfsStatementRecord *record, uint64_t number)
{
	PfsDigestCell **place = sums->memory != NULL ? &sums->memory->cell[record->digest & (PFS_SUMS_HOT - 1)] : NULL;
	PfsDigestRun run;

	if (place != NULL && *place != NULL && (*place)->head.epoch == record->epoch &&
		pfs_digest_cell_takes(*place, record, pfs_variant_of(record->class, record)))
	{
		PfsDigestCell *cell = *place;

		pfs_seq_write_begin(&cell->head.seq);
		if (number != 0)
			begin_record(sums->thread, number);
		add_record(sums, cell, record, number, false);
		if (number != 0)
			pfs_store(&cell->head.last, number);
		pfs_seq_write_end(&cell->head.seq);
		return;
	}
	pfs_digest_open(sums->arena, sums->thread, record, &run);
	/* a later one of its kind may be added there without a further look */
	if (place != NULL && run.cell != &run.aside && !run.lost && run.samples)
		*place = run.cell;
	if (number != 0)
		begin_record(sums->thread, number);
	add_record(sums, run.cell, record, run.samples ? number : 0, false);
	pfs_digest_close(sums->arena, sums->thread, &run, number, 1);
}

/* Is nothing out of the ordinary, and this its cell if the epoch is right? */
static inline __attribute__((always_inline)) bool
is_usual(const PfsDigestCell *cell, const PfsStatementRecord *record, uint32_t unusual)
{
	return pfs_digest_cell_takes(cell, record, record->class) && (record->used & unusual) == 0;
}

/* Those before it are in their cells, which are closed.  Returns what is unusual from now on. */
static PFS_COLD uint32_t
sum_apart(Sums *sums, const PfsStatementRecord *record, uint64_t number)
{
	/* a cell that goes, to make room for another one, takes its number along */
	pfs_store_release(&sums->thread->summed, number - 1);
	if ((record->used & sums->unusual & PFS_RECORD_LONG) != 0)
	{
		/* all that are left, before one of them is summed: readers find them here or there, or twice */
		pfs_history_statements(sums->arena, sums->thread, sums->memory, number, sums->ended);
		sums->unusual &= ~PFS_RECORD_LONG;
	}
	add_apart(sums, record, number);
	return sums->unusual;
}

/* The last one that stands behind this one in the ring, and ended at the same epoch; epochs only grow. */
static inline __attribute__((always_inline)) uint64_t
last_alike(const Sums *sums, uint64_t first, uint32_t epoch)
{
	uint64_t	last = pfs_min(sums->ended, first | (sums->arena->journal_ring - 1));

	while (pfs_unlikely(pfs_journal_record(sums->arena, sums->thread, last)->epoch != epoch) && last > first)
		last--;
	return last;
}

/* Keeps texts as samples: a look at shared rows, and maybe memory of the pool. */
static PFS_COLD void
keep_samples(PfsArena *arena, PfsThread *thread, const Sums *sums)
{
	for (uint32_t i = 0; i < sums->samples; i++)
	{
		const PfsStatementRecord *record = pfs_journal_record(arena, thread, sums->sample[i]);
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
	Sums		sums;

	begin_sums(&sums, arena, thread, long_history);
	pfs_sum_older(arena, thread, record->epoch, long_history);
	add_apart(&sums, record, 0);
}

PFS_HOT void
pfs_sum_journal(PfsArena *arena, PfsThread *thread, PfsLongClaims *long_history)
{
	uint64_t	number = pfs_max(pfs_load(&thread->summed), pfs_load(&thread->summing));
	uint64_t	ended = pfs_load(&thread->ended);
	uint32_t	unusual = UNUSUAL | (long_history != NULL ? PFS_RECORD_LONG : 0);
	PfsDigestCell *const *remembered = long_history != NULL ? long_history->cell : nothing_remembered;
	Sums		sums;

	if (!pfs_thread_has_statements(arena, thread) || pfs_load(&thread->summed) >= ended)
		return;
	if (pfs_unlikely(pfs_load(&thread->summed) / PFS_ANSWERS_REST != ended / PFS_ANSWERS_REST))
		pfs_answers_sum(arena, thread);
	begin_sums(&sums, arena, thread, long_history);
	sums.ended = ended;
	sums.unusual = unusual;
	number = pfs_max(number, ended - pfs_min(ended, (uint64_t) arena->journal_ring));	/* damaged */
	while (number < ended)
	{
		const PfsStatementRecord *record = pfs_journal_record(arena, thread, number + 1);
		uint32_t	epoch = record->epoch;
		const PfsStatementRecord *end = record + (last_alike(&sums, number + 1, epoch) - number);

		while (record != end)
		{
			PfsDigestCell *cell = remembered[record->digest & (PFS_SUMS_HOT - 1)];

			/* it may be another one's by now */
			if (pfs_unlikely(cell == NULL) || pfs_unlikely(cell->head.epoch != epoch) ||
				pfs_unlikely(!is_usual(cell, record, unusual)))
			{
				unusual = sum_apart(&sums, record, ++number);
				record++;
				continue;
			}
			pfs_seq_write_begin(&cell->head.seq);
			do
			{
				begin_record(thread, ++number);
				add_record(&sums, cell, record, number, true);
				record++;
			} while (record != end && is_usual(cell, record, unusual));
			pfs_store(&cell->head.last, number);
			pfs_seq_write_end(&cell->head.seq);
		}
	}
	pfs_store_release(&thread->summed, ended);
	if (pfs_unlikely(sums.samples > 0))
		keep_samples(arena, thread, &sums);
}
