"""What a program's calls cost its runtime, and what changing them saves: habits that one would not have for free.

A digest and its call sites in, dataclasses out. Seconds are of the runtime: of processes and threads side by side the
mean one's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from slicewise.analysis.job.io_time import of_own_processes
from slicewise.analysis.job.sites import Sites
from slicewise.digest.activity import runtime_of
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate
from slicewise.scalars import real, whole
from slicewise.symbols.resolve import CodePlace

Habit = Literal["syncs", "small writes", "small reads", "opens", "small files", "failing calls"]

# Nothing is said of what costs less, in seconds and of the runtime; and no more than so many things.
LEAST_SECONDS, LEAST_SHARE, MOST_ADVICE = 1.0, 0.02, 3
# How often a call is a habit: syncs, or opens of one file by one process; transfers, or calls that fail.
OFTEN, MANY = 100, 1000
# Bytes a call, or between two syncs or opens: more are no small ones. And what a large transfer has at least.
SMALL, LARGE = 64 << 10, 256 << 10
# Bytes by large transfers that show what these cost: less may be chance.
SHOWN = 16 << 20
# What is advised: one sync for so many, pieces of so many bytes.
A_BATCH, A_PIECE = 100, 1 << 20
# What large transfers cost in another run, as a factor.
UNSURE = 2.0
# Bytes: copying fewer takes next to none of a call's time; and what is left of that time in larger calls.
NO_COPY, OF_A_CALL = 1 << 10, 0.3
# Such a call waits for a device or a server (ns), which moves far less than it could (bytes/s). Of calls that copy into
# a cache nobody knows what their pages cost.
WAITS_NS, SLOW = 50_000, 100e6
# Of the seconds of a process in calls: who spends less of its life there waits for others.
IDLE = 0.02
# Samples of call sites that show how time divides among calls, within a fifth (binomial).
FEWEST_SAMPLES = 30
# A failing call may take less or more time than another look at a name.
OF_A_LOOK = (0.5, 1.5)
# An open and a close cost the same each time but for this part.
OF_AN_OPEN = 0.2

# Functions that open a file, and close it.
OPENINGS = ("open", "openat", "creat", "fopen")
OPENS = (*OPENINGS, "close", "fclose")


@dataclass(frozen=True)
class CostlyHabit:
    """seconds: what the calls cost; saving: of these what the change saves (None: this run does not show it). calls;
    bytes: of one, or between two. file: the one path, else empty, of `files`. site: from where most are made.
    """

    habit: Habit
    seconds: float
    saving: Estimate | None
    calls: int
    bytes: float
    file: str
    files: int
    site: tuple[CodePlace, ...]


def advise(digest: Digest, found: Sites, lost_share: float = 0.0) -> list[CostlyHabit]:
    """The habits that cost a job most, those first where a change saves most. lost_share: of its time in calls, what
    others cost it: that is not the program's fault, and taken off.
    """
    runtime = runtime_of(digest)
    own = of_own_processes(digest, digest.process_slices)
    if own.is_empty() or runtime <= 0 or "files" in digest.not_kept:
        return []
    part = (1 - lost_share) / _side_by_side(digest, own)
    files = of_own_processes(digest, digest.files)
    least = max(LEAST_SECONDS, LEAST_SHARE * runtime)
    told = [
        *_syncs(digest, own, found, part),
        *_transfers(digest, files, found, part, "write"),
        *_transfers(digest, files, found, part, "read"),
        *_opens(own, files, found, part),
        *_failing(digest, own, found, part),
    ]
    worth = [one for one in told if one.seconds >= least and (one.saving is None or one.saving.value >= least)]
    return sorted(worth, key=lambda one: -(one.saving.value if one.saving else 0.0))[:MOST_ADVICE]


def _side_by_side(digest: Digest, own: pl.DataFrame) -> float:
    """How many processes with I/O lived at a time, on average, 1 at least; each thread of them counts where several
    surely were in calls at once, as a process then was for longer than its slice lasted.
    """
    ns = pl.sum_horizontal("^(read|write|meta|sync)_ns$")
    threads = pl.when(ns > digest.slice_ns).then(pl.col("threads").clip(1)).otherwise(1)
    in_turn = own.select(real_ns=ns.sum(), thread_ns=(ns / threads).sum()).row(0, named=True)
    at_once = real(in_turn["real_ns"]) / max(1.0, real(in_turn["thread_ns"]))
    spent = own.group_by("process").agg(ns=ns.sum())
    lived = digest.processes.join(spent, on="process").select(
        "start_ns", "end_ns", life=pl.col("end_ns") - pl.col("start_ns"), ns="ns"
    )
    busy = lived.filter(pl.col("ns") >= IDLE * pl.col("life")).sort("start_ns")
    until = busy["end_ns"].cum_max().shift(1, fill_value=0)
    union = (busy["end_ns"] - pl.select(pl.max_horizontal(busy["start_ns"], until)).to_series()).clip(0).sum()
    return max(1.0, at_once) * max(1.0, real(busy["life"].sum()) / max(1.0, real(union)))


def _site(found: Sites, operations: Sequence[str]) -> tuple[CodePlace, ...]:
    """The call site of these functions with most time; empty: none was sampled."""
    of_them = found.samples.filter(pl.col("operation").is_in(list(operations)))
    if of_them.is_empty():
        return ()
    most = of_them.group_by("stack").agg(pl.col("seconds").sum()).sort("seconds", "stack", descending=[True, False])
    return found.stacks[whole(most["stack"][0])]


def _site_of_kind(digest: Digest, found: Sites, kind: str) -> tuple[CodePlace, ...]:
    """The same of all functions of a kind."""
    sampled = found.samples["operation"].unique()
    return _site(found, [name for name in sampled if digest.kind_of_operation(name) == kind])


def _syncs(digest: Digest, own: pl.DataFrame, found: Sites, part: float) -> Iterator[CostlyHabit]:
    """Syncs after little was written each. What is written in any case is a part of what storage was sent meanwhile:
    of a storage that bytes hold up that part is left, or half; of one that requests hold up, next to nothing.
    """
    by_process = own.group_by("process").agg(pl.col("sync_ops", "sync_ns", "write_bytes").sum())
    syncing = by_process.filter(pl.col("sync_ops") >= OFTEN, pl.col("write_bytes") < SMALL * pl.col("sync_ops"))
    syncs, wrote = int(syncing["sync_ops"].sum()), int(syncing["write_bytes"].sum())
    if not syncs:
        return
    seconds = part * real(syncing["sync_ns"].sum()) / 1e9
    sent = real(digest.coverage["write_storage"].sum()) if "coverage" not in digest.not_kept else 0.0
    high = seconds * (1 - 1 / A_BATCH)
    low = high * max(0.5, 1 - wrote / sent) if sent else high / 2
    saving = Estimate((low + high) / 2, low, high, f"one sync for {A_BATCH} of these")
    yield CostlyHabit("syncs", seconds, saving, syncs, wrote / syncs, "", 0, _site_of_kind(digest, found, "sync"))


def _transfers(
    digest: Digest, files: pl.DataFrame, found: Sites, part: float, way: Literal["read", "write"]
) -> Iterator[CostlyHabit]:
    """Small transfers, at what large ones of the same run cost a byte."""
    ops, moved, spent = (pl.col(f"{way}_{what}") for what in ("ops", "bytes", "ns"))
    by_path = files.filter(pl.col("path") != "").group_by("path").agg(ops.sum(), moved.sum(), spent.sum())
    small = by_path.filter(ops >= MANY, moved > 0, moved < SMALL * ops).sort(f"{way}_ns", descending=True)
    if small.is_empty():
        return
    calls, size, ns = (int(small[f"{way}_{what}"].sum()) for what in ("ops", "bytes", "ns"))
    seconds = part * ns / 1e9
    large = by_path.filter(moved >= LARGE * ops)
    shown = real(large[f"{way}_bytes"].sum())
    saving = None
    if shown >= SHOWN:
        rest = part * size * real(large[f"{way}_ns"].sum()) / shown / 1e9
        low, value, high = (max(0.0, seconds - rest * factor) for factor in (UNSURE, 1.0, 1 / UNSURE))
        saving = Estimate(value, low, high, "what large transfers of this run cost")
    elif size <= NO_COPY * calls:
        low, value, high = ((1 - share) * seconds for share in (OF_A_CALL, OF_A_CALL / 2, 0.0))
        saving = Estimate(value, low, high, "so few bytes take no time to copy")
    elif ns < WAITS_NS * calls or size > SLOW * ns / 1e9:
        return
    is_one = real(small[f"{way}_ns"][0]) > ns / 2
    habit: Habit = "small writes" if way == "write" else "small reads"
    yield CostlyHabit(
        habit, seconds, saving, calls, size / calls, small["path"][0] if is_one else "", small.height,
        _site_of_kind(digest, found, way),
    )  # fmt: skip


def _opens(own: pl.DataFrame, files: pl.DataFrame, found: Sites, part: float) -> Iterator[CostlyHabit]:
    """Opening one file again and again, and many files once, for a little each time: by the sampled time of opens and
    closes.
    """
    moved = pl.col("read_bytes") + pl.col("write_bytes")
    looks = found.samples.filter(pl.col("operation").is_in(list(OPENS)))
    if int(looks["samples"].sum()) < FEWEST_SAMPLES:
        return
    is_again = (pl.col("opens") >= OFTEN) & (pl.col("path") != "")
    opens = int(files["opens"].sum())
    spent = part * min(real(looks["seconds"].sum()), real(own["meta_ns"].sum()) / 1e9)
    again = files.filter(is_again, moved < SMALL * pl.col("opens"))
    often = int(again["opens"].sum())
    if often:
        seconds = spent * often / opens
        high = seconds * (1 - again.height / often)
        saving = Estimate(high * (1 - OF_AN_OPEN / 2), high * (1 - OF_AN_OPEN), high, "opening it once")
        by_path = again.group_by("path").agg(pl.col("opens").sum()).sort("opens", "path", descending=[True, False])
        path = by_path["path"][0] if int(by_path["opens"][0]) > often / 2 else ""
        bytes_each = real(again.select(moved.sum()).item()) / often
        yield CostlyHabit("opens", seconds, saving, often, bytes_each, path, by_path.height, _site(found, OPENINGS))
    few = files.remove(is_again)
    once, each = int(few["opens"].sum()), real(few.select(moved.sum()).item())
    if once >= MANY and each < SMALL * once:
        yield CostlyHabit(
            "small files", spent * once / opens, None, once, each / once, "", once, _site(found, OPENINGS)
        )


def _failing(digest: Digest, own: pl.DataFrame, found: Sites, part: float) -> Iterator[CostlyHabit]:
    """Calls on names that are not there, taken to last as long as the job's other metadata calls."""
    on_files = digest.counters.filter(pl.col("object") == "file")
    failed = int(on_files["errors"].sum()) if "errors" in on_files.columns else 0  # servers and logs count none
    calls = int(own["meta_ops"].sum())
    if failed < MANY or not calls:
        return
    seconds = part * min(1.0, failed / calls) * real(own["meta_ns"].sum()) / 1e9
    low, high = (share * seconds for share in OF_A_LOOK)
    saving = Estimate(seconds, low, high, "its metadata calls last as long, whether they fail or not")
    yield CostlyHabit("failing calls", seconds, saving, failed, 0.0, "", 0, _site_of_kind(digest, found, "meta"))
