"""A job's profile as data frames: all files of its directory, with every sound frame in them counted exactly once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import polars as pl

from slicewise import contract
from slicewise.profile.damage import Damage
from slicewise.profile.plan import Source, Want
from slicewise.profile.plausible import require_axis
from slicewise.profile.reading import read_jobs
from slicewise.profile.schema import Schema


@dataclass(frozen=True)
class Profile:
    """One job. tables: frames by name, which are attributes too: each has a column `process` (u64, the process's unique
    id) and the columns of the schema's table of that name; names of enumerations are strings. slices: `slice` is i64;
    rows of one (process, mount, layer, slice) are added up. Columns of bins are there only if they were asked for.
    sums: the same by (process, mount, layer), added up over all slices; `slice` is the last one. other_slices: by
    (process, layer, slice), of layers that are not in `slices` if not all were asked for. requests: by (process, mount,
    slice), the rows of requests, if `slices` has all layers of a row added up. nodes and node_...: the
    nodes' own counters; `process` is a collector's run, and no process. damage: what could not be read; empty where all
    is well. whole: reads the profile with the tables that `tables` lacks, when one of them is first asked for.
    """

    path: Path
    job: str
    slice_ns: int
    schema: Schema
    damage: list[Damage]
    tables: Mapping[str, pl.DataFrame]
    whole: Callable[[], Profile] | None = field(default=None, compare=False, repr=False)

    def __getattr__(self, name: str) -> pl.DataFrame:
        if name.startswith("__") or name == "tables":
            raise AttributeError(name)
        if name in self.tables:
            return self.tables[name]
        if name in NAMES and self.whole is not None:
            return self._whole.tables[name]
        raise AttributeError(name)

    @cached_property
    def _whole(self) -> Profile:
        assert self.whole is not None
        return self.whole()

    def with_tables(self, **tables: pl.DataFrame) -> Profile:
        return replace(self, tables={**self.tables, **tables})


# What profiles of before later tables came do not have: then the frame has no columns but `process`, and no rows.
TABLES = tuple(table["name"] for table in contract.TABLES)
NAMES = (*TABLES, "sums", "other_slices", "requests")

SLICES, NOTHING = Want("slices"), Want("")


def read_profile(
    path: str | Path,
    bins: bool = False,
    needs_axis: bool = True,
    distributions: bool = False,
    slices: Want = SLICES,
    other_slices: Want = NOTHING,
    requests: Want = NOTHING,
    tables: Collection[str] | None = None,
    without: Collection[str] = (),
) -> Profile:
    """Read a job's directory, or one node's `.swz` file of it.

    bins: whether the columns of bins (sizes, latencies) are wanted slice by slice: they need several times the memory
    of all others. distributions: whether they are wanted as sums over all slices.
    slices, other_slices, requests: what of the slices is wanted, where that is not all. tables: those that are wanted
    at all, and no sums; the frames of others are empty. without: tables that are read when one is first asked for.
    needs_axis: whether it will be laid on an axis of time, slice by slice, which a clock that was set may forbid.
    Damage costs the frames that it touches, and is told in the profile. Raises UserError where there is nothing to
    tell: no such file, not a profile, another format, several jobs or slice lengths, no sound frame.
    """
    of_slices = replace(slices, bins=True) if bins else slices
    wants = wants_of(of_slices, other_slices, requests, bins or distributions, without)
    if tables is not None:
        wants = {name: want if name in tables else NOTHING for name, want in wants.items()}
    reading = read_jobs([Path(path)], wants, is_named=False)
    later = partial(read_profile, path, needs_axis=False, tables=without) if without else None
    return profile_of(reading.sources[0], reading.tables, needs_axis, later)


def wants_of(
    slices: Want, other_slices: Want, requests: Want, distributions: bool, without: Collection[str] = ()
) -> dict[str, Want]:
    wants = {name: Want(name) for name in TABLES}
    sums = Want("slices", bins=distributions, last_of=("slice",))
    wants |= {"slices": slices, "sums": sums, "other_slices": other_slices, "requests": requests}
    return {name: want for name, want in wants.items() if name not in without}


def profile_of(
    source: Source,
    tables: Mapping[str, pl.DataFrame],
    needs_axis: bool = True,
    whole: Callable[[], Profile] | None = None,
) -> Profile:
    """The profile of one job that was read. Raises UserError where an axis of time is needed and cannot be."""
    if needs_axis:
        require_axis(source, tables)
    return Profile(
        path=source.path,
        job=source.job,
        slice_ns=source.slice_ns,
        schema=source.schema,
        damage=list(source.damage),
        tables=tables,
        whole=whole,
    )
