"""Every name that the library exports is called, and counts as the operation that schema/ says."""

import re
from collections import Counter

import polars as pl
from slicewise.profile.reader import Profile
from support.programs import ROOT, Apps, Job

ROW = re.compile(r'^OPERATION\((\w+), +(\w+), +\w+, +"(.*)"\)$', re.MULTILINE)
# Called one by one in tests of their own: what replaces and ends processes, opens libraries, begins threads,
# libaio, liburing, MPI.
ELSEWHERE = {
    "exec", "_exit", "posix_spawn", "daemon", "dlopen", "pthread_create", "vfork", "prctl", "mlockall", "chdir",
    "io_submit", "io_getevents", "io_uring_setup", "io_uring_enter",
}  # fmt: skip
BY_NUMBER = {"syscall"}  # counts as what the number says


def operations() -> dict[str, str]:
    """The operation of each symbol that the program is to call."""
    rows = ROW.findall((ROOT / "schema" / "operations.def").read_text())
    assert len(rows) > 100
    return {
        symbol: operation
        for operation, layer, symbols in rows
        for symbol in symbols.split()
        if not layer.startswith("mpiio") and operation not in ELSEWHERE | BY_NUMBER
    }


def moved(profile: Profile, layer: str) -> tuple[int, int]:
    """What the first process itself moved from and to the kernel in a layer."""
    rows = profile.slices.join(first(profile), on="process", how="semi").filter(pl.col("layer") == layer)
    prefix = "" if layer in ("posix", "kernel") else "kernel_"
    return rows[f"{prefix}read_bytes"].sum(), rows[f"{prefix}write_bytes"].sum()


def first(profile: Profile) -> pl.DataFrame:
    return profile.processes.sort("start_ns").head(1)


def test_every_symbol_counts_as_its_operation(job: Job, apps: Apps) -> None:
    (job.data / "numbers").write_text("".join(f"{number}\n" for number in range(100)))
    ended = job.run([apps.build("every_symbol"), job.data])
    assert (ended.status, ended.output) == (0, b"")
    job.recover(job.spool_dir)  # of its children, which end unseen
    profile = job.profile()
    told: Counter[str] = Counter()
    for line in ended.told_file.read_text().splitlines():
        name, count = line.split()
        told[name] += int(count)
    operation_of = operations()
    assert set(operation_of) - set(told) == set()
    expected: Counter[str] = Counter()
    for symbol, count in told.items():
        if symbol in operation_of:
            expected[operation_of[symbol]] += count
    counted = profile.calls.join(first(profile), on="process", how="semi").select("operation", "calls")
    assert dict(counted.filter(pl.col("operation") != "dlopen").iter_rows()) == expected  # by which it finds libc's own
    layers = {layer: moved(profile, layer) for layer in ("posix", "stdio", "async")}
    assert layers == {"posix": (113, 141), "stdio": (4 * 290, 138), "async": (22, 44)}
    through_pipes = 7 + 7  # splice and vmsplice, which the kernel's count leaves out
    counted_by_kernel = moved(profile, "kernel")[1] - ended.told_file.stat().st_size
    assert counted_by_kernel == 141 + 138 + 44 - through_pipes
