/*
 * test_cell_cache.c - cells of threads by key, with a kind of cells and rows of this test: claiming,
 * evicting, rows that are busy or gone, TRUNCATE, writers killed in the middle, readers beside writers.
 *
 * An event of key k lasts k ticks, so a sum that is torn, or that counts a part twice, betrays itself.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/table_cells.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACES 16
#define ROWS 25 /* numbers 1 to 24: more than there are places */
#define USE 7
#define RESET "socket_summary_by_instance" /* whose TRUNCATE voids the cells here */

typedef struct Cell
{
	PfsCacheCell head;
	PfsTimerStat stat;
} Cell;

typedef struct Row
{
	PfsSeq seq;
	uint32_t lock;
	bool gone;
	PfsTimerStat stat;
} Row;

static Row rows[ROWS];

static bool
row_exists(const PfsArena *arena, const PfsCacheKind *kind, const PfsCacheCell *cell)
{
	return cell->use == USE && !rows[cell->key].gone;
}

static bool
fold_row(PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, PfsCacheCell *cell, int *sleeps)
{
	Row *row = &rows[cell->key];

	for (int i = 0; !pfs_cas32(&row->lock, 0, 1); i++)
	{
		if (i == 10)
			return false;
		sched_yield();
	}
	pfs_seq_write_begin(&row->seq);
	pfs_timer_stat_merge(&row->stat, &((const Cell *) cell)->stat);
	pfs_seq_write_end(&row->seq);
	pfs_store_release(&row->lock, 0);
	return true;
}

static uint32_t
state_of(const PfsArena *arena, const PfsCacheKind *kind, uint32_t row)
{
	return pfs_seq_read_begin(&rows[row].seq);
}

static const PfsCacheKind kind = {
	.places_at = offsetof(PfsThread, digest_cell),
	.places = PLACES,
	.bytes = sizeof(Cell),
	.timers = 1,
	.share = PFS_SHARE_DIGEST_CELLS,
	.reset = PFS_RESET_SOCKETS,
	.loss = PFS_LOSS_OBJECT_CELLS,
	.has_row = row_exists,
	.fold = fold_row,
	.state = state_of,
};

/* Keys that are the same modulo 4 have the same four places. */
static uint32_t
hash_of_key(uint64_t key)
{
	return PFS_CACHE_WAYS * (uint32_t) key;
}

static Cell *
cell_of(PfsSession *session, uint64_t key)
{
	Cell *cell = pfs_cache_find(session->arena, session->thread, &kind, hash_of_key(key), key, USE);

	return cell != NULL ? cell
						: pfs_cache_claim(session->arena, session->thread, &kind, hash_of_key(key),
										  key, USE);
}

/* Counts events of a key; false: there was no cell. */
static bool
count(PfsSession *session, uint64_t key, int events)
{
	Cell *cell = cell_of(session, key);

	if (cell == NULL)
		return false;
	pfs_seq_write_begin(&cell->head.seq);
	for (int i = 0; i < events; i++)
		pfs_timer_stat_add(&cell->stat, key);
	pfs_seq_write_end(&cell->head.seq);
	return true;
}

static uint64_t
in_cell(PfsSession *session, uint64_t key)
{
	Cell *cell = pfs_cache_find(session->arena, session->thread, &kind, hash_of_key(key), key, USE);

	return cell != NULL ? cell->stat.count : 0;
}

static PfsSession *
begin(void)
{
	memset(rows, 0, sizeof(rows));
	return fixture_attach(fixture_arena(NULL), 0, "ada", "h1");
}

/* The thread ends, as far as these cells go. */
static void
end(PfsSession *session)
{
	PfsArena *arena = session->arena;

	pfs_cache_fold_all(arena, session->thread, &kind, NULL);
	for (int i = 0; i < PLACES; i++)
		ok(session->thread->digest_cell[i] == 0, "place %d is empty", i);
	is_u64(arena->share_used[PFS_SHARE_DIGEST_CELLS], 0, "cells are given back");
	fixture_detach(session);
	fixture_free(arena);
}

