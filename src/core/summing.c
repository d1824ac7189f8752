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
	pfs_statement_stat_add(stat, NULL, record->wait, record->counter, record->used & PFS_USED_MASK);
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

/*
 * Where records of one kind, one after the other, are added: the cells are open for writing meanwhile.  What is the
 * same for all of the kind stands in "like", most often where the session remembers it.
 */
typedef struct Run
{
	const PfsSumHot *like;
	uint64_t	first;			/* number of the first record, 0 = not in the journal */
	PfsStatementCell *cell;		/* of the class */
	PfsDigestCell *digest_cell;
	uint64_t   *histogram;		/* the thread's; NULL: not timed */
	bool		digest_histogram;
	bool		remembered;		/* "of_digest" is not used: nothing of it is out of the ordinary */
	PfsSumHot	own;
	PfsDigestRun of_digest;
	PfsStatementCell nowhere;
} Run;

static inline bool
is_like(const PfsSumHot *like, const PfsStatementRecord *record)
{
	return record->query_id == like->query_id && digest_of(record) == like->digest &&
		kind_of(record) == like->kind && record->epoch == like->epoch;
}

/* There is no room for a cell: the first one has been counted. */
static PFS_COLD PfsStatementCell *
no_cell(Run *run)
{
	memset(&run->nowhere, 0, sizeof(run->nowhere));
	return &run->nowhere;
}

/* Remembers the cells, if a later run of the same kind may take them without a further look. */
static inline void
remember_run(const Run *run, PfsSumHot *hot)
{
	hot->cell = NULL;
	if (run->cell != &run->nowhere && run->digest_cell != &run->of_digest.aside && !run->of_digest.lost &&
		run->of_digest.samples && run->histogram != NULL && run->digest_histogram)
		*hot = run->own;
}

/*
 * The same cells as last time: nothing was reset since, the cell is still this digest's.  A class's cell is the
 * thread's as long as it lives.
 */
static inline bool
is_hot(const PfsArena *arena, const PfsSumHot *hot, const PfsStatementRecord *record)
{
	const PfsDigestCell *cell = hot->digest_cell;

	return hot->cell != NULL && is_like(hot, record) && hot->epoch == pfs_load_acquire(&arena->reset_now) &&
		pfs_load(&cell->head.key) == hot->query_id && pfs_load(&cell->head.use) == record->digest_generation &&
		pfs_load(&cell->head.epoch) == hot->epoch;
}

static PFS_COLD void
find_cells(PfsArena *arena, PfsThread *thread, Run *run, const PfsStatementRecord *record, PfsSumHot *hot)
{
	uint32_t	class = record->class < arena->sizes.statement_classes ? record->class : 0;
	PfsScope	scope = (record->used & PFS_RECORD_GLOBAL) != 0 ? PFS_SCOPE_GLOBAL : PFS_SCOPE_THREAD;
	PfsStatementCell *cell = pfs_cell_at(arena, thread, scope, PFS_FAMILY_STATEMENTS, class,
										 sizeof(*cell), record->epoch);

	run->cell = pfs_likely(cell != NULL) ? cell : no_cell(run);
	pfs_digest_open(arena, thread, record, &run->of_digest);
	run->digest_cell = run->of_digest.cell;
	run->remembered = false;
	run->own = (PfsSumHot)
	{
		.query_id = record->query_id,.digest = digest_of(record),.kind = kind_of(record),.epoch = record->epoch,
			.cell = run->cell,.digest_cell = run->digest_cell
	};
	run->like = &run->own;
	pfs_seq_write_begin(&run->cell->head.seq);
	run->histogram = NULL;
	if (pfs_likely((record->used & PFS_RECORD_TIMED) != 0))
	{
		pfs_seq_write_begin(&thread->histogram_seq);
		run->histogram = pfs_histogram_cell(arena, thread, record->epoch);
		run->digest_histogram = run->of_digest.row != PFS_DIGEST_NONE &&
			record->epoch >= pfs_load(&arena->reset_of[PFS_RESET_DIGEST_HISTOGRAMS]);
	}
	if (hot != NULL)
		remember_run(run, hot);
}

static inline void
begin_run(PfsArena *arena, PfsThread *thread, Run *run, const PfsStatementRecord *record, uint64_t number,
		  PfsLongClaims *memory)
{
	PfsSumHot  *hot = memory == NULL ? NULL : &memory->hot[record->digest & (PFS_SUMS_HOT - 1)];

	run->first = number;
	if (pfs_unlikely(hot == NULL || !is_hot(arena, hot, record)))
	{
		find_cells(arena, thread, run, record, hot);
		return;
	}
	run->like = hot;
	run->cell = hot->cell;
	run->digest_cell = hot->digest_cell;
	run->histogram = thread->histogram;
	run->digest_histogram = run->remembered = true;
	pfs_seq_write_begin(&run->digest_cell->head.seq);
	pfs_seq_write_begin(&run->cell->head.seq);
	pfs_seq_write_begin(&thread->histogram_seq);
}

