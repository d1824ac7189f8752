/*
 * reading.c
 *		SQL functions: switches, and readers that check what was recorded.
 */
#include "budget.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

/* A cell as it was between two writes; false: its writer was always faster. */
static bool
copy_checked(void *to, const void *from, size_t bytes, const uint32 *seq)
{
	for (int i = 0; i < 64; i++)
	{
		uint32		begin = load_acquire(seq);

		memcpy(to, from, bytes);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if ((begin & 1) == 0 && *(const volatile uint32 *) seq == begin)
			return true;
	}
	return false;
}

typedef struct Sums
{
	uint64		count,
				rows,
				examined,
				errors,
				idle,
				transactions,
				bind,
				execute,
				bad;
} Sums;

/* Records that are not in the cells yet, then cells, then the records again that are newer than a cell. */
static uint32
read_journal(const Thread *thread, Record *to, uint64 *first)
{
	for (int attempt = 0; attempt < 64; attempt++)
	{
		uint64		summed = load_acquire(&thread->summed);
		uint64		ended = load_acquire(&thread->ended);
		uint32		n = 0;

		for (uint64 k = summed + 1; k <= ended && n < RING; k++)
			memcpy(&to[n++], &thread->ring[k % RING], sizeof(Record));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (*(const volatile uint64 *) &thread->ended + 1 < summed + 1 + RING)
		{
			*first = summed + 1;
			return n;
		}
	}
	*first = 0;
	return 0;
}

/*
 * What a thread has counted; *least and *most: records that had ended before and after.  "bad" counts what is
 * impossible.
 */
static void
read_thread(const Thread *thread, Sums *sums, uint64 *least, uint64 *most)
{
	static Record records[RING];
	uint64		first;
	uint32		n = read_journal(thread, records, &first);
	uint64		cells = 0;

	*least = first == 0 ? 0 : first - 1 + n;
	for (int i = 0; i < CELLS; i++)
	{
		static Cell cell;

		if (thread->cell[i].digest == 0)
			continue;
		if (!copy_checked(&cell, &thread->cell[i], sizeof(cell), &thread->cell[i].seq))
		{
			sums->bad++;
			continue;
		}
		for (uint32 k = 0; k < n; k++)
			if (records[k].block.digest == (uint32) cell.digest && (records[k].block.used & ~(FAILED | RARE)) == (uint32) (cell.kind >> 32) &&
				records[k].block.epoch == (uint32) cell.kind && first + k > cell.last)
			{
				cell.timer.count++;
				cell.rows += records[k].rows;
				cell.examined += records[k].examined;
			}
		cells += cell.timer.count;
		sums->rows += cell.rows;
		sums->examined += cell.examined;
		sums->errors += cell.errors;
		{
			uint64		in_buckets = cell.other_buckets;

			for (int b = 0; b < CELL_BUCKETS; b++)
				in_buckets += cell.bucket[b] & UINT64CONST(0xFFFFFFFFFFFF);
			if (in_buckets > cell.timer.count)
				sums->bad++;
		}
	}
	*most = load_acquire(&thread->ended);
	sums->count += cells;
	for (uint32 k = 0; k < n; k++)
		sums->idle += records[k].idle != 0;
	sums->idle += thread->idle_cell.part[0].count + (thread->idle != 0);
	sums->transactions += thread->transactions;
	sums->bind += thread->answered[ANSWER_BIND];
	sums->execute += thread->answered[ANSWER_EXECUTE];
}

PG_FUNCTION_INFO_V1(budget_sums);
Datum
budget_sums(PG_FUNCTION_ARGS)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < THREADS; i++)
	{
		const Thread *thread = &arena->thread[i];
		Sums		sums = {0};
		uint64		least,
					most;

		if (thread->event_id == 0)
			continue;
		read_thread(thread, &sums, &least, &most);
		appendStringInfo(&out, "thread %u pid %u state %u: ended %lu counted %lu%s rows %lu examined %lu errors %lu+%lu idle %lu "
						 "transactions %lu bind %u describe %u execute %u query %u open %lu lost %lu bad %lu\n", thread->id, thread->pid,
						 thread->state, most, sums.count, sums.count < least || sums.count > most ? " WRONG" : "", sums.rows,
						 sums.examined, sums.errors, thread->errors_handled, sums.idle, sums.transactions, thread->answered[0],
						 thread->answered[1], thread->answered[2], thread->answered[3], thread->open, thread->lost, sums.bad);
	}
	PG_RETURN_TEXT_P(cstring_to_text(out.data));
}

