/*
 * statement.h
 *		Recording of statements, transactions and errors by one session.
 *
 * The host owns one PfsSession per process, in private memory, and calls these functions from its
 * hooks.  None of them fails, blocks, allocates or changes errno: what cannot be recorded is
 * counted in a loss counter.  A statement goes through
 *
 *		open -> [text, digest, refine] -> publish -> [pause -> resume]* -> close | drop
 *
 * It is a record of the thread's journal (journal.h) from the beginning; to close it means to publish the
 * record's number.  The summaries get it later (summing.h).
 *
 * Statements may be open side by side (cursors), so they form no strict stack; which of them is
 * "running", i.e. the parent of what starts now, is said by enter and leave.
 */
#ifndef PFS_STATEMENT_H
#define PFS_STATEMENT_H

#include "core/digest.h"
#include "core/journal.h"
#include "core/setup.h"
#include "core/thread.h"
#include "core/timer.h"

#define PFS_OPEN_STATEMENTS 512

/* What one statement waited for, nested ones included. */
#define PFS_WAIT_TOTALS 16

typedef struct PfsWaitTotals
{
	uint32_t	used;
	uint32_t	last;			/* where the last one was added */
	uint16_t	wait[PFS_WAIT_TOTALS];
	PfsTimerStat stat[PFS_WAIT_TOTALS];
} PfsWaitTotals;

/* Two words at once: without any the last one is the first. */
static inline bool
pfs_waits_are_none(const PfsWaitTotals *totals)
{
	uint64_t	both;

	memcpy(&both, totals, sizeof(both));
	return both == 0;
}

_Static_assert(offsetof(PfsWaitTotals, used) == 0 && offsetof(PfsWaitTotals, last) == sizeof(uint32_t), "the first two");

typedef struct PfsStatement
{
	PFS_ALIGNED struct PfsStatement *parent;	/* statement that was running when this one started */
	struct PfsStatement *host_caller;	/* host_ is the host's, otherwise ignored here */
	struct PfsStatement *older; /* of the open ones; of the free ones: the next */
	struct PfsStatement *newer;
	PfsTicks	since;			/* it runs since then; 0 = it does not: a suspended cursor */
	int16_t		place;			/* in the thread's stack, -1 = none */
	int32_t		host_level;		/* transaction nesting level at open */
	int32_t		host_enter_level;	/* and when it last went on stage */
	uint8_t		in_use;
	uint8_t		recorded;		/* has an event id and a row in events_statements_current */
	uint8_t		silent;			/* makes no record */
	uint8_t		spare;
	uint64_t	plain;			/* arena->changes for which it may end in the plain way, see statement_hot.h; 0 = not */

	/* a query that has run touches this line only */
	PfsStatementRecord *record; /* in the journal, or own_record when the stack is full */

	/* from here on begin sets all to nothing */
	PfsTicks	spent;			/* ticks it ran before */
	PfsTicks	paused_at;
	void	   *host_query;		/* the query it executes */
	uint64_t	host_rows;
	union
	{
		struct
		{
			uint16_t	children;	/* open statements whose parent this is */
			uint8_t		host_flags;
			uint8_t		host_state;
			uint8_t		host_in_call;	/* its executor or utility call is on the C stack */
			uint8_t		host_rows_are;	/* counters that rows are, a bit each */
			uint8_t		host_watches:2; /* its plan sorts, or may spill */
			uint8_t		host_broken:1;	/* an error broke off a run; host_broken_rows are of it */
			uint8_t		host_brief:3;	/* what its plan asks of relations: PfsBrief, ... */
			uint8_t		host_at_once:1; /* who has started its query ends it before anything else: it never rests */
			uint8_t		host_alone:1;	/* no command is answered when it is complete */
			uint8_t		host_hops;	/* ... and how many nodes are above its scan */
		};
		uint64_t	facts;		/* all of these */
	};

	uint64_t	host_base;		/* what the host's counters showed when it began */
	PfsWaitTotals waits;		/* of a free one: none */
	uint64_t	cpu;			/* processor time in nanoseconds, until it rested last */
	uint64_t	cpu_since;		/* the thread's when it went on; 0 = it rests, or (and no cpu) consumer is off */
	uint64_t	host_broken_rows;
	PfsStatementRecord own_record;
} PfsStatement;

