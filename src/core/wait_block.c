/*
 * wait_block.c
 *		Blocks of rows of waits change hands.
 */
#include "core/wait_block.h"

#include "core/patience.h"

#ifdef PFS_ASSERTS
void		(*pfs_inside_exchange) (void);
#define STEP() do { if (pfs_inside_exchange != NULL) pfs_inside_exchange(); } while (0)
#else
#define STEP() ((void) 0)
#endif

#define TRIES 4					/* places to be passed by: somebody else's just now, or broken */

/* Some are left out, because another was faster. */
#define PLACES_TO_SPARE 8

uint32_t
pfs_wait_places(const PfsSizes *sizes)
{
	return sizes->waits_history_long == 0 ? 0
		: (sizes->waits_history_long + PFS_WAIT_BLOCK - 1) / PFS_WAIT_BLOCK + PLACES_TO_SPARE;
}

uint32_t
pfs_wait_blocks(const PfsSizes *sizes)
{
	return pfs_wait_places(sizes) + sizes->threads * pfs_thread_wait_blocks(sizes);
}

static uint32_t *
places(const PfsArena *arena)
{
	return PFS_AT(arena, arena->wait_blocks.places, uint32_t);
}

/* A word for a thread that is no other's, and not 0. */
static uint32_t
holder_of(const PfsArena *arena, const PfsThread *thread)
{
	return (uint32_t) (((uintptr_t) thread - (uintptr_t) arena) / PFS_CACHE_LINE);
}

void
pfs_wait_blocks_init(PfsArena *arena)
{
	uint32_t	number = 0,
				of_thread = pfs_thread_wait_blocks(&arena->sizes);

	for (; number < pfs_wait_places(&arena->sizes); number++)
		places(arena)[number] = number;
	for (uint32_t slot = 0; slot < arena->sizes.threads; slot++)
		for (uint32_t i = 0; i < of_thread; i++)
		{
			PfsThread  *thread = pfs_thread(arena, slot);

			pfs_wait_block(arena, number)->holder = holder_of(arena, thread);
			pfs_thread_blocks(arena, thread)->number[i] = number++;
		}
}

/* Takes what stands at a place of the long history, and was given before this turn.  False: it is not to be had. */
static bool
take(PfsArena *arena, uint32_t *place, uint32_t number, uint32_t holder, uint64_t turn)
{
	PfsWaitBlock *block = pfs_wait_block(arena, number);

	if (number >= arena->wait_blocks.count || pfs_load(&block->holder) != 0 || !pfs_cas32(&block->holder, 0, holder))
		return false;
	STEP();
	if (pfs_load(place) == number && pfs_load(&block->stamp) < turn)
		return true;
	pfs_store_release(&block->holder, 0);	/* it stands elsewhere by now */
	return false;
}

/* The thread holds what stands at a place of the long history, where it leaves another one. */
static void
leave(PfsArena *arena, uint32_t *place, uint32_t number)
{
	pfs_store_release(place, number);
	STEP();
	pfs_store_release(&pfs_wait_block(arena, number)->holder, 0);
}

/* What a thread is in the middle of, or NOTHING, for whoever mends it. */
#define NOTHING UINT32_MAX

