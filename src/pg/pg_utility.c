/*
 * pg_utility.c
 *		Statement events of utility statements, and their query ids.
 *
 * pg_stat_statements zeroes the id of a utility statement, in the planned statement or already
 * after parse analysis, depending on the order in which the libraries were loaded.  So the id is
 * taken when parse analysis is done and kept by the statement's text.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "nodes/parsenodes.h"
#include "pg/pg_arena.h"
#include "pg/pg_command.h"
#include "pg/pg_compat.h"
#include "pg/pg_digest.h"
#include "pg/pg_hooks.h"
#include "pg/pg_instruments.h"
#include "pg/pg_prepared.h"
#include "pg/pg_query.h"
#include "pg/pg_statement.h"
#include "pg/pg_template.h"
#include "pg/pg_text.h"
#include "pg/relation/relation.h"
#include "tcop/utility.h"

#define ID_CACHE 64				/* power of two */

typedef struct CachedId
{
	uint64		text_hash;
	uint64		id;
} CachedId;

/* Owner: this process.  Ids of the utility statements seen last. */
static CachedId id_cache[ID_CACHE];

static uint64
hash_text(const char *source, int location, int length)
{
	const unsigned char *text = (const unsigned char *) source + (location > 0 ? location : 0);
	size_t		bytes = length > 0 ? (size_t) length : strlen((const char *) text);
	uint64		hash = bytes + 1;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ text[i]) * UINT64CONST(0x100000001B3);
	return hash == 0 ? 1 : hash;
}

static uint64
id_from_digest(const char *source, int location, int length)
{
	char		text[16];
	uint8		sha[PFS_SHA_BYTES];

	pfs_pg_normalize(source, location, length, text, sizeof(text), sha);
	return pfs_pg_queryid_from_digest(sha);
}

/* Id for the digest table: the server's where that ignores literals, else one of our own. */
uint64
pfs_pg_utility_id(const char *source, int location, int length, uint64 server_id)
{
	uint64		hash;
	CachedId   *cached;

	if (server_id == 0 && !IsQueryIdEnabled())
		return 0;
	hash = hash_text(source, location, length);
	cached = &id_cache[pfs_hash64(hash) & (ID_CACHE - 1)];
	if (cached->text_hash == hash)
		return cached->id;
	if (server_id == 0 || !PFS_PG_UTILITY_IDS_IGNORE_LITERALS)
		server_id = id_from_digest(source, location, length);
	*cached = (CachedId) {hash, server_id};
	return server_id;
}

static void
count_savepoints(const TransactionStmt *stmt)
{
	PfsTransactionRecord *event;

	if (!pfs_session.transaction.open)
		return;
	event = pfs_session.transaction.event;
	switch (stmt->kind)
	{
		case TRANS_STMT_SAVEPOINT:
			pfs_transaction_more(event)->savepoints++;
			break;
		case TRANS_STMT_ROLLBACK_TO:
			pfs_transaction_more(event)->rollbacks_to_savepoint++;
			break;
		case TRANS_STMT_RELEASE:
			pfs_transaction_more(event)->releases_of_savepoint++;
			break;
		case TRANS_STMT_PREPARE:
			memcpy(pfs_transaction_more(event)->gid, stmt->gid, Min(strlen(stmt->gid), (size_t) PFS_GID_LENGTH));
			event->gid_length = Min(strlen(stmt->gid), (size_t) PFS_GID_LENGTH);
			break;
		default:
			break;
	}
}

/* What a command does with the client's transaction block, if it succeeds. */
typedef enum Block
{
	BLOCK_STAYS,				/* or ends with its transaction, see pg_xact.c */
	BLOCK_BEGINS,
	BLOCK_CHAINS				/* another one follows the one that it ends */
} Block;

static inline Block
block_of(const TransactionStmt *stmt)
{
	return stmt->chain ? BLOCK_CHAINS
		: stmt->kind == TRANS_STMT_BEGIN || stmt->kind == TRANS_STMT_START ? BLOCK_BEGINS : BLOCK_STAYS;
}

static inline void
note_block(Block block)
{
	if (block != BLOCK_STAYS)
		pfs_pg_command.block = true;
	if (pfs_unlikely(block == BLOCK_CHAINS))
		pfs_pg_command.chains = true;
}

