/*
 * fdw_text.c
 *		Texts from shared memory as valid strings of this database.
 *
 * A text may be cut within a character, hold any bytes, or come from a database of another
 * encoding.  A SELECT must not fail because of that: each run of bytes that cannot be shown
 * becomes one '?'.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "fdw/fdw.h"

static bool
is_plain_ascii(const char *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (data[i] == '\0' || IS_HIGHBIT_SET(data[i]))
			return false;
	return true;
}

/* Copies what is valid in the encoding, '?' for each run of other bytes; returns the length. */
static size_t
copy_valid(int encoding, const char *data, size_t length, char *to)
{
	size_t		used = 0;
	bool		in_bad_run = false;

	while (length > 0)
	{
		int			valid = pg_encoding_verifymbstr(encoding, data, (int) length);

		if (valid > 0)
		{
			memcpy(to + used, data, valid);
			used += valid;
			in_bad_run = false;
		}
		else
			valid = 0;
		if ((size_t) valid < length)
		{
			if (!in_bad_run)
				to[used++] = '?';
			in_bad_run = true;
			valid++;
		}
		data += valid;
		length -= valid;
	}
	return used;
}

/* Without a conversion, in place: ASCII stays, each run of other bytes becomes '?'. */
static size_t
keep_ascii(char *data, size_t length)
{
	size_t		used = 0;
	bool		in_run = false;

	for (size_t i = 0; i < length; i++)
	{
		bool		ascii = !IS_HIGHBIT_SET(data[i]);

		if (ascii || !in_run)
			data[used++] = ascii ? data[i] : '?';
		in_run = !ascii;
	}
	return used;
}

/* Converts valid text; a character that does not exist in the database's encoding becomes '?'. */
static char *
convert_valid(Oid conversion, int encoding, char *data, size_t length, size_t *used)
{
	size_t		room = length * MAX_CONVERSION_GROWTH + 1;
	char	   *to = MemoryContextAllocHuge(CurrentMemoryContext, room);

	*used = 0;
	while (length > 0)
	{
		int			done = pg_do_encoding_conversion_buf(conversion, encoding,
														 GetDatabaseEncoding(),
														 (unsigned char *) data, (int) length,
														 (unsigned char *) to + *used,
														 (int) Min(room - *used, INT_MAX), true);

		done = Max(done, 0);
		*used += strlen(to + *used);
		data += done;
		length -= done;
		if (length > 0)
		{
			int			skip = pg_encoding_mblen(encoding, data);

			to[(*used)++] = '?';
			skip = Min(Max(skip, 1), (int) length);
			data += skip;
			length -= skip;
		}
	}
	return to;
}

Datum
pfs_fdw_text(PfsFdwReader *reader, const char *data, size_t length, int encoding)
{
	int			database = GetDatabaseEncoding();
	char	   *valid;
	size_t		used;

	length = Min(length, MaxAllocSize / (2 * MAX_CONVERSION_GROWTH));
	if (is_plain_ascii(data, length))
		return PointerGetDatum(cstring_to_text_with_len(data, (int) length));
	if (!PG_VALID_BE_ENCODING(encoding) || encoding == PG_SQL_ASCII || database == PG_SQL_ASCII)
		encoding = database;
	valid = palloc(length + 1);
	used = copy_valid(encoding, data, length, valid);
	if (encoding != database)
	{
		if (reader->text_encoding != encoding)
		{
			reader->conversion = FindDefaultConversionProc(encoding, database);
			reader->text_encoding = encoding;
		}
		if (OidIsValid(reader->conversion))
			valid = convert_valid(reader->conversion, encoding, valid, used, &used);
		else
			used = keep_ascii(valid, used);
		if (!pg_verify_mbstr(database, valid, (int) used, true))
			used = keep_ascii(valid, used);
	}
	return PointerGetDatum(cstring_to_text_with_len(valid, (int) used));
}
