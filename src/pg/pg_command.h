/*
 * pg_command.h
 *		The client's command: when it came, what it executes, what was answered.  The one place that
 *		knows.
 *
 * A command is one message of the client's.  It comes when recv returns data and nothing of the client's
 * is being executed; where recv is not observed, the server's own timestamp tells.  What it executes is
 * the statement in pfs_session.top, which is NULL when that is not recorded.  Every message to the client
 * answers a command: CommandComplete is about what was executed last, whether that has a record or not.
 */
#ifndef PFS_PG_COMMAND_H
#define PFS_PG_COMMAND_H

#include "core/statement.h"
#include "nodes/parsenodes.h"
#include "pg/pg_hooks.h"
#include "pg/pg_instruments.h"

/* What a statement is, before it begins. */
typedef struct PfsPgSource
{
	const char *text;
	int			location;		/* of the statement in it, as the server tells; negative = not known */
	int			length;			/* 0 = all that follows */
	uint64		query_id;
	uint32		digest;			/* row, if the generation is right; else it is to be asked for */
	uint32		digest_generation;	/* 0 = no row */
	uint32		class;
	uint32		flags;			/* PFS_PG_* of pg_text.h */
	const Node *utility;		/* NULL = it is a query, or not known */
} PfsPgSource;

/* Owner: this process. */
typedef struct PfsPgCommand
{
	PfsTicks	ended;			/* when the last top-level statement did so; 0 = none yet */

	/* of one command: forgotten at once */
	PfsTicks	came;			/* when it came; 0 = not known ... */
	PfsTicks	since;			/* ... or when its last statement ended, or began to rest */
	bool		answered;		/* a simple query was, or it failed */
	bool		waits;			/* between Bind and Execute the server waits for its client */
	bool		analysed;		/* pfs_pg_analysed is what has not begun yet */
	bool		chains;			/* the block is to be ended, and another one begun */

	bool		block;			/* in a transaction block that the client has begun; a pipeline may be one to the server */
} PfsPgCommand;						/* and pfs_session.extended, of one command, too */

extern PfsPgCommand pfs_pg_command;
extern PfsPgSource pfs_pg_analysed;

/* When the command came, from the server's timestamp (+- 0.5 us): where recv does not tell. */
extern PfsTicks pfs_pg_command_asked(void);

/* Start of a top-level statement that begins now. */
static inline PfsTicks
pfs_pg_command_since(void)
{
	return pfs_likely(pfs_pg_command.since != 0) ? pfs_pg_command.since : pfs_pg_command_asked();
}

/* Data of the client has come, at this tick. */
extern void pfs_pg_command_received(PfsTicks now);

/* The server waits for data of its client: a portal that is bound and not executed yet rests meanwhile. */
extern void pfs_pg_command_waits(void);

/* A top-level statement has ended, or begins to rest: what comes next in the same batch starts there. */
static inline void
pfs_pg_command_time_spent(PfsTicks end)
{
	pfs_pg_command.ended = end;
	if (pfs_pg_command.since != 0)
		pfs_pg_command.since = end;
}

/* What parse analysis has told is void. */
static inline void
pfs_pg_command_forget_analysed(void)
{
	pfs_pg_command.analysed = false;
}

/* Counts a message whose class is timed, from when its command came. */
extern void pfs_pg_command_tally(uint32 class);

extern PfsTicks pfs_pg_command_came_asked(void);

/* When the message came that is worked on, whatever it has executed since. */
static inline PfsTicks
pfs_pg_command_came(void)
{
	return pfs_likely(pfs_pg_command.came != 0) ? pfs_pg_command.came : pfs_pg_command_came_asked();
}

/* The same of an answer.  The result is the present tick. */
extern PfsTicks pfs_pg_answer_timed(PfsPgAnswer answer);

/* Does it take no call? */
static inline bool
pfs_pg_answer_is_near(void)
{
	return pfs_likely(pfs_pg_command.came != 0) && pfs_now_is_near();
}

