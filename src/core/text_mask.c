/*
 * text_mask.c
 *		Literals of an unparsed text, found by their quotes.
 */
#include "core/text_mask.h"

#include <stdint.h>
#include <string.h>

typedef enum PieceKind
{
	PIECE_SPACE,				/* white space, comments */
	PIECE_WORD,
	PIECE_LITERAL,				/* also a quoted name: "..." may be meant as a literal */
	PIECE_OTHER,
	PIECE_UNSURE				/* an open quote, or more than one way to read it */
} PieceKind;

static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_word_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

static bool
is_word(char c)
{
	return is_word_start(c) || is_digit(c) || c == '$';
}

/* Where the word that begins here ends. */
static const char *
end_of_word(const char *at, const char *end)
{
	while (at < end && is_word(*at))
		at++;
	return at;
}

/* Does a word of this length, in any case, begin with these lower-case letters? */
static bool
begins(const char *word, size_t length, const char *letters)
{
	for (; *letters != '\0'; letters++, word++, length--)
		if (length == 0 || (*word | 0x20) != *letters)
			return false;
	return true;
}

static bool
is(const char *word, size_t length, const char *letters)
{
	return length == strlen(letters) && begins(word, length, letters);
}

/* Behind a closing quote; NULL if there is none, or a backslash leaves it open which one it is. */
static const char *
end_of_quoted(const char *at, const char *end, bool escapes)
{
	char		quote = *at++;

	for (; at < end; at++)
	{
		if (*at == '\\' && quote == '\'')
		{
			if (!escapes && at + 1 < end && at[1] == '\'')
				return NULL;
			at += escapes;
		}
		else if (*at == quote)
		{
			if (at + 1 == end || at[1] != quote)
				return at + 1;
			at++;
		}
	}
	return NULL;
}

/* Behind a comment that may hold others; the end if it is open. */
static const char *
end_of_comment(const char *at, const char *end)
{
	int			depth = 0;

	for (; at + 1 < end; at++)
	{
		if (at[0] == '/' && at[1] == '*')
			depth++;
		else if (at[0] == '*' && at[1] == '/')
			depth--;
		else
			continue;
		at++;
		if (depth == 0)
			return at + 1;
	}
	return end;
}

/* Behind $tag$ ... $tag$; at itself if no tag begins here, NULL if it does not end. */
static const char *
end_of_dollars(const char *at, const char *end)
{
	const char *tag = at + 1;
	size_t		length;

	if (tag < end && is_word_start(*tag))
		while (tag < end && is_word(*tag) && *tag != '$')
			tag++;
	if (tag >= end || *tag != '$')
		return at;
	length = (size_t) (tag + 1 - at);
	for (tag++; (size_t) (end - tag) >= length; tag++)
		if (memcmp(tag, at, length) == 0)
			return tag + length;
	return NULL;
}

/* A literal ends where neither a word nor another quote follows: else the quotes are mixed up. */
static PieceKind
literal(const char **at, const char *behind, const char *end)
{
	if (behind == NULL || (behind < end && (is_word(*behind) || *behind == '\'' || *behind == '"')))
		return PIECE_UNSURE;
	*at = behind;
	return PIECE_LITERAL;
}

/* "PASSWORD$$x$$" is one name for the scanner, but hardly for who wrote it. */
static bool
holds_dollars(const char *word, size_t length)
{
	const char *dollar = memchr(word, '$', length);

	return dollar != NULL && memchr(dollar + 1, '$', (size_t) (word + length - dollar - 1)) != NULL;
}

static PieceKind
next_word(const char **at, const char *end)
{
	const char *word = *at;
	const char *behind = end_of_word(word, end);
	size_t		length = (size_t) (behind - word);

	if (holds_dollars(word, length))
		return PIECE_UNSURE;
	if (behind < end && *behind == '\'')
	{
		if (is(word, length, "e"))
			return literal(at, end_of_quoted(behind, end, true), end);
		if (length == 1 && strchr("bBxXnN", *word) != NULL)
			return literal(at, end_of_quoted(behind, end, false), end);
		return PIECE_UNSURE;
	}
	*at = behind;
	return behind < end && *behind == '"' ? PIECE_UNSURE : PIECE_WORD;
}

