/*
 * table_calls.c
 *		interposed_calls: the import slots of the process, and how often calls went through them.
 */
#include "core/table_objects.h"

#define FOLD_RETRIES 8

typedef struct CallRow
{
	PfsText		object;
	PfsText		symbol;
	uint8_t		patched;
	PfsText		state;
	uint64_t	calls;
} CallRow;

static const PfsColumn call_columns[] = {
	{"object", "Executable or library whose slot it is", PFS_COLUMN_TEXT, offsetof(CallRow, object),
	PFS_COLUMN_KEY},
	{"symbol", "Function of the C library", PFS_COLUMN_TEXT, offsetof(CallRow, symbol), PFS_COLUMN_KEY},
	{"patched", "Do calls pass through this extension, in the reader's own process?", PFS_COLUMN_YES_NO,
	offsetof(CallRow, patched), 0},
	{"state", "How that was done, or why it was not", PFS_COLUMN_TEXT, offsetof(CallRow, state), 0},
	{"calls", "Calls that were observed since start, in all processes and from whichever object; "
	"a process that never idles tells of its calls 64 by 64",
	PFS_COLUMN_U64, offsetof(CallRow, calls), 0},
};
PFS_GROUP(call_group, call_columns);

_Static_assert(PFS_LENGTH(((PfsArena *) 0)->calls_total) == PFS_CALL_COUNTERS,
			   "totals of all counters");

/* What moved from threads into the totals so far. */
static uint64_t
folds(const PfsArena *arena)
{
	uint64_t	sum = 0;

	for (uint32_t i = 0; i < arena->sizes.threads; i++)
		sum += pfs_load_acquire(&pfs_thread(arena, i)->call_folds);
	return sum;
}

static void
add_threads(PfsArena *arena, uint64_t *sum, uint64_t *copy)
{
	size_t		bytes = PFS_CALL_COUNTERS * sizeof(uint64_t);

	PFS_EACH_THREAD(arena, thread, slot)
	{
		uint64_t   *calls = pfs_pool_at(pfs_pool_of(arena), pfs_load_acquire(&thread->calls), bytes);

		if (calls == NULL)
			continue;
		pfs_read_thread(arena, thread, copy, calls, bytes);
		for (int i = 0; i < PFS_CALL_COUNTERS; i++)
			sum[i] += copy[i];
	}
}

/* Starts again when a thread ended in between, so that its calls do not count twice. */
static void
add_up_calls(PfsScan *scan, uint64_t *sum)
{
	PfsArena   *arena = scan->arena;
	size_t		bytes = PFS_CALL_COUNTERS * sizeof(uint64_t);
	uint64_t   *copy = scan->alloc(scan, bytes);

	for (int tries = 0; tries < FOLD_RETRIES; tries++)
	{
		uint64_t	before = folds(arena);

		memset(sum, 0, bytes);
		add_threads(arena, sum, copy);
		for (int i = 0; i < PFS_CALL_COUNTERS; i++)
			sum[i] += pfs_load(&arena->calls_total[i]);
		pfs_fence();
		if (folds(arena) == before)
			return;
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
}

static void
calls_scan(PfsScan *scan)
{
	uint64_t   *sum = scan->alloc(scan, PFS_CALL_COUNTERS * sizeof(uint64_t));
	PfsHostCall call;

	if (pfs_host_call == NULL)
		return;
	add_up_calls(scan, sum);
	for (uint32_t i = 0; pfs_host_call(i, &call); i++)
	{
		CallRow		row = {.object = pfs_text_of_string(call.object),
			.symbol = pfs_text_of_string(call.symbol),.patched = call.patched,
			.state = pfs_text_of_string(call.state)};
		const void *parts[] = {&row};

		if (call.number < PFS_CALL_COUNTERS)
			row.calls = sum[call.number];
		if (pfs_scan_wants_text(scan, "object", row.object) &&
			pfs_scan_wants_text(scan, "symbol", row.symbol))
			scan->emit(scan, parts);
	}
}

const PfsTable pfs_table_interposed_calls = {
	.name = "interposed_calls",
	.doc = "Which blocking calls of the server can be timed, and why not the others; not in MySQL",
	.groups = {&call_group},.scan = calls_scan,
};
