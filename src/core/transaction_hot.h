/*
 * transaction_hot.h
 *		End of a transaction, to be compiled into who sees most of them.
 */
#ifndef PFS_TRANSACTION_HOT_H
#define PFS_TRANSACTION_HOT_H

#include "core/history.h"
#include "core/statement_hot.h"

/* transaction.c: the ring begins again; one that does not stay in it. */
extern void pfs_transactions_sum_ring(PfsSession *session);
extern void pfs_transaction_close_at_once(PfsSession *session, PfsTransactionState outcome, PfsTicks end, uint32_t epoch);

/* Inside the thread's sequence. */
static inline __attribute__((always_inline)) void
pfs_transaction_finish(PfsSession *session, PfsTransactionRecord *record, PfsTransactionState outcome, PfsTicks end,
					   uint32_t epoch)
{
	pfs_store(&record->outcome, (uint8_t) outcome);
	pfs_store(&record->end, pfs_max(end, record->start));
	pfs_store(&record->end_event_id, pfs_load(&session->thread->event_id));
	pfs_store(&record->epoch, epoch);
	if (pfs_unlikely(session->transaction_rows.history_long) && session->transaction.recorded)
		pfs_history_transaction(session, record);
}

/* The open one ends.  Most stay in the ring, and are summed when that begins again. */
static inline __attribute__((always_inline)) void
pfs_transaction_close_here(PfsSession *session, PfsTransactionState outcome, PfsTicks end)
{
	PfsTransaction *transaction = &session->transaction;
	uint32_t	epoch = pfs_epoch_of(pfs_session_decided(session));
	PfsTransactionRows *rows = &session->transaction_rows;
	PfsThread  *thread = session->thread;
	uint32_t	next = rows->head + 1;

	transaction->open = false;
	transaction->event_id = 0;
	if (pfs_unlikely(!transaction->recorded || !rows->history))
	{
		pfs_transaction_close_at_once(session, outcome, end, epoch);
		return;
	}
	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&thread->seq);
	pfs_transaction_finish(session, transaction->event, outcome, end, epoch);
	pfs_add(&thread->transactions_ended, 1);
	rows->head = next;
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
	if (pfs_unlikely(next == rows->slots))
		pfs_transactions_sum_ring(session);
}

#endif							/* PFS_TRANSACTION_HOT_H */
