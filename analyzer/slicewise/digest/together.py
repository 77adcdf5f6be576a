"""The digests of many jobs at once, for whoever keeps them: each frame has the rows of all jobs.

To make one job's frames takes 20 ms however small the job is, and nearly all of that is the asking. Here a thousand
jobs are asked for together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from slicewise.digest import slices
from slicewise.digest.digest import Digest, text_of_path
from slicewise.digest.processes import usage_in_sum
from slicewise.digest.schema import FRAMES
from slicewise.digest.shared import NUMBER, Jobs
from slicewise.profile import plan
from slicewise.profile.many import rows_of_jobs
from slicewise.profile.plausible import require_axes
from slicewise.profile.reader import Profile, profile_of, wants_of
from slicewise.profile.reading import Reading, read_jobs
from slicewise.profile.source import Source

# Frames of a job that need its own tables alone.
OF_NODES = ("node_samples", "node_slices", "sampled_processes", "sampled_slices", "others")
NEEDED_BY_NODES = ("nodes", "node_devices", "processes", "mounts", "sums", "unprofiled", "launches")


@dataclass(frozen=True)
class Together:
    """Jobs that were read together. frames: by name, the digest's frames with the column NUMBER in front, a place in
    `sources`. A frame without rows may be missing. node_slice_ns: by number, where nodes were sampled.
    """

    sources: Sequence[Source]
    frames: dict[str, pl.DataFrame]
    node_slice_ns: dict[int, int]


class _JobsTogether(Jobs):
    """A digest of several jobs, with the frames that are the whole job's, too."""

    @cached_property
    def jobs(self) -> pl.DataFrame:
        return self._job_rows.with_columns(pl.col("job").cast(pl.UInt32).alias(NUMBER)).drop("job")

    @cached_property
    def launches(self) -> pl.DataFrame:
        return self._numbered("launches", self._profile.launches.rename({"host": "node"}, strict=False))

    @cached_property
    def events(self) -> pl.DataFrame:
        named = self._profile.events.rename({"event": "place", "name": "event"}, strict=False)
        return self._numbered("events", named).unique([NUMBER, "event"], maintain_order=True)

    def _numbered(self, name: str, table: pl.DataFrame) -> pl.DataFrame:
        """A frame of a table whose rows are of a job and of no process."""
        columns = {NUMBER: pl.UInt32(), **FRAMES[name].polars_schema}
        if table.is_empty():
            return pl.DataFrame(schema=columns)
        named = table.rename({plan.SOURCE: NUMBER})
        return named.select(pl.col(column).cast(dtype) for column, dtype in columns.items())


BY_PROCESS = (
    "processes", "process_slices", "mounts", "files", "coverage", "calls", "mishaps", "unprofiled", "hardware",
    "waits", "sites", "site_frames", "usage",
)  # fmt: skip


def read_together(places: Sequence[Path]) -> list[Together]:
    """The digests of jobs' directories or files; usually one `Together`, more where versions or processes differ.

    Raises UserError where any of them cannot be read.
    """
    return [_frames(sources, reading) for sources, reading in _alike(places)]


def _alike(places: Sequence[Path]) -> list[tuple[Sequence[Source], Reading]]:
    """Jobs by what can be asked together: of one schema, and no process in two of them."""
    wants = wants_of(slices.WANTED, slices.OTHERS, False)
    reading = read_jobs(places, wants)
    if len(places) > 1:
        kinds: dict[object, list[Path]] = {}
        clashes = _clashing(reading)
        for source, place in zip(reading.sources, places, strict=True):
            is_apart = source.schemas != 1 or source.number in clashes
            kinds.setdefault((source.schema, source.number if is_apart else None), []).append(place)
        if len(kinds) > 1:
            return [one for alike in kinds.values() for one in _alike(alike)]
    require_axes(reading.sources, reading.tables)
    return [(reading.sources, reading)]


def _clashing(reading: Reading) -> set[int]:
    """The numbers of jobs that have a process which an earlier one has, too: the same job twice."""
    rows = reading.tables["processes"].select(plan.SOURCE, "process")
    again = rows.filter(pl.col(plan.SOURCE) != pl.col(plan.SOURCE).min().over("process"))
    return set(again[plan.SOURCE].unique().to_list())


