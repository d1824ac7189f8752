/*
 * statement.c
 *		Statement events: from open to the summaries and histories.
 */
#include "core/statement.h"

#include "core/history.h"
#include "core/rollup.h"

#define STATEMENT_ID_BLOCK 64

/* Recording must not be entered twice, e.g. from a signal handler: what comes second is counted. */
static bool
enter_recording(PfsSession *session)
{
	if (pfs_unlikely(session->busy))
	{
		pfs_lose(session->arena, PFS_LOSS_LOCKER);
		return false;
	}
	session->busy = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

static void
leave_recording(PfsSession *session)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	session->busy = false;
}

static uint64_t
next_statement_id(PfsSession *session)
{
	PfsClaim   *claim = &session->statement_ids;

	if (claim->next == claim->end)
	{
		claim->next = pfs_add_shared(&session->arena->next_statement_id, STATEMENT_ID_BLOCK) + 1;
		claim->end = claim->next + STATEMENT_ID_BLOCK;
	}
	return claim->next++;
}

static PfsStatement *
free_place(PfsSession *session)
{
	uint32_t	first = session->open;	/* where it is when statements nest strictly */

	if (first >= PFS_OPEN_STATEMENTS)
		return NULL;
	for (uint32_t i = 0; i < PFS_OPEN_STATEMENTS; i++)
	{
		PfsStatement *place = &session->statement[(first + i) % PFS_OPEN_STATEMENTS];

		if (!place->in_use)
			return place;
	}
	return NULL;
}

static int32_t
free_slot(PfsSession *session)
{
	for (uint32_t i = 0; i < session->arena->sizes.statement_stack; i++)
		if (!session->slot_used[i])
			return (int32_t) i;
	return -1;
}

/* The parent is the transaction if that began inside the parent statement, or if there is none. */
static void
set_nesting(const PfsSession *session, PfsStatement *statement)
{
	PfsEventHead *head = &statement->event.head;
	const PfsTransaction *transaction = &session->transaction;
	const PfsStatement *parent = statement->parent;

	while (parent != NULL && !parent->recorded)
		parent = parent->parent;
	head->nesting_event_id = parent != NULL ? parent->event.head.event_id : 0;
	head->nesting_type = parent != NULL ? PFS_NESTING_STATEMENT : PFS_NESTING_NONE;
	if (transaction->open && transaction->recorded &&
		transaction->event.head.event_id > head->nesting_event_id)
	{
		head->nesting_event_id = transaction->event.head.event_id;
		head->nesting_type = PFS_NESTING_TRANSACTION;
	}
}

/* Gives the statement its event id and its place in the thread's stack. */
static void
begin_event(PfsSession *session, PfsStatement *statement, uint32_t gate)
{
	PfsThread  *thread = session->thread;
	int32_t		slot = free_slot(session);

	statement->recorded = false;
	statement->slot = slot;
	if (slot >= 0)
		session->slot_used[slot] = 1;
	if ((gate & PFS_WANTS(STATEMENTS_CURRENT)) == 0)
		return;
	if (slot < 0)
	{
		pfs_lose(session->arena, PFS_LOSS_NESTED);
		return;
	}
	statement->recorded = true;
	pfs_add(&thread->event_id, 1);
	statement->event.head.event_id = pfs_load(&thread->event_id);
	set_nesting(session, statement);
}

PfsStatement *
pfs_statement_open(PfsSession *session, uint32_t class, PfsTicks start)
{
	PfsInstrument *instrument = pfs_statement_instrument(session->arena, class);
	uint32_t	gate = pfs_load(&session->arena->gate);
	PfsStatement *statement;
	PfsStatementEvent *event;

	if (!pfs_load(&instrument->enabled))
		return NULL;
	statement = free_place(session);
	if (pfs_unlikely(statement == NULL))
	{
		pfs_lose(session->arena, PFS_LOSS_FRAMES);
		return NULL;
	}
	session->open++;
	session->last = statement;
	event = &statement->event;
	memset(event, 0, offsetof(PfsStatementEvent, counter));
	event->head.thread_id = session->thread->thread_id;
	event->head.user = session->thread->user;
	event->head.encoding = (uint8_t) session->thread->encoding;
	event->head.state = PFS_EVENT_RUNNING;
	event->head.timed = pfs_load(&instrument->timed);
	event->head.timer_start = start;
	event->class = (uint16_t) class;
	event->statement_id = next_statement_id(session);
	event->database = session->thread->database_id;
	statement->in_use = true;
	statement->parent = session->running;
	statement->children = 0;
	if (statement->parent != NULL)
		statement->parent->children++;
	event->level = statement->parent != NULL ? (uint16_t) (statement->parent->event.level + 1) : 0;
	statement->on_stage_since = start;
	statement->scope = (gate & PFS_WANTS(THREAD)) != 0 ? PFS_SCOPE_THREAD : PFS_SCOPE_GLOBAL;
	statement->wants_digest = (gate & PFS_WANTS(DIGEST)) != 0;
	statement->host_key = NULL;
	statement->host_caller = NULL;
	statement->host_flags = 0;
	statement->host_rows = statement->host_broken_rows = 0;
	statement->cpu_start = 0;
	if (pfs_unlikely((gate & PFS_WANTS(STATEMENTS_CPU)) != 0))
		statement->cpu_start = pfs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	begin_event(session, statement, gate);
	return statement;
}

