/*
 * table_summary.c
 *		All by-name summaries: subject x level, one line each.
 *
 * A level's row is what its owner holds, plus what stands below it and still counts there: the
 * live threads (of statements: their cells of digests, too) and, for users and hosts, their accounts; global is accounts, hosts and itself
 * (the user axis ends at users, as in MySQL).  See rollup.h for "still counts".
 */
#include "core/table_cells.h"
#include "core/table_objects.h"

#include "core/registry.h"
#include "core/rollup.h"
#include "core/wait_sum.h"

const char *const pfs_level_words[PFS_LEVELS] = {"thread", "account", "user", "host", "global"};

/* How many times a scan starts again because statistics moved between levels meanwhile. */
#define MOVE_RETRIES 8

/* What a summary is about: which cells, and what a row shows of one. */
typedef enum Subject
{
	SUBJECT_STATEMENTS,
	SUBJECT_TRANSACTIONS,
	SUBJECT_ERRORS,
	SUBJECT_WAITS,				/* all waits: those of files and sockets by their totals */
	SUBJECT_FILES,
	SUBJECT_SOCKETS,
	SUBJECTS
} Subject;

static const struct
{
	unsigned	families;		/* whose cells: bits */
	size_t		row_bytes;
}			subjects[SUBJECTS] = {
	[SUBJECT_STATEMENTS] = {PFS_FAMILY_BIT(PFS_FAMILY_STATEMENTS), sizeof(PfsStatementStat)},
	[SUBJECT_TRANSACTIONS] = {PFS_FAMILY_BIT(PFS_FAMILY_TRANSACTIONS), sizeof(PfsTransactionStat)},
	[SUBJECT_ERRORS] = {PFS_FAMILY_BIT(PFS_FAMILY_ERRORS), sizeof(PfsErrorStat)},
	[SUBJECT_WAITS] = {PFS_FAMILY_BIT(PFS_FAMILY_WAITS) | PFS_FAMILY_BIT(PFS_FAMILY_FILES) |
	PFS_FAMILY_BIT(PFS_FAMILY_SOCKETS), sizeof(PfsTimerStat)},
	[SUBJECT_FILES] = {PFS_FAMILY_BIT(PFS_FAMILY_FILES), sizeof(PfsIoStat)},
	[SUBJECT_SOCKETS] = {PFS_FAMILY_BIT(PFS_FAMILY_SOCKETS), sizeof(PfsIoStat)},
};

typedef struct Collector
{
	PfsThreadSums sums;			/* first: its functions get its address */
	PfsScan    *scan;
	Subject		subject;
	PfsLevel	level;
	uint32_t	owners;
	uint32_t	first;			/* cell numbers of the subject */
	uint32_t	count;
	void	  **stat;			/* [owner][number], made on demand */
	uint64_t   *thread_id;		/* [slot]: whose numbers these are; level thread only */
	PfsStatementStat *of_class; /* [class]: statements of the thread that is being read ... */
	uint32_t   *classes;		/* ... which are there ... */
	uint32_t	class_count;	/* ... how many */
} Collector;

/* --- rows --- */

typedef struct ThreadKey
{
	uint64_t	thread_id;
} ThreadKey;

typedef struct PartyKey
{
	PfsText		user;
	PfsText		host;
} PartyKey;

typedef struct NameKey
{
	PfsText		name;
} NameKey;

typedef struct ErrorKey
{
	uint64_t	number;
	PfsText		name;
	PfsText		sqlstate;
} ErrorKey;

typedef struct TransactionRow
{
	PfsTimerStat all;
	PfsTransactionStat stat;
} TransactionRow;

typedef struct WaitRow
{
	PfsTimerStat all;
	PfsText		source;
} WaitRow;

