/*
 * pg_host_cache.h
 *		Clients that are let in, and those that are refused, are counted for host_cache.
 */
#ifndef PFS_PG_HOST_CACHE_H
#define PFS_PG_HOST_CACHE_H

#include "utils/elog.h"

struct Port;

/* Its numeric address; "[local]" for Unix sockets, as in pg_stat_activity's log lines. */
extern void pfs_pg_client_address(const struct Port *port, char *address, size_t size);

/* A client has been authenticated. */
extern void pfs_pg_host_connected(const struct Port *port);

/* A message of a process that is about to refuse its client; others are left alone.  From emit_log_hook: raises nothing. */
extern void pfs_pg_host_message(const ErrorData *edata);

#endif							/* PFS_PG_HOST_CACHE_H */
