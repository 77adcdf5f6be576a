# Packages: what they carry, and how each is made. Included by Makefile.

VERSION = $(shell sed -n 's/^\#define SLICEWISE_VERSION "\(.*\)"/\1/p' schema/format.h)
# Packages that are made twice of one commit are equal byte for byte: files in them have its time.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2> /dev/null || echo 0)
export SOURCE_DATE_EPOCH
DIST ?= dist

# All builds are for this glibc and all later ones; empty: for this system's glibc and later ones.
OLDEST_GLIBC = 2.28
# The libraries and the collector for packages: the same objects, without what debuggers want.
PORTABLE = $(BUILD)/portable

$(BUILD)/old_glibc/libc.so: packaging/old_glibc/stubs packaging/old_glibc/stat.c
	CC="$(CC)" packaging/old_glibc/stubs $(abspath $(@D)) $(OLDEST_GLIBC)

# The processor that packages are for. One that is not this machine's has its own rules (make/cross.mk): make dist ARCHITECTURE=aarch64.
MACHINE := $(shell uname -m)
ARCHITECTURE = $(MACHINE)
RUNTIME = slicewise-runtime-$(VERSION)-$(ARCHITECTURE)

.PHONY: portable runtime
ifeq ($(ARCHITECTURE),$(MACHINE))
portable:
	$(MAKE) --no-print-directory LINKED=$(PORTABLE) LDFLAGS="-Wl,--strip-all" $(NATIVE:%=$(PORTABLE)/%)
	packaging/old_glibc/check $(OLDEST_GLIBC) $(NATIVE:%=$(PORTABLE)/%)

# Library and collector alone. In the scripts the prefix is /opt/slicewise.
runtime: portable
	rm -rf $(BUILD)/runtime && mkdir -p $(DIST)
	$(MAKE) --no-print-directory install-native LINKED=$(PORTABLE) DESTDIR=$(abspath $(BUILD))/runtime PREFIX=/opt/slicewise INSTALL_MPI=
	install -m 644 LICENSE packaging/LICENSE.zstd $(BUILD)/runtime/opt/slicewise/share/slicewise
	tar --create --directory $(BUILD)/runtime/opt --sort=name --mtime=@$(SOURCE_DATE_EPOCH) --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w \
	  --transform 's|^slicewise|$(RUNTIME)|' slicewise | gzip -n9 > $(DIST)/$(RUNTIME).tar.gz
	@ls -l $(DIST)/$(RUNTIME).tar.gz
endif

.PHONY: dist
dist: portable man  ## make the wheel (library, collector, reader, command) and the tarball for compute nodes, in dist/
	make/wheel $(BUILD)
	$(VENV)/bin/python make/pack_wheel $(BUILD)/wheel/*.whl $(PORTABLE) $(BUILD)/share/man $(ARCHITECTURE) $(OLDEST_GLIBC) $(DIST)
	$(MAKE) --no-print-directory runtime sbom

ZSTD_VERSION = $(shell printf '\043include <zstd.h>\nZSTD_VERSION_MAJOR ZSTD_VERSION_MINOR ZSTD_VERSION_RELEASE\n' | $(CC) -E -P - | tail -1 | tr ' ' .)
.PHONY: sbom
sbom: $(VENV)/.installed  ## make a bill of materials (CycloneDX) of what an installation has, in dist/
	$(VENV)/bin/python make/sbom analyzer/requirements.lock $(VERSION) $(ZSTD_VERSION) $(DIST)/slicewise-$(VERSION).cdx.json

.PHONY: deb
deb: native  ## make a Debian package of library and collector, in dist/
	rm -rf $(BUILD)/deb
	$(MAKE) --no-print-directory install-native DESTDIR=$(abspath $(BUILD))/deb PREFIX=/usr/lib/slicewise MANDIR=/usr/share/man INSTALL_MPI=
	make/deb $(BUILD)/deb $(VERSION) $(DIST)

.PHONY: deb-check
deb-check: deb  ## check the Debian package with lintian and autopkgtest, which installs it and removes it again
	make/deb_check $(DIST)/slicewise-runtime_$(VERSION)_$(shell dpkg --print-architecture).deb

# They have the versions of the lock file, and pip prefers them to those of the index. It takes about an hour, and Rust's compiler.
.PHONY: slim
slim: $(VENV)/.installed  ## build polars and numpy without what is not used, in dist/slim/
	$(VENV)/bin/python make/slim $(BUILD)/slim $(DIST)/slim

# What a site without a package index needs, in one directory: pip installs from it alone.
.PHONY: bundle
bundle: dist  ## make dist/, with all packages that the wheel needs (those of `make slim` first), for sites without a package index
	rm -rf $(DIST)/bundle && mkdir -p $(DIST)/bundle
	sed -n 's/^\([^# ][^ ]*==[^ ]*\).*/\1/p' analyzer/requirements.lock > $(BUILD)/wheel/pins
	$(VENV)/bin/python -I -m pip --disable-pip-version-check --quiet download --dest $(DIST)/bundle --only-binary :all: \
	  $(if $(wildcard $(DIST)/slim),--find-links $(DIST)/slim) --constraint $(BUILD)/wheel/pins $(DIST)/slicewise-$(VERSION)-py3-none-manylinux_$(subst .,_,$(OLDEST_GLIBC))_$(ARCHITECTURE).whl
	@echo "bundle: elsewhere:  pip install --no-index --find-links $(DIST)/bundle slicewise"
