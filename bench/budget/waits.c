/*
 * waits.c
 *		What the server's calls of libc tell: when a command came, and what was waited for.
 */
#include "budget.h"

#include "utils/wait_event.h"
#include "miscadmin.h"
#include "libpq/libpq-be.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <semaphore.h>
#include <unistd.h>

/* Numbers of waits. */
enum {WAIT_IDLE = 1, WAIT_TABLE, WAIT_CLIENT, WAIT_FILE, WAIT_OTHER, WAIT_BY_CODE};

/* kinds */
enum {IN_TRANSACTION, IN_STATEMENT, IN_WAIT, OF_FILE = 16, OF_SOCKET = 32, OF_TABLE = 64};

enum {PART_READ, PART_WRITE, PART_OTHER};

bool		waits_shown;

static struct
{
	LINE int	fd;				/* the client's socket while its data is only told; -2 = none */
	int			client;			/* the same while calls on it are waits; -2 = they are not wanted */
	uint32		gate;			/* what of calls is wanted */
	bool		inside;			/* a call is observed */
	bool		idle;			/* a row of idle time is open */
	uint32	   *event;			/* the server's wait event */
	void	   *thread;			/* the process's own one */
	ssize_t		(*recv) (int, void *, size_t, int);
	ssize_t		(*send) (int, const void *, size_t, int);
	int			(*epoll_wait) (int, struct epoll_event *, int, int);
	uint64		off;			/* *changes for which nothing is wanted, 0 = it is, or is not known */

	LINE uint64 sum_at;			/* number of the wait at which to sum */
	uint64		idle_last;		/* end of its latest call */
	ssize_t		(*pread) (int, void *, size_t, off_t);
	ssize_t		(*pwrite) (int, const void *, size_t, off_t);
	ssize_t		(*preadv) (int, const struct iovec *, int, off_t);
	ssize_t		(*pwritev) (int, const struct iovec *, int, off_t);
	ssize_t		(*read) (int, void *, size_t);
	ssize_t		(*write) (int, const void *, size_t);
	int			(*fsync) (int);
	int			(*fdatasync) (int);
	int			(*close) (int);
	int			(*sem_wait) (sem_t *);
}			W = {.fd = -2,.client = -2};

/* --- what a call is --- */

/* What stands behind descriptors: known from the first call on, until they are closed. */
enum {FD_UNKNOWN, FD_FILE, FD_OTHER};
static struct
{
	uint8		kind;
	uint8		row;
}			descriptors[1024];

static COLD void
look_up(int fd)
{
	char		link[32],
				path[256];
	ssize_t		n;
	int			saved = errno;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	descriptors[fd].kind = n > 0 && path[0] == '/' && strncmp(path, "/dev/", 5) != 0 ? FD_FILE : FD_OTHER;
	for (ssize_t i = 0; i < n; i++)
		descriptors[fd].row = descriptors[fd].row * 31 + path[i];
	descriptors[fd].row = 1 + descriptors[fd].row % (FILES - 1);	/* the product keeps names */
	errno = saved;
}

/* Instruments by the server's code. */
static struct
{
	uint32		code;
	uint32		wait;
}			codes[256];
static uint32 code_count = WAIT_BY_CODE;

static COLD uint32
learn_code(uint32 code)
{
	codes[code % 251].code = code;
	codes[code % 251].wait = code_count < WAIT_CELLS ? code_count++ : WAIT_OTHER;
	return codes[code % 251].wait;
}

INLINE uint32
wait_of(uint32 code, uint32 otherwise)
{
	if (code == 0)
		return otherwise;
	return likely(codes[code % 251].code == code) ? codes[code % 251].wait : learn_code(code);
}

/* --- rows --- */

static HOT pg_noinline void sum_waits(void);

/* The next one of the ring; its number is the first to be written.  A statement that runs is charged. */
INLINE Wait *
row_begin(uint32 wait, unsigned part, unsigned kinds, uint32 object, bool shown)
{
	Thread	   *thread = S.thread;
	Wait	   *row = &thread->wait[(thread->waits + 1) % WAITS_RING];

	row->event_id = 0;
	fence();
	row->object = object;
	row->digest = C.record != NULL ? C.record->block.digest : 0;
	row->epoch = (uint32) (S.plain >> 32);
	row->wait = wait;
	row->part = part;
	if (shown)
	{
		uint64		id = next_number(&thread->event_id);

		if (C.record != NULL)
		{
			row->nesting = C.record->event_id;
			kinds |= IN_STATEMENT;
		}
		else if (W.idle)
		{
			row->nesting = thread->wait[WAITS_RING].event_id;
			kinds |= IN_WAIT;
		}
		else
			row->nesting = S.transaction;
		row->kinds = kinds;
		row->end_event_id = 0;
		fence();
		row->event_id = id;
		thread->wait_open = id;
	}
	row->start = tick();
	return row;
}

