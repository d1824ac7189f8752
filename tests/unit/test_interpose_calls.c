/*
 * test_interpose_calls.c - what the observer sees of each call, and that the call is none the wiser.
 *
 * Linked in several ways (dev.mk).
 */
#define _GNU_SOURCE
#include "interpose/observer.h"

#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* One call, observed: the result must be right, and so must what the observer saw. */
/* Printing is made of calls that are seen: what was seen is looked at before. */
#define CHECK_UNSEEN(call, what) \
	do \
	{ \
		bool good = (call); \
		uint32_t seen_now = seen_count; \
\
		ok(good && seen_now == 0, what); \
	} while (0)

#define CALL(symbol, fd, path, expression, want) \
	do { \
		int64_t		returned_; \
		watch_start(); \
		returned_ = (int64_t) (expression); \
		watch_stop(); \
		is_u64((uint64_t) returned_, (uint64_t) (int64_t) (want), #symbol " returns what it should"); \
		saw(#symbol, (fd), (path), (want)); \
	} while (0)

static char folder[] = "/tmp/pfs_interpose_XXXXXX";
static char path[64];
static char other[64];

static void
test_files(void)
{
	struct iovec parts[2];
	struct stat status;
	char text[16] = "";
	char more[16] = "";
	volatile size_t four = 4;
	int fd;

	umask(0);
	watch_start();
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0641);
	saw("open", -1, path, fd);
	is_u64(seen[0].call.number, PFS_CALL_open, "the call has its number");
	CALL(fstat, fd, NULL, fstat(fd, &status), 0);
	is_u64(status.st_mode & 07777, 0641, "open passes the mode on");
	CALL(write, fd, NULL, write(fd, "hello", 5), 5);
	CALL(pwrite, fd, NULL, pwrite(fd, "HELL", 4, 1), 4);
	CALL(pread, fd, NULL, pread(fd, text, 6, 0), 5);
	is_str(text, "hHELL", "the bytes are right");
	parts[0] = (struct iovec) {.iov_base = text, .iov_len = 2};
	parts[1] = (struct iovec) {.iov_base = more, .iov_len = 9};
	CALL(preadv, fd, NULL, preadv(fd, parts, 2, 1), 4);
	is_str(more, "LL", "in two parts too");
	CALL(pwritev, fd, NULL, pwritev(fd, parts, 1, 7), 2);
	CALL(readv, fd, NULL, readv(fd, parts, 2), 4);
	lseek(fd, 0, SEEK_SET);
#if __USE_FORTIFY_LEVEL > 0
	CALL(__read_chk, fd, NULL, read(fd, text, four), 4);
	CALL(__pread_chk, fd, NULL, pread(fd, text, four, 0), 4);
#else
	CALL(read, fd, NULL, read(fd, text, four), 4);
#endif
	CALL(fsync, fd, NULL, fsync(fd), 0);
	CALL(fdatasync, fd, NULL, fdatasync(fd), 0);
	CALL(sync_file_range, fd, NULL, sync_file_range(fd, 0, 4, SYNC_FILE_RANGE_WRITE), 0);
	CALL(ftruncate, fd, NULL, ftruncate(fd, 100), 0);
	CALL(posix_fallocate, fd, NULL, posix_fallocate(fd, 0, 200), 0);
	CALL(posix_fadvise, fd, NULL, posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED), 0);
	CALL(posix_fallocate, -1, NULL, posix_fallocate(-1, 0, 200), EBADF);
	fstat(fd, &status);
	is_u64((uint64_t) status.st_size, 200, "offsets and sizes arrive");
	CALL(close, fd, NULL, close(fd), 0);
	CALL(close, fd, NULL, close(fd), -1);

	watch_start();
	fd = openat(AT_FDCWD, path, O_RDONLY);
	saw("openat", -1, path, fd);
	close(fd);
	watch_start();
	fd = open(folder, O_RDWR | O_TMPFILE, 0604);
	if (fd >= 0)
	{
		saw("open", -1, folder, fd);
		fstat(fd, &status);
		is_u64(status.st_mode & 07777, 0604, "open passes the mode on, without a name too");
		close(fd);
	}
	watch_stop();
}

