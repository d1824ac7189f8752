/*
 * history.c
 *		Rings of ended events.
 */
#include "core/history.h"

#include "core/journal.h"
#include "core/operation.h"
#include "core/patience.h"
#include "core/wait_block.h"

static PfsLongStatement *
long_statement(const PfsArena *arena, uint64_t position)
{
	return PFS_AT(arena, arena->statements_long, PfsLongStatement) +
		position % arena->sizes.statements_history_long;
}

/* Small rings take small blocks, so that one session does not hold much of the ring. */
static __attribute__((noinline)) void
claim_block(PfsClaim *claim, PfsLongRing *ring, uint32_t size)
{
	uint64_t	block = pfs_max(1u, pfs_min((uint32_t) PFS_LONG_BLOCK, size / 128));

	claim->next = pfs_add_shared(&ring->next, block);
	claim->end = claim->next + block;
}

static inline uint64_t
claim_position(PfsClaim *claim, PfsLongRing *ring, uint32_t size)
{
	if (pfs_unlikely(claim->next == claim->end || claim->next + size <= pfs_load(&ring->next)))
		claim_block(claim, ring, size);
	return claim->next++;
}

/* Takes the row for writing; false when a slower or newer writer has it. */
static bool
begin_row(uint64_t *stamp, uint64_t position)
{
	uint64_t	seen = pfs_load(stamp);

	return (seen & 1) == 0 && seen < 2 * position + 1 &&
		pfs_cas64(stamp, &seen, 2 * position + 1);
}

bool
pfs_long_row_write(uint64_t *stamp, uint64_t position, const void *record, size_t bytes)
{
	if (!begin_row(stamp, position))
		return false;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	pfs_copy_words(stamp + 1, record, bytes);
	pfs_store_release(stamp, 2 * position + 2);
	return true;
}

/* Rows of one round of a ring, one after the other: most often they are as the round before has left them. */
typedef struct Round
{
	uint64_t	back;			/* from what is written at first to what was left then ... */
	uint64_t	again;			/* ... all bits; 0 in the first round: they are empty */
} Round;

static inline Round
round_of(uint64_t position, uint32_t size)
{
	return (Round) {.back = 2 * (uint64_t) size - 1,.again = position >= size ? UINT64_MAX : 0};
}

/* As begin_row. */
static inline __attribute__((always_inline)) bool
begin_next_row(uint64_t *stamp, uint64_t position, const Round *round)
{
	uint64_t	taken = 2 * position + 1,
				before = (taken - round->back) & round->again;

	return pfs_likely(pfs_cas64(stamp, &before, taken)) || begin_row(stamp, position);
}

/* A long ring of records without texts: a stamp and the record, row by row. */
typedef struct Ring
{
	PfsLongRing *positions;
	char	   *rows;
	uint32_t	size;
	size_t		bytes;
} Ring;

static Ring
transactions_ring(PfsArena *arena)
{
	return (Ring) {&arena->transactions_long_ring, PFS_AT(arena, arena->transactions_long, char),
		arena->sizes.transactions_history_long, sizeof(PfsTransactionEvent)};
}

static Ring
waits_ring(PfsArena *arena)
{
	return (Ring) {&arena->waits_long_ring, PFS_AT(arena, arena->waits_long, char),
		arena->sizes.waits_history_long, sizeof(PfsLongWait) - sizeof(uint64_t)};
}

static Ring
lock_waits_ring(PfsArena *arena)
{
	return (Ring) {&arena->lock_waits_ring, PFS_AT(arena, arena->lock_waits_long, char),
		arena->sizes.lock_waits_history, sizeof(PfsLockWait)};
}

/* bytes: how much of the record is worth copying. */
static void
add_long(PfsSession *session, PfsClaim *claim, Ring ring, const void *record, size_t bytes)
{
	uint64_t	position;

	if (ring.size == 0)
		return;
	position = claim_position(claim, ring.positions, ring.size);
	if (!pfs_long_row_write((uint64_t *) (ring.rows + position % ring.size * (sizeof(uint64_t) + ring.bytes)), position, record,
							bytes))
		pfs_lose(session->arena, PFS_LOSS_HISTORY_LONG);
}

