/*
 * table_threads.c
 *		threads, accounts, users, hosts.
 */
#include "core/table_internal.h"

#include <stdlib.h>

#include "core/history.h"
#include "core/registry.h"
#include "core/rollup.h"

/* --- threads --- */

typedef struct ThreadRow
{
	uint64_t	thread_id;
	PfsText		name;
	PfsText		type;
	uint64_t	processlist_id;
	PfsText		user;
	PfsText		host;
	PfsText		database;
	PfsText		command;
	uint64_t	since;
	PfsText		state;
	PfsText		info;
	uint64_t	parent_thread_id;
	PfsText		role;
	uint8_t		instrumented;
	uint8_t		history;
	PfsText		connection_type;
	uint64_t	os_id;
	PfsText		program;
} ThreadRow;

static const PfsColumn thread_columns[] = {
	{"thread_id", "Number of the thread, never used again", PFS_COLUMN_U64,
	offsetof(ThreadRow, thread_id), PFS_COLUMN_KEY},
	{"name", "Thread class, see setup_threads", PFS_COLUMN_TEXT, offsetof(ThreadRow, name), 0},
	{"type", "FOREGROUND (serves a client) or BACKGROUND", PFS_COLUMN_TEXT,
	offsetof(ThreadRow, type), 0},
	{"processlist_id", "Process id of a foreground thread, as in pg_stat_activity",
	PFS_COLUMN_U64, offsetof(ThreadRow, processlist_id), PFS_COLUMN_KEY | PFS_COLUMN_NULL_IF_ZERO},
	{"processlist_user", "User", PFS_COLUMN_TEXT, offsetof(ThreadRow, user), 0},
	{"processlist_host", "Client host", PFS_COLUMN_TEXT, offsetof(ThreadRow, host), 0},
	{"processlist_db", "Database", PFS_COLUMN_TEXT, offsetof(ThreadRow, database), 0},
	{"processlist_command", "Query or Sleep; Daemon for background threads", PFS_COLUMN_TEXT,
	offsetof(ThreadRow, command), 0},
	{"processlist_time", "Seconds in the present state", PFS_COLUMN_SECONDS_AGO,
	offsetof(ThreadRow, since), 0},
	{"processlist_state", "active, idle, idle in transaction, or idle in transaction (aborted)", PFS_COLUMN_TEXT,
	offsetof(ThreadRow, state), 0},
	{"processlist_info", "Statement being executed, else NULL", PFS_COLUMN_TEXT,
	offsetof(ThreadRow, info), 0},
	{"parent_thread_id", "Leader of a parallel worker; of an autovacuum worker the launcher", PFS_COLUMN_U64,
	offsetof(ThreadRow, parent_thread_id), PFS_COLUMN_NULL_IF_ZERO},
	{"role", "Always NULL, as in MySQL", PFS_COLUMN_TEXT, offsetof(ThreadRow, role), 0},
	{"instrumented", "Is the thread observed? UPDATE takes effect from its next event",
	PFS_COLUMN_YES_NO, offsetof(ThreadRow, instrumented), PFS_COLUMN_UPDATABLE},
	{"history", "Does it keep histories?", PFS_COLUMN_YES_NO, offsetof(ThreadRow, history),
	PFS_COLUMN_UPDATABLE},
	{"connection_type", "Socket, TCP/IP or SSL/TLS; NULL for background threads", PFS_COLUMN_TEXT,
	offsetof(ThreadRow, connection_type), 0},
	{"thread_os_id", "Process id", PFS_COLUMN_U64, offsetof(ThreadRow, os_id), PFS_COLUMN_KEY},
	{"application_name", "Application name of the session; not in MySQL", PFS_COLUMN_TEXT,
	offsetof(ThreadRow, program), 0},
};
PFS_GROUP(thread_group, thread_columns);

/* Text of the outermost running statement. */
static PfsText
running_text(PfsScan *scan, PfsThread *thread, uint64_t thread_id)
{
	PfsArena   *arena = scan->arena;
	char	   *text = scan->alloc(scan, arena->sizes.sql_text_length + PFS_MESSAGE_LENGTH);
	PfsStatementRecord record;

	for (uint32_t place = 0; place < arena->sizes.statement_stack &&
		 pfs_thread_has_statements(arena, thread); place++)
	{
		if (!pfs_journal_read_open(arena, thread, place, &record) || record.level != 0)
			continue;
		pfs_journal_read_texts(arena, thread, &record, text, text + arena->sizes.sql_text_length);
		pfs_fence();
		if (pfs_load(&thread->thread_id) == thread_id)
			return pfs_scan_secret(scan, record.role, (PfsText) {text, record.text_length,
				pfs_load(&thread->encoding)});
	}
	return (PfsText) {NULL, 0, -1};
}

