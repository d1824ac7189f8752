/*
 * pg_guc.h
 *		The settings performance_schema.*; defined in guc.def, read by pg_arena.c at start.
 */
#ifndef PFS_PG_GUC_H
#define PFS_PG_GUC_H

#include "core/setup.h"

/* Values of performance_schema.wait_timing. */
enum
{
	PFS_TIMING_OFF,
	PFS_TIMING_SAMPLED,
	PFS_TIMING_AUTO
};

#define PFS_BOOL(variable, name, boot, context, doc) extern bool pfs_guc_##variable;
#define PFS_SIZE(variable, name, boot, min, max, context, doc) extern int pfs_guc_##variable;
#define PFS_TEXT(variable, name, boot, context, check, assign, doc) extern char *pfs_guc_##variable;
#define PFS_CHOICE(variable, name, boot, options, context, doc) extern int pfs_guc_##variable;
#include "pg/guc.def"
#undef PFS_BOOL
#undef PFS_SIZE
#undef PFS_TEXT
#undef PFS_CHOICE

/* Defines all settings.  From _PG_init; preloading = false defines them as far as a session may. */
extern void pfs_guc_define(void);

/* Applies performance_schema.instrument to an instrument that came later.  Allocates nothing. */
extern void pfs_guc_apply_later(PfsArena *arena, PfsInstrument *instrument);

/* Applies performance_schema.instrument and .consumer_* to a fresh arena.  Postmaster. */
extern void pfs_guc_apply(PfsArena *arena);

#endif							/* PFS_PG_GUC_H */