_Static_assert(offsetof(PfsStatement, record) == PFS_CACHE_LINE &&
			   offsetof(PfsStatement, waits) + offsetof(PfsWaitTotals, wait) == 2 * PFS_CACHE_LINE, "two lines by most");

/* The one that is open, or the next one.  What is marked with * is decided with the switches. */
typedef struct PfsTransaction
{
	PfsTransactionRecord *event;	/* in the thread's ring; of one that makes no row the session's own */
	uint64_t	event_id;		/* 0 = none is open that makes a row */
	uint64_t	fresh;			/* * "state" of records that begin */
	PfsTransactionRecord *ring_end;
	bool		shown;			/* * they are wanted, and make rows ... */
	bool		history;		/* * ... which stay in the ring */
	bool		history_long;	/* * */
	uint8_t		spare;

	/* see pfs_transaction_is */
	bool		open;
	bool		recorded;		/* if so, it makes a row */
	bool		plain;			/* * they are timed, which takes no call, make rows that stay in the ring alone, count at all levels */
	uint8_t		spare2;
} PfsTransaction;

/* Positions of a shared ring that this session has claimed and not yet used. */
typedef struct PfsClaim
{
	uint64_t	next;
	uint64_t	end;
} PfsClaim;

#define PFS_SUMS_HOT 256		/* power of two; digests of one application have numbers side by side */

/* A text that stands in the long history's text ring; length 0 = none. */
typedef struct PfsLongText
{
	uint64_t	from;			/* where it was taken from: its position in the journal */
	uint64_t	position;
	uint32_t	length;
	uint32_t	check_sum;
} PfsLongText;

/* What a session remembers between sums: claims and texts of the long history, and cells. */
typedef struct PfsLongClaims
{
	PfsClaim	rows;
	PfsClaim	texts;
	PfsClaim	waits;
	struct PfsDigestCell *cell[PFS_SUMS_HOT];	/* by digest: where it was summed last, or NULL */
	PfsLongText known[32];		/* by digest; of the journal that the session has now */
} PfsLongClaims;

/*
 * What a session remembers of a wait, so that an event touches few cache lines: valid for one value of
 * arena->changes, which tells of switches and resets.  Zero when a thread is attached.
 */
typedef struct PfsWaitHot
{
	uint64_t	changes;		/* arena's; 0 = nothing is known */
	void	   *cell;			/* PfsWaitCell or PfsIoCell; NULL = not known */
	uint32_t	wait;
	uint8_t		enabled;
	uint8_t		timed;
	uint8_t		kind;			/* PfsWaitKind */
	uint8_t		scope;			/* PfsScope */
	uint64_t	spare;
} PfsWaitHot;

#define PFS_WAITS_HOT 32

/* Where the rows of waits go, and those on the socket count: decided with the switches. */
typedef struct PfsWaitRows
{
	PFS_ALIGNED PfsWaitSlot *slots; /* where slots would begin, if all stood side by side with the head's block */
	PfsWaitSlot *stack;			/* the thread's, see pfs_thread_wait_stack */
	PfsIoStat  *socket;			/* the same; NULL = there is none, or it must be looked at */
	uint64_t	table_what;		/* of those that are rows of tables, see pfs_wait_row_what */
	uint32_t	ring;			/* of so many the ring is made */
	uint32_t	head;			/* slot of the next one */
	uint32_t	turn;			/* when the head comes to this slot, its block is full */
	bool		shown;			/* are there rows at all? */
	bool		history;		/* they stay in the ring */
	uint8_t		hidden;			/* PFS_WAIT_HIDDEN, or 0 */
	uint8_t		level_at_head;	/* of the one under way that is written at the head, else 0 */
	bool		unbilled;		/* those outside of statements are kept for the next one */
} PfsWaitRows;

/*
 * What it takes to count rows of tables: valid for one value of arena->changes, which tells of switches and
 * resets.
 */
typedef struct PfsRowsHot
{
	union
	{
		uint64_t	changes;	/* arena's; 0 = nothing is known */
		struct
		{
			uint32_t	settings;
			uint32_t	reset;	/* arena->reset_now */
		};
	};
	uint32_t	cell;			/* by event name, see pfs_rows_cell */
	bool		timed;			/* as far as their event's name decides */
	bool		shown;			/* each event makes a row */
} PfsRowsHot;

