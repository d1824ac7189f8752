/*
 * pg_text.h
 *		What is kept of a statement's text, and of its error message: decided here and nowhere else.
 *
 *		kind of text						kept
 *		a query, a harmless command			as it came, this statement of the message alone
 *		a command that may hold a secret	normalised: no literals
 *		a DO block							normalised too: its body is a literal
 *		never parsed, or not known			masked (core/text_mask.h): no literals, no quoted names
 *
 * With each text goes the role whose privileges a reader needs: the one that is current when the
 * text is taken, so that of a SECURITY DEFINER function for what is nested in it.  Readers go
 * through pfs_scan_secret.
 */
#ifndef PFS_PG_TEXT_H
#define PFS_PG_TEXT_H

#include "core/statement.h"
#include "nodes/nodes.h"

#define PFS_PG_TEXT_BUFFER 1024	/* longest text that is not kept as it came */

typedef struct PfsPgText
{
	const PfsStatement *of;		/* whose text it is, NULL = of none */
	const char *data;			/* in the source, in another event, or in the buffer */
	size_t		length;
	Oid			role;
	char		buffer[PFS_PG_TEXT_BUFFER];
} PfsPgText;

/* host_flags of a PfsStatement. */
#define PFS_PG_SECRET 1			/* show only the normalised text */
#define PFS_PG_SECRET_MESSAGE 2	/* nor what its error messages quote */
#define PFS_PG_OWN_QUERY 4		/* a command that executes a query of its own source text */
#define PFS_PG_EXECUTES 8		/* an EXECUTE whose prepared statement has a row */

/* A part of a string. */
typedef struct PfsPgPart
{
	const char *data;
	size_t		length;
} PfsPgPart;

/* That part of a query string which is this statement, without the white space around it. */
extern PfsPgPart pfs_pg_text_part(const char *source, int location, int length);

/* Flags of a statement that executes this command. */
extern uint32 pfs_pg_text_flags(const Node *utility);

/* Text of a statement that has been parsed. */
extern void pfs_pg_text_kept(PfsPgText *text, const PfsStatement *statement, const char *source,
							 int location, int length);

/*
 * Text of the client's message while no statement is known.  parsed: it has passed the grammar, so
 * a single query may be kept as it came.  Allocates nothing and raises no error.
 */
extern void pfs_pg_text_of_message(PfsPgText *text, const char *message, bool parsed);

/*
 * An error's message: of a command that may hold a secret, of a syntax error, and of wrong data, without what it
 * quotes, unless the statement's own text shows that.  statement: whose row it is for, or NULL; from the innermost one to
 * the outermost, each with what the one before has kept.
 */
extern const char *pfs_pg_message_kept(const PfsStatement *statement, int sqlstate,
									   const char *message);

#endif							/* PFS_PG_TEXT_H */