/* Room for a text that does not cross a block; blocks are larger than the longest text. */
static uint64_t
claim_text(PfsArena *arena, PfsClaim *claim, uint32_t length)
{
	uint64_t	position;

	/* the second: the ring has come round to this block, it is another session's now */
	if (claim->end - claim->next < length ||
		claim->end + arena->text_ring_bytes <= pfs_load(&arena->statements_text_ring.next))
	{
		/* blocks begin at multiples of their size, a power of two */
		claim->next = pfs_add_shared(&arena->statements_text_ring.next, arena->text_block) &
			~(uint64_t) (arena->text_block - 1);
		claim->end = claim->next + arena->text_block;
	}
	position = claim->next;
	claim->next += length;
	return position;
}

static char *
text_at(const PfsArena *arena, uint64_t position)
{
	return PFS_AT(arena, arena->statements_long_text, char) + position % arena->text_ring_bytes;
}

static uint64_t
hash_text(const char *text, size_t length, uint64_t hash)
{
	const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
	const char *end = text + length;
	uint64_t	word;

	hash += length;
	for (; end - text >= 8; text += 8)
	{
		memcpy(&word, text, 8);
		hash = (hash ^ word) * odd;
	}
	for (; text < end; text++)
		hash = (hash ^ (unsigned char) *text) * odd;
	return hash;
}

/* Check sum of a row's text and message. */
static uint32_t
check_sum(const char *text, uint32_t text_length, const char *message, uint32_t message_length)
{
	uint64_t	hash = hash_text(text, text_length, 0);

	return (uint32_t) (hash_text(message, message_length, hash) >> 32);
}

void
pfs_event_of_record(const PfsThread *thread, const PfsStatementRecord *record, bool running,
					PfsStatementEvent *event)
{
	pfs_record_copy(&event->record, record);
	event->thread_id = pfs_load(&thread->thread_id);
	event->text_position = 0;
	event->check_sum = 0;
	event->user = pfs_load(&thread->user);
	event->running = running;
	event->encoding = (uint8_t) pfs_load(&thread->encoding);
}

/* A text of the journal; none if it is not there any more. */
static const char *
journal_text(const PfsArena *arena, PfsThread *thread, uint32_t position, uint32_t limit, uint32_t *length)
{
	*length = pfs_journal_text_left(arena, thread, position, *length, limit);
	return pfs_journal_texts(arena, thread) + (position & (arena->journal_texts - 1));
}

static void
copy_event(PfsStatementEvent *to, const PfsStatementEvent *from)
{
	pfs_record_copy(&to->record, &from->record);
	pfs_copy_words(to, from, offsetof(PfsStatementEvent, record));
}

/* Text and message of a statement go to the text ring: *position, and their check sum. */
static uint32_t
put_texts(PfsArena *arena, PfsClaim *claim, const char *text, uint32_t text_length, const char *message,
		  uint32_t message_length, uint64_t *position)
{
	*position = claim_text(arena, claim, text_length + message_length);
	__atomic_thread_fence(__ATOMIC_RELEASE);	/* pairs with the reader's second look at the claims */
	pfs_copy_bytes(text_at(arena, *position), text, text_length);
	pfs_copy_bytes(text_at(arena, *position) + text_length, message, message_length);
	return check_sum(text, text_length, message, message_length);
}

/* Writes the texts of a row: one that may be shared, or that of a statement that failed with its message. */
static PFS_COLD void
put_new_texts(PfsArena *arena, PfsThread *thread, PfsLongClaims *claims, const PfsStatementRecord *record,
			  PfsLongText *known, uint64_t from, PfsStatementEvent *event)
{
	uint32_t	text_length = record->text_length;
	uint32_t	message_length = (record->used & PFS_RECORD_FAILED) != 0 ? record->message_length : 0;
	const char *text = journal_text(arena, thread, record->text, arena->sizes.sql_text_length, &text_length);
	const char *message = journal_text(arena, thread, record->message, PFS_MESSAGE_LENGTH, &message_length);
	uint64_t	position = 0;
	uint32_t	sum = 0;

	if (text_length + message_length > 0)
		sum = put_texts(arena, &claims->texts, text, text_length, message, message_length, &position);
	if (text_length > 0 && (record->used & PFS_RECORD_FAILED) == 0)
		*known = (PfsLongText) {.from = from,.position = position,.length = text_length,.check_sum = sum};
	if ((record->used & PFS_RECORD_FAILED) != 0)
		pfs_store(&event->record.message_length, message_length);
	pfs_store(&event->record.text_length, text_length);
	pfs_store(&event->text_position, position);
	pfs_store(&event->check_sum, sum);
}

