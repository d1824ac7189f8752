/*
 * table_error_log.c
 *		error_log: the last messages of the server's log.
 */
#include "core/table_internal.h"

#include "core/error_log.h"

uint32_t	pfs_host_log_role;

typedef struct ErrorLogRow
{
	PfsLogMessage message;
	PfsText		prio;
	PfsText		subsystem;
	PfsText		data;
	PfsText		severity;
	PfsText		detail;
	PfsText		user;
	PfsText		database;
} ErrorLogRow;

static const PfsColumn error_log_columns[] = {
	{"logged", "When", PFS_COLUMN_WHEN, offsetof(ErrorLogRow, message.logged), 0},
	{"thread_id", "Thread of the process; NULL if it has none", PFS_COLUMN_U64,
	offsetof(ErrorLogRow, message.thread_id), PFS_COLUMN_KEY | PFS_COLUMN_NULL_IF_ZERO},
	{"prio", "System (LOG), Error (ERROR and worse), Warning, Note (all others)", PFS_COLUMN_TEXT,
	offsetof(ErrorLogRow, prio), 0},
	{"error_code", "SQLSTATE", PFS_COLUMN_SQLSTATE, offsetof(ErrorLogRow, message.sqlstate), 0},
	{"subsystem", "Kind of the process, as in the server's log: client backend, checkpointer, ...", PFS_COLUMN_TEXT,
	offsetof(ErrorLogRow, subsystem), 0},
	{"data", "The message, cut to 946 bytes", PFS_COLUMN_TEXT, offsetof(ErrorLogRow, data), 0},
	{"severity", "The server's own: DEBUG, LOG, INFO, NOTICE, WARNING, ERROR, FATAL, PANIC; not in MySQL", PFS_COLUMN_TEXT,
	offsetof(ErrorLogRow, severity), 0},
	{"detail", "Its DETAIL, in what room the message leaves; not in MySQL", PFS_COLUMN_TEXT, offsetof(ErrorLogRow, detail), 0},
	{"pid", "The process; not in MySQL", PFS_COLUMN_U32, offsetof(ErrorLogRow, message.pid), 0},
	{"processlist_user", "Its user; not in MySQL", PFS_COLUMN_TEXT, offsetof(ErrorLogRow, user), 0},
	{"processlist_db", "Its database; not in MySQL", PFS_COLUMN_TEXT, offsetof(ErrorLogRow, database), 0},
};
PFS_GROUP(error_log_group, error_log_columns);

static const struct
{
	const char *severity;
	const char *prio;
}			severities[] = {
	[PFS_LOG_DEBUG] = {"DEBUG", "Note"},
	[PFS_LOG_LOG] = {"LOG", "System"},
	[PFS_LOG_INFO] = {"INFO", "Note"},
	[PFS_LOG_NOTICE] = {"NOTICE", "Note"},
	[PFS_LOG_WARNING] = {"WARNING", "Warning"},
	[PFS_LOG_ERROR] = {"ERROR", "Error"},
	[PFS_LOG_FATAL] = {"FATAL", "Error"},
	[PFS_LOG_PANIC] = {"PANIC", "Error"},
};

static void
emit_message(PfsScan *scan, const PfsLogMessage *message)
{
	size_t		length = pfs_min(message->message_length, PFS_LOG_TEXT_LENGTH),
				detail = pfs_min(message->detail_length, PFS_LOG_TEXT_LENGTH - length);
	ErrorLogRow row = {.message = *message};
	const void *parts[] = {&row};

	if (message->severity < PFS_LENGTH(severities))	/* else damaged */
	{
		row.severity = pfs_text_of_string(severities[message->severity].severity);
		row.prio = pfs_text_of_string(severities[message->severity].prio);
	}
	row.subsystem = (PfsText) {row.message.subsystem, strnlen(row.message.subsystem, PFS_LOG_SUBSYSTEM_LENGTH), -1};
	row.data = (PfsText) {row.message.text, length, message->encoding};
	row.detail = (PfsText) {detail != 0 ? row.message.text + length : NULL, detail, message->encoding};
	row.user = pfs_text_of_name(scan->arena, message->user);
	row.database = pfs_text_of_name(scan->arena, message->database);
	scan->emit(scan, parts);
}

static void
error_log_scan(PfsScan *scan)
{
	PfsLogMessage *copy = scan->alloc(scan, sizeof(*copy));

	if (!(pfs_host_log_role == 0 ? scan->sees_all : scan->has_role(scan, pfs_host_log_role)))
		return;
	for (uint32_t i = 0; i < scan->arena->sizes.error_log; i++)
		if (pfs_error_log_read(scan->arena, i, copy))
			emit_message(scan, copy);
}

const PfsTable pfs_table_error_log = {
	.name = "error_log",
	.doc = "The last messages of the server's log since it started; only for members of pg_read_server_files",
	.groups = {&error_log_group},.scan = error_log_scan,
};
