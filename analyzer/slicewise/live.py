"""What processes on this node do now: rates from one look of `slicewise-collect live` at their counts to the next. A
process that was not there at the last look counts as having begun at zero only if it began since.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.constants import MAINLY
from slicewise.contract import without_library
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.kinds import KINDS

MOVING = ("read", "write")
# Looks that a sparkline shows, and those that are kept to find out when I/O comes back: an hour's, at one in 2 s.
HISTORY = 30
SERIES = 1800
# Of what file servers counted: so many slices are looked at, and what is older by so much is not now.
SLICES_SERVED, STILL_NOW_NS = 3, 120 * 10**9
SERVED_COUNTS = ("read_bytes", "write_bytes", "read_ops", "write_ops", "meta_ops")
# Of the bytes of a mount, not measured: beside who moved less, a job would be at most a quarter slower by bytes alone.
MUCH_OF_MOUNT = 0.2
# Objects whose bytes are those of files; pipes, sockets and terminals are none of a file system's business.
FILE = "file"

Mount = tuple[str, str, str]


class Counts(Counter[str]):
    """Operations, ns and bytes by kind of call, e.g. `read_ops`, `meta_ns`, `write_bytes`; cumulative, or of a time."""

    def since(self, before: Counts) -> Counts:
        return Counts({name: max(0, value - before[name]) for name, value in self.items()})

    @property
    def bytes(self) -> int:
        return sum(self[f"{kind}_bytes"] for kind in MOVING)

    @property
    def ops(self) -> int:
        return sum(self[f"{kind}_ops"] for kind in KINDS)

    @property
    def ns(self) -> int:
        return sum(self[f"{kind}_ns"] for kind in KINDS)


@dataclass(frozen=True)
class ProcessLook:
    """One process as it was at one look. mounts: its counts on files, by (point, type, source)."""

    process: str
    job: str
    step: str
    program: str
    user: int
    pid: int
    rank: int
    start_ns: int
    mounts: dict[Mount, Counts]
    closed_bytes: int
    kernel_bytes: int

    @property
    def total(self) -> Counts:
        sum_of_mounts = Counts()
        for counts in self.mounts.values():
            sum_of_mounts.update(counts)
        return sum_of_mounts


@dataclass(frozen=True)
class Look:
    """All processes at one moment."""

    time_ns: int
    steady_ns: int
    processes: dict[str, ProcessLook]


@dataclass(frozen=True)
class Activity:
    """What a process or a job did between two looks, a second. latency_ms: mean of a call; seen_share: of the bytes
    that the kernel counted, in closed slices since the start; None where there is nothing to divide by."""

    read_bytes_per_s: float
    write_bytes_per_s: float
    ops_per_s: float
    latency_ms: float | None
    seen_share: float | None

    @property
    def bytes_per_s(self) -> float:
        return self.read_bytes_per_s + self.write_bytes_per_s


@dataclass(frozen=True)
class ProcessNow:
    """A process between two looks."""

    pid: int
    rank: int
    program: str
    activity: Activity


@dataclass(frozen=True)
class MountNow:
    """A job's part of a mount between two looks. share: of the bytes that all jobs of this node moved there."""

    point: str
    type: str
    source: str
    bytes_per_s: float
    share: float | None


@dataclass(frozen=True)
class BesideNow:
    """Who moved most of the bytes of a mount on which a job mostly waited, between two looks: perhaps it slows that job
    down. share: of the bytes that all jobs of this node moved there.
    """

    job: str
    point: str
    share: float


@dataclass(frozen=True)
class ServedNow:
    """What file servers counted of a job or client in the last slices, until some time."""

    job: str
    is_client: bool
    storage: str
    read_bytes_per_s: float
    write_bytes_per_s: float
    requests_per_s: float
    until_ns: int


@dataclass(frozen=True)
class JobNow:
    """A job between two looks, on this node. history: bytes a second at the last looks, oldest first. next_burst: in
    how many seconds it will begin to move bytes again, of a job that does so periodically. beside: None of a job that
    does not mostly wait in calls, or beside which nobody moved much.
    """

    job: str
    users: list[int]
    activity: Activity
    total_bytes: int
    total_ops: int
    mounts: list[MountNow]
    processes: list[ProcessNow]
    history: list[float]
    next_burst: Estimate | None = None
    beside: BesideNow | None = None


