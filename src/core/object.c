/*
 * object.c
 *		The maps of files and tables: rows by key, their names and rules.
 *
 * Rows come and go under the map's lock; finders take none.  They may come to a row that was
 * removed or serves another key by now, so they may miss a key, which is looked up again under the
 * lock before a row is made; a row is never mistaken, because its use number is compared before
 * and after its key is read.
 *
 * A row's own lock is held by whoever fills it, folds into it or counts in it.  A removed row is
 * filled again only by who gets its lock; whoever counts there compares the use number while he
 * holds it.  So what belongs to a predecessor ends in a row that nobody shows, never in the
 * successor.
 */
#include "core/object_internal.h"

#include "core/patience.h"
#include "core/setup.h"

#define CHAIN_MAX 512
#define FREE_ROWS_TRIED 8

_Static_assert(PFS_LENGTH(((PfsArena *) 0)->object_rows) == PFS_MAPS, "arena.h knows the maps");

typedef struct Key
{
	const char *bytes;
	uint32_t	length;
	uint32_t	hash;
} Key;

/* --- keys --- */

static Key
key_of_path(const char *path, size_t length)
{
	Key			key = {path, (uint32_t) length, 0};
	uint64_t	hash = length;

	for (size_t i = 0; i < length; i += sizeof(uint64_t))
	{
		uint64_t	word = 0;

		memcpy(&word, path + i, pfs_min(length - i, sizeof(word)));
		hash = pfs_hash64(hash ^ word);
	}
	key.hash = (uint32_t) hash;
	return key;
}

/* The index is no part of the hash: all rows of a table are in one chain. */
static Key
key_of_table(const PfsTableKey *table)
{
	return (Key) {(const char *) table, sizeof(*table),
		(uint32_t) pfs_hash64((uint64_t) table->database << 32 | table->table)};
}

static uint32_t *
head_of(const PfsArena *arena, PfsObjectMap map, uint32_t hash)
{
	if (map == PFS_MAP_FILES)
		return PFS_AT(arena, arena->file_heads, uint32_t) + (hash & (arena->file_head_count - 1));
	return PFS_AT(arena, arena->table_heads, uint32_t) + (hash & (arena->table_head_count - 1));
}

/* --- rows --- */

PfsObjectRow *
pfs_object_row(const PfsArena *arena, PfsObjectMap map, uint32_t number, uint32_t use)
{
	PfsObjectRow *row = pfs_object_row_at(arena, map, number);

	return row != NULL && (use & 1) != 0 && pfs_load_acquire(&row->use) == use ? row : NULL;
}

static uint32_t
find(const PfsArena *arena, PfsObjectMap map, const Key *key, uint32_t *use)
{
	uint32_t	number = pfs_load_acquire(head_of(arena, map, key->hash));
	char		bytes[PFS_OBJECT_KEY_LENGTH];

	for (int i = 0; i < CHAIN_MAX; i++)
	{
		PfsObjectRow *row = pfs_object_row_at(arena, map, number);

		if (row == NULL)
			break;
		*use = pfs_load_acquire(&row->use);
		if ((*use & 1) != 0 && pfs_load(&row->hash) == key->hash &&
			pfs_load(&row->key_length) == key->length)
		{
			pfs_copy_bytes(bytes, row->key, key->length);
			pfs_fence();
			if (pfs_load(&row->use) == *use && memcmp(bytes, key->bytes, key->length) == 0)
				return number;
		}
		number = pfs_load_acquire(&row->next);
	}
	return 0;
}

/* A row that nobody has, locked; 0 = none.  Those that somebody still folds into are passed over. */
static uint32_t
take_row(PfsArena *arena, PfsObjectMap map)
{
	PfsObjectRows *rows = &arena->object_rows[map];
	uint32_t   *link = &rows->free;
	uint32_t	fresh = pfs_load(&rows->used) + 1;
	PfsObjectRow *row;

	for (int i = 0; i < FREE_ROWS_TRIED; i++)
	{
		uint32_t	number = pfs_load(link);

		row = pfs_object_row_at(arena, map, number);
		if (row == NULL)
			break;
		if (pfs_cas32(&row->lock, 0, 1))
		{
			pfs_store(link, pfs_load(&row->next));
			return number;
		}
		link = &row->next;
	}
	row = pfs_object_row_at(arena, map, fresh);
	if (row == NULL || !pfs_cas32(&row->lock, 0, 1))
		return 0;
	pfs_store_release(&rows->used, fresh);
	return fresh;
}

