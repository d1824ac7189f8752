/*
 * arena.c
 *		Layout of the arena: one function decides offsets, for sizing and for initialising.
 */
#include "core/arena.h"

#include "core/digest.h"
#include "core/error_log.h"
#include "core/history.h"
#include "core/host_cache.h"
#include "core/journal.h"
#include "core/metric.h"
#include "core/names.h"
#include "core/object.h"
#include "core/registry.h"
#include "core/setup.h"
#include "core/statement.h"
#include "core/thread.h"
#include "core/timer.h"
#include "core/wait.h"
#include "core/wait_block.h"

#ifdef PFS_ASSERTS
void		(*pfs_inside_sequence) (PfsSeq *seq);
void		(*pfs_inside_gate) (void);
#endif

#define TEXT_RING_BYTES_PER_ROW 160 /* mean of real statements with room to spare */
#define MORE_NAMES 8192		/* of databases, of users and hosts that came and went: they are never removed */

#define POOL_OF_A_THREAD 14336	/* eleven thousand are used by pgbench, all consumers on; rarely all threads have more */
#define POOL_OF_A_LEAN_THREAD 6144
#define POOL_OF_A_DIGEST 768	/* text, sample, histogram, and what its statements waited for */
#define POOL_OF_ALL (288 * 1024)
#define CELLS_OF_A_THREAD 24	/* of digests, while all threads have as many */
#define WAITS_OF_A_DIGEST 4
#define FEWEST_CELLS 256
#define FEWEST_WAITS 4096
#define FEWEST_TEXTS 8			/* longest texts between two sums of a journal */

static PfsOff
place(PfsOff *end, uint64_t bytes)
{
	PfsOff		start = PFS_ALIGN_UP(*end, PFS_CACHE_LINE);

	*end = start + bytes;
	return start;
}

static uint32_t
power_of_two(uint32_t at_least)
{
	uint32_t	n = 16;

	while (n < at_least)
		n *= 2;
	return n;
}

/* Bytes of one row of history_long: stamp and record. */
static size_t
long_row(size_t record)
{
	return sizeof(uint64_t) + record;
}

