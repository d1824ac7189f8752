/*
 * pfs_gen.c
 *		Prints what follows from the table descriptors: DDL, documentation, the matrix for tests.
 *
 *		pfs_gen sql | markdown | json
 *
 * Links the core only.  scripts/gen.sh puts the output where it belongs; `make gen` calls that.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/table.h"

#define SCHEMA "performance_schema"

/* Column names that are reserved words in PostgreSQL (those a table of ours could have). */
static const char *const reserved_words[] = {
	"all", "analyse", "analyze", "and", "any", "array", "as", "asc", "both", "case", "cast",
	"check", "collate", "column", "constraint", "create", "current_role", "current_schema",
	"current_user", "default", "desc", "distinct", "do", "else", "end", "except", "false", "fetch",
	"for", "foreign", "from", "grant", "group", "having", "in", "initially", "into", "lateral",
	"leading", "limit", "localtime", "not", "null", "offset", "on", "only", "or", "order",
	"primary", "references", "returning", "select", "session_user", "some", "symmetric", "table",
	"then", "to", "trailing", "true", "union", "unique", "user", "using", "variadic", "when",
	"where", "window", "with",
};

static const char *
sql_type(const PfsColumn *column)
{
	switch (column->type)
	{
#define PFS_COLUMN_SQL(type, ddl, oid) \
		case PFS_COLUMN_##type: \
			return ddl;
#include "fdw/column_types.def"
#undef PFS_COLUMN_SQL
	}
	fprintf(stderr, "pfs_gen: column %s has an unknown type\n", column->name);
	exit(1);
}

static bool
needs_quotes(const char *name)
{
	if (!islower((unsigned char) name[0]) && name[0] != '_')
		return true;
	for (const char *p = name; *p != '\0'; p++)
		if (!islower((unsigned char) *p) && !isdigit((unsigned char) *p) && *p != '_')
			return true;
	for (size_t i = 0; i < PFS_LENGTH(reserved_words); i++)
		if (strcmp(reserved_words[i], name) == 0)
			return true;
	return false;
}

/* An identifier; quoted only if it has to be. */
static const char *
identifier(const char *name)
{
	static char quoted[160];

	if (!needs_quotes(name))
		return name;
	snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	return quoted;
}

/* Prints text with each of the characters preceded by a copy of itself or by an escape. */
static void
print_escaped(const char *text, const char *special, char escape)
{
	for (; *text != '\0'; text++)
	{
		if (strchr(special, *text) != NULL)
			putchar(escape);
		putchar(*text);
	}
}

static void
print_literal(const char *text)
{
	putchar('\'');
	print_escaped(text, "'", '\'');
	putchar('\'');
}

static void
print_json(const char *text)
{
	putchar('"');
	print_escaped(text, "\"\\", '\\');
	putchar('"');
}

/* --- SQL --- */

static void
print_sql_table(const PfsTable *table)
{
	const PfsColumn *column;

	printf("\nCREATE FOREIGN TABLE " SCHEMA ".%s (\n", identifier(table->name));
	for (int i = 0; (column = pfs_table_column(table, i, NULL)) != NULL; i++)
		printf("%s\t%s %s", i > 0 ? ",\n" : "", identifier(column->name), sql_type(column));
	printf("\n) SERVER " SCHEMA " OPTIONS (table_name '%s');\n", table->name);
	printf("COMMENT ON FOREIGN TABLE " SCHEMA ".%s IS\n\t", identifier(table->name));
	print_literal(table->doc);
	printf(";\n");
	for (int i = 0; (column = pfs_table_column(table, i, NULL)) != NULL; i++)
	{
		printf("COMMENT ON COLUMN " SCHEMA ".%s.", identifier(table->name));
		printf("%s IS\n\t", identifier(column->name));
		print_literal(column->doc);
		printf(";\n");
	}
}

static void
print_sql(void)
{
	printf("-- Tables: printed by src/gen/pfs_gen.c from the descriptors in src/core.\n");
	for (int i = 0; pfs_tables[i] != NULL; i++)
		print_sql_table(pfs_tables[i]);
}

/* --- Markdown --- */

