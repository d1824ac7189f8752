/*
 * prepared.c
 *		Statements that sessions have prepared with PREPARE.
 */
#include "core/prepared.h"

/*
 * An EXECUTE is a statement with its own time, rows and errors, and what it executes is nested in it: of that these are
 * added, and nothing that the outer one has counted, too.
 */
#define BIT(counter) (UINT32_C(1) << PFS_COUNTER_##counter)
#define OF_WHAT_RAN (BIT(ROWS_EXAMINED) | BIT(CREATED_TMP_DISK_TABLES) | BIT(CREATED_TMP_TABLES) | BIT(SELECT_FULL_JOIN) | \
					 BIT(SELECT_RANGE) | BIT(SELECT_SCAN) | BIT(SORT_MERGE_PASSES) | BIT(SORT_RANGE) | BIT(SORT_ROWS) | \
					 BIT(SORT_SCAN) | BIT(NO_INDEX_USED))

static PfsPrepared *
row_at(const PfsArena *arena, PfsRef ref)
{
	return pfs_pool_at(pfs_pool_of(arena), ref, sizeof(PfsPrepared));
}

static char *
text_of(PfsPrepared *row)
{
	return (char *) row + sizeof(*row);
}

static size_t
bytes_of(const PfsPrepared *row)
{
	return sizeof(*row) + pfs_min((size_t) pfs_load(&row->text_length), PFS_PREPARED_TEXT);
}

PfsRef
pfs_prepared_add(PfsArena *arena, PfsThread *thread, const PfsPrepared *what, const char *text)
{
	PfsPrepared fresh = *what;
	PfsRef		ref;
	PfsPrepared *row;

	fresh.text_length = (uint32_t) pfs_min((size_t) what->text_length, PFS_PREPARED_TEXT);
	fresh.name_length = pfs_min(what->name_length, (uint32_t) PFS_PREPARED_NAME);
	fresh.next = pfs_load(&thread->prepared);
	fresh.epoch = pfs_load_acquire(&arena->reset_now);
	memset(&fresh.stat, 0, sizeof(fresh.stat));
	ref = pfs_share_alloc(arena, PFS_SHARE_PREPARED, bytes_of(&fresh));
	row = row_at(arena, ref);
	if (row == NULL)
	{
		pfs_lose(arena, PFS_LOSS_PREPARED);
		return 0;
	}
	pfs_seq_write_begin(&thread->prepared_seq);
	pfs_copy_words(row, &fresh, sizeof(fresh));
	pfs_copy_bytes(text_of(row), text, fresh.text_length);
	pfs_store(&thread->prepared, ref);
	pfs_seq_write_end(&thread->prepared_seq);
	return ref;
}

void
pfs_prepared_remove(PfsArena *arena, PfsThread *thread, PfsRef ref)
{
	PfsRef	   *at = &thread->prepared;

	for (uint32_t i = 0; i <= arena->sizes.prepared; i++)
	{
		PfsPrepared *row = row_at(arena, pfs_load(at));

		if (row == NULL)
			return;
		if (pfs_load(at) == ref)
		{
			pfs_seq_write_begin(&thread->prepared_seq);
			pfs_store(at, pfs_load(&row->next));
			pfs_seq_write_end(&thread->prepared_seq);
			pfs_share_free(arena, PFS_SHARE_PREPARED, ref, bytes_of(row));
			return;
		}
		at = &row->next;
	}
}

void
pfs_prepared_remove_all(PfsArena *arena, PfsThread *thread)
{
	for (uint32_t i = 0; i <= arena->sizes.prepared && pfs_load(&thread->prepared) != 0; i++)
	{
		if (row_at(arena, pfs_load(&thread->prepared)) == NULL)
			break;
		pfs_prepared_remove(arena, thread, pfs_load(&thread->prepared));
	}
	pfs_store(&thread->prepared, 0);
}

/* Inside the sequence; what was counted before a TRUNCATE is forgotten first. */
static PfsPrepared *
begin_change(PfsArena *arena, PfsThread *thread, PfsRef ref)
{
	PfsPrepared *row = row_at(arena, ref);

	if (row == NULL)
		return NULL;
	pfs_seq_write_begin(&thread->prepared_seq);
	if (pfs_load(&row->epoch) < pfs_load(&arena->reset_of[PFS_RESET_PREPARED]))
	{
		pfs_zero_words(&row->stat, sizeof(row->stat));
		pfs_store(&row->analysed_again, 0);
		pfs_store(&row->epoch, pfs_load(&arena->reset_now));
	}
	return row;
}

void
pfs_prepared_count(PfsArena *arena, PfsThread *thread, PfsRef ref, bool executes, const PfsStatementRecord *record)
{
	PfsPrepared *row = begin_change(arena, thread, ref);

	if (row == NULL)
		return;
	if (executes)
		pfs_timer_stat_add(&row->stat.timer, record->wait);
	for (int i = 0; i < PFS_COUNTERS; i++)
		if (executes != ((OF_WHAT_RAN & UINT32_C(1) << i) != 0))
			pfs_add(&row->stat.counter[i], pfs_record_counter(record, i));
	pfs_seq_write_end(&thread->prepared_seq);
}

void
pfs_prepared_planned(PfsArena *arena, PfsThread *thread, PfsRef ref, uint64_t generic_plans, uint64_t custom_plans, bool again)
{
	PfsPrepared *row = begin_change(arena, thread, ref);

	if (row == NULL)
		return;
	pfs_store(&row->generic_plans, generic_plans);
	pfs_store(&row->custom_plans, custom_plans);
	pfs_add(&row->analysed_again, again);
	pfs_seq_write_end(&thread->prepared_seq);
}

bool
pfs_prepared_copy(const PfsArena *arena, PfsRef ref, PfsPrepared *to, char *text)
{
	PfsPrepared *row = row_at(arena, ref);

	if (row == NULL)
		return false;
	pfs_copy_words(to, row, sizeof(*to));
	to->text_length = (uint32_t) pfs_min((size_t) to->text_length, PFS_PREPARED_TEXT);
	to->name_length = pfs_min(to->name_length, (uint32_t) PFS_PREPARED_NAME);
	if (pfs_pool_at(pfs_pool_of(arena), ref, sizeof(*row) + to->text_length) == NULL)
		return false;
	if (text != NULL)
		pfs_copy_bytes(text, text_of(row), to->text_length);
	return true;
}
