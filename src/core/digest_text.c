/*
 * digest_text.c - the statement digest: list reduction and printing.
 *
 * Tokens that a later one may still rewrite wait as one-byte symbols in a short window; everything
 * else is printed at once. Names and other keywords never wait: they end every list of literals,
 * so the window holds no text. It knows neither PostgreSQL nor where the tokens come from.
 */
#include "core/digest_text.h"

#include <string.h>

enum
{
	PFS_WORD_EXPR = 1,
	PFS_WORD_NULL_WORD = 2,
	PFS_WORD_HEAD = 4,
	PFS_WORD_HEAD_ON = 8,
};

typedef struct PfsDigestWord
{
	const char *text;
	uint32_t len;
	uint32_t flags;
} PfsDigestWord;

typedef struct PfsDigestPair
{
	const char *before;
	PfsDigestWord word;
} PfsDigestPair;

/* What can wait in the window. */
typedef enum PfsSymbol
{
	SYM_VALUE,
	SYM_VALUES,
	SYM_ROW,
	SYM_ROW_LIST,
	SYM_WIDE_ROW,
	SYM_WIDE_ROW_LIST,
	SYM_ITEM,
	SYM_ITEMS,
	SYM_ITEM_LIST,
	SYM_IN_VALUES,
	SYM_ARRAY_VALUES,
	SYM_IN,
	SYM_ARRAY,
	SYM_OPEN,
	SYM_CLOSE,
	SYM_OPEN_BRACKET,
	SYM_CLOSE_BRACKET,
	SYM_COMMA,
	SYM_PLUS,
	SYM_MINUS,
	SYM_NONE,
} PfsSymbol;

typedef struct PfsSymbolInfo
{
	const char *text;
	uint32_t flags; /* as for words */
} PfsSymbolInfo;

#define WORD_LEN_MAX 31
#define TAIL "..."
#define TAIL_LEN (sizeof(TAIL) - 1)

#define PFS_DIGEST_WORD(word, flags) {word, sizeof(word) - 1, flags},
#define PFS_DIGEST_PAIR(before, word)
static const PfsDigestWord words[] = {
#include "core/digest_keywords.def"
};

#define PFS_DIGEST_WORD(word, flags)
#define PFS_DIGEST_PAIR(before, word) {before, {word, sizeof(word) - 1, 0}},
static const PfsDigestPair pairs[] = {
#include "core/digest_keywords.def"
};

static const PfsSymbolInfo symbols[] = {
	[SYM_VALUE] = {"?", 0},
	[SYM_VALUES] = {"?, ...", 0},
	[SYM_ROW] = {"(?)", 0},
	[SYM_ROW_LIST] = {"(?) /* , ... */", 0},
	[SYM_WIDE_ROW] = {"(...)", 0},
	[SYM_WIDE_ROW_LIST] = {"(...) /* , ... */", 0},
	[SYM_ITEM] = {"[?]", 0},
	[SYM_ITEMS] = {"[...]", 0},
	[SYM_ITEM_LIST] = {"[...] /* , ... */", 0},
	[SYM_IN_VALUES] = {"IN (...)", 0},
	[SYM_ARRAY_VALUES] = {"ARRAY [...]", 0},
	[SYM_IN] = {"IN", PFS_WORD_EXPR},
	[SYM_ARRAY] = {"ARRAY", 0},
	[SYM_OPEN] = {"(", PFS_WORD_EXPR},
	[SYM_CLOSE] = {")", 0},
	[SYM_OPEN_BRACKET] = {"[", PFS_WORD_EXPR},
	[SYM_CLOSE_BRACKET] = {"]", 0},
	[SYM_COMMA] = {",", PFS_WORD_EXPR},
	[SYM_PLUS] = {"+", PFS_WORD_EXPR},
	[SYM_MINUS] = {"-", PFS_WORD_EXPR},
	[SYM_NONE] = {"", 0},
};

static size_t clip_utf8(const char *text, size_t len, size_t limit);
static void push_symbol(PfsDigestText *digest, PfsSymbol symbol);
static void push_value(PfsDigestText *digest);
static void push_word(PfsDigestText *digest, const PfsDigestWord *word);
static void push_operator(PfsDigestText *digest, const char *text, size_t len);
static void put_name(PfsDigestText *digest, const char *text, size_t len);
static bool null_is_value(const PfsDigestText *digest);
static const PfsDigestWord *find_word(const PfsDigestText *digest, const char *text, size_t len);
static void flush_pending(PfsDigestText *digest);
static void put_separated(PfsDigestText *digest, const char *text, size_t len);

