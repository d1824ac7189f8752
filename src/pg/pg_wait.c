/*
 * pg_wait.c
 *		Observer of the libc calls: which wait of the server a call is, and when it is over.
 *
 * The server stores the code of a wait event before it blocks and clears it afterwards; a call that
 * is made meanwhile is that wait.  A call without an event is an operation on its file or socket.
 * One call is one event, with three exceptions that last over several calls: the wait for a
 * heavyweight lock, that for an LWLock, and the time a session is idle.
 *
 * These functions run inside any call of the server, also in signal handlers.  Only one call is
 * observed at a time; one that comes while another is under way is not recorded.
 */
#include "pg/pg_port.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "miscadmin.h"
#include "core/wait_end.h"
#include "pg/pg_arena.h"
#include "pg/pg_command.h"
#include "pg/pg_compat.h"
#include "pg/pg_guc.h"
#include "pg/pg_hooks.h"
#include "pg/pg_wait.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* A wait that may last over several calls. */
typedef struct LongWait
{
	PfsTicks	last;			/* end of its latest call; 0 = not timed */
	bool		open;
	PfsWait		wait;
} LongWait;

/* Owner: this process. */
static const uint32_t no_event = 0;

typedef ssize_t (*ClientCall) (int fd, void *data, size_t size, int flags);

/* What is looked at with each call on the client's socket that is observed: one line of memory, by most. */
static PFS_HOT_DATA struct
{
	PFS_ALIGNED uint64_t *counted;		/* its thread's counters of calls, NULL until there is room for them */
	const volatile uint32_t *event;	/* while it has a thread: where the server stores the code of what it waits for */
	LongWait	idle;
}			calls = {
	.event = &no_event,
	.idle = {.wait = {.operation = PFS_OPERATION_IDLE,.object = {.type = PFS_WAIT_OBJECT_SOCKET}}}
};
static PfsWait call_wait;		/* the wait of a call, if it is an event of its own */
static LongWait lock_wait;
static LongWait lwlock_wait;
static bool missed_files = false;	/* something was opened or closed unseen */

/*
 * Ends of LWLock waits that are not accounted for yet: the lock is not held yet at that moment, and
 * the sooner it is the better.
 */
static struct
{
	uint32		wait;
	PfsTicks	start;
	PfsTicks	end;
}			put_off[16];
static int	put_off_count = 0;

/* Unsettled is it if one of these is left, or lock_wait is open. */
PFS_HOT_LINE(waiting) PFS_ALIGNED PfsPgWaiting pfs_pg_waiting = {.idle_begins = {.waits = true}};

#define NO_CLIENT (-2)			/* no call has this descriptor: -1 is none */

/*
 * Sends and receives on the client's socket that do not wait are most of all calls, and so is the wait for his next
 * command.  What they need is known after the first one, until a switch changes.
 */
static PFS_HOT_DATA PfsSocketKnown client = {.fd = NO_CLIENT,.counted_fd = NO_CLIENT};

/* What begin has found out, for end. */
typedef enum Meaning
{
	MEANS_EVENT,				/* call_wait */
	MEANS_LOCK,
	MEANS_LWLOCK,
	MEANS_IDLE,
	MEANS_NOTHING				/* only its effect on descriptors matters */
} Meaning;

/* Bits of the gate for which the client's data is told. */
#define RECEIVED (PFS_GATE_ANY | PFS_GATE_CALLS)

static const uint32_t asked_always = PFS_GATE_CALLS;	/* until a process has a thread */
static const uint32_t asked_never = 0;

static inline bool
is_wanted(uint32 wait)
{
	return wait != UINT32_MAX && pfs_wait_enabled(&pfs_session, wait);
}

/* --- waits that last over several calls --- */

static void
begin_long(LongWait *what, uint32 wait, PfsOperation operation)
{
	what->wait = (PfsWait) {.wait = wait,.operation = (uint8) operation,.object = what->wait.object};
	pfs_wait_begin(&pfs_session, &what->wait, 0);
	what->last = what->wait.start;
	what->open = true;
}

static void
touch_long(LongWait *what)
{
	what->last = what->wait.start != 0 ? pfs_now() : 0;
}

static void
end_long(LongWait *what)
{
	what->open = false;
	pfs_wait_end(&pfs_session, &what->wait, what->last, -1);
}

/* The lock has been granted, or its wait given up. */
static void
end_lock(void)
{
	bool		granted = MyProc->waitStatus == PROC_WAIT_STATUS_OK;

	end_long(&lock_wait);
	pfs_pg_lock_end(&lock_wait.wait.object, lock_wait.wait.start, lock_wait.last, granted);
}

