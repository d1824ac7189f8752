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
	if (!session->transaction_rows.shown || !pfs_enter_recording(session))
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

/* --- sums --- */

/* What is the same for records that are added together: these of their "state", and the epoch. */
static inline uint64_t
kind_of(const PfsTransactionRecord *record)
{
	static const PfsTransactionRecord parts = {.read_only = UINT8_MAX,.timed = UINT8_MAX,.global = UINT8_MAX};

	return record->state & parts.state;
}

static inline PfsTransactionStat *
stat_of(PfsArena *arena, PfsThread *thread, const PfsTransactionRecord *record)
{
	return pfs_transaction_cell(arena, thread, record->global ? PFS_SCOPE_GLOBAL : PFS_SCOPE_THREAD, record->epoch);
}

/* Adds the first of these records, and those behind it that are like it.  number: of the first.  The result is how many. */
static uint32_t
add_run(PfsArena *arena, PfsThread *thread, const PfsTransactionRecord *first, uint64_t number, uint64_t most)
{
	const PfsTransactionRecord *record = first;
	uint64_t	kind = kind_of(first);
	PfsTimerStat *to = pfs_transaction_timer(stat_of(arena, thread, first), first);
	PfsTicks	sum = 0;
	PfsTicks	shortest = UINT64_MAX;
	PfsTicks	longest = 0;
	uint32_t	count;

	do
	{
		PfsTicks	wait = pfs_max(record->end - record->start, (PfsTicks) 1);

		sum += wait;
		shortest = pfs_min(shortest, wait);
		longest = pfs_max(longest, wait);
		record++;
	} while (record < first + most && kind_of(record) == kind && record->epoch == first->epoch);
	count = (uint32_t) (record - first);
	/* of an owner that is killed from here on these may be missing, or be there in part: they are not added again */
	pfs_store(&thread->transactions_summing, number + count - 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	pfs_add(&to->count, count);
	if (pfs_likely(first->timed))
	{
		pfs_add(&to->sum, sum);
		pfs_timer_stat_extremes(to, shortest);
		pfs_timer_stat_extremes(to, longest);
	}
	return count;
}

void
pfs_transactions_sum(PfsArena *arena, PfsThread *thread)
{
	uint32_t	slots = pfs_thread_transaction_slots(&arena->sizes);
	uint64_t	ended = pfs_load(&thread->transactions_ended);
	uint64_t	number = pfs_max(pfs_load(&thread->transactions_summed), pfs_load(&thread->transactions_summing));

	if (pfs_load(&thread->transactions_summed) >= ended)
		return;
	number = pfs_max(number, ended - pfs_min(ended, (uint64_t) slots)); /* damaged */
	pfs_seq_write_begin(&thread->seq);
	while (number < ended)
	{
		uint32_t	slot = (uint32_t) (number % slots);

		number += add_run(arena, thread, pfs_thread_transaction(arena, thread, slot), number + 1,
						  pfs_min(ended - number, (uint64_t) (slots - slot)));
	}
	pfs_store(&thread->transactions_summed, ended);
	pfs_seq_write_end(&thread->seq);
}

PFS_HOT __attribute__((noinline)) void
pfs_transactions_sum_ring(PfsSession *session)
{
	session->transaction_rows.head = 0;
	if (!pfs_enter_recording(session))
		return;
	pfs_transactions_sum(session->arena, session->thread);
	pfs_leave_recording(session);
}

/* --- end --- */

static inline void
finish(PfsSession *session, PfsTransactionState outcome, PfsTicks end, uint32_t epoch)
{
	pfs_transaction_finish(session, session->transaction.event, outcome, end, epoch);
	if (session->transaction_rows.history_long && session->transaction.recorded)
		pfs_history_transaction(session, session->transaction.event);
}

/* It does not stay in the ring. */
static PFS_COLD void
close_at_once(PfsSession *session, PfsTransactionState outcome, PfsTicks end, uint32_t epoch)
{
	PfsThread  *thread = session->thread;

	pfs_transactions_sum(session->arena, thread);	/* cells never go back to an older epoch */
	pfs_seq_write_begin(&thread->seq);
	finish(session, outcome, end, epoch);
	pfs_transaction_stat_add(stat_of(session->arena, thread, session->transaction.event), session->transaction.event);
	pfs_seq_write_end(&thread->seq);
}

void
pfs_transaction_close(PfsSession *session, PfsTransactionState outcome, PfsTicks end)
{
	uint32_t	epoch = pfs_epoch_of(pfs_session_decided(session));
	PfsTransactionRows *rows = &session->transaction_rows;
	PfsThread  *thread = session->thread;
	bool		stays = session->transaction.recorded && rows->history;

	session->transaction.open = false;
	session->transaction.event_id = 0;
	if (!pfs_enter_recording(session))
		return;
	if (stays)
	{
		pfs_seq_write_begin(&thread->seq);
		finish(session, outcome, end, epoch);
		pfs_transaction_stays(rows, thread);
		pfs_seq_write_end(&thread->seq);
	}
	else
		close_at_once(session, outcome, end, epoch);
	pfs_leave_recording(session);
	if (stays && rows->head == rows->slots)
		pfs_transactions_sum_ring(session);
}