typedef enum PfsAnswerUse
{
	PFS_ANSWER_UNWANTED,
	PFS_ANSWER_COUNTED,
	PFS_ANSWER_TIMED
} PfsAnswerUse;

/* What a session does for its client. */
typedef enum PfsPhase
{
	PFS_PHASE_NONE,				/* it has none, or was not seen yet */
	PFS_PHASE_COMMAND,			/* his command has come, and is worked on */
	PFS_PHASE_REST				/* what is waited for now is for no statement */
} PfsPhase;

/*
 * Each statement touches the first three lines: what others ask for stands behind them, but for two words.  Who attaches it
 * to another thread sets "decided" and "newest" to nothing.
 */
typedef struct PfsSession
{
	PFS_ALIGNED PfsArena *arena;
	PfsThread  *thread;			/* NULL = not attached: nothing is recorded */
	PfsStatement *running;		/* innermost statement on stage */
	PfsStatement *top;			/* the host's: top-level statement while none is running, or NULL */
	PfsStatement *newest;		/* of the open ones */
	PfsStatement *in_ring;		/* the one that is written in the journal's ring, or NULL */
	PfsRowsHot	rows;			/* here, as a query that has run touches this line anyway */

	uint64_t	key;			/* a template that has it is good, see pfs_session_advance */
	PfsStatementRecord *records;	/* of the journal */
	uint64_t	plain;			/* arena->changes for which a statement may begin in the plain way, see statement_hot.h; 0 = not */
	PfsClaim	statement_ids;
	union
	{
		struct
		{
			bool		extended;	/* the host's: messages of the extended protocol were answered since ReadyForQuery */
			bool		busy;	/* inside a recording function */
			uint8_t		phase;	/* PfsPhase: the host's */
			bool		promised;	/* the next top-level statement has a number already */

			/* what is out of the ordinary, whatever the session does */
			bool		unsettled;	/* the host's: waits were put off */
			bool		nameless;	/* the host's: a wait has a name that could not be asked for yet */
			bool		switched;	/* switches were looked at since a command was answered last */
			bool		far;	/* the clock takes a call */
		};
		uint64_t	stands;		/* all of these, see pfs_session_is */
	};
	uint32_t	role;			/* the present one: the host's, for statements that start */
	uint16_t	ring_mask;		/* of the ring's slots, which are the first ones */
	uint8_t		answers[PFS_ANSWERS];	/* PfsAnswerUse */
	bool		times_cpu;		/* statements' processor time is taken */
	uint32_t	wants;			/* PFS_GATE_* */

	uint64_t	decided;		/* arena->changes for which these are right; 0 = for none */
	PfsTransaction transaction;
	PfsWaitTotals waits;		/* of no statement yet: the next top-level one gets them */

	uint64_t	promised_event;	/* event id of the next top-level statement; 0 = none */
	uint64_t	promised_statement; /* and its statement id; 0 = none */
	PfsStatement *free;			/* with a place in the stack; not the first one while none is open */
	uint64_t	oldest_text;	/* no text of an open statement stands before this position; none may be referred to */
	PfsRef		schema;			/* name of the present one: the host's */
	bool		shows;			/* statements make rows */
	bool		has_journal;	/* with at least one place in the stack */
	bool		may_be_plain;	/* the host's: it has nothing against it */
	uint32_t	flags;			/* PFS_RECORD_* of the statements that start now */
	uint32_t	text_fresh;		/* a text that stands so far back, in bytes, may be an open statement's; see oldest_text */
	uint64_t	slots_of;		/* thread id that the journal belongs to */

	PfsWaitHot	hot[PFS_WAITS_HOT];
	PfsStatement *free_unplaced;	/* free, without a place in the stack */
	uint64_t	summed_text;	/* where texts went when records were last summed */
	PfsWaitRows wait_rows;
	uint64_t	last_cpu;		/* processor time when the last statement ended, see begin_cpu; 0 = to be read */
	PfsLongClaims statements_long;
	PfsClaim	transactions_long;
	PfsClaim	lock_waits;
	PfsTransactionRecord own_transaction;	/* of one that makes no row */
	PfsStatement statement[PFS_OPEN_STATEMENTS];
} PfsSession;

_Static_assert(offsetof(PfsSession, waits) + offsetof(PfsWaitTotals, last) <= 3 * PFS_CACHE_LINE, "three lines");