static const PfsColumn thread_key_columns[] = {
	{"thread_id", "Thread, see threads", PFS_COLUMN_U64, offsetof(ThreadKey, thread_id),
	PFS_COLUMN_KEY},
};
static const PfsColumn user_key_columns[] = {
	{"user_name", "User (MySQL: USER, a reserved word here); NULL for background processes",
	PFS_COLUMN_TEXT, offsetof(PartyKey, user), PFS_COLUMN_KEY},
};
static const PfsColumn host_key_columns[] = {
	{"host", "Client host; NULL for background processes", PFS_COLUMN_TEXT,
	offsetof(PartyKey, host), PFS_COLUMN_KEY},
};
static const PfsColumn name_columns[] = {
	{"event_name", "Instrument", PFS_COLUMN_TEXT, offsetof(NameKey, name), PFS_COLUMN_KEY},
};
static const PfsColumn statement_columns[] = {
	PFS_TIMER_COLUMNS(offsetof(PfsStatementStat, timer), "star", "wait", "statements"),
#define PFS_COUNTER(symbol, place, column, is_time, doc) PFS_SUM_COLUMN(symbol, column, is_time, doc, 0),
#include "core/statement_counters.def"
#undef PFS_COUNTER
};
static const PfsColumn transaction_columns[] = {
	PFS_TIMER_COLUMNS(offsetof(TransactionRow, all), "star", "wait", "transactions"),
	PFS_TIMER_COLUMNS(offsetof(TransactionRow, stat) + offsetof(PfsTransactionStat, read_write),
					  "read_write", "read_write", "read-write transactions"),
	PFS_TIMER_COLUMNS(offsetof(TransactionRow, stat) + offsetof(PfsTransactionStat, read_only),
					  "read_only", "read_only", "read-only transactions"),
};
static const PfsColumn wait_columns[] = {
	PFS_TIMER_COLUMNS(offsetof(WaitRow, all), "star", "wait", "waits"),
	{"timer_source", "TIMED, or SAMPLED where calls are not timed: the count is then that of events that "
	"were met, and there are none by thread; not in MySQL", PFS_COLUMN_TEXT, offsetof(WaitRow, source), 0},
};
static const PfsColumn error_key_columns[] = {
	{"error_number", "The server's number of the SQLSTATE; NULL collects states unknown here",
	PFS_COLUMN_U64, offsetof(ErrorKey, number), PFS_COLUMN_KEY | PFS_COLUMN_NULL_IF_ZERO},
	{"error_name", "Condition name", PFS_COLUMN_TEXT, offsetof(ErrorKey, name), 0},
	{"sql_state", "SQLSTATE", PFS_COLUMN_TEXT, offsetof(ErrorKey, sqlstate), PFS_COLUMN_KEY},
};
static const PfsColumn error_columns[] = {
	{"sum_error_raised", "Errors that ended a statement", PFS_COLUMN_U64,
	offsetof(PfsErrorStat, raised), 0},
	{"sum_error_handled", "Errors that an exception handler caught", PFS_COLUMN_U64,
	offsetof(PfsErrorStat, handled), 0},
	{"first_seen", "When first counted", PFS_COLUMN_WHEN, offsetof(PfsErrorStat, first_seen), 0},
	{"last_seen", "When last counted", PFS_COLUMN_WHEN, offsetof(PfsErrorStat, last_seen), 0},
};

PFS_GROUP(thread_key, thread_key_columns);
PFS_GROUP(user_key, user_key_columns);
PFS_GROUP(host_key, host_key_columns);
PFS_GROUP(name_group, name_columns);
const PfsColumnGroup pfs_statement_stat_group = {statement_columns, PFS_LENGTH(statement_columns)};
PFS_GROUP(transaction_group, transaction_columns);
PFS_GROUP(error_key_group, error_key_columns);
PFS_GROUP(error_group, error_columns);
PFS_GROUP(wait_group, wait_columns);

/* --- collecting --- */

static void
collect(Collector *c, uint32_t owner, uint32_t number, PfsFamily family, const void *stat)
{
	void	  **place = &c->stat[(size_t) owner * c->count + number - c->first];
	PfsTimerStat total;

	if (*place == NULL)
		*place = c->scan->alloc(c->scan, subjects[c->subject].row_bytes);
	if (c->subject == SUBJECT_WAITS && family != PFS_FAMILY_WAITS)
	{
		total = pfs_io_stat_total(stat);
		stat = &total;
		family = PFS_FAMILY_WAITS;
	}
	pfs_stat_merge(family, *place, stat);
}

static bool
is_of_subject(const Collector *c, PfsFamily family)
{
	return (subjects[c->subject].families & PFS_FAMILY_BIT(family)) != 0;
}

