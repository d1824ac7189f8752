/*
 * pg_protocol.h
 *		Our table of protocol functions: in front of the server's, or aside.
 */
#ifndef PFS_PG_PROTOCOL_H
#define PFS_PG_PROTOCOL_H

#include "pg/pg_hooks.h"
#include "pg/pg_server.h"

extern PQcommMethods pfs_pg_our_methods;

/* Does our table stand where the server takes it from? */
static inline bool
pfs_pg_protocol_stands(void)
{
	return *pfs_pg_server.methods == &pfs_pg_our_methods;
}

/* The executor is about to run: rows need not pass us.  Ours stands there. */
static inline void
pfs_pg_protocol_step_aside(void)
{
	*pfs_pg_server.methods = pfs_pg_server.protocol;
}

/* False: another table stands there. */
static inline bool
pfs_pg_protocol_aside(void)
{
	if (pfs_unlikely(!pfs_pg_protocol_stands()))
		return false;
	pfs_pg_protocol_step_aside();
	return true;
}

/* It has run. */
static inline void
pfs_pg_protocol_return(void)
{
	const PQcommMethods *ours = &pfs_pg_our_methods;

	pfs_keep(ours);				/* no register while it runs */
	if (pfs_likely(*pfs_pg_server.methods == pfs_pg_server.protocol))
		*pfs_pg_server.methods = ours;
}

/* Something else than rows may be sent.  Does nothing if our table is there, or one that is not the server's. */
static inline void
pfs_pg_protocol_back(void)
{
	if (pfs_pg_server.protocol != NULL && *pfs_pg_server.methods == pfs_pg_server.protocol &&
		!pfs_pg_entry.protocol_is_out)
		*pfs_pg_server.methods = &pfs_pg_our_methods;
}

#endif							/* PFS_PG_PROTOCOL_H */