/* --- sums of rows and cells --- */

typedef struct Sums
{
	PfsCellSums cells;
	PfsTimerStat stat[ROWS];
} Sums;

static uint32_t
row_of(const PfsCellSums *cells, const void *cell)
{
	const PfsCacheCell *head = cell;

	return pfs_load(&head->use) == USE ? (uint32_t) pfs_load(&head->key) : 0;
}

static uint32_t
hash_of(const PfsCellSums *cells, uint32_t row)
{
	return row == 1 ? PFS_ANY_PLACE : hash_of_key(row); /* both ways to look for them */
}

static void
clear(PfsCellSums *cells, uint32_t row)
{
	((Sums *) cells)->stat[row] = (PfsTimerStat){0};
}

static void
add_cell(PfsCellSums *cells, uint32_t row, const void *cell)
{
	pfs_timer_stat_merge(&((Sums *) cells)->stat[row], &((const Cell *) cell)->stat);
}

static void
add_row(PfsCellSums *cells, uint32_t row)
{
	pfs_timer_stat_merge(&((Sums *) cells)->stat[row], &rows[row].stat);
}

static Sums
read_sums(PfsArena *arena)
{
	FixtureScan scan;
	Sums sums = {.cells = {.scan = &scan.scan,
						   .kind = &kind,
						   .end = ROWS,
						   .row_of = row_of,
						   .hash_of = hash_of,
						   .clear = clear,
						   .add_cell = add_cell,
						   .add_row = add_row}};

	scan_begin(&scan, arena, RESET);
	pfs_cells_sum(&sums.cells);
	rows_free(scan.rows);
	scan_end(&scan);
	return sums;
}

static uint64_t
all_of(const Sums *sums)
{
	uint64_t events = 0;

	for (int row = 1; row < ROWS; row++)
		events += sums->stat[row].count;
	return events;
}

static uint64_t
torn(const Sums *sums)
{
	uint64_t wrong = 0;

	for (uint64_t row = 1; row < ROWS; row++)
		wrong += sums->stat[row].sum != row * sums->stat[row].count ||
				 (sums->stat[row].count > 0 && sums->stat[row].max != row);
	return wrong;
}

/* --- killed in the middle --- */

static PfsSeq *deadly;

static void
die(PfsSeq *seq)
{
	if (seq == deadly)
		raise(SIGKILL);
}

/* An arena that processes share. */
static PfsArena *
shared_arena(void)
{
	PfsArena *made = fixture_arena(NULL);
	PfsArena *arena =
		mmap(NULL, made->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	memcpy(arena, made, made->bytes);
	fixture_free(made);
	return arena;
}

/* Another process does something, and is killed when it comes to this sequence. */
static void
killed_inside(PfsSession *session, PfsSeq *seq, void (*body)(PfsSession *session))
{
	int status;
	pid_t child = fork();

	if (child == 0)
	{
		deadly = seq;
		pfs_inside_sequence = die;
		body(session);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ok(WIFSIGNALED(status) && (*seq & 1) != 0, "a writer was killed inside a cell");
}

static void
count_two_and_one(PfsSession *session)
{
	count(session, 2, 1);
	count(session, 1, 1);
}

/* What a cell held stays, and is said to be unstable. */
static void
test_killed(void)
{
	PfsArena *arena = shared_arena();
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	Sums sums;

	count(session, 1, 3);
	count(session, 2, 5);
	killed_inside(session, &cell_of(session, 1)->head.seq, count_two_and_one);
	sums = read_sums(arena);
	is_u64(sums.stat[1].count, 0, "readers leave that cell out");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 1, "and say so");
	is_u64(sums.stat[2].count, 6, "others are shown");
	pfs_cache_fold_all(arena, session->thread, &kind, NULL);
	sums = read_sums(arena);
	is_u64(sums.stat[1].count, 3, "the successor folds what was there");
	is_u64(all_of(&sums), 9, "nothing counts twice");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 1, "and all stands still");
	is_u64(arena->share_used[PFS_SHARE_DIGEST_CELLS], 0, "cells are given back");
	fixture_detach(session);
	munmap(arena, arena->bytes);
}

