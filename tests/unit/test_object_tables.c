/*
 * test_object_tables.c - what the tables about tables, sockets and calls show; rules for tables.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/names.h"
#include "core/table_objects.h"

#define FILES "file_summary_by_instance"
#define TABLES "table_io_waits_summary_by_table"
#define INDEXES "table_io_waits_summary_by_index_usage"
#define LOCKS "table_lock_waits_summary_by_table"
#define OBJECTS "objects_summary_global_by_type"

/* --- tables --- */

static FixtureRow
named_table(PfsArena *arena, uint32_t id, uint32_t index, const char *schema, const char *name,
			const char *index_name)
{
	FixtureRow handle = fixture_table(arena, 5, id, index);

	pfs_table_name(arena, handle.row, handle.use, schema, name, index_name, 0);
	return handle;
}

static void
test_tables(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	FixtureRow by_key = named_table(arena, 100, 101, "public", "orders", "orders_pkey");
	FixtureRow plain = named_table(arena, 100, 0, "public", "orders", NULL);
	FixtureRow other = named_table(arena, 200, 0, "shop", "item", NULL);
	Rows *rows;
	int i;

	fixture_fetch(session, by_key, 3, 30);
	pfs_wait_table(session, plain.row, plain.use, PFS_TABLE_INSERT, 2, FIXTURE_START, 20);
	pfs_wait_table(session, plain.row, plain.use, PFS_TABLE_UPDATE, 4, FIXTURE_START, 40);
	pfs_wait_table(session, plain.row, plain.use, PFS_TABLE_DELETE, 5, FIXTURE_START, 0);
	fixture_fetch(session, plain, 1, 10);
	fixture_fetch(session, other, 7, 70);

	rows = rows_of(arena, INDEXES);
	is_u64((uint64_t) rows->count, 3, "by index usage: three rows");
	i = rows_find(rows, "index_name", "orders_pkey");
	is_str(row_text(rows, i, "object_type"), "TABLE", "type");
	is_str(row_text(rows, i, "object_schema"), "public", "schema");
	is_str(row_text(rows, i, "object_name"), "orders", "table");
	is_u64(row_number(rows, i, "count_fetch"), 3, "rows fetched by the index");
	is_u64(row_number(rows, i, "count_write"), 0, "none written");
	is_u64(row_number(rows, i, "index_oid"), 101, "its oid");
	is_u64(row_number(rows, i, "table_oid"), 100, "the table's");
	is_u64(row_number(rows, i, "database_oid"), 5, "and the database's");
	i = rows_find(rows, "object_name", "item");
	ok(row_text(rows, i, "index_name") == NULL && row_text(rows, i, "index_oid") == NULL,
	   "without an index there is no name");
	rows_free(rows);

	rows = rows_of(arena, TABLES);
	is_u64((uint64_t) rows->count, 2, "by table: two rows");
	i = rows_find(rows, "object_name", "orders");
	is_u64(row_number(rows, i, "count_star"), 15, "all rows");
	is_u64(row_number(rows, i, "sum_timer_wait"), 100, "their time");
	is_u64(row_number(rows, i, "count_read"), 4, "READ");
	is_u64(row_number(rows, i, "count_fetch"), 4, "is FETCH");
	is_u64(row_number(rows, i, "sum_timer_fetch"), 40, "with its time");
	is_u64(row_number(rows, i, "count_write"), 11, "WRITE");
	is_u64(row_number(rows, i, "sum_timer_write"), 60, "is the other three");
	is_u64(row_number(rows, i, "count_insert"), 2, "INSERT");
	is_u64(row_number(rows, i, "count_update"), 4, "UPDATE");
	is_u64(row_number(rows, i, "count_delete"), 5, "DELETE");
	is_u64(row_number(rows, i, "max_timer_write"), 40, "longest");
	rows_free(rows);

	for (unsigned mode = 0; mode <= PFS_LOCK_MODES + 1; mode++)
		pfs_table_lock_add(arena, plain.row, plain.use, mode, 10 * mode);
	pfs_table_lock_add(arena, by_key.row, by_key.use, 1, 1);
	rows = rows_of(arena, LOCKS);
	i = rows_find(rows, "object_name", "orders");
	is_u64(row_number(rows, i, "count_star"), 9, "lock waits of all modes, and of the index");
	is_u64(row_number(rows, i, "count_read"), 3, "of readers");
	is_u64(row_number(rows, i, "count_write"), 6, "of writers");
	is_u64(row_number(rows, i, "count_access_share"), 2, "ACCESS SHARE");
	is_u64(row_number(rows, i, "sum_timer_access_share"), 11, "its time");
	is_u64(row_number(rows, i, "sum_timer_row_share"), 20, "ROW SHARE");
	is_u64(row_number(rows, i, "sum_timer_share_row_exclusive"), 60, "SHARE ROW EXCLUSIVE");
	is_u64(row_number(rows, i, "max_timer_access_exclusive"), 80, "ACCESS EXCLUSIVE");
	is_u64(row_number(rows, rows_find(rows, "object_name", "item"), "count_star"), 0,
		   "another table has none");
	rows_free(rows);

	rows = rows_of(arena, OBJECTS);
	is_u64((uint64_t) rows->count, 2, "objects: two rows");
	is_u64(row_number(rows, rows_find(rows, "object_name", "orders"), "count_star"), 24,
		   "rows and lock waits");
	rows_free(rows);
	rows = rows_where(arena, TABLES, "object_schema", "shop");
	is_u64((uint64_t) rows->count, 1, "a condition is taken down");
	rows_free(rows);
	fixture_detach(session);
	is_u64(table_sum(arena, TABLES, "count_star"), 22, "sums stay when the thread has gone");
	fixture_free(arena);
}

