"""Profiles as measurements of transfer sizes: a point a job, file system and direction, alone and beside other jobs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.runs.on_storage import file_sharing
from slicewise.analysis.size.points import POINTS, Curve
from slicewise.constants import FEWEST_FOR_A_MEAN, LEAST_DIRECTION, LITTLE_BYTES, NEARLY_ALL
from slicewise.digest.activity import Direction, members
from slicewise.digest.digest import Digest
from slicewise.digest.slices import synced_ns
from slicewise.scalars import real, whole

# A mean size this near to a power of two is that power and a few odd calls.
NEAR = 0.05
# Of calls that go on where the last one ended (or after it): as many are sequential, as few are random.
SEQUENTIAL, RANDOM = 0.9, 0.75
COMPANY = "another job"


@dataclass(frozen=True)
class Accesses:
    """How a job accessed one file system in one direction. curve: by what else sizes are told apart. size: of its
    calls, bytes; None: they are of several sizes. mean_size: of all calls. seconds: in calls (of writes, syncs too), of
    the process with most. call_seconds: of all processes and threads, without syncs. in_flight: its threads with I/O.
    beside_slices: of `slices`, those in which another job moved bytes there. p99: the upper edge of the bin of the 99 %
    quantile of a call's duration, s; None: not known.
    """

    digest: Digest
    storage: int
    storage_type: str
    curve: Curve
    size: int | None
    mean_size: float
    calls: int
    bytes: int
    seconds: float
    call_seconds: float
    in_flight: int
    slices: int
    beside_slices: int
    p99: float | None

    @property
    def direction(self) -> Direction:
        """read or write."""
        return "read" if self.curve.direction == "read" else "write"


def accesses_of(digest: Digest, others: Sequence[Digest]) -> list[Accesses]:
    """What a job did by file system and direction, most seconds first. others: jobs that may have been there."""
    found = []
    for row in digest.accesses.iter_rows(named=True):
        direction: Direction = "read" if row["direction"] == "read" else "write"
        if row["bytes"] < max(LITTLE_BYTES, LEAST_DIRECTION * whole(digest.accesses["bytes"].sum())):
            continue
        slices = own_slices(digest, row["storage"], direction, others)
        if not slices.is_empty() and slices["seconds"].sum() > 0:
            found.append(_accesses(digest, row, direction, slices))
    return sorted(found, key=lambda each: -each.seconds)


def own_slices(digest: Digest, storage: int, direction: Direction, others: Sequence[Digest] = ()) -> pl.DataFrame:
    """What each process that matters did in one direction on one file system in each slice. process, slice, bytes,
    calls, call_seconds (all threads), seconds (a thread; with syncs where it writes), threads, is_beside (one of the
    others moved bytes there in that slice).
    """
    rows = digest.process_slices.lazy().filter(pl.col("storage") == storage)
    sync = synced_ns() if direction == "write" else pl.lit(0)
    call_ns = pl.col(f"{direction}_ns") + pl.col(f"{direction}_request_ns")
    busy = _busy_slices(digest.slice_ns, storage, others)
    return (
        rows.join(members(digest).lazy(), on="process", how="semi")
        .filter((pl.col(f"{direction}_ops") > 0) | (sync > 0))
        .select(
            "process",
            "slice",
            "threads",
            bytes=pl.col(f"{direction}_bytes"),
            calls=pl.col(f"{direction}_ops"),
            call_seconds=call_ns / 1e9,
            seconds=(call_ns + sync) / 1e9 / pl.col("threads"),
            is_beside=pl.col("slice").is_in(busy),
        )
        .sort("process", "slice")
        .collect()
    )


def _busy_slices(slice_ns: int, storage: int, others: Sequence[Digest]) -> list[int]:
    """The slices, of that length, in which any of the jobs moved bytes on the storage."""
    busy: set[int] = set()
    for other in others:
        rows = other.process_slices.filter(
            pl.col("storage") == storage, pl.col("read_bytes") + pl.col("write_bytes") > 0
        )
        for number in rows["slice"].unique():
            begin, end = number * other.slice_ns, (number + 1) * other.slice_ns
            busy.update(range(begin // slice_ns, -(-end // slice_ns)))
    return sorted(busy)


def _accesses(digest: Digest, row: dict[str, int], direction: Direction, slices: pl.DataFrame) -> Accesses:
    storage = digest.storages.filter(pl.col("storage") == row["storage"]).row(0, named=True)
    by_process = slices.group_by("process").agg(pl.col("seconds").sum(), pl.col("threads").max())
    moved = slices.filter(pl.col("bytes") > 0)
    curve = Curve(
        mount=storage["point"],
        direction=direction,
        access=_access(row["calls"] - row["first"], row["sequential"], row["consecutive"]),
        sharing=file_sharing(digest, direction, storage["point"]),
        processes=moved["process"].n_unique(),
        block_size=None,
        file_size=None,
        beside="",
    )
    mean_size = row["bytes"] / row["calls"]
    return Accesses(
        digest=digest,
        storage=row["storage"],
        storage_type=storage["type"],
        curve=curve,
        size=_size(digest, row["storage"], direction, mean_size),
        mean_size=mean_size,
        calls=row["calls"],
        bytes=row["bytes"],
        seconds=real(by_process["seconds"].max()),
        call_seconds=real(slices["call_seconds"].sum()),
        in_flight=whole(by_process["threads"].sum()),
        slices=moved["slice"].n_unique(),
        beside_slices=moved.filter("is_beside")["slice"].n_unique(),
        p99=_p99(digest, row["storage"], direction),
    )


def _access(calls: int, sequential: int, consecutive: int) -> str:
    """calls: those that had one to follow. Random accesses begin behind the last one half of the time, by chance."""
    if max(sequential, consecutive) >= SEQUENTIAL * calls:
        return "sequential"
    return "random" if sequential < RANDOM * calls else "sequential and random"


def _size(digest: Digest, storage: int, direction: Direction, mean_size: float) -> int | None:
    """The job's one transfer size; None where its calls are of several sizes."""
    bins = call_bins(digest, storage, direction, "size")
    if bins.is_empty() or real(bins["calls"].max()) < NEARLY_ALL * real(bins["calls"].sum()):
        return None
    common = bins.sort("calls").row(-1, named=True)
    if not common["least"] <= mean_size <= (common["most"] or math.inf):
        return None
    power = 1 << round(math.log2(max(1.0, mean_size)))
    return power if abs(mean_size / power - 1) <= NEAR else round(mean_size)


