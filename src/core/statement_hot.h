/*
 * statement_hot.h
 *		Begin and end of a statement, to be compiled into those few who see most of them.
 *
 * Most are plain: with a row, timed; nothing that was opened since is open, no switch has
 * changed.  Of them less is asked: session->plain says that one may begin so, statement->plain that it may end so.
 */
#ifndef PFS_STATEMENT_HOT_H
#define PFS_STATEMENT_HOT_H

#include "core/statement.h"
#include "core/wait.h"

/* Of a statement that begins; event 0: it makes no row. */
typedef struct PfsStatementNumbers
{
	uint64_t	event;
	uint64_t	statement;
} PfsStatementNumbers;

/* Where one that begins is written. */
typedef struct PfsStatementRow
{
	PfsStatementRecord *record;
	uint32_t	slot;			/* of the ring, if that is there */
	uint64_t	event_id;		/* as in the numbers */
} PfsStatementRow;

/* statement.c: what is rare. */
extern void pfs_statement_claim_ids(PfsSession *session);
extern PfsStatement *pfs_statement_take_any(PfsSession *session, bool silent);
extern void pfs_statement_leave_ring(PfsSession *session);
extern void pfs_statement_copy_to_ring(PfsSession *session, const PfsStatement *statement);

/* The reset counter's part of what pfs_session_decided returns. */
static inline uint32_t
pfs_epoch_of(uint64_t changes)
{
	return (uint32_t) (changes >> 32);
}

