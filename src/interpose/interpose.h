/*
 * interpose.h
 *		The libc boundary: import slots of the running executable are patched, so that every
 *		blocking call passes through us.
 *
 * imports.def names the calls.  A wrapper asks one word whether anybody wants to know; if so it
 * tells the observer before and after, keeps errno, and chains to what the slot held before.
 * Nothing here knows PostgreSQL, allocates while calls are made, or fails the caller.  Slots stay
 * patched for the life of the process; the library must never be unloaded.
 */
#ifndef PFS_INTERPOSE_H
#define PFS_INTERPOSE_H

#include "core/base.h"
#include "core/operation.h"

/* Numbers of the calls, in the order of imports.def. */
typedef enum PfsCallNumber
{
#define PFS_IMPORT(result, symbol, parameters, arguments, operation, target, fd, path) PFS_CALL_##symbol,
#include "interpose/imports.def"
#undef PFS_IMPORT
	PFS_CALLS
} PfsCallNumber;

/* What the descriptor or path of a call names. */
typedef enum PfsCallTarget
{
	PFS_TARGET_NONE,			/* semaphore, sleep, process: the call has no object */
	PFS_TARGET_FD,				/* fd: a file, or a socket: the observer finds out */
	PFS_TARGET_SOCKET,			/* fd: certainly a socket */
	PFS_TARGET_PATH				/* path */
} PfsCallTarget;

typedef struct PfsCallType
{
	const char *symbol;
	uint8_t		operation;		/* PfsOperation */
	uint8_t		target;			/* PfsCallTarget */
	bool		bytes;			/* a result that is not negative counts bytes */
} PfsCallType;

extern const PfsCallType pfs_call_types[PFS_CALLS];

/* One call under way; lives on the stack of its wrapper. */
typedef struct PfsCall
{
	uint32_t	number;			/* PfsCallNumber */
	int			fd;				/* -1 = none */
	const char *path;			/* NULL = none; only valid during the call */
	uint64_t	observer;		/* the observer's own; nothing on entry */
} PfsCall;

/*
 * Who wants to know.  begin returns false when this call is of no interest: end is then not
 * called.  Nor is it when a signal handler jumps out of the call.  Both may be called in a signal
 * handler and inside each other; they must not fail, block or allocate.  result is what the call
 * returned (-1 = failed, errno is still set, for a pointer 0 = failed and 1 = success); errno is
 * restored after begin and after end.  Only calls of the thread that installed are observed (in a
 * child: of the one that forked), so that the observer needs no protection against threads that
 * libraries start.
 *
 * received is called when a call that receives (PFS_OPERATION_RECV) has returned data of the descriptor that
 * is awaited (pfs_interpose_await), whether it was observed otherwise or not.  It keeps errno by itself, and returns what it is
 * given, the call's result.
 */
typedef struct PfsCallObserver
{
	bool		(*begin) (PfsCall *call);
	void		(*end) (PfsCall *call, int64_t result);
	int64_t		(*received) (int64_t result);
	void	   *const *own;		/* NULL, or a function of the same parameters for each of PFS_OWN_CALLS, see below */
} PfsCallObserver;

/*
 * The first calls of imports.def, those of each command, may be made by functions of the observer's: while calls on
 * sockets are wanted these stand in for them.  What they observe is nobody else's business, neither begin and end nor
 * received are called; they keep errno.  They make the real call, or jump to the one that is observed in the general
 * way, before they have done anything.
 */
#define PFS_OWN_CALLS (PFS_CALL_send + 1)

extern void *pfs_call_real[PFS_CALLS];	/* written before the first slot of the call is patched; never changed */
extern void pfs_call_set_real(uint32_t number, void *real);
extern void *const pfs_call_observed[PFS_OWN_CALLS];

/*
 * Written by pfs_interpose_observe; read by every call.  Calls of each command, of which nothing is wanted, read the
 * first line only.  Others than the wrappers read nothing but the real calls, which stand where the wrapper has been.
 */
