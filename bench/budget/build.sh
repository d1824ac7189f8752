#!/bin/sh
# Builds the prototype into a private server: build.sh PG_CONFIG [-DPART_X=0 ...]
cd "$(dirname "$0")" || exit 1
pg_config=$1
shift
exec gcc -O2 -g0 -flto -flto-partition=one -fPIC -shared -fno-plt -fvisibility=hidden -std=gnu11 -fno-strict-aliasing -fwrapv \
	--param=builtin-expect-probability=100 -Wall -Wno-unused-function -DPGDLLEXPORT='__attribute__((visibility("default")))' -D_GNU_SOURCE \
	-I"$($pg_config --includedir-server)" "$@" -o "$($pg_config --pkglibdir)/budget.so" budget.c sums.c waits.c reading.c -lm
