"""The catalog's rows of jobs that were read together: keys, sums by job and slice, damage, hashed names."""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import polars as pl

from slicewise.catalog.find import JOBS_AT_ONCE, JobFiles
from slicewise.catalog.schema import FRAMES, KEY, NAMES, NOT_KEPT, conform
from slicewise.catalog.store import day_of
from slicewise.digest import slices
from slicewise.digest.digest import text_of_path
from slicewise.digest.processes import usage_in_sum
from slicewise.digest.schema import FRAMES as DIGEST_FRAMES
from slicewise.digest.shared import Jobs, read_together
from slicewise.errors import UserError
from slicewise.profile.files import is_of_servers
from slicewise.profile.plan import SOURCE, Source
from slicewise.scalars import number_of

HASH_LETTERS, SCRIPT_LETTERS = 16, 8
# Where files are made that live for a moment: on ext4 to make and to remove one takes as long as all else.
SHORT_LIVED = "/dev/shm"
# Frames in which an interpreter's program has the name of its script behind it.
PROGRAMS = ("jobs", "processes")


def read_rows(places: Sequence[JobFiles], unread: list[str], salt: bytes = b"") -> Iterator[dict[str, pl.DataFrame]]:
    """The catalog's frames of those profiles that can be read, with `day` in front of those of jobs; some jobs at a
    time.

    unread: takes a line for each profile that cannot be read. salt: what names are hashed with; empty: they stay.
    """
    yield from _of_profiles([place for place in places if not is_of_servers(place.path)], unread, salt)
    for place in places:
        if is_of_servers(place.path):
            try:
                yield from _of_servers(place, salt)
            except UserError as error:
                unread.append(str(error))


def _of_profiles(places: Sequence[JobFiles], unread: list[str], salt: bytes) -> list[dict[str, pl.DataFrame]]:
    by_path = {place.path: place for place in places}
    try:
        return [_rows(one, by_path, salt) for one in read_together(list(by_path), without=NOT_KEPT)] if places else []
    except UserError as error:
        if len(places) == 1:
            unread.append(str(error))
            return []
    middle = len(places) // 2
    return [*_of_profiles(places[:middle], unread, salt), *_of_profiles(places[middle:], unread, salt)]


def _of_servers(place: JobFiles, salt: bytes) -> Iterator[dict[str, pl.DataFrame]]:
    """The same for each job that a profile of servers knows, as if it had a profile of its own."""
    from slicewise.imports.served_jobs import write_jobs  # it brings numpy along

    with tempfile.TemporaryDirectory(dir=SHORT_LIVED if os.access(SHORT_LIVED, os.W_OK) else None) as directory:
        files = write_jobs(place.path, Path(directory))
        while some := list(islice(files, JOBS_AT_ONCE)):
            for together in read_together(some, without=NOT_KEPT):
                own = _rows(together, dict.fromkeys(some, place), salt)
                path = text_of_path(place.path)
                shown = hashed_name(path, salt) if salt else path
                own["jobs"] = own["jobs"].with_columns(path=pl.lit(shown))
                yield own
            for file in some:
                file.unlink()


