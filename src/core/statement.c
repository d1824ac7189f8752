/*
 * statement.c
 *		Statement events: from open to the summaries and histories.
 */
#include "core/statement.h"

#include "core/history.h"
#include "core/rollup.h"
#include "core/wait.h"

#define STATEMENT_ID_BLOCK 64

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

/* A new thread starts with the slots in order: stack places first, the rest for the history. */
static void
take_over_slots(PfsSession *session)
{
	session->slots_of = session->thread->thread_id;
	memset(session->tally_count, 0, sizeof(session->tally_count));
	memset(session->place_used, 0, sizeof(session->place_used));
	for (uint32_t i = 0; i < session->arena->sizes.statement_stack; i++)
		session->free_slot[i] = i;
}

static int32_t
free_stack_place(PfsSession *session)
{
	if (pfs_unlikely(session->slots_of != session->thread->thread_id))
		take_over_slots(session);
	if (pfs_unlikely(!pfs_thread_has_statements(session->arena, session->thread)))
		return -1;
	for (uint32_t i = 0; i < session->arena->sizes.statement_stack; i++)
		if (!session->place_used[i])
			return (int32_t) i;
	return -1;
}

/* Takes the statement's slot out of the table, under the lock: it may be written again. */
static void
hide(PfsSession *session, const PfsStatement *statement)
{
	uint32_t   *shown = &pfs_thread_shown(session->arena, session->thread)[statement->place];

	if (pfs_likely(pfs_load(shown) != statement->slot) || !pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	pfs_store(shown, PFS_NO_SLOT);
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

/* Gives the statement its place in the thread's stack, and so the memory for its event. */
static void
place_event(PfsSession *session, PfsStatement *statement)
{
	statement->place = free_stack_place(session);
	statement->event = &statement->own_event;
	if (statement->place < 0)
		return;
	session->place_used[statement->place] = 1;
	statement->slot = session->free_slot[statement->place];
	statement->event = pfs_thread_statement(session->arena, session->thread, statement->slot);
	hide(session, statement);
}

/* The parent is the transaction if that began inside the parent statement, or if there is none. */
static void
set_nesting(const PfsSession *session, PfsStatement *statement)
{
	PfsEventHead *head = &statement->event->head;
	const PfsTransaction *transaction = &session->transaction;
	const PfsStatement *parent = statement->parent;
	uint64_t	id = 0;
	uint8_t		type = PFS_NESTING_NONE;

	while (parent != NULL && !parent->recorded)
		parent = parent->parent;
	if (parent != NULL)
	{
		id = parent->event->head.event_id;
		type = PFS_NESTING_STATEMENT;
	}
	if (transaction->open && transaction->recorded && transaction->event->head.event_id > id)
	{
		id = transaction->event->head.event_id;
		type = PFS_NESTING_TRANSACTION;
	}
	pfs_store(&head->nesting_event_id, id);
	pfs_store(&head->nesting_type, type);
}

/* Gives the statement its event id. */
static void
begin_event(PfsSession *session, PfsStatement *statement, uint32_t gate)
{
	PfsThread  *thread = session->thread;

	statement->recorded = false;
	pfs_store(&statement->event->head.event_id, 0);
	if ((gate & PFS_WANTS(STATEMENTS_CURRENT)) == 0)
		return;
	if (statement->place < 0)
	{
		if (pfs_thread_has_statements(session->arena, thread))
			pfs_lose(session->arena, PFS_LOSS_NESTED);
		return;
	}
	statement->recorded = true;
	if (session->promised_event != 0 && statement->parent == NULL)
	{
		pfs_store(&statement->event->head.event_id, session->promised_event);
		session->promised_event = 0;
	}
	else
	{
		pfs_add(&thread->event_id, 1);
		pfs_store(&statement->event->head.event_id, pfs_load(&thread->event_id));
	}
	set_nesting(session, statement);
}

/*
 * The slot is shown nowhere until it is published, so no sequence lock is needed; single words
 * are stored atomically because a reader may still look at the event that was here before.
 */
static void
fill_event(const PfsSession *session, PfsStatementEvent *event, uint32_t class, bool timed,
		   PfsTicks start)
{
	const PfsThread *thread = session->thread;

	pfs_store(&event->head.thread_id, thread->thread_id);
	pfs_store(&event->head.end_event_id, 0);
	pfs_store(&event->head.timer_start, start);
	pfs_store(&event->head.timer_end, 0);
	pfs_store(&event->head.timer_wait, 0);
	pfs_store(&event->head.state, PFS_EVENT_RUNNING);
	pfs_store(&event->head.timed, timed);
	pfs_store(&event->head.encoding, (uint8_t) thread->encoding);
	pfs_store(&event->head.user, thread->user);
	pfs_store(&event->query_id, 0);
	pfs_store(&event->used, 0);
	pfs_store(&event->digest, PFS_DIGEST_NONE);
	pfs_store(&event->sqlstate, 0);
	pfs_store(&event->schema, 0);
	pfs_store(&event->object, 0);
	pfs_store(&event->text_length, 0);
	pfs_store(&event->message_length, 0);
	pfs_store(&event->role, 0);
	pfs_store(&event->class, (uint16_t) class);
}

uint64_t
pfs_statement_promise(PfsSession *session)
{
	if (session->promised_statement == 0)
		session->promised_statement = next_statement_id(session);
	return session->promised_statement;
}

PFS_HOT PfsStatement *
pfs_statement_open(PfsSession *session, uint32_t class, PfsTicks start)
{
	PfsInstrument *instrument = pfs_statement_instrument(session->arena, class);
	uint32_t	gate = pfs_load(&session->arena->gate);
	PfsStatement *statement;
	PfsStatement *parent = session->running;

	if (!pfs_load(&instrument->enabled))
		return NULL;
	statement = free_place(session);
	if (pfs_unlikely(statement == NULL))
	{
		pfs_lose(session->arena, PFS_LOSS_FRAMES);
		return NULL;
	}
	session->open++;
	statement->in_use = true;
	statement->parent = parent;
	statement->children = 0;
	if (parent != NULL)
		parent->children++;
	statement->on_stage_since = start;
	statement->scope = (gate & PFS_WANTS(THREAD)) != 0 ? PFS_SCOPE_THREAD : PFS_SCOPE_GLOBAL;
	statement->wants_digest = (gate & PFS_WANTS(DIGEST)) != 0;
	statement->host_query = NULL;
	statement->host_caller = NULL;
	statement->host_flags = 0;
	statement->host_rows = statement->host_broken_rows = 0;
	statement->cpu = 0;
	if (pfs_unlikely((gate & PFS_WANTS(STATEMENTS_CPU)) != 0))
		statement->cpu = pfs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	statement->waits.used = statement->waits.last = 0;
	place_event(session, statement);
	fill_event(session, statement->event, class, pfs_load(&instrument->timed) != 0, start);
	pfs_store(&statement->event->level,
			  parent != NULL ? (uint16_t) (parent->event->level + 1) : (uint16_t) 0);
	if (parent == NULL && session->promised_statement != 0)
	{
		pfs_store(&statement->event->statement_id, session->promised_statement);
		session->promised_statement = 0;
	}
	else
		pfs_store(&statement->event->statement_id, next_statement_id(session));
	begin_event(session, statement, gate);
	if (parent == NULL && session->waits.used > 0)
		pfs_wait_adopt(session, statement);
	return statement;
}

PFS_HOT void
pfs_statement_text_set(PfsSession *session, PfsStatement *statement, uint32_t role,
					   const char *text, size_t length)
{
	if (statement->place < 0)
		return;
	length = pfs_min(length, (size_t) session->arena->sizes.sql_text_length);
	pfs_copy_bytes(pfs_statement_text(statement->event), text, length);
	pfs_store(&statement->event->text_length, (uint32_t) length);
	pfs_store(&statement->event->role, role);
}

void
pfs_statement_message_set(PfsSession *session, PfsStatement *statement, const char *message,
						  size_t length)
{
	if (statement->place < 0)
		return;
	length = pfs_min(length, (size_t) PFS_MESSAGE_LENGTH);
	pfs_copy_bytes(pfs_statement_text(statement->event) + session->arena->sizes.sql_text_length,
				   message, length);
	pfs_store(&statement->event->message_length, (uint32_t) length);
}

void
pfs_statement_unlist(PfsStatement *statement)
{
	statement->recorded = false;
	pfs_store(&statement->event->head.event_id, 0);
}

PFS_HOT void
pfs_statement_publish(PfsSession *session, PfsStatement *statement)
{
	PfsThread  *thread = session->thread;

	if (!statement->recorded || !pfs_enter_recording(session))
		return;
	pfs_store(&statement->event->head.epoch, pfs_load_acquire(&session->arena->reset_now));
	pfs_seq_write_begin(&thread->seq);
	pfs_store(&pfs_thread_shown(session->arena, thread)[statement->place], statement->slot);
	pfs_seq_write_end(&thread->seq);
	pfs_leave_recording(session);
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
	pfs_store(&statement->event->class, (uint16_t) class);
	pfs_store(&statement->event->head.timed, pfs_load(&instrument->timed));
	return true;
}

/* On stage: the processor's time when it began, later by its pauses.  Off stage: the time used. */
static inline void
turn_cpu(PfsStatement *statement)
{
	if (pfs_unlikely(statement->cpu != 0))
		statement->cpu = pfs_max(pfs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - statement->cpu, (uint64_t) 1);
}

void
pfs_statement_resume(PfsStatement *statement, PfsTicks now)
{
	if (statement->on_stage_since != 0)
		return;
	statement->on_stage_since = now;
	turn_cpu(statement);
}

PFS_HOT void
pfs_statement_pause(PfsStatement *statement, PfsTicks now)
{
	PfsEventHead *head = &statement->event->head;

	if (statement->on_stage_since == 0)
		return;
	if (now > statement->on_stage_since)
		pfs_store(&head->timer_wait, head->timer_wait + now - statement->on_stage_since);
	pfs_store(&head->timer_end, pfs_max(now, head->timer_start));
	statement->on_stage_since = 0;
	turn_cpu(statement);
}

/* A cursor may outlive the statement that opened it: its parent is then the next one up. */
static void
adopt_children(PfsSession *session, PfsStatement *statement)
{
	PFS_EACH_OPEN(session, child)
	{
		if (child->parent != statement)
			continue;
		child->parent = statement->parent;
		if (child->parent != NULL)
			child->parent->children++;
	}
}

static void
release(PfsSession *session, PfsStatement *statement)
{
	if (statement->place >= 0)
		session->place_used[statement->place] = 0;
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
	if (statement->place >= 0)
		hide(session, statement);
	if (statement->recorded)
		pfs_transaction_forget_parent(session, statement->event->head.event_id);
	release(session, statement);
}

/* Everything a summary wants to know of the event. */
static void
finish_event(PfsSession *session, PfsStatement *statement, PfsTicks end)
{
	PfsStatementEvent *event = statement->event;

	if (statement->on_stage_since != 0)
		pfs_statement_pause(statement, end);
	if (!event->head.timed)
		pfs_store(&event->head.timer_wait, 0);
	else if (event->head.timer_wait == 0)
		pfs_store(&event->head.timer_wait, 1);	/* ended within one tick: still a timed event */
	if (pfs_unlikely(statement->cpu != 0))
		pfs_statement_set(statement, PFS_COUNTER_CPU_TIME, pfs_ns_to_ticks(statement->cpu));
}

/* True: the statement may be worth a sample of its digest. */
static bool
summarise(PfsSession *session, PfsStatement *statement, unsigned bucket)
{
	PfsStatementEvent *event = statement->event;
	uint32_t	class = event->class;
	PfsStatementCell *cell = pfs_cell(session->arena, session->thread, statement->scope,
									  PFS_FAMILY_STATEMENTS,
									  class < session->arena->sizes.statement_classes ? class : 0,
									  sizeof(*cell));

	if (pfs_likely(cell != NULL))
		pfs_statement_stat_add(&cell->stat, event->head.timer_wait, event->counter, event->used);
	if (event->head.timed)
		pfs_add(&pfs_histogram_cell(session->arena, session->thread)[bucket], 1);
	return event->digest != PFS_DIGEST_NONE &&
		pfs_digest_add(session->arena, session->thread, event->digest, event->query_id, event,
					   bucket);
}

/* The event is over: it enters the histories, and leaves the stack unless it is the last top one. */
static void
retire_event(PfsSession *session, PfsStatement *statement)
{
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	PfsEventHead *head = &statement->event->head;

	pfs_store(&head->end_event_id, pfs_load(&thread->event_id));
	pfs_store(&head->epoch, pfs_load_acquire(&arena->reset_now));
	pfs_store(&head->state, PFS_EVENT_ENDED);
	session->free_slot[statement->place] =
		pfs_history_statement(session, statement->event, statement->slot, pfs_load(&arena->gate));
	pfs_store(&pfs_thread_shown(arena, thread)[statement->place],
			  statement->event->level == 0 && statement->place == 0 ? statement->slot : PFS_NO_SLOT);
}

PFS_HOT void
pfs_statement_close(PfsSession *session, PfsStatement *statement, PfsTicks end)
{
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	PfsStatementEvent *event = statement->event;
	unsigned	bucket;
	bool		sample;

	if (!pfs_enter_recording(session))
	{
		release(session, statement);
		return;
	}
	pfs_seq_write_begin(&thread->seq);
	finish_event(session, statement, end);
	if (statement->waits.used > 0)
		pfs_wait_hand_over(session, statement);
	bucket = pfs_bucket_of(event->head.timer_wait);
	sample = summarise(session, statement, bucket);
	if (statement->recorded)
		retire_event(session, statement);
	pfs_seq_write_end(&thread->seq);
	if (pfs_unlikely(sample) && event->digest > PFS_DIGEST_OTHERS && statement->place >= 0)
		pfs_digest_sample(arena, event->digest, pfs_statement_text(event), pfs_text_length(arena, event),
						  event->head.timer_wait, event->head.timer_end);
	pfs_leave_recording(session);
	release(session, statement);
}

/* Remembers where a class is counted; what was remembered for an older state is void. */
static void
remember_tally(PfsSession *session, uint32_t class, PfsStatementCell *cell, uint64_t changes)
{
	if (session->slots_of != session->thread->thread_id)
		take_over_slots(session);
	if (session->tally_changes != changes)
		memset(session->tally_count, 0, sizeof(session->tally_count));
	session->tally_changes = changes;
	session->tally_count[class] = &cell->stat.timer.count;
}

void
pfs_statement_tally(PfsSession *session, uint32_t class, PfsTicks wait)
{
	PfsThread  *thread = session->thread;
	PfsInstrument *instrument = pfs_statement_instrument(session->arena, class);
	/* loaded before the switches it is about */
	uint64_t	changes = pfs_load_acquire(&session->arena->changes);
	uint32_t	gate = pfs_load(&session->arena->gate);
	PfsStatementCell *cell;

	if (!pfs_load(&instrument->enabled) || !pfs_enter_recording(session))
		return;
	cell = pfs_cell(session->arena, thread,
					(gate & PFS_WANTS(THREAD)) != 0 ? PFS_SCOPE_THREAD : PFS_SCOPE_GLOBAL,
					PFS_FAMILY_STATEMENTS, class, sizeof(*cell));
	if (cell != NULL && (wait == 0 || !pfs_load(&instrument->timed)))
	{
		pfs_add(&cell->stat.timer.count, 1);
		if (class < PFS_TALLY_CLASSES && changes == pfs_load(&session->arena->changes))
			remember_tally(session, class, cell, changes);
	}
	else if (cell != NULL)
	{
		pfs_seq_write_begin(&thread->seq);
		pfs_timer_stat_add(&cell->stat.timer, wait);
		pfs_seq_write_end(&thread->seq);
	}
	pfs_leave_recording(session);
}

void
pfs_error_count(PfsSession *session, uint32_t error, bool handled, PfsTicks now)
{
	uint32_t	gate = pfs_load(&session->arena->gate);
	PfsErrorCell *cell;

	if (error >= session->arena->sizes.errors || !pfs_enter_recording(session))
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
	pfs_leave_recording(session);
}

bool
pfs_session_identity(PfsSession *session, PfsRef database, uint32_t database_id, int32_t encoding)
{
	PfsThread  *thread = session->thread;

	if (!pfs_enter_recording(session))
		return false;
	pfs_seq_write_begin(&thread->identity);
	pfs_store(&thread->database_id, database_id);
	pfs_store(&thread->encoding, encoding);
	if (database != 0)
		pfs_store(&thread->database, database);
	pfs_seq_write_end(&thread->identity);
	pfs_leave_recording(session);
	return true;
}

bool
pfs_session_program(PfsSession *session, const char *program, size_t length)
{
	PfsThread  *thread = session->thread;

	if (!pfs_enter_recording(session))
		return false;
	length = pfs_min(length, sizeof(thread->program) - 1);
	pfs_seq_write_begin(&thread->identity);
	pfs_copy_bytes(thread->program, program, length);
	pfs_store(&thread->program[length], '\0');
	pfs_seq_write_end(&thread->identity);
	pfs_leave_recording(session);
	return true;
}

PFS_HOT void
pfs_session_state(PfsSession *session, PfsThreadState state, PfsTicks now)
{
	pfs_store(&session->thread->state, state);
	pfs_store(&session->thread->state_since, now);
}
