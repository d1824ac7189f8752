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

int
main(void)
{
	test_instruments();
	test_thread_classes();
	return done_testing();
}