void
pfs_digest_text_begin(PfsDigestText *digest, char *buf, size_t size)
{
	memset(digest, 0, sizeof(*digest));
	digest->buf = buf;
	digest->size = size;
	digest->clip = clip_utf8;
	digest->last_flags = digest->base_flags = PFS_WORD_EXPR;
	digest->in_head = true;
	pfs_sha256_init(&digest->sha);
}

void
pfs_digest_text_set_clip(PfsDigestText *digest, PfsDigestClip clip)
{
	digest->clip = clip;
}

void
pfs_digest_text_token(PfsDigestText *digest, PfsTokenKind kind, const char *text, size_t len)
{
	const PfsDigestWord *word;

	if (kind == PFS_TOKEN_OPERATOR && len == 1 && text[0] == ';')
	{
		digest->semicolon = digest->total_len > 0 || digest->pending_count > 0;
		return;
	}
	if (digest->semicolon)
	{
		push_operator(digest, ";", 1);
		digest->semicolon = false;
		digest->in_head = true;
	}
	switch (kind)
	{
		case PFS_TOKEN_KEYWORD:
			word = find_word(digest, text, len);
			if (word == NULL)
				put_name(digest, text, len);
			else if (strcmp(word->text, "NULL") == 0 && null_is_value(digest))
				push_value(digest);
			else
				push_word(digest, word);
			break;
		case PFS_TOKEN_IDENT:
			put_name(digest, text, len);
			break;
		case PFS_TOKEN_LITERAL:
		case PFS_TOKEN_PARAM:
			push_value(digest);
			break;
		case PFS_TOKEN_OPERATOR:
			push_operator(digest, text, len);
			break;
	}
}

void
pfs_digest_text_abandon(PfsDigestText *digest)
{
	for (uint32_t i = 0; i < digest->pending_count; i++)
	{
		uint8_t symbol = digest->pending[i];

		if (symbol == SYM_VALUES || symbol == SYM_ROW_LIST || symbol == SYM_WIDE_ROW_LIST ||
			symbol == SYM_ITEM_LIST)
			digest->pending_count = i + 1;
	}
}

size_t
pfs_digest_text_end(PfsDigestText *digest, uint8_t hash[PFS_SHA256_SIZE])
{
	flush_pending(digest);
	pfs_sha256_final(&digest->sha, hash);
	if (digest->size == 0)
		return 0;
	if (digest->stored_len < digest->total_len)
	{
		size_t limit = digest->size - 1;

		if (limit >= TAIL_LEN)
		{
			size_t cut = digest->clip(digest->buf, digest->stored_len, limit - TAIL_LEN);

			memcpy(digest->buf + cut, TAIL, TAIL_LEN);
			digest->stored_len = cut + TAIL_LEN;
		}
		else
			digest->stored_len = 0;
	}
	digest->buf[digest->stored_len] = '\0';
	return digest->stored_len;
}

static size_t
clip_utf8(const char *text, size_t len, size_t limit)
{
	size_t cut = limit;

	while (cut > 0 && cut < len && limit - cut < 3 && ((unsigned char) text[cut] & 0xC0) == 0x80)
		cut--;
	return cut;
}

/* Adds to the hash, and to the buffer as far as there is room. */
static void
put_bytes(PfsDigestText *digest, const char *text, size_t len)
{
	size_t room = digest->size > 0 ? digest->size - 1 - digest->stored_len : 0;

	pfs_sha256_update(&digest->sha, text, len);
	digest->total_len += len;
	if (len > room)
		len = room;
	if (len > 0)
		memcpy(digest->buf + digest->stored_len, text, len);
	digest->stored_len += len;
}

static void
put_separated(PfsDigestText *digest, const char *text, size_t len)
{
	if (digest->total_len > 0)
		put_bytes(digest, " ", 1);
	put_bytes(digest, text, len);
}

/* Prints the count oldest symbols of the window: no reduction reaches them any more. */
static void
commit_pending(PfsDigestText *digest, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
	{
		const PfsSymbolInfo *info = &symbols[digest->pending[i]];

		put_separated(digest, info->text, strlen(info->text));
		digest->base_flags = info->flags;
	}
	digest->pending_count -= count;
	memmove(digest->pending, digest->pending + count, digest->pending_count);
}

