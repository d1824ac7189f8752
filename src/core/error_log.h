/*
 * error_log.h
 *		The last messages of the server's log, kept in memory for error_log.
 *
 * A ring that all processes write, also those without a thread, and the server's first one: which must survive whatever is
 * done to shared memory.  So who writes knows where the rows are from its own memory, and takes nothing else from there but a
 * number.  It waits for nobody: a row in which another one stands still is left to that one, and the message is lost.
 */
#ifndef PFS_ERROR_LOG_H
#define PFS_ERROR_LOG_H

#include "core/arena.h"

#define PFS_LOG_TEXT_LENGTH 946
#define PFS_LOG_SUBSYSTEM_LENGTH 32

/* Severities, as they are counted in the rows; host's names for them. */
typedef enum PfsLogSeverity
{
	PFS_LOG_DEBUG,
	PFS_LOG_LOG,
	PFS_LOG_INFO,
	PFS_LOG_NOTICE,
	PFS_LOG_WARNING,
	PFS_LOG_ERROR,
	PFS_LOG_FATAL,
	PFS_LOG_PANIC
} PfsLogSeverity;

typedef struct PfsLogMessage
{
	PfsTicks	logged;
	uint64_t	thread_id;		/* 0 = the process has no thread */
	PfsRef		user;			/* 0 = none */
	PfsRef		database;
	uint32_t	pid;
	uint32_t	sqlstate;		/* packed by the host */
	uint16_t	message_length;
	uint16_t	detail_length;	/* of what stands behind the message */
	uint8_t		severity;		/* PfsLogSeverity */
	uint8_t		encoding;		/* host's number */
	char		subsystem[PFS_LOG_SUBSYSTEM_LENGTH];	/* kind of the process, zero-terminated */
	char		text[PFS_LOG_TEXT_LENGTH];
} PfsLogMessage;

typedef struct PfsLogRow
{
	uint64_t	stamp;			/* as in a long ring, see history.h */
	PfsLogMessage message;
} PfsLogRow;

_Static_assert(sizeof(PfsLogRow) == 1024, "whole lines, and copied by words");

/* Where the rows are: a copy of the process's own, made before anything can have damaged the arena. */
typedef struct PfsErrorLog
{
	PfsArena   *arena;
	PfsLongRing *ring;
	PfsLogRow  *rows;
	uint32_t	size;
} PfsErrorLog;

extern PfsErrorLog pfs_error_log(PfsArena *arena);

/* Any process at any time, also in a signal handler; never allocates, waits or fails. */
extern void pfs_error_log_add(const PfsErrorLog *log, const PfsLogMessage *message);

/* Copies the row with this number, 0 = the oldest one.  False: there is none, or it is being written. */
extern bool pfs_error_log_read(PfsArena *arena, uint32_t number, PfsLogMessage *copy);

#endif							/* PFS_ERROR_LOG_H */
