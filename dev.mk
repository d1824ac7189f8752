# Developer targets; included by the Makefile. `make help` lists them.
#
# Variables: PG_CONFIG (server under test), DISABLE (event classes left out), KEEP=1 (demo),
# PYTEST_ARGS and REGRESS_TESTS (a selection). Everything built here goes to build/.

BUILD := build
comma := ,
SERVER_PYTHON = $(shell scripts/toolchain.sh python)
CORE_HEADERS := $(wildcard src/core/*.h src/core/*.def)
HOST_CC ?= gcc
HOST_FLAGS = -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Isrc -g -pthread -MMD -MP
HOST_LIBS = -lm

.PHONY: help unit unit-asan unit-tsan regress py fuzz check demo gen gen-check compile-check \
	bench-core bench-core-check bench-core-update bench-backend bench-backend-update bench-record bench \
	bench-smoke bench-compare bench-test report install-allowed

help: ## this list
	@echo "make            build for PG_CONFIG, or for the PyPI server when it is not given"
	@echo "make install    install into that server"
	@echo "make clean      remove what was built"
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' dev.mk | while IFS='|' read -r target text; do \
		printf 'make %-20s %s\n' "$$target" "$$text"; done

# The core as an archive, so that a program takes only what it uses: one for each way to compile it.
CORE_NAMES := $(CORE_SOURCES:src/core/%.c=%)
define CORE_ARCHIVE
$(BUILD)/$(1)/core.a: $(CORE_NAMES:%=$(BUILD)/$(1)/core/%.o)
	@rm -f $$@
	@$(AR) rcs $$@ $$^
endef
AR ?= ar
$(foreach kind,unit unit-asan unit-tsan gen bench,$(eval $(call CORE_ARCHIVE,$(kind))))

# --- unit tests: the core and the interposer alone, in three builds -----------------------------

UNIT_TESTS := $(filter-out test_interpose%,$(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c)))
UNIT_HELPERS := $(filter-out $(wildcard tests/unit/test_*.c),$(wildcard tests/unit/*.c))

# UNIT_BUILD(target, flags): rules for one build of all unit tests.
define UNIT_BUILD
$(BUILD)/$(1)/core/%.o: src/core/%.c dev.mk
	@mkdir -p $$(@D)
	$(HOST_CC) $(HOST_FLAGS) -DPFS_ASSERTS $(2) -c -o $$@ $$<
$(BUILD)/$(1)/tests/%.o: tests/unit/%.c dev.mk
	@mkdir -p $$(@D)
	$(HOST_CC) $(HOST_FLAGS) -DPFS_ASSERTS $(2) -c -o $$@ $$<
$(BUILD)/$(1)/test_%: $(BUILD)/$(1)/tests/test_%.o \
		$(UNIT_HELPERS:tests/unit/%.c=$(BUILD)/$(1)/tests/%.o) $(BUILD)/$(1)/core.a
	$(HOST_CC) $(2) -pthread -o $$@ $$^ $(HOST_LIBS)
$(1): $(UNIT_TESTS:%=$(BUILD)/$(1)/%)
	@scripts/run_unit.sh $$^
.PRECIOUS: $(BUILD)/$(1)/core/%.o $(BUILD)/$(1)/tests/%.o
-include $(wildcard $(BUILD)/$(1)/*/*.d)
endef