/* What the rows of one thread, written one after the other, have in common. */
typedef struct StatementRows
{
	PfsArena   *arena;
	PfsThread  *thread;
	PfsLongClaims *claims;
	uint64_t	thread_id;
	uint64_t	text_next;
	uint64_t	text_oldest;	/* a text before that is not referred to any more */
	PfsRef		user;
	Round		round;
	uint8_t		encoding;
} StatementRows;

/*
 * A text that many statements of the session share is there once, as long as it is among the youngest quarter
 * of the ring: so it lasts as long as the texts that are written now, but for that quarter.  from: its position in
 * the journal.
 */
static inline bool
is_there(const StatementRows *rows, const PfsLongText *known, uint64_t from, uint32_t length)
{
	return known->from == from && known->length == length && known->position >= rows->text_oldest;
}

/*
 * Claims positions for so many rows that are written one after the other, or the most that may be claimed at once, if
 * none is left that is still to be had.  The result: behind the last one of those that stand side by side.
 */
static uint64_t
claim_positions(PfsClaim *claim, PfsLongRing *ring, uint32_t size, uint64_t wanted)
{
	if (claim->next == claim->end || claim->next + size <= pfs_load(&ring->next))
	{
		wanted = pfs_min(pfs_min(wanted, (uint64_t) PFS_LONG_BLOCK), (uint64_t) pfs_max(1u, size / 4));
		claim->next = pfs_add_shared(&ring->next, wanted);
		claim->end = claim->next + wanted;
	}
	return pfs_min(claim->end, claim->next + size - claim->next % size);
}

/* Those before that have been written over, or will be soon. */
static inline uint64_t
oldest_text(const PfsArena *arena)
{
	uint64_t	next = pfs_load(&arena->statements_text_ring.next);

	return next - pfs_min(next, arena->text_ring_bytes / 4);
}

static inline __attribute__((always_inline)) void
put_statement(StatementRows *rows, const PfsStatementRecord *record, PfsLongStatement *row, uint64_t position)
{
	PfsStatementEvent *event = &row->event;
	PfsLongText *known = &rows->claims->known[record->digest % PFS_LENGTH(rows->claims->known)];
	uint64_t	from = rows->text_next - ((uint32_t) rows->text_next - record->text);

	if (pfs_unlikely(!begin_next_row(&row->stamp, position, &rows->round)))
	{
		pfs_lose(rows->arena, PFS_LOSS_HISTORY_LONG);
		return;
	}
	/* pairs with the reader's second look at the stamp */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	pfs_record_copy(&event->record, record);
	pfs_store(&event->thread_id, rows->thread_id);
	pfs_store(&event->user, rows->user);
	pfs_store(&event->encoding, rows->encoding);	/* and it is never "running" */
	if (pfs_likely((record->used & PFS_RECORD_FAILED) == 0 && is_there(rows, known, from, record->text_length)))
	{
		pfs_store(&event->text_position, known->position);
		pfs_store(&event->check_sum, known->check_sum);
	}
	else
	{
		put_new_texts(rows->arena, rows->thread, rows->claims, record, known, from, event);
		rows->text_oldest = oldest_text(rows->arena);	/* a small ring may have come round in this batch */
	}
	pfs_store_release(&row->stamp, 2 * position + 2);
}

PFS_HOT __attribute__((noinline)) void
pfs_history_statements(PfsArena *arena, PfsThread *thread, PfsLongClaims *claims, uint64_t first, uint64_t last)
{
	StatementRows rows = {.arena = arena,.thread = thread,.claims = claims,
		.thread_id = pfs_load(&thread->thread_id),.text_next = pfs_load(&thread->text_next),
		.text_oldest = oldest_text(arena),
		.user = pfs_load(&thread->user),.encoding = (uint8_t) pfs_load(&thread->encoding)};
	uint32_t	size = arena->sizes.statements_history_long;
	PfsLongStatement *row = NULL;
	uint64_t	position = claims->rows.next,	/* row's; those up to the end stand side by side, and are claimed */
				end = position; /* first it is asked whether what was claimed earlier is still to be had */

	if (size == 0)
		return;
	while (first <= last)
	{
		uint64_t	side_by_side = pfs_min(last, first | (arena->journal_ring - 1));

		for (const PfsStatementRecord *record = pfs_journal_record(arena, thread, first); first <= side_by_side; record++, first++)
		{
			if (pfs_unlikely((record->used & PFS_RECORD_LONG) == 0 || record->event_id == 0))
				continue;
			if (pfs_unlikely(position == end))
			{
				claims->rows.next = position;
				end = claim_positions(&claims->rows, &arena->statements_long_ring, size, last - first + 1);
				position = claims->rows.next;
				row = long_statement(arena, position);
				rows.round = round_of(position, size);
			}
			put_statement(&rows, record, row++, position++);
		}
	}
	claims->rows.next = position;
}