def parse_look(line: str) -> Look:
    """A line of `slicewise-collect live`."""
    parsed = json.loads(line)
    processes = {entry["process"]: _process(entry) for entry in parsed["processes"]}
    return Look(parsed["time_ns"], parsed["steady_ns"], processes)


def _process(entry: Mapping[str, Any]) -> ProcessLook:
    mounts: dict[Mount, Counts] = {}
    for mount in entry["mounts"]:
        if mount["object"] != FILE:
            continue
        counts = {name: value for name, value in mount.items() if isinstance(value, int)}
        mounts.setdefault((mount["point"], mount["type"], mount["source"]), Counts()).update(counts)
    return ProcessLook(
        **{name: entry[name] for name in ("process", "job", "step", "program", "user", "pid", "rank", "start_ns")},
        mounts=mounts,
        closed_bytes=sum(entry[f"closed_{kind}_bytes"] for kind in MOVING),
        kernel_bytes=sum(entry[f"kernel_{kind}_bytes"] for kind in MOVING),
    )


class Watch:
    """Looks one after the other, and what happened between the last two. burst_of: when the next one is due, of bytes a
    second at looks that are so many seconds apart.
    """

    def __init__(self, burst_of: Callable[[list[float], float], Estimate | None] = lambda _, __: None) -> None:
        self._last: Look | None = None
        self._histories: dict[str, deque[float]] = {}
        self._burst_of = burst_of

    def jobs(self, look: Look) -> list[JobNow]:
        """Every job that has a process now, the most bytes a second first. At the first look nothing has a rate."""
        last, self._last = self._last, look
        seconds = (look.steady_ns - last.steady_ns) / 1e9 if last else 0.0
        moved = {process.process: _moved(process, last) for process in look.processes.values()}
        of_mount = Counts()
        for mounts in moved.values():
            of_mount.update({str(mount): counts.bytes for mount, counts in mounts.items()})
        by_job: dict[str, list[ProcessLook]] = {}
        for process in look.processes.values():
            by_job.setdefault(process.job, []).append(process)
        self._histories = {job: self._histories.get(job, deque(maxlen=SERIES)) for job in by_job}
        jobs = [self._job(job, processes, moved, of_mount, seconds) for job, processes in by_job.items()]
        if seconds:
            waits = {job: _waits_on(processes, moved, seconds) for job, processes in by_job.items()}
            jobs = [replace(job, beside=_beside(job.job, waits[job.job], jobs)) for job in jobs]
        return sorted(jobs, key=lambda job: (-job.activity.bytes_per_s, job.job))

    def _job(
        self,
        job: str,
        processes: list[ProcessLook],
        moved: Mapping[str, Mapping[Mount, Counts]],
        of_mount: Counts,
        seconds: float,
    ) -> JobNow:
        by_mount: dict[Mount, Counts] = {}
        total = Counts()
        for process in processes:
            total.update(process.total)
            for mount, counts in moved[process.process].items():
                by_mount.setdefault(mount, Counts()).update(counts)
        activity = _activity(by_mount, processes, seconds)
        history = self._histories[job]
        if seconds:
            history.append(activity.bytes_per_s)
        mounts = [
            MountNow(*mount, _rate(counts.bytes, seconds), _share(counts.bytes, of_mount[str(mount)]))
            for mount, counts in by_mount.items()
        ]
        return JobNow(
            job=job,
            users=sorted({process.user for process in processes}),
            activity=activity,
            total_bytes=total.bytes,
            total_ops=total.ops,
            mounts=sorted(mounts, key=lambda mount: (-mount.bytes_per_s, mount.point)),
            processes=[
                ProcessNow(
                    process.pid, process.rank, process.program, _activity(moved[process.process], [process], seconds)
                )
                for process in sorted(processes, key=lambda process: (process.rank, process.pid))
            ],
            history=list(history)[-HISTORY:],
            next_burst=self._burst_of(list(history), seconds) if seconds else None,
        )


