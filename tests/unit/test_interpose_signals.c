/*
 * test_interpose_signals.c - wrappers inside each other, left by a jump, in children and threads.
 *
 * Linked in several ways (dev.mk).
 */
#define _GNU_SOURCE
#include "interpose/observer.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGNALS 400

static int pipe_ends[2];
static volatile sig_atomic_t written;
static sigjmp_buf escape;

static void
set_timer(int period_us)
{
	struct itimerval timer = {.it_interval.tv_usec = period_us, .it_value.tv_usec = period_us};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void
set_handler(void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

	sigemptyset(&action.sa_mask);
	sigaction(SIGALRM, &action, NULL);
}

static void
handler_writes(int number)
{
	int saved = errno;

	if (write(pipe_ends[1], "x", 1) == 1)
		written++;
	errno = saved;
	(void) number;
}

static void
test_storm(void)
{
	uint64_t polls = 0;
	uint64_t reads = 0;
	uint64_t bytes = 0;
	uint64_t bad = 0;
	uint64_t polled = begun[PFS_CALL_poll];
	uint64_t read_before = begun[PFS_CALL_read];
	uint64_t written_before = begun[PFS_CALL_write];
	char text[16];

	set_handler(handler_writes);
	watch_start();
	set_timer(500);
	while (written < SIGNALS)
	{
		struct pollfd entry = {.fd = pipe_ends[0], .events = POLLIN};
		int ready = poll(&entry, 1, 1000);

		polls++;
		bad += ready < 0 && errno != EINTR;
		if (ready == 1)
		{
			ssize_t got = read(pipe_ends[0], text, sizeof(text));

			reads++;
			bytes += got > 0 ? (uint64_t) got : 0;
			bad += got < 0 && errno != EINTR;
		}
	}
	set_timer(0);
	watch_stop();
	while (bytes < (uint64_t) written)
		bytes += (uint64_t) read(pipe_ends[0], text, sizeof(text));
	is_u64(bytes, (uint64_t) written, "no byte is lost");
	is_u64(bad, 0, "errno is always right");
	is_u64(begun[PFS_CALL_poll] - polled, polls, "every poll was seen");
	is_u64(begun[PFS_CALL_read] - read_before, reads, "every read was seen");
	is_u64(begun[PFS_CALL_write] - written_before, (uint64_t) written, "every write of the handler was seen");
	is_u64(ended[PFS_CALL_write], begun[PFS_CALL_write], "and ended");
}

/* Only out of a read that the observer knows of. */
static void
handler_jumps(int number)
{
	if (begun[PFS_CALL_read] != ended[PFS_CALL_read])
		siglongjmp(escape, 1);
	(void) number;
}

static void
test_jump(void)
{
	char text[4];
	volatile int rounds = 0;
	ssize_t done;

#ifdef __SANITIZE_THREAD__
	ok(true, "# SKIP ThreadSanitizer takes what follows a jump for the handler");
	return;
#endif
	set_handler(handler_jumps);
	ended[PFS_CALL_read] = begun[PFS_CALL_read];
	watch_start();
	for (; rounds < 5; rounds++)
	{
		if (sigsetjmp(escape, 1) == 0)
		{
			set_timer(2000);
			while (read(pipe_ends[0], text, 1) == -1)
				;
		}
		set_timer(0);
		if (!ok(begun[PFS_CALL_read] == ended[PFS_CALL_read] + 1, "a read is left by a jump"))
			break;
		ended[PFS_CALL_read] = begun[PFS_CALL_read];
	}
	watch_stop();
	watch_start();
	done = write(pipe_ends[1], "y", 1);
	saw("write", pipe_ends[1], NULL, 1);
	is_u64((uint64_t) done, 1, "calls go on");
	watch_start();
	done = read(pipe_ends[0], text, 4);
	saw("read", pipe_ends[0], NULL, 1);
	is_u64((uint64_t) done, 1, "the same call too");
}

static void
test_child(void)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0)
	{
		bool good;

		watch_start();
		good = access("/", F_OK) == 0 && seen_count == 1 && seen[0].ended;
		watch_stop();
		good = good && access("/", F_OK) == 0 && seen_count == 1;
		_exit(!good);
	}
	waitpid(child, &status, 0);
	is_u64((uint64_t) status, 0, "a child inherits what is patched and who looks");
}

static void *
thread_main(void *result)
{
	*(int *) result = access("/", F_OK);
	return NULL;
}

static void
test_thread(void)
{
	pthread_t thread;
	int result = -1;

	watch_start();
	if (pthread_create(&thread, NULL, thread_main, &result) != 0)
		return;
	pthread_join(thread, NULL);
	watch_stop();
	is_u64((uint64_t) result, 0, "calls of another thread work");
	is_u64(seen_count, 0, "and are not observed");
}

int
main(void)
{
	if (pipe(pipe_ends) != 0)
		return 1;
	pfs_interpose_install();
	test_storm();
	test_jump();
	test_child();
	test_thread();
	return done_testing();
}
