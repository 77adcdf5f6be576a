# The analyzer's types and rooms, parts of `make lint` (make/lint.mk). Included by Makefile.

.PHONY: lint-types
lint-types: $(VENV)/.installed  ## check the analyzer's types
	cd analyzer && $(abspath $(VENV))/bin/mypy --cache-dir $(abspath $(BUILD))/mypy

.PHONY: lint-rooms
lint-rooms: $(VENV)/.installed  ## check that no part of the analyzer imports what lies above it
	cd analyzer && $(abspath $(VENV))/bin/lint-imports --cache-dir $(abspath $(BUILD))/import-linter
