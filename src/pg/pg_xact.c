/*
 * pg_xact.c
 *		Transaction events, and what the end of a transaction means for statements.
 *
 * There is no hook for the start of a transaction: its first statement opens the event, with its
 * own start time.  A rolled-back event ends when the server aborts, which is at the error, not at
 * the client's ROLLBACK.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "pg/pg_arena.h"
#include "pg/pg_command.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_instruments.h"
#include "pg/pg_protocol.h"
#include "pg/pg_query.h"
#include "pg/pg_statement.h"
#include "core/table.h"
#include "core/transaction_hot.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "pg/relation/parts.h"

PFS_HOT_LINE(running) int pfs_pg_nest_level = 1;

/* The slot number is the process number.  Prepared transactions have no thread. */
static uint64_t
id_of_process(uint32_t slot, uint32_t pid)
{
	PGPROC	   *proc = pfs_pg_process(slot);
	TransactionId id = proc != NULL ? pfs_load(&proc->xid) : InvalidTransactionId;
	FullTransactionId next;

	if (!TransactionIdIsNormal(id) || pfs_load(&proc->pid) != (int) pid)
		return 0;
	pfs_fence();
	next = ReadNextFullTransactionId(); /* afterwards: then it comes behind the id */
	return U64FromFullTransactionId(FullTransactionIdFromEpochAndXid(
		EpochFromFullTransactionId(next) - (id > XidFromFullTransactionId(next)), id));
}

/* The event is looked up after each call, so that no register has to be kept for it. */
static pg_attribute_always_inline void
refresh(const PfsSession *session)
{
	uint64		id = U64FromFullTransactionId(pfs_pg_server.transaction_id());
	PfsTransactionRecord *event;
	bool		in_block;

	pfs_store(&session->transaction.event->trx_id, id);
	in_block = pfs_pg_server.in_block();
	event = session->transaction.event;
	pfs_store(&event->read_only, (uint8) *pfs_pg_server.read_only);
	pfs_store(&event->isolation, (uint8) *pfs_pg_server.isolation);
	pfs_store(&event->autocommit, (uint8) !in_block);
}

void
pfs_pg_transaction_refresh(void)
{
	if (pfs_session.transaction.open)
		refresh(&pfs_session);
}

void
pfs_pg_transaction_begin(PfsTicks start)
{
	PfsSession *session = pfs_pg_session();
	PfsTransactionRecord *event;

	if (session->transaction.open || session->thread == NULL || !pfs_pg_server.in_transaction())
		return;
	event = pfs_transaction_open(session, start);
	if (event != NULL)
		pfs_pg_transaction_describe(event);
}

/* The commit of a statement that is complete may be worked on; is this one's, if nothing has happened since it was answered. */
static pg_noinline void
before_commit(XactEvent event)
{
	PfsSession *session = pfs_pg_session();
	PfsStatement *top = session->top;

	if (pfs_unlikely(pfs_relations_over.dropped || !pfs_pg_has_client))
		pfs_dropped_transaction(event);
	/* as pfs_pg_committing has it */
	if (top != NULL && session->running == NULL && *pfs_pg_server.portal == NULL && *pfs_pg_server.query_text == NULL)
		pfs_pg_commit_begins(top);
}

static inline PfsTransactionState
outcome_of(XactEvent event)
{
	return pfs_likely(event == XACT_EVENT_COMMIT) ? PFS_TRANSACTION_COMMITTED
		: event == XACT_EVENT_ABORT ? PFS_TRANSACTION_ROLLED_BACK : PFS_TRANSACTION_PREPARED;
}

/* What is rare of the end of a transaction.  False: nothing is recorded here. */
static PFS_COLD bool
settle(XactEvent event)
{
	pfs_pg_undisturbed = NULL;
	if (event == XACT_EVENT_ABORT)
		pfs_pg_protocol_back();
	if (pfs_relations_over.dropped || proc_exit_inprogress)
		pfs_dropped_transaction(event);
	pfs_relations_forget(1);
	if (pfs_pg_untied.relations.estate != NULL)
		pfs_pg_untied_forget();
	if (pfs_session.thread == NULL || IsParallelWorker())
		return false;
	if (event == XACT_EVENT_ABORT)
		pfs_pg_routine_forget(1);	/* their statements may have ended by the ErrorResponse */
	pfs_pg_forget_suspended();
	/* else it is a procedure's ROLLBACK, or the client is told */
	if (event == XACT_EVENT_ABORT && !pfs_pg_has_client && pfs_pg_error_is_raised())
		pfs_pg_forget_level(1, 0, NULL);
	return true;
}

