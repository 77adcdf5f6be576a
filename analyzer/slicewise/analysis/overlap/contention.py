"""Whether jobs that ran together slowed each other down at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slicewise.analysis.capacity.capacity import Demand
from slicewise.constants import NOT_SLOWED
from slicewise.estimate import Estimate


@dataclass(frozen=True)
class Contention:
    """contended: True, False, or None where it cannot be told. evidence: the reason in one sentence.

    share_of_alone: of each job of which it is known, its rate beside the others over its rate alone (1: not slowed
    down). together_bytes_per_second: the jobs' rates while all were at it, added up; None where no two full slices were
    shared. alone_bytes_per_second: what they reach alone, added up; None where it is not known of every job.
    """

    contended: bool | None
    evidence: str
    share_of_alone: dict[str, float]
    together_bytes_per_second: float | None
    alone_bytes_per_second: float | None


@dataclass(frozen=True)
class SlicesBeside:
    """A job beside the others: its rate in the slices that all had in full (bytes/s; None: too few), the rate that it
    reaches alone, its I/O time span, and what a standalone run says that its bytes take (None: unknown).
    """

    job: str
    rate: float | None
    demand: Demand | None
    seconds: Estimate
    alone_seconds: Estimate | None

    def share_of_alone(self) -> float | None:
        """What part of its rate alone the job got: by rates where there are slices for that, else by times."""
        if self.demand and self.rate is not None:
            return self.rate / self.demand.bytes_per_second.value
        return self.alone_seconds.value / self.seconds.value if self.alone_seconds else None

    def is_slowed(self) -> bool | None:
        """Whether the job lost more than a little; None where that is unknown, or where the loss lies within the
        interval of what it reaches alone.
        """
        share = self.share_of_alone()
        if share is None:
            return None
        if share >= NOT_SLOWED:
            return None if self.is_unexplained() else False
        if self.demand and self.rate is not None:
            return True if self.rate < self.demand.bytes_per_second.low else None
        return True if self.alone_seconds is not None and self.seconds.low > self.alone_seconds.high else None

    def is_unexplained(self) -> bool:
        """Whether the job took longer than alone, and the slices that all jobs shared do not show why."""
        share = self.share_of_alone()
        return (
            self.alone_seconds is not None
            and share is not None
            and share >= NOT_SLOWED
            and self.seconds.low * NOT_SLOWED > self.alone_seconds.high
        )

    def evidence(self) -> str:
        """A clause that says what share it got; it must be known."""
        is_by_own_slices = self.demand is not None and self.demand.source == "own slices"
        source = "in slices that it had to itself" if is_by_own_slices else "in a standalone run"
        got = f"{self.job} got {100 * (self.share_of_alone() or 0.0):.0f} % of the rate that it reached {source}"
        if self.alone_seconds is not None and self.is_unexplained():
            longer = self.seconds.value / self.alone_seconds.value
            return f"{got}, but took {longer:.1f} times as long, and not because of the slices that all jobs shared"
        return f"{got}, which is within the error" if self.is_slowed() is None else got


def contention(jobs: Sequence[SlicesBeside]) -> Contention:
    """Compare what jobs got together with what they reach alone: one that was slowed down is contention, and only all
    of them unslowed are none.
    """
    slowed = [job.is_slowed() for job in jobs]
    shares = {job.job: job.share_of_alone() for job in jobs}
    return Contention(
        contended=True if any(slowed) else None if None in slowed or not jobs else False,
        evidence="; ".join(_evidence(jobs)),
        share_of_alone={job: share for job, share in shares.items() if share is not None},
        together_bytes_per_second=_sum_if_known(job.rate for job in jobs),
        alone_bytes_per_second=_sum_if_known(job.demand.bytes_per_second.value if job.demand else None for job in jobs),
    )


def _evidence(jobs: Sequence[SlicesBeside]) -> list[str]:
    """Clauses on all jobs: first those that were slowed down, last those of which nothing is known."""
    told = sorted((job for job in jobs if job.share_of_alone() is not None), key=lambda job: not job.is_slowed())
    clauses = [job.evidence() for job in told]
    unseen = [job.job for job in jobs if job.share_of_alone() is None and not job.demand]
    if unseen:
        themselves = "itself" if len(unseen) == 1 else "themselves"
        reason = f"no standalone run, and no two full slices to {themselves}"
        clauses.append(f"what {' and '.join(unseen)} would reach alone is not known ({reason})")
    if len(told) + len(unseen) < len(jobs):
        clauses.append("there are too few slices in which all jobs did I/O throughout")
    return clauses


def _sum_if_known(rates: Iterable[float | None]) -> float | None:
    found = list(rates)
    known = [rate for rate in found if rate is not None]
    return sum(known) if known and len(known) == len(found) else None