static inline bool
waits_for_lock(void)
{
	return MyProc->waitStatus == PROC_WAIT_STATUS_WAITING;
}

void
pfs_pg_wait_settle_all(void)
{
	for (int i = 0; i < put_off_count; i++)
	{
		PfsWait		wait = {.wait = put_off[i].wait,.start = put_off[i].start,
			.kind = PFS_WAIT_LWLOCK};

		pfs_wait_end(&pfs_session, &wait, put_off[i].end, -1);
	}
	put_off_count = 0;
	if (pfs_unlikely(lock_wait.open) && !waits_for_lock())
		end_lock();
	pfs_session.unsettled = lock_wait.open;
}

/* An LWLock wait is over: with rows shown it ends at once, else it is only noted. */
static void
end_lwlock(void)
{
	if (lwlock_wait.wait.level != 0)
	{
		end_long(&lwlock_wait);
		return;
	}
	lwlock_wait.open = false;
	if (put_off_count == lengthof(put_off))
		pfs_pg_wait_settle();
	put_off[put_off_count].wait = lwlock_wait.wait.wait;
	put_off[put_off_count].start = lwlock_wait.wait.start;
	put_off[put_off_count].end = lwlock_wait.last;
	put_off_count++;
	pfs_session.unsettled = true;
}

/* --- begin --- */

static bool
begin_lock(uint32 wait)
{
	if (!lock_wait.open)
	{
		/* the lock manager's queue is joined before the first call, so the lock is known */
		if (!waits_for_lock() || !pfs_pg_lock_object(&lock_wait.wait.object))
			return false;
		begin_long(&lock_wait, wait, PFS_OPERATION_SEMAPHORE);
		pfs_session.unsettled = true;
		pfs_pg_lock_begin(&lock_wait.wait.object, lock_wait.wait.start);
	}
	return true;
}

/* The session waits for its client's next command: so most waits that last over several calls begin. */
static inline bool
begin_idle(void)
{
	const PfsWaitHot *hot;

	if (pfs_unlikely(pfs_pg_waiting.idle_open))
		return true;
	hot = pfs_wait_hot(&pfs_session, PFS_PG_WAIT_IDLE);
	if (pfs_unlikely(!hot->enabled))
		return false;
	pfs_wait_begin_hot(&pfs_session, &calls.idle.wait, hot, 0);
	calls.idle.last = calls.idle.wait.start;
	pfs_pg_waiting.idle_open = true;
	return true;
}

/* What else a call means, whatever the server waits for. */
#define EFFECT_OPENS 0x01		/* the result is a new descriptor of the path */
#define EFFECT_CLOSES 0x02		/* the descriptor */
#define EFFECT_FORGETS 0x04		/* the path is no name of a file any more */
#define EFFECT_ON_FILES (EFFECT_OPENS | EFFECT_CLOSES | EFFECT_FORGETS)
#define EFFECT_ON_IDLE 0x08		/* may bring the client's next command */
#define EFFECT_ON_LATCH 0x10	/* may only empty a latch's descriptor */

/* Of each call: its effects, and what its type says. */
typedef struct CallFacts
{
	uint8		effects;
	uint8		operation;		/* PfsOperation */
	bool		bytes;			/* its result counts bytes */
} CallFacts;

static CallFacts call_facts[PFS_CALLS];

/* fopen and opendir keep their descriptors to themselves. */
static bool
gives_descriptor(const char *symbol)
{
	return strncmp(symbol, "__open", 6) == 0 || strncmp(symbol, "creat", 5) == 0 ||
		(strncmp(symbol, "open", 4) == 0 && strcmp(symbol, "opendir") != 0);
}

static uint8
effects_of(uint32 number)
{
	switch (pfs_call_types[number].operation)
	{
		case PFS_OPERATION_OPEN:
		case PFS_OPERATION_CREATE:
			return gives_descriptor(pfs_call_types[number].symbol) ? EFFECT_OPENS : 0;
		case PFS_OPERATION_CLOSE:
		case PFS_OPERATION_PROCESS: /* pclose */
			return EFFECT_CLOSES;
		case PFS_OPERATION_DELETE:
		case PFS_OPERATION_RENAME:	/* what is open under the new name is known by the old one */
			return EFFECT_FORGETS;
		case PFS_OPERATION_RECV:
			return EFFECT_ON_IDLE;
		default:
			return number == PFS_CALL_read ? EFFECT_ON_LATCH
				: number == PFS_CALL_rmdir ? EFFECT_FORGETS : 0;
	}
}