typedef struct PfsWatch
{
	PFS_ALIGNED const uint32_t *word;
	uint32_t	mask[3];		/* see MASK */
	uint32_t	value;			/* of the word, while which data of fd is only told */
	int64_t		(*received) (int64_t result);
	int			fd;				/* that is awaited */
	void	   *real[PFS_OWN_CALLS];	/* of pfs_call_real */

	void	   *own[PFS_OWN_CALLS]; /* what stands in for these; NULL = nothing */
	const PfsCallObserver *observer;
	int		   *error;			/* the address of that thread's errno, which never moves */
} PfsWatch;

extern PfsWatch pfs_watch;

/*
 * The word that a wrapper asks first: nothing is observed while (*word & mask) is 0, and for calls
 * on sockets (PFS_TARGET_SOCKET) while (*word & socket_mask) is 0; received while (*word & received_mask)
 * is 0.  Until set, a word that is always 0.  Any process, at any time.
 */
typedef struct PfsCallMasks
{
	uint32_t	calls;
	uint32_t	sockets;
	uint32_t	received;
} PfsCallMasks;

extern void pfs_interpose_observe(const PfsCallObserver *observer, const uint32_t *word, PfsCallMasks masks);

/*
 * The descriptor whose data is told by received; nobody but the thread that installed reads from it.  -1: none.
 * While the word that is asked first has this value, calls that receive from it are not observed otherwise: a
 * value that says so of all sockets, or PFS_NO_WORD.  event: a word of the process's, see PfsAwaited.
 */
#define PFS_NO_WORD UINT32_MAX
extern void pfs_interpose_await(int fd, uint32_t value, const uint32_t *event);

/* The thread waits for that data: written by the observer at once. */
typedef struct PfsAwaited
{
	uint32_t	event;			/* calls that wait for events are not observed while *event is this; 0 = they are */
	bool		noted;			/* there was one */
	bool		waits;			/* the observer's own */
	uint8_t		spare[2];
} PfsAwaited;

/* With what is looked at then. */
typedef struct PfsAwaiting
{
	PfsAwaited	now;
	const uint32_t *event;		/* of pfs_interpose_await */
	const void *thread;			/* the one that is observed: written once, by pfs_wrappers_own_thread */
} PfsAwaiting;

extern PfsAwaiting pfs_awaiting;

typedef enum PfsSlotState
{
	PFS_SLOT_PATCHED,
	PFS_SLOT_CHAINED,			/* patched; somebody else's function was there, and is called */
	PFS_SLOT_NOT_IMPORTED,		/* the object does not import the symbol */
	PFS_SLOT_UNRESOLVED,		/* the dynamic linker does not know the symbol */
	PFS_SLOT_PROTECTED,			/* the page could not be made writable */
	PFS_SLOT_OVERWRITTEN,		/* patched, but somebody has changed the slot since */
	PFS_SLOT_OFF,				/* wait_timing = off */
	PFS_SLOT_DIFFERS			/* left alone: holds another function than the first slot of the symbol */
} PfsSlotState;

typedef struct PfsSlot
{
	const char *object;			/* path of the executable or library */
	const char *symbol;			/* as in the object's symbol table, without version */
	uint32_t	number;			/* PfsCallNumber */
	PfsSlotState state;
	int			error;			/* errno of a refused mprotect, else 0 */
	void	  **address;		/* of the slot; NULL = none */
} PfsSlot;

/*
 * Patches the executable's slots, all that imports.def names; returns how many are patched.  Once,
 * before any thread or child exists (children inherit).  Libraries that the executable loads later
 * and that block on their own slots (libpq) are patched when its dlopen returns.
 */
extern uint32_t pfs_interpose_install(void);

/* Records that nothing is patched on purpose: every import shows PFS_SLOT_OFF. */
extern void pfs_interpose_refuse(void);

/*
 * Patches libraries that came by another way than the executable's dlopen.  Not in a signal
 * handler.  Nothing before install or after refuse.
 */
extern void pfs_interpose_libraries(void);

/* Slots that were left alone because there was no room to remember them. */
extern uint32_t pfs_interpose_slots_lost(void);

/* Slot by number, as it is now in this process (states are checked anew); false after the last. */
extern bool pfs_interpose_slot(uint32_t number, PfsSlot *slot);

extern const char *pfs_slot_state_name(PfsSlotState state);

#endif							/* PFS_INTERPOSE_H */