void
pfs_event_of_transaction(const PfsThread *thread, const PfsTransactionRecord *record, PfsTransactionEvent *event)
{
	bool		ended = record->outcome != PFS_TRANSACTION_ACTIVE;

	*event = (PfsTransactionEvent)
	{
		.head =
		{
			.thread_id = pfs_load(&thread->thread_id),.event_id = record->event_id,
				.end_event_id = ended ? record->end_event_id : 0,.nesting_event_id = record->nesting_event_id,
				.timer_start = record->start,.timer_end = ended ? record->end : 0,
				.timer_wait = ended ? pfs_transaction_ticks(record, record->end) : 0,.epoch = record->epoch,
				.state = record->event_id == 0 ? PFS_EVENT_EMPTY : ended ? PFS_EVENT_ENDED : PFS_EVENT_RUNNING,
				.nesting_type = record->nesting_event_id != 0 ? PFS_NESTING_STATEMENT : PFS_NESTING_NONE,
				.timed = record->timed,.encoding = (uint8_t) pfs_load(&thread->encoding),
				.user = pfs_load(&thread->user)
		},
		.trx_id = record->trx_id,.outcome = record->outcome,.read_only = record->read_only,
			.isolation = record->isolation,.autocommit = record->autocommit
	};
	if (!record->has_more)
		return;
	event->savepoints = record->savepoints;
	event->rollbacks_to_savepoint = record->rollbacks_to_savepoint;
	event->releases_of_savepoint = record->releases_of_savepoint;
	event->gid_length = (uint32_t) record->gid_length;
	memcpy(event->gid, record->gid, sizeof(event->gid));
}

PFS_COLD void
pfs_history_transaction(PfsSession *session, const PfsTransactionRecord *record)
{
	PfsTransactionEvent event;

	pfs_event_of_transaction(session->thread, record, &event);
	add_long(session, &session->transactions_long, transactions_ring(session->arena), &event,
			 event.gid_length > 0 ? sizeof(event) : offsetof(PfsTransactionEvent, gid));
}

static inline __attribute__((always_inline)) void
put_wait(PfsArena *arena, uint64_t thread_id, PfsRef user, const PfsWaitRecord *record, PfsLongWait *row, uint64_t position,
		 const Round *round)
{
	if (pfs_unlikely(!begin_next_row(&row->stamp, position, round)))
	{
		pfs_lose(arena, PFS_LOSS_HISTORY_LONG);
		return;
	}
	__atomic_thread_fence(__ATOMIC_RELEASE);
	pfs_store(&row->thread_id, thread_id);
	pfs_store(&row->user, user);
	pfs_copy_words(&row->record, record, sizeof(*record));
	pfs_store_release(&row->stamp, 2 * position + 2);
}

PFS_HOT __attribute__((noinline)) void
pfs_history_waits(PfsArena *arena, PfsThread *thread, PfsClaim *claim, uint64_t until)
{
	uint32_t	size = arena->sizes.waits_history_long;
	uint32_t	ring = pfs_thread_wait_ring(&arena->sizes);
	uint64_t	thread_id = pfs_load(&thread->thread_id);
	PfsRef		user = pfs_load(&thread->user);
	uint64_t	ended = pfs_min(pfs_load(&thread->waits_ended), until),
				number = pfs_load(&thread->waits_copied);

	if (number >= ended || size == 0)
		return;
	number = pfs_max(number, ended - pfs_min(ended, (uint64_t) ring));	/* damaged */
	while (number < ended)
	{
		uint32_t	place = (uint32_t) (number % ring);
		uint64_t	end = claim_positions(claim, &arena->waits_long_ring, size, ended - number);
		uint64_t	position = claim->next;
		uint64_t	count = pfs_min(pfs_min(end - position, ended - number),
								(uint64_t) (PFS_WAIT_BLOCK - place % PFS_WAIT_BLOCK));
		const PfsWaitRecord *record = pfs_thread_wait_row(arena, thread, place);
		PfsLongWait *row = PFS_AT(arena, arena->waits_long, PfsLongWait) + position % size;
		Round		round = round_of(position, size);

		for (const PfsWaitRecord *last = record + count; record < last; record++)
			put_wait(arena, thread_id, user, record, row++, position++, &round);
		claim->next = position;
		number += count;
	}
	pfs_store_release(&thread->waits_copied, ended);
}

