/*
 * test_histogram.c - buckets against a linear search, quantiles against sorted data.
 */
#include "arena_fixture.h"
#include "tap.h"

#include <math.h>

#define SAMPLES 20000

/* The definition: [low, high) in picoseconds, the last bucket is open. */
static unsigned
bucket_plainly(PfsTicks wait)
{
	unsigned __int128 ps = pfs_ticks_to_ps(wait);
	unsigned bucket = 0;

	while (bucket < PFS_BUCKETS - 1 && ps >= pfs_bucket_low_ps((int) bucket + 1))
		bucket++;
	return bucket;
}

static uint64_t
differences(void)
{
	uint64_t random = 99;
	uint64_t wrong = 0;
	PfsTicks edges[] = {0, 1, 2, 3, 31, 32, 33, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2};

	for (size_t i = 0; i < PFS_LENGTH(edges); i++)
		wrong += pfs_bucket_of(edges[i]) != bucket_plainly(edges[i]);
	for (int i = 0; i < PFS_BUCKETS; i++)
		for (int64_t step = -1; step <= 1; step++)
		{
			PfsTicks wait = pfs_buckets.last[i] + (uint64_t) step;

			wrong += pfs_bucket_of(wait) != bucket_plainly(wait);
		}
	for (int i = 0; i < SAMPLES; i++)
	{
		PfsTicks wait = next_random(&random) >> next_random(&random) % 64;

		wrong += pfs_bucket_of(wait) != bucket_plainly(wait);
	}
	return wrong;
}

static void
test_limits(void)
{
	bool rising = true;

	is_u64(pfs_bucket_low_ps(0), 0, "the first bucket starts at 0");
	is_u64(pfs_bucket_low_ps(1), 100000, "the second at 100 ns");
	is_u64(pfs_bucket_low_ps(51), 1000000, "fifty further on it is a decade more");
	is_u64(pfs_bucket_low_ps(PFS_BUCKETS), UINT64_MAX, "the last one is open");
	for (int i = 0; i < PFS_BUCKETS; i++)
		rising = rising && pfs_bucket_low_ps(i) < pfs_bucket_low_ps(i + 1);
	ok(rising, "limits rise");
	ok(pfs_bucket_low_ps(PFS_BUCKETS - 1) > UINT64_C(9000) * 1000000000000, "up to 2.5 hours");
}

/* Timers of several speeds: nanoseconds, a cycle counter, a slow counter of another processor. */
static void
test_buckets(void)
{
	static const uint64_t frequencies[] = {1000000000, 2399999983, 4700000000, 24000000};

	for (size_t i = 0; i < PFS_LENGTH(frequencies); i++)
	{
		pfs_timer.frequency = frequencies[i];
		pfs_timer.ps_per_tick_q32 =
			(uint64_t) (((unsigned __int128) UINT64_C(1000000000000) << 32) / frequencies[i]);
		pfs_histogram_init();
		ok(differences() == 0, "every time falls into its bucket at %" PRIu64 " ticks a second",
		   frequencies[i]);
	}
	pfs_timer_init(false);
	pfs_histogram_init();
}

static int
by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a;
	uint64_t y = *(const uint64_t *) b;

	return x < y ? -1 : x > y;
}

/* Is the quantile the upper limit of the bucket that holds the exact one? */
static bool
quantile_fits(const uint64_t *count, const uint64_t *sorted, size_t n, double p)
{
	size_t rank = (size_t) ceil((double) n * p);
	uint64_t exact = sorted[rank > 0 ? rank - 1 : 0];

	return pfs_histogram_quantile_ps(count, p) == pfs_bucket_low_ps((int) pfs_bucket_of(exact) + 1);
}

static void
test_quantiles(void)
{
	static uint64_t wait[SAMPLES];
	uint64_t count[PFS_BUCKETS] = {0};
	uint64_t random = 5;
	bool fits = true;

	is_u64(pfs_histogram_quantile_ps(count, 0.95), 0, "no data: 0");
	for (int i = 0; i < SAMPLES; i++)
	{
		wait[i] = 1 + (next_random(&random) >> (34 + next_random(&random) % 20));
		count[pfs_bucket_of(wait[i])]++;
	}
	qsort(wait, SAMPLES, sizeof(wait[0]), by_size);
	for (int i = 1; i <= 1000; i++)
		fits = fits && quantile_fits(count, wait, SAMPLES, i / 1000.0);
	ok(fits, "a thousand quantiles are the limits above the exact ones");
	memset(count, 0, sizeof(count));
	count[7] = 1;
	is_u64(pfs_histogram_quantile_ps(count, 0.999), pfs_bucket_low_ps(8), "of one event");
	memset(count, 0, sizeof(count));
	count[PFS_BUCKETS - 1] = 1;
	is_u64(pfs_histogram_quantile_ps(count, 0.5), UINT64_MAX, "in the open bucket");
}

int
main(void)
{
	pfs_timer_init(false);
	pfs_histogram_init();
	test_limits();
	test_buckets();
	test_quantiles();
	return done_testing();
}
