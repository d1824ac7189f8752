/*
 * base.h
 *		Words every core file uses: integer types, memory ordering, small helpers.
 *
 * The only file with atomics.  Shared memory is read and written word by word with relaxed
 * atomics, so that a reader in another process may see an old word but never a torn one, and so
 * that ThreadSanitizer understands the code.  Ordering between words comes from PfsSeq below.
 */
#ifndef PFS_BASE_H
#define PFS_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Byte offset from the start of the arena; 0 = none.  Never a pointer: the arena may move. */
typedef uint64_t PfsOff;

/* Raw timer units; timer.h converts them at the SQL edge, and nowhere else. */
typedef uint64_t PfsTicks;

#define PFS_CACHE_LINE 64
#define PFS_ALIGNED __attribute__((aligned(PFS_CACHE_LINE)))
#define pfs_likely(x) __builtin_expect((x) != 0, 1)
#define pfs_unlikely(x) __builtin_expect((x) != 0, 0)
/* Runs with each event: such functions stand together, on few pages of code. */
#define PFS_HOT __attribute__((hot, aligned(64)))
/* What each statement looks at stands together, on few lines of memory: variables of a process. */
#define PFS_HOT_DATA __attribute__((section(".data.hot")))
/* The same, and on one line with others of this name: the first of them, as they are linked (see nm), is aligned. */
#define PFS_HOT_LINE(name) __attribute__((section(".data.hot." #name)))
/* What a hot function calls in rare cases: stands elsewhere, and costs its caller no registers. */
#define PFS_COLD __attribute__((cold, noinline))
/* What the compiler may take for granted, because the caller has seen to it. */
#define pfs_assume(x) do { if (!(x)) __builtin_unreachable(); } while (0)
/* The compiler forgets where a pointer comes from: it stays in a register instead of being made again. */
#define pfs_keep(pointer) __asm__("" : "+r"(pointer))
#define PFS_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define PFS_ALIGN_UP(n, to) (((n) + (to) - 1) / (to) * (to))
#define pfs_min(a, b) ((a) < (b) ? (a) : (b))
#define pfs_max(a, b) ((a) > (b) ? (a) : (b))

/* One word of shared memory.  Order nothing by themselves. */
#define pfs_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define pfs_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define pfs_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define pfs_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* Add by the only writer of a word: no locked instruction, but one, where the processor can. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define PFS_ADDS_TO_MEMORY 1
#define pfs_add(p, v) \
	__asm__("add%z0 %1, %0" : "+m"(*(p)) : "er"((__typeof__(*(p))) (v)) : "cc")
#else
#define pfs_add(p, v) pfs_store((p), pfs_load(p) + (v))
#endif

/* Sets bits, by the only writer of a word. */
#ifdef PFS_ADDS_TO_MEMORY
#define pfs_or(p, v) \
	__asm__("or%z0 %1, %0" : "+m"(*(p)) : "er"((__typeof__(*(p))) (v)) : "cc")
#else
#define pfs_or(p, v) pfs_store((p), pfs_load(p) | (v))
#endif

/* Advances a counter with one writer: who sees it with an acquiring load sees all that was written before. */
#ifdef PFS_ADDS_TO_MEMORY
#define pfs_publish_next(p) __asm__ __volatile__("add%z0 $1, %0" : "+m"(*(p)) : : "cc", "memory")
#else
#define pfs_publish_next(p) pfs_store_release((p), pfs_load(p) + 1)
#endif

/*
 * Next number of a counter with one writer, which a signal handler of the writer's may raise, too: no
 * locked instruction where the processor has a single one.
 */
static inline uint64_t
pfs_next_number(uint64_t *counter)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	uint64_t	one = 1;

	__asm__ __volatile__("xaddq %0, %1" : "+r"(one), "+m"(*counter));
	return one + 1;
#else
	return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
#endif
}

/* Add by one of several writers; for rare paths (losses, ids, folds). */
#define pfs_add_shared(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define pfs_add_release(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
#define pfs_fence() __atomic_thread_fence(__ATOMIC_SEQ_CST)

static inline bool
pfs_cas32(uint32_t *word, uint32_t expected, uint32_t desired)
{
	return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_ACQ_REL,
									   __ATOMIC_ACQUIRE);
}

