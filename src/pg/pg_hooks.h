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
#include "executor/executor.h"
#include "pg/pg_server.h"
#include "tcop/utility.h"

/* Installation, from _PG_init while the postmaster preloads libraries. */
extern void pfs_pg_arena_install(void);
extern void pfs_pg_backend_install(void);
extern void pfs_pg_executor_install(void);
extern void pfs_pg_utility_install(void);
extern void pfs_pg_xact_install(void);
extern void pfs_pg_error_install(void);

/* --- pg_backend.c: this process --- */

extern PfsSession pfs_session;

/* The same by a register: code that looks at many of its members is shorter so. */
static inline PfsSession *
pfs_pg_session(void)
{
	PfsSession *session = &pfs_session;

	pfs_keep(session);
	return session;
}

extern bool pfs_pg_ready;		/* hooks of this process are attached, and its leader is known */

/* Makes sure that this process has a thread slot and its hooks; false if it records nothing. */
extern bool pfs_pg_attach(void);
extern bool pfs_pg_attach_in_call(void);

/* The hooks at the end of a query, see pfs_pg_endings_in. */
typedef enum PfsPgEndings
{
	PFS_PG_ENDINGS_IN,
	PFS_PG_ENDINGS_OUT,
	PFS_PG_ENDINGS_STAY			/* somebody stands above them */
} PfsPgEndings;

/* All that hooks look at while nothing is wanted, and whom they call: one line of memory. */
typedef struct PfsPgEntry
{
	PFS_ALIGNED const uint32 *gate; /* the arena's; says "all" as long as this process has no thread */
	uint32		queries;		/* that are tied to their memory, see pg_query.h */
	bool		protocol_is_out;	/* the server does without our methods until something is wanted again */
	uint8		endings;		/* PfsPgEndings */
	ExecutorStart_hook_type ExecutorStart;	/* what comes after us */
	ExecutorRun_hook_type ExecutorRun;
	ExecutorFinish_hook_type ExecutorFinish;
	ExecutorEnd_hook_type ExecutorEnd;
	ProcessUtility_hook_type ProcessUtility;
	int			(*putmessage) (char type, const char *body, size_t length);	/* of the methods that ours stand for */
} PfsPgEntry;

StaticAssertDecl(sizeof(PfsPgEntry) == PFS_CACHE_LINE, "one line");

extern PfsPgEntry pfs_pg_entry;

#define PFS_PG_QUERY_CLASSES (PFS_GATE_STATEMENTS | PFS_GATE_TRANSACTIONS | PFS_GATE_TABLES)

/* Hooks: what is executed while nothing is wanted stands together. */
#define PFS_PG_ENTRY __attribute__((hot, section(".text.hot.entry")))

/*
 * While nothing is wanted the executor does without our hooks from one command to the next: they are taken out
 * between commands, unless somebody stands above them or a query is known, and come back by the first of our other
 * hooks, or data of the client's, that sees a switch.
 */
extern void pfs_pg_executor_out(void);
extern void pfs_pg_executor_in(void);

/*
 * By far the most queries, those of the client that begin and run in the plain way, leave nothing to ExecutorFinish and
 * ExecutorEnd: we let go of it when it has run, or, if not all its rows were asked for, when the client is told that it is
 * complete.  So from the begin of such a query on the server does without these hooks, if nobody stands above them.
 * Whatever else is executed, is answered, or happens to the query brings them back.
 */
extern void pfs_pg_endings_out(void);
extern void pfs_pg_endings_put_in(void);

static inline void
pfs_pg_endings_in(void)
{
	if (pfs_unlikely(pfs_pg_entry.endings == PFS_PG_ENDINGS_OUT))
		pfs_pg_endings_put_in();
}

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

/* Schema and role of the session for statements that begin now: as cheap as can be while they stay. */
extern void pfs_pg_refresh_identity(void);

static inline bool
pfs_pg_identity_changed(void)
{
	return pfs_pg_server.schema_path != *pfs_pg_server.search_path || pfs_pg_server.user() != pfs_session.role;
}

