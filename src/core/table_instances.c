/*
 * table_instances.c
 *		Files and sockets one by one: file_instances, socket_instances, their summaries by
 *		instance, events_waits_summary_by_instance; and the instances that do not exist here.
 */
#include "core/table_objects.h"
#include "core/wait.h"

#include "core/rollup.h"
#include "core/wait_sum.h"

/* --- files --- */

typedef struct FileRow
{
	PfsText		path;
	PfsText		event_name;
	uint64_t	instance;
	uint32_t	open_count;
	PfsText		relation;
	PfsIoRow	io;
} FileRow;

#define FILE_NAME_COLUMNS \
	{"file_name", "Path from the data directory; (words in parentheses): files without bound that are " \
	"counted together; paths outside it need pg_read_all_stats", PFS_COLUMN_TEXT, offsetof(FileRow, path), PFS_COLUMN_KEY}, \
	{"event_name", "Instrument of the file, by what it was first used for", PFS_COLUMN_TEXT, \
	offsetof(FileRow, event_name), PFS_COLUMN_KEY}

static const PfsColumn file_instance_columns[] = {
	FILE_NAME_COLUMNS,
	{"open_count", "Descriptors of server processes that are open now", PFS_COLUMN_U32,
	offsetof(FileRow, open_count), 0},
};
static const PfsColumn file_summary_columns[] = {
	FILE_NAME_COLUMNS,
	{"object_instance_begin", "Number of the instance, not used again", PFS_COLUMN_U64,
	offsetof(FileRow, instance), PFS_COLUMN_KEY},
};
static const PfsColumn relation_columns[] = {
	{"relation_name", "Table or index that the file holds, schema and name; NULL: none, or in another "
	"database than the reader's; not in MySQL", PFS_COLUMN_TEXT, offsetof(FileRow, relation), 0},
};
PFS_GROUP(file_instance_group, file_instance_columns);
PFS_GROUP(file_summary_group, file_summary_columns);
PFS_GROUP(relation_group, relation_columns);

/* All but the relation; false when the reader does not want the row. */
static bool
fill_file(const PfsObjectSums *sums, const PfsObjectSum *sum, FileRow *row)
{
	const PfsScan *scan = sums->scan;
	const PfsArena *arena = scan->arena;

	memset(row, 0, sizeof(*row));
	row->path = pfs_scan_path(scan, (PfsText) {sum->row.key, sum->row.key_length, -1});
	row->event_name = PFS_TEXT_OF(pfs_wait_instrument(arena, sum->row.instrument)->name);
	row->instance = pfs_object_instance(arena, PFS_MAP_FILES, sum->number, sum->row.use);
	row->open_count = (sum->row.open >> 32) == sum->row.use ? (uint32_t) sum->row.open : 0;
	row->io.stat = sum->row.stat.io;
	row->io.all = pfs_io_stat_total(&sum->row.stat.io);
	return pfs_scan_wants_text(scan, "file_name", row->path) &&
		pfs_scan_wants_text(scan, "event_name", row->event_name) &&
		pfs_scan_wants_number(scan, "object_instance_begin", row->instance);
}

/* The host may look into catalogs: only for rows that are shown. */
static PfsText
relation_of(const FileRow *row)
{
	char		path[PFS_OBJECT_KEY_LENGTH + 1];

	if (pfs_host_relation_of_file == NULL)
		return (PfsText) {NULL, 0, -1};
	memcpy(path, row->path.data, row->path.length);
	path[row->path.length] = '\0';
	return pfs_text_of_string(pfs_host_relation_of_file(path));
}

static void
file_instances_scan(PfsScan *scan)
{
	PfsObjectSums sums;
	FileRow		row;
	const void *parts[] = {&row, &row};

	pfs_object_sums(&sums, scan, PFS_MAP_FILES);
	PFS_EACH_OBJECT(&sums, sum)
	{
		if (!fill_file(&sums, sum, &row))
			continue;
		row.relation = relation_of(&row);
		scan->emit(scan, parts);
	}
}

const PfsTable pfs_table_file_instances = {
	.name = "file_instances",
	.doc = "Files that server processes have used since start; a row goes when its file is removed",
	.groups = {&file_instance_group, &relation_group},.scan = file_instances_scan,
};

