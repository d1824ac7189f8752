/*
 * statement_hot.h
 *		Begin and end of a statement, to be compiled into those few who see most of them.
 *
 * Most are plain: with a row, timed, without processor time; nothing that was opened since is open, no switch has
 * changed.  Of them less is asked: session->plain says that one may begin so, statement->plain that it may end so.
 */
#ifndef PFS_STATEMENT_HOT_H
#define PFS_STATEMENT_HOT_H

#include "core/statement.h"
#include "core/wait.h"

/* statement.c: what is rare. */
extern void pfs_statement_claim_ids(PfsSession *session);
extern PfsStatement *pfs_statement_take_other(PfsSession *session, bool silent);

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

/* plain: there is one. */
static inline uint64_t
pfs_statement_take_id(PfsSession *session, bool top, bool plain)
{
	uint64_t	id = session->promised_statement;

	if (pfs_likely(id == 0) || !top)
		return plain ? session->statement_ids.next++ : pfs_statement_next_id(session);
	session->promised_statement = 0;
	return id;
}

/* Gives the statement its event id.  The number is the first to be written: see pfs_journal_read_open. */
static inline void
pfs_statement_begin_event(PfsSession *session, PfsStatement *statement, PfsStatementRecord *record)
{
	uint64_t	id = 0;

	if (pfs_likely(statement->recorded))
	{
		if (pfs_unlikely(session->promised_event != 0) && statement->parent == NULL)
		{
			id = session->promised_event;
			session->promised_event = 0;
		}
		else
			id = pfs_next_number(&session->thread->event_id);
	}
	pfs_store(&record->event_id, id);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Adds it to the list of those that are open; NULL: too many.  plain: one is free. */
static inline __attribute__((always_inline)) PfsStatement *
pfs_statement_take(PfsSession *session, bool silent, bool plain)
{
	PfsStatement *statement = session->free;

	if (!plain && pfs_unlikely(statement == NULL || silent))
	{
		statement = pfs_statement_take_other(session, silent);
		if (statement == NULL)
			return NULL;
	}
	else
		session->free = statement->older;
	statement->older = session->newest;
	statement->newer = NULL;
	if (pfs_unlikely(session->newest != NULL))
		session->newest->newer = statement;
	session->newest = statement;
	return statement;
}

/* May one begin in the plain way?  Then nothing has to be asked for that is rare. */
static inline bool
pfs_statement_may_begin_plain(const PfsSession *session)
{
	return session->plain != 0 && session->plain == pfs_load_acquire(&session->arena->changes) &&
		session->free != NULL && session->statement_ids.next != session->statement_ids.end;
}

/* What was waited for since the command came is its own: after it has begun. */
static inline void
pfs_statement_take_waits(PfsSession *session, PfsStatement *statement)
{
	if (pfs_unlikely(session->waits.used > 0))
		pfs_wait_adopt(session, statement);
}

/*
 * plain: in the plain way; then it is not silent, and its parent, if any, has a row.  Else the caller adds what others
 * have.
 */
static inline __attribute__((always_inline)) PfsStatement *
pfs_statement_begin_here(PfsSession *session, const PfsTemplate *template, bool silent, PfsStatement *parent,
						 PfsTicks start, bool plain)
{
	PfsStatement *statement = pfs_statement_take(session, silent, plain);
	PfsStatementRecord *record;

	if (!plain && pfs_unlikely(statement == NULL))
		return NULL;
	memset(&statement->spent, 0, offsetof(PfsStatement, host_base) - offsetof(PfsStatement, spent));
	record = statement->record;
	statement->in_use = true;
	statement->silent = silent;
	statement->recorded = plain || (session->shows && statement->place >= 0 && !silent);
	statement->plain = plain ? session->plain : 0;
	statement->parent = parent;
	statement->since = start;
	statement->waits.used = statement->waits.last = 0;
	pfs_statement_begin_event(session, statement, record);
	pfs_store(&record->epoch, pfs_epoch_of(session->decided));
	pfs_store(&record->start, start);
	pfs_store(&record->statement_id, pfs_statement_take_id(session, parent == NULL, plain));
	pfs_copy_words(&record->query_id, template, sizeof(*template));
	pfs_copy_words(&record->schema, &session->schema, sizeof(record->schema) + sizeof(record->role));
	if (!plain)
		pfs_store(&record->text_length, 0);
	else
	{
		/* in the transaction, unless that began before the parent */
		uint64_t	outer = session->transaction.event_id;
		uint32_t	type = PFS_RECORD_IN_TRANSACTION;

		if (parent != NULL)
		{
			parent->children++;
			pfs_store(&record->level, (uint16_t) (parent->record->level + 1));
			if (outer <= parent->record->event_id)
			{
				outer = parent->record->event_id;
				type = PFS_RECORD_IN_STATEMENT;
			}
		}
		pfs_store(&record->nesting_event_id, outer);
		if (pfs_likely(outer != 0))
			pfs_store(&record->used, template->used | type);
	}
	return statement;
}

_Static_assert(offsetof(PfsSession, role) - offsetof(PfsSession, schema) ==
			   offsetof(PfsStatementRecord, role) - offsetof(PfsStatementRecord, schema), "copied at once");

/* Shows the statement in events_statements_current. */
static inline void
pfs_statement_publish_here(PfsSession *session, PfsStatement *statement)
{
	pfs_store_release(&session->open_slots[statement->place], statement->slot);
}

/* Its text stands there already; it is fresh. */
static inline void
pfs_statement_text_put(PfsSession *session, PfsStatementRecord *record, uint64_t position, uint32_t length)
{
	pfs_store(&record->text, (uint32_t) position);
	pfs_store(&record->text_length, length);
	if (pfs_unlikely(position < session->oldest_text))
		session->oldest_text = position;
}

/* --- end --- */

static inline void
pfs_statement_free(PfsSession *session, PfsStatement *statement)
{
	PfsStatement **list = pfs_likely(statement->place >= 0) ? &session->free : &session->free_unplaced;

	statement->older = *list;
	*list = statement;
}

/* Takes the statement's slot out of the table: it may be written again. */
static inline void
pfs_statement_hide(PfsSession *session, const PfsStatement *statement)
{
	if (pfs_likely(statement->place >= 0))
		pfs_store(&session->open_slots[statement->place], PFS_NO_SLOT);
}

/*
 * The record joins those that have ended: its slot changes places with the oldest one.  A statement
 * without a slot is copied to that.
 */
static inline __attribute__((always_inline)) uint64_t
pfs_statement_append(PfsSession *session, PfsStatement *statement, bool placed)
{
	PfsThread  *thread = session->thread;
	uint64_t	number = pfs_load(&thread->ended) + 1;
	uint16_t   *place = &session->order[number & session->ring_mask];
	uint32_t	oldest = pfs_load(place);

	if (pfs_unlikely(oldest >= session->slots))
		oldest = session->arena->sizes.statement_stack; /* damaged */
	if (placed)
	{
		pfs_store(place, statement->slot);
		statement->slot = (uint16_t) oldest;
		statement->record = session->records + oldest;
	}
	else
		pfs_record_copy(session->records + oldest, statement->record);
	pfs_store_release(&thread->ended, number);
	if (placed)
		pfs_store(&session->open_slots[statement->place], PFS_NO_SLOT);
	/* whatever is written to the slot of the oldest comes after its number is gone */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return number;
}

/* May it end in the plain way?  It is off stage, and the newest, so nothing that it has opened is open. */
static inline bool
pfs_statement_is_plain(const PfsSession *session, const PfsStatement *statement)
{
	return statement->plain == pfs_load_acquire(&session->arena->changes) && session->newest == statement &&
		session->running == statement->parent && statement->waits.used == 0;
}

/* Ends such a statement, now or when it paused: *end says when it did.  True: it is time to sum. */
static inline __attribute__((always_inline)) bool
pfs_statement_end_plain(PfsSession *session, PfsStatement *statement, PfsTicks *end)
{
	PfsThread  *thread = session->thread;
	PfsStatementRecord *record = statement->record;
	PfsStatement *older = statement->older;
	PfsTicks	wait = statement->spent;
	uint64_t	number;

	if (pfs_likely(statement->since != 0))
	{
		*end = pfs_max(*end, statement->since);
		wait += *end - statement->since;
	}
	else
		*end = statement->paused_at;
	wait += wait == 0;			/* ended within one tick: still a timed event */
	pfs_store(&record->end, *end);
	pfs_store(&record->wait, wait);
	pfs_store(&record->end_event_id, pfs_load(&thread->event_id));
	number = pfs_statement_append(session, statement, true);
	statement->in_use = false;
	session->newest = older;
	if (pfs_unlikely(older != NULL))
		older->newer = NULL;
	if (pfs_unlikely(statement->parent != NULL))
		statement->parent->children--;
	statement->older = session->free;
	session->free = statement;
	return pfs_unlikely(number - pfs_load(&thread->summed) >= PFS_UNSUMMED);
}

#endif							/* PFS_STATEMENT_HOT_H */
