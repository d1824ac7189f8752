/*
 * pg_digest_row.c
 *		From a query id to its row in the digest table, which is made when the statement is met first.
 */
#include "postgres.h"

#include "core/digest.h"
#include "core/setup.h"
#include "core/timer.h"
#include "pg/pg_arena.h"
#include "pg/pg_digest.h"
#include "pg/pg_hooks.h"

PFS_HOT uint32
pfs_pg_digest(uint64 query_id, const char *source, int location, int length)
{
	char		buffer[4096];
	char	   *text = buffer;
	uint8		sha[PFS_SHA_BYTES];
	PfsDigestNew row = {0};
	uint32		number;
	size_t		size = pfs_arena->sizes.digest_length + 1;

	if ((pfs_load(&pfs_arena->gate) & PFS_WANTS(DIGEST)) == 0)
		return PFS_DIGEST_NONE;
	if (query_id == 0)
		return PFS_DIGEST_OTHERS;
	number = pfs_digest_find(pfs_arena, pfs_session.thread, query_id);
	if (pfs_likely(number != PFS_DIGEST_NONE) || source == NULL)
		return number;
	if (size > sizeof(buffer))
		text = palloc(size);
	row.text_length = (uint32) pfs_pg_normalize(source, location, length, text, size, sha);
	row.text = text;
	row.sha = sha;
	row.query_id = query_id;
	row.database_id = pfs_session.thread->database_id;
	row.database = pfs_session.thread->database;
	row.encoding = pfs_session.thread->encoding;
	row.now = pfs_now();
	number = pfs_digest_insert(pfs_arena, &row);
	if (text != buffer)
		pfree(text);
	return number;
}