/* The end of a latch's wait: what woke it up is read from a descriptor of the server's own. */
static bool
drains_latch(const PfsCall *call)
{
	return call->fd >= 0 && pfs_pg_fd(call->fd, true)->kind == PFS_PG_FD_OTHER;
}

/* What is known of a file or descriptor goes into call_wait. */
static inline void
take_object(PfsPgFd *fd)
{
	call_wait.row = fd->row;
	call_wait.use = fd->use;
	call_wait.cell = &fd->cell;
	call_wait.object.type = fd->type;
	call_wait.object.instance = fd->object;
}

/*
 * What a call's descriptor or path says: its object goes into call_wait.  The result is the wait it
 * is when the server has no event for it.
 */
static pg_attribute_always_inline uint32
describe(PfsCall *call, bool has_event)
{
	PfsPgFd    *fd;

	if (pfs_unlikely(call->fd < 0))
	{
		call_wait.row = 0;
		call_wait.object.type = PFS_WAIT_OBJECT_NONE;
		call_wait.object.instance = 0;
		return pfs_call_types[call->number].target == PFS_TARGET_PATH && call->path != NULL && !has_event
			? (uint32) pfs_pg_wait_of_path(call->path) : (uint32) PFS_PG_WAIT_UNATTRIBUTED;
	}
	fd = pfs_pg_fd(call->fd, call_facts[call->number].operation != PFS_OPERATION_CLOSE);
	take_object(fd);
	return fd->wait;
}

/* Waits that last over several calls, and idle time; MEANS_EVENT: it is none of them. */
static Meaning
long_meaning(uint32 code, uint32 wait)
{
	switch (code & 0xFF000000)
	{
		case PG_WAIT_LOCK:
			return is_wanted(wait) && begin_lock(wait) ? MEANS_LOCK : MEANS_EVENT;
		case PG_WAIT_LWLOCK:
			if (!is_wanted(wait))
				return MEANS_NOTHING;
			if (!lwlock_wait.open)
				begin_long(&lwlock_wait, wait, PFS_OPERATION_SEMAPHORE);
			return MEANS_LWLOCK;
		case PG_WAIT_CLIENT:
			if (code == WAIT_EVENT_CLIENT_READ)
				pfs_pg_command_waits();
			return code == WAIT_EVENT_CLIENT_READ && pfs_pg_is_idle() && begin_idle() ? MEANS_IDLE : MEANS_EVENT;
		default:
			return MEANS_EVENT;
	}
}

/*
 * The wait of a call that is an event of its own begins.  code: the server's, and wait the number of that, UINT32_MAX: it has
 * none; 0: what the descriptor says.  False: it is not wanted.
 */
static pg_attribute_always_inline bool
begin_event(PfsCall *call, uint32 code, uint32 wait)
{
	const PfsWaitHot *hot;

	if (code == 0)
		wait = describe(call, false);
	if (pfs_unlikely(wait == UINT32_MAX))
		return false;
	hot = pfs_wait_hot(&pfs_session, wait);
	if (pfs_unlikely(!hot->enabled))
		return false;
	if (code != 0)
		(void) describe(call, true);
	call_wait.operation = call_facts[call->number].operation;
	pfs_wait_begin_hot(&pfs_session, &call_wait, hot, 0);
	return true;
}

static pg_noinline Meaning
meaning_of(PfsCall *call)
{
	uint32		code = *(volatile uint32 *) my_wait_event_info;
	uint32		wait = UINT32_MAX;

	if (pfs_unlikely(pfs_session.unsettled) && (code & 0xFF000000) != PG_WAIT_LWLOCK)
		pfs_pg_wait_settle_all();
	if (code != 0)
	{
		wait = pfs_wait_of_code(pfs_arena, code);
		if (pfs_unlikely(wait == UINT32_MAX))
			wait = pfs_pg_wait_of_code(code);
		if ((call_facts[call->number].effects & EFFECT_ON_LATCH) != 0 && drains_latch(call))
			return MEANS_NOTHING;
		if ((code & 0xFF000000) <= PG_WAIT_CLIENT)
		{
			Meaning		meaning = long_meaning(code, wait);

			if (meaning != MEANS_EVENT)
				return meaning;
		}
	}
	return begin_event(call, code, wait) ? MEANS_EVENT : MEANS_NOTHING;
}

