/*
 * table_objects.c
 *		Adding up rows of files and tables and the cells of all threads.
 */
#include "core/table_objects.h"

#include "core/rollup.h"
#include "core/table_cells.h"

void		(*pfs_host_table_name) (const PfsTableKey *key, PfsHostObject *object);
const char *(*pfs_host_index_type) (uint32_t method, uint32_t database);

static PfsObjectSum *
sum_of(PfsObjectSums *sums, uint32_t number)
{
	PfsObjectSum **place = &sums->sum[number - 1];

	if (*place == NULL)
		*place = sums->scan->alloc(sums->scan, sizeof(PfsObjectSum));
	return *place;
}

/* The sums, while cells are added to them. */
typedef struct Adder
{
	PfsCellSums cells;			/* first: its functions get its address */
	PfsObjectSums *sums;
} Adder;

static uint32_t
row_of(const PfsCellSums *cells, const void *cell)
{
	const PfsCacheCell *head = cell;
	const PfsObjectSums *sums = ((const Adder *) cells)->sums;
	uint64_t	row = pfs_load(&head->key);

	return row < cells->end && pfs_load(&head->epoch) >= sums->reset &&
		pfs_object_row(cells->scan->arena, sums->map, (uint32_t) row, pfs_load(&head->use)) != NULL
		? (uint32_t) row : 0;
}

static uint32_t
hash_of(const PfsCellSums *cells, uint32_t number)
{
	return pfs_object_hash(number);
}

static void
clear(PfsCellSums *cells, uint32_t number)
{
	sum_of(((Adder *) cells)->sums, number)->cells_use = 0;
}

static void
add_cell(PfsCellSums *cells, uint32_t number, const void *copy)
{
	const PfsObjectCell *cell = copy;
	PfsObjectSums *sums = ((Adder *) cells)->sums;
	PfsObjectSum *sum = sum_of(sums, number);

	if (sum->cells_use != cell->head.use)
		memset(&sum->cells, 0, sizeof(sum->cells));
	sum->cells_use = cell->head.use;
	pfs_object_stat_merge(sums->map, &sum->cells, &cell->stat);
}

static void
add_row(PfsCellSums *cells, uint32_t number)
{
	PfsArena   *arena = cells->scan->arena;
	PfsObjectSums *sums = ((Adder *) cells)->sums;
	PfsObjectRow *row = pfs_object_row_at(arena, sums->map, number);
	PfsTableLockStat *locks;
	PfsObjectSum *sum;

	if (sums->sum[number - 1] == NULL && (pfs_load(&row->use) & 1) == 0)
		return;
	sum = sum_of(sums, number);
	sum->number = number;
	pfs_copy_words(&sum->row, row, sizeof(sum->row));
	if (sums->map != PFS_MAP_TABLES)
		return;
	pfs_copy_words(&sum->names, pfs_table_names(arena, number), sizeof(sum->names));
	locks = pfs_pool_at(pfs_pool_of(arena), sum->row.locks, sizeof(*locks));
	if (locks != NULL)
	{
		if (sum->locks == NULL)
			sum->locks = sums->scan->alloc(sums->scan, sizeof(*locks));
		pfs_copy_words(sum->locks, locks, sizeof(*locks));
	}
}

/* What the sum is of the row and the cells; false when the row is not in use. */
static bool
finish(const PfsObjectSums *sums, PfsObjectSum *sum)
{
	PfsObjectRow *row = &sum->row;

	if ((row->use & 1) == 0)
		return false;
	if (row->named == 0)
		memset(&sum->names, 0, sizeof(sum->names));
	row->key_length = pfs_min(row->key_length, (uint32_t) PFS_OBJECT_KEY_LENGTH);
	if (row->epoch < sums->reset)
		memset(&row->stat, 0, sizeof(row->stat));
	if (sum->cells_use == row->use)
		pfs_object_stat_merge(sums->map, &row->stat, &sum->cells);
	if (row->lock_epoch < sums->lock_reset)
		sum->locks = NULL;
	return true;
}

void
pfs_object_sums(PfsObjectSums *sums, PfsScan *scan, PfsObjectMap map)
{
	PfsArena   *arena = scan->arena;
	Adder		adder = {
		.cells = {
			.scan = scan,.kind = &pfs_object_cells[map],.row_of = row_of,.hash_of = hash_of,
			.clear = clear,.add_cell = add_cell,.add_row = add_row,
		},
		.sums = sums,
	};

	memset(sums, 0, sizeof(*sums));
	sums->scan = scan;
	sums->map = map;
	sums->count = pfs_min(pfs_load_acquire(&arena->object_rows[map].used),
						  map == PFS_MAP_FILES ? arena->sizes.files : arena->sizes.tables);
	sums->reset = pfs_load(&arena->reset_of[pfs_object_cells[map].reset]);
	sums->lock_reset = pfs_load(&arena->reset_of[PFS_RESET_TABLE_LOCKS]);
	sums->sum = scan->alloc(scan, (sums->count + 1) * sizeof(*sums->sum));
	adder.cells.end = sums->count + 1;
	pfs_cells_sum(&adder.cells);
	for (uint32_t i = 0; i < sums->count; i++)
		if (sums->sum[i] != NULL && !finish(sums, sums->sum[i]))
			sums->sum[i] = NULL;
}

bool
pfs_scan_wants_text(const PfsScan *scan, const char *column, PfsText text)
{
	const char *wanted = pfs_scan_text(scan, column);

	return wanted == NULL || (text.data != NULL && text.length == strlen(wanted) &&
							  memcmp(text.data, wanted, text.length) == 0);
}

bool
pfs_scan_wants_number(const PfsScan *scan, const char *column, uint64_t number)
{
	uint64_t	wanted;

	return !pfs_scan_number(scan, column, &wanted) || wanted == number;
}

bool
pfs_reset_points(PfsArena *arena, const PfsTable *table)
{
	for (PfsReset reset = 0; reset < PFS_RESETS; reset++)
		if ((table->argument & 1 << reset) != 0 && !pfs_reset_events(arena, reset))
			return false;
	return true;
}

static const PfsColumn io_columns[] = {
	PFS_TIMER_COLUMNS(offsetof(PfsIoRow, all), "star", "wait", "I/O operations"),
	PFS_TIMER_COLUMNS(offsetof(PfsIoRow, stat.part[PFS_IO_READ]), "read", "read", "reads"),
	{"sum_number_of_bytes_read", "Bytes read", PFS_COLUMN_U64, offsetof(PfsIoRow, stat.bytes[0]), 0},
	PFS_TIMER_COLUMNS(offsetof(PfsIoRow, stat.part[PFS_IO_WRITE]), "write", "write", "writes"),
	{"sum_number_of_bytes_write", "Bytes written", PFS_COLUMN_U64, offsetof(PfsIoRow, stat.bytes[1]), 0},
	PFS_TIMER_COLUMNS(offsetof(PfsIoRow, stat.part[PFS_IO_MISC]), "misc", "misc",
					  "other operations: open, close, sync, stat and waits without a descriptor"),
};
const PfsColumnGroup pfs_io_group = {io_columns, PFS_LENGTH(io_columns)};
