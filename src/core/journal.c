/*
 * journal.c
 *		Room for texts, and reading of journals.  Records are written by statement.c.
 */
#include "core/journal.h"

void
pfs_journal_clear(PfsArena *arena, PfsThread *thread)
{
	if (!pfs_thread_has_statements(arena, thread))
		return;
	for (uint32_t i = 0; i < arena->sizes.statement_stack; i++)
		pfs_store(&thread->open[i], PFS_NO_SLOT);
	for (uint32_t i = 0; i < pfs_journal_slots(arena); i++)
		pfs_store(&pfs_journal_records(arena, thread)[i].event_id, 0);
	pfs_store(&thread->ended, 0);
	pfs_store(&thread->summing, 0);
	pfs_store_release(&thread->summed, 0);	/* readers load this one first */
	pfs_store(&thread->text_next, 0);
}

char *
pfs_journal_text_room(const PfsArena *arena, PfsThread *thread, uint32_t length, uint64_t *position)
{
	uint64_t	at = pfs_load(&thread->text_next);
	uint32_t	place = (uint32_t) at & (arena->journal_texts - 1);

	if (place + length > arena->journal_texts)
	{
		at += arena->journal_texts - place; /* texts lie in one piece */
		place = 0;
	}
	pfs_store(&thread->text_next, at + length);
	/* before the first byte is written: pairs with pfs_journal_read_texts */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*position = at;
	return pfs_journal_texts(arena, thread) + place;
}

/* --- readers --- */

/* May a record still be read when this many had ended after it was copied?  The next one may be half written. */
static inline bool
survives(const PfsArena *arena, uint64_t number, uint64_t ended)
{
	return number <= ended && ended + 1 < number + arena->journal_ring;
}

bool
pfs_journal_read(const PfsArena *arena, PfsThread *thread, uint64_t number, PfsStatementRecord *to)
{
	if (number == 0 || !survives(arena, number, pfs_load_acquire(&thread->ended)))
		return false;
	pfs_record_copy(to, pfs_journal_record(arena, thread, number));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return survives(arena, number, pfs_load(&thread->ended));
}

bool
pfs_journal_unsummed(const PfsArena *arena, PfsThread *thread, uint64_t *first, uint32_t *count,
					 PfsStatementRecord *to)
{
	uint64_t	readable = arena->journal_ring - 2;	/* see survives */

	*count = 0;
	if (!pfs_thread_has_statements(arena, thread))
		return true;
	for (int i = 0; i < PFS_READ_RETRIES; i++)
	{
		uint64_t	owner = pfs_load_acquire(&thread->thread_id);
		uint64_t	summed = pfs_load_acquire(&thread->summed);
		uint64_t	ended = pfs_load_acquire(&thread->ended);
		uint32_t	found = 0;

		if (ended < summed)
			continue;			/* the slot has a new owner, or is damaged */
		*first = pfs_max(summed, ended - pfs_min(ended, readable)) + 1;
		while (*first + found <= ended && pfs_journal_read(arena, thread, *first + found, &to[found]))
			found++;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (pfs_load(&thread->thread_id) != owner)
			continue;			/* a new owner may have been writing what looks old enough */
		if (*first + found > ended)
		{
			*count = found;
			return true;
		}
		/* overrun: what is missing was summed meanwhile */
	}
	return false;
}

/* Does a statement stand in this slot that is open, if one of so many have ended? */
static inline bool
may_be_open(const PfsArena *arena, uint32_t slot, uint64_t ended)
{
	return slot >= arena->journal_ring || slot == pfs_journal_slot(arena, ended + 1);
}

/*
 * An open statement's number tells whether its slot has served another one meanwhile: it is read first, and
 * again at last, because it is the first word that the other one writes.
 */
bool
pfs_journal_read_open(const PfsArena *arena, PfsThread *thread, uint32_t place, PfsStatementRecord *to)
{
	const uint16_t *open = &thread->open[place];

	for (int i = 0; i < PFS_READ_RETRIES && pfs_thread_has_statements(arena, thread); i++)
	{
		uint32_t	slot = pfs_load_acquire(open);
		uint64_t	ended = pfs_load_acquire(&thread->ended);
		const PfsStatementRecord *record = pfs_journal_records(arena, thread) + slot;
		uint64_t	event_id;

		if (slot >= pfs_journal_slots(arena))
			return false;
		if (may_be_open(arena, slot, ended))
		{
			event_id = pfs_load_acquire(&record->event_id);
			pfs_record_copy(to, record);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			if (pfs_load(open) == slot && pfs_load(&record->event_id) == event_id && to->event_id == event_id &&
				may_be_open(arena, slot, pfs_load(&thread->ended)))
				return event_id != 0;
		}
		else if (pfs_load(open) == slot)
			return false;		/* it has ended, and no other has begun */
		pfs_cpu_pause();
	}
	return false;
}

bool
pfs_journal_read_last(const PfsArena *arena, PfsThread *thread, PfsStatementRecord *to)
{
	for (int i = 0; i < PFS_READ_RETRIES && pfs_thread_has_statements(arena, thread); i++)
	{
		uint64_t	number = pfs_load_acquire(&thread->ended);

		/* nested ones are behind it only while it runs: then they were the last of the one before */
		while (number > 0 && pfs_journal_read(arena, thread, number, to))
		{
			if (to->level == 0 && to->event_id != 0)
				return true;
			number--;
		}
		if (number == 0 || !survives(arena, number, pfs_load(&thread->ended)))
			return false;
	}
	return false;
}

/* *length is 0 if the text is not there any more. */
static void
read_text(const PfsArena *arena, PfsThread *thread, uint32_t position, uint32_t *length, uint32_t limit,
		  char *to)
{
	*length = pfs_journal_text_left(arena, thread, position, *length, limit);
	pfs_copy_bytes(to, pfs_journal_texts(arena, thread) + (position & (arena->journal_texts - 1)), *length);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	*length = pfs_journal_text_left(arena, thread, position, *length, limit);
}

void
pfs_journal_read_texts(const PfsArena *arena, PfsThread *thread, PfsStatementRecord *record, char *text,
					   char *message)
{
	read_text(arena, thread, record->text, &record->text_length, arena->sizes.sql_text_length, text);
	if ((record->used & PFS_RECORD_FAILED) == 0)
		record->message_length = 0;
	read_text(arena, thread, record->message, &record->message_length, PFS_MESSAGE_LENGTH, message);
}
