/*
 * pg_statement.h
 *		The statements of this process: their states, and the functions that change them.
 *
 *		state		time	what it waits for			left by
 *		ANALYSED	runs	it is being planned			execution -> RUNNING; the next command (dropped)
 *		RUNNING		runs	executor, utility			the end of its query or call -> EXECUTED, or it ends if
 *														it is nested or there is no client; PortalSuspended,
 *														a cursor that lies there -> SUSPENDED
 *		SUSPENDED	rests	the portal's next run		ExecutorRun -> RUNNING
 *		EXECUTED	runs	CommandComplete				CommandComplete: it ends, or in an implicit transaction
 *														of the extended protocol -> COMPLETE
 *		COMPLETE	both	the implicit commit			the commit's begin -> COMMITTING; a new statement: it ended
 *														when it was complete
 *		COMMITTING	runs	ReadyForQuery				that, or a new statement: it ends
 *
 * Of what is COMPLETE time goes on for the case that its commit is next; whatever else comes shows that it rested.  So
 * whether the Sync is here already need not be asked: data that is received meanwhile tells that it was not.
 *
 * An error ends all that run, from any state.  Who opens, enters, leaves and ends statements are the
 * hooks (pg_executor.c, pg_utility.c, pg_protocol.c, pg_xact.c, pg_error.c); session->running and top are
 * written here only.
 */
#ifndef PFS_PG_STATEMENT_H
#define PFS_PG_STATEMENT_H

#include "core/statement.h"
#include "access/xact.h"
#include "executor/execdesc.h"
#include "nodes/parsenodes.h"
#include "pg/pg_command.h"
#include "pg/pg_query.h"
#include "pg/pg_text.h"

typedef enum PfsPgState
{
	PFS_PG_ANALYSED,
	PFS_PG_RUNNING,
	PFS_PG_SUSPENDED,
	PFS_PG_EXECUTED,
	PFS_PG_COMPLETE,
	PFS_PG_COMMITTING
} PfsPgState;

static inline bool
pfs_pg_time_runs(PfsPgState state)
{
	return state != PFS_PG_SUSPENDED;
}

/* Its time ran and ceases to run, or the other way round. */
extern void pfs_pg_turn_time(PfsStatement *statement, PfsTicks now);

/* The one transition.  now: 0 = the clock is read if time begins or ceases to run. */
static inline void
pfs_pg_move(PfsStatement *statement, PfsPgState state, PfsTicks now)
{
	if (pfs_unlikely(pfs_pg_time_runs(state) != (statement->since != 0)))
		pfs_pg_turn_time(statement, now);
	statement->host_state = (uint8) state;
	if (state == PFS_PG_SUSPENDED)
		pfs_pg_undisturbed = NULL; /* maybe it is this one's */
}

/*
 * The statement that this query, or this command, is: the one that is being planned, or a new one.
 * NULL: not wanted, or too many are open.
 */
extern PfsStatement *pfs_pg_begin_query(const QueryDesc *desc);
extern PfsStatement *pfs_pg_begin(PfsPgSource *source);

/* The same in the plain way, entered already; NULL: it is not to be had. */
extern PfsStatement *pfs_pg_begin_plain(const QueryDesc *desc);
extern PfsStatement *pfs_pg_begin_plain_frequent(const QueryDesc *desc);
extern PfsStatement *pfs_pg_begin_plain_command(const PlannedStmt *plan);
extern PfsStatement *pfs_pg_begin_plain_nested(const PlannedStmt *plan);

/*
 * The same of a query of the client's that is about to be planned for this execution, by what all of its id share; and of one
 * that was, when it begins to be executed.
 */
extern PfsStatement *pfs_pg_begin_plain_planning(const PfsPgSource *source, const PfsTemplate *template, uint32 flags);
extern PfsStatement *pfs_pg_take_up_plain(const QueryDesc *desc);

/* Statements are not wanted, but maybe their transaction is. */
extern void pfs_pg_begin_nothing(void);

/* Finds or makes the digest row. */
extern void pfs_pg_source_digest(PfsPgSource *source);

/* A statement that is about to be planned; NULL: not wanted. */
extern PfsStatement *pfs_pg_begin_planning(PfsPgSource *source);

/*
 * The client's statement whose transaction is being committed, or NULL: deferred triggers and
 * constraints are part of it.
 */
extern PfsStatement *pfs_pg_committing(void);

/* The commit of a statement that is complete is worked on. */
static inline void
pfs_pg_commit_begins(PfsStatement *statement)
{
	if (statement->host_state == PFS_PG_COMPLETE)
		statement->host_state = PFS_PG_COMMITTING;
}

/* Puts a statement on stage for the duration of a call, and takes it off again. */
extern void pfs_pg_enter(PfsStatement *statement);
extern void pfs_pg_leave(PfsStatement *statement);

/*
 * After a call: is it still the statement of this id?  What the call ran may have ended it (a
 * transaction's end, an error that was reported), and its place may serve another one by now.
 */
static inline bool
pfs_pg_is_still(const PfsStatement *statement, uint64 statement_id)
{
	return statement->in_use && statement->record->statement_id == statement_id;
}

/* Nobody is told when it is complete: it ends with its query or command. */
static inline bool
pfs_pg_ends_with_query(const PfsStatement *statement)
{
	return statement->record->level > 0 || !pfs_pg_has_client || statement->host_alone;
}

/* Its query or command is through: it ends, or waits for its client. */
extern void pfs_pg_executed(PfsStatement *statement);

/* The client's command executes this one now, or something that is not recorded (NULL). */
extern void pfs_pg_set_top(PfsStatement *statement);

/* Ends a statement now, rows so far included. */
extern void pfs_pg_end(PfsStatement *statement, PfsTicks end, int sqlstate, const char *message);

/* The same, of a query that was left; safe while memory is given back. */
extern void pfs_pg_end_orphan(PfsStatement *statement);

/* Ends what waits only for a commit, drops what was only planned: another command has come. */
extern void pfs_pg_finish_top(void);

/* A portal was closed: if the query of the client's statement has ended without a row and an answer, it ends, too. */
extern void pfs_pg_finish_not_run(void);

/*
 * All statements on stage fail, innermost first; else the one that is planned, or that the commit belongs
 * to.  False: the error belongs to none.
 */
extern bool pfs_pg_fail(int sqlstate, const char *message);

/* Subtransaction of this level aborted, or (level 1) the transaction, or (0) the process ends. */
extern void pfs_pg_forget_level(int level, int sqlstate, const char *message);

/* Subtransaction of this level was released: what it left open belongs to its parent. */
extern void pfs_pg_merge_level(int level);

/* Has it begun to be executed, and is not through, while no call of its own is on the C stack? */
static inline bool
pfs_pg_is_left(const PfsStatement *statement)
{
	return statement->host_state < PFS_PG_EXECUTED && !statement->host_in_call &&
		statement->host_state != PFS_PG_ANALYSED;
}

/* Portals that outlived their transaction are gone. */
extern void pfs_pg_forget_suspended(void);

/* May there be any?  Most often only the statement is open that is committed. */
static inline bool
pfs_pg_any_left(const PfsSession *session)
{
	const PfsStatement *newest = session->newest;

	return newest != NULL && (newest->older != NULL || pfs_pg_is_left(newest));
}

#endif							/* PFS_PG_STATEMENT_H */
