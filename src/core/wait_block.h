/*
 * wait_block.h
 *		Blocks of rows of waits: a thread's ring is made of some, and so is most of the long history.
 *
 * A thread that is about to write over a block whose rows all belong to the long history, and are not there yet, gives it
 * away for the oldest one that stands there: nothing is copied.  When a thread ends, and when a switch
 * changes, there may be rows that do not fill a block: they are copied (history.h).
 *
 * Whose a block is, its holder says, alone: a thread, or nobody if it is the long history's.  The numbers of blocks, in the
 * places of the long history and in threads, only tell where to look; a block is taken by CAS of its holder, and a place is
 * changed by who holds what stands there.  So nobody ever shares a block.  Who is killed in between leaves a place that others pass by,
 * until the thread's successor puts it right.
 */
#ifndef PFS_WAIT_BLOCK_H
#define PFS_WAIT_BLOCK_H

#include "core/history.h"
#include "core/thread.h"

typedef struct PfsWaitBlock
{
	PFS_ALIGNED uint32_t holder;	/* a word of the thread's; 0 = the long history; writers: all, by CAS, or who holds it */
	/* of one that was given away */
	PfsRef		user;
	uint64_t	thread_id;
	uint64_t	stamp;			/* in which turn of wait_places_ring, which tells its place; 0 = it never was */
	PfsWaitSlot row[PFS_WAIT_BLOCK];
} PfsWaitBlock;

/* How many the long history has, and all. */
extern uint32_t pfs_wait_places(const PfsSizes *sizes);
extern uint32_t pfs_wait_blocks(const PfsSizes *sizes);

extern void pfs_wait_blocks_init(PfsArena *arena);

static inline PfsWaitBlock *
pfs_wait_block(const PfsArena *arena, uint32_t number)
{
	return PFS_AT(arena, arena->wait_blocks.blocks, PfsWaitBlock) + number;
}

/* One of the thread's ring. */
static inline __attribute__((always_inline)) PfsWaitBlock *
pfs_thread_wait_block(const PfsArena *arena, PfsThread *thread, uint32_t place)
{
	uint32_t	number = pfs_load_acquire(&pfs_thread_blocks(arena, thread)->number[place]);

	return pfs_wait_block(arena, number < arena->wait_blocks.count ? number : 0);	/* damaged */
}

static inline PfsWaitRecord *
pfs_thread_wait_row(const PfsArena *arena, PfsThread *thread, uint32_t slot)
{
	return &pfs_thread_wait_block(arena, thread, slot / PFS_WAIT_BLOCK)->row[slot % PFS_WAIT_BLOCK].record;
}

/* Where the session writes its next rows: in the block of its head. */
static inline void
pfs_wait_block_enter(PfsSession *session)
{
	PfsWaitRows *rows = &session->wait_rows;
	uint32_t	place = rows->head / PFS_WAIT_BLOCK,
				first = place * PFS_WAIT_BLOCK;

	rows->slots = (PfsWaitSlot *) ((uintptr_t) pfs_thread_wait_block(session->arena, session->thread, place)->row -
								   first * sizeof(PfsWaitSlot));
	rows->turn = first + PFS_WAIT_BLOCK;
}

/*
 * The thread's block in this place of its ring goes to the long history, and another one comes there: with that its rows,
 * which are those before this number, are noted as copied.  False: nothing was done.  Owner only.
 */
extern bool pfs_wait_block_give(PfsArena *arena, PfsThread *thread, uint32_t place, uint64_t until);

/* Puts right what was left in the middle of that.  Owner or successor. */
extern void pfs_wait_blocks_mend(PfsArena *arena, PfsThread *thread);

/*
 * Copies what stands in the long history in the place of this turn, see wait_places_ring, with the room of PFS_WAIT_BLOCK
 * rows.  False: it is a thread's just now, or has never been given.
 */
extern bool pfs_wait_block_read(PfsArena *arena, uint64_t turn, PfsLongWait *rows);

#ifdef PFS_ASSERTS
extern void (*pfs_inside_exchange) (void);	/* called after each of its steps */
#endif

#endif							/* PFS_WAIT_BLOCK_H */
