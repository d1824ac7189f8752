/*
 * fdw.h
 *		What the files of the foreign-data wrapper share.
 *
 * fdw_handler.c has the map of the folder.
 */
#ifndef PFS_FDW_H
#define PFS_FDW_H

#include "foreign/fdwapi.h"
#include "utils/rel.h"

#include "core/table.h"

/* --- fdw_handler.c: from a foreign table to its descriptor --- */

/* One attribute of a foreign table; column is NULL for a dropped attribute. */
typedef struct PfsFdwAttribute
{
	const PfsColumn *column;
	int			number;			/* of the column in the descriptor */
	int			group;
} PfsFdwAttribute;

typedef struct PfsFdwTable
{
	const PfsTable *table;
	int			column_count;	/* of the descriptor */
	int			attribute_count;
	PfsFdwAttribute attribute[FLEXIBLE_ARRAY_MEMBER];	/* by attribute number - 1 */
} PfsFdwTable;

/* Raises the error with the hint unless the library was loaded at server start. */
extern void pfs_fdw_require_preload(void);

/* Descriptor that the relation stands for, or NULL; never raises an error about its content. */
extern const PfsTable *pfs_fdw_descriptor(Relation relation);

/* Matches attributes to columns by name; unknown names and wrong types are errors. */
extern PfsFdwTable *pfs_fdw_table(Relation relation);

extern int	pfs_fdw_column_count(const PfsTable *table);

/* Type OID of a column in SQL. */
extern Oid	pfs_fdw_column_type(const PfsColumn *column);

/* --- fdw_plan.c --- */

extern void pfs_fdw_plan_callbacks(FdwRoutine *routine);

/* --- fdw_scan.c --- */

extern void pfs_fdw_scan_callbacks(FdwRoutine *routine);

/* --- fdw_modify.c, fdw_edit.c --- */

extern void pfs_fdw_modify_callbacks(FdwRoutine *routine);

/* Which operations the table allows: bit per CmdType, as IsForeignRelUpdatable returns them. */
extern int	pfs_fdw_updatable(const PfsTable *table);

typedef enum PfsFdwEdit
{
	PFS_FDW_UPDATE,
	PFS_FDW_INSERT,
	PFS_FDW_REMOVE
} PfsFdwEdit;

/*
 * Changes one row under the setup lock.  False when there is no such row any more, or nothing is
 * recorded at all (but INSERT is an error then).  PFS_EDIT_DUPLICATE is handed back through
 * *duplicate when that is not NULL.  YES and NO are accepted in any case.
 */
extern bool pfs_fdw_edit(const PfsTable *table, PfsFdwEdit edit, PfsFields old, char **new,
						 bool *duplicate);

/* Resets one table under the setup lock; an error if it has no reset. */
extern void pfs_fdw_reset(const PfsTable *table);
extern void pfs_fdw_require_reset(const PfsTable *table);

/* --- fdw_absent.c: instruments that MySQL has and this server has not --- */

/* A NOTICE for each constant of these conditions that is a name or a pattern of such. */
extern void pfs_fdw_tell_absent(List *conditions);

/* --- fdw_read.c: running a scan --- */

/* The reader of rows: who looks, from which moment, into which encoding. */
typedef struct PfsFdwReader
{
	bool		sees_all;
	const char *own_user;
	uint64_t	now_ticks;
	int64		wall_time;		/* TimestampTz at the moment ... */
	uint64_t	wall_ticks;		/* ... of these ticks */
	int			text_encoding;	/* of the last text that had to be converted */
	Oid			conversion;		/* its conversion function, if there is one */
} PfsFdwReader;

extern void pfs_fdw_reader_init(PfsFdwReader *reader);

/*
 * Runs table->scan and calls row for each row, in a context that is emptied after each.  Nothing
 * happens when nothing is recorded.  row may throw.
 */
typedef void (*PfsFdwRow) (void *arg, const void *const *parts);
extern void pfs_fdw_read(const PfsTable *table, const PfsFdwReader *reader,
						 const PfsCondition *conditions, int condition_count,
						 PfsFdwRow row, void *arg);

/* --- fdw_datum.c, fdw_text.c: from shared memory to SQL values --- */

/* Value of a column; part points to the struct of the column's group. */
extern Datum pfs_fdw_datum(PfsFdwReader *reader, const PfsColumn *column, const void *part,
						   bool *is_null);

/* A valid string in the database's encoding, whatever the bytes are; what is not becomes '?'. */
extern Datum pfs_fdw_text(PfsFdwReader *reader, const char *data, size_t length, int encoding);

#endif							/* PFS_FDW_H */
