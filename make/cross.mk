# The library's objects for aarch64, by Debian's cross compiler: what is written for its counter and its system calls must compile.
# Nothing is linked, so that zstd's header alone is needed, which is the same for every architecture. Included by Makefile.

AARCH64_CC ?= aarch64-linux-gnu-gcc
AARCH64_OBJECTS = $(patsubst %.c,$(BUILD)/aarch64/%.o,$(wildcard store/*.c libprofiler/*.c wrappers/*.c collector/*.c))

$(BUILD)/aarch64/%.o: %.c $(GENERATED)
	@mkdir -p $(@D)
	$(AARCH64_CC) $(C_FLAGS) -Werror=implicit -Werror=int-conversion -Werror=incompatible-pointer-types -idirafter /usr/include -c $< -o $@

$(BUILD)/aarch64/collector/bpf.o: $(BUILD)/generated/moved_bpf.inc

.PHONY: aarch64
aarch64: $(AARCH64_OBJECTS)  ## compile the library's objects for aarch64 (needs gcc-aarch64-linux-gnu)

-include $(AARCH64_OBJECTS:.o=.d)