static void
lay_out(PfsArena *a, const PfsSizes *s)
{
	PfsOff		end = sizeof(PfsArena);
	uint32_t	longest = s->sql_text_length + PFS_MESSAGE_LENGTH;

	a->sizes = *s;
	a->aggregate_bytes = PFS_ALIGN_UP(sizeof(PfsAggregate) +
									  (s->statement_classes + s->errors + s->waits) * sizeof(PfsRef), 8);
	a->account_bytes = PFS_ALIGN_UP(sizeof(PfsParty) + a->aggregate_bytes, PFS_CACHE_LINE);
	a->journal_ring = power_of_two(pfs_max(64u, s->statements_history + PFS_UNSUMMED + 1));
	a->journal_text_share = (pfs_max(s->statements_history, FEWEST_TEXTS) + 2) * longest;
	a->journal_texts = power_of_two(a->journal_text_share + (s->statement_stack + 3) * longest);
	a->thread_transactions_offset = PFS_ALIGN_UP(PFS_ALIGN_UP(sizeof(PfsThread), 64) +
												 PFS_SCOPES * a->aggregate_bytes, 64);
	a->wait_blocks.thread_offset = PFS_ALIGN_UP(a->thread_transactions_offset + pfs_thread_transaction_slots(s) *
										  sizeof(PfsTransactionRecord), PFS_CACHE_LINE);
	a->thread_journal_offset = a->wait_blocks.thread_offset + PFS_WAIT_STACK * sizeof(PfsWaitSlot) +
		PFS_ALIGN_UP(sizeof(PfsThreadBlocks) + pfs_thread_wait_blocks(s) * sizeof(uint32_t), PFS_CACHE_LINE);
	a->lean_thread_bytes = a->thread_journal_offset;
	a->thread_bytes = PFS_ALIGN_UP(a->thread_journal_offset + pfs_journal_bytes(a), 64);
	a->text_block = power_of_two(pfs_max(4096u, longest));
	a->text_ring_bytes = PFS_ALIGN_UP((uint64_t) s->statements_history_long * TEXT_RING_BYTES_PER_ROW,
									  a->text_block);
	a->text_ring_bytes = pfs_max(a->text_ring_bytes, 4 * (uint64_t) a->text_block);
	a->digest_head_count = power_of_two(s->digests);
	a->file_head_count = power_of_two(s->files);
	a->table_head_count = power_of_two(s->tables);
	a->share_limit[PFS_SHARE_DIGEST_CELLS] = pfs_max(FEWEST_CELLS, CELLS_OF_A_THREAD *
													 (s->threads - s->lean_threads));
	a->share_limit[PFS_SHARE_DIGEST_WAITS] = pfs_max(FEWEST_WAITS, WAITS_OF_A_DIGEST * s->digests);
	a->share_limit[PFS_SHARE_PREPARED] = s->prepared;
	a->kept_name_units = s->users + s->hosts + MORE_NAMES;
	a->wait_blocks.count = pfs_wait_blocks(s);
	a->wait_blocks.place_count = pfs_wait_places(s);

	a->instruments = place(&end, s->instruments * sizeof(PfsInstrument));
	a->thread_classes = place(&end, s->thread_classes * sizeof(PfsThreadClass));
	a->actors = place(&end, s->actors * sizeof(PfsActor));
	a->objects = place(&end, s->objects * sizeof(PfsObject));
	a->names = place(&end, PFS_NAME_HEADS * sizeof(uint32_t));
	a->kept_names = place(&end, (uint64_t) a->kept_name_units * PFS_NAME_UNIT);
	a->passing_names = place(&end, PFS_PASSING_NAMES * sizeof(PfsPassingName));
	a->global = place(&end, a->account_bytes + PFS_BUCKETS * sizeof(uint64_t));
	a->accounts = place(&end, (uint64_t) s->accounts * a->account_bytes);
	a->users = place(&end, (uint64_t) s->users * a->account_bytes);
	a->hosts = place(&end, (uint64_t) s->hosts * a->account_bytes);
	a->threads = place(&end, (uint64_t) (s->threads - s->lean_threads) * a->thread_bytes);
	a->lean_threads = place(&end, (uint64_t) s->lean_threads * a->lean_thread_bytes);
	a->digests = place(&end, (s->digests + 2) * sizeof(PfsDigest));
	a->digest_heads = place(&end, a->digest_head_count * sizeof(uint64_t));
	a->statements_long = place(&end, s->statements_history_long * sizeof(PfsLongStatement));
	a->statements_long_text = place(&end, s->statements_history_long ? a->text_ring_bytes : 0);
	a->transactions_long = place(&end, s->transactions_history_long *
								 long_row(sizeof(PfsTransactionEvent)));
	a->waits_long = place(&end, s->waits_history_long * sizeof(PfsLongWait));
	a->wait_blocks.blocks = place(&end, (uint64_t) a->wait_blocks.count * sizeof(PfsWaitBlock));
	a->wait_blocks.places = place(&end, a->wait_blocks.place_count * sizeof(uint32_t));
	a->lock_waits_long = place(&end, s->lock_waits_history * sizeof(PfsLongLockWait));
	a->error_log = place(&end, s->error_log * sizeof(PfsLogRow));
	a->host_cache = place(&end, s->hosts * sizeof(PfsClientHost));
	a->wait_map = place(&end, PFS_WAIT_CODES * sizeof(uint16_t));
	a->files = place(&end, (uint64_t) s->files * sizeof(PfsObjectRow));
	a->tables = place(&end, (uint64_t) s->tables * sizeof(PfsObjectRow));
	a->file_heads = place(&end, a->file_head_count * sizeof(uint32_t));
	a->table_heads = place(&end, a->table_head_count * sizeof(uint32_t));
	a->table_names = place(&end, (uint64_t) s->tables * sizeof(PfsTableNames));
	a->metrics = place(&end, s->metrics * sizeof(PfsMetric));
	a->pool = place(&end, pfs_pool_size(s->pool_bytes));
	a->bytes = PFS_ALIGN_UP(end, PFS_CACHE_LINE);
}

uint64_t
pfs_pool_default(const PfsSizes *s)
{
	return (uint64_t) (s->threads - s->lean_threads) * POOL_OF_A_THREAD +
		(uint64_t) s->lean_threads * POOL_OF_A_LEAN_THREAD +
		(uint64_t) s->digests * POOL_OF_A_DIGEST + POOL_OF_ALL;
}

PfsRef
pfs_share_alloc(PfsArena *arena, PfsShare share, size_t bytes)
{
	PfsRef		ref = 0;

	if (pfs_add_shared(&arena->share_used[share], 1) < arena->share_limit[share])
		ref = pfs_pool_alloc(pfs_pool_of(arena), bytes);
	if (ref == 0)
		pfs_add_shared(&arena->share_used[share], (uint32_t) -1);
	return ref;
}

void
pfs_share_free(PfsArena *arena, PfsShare share, PfsRef ref, size_t bytes)
{
	if (ref == 0)
		return;
	pfs_pool_free(pfs_pool_of(arena), ref, bytes);
	pfs_add_shared(&arena->share_used[share], (uint32_t) -1);
}

size_t
pfs_arena_size(const PfsSizes *sizes)
{
	PfsArena	plan;

	lay_out(&plan, sizes);
	return plan.bytes;
}

PfsArena *
pfs_arena_init(void *memory, const PfsSizes *sizes)
{
	PfsArena   *arena = memory;

	memset(memory, 0, pfs_arena_size(sizes));
	lay_out(arena, sizes);
	pfs_pool_init(pfs_pool_of(arena), sizes->pool_bytes);
	arena->digest_histogram_generation = 1;
	arena->setup_changes = 1;	/* sessions remember 0 for "never" */
	arena->sample_age_ticks = pfs_ns_to_ticks(UINT64_C(60000000000));
	pfs_wait_blocks_init(arena);
	(void) pfs_digest_reset(arena);
	pfs_rules_default(arena);
	pfs_consumers_default(arena);
	arena->magic = PFS_ARENA_MAGIC;
	return arena;
}

