"""The digests of several jobs that are looked at together: what most analyses ask of every job is asked once for all of
them, and each digest takes its own rows, the same as it would make by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.digest import slices
from slicewise.digest.company import later_copies
from slicewise.digest.digest import Digest, text_of_path
from slicewise.digest.schema import FRAMES, conform
from slicewise.equal_rows import rows_of
from slicewise.profile.many import batches, profile_bytes
from slicewise.profile.plan import SOURCE, Source
from slicewise.profile.plausible import require_axes
from slicewise.profile.reader import TABLES, Profile, profile_of, read_profile, wants_of
from slicewise.profile.reading import read_jobs

# What most analyses ask of every job.
ASKED_TOGETHER = (
    "_mounts", "_active", "processes", "process_slices", "mounts", "storages", "jobs", "coverage", "calls", "mishaps",
)  # fmt: skip
# Frames that are made for each job by itself.
SAMPLED = ("node_samples", "node_slices")
OF_NODES = (*SAMPLED, "sampled_processes", "sampled_storages", "sampled_slices", "others", "fetched")
NOTHING = {name: pl.DataFrame(schema=frame.polars_schema) for name, frame in FRAMES.items()}
PLACE = pl.lit(0, pl.UInt32).alias("place")


class Jobs(Digest):
    """The digest of several jobs that were read together. SOURCE: a job's number, its place in `sources`."""

    def __init__(self, sources: Sequence[Source], tables: Mapping[str, pl.DataFrame]) -> None:
        super().__init__(Profile(Path(), "", sources[0].slice_ns, sources[0].schema, [], tables))
        self.sources = sources
        self._of = (SOURCE,) if len(sources) > 1 else ()  # a large job is read alone: a join costs a tenth of all
        self._frames: dict[str, pl.DataFrame] = {}
        self._parts: dict[str, dict[int, tuple[int, int]]] = {}

    @property
    def _job_of_rows(self) -> pl.Expr:
        return pl.col(SOURCE).cast(pl.String)

    def _numbered(self, frame: pl.DataFrame) -> pl.DataFrame:
        if SOURCE in frame.columns:
            return frame
        if not self._of or frame.is_empty():
            return frame.with_columns(pl.lit(0, pl.UInt32).alias(SOURCE))
        of_process = self._profile.processes.select("process", SOURCE)
        return frame.join(of_process, on="process", maintain_order="left")

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """The jobs in one row each, in order."""
        about = pl.DataFrame(
            {
                SOURCE: pl.Series([source.number for source in self.sources], dtype=pl.UInt32),
                "job": [source.job for source in self.sources],
                "path": [text_of_path(source.path) for source in self.sources],
                "slice_ns": pl.Series([source.slice_ns for source in self.sources], dtype=pl.Int64),
            }
        )
        rows = self._job_rows().rename({"job": SOURCE}).with_columns(pl.col(SOURCE).cast(pl.UInt32))
        return conform("jobs", about.join(rows, on=SOURCE, maintain_order="left"), [SOURCE])

    def frame(self, name: str) -> pl.DataFrame:
        """A frame of all jobs, with SOURCE."""
        if name in OF_NODES:
            nothing = NOTHING[name].with_columns(pl.lit(0, pl.UInt32).alias(SOURCE))
            return pl.concat([nothing, *(frames[name] for frames in self._of_nodes)])
        if name not in self._frames:
            self._frames[name] = self._numbered(getattr(self, name))
            self.__dict__.pop("process_slices", None)  # the largest: once is enough
        return self._frames[name]

    def has_together(self, name: str) -> bool:
        return bool(self._of) and name in ASKED_TOGETHER

    @cached_property
    def node_slice_lengths(self) -> dict[int, int]:
        """The length of a slice of the nodes' frames, by job's number, where nodes were sampled."""
        if not self._has_nodes:
            return {}
        sampled = self._profile.nodes.join(self._profile.node_slices, on=SOURCE, how="semi")
        return dict(sampled.group_by(SOURCE, maintain_order=True).agg(pl.col("slice_ns").max()).iter_rows())

    @cached_property
    def _of_nodes(self) -> list[dict[str, pl.DataFrame]]:
        found = []
        for number in self.node_slice_lengths:
            own, numbered = self.digest(number), pl.lit(number, pl.UInt32).alias(SOURCE)
            found.append({name: getattr(own, name).with_columns(numbered) for name in OF_NODES})
        return found

    def digest(self, number: int) -> OneOf:
        """The digest of one of the jobs, which has its rows of what is asked of all."""
        return OneOf(self, number)

    def profile(self, number: int) -> Profile:
        """The profile of one of the jobs, without its slices."""
        tables = self._profile.tables
        own = {name: tables[name].slice(*rows.get(number, (0, 0))) for name, rows in self._rows.items()}
        source, rest = self.sources[number], [name for name in TABLES if name not in tables]
        whole = partial(read_profile, source.path, needs_axis=False, tables=rest) if rest else None
        return profile_of(source, {**own, "slices": pl.DataFrame()}, needs_axis=False, whole=whole)

    @cached_property
    def _rows(self) -> dict[str, dict[int, tuple[int, int]]]:
        return {name: rows_of(table, SOURCE) for name, table in self._profile.tables.items() if name != "slices"}

    @cached_property
    def abouts(self) -> dict[int, dict[str, Any]]:
        """The jobs' rows of the frame `jobs`, by number."""
        return {row.pop(SOURCE): row for row in self.frame("jobs").iter_rows(named=True)}

    @cached_property
    def _fetching(self) -> frozenset[int]:
        """The numbers of the jobs of which processes may have fetched by mapped files: few."""
        from slicewise.digest.fetched import who_fetched  # it brings numpy along

        return frozenset(self._numbered(who_fetched(self, self.mapped).select("process"))[SOURCE])

    def part(self, number: int, name: str) -> pl.DataFrame | None:
        """A job's rows of a frame that is asked of all, or that it has none of; None for any other frame."""
        has_none = (name in SAMPLED and number not in self.node_slice_lengths) or (
            name == "fetched" and self._of and number not in self._fetching
        )
        if has_none:
            return NOTHING[name]
        if name not in ASKED_TOGETHER:
            return None
        if name not in self._parts:
            frame = self.frame(name)
            self._frames[name] = frame.sort(SOURCE, maintain_order=True) if self._of else frame
            self._parts[name] = rows_of(self._frames[name], SOURCE)
        return self._frames[name].slice(*self._parts[name].get(number, (0, 0))).drop(SOURCE)