static void
test_names(void)
{
	struct stat status;
	char text[64];
	DIR *directory;
	struct dirent *entry;

	CALL(access, -1, path, access(path, R_OK), 0);
	CALL(stat, -1, path, stat(path, &status), 0);
	CALL(truncate, -1, path, truncate(path, 10), 0);
	CALL(rename, -1, path, rename(path, other), 0);
	CALL(link, -1, other, link(other, path), 0);
	CALL(unlink, -1, path, unlink(path), 0);
	CALL(symlink, -1, path, symlink(other, path), 0);
	CALL(lstat, -1, path, lstat(path, &status), 0);
	CALL(readlink, -1, path, readlink(path, text, sizeof(text)), strlen(other));
	unlink(path);
	unlink(other);
	CALL(mkdir, -1, path, mkdir(path, 0700), 0);
	watch_start();
	directory = opendir(path);
	saw("opendir", -1, path, 1);
	watch_start();
	entry = readdir(directory);
	is_u64(seen_count, 0, "readdir passes unseen: it is made for each name");
	ok(entry != NULL && entry->d_name[0] == '.', "readdir gives its entry");
	CALL(closedir, -1, NULL, closedir(directory), 0);
	CALL(rmdir, -1, path, rmdir(path), 0);
	watch_start();
	directory = opendir(path);
	saw("opendir", -1, path, 0);
	ok(directory == NULL && seen[0].error == ENOENT, "opendir fails");
}

static void
test_streams(void)
{
	char text[16];
	volatile size_t five = 5;
	FILE *file;
	FILE *memory;
	char *buffer = NULL;
	char *line;
	size_t size;
	int fd;

	watch_start();
	file = fopen(path, "w+");
	saw("fopen", -1, path, 1);
	if (file == NULL)
		return;
	fd = fileno(file);
	watch_start();
	CHECK_UNSEEN(fwrite("one\ntwo\n", 2, 4, file) == 4, "fwrite passes unseen: it is made for each row");
	CALL(fflush, fd, NULL, fflush(file), 0);
	CALL(fflush, -1, NULL, fflush(NULL), 0);
	rewind(file);
	watch_start();
	line = fgets(text, sizeof(text), file);
	is_u64(seen_count, 0, "fgets passes unseen: it is made for each line");
	ok(line == text, "fgets gives its buffer");
	is_str(text, "one\n", "and the line");
	watch_start();
	CHECK_UNSEEN(fread(text, 1, five, file) == 4, "fread passes unseen: it is made for each word");
	CALL(fclose, fd, NULL, fclose(file), 0);
	unlink(path);

	memory = open_memstream(&buffer, &size);
	errno = 7;
	CALL(fflush, -1, NULL, fflush(memory), 0);
	is_u64((uint64_t) errno, 7, "a stream without a descriptor leaves errno alone");
	fclose(memory);
	free(buffer);
}

/* Of the descriptor that is awaited, data is told while the word has a value, and waiting for it is noted. */
static void
test_only_told(int pair[2], int set)
{
	struct epoll_event event;
	char text[8];
	static uint32_t server_waits = 5;
	ssize_t came;
	ssize_t none;
	uint32_t seen_told;
	uint32_t seen_waits;
	bool noted[2];

	/* what says how it went is a call, too: afterwards */
	watch_start();
	pfs_interpose_await(pair[1], 1, &server_waits);
	send(pair[0], "ab", 2, 0);
	came = recv(pair[1], text, 8, 0);
	none = recv(pair[1], text, 8, MSG_DONTWAIT);
	seen_told = seen_count;
	pfs_awaiting.now.event = 4;
	epoll_wait(set, &event, 1, 0);
	noted[0] = pfs_awaiting.now.noted;
	pfs_awaiting.now.event = 5;
	epoll_wait(set, &event, 1, 0);
	noted[1] = pfs_awaiting.now.noted;
	pfs_awaiting.now = (PfsAwaited) {0};
	seen_waits = seen_count;
	epoll_wait(set, &event, 1, 0);
	pfs_interpose_await(-1, PFS_NO_WORD, NULL);
	send(pair[0], "ab", 2, 0);
	recv(pair[1], text, 8, 0);
	watch_stop();
	ok(came == 2 && none == -1 && received_count == 1, "data is told, as long as it is awaited, its absence is not");
	is_u64(seen_told, 1, "nothing else is observed of it, but the calls that send");
	ok(seen_waits == 2 && !noted[0] && noted[1], "waiting is observed, or only noted while the event is the one");
	is_u64(seen_count, 5, "nothing is awaited: all is observed");
}

static uint32_t own_calls;
static bool own_declines;

static ssize_t
own_recv(int fd, void *to, size_t size, int flags)
{
	own_calls++;
	return ((__typeof__(&recv)) (own_declines ? pfs_call_observed : pfs_call_real)[PFS_CALL_recv])(fd, to, size, flags);
}

static ssize_t
own_send(int fd, const void *from, size_t size, int flags)
{
	own_calls++;
	return ((__typeof__(&send)) (own_declines ? pfs_call_observed : pfs_call_real)[PFS_CALL_send])(fd, from, size, flags);
}