static void
flush_pending(PfsDigestText *digest)
{
	commit_pending(digest, digest->pending_count);
}

/* Notes what was just printed without going through the window. */
static void
set_last(PfsDigestText *digest, const char *keyword, uint32_t flags)
{
	digest->last_keyword = keyword;
	digest->last_flags = digest->base_flags = flags;
	digest->after_dot = false;
}

static void
put_name(PfsDigestText *digest, const char *text, size_t len)
{
	const char *quote;

	flush_pending(digest);
	put_separated(digest, "`", 1);
	while ((quote = memchr(text, '`', len)) != NULL)
	{
		size_t part = (size_t) (quote - text) + 1;

		put_bytes(digest, text, part);
		put_bytes(digest, "`", 1);
		text += part;
		len -= part;
	}
	put_bytes(digest, text, len);
	put_bytes(digest, "`", 1);
	set_last(digest, NULL, 0);
	digest->in_head = false;
}

static void
push_word(PfsDigestText *digest, const PfsDigestWord *word)
{
	if (strcmp(word->text, "IN") == 0)
		push_symbol(digest, SYM_IN);
	else if (strcmp(word->text, "ARRAY") == 0)
		push_symbol(digest, SYM_ARRAY);
	else
	{
		flush_pending(digest);
		put_separated(digest, word->text, word->len);
		set_last(digest, word->text, word->flags);
	}
	digest->in_head = digest->in_head && (word->flags & PFS_WORD_HEAD_ON) != 0;
}

static PfsSymbol
symbol_of_operator(char c)
{
	switch (c)
	{
		case '(':
			return SYM_OPEN;
		case ')':
			return SYM_CLOSE;
		case '[':
			return SYM_OPEN_BRACKET;
		case ']':
			return SYM_CLOSE_BRACKET;
		case ',':
			return SYM_COMMA;
		case '+':
			return SYM_PLUS;
		case '-':
			return SYM_MINUS;
		default:
			return SYM_NONE;
	}
}

static void
push_operator(PfsDigestText *digest, const char *text, size_t len)
{
	PfsSymbol symbol = len == 1 ? symbol_of_operator(text[0]) : SYM_NONE;

	if (symbol != SYM_NONE)
		push_symbol(digest, symbol);
	else
	{
		flush_pending(digest);
		put_separated(digest, text, len);
		set_last(digest, NULL, PFS_WORD_EXPR);
		digest->after_dot = len == 1 && text[0] == '.';
	}
	if (symbol != SYM_COMMA)
		digest->in_head = false;
}

/* The symbol back places from the end of the window (1 is the last). */
static PfsSymbol
peek(const PfsDigestText *digest, uint32_t back)
{
	if (back > digest->pending_count)
		return SYM_NONE;
	return (PfsSymbol) digest->pending[digest->pending_count - back];
}

/* Takes symbols off the end of the window and puts one in their place. */
static void
replace_last(PfsDigestText *digest, uint32_t count, PfsSymbol symbol)
{
	digest->pending_count -= count;
	digest->pending[digest->pending_count++] = (uint8_t) symbol;
}

/* Joins a row with the rows of its kind before it. */
static void
reduce_rows(PfsDigestText *digest, PfsSymbol row, PfsSymbol list)
{
	PfsSymbol before = peek(digest, 3);

	if (peek(digest, 2) == SYM_COMMA && (before == row || before == list))
		replace_last(digest, 3, list);
}

/* The window ends in a parenthesis that was just closed. */
static void
reduce_parentheses(PfsDigestText *digest)
{
	bool wide = peek(digest, 2) == SYM_VALUES;

	if ((!wide && peek(digest, 2) != SYM_VALUE) || peek(digest, 3) != SYM_OPEN)
		return;
	if (peek(digest, 4) == SYM_IN)
	{
		replace_last(digest, 4, SYM_IN_VALUES);
		return;
	}
	replace_last(digest, 3, wide ? SYM_WIDE_ROW : SYM_ROW);
	if (wide)
		reduce_rows(digest, SYM_WIDE_ROW, SYM_WIDE_ROW_LIST);
	else
		reduce_rows(digest, SYM_ROW, SYM_ROW_LIST);
}

