/*
 * test_arena.c - layout: sizes, parts that do not overlap, sub-offsets of a thread.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/names.h"

#define RANDOM_SIZES 200

typedef struct Part
{
	PfsOff start;
	uint64_t bytes;
} Part;

/* Parts in the order in which pfs_arena_part tells them. */
static void
parts_of(const PfsArena *arena, Part *part, int count)
{
	const PfsOff starts[] = {
		0,
		arena->instruments,
		arena->thread_classes,
		arena->actors,
		arena->objects,
		arena->names,
		arena->kept_names,
		arena->passing_names,
		arena->global,
		arena->accounts,
		arena->users,
		arena->hosts,
		arena->threads,
		arena->lean_threads,
		arena->digests,
		arena->digest_heads,
		arena->statements_long,
		arena->statements_long_text,
		arena->transactions_long,
		arena->waits_long,
		arena->wait_blocks.blocks,
		arena->wait_blocks.places,
		arena->lock_waits_long,
		arena->error_log,
		arena->host_cache,
		arena->wait_map,
		arena->files,
		arena->tables,
		arena->file_heads,
		arena->table_names,
		arena->metrics,
		arena->pool,
	};

	for (int i = 0; i < count && i < (int) PFS_LENGTH(starts); i++)
	{
		PfsArenaPart told;

		pfs_arena_part(arena, i, &told);
		part[i] = (Part){starts[i], told.bytes};
	}
}

static int
overlaps(const PfsArena *arena)
{
	PfsArenaPart told;
	Part part[40] = {{0, 0}};
	int count = 0;
	int wrong = 0;

	while (pfs_arena_part(arena, count, &told))
		count++;
	parts_of(arena, part, count);
	for (int i = 0; i < count; i++)
	{
		PfsOff end = i + 1 < count ? part[i + 1].start : arena->bytes;

		/* nothing overlaps, and no more is wasted than alignment needs */
		wrong += part[i].start % PFS_CACHE_LINE != 0;
		wrong += part[i].start + part[i].bytes > end;
		wrong += end - (part[i].start + part[i].bytes) >= PFS_CACHE_LINE;
	}
	return wrong;
}

static int
wrong_inside_thread(const PfsArena *arena)
{
	const PfsSizes *s = &arena->sizes;
	PfsThread *thread = pfs_thread(arena, 0);
	char *base = (char *) thread;
	char *end_of_aggregates =
		(char *) pfs_thread_aggregate(arena, thread, PFS_SCOPE_GLOBAL) + arena->aggregate_bytes;
	char *records = (char *) pfs_journal_records(arena, thread);
	char *end = (char *) pfs_thread_transaction(arena, thread, 1 + s->transactions_history);
	char *waits = (char *) pfs_thread_wait_stack(arena, thread);
	int wrong = 0;

	wrong +=
		(char *) pfs_thread_aggregate(arena, thread, PFS_SCOPE_THREAD) < base + sizeof(PfsThread);
	wrong += end_of_aggregates > (char *) pfs_thread_transaction(arena, thread, 0);
	wrong += end > waits;
	wrong += (char *) &pfs_thread_blocks(arena, thread)->number[pfs_thread_wait_blocks(s)] >
			 base + arena->lean_thread_bytes;
	wrong += records < base + arena->lean_thread_bytes;
	wrong += (uintptr_t) records % PFS_CACHE_LINE != 0;
	wrong += pfs_journal_texts(arena, thread) + arena->journal_texts > base + arena->thread_bytes;
	wrong += arena->journal_ring < s->statements_history + PFS_UNSUMMED + 1;
	wrong += arena->journal_texts < arena->journal_text_share + s->statement_stack * s->sql_text_length;
	wrong += arena->thread_bytes % 64 != 0;
	wrong += s->sql_text_length + PFS_MESSAGE_LENGTH > arena->text_block;
	wrong += arena->text_ring_bytes % arena->text_block != 0;
	return wrong;
}

static PfsSizes
random_sizes(uint64_t *random)
{
	PfsSizes sizes = fixture_sizes();
	uint32_t *field[] = {
		&sizes.threads,
		&sizes.accounts,
		&sizes.users,
		&sizes.hosts,
		&sizes.statements_history,
		&sizes.statements_history_long,
		&sizes.transactions_history,
		&sizes.transactions_history_long,
		&sizes.digests,
		&sizes.sql_text_length,
		&sizes.digest_length,
	};

	for (size_t i = 0; i < PFS_LENGTH(field); i++)
		*field[i] = (uint32_t) (next_random(random) % 50) << next_random(random) % 3;
	sizes.threads++;
	sizes.statement_stack = 1 + (uint32_t) (next_random(random) % PFS_STACK_MAX);
	sizes.pool_bytes = next_random(random) % 5000;
	return sizes;
}

static void
test_layout(void)
{
	uint64_t random = 31;
	int wrong_parts = 0;
	int wrong_threads = 0;
	int wrong_size = 0;

	for (int i = 0; i < RANDOM_SIZES; i++)
	{
		PfsSizes sizes = random_sizes(&random);
		PfsArena *arena = fixture_arena(&sizes);

		wrong_parts += overlaps(arena);
		wrong_threads += wrong_inside_thread(arena);
		wrong_size += arena->bytes != pfs_arena_size(&sizes);
		fixture_free(arena);
	}
	is_u64((uint64_t) wrong_parts, 0, "parts of random sizes lie one after the other");
	is_u64((uint64_t) wrong_threads, 0, "so do the parts of a thread");
	is_u64((uint64_t) wrong_size, 0, "the arena is as large as was asked for");
}

/* Writes every row of every array that is indexed by a size; sanitizers watch the end. */
static void
test_edges(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena = fixture_arena(&sizes);
	char *end = (char *) arena + arena->bytes;

	ok(arena->magic == PFS_ARENA_MAGIC, "the arena is marked as ready");
	ok((char *) (pfs_thread(arena, sizes.threads)) <= (char *) pfs_digest(arena, 0),
	   "threads end before digests");
	ok((char *) (pfs_digest(arena, sizes.digests + 1) + 1) <=
		   PFS_AT(arena, arena->digest_heads, char),
	   "digests end before their hash");
	ok(pfs_digest(arena, sizes.digests + 2) == pfs_digest(arena, 0),
	   "a damaged digest number is row 0");
	ok((char *) pfs_pool_of(arena) + pfs_pool_of(arena)->units * PFS_POOL_UNIT <= end,
	   "the pool ends with the arena");
	ok(PFS_AT(arena, arena->names, uint32_t) + PFS_NAME_HEADS <=
		   (uint32_t *) PFS_AT(arena, arena->global, char),
	   "names end before the global row");
	is_u64(pfs_load(&arena->digest_generation), 1, "digests are of the first generation");
	fixture_free(arena);
}

static void
test_part_names(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsArenaPart part;

	ok(!pfs_arena_part(arena, -1, &part) && !pfs_arena_part(arena, 99, &part), "no such part");
	ok(pfs_arena_part(arena, 12, &part) && strcmp(part.name, "threads") == 0, "a part's name");
	is_u64(part.bytes, part.rows * part.row_bytes, "rows times their size");
	is_str(pfs_loss_name(PFS_LOSS_UNSTABLE_READS), "performance_schema_unstable_reads",
		   "a loss counter's name");
	ok(pfs_loss_doc(PFS_LOSS_CELLS) != NULL, "and text");
	fixture_free(arena);
}

int
main(void)
{
	test_layout();
	test_edges();
	test_part_names();
	return done_testing();
}
