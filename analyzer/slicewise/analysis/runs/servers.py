"""A storage of several servers as so many storages: what each job did on each of them, by where its files lie.

A file lies on one server whole, as on GlusterFS without stripes, or on Lustre with one stripe. Profiles do not say on
which: the placement comes from whoever knows it (`getfattr -n trusted.glusterfs.pathinfo`, `lfs getstripe`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from slicewise.analysis.job.io_span import io_span
from slicewise.analysis.runs.campaign import Campaign, campaign_of
from slicewise.analysis.runs.matching import run_of
from slicewise.analysis.runs.on_storage import RunOnStorage, on_storage
from slicewise.digest.activity import Direction
from slicewise.errors import UserError
from slicewise.text import words

# By a file's path: the name of the server that it lies on.
Placement = Mapping[str, str]
# Between a job's name and that of a server: in no name of a job.
AT = "\x1f"
COUNTED = ("bytes", "ops", "ns", "io_ns")


@dataclass(frozen=True)
class Parts:
    """jobs, slices, progress: those of `Campaign`, of parts: what a job did on one server. The parts that met at a
    server are a run. of: part, job, delay (of the part, s after the job's beginning), the job's run, pair and seconds.
    """

    jobs: pl.DataFrame
    slices: pl.DataFrame
    progress: pl.DataFrame
    of: pl.DataFrame


def by_server(data: Campaign, placement: Placement) -> Parts:
    """The parts of a campaign's jobs. Raises UserError for a process of which the placement knows no file."""
    key, grid_ns = data.storage.number, round(data.slice_seconds * 1e9)
    runs = [on_storage(run_of(digest), key, data.direction) for digest in data.digests]
    shares = {run.name: _shares(run, data.direction, placement) for run in runs}
    found, delays = [], list[tuple[str, str, float]]()
    for server in sorted({name for own in shares.values() for name in own["server"]}):
        parts = [(run, part) for run in runs if (part := _part(run, shares[run.name], server)) is not None]
        found.append((server, campaign_of([part for _, part in parts], key, data.direction, grid_ns, "by time")))
        delays += [(f"{run.name}{AT}{server}", run.name, _delay(run, part)) for run, part in parts]
    of = pl.DataFrame(delays, schema={"part": pl.String, "job": pl.String, "delay": pl.Float64}, orient="row")
    return Parts(
        pl.concat([_at(one.jobs, server) for server, one in found]),
        pl.concat([_at(one.slices, server) for server, one in found]),
        pl.concat([_at(one.progress, server) for server, one in found]),
        of.join(data.jobs.select("job", "run", "pair", "seconds"), on="job", maintain_order="left"),
    )


def _delay(run: RunOnStorage, part: RunOnStorage) -> float:
    assert run.span is not None
    assert part.span is not None
    return (part.span.start_ns - run.span.start_ns) / 1e9


def _shares(run: RunOnStorage, direction: Direction, placement: Placement) -> pl.DataFrame:
    """process, server, share: the part of each process's bytes of files that the placement knows."""
    count = pl.col(f"{direction}_bytes")
    moved = pl.col("moved")
    files = run.run.digest.files.filter(count > 0).select("process", "path", moved=count)
    servers = pl.Series([placement.get(path) for path in files["path"]], dtype=pl.String)
    known = files.with_columns(server=servers).drop_nulls("server").group_by("process", "server")
    shares = known.agg(moved.sum()).with_columns(share=moved / moved.sum().over("process"))
    unknown = run.processes.join(shares, on="process", how="anti")
    if len(unknown):
        raise UserError(
            f"{run.run.digest.path}: the placement names no file of {words.count(len(unknown), 'process')} that moved "
            "bytes; give the server of each file"
        )
    return shares


def _part(run: RunOnStorage, shares: pl.DataFrame, server: str) -> RunOnStorage | None:
    """What a run did on a server; None where it was not there."""
    own = shares.filter(pl.col("server") == server).select("process", "share")
    rows = run.activity.join(own, on="process", how="inner", maintain_order="left")
    if rows.is_empty():
        return None
    moved = rows.with_columns((pl.col(COUNTED) * pl.col("share")).round().cast(pl.Int64)).drop("share")
    processes = run.processes.join(own, on="process", how="semi")
    return replace(run, processes=processes, activity=moved, span=io_span(moved, processes, run.run.digest.slice_ns))


def _at(frame: pl.DataFrame, server: str) -> pl.DataFrame:
    """A frame of a server's parts, with jobs and runs named after it."""
    return frame.with_columns(pl.col("job", "run") + f"{AT}{server}")
