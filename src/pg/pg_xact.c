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
#include "storage/ipc.h"
#include "storage/proc.h"
#include "pg/relation/relation.h"

PFS_HOT_DATA int pfs_pg_nest_level = 1;

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

void
pfs_pg_transaction_refresh(void)
{
	PfsTransactionEvent *event = pfs_session.transaction.event;

	if (!pfs_session.transaction.open)
		return;
	pfs_store(&event->trx_id, U64FromFullTransactionId(GetTopFullTransactionIdIfAny()));
	pfs_store(&event->read_only, (uint8) *pfs_pg_server.read_only);
	pfs_store(&event->isolation, (uint8) *pfs_pg_server.isolation);
	pfs_store(&event->autocommit, (uint8) !pfs_pg_server.in_block());
}

PFS_HOT void
pfs_pg_transaction_begin(PfsTicks start)
{
	if (pfs_session.transaction.open || !IsTransactionState() ||
		!pfs_wants(&pfs_session, PFS_GATE_TRANSACTIONS))
		return;
	pfs_pg_refresh_program();
	pfs_transaction_open(&pfs_session, start);
	pfs_store(&pfs_session.transaction.event->read_only, (uint8) *pfs_pg_server.read_only);
	pfs_store(&pfs_session.transaction.event->isolation, (uint8) *pfs_pg_server.isolation);
}

static void
end_transaction(PfsTransactionState outcome, PfsTicks now)
{
	if (!pfs_session.transaction.open)
		return;
	pfs_pg_transaction_refresh();
	pfs_transaction_close(&pfs_session, outcome, now);
}

/* The commit of a statement that is complete is worked on. */
static inline void
before_commit(XactEvent event)
{
	PfsStatement *statement;

	if (pfs_unlikely(pfs_dropped_any || !pfs_pg_has_client))
		pfs_dropped_transaction(event);
	if (pfs_unlikely(pfs_session.thread == NULL || IsParallelWorker()))
		return;
	statement = pfs_pg_committing();
	if (statement != NULL)
		pfs_pg_commit_begins(statement);
}

static inline PfsTransactionState
outcome_of(XactEvent event)
{
	return pfs_likely(event == XACT_EVENT_COMMIT) ? PFS_TRANSACTION_COMMITTED
		: event == XACT_EVENT_ABORT ? PFS_TRANSACTION_ROLLED_BACK : PFS_TRANSACTION_PREPARED;
}

/* Committed, rolled back or prepared. */
static PFS_HOT pg_noinline void
after_end(XactEvent event)
{
	PfsTicks	now;

	if (pfs_unlikely(event == XACT_EVENT_ABORT))
		pfs_pg_protocol_back();
	pfs_pg_nest_level = 1;
	if (pfs_unlikely(pfs_dropped_any || proc_exit_inprogress))
		pfs_dropped_transaction(event);
	pfs_relations_forget(1);
	if (pfs_unlikely(pfs_pg_untied.relations.estate != NULL))
		pfs_pg_untied_forget();
	if (pfs_unlikely(pfs_session.thread == NULL || IsParallelWorker()))
		return;
	pfs_pg_command.block = false;
	if (pfs_unlikely(event == XACT_EVENT_ABORT))
		pfs_pg_routine_forget(1);	/* their statements may have ended by the ErrorResponse */
	if (pfs_session.newest == NULL && !pfs_session.transaction.open)
		return;
	now = pfs_now();
	pfs_pg_forget_suspended();
	/* else it is a procedure's ROLLBACK, or the client is told */
	if (pfs_unlikely(event == XACT_EVENT_ABORT) && !pfs_pg_has_client && pfs_pg_error_is_raised())
		pfs_pg_forget_level(1, 0, NULL);
	end_transaction(outcome_of(event), now);
}

static PFS_HOT void
pfs_xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			before_commit(event);
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			after_end(event);
			break;
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			pfs_relations_forget(1);
			break;
		default:
			break;
	}
}

/* An exception handler, or ROLLBACK TO, undoes what happened since its level began. */
static void
abort_statements(int level)
{
	int			sqlstate = 0;
	const char *message = NULL;

	if (pfs_pg_take_caught(&sqlstate, &message) && pfs_wants(&pfs_session, PFS_GATE_ERRORS))
		pfs_error_count(&pfs_session, pfs_pg_error_number(sqlstate), true, pfs_now());
	pfs_pg_untied_aborted(level);
	pfs_pg_forget_level(level, sqlstate, message);
	pfs_pg_routine_forget(level);
}

static void
pfs_subxact_callback(SubXactEvent event, SubTransactionId mySubid, SubTransactionId parentSubid,
					 void *arg)
{
	int			level = GetCurrentTransactionNestLevel();

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
		pfs_relations_forget(level);
}

void
pfs_pg_xact_install(void)
{
	RegisterXactCallback(pfs_xact_callback, NULL);
	RegisterSubXactCallback(pfs_subxact_callback, NULL);
	pfs_host_transaction_id = id_of_process;
}
