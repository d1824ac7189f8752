/*
 * table_digest.c
 *		Statement summaries by digest, and the statement histograms.
 *
 * A digest's numbers are its row plus the cells of all threads.
 */
#include "core/table_cells.h"

#include "core/digest.h"
#include "core/rollup.h"

/* A statement that has not been summed yet, and may then be the digest's sample. */
typedef struct Candidate
{
	PfsThread  *thread;			/* NULL = none */
	uint64_t	thread_id;
	uint32_t	text;			/* as in its record */
	uint32_t	text_length;
	PfsTicks	wait;
	PfsTicks	seen;			/* 0 = none */
} Candidate;

typedef struct DigestSum
{
	PfsStatementStat stat;
	PfsTicks	last_seen;
	Candidate	candidate;
	uint64_t   *page[PFS_HISTOGRAM_PAGES];	/* of buckets, made on demand */
} DigestSum;

typedef struct DigestCollector
{
	PfsCellSums cells;			/* first: its functions get its address */
	uint32_t	generation;
	uint32_t	histogram_generation;
	DigestSum **sum;			/* by digest number */
	uint64_t	thread_id;		/* of the thread whose cells are being read ... */
	PfsUnsummed unsummed;		/* ... what has ended there ... */
	bool	   *summed;			/* ... which of them are in a cell or row */
} DigestCollector;

static DigestSum *
sum_of(DigestCollector *c, uint32_t number)
{
	if (c->sum[number] == NULL)
		c->sum[number] = c->cells.scan->alloc(c->cells.scan, sizeof(DigestSum));
	return c->sum[number];
}

static void
add_bucket(DigestCollector *c, DigestSum *sum, unsigned bucket, uint64_t count)
{
	uint64_t  **page = &sum->page[bucket / PFS_HISTOGRAM_PAGE_BUCKETS];

	if (*page == NULL)
		*page = c->cells.scan->alloc(c->cells.scan, PFS_HISTOGRAM_PAGE_BUCKETS * sizeof(uint64_t));
	(*page)[bucket % PFS_HISTOGRAM_PAGE_BUCKETS] += count;
}

/* All buckets of a digest, empty ones included. */
static void
spread(const DigestSum *sum, uint64_t *count)
{
	memset(count, 0, PFS_BUCKETS * sizeof(uint64_t));
	for (int i = 0; i < PFS_HISTOGRAM_PAGES; i++)
	{
		int			first = i * PFS_HISTOGRAM_PAGE_BUCKETS;
		int			buckets = pfs_min(PFS_HISTOGRAM_PAGE_BUCKETS, PFS_BUCKETS - first);

		if (sum->page[i] != NULL)
			memcpy(count + first, sum->page[i], (size_t) buckets * sizeof(uint64_t));
	}
}

static uint32_t
row_of(const PfsCellSums *cells, const void *cell)
{
	const PfsDigestCell *of = cell;
	uint32_t	number = pfs_load(&of->digest);

	return pfs_load(&of->head.use) == ((const DigestCollector *) cells)->generation &&
		number < cells->end ? number : PFS_DIGEST_NONE;
}

static uint32_t
hash_of(const PfsCellSums *cells, uint32_t number)
{
	return number == PFS_DIGEST_OTHERS ? PFS_ANY_PLACE
		: pfs_digest_hash(pfs_load(&pfs_digest(cells->scan->arena, number)->query_id));
}

/* Memory of the pages is the scan's: left to it. */
static void
clear(PfsCellSums *cells, uint32_t number)
{
	DigestCollector *c = (DigestCollector *) cells;

	if (c->sum[number] != NULL)
		memset(c->sum[number], 0, sizeof(DigestSum));
}

static void
add_cell(PfsCellSums *cells, uint32_t number, const void *copy)
{
	DigestCollector *c = (DigestCollector *) cells;
	const PfsDigestCell *cell = copy;
	DigestSum  *sum;

	for (uint32_t i = 0; i < c->unsummed.count; i++)
		c->summed[i] |= pfs_digest_cell_has(cells->scan->arena, cell, &c->unsummed.record[i], c->unsummed.first + i);
	if (cell->stat.timer.count == 0)
		return;
	sum = sum_of(c, number);
	pfs_statement_stat_merge(&sum->stat, &cell->stat);
	sum->last_seen = pfs_max(sum->last_seen, cell->last_seen);
	if (cell->head.epoch < pfs_load(&cells->scan->arena->reset_of[PFS_RESET_DIGEST_HISTOGRAMS]))
		return;
	for (unsigned i = 0; i < PFS_CELL_BUCKETS; i++)
		if (pfs_cell_bucket_count(cell, i) != 0 && pfs_cell_bucket(cell, i) < PFS_BUCKETS)
			add_bucket(c, sum, pfs_cell_bucket(cell, i), pfs_cell_bucket_count(cell, i));
}

