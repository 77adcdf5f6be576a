"""Results of a blame, made by hand: the demo's, and others by what differs from it."""

from dataclasses import replace

import polars as pl
from slicewise.analysis.blame.result import Baseline, Blame, Neighbour, OwnProcesses, Traffic
from slicewise.analysis.runs.matching import Job
from slicewise.analysis.runs.storage import Storage
from slicewise.estimate import Estimate

MIB = 1 << 20
SECOND = 1_000_000_000
START_NS = 1_700_000_000 * SECOND  # 22:13:20 UTC
SCRATCH = Storage(7, "lustre", "mds1:/scratch", "", "/scratch")


def estimate(value: float, low: float, high: float, how: str = "") -> Estimate:
    return Estimate(value, low, high, how)


def neighbour(job: str | None = "large", lost: float = 10.8, **changed) -> Neighbour:
    """Somebody who wrote 28.8 MiB/s for 15 s."""
    made = Neighbour(
        job=job,
        program="" if job is None else "simulation",
        processes=0 if job is None else 6,
        nodes=0 if job is None else 1,
        lost=estimate(lost, lost - 0.2, lost + 0.2),
        kinds={"write": lost},
        storage=SCRATCH,
        start_ns=START_NS,
        end_ns=START_NS + 15 * SECOND,
        seconds=15.0,
        read_bytes=0,
        write_bytes=432 * MIB,
        meta_ops=0,
        without_it_end=None if job is None else estimate(10.9, 10.7, 11.2),
    )
    return replace(made, **changed)


def baseline(**changed) -> Baseline:
    made = Baseline("standalone runs", estimate(10.7, 10.6, 10.9), "high", runs=["small-alone"])
    return replace(made, **changed)


def slices_and_shares(neighbours: list[Neighbour]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """22 slices of 1 s of a job that writes 20 MiB/s, half as fast as alone in the first 15, beside its neighbours."""
    first = START_NS // SECOND
    shared = range(first, first + 15)
    slices = pl.DataFrame(
        {
            "slice": list(range(first, first + 22)), "storage": pl.Series([SCRATCH.number] * 22, dtype=pl.UInt64),
            "seconds": [0.98] * 22, "alone_seconds": [0.26] * 15 + [0.98] * 7, "lost_seconds": [0.72] * 15 + [0.0] * 7,
            "read_bytes": [0] * 22, "write_bytes": [11 * MIB] * 15 + [40 * MIB] * 7, "meta_ops": [2] * 22,
        }
    )  # fmt: skip
    lost = sum(each.lost.value for each in neighbours)
    shares = pl.DataFrame(
        [
            {
                "slice": number, "storage": SCRATCH.number, "neighbour": each.job,
                "storage_seconds": 0.7 / len(neighbours),
                "lost_seconds": 0.71 * each.lost.value / lost if lost else 0.0, "read_bytes": each.read_bytes // 15,
                "write_bytes": each.write_bytes // 15, "meta_ops": each.meta_ops // 15,
            }
            for number in shared
            for each in neighbours
        ],
        schema={
            "slice": pl.Int64, "storage": pl.UInt64, "neighbour": pl.String, "storage_seconds": pl.Float64,
            "lost_seconds": pl.Float64, "read_bytes": pl.Int64, "write_bytes": pl.Int64, "meta_ops": pl.Int64,
        },
    )  # fmt: skip
    return slices, shares


def blame(neighbours: list[Neighbour] | None = None, **changed) -> Blame:
    """small took 21.6 s, 10.7 s alone, because of large."""
    neighbours = [neighbour()] if neighbours is None else neighbours
    slices, shares = slices_and_shares(neighbours)
    lost = 10.9
    made = Blame(
        job=Job("small", "postproc", 2, 1, START_NS, START_NS + 21_600_000_000),
        is_running=False,
        as_of_ns=START_NS + 21_600_000_000,
        runtime_seconds=21.6,
        io_seconds=21.6,
        io_processes=2,
        alone=estimate(10.7, 10.6, 10.9),
        lost=estimate(lost, 10.7, 11.0),
        io_lost=estimate(10.8, 10.6, 10.9),
        confidence="high",
        is_claimed=True,
        neighbours=neighbours,
        unexplained_seconds=lost - sum(each.lost.value for each in neighbours),
        apart_seconds=0.0,
        waits="ranks",
        baseline=baseline(),
        sources=[baseline(), Baseline("quiet slices", None, "unknown", "only 3 slices were quiet")],
        contradiction="",
        unknown_because="",
        next_step="",
        traffic=[Traffic(SCRATCH, 864 * MIB, 891 * MIB, "network interfaces")],
        missing=[],
        notes=[],
        slice_ns=SECOND,
        slices=slices,
        shares=shares,
    )
    return replace(made, **changed)


def each_other(seconds: float = 6.1, low: float = 5.0, high: float = 7.2) -> OwnProcesses:
    """What the processes of `blame` cost each other: as much in each of its last seven slices."""
    slices = slices_and_shares([neighbour()])[0].tail(7).select("slice", seconds=pl.lit(seconds / 7))
    return OwnProcesses(estimate(seconds, low, high, "by its slices without company"), slices)


def unknown(**changed) -> Blame:
    """A job of which nothing can be told, though large was there."""
    step = "run small once alone: slicewise run --job small-alone -- ./postproc"
    made = blame(
        alone=None, lost=None, io_lost=None, confidence="unknown", is_claimed=False, baseline=None, neighbours=[],
        sources=[], unknown_because="no standalone run was found, and large was active throughout", next_step=step,
        unexplained_seconds=0.0, shares=slices_and_shares([neighbour()])[1],
    )  # fmt: skip
    return replace(made, **changed)