/* Reads all threads so many times: how often a sum was not between what had ended before and after; and what was bad. */
PG_FUNCTION_INFO_V1(budget_check);
Datum
budget_check(PG_FUNCTION_ARGS)
{
	uint64		wrong = 0,
				bad = 0,
				reads = 0,
				open = 0;
	StringInfoData out;

	initStringInfo(&out);
	for (int n = 0; n < PG_GETARG_INT32(0); n++)
		for (int i = 0; i < THREADS; i++)
		{
			const Thread *thread = &arena->thread[i];
			Sums		sums = {0};
			uint64		least,
						most,
						id = load_acquire(&thread->open),
						ended = load_acquire(&thread->ended);
			Record		record;

			if (thread->event_id == 0 || thread->pid == 0)
				continue;
			reads++;
			if (id != 0)
			{
				memcpy(&record, &thread->ring[(ended + 1) % RING], sizeof(record));
				__atomic_thread_fence(__ATOMIC_ACQUIRE);
				if (load_acquire(&thread->open) == id && load_acquire(&thread->ended) == ended)
				{
					open++;
					if (record.event_id != id || record.block.digest == 0 || record.block.text_length == 0)
						bad++;
				}
			}
			read_thread(thread, &sums, &least, &most);
			wrong += sums.count < least || sums.count > most;
			bad += sums.bad;
		}
	appendStringInfo(&out, "reads %lu open %lu wrong %lu bad %lu", reads, open, wrong, bad);
	PG_RETURN_TEXT_P(cstring_to_text(out.data));
}

PG_FUNCTION_INFO_V1(budget_objects);
Datum
budget_objects(PG_FUNCTION_ARGS)
{
	StringInfoData out;
	static Record records[RING];

	initStringInfo(&out);
	for (int i = 0; i < THREADS; i++)
	{
		const Thread *thread = &arena->thread[i];
		uint64		first;
		uint32		n;

		if (thread->event_id == 0)
			continue;
		n = read_journal(thread, records, &first);
		for (int k = 1; k < OBJECTS; k++)
		{
			Object		object;

			if (thread->object[k].oid == 0 ||
				!copy_checked(&object, &thread->object[k], sizeof(object), &thread->object[k].seq))
				continue;
			for (uint32 r = 0; r < n; r++)
			{
				if (first + r <= object.last)
					continue;
				if (records[r].index == k)
					object.rows[0] += records[r].examined;
				if (records[r].table == k)
					object.rows[records[r].block.class == CMD_INSERT ? 1 : records[r].block.class == CMD_UPDATE ? 2 : 3] +=
						records[r].changed;
			}
			appendStringInfo(&out, "%u %u %lu %lu %lu %lu\n", thread->id, object.oid, object.rows[0], object.rows[1],
							 object.rows[2], object.rows[3]);
		}
	}
	PG_RETURN_TEXT_P(cstring_to_text(out.data));
}

/* The last records of a thread, as its history would show them. */
PG_FUNCTION_INFO_V1(budget_history);
Datum
budget_history(PG_FUNCTION_ARGS)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < THREADS; i++)
	{
		const Thread *thread = &arena->thread[i];

		if (thread->event_id == 0)
			continue;
		for (uint64 k = thread->ended > 10 ? thread->ended - 9 : 1; k <= thread->ended; k++)
		{
			Record		r = thread->ring[k % RING];

			appendStringInfo(&out, "%u %lu-%lu in %s %lu level %u class %u ticks %lu rows %lu examined %lu changed %lu used %x: %.*s\n",
							 thread->id, r.event_id, r.end_event_id, r.block.in_statement ? "statement" : "transaction", r.nesting,
							 r.block.level, r.block.class, r.wait, r.rows, r.examined, r.changed, r.block.used,
							 (int) r.block.text_length, thread->text + r.block.text % TEXTS);
			if (r.block.used & FAILED)
				appendStringInfo(&out, "\t%s\n", thread->rare[k % RING].message);
		}
	}
	PG_RETURN_TEXT_P(cstring_to_text(out.data));
}

/* Switches: new gate; -1 = TRUNCATE. */
PG_FUNCTION_INFO_V1(budget_set);
Datum
budget_set(PG_FUNCTION_ARGS)
{
	int			gate = PG_GETARG_INT32(0);

	if (gate >= 0)
		arena->gate = gate;
	__atomic_fetch_add(&arena->changes, gate >= 0 ? 1 : UINT64CONST(0x100000000), __ATOMIC_ACQ_REL);
	PG_RETURN_VOID();
}

/* Waits by name and by file: by thread. */
PG_FUNCTION_INFO_V1(budget_waits);
Datum
budget_waits(PG_FUNCTION_ARGS)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < THREADS; i++)
	{
		const Thread *thread = &arena->thread[i];

		for (int k = 0; thread->event_id != 0 && k < WAIT_CELLS; k++)
		{
			WaitCell	cell;

			if (thread->wait_cell[k].last == 0 || !copy_checked(&cell, &thread->wait_cell[k], sizeof(cell), &thread->wait_cell[k].seq))
				continue;
			appendStringInfo(&out, "thread %u wait %d: %lu reads %lu writes %lu others, %lu + %lu bytes\n", thread->id, k, cell.part[0].count,
							 cell.part[1].count, cell.part[2].count, cell.bytes[0], cell.bytes[1]);
		}
	}
	PG_RETURN_TEXT_P(cstring_to_text(out.data));
}
