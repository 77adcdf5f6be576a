"""What a job asks of a storage: how much, how fast while it is in I/O, and for what part of its runtime.

Digest in, dataclass out.
"""

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.calls import AMOUNTS, SECONDS, Kind, call_rows
from slicewise.analysis.runs.matching import Job, run_of
from slicewise.analysis.runs.on_storage import on_storage
from slicewise.analysis.runs.storage import Storage, busier_direction, describe
from slicewise.constants import LEAST_ERROR, MOST_ERROR_OF_A_RUN
from slicewise.digest.activity import DIRECTIONS, Direction, bytes_by_storage
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.statistics import block_error

TRANSFERS: tuple[Kind, ...] = ("read", "write")
# Kinds of call that take so many times as long, each by itself, as any call does are made at the same time.
AT_ONCE = 1.25


@dataclass(frozen=True)
class Demand:
    """A job on a storage. volume: bytes, of both directions; io_seconds: as long as its busiest process was in calls
    there, slice by slice, of those kinds that count; computing_seconds: the rest of its runtime; rate: bytes/s while in
    I/O; seconds of other kinds (metadata calls) and on other storages are in `elsewhere_seconds`, and count as
    computing. amounts, seconds: by kind that counts what it did, and as long as its busiest process did. is_at_once:
    its processes make calls of different kinds at the same time.
    """

    job: Job
    processes: int
    volume: int
    io_seconds: float
    computing_seconds: float
    elsewhere_seconds: float
    rate: Estimate
    read_share: float
    amounts: dict[Kind, float]
    seconds: dict[Kind, float]
    is_at_once: bool

    @property
    def runtime_seconds(self) -> float:
        return self.io_seconds + self.computing_seconds

    @property
    def duty(self) -> float:
        """The share of its runtime that the job is in I/O."""
        return self.io_seconds / self.runtime_seconds


def where_most(digest: Digest) -> tuple[Storage, Direction]:
    """The storage that a job moved most bytes on, and the direction of most of them.

    Raises UserError where it moved none.
    """
    direction = busier_direction([digest])
    moved = bytes_by_storage(digest, direction)
    if moved.is_empty():
        raise UserError(f"{digest.path}: moved no bytes of files, so copies of it do not compete for a file system")
    return describe(int(moved["storage"][0]), [digest]), direction


def demand_of(digest: Digest, storage: Storage, kinds: Collection[Kind] = TRANSFERS) -> Demand | None:
    """What a job asks of a storage; None where it did not use it. kinds: of call that count as I/O there."""
    calls = call_rows(digest, digest.slice_ns)
    here = calls.filter(pl.col("storage") == storage.number)
    took = {kind: pl.col(SECONDS[kind]) for kind in kinds}
    in_slices = (
        here.with_columns(busy=pl.sum_horizontal(took.values()))
        .group_by("slice")
        .agg(
            pl.col("busy").max(),
            *(pl.col(SECONDS[kind]).get(pl.col("busy").arg_max()).alias(kind) for kind in kinds),
            *(pl.col(SECONDS[kind]).max().alias(f"most_{kind}") for kind in kinds),
            moved=pl.col("read_bytes").sum() + pl.col("write_bytes").sum(),
        )
        .sort("slice")
    )
    volume, busy = int(in_slices["moved"].sum()), float(in_slices["busy"].sum())
    job = run_of(digest).job
    runtime = (job.end_ns - job.start_ns) / 1e9
    if not volume or not busy or runtime <= 0:
        return None
    busy = min(busy, runtime)
    all_seconds = calls.group_by("slice", "process").agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
    in_calls = float(all_seconds.group_by("slice").agg(pl.col("seconds").max())["seconds"].sum())
    error = block_error(in_slices["moved"].to_numpy().astype(float), in_slices["busy"].to_numpy())
    error = LEAST_ERROR + min(error, MOST_ERROR_OF_A_RUN)
    rate = volume / busy
    apart = sum(float(in_slices[f"most_{kind}"].sum()) for kind in kinds)
    return Demand(
        job=job,
        processes=max(1, max(len(on_storage(run_of(digest), storage.number, way).processes) for way in DIRECTIONS)),
        volume=volume,
        io_seconds=busy,
        computing_seconds=runtime - busy,
        elsewhere_seconds=max(0.0, in_calls - busy),
        rate=Estimate(rate, rate / (1 + error), rate * (1 + error), "this run's bytes over its time in calls"),
        read_share=float(here["read_bytes"].sum()) / volume,
        amounts={kind: float(here[AMOUNTS[kind]].sum()) for kind in kinds},
        seconds={kind: float(in_slices[kind].sum()) for kind in kinds},
        is_at_once=apart > AT_ONCE * busy,
    )