/* The program's name, once a transaction. */
extern void pfs_pg_refresh_program(void);

/* Length of text that fits, cut at a character. */
extern size_t pfs_pg_clip(const char *text, size_t length, size_t limit);

/* --- pg_statement.c, see pg_statement.h --- */

/* Does a statement that begins now go to a digest? */
extern bool pfs_pg_has_digest(uint64 query_id);

/*
 * Its row.  The server may not tell where the query of a command stands in the client's message (CREATE TABLE AS): its
 * text is the command's then, not that of all the message.
 */
extern uint32 pfs_pg_digest_of(uint64 query_id, const char *source, int location, int length);

/* --- pg_digest_row.c: digest row of a statement, made with its text if it is new --- */
extern uint32 pfs_pg_digest(uint64 query_id, const char *source, int location, int length);

/* Normalised-text ids of utility statements, see pg_utility.c. */
extern uint64 pfs_pg_utility_id(const char *source, int location, int length, uint64 server_id);

/* --- pg_query.c: see pg_query.h --- */
struct PfsPgQuery;

/* --- pg_plan.c: what a plan tells of its statement --- */
extern void pfs_pg_plan_start(struct PfsPgQuery *query);

extern void pfs_pg_usage_start(PfsStatement *statement);
extern void pfs_pg_usage_end(PfsStatement *statement);

/* --- pg_routine.c --- */
extern void pfs_pg_routine_attach(void);
extern PfsRef pfs_pg_current_routine(void);
extern void pfs_pg_routine_forget(int level);

/* --- pg_xact.c --- */

/* Nesting level of the transaction, as GetCurrentTransactionNestLevel tells it while there is one. */
extern int	pfs_pg_nest_level;
extern void pfs_pg_transaction_begin(PfsTicks start);

/* What the server tells of one that begins. */
static inline void
pfs_pg_transaction_describe(PfsTransactionRecord *event)
{
	pfs_pg_refresh_program();
	pfs_store(&event->read_only, (uint8) *pfs_pg_server.read_only);
	pfs_store(&event->isolation, (uint8) *pfs_pg_server.isolation);
}

/* Shows what a command may have changed of the transaction: isolation, access mode, autocommit. */
extern void pfs_pg_transaction_refresh(void);

/* --- pg_error.c --- */

/*
 * Watches the errors of a call, without the cost of PG_TRY.  The guard lies on the caller's stack:
 * whatever has become of the statement, it is popped when the call returns.  (An error that leaves
 * the caller pops it, too: who catches it restores the stack of callbacks.)
 */
extern void pfs_pg_error_guard(ErrorContextCallback *guard);

/* Puts any callback there, which asks for no argument; undone by the next. */
static inline void
pfs_pg_error_push(ErrorContextCallback *guard, void (*callback) (void *arg))
{
	guard->callback = callback;
	guard->previous = *pfs_pg_server.errors;
	*pfs_pg_server.errors = guard;
}

static inline void
pfs_pg_error_unguard(const ErrorContextCallback *guard)
{
	*pfs_pg_server.errors = guard->previous;
}

/* An ErrorResponse or NoticeResponse goes to the client. */
extern void pfs_pg_error_message(const char *body, size_t length, bool is_notice);

/* Its transaction or subtransaction is aborted: it was reported by now, or never will be. */
extern void pfs_pg_error_over(void);

/*
 * A subtransaction is aborted: the error that did it (0: none was seen), and its message or NULL.  False: it is none, or one
 * that no handler inside fitted, which has been taken there already.
 */
extern bool pfs_pg_take_caught(int *sqlstate, const char **message);

/* Its statements have ended: if the next error comes from the one that runs now, and none was raised, it is the same. */
extern void pfs_pg_error_may_pass(void);

/* Was an error raised that nobody has caught or reported yet? */
extern bool pfs_pg_error_is_raised(void);
extern void pfs_pg_error_attach(void);

/* --- pg_protocol.c --- */
extern void pfs_pg_protocol_attach(void);
extern void pfs_pg_protocol_detach(void);

#endif							/* PFS_PG_HOOKS_H */
