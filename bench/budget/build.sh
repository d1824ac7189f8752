#!/bin/sh
# Builds the prototype into a private server: build.sh PG_CONFIG [install] [-DPART_X=0 ...]
# install: as an extension, too, so that CREATE EXTENSION budget makes budget_set(gate).
set -e
cd "$(dirname "$0")"
pg_config=$1
shift
if [ "$1" = install ]; then
	shift
	extension=$($pg_config --sharedir)/extension
	printf "default_version = '1.0'\n" >"$extension/budget.control"
	printf "CREATE FUNCTION budget_set(int) RETURNS void LANGUAGE c AS 'budget';\n" >"$extension/budget--1.0.sql"
fi
exec gcc -O2 -g0 -flto -flto-partition=one -fPIC -shared -fno-plt -fvisibility=hidden -std=gnu11 -fno-strict-aliasing -fwrapv \
	--param=builtin-expect-probability=100 -Wall -Wno-unused-function -DPGDLLEXPORT='__attribute__((visibility("default")))' -D_GNU_SOURCE \
	-I"$($pg_config --includedir-server)" "$@" -o "$($pg_config --pkglibdir)/budget.so" budget.c sums.c waits.c reading.c -lm
