/*
 * test_digest_text.c - the rules of the statement digest, on tokens of a small scanner of its own.
 *
 * Unquoted words are all fed as keywords, as a host with a very large grammar would: the digest has
 * to tell names from keywords by its own list.
 */
#include "core/digest_text.h"
#include "tap.h"

#include <ctype.h>

#define TEXT_MAX 8192

typedef struct TextCase
{
	const char *sql;
	const char *want;
} TextCase;

typedef struct PairCase
{
	const char *a;
	const char *b;
} PairCase;

typedef struct Digest
{
	char text[TEXT_MAX];
	uint8_t hash[PFS_SHA256_SIZE];
} Digest;

static const TextCase text_cases[] = {
	/* names, keywords, spacing */
	{"", ""},
	{"select a, b from t where id = 5 and b in (1, 2)",
	 "SELECT `a` , `b` FROM `t` WHERE `id` = ? AND `b` IN (...)"},
	{"SELECT * FROM s.t -- tail\n WHERE /* c */ x='y'", "SELECT * FROM `s` . `t` WHERE `x` = ?"},
	{"select name, type, value, key, data, comment, level, date from t",
	 "SELECT `name` , `type` , `value` , `key` , `data` , `comment` , `level` , `date` FROM `t`"},
	{"select t.between, t.select, t.in, t.array from t",
	 "SELECT `t` . `between` , `t` . `select` , `t` . `in` , `t` . `array` FROM `t`"},
	{"select \"a`b\", \"Mixed\" from t", "SELECT `a``b` , `Mixed` FROM `t`"},
	{"select count(*) from t limit 10 offset 20", "SELECT `count` ( * ) FROM `t` LIMIT ? OFFSET ?"},
	{"select json_table from t", "SELECT `json_table` FROM `t`"},
	/* semicolons */
	{"select 1;", "SELECT ?"},
	{"select 1;;", "SELECT ?"},
	{";", ""},
	{"; ; select 1", "SELECT ?"},
	{"begin;; commit;", "BEGIN ; COMMIT"},
	/* literals and signs */
	{"select 1.5, 'x', $1, null", "SELECT ?, ..."},
	{"select -1", "SELECT ?"},
	{"-1", "?"},
	{"select - + - 1", "SELECT ?"},
	{"select a - 1, a -1, a - -1", "SELECT `a` - ? , `a` - ? , `a` - ?"},
	{"select - a, - (1)", "SELECT - `a` , - (?)"},
	{"select 1 - 2, (1) - 2, x[1] - 2", "SELECT ? - ? , (?) - ? , `x` [?] - ?"},
	{"select x::int - 5", "SELECT `x` :: INT - ?"},
	{"select case when a then -1 else -2 end - 3", "SELECT CASE WHEN `a` THEN ? ELSE ? END - ?"},
	{"where a between -1 and -2", "WHERE `a` BETWEEN ? AND ?"},
	{"where a = -1 and b <> +2", "WHERE `a` = ? AND `b` <> ?"},
	{"limit -1", "LIMIT ?"},
	{"select current_date - 7", "SELECT CURRENT_DATE - ?"},
	{"select true, false", "SELECT TRUE , FALSE"},
	/* NULL as a value and as a word */
	{"select null", "SELECT ?"},
	{"update t set a = null, b = 1", "UPDATE `t` SET `a` = ? , `b` = ?"},
	{"where a is null and b is not null", "WHERE `a` IS NULL AND `b` IS NOT NULL"},
	{"where a is distinct from null", "WHERE `a` IS DISTINCT FROM ?"},
	{"alter table t alter a set not null, alter b drop not null",
	 "ALTER TABLE `t` ALTER `a` SET NOT NULL , ALTER `b` DROP NOT NULL"},
	{"create table t (a int null, b text not null default null, c numeric(10,2) null)",
	 "CREATE TABLE `t` ( `a` INT NULL , `b` `text` NOT NULL DEFAULT NULL , "
	 "`c` NUMERIC (...) NULL )"},
	{"references t on delete set null", "REFERENCES `t` ON DELETE SET NULL"},
	{"order by a nulls first", "ORDER BY `a` NULLS FIRST"},
	{"values (null), (1)", "VALUES (?) /* , ... */"},
	{"insert into t values (null, 1, default)", "INSERT INTO `t` VALUES ( ?, ... , DEFAULT )"},
	/* lists */
	{"select 1, 2, 3", "SELECT ?, ..."},
	{"select 1, 2, a, 3, 4", "SELECT ?, ... , `a` , ?, ..."},
	{"values (1)", "VALUES (?)"},
	{"values (1), (2)", "VALUES (?) /* , ... */"},
	{"values (1), (2), (3)", "VALUES (?) /* , ... */"},
	{"values (1, 2)", "VALUES (...)"},
	{"values (1, 2), (3, 4)", "VALUES (...) /* , ... */"},
	{"values (1, 2), (3, 4), ($1, -5, 6)", "VALUES (...) /* , ... */"},
	{"values (1), (2, 3)", "VALUES (?) , (...)"},
	{"values (1, a), (2, b)", "VALUES ( ? , `a` ) , ( ? , `b` )"},
	{"a in (1)", "`a` IN (...)"},
	{"a not in (1, -2, 'x')", "`a` NOT IN (...)"},
	{"a in (1, b)", "`a` IN ( ? , `b` )"},
	{"a in (select 1)", "`a` IN ( SELECT ? )"},
	{"(a, b) in ((1, 2), (3, 4))", "( `a` , `b` ) IN ( (...) /* , ... */ )"},
	{"f(1), f(1, 2), f()", "`f` (?) , `f` (...) , `f` ( )"},
	{"((1))", "( (?) )"},
	{"select array[1]", "SELECT ARRAY [...]"},
	{"select array[1, 2, 3]", "SELECT ARRAY [...]"},
	{"select array[[1, 2], [3, 4]]", "SELECT ARRAY [...]"},
	{"select array[[[1], [2]], [[3], [4]]]", "SELECT ARRAY [...]"},
	{"select array[1, a]", "SELECT ARRAY [ ? , `a` ]"},
	{"select array[]::int[]", "SELECT ARRAY [ ] :: INT [ ]"},
	{"select a[1], a[1:2], a[-1]", "SELECT `a` [?] , `a` [ ? : ? ] , `a` [?]"},
	{"a = any(array[1, 2])", "`a` = ANY ( ARRAY [...] )"},
	/* PostgreSQL's own */
	{"select 'x'::text, interval '1', date '2020-01-01'",
	 "SELECT ? :: `text` , INTERVAL ? , `date` ?"},
	{"select a ->> 'x', b @> '{}', f(x => 1, y := 2)",
	 "SELECT `a` ->> ? , `b` @> ? , `f` ( `x` => ? , `y` := ? )"},
	{"select now() - interval '1' day, day from t",
	 "SELECT `now` ( ) - INTERVAL ? DAY , `day` FROM `t`"},
	{"fetch first 5 rows only", "FETCH FIRST ? ROWS ONLY"},
	{"rollback to savepoint a", "ROLLBACK TO SAVEPOINT `a`"},
	{"select a::timestamp without time zone", "SELECT `a` :: TIMESTAMP WITHOUT TIME ZONE"},
	{"select $$body$$, $t$ ' $t$", "SELECT ?, ..."},
	{"insert into t values (1) on conflict do nothing",
	 "INSERT INTO `t` VALUES (?) ON CONFLICT DO NOTHING"},
	{"select a at time zone 'x'", "SELECT `a` AT TIME ZONE ?"},
	{"select * from t for no key update", "SELECT * FROM `t` FOR NO KEY UPDATE"},
	{"select sum(a) over (partition by b)", "SELECT `sum` ( `a` ) OVER ( PARTITION BY `b` )"},
	/* the head of a statement */
	{"start transaction isolation level repeatable read",
	 "START TRANSACTION ISOLATION LEVEL REPEATABLE READ"},
	{"begin isolation level serializable, read write",
	 "BEGIN ISOLATION LEVEL SERIALIZABLE , READ WRITE"},
	{"create or replace function f() returns int", "CREATE OR REPLACE FUNCTION `f` ( ) "
												   "`returns` INT"},
	{"drop materialized view if exists v", "DROP MATERIALIZED VIEW IF EXISTS `v`"},
	{"comment on index comment is 'x'", "COMMENT ON INDEX `comment` IS ?"},
	{"drop table comment", "DROP TABLE `comment`"},
	{"show search_path", "SHOW `search_path`"},
	{"set local work_mem = 5", "SET LOCAL `work_mem` = ?"},
	{"truncate view", "TRUNCATE `view`"},
	{"select 1; comment on table t is null", "SELECT ? ; COMMENT ON TABLE `t` IS NULL"},
};

