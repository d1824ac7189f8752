/*
 * table.c
 *		The list of all tables, and what the files that implement them share.
 */
#include "core/table_internal.h"

#include <stdlib.h>

#include "core/digest.h"
#include "core/setup.h"

#define PFS_TABLE(symbol) extern const PfsTable symbol;
#include "core/tables.def"
#undef PFS_TABLE

const PfsTable *const pfs_tables[] = {
#define PFS_TABLE(symbol) &symbol,
#include "core/tables.def"
#undef PFS_TABLE
	NULL
};

const PfsHostError *pfs_host_errors;
const char *(*pfs_host_isolation_name) (unsigned isolation);
uint64_t	(*pfs_host_transaction_id) (uint32_t slot, uint32_t pid);
const char *(*pfs_host_connection_type) (unsigned type);
uint32_t	(*pfs_host_parent_class) (uint32_t class);
void		(*pfs_host_lock_object) (const PfsWaitObject *lock, PfsHostObject *object);
const char *(*pfs_host_relation_of_file) (const char *path);
bool		(*pfs_host_lock) (uint32_t number, PfsHostLock *lock);
bool		(*pfs_host_call) (uint32_t number, PfsHostCall *call);

const PfsTable *
pfs_table_by_name(const char *name)
{
	for (int i = 0; pfs_tables[i] != NULL; i++)
		if (strcmp(pfs_tables[i]->name, name) == 0)
			return pfs_tables[i];
	return NULL;
}

const PfsColumn *
pfs_table_column(const PfsTable *table, int number, int *group)
{
	for (int i = 0; number >= 0 && i < PFS_TABLE_GROUPS && table->groups[i] != NULL; i++)
	{
		if (number < table->groups[i]->count)
		{
			if (group != NULL)
				*group = i;
			return &table->groups[i]->columns[number];
		}
		number -= table->groups[i]->count;
	}
	return NULL;
}

static const PfsCondition *
condition_on(const PfsScan *scan, const char *column)
{
	for (int i = 0; i < scan->condition_count; i++)
		if (strcmp(scan->conditions[i].column, column) == 0)
			return &scan->conditions[i];
	return NULL;
}

bool
pfs_scan_number(const PfsScan *scan, const char *column, uint64_t *number)
{
	const PfsCondition *condition = condition_on(scan, column);

	if (condition == NULL)
		return false;
	*number = condition->number;
	return true;
}

const char *
pfs_scan_text(const PfsScan *scan, const char *column)
{
	const PfsCondition *condition = condition_on(scan, column);

	return condition != NULL ? condition->text : NULL;
}

PfsText
pfs_text_of_name(const PfsArena *arena, PfsRef name)
{
	PfsText		text = {NULL, 0, -1};

	text.data = pfs_name_text(arena, name, &text.length);
	return text;
}

PfsText
pfs_text_of_string(const char *string)
{
	return (PfsText) {string, string != NULL ? strlen(string) : 0, -1};
}

void
pfs_texts_of_routine(const PfsArena *arena, PfsRef routine, PfsNameCopy *copy, PfsText *type, PfsText *schema, PfsText *name)
{
	unsigned	number;

	schema->encoding = name->encoding = -1;
	if (pfs_routine_parts(arena, routine, copy, &number, &schema->data, &schema->length, &name->data, &name->length))
		*type = pfs_text_of_string(pfs_object_type_name(number));
}

bool
pfs_scan_sees_user(const PfsScan *scan, PfsRef user)
{
	PfsText		name;

	if (scan->sees_all)
		return true;
	name = pfs_text_of_name(scan->arena, user);
	return name.data != NULL && scan->own_user != NULL && name.length == strlen(scan->own_user) &&
		memcmp(name.data, scan->own_user, name.length) == 0;
}

PfsText
pfs_scan_secret(PfsScan *scan, uint32_t role, PfsText text)
{
	if (text.length == 0 ||
		!(scan->sees_all || (scan->has_role != NULL && scan->has_role(scan, role))))
		text.data = NULL;
	return text;
}

PfsText
pfs_scan_path(const PfsScan *scan, PfsText path)
{
	return scan->sees_all || path.length == 0 || path.data[0] != '/' ? path
		: pfs_text_of_string(PFS_HIDDEN_TEXT);
}

bool
pfs_read_under(PfsArena *arena, const PfsSeq *seq, void *to, const void *from, size_t bytes)
{
	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint32_t	begin = pfs_seq_read_begin(seq);

		pfs_copy_words(to, from, bytes);
		if (pfs_seq_read_ok(seq, begin))
			return true;
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return false;
}

void
pfs_read_unsummed(PfsScan *scan, PfsThread *thread, PfsUnsummed *unsummed)
{
	if (unsummed->record == NULL)
		unsummed->record = scan->alloc(scan, scan->arena->journal_ring * sizeof(PfsStatementRecord));
	if (!pfs_journal_unsummed(scan->arena, thread, &unsummed->first, &unsummed->count, unsummed->record))
		pfs_lose(scan->arena, PFS_LOSS_UNSTABLE_READS);
}

bool
pfs_parse_yes_no(const char *text, uint8_t *value)
{
	if (text == NULL || (strcmp(text, "YES") != 0 && strcmp(text, "NO") != 0))
		return false;
	*value = text[0] == 'Y';
	return true;
}

PfsText
pfs_read_digest_text(PfsScan *scan, uint32_t number, uint32_t generation, uint8_t *sha)
{
	PfsDigest  *digest = pfs_digest(scan->arena, number);
	PfsText		text = {NULL, 0, -1};
	char	   *copy;

	if (sha != NULL)
		memset(sha, 0, PFS_SHA_BYTES);
	if (number <= PFS_DIGEST_OTHERS || number > scan->arena->sizes.digests + PFS_DIGEST_OTHERS)
		return text;
	if (scan->digest_text == NULL)
		scan->digest_text = scan->alloc(scan, scan->arena->sizes.digest_length + 1);
	copy = scan->digest_text;
	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint32_t	begin = pfs_seq_read_begin(&digest->seq);
		uint32_t	length = pfs_min(pfs_load(&digest->text_length),
									 scan->arena->sizes.digest_length);

		if (sha != NULL)
			memset(sha, 0, PFS_SHA_BYTES);
		if (pfs_load(&digest->generation) != generation)
			return text;
		length = (uint32_t) pfs_text_fetch(scan->arena, pfs_load(&digest->text), length, copy);
		if (sha != NULL)
			pfs_copy_bytes(sha, digest->sha, PFS_SHA_BYTES);
		if (pfs_seq_read_ok(&digest->seq, begin))
			return (PfsText) {length > 0 ? copy : NULL, length, pfs_load(&digest->encoding)};
	}
	pfs_lose(scan->arena, PFS_LOSS_UNSTABLE_READS);
	if (sha != NULL)
		memset(sha, 0, PFS_SHA_BYTES);
	return text;
}
