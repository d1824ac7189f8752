/*
 * transaction_hot.h
 *		End of a transaction, to be compiled into who sees most of them.
 */
#ifndef PFS_TRANSACTION_HOT_H
#define PFS_TRANSACTION_HOT_H

#include "core/history.h"
#include "core/statement_hot.h"

/* Writes what is known at the start; event_id: 0 = it makes no row. */
static inline void
pfs_transaction_fill(const PfsSession *session, PfsTransactionRecord *record, uint64_t event_id, uint64_t nesting, PfsTicks start)
{
	pfs_store(&record->event_id, event_id);
	pfs_store(&record->nesting_event_id, nesting);
	pfs_store(&record->start, start);
	pfs_store(&record->trx_id, 0);
	pfs_store(&record->state, session->transaction_rows.fresh);
	pfs_store(&record->epoch, pfs_epoch_of(session->decided));
}

/* One that makes a row begins, inside a recording.  nesting: event id of the statement during which it does; 0 = none that has a row. */
static inline __attribute__((always_inline)) PfsTransactionRecord *
pfs_transaction_open_row(PfsSession *session, PfsTicks start, uint64_t nesting)
{
	PfsTransaction *transaction = &session->transaction;
	PfsThread  *thread = session->thread;
	uint32_t	head = session->transaction_rows.head;
	PfsTransactionRecord *record = session->transaction_rows.ring + head;
	uint64_t	id;

	pfs_seq_write_begin(&thread->seq);
	id = pfs_next_number(&thread->event_id);
	pfs_transaction_fill(session, record, id, nesting, start);
	pfs_store(&thread->transaction_shown, head);
	pfs_seq_write_end(&thread->seq);
	transaction->open = transaction->recorded = true;
	transaction->event = record;
	transaction->event_id = id;
	return record;
}

/* The same where none is under way, of a session that is decided; the caller has seen that it makes a row (transaction_rows.shown). */
static inline __attribute__((always_inline)) PfsTransactionRecord *
pfs_transaction_open_plain(PfsSession *session, PfsTicks start, uint64_t nesting)
{
	PfsTransactionRecord *record;

	pfs_assume(!session->busy);
	(void) pfs_enter_recording(session);
	record = pfs_transaction_open_row(session, start, nesting);
	pfs_leave_recording(session);
	return record;
}

/* transaction.c: the ring begins again. */
extern void pfs_transactions_sum_ring(PfsSession *session);

/* Inside the thread's sequence. */
static inline __attribute__((always_inline)) void
pfs_transaction_finish(const PfsSession *session, PfsTransactionRecord *record, PfsTransactionState outcome, PfsTicks end,
					   uint32_t epoch)
{
	pfs_store(&record->outcome, (uint8_t) outcome);
	pfs_store(&record->end, pfs_max(end, record->start));
	pfs_store(&record->end_event_id, pfs_load(&session->thread->event_id));
	pfs_store(&record->epoch, epoch);
}

/* It is a record in the ring that has ended. */
static inline __attribute__((always_inline)) void
pfs_transaction_stays(PfsTransactionRows *rows, PfsThread *thread)
{
	pfs_add(&thread->transactions_ended, 1);
	rows->head++;
}

/* Does the one that is open end in the plain way: in the ring, where it is summed when that begins again, and nowhere else? */
static inline bool
pfs_transaction_is_plain(const PfsSession *session)
{
	return session->transaction.recorded && session->transaction_rows.history_only &&
		session->decided == pfs_load_acquire(&session->arena->changes);
}

/* Ends such a one, where no recording is under way. */
static inline __attribute__((always_inline)) void
pfs_transaction_close_plain(PfsSession *session, PfsTransactionState outcome, PfsTicks end)
{
	PfsThread  *thread = session->thread;
	PfsTransactionRows *rows = &session->transaction_rows;

	pfs_assume(!session->busy);
	(void) pfs_enter_recording(session);
	pfs_seq_write_begin(&thread->seq);
	session->transaction.open = false;
	session->transaction.event_id = 0;
	pfs_transaction_finish(session, session->transaction.event, outcome, end, pfs_epoch_of(session->decided));
	pfs_transaction_stays(rows, thread);
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
	if (pfs_unlikely(rows->head == rows->slots))
		pfs_transactions_sum_ring(session);
}

#endif							/* PFS_TRANSACTION_HOT_H */
