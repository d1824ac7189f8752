/*
 * pg_backend.c
 *		This process as a thread: attach, detach, names, the arrival time of a message.
 */
#include "pg/pg_port.h"

#include <errno.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/dbcommands.h"
#include "common/ip.h"
#include "core/names.h"
#include "executor/instrument.h"
#include "libpq/auth.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_host_cache.h"
#include "pg/pg_instruments.h"
#include "pg/pg_metrics.h"
#include "pg/pg_statement.h"
#include "pg/pg_wait.h"
#include "pg/relation/known.h"
#include "postmaster/autovacuum.h"
#include "replication/walsender.h"
#include "storage/ipc.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

PfsSession	pfs_session;
PFS_HOT_DATA bool pfs_pg_ready = false;
static const uint32 not_known = UINT32_MAX;
PfsPgEntry	pfs_pg_entry = {.gate = &not_known};
PFS_HOT_DATA PFS_ALIGNED PfsPgServer pfs_pg_server = {0};
PFS_HOT_DATA bool pfs_pg_has_client = false;
static Portal no_portal = NULL;

static ClientAuthentication_hook_type prev_ClientAuthentication_hook = NULL;
static fmgr_hook_type prev_fmgr_hook = NULL;

/* Owner: this process; of the last attach attempt, so that a child does not inherit the answer. */
static int	refused_pid = 0;

static void
pfs_pg_detach(int code, Datum arg)
{
	PfsThread  *thread = pfs_session.thread;

	if (thread == NULL)
		return;
	pfs_pg_set_top(NULL);
	pfs_pg_forget_level(0, 0, NULL);
	pfs_pg_wait_detach();
	pfs_pg_protocol_detach();
	pfs_session.thread = NULL;
	pfs_session.plain = 0;
	pfs_pg_entry.gate = &not_known;
	refused_pid = MyProcPid;
	pfs_thread_detach(pfs_session.arena, thread, &pfs_session.statements_long);
}

#define CONNECTION_NONE 0
#define CONNECTION_SOCKET 1
#define CONNECTION_TCP 2
#define CONNECTION_SSL 3

static const char *
connection_type_name(unsigned type)
{
	static const char *const names[] = {NULL, "Socket", "TCP/IP", "SSL/TLS"};

	return type < lengthof(names) ? names[type] : NULL;
}

static const char *
isolation_name(unsigned isolation)
{
	static const char *const names[] = {"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ",
	"SERIALIZABLE"};

	return isolation < lengthof(names) ? names[isolation] : NULL;
}

static void
describe_client(Port *port, PfsThreadInfo *info, char *host, size_t size)
{
	info->user = port->user_name;
	info->database = port->database_name;
	info->program = port->application_name;
	info->connection_type = port->ssl_in_use ? CONNECTION_SSL
		: port->raddr.addr.ss_family == AF_UNIX ? CONNECTION_SOCKET : CONNECTION_TCP;
	pfs_pg_client_address(port, host, size);
	info->host = host;
}

/* The process must have a PGPROC. */
static bool
can_attach(void)
{
	return pfs_arena != NULL && refused_pid != MyProcPid && MyProc != NULL && IsUnderPostmaster &&
		!proc_exit_inprogress;
}

/* One row of socket_instances. */
static void
describe_socket(PfsSocket *socket, const char *address)
{
	char		port[NI_MAXSERV] = "0";

	if (MyProcPort->raddr.addr.ss_family != AF_UNIX)
		pg_getnameinfo_all(&MyProcPort->raddr.addr, MyProcPort->raddr.salen, NULL, 0, port,
						   sizeof(port), NI_NUMERICSERV);
	pfs_zero_words(socket, sizeof(*socket));
	socket->fd = (int32) MyProcPort->sock;
	socket->epoch = pfs_load_acquire(&pfs_arena->reset_now);
	socket->port = (uint16) atoi(port);
	strlcpy(socket->address, address, sizeof(socket->address));
	pfs_store_release(&socket->used, 1);
}

/*
 * patient: may sleep for the roll-up lock and allocate.  A call of a signal handler in the middle must
 * not attach once more.
 */