static void
offer_sample(DigestCollector *c, DigestSum *sum, PfsThread *thread, const PfsStatementRecord *record)
{
	Candidate  *candidate = &sum->candidate;

	if (record->text_length > 0 && record->digest > PFS_DIGEST_OTHERS &&
		record->digest_generation == c->generation &&
		pfs_digest_sample_is_news(c->cells.scan->arena, record->wait, record->end, candidate->wait,
								  candidate->seen))
		*candidate = (Candidate) {thread, c->thread_id, record->text, record->text_length, record->wait,
			record->end};
}

/*
 * The statements of a thread that have ended and are not in a cell are added behind its cells.  What was
 * summed before the cells are read is in a cell, or has moved into the row by then.
 */
static void
begin_thread(PfsCellSums *cells, PfsThread *thread)
{
	DigestCollector *c = (DigestCollector *) cells;
	uint64_t	summed;

	c->thread_id = pfs_load(&thread->thread_id);
	pfs_read_unsummed(cells->scan, thread, &c->unsummed);
	summed = pfs_load_acquire(&thread->summed);
	for (uint32_t i = 0; i < c->unsummed.count; i++)
		c->summed[i] = c->unsummed.first + i <= summed;
}

static void
end_thread(PfsCellSums *cells, PfsThread *thread, uint32_t only)
{
	DigestCollector *c = (DigestCollector *) cells;
	const PfsArena *arena = cells->scan->arena;

	for (uint32_t i = 0; i < c->unsummed.count; i++)
	{
		const PfsStatementRecord *record = &c->unsummed.record[i];
		uint32_t	number = pfs_digest_now(arena, thread, record->query_id, record->digest,
											record->digest_generation);
		DigestSum  *sum;

		if (c->summed[i] || number == PFS_DIGEST_NONE || number >= cells->end ||
			(only != 0 && number != only) ||
			record->epoch < pfs_load(&arena->reset_of[PFS_RESET_DIGESTS]))
			continue;
		sum = sum_of(c, number);
		pfs_statement_stat_add_record(&sum->stat, record);
		sum->last_seen = pfs_max(sum->last_seen, record->end);
		offer_sample(c, sum, thread, record);
		if ((record->used & PFS_RECORD_UNTIMED) == 0 &&
			record->epoch >= pfs_load(&arena->reset_of[PFS_RESET_DIGEST_HISTOGRAMS]))
			add_bucket(c, sum, pfs_bucket_of(record->wait), 1);
	}
}

static void
add_row(PfsCellSums *cells, uint32_t number)
{
	DigestCollector *c = (DigestCollector *) cells;
	PfsArena   *arena = cells->scan->arena;
	PfsDigest  *digest = pfs_digest(arena, number);
	DigestSum  *sum;

	if (pfs_load_acquire(&digest->generation) != c->generation ||
		(pfs_load(&digest->stat.timer.count) == 0 && c->sum[number] == NULL))
		return;
	sum = sum_of(c, number);
	pfs_statement_stat_merge(&sum->stat, &digest->stat);
	sum->last_seen = pfs_max(sum->last_seen, pfs_load(&digest->last_seen));
	if (pfs_load(&digest->histogram_generation) != c->histogram_generation)
		return;
	for (int p = 0; p < PFS_HISTOGRAM_PAGES; p++)
	{
		uint64_t   *page = pfs_pool_at(pfs_pool_of(arena), pfs_load(&digest->page[p]),
									   PFS_HISTOGRAM_PAGE_BUCKETS * sizeof(uint64_t));

		for (unsigned i = 0; page != NULL && i < PFS_HISTOGRAM_PAGE_BUCKETS; i++)
			if (pfs_load(&page[i]) != 0)
				add_bucket(c, sum, p * PFS_HISTOGRAM_PAGE_BUCKETS + i, pfs_load(&page[i]));
	}
}

