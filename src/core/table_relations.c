/*
 * table_relations.c
 *		I/O and lock waits of tables: table_io_waits_summary_by_table, _by_index_usage,
 *		table_lock_waits_summary_by_table, objects_summary_global_by_type.
 */
#include "core/table_objects.h"

#include "core/setup.h"

/* --- rows --- */

typedef struct NameRow
{
	PfsText		type;
	PfsText		schema;
	PfsText		name;
	PfsText		index;
	PfsText		index_type;
	PfsTableKey key;
} NameRow;

typedef struct TableIoRow
{
	PfsTimerStat all;
	PfsTimerStat write;
	PfsTableStat stat;
} TableIoRow;

typedef struct TableLockRow
{
	PfsTimerStat all;
	PfsTimerStat read;
	PfsTimerStat write;
	PfsTableLockStat stat;
} TableLockRow;

static const PfsColumn table_name_columns[] = {
	{"object_type", "TABLE", PFS_COLUMN_TEXT, offsetof(NameRow, type), PFS_COLUMN_KEY},
	{"object_schema", "Schema; NULL: of another database, and not used since start", PFS_COLUMN_TEXT,
	offsetof(NameRow, schema), PFS_COLUMN_KEY},
	{"object_name", "Table, or materialized view", PFS_COLUMN_TEXT, offsetof(NameRow, name),
	PFS_COLUMN_KEY},
};
static const PfsColumn index_name_columns[] = {
	{"index_name", "Index by which rows were read; NULL: none, and all inserts", PFS_COLUMN_TEXT,
	offsetof(NameRow, index), PFS_COLUMN_KEY},
};

#define TABLE_ID_COLUMNS \
	{"database_oid", "Its database, as in pg_database; 0 = all databases share it; not in MySQL", \
	PFS_COLUMN_U32, offsetof(NameRow, key.database), PFS_COLUMN_KEY}, \
	{"table_oid", "The table, as in that database's pg_class; not in MySQL", PFS_COLUMN_U32, \
	offsetof(NameRow, key.table), PFS_COLUMN_KEY}

static const PfsColumn table_id_columns[] = {
	TABLE_ID_COLUMNS,
};
static const PfsColumn index_id_columns[] = {
	TABLE_ID_COLUMNS,
	{"index_oid", "The index, the same; NULL: none; not in MySQL", PFS_COLUMN_U32,
	offsetof(NameRow, key.index), PFS_COLUMN_KEY | PFS_COLUMN_NULL_IF_ZERO},
	{"index_type", "Its access method: btree, gin, ...; NULL: no index, or one of an extension in another database; not in MySQL",
	PFS_COLUMN_TEXT, offsetof(NameRow, index_type), 0},
};

