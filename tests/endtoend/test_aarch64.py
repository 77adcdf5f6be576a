"""The library on aarch64: it compiles, and reads that processor's counter where calls are timed. Under qemu it counts
of programs what it counts of the same programs here, and walks their stacks.

qemu emulates one program (qemu-user). The library has stand-ins there for zstd, and for a system call that qemu does
not know (make/cross.mk).
"""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
import slicewise
from slicewise.analysis.job.sites import sites
from slicewise.digest.digest import Digest
from support.programs import APPS, ROOT, Apps, Ended, Job, calls, need, total

TIMEOUT_SECONDS = 600
COMPILER = "aarch64-linux-gnu-gcc"
SYSROOT = Path("/usr/aarch64-linux-gnu")
COUNTERS = ("read_ops", "write_ops", "meta_ops", "sync_ops", "read_bytes", "write_bytes", "errors")
pytestmark = pytest.mark.xdist_group("aarch64")  # the objects are compiled once
needs_emulation = pytest.mark.skipif(platform.machine() != "x86_64", reason="programs are emulated on x86-64")


@pytest.fixture(scope="module", name="made")
def make_objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the objects and the library are, apart from the build's own, which a test must not write to."""
    need(COMPILER, "aarch64-linux-gnu-objdump")
    folder = tmp_path_factory.mktemp("aarch64")
    make = ["make", "--no-print-directory", f"-j{os.cpu_count()}", "aarch64", f"BUILD={folder}", "CFLAGS=-O1"]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_objects_compile_and_read_the_counter(made: Path) -> None:
    objects = {path.stem: path for path in made.glob("aarch64/objects/*/*.o")}
    assert {"call", "clock", "posix", "main"} <= objects.keys()
    disassemble = ["aarch64-linux-gnu-objdump", "-d", objects["posix"], objects["call"]]
    code = subprocess.run(disassemble, capture_output=True, text=True, check=True).stdout
    assert re.search(r"mrs\s+\w+, cntvct_el0", code)


def test_it_links_for_the_oldest_glibc(made: Path) -> None:
    """As `make dist ARCHITECTURE=aarch64` does, which then looks at the versions; with a stand-in for zstd."""
    archive = made / "libzstd.a"
    stand_in = made / "aarch64/emulated/tests/apps/zstd_stand_in.o"
    subprocess.run(["aarch64-linux-gnu-ar", "rc", archive, stand_in], check=True)
    libraries = [f"lib/libslicewise{part}.so" for part in ("", "-coordinate", "-threads", "-accelerators")]
    parts = [*libraries, "bin/slicewise-collect"]
    make = ["make", "--no-print-directory", "portable", "ARCHITECTURE=aarch64", f"BUILD={made}", "CFLAGS=-O1"]
    make += [f"CROSS_ZSTD_ARCHIVE={archive}", f"NATIVE={' '.join(parts)}"]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    linked = [made / "aarch64/portable" / part for part in parts]
    headers = subprocess.run(["readelf", "--file-header", *linked], capture_output=True, text=True, check=True).stdout
    assert len(re.findall(r"Machine: +AArch64", headers)) == len(parts)
    if platform.machine() == "x86_64":
        need("qemu-aarch64")
        ask = ["qemu-aarch64", "-L", SYSROOT, linked[-1], "--version"]
        said = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
        assert said == f"slicewise-collect {slicewise.__version__}\n"


def emulated(made: Path, job: Job, name: str, *arguments: str | Path, **settings: str) -> Ended:
    """Run a program of tests/apps, compiled for aarch64, under the library there."""
    need("qemu-aarch64")
    program = made / name
    options = ["-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-pthread"]
    subprocess.run([COMPILER, *options, APPS / f"{name}.c", "-o", program], check=True)
    library = made / "aarch64/emulated/libslicewise.so"
    command = ["qemu-aarch64", "-L", SYSROOT, "-E", f"LD_PRELOAD={library}", program, *arguments]
    return job.run_plainly(command, **settings)


def counted(job: Job, ended: Ended) -> dict[str, dict]:
    """All counts but of time: calls by function, sums by layer, bytes by file."""
    assert (ended.status, ended.errors) == (0, "")
    profile = job.profile()
    return {
        "calls": calls(profile),
        **{layer: {name: total(profile, name, layers=[layer]) for name in COUNTERS} for layer in ("posix", "stdio")},
        "files": {path: moved for path, *moved in profile.files.select("path", "read_bytes", "write_bytes").rows()},
    }


@needs_emulation
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("posix_transfers", ["file"]), ("posix_objects", ["."]), ("stdio_seeks", ["file", "300", "7", "r+"])],
)
def test_it_counts_what_is_counted_here(made: Path, apps: Apps, job: Job, name: str, arguments: list[str]) -> None:
    arguments = [str(job.data / arguments[0]), *arguments[1:]]
    there = counted(job, emulated(made, job, name, *arguments))
    for folder in (job.data, job.spool_dir):
        shutil.rmtree(folder)
    job.data.mkdir()
    here = counted(job, job.run([apps.build(name), *arguments]))
    assert there == here
    assert sum(here["calls"].values()) > 20


@needs_emulation
def test_it_walks_stacks_to_their_end(made: Path, job: Job) -> None:
    """Those of the program, a thread, forked children, beyond a signal; of a deep one what there is room for."""
    ended = emulated(made, job, "site_odd", "signal", "fork", "deep", SLICEWISE_SITE_MS="1")
    assert (ended.status, ended.errors) == (0, "")
    found = sites(Digest(job.profile()))
    stacks = {number: [place.function for place in stack] for number, stack in enumerate(found.stacks)}
    told = {" ".join(stack): number for number, stack in stacks.items()}
    of_thread = re.compile(r"libc\.so\.6\+\S+ libc\.so\.6\+\S+ keep_reading wait_in_read read")
    assert any(of_thread.fullmatch(stack) for stack in told)
    of_main = re.compile(r"_start __libc_start_main \S+ main fork_beside_threads wait_in_read read")
    numbers = [number for stack, number in told.items() if of_main.fullmatch(stack)]
    assert found.samples.filter(pl.col("stack").is_in(numbers))["process"].n_unique() == 21
    of_handler = re.compile(r"_start __libc_start_main \S+ main be_interrupted .+ in_handler wait_in_read read")
    assert any(of_handler.fullmatch(stack) for stack in told)
    (deep,) = [stack for stack in stacks.values() if "go_deep" in stack and stack[-1] == "read"]
    assert (set(deep[:-2]), len(deep)) == ({"go_deep"}, 65)
