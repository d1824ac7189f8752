/*
 * pg_instruments.c
 *		Registration of what PostgreSQL can do.
 */
#include "postgres.h"

#include "pg/pg_instruments.h"

#include "core/statement.h"
#include "miscadmin.h"
#include "pg/pg_compat.h"
#include "pg/pg_wait.h"
#include "postmaster/bgworker.h"
#include "replication/walsender.h"
#include "tcop/utility.h"
#include "utils/elog.h"

/* Command tags are numbered from 0; not every major has a name for their end. */
enum
{
#define PG_CMDTAG(tag, name, evtrgok, rwrok, rowcnt) COUNTED_##tag,
#include "tcop/cmdtaglist.h"
#undef PG_CMDTAG
	COMMAND_TAGS
};

static const struct
{
	const char *name;
	const char *doc;
	uint16		properties;
	bool		timed;
}			fixed_classes[PFS_PG_FIXED_CLASSES] = {
	[PFS_PG_ABSTRACT_QUERY] = {"statement/abstract/Query", "Statement being parsed; becomes statement/sql/...", PFS_PROPERTY_MUTABLE, true},
	[PFS_PG_SQL_ERROR] = {"statement/sql/error", "Statement that failed before its command was known", 0, true},
	[PFS_PG_COM_QUERY] = {"statement/com/Query", "Simple query messages; the statements inside are statement/sql/...", 0, true},
	[PFS_PG_COM_PARSE] = {"statement/com/Parse", "Parse messages of the extended protocol", 0, true},
	[PFS_PG_COM_BIND] = {"statement/com/Bind", "Bind messages", 0, false},
	[PFS_PG_COM_EXECUTE] = {"statement/com/Execute", "Execute messages; what they execute is statement/sql/...", 0, false},
	[PFS_PG_COM_DESCRIBE] = {"statement/com/Describe", "Describe messages", 0, false},
	[PFS_PG_COM_CLOSE] = {"statement/com/Close", "Close messages", 0, false},
	[PFS_PG_COM_FUNCTION_CALL] = {"statement/com/Function call", "Function call messages", 0, true},
	[PFS_PG_COM_COPY_DATA] = {"statement/com/Copy data", "COPY transfers from or to the client", 0, false},
};

static const struct
{
	const char *name;
	const char *doc;
}			thread_classes[PFS_PG_THREAD_FIRST_TYPE] = {
	[PFS_PG_THREAD_PARALLEL_WORKER] = {"thread/postgres/parallel_worker", "Executes a part of a parallel query"},
	[PFS_PG_THREAD_LOGICAL_WORKER] = {"thread/postgres/logical_replication_worker", "Launches, applies or synchronises logical replication"},
	[PFS_PG_THREAD_OTHER] = {"thread/postgres/other", "Any other server process"},
};

static const char *const error_states[] = {
#define PFS_ERROR(state, condition) state,
#include "pg/errors.def"
#undef PFS_ERROR
};
static const char *const error_names[] = {
#define PFS_ERROR(state, condition) #condition,
#include "pg/errors.def"
#undef PFS_ERROR
};

/* Filled in the postmaster and inherited: the codes of errors.def and one row for all others. */
static PfsHostError errors[lengthof(error_states) + 1];

uint32
pfs_pg_error_count(void)
{
	return lengthof(errors);
}

uint32
pfs_pg_class_of_operation(CmdType operation)
{
	switch (operation)
	{
		case CMD_SELECT:
			return pfs_pg_class_of_tag(CMDTAG_SELECT);
		case CMD_INSERT:
			return pfs_pg_class_of_tag(CMDTAG_INSERT);
		case CMD_UPDATE:
			return pfs_pg_class_of_tag(CMDTAG_UPDATE);
		case CMD_DELETE:
			return pfs_pg_class_of_tag(CMDTAG_DELETE);
		case CMD_MERGE:
			return pfs_pg_class_of_tag(CMDTAG_MERGE);
		default:
			return pfs_pg_class_of_tag(CMDTAG_UNKNOWN);
	}
}

uint32
pfs_pg_class_of_query(const Query *query)
{
	return query->utilityStmt != NULL ? pfs_pg_class_of_tag(CreateCommandTag(query->utilityStmt))
		: pfs_pg_class_of_operation(query->commandType);
}

uint32
pfs_pg_statement_class_count(void)
{
	return PFS_PG_FIXED_CLASSES + COMMAND_TAGS;
}

uint32
pfs_pg_instrument_count(void)
{
	return pfs_pg_statement_class_count() + 2 + pfs_pg_wait_count();
}

uint32
pfs_pg_thread_class_count(void)
{
	return PFS_PG_THREAD_FIRST_TYPE + PFS_PG_BACKEND_TYPES;
}

uint32
pfs_pg_thread_class_of(uint32 type, const char *worker)
{
	if (strcmp(worker, "parallel worker") == 0)
		return PFS_PG_THREAD_PARALLEL_WORKER;
	if (strncmp(worker, "logical replication", 19) == 0)
		return PFS_PG_THREAD_LOGICAL_WORKER;
	return type < PFS_PG_BACKEND_TYPES ? PFS_PG_THREAD_FIRST_TYPE + type : PFS_PG_THREAD_OTHER;
}

uint32
pfs_pg_thread_class(void)
{
	if (am_walsender)
		return pfs_pg_thread_class_of(B_WAL_SENDER, "");
	return pfs_pg_thread_class_of(MyBackendType, MyBackendType == B_BG_WORKER && MyBgworkerEntry != NULL
								  ? MyBgworkerEntry->bgw_type : "");
}

