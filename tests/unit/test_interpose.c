/*
 * test_interpose.c - patching this program's own slots: states, protection, and who was there before.
 *
 * Linked in several ways (dev.mk), because that decides what a slot holds and how it is protected.
 * Calls themselves: test_interpose_calls.c; signals, processes, threads: test_interpose_signals.c.
 */
#define _GNU_SOURCE
#include "interpose/image.h"
#include "interpose/observer.h"
#include "interpose/page.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define IMPORTS_MAX 256
#define IMPORTS_MIN 8

extern int io_uring_get_events(void *ring) __attribute__((weak));	/* nobody has it */

static PfsImage own;
static PfsImport imports[IMPORTS_MAX]; /* of this program, as far as imports.def names them */
static int protections[IMPORTS_MAX];
static uint32_t imports_count;
static char folder[4096];
static int (*hook_fdatasync)(int);
static int *hook_calls;
static int (**hook_previous)(int);

static int
find_own(struct dl_phdr_info *info, size_t size, void *found)
{
	*(bool *) found = pfs_image_open(&own, info);
	return 1;
}

static void
test_image(void)
{
	PfsImportCursor cursor = {0};
	PfsImport import;
	bool found = false;
	bool versioned = true;
	uint32_t stubs = 0;

	dl_iterate_phdr(find_own, &found);
	ok(found, "the program's dynamic section can be read");
	while (pfs_image_next(&own, &cursor, &import))
	{
		if (number_of(import.symbol) == PFS_CALLS || imports_count == IMPORTS_MAX)
			continue;
		if (pfs_page_protection(import.slot, &protections[imports_count]) != 0)
			protections[imports_count] = -1;
		if (strncmp(import.symbol, "io_uring", 8) != 0)
			versioned = versioned && import.version != NULL &&
				strncmp(import.version, "GLIBC_2.", 8) == 0 && import.library != NULL &&
				strncmp(import.library, "lib", 3) == 0;
		stubs += pfs_image_contains(&own, *import.slot);
		imports[imports_count++] = import;
	}
	ok(imports_count >= IMPORTS_MIN, "it imports calls that are timed");
	printf("# %s: %u slots, %u not resolved, protection %d\n", LINK_WAY, imports_count, stubs,
		   protections[0]);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) /* they have no versions */
	ok(versioned, "versions and libraries are found");
#endif
	ok((stubs > 0) == (strstr(LINK_WAY, "lazy") != NULL), "a lazily bound program holds stubs, others none");
	ok(pfs_image_contains(&own, (void *) test_image), "the program contains its functions");
	ok(!pfs_image_contains(&own, hook_fdatasync), "and no function of a library");
}

static void
test_page(void)
{
	long size = sysconf(_SC_PAGESIZE);
	void **page = mmap(NULL, (size_t) size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void **closed = mmap(NULL, (size_t) size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = memfd_create("sealed", MFD_CLOEXEC);
	void **shared;
	PfsPage state = {0};
	int protection = -1;

	is_u64((uint64_t) pfs_page_write(&state, &page[3], page), 0, "a read-only page can be written");
	ok(page[3] == page, "the pointer is there");
	ok(pfs_page_protection(page, &protection) == 0 && protection == PROT_READ, "the page is read-only again");
	is_u64((uint64_t) pfs_page_write(&state, &closed[0], page), 0, "so can one without any rights");
	ok(pfs_page_protection(closed, &protection) == 0 && protection == PROT_NONE, "which keeps having none");
	ok(pfs_page_protection((void *) 64, &protection) == ENOMEM, "memory that is not mapped is refused");
	is_u64((uint64_t) pfs_page_write(&state, (void **) 64, page), ENOMEM, "and not written");

	/* what cannot be made writable: a shared mapping of a file that was opened for reading */
	if (ftruncate(file, size) != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0)
		return;
	shared = mmap(NULL, (size_t) size, PROT_READ, MAP_SHARED, file, 0);
	if (shared != MAP_FAILED)
		ok(pfs_page_write(&state, &shared[0], page) != 0 && shared[0] == NULL, "a refused mprotect is reported");
	close(file);
}

/* In a child, because a program decides once. */
static void
test_refuse(void)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0)
	{
		PfsSlot slot;
		uint32_t off = 0;
		bool wrong = pfs_interpose_slot(0, &slot);

		pfs_interpose_refuse();
		for (uint32_t i = 0; pfs_interpose_slot(i, &slot); i++)
		{
			off += slot.state == PFS_SLOT_OFF;
			wrong = wrong || (slot.state != PFS_SLOT_OFF && slot.state != PFS_SLOT_NOT_IMPORTED);
		}
		wrong = wrong || pfs_interpose_install() != 0 || off != imports_count;
		watch_start();
		wrong = wrong || access("/", F_OK) != 0 || seen_count != 0;
		watch_stop();
		_exit(wrong);
	}
	waitpid(child, &status, 0);
	is_u64((uint64_t) status, 0, "refused: every import is off, nothing is observed, install does nothing");
}

