# The engine's own tests, under sanitizers too. Included by Makefile.

UNIT_OBJECTS = $(patsubst %,$(BUILD)/objects/%.o,$(basename $(wildcard tests/unit/*.c tests/unit/*.cpp)))
# The tests start and stop an engine of their own (tests/unit/fake_engine.c).
UNIT_ENGINE_OBJECTS = $(filter-out $(addprefix $(BUILD)/objects/libprofiler/,engine.o notice.o ending.o),$(ENGINE_OBJECTS)) $(BUILD)/objects/wrappers/mpi_pending.o
UNIT_READER_OBJECTS = $(BUILD)/objects/reader/memory.o
UNIT_COLLECTOR_OBJECTS = $(filter-out $(BUILD)/objects/collector/main.o,$(COLLECTOR_OBJECTS))
UNIT_WRAPS = -Wl,--wrap=syscall,--wrap=clock_gettime,--wrap=getrusage
CATCH_LIBRARIES = $(shell $(CXX) -E -x c++ -include catch2/catch_all.hpp /dev/null > /dev/null 2>&1 && echo -lCatch2)
RACE_OBJECTS = $(BUILD)/objects/tests/unit/race/race.o $(BUILD)/objects/tests/unit/spool_reader.o

$(BUILD)/objects/tests/unit/%.o: tests/unit/%.cpp $(GENERATED)
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) $(TEST_FLAGS) -Itests/unit/cplusplus -Itests/unit -Icollector -Iwrappers -Ireader -Iinterface -c $< -o $@

# The framework's own code: half of the time that it takes to compile is the optimiser's.
$(BUILD)/objects/tests/unit/main.o: TEST_FLAGS = -O0

$(BUILD)/bin/unit: $(UNIT_OBJECTS) $(UNIT_COLLECTOR_OBJECTS) $(INTERFACE_OBJECTS) $(UNIT_ENGINE_OBJECTS) $(UNIT_READER_OBJECTS)
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
# The tests' own C++ is not optimised: with ASan and UBSan in it, that takes longer than all the rest.
# Instrumented code in single steps takes minutes and shows nothing that it does not show at once: the [crash] tests stay out. So do the [layout]
# tests: they need frames where a compiler puts them by itself, and ASan sets them apart.
.PHONY: sanitize
sanitize:  ## run the engine's tests under ASan and UBSan, and its threads under TSan
	$(MAKE) BUILD=$(BUILD)/address CFLAGS='-O1 -g -fno-omit-frame-pointer $(ADDRESS_FLAGS)' LDFLAGS='$(ADDRESS_FLAGS)' TEST_FLAGS=-O0 $(BUILD)/address/bin/unit
	$(FIXED_PLACES) $(BUILD)/address/bin/unit '~[crash]~[layout]'
	TSAN_OPTIONS='halt_on_error=0 exitcode=66 suppressions=tests/unit/race/by_design.supp' \
	  $(MAKE) BUILD=$(BUILD)/thread CFLAGS='-O1 -g $(THREAD_FLAGS)' LDFLAGS='$(THREAD_FLAGS)' race

-include $(UNIT_OBJECTS:.o=.d) $(RACE_OBJECTS:.o=.d)