/* Autovacuum workers have their launcher; the others are started by the postmaster, which is no thread. */
uint32
pfs_pg_parent_class(uint32 class)
{
	return class == PFS_PG_THREAD_FIRST_TYPE + B_AUTOVAC_WORKER
		? PFS_PG_THREAD_FIRST_TYPE + B_AUTOVAC_LAUNCHER : UINT32_MAX;
}

/* "autovacuum worker" -> thread/postgres/autovacuum_worker */
static void
register_thread_classes(PfsArena *arena)
{
	for (int i = 0; i < PFS_PG_THREAD_FIRST_TYPE; i++)
		pfs_register_thread_class(arena, thread_classes[i].name, thread_classes[i].doc, false, false);
	for (int type = 0; type < PFS_PG_BACKEND_TYPES; type++)
	{
		const char *words = GetBackendTypeDesc(type);
		char		name[PFS_NAME_LENGTH] = "thread/postgres/";
		size_t		end = strlen(name);

		for (; *words != '\0' && end < sizeof(name) - 1; words++)
			name[end++] = *words == ' ' || *words == '-' ? '_' : *words;
		name[end] = '\0';
		if (type == B_INVALID)
			strcpy(name, "thread/postgres/unknown");
		pfs_register_thread_class(arena, name, psprintf("Server process: %s", GetBackendTypeDesc(type)),
								  type == B_BACKEND || type == B_WAL_SENDER,
								  type == B_CHECKPOINTER || type == B_BG_WRITER ||
								  type == B_WAL_WRITER || type == B_STARTUP ||
								  type == B_AUTOVAC_LAUNCHER || type == B_WAL_RECEIVER ||
								  type == B_ARCHIVER || type == B_LOGGER);
	}
}

static int
compare_packed(const void *a, const void *b)
{
	uint32		left = ((const PfsHostError *) a)->packed;
	uint32		right = ((const PfsHostError *) b)->packed;

	return left < right ? -1 : left > right;
}

static void
fill_errors(void)
{
	for (size_t i = 0; i < lengthof(error_states); i++)
	{
		const char *s = error_states[i];

		errors[i] = (PfsHostError)
		{
			s, error_names[i], (uint32) MAKE_SQLSTATE(s[0], s[1], s[2], s[3], s[4])
		};
	}
	qsort(errors, lengthof(error_states), sizeof(errors[0]), compare_packed);
	errors[lengthof(error_states)] = (PfsHostError) {0};
	pfs_host_errors = errors;
}

uint32
pfs_pg_error_number(int sqlstate)
{
	PfsHostError key = {NULL, NULL, (uint32) sqlstate};
	PfsHostError *found = bsearch(&key, errors, lengthof(error_states), sizeof(errors[0]),
								  compare_packed);

	return found != NULL ? (uint32) (found - errors) : (uint32) lengthof(error_states);
}

/* "CREATE TABLE" -> statement/sql/create_table, MySQL's manner */
static void
register_command_tags(PfsArena *arena)
{
	for (int tag = 0; tag < COMMAND_TAGS; tag++)
	{
		char		name[PFS_NAME_LENGTH] = "statement/sql/";
		const char *words = GetCommandTagName(tag);
		size_t		end = strlen(name);

		for (; *words != '\0' && end < sizeof(name) - 1; words++)
			name[end++] = *words == ' ' || *words == '?' ? '_' : pg_tolower((unsigned char) *words);
		name[end] = '\0';
		if (tag == CMDTAG_UNKNOWN)
			strcpy(name, "statement/sql/unknown");
		pfs_register(arena, PFS_CLASS_STATEMENT, name,
					 psprintf("Command %s", GetCommandTagName(tag)), 0, true, true);
	}
}

/* Classes that `make DISABLE=...` left out are not registered, so they appear nowhere. */
void
pfs_pg_register(PfsArena *arena)
{
	fill_errors();
	if (PFS_BUILT_STATEMENTS)
	{
		for (int i = 0; i < PFS_PG_FIXED_CLASSES; i++)
			pfs_register(arena, PFS_CLASS_STATEMENT, fixed_classes[i].name, fixed_classes[i].doc,
						 fixed_classes[i].properties, true, fixed_classes[i].timed);
		register_command_tags(arena);
		arena->answer_class[PFS_PG_ANSWER_BIND] = PFS_PG_COM_BIND;
		arena->answer_class[PFS_PG_ANSWER_EXECUTE] = PFS_PG_COM_EXECUTE;
		arena->answer_class[PFS_PG_ANSWER_DESCRIBE] = PFS_PG_COM_DESCRIBE;
		arena->answer_class[PFS_PG_ANSWER_CLOSE] = PFS_PG_COM_CLOSE;
		arena->answer_class[PFS_PG_ANSWER_QUERY] = PFS_PG_COM_QUERY;
	}
	if (PFS_BUILT_TRANSACTIONS)
		pfs_register(arena, PFS_CLASS_TRANSACTION, "transaction", "Transactions", 0, true, true);
	if (PFS_BUILT_ERRORS)
		pfs_register(arena, PFS_CLASS_ERROR, "error", "Errors by SQLSTATE", 0, true, false);
	register_thread_classes(arena);
	pfs_pg_register_waits(arena);	/* last: more may come later */
}