INLINE void
row_end(Wait *row, int64 bytes, bool shown)
{
	Thread	   *thread = S.thread;
	uint64		number = thread->waits + 1;

	row->end = tick();
	row->bytes = bytes;
	if (shown)
	{
		row->end_event_id = thread->event_id;
		thread->wait_open = 0;
	}
	store_release(&thread->waits, number);
	if (now_and_then(number == W.sum_at))
		sum_waits();
}

/* Rows of a table or index that a call of the executor has read or changed. */
HOT void
waits_show_rows(uint16 object, unsigned operation, uint64 rows)
{
	Thread	   *thread = S.thread;
	uint64		number = thread->waits + 1;
	Wait	   *row = &thread->wait[number % WAITS_RING];
	uint64		id;

	if (unlikely(W.inside))
		return;
	W.inside = true;
	fence();
	row->event_id = 0;
	fence();
	id = next_number(&thread->event_id);
	row->start = row->end = 0;
	row->end_event_id = id;
	row->nesting = C.record->event_id;
	row->bytes = rows;
	row->object = object;
	row->digest = 0;
	row->epoch = (uint32) (S.plain >> 32);
	row->wait = WAIT_TABLE;
	row->part = operation;
	row->kinds = OF_TABLE | IN_STATEMENT;
	fence();
	row->event_id = id;
	store_release(&thread->waits, number);
	if (now_and_then(number == W.sum_at))
		sum_waits();
	W.inside = false;
}

static COLD void
add_to_digest(Thread *thread, const Wait *row, uint64 ticks)
{
	uint64		key = (uint64) row->digest << 16 | row->wait;

	for (int i = 0; i < 64; i++)
	{
		__typeof__(thread->digest_wait[0]) *cell = &thread->digest_wait[(key + i) % 64];

		if (cell->key == 0)
			cell->key = key;
		if (cell->key == key)
		{
			timer_add(&cell->timer, ticks);
			return;
		}
	}
	thread->lost++;
}

/* Adds the waits that have ended; to the long history, too. */
static HOT pg_noinline void
sum_waits(void)
{
	Thread	   *thread = S.thread;
	uint64		number = thread->waits_summed;
	uint64		ended = thread->waits;
	__typeof__(arena->long_wait[0]) *block = NULL;
	uint32		n = 0;

	W.sum_at = ended + UNSUMMED;
	if (PART_WAITS && waits_shown && (W.gate & WANT_LONG) != 0 && number < ended)
	{
		uint64		at = __atomic_fetch_add(&arena->long_wait_next, 1, __ATOMIC_RELAXED);

		block = &arena->long_wait[at % LONG_WAITS];
		block->number = 0;
		fence();
		block->thread = thread->id;
		while (number + n < ended)
		{
			block->row[n] = thread->wait[(number + n + 1) % WAITS_RING];
			n++;
		}
		block->rows = n;
		fence();
		block->number = at + 1;
	}
	while (number < ended)
	{
		const Wait *row = &thread->wait[++number % WAITS_RING];
		WaitCell   *cell = &thread->wait_cell[row->wait % WAIT_CELLS];
		uint64		ticks = row->end - row->start;
		unsigned	part = row->part;

		if (row->wait <= WAIT_TABLE)
			continue;			/* these are summed with their statements */
		seq_begin(&cell->seq);
		cell->last = number;
		timer_add(&cell->part[part], ticks);
		if (row->bytes > 0)
			add(&cell->bytes[part & 1], row->bytes);
		seq_end(&cell->seq);
		if ((row->kinds & OF_FILE) != 0)
		{
			cell = &thread->file_cell[row->object % FILES];
			seq_begin(&cell->seq);
			cell->last = number;
			timer_add(&cell->part[part], ticks);
			if (row->bytes > 0)
				add(&cell->bytes[part & 1], row->bytes);
			seq_end(&cell->seq);
		}
		if (unlikely(row->digest != 0))
			add_to_digest(thread, row, ticks);
	}
	store_release(&thread->waits_summed, ended);
}