static inline bool
pfs_cas64(uint64_t *word, uint64_t *expected, uint64_t desired)
{
	return __atomic_compare_exchange_n(word, expected, desired, false, __ATOMIC_ACQ_REL,
									   __ATOMIC_ACQUIRE);
}

/* Sets or clears bits of a word with several writers. */
static inline void
pfs_set_bits(uint32_t *word, uint32_t bits, bool on)
{
	if (on)
		__atomic_fetch_or(word, bits, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(word, ~bits, __ATOMIC_RELEASE);
}

static inline void
pfs_raise_to(uint64_t *word, uint64_t value)
{
	uint64_t	seen = pfs_load(word);

	while (seen < value && !pfs_cas64(word, &seen, value))
		;
}

static inline void
pfs_cpu_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

/*
 * Sequence lock of one writer.  Odd while the writer is inside.  The writer may die or be stopped
 * inside: readers bound their retries, or have patience (patience.h), and then say that the record is unstable.
 */
typedef uint32_t PfsSeq;

/* Of who must not wait. */
#define PFS_READ_RETRIES 64

#ifdef PFS_ASSERTS
/* Unit tests: a signal arrives here; another process is faster. */
extern void (*pfs_inside_sequence) (PfsSeq *seq);
extern void (*pfs_inside_gate) (void);
#endif

static inline void
pfs_seq_write_begin(PfsSeq *seq)
{
	/* a predecessor may have been killed inside */
#ifdef PFS_ADDS_TO_MEMORY
	__asm__ __volatile__("orl $1, %0" : "+m"(*seq) : : "cc");
#else
	pfs_store(seq, pfs_load(seq) | 1);
#endif
	__atomic_thread_fence(__ATOMIC_RELEASE);	/* pairs with the fence in pfs_seq_read_ok */
#ifdef PFS_ASSERTS
	if (pfs_load(&pfs_inside_sequence) != NULL)
		pfs_load(&pfs_inside_sequence) (seq);
#endif
}

static inline void
pfs_seq_write_end(PfsSeq *seq)
{
	pfs_publish_next(seq);		/* pairs with pfs_seq_read_begin */
}

static inline uint32_t
pfs_seq_read_begin(const PfsSeq *seq)
{
	return pfs_load_acquire(seq);
}

static inline bool
pfs_seq_read_ok(const PfsSeq *seq, uint32_t begin)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return (begin & 1) == 0 && pfs_load(seq) == begin;
}

/*
 * Copies bytes into or out of shared memory, under a sequence lock.  memcpy moves whole words on
 * every platform we run on; under ThreadSanitizer, which would report the race that the lock
 * resolves, single atomic words are copied.
 */
static inline void
pfs_copy_words(void *to, const void *from, size_t bytes)
{
#if defined(__SANITIZE_THREAD__)
	uint64_t   *d = (uint64_t *) to;
	const uint64_t *s = (const uint64_t *) from;

	for (size_t i = 0; i < bytes / 8; i++)
		pfs_store(&d[i], pfs_load(&s[i]));
#else
	memcpy(to, from, bytes);
	__asm__ __volatile__("" ::: "memory");
#endif
}

static inline void
pfs_copy_bytes(void *to, const void *from, size_t bytes)
{
#if defined(__SANITIZE_THREAD__)
	char	   *d = (char *) to;
	const char *s = (const char *) from;

	for (size_t i = 0; i < bytes; i++)
		pfs_store(&d[i], pfs_load(&s[i]));
#else
	memcpy(to, from, bytes);
	__asm__ __volatile__("" ::: "memory");
#endif
}

static inline void
pfs_zero_words(void *to, size_t bytes)
{
	uint64_t   *d = (uint64_t *) to;

	for (size_t i = 0; i < bytes / 8; i++)
		pfs_store(&d[i], 0);
}

static inline uint64_t
pfs_hash64(uint64_t x)
{
	/* Fibonacci hashing with a final mix: spreads keys whose low bits are alike */
	x ^= x >> 32;
	x *= UINT64_C(0x9E3779B97F4A7C15);
	return x ^ (x >> 29);
}

#endif							/* PFS_BASE_H */
