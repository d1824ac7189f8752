/*
 * pg_host_cache.c
 *		Clients that are let in, and those that are refused, are counted for host_cache.
 *
 * A client that is refused gets a FATAL error before its process works normally, or nothing but a line in the log: both pass
 * emit_log_hook, if the server logs such (log_min_messages).
 */
#include "pg/pg_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "core/host_cache.h"
#include "libpq/hba.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_host_cache.h"
#include "pg/pg_statement.h"
#include "postmaster/postmaster.h"

void
pfs_pg_client_address(const Port *port, char *address, size_t size)
{
	const struct sockaddr_storage *client = &port->raddr.addr;
	const void *number = client->ss_family == AF_INET ? (const void *) &((const struct sockaddr_in *) client)->sin_addr
		: client->ss_family == AF_INET6 ? (const void *) &((const struct sockaddr_in6 *) client)->sin6_addr : NULL;

	/* allocates nothing: an error may be on its way */
	if (number == NULL || inet_ntop(client->ss_family, number, address, (socklen_t) size) == NULL)
		strlcpy(address, "[local]", size);
}

static PfsRefusal
reason_of(int sqlstate)
{
	switch (sqlstate)
	{
		case ERRCODE_INVALID_PASSWORD:
			return PFS_HOST_AUTHENTICATION;
		case ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION:
			/* pg_hba.conf refuses before any method is asked; who is no role, or none that may log in, is told afterwards */
			return ClientAuthInProgress && (MyProcPort->hba == NULL || MyProcPort->hba->auth_method <= uaImplicitReject)
				? PFS_HOST_ACL : PFS_HOST_AUTHENTICATION;
		case ERRCODE_TOO_MANY_CONNECTIONS:
			return PFS_HOST_MAX_CONNECTIONS;
		case ERRCODE_UNDEFINED_DATABASE:
		case ERRCODE_INSUFFICIENT_PRIVILEGE:
		case ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE:
			return PFS_HOST_DATABASE;
		case ERRCODE_PROTOCOL_VIOLATION:
		case ERRCODE_FEATURE_NOT_SUPPORTED:
			return PFS_HOST_HANDSHAKE;
		default:
			break;
	}
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_SYSTEM_ERROR:
			return PFS_HOST_LOCAL;
		case ERRCODE_CONNECTION_EXCEPTION:
			return PFS_HOST_HANDSHAKE;
		default:
			return PFS_HOST_UNKNOWN;
	}
}

void
pfs_pg_host_connected(const Port *port)
{
	char		address[PFS_HOST_ADDRESS];

	if (pfs_arena == NULL)
		return;
	pfs_pg_client_address(port, address, sizeof(address));
	pfs_host_connected(pfs_arena, address, port->remote_hostname, port->remote_hostname_resolv == 1, pfs_now());
}

void
pfs_pg_host_message(const ErrorData *edata)
{
	char		address[PFS_HOST_ADDRESS];

	if (MyProcPort == NULL || !IsInitProcessingMode() || !pfs_pg_arena_is_there() ||
		(edata->elevel < FATAL && edata->elevel != COMMERROR))
		return;
	pfs_pg_client_address(MyProcPort, address, sizeof(address));
	pfs_host_refused(pfs_arena, address,
					 edata->elevel == COMMERROR && MyProcPort->ssl_in_use ? PFS_HOST_SSL : reason_of(edata->sqlerrcode),
					 (uint32) edata->sqlerrcode, pfs_now());
}
