"""What many jobs are, read together and in sum: when each ran, what program, and which storages it used.

Paths in, dataclasses out. A job costs about a millisecond here, and a digest of its own ten times as much; the next
time nothing, as long as its files are as they were (`state_of`).
"""

import contextlib
import io
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import polars as pl

from slicewise import user_cache
from slicewise.digest import company, sampled, slices
from slicewise.digest import processes as members
from slicewise.digest.company import NEVER
from slicewise.digest.layers import KERNEL_LAYER, OWN_LAYERS, is_own
from slicewise.digest.storages import mounts_with_storage
from slicewise.errors import UserError
from slicewise.profile.files import profile_files
from slicewise.profile.many import Whole, batches, parts_of, profile_bytes
from slicewise.profile.plan import SOURCE, Want
from slicewise.profile.plausible import MOST_SLICES_ON_AXIS
from slicewise.profile.reading import Reading, read_jobs

MOVED = [f"{way}_{what}" for way in members.DIRECTIONS for what in ("bytes", "ops")]
# Of the kernel's layer: bytes that it fetched from storage for a process.
KERNEL_READ = "kernel_read_bytes"
WANTED = {
    "processes": Want(
        "processes", ("host", "pid", "rank", "program", "script", "label", "command", "start_ns", "end_ns", "ending")
    ),
    "mounts": Want("mounts", ("object", "type", "source", "point", "address")),
    "sums": Want("slices", (*slices.BYTES, *slices.OPS, *slices.TIMES, KERNEL_READ), last_of=("slice",)),
    "launches": Want("launches", ("host", "start_ns", "end_ns")),
    "slices": Want("slices", (), summed_over=("layer",), only=("layer", OWN_LAYERS)),
    "nodes": Want("nodes", ("host", "slice_ns")),
    "node_processes": Want("node_processes", ("start_ns", "end_ns")),
    "node_process_slices": Want("node_process_slices", ("kernel_read_bytes", "kernel_write_bytes")),
    "node_mounts": Want("node_mounts", ("point", "type", "source", "address")),
    "node_process_mounts": Want("node_process_mounts", ("read_bytes", "write_bytes")),
}
# So many at a time, so that whoever waits can be told how far it is.
JOBS_AT_ONCE = 100
# Told how many jobs of how many are read.
Progress = Callable[[int, int], None]
KIND = "outlines"
# Another one as soon as an outline says something else of the same profile.
FORMAT = 6
# A file that was changed just now may change again within the same tick of its file system's clock.
SETTLED_NS = 2_000_000_000
# So little is read sooner than found again.
LEAST_BYTES = 1 << 20
# Of a profile from so many on more is kept; see `large`.
LARGE_BYTES = 4 << 20

DID = ("processes", "start_ns", "end_ns", *MOVED)
# Of when it was active.
TIMES = {f"active_{name}": (name, NEVER.schema[name]) for name in NEVER.columns[1:]}
COLUMNS = pl.Schema(
    {"name": pl.String, "state": pl.String, "program": pl.String, "command": pl.String}
    | dict.fromkeys(DID, pl.Int64)
    | {"storages": pl.List(pl.UInt64), "ids": pl.List(pl.UInt64)}
    | {column: pl.List(dtype) for column, (_, dtype) in TIMES.items()}
)


@dataclass(frozen=True)
class Outline:
    """A job: its main program, its command line, what it did and when it ran (processes, start_ns, end_ns, MOVED), the
    storages that its calls moved bytes on, the ids of its processes, and when it was active (`company.active`, and the
    slices in which the kernel moved bytes for its processes that no library profiled). All are what its digest says.
    """

    place: Path
    program: str
    command: str
    did: Mapping[str, int]
    storages: frozenset[int]
    ids: frozenset[int]
    active: pl.DataFrame


