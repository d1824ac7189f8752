/*
 * operation.h
 *		What a wait does to its object: the numbers of operations.def.
 */
#ifndef PFS_OPERATION_H
#define PFS_OPERATION_H

typedef enum PfsOperation
{
#define PFS_OPERATION(symbol, word, part) PFS_OPERATION_##symbol,
#include "core/operations.def"
#undef PFS_OPERATION
	PFS_OPERATIONS
} PfsOperation;

#endif							/* PFS_OPERATION_H */
