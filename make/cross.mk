# The library's objects for aarch64, by Debian's cross compiler: what is written for its counter and its system calls must compile.
# zstd's header alone is needed, which is the same for every architecture. Included by Makefile.

AARCH64_CC ?= aarch64-linux-gnu-gcc
AARCH64_OBJECTS = $(patsubst %.c,$(BUILD)/aarch64/%.o,$(wildcard store/*.c libprofiler/*.c wrappers/*.c collector/*.c))

$(BUILD)/aarch64/%.o: %.c $(GENERATED)
	@mkdir -p $(@D)
	$(AARCH64_CC) $(C_FLAGS) -Werror=implicit -Werror=int-conversion -Werror=incompatible-pointer-types -idirafter /usr/include -c $< -o $@

$(BUILD)/aarch64/collector/bpf.o: $(BUILD)/generated/moved_bpf.inc

# The library for tests under qemu, with stand-ins for zstd, and for the system call that qemu does not know: these objects make it.
AARCH64_EMULATED = $(addprefix $(BUILD)/aarch64/,store/peek.o libprofiler/guard.o)
AARCH64_STAND_INS = $(addprefix $(BUILD)/aarch64/tests/apps/,zstd_stand_in.o qemu_stand_in.o)

$(AARCH64_EMULATED:$(BUILD)/aarch64/%=$(BUILD)/aarch64/emulated/%): $(BUILD)/aarch64/emulated/%: $(BUILD)/aarch64/%
	@mkdir -p $(@D)
	$(AARCH64_CC:gcc=objcopy) --redefine-sym syscall=syscall_of_qemu $< $@

$(AARCH64_STAND_INS): $(BUILD)/aarch64/%.o: %.c
	@mkdir -p $(@D)
	$(AARCH64_CC) -O1 -fPIC -fvisibility=hidden -c $< -o $@

$(BUILD)/aarch64/lib/libslicewise.so: $(LIBRARY_OBJECTS:$(BUILD)/objects/%=$(BUILD)/aarch64/%) $(AARCH64_EMULATED:$(BUILD)/aarch64/%=$(BUILD)/aarch64/emulated/%) $(AARCH64_STAND_INS)
	@mkdir -p $(@D)
	$(AARCH64_CC) -shared -nostartfiles -o $@ $(filter-out $(AARCH64_EMULATED),$^) $(LIBRARY_LINK)

.PHONY: aarch64
aarch64: $(AARCH64_OBJECTS)  ## compile the library's objects for aarch64 (needs gcc-aarch64-linux-gnu)

-include $(AARCH64_OBJECTS:.o=.d)