static void
two_statements(PfsSession *session)
{
	fixture_statement(session, 0, 2, 10, NULL);
	fixture_statement(session, 0, 1, 10, NULL);
	pfs_statement_sum(session);
}

/* The same with a digest: by a successor that knows nothing of it. */
static void
test_killed_in_digest(void)
{
	static const char digests[] = "events_statements_summary_by_digest";
	PfsArena *arena = shared_arena();
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsCacheCell *cell;

	two_statements(session);
	cell = pfs_cache_find(arena, session->thread, &pfs_digest_cells, pfs_digest_hash(1), 1,
						  arena->digest_generation);
	killed_inside(session, &cell->seq, two_statements);
	is_u64(table_sum(arena, digests, "count_star"), 3, "the other digest is shown, and what is not summed");
	fixture_kill(session);
	session = fixture_attach(arena, 0, "bob", "h1");
	is_u64(table_sum(arena, digests, "count_star"), 4, "a successor folds both, and sums what was not added");
	two_statements(session);
	fixture_detach(session);
	is_u64(table_sum(arena, digests, "count_star"), 6, "and counts on");
	munmap(arena, arena->bytes);
}

/* --- one thread --- */

/* Three keys that share their places with 1, each with as many events as its number. */
static void
count_neighbours(PfsSession *session)
{
	for (uint64_t key = 5; key <= 13; key += 4)
		count(session, key, (int) key);
}

static void
test_evict(void)
{
	PfsSession *session = begin();
	Sums sums;

	ok(count(session, 1, 3), "a key");
	count_neighbours(session);
	ok(count(session, 2, 4), "another elsewhere");
	is_u64(session->arena->share_used[PFS_SHARE_DIGEST_CELLS], 5, "a cell for each");
	ok(count(session, 17, 1), "a fifth key in four places");
	is_u64(in_cell(session, 1), 0, "evicts the one that is least used");
	is_u64(rows[1].stat.count, 3, "into its row");
	is_u64(in_cell(session, 5) + in_cell(session, 9) + in_cell(session, 13), 27, "the others stay");
	is_u64(in_cell(session, 17), 1, "the newcomer starts at zero");
	is_u64(cell_of(session, 17)->head.last, 0, "with no record");
	ok(count(session, 1, 1), "it comes back");
	is_u64(in_cell(session, 1), 1, "and starts at zero");
	is_u64(rows[17].stat.count, 1, "in the place of the newcomer");
	sums = read_sums(session->arena);
	is_u64(all_of(&sums), 36, "every event is there");
	is_u64(torn(&sums), 0, "once");
	end(session);
	is_u64(rows[1].stat.count + rows[2].stat.count, 8, "the end of the thread folds the rest");
}

static void
test_busy(void)
{
	PfsSession *session = begin();
	PfsArena *arena = session->arena;

	count(session, 1, 1);
	count_neighbours(session);
	rows[1].lock = rows[9].lock = 1;
	ok(count(session, 17, 3), "a row is busy: the next cell is evicted");
	is_u64(rows[5].stat.count, 5, "into its row");
	rows[13].lock = rows[17].lock = 1;
	ok(!count(session, 5, 1), "all are busy: there is no cell");
	is_u64(in_cell(session, 1) + in_cell(session, 17), 4, "what was counted stays");
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0, "so far nothing is lost");
	is_u64(cell_of(session, 1)->head.seq & 1, 0, "nothing is left in writing");
	rows[1].lock = rows[9].lock = rows[13].lock = 0;
	pfs_cache_fold_all(arena, session->thread, &kind, NULL);
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 3, "what cannot be handed over at the end is");
	is_u64(rows[1].stat.count, 1, "the rest is in its row");
	end(session);
}

