"""The digests of several jobs that are looked at together.

To make a small job's frames takes tens of milliseconds, and nearly all of that is the asking. So what most analyses ask
of every job is asked once for all of them, when it is first asked for, and each digest takes its own rows: the same
rows, in the same order, as it would make of its profile by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import polars as pl

from slicewise.digest import slices
from slicewise.digest.digest import Digest
from slicewise.digest.schema import conform
from slicewise.digest.storages import busiest_points
from slicewise.profile import plan
from slicewise.profile.many import profiles_of
from slicewise.profile.reader import Profile

# The number of a row's job among those that are looked at together.
NUMBER = "number"
# What the shared frames are made of.
TABLES = ("processes", "mounts", "sums", "slices", "other_slices")
# Rows of slices that are looked at together at most, so that memory does not grow with the jobs.
ROWS_AT_ONCE = 1 << 18


class Jobs(Digest):
    """A digest of several jobs: in its frames a job goes by its number, which its processes have as plan.SOURCE."""

    @property
    def _job_of_rows(self) -> pl.Expr:
        return pl.col(plan.SOURCE).cast(pl.String)

    @cached_property
    def number_of_process(self) -> pl.DataFrame:
        """process, number."""
        return self._profile.processes.select("process", pl.col(plan.SOURCE).alias(NUMBER))


def read_digests(places: Sequence[Path], *, distributions: bool = False) -> list[Digest]:
    """The digests of jobs' directories or files, read together; of jobs with one name the later ones get a number.

    What is read is as for `read_digest`. `job_places` finds the jobs below directories.
    """
    digests = several(profiles_of(places, slices.WANTED, slices.OTHERS, distributions))
    if any(len(digest.node_slices) for digest in digests):
        from slicewise.digest.served import know_each_other  # it brings numpy along

        know_each_other(digests)
    return digests


def several(profiles: Sequence[Profile]) -> list[Digest]:
    """Digests of several profiles; of jobs with one name the later ones get a number."""
    seen: Counter[str] = Counter()
    digests: list[Digest] = []
    for some in _alike(profiles):
        shared = _Shared(some) if len(some) > 1 else None
        for number, profile in enumerate(some):
            namesakes = seen[profile.job]
            seen[profile.job] += 1
            job = f"{profile.job} ({namesakes + 1})" if namesakes else profile.job
            digests.append(Digest(profile, job) if shared is None else _OneOfSeveral(profile, job, number, shared))
    return digests


def _alike(profiles: Sequence[Profile]) -> Iterator[list[Profile]]:
    """Profiles, in order, by what can be asked together: of the same columns, and no process in two of them."""
    some, rows = list[Profile](), 0
    for profile in profiles:
        more = rows + profile.slices.height
        if some and (more > ROWS_AT_ONCE or _columns(profile) != _columns(some[0])):
            yield from _apart_if_they_clash(some)
            some, more = [], profile.slices.height
        some.append(profile)
        rows = more
    yield from _apart_if_they_clash(some)


def _columns(profile: Profile) -> list[pl.Schema]:
    return [getattr(profile, name).schema for name in TABLES]


def _apart_if_they_clash(some: list[Profile]) -> list[list[Profile]]:
    """All together, or each by itself where one job is there twice."""
    if not some or not pl.concat(profile.processes["process"] for profile in some).is_duplicated().any():
        return [some] if some else []
    return [[profile] for profile in some]


class _Shared(Jobs):
    """Jobs that are looked at together. It has their rows of slices: they go when `process_slices` has been made."""

    def __init__(self, profiles: Sequence[Profile]) -> None:
        tables = {name: pl.concat([getattr(each, name) for each in profiles], rechunk=True) for name in TABLES}
        numbers = [number for number, each in enumerate(profiles) for _ in range(each.processes.height)]
        tables["processes"] = tables["processes"].with_columns(pl.Series(plan.SOURCE, numbers, pl.UInt32))
        super().__init__(profiles[0].with_tables(**tables))
        self._parts: dict[str, tuple[dict[int, pl.DataFrame], pl.DataFrame]] = {}

    def part(self, name: str, number: int) -> pl.DataFrame:
        """A job's rows of a frame."""
        if name not in self._parts:
            frame = self._frame(name)
            own = frame.partition_by(NUMBER, as_dict=True, include_key=False)
            self._parts[name] = {int(key): rows for (key,), rows in own.items()}, frame.clear().drop(NUMBER)
        parts, empty = self._parts[name]
        return parts.get(number, empty)

    def _frame(self, name: str) -> pl.DataFrame:
        """A frame of all jobs, with their numbers."""
        if name == "active_slices":
            return self._active
        if name == "process_slices":
            _ = self._active  # made of the same rows, which are gone afterwards
            frame = self._numbered(self.process_slices)
            del self.process_slices  # each job's digest has its part
            return frame
        if name == "storages":
            return busiest_points(self._numbered(self.mounts), self._mounts, of=[NUMBER])
        if name == "_job_rows":
            return self._job_rows.with_columns(pl.col("job").cast(pl.UInt32).alias(NUMBER))
        return self._numbered(getattr(self, name))

    def _numbered(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.join(self.number_of_process, on="process", maintain_order="left")

    @cached_property
    def _active(self) -> pl.DataFrame:
        """The slices in which any of a job's own processes made a call: number, slice."""
        of_process = self.number_of_process.lazy()
        rows = [frame.join(of_process, on="process").select(NUMBER, "slice") for frame in self._rows_of_calls()]
        nothing = pl.LazyFrame(schema={NUMBER: pl.UInt32, "slice": pl.Int64})
        return pl.concat([nothing, *rows]).unique().collect()


class _OneOfSeveral(Digest):
    """The digest of one of several jobs that are looked at together."""

    def __init__(self, profile: Profile, job: str, number: int, shared: _Shared) -> None:
        super().__init__(profile.with_tables(slices=pl.DataFrame()), job)
        self._number, self._shared = number, shared

    def _part(self, name: str) -> pl.DataFrame:
        found = self._shared.part(name, self._number)
        return found.with_columns(job=pl.lit(self.job)) if "job" in found.columns else found

    @cached_property
    def _mounts(self) -> pl.DataFrame:
        return self._part("_mounts")

    @cached_property
    def _job_rows(self) -> pl.DataFrame:
        return self._part("_job_rows")

    @cached_property
    def processes(self) -> pl.DataFrame:
        """As `Digest` has it."""
        return self._part("processes")

    @cached_property
    def process_slices(self) -> pl.DataFrame:
        """As `Digest` has it."""
        return self._part("process_slices")

    @cached_property
    def active_slices(self) -> pl.Series:
        """As `Digest` has it."""
        return self._part("active_slices")["slice"]

    @cached_property
    def mounts(self) -> pl.DataFrame:
        """As `Digest` has it."""
        return self._part("mounts")

    @cached_property
    def storages(self) -> pl.DataFrame:
        """As `Digest` has it."""
        return conform("storages", self._part("storages"))
