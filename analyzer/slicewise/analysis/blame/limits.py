"""Who shares a limit of a control group with a job: what held the job up was the limit, and not the disk behind it.

Digests' frames in, dataclasses out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.blame.disk import from_disk
from slicewise.analysis.blame.result import LowerLimit
from slicewise.analysis.calls import Kind
from slicewise.analysis.runs.storage import Storage
from slicewise.digest.counting import BETWEEN, LIMIT_REQUESTS, LIMITS, MOSTLY_IN_GROUP, limited
from slicewise.digest.digest import Digest
from slicewise.digest.slices import BYTES, REQUEST_TIMES, TIMES, with_mapped
from slicewise.text import words

# Of its limit: from here on a group is held to it. The kernel lets large requests through in lumps: of 40 MB/s a slice
# of 1 s had 35 to 52, and 5 slices 88 to 105 % (kernel 6.18, cgroup v1); of 10 MB/s 8.4 or 16.8 (6.1, cgroup v2).
AT_LIMIT = 0.85
SLICES_AROUND = 5
# Of a job's limit: that of runs alone was another one, and not the same in other lumps.
HIGHER = 1.15
# Of a job's time in calls: with the limit used up in so much of it, the limit decided how fast the job was.
MOSTLY_AT_LIMIT = 0.5
# Of the highest rate at the limit: slices with as much were held by this very limit. The collector divides by it, so
# that they differ by rounding.
THIS_LIMIT = 0.98
# Of the time in which another one was: with as much a limit may have been the one that was used up.
MOSTLY = 0.9


@dataclass(frozen=True)
class Limit:
    """A control group whose limit held a job up on a storage. device: as the digest names it. share: of the job's time
    in calls there, in which the limit was used up. rate: bytes a second that the group moved at its limit, which may be
    one of requests.
    """

    device: str
    group: str
    share: float
    rate: float


def limits_on(storage: Storage, digest: Digest) -> pl.DataFrame:
    """The rows of a job's `node_slices` that count control groups with a limit on a local file system's disk."""
    rows = digest.node_slices
    return limited(rows, storage.host, storage.source) if storage.host else rows.clear()


def limit_of(storage: Storage, digest: Digest) -> Limit | None:
    """The limit that held a job up on a storage; None: the disk did, or nobody knows of a limit.

    It was used up for as long as the slowest process was in calls, in the slices with most of that time, and what the
    group did has what the job did.
    """
    rows = limits_on(storage, digest)
    if rows.is_empty():
        return None
    did = with_mapped(digest.process_slices, digest.fetched).filter(pl.col("storage") == storage.number)
    in_calls = (
        did.group_by("slice", "process")
        .agg(seconds=pl.sum_horizontal(pl.col(*TIMES, *REQUEST_TIMES).sum()) / 1e9)
        .group_by(slice=pl.col("slice").cast(pl.Int64) * digest.slice_ns // digest.node_slice_ns)
        .agg(pl.col("seconds").max().clip(upper_bound=digest.node_slice_ns / 1e9))
    )
    moved_by_disk = from_disk(did.with_columns(job=pl.lit(digest.job)), storage, [digest])
    own_bytes = int(moved_by_disk.select(pl.sum_horizontal(BYTES).sum()).item())
    found = []
    for (device,), its in rows.group_by("device", maintain_order=True):
        moved = its.filter(pl.col("signal").is_in(list(LIMITS.values())))
        at_limit = its.filter(pl.col("signal") == "at_limit").select("slice", at_limit="amount")
        if at_limit.is_empty() or float(moved["amount"].sum()) < MOSTLY_IN_GROUP * own_bytes:
            continue
        # Before its first row nobody had met the group.
        both = in_calls.join(at_limit, on="slice", how="left").sort("slice").fill_null(0.0)
        both = both.filter(pl.col("slice") >= at_limit["slice"].min())
        around = pl.col("seconds", "at_limit").rolling_sum(SLICES_AROUND, min_samples=1, center=True)
        used = (pl.col("at_limit_around") / pl.col("seconds_around")).fill_nan(0.0).clip(upper_bound=1.0)
        known = both.with_columns(around.name.suffix("_around")).select("seconds", used=used)
        seconds = float(known["seconds"].sum())
        if seconds <= 0:
            continue
        held = float(known.filter(pl.col("used") > AT_LIMIT)["seconds"].sum()) / seconds
        in_all = float((known["used"] * known["seconds"]).sum()) / seconds
        if held >= MOSTLY_AT_LIMIT or in_all >= AT_LIMIT:
            rate = float(moved["amount"].sum()) / float(at_limit["at_limit"].sum())
            found.append((in_all, Limit(str(device), str(device).split(BETWEEN, 1)[1], max(held, in_all), rate)))
    return max(found, key=lambda one: one[0], default=(0.0, None))[1]


def requests_at_limit(own: pl.DataFrame, alone: Sequence[pl.DataFrame]) -> dict[Kind, float]:
    """By direction, requests a second at a group's limit, where they used it up for longer than bytes did; where both
    did, what runs alone show beside it decides. own, alone: rows of `node_slices` of one group each.
    """
    most, held = _held(own)
    _, of_all = _held(pl.concat([own, *alone]))

    def decide(way: Kind) -> bool:
        by_bytes, by_requests = max(held[one] for one in LIMITS.values()), held[LIMIT_REQUESTS[way]]
        if by_requests != by_bytes:
            return by_requests > by_bytes
        return of_all[LIMIT_REQUESTS[way]] > max(of_all[one] for one in LIMITS.values())

    ways: tuple[Kind, ...] = ("read", "write")
    return {way: most[LIMIT_REQUESTS[way]] for way in ways if decide(way)}


def _held(its: pl.DataFrame) -> tuple[dict[str, float], dict[str, float]]:
    """Of each signal of LIMITS and LIMIT_REQUESTS the highest rate at the limit, and the seconds at the limit in which
    it had that rate: there it was this that was limited.
    """
    signals = [*LIMITS.values(), *LIMIT_REQUESTS.values()]
    by_slice = its.group_by("node", "device", "slice").agg(
        pl.col("amount").filter(pl.col("signal") == signal).sum().alias(signal) for signal in (*signals, "at_limit")
    )
    rates = by_slice.filter(pl.col("at_limit") > 0).with_columns(pl.col(signals) / pl.col("at_limit"))
    most = {signal: float(str(rates[signal].max() or 0)) for signal in signals}
    return most, {
        signal: float(rates.filter(pl.col(signal) >= THIS_LIMIT * rate)["at_limit"].sum()) if rate > 0 else 0.0
        for signal, rate in most.items()
    }


def limits_of(storages: Sequence[Storage], digest: Digest) -> dict[int, Limit]:
    """By storage, the limits that held a job up."""
    found = {one.number: limit_of(one, digest) for one in storages}
    return {number: limit for number, limit in found.items() if limit is not None}


def outside(storage: Storage, limit: Limit, neighbours: Sequence[Digest]) -> list[str]:
    """The jobs whose collector saw the storage's disk and no process of theirs in the control group."""
    return [
        one.job
        for one in neighbours
        if not one.node_slices.filter(pl.col("node") == storage.host).is_empty()
        and limit.device not in limits_on(storage, one)["device"]
    ]