/* --- calls --- */

/*
 * May a call be observed?  Of the process's own thread, while no other is, by switches that are known.  errno of the
 * caller is left alone by what we do meanwhile: nothing of it calls.
 */
INLINE bool
may_observe(void)
{
	return S.thread != NULL && !W.inside && !CHANGED() && __builtin_thread_pointer() == W.thread;
}

/* A call on a file, or a wait of the server that it makes by one. */
#define FILE_CALL(result, name, parameters, arguments, part_) \
static HOT pg_noinline result \
observed_##name parameters \
{ \
	result		returned; \
	Wait	   *row; \
\
	if (unlikely(!may_observe() || (unsigned) fd >= lengthof(descriptors))) \
		return W.name arguments; \
	if (unlikely(descriptors[fd].kind == FD_UNKNOWN)) \
		look_up(fd); \
	if (descriptors[fd].kind != FD_FILE) \
		return W.name arguments; \
	W.inside = true; \
	row = row_begin(wait_of(*W.event, WAIT_FILE), part_, OF_FILE, descriptors[fd].row, waits_shown); \
	row->kinds = waits_shown ? row->kinds : OF_FILE; \
	returned = W.name arguments; \
	row_end(row, part_ == PART_OTHER ? -1 : returned, waits_shown); \
	W.inside = false; \
	return returned; \
} \
\
static HOT result \
our_##name parameters \
{ \
	if ((W.gate & WANT_FILES) == 0) \
		return W.name arguments; \
	return observed_##name arguments; \
}

FILE_CALL(ssize_t, pread, (int fd, void *to, size_t bytes, off_t at), (fd, to, bytes, at), PART_READ)
FILE_CALL(ssize_t, pwrite, (int fd, const void *from, size_t bytes, off_t at), (fd, from, bytes, at), PART_WRITE)
FILE_CALL(ssize_t, preadv, (int fd, const struct iovec *to, int n, off_t at), (fd, to, n, at), PART_READ)
FILE_CALL(ssize_t, pwritev, (int fd, const struct iovec *from, int n, off_t at), (fd, from, n, at), PART_WRITE)
FILE_CALL(ssize_t, read, (int fd, void *to, size_t bytes), (fd, to, bytes), PART_READ)
FILE_CALL(ssize_t, write, (int fd, const void *from, size_t bytes), (fd, from, bytes), PART_WRITE)
FILE_CALL(int, fsync, (int fd), (fd), PART_OTHER)
FILE_CALL(int, fdatasync, (int fd), (fd), PART_OTHER)

static int
our_close(int fd)
{
	if ((unsigned) fd < lengthof(descriptors))
		descriptors[fd].kind = FD_UNKNOWN;
	return W.close(fd);
}

/*
 * Most often it is the next command, for which was waited.
 */
static HOT void
received(void)
{
	uint64		now = tick();
	Thread	   *thread = S.thread;
	uint64		since;

	if (unlikely((S.flags.word & NOT_TOP) != 1 || CHANGED() || thread->idle != 0 || now < thread->state_since))
	{
		command_came_otherwise(now);
		return;
	}
	since = thread->state_since;
	S.flags.idle = 0;
	W.inside = false;			/* whatever was left by a jump */
	S.came = now;
	thread->state = ACTIVE;
	thread->state_since = now;
	thread->idle = now - since + 1;
}

/* Idle time that has a row is over. */
INLINE void
end_idle(void)
{
	Thread	   *thread = S.thread;
	Wait	   *idle = &thread->wait[WAITS_RING];
	uint64		number = thread->waits + 1;

	idle->end = W.idle_last;
	idle->end_event_id = thread->event_id;
	thread->wait[number % WAITS_RING] = *idle;
	store_release(&thread->waits, number);
	W.idle = false;
	if (now_and_then(number == W.sum_at))
		sum_waits();
}