/* Makes a row of the key.  Map and row are locked. */
static void
fill_row(PfsArena *arena, PfsObjectMap map, uint32_t number, const Key *key, uint32_t instrument)
{
	PfsObjectRow *row = pfs_object_row_at(arena, map, number);
	uint32_t   *head = head_of(arena, map, key->hash);
	PfsTableLockStat *locks = pfs_object_locks(arena, row);
	uint32_t	use = pfs_load(&row->use) + 1;
	uint32_t	epoch = pfs_load_acquire(&arena->reset_now);

	pfs_seq_write_begin(&row->seq); /* pairs with the fence in find, too */
	pfs_store(&row->next, pfs_load(head));
	pfs_store(&row->epoch, epoch);
	pfs_store(&row->lock_epoch, epoch);
	pfs_store(&row->hash, key->hash);
	pfs_store(&row->key_length, key->length);
	pfs_copy_bytes(row->key, key->bytes, key->length);
	pfs_store(&row->rule, 0);
	pfs_store(&row->open, (uint64_t) use << 32);
	pfs_store(&row->instrument, instrument);
	pfs_store(&row->named, 0);
	pfs_store(&row->doubt, 0);
	pfs_zero_words(&row->stat, sizeof(row->stat));
	if (locks != NULL)
		pfs_zero_words(locks, sizeof(*locks));
	pfs_store_release(&row->use, use);
	pfs_seq_write_end(&row->seq);
	pfs_store_release(head, number);
}

/* Who comes to a page first waits until there is memory for it: not while others wait for him. */
static void
touch(const PfsObjectRow *row)
{
	(void) pfs_load(&row->lock);
	(void) pfs_load((const uint64_t *) (row + 1) - 1);
}

static uint32_t
find_or_add(PfsArena *arena, PfsObjectMap map, const Key *key, uint32_t instrument, uint32_t *use)
{
	PfsObjectRows *rows = &arena->object_rows[map];
	uint32_t	number = find(arena, map, key, use);
	const PfsObjectRow *fresh = pfs_object_row_at(arena, map, pfs_load(&rows->used) + 1);
	bool		full = pfs_load(&rows->free) == 0 && fresh == NULL;

	if (pfs_likely(number != 0))
		return number;
	if (fresh != NULL)
		touch(fresh);
	if (!full && pfs_lock_take(&rows->lock, NULL))
	{
		number = find(arena, map, key, use);	/* somebody may have been faster */
		if (number == 0 && (number = take_row(arena, map)) != 0)
		{
			PfsObjectRow *row = pfs_object_row_at(arena, map, number);

			fill_row(arena, map, number, key, instrument);
			*use = pfs_load(&row->use);
			pfs_lock_release(&row->lock);
		}
		pfs_lock_release(&rows->lock);
	}
	if (number == 0)
		pfs_lose(arena, map == PFS_MAP_FILES ? PFS_LOSS_FILES : PFS_LOSS_TABLES);
	return number;
}

/* Takes the row that a link points at out of its chain.  Map locked. */
static void
remove_row(PfsArena *arena, PfsObjectMap map, uint32_t *link)
{
	PfsObjectRows *rows = &arena->object_rows[map];
	uint32_t	number = pfs_load(link);
	PfsObjectRow *row = pfs_object_row_at(arena, map, number);

	pfs_store_release(&row->use, pfs_load(&row->use) + 1);
	pfs_store_release(link, pfs_load(&row->next));
	pfs_store_release(&row->next, pfs_load(&rows->free));
	pfs_store(&rows->free, number);
}