static void
test_forget_tables(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsTableKey index = {5, 3, 2};
	PfsArena *arena;

	sizes.tables = 100;
	arena = fixture_arena(&sizes);

	for (uint32_t database = 5; database <= 6; database++)
		for (uint32_t id = 1; id <= 10; id++)
			for (uint32_t i = 0; i < 4; i++)
				fixture_table(arena, database, id, i);
	is_u64(table_count(arena, INDEXES), 80, "20 tables with 3 indexes each");
	pfs_table_forget(arena, 5, 7);
	pfs_table_forget(arena, 5, 4711);
	is_u64(table_count(arena, INDEXES), 76, "a table goes with its indexes");
	is_u64(table_count(arena, TABLES), 19, "and no other");
	pfs_index_forget(arena, &index);
	pfs_index_forget(arena, &index);
	is_u64(table_count(arena, INDEXES), 75, "an index goes alone");
	pfs_table_forget(arena, 5, 0);
	is_u64(table_count(arena, INDEXES), 40, "a database goes with all");
	for (uint32_t id = 1; id <= 60; id++)
		fixture_table(arena, 7, id, 0);
	is_u64(table_count(arena, INDEXES), 100, "and there is room again");
	is_u64(fixture_table(arena, 8, 1, 0).row, 0, "up to the size");
	is_u64(loss_of(arena, PFS_LOSS_TABLES), 1, "then it is counted");
	fixture_free(arena);
}

/* A table keeps its locks' chunk for the next one in its row, without the numbers. */
static void
test_locks_of_a_reused_row(void)
{
	PfsArena *arena = fixture_arena(NULL);
	FixtureRow t = fixture_table(arena, 5, 1, 0);

	pfs_table_lock_add(arena, t.row, t.use, 3, 10);
	pfs_table_forget(arena, 5, 1);
	pfs_table_lock_add(arena, t.row, t.use, 3, 10);
	is_u64(table_sum(arena, LOCKS, "count_star"), 0, "a dropped table has no lock waits");
	is_u64(fixture_table(arena, 5, 2, 0).row, t.row, "another one takes its row");
	is_u64(table_sum(arena, LOCKS, "count_star"), 0, "and starts with none");
	pfs_table_lock_add(arena, t.row, t.use, 3, 10);
	is_u64(table_sum(arena, LOCKS, "count_star"), 0, "late ones do not count");
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0, "and are no loss");
	fixture_free(arena);
}

static void
rename_host(const PfsTableKey *key, PfsHostObject *object)
{
	object->schema = key->database == 5 ? "public" : NULL;
	object->name = key->database == 5 ? "by the host" : NULL;
}

