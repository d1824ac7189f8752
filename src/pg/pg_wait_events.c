/*
 * pg_wait_events.c
 *		Instruments of waits: the server's wait events, its LWLock tranches, and a few of our own.
 *
 * The server is asked for the names of all codes, so every major brings its own.  What extensions
 * register later (tranches, wait events) becomes an instrument when it is first met.
 */
#include "postgres.h"

#include "core/rollup.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_guc.h"
#include "pg/pg_wait.h"
#include "utils/wait_event.h"

#define BUFFER_PIN 0x04000000U	/* PG_WAIT_BUFFER_PIN, PG_WAIT_BUFFERPIN from 17 */
#define CODES_OF_A_CLASS 256
#define LATER_WAITS 64			/* room for what extensions bring */

/* MySQL's defaults where it has the class; what it has not is off. */
static const struct
{
	uint32		code;
	const char *path;
	const char *what;
	PfsWaitKind kind;
	bool		enabled;
}			classes[] = {
	{PG_WAIT_LWLOCK, "wait/synch/lwlock/postgres/", "Lightweight lock that was not free", PFS_WAIT_LWLOCK, false},
	{PG_WAIT_LOCK, "wait/lock/heavyweight/", "Heavyweight lock that was not free", PFS_WAIT_LOCK, true},
	{BUFFER_PIN, "wait/synch/buffer/postgres/", "Pin on a buffer that others hold", PFS_WAIT_PLAIN, false},
	{PG_WAIT_ACTIVITY, "wait/activity/postgres/", "Background process without work", PFS_WAIT_PLAIN, false},
	{PG_WAIT_CLIENT, "wait/io/socket/postgres/", "Connection", PFS_WAIT_SOCKET, false},
	{PG_WAIT_EXTENSION, "wait/extension/", "Extension", PFS_WAIT_PLAIN, false},
	{PG_WAIT_IPC, "wait/ipc/postgres/", "Another server process", PFS_WAIT_PLAIN, false},
	{PG_WAIT_TIMEOUT, "wait/timeout/postgres/", "Time that has to pass", PFS_WAIT_PLAIN, false},
	{PG_WAIT_IO, "wait/io/file/postgres/", "File", PFS_WAIT_FILE, true},
};

static const struct
{
	const char *name;
	const char *doc;
	PfsWaitKind kind;
	bool		enabled;
}			own_waits[PFS_PG_OWN_WAITS] = {
	[PFS_PG_WAIT_TABLE] = {"wait/io/table/sql/handler", "Rows of tables fetched, inserted, updated, deleted; contains other waits", PFS_WAIT_TABLE, true},
	[PFS_PG_WAIT_IDLE] = {"idle", "Session waits for its client's next command", PFS_WAIT_IDLE, true},
	[PFS_PG_WAIT_DATA_FILE] = {"wait/io/file/postgres/data_file", "File of a relation: calls without a wait event of the server", PFS_WAIT_FILE, true},
	[PFS_PG_WAIT_WAL_FILE] = {"wait/io/file/postgres/wal_file", "Write-ahead log: calls without a wait event", PFS_WAIT_FILE, true},
	[PFS_PG_WAIT_TEMPORARY_FILE] = {"wait/io/file/postgres/temporary_file", "Temporary file: calls without a wait event", PFS_WAIT_FILE, true},
	[PFS_PG_WAIT_OTHER_FILE] = {"wait/io/file/postgres/other_file", "Any other file: calls without a wait event", PFS_WAIT_FILE, true},
	[PFS_PG_WAIT_CLIENT_SOCKET] = {"wait/io/socket/postgres/client_connection", "Client connection: calls that do not wait", PFS_WAIT_SOCKET, false},
	[PFS_PG_WAIT_OTHER_SOCKET] = {"wait/io/socket/postgres/other_socket", "Any other socket: calls without a wait event", PFS_WAIT_SOCKET, false},
	[PFS_PG_WAIT_UNATTRIBUTED] = {"wait/other/postgres/unattributed", "Blocking call without a wait event or descriptor", PFS_WAIT_PLAIN, false},
};

/* Events that were met without a name, until a safe point: wait number and code. */
static uint32 nameless_wait = 0;	/* while pfs_session.nameless ... */
static uint32 nameless_code = 0;	/* ... whose name will be asked for: an extension's */