def call_bins(digest: Digest, storage: int, direction: Direction, what: str) -> pl.DataFrame:
    """least, most, calls: how many calls had a size (or took a latency) of so much."""
    return digest.storage_distributions.filter(
        pl.col("storage") == storage, pl.col("kind") == direction, pl.col("what") == what, pl.col("calls") > 0
    ).select("least", "most", "calls")


def _p99(digest: Digest, storage: int, direction: Direction) -> float | None:
    bins = call_bins(digest, storage, direction, "latency")
    reached = bins.filter(pl.col("calls").cum_sum() >= 0.99 * pl.col("calls").sum())
    if reached.is_empty() or reached["most"][0] is None:
        return None
    return whole(reached["most"][0]) / 1e9


def points_of(found: Sequence[Accesses], others: Mapping[str, Sequence[Digest]]) -> pl.DataFrame:
    """The points that jobs with one transfer size make, alone and in company. others: by job, who may be there."""
    rows = []
    for each in found:
        if each.size is None or each.curve.access not in ("sequential", "random"):
            continue
        slices = own_slices(each.digest, each.storage, each.direction, others.get(each.digest.job, ()))
        rows += [
            _point(each, "", slices.filter(~pl.col("is_beside"))),
            _point(each, COMPANY, slices.filter("is_beside")),
        ]
    return pl.DataFrame([row for row in rows if row is not None], schema=POINTS)


def _point(each: Accesses, company: str, slices: pl.DataFrame) -> dict[str, object] | None:
    """A point of some of the slices; None where they are too few beside the others. bandwidth: bytes over the seconds
    in calls (and syncs) of the process with most; latency: the mean of all calls.
    """
    moved = slices.filter(pl.col("bytes") > 0)
    is_all = 0 in (each.beside_slices, each.slices - each.beside_slices)
    seconds = slices.group_by("process").agg(pl.col("seconds").sum())["seconds"].max() if slices.height else None
    if moved.is_empty() or not seconds or (not is_all and moved["slice"].n_unique() < FEWEST_FOR_A_MEAN):
        return None
    return {
        "mount": each.curve.mount, "direction": each.curve.direction, "access": each.curve.access,
        "sharing": each.curve.sharing, "processes": each.curve.processes, "block_size": None, "file_size": None,
        "beside": company, "size": each.size, "run": each.digest.job,
        "bandwidth": float(moved["bytes"].sum()) / real(seconds),
        "latency": float(moved["call_seconds"].sum()) / float(moved["calls"].sum()),
        "latency_p99": each.p99 if not company and not each.beside_slices else None, "in_flight": float(each.in_flight),
    }  # fmt: skip
