/*
 * summing.h
 *		From the journal to the summaries: what ended statements add to cells and to the long history.
 *
 * Records are added when PFS_UNSUMMED of them are waiting, or texts that the long history wants are about
 * to be overwritten; when the thread ends, or when its slot is taken over.  Consecutive records of
 * one digest are added together.  A record counts by the switches of its own time, which it carries, and
 * at the levels whose reset point is not newer than its end: cells are brought to the record's
 * epoch, not to the present one.
 *
 * A record is added to one cell, that of its digest, class and epoch (digest.h), which has a sequence of its own and
 * remembers the number of the last record in it; thread->summed follows.  A reader copies the records that are
 * not summed, notes thread->summed, and then copies each cell under its sequence; to what it finds it adds the
 * records that are newer than both numbers.  A record that was summed when "summed" was noted is in a cell, or
 * has left it for a row and for its class by then; a later one shows in the cell's number, or in the state of the row
 * and in thread->moves.
 */
#ifndef PFS_SUMMING_H
#define PFS_SUMMING_H

#include "core/history.h"
#include "core/journal.h"

/* So many statements may end until what was answered moves to its cells. */
#define PFS_ANSWERS_REST 1024

/* Adds all records.  Owner or successor; long_history: NULL = without. */
extern void pfs_sum_journal(PfsArena *arena, PfsThread *thread, PfsLongClaims *long_history);

/*
 * The same if some ended at another epoch than this: before anything else is added to cells of statements,
 * which never go back to an older epoch.
 */
extern void pfs_sum_older(PfsArena *arena, PfsThread *thread, uint32_t epoch, PfsLongClaims *long_history);

/* Adds a statement that is not in the journal. */
extern void pfs_sum_record(PfsArena *arena, PfsThread *thread, const PfsStatementRecord *record,
						   PfsLongClaims *long_history);

/* What readers add to cells of statements. */
typedef struct PfsUnsummed
{
	uint64_t	first;			/* number of the first record */
	uint32_t	count;
	PfsStatementRecord *record;
} PfsUnsummed;

/* Adds a record to statistics. */
extern void pfs_statement_stat_add_record(PfsStatementStat *stat, const PfsStatementRecord *record);

#endif							/* PFS_SUMMING_H */
