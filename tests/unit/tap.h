/*
 * tap.h - the whole test library of the unit tests: assertions that print TAP.
 *
 * Used by tests/unit/test_<module>.c only, one program per module; header-only. A test program ends
 * with `return done_testing();`. Failures are printed with file and line and do not stop the program.
 * Not thread-safe: in tests with threads, collect results and assert after the join.
 */
#ifndef PFS_TAP_H
#define PFS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_run;    /* assertions made so far */
static int tap_failed; /* how many of them failed */

#define ok(cond, ...) tap_ok((cond), #cond, __FILE__, __LINE__, __VA_ARGS__)
#define is_u64(got, want, name) tap_is_u64((got), (want), __FILE__, __LINE__, (name))
#define is_str(got, want, name) tap_is_str((got), (want), __FILE__, __LINE__, (name))

/* Assert cond; the rest is a printf format that names the assertion. Returns cond. */
__attribute__((format(printf, 5, 6), unused)) static bool
tap_ok(bool cond, const char *expr, const char *file, int line, const char *fmt, ...)
{
	va_list args;

	printf("%sok %d - ", cond ? "" : "not ", ++tap_run);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	if (!cond)
	{
		tap_failed++;
		printf("# failed: %s at %s:%d\n", expr, file, line);
	}
	fflush(stdout);
	return cond;
}

/* Assert that two unsigned numbers are equal; prints both when not. */
__attribute__((unused)) static bool
tap_is_u64(uint64_t got, uint64_t want, const char *file, int line, const char *name)
{
	bool same = tap_ok(got == want, "got == want", file, line, "%s", name);

	if (!same)
		printf("#      got: %" PRIu64 "\n# expected: %" PRIu64 "\n", got, want);
	return same;
}

/* Assert that two strings are equal (NULL equals only NULL); prints both when not. */
__attribute__((unused)) static bool
tap_is_str(const char *got, const char *want, const char *file, int line, const char *name)
{
	bool equal = (got == NULL || want == NULL) ? got == want : strcmp(got, want) == 0;
	bool same = tap_ok(equal, "got == want", file, line, "%s", name);

	if (!same)
		printf("#      got: %s\n# expected: %s\n", got ? got : "(null)", want ? want : "(null)");
	return same;
}

/* The whole program does not apply here: say so and leave with success. */
__attribute__((noreturn, unused)) static void
skip_all(const char *reason)
{
	printf("1..0 # SKIP %s\n", reason);
	exit(0);
}

/* Print the plan; returns the exit code of the program. No assertion at all is a failure. */
__attribute__((unused)) static int
done_testing(void)
{
	printf("1..%d\n", tap_run);
	if (tap_run == 0)
		printf("# no assertion was made\n");
	return tap_failed == 0 && tap_run > 0 ? 0 : 1;
}

#endif /* PFS_TAP_H */
