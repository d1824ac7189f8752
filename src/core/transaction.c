/*
 * transaction.c
 *		Transaction events.
 */
#include "core/history.h"
#include "core/rollup.h"
#include "core/statement.h"

void
pfs_transaction_open(PfsSession *session, PfsTicks start)
{
	PfsTransaction *transaction = &session->transaction;
	PfsTransactionEvent *event = &transaction->event;
	PfsArena   *arena = session->arena;
	PfsInstrument *instrument = pfs_instrument(arena, arena->transaction_instrument);
	uint32_t	gate = pfs_load(&arena->gate);
	const PfsStatement *parent = session->running;

	memset(event, 0, offsetof(PfsTransactionEvent, gid));
	transaction->open = true;
	transaction->scope = (gate & PFS_WANTS(THREAD)) != 0 ? PFS_SCOPE_THREAD : PFS_SCOPE_GLOBAL;
	transaction->recorded = (gate & PFS_WANTS(TRANSACTIONS_CURRENT)) != 0;
	event->head.thread_id = session->thread->thread_id;
	event->head.user = session->thread->user;
	event->head.encoding = (uint8_t) session->thread->encoding;
	event->head.state = PFS_EVENT_RUNNING;
	event->head.timed = pfs_load(&instrument->timed);
	event->head.timer_start = start;
	event->autocommit = 1;
	event->head.epoch = pfs_load_acquire(&arena->reset_now);
	if (!transaction->recorded)
		return;
	pfs_add(&session->thread->event_id, 1);
	event->head.event_id = pfs_load(&session->thread->event_id);
	while (parent != NULL && !parent->recorded)
		parent = parent->parent;
	if (parent != NULL)
	{
		event->head.nesting_event_id = parent->event->head.event_id;
		event->head.nesting_type = PFS_NESTING_STATEMENT;
	}
	pfs_seq_write_begin(&session->thread->seq);
	pfs_copy_words(pfs_thread_transaction(arena, session->thread, 0), event,
				   offsetof(PfsTransactionEvent, gid));
	pfs_seq_write_end(&session->thread->seq);
}

void
pfs_transaction_forget_parent(PfsSession *session, uint64_t event_id)
{
	PfsEventHead *head = &session->transaction.event.head;
	PfsEventHead *shown;

	if (!session->transaction.open || !session->transaction.recorded ||
		head->nesting_event_id != event_id)
		return;
	head->nesting_event_id = 0;
	head->nesting_type = PFS_NESTING_NONE;
	shown = &pfs_thread_transaction(session->arena, session->thread, 0)->head;
	pfs_store(&shown->nesting_event_id, 0);
	pfs_store(&shown->nesting_type, PFS_NESTING_NONE);
}

void
pfs_transaction_close(PfsSession *session, PfsTransactionState outcome, PfsTicks end)
{
	PfsTransaction *transaction = &session->transaction;
	PfsTransactionEvent *event = &transaction->event;
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	PfsTransactionStat *stat;

	transaction->open = false;
	event->outcome = (uint8_t) outcome;
	event->head.state = PFS_EVENT_ENDED;
	event->head.end_event_id = pfs_load(&thread->event_id);
	event->head.timer_end = pfs_max(end, event->head.timer_start);
	event->head.timer_wait = event->head.timed
		? pfs_max(event->head.timer_end - event->head.timer_start, (PfsTicks) 1) : 0;
	event->head.epoch = pfs_load_acquire(&arena->reset_now);
	if (session->busy)
	{
		pfs_lose(arena, PFS_LOSS_LOCKER);
		return;
	}
	session->busy = true;
	pfs_seq_write_begin(&thread->seq);
	stat = pfs_transaction_cell(arena, thread, transaction->scope);
	pfs_timer_stat_add(event->read_only ? &stat->read_only : &stat->read_write,
					   event->head.timer_wait);
	if (transaction->recorded)
	{
		PfsTransactionEvent *slot = pfs_thread_transaction(arena, thread, 0);

		pfs_copy_words(slot, event, event->gid_length > 0 ? sizeof(*event)
					   : offsetof(PfsTransactionEvent, gid));
		pfs_history_transaction(session, event, pfs_load(&arena->gate));
	}
	pfs_seq_write_end(&thread->seq);
	session->busy = false;
}
