# Packages: what they carry, and how each is made. Included by Makefile.

VERSION = $(shell sed -n 's/^\#define SLICEWISE_VERSION "\(.*\)"/\1/p' schema/format.h)
# Packages that are made twice of one commit are equal byte for byte: files in them have its time.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2> /dev/null || echo 0)
export SOURCE_DATE_EPOCH
DIST ?= dist

# The libraries and the collector for this glibc and all later ones: the same objects, linked against its names, without what debuggers want.
OLDEST_GLIBC = 2.28
PORTABLE = $(BUILD)/portable
NATIVE = lib/libslicewise.so lib/libslicewise-coordinate.so lib/libslicewise-reader.so bin/slicewise-collect

$(BUILD)/old_glibc/libc.so: packaging/old_glibc/stubs packaging/old_glibc/stat.c
	CC="$(CC)" packaging/old_glibc/stubs $(abspath $(@D)) $(OLDEST_GLIBC)

.PHONY: portable
portable: $(BUILD)/old_glibc/libc.so
	$(MAKE) --no-print-directory LINKED=$(PORTABLE) LDFLAGS="-L$(abspath $(BUILD)/old_glibc) -Wl,--strip-all" $(NATIVE:%=$(PORTABLE)/%)
	packaging/old_glibc/check $(OLDEST_GLIBC) $(NATIVE:%=$(PORTABLE)/%)
