/*
 * pg_digest_sql.c
 *		SQL functions: digest of a text, as the statement would get it.
 */
#include "postgres.h"

#include "fmgr.h"
#include "pg/pg_compat.h"
#include "pg/pg_digest.h"
#include "pg/pg_guc.h"
#include "utils/builtins.h"

PFS_SQL_FUNCTION(performance_schema_statement_digest);
PFS_SQL_FUNCTION(performance_schema_statement_digest_text);

Datum
performance_schema_statement_digest(PG_FUNCTION_ARGS)
{
	uint8		hash[PFS_SHA256_SIZE];
	char		digits[2 * PFS_SHA256_SIZE + 1];

	(void) pfs_pg_normalize(text_to_cstring(PG_GETARG_TEXT_PP(0)), -1, 0, NULL, 0, hash);
	for (int i = 0; i < PFS_SHA256_SIZE; i++)
		snprintf(digits + 2 * i, 3, "%02x", hash[i]);
	PG_RETURN_TEXT_P(cstring_to_text(digits));
}

Datum
performance_schema_statement_digest_text(PG_FUNCTION_ARGS)
{
	uint8		hash[PFS_SHA256_SIZE];
	size_t		size = (size_t) pfs_guc_max_digest_length + 1;
	char	   *shown = palloc(size);
	size_t		length = pfs_pg_normalize(text_to_cstring(PG_GETARG_TEXT_PP(0)), -1, 0, shown, size, hash);

	PG_RETURN_TEXT_P(cstring_to_text_with_len(shown, (int) length));
}
