/*
 * history.h
 *		Where ended events are kept: a ring per thread, and the long rings that all threads share.
 *
 * A long ring is claimed in blocks of PFS_LONG_BLOCK positions, one locked addition a block.  A
 * row carries a stamp, 2 * position + 1 while it is written and + 2 when it is whole, so a reader
 * knows a row that changed under it.  Texts lie in a byte ring of their own, claimed in blocks as
 * well; a text is whole if the ring has not moved on by its own length since, and if its check sum
 * is right: a session that was stopped after its claim may have written over it.
 */
#ifndef PFS_HISTORY_H
#define PFS_HISTORY_H

#include "core/statement.h"

#define PFS_LONG_BLOCK 32

typedef struct PfsLongStatement
{
	uint64_t	stamp;
	PfsStatementEvent event;
} PfsLongStatement;

typedef struct PfsLongTransaction
{
	uint64_t	stamp;
	PfsTransactionEvent event;
} PfsLongTransaction;

/*
 * Adds an ended statement, complete with text and message, to the histories that are wanted.
 * Returns the slot that is free in exchange.  Owner only, inside its seq.
 */
extern uint32_t pfs_history_statement(PfsSession *session, PfsStatementEvent *event, uint32_t slot,
									  uint32_t gate);

/* The same for a transaction, which stands at the head of its thread's ring. */
extern void pfs_history_transaction(PfsSession *session, const PfsTransactionEvent *event,
									uint32_t gate);

/* Row at a position of a long ring, copied whole; false when it is empty, or (counted) unstable. */
extern bool pfs_long_statement_read(PfsArena *arena, uint32_t row, PfsStatementEvent *event,
									char *text);
extern bool pfs_long_transaction_read(PfsArena *arena, uint32_t row, PfsTransactionEvent *event);

#endif							/* PFS_HISTORY_H */
