/*
 * wait_row.h
 *		Rows of waits: for wait.c and wait_end.h.  All inside the recording and the thread's seq.
 *
 * A wait is written where it stays: at the head of the thread's ring.  While it lasts, that slot is the
 * one shown as current; when it has ended, the head moves on, if there is a history.  Of waits inside each
 * other the innermost one is at the head; those around it are in the stack behind the ring, and are copied
 * to the head when they end.  Idle time is there from its beginning: what brings the next command is inside.
 * Rows go to the long history by blocks, see wait_block.h: without the other consumer they are in the ring only for that, hidden.
 *
 * The short ways (wait_end.h, rows of tables) write rows outside of the thread's sequence, so readers do not rely on it alone: while a
 * row is written its event_id is 0, its end_event_id comes after all that belongs to its end, and what has ended stays
 * as it is until the ring comes round to it.
 */
#ifndef PFS_WAIT_ROW_H
#define PFS_WAIT_ROW_H

#include "core/history.h"
#include "core/wait.h"

/* The innermost wait moves from the head to the stack, for one that is inside.  False: too many, that makes no row. */
extern bool pfs_wait_row_make_way(PfsSession *session, uint32_t depth);

/* In what a wait is. */
typedef struct PfsWaitNesting
{
	uint64_t	event_id;
	uint64_t	type;			/* PfsNestingType */
} PfsWaitNesting;

/* When no statement is around, while a command is worked on; may take a number for the statement that will be. */
extern PfsWaitNesting pfs_wait_row_promised(PfsSession *session);

/* As pfs_wait_row_nesting, out of line. */
extern PfsWaitNesting pfs_wait_row_nesting_busy(PfsSession *session);

/* What is not at the head; a file that was opened. */
extern void pfs_wait_row_close_slow(PfsSession *session, const PfsWait *wait, PfsTicks end, int64_t bytes);

/* As pfs_wait_row_whole, inside another wait. */
extern void pfs_wait_row_whole_inside(PfsSession *session, uint64_t what, uint64_t object, PfsTicks start, PfsTicks end,
									  int64_t bytes);

extern void pfs_wait_row_drop(PfsSession *session, const PfsWait *wait);

/*
 * Waits are inside the wait below them, else inside the statement, else inside the transaction.  statement: the one that
 * waits, or NULL, see pfs_waiting_statement.
 */
static inline PfsWaitNesting
pfs_wait_row_nesting_of(PfsSession *session, const PfsStatement *statement)
{
	uint64_t	transaction = session->transaction.event_id;

	while (pfs_unlikely(statement != NULL) && !statement->recorded)
		statement = statement->parent;
	if (statement != NULL)
		return (PfsWaitNesting) {statement->record->event_id, PFS_NESTING_STATEMENT};
	if (pfs_unlikely(session->phase == PFS_PHASE_COMMAND))
		return pfs_wait_row_promised(session);
	return (PfsWaitNesting) {transaction, transaction != 0 ? PFS_NESTING_TRANSACTION : PFS_NESTING_NONE};
}

static inline PfsWaitNesting
pfs_wait_row_nesting(PfsSession *session)
{
	return pfs_wait_row_nesting_of(session, pfs_waiting_statement(session));
}

static inline __attribute__((always_inline)) void
pfs_wait_row_object(PfsWaitRecord *record, const PfsWaitObject *object, PfsWaitObjectType type,
					unsigned nesting_type)
{
	pfs_store(&record->kinds, (uint8_t) (nesting_type | (unsigned) type << 4));
	if (pfs_likely(type != PFS_WAIT_OBJECT_LOCK))
		pfs_store(&record->object, object->instance);
	else
	{
		pfs_copy_words(record->id, object->id, sizeof(record->id));
		pfs_store(&record->operation, object->mode);
	}
}

/* What of a record is known before its wait begins. */
static inline uint64_t
pfs_wait_row_what(const PfsSession *session, uint32_t number, uint8_t operation, PfsWaitObjectType type)
{
	return (PfsWaitRecord) {.epoch = pfs_load_acquire(&session->arena->reset_now),.wait = (uint16_t) number,
		.operation = operation,.kinds = (uint8_t) (type << 4 | session->wait_rows.hidden)}.what;
}

/* The same with what it is in. */
static inline uint64_t
pfs_wait_row_what_in(uint64_t what, uint64_t nesting_type)
{
	return what + nesting_type * (PfsWaitRecord) {.kinds = 1}.what;
}

/*
 * Begins to write the row of a wait.  Its number, the result, is stored with release when all else of it stands there: in
 * between readers leave the row out, which may be the one that is shown.
 */
static inline __attribute__((always_inline)) uint64_t
pfs_wait_row_write(PfsThread *thread, PfsWaitRecord *record, uint64_t what, uint64_t object, PfsWaitNesting nesting,
				   PfsTicks start)
{
	uint64_t	id = pfs_next_number(&thread->event_id);

	pfs_store(&record->event_id, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);	/* pairs with the reader's second look */
	pfs_store(&record->nesting_event_id, nesting.event_id);
	pfs_store(&record->start, start);
	pfs_store(&record->object, object);
	pfs_store(&record->what, pfs_wait_row_what_in(what, nesting.type));
	return id;
}

/* Gives the number of a wait that begins, which is its row's. */
static inline __attribute__((always_inline)) uint64_t
pfs_wait_row_start(PfsThread *thread, PfsWaitRecord *record, uint64_t what, uint64_t object, PfsWaitNesting nesting,
				   PfsTicks start)
{
	uint64_t	id = pfs_wait_row_write(thread, record, what, object, nesting, start);

	pfs_store(&record->end_event_id, 0);
	pfs_store_release(&record->event_id, id);
	return id;
}

