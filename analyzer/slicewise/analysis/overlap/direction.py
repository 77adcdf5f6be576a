"""Several jobs in one direction, reads or writes: what a comparison of them gives (see comparison.py for how)."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from slicewise.analysis.capacity.capacity import Capacity, Demand
from slicewise.analysis.job.io_span import IoSpan
from slicewise.analysis.overlap.contention import Contention
from slicewise.analysis.overlap.region import Region, Regions, Uniformity
from slicewise.analysis.runs.rates import StandaloneRun
from slicewise.analysis.runs.storage import Storage, StorageUse
from slicewise.analysis.sharing.runtimes import Inverse, Prediction
from slicewise.digest.activity import Direction
from slicewise.estimate import Estimate


@dataclass(frozen=True)
class JobInDirection:
    """What a job did in one direction on the storage under analysis.

    processes, nodes: those of the processes that matter (see docs/models.md) that moved bytes in this direction; nodes:
    None where these are not known.
    idle_processes: an MPI job's other ranks. bytes: moved in the whole run. overall_bytes_per_second: bytes over the
    slices from its first to its last with bytes. span: its I/O time span. Both are None if it moved nothing.
    region_bytes, region_share (of all jobs' bytes) and uniformity (of its processes): in `DirectionOverlap.basis`; None
    without one. region_bytes_per_second: there, without end slices that some job's I/O filled in part.
    fair_share_by_process, fair_share_by_node: its processes (nodes) over those of all jobs. alone: the standalone
    run given for it. alone_seconds: what its volume takes alone by that run; None without one. waited_seconds:
    what of the span it waited for its turn at I/O, where jobs take turns: no storage made it that long.
    demand: the rate that it reaches alone.
    """

    job: str
    processes: int | None
    nodes: int | None
    idle_processes: int
    bytes: int
    overall_bytes_per_second: float | None
    span: IoSpan | None
    region_bytes: int | None
    region_bytes_per_second: float | None
    region_share: float | None
    fair_share_by_process: float
    fair_share_by_node: float
    uniformity: Uniformity | None
    alone: StandaloneRun | None
    alone_seconds: Estimate | None
    demand: Demand | None
    use: StorageUse
    waited_seconds: float = 0.0


@dataclass(frozen=True)
class Ratio:
    """The first job's figure over the second's (two jobs only): bandwidth in the region, overall; processes, nodes."""

    region: float | None
    overall: float | None
    processes: float | None
    nodes: float | None


@dataclass(frozen=True)
class DirectionOverlap:
    """All jobs in one direction.

    storage: the file system that is analysed; None where the jobs share none (then all their file systems are, and
    there is no region). regions: the active overlapping region and its variants, of the jobs that moved bytes. basis:
    the region that the figures of `jobs` and `uniformity` are of: the every-process one, or, where there is none, the
    any-process one; None without either. ratio: None unless there are two jobs and both moved bytes. uniformity: over
    all processes of all jobs, in `basis`. capacity, contention: see there. predictions: one a weight. inverses: one a
    weight and one that needs no weight. shares: a row a job and slice in which several jobs were active: job, slice,
    bytes, share, fair_by_process, fair_by_node (fractions of the slice's bytes; fair shares are by the processes and
    nodes that were active in that slice), fair_bytes_by_process, fair_bytes_by_node. activity: job, process, node,
    rank, slice, bytes, ns, threads; rows only where there were bytes. not_applicable: why there is nothing to compare
    in this direction, in one sentence; empty where there is. notes: what a reader must know to judge the figures, a
    sentence each.
    """

    direction: Direction
    storage: Storage | None
    jobs: list[JobInDirection]
    regions: Regions
    basis: Region | None
    ratio: Ratio | None
    uniformity: Uniformity | None
    capacity: Capacity | None
    contention: Contention
    predictions: list[Prediction]
    inverses: list[Inverse]
    shares: pl.DataFrame
    activity: pl.DataFrame
    not_applicable: str
    notes: list[str]