static void
collect(DigestCollector *c, PfsScan *scan)
{
	PfsArena   *arena = scan->arena;

	c->cells = (PfsCellSums)
	{
		.scan = scan,.kind = &pfs_digest_cells,.end = pfs_digest_rows_end(arena),.row_of = row_of,
		.hash_of = hash_of,.clear = clear,.add_cell = add_cell,.add_row = add_row,
			.begin_thread = begin_thread,.end_thread = end_thread,
	};
	c->generation = pfs_load_acquire(&arena->digest_generation);
	c->histogram_generation = pfs_load(&arena->digest_histogram_generation);
	c->sum = scan->alloc(scan, c->cells.end * sizeof(DigestSum *));
	c->unsummed = (PfsUnsummed) {0};
	c->summed = scan->alloc(scan, arena->journal_ring * sizeof(bool));
	pfs_cells_sum(&c->cells);
}

/* --- events_statements_summary_by_digest --- */

typedef struct DigestKey
{
	PfsText		schema;
	uint8_t		sha[PFS_SHA_BYTES];
	PfsText		text;
} DigestKey;

typedef struct DigestTail
{
	PfsTicks	first_seen;
	PfsTicks	last_seen;
	uint64_t	quantile_95;
	uint64_t	quantile_99;
	uint64_t	quantile_999;
	PfsText		sample;
	PfsTicks	sample_seen;
	uint64_t	sample_wait;
	uint64_t	query_id;
} DigestTail;

static const PfsColumn digest_key_columns[] = {
	{"schema_name", "Database (MySQL's schema); NULL in the catch-all row", PFS_COLUMN_TEXT,
	offsetof(DigestKey, schema), PFS_COLUMN_KEY},
	{"digest", "SHA-256 of the normalised statement; several rows may share it",
	PFS_COLUMN_HEX, offsetof(DigestKey, sha), 0},
	{"digest_text", "Normalised statement; NULL in the catch-all row", PFS_COLUMN_TEXT,
	offsetof(DigestKey, text), PFS_COLUMN_PRIVATE},
};
static const PfsColumn digest_tail_columns[] = {
	{"first_seen", "When the statement was first seen", PFS_COLUMN_WHEN,
	offsetof(DigestTail, first_seen), 0},
	{"last_seen", "When it last ended", PFS_COLUMN_WHEN, offsetof(DigestTail, last_seen), 0},
	{"quantile_95", "95 % of executions took less than this, picoseconds; too high by at most 4.7 %",
	PFS_COLUMN_PS, offsetof(DigestTail, quantile_95), 0},
	{"quantile_99", "99 %", PFS_COLUMN_PS, offsetof(DigestTail, quantile_99), 0},
	{"quantile_999", "99.9 %", PFS_COLUMN_PS, offsetof(DigestTail, quantile_999), 0},
	{"query_sample_text", "One execution: the first, the slowest, or a recent one", PFS_COLUMN_TEXT,
	offsetof(DigestTail, sample), PFS_COLUMN_PRIVATE},
	{"query_sample_seen", "When that one ended", PFS_COLUMN_WHEN,
	offsetof(DigestTail, sample_seen), 0},
	{"query_sample_timer_wait", "How long it took, picoseconds", PFS_COLUMN_TICKS,
	offsetof(DigestTail, sample_wait), 0},
	{"queryid", "Query id as in pg_stat_statements; not in MySQL", PFS_COLUMN_U64,
	offsetof(DigestTail, query_id), PFS_COLUMN_KEY | PFS_COLUMN_NULL_IF_ZERO},
};
PFS_GROUP(digest_key, digest_key_columns);
PFS_GROUP(digest_tail, digest_tail_columns);

/* The row's sample. */
static void
read_sample(PfsScan *scan, const PfsDigest *digest, char *text, DigestTail *tail)
{
	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint32_t	begin = pfs_seq_read_begin(&digest->sample_seq);
		uint32_t	length = pfs_min(pfs_load(&digest->sample_length),
									 scan->arena->sizes.sql_text_length);

		length = (uint32_t) pfs_text_fetch(scan->arena, pfs_load(&digest->sample), length, text);
		tail->sample_wait = pfs_load(&digest->sample_wait);
		tail->sample_seen = pfs_load(&digest->sample_seen);
		if (pfs_seq_read_ok(&digest->sample_seq, begin))
		{
			tail->sample = (PfsText) {length > 0 ? text : NULL, length, pfs_load(&digest->encoding)};
			return;
		}
	}
	tail->sample_wait = tail->sample_seen = 0;
	pfs_lose(scan->arena, PFS_LOSS_UNSTABLE_READS);
}