static void
test_row_gone(void)
{
	PfsSession *session = begin();

	count(session, 1, 100);
	count_neighbours(session);
	rows[1].gone = true;
	rows[1].lock = 1;
	ok(count(session, 17, 1), "a fifth key");
	is_u64(in_cell(session, 5), 5, "takes the place of a row that is gone");
	is_u64(rows[1].stat.count, 0, "to which nothing is added");
	end(session);
	is_u64(rows[5].stat.count, 5, "the others have theirs");
}

static void
test_reset(void)
{
	PfsSession *session = begin();
	PfsArena *arena = session->arena;
	Cell *cell;

	count(session, 1, 30);
	count_neighbours(session);
	count(session, 2, 5);
	cell = cell_of(session, 1);
	table_truncate(arena, "file_summary_by_instance");
	ok(cell_of(session, 1) == cell, "TRUNCATE of something else: the cell stays");
	is_u64(cell->stat.count, 30, "with its content");
	is_u64(cell->head.epoch, arena->reset_now, "as of now");
	table_truncate(arena, RESET);
	ok(cell_of(session, 1) == cell, "TRUNCATE: the cell stays");
	is_u64(cell->stat.count + cell->stat.max, 0, "and is empty");
	count(session, 1, 1);
	is_u64(cell->stat.count, 1, "it counts on");
	ok(count(session, 17, 1), "a fifth key");
	is_u64(in_cell(session, 1), 1, "evicts what does not count any more, however much it was");
	end(session);
	is_u64(rows[1].stat.count, 1, "new events are folded");
	is_u64(rows[5].stat.count + rows[2].stat.count, 0, "old ones are not");
}

static void
test_full(void)
{
	PfsSession *session = begin();
	PfsArena *arena = session->arena;

	count(session, 1, 2);
	while (pfs_pool_alloc(pfs_pool_of(arena), 1) != 0)
		;
	ok(count(session, 1, 1), "a full pool leaves the cells that are there");
	ok(!count(session, 2, 1), "where there is none there will be none");
	ok(count(session, 5, 1), "where there is one it is evicted");
	is_u64(rows[1].stat.count, 3, "into its row");
	is_u64(arena->share_used[PFS_SHARE_DIGEST_CELLS], 1, "the share is as before");
	end(session);

	session = begin();
	arena = session->arena;
	arena->share_limit[PFS_SHARE_DIGEST_CELLS] = 1;
	ok(count(session, 1, 1) && !count(session, 2, 1), "the share is used up");
	ok(pfs_pool_alloc(pfs_pool_of(arena), 1) != 0, "the pool is not");
	end(session);
}

/* A fold between the cells and the row, or before both, or a writer that never ends. */
static void
test_reader(void)
{
	PfsSession *session = begin();
	PfsArena *arena = session->arena;
	Cell copy;
	Cell *cell;
	PfsRef *place;
	Sums sums;

	count(session, 1, 3);
	cell = cell_of(session, 1);
	place = pfs_cache_places(session->thread, &kind) + pfs_cache_place(&kind, hash_of_key(1));
	ok(pfs_cache_read(arena, &kind, place, &copy), "a cell is copied");
	is_u64(copy.stat.count, 3, "with its content");
	ok(!pfs_cache_read(arena, &kind, place + 1, &copy), "no cell, no copy");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 0, "which is no loss");
	pfs_seq_write_begin(&rows[1].seq);
	sums = read_sums(arena);
	is_u64(sums.stat[1].count, 3, "somebody stands in the row: it is shown");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 1, "as unstable, once");
	pfs_seq_write_end(&rows[1].seq);
	pfs_seq_write_begin(&cell->head.seq);
	ok(!pfs_cache_read(arena, &kind, place, &copy), "somebody stands in the cell: no copy");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 2, "which is counted");
	pfs_seq_write_end(&cell->head.seq);
	end(session);
}

/* --- readers beside writers --- */

#define WRITERS 3
#define READERS 2
#define EVENTS 20000
#define EVENTS_MAX 2000000
#define SCANS 200 /* of each reader, that were stable; writers go on until then */

typedef struct Party
{
	PfsArena *arena;
	uint32_t number;
	bool *done;
	struct Party *all; /* writers, then readers */
	uint64_t started;
	uint64_t ended;
	uint64_t checked;
	uint64_t wrong;
} Party;