/* Owner of this level that a thread or account belongs to, or UINT32_MAX. */
static uint32_t
owner_of_account(const Collector *c, uint32_t account_row)
{
	const PfsArena *arena = c->scan->arena;
	const PfsParty *account;

	if (c->level == PFS_LEVEL_GLOBAL)
		return 0;
	account = pfs_account_of_link(arena, account_row);
	if (account == NULL)
		return UINT32_MAX;
	if (c->level == PFS_LEVEL_ACCOUNT)
		return account_row - 1;
	return pfs_load(c->level == PFS_LEVEL_USER ? &account->user_row : &account->host_row) - 1;
}

/* Adds a thread's statements of a class to what is known of it. */
static void
add_statements(Collector *c, PfsScope scope, uint32_t class, uint32_t epoch, const PfsStatementStat *stat)
{
	unsigned	levels = pfs_visible_levels(c->scan->arena, PFS_FAMILY_STATEMENTS, epoch);

	if (class >= c->count || (scope == PFS_SCOPE_GLOBAL && c->level != PFS_LEVEL_GLOBAL) ||
		(levels & PFS_LEVEL_BIT(c->level)) == 0 || stat->timer.count == 0)
		return;
	if (c->of_class[class].timer.count == 0)
		c->classes[c->class_count++] = class;
	pfs_statement_stat_merge(&c->of_class[class], stat);
}

static void
begin_classes(PfsThreadSums *sums)
{
	Collector  *c = (Collector *) sums;

	for (uint32_t i = 0; i < c->class_count; i++)
		memset(&c->of_class[c->classes[i]], 0, sizeof(c->of_class[0]));
	c->class_count = 0;
}

static void
add_cell(PfsThreadSums *sums, const PfsDigestCell *cell)
{
	Collector  *c = (Collector *) sums;

	add_statements(c, pfs_digest_cell_scope(cell), pfs_digest_cell_class(c->scan->arena, cell), cell->head.epoch,
				   &cell->stat);
}

static void
add_record(PfsThreadSums *sums, const PfsStatementRecord *record)
{
	PfsStatementStat stat = {0};

	pfs_statement_stat_add_record(&stat, record);
	add_statements((Collector *) sums, (record->used & PFS_RECORD_GLOBAL) != 0 ? PFS_SCOPE_GLOBAL : PFS_SCOPE_THREAD,
				   record->class, record->epoch, &stat);
}

/* Answers of a class that are in no cell; what was read while a cell was written may be wrong. */
static PfsTimerStat
answers_of(const Collector *c, const PfsThread *thread, uint32_t number, int scope)
{
	PfsArena   *arena = c->scan->arena;
	PfsTimerStat sum = {0};

	for (uint32_t i = 0; i < PFS_ANSWERS; i++)
		if (pfs_answer_class(arena, i) == number && pfs_load(&thread->answered_scope) == (uint32_t) scope &&
			(pfs_visible_levels(arena, PFS_FAMILY_STATEMENTS, pfs_load(&thread->answered_epoch)) &
			 PFS_LEVEL_BIT(c->level)) != 0)
		{
			PfsTimerStat timed;

			if (pfs_read_under(arena, &thread->timed_answers.seq, &timed, &thread->timed_answers.stat[i],
							   sizeof(timed)))
				pfs_timer_stat_merge(&sum, &timed);
			sum.count += pfs_load(&thread->answered[i]);
		}
	return sum;
}

/* What has moved from cells of digests, and what is counted without a record: commands, answers. */
static void
add_moved_class(Collector *c, PfsThread *thread, PfsScope scope, uint32_t class)
{
	PfsArena   *arena = c->scan->arena;
	PfsAggregate *aggregate = pfs_thread_aggregate(arena, thread, scope);
	PfsStatementCell *cell = pfs_pool_at(pfs_pool_of(arena), pfs_load_acquire(&aggregate->cell[class]), sizeof(*cell));
	PfsStatementCell copy = {0};
	PfsStatementStat answers = {0};
	int			tries = 0;
	uint32_t	begin;

	if (cell == NULL)
		answers.timer = answers_of(c, thread, class, (int) scope);
	else
		do
		{
			begin = pfs_seq_read_begin(&cell->head.seq);
			answers.timer = answers_of(c, thread, class, (int) scope);
			if (!pfs_read_under(arena, &cell->head.seq, &copy, cell, sizeof(copy)))
				return;			/* left out */
		} while (!pfs_seq_read_ok(&cell->head.seq, begin) && pfs_try_read(++tries));
	if (pfs_load(&aggregate->cell[class]) == 0 && cell != NULL)
		return;					/* moved up meanwhile: the scan will start again */
	add_statements(c, scope, class, copy.head.epoch, &copy.stat);
	add_statements(c, scope, class, pfs_load(&thread->answered_epoch), &answers);
}

