"""Control groups whose limit held a job up on a storage: who shares that limit, shares the storage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.calls import Kind
from slicewise.analysis.runs.storage import Storage, busy_on, describe_all
from slicewise.constants import LEAST_OF_JOB, MAINLY, NEARLY_ALL
from slicewise.digest.digest import Digest
from slicewise.digest.processes import DIRECTIONS
from slicewise.digest.shared import frames_of
from slicewise.digest.slices import BYTES, REQUEST_TIMES, TIMES, with_mapped
from slicewise.digest.storages import (
    BETWEEN,
    LIMIT_REQUESTS,
    LIMITS,
    MOSTLY_IN_GROUP,
    devices_of,
    limited,
    way_of,
)
from slicewise.scalars import real
from slicewise.text import words


def from_disk(rows: pl.DataFrame, storage: Storage, digests: Sequence[Digest]) -> pl.DataFrame:
    """Rows of jobs on a storage with the bytes that its disk moved, by the kernel's count of their processes."""
    return by_disks(rows, disk_parts([storage], digests)) if storage.host else rows


def by_disks(rows: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Rows of jobs with the bytes that disks moved, without the page cache's. parts: of `disk_parts`."""
    if parts.is_empty():
        return rows
    return (
        rows.join(parts, on=["job", "storage"], how="left", maintain_order="left")
        .with_columns((pl.col(name) * pl.col(f"{name}_part").fill_null(1.0)).round().cast(pl.Int64) for name in BYTES)
        .select(rows.columns)
    )


def disk_parts(storages: Sequence[Storage], digests: Sequence[Digest]) -> pl.DataFrame:
    """The parts of jobs' calls that a local disk moved: job, storage, {name}_part of BYTES. Null, no row: unknown."""
    on_disks = [storage.number for storage in storages if storage.host]
    if not on_disks:
        return pl.DataFrame(
            schema={"job": pl.String, "storage": pl.UInt64} | {f"{name}_part": pl.Float64 for name in BYTES}
        )
    counted = [digest for digest in digests if "coverage" not in digest.not_kept]
    # Not process_slices, for which a large neighbour would be read as a whole.
    its = frames_of(counted, "mounts").group_by("place", "storage").agg(pl.col(BYTES).sum())
    by_kernel = pl.selectors.matches("^(read|write)_(kernel|storage)$").sum()
    known = its.join(frames_of(counted, "coverage").group_by("place").agg(by_kernel), on="place")
    parts = [
        pl.when(
            pl.col(f"{way}_kernel") > 0, pl.col(name) > 0, pl.col(name) >= NEARLY_ALL * pl.col(name).sum().over("place")
        )
        .then((pl.col(f"{way}_storage").fill_null(0) / _counted(name, f"{way}_kernel")).clip(upper_bound=1.0))
        .alias(f"{name}_part")
        for name, way in zip(BYTES, DIRECTIONS, strict=True)
    ]
    names = pl.Series("job", [digest.job for digest in counted], pl.String).gather(known["place"])
    return known.select(names, "storage", *parts).filter(pl.col("storage").is_in(on_disks))


def _counted(name: str, kernel: str) -> pl.Expr:
    """The bytes of calls of which the kernel says how much storage moved: of who was killed, those until the slice
    before. It has none of asynchronous requests, whose pages it counts.
    """
    is_in_part = pl.col(kernel).is_between(LEAST_OF_JOB * pl.col(name), pl.col(name))
    return pl.when(is_in_part).then(pl.col(kernel)).otherwise(pl.col(name))


def synced_writes(digest: Digest, storage: int | None = None) -> int:
    """How many writes of a job, or those on a storage, waited for it, journal and all, as a sync does: to files open
    with O_SYNC or O_DSYNC; 0 in profiles of older versions.
    """
    mounts = digest.mounts if storage is None else digest.mounts.filter(pl.col("storage") == storage)
    return int(mounts["synced_writes"].sum())


def bytes_fetched(digest: Digest) -> int | None:
    """What the kernel fetched from storage for a job; None where it did not count all that the job's calls read."""
    if "coverage" in digest.not_kept or digest.coverage.is_empty():
        return None
    kernel, fetched = digest.coverage.select(pl.col("read_kernel", "read_storage").sum()).row(0)
    return int(fetched) if kernel >= NEARLY_ALL * int(digest.mounts["read_bytes"].sum()) else None


# Of its limit: from here on a group is held to it. The kernel lets large requests through in lumps: of 40 MB/s a slice
# of 1 s had 35 to 52, and 5 slices 88 to 105 % (kernel 6.18, cgroup v1); of 10 MB/s 8.4 or 16.8 (6.1, cgroup v2).
AT_LIMIT = 0.85
SLICES_AROUND = 5
# Of cgroup v1, which has limits for it, too.
ROOT_GROUP = "/"
# Of the highest rate at the limit: slices with as much were held by this very limit. The collector divides by it, so
# that they differ by rounding.
THIS_LIMIT = 0.98
# Whether that is the limit itself: so many slices have as much, to rounding. Shorter times at the limit tell nothing.
SAME_LIMIT, SLICES_OF_LIMIT, LEAST_AT_LIMIT = 0.999, 2, 0.1


@dataclass(frozen=True)
class Limit:
    """A control group whose limit held a job up on a storage. device: as the digest names it. share: of the job's time
    in calls there, in which the limit was used up, slice by slice; used_up: the same by time. rate: bytes a second that
    the group moved at its limit, both directions together. most: what the limit is, of one direction, in bytes or
    requests (is_of_requests) a second.
    """

    device: str
    group: str
    share: float
    used_up: float
    rate: float
    most: float
    is_of_requests: bool

    def told(self) -> str:
        return limit_rate(self.most, self.is_of_requests)


def limit_rate(rate: float, is_of_requests: bool) -> str:
    return f"{words.number(rate)} requests a second" if is_of_requests else words.rate(rate)


def limits_on(storage: Storage, digest: Digest) -> pl.DataFrame:
    """The rows of a job's `node_slices` that count control groups with a limit on a local file system's disk."""
    rows = digest.node_slices
    return limited(rows, storage.host, storage.source) if storage.host else rows.clear()


def limit_of(storage: Storage, digest: Digest) -> Limit | None:
    """The limit that held a job up on a storage; None: the disk did, or nobody knows of a limit. It was used up for as
    long as the slowest process was in calls, in the slices with most of that time, and what the group did has what the
    job did.
    """
    rows = limits_on(storage, digest)
    if rows.is_empty():
        return None
    did = with_mapped(digest.process_slices, digest.fetched).filter(pl.col("storage") == storage.number)
    in_calls = _seconds_in_calls(did, digest)
    moved_by_disk = from_disk(did.with_columns(job=pl.lit(digest.job)), storage, [digest])
    own_bytes = dict(zip(LIMITS.values(), (int(moved_by_disk[name].sum()) for name in BYTES), strict=True))
    found = []
    for (device,), its in rows.group_by("device", maintain_order=True):
        moved = its.filter(pl.col("signal").is_in(list(LIMITS.values())))
        at_limit = its.filter(pl.col("signal") == "at_limit").select("slice", at_limit="amount")
        # A direction may pass by the group: what the page cache writes later is nobody's.
        in_group = {signal: real(moved.filter(pl.col("signal") == signal)["amount"].sum()) for signal in own_bytes}
        there = sum(min(in_group[signal], own) for signal, own in own_bytes.items())
        if at_limit.is_empty() or there < MOSTLY_IN_GROUP * max(own_bytes.values()):
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
        if held >= MAINLY or in_all >= AT_LIMIT:
            rate = float(moved["amount"].sum()) / float(at_limit["at_limit"].sum())
            highest, longest = held_by(its)
            by = max(longest, key=lambda signal: longest[signal])  # of bytes, where requests were held as long
            group, is_of_requests = str(device).split(BETWEEN, 1)[1], by not in LIMITS.values()
            limit = Limit(str(device), group, max(held, in_all), in_all, rate, highest[by], is_of_requests)
            found.append((in_all, limit))
    return max(found, key=lambda one: one[0], default=(0.0, None))[1]


def _seconds_in_calls(did: pl.DataFrame, digest: Digest) -> pl.DataFrame:
    """By slice of the node how long the process with most of it was in calls, or had requests under way: no longer than
    it lived, however many these were. did: rows of `process_slices`.
    """
    lives = digest.processes.select("process", "start_ns", pl.col("end_ns").fill_null(digest.about["end_ns"]))
    begin = pl.col("slice").cast(pl.Int64) * digest.slice_ns
    lived = pl.min_horizontal("end_ns", begin + digest.slice_ns) - pl.max_horizontal("start_ns", begin)
    each = did.group_by("slice", "process").agg(taken=pl.sum_horizontal(pl.col(*TIMES, *REQUEST_TIMES).sum()))
    each = each.join(lives, on="process", how="left").select(
        "process",
        slice=begin // digest.node_slice_ns,
        seconds=pl.min_horizontal("taken", lived.clip(0).fill_null(digest.slice_ns)) / 1e9,
    )
    of_process = each.group_by("slice", "process").agg(pl.col("seconds").sum())
    return of_process.group_by("slice").agg(pl.col("seconds").max().clip(upper_bound=digest.node_slice_ns / 1e9))


def outside(storage: Storage, limit: Limit, others: Sequence[Digest]) -> list[str]:
    """The jobs whose collector saw the storage's disk and no process of theirs in the control group. What is written
    back falls under the root's limit, whoever wrote it.
    """
    if limit.group == ROOT_GROUP:
        return []
    return [
        one.job
        for one in others
        if not one.node_slices.filter(pl.col("node") == storage.host).is_empty()
        and limit.device not in limits_on(storage, one)["device"]
    ]


def apart_by_limits(storage: Storage, digests: Sequence[Digest]) -> dict[str, Limit]:
    """Jobs that a limit held up which none of the others shares, and the limit: nobody's I/O slowed them down."""
    held = {one.job: limit for one in digests if (limit := limit_of(storage, one)) is not None}
    return {job: limit for job, limit in held.items() if len(outside(storage, limit, digests)) == len(digests) - 1}


def has_limits(digest: Digest) -> bool:
    """Whether the job's nodes counted control groups with a limit."""
    return bool((digest.node_slices["kind"] == "limit").any())


def is_apart(run: Digest, others: Sequence[Digest]) -> bool:
    """Whether a run was as good as alone beside others: limits that none of them shares held it up, wherever it spent
    time in calls that is worth a word.
    """
    where = describe_all(busy_on(run), [run])
    return bool(where) and all(run.job in apart_by_limits(one, [run, *others]) for one in where)


def of_group(storage: Storage, limit: Limit, digest: Digest) -> pl.DataFrame:
    """The rows of a job's `node_slices` that count its control group on a storage."""
    return limits_on(storage, digest).filter(pl.col("device") == limit.device)


def of_disk(storage: Storage, digest: Digest) -> pl.DataFrame:
    """The rows of a job's `node_slices` that count a local file system's disk."""
    rows = digest.node_slices
    if not storage.host or way_of(storage.type, storage.source) != "disk":
        return rows.clear()
    rows = rows.filter(pl.col("node") == storage.host)
    return rows.filter(
        pl.col("device").is_in([one for its in devices_of("disk", storage.source, rows, ()) for one in its])
    )


def limits_of(storages: Sequence[Storage], digest: Digest) -> dict[int, Limit]:
    found = {one.number: limit_of(one, digest) for one in storages}
    return {number: limit for number, limit in found.items() if limit is not None}


def part_at_limits(digest: Digest) -> float:
    """The part of a job's time in calls in which a control group's limit that held it up was used up, by whomever."""
    if not has_limits(digest):
        return 0.0
    seconds = dict(digest.process_slices.group_by("storage").agg(pl.sum_horizontal(*TIMES).sum()).iter_rows())
    limits = limits_of(describe_all(busy_on(digest), [digest]), digest)
    held = sum(limit.used_up * seconds.get(number, 0) for number, limit in limits.items())
    return held / sum(seconds.values()) if held else 0.0


def requests_at_limit(own: pl.DataFrame, alone: Sequence[pl.DataFrame]) -> dict[Kind, float]:
    """By direction, requests a second at a group's limit, where they used it up for longer than bytes did; where both
    did, what runs alone show beside it decides. own, alone: rows of `node_slices` of one group each.
    """
    most, held = held_by(own)
    _, of_all = held_by(pl.concat([own, *alone]))

    def decide(way: Kind) -> bool:
        by_bytes, by_requests = max(held[one] for one in LIMITS.values()), held[LIMIT_REQUESTS[way]]
        if by_requests != by_bytes:
            return by_requests > by_bytes
        return of_all[LIMIT_REQUESTS[way]] > max(of_all[one] for one in LIMITS.values())

    ways: tuple[Kind, ...] = ("read", "write")
    return {way: most[LIMIT_REQUESTS[way]] for way in ways if decide(way)}


def held_by(its: pl.DataFrame) -> tuple[dict[str, float], dict[str, float]]:
    """The highest rate at the limit of each signal, and the seconds at the limit in which it had that rate."""
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


def times_at_limit(storage: Storage, limit: Limit, digests: Sequence[Digest]) -> list[dict[int, tuple[float, float]]]:
    """For each job, by slice: how long what its control group read, and what it wrote, takes at the limits (s). Each
    direction has limits of its own, which hold at one time.
    """
    tables = [_by_signal(of_group(storage, limit, digest)) for digest in digests]
    known = _limits_met(pl.concat(tables))
    return [_by_direction(table, known, digest) for table, digest in zip(tables, digests, strict=True)]


def bytes_a_request(storage: Storage, limit: Limit, digest: Digest) -> float:
    """How many bytes a request of a job's control group has on average; 0: it made none."""
    table = _by_signal(of_group(storage, limit, digest))
    moved, made = (
        float(table.select(pl.sum_horizontal(names.values()).sum()).item()) for names in (LIMITS, LIMIT_REQUESTS)
    )
    return moved / made if made else 0.0


def _by_signal(rows: pl.DataFrame) -> pl.DataFrame:
    """One group by node and slice: at_limit (s), and what it did there of LIMITS and LIMIT_REQUESTS."""
    signals = (*LIMITS.values(), *LIMIT_REQUESTS.values(), "at_limit")
    return rows.group_by("node", "slice", maintain_order=True).agg(
        pl.col("amount").filter(pl.col("signal") == signal).sum().alias(signal) for signal in signals
    )


def _limits_met(table: pl.DataFrame) -> dict[str, float]:
    """By signal, what a group may do a second, where it did as much: two slices have the same highest rate, to what
    rounding leaves. Bytes are asked first: where their limit was met, a rate of requests is no limit.
    """
    found: dict[str, float] = {}
    left = table.filter(pl.col("at_limit") >= LEAST_AT_LIMIT)
    for signals in (LIMITS.values(), LIMIT_REQUESTS.values()):
        met = pl.lit(False)
        for signal in signals:
            rate = pl.col(signal) / pl.col("at_limit")
            most = real(left.select(rate.max().fill_null(0.0)).item())
            is_most = rate >= SAME_LIMIT * most
            if most > 0 and len(left.filter(is_most)) >= SLICES_OF_LIMIT:
                found[signal] = most
                met = met | is_most
        left = left.filter(~met)
    return found


def _by_direction(table: pl.DataFrame, known: Mapping[str, float], digest: Digest) -> dict[int, tuple[float, float]]:
    """A direction whose limit was never met is taken to have that of the other one; where none was, they share the
    time.
    """
    other = max((known[signal] for signal in LIMITS.values() if signal in known), default=0.0)
    at = pl.col("slice") * digest.node_slice_ns // digest.slice_ns
    whole = pl.sum_horizontal(LIMITS.values())
    takes = []
    for way in DIRECTIONS:
        own = [pl.col(one) / known[one] for one in (LIMITS[way], LIMIT_REQUESTS[way]) if one in known]
        if not own:
            moved = pl.col(LIMITS[way])
            own = [moved / other if other else (moved / whole * pl.col("at_limit")).fill_nan(0.0)]
        takes.append(pl.min_horizontal(pl.max_horizontal(own), "at_limit").sum().alias(way))
    sums = table.group_by(slice=at).agg(takes).sort("slice")
    return {slice_: (read, write) for slice_, read, write in sums.select("slice", *DIRECTIONS).iter_rows()}