static uint64_t
sum_of(const Party *party, bool started)
{
	uint64_t sum = 0;

	for (int i = 0; i < WRITERS; i++)
		sum += pfs_load_acquire(started ? &party->all[i].started : &party->all[i].ended);
	return sum;
}

static bool
is_enough(const Party *writer, uint64_t events)
{
	bool checked = true;

	for (int i = WRITERS; i < WRITERS + READERS; i++)
		checked = checked && pfs_load(&writer->all[i].checked) >= SCANS;
	return events >= EVENTS_MAX || (events >= EVENTS && checked);
}

static void *
write_events(void *argument)
{
	Party *writer = argument;
	PfsSession *session = fixture_attach(writer->arena, writer->number, "ada", "h1");
	uint64_t random = 3 + writer->number;

	for (uint64_t i = 0; !is_enough(writer, i); i++)
	{
		uint64_t key = 1 + next_random(&random) % (ROWS - 1);

		if (i % 64 == 0)
			sched_yield();
		if (i % 500 == 0)
			pfs_cache_fold_all(writer->arena, session->thread, &kind, NULL);
		pfs_add(&writer->started, 1);
		pfs_fence();
		if (!count(session, key, 1))
			pfs_lose(writer->arena, PFS_LOSS_OBJECT_CELLS);
		pfs_fence();
		pfs_add(&writer->ended, 1);
	}
	pfs_cache_fold_all(writer->arena, session->thread, &kind, NULL);
	fixture_detach(session);
	return NULL;
}

/* All events that have ended are there once, whole. */
static void *
read_events(void *argument)
{
	Party *reader = argument;
	PfsArena *arena = reader->arena;

	while (!__atomic_load_n(reader->done, __ATOMIC_ACQUIRE))
	{
		uint64_t unstable = loss_of(arena, PFS_LOSS_UNSTABLE_READS);
		uint64_t ended = sum_of(reader, false);
		Sums sums = read_sums(arena);

		if (loss_of(arena, PFS_LOSS_UNSTABLE_READS) != unstable)
			continue;
		reader->wrong += torn(&sums) +
						 (all_of(&sums) + loss_of(arena, PFS_LOSS_OBJECT_CELLS) < ended) +
						 (all_of(&sums) > sum_of(reader, true));
		pfs_add(&reader->checked, 1);
	}
	return NULL;
}

static void
test_readers_and_writers(void)
{
	PfsArena *arena = fixture_arena(NULL);
	bool done = false;
	Party party[WRITERS + READERS];
	pthread_t thread[READERS];
	Sums sums;

	memset(rows, 0, sizeof(rows));
	for (uint32_t i = 0; i < WRITERS + READERS; i++)
		party[i] = (Party){.arena = arena, .number = i, .done = &done, .all = party};
	for (int i = 0; i < READERS; i++)
		pthread_create(&thread[i], NULL, read_events, &party[WRITERS + i]);
	run_threads(WRITERS, write_events, party, sizeof(Party));
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	for (int i = 0; i < READERS; i++)
	{
		pthread_join(thread[i], NULL);
		ok(party[WRITERS + i].checked > 0 && party[WRITERS + i].wrong == 0,
		   "%" PRIu64 " scans, %" PRIu64 " of them wrong", party[WRITERS + i].checked,
		   party[WRITERS + i].wrong);
	}
	sums = read_sums(arena);
	is_u64(all_of(&sums) + loss_of(arena, PFS_LOSS_OBJECT_CELLS), sum_of(party, false),
		   "all events are in the rows, or counted as lost");
	is_u64(torn(&sums), 0, "with their times");
	is_u64(arena->share_used[PFS_SHARE_DIGEST_CELLS], 0, "cells are given back");
	fixture_free(arena);
}

int
main(void)
{
	test_killed();
	test_killed_in_digest();
	test_evict();
	test_busy();
	test_row_gone();
	test_reset();
	test_full();
	test_reader();
	test_readers_and_writers();
	return done_testing();
}
