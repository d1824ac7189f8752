/*
 * test_host_cache.c - hosts: one row for each address, whoever comes first; refusals by reason; no room; TRUNCATE meanwhile.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/host_cache.h"

#define CACHE "host_cache"
#define WRITERS 4
#define TIMES 5000

static void
test_counts(void)
{
	PfsArena *arena = fixture_arena(NULL);
	char address[2 * PFS_HOST_ADDRESS];
	Rows *seen;

	pfs_host_connected(arena, "10.0.0.1", NULL, false, 100);
	pfs_host_connected(arena, "10.0.0.1", "one.example", true, 200);
	pfs_host_refused(arena, "10.0.0.1", PFS_HOST_ACL, 7, 300);
	pfs_host_refused(arena, "10.0.0.1", PFS_HOST_SSL, 8, 400);
	pfs_host_refused(arena, "10.0.0.2", PFS_HOST_HANDSHAKE, 9, 500);
	is_u64(table_count(arena, CACHE), 2, "a row for each address");
	is_u64(table_number(arena, CACHE, "ip", "10.0.0.1", "count_connections"), 2, "clients that were let in");
	is_u64(table_number(arena, CACHE, "ip", "10.0.0.1", "count_host_acl_errors"), 1, "one refused by the rules");
	is_u64(table_number(arena, CACHE, "ip", "10.0.0.1", "sum_connect_errors"), 1, "one before its authentication");
	is_u64(table_number(arena, CACHE, "ip", "10.0.0.2", "count_handshake_errors"), 1, "the other host's");
	memset(address, 'x', sizeof(address) - 1);
	address[sizeof(address) - 1] = '\0';
	pfs_host_connected(arena, address, address, false, 1);
	pfs_host_connected(arena, address, address, false, 1);
	is_u64(table_count(arena, CACHE), 3, "an address that is too long has one row, too");
	seen = rows_seen_by(arena, CACHE, "ada");
	is_u64((uint64_t) seen->count, 0, "nothing for who sees own rows alone");
	rows_free(seen);
	table_truncate(arena, CACHE);
	is_u64(table_count(arena, CACHE), 0, "TRUNCATE forgets all");
	pfs_host_refused(arena, "10.0.0.1", PFS_HOST_ACL, 7, 300);
	is_u64(table_number(arena, CACHE, "ip", "10.0.0.1", "count_host_acl_errors"), 1, "counts begin again");
	is_u64(table_number(arena, CACHE, "ip", "10.0.0.1", "count_connections"), 0, "all of them");
	fixture_free(arena);
}

static void
test_full(void)
{
	PfsArena *arena = fixture_arena(NULL);
	char address[16];

	for (uint32_t i = 0; i < arena->sizes.hosts + 3; i++)
	{
		snprintf(address, sizeof(address), "10.0.1.%u", i);
		pfs_host_connected(arena, address, NULL, false, 1);
	}
	is_u64(table_count(arena, CACHE), arena->sizes.hosts, "as many as there is room for");
	is_u64(loss_of(arena, PFS_LOSS_HOST_CACHE), 3, "the others are counted");
	fixture_free(arena);
}

static void *
count_all(void *argument)
{
	PfsArena *arena = argument;

	for (int i = 0; i < TIMES; i++)
	{
		pfs_host_connected(arena, i % 2 ? "a" : "b", NULL, false, 1);
		pfs_host_refused(arena, "a", PFS_HOST_ACL, 1, 1);
	}
	return NULL;
}

static void
test_concurrency(void)
{
	PfsArena *arena = fixture_arena(NULL);
	pthread_t thread[WRITERS];

	for (int i = 0; i < WRITERS; i++)
		pthread_create(&thread[i], NULL, count_all, arena);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	is_u64(table_count(arena, CACHE), 2, "one row for each address, though all come first at once");
	is_u64(table_sum(arena, CACHE, "count_connections"), WRITERS * TIMES, "nothing is lost");
	is_u64(table_sum(arena, CACHE, "count_host_acl_errors"), WRITERS * TIMES, "no refusal either");
	fixture_free(arena);
}

static void *
forget_all(void *argument)
{
	for (int i = 0; i < TIMES; i++)
		table_truncate(argument, CACHE);
	return NULL;
}

static void
test_truncate_meanwhile(void)
{
	PfsArena *arena = fixture_arena(NULL);
	pthread_t thread[WRITERS];
	int wrong = 0;

	for (int i = 0; i < WRITERS; i++)
		pthread_create(&thread[i], NULL, i == 0 ? forget_all : count_all, arena);
	for (int round = 0; round < 500; round++)
	{
		Rows *seen = rows_of(arena, CACHE);

		for (int i = 0; i < seen->count; i++)
			wrong += rows_find(seen, "ip", row_text(seen, i, "ip")) != i ||
				strchr("ab", row_text(seen, i, "ip")[0]) == NULL;
		rows_free(seen);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	is_u64((uint64_t) wrong, 0, "no address has two rows, and none is another's");
	fixture_free(arena);
}

int
main(void)
{
	test_counts();
	test_full();
	test_concurrency();
	test_truncate_meanwhile();
	return done_testing();
}
