/*
 * fdw_conninfo.c
 *		SQL function that takes a connection string to pieces, for replication_connection_configuration.
 *
 * The server has no libpq to ask: keywords and values, or a URI, as libpq reads them; of a list of hosts in a
 * URI host and port are those of the first.
 */
#include "postgres.h"

#include <ctype.h>

#include "fmgr.h"
#include "utils/builtins.h"

#include "pg/pg_compat.h"

PFS_SQL_FUNCTION(performance_schema_conninfo_value);

static bool
is_space(char c)
{
	return isspace((unsigned char) c);
}

static char *
after_spaces(char *at)
{
	while (is_space(*at))
		at++;
	return at;
}

/* Takes the value that begins here; *end is behind it.  Unquoted and unescaped in place. */
static char *
take_value(char *at, char **end)
{
	bool		quoted = *at == '\'';
	char	   *value = at + quoted;
	char	   *to = value;

	for (at = value; *at != '\0' && (quoted ? *at != '\'' : !is_space(*at)); at++)
	{
		if (*at == '\\' && at[1] != '\0')
			at++;
		*to++ = *at;
	}
	*end = *at != '\0' ? at + 1 : at;
	*to = '\0';
	return value;
}

/* "host=a port = 5432 user='b c'": the last that names the keyword, as in libpq. */
static char *
value_of_pairs(char *at, const char *keyword)
{
	char	   *found = NULL;

	for (at = after_spaces(at); *at != '\0'; at = after_spaces(at))
	{
		char	   *name = at,
				   *end,
				   *value;

		while (*at != '\0' && *at != '=' && !is_space(*at))
			at++;
		end = at;
		at = after_spaces(at);
		if (*at != '=')
			return found;
		at = after_spaces(at + 1);
		value = take_value(at, &at);
		*end = '\0';
		if (strcmp(name, keyword) == 0)
			found = value;
	}
	return found;
}

static char *
unescaped(char *text)
{
	char	   *to = text;

	for (char *at = text; *at != '\0'; at++)
	{
		unsigned int byte;

		if (*at == '%' && isxdigit((unsigned char) at[1]) && isxdigit((unsigned char) at[2]) &&
			sscanf(at + 1, "%2x", &byte) == 1 && byte > 0 && byte < 0x80)
		{
			*to++ = (char) byte;
			at += 2;
		}
		else
			*to++ = *at;
	}
	*to = '\0';
	return text;
}

/* Cuts a text in two at the first of these characters; what follows it, else NULL. */
static char *
cut(char *text, const char *at)
{
	char	   *place = strpbrk(text, at);

	if (place == NULL)
		return NULL;
	*place = '\0';
	return place + 1;
}

/* What follows "postgresql://": user:password@host:port,host:port/database?keyword=value&... */
static char *
value_of_uri(char *authority, const char *keyword)
{
	char	   *user = NULL,
			   *host = authority,
			   *port,
			   *parameters,
			   *at = strpbrk(authority, "@/");

	if (at != NULL && *at == '@')	/* a password may hold a question mark */
	{
		*at = '\0';
		user = authority;
		host = at + 1;
		cut(user, ":");
	}
	parameters = cut(host, "?");
	while (parameters != NULL)
	{
		char	   *name = parameters,
				   *value;

		parameters = cut(parameters, "&");
		value = cut(name, "=");
		if (value != NULL && strcmp(name, keyword) == 0)
			return unescaped(value);
	}
	cut(host, "/");
	cut(host, ",");
	port = host[0] == '[' && strchr(host, ']') != NULL ? cut(strchr(host, ']') + 1, ":") : cut(host, ":");
	if (host[0] == '[')
	{
		host++;
		cut(host, "]");
	}
	at = strcmp(keyword, "user") == 0 ? user : strcmp(keyword, "host") == 0 ? host
		: strcmp(keyword, "port") == 0 ? port : NULL;
	return at != NULL && *at != '\0' ? unescaped(at) : NULL;
}

Datum
performance_schema_conninfo_value(PG_FUNCTION_ARGS)
{
	char	   *conninfo = after_spaces(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	char	   *keyword = text_to_cstring(PG_GETARG_TEXT_PP(1));
	char	   *uri = strstr(conninfo, "://");
	char	   *value;

	if (uri != NULL && (strncmp(conninfo, "postgresql://", 13) == 0 || strncmp(conninfo, "postgres://", 11) == 0))
		value = value_of_uri(uri + 3, keyword);
	else
		value = value_of_pairs(conninfo, keyword);
	if (value == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(value));
}
