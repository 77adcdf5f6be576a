# What the library costs: programs and targets of tests/bench. Included by Makefile.

BENCH_PYTHON = $(if $(wildcard $(VENV)/bin/python),$(VENV)/bin/python,python3)
BENCH_PROGRAMS = $(BUILD)/bench/calls $(BUILD)/bench/floor.so

$(BUILD)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 $(WARNINGS) $< -o $@ -lpthread

$(BUILD)/bench/floor.so: tests/bench/floor.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 $(WARNINGS) -fPIC -fvisibility=hidden -ftls-model=initial-exec -shared $< -o $@ -ldl

.PHONY: bench-check
bench-check: $(BUILD)/lib/libslicewise.so $(BENCH_PROGRAMS)  ## fail where instruction counts or sizes pass their budgets (tests/bench/budgets.toml)
	@PYTHONPATH=tests/bench $(BENCH_PYTHON) -m check $(BUILD)
