/*
 * pg_error_log.h
 *		What goes to the server's log is kept for error_log.
 */
#ifndef PFS_PG_ERROR_LOG_H
#define PFS_PG_ERROR_LOG_H

#include "utils/elog.h"

/* When the arena is there: in the server's first process, before others can damage it. */
extern void pfs_pg_error_log_attach(void);

/* A message that will be written to the log, from emit_log_hook: allocates nothing, raises nothing. */
extern void pfs_pg_error_log_add(const ErrorData *edata);

#endif							/* PFS_PG_ERROR_LOG_H */
