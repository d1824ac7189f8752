/*
 * test_sha256.c - the published vectors of FIPS 180-4 and NIST's samples, whole and in pieces.
 */
#include "core/sha256.h"
#include "tap.h"

typedef struct Vector
{
	const char *name;
	const char *message;
	const char *hash;
} Vector;

static const Vector vectors[] = {
	{"empty", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"one block", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"two blocks", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	{"112 bytes",
	 "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
	 "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
	 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

static const char *
hex(const uint8_t hash[PFS_SHA256_SIZE])
{
	static char text[2 * PFS_SHA256_SIZE + 1];

	for (int i = 0; i < PFS_SHA256_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	return text;
}

static const char *
hash_in_two(const char *message, size_t len, size_t split)
{
	PfsSha256 sha;
	uint8_t hash[PFS_SHA256_SIZE];

	pfs_sha256_init(&sha);
	pfs_sha256_update(&sha, message, split);
	pfs_sha256_update(&sha, message + split, len - split);
	pfs_sha256_final(&sha, hash);
	return hex(hash);
}

static void
test_vectors(void)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
	{
		const Vector *v = &vectors[i];

		is_str(hash_in_two(v->message, strlen(v->message), 0), v->hash, v->name);
	}
}

static void
test_splits(void)
{
	char message[300];
	int wrong = 0;

	for (size_t i = 0; i < sizeof(message); i++)
		message[i] = (char) (i * 7);
	for (size_t len = 0; len <= sizeof(message); len++)
	{
		char whole[2 * PFS_SHA256_SIZE + 1];

		strcpy(whole, hash_in_two(message, len, 0));
		for (size_t split = 1; split <= len; split++)
			wrong += strcmp(hash_in_two(message, len, split), whole) != 0;
	}
	is_u64((uint64_t) wrong, 0, "every split of every length up to 300 gives the same hash");
}

static void
test_million(void)
{
	char piece[977];
	PfsSha256 sha;
	uint8_t hash[PFS_SHA256_SIZE];
	size_t left = 1000000;

	memset(piece, 'a', sizeof(piece));
	pfs_sha256_init(&sha);
	while (left > 0)
	{
		size_t part = left < sizeof(piece) ? left : sizeof(piece);

		pfs_sha256_update(&sha, piece, part);
		left -= part;
	}
	pfs_sha256_final(&sha, hash);
	is_str(hex(hash), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
		   "a million times a");
}

int
main(void)
{
	test_vectors();
	test_splits();
	test_million();
	return done_testing();
}