/* In its place one that has not been summed yet, if that is better, and still there. */
static void
read_candidate(PfsScan *scan, const PfsDigest *digest, const Candidate *candidate, char *text,
			   DigestTail *tail)
{
	PfsStatementRecord record = {.text = candidate->text,.text_length = candidate->text_length};

	if (candidate->seen == 0 ||
		!pfs_digest_sample_is_news(scan->arena, candidate->wait, candidate->seen, tail->sample_wait,
								   tail->sample_seen))
		return;
	pfs_journal_read_texts(scan->arena, candidate->thread, &record, text, text);
	pfs_fence();
	if (record.text_length == 0 || pfs_load(&candidate->thread->thread_id) != candidate->thread_id)
		return;					/* summed meanwhile */
	tail->sample = (PfsText) {text, record.text_length, pfs_load(&digest->encoding)};
	tail->sample_wait = candidate->wait;
	tail->sample_seen = candidate->seen;
}

static bool
fill_key(DigestCollector *c, uint32_t number, DigestKey *key)
{
	PfsDigest  *digest = pfs_digest(c->cells.scan->arena, number);
	const char *wanted = pfs_scan_text(c->cells.scan, "schema_name");

	memset(key, 0, sizeof(*key));
	if (pfs_load(&digest->generation) != c->generation)
		return false;
	if (number == PFS_DIGEST_OTHERS)
		return wanted == NULL;
	key->schema = pfs_text_of_name(c->cells.scan->arena, pfs_load(&digest->database));
	if (wanted != NULL && (key->schema.data == NULL || key->schema.length != strlen(wanted) ||
						   memcmp(key->schema.data, wanted, key->schema.length) != 0))
		return false;
	key->text = pfs_read_digest_text(c->cells.scan, number, c->generation, key->sha);
	return true;
}

static void
by_digest_scan(PfsScan *scan)
{
	static const double quantiles[] = {0.95, 0.99, 0.999};
	DigestCollector c;
	uint64_t	wanted = 0;
	bool		one = pfs_scan_number(scan, "queryid", &wanted);
	uint64_t	count[PFS_BUCKETS];
	uint64_t	quantile[PFS_LENGTH(quantiles)];
	char	   *sample = scan->alloc(scan, scan->arena->sizes.sql_text_length + 1);
	char	   *newer = scan->alloc(scan, scan->arena->sizes.sql_text_length + 1);

	collect(&c, scan);
	for (uint32_t number = PFS_DIGEST_OTHERS; number < c.cells.end; number++)
	{
		const PfsDigest *digest = pfs_digest(scan->arena, number);
		DigestKey	key;
		DigestTail	tail = {0};
		const void *parts[] = {&key, c.sum[number] ? &c.sum[number]->stat : NULL, &tail};

		if (c.sum[number] == NULL || c.sum[number]->stat.timer.count == 0 ||
			(one && pfs_load(&digest->query_id) != wanted) || !fill_key(&c, number, &key))
			continue;
		tail.first_seen = pfs_load(&digest->first_seen);
		tail.last_seen = c.sum[number]->last_seen;
		spread(c.sum[number], count);
		pfs_histogram_quantiles_ps(count, quantiles, (int) PFS_LENGTH(quantiles), quantile);
		tail.quantile_95 = quantile[0];
		tail.quantile_99 = quantile[1];
		tail.quantile_999 = quantile[2];
		tail.query_id = number == PFS_DIGEST_OTHERS ? 0 : pfs_load(&digest->query_id);
		read_sample(scan, digest, sample, &tail);
		read_candidate(scan, digest, &c.sum[number]->candidate, newer, &tail);
		scan->emit(scan, parts);
	}
}

static bool
by_digest_reset(PfsArena *arena, const PfsTable *table)
{
	return table != NULL && pfs_digest_reset(arena);
}