static const char *
event_name(uint32 code)
{
	/* an event that an extension has named wants a lock to tell: only the first has a fixed name */
	if ((code & 0xFF000000) == PG_WAIT_EXTENSION && (code & 0xFFFF) != 0)
		return NULL;
	/* before 17 its only event has all numbers */
	if ((code & 0xFF000000) == BUFFER_PIN && (code & 0xFFFF) != 0)
		return NULL;
	return pgstat_get_wait_event(code);
}

static bool
is_name(const char *name)
{
	return name != NULL && name[0] != '<' && name[0] != '?' && strcmp(name, "extension") != 0 &&
		strncmp(name, "unknown", 7) != 0;
}

/* Ends of the lists differ: a hole in the numbers of LWLocks is none. */
static uint32
codes_of(size_t class)
{
	uint32		last = 0;

	for (uint32 id = 0; id < CODES_OF_A_CLASS; id++)
		if (is_name(event_name(classes[class].code | id)))
			last = id + 1;
	return last;
}

uint32
pfs_pg_wait_count(void)
{
	uint32		count = PFS_PG_OWN_WAITS + LATER_WAITS;

	if (!PFS_BUILT_WAITS)
		return 0;
	for (size_t class = 0; class < lengthof(classes); class++)
		count += codes_of(class);
	return count;
}

static uint32
register_code(PfsArena *arena, size_t class, uint32 code, const char *name)
{
	char		path[PFS_NAME_LENGTH];
	char		doc[PFS_DOC_LENGTH];

	snprintf(path, sizeof(path), "%s%s", classes[class].path, name);
	snprintf(doc, sizeof(doc), "%s: wait event %s", classes[class].what, name);
	return pfs_register_wait(arena, classes[class].kind, path, doc, code, classes[class].enabled);
}

void
pfs_pg_register_waits(PfsArena *arena)
{
	if (!PFS_BUILT_WAITS)
		return;
	arena->waits_sampled = pfs_pg_waits_sampled;
	for (int i = 0; i < PFS_PG_OWN_WAITS; i++)
		pfs_register_wait(arena, own_waits[i].kind, own_waits[i].name, own_waits[i].doc, 0,
						  own_waits[i].enabled);
	for (size_t class = 0; class < lengthof(classes); class++)
		for (uint32 id = 0; id < CODES_OF_A_CLASS; id++)
		{
			const char *name = event_name(classes[class].code | id);

			if (is_name(name))
				register_code(arena, class, classes[class].code | id, name);
		}
}

/* First sight of a code: it may be an extension's, or another process has registered it already. */
static uint32
register_later(uint32 code)
{
	uint32		wait = UINT32_MAX;
	const char *name = event_name(code);
	char		number[32];
	size_t		class = 0;

	while (class < lengthof(classes) && classes[class].code != (code & 0xFF000000))
		class++;
	if (class == lengthof(classes) || !pfs_rollup_lock(pfs_arena, false))
		return UINT32_MAX;
	wait = pfs_wait_of_code(pfs_arena, code);
	if (wait == UINT32_MAX)
	{
		if (!is_name(name))
		{
			snprintf(number, sizeof(number), "event_%u", code & 0xFFFF);
			name = number;
		}
		wait = register_code(pfs_arena, class, code, name);
		if (wait != UINT32_MAX)
			pfs_guc_apply_later(pfs_arena, pfs_wait_instrument(pfs_arena, wait));
		if (name == number)
		{
			nameless_wait = wait;
			nameless_code = code;
			pfs_session.nameless = true;
		}
	}
	pfs_rollup_unlock(pfs_arena);
	return wait;
}

uint32
pfs_pg_wait_of_code(uint32 code)
{
	uint32		wait = pfs_wait_of_code(pfs_arena, code);

	if (pfs_likely(wait != UINT32_MAX))
		return wait;
	return (code & 0xFFFF) < CODES_OF_A_CLASS ? register_later(code) : UINT32_MAX;
}

void
pfs_pg_name_waits(void)
{
	PfsInstrument *instrument;
	const char *name;

	if (pfs_likely(!pfs_session.nameless))
		return;
	name = pgstat_get_wait_event(nameless_code);
	if (is_name(name))
	{
		instrument = pfs_wait_instrument(pfs_arena, nameless_wait);
		snprintf(instrument->name, sizeof(instrument->name), "wait/extension/%s", name);
	}
	pfs_session.nameless = false;
}