def served_now(rows: pl.DataFrame, runs: pl.DataFrame, now_ns: int) -> list[ServedNow]:
    """The last SLICES_SERVED slices of what servers counted, most moved first, none older than STILL_NOW_NS."""
    found = []
    for (storage,), own in rows.group_by("storage", maintain_order=True):
        until_ns = int(runs.filter(pl.col("storage") == storage)["end_ns"].max() or 0)  # type: ignore[arg-type]
        slice_ns = int((own["end_ns"] - own["begin_ns"]).max() or 0)  # type: ignore[arg-type]
        since_ns = until_ns // slice_ns * slice_ns - SLICES_SERVED * slice_ns
        last = own.filter(pl.col("begin_ns") >= since_ns)
        if until_ns + STILL_NOW_NS < now_ns or last.is_empty():
            continue
        seconds = (until_ns - since_ns) / 1e9
        sums = last.group_by("job", "is_client").agg(pl.col(name).sum() for name in SERVED_COUNTS)
        for job, is_client, read, wrote, *requests in sums.iter_rows():
            found.append(
                ServedNow(
                    job, is_client, str(storage), read / seconds, wrote / seconds, sum(requests) / seconds, until_ns
                )
            )
    return sorted(found, key=lambda one: (-one.read_bytes_per_s - one.write_bytes_per_s, -one.requests_per_s, one.job))


def _moved(process: ProcessLook, last: Look | None) -> dict[Mount, Counts]:
    before = last.processes.get(process.process) if last else None
    if before is None and (last is None or process.start_ns < last.time_ns):
        return {mount: Counts() for mount in process.mounts}  # it was there before, and nobody looked
    then = before.mounts if before else {}
    return {mount: counts.since(then.get(mount, Counts())) for mount, counts in process.mounts.items()}


def _waits_on(
    processes: list[ProcessLook], moved: Mapping[str, Mapping[Mount, Counts]], seconds: float
) -> Mount | None:
    """The mount on which a job's processes, all together, were in calls for most of the time; None: there is none."""
    spent = Counter[Mount]()
    for process in processes:
        spent.update({mount: counts.ns for mount, counts in moved[process.process].items()})
    if not spent:
        return None
    mount, ns = max(spent.items(), key=lambda one: (one[1], one[0]))
    return mount if ns >= MAINLY * 1e9 * seconds * len(processes) else None


def _beside(job: str, mount: Mount | None, jobs: list[JobNow]) -> BesideNow | None:
    there = [
        BesideNow(other.job, its.point, its.share)
        for other in jobs
        for its in other.mounts
        if other.job != job and (its.point, its.type, its.source) == mount and its.share is not None
    ]
    most = max(there, key=lambda one: (one.share, one.job), default=None)
    return most if most is not None and most.share >= MUCH_OF_MOUNT else None


def _activity(by_mount: Mapping[Mount, Counts], processes: list[ProcessLook], seconds: float) -> Activity:
    moved = Counts()
    for counts in by_mount.values():
        moved.update(counts)
    closed, kernel = (sum(getattr(process, name) for process in processes) for name in ("closed_bytes", "kernel_bytes"))
    return Activity(
        read_bytes_per_s=_rate(moved["read_bytes"], seconds),
        write_bytes_per_s=_rate(moved["write_bytes"], seconds),
        ops_per_s=_rate(moved.ops, seconds),
        latency_ms=moved.ns / moved.ops / 1e6 if moved.ops else None,
        seen_share=min(1.0, closed / kernel) if kernel else None,
    )


def _rate(amount: int, seconds: float) -> float:
    return amount / seconds if seconds else 0.0


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def looks(collector: Path, every_seconds: float, is_for_all: bool) -> Iterator[Look]:
    """Looks at this node's processes, one now and then one each so many seconds. Raises UserError if there are none to
    be had."""
    command = [str(collector), "live", "--every", f"{every_seconds:g}", *(["--all-users"] if is_for_all else [])]
    own = without_library(os.environ)
    process = subprocess.Popen(command, env=own, stdout=subprocess.PIPE, text=True, errors="replace")
    assert process.stdout is not None
    try:
        for line in process.stdout:
            yield parse_look(line)
    finally:
        process.stdout.close()
        process.terminate()
        process.wait()
    raise UserError(f"{collector} ended with status {process.returncode}; run `slicewise doctor`")
