/*
 * pg_digest.c - feeds the server's scanner to the core's digest normaliser.
 *
 * The scanner is used without the grammar: parser/gram.h is not installed everywhere. The codes of
 * the basic tokens do not depend on the grammar's keywords (parser/scanner.h promises their order
 * to every user of the scanner); a run-time check guards against a server that breaks it.
 *
 * All memory lives in two contexts of the call. What the scanner returns for each token goes to the
 * second one, which is emptied now and then: a long statement costs two copies of itself, its
 * longest literal and a constant.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "parser/scanner.h"
#include "utils/elog.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "core/digest_text.h"
#include "core/text_mask.h"
#include "pg/pg_digest.h"

#define TOKENS_PER_RESET 1024

/* In the order of the comment on token codes in parser/scanner.h. */
enum
{
	TOKEN_IDENT = 258,
	TOKEN_UIDENT,
	TOKEN_FCONST,
	TOKEN_SCONST,
	TOKEN_USCONST,
	TOKEN_BCONST,
	TOKEN_XCONST,
	TOKEN_OP,
	TOKEN_ICONST,
	TOKEN_PARAM,
	TOKEN_TYPECAST,
	TOKEN_DOT_DOT,
	TOKEN_COLON_EQUALS,
	TOKEN_EQUALS_GREATER,
	TOKEN_LESS_EQUALS,
	TOKEN_GREATER_EQUALS,
	TOKEN_NOT_EQUALS,
	TOKEN_FIRST_KEYWORD,
};

typedef void (*PfsTokenSink)(void *arg, int token, const core_YYSTYPE *value);

/* A scan and what its callback needs. */
typedef struct PfsScan
{
	const char *query; /* need not be terminated */
	size_t len;
	bool standard_strings; /* standard_conforming_strings, whatever the session has */
	bool other_strings; /* the opposite of what the session has */
	PfsTokenSink sink;
	void *arg;
} PfsScan;

/* How far [ALTER ...] SET a.b = has been read: names behind it are values, and keys are passed so. */
typedef enum PfsSetting
{
	SETTING_START,
	SETTING_NEVER, /* another statement */
	SETTING_AWAITED,
	SETTING_SET,
	SETTING_NAME,
	SETTING_DOT,
	SETTING_DOTTED_NAME,
	SETTING_VALUES,
} PfsSetting;

typedef struct PfsFeed
{
	PfsDigestText digest;
	PfsSetting setting;
	bool after_unicode; /* the last token was U&'...' or U&"..." */
	bool after_uescape; /* the last token was the UESCAPE that belongs to it */
} PfsFeed;

typedef struct PfsProbe
{
	int count;
	bool ok;
} PfsProbe;

/* Whether the token codes are the expected ones; owner: this process, for its life. */
static enum {
	CODES_UNCHECKED,
	CODES_KNOWN,
	CODES_UNKNOWN,
} codes_state = CODES_UNCHECKED;

static bool scan_query(const PfsScan *scan);
static void feed_token(void *arg, int token, const core_YYSTYPE *value);
static size_t clip_server(const char *string, size_t len, size_t limit);

/*
 * Is it a command of which another standard_conforming_strings makes other tokens?  It was parsed
 * with the one that the session had then: what we take for a name may be the inside of a literal.
 */
static bool
reads_in_two_ways(const char *query, size_t len)
{
	uint8 hashes[2][PFS_SHA256_SIZE];

	if (memmem(query, len, "\\'", 2) == NULL || pfs_text_is_query(query, len))
		return false;
	for (int i = 0; i < 2; i++)
	{
		PfsFeed feed = {.after_unicode = false};
		PfsScan scan = {.query = query, .len = len, .other_strings = i > 0, .sink = feed_token,
						.arg = &feed};

		pfs_digest_text_begin(&feed.digest, NULL, 0);
		pfs_digest_text_set_clip(&feed.digest, clip_server);
		scan_query(&scan);
		pfs_digest_text_end(&feed.digest, hashes[i]);
	}
	return memcmp(hashes[0], hashes[1], PFS_SHA256_SIZE) != 0;
}

/* As a text that nobody has parsed. */
static size_t
mask(const char *query, size_t len, char *buf, size_t size, uint8 hash[PFS_SHA256_SIZE])
{
	size_t used = size > 0 ? pfs_text_mask(query, len, buf, size - 1) : 0;
	PfsSha256 sha;

	pfs_sha256_init(&sha);
	pfs_sha256_update(&sha, buf, used);
	pfs_sha256_final(&sha, hash);
	if (size > 0)
		buf[used] = '\0';
	return used;
}