static bool
attach(bool patient)
{
	static bool attaching = false;
	PfsThreadInfo info = {0};
	char		host[NI_MAXHOST];

	pfs_session.arena = pfs_arena;
	memset(pfs_session.hot, 0, sizeof(pfs_session.hot));
	pfs_session.decided = pfs_session.plain = 0;
	pfs_session.free = pfs_session.newest = NULL;
	memset(&pfs_session.rows, 0, sizeof(pfs_session.rows));
	info.hurried = !patient;
	info.pid = (uint32) MyProcPid;
	info.class = pfs_pg_thread_class();
	info.database_id = MyDatabaseId;
	info.encoding = GetDatabaseEncoding();
	pfs_pg_has_client = MyProcPort != NULL;
	pfs_pg_server.portal = pfs_pg_has_client ? &ActivePortal : &no_portal;
	if (MyProcPort != NULL)
		describe_client(MyProcPort, &info, host, sizeof(host));
	if (attaching)
		return false;
	attaching = true;
	pfs_session.thread = pfs_thread_attach(pfs_arena, pfs_pg_process_number(), &info);
	attaching = false;
	if (pfs_session.thread == NULL)
		return false;
	on_shmem_exit(pfs_pg_detach, (Datum) 0);
	if (PFS_BUILT_WAITS && MyProcPort != NULL)
		describe_socket(&pfs_session.thread->socket, host);
	pfs_pg_wait_attach();
	return true;
}

/* What needs memory of the server's. */
static void
attach_hooks(void)
{
	pfs_pg_error_attach();
	pfs_pg_protocol_attach();
	pfs_pg_routine_attach();
	pfs_known_attach();
}

bool
pfs_pg_attach(void)
{
	if (pfs_session.thread == NULL)
	{
		if (!can_attach())
			return false;
		if (!attach(true))
		{
			refused_pid = MyProcPid;
			return false;
		}
	}
	if (pfs_pg_ready)
		return true;
	attach_hooks();
	pfs_pg_ready = true;
	pfs_session.may_be_plain = !IsParallelWorker();
	pfs_session.decided = 0;
	pfs_pg_entry.gate = &pfs_arena->gate;
	if (IsParallelWorker() && pfs_session.thread->parent_thread_id == 0 &&
		MyProc->lockGroupLeader != NULL)
		pfs_thread_set_leader(pfs_arena, pfs_session.thread, (uint32) MyProc->lockGroupLeader->pid);
	return true;
}

#define CALLS_BETWEEN_ATTEMPTS 64

/*
 * From inside a libc call: no sleep, no allocation.  Sessions with a client are attached when they
 * are authenticated; the others, auxiliary processes among them, here.
 */
bool
pfs_pg_attach_in_call(void)
{
	static uint32 attempts = 0;
	int			saved_errno = errno;
	bool		attached;

	if (!can_attach() || MyProcPort != NULL || MyBackendType == B_INVALID ||
		(pfs_load(&pfs_arena->gate) & PFS_GATE_CALLS) == 0 ||
		attempts++ % CALLS_BETWEEN_ATTEMPTS != 0)
		return false;
	attached = attach(false);
	errno = saved_errno;
	return attached;
}

/* Database and encoding are known only after authentication: completed by the first statement. */
static void
complete_identity(void)
{
	char	   *name = pfs_session.thread->database == 0 ? get_database_name(MyDatabaseId) : NULL;
	PfsRef		database = name != NULL ? pfs_name(pfs_arena, name, strlen(name)) : 0;

	pfs_session_identity(&pfs_session, database, MyDatabaseId, GetDatabaseEncoding());
	if (name != NULL)
		pfree(name);
}

/* The name can change at any time; the variable then points elsewhere. */
static PFS_COLD void
refresh_program(void)
{
	const char *program = *pfs_pg_server.program;

	if (pfs_session_program(&pfs_session, program,
							pfs_pg_clip(program, strlen(program), sizeof(pfs_session.thread->program) - 1)))
		pfs_pg_server.program_seen = program;
}

static void
forget_schema(Datum arg, int cacheid, uint32 hashvalue)
{
	pfs_pg_server.schema_path = NULL;
}

static void
register_invalidation(void)
{
	static int	registered_pid = 0;

	if (registered_pid == MyProcPid)
		return;
	CacheRegisterSyscacheCallback(NAMESPACEOID, forget_schema, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, forget_schema, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, forget_schema, (Datum) 0);
	registered_pid = MyProcPid;
}

