/*
 * transaction.c
 *		Transaction events.
 */
#include "core/history.h"
#include "core/rollup.h"
#include "core/statement.h"

/* Writes what is known at the start; the slot's old event is hidden by then. */
static void
fill_event(const PfsSession *session, PfsTransactionEvent *event, PfsTicks start)
{
	const PfsThread *thread = session->thread;
	PfsInstrument *instrument = pfs_instrument(session->arena, session->arena->transaction_instrument);

	pfs_store(&event->head.thread_id, thread->thread_id);
	pfs_store(&event->head.event_id, 0);
	pfs_store(&event->head.end_event_id, 0);
	pfs_store(&event->head.nesting_event_id, 0);
	pfs_store(&event->head.timer_start, start);
	pfs_store(&event->head.timer_end, 0);
	pfs_store(&event->head.timer_wait, 0);
	pfs_store(&event->head.epoch, pfs_load_acquire(&session->arena->reset_now));
	pfs_store(&event->head.state, PFS_EVENT_RUNNING);
	pfs_store(&event->head.nesting_type, PFS_NESTING_NONE);
	pfs_store(&event->head.timed, pfs_load(&instrument->timed));
	pfs_store(&event->head.encoding, (uint8_t) thread->encoding);
	pfs_store(&event->head.user, thread->user);
	pfs_store(&event->trx_id, 0);
	pfs_store(&event->savepoints, 0);
	pfs_store(&event->rollbacks_to_savepoint, 0);
	pfs_store(&event->releases_of_savepoint, 0);
	pfs_store(&event->outcome, PFS_TRANSACTION_ACTIVE);
	pfs_store(&event->read_only, 0);
	pfs_store(&event->isolation, 0);
	pfs_store(&event->autocommit, 1);
	pfs_store(&event->gid_length, 0);
}

/* The statement during which the transaction began. */
static void
set_nesting(const PfsSession *session, PfsEventHead *head)
{
	const PfsStatement *parent = session->running != NULL ? session->running : session->top;

	while (parent != NULL && !parent->recorded)
		parent = parent->parent;
	if (parent == NULL)
		return;
	pfs_store(&head->nesting_event_id, parent->record->event_id);
	pfs_store(&head->nesting_type, PFS_NESTING_STATEMENT);
}

PFS_HOT void
pfs_transaction_open(PfsSession *session, PfsTicks start)
{
	PfsTransaction *transaction = &session->transaction;
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	uint32_t	gate = pfs_load(&arena->gate);
	uint32_t	slot = (uint32_t) (pfs_load(&thread->transactions_ended) %
								   (arena->sizes.transactions_history + 1));

	transaction->open = true;
	transaction->event_id = 0;
	transaction->scope = (gate & PFS_WANTS(THREAD)) != 0 ? PFS_SCOPE_THREAD : PFS_SCOPE_GLOBAL;
	transaction->recorded = (gate & PFS_WANTS(TRANSACTIONS_CURRENT)) != 0 &&
		pfs_enter_recording(session);
	if (!transaction->recorded)
	{
		transaction->event = &session->own_transaction;
		fill_event(session, transaction->event, start);
		return;
	}
	transaction->event = pfs_thread_transaction(arena, thread, slot);
	pfs_seq_write_begin(&thread->seq);
	fill_event(session, transaction->event, start);
	transaction->event_id = pfs_next_number(&thread->event_id);
	pfs_store(&transaction->event->head.event_id, transaction->event_id);
	set_nesting(session, &transaction->event->head);
	pfs_store(&thread->transaction_shown, slot);
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
}

void
pfs_transaction_forget_parent(PfsSession *session, uint64_t event_id)
{
	PfsTransaction *transaction = &session->transaction;

	if (!transaction->open || !transaction->recorded ||
		transaction->event->head.nesting_event_id != event_id)
		return;
	pfs_store(&transaction->event->head.nesting_event_id, 0);
	pfs_store(&transaction->event->head.nesting_type, PFS_NESTING_NONE);
}

PFS_HOT void
pfs_transaction_close(PfsSession *session, PfsTransactionState outcome, PfsTicks end)
{
	PfsTransaction *transaction = &session->transaction;
	PfsTransactionEvent *event = transaction->event;
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	PfsTransactionStat *stat;

	transaction->open = false;
	transaction->event_id = 0;
	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&thread->seq);
	pfs_store(&event->outcome, (uint8_t) outcome);
	pfs_store(&event->head.state, PFS_EVENT_ENDED);
	pfs_store(&event->head.end_event_id, pfs_load(&thread->event_id));
	pfs_store(&event->head.timer_end, pfs_max(end, event->head.timer_start));
	pfs_store(&event->head.timer_wait, event->head.timed
			  ? pfs_max(event->head.timer_end - event->head.timer_start, (PfsTicks) 1) : 0);
	pfs_store(&event->head.epoch, pfs_load_acquire(&arena->reset_now));
	stat = pfs_transaction_cell(arena, thread, transaction->scope);
	pfs_timer_stat_add(event->read_only ? &stat->read_only : &stat->read_write,
					   event->head.timer_wait);
	if (transaction->recorded)
		pfs_history_transaction(session, event, pfs_load(&arena->gate));
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
}
