"""What jobs claimed of a coordinator, held against what their profiles say that they moved.

Lines of a decision log and digests in, dataclasses out. The log's format is in docs/coordination.md.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from slicewise.analysis.policies.replay import with_decisions
from slicewise.constants import SECOND_NS
from slicewise.digest.digest import Digest
from slicewise.digest.slices import with_mapped
from slicewise.errors import UserError
from slicewise.scalars import whole

# A job that moved so many times what it claimed, or so little of it, gained or lost turns by its claims.
FAR_OFF = 2.0


@dataclass(frozen=True)
class Claimed:
    """phases: that the log has of the job; compared: all but the first, in which a job does not know yet how much its
    phases move. claimed_bytes, moved_bytes: over those; moved are all bytes of its files in the slices of these phases,
    read and written. needed_seconds: how long it went in them. ratio: moved over claimed; None without either.
    """

    job: str
    phases: int
    compared: int
    claimed_bytes: int
    moved_bytes: int
    needed_seconds: float
    ratio: float | None

    @property
    def is_far_off(self) -> bool:
        return self.ratio is not None and not 1 / FAR_OFF <= self.ratio <= FAR_OFF


@dataclass(frozen=True)
class Claims:
    """jobs: those of which there is a profile, the one that claimed least of what it moved first. unknown: jobs of the
    log without a profile; absent: profiles of jobs that are not in the log.
    """

    jobs: list[Claimed]
    unknown: int
    absent: list[str]


@dataclass
class _Phase:
    """start, end: UNIX time in seconds."""

    start: float
    end: float = 0.0
    claimed: int = 0
    went: float = 0.0
    goes_since: float | None = None

    def stop(self, now: float) -> None:
        if self.goes_since is not None:
            self.went += now - self.goes_since
        self.goes_since = None


@dataclass
class _Logged:
    key: str = ""
    phases: list[_Phase] = field(default_factory=list)
    is_in_phase: bool = False


def claims(lines: Iterable[str], name: str, digests: Sequence[Digest], secret: bytes) -> Claims:
    """Compare. name: what to call the log in complaints; secret: the text that the coordinator and its jobs share.

    Raises UserError for lines that are not of a decision log, and for a log of a version that kept no time of day.
    """
    logged = _logged(lines, name)
    by_key = {_key(secret, digest): digest for digest in digests}
    found = [_claimed(by_key[one.key], one.phases) for one in logged if one.key in by_key]
    there = {one.key for one in logged}
    return Claims(
        sorted(found, key=lambda one: (one.ratio is None, -(one.ratio or 0.0), one.job)),
        sum(one.key not in by_key for one in logged),
        [digest.job for key, digest in by_key.items() if key not in there],
    )


def _key(secret: bytes, digest: Digest) -> str:
    """The number that a job is known by to a coordinator (`turn_job` in store/turn.h)."""
    row = digest.jobs.row(0, named=True)
    mixed = hmac.new(
        hashlib.sha256(secret.rstrip(b"\n\r \t")).digest(), f"{row['user']} {digest.job}".encode(), "sha256"
    )
    return f"{int.from_bytes(mixed.digest()[:8], 'little'):016x}"


def _logged(lines: Iterable[str], name: str) -> list[_Logged]:
    jobs: dict[int, _Logged] = {}
    clock = 0.0
    now = 0.0
    for number, record, decisions in with_decisions(lines, name):
        if record["event"] == "start":
            if "unix_seconds" not in record:
                raise UserError(
                    f"{name}: line {number}: has no unix_seconds; give a log that a newer coordinator wrote"
                )
            clock = float(record["unix_seconds"]) - record["time_seconds"]
        now = clock + record["time_seconds"]
        if "job" in record:
            _take(jobs.setdefault(record["job"], _Logged()), record, now)
        for turn, decision in decisions.items():
            _decide(jobs.setdefault(turn, _Logged()), decision, now)
    for job in jobs.values():
        _end(job, now)
    return list(jobs.values())


def _take(job: _Logged, record: Mapping[str, Any], now: float) -> None:
    event = record["event"]
    if event == "inform":
        job.key = record.get("key", job.key)
        if not job.is_in_phase:
            job.is_in_phase = True
            job.phases.append(_Phase(now))
        job.phases[-1].claimed = max(job.phases[-1].claimed, int(record.get("bytes", 0)))
    elif event in ("leave", "deadline") or (event == "release" and not record.get("remaining", 0.0)):
        _end(job, now)


def _decide(job: _Logged, decision: str, now: float) -> None:
    if not job.is_in_phase:
        return
    job.phases[-1].stop(now)
    if decision != "pause":
        job.phases[-1].goes_since = now


def _end(job: _Logged, now: float) -> None:
    if job.is_in_phase:
        job.phases[-1].stop(now)
        job.phases[-1].end = now
    job.is_in_phase = False


def _claimed(digest: Digest, phases: Sequence[_Phase]) -> Claimed:
    compared = phases[1:]
    slice_ns = digest.slice_ns
    spans = [
        range(int(one.start * SECOND_NS) // slice_ns, int(one.end * SECOND_NS) // slice_ns + 1) for one in compared
    ]
    first_phase = {int(phases[0].end * SECOND_NS) // slice_ns} if phases else set()
    slices = sorted({number for span in spans for number in span} - first_phase)
    moved = with_mapped(digest.process_slices, digest.fetched).filter(pl.col("slice").is_in(slices))
    claimed_bytes = sum(one.claimed for one in compared)
    moved_bytes = whole(moved["read_bytes"].sum()) + whole(moved["write_bytes"].sum())
    is_comparable = claimed_bytes > 0 and moved_bytes > 0
    return Claimed(
        digest.job,
        len(phases),
        len(compared),
        claimed_bytes,
        moved_bytes,
        sum(one.went for one in compared),
        moved_bytes / claimed_bytes if is_comparable else None,
    )
