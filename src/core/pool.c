/*
 * pool.c
 *		Lock-free chunk allocator: a bump pointer and one tagged stack of freed chunks per size.
 *
 * Chunks never change size class, so a stale reader that follows an old PfsRef reads a chunk of
 * the size it expects; the sequence lock of the owner tells it that the content is not its own.
 */
#include "core/pool.h"

static const uint16_t class_units[PFS_POOL_CLASSES] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64};

static int
class_of(size_t bytes)
{
	size_t		units = PFS_ALIGN_UP(bytes, PFS_POOL_UNIT) / PFS_POOL_UNIT;

	for (int i = 0; i < PFS_POOL_CLASSES; i++)
		if (units <= class_units[i])
			return i;
	return -1;
}

size_t
pfs_pool_chunk_size(size_t bytes)
{
	int			class = class_of(bytes);

	return class < 0 ? 0 : (size_t) class_units[class] * PFS_POOL_UNIT;
}

size_t
pfs_pool_size(uint64_t data_bytes)
{
	return PFS_ALIGN_UP(sizeof(PfsPool), PFS_POOL_UNIT) + PFS_ALIGN_UP(data_bytes, PFS_POOL_UNIT);
}

void
pfs_pool_init(PfsPool *pool, uint64_t data_bytes)
{
	memset(pool, 0, sizeof(*pool));
	pool->units = pfs_pool_size(data_bytes) / PFS_POOL_UNIT;
	pool->next_unit = PFS_POOL_FIRST;
}

/* The tag in the upper half changes with each pop, so a stale "next" can never be installed. */
static PfsRef
pop(PfsPool *pool, int class)
{
	uint64_t	head = pfs_load_acquire(&pool->free_head[class]);

	for (;;)
	{
		PfsRef		ref = (PfsRef) head;
		uint32_t   *chunk = pfs_pool_at(pool, ref, class_units[class] * PFS_POOL_UNIT);
		uint32_t	next;

		if (chunk == NULL)
			return 0;
		next = pfs_load(chunk);
		if (pfs_cas64(&pool->free_head[class], &head, ((head >> 32) + 1) << 32 | next))
			return ref;
	}
}

static PfsRef
bump(PfsPool *pool, uint32_t units)
{
	uint64_t	next = pfs_load(&pool->next_unit);

	do
	{
		if (next < PFS_POOL_FIRST || next > pool->units || units > pool->units - next)
			return 0;
	}
	while (!pfs_cas64(&pool->next_unit, &next, next + units));
	return (PfsRef) next;
}

PfsRef
pfs_pool_alloc(PfsPool *pool, size_t bytes)
{
	int			class = class_of(bytes);
	PfsRef		ref;

	if (class < 0)
		return 0;
	ref = pop(pool, class);
	if (ref == 0)
		ref = bump(pool, class_units[class]);
	if (ref == 0)
	{
		pfs_add_shared(&pool->lost, 1);
		return 0;
	}
	pfs_zero_words(pfs_pool_at(pool, ref, PFS_POOL_UNIT), (size_t) class_units[class] * PFS_POOL_UNIT);
	pfs_add_shared(&pool->in_use[class], 1);
	return ref;
}

void
pfs_pool_free(PfsPool *pool, PfsRef ref, size_t bytes)
{
	int			class = class_of(bytes);
	uint32_t   *chunk;
	uint64_t	head;

	if (class < 0 || (chunk = pfs_pool_at(pool, ref, class_units[class] * PFS_POOL_UNIT)) == NULL)
		return;
	head = pfs_load(&pool->free_head[class]);
	do
		pfs_store(chunk, (uint32_t) head);
	while (!pfs_cas64(&pool->free_head[class], &head, (head >> 32) << 32 | ref));
	pfs_add_shared(&pool->in_use[class], (uint64_t) -1);
}

uint64_t
pfs_pool_bytes_used(const PfsPool *pool)
{
	uint64_t	bytes = 0;

	for (int i = 0; i < PFS_POOL_CLASSES; i++)
		bytes += pfs_load(&pool->in_use[i]) * class_units[i] * PFS_POOL_UNIT;
	return bytes;
}