const PfsTable pfs_table_events_statements_summary_by_digest = {
	.name = "events_statements_summary_by_digest",
	.doc = "Statements by database and query id, with percentiles and a sample; failed ones count too",
	.groups = {&digest_key, &pfs_statement_stat_group, &digest_tail},
	.scan = by_digest_scan,.reset = by_digest_reset,
};

/* --- histograms --- */

typedef struct BucketRow
{
	uint32_t	number;
	uint64_t	low;
	uint64_t	high;
	uint64_t	count;
	uint64_t	count_and_lower;
	double		quantile;
} BucketRow;

static const PfsColumn histogram_key_columns[] = {
	{"schema_name", "Database; NULL in the catch-all row", PFS_COLUMN_TEXT,
	offsetof(DigestKey, schema), PFS_COLUMN_KEY},
	{"digest", "SHA-256 of the normalised statement", PFS_COLUMN_HEX, offsetof(DigestKey, sha), 0},
};
static const PfsColumn bucket_columns[] = {
	{"bucket_number", "Bucket; 50 a decade, from 100 ns on", PFS_COLUMN_U32,
	offsetof(BucketRow, number), PFS_COLUMN_KEY},
	{"bucket_timer_low", "Lower limit, picoseconds, inclusive", PFS_COLUMN_PS,
	offsetof(BucketRow, low), 0},
	{"bucket_timer_high", "Upper limit, picoseconds, exclusive", PFS_COLUMN_PS,
	offsetof(BucketRow, high), 0},
	{"count_bucket", "Statements in this bucket", PFS_COLUMN_U64, offsetof(BucketRow, count), 0},
	{"count_bucket_and_lower", "Statements in this bucket and those below", PFS_COLUMN_U64,
	offsetof(BucketRow, count_and_lower), 0},
	{"bucket_quantile", "Share of all statements in this bucket and those below", PFS_COLUMN_DOUBLE,
	offsetof(BucketRow, quantile), 0},
};
static const PfsColumn histogram_query_id_columns[] = {
	{"queryid", "Query id as in pg_stat_statements; not in MySQL", PFS_COLUMN_U64,
	offsetof(DigestTail, query_id), PFS_COLUMN_KEY | PFS_COLUMN_NULL_IF_ZERO},
};
PFS_GROUP(histogram_key, histogram_key_columns);
PFS_GROUP(bucket_group, bucket_columns);
PFS_GROUP(histogram_query_id, histogram_query_id_columns);

/* Empty buckets are left out for digests: 550 rows for each would hide the few that matter. */
static void
emit_buckets(PfsScan *scan, const uint64_t *count, bool all, const void **parts, int place)
{
	uint64_t	total = 0,
				seen = 0;

	for (int i = 0; i < PFS_BUCKETS; i++)
		total += count[i];
	for (int i = 0; i < PFS_BUCKETS; i++)
	{
		BucketRow	row;

		seen += count[i];
		if (!all && count[i] == 0)
			continue;
		row.number = (uint32_t) i;
		row.low = pfs_bucket_low_ps(i);
		row.high = pfs_bucket_low_ps(i + 1);
		row.count = count[i];
		row.count_and_lower = seen;
		row.quantile = total > 0 ? (double) seen / (double) total : 0;
		parts[place] = &row;
		scan->emit(scan, parts);
	}
}

static void
histogram_by_digest_scan(PfsScan *scan)
{
	DigestCollector c;
	uint64_t	count[PFS_BUCKETS];
	uint64_t	wanted = 0;
	bool		one = pfs_scan_number(scan, "queryid", &wanted);

	collect(&c, scan);
	for (uint32_t number = PFS_DIGEST_OTHERS; number < c.cells.end; number++)
	{
		const PfsDigest *digest = pfs_digest(scan->arena, number);
		DigestKey	key;
		DigestTail	tail = {.query_id = number == PFS_DIGEST_OTHERS ? 0
			: pfs_load(&digest->query_id)};
		const void *parts[] = {&key, NULL, &tail};

		if (c.sum[number] == NULL || (one && tail.query_id != wanted) || !fill_key(&c, number, &key))
			continue;
		spread(c.sum[number], count);
		emit_buckets(scan, count, false, parts, 1);
	}
}