static void
add_moved(PfsThreadSums *sums, PfsThread *thread)
{
	Collector  *c = (Collector *) sums;
	PfsArena   *arena = c->scan->arena;

	for (PfsScope scope = 0; scope < PFS_SCOPES; scope++)
	{
		const PfsAggregate *aggregate = pfs_thread_aggregate(arena, thread, scope);

		for (uint32_t class = 0; class < c->count; class++)
		{
			bool		wanted = pfs_load(&aggregate->cell[class]) != 0;

			for (uint32_t i = 0; i < PFS_ANSWERS; i++)
				wanted |= pfs_answer_class(arena, i) == class;
			if (wanted)
				add_moved_class(c, thread, scope, class);
		}
	}
}

static void
collect_statements(Collector *c, PfsThread *thread, uint32_t owner)
{
	pfs_thread_sums(&c->sums, thread);
	for (uint32_t i = 0; i < c->class_count; i++)
		collect(c, owner, c->classes[i], PFS_FAMILY_STATEMENTS, &c->of_class[c->classes[i]]);
}

static void
collect_thread_cell(Collector *c, PfsThread *thread, int scope, uint32_t number, uint32_t owner)
{
	PfsAggregate *aggregate = pfs_thread_aggregate(c->scan->arena, thread, scope);
	PfsArena   *arena = c->scan->arena;
	union
	{
		PfsCell		head;
		PfsErrorCell error;
		PfsWaitCell wait;
		PfsIoCell	io;
	}			copy;
	PfsFamily	family = pfs_cell_family(arena, number);
	size_t		bytes = sizeof(PfsCell) + pfs_stat_bytes(family);
	void	   *cell = pfs_pool_at(pfs_pool_of(arena), pfs_load_acquire(&aggregate->cell[number]), bytes);

	uint32_t	reset;
	PfsIoStat	unsummed;
	bool		more;
	uint32_t	begin;
	int			tries = 0;

	if (cell == NULL || !is_of_subject(c, family))
		return;					/* left out */
	reset = pfs_load(&arena->reset_at[family][c->level]);
	do
	{
		if (!pfs_try_read(tries++))
		{
			pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
			return;
		}
		begin = pfs_seq_read_begin(&thread->seq);
		pfs_copy_words(&copy, cell, bytes);
		more = scope == PFS_SCOPE_THREAD && number >= pfs_wait_cell_number(arena, 0) &&
			pfs_calls_unsummed(arena, thread, number - pfs_wait_cell_number(arena, 0), reset, &unsummed);
	} while (!pfs_seq_read_ok(&thread->seq, begin));
	if (pfs_load(&aggregate->cell[number]) == 0)
		return;					/* moved up meanwhile: the scan will start again */
	if (copy.head.epoch >= reset)
		collect(c, owner, number, family, &copy.head + 1);
	if (more && family == PFS_FAMILY_SOCKETS)
		collect(c, owner, number, family, &unsummed);
	else if (more && family == PFS_FAMILY_WAITS)
		collect(c, owner, number, family, &unsummed.part[PFS_IO_MISC]);
}

/* Cells of transactions, by scope. */
typedef struct TransactionCells
{
	struct
	{
		PfsCell		head;
		PfsTransactionStat stat;
	}			of[PFS_SCOPES];
} TransactionCells;

_Static_assert(offsetof(PfsAggregate, transaction) == sizeof(PfsCell), "read as a cell");