static PFS_COLD void
end_unusual(PfsArena *arena, PfsThread *thread, Run *run, uint64_t last)
{
	uint64_t	count = last == 0 ? 1 : last - run->first + 1;

	if (run->cell == &run->nowhere)
		pfs_add_shared(&arena->loss[PFS_LOSS_CELLS], count - 1);
	pfs_digest_close(arena, thread, &run->of_digest, last, count);
}

/* last: 0 = the record is not in the journal. */
static inline void
end_run(PfsArena *arena, PfsThread *thread, Run *run, uint64_t last)
{
	if (pfs_likely(last != 0))
	{
		pfs_store(&run->cell->head.last, last);
		pfs_store(&run->digest_cell->head.last, last);
		pfs_store(&thread->histogram_last, last);
	}
	if (pfs_likely(run->histogram != NULL))
		pfs_seq_write_end(&thread->histogram_seq);
	pfs_seq_write_end(&run->cell->head.seq);
	if (pfs_likely(run->remembered))
		pfs_seq_write_end(&run->digest_cell->head.seq);
	else
		end_unusual(arena, thread, run, last);
	if (last != 0)
		pfs_store_release(&thread->summed, last);
}

/* True: its text may be worth a sample. */
static inline __attribute__((always_inline)) bool
add_record(PfsArena *arena, Run *run, const PfsStatementRecord *record)
{
	PfsDigestCell *cell = run->digest_cell;
	uint32_t	used = record->used;
	PfsTicks	wait = record->wait;
	PfsTicks	end = record->end;

	pfs_statement_stat_add(&run->cell->stat, &cell->stat, wait, record->counter, used & PFS_USED_MASK);
	if (pfs_unlikely((used & PFS_RECORD_FAILED) != 0))
	{
		pfs_add(&run->cell->stat.counter[PFS_COUNTER_ERRORS], 1);
		pfs_add(&cell->stat.counter[PFS_COUNTER_ERRORS], 1);
	}
	if (pfs_likely(run->histogram != NULL))
	{
		size_t		bucket = pfs_bucket_of(wait);

		pfs_add(&run->histogram[bucket], 1);
		if (pfs_likely(run->digest_histogram))
			pfs_digest_count(arena, cell, bucket);
	}
	if (pfs_likely(end > pfs_load(&cell->last_seen)))	/* it may have paused since */
		pfs_store(&cell->last_seen, end);
	return pfs_unlikely(pfs_digest_may_sample(cell, wait, end)) && record->text_length > 0;
}

/* Numbers of records whose texts may be samples. */
typedef struct Samples
{
	uint32_t	count;
	uint64_t	number[PFS_UNSUMMED];
} Samples;

static PFS_COLD void
note_sample(const PfsArena *arena, const Run *run, const PfsStatementRecord *record, uint64_t number,
			Samples *samples)
{
	if ((!run->remembered && !run->of_digest.samples) || samples->count == PFS_UNSUMMED)
		return;
	pfs_digest_sampled(arena, run->digest_cell, record->wait, record->end);
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
	Run			run;

	pfs_sum_older(arena, thread, record->epoch, long_history);
	begin_run(arena, thread, &run, record, 0, long_history);
	(void) add_record(arena, &run, record);
	end_run(arena, thread, &run, 0);
}

void
pfs_sum_journal(PfsArena *arena, PfsThread *thread, PfsLongClaims *long_history)
{
	const uint16_t *order = pfs_journal_order(arena, thread);
	const PfsStatementRecord *records = pfs_journal_records(arena, thread);
	uint32_t	slots = pfs_journal_slots(arena),
				mask = arena->journal_ring - 1;
	uint64_t	number = pfs_max(pfs_load(&thread->summed), pfs_load(&thread->summing));
	uint64_t	ended = pfs_load(&thread->ended);
	Samples		samples;
	Run			run;
	bool		runs = false,
				keeps = long_history != NULL;

	samples.count = 0;
	pfs_answers_sum(arena, thread);
	if (!pfs_thread_has_statements(arena, thread) || pfs_load(&thread->summed) >= ended)
		return;
	number = pfs_max(number, ended - pfs_min(ended, (uint64_t) arena->journal_ring));	/* damaged */
	while (number++ < ended)	/* none, if a predecessor was killed at its end */
	{
		uint32_t	slot = pfs_load(&order[number & mask]);
		const PfsStatementRecord *record = &records[slot < slots ? slot : 0];

		if (!runs || !is_like(run.like, record))
		{
			if (runs)
				end_run(arena, thread, &run, number - 1);
			begin_run(arena, thread, &run, record, number, long_history);
			runs = true;
		}
		/*
		 * Of an owner that is killed from here on this one may be missing, or be there in part, but it is not
		 * added again.
		 */
		pfs_store(&thread->summing, number);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (pfs_unlikely(add_record(arena, &run, record)))
			note_sample(arena, &run, record, number, &samples);
		if (pfs_unlikely((record->used & PFS_RECORD_LONG) != 0) && keeps)
		{
			/* all that are left, before one of them is summed: readers find them here or there, or twice */
			pfs_history_statements(arena, thread, long_history, number, ended);
			keeps = false;
		}
	}
	if (runs)
		end_run(arena, thread, &run, ended);
	pfs_store_release(&thread->summed, ended);
	if (pfs_unlikely(samples.count > 0))
		keep_samples(arena, thread, &samples);
}