void
pfs_event_of_wait(const PfsArena *arena, const PfsWaitRecord *record, uint64_t thread_id, PfsRef user,
				  PfsWaitEvent *event)
{
	*event = (PfsWaitEvent)
	{
		.head =
		{
			.thread_id = thread_id,.event_id = record->event_id,.end_event_id = record->end_event_id,
				.nesting_event_id = record->nesting_event_id,.timer_start = record->start,
				.timer_end = record->end,.timer_wait = pfs_wait_ticks(record->start, record->end),
				.epoch = record->epoch,.nesting_type = record->kinds & 0x07,.timed = record->start != 0,
				.state = record->event_id == 0 ? PFS_EVENT_EMPTY
				: record->end_event_id == 0 ? PFS_EVENT_RUNNING : PFS_EVENT_ENDED,
				.user = user
		},
		.object =
		{
			.type = record->kinds >> 4
		},
		.bytes = -1,.wait = record->wait,.operation = PFS_OPERATION_SEMAPHORE
	};
	if (pfs_unlikely(pfs_wait_is_of_lock(record)))
	{
		event->object.mode = record->operation;
		memcpy(event->object.id, record->id, sizeof(event->object.id));
		return;
	}
	event->object.instance = record->object;
	event->operation = record->operation;
	if (record->end_event_id != 0)
		event->bytes = record->bytes;
}

void
pfs_history_lock_wait(PfsSession *session, const PfsLockWait *wait)
{
	add_long(session, &session->lock_waits, lock_waits_ring(session->arena), wait, sizeof(*wait));
}

/* Texts are good unless the ring has been claimed past them. */
static bool
text_survives(const PfsArena *arena, uint64_t position)
{
	uint64_t	next = pfs_load_acquire(&arena->statements_text_ring.next);

	return position + arena->text_ring_bytes >= next;
}

bool
pfs_long_statement_read(PfsArena *arena, uint32_t number, PfsStatementEvent *event, char *text)
{
	PfsLongStatement *row = long_statement(arena, number);

	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint64_t	stamp = pfs_load_acquire(&row->stamp);
		bool		has_text = false;

		if (stamp == 0)
			return false;
		if ((stamp & 1) != 0)
			continue;
		copy_event(event, &row->event);
		if ((event->record.used & PFS_RECORD_FAILED) == 0)
			event->record.message_length = 0;
		if (event->record.text_length <= arena->sizes.sql_text_length &&
			event->record.message_length <= PFS_MESSAGE_LENGTH)
		{
			uint32_t	length = event->record.text_length + event->record.message_length;

			if (event->text_position % arena->text_ring_bytes + length <= arena->text_ring_bytes)
			{
				pfs_copy_bytes(text, text_at(arena, event->text_position), length);
				__atomic_thread_fence(__ATOMIC_ACQUIRE);
				has_text = length > 0 && text_survives(arena, event->text_position) &&
					event->check_sum == check_sum(text, event->record.text_length,
												  text + event->record.text_length,
												  event->record.message_length);
			}
		}
		if (!has_text)
			event->record.text_length = event->record.message_length = 0;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (pfs_load(&row->stamp) == stamp)
			return true;
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return false;
}

uint64_t
pfs_long_row_read(PfsArena *arena, const uint64_t *row, void *record, size_t bytes)
{
	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint64_t	stamp = pfs_load_acquire(row);

		if (stamp == 0)
			return 0;
		if ((stamp & 1) != 0)
			continue;
		pfs_copy_words(record, row + 1, bytes);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (pfs_load(row) == stamp)
			return stamp;
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return 0;
}

static uint64_t
read_long(PfsArena *arena, Ring ring, uint32_t number, void *record)
{
	return pfs_long_row_read(arena, (uint64_t *) (ring.rows + number * (sizeof(uint64_t) + ring.bytes)), record, ring.bytes);
}

bool
pfs_long_transaction_read(PfsArena *arena, uint32_t number, PfsTransactionEvent *event)
{
	return read_long(arena, transactions_ring(arena), number, event) != 0;
}

bool
pfs_long_wait_read(PfsArena *arena, uint32_t number, PfsLongWait *copy)
{
	copy->stamp = read_long(arena, waits_ring(arena), number, &copy->thread_id);
	return copy->stamp != 0;
}

bool
pfs_long_lock_wait_read(PfsArena *arena, uint32_t number, PfsLockWait *wait)
{
	return read_long(arena, lock_waits_ring(arena), number, wait) != 0;
}
