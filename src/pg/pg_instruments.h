/*
 * pg_instruments.h
 *		PostgreSQL's instruments: command tags, protocol commands, thread classes, error codes.
 */
#ifndef PFS_PG_INSTRUMENTS_H
#define PFS_PG_INSTRUMENTS_H

#include "core/registry.h"
#include "core/table.h"
#include "nodes/parsenodes.h"
#include "tcop/cmdtag.h"

/* Protocol commands and abstract classes, in the order of registration. */
typedef enum PfsPgClass
{
	PFS_PG_ABSTRACT_QUERY,		/* a statement whose command is not known yet */
	PFS_PG_SQL_ERROR,			/* a statement that failed before its command was known */
	PFS_PG_COM_QUERY,
	PFS_PG_COM_PARSE,
	PFS_PG_COM_BIND,
	PFS_PG_COM_EXECUTE,
	PFS_PG_COM_DESCRIBE,
	PFS_PG_COM_CLOSE,
	PFS_PG_COM_FUNCTION_CALL,
	PFS_PG_COM_COPY_DATA,
	PFS_PG_FIXED_CLASSES
} PfsPgClass;

/* Those that answer a message each, and come with each statement: see pfs_answer. */
typedef enum PfsPgAnswer
{
	PFS_PG_ANSWER_BIND,
	PFS_PG_ANSWER_EXECUTE,
	PFS_PG_ANSWER_DESCRIBE,
	PFS_PG_ANSWER_CLOSE,
	PFS_PG_ANSWER_QUERY			/* is timed */
} PfsPgAnswer;

/* Statement class of a command tag: the same numbers in every process. */
static inline uint32
pfs_pg_class_of_tag(CommandTag tag)
{
	return PFS_PG_FIXED_CLASSES + (uint32) tag;
}

/* That of an optimizable statement. */
extern uint32 pfs_pg_class_of_operation(CmdType operation);

/* That of a query as the parser or rewriter knows it. */
extern uint32 pfs_pg_class_of_query(const Query *query);

/* Thread classes, in the order of registration. */
typedef enum PfsPgThreadClass
{
	PFS_PG_THREAD_PARALLEL_WORKER,
	PFS_PG_THREAD_LOGICAL_WORKER,
	PFS_PG_THREAD_OTHER,
	PFS_PG_THREAD_FIRST_TYPE	/* then one for each BackendType */
} PfsPgThreadClass;

extern uint32 pfs_pg_thread_class_count(void);

/* Thread class of this process; of one of this BackendType (worker: type of a background worker). */
extern uint32 pfs_pg_thread_class(void);
extern uint32 pfs_pg_thread_class_of(uint32 type, const char *worker);

extern uint32 pfs_pg_parent_class(uint32 class);	/* see pfs_host_parent_class */

extern uint32 pfs_pg_instrument_count(void);
extern uint32 pfs_pg_statement_class_count(void);
extern uint32 pfs_pg_error_count(void);

/* Registers everything with a fresh arena.  Postmaster. */
extern void pfs_pg_register(PfsArena *arena);

/* Row of an SQLSTATE in the error summaries; unknown ones share the last row. */
extern uint32 pfs_pg_error_number(int sqlstate);

#endif							/* PFS_PG_INSTRUMENTS_H */