/* Somebody hooks fdatasync before we come. */
static void
hook_first(void)
{
	char path[sizeof(folder) + 20];
	void *library;

	snprintf(path, sizeof(path), "%s/libhook.so", folder);
	library = dlopen(path, RTLD_NOW);
	if (library == NULL)
	{
		printf("Bail out! %s\n", dlerror());
		exit(1);
	}
	hook_fdatasync = (int (*)(int)) dlsym(library, "hook_fdatasync");
	hook_calls = dlsym(library, "hook_calls");
	hook_previous = dlsym(library, "hook_previous");
}

static void
install_hook(void)
{
	PfsPage page = {0};

	for (uint32_t i = 0; i < imports_count; i++)
		if (strcmp(imports[i].symbol, "fdatasync") == 0)
			pfs_page_write(&page, imports[i].slot, (void *) hook_fdatasync);
}

static void
test_install(void)
{
	uint32_t patched = pfs_interpose_install();
	uint32_t counted = 0;
	uint32_t wrong = 0;
	uint32_t rows[PFS_CALLS] = {0};
	uint32_t missing = 0;
	uint32_t listed = 0;
	PfsSlot slot;

	for (uint32_t i = 0; pfs_interpose_slot(i, &slot); i++)
	{
		listed++;
		counted += slot.state == PFS_SLOT_PATCHED || slot.state == PFS_SLOT_CHAINED;
		wrong += slot.error != 0 || slot.number >= PFS_CALLS || slot.object[0] != '/' ||
			strcmp(slot.symbol, pfs_call_types[slot.number].symbol) != 0 ||
			(slot.address == NULL) != (slot.state == PFS_SLOT_NOT_IMPORTED);
		rows[slot.number]++;
	}
	for (uint32_t i = 0; i < PFS_CALLS; i++)
		missing += rows[i] == 0;
	ok(patched >= IMPORTS_MIN, "slots are patched");
	is_u64(patched, counted, "as many as the list says");
	is_u64(wrong, 0, "every row is complete");
	is_u64(missing, 0, "every name of imports.def has a row");
	is_u64(pfs_interpose_install(), patched, "a second install says the same");
	ok(!pfs_interpose_slot(listed, &slot), "and adds no row");
	ok(find_slot("", "io_uring_submit", &slot) && slot.state == PFS_SLOT_NOT_IMPORTED,
	   "a name that the program does not import says so");
	ok(find_slot("", "io_uring_get_events", &slot) &&
		   (slot.state == PFS_SLOT_UNRESOLVED || slot.state == PFS_SLOT_NOT_IMPORTED),
	   "a name that nobody defines is left alone");
	ok(io_uring_get_events == NULL, "and stays undefined");
	is_u64(pfs_interpose_slots_lost(), 0, "there was room for all");
}

static void
test_protection(void)
{
	uint32_t changed = 0;

	for (uint32_t i = 0; i < imports_count; i++)
	{
		int protection = -2;

		pfs_page_protection(imports[i].slot, &protection);
		changed += protection != protections[i];
	}
	is_u64(changed, 0, "every page is protected as it was");
}

static void
test_chained(void)
{
	PfsSlot slot;
	int before = *hook_calls;
	bool good;

	ok(find_slot("", "fdatasync", &slot) && slot.state == PFS_SLOT_CHAINED, "somebody else's slot is chained");
	watch_start();
	good = fdatasync(-1) == -1 && errno == EBADF;
	watch_stop();
	ok(good, "it works");
	saw("fdatasync", -1, NULL, -1);
	is_u64((uint64_t) (*hook_calls - before), 1, "and its owner is called");
}

/* The slots of a lazily bound program must survive the first call. */
static void
test_not_overwritten(void)
{
	PfsSlot slot;
	uint32_t overwritten = 0;
	PfsPage page = {0};
	void *ours;

	is_u64((uint64_t) syncfs(-1) + 1, 0, "a call that was never made before");
	for (uint32_t i = 0; pfs_interpose_slot(i, &slot); i++)
		overwritten += slot.state == PFS_SLOT_OVERWRITTEN;
	is_u64(overwritten, 0, "no slot has been overwritten");

	if (!ok(find_slot("", "syncfs", &slot), "its slot is listed"))
		return;
	ours = *slot.address;
	pfs_page_write(&page, slot.address, (void *) hook_fdatasync);
	ok(find_slot("", "syncfs", &slot) && slot.state == PFS_SLOT_OVERWRITTEN, "one that is, says so");
	pfs_page_write(&page, slot.address, ours);
	ok(find_slot("", "syncfs", &slot) && slot.state == PFS_SLOT_PATCHED, "and not any more when it is ours again");
}

/* The address of a function: in a program at a fixed address it is that of its own PLT. */
static void
test_function_pointer(void)
{
	int (*volatile pointer)(int) = fsync;
	bool good;

	watch_start();
	good = pointer(-1) == -1 && errno == EBADF;
	watch_stop();
	ok(good, "a call by pointer works");
	saw("fsync", -1, NULL, -1);
}

