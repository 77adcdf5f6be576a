"""Profiles of file servers: what they counted by job (or client), target and slice (docs/format.md). They hold no
process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from slicewise.errors import UserError
from slicewise.profile import native
from slicewise.profile.files import SUFFIX, is_of_servers, profile_files
from slicewise.profile.plan import SOURCE, Want, plan
from slicewise.profile.plausible import MOST_NS
from slicewise.profile.reading import Loading

RUNS, TARGETS, JOBS, SLICES = (Want(name) for name in ("server_runs", "server_targets", "server_jobs", "server_slices"))
WANTS = {want.table: want for want in (RUNS, TARGETS, JOBS, SLICES)}
SWZ_MAGIC, MARKER_AT, LENGTH_AT, ENVELOPE_BYTES = b"\x53\x2a\x4d\x18", 8, 24, 40
# So many jobs of a profile are told together: it bounds memory.
JOBS_A_PART = 10_000
# What samplers write in 16 slices, after which names are there again, of 1,000 jobs on 16 targets: 2 MiB.
END_BYTES = 4 << 20
# What is counted, of a job (or client) and target. busy_ns: time that the server took for its reads and writes.
COUNTS = ("read_bytes", "write_bytes", "read_ops", "write_ops", "meta_ops", "busy_ns")
# No server counts more than this of anything in one slice: sums of many rows stay below 2^63.
MOST = 1 << 50
LONGEST_SLICE_NS = 1 << 50
KEYS = [SOURCE, "process"]


@dataclass(frozen=True)
class ServersProfile:
    """What servers counted. rows: storage, type, target, address (of an NFS server: at which clients reach it), job,
    is_client, begin_ns, end_ns (of the slice) and COUNTS.
    runs: storage, type, host, slice_ns, start_ns, end_ns and what was left out: left_out, damaged, late.
    """

    rows: pl.DataFrame
    runs: pl.DataFrame


def is_profile(head: bytes) -> bool:
    """Whether a file that begins so is a profile, of servers or of a job."""
    return head[:4] == SWZ_MAGIC and head[MARKER_AT : MARKER_AT + 3] == b"SWZ"


def read_servers(places: Sequence[Path], tell: Callable[[str], None] = lambda line: None) -> ServersProfile:
    """The profiles of servers at these places. tell: takes a line of damage. Raises UserError for none."""
    runs, *tables = _tables(places, tell)
    return ServersProfile(_rows(runs, *tables), _runs(runs))


def read_in_parts(place: Path) -> Iterator[ServersProfile]:
    """A profile of servers, JOBS_A_PART at a time; all at once with clients. Raises UserError."""
    runs, targets, jobs, slices = _tables([place], lambda line: None)
    names = jobs.select("name").unique().sort("name").with_row_index("place")
    is_whole = names.height <= JOBS_A_PART or bool((jobs["is_client"] > 0).any())
    if is_whole:
        yield ServersProfile(_rows(runs, targets, jobs, slices), _runs(runs))
        return
    placed = jobs.join(names, on="name").select(*KEYS, "job", part=pl.col("place") // JOBS_A_PART)
    ids = slices.select(*KEYS, "job").join(placed, on=[*KEYS, "job"], how="left", maintain_order="left")
    part = ids["part"].fill_null(0)
    for number in part.unique().sort():
        yield ServersProfile(_rows(runs, targets, jobs, slices.filter(part == number)), _runs(runs))


def _tables(places: Sequence[Path], tell: Callable[[str], None]) -> list[pl.DataFrame]:
    """WANTS of profiles."""
    files = [profile_files(place) for place in places]
    with native.Decoder(0) as decoder:
        loading = Loading(places, files, tuple(WANTS.values()))
        loading.load(decoder)
        schemas, order = tuple(loading.schemas), loading.order(decoder)
        if not schemas:
            raise UserError(f"{places[0]}: is not a Slicewise profile, or damaged from end to end")
        tables = [plan(want, schemas, order, True).frame(decoder)[0] for want in WANTS.values()]
        holes = decoder.holes()
    for number, place in enumerate(places):
        if SOURCE not in tables[0].columns or not tables[0].filter(pl.col(SOURCE) == number).height:
            raise UserError(f"{place}: is the profile of a job, not of file servers; give it as a neighbour")
    damaged = {loading.flat[hole.file][0]: 0 for hole in holes}
    for hole in holes:
        damaged[loading.flat[hole.file][0]] += hole.end - hole.begin
    for file, lost in damaged.items():
        tell(f"{file}: {lost:,} bytes of it are damaged, and what they held is missing; all else was read")
    return tables


def read_ends(places: Sequence[Path], since_ns: int, most_bytes: int = END_BYTES) -> ServersProfile | None:
    """What is at the ends of those files of these profiles that were written since some time (UNIX time): enough for
    the last slices. None: there are none. A directory that is no profile stands for the profiles of servers in it.
    most_bytes: of each file.
    """
    with tempfile.TemporaryDirectory(prefix="slicewise-") as scratch:
        ends = []
        for number, file in enumerate(_written_since(places, since_ns)):
            made = Path(scratch) / str(number)
            made.mkdir()
            (made / file.name).write_bytes(_end_of(file, most_bytes))
            ends.append(made)
        return read_servers(ends) if ends else None


def _written_since(places: Sequence[Path], since_ns: int) -> Iterator[Path]:
    for place in places:
        its = [place] if not place.is_dir() or any(place.glob(f"*{SUFFIX}")) else sorted(place.iterdir())
        for one in its:
            files = profile_files(one) if is_of_servers(one) else []
            yield from (file for file in files if file.stat().st_mtime_ns >= since_ns)


def _end_of(file: Path, most_bytes: int) -> bytes:
    """The first frame of a file, which is its schema, and whole frames at its end."""
    with file.open("rb") as source:
        head = source.read(ENVELOPE_BYTES)
        schema = head + source.read(int.from_bytes(head[LENGTH_AT : LENGTH_AT + 4], "little"))
        source.seek(max(len(schema), file.stat().st_size - most_bytes))
        end = source.read()
    first = end.find(SWZ_MAGIC + (ENVELOPE_BYTES - 8).to_bytes(4, "little") + b"SWZ")
    return schema + (end[first:] if first >= 0 else b"")


def _runs(runs: pl.DataFrame) -> pl.DataFrame:
    names = ("slice_ns", "start_ns", "end_ns", "left_out", "damaged", "late")
    return runs.select(SOURCE, "process", "storage", "type", "host", *(_number(name) for name in names))


def _number(name: str, most: int = MOST_NS) -> pl.Expr:
    return pl.when(pl.col(name) <= most).then(pl.col(name)).otherwise(0).cast(pl.Int64).alias(name)


def _rows(runs: pl.DataFrame, targets: pl.DataFrame, jobs: pl.DataFrame, slices: pl.DataFrame) -> pl.DataFrame:
    """Numbers that no server has are left out, with their rows."""
    known = runs.filter(pl.col("slice_ns").is_between(1, LONGEST_SLICE_NS))
    sound = slices.filter(pl.all_horizontal(pl.col(COUNTS) <= MOST), pl.col("slice") >= 0)
    begin = (pl.col("slice").cast(pl.Int64) * pl.col("slice_ns").cast(pl.Int64)).cast(pl.Int64)
    return (
        sound.join(known.select(*KEYS, "storage", "type", "slice_ns"), on=KEYS)
        .filter(pl.col("slice") < MOST_NS // pl.col("slice_ns").cast(pl.Int64))
        .join(targets.select(*KEYS, "target", "address", target_name="name"), on=[*KEYS, "target"], how="left")
        .join(jobs.select(*KEYS, "job", "is_client", job_name="name"), on=[*KEYS, "job"], how="left")
        .select(
            "storage",
            "type",
            pl.col("target_name").fill_null("").alias("target"),
            pl.col("address").cast(pl.String).fill_null(""),
            # Whose name was in a frame that is damaged: still a neighbour.
            pl.col("job_name").fill_null(pl.format("#{}", "job")).alias("job"),
            (pl.col("is_client").fill_null(0) > 0).alias("is_client"),
            begin.alias("begin_ns"),
            (begin + pl.col("slice_ns").cast(pl.Int64)).cast(pl.Int64).alias("end_ns"),
            *(pl.col(name).cast(pl.Int64) for name in COUNTS),
        )
        if sound.height
        else pl.DataFrame(schema=_schema())
    )


def _schema() -> dict[str, pl.DataType]:
    names: dict[str, pl.DataType] = dict.fromkeys(("storage", "type", "target", "address", "job"), pl.String())
    numbers = dict.fromkeys(("begin_ns", "end_ns", *COUNTS), pl.Int64())
    return names | {"is_client": pl.Boolean()} | numbers
