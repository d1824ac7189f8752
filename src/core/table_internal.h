/*
 * table_internal.h
 *		For the files that implement tables: column macros and reading helpers.
 */
#ifndef PFS_TABLE_INTERNAL_H
#define PFS_TABLE_INTERNAL_H

#include "core/event.h"
#include "core/names.h"
#include "core/patience.h"
#include "core/stat.h"
#include "core/summing.h"
#include "core/table.h"
#include "core/thread.h"

/* Names a group of columns after the array that holds them. */
#define PFS_GROUP(group_name, array) \
	static const PfsColumnGroup group_name = {(array), PFS_LENGTH(array)}

/* The five columns of a PfsTimerStat at this offset: "star" and "wait", or the same word twice. */
#define PFS_TIMER_COLUMNS(offset, count_word, time_word, what) \
	{"count_" count_word, "Number of " what, PFS_COLUMN_U64, \
	(offset) + offsetof(PfsTimerStat, count), 0}, \
	{"sum_timer_" time_word, "Total time of " what ", picoseconds", PFS_COLUMN_TICKS, \
	(offset) + offsetof(PfsTimerStat, sum), 0}, \
	{"min_timer_" time_word, "Shortest of " what ", picoseconds", PFS_COLUMN_MIN, (offset), 0}, \
	{"avg_timer_" time_word, "Mean of " what ", picoseconds", PFS_COLUMN_AVERAGE, (offset), 0}, \
	{"max_timer_" time_word, "Longest of " what ", picoseconds", PFS_COLUMN_TICKS, \
	(offset) + offsetof(PfsTimerStat, max), 0}

/* Type, schema and name of a routine, good as long as the copy; left alone if it is not known any more. */
extern void pfs_texts_of_routine(const PfsArena *arena, PfsRef routine, PfsNameCopy *copy, PfsText *type, PfsText *schema,
								 PfsText *name);

/* Calls the body for every attached or left-over thread slot. */
#define PFS_EACH_THREAD(arena, thread, slot) \
	for (uint32_t slot = 0; slot < (arena)->sizes.threads; slot++) \
		for (PfsThread *thread = pfs_thread((arena), slot); \
			 thread != NULL && pfs_load(&thread->thread_id) != 0; thread = NULL)

/* The sum of a statement counter, in a PfsStatementStat at this offset: a line of statement_counters.def. */
#define PFS_SUM_COLUMN(symbol, column, is_time, doc, stat) \
	{"sum_" #column, "Sum: " doc, (is_time) ? PFS_COLUMN_TICKS : PFS_COLUMN_U64, \
	(stat) + offsetof(PfsStatementStat, counter) + PFS_COUNTER_##symbol * sizeof(uint64_t), 0}

/* A PfsStatementStat: times and sums. */
extern const PfsColumnGroup pfs_statement_stat_group;

extern PfsText pfs_text_of_name(const PfsArena *arena, PfsRef name);
extern PfsText pfs_text_of_string(const char *string);

/* Of an array of characters in the arena; its terminator is not trusted. */
#define PFS_TEXT_OF(array) ((PfsText) {(array), strnlen((array), sizeof(array)), -1})

/* May the reader see rows of this user's sessions? */
extern bool pfs_scan_sees_user(const PfsScan *scan, PfsRef user);

/*
 * A text as this reader may see it.  Each text of a statement passes here: it is for those who see
 * all, and for those with the privileges of the role that the statement ran as (PfsStatementEvent),
 * even if the row is another's: for others it is NULL.  No lock may be held: the host looks up roles.
 */
extern PfsText pfs_scan_secret(PfsScan *scan, uint32_t role, PfsText text);

/*
 * The path of a file as this reader may see it: where the server's files are, and what was copied from
 * and to, is told by paths outside the data directory.  Others see PFS_HIDDEN_TEXT.
 */
extern PfsText pfs_scan_path(const PfsScan *scan, PfsText path);

/* Copies bytes under a sequence lock; false (and counted) when it never stood still. */
extern bool pfs_read_under(PfsArena *arena, const PfsSeq *seq, void *to, const void *from, size_t bytes);

static inline bool
pfs_read_thread(PfsArena *arena, PfsThread *thread, void *to, const void *from, size_t bytes)
{
	return pfs_read_under(arena, &thread->seq, to, from, bytes);
}

/*
 * Copies the records of a thread that its cells do not have yet, to memory of the scan.  None (and counted) if its
 * owner was always faster.
 */
extern void pfs_read_unsummed(PfsScan *scan, PfsThread *thread, PfsUnsummed *unsummed);

/* YES / NO in an edit; false when it is neither. */
extern bool pfs_parse_yes_no(const char *text, uint8_t *value);

/* Digest text of an event's or row's digest, good until the next call; NULL if there is none. */
extern PfsText pfs_read_digest_text(PfsScan *scan, uint32_t digest, uint32_t generation,
									uint8_t *sha);

/* Levels of by-name summaries as used in names: thread, account, user, host, global. */
extern const char *const pfs_level_words[PFS_LEVELS];

#endif							/* PFS_TABLE_INTERNAL_H */
