/*
 * fdw_datum.c
 *		SQL values of columns: the edge where ticks become picoseconds and moments.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "core/stat.h"
#include "core/timer.h"
#include "fdw/fdw.h"

/* Digits of 2^128 - 1, and the terminator. */
#define U128_DIGITS 40

static Datum
numeric_u128(unsigned __int128 value)
{
	char		digits[U128_DIGITS];
	char	   *p = digits + sizeof(digits);

	if (value <= INT64_MAX)
		return NumericGetDatum(int64_to_numeric((int64) value));
	*--p = '\0';
	for (; value != 0; value /= 10)
		*--p = '0' + (int) (value % 10);
	return DirectFunctionCall3(numeric_in, CStringGetDatum(p), ObjectIdGetDatum(InvalidOid),
							   Int32GetDatum(-1));
}

/* Moments are told from a known one: the timer knows nothing of the calendar. */
static Datum
timestamp_of_ticks(const PfsFdwReader *reader, uint64_t ticks)
{
	bool		past = ticks <= reader->wall_ticks;
	uint64_t	distance = past ? reader->wall_ticks - ticks : ticks - reader->wall_ticks;
	int64		usecs = (int64) (pfs_ticks_to_ps(distance) / 1000000);

	return TimestampTzGetDatum(reader->wall_time + (past ? -usecs : usecs));
}

static Datum
seconds_since(const PfsFdwReader *reader, uint64_t ticks)
{
	uint64_t	distance = ticks < reader->now_ticks ? reader->now_ticks - ticks : 0;

	return Int64GetDatum((int64) (pfs_ticks_to_ps(distance) / UINT64CONST(1000000000000)));
}

static Datum
hex_text(const uint8_t *bytes, bool *is_null)
{
	char		digits[64];
	uint8_t		any = 0;

	for (int i = 0; i < 32; i++)
	{
		any |= bytes[i];
		digits[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		digits[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	*is_null = any == 0;
	return *is_null ? (Datum) 0 : PointerGetDatum(cstring_to_text_with_len(digits, 64));
}

/* The columns that are 64 bits in shared memory. */
static Datum
word_datum(const PfsFdwReader *reader, const PfsColumn *column, uint64_t value, bool *is_null)
{
	if (value == 0 && (column->flags & PFS_COLUMN_NULL_IF_ZERO) != 0)
		*is_null = true;
	switch (column->type)
	{
		case PFS_COLUMN_TICKS:
			return numeric_u128(pfs_ticks_to_ps(value));
		case PFS_COLUMN_TICKS_SINCE_START:
			*is_null = value == 0;
			return numeric_u128(pfs_ticks_to_ps(value > pfs_timer.origin
												? value - pfs_timer.origin : 0));
		case PFS_COLUMN_PS:
			return numeric_u128(value);
		case PFS_COLUMN_SECONDS_AGO:
			*is_null = value == 0;
			return seconds_since(reader, value);
		case PFS_COLUMN_WHEN:
			*is_null = value == 0;
			return timestamp_of_ticks(reader, value);
		default:
			return Int64GetDatum((int64) value);
	}
}

/* Minimum or mean of a statistic. */
static Datum
stat_datum(const PfsColumn *column, const PfsTimerStat *stat, bool *is_null)
{
	unsigned __int128 ps;

	if (column->type == PFS_COLUMN_MIN)
		ps = pfs_ticks_to_ps(pfs_timer_stat_min(stat));
	else
		ps = stat->count == 0 ? 0 : pfs_ticks_to_ps(stat->sum) / stat->count;
	*is_null = ps == 0 && (column->flags & PFS_COLUMN_NULL_IF_ZERO) != 0;
	return numeric_u128(ps);
}

static Datum
text_datum(PfsFdwReader *reader, const PfsColumn *column, const void *at, bool *is_null)
{
	const PfsText *string = at;
	uint8_t		flag;
	uint32_t	packed;

	switch (column->type)
	{
		case PFS_COLUMN_YES_NO:
			flag = *(const uint8_t *) at;
			*is_null = flag > 1;
			return *is_null ? (Datum) 0 : CStringGetTextDatum(flag != 0 ? "YES" : "NO");
		case PFS_COLUMN_SQLSTATE:
			packed = *(const uint32_t *) at;
			*is_null = packed == 0;
			return *is_null ? (Datum) 0 : CStringGetTextDatum(unpack_sql_state((int) packed));
		case PFS_COLUMN_HEX:
			return hex_text(at, is_null);
		default:
			*is_null = string->data == NULL;
			return *is_null ? (Datum) 0
				: pfs_fdw_text(reader, string->data, string->length, string->encoding);
	}
}

static bool
is_zero_null(const PfsColumn *column, uint64_t value)
{
	return value == 0 && (column->flags & PFS_COLUMN_NULL_IF_ZERO) != 0;
}

/* What is shown in place of a private value. */
static Datum
hidden_datum(const PfsColumn *column, bool *is_null)
{
	*is_null = column->type != PFS_COLUMN_TEXT && column->type != PFS_COLUMN_HEX;
	return *is_null ? (Datum) 0 : CStringGetTextDatum(PFS_HIDDEN_TEXT);
}

Datum
pfs_fdw_datum(PfsFdwReader *reader, const PfsColumn *column, const void *part, bool *is_null)
{
	const void *at;

	*is_null = part == NULL;	/* nothing is known of the group */
	if (part == NULL)
		return (Datum) 0;
	at = (const char *) part + column->offset;
	if ((column->flags & PFS_COLUMN_PRIVATE) != 0 && !reader->sees_all)
		return hidden_datum(column, is_null);
	switch (column->type)
	{
		case PFS_COLUMN_U64:
		case PFS_COLUMN_TICKS:
		case PFS_COLUMN_TICKS_SINCE_START:
		case PFS_COLUMN_PS:
		case PFS_COLUMN_SECONDS_AGO:
		case PFS_COLUMN_WHEN:
			return word_datum(reader, column, *(const uint64_t *) at, is_null);
		case PFS_COLUMN_U32:
			*is_null = is_zero_null(column, *(const uint32_t *) at);
			return Int64GetDatum(*(const uint32_t *) at);
		case PFS_COLUMN_U8:
			*is_null = is_zero_null(column, *(const uint8_t *) at);
			return Int32GetDatum(*(const uint8_t *) at);
		case PFS_COLUMN_MIN:
		case PFS_COLUMN_AVERAGE:
			return stat_datum(column, at, is_null);
		case PFS_COLUMN_I64:
			*is_null = *(const int64_t *) at == INT64_MIN;
			return Int64GetDatum(*(const int64_t *) at);
		case PFS_COLUMN_DOUBLE:
			*is_null = isnan(*(const double *) at);
			return Float8GetDatum(*(const double *) at);
		case PFS_COLUMN_TEXT:
		case PFS_COLUMN_YES_NO:
		case PFS_COLUMN_SQLSTATE:
		case PFS_COLUMN_HEX:
			return text_datum(reader, column, at, is_null);
	}
	*is_null = true;
	return (Datum) 0;
}
