/*
 * transaction.c
 *		Transaction events.
 */
#include "core/history.h"
#include "core/rollup.h"
#include "core/statement.h"
#include "core/statement_hot.h"
#include "core/summing.h"
#include "core/transaction_hot.h"

/* The statement during which the transaction begins; 0 = none that has a row. */
static inline uint64_t
nesting_event(const PfsSession *session)
{
	const PfsStatement *parent = session->running != NULL ? session->running : session->top;

	while (parent != NULL && pfs_unlikely(!parent->recorded))
		parent = parent->parent;
	return parent != NULL ? parent->record->event_id : 0;
}

/* It makes no row. */
static PFS_COLD PfsTransactionRecord *
open_unseen(PfsSession *session, PfsTicks start)
{
	PfsTransactionRecord *record = &session->own_transaction;

	session->transaction.recorded = false;
	session->transaction.event = record;
	pfs_transaction_fill(session, record, 0, 0, start);
	return record;
}

PfsTransactionRecord *
pfs_transaction_open(PfsSession *session, PfsTicks start)
{
	PfsTransactionRecord *record;

	(void) pfs_session_decided(session);
	if ((session->wants & PFS_BUILT_TRANSACTIONS) == 0)
		return NULL;
	session->transaction.open = true;
	if (!session->transaction.shown || !pfs_enter_recording(session))
		return open_unseen(session, start);
	record = pfs_transaction_open_row(session, start, nesting_event(session));
	pfs_leave_recording(session);
	return record;
}

void
pfs_transaction_forget_parent(PfsSession *session, uint64_t event_id)
{
	PfsTransaction *transaction = &session->transaction;

	if (transaction->open && transaction->recorded && transaction->event->nesting_event_id == event_id)
		pfs_store(&transaction->event->nesting_event_id, 0);
}

void
pfs_transaction_close(PfsSession *session, PfsTransactionState outcome, PfsTicks end)
{
	uint32_t	epoch = pfs_epoch_of(pfs_session_decided(session));
	PfsTransaction *transaction = &session->transaction;
	PfsTransactionRecord *record = transaction->event;
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	bool		recorded = transaction->recorded;

	transaction->open = transaction->recorded = false;
	transaction->event_id = 0;
	if (pfs_enter_recording(session))
	{
		pfs_seq_write_begin(&thread->seq);
		pfs_transaction_finish(thread, record, outcome, pfs_max(end, record->start), epoch);
		if (recorded && transaction->history_long)
			pfs_history_transaction(session, record);
		pfs_transaction_stat_add(pfs_transaction_cell(arena, thread, record->global ? PFS_SCOPE_GLOBAL : PFS_SCOPE_THREAD, epoch),
								 record);
		if (recorded && transaction->history)
			pfs_add(&pfs_thread_own_aggregate(thread)->transactions_ended, 1);
		pfs_seq_write_end(&thread->seq);
		pfs_leave_recording(session);
	}
	transaction->event = pfs_thread_next_transaction(arena, thread);
}
