/*
 * pg_wait_fd.c
 *		What descriptors are: files by name, the client's socket, other things.
 *
 * The name of a file is known when it is opened.  A descriptor that was opened unseen (inherited,
 * or while nothing was observed) is looked up once, in /proc/self/fd.  Everything known is
 * forgotten when the observation of calls has been off in between.
 */
#include "pg/pg_port.h"

#include <unistd.h>

#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_hooks.h"
#include "pg/pg_wait.h"

#define CALLS_ON_NEVER 0

PfsPgFd		pfs_pg_fds[PFS_PG_DESCRIPTORS];
uint32		pfs_pg_fds_since = CALLS_ON_NEVER;
static int	highest = -1;		/* of those that are known */

static void
count_open(const PfsPgFd *entry, int change)
{
	if (entry->row != 0)
		pfs_file_opened(pfs_arena, entry->row, entry->use, change);
}

void
pfs_pg_fd_forget_all(void)
{
	for (int fd = 0; fd <= highest; fd++)
		count_open(&pfs_pg_fds[fd], -1);
	if (highest >= 0)
		memset(pfs_pg_fds, 0, sizeof(pfs_pg_fds[0]) * (size_t) (highest + 1));
	highest = -1;
	pfs_pg_fds_since = pfs_load(&pfs_arena->calls_on);
}

PfsPgWait
pfs_pg_wait_of_path(const char *path)
{
	if (strstr(path, "pgsql_tmp") != NULL)
		return PFS_PG_WAIT_TEMPORARY_FILE;
	path = pfs_file_relative(path);
	if (strncmp(path, "base/", 5) == 0 || strncmp(path, "global/", 7) == 0 ||
		strncmp(path, "pg_tblspc/", 10) == 0)
		return PFS_PG_WAIT_DATA_FILE;
	if (strncmp(path, "pg_wal/", 7) == 0)
		return PFS_PG_WAIT_WAL_FILE;
	return PFS_PG_WAIT_OTHER_FILE;
}

static PfsPgFd *
entry_of(int fd)
{
	if (fd < 0 || fd >= PFS_PG_DESCRIPTORS)
		return NULL;
	if (pfs_unlikely(pfs_pg_fds_since != pfs_load(&pfs_arena->calls_on)))
		pfs_pg_fd_forget_all();
	highest = Max(highest, fd);
	return &pfs_pg_fds[fd];
}

static void
set_file(PfsPgFd *entry, const char *path)
{
	entry->wait = (uint8) pfs_pg_wait_of_path(path);
	entry->row = pfs_file_find(pfs_arena, path, strlen(path), entry->wait, &entry->use);
	entry->kind = PFS_PG_FD_FILE;
	entry->type = PFS_WAIT_OBJECT_FILE;
	entry->object = (PfsWaitObject) {.row = entry->row,.use = entry->use}.instance;
	count_open(entry, +1);
}

/* Asks the kernel what a descriptor is. */
static void
look_up(PfsPgFd *entry, int fd)
{
	char		link[32];
	char		path[MAXPGPATH];
	ssize_t		length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	entry->kind = PFS_PG_FD_OTHER;
	entry->wait = PFS_PG_WAIT_UNATTRIBUTED;
	if (length <= 0)
		return;
	path[length] = '\0';
	if (strncmp(path, "socket:", 7) == 0)
	{
		bool		client = MyProcPort != NULL && fd == MyProcPort->sock;

		entry->kind = client ? PFS_PG_FD_CLIENT : PFS_PG_FD_SOCKET;
		entry->wait = client ? PFS_PG_WAIT_CLIENT_SOCKET : PFS_PG_WAIT_OTHER_SOCKET;
		entry->type = PFS_WAIT_OBJECT_SOCKET;
		entry->object = client ? pfs_socket_instance(pfs_arena, pfs_session.thread, pfs_session.thread->thread_id)
			: 0;
	}
	else if (path[0] == '/' && strstr(path, " (deleted)") == NULL)
		set_file(entry, path);
}

PFS_COLD PfsPgFd *
pfs_pg_fd_ask(int fd, bool ask)
{
	static PfsPgFd none;
	PfsPgFd    *entry = entry_of(fd);

	if (entry != NULL && entry->kind == PFS_PG_FD_UNKNOWN && ask)
		look_up(entry, fd);
	if (entry != NULL && entry->kind != PFS_PG_FD_UNKNOWN)
		return entry;
	none = (PfsPgFd) {.kind = PFS_PG_FD_OTHER,.wait = PFS_PG_WAIT_UNATTRIBUTED};
	return &none;
}

PfsPgFd *
pfs_pg_fd_opened(int fd, const char *path)
{
	PfsPgFd    *entry = entry_of(fd);

	if (entry == NULL)
		return NULL;
	count_open(entry, -1);		/* closed unseen */
	set_file(entry, path);
	return entry;
}

void
pfs_pg_fd_closing(int fd)
{
	PfsPgFd    *entry = entry_of(fd);

	if (entry == NULL)
		return;
	count_open(entry, -1);
	memset(entry, 0, sizeof(*entry));
}