/* Removes the rows of a chain whose keys begin with these bytes. */
static void
forget(PfsArena *arena, PfsObjectMap map, uint32_t *link, const void *key, size_t bytes, bool whole)
{
	PfsObjectRows *rows = &arena->object_rows[map];
	PfsObjectRow *row;

	if (pfs_load(link) == 0 || !pfs_lock_take(&rows->lock, NULL))
		return;
	for (int i = 0; i < CHAIN_MAX; i++)
	{
		row = pfs_object_row_at(arena, map, pfs_load(link));
		if (row == NULL)
			break;
		if (memcmp(row->key, key, bytes) == 0 && (!whole || row->key_length == bytes))
			remove_row(arena, map, link);
		else
			link = &row->next;
	}
	pfs_lock_release(&rows->lock);
}

uint32_t
pfs_file_find(PfsArena *arena, const char *path, size_t length, uint32_t wait, uint32_t *use)
{
	char		bytes[PFS_OBJECT_KEY_LENGTH];
	bool		shared;
	Key			key;

	if (length == 0)
		return 0;
	key = key_of_path(bytes, pfs_file_key(path, length, bytes, &shared));
	return find_or_add(arena, PFS_MAP_FILES, &key, wait, use);
}

uint32_t
pfs_table_find(PfsArena *arena, const PfsTableKey *table, uint32_t *use)
{
	Key			key = key_of_table(table);

	return find_or_add(arena, PFS_MAP_TABLES, &key, 0, use);
}

void
pfs_file_forget(PfsArena *arena, const char *path, size_t length)
{
	char		bytes[PFS_OBJECT_KEY_LENGTH];
	bool		shared;
	uint32_t	use;
	Key			key = key_of_path(bytes, pfs_file_key(path, length, bytes, &shared));

	if (!shared && find(arena, PFS_MAP_FILES, &key, &use) != 0)
		forget(arena, PFS_MAP_FILES, head_of(arena, PFS_MAP_FILES, key.hash), bytes, key.length, true);
}

void
pfs_table_forget(PfsArena *arena, uint32_t database, uint32_t table)
{
	PfsTableKey ids = {database, table, 0};
	uint32_t   *heads = PFS_AT(arena, arena->table_heads, uint32_t);

	if (table != 0)
		forget(arena, PFS_MAP_TABLES, head_of(arena, PFS_MAP_TABLES, key_of_table(&ids).hash), &ids,
			   offsetof(PfsTableKey, index), false);
	else
		for (uint32_t i = 0; i < arena->table_head_count; i++)
			forget(arena, PFS_MAP_TABLES, &heads[i], &ids, offsetof(PfsTableKey, table), false);
}

void
pfs_index_forget(PfsArena *arena, const PfsTableKey *key)
{
	forget(arena, PFS_MAP_TABLES, head_of(arena, PFS_MAP_TABLES, key_of_table(key).hash), key,
		   sizeof(*key), true);
}

void
pfs_table_doubt(PfsArena *arena, uint32_t number, uint32_t use)
{
	PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_TABLES, number, use);

	if (row == NULL)
		return;
	pfs_store(&row->doubt, 1);
	pfs_store_release(&arena->tables_in_doubt, 1);
}

bool
pfs_table_is_in_doubt(const PfsArena *arena, uint32_t number)
{
	const PfsObjectRow *row = pfs_object_row_at(arena, PFS_MAP_TABLES, number);

	return row != NULL && pfs_load(&row->doubt) != 0;
}

void
pfs_file_opened(PfsArena *arena, uint32_t number, uint32_t use, int change)
{
	PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_FILES, number, use);
	uint64_t	open = row != NULL ? pfs_load(&row->open) : 0;

	/* the use number stands in the same word: a successor's count cannot be hit */
	while (row != NULL && (open >> 32) == use && ((uint32_t) open > 0 || change > 0) &&
		   !pfs_cas64(&row->open, &open, open + (uint64_t) (int64_t) change))
		;
}

/* --- names and rules of tables --- */