/* The next piece of a text that is not at its end; *at moves behind it unless it is unsure. */
static PieceKind
next_piece(const char **at, const char *end)
{
	const char *from = *at;
	char		c = *from;
	char		next = from + 1 < end ? from[1] : '\0';

	if (is_space(c))
	{
		*at = from + 1;
		return PIECE_SPACE;
	}
	if (c == '-' && next == '-')
	{
		while (*at < end && **at != '\n' && **at != '\r')
			(*at)++;
		return PIECE_SPACE;
	}
	if (c == '/' && next == '*')
	{
		*at = end_of_comment(from, end);
		return PIECE_SPACE;
	}
	if (c == '\'' || c == '"')
		return literal(at, end_of_quoted(from, end, false), end);
	if (c == '$' && !is_digit(next))
	{
		const char *behind = end_of_dollars(from, end);

		if (behind != from)
			return literal(at, behind, end);
	}
	if (is_digit(c) || (c == '.' && is_digit(next)))
	{
		while (*at < end && ((is_word(**at) && **at != '$') || **at == '.'))
			(*at)++;
		return PIECE_LITERAL;
	}
	if (is_word_start(c))
		return next_word(at, end);
	*at = from + 1;
	while (c == '$' && *at < end && is_digit(**at)) /* a parameter */
		(*at)++;
	return PIECE_OTHER;
}

/* PASSWORD and how it is misspelt, PASSFILE, PWD, SECRET, IDENTIFIED BY ... */
static bool
announces_secret(const char *word, size_t length)
{
	return begins(word, length, "pas") || begins(word, length, "pwd") ||
		begins(word, length, "secret") || begins(word, length, "identified");
}

/* Of "PASSWORD$x" the word is shown. */
static size_t
count_letters(const char *word, const char *end)
{
	const char *at = word;

	while (at < end && is_word_start(*at) && (*at & 0x80) == 0)
		at++;
	return (size_t) (at - word);
}

typedef struct Output
{
	char	   *to;
	size_t		size;
	size_t		used;
} Output;

static void
put(Output *out, const char *text, size_t length)
{
	size_t		left = out->size - out->used;

	if (length > left)
		length = left;
	memcpy(out->to + out->used, text, length);
	out->used += length;
}

size_t
pfs_text_mask(const char *text, size_t length, char *to, size_t size)
{
	const char *end = text + length;
	Output		out = {to, size, 0};
	size_t		first_literal = SIZE_MAX;
	bool		space = false;

	while (text < end && (out.used < size || first_literal < size))
	{
		const char *from = text;
		PieceKind	kind = next_piece(&text, end);

		if (kind == PIECE_SPACE)
		{
			space = true;
			continue;
		}
		if (kind == PIECE_UNSURE && first_literal != SIZE_MAX)
			out.used = first_literal;
		else if (space && out.used > 0)
			put(&out, " ", 1);
		space = false;
		if (kind == PIECE_LITERAL && first_literal == SIZE_MAX)
			first_literal = out.used;
		if (kind == PIECE_WORD && announces_secret(from, (size_t) (text - from)))
		{
			put(&out, from, count_letters(from, text));
			put(&out, " ?", 2);
			break;
		}
		if (kind == PIECE_LITERAL || kind == PIECE_UNSURE)
			put(&out, "?", 1);
		else
			put(&out, from, (size_t) (text - from));
		if (kind == PIECE_UNSURE)
			break;
	}
	return out.used;
}

size_t
pfs_text_first(const char *text, size_t length, bool *several)
{
	const char *end = text + length;
	const char *at = text;
	const char *semicolon = NULL;

	*several = false;
	while (at < end)
	{
		const char *from = at;
		PieceKind	kind = next_piece(&at, end);

		if (kind == PIECE_OTHER && *from == ';')
			semicolon = semicolon != NULL ? semicolon : from;
		else if (kind != PIECE_SPACE && semicolon != NULL)
		{
			*several = true;
			break;
		}
		if (kind == PIECE_UNSURE)
		{
			/* there may be more statements in it */
			*several = memchr(from, ';', (size_t) (end - from)) != NULL;
			break;
		}
	}
	return semicolon != NULL ? (size_t) (semicolon - text) : length;
}

bool
pfs_text_is_query(const char *text, size_t length)
{
	static const char *const words[] = {"select", "insert", "update", "delete", "merge", "with",
	"values", "table"};
	const char *end = text + length;

	while (text < end)
	{
		const char *from = text;
		PieceKind	kind = next_piece(&text, end);

		if (kind == PIECE_WORD)
			for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
				if (is(from, (size_t) (text - from), words[i]))
					return true;
		if (kind != PIECE_SPACE && !(kind == PIECE_OTHER && *from == '('))
			return false;
	}
	return false;
}
