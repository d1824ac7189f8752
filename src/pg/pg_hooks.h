/*
 * pg_hooks.h
 *		What the files that hold hooks call of each other; for src/pg only.
 *
 * Every hook first asks pfs_wants (one load) and then calls the previous hook exactly once,
 * whatever the answer.
 */
#ifndef PFS_PG_HOOKS_H
#define PFS_PG_HOOKS_H

#include "core/statement.h"
#include "access/xact.h"
#include "nodes/parsenodes.h"
#include "executor/execdesc.h"

/* Installation, from _PG_init while the postmaster preloads libraries. */
extern void pfs_pg_arena_install(void);
extern void pfs_pg_backend_install(void);
extern void pfs_pg_statement_install(void);
extern void pfs_pg_utility_install(void);
extern void pfs_pg_xact_install(void);
extern void pfs_pg_error_install(void);

/* --- pg_backend.c: this process --- */

extern PfsSession pfs_session;
extern bool pfs_pg_ready;		/* hooks of this process are attached, and its leader is known */

/* Makes sure that this process has a thread slot and its hooks; false if it records nothing. */
extern bool pfs_pg_attach(void);
extern bool pfs_pg_attach_in_call(void);

/* Is anything of these classes wanted?  Attaches on first use. */
static inline bool
pfs_pg_wants(uint32 classes)
{
	if (pfs_unlikely(pfs_session.thread == NULL || !pfs_pg_ready) && !pfs_pg_attach())
		return false;
	return pfs_wants(&pfs_session, classes);
}

/* Does a client of this process read our messages, so that pg_protocol.c sees them? */
extern bool pfs_pg_has_client;

/* Tick at which the message being processed arrived, from the server's own timestamp (+- 0.5 us). */
extern PfsTicks pfs_pg_arrival(void);

/* First schema of the search path, cached; 0 outside of transactions. */
extern PfsRef pfs_pg_current_schema(void);

/* Length of text that fits, cut at a character. */
extern size_t pfs_pg_clip(const char *text, size_t length, size_t limit);

/* --- pg_statement.c: statements --- */

/* host_flags of a PfsStatement */
#define PFS_PG_ENDED 0x04		/* waits for the client's CommandComplete, or the commit */
#define PFS_PG_IN_CALL 0x08		/* its executor or utility call is on the C stack */
#define PFS_PG_ANALYSED 0x10	/* opened by parse analysis, not executed yet */
#define PFS_PG_ROWS_AFFECTED 0x20	/* rows are counted as affected */
#define PFS_PG_ROWS_SENT 0x40
#define PFS_PG_EXTENDED 0x80	/* extended protocol */
#define PFS_PG_SECRET 0x100		/* show only the normalised text */
#define PFS_PG_COMPLETE 0x200	/* the client has its CommandComplete */
#define PFS_PG_SECRET_MESSAGE 0x10000	/* nor what its error messages quote, see pg_text.h */
#define PFS_PG_OWN_QUERY 0x20000	/* a command that executes a query of its own source text */

/* The statement that parse analysis has opened and nothing has executed yet, or NULL. */
extern PfsStatement *pfs_pg_pending;

/* Statement that a hook may execute now: the pending one, or a new one.  NULL: not wanted. */
extern PfsStatement *pfs_pg_claim(uint32 class, const char *source, int location, int length,
								  uint64 query_id, uint32 flags);

/* Digest row of a statement, made with its text if it is new. */
extern uint32 pfs_pg_digest(uint64 query_id, const char *source, int location, int length);

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
	return statement->in_use && statement->event->statement_id == statement_id;
}

/* Ends top-level statements that wait for their client, and the unused pending one. */
extern void pfs_pg_finish_all_ended(void);

static inline void
pfs_pg_finish_ended(void)
{
	if (pfs_session.open > 0)
		pfs_pg_finish_all_ended();
}

