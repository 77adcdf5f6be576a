"""Where requests, and not bytes, hold jobs up: a control group's limit, or a disk that serves so many and no more.

Frames in, frames out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from slicewise.analysis.blame.active import WHO
from slicewise.analysis.blame.on_storage import Floats, Mask, SlicesOnStorage
from slicewise.analysis.blame.unprofiled import JOURNAL_A_SYNC
from slicewise.analysis.calls import AMOUNTS, CALLS, SECONDS, Kind
from slicewise.analysis.capacity.by_kind import Capacities
from slicewise.analysis.runs.limits import (
    Limit,
    bytes_fetched,
    limit_of,
    of_disk,
    of_group,
    requests_at_limit,
    synced_writes,
)
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import BLOCK_A_CALL, FEWEST_SLICES, FILLED, LEAST_STRANGER, MAINLY, NEARLY_ALL
from slicewise.digest.digest import Digest
from slicewise.digest.slices import REQUEST_TIMES, TIMES, synced_ns
from slicewise.digest.storages import DISK_REQUESTS, LIMIT_REQUESTS, SIGNALS

# How much the requests for a byte of each neighbour are taken to be the same, where slices do not tell them apart.
ALIKE = 0.1
# Of their median: a disk with a limit of requests serves as many in each slice, but for this. At a limit of 200 nearly
# all slices of a second had 200, also on busy processors. So their bytes have to differ by more.
AS_MANY = 0.1
# And by how many times as much: standard deviations, relative to the means. In slices of readers of 64 KiB with and
# without readers of 4 KiB, bytes differed by 19 %, and requests by 0.
FAR_MORE = 3.0
# Bytes: what large calls are cut into is no smaller, but for a file in pieces. The kernel reads ahead 128 KiB and more.
# Syncs of less wait for a journal's answers: of a database's commits of 2 KiB, 0.2 s of bytes took 15 s alone.
SMALL_REQUEST = 64 << 10
# Bytes: no disk reads less at a time.
SECTOR = 512
# Measured on ext4 (kernel 6.18): 3 for a record and a sync, with that of the record.
REQUESTS_A_SYNC = 3
WAYS: tuple[Kind, ...] = ("read", "write")


@dataclass(frozen=True)
class Served:
    """The most that was served in one direction: requests a second, or bytes a second of a disk, with a journal's,
    which no call has. signal: which one of the digest's `node_slices` counts them.
    """

    most: float
    signal: str

    @property
    def is_bytes(self) -> bool:
        return self.signal in SIGNALS["disk"].values()


@dataclass(frozen=True)
class Asked:
    """What a job (digest) and its neighbours asked its storages for, by slices of grid_ns. everyone: rows of all of
    them, `with_nobody`. runs, alone_rows: those that count as alone, and what they did. limits: of the job's group.
    """

    where: Sequence[Storage]
    limits: Mapping[int, Limit]
    digest: Digest
    neighbours: Sequence[Digest]
    everyone: pl.DataFrame
    runs: Sequence[Digest]
    alone_rows: pl.DataFrame
    grid_ns: int

    def there(self, storage: Storage) -> list[Digest]:
        """The neighbours that used a storage."""
        jobs = set(self.everyone.filter(pl.col("storage") == storage.number)["job"])
        return [one for one in self.neighbours if one.job in jobs]


def limits_of_requests(asked: Asked) -> dict[int, dict[Kind, Served]]:
    """By storage, what was served at most where that held the job up, by direction: at the limit of its control group,
    or of the disk itself.
    """
    found: dict[int, dict[Kind, Served]] = {}
    for storage in asked.where:
        limit = asked.limits.get(storage.number)
        if limit is not None:
            alone = [of_group(storage, its, run) for run in asked.runs if (its := limit_of(storage, run)) is not None]
            most = requests_at_limit(of_group(storage, limit, asked.digest), alone)
            by_way = {kind: Served(rate, LIMIT_REQUESTS[kind]) for kind, rate in most.items()}
        else:
            by_way = _of_disk_itself(storage, asked)
        found |= {storage.number: by_way} if by_way else {}
    return found


def _of_disk_itself(storage: Storage, asked: Asked) -> dict[Kind, Served]:
    """By direction, what a disk served as much of in all slices in which somebody waited for it throughout: requests,
    however many bytes these were; or where somebody syncs few bytes at a time, bytes, since those of calls tell little.
    """
    found: dict[Kind, Served] = {}
    for kind in WAYS:
        own = _while_waiting(storage, asked.digest, asked.everyone, kind, asked.grid_ns)
        if own.is_empty():
            continue
        beside = asked.there(storage)
        others = [(one, asked.everyone) for one in beside] + [(one, asked.alone_rows) for one in asked.runs]
        rows = pl.concat([own, *(_while_waiting(storage, one, its, kind, asked.grid_ns) for one, its in others)])
        rows = rows.unique("slice", keep="first", maintain_order=True)  # several jobs waited in the same ones
        requests, moved = (rows[name].to_numpy() for name in ("requests", "bytes"))
        usual, usual_bytes = _as_many(requests), _as_many(moved)
        syncing = (one for one in (asked.digest, *beside) if kind == "write")
        if usual is not None and _differ(moved[usual]) > max(AS_MANY, FAR_MORE * _differ(requests[usual])):
            found[kind] = Served(float(np.median(requests[usual])) / (asked.grid_ns / 1e9), DISK_REQUESTS[kind])
        elif usual_bytes is not None and any(storage.number in small_syncs(one) for one in syncing):
            found[kind] = Served(float(np.median(moved[usual_bytes])) / (asked.grid_ns / 1e9), SIGNALS["disk"][kind])
    return found


def _differ(values: Floats) -> float:
    """The standard deviation, relative to the mean."""
    return float(values.std() / values.mean()) if values.any() else 0.0


def _while_waiting(storage: Storage, digest: Digest, rows: pl.DataFrame, kind: Kind, grid_ns: int) -> pl.DataFrame:
    """What a disk did in the slices that a job spent in calls of a direction: slice, requests, bytes."""
    job = digest.about
    inner = pl.col("slice").is_between(job["start_ns"] // grid_ns, job["end_ns"] // grid_ns, closed="none")
    at_it = pl.col(SECONDS[kind]) >= FILLED * grid_ns / 1e9
    own = rows.filter(pl.col("job") == digest.job, pl.col("storage") == storage.number, inner, at_it)
    its, signals = of_disk(storage, digest), (DISK_REQUESTS[kind], SIGNALS["disk"][kind])
    return (
        its.filter(pl.col("signal").is_in(signals))
        .group_by(slice=pl.col("slice") * digest.node_slice_ns // grid_ns)
        .agg(
            pl.col("amount").filter(pl.col("signal") == signal).sum().alias(name)
            for signal, name in zip(signals, ("requests", "bytes"), strict=True)
        )
        .join(own, on="slice", how="semi")
        .sort("slice")
    )


def _as_many(requests: Floats) -> Mask | None:
    """Which slices have about as many requests, or bytes, as most have; None: they differ."""
    usual = np.abs(requests - np.median(requests)) <= AS_MANY * np.median(requests)
    return usual if usual.sum() >= max(FEWEST_SLICES, NEARLY_ALL * len(requests)) and np.median(requests) > 0 else None


def time_of_requests(
    asked: Asked, of_requests: Mapping[int, Mapping[Kind, Served]], parts: pl.DataFrame
) -> pl.DataFrame:
    """How long what all asked for takes at a limit of requests: job, storage, slice, and read and write (s), one of
    them null where bytes held the job up.

    of_requests: of `limits_of_requests`. A group counts requests of all its members, a disk those of everybody. The
    job's own are as many for a byte as in runs alone, or else in its slices without company, or by what others asked
    for without it; those of others for a byte are fitted over slices. parts: of `disk_parts`.
    """
    found = [pl.DataFrame(schema={"job": pl.String, "storage": pl.UInt64, "slice": pl.Int64, "read": pl.Float64})]
    for storage in asked.where:
        for kind, served in of_requests.get(storage.number, {}).items():
            its, its_alone = (
                _asked_for(rows, storage.number, kind, parts) for rows in (asked.everyone, asked.alone_rows)
            )
            limit, signal, grid_ns = asked.limits.get(storage.number), served.signal, asked.grid_ns
            quiet = []
            for run in asked.runs:
                its_limit = None if limit is None else limit_of(storage, run)
                if limit is None or its_limit is not None:
                    count = _counted(storage, its_limit, run, signal, grid_ns)
                    own = its_alone.filter(pl.col("job") == run.job).join(count, on="slice", how="semi")
                    quiet += [(own, count)] if count["requests"].sum() else []  # nobody counts without a collector
            counted = _counted(storage, limit, asked.digest, signal, grid_ns)
            there = asked.there(storage)
            seen = [_counted(storage, None, one, signal, grid_ns) for one in there] if limit is None else []
            elsewhere = pl.concat([counted.clear(), *seen]).group_by("slice", maintain_order=True).max()
            elsewhere = elsewhere.join(counted, on="slice", how="anti")
            bounds = {one.job: _most_for_a_byte(one, storage, kind, served.is_bytes) for one in there}
            shared = _shared_out(its, counted, elsewhere, asked.digest.job, quiet, bounds, served.most)
            found.append(
                shared.select(
                    "job",
                    pl.lit(storage.number, pl.UInt64).alias("storage"),
                    "slice",
                    (pl.col("requests") / served.most).clip(0.0, grid_ns / 1e9).alias(kind),
                )
            )
    rows = pl.concat(found, how="diagonal")
    rows = rows.with_columns(
        pl.lit(None, pl.Float64).alias(kind) for kind in LIMIT_REQUESTS if kind not in rows.columns
    )
    return rows.group_by(WHO, maintain_order=True).agg(pl.col(*LIMIT_REQUESTS).max())


def in_requests(
    own: Mapping[int, SlicesOnStorage],
    known: Mapping[int, Capacities],
    of_requests: Mapping[int, Mapping[Kind, Served]],
    time: pl.DataFrame,
    job: str,
) -> dict[int, SlicesOnStorage | None]:
    """What the job and all together did on storages where requests held it up, in seconds of the storage's time; None
    where it is not known for nearly all of its time in calls how many requests it made. time: of `time_of_requests`.
    """
    found: dict[int, SlicesOnStorage | None] = {}
    for storage, limited in of_requests.items():
        if storage not in own:
            continue
        there, its = time.filter(pl.col("storage") == storage), own[storage]
        amounts, together = (_by_time(some, known.get(storage)) for some in (its.amounts, its.together))
        for kind in limited:
            for values, rows in ((amounts, there.filter(pl.col("job") == job)), (together, there)):
                by_slice = dict(rows.group_by("slice").agg(pl.col(kind).sum()).iter_rows())
                values[kind] = np.array([by_slice.get(int(at), 0.0) or 0.0 for at in its.slice])
        is_known = all(
            float(its.seconds[kind][amounts[kind] > 0].sum()) >= NEARLY_ALL * float(its.seconds[kind].sum()) > 0
            for kind in limited
        )
        found[storage] = replace(its, amounts=amounts, together=together) if is_known else None
    return found


def small_syncs(digest: Digest) -> frozenset[int]:
    """The storages where a job mostly waits for syncs that send so little that it is no bytes which take the time."""
    if "process_slices" in digest.not_kept:
        return frozenset()
    rows = digest.process_slices.group_by("storage").agg(
        synced=synced_ns().sum(),
        in_calls=pl.sum_horizontal(pl.col(*TIMES, *REQUEST_TIMES).sum()),
        a_sync=pl.col("write_bytes").sum() / pl.col("sync_ops").sum(),
    )
    is_small = (pl.col("synced") >= MAINLY * pl.col("in_calls")) & (pl.col("a_sync") < SMALL_REQUEST)
    return frozenset(rows.filter(is_small)["storage"].to_list())


def _by_time(amounts: Mapping[Kind, Floats], known: Capacities | None) -> dict[Kind, Floats]:
    most = known.most if known else {}
    return {kind: some / most[kind] if most.get(kind, 0) > 0 else 0 * some for kind, some in amounts.items()}


def _asked_for(rows: pl.DataFrame, storage: int, kind: Kind, parts: pl.DataFrame) -> pl.DataFrame:
    """job, slice, and asked: bytes in one direction, and a block that is read for each metadata operation; none where
    memory had what the job read. parts: of `disk_parts`.
    """
    there = rows.filter(pl.col("storage") == storage)
    if kind == "write":
        return there.select("job", "slice", asked=AMOUNTS[kind])
    is_read = (pl.col("read_bytes_part").fill_null(1.0) >= 1.0).cast(pl.Int64)
    there = there.join(parts, on=["job", "storage"], how="left", maintain_order="left")
    return there.select("job", "slice", asked=pl.col(AMOUNTS[kind]) + BLOCK_A_CALL * pl.col("meta_ops") * is_read)


def _counted(storage: Storage, limit: Limit | None, digest: Digest, signal: str, grid_ns: int) -> pl.DataFrame:
    """slice (of the grid), requests (or bytes), of all of a control group; without its limit, of the disk."""
    at = pl.col("slice") * digest.node_slice_ns // grid_ns
    counted = of_disk(storage, digest) if limit is None else of_group(storage, limit, digest)
    rows = counted.filter(pl.col("signal") == signal)
    return rows.group_by(slice=at).agg(requests=pl.col("amount").sum()).sort("slice")


def _shared_out(
    its: pl.DataFrame,
    counted: pl.DataFrame,
    elsewhere: pl.DataFrame,
    job: str,
    quiet: Sequence[tuple[pl.DataFrame, pl.DataFrame]],
    bounds: Mapping[str, float],
    most: float,
) -> pl.DataFrame:
    """Requests of each: job, slice, requests; no rows where nobody knows how many the job itself made. What is left
    where no profile shows anybody, or beyond what its calls can have asked for, is nobody's, if it is more than chance.

    its, counted: of `_asked_for` and `_counted`; elsewhere: counted, in slices without the job; quiet: of runs alone.
    bounds: of `_most_for_a_byte`, by job. most: a second, at the limit.
    """
    is_own = pl.col("job").eq_missing(job)
    mine, others = its.filter(is_own), its.remove(is_own).filter(pl.col("asked") > 0)
    by_slice = (
        counted.join(mine.select("slice", own="asked"), on="slice", how="left")
        .join(others.group_by("slice").agg(others=pl.col("asked").sum()), on="slice", how="left")
        .fill_null(0)
        .sort("slice")
    )
    by_itself = by_slice.filter(pl.col("own") > 0, pl.col("others") == 0)
    if quiet:
        asked = sum(float(one["asked"].sum()) for one, _ in quiet)
        made = sum(float(requests["requests"].sum()) for _, requests in quiet)
    elif len(by_itself) >= FEWEST_SLICES:
        asked, made = float(by_itself["own"].sum()), float(by_itself["requests"].sum())
    else:
        beside = by_slice.filter(pl.col("own") > 0)
        asked, made = float(beside["own"].sum()), float(beside["requests"].sum()) - _made(others, elsewhere, beside)
    a_byte = max(0.0, made) / asked if asked > 0 else 0.0
    if a_byte <= 0 and not quiet:
        return others.clear().select("job", "slice", requests=pl.lit(0.0))
    more = pl.col("requests") - a_byte * pl.col("own")
    strange = float(by_itself.select(more.sum()).item())
    is_beside_somebody = quiet and strange > max(most, LEAST_STRANGER * float(by_slice["requests"].sum()))
    nobody = pl.lit(None, pl.String).alias("job")
    strangers = by_itself.select(nobody, "slice", requests=more.clip(0.0)).filter(pl.col("requests") > 0)
    there = others.join(by_slice.select("slice", left=more.clip(0.0)), on="slice", how="inner").sort("slice", "job")
    its_own = by_slice.filter(pl.col("own") > 0).select(
        pl.lit(job).alias("job"), "slice", requests=pl.min_horizontal("requests", a_byte * pl.col("own"))
    )
    its_own = pl.concat([its_own, strangers if is_beside_somebody else strangers.clear()])
    if there.is_empty():
        return its_own
    weighed = there.join(_fitted(there, bounds), on="job", nulls_equal=True, maintain_order="left").select(
        "job", "slice", "left", weight=pl.col("asked") * pl.col("a_byte")
    )
    rest = weighed.group_by("slice", maintain_order=True).agg(
        pl.col("left").first(), weight=pl.col("left").first() - pl.col("weight").sum()
    )
    if quiet and float(rest["weight"].sum()) > max(most, LEAST_STRANGER * float(by_slice["requests"].sum())):
        nobodys = rest.filter(pl.col("weight") > 0).select(nobody, *weighed.columns[1:])
        weighed = pl.concat([weighed, nobodys])
    part = (pl.col("weight") / pl.col("weight").sum().over("slice")).fill_nan(0.0)
    shared = weighed.select("job", "slice", requests=pl.col("left") * part)
    return pl.concat([its_own, shared.group_by("job", "slice", maintain_order=True).sum()])


def _made(others: pl.DataFrame, elsewhere: pl.DataFrame, beside: pl.DataFrame) -> float:
    """How many requests others made beside the job, by what they did without it; as many as there were where some were
    not there without it. beside: slice, requests.
    """
    there = others.join(elsewhere.rename({"requests": "left"}), on="slice", how="inner").sort("slice", "job")
    together = others.join(beside.select("slice"), on="slice", how="semi")
    known = _fitted(there, {}) if there["slice"].n_unique() >= FEWEST_SLICES else None
    if known is None or not set(together["job"]) <= set(known["job"]):
        return float(beside["requests"].sum())
    each = together.join(known, on="job", nulls_equal=True).select(pl.col("asked") * pl.col("a_byte"))
    return float(each.to_series().sum())


def _most_for_a_byte(digest: Digest, storage: Storage, kind: Kind, in_bytes: bool) -> float:
    """How many requests a job's calls can have made for a byte at most: one each, and more for large ones; a journal's
    for each sync; of reads no more than blocks that the kernel fetched for it. inf: it is not its calls that asked.
    in_bytes: how many bytes on the disk.
    """
    rows = digest.process_slices.filter(pl.col("storage") == storage.number)
    sums = rows.select(pl.col(CALLS[kind], AMOUNTS[kind], "sync_ops", "meta_ops").sum())
    calls, moved, syncs, on_metadata = map(int, sums.row(0))
    syncs += synced_writes(digest, storage.number)
    if not calls:
        return math.inf
    if in_bytes:
        return 1 + (BLOCK_A_CALL * (calls + on_metadata) + 2 * JOURNAL_A_SYNC * syncs) / max(1, moved)
    made = calls + on_metadata + (REQUESTS_A_SYNC * syncs if kind == "write" else 0)
    asked = moved + (BLOCK_A_CALL * on_metadata if kind == "read" else 0)  # as `_asked_for` counts
    of_large = moved / SMALL_REQUEST
    fetched = bytes_fetched(digest) if kind == "read" and storage.host else None
    block = min(BLOCK_A_CALL, max(SECTOR, moved // calls))  # a direct read may ask for less than a page
    most = made + of_large if fetched is None else min(made + of_large, fetched / block)
    return most / max(1, asked)


def _fitted(there: pl.DataFrame, bounds: Mapping[str, float]) -> pl.DataFrame:
    """Requests for a byte of each job: job, a_byte. there: job, slice, asked, left (requests of all of them there).
    bounds: of `_most_for_a_byte`, by job.
    """
    who = (there["job"].fill_null("").rank("dense") - 1).to_numpy()
    at = (there["slice"].rank("dense") - 1).to_numpy()
    each = np.zeros((at.max() + 1, who.max() + 1))
    each[at, who] = there["asked"].to_numpy()
    most = pl.col("job").replace_strict(bounds, default=math.inf, return_dtype=pl.Float64)
    by_job = there.with_columns(most=most, who=pl.Series(who)).unique("who").sort("who")["most"].to_numpy()
    fitted = _for_a_byte(each, there.unique("slice", maintain_order=True)["left"].to_numpy(), by_job)
    return there.select("job", a_byte=pl.Series(fitted[who])).unique(maintain_order=True)


def _for_a_byte(asked: Floats, requests: Floats, most: Floats) -> Floats:
    """Requests for a byte of each of some jobs, none above its `most`, from bytes (slices x jobs) and all requests by
    slice: by least squares, which ALIKE keeps apart from chance.
    """

    mean = requests.sum() / asked.sum()
    sizes = ALIKE * np.sqrt((asked**2).sum(0))
    rows = np.vstack([asked, np.diag(sizes)])
    made, found = np.concatenate([requests, sizes * mean]), np.zeros(len(most))
    free = np.ones(len(most), bool)
    while free.any():
        found[free], *_ = np.linalg.lstsq(rows[:, free], made - rows[:, ~free] @ found[~free], rcond=None)
        above = free & (found > most)
        if not above.any():
            break
        found[above] = most[above]  # and the others are fitted to the rest
        free &= ~above
    return np.asarray(found.clip(0.0))
