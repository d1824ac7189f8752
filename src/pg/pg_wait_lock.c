/*
 * pg_wait_lock.c
 *		Heavyweight locks: what is locked, who stands in the way, and their history.
 *
 * When a wait begins the lock manager's lock of that partition is tried once, as the server itself
 * takes it at the same place to log lock waits; if it is not free, the blocker stays unknown.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_tablespace_d.h"
#include "commands/defrem.h"
#include "core/history.h"
#include "core/table_objects.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_text.h"
#include "pg/pg_wait.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/wait_event.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Owner: this process.  The wait under way, with its blocker as it was at the beginning. */
static PfsLockWait history;

bool
pfs_pg_lock_object(PfsWaitObject *object)
{
	LOCK	   *lock = MyProc->waitLock;
	LOCKTAG    *tag;

	if (lock == NULL)
		return false;
	tag = &lock->tag;			/* cannot change while somebody waits for it */
	*object = (PfsWaitObject)
	{
		.type = PFS_WAIT_OBJECT_LOCK,
		.mode = (uint8) MyProc->waitLockMode,
		.instance = LockTagHashCode(tag)
	};
	memcpy(object->id, tag, sizeof(*tag));
	return true;
}

StaticAssertDecl(sizeof(LOCKTAG) == sizeof(((PfsWaitObject *) NULL)->id), "a lock's name is its tag");

static inline LOCKTAG
tag_of(const PfsWaitObject *object)
{
	LOCKTAG		tag;

	memcpy(&tag, object->id, sizeof(tag));
	return tag;
}

/* --- who stands in the way --- */

/* Slot number of the blocker, or -1; its pid in *pid.  Bounded, never waits. */
static int
find_blocker(uint32 *pid)
{
	LOCK	   *lock = MyProc->waitLock;
	LWLock	   *partition;
	PGPROC	   *blocker;

	*pid = 0;
	if (lock == NULL)
		return -1;
	partition = LockHashPartitionLock(LockTagHashCode(&lock->tag));
	if (LWLockHeldByMe(partition) || !LWLockConditionalAcquire(partition, LW_SHARED))
	{
		pfs_lose(pfs_arena, PFS_LOSS_LOCK_WAITS);
		return -1;
	}
	blocker = MyProc->waitLock == lock ? pfs_pg_lock_holder(lock, MyProc) : NULL;
	*pid = blocker != NULL ? (uint32) blocker->pid : 0;
	LWLockRelease(partition);
	return blocker != NULL && *pid != 0 ? (int) pfs_pg_number_of_proc(blocker) : -1;
}

/* Copies the blocker's statement: the one it is in, or its last one. */
static void
describe_blocker(int slot, uint32 pid)
{
	PfsStatementRecord record;
	uint32		kept = Min(pfs_arena->sizes.sql_text_length, (uint32) PFS_LOCK_TEXT_LENGTH);
	PfsThread  *thread;

	if (slot < 0 || (uint32) slot >= pfs_arena->sizes.threads)
		return;
	thread = pfs_thread(pfs_arena, (uint32) slot);
	if (pfs_load(&thread->owner) != pid)
		return;
	history.blocking_thread_id = pfs_load(&thread->thread_id);
	history.blocking_user = pfs_load(&thread->user);
	for (uint32 place = 0; place < pfs_arena->sizes.statement_stack; place++)
		if (pfs_journal_read_open(pfs_arena, thread, place, &record) && record.level == 0)
		{
			history.blocking_running = true;
			break;
		}
	if (!history.blocking_running && !pfs_journal_read_last(pfs_arena, thread, &record))
		return;
	/* text and message are cut to the room by the reader; an owner that changed makes another thread id */
	if (record.text_length > kept)
		record.text_length = kept;
	record.used &= ~PFS_RECORD_FAILED;
	pfs_journal_read_texts(pfs_arena, thread, &record, history.blocking_text, history.blocking_text);
	history.blocking_statement_id = record.statement_id;
	history.blocking_query_id = record.query_id;
	history.blocking_encoding = (uint8) pfs_load(&thread->encoding);
	history.blocking_role = record.role;
	history.blocking_text_length = (uint16) record.text_length;
}

