"""What the profiler took of a job's time: what it counted of itself, and each kind of call at its own price.

Digest in, dataclass out.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from slicewise.digest import Digest
from slicewise.scalars import real, whole

# Prices of calls, as multiples of what a process measured of itself at its start: counting a pwrite (`call_cost_ps`).
# Chosen from processor time in pairs, bare and profiled, least of many stretches each, on two processors: pwrite, stat,
# readdir and fsync add 0.7 to 1.5 times that, names 1.8, entries that come or go 7 to 16, opens 20 to 36, what a
# stream's buffer serves 0.1 to 0.2, and a call that fills or empties it 4 to 6; the middle is taken. Where a new
# descriptor leads is asked of the kernel each time, and where a name leads as soon as names may lead elsewhere; a
# buffer asks nobody. What the kernel takes is the larger part on the processor whose system calls are slower.
OPEN, ENTRY, NAME, CALL, SERVED, FILL = 27.0, 11.0, 1.8, 1.2, 0.16, 5.0
OPENS = ("open", "openat", "creat", "fopen", "freopen", "tmpfile", "mkstemp", "popen")
ENTRIES = (
    "link", "mkdir", "mkdirat", "mkdtemp", "mknod", "remove", "rename", "renameat", "rmdir", "symlink", "unlink",
    "unlinkat",
)  # fmt: skip
NAMES = (
    "access", "chmod", "chown", "getxattr", "listxattr", "name_to_handle_at", "opendir", "readlink", "realpath",
    "removexattr", "scandir", "setxattr", "statfs", "truncate", "utime",
)  # fmt: skip
FROM_BUFFERS = (
    "fgetc", "fgets", "fgetwc", "fgetws", "fprintf", "fputc", "fputs", "fputwc", "fputws", "fread", "fscanf",
    "fwprintf", "fwrite", "fwscanf", "getline",
)  # fmt: skip
# A buffer is filled and emptied by so much: glibc's usual size.
BUFFER_BYTES = 4096


@dataclass(frozen=True)
class ProfilerCost:
    """The profiler's own time, of all processes together, and its share of their runtimes (None: no runtime known)."""

    seconds: float
    share_of_runtime: float | None


def price() -> pl.Expr:
    """What a call of a row's `operation` costs, in units of the process's own calibrated cost of a call."""
    operation = pl.col("operation")
    return (
        pl.when(operation.is_in(OPENS))
        .then(OPEN)
        .when(operation.is_in(ENTRIES))
        .then(ENTRY)
        .when(operation.is_in(NAMES))
        .then(NAME)
        .when(operation.is_in(FROM_BUFFERS))
        .then(SERVED)
        .otherwise(CALL)
    )


def profiler_cost(digest: Digest) -> ProfilerCost:
    """The time of the profiler's slow paths, and each counted call at its price, against the runtimes."""
    calls = digest.calls.with_columns(pl.col("operation").cast(pl.String))
    units = calls.group_by("process").agg(units=(pl.col("calls") * price()).sum())
    processes = digest.processes.filter("is_of_job")
    costs = processes.join(units, on="process", how="left").select(
        cost_ns=pl.col("profiler_ns") + pl.col("units").fill_null(0) * (pl.col("call_cost_ps") / 1000),
        runtime_ns=(pl.col("end_ns") - pl.col("start_ns")).clip(0),
        call_ns=pl.col("call_cost_ps") / 1000,
    )
    mean_call_ns = real(costs["call_ns"].mean()) if costs.height else 0.0
    cost_ns = real(costs["cost_ns"].sum()) + FILL * mean_call_ns * _fills(digest)
    runtime_ns = whole(costs["runtime_ns"].sum())
    return ProfilerCost(cost_ns / 1e9, cost_ns / runtime_ns if runtime_ns else None)


def _fills(digest: Digest) -> float:
    """How often buffers of streams were filled or emptied: by their bytes, and at most once a call."""
    if not digest.is_by_layer:
        return 0.0
    streams = digest.counters.filter(pl.col("layer") == "stdio")
    if streams.is_empty():
        return 0.0
    moved = real(streams.select(pl.col("kernel_read_bytes").sum() + pl.col("kernel_write_bytes").sum()).item())
    return min(moved / BUFFER_BYTES, real(streams.select(pl.col("read_ops").sum() + pl.col("write_ops").sum()).item()))