/* Is nothing out of the ordinary, nothing recorded just now, and this what it does (of a command: by the extended protocol or not)? */
static inline bool
pfs_session_is(const PfsSession *session, PfsPhase phase, bool extended)
{
	const uint8_t parts[sizeof(session->stands)] = {extended, false, (uint8_t) phase};
	uint64_t	expected;

	memcpy(&expected, parts, sizeof(expected));
	return session->stands == expected;
}

/* Is this all: a plain transaction is open (or not), and so is the next one; nothing was waited for that is of no statement yet? */
static inline bool
pfs_transaction_is(const PfsSession *session, bool open)
{
	const uint8_t parts[sizeof(uint64_t)] = {open, open, true};
	uint64_t	expected,
				is;

	memcpy(&expected, parts, sizeof(expected));
	memcpy(&is, (const char *) session + offsetof(PfsSession, transaction) + offsetof(PfsTransaction, open), sizeof(is));
	return is == expected;
}

_Static_assert(offsetof(PfsSession, waits) + offsetof(PfsWaitTotals, used) ==
			   offsetof(PfsSession, transaction) + offsetof(PfsTransaction, open) + sizeof(uint32_t), "side by side");

#define PFS_SESSION_DOES (offsetof(PfsSession, unsettled) - offsetof(PfsSession, extended))

_Static_assert(offsetof(PfsSession, extended) == offsetof(PfsSession, stands) &&
			   offsetof(PfsSession, busy) == offsetof(PfsSession, extended) + 1 &&
			   offsetof(PfsSession, phase) == offsetof(PfsSession, extended) + 2 && PFS_SESSION_DOES == sizeof(uint32_t),
			   "in this order");

/* Nothing is recorded just now, nor promised. */
static inline void
pfs_session_does(PfsSession *session, PfsPhase phase)
{
	const uint8_t parts[PFS_SESSION_DOES] = {false, false, (uint8_t) phase};

	memcpy(&session->extended, parts, sizeof(parts));
}

static inline void
pfs_session_forget_promised(PfsSession *session)
{
	session->promised = false;
	session->promised_event = session->promised_statement = 0;
}

/* Visits the open statements, the newest first; the body may close the one it looks at. */
#define PFS_EACH_OPEN(session, visited) \
	for (PfsStatement *visited = (session)->newest, *pfs_next = visited != NULL ? visited->older : NULL; \
		 visited != NULL; \
		 visited = pfs_next, pfs_next = visited != NULL ? visited->older : NULL)

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

/* The host's, called when switches have changed, maybe in a signal handler; may be NULL. */
extern void (*pfs_host_switched) (PfsSession *session);

/* Arena's changes, of which the session knows what they mean for it. */
extern void pfs_session_decide(PfsSession *session, uint64_t changes);

/*
 * What templates were made of has changed: a switch, the present schema or role, or what of the texts may be referred to.
 * Each is looked at again before a statement begins by it without a look.
 */
static inline void
pfs_session_advance(PfsSession *session)
{
	session->key++;
}

static inline uint64_t
pfs_session_decided(PfsSession *session)
{
	uint64_t	changes = pfs_load_acquire(&session->arena->changes);

	if (pfs_unlikely(changes != session->decided))
		pfs_session_decide(session, changes);
	return changes;
}

