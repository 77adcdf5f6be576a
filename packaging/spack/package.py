"""Recipe for Spack: the library, the collector, and what programs link that take turns.

Put it into a repository of your own, as packages/slicewise_runtime/package.py (before Spack 1.0:
packages/slicewise-runtime). There is no address to fetch sources from yet: in a clone,
`spack dev-build slicewise-runtime@2.0.0` builds them. The command is a Python package of its own.
"""

try:  # Before Spack 1.0 spack.package has it.
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass

from spack.package import *


class SlicewiseRuntime(MakefilePackage):
    """Profiles the I/O of jobs in clock-aligned slices: what compute nodes need of Slicewise."""

    license("BSD-3-Clause")

    version("2.0.0")

    depends_on("c", type="build")
    depends_on("gmake@4:", type="build")
    # Linked in: an application gets no zstd of ours. Of a dependency for the build alone, Spack
    # shows the compiler no headers.
    depends_on("zstd libs=static")

    # A clone may hold in build/ what another compiler made. An MPI compiler in the PATH is not
    # taken: it is no dependency.
    make_variables = ("BUILD=build/spack", "MPICC=")
    build_targets = ("native", *make_variables)
    # `make test`, which `spack install --test` would run, is for developers: it installs packages
    # of the system.
    build_time_test_callbacks = ()

    def setup_build_environment(self, env):
        # Not always in prefix.lib: a zstd of the system may be anywhere below its prefix.
        zstd = find_libraries("libzstd", self.spec["zstd"].prefix, shared=False, recursive=True)
        env.set("ZSTD_ARCHIVE", zstd[0])

    def install(self, spec, prefix):
        make("install-native", f"PREFIX={prefix}", *self.make_variables)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def try_collector(self):
        Executable(self.prefix.bin.join("slicewise-collect"))("--help")
