/*
 * names.c
 *		Kept names: an insert-only, lock-free hash.  Passing names: a hash of small sets of places.
 */
#include "core/names.h"

#include "core/patience.h"
#include "core/thread.h"

#define CHAIN_MAX 4096
#define WAYS 8					/* places that a passing name may take */

/* A reference to a passing name: this bit, the number of its use, its place. */
#define PASSING UINT32_C(0x80000000)
#define PLACE_BITS 10
#define USE_MASK UINT32_C(0x1FFFFF)

_Static_assert(PFS_PASSING_NAMES == 1 << PLACE_BITS, "a place is a part of a reference");
_Static_assert(PFS_PASSING_NAMES % WAYS == 0, "whole sets");

typedef struct PfsKeptName
{
	uint32_t	next;
	uint32_t	hash;
	uint32_t	length;
	char		text[];
} PfsKeptName;

static uint32_t
hash_bytes(const char *text, size_t length)
{
	uint64_t	hash = length;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char) text[i]) * UINT64_C(0x100000001B3);
	return (uint32_t) pfs_hash64(hash);
}

/* --- kept names --- */

static uint64_t
units_of(size_t length)
{
	return PFS_ALIGN_UP(sizeof(PfsKeptName) + length, PFS_NAME_UNIT) / PFS_NAME_UNIT;
}

/* References count units from 1.  NULL where there is no room for a name of this length. */
static PfsKeptName *
kept_at(const PfsArena *arena, PfsRef ref, size_t length)
{
	if (ref == 0 || ref - 1 + units_of(length) > arena->kept_name_units)
		return NULL;
	return PFS_AT(arena, arena->kept_names + (uint64_t) (ref - 1) * PFS_NAME_UNIT, PfsKeptName);
}

static PfsRef
find_kept(const PfsArena *arena, PfsRef ref, uint32_t hash, const char *text, size_t length)
{
	for (int i = 0; i < CHAIN_MAX; i++)
	{
		const PfsKeptName *name = kept_at(arena, ref, 0);

		if (name == NULL)
			return 0;
		if (name->hash == hash && name->length == length && kept_at(arena, ref, length) != NULL &&
			memcmp(name->text, text, length) == 0)
			return ref;
		ref = name->next;
	}
	return 0;
}

/* Room for a name; 0: there is none. */
static PfsRef
claim(PfsArena *arena, size_t length)
{
	uint64_t	used = pfs_load(&arena->kept_names_used);

	do
	{
		if (used > arena->kept_name_units || used + units_of(length) > arena->kept_name_units)
			return 0;
	}
	while (!pfs_cas64(&arena->kept_names_used, &used, used + units_of(length)));
	return (PfsRef) used + 1;
}

/* Somebody else was faster: the room is given back, if nobody has claimed behind it. */
static void
give_back(PfsArena *arena, PfsRef ref, size_t length)
{
	uint64_t	used = ref - 1 + units_of(length);

	pfs_cas64(&arena->kept_names_used, &used, ref - 1);
}

PfsRef
pfs_name(PfsArena *arena, const char *text, size_t length)
{
	uint32_t	hash,
			   *head;
	PfsRef		seen,
				ref;
	PfsKeptName *name;

	if (text == NULL)
		return 0;
	length = pfs_min(length, (size_t) PFS_NAME_MAX);
	hash = hash_bytes(text, length);
	head = PFS_AT(arena, arena->names, uint32_t) + hash % PFS_NAME_HEADS;
	seen = pfs_load_acquire(head);	/* pairs with the CAS below */
	ref = find_kept(arena, seen, hash, text, length);
	if (ref != 0)
		return ref;
	ref = claim(arena, length);
	if (ref == 0)
	{
		pfs_lose(arena, PFS_LOSS_NAMES);
		return 0;
	}
	name = kept_at(arena, ref, length);
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
		other = find_kept(arena, seen, hash, text, length);
		if (other != 0)
		{
			give_back(arena, ref, length);
			return other;
		}
	}
}

const char *
pfs_name_text(const PfsArena *arena, PfsRef ref, size_t *length)
{
	const PfsKeptName *name = kept_at(arena, ref, 0);
	uint32_t	bytes = name != NULL ? pfs_load_acquire(&name->length) : 0;

	if (name == NULL || bytes > PFS_NAME_MAX || kept_at(arena, ref, bytes) == NULL)
		return NULL;
	*length = bytes;
	return name->text;
}

/* --- passing names --- */

static PfsPassingName *
passing_at(const PfsArena *arena, uint32_t place)
{
	return PFS_AT(arena, arena->passing_names, PfsPassingName) + place;
}

static PfsRef
reference(uint32_t place, uint32_t use)
{
	return PASSING | (use >> 1 & USE_MASK) << PLACE_BITS | place;
}

/* Copies the name at a place; false: none, or it is just being replaced. */
static bool
read_place(const PfsArena *arena, uint32_t place, uint32_t *use, PfsNameCopy *copy)
{
	const PfsPassingName *name = passing_at(arena, place);

	*use = pfs_seq_read_begin(&name->use);
	if (*use == 0)
		return false;
	copy->length = pfs_min(pfs_load(&name->length), (uint32_t) PFS_PASSING_MAX);
	pfs_copy_bytes(copy->text, name->text, copy->length);
	return pfs_seq_read_ok(&name->use, *use);
}

