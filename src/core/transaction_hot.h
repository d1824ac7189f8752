/*
 * transaction_hot.h
 *		Begin and end of a transaction, to be compiled into who sees most of them.
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
	pfs_store(&record->state, session->transaction.fresh);
	pfs_store(&record->epoch, pfs_epoch_of(session->decided));
}

/* One that makes a row begins, inside a recording.  nesting: event id of the statement during which it does; 0 = none that has a row. */
static inline __attribute__((always_inline)) PfsTransactionRecord *
pfs_transaction_open_row(PfsSession *session, PfsTicks start, uint64_t nesting)
{
	PfsTransaction *transaction = &session->transaction;
	PfsThread  *thread = session->thread;
	PfsTransactionRecord *record = transaction->event;
	uint64_t	id;

	pfs_seq_write_begin(&thread->seq);
	id = pfs_next_number(&thread->event_id);
	pfs_transaction_fill(session, record, id, nesting, start);
	pfs_store(&pfs_thread_own_aggregate(thread)->transaction_shown, (uint32_t) (uintptr_t) record - (uint32_t) (uintptr_t) thread);
	pfs_seq_write_end(&thread->seq);
	transaction->open = transaction->recorded = true;
	transaction->event_id = id;
	return record;
}

/* The same of a plain one: the caller has seen pfs_transaction_is, and that no recording is under way. */
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

/* Inside the thread's sequence. */
static inline __attribute__((always_inline)) void
pfs_transaction_finish(const PfsThread *thread, PfsTransactionRecord *record, PfsTransactionState outcome, PfsTicks end,
					   uint32_t epoch)
{
	pfs_store(&record->outcome, (uint8_t) outcome);
	pfs_store(&record->end, end);
	pfs_store(&record->end_event_id, pfs_load(&thread->event_id));
	pfs_store(&record->epoch, epoch);
}

/* Does the one that is open end in the plain way: it stays in the ring, and is added where the last one was? */
static inline bool
pfs_transaction_ends_plain(const PfsSession *session)
{
	const PfsTransaction *transaction = &session->transaction;
	const uint8_t plain[sizeof(uint32_t)] = {true, true, true};
	uint32_t	expected,
				is;

	memcpy(&expected, plain, sizeof(expected));
	memcpy(&is, &transaction->open, sizeof(is));
	return is == expected &&
		session->decided == pfs_load_acquire(&session->arena->changes) &&
		pfs_load(&pfs_thread_own_aggregate(session->thread)->transaction_epoch) == pfs_epoch_of(session->decided);
}

/* Ends such a one, where no recording is under way. */
static inline __attribute__((always_inline)) void
pfs_transaction_close_plain(PfsSession *session, PfsTransactionState outcome, PfsTicks end)
{
	PfsTransaction *transaction = &session->transaction;
	PfsThread  *thread = session->thread;
	PfsTransactionRecord *record = transaction->event;
	PfsAggregate *own = pfs_thread_own_aggregate(thread);
	PfsTicks	start = record->start;

	pfs_assume(!session->busy);
	(void) pfs_enter_recording(session);
	pfs_seq_write_begin(&thread->seq);
	transaction->open = transaction->recorded = false;
	transaction->event_id = 0;
	end = pfs_max(end, start);
	pfs_transaction_finish(thread, record, outcome, end, pfs_epoch_of(session->decided));
	pfs_timer_stat_add(pfs_transaction_timer(&own->transaction, record), pfs_max(end - start, (PfsTicks) 1));
	pfs_add(&own->transactions_ended, 1);
	/* a signal handler that decides anew just now sets the next one, too */
	transaction->event = pfs_likely(record + 1 != transaction->ring_end) ? record + 1
		: pfs_thread_transaction(session->arena, thread, 0);
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
}

#endif							/* PFS_TRANSACTION_HOT_H */
