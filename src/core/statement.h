/*
 * statement.h
 *		Recording of statements, transactions and errors by one session.
 *
 * The host owns one PfsSession per process, in private memory, and calls these functions from its
 * hooks.  None of them fails, blocks, allocates or changes errno: what cannot be recorded is
 * counted in a loss counter.  A statement goes through
 *
 *		open -> [text, digest, refine] -> [leave -> enter]* -> close | drop
 *
 * Statements may be open side by side (cursors), so they form no strict stack; which of them is
 * "running", i.e. the parent of what starts now, is said by enter and leave.
 */
#ifndef PFS_STATEMENT_H
#define PFS_STATEMENT_H

#include "core/digest.h"
#include "core/setup.h"
#include "core/thread.h"
#include "core/timer.h"

#define PFS_OPEN_STATEMENTS 512
#define PFS_STACK_MAX 256
#define PFS_TALLY_CLASSES 16	/* the first classes, which may be tallied */

/* What one statement waited for, nested ones included. */
#define PFS_WAIT_TOTALS 16

typedef struct PfsWaitTotals
{
	uint32_t	used;
	uint32_t	last;			/* where the last one was added */
	uint16_t	wait[PFS_WAIT_TOTALS];
	PfsTimerStat stat[PFS_WAIT_TOTALS];
} PfsWaitTotals;

typedef struct PfsStatement
{
	PfsStatementEvent *event;	/* in the thread's slot, or own_event when the stack is full */
	struct PfsStatement *parent;	/* statement that was running when this one started */
	PfsTicks	on_stage_since; /* 0 = off stage: suspended cursor */
	uint64_t	cpu;			/* nanoseconds, see turn_cpu; 0: consumer is off */
	uint32_t	children;		/* open statements whose parent this is */
	int32_t		place;			/* in the thread's statement stack, -1 = none */
	uint32_t	slot;			/* the thread's slot that holds event and text */
	uint8_t		in_use;
	uint8_t		scope;			/* PfsScope */
	uint8_t		recorded;		/* has an event id and a row in events_statements_current */
	uint8_t		wants_digest;
	PfsStatementEvent own_event;
	PfsWaitTotals waits;

	/* the host's; cleared by open, otherwise ignored here */
	void	   *host_query;		/* the query it executes */
	struct PfsStatement *host_caller;
	uint32_t	host_flags;
	int32_t		host_level;		/* transaction nesting level at open */
	int32_t		host_enter_level;	/* and when it last went on stage */
	uint64_t	host_rows;
	uint64_t	host_broken_rows;	/* of the run that an error broke off */
	uint64_t	host_base[2];
} PfsStatement;

typedef struct PfsTransaction
{
	PfsTransactionEvent *event; /* in the thread's slot, or own_event when it makes no row */
	PfsTransactionEvent own_event;
	bool		open;
	bool		recorded;
	PfsScope	scope;
} PfsTransaction;

/* Positions of a shared ring that this session has claimed and not yet used. */
typedef struct PfsClaim
{
	uint64_t	next;
	uint64_t	end;
} PfsClaim;

/*
 * What a session remembers of a wait, so that an event touches few cache lines: valid for one state
 * of the setup tables, the cell for one value of the reset counter.  Zero when a thread is attached.
 */
typedef struct PfsWaitHot
{
	void	   *cell;			/* PfsWaitCell or PfsIoCell; NULL = not known */
	uint32_t	wait;
	uint32_t	setup;			/* arena->setup_changes; 0 = nothing is known */
	uint32_t	reset;			/* arena->reset_now, of the cell */
	uint8_t		enabled;
	uint8_t		timed;
	uint8_t		kind;			/* PfsWaitKind */
	uint8_t		scope;			/* PfsScope */
} PfsWaitHot;

#define PFS_WAITS_HOT 32

