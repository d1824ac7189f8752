/*
 * wrappers.c
 *		One function for each line of imports.def: ask one word, tell the observer, chain.
 *
 * What is compiled for a call that nobody observes is three loads, one test and a jump to the real
 * function, with all arguments where they were.  Nothing is remembered between calls: a signal
 * handler may call wrappers, and may jump out of one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "interpose/wrappers.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

static bool
nobody_begin(PfsCall *call)
{
	(void) call;
	return false;
}

static void
nobody_end(PfsCall *call, int64_t result)
{
	(void) call;
	(void) result;
}

static void
nobody_received(int fd)
{
	(void) fd;
}

static const uint32_t never = 0;
static const PfsCallObserver nobody = {.begin = nobody_begin,.end = nobody_end,.received = nobody_received};

/* Written by pfs_interpose_observe; read by every call.  There is always an observer to call. */
static struct
{
	const uint32_t *word;
	uint32_t	mask[3];		/* see MASK */
	uint32_t	noted_value;	/* of noted_word, while which calls that wait are only noted; 0 = never */
	uint32_t *const *noted_word;
	uint8_t    *noted;
	const PfsCallObserver *observer;
	const void *thread;			/* written once, by pfs_wrappers_own_thread */
	int		   *error;			/* the address of that thread's errno, which never moves */
} PFS_ALIGNED watch = {.word = &never, .observer = &nobody};

PFS_ALIGNED void *pfs_call_real[PFS_CALLS];

/* A signal handler that comes in between sees a word that is 0; other threads are turned away. */
void
pfs_interpose_observe(const PfsCallObserver *observer, const uint32_t *word, PfsCallMasks masks)
{
	pfs_store(&watch.word, &never);
	pfs_store_release(&watch.observer, observer == NULL ? &nobody : observer);
	pfs_store_release(&watch.mask[0], masks.calls);
	pfs_store_release(&watch.mask[1], masks.sockets);
	pfs_store_release(&watch.mask[2], masks.sockets | masks.received);
	pfs_store_release(&watch.noted_value, 0);
	pfs_store_release(&watch.word, word == NULL ? &never : word);
}

void
pfs_interpose_only_note(uint32_t *const *word, uint32_t value, uint8_t *noted)
{
	pfs_store_release(&watch.noted_value, 0);
	if (value == 0)
		return;
	pfs_store(&watch.noted_word, word);
	pfs_store(&watch.noted, noted);
	pfs_store_release(&watch.noted_value, value);
}

void
pfs_wrappers_own_thread(void)
{
	watch.thread = __builtin_thread_pointer();
	watch.error = &errno;
}

/* Streams without a descriptor (open_memstream) set errno; fflush has none when it means all. */
static int
stream_fd(FILE *file)
{
	int			saved = errno;
	int			fd = file == NULL ? -1 : fileno(file);

	errno = saved;
	return fd;
}

/* The observer that wants this call, or NULL.  Some callers set errno to 0 and look at it later. */
static inline const PfsCallObserver *
begin(PfsCall *call)
{
	const PfsCallObserver *observer = pfs_load(&watch.observer);
	int			saved;
	bool		wanted;

	if (pfs_unlikely(__builtin_thread_pointer() != watch.thread))
		return NULL;
	saved = *watch.error;
	wanted = observer->begin(call);
	*watch.error = saved;
	return wanted ? observer : NULL;
}

static inline void
end(const PfsCallObserver *observer, PfsCall *call, int64_t result)
{
	int			saved = *watch.error;

	observer->end(call, result);
	*watch.error = saved;
}

/* Does the process wait for what need only be noted? */
static inline bool
only_noted(void)
{
	uint32_t	value = pfs_load(&watch.noted_value);

	if (value == 0 || pfs_load(pfs_load(watch.noted_word)) != value ||
		pfs_unlikely(__builtin_thread_pointer() != watch.thread))
		return false;
	pfs_store(watch.noted, 1);
	return true;
}

/* Data has come. */
static __attribute__((noinline)) void
received(int fd)
{
	int			saved;

	if (pfs_unlikely(__builtin_thread_pointer() != watch.thread))
		return;
	saved = *watch.error;
	pfs_load(&watch.observer)->received(fd);
	*watch.error = saved;
}

#define REAL(result, symbol, parameters) ((result (*) parameters) pfs_call_real[PFS_CALL_##symbol])

/* Which of the masks a call is asked for: of all, of sockets, of what receives. */
#define MASK(operation, target) (PFS_OPERATION_##operation == PFS_OPERATION_RECV ? 2 \
								 : PFS_TARGET_##target == PFS_TARGET_SOCKET ? 1 : 0)

/* __builtin_classify_type is 5 for every pointer. */
#define NUMBER(value) (__builtin_classify_type(value) == 5 ? (int64_t) ((value) != 0) : (int64_t) (value))

/*
 * The part that tells the observer is a function of its own, so that the other part needs no frame
 * and ends in jumps.
 */
#define PFS_IMPORT(result, symbol, parameters, arguments, operation_, target_, fd_, path_) \
static __attribute__((noinline)) result \
observed_##symbol parameters \
{ \
	const PfsCallObserver *observer; \
	PfsCall		call; \
	result		returned; \
\
	call.number = PFS_CALL_##symbol; \
	call.fd = (fd_); \
	call.path = (path_); \
	observer = begin(&call); \
	if (observer == NULL && PFS_OPERATION_##operation_ != PFS_OPERATION_RECV) \
		return REAL(result, symbol, parameters) arguments; \
	returned = REAL(result, symbol, parameters) arguments; \
	if (observer != NULL) \
		end(observer, &call, NUMBER(returned)); \
	if (PFS_OPERATION_##operation_ == PFS_OPERATION_RECV && NUMBER(returned) > 0) \
		received(fd_); \
	return returned; \
} \
\
static PFS_HOT result \
wrapper_##symbol parameters \
{ \
	if (PFS_OPERATION_##operation_ == PFS_OPERATION_POLL && only_noted()) \
		return REAL(result, symbol, parameters) arguments; \
	if (pfs_likely(!(pfs_load(pfs_load(&watch.word)) & pfs_load(&watch.mask[MASK(operation_, target_)])))) \
		return REAL(result, symbol, parameters) arguments; \
	if (PFS_OPERATION_##operation_ == PFS_OPERATION_RECV && \
		!(pfs_load(pfs_load(&watch.word)) & pfs_load(&watch.mask[1]))) \
	{ \
		result		returned = REAL(result, symbol, parameters) arguments; \
\
		if (NUMBER(returned) > 0) \
			received(fd_); \
		return returned; \
	} \
	return observed_##symbol arguments; \
}
#include "interpose/imports.def"
#undef PFS_IMPORT

void	   *const pfs_wrappers[PFS_CALLS] = {
#define PFS_IMPORT(result, symbol, parameters, arguments, operation_, target_, fd_, path_) \
	[PFS_CALL_##symbol] = (void *) wrapper_##symbol,
#include "interpose/imports.def"
#undef PFS_IMPORT
};

const PfsCallType pfs_call_types[PFS_CALLS] = {
#define PFS_IMPORT(result, name, parameters, arguments, operation_, target_, fd_, path_) \
	[PFS_CALL_##name] = { \
		.symbol = #name, \
		.operation = PFS_OPERATION_##operation_, \
		.target = PFS_TARGET_##target_, \
		.bytes = __builtin_types_compatible_p(result, ssize_t), \
	},
#include "interpose/imports.def"
#undef PFS_IMPORT
};
