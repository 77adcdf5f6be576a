"""Synthetic days of a site, written straight into a catalog: what questions about all its jobs are measured on.

Jobs arrive as a Poisson process, last a lognormal time with a median of 5 min, have 1 to 4,096 processes, and use one
of four file systems (a tenth of them two). They do I/O in a fifth of their slices, as checkpoints: some slices on end,
and none for a while. 100,000 jobs make 3.5 million rows of job_slices.

Frames kept: jobs, storages, job_slices. Those of processes are what profiles are read for; `with_processes` adds those
that blame needs, of a few processes a job.
"""

from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
from slicewise.catalog.schema import FRAMES
from slicewise.catalog.store import Catalog, day_of
from slicewise.digest.slices import FETCHED

SLICE_NS = 4_000_000_000
NS_A_DAY = 86_400_000_000_000
MEDIAN_SECONDS, SPREAD = 300.0, 1.3
SHARE_ACTIVE, SLICES_ON_END = 0.2, 5
POINTS = ("/scratch", "/work", "/home", "/archive")
PROGRAMS = 200
FIRST_DAY = date(2026, 1, 1)


def day_frames(day: int, jobs: int, seed: int = 1) -> dict[str, pl.DataFrame]:
    """The catalog's frames of the jobs that begin on a day, counted from FIRST_DAY."""
    random = np.random.default_rng((seed, day))
    count = random.poisson(jobs)
    start_of_day = (FIRST_DAY.toordinal() - date(1970, 1, 1).toordinal() + day) * NS_A_DAY
    start = np.sort(start_of_day + random.integers(0, NS_A_DAY, count))
    slices = np.maximum(1, random.lognormal(np.log(MEDIAN_SECONDS * 1e9 / SLICE_NS), SPREAD, count).astype(np.int64))
    slices = np.minimum(slices, 21_600)
    processes = (2.0 ** random.uniform(0, 12, count)).astype(np.int64)
    storage = random.integers(0, len(POINTS), count)
    rows = _slices(random, start // SLICE_NS, slices)
    second = (storage + random.integers(1, len(POINTS), count)) % len(POINTS)
    is_second = random.random(count) < 0.1
    on_second = is_second[rows["place"]] & (random.random(len(rows["place"])) < 0.3)
    where = np.where(on_second, second[rows["place"]], storage[rows["place"]])
    moved = (random.lognormal(np.log(64 << 20), 1.0, len(where)) * processes[rows["place"]] ** 0.5).astype(np.int64)
    is_read = random.random(len(where)) < 0.3
    number = day * 10_000_000 + np.arange(count)
    keys = number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    job_slices = _filled(
        "job_slices", key=keys[rows["place"]], storage=where.astype(np.uint64) + np.uint64(1), slice=rows["slice"],
        begin_ns=rows["slice"] * SLICE_NS, end_ns=(rows["slice"] + 1) * SLICE_NS,
        read_bytes=np.where(is_read, moved, 0), write_bytes=np.where(is_read, 0, moved),
        read_ops=np.where(is_read, moved >> 20, 0), write_ops=np.where(is_read, 0, moved >> 20),
        meta_ops=random.integers(0, 50, len(where)), read_ns=np.where(is_read, SLICE_NS // 2, 0),
        write_ns=np.where(is_read, 0, SLICE_NS // 2), at_work=processes[rows["place"]],
    )  # fmt: skip
    totals = job_slices.group_by("key").agg(pl.col("read_bytes", "write_bytes", "meta_ops").sum(), records=pl.len())
    told = pl.DataFrame({"key": keys}).join(totals, on="key", how="left", maintain_order="left").fill_null(0)
    frame = _filled(
        "jobs",
        key=keys,
        job=[f"{one:09}" for one in number],
        source=["profile"] * count,
        program=[f"program-{one}" for one in random.zipf(1.5, count) % PROGRAMS],
        is_mpi=processes > 1,
        processes=processes,
        nodes=-(-processes // 64),
        user=1000 + random.zipf(1.4, count) % 500,
        slice_ns=np.full(count, SLICE_NS),
        start_ns=start,
        end_ns=start + slices * SLICE_NS,
        is_running=np.zeros(count, bool),
        **{name: told[name].to_numpy() for name in ("read_bytes", "write_bytes", "meta_ops", "records")},
    )
    used = job_slices.group_by("key", "storage").agg(pl.col("read_bytes", "write_bytes").sum())
    points = pl.DataFrame({"storage": np.arange(1, len(POINTS) + 1, dtype=np.uint64), "point": POINTS})
    storages = used.join(points, on="storage").with_columns(
        type=pl.lit("lustre"), source=pl.format("mds:{}", "point"), node=pl.lit("")
    )
    return {"jobs": frame, "storages": storages, "job_slices": job_slices}


def with_processes(frames: dict[str, pl.DataFrame], most: int) -> dict[str, pl.DataFrame]:
    """A day's frames with those of processes: of each job as many as it has, and `most` at most, which share what it
    did. Calls take half of a slice where nobody else uses the storage, and all of it where it moves what it can.
    """
    few = pl.col("processes").clip(1, most)
    busy = pl.col("moved").sum().over("storage", "slice") / pl.col("moved").sum().over("storage", "slice").quantile(
        0.95
    ).over("storage")
    share = (0.5 * (1 + busy)).clip(0, 1)
    rows = (
        frames["job_slices"]
        .with_columns(moved=pl.col("read_bytes") + pl.col("write_bytes"))
        .with_columns(
            ((pl.col(name) > 0) * share * SLICE_NS).cast(pl.Int64).alias(name) for name in ("read_ns", "write_ns")
        )
        .drop("moved")
    )
    each = frames["jobs"].select("key", number=pl.int_ranges(0, few)).explode("number")
    own = each.select("key", "number", process=pl.col("key") + pl.col("number").cast(pl.UInt64))
    count = pl.len().over("key", "storage", "slice")
    records = rows.join(own, on="key").with_columns(
        pl.col(name) // count for name in ("read_bytes", "write_bytes", "read_ops", "write_ops", "meta_ops")
    )
    totals = records.group_by("key", "process").agg(
        pl.col("read_bytes", "write_bytes", "read_ops", "write_ops", "meta_ops", "read_ns", "write_ns").sum()
    )
    about = frames["jobs"].select("key", "job", "program", "start_ns", "end_ns", "is_mpi")
    processes = (
        own.join(about, on="key")
        .join(totals, on=["key", "process"], how="left")
        .with_columns(rank=pl.when("is_mpi").then("number").otherwise(-1), node=pl.format("node{}", "number"))
        .with_columns(ranks=pl.when("is_mpi").then(pl.len().over("key")).otherwise(0), is_of_job=True, matters=True)
        .fill_null(0)
    )
    used = records.group_by("key", "process", "storage").agg(pl.col("read_bytes", "write_bytes").sum())
    mounts = used.join(frames["storages"].select("storage", "point").unique(), on="storage")
    jobs = frames["jobs"].with_columns(processes=few, nodes=few)
    return frames | {
        "jobs": jobs,
        "job_slices": rows,
        **{
            name: _filled(name, **{column: frame[column] for column in frame.columns if column in FRAMES[name].columns})
            for name, frame in (("processes", processes), ("process_slices", records), ("mounts", mounts))
        },
    }


def write_days(path: Path, days: int, jobs: int, first: int = 0, processes: int = 0) -> Catalog:
    """A catalog of so many days, with about so many jobs a day. processes: so many of each have frames at most."""
    catalog = Catalog.make(path)
    with catalog.locked() as writing:
        for day in range(first, first + days):
            frames = day_frames(day, jobs)
            frames = with_processes(frames, processes) if processes else frames
            writing.put({day_of(int(frames["jobs"]["start_ns"][0])): frames})
    return catalog


def _slices(random: np.random.Generator, first: np.ndarray, lengths: np.ndarray) -> dict[str, np.ndarray]:
    """The active slices of jobs: place (of the job), slice. Each job has its first one."""
    groups = -(-lengths // SLICES_ON_END)
    place = np.repeat(np.arange(len(lengths)), groups)
    within = np.arange(len(place)) - np.repeat(np.cumsum(groups) - groups, groups)
    is_active = (random.random(len(place)) < SHARE_ACTIVE) | (within == 0)
    place, within = place[is_active], within[is_active]
    places = np.repeat(place, SLICES_ON_END)
    offsets = np.repeat(within * SLICES_ON_END, SLICES_ON_END) + np.tile(np.arange(SLICES_ON_END), len(place))
    is_there = offsets < lengths[places]
    return {"place": places[is_there], "slice": first[places[is_there]] + offsets[is_there]}


def _filled(name: str, **columns: object) -> pl.DataFrame:
    """A frame of the catalog from some of its columns; the others are 0 or empty, or not known."""
    given = pl.DataFrame(columns)
    empty = {pl.String: "", pl.Boolean: False}
    return given.select(
        (
            pl.col(column)
            if column in columns
            else pl.lit(None if column == FETCHED else empty.get(type(about.dtype), 0))
        )
        .cast(about.dtype)
        .alias(column)
        for column, about in FRAMES[name].columns.items()
    )
