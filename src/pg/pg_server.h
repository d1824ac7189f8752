/*
 * pg_server.h
 *		Where the server keeps what each statement looks at.
 *
 * Side by side, in one line of memory, and a second one for what each transaction looks at: by the linker's table
 * each of these addresses takes a line of its own.
 */
#ifndef PFS_PG_SERVER_H
#define PFS_PG_SERVER_H

#include "pg/pg_port.h"

#include "access/transam.h"
#include "libpq/libpq.h"
#include "pg/pg_compat.h"

typedef struct PfsPgServer
{
	const PQcommMethods **methods;	/* PqCommMethods */
	const PQcommMethods *protocol;	/* what stood there, which ours calls; NULL = this process has no client.  By pg_protocol.c */
	ErrorContextCallback **errors;	/* error_context_stack */
	char	  **search_path;	/* namespace_search_path */
	int64	   *temporary_blocks;	/* pgBufferUsage.temp_blks_written */
	Oid			(*user) (void); /* GetUserId */
	struct PortalData **portal; /* ActivePortal; of a process without a client nobody's */
	const char *schema_path;	/* what the present schema was taken from; NULL = to be asked for.  By pg_backend.c */

	bool	   *read_only;		/* XactReadOnly */
	int		   *isolation;		/* XactIsoLevel */
	bool		(*in_block) (void); /* IsTransactionBlock */
	char	  **program;		/* application_name */
	bool		(*in_transaction) (void);	/* IsTransactionState */
	FullTransactionId (*transaction_id) (void); /* GetTopFullTransactionIdIfAny */
	const char **query_text;	/* debug_query_string */
	const char *program_seen;	/* value of the program's name that its threads show.  By pg_backend.c */
} PfsPgServer;

/* Written when the library is loaded, by pfs_pg_backend_install; inherited by fork.  The first line is read by each statement. */
extern PfsPgServer pfs_pg_server;

#endif							/* PFS_PG_SERVER_H */
