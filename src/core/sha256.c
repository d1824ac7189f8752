/*
 * sha256.c - SHA-256 in plain C, written after FIPS 180-4.
 *
 * Separate from the digests so that it can be tested against the published vectors alone.
 * It must not allocate and uses nothing of libc but string.h.
 */
#include "core/sha256.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha256_block(uint32_t state[8], const uint8_t *block);

void
pfs_sha256_init(PfsSha256 *sha)
{
	static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
									  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	memcpy(sha->state, start, sizeof(start));
	sha->length_bytes = 0;
}

void
pfs_sha256_update(PfsSha256 *sha, const void *data, size_t len)
{
	const uint8_t *from = data;
	size_t filled = sha->length_bytes % PFS_SHA256_BLOCK;

	if (len == 0)
		return;
	sha->length_bytes += len;
	if (filled > 0)
	{
		size_t part = PFS_SHA256_BLOCK - filled;

		if (part > len)
			part = len;
		memcpy(sha->block + filled, from, part);
		from += part;
		len -= part;
		if (filled + part < PFS_SHA256_BLOCK)
			return;
		sha256_block(sha->state, sha->block);
	}
	for (; len >= PFS_SHA256_BLOCK; from += PFS_SHA256_BLOCK, len -= PFS_SHA256_BLOCK)
		sha256_block(sha->state, from);
	if (len > 0)
		memcpy(sha->block, from, len);
}

void
pfs_sha256_final(PfsSha256 *sha, uint8_t hash[PFS_SHA256_SIZE])
{
	static const uint8_t padding[PFS_SHA256_BLOCK] = {0x80};
	uint64_t bits = sha->length_bytes * 8;
	size_t filled = sha->length_bytes % PFS_SHA256_BLOCK;
	uint8_t tail[8];

	for (int i = 0; i < 8; i++)
		tail[i] = (uint8_t) (bits >> (56 - 8 * i));
	pfs_sha256_update(sha, padding, (filled < 56 ? 56 : 120) - filled);
	pfs_sha256_update(sha, tail, sizeof(tail));
	for (int i = 0; i < PFS_SHA256_SIZE; i++)
		hash[i] = (uint8_t) (sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

static inline uint32_t
rotate_right(uint32_t word, int by)
{
	return (word >> by) | (word << (32 - by));
}

/* Spreads a block's 16 big-endian words over the 64 rounds. */
static void
sha256_schedule(uint32_t w[64], const uint8_t *block)
{
	for (int i = 0; i < 16; i++, block += 4)
		w[i] = (uint32_t) block[0] << 24 | (uint32_t) block[1] << 16 | (uint32_t) block[2] << 8 |
			   (uint32_t) block[3];
	for (int i = 16; i < 64; i++)
	{
		uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ (w[i - 15] >> 3);
		uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ (w[i - 2] >> 10);

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

static void
sha256_block(uint32_t state[8], const uint8_t *block)
{
	uint32_t w[64];
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

	sha256_schedule(w, block);
	for (int i = 0; i < 64; i++)
	{
		uint32_t sum1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
		uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
		uint32_t sum0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
		uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));

		h = g;
		g = f;
		f = e;
		e = d + t1;
		d = c;
		c = b;
		b = a;
		a = t1 + t2;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
	state[5] += f;
	state[6] += g;
	state[7] += h;
}
