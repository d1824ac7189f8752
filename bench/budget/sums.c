/*
 * sums.c
 *		Adds records that have ended to their cells: 32 at a time, with code and cells in the cache.
 *
 * Records carry the switches and the epoch of their own time.  A cell notes the last record that it has, so a reader
 * adds those that are missing.
 */
#include "budget.h"

#include <math.h>
#include <time.h>

#define OCTAVES 44
#define SUB 32

static uint64 bucket_low[BUCKETS + 1];
static uint16 bucket_guess[OCTAVES * SUB];

static unsigned
slot_of(uint64 wait)
{
	unsigned	octave = 63 ^ (unsigned) __builtin_clzll(wait | SUB);

	return (octave - 1) * SUB + (unsigned) (wait >> (octave - 5));
}

INLINE unsigned
bucket_of(uint64 wait)
{
	unsigned	octave = 63 ^ (unsigned) __builtin_clzll(wait | SUB);
	const uint64 *low;
	unsigned	bucket;

	if (unlikely(octave >= OCTAVES))
		return BUCKETS - 1;
	bucket = bucket_guess[(octave - 1) * SUB + (unsigned) (wait >> (octave - 5))];
	low = &bucket_low[bucket + 1];
	while (unlikely(wait >= *low))	/* the last limit is above all times */
		low++;
	return (unsigned) (low - bucket_low) - 1;
}

void
buckets_init(void)
{
	struct timespec a,
				b;
	uint64		ticks = tick();
	double		per_ns;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do
		clock_gettime(CLOCK_MONOTONIC, &b);
	while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 5000000);
	per_ns = (tick() - ticks) / 5e6;
	for (int i = 1; i < BUCKETS; i++)
		bucket_low[i] = (uint64) (100 * pow(10, (i - 1) / 50.0) * per_ns);
	bucket_low[BUCKETS] = UINT64_MAX;
	for (unsigned octave = 5, bucket = 0; octave < OCTAVES; octave++)
		for (uint64 m = SUB; m < 2 * SUB; m++)
		{
			uint64		start = m << (octave - 5);

			while (bucket < BUCKETS - 1 && start >= bucket_low[bucket + 1])
				bucket++;
			if (slot_of(start) < lengthof(bucket_guess))
				bucket_guess[slot_of(start)] = bucket;
		}
}

INLINE uint64
two(const uint32 *words)
{
	uint64		word;

	memcpy(&word, words, sizeof(word));
	return word;
}

/* Where records like this one are added; 0: those for which there is no room. */
COLD uint16
find_cell(const Record *record)
{
	uint64		digest = two(&record->block.digest);
	uint64		kind = two(&record->block.epoch) & ~((uint64) (FAILED | RARE) << 32);
	Cell	   *cells = S.thread->cell;

	for (uint32 i = 0; i < CELLS - 1; i++)
	{
		uint32		at = 1 + (record->block.digest + i) % (CELLS - 1);

		if (cells[at].digest == 0 || (cells[at].digest == digest && (uint32) cells[at].kind < (uint32) kind))
		{
			/* new, or of an older epoch: here the product moves what is in it to the levels that still count it */
			seq_begin(&cells[at].seq);
			memset(&cells[at].timer, 0, sizeof(Cell) - offsetof(Cell, timer));
			cells[at].class = record->block.class;
			cells[at].digest = digest;
			cells[at].kind = kind;
			seq_end(&cells[at].seq);
		}
		if (cells[at].digest == digest && cells[at].kind == kind)
			return at;
	}
	S.thread->lost++;
	return 0;
}

/* A bucket of another turn has the place: it goes to the digest's row. */
static COLD void
give_way(Cell *cell, unsigned bucket)
{
	uint64	   *place = &cell->bucket[bucket % CELL_BUCKETS];

	cell->other_buckets += *place & UINT64CONST(0xFFFFFFFFFFFF);
	*place = (uint64) bucket << 48;
}

static COLD void
keep_sample(Cell *cell, const Record *record)
{
	cell->sample_wait = record->wait + record->wait / 2;
	cell->sample_due = record->end + UINT64CONST(100000000000);
}

static COLD void
add_rare(Cell *cell, const Record *record, const Rare *rare)
{
	cell->errors += (record->block.used & FAILED) != 0;
	cell->rare[0] += rare->tmp_bytes;
	cell->rare[1] += rare->lock_time;
	cell->rare[2] += rare->warnings;
}

/* Texts that the long history has, by where they stand in the thread's ring. */
static struct
{
	uint32		from,
				at;
}			known_texts[64];

static COLD uint32
keep_text(const Record *record)
{
	uint64		at = __atomic_fetch_add(&arena->long_text_next, record->block.text_length, __ATOMIC_RELAXED);

	for (uint32 i = 0; i < record->block.text_length; i++)
		arena->long_text[(at + i) % LONG_TEXTS] = S.thread->text[(record->block.text + i) % TEXTS];
	known_texts[record->block.cell % 64].from = record->block.text;
	known_texts[record->block.cell % 64].at = (uint32) at;
	return (uint32) at;
}