static const PairCase equal_cases[] = {
	{"select a from t", "SELECT  \"a\"\nFROM /* x */ \"t\";"},
	{"select name from t", "select \"name\" from t"},
	{"select json_object from t", "select \"json_object\" from t"},
	{"select a from t where b = 1", "select a from t where b = 'x'"},
	{"select a from t where b = 1", "select a from t where b = $1"},
	{"select a from t where b = 1", "select a from t where b = null"},
	{"select a from t where b = 1", "select a from t where b = -1"},
	{"a in (1)", "a in (1, 2, 3)"},
	{"values (1), (2)", "values (1), (2), (3), (4)"},
	{"array[1]", "array[[1, 2], [3, 4]]"},
	{"select 1, 2", "select 1, 2, 3"},
};

static const PairCase differ_cases[] = {
	{"select a from t", "select a from s.t"},
	{"select a from t", "select \"A\" from t"},
	{"select a - 1", "select a , -1"},
	{"where a is null", "where a = null"},
	{"values (1)", "values (1), (2)"},
	{"values (1)", "values (1, 2)"},
	{"select 1", "select 1, 2"},
	{"select \"a`b\"", "select \"a``b\""},
	{"a in (1)", "a in (b)"},
	{"select true", "select false"},
};

static size_t
span(const char *p, const char *set)
{
	return strspn(p, set);
}

