"""Every name that the library exports is called, and counts as the operation that schema/ says."""

import re
from collections import Counter
from pathlib import Path

import polars as pl
from support.arguments import operations, write_table
from support.programs import Apps, job_in

TOLD = re.compile(r"^(\w+)\(.*\) = (.+) \S+$", re.MULTILINE)
# Called one by one in tests of their own: what replaces and ends processes, opens libraries, begins threads, libaio,
# liburing, MPI, operations of POSIX that count when their result is asked for (test_async.py), calls by number.
ELSEWHERE = {
    "exec", "_exit", "posix_spawn", "daemon", "dlopen", "pthread_create", "vfork", "prctl", "mlockall", "chdir",
    "io_submit", "io_getevents", "io_uring_setup", "io_uring_enter",
    "aio_read", "aio_write", "aio_fsync", "syscall",
}  # fmt: skip
READS = ("read", "pread", "readv", "preadv")
WRITES = ("write", "pwrite", "writev", "pwritev", "dprintf")
COPIES = ("sendfile", "copy_file_range", "splice", "tee", "vmsplice")
RUN_SECONDS = 300
OPERATION_OF = {symbol: operation for symbol, operation in operations().items() if operation not in ELSEWHERE}


class Run:
    """All that the first process of a run did; arguments alone are made if it is not to call."""

    def __init__(self, apps: Apps, folder: Path, mode: str) -> None:
        (folder / mode).mkdir()
        table = write_table(folder / mode / "table.txt", OPERATION_OF)
        with job_in(folder / mode) as job:
            ended = job.must_run([apps.build("bad_pointers"), table, mode], timeout_seconds=RUN_SECONDS)
            job.recover(job.spool_dir)  # of its children, which end unseen
            profile = job.profile()
        self.told = ended.output.decode()
        self.unseen_bytes = ended.told_file.stat().st_size
        first = profile.processes.sort("start_ns").head(1)
        calls = profile.calls.join(first, on="process", how="semi")
        self.calls = Counter(dict(calls["operation", "calls"].iter_rows()))
        self.slices = profile.slices.join(first, on="process", how="semi")

    def moved(self, layer: str) -> tuple[int, int]:
        rows = self.slices.filter(pl.col("layer") == layer)
        return rows["read_bytes"].sum(), rows["write_bytes"].sum()


def test_every_symbol_counts_as_its_operation(apps: Apps, tmp_path: Path) -> None:
    good, made = (Run(apps, tmp_path, mode) for mode in ("good", "made"))
    told = TOLD.findall(good.told)
    assert set(OPERATION_OF) == {symbol for symbol, _ in told}
    good.calls.subtract(made.calls)
    counted = {operation: calls for operation, calls in good.calls.items() if calls and operation not in ELSEWHERE}
    assert counted == Counter(OPERATION_OF[symbol] for symbol, _ in told)

    bytes_of: Counter[str] = Counter()
    for symbol, result in told:
        if result.isdigit():
            bytes_of[OPERATION_OF[symbol]] += int(result)
    read, copied, written = (sum(bytes_of[operation] for operation in each) for each in (READS, COPIES, WRITES))
    posix, stdio, kernel = (
        [by_calls - by_making for by_calls, by_making in zip(good.moved(layer), made.moved(layer), strict=True)]
        for layer in ("posix", "stdio", "kernel")
    )
    assert (read, copied, written) == (208, 128, 180)
    half = bytes_of["vmsplice"] // 2  # into a pipe, and out of one
    assert posix == [read + copied - half, written + copied - half + len(good.told)]
    assert stdio[1] == 213
    through_pipes = sum(bytes_of[operation] for operation in ("splice", "tee", "vmsplice")) - half
    unseen = good.unseen_bytes - made.unseen_bytes
    assert kernel[1] - unseen == posix[1] + stdio[1] - through_pipes  # which the kernel's count leaves out