StaticAssertDecl(PG_WAIT_LWLOCK < PG_WAIT_CLIENT && PG_WAIT_LOCK < PG_WAIT_CLIENT &&
				 PG_WAIT_IO > PG_WAIT_CLIENT, "long waits are below");

static pg_noinline void
find_counters(void)
{
	PfsPool    *pool = pfs_pool_of(pfs_arena);
	size_t		bytes = PFS_CALL_COUNTERS * sizeof(uint64_t);
	PfsThread  *thread = pfs_session.thread;

	if (pfs_load(&thread->calls) == 0)
		pfs_store_release(&thread->calls, pfs_pool_alloc(pool, bytes));
	calls.counted = pfs_pool_at(pool, pfs_load(&thread->calls), bytes);
}

static inline void
count_call(const PfsCall *call)
{
	if (pfs_unlikely(calls.counted == NULL))
		find_counters();
	if (pfs_likely(calls.counted != NULL))
		pfs_add(&calls.counted[call->number], 1);
}

StaticAssertDecl(PFS_CALLS <= PFS_CALL_COUNTERS, "every call has a counter");

/*
 * Is an older call still under way?  One that was left by a jump is not: whoever comes from a
 * shallower frame proves it.
 */
static inline bool
is_inner(const PfsCall *call)
{
	return pfs_unlikely(pfs_pg_waiting.call != NULL) && (const char *) call < (const char *) pfs_pg_waiting.call;
}

/* What is to be done before a call can be looked at; false: it cannot. */
static pg_noinline bool
can_begin(const PfsCall *call)
{
	if ((pfs_session.wants & PFS_GATE_CALLS) == 0 || is_inner(call) || pfs_session.busy)
	{
		if ((call_facts[call->number].effects & EFFECT_ON_FILES) != 0)
			missed_files = true;
		return false;
	}
	if (missed_files)
	{
		missed_files = false;
		pfs_pg_fd_forget_all();
	}
	return true;
}

/* A call that is no simple operation on a descriptor. */
static pg_noinline bool
begin_other(PfsCall *call)
{
	Meaning		meaning = meaning_of(call);
	uint8		effects = call_facts[call->number].effects;

	if ((effects & EFFECT_CLOSES) != 0 && call->fd >= 0)
		pfs_pg_fd_closing(call->fd);
	if (meaning == MEANS_NOTHING && (effects & EFFECT_ON_FILES) == 0)
	{
		pfs_pg_waiting.call = NULL;
		return false;
	}
	call->observer = meaning;
	return true;
}

static void
forget_client(void)
{
	client.fd = client.counted_fd = NO_CLIENT;
	client.idle = false;
}

/* The call is over that was recorded as one on the client's socket. */
static pg_noinline void
learn_client(const PfsCall *call)
{
	bool		known;

	if (MyProcPort == NULL || call->fd != MyProcPort->sock || pfs_pg_fd(call->fd, false)->kind != PFS_PG_FD_CLIENT ||
		call_wait.wait != PFS_PG_WAIT_CLIENT_SOCKET || calls.counted == NULL)
		return;
	if ((client.fd == call->fd || client.counted_fd == call->fd) && pfs_wait_is_known(&pfs_session, &client))
		return;
	known = pfs_wait_know_socket(&pfs_session, PFS_PG_WAIT_CLIENT_SOCKET, call_wait.object.instance, &client);
	client.fd = known && client.shown ? call->fd : NO_CLIENT;
	client.counted_fd = known && !client.shown ? call->fd : NO_CLIENT;
}

bool		pfs_pg_wait_is_told = false;

/* The client's first message, before there is a thread, is received by the same call as all others. */
static PFS_COLD bool
begin_first(const PfsCall *call)
{
	if (MyProcPort != NULL && call->fd == MyProcPort->sock && call->fd >= 0 &&
		(call_facts[call->number].effects & EFFECT_ON_IDLE) != 0)
		pfs_pg_wait_is_told = true;
	return pfs_pg_attach_in_call();
}

