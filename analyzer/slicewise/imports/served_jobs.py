"""Jobs that file servers counted, each as a job of its own. Their time is that of requests, which overlap, not of
calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from slicewise.constants import SECOND_NS
from slicewise.contract import layers_of
from slicewise.digest.clients import with_jobs
from slicewise.digest.processes import SERVED as SOURCE
from slicewise.digest.processes import unknown_node
from slicewise.digest.storages import BEEGFS, BEEGFS_SOURCE, SERVERS
from slicewise.equal_rows import rows_of
from slicewise.imports.events import SCHEMA, events, slices_of
from slicewise.imports.job import ImportedJob, Mount, Process, identity
from slicewise.imports.jobstats import accounting_of, files_of, read_served, without_doubles
from slicewise.imports.write import OF_JOBS, frames_of_process
from slicewise.imports.write_servers import write_servers
from slicewise.profile.files import SUFFIX, is_of_servers
from slicewise.profile.servers import read_in_parts, read_servers

# Into such slices logs are cut: what is sampled oftener than once a second is rare.
SLICE_NS = SECOND_NS
UNKNOWN = "unknown"
# A scheduler's accounting has such a name where it is looked for.
TABLES = (".txt", ".csv", ".tsv")
# What tells storages apart, and how many rows are made profiles of at once: it bounds memory.
TOLD_BY = ["storage", "type", "address"]
ROWS_AT_ONCE = 50_000
NO_EVENTS = pl.DataFrame(schema=SCHEMA)
REQUESTS, CALLS = layers_of("request")[0], layers_of("call")[0]


def program_of(job: str) -> tuple[str, int]:
    """The program and the user that a job id names (program.uid), or neither."""
    program, _, user = job.rpartition(".")
    is_user = bool(program) and user.isascii() and user.isdecimal() and len(user) < 11 and not program.isdecimal()
    return (program, int(user)) if is_user else (UNKNOWN, 0)


def mount_of(storage: str, type: str, address: str) -> Mount:
    """The file system as its clients mount it, so that it is the same storage as theirs."""
    point = f"/{storage.strip('/')}" if storage else "/unnamed"
    if type == "lustre":
        return Mount(point, type, f"{SOURCE}:/{storage}")
    if type == storage == BEEGFS:  # nobody said what clients mount
        return Mount(point, type, BEEGFS_SOURCE)
    return Mount(point, type or UNKNOWN, f"{address or storage}:/" if type in SERVERS else storage)


def _beside(place: Path) -> pl.DataFrame:
    """What a scheduler's accounting in the directory of a profile of servers says."""
    above = place.parent if place.is_dir() else place.parent.parent
    return accounting_of([one for one in above.iterdir() if one.suffix in TABLES])


def write_job(name: str, places: Sequence[Path], into: Path) -> Path | None:
    """The one job of a name, on all file systems and days that some places tell of, as a profile in `into`, a directory
    of ours alone; None where they know none. places: as of `jobstats.read_served`.
    """
    files = list(files_of(places))
    of_servers = [place for place in files if is_of_servers(place)]
    logs = [place for place in files if not is_of_servers(place)]
    if logs:
        slice_ns = read_servers(of_servers).runs["slice_ns"].max() if of_servers else None
        written, _ = write_servers(read_served(logs), int(slice_ns or SLICE_NS), into / "logs", "")  # type: ignore[arg-type]
        of_servers += [one.path for one in written]
    if not of_servers:
        return None
    found = read_servers(of_servers)
    own = with_jobs(without_doubles(found.rows), accounting_of(logs)).filter(pl.col("job") == name)
    if own.is_empty():
        return None
    path = into / f"{identity(SOURCE, name):x}{SUFFIX}"
    (content,) = _profiles(own, "", int(found.runs["slice_ns"].max() or 0), ["job"])  # type: ignore[arg-type]
    path.write_bytes(content)
    return path


def write_jobs(place: Path, into: Path) -> Iterator[Path]:
    """Each job of a profile of servers, most of its systems and days, as a file of `into`. Raises UserError."""
    day, number = place.name if place.is_dir() else place.parent.name, 0
    accounting = _beside(place)
    for found in read_in_parts(place):
        slice_ns = int(found.runs["slice_ns"].max() or 0)  # type: ignore[arg-type]
        rows = with_jobs(without_doubles(found.rows), accounting)
        for content in _profiles(rows, day, slice_ns, ["job", "storage", "type"]):
            file = into / f"{number}.swz"
            file.write_bytes(content)
            number += 1
            yield file


def _profiles(rows: pl.DataFrame, where: str, slice_ns: int, by: Sequence[str]) -> Iterator[bytes]:
    """What servers counted as profiles, each of rows of the same `by`. where: what tells jobs of one name apart."""
    storages = rows.select(TOLD_BY).unique(maintain_order=True).with_row_index("mount")
    mounts = [mount_of(*place) for _, *place in storages.iter_rows()]
    rows = rows.join(storages, on=TOLD_BY, maintain_order="left")
    rows = rows.sort(by, maintain_order=True).with_columns(place=pl.struct(by).rle_id().cast(pl.Int64))
    about = rows.group_by("place", maintain_order=True).agg(
        pl.col("job", "storage").first(),
        pl.col("is_client").all(),
        start_ns=pl.col("begin_ns").min(),
        end_ns=pl.col("end_ns").max(),
        rows=pl.len(),
    )
    about = about.with_columns(part=pl.col("rows").cum_sum() // ROWS_AT_ONCE)
    for some in about.partition_by("part", maintain_order=True):
        here = rows.filter(pl.col("place").is_between(some["place"][0], some["place"][-1]))
        cut = slices_of(pl.concat([_events(here, kind) for kind in ("read", "write", "meta")]), slice_ns)
        of_slices = rows_of(cut, "process")
        for place, name, storage, is_client, start_ns, end_ns, *_ in some.iter_rows():
            program, user = (UNKNOWN, 0) if is_client else program_of(name)
            number = identity(SOURCE, f"{where}\0{storage}" if where else "", name)
            host = name if is_client else unknown_node()
            process = Process(number, host, 1, program, start_ns, end_ns)
            job = ImportedJob(name, SOURCE, user, slice_ns, [process], mounts, [], NO_EVENTS, {})
            own = cut.slice(*of_slices.get(place, (0, 0)))
            yield b"".join([OF_JOBS.schema_frame, *frames_of_process(job, 0, own)])


def _events(own: pl.DataFrame, kind: str) -> pl.DataFrame:
    """What was served of one kind, in each slice in sum."""
    moves = kind != "meta"
    moved = own.filter(pl.col(f"{kind}_ops") + (pl.col(f"{kind}_bytes") if moves else 0) > 0)
    both = pl.max_horizontal(pl.col("read_ops") + pl.col("write_ops"), 1)
    return events(
        moved.select(
            process="place",
            mount=pl.col("mount").cast(pl.Int64),
            file=pl.lit(-1, pl.Int64),
            layer=pl.lit(REQUESTS if moves else CALLS),
            kind=pl.lit(kind),
            begin_ns="begin_ns",
            end_ns="end_ns",
            bytes=pl.col(f"{kind}_bytes") if moves else pl.lit(0, pl.Int64),
            calls=f"{kind}_ops",
            # Servers tell the time of both ways together: each has its share by requests.
            busy_ns=pl.col("busy_ns") * pl.col(f"{kind}_ops") // both if moves else pl.lit(0, pl.Int64),
            is_in_sum=pl.lit(True),
        ).to_dict(as_series=True)
    )