static void
describe_waiter(void)
{
	PfsStatement *statement = pfs_waiting_statement(&pfs_session);
	PfsThread  *thread = pfs_session.thread;
	const char *text;
	size_t		length;

	history.thread_id = thread->thread_id;
	history.pid = thread->owner;
	history.user = thread->user;
	history.database = thread->database;
	history.encoding = (uint8) thread->encoding;
	if (statement == NULL)
	{
		/* its command is being parsed */
		if (pfs_session.phase == PFS_PHASE_COMMAND)
			history.statement_id = pfs_statement_promise(&pfs_session);
		if (debug_query_string != NULL)
		{
			PfsPgText	text;

			pfs_pg_text_of_message(&text, debug_query_string, true);
			history.role = text.role;
			history.text_length = (uint16) pfs_pg_clip(text.data, text.length, PFS_LOCK_TEXT_LENGTH);
			memcpy(history.text, text.data, history.text_length);
		}
		return;
	}
	history.statement_id = statement->record->statement_id;
	history.query_id = statement->record->query_id;
	if (statement->place < 0)
		return;
	history.role = statement->record->role;
	text = pfs_statement_text(&pfs_session, statement, &length);
	history.text_length = (uint16) Min(length, PFS_LOCK_TEXT_LENGTH);
	memcpy(history.text, text, history.text_length);
}

void
pfs_pg_lock_begin(const PfsWaitObject *object, PfsTicks start)
{
	uint32		pid = 0;
	int			slot;

	memset(&history, 0, offsetof(PfsLockWait, text));
	if (!pfs_history_wants_lock_waits(&pfs_session))
		return;
	slot = find_blocker(&pid);
	history.blocking_pid = pid;
	history.object = *object;
	history.start = start;
	describe_waiter();
	describe_blocker(slot, pid);
}

/* Waits for a table's lock are also counted for that table. */
static void
count_table_lock(const PfsWaitObject *object, PfsTicks wait)
{
	PfsTableKey key = {object->id[0], object->id[1], 0};
	uint32		use;
	uint32		row;

	if (tag_of(object).locktag_type != LOCKTAG_RELATION || object->id[1] < FirstNormalObjectId)
		return;
	row = pfs_table_find(pfs_arena, &key, &use);
	if (row != 0)
		pfs_table_lock_add(pfs_arena, row, use, object->mode, wait);
}

void
pfs_pg_lock_end(const PfsWaitObject *object, PfsTicks start, PfsTicks end, bool granted)
{
	PfsTicks	wait = start != 0 ? Max(end - start, 1) : 0;

	count_table_lock(object, wait);
	if (history.thread_id == 0)
		return;
	history.wait = wait;
	history.granted = granted;
	history.epoch = pfs_load_acquire(&pfs_arena->reset_now);
	pfs_history_lock_wait(&pfs_session, &history);
	history.thread_id = 0;
}

/* --- names, for readers --- */

/*
 * Schema and name of a relation of this database, or false.  It may be dropped between two look-ups:
 * what has no schema any more is gone.
 */
static bool
name_of_relation(Oid relation, PfsHostObject *object)
{
	char	   *name = OidIsValid(relation) ? get_rel_name(relation) : NULL;
	char	   *schema = name != NULL ? get_namespace_name(get_rel_namespace(relation)) : NULL;

	if (schema == NULL)
		return false;
	object->schema = schema;
	object->name = name;
	return true;
}

static void
name_locked_relation(const PfsWaitObject *lock, PfsHostObject *object)
{
	static char other[64];
	Oid			database = lock->id[0];
	Oid			relation = lock->id[1];

	if (database != InvalidOid && database != MyDatabaseId)
		snprintf(other, sizeof(other), "relation %u of database %u", relation, database);
	else if (name_of_relation(relation, object))
		return;
	else
		snprintf(other, sizeof(other), "relation %u", relation);
	object->name = other;
}

/* A table of which only locks were waited for. */
static void
table_names(const PfsTableKey *key, PfsHostObject *object)
{
	if (key->database == MyDatabaseId)
		name_of_relation(key->table, object);
}

/* Numbers of an extension's are of one database; database 0: nothing may be looked up. */
static const char *
index_type(uint32_t method, uint32_t database)
{
	switch (method)
	{
		case BTREE_AM_OID:
			return "btree";
		case HASH_AM_OID:
			return "hash";
		case GIST_AM_OID:
			return "gist";
		case GIN_AM_OID:
			return "gin";
		case SPGIST_AM_OID:
			return "spgist";
		case BRIN_AM_OID:
			return "brin";
		default:
			return OidIsValid(method) && OidIsValid(database) && database == MyDatabaseId ? get_am_name(method) : NULL;
	}
}

