/*
 * wait_row.c
 *		Rows of waits: what is rare, see wait_row.h.
 */
#include "core/wait_row.h"

#include "core/wait_block.h"

static inline PfsWaitRecord *
stack(const PfsSession *session, uint32_t level)
{
	return &session->wait_rows.stack[level - 1].record;
}

/* The row of a wait that has not ended, or NULL: somebody else's stands there by now. */
static PfsWaitRecord *
row_of(const PfsSession *session, const PfsWait *wait)
{
	const PfsWaitRows *rows = &session->wait_rows;
	PfsWaitRecord *record = wait->level == rows->level_at_head ? &rows->slots[rows->head].record
		: stack(session, wait->level);

	return record->event_id == wait->event_id && record->end_event_id == 0 ? record : NULL;
}

PFS_COLD bool
pfs_wait_row_make_way(PfsSession *session, uint32_t depth)
{
	const PfsWaitRows *rows = &session->wait_rows;

	if (depth >= PFS_WAIT_STACK)
	{
		pfs_lose(session->arena, PFS_LOSS_LOCKER);
		return false;
	}
	pfs_copy_words(stack(session, depth), &rows->slots[rows->head].record, sizeof(PfsWaitRecord));
	return true;
}

PFS_COLD PfsWaitNesting
pfs_wait_row_promised(PfsSession *session)
{
	uint64_t	transaction = session->transaction.event_id;

	/* its statement is being parsed: that will have this number */
	if (pfs_waiting_statement(session) == NULL && session->shows && (session->wants & PFS_GATE_STATEMENTS) != 0)
	{
		if (session->promised_event == 0)
			session->promised_event = pfs_next_number(&session->thread->event_id);
		session->promised = true;
		return (PfsWaitNesting) {session->promised_event, PFS_NESTING_STATEMENT};
	}
	return (PfsWaitNesting) {transaction, transaction != 0 ? PFS_NESTING_TRANSACTION : PFS_NESTING_NONE};
}

PFS_COLD PfsWaitNesting
pfs_wait_row_nesting_busy(PfsSession *session)
{
	return pfs_wait_row_nesting(session);
}

/* What is shown when a wait of this level has gone. */
static void
show_outer(PfsSession *session, const PfsWait *wait)
{
	PfsThread  *thread = session->thread;
	PfsWaitRows *rows = &session->wait_rows;

	rows->level_at_head = 0;
	pfs_store(&thread->wait_depth, (uint32_t) wait->level - 1);
	pfs_store(&thread->wait_shown, wait->level > 1 ? rows->ring + wait->level - 2 : rows->head);
}

__attribute__((noinline)) void
pfs_wait_row_close_slow(PfsSession *session, const PfsWait *wait, PfsTicks end, int64_t bytes)
{
	PfsWaitRecord *record = row_of(session, wait);
	PfsWaitRecord *head = &session->wait_rows.slots[session->wait_rows.head].record;

	if (record == NULL)
		return;
	if (wait->operation == PFS_OPERATION_OPEN)	/* now it is known what was opened */
		pfs_wait_row_object(record, &wait->object, wait->object.type, record->kinds & 0x0F);
	pfs_wait_row_end(session, record, end, bytes);
	if (record != head)
		pfs_copy_words(head, record, sizeof(*record));
	show_outer(session, wait);
	pfs_wait_row_keep(session, session->thread);
}

PFS_COLD void
pfs_wait_row_whole_inside(PfsSession *session, uint64_t what, uint64_t object, PfsTicks start, PfsTicks end,
						  int64_t bytes)
{
	PfsWaitRecord record = {.what = what};
	PfsWait		wait = {.start = start,.wait = record.wait,.operation = record.operation,
		.object = {.type = record.kinds >> 4,.instance = object}};

	pfs_wait_row_open(session, &wait);
	if (wait.level != 0)
		pfs_wait_row_close(session, &wait, end, bytes);
}

void
pfs_wait_row_drop(PfsSession *session, const PfsWait *wait)
{
	PfsWaitRecord *record = row_of(session, wait);

	if (record == NULL)
		return;
	pfs_store(&record->event_id, 0);
	pfs_store(&session->wait_rows.slots[session->wait_rows.head].record.event_id, 0);
	show_outer(session, wait);
}

/* The block in this place of the ring, the oldest one, will be written over: its rows go to the long history, if they belong there. */
static inline void
leave_block(PfsSession *session, uint32_t place)
{
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	uint64_t	ended = pfs_load(&thread->waits_ended),
				copied = pfs_load(&thread->waits_copied),
				until = ended - session->wait_rows.ring + PFS_WAIT_BLOCK;

	if (pfs_likely(copied + session->wait_rows.ring == ended) && pfs_wait_block_give(arena, thread, place, until))
		return;
	if (ended >= session->wait_rows.ring && copied < until)	/* else nothing is copied, or has been already */
		pfs_history_waits(arena, thread, &session->statements_long.waits, until);
}

PFS_HOT __attribute__((noinline)) void
pfs_wait_row_turn(PfsSession *session)
{
	PfsWaitRows *rows = &session->wait_rows;

	if (rows->head >= rows->ring)
		rows->head = 0;
	leave_block(session, rows->head / PFS_WAIT_BLOCK);
	pfs_wait_block_enter(session);
}

PFS_HOT __attribute__((noinline)) void
pfs_wait_row_leave_last(PfsSession *session)
{
	PfsWaitRows *rows = &session->wait_rows;
	uint32_t	next = rows->head + 1;
	bool		busy = session->busy;

	session->busy = true;		/* for signal handlers: the head is behind its block until it has turned */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	pfs_publish_next(&session->thread->waits_ended);
	rows->head = next;			/* a handler that decides anew just now has set it, which is mended with the turn */
	pfs_wait_row_turn(session);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	session->busy = busy;
}
