# What the library costs: programs and targets of tests/bench. Included by Makefile.

BENCH_PYTHON = $(if $(wildcard $(VENV)/bin/python),$(VENV)/bin/python,python3)
BENCH_PROGRAMS = $(addprefix $(BUILD)/bench/,calls life processes sites endure floor.so skewed_clock.so mpi_stand_in.so)
BENCH_LIBRARIES = $(addprefix $(BUILD)/lib/libslicewise,.so -threads.so)
BENCH_MPI_PROGRAMS = $(if $(MPICC),$(BUILD)/bench/ior_like) $(foreach name,openmpi mpich,$(if $(shell command -v mpicc.$(name)),$(BUILD)/bench/ping_pong.$(name)))

$(BUILD)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 $(WARNINGS) $< -o $@ -lpthread -ldl

$(BUILD)/bench/%.so: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 $(WARNINGS) -fPIC -fvisibility=hidden -ftls-model=initial-exec -shared $< -o $@ -ldl

$(BUILD)/bench/ior_like: tests/bench/ior_like.c
	@mkdir -p $(@D)
	$(MPICC) -O2 -Wall -Wextra $< -o $@

$(BUILD)/bench/ping_pong.%: tests/bench/ping_pong.c
	@mkdir -p $(@D)
	mpicc.$* -O2 -Wall -Wextra $< -o $@

.PHONY: bench
bench: $(BENCH_LIBRARIES) $(BENCH_PROGRAMS) $(BENCH_MPI_PROGRAMS)  ## measure what the library costs (results also in build/bench.json)
	@PYTHONPATH=tests/bench:tests $(BENCH_PYTHON) -m bench $(BUILD) -o $(BUILD)/bench.json

.PHONY: bench-tables
bench-tables:  ## the tables of docs/overhead.md, of the last make bench
	@PYTHONPATH=tests/bench $(BENCH_PYTHON) -m tables $(BUILD)/bench.json

.PHONY: bench-check
bench-check: $(BENCH_LIBRARIES) $(BENCH_PROGRAMS)  ## fail where instruction counts or sizes pass their budgets (tests/bench/budgets.toml)
	@PYTHONPATH=tests/bench:tests $(BENCH_PYTHON) -m check $(BUILD)

$(BUILD)/objects/tests/bench/turns.o: ROOMS = -Istore -Iturns
$(BUILD)/bench/turns: $(BUILD)/objects/tests/bench/turns.o $(addprefix $(BUILD)/objects/turns/,turn.o turn_client.o) $(STORE_OBJECTS)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(ZSTD_ARCHIVE) $(LDFLAGS) -ldl -lpthread

.PHONY: bench-periods
bench-periods: $(VENV)/.installed $(BUILD)/peers/.installed  ## how well the next burst of periodic I/O is known, beside FTIO
	@PYTHONPATH=tests:analyzer $(BENCH_PYTHON) -m bench.periods $(BUILD)

.PHONY: bench-turns
bench-turns: $(BUILD)/bench/turns $(BUILD)/bin/slicewise-collect  ## round trips of a coordinator, and 1,000 jobs at 5,000 rounds a second
	@PYTHONPATH=tests $(BENCH_PYTHON) -m bench.turns $(BUILD)

# ENDURANCE: options that make it shorter.
.PHONY: bench-endurance
bench-endurance: $(BUILD)/lib/libslicewise.so $(BUILD)/bench/endure $(VENV)/.installed  ## minutes of 1,000 threads, 100,000 files, 10 mounts at full speed
	@PYTHONPATH=tests/bench:analyzer $(BENCH_PYTHON) -m endurance $(BUILD) $(ENDURANCE)

# ANALYZER: options (--check, -o FILE).
.PHONY: bench-analyzer
bench-analyzer: $(BUILD)/lib/libslicewise-reader.so $(BUILD)/generate $(VENV)/.installed  ## what reading profiles costs, beside unpacking and Parquet
	@PYTHONPATH=tests:analyzer $(BENCH_PYTHON) -m bench.analyzer $(ANALYZER)
	@$(if $(ANALYZER),,PYTHONPATH=tests:analyzer $(BENCH_PYTHON) -m bench.commands)
	@$(if $(ANALYZER),,PYTHONPATH=tests:analyzer $(BENCH_PYTHON) -m bench.catalog)

.PHONY: bench-catalog
bench-catalog: $(BUILD)/lib/libslicewise-reader.so $(BUILD)/generate $(VENV)/.installed  ## what a catalog costs: to fill it, and to ask it (CATALOG="--days 30 --jobs 100000")
	@PYTHONPATH=tests:analyzer $(BENCH_PYTHON) -m bench.catalog $(CATALOG)

.PHONY: bench-catalog-month
bench-catalog-month: $(BUILD)/lib/libslicewise-reader.so $(BUILD)/generate $(VENV)/.installed  ## whether the program that a simulated month suffers from is found, with what it cost: 10 min
	@PYTHONPATH=tests:analyzer $(BENCH_PYTHON) -m bench.catalog_month $(MONTH)

.PHONY: bench-commands
bench-commands: $(BUILD)/lib/libslicewise-reader.so $(BUILD)/generate $(VENV)/.installed  ## what whole commands cost on jobs of all sizes
	@PYTHONPATH=tests:analyzer $(BENCH_PYTHON) -m bench.commands $(COMMANDS)

.PHONY: bench-two-jobs
bench-two-jobs: all $(BUILD)/bin/slicewise-load  ## two competing jobs on the testbed, under Slicewise and bare in turn: as root, minutes
	@PYTHONPATH=tests/bench:tests $(BENCH_PYTHON) -m two_jobs $(BUILD) -o $(BUILD)/two-jobs.json

.PHONY: bench-breakdown
bench-breakdown: $(BUILD)/lib/libslicewise.so $(BENCH_PROGRAMS)  ## where a call's instructions are, by function (KIND=pwrite)
	@PYTHONPATH=tests/bench $(BENCH_PYTHON) -m breakdown $(BUILD) $(or $(KIND),pwrite)