/* Copies names out of a row, and makes sure that they end; true when nobody wrote meanwhile. */
static bool
read_names(const PfsArena *arena, uint32_t number, const PfsObjectRow *row, PfsTableNames *names)
{
	uint32_t	begin = pfs_seq_read_begin(&row->seq);
	bool		named = pfs_load(&row->named) != 0;

	pfs_copy_words(names, pfs_table_names(arena, number), sizeof(*names));
	names->schema[PFS_TABLE_NAME_LENGTH - 1] = names->table[PFS_TABLE_NAME_LENGTH - 1] =
		names->index[PFS_TABLE_NAME_LENGTH - 1] = '\0';
	if (!named)
		memset(names, 0, sizeof(*names));
	return pfs_seq_read_ok(&row->seq, begin);
}

bool
pfs_table_names_read(const PfsArena *arena, uint32_t number, uint32_t use, PfsTableNames *names)
{
	for (int i = 0; i < PFS_READ_RETRIES; i++)
	{
		PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_TABLES, number, use);

		if (row == NULL)
			return false;
		if (read_names(arena, number, row, names))
			return names->table[0] != '\0' &&
				pfs_object_row(arena, PFS_MAP_TABLES, number, use) != NULL;
		pfs_cpu_pause();
	}
	return false;
}

static void
cut(char *to, const char *from)
{
	size_t		length = from != NULL ? pfs_min(strlen(from), (size_t) PFS_TABLE_NAME_LENGTH - 1) : 0;

	if (length > 0)
		memcpy(to, from, length);
	memset(to + length, 0, PFS_TABLE_NAME_LENGTH - length);
}

void
pfs_table_name(PfsArena *arena, uint32_t number, uint32_t use, const char *schema, const char *table,
			   const char *index, uint32_t relative)
{
	PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_TABLES, number, use);
	PfsTableNames names,
				present;

	cut(names.schema, schema);
	cut(names.table, table);
	cut(names.index, index);
	if (row == NULL || (pfs_table_names_read(arena, number, use, &present) &&
						memcmp(&names, &present, sizeof(names)) == 0 && pfs_load(&row->relative) == relative) ||
		!pfs_lock_take(&row->lock, NULL))
		return;
	if (pfs_load(&row->use) == use)
	{
		pfs_seq_write_begin(&row->seq);
		pfs_copy_words(pfs_table_names(arena, number), &names, sizeof(names));
		pfs_store(&row->relative, relative);
		pfs_store(&row->named, 1);
		pfs_store(&row->rule, 0);
		pfs_seq_write_end(&row->seq);
	}
	pfs_lock_release(&row->lock);
}

/* Bits of PfsObjectRow.rule, below the use number they hold for and arena->objects_changed. */
#define RULE_WATCHED 1
#define RULE_TIMED 2
#define RULE_OF(changed, use) ((uint64_t) (changed) << 32 | (uint32_t) ((use) << 2))

bool
pfs_table_watched(PfsArena *arena, uint32_t number, uint32_t use, bool *timed)
{
	PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_TABLES, number, use);
	uint64_t	expected = RULE_OF(pfs_load_acquire(&arena->objects_changed), use);
	uint64_t	rule = row != NULL ? pfs_load(&row->rule) : 0;

	*timed = false;
	if (row == NULL)
		return false;
	if (pfs_unlikely((rule & ~UINT64_C(3)) != expected))
	{
		uint32_t	seq = pfs_seq_read_begin(&row->seq);
		PfsTableNames names;
		bool		enabled,
					is_timed;

		read_names(arena, number, row, &names);
		pfs_object_lookup(arena, PFS_OBJECT_TABLE, names.schema, names.table, &enabled, &is_timed);
		rule = expected | (enabled ? RULE_WATCHED : 0) | (is_timed ? RULE_TIMED : 0);
		pfs_store(&row->rule, rule);
		pfs_fence();
		if (!pfs_seq_read_ok(&row->seq, seq))
			pfs_store(&row->rule, 0);	/* maybe renamed meanwhile: ask again next time */
	}
	*timed = (rule & RULE_TIMED) != 0;
	return (rule & RULE_WATCHED) != 0;
}