static bool
begin(PfsCall *call)
{
	uint32		code;
	uint32		wait = 0;

	if (pfs_unlikely(pfs_session.thread == NULL) && !begin_first(call))
		return false;
	(void) pfs_session_decided(&pfs_session);
	if (pfs_unlikely((pfs_session.wants & PFS_GATE_CALLS) == 0 || pfs_pg_waiting.call != NULL || pfs_session.busy ||
					 missed_files) && !can_begin(call))
		return false;
	pfs_pg_waiting.call = call;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	count_call(call);
	code = *(volatile uint32 *) my_wait_event_info;
	if (code == WAIT_EVENT_CLIENT_READ && pfs_pg_is_idle() && !pfs_session.unsettled &&
		call_facts[call->number].operation == PFS_OPERATION_POLL && begin_idle())
	{
		call->observer = MEANS_IDLE;
		return true;
	}
	/* most are simple operations on a descriptor, of files by most */
	if (code != 0)
		wait = (code & 0xFF000000) == PG_WAIT_IO ? pfs_wait_of_code(pfs_arena, code) : UINT32_MAX;
	if (pfs_unlikely(wait == UINT32_MAX || call->fd < 0 || pfs_session.unsettled ||
					 (call_facts[call->number].effects & ~EFFECT_ON_IDLE) != 0))
		return begin_other(call);
	if (pfs_unlikely(!begin_event(call, code, wait)))
	{
		pfs_pg_waiting.call = NULL;
		return false;
	}
	call->observer = MEANS_EVENT;
	return true;
}

/* --- end --- */

static void
note_file(const PfsCall *call, int64_t result)
{
	uint8		effects = call_facts[call->number].effects;
	PfsPgFd    *opened;

	if (result < 0 || call->path == NULL)
		return;
	if ((effects & EFFECT_FORGETS) != 0)
		pfs_file_forget(pfs_arena, call->path, strlen(call->path));
	if ((effects & EFFECT_OPENS) == 0)
		return;
	opened = pfs_pg_fd_opened((int) result, call->path);
	if (opened != NULL)
		take_object(opened);
}

static inline void
end_event(const PfsCall *call, int64_t result)
{
	const CallFacts *facts = &call_facts[call->number];
	PfsTicks	now = call_wait.start != 0 ? pfs_now() : 0;

	if (pfs_unlikely((facts->effects & EFFECT_ON_FILES) != 0))
		note_file(call, result);
	pfs_wait_end_here(&pfs_session, &call_wait, now, result >= 0 && facts->bytes ? result : -1);
	if (pfs_unlikely(call_wait.wait == PFS_PG_WAIT_CLIENT_SOCKET))
		learn_client(call);
}

static pg_noinline void
end_other(const PfsCall *call, int64_t result)
{
	Meaning		meaning = (Meaning) call->observer;

	if (meaning == MEANS_LWLOCK)
	{
		touch_long(&lwlock_wait);
		if (MyProc->lwWaiting == 0)
			end_lwlock();
	}
	else if (meaning == MEANS_LOCK)
	{
		touch_long(&lock_wait);
		if (!waits_for_lock())
			end_lock();
	}
	else if (meaning == MEANS_IDLE)
		touch_long(&calls.idle);
	else if ((call_facts[call->number].effects & EFFECT_ON_FILES) != 0)
		note_file(call, result);
}

static void
end(PfsCall *call, int64_t result)
{
	if (pfs_likely(call->observer == MEANS_EVENT))
		end_event(call, result);
	else
		end_other(call, result);
	pfs_pg_waiting.call = NULL;
}

/* The client's command is worked on; what is told of it now is its own. */
static inline void
begin_command(PfsSession *session)
{
	pfs_awaiting.now = (PfsAwaited) {0};
	session->phase = PFS_PHASE_COMMAND;
	session->waits.used = session->waits.last = 0;	/* of no command */
}

/* The same of one that came now. */
static pg_attribute_always_inline void
begin_command_at(PfsSession *session, PfsTicks now)
{
	pfs_pg_command.since = pfs_pg_command.came = now;
	begin_command(session);
	pfs_session_state(session, PFS_THREAD_ACTIVE, now);
}

/* A command has come: idle time is over. */
void
pfs_pg_wait_command(void)
{
	bool		noted = pfs_awaiting.now.noted;

	begin_command(&pfs_session);
	if (pfs_pg_command.came == 0)
		pfs_pg_command.came = pfs_pg_command.since = pfs_pg_waiting.idle_open ? calls.idle.last : 0;
	if (noted)
		pfs_wait_add(&pfs_session, PFS_PG_WAIT_IDLE, !pfs_pg_waiting.idle_timed ? 0
					 : pfs_pg_command.came > pfs_pg_waiting.idle_from ? pfs_pg_command.came - pfs_pg_waiting.idle_from : 1);
	else if (pfs_pg_waiting.idle_open)
	{
		pfs_pg_waiting.idle_open = false;
		end_long(&calls.idle);
	}
	if (pfs_session.thread != NULL)
		pfs_session_state(&pfs_session, PFS_THREAD_ACTIVE,
						  pfs_pg_command.came != 0 ? pfs_pg_command.came : pfs_now());
}