def _frames(sources: Sequence[Source], reading: Reading) -> Together:
    tables: Mapping[str, pl.DataFrame] = reading.tables
    profile = Profile(Path(), "", sources[0].slice_ns, sources[0].schema, [], tables)
    digest = _JobsTogether(profile)
    of_process = digest.number_of_process
    frames = {"jobs": _jobs(digest, sources)}
    for name in BY_PROCESS:
        frame: pl.DataFrame = usage_in_sum(digest.usage) if name == "usage" else getattr(digest, name)
        if frame.height and len(sources) > 1:
            numbered = frame.join(of_process, on="process", maintain_order="left")
            frames[name] = numbered.select(NUMBER, *frame.columns)
        elif frame.height:  # a large job is read alone: a join costs a tenth of all
            frames[name] = frame.select(pl.lit(sources[0].number, pl.UInt32).alias(NUMBER), pl.all())
    names = frames["processes"].select(NUMBER).join(frames["jobs"], on=NUMBER, maintain_order="left")["job"]
    frames["processes"] = frames["processes"].with_columns(names)
    frames |= {"storages": _storages(digest), "launches": digest.launches, "events": digest.events}
    node_slice_ns = {}
    for number, one in _with_nodes(sources, tables):
        node_slice_ns[number] = one.node_slice_ns
        for name in OF_NODES:
            more = getattr(one, name).select(pl.lit(number, pl.UInt32).alias(NUMBER), pl.all())
            frames[name] = pl.concat([frames[name], more]) if name in frames else more
    return Together(sources, frames, node_slice_ns)


def _jobs(digest: _JobsTogether, sources: Sequence[Source]) -> pl.DataFrame:
    about = pl.DataFrame(
        {
            NUMBER: pl.Series([source.number for source in sources], dtype=pl.UInt32),
            "job": [source.job for source in sources],
            "path": [text_of_path(source.path) for source in sources],
            "slice_ns": pl.Series([source.slice_ns for source in sources], dtype=pl.Int64),
        }
    )
    found = about.join(digest.jobs, on=NUMBER, maintain_order="left")
    return found.select(NUMBER, *(pl.col(name).cast(column.dtype) for name, column in FRAMES["jobs"].columns.items()))


def _storages(digest: _JobsTogether) -> pl.DataFrame:
    """The file systems of each job: as the digest's frame, by job, and what was read and written there."""
    what = digest.storages.drop("point")
    through = digest.mounts.join(digest.number_of_process, on="process")
    points = through.group_by(NUMBER, "storage", "point").agg(pl.col(slices.BYTES).sum())
    busiest = points.sort(
        NUMBER, "storage", pl.sum_horizontal(slices.BYTES), "point", descending=[False, False, True, False]
    ).with_columns(pl.col(slices.BYTES).sum().over(NUMBER, "storage"))
    first = busiest.unique([NUMBER, "storage"], keep="first", maintain_order=True)
    columns = [NUMBER, *FRAMES["storages"].columns, *slices.BYTES]
    return first.join(what, on="storage", maintain_order="left").select(columns)


def _with_nodes(sources: Sequence[Source], tables: Mapping[str, pl.DataFrame]) -> list[tuple[int, Digest]]:
    """The jobs whose nodes were sampled, as digests that have what these frames are made of."""
    if tables["node_slices"].is_empty() or tables["nodes"].is_empty():
        return []
    needed = (*NEEDED_BY_NODES, *(name for name in tables if name.startswith("node_")))
    rows = {name: rows_of_jobs(tables[name]) for name in dict.fromkeys(needed)}
    found = []
    for source in sources:
        if source.number in rows["node_slices"]:
            own = {
                name: table.slice(*rows[name].get(source.number, (0, 0))) if name in rows else table.clear()
                for name, table in tables.items()
            }
            found.append((source.number, Digest(profile_of(source, own, needs_axis=False))))
    return found