static PfsStatement *
begin_utility(PlannedStmt *pstmt, const char *text)
{
	PfsPgSource source;
	PfsStatement *statement;

	/* what was found out when it was analysed is of no use to others */
	if (pfs_pg_command.analysed && pfs_session.running == NULL && text == pfs_pg_analysed.text &&
		pstmt->stmt_location == pfs_pg_analysed.location && pfs_pg_analysed.utility == pstmt->utilityStmt)
		source = pfs_pg_analysed;
	else
		source = (PfsPgSource)
	{
		.text = text,.location = pstmt->stmt_location,.length = pstmt->stmt_len,
			.query_id = pfs_pg_utility_id(text, pstmt->stmt_location, pstmt->stmt_len, (uint64) pstmt->queryId),
			.class = pfs_pg_class_of_tag(CreateCommandTag(pstmt->utilityStmt)),
			.flags = pfs_pg_text_flags(pstmt->utilityStmt)
	};
	statement = pfs_pg_begin(&source);
	if (statement != NULL && statement->parent == NULL)
		pfs_pg_template_of_utility(pstmt, &source, statement);
	return statement;
}

/* The statement that this command is, on stage; NULL: it is not wanted. */
static PfsStatement *
begin_and_enter(PlannedStmt *pstmt, const char *text)
{
	PfsStatement *statement = pfs_pg_begin_plain_command(pstmt);

	if (pfs_likely(statement != NULL))
		return statement;
	statement = begin_utility(pstmt, text);
	if (statement == NULL)
		return NULL;
	statement->host_alone = *pfs_pg_server.portal == NULL;
	pfs_pg_enter(statement);
	return statement;
}

/* As the server's command tag tells them; MOVE and the like return none. */
static void
store_rows(PfsStatement *statement, const QueryCompletion *qc, NodeTag command, bool copy_from)
{
	if (qc == NULL)
		return;
	switch (qc->commandTag)
	{
		case CMDTAG_COPY:
			pfs_statement_set(statement, copy_from ? PFS_COUNTER_ROWS_AFFECTED
							  : PFS_COUNTER_ROWS_SENT, qc->nprocessed);
			break;
		case CMDTAG_FETCH:
			pfs_statement_set(statement, PFS_COUNTER_ROWS_SENT, qc->nprocessed);
			break;
		case CMDTAG_SELECT:		/* of EXECUTE, else of CREATE TABLE AS and SELECT INTO */
			pfs_statement_set(statement, command == T_ExecuteStmt ? PFS_COUNTER_ROWS_SENT
							  : PFS_COUNTER_ROWS_AFFECTED, qc->nprocessed);
			break;
		case CMDTAG_INSERT:		/* of EXECUTE */
		case CMDTAG_UPDATE:
		case CMDTAG_DELETE:
		case CMDTAG_MERGE:
		case CMDTAG_REFRESH_MATERIALIZED_VIEW:
			pfs_statement_set(statement, PFS_COUNTER_ROWS_AFFECTED, qc->nprocessed);
			break;
		default:
			break;
	}
}

