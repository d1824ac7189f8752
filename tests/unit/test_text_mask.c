/*
 * test_text_mask.c - texts that nobody has parsed: no literals, and nothing behind mixed-up quotes.
 */
#include "core/text_mask.h"
#include "tap.h"

typedef struct MaskCase
{
	const char *text;
	const char *want;
} MaskCase;

static const MaskCase masks[] = {
	{"", ""},
	{"SELEC 1", "SELEC ?"},
	{"SELEC a, b2 FROM s.t WHERE c = $1", "SELEC a, b2 FROM s.t WHERE c = $1"},
	{"  select\n\t'x' , -1.5e3 ", "select ? , -?"},
	{"select 'it''s', N'x', b'1', X'ff', e'a\\'b', U&'x'", "select ?, ?, ?, ?, ?, U&?"},
	{"select $$a'b$$, $tag$ $$ ' $tag$, $1", "select ?, ?, $1"},
	{"select a$b, 1$", "select a$b, ?$"},
	{"select \"Name\" from \"a\"\"b\".c", "select ? from ?.c"},
	{"a /* 'x' /* y */ z */ b -- 'c'\n d", "a b d"},
	{"a /* 'x'", "a"},
	{"a -- 'x'", "a"},
	{"a - -b", "a - -b"},
	/* what follows the word */
	{"ALTER ROLE r PASSWORD 'x' VALID", "ALTER ROLE r PASSWORD ?"},
	{"ALTER ROLE r pasword x y", "ALTER ROLE r pasword ?"},
	{"create user u Identified by x", "create user u Identified ?"},
	{"pwd", "pwd ?"},
	/* no space before a literal in dollars */
	{"ALTER ROLE r PASSWORD$$x$$", "ALTER ROLE r ?"},
	{"ALTER ROLE r PASSWORD$x y", "ALTER ROLE r PASSWORD ?"},
	{"ALTER ROLE r password1 y", "ALTER ROLE r password ?"},
	{"DO$a$x y$a$", "?"},
	{"a$b$c$b$ d", "?"},
	{"a $1$b$x$b$ c", "a $1? c"},
	{"a 1$b$x y$b$ c", "a ?? c"},
	/* quotes that do not balance, or can be read in two ways */
	{"a 'b' c 'd", "a ?"},
	{"a 'it's b' c", "a ?"},
	{"a b 'it's b", "a b ?"},
	{"a 'b' c 'd\\' e'", "a ?"},
	{"a 'b\\\\'", "a ?"},
	{"a 'b\\n' c", "a ? c"},
	{"a e'b\\\\' c", "a ? c"},
	{"a e'b\\' c", "a ?"},
	{"a 'b' $$ c", "a ?"},
	{"a 'b' $x$ c $y$", "a ?"},
	{"a \"b\" \"c", "a ?"},
	{"a 'b'\"c\"", "a ?"},
	{"a 'b' \"c\"'d'", "a ?"},
	{"x'a' word'b' c", "?"},
	{"'", "?"},
	{"$", "$"},
	{"$$", "?"},
	{"E'\\", "?"},
};

static void
test_mask(void)
{
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
	{
		char to[256];
		/* in a block of its own length, so that a sanitizer sees a look behind its end */
		size_t length = strlen(masks[i].text);
		char *text = malloc(length + 1);
		size_t used;

		memcpy(text, masks[i].text, length);
		text = realloc(text, length > 0 ? length : 1);
		used = pfs_text_mask(text, length, to, sizeof(to) - 1);
		to[used] = '\0';
		is_str(to, masks[i].want, masks[i].text);
		free(text);
	}
}

static void
test_size(void)
{
	static const char text[] = "select 'a', b, 'c";
	char to[32];

	for (size_t size = 0; size <= 20; size++)
	{
		memset(to, '#', sizeof(to));
		size_t used = pfs_text_mask(text, sizeof(text) - 1, to, size);

		ok(used <= size && used <= 8 && memcmp(to, "select ?", used) == 0 && to[size] == '#',
		   "%d bytes of room", (int) size);
	}
}

typedef struct FirstCase
{
	const char *text;
	size_t length;
	bool several;
	bool query;
} FirstCase;

static const FirstCase firsts[] = {
	{"", 0, false, false},
	{"SELECT 1", 8, false, true},
	{"SELECT 1;", 8, false, true},
	{"SELECT 1; -- x;\n", 8, false, true},
	{"SELECT 1;;", 8, false, true},
	{"SELECT 1; b", 8, true, true},
	{"/* ; */ insert ';' ; b", 19, true, true},
	{"((values (1)))", 14, false, true},
	{"-- select\nalter role", 20, false, false},
	{"explain select 1", 16, false, false},
	{"selected", 8, false, false},
	{"select $$;$$", 12, false, true},
	{"select '\\';'", 12, true, true},
	{"select 'a; b", 12, true, true},
	{"select 'a", 9, false, true},
	{"'select'", 8, false, false},
};

static void
test_first(void)
{
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++)
	{
		const FirstCase *c = &firsts[i];
		size_t length = strlen(c->text);
		bool several;

		is_u64(pfs_text_first(c->text, length, &several), c->length, c->text);
		ok(several == c->several, "more than one");
		ok(pfs_text_is_query(c->text, length) == c->query, "begins as a query");
	}
}

/* A literal in a text of any such pieces, in any order: its inside is never shown. */
static void
test_random(void)
{
	static const char *const pieces[] = {"'", "''", "\"", "$$", "$t$", "\\", "E", " ", "a", ";", "--",
										 "/*", "*/", "\n", "1", ","};
	uint64_t random = 88172645463325252;
	bool hidden = true;

	for (int round = 0; round < 200000 && hidden; round++)
	{
		char text[128] = "x 'SECRET";
		char to[128];
		size_t used;

		for (int i = 0; i < 12; i++)
		{
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			strcat(text, pieces[random % (sizeof(pieces) / sizeof(pieces[0]))]);
		}
		used = pfs_text_mask(text, strlen(text), to, sizeof(to) - 1);
		to[used] = '\0';
		hidden = strstr(to, "SECRET") == NULL;
	}
	ok(hidden, "whatever follows");
}

int
main(void)
{
	test_mask();
	test_size();
	test_first();
	test_random();
	return done_testing();
}