/* If so. */
static pg_attribute_always_inline PfsTicks
pfs_pg_answer_timed_near(PfsPgAnswer answer)
{
	PfsTicks	arrival = pfs_pg_command.came;
	PfsTicks	now = pfs_now_near();

	pfs_answer_timed(&pfs_session, answer, pfs_likely(now > arrival) ? now - arrival : 1);
	return now;
}

/* Counts an answer, which is timed only if somebody wants that.  The present tick if it was read, else 0. */
static inline PfsTicks
pfs_pg_count_answer(PfsPgAnswer answer)
{
	return pfs_likely(pfs_answer(&pfs_session, answer)) ? 0 : pfs_pg_answer_timed(answer);
}

/* Is a RowDescription, or NoData, the answer to Describe?  Not if it begins a result. */
static inline bool
pfs_pg_command_is_described(void)
{
	return pfs_session.extended && pfs_session.running == NULL;
}

/*
 * A message of this type goes to the client: it is counted as the answer to its command.  Before
 * anything else happens to the statement.  Every response of the extended protocol belongs to one command:
 * ParseComplete to Parse, and so on.  RowDescription and NoData answer Describe, unless they begin the result
 * of a simple query or of what is being executed; that of a statement is announced by ParameterDescription.
 * The result is the present tick if it was read for CommandComplete, else 0.
 *
 * Called with constants: only what is about them is compiled.
 */
static pg_attribute_always_inline PfsTicks
pfs_pg_command_answered(char type)
{
	PfsTicks	now = 0;

	switch (type)
	{
		case '2':				/* BindComplete */
			pfs_session.extended = true;
			pfs_pg_count_answer(PFS_PG_ANSWER_BIND);
			break;
		case 'T':				/* RowDescription */
		case 'n':				/* NoData */
			if (pfs_pg_command_is_described())
				pfs_pg_count_answer(PFS_PG_ANSWER_DESCRIBE);
			break;
		case 'I':				/* EmptyQueryResponse */
		case 'C':				/* CommandComplete */
			if (pfs_likely(pfs_session.extended))
				now = pfs_pg_count_answer(PFS_PG_ANSWER_EXECUTE);
			else
				pfs_pg_command.answered = true;
			break;
		case '1':				/* ParseComplete */
			pfs_session.extended = true;
			pfs_pg_command_tally(PFS_PG_COM_PARSE);
			break;
		case '3':				/* CloseComplete */
			pfs_session.extended = true;
			pfs_pg_count_answer(PFS_PG_ANSWER_CLOSE);
			break;
		case 't':				/* ParameterDescription */
			pfs_session.extended = true;
			break;
		case 's':				/* PortalSuspended */
			pfs_session.extended = true;
			pfs_pg_count_answer(PFS_PG_ANSWER_EXECUTE);
			break;
		case 'V':				/* FunctionCallResponse */
			pfs_session.extended = true;
			pfs_pg_command_tally(PFS_PG_COM_FUNCTION_CALL);
			break;
		case 'G':				/* CopyInResponse */
		case 'H':				/* CopyOutResponse */
			pfs_pg_command_tally(PFS_PG_COM_COPY_DATA);
			break;
		case 'E':				/* ErrorResponse */
			pfs_pg_command.answered = true;
			break;
		default:
			break;
	}
	return now;
}

/* Is it a simple query, which is counted when all of it has been answered? */
static inline bool
pfs_pg_command_is_query(void)
{
	return !pfs_session.extended && pfs_pg_command.answered;
}

extern void pfs_pg_command_tally_query(void);

/* The client is told that it may send the next command. */
static inline void
pfs_pg_command_ready(void)
{
	memset((char *) &pfs_pg_command + offsetof(PfsPgCommand, came), 0,
		   offsetof(PfsPgCommand, block) - offsetof(PfsPgCommand, came));
}

#endif							/* PFS_PG_COMMAND_H */