/* The caller has seen that nothing is owed. */
PFS_HOT void
pfs_pg_wait_idle(PfsTicks now)
{
	pfs_session_does(&pfs_session, PFS_PHASE_REST);
	pfs_pg_waiting.call = NULL;
	pfs_pg_waiting.idle_from = now;
	pfs_awaiting.now = pfs_pg_waiting.idle_begins;
}

void
pfs_pg_wait_switched(void)
{
	const PfsInstrument *instrument = pfs_wait_instrument(pfs_arena, PFS_PG_WAIT_IDLE);
	uint32		gate = pfs_load(&pfs_arena->gate);
	bool		noted = pfs_load(&instrument->enabled) && !pfs_session.wait_rows.shown &&
		(gate & PFS_GATE_CALLS) != 0;

	pfs_pg_waiting.idle_timed = pfs_load(&instrument->timed);
	pfs_pg_waiting.idle_cell = NULL;
	pfs_pg_waiting.idle_begins.event = noted ? WAIT_EVENT_CLIENT_READ : 0;
	if (MyProcPort != NULL)
		pfs_interpose_await(MyProcPort->sock,
							(gate & RECEIVED) != 0 && (gate & PFS_GATE_SOCKETS) == 0 ? gate : PFS_NO_WORD,
							my_wait_event_info);
}

/* --- attach --- */

/* Data of the client's has come, and the short way does not do. */
static pg_noinline int64_t
received_otherwise(int64_t result)
{
	int			saved = errno;

	if (pfs_session.thread != NULL && pfs_session.running == NULL)
	{
		bool		noted = pfs_awaiting.now.noted;

		pfs_pg_command_received(pfs_now());
		pfs_pg_wait_over();
		if (noted && pfs_pg_waiting.idle_timed)
			pfs_pg_waiting.idle_cell = pfs_wait_hot(&pfs_session, PFS_PG_WAIT_IDLE)->cell;
		else if (!noted)
			pfs_wait_know_idle(&pfs_session, PFS_PG_WAIT_IDLE, &client);
	}
	errno = saved;
	return result;
}

/*
 * Data of the client's has come.  While nothing of his is executed, it is the next command, or the next message of
 * one.  Most often he was waited for, that was noted, and it is known where it counts; or he was not waited for.
 */
static PFS_HOT int64_t
received(int64_t result)
{
	bool		noted = pfs_awaiting.now.noted;
	PfsSession *session = pfs_pg_session();
	PfsPgWaiting *waiting = &pfs_pg_waiting;
	PfsThread  *thread = session->thread;
	PfsTicks	now,
				idle;

	pfs_keep(waiting);
	if (pfs_unlikely(!pfs_session_is(session, PFS_PHASE_REST, false) ||
					 pfs_load_acquire(&session->arena->changes) != session->decided ||
					 (pfs_likely(noted) ? waiting->idle_cell == NULL : pfs_pg_waiting.idle_open) ||
					 (now = pfs_now_near()) <= waiting->idle_from))
		return received_otherwise(result);
	begin_command_at(session, now);
	if (pfs_unlikely(!noted))
		return result;
	idle = now - waiting->idle_from;
	pfs_assume(!session->busy && idle != 0);	/* as was seen */
	(void) pfs_enter_recording(session);
	pfs_seq_write_begin(&thread->seq);
	pfs_timer_stat_add(&waiting->idle_cell->stat, idle);
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
	return result;
}

/* --- calls of each command, when all is known of them --- */

/* Another call is under way, or something was put off. */
static inline bool
hinders(void)
{
	return pfs_pg_waiting.call != NULL || pfs_session.unsettled;
}