static void
test_unnamed(void)
{
	PfsArena *arena = fixture_arena(NULL);
	FixtureRow t = fixture_table(arena, 5, 1, 0);
	Rows *rows;

	fixture_table(arena, 6, 1, 0);
	pfs_table_lock_add(arena, t.row, t.use, 3, 10);
	rows = rows_of(arena, LOCKS);
	ok(row_text(rows, 0, "object_schema") == NULL && row_text(rows, 0, "object_name") == NULL,
	   "a table that was only locked has no name");
	rows_free(rows);
	pfs_host_table_name = rename_host;
	rows = rows_of(arena, LOCKS);
	is_str(row_text(rows, 0, "object_name"), "by the host", "unless the host knows it");
	ok(row_text(rows, 1, "object_name") == NULL, "which it may not");
	rows_free(rows);
	rows = rows_where(arena, LOCKS, "object_name", "by the host");
	is_u64((uint64_t) rows->count, 1, "a condition sees that name");
	rows_free(rows);
	named_table(arena, 1, 9, "s", "of the index", "i");
	rows = rows_of(arena, LOCKS);
	is_str(row_text(rows, 0, "object_name"), "of the index", "an index knows its table");
	rows_free(rows);
	pfs_host_table_name = NULL;
	fixture_free(arena);
}

/* --- setup_objects --- */

static bool
edit_rule(PfsArena *arena, char what, const char *schema, const char *name, const char *enabled,
		  const char *timed)
{
	const PfsTable *rules = pfs_table_by_name("setup_objects");
	const char *fields[5] = {"TABLE", schema, name, enabled, timed};
	int column;

	return (what == 'i'   ? rules->insert(arena, fields, &column)
			: what == 'u' ? rules->update(arena, fields, fields, &column)
						  : rules->remove(arena, fields)) == PFS_EDIT_OK;
}

static void
test_watched(void)
{
	PfsArena *arena = fixture_arena(NULL);
	FixtureRow t = named_table(arena, 100, 0, "public", "orders", NULL);
	FixtureRow catalog = named_table(arena, 200, 0, "pg_catalog", "pg_class", NULL);
	PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_TABLES, t.row, t.use);
	uint64_t known;
	bool timed;

	ok(pfs_table_watched(arena, t.row, t.use, &timed) && timed, "tables are watched");
	ok(!pfs_table_watched(arena, catalog.row, catalog.use, &timed) && !timed, "catalogs are not");
	known = row->rule;
	pfs_table_watched(arena, t.row, t.use, &timed);
	is_u64(row->rule, known, "the answer is remembered");
	ok(edit_rule(arena, 'i', "public", "orders", "YES", "NO"), "a rule for the table");
	ok(pfs_table_watched(arena, t.row, t.use, &timed) && !timed, "counts at once");
	ok(edit_rule(arena, 'u', "public", "orders", "NO", "NO"), "is changed");
	ok(!pfs_table_watched(arena, t.row, t.use, &timed), "counts at once");
	named_table(arena, 100, 0, "public", "bills", NULL);
	ok(pfs_table_watched(arena, t.row, t.use, &timed) && timed, "a renamed table has another rule");
	named_table(arena, 100, 0, "public", "orders", NULL);
	ok(!pfs_table_watched(arena, t.row, t.use, &timed), "and its old one again");
	ok(edit_rule(arena, 'd', "public", "orders", NULL, NULL), "it is removed");
	ok(pfs_table_watched(arena, t.row, t.use, &timed) && timed, "the general one counts again");
	ok(table_truncate(arena, "setup_objects"), "no rule at all");
	ok(!pfs_table_watched(arena, t.row, t.use, &timed) && !timed, "watches nothing");
	pfs_rules_default(arena);
	edit_rule(arena, 'u', "%", "%", "YES", "YES");
	ok(pfs_table_watched(arena, t.row, t.use, &timed), "rules are back");
	pfs_table_forget(arena, 5, 100);
	ok(!pfs_table_watched(arena, t.row, t.use, &timed) && !timed, "a dropped table is not watched");
	t = fixture_table(arena, 5, 300, 0);
	ok(pfs_table_watched(arena, t.row, t.use, &timed), "a table without a name follows %%.%%");
	ok(!pfs_table_watched(arena, 0, 0, &timed) && !timed, "no row: not watched");
	fixture_free(arena);
}

/* An answer that comes late belongs to the use it was looked up for. */
static void
test_late_rule(void)
{
	PfsArena *arena = fixture_arena(NULL);
	FixtureRow hidden = named_table(arena, 100, 0, "pg_catalog", "pg_class", NULL);
	PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_TABLES, hidden.row, hidden.use);
	FixtureRow shown;
	uint64_t late;
	bool timed;

	pfs_table_watched(arena, hidden.row, hidden.use, &timed);
	late = row->rule;
	pfs_table_forget(arena, 5, 100);
	shown = named_table(arena, 101, 0, "public", "orders", NULL);
	is_u64(shown.row, hidden.row, "the same row");
	pfs_store(&row->rule, late);
	ok(pfs_table_watched(arena, shown.row, shown.use, &timed) && timed,
	   "an answer for its predecessor does not count");
	fixture_free(arena);
}