size_t
pfs_pg_normalize(const char *query, int location, int len, char *buf, size_t size,
				 uint8 hash[PFS_SHA256_SIZE])
{
	const char *start = query + (location > 0 ? location : 0);
	size_t limit = len > 0 ? (size_t) len : PFS_PG_DIGEST_SCAN_MAX + 1;
	PfsFeed feed = {.after_unicode = false};
	PfsScan scan = {.query = start, .sink = feed_token, .arg = &feed};
	bool whole;

	if (pfs_pg_digest_usable() &&
		reads_in_two_ways(start, strnlen(start, Min(limit, PFS_PG_DIGEST_SCAN_MAX))))
		return mask(start, strnlen(start, limit), buf, size, hash);
	pfs_digest_text_begin(&feed.digest, buf, size);
	pfs_digest_text_set_clip(&feed.digest, clip_server);
	if (pfs_pg_digest_usable())
	{
		scan.len = strnlen(start, Min(limit, PFS_PG_DIGEST_SCAN_MAX + 1));
		whole = scan.len <= PFS_PG_DIGEST_SCAN_MAX;
		if (!whole)
			scan.len = clip_server(start, scan.len, PFS_PG_DIGEST_SCAN_MAX);
		if (!scan_query(&scan) && !whole)
		{
			/* Cut within a token: with so long a text that is a literal. */
			pfs_digest_text_token(&feed.digest, PFS_TOKEN_LITERAL, NULL, 0);
		}
		if (!whole)
			pfs_digest_text_abandon(&feed.digest);
	}
	return pfs_digest_text_end(&feed.digest, hash);
}

uint64
pfs_pg_queryid_from_digest(const uint8 hash[PFS_SHA256_SIZE])
{
	uint64 id = 0;

	for (int i = 0; i < 8; i++)
		id = id << 8 | hash[i];
	return id == 0 ? 1 : id;
}

/* Runs the scanner over all tokens; called with the contexts set up and errors caught. */
static void
scan_tokens(const PfsScan *scan, MemoryContext scan_context, MemoryContext token_context)
{
	core_yy_extra_type extra;
	core_YYSTYPE value;
	YYLTYPE where;
	core_yyscan_t scanner;
	int token;

	MemoryContextSwitchTo(scan_context);
	scanner =
		scanner_init(pnstrdup(scan->query, scan->len), &extra, &ScanKeywords, ScanKeywordTokens);
	extra.escape_string_warning = false;
	if (scan->standard_strings || scan->other_strings)
		extra.standard_conforming_strings =
			scan->standard_strings || !extra.standard_conforming_strings;
	MemoryContextSwitchTo(token_context);
	for (int count = 1; (token = core_yylex(&value, &where, scanner)) != 0; count++)
	{
		scan->sink(scan->arg, token, &value);
		if (count % TOKENS_PER_RESET == 0)
			MemoryContextReset(token_context);
	}
	scanner_finish(scanner);
}

/*
 * Scans without any effect on the session: no error leaves, no message is sent (the scanner's own
 * notices, about long names, have been sent when the statement was parsed), no memory stays.
 * Returns false if it ended early.
 */
static bool
scan_query(const PfsScan *scan)
{
	MemoryContext caller_context = CurrentMemoryContext;
	MemoryContext volatile scan_context = NULL;
	int saved_client_level = client_min_messages;
	int saved_log_level = log_min_messages;
	volatile bool ok = true;

	PG_TRY();
	{
		MemoryContext token_context;

		error_context_stack = NULL; /* PG_END_TRY puts it back */
		client_min_messages = ERROR;
		log_min_messages = PANIC;
		scan_context = AllocSetContextCreate(caller_context, "performance_schema digest",
											 ALLOCSET_DEFAULT_SIZES);
		token_context = AllocSetContextCreate(scan_context, "performance_schema digest tokens",
											  ALLOCSET_DEFAULT_SIZES);
		scan_tokens(scan, scan_context, token_context);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller_context);
		FlushErrorState();
		ok = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller_context);
	client_min_messages = saved_client_level;
	log_min_messages = saved_log_level;
	if (scan_context != NULL)
		MemoryContextDelete(scan_context);
	return ok;
}

static void
feed_text(PfsDigestText *digest, PfsTokenKind kind, const char *token)
{
	pfs_digest_text_token(digest, kind, token, strlen(token));
}

/* The spelling of an operator that has a token code of its own; NULL if token is none. */
static const char *
operator_text(int token)
{
	static const char *const texts[] = {"::", "..", ":=", "=>", "<=", ">=", "<>"};

	if (token < TOKEN_TYPECAST || token > TOKEN_NOT_EQUALS)
		return NULL;
	return texts[token - TOKEN_TYPECAST];
}

/*
 * The grammar reads UESCAPE 'c' as a part of the string or name before it, so it leaves no trace
 * here either. Returns true if the token is such a part.
 */
static bool
is_uescape_part(PfsFeed *feed, int token, const core_YYSTYPE *value)
{
	if (feed->after_uescape)
	{
		feed->after_uescape = false;
		return token == TOKEN_SCONST;
	}
	if (feed->after_unicode && token >= TOKEN_FIRST_KEYWORD &&
		strcmp(value->keyword, "uescape") == 0)
	{
		feed->after_unicode = false;
		feed->after_uescape = true;
		return true;
	}
	feed->after_unicode = token == TOKEN_UIDENT || token == TOKEN_USCONST;
	return false;
}

