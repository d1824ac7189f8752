/*
 * stat.c
 *		Merging of statistics.  Adding one event is inline in stat.h.
 */
#include "core/stat.h"

static void
keep_max(uint64_t *to, uint64_t value)
{
	if (value > pfs_load(to))
		pfs_store(to, value);
}

void
pfs_timer_stat_merge(PfsTimerStat *to, const PfsTimerStat *from)
{
	pfs_add(&to->count, pfs_load(&from->count));
	pfs_add(&to->sum, pfs_load(&from->sum));
	keep_max(&to->min_inverted, pfs_load(&from->min_inverted));
	keep_max(&to->max, pfs_load(&from->max));
}

void
pfs_timer_stats_merge(PfsTimerStat *to, const PfsTimerStat *from, int count)
{
	for (int i = 0; i < count; i++)
		pfs_timer_stat_merge(&to[i], &from[i]);
}

void
pfs_io_stat_merge(PfsIoStat *to, const PfsIoStat *from)
{
	pfs_timer_stats_merge(to->part, from->part, PFS_IO_PARTS);
	for (int i = 0; i < 2; i++)
		pfs_add(&to->bytes[i], pfs_load(&from->bytes[i]));
}

PfsTimerStat
pfs_io_stat_total(const PfsIoStat *stat)
{
	PfsTimerStat total = {0};

	for (int i = 0; i < PFS_IO_PARTS; i++)
		pfs_timer_stat_merge(&total, &stat->part[i]);
	return total;
}

void
pfs_statement_stat_merge(PfsStatementStat *to, const PfsStatementStat *from)
{
	pfs_timer_stat_merge(&to->timer, &from->timer);
	for (int i = 0; i < PFS_COUNTERS; i++)
		pfs_add(&to->counter[i], pfs_load(&from->counter[i]));
}

void
pfs_transaction_stat_merge(PfsTransactionStat *to, const PfsTransactionStat *from)
{
	pfs_timer_stat_merge(&to->read_write, &from->read_write);
	pfs_timer_stat_merge(&to->read_only, &from->read_only);
}

void
pfs_error_stat_merge(PfsErrorStat *to, const PfsErrorStat *from)
{
	uint64_t	first = pfs_load(&from->first_seen);
	uint64_t	mine = pfs_load(&to->first_seen);

	pfs_add(&to->raised, pfs_load(&from->raised));
	pfs_add(&to->handled, pfs_load(&from->handled));
	if (first != 0 && (mine == 0 || first < mine))
		pfs_store(&to->first_seen, first);
	keep_max(&to->last_seen, pfs_load(&from->last_seen));
}

static void
add_shared_unless_zero(uint64_t *to, uint64_t value)
{
	if (value != 0)
		pfs_add_shared(to, value);
}

void
pfs_statement_stat_merge_shared(PfsStatementStat *to, const PfsStatementStat *from)
{
	add_shared_unless_zero(&to->timer.count, from->timer.count);
	add_shared_unless_zero(&to->timer.sum, from->timer.sum);
	pfs_raise_to(&to->timer.min_inverted, from->timer.min_inverted);
	pfs_raise_to(&to->timer.max, from->timer.max);
	for (int i = 0; i < PFS_COUNTERS; i++)
		add_shared_unless_zero(&to->counter[i], from->counter[i]);
}
