/*
 * pg_prepared.h
 *		PREPARE, EXECUTE, DEALLOCATE and DISCARD: rows of prepared_statements_instances.
 *
 * The server keeps prepared statements in memory of its process, and no hook tells of them.  What commands make is followed by
 * the hook of utility statements; what the client makes by Parse is not, but a session can ask for its own.
 */
#ifndef PFS_PG_PREPARED_H
#define PFS_PG_PREPARED_H

#include "core/prepared.h"
#include "core/statement.h"
#include "nodes/nodes.h"

/* What is known of such a command while it is worked on. */
typedef struct PfsPgPreparing
{
	NodeTag		command;		/* T_Invalid = it is another one */
	PfsTicks	start;			/* of a PREPARE */
	uint32		serial;			/* of what an EXECUTE executes, 0 = it has no row */
	bool		again;			/* it must be analysed again */
	char		name[NAMEDATALEN];	/* empty = all of them */
} PfsPgPreparing;

extern void pfs_pg_prepared_install(void);

/* Before and after it; statement: that of the command, or NULL.  An error may come in between: then nothing has changed. */
extern void pfs_prepared_begin(PfsPgPreparing *preparing, const Node *utility, PfsStatement *statement);
extern void pfs_prepared_done(const PfsPgPreparing *preparing, const PfsStatement *statement);

/* How many rows this session has. */
extern uint32 pfs_prepared_rows;

/* The client has closed something: forgets what the server does not know any more. */
extern void pfs_prepared_look(void);

/* Serial number of what this statement is an execution of, or what it is nested in is; 0 = of nothing with a row. */
extern uint32 pfs_prepared_of(const PfsStatement *statement);

/* It has ended, as this record says. */
extern void pfs_prepared_ended(uint32 serial, bool executes, const PfsStatementRecord *record);

#endif							/* PFS_PG_PREPARED_H */