/* From here on it is the call under way.  here: something in its frame, whose address is only compared (is_inner). */
static pg_attribute_always_inline void
take_up(const void *here)
{
	pfs_pg_waiting.call = here;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* A switch has changed meanwhile. */
static PFS_COLD void
end_client_otherwise(PfsIoPart io, PfsSocketCall call, int64_t result, PfsTicks now)
{
	int			saved = errno;

	pfs_wait_end_socket_otherwise(&pfs_session, &client, io, call, result, now);
	errno = saved;
}

/* Idle time, in which this was the last call, which has ended simply, is over. */
static pg_attribute_always_inline bool
end_idle(PfsSession *session, PfsTicks now)
{
	if (pfs_unlikely(!pfs_pg_waiting.idle_open || !client.idle || !pfs_pg_is_idle() ||
					 !pfs_wait_end_idle(session, &calls.idle.wait, &client, calls.idle.last)))
		return false;
	pfs_pg_waiting.idle_open = false;
	pfs_pg_command.waits = false;
	begin_command_at(session, now);
	return true;
}

static pg_attribute_always_inline PfsCallNumber
number_of(PfsIoPart io)
{
	return PFS_CALL_recv + io * (PFS_CALL_send - PFS_CALL_recv);
}

StaticAssertDecl(PFS_IO_READ == 0 && PFS_IO_WRITE == 1, "see number_of");

static pg_attribute_always_inline ssize_t
call_counted(int fd, void *data, size_t size, int flags, PfsIoPart io)
{
	PfsCallNumber number = number_of(io);

	pfs_add(&calls.counted[number], 1);
	return ((ClientCall) pfs_watch.real[number]) (fd, data, size, flags);
}

/* Calls make no rows: they are counted when they end. */
static PFS_HOT pg_noinline ssize_t
client_call_counted(int fd, void *data, size_t size, int flags, PfsIoPart io)
{
	PfsSession *session = pfs_pg_session();
	PfsTicks	start,
				now;
	ssize_t		result;
	char		here;

	take_up(&here);
	start = pfs_now_near();
	result = call_counted(fd, data, size, flags, io);
	now = pfs_now_near();
	if (pfs_unlikely(!pfs_wait_count_socket(session, &client, io, start, result, now)))
		end_client_otherwise(io, (PfsSocketCall) {.start = start}, result, now);
	pfs_pg_waiting.call = NULL;
	if (io == PFS_IO_READ && result > 0)
		(void) received(result);
	return result;
}

static ssize_t client_call_otherwise(int fd, void *data, size_t size, int flags, PfsIoPart io);

/*
 * A call on the client's socket that is a row, in the short way if it is simple.  Data that has come is the next command,
 * most often.
 */
static pg_attribute_always_inline ssize_t
call_with_row(int fd, void *data, size_t size, int flags, PfsIoPart io, bool at_rest)
{
	PfsSession *session = pfs_pg_session();
	PfsSocketCall call;
	ssize_t		result;
	PfsTicks	now;
	bool		simple;
	char		here;

	/* whether something was put off is asked with whether it is at rest; or it was asked already */
	if (pfs_unlikely(fd != client.fd || *calls.event != 0 || pfs_pg_waiting.call != NULL))
		return client_call_otherwise(fd, data, size, flags, io);
	take_up(&here);
	if (pfs_unlikely(!pfs_wait_begin_socket(session, &client, io, at_rest, &call)))
	{
		pfs_pg_waiting.call = NULL;
		return at_rest ? client_call_otherwise(fd, data, size, flags, io)
			: ((ClientCall) pfs_call_observed[number_of(io)]) (fd, data, size, flags);
	}
	result = call_counted(fd, data, size, flags, io);
	now = pfs_now_near();
	simple = pfs_wait_end_socket(session, &client, io, at_rest, &call, result, now);
	if (pfs_unlikely(!simple))
		end_client_otherwise(io, call, result, now);
	if (io == PFS_IO_READ && result > 0 && !(pfs_likely(simple) && end_idle(session, now)))
	{
		pfs_pg_waiting.call = NULL;
		(void) received(result);
	}
	pfs_pg_waiting.call = NULL;
	return result;
}

/* One of a statement, or in a command. */
static pg_noinline ssize_t
client_call_charged(int fd, void *data, size_t size, int flags, PfsIoPart io)
{
	return call_with_row(fd, data, size, flags, io, false);
}

static pg_noinline ssize_t
client_call_otherwise(int fd, void *data, size_t size, int flags, PfsIoPart io)
{
	/* one that is known, and so of a process with a thread */
	if ((fd == client.fd || fd == client.counted_fd) && *calls.event == 0 && !hinders() &&
		pfs_wait_may_begin(&pfs_session, &client, false))
		return (client.shown ? client_call_charged : client_call_counted) (fd, data, size, flags, io);
	return ((ClientCall) pfs_call_observed[number_of(io)]) (fd, data, size, flags);
}

/* Receiving and sending are one function: code that runs with each command. */
static PFS_HOT pg_noinline ssize_t
client_call(int fd, void *data, size_t size, int flags, uint64 io)
{
	pfs_assume(io <= PFS_IO_WRITE);
	return call_with_row(fd, data, size, flags, io, true);
}

static PFS_HOT ssize_t
client_recv(int fd, void *to, size_t size, int flags)
{
	return client_call(fd, to, size, flags, PFS_IO_READ);
}

static PFS_HOT ssize_t
client_send(int fd, void *from, size_t size, int flags)
{
	return client_call(fd, from, size, flags, PFS_IO_WRITE);
}

#define CALL(of, symbol) ((__typeof__(&symbol)) of[PFS_CALL_##symbol])

/* The wait for his next command. */
static PFS_HOT int
client_wait(int set, struct epoll_event *events, int room, int timeout)
{
	PfsSession *session = pfs_pg_session();
	LongWait   *idle = &calls.idle;
	int			result;
	char		here;

	if (pfs_unlikely(!client.idle || *calls.event != WAIT_EVENT_CLIENT_READ ||
					 !pfs_pg_is_idle() || pfs_pg_waiting.call != NULL || !pfs_wait_may_begin(session, &client, true)))
		return CALL(pfs_call_observed, epoll_wait) (set, events, room, timeout);
	take_up(&here);
	pfs_add(&calls.counted[PFS_CALL_epoll_wait], 1);
	if (!pfs_pg_waiting.idle_open)	/* else it is another call of the same idle time */
	{
		pfs_wait_begin_idle(session, &idle->wait, &client);
		pfs_pg_waiting.idle_open = true;
	}
	result = CALL(pfs_watch.real, epoll_wait) (set, events, room, timeout);
	if (pfs_likely(idle->wait.start != 0))
		idle->last = pfs_now_near();
	pfs_pg_waiting.call = NULL;
	return result;
}

static void *const own_calls[PFS_OWN_CALLS] = {
	[PFS_CALL_recv] = (void *) client_recv,
	[PFS_CALL_epoll_wait] = (void *) client_wait,
	[PFS_CALL_send] = (void *) client_send,
};

static const PfsCallObserver observer = {begin, end, received, own_calls};

void
pfs_pg_wait_attach(void)
{
	pfs_pg_waiting.call = NULL;
	calls.event = my_wait_event_info;
	forget_client();
	calls.counted = NULL;
	pfs_awaiting.now = (PfsAwaited) {0};
	lock_wait.open = lwlock_wait.open = pfs_pg_waiting.idle_open = false;
	put_off_count = 0;
	pfs_session.unsettled = false;
	pfs_pg_fd_forget_all();
	pfs_interpose_observe(&observer, &pfs_arena->gate,
						  (PfsCallMasks) {PFS_GATE_CALLS, PFS_GATE_SOCKETS, RECEIVED});
	pfs_interpose_await(MyProcPort != NULL ? MyProcPort->sock : -1, PFS_NO_WORD, my_wait_event_info);
}

void
pfs_pg_wait_detach(void)
{
	pfs_interpose_observe(&observer, &asked_never, (PfsCallMasks) {PFS_GATE_CALLS, PFS_GATE_CALLS, 0});
	pfs_interpose_await(-1, PFS_NO_WORD, NULL);
	forget_client();
	calls.event = &no_event;
	pfs_pg_wait_command();
	pfs_pg_wait_settle();
	pfs_pg_fd_forget_all();
}

/*
 * The arena's switch must not be read where shared memory is not mapped: in the postmaster between
 * a crash and its recovery, in the log collector.  So a process asks a word of its own until it has
 * a thread.
 */
void
pfs_pg_wait_install(void)
{
	static char data_directory[PATH_MAX];	/* as the kernel names it */

	if (realpath(DataDir, data_directory) != NULL)
		pfs_data_directory = data_directory;
	pfs_pg_lock_names_install();
	for (uint32 i = 0; i < PFS_CALLS; i++)
	{
		call_facts[i].effects = effects_of(i);
		call_facts[i].operation = pfs_call_types[i].operation;
		call_facts[i].bytes = pfs_call_types[i].bytes;
	}
	if (!PFS_BUILT_WAITS || pfs_guc_wait_timing != PFS_TIMING_AUTO)
		pfs_interpose_refuse();
	else
	{
		pfs_interpose_observe(&observer, &asked_always, (PfsCallMasks) {PFS_GATE_CALLS, PFS_GATE_CALLS, 0});
		if (pfs_interpose_install() != 0)
			return;
		ereport(WARNING,
				(errmsg("performance_schema cannot time waits: no import slot could be patched"),
				 errhint("performance_schema.interposed_calls tells why; waits are sampled instead.")));
	}
	if (PFS_BUILT_WAITS && pfs_guc_wait_timing != PFS_TIMING_OFF)
		pfs_pg_sampler_install();
}