/* Is anything of these classes (PFS_GATE_*) wanted from this session? */
static inline bool
pfs_wants(PfsSession *session, uint32_t classes)
{
	if ((classes & PFS_BUILT) == 0 || session->thread == NULL)
		return false;
	(void) pfs_session_decided(session);
	return (session->wants & classes) != 0;
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
 * What all executions of a statement share, as it stands in their records.  Good for one value of
 * arena->changes.
 */
typedef struct PfsTemplate
{
	uint64_t	query_id;
	PfsRef		schema;			/* the session's, and ... */
	uint32_t	role;			/* ... its role, when the template was made */
	uint32_t	digest_generation;
	uint32_t	digest;
	uint16_t	class;
	uint16_t	level;			/* of a top-level statement: 0 */
	uint32_t	used;
} PfsTemplate;

_Static_assert(offsetof(PfsStatementRecord, used) - offsetof(PfsStatementRecord, query_id) ==
			   offsetof(PfsTemplate, used) && sizeof(PfsTemplate) == PFS_CACHE_LINE / 2, "copied at once");

/*
 * Fills in the template of a statement of this class.  generation: of digests, asked before the digest was: else a row that was
 * found before they were truncated might be taken for another's.  False: the class is off.
 */
extern bool pfs_template_make(PfsSession *session, PfsTemplate *template, uint32_t class,
							  uint64_t query_id, uint32_t digest, uint32_t generation);

/*
 * Starts a statement at this time, in this parent or in none, by a template that is good now.  NULL when too
 * many are open.  The statement runs, but is not yet session->running.  silent: its class is off; it makes no record, and is
 * only there so that what it executes is known to be nested, and what ends it not to be another's.
 */
extern PfsStatement *pfs_statement_begin(PfsSession *session, const PfsTemplate *template, bool silent,
										 PfsStatement *parent, PfsTicks start);

/* The same by class; its query id and digest are not known.  NULL also when the class is off. */
extern PfsStatement *pfs_statement_open(PfsSession *session, uint32_t class, PfsTicks start);

/* Id of the next top-level statement, whose command is being worked on. */
extern uint64_t pfs_statement_promise(PfsSession *session);

/*
 * The statement's text, and the role it runs as, whose text it is; kept up to sql_text_length, length
 * being cut by the host at a character.
 */
extern void pfs_statement_text_set(PfsSession *session, PfsStatement *statement, uint32_t role,
								   const char *text, size_t length);

/*
 * The same of a text that many statements share, in the session's role: written only if *position, where it was
 * written last, does not have it any more.
 */
extern void pfs_statement_text_refer(PfsSession *session, PfsStatement *statement, const char *text,
									 uint32_t length, uint64_t *position);

/* Where its text stands, for pfs_statement_text_refer: it has one. */
extern uint64_t pfs_statement_text_position(const PfsSession *session, const PfsStatement *statement);

/*
 * May a statement that begins now have its text there?  It lasts for a history of longest texts, and until the
 * statement is summed.  As long as the session's key stays it is so, if it was once.
 */
static inline bool
pfs_statement_text_is_fresh(const PfsSession *session, uint64_t position)
{
	return (int64_t) (position - session->oldest_text) >= 0;
}

/* Its text is that of another open statement, whoever's text that is. */
extern void pfs_statement_text_share(PfsStatement *statement, const PfsStatement *of);

/* The routine it stands in, see names.h; 0 = none. */
static inline void
pfs_statement_routine_set(PfsStatement *statement, PfsRef routine)
{
	if (routine == 0)
		return;
	pfs_store(&statement->record->routine, routine);
	pfs_store(&statement->record->used, statement->record->used | PFS_RECORD_ROUTINE);
}

/* Bytes that are kept of it, and where they are: in the journal, until the next text is written there. */
extern const char *pfs_statement_text(const PfsSession *session, const PfsStatement *statement,
									  size_t *length);

/* The statement failed; its error message, cut by the host to PFS_MESSAGE_LENGTH; NULL = none. */
extern void pfs_statement_fail(PfsSession *session, PfsStatement *statement, uint32_t sqlstate,
							   const char *message, size_t length);

/* Shows the statement in events_statements_current, complete with text and digest. */
extern void pfs_statement_publish(PfsSession *session, PfsStatement *statement);

/* The statement makes no row, it is only summed up: called between open and publish. */
extern void pfs_statement_unlist(PfsStatement *statement);

/* Adds what has ended to the summaries, see summing.h. */
extern void pfs_statement_sum(PfsSession *session);

/* The class is now known.  False: that class is off, the statement was dropped. */
extern bool pfs_statement_refine(PfsSession *session, PfsStatement *statement, uint32_t class);

/* Counters that records do not keep have no place there. */
static inline void
pfs_statement_set(PfsStatement *statement, PfsCounter counter, uint64_t value)
{
	if (value != 0 && (int) counter < PFS_COUNTERS_KEPT)
	{
		pfs_store(&statement->record->counter[counter], value);
		pfs_store(&statement->record->used, (statement->record->used & ~pfs_one_bit(counter)) | 1u << counter);
	}
}

static inline void
pfs_statement_count(PfsStatement *statement, PfsCounter counter, uint64_t value)
{
	PfsStatementRecord *record = statement->record;
	uint32_t	used = record->used;

	if (value == 0 || (int) counter >= PFS_COUNTERS_KEPT)
		return;
	if (pfs_unlikely((used & 1u << counter) != 0))
		value += record->counter[counter];
	pfs_store(&record->counter[counter], value);
	pfs_store(&record->used, used | 1u << counter);
}

/* A suspended statement goes on, or goes off stage again. */
extern void pfs_statement_resume(PfsStatement *statement, PfsTicks now);
extern void pfs_statement_pause(PfsStatement *statement, PfsTicks now);

/*
 * It is complete, and goes on for the case that more is its own; then it turns out to have rested until now, or that it
 * ended.  That takes no look at the processor's time: who waits for his client uses none.
 */
static inline void
pfs_statement_complete(PfsStatement *statement, PfsTicks now)
{
	now = pfs_max(now, statement->since);
	statement->spent += now - statement->since;
	statement->since = statement->paused_at = now;
}

static inline void
pfs_statement_rested(PfsStatement *statement, PfsTicks now)
{
	statement->since = pfs_max(now, statement->paused_at);
}

static inline void
pfs_statement_was_complete(PfsStatement *statement)
{
	statement->since = 0;
}

/*
 * Processor time, where it is taken: from the begin on, and cpu_time of one that ends then.  In the plain way whoever begins or
 * ends it calls this (session->times_cpu), behind the begin and before the end.
 */
extern void pfs_statement_begin_cpu(const PfsSession *session, PfsStatement *statement);
extern PFS_COLD void pfs_statement_end_cpu(PfsSession *session, PfsStatement *statement, PfsTicks end);

/* What it has waited for is added to its digest's waits: when it ends, or just before.  It is none any more. */
extern void pfs_statement_hand_over_waits(PfsSession *session, PfsStatement *statement);

/* Ends the statement.  It ran until then, or if it does not run until it paused: returns when that was. */
extern PfsTicks pfs_statement_close(PfsSession *session, PfsStatement *statement, PfsTicks end);

/* Forgets the statement without counting it. */
extern void pfs_statement_drop(PfsSession *session, PfsStatement *statement);

/* Counts one event of a class that has no row of its own: protocol commands.  wait = 0: untimed. */
extern void pfs_statement_tally(PfsSession *session, uint32_t class, PfsTicks wait);

/*
 * The same for classes of which a session has an event with each statement (arena->answer_class, set by the
 * host at start): a plain increment in the thread's first line, or an addition in the thread if it is timed.
 * They move to their cells after PFS_ANSWERS_REST statements, when a switch changes, and when the thread ends.
 */
extern void pfs_answers_sum(PfsArena *arena, PfsThread *thread);

/* False: it is timed, and the caller's to add.  By what was wanted when pfs_wants was asked last. */
static inline bool
pfs_answer(PfsSession *session, uint32_t answer)
{
	if (pfs_unlikely(session->answers[answer] != PFS_ANSWER_COUNTED))
		return session->answers[answer] != PFS_ANSWER_TIMED;
	pfs_add(&session->thread->answered[answer], 1);
	return true;
}

static inline __attribute__((always_inline)) void
pfs_answer_timed(PfsSession *session, uint32_t answer, PfsTicks wait)
{
	PfsTimedAnswers *timed = &session->thread->timed_answers;

	pfs_seq_write_begin(&timed->seq);
	pfs_timer_stat_add(&timed->stat[answer], wait);
	pfs_seq_write_end(&timed->seq);
}

/* NULL: it is not wanted. */
extern PfsTransactionRecord *pfs_transaction_open(PfsSession *session, PfsTicks start);

/* The statement that opened the transaction is dropped: the transaction stands alone. */
extern void pfs_transaction_forget_parent(PfsSession *session, uint64_t event_id);

extern void pfs_transaction_close(PfsSession *session, PfsTransactionState outcome, PfsTicks end);

typedef enum PfsErrorEnd
{
	PFS_ERROR_RAISED,			/* it ended the client's statement */
	PFS_ERROR_HANDLED,
	PFS_ERROR_PASSED			/* raised after all: it was counted as handled, and no handler fitted */
} PfsErrorEnd;

/* Counts an error.  error: host's number below sizes.errors. */
extern void pfs_error_count(PfsSession *session, uint32_t error, PfsErrorEnd end, PfsTicks now);

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
