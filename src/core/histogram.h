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
#define PFS_BUCKET_BITS 5
#define PFS_BUCKET_SUB (1 << PFS_BUCKET_BITS)	/* table entries an octave: finer than a bucket, so there is one limit in them at most */

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

/*
 * Entry of a time: its octave and the bits behind the first one, as they stand side by side in a floating-point number,
 * which is exact up to times that the last bucket has.  That of one tick comes last.  Of what is no time it is some entry.
 */
static inline __attribute__((always_inline)) size_t
pfs_bucket_slot(PfsTicks wait)
{
	double		number = (double) (int64_t) wait;
	uint64_t	bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits >> (52 - PFS_BUCKET_BITS) & (PFS_BUCKET_OCTAVES * PFS_BUCKET_SUB - 1);
}

/* Of a time that was taken: neither 0 nor negative. */
static inline __attribute__((always_inline)) size_t
pfs_bucket_of_taken(PfsTicks wait)
{
	size_t		bucket = pfs_buckets.guess[pfs_bucket_slot(wait)];

	return bucket + (wait > pfs_buckets.last[bucket]);
}

static inline size_t
pfs_bucket_of(PfsTicks wait)
{
	return (int64_t) wait > 0 ? pfs_bucket_of_taken(wait) : wait == 0 ? 0 : PFS_BUCKETS - 1;
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