_Static_assert(offsetof(PfsArena, reset_now) == offsetof(PfsArena, changes) + 4 &&
			   __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the upper half");

/* --- begin --- */

static inline uint64_t
pfs_statement_next_id(PfsSession *session)
{
	if (pfs_unlikely(session->statement_ids.next == session->statement_ids.end))
		pfs_statement_claim_ids(session);
	return session->statement_ids.next++;
}

/*
 * plain: a statement id is at hand.  promised: those that are promised are taken, by top-level ones; an event's stays
 * promised to the next that makes a row.
 */
static inline PfsStatementNumbers
pfs_statement_take_numbers(PfsSession *session, PfsThread *thread, bool recorded, bool promised, bool plain)
{
	PfsStatementNumbers numbers = {0};

	if (pfs_unlikely(promised))
	{
		numbers.statement = session->promised_statement;
		session->promised_statement = 0;
		if (recorded)
		{
			numbers.event = session->promised_event;
			session->promised_event = 0;
		}
		session->promised = session->promised_event != 0;
	}
	if (numbers.event == 0 && pfs_likely(recorded))
		numbers.event = pfs_next_number(&thread->event_id);
	if (numbers.statement == 0)
	{
		numbers.statement = plain ? session->statement_ids.next : pfs_statement_next_id(session);
		if (plain)
			pfs_add(&session->statement_ids.next, 1);
	}
	return numbers;
}

/* Is a statement id at hand, so that none has to be claimed? */
static inline bool
pfs_statement_has_id(const PfsSession *session)
{
	return session->statement_ids.next != session->statement_ids.end;
}

/* Slot of the ring in which the next statement that ends is written. */
static inline uint32_t
pfs_statement_next_slot(const PfsSession *session)
{
	return (uint32_t) (pfs_load(&session->thread->ended) + 1) & session->ring_mask;
}

/* It is written where it will stay, if no other one begins. */
static inline PfsStatementRecord *
pfs_statement_enter_ring(PfsSession *session, PfsStatement *statement, uint32_t *slot)
{
	PfsStatementRecord *record;

	*slot = pfs_statement_next_slot(session);
	record = &session->records[*slot];
	statement->record = record;
	session->in_ring = statement;
	return record;
}

/* Another one begins: the ring's slot is free for it. */
static inline void
pfs_statement_make_way(PfsSession *session)
{
	if (session->in_ring != NULL)
		pfs_statement_leave_ring(session);
}

/* Adds it to the list of those that are open; NULL: too many.  plain: one is free, and nothing is in its way; the first stands alone. */
static inline __attribute__((always_inline)) PfsStatement *
pfs_statement_take(PfsSession *session, bool silent, bool first, bool plain, PfsStatementRow *row)
{
	PfsStatement *newest = first && plain ? NULL : session->newest;
	PfsStatement *statement;

	if (first && plain)
		statement = &session->statement[0];
	else if (plain)
	{
		statement = session->free;
		session->free = statement->older;
	}
	else
		statement = pfs_statement_take_any(session, silent);
	if (!plain && pfs_unlikely(statement == NULL))
		return NULL;
	pfs_keep(statement);
	row->record = plain || statement->place >= 0 ? pfs_statement_enter_ring(session, statement, &row->slot) : statement->record;
	session->newest = statement;
	if (first && plain)
		return statement;
	statement->older = newest;
	statement->newer = NULL;
	if (newest != NULL)
		newest->newer = statement;
	return statement;
}

/* May one begin in the plain way?  Then nothing has to be asked for that is rare.  plain: session->plain. */
static inline __attribute__((always_inline)) bool
pfs_statement_may_begin_plain(const PfsSession *session, uint64_t plain, bool nested)
{
	return plain == pfs_load_acquire(&session->arena->changes) &&
		(nested ? session->free != NULL : session->newest == NULL) && pfs_statement_has_id(session);
}

/* What was waited for since the command came is its own: after it has begun. */
static inline void
pfs_statement_take_waits(PfsSession *session, PfsStatement *statement)
{
	if (pfs_unlikely(session->waits.used > 0))
		pfs_wait_adopt(session, statement);
}

/*
 * plain: session->plain, if it begins in the plain way; then it is not silent, and its parent, if any, has a row.  0: the
 * caller adds what others have.  promised: it is a top-level one, and session->promised.  facts: the host's.
 */
static inline __attribute__((always_inline)) PfsStatement *
pfs_statement_begin_here(PfsSession *session, const PfsTemplate *template, uint64_t facts, bool silent,
						 PfsStatement *parent, PfsTicks start, uint64_t plain, bool promised,
						 PfsStatementRow *row)
{
	PfsThread  *thread = session->thread;
	PfsStatementRecord *record;
	PfsStatement *statement = pfs_statement_take(session, silent, parent == NULL, plain != 0, row);
	PfsStatementNumbers numbers;
	bool		recorded;

	if (!plain && pfs_unlikely(statement == NULL))
		return NULL;
	record = row->record;
	memset(&statement->spent, 0, offsetof(PfsStatement, facts) - offsetof(PfsStatement, spent));
	statement->facts = facts;
	if (!plain || parent == NULL)
		statement->host_caller = NULL;
	recorded = plain || (session->shows && statement->place >= 0 && !silent);
	memcpy(&statement->in_use, (const uint8_t[]) {true, recorded, silent, 0}, 4);
	statement->plain = plain;
	if (!plain || parent != NULL)
		statement->parent = parent;
	statement->since = start;
	numbers = pfs_statement_take_numbers(session, thread, recorded, promised, plain != 0);
	row->event_id = numbers.event;
	pfs_store(&record->event_id, numbers.event);	/* the first to be written: see pfs_journal_read_open */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	pfs_store(&record->epoch, pfs_epoch_of(plain ? plain : session->decided));
	pfs_store(&record->start, start);
	pfs_store(&record->statement_id, numbers.statement);
	pfs_copy_words(&record->query_id, template, sizeof(*template));
	if (!plain)
		pfs_store(&record->text_length, 0);
	else
	{
		uint64_t	outer = session->transaction.event_id;

		/* in the transaction, unless that began before the parent */
		if (parent != NULL)
		{
			parent->children++;
			pfs_store(&record->level, (uint16_t) (parent->record->level + 1));
			if (outer <= parent->record->event_id)
			{
				outer = parent->record->event_id;
				pfs_store(&record->used, template->used | PFS_RECORD_IN_STATEMENT);
			}
		}
		pfs_store(&record->nesting_event_id, outer);
	}
	return statement;
}

/* Shows the statement in events_statements_current. */
static inline void
pfs_statement_publish_here(PfsSession *session, int32_t place, uint32_t slot)
{
	pfs_store_release(&session->thread->open[place], (uint16_t) slot);
}

/* Its text stands there already; it is fresh. */
static inline void
pfs_statement_text_put(PfsStatementRecord *record, uint64_t position, uint32_t length)
{
	pfs_store(&record->text, (uint32_t) position);
	pfs_store(&record->text_length, length);
}

/* --- end --- */

extern void pfs_statement_put_back_other(PfsSession *session, PfsStatement *statement);

/* It is free, and not among the open ones any more. */
static inline void
pfs_statement_put_back(PfsSession *session, PfsStatement *statement)
{
	if (session->newest == NULL && statement == &session->statement[0])
		return;
	if (pfs_unlikely(session->newest == NULL || statement->place < 0))
	{
		pfs_statement_put_back_other(session, statement);
		return;
	}
	statement->older = session->free;
	session->free = statement;
}

/* Takes the statement out of the table: its slot may be written again. */
static inline void
pfs_statement_hide(PfsSession *session, const PfsStatement *statement)
{
	if (pfs_likely(statement->place >= 0))
		pfs_store(&session->thread->open[statement->place], PFS_NO_SLOT);
}

/*
 * The record joins those that have ended, among which it stands already, or is copied to.  Where it stood there, a reader
 * sees by its number that it is not open any more.  is_there: it is known to stand there.
 */
static inline __attribute__((always_inline)) uint64_t
pfs_statement_append(PfsSession *session, PfsThread *thread, const PfsStatement *statement, bool is_there)
{
	uint64_t	number = pfs_load(&thread->ended) + 1;

	if (is_there || pfs_likely(session->in_ring == statement))
		session->in_ring = NULL;
	else
		pfs_statement_copy_to_ring(session, statement);
	pfs_store_release(&thread->ended, number);
	/* whatever is written to the slot of the oldest comes after its number is gone */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return number;
}

/* May it end in the plain way?  It is off stage, and the newest, so nothing that it has opened is open. */
static inline bool
pfs_statement_is_plain(const PfsSession *session, const PfsStatement *statement)
{
	return statement->plain == pfs_load_acquire(&session->arena->changes) && session->newest == statement && !session->times_cpu &&
		session->running == statement->parent && statement->waits.used == 0;
}

/* The same of the first one, while nothing is on stage and no other has been open with it: it began alone, if it is plain. */
static inline bool
pfs_statement_is_plain_first(const PfsSession *session, const PfsStatement *first)
{
	return session->in_ring == first && first->plain == pfs_load_acquire(&session->arena->changes) && first->waits.used == 0;
}

/*
 * Ends such a statement, now or when it paused: *end says when it did.  since: the statement's, which the caller has looked
 * at.  is_first: pfs_statement_is_plain_first.  True: it is time to sum.
 */
static inline __attribute__((always_inline)) bool
pfs_statement_end_plain(PfsSession *session, PfsStatement *statement, PfsTicks since, PfsTicks *end, bool is_first)
{
	PfsThread  *thread = session->thread;
	PfsStatementRecord *record = statement->record;
	PfsStatement *older = is_first ? NULL : statement->older;
	PfsTicks	wait = statement->spent;
	uint64_t	number;

	if (pfs_likely(since != 0))
	{
		*end = pfs_max(*end, since);
		wait += *end - since;
	}
	else
		*end = statement->paused_at;
	if (pfs_unlikely(wait == 0))
		wait = 1;				/* ended within one tick: still a timed event */
	pfs_store(&record->end, *end);
	pfs_store(&record->wait, wait);
	pfs_store(&record->end_event, (uint32_t) pfs_load(&thread->event_id));
	number = pfs_statement_append(session, thread, statement, is_first);
	statement->in_use = false;
	session->newest = older;
	if (!is_first)				/* else the next one has its place */
	{
		pfs_statement_hide(session, statement);
		if (older != NULL)
			older->newer = NULL;
		if (statement->parent != NULL)
			statement->parent->children--;
		pfs_statement_put_back(session, statement);
	}
	return pfs_unlikely(number - pfs_load(&thread->summed) >= PFS_UNSUMMED);
}

#endif							/* PFS_STATEMENT_HOT_H */