static void
file_summary_scan(PfsScan *scan)
{
	PfsObjectSums sums;
	FileRow		row;
	const void *parts[] = {&row, &row.io, &row};

	pfs_object_sums(&sums, scan, PFS_MAP_FILES);
	PFS_EACH_OBJECT(&sums, sum)
	{
		if (!fill_file(&sums, sum, &row))
			continue;
		row.relation = relation_of(&row);
		scan->emit(scan, parts);
	}
}

const PfsTable pfs_table_file_summary_by_instance = {
	.name = "file_summary_by_instance",
	.doc = "I/O per file; a read of PostgreSQL 18's io workers is counted here once, whoever wanted it",
	.groups = {&file_summary_group, &pfs_io_group, &relation_group},.argument = 1 << PFS_RESET_FILES,
	.scan = file_summary_scan,.reset = pfs_reset_points,
};

/* --- sockets --- */

#define SOCKET_EVENT_NAME "wait/io/socket/postgres/client_connection"

typedef struct SocketRow
{
	PfsText		event_name;
	uint64_t	instance;
	uint64_t	thread_id;
	uint32_t	fd;
	PfsText		address;
	uint32_t	port;
	PfsText		state;
	PfsIoRow	io;
} SocketRow;

#define SOCKET_KEY_COLUMNS \
	{"event_name", "Always " SOCKET_EVENT_NAME, PFS_COLUMN_TEXT, offsetof(SocketRow, event_name), \
	PFS_COLUMN_KEY}, \
	{"object_instance_begin", "Number of the connection, not used again", PFS_COLUMN_U64, \
	offsetof(SocketRow, instance), PFS_COLUMN_KEY}

static const PfsColumn socket_instance_columns[] = {
	SOCKET_KEY_COLUMNS,
	{"thread_id", "Thread that serves the client", PFS_COLUMN_U64, offsetof(SocketRow, thread_id),
	PFS_COLUMN_KEY},
	{"socket_id", "File descriptor in that process", PFS_COLUMN_U32, offsetof(SocketRow, fd), 0},
	{"ip", "Address of the client; empty for a Unix socket", PFS_COLUMN_TEXT,
	offsetof(SocketRow, address), 0},
	{"port", "Its port; 0 for a Unix socket", PFS_COLUMN_U32, offsetof(SocketRow, port), 0},
	{"state", "IDLE: waits for the client's next command; else ACTIVE", PFS_COLUMN_TEXT,
	offsetof(SocketRow, state), 0},
};
static const PfsColumn socket_key_columns[] = {
	SOCKET_KEY_COLUMNS,
};
PFS_GROUP(socket_instance_group, socket_instance_columns);
PFS_GROUP(socket_key_group, socket_key_columns);

typedef struct ThreadCopy
{
	uint64_t	head[offsetof(PfsThread, event_id) / sizeof(uint64_t)];
	PfsSocket	socket;
	PfsIoStat	unsummed;		/* what is to be added to its statistics */
} ThreadCopy;

_Static_assert(sizeof(PfsSocket) % 8 == 0 && offsetof(PfsThread, event_id) % 8 == 0,
			   "copied by words");

/* Copies a thread's identity and socket together; false when it has none. */
static bool
read_socket(PfsArena *arena, PfsThread *thread, ThreadCopy *copy)
{
	uint32_t	reset = pfs_load(&arena->reset_of[PFS_RESET_SOCKETS]);

	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint32_t	begin = pfs_seq_read_begin(&thread->seq);

		pfs_copy_words(copy->head, thread, sizeof(copy->head));
		pfs_copy_words(&copy->socket, &thread->socket, sizeof(copy->socket));
		if (copy->socket.epoch < reset)
			memset(&copy->socket.stat, 0, sizeof(copy->socket.stat));
		(void) pfs_calls_unsummed(arena, thread, PFS_NO_WAIT, reset, &copy->unsummed);
		if (pfs_seq_read_ok(&thread->seq, begin))
			return copy->socket.used != 0 && ((const PfsThread *) copy->head)->owner != 0;
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return false;
}