/* Calls on the client's socket are wanted, or it is another one. */
static HOT pg_noinline ssize_t
recv_otherwise(int fd, void *to, size_t bytes, int flags)
{
	ssize_t		result;
	Wait	   *row;

	if (!PART_WAITS || unlikely(fd != W.client || !may_observe()))
	{
		result = W.recv(fd, to, bytes, flags);
		if (W.gate == 0 && W.off != 0 && result > 0 && MyProcPort != NULL && fd == MyProcPort->sock)
		{
			int			saved = errno;

			wanted_again();
			errno = saved;
		}
		if (result > 0 && S.thread != NULL && MyProcPort != NULL && fd == MyProcPort->sock)
			received();
		return result;
	}
	W.inside = true;
	row = row_begin(wait_of(*W.event, WAIT_CLIENT), PART_READ, OF_SOCKET, fd, true);
	result = W.recv(fd, to, bytes, flags);
	row_end(row, result, true);
	W.inside = false;
	if (result > 0)
	{
		if (W.idle)
			end_idle();
		received();
	}
	return result;
}

static HOT ssize_t
our_recv(int fd, void *to, size_t bytes, int flags)
{
	ssize_t		result;

	if (unlikely(fd != W.fd))
	{
		if (W.gate == 0 && *S.changes == W.off)
			return W.recv(fd, to, bytes, flags);
		return recv_otherwise(fd, to, bytes, flags);
	}
	result = W.recv(fd, to, bytes, flags);
	if (result > 0)
		received();
	return result;
}

static HOT pg_noinline ssize_t
observed_send(int fd, const void *from, size_t bytes, int flags)
{
	ssize_t		result;
	Wait	   *row;

	if (unlikely(fd != W.client || !may_observe()))
		return W.send(fd, from, bytes, flags);
	W.inside = true;
	row = row_begin(wait_of(*W.event, WAIT_CLIENT), PART_WRITE, OF_SOCKET, fd, true);
	result = W.send(fd, from, bytes, flags);
	row_end(row, result, true);
	W.inside = false;
	return result;
}

static HOT ssize_t
our_send(int fd, const void *from, size_t bytes, int flags)
{
	if (likely(W.client < 0))
		return W.send(fd, from, bytes, flags);
	return observed_send(fd, from, bytes, flags);
}

static HOT pg_noinline int
epoll_otherwise(int fd, struct epoll_event *events, int n, int timeout)
{
	int			result;
	Wait	   *row;

	if (unlikely((W.gate & (WANT_FILES | WANT_ALL_WAITS)) == 0 || !may_observe()))
		return W.epoll_wait(fd, events, n, timeout);
	if (PART_WAITS && S.flags.idle && *W.event == WAIT_EVENT_CLIENT_READ)
	{
		if (!W.idle)
		{
			Thread	   *thread = S.thread;

			row = &thread->wait[WAITS_RING];
			row->event_id = 0;
			fence();
			row->end = row->end_event_id = 0;
			row->nesting = S.transaction;
			row->bytes = -1;
			row->object = W.client;
			row->digest = 0;
			row->epoch = (uint32) (S.plain >> 32);
			row->wait = WAIT_IDLE;
			row->part = PART_OTHER;
			row->kinds = OF_SOCKET;
			row->start = tick();
			fence();
			row->event_id = next_number(&thread->event_id);
			W.idle = true;
		}
		result = W.epoll_wait(fd, events, n, timeout);
		W.idle_last = tick();
		return result;
	}
	/* a wait of another kind: for a lock, for the client in mid-command */
	W.inside = true;
	row = row_begin(wait_of(*W.event, WAIT_OTHER), PART_OTHER, 0, 0, waits_shown);
	result = W.epoll_wait(fd, events, n, timeout);
	row_end(row, -1, waits_shown);
	W.inside = false;
	return result;
}

/* While idle the wait for the client is no other one. */
static HOT int
our_epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	if (likely(S.flags.idle && *W.event == WAIT_EVENT_CLIENT_READ && W.client < 0))
		return W.epoll_wait(fd, events, n, timeout);
	return epoll_otherwise(fd, events, n, timeout);
}

/* For an LWLock, which is not held yet when this returns: the least is done. */
static int
our_sem_wait(sem_t *semaphore)
{
	int			result;
	Wait	   *row;

	if ((W.gate & WANT_ALL_WAITS) == 0 || !may_observe())
		return W.sem_wait(semaphore);
	W.inside = true;
	row = row_begin(wait_of(*W.event, WAIT_OTHER), PART_OTHER, 0, 0, waits_shown);
	result = W.sem_wait(semaphore);
	row_end(row, -1, waits_shown);
	W.inside = false;
	return result;
}