static PfsRef
find_passing(const PfsArena *arena, uint32_t hash, const char *text, size_t length)
{
	uint32_t	first = hash % (PFS_PASSING_NAMES / WAYS) * WAYS;
	PfsNameCopy copy;
	uint32_t	use;

	for (uint32_t place = first; place < first + WAYS; place++)
		if (pfs_load(&passing_at(arena, place)->hash) == hash && read_place(arena, place, &use, &copy) &&
			copy.length == length && memcmp(copy.text, text, length) == 0)
			return reference(place, use);
	return 0;
}

/* Is it the present schema of a session? */
static bool
is_held(const PfsArena *arena, PfsRef ref)
{
	for (uint32_t i = 0; i < arena->sizes.threads; i++)
	{
		const PfsThread *thread = pfs_thread(arena, i);

		if (pfs_load(&thread->schema) == ref && pfs_load(&thread->thread_id) != 0)
			return true;
	}
	return false;
}

/* A place of the set: an empty one, or the one that has changed hands least and is not held. */
static PfsPassingName *
free_place(const PfsArena *arena, uint32_t hash, uint32_t *found)
{
	uint32_t	first = hash % (PFS_PASSING_NAMES / WAYS) * WAYS;
	PfsPassingName *oldest = NULL;

	for (uint32_t place = first; place < first + WAYS; place++)
	{
		PfsPassingName *name = passing_at(arena, place);

		if ((oldest == NULL || pfs_load(&name->use) < pfs_load(&oldest->use)) &&
			(pfs_load(&name->use) == 0 || !is_held(arena, reference(place, pfs_load(&name->use)))))
		{
			oldest = name;
			*found = place;
		}
	}
	return oldest;
}

/* Names locked. */
static PfsRef
add_passing(PfsArena *arena, uint32_t hash, const char *text, size_t length)
{
	uint32_t	place;
	PfsPassingName *name = free_place(arena, hash, &place);

	if (name == NULL)
		return 0;
	pfs_seq_write_begin(&name->use);
	pfs_store(&name->hash, hash);
	pfs_store(&name->length, (uint32_t) length);
	pfs_copy_bytes(name->text, text, length);
	pfs_seq_write_end(&name->use);
	return reference(place, pfs_load(&name->use));
}

PfsRef
pfs_passing_name(PfsArena *arena, const char *text, size_t length)
{
	uint32_t	hash;
	PfsRef		ref;

	if (text == NULL)
		return 0;
	length = pfs_min(length, (size_t) PFS_PASSING_MAX);
	hash = hash_bytes(text, length);
	ref = find_passing(arena, hash, text, length);
	if (ref == 0 && pfs_lock_take(&arena->names_lock, NULL))
	{
		ref = find_passing(arena, hash, text, length);	/* somebody may have been faster */
		if (ref == 0)
			ref = add_passing(arena, hash, text, length);
		pfs_lock_release(&arena->names_lock);
	}
	if (ref == 0)
		pfs_lose(arena, PFS_LOSS_NAMES);
	return ref;
}

bool
pfs_name_is_alive(const PfsArena *arena, PfsRef ref)
{
	uint32_t	place = ref & (PFS_PASSING_NAMES - 1);

	return (ref & PASSING) != 0 && reference(place, pfs_load_acquire(&passing_at(arena, place)->use)) == ref;
}

bool
pfs_name_copy(const PfsArena *arena, PfsRef ref, PfsNameCopy *copy)
{
	uint32_t	use;

	return (ref & PASSING) != 0 && read_place(arena, ref & (PFS_PASSING_NAMES - 1), &use, copy) &&
		reference(ref & (PFS_PASSING_NAMES - 1), use) == ref;
}

#define PART_MAX ((PFS_PASSING_MAX - 2) / 2)

/* Layout: type letter, length of the schema, schema, name. */
PfsRef
pfs_routine_name(PfsArena *arena, unsigned type, const char *schema, const char *name)
{
	char		text[PFS_PASSING_MAX];
	size_t		schema_length = pfs_min(strlen(schema), (size_t) PART_MAX);
	size_t		name_length = pfs_min(strlen(name), (size_t) PART_MAX);

	text[0] = (char) ('A' + type);
	text[1] = (char) (1 + schema_length);
	memcpy(text + 2, schema, schema_length);
	memcpy(text + 2 + schema_length, name, name_length);
	return pfs_passing_name(arena, text, 2 + schema_length + name_length);
}

bool
pfs_routine_parts(const PfsArena *arena, PfsRef routine, PfsNameCopy *copy, unsigned *type,
				  const char **schema, size_t *schema_length,
				  const char **name, size_t *name_length)
{
	if (!pfs_name_copy(arena, routine, copy) || copy->length < 2)
		return false;
	*type = (unsigned) (copy->text[0] - 'A');
	*schema_length = (size_t) copy->text[1] - 1;
	if (*schema_length > copy->length - 2)
		return false;
	*schema = copy->text + 2;
	*name = copy->text + 2 + *schema_length;
	*name_length = copy->length - 2 - *schema_length;
	return true;
}