/* Connection of a thread; false when there is none, or the reader may not see it or wants others. */
static bool
fill_socket(PfsScan *scan, PfsThread *thread, SocketRow *row, ThreadCopy *copy)
{
	PfsArena   *arena = scan->arena;
	const PfsThread *head = (const PfsThread *) copy->head;
	PfsSocket  *socket = &copy->socket;

	if (!read_socket(arena, thread, copy) || !pfs_scan_sees_user(scan, head->user))
		return false;
	memset(row, 0, sizeof(*row));
	socket->address[sizeof(socket->address) - 1] = '\0';
	row->event_name = pfs_text_of_string(SOCKET_EVENT_NAME);
	row->instance = pfs_socket_instance(arena, thread, head->thread_id);
	row->thread_id = head->thread_id;
	row->fd = (uint32_t) socket->fd;
	row->address = pfs_text_of_string(socket->address);
	row->port = socket->port;
	row->state = pfs_text_of_string(pfs_load(&thread->state) != PFS_THREAD_ACTIVE ? "IDLE" : "ACTIVE");
	row->io.stat = socket->stat;
	pfs_io_stat_merge(&row->io.stat, &copy->unsummed);
	row->io.all = pfs_io_stat_total(&row->io.stat);
	return pfs_scan_wants_text(scan, "event_name", row->event_name) &&
		pfs_scan_wants_number(scan, "object_instance_begin", row->instance) &&
		pfs_scan_wants_number(scan, "thread_id", row->thread_id);
}

/* The second part is for the summary: socket_instances has one group. */
static void
sockets_scan(PfsScan *scan)
{
	ThreadCopy *copy = scan->alloc(scan, sizeof(*copy));
	SocketRow	row;
	const void *parts[] = {&row, &row.io};

	PFS_EACH_THREAD(scan->arena, thread, slot)
	{
		if (fill_socket(scan, thread, &row, copy))
			scan->emit(scan, parts);
	}
}

const PfsTable pfs_table_socket_instances = {
	.name = "socket_instances",
	.doc = "Connections of clients; rows of other users need pg_read_all_stats",
	.groups = {&socket_instance_group},.scan = sockets_scan,
};
const PfsTable pfs_table_socket_summary_by_instance = {
	.name = "socket_summary_by_instance",
	.doc = "I/O per client connection, as long as it lasts; rows of other users need pg_read_all_stats",
	.groups = {&socket_key_group, &pfs_io_group},.argument = 1 << PFS_RESET_SOCKETS,
	.scan = sockets_scan,.reset = pfs_reset_points,
};

/* --- files and sockets as waits --- */

typedef struct InstanceRow
{
	PfsText		event_name;
	uint64_t	instance;
	PfsTimerStat all;
} InstanceRow;

static const PfsColumn instance_columns[] = {
	{"event_name", "Instrument", PFS_COLUMN_TEXT, offsetof(InstanceRow, event_name), PFS_COLUMN_KEY},
	{"object_instance_begin", "Number of the file or connection, see file_summary_by_instance and "
	"socket_instances", PFS_COLUMN_U64, offsetof(InstanceRow, instance), PFS_COLUMN_KEY},
	PFS_TIMER_COLUMNS(offsetof(InstanceRow, all), "star", "wait", "waits"),
};
PFS_GROUP(instance_group, instance_columns);

static void
instances_scan(PfsScan *scan)
{
	ThreadCopy *copy = scan->alloc(scan, sizeof(*copy));
	PfsObjectSums sums;
	FileRow		file;
	SocketRow	socket;
	InstanceRow row;
	const void *parts[] = {&row};

	pfs_object_sums(&sums, scan, PFS_MAP_FILES);
	PFS_EACH_OBJECT(&sums, sum)
	{
		if (!fill_file(&sums, sum, &file))
			continue;
		row = (InstanceRow) {file.event_name, file.instance, file.io.all};
		scan->emit(scan, parts);
	}
	PFS_EACH_THREAD(scan->arena, thread, slot)
	{
		if (!fill_socket(scan, thread, &socket, copy))
			continue;
		row = (InstanceRow) {socket.event_name, socket.instance, socket.io.all};
		scan->emit(scan, parts);
	}
}

