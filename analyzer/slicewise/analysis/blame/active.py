"""Who was active on a job's storages meanwhile, and how much of the storages' time each of them took.

Frames in, frames out.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from slicewise.analysis.blame.on_storage import Floats
from slicewise.analysis.calls import AMOUNTS, SECONDS, Kind
from slicewise.analysis.capacity.by_kind import Capacities, in_calls, storage_seconds, took_time
from slicewise.analysis.runs.limits import Limit, limit_of, of_group, requests_at_limit
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import BLOCK_A_CALL, FEWEST_SLICES, LEAST_STRANGER
from slicewise.digest.digest import Digest
from slicewise.digest.storages import LIMIT_REQUESTS

# How much the requests for a byte of each neighbour are taken to be the same, where slices do not tell them apart.
ALIKE = 0.1
# What joins rows of those who were there.
WHO = ("job", "storage", "slice")


def with_nobody(rows: pl.DataFrame, rest: pl.DataFrame, grid_ns: int) -> pl.DataFrame:
    """Rows of jobs, and traffic without a profile as those of a job without a name: nobody counted its metadata
    operations and its time.
    """
    nobody = rest.with_columns(
        pl.lit(0, pl.Int64).alias("meta_ops"),
        pl.lit(None, pl.String).alias("job"),
        *(pl.lit(grid_ns / 1e9).alias(name) for name in SECONDS.values()),
    )
    return pl.concat([rows, nobody.select(rows.columns)])


def active_on(
    rows: pl.DataFrame,
    known: Mapping[int, Capacities],
    by_requests: pl.DataFrame,
    parts: pl.DataFrame,
    grid_ns: int,
) -> pl.DataFrame:
    """Who was active on storages, or waited in calls there: neighbour (null: no profile), storage, slice, AMOUNTS and
    {kind}_taken.

    rows: of others, with `with_nobody`. by_requests: of `time_of_requests`, which counts where it is known.
    parts: of `disk_parts`, by which rows have their bytes.
    """
    fetched = parts.select("job", "storage", is_of_disk=pl.col("read_bytes_part").is_not_null())
    taken = storage_seconds(
        rows.join(fetched, on=["job", "storage"], how="left", maintain_order="left"), known, grid_ns
    )
    if not by_requests.is_empty():
        taken = _with_those_of_requests(taken, by_requests)
        there = by_requests.rename({kind: f"{kind}_requests" for kind in LIMIT_REQUESTS})
        taken = taken.join(there, on=WHO, how="left", nulls_equal=True, maintain_order="left").with_columns(
            pl.coalesce(f"{kind}_requests", f"{kind}_taken").alias(f"{kind}_taken") for kind in LIMIT_REQUESTS
        )
    return (
        taken.filter(took_time() | (in_calls(grid_ns) & pl.col("job").is_not_null()))
        .select(pl.col("job").alias("neighbour"), "storage", "slice", *AMOUNTS.values(), "^.*_taken$")
        .sort("storage", "slice", "neighbour")
    )


def _with_those_of_requests(taken: pl.DataFrame, by_requests: pl.DataFrame) -> pl.DataFrame:
    more = by_requests.join(taken, on=WHO, how="anti", nulls_equal=True).select(WHO)
    return pl.concat([taken, more], how="diagonal").with_columns(pl.exclude(WHO).fill_null(0))


def limits_of_requests(
    where: Sequence[Storage], limits: Mapping[int, Limit], digest: Digest, runs: Sequence[Digest]
) -> dict[int, dict[Kind, float]]:
    """By storage, the limits of requests that held the job's control group up: by direction, a second. runs: alone."""
    found: dict[int, dict[Kind, float]] = {}
    for storage in where:
        limit = limits.get(storage.number)
        if limit is None:
            continue
        alone = [of_group(storage, its, run) for run in runs if (its := limit_of(storage, run)) is not None]
        by_way = requests_at_limit(of_group(storage, limit, digest), alone)
        found |= {storage.number: by_way} if by_way else {}
    return found


