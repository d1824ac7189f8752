/*
 * pg_wait_sampler.c
 *		Where libc calls are not timed: a background worker looks at everybody's wait events.
 *
 * What a look finds has lasted since the look before.  Successive looks that find a process in the
 * same event, and no further in its work, are one event: a run.  So COUNT_STAR is the number of
 * events that were met; sums are right in the long run; MIN and MAX mean something for events that
 * last several periods.  Events shorter than the period are met now and then, and then count for a
 * whole one: the others go unseen in exchange.
 *
 * Nobody but its process writes a thread's cells, so runs are collected here, and every second added
 * to the accounts and what is above them, as a process that ends does.  Processes without a thread
 * count for global only.  A TRUNCATE cuts runs: what goes on is another event.
 */
#include "postgres.h"

#include "core/clock.h"
#include "core/rollup.h"
#include "core/setup.h"
#include "core/timer.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_guc.h"
#include "pg/pg_instruments.h"
#include "pg/pg_wait.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/wait_event.h"

#define NAME "performance_schema wait sampler"
#define RESTART_SECONDS 2
#define PERIOD_WHILE_OFF_MS 100
#define SETTLE_MS 1000			/* or after so many looks, if that is sooner */
#define SETTLE_LOOKS 100
#define CLASSIFY_MS 100			/* while there are processes that were met for the first time */

/* Whose wait for what. */
typedef struct Subject
{
	uint32		wait;
	uint32		account_row;	/* + 1; 0 = global only */
	PfsRef		user;			/* of the account, as TRUNCATE may give its row to another */
	PfsRef		host;
} Subject;

typedef struct Sum
{
	Subject		subject;
	PfsTimerStat stat;
} Sum;

/* What a look finds; compared as bytes. */
typedef struct Sight
{
	Subject		subject;
	uint32		pid;			/* 0 = nothing */
	uint32		spare;
	uint64		position;		/* in the process's work */
} Sight;

typedef struct Run
{
	Sight		sight;
	PfsTicks	length;			/* so far; 0 = not timed */
	PfsTicks	rest;			/* of it, what is not in the sums yet */
	bool		counted;
} Run;

#define CLASS_UNKNOWN UINT32_MAX	/* to be asked for */
#define CLASS_NONE (UINT32_MAX - 1)	/* asked: it has gone, or is not known yet */

/* What a process without a thread is. */
typedef struct Background
{
	uint32		pid;
	uint32		class;			/* thread class */
} Background;

bool		pfs_pg_waits_sampled = false;

/* Owner: the worker. */
static Run *runs;				/* [process number] */
static Background *backgrounds; /* the same */
static uint32 processes;
static HTAB *sums;				/* runs since the last settling */
static uint32 epoch;			/* reset counter when they began */
static PfsTicks last_look = 0;	/* 0 = the next one only begins */
static PfsTicks last_settled;
static PfsTicks last_classified = 0;
static bool is_somebody_unknown = false;
static bool was_background_met = false;

/* --- processes without a thread --- */

/* Asks the server; processes that end, and numbers that change hands, make this necessary again. */
static void
classify(PfsTicks now)
{
	int			rows = pgstat_fetch_stat_numbackends();

	for (uint32 i = 0; i < processes; i++)
	{
		const char *worker = backgrounds[i].pid == 0 ? NULL
			: GetBackgroundWorkerTypeByPid((pid_t) backgrounds[i].pid);

		backgrounds[i].class = worker != NULL ? pfs_pg_thread_class_of(B_BG_WORKER, worker) : CLASS_NONE;
	}
	for (int row = 1; row <= rows; row++)
	{
		const PgBackendStatus *status = &pfs_pg_status_row(row)->backendStatus;

		for (uint32 i = 0; i < processes; i++)
			if (backgrounds[i].class == CLASS_NONE && backgrounds[i].pid == (uint32) status->st_procpid)
				backgrounds[i].class = pfs_pg_thread_class_of(status->st_backendType, "");
	}
	pgstat_clear_backend_activity_snapshot();
	last_classified = now;
	is_somebody_unknown = was_background_met = false;
}