const PfsTable pfs_table_events_waits_summary_by_instance = {
	.name = "events_waits_summary_by_instance",
	.doc = "Waits per file and client connection; locks of the server have no instances of their own, see "
	"mutex_instances",
	.groups = {&instance_group},.argument = 1 << PFS_RESET_FILES | 1 << PFS_RESET_SOCKETS,
	.scan = instances_scan,.reset = pfs_reset_points,
};

/* --- rwlock_instances --- */

typedef struct LockRow
{
	PfsText		name;
	uint64_t	instance;
	uint64_t	writer;
	uint8_t		exclusive;
	uint32_t	readers;
} LockRow;

static const PfsColumn lock_columns[] = {
	{"name", "Instrument", PFS_COLUMN_TEXT, offsetof(LockRow, name), PFS_COLUMN_KEY},
	{"object_instance_begin", "Number of the lock in the server's array; its address is told to nobody", PFS_COLUMN_U64,
	offsetof(LockRow, instance), PFS_COLUMN_KEY},
	{"write_locked_by_thread_id", "Always NULL: the server does not keep who holds the lock, see "
	"write_locked", PFS_COLUMN_U64, offsetof(LockRow, writer), PFS_COLUMN_NULL_IF_ZERO},
	{"read_locked_by_count", "How many hold it shared now", PFS_COLUMN_U32,
	offsetof(LockRow, readers), 0},
	{"write_locked", "Is it held exclusively now? Not in MySQL", PFS_COLUMN_YES_NO,
	offsetof(LockRow, exclusive), 0},
};
PFS_GROUP(lock_group, lock_columns);

static void
locks_scan(PfsScan *scan)
{
	PfsHostLock lock;

	for (uint32_t i = 0; pfs_host_lock != NULL && pfs_host_lock(i, &lock); i++)
	{
		uint32_t	wait = pfs_wait_of_code(scan->arena, lock.code);
		LockRow		row = {0};
		const void *parts[] = {&row};

		if (wait == UINT32_MAX)
			continue;
		row.name = PFS_TEXT_OF(pfs_wait_instrument(scan->arena, wait)->name);
		row.instance = i;
		row.exclusive = lock.exclusive;
		row.readers = lock.shared;
		if (pfs_scan_wants_text(scan, "name", row.name))
			scan->emit(scan, parts);
	}
}

const PfsTable pfs_table_rwlock_instances = {
	.name = "rwlock_instances",
	.doc = "The server's fixed lightweight locks (not those of buffers and of other structures), as they are "
	"held at this moment",
	.groups = {&lock_group},.scan = locks_scan,
};

/* --- what there is none of --- */

typedef struct MutexRow
{
	PfsText		name;
	uint64_t	instance;
	uint64_t	thread_id;
} MutexRow;

#define NO_INSTANCE_COLUMNS \
	{"name", "Instrument", PFS_COLUMN_TEXT, offsetof(MutexRow, name), PFS_COLUMN_KEY}, \
	{"object_instance_begin", "Number of the instance", PFS_COLUMN_U64, \
	offsetof(MutexRow, instance), PFS_COLUMN_KEY}

static const PfsColumn mutex_columns[] = {
	NO_INSTANCE_COLUMNS,
	{"locked_by_thread_id", "Thread that holds it", PFS_COLUMN_U64, offsetof(MutexRow, thread_id),
	PFS_COLUMN_NULL_IF_ZERO},
};
static const PfsColumn cond_columns[] = {
	NO_INSTANCE_COLUMNS,
};
PFS_GROUP(mutex_group, mutex_columns);
PFS_GROUP(cond_group, cond_columns);

static void
no_rows(PfsScan *scan)
{
}

const PfsTable pfs_table_mutex_instances = {
	.name = "mutex_instances",
	.doc = "No rows: the server tells for which kind of lightweight lock a process waits, not for which one "
	"of its thousands, nor who holds it; waits by kind are in events_waits_summary_global_by_event_name "
	"(wait/synch/lwlock/%)",
	.groups = {&mutex_group},.scan = no_rows,
};
const PfsTable pfs_table_cond_instances = {
	.name = "cond_instances",
	.doc = "No rows: the server's condition variables have no names; waits for them are in "
	"events_waits_summary_global_by_event_name (wait/ipc/%)",
	.groups = {&cond_group},.scan = no_rows,
};