bool
pfs_arena_part(const PfsArena *a, int number, PfsArenaPart *part)
{
	const PfsSizes *s = &a->sizes;
	const PfsArenaPart parts[] = {
		{"(arena_header)", "Switchboard, reset points, loss counters", 1, sizeof(PfsArena), 0},
		{"setup_instruments", "Instruments", s->instruments, sizeof(PfsInstrument), 0},
		{"setup_threads", "Thread classes", s->thread_classes, sizeof(PfsThreadClass), 0},
		{"setup_actors", "Actor rules", s->actors, sizeof(PfsActor), 0},
		{"setup_objects", "Object rules", s->objects, sizeof(PfsObject), 0},
		{"(name_hash)", "Heads of the hash of names of users, hosts and databases", PFS_NAME_HEADS,
		sizeof(uint32_t), 0},
		{"(names)", "Names of users, hosts and databases", a->kept_name_units, PFS_NAME_UNIT, 0},
		{"(passing_names)", "Names of schemas and routines; the oldest give way", PFS_PASSING_NAMES,
		sizeof(PfsPassingName), 0},
		{"(global)", "Global summaries and the global histogram", 1,
		a->account_bytes + PFS_BUCKETS * sizeof(uint64_t), 0},
		{"accounts", "Accounts and their summaries' directories", s->accounts, a->account_bytes, 0},
		{"users", "Users and their summaries' directories", s->users, a->account_bytes, 0},
		{"hosts", "Hosts and their summaries' directories", s->hosts, a->account_bytes, 0},
		{"threads", "Threads: directories, histograms, journals of statements, other current events and histories",
			s->threads - s->lean_threads, a->thread_bytes, 0},
		{"(lean_threads)", "Threads that never execute statements", s->lean_threads,
		a->lean_thread_bytes, 0},
		{"events_statements_summary_by_digest", "Digest rows; texts, histograms and cells of threads "
			"are in the pool", s->digests + 2, sizeof(PfsDigest), 0},
		{"(digest_hash)", "Heads of the digest hash", a->digest_head_count, sizeof(uint64_t), 0},
		{"events_statements_history_long", "Ring of statement events", s->statements_history_long,
		sizeof(PfsLongStatement), 0},
		{"(statement_texts_long)", "Text ring of events_statements_history_long",
			s->statements_history_long ? a->text_ring_bytes / a->text_block : 0, a->text_block, 0},
		{"events_transactions_history_long", "Ring of transaction events",
			s->transactions_history_long, long_row(sizeof(PfsTransactionEvent)), 0},
		{"events_waits_history_long", "Ring of wait events that do not fill a block", s->waits_history_long,
		sizeof(PfsLongWait), 0},
		{"(wait_blocks)", "Wait events of threads, and most of those of events_waits_history_long", a->wait_blocks.count,
		sizeof(PfsWaitBlock), 0},
		{"(wait_places)", "Which blocks of them are the latter", a->wait_blocks.place_count, sizeof(uint32_t), 0},
		{"lock_waits_history_long", "Ring of lock waits with both statements", s->lock_waits_history,
		sizeof(PfsLongLockWait), 0},
		{"error_log", "Ring of messages of the server's log", s->error_log, sizeof(PfsLogRow), 0},
		{"host_cache", "Hosts and why clients were refused", s->hosts, sizeof(PfsClientHost), 0},
		{"(wait_map)", "Instruments by the server's wait event codes", PFS_WAIT_CODES,
		sizeof(uint16_t), 0},
		{"file_instances", "Files and their I/O", s->files, sizeof(PfsObjectRow), 0},
		{"(table_instances)", "Tables and indexes and their I/O", s->tables, sizeof(PfsObjectRow), 0},
		{"(object_hash)", "Heads of the hashes of files and tables",
		a->file_head_count + a->table_head_count, sizeof(uint32_t), 0},
		{"(table_names)", "Names of tables and indexes", s->tables, sizeof(PfsTableNames), 0},
		{"engine_metrics", "Counters of the engine, and since when they count", s->metrics, sizeof(PfsMetric), 0},
		{"(pool)", "Cells, histogram pages, texts", pfs_pool_of(a)->units, PFS_POOL_UNIT, 0},
	};

	if (number < 0 || (size_t) number >= PFS_LENGTH(parts))
		return false;
	*part = parts[number];
	part->bytes = part->rows * part->row_bytes;
	return true;
}

static const struct
{
	const char *name;
	const char *doc;
}			losses[PFS_LOSSES] = {
#define PFS_LOSS(symbol, name, doc) {#name, doc},
#include "core/losses.def"
#undef PFS_LOSS
};

const char *
pfs_loss_name(PfsLoss loss)
{
	return losses[loss].name;
}

const char *
pfs_loss_doc(PfsLoss loss)
{
	return losses[loss].doc;
}