def time_of_requests(
    where: Sequence[Storage],
    limits: Mapping[int, Limit],
    of_requests: Mapping[int, Mapping[Kind, float]],
    digest: Digest,
    everyone: pl.DataFrame,
    runs: Sequence[Digest],
    alone_rows: pl.DataFrame,
    parts: pl.DataFrame,
    grid_ns: int,
) -> pl.DataFrame:
    """How long what others asked for takes at a limit of requests, of a control group: job, storage, slice, and read
    and write (s), one of them null where bytes held the group up.

    of_requests: of `limits_of_requests`. everyone: `with_nobody`; runs, alone_rows: those that count as alone, and what
    they did. A group counts requests of all its members. The job's own are as many for a byte as in runs alone, or else
    in its slices without company; those of others for a byte are fitted over slices. parts: of `disk_parts`.
    """
    found = [pl.DataFrame(schema={"job": pl.String, "storage": pl.UInt64, "slice": pl.Int64, "read": pl.Float64})]
    for storage in where:
        for kind, most in of_requests.get(storage.number, {}).items():
            asked, asked_alone = (_asked_for(rows, storage.number, kind, parts) for rows in (everyone, alone_rows))
            quiet = [
                (
                    asked_alone.filter(pl.col("job") == run.job),
                    _requests(of_group(storage, its, run), run, kind, grid_ns),
                )
                for run in runs
                if (its := limit_of(storage, run)) is not None
            ]
            counted = _requests(of_group(storage, limits[storage.number], digest), digest, kind, grid_ns)
            shared = _of_others(asked, counted, digest.job, quiet, most)
            found.append(
                shared.select(
                    "job",
                    pl.lit(storage.number, pl.UInt64).alias("storage"),
                    "slice",
                    (pl.col("requests") / most).clip(0.0, grid_ns / 1e9).alias(kind),
                )
            )
    rows = pl.concat(found, how="diagonal")
    rows = rows.with_columns(
        pl.lit(None, pl.Float64).alias(kind) for kind in LIMIT_REQUESTS if kind not in rows.columns
    )
    return rows.group_by(WHO, maintain_order=True).agg(pl.col(*LIMIT_REQUESTS).max())


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


def _requests(counted: pl.DataFrame, digest: Digest, kind: Kind, grid_ns: int) -> pl.DataFrame:
    """slice (of the grid), requests, of all of a control group. counted: of `of_group`."""
    at = pl.col("slice") * digest.node_slice_ns // grid_ns
    rows = counted.filter(pl.col("signal") == LIMIT_REQUESTS[kind])
    return rows.group_by(slice=at).agg(requests=pl.col("amount").sum()).sort("slice")


def _of_others(
    its: pl.DataFrame, counted: pl.DataFrame, job: str, quiet: Sequence[tuple[pl.DataFrame, pl.DataFrame]], most: float
) -> pl.DataFrame:
    """Requests of others: job, slice, requests; no rows where nobody knows how many the job itself made. What is left
    where no profile shows anybody is nobody's, if it is more than chance.

    its, counted: of `_asked_for` and `_requests`; quiet: the same of runs alone. most: a second, at the limit.
    """
    is_own = pl.col("job").eq_missing(job)
    others = its.remove(is_own).filter(pl.col("asked") > 0)
    by_slice = (
        counted.join(its.filter(is_own).select("slice", own="asked"), on="slice", how="left")
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
        return others.clear().select("job", "slice", requests=pl.lit(0.0))
    a_byte = made / asked if asked > 0 else 0.0
    more = pl.col("requests") - a_byte * pl.col("own")
    strange = float(by_itself.select(more.sum()).item())
    if quiet and strange > max(most, LEAST_STRANGER * float(by_slice["requests"].sum())):
        nobodys = by_itself.select(
            pl.lit(None, pl.String).alias("job"), "slice", asked=more.clip(0.0).round().cast(pl.Int64)
        )
        others = pl.concat([others, nobodys.filter(pl.col("asked") > 0)])
    there = others.join(by_slice.select("slice", left=more.clip(0.0)), on="slice", how="inner").sort("slice", "job")
    if there.is_empty():
        return there.select("job", "slice", requests=pl.lit(0.0))
    who = (there["job"].fill_null("").rank("dense") - 1).to_numpy()
    at = (there["slice"].rank("dense") - 1).to_numpy()
    each = np.zeros((at.max() + 1, who.max() + 1))
    each[at, who] = there["asked"].to_numpy()
    fitted = _for_a_byte(each, there.unique("slice", maintain_order=True)["left"].to_numpy())
    part = pl.col("weight") / pl.col("weight").sum().over("slice")
    return there.with_columns(weight=pl.col("asked") * pl.Series(fitted[who])).select(
        "job", "slice", requests=pl.col("left") * part.fill_nan(0.0)
    )


def _for_a_byte(asked: Floats, requests: Floats) -> Floats:
    """Requests for a byte of each of some jobs, from bytes (slices x jobs) and all requests by slice: by least squares,
    which ALIKE keeps apart from chance.
    """
    mean = requests.sum() / asked.sum()
    sizes = ALIKE * np.sqrt((asked**2).sum(0))
    rows = np.vstack([asked, np.diag(sizes)])
    found, *_ = np.linalg.lstsq(rows, np.concatenate([requests, sizes * mean]), rcond=None)
    return np.asarray(found.clip(0.0))
