"""What file servers counted by job, from what a site has kept of it: the door for all forms.

Files in, a frame out: what each job (or client) did in the time between two readings.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

import polars as pl

from slicewise.digest.clients import ALLOCATIONS_SCHEMA, with_jobs
from slicewise.errors import UserError
from slicewise.imports import served_tables
from slicewise.imports.accounting import is_accounting, read_accounting
from slicewise.imports.served_counts import READING_SCHEMA, SERVED_SCHEMA, done_between
from slicewise.imports.served_tables import Kept
from slicewise.imports.served_texts import Texts, lines_of
from slicewise.profile.files import SERVERS_NAME, SUFFIX, is_of_servers, unreadable
from slicewise.profile.servers import is_profile, read_servers
from slicewise.text import words

__all__ = ["SERVED_SCHEMA", "read_served"]

DAY_NS = 86400 * 10**9
CHUNK_BYTES = 1 << 20
HEAD_BYTES = 1 << 16
# What commands make beside profiles.
PAGE_SUFFIX = ".html"
# A table is held in memory whole.
MOST_TABLE_BYTES = 4 << 30
GZIP, XZ, BZIP, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"\x28\xb5\x2f\xfd"
NO_COUNTS = "holds no job_stats; give what `lctl get_param obdfilter.*.job_stats` said, sampled"
LOOK_SCHEMA = {"target": pl.String, "time_ns": pl.Int64}


def read_served(
    paths: Sequence[Path],
    tell: Callable[[str], None] = lambda line: None,
    between: tuple[int, int] | None = None,
) -> pl.DataFrame:
    """What servers counted by job, as SERVED_SCHEMA: target, job, begin_ns, end_ns (UNIX time), what was done between.

    paths: profiles of servers, and logs in any of the forms of docs/imports.md, packed or not; directories stand for
    the files in them. A scheduler's accounting among them says which jobs clients were. A counter that began anew
    (cleared, a restarted or another server) counts from there on. The first reading of a job counts only if the text
    says since when the server knew it, or if an earlier one did not have it. tell: takes a line for what is damaged and
    left out. between: profiles of other days are passed over (UNIX time, ns). Raises UserError for files without any
    counts.
    """
    allocations = [pl.DataFrame(schema=ALLOCATIONS_SCHEMA)]
    readings, looks, rows = [], [pl.DataFrame(schema=LOOK_SCHEMA)], [pl.DataFrame(schema=SERVED_SCHEMA)]
    for path in files_of(paths):
        if between is not None and not _may_hold(path, between):
            continue
        if path.is_dir():
            rows.append(_of_profile(path, tell))
            continue
        had = _accounting(path)
        if had is not None:
            allocations.append(had)
            continue
        found, seen, kept, damaged = _read(path, tell)
        readings.append(found)
        looks.append(seen)
        rows.append(kept)
        if damaged:
            tell(f"{path}: {words.count(damaged, 'entry', 'entries')} of it are cut or damaged, and were left out")
    if readings:
        done, odd = done_between(pl.concat(readings), pl.concat(looks))
        rows.append(done)
        if odd:
            tell(f"{words.count(odd, 'count')} grew faster than any server can serve, and were left out")
    counted = with_jobs(_without_doubles(pl.concat(rows)), pl.concat(allocations))
    return counted.sort("begin_ns", "job", "target", "end_ns")


def accounting_of(places: Sequence[Path]) -> pl.DataFrame:
    """Which job had which nodes when (ALLOCATIONS_SCHEMA), by those of some files that are a scheduler's."""
    found = [_accounting(path) for path in files_of(places)]
    return pl.concat([pl.DataFrame(schema=ALLOCATIONS_SCHEMA), *(one for one in found if one is not None)])


def _accounting(path: Path) -> pl.DataFrame | None:
    """None: the file is none of a scheduler's."""
    if not path.is_file() or path.suffix == SUFFIX:
        return None
    chunks = _chunks(path)
    head = _head(chunks)
    return read_accounting(path, _whole(path, head, chunks)) if is_accounting(head) else None


def _may_hold(path: Path, between: tuple[int, int]) -> bool:
    """Whether the profile of a day may have something of a time."""
    found = SERVERS_NAME.fullmatch(path.name)
    if found is None:
        return True
    begin_ns = int(datetime.fromisoformat(found[1]).replace(tzinfo=timezone.utc).timestamp()) * 10**9
    return begin_ns - DAY_NS < between[1] and begin_ns + 2 * DAY_NS > between[0]


def _without_doubles(rows: pl.DataFrame) -> pl.DataFrame:
    """Leaves out clients of targets that count by job: these counts are the same bytes again."""
    if not rows["is_client"].any():
        return rows
    by_job = rows.remove(pl.col("is_client"))["target"].unique()
    return rows.filter(~(pl.col("is_client") & pl.col("target").is_in(by_job.implode())))


