# The engine's own tests, under sanitizers too. Included by Makefile.

# TESTS_BUILD: where the tests' own C++ is compiled, which takes longer than all that they test.
TESTS_BUILD ?= $(BUILD)
UNIT_OBJECTS = $(patsubst %.cpp,$(TESTS_BUILD)/objects/%.o,$(wildcard tests/unit/*.cpp)) $(patsubst %.c,$(BUILD)/objects/%.o,$(wildcard tests/unit/*.c))
# The tests start and stop an engine of their own (tests/unit/fake_engine.c).
UNIT_ENGINE_OBJECTS = $(filter-out $(addprefix $(BUILD)/objects/libprofiler/,engine.o notice.o ending.o),$(ENGINE_OBJECTS))
UNIT_READER_OBJECTS = $(BUILD)/objects/reader/memory.o
UNIT_COLLECTOR_OBJECTS = $(filter-out $(BUILD)/objects/collector/main.o,$(COLLECTOR_OBJECTS))
UNIT_WRAPS = -Wl,--wrap=syscall,--wrap=vdso_clock
CATCH_LIBRARIES = $(shell $(CXX) -E -x c++ -include catch2/catch_all.hpp /dev/null > /dev/null 2>&1 && echo -lCatch2)
RACE_OBJECTS = $(BUILD)/objects/tests/unit/race/race.o $(BUILD)/objects/tests/unit/spool_reader.o

# The tests' own C++ is not optimised, and the framework's headers are parsed once: else these two would be most of the time that a build takes.
TEST_FLAGS = -O0
UNIT_ROOMS = -Itests/unit/cplusplus -Itests/unit -Icollector -Iwrappers -Iturns -Ireader -Iinterface
PARSED = $(BUILD)/objects/tests/unit/parsed/catch.h
$(PARSED).gch: tests/unit/catch.h | $(BUILD)/.tools
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) $(TEST_FLAGS) -x c++-header -c $< -o $@

$(BUILD)/objects/tests/unit/%.o: tests/unit/%.cpp $(GENERATED) $(PARSED).gch
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) $(TEST_FLAGS) $(PARSED_FIRST) $(UNIT_ROOMS) -c $< -o $@
PARSED_FIRST = -include $(PARSED)
# Version 2 of the framework puts its own code into the file that asks for it, which no other file must have asked before.
$(BUILD)/objects/tests/unit/main.o: PARSED_FIRST =
# Its [layout] tests are of frames as the optimiser lays them out.
$(BUILD)/objects/tests/unit/test_call.o: TEST_FLAGS =
$(BUILD)/objects/tests/unit/test_call.o: PARSED_FIRST =

$(BUILD)/bin/unit: $(UNIT_OBJECTS) $(UNIT_COLLECTOR_OBJECTS) $(INTERFACE_OBJECTS) $(addprefix $(BUILD)/objects/turns/,turn.o turn_client.o turn_values.o) $(UNIT_ENGINE_OBJECTS) $(UNIT_READER_OBJECTS)
	@mkdir -p $(@D)
	$(CXX) -o $@ $^ $(CATCH_LIBRARIES) $(ZSTD_ARCHIVE) $(LDFLAGS) $(UNIT_WRAPS) -ldl -lpthread

$(BUILD)/bin/race: $(RACE_OBJECTS) $(ENGINE_OBJECTS)
	@mkdir -p $(@D)
	$(CXX) -o $@ $^ $(ZSTD_ARCHIVE) $(LDFLAGS) -ldl -lpthread

.PHONY: unit
unit: $(BUILD)/bin/unit  ## run the engine's unit tests
	$<

# A sanitizer's shadow has a fixed place, and where addresses are random over more bits than its makers knew, something may lie there already.
FIXED_PLACES = $(shell setarch -R true 2> /dev/null && echo setarch -R)

.PHONY: race
race: $(BUILD)/bin/race
	rm -rf $(BUILD)/race && mkdir -p $(BUILD)/race
	SLICEWISE_DIR=$(abspath $(BUILD)/race) SLICEWISE_SLICE=0.1 $(FIXED_PLACES) $<

ADDRESS_FLAGS = -fsanitize=address,undefined -fno-sanitize-recover=all
THREAD_FLAGS = -fsanitize=thread
# Instrumented code in single steps takes minutes and shows nothing that it does not show at once: the [crash] tests stay out. So do the [layout]
# tests: they need frames where a compiler puts them by itself, and ASan sets them apart.
.PHONY: sanitize sanitize-addresses sanitize-threads
sanitize: sanitize-addresses sanitize-threads  ## run the engine's tests under ASan and UBSan, and its threads under TSan
# What is tested is instrumented, and not the tests.
sanitize-addresses: $(BUILD)/bin/unit
	$(MAKE) BUILD=$(BUILD)/address TESTS_BUILD=$(BUILD) CFLAGS='-O1 -g -fno-omit-frame-pointer $(ADDRESS_FLAGS)' LDFLAGS='$(ADDRESS_FLAGS)' $(BUILD)/address/bin/unit
	$(FIXED_PLACES) $(BUILD)/address/bin/unit '~[crash]~[layout]'
sanitize-threads:
	TSAN_OPTIONS='halt_on_error=0 exitcode=66 suppressions=tests/unit/race/by_design.supp' \
	  $(MAKE) BUILD=$(BUILD)/thread CFLAGS='-O1 -g $(THREAD_FLAGS)' LDFLAGS='$(THREAD_FLAGS)' race

-include $(UNIT_OBJECTS:.o=.d) $(RACE_OBJECTS:.o=.d)
