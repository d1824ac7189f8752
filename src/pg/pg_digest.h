/*
 * pg_digest.h - statement digests from the server's own scanner.
 *
 * Include postgres.h first. Meant for the moment a new statement is met, not for every execution.
 */
#ifndef PFS_PG_DIGEST_H
#define PFS_PG_DIGEST_H

#include "core/sha256.h"

/* Only this much of a statement is scanned; the rest does not count for its digest. */
#define PFS_PG_DIGEST_SCAN_MAX (1024 * 1024)

/*
 * Normalises the statement at [location, location + len) of query into buf (always terminated if
 * size > 0) and writes its hash. As in RawStmt, location -1 means from the start and len 0 to the
 * end. Returns the length of the text, without the terminator.
 *
 * Never throws: behind a lexical error, or if memory runs out, the digest is that of the tokens
 * before it. With a scanner it does not know (see pfs_pg_digest_usable) the text is empty and all
 * statements have the hash of the empty string; literals are never shown.
 *
 * It catches errors of its own, so it must not be called while another one is in flight (in a
 * PG_CATCH block before FlushErrorState, in emit_log_hook), nor in a critical section or a signal
 * handler, nor where interrupts are held: an error lets go of them.
 */
extern size_t pfs_pg_normalize(const char *query, int location, int len, char *buf, size_t size,
							   uint8 hash[PFS_SHA256_SIZE]);

/*
 * Says whether the server's scanner numbers its tokens as this file assumes. Checked once per
 * process, by scanning a known text; the same restrictions as for pfs_pg_normalize.
 */
extern bool pfs_pg_digest_usable(void);

/* The first eight bytes of a hash as a query identifier; never 0, which means "none". */
extern uint64 pfs_pg_queryid_from_digest(const uint8 hash[PFS_SHA256_SIZE]);

#endif /* PFS_PG_DIGEST_H */
