/*
 * observer.h - for tests of the interposer: an observer that remembers what it was told.
 *
 * Header-only, one copy per test program. It calls nothing but memory functions, because every
 * libc call of the test program is interposed. Counters are atomic for tests with signal handlers.
 */
#ifndef OBSERVER_H
#define OBSERVER_H

#include "interpose/interpose.h"
#include "../tap.h"

#include <errno.h>

#define SEEN_MAX 64

typedef struct Seen
{
	const char *symbol;
	PfsCall call;
	char path[128];
	int64_t result;
	int error;
	bool ended;
} Seen;

static Seen seen[SEEN_MAX];
static uint32_t seen_count;        /* calls since watch_start */
static uint64_t begun[PFS_CALLS];  /* never reset */
static uint64_t ended[PFS_CALLS];
static uint32_t watch_word;        /* 1 = observe */
static bool watch_refuse;          /* begin says: not interesting */
static int watch_errno;            /* what begin and end leave in errno */

static bool
watch_begin(PfsCall *call)
{
	__atomic_fetch_add(&begun[call->number], 1, __ATOMIC_RELAXED);
	if (watch_errno != 0)
		errno = watch_errno;
	if (watch_refuse)
		return false;
	call->observer = __atomic_fetch_add(&seen_count, 1, __ATOMIC_RELAXED);
	if (call->observer < SEEN_MAX)
	{
		Seen *this = &seen[call->observer];

		memset(this, 0, sizeof(*this));
		this->symbol = pfs_call_types[call->number].symbol;
		this->call = *call;
		if (call->path != NULL)
			strncpy(this->path, call->path, sizeof(this->path) - 1);
	}
	return true;
}

static void
watch_end(PfsCall *call, int64_t result)
{
	__atomic_fetch_add(&ended[call->number], 1, __ATOMIC_RELAXED);
	if (call->observer < SEEN_MAX)
	{
		Seen *this = &seen[call->observer];

		this->result = result;
		this->error = errno;
		this->ended = true;
	}
	if (watch_errno != 0)
		errno = watch_errno;
}

static uint32_t received_count; /* calls that received data since watch_start */

static int64_t
watch_received(int64_t result)
{
	__atomic_fetch_add(&received_count, 1, __ATOMIC_RELAXED);
	if (watch_errno != 0)
		errno = watch_errno;
	return result;
}

static const PfsCallObserver watch_observer = {
	.begin = watch_begin, .end = watch_end, .received = watch_received};

__attribute__((unused)) static void
watch_start(void)
{
	seen_count = received_count = 0;
	watch_refuse = false;
	watch_errno = 0;
	pfs_interpose_observe(&watch_observer, &watch_word, (PfsCallMasks) {1, 1, 0});
	pfs_store(&watch_word, 1);
}

__attribute__((unused)) static void
watch_stop(void)
{
	pfs_store(&watch_word, 0);
}

/* Assert that the only call since watch_start is this one; path may be NULL. */
__attribute__((unused)) static void
saw(const char *symbol, int fd, const char *path, int64_t result)
{
	Seen *first = &seen[0];

	watch_stop();
	if (!ok(seen_count == 1 && strcmp(first->symbol, symbol) == 0 && first->ended && first->call.fd == fd &&
				first->result == result && strcmp(first->path, path == NULL ? "" : path) == 0,
			"%s is seen once, with descriptor, path and result", symbol))
		for (uint32_t i = 0; i < seen_count && i < SEEN_MAX; i++)
			printf("# %s fd=%d path=%s result=%" PRId64 " ended=%d\n", seen[i].symbol, seen[i].call.fd,
				   seen[i].path, seen[i].result, seen[i].ended);
}

/* Number of the call, by name. */
__attribute__((unused)) static uint32_t
number_of(const char *symbol)
{
	uint32_t number = 0;

	while (number < PFS_CALLS && strcmp(pfs_call_types[number].symbol, symbol) != 0)
		number++;
	return number;
}

/* First slot of a symbol in an object whose path ends so; false when there is none. */
__attribute__((unused)) static bool
find_slot(const char *object, const char *symbol, PfsSlot *slot)
{
	for (uint32_t i = 0; pfs_interpose_slot(i, slot); i++)
	{
		size_t length = strlen(slot->object);

		if (strcmp(slot->symbol, symbol) == 0 && length >= strlen(object) &&
			strcmp(slot->object + length - strlen(object), object) == 0)
			return true;
	}
	return false;
}

#endif /* OBSERVER_H */
