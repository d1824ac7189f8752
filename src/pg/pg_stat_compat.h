/*
 * pg_stat_compat.h
 *		What differs between versions in the server's cumulative statistics; belongs to pg_compat.h.
 *
 * PFS_PG_SINCE_n: a name and the one it had before.  PFS_PG_FIGURE_SINCE_n, _UNTIL_n: a member that other versions
 * do not have; there it is no figure.
 */
#ifndef PFS_PG_STAT_COMPAT_H
#define PFS_PG_STAT_COMPAT_H

#include "pg/pg_compat.h"

#include "access/transam.h"
#include "utils/pgstat_internal.h"

/* 16: counters of a database lost their prefix; I/O is told by type of backend, object and context. */
#if PG_VERSION_NUM >= 160000
#define PFS_PG_SINCE_16(name, before) name
#define PFS_PG_HAS_IO 1
#else
#define PFS_PG_SINCE_16(name, before) before
#endif

/* 17: counters of the checkpointer got other names, and some are gone; so did what is known of transactions. */
#if PG_VERSION_NUM >= 170000
#define PFS_PG_SINCE_17(name, before) name
#define PFS_PG_FIGURE_SINCE_17(figure) (figure)
#define PFS_PG_FIGURE_UNTIL_16(figure) PFS_NO_FIGURE
#define PFS_PG_OLDEST_XID() (TransamVariables->oldestXid)
#else
#define PFS_PG_SINCE_17(name, before) before
#define PFS_PG_FIGURE_SINCE_17(figure) PFS_NO_FIGURE
#define PFS_PG_FIGURE_UNTIL_16(figure) (figure)
#define PFS_PG_OLDEST_XID() (ShmemVariableCache->oldestXid)
#define B_SLOTSYNC_WORKER B_INVALID
#define B_WAL_SUMMARIZER B_INVALID
#endif

/* 18: counters of WAL are a part of a larger struct, its writes are told with all I/O. */
#if PG_VERSION_NUM >= 180000
#define PFS_PG_FIGURE_SINCE_18(figure) (figure)
#define PFS_PG_STAT_OBJECT(key) ((key)->objid)
#define PFS_PG_WAL(wal) ((wal)->wal_counters)
#define PFS_PG_WAL_IO(io, before_18) (io)
#else
#define PFS_PG_FIGURE_SINCE_18(figure) PFS_NO_FIGURE
#define PFS_PG_STAT_OBJECT(key) ((key)->objoid)
#define PFS_PG_WAL(wal) (*(wal))
#define PFS_PG_WAL_IO(io, before_18) (before_18)
#define B_IO_WORKER B_INVALID
#endif

#endif							/* PFS_PG_STAT_COMPAT_H */