def _rows(together: Jobs, places: Mapping[Path, JobFiles], salt: bytes) -> dict[str, pl.DataFrame]:
    frames = {name: frame for name in DIGEST_FRAMES if name in FRAMES and (frame := together.frame(name)).height}
    processes = frames["processes"]
    processes = frames["processes"] = processes.with_columns(job=frames["jobs"]["job"].gather(processes[SOURCE]))
    if "usage" in frames:
        frames["usage"] = usage_in_sum(frames["usage"], (SOURCE, "process"))
    if "storages" in frames:
        transferred = frames["mounts"].group_by(SOURCE, "storage").agg(pl.col(slices.BYTES).sum())
        frames["storages"] = frames["storages"].join(transferred, on=[SOURCE, "storage"], maintain_order="left")
    about = processes.group_by(SOURCE, "job").agg(
        first=pl.col("process").min(),
        all_processes=pl.len(),
        unfinished=(pl.col("ending") == "running").sum(),
        missing_ranks=pl.col("ranks").max().clip(0) - pl.col("rank").filter(pl.col("rank") >= 0).n_unique(),
    )
    # Salted, too: with the processes' ids at hand names could be tried one by one.
    names = about.select("job", "first").iter_rows()
    ids = [number_of(f"{job}\0{first}", salt) for job, first in names]
    keys = pl.Series(KEY, ids, pl.UInt64)
    lines = [places[source.path] for source in together.sources]
    known = pl.DataFrame(
        {
            SOURCE: pl.Series([source.number for source in together.sources], dtype=pl.UInt32),
            "node_files": [len(place.files) for place in lines],
            "fingerprint": pl.Series([place.fingerprint(salt) for place in lines], dtype=pl.UInt64),
            "node_slice_ns": [together.node_slice_lengths.get(s.number, s.slice_ns) for s in together.sources],
        }
    )
    records = frames.get("process_slices", pl.DataFrame(schema={SOURCE: pl.UInt32}))
    frames["jobs"] = (
        frames["jobs"]
        .join(about.with_columns(keys).drop("job", "first"), on=SOURCE, maintain_order="left")
        .join(known, on=SOURCE, maintain_order="left")
        .join(records.group_by(SOURCE).len("records"), on=SOURCE, how="left", maintain_order="left")
        .with_columns(pl.col("records").fill_null(0))
    )
    if "process_slices" in frames:
        frames["job_slices"] = _job_slices(frames["process_slices"], frames["jobs"])
    frames["damage"] = _damage(together.sources)
    made = {}
    for name in FRAMES:
        if name in frames and frames[name].height:
            made[name] = conform(name, _of_jobs(frames[name], frames["jobs"], KEY))
    if salt:
        made = {name: with_hashed_names(name, frame, salt) for name, frame in made.items()}
    days = {start: day_of(start) for start in made["jobs"]["start_ns"].unique()}
    made["jobs"] = made["jobs"].with_columns(day=pl.col("start_ns").replace_strict(days, return_dtype=pl.String))
    return made


def _of_jobs(frame: pl.DataFrame, jobs: pl.DataFrame, column: str) -> pl.DataFrame:
    if column in frame.columns:
        return frame
    if jobs.height == 1:
        return frame.with_columns(pl.lit(jobs[column].item(), jobs.schema[column]).alias(column))
    return frame.with_columns(jobs[column].gather(frame[SOURCE]))


def _job_slices(process_slices: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    found = process_slices.group_by(SOURCE, "storage", "slice").agg(
        *slices.sums(), pl.col(slices.SPREAD).max(), at_work=pl.col("process").n_unique()
    )
    begin_ns = pl.col("slice") * pl.col("slice_ns")
    return _of_jobs(found, jobs, "slice_ns").with_columns(begin_ns=begin_ns, end_ns=begin_ns + pl.col("slice_ns"))


def _damage(sources: Sequence[Source]) -> pl.DataFrame:
    rows = [
        (source.number, d.kind, d.file, d.message, len(d.processes), d.lost_frames, d.lost_slices)
        for source in sources
        for d in source.damage
    ]
    types = {name: column.dtype for name, column in FRAMES["damage"].columns.items() if name != KEY}
    return pl.DataFrame(rows, schema={SOURCE: pl.UInt32(), **types}, orient="row")


def with_hashed_names(name: str, frame: pl.DataFrame, salt: bytes) -> pl.DataFrame:
    """The frame with its names as salted hashes: each name has one hash in the whole catalog."""
    hashed = []
    for column in NAMES.get(name, ()):
        if (name, column) == ("damage", "message"):
            hashed.append(pl.lit("").alias(column))
            continue
        hash_one = hashed_user if frame.schema[column] == pl.Int64 else hashed_name
        known = {value: hash_one(value, salt) for value in frame[column].unique() if value is not None}
        hashed.append(
            pl.col(column).replace_strict(known, return_dtype=frame.schema[column]) if known else pl.col(column)
        )
    if name in PROGRAMS:
        programs = frame["program"].unique().drop_nulls().to_list()
        known = {program: hashed_program(program, salt) for program in programs}
        hashed.append(pl.col("program").replace_strict(known, return_dtype=pl.String) if known else pl.col("program"))
    return frame.with_columns(hashed)


def hashed_program(program: str, salt: bytes) -> str:
    """A program's name, with what stands for the script that it runs: that is a user's own."""
    name, _, script = program.partition(" ")
    return f"{name} {hashed_name(script, salt)[:SCRIPT_LETTERS]}" if script else name


def hashed_name(name: str, salt: bytes) -> str:
    """What stands for a name; nothing for none."""
    make = partial(hashlib.blake2b, digest_size=HASH_LETTERS // 2, key=salt)
    return make(name.encode("utf-8", "surrogatepass")).hexdigest() if name else ""


def hashed_user(user: int, salt: bytes) -> int:
    return number_of(str(user), salt) >> 1