class OneOf(Digest):
    """The digest of one of several jobs that were read together."""

    def __init__(self, jobs: Jobs, number: int) -> None:
        self.read_with, self.number = jobs, number
        source = jobs.sources[number]
        self.job, self.path, self.slice_ns = source.job, source.path, source.slice_ns

    def _source(self, name: str) -> pl.DataFrame | None:
        return self.read_with.part(self.number, name)

    @property
    def own_name(self) -> str:
        return self.read_with.sources[self.number].job

    @cached_property
    def about(self) -> Mapping[str, Any]:
        return self.read_with.abouts[self.number] | {"job": self.job}

    @cached_property
    def _profile(self) -> Profile:  # type: ignore[override]
        return self.read_with.profile(self.number)


def frames_of(digests: Sequence[Digest], name: str) -> pl.DataFrame:
    """A frame of several digests, without job and with place: each one's number, in order. To ask each takes longer."""
    found, together = list[pl.DataFrame](), dict[Jobs, dict[int, int]]()
    for place, digest in enumerate(digests):
        if isinstance(digest, OneOf) and digest.read_with.has_together(name):
            together.setdefault(digest.read_with, {})[digest.number] = place
        elif not (frame := getattr(digest, name)).is_empty():
            found.append(frame.drop("job", strict=False).with_columns(PLACE + place))
    for jobs, places in together.items():
        numbers = pl.DataFrame(
            {SOURCE: [*places], "place": [*places.values()]}, dict.fromkeys((SOURCE, "place"), pl.UInt32)
        )
        found.append(
            jobs.frame(name).drop("job", strict=False).join(numbers, on=SOURCE, maintain_order="left").drop(SOURCE)
        )
    rows = pl.concat(found or [NOTHING[name].with_columns(PLACE)], how="diagonal")
    return rows if rows["place"].is_sorted() else rows.sort("place", maintain_order=True)


def read_digests(places: Sequence[Path], *, distributions: bool = False, without: Collection[str] = ()) -> list[Digest]:
    """The digests of jobs' directories or files, read together; of jobs with one name the later ones get a number. What
    is read is as for `read_digest`. without: tables that are read when a job is first asked for one. `job_places` finds
    the jobs below directories.
    """
    digests = several(places, distributions=distributions, without=without)
    if any(len(digest.node_slices) for digest in digests):
        from slicewise.digest.counters import know_each_other  # it brings numpy along

        know_each_other(digests)
    return digests


def several(places: Sequence[Path], *, distributions: bool = False, without: Collection[str] = ()) -> list[Digest]:
    """As `read_digests`, without `Digest.beside`."""
    order: dict[Path, list[int]] = {}
    for at in reversed(range(len(places))):
        order.setdefault(places[at], []).append(at)
    found = [
        jobs.digest(source.number)
        for some in batches(places, profile_bytes)
        for jobs in read_together(some, distributions=distributions, without=without)
        for source in jobs.sources
    ]
    return with_names_of_their_own(sorted(found, key=lambda digest: order[digest.path].pop()))


def with_names_of_their_own(digests: Sequence[Digest]) -> list[Digest]:
    """The digests, of which no frame was asked yet, with a number behind a name that an earlier one has."""
    seen: Counter[str] = Counter()
    for digest in digests:
        seen[digest.job] += 1
        if seen[digest.job] > 1:
            digest.job = f"{digest.job} ({seen[digest.job]})"
    return list(digests)


def read_together(places: Sequence[Path], *, distributions: bool = False, without: Collection[str] = ()) -> list[Jobs]:
    """Jobs' directories or files; usually one `Jobs`, more where versions or processes differ. Raises UserError where
    any of them cannot be read.
    """
    reading = read_jobs(places, wants_of(slices.WANTED, slices.OTHERS, slices.REQUESTS, distributions, without))
    if len(places) > 1:
        kinds: dict[object, list[Path]] = {}
        clashes = set(later_copies(reading.tables["processes"].select("process", job=SOURCE, place=SOURCE)))
        for source, place in zip(reading.sources, places, strict=True):
            is_apart = source.schemas != 1 or source.number in clashes
            kinds.setdefault((source.schema, source.number if is_apart else None), []).append(place)
        if len(kinds) > 1:
            alike = kinds.values()
            return [
                jobs for some in alike for jobs in read_together(some, distributions=distributions, without=without)
            ]
    require_axes(reading.sources, reading.tables)
    return [Jobs(reading.sources, reading.tables)]
