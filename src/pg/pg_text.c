/*
 * pg_text.c
 *		What is kept of texts and messages, see pg_text.h.
 */
#include "postgres.h"

#include "core/text_mask.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pg/pg_arena.h"
#include "pg/pg_command.h"
#include "pg/pg_compat.h"
#include "pg/pg_digest.h"
#include "pg/pg_hooks.h"
#include "pg/pg_text.h"
#include "utils/builtins.h"

PFS_SQL_FUNCTION(performance_schema_shown_text);

/* --- commands --- */

/* Does the query that a command executes share the command's source text? */
static bool
shares_its_text(const Node *query)
{
	const Node *utility = query != NULL && IsA(query, Query) ? ((const Query *) query)->utilityStmt
		: NULL;

	return utility == NULL || !IsA(utility, ExecuteStmt);
}

/* ALTER TABLE may be used for it, too: only foreign tables and their columns have such options. */
static bool
alters_foreign_table(const AlterTableStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->cmds)
	{
		AlterTableType type = ((const AlterTableCmd *) lfirst(cell))->subtype;

		if (type == AT_GenericOptions || type == AT_AlterColumnGenericOptions)
			return true;
	}
	return stmt->objtype == OBJECT_FOREIGN_TABLE;
}

uint32
pfs_pg_text_flags(const Node *utility)
{
	switch (nodeTag(utility))
	{
		case T_CreateRoleStmt:
		case T_AlterRoleStmt:
		case T_AlterRoleSetStmt:
		case T_AlterDatabaseSetStmt:
		case T_AlterSystemStmt:
		case T_CreateFdwStmt:
		case T_AlterFdwStmt:
		case T_CreateForeignServerStmt:
		case T_AlterForeignServerStmt:
		case T_CreateForeignTableStmt:
		case T_ImportForeignSchemaStmt:
		case T_CreateUserMappingStmt:
		case T_AlterUserMappingStmt:
		case T_CreateSubscriptionStmt:
		case T_AlterSubscriptionStmt:
			return PFS_PG_SECRET | PFS_PG_SECRET_MESSAGE;
		case T_AlterTableStmt:
			return alters_foreign_table((const AlterTableStmt *) utility) ? PFS_PG_SECRET | PFS_PG_SECRET_MESSAGE : 0;
		case T_VariableSetStmt:
			{
				/* keys for functions are passed in settings of one's own */
				const char *name = ((const VariableSetStmt *) utility)->name;

				return name != NULL && strchr(name, '.') != NULL
					? PFS_PG_SECRET | PFS_PG_SECRET_MESSAGE : 0;
			}
		case T_DoStmt:
			return PFS_PG_SECRET;
		case T_CopyStmt:
			{
				const CopyStmt *copy = (const CopyStmt *) utility;
				uint32		flags = copy->query != NULL ? PFS_PG_OWN_QUERY : 0;

				return copy->is_program ? flags | PFS_PG_SECRET | PFS_PG_SECRET_MESSAGE : flags;
			}
		case T_ExplainStmt:
			return shares_its_text(((const ExplainStmt *) utility)->query) ? PFS_PG_OWN_QUERY : 0;
		case T_CreateTableAsStmt:
			return shares_its_text(((const CreateTableAsStmt *) utility)->query)
				? PFS_PG_OWN_QUERY : 0;
		case T_DeclareCursorStmt:
		case T_RefreshMatViewStmt:
			return PFS_PG_OWN_QUERY;
		default:
			return 0;
	}
}

/* --- texts --- */

static inline bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

PFS_HOT PfsPgPart
pfs_pg_text_part(const char *source, int location, int length)
{
	const char *data = source + (location > 0 ? location : 0);
	size_t		left = length > 0 ? (size_t) length : strlen(data);

	while (left > 0 && is_space(data[0]))
	{
		data++;
		left--;
	}
	while (left > 0 && is_space(data[left - 1]))
		left--;
	return (PfsPgPart) {data, left};
}

static inline void
keep_part(PfsPgText *text, const char *source, int location, int length)
{
	PfsPgPart	part = pfs_pg_text_part(source, location, length);

	text->data = part.data;
	text->length = part.length;
}

static void
keep_normalised(PfsPgText *text, const char *source, int location, int length)
{
	uint8		sha[PFS_SHA_BYTES];

	text->data = text->buffer;
	text->length = pfs_pg_normalize(source, location, length, text->buffer, sizeof(text->buffer),
									sha);
}

/*
 * A query inside a command has the command's source and, before 18, no place in it: its text is the
 * command's then, which is never that of a neighbour in the same message.  A function's statement,
 * evaluated by the command itself, has a source of its own.
 */
static bool
keep_commands(PfsPgText *text, const PfsStatement *statement, const char *source, int location,
			  int length)
{
	const PfsStatement *command = statement->parent;
	bool		secret = (command->host_flags & PFS_PG_SECRET) != 0;
	const char *kept;
	size_t		size;

	if (!secret && (location > 0 || length > 0))
		return false;
	text->length = 0;
	kept = pfs_statement_text(&pfs_session, command, &size);
	if (size > 0 && !secret &&
		(size > strlen(source) || memmem(source, strlen(source), kept, size) == NULL))
		return false;
	text->role = command->record->role;
	text->data = kept;
	text->length = size;
	text->of = command;
	return true;
}

