/*
 * names.c
 *		Insert-only, lock-free hash of texts in the pool.
 */
#include "core/names.h"

typedef struct PfsSharedName
{
	uint32_t	next;
	uint32_t	hash;
	uint32_t	length;
	char		text[];
} PfsSharedName;

static uint32_t
hash_bytes(const char *text, size_t length)
{
	uint64_t	hash = length;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char) text[i]) * UINT64_C(0x100000001B3);
	return (uint32_t) pfs_hash64(hash);
}

static PfsRef
find(const PfsArena *arena, PfsRef ref, uint32_t hash, const char *text, size_t length)
{
	while (ref != 0)
	{
		const PfsSharedName *name = pfs_pool_at(pfs_pool_of(arena), ref, sizeof(*name));

		if (name == NULL)
			return 0;
		if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0)
			return ref;
		ref = name->next;
	}
	return 0;
}

PfsRef
pfs_name(PfsArena *arena, const char *text, size_t length)
{
	uint32_t	hash,
			   *head;
	PfsRef		seen,
				ref;
	PfsSharedName *name;

	if (text == NULL)
		return 0;
	length = pfs_min(length, (size_t) PFS_NAME_MAX);
	hash = hash_bytes(text, length);
	head = PFS_AT(arena, arena->names, uint32_t) + hash % PFS_NAME_HEADS;
	seen = pfs_load_acquire(head);	/* pairs with the CAS below */
	ref = find(arena, seen, hash, text, length);
	if (ref != 0)
		return ref;
	ref = pfs_pool_alloc(pfs_pool_of(arena), sizeof(*name) + length);
	if (ref == 0)
	{
		pfs_lose(arena, PFS_LOSS_NAMES);
		return 0;
	}
	name = pfs_pool_at(pfs_pool_of(arena), ref, sizeof(*name) + length);
	pfs_store(&name->hash, hash);
	pfs_copy_bytes(name->text, text, length);
	pfs_store_release(&name->length, (uint32_t) length);	/* pairs with pfs_name_text */
	for (;;)
	{
		PfsRef		other;

		pfs_store(&name->next, seen);
		if (pfs_cas32(head, seen, ref))
			return ref;
		seen = pfs_load_acquire(head);
		other = find(arena, seen, hash, text, length);
		if (other != 0)
		{
			pfs_pool_free(pfs_pool_of(arena), ref, sizeof(*name) + length);
			return other;
		}
	}
}

const char *
pfs_name_text(const PfsArena *arena, PfsRef ref, size_t *length)
{
	const PfsSharedName *name = pfs_pool_at(pfs_pool_of(arena), ref, sizeof(*name));

	uint32_t	bytes = name != NULL ? pfs_load_acquire(&name->length) : 0;

	if (name == NULL || bytes > PFS_NAME_MAX ||
		pfs_pool_at(pfs_pool_of(arena), ref, sizeof(*name) + bytes) == NULL)
		return NULL;
	*length = bytes;
	return name->text;
}

/* Layout: type letter, length of the schema, schema, name. */
PfsRef
pfs_routine_name(PfsArena *arena, unsigned type, const char *schema, const char *name)
{
	char		text[PFS_NAME_MAX];
	size_t		schema_length = pfs_min(strlen(schema), (size_t) 100);
	size_t		name_length = pfs_min(strlen(name), (size_t) 100);

	text[0] = (char) ('A' + type);
	text[1] = (char) (1 + schema_length);
	memcpy(text + 2, schema, schema_length);
	memcpy(text + 2 + schema_length, name, name_length);
	return pfs_name(arena, text, 2 + schema_length + name_length);
}

bool
pfs_routine_parts(const PfsArena *arena, PfsRef routine, unsigned *type,
				  const char **schema, size_t *schema_length,
				  const char **name, size_t *name_length)
{
	size_t		length;
	const char *text = pfs_name_text(arena, routine, &length);

	if (text == NULL || length < 2)
		return false;
	*type = (unsigned) (text[0] - 'A');
	*schema_length = (size_t) text[1] - 1;
	if (*schema_length > length - 2)
		return false;
	*schema = text + 2;
	*name = text + 2 + *schema_length;
	*name_length = length - 2 - *schema_length;
	return true;
}
