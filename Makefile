# Slicewise: every target of the project. `make help` lists those that a user calls.
CC ?= gcc
CXX ?= g++
BUILD ?= build
# Where the libraries and the collector are linked: elsewhere for packages, from the same objects (make/packages.mk).
LINKED ?= $(BUILD)
PREFIX ?= /usr/local
MANDIR ?= $(PREFIX)/share/man
PROCESSORS = $(shell nproc 2> /dev/null || echo 1)
VENV = $(BUILD)/venv
MPICC ?= $(firstword $(foreach name,mpicc.openmpi mpicc,$(shell command -v $(name))))

WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-missing-field-initializers
CFLAGS ?= -O2 -g
# Where headers are looked for: the store and the collector know nothing of the engine, which runs in applications alone.
ROOMS = -Istore -Ilibprofiler
$(BUILD)/objects/store/%.o: ROOMS = -Istore
# The messages by which jobs take turns are the coordinator's as well.
$(BUILD)/objects/collector/%.o: ROOMS = -Istore -Iturns
# The collector may run as root, and none of its functions is on an application's path: the smaller code is taken.
$(BUILD)/objects/collector/%.o: OF_ROOM = -fstack-protector-strong -Os
$(BUILD)/objects/interface/%.o: ROOMS = -Istore -Iturns -Iinterface
$(BUILD)/objects/turns/%.o: ROOMS = -Istore -Ilibprofiler -Iwrappers
$(BUILD)/objects/threads/%.o $(BUILD)/objects/accelerators/%.o: ROOMS = -Istore -Ilibprofiler
# Of the store the smaller libraries take what they call alone (--gc-sections).
$(BUILD)/objects/store/%.o $(BUILD)/objects/threads/%.o $(BUILD)/objects/accelerators/%.o: OF_ROOM = -ffunction-sections
$(BUILD)/objects/turns/%.o $(BUILD)/objects/interface/%.o: OF_ROOM = -ffunction-sections -Os
C_FLAGS = -std=c17 -D_GNU_SOURCE $(CFLAGS) $(WARNINGS) -fPIC -fdata-sections -fvisibility=hidden -ftls-model=initial-exec $(OF_ROOM) -Ischema $(ROOMS) -I$(BUILD)/generated -MMD -MP
CXX_FLAGS = -std=c++17 -D_GNU_SOURCE $(CFLAGS) -Wall -Wextra -Wno-missing-field-initializers -Ischema $(ROOMS) -I$(BUILD)/generated -MMD -MP
ZSTD_ARCHIVE ?= $(firstword $(wildcard /usr/lib/*/libzstd.a /usr/lib64/libzstd.a /usr/lib/libzstd.a /usr/local/lib/libzstd.a))

# In the library what every process runs lies together, first, and so do its variables: a process that does nothing brings few pages into memory.
STARTING = $(addprefix libprofiler/,lazy_start.c engine.c usage.c) $(addprefix store/,kernel.c settings.c identity.c clock.c vdso.c) libprofiler/environment.c store/program.c store/command.c $(addprefix libprofiler/,symbol.c elf_object.c)
ENGINE_OBJECTS = $(patsubst %.c,$(BUILD)/objects/%.o,$(STARTING) $(filter-out $(STARTING),$(sort $(wildcard libprofiler/*.c store/*.c))))
# What few processes use lies last, so that what all use is on fewer pages: a division of libgcc's, too.
SELDOM = $(patsubst %,$(BUILD)/objects/%.o,$(addprefix libprofiler/,accelerated computing filter hardware io_uring memory_lock module mpi_library python regions unwind) \
  $(addprefix store/,drain_helper keep local region samples sha256 volume))
STORE_OBJECTS = $(patsubst %.c,$(BUILD)/objects/%.o,$(wildcard store/*.c))
USUAL_WRAPPERS = wrappers/raw_syscall.c wrappers/life.c wrappers/spawn.c wrappers/posix.c wrappers/posix_open.c wrappers/posix_stat.c wrappers/stdio.c
FIRST_WRAPPERS = $(BUILD)/objects/wrappers/raw_syscall.o $(BUILD)/objects/wrappers/life.o
WRAPPER_OBJECTS = $(patsubst %.c,$(BUILD)/objects/%.o,$(USUAL_WRAPPERS) $(filter-out $(USUAL_WRAPPERS),$(sort $(wildcard wrappers/*.c))))
USUAL_OBJECTS = $(FIRST_WRAPPERS) $(filter-out $(SELDOM),$(ENGINE_OBJECTS))
LIBRARY_OBJECTS = $(USUAL_OBJECTS) $(filter-out $(FIRST_WRAPPERS),$(WRAPPER_OBJECTS)) $(SELDOM)
# Linked against the names of an old glibc (make/packages.mk): a build is preloaded into programs of containers and of other nodes, too.
NAMES_OF_GLIBC = $(if $(OLDEST_GLIBC),-L$(abspath $(BUILD)/old_glibc))
LIBRARY_LINK = -Wl,--version-script=$(BUILD)/generated/exports.map -Wl,--wrap=syscall -Wl,--exclude-libs,ALL -Wl,--sort-section=name \
  -Wl,-z,noseparate-code -Wl,-z,relro -Wl,-z,defs
COLLECTOR_OBJECTS = $(patsubst %.c,$(BUILD)/objects/%.o,$(wildcard collector/*.c))
INTERFACE_OBJECTS = $(BUILD)/objects/interface/coordinate.o
NVTX_OBJECTS = $(BUILD)/objects/interface/nvtx.o
TURN_OBJECTS = $(patsubst %.c,$(BUILD)/objects/%.o,$(wildcard turns/*.c) libprofiler/key_table.c wrappers/raw_syscall.c)
LOOK_UP_OBJECTS = $(patsubst %.c,$(BUILD)/objects/%.o,libprofiler/symbol.c libprofiler/elf_object.c store/peek.c store/kernel.c wrappers/raw_syscall.c)
THREAD_OBJECTS = $(patsubst %.c,$(BUILD)/objects/%.o,$(wildcard threads/*.c)) $(LOOK_UP_OBJECTS)
ACCELERATOR_OBJECTS = $(patsubst %.c,$(BUILD)/objects/%.o,$(wildcard accelerators/*.c)) $(LOOK_UP_OBJECTS)
READER_OBJECTS = $(patsubst %.c,$(BUILD)/objects/%.o,$(wildcard reader/*.c))
GENERATED = $(addprefix $(BUILD)/generated/,schema_frame.inc size_bins.inc exports.map)

SCHEDULER_FILES = $(patsubst scheduler/%.in,%,$(wildcard scheduler/*.in))

WORKLOAD = $(addprefix $(BUILD)/bin/slicewise-,load trials)

include make/packages.mk

.DEFAULT_GOAL = all
NATIVE = lib/libslicewise.so lib/libslicewise-reader.so lib/libslicewise-coordinate.so lib/libslicewise-threads.so lib/libslicewise-accelerators.so lib/libslicewise-nvtx.so bin/slicewise-collect

.PHONY: all native
all: native  ## build the library, the collector and, where Python is, the command
	@make/command $(BUILD) $(MAKE) --no-print-directory

native: $(NATIVE:%=$(BUILD)/%) $(if $(MPICC),$(WORKLOAD))  ## build all but the command: needs no Python and no package index

$(NATIVE:%=$(LINKED)/%): | $(if $(OLDEST_GLIBC),$(BUILD)/old_glibc/libc.so)

# What the compiler would not find is named with what installs it, before the first file is compiled.
$(BUILD)/.tools: make/setup
	@make/setup --check native
	@mkdir -p $(@D) && touch $@

$(BUILD)/generate: schema/generate.c schema/pages.c schema/lists.h schema/format.h $(wildcard schema/*.def) | $(BUILD)/.tools
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O1 $(WARNINGS) -Ischema $(filter schema/%.c,$^) -o $@ $(ZSTD_ARCHIVE)

# It runs here, so that files for another machine are made with this machine's (make/cross.mk).
GENERATE ?= $(BUILD)/generate

$(BUILD)/generated/schema_frame.inc: $(GENERATE)
	@mkdir -p $(@D)
	$< frame > $@

$(BUILD)/generated/size_bins.inc: $(GENERATE)
	@mkdir -p $(@D)
	$< bins > $@

$(BUILD)/generated/exports.map: $(GENERATE)
	@mkdir -p $(@D)
	$< exports > $@

# For `slicewise-collect node --bpf`; without clang and libbpf's headers the collector says that it has none.
$(BUILD)/generated/moved_bpf.inc: collector/bpf/moved.bpf.c collector/bpf/key.h make/bpf
	@mkdir -p $(@D)
	CC="$(CC)" make/bpf $< $@

$(BUILD)/objects/collector/bpf.o: $(BUILD)/generated/moved_bpf.inc

# Keeps out what store/pack.c does not use of zstd's compressor.
$(BUILD)/generated/zstd_unused.c: make/zstd_unused $(ZSTD_ARCHIVE) | $(BUILD)/.tools
	@mkdir -p $(@D)
	CC="$(CC)" make/zstd_unused $(ZSTD_ARCHIVE) $@

$(BUILD)/objects/zstd_unused.o: $(BUILD)/generated/zstd_unused.c
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) -c $< -o $@

$(BUILD)/objects/%.o: %.c $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) -c $< -o $@

$(LINKED)/lib/libslicewise.so: $(ENGINE_OBJECTS) $(WRAPPER_OBJECTS) $(BUILD)/objects/zstd_unused.o $(BUILD)/generated/exports.map
	@mkdir -p $(@D)
	$(CC) -shared -nostartfiles -o $@ $(USUAL_OBJECTS) -lgcc $(filter-out $(USUAL_OBJECTS),$(LIBRARY_OBJECTS)) $(BUILD)/objects/zstd_unused.o $(ZSTD_ARCHIVE) $(NAMES_OF_GLIBC) $(LDFLAGS) $(LIBRARY_LINK)

# That this links shows that the store needs nothing of the engine; and the collector has no constructor that would profile the collector itself.
$(LINKED)/bin/slicewise-collect: $(COLLECTOR_OBJECTS) $(BUILD)/objects/turns/turn.o $(STORE_OBJECTS) $(BUILD)/objects/zstd_unused.o
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(ZSTD_ARCHIVE) $(NAMES_OF_GLIBC) $(LDFLAGS) -pie -Wl,-z,relro,-z,now -ldl -lpthread

# Taking turns: for the profiler, which opens it where turns are asked for, and for programs that take them by calls of their own. It profiles nothing.
$(LINKED)/lib/libslicewise-coordinate.so: $(INTERFACE_OBJECTS) $(TURN_OBJECTS) $(STORE_OBJECTS)
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $^ $(ZSTD_ARCHIVE) $(NAMES_OF_GLIBC) $(LDFLAGS) -Wl,--wrap=syscall -Wl,--exclude-libs,ALL -Wl,--gc-sections \
	  -Wl,-z,relro,-z,now,-z,defs

# What threads wait for each other, timed: preloaded beside the profiler where it is asked for.
$(LINKED)/lib/libslicewise-threads.so: $(THREAD_OBJECTS) threads/versions.map
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $(THREAD_OBJECTS) $(NAMES_OF_GLIBC) $(LDFLAGS) -Wl,--wrap=syscall -Wl,--exclude-libs,ALL -Wl,--gc-sections \
	  $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),-Xlinker --version-script=threads/versions.map) -Wl,-z,relro,-z,now,-z,defs

# What accelerators do, and waits for them: likewise preloaded.
$(LINKED)/lib/libslicewise-accelerators.so: $(ACCELERATOR_OBJECTS)
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $^ $(NAMES_OF_GLIBC) $(LDFLAGS) -Wl,--wrap=syscall -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,defs -ldl

# NVTX's ranges as regions: NVTX opens it by itself.
$(LINKED)/lib/libslicewise-nvtx.so: $(NVTX_OBJECTS)
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $^ $(NAMES_OF_GLIBC) $(LDFLAGS) -Wl,--gc-sections -Wl,-z,noseparate-code -Wl,-z,relro,-z,now,-z,defs -ldl

# What the analyzer reads profiles with: it shares the format's bytes with the library, and no code.
$(LINKED)/lib/libslicewise-reader.so: $(READER_OBJECTS)
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $^ $(ZSTD_ARCHIVE) $(NAMES_OF_GLIBC) $(LDFLAGS) -Wl,--exclude-libs,ALL -Wl,-z,relro -Wl,-z,defs -lpthread

$(VENV)/.installed: analyzer/requirements.lock analyzer/pyproject.toml make/environment | $(BUILD)/lib/libslicewise-reader.so
	make/environment $(VENV)
	touch $@

$(BUILD)/bin/slicewise: bin/slicewise.in $(VENV)/.installed
	@mkdir -p $(@D)
	sed 's|@PYTHON@|../venv/bin/python|; s|@PACKAGE@|../../analyzer/slicewise|' $< > $@
	chmod 755 $@

# The tools that exports and the dashboard are for, in an environment of their own: tests open what we write with them.
$(BUILD)/peers/.installed: tests/peers.lock
	$$(make/python) -m venv --clear $(@D)
	$(@D)/bin/python -I -m pip --disable-pip-version-check --quiet install --no-compile --require-hashes --requirement $<
	touch $@

# Prometheus's checker of rules: the one program out of Debian's package, whose installation would start a server. Tests say so where it cannot be had.
.PHONY: promtool
promtool: $(BUILD)/promtool/promtool
$(BUILD)/promtool/promtool:
	@mkdir -p $(@D)
	cd $(@D) && { apt-get download -qq -o APT::Sandbox::User=root prometheus || { apt-get update -qq && apt-get download -qq -o APT::Sandbox::User=root prometheus; }; }
	cd $(@D) && dpkg-deb --extract prometheus_*.deb package && mv package/usr/bin/promtool . && rm -r package prometheus_*.deb

# By hand: no package has this checker, and it takes minutes to compile. tests/unit/test_metrics_files.py looks for the most important of what it asks.
.PHONY: dashboard-lint
dashboard-lint:  ## check the Grafana dashboard by Grafana's dashboard-linter, if you have it
	@command -v dashboard-linter > /dev/null || { echo "dashboard-linter is not in PATH: take it from the releases of github.com/grafana/dashboard-linter" >&2; exit 1; }
	dashboard-linter lint --strict packaging/metrics/grafana-dashboard.json

# The workload of campaigns belongs to the MPI that it was built with: it is built where one is there, and not needed elsewhere.
$(BUILD)/bin/slicewise-%: workload/%.c workload/common.h
	@mkdir -p $(@D)
	$(MPICC) -std=c17 -O2 -g $(WARNINGS) $< -lm -o $@

.PHONY: setup
setup:  ## install what the build, the demo and the tests need, or say what is missing
	make/setup test
	$(MAKE) --no-print-directory $(VENV)/.installed

.PHONY: demo
demo:  ## run two competing MPI jobs and look at them
	@make/setup demo
	@$(MAKE) --no-print-directory --silent -j$(PROCESSORS) all $(BUILD)/bin/slicewise-load
	@PYTHONPATH=tests:demo $(VENV)/bin/python -m interference $(BUILD)

PYTEST = $(VENV)/bin/python -m pytest -c tests/pytest.ini
# Tests whose results depend on what else the machine does: times, real contention, all processes of the machine. Those of the disk are not the
# first: what was written before is still on its way to it. The others run side by side,
# two more than there are processors, since many wait; each with one thread of polars, for threads that wait for each other beside load take longer.
ALONE = $(addprefix tests/, \
  $(addprefix endtoend/,$(addprefix test_,crowds.py others.py profiling_cost.py saving_of_locks.py tutorial.py contention.py)) \
  $(addprefix fault/,$(addprefix test_,collector.py jumps.py)))
# Those that mind a crowd, and not one neighbour of another file: a testbed's networks, whose links are slow beside a processor, looks at living
# processes, and costs in instructions and bytes. The longest comes first, and files stay in this order: else it is the last one, and runs without a
# neighbour.
IN_PAIRS = $(addprefix tests/, \
  $(addprefix endtoend/,$(addprefix test_,testbed.py blame.py fio.py hardware.py killed.py live.py load.py real_stress.py sampled.py sites.py)) \
  bench guest/test_short.py \
  $(addprefix endtoend/,$(addprefix test_,live_costs.py footprint.py)) fault/test_valgrind.py)

# What `make check` leaves to `make test`, since it takes long: packages and releases, whole days of a site, all scenarios of blame, fits and
# predictions, catalogs in a browser, and killed. It makes fewer random cases, and leaves out the C tests of deaths at any
# moment and of hostile segments.
NOT_DAILY = $(addprefix tests/property/test_,hostile_names.py blame.py) $(addprefix tests/unit/test_,pythons.py skips.py packages.py \
  slim_packages.py recipes.py worst.py blame_all.py catalog_page.py fitted_model.py predict.py copies_mixed.py)
NOT_DAILY_TEST = unit/test_catalog.py::test_killed_at_any_moment
DAILY_EXAMPLES = 10

.PHONY: check
check: all $(BUILD)/bin/unit $(BUILD)/peers/.installed  ## for daily work: unit and property tests, lint of what changed
	$(BUILD)/bin/unit '~[crash]~[fuzz]'
	PROPERTY_EXAMPLES=$(DAILY_EXAMPLES) $(PYTEST) -q -n $(PROCESSORS) --dist loadgroup $(NOT_DAILY:%=--ignore=%) --deselect $(NOT_DAILY_TEST) \
	  tests/unit tests/property
	@$(MAKE) --no-print-directory -j$(PROCESSORS) --keep-going lint-changed

# With PYTEST_OPTIONS=--listed-skips, a test that skips fails the run unless tests/may_skip.txt has it. The Python environment is begun with the
# compiling, since it waits for a network; so do what only some tests want and may lack. The engine's own tests and lint run beside those
# tests that do not mind, and speak last.
# Up to MOST_AGAIN tests that failed are run once more with nothing beside them, since these machines are shared: what fails again fails.
MOST_AGAIN = 5
FAILED = $(BUILD)/failed
.PHONY: test
test:  ## run all tests, the engine's under sanitizers too, and lint
	make/setup test
	mkdir -p $(BUILD); { $(MAKE) --no-print-directory axe; $(MAKE) --no-print-directory promtool; make/setup guest; } > $(BUILD)/fetched.log 2>&1 & fetching=$$!; \
	  $(MAKE) --no-print-directory -j$(PROCESSORS) $(BUILD)/lib/libslicewise-reader.so && \
	  $(MAKE) --no-print-directory -j$(PROCESSORS) $(VENV)/.installed native $(BUILD)/bin/unit $(BUILD)/peers/.installed $(BUILD)/site_tools/.installed && \
	  $(MAKE) --no-print-directory all; built=$$?; wait $$fetching; cat $(BUILD)/fetched.log; exit $$built
	rm -f $(FAILED)
	$(MAKE) --no-print-directory --silent -j$(PROCESSORS) sanitize unit > $(BUILD)/engine.log 2>&1 & testing_engine=$$!; \
	  nice -n 19 $(MAKE) --no-print-directory lint > $(BUILD)/lint.log 2>&1 & linting=$$!; \
	  POLARS_MAX_THREADS=1 $(PYTEST) $(PYTEST_OPTIONS) --failed-into $(FAILED) -n $$(($(PROCESSORS) + 2)) --dist loadgroup $(patsubst %,--ignore=%,$(ALONE) $(IN_PAIRS) tests/guest) tests; side_by_side=$$?; \
	  $(PYTEST) $(PYTEST_OPTIONS) --failed-into $(FAILED) -n 2 --dist loadfile --no-loadscope-reorder $(IN_PAIRS); two=$$?; \
	  wait $$testing_engine; engine=$$?; wait $$linting; lint=$$?; \
	  $(PYTEST) $(PYTEST_OPTIONS) --failed-into $(FAILED) $(ALONE); tests=$$((side_by_side | two | $$?)); \
	  if [ $$tests -eq 1 ] && [ -s $(FAILED) ] && [ "$$(wc -l < $(FAILED))" -le $(MOST_AGAIN) ]; then \
	    printf '\nOnce more, with nothing beside them:\n' && cat $(FAILED) && $(PYTEST) $(PYTEST_OPTIONS) "@$(FAILED)"; tests=$$?; fi; \
	  cat $(BUILD)/engine.log $(BUILD)/lint.log; exit $$((tests | engine | lint))

# SOAK_ROUNDS: how often each fault is tried. What fails ends it, and says in which round.
SOAK_ROUNDS ?= 50
SOAK_FUZZ_SECONDS ?= 600

.PHONY: guest
guest:  ## tests on a kernel that this machine may lack (NFS), in a guest under emulation; as root, about 5 min
	make/setup guest
	$(MAKE) --no-print-directory -j$(PROCESSORS) all
	$(PYTEST) -q tests/guest

.PHONY: soak
soak:  ## what takes long: fuzzing, deep lint, endurance, a guest, stress, and each fault SOAK_ROUNDS times
	make/setup test
	$(MAKE) --no-print-directory -j$(PROCESSORS) all
	$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=$(SOAK_FUZZ_SECONDS)
	PROPERTY_EXAMPLES=300 SLICEWISE_HOSTILE_EXAMPLES=30 SLICEWISE_FUZZ_ROUNDS=600 SLICEWISE_FUZZ_PROFILES=100 \
	  POLARS_MAX_THREADS=1 $(PYTEST) -q -n $(PROCESSORS) --dist loadgroup --ignore=tests/fuzz/test_c_readers.py tests/fuzz tests/property \
	  tests/golden/test_catalog_campaigns.py tests/endtoend/test_stack_oracle.py
	rm -rf $(BUILD)/lint && $(MAKE) --no-print-directory -j$(PROCESSORS) lint-c TIDY_LIMIT=
	$(MAKE) --no-print-directory bench-endurance
	$(MAKE) --no-print-directory guest
	for round in $$(seq $(SOAK_ROUNDS)); do \
	  echo "soak: round $$round of $(SOAK_ROUNDS)"; $(PYTEST) -q tests/fault tests/endtoend/test_real_stress.py tests/endtoend/test_life_starts.py tests/endtoend/test_crowds.py || exit; \
	done

.PHONY: install install-man install-native
install: all $(BUILD)/bin/slicewise install-man install-native  ## install below PREFIX (/usr/local); the clone is not needed afterwards
	make/wheel $(BUILD)
	make/environment $(DESTDIR)$(PREFIX)/lib/slicewise/venv $(BUILD)/wheel/*.whl
	sed 's|@PYTHON@|../lib/slicewise/venv/bin/python|; s|@PACKAGE@|../lib/slicewise/venv/lib/python3*/site-packages/slicewise|' bin/slicewise.in > $(BUILD)/wheel/slicewise
	install -m 755 $(BUILD)/wheel/slicewise $(DESTDIR)$(PREFIX)/bin/slicewise

install-man: $(VENV)/.installed
	$(VENV)/bin/python make/man_pages $(DESTDIR)$(MANDIR)

# What is not Python. INSTALL_MPI: the workload of campaigns, where there is an MPI compiler.
INSTALL_MPI = $(if $(MPICC),$(WORKLOAD))
install-native: $(LINKED)/lib/libslicewise.so $(LINKED)/lib/libslicewise-coordinate.so $(LINKED)/lib/libslicewise-threads.so $(LINKED)/lib/libslicewise-accelerators.so $(LINKED)/lib/libslicewise-nvtx.so $(LINKED)/bin/slicewise-collect $(INSTALL_MPI)  ## install library and collector alone below PREFIX: no Python is needed
	install -D -m 755 $(LINKED)/lib/libslicewise.so $(DESTDIR)$(PREFIX)/lib/libslicewise.so
	for part in coordinate threads accelerators nvtx; do install -D -m 755 $(LINKED)/lib/libslicewise-$$part.so $(DESTDIR)$(PREFIX)/lib/libslicewise-$$part.so || exit; done
	for file in slicewise/coordinate.h slicewise/region.h slicewise_coordinate.f90 slicewise_region.f90 slicewise_region.py; do \
	  install -D -m 644 interface/$$file $(DESTDIR)$(PREFIX)/include/slicewise/$${file##*/} || exit; \
	done
	make/keep_collector $(DESTDIR)$(PREFIX) $(LINKED)/bin/slicewise-collect
	install -D -m 755 $(LINKED)/bin/slicewise-collect $(DESTDIR)$(PREFIX)/bin/slicewise-collect
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/share/slicewise $(DESTDIR)$(MANDIR)/man1
	make/collector_page $(or $(COLLECTOR_HERE),$(LINKED)/bin/slicewise-collect) > $(DESTDIR)$(MANDIR)/man1/slicewise-collect.1
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' packaging/slicewise.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/slicewise.pc
	for file in $(SCHEDULER_FILES); do \
	  sed 's|@PREFIX@|$(PREFIX)|' scheduler/$$file.in > $(DESTDIR)$(PREFIX)/share/slicewise/$$file || exit; \
	done
	chmod 755 $(DESTDIR)$(PREFIX)/share/slicewise/slurm-*
	$(if $(INSTALL_MPI),install -m 755 $(INSTALL_MPI) $(DESTDIR)$(PREFIX)/bin,@echo "install: without slicewise-load and slicewise-trials, which need an MPI compiler")

include make/analyzer.mk

.PHONY: docs
docs: $(BUILD)/generate $(VENV)/.installed  ## write the pages that are made from schema/ and from the code
	$< counters > docs/counters.md
	$< coverage > docs/coverage.md
	$< contract > analyzer/slicewise/contract.json
	$(VENV)/bin/python make/digest_pages.py digest > docs/digest.md
	$(VENV)/bin/python make/catalog_page > $(BUILD)/catalog.md && cp $(BUILD)/catalog.md docs/catalog.md
	$(VENV)/bin/python make/digest_pages.py python > docs/python.md
	$(VENV)/bin/python make/digest_pages.py glossary > docs/glossary.md
	COLUMNS=100 $(VENV)/bin/python make/options_page > docs/options.md

.PHONY: man
man: $(VENV)/.installed  ## make man pages of the help: build/share/man
	rm -rf $(BUILD)/share/man
	$(VENV)/bin/python make/man_pages $(BUILD)/share/man

.PHONY: docs-check
docs-check: $(BUILD)/generate $(VENV)/.installed
	$< counters | diff docs/counters.md - && $< coverage | diff docs/coverage.md - && $< contract | diff analyzer/slicewise/contract.json - || { echo "run make docs" >&2; exit 1; }
	$(VENV)/bin/python make/digest_pages.py digest | diff docs/digest.md - || { echo "run make docs" >&2; exit 1; }
	$(VENV)/bin/python make/catalog_page | diff docs/catalog.md - || { echo "run make docs" >&2; exit 1; }
	$(VENV)/bin/python make/digest_pages.py python | diff docs/python.md - || { echo "run make docs" >&2; exit 1; }
	$(VENV)/bin/python make/digest_pages.py glossary | diff docs/glossary.md - || { echo "run make docs" >&2; exit 1; }
	COLUMNS=100 $(VENV)/bin/python make/options_page | diff docs/options.md - || { echo "run make docs" >&2; exit 1; }

.PHONY: clean
clean:  ## remove what was built
	rm -rf $(BUILD)

.PHONY: help
help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

include make/pages.mk make/engine.mk make/site.mk make/lint.mk make/fuzz.mk make/bench.mk make/cross.mk make/validation.mk

-include $(patsubst %.o,%.d,$(ENGINE_OBJECTS) $(WRAPPER_OBJECTS) $(COLLECTOR_OBJECTS) $(READER_OBJECTS) $(INTERFACE_OBJECTS) $(TURN_OBJECTS) $(THREAD_OBJECTS) $(ACCELERATOR_OBJECTS) $(NVTX_OBJECTS))
