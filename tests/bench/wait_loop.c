/*
 * wait_loop.c - a server function for measuring: one cheap waiting call of the server, many times.
 *
 *	CREATE FUNCTION wait_loop(bigint) RETURNS float8 AS '/path/wait_loop.so' LANGUAGE C STRICT;
 *	SELECT wait_loop(100000);		-- nanoseconds per call
 *
 * The call is posix_fadvise under the wait event DataFilePrefetch, made by the server's own
 * executable: about the cheapest system call that has a wait event.  Loaded by bench/pfsbench/loop.py
 * into a server of its own; not part of the extension.
 */
#include "postgres.h"

#include "fmgr.h"
#include "portability/instr_time.h"
#include "storage/fd.h"
#include "utils/wait_event.h"

PG_MODULE_MAGIC;

extern __attribute__((visibility("default"))) Datum wait_loop(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(wait_loop);

Datum
wait_loop(PG_FUNCTION_ARGS)
{
	int64		count = PG_GETARG_INT64(0);
	File		file = OpenTemporaryFile(false);
	instr_time	start,
				end;

	INSTR_TIME_SET_CURRENT(start);
	for (int64 i = 0; i < count; i++)
		(void) FilePrefetch(file, 0, 8192, WAIT_EVENT_DATA_FILE_PREFETCH);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	FileClose(file);
	PG_RETURN_FLOAT8(INSTR_TIME_GET_DOUBLE(end) * 1e9 / (double) count);
}