static bool
histogram_by_digest_reset(PfsArena *arena, const PfsTable *table)
{
	return table != NULL && pfs_digest_histogram_reset(arena);
}

const PfsTable pfs_table_events_statements_histogram_by_digest = {
	.name = "events_statements_histogram_by_digest",
	.doc = "Distribution of statement times by digest; only buckets that are not empty",
	.groups = {&histogram_key, &bucket_group, &histogram_query_id},
	.scan = histogram_by_digest_scan,.reset = histogram_by_digest_reset,
};

/* --- events_statements_histogram_global --- */

#define MOVE_RETRIES 4

typedef struct HistogramSum
{
	PfsThreadSums sums;			/* first: its functions get its address */
	uint64_t	thread[PFS_BUCKETS];	/* of the thread that is being read */
	uint64_t	copy[PFS_BUCKETS];
	uint64_t	all[PFS_BUCKETS];
} HistogramSum;

static bool
counts_globally(const PfsThreadSums *sums, uint32_t epoch)
{
	return epoch >= pfs_load(&sums->scan->arena->reset_of[PFS_RESET_HISTOGRAM_GLOBAL]);
}

static void
begin_histogram(PfsThreadSums *sums)
{
	memset(((HistogramSum *) sums)->thread, 0, sizeof(((HistogramSum *) sums)->thread));
}

static void
add_cell_to_histogram(PfsThreadSums *sums, const PfsDigestCell *cell)
{
	HistogramSum *h = (HistogramSum *) sums;

	for (unsigned i = 0; counts_globally(sums, cell->head.epoch) && i < PFS_CELL_BUCKETS; i++)
		if (pfs_cell_bucket(cell, i) < PFS_BUCKETS)
			h->thread[pfs_cell_bucket(cell, i)] += pfs_cell_bucket_count(cell, i);
}

static void
add_record_to_histogram(PfsThreadSums *sums, const PfsStatementRecord *record)
{
	if ((record->used & PFS_RECORD_UNTIMED) == 0 && counts_globally(sums, record->epoch))
		((HistogramSum *) sums)->thread[pfs_bucket_of(record->wait)]++;
}

static void
add_moved_to_histogram(PfsThreadSums *sums, PfsThread *thread)
{
	HistogramSum *h = (HistogramSum *) sums;
	uint32_t	epoch = pfs_load(&thread->histogram_epoch);

	pfs_copy_words(h->copy, thread->histogram, sizeof(h->copy));
	for (int i = 0; counts_globally(sums, epoch) && i < PFS_BUCKETS; i++)
		h->thread[i] += h->copy[i];
}

static void
histogram_global_scan(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	HistogramSum *h = scan->alloc(scan, sizeof(*h));
	const void *parts[] = {NULL};

	h->sums = (PfsThreadSums)
	{
		.scan = scan,.begin = begin_histogram,.add_cell = add_cell_to_histogram,
			.add_record = add_record_to_histogram,.add_moved = add_moved_to_histogram
	};
	for (int tries = 0; tries < MOVE_RETRIES; tries++)
	{
		uint64_t	done = pfs_load_acquire(&arena->moves_done);
		uint64_t	begun = pfs_load_acquire(&arena->moves_begun);

		memset(h->all, 0, sizeof(h->all));
		PFS_EACH_THREAD(arena, thread, slot)
		{
			pfs_thread_sums(&h->sums, thread);
			for (int i = 0; i < PFS_BUCKETS; i++)
				h->all[i] += h->thread[i];
		}
		for (int i = 0; i < PFS_BUCKETS; i++)
			h->all[i] += pfs_load(&pfs_global_histogram(arena)[i]);
		pfs_fence();
		if (begun == done && pfs_load(&arena->moves_begun) == begun)
			break;
		if (tries == MOVE_RETRIES - 1)
			pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	}
	emit_buckets(scan, h->all, true, parts, 0);
}

static bool
histogram_global_reset(PfsArena *arena, const PfsTable *table)
{
	return table != NULL && pfs_reset_events(arena, PFS_RESET_HISTOGRAM_GLOBAL);
}

const PfsTable pfs_table_events_statements_histogram_global = {
	.name = "events_statements_histogram_global",
	.doc = "Distribution of the times of all statements, nested ones included",
	.groups = {&bucket_group},
	.scan = histogram_global_scan,.reset = histogram_global_reset,
};