/* Clients have a thread as soon as they are authenticated; until then they are nobody, as when timed. */
static bool
is_background(uint32 number, uint32 pid)
{
	Background *background = &backgrounds[number];
	const PfsThreadClass *class;

	was_background_met = true;
	if (background->pid != pid)
		*background = (Background) {pid, CLASS_UNKNOWN};
	if (background->class == CLASS_UNKNOWN)
		is_somebody_unknown = true;
	if (background->class >= pfs_thread_class_count(pfs_arena))
		return false;
	class = pfs_thread_class(pfs_arena, background->class);
	return !class->foreground && pfs_load(&class->enabled);
}

/* --- a look --- */

/* Finds out what a process waits for; false: nothing, or nothing that is wanted. */
static bool
see(uint32 number, Sight *sight)
{
	const volatile PGPROC *proc = &ProcGlobal->allProcs[number];
	PfsThread  *thread = pfs_thread(pfs_arena, number);
	uint32		code = proc->wait_event_info;
	uint32		pid = (uint32) proc->pid;
	bool		has_thread;

	memset(sight, 0, sizeof(*sight));
	if (code == 0 || pid == 0)
		return false;
	has_thread = pfs_load_acquire(&thread->owner) == pid;
	if (has_thread && !pfs_load(&thread->instrumented))
		return false;
	if (has_thread && code == WAIT_EVENT_CLIENT_READ && pfs_load(&thread->state) != PFS_THREAD_ACTIVE)
		sight->subject.wait = PFS_PG_WAIT_IDLE;
	else
	{
		sight->subject.wait = pfs_pg_wait_of_code(code);
		pfs_pg_name_waits();
	}
	if (sight->subject.wait == UINT32_MAX ||
		!pfs_load(&pfs_wait_instrument(pfs_arena, sight->subject.wait)->enabled) ||
		(!has_thread && !is_background(number, pid)))
		return false;
	sight->pid = pid;
	if (!has_thread)
		return true;
	sight->position = pfs_load(&thread->event_id) + pfs_load(&thread->state_since);
	if ((pfs_load(&pfs_arena->gate) & PFS_WANTS(THREAD)) != 0)
	{
		sight->subject.account_row = pfs_load(&thread->account_row);
		sight->subject.user = pfs_load(&thread->user);
		sight->subject.host = pfs_load(&thread->host);
	}
	return true;
}

/* Brings a run into the sums.  A minimum is known only when it is over. */
static void
add(Run *run, bool over)
{
	bool		found;
	Sum		   *sum;

	if (run->sight.pid == 0)
		return;
	sum = hash_search(sums, &run->sight.subject, HASH_ENTER, &found);
	if (!found)
		memset(&sum->stat, 0, sizeof(sum->stat));
	sum->stat.count += !run->counted;
	sum->stat.sum += run->rest;
	sum->stat.max = Max(sum->stat.max, run->length);
	if (over && run->length != 0)
		sum->stat.min_inverted = Max(sum->stat.min_inverted, UINT64_MAX - run->length);
	run->counted = true;
	run->rest = 0;
	if (over)
		run->sight.pid = 0;
}

static void
look_at_all(PfsTicks elapsed)
{
	for (uint32 i = 0; i < processes; i++)
	{
		Run		   *run = &runs[i];
		Sight		sight;

		if (i == pfs_pg_process_number())
			continue;
		if (!see(i, &sight))
		{
			add(run, true);
			continue;
		}
		if (memcmp(&run->sight, &sight, sizeof(sight)) != 0)
		{
			add(run, true);
			*run = (Run) {.sight = sight};
		}
		if (pfs_load(&pfs_wait_instrument(pfs_arena, sight.subject.wait)->timed))
		{
			run->length += elapsed;
			run->rest += elapsed;
		}
	}
}

/* --- into the arena --- */

/* Has a TRUNCATE emptied what the sums are for?  One of any level empties accounts too. */
static bool
was_truncated(void)
{
	return pfs_load(&pfs_arena->reset_at[PFS_FAMILY_WAITS][PFS_LEVEL_ACCOUNT]) > epoch ||
		pfs_load(&pfs_arena->reset_at[PFS_FAMILY_FILES][PFS_LEVEL_ACCOUNT]) > epoch ||
		pfs_load(&pfs_arena->reset_at[PFS_FAMILY_SOCKETS][PFS_LEVEL_ACCOUNT]) > epoch;
}

