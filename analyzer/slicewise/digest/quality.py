"""How well a job's slices are known: counted where they are by ourselves, or taken from another profiler's log."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import polars as pl

from slicewise.constants import LEAST_OF_JOB
from slicewise.digest.digest import Digest
from slicewise.digest.processes import COUNTED, SERVED, has_rank
from slicewise.digest.shared import frames_of
from slicewise.scalars import whole_or_none
from slicewise.text import words


@dataclass(frozen=True)
class Imported:
    """What is less sure of a job that was imported. source: from what. spread: over how many slices bytes of it were
    spread at most; 1: none were. clock_error_seconds: by so much its times may lie off the clock.
    """

    source: str
    spread: int
    clock_error_seconds: float

    @property
    def is_served(self) -> bool:
        """Whether file servers counted the job: they know neither its processes nor its calls."""
        return self.source == SERVED

    def is_blurred(self, slice_seconds: float) -> bool:
        """Whether its bytes may be in other slices of that length than those in which they were moved."""
        return self.spread > 1 or self.clock_error_seconds > SHARE_OF_SLICE * slice_seconds


JOINED = "slices_joined"
# A clock that is off by less of a slice than this moves next to nothing into another one.
SHARE_OF_SLICE = 0.05


def imported(digest: Digest) -> Imported | None:
    """None for a job that we profiled ourselves."""
    job = digest.about
    if job["source"] == COUNTED:
        return None
    return Imported(job["source"], job["spread"], job["clock_error_ns"] / 1e9)


def with_late_counts(digests: Sequence[Digest]) -> list[str]:
    """The jobs of which counts of slices that are worth a word are in a later slice than the calls: there was no memory
    for them (docs/counters.md, `slices_joined`).
    """
    joined = mishaps_of(digests, JOINED)
    lived = frames_of(digests, "processes").group_by("place").agg((pl.col("end_ns") - pl.col("start_ns")).sum())
    ran_ns = dict(lived.iter_rows())
    return [
        one.job
        for place, one in enumerate(digests)
        if joined[place] * one.slice_ns > LEAST_OF_JOB * ran_ns.get(place, 0)
    ]


def mishaps_of(digests: Sequence[Digest], mishap: str) -> list[int]:
    """How often each job met this trouble; 0 where that is not kept."""
    asked = {place: one for place, one in enumerate(digests) if "mishaps" not in one.not_kept}
    met = frames_of(list(asked.values()), "mishaps").filter(pl.col("mishap") == mishap)
    counts = dict(met.group_by("place").agg(pl.col("count").sum()).iter_rows())
    by_place = {place: int(counts.get(at, 0)) for at, place in enumerate(asked)}
    return [by_place.get(place, 0) for place in range(len(digests))]


def missing_ranks(digest: Digest) -> list[str]:
    """Ranks whose profile is not there, in words: the nodes that they ran on wrote none, or it was not given. Nodes
    without any process of the profile are named where a command of the job began, or else where a collector sampled,
    which may be a server as well.
    """
    ranks = digest.processes.filter(has_rank())
    gone = sorted(set(range(whole_or_none(ranks["ranks"].max()) or 0)) - set(ranks["rank"]))
    stretches = [[rank for _, rank in its] for _, its in groupby(enumerate(gone), lambda one: one[1] - one[0])]
    told = [f"rank {one[0]}" if len(one) == 1 else f"ranks {one[0]} to {one[-1]}" for one in stretches]
    began, sampled = (
        sorted(set(frame["node"].drop_nulls()) - set(digest.processes["node"]))
        for frame in (digest.launches, digest.node_samples)
    )
    where = f"on {words.listing(began)}" if began else f"perhaps on {words.listing(sampled)}" if sampled else ""
    return [f"{one} ({where})" for one in told] if where else told