static const char *
skip_space(const char *p)
{
	for (;;)
	{
		if (isspace((unsigned char) *p))
			p++;
		else if (p[0] == '-' && p[1] == '-')
			p += strcspn(p, "\n");
		else if (p[0] == '/' && p[1] == '*' && strstr(p, "*/") != NULL)
			p = strstr(p, "*/") + 2;
		else
			return p;
	}
}

/* Feeds one token and returns what follows it. */
static const char *
feed_one(PfsDigestText *digest, const char *p)
{
	const char *end;
	size_t len;

	if (isalpha((unsigned char) *p) || *p == '_')
	{
		len = span(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
		pfs_digest_text_token(digest, PFS_TOKEN_KEYWORD, p, len);
		return p + len;
	}
	if (*p == '"' && (end = strchr(p + 1, '"')) != NULL)
	{
		pfs_digest_text_token(digest, PFS_TOKEN_IDENT, p + 1, (size_t) (end - p) - 1);
		return end + 1;
	}
	if (*p == '\'' && (end = strchr(p + 1, '\'')) != NULL)
	{
		pfs_digest_text_token(digest, PFS_TOKEN_LITERAL, NULL, 0);
		return end + 1;
	}
	if (*p == '$' && !isdigit((unsigned char) p[1]) && (end = strchr(p + 1, '$')) != NULL)
	{
		char tag[16];

		snprintf(tag, sizeof(tag), "%.*s", (int) (end - p) + 1, p);
		pfs_digest_text_token(digest, PFS_TOKEN_LITERAL, NULL, 0);
		end = strstr(end + 1, tag);
		return end == NULL ? p + strlen(p) : end + strlen(tag);
	}
	if (*p == '$' || isdigit((unsigned char) *p))
	{
		pfs_digest_text_token(digest, *p == '$' ? PFS_TOKEN_PARAM : PFS_TOKEN_LITERAL, NULL, 0);
		return p + 1 + span(p + 1, "0123456789.");
	}
	len = strchr("+-*", *p) != NULL && p[1] != '>' ? 1 : span(p, "<>=:@-");
	if (len == 0)
		len = 1;
	pfs_digest_text_token(digest, PFS_TOKEN_OPERATOR, p, len);
	return p + len;
}

static size_t
normalize(const char *sql, char *buf, size_t size, uint8_t hash[PFS_SHA256_SIZE])
{
	PfsDigestText digest;

	pfs_digest_text_begin(&digest, buf, size);
	for (const char *p = skip_space(sql); *p != '\0'; p = skip_space(p))
		p = feed_one(&digest, p);
	return pfs_digest_text_end(&digest, hash);
}

static void
digest_of(const char *sql, Digest *digest)
{
	normalize(sql, digest->text, sizeof(digest->text), digest->hash);
}

static bool
same_hash(const uint8_t a[PFS_SHA256_SIZE], const uint8_t b[PFS_SHA256_SIZE])
{
	return memcmp(a, b, PFS_SHA256_SIZE) == 0;
}

static void
test_texts(void)
{
	for (size_t i = 0; i < sizeof(text_cases) / sizeof(text_cases[0]); i++)
	{
		Digest got;
		PfsSha256 sha;
		uint8_t want[PFS_SHA256_SIZE];

		digest_of(text_cases[i].sql, &got);
		is_str(got.text, text_cases[i].want, text_cases[i].sql);
		pfs_sha256_init(&sha);
		pfs_sha256_update(&sha, text_cases[i].want, strlen(text_cases[i].want));
		pfs_sha256_final(&sha, want);
		ok(same_hash(got.hash, want), "the hash is that of the text");
	}
}

static void
test_pairs(const PairCase *cases, size_t count, bool equal)
{
	for (size_t i = 0; i < count; i++)
	{
		Digest a;
		Digest b;

		digest_of(cases[i].a, &a);
		digest_of(cases[i].b, &b);
		ok(same_hash(a.hash, b.hash) == equal && (strcmp(a.text, b.text) == 0) == equal,
		   "%s: %s | %s", equal ? "same" : "different", cases[i].a, cases[i].b);
	}
}

/* The table must be sorted, or bisection misses words. */
static void
test_keyword_table(void)
{
#define PFS_DIGEST_WORD(word, flags) word,
#define PFS_DIGEST_PAIR(before, word)
	static const char *const words[] = {
#include "core/digest_keywords.def"
	};
	size_t count = sizeof(words) / sizeof(words[0]);
	int wrong = 0;

	for (size_t i = 1; i < count; i++)
		wrong += strcmp(words[i - 1], words[i]) >= 0;
	is_u64((uint64_t) wrong, 0, "the keywords are sorted");
	ok(count > 200, "%zu keywords", count);
}

/* Every buffer size: same hash, nothing behind the end, a prefix with the tail. */
static void
test_truncation(void)
{
	static const char sql[] = "select \"na\xc3\xafve\", \"\xf0\x9f\x90\x98\" from t "
							  "where a in (1, 2) and \"\xe2\x82\xac\" = 'x'";
	Digest full;
	size_t len;
	int wrong = 0;

	digest_of(sql, &full);
	len = strlen(full.text);
	for (size_t size = 0; size <= len + 2; size++)
	{
		char *buf = malloc(size + 1);
		uint8_t hash[PFS_SHA256_SIZE];
		size_t got;

		memset(buf, '#', size + 1);
		got = normalize(sql, buf, size, hash);
		wrong += !same_hash(hash, full.hash) || buf[size] != '#';
		wrong += size > 0 && (got >= size || buf[got] != '\0');
		if (size > len)
			wrong += strcmp(buf, full.text) != 0;
		else if (size >= 4)
		{
			wrong += memcmp(buf + got - 3, "...", 3) != 0 || got + 4 < size;
			wrong += memcmp(buf, full.text, got - 3) != 0;
			wrong += ((unsigned char) full.text[got - 3] & 0xC0) == 0x80;
		}
		else
			wrong += got != 0;
		free(buf);
	}
	is_u64((uint64_t) wrong, 0, "all buffer sizes");
}

/* A list of count elements, each printed by its number. */
static void
feed_list(PfsDigestText *digest, const char *element, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (i > 0)
			feed_one(digest, ",");
		for (const char *p = skip_space(element); *p != '\0'; p = skip_space(p))
			p = feed_one(digest, p);
	}
}