/* What one may do with the table besides SELECT. */
static void
print_markdown_rights(const PfsTable *table)
{
	const struct
	{
		bool		allowed;
		const char *word;
	}			rights[] = {
		{table->update != NULL, "UPDATE"},
		{table->insert != NULL, "INSERT"},
		{table->remove != NULL, "DELETE"},
		{table->reset != NULL, "TRUNCATE"},
	};

	printf("SELECT");
	for (size_t i = 0; i < PFS_LENGTH(rights); i++)
		if (rights[i].allowed)
			printf(", %s", rights[i].word);
	printf("\n\n");
}

static void
print_markdown_column(const PfsColumn *column)
{
	const char *comma = "";

	printf("| %s | %s | ", column->name, sql_type(column));
	if (column->flags & PFS_COLUMN_KEY)
	{
		printf("key");
		comma = ", ";
	}
	if (column->flags & PFS_COLUMN_UPDATABLE)
	{
		printf("%supdatable", comma);
		comma = ", ";
	}
	if (column->flags & PFS_COLUMN_PRIVATE)
		printf("%sprivate", comma);
	printf(" | ");
	print_escaped(column->doc, "|*_<", '\\');
	printf(" |\n");
}

static void
print_markdown(void)
{
	const PfsColumn *column;

	printf("# Tables of the schema performance_schema\n\n"
		   "Times are picoseconds. *key*: the row's identity; `column = value` is handed down to\n"
		   "the scan. *updatable*: UPDATE may set it. *private*: shown to members of\n"
		   "`pg_read_all_stats` only. A row is consistent in itself; a table is no snapshot.\n"
		   "Changes are not transactional: they take effect at once and ROLLBACK does not undo\n"
		   "them.\n\n");
	for (int i = 0; pfs_tables[i] != NULL; i++)
		printf("- [%s](#%s)\n", pfs_tables[i]->name, pfs_tables[i]->name);
	for (int i = 0; pfs_tables[i] != NULL; i++)
	{
		printf("\n## %s\n\n", pfs_tables[i]->name);
		print_escaped(pfs_tables[i]->doc, "*_<", '\\');
		printf(".\n\n");
		print_markdown_rights(pfs_tables[i]);
		printf("| Column | Type | | Meaning |\n|---|---|---|---|\n");
		for (int j = 0; (column = pfs_table_column(pfs_tables[i], j, NULL)) != NULL; j++)
			print_markdown_column(column);
	}
}

/* --- JSON --- */

static const char *
json_bool(bool value)
{
	return value ? "true" : "false";
}

static void
print_json_column(const PfsColumn *column)
{
	printf("        {\"name\": ");
	print_json(column->name);
	printf(", \"type\": ");
	print_json(sql_type(column));
	printf(", \"key\": %s, \"updatable\": %s, \"private\": %s}",
		   json_bool(column->flags & PFS_COLUMN_KEY),
		   json_bool(column->flags & PFS_COLUMN_UPDATABLE),
		   json_bool(column->flags & PFS_COLUMN_PRIVATE));
}

static void
print_json_table(const PfsTable *table)
{
	const PfsColumn *column;

	printf("    {\n      \"name\": ");
	print_json(table->name);
	printf(",\n      \"update\": %s, \"insert\": %s, \"delete\": %s, \"truncate\": %s,\n",
		   json_bool(table->update != NULL), json_bool(table->insert != NULL),
		   json_bool(table->remove != NULL), json_bool(table->reset != NULL));
	printf("      \"columns\": [\n");
	for (int i = 0; (column = pfs_table_column(table, i, NULL)) != NULL; i++)
	{
		if (i > 0)
			printf(",\n");
		print_json_column(column);
	}
	printf("\n      ]\n    }");
}

static void
print_matrix(void)
{
	printf("{\n  \"tables\": [\n");
	for (int i = 0; pfs_tables[i] != NULL; i++)
	{
		if (i > 0)
			printf(",\n");
		print_json_table(pfs_tables[i]);
	}
	printf("\n  ]\n}\n");
}

int
main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (strcmp(what, "sql") == 0)
		print_sql();
	else if (strcmp(what, "markdown") == 0)
		print_markdown();
	else if (strcmp(what, "json") == 0)
		print_matrix();
	else
	{
		fprintf(stderr, "usage: pfs_gen sql | markdown | json\n");
		return 2;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