static void
test_libraries(void)
{
	char path[sizeof(folder) + 20];
	int pair[2];
	void *client;
	int (*call)(int);
	int result;
	PfsSlot slot;

	ok(!find_slot("/libpq.so.99", "poll", &slot), "no library is patched yet");
	snprintf(path, sizeof(path), "%s/libclient.so", folder);
	watch_start();
	client = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	saw("dlopen", -1, path, 1);
	ok(client != NULL, "a library is loaded");
	ok(dlerror() == NULL, "and no error left behind");
	if (client == NULL)
		return;
	ok(find_slot("/libpq.so.99", "poll", &slot) && slot.state == PFS_SLOT_PATCHED,
	   "libpq, which it needs, is patched");
	ok(find_slot("/libpq.so.99", "fdatasync", &slot) && slot.state == PFS_SLOT_DIFFERS,
	   "a slot of it with another function than the program's is left alone");
	ok(!find_slot("/libclient.so", "fsync", &slot), "the library itself is not patched");

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return;
	call = (int (*)(int)) dlsym(client, "client_send");
	watch_start();
	result = call(pair[0]);
	watch_stop();
	is_u64((uint64_t) result, 5, "libpq sends");
	saw("send", pair[0], NULL, 5);
	call = (int (*)(int)) dlsym(client, "client_wait");
	watch_start();
	result = call(pair[1]);
	watch_stop();
	is_u64((uint64_t) result, 1, "libpq waits");
	saw("poll", pair[1], NULL, 1);
	call = (int (*)(int)) dlsym(client, "client_sync");
	watch_start();
	result = call(-1);
	watch_stop();
	ok(result == -1 && seen_count == 0, "what was left alone works, unseen");
	call = (int (*)(int)) dlsym(client, "client_own_sync");
	watch_start();
	result = call(-1);
	watch_stop();
	ok(result == -1 && seen_count == 0, "so does the library's own call");
	close(pair[0]);
	close(pair[1]);

	dlclose(client);
	ok(find_slot("/libpq.so.99", "poll", &slot) && slot.state == PFS_SLOT_PATCHED,
	   "libpq stays when nobody needs it any more");
	client = dlopen(path, RTLD_NOW);
	ok(client != NULL && dlopen(NULL, RTLD_NOW) != NULL && dlopen("libm.so.6", RTLD_NOW) != NULL,
	   "other ways to load work");
	ok(dlopen("/nonexistent/libpq.so.5", RTLD_NOW) == NULL && dlerror() != NULL, "a failure leaves its message");
}

/* Python packages rename the libraries that they bring. */
static void
test_renamed_library(void)
{
	char temporary[] = "/tmp/pfs_interpose_XXXXXX";
	char path[64];
	char command[sizeof(folder) + 100];
	PfsSlot slot;

	if (mkdtemp(temporary) == NULL)
		return;
	snprintf(path, sizeof(path), "%s/libpq-6197da7d.so.5", temporary);
	snprintf(command, sizeof(command), "cp %s/libpq.so.99 %s", folder, path);
	ok(system(command) == 0 && dlopen(path, RTLD_NOW) != NULL, "a renamed libpq is loaded");
	ok(find_slot(path, "poll", &slot) && slot.state == PFS_SLOT_PATCHED, "and patched");
	unlink(path);
	rmdir(temporary);
}

/* What a preloaded library has replaced stays replaced. */
static void
test_preloaded(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	ok(true, "# SKIP sanitizers want to be preloaded first");
#else
	pid_t child = fork();
	int status = -1;

	if (child == 0)
	{
		char library[sizeof(folder) + 20];

		snprintf(library, sizeof(library), "%s/libpreload.so", folder);
		setenv("LD_PRELOAD", library, 1);
		execl("/proc/self/exe", "test_interpose", "preloaded", NULL);
		_exit(2);
	}
	waitpid(child, &status, 0);
	is_u64((uint64_t) status, 0, "a preloaded function is called, and timed");
#endif
}

static int
preloaded_main(void)
{
	PfsSlot slot;
	int result;

	pfs_interpose_install();
	watch_start();
	result = syncfs(-1);
	watch_stop();
	return !(result == 77 && seen_count == 1 && seen[0].result == 77 && find_slot("", "syncfs", &slot) &&
			 slot.state == PFS_SLOT_PATCHED);
}

int
main(int argc, char **argv)
{
	ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	if (argc > 1 && strcmp(argv[1], "preloaded") == 0)
		return preloaded_main();
	folder[length > 0 ? length : 0] = '\0';
	if (strrchr(folder, '/') != NULL)
		*strrchr(folder, '/') = '\0';
	hook_first();
	test_image();
	test_page();
	test_refuse();
	test_preloaded();
	install_hook();
	test_install();
	test_protection();
	test_chained();
	test_not_overwritten();
	test_function_pointer();
	test_libraries();
	test_renamed_library();
	test_protection();
	return done_testing();
}