static uint64 long_block,
			long_rows = BLOCK;

/* To the long history, of which a block is this thread's. */
static HOT pg_noinline void
keep_long(const Record *record)
{
	__typeof__(arena->long_statement[0]) *block;
	Record	   *row;

	if (unlikely(long_rows == BLOCK))
	{
		long_block = __atomic_fetch_add(&arena->long_statement_next, 1, __ATOMIC_RELAXED);
		block = &arena->long_statement[long_block % LONG_STATEMENTS];
		block->number = 0;
		fence();
		block->thread = S.thread->id;
		block->rows = 0;
		fence();
		block->number = long_block + 1;
		long_rows = 0;
	}
	block = &arena->long_statement[long_block % LONG_STATEMENTS];
	row = &block->row[long_rows];
	*row = *record;
	row->block.text = likely(known_texts[record->block.cell % 64].from == record->block.text)
		? known_texts[record->block.cell % 64].at : keep_text(record);
	fence();
	block->rows = ++long_rows;
}

static HOT pg_noinline void
sum_transactions(Thread *thread)
{
	uint64		n = thread->transactions_summed;

	while (n < thread->transactions)
	{
		const Transaction *x = &thread->transaction[++n % RING];
		Timer	   *timer = &thread->by_transaction[x->read_only & 1];

		keep(timer);
		timer_add(timer, x->end > x->start ? x->end - x->start : 1);
	}
	store_release(&thread->transactions_summed, n);
}

INLINE void
add_object(Thread *thread, Object **open, unsigned at, unsigned what, uint64 rows, uint64 number)
{
	Object	   *object = &thread->object[at % OBJECTS];

	keep(object);
	if (object != *open)
	{
		if (*open != NULL)
			seq_end(&(*open)->seq);
		seq_begin(&object->seq);
		*open = object;
	}
	object->last = number;
	add(&object->rows[what], rows);
}

HOT pg_noinline void
sum_journal(void)
{
	Thread	   *thread = S.thread;
	uint64		number = thread->summed;
	uint64		ended = thread->ended;
	Cell	   *cell = NULL;
	Object	   *object = NULL;
	const Record *record = NULL;
	uint64		digest = 0,
				kind = 0;

	if (PART_TRANSACTIONS && thread->transactions_summed != thread->transactions)
		sum_transactions(thread);
	N.sum_at = ended + UNSUMMED;
	if (number == ended)
		return;
	seq_begin(&thread->idle_cell.seq);
	while (number < ended)
	{
		const Record *last = record;
		uint64		wait;
		unsigned	bucket;
		uint64	   *place;

		record = &thread->ring[++number % RING];
		keep(record);
		if (cell == NULL || two(&record->block.digest) != digest || two(&record->block.epoch) != kind)
		{
			if (cell != NULL)
			{
				cell->last = number - 1;
				cell->last_seen = last->end;
				seq_end(&cell->seq);
			}
			cell = &thread->cell[record->block.cell % CELLS];
			keep(cell);
			digest = two(&record->block.digest);
			kind = two(&record->block.epoch);
			if (unlikely(cell->digest != digest || cell->kind != kind))
				cell = &thread->cell[find_cell(record)];
			seq_begin(&cell->seq);
		}
		thread->summing = number;	/* killed from here on: this one is not added again */
		wait = record->wait;
		timer_add(&cell->timer, wait);
		add(&cell->rows, record->rows);
		add(&cell->examined, record->examined);
		bucket = bucket_of(wait);
		place = &cell->bucket[bucket % CELL_BUCKETS];
		if (unlikely(*place >> 48 != bucket))
			give_way(cell, bucket);
		add(place, 1);
		if (unlikely(wait > cell->sample_wait))
			keep_sample(cell, record);
		if (unlikely(record->block.used & (FAILED | RARE | LONG_HISTORY)))
		{
			if (record->block.used & (FAILED | RARE))
				add_rare(cell, record, &thread->rare[number % RING]);
			if (record->block.used & LONG_HISTORY)
				keep_long(record);
		}
		if (PART_IDLE && record->idle != 0)
			timer_add(&thread->idle_cell.part[0], record->idle - 1);
		if (PART_TABLES)
		{
			if (record->index != 0)
				add_object(thread, &object, record->index, 0, record->examined, number);
			if (record->table != 0)
				add_object(thread, &object, record->table, record->block.class == CMD_INSERT ? 1
						   : record->block.class == CMD_UPDATE ? 2 : 3, record->changed, number);
		}
	}
	if (object != NULL)
		seq_end(&object->seq);
	cell->last = ended;
	cell->last_seen = record->end;
	seq_end(&cell->seq);
	thread->idle_cell.last = ended;
	seq_end(&thread->idle_cell.seq);
	store_release(&thread->summed, ended);
}