static inline void
pfs_wait_row_open(PfsSession *session, PfsWait *wait)
{
	PfsThread  *thread = session->thread;
	PfsWaitRows *rows = &session->wait_rows;
	PfsWaitRecord *record = &rows->slots[rows->head].record;
	uint32_t	depth = pfs_load(&thread->wait_depth);
	PfsWaitNesting nesting;

	if (wait->kind == PFS_WAIT_IDLE)
	{
		/* nothing else is under way in a session that is idle: what is left was left by a jump */
		record = &rows->stack[0].record;
		rows->level_at_head = 0;
		depth = 0;
		pfs_store(&thread->wait_shown, rows->ring);
	}
	else
	{
		if (pfs_unlikely(depth != 0) && (rows->level_at_head == depth || depth >= PFS_WAIT_STACK) &&
			!pfs_wait_row_make_way(session, depth))
			return;
		rows->level_at_head = (uint8_t) (depth + 1);
		pfs_store(&thread->wait_shown, rows->head);
	}
	wait->level = (uint8_t) (depth + 1);
	nesting = depth == 0 ? pfs_wait_row_nesting(session)
		: (PfsWaitNesting) {rows->stack[depth - 1].record.event_id, PFS_NESTING_WAIT};
	wait->event_id = pfs_wait_row_start(thread, record,
										pfs_wait_row_what(session, wait->wait, wait->operation, PFS_WAIT_OBJECT_NONE),
										0, nesting, wait->start);
	pfs_wait_row_object(record, &wait->object, wait->object.type, (unsigned) nesting.type | rows->hidden);
	pfs_store(&thread->wait_depth, depth + 1);
}

static inline void
pfs_wait_row_end(PfsSession *session, PfsWaitRecord *record, PfsTicks end, int64_t bytes)
{
	pfs_store(&record->end_event_id, pfs_load(&session->thread->event_id));
	pfs_store(&record->end, end);
	if (pfs_likely(!pfs_wait_is_of_lock(record)))
		pfs_store(&record->bytes, bytes);
	pfs_store(&record->epoch, pfs_load_acquire(&session->arena->reset_now));
}

/* The head comes to its next block, or to the first one again. */
extern void pfs_wait_row_turn(PfsSession *session);

/* In no recording: what stands at the head, as the last of its block, has ended. */
extern void pfs_wait_row_leave_last(PfsSession *session);

/* What stands at the head has ended: it goes to the histories. */
static inline __attribute__((always_inline)) void
pfs_wait_row_keep(PfsSession *session, PfsThread *thread)
{
	PfsWaitRows *rows = &session->wait_rows;

	if (pfs_likely(rows->history))
	{
		uint32_t	next = rows->head + 1;

		pfs_publish_next(&thread->waits_ended);
		rows->head = next;
		if (pfs_unlikely(next >= rows->turn))
			pfs_wait_row_turn(session);
	}
}

/* Waits above it that never ended disappear. */
static inline __attribute__((always_inline)) void
pfs_wait_row_close(PfsSession *session, const PfsWait *wait, PfsTicks end, int64_t bytes)
{
	PfsThread  *thread = session->thread;
	PfsWaitRows *rows = &session->wait_rows;
	PfsWaitRecord *record = &rows->slots[rows->head].record;
	uint32_t	outer = (uint32_t) wait->level - 1;

	/* the level, too: in a block that was another thread's, what stands at the head may have any number */
	if (pfs_unlikely(rows->level_at_head != wait->level || record->event_id != wait->event_id ||
					 wait->operation == PFS_OPERATION_OPEN))
	{
		pfs_wait_row_close_slow(session, wait, end, bytes);
		return;
	}
	pfs_wait_row_end(session, record, end, bytes);
	pfs_store(&thread->wait_depth, outer);
	if (outer != 0)
		pfs_store(&thread->wait_shown, rows->ring + outer - 1);
	rows->level_at_head = 0;
	pfs_wait_row_keep(session, thread);
}

/* An event that is over when it is written, inside no other; of no lock.  It needs no sequence. */
static inline __attribute__((always_inline)) void
pfs_wait_row_whole_alone(PfsSession *session, const PfsStatement *statement, uint64_t what, uint64_t object,
						 PfsTicks start, PfsTicks end, int64_t bytes)
{
	PfsThread  *thread = session->thread;
	const PfsWaitRows *rows = &session->wait_rows;
	uint32_t	head = rows->head;
	PfsWaitRecord *record = &rows->slots[head].record;
	uint64_t	id = pfs_wait_row_write(thread, record, what, object, pfs_wait_row_nesting_of(session, statement), start);

	pfs_store(&record->end_event_id, id);
	pfs_store(&record->end, end);
	pfs_store(&record->bytes, bytes);
	pfs_store_release(&record->event_id, id);
	pfs_store_release(&thread->wait_shown, head);	/* before that another thread's row may have stood there */
	pfs_wait_row_keep(session, thread);
}

/* The same wherever it is. */
static inline void
pfs_wait_row_whole(PfsSession *session, uint64_t what, uint64_t object, PfsTicks start, PfsTicks end, int64_t bytes)
{
	if (pfs_unlikely(pfs_load(&session->thread->wait_depth) != 0))
		pfs_wait_row_whole_inside(session, what, object, start, end, bytes);
	else
		pfs_wait_row_whole_alone(session, pfs_waiting_statement(session), what, object, start, end, bytes);
}

#endif							/* PFS_WAIT_ROW_H */
