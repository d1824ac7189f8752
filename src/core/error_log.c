/*
 * error_log.c
 *		The last messages of the server's log: the ring.
 */
#include "core/error_log.h"

#include "core/history.h"

PfsErrorLog
pfs_error_log(PfsArena *arena)
{
	return (PfsErrorLog) {arena, &arena->error_log_ring, PFS_AT(arena, arena->error_log, PfsLogRow), arena->sizes.error_log};
}

void
pfs_error_log_add(const PfsErrorLog *log, const PfsLogMessage *message)
{
	uint64_t	position;

	if (log->size == 0)
		return;
	position = pfs_add_shared(&log->ring->next, 1);
	if (!pfs_long_row_write(&log->rows[position % log->size].stamp, position, message, sizeof(*message)))
		pfs_lose(log->arena, PFS_LOSS_ERROR_LOG);
}

bool
pfs_error_log_read(PfsArena *arena, uint32_t number, PfsLogMessage *copy)
{
	PfsErrorLog log = pfs_error_log(arena);

	return pfs_long_row_read(arena, &log.rows[(pfs_load(&log.ring->next) + number) % log.size].stamp, copy, sizeof(*copy)) != 0;
}
