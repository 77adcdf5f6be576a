"""The digests of several jobs that are looked at together: what most analyses ask of every job is asked once for all of
them, and each digest takes its own rows, the same as it would make by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

import polars as pl

from slicewise.alike import rows_of
from slicewise.digest import slices
from slicewise.digest.company import later_copies
from slicewise.digest.digest import Digest, text_of_path
from slicewise.digest.schema import FRAMES, conform
from slicewise.profile.many import batches, profile_bytes
from slicewise.profile.plan import SOURCE, Source
from slicewise.profile.plausible import require_axes
from slicewise.profile.reader import Profile, profile_of, wants_of
from slicewise.profile.reading import read_jobs

# What most analyses ask of every job.
ASKED_TOGETHER = ("_mounts", "_active", "processes", "process_slices", "mounts", "storages", "jobs", "coverage")
# Frames that are made for each job by itself.
OF_NODES = ("node_samples", "node_slices", "sampled_processes", "sampled_slices", "others", "fetched")


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
            nothing = pl.DataFrame(schema={**FRAMES[name].polars_schema, SOURCE: pl.UInt32})
            return pl.concat([nothing, *(frames[name] for frames in self._of_nodes)])
        if name not in self._frames:
            self._frames[name] = self._numbered(getattr(self, name))
            self.__dict__.pop("process_slices", None)  # the largest: once is enough
        return self._frames[name]

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

    def digest(self, number: int) -> Digest:
        """The digest of one of the jobs, which has its rows of what is asked of all."""
        tables = self._profile.tables
        own = {name: tables[name].slice(*rows.get(number, (0, 0))) for name, rows in self._rows.items()}
        profile = profile_of(self.sources[number], {**own, "slices": pl.DataFrame()}, needs_axis=False)
        return Digest(profile, partial(self._part, number))

    @cached_property
    def _rows(self) -> dict[str, dict[int, tuple[int, int]]]:
        return {name: rows_of(table, SOURCE) for name, table in self._profile.tables.items() if name != "slices"}

    def _part(self, number: int, name: str) -> pl.DataFrame | None:
        """A job's rows of a frame that is asked of all; None for any other frame."""
        if name not in ASKED_TOGETHER:
            return None
        if name not in self._parts:
            frame = self.frame(name)
            self._frames[name] = frame.sort(SOURCE, maintain_order=True) if self._of else frame
            self._parts[name] = rows_of(self._frames[name], SOURCE)
        return self._frames[name].slice(*self._parts[name].get(number, (0, 0))).drop(SOURCE)


def read_digests(places: Sequence[Path], *, distributions: bool = False) -> list[Digest]:
    """The digests of jobs' directories or files, read together; of jobs with one name the later ones get a number. What
    is read is as for `read_digest`. `job_places` finds the jobs below directories.
    """
    digests = several(places, distributions=distributions)
    if any(len(digest.node_slices) for digest in digests):
        from slicewise.digest.counters import know_each_other  # it brings numpy along

        know_each_other(digests)
    return digests


def several(places: Sequence[Path], *, distributions: bool = False) -> list[Digest]:
    """As `read_digests`, without `Digest.beside`."""
    order: dict[Path, list[int]] = {}
    for at in reversed(range(len(places))):
        order.setdefault(places[at], []).append(at)
    found = [
        jobs.digest(source.number)
        for some in batches(places, profile_bytes)
        for jobs in read_together(some, distributions=distributions)
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


def read_together(places: Sequence[Path], *, distributions: bool = False) -> list[Jobs]:
    """Jobs' directories or files; usually one `Jobs`, more where versions or processes differ. Raises UserError where
    any of them cannot be read.
    """
    reading = read_jobs(places, wants_of(slices.WANTED, slices.OTHERS, distributions))
    if len(places) > 1:
        kinds: dict[object, list[Path]] = {}
        clashes = set(later_copies(reading.tables["processes"].select("process", job=SOURCE, place=SOURCE)))
        for source, place in zip(reading.sources, places, strict=True):
            is_apart = source.schemas != 1 or source.number in clashes
            kinds.setdefault((source.schema, source.number if is_apart else None), []).append(place)
        if len(kinds) > 1:
            alike = kinds.values()
            return [jobs for some in alike for jobs in read_together(some, distributions=distributions)]
    require_axes(reading.sources, reading.tables)
    return [Jobs(reading.sources, reading.tables)]