static const struct
{
	const char *name;
	void	   *ours;
	void	  **real;
	bool		files;
}			imports[] = {
	{"recv", our_recv, (void **) &W.recv},
	{"epoll_wait", our_epoll_wait, (void **) &W.epoll_wait},
	{"send", our_send, (void **) &W.send},
	{"sem_wait", our_sem_wait, (void **) &W.sem_wait},
	{"pread", our_pread, (void **) &W.pread, true},
	{"pread64", our_pread, (void **) &W.pread, true},
	{"pwrite", our_pwrite, (void **) &W.pwrite, true},
	{"pwrite64", our_pwrite, (void **) &W.pwrite, true},
	{"preadv", our_preadv, (void **) &W.preadv, true},
	{"preadv64", our_preadv, (void **) &W.preadv, true},
	{"pwritev", our_pwritev, (void **) &W.pwritev, true},
	{"pwritev64", our_pwritev, (void **) &W.pwritev, true},
	{"read", our_read, (void **) &W.read, true},
	{"write", our_write, (void **) &W.write, true},
	{"fsync", our_fsync, (void **) &W.fsync, true},
	{"fdatasync", our_fdatasync, (void **) &W.fdatasync, true},
	{"close", our_close, (void **) &W.close, true},
};

/* Where the executable keeps the address of send: ours only while it is wanted. */
static void **send_slot;

static int
patch(struct dl_phdr_info *image, size_t size, void *arg)
{
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	const ElfW(Rela) *slots = NULL;
	size_t		n = 0;

	for (int k = 0; k < image->dlpi_phnum; k++)
		if (image->dlpi_phdr[k].p_type == PT_DYNAMIC)
			for (const ElfW(Dyn) *d = (void *) (image->dlpi_addr + image->dlpi_phdr[k].p_vaddr); d->d_tag; d++)
			{
				if (d->d_tag == DT_SYMTAB)
					symbols = (void *) d->d_un.d_ptr;
				if (d->d_tag == DT_STRTAB)
					names = (void *) d->d_un.d_ptr;
				if (d->d_tag == DT_JMPREL)
					slots = (void *) d->d_un.d_ptr;
				if (d->d_tag == DT_PLTRELSZ)
					n = d->d_un.d_val / sizeof(*slots);
			}
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < lengthof(imports); i++)
			if ((PART_FILES || !imports[i].files) &&
				strcmp(names + symbols[ELF64_R_SYM(slots[k].r_info)].st_name, imports[i].name) == 0)
			{
				void	  **slot = (void **) (image->dlpi_addr + slots[k].r_offset);

				*imports[i].real = dlsym(RTLD_DEFAULT, imports[i].name);
				mprotect((void *) ((uintptr_t) slot & ~4095UL), 8192, PROT_READ | PROT_WRITE);
				*slot = imports[i].ours;
				if (imports[i].ours == (void *) our_send)
					send_slot = slot;
			}
	return 1;					/* the executable only */
}

void
waits_install(void)
{
	W.event = my_wait_event_info;
	if (PART_IDLE || PART_FILES || PART_WAITS)
		dl_iterate_phdr(patch, NULL);
}

void
waits_attach(void)
{
	W.event = my_wait_event_info;
	W.thread = __builtin_thread_pointer();
	W.sum_at = UNSUMMED;
	W.inside = W.idle = false;
}

void
waits_decide(void)
{
	int			fd = MyProcPort != NULL ? MyProcPort->sock : -2;

	W.gate = arena->gate;
	W.off = W.gate == 0 ? *S.changes : 0;
	waits_shown = PART_WAITS && (W.gate & WANT_ALL_WAITS) != 0 && S.plain != 0;
	W.client = waits_shown ? fd : -2;
	/* the page is left writable: the product would have to make it so, at each switch */
	if (send_slot != NULL && (*send_slot == (void *) our_send || *send_slot == (void *) W.send))
		*send_slot = waits_shown ? (void *) our_send : (void *) W.send;
	W.fd = PART_IDLE && S.plain != 0 && !waits_shown ? fd : -2;
}

void
waits_sum(void)
{
	if (S.thread != NULL)
		sum_waits();
}

void
waits_detach(void)
{
	waits_sum();
	W.fd = W.client = -2;
	W.gate = 0;
}