def files_of(paths: Sequence[Path]) -> Iterator[Path]:
    """The profiles and logs at some places: a directory that is no profile stands for what is in it."""
    for path in paths:
        if path.is_dir() and any(path.glob(f"*{SUFFIX}")):
            yield path
        elif path.is_dir():
            there = (one for one in path.iterdir() if one.is_file() and not one.name.startswith("."))
            yield from sorted(one for one in there if one.suffix != PAGE_SUFFIX)
            # Jobs' profiles may lie beside those of servers.
            yield from sorted(one for one in path.iterdir() if is_of_servers(one) and any(one.glob(f"*{SUFFIX}")))
        else:
            yield path


def _of_profile(path: Path, tell: Callable[[str], None]) -> pl.DataFrame:
    rows = read_servers([path], tell).rows
    # The name of a target without one is that of the whole file system. Clients know an NFS server by its address.
    name = pl.when(pl.col("target") == "").then("storage").otherwise("target")
    named = rows.with_columns(target=pl.when(pl.col("address") != "").then("address").otherwise(name))
    return named.select(pl.col(name).cast(dtype) for name, dtype in SERVED_SCHEMA.items())


def _read(path: Path, tell: Callable[[str], None]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, int]:
    """Readings, looks, rows that are done, and how much was left out."""
    nothing = pl.DataFrame(schema=SERVED_SCHEMA)
    chunks = _chunks(path)
    head = _head(chunks)
    if is_profile(head):
        return pl.DataFrame(schema=READING_SCHEMA), pl.DataFrame(schema=LOOK_SCHEMA), _of_profile(path, tell), 0
    kept = _kept(path, head, chunks)
    if kept is not None:
        return kept.readings, pl.DataFrame(schema=LOOK_SCHEMA), kept.rows, kept.damaged
    made = Texts().read(lines_of(_joined(head, chunks)))
    if not made.is_any:
        raise UserError(f"{path}: {NO_COUNTS}")
    return made.frame(), made.look_frame(), nothing, made.damaged


def _kept(path: Path, head: bytes, chunks: Iterator[bytes]) -> Kept | None:
    """A file that is one of monitoring's; None: it is a text of a server."""
    for is_one, read in (
        (served_tables.is_json, served_tables.read_json),
        (served_tables.is_mmpmon, served_tables.read_mmpmon),
        (lambda text: path.suffixes[:1] == [".csv"] or served_tables.is_table(text), served_tables.read_table),
    ):
        if is_one(head):
            return read(path, _whole(path, head, chunks))
    return None


def _head(chunks: Iterator[bytes]) -> bytes:
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    return head


def _joined(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from chunks


def _whole(path: Path, head: bytes, chunks: Iterator[bytes]) -> bytes:
    parts, size = [head], len(head)
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > MOST_TABLE_BYTES:
            raise UserError(f"{path}: is larger than {words.size(MOST_TABLE_BYTES)} unpacked; give it in parts")
    return b"".join(parts)


def _chunks(path: Path) -> Iterator[bytes]:
    """A file's bytes, unpacked. What is whole of a packed one that is cut comes all the same.

    Raises UserError where nothing can be read.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(6)
            file.seek(0)
            if magic[:4] == ZSTD:
                yield _of_zstd(file)
                return
            yield from _unpacked(file, magic)
    except OSError as error:
        if error.errno is None:  # of gzip and bz2: damaged
            raise UserError(f"{path}: cannot be read ({error}); give what servers counted by job") from None
        raise UserError(unreadable(path, error)) from None
    except (pl.exceptions.PolarsError, lzma.LZMAError, zlib.error) as error:
        raise UserError(f"{path}: cannot be read ({error}); give what servers counted by job") from None


def _unpacked(file: IO[bytes], magic: bytes) -> Iterator[bytes]:
    stream: IO[bytes] = file
    if magic.startswith(GZIP):
        stream = gzip.GzipFile(fileobj=file)  # type: ignore[assignment]
    elif magic.startswith(XZ):
        stream = lzma.LZMAFile(file)  # noqa: SIM115
    elif magic.startswith(BZIP):
        stream = bz2.BZ2File(file)
    is_first = True
    while True:
        try:
            chunk = stream.read1(CHUNK_BYTES) if hasattr(stream, "read1") else stream.read(CHUNK_BYTES)
        except (EOFError, OSError, lzma.LZMAError, zlib.error):
            if is_first:
                raise OSError("its packed form is damaged") from None
            return
        if not chunk:
            return
        yield chunk
        is_first = False


def _of_zstd(file: IO[bytes]) -> bytes:
    """Polars unpacks it as it would a table: lines as one column."""
    lines = pl.read_csv(
        file.read(),
        has_header=False,
        separator="\x1e",
        quote_char=None,
        infer_schema=False,
        encoding="utf8-lossy",
        truncate_ragged_lines=True,
        new_columns=["line"],
    )
    return "\n".join(lines["line"].fill_null("").to_list()).encode() + b"\n"