/* Ends a statement now, rows so far included; errors = 1 if sqlstate is not 0. */
extern void pfs_pg_end(PfsStatement *statement, PfsTicks end, int sqlstate, const char *message);

/* End of the last top-level statement; 0 = none yet. */
extern PfsTicks pfs_pg_last_end(void);

/* The top-level statement that was opened or run last and has not ended, or NULL. */
extern PfsStatement *pfs_pg_top(void);

/* Forgets a statement that was only analysed. */
extern void pfs_pg_drop(PfsStatement *statement);

/* The same, of a query that was left; safe while memory is given back. */
extern void pfs_pg_end_orphan(PfsStatement *statement);

/* Of a statement with a query. */
extern void pfs_pg_complete_portal(PfsStatement *statement);

/* Subtransaction of this level aborted, or (level 1) the transaction, or (0) the process ends. */
extern void pfs_pg_forget_level(int level, int sqlstate, const char *message);

/* Subtransaction of this level was released: what it left open belongs to its parent. */
extern void pfs_pg_merge_level(int level);

/* Portals that outlived their transaction are gone. */
extern void pfs_pg_forget_suspended(void);

/* Normalised-text ids of utility statements, see pg_utility.c. */
extern uint64 pfs_pg_utility_id(const char *source, int location, int length, uint64 server_id);

/* --- pg_query.c: see pg_query.h --- */
struct PfsPgQuery;

/* --- pg_plan.c: what a plan tells of its statement --- */
extern void pfs_pg_plan_start(struct PfsPgQuery *query, const PlannedStmt *plan);

/* ending: ExecutorEnd follows; else the portal has told its client that it is complete. */
extern void pfs_pg_plan_end(struct PfsPgQuery *query, bool ending);
extern void pfs_pg_usage_start(PfsStatement *statement);
extern void pfs_pg_usage_end(PfsStatement *statement);

/* --- pg_table_io.c: rows read and changed --- */
extern void pfs_pg_table_start(struct PfsPgQuery *query);
extern uint64 pfs_pg_table_collect(struct PfsPgQuery *query, bool ending);
extern void pfs_pg_table_end(struct PfsPgQuery *query);
extern void pfs_pg_table_failed(PfsStatement *statement);
extern int	pfs_pg_table_utility_start(const Node *utility);
extern void pfs_pg_table_utility_end(int before);
extern void pfs_pg_table_transaction(XactEvent event);
extern void pfs_pg_table_subtransaction(SubXactEvent event, int level);

/* --- pg_routine.c --- */
extern void pfs_pg_routine_attach(void);
extern PfsRef pfs_pg_current_routine(void);
extern void pfs_pg_routine_forget(int level);

/* --- pg_xact.c --- */
extern void pfs_pg_transaction_begin(PfsTicks start);

/* Shows what is known of the transaction by now: id, isolation, access mode, autocommit. */
extern void pfs_pg_transaction_refresh(void);

/* --- pg_error.c --- */

/*
 * Watches the errors of a call, without the cost of PG_TRY.  The guard lies on the caller's stack:
 * whatever has become of the statement, it is popped when the call returns.  (An error that leaves
 * the caller pops it, too: who catches it restores the stack of callbacks.)
 */
extern void pfs_pg_error_guard(ErrorContextCallback *guard);

static inline void
pfs_pg_error_unguard(const ErrorContextCallback *guard)
{
	error_context_stack = guard->previous;
}

/* An ErrorResponse or NoticeResponse goes to the client. */
extern void pfs_pg_error_message(const char *body, size_t length, bool is_notice);

/* The error that an exception handler has just caught; false if none was seen. */
extern bool pfs_pg_take_caught(int *sqlstate, const char **message);
extern void pfs_pg_error_attach(void);

/* --- pg_protocol.c --- */
extern void pfs_pg_protocol_attach(void);

/* Was this complete statement answered before the message that is being processed? */
extern bool pfs_pg_belongs_to_newer_message(const PfsStatement *statement);

#endif							/* PFS_PG_HOOKS_H */
