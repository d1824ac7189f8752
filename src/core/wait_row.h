/*
 * wait_row.h
 *		Rows of waits: for wait.c and wait_end.h.  All inside the recording and the thread's seq.
 *
 * A wait is written where it stays: at the head of the thread's ring.  While it lasts, that slot is the
 * one shown as current; when it has ended, the head moves on, if there is a history.  Of waits inside each
 * other the innermost one is at the head; those around it are in the stack behind the ring, and are copied
 * to the head when they end.  Idle time is there from its beginning: what brings the next command is inside.
 */
#ifndef PFS_WAIT_ROW_H
#define PFS_WAIT_ROW_H

#include "core/history.h"
#include "core/wait.h"

/* Makes room for a wait that is inside others, or idle time; NULL: too many, it makes no row. */
extern PfsWaitRecord *pfs_wait_row_inside(PfsSession *session, PfsWait *wait);

/* In what a wait is that no statement is around; may take a number for the statement that will be. */
extern uint64_t pfs_wait_row_promised(PfsSession *session, unsigned *type);

/* What is not at the head; a file that was opened. */
extern void pfs_wait_row_close_slow(PfsSession *session, const PfsWait *wait, PfsTicks end, int64_t bytes);

extern void pfs_wait_row_drop(PfsSession *session, const PfsWait *wait);

/* Waits are inside the wait below them, else inside the statement, else inside the transaction. */
static inline uint64_t
pfs_wait_row_nesting(PfsSession *session, unsigned *type)
{
	const PfsStatement *statement = pfs_waiting_statement(session);

	while (pfs_unlikely(statement != NULL) && !statement->recorded)
		statement = statement->parent;
	if (statement != NULL)
	{
		*type = PFS_NESTING_STATEMENT;
		return statement->record->event_id;
	}
	if (pfs_unlikely(session->phase == PFS_PHASE_COMMAND))
		return pfs_wait_row_promised(session, type);
	*type = session->transaction.event_id != 0 ? PFS_NESTING_TRANSACTION : PFS_NESTING_NONE;
	return session->transaction.event_id;
}

static inline void
pfs_wait_row_object(PfsWaitRecord *record, const PfsWaitObject *object, unsigned nesting_type)
{
	pfs_store(&record->object, object->instance);
	pfs_store(&record->kinds, (uint8_t) (nesting_type | (unsigned) object->type << 4));
	if (pfs_unlikely(object->type == PFS_WAIT_OBJECT_LOCK))
	{
		pfs_copy_words(record->id, object->id, sizeof(record->id));
		pfs_store(&record->mode, object->mode);
		pfs_store(&record->subtype, object->subtype);
	}
}

static inline void
pfs_wait_row_open(PfsSession *session, PfsWait *wait)
{
	PfsThread  *thread = session->thread;
	PfsWaitRows *rows = &session->wait_rows;
	PfsWaitRecord *record = &rows->slots[rows->head].record;
	unsigned	type = PFS_NESTING_WAIT;
	uint64_t	nesting;

	if (pfs_likely(pfs_load(&thread->wait_depth) == 0 && wait->kind != PFS_WAIT_IDLE))
	{
		wait->level = rows->level_at_head = 1;
		pfs_store(&thread->wait_shown, rows->head);
	}
	else if ((record = pfs_wait_row_inside(session, wait)) == NULL)
		return;
	if (pfs_likely(wait->level == 1))
		nesting = pfs_wait_row_nesting(session, &type);
	else
		nesting = rows->slots[rows->ring + wait->level - 2].record.event_id;
	wait->event_id = pfs_next_number(&thread->event_id);
	pfs_store(&record->event_id, wait->event_id);
	pfs_store(&record->end_event_id, 0);
	pfs_store(&record->nesting_event_id, nesting);
	pfs_store(&record->start, wait->start);
	pfs_store(&record->epoch, pfs_load_acquire(&session->arena->reset_now));
	pfs_store(&record->wait, (uint16_t) wait->wait);
	pfs_store(&record->operation, wait->operation);
	pfs_wait_row_object(record, &wait->object, type);
	pfs_store(&thread->wait_depth, wait->level);
}