def outlines(
    places: Sequence[Path],
    progress: Progress | None = None,
    own: Path | None = None,
    of_large: Callable[[Path, Outline | None], Outline | None] | None = None,
) -> list[Outline]:
    """The jobs at these places, in their order; what cannot be read, or be laid on an axis of time, is left out.
    of_large: gives the outline of a job from LARGE_BYTES on, or None, and is told that of the job at `own`.
    """
    kept = KnownOutlines(places)
    fresh = sorted((place for place in places if place not in kept.outlines), key=lambda place: place != own)
    found = dict(kept.outlines)
    for first in range(0, len(fresh), JOBS_AT_ONCE):
        some = fresh[first : first + JOBS_AT_ONCE]
        for place in some:
            if of_large is not None and place != own and kept.size_of(place) >= LARGE_BYTES:
                if own is not None and own not in found:
                    found |= {outline.place: outline for outline in _readable([own])}
                outline = of_large(place, found.get(own) if own is not None else None)
                found |= {} if outline is None else {place: outline}
        found |= {outline.place: outline for outline in _readable([place for place in some if place not in found])}
        if progress is not None:
            progress(len(kept.outlines) + first + len(some), len(places))
    kept.keep(found[place] for place in fresh if place in found)
    return [found[place] for place in places if place in found]


def _readable(places: Sequence[Path]) -> list[Outline]:
    try:
        return [job for some in batches(places, profile_bytes) for job in outlined(_read(some))]
    except UserError:
        if len(places) == 1:
            return []
        middle = len(places) // 2
        return [*_readable(places[:middle]), *_readable(places[middle:])]


@dataclass(frozen=True)
class JobsRead:
    """What was read of jobs. paths: by job, the value of SOURCE in all frames; lengths: of their slices. tables: of the
    profiles, with in_calls (SOURCE, process, mount, and a list of slices) in place of slices.
    """

    paths: Sequence[Path]
    lengths: pl.DataFrame
    tables: Mapping[str, pl.DataFrame]


def _read(places: Sequence[Path]) -> JobsRead:
    if len(places) == 1:
        with contextlib.suppress(Whole):
            parts = [of_reading(reading, is_one_job=True) for reading in parts_of(places[0], WANTED)]
            return of_parts(places[0], parts)
    return of_reading(read_jobs(places, WANTED))


def of_parts(place: Path, parts: Sequence[JobsRead]) -> JobsRead:
    """A job of which some files were read at a time."""
    tables = {
        name: pl.concat(part.tables[name] for part in parts).sort(SOURCE, "process", maintain_order=True)
        for name in parts[0].tables
    }
    return JobsRead([place], parts[0].lengths, tables)


def of_reading(reading: Reading, is_one_job: bool = False) -> JobsRead:
    """What was read of some jobs. is_one_job: each of these is a file of one and the same job."""
    sources = reading.sources[:1] if is_one_job else reading.sources
    lengths = [(0 if is_one_job else source.number, source.slice_ns) for source in sources]
    number = pl.lit(0, pl.UInt32) if is_one_job else pl.col(SOURCE)
    tables = {name: table.with_columns(number.alias(SOURCE)) for name, table in reading.tables.items()}
    rows = tables.pop("slices")
    tables["in_calls"] = rows.group_by(SOURCE, "process", "mount", maintain_order=True).agg("slice")
    return JobsRead(
        [source.path for source in sources],
        pl.DataFrame(lengths, {SOURCE: pl.UInt32, "slice_ns": pl.Int64}, orient="row"),
        tables,
    )


def _spans(read: JobsRead) -> pl.DataFrame:
    """job, first, last: slices of calls."""
    ends = read.tables["sums"].filter(pl.col("layer") != KERNEL_LAYER).select(SOURCE, first="slice", last="slice")
    calls = read.tables["in_calls"].select(SOURCE, first=pl.col("slice").list.min(), last=pl.col("slice").list.max())
    rows = pl.concat([ends.cast({"first": pl.Int64, "last": pl.Int64}), calls])
    return rows.group_by(job=SOURCE).agg(pl.col("first").min(), pl.col("last").max())