/* --- sockets, relations, calls --- */

static void
connect_socket(PfsSession *session, const char *address, uint16_t port, int fd)
{
	PfsSocket *socket = &session->thread->socket;

	pfs_store(&socket->fd, fd);
	pfs_store(&socket->port, port);
	pfs_session_state(session, port == 0 ? PFS_THREAD_IDLE : PFS_THREAD_ACTIVE, 1);
	pfs_copy_bytes(socket->address, address, strlen(address) + 1);
	pfs_store(&socket->used, 1);
}

static void
test_sockets(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *ada = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *bob = fixture_attach(arena, 1, "bob", "[local]");
	PfsSession *worker = fixture_attach(arena, 2, NULL, NULL);
	Rows *rows;
	uint64_t instance;

	connect_socket(ada, "10.0.0.1", 4711, 9);
	connect_socket(bob, "", 0, 9);
	fixture_wait(ada, FIXTURE_WAIT_SOCKET, PFS_OPERATION_RECV, 0, 0, 10, 100);
	fixture_wait(ada, FIXTURE_WAIT_SOCKET, PFS_OPERATION_SEND, 0, 0, 20, 200);
	fixture_wait(bob, FIXTURE_WAIT_SOCKET, PFS_OPERATION_SEND, 0, 0, 30, 300);
	rows = rows_of(arena, "socket_instances");
	is_u64((uint64_t) rows->count, 2, "two connections");
	is_str(row_text(rows, 0, "ip"), "10.0.0.1", "address");
	is_u64(row_number(rows, 0, "port"), 4711, "port");
	is_str(row_text(rows, 0, "state"), "ACTIVE", "active");
	is_str(row_text(rows, 1, "state"), "IDLE", "idle");
	is_str(row_text(rows, 1, "ip"), "", "a Unix socket has no address");
	is_u64(row_number(rows, 0, "thread_id"), ada->thread->thread_id, "thread");
	is_u64(row_number(rows, 0, "socket_id"), 9, "descriptor");
	instance = row_number(rows, 0, "object_instance_begin");
	ok(instance != row_number(rows, 1, "object_instance_begin"), "instances differ");
	rows_free(rows);
	rows = rows_of(arena, "socket_summary_by_instance");
	is_u64(row_number(rows, 0, "count_star"), 2, "events");
	is_u64(row_number(rows, 0, "sum_timer_write"), 20, "sent");
	is_u64(row_number(rows, 0, "sum_number_of_bytes_read"), 100, "received");
	is_u64(row_number(rows, 0, "object_instance_begin"), instance, "of the same instance");
	rows_free(rows);
	rows = rows_seen_by(arena, "socket_summary_by_instance", "bob");
	is_u64((uint64_t) rows->count, 1, "bob sees his own");
	is_u64(rows_sum(rows, "sum_timer_write"), 30, "with his numbers");
	rows_free(rows);
	rows = rows_seen_by(arena, "socket_instances", "eve");
	is_u64((uint64_t) rows->count, 0, "eve sees none");
	rows_free(rows);
	rows = rows_seen_by(arena, "events_waits_summary_by_instance", "eve");
	is_u64((uint64_t) rows->count, 0, "in no table");
	rows_free(rows);
	is_u64(table_sum(arena, "events_waits_summary_by_instance", "count_star"), 3, "others see all");
	ok(table_truncate(arena, "socket_summary_by_instance"), "TRUNCATE");
	is_u64(table_sum(arena, "socket_summary_by_instance", "count_star"), 0, "empties them");
	is_u64(table_count(arena, "socket_summary_by_instance"), 2, "and leaves the rows");
	fixture_wait(ada, FIXTURE_WAIT_SOCKET, PFS_OPERATION_POLL, 0, 0, 5, -1);
	is_u64(table_sum(arena, "socket_summary_by_instance", "count_misc"), 1, "counting goes on");
	fixture_detach(ada);
	is_u64(table_count(arena, "socket_instances"), 1, "a connection that is closed has no row");
	ada = fixture_attach(arena, 0, "ada", "h1");
	connect_socket(ada, "10.0.0.1", 4711, 9);
	rows = rows_of(arena, "socket_instances");
	ok(row_number(rows, 0, "object_instance_begin") != instance,
	   "the next one is another instance");
	rows_free(rows);
	fixture_detach(ada);
	fixture_detach(bob);
	fixture_detach(worker);
	fixture_free(arena);
}

