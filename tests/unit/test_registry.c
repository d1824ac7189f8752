/*
 * test_registry.c - registration of instruments and thread classes.
 */
#include "arena_fixture.h"
#include "tap.h"

static void
test_instruments(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsInstrument *instrument = pfs_instrument(arena, 1);
	char name[PFS_NAME_LENGTH + 50];
	char doc[PFS_DOC_LENGTH + 50];

	is_str(instrument->name, "statement/sql/class_1", "a name is kept");
	is_u64(instrument->number, 1, "statement instruments are numbered as they come");
	is_u64(arena->transaction_instrument, FIXTURE_CLASSES, "the transaction instrument is known");
	is_u64(arena->error_instrument, FIXTURE_CLASSES + 1, "and that of errors");
	ok(!pfs_instrument(arena, arena->error_instrument)->can_be_timed, "errors have no time");
	ok(pfs_statement_instrument(arena, 999) == pfs_instrument(arena, 0),
	   "an unknown class is the first one");

	is_u64(pfs_register(arena, PFS_CLASS_ERROR, "x", "x", 0, true, true), UINT32_MAX,
		   "a full table refuses");
	is_u64(loss_of(arena, PFS_LOSS_STATEMENT_CLASSES), 1, "and counts the loss");
	is_u64(arena->instrument_count, FIXTURE_INSTRUMENTS, "nothing was added");
	fixture_free(arena);

	{
		PfsSizes sizes = fixture_sizes();

		sizes.instruments = 100;
		arena = fixture_arena(&sizes);
	}
	is_u64(pfs_register(arena, PFS_CLASS_STATEMENT, "x", "x", 0, true, true), UINT32_MAX,
		   "statement classes have a limit of their own");
	memset(name, 'n', sizeof(name));
	memset(doc, 'd', sizeof(doc));
	name[sizeof(name) - 1] = doc[sizeof(doc) - 1] = '\0';
	pfs_register(arena, PFS_CLASS_ERROR, name, doc, 0, true, true);
	instrument = pfs_instrument(arena, arena->instrument_count - 1);
	is_u64(strlen(instrument->name), PFS_NAME_LENGTH - 1, "a long name is cut");
	is_u64(strlen(instrument->doc), PFS_DOC_LENGTH - 1, "and a long text");
	ok(!instrument->timed, "what cannot be timed is not timed");
	fixture_free(arena);
}

static void
test_thread_classes(void)
{
	PfsArena *arena = fixture_arena(NULL);

	ok(pfs_thread_class(arena, FIXTURE_CLIENT)->foreground, "a foreground class");
	ok(pfs_thread_class(arena, FIXTURE_WORKER)->singleton, "a background class of one process");
	is_u64(pfs_register_thread_class(arena, "more", "more", false, false), 0,
		   "a full table gives the first class");
	is_u64(arena->thread_class_count, FIXTURE_THREAD_CLASSES, "nothing was added");
	ok(pfs_thread_class(arena, 99) == pfs_thread_class(arena, 0), "as does an unknown number");
	fixture_free(arena);
}

/* Waits that the host meets later: readers and recorders know them at once. */
static void
test_later_waits(void)
{
	PfsSizes sizes = fixture_sizes();
	char name[PFS_NAME_LENGTH + 50];
	PfsInstrument *instrument;
	PfsSession *session;
	PfsArena *arena;
	uint32_t wait;

	sizes.waits += 2;
	sizes.instruments += 4;
	arena = fixture_arena(&sizes);
	session = fixture_attach(arena, 0, "ada", "h1");
	is_u64(arena->wait_count, FIXTURE_WAITS, "the waits of the start");
	is_u64(arena->table_wait, FIXTURE_WAIT_TABLE, "that of tables is known");
	for (uint32_t i = 0; i < FIXTURE_WAITS; i++)
		ok(pfs_wait_instrument(arena, i)->number == i &&
			   pfs_wait_instrument(arena, i)->class == PFS_CLASS_WAIT,
		   "wait %u", i);
	fixture_wait(session, FIXTURE_WAIT_PLAIN, PFS_OPERATION_NONE, 0, 0, 5, -1);
	is_u64(table_count(arena, "events_waits_summary_global_by_event_name"), FIXTURE_WAITS,
		   "all are listed");
	wait = pfs_register_wait(arena, PFS_WAIT_LWLOCK, "wait/synch/lwlock/unit/late", "came late",
							 0x01000042, true);
	is_u64(wait, FIXTURE_WAITS, "a wait that comes later has the next number");
	instrument = pfs_wait_instrument(arena, wait);
	is_str(instrument->name, "wait/synch/lwlock/unit/late", "its name");
	is_str(instrument->doc, "came late", "its text");
	is_u64(instrument->code, 0x01000042, "its code");
	is_u64(instrument->kind, PFS_WAIT_LWLOCK, "its kind");
	ok(instrument->enabled && instrument->timed && instrument->can_be_timed, "on and timed");
	is_u64(pfs_wait_of_code(arena, 0x01000042), wait, "found by its code");
	is_u64(table_count(arena, "setup_instruments"), FIXTURE_INSTRUMENTS + 1, "one more");
	fixture_wait(session, wait, PFS_OPERATION_NONE, 0, 0, 7, -1);
	is_u64(table_number(arena, "events_waits_summary_global_by_event_name", "event_name",
						"wait/synch/lwlock/unit/late", "sum_timer_wait"),
		   7, "and counted");
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	wait = pfs_register_wait(arena, PFS_WAIT_PLAIN, name, "", 0, false);
	is_u64(strlen(pfs_wait_instrument(arena, wait)->name), PFS_NAME_LENGTH - 1,
		   "a long name is cut");
	ok(!pfs_wait_enabled(session, wait), "one that is off");
	is_u64(pfs_register_wait(arena, PFS_WAIT_PLAIN, "x", "", 0x05000001, true), UINT32_MAX,
		   "a full table of waits refuses");
	is_u64(loss_of(arena, PFS_LOSS_WAIT_CLASSES), 1, "and counts the loss");
	is_u64(pfs_wait_of_code(arena, 0x05000001), UINT32_MAX, "the code stays unknown");
	fixture_detach(session);
	fixture_free(arena);

	sizes.instruments = FIXTURE_INSTRUMENTS;
	arena = fixture_arena(&sizes);
	is_u64(pfs_register_wait(arena, PFS_WAIT_PLAIN, "x", "", 0, true), UINT32_MAX,
		   "so does a full table of instruments");
	fixture_free(arena);
}

int
main(void)
{
	test_instruments();
	test_later_waits();
	test_thread_classes();
	return done_testing();
}
