"""What a profile holds in sum: the job's totals by layer and by object, and how much of the kernel's count they cover.

Digest in, dataclass out. Which counters there are, and their units, is taken from the profile's own schema.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import polars as pl

from slicewise.analysis.coverage import Coverage, coverage
from slicewise.analysis.job.busiest import busiest_ns
from slicewise.digest import Damage, Digest
from slicewise.digest.digest import merged
from slicewise.digest.layers import ALL_LAYERS, MPIIO_LAYERS, OWN_LAYERS, is_own
from slicewise.digest.processes import count_processes, has_rank, in_processes, known_nodes
from slicewise.scalars import real, whole, whole_or_none

# Prices of calls, as multiples of what a process measured of itself: counting a pwrite (`call_cost_ps`). Chosen from
# processor time in pairs, bare and profiled, least of many stretches each, on four processors: stat, readdir and fsync
# add 0.6 to 1.5 times that, and a transfer as little as 0.55 times, since beside a system call some of it takes no
# time; names 1.1 to 1.8, entries that come or go 7 to 19, opens 20 to 48, what a stream's buffer serves 0.1 to 0.2, and
# a call that fills or empties it 4 to 6.6; the middle is taken. Where a new descriptor leads is asked of the kernel
# each time, and where a name leads as soon as names may lead elsewhere; a buffer asks nobody. Of opens and entries what
# the kernel takes is the larger part, and differs most from processor to processor: an open asks it twice, and of two
# entries one does, by statx, whose time there is known (`statx_ps`).
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
TRANSFERS = ("pread", "preadv", "pwrite", "pwritev", "read", "readv", "write", "writev")
# Operations, the cost of so many counted calls, and the time of so many statx.
PRICES = ((OPENS, 8.0, 2.0), (ENTRIES, 5.0, 0.5), (NAMES, 1.5, 0.0), (TRANSFERS, 0.8, 0.0), (FROM_BUFFERS, 0.16, 0.0))
OF_OTHERS, FILL = 1.0, 5.0
# Where statx was not measured, as in profiles of older versions, it took this many times the cost of a call.
STATX = 9.6
# A buffer is filled and emptied by so much: glibc's usual size.
BUFFER_BYTES = 4096
OBJECTS = ("file", "device", "pipe", "socket", "other")
FILES = OBJECTS[:1]
BY_LAYER: list[tuple[str, Sequence[str]]] = [*((layer, (layer,)) for layer in OWN_LAYERS), ("mpiio", MPIIO_LAYERS)]
IN_SUM: list[tuple[str, Sequence[str]]] = [(ALL_LAYERS, (ALL_LAYERS,))]


@dataclass(frozen=True)
class ProfilerCost:
    """seconds: the profiler's own time, of all processes together. share_of_runtime: its share of the job's runtime, at
    each time of the process that it takes most of: others may wait for that one. None: no runtime known.
    """

    seconds: float
    share_of_runtime: float | None


def prices() -> tuple[pl.Expr, pl.Expr]:
    """What a call of a row's `operation` costs: in costs of a counted call, and in times of statx."""
    counted, in_kernel = pl.lit(OF_OTHERS), pl.lit(0.0)
    for operations, calls, statx in PRICES:
        is_one = pl.col("operation").is_in(operations)
        counted = pl.when(is_one).then(calls).otherwise(counted)
        in_kernel = pl.when(is_one).then(statx).otherwise(in_kernel)
    return counted, in_kernel


def profiler_cost(digest: Digest) -> ProfilerCost:
    """The time of the profiler's slow paths, and each counted call at its price, against the runtimes."""
    calls = digest.calls.with_columns(pl.col("operation").cast(pl.String))
    counted, in_kernel = prices()
    units = calls.group_by("process").agg(
        units=(pl.col("calls") * counted).sum(), statx=(pl.col("calls") * in_kernel).sum()
    )
    call_ns, statx_ns = (pl.col(f"{name}_ps") / 1000 for name in ("call_cost", "statx"))
    statx_ns = pl.when(statx_ns > 0).then(statx_ns).otherwise(STATX * call_ns)
    processes = digest.processes.filter("is_of_job")
    costs = (
        processes.join(units, on="process", how="left")
        .select(
            cost_ns=pl.col("profiler_ns")
            + pl.col("units").fill_null(0) * call_ns
            + pl.col("statx").fill_null(0) * statx_ns,
            call_ns=call_ns,
            start_ns="start_ns",
            end_ns="end_ns",
        )
        .sort("start_ns", "end_ns")
    )
    mean_call_ns = real(costs["call_ns"].mean()) if costs.height else 0.0
    counted_ns = real(costs["cost_ns"].sum())
    cost_ns = counted_ns + FILL * mean_call_ns * _fills(digest)
    spent_ns, alive_ns = (
        busiest_ns(list(costs.select("start_ns", "end_ns", ns=of_what.cast(pl.Float64)).iter_rows()))
        for of_what in (pl.col("cost_ns"), (pl.col("end_ns") - pl.col("start_ns")).clip(0))
    )
    with_fills = cost_ns / counted_ns if counted_ns else 1.0
    return ProfilerCost(cost_ns / 1e9, spent_ns * with_fills / alive_ns if alive_ns else None)