/*
 * Copies who a thread is.  The row of a live session must not be missing: of one that
 * stays stopped in the middle everything is shown but the name that may be half written.  False: there
 * is no such thread.
 */
static bool
read_identity(PfsArena *arena, PfsThread *thread, PfsThread *copy)
{
	uint64_t	id = pfs_load(&thread->thread_id);
	bool		stable = false;

	for (int tries = 0; !stable && pfs_try_read(tries); tries++)
	{
		uint32_t	begin = pfs_seq_read_begin(&thread->identity);

		pfs_copy_words(copy, thread, offsetof(PfsThread, event_id));
		stable = pfs_seq_read_ok(&thread->identity, begin);
	}
	if (!stable)
	{
		pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
		copy->program[0] = '\0';
		if (id != copy->thread_id || id != pfs_load(&thread->thread_id))
			return false;
	}
	return copy->owner != 0 && copy->thread_id != 0;
}

/* Thread of the process that starts those of this class; 0 = none. */
static uint64_t
parent_of_class(PfsArena *arena, uint32_t class)
{
	uint32_t	parent = pfs_host_parent_class != NULL ? pfs_host_parent_class(class) : UINT32_MAX;

	if (parent == UINT32_MAX)
		return 0;
	PFS_EACH_THREAD(arena, thread, slot)
	{
		if (pfs_load(&thread->class) == parent)
			return pfs_load(&thread->thread_id);
	}
	return 0;
}

static const char *
state_name(uint32_t state)
{
	switch (state)
	{
		case PFS_THREAD_ACTIVE:
			return "active";
		case PFS_THREAD_IDLE:
			return "idle";
		case PFS_THREAD_IDLE_IN_TRANSACTION:
			return "idle in transaction";
		case PFS_THREAD_IDLE_ABORTED:
			return "idle in transaction (aborted)";
		default:
			return NULL;
	}
}

static void
emit_thread(PfsScan *scan, PfsThread *thread)
{
	PfsArena   *arena = scan->arena;
	PfsThread  *copy = scan->alloc(scan, offsetof(PfsThread, event_id));
	uint32_t	state = pfs_load(&thread->state);
	PfsThreadClass *class;
	ThreadRow	row;
	const void *parts[] = {&row};

	if (!read_identity(arena, thread, copy) || !pfs_scan_sees_user(scan, copy->user))
		return;
	class = pfs_thread_class(arena, copy->class);
	memset(&row, 0, sizeof(row));
	row.thread_id = copy->thread_id;
	row.name = PFS_TEXT_OF(class->name);
	row.type = pfs_text_of_string(class->foreground ? "FOREGROUND" : "BACKGROUND");
	row.processlist_id = copy->processlist_id;
	row.user = pfs_text_of_name(arena, copy->user);
	row.host = pfs_text_of_name(arena, copy->host);
	row.database = pfs_text_of_name(arena, copy->database);
	row.command = pfs_text_of_string(!class->foreground ? "Daemon"
									 : state == PFS_THREAD_ACTIVE ? "Query" : "Sleep");
	row.since = pfs_load(&thread->state_since);
	if (class->foreground)
		row.state = pfs_text_of_string(state_name(state));
	row.info = running_text(scan, thread, copy->thread_id);
	row.parent_thread_id = copy->parent_thread_id != 0 ? copy->parent_thread_id
		: parent_of_class(arena, copy->class);
	row.instrumented = copy->instrumented;
	row.history = copy->history;
	if (class->foreground && pfs_host_connection_type != NULL)
		row.connection_type = pfs_text_of_string(pfs_host_connection_type(copy->connection_type));
	row.os_id = copy->owner;
	copy->program[sizeof(copy->program) - 1] = '\0';
	row.program = pfs_text_of_string(copy->program[0] != '\0' ? copy->program : NULL);
	row.program.encoding = copy->encoding;
	scan->emit(scan, parts);
}

static void
threads_scan(PfsScan *scan)
{
	uint64_t	id = 0,
				pid = 0,
				os_id = 0;
	bool		by_id = pfs_scan_number(scan, "thread_id", &id);
	bool		by_pid = pfs_scan_number(scan, "processlist_id", &pid);
	bool		by_os_id = pfs_scan_number(scan, "thread_os_id", &os_id);

	PFS_EACH_THREAD(scan->arena, thread, slot)
	{
		if ((!by_id || pfs_load(&thread->thread_id) == id) &&
			(!by_pid || pfs_load(&thread->processlist_id) == pid) &&
			(!by_os_id || pfs_load(&thread->owner) == os_id))
			emit_thread(scan, thread);
	}
}

