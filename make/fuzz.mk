# The C readers against bytes that nobody wrote, by libFuzzer under ASan and UBSan. Included by Makefile.
# FUZZ_SECONDS: how long each target runs. What is found lies in $(BUILD)/fuzz/found-TARGET-*: run the target's program on it to see it again.

FUZZ_SECONDS ?= 5
FUZZ_TARGETS = proc processes segment elf connections reader coordinator advised stack_texts settings
FUZZ_CC ?= clang
FUZZ_FLAGS = -O1 -gline-tables-only -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
# No target calls into these: not to be compiled for them.
FUZZ_UNUSED = $(patsubst %,libprofiler/%.c,engine notice memory_lock io_library key_table say mapping computing unprofiled filter mpi_pending request \
    regions io_uring call_stream stdio_buffer mpi_library mpi_files ending) \
  $(patsubst %,collector/%.c,main run background recover servers waiting user snapshot node left others others_link others_segments own_segments \
    launched earlier living live served)
FUZZ_SOURCES = $(filter-out $(FUZZ_UNUSED),$(wildcard store/*.c libprofiler/*.c collector/*.c)) tests/unit/fake_engine.c tests/unit/fake_system.c turns/turn.c turns/turn_client.c
FUZZ_READER_OBJECTS = $(patsubst %.c,$(BUILD)/fuzz/objects/%.o,$(wildcard reader/*.c))
FUZZ_INCLUDED = $(patsubst %,$(BUILD)/fuzz/objects/collector/%.o,stacks stack_walk coordinator coordinator_options)
FUZZ_OBJECTS = $(FUZZ_SOURCES:%.c=$(BUILD)/fuzz/objects/%.o)

$(BUILD)/fuzz/objects/%.o: %.c $(GENERATED)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(filter-out -O2 -W%,$(C_FLAGS)) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -Itests/unit -Icollector -Iwrappers -Iturns -Ireader -c $< -o $@

$(BUILD)/fuzz/objects/collector/bpf.o: $(BUILD)/generated/moved_bpf.inc

$(BUILD)/fuzz/%: $(BUILD)/fuzz/objects/tests/fuzz/%.o $(FUZZ_OBJECTS)
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(ZSTD_ARCHIVE) $(UNIT_WRAPS) -ldl -lpthread

# They include the sources whose functions of their own they call.
$(BUILD)/fuzz/stack_texts $(BUILD)/fuzz/coordinator: $(BUILD)/fuzz/%: $(BUILD)/fuzz/objects/tests/fuzz/%.o \
  $(filter-out $(FUZZ_INCLUDED),$(FUZZ_OBJECTS))
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(ZSTD_ARCHIVE) $(UNIT_WRAPS) -ldl -lpthread

$(BUILD)/fuzz/reader: $(BUILD)/fuzz/objects/tests/fuzz/reader.o $(FUZZ_READER_OBJECTS)
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(ZSTD_ARCHIVE) -lpthread

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/%)

.PHONY: fuzz
fuzz: fuzz-programs $(VENV)/.installed  ## run the C readers on bytes that nobody wrote, FUZZ_SECONDS each
	PYTHONPATH=tests $(VENV)/bin/python -m fuzz.reader_seeds $(BUILD)/fuzz/corpus-reader
	for target in $(FUZZ_TARGETS); do tests/fuzz/run $(BUILD)/fuzz $$target $(FUZZ_SECONDS) || exit; done

-include $(FUZZ_OBJECTS:.o=.d) $(FUZZ_READER_OBJECTS:.o=.d) $(FUZZ_TARGETS:%=$(BUILD)/fuzz/objects/tests/fuzz/%.d)
