/*
 * test_pool.c - the chunk allocator: size classes, exhaustion, reuse, many threads.
 */
#include "arena_fixture.h"
#include "tap.h"

#define DATA_BYTES (64 * 1024)
#define THREADS 4
#define ROUNDS 4000
#define HELD 16

static PfsPool *
new_pool(uint64_t bytes)
{
	PfsPool *pool = aligned_alloc(PFS_POOL_UNIT, pfs_pool_size(bytes));

	memset(pool, 0, pfs_pool_size(bytes));
	pfs_pool_init(pool, bytes);
	return pool;
}

static bool
all_zero(const void *chunk, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (((const char *) chunk)[i] != 0)
			return false;
	return true;
}

static void
test_sizes(void)
{
	PfsPool *pool = new_pool(DATA_BYTES);
	int wrong_size = 0;
	int dirty = 0;
	int not_reused = 0;

	for (size_t bytes = 1; bytes <= PFS_POOL_MAX_CHUNK; bytes++)
	{
		size_t chunk = pfs_pool_chunk_size(bytes);
		PfsRef ref = pfs_pool_alloc(pool, bytes);
		void *memory = pfs_pool_at(pool, ref, chunk);

		/* from 64 bytes on, at most half as much again is given away */
		wrong_size += chunk < bytes || chunk > PFS_ALIGN_UP(bytes, 64) * 3 / 2;
		dirty += memory == NULL || !all_zero(memory, chunk);
		memset(memory, 0xFF, chunk);
		pfs_pool_free(pool, ref, bytes);
		not_reused += pfs_pool_alloc(pool, chunk) != ref;
		pfs_pool_free(pool, ref, chunk);
	}
	is_u64((uint64_t) wrong_size, 0, "a chunk holds what was asked for, and little more");
	is_u64((uint64_t) dirty, 0, "chunks are zeroed, also those that were used before");
	is_u64((uint64_t) not_reused, 0, "a freed chunk is the next one given for its size");
	is_u64(pfs_pool_bytes_used(pool), 0, "all returned");
	is_u64(pfs_pool_chunk_size(PFS_POOL_MAX_CHUNK + 1), 0, "no class for more than the largest");
	is_u64(pfs_pool_alloc(pool, PFS_POOL_MAX_CHUNK + 1), 0, "nor a chunk");
	is_u64(pool->lost, 0, "which is no loss: nobody may ask");
	free(pool);
}

static void
test_exhaustion(void)
{
	PfsPool *pool = new_pool(DATA_BYTES);
	PfsRef ref[DATA_BYTES / 64 + 1];
	int n = 0;

	while ((ref[n] = pfs_pool_alloc(pool, 64)) != 0)
		n++;
	is_u64((uint64_t) n, DATA_BYTES / 64, "every byte of the pool can be had");
	is_u64(pool->lost, 1, "the request that found it full is counted");
	is_u64(pfs_pool_bytes_used(pool), DATA_BYTES, "bytes in use");
	pfs_pool_free(pool, ref[7], 64);
	is_u64(pfs_pool_alloc(pool, 200), 0, "a chunk of another size does not fit");
	is_u64(pool->lost, 2, "which is counted too");
	is_u64(pfs_pool_alloc(pool, 10), ref[7], "a freed chunk can be had again");
	for (int i = 0; i < n; i++)
		pfs_pool_free(pool, ref[i], 64);
	is_u64(pfs_pool_bytes_used(pool), 0, "nothing in use after all were freed");
	free(pool);
}

static void
test_bounds(void)
{
	PfsPool *pool = new_pool(DATA_BYTES);
	PfsRef last = (PfsRef) pool->units - 1;

	ok(pfs_pool_at(pool, 0, 64) == NULL, "0 is no chunk");
	ok(pfs_pool_at(pool, last, 64) != NULL, "the last unit is inside");
	ok(pfs_pool_at(pool, last, 65) == NULL, "a chunk may not reach over the end");
	ok(pfs_pool_at(pool, UINT32_MAX, 1) == NULL, "nor lie behind it");
	pfs_pool_free(pool, UINT32_MAX, 64);
	pfs_pool_free(pool, 0, 64);
	pfs_pool_free(pool, last, PFS_POOL_MAX_CHUNK + 1);
	is_u64(pfs_pool_bytes_used(pool), 0, "a damaged reference is not freed");
	free(pool);
}