typedef struct PfsSession
{
	PfsArena   *arena;
	PfsThread  *thread;			/* NULL = not attached: nothing is recorded */
	PfsStatement *running;		/* innermost statement on stage */
	PfsStatement *top;			/* the host's: top-level statement while none is running, or NULL */
	uint32_t	open;			/* statements open */
	bool		in_command;		/* the host's: the client's command has come, and is worked on */
	bool		busy;			/* inside a recording function */
	PfsClaim	statement_ids;
	PfsClaim	statements_long;
	PfsClaim	statement_texts;
	PfsClaim	transactions_long;
	PfsClaim	waits_long;
	PfsClaim	lock_waits;
	PfsWaitTotals waits;		/* of no statement yet: the next top-level one gets them ... */
	uint64_t	promised_event; /* ... and this event id, in which they are nested; 0 = none */
	uint64_t	promised_statement; /* and this statement id; 0 = none */
	PfsWaitHot	hot[PFS_WAITS_HOT];
	PfsTransaction transaction;
	uint64_t	tally_changes;	/* arena->changes for which tally_count is valid */
	uint64_t   *tally_count[PFS_TALLY_CLASSES]; /* where untimed tallies count, NULL = ask */
	uint64_t	slots_of;		/* thread id that the two arrays below belong to */
	uint8_t		place_used[PFS_STACK_MAX];
	uint32_t	free_slot[PFS_STACK_MAX];	/* slot for the next statement at a place */
	PfsStatement statement[PFS_OPEN_STATEMENTS];
} PfsSession;

/* Visits the open statements; the body may close the one it looks at. */
#define PFS_EACH_OPEN(session, visited) \
	for (uint32_t pfs_i = 0, pfs_left = (session)->open; \
		 pfs_left > 0 && pfs_i < PFS_OPEN_STATEMENTS; pfs_i++) \
		for (PfsStatement *visited = &(session)->statement[pfs_i]; \
			 visited != NULL && visited->in_use && pfs_left-- > 0; visited = NULL)

#ifdef PFS_DISABLE_STATEMENT
#define PFS_BUILT_STATEMENTS 0
#else
#define PFS_BUILT_STATEMENTS PFS_GATE_STATEMENTS
#endif
#ifdef PFS_DISABLE_TRANSACTION
#define PFS_BUILT_TRANSACTIONS 0
#else
#define PFS_BUILT_TRANSACTIONS PFS_GATE_TRANSACTIONS
#endif
#ifdef PFS_DISABLE_ERROR
#define PFS_BUILT_ERRORS 0
#else
#define PFS_BUILT_ERRORS PFS_GATE_ERRORS
#endif
#ifdef PFS_DISABLE_WAIT
#define PFS_BUILT_WAITS 0
#else
#define PFS_BUILT_WAITS (PFS_GATE_CALLS | PFS_GATE_TABLES)
#endif
#define PFS_BUILT (PFS_BUILT_STATEMENTS | PFS_BUILT_TRANSACTIONS | PFS_BUILT_ERRORS | PFS_BUILT_WAITS)

/* Is anything of these classes (PFS_GATE_*) wanted from this session?  One load where nothing is. */
static inline bool
pfs_wants(const PfsSession *session, uint32_t classes)
{
	return (classes & PFS_BUILT) != 0 && session->thread != NULL &&
		(pfs_load(&session->arena->gate) & classes & PFS_BUILT) != 0 &&
		pfs_load(&session->thread->instrumented) != 0;
}

/* Recording must not be entered twice, e.g. from a signal handler: what comes second is counted. */
static inline bool
pfs_enter_recording(PfsSession *session)
{
	if (pfs_unlikely(session->busy))
	{
		pfs_lose(session->arena, PFS_LOSS_LOCKER);
		return false;
	}
	session->busy = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

static inline void
pfs_leave_recording(PfsSession *session)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	session->busy = false;
}

/*
 * Starts a statement of this class at this time; its parent is the running one.  NULL when the
 * class is not wanted or too many are open.  The statement is on stage, but not yet "running".
 */