#define OPERATION_COLUMNS(word, symbol, what) \
	PFS_TIMER_COLUMNS(offsetof(TableIoRow, stat.operation[PFS_TABLE_##symbol]), word, word, what)

/* READ is FETCH: the same numbers under two names, as in MySQL. */
static const PfsColumn table_io_all_columns[] = {
	PFS_TIMER_COLUMNS(offsetof(TableIoRow, all), "star", "wait", "rows fetched or changed"),
	OPERATION_COLUMNS("read", FETCH, "rows fetched"),
	PFS_TIMER_COLUMNS(offsetof(TableIoRow, write), "write", "write", "rows changed"),
};
static const PfsColumn table_io_columns[] = {
	OPERATION_COLUMNS("fetch", FETCH, "rows fetched"),
	OPERATION_COLUMNS("insert", INSERT, "rows inserted"),
	OPERATION_COLUMNS("update", UPDATE, "rows updated"),
	OPERATION_COLUMNS("delete", DELETE, "rows deleted"),
};

#define MODE_COLUMNS(word, number, what) \
	PFS_TIMER_COLUMNS(offsetof(TableLockRow, stat.mode[(number) - 1]), word, word, \
					  "waits for a lock " what)

static const PfsColumn table_lock_columns[] = {
	PFS_TIMER_COLUMNS(offsetof(TableLockRow, all), "star", "wait", "waits for a lock of the table"),
	PFS_TIMER_COLUMNS(offsetof(TableLockRow, read), "read", "read",
					  "waits for a lock of modes ACCESS SHARE and ROW SHARE"),
	PFS_TIMER_COLUMNS(offsetof(TableLockRow, write), "write", "write",
					  "waits for a lock of all other modes"),
	MODE_COLUMNS("access_share", 1, "ACCESS SHARE (SELECT)"),
	MODE_COLUMNS("row_share", 2, "ROW SHARE (SELECT FOR UPDATE)"),
	MODE_COLUMNS("row_exclusive", 3, "ROW EXCLUSIVE (INSERT, UPDATE, DELETE)"),
	MODE_COLUMNS("share_update_exclusive", 4, "SHARE UPDATE EXCLUSIVE (VACUUM, ANALYZE)"),
	MODE_COLUMNS("share", 5, "SHARE (CREATE INDEX)"),
	MODE_COLUMNS("share_row_exclusive", 6, "SHARE ROW EXCLUSIVE (CREATE TRIGGER)"),
	MODE_COLUMNS("exclusive", 7, "EXCLUSIVE (REFRESH MATERIALIZED VIEW CONCURRENTLY)"),
	MODE_COLUMNS("access_exclusive", 8, "ACCESS EXCLUSIVE (ALTER TABLE, TRUNCATE, DROP)"),
};
static const PfsColumn table_all_columns[] = {
	PFS_TIMER_COLUMNS(0, "star", "wait", "rows and lock waits"),
};
PFS_GROUP(table_name_group, table_name_columns);
PFS_GROUP(index_name_group, index_name_columns);
PFS_GROUP(table_id_group, table_id_columns);
PFS_GROUP(index_id_group, index_id_columns);
PFS_GROUP(table_io_all_group, table_io_all_columns);
PFS_GROUP(table_io_group, table_io_columns);
PFS_GROUP(table_lock_group, table_lock_columns);
PFS_GROUP(table_all_group, table_all_columns);

#define MODES_OF_READERS 2		/* ACCESS SHARE, ROW SHARE */

/* --- filling --- */

static PfsTableKey
key_of(const PfsObjectSum *sum)
{
	PfsTableKey key;

	memcpy(&key, sum->row.key, sizeof(key));
	return key;
}

/* False when the reader does not want the row. */
static bool
fill_name(const PfsObjectSums *sums, const PfsObjectSum *sum, NameRow *row)
{
	const PfsScan *scan = sums->scan;
	PfsHostObject host = {0};
	bool		looks_up = scan->reading == NULL;	/* counters of the engine are read under a lock */

	memset(row, 0, sizeof(*row));
	row->key = key_of(sum);
	row->type = pfs_text_of_string(pfs_object_type_name(PFS_OBJECT_TABLE));
	if (sum->names.index[0] != '\0')
		row->index = PFS_TEXT_OF(sum->names.index);
	if (row->key.index != 0 && pfs_host_index_type != NULL)
		row->index_type = pfs_text_of_string(pfs_host_index_type(sum->row.relative, looks_up ? row->key.database : 0));
	if (sum->names.table[0] != '\0')
	{
		row->schema = PFS_TEXT_OF(sum->names.schema);
		row->name = PFS_TEXT_OF(sum->names.table);
	}
	else
	{
		if (pfs_host_table_name != NULL && looks_up)
			pfs_host_table_name(&row->key, &host);
		row->schema = pfs_text_of_string(host.schema);
		row->name = pfs_text_of_string(host.name);
	}
	return pfs_scan_wants_text(scan, "object_type", row->type) &&
		pfs_scan_wants_text(scan, "object_schema", row->schema) &&
		pfs_scan_wants_text(scan, "object_name", row->name) &&
		pfs_scan_wants_text(scan, "index_name", row->index) &&
		pfs_scan_wants_number(scan, "database_oid", row->key.database) &&
		pfs_scan_wants_number(scan, "table_oid", row->key.table) &&
		pfs_scan_wants_number(scan, "index_oid", row->key.index);
}

static void
fill_io(const PfsObjectSum *sum, TableIoRow *row)
{
	memset(row, 0, sizeof(*row));
	row->stat = sum->row.stat.table;
	for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
	{
		pfs_timer_stat_merge(&row->all, &row->stat.operation[i]);
		if (i != PFS_TABLE_FETCH)
			pfs_timer_stat_merge(&row->write, &row->stat.operation[i]);
	}
}

static void
fill_locks(const PfsObjectSum *sum, TableLockRow *row)
{
	memset(row, 0, sizeof(*row));
	if (sum->locks == NULL)
		return;
	row->stat = *sum->locks;
	for (int i = 0; i < PFS_LOCK_MODES; i++)
	{
		pfs_timer_stat_merge(&row->all, &row->stat.mode[i]);
		pfs_timer_stat_merge(i < MODES_OF_READERS ? &row->read : &row->write, &row->stat.mode[i]);
	}
}

/* --- from indexes to tables --- */

/* Adds the numbers of one row of a table to another one; the table's own name is the better one. */
static void
add_to_table(PfsObjectSum *to, const PfsObjectSum *from)
{
	if (from->names.table[0] != '\0' && (key_of(from).index == 0 || to->names.table[0] == '\0'))
	{
		memcpy(to->names.schema, from->names.schema, sizeof(to->names.schema));
		memcpy(to->names.table, from->names.table, sizeof(to->names.table));
	}
	pfs_object_stat_merge(PFS_MAP_TABLES, &to->row.stat, &from->row.stat);
	if (to->locks == NULL)
		to->locks = from->locks;
	else if (from->locks != NULL)
		pfs_timer_stats_merge(to->locks->mode, from->locks->mode, PFS_LOCK_MODES);
}

/* Leaves one sum of each table, in which those of its indexes are. */
static void
add_up_tables(PfsObjectSums *sums)
{
	uint64_t	places = 16;
	PfsObjectSum **first;		/* a hash: of each table the sum that was met first */

	while (places < 2 * (uint64_t) sums->count)
		places *= 2;
	first = sums->scan->alloc(sums->scan, places * sizeof(*first));
	PFS_EACH_OBJECT(sums, sum)
	{
		PfsTableKey key = key_of(sum);
		uint64_t	place = pfs_hash64((uint64_t) key.database << 32 | key.table);

		for (place &= places - 1; first[place] != NULL; place = (place + 1) & (places - 1))
		{
			PfsTableKey other = key_of(first[place]);

			if (other.database == key.database && other.table == key.table)
				break;
		}
		if (first[place] == NULL)
			first[place] = sum;
		else
		{
			add_to_table(first[place], sum);
			sums->sum[sum->number - 1] = NULL;
		}
	}
}

/* --- the tables --- */

static void
by_index_scan(PfsScan *scan)
{
	PfsObjectSums sums;
	NameRow		name;
	TableIoRow	io;
	const void *parts[] = {&name, &name, &io, &io, &name};

	pfs_object_sums(&sums, scan, PFS_MAP_TABLES);
	PFS_EACH_OBJECT(&sums, sum)
	{
		if (!fill_name(&sums, sum, &name))
			continue;
		fill_io(sum, &io);
		scan->emit(scan, parts);
	}
}

static void
by_table_scan(PfsScan *scan)
{
	PfsObjectSums sums;
	NameRow		name;
	TableIoRow	io;
	const void *parts[] = {&name, &io, &io, &name};

	pfs_object_sums(&sums, scan, PFS_MAP_TABLES);
	add_up_tables(&sums);
	PFS_EACH_OBJECT(&sums, sum)
	{
		if (!fill_name(&sums, sum, &name))
			continue;
		fill_io(sum, &io);
		scan->emit(scan, parts);
	}
}

static void
locks_scan(PfsScan *scan)
{
	PfsObjectSums sums;
	NameRow		name;
	TableLockRow locks;
	const void *parts[] = {&name, &locks, &name};

	pfs_object_sums(&sums, scan, PFS_MAP_TABLES);
	add_up_tables(&sums);
	PFS_EACH_OBJECT(&sums, sum)
	{
		if (!fill_name(&sums, sum, &name))
			continue;
		fill_locks(sum, &locks);
		scan->emit(scan, parts);
	}
}

static void
objects_scan(PfsScan *scan)
{
	PfsObjectSums sums;
	NameRow		name;
	TableIoRow	io;
	TableLockRow locks;
	PfsTimerStat all;
	const void *parts[] = {&name, &all, &name};

	pfs_object_sums(&sums, scan, PFS_MAP_TABLES);
	add_up_tables(&sums);
	PFS_EACH_OBJECT(&sums, sum)
	{
		if (!fill_name(&sums, sum, &name))
			continue;
		fill_io(sum, &io);
		fill_locks(sum, &locks);
		all = io.all;
		pfs_timer_stat_merge(&all, &locks.all);
		scan->emit(scan, parts);
	}
}

const PfsTable pfs_table_objects_summary_global_by_type = {
	.name = "objects_summary_global_by_type",
	.doc = "Rows fetched and changed, and waits for the lock, per table; its indexes included",
	.groups = {&table_name_group, &table_all_group, &table_id_group},
	.argument = 1 << PFS_RESET_TABLE_IO | 1 << PFS_RESET_TABLE_LOCKS,
	.scan = objects_scan,.reset = pfs_reset_points,
};
const PfsTable pfs_table_table_io_waits_summary_by_table = {
	.name = "table_io_waits_summary_by_table",
	.doc = "Rows fetched and changed per table, by whichever index; TRUNCATE empties "
	"table_io_waits_summary_by_index_usage too",
	.groups = {&table_name_group, &table_io_all_group, &table_io_group, &table_id_group},
	.argument = 1 << PFS_RESET_TABLE_IO,
	.scan = by_table_scan,.reset = pfs_reset_points,
};
const PfsTable pfs_table_table_io_waits_summary_by_index_usage = {
	.name = "table_io_waits_summary_by_index_usage",
	.doc = "Rows fetched and changed per table and index; TRUNCATE empties "
	"table_io_waits_summary_by_table too",
	.groups = {&table_name_group, &index_name_group, &table_io_all_group, &table_io_group, &index_id_group},
	.argument = 1 << PFS_RESET_TABLE_IO,
	.scan = by_index_scan,.reset = pfs_reset_points,
};
const PfsTable pfs_table_table_lock_waits_summary_by_table = {
	.name = "table_lock_waits_summary_by_table",
	.doc = "Waits for the lock of a table, by the mode that was asked for: PostgreSQL's eight modes in place "
	"of MySQL's; read: ACCESS SHARE and ROW SHARE, write: the six others",
	.groups = {&table_name_group, &table_lock_group, &table_id_group},
	.argument = 1 << PFS_RESET_TABLE_LOCKS,
	.scan = locks_scan,.reset = pfs_reset_points,
};
