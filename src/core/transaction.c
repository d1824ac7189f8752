/*
 * transaction.c
 *		Transaction events.
 */
#include "core/history.h"
#include "core/rollup.h"
#include "core/statement.h"
#include "core/statement_hot.h"

/* The statement during which the transaction begins; 0 = none that has a row. */
static inline uint64_t
nesting_event(const PfsSession *session)
{
	const PfsStatement *parent = session->running != NULL ? session->running : session->top;

	while (parent != NULL && pfs_unlikely(!parent->recorded))
		parent = parent->parent;
	return parent != NULL ? parent->record->event_id : 0;
}

/* Writes what is known at the start; event_id: 0 = it makes no row. */
static inline void
fill(const PfsSession *session, PfsTransactionRecord *record, uint64_t event_id, uint64_t nesting, PfsTicks start)
{
	pfs_store(&record->event_id, event_id);
	pfs_store(&record->nesting_event_id, nesting);
	pfs_store(&record->start, start);
	pfs_store(&record->trx_id, 0);
	pfs_store(&record->state, session->transaction_rows.fresh);
	pfs_store(&record->epoch, pfs_epoch_of(session->decided));
}

/* It makes no row. */
static PFS_COLD PfsTransactionRecord *
open_unseen(PfsSession *session, PfsTicks start)
{
	PfsTransactionRecord *record = &session->own_transaction;

	session->transaction.recorded = false;
	session->transaction.event = record;
	fill(session, record, 0, 0, start);
	return record;
}

/* nesting: event id of the statement, which has a row. */
static inline __attribute__((always_inline)) PfsTransactionRecord *
open_here(PfsSession *session, PfsTicks start, uint64_t nesting)
{
	PfsTransaction *transaction = &session->transaction;
	const PfsTransactionRows *rows = &session->transaction_rows;
	PfsThread  *thread = session->thread;
	PfsTransactionRecord *record;
	uint32_t	head;
	uint64_t	id;

	if (pfs_unlikely((session->wants & PFS_BUILT_TRANSACTIONS) == 0))
		return NULL;
	transaction->open = true;
	transaction->scope = rows->scope;
	if (pfs_unlikely(!rows->shown || !pfs_enter_recording(session)))
		return open_unseen(session, start);
	head = rows->head;
	record = rows->ring + head;
	pfs_seq_write_begin(&thread->seq);
	id = pfs_next_number(&thread->event_id);
	fill(session, record, id, nesting, start);
	pfs_store(&thread->transaction_shown, head);
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
	transaction->recorded = true;
	transaction->event = record;
	transaction->event_id = id;
	return record;
}

PfsTransactionRecord *
pfs_transaction_open(PfsSession *session, PfsTicks start)
{
	(void) pfs_session_decided(session);
	return open_here(session, start, nesting_event(session));
}

PFS_HOT PfsTransactionRecord *
pfs_transaction_open_plain(PfsSession *session, const PfsStatement *statement)
{
	return open_here(session, statement->since, statement->record->event_id);
}

void
pfs_transaction_forget_parent(PfsSession *session, uint64_t event_id)
{
	PfsTransaction *transaction = &session->transaction;

	if (transaction->open && transaction->recorded && transaction->event->nesting_event_id == event_id)
		pfs_store(&transaction->event->nesting_event_id, 0);
}

/* It stays in the ring. */
static inline void
keep(PfsTransactionRows *rows, PfsThread *thread)
{
	uint32_t	next = rows->head + 1;

	pfs_add(&thread->transactions_ended, 1);
	rows->head = next < rows->slots ? next : 0;
}

PFS_HOT void
pfs_transaction_close(PfsSession *session, PfsTransactionState outcome, PfsTicks end)
{
	PfsTransaction *transaction = &session->transaction;
	PfsTransactionRecord *record = transaction->event;
	uint32_t	epoch = pfs_epoch_of(pfs_session_decided(session));
	PfsTransactionRows *rows = &session->transaction_rows;
	PfsThread  *thread = session->thread;
	PfsTransactionStat *stat;

	transaction->open = false;
	transaction->event_id = 0;
	if (!pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&thread->seq);
	pfs_store(&record->outcome, (uint8_t) outcome);
	end = pfs_max(end, record->start);
	pfs_store(&record->end, end);
	pfs_store(&record->end_event_id, pfs_load(&thread->event_id));
	pfs_store(&record->epoch, epoch);
	stat = pfs_transaction_cell(session->arena, thread, transaction->scope, epoch);
	pfs_timer_stat_add(pfs_unlikely(record->read_only) ? &stat->read_only : &stat->read_write,
					   pfs_transaction_ticks(record, end));
	if (pfs_likely(transaction->recorded))
	{
		if (pfs_likely(rows->history))
			keep(rows, thread);
		if (pfs_unlikely(rows->history_long))
			pfs_history_transaction(session, record);
	}
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
}
