/*
 * table_objects.c
 *		Adding up rows of files and tables and the cells of all threads.
 *
 * A fold moves numbers from a cell to a row inside the row's seq.  So the seq of each row is noted
 * first, then all cells are read, then the rows: where the seq is still the same, nothing moved
 * meanwhile.  The few other rows are read once more, each alone with its own cells.
 */
#include "core/table_objects.h"

#include "core/rollup.h"

#define ROW_RETRIES 32

void		(*pfs_host_table_name) (const PfsTableKey *key, PfsHostObject *object);

static PfsObjectSum *
sum_of(PfsObjectSums *sums, uint32_t number)
{
	PfsObjectSum **place = &sums->sum[number - 1];

	if (*place == NULL)
		*place = sums->scan->alloc(sums->scan, sizeof(PfsObjectSum));
	return *place;
}

/* Copies the cell at a place of a thread; false when there is none. */
static bool
read_cell(PfsObjectSums *sums, PfsThread *thread, uint32_t place, PfsObjectCell *to)
{
	PfsArena   *arena = sums->scan->arena;
	PfsRef	   *ref = &pfs_object_cells(thread, sums->map)[place];
	size_t		bytes = pfs_object_cell_bytes(sums->map);
	void	   *cell = NULL;

	for (int i = 0; i < PFS_READ_RETRIES; i++)
	{
		uint32_t	begin = pfs_seq_read_begin(&thread->seq);

		cell = pfs_pool_at(pfs_pool_of(arena), pfs_load_acquire(ref), bytes);
		if (cell == NULL)
			return false;
		pfs_copy_words(to, cell, bytes);
		if (pfs_seq_read_ok(&thread->seq, begin))
			return true;
		pfs_cpu_pause();
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return true;
}

static void
add_cell(PfsObjectSums *sums, const PfsObjectCell *cell)
{
	PfsObjectSum *sum;

	if (cell->row - 1 >= sums->count || cell->epoch < sums->reset ||
		pfs_object_row(sums->scan->arena, sums->map, cell->row, cell->use) == NULL)
		return;
	sum = sum_of(sums, cell->row);
	if (sum->cells_use != cell->use)
		memset(&sum->cells, 0, sizeof(sum->cells));
	sum->cells_use = cell->use;
	pfs_object_stat_merge(sums->map, &sum->cells, &cell->stat);
}

/* Copies a row; true when it is as it was when its seq had this value. */
static bool
read_row(PfsObjectSums *sums, PfsObjectSum *sum, uint32_t seq)
{
	PfsArena   *arena = sums->scan->arena;
	PfsObjectRow *row = pfs_object_row_at(arena, sums->map, sum->number);
	PfsTableLockStat *locks;

	pfs_copy_words(&sum->row, row, sizeof(sum->row));
	if (sums->map == PFS_MAP_TABLES)
		pfs_copy_words(&sum->names, pfs_table_names(arena, sum->number), sizeof(sum->names));
	locks = pfs_pool_at(pfs_pool_of(arena), sum->row.locks, sizeof(*locks));
	if (sums->map == PFS_MAP_TABLES && locks != NULL)
	{
		if (sum->locks == NULL)
			sum->locks = sums->scan->alloc(sums->scan, sizeof(*locks));
		pfs_copy_words(sum->locks, locks, sizeof(*locks));
	}
	return pfs_seq_read_ok(&row->seq, seq);
}

/* One row and its cells once more, until nothing moves between them. */
static void
read_again(PfsObjectSums *sums, PfsObjectSum *sum)
{
	PfsArena   *arena = sums->scan->arena;
	PfsObjectRow *row = pfs_object_row_at(arena, sums->map, sum->number);
	uint32_t	place = pfs_object_place(sum->number);

	for (int i = 0; i < ROW_RETRIES; i++)
	{
		uint32_t	seq = pfs_seq_read_begin(&row->seq);

		sum->cells_use = 0;
		PFS_EACH_THREAD(arena, thread, slot)
		{
			for (uint32_t way = 0; way < 2; way++)
			{
				PfsObjectCell cell;

				if (read_cell(sums, thread, place + way, &cell) && cell.row == sum->number)
					add_cell(sums, &cell);
			}
		}
		if (read_row(sums, sum, seq))
			return;
		pfs_cpu_pause();
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
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
	uint32_t   *seq;
	PfsObjectCell cell;

	memset(sums, 0, sizeof(*sums));
	sums->scan = scan;
	sums->map = map;
	sums->count = pfs_min(pfs_load_acquire(&arena->object_rows[map].used),
						  map == PFS_MAP_FILES ? arena->sizes.files : arena->sizes.tables);
	sums->reset = pfs_load(&arena->reset_of[map == PFS_MAP_FILES ? PFS_RESET_FILES
											: PFS_RESET_TABLE_IO]);
	sums->lock_reset = pfs_load(&arena->reset_of[PFS_RESET_TABLE_LOCKS]);
	sums->sum = scan->alloc(scan, (sums->count + 1) * sizeof(*sums->sum));
	seq = scan->alloc(scan, (sums->count + 1) * sizeof(*seq));
	for (uint32_t i = 0; i < sums->count; i++)
		seq[i] = pfs_seq_read_begin(&pfs_object_row_at(arena, map, i + 1)->seq);
	PFS_EACH_THREAD(arena, thread, slot)
	{
		for (uint32_t place = 0; place < PFS_OBJECT_CACHE; place++)
			if (read_cell(sums, thread, place, &cell))
				add_cell(sums, &cell);
	}
	for (uint32_t i = 0; i < sums->count; i++)
	{
		if (sums->sum[i] == NULL && (pfs_load(&pfs_object_row_at(arena, map, i + 1)->use) & 1) == 0)
			continue;
		sum_of(sums, i + 1)->number = i + 1;
		if (!read_row(sums, sums->sum[i], seq[i]))
			read_again(sums, sums->sum[i]);
		if (!finish(sums, sums->sum[i]))
			sums->sum[i] = NULL;
	}
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