static void
add_transactions(Collector *c, uint32_t owner, PfsScope scope, uint32_t epoch, const PfsTransactionStat *stat)
{
	if ((scope == PFS_SCOPE_THREAD || c->level == PFS_LEVEL_GLOBAL) &&
		(pfs_visible_levels(c->scan->arena, PFS_FAMILY_TRANSACTIONS, epoch) & PFS_LEVEL_BIT(c->level)) != 0)
		collect(c, owner, 0, PFS_FAMILY_TRANSACTIONS, stat);
}

static void
collect_transactions(Collector *c, PfsThread *thread, uint32_t owner)
{
	PfsScan    *scan = c->scan;
	TransactionCells cells;
	uint32_t	begin;
	int			tries = 0;

	do
	{
		if (!pfs_try_read(tries++))
		{
			pfs_lose(scan->arena, PFS_LOSS_UNSTABLE_READS);
			return;				/* left out */
		}
		begin = pfs_seq_read_begin(&thread->seq);
		for (PfsScope scope = 0; scope < PFS_SCOPES; scope++)
			pfs_copy_words(&cells.of[scope], pfs_thread_aggregate(scan->arena, thread, scope), sizeof(cells.of[scope]));
	} while (!pfs_seq_read_ok(&thread->seq, begin));
	for (PfsScope scope = 0; scope < PFS_SCOPES; scope++)
		add_transactions(c, owner, scope, cells.of[scope].head.epoch, &cells.of[scope].stat);
}

static void
collect_threads(Collector *c)
{
	PfsArena   *arena = c->scan->arena;

	PFS_EACH_THREAD(arena, thread, slot)
	{
		uint32_t	owner = c->level == PFS_LEVEL_THREAD ? slot
			: owner_of_account(c, pfs_load(&thread->account_row));
		int			scopes = c->level == PFS_LEVEL_GLOBAL ? PFS_SCOPES : 1;

		if (owner >= c->owners)
			continue;
		if (c->level == PFS_LEVEL_THREAD)
			c->thread_id[slot] = pfs_load(&thread->thread_id);
		if (c->subject == SUBJECT_STATEMENTS)
		{
			collect_statements(c, thread, owner);
			continue;
		}
		if (c->subject == SUBJECT_TRANSACTIONS)
		{
			collect_transactions(c, thread, owner);
			continue;
		}
		for (int scope = 0; scope < scopes; scope++)
		{
			PfsAggregate *aggregate = pfs_thread_aggregate(arena, thread, scope);

			for (uint32_t number = c->first; number < c->first + c->count; number++)
				if (pfs_load(&aggregate->cell[number]) != 0)
					collect_thread_cell(c, thread, scope, number, owner);
		}
	}
}

static void
collect_party(Collector *c, PfsParty *party, uint32_t owner)
{
	PfsArena   *arena = c->scan->arena;

	if (owner >= c->owners)
		return;
	if (c->subject == SUBJECT_TRANSACTIONS)
	{
		collect(c, owner, 0, PFS_FAMILY_TRANSACTIONS, &party->aggregate.transaction);
		return;
	}
	for (uint32_t number = c->first; number < c->first + c->count; number++)
	{
		PfsRef		ref = pfs_load_acquire(&party->aggregate.cell[number]);
		PfsFamily	family = pfs_cell_family(arena, number);
		PfsCell    *cell = pfs_pool_at(pfs_pool_of(arena), ref,
									   sizeof(PfsCell) + pfs_stat_bytes(family));

		if (cell != NULL && is_of_subject(c, family))
			collect(c, owner, number, family, cell + 1);
	}
}

static void
collect_parties(Collector *c, PfsOff table, uint32_t rows, bool are_accounts)
{
	for (uint32_t row = 0; row < rows; row++)
	{
		PfsParty   *party = pfs_party(c->scan->arena, table, row);
		uint32_t	owner = are_accounts ? owner_of_account(c, row + 1)
			: c->level == PFS_LEVEL_GLOBAL ? 0 : row;

		if (pfs_load_acquire(&party->used) != 0 || table == c->scan->arena->global)
			collect_party(c, party, owner);
	}
}

