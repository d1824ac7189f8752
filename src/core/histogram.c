/*
 * histogram.c
 *		Bucket limits and quantiles.
 */
#include "core/histogram.h"

#include <math.h>

#include "core/timer.h"

PfsBuckets	pfs_buckets;

#define FIRST_LIMIT_PS 100000.0 /* 100 ns */

uint64_t
pfs_bucket_low_ps(int bucket)
{
	if (bucket <= 0)
		return 0;
	if (bucket >= PFS_BUCKETS)
		return UINT64_MAX;
	return (uint64_t) (FIRST_LIMIT_PS * pow(10.0, (bucket - 1) / 50.0) + 0.5);
}

/* Smallest time of an entry of the guess table, counted from that of one tick. */
static PfsTicks
slot_start(unsigned entry)
{
	unsigned	octave = entry / PFS_BUCKET_SUB;
	unsigned __int128 mantissa = PFS_BUCKET_SUB + entry % PFS_BUCKET_SUB;

	/* rounded up: not all entries of the shortest times have one */
	return (PfsTicks) (((mantissa << octave) + PFS_BUCKET_SUB - 1) >> PFS_BUCKET_BITS);
}

/* Lower limit in ticks, rounded up: the limit itself is inside. */
static PfsTicks
low_ticks(int bucket)
{
	return (PfsTicks) ((((unsigned __int128) pfs_bucket_low_ps(bucket) << 32) + pfs_timer.ps_per_tick_q32 - 1) /
					   pfs_timer.ps_per_tick_q32);
}

void
pfs_histogram_init(void)
{
	unsigned	bucket = 0;

	for (int i = 0; i < PFS_BUCKETS - 1; i++)
		pfs_buckets.last[i] = low_ticks(i + 1) - 1;
	pfs_buckets.last[PFS_BUCKETS - 1] = UINT64_MAX;
	for (unsigned entry = 0; entry < PFS_LENGTH(pfs_buckets.guess); entry++)
	{
		while (bucket < PFS_BUCKETS - 1 && slot_start(entry) > pfs_buckets.last[bucket])
			bucket++;
		pfs_buckets.guess[(pfs_bucket_slot(1) + entry) % PFS_LENGTH(pfs_buckets.guess)] = (uint16_t) bucket;
	}
}

void
pfs_histogram_quantiles_ps(const uint64_t *count, const double *p, int quantiles, uint64_t *limit)
{
	uint64_t	total = 0;
	uint64_t	seen = 0;
	int			bucket = -1;

	for (int i = 0; i < PFS_BUCKETS; i++)
		total += count[i];
	for (int q = 0; q < quantiles; q++)
	{
		uint64_t	wanted = (uint64_t) ceil((double) total * p[q]);

		while (seen < wanted && bucket < PFS_BUCKETS - 1)
			seen += count[++bucket];
		limit[q] = total == 0 ? 0 : pfs_bucket_low_ps(bucket + 1);
	}
}

uint64_t
pfs_histogram_quantile_ps(const uint64_t *count, double p)
{
	uint64_t	limit;

	pfs_histogram_quantiles_ps(count, &p, 1, &limit);
	return limit;
}