static void
test_long_lists(void)
{
	static const struct
	{
		const char *before;
		const char *element;
		const char *after;
		const char *want;
	} cases[] = {
		{"in(", "-1", ")", "IN (...)"},
		{"values", "(1, 'x', $3)", "", "VALUES (...) /* , ... */"},
		{"values", "(1)", "", "VALUES (?) /* , ... */"},
		{"array[", "[1, 2]", "]", "ARRAY [...]"},
		{"select", "1", "", "SELECT ?, ..."},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		PfsDigestText digest;
		char text[64];
		uint8_t hash[PFS_SHA256_SIZE];

		pfs_digest_text_begin(&digest, text, sizeof(text));
		feed_list(&digest, cases[i].before, 1);
		feed_list(&digest, cases[i].element, 100000);
		feed_list(&digest, cases[i].after, 1);
		pfs_digest_text_end(&digest, hash);
		is_str(text, cases[i].want, "a list of 100,000");
	}
}

static void
test_depth(void)
{
	PfsDigestText digest;
	char text[200];
	uint8_t hash[PFS_SHA256_SIZE];

	pfs_digest_text_begin(&digest, text, sizeof(text));
	for (int i = 0; i < 100000; i++)
		feed_one(&digest, "(");
	for (int i = 0; i < 100000; i++)
		feed_one(&digest, ")");
	pfs_digest_text_end(&digest, hash);
	ok(strlen(text) > 190 && strncmp(text, "( ( (", 5) == 0, "100,000 parentheses");
	is_u64(digest.total_len, 399999, "every one is in the hash");

	pfs_digest_text_begin(&digest, text, sizeof(text));
	for (int i = 0; i < 20; i++)
		feed_one(&digest, "-");
	feed_one(&digest, "1");
	pfs_digest_text_end(&digest, hash);
	is_str(text, "- - - - ?", "more signs than the window holds");
}