static PfsEditResult
threads_update(PfsArena *arena, PfsFields old, PfsFields new, int *column)
{
	uint64_t	id = old[0] != NULL ? strtoull(old[0], NULL, 10) : 0;
	uint8_t		instrumented,
				history;
	bool		has_instrumented = new[13] != NULL;
	bool		has_history = new[14] != NULL;

	*column = 13;
	if (has_instrumented && !pfs_parse_yes_no(new[13], &instrumented))
		return PFS_EDIT_BAD_VALUE;
	*column = 14;
	if (has_history && !pfs_parse_yes_no(new[14], &history))
		return PFS_EDIT_BAD_VALUE;
	PFS_EACH_THREAD(arena, thread, slot)
	{
		if (pfs_load(&thread->thread_id) != id)
			continue;
		if (has_instrumented)
			pfs_thread_instrument(arena, thread, instrumented);
		if (has_history)
			pfs_thread_keep_history(arena, thread, history);
		return PFS_EDIT_OK;
	}
	return PFS_EDIT_NO_ROW;
}

const PfsTable pfs_table_threads = {
	.name = "threads",
	.doc = "One row per server process that has recorded anything; rows of other users need pg_read_all_stats",
	.groups = {&thread_group},.scan = threads_scan,.update = threads_update,
};

/* --- accounts, users, hosts --- */

typedef struct PartyRow
{
	PfsText		user;
	PfsText		host;
	uint64_t	current;
	uint64_t	total;
} PartyRow;

static const PfsColumn party_user_columns[] = {
	{"user_name", "User (MySQL: USER); NULL for background processes", PFS_COLUMN_TEXT,
	offsetof(PartyRow, user), PFS_COLUMN_KEY},
};
static const PfsColumn party_host_columns[] = {
	{"host", "Client host, [local] for Unix sockets; NULL for background processes",
	PFS_COLUMN_TEXT, offsetof(PartyRow, host), PFS_COLUMN_KEY},
};
static const PfsColumn party_count_columns[] = {
	{"current_connections", "Connected now", PFS_COLUMN_U64, offsetof(PartyRow, current), 0},
	{"total_connections", "Connected since start or TRUNCATE", PFS_COLUMN_U64,
	offsetof(PartyRow, total), 0},
};
PFS_GROUP(party_user, party_user_columns);
PFS_GROUP(party_host, party_host_columns);
PFS_GROUP(party_count, party_count_columns);

static void
parties_scan(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	PfsLevel	level = scan->table->argument;
	PfsOff		table = level == PFS_LEVEL_ACCOUNT ? arena->accounts
		: level == PFS_LEVEL_USER ? arena->users : arena->hosts;
	uint32_t	rows = level == PFS_LEVEL_ACCOUNT ? arena->sizes.accounts
		: level == PFS_LEVEL_USER ? arena->sizes.users : arena->sizes.hosts;

	for (uint32_t i = 0; i < rows; i++)
	{
		PfsParty   *party = pfs_party(arena, table, i);
		PartyRow	row;
		const void *parts[] = {&row, &row, &row};

		if (!pfs_load_acquire(&party->used))
			continue;
		row.user = pfs_text_of_name(arena, pfs_load(&party->user));
		row.host = pfs_text_of_name(arena, pfs_load(&party->host));
		row.current = pfs_load(&party->current_connections);
		row.total = pfs_load(&party->total_connections);
		scan->emit(scan, parts);
	}
}

static bool
parties_reset(PfsArena *arena, const PfsTable *table)
{
	return pfs_reset_parties(arena, table->argument);
}

const PfsTable pfs_table_accounts = {
	.name = "accounts",
	.doc = "Connections per account (user and host); TRUNCATE removes those without connections",
	.groups = {&party_user, &party_host, &party_count},.argument = PFS_LEVEL_ACCOUNT,
	.scan = parties_scan,.reset = parties_reset,
};
const PfsTable pfs_table_users = {
	.name = "users",
	.doc = "Connections per user; TRUNCATE removes those without connections",
	.groups = {&party_user, &party_count},.argument = PFS_LEVEL_USER,
	.scan = parties_scan,.reset = parties_reset,
};
const PfsTable pfs_table_hosts = {
	.name = "hosts",
	.doc = "Connections per client host; TRUNCATE removes those without connections",
	.groups = {&party_host, &party_count},.argument = PFS_LEVEL_HOST,
	.scan = parties_scan,.reset = parties_reset,
};