typedef struct Worker
{
	PfsPool *pool;
	uint64_t random;
	uint32_t mark;
	uint64_t overwritten;
	uint64_t given;
} Worker;

typedef struct Held
{
	PfsRef ref;
	size_t bytes;
} Held;

/* A chunk is filled with its holder's mark; a second holder would overwrite it. */
static void
release(Worker *worker, Held *held)
{
	uint32_t *word = pfs_pool_at(worker->pool, held->ref, held->bytes);

	for (size_t i = 0; held->ref != 0 && i < held->bytes / 4; i++)
		worker->overwritten += pfs_load(&word[i]) != worker->mark;
	pfs_pool_free(worker->pool, held->ref, held->bytes);
	held->ref = 0;
}

static void
claim(Worker *worker, Held *held)
{
	uint32_t *word;

	held->bytes = 4 * (1 + next_random(&worker->random) % 100);
	held->ref = pfs_pool_alloc(worker->pool, held->bytes);
	word = pfs_pool_at(worker->pool, held->ref, held->bytes);
	worker->given += held->ref != 0;
	for (size_t i = 0; held->ref != 0 && i < held->bytes / 4; i++)
	{
		worker->overwritten += pfs_load(&word[i]) != 0;
		pfs_store(&word[i], worker->mark);
	}
}

static void *
work(void *argument)
{
	Worker *worker = argument;
	Held held[HELD] = {{0, 0}};

	for (int i = 0; i < ROUNDS; i++)
	{
		Held *one = &held[next_random(&worker->random) % HELD];

		if (one->ref != 0)
			release(worker, one);
		else
			claim(worker, one);
	}
	for (int i = 0; i < HELD; i++)
		release(worker, &held[i]);
	return NULL;
}

/* Small enough to be exhausted now and then. */
static void
test_threads(void)
{
	PfsPool *pool = new_pool(8 * 1024);
	Worker worker[THREADS];
	uint64_t overwritten = 0;
	uint64_t given = 0;

	for (uint32_t i = 0; i < THREADS; i++)
		worker[i] = (Worker){.pool = pool, .random = 77 + i, .mark = 0x1000 + i};
	run_threads(THREADS, work, worker, sizeof(Worker));
	for (int i = 0; i < THREADS; i++)
	{
		overwritten += worker[i].overwritten;
		given += worker[i].given;
	}
	is_u64(overwritten, 0, "no chunk is handed out twice");
	ok(given > THREADS * ROUNDS / 10 && pool->lost > 0, "chunks were given, and the pool was full");
	is_u64(pfs_pool_bytes_used(pool), 0, "all came back");
	free(pool);
}

/* Smaller than what is asked for: nothing is handed out beyond its end. */
static void
test_tiny(void)
{
	int wrong = 0;

	for (uint64_t units = 0; units < 64; units++)
	{
		PfsPool *pool = new_pool(units * PFS_POOL_UNIT);

		for (size_t bytes = PFS_POOL_MAX_CHUNK; bytes > 0; bytes /= 2)
		{
			PfsRef ref = pfs_pool_alloc(pool, bytes);

			wrong += ref != 0 && pfs_pool_at(pool, ref, bytes) == NULL;
			wrong += ref != 0 && bytes > units * PFS_POOL_UNIT;
		}
		free(pool);
	}
	is_u64((uint64_t) wrong, 0, "a tiny pool has only what it has");
}

int
main(void)
{
	test_tiny();
	test_sizes();
	test_exhaustion();
	test_bounds();
	test_threads();
	return done_testing();
}
