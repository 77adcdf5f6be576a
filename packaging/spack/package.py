"""Recipe for Spack: the library, the collector, and what programs link that take turns.

Put it into a repository of your own as packages/slicewise-runtime/package.py. There is no address to fetch sources from
yet: in a clone, `spack dev-build slicewise-runtime@0.1.0` builds them. The command is a Python package of its own.
"""

from spack.package import *


class SlicewiseRuntime(MakefilePackage):
    """Profiles the I/O of jobs in clock-aligned slices: what compute nodes need of Slicewise."""

    license("BSD-3-Clause")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("gmake@4:", type="build")
    # Linked in: an application gets no zstd of ours.
    depends_on("zstd libs=static", type="build")

    build_targets = ["native"]

    def setup_build_environment(self, env):
        env.set("ZSTD_ARCHIVE", join_path(self.spec["zstd"].prefix.lib, "libzstd.a"))

    def install(self, spec, prefix):
        make("install-native", f"PREFIX={prefix}", "INSTALL_MPI=")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def try_collector(self):
        Executable(self.prefix.bin.join("slicewise-collect"))("--help")
