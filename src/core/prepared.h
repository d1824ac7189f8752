/*
 * prepared.h
 *		Statements that sessions have prepared with PREPARE: rows of prepared_statements_instances.
 *
 * A thread has a list of them, each a chunk of the pool, with its text.  Its owner alone changes it, inside the sequence
 * "prepared_seq", so a reader copies a list as a whole.  A row goes with its DEALLOCATE, or with its thread.
 */
#ifndef PFS_PREPARED_H
#define PFS_PREPARED_H

#include "core/event.h"
#include "core/thread.h"

#define PFS_PREPARED_NAME 64	/* bytes; the server's names are shorter */

typedef struct PfsPrepared
{
	PfsRef		next;			/* 0 = the last */
	uint32_t	epoch;			/* value of the reset counter when its statistics began */
	uint64_t	event_id;		/* of its PREPARE; 0 = made no row */
	uint64_t	statement_id;	/* the same */
	PfsTicks	prepare;		/* how long that took; 0 = not timed */
	uint64_t	analysed_again; /* because something that it names has changed */
	uint64_t	generic_plans;	/* executions by each, since it was prepared */
	uint64_t	custom_plans;
	PfsRef		routine;		/* that prepared it, see names.h; 0 = none */
	uint32_t	role;			/* host's id: decides who may see the text */
	uint32_t	name_length;
	uint32_t	text_length;
	PfsStatementStat stat;
	char		name[PFS_PREPARED_NAME];
} PfsPrepared;					/* and the text */

_Static_assert(sizeof(PfsPrepared) % 8 == 0, "copied by words");

#define PFS_PREPARED_TEXT (PFS_POOL_MAX_CHUNK - sizeof(PfsPrepared))	/* bytes; a longer one is cut */

/*
 * A new row of the thread: what it is (next, epoch and statistics are of no meaning), its name in it, and its text.  0: no room,
 * counted.  This and the next ones: owner only.
 */
extern PfsRef pfs_prepared_add(PfsArena *arena, PfsThread *thread, const PfsPrepared *what, const char *text);

extern void pfs_prepared_remove(PfsArena *arena, PfsThread *thread, PfsRef row);
extern void pfs_prepared_remove_all(PfsArena *arena, PfsThread *thread);

/* An EXECUTE of it has ended, or (not executes) a query that it consists of. */
extern void pfs_prepared_count(PfsArena *arena, PfsThread *thread, PfsRef row, bool executes,
							   const PfsStatementRecord *record);

/* What the server says of its plans. */
extern void pfs_prepared_planned(PfsArena *arena, PfsThread *thread, PfsRef row, uint64_t generic_plans, uint64_t custom_plans,
								 bool again);

/* Any process, which asks the sequence: copies a row and its text, of at most PFS_PREPARED_TEXT bytes (NULL: without that). */
extern bool pfs_prepared_copy(const PfsArena *arena, PfsRef row, PfsPrepared *to, char *text);

#endif							/* PFS_PREPARED_H */