static int
own_wait(int set, struct epoll_event *events, int room, int timeout)
{
	own_calls++;
	return ((__typeof__(&epoll_wait)) (own_declines ? pfs_call_observed : pfs_call_real)[PFS_CALL_epoll_wait])(
		set, events, room, timeout);
}

/* Functions of the observer's stand in for the calls of each command, while those on sockets are wanted. */
static void
test_own_calls(int pair[2], int set)
{
	static void *const own[PFS_OWN_CALLS] = {[PFS_CALL_recv] = (void *) own_recv,
		[PFS_CALL_epoll_wait] = (void *) own_wait,[PFS_CALL_send] = (void *) own_send};
	static const PfsCallObserver observer = {.begin = watch_begin,.end = watch_end,.received = watch_received,.own = own};
	struct epoll_event event;
	char text[8];
	uint32_t own_seen[4];
	uint32_t seen_by[4];
	bool good = true;

	for (int i = 0; i < 4; i++)	/* they make the calls, decline them, are not wanted, are gone */
	{
		own_calls = 0;
		own_declines = i == 1;
		watch_start();
		if (i < 3)
			pfs_interpose_observe(&observer, &watch_word, (PfsCallMasks) {1, i < 2 ? 1 : 2, 0});
		good = send(pair[0], "ab", 2, 0) == 2 && epoll_wait(set, &event, 1, 1000) == 1 &&
			recv(pair[1], text, 8, 0) == 2 && good;
		watch_stop();
		own_seen[i] = own_calls;
		seen_by[i] = seen_count;
	}
	ok(good, "calls are what they are, whoever makes them");
	ok(own_seen[0] == 3 && seen_by[0] == 0, "calls that the observer makes are not seen otherwise");
	ok(own_seen[1] == 3 && seen_by[1] == 3, "those that he hands on are");
	ok(own_seen[2] == 1 && seen_by[2] == 0, "while sockets are not wanted only the wait for events is his");
	ok(own_seen[3] == 0 && seen_by[3] == 3, "nothing stands in for them any more");
}

static void
test_sockets(void)
{
	struct pollfd entry = {.events = POLLIN};
	struct epoll_event event = {.events = EPOLLIN};
	struct timeval no_time = {0};
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
	struct addrinfo *address = NULL;
	char text[8];
	volatile size_t size = sizeof(text);
	int pair[2];
	int set = epoll_create1(0);

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return;
	entry.fd = pair[1];
	epoll_ctl(set, EPOLL_CTL_ADD, pair[1], &event);
	CALL(send, pair[0], NULL, send(pair[0], "hello", 5, 0), 5);
	CALL(poll, pair[1], NULL, poll(&entry, 1, 1000), 1);
	CALL(epoll_wait, -1, NULL, epoll_wait(set, &event, 1, 1000), 1);
#if __USE_FORTIFY_LEVEL > 0
	CALL(__recv_chk, pair[1], NULL, recv(pair[1], text, size, 0), 5);
#else
	CALL(recv, pair[1], NULL, recv(pair[1], text, size, 0), 5);
#endif
	is_u64(received_count, 0, "its data is not told, nobody waits for it");
	pfs_interpose_await(pair[1], PFS_NO_WORD, NULL);
	CALL(sendto, pair[0], NULL, sendto(pair[0], "abc", 3, MSG_DONTWAIT, NULL, 0), 3);
	CALL(recvfrom, pair[1], NULL, recvfrom(pair[1], text, 8, 0, NULL, NULL), 3);
	is_u64(received_count, 1, "data that is awaited is told");
	CALL(recv, pair[1], NULL, recv(pair[1], text, 8, MSG_DONTWAIT), -1);
	is_u64(received_count, 0, "nothing is told when none has come");
	is_u64((uint64_t) seen[0].error, EAGAIN, "the observer sees errno");
	test_only_told(pair, set);
	test_own_calls(pair, set);
	CALL(epoll_wait, -1, NULL, epoll_wait(set, &event, 1, 0), 0);
	CALL(select, -1, NULL, select(0, NULL, NULL, NULL, &no_time), 0);
	CALL(accept, pair[0], NULL, accept(pair[0], NULL, NULL), -1);
	CALL(getaddrinfo, -1, NULL, getaddrinfo("127.0.0.1", NULL, &hints, &address), 0);
	if (address != NULL)
	{
		CALL(connect, pair[0], NULL, connect(pair[0], address->ai_addr, address->ai_addrlen), -1);
		freeaddrinfo(address);
	}
	close(pair[0]);
	close(pair[1]);
	close(set);
}

