/*
 * arena_fixture.h - what the unit tests of the engine share: a small arena with instruments,
 * sessions in it, whole statements, and the tables read as texts.
 *
 * Times are nanoseconds: pfs_timer_init(false). Nothing here is static but the host's error names,
 * so several threads may use one arena. Linked to every test.
 */
#ifndef ARENA_FIXTURE_H
#define ARENA_FIXTURE_H

#include "core/digest.h"
#include "core/metric.h"
#include "core/statement.h"
#include "core/table.h"
#include "core/wait.h"

#include <pthread.h>

/* Statement classes 0 .. FIXTURE_CLASSES - 1 are registered, then transaction, error and waits. */
#define FIXTURE_CLASSES 4
#define FIXTURE_ERRORS 4
#define FIXTURE_METRICS 2
#define FIXTURE_ROLE 10    /* texts of fixture statements are this role's, which all readers have */
#define FIXTURE_START 1000 /* ticks at which fixture statements start */

/* Thread classes. */
enum
{
	FIXTURE_CLIENT,
	FIXTURE_WORKER,
	FIXTURE_THREAD_CLASSES
};

/* Waits: one of each kind. */
enum
{
	FIXTURE_WAIT_PLAIN,
	FIXTURE_WAIT_FILE,
	FIXTURE_WAIT_SOCKET,
	FIXTURE_WAIT_LOCK,
	FIXTURE_WAIT_LWLOCK,
	FIXTURE_WAIT_IDLE,
	FIXTURE_WAIT_TABLE,
	FIXTURE_WAITS
};

#define FIXTURE_LWLOCK_CODE \
	0x01000007 /* the host's code of FIXTURE_WAIT_LWLOCK; others have none */
#define FIXTURE_INSTRUMENTS (FIXTURE_CLASSES + 2 + FIXTURE_WAITS)

/* Small, so that a test can fill every container. */
extern PfsSizes fixture_sizes(void);

/* NULL: fixture_sizes(). */
extern PfsArena *fixture_arena(const PfsSizes *sizes);
extern void fixture_free(PfsArena *arena);

/* Every wait makes a row, which stays in both histories. */
extern void fixture_keep_waits(PfsArena *arena);

/* One that processes share which are forked later; to be unmapped by its size. */
extern PfsArena *fixture_shared_arena(const PfsSizes *sizes);

/* A session in this slot; user and host may be NULL. The pid is 1000 + slot. */
extern PfsSession *fixture_attach(PfsArena *arena, uint32_t slot, const char *user,
								  const char *host);

/* The client was answered, as the host has it: it is waited for, and nothing is out of the ordinary. */
extern void fixture_rest(PfsSession *session);
extern void fixture_detach(PfsSession *session);

/* Frees the session and leaves its slot as a killed process does. */
extern void fixture_kill(PfsSession *session);

/* Row of this query id, made if there is none; its text is "query <id>". */
extern uint32_t fixture_digest(PfsSession *session, uint64_t query_id);

/* Opens a statement with text and digest (query_id 0: none), and shows it. */
extern PfsStatement *fixture_open(PfsSession *session, uint32_t class, uint64_t query_id,
								  const char *text);

/* Counts an answer, as of a command that has just come. */
extern bool fixture_answer(PfsSession *session, uint32_t answer);

/* A whole statement of this length; text NULL: "select <query_id>". */
extern void fixture_statement(PfsSession *session, uint32_t class, uint64_t query_id, PfsTicks wait,
							  const char *text);
extern void fixture_transaction(PfsSession *session, bool read_only, PfsTicks wait);

/* A row of a file or table as it was handed out. */
typedef struct FixtureRow
{
	uint32_t row;
	uint32_t use;
} FixtureRow;

extern FixtureRow fixture_file(PfsArena *arena, const char *path);
extern FixtureRow fixture_table(PfsArena *arena, uint32_t database, uint32_t table, uint32_t index);

/* Fetches rows of a table. */
extern void fixture_fetch(PfsSession *session, FixtureRow table, uint64_t rows, PfsTicks ticks);

/* A whole wait of this length; row, use: the file it is about, or 0. */
extern void fixture_wait(PfsSession *session, uint32_t wait, PfsOperation operation, uint32_t row,
						 uint32_t use, PfsTicks ticks, int64_t bytes);

/* Something of everything about waits, in a session with a client. */
extern void fixture_all_waits(PfsSession *session);

/* Blocks of rows of waits that are not just one thread's, or the long history's at just one place. */
extern uint64_t fixture_blocks_astray(PfsArena *arena);

/* A table as texts; times are raw ticks. */
typedef struct Rows
{
	const PfsTable *table;
	int columns;
	int count;
	char **cell; /* count * columns; NULL = SQL NULL */
} Rows;

extern Rows *rows_of(PfsArena *arena, const char *table);
extern Rows *rows_where(PfsArena *arena, const char *table, const char *column, const char *value);

/* As a user without pg_read_all_stats sees it. */
extern Rows *rows_seen_by(PfsArena *arena, const char *table, const char *user);
extern void rows_free(Rows *rows);

extern int rows_column(const Rows *rows, const char *column);
extern const char *row_text(const Rows *rows, int row, const char *column);
extern uint64_t row_number(const Rows *rows, int row, const char *column);

/* First row with this text in a column, -1 = none. */
extern int rows_find(const Rows *rows, const char *column, const char *text);
extern uint64_t rows_sum(const Rows *rows, const char *column);

/* Sum of a column, number of rows, and a value by key, of a table read now. */
extern uint64_t table_sum(PfsArena *arena, const char *table, const char *column);
extern uint64_t table_count(PfsArena *arena, const char *table);
extern uint64_t table_number(PfsArena *arena, const char *table, const char *key_column,
							 const char *key, const char *column);
extern bool table_truncate(PfsArena *arena, const char *table);

/* One row as the host's own callback sees it. */
extern char *column_text(const PfsColumn *column, const void *part);

/* A scan that only reads: rows go to emit, memory is freed by scan_end. */
typedef struct FixtureScan
{
	PfsScan scan; /* first: callbacks get its address */
	void **memory;
	int allocations;
	void (*on_alloc)(struct FixtureScan *scan);
	void *extra;
	Rows *rows;
} FixtureScan;
extern void scan_begin(FixtureScan *scan, PfsArena *arena, const char *table);
extern void scan_end(FixtureScan *scan);

static inline uint64_t
loss_of(const PfsArena *arena, PfsLoss loss)
{
	return pfs_load(&arena->loss[loss]);
}

/* Runs body(argument + i * stride) in n threads and waits for all. */
extern void run_threads(int n, void *(*body)(void *), void *argument, size_t stride);

/* Repeatable random numbers. */
static inline uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif /* ARENA_FIXTURE_H */
