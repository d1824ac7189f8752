#!/bin/sh
# Run unit-test programs that print TAP: by prove, or by a small loop where perl is missing.
# Called by the unit targets of dev.mk with the programs' paths. Exit code 1 when anything failed.
# Sanitizers must never pass silently, hence the options. No program at all is not a failure.
set -u
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}

if [ $# = 0 ]; then
	echo "no unit test found"
	exit 0
fi
if command -v prove >/dev/null; then
	exec timeout 240 prove --nocolor -e '' "$@"
fi

passed=0
failed=0
for program in "$@"; do
	output=$(timeout 120 "$program" 2>&1)
	code=$?
	good=$(printf '%s\n' "$output" | grep -c '^ok ')
	bad=$(printf '%s\n' "$output" | grep -c '^not ok ')
	if [ $code -ne 0 ] && [ "$bad" = 0 ]; then
		bad=1
	fi
	if [ "$bad" -gt 0 ]; then
		printf '%s\n' "$output"
	fi
	printf '%s: %d passed, %d failed (exit code %d)\n' "$program" "$good" "$bad" "$code"
	passed=$((passed + good))
	failed=$((failed + bad))
done
echo "Tests=$passed, $failed subtests failed"
[ "$failed" = 0 ]