def _fills(digest: Digest) -> float:
    """How often buffers of streams were filled or emptied: by their bytes, and at most once a call."""
    if not digest.is_by_layer:
        return 0.0
    streams = digest.counters.filter(pl.col("layer") == "stdio")
    if streams.is_empty():
        return 0.0
    moved = real(streams.select(pl.col("kernel_read_bytes").sum() + pl.col("kernel_write_bytes").sum()).item())
    return min(moved / BUFFER_BYTES, real(streams.select(pl.col("read_ops").sum() + pl.col("write_ops").sum()).item()))


@dataclass(frozen=True)
class JobTotals:
    """A profile in sum; the keys of `slicewise report --detail --json`, see docs/commands.md.

    All is over the job's processes: in an MPI job those with a rank, else all. `other_processes` are the rest (mpirun
    and its helpers); mishaps are theirs too. `ranks_of` is the size of MPI_COMM_WORLD. `waited_seconds` is how long the
    process waited for its turn at I/O that waited longest. If only a catalog keeps the job, `totals` has all layers
    together (ALL_LAYERS), and `by_object` files alone. `hosts` is empty where an imported log does not say on which
    nodes the processes ran.
    """

    job: str
    slice_seconds: float
    processes: int
    other_processes: int
    ranks: int
    ranks_of: int
    hosts: list[str]
    programs: list[str]
    start: str | None
    end: str | None
    slices: int
    first_slice: int | None
    end_slice: int | None
    totals: dict[str, dict[str, Any]]
    by_object: dict[str, dict[str, Any]]
    mounts: list[dict[str, Any]]
    calls: dict[str, int]
    coverage: Coverage
    profiler: ProfilerCost
    waited_seconds: float
    mishaps: dict[str, int]
    damage: list[Damage]


def summarize(digest: Digest) -> JobTotals:
    """Add up a job."""
    processes = digest.processes.filter("is_of_job")
    sums = digest.counters
    own = sums.filter(is_own())
    of_files = sums.filter(pl.col("object") == "file")
    active = digest.active_slices
    ranked = processes.filter(has_rank())
    start_ns, end_ns, is_running = (digest.about[name] for name in ("start_ns", "end_ns", "is_running"))
    return JobTotals(
        job=digest.job,
        slice_seconds=digest.slice_ns / 1e9,
        processes=count_processes(processes),
        other_processes=count_processes(digest.processes) - count_processes(processes),
        ranks=ranked["rank"].n_unique(),
        ranks_of=whole_or_none(ranked["ranks"].max()) or 0,
        hosts=known_nodes(processes),
        programs=processes["path"].unique().sort().to_list(),
        start=_iso(start_ns),
        end=_iso(None if is_running else end_ns),
        slices=len(active),
        first_slice=whole_or_none(active.min()),
        end_slice=None if active.is_empty() else whole(active.max()) + 1,
        totals={
            name: _record(of_files.filter(pl.col("layer").is_in(layers)), digest)
            for name, layers in (BY_LAYER if digest.is_by_layer else IN_SUM)
        },
        by_object={
            name: _record(own.filter(pl.col("object") == name), digest)
            for name in (OBJECTS if digest.is_by_layer else FILES)
        },
        mounts=_mounts(own.filter(pl.col("object") == "file"), digest),
        calls=dict(_added_up(digest.calls.join(processes, on="process", how="semi"), "operation", "calls")),
        coverage=coverage(digest),
        profiler=profiler_cost(digest),
        waited_seconds=(whole_or_none(processes["waited_ns"].max()) or 0) / 1e9,
        mishaps=dict(_added_up(digest.mishaps, "mishap", "count")),
        damage=digest.damage,
    )


def _in_seconds(frame: pl.DataFrame, digest: Digest) -> pl.DataFrame:
    """Counters of nanoseconds as seconds, in their names too."""
    named = {
        column.name: f"{column.name.removesuffix('_ns')}_seconds"
        for column in digest.counter_columns
        if column.unit == "ns" and column.name in frame.columns
    }
    return frame.with_columns(pl.col(list(named)) / 1e9).rename(named)


def _record(sums: pl.DataFrame, digest: Digest) -> dict[str, Any]:
    return _in_seconds(sums.select(merged(digest.counter_columns)), digest).row(0, named=True)


def _mounts(own: pl.DataFrame, digest: Digest) -> list[dict[str, Any]]:
    """Every file system that the job did I/O on, the most bytes first: what it is, how many processes, its sums."""
    what = ["point", "type", "source"]
    of_process = in_processes(digest.processes)
    programs = own.select(*what, process="processes").explode("process")
    counts = programs.with_columns(of_process).group_by(what).agg(processes=pl.col("process").n_unique())
    sums = counts.join(own.group_by(what).agg(merged(digest.counter_columns)), on=what)
    by_bytes = sums.sort(pl.col("read_bytes") + pl.col("write_bytes"), "point", descending=[True, False])
    found = _in_seconds(by_bytes, digest)
    if digest.is_served:  # a server's time for requests is none of calls
        found = found.with_columns(
            pl.lit(None, pl.Float64).alias(name) for name in found.columns if name.endswith("_seconds")
        )
    return found.to_dicts()


def _added_up(frame: pl.DataFrame, name: str, number: str) -> Iterable[tuple[str, int]]:
    summed = frame.group_by(name).agg(pl.col(number).sum()).filter(pl.col(number) > 0)
    return summed.sort(number, name, descending=[True, False]).iter_rows()


def _iso(time_ns: int | None) -> str | None:
    """An instant as ISO 8601 in UTC, to the microsecond; None for an unknown one."""
    return datetime.fromtimestamp(time_ns / 1e9, timezone.utc).isoformat(timespec="microseconds") if time_ns else None