static uint32
account_of(const Subject *subject)
{
	uint32		row = subject->account_row;
	const PfsParty *account = pfs_account_of_link(pfs_arena, row);

	if (account == NULL)
		return 0;
	return account->used && account->user == subject->user && account->host == subject->host ? row : 0;
}

/* Hands over what was collected; false: the lock is busy, try again at the next look. */
static bool
settle(bool patient)
{
	HASH_SEQ_STATUS all;
	Sum		   *sum;
	bool		truncated;

	for (uint32 i = 0; i < processes; i++)
		if (!runs[i].counted || runs[i].rest != 0)
			add(&runs[i], false);
	if (hash_get_num_entries(sums) == 0 && !was_truncated())
		return true;
	if (!pfs_rollup_lock(pfs_arena, patient))
		return false;
	hash_seq_init(&all, sums);
	while ((sum = hash_seq_search(&all)) != NULL)
	{
		pfs_rollup_add_wait(pfs_arena, account_of(&sum->subject), sum->subject.wait, &sum->stat, epoch);
		hash_search(sums, &sum->subject, HASH_REMOVE, NULL);
	}
	truncated = was_truncated();
	epoch = pfs_load(&pfs_arena->reset_now);	/* only the holder of the lock changes it */
	pfs_rollup_unlock(pfs_arena);
	if (truncated)
	{
		memset(runs, 0, processes * sizeof(Run));
		last_look = 0;
	}
	return true;
}

static bool
is_due(PfsTicks last, PfsTicks now, uint64 milliseconds)
{
	return now - last > pfs_ns_to_ticks(milliseconds * 1000000);
}

static void
look(void)
{
	PfsTicks	now = pfs_now();
	PfsTicks	elapsed = now > last_look ? now - last_look : 0;
	uint64		settle_ms = Min(SETTLE_MS, SETTLE_LOOKS * (uint64) pfs_guc_wait_sample_period);

	pfs_clock_look(pfs_arena, now);
	if ((was_truncated() || is_due(last_settled, now, settle_ms)) && settle(false))
		last_settled = now;
	if (was_truncated())
		return;					/* what is found now must not be mixed with what was before */
	if (was_background_met &&
		is_due(last_classified, now, is_somebody_unknown ? CLASSIFY_MS : SETTLE_MS))
		classify(now);
	if ((pfs_load(&pfs_arena->gate) & PFS_GATE_CALLS) == 0)
	{
		for (uint32 i = 0; i < processes; i++)
			add(&runs[i], true);
		last_look = 0;
		return;
	}
	if (last_look != 0)
		look_at_all(elapsed);
	last_look = now;
}

/* --- the worker --- */

extern PGDLLEXPORT void pfs_wait_sampler_main(Datum argument);

static void
prepare(void)
{
	HASHCTL		control = {.keysize = sizeof(Subject),.entrysize = sizeof(Sum)};

	processes = Min(ProcGlobal->allProcCount, pfs_arena->sizes.threads);
	runs = MemoryContextAllocZero(TopMemoryContext, processes * sizeof(Run));
	backgrounds = MemoryContextAllocZero(TopMemoryContext, processes * sizeof(Background));
	sums = hash_create(NAME, 256, &control, HASH_ELEM | HASH_BLOBS);
	epoch = pfs_load_acquire(&pfs_arena->reset_now);
	last_settled = pfs_now();
}

void
pfs_wait_sampler_main(Datum argument)
{
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	prepare();
	while (!ShutdownRequestPending)
	{
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
				  last_look != 0 ? pfs_guc_wait_sample_period : PERIOD_WHILE_OFF_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		look();
	}
	settle(true);
	proc_exit(1);				/* 0 would mean: not to be started again */
}

/* Once in the postmaster; a worker for which max_worker_processes has no room is logged by the server. */
void
pfs_pg_sampler_install(void)
{
	BackgroundWorker worker = {
		.bgw_name = NAME,.bgw_type = NAME,
		.bgw_flags = BGWORKER_SHMEM_ACCESS,
		.bgw_start_time = BgWorkerStart_PostmasterStart,	/* recovery waits too */
		.bgw_restart_time = RESTART_SECONDS,
		.bgw_library_name = "performance_schema",
		.bgw_function_name = "pfs_wait_sampler_main",
	};

	pfs_pg_waits_sampled = true;
	RegisterBackgroundWorker(&worker);
}