void
pfs_statement_text_set(PfsSession *session, PfsStatement *statement, const char *text, size_t length)
{
	PfsStatementEvent *slot;

	if (statement->slot < 0)
		return;
	length = pfs_min(length, (size_t) session->arena->sizes.sql_text_length);
	slot = pfs_thread_statement(session->arena, session->thread, (uint32_t) statement->slot);
	if (!enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	pfs_store(&slot->head.state, PFS_EVENT_EMPTY);	/* not a row until published */
	pfs_copy_bytes(pfs_statement_text(slot), text, length);
	pfs_seq_write_end(&session->thread->seq);
	leave_recording(session);
	statement->event.text_length = (uint32_t) length;
}

void
pfs_statement_publish(PfsSession *session, PfsStatement *statement)
{
	PfsStatementEvent *slot;

	if (!statement->recorded || !enter_recording(session))
		return;
	slot = pfs_thread_statement(session->arena, session->thread, (uint32_t) statement->slot);
	statement->event.head.epoch = pfs_load_acquire(&session->arena->reset_now);
	pfs_seq_write_begin(&session->thread->seq);
	pfs_copy_words(slot, &statement->event, offsetof(PfsStatementEvent, counter));
	pfs_seq_write_end(&session->thread->seq);
	leave_recording(session);
}

bool
pfs_statement_refine(PfsSession *session, PfsStatement *statement, uint32_t class)
{
	PfsInstrument *instrument = pfs_statement_instrument(session->arena, class);

	if (!pfs_load(&instrument->enabled))
	{
		pfs_statement_drop(session, statement);
		return false;
	}
	statement->event.class = (uint16_t) class;
	statement->event.head.timed = pfs_load(&instrument->timed);
	return true;
}

void
pfs_statement_resume(PfsStatement *statement, PfsTicks now)
{
	if (statement->on_stage_since == 0)
		statement->on_stage_since = now;
}

void
pfs_statement_pause(PfsStatement *statement, PfsTicks now)
{
	PfsEventHead *head = &statement->event.head;

	if (statement->on_stage_since == 0)
		return;
	if (now > statement->on_stage_since)
		head->timer_wait += now - statement->on_stage_since;
	head->timer_end = pfs_max(now, head->timer_start);
	statement->on_stage_since = 0;
}

/* A cursor may outlive the statement that opened it: its parent is then the next one up. */
static void
adopt_children(PfsSession *session, PfsStatement *statement)
{
	for (uint32_t i = 0; i < PFS_OPEN_STATEMENTS; i++)
	{
		PfsStatement *child = &session->statement[i];

		if (child->in_use && child->parent == statement)
		{
			child->parent = statement->parent;
			if (child->parent != NULL)
				child->parent->children++;
		}
	}
}

static void
release(PfsSession *session, PfsStatement *statement)
{
	if (statement->slot >= 0)
		session->slot_used[statement->slot] = 0;
	statement->in_use = false;
	session->open--;
	if (session->running == statement)
		session->running = statement->parent;
	if (pfs_unlikely(statement->children > 0))
		adopt_children(session, statement);
	if (statement->parent != NULL)
		statement->parent->children--;
}

void
pfs_statement_drop(PfsSession *session, PfsStatement *statement)
{
	if (statement->slot >= 0)
	{
		PfsStatementEvent *slot = pfs_thread_statement(session->arena, session->thread,
													   (uint32_t) statement->slot);

		pfs_store(&slot->head.state, PFS_EVENT_EMPTY);
	}
	release(session, statement);
}

/* Everything a summary wants to know of the event, in private memory. */
static void
finish_event(PfsSession *session, PfsStatement *statement, PfsTicks end)
{
	PfsStatementEvent *event = &statement->event;

	if (statement->on_stage_since != 0)
		pfs_statement_pause(statement, end);
	if (!event->head.timed)
		event->head.timer_wait = 0;
	else if (event->head.timer_wait == 0)
		event->head.timer_wait = 1; /* ended within one tick: still a timed event */
	if (pfs_unlikely(statement->cpu_start != 0))
	{
		uint64_t	used = pfs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - statement->cpu_start;

		pfs_statement_set(statement, PFS_COUNTER_CPU_TIME, pfs_ns_to_ticks(used));
	}
	event->head.state = PFS_EVENT_ENDED;
	event->head.end_event_id = pfs_load(&session->thread->event_id);
	event->head.epoch = pfs_load_acquire(&session->arena->reset_now);
	event->digest_generation = pfs_load(&session->arena->digest_generation);
}

static void
summarise(PfsSession *session, PfsStatement *statement, unsigned bucket)
{
	PfsStatementEvent *event = &statement->event;
	PfsStatementCell *cell = pfs_cell(session->arena, session->thread, statement->scope,
									  PFS_FAMILY_STATEMENTS, event->class, sizeof(*cell));

	if (pfs_likely(cell != NULL))
		pfs_statement_stat_add(&cell->stat, event->head.timer_wait, event->counter, event->used);
	if (event->head.timed)
		pfs_add(&pfs_histogram_cell(session->arena, session->thread)[bucket], 1);
	if (event->digest != PFS_DIGEST_NONE)
		pfs_digest_add(session->arena, session->thread, event->digest, event->query_id, event,
					   bucket);
}

void
pfs_statement_close(PfsSession *session, PfsStatement *statement, PfsTicks end)
{
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	PfsStatementEvent *event = &statement->event;
	PfsStatementEvent *slot = NULL;
	unsigned	bucket;

	finish_event(session, statement, end);
	if (!enter_recording(session))
	{
		release(session, statement);
		return;
	}
	bucket = pfs_bucket_of(event->head.timer_wait);
	if (statement->slot >= 0)
		slot = pfs_thread_statement(arena, thread, (uint32_t) statement->slot);
	pfs_seq_write_begin(&thread->seq);
	summarise(session, statement, bucket);
	if (statement->recorded)
	{
		/* a nested statement leaves the stack; the last top one stays to be seen */
		pfs_statement_event_copy(slot, event);
		if (event->message_length > 0)
			pfs_copy_bytes(pfs_statement_text(slot) + arena->sizes.sql_text_length,
						   statement->message, event->message_length);
		pfs_history_statement(session, slot, pfs_load(&arena->gate));
		if (event->level > 0 || statement->slot > 0)
			pfs_store(&slot->head.state, PFS_EVENT_EMPTY);
	}
	pfs_seq_write_end(&thread->seq);
	if (event->digest > PFS_DIGEST_OTHERS && slot != NULL)
		pfs_digest_sample(arena, event->digest, pfs_statement_text(slot), event->text_length,
						  event->head.timer_wait, event->head.timer_end);
	leave_recording(session);
	release(session, statement);
}

void
pfs_statement_tally(PfsSession *session, uint32_t class, PfsTicks wait)
{
	PfsInstrument *instrument = pfs_statement_instrument(session->arena, class);
	uint32_t	gate = pfs_load(&session->arena->gate);
	PfsStatementCell *cell;

	if (!pfs_load(&instrument->enabled) || !enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	cell = pfs_cell(session->arena, session->thread,
					(gate & PFS_WANTS(THREAD)) != 0 ? PFS_SCOPE_THREAD : PFS_SCOPE_GLOBAL,
					PFS_FAMILY_STATEMENTS, class, sizeof(*cell));
	if (cell != NULL)
		pfs_timer_stat_add(&cell->stat.timer, pfs_load(&instrument->timed) ? wait : 0);
	pfs_seq_write_end(&session->thread->seq);
	leave_recording(session);
}

void
pfs_error_count(PfsSession *session, uint32_t error, bool handled, PfsTicks now)
{
	uint32_t	gate = pfs_load(&session->arena->gate);
	PfsErrorCell *cell;

	if (error >= session->arena->sizes.errors || !enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	cell = pfs_cell(session->arena, session->thread,
					(gate & PFS_WANTS(THREAD)) != 0 ? PFS_SCOPE_THREAD : PFS_SCOPE_GLOBAL,
					PFS_FAMILY_ERRORS, pfs_error_cell_number(session->arena, error), sizeof(*cell));
	if (cell != NULL)
	{
		pfs_add(handled ? &cell->stat.handled : &cell->stat.raised, 1);
		if (cell->stat.first_seen == 0)
			pfs_store(&cell->stat.first_seen, now);
		pfs_store(&cell->stat.last_seen, now);
	}
	pfs_seq_write_end(&session->thread->seq);
	leave_recording(session);
}

void
pfs_session_state(PfsSession *session, PfsThreadState state, PfsTicks now)
{
	pfs_store(&session->thread->state, state);
	pfs_store(&session->thread->state_since, now);
}