static PfsSetting
next_setting(PfsSetting before, int token, const core_YYSTYPE *value)
{
	const char *keyword = token >= TOKEN_FIRST_KEYWORD ? value->keyword : "";
	bool name = token == TOKEN_IDENT || token == TOKEN_UIDENT || keyword[0] != '\0';

	if (token == ';')
		return SETTING_START;
	switch (before)
	{
		case SETTING_START:
			return strcmp(keyword, "set") == 0 ? SETTING_SET
				: strcmp(keyword, "alter") == 0 ? SETTING_AWAITED : SETTING_NEVER;
		case SETTING_SET:
			if (strcmp(keyword, "session") == 0 || strcmp(keyword, "local") == 0)
				return SETTING_SET;
			return name ? SETTING_NAME : SETTING_AWAITED;
		case SETTING_NAME:
			return token == '.' ? SETTING_DOT : SETTING_AWAITED;
		case SETTING_DOT:
			return name ? SETTING_DOTTED_NAME : SETTING_AWAITED;
		case SETTING_DOTTED_NAME:
			if (token == '.')
				return SETTING_DOT;
			return token == '=' || strcmp(keyword, "to") == 0 ? SETTING_VALUES : SETTING_AWAITED;
		case SETTING_AWAITED:
			return strcmp(keyword, "set") == 0 ? SETTING_SET : SETTING_AWAITED;
		default:
			return before;
	}
}

static void
feed_token(void *arg, int token, const core_YYSTYPE *value)
{
	PfsFeed *feed = arg;
	char self = (char) token;

	if (is_uescape_part(feed, token, value))
		return;
	feed->setting = next_setting(feed->setting, token, value);
	if (feed->setting == SETTING_VALUES && (token == TOKEN_IDENT || token == TOKEN_UIDENT))
		token = TOKEN_SCONST;
	switch (token)
	{
		case TOKEN_IDENT:
		case TOKEN_UIDENT:
			feed_text(&feed->digest, PFS_TOKEN_IDENT, value->str);
			break;
		case TOKEN_FCONST:
		case TOKEN_SCONST:
		case TOKEN_USCONST:
		case TOKEN_BCONST:
		case TOKEN_XCONST:
		case TOKEN_ICONST:
			pfs_digest_text_token(&feed->digest, PFS_TOKEN_LITERAL, NULL, 0);
			break;
		case TOKEN_PARAM:
			pfs_digest_text_token(&feed->digest, PFS_TOKEN_PARAM, NULL, 0);
			break;
		case TOKEN_OP:
			feed_text(&feed->digest, PFS_TOKEN_OPERATOR, value->str);
			break;
		default:
			if (token < TOKEN_IDENT)
				pfs_digest_text_token(&feed->digest, PFS_TOKEN_OPERATOR, &self, 1);
			else if (token >= TOKEN_FIRST_KEYWORD)
				feed_text(&feed->digest, PFS_TOKEN_KEYWORD, value->keyword);
			else
				feed_text(&feed->digest, PFS_TOKEN_OPERATOR, operator_text(token));
			break;
	}
}

/* Expects every basic token once, in the order of their codes, and the first keyword. */
static void
probe_token(void *arg, int token, const core_YYSTYPE *value)
{
	PfsProbe *probe = arg;

	if (token != TOKEN_IDENT + probe->count)
		probe->ok = false;
	if (token == TOKEN_FIRST_KEYWORD && value->keyword != GetScanKeyword(0, &ScanKeywords))
		probe->ok = false;
	probe->count++;
}

bool
pfs_pg_digest_usable(void)
{
	static const char query[] =
		"x U&\"x\" 1.5 E'x' U&'x' B'1' X'1' ~~ 1 $1 :: .. := => <= >= <> abort";
	PfsProbe probe = {.ok = true};
	PfsScan scan = {.query = query,
					.len = sizeof(query) - 1,
					.standard_strings = true, /* U&'...' is an error without */
					.sink = probe_token,
					.arg = &probe};

	/* A scan that ends early without a wrong code (no memory) decides nothing. */
	if (codes_state == CODES_UNCHECKED)
	{
		bool whole = scan_query(&scan);

		if (!probe.ok || (whole && probe.count != TOKEN_FIRST_KEYWORD - TOKEN_IDENT + 1))
			codes_state = CODES_UNKNOWN;
		else if (whole)
			codes_state = CODES_KNOWN;
	}
	return codes_state == CODES_KNOWN;
}

/* Cuts by the characters of the server's encoding. */
static size_t
clip_server(const char *string, size_t len, size_t limit)
{
	return (size_t) pg_mbcliplen(string, (int) len, (int) limit);
}