/* Wherever a long statement is cut, one digest. */
static void
test_abandon(void)
{
	static const char *const tails[] = {"", ",", ", (", ", ( 4", ", ( 4, 5", ", (4, 5)"};
	int wrong = 0;

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
	{
		PfsDigestText digest;
		char text[64];
		uint8_t hash[PFS_SHA256_SIZE];

		pfs_digest_text_begin(&digest, text, sizeof(text));
		feed_list(&digest, "values (1, 2), (3, 4)", 1);
		feed_list(&digest, tails[i], 1);
		pfs_digest_text_abandon(&digest);
		pfs_digest_text_end(&digest, hash);
		wrong += strcmp(text, "VALUES (...) /* , ... */") != 0;
	}
	is_u64((uint64_t) wrong, 0, "abandoned statements");
}

/* Random tokens: the text fits what was counted, and the size of the buffer changes nothing. */
static void
test_fuzz(void)
{
	static const char *const tokens[] = {
		"(",      ")",  "[",     "]",       ",",       "+",      "-",    "1",    "'x'", "$1",
		"null",   "in", "array", "select",  "a",       "\"a`\"", ".",    ";",    "not", "is",
		"values", "::", "=",     "default", "comment", "on",     "time", "zone", "end", "between"};
	uint64_t seed = 88172645463325252u;
	int wrong = 0;

	for (int round = 0; round < 20000; round++)
	{
		PfsDigestText large;
		PfsDigestText small;
		char text[4096];
		char cut[48];
		uint8_t hash_large[PFS_SHA256_SIZE];
		uint8_t hash_small[PFS_SHA256_SIZE];
		size_t len;

		pfs_digest_text_begin(&large, text, sizeof(text));
		pfs_digest_text_begin(&small, cut, (size_t) round % sizeof(cut));
		for (int i = round % 97; i > 0; i--)
		{
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			feed_one(&large, tokens[seed % (sizeof(tokens) / sizeof(tokens[0]))]);
			feed_one(&small, tokens[seed % (sizeof(tokens) / sizeof(tokens[0]))]);
		}
		len = pfs_digest_text_end(&large, hash_large);
		pfs_digest_text_end(&small, hash_small);
		wrong += len != strlen(text) || len != large.total_len;
		wrong += !same_hash(hash_large, hash_small);
	}
	is_u64((uint64_t) wrong, 0, "20,000 random statements");
}

int
main(void)
{
	test_keyword_table();
	test_texts();
	test_pairs(equal_cases, sizeof(equal_cases) / sizeof(equal_cases[0]), true);
	test_pairs(differ_cases, sizeof(differ_cases) / sizeof(differ_cases[0]), false);
	test_truncation();
	test_long_lists();
	test_depth();
	test_abandon();
	test_fuzz();
	return done_testing();
}
