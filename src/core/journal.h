/*
 * journal.h
 *		The journal of a thread: its open statements, the last ones that have ended, their texts.
 *
 * A statement is written where it will stay, in the ring's slot for the next record; when it ends, that record's number
 * is published in thread->ended.  Nothing else happens then.  Before another one begins it moves to a slot of its own
 * in the stack, and when it ends from there it is copied to the ring.  Where an open statement stands is named in
 * thread->open; a slot of the ring is open only as long as it is that of the next record.  Records are numbered
 * without gaps, in the order in which statements end.  They are added to the summaries later, see
 * summing.h; until then a reader adds those that are newer than the cells (thread->summed).
 *
 * Texts stand in a ring of bytes, by positions that only grow (records keep their lower half): a text is
 * there as long as not more than journal_texts bytes were written since its start.  Texts of open statements
 * are written again while they are fresh (pfs_statement_text_is_fresh), so that they last for a while when the
 * statements have ended.  A text that many statements share is written once and referred to as long.
 *
 * Writer: the owner.  Readers: any process, without a lock: they copy first, and then look whether
 * what they have copied was still there.  So a writer that stands still, or was killed, in the middle of
 * a record hinders nobody.
 */
#ifndef PFS_JOURNAL_H
#define PFS_JOURNAL_H

#include "core/thread.h"

#define PFS_UNSUMMED 32			/* records that may wait to be summed */
#define PFS_NO_SLOT UINT16_MAX

/* Where the parts are. */
static inline uint32_t
pfs_journal_slots(const PfsArena *arena)
{
	return arena->journal_ring + arena->sizes.statement_stack;
}

/* Slots of the ring come first, those of the stack behind them. */
static inline PfsStatementRecord *
pfs_journal_records(const PfsArena *arena, PfsThread *thread)
{
	return PFS_AT(thread, arena->thread_journal_offset, PfsStatementRecord);
}

/* Slot of the record with this number. */
static inline uint32_t
pfs_journal_slot(const PfsArena *arena, uint64_t number)
{
	return (uint32_t) number & (arena->journal_ring - 1);
}

/* That of this place of the stack. */
static inline uint32_t
pfs_journal_own_slot(const PfsArena *arena, uint32_t place)
{
	return arena->journal_ring + place;
}

static inline char *
pfs_journal_texts(const PfsArena *arena, PfsThread *thread)
{
	return (char *) (pfs_journal_records(arena, thread) + pfs_journal_slots(arena));
}

static inline size_t
pfs_journal_bytes(const PfsArena *arena)
{
	return pfs_journal_slots(arena) * sizeof(PfsStatementRecord) + arena->journal_texts;
}

/* The record with this number: some record in any case. */
static inline PfsStatementRecord *
pfs_journal_record(const PfsArena *arena, PfsThread *thread, uint64_t number)
{
	return pfs_journal_records(arena, thread) + pfs_journal_slot(arena, number);
}

/* Of a text, or a message, that stands there: the length if it is still whole, else 0. */
static inline uint32_t
pfs_journal_text_left(const PfsArena *arena, const PfsThread *thread, uint32_t position, uint32_t length,
					  uint32_t limit)
{
	if (length > limit || (position & (arena->journal_texts - 1)) + length > arena->journal_texts ||
		(uint32_t) pfs_load(&thread->text_next) - position > arena->journal_texts)
		return 0;
	return length;
}

/* Makes the journal empty, for a new owner.  Inside the thread's seq. */
extern void pfs_journal_clear(PfsArena *arena, PfsThread *thread);

/*
 * Room for a text of at most sql_text_length bytes, or a message: *position says where it is.  What was
 * there is void from now on.
 */
extern char *pfs_journal_text_room(const PfsArena *arena, PfsThread *thread, uint32_t length,
								   uint64_t *position);

/* --- readers --- */

/*
 * Copies the records that are not in the cells, oldest first, to room for journal_ring of them: *count, *first
 * is the number of the first.  What was summed meanwhile may be among them: a reader of a cell leaves
 * out those that the cell has.  False: the owner was always faster, none is copied.
 */
extern bool pfs_journal_unsummed(const PfsArena *arena, PfsThread *thread, uint64_t *first,
								 uint32_t *count, PfsStatementRecord *to);

/* Copies one record; false: it is gone, or not there yet. */
extern bool pfs_journal_read(const PfsArena *arena, PfsThread *thread, uint64_t number,
							 PfsStatementRecord *to);

/* Copies the open statement at a place of the stack; false: there is none. */
extern bool pfs_journal_read_open(const PfsArena *arena, PfsThread *thread, uint32_t place,
								  PfsStatementRecord *to);

/*
 * The statement that events_statements_current shows instead of open ones: the last top-level one that
 * has ended.  False: there is none.
 */
extern bool pfs_journal_read_last(const PfsArena *arena, PfsThread *thread, PfsStatementRecord *to);

/* Copies a record's text or message (a length that is 0 if it is no longer there) to room for both. */
extern void pfs_journal_read_texts(const PfsArena *arena, PfsThread *thread,
								   PfsStatementRecord *record, char *text, char *message);

#endif							/* PFS_JOURNAL_H */
