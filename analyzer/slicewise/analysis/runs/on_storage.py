"""What a run did on one storage in one direction: who took part, how much, and how long. Campaigns, overlaps and
standalone runs all begin here.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from slicewise.analysis.job.io_span import IoSpan, io_span
from slicewise.analysis.runs.matching import Run
from slicewise.analysis.runs.rates import StandaloneRun, rate_alone
from slicewise.digest.activity import Direction, activity
from slicewise.estimate import Estimate


@dataclass(frozen=True)
class OnStorage:
    """activity: of the run's processes that matter, on the run's own grid (`digest.activity`); processes: those of them
    that moved bytes there; span: its I/O time span; None where it moved nothing.
    """

    run: Run
    processes: pl.DataFrame
    activity: pl.DataFrame
    span: IoSpan | None

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def nodes(self) -> int:
        return self.processes["node"].n_unique()

    @property
    def bytes(self) -> int:
        return int(self.activity["bytes"].sum())

    def rate(self) -> Estimate:
        """The run's bytes/s over its I/O time span. It must have moved bytes."""
        assert self.span is not None
        return rate_alone(self.activity, self.span, self.run.digest.slice_ns)

    def as_standalone(self) -> StandaloneRun:
        """The run as a standalone one. It must have moved bytes."""
        assert self.span is not None
        return StandaloneRun(self.name, self.bytes, self.span.seconds, self.rate())


def on_storage(run: Run, storage: int | None, direction: Direction) -> OnStorage:
    """A run on a storage (its number; None: on all of them)."""
    moved = activity(run.digest, direction, storage)
    processes = run.members.join(moved, on="process", how="semi")
    return OnStorage(run, processes, moved, io_span(moved, processes, run.digest.slice_ns))