static inline void
pfs_wait_row_end(PfsSession *session, PfsWaitRecord *record, PfsTicks end, int64_t bytes)
{
	pfs_store(&record->end_event_id, pfs_load(&session->thread->event_id));
	pfs_store(&record->end, end);
	pfs_store(&record->bytes, bytes);
	pfs_store(&record->epoch, pfs_load_acquire(&session->arena->reset_now));
}

/* What stands at the head has ended: it goes to the histories. */
static inline void
pfs_wait_row_keep(PfsSession *session)
{
	PfsWaitRows *rows = &session->wait_rows;
	const PfsWaitRecord *record = &rows->slots[rows->head].record;

	if (pfs_likely(rows->history))
	{
		pfs_add(&session->thread->waits_ended, 1);
		rows->head = pfs_likely(rows->head + 1 < rows->ring) ? rows->head + 1 : 0;
	}
	if (pfs_likely(rows->history_long))
		pfs_history_wait(session, record);
}

/* Waits above it that never ended disappear. */
static inline void
pfs_wait_row_close(PfsSession *session, const PfsWait *wait, PfsTicks end, int64_t bytes)
{
	PfsWaitRows *rows = &session->wait_rows;
	PfsWaitRecord *record = &rows->slots[rows->head].record;

	if (pfs_unlikely(record->event_id != wait->event_id || wait->operation == PFS_OPERATION_OPEN))
	{
		pfs_wait_row_close_slow(session, wait, end, bytes);
		return;
	}
	pfs_wait_row_end(session, record, end, bytes);
	pfs_store(&session->thread->wait_depth, (uint32_t) wait->level - 1);
	if (pfs_unlikely(wait->level > 1))
		pfs_store(&session->thread->wait_shown, rows->ring + wait->level - 2);
	rows->level_at_head = 0;
	pfs_wait_row_keep(session);
}

/* An event that is over when it is written. */
static inline void
pfs_wait_row_whole(PfsSession *session, uint32_t number, uint8_t operation, PfsWaitObjectType type,
				   uint64_t object, PfsTicks start, PfsTicks end, int64_t bytes)
{
	PfsThread  *thread = session->thread;
	PfsWaitRows *rows = &session->wait_rows;
	PfsWaitRecord *record = &rows->slots[rows->head].record;
	unsigned	nesting_type;
	uint64_t	nesting;
	uint64_t	id;

	if (pfs_unlikely(pfs_load(&thread->wait_depth) != 0))
	{
		PfsWait		wait = {.start = start,.wait = number,.operation = operation,
			.object = {.type = (uint8_t) type,.instance = object}};

		pfs_wait_row_open(session, &wait);
		if (wait.level != 0)
			pfs_wait_row_close(session, &wait, end, bytes);
		return;
	}
	nesting = pfs_wait_row_nesting(session, &nesting_type);
	id = pfs_next_number(&thread->event_id);
	pfs_store(&record->event_id, id);
	pfs_store(&record->end_event_id, id);
	pfs_store(&record->nesting_event_id, nesting);
	pfs_store(&record->start, start);
	pfs_store(&record->end, end);
	pfs_store(&record->bytes, bytes);
	pfs_store(&record->object, object);
	pfs_store(&record->epoch, pfs_load_acquire(&session->arena->reset_now));
	pfs_store(&record->wait, (uint16_t) number);
	pfs_store(&record->operation, operation);
	pfs_store(&record->kinds, (uint8_t) (nesting_type | (unsigned) type << 4));
	pfs_store(&thread->wait_shown, rows->head);
	pfs_wait_row_keep(session);
}

#endif							/* PFS_WAIT_ROW_H */