static const char *
relation_of(const char *path)
{
	return strcmp(path, "base/5/16384") == 0 ? "public.orders" : NULL;
}

static void
test_relation_names(void)
{
	PfsArena *arena = fixture_arena(NULL);
	Rows *rows;

	fixture_file(arena, "base/5/16384");
	fixture_file(arena, "pg_control");
	pfs_host_relation_of_file = relation_of;
	rows = rows_of(arena, FILES);
	is_str(row_text(rows, 0, "relation_name"), "public.orders", "a relation's file");
	is_str(row_text(rows, 1, "relation_name"), NULL, "is told from others");
	is_str(row_text(rows, 0, "event_name"), "wait/io/file/unit/data", "event name");
	rows_free(rows);
	rows = rows_of(arena, "file_instances");
	is_str(row_text(rows, 0, "relation_name"), "public.orders", "the same among the instances");
	rows_free(rows);
	pfs_host_relation_of_file = NULL;
	rows = rows_of(arena, FILES);
	is_str(row_text(rows, 0, "relation_name"), NULL, "without a host it is not known");
	rows_free(rows);
	fixture_free(arena);
}

static void
test_calls(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *other = fixture_attach(arena, 1, "ada", "h1");
	size_t bytes = PFS_CALL_COUNTERS * sizeof(uint64_t);
	Rows *rows;

	for (int i = 0; i < 2; i++)
	{
		PfsThread *thread = (i == 0 ? session : other)->thread;

		pfs_store(&thread->calls, pfs_pool_alloc(pfs_pool_of(arena), bytes));
		pfs_add((uint64_t *) pfs_pool_at(pfs_pool_of(arena), thread->calls, bytes), 5);
	}
	for (int i = 0; i < 2; i++)
	{
		rows = rows_of(arena, "interposed_calls");
		is_u64((uint64_t) rows->count, 2, "two slots");
		is_str(row_text(rows, 0, "patched"), "YES", "one is patched");
		is_str(row_text(rows, 1, "state"), "NOT IMPORTED", "the other is not");
		is_u64(row_number(rows, 0, "calls"), 10,
			   i == 0 ? "calls of all threads" : "and of dead ones");
		is_u64(row_number(rows, 1, "calls"), 0, "of each symbol");
		rows_free(rows);
		if (i == 0)
			fixture_detach(session);
	}
	fixture_detach(other);
	is_u64(table_sum(arena, "interposed_calls", "calls"), 10, "when all have gone, too");
	fixture_free(arena);
}

/* --- locks of the server, as the host tells them --- */

static void
test_locks(void)
{
	PfsArena *arena = fixture_arena(NULL);
	Rows *rows = rows_of(arena, "rwlock_instances");

	is_u64((uint64_t) rows->count, 2, "a lock without an instrument is left out");
	is_u64(row_number(rows, 1, "object_instance_begin"), 2, "the second one's number too");
	is_str(row_text(rows, 0, "name"), "wait/synch/lwlock/unit/buffer", "name");
	is_u64(row_number(rows, 0, "object_instance_begin"), 0, "number, not address");
	is_str(row_text(rows, 0, "write_locked"), "YES", "held exclusively");
	is_u64(row_number(rows, 0, "read_locked_by_count"), 0, "by nobody shared");
	is_str(row_text(rows, 1, "write_locked"), "NO", "not exclusively");
	is_u64(row_number(rows, 1, "read_locked_by_count"), 3, "shared by three");
	ok(row_text(rows, 0, "write_locked_by_thread_id") == NULL, "by whom is not known");
	rows_free(rows);
	rows = rows_where(arena, "rwlock_instances", "name", "wait/synch/lwlock/unit/other");
	is_u64((uint64_t) rows->count, 0, "no lock of another name");
	rows_free(rows);
	fixture_free(arena);
}

int
main(void)
{
	test_locks();
	test_tables();
	test_forget_tables();
	test_locks_of_a_reused_row();
	test_unnamed();
	test_watched();
	test_late_rule();
	test_sockets();
	test_relation_names();
	test_calls();
	return done_testing();
}