static bool
is_item(PfsSymbol symbol)
{
	return symbol == SYM_ITEM || symbol == SYM_ITEMS || symbol == SYM_ITEM_LIST;
}

/* The window ends in a bracket that was just closed. */
static void
reduce_brackets(PfsDigestText *digest)
{
	PfsSymbol inside = peek(digest, 2);

	if ((inside != SYM_VALUE && inside != SYM_VALUES && !is_item(inside)) ||
		peek(digest, 3) != SYM_OPEN_BRACKET)
		return;
	if (peek(digest, 4) == SYM_ARRAY)
	{
		replace_last(digest, 4, SYM_ARRAY_VALUES);
		return;
	}
	replace_last(digest, 3, inside == SYM_VALUE ? SYM_ITEM : SYM_ITEMS);
	if (peek(digest, 2) == SYM_COMMA && is_item(peek(digest, 3)))
		replace_last(digest, 3, SYM_ITEM_LIST);
}

static void
push_symbol(PfsDigestText *digest, PfsSymbol symbol)
{
	if (digest->pending_count == PFS_DIGEST_WINDOW)
		commit_pending(digest, 1);
	digest->pending[digest->pending_count++] = (uint8_t) symbol;
	if (symbol == SYM_CLOSE)
		reduce_parentheses(digest);
	else if (symbol == SYM_CLOSE_BRACKET)
		reduce_brackets(digest);
	digest->last_keyword = NULL;
	digest->last_flags = symbols[symbol].flags;
	digest->after_dot = false;
}

/* A literal swallows its signs and joins the literals before it. */
static void
push_value(PfsDigestText *digest)
{
	while (peek(digest, 1) == SYM_MINUS || peek(digest, 1) == SYM_PLUS)
	{
		uint32_t flags =
			digest->pending_count > 1 ? symbols[peek(digest, 2)].flags : digest->base_flags;

		if ((flags & PFS_WORD_EXPR) == 0)
			break;
		digest->pending_count--;
	}
	if (peek(digest, 1) == SYM_COMMA &&
		(peek(digest, 2) == SYM_VALUE || peek(digest, 2) == SYM_VALUES))
	{
		digest->pending_count -= 2;
		push_symbol(digest, SYM_VALUES);
	}
	else
		push_symbol(digest, SYM_VALUE);
	digest->last_keyword = symbols[SYM_VALUE].text; /* pairs may begin with a value */
	digest->in_head = false;
}

static bool
null_is_value(const PfsDigestText *digest)
{
	return (digest->last_flags & PFS_WORD_EXPR) != 0 &&
		   (digest->last_flags & PFS_WORD_NULL_WORD) == 0;
}

/* Finds the word behind the keyword or value that was just fed, if the two make a pair. */
static const PfsDigestWord *
find_pair(const PfsDigestText *digest, const char *upper, size_t len)
{
	if (digest->last_keyword == NULL)
		return NULL;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
	{
		if (pairs[i].word.len == len && memcmp(pairs[i].word.text, upper, len) == 0 &&
			strcmp(pairs[i].before, digest->last_keyword) == 0)
			return &pairs[i].word;
	}
	return NULL;
}

static int
compare_word(const PfsDigestWord *word, const char *upper, size_t len)
{
	int order = memcmp(word->text, upper, word->len < len ? word->len : len);

	if (order != 0)
		return order;
	return word->len < len ? -1 : word->len > len;
}

/* Returns the keyword that the text is at this place of the statement, NULL if it is a name. */
static const PfsDigestWord *
find_word(const PfsDigestText *digest, const char *text, size_t len)
{
	char upper[WORD_LEN_MAX];
	size_t low = 0;
	size_t high = sizeof(words) / sizeof(words[0]);

	if (len > WORD_LEN_MAX || digest->after_dot)
		return NULL;
	for (size_t i = 0; i < len; i++)
		upper[i] = text[i] >= 'a' && text[i] <= 'z' ? (char) (text[i] - 'a' + 'A') : text[i];
	while (low < high)
	{
		size_t middle = (low + high) / 2;
		int order = compare_word(&words[middle], upper, len);

		if (order < 0)
			low = middle + 1;
		else if (order > 0)
			high = middle;
		else if ((words[middle].flags & PFS_WORD_HEAD) == 0 || digest->in_head)
			return &words[middle];
		else
			break;
	}
	return find_pair(digest, upper, len);
}