/* The name of the session's schema: does not give way as long as it is that. */
static PfsRef
hold_schema(const char *name)
{
	PfsRef		ref = 0;

	for (int tries = 0; tries < 3 && name != NULL; tries++)
	{
		ref = pfs_passing_name(pfs_arena, name, strlen(name));
		pfs_store(&pfs_session.thread->schema, ref);
		pfs_fence();			/* pairs with the lock of who looks for a name to give way */
		if (ref == 0 || pfs_name_is_alive(pfs_arena, ref))
			break;
	}
	return ref;
}

/* Where an old temporary schema is taken over, no catalog changes and nobody is told. */
static bool
may_change_unseen(const PfsPgSearchPath *path)
{
	return strstr(namespace_search_path, "pg_temp") != NULL &&
		(path->schemas == NIL || !isTempNamespace(linitial_oid(path->schemas)));
}

static pg_noinline void
refresh_identity(void)
{
	PfsPgSearchPath *path;
	char	   *name = NULL;

	pfs_session_advance(&pfs_session);
	pfs_session.role = GetUserId();
	if (!IsTransactionState())
		return;
	register_invalidation();
	if (pfs_session.thread->database_id != MyDatabaseId || pfs_session.thread->database == 0)
		complete_identity();
	path = pfs_pg_search_path();
	if (path->schemas != NIL)
		name = get_namespace_name(linitial_oid(path->schemas));
	pfs_session.schema = hold_schema(name);
	pfs_pg_server.schema_path = may_change_unseen(path) ? NULL : namespace_search_path;
	list_free(path->schemas);
	pfree(path);
	if (name != NULL)
		pfree(name);
}

PFS_HOT void
pfs_pg_refresh_identity(void)
{
	if (pfs_unlikely(pfs_pg_identity_changed()))
		refresh_identity();
}

void
pfs_pg_refresh_program(void)
{
	if (pfs_unlikely(*pfs_pg_server.program != pfs_pg_server.program_seen) && *pfs_pg_server.program != NULL)
		refresh_program();
}

size_t
pfs_pg_clip(const char *text, size_t length, size_t limit)
{
	return length <= limit ? length : (size_t) pg_mbcliplen(text, (int) Min(length, (size_t) PG_INT32_MAX),
														   (int) limit);
}

/*
 * A function with a setting of its own ends.  If that was the search path its value is given back, and the next one may
 * stand at the same address.
 */
static void
pfs_hook_fmgr(FmgrHookEventType event, FmgrInfo *flinfo, Datum *private)
{
	if (event == FHET_ABORT || (event == FHET_END && pfs_pg_server.schema_path != *pfs_pg_server.search_path))
		pfs_pg_server.schema_path = NULL;
	if (prev_fmgr_hook)
		prev_fmgr_hook(event, flinfo, private);
}

static void
pfs_hook_ClientAuthentication(Port *port, int status)
{
	if (prev_ClientAuthentication_hook)
		prev_ClientAuthentication_hook(port, status);
	if (status == STATUS_OK)
	{
		pfs_pg_host_connected(port);
		pfs_pg_attach();
		pfs_pg_metrics_begin();
	}
}

void
pfs_pg_backend_install(void)
{
	pfs_pg_server = (PfsPgServer)
	{
		.methods = &PqCommMethods,.errors = &error_context_stack,.search_path = &namespace_search_path,
			.temporary_blocks = &pgBufferUsage.temp_blks_written,.user = GetUserId,.in_block = IsTransactionBlock,
			.portal = &no_portal,.read_only = &XactReadOnly,.isolation = &XactIsoLevel,
			.program = &application_name,.in_transaction = IsTransactionState,
			.transaction_id = GetTopFullTransactionIdIfAny,.query_text = &debug_query_string
	};
	prev_fmgr_hook = fmgr_hook;
	fmgr_hook = pfs_hook_fmgr;
	prev_ClientAuthentication_hook = ClientAuthentication_hook;
	ClientAuthentication_hook = pfs_hook_ClientAuthentication;
	pfs_host_isolation_name = isolation_name;
	pfs_host_connection_type = connection_type_name;
	pfs_host_parent_class = pfs_pg_parent_class;
}