static void
lock_object_names(const PfsWaitObject *lock, PfsHostObject *object)
{
	static char type[32];
	static char rest[NAMEDATALEN + 64];
	LOCKTAG		tag = tag_of(lock);
	unsigned	locktag = tag.locktag_type;
	LOCKMETHODID method = tag.locktag_lockmethodid;

	object->instance = LockTagHashCode(&tag);
	if (locktag > LOCKTAG_LAST_TYPE || lock->mode > MaxLockMode ||
		(method != DEFAULT_LOCKMETHOD && method != USER_LOCKMETHOD))
		return;
	strlcpy(type, LockTagTypeNames[locktag], sizeof(type));
	for (char *c = type; *c != '\0'; c++)
		*c = (char) pg_toupper((unsigned char) *c);
	object->type = type;
	object->mode = lock->mode <= MaxLockMode ? GetLockmodeName(method, lock->mode) : NULL;
	switch (locktag)
	{
		case LOCKTAG_RELATION:
		case LOCKTAG_RELATION_EXTEND:
			name_locked_relation(lock, object);
			break;
		case LOCKTAG_PAGE:
		case LOCKTAG_TUPLE:
			name_locked_relation(lock, object);
			if (locktag == LOCKTAG_PAGE)
				snprintf(rest, sizeof(rest), "%s page %u", object->name, lock->id[2]);
			else
				snprintf(rest, sizeof(rest), "%s (%u,%u)", object->name, tag.locktag_field3, tag.locktag_field4);
			object->name = rest;
			break;
		case LOCKTAG_TRANSACTION:
			snprintf(rest, sizeof(rest), "%u", lock->id[0]);
			object->name = rest;
			break;
		default:
			snprintf(rest, sizeof(rest), "%u/%u/%u/%u", tag.locktag_field1, tag.locktag_field2,
					 tag.locktag_field3, tag.locktag_field4);
			object->name = rest;
			break;
	}
}

/* "base/5/16384_fsm.1": the relation behind the number, in this database only. */
static const char *
relation_of_file(const char *path)
{
	static char name[4 * NAMEDATALEN + 8];	/* quoted */
	unsigned	space = 0,
				database = 0,
				number = 0;
	Oid			relation = InvalidOid;
	char		version[64];
	PfsHostObject object = {0};

	if (sscanf(path, "base/%u/%u", &database, &number) == 2 && database == MyDatabaseId)
		relation = pfs_pg_relation_of_file(MyDatabaseTableSpace, number);
	else if (sscanf(path, "global/%u", &number) == 1)
		relation = pfs_pg_relation_of_file(GLOBALTABLESPACE_OID, number);
	else if (sscanf(path, "pg_tblspc/%u/%63[^/]/%u/%u", &space, version, &database, &number) == 4 &&
			 database == MyDatabaseId)
		relation = pfs_pg_relation_of_file(space, number);
	if (!name_of_relation(relation, &object))
		return NULL;
	snprintf(name, sizeof(name), "%s.%s", quote_identifier(object.schema),
			 quote_identifier(object.name));
	return name;
}

/* The fixed part of the server's array of lightweight locks. */
static bool
fixed_lwlock(uint32_t number, PfsHostLock *lock)
{
	LWLock	   *lwlock;
	uint32		state;

	if (number >= NUM_FIXED_LWLOCKS || MainLWLockArray == NULL)
		return false;
	lwlock = &MainLWLockArray[number].lock;
	state = pg_atomic_read_u32(&lwlock->state);
	lock->code = PG_WAIT_LWLOCK | lwlock->tranche;
	lock->exclusive = (state & PFS_PG_LWLOCK_EXCLUSIVE) != 0;
	lock->shared = state & PFS_PG_LWLOCK_SHARED_MASK;
	return true;
}

static bool
interposed_call(uint32_t number, PfsHostCall *call)
{
	PfsSlot		slot;

	if (!pfs_interpose_slot(number, &slot))
		return false;
	call->object = slot.object;
	call->symbol = slot.symbol;
	call->state = pfs_slot_state_name(slot.state);
	call->patched = slot.state == PFS_SLOT_PATCHED || slot.state == PFS_SLOT_CHAINED;
	call->number = slot.number;
	return true;
}

void
pfs_pg_lock_names_install(void)
{
	pfs_host_lock_object = lock_object_names;
	pfs_host_table_name = table_names;
	pfs_host_index_type = index_type;
	pfs_host_relation_of_file = relation_of_file;
	pfs_host_lock = fixed_lwlock;
	pfs_host_call = interposed_call;
}