static pg_noinline void
execute(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
		ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *queryEnv, DestReceiver *dest,
		QueryCompletion *qc)
{
	PfsStatement *statement = NULL;
	ErrorContextCallback guard;
	bool		guarded = false;
	bool		copy_from = IsA(pstmt->utilityStmt, CopyStmt) &&
		((CopyStmt *) pstmt->utilityStmt)->is_from;
	NodeTag		command = nodeTag(pstmt->utilityStmt);
	uint64		statement_id = 0;
	Block		block = BLOCK_STAYS;
	PfsRelations *copy;
	bool		ends_prepared;
	QueryCompletion own_qc;
	PfsPgPreparing preparing;

	if (pfs_pg_wants(PFS_GATE_STATEMENTS | PFS_GATE_TRANSACTIONS) && !IsParallelWorker() &&
		context != PROCESS_UTILITY_SUBCOMMAND)
	{
		if (dest != NULL && dest->mydest == DestRemoteExecute)
			pfs_session.extended = true;
		guarded = pfs_session.running == NULL;
		statement = begin_and_enter(pstmt, queryString);
		if (IsA(pstmt->utilityStmt, TransactionStmt))
		{
			count_savepoints((TransactionStmt *) pstmt->utilityStmt);
			block = block_of((TransactionStmt *) pstmt->utilityStmt);
		}
	}
	if (statement != NULL)
	{
		statement_id = statement->record->statement_id;
		if (guarded)
			pfs_pg_error_guard(&guard);
		if (qc == NULL)
		{
			InitializeQueryCompletion(&own_qc);
			qc = &own_qc;
		}
	}
	else
		guarded = false;
	if (pfs_session.thread != NULL)
		pfs_dropped_note_utility(pstmt->utilityStmt);
	ends_prepared = pfs_dropped_ends_prepared(pstmt->utilityStmt);
	pfs_prepared_begin(&preparing, pstmt->utilityStmt, statement);
	copy = pfs_copy_begin(pstmt->utilityStmt);
	if (copy != NULL && !guarded)
	{
		pfs_relations_guard(&guard);
		guarded = true;
	}
	pfs_pg_entry.ProcessUtility(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
	note_block(block);
	/* pstmt may be gone now: a procedure that ended its transaction freed it; the statement, too */
	if (guarded)
		pfs_pg_error_unguard(&guard);
	if (copy != NULL)
		pfs_relations_end(copy);
	if (pfs_unlikely(ends_prepared))
		pfs_dropped_look();
	if (command == T_TransactionStmt || command == T_VariableSetStmt)
		pfs_pg_transaction_refresh();
	if (statement != NULL && !pfs_pg_is_still(statement, statement_id))
		statement = NULL;
	if (preparing.command != T_Invalid)
		pfs_prepared_done(&preparing, statement);
	if (statement == NULL)
		return;
	pfs_pg_leave(statement);
	pfs_pg_usage_end(statement);
	store_rows(statement, qc, command, copy_from);
	pfs_pg_executed(statement);
}

/* Does it begin or end a transaction, and nothing else? */
static inline bool
is_simple(const Node *utility)
{
	const TransactionStmt *stmt = (const TransactionStmt *) utility;

	return IsA(utility, TransactionStmt) && (stmt->kind == TRANS_STMT_BEGIN || stmt->kind == TRANS_STMT_START ||
											 stmt->kind == TRANS_STMT_COMMIT || stmt->kind == TRANS_STMT_ROLLBACK);
}

/* Such a command, of a cached plan: what the general way does for other commands is left out. */
static PFS_HOT pg_noinline void
execute_simple(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree, ProcessUtilityContext context,
			   ParamListInfo params, QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	PfsStatement *statement = context != PROCESS_UTILITY_SUBCOMMAND ? pfs_pg_begin_plain_command(pstmt) : NULL;
	Block		block = block_of((const TransactionStmt *) pstmt->utilityStmt);
	EState	   *mark = block == BLOCK_STAYS ? PFS_PG_HAS_ENDED_BLOCK : PFS_PG_HAS_RUN;
	ErrorContextCallback guard;
	uint64		statement_id;

	if (pfs_unlikely(statement == NULL))
	{
		execute(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
		return;
	}
	if (dest != NULL && dest->mydest == DestRemoteExecute)
		pfs_session.extended = true;
	statement_id = statement->record->statement_id;
	pfs_pg_error_guard(&guard);
	pfs_pg_undisturbed = mark;
	pfs_pg_entry.ProcessUtility(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
	pfs_pg_error_unguard(&guard);
	note_block(block);
	pfs_pg_transaction_refresh();
	if (pfs_likely(pfs_pg_undisturbed == mark))
	{
		statement->host_in_call = false;
		pfs_session.running = NULL;
		statement->host_state = PFS_PG_EXECUTED;
		return;
	}
	if (pfs_unlikely(!pfs_pg_is_still(statement, statement_id)))
		return;
	pfs_pg_leave(statement);
	pfs_pg_usage_end(statement);
	pfs_pg_executed(statement);
}

static PFS_PG_ENTRY void
pfs_hook_ProcessUtility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
						ProcessUtilityContext context, ParamListInfo params,
						QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	/* other commands may drop or rename what is counted by its name */
	if (pfs_pg_is_off(PFS_PG_QUERY_CLASSES) && IsA(pstmt->utilityStmt, TransactionStmt) &&
		!pfs_session.transaction.open && !pfs_dropped_ends_prepared(pstmt->utilityStmt))
		pfs_pg_entry.ProcessUtility(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
	else if (is_simple(pstmt->utilityStmt))
		execute_simple(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
	else
		execute(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
}

void
pfs_pg_utility_install(void)
{
	pfs_pg_entry.ProcessUtility = ProcessUtility_hook != NULL ? ProcessUtility_hook : standard_ProcessUtility;
	ProcessUtility_hook = pfs_hook_ProcessUtility;
}
