# performance_schema: building and installing, by PostgreSQL's PGXS. Developer targets: dev.mk.
#
#   make                          for the PyPI server of the project's virtual environment
#   make PG_CONFIG=/path/to/pg_config install
#   make DISABLE="statement transaction"     compiles whole event classes away
#
# Changing PG_CONFIG, DISABLE or COPT rebuilds everything.

EXTENSION = performance_schema
MODULE_big = performance_schema
DATA = sql/performance_schema--1.0.sql

CORE_SOURCES := $(sort $(wildcard src/core/*.c))
INTERPOSE_SOURCES := $(sort $(wildcard src/interpose/*.c))
SERVER_SOURCES := $(sort $(wildcard src/pg/*.c src/pg/*/*.c src/fdw/*.c))
OBJS = $(CORE_SOURCES:.c=.o) $(INTERPOSE_SOURCES:.c=.o) $(SERVER_SOURCES:.c=.o)

# PGXS is read only for goals that build for a server: the others need none (and PGXS has a `check` of
# its own, which only says that it does nothing).
SERVERLESS = help unit unit-asan unit-tsan gen gen-check compile-check bench-core bench-core-check \
	bench-core-update bench-record bench bench-smoke bench-compare bench-test clean
GOALS := $(or $(MAKECMDGOALS),all)
SERVER_GOALS := $(filter-out $(SERVERLESS) check,$(GOALS))

ifneq ($(SERVER_GOALS)$(filter check,$(GOALS)),)
ifndef PG_CONFIG
PG_CONFIG := $(shell scripts/toolchain.sh pg_config)
ifeq ($(PG_CONFIG),)
$(error no server to build for: give PG_CONFIG=/path/to/pg_config)
endif
endif
endif

upper = $(shell echo '$(1)' | tr 'a-z-' 'A-Z_')
DISABLE_FLAGS := $(foreach class,$(DISABLE),-DPFS_DISABLE_$(call upper,$(class)))
# What runs straight through once a statement is cold each time: fewer bytes are fewer lines to be fetched, and a
# function that begins with a line is on as few as it can be, whatever stands before it.
COLD_FLAGS = -falign-functions=64 -fno-align-jumps -fno-align-loops -fno-align-labels -freorder-blocks-algorithm=simple
OUR_FLAGS = -fno-plt -fno-tree-slp-vectorize $(COLD_FLAGS) -std=gnu11 -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare

ifneq ($(SERVER_GOALS),)
ifneq ($(filter check,$(GOALS)),)
$(error make check installs by itself: give it as the only goal)
endif
# PostgreSQL 15 leaves PGDLLEXPORT empty, which with -fvisibility=hidden would hide the module's entry.
EXPORT_FLAG = -DPGDLLEXPORT='__attribute__((visibility("default")))'
PG_CPPFLAGS = -Isrc $(EXPORT_FLAG) $(DISABLE_FLAGS)
EXTRA_CLEAN = $(OBJS:.o=.d) $(OBJS:.o=.bc) .stamp-build build
# Optimised as a whole where the compiler can: a tenth fewer instructions for each event.
LTO ?= -flto=auto -flto-partition=one
# What is marked as unlikely stands elsewhere: the code of a statement takes fewer lines of the cache.
LAYOUT := --param=builtin-expect-probability=100
PG_CFLAGS = $(OUR_FLAGS) -MMD -MP $(shell echo 'int x;' | $(CC) $(LTO) -shared -fPIC -x c -o /dev/null - 2>/dev/null && echo $(LTO)) \
	$(shell echo 'int x;' | $(CC) $(LAYOUT) -c -x c -o /dev/null - 2>/dev/null && echo $(LAYOUT))
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq ($(PGXS),)
$(error $(PG_CONFIG) does not run or knows no PGXS)
endif
ifeq ($(shell command -v clang),)
override with_llvm = no
endif
include $(PGXS)

# Flags of the compiler that built the server: ours may not know them, or our style differs.
override CFLAGS := $(filter-out -Wmissing-variable-declarations -Wdeclaration-after-statement \
	-Wvla -Werror=vla,$(CFLAGS))

# A file that changes only when what decides how objects are made changes.
BUILD_STAMP := .stamp-build
BUILD_KEY := $(strip $(PG_CONFIG) $(VERSION) $(CC) $(CFLAGS) $(CPPFLAGS))
ifneq ($(strip $(file <$(BUILD_STAMP))),$(BUILD_KEY))
$(file >$(BUILD_STAMP),$(BUILD_KEY))
endif
$(BUILD_STAMP): # after `make clean all`
	$(file >$@,$(BUILD_KEY))
$(OBJS): $(BUILD_STAMP)
-include $(OBJS:.o=.d)
endif

include dev.mk
