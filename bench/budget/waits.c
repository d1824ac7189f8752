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
#include <unistd.h>

static struct
{
	LINE int	fd;				/* the client's socket while its data is only told; -2 = none */
	uint32		gate;			/* what of calls is wanted */
	uint32	   *event;			/* the server's wait event */
	ssize_t		(*recv) (int, void *, size_t, int);
	int			(*epoll_wait) (int, struct epoll_event *, int, int);
}			W = {.fd = -2};

/*
 * Most often it is the next command, for which was waited.
 */
static HOT void
received(void)
{
	uint64		now = tick();
	Thread	   *thread = S.thread;

	if (unlikely((S.flags.word & NOT_TOP) != 1 || CHANGED() || thread->idle != 0 || now < N.idle_from))
	{
		command_came_otherwise(now);
		return;
	}
	S.flags.idle = 0;
	S.came = now;
	thread->state = ACTIVE;
	thread->state_since = now;
	thread->idle = now - N.idle_from + 1;
}

static pg_noinline ssize_t
recv_otherwise(int fd, void *to, size_t bytes, int flags)
{
	return W.recv(fd, to, bytes, flags);
}

static HOT ssize_t
our_recv(int fd, void *to, size_t bytes, int flags)
{
	ssize_t		result;

	if (unlikely(fd != W.fd))
		return recv_otherwise(fd, to, bytes, flags);
	result = W.recv(fd, to, bytes, flags);
	if (result > 0)
		received();
	return result;
}

static pg_noinline int
epoll_otherwise(int fd, struct epoll_event *events, int n, int timeout)
{
	return W.epoll_wait(fd, events, n, timeout);
}

/* While idle the wait for the client is no other one. */
static HOT int
our_epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	if (likely(S.flags.idle && *W.event == WAIT_EVENT_CLIENT_READ))
		return W.epoll_wait(fd, events, n, timeout);
	return epoll_otherwise(fd, events, n, timeout);
}

static const struct
{
	const char *name;
	void	   *ours;
	void	  **real;
}			imports[] = {
	{"recv", our_recv, (void **) &W.recv},
	{"epoll_wait", our_epoll_wait, (void **) &W.epoll_wait},
};

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
			if (strcmp(names + symbols[ELF64_R_SYM(slots[k].r_info)].st_name, imports[i].name) == 0)
			{
				void	  **slot = (void **) (image->dlpi_addr + slots[k].r_offset);

				*imports[i].real = dlsym(RTLD_DEFAULT, imports[i].name);
				mprotect((void *) ((uintptr_t) slot & ~4095UL), 8192, PROT_READ | PROT_WRITE);
				*slot = imports[i].ours;
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
}

void
waits_decide(void)
{
	W.gate = arena->gate;
	W.fd = PART_IDLE && MyProcPort != NULL && S.plain != 0 ? MyProcPort->sock : -2;
}

void
waits_sum(void)
{
}

void
waits_detach(void)
{
	W.fd = -2;
}
