/*
 * histogram.h
 *		Buckets of statement times and the quantiles read from them.
 *
 * MySQL's ratio of 10^(1/50) (4.7 % a bucket, 50 buckets a decade), but starting at 100 ns instead
 * of 10 us, and with 100 buckets more so that the last limit stays MySQL's 9,120 s.  Bucket 0 is
 * [0, 100 ns), bucket i is [100 ns * r^(i-1), 100 ns * r^i), the last one is open.
 */
#ifndef PFS_HISTOGRAM_H
#define PFS_HISTOGRAM_H

#include "core/base.h"

#define PFS_BUCKETS 550
#define PFS_BUCKET_OCTAVES 64
#define PFS_BUCKET_SUB 32		/* table entries an octave: finer than a bucket, so there is one limit in them at most */

/* Read-only after pfs_histogram_init; inherited by fork. */
typedef struct PfsBuckets
{
	PfsTicks	last[PFS_BUCKETS];	/* longest times in ticks */
	uint16_t	guess[PFS_BUCKET_OCTAVES * PFS_BUCKET_SUB];
} PfsBuckets;

extern PfsBuckets pfs_buckets;

/* Call after pfs_timer_init. */
extern void pfs_histogram_init(void);

/* Lower limit of a bucket in picoseconds, exact (not through ticks). */
extern uint64_t pfs_bucket_low_ps(int bucket);

/* The shortest times have an entry each, before those of the sixth octave. */
static inline __attribute__((always_inline)) size_t
pfs_bucket_slot(PfsTicks wait)
{
	uint32_t	shift = (63 ^ (uint32_t) __builtin_clzll(wait | PFS_BUCKET_SUB)) - 5;

	/* its six highest bits: the first one is the octave's */
	return (size_t) (shift * PFS_BUCKET_SUB) + (wait >> shift) + 4 * PFS_BUCKET_SUB;
}

static inline __attribute__((always_inline)) size_t
pfs_bucket_of(PfsTicks wait)
{
	size_t		bucket = pfs_buckets.guess[pfs_bucket_slot(wait)];

	return bucket + (wait > pfs_buckets.last[bucket]);
}

/*
 * Upper limit, in picoseconds, of the first bucket whose cumulative count reaches
 * ceil(total * p), as MySQL computes QUANTILE_95 and its kin; 0 without data.
 */
extern uint64_t pfs_histogram_quantile_ps(const uint64_t *count, double p);

/* Several at once; p in ascending order. */
extern void pfs_histogram_quantiles_ps(const uint64_t *count, const double *p, int quantiles,
									   uint64_t *limit);

#endif							/* PFS_HISTOGRAM_H */