def outlined(read: JobsRead) -> list[Outline]:
    processes, outside = _who(read), _sampled(read)
    alone = _sampled_alone(read, outside.filter(~pl.col("job").is_in(processes["job"].implode())))
    if processes.is_empty():
        return alone
    mounts = mounts_with_storage(_numbered(read, "mounts"), processes.select("process", "node"))
    sums = _numbered(read, "sums")
    known = processes.join(slices.process_sums(sums, mounts), on="process", how="left").with_columns(
        pl.col(slices.SUMS).fill_null(0)
    )
    known = members.with_first_program(known.with_columns(matters=members.matters()), ("job", "node", "pid"))
    of_job = known.filter("is_of_job")
    jobs = of_job.group_by("job").agg(
        pl.col("first_program").filter("matters").n_unique().alias("processes"),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        members.of_first("command"),
        pl.col(MOVED).filter("matters").sum(),
        is_mpi=members.has_rank().any(),
    )
    jobs = members.with_times_of_launches(jobs, read.tables["launches"].with_columns(job=pl.col(SOURCE)))
    used = (
        sums.filter(is_own(), (pl.col("read_bytes") + pl.col("write_bytes")) > 0)
        .select("process", "mount")
        .join(mounts, on=["process", "mount"])
        .join(processes.select("process", "job"), on="process")
        .group_by("job")
        .agg(pl.col("storage").unique())
    )
    calls = _numbered(read, "in_calls").join(mounts.select("process", "mount", "storage"), on=["process", "mount"])
    if KERNEL_READ in sums.columns:
        fetched = pl.col(KERNEL_READ).filter(pl.col("layer") == KERNEL_LAYER)
        called = pl.col("read_bytes").filter(is_own())
        calls = company.with_slices_beyond_calls(calls, company.beyond_calls(of_job, sums, fetched, called))
    when = company.together(company.active(calls, of_job), outside)
    active = when.partition_by("job", as_dict=True, include_key=False)
    frame = (
        jobs.join(members.main_programs(of_job), on="job")
        .join(used, on="job", how="left")
        .join(processes.group_by("job").agg(pl.col("id").unique()), on="job")
        .join(_spans(read), on="job", how="left")
        .filter((pl.col("last") - pl.col("first")).fill_null(0) <= MOST_SLICES_ON_AXIS)
        .sort("job")
    )
    return alone + [
        Outline(
            read.paths[row["job"]],
            row["program"],
            row["command"],
            {name: row[name] for name in ("processes", "start_ns", "end_ns", *MOVED)},
            frozenset(row["storage"] or ()),
            frozenset(row["id"]),
            active.get((row["job"],), NEVER.drop("job")),
        )
        for row in frame.iter_rows(named=True)
    ]


def _sampled(read: JobsRead) -> pl.DataFrame:
    """When the kernel moved bytes for processes that no library profiled: as of `company.active`."""
    if read.tables[sampled.MOVED].is_empty():
        return NEVER
    names = (sampled.PROCESSES, sampled.SLICES, sampled.MOUNTS, sampled.MOVED)
    tables = {name: _numbered(read, name, "nodes").rename({"number": "nth"}, strict=False) for name in names}
    runs = read.tables["nodes"].drop("process").with_row_index("process")
    counted = {f"kernel_{way}_bytes": f"storage_{way}_bytes" for way in members.DIRECTIONS}
    rows = tables[sampled.SLICES].rename(counted).with_columns(pl.col("nth").cast(pl.Int64))
    moved = sampled.on_storages(rows, sampled.storages_of(tables | {"nodes": runs}))
    lived = tables[sampled.PROCESSES].with_columns(pl.col("nth").cast(pl.Int64))
    return sampled.active(moved.join(runs.select("process", "slice_ns", job=SOURCE), on="process"), lived)


def _sampled_alone(read: JobsRead, outside: pl.DataFrame) -> list[Outline]:
    """Jobs of which no process was profiled: neighbours, and never runs of the same work, since they made no calls."""
    of_job = dict(read.tables["nodes"].group_by(SOURCE).agg("process").iter_rows())
    found = []
    for (job,), its in outside.sort("job").partition_by("job", as_dict=True, maintain_order=True).items():
        when = company.without_overlaps(its).select(NEVER.columns).drop("job")
        first_ns, last_ns = when.select(pl.col("begin_ns").min(), pl.col("end_ns").max()).row(0)
        did = {"processes": 0, "start_ns": int(first_ns), "end_ns": int(last_ns)} | dict.fromkeys(MOVED, 0)
        found.append(Outline(read.paths[job], "", "", did, frozenset(), frozenset(of_job[job]), when))
    return found


