/*
 * table_cells.h
 *		Rows with what the cells of all threads (cell_cache.h) hold of them, each added up at one moment; threads
 *		with what their cells of digests hold.
 */
#ifndef PFS_TABLE_CELLS_H
#define PFS_TABLE_CELLS_H

#include "core/digest.h"
#include "core/table_internal.h"

#define PFS_ANY_PLACE UINT32_MAX

/* What a table knows of its rows: numbers from 1 on. */
typedef struct PfsCellSums
{
	PfsScan    *scan;
	const PfsCacheKind *kind;
	uint32_t	end;			/* behind the last of them */

	/* Row of a cell, or of the copy of one, that counts; 0 = none of these. */
	uint32_t	(*row_of) (const struct PfsCellSums *sums, const void *cell);

	/* Hash of the row's key, by which its cells are placed; NULL or PFS_ANY_PLACE: it has many keys. */
	uint32_t	(*hash_of) (const struct PfsCellSums *sums, uint32_t row);

	/* The sum of a row: from nothing, with a cell, at last with the row itself. */
	void		(*clear) (struct PfsCellSums *sums, uint32_t row);
	void		(*add_cell) (struct PfsCellSums *sums, uint32_t row, const void *cell);
	void		(*add_row) (struct PfsCellSums *sums, uint32_t row);

	/* Around the cells of each thread; may be NULL.  only: as above, 0 = all rows. */
	void		(*begin_thread) (struct PfsCellSums *sums, PfsThread *thread);
	void		(*end_thread) (struct PfsCellSums *sums, PfsThread *thread, uint32_t only);
	void	   *copy;			/* of a cell */
} PfsCellSums;

/* Adds up all rows; what would not stand still is counted as an unstable read. */
extern void pfs_cells_sum(PfsCellSums *sums);

/*
 * What one thread has counted of statements, by class or time, all at one moment: nothing has moved from its cells of
 * digests (thread->moves) from the first look to the last.  If it never stands still, it is counted as an unstable read,
 * and may lack what is just moving.
 */
typedef struct PfsThreadSums
{
	PfsScan    *scan;

	/* From nothing, with the copy of a cell, with a record that is in no cell, at last with what has moved. */
	void		(*begin) (struct PfsThreadSums *sums);
	void		(*add_cell) (struct PfsThreadSums *sums, const PfsDigestCell *cell);
	void		(*add_record) (struct PfsThreadSums *sums, const PfsStatementRecord *record);
	void		(*add_moved) (struct PfsThreadSums *sums, PfsThread *thread);
	PfsUnsummed unsummed;
	bool	   *summed;			/* which of them are in a cell, or have moved */
	PfsDigestCell *copy;
} PfsThreadSums;

extern void pfs_thread_sums(PfsThreadSums *sums, PfsThread *thread);

#endif							/* PFS_TABLE_CELLS_H */
