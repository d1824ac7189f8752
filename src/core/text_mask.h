/*
 * text_mask.h
 *		SQL that no parser has accepted, without what may be a secret.
 *
 * A few rules about quotes and comments, no grammar and no memory, so it may be called anywhere.
 * Where the text can be read in two ways, or its quotes do not balance, nothing behind the first
 * literal is shown: what looks like a name may be the inside of a literal.
 */
#ifndef PFS_TEXT_MASK_H
#define PFS_TEXT_MASK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies the text with '?' for each literal and quoted name, and without comments; behind a word
 * that announces a password, with one '?' for the rest.  Returns the length, at most size.
 */
extern size_t pfs_text_mask(const char *text, size_t length, char *to, size_t size);

/* Length of the first statement, its semicolon not included; *several: another one follows. */
extern size_t pfs_text_first(const char *text, size_t length, bool *several);

/* Does the text, if it is one statement, begin as a query does: SELECT, INSERT, ...? */
extern bool pfs_text_is_query(const char *text, size_t length);

#endif							/* PFS_TEXT_MASK_H */
