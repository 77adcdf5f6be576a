"""What a run did on one storage in one direction: who took part, how much, and how long. Campaigns, overlaps and
standalone runs all begin here.
"""

from dataclasses import dataclass

import polars as pl

from slicewise.analysis.job.io_span import IoSpan, io_span
from slicewise.analysis.runs.matching import Run
from slicewise.analysis.runs.rates import StandaloneRun, rate_alone
from slicewise.constants import LEAST_DIRECTION
from slicewise.digest.activity import DIRECTIONS, Direction, activity, members
from slicewise.digest.digest import Digest
from slicewise.digest.processes import known_nodes
from slicewise.estimate import Estimate

# Of bytes in files that several processes use: more is sharing.
SHARED = 0.5


@dataclass(frozen=True)
class RunOnStorage:
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
    def known_nodes(self) -> int | None:
        """How many nodes these processes ran on, to be told; None where that is not known (imported jobs)."""
        return len(known_nodes(self.processes)) or None

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


def on_storage(run: Run, storage: int | None, direction: Direction) -> RunOnStorage:
    """A run on a storage (its number; None: on all of them)."""
    moved = activity(run.digest, direction, storage)
    processes = run.members.join(moved, on="process", how="semi")
    waited_for = _while_alive(moved, processes, run.digest.slice_ns)
    return RunOnStorage(run, processes, moved, io_span(waited_for, processes, run.digest.slice_ns))


def whole_span(run: Run) -> IoSpan | None:
    """From the first to the last byte that a run moved in any direction that is not next to nothing; None: no byte."""
    by_direction = [activity(run.digest, direction) for direction in DIRECTIONS]
    least = LEAST_DIRECTION * sum(int(moved["bytes"].sum()) for moved in by_direction)
    used = [moved for moved in by_direction if moved["bytes"].sum() >= max(least, 1)]
    if not used:
        return None
    both = pl.concat(used).group_by("process", "slice").agg(pl.col("bytes", "io_ns").sum(), pl.col("threads").max())
    processes = run.members.join(both, on="process", how="semi")
    return io_span(_while_alive(both, processes, run.digest.slice_ns), processes, run.digest.slice_ns)


def _while_alive(moved: pl.DataFrame, processes: pl.DataFrame, slice_ns: int) -> pl.DataFrame:
    """Activity without slices that began when a process had ended: what it never synced is served then, and nobody
    waits for it. All of it where that leaves nothing (an imported job, a clock that was set).
    """
    ended = processes.select("process", ended_ns=pl.col("end_ns").cast(pl.Int64))
    is_alive = (pl.col("slice") * slice_ns < pl.col("ended_ns")).fill_null(True)
    lived = moved.join(ended, on="process", how="left", maintain_order="left").filter(is_alive).drop("ended_ns")
    return lived if len(lived) else moved


def file_sharing(digest: Digest, direction: Direction, point: str) -> str:
    """Whether most bytes below the mount point are in files that several processes moved bytes of."""
    files = digest.files.join(members(digest), on="process", how="semi").filter(
        pl.col(f"{direction}_bytes") > 0, pl.col("path").str.starts_with(point)
    )
    by_path = files.group_by("path").agg(
        processes=pl.col("process").n_unique(), bytes=pl.col(f"{direction}_bytes").sum()
    )
    shared = by_path.filter(pl.col("processes") > 1)["bytes"].sum()
    return "shared file" if shared > SHARED * float(by_path["bytes"].sum()) else "file per process"