static void
collect_once(Collector *c)
{
	PfsArena   *arena = c->scan->arena;

	collect_threads(c);
	if (c->level == PFS_LEVEL_THREAD)
		return;
	collect_parties(c, arena->accounts, arena->sizes.accounts, true);
	if (c->level == PFS_LEVEL_USER)
		collect_parties(c, arena->users, arena->sizes.users, false);
	if (c->level == PFS_LEVEL_HOST || c->level == PFS_LEVEL_GLOBAL)
		collect_parties(c, arena->hosts, arena->sizes.hosts, false);
	if (c->level == PFS_LEVEL_GLOBAL)
		collect_parties(c, arena->global, 1, false);
}

/* Starts again when something moved between levels, so that nothing counts twice or not at all. */
static void
collect_all(Collector *c)
{
	PfsArena   *arena = c->scan->arena;
	size_t		places = (size_t) c->owners * c->count;

	for (int i = 0; i < MOVE_RETRIES; i++)
	{
		uint64_t	done = pfs_load_acquire(&arena->moves_done);
		uint64_t	begun = pfs_load_acquire(&arena->moves_begun);

		for (size_t p = 0; i > 0 && p < places; p++)
			if (c->stat[p] != NULL)
				memset(c->stat[p], 0, subjects[c->subject].row_bytes);
		collect_once(c);
		pfs_fence();
		if (begun == done && pfs_load(&arena->moves_begun) == begun)
			return;
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
}

/* --- emitting --- */

static bool
is_empty(const Collector *c, const void *stat)
{
	const PfsTransactionStat *transaction = stat;
	const PfsErrorStat *error = stat;

	switch (c->subject)
	{
		case SUBJECT_TRANSACTIONS:
			return transaction->read_write.count + transaction->read_only.count == 0;
		case SUBJECT_ERRORS:
			return error->raised + error->handled == 0;
		case SUBJECT_FILES:
		case SUBJECT_SOCKETS:
			return pfs_io_stat_total(stat).count == 0;
		default:				/* the count comes first */
			return ((const PfsTimerStat *) stat)->count == 0;
	}
}

/* Name of a row that is no error; none: the cell is of another subject. */
static PfsText
event_name(const Collector *c, uint32_t number)
{
	PfsArena   *arena = c->scan->arena;
	PfsInstrument *instrument;

	if (c->subject == SUBJECT_TRANSACTIONS)
		return pfs_text_of_string("transaction");
	if (c->subject == SUBJECT_STATEMENTS)
		return PFS_TEXT_OF(pfs_statement_instrument(arena, number)->name);
	instrument = pfs_wait_instrument(arena, number - pfs_wait_cell_number(arena, 0));
	return is_of_subject(c, pfs_wait_family(instrument->kind)) ? PFS_TEXT_OF(instrument->name)
		: pfs_text_of_string(NULL);
}

/* Table I/O is no call: it is timed where rows are counted. */
static bool
is_sampled(const PfsArena *arena, uint32_t number)
{
	return pfs_load(&arena->waits_sampled) &&
		number - pfs_wait_cell_number(arena, 0) != pfs_load(&arena->table_wait);
}

static void
emit_row(Collector *c, const void *owner_key, uint32_t number, const void *stat)
{
	const void *parts[PFS_TABLE_GROUPS];
	int			n = 0;
	NameKey		name;
	ErrorKey	error;
	TransactionRow transaction = {0};
	WaitRow		wait;
	PfsIoRow	io;

	/* accounts have two groups over the same key, users and hosts one, global none */
	if (c->level == PFS_LEVEL_ACCOUNT)
		parts[n++] = owner_key;
	if (c->level != PFS_LEVEL_GLOBAL)
		parts[n++] = owner_key;
	if (c->subject == SUBJECT_ERRORS)
	{
		const PfsHostError *row = &pfs_host_errors[number - c->first];

		error.number = row->packed;
		error.name = pfs_text_of_string(row->name);
		error.sqlstate = pfs_text_of_string(row->sqlstate);
		parts[n++] = &error;
	}
	else
	{
		name.name = event_name(c, number);
		if (name.name.data == NULL || !pfs_scan_wants_text(c->scan, "event_name", name.name))
			return;
		parts[n++] = &name;
	}
	if (c->subject == SUBJECT_TRANSACTIONS)
	{
		memcpy(&transaction.stat, stat, sizeof(transaction.stat));
		pfs_timer_stat_merge(&transaction.all, &transaction.stat.read_write);
		pfs_timer_stat_merge(&transaction.all, &transaction.stat.read_only);
		stat = &transaction;
	}
	else if (c->subject == SUBJECT_WAITS)
	{
		memcpy(&wait.all, stat, sizeof(wait.all));
		wait.source = pfs_text_of_string(is_sampled(c->scan->arena, number) ? "SAMPLED" : "TIMED");
		stat = &wait;
	}
	else if (c->subject == SUBJECT_FILES || c->subject == SUBJECT_SOCKETS)
	{
		memcpy(&io.stat, stat, sizeof(io.stat));
		io.all = pfs_io_stat_total(stat);
		stat = &io;
	}
	parts[n++] = stat;
	c->scan->emit(c->scan, parts);
}

/* Key of an owner; false when its rows are not to be shown. */
static bool
owner_key(const Collector *c, uint32_t owner, ThreadKey *thread_key, PartyKey *party_key)
{
	PfsArena   *arena = c->scan->arena;
	const PfsParty *party;
	uint64_t	wanted;

	if (c->level == PFS_LEVEL_GLOBAL)
		return true;
	if (c->level == PFS_LEVEL_THREAD)
	{
		PfsThread  *thread = pfs_thread(arena, owner);

		thread_key->thread_id = c->thread_id[owner];
		return pfs_load(&thread->owner) != 0 &&
			pfs_scan_sees_user(c->scan, pfs_load(&thread->user)) &&
			pfs_load(&thread->thread_id) == thread_key->thread_id &&
			(!pfs_scan_number(c->scan, "thread_id", &wanted) || wanted == thread_key->thread_id);
	}
	party = pfs_party(arena, c->level == PFS_LEVEL_ACCOUNT ? arena->accounts
					  : c->level == PFS_LEVEL_USER ? arena->users : arena->hosts, owner);
	party_key->user = pfs_text_of_name(arena, pfs_load(&party->user));
	party_key->host = pfs_text_of_name(arena, pfs_load(&party->host));
	return pfs_load(&party->used) != 0;
}

static uint32_t
owner_count(const PfsArena *arena, PfsLevel level)
{
	const uint32_t counts[PFS_LEVELS] = {arena->sizes.threads, arena->sizes.accounts,
		arena->sizes.users, arena->sizes.hosts, 1};

	return counts[level];
}

/* Cell numbers of a subject. */
static void
set_numbers(Collector *c)
{
	const PfsArena *arena = c->scan->arena;

	switch (c->subject)
	{
		case SUBJECT_STATEMENTS:
			c->count = pfs_statement_class_count(arena);
			break;
		case SUBJECT_TRANSACTIONS:
			c->count = 1;
			break;
		case SUBJECT_ERRORS:
			c->first = pfs_error_cell_number(arena, 0);
			c->count = arena->sizes.errors;
			break;
		default:
			c->first = pfs_wait_cell_number(arena, 0);
			c->count = pfs_wait_count(arena);
			break;
	}
}

static void
summary_scan(PfsScan *scan)
{
	PfsArena   *arena = scan->arena;
	PfsStatementStat none = {0};	/* the largest */
	Collector	c = {.scan = scan};

	c.subject = scan->table->argument / PFS_LEVELS;
	c.level = scan->table->argument % PFS_LEVELS;
	c.owners = owner_count(arena, c.level);
	set_numbers(&c);
	c.stat = scan->alloc(scan, (size_t) c.owners * c.count * sizeof(void *));
	c.thread_id = scan->alloc(scan, arena->sizes.threads * sizeof(uint64_t));
	if (c.subject == SUBJECT_STATEMENTS)
	{
		c.sums = (PfsThreadSums)
		{
			.scan = scan,.begin = begin_classes,.add_cell = add_cell,.add_record = add_record,
				.add_moved = add_moved
		};
		c.of_class = scan->alloc(scan, c.count * sizeof(*c.of_class));
		c.classes = scan->alloc(scan, c.count * sizeof(*c.classes));
	}
	collect_all(&c);
	for (uint32_t owner = 0; owner < c.owners; owner++)
	{
		ThreadKey	thread;
		PartyKey	party;

		if (!owner_key(&c, owner, &thread, &party))
			continue;
		for (uint32_t i = 0; i < c.count; i++)
		{
			const void *stat = c.stat[(size_t) owner * c.count + i];

			if (stat == NULL || is_empty(&c, stat))
			{
				/* only global lists what never happened */
				if (c.level != PFS_LEVEL_GLOBAL || c.subject == SUBJECT_ERRORS)
					continue;
				stat = &none;
			}
			emit_row(&c, c.level == PFS_LEVEL_THREAD ? (const void *) &thread : &party, c.first + i,
					 stat);
		}
	}
}

static bool
summary_reset(PfsArena *arena, const PfsTable *table)
{
	Subject		subject = table->argument / PFS_LEVELS;
	PfsLevel	level = table->argument % PFS_LEVELS;

	if (!pfs_reset_level(arena, subjects[subject].families, level))
		return false;
	/* as in MySQL, global summaries take with them what belongs to no thread */
	if (level != PFS_LEVEL_GLOBAL)
		return true;
	if (subject == SUBJECT_STATEMENTS)
		return pfs_reset_events(arena, PFS_RESET_HISTOGRAM_GLOBAL);
	if (subject == SUBJECT_FILES)
		return pfs_reset_events(arena, PFS_RESET_FILES);
	if (subject == SUBJECT_SOCKETS)
		return pfs_reset_events(arena, PFS_RESET_SOCKETS);
	return true;
}

/* --- the tables --- */

#define KEYS_THREAD &thread_key,
#define KEYS_ACCOUNT &user_key, &host_key,
#define KEYS_USER &user_key,
#define KEYS_HOST &host_key,
#define KEYS_GLOBAL

#define SUMMARY(suffix, what, level, subject, key_group, stat_group) \
const PfsTable pfs_table_##suffix = { \
	.name = #suffix, .doc = what, .groups = {KEYS_##level &key_group, &stat_group}, \
	.argument = SUBJECT_##subject * PFS_LEVELS + PFS_LEVEL_##level, \
	.scan = summary_scan, .reset = summary_reset}

