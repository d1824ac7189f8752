/*
 * pg_error_log.c
 *		What goes to the server's log is kept for error_log.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "core/error_log.h"
#include "core/table.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_error_log.h"
#include "pg/pg_hooks.h"
#include "pg/pg_statement.h"
#include "pg/pg_text.h"

static PfsErrorLog log_rows;

void
pfs_pg_error_log_attach(void)
{
	log_rows = pfs_error_log(pfs_arena);
	pfs_host_log_role = ROLE_PG_READ_SERVER_FILES;	/* the log may hold whatever statements do, and who has it may read the file */
}

static PfsLogSeverity
severity_of(int elevel)
{
	switch (elevel)
	{
		case LOG:
		case LOG_SERVER_ONLY:
			return PFS_LOG_LOG;
		case INFO:
			return PFS_LOG_INFO;
		case NOTICE:
			return PFS_LOG_NOTICE;
		case WARNING:
			return PFS_LOG_WARNING;
		case ERROR:
			return PFS_LOG_ERROR;
		case FATAL:
			return PFS_LOG_FATAL;
		case PANIC:
			return PFS_LOG_PANIC;
		default:
			return PFS_LOG_DEBUG;
	}
}

/* Else nobody knows where the statement begins in it. */
static bool
begins_as_in_english(const ErrorData *edata)
{
	size_t		constant = edata->message_id != NULL ? strcspn(edata->message_id, "%") : 0;

	return constant > 0 ? strncmp(edata->message, edata->message_id, constant) == 0 : strncmp(edata->message, "execute ", 8) == 0;
}

/*
 * What may be shown of a message to who reads the log.  Errors have no values, as in events; a message whose statement the
 * server hides tells that statement itself (log_statement, log_min_duration_statement, auto_explain): of that what comes before.
 */
static const char *
shown_message(const ErrorData *edata)
{
	static char head[64];
	const char *first;

	if (edata->message == NULL)
		return NULL;
	if (edata->elevel >= ERROR)
		return pfs_pg_message_kept(pfs_session.running != NULL ? pfs_session.running : pfs_session.top, edata->sqlerrcode,
								   edata->message);
	if (!edata->hide_stmt)
		return edata->message;
	if (edata->message_id != NULL && strcmp(edata->message_id, "duration: %s ms") == 0)
		return edata->message;
	if (!begins_as_in_english(edata))
		return "?";
	first = strncmp(edata->message, "duration: ", 10) == 0 ? edata->message + 10 : edata->message;
	first = strchr(first, ':');
	if (first == NULL || first - edata->message >= (ptrdiff_t) sizeof(head) - 4)
		return "?";
	snprintf(head, sizeof(head), "%.*s: ?", (int) (first - edata->message), edata->message);
	return head;
}

/* A detail quotes values of rows and parameters, or lines of pg_hba.conf; but of these errors. */
static bool
shows_detail(const ErrorData *edata)
{
	switch (ERRCODE_TO_CATEGORY(edata->sqlerrcode))
	{
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
		case ERRCODE_INTERNAL_ERROR:
			return true;
		default:
			return edata->elevel < ERROR && !edata->hide_stmt;
	}
}

/* Appends a text, as much of it as there is room for: its length. */
static uint16
append(PfsLogMessage *message, uint16 at, const char *text)
{
	uint16		length = text != NULL ? (uint16) pfs_pg_clip(text, strlen(text), PFS_LOG_TEXT_LENGTH - at) : 0;

	if (length > 0)
		memcpy(message->text + at, text, length);
	return length;
}

void
pfs_pg_error_log_add(const ErrorData *edata)
{
	PfsLogMessage message;
	const PfsThread *thread = pfs_session.thread;

	if (!pfs_pg_arena_is_there())
		return;
	memset(&message, 0, sizeof(message));
	message.logged = pfs_now();
	message.pid = (uint32) MyProcPid;
	message.sqlstate = (uint32) edata->sqlerrcode;
	message.severity = (uint8) severity_of(edata->elevel);
	message.encoding = (uint8) GetDatabaseEncoding();
	strlcpy(message.subsystem, get_backend_type_for_log(), sizeof(message.subsystem));
	if (thread != NULL)
	{
		message.thread_id = pfs_load(&thread->thread_id);
		message.user = pfs_load(&thread->user);
		message.database = pfs_load(&thread->database);
	}
	message.message_length = append(&message, 0, shown_message(edata));
	if (shows_detail(edata))
		message.detail_length = append(&message, message.message_length,
									   edata->detail_log != NULL ? edata->detail_log : edata->detail);
	pfs_error_log_add(&log_rows, &message);
}
