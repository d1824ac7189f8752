/*
 * table_host_cache.c
 *		host_cache: where clients came from, and why they were refused.
 */
#include "core/table_internal.h"

#include "core/host_cache.h"

typedef struct HostRow
{
	PfsClientHost host;
	PfsText		address;
	PfsText		name;
	uint64_t	connect_errors;
} HostRow;

#define ERRORS(reason) offsetof(HostRow, host.errors) + (reason) * sizeof(uint64_t)

static const PfsColumn host_cache_columns[] = {
	{"ip", "Address of the client; [local] for Unix sockets", PFS_COLUMN_TEXT, offsetof(HostRow, address), PFS_COLUMN_KEY},
	{"host", "Its name, where the server has looked it up (log_hostname, a name in pg_hba.conf)", PFS_COLUMN_TEXT,
	offsetof(HostRow, name), 0},
	{"host_validated", "YES: the name leads back to the address", PFS_COLUMN_YES_NO, offsetof(HostRow, host.validated), 0},
	{"sum_connect_errors", "Clients that did not come as far as their authentication", PFS_COLUMN_U64,
	offsetof(HostRow, connect_errors), 0},
	{"count_host_acl_errors", "Refused by pg_hba.conf: a line that rejects, or none", PFS_COLUMN_U64, ERRORS(PFS_HOST_ACL), 0},
	{"count_handshake_errors", "No start-up packet, or a broken one", PFS_COLUMN_U64, ERRORS(PFS_HOST_HANDSHAKE), 0},
	{"count_authentication_errors", "Wrong password, or refused by another method; no such role", PFS_COLUMN_U64,
	ERRORS(PFS_HOST_AUTHENTICATION), 0},
	{"count_ssl_errors", "TLS could not be agreed upon", PFS_COLUMN_U64, ERRORS(PFS_HOST_SSL), 0},
	{"count_max_user_connections_errors", "Too many connections: of the server, the database, the role", PFS_COLUMN_U64,
	ERRORS(PFS_HOST_MAX_CONNECTIONS), 0},
	{"count_default_database_errors", "No such database, or none that may be used", PFS_COLUMN_U64,
	ERRORS(PFS_HOST_DATABASE), 0},
	{"count_local_errors", "The server was starting, stopping, or lacked something", PFS_COLUMN_U64, ERRORS(PFS_HOST_LOCAL), 0},
	{"count_unknown_errors", "All others", PFS_COLUMN_U64, ERRORS(PFS_HOST_UNKNOWN), 0},
	{"first_seen", "First connection, or attempt at one", PFS_COLUMN_WHEN, offsetof(HostRow, host.first_seen), 0},
	{"last_seen", "Last one", PFS_COLUMN_WHEN, offsetof(HostRow, host.last_seen), 0},
	{"first_error_seen", "First attempt that failed", PFS_COLUMN_WHEN, offsetof(HostRow, host.first_error), 0},
	{"last_error_seen", "Last one", PFS_COLUMN_WHEN, offsetof(HostRow, host.last_error), 0},
	{"count_connections", "Clients that were authenticated; not in MySQL", PFS_COLUMN_U64, offsetof(HostRow, host.connections), 0},
	{"last_error_sqlstate", "SQLSTATE of the last attempt that failed; not in MySQL", PFS_COLUMN_SQLSTATE,
	offsetof(HostRow, host.last_sqlstate), 0},
};
PFS_GROUP(host_cache_group, host_cache_columns);

static void
host_cache_scan(PfsScan *scan)
{
	for (uint32_t i = 0; i < scan->arena->sizes.hosts && scan->sees_all; i++)
	{
		PfsClientHost *host = pfs_client_host(scan->arena, i);
		HostRow		row;
		const void *parts[] = {&row};

		uint32_t	use = pfs_load_acquire(&host->use);

		if ((use & 1) == 0)
			continue;
		memset(&row, 0, sizeof(row));
		pfs_copy_words(&row.host, host, sizeof(row.host));
		pfs_fence();
		if (pfs_load(&host->use) != use)
			continue;			/* it is another host's by now */
		row.host.validated = row.host.validated != 0;
		row.address = (PfsText) {row.host.address, strnlen(row.host.address, PFS_HOST_ADDRESS), -1};
		row.name = (PfsText) {row.host.name[0] != '\0' ? row.host.name : NULL, strnlen(row.host.name, PFS_HOST_NAME), -1};
		row.connect_errors = row.host.errors[PFS_HOST_HANDSHAKE] + row.host.errors[PFS_HOST_SSL];
		scan->emit(scan, parts);
	}
}

static bool
host_cache_reset(PfsArena *arena, const PfsTable *table)
{
	return table != NULL && pfs_host_cache_reset(arena);
}

const PfsTable pfs_table_host_cache = {
	.name = "host_cache",
	.doc = "Hosts from which clients came, and why they were refused; for pg_read_all_stats; TRUNCATE forgets them",
	.groups = {&host_cache_group},.scan = host_cache_scan,.reset = host_cache_reset,
};
