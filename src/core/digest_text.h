/*
 * digest_text.h - turns the tokens of one SQL statement into MySQL's DIGEST_TEXT and DIGEST.
 *
 * The host's scanner feeds the tokens in order; the text goes to the caller's buffer and all of it,
 * also what does not fit there, into a SHA-256. No allocation, no recursion, fixed state: cost and
 * result depend on the tokens only, never on the size of the buffer.
 *
 * Rules
 * - Tokens are separated by one space; comments, white space and trailing semicolons leave no
 *   trace (semicolons between statements count as one).
 * - Words of digest_keywords.def are printed in upper case, all other words as identifiers in
 *   backquotes (one inside a name is doubled). After a dot every word is an identifier. So `name`
 *   and "name" agree; an unreserved word that is a keyword at its place differs from its quoted
 *   form ("set" is a column, set begins an assignment list).
 * - Literals and parameters become ?. So does NULL where a value may stand; elsewhere it is a
 *   keyword. A sign goes with its literal unless it follows something that ends an expression.
 * - Lists of literals shrink. LIST stands for MySQL's mark, a C comment that holds ", ...".
 *     v , v             ?, ...
 *     (v)               (?)          and several of them  (?) LIST
 *     (v , v)           (...)        and several of them  (...) LIST
 *     IN (v [, v])      IN (...)
 *     ARRAY [v [, v]]   ARRAY [...]  at any depth of brackets; a subscript [v] is [?]
 *   A list that holds anything else keeps its parentheses and elements; only runs of literals in
 *   it shrink to ?, ...
 *
 * Caveats: reductions look back at most PFS_DIGEST_WINDOW tokens, so a literal behind more signs
 * than that keeps the first ones. A value with a cast (? :: `text`) is not a plain literal: lists
 * of casts are not reduced.
 */
#ifndef PFS_DIGEST_TEXT_H
#define PFS_DIGEST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sha256.h"

#define PFS_DIGEST_WINDOW 16

typedef enum PfsTokenKind
{
	PFS_TOKEN_KEYWORD,  /* a word the host's grammar knows, NULL included; folded text */
	PFS_TOKEN_IDENT,    /* any other name, quotes removed, folded by the host's rules */
	PFS_TOKEN_LITERAL,  /* number, string, bit or hexadecimal constant; text unused */
	PFS_TOKEN_PARAM,    /* $1; text unused */
	PFS_TOKEN_OPERATOR, /* an operator, also one character of punctuation */
} PfsTokenKind;

/*
 * Returns the largest number of bytes <= limit at which text (len bytes, len >= limit) can be cut
 * without splitting a character.
 */
typedef size_t (*PfsDigestClip)(const char *text, size_t len, size_t limit);

typedef struct PfsDigestText
{
	char *buf;
	size_t size;
	size_t stored_len;  /* bytes in buf so far */
	uint64_t total_len; /* bytes of the whole text so far */
	PfsDigestClip clip;
	PfsSha256 sha;
	const char *last_keyword; /* the token just fed, if a keyword or value */
	uint32_t last_flags;      /* what may follow the token just fed (PFS_WORD_...) */
	uint32_t base_flags;      /* the same for the token before the window */
	uint32_t pending_count;
	uint8_t pending[PFS_DIGEST_WINDOW]; /* symbols that a reduction may still rewrite */
	bool in_head;                       /* only keywords of the statement's head so far */
	bool after_dot;
	bool semicolon; /* one is owed, should another token follow */
} PfsDigestText;

/*
 * Starts a text. buf may be NULL if size is 0; otherwise it always holds a terminated string after
 * pfs_digest_text_end.
 */
extern void pfs_digest_text_begin(PfsDigestText *digest, char *buf, size_t size);

/* Sets how texts are cut (by default as UTF-8). Call it right after pfs_digest_text_begin. */
extern void pfs_digest_text_set_clip(PfsDigestText *digest, PfsDigestClip clip);

/* Feeds the next token. text need not outlive the call. */
extern void pfs_digest_text_token(PfsDigestText *digest, PfsTokenKind kind, const char *text,
								  size_t len);

/*
 * Says that the host gives up before the end of the statement. A half-seen element behind a list
 * is dropped, so that where the input was cut does not show in the digest.
 */
extern void pfs_digest_text_abandon(PfsDigestText *digest);

/*
 * Ends the text: writes the hash of all of it and returns the length of what is in the buffer,
 * without the terminator. A text that does not fit is cut and ends in "...".
 */
extern size_t pfs_digest_text_end(PfsDigestText *digest, uint8_t hash[PFS_SHA256_SIZE]);

#endif /* PFS_DIGEST_TEXT_H */