#define BY_NAME(events, subject, stat_group) \
SUMMARY(events_##events##_summary_by_thread_by_event_name, \
		"Sums of " #events " per thread and event name; only what happened", THREAD, subject, \
		name_group, stat_group); \
SUMMARY(events_##events##_summary_by_account_by_event_name, \
		"Sums of " #events " per account (user and host) and event name", ACCOUNT, subject, \
		name_group, stat_group); \
SUMMARY(events_##events##_summary_by_user_by_event_name, \
		"Sums of " #events " per user and event name", USER, subject, name_group, stat_group); \
SUMMARY(events_##events##_summary_by_host_by_event_name, \
		"Sums of " #events " per client host and event name", HOST, subject, name_group, stat_group); \
SUMMARY(events_##events##_summary_global_by_event_name, \
		"Sums of " #events " per event name, all instruments", GLOBAL, subject, name_group, stat_group)

BY_NAME(statements, STATEMENTS, pfs_statement_stat_group);
BY_NAME(transactions, TRANSACTIONS, transaction_group);
BY_NAME(waits, WAITS, wait_group);
SUMMARY(file_summary_by_event_name,
		"File I/O per event name; TRUNCATE empties file_summary_by_instance too", GLOBAL, FILES,
		name_group, pfs_io_group);
SUMMARY(socket_summary_by_event_name,
		"Socket I/O per event name; TRUNCATE empties socket_summary_by_instance too", GLOBAL, SOCKETS,
		name_group, pfs_io_group);

#define BY_ERROR(level_word, level, what) \
SUMMARY(events_errors_summary_##level_word##_by_error, what, level, ERRORS, error_key_group, \
		error_group)

BY_ERROR(by_thread, THREAD, "Errors per thread and SQLSTATE");
BY_ERROR(by_account, ACCOUNT, "Errors per account (user and host) and SQLSTATE");
BY_ERROR(by_user, USER, "Errors per user and SQLSTATE");
BY_ERROR(by_host, HOST, "Errors per client host and SQLSTATE");
BY_ERROR(global, GLOBAL, "Errors per SQLSTATE");