def lowered(
    storages: Sequence[Storage], limits: Mapping[int, Limit], digest: Digest, runs: Sequence[Digest]
) -> list[LowerLimit]:
    """The limits that held a job up and were lower than in runs alone, of the same kind."""
    found = [_lowered(one, limits[one.number], digest, runs) for one in storages if one.number in limits]
    return [one for one in found if one is not None]


def _lowered(storage: Storage, limit: Limit, digest: Digest, runs: Sequence[Digest]) -> LowerLimit | None:
    """Where several limits were used up for as long, the least difference counts."""
    own = _of_kinds(of_group(storage, limit, digest))
    alone = [_of_kinds(of_group(storage, its, run)) for run in runs if (its := limit_of(storage, run)) is not None]
    found = [
        (min(one[signal] for one in alone) / rate, signal)
        for signal, rate in own.items()
        if alone and all(signal in one for one in alone)
    ]
    if not found or min(found)[0] <= HIGHER:
        return None
    ratio, signal = min(found)
    return LowerLimit(storage, limit.group, signal in LIMIT_REQUESTS.values(), own[signal], ratio * own[signal])


def of_group(storage: Storage, limit: Limit, digest: Digest) -> pl.DataFrame:
    """The rows of a job's `node_slices` that count its control group on a storage."""
    return limits_on(storage, digest).filter(pl.col("device") == limit.device)


def _of_kinds(its: pl.DataFrame) -> dict[str, float]:
    """The signals that were held to a limit for longest, or as long, and what the limit was. its: of `of_group`."""
    most, held = _held(its)
    return {signal: most[signal] for signal in most if held[signal] >= MOSTLY * max(held.values()) > 0}


def limit_words(storages: Sequence[Storage], limits: Mapping[int, Limit], lower: Sequence[LowerLimit]) -> list[str]:
    """What to say of the limits that held a job up."""
    told = []
    then = {one.storage.number: f"; in runs alone it was {one.told(one.alone)}" for one in lower}
    for storage in storages:
        limit = limits.get(storage.number)
        if limit is None:
            continue
        was = then.get(storage.number, "")
        rate = next((one.told(one.rate) for one in lower if one.storage == storage), words.rate(limit.rate))
        told.append(
            f"On {storage.point} the limit of control group {limit.group} ({rate}{was}) held it up "
            f"{words.percent(limit.share, 2)} of its time in calls: jobs of other groups do not share it, and are no "
            "neighbours"
        )
    return told
