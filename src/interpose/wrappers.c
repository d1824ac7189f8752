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

static int64_t
nobody_received(int64_t result)
{
	return result;
}

static const uint32_t never = 0;
static const PfsCallObserver nobody = {.begin = nobody_begin,.end = nobody_end,.received = nobody_received};

/* There is always an observer to call. */
PfsWatch	pfs_watch = {
	.word = &never, .value = PFS_NO_WORD, .received = nobody_received, .fd = -1,
	.observer = &nobody
};

PFS_HOT_LINE(waiting) __attribute__((aligned(8))) PfsAwaiting pfs_awaiting = {.event = &never};

PFS_ALIGNED void *pfs_call_real[PFS_CALLS];

void
pfs_call_set_real(uint32_t number, void *real)
{
	pfs_call_real[number] = real;
	if (number < PFS_OWN_CALLS)
		pfs_watch.real[number] = real;
}

/* A signal handler that comes in between sees a word that is 0; other threads are turned away. */
void
pfs_interpose_observe(const PfsCallObserver *observer, const uint32_t *word, PfsCallMasks masks)
{
	pfs_store(&pfs_watch.word, &never);
	pfs_store_release(&pfs_watch.observer, observer == NULL ? &nobody : observer);
	pfs_store_release(&pfs_watch.mask[0], masks.calls);
	pfs_store_release(&pfs_watch.mask[1], masks.sockets);
	pfs_store_release(&pfs_watch.mask[2], masks.sockets | masks.received);
	pfs_store_release(&pfs_watch.received, pfs_load(&pfs_watch.observer)->received);
	for (int i = 0; i < PFS_OWN_CALLS; i++)
		pfs_store_release(&pfs_watch.own[i], observer == NULL || observer->own == NULL ? NULL : observer->own[i]);
	pfs_store_release(&pfs_watch.word, word == NULL ? &never : word);
}

void
pfs_interpose_await(int fd, uint32_t value, const uint32_t *event)
{
	pfs_store_release(&pfs_watch.value, PFS_NO_WORD);
	pfs_store_release(&pfs_watch.fd, fd);
	pfs_store_release(&pfs_awaiting.event, event == NULL ? &never : event);
	pfs_store_release(&pfs_watch.value, value);
}

void
pfs_wrappers_own_thread(void)
{
	pfs_awaiting.thread = __builtin_thread_pointer();
	pfs_watch.error = &errno;
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

static inline bool
is_own_thread(void)
{
	return __builtin_thread_pointer() == pfs_awaiting.thread;
}

/* The observer that wants this call, or NULL.  Some callers set errno to 0 and look at it later. */
static inline const PfsCallObserver *
begin(PfsCall *call)
{
	const PfsCallObserver *observer = pfs_load(&pfs_watch.observer);
	int			saved;
	bool		wanted;

	if (pfs_unlikely(!is_own_thread()))
		return NULL;
	saved = *pfs_watch.error;
	wanted = observer->begin(call);
	*pfs_watch.error = saved;
	return wanted ? observer : NULL;
}

static inline void
end(const PfsCallObserver *observer, PfsCall *call, int64_t result)
{
	int			saved = *pfs_watch.error;

	observer->end(call, result);
	*pfs_watch.error = saved;
}

/* Does the thread wait for what need only be noted? */
static inline bool
only_noted(void)
{
	uint32_t	event = pfs_awaiting.now.event;

	if (event == 0 || *pfs_awaiting.event != event || pfs_unlikely(!is_own_thread()))
		return false;
	pfs_awaiting.now.noted = true;
	return true;
}

/* Is nothing wanted of this call but to be told of its data? */
static inline bool
only_told(uint32_t word, int fd)
{
	return pfs_likely(word == pfs_watch.value) && pfs_likely(fd == pfs_watch.fd);
}

#define REAL(result, symbol, parameters) \
	((result (*) parameters) (PFS_CALL_##symbol < PFS_OWN_CALLS ? pfs_watch.real[PFS_CALL_##symbol % PFS_OWN_CALLS] \
							  : pfs_call_real[PFS_CALL_##symbol]))

/* Which of the masks a call is asked for: of all, of sockets, of what receives. */
#define MASK(operation, target) (PFS_OPERATION_##operation == PFS_OPERATION_RECV ? 2 \
								 : PFS_TARGET_##target == PFS_TARGET_SOCKET ? 1 : 0)

/* What the observer makes of the call himself, if he does. */
#define OWN(symbol) (PFS_CALL_##symbol < PFS_OWN_CALLS ? pfs_watch.own[PFS_CALL_##symbol % PFS_OWN_CALLS] : NULL)

/* __builtin_classify_type is 5 for every pointer. */
#define NUMBER(value) (__builtin_classify_type(value) == 5 ? (int64_t) ((value) != 0) : (int64_t) (value))

/* Of calls that receive, whose results are numbers. */
#define RECEIVED(result, returned) ((result) (uintptr_t) pfs_watch.received(NUMBER(returned)))

/*
 * The parts that tell the observer are functions of their own, so that the other part needs no frame
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
	if (PFS_OPERATION_##operation_ == PFS_OPERATION_RECV && \
		!(pfs_load(pfs_load(&pfs_watch.word)) & pfs_load(&pfs_watch.mask[1]))) \
		observer = NULL; \
	else \
		observer = begin(&call); \
	if (observer == NULL && PFS_OPERATION_##operation_ != PFS_OPERATION_RECV) \
		return REAL(result, symbol, parameters) arguments; \
	returned = REAL(result, symbol, parameters) arguments; \
	if (observer != NULL) \
		end(observer, &call, NUMBER(returned)); \
	if (PFS_OPERATION_##operation_ == PFS_OPERATION_RECV && NUMBER(returned) > 0 && call.fd == pfs_watch.fd) \
		returned = RECEIVED(result, returned); \
	return returned; \
} \
\
static PFS_HOT result \
wrapper_##symbol parameters \
{ \
	uint32_t	word; \
\
	if (PFS_OPERATION_##operation_ == PFS_OPERATION_POLL && only_noted()) \
		return REAL(result, symbol, parameters) arguments; \
	word = pfs_load(pfs_load(&pfs_watch.word)); \
	if (PFS_OPERATION_##operation_ == PFS_OPERATION_RECV && only_told(word, fd_)) \
	{ \
		result		returned = REAL(result, symbol, parameters) arguments; \
\
		return NUMBER(returned) > 0 ? RECEIVED(result, returned) : returned; \
	} \
	if (PFS_CALL_##symbol < PFS_OWN_CALLS && (word & pfs_watch.mask[MASK(SEND, target_)]) && OWN(symbol) != NULL && \
		pfs_likely(is_own_thread())) \
		return ((result (*) parameters) OWN(symbol)) arguments; \
	if (pfs_likely(!(word & pfs_watch.mask[MASK(operation_, target_)]))) \
		return REAL(result, symbol, parameters) arguments; \
	return observed_##symbol arguments; \
}
#include "interpose/imports.def"
#undef PFS_IMPORT

void	   *const pfs_call_observed[PFS_OWN_CALLS] = {
	[PFS_CALL_recv] = (void *) observed_recv,
	[PFS_CALL_epoll_wait] = (void *) observed_epoll_wait,
	[PFS_CALL_send] = (void *) observed_send,
};

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
