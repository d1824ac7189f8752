/*
 * pg_wait.h
 *		What the files about waits call of each other; for src/pg only.
 */
#ifndef PFS_PG_WAIT_H
#define PFS_PG_WAIT_H

#include "core/wait.h"
#include "interpose/interpose.h"
#include "pg/pg_hooks.h"

/* --- pg_wait_events.c: instruments --- */

/* Waits that the server has no event for, in the order of registration. */
typedef enum PfsPgWait
{
	PFS_PG_WAIT_TABLE,
	PFS_PG_WAIT_IDLE,
	PFS_PG_WAIT_DATA_FILE,
	PFS_PG_WAIT_WAL_FILE,
	PFS_PG_WAIT_TEMPORARY_FILE,
	PFS_PG_WAIT_OTHER_FILE,
	PFS_PG_WAIT_CLIENT_SOCKET,
	PFS_PG_WAIT_OTHER_SOCKET,
	PFS_PG_WAIT_UNATTRIBUTED,
	PFS_PG_OWN_WAITS
} PfsPgWait;

extern uint32 pfs_pg_wait_count(void);
extern void pfs_pg_register_waits(PfsArena *arena);

/* Number of the wait with this code of the server; registers one that is new.  UINT32_MAX: none. */
extern uint32 pfs_pg_wait_of_code(uint32 code);

/* What is looked at when a command was answered, and when the next one comes: one line of memory with pfs_awaiting. */
typedef struct PfsPgWaiting
{
	const void *call;			/* in the frame of the observed call under way; NULL = none is */

	/* idle time that is only noted: from the answer to a command to the data of the next one */
	PfsTicks	idle_from;
	PfsWaitCell *idle_cell;		/* where it counts if it is timed, for session.decided; NULL = not known */
	bool		idle_timed;
	bool		idle_open;		/* it is observed just now */
	PfsAwaited	idle_begins;	/* what is awaited then; event 0: it is not noted, but observed */
} PfsPgWaiting;

extern PfsPgWaiting pfs_pg_waiting;

/* Gives names to events of extensions that were met before their name could be asked for. */
extern void pfs_pg_name_waits(void);

static inline void
pfs_pg_name_waits_met(void)
{
	if (pfs_unlikely(pfs_session.nameless))
		pfs_pg_name_waits();
}

/* --- pg_wait.c: the observer of libc calls --- */
extern void pfs_pg_wait_install(void);

/* This process has a thread now, or none any more. */
extern void pfs_pg_wait_attach(void);
extern void pfs_pg_wait_detach(void);

/* The server has told its client that it waits for the next command, at this tick; nothing is owed. */
extern void pfs_pg_wait_idle(PfsTicks now);

/* Switches have changed. */
extern void pfs_pg_wait_switched(void);

/* Calls that receive the client's data pass us: so a command is seen to come, whatever was switched meanwhile. */
extern bool pfs_pg_wait_is_told;

/* The client has been told so, and no command has been seen since. */
static inline bool
pfs_pg_is_idle(void)
{
	return pfs_awaiting.now.waits;
}

/* The client's next command has come. */
extern void pfs_pg_wait_command(void);

static inline void
pfs_pg_wait_over(void)
{
	if (pfs_unlikely(pfs_pg_is_idle()))
		pfs_pg_wait_command();
}

/* Accounts for what was put off; before a statement ends. */
extern void pfs_pg_wait_settle_all(void);

static inline void
pfs_pg_wait_settle(void)
{
	if (pfs_unlikely(pfs_session.unsettled))
		pfs_pg_wait_settle_all();
}

/* --- pg_wait_fd.c: descriptors --- */

typedef enum PfsPgFdKind
{
	PFS_PG_FD_UNKNOWN,
	PFS_PG_FD_FILE,
	PFS_PG_FD_CLIENT,			/* the session's own connection */
	PFS_PG_FD_SOCKET,
	PFS_PG_FD_OTHER				/* pipe, eventfd, ... */
} PfsPgFdKind;

typedef struct PfsPgFd
{
	uint8		kind;			/* PfsPgFdKind */
	uint8		wait;			/* PfsPgWait: what a call on it is without an event of the server */
	uint8		type;			/* PfsWaitObjectType ... */
	uint64		object;			/* ... with this instance; of a file see below */
	uint32		row;			/* of a file, see object.h; 0 = none */
	uint32		use;
	PfsObjectCell *cell;		/* where this thread counts that, as far as is known */
} PfsPgFd;

#define PFS_PG_DESCRIPTORS 4096

/* Owner: this process.  Right for this value of arena->calls_on. */
extern PfsPgFd pfs_pg_fds[PFS_PG_DESCRIPTORS];
extern uint32 pfs_pg_fds_since;

extern PfsPgFd *pfs_pg_fd_ask(int fd, bool ask);

/* What a descriptor is, asking the kernel if need be (and ask); good until the next call. */
static inline PfsPgFd *
pfs_pg_fd(int fd, bool ask)
{
	PfsPgFd    *entry = &pfs_pg_fds[(unsigned) fd % PFS_PG_DESCRIPTORS];

	return pfs_likely((unsigned) fd < PFS_PG_DESCRIPTORS && entry->kind != PFS_PG_FD_UNKNOWN &&
					  pfs_pg_fds_since == pfs_load(&pfs_session.arena->calls_on))
		? entry : pfs_pg_fd_ask(fd, ask);
}

/* PfsPgWait of a file name. */
extern PfsPgWait pfs_pg_wait_of_path(const char *path);

extern PfsPgFd *pfs_pg_fd_opened(int fd, const char *path);
extern void pfs_pg_fd_closing(int fd);
extern void pfs_pg_fd_forget_all(void);

/* --- pg_wait_lock.c: heavyweight locks --- */

/* Describes the lock this process is about to wait for; false if there is none. */
extern bool pfs_pg_lock_object(PfsWaitObject *object);
extern void pfs_pg_lock_begin(const PfsWaitObject *object, PfsTicks start);
extern void pfs_pg_lock_end(const PfsWaitObject *object, PfsTicks start, PfsTicks end, bool granted);
extern void pfs_pg_lock_names_install(void);

/* --- pg_wait_sampler.c: where calls are not timed --- */

/* Are the summaries fed by the sampler? */
extern bool pfs_pg_waits_sampled;
extern void pfs_pg_sampler_install(void);

#endif							/* PFS_PG_WAIT_H */