/* Committed, rolled back or prepared: what that means for others than its event.  False: no more is to be done. */
static inline bool
end_any(XactEvent event)
{
	PfsSession *session = pfs_pg_session();

	pfs_pg_nest_level = 1;
	if (pfs_unlikely(event != XACT_EVENT_COMMIT || pfs_relations_over.dropped || proc_exit_inprogress ||
					 session->thread == NULL || !session->may_be_plain || pfs_pg_any_left(session) ||
					 pfs_pg_untied.relations.estate != NULL))
	{
		if (!settle(event))
			return false;
	}
	else
		pfs_relations_forget(1);
	pfs_pg_command.block = pfs_pg_command.chains;
	pfs_pg_command.chains = false;
	return session->transaction.open;
}

static pg_noinline void
after_end(XactEvent event)
{
	PfsSession *session = pfs_pg_session();

	if (!end_any(event))
		return;
	refresh(session);
	pfs_transaction_close(session, outcome_of(event), pfs_now());
}

/* It is the client's only statement that is committed, or commits, of which all else is known to be over. */
static PFS_HOT pg_noinline void
committed(void)
{
	PfsSession *session = pfs_pg_session();

	if (pfs_unlikely(pfs_relations_over.rare != 0) || pfs_unlikely(!pfs_transaction_ends_plain(session)))
	{
		after_end(XACT_EVENT_COMMIT);
		return;
	}
	pfs_pg_command.block = false;
	pfs_routed_transaction_plain();
	refresh(session);
	pfs_transaction_close_plain(session, PFS_TRANSACTION_COMMITTED, pfs_now_near());
}

static PFS_COLD void
other_event(XactEvent event)
{
	if (event == XACT_EVENT_ABORT)
		pfs_pg_error_over();
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		after_end(event);
	else if (event == XACT_EVENT_PRE_PREPARE)
		before_commit(event);
	else if (event == XACT_EVENT_PARALLEL_COMMIT || event == XACT_EVENT_PARALLEL_ABORT)
		pfs_relations_forget(1);
}

static PFS_HOT void
pfs_xact_callback(XactEvent event, void *arg)
{
	const EState *mark = pfs_pg_undisturbed;

	if (event == XACT_EVENT_COMMIT)
	{
		if (pfs_likely(mark == PFS_PG_IS_ANSWERED || mark == PFS_PG_HAS_ENDED_BLOCK))
			committed();
		else
			after_end(event);
	}
	else if (event != XACT_EVENT_PRE_COMMIT)
		other_event(event);
	else if (pfs_likely(mark == PFS_PG_IS_ANSWERED) && pfs_likely(!pfs_relations_over.dropped))
		pfs_session.statement[0].host_state = PFS_PG_COMMITTING;
	else
		before_commit(event);
}

/* An exception handler, or ROLLBACK TO, undoes what happened since its level began. */
static void
abort_statements(int level)
{
	int			sqlstate = 0;
	const char *message = NULL;

	if (pfs_pg_take_caught(&sqlstate, &message) && pfs_wants(&pfs_session, PFS_GATE_ERRORS))
		pfs_error_count(&pfs_session, pfs_pg_error_number(sqlstate), PFS_ERROR_HANDLED, pfs_now());
	pfs_pg_untied_aborted(level);
	pfs_pg_forget_level(level, sqlstate, message);
	pfs_pg_error_may_pass();
	pfs_pg_routine_forget(level);
}

static void
pfs_subxact_callback(SubXactEvent event, SubTransactionId mySubid, SubTransactionId parentSubid,
					 void *arg)
{
	int			level = GetCurrentTransactionNestLevel();

	pfs_pg_undisturbed = NULL;
	pfs_pg_nest_level = event == SUBXACT_EVENT_COMMIT_SUB || event == SUBXACT_EVENT_ABORT_SUB ? level - 1 : level;
	if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB)
		return;
	if (pfs_session.thread != NULL && !IsParallelWorker())
	{
		if (event == SUBXACT_EVENT_COMMIT_SUB)
			pfs_pg_merge_level(level);
		else
			abort_statements(level);
	}
	pfs_dropped_subtransaction(event);
	if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		pfs_pg_error_over();
		pfs_relations_forget(level);
	}
}

void
pfs_pg_xact_install(void)
{
	RegisterXactCallback(pfs_xact_callback, NULL);
	RegisterSubXactCallback(pfs_subxact_callback, NULL);
	pfs_host_transaction_id = id_of_process;
}
