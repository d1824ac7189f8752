/*
 * pg_command.c
 *		The client's command, see pg_command.h.
 */
#include "pg/pg_port.h"

#include "access/xact.h"
#include "pg/pg_arena.h"
#include "pg/pg_command.h"
#include "pg/pg_hooks.h"
#include "pg/pg_instruments.h"
#include "pg/pg_statement.h"
#include "utils/timestamp.h"

PFS_HOT_LINE(running) PfsPgCommand pfs_pg_command __attribute__((aligned(8))) = {0};	/* no gap before it */
PfsPgSource pfs_pg_analysed;

/* Owner: this process.  Pair of clock readings for pfs_pg_command_asked, and its last answer. */
static TimestampTz paired_time = 0;
static PfsTicks paired_ticks = 0;
static TimestampTz asked_time = 0;
static PfsTicks asked_ticks = 0;

/* --- when it came --- */

/*
 * The server's timestamp is wall-clock time in whole microseconds.  A pair of readings, at most a
 * second old, converts it, so that neither a step nor the slewing of the wall clock matters.
 */
static PfsTicks
ticks_of(TimestampTz arrived)
{
	int64		age = arrived - paired_time;
	double		ticks_per_us = (double) pfs_timer.frequency / 1e6;
	PfsTicks	ticks;

	if (paired_ticks == 0 || age < 0 || age > USECS_PER_SEC)
	{
		paired_time = GetCurrentTimestamp();
		paired_ticks = pfs_now();
		age = arrived - paired_time;
	}
	/* the timestamp was cut to microseconds: on average half a one was lost */
	ticks = paired_ticks + (int64) (((double) age + 0.5) * ticks_per_us);
	if (age < 0)
		ticks = Min(ticks, paired_ticks);
	return ticks;
}

PFS_COLD PfsTicks
pfs_pg_command_came_asked(void)
{
	TimestampTz arrived = GetCurrentStatementStartTimestamp();

	if (arrived != asked_time)
	{
		asked_time = arrived;
		asked_ticks = ticks_of(arrived);
	}
	return asked_ticks;
}

PFS_COLD PfsTicks
pfs_pg_command_asked(void)
{
	return pfs_pg_has_client ? Max(pfs_pg_command_came_asked(), pfs_pg_command.ended) : pfs_now();
}

PFS_HOT void
pfs_pg_command_received(PfsTicks now)
{
	PfsStatement *top = pfs_session.top;

	if (pfs_unlikely(top != NULL) && top->host_state == PFS_PG_SUSPENDED && pfs_pg_command.waits)
		pfs_pg_move(top, PFS_PG_RUNNING, now);
	else if (pfs_unlikely(top != NULL) && top->host_state == PFS_PG_COMPLETE)
		pfs_statement_rested(top, now);	/* until a message came that may ask for its commit */
	pfs_pg_command.waits = false;
	pfs_pg_command.since = pfs_pg_command.came = now;
	(void) pfs_session_decided(&pfs_session);	/* whether its answer is counted */
}

void
pfs_pg_command_waits(void)
{
	PfsStatement *top = pfs_session.top;

	if (top == NULL || pfs_session.running != NULL || top->host_state != PFS_PG_RUNNING)
		return;
	pfs_pg_move(top, PFS_PG_SUSPENDED, 0);
	pfs_pg_command.waits = true;
}

/* --- what is answered --- */

PFS_COLD void
pfs_pg_command_tally(uint32 class)
{
	PfsTicks	arrival = pfs_pg_command_came();
	PfsTicks	now = pfs_now();

	if (pfs_wants(&pfs_session, PFS_GATE_STATEMENTS))
		pfs_statement_tally(&pfs_session, class, now > arrival ? now - arrival : 1);
}

PFS_COLD PfsTicks
pfs_pg_answer_timed(PfsPgAnswer answer)
{
	PfsTicks	arrival = pfs_pg_command_came();
	PfsTicks	now = pfs_now();

	pfs_answer_timed(&pfs_session, answer, now > arrival ? now - arrival : 1);
	return now;
}

void
pfs_pg_command_tally_query(void)
{
	if (pfs_wants(&pfs_session, PFS_GATE_STATEMENTS))
		(void) pfs_pg_count_answer(PFS_PG_ANSWER_QUERY);
}