static void
test_waits(void)
{
	struct timespec moment = {.tv_nsec = 1000};
	struct timespec past = {.tv_sec = 1};
	sem_t semaphore;
	int status = -1;
	int fd;
	pid_t child;
	FILE *pipe;

	sem_init(&semaphore, 0, 1);
	CALL(sem_wait, -1, NULL, sem_wait(&semaphore), 0);
	CALL(sem_timedwait, -1, NULL, sem_timedwait(&semaphore, &past), -1);
	is_u64((uint64_t) errno, ETIMEDOUT, "a semaphore that does not come");
	CALL(nanosleep, -1, NULL, nanosleep(&moment, NULL), 0);
	CALL(clock_nanosleep, -1, NULL, clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL), 0);
	CALL(usleep, -1, NULL, usleep(1), 0);
	CALL(system, -1, NULL, system("exit 3"), 3 << 8);
	child = fork();
	if (child == 0)
		_exit(5);
	CALL(waitpid, -1, NULL, waitpid(child, &status, 0), child);
	is_u64((uint64_t) WEXITSTATUS(status), 5, "waitpid gives the status");
	watch_start();
	pipe = popen("exit 4", "r");
	saw("popen", -1, NULL, 1);
	if (pipe == NULL)
		return;
	fd = fileno(pipe);
	CALL(pclose, fd, NULL, pclose(pipe), 4 << 8);
}

static void
test_off(void)
{
	char text[8];
	static const uint32_t other_bit = 2;
	int fd;
	uint32_t seen_other;
	bool good;

	watch_start();
	pfs_store(&watch_word, 2);
	fd = open("/dev/zero", O_RDONLY);
	ok(fd >= 0 && read(fd, text, 8) == 8 && close(fd) == 0, "calls work while nobody looks");
	is_u64(seen_count, 0, "a bit outside the mask is none");
	pfs_interpose_observe(&watch_observer, &other_bit, (PfsCallMasks) {2, 2, 0});
	access("/", F_OK);
	seen_other = seen_count;
	pfs_interpose_observe(NULL, &other_bit, (PfsCallMasks) {2, 2, 0});
	good = access("/", F_OK) == 0;
	pfs_interpose_observe(&watch_observer, NULL, (PfsCallMasks) {2, 2, 0});
	good = good && access("/", F_OK) == 0 && seen_count == seen_other;
	is_u64(seen_other, 1, "another word and mask");
	ok(good, "no observer, no word: nobody looks");
}

static void
test_errno(void)
{
	bool failed;
	bool succeeded;
	bool refused;

	watch_start();
	watch_errno = E2BIG;
	errno = 0;
	failed = close(-1) == -1 && errno == EBADF;
	errno = 7;
	succeeded = access("/", F_OK) == 0 && errno == 7;
	watch_refuse = true;
	errno = 7;
	refused = access("/", F_OK) == 0 && errno == 7;
	watch_stop();
	ok(failed, "errno of the call stays, whatever the observer does");
	ok(succeeded, "errno of before stays when the call succeeds");
	ok(refused, "and when the observer refuses");
}

static void
test_refused(void)
{
	uint64_t begun_before = begun[PFS_CALL_access];
	uint64_t ended_before = ended[PFS_CALL_access];
	bool good;

	watch_start();
	watch_refuse = true;
	good = access("/", F_OK) == 0 && access("/nonexistent", F_OK) == -1;
	watch_stop();
	ok(good, "calls that are not wanted work");
	is_u64(begun[PFS_CALL_access] - begun_before, 2, "the observer is asked");
	is_u64(ended[PFS_CALL_access] - ended_before, 0, "and not told the end");
}

static void
test_types(void)
{
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < PFS_CALLS; i++)
	{
		wrong += pfs_call_types[i].operation >= PFS_OPERATIONS || number_of(pfs_call_types[i].symbol) != i;
		wrong += pfs_call_types[i].bytes && pfs_call_types[i].target == PFS_TARGET_NONE;
	}
	is_u64(wrong, 0, "every call has an operation, and no name is there twice");
	ok(pfs_call_types[PFS_CALL_pread].bytes && !pfs_call_types[PFS_CALL_fsync].bytes, "which results count bytes");
	is_str(pfs_slot_state_name(PFS_SLOT_DIFFERS), "DIFFERS", "states have names");
	is_str(pfs_slot_state_name((PfsSlotState) 99), "UNKNOWN", "others have none");
}

int
main(void)
{
	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/path", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	pfs_interpose_install();
	test_types();
	test_files();
	test_names();
	test_streams();
	test_sockets();
	test_waits();
	test_off();
	test_errno();
	test_refused();
	rmdir(folder);
	return done_testing();
}
