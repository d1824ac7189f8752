/*
 * sha256.h - the SHA-256 of FIPS 180-4, as a stream.
 *
 * The core has its own because it may use neither the server's nor OpenSSL's. It is for naming
 * things (statement digests), not for secrets: no attempt is made to hide timing or wipe memory.
 */
#ifndef PFS_SHA256_H
#define PFS_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define PFS_SHA256_SIZE 32
#define PFS_SHA256_BLOCK 64

typedef struct PfsSha256
{
	uint32_t state[8];
	uint64_t length_bytes;           /* bytes fed so far */
	uint8_t block[PFS_SHA256_BLOCK]; /* the bytes of the unfinished block */
} PfsSha256;

extern void pfs_sha256_init(PfsSha256 *sha);
extern void pfs_sha256_update(PfsSha256 *sha, const void *data, size_t len);

/* Writes the hash; the state must be initialised again before another use. */
extern void pfs_sha256_final(PfsSha256 *sha, uint8_t hash[PFS_SHA256_SIZE]);

#endif /* PFS_SHA256_H */