extern PfsStatement *pfs_statement_open(PfsSession *session, uint32_t class, PfsTicks start);

/* Id of the next top-level statement, whose command is being worked on. */
extern uint64_t pfs_statement_promise(PfsSession *session);

/*
 * The statement's text, and the role it runs as, whose text it is; kept up to sql_text_length, length
 * being cut by the host at a character.
 */
extern void pfs_statement_text_set(PfsSession *session, PfsStatement *statement, uint32_t role,
								   const char *text, size_t length);

/* Error message of a statement, cut by the host to PFS_MESSAGE_LENGTH. */
extern void pfs_statement_message_set(PfsSession *session, PfsStatement *statement,
									  const char *message, size_t length);

/* Shows the statement in events_statements_current, complete with text and digest. */
extern void pfs_statement_publish(PfsSession *session, PfsStatement *statement);

/* The statement makes no row, it is only summed up: called between open and publish. */
extern void pfs_statement_unlist(PfsStatement *statement);

/* The class is now known.  False: that class is off, the statement was dropped. */
extern bool pfs_statement_refine(PfsSession *session, PfsStatement *statement, uint32_t class);

static inline void
pfs_statement_set(PfsStatement *statement, PfsCounter counter, uint64_t value)
{
	if (value != 0)
	{
		pfs_store(&statement->event->counter[counter], value);
		pfs_store(&statement->event->used, statement->event->used | 1u << counter);
	}
}

static inline void
pfs_statement_count(PfsStatement *statement, PfsCounter counter, uint64_t value)
{
	pfs_statement_set(statement, counter,
					  pfs_statement_counter(statement->event, counter) + value);
}

/* A suspended statement goes on, or goes off stage again. */
extern void pfs_statement_resume(PfsStatement *statement, PfsTicks now);
extern void pfs_statement_pause(PfsStatement *statement, PfsTicks now);

/* Ends the statement: summaries, digest, histories.  end = 0: the time of the last pause. */
extern void pfs_statement_close(PfsSession *session, PfsStatement *statement, PfsTicks end);

/* Forgets the statement without counting it. */
extern void pfs_statement_drop(PfsSession *session, PfsStatement *statement);

/* Counts one event of a class that has no row of its own: protocol commands.  wait = 0: untimed. */
extern void pfs_statement_tally(PfsSession *session, uint32_t class, PfsTicks wait);

/*
 * Counts another untimed event of a class where the last one counted; false when that is not known
 * any more: after a reset, a change of a switch, in another thread.  One word, so consistent by
 * itself.
 */
static inline bool
pfs_statement_tally_again(PfsSession *session, uint32_t class)
{
	if (pfs_unlikely(session->tally_changes != pfs_load_acquire(&session->arena->changes) ||
					 session->slots_of != session->thread->thread_id ||
					 session->tally_count[class] == NULL))
		return false;
	pfs_add(session->tally_count[class], 1);
	return true;
}

extern void pfs_transaction_open(PfsSession *session, PfsTicks start);
/* The statement that opened the transaction is dropped: the transaction stands alone. */
extern void pfs_transaction_forget_parent(PfsSession *session, uint64_t event_id);

extern void pfs_transaction_close(PfsSession *session, PfsTransactionState outcome, PfsTicks end);

/* Counts an error: raised, or caught by a handler.  error: host's number below sizes.errors. */
extern void pfs_error_count(PfsSession *session, uint32_t error, bool handled, PfsTicks now);

/*
 * What is known of a session only after it was authenticated, and what it may change: database (0 =
 * as it was) and encoding; the program's name, cut by the host.  False: inside another recording.
 */
extern bool pfs_session_identity(PfsSession *session, PfsRef database, uint32_t database_id,
								 int32_t encoding);
extern bool pfs_session_program(PfsSession *session, const char *program, size_t length);

/* What threads.processlist_command and _time show. */
extern void pfs_session_state(PfsSession *session, PfsThreadState state, PfsTicks now);

#endif							/* PFS_STATEMENT_H */
