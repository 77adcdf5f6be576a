# Looking for mistakes in all sources, and in those that changed. Included by Makefile.
# clang-tidy leaves a stamp for each file that it found nothing in; it looks again when the file or a header of it changes.
# It follows a function's paths to its own limit where a file changed, and in `make soak`; in all files at once for a tenth as far, in a quarter of the time.

TIDY_SOURCES = $(wildcard store/*.c libprofiler/*.c wrappers/*.c turns/*.c collector/*.c interface/*.c reader/*.c schema/*.c threads/*.c accelerators/*.c)
FORMATTED = $(filter-out turns/mpi_turns_%.c,$(foreach room,store libprofiler turns collector interface interface/slicewise reader schema threads accelerators,$(wildcard $(room)/*.[ch])))
PYTHON_SOURCES = analyzer tests demo make/audit make/catalog_page make/digest_pages.py make/layout make/pack_wheel make/slim make/wheel_file.py make/man_pages make/options_page make/sbom
RUFF = $(VENV)/bin/ruff
LINT_PARTS = lint-exports lint-c lint-format lint-python lint-types lint-rooms lint-shell lint-layout lint-audit docs-check
# What is not committed yet; in a clean tree, what the last commit changed. Asked only where it is the question.
CHANGED = $(if $(filter lint-changed%,$(MAKECMDGOALS)),$(shell \
  { git diff --name-only HEAD; git ls-files --others --exclude-standard; } | grep . || git diff --name-only HEAD~1))

$(BUILD)/lint/%.tidy: %.c $(BUILD)/objects/%.o .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet $< -- $(filter-out -M%,$(C_FLAGS)) -Iturns -Iwrappers $(TIDY_LIMIT) 2> $@.log || { cat $@.log; exit 1; }
	@touch $@

.PHONY: lint
lint:  ## look for mistakes in all sources
	make/setup lint
	$(MAKE) --no-print-directory -j$(PROCESSORS) $(GENERATED) $(BUILD)/lib/libslicewise.so $(VENV)/.installed
	@$(MAKE) --no-print-directory -j$(PROCESSORS) --keep-going --output-sync=target $(LINT_PARTS)

# As lint, but clang-tidy, which takes minutes, looks at the changed files alone.
.PHONY: lint-changed lint-changed-c
lint-changed: $(filter-out lint-c,$(LINT_PARTS)) lint-changed-c
lint-changed-c: $(patsubst %.c,$(BUILD)/lint/%.tidy,$(filter $(TIDY_SOURCES),$(CHANGED)))

.PHONY: lint-exports lint-c lint-format lint-python lint-shell lint-layout
lint-exports: $(BUILD)/generate $(BUILD)/lib/libslicewise.so
	make/exports $^

lint-c: TIDY_LIMIT ?= -Xclang -analyzer-config -Xclang max-nodes=20000
lint-c: $(TIDY_SOURCES:%.c=$(BUILD)/lint/%.tidy)

# The version of requirements.lock: others break lines elsewhere.
lint-format: $(VENV)/.installed
	$(VENV)/bin/clang-format --dry-run --Werror $(FORMATTED)

lint-python: $(VENV)/.installed
	$(RUFF) check --config analyzer/pyproject.toml $(PYTHON_SOURCES)
	$(RUFF) format --check --config analyzer/pyproject.toml $(PYTHON_SOURCES)

lint-shell:
	shellcheck $$(grep -rlIE '^#!.*\bsh$$' --exclude-dir=build .ci bin make packaging scheduler tests)

# The packages of the lock file, against what is known of them; it skips with a line where nobody can be asked.
.PHONY: lint-audit
lint-audit: $(VENV)/.installed
	@$(VENV)/bin/python make/audit analyzer/requirements.lock $(BUILD)

lint-layout: $(VENV)/.installed
	$(VENV)/bin/python make/layout