/* A statement without a place, as a rule adds it, is shown only if the source is one statement. */
static pg_noinline void
keep_only_statement(PfsPgText *text, const char *source)
{
	bool		several;
	size_t		first = pfs_text_first(source, strlen(source), &several);

	text->data = source;
	text->length = 0;
	if (!several)
		keep_part(text, source, 0, (int) Min(first, (size_t) PG_INT32_MAX));
}

PFS_HOT void
pfs_pg_text_kept(PfsPgText *text, const PfsStatement *statement, const char *source, int location,
				 int length)
{
	const PfsStatement *parent = statement->parent;

	text->of = NULL;
	if (pfs_unlikely(parent != NULL && (parent->host_flags & PFS_PG_OWN_QUERY) != 0) &&
		keep_commands(text, statement, source, location, length))
		return;
	text->role = GetUserId();
	if (pfs_unlikely((statement->host_flags & PFS_PG_SECRET) != 0))
		keep_normalised(text, source, location, length);
	else if (pfs_unlikely(location < 0))
		keep_only_statement(text, source);
	else
		keep_part(text, source, location, length);
}

void
pfs_pg_text_of_message(PfsPgText *text, const char *message, bool parsed)
{
	bool		several;
	size_t		whole = strlen(message);
	size_t		first = pfs_text_first(message, whole, &several);

	text->role = GetOuterUserId();	/* the client's, even if a function is running */
	text->data = text->buffer;
	text->length = 0;
	if (parsed && several)
	{
		/* which of them is it?  the first, as long as none has ended */
		if (pfs_pg_command.ended >= pfs_pg_command_asked() || !pfs_wants(&pfs_session, PFS_GATE_STATEMENTS))
			return;
		whole = first;
	}
	if (parsed && pfs_text_is_query(message, whole))
		keep_part(text, message, 0, (int) Min(first, (size_t) PG_INT32_MAX));
	else
		text->length = pfs_text_mask(message, whole, text->buffer, sizeof(text->buffer));
}

/* --- messages --- */

/* All quotes of all languages: those of ASCII, and what is not ASCII. */
static inline bool
may_be_quote(char c)
{
	return c == '"' || c == '\'' || IS_HIGHBIT_SET(c);
}

/* Does the text show all that stands from here, a double quote, to the last quote?  A value may have quotes of its own. */
static bool
text_shows_quoted(const PfsStatement *statement, const char *first, const char *last)
{
	size_t		size;
	const char *text;

	if (statement == NULL || statement->place < 0 || *first != '"' || *last != '"' || last - first < 2)
		return false;
	text = pfs_statement_text(&pfs_session, statement, &size);
	return memmem(text, size, first + 1, (size_t) (last - first - 1)) != NULL;
}

/* Its own, or of a statement that it is nested in: a value may have come from there. */
static bool
message_is_secret(const PfsStatement *statement)
{
	for (; statement != NULL; statement = statement->parent)
		if ((statement->host_flags & PFS_PG_SECRET_MESSAGE) != 0)
			return true;
	return false;
}

/* What others quote is a name. */
static bool
quotes_a_value(int sqlstate)
{
	return sqlstate == ERRCODE_SYNTAX_ERROR || ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_DATA_EXCEPTION;
}

const char *
pfs_pg_message_kept(const PfsStatement *statement, int sqlstate, const char *message)
{
	static char kept[PFS_MESSAGE_LENGTH + 1];
	const char *first = message;
	const char *last;

	if (message == NULL || message == kept || !(quotes_a_value(sqlstate) || message_is_secret(statement)))
		return message;
	while (*first != '\0' && !may_be_quote(*first))
		first++;
	if (*first == '\0')
		return message;
	last = first + strlen(first) - 1;
	while (last > first && !may_be_quote(*last))
		last--;
	if (text_shows_quoted(statement, first, last))
		return message;
	if (IS_HIGHBIT_SET(*first) || IS_HIGHBIT_SET(*last))
		snprintf(kept, sizeof(kept), "%.*s?", (int) (first - message), message);
	else
		snprintf(kept, sizeof(kept), "%.*s?%s", (int) (first - message + 1), message, last);
	return kept;
}

/* --- in SQL --- */

/*
 * What pfs_pg_text_of_message leaves of a message that pg_stat_activity shows: for views.  Several
 * statements are masked, because nobody knows which of them runs; so is the last message of an idle
 * session, which may never have been parsed.
 */
Datum
performance_schema_shown_text(PG_FUNCTION_ARGS)
{
	text	   *message = PG_GETARG_TEXT_PP(0);
	const char *data = VARDATA_ANY(message);
	size_t		length = VARSIZE_ANY_EXHDR(message);
	bool		several;
	text	   *shown;

	pfs_text_first(data, length, &several);
	if (PG_GETARG_BOOL(1) && !several && pfs_text_is_query(data, length))
		PG_RETURN_TEXT_P(message);
	shown = palloc(VARHDRSZ + length + 2);
	SET_VARSIZE(shown, VARHDRSZ + pfs_text_mask(data, length, VARDATA(shown), length + 2));
	PG_RETURN_TEXT_P(shown);
}