# The interposer patches the program it is in: each of its tests is linked in each way in which servers
# are. As in a server the interposer is a library, which is not patched itself.
INTERPOSE_TESTS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_interpose*.c))
INTERPOSE_HEADERS := $(wildcard src/interpose/*.h src/interpose/*.def)
INTERPOSE_WAYS := pie_lazy pie_now nopie_lazy noplt
WAY_pie_lazy := -fPIE -pie -Wl,-z,relro,-z,lazy
WAY_pie_now := -fPIE -pie -Wl,-z,relro,-z,now
FORTIFY_pie_now := -O2 -D_FORTIFY_SOURCE=2 # as Debian compiles; sanitizers cannot
WAY_nopie_lazy := -fno-pie -no-pie -Wl,-z,lazy
WAY_noplt := -fPIE -fno-plt -pie -Wl,-z,relro,-z,now
INTERPOSE_LIBRARIES := pfs_interpose hook preload client
PLAIN_FLAGS = $(filter-out -MMD -MP,$(HOST_FLAGS)) # several sources at once: no dependency files
LIBRARY_FLAGS = $(PLAIN_FLAGS) -fPIC -shared

# INTERPOSE_WAY(target, flags, way): rules for the test programs that are linked in one way.
define INTERPOSE_WAY
$(BUILD)/$(1)/test_%-$(3): tests/unit/test_%.c tests/unit/interpose/observer.h \
		$(INTERPOSE_LIBRARIES:%=$(BUILD)/$(1)/lib%.so)
	$(HOST_CC) $(PLAIN_FLAGS) $(2) $(WAY_$(3)) $(if $(findstring sanitize,$(2)),,$(FORTIFY_$(3))) \
		-DLINK_WAY='"$(3)"' -o $$@ $$< $(BUILD)/$(1)/libpfs_interpose.so -Wl,-rpath,$(CURDIR)/$(BUILD)/$(1)
$(1): $(INTERPOSE_TESTS:%=$(BUILD)/$(1)/%-$(3))
endef

# INTERPOSE_BUILD(target, flags): the same for all ways, and for the libraries that they load.
define INTERPOSE_BUILD
$(BUILD)/$(1)/libpfs_interpose.so: $(INTERPOSE_SOURCES) $(INTERPOSE_HEADERS) $(CORE_HEADERS) dev.mk
	@mkdir -p $$(@D)
	$(HOST_CC) $(LIBRARY_FLAGS) $(2) -o $$@ $(INTERPOSE_SOURCES)
$(BUILD)/$(1)/lib%.so: tests/unit/interpose/%.c
	@mkdir -p $$(@D)
	$(HOST_CC) $(LIBRARY_FLAGS) $(2) -o $$@ $$<
.PRECIOUS: $(BUILD)/$(1)/lib%.so # the programs load them
$(BUILD)/$(1)/libpq.so.99: tests/unit/interpose/libpq.c
	@mkdir -p $$(@D)
	$(HOST_CC) $(LIBRARY_FLAGS) $(2) -Wl,-soname,libpq.so.99 -o $$@ $$<
$(BUILD)/$(1)/libclient.so: tests/unit/interpose/client.c $(BUILD)/$(1)/libpq.so.99
	$(HOST_CC) $(LIBRARY_FLAGS) $(2) -Wl,-rpath,$(CURDIR)/$(BUILD)/$(1) -o $$@ $$^
$(foreach way,$(INTERPOSE_WAYS),$(eval $(call INTERPOSE_WAY,$(1),$(2),$(way))))
endef

unit: ## unit tests of src/core and src/interpose
unit-asan: ## the same under AddressSanitizer and UndefinedBehaviorSanitizer
unit-tsan: ## the same under ThreadSanitizer
$(eval $(call UNIT_BUILD,unit,-O1))
$(eval $(call INTERPOSE_BUILD,unit,-O1))
$(eval $(call UNIT_BUILD,unit-asan,-O1 -fsanitize=address$(comma)undefined -fno-sanitize-recover=all))
$(eval $(call INTERPOSE_BUILD,unit-asan,-O1 -fsanitize=address$(comma)undefined -fno-sanitize-recover=all))
$(eval $(call UNIT_BUILD,unit-tsan,-O1 -fsanitize=thread))
$(eval $(call INTERPOSE_BUILD,unit-tsan,-O1 -fsanitize=thread))

# --- tests against a server --------------------------------------------------------------------

# Before anything is copied: one clear message instead of a failed install(1).
install-allowed:
	@for dir in "$(pkglibdir)" "$(datadir)"; do \
		if [ -z "$(DESTDIR)" ] && [ ! -w "$$dir" ]; then \
			echo "cannot write to $$dir: run 'sudo make PG_CONFIG=$(PG_CONFIG) install', or leave" \
				"PG_CONFIG out to use the project's own server" >&2; exit 1; \
		fi; done
installdirs: install-allowed

regress: install ## SQL regression tests (pg_regress)
	$(SERVER_PYTHON) scripts/run_regress.py --pg-config $(PG_CONFIG) $(REGRESS_TESTS)

py: install ## pytest against real servers, file by file on two processors
	PG_CONFIG=$(PG_CONFIG) $(SERVER_PYTHON) -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)$(if $(CI), || \
		{ echo "CI: what failed once more: a test that passes now is flaky and wants mending"; \
		PG_CONFIG=$(PG_CONFIG) $(SERVER_PYTHON) -m pytest --lf $(PYTEST_ARGS); })

fuzz: install ## 5,000 random protocol sequences, with and without the library (FUZZ_ARGS="--seed 2")
	PYTHONPATH=tests $(SERVER_PYTHON) -m fuzz --pg-config $(PG_CONFIG) $(FUZZ_ARGS)

ifeq ($(SERVER_GOALS),)
check: ## everything; the last line says how many passed and failed
	+@$(MAKE) --no-print-directory PG_CONFIG=$(PG_CONFIG) install
	@PG_CONFIG=$(PG_CONFIG) DISABLE="$(DISABLE)" COPT="$(COPT)" python3 scripts/check.py
endif

compile-check: ## compile for the majors that have headers but are not tested (16)
	@scripts/compile_check.sh 16

demo: install ## a real load on a throw-away server, and what it shows; KEEP=1 leaves it running
	$(SERVER_PYTHON) scripts/demo.py --pg-config $(PG_CONFIG) $(if $(KEEP),--keep)

# --- generated files ---------------------------------------------------------------------------

GENERATOR := $(BUILD)/gen/pfs_gen

$(BUILD)/gen/core/%.o: src/core/%.c dev.mk
	@mkdir -p $(@D)
	$(HOST_CC) $(HOST_FLAGS) -O1 -c -o $@ $<
$(BUILD)/gen/%.o: src/gen/%.c dev.mk
	@mkdir -p $(@D)
	$(HOST_CC) $(HOST_FLAGS) -O1 -c -o $@ $<
$(GENERATOR): $(patsubst src/gen/%.c,$(BUILD)/gen/%.o,$(wildcard src/gen/*.c)) \
		$(BUILD)/gen/core.a
	$(HOST_CC) -pthread -o $@ $^ $(HOST_LIBS)
-include $(wildcard $(BUILD)/gen/*.d $(BUILD)/gen/core/*.d)

gen: $(GENERATOR) ## write the extension script and docs/tables.md from the descriptors
	scripts/gen.sh $(GENERATOR) .

gen-check: $(GENERATOR) ## fail when a committed generated file is stale
	scripts/gen.sh --check $(GENERATOR) .

# --- micro-benchmarks of the core --------------------------------------------------------------

BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/bench_*.c))

$(BUILD)/bench/core/%.o: src/core/%.c dev.mk
	@mkdir -p $(@D)
	$(HOST_CC) $(HOST_FLAGS) -O2 -c -o $@ $<
$(BUILD)/bench/%.o: tests/bench/%.c dev.mk
	@mkdir -p $(@D)
	$(HOST_CC) $(HOST_FLAGS) -O2 -c -o $@ $<
$(BUILD)/bench/bench_%: $(BUILD)/bench/bench_%.o $(BUILD)/bench/core.a
	$(HOST_CC) -pthread -o $@ $^ $(HOST_LIBS)
.PRECIOUS: $(BUILD)/bench/core/%.o $(BUILD)/bench/%.o
-include $(wildcard $(BUILD)/bench/*.d $(BUILD)/bench/core/*.d)

bench-core: $(BENCHES) ## instructions per event of the core, by callgrind
	python3 scripts/callgrind_bench.py $(BENCHES)

bench-core-check: $(BENCHES) ## the same, compared with tests/bench/ceilings.json
	python3 scripts/callgrind_bench.py --check $(BENCHES)

bench-core-update: $(BENCHES) ## accept today's numbers as the new ceilings
	python3 scripts/callgrind_bench.py --update $(BENCHES)

bench-record: $(BENCHES) ## a line for this commit in bench/results/history.ndjson; steps in it
	python3 scripts/callgrind_bench.py --record $(BENCHES)
	$(PFSBENCH) history

# --- instructions inside a real backend: needs a server, PostgreSQL 18 ----------------------------

bench-backend: install ## instructions and cache misses per statement, compared with their ceilings
	python3 scripts/backend_bench.py --pg-config $(PG_CONFIG) --check

bench-backend-update: install ## accept today's numbers as the new ceilings
	python3 scripts/backend_bench.py --pg-config $(PG_CONFIG) --update

# --- the report of a running server ---------------------------------------------------------------

report: ## what a server does for a while, as one HTML page: REPORT_ARGS="DSN --seconds 60 --output report.html"
	@PYTHONPATH=report $(SERVER_PYTHON) -m pfsreport $(REPORT_ARGS)

# --- the cost bench ----------------------------------------------------------------------------

# It builds and starts servers of its own: nothing needs to be installed. BENCH_ARGS: more options.
PFSBENCH = PYTHONPATH=bench $(SERVER_PYTHON) -m pfsbench

bench-smoke: ## the cost bench in under three minutes: shows that it works
	$(PFSBENCH) run smoke --out $(BUILD)/bench-smoke $(BENCH_ARGS)

bench: ## one plan of the cost bench (bench/plans): make bench PLAN=e1; without PLAN their list
	$(PFSBENCH) $(if $(PLAN),run $(PLAN),list) $(BENCH_ARGS)

bench-compare: ## two results of the cost bench side by side: A=... B=...
	$(PFSBENCH) compare "$(A)" "$(B)"

bench-test: ## tests of the cost bench
	$(SERVER_PYTHON) -m pytest $(PYTEST_ARGS) bench/tests

ifeq ($(SERVER_GOALS),)
.PHONY: clean
clean:
	rm -rf $(BUILD) .stamp-build performance_schema.so
	rm -f src/*/*.o src/*/*.d src/*/*.bc src/pg/*/*.o src/pg/*/*.d src/pg/*/*.bc
endif
