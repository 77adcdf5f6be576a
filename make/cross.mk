# Files for another processor than this machine's, by Debian's cross compiler: packages (make dist ARCHITECTURE=aarch64), and what tests look
# at. Another make makes them, in build/aarch64, to which that processor is this machine's. It takes from here what runs while it builds,
# and the header of zstd, which is the same for every processor. Included by Makefile.

CROSS_ZSTD_ARCHIVE ?= /usr/lib/$(1)-linux-gnu/libzstd.a
CROSS = $(MAKE) --no-print-directory BUILD=$(BUILD)/$(1) MACHINE=$(1) ARCHITECTURE=$(1) CC="$(1)-linux-gnu-gcc -idirafter /usr/include" \
  WARNINGS="$(WARNINGS) -Werror=implicit -Werror=int-conversion -Werror=incompatible-pointer-types" ZSTD_ARCHIVE=$(call CROSS_ZSTD_ARCHIVE,$(1)) \
  MPICC= GENERATE=$(BUILD)/generate COLLECTOR_HERE=$(BUILD)/bin/slicewise-collect

ifneq ($(ARCHITECTURE),$(MACHINE))
PORTABLE = $(BUILD)/$(ARCHITECTURE)/portable
portable runtime: $(BUILD)/generate
	@ZSTD_ARCHIVE=$(call CROSS_ZSTD_ARCHIVE,$(ARCHITECTURE)) make/setup --check $(ARCHITECTURE)
	+$(call CROSS,$(ARCHITECTURE)) $@
runtime: $(BUILD)/bin/slicewise-collect
endif

.PHONY: objects
objects: $(LIBRARY_OBJECTS) $(COLLECTOR_OBJECTS) $(READER_OBJECTS) $(INTERFACE_OBJECTS) $(TURN_OBJECTS)

# The library for tests under qemu, with stand-ins for zstd, and for the system call that qemu does not know: these objects make it.
EMULATED = $(BUILD)/emulated
EMULATED_OBJECTS = $(addprefix $(EMULATED)/,store/peek.o libprofiler/guard.o)
STAND_INS = $(addprefix $(EMULATED)/tests/apps/,zstd_stand_in.o qemu_stand_in.o)

$(EMULATED_OBJECTS): $(EMULATED)/%.o: $(BUILD)/objects/%.o
	@mkdir -p $(@D)
	$(shell $(CC) -print-prog-name=objcopy) --redefine-sym syscall=syscall_of_qemu $< $@

$(STAND_INS): $(EMULATED)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -O1 -fPIC -fvisibility=hidden -c $< -o $@

$(EMULATED)/libslicewise.so: $(LIBRARY_OBJECTS) $(EMULATED_OBJECTS) $(STAND_INS)
	@mkdir -p $(@D)
	$(CC) -shared -nostartfiles -o $@ $(filter-out $(EMULATED_OBJECTS:$(EMULATED)/%=$(BUILD)/objects/%),$^) $(LIBRARY_LINK)

.PHONY: aarch64
aarch64: $(BUILD)/generate  ## compile all for aarch64, and link the library for tests under qemu (needs gcc-aarch64-linux-gnu)
	+$(call CROSS,aarch64) objects $(BUILD)/aarch64/emulated/libslicewise.so