def _who(read: JobsRead) -> pl.DataFrame:
    ends = read.tables["sums"].group_by(SOURCE, "process").agg(pl.col("slice").max())
    return (
        read.tables["processes"]
        .drop("slice_ns", strict=False)
        .with_row_index("number")
        .join(ends, on=[SOURCE, "process"], how="left", maintain_order="left")
        .join(read.lengths, on=SOURCE, maintain_order="left")
        .with_columns(pl.col("rank", "start_ns", "end_ns").cast(pl.Int64), job=pl.col(SOURCE))
        .select(
            "job",
            "slice_ns",
            "rank",
            "pid",
            "ending",
            "start_ns",
            pl.col("process").alias("id"),
            pl.col("number").alias("process"),
            pl.col("host").cast(pl.String).alias("node"),
            members.text(read.tables["processes"], "command"),
            program=members.program(read.tables["processes"]),
            end_ns=members.end_ns(pl.col("slice_ns")),
            is_of_job=members.is_of_job(),
        )
    )


def _numbered(read: JobsRead, table: str, of: str = "processes") -> pl.DataFrame:
    """The rows of a table, with the number of their process's (or collector's, `of` nodes) row in place of its id."""
    numbers = read.tables[of].select(SOURCE, "process").with_row_index("at")
    return read.tables[table].join(numbers, on=[SOURCE, "process"]).drop("process", SOURCE).rename({"at": "process"})


def state_of(place: Path) -> tuple[str, int]:
    """A text that changes with a profile's files (empty where it cannot be told), and how many bytes they have."""
    try:
        stats = [(file.name, file.stat()) for file in profile_files(place)]
    except (OSError, UserError):
        return "", 0
    size = sum(stat.st_size for _, stat in stats)
    if max(max(stat.st_mtime_ns, stat.st_ctime_ns) for _, stat in stats) > time.time_ns() - SETTLED_NS:
        return "", size
    return repr([(name, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_dev) for name, s in stats]), size


class KnownOutlines:
    """What is known of some jobs. outlines: by place, of those that are as they were."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._states = {place: state_of(place) for place in places}
        parents = [place.absolute().parent for place in places]
        self._directory = max(dict.fromkeys(parents), key=parents.count, default=Path())
        self._own = {
            place.name: place for place, parent in zip(places, parents, strict=True) if parent == self._directory
        }
        self._rows = self._read() if sum(size for _, size in self._states.values()) >= LEAST_BYTES else _NOTHING
        self.outlines = {outline.place: outline for outline in self._outlines()}

    def size_of(self, place: Path) -> int:
        return self._states[place][1]

    def keep(self, fresh: Iterable[Outline]) -> None:
        added = [one for one in fresh if self._own.get(one.place.name) == one.place and self._states[one.place][0]]
        if sum(self._states[one.place][1] for one in added) < LEAST_BYTES:
            return
        rows = [self._row(one) for one in added]
        content = io.BytesIO()
        pl.concat([self._rows, pl.DataFrame(rows, COLUMNS, orient="row")]).write_parquet(content, compression="zstd")
        user_cache.keep(KIND, self._key, content.getvalue())

    @property
    def _key(self) -> str:
        return f"{FORMAT} {os.fsencode(self._directory)!r}"

    def _read(self) -> pl.DataFrame:
        content = user_cache.kept(KIND, self._key)
        if content is None:
            return _NOTHING
        rows = pl.read_parquet(content)
        states = {name: self._states[place][0] for name, place in self._own.items()}
        return (
            rows.filter(
                pl.Series(
                    [bool(state) and states.get(name) == state for name, state in rows["name", "state"].iter_rows()],
                    dtype=pl.Boolean,
                )
            )
            if rows.schema == COLUMNS
            else _NOTHING
        )

    def _row(self, outline: Outline) -> tuple[object, ...]:
        return (
            outline.place.name,
            self._states[outline.place][0],
            outline.program,
            outline.command,
            *(outline.did[name] for name in DID),
            sorted(outline.storages),
            sorted(outline.ids),
            *(outline.active[name].to_list() for name, _ in TIMES.values()),
        )

    def _outlines(self) -> Iterator[Outline]:
        lengths = self._rows[next(iter(TIMES))].list.len().to_list()
        active = pl.DataFrame(
            [self._rows[column].explode(empty_as_null=False).alias(name) for column, (name, _) in TIMES.items()]
        )
        ends = accumulate(lengths)
        for row, length, end in zip(self._rows.drop(TIMES).iter_rows(named=True), lengths, ends, strict=True):
            yield Outline(
                self._own[row["name"]],
                row["program"],
                row["command"],
                {name: row[name] for name in DID},
                frozenset(row["storages"]),
                frozenset(row["ids"]),
                active.slice(end - length, length),
            )


_NOTHING = pl.DataFrame(schema=COLUMNS)