static inline void
note(PfsThreadBlocks *blocks, uint32_t taken)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	pfs_store(&blocks->taken, taken + 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Others need not try what stands at this turn's place. */
static inline void
pass(PfsArena *arena, uint64_t turn)
{
	uint64_t	before = turn - 1;

	if (pfs_unlikely(!pfs_cas64(&arena->wait_places_ring.next, &before, turn)))
		pfs_raise_to(&arena->wait_places_ring.next, turn);
}

bool
pfs_wait_block_give(PfsArena *arena, PfsThread *thread, uint32_t place, uint64_t until)
{
	PfsThreadBlocks *blocks = pfs_thread_blocks(arena, thread);
	uint32_t	holder = holder_of(arena, thread),
				given = pfs_load(&blocks->number[place]);
	PfsWaitBlock *block = pfs_wait_block(arena, given);
	uint64_t	turn = pfs_load(&arena->wait_places_ring.next) + 1;

	if (given >= arena->wait_blocks.count || pfs_load(&block->holder) != holder)
		return false;			/* damaged */
	pfs_store(&block->user, pfs_load(&thread->user));
	pfs_store(&block->thread_id, pfs_load(&thread->thread_id));
	pfs_keep(blocks);
	pfs_store(&blocks->given, given);
	pfs_store(&blocks->given_until, until);
	for (uint64_t end = turn + TRIES; turn < end; turn++)
	{
		uint32_t   *of_history = &places(arena)[turn % arena->wait_blocks.place_count];
		uint32_t	taken = pfs_load_acquire(of_history);

		pfs_store(&block->stamp, turn);
		note(blocks, taken);
		STEP();
		if (pfs_likely(take(arena, of_history, taken, holder, turn)))
		{
			__atomic_thread_fence(__ATOMIC_RELEASE);	/* pairs with the reader's second look at the holder */
			pfs_store_release(&blocks->number[place], taken);
			STEP();
			pass(arena, turn);
			STEP();
			leave(arena, of_history, given);
			STEP();
			pfs_store_release(&thread->waits_copied, until);
			STEP();
			note(blocks, NOTHING);
			return true;
		}
	}
	note(blocks, NOTHING);
	pass(arena, turn - 1);
	return false;
}

/* Where this block stands, or is about to. */
static uint32_t *
place_of(const PfsArena *arena, uint32_t given, uint32_t taken)
{
	for (uint32_t i = 0; i < arena->wait_blocks.place_count; i++)
	{
		uint32_t	number = pfs_load(&places(arena)[i]);

		if (number == given || number == taken)
			return &places(arena)[i];
	}
	return NULL;				/* damaged */
}

static bool
is_of_ring(const PfsArena *arena, PfsThread *thread, uint32_t number)
{
	for (uint32_t i = 0; i < pfs_thread_wait_blocks(&arena->sizes); i++)
		if (pfs_load(&pfs_thread_blocks(arena, thread)->number[i]) == number)
			return true;
	return false;
}

void
pfs_wait_blocks_mend(PfsArena *arena, PfsThread *thread)
{
	PfsThreadBlocks *blocks = pfs_thread_blocks(arena, thread);
	uint32_t	given = pfs_load(&blocks->given),
				taken = pfs_load(&blocks->taken) - 1,
				holder = holder_of(arena, thread);
	uint32_t   *place;

	if (pfs_likely(taken == NOTHING))
		return;
	if (given < arena->wait_blocks.count && taken < arena->wait_blocks.count &&
		pfs_load(&pfs_wait_block(arena, taken)->holder) == holder)
	{
		if (!is_of_ring(arena, thread, taken))
			pfs_store_release(&pfs_wait_block(arena, taken)->holder, 0);	/* it was as if nothing had been done */
		else
		{
			place = pfs_load(&pfs_wait_block(arena, given)->holder) == holder ? place_of(arena, given, taken) : NULL;
			if (place != NULL)
				leave(arena, place, given);
			pfs_store_release(&thread->waits_copied, pfs_load(&blocks->given_until));
		}
	}
	note(blocks, NOTHING);
}

bool
pfs_wait_block_read(PfsArena *arena, uint64_t turn, PfsLongWait *rows)
{
	uint32_t	number = pfs_load_acquire(&places(arena)[turn % arena->wait_blocks.place_count]);
	PfsWaitBlock *block = pfs_wait_block(arena, number);

	if (number >= arena->wait_blocks.count)
		return false;			/* damaged */
	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint32_t	holder = pfs_load_acquire(&block->holder);
		uint64_t	stamp = pfs_load_acquire(&block->stamp),
					thread_id = pfs_load(&block->thread_id);
		PfsRef		user = pfs_load(&block->user);

		if (holder != 0 || stamp == 0)
			return false;
		for (uint32_t i = 0; i < PFS_WAIT_BLOCK; i++)
		{
			rows[i] = (PfsLongWait) {.stamp = stamp,.thread_id = thread_id,.user = user};
			pfs_copy_words(&rows[i].record, &block->row[i].record, sizeof(PfsWaitRecord));
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		/* with acquire: who has taken it and given it again has changed the stamp before */
		if (pfs_load_acquire(&block->holder) == 0 && pfs_load(&block->stamp) == stamp)
			return true;
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return false;
}
