"""What file servers counted by job (or client), from what a site has kept of it: the door for all forms."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import IO

import polars as pl

from slicewise.constants import DAY_NS, SECOND_NS
from slicewise.digest.clients import ALLOCATIONS_SCHEMA, with_jobs
from slicewise.errors import UserError
from slicewise.imports import beegfs_texts, served_tables
from slicewise.imports.served_counts import SERVED_SCHEMA, UNNAMED, done_between, stamp_ns
from slicewise.imports.served_tables import LOOK_SCHEMA, FileCounts, csv_table
from slicewise.imports.served_texts import lines_of, read_texts
from slicewise.profile.files import SERVERS_NAME, SUFFIX, is_of_servers, unreadable
from slicewise.profile.servers import is_profile, read_servers
from slicewise.text import words

JOBS = ("jobidraw", "jobid", "job_id", "job")
NODES = ("nodelist", "nodes", "hosts", "exec_host", "exec_hosts")
BEGINS = ("start", "begin", "start_time", "starttime")
ENDS = ("end", "end_time", "endtime", "finish_time")
SEPARATORS = "|,;\t"
# A job that still runs has no end.
NEVER = (1 << 62) - 1
MOST_NODES = 1 << 16
RANGE = re.compile(r"^(?P<before>[^\[\]]*)\[(?P<inside>[^\[\]]*)\](?P<behind>.*)$")
# Of Slurm: a job's steps. A job of PBS has its server's name behind the point.
STEP = re.compile(r"\.(?:batch|extern|interactive|\d+)$")
# PBS' own log: 11/26/2026 11:00:00;E;12.pbs01;user=bob exec_host=n1/0*8 start=1795687200 end=1795690800
PBS = re.compile(rb"^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;\w;", re.MULTILINE)
PBS_ENDED = re.compile(
    r"^[^;\n]*;E;(?P<job>[^;\n]+);(?=.* ?exec_host=(?P<nodes>\S+))(?=.* start=(?P<start>\d+)).* end=(?P<end>\d+)", re.M
)
# Of LSF: Nov 26 10:00, with a letter where it is an estimate, and with a year only if the site wants one.
LSF = re.compile(r"^[A-Z][a-z]{2} +\d+ +\d+:\d\d(?::\d\d)?(?= *[A-Z]?$)")
# Of PBS n1/0*8+n2/0*8, of LSF 8*n1:8*n2: what is not a node's name.
SLOTS = re.compile(r"^\d+\*|/.*$|\*\d+$")
BETWEEN_NODES = re.compile(r"[,+:\s]+(?![^\[]*\])")


def is_accounting(head: bytes) -> bool:
    """Whether a text is PBS' log, or a table with a job, its nodes and its start in its first line."""
    if PBS.match(head) is not None:
        return True
    names = _names(head.lstrip(b"\xef\xbb\xbf\r\n ").split(b"\n", 1)[0].decode("utf-8", "replace"))
    return all(any(name in names for name in some) for some in (JOBS, NODES, BEGINS))


def read_accounting(path: Path, text: bytes) -> pl.DataFrame:
    """Who had which node when, as ALLOCATIONS_SCHEMA (local time without a zone). Raises UserError."""
    if PBS.match(text) is not None:
        return _allocations(path, PBS_ENDED.findall(text.decode("utf-8", "replace")))
    text = text.lstrip(b"\xef\xbb\xbf\r\n ")
    head = text.split(b"\n", 1)[0].decode("utf-8", "replace")
    table = csv_table(path, text, "jobs", SEPARATORS)
    names = dict(zip(_names(head), table.columns, strict=False))
    columns = [next((names[one] for one in some if one in names), None) for some in (JOBS, NODES, BEGINS, ENDS)]
    return _allocations(
        path,
        table.select(
            pl.lit(None, pl.String).alias(str(place)) if name is None else pl.col(name).alias(str(place))
            for place, name in enumerate(columns)
        ).rows(),
    )


def _allocations(path: Path, jobs: Sequence[tuple[str | None, ...]]) -> pl.DataFrame:
    """jobs: name, nodes, begin, end."""
    rows = [
        (node, job, begin, end)
        for job, nodes, start, finish in jobs
        if job and not STEP.search(job) and (begin := _time_ns(start)) is not None
        for end in [_time_ns(finish) or NEVER]
        for node in nodes_in(nodes or "")
    ]
    odd = next((start for _, _, start, _ in jobs if any(map(str.isdigit, start or ""))), None)
    if odd and not rows:
        raise UserError(f"{path}: names no job's nodes at a known time (but {odd!r}); give UNIX time or ISO 8601")
    return pl.DataFrame(rows, schema=ALLOCATIONS_SCHEMA, orient="row")


def nodes_in(text: str) -> Iterator[str]:
    """The nodes that a scheduler's list means: n1,gpu[01-03,7], n1/0*8+n2/0*8, 8*n1:8*n2. At most MOST_NODES."""
    left = MOST_NODES
    for part in BETWEEN_NODES.split(text.strip()):
        for node in _expanded(part):
            if left and node:
                left -= 1
                yield SLOTS.sub("", node)


def _expanded(part: str) -> Iterator[str]:
    found = RANGE.match(part)
    if found is None:
        yield part
        return
    for one in found["inside"].split(","):
        first, dash, last = one.partition("-")
        if dash and not (first.isdecimal() and last.isdecimal() and int(last) - int(first) < MOST_NODES):
            continue
        numbers = range(int(first), int(last) + 1) if dash else [first]
        for number in numbers:
            yield from _expanded(f"{found['before']}{str(number).zfill(len(first))}{found['behind']}")


def _names(head: str) -> list[str]:
    return [name.strip().strip('"').lower() for name in head.rstrip("\r\n").split(max(SEPARATORS, key=head.count))]


def _time_ns(text: str | None) -> int | None:
    """A time (UNIX time, ns); None where there is none: Unknown, N/A."""
    given = (text or "").strip()
    try:
        return min(int(datetime.fromisoformat(given).astimezone().timestamp()) * SECOND_NS, NEVER)
    except (ValueError, OverflowError):
        pass
    if (found := LSF.match(given)) is not None:  # the last such day
        now = datetime.now().astimezone()
        given = f"{found[0]}{':00' * (found[0].count(':') == 1)} {now.year}"
        stamp = stamp_ns(given)
        if stamp is not None and stamp[0] > (now.timestamp() + 86400 * 31) * 1e9:
            stamp = stamp_ns(f"{given[:-4]}{now.year - 1}")
    else:
        stamp = stamp_ns(given) if given else None
    return stamp[0] if stamp is not None else None


__all__ = ["SERVED_SCHEMA", "read_served"]

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 1 << 16
# What commands make beside profiles.
PAGE_SUFFIX = ".html"
# A table is held in memory whole.
MOST_TABLE_BYTES = 4 << 30
GZIP, XZ, BZIP, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"\x28\xb5\x2f\xfd"
NO_COUNTS = "holds no job_stats; give what `lctl get_param obdfilter.*.job_stats` said, or CSV (docs/imports.md)"
# In a file's name: 1795000000, 2026-11-27T06:09:35Z, the 2 of log.2.gz; not that of oss2.
OF_A_TIME = re.compile(r"(?<![^\W\d_])\d+(?:T\d+)?Z?")


def read_served(
    paths: Sequence[Path], tell: Callable[[str], None] = lambda line: None, between: Sequence[tuple[int, int]] = ()
) -> pl.DataFrame:
    """What servers counted by job, as SERVED_SCHEMA: target, job, begin_ns, end_ns (UNIX time), what was done between.
    paths: profiles of servers, and logs in any of the forms of docs/imports.md, packed or not; directories stand for
    the files in them. A scheduler's accounting among them says which jobs clients were. A counter that began anew
    (cleared, a restarted or another server) counts from there on. The first reading of a job counts only if the text
    says since when the server knew it, or if an earlier one did not have it. tell: takes a line for what is damaged and
    left out. between: profiles of other days are passed over, if any times are given (UNIX time, ns). Raises UserError
    for files without any counts.
    """
    allocations = [pl.DataFrame(schema=ALLOCATIONS_SCHEMA)]
    kept: list[FileCounts] = []
    servers: list[tuple[str, list[tuple[int, int]]]] = []
    rows = [pl.DataFrame(schema=SERVED_SCHEMA)]
    for path in files_of(paths):
        if between and not any(_may_hold(path, time) for time in between):
            continue
        if path.is_dir():
            rows.append(_of_profile(path, tell))
            continue
        had = _accounting(path)
        if had is not None:
            allocations.append(had)
            continue
        found = _read(path, tell)
        _number_unnamed(path, found, servers)
        kept += found
        if damaged := sum(one.damaged for one in found):
            tell(f"{path}: left out what is cut or damaged: {words.count(damaged, 'entry', 'entries')}")
    rows += [one.rows for one in kept]
    if kept:
        done, odd = done_between(pl.concat(one.readings for one in kept), pl.concat(one.looks for one in kept))
        rows.append(done)
        if odd:
            tell(f"{words.count(odd, 'count')} grew faster than any server can serve, and were left out")
    counted = with_jobs(without_doubles(pl.concat(rows)), pl.concat(allocations))
    return counted.sort("begin_ns", "job", "target", "end_ns")


def _number_unnamed(log: Path, found: Sequence[FileCounts], servers: list[tuple[str, list[tuple[int, int]]]]) -> None:
    """Tells apart the targets without names of several servers, in place: logs of one server have names that differ by
    a time or a number, and their times do not overlap. servers: the logs' names, and times, so far.
    """
    is_unnamed = pl.col("target").str.starts_with(UNNAMED)
    times = pl.concat([one.looks for one in found] or [pl.DataFrame(schema=LOOK_SCHEMA)]).filter(is_unnamed)["time_ns"]
    if times.is_empty():
        return
    first, last = int(times.min()), int(times.max())  # type: ignore[arg-type]
    name = str(log.with_name(OF_A_TIME.sub("", log.name)))
    number = 0
    for one, had in servers:
        if one == name and all(last < begin or end < first for begin, end in had):
            break
        number += 1
    else:
        had = []
        servers.append((name, had))
    had.append((first, last))
    target = pl.col("target").str.replace(f"^{UNNAMED}", f"{UNNAMED}{number}." if number else UNNAMED)
    for one_of in found:
        one_of.readings, one_of.looks = one_of.readings.with_columns(target), one_of.looks.with_columns(target)


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
    begin_ns = int(datetime.fromisoformat(found[1]).replace(tzinfo=timezone.utc).timestamp()) * SECOND_NS
    return begin_ns - DAY_NS < between[1] and begin_ns + 2 * DAY_NS > between[0]


def without_doubles(rows: pl.DataFrame) -> pl.DataFrame:
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


def _read(path: Path, tell: Callable[[str], None]) -> list[FileCounts]:
    chunks = _chunks(path)
    head = _head(chunks)
    if is_profile(head):
        return [FileCounts(rows=_of_profile(path, tell))]
    lines = lines_of(chain([head], chunks))
    if beegfs_texts.BATCH.search(head):
        return [beegfs_texts.read_beegfs(path, lines)]
    is_table = path.suffixes[:1] == [".csv"] or served_tables.is_table(head)
    for is_one, read in (
        (served_tables.JSON.match(head), served_tables.read_json),
        (served_tables.MMPMON.search(head), served_tables.read_mmpmon),
        (is_table, served_tables.read_table),
    ):
        if is_one:
            return [read(path, _whole(path, head, chunks))]
    made = read_texts(head, lines)
    if not any(one.is_any for one in made):
        raise UserError(f"{path}: {NO_COUNTS}")
    if any(one.is_mixed for one in made):
        raise UserError(f"{path}: has neither times nor names of targets; put `date +%s.%N` before each sample")
    return [FileCounts(one.frame(), looks=one.look_frame(), damaged=one.damaged) for one in made]


def _head(chunks: Iterator[bytes]) -> bytes:
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    return head


def _whole(path: Path, head: bytes, chunks: Iterator[bytes]) -> bytes:
    parts, size = [head], len(head)
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > MOST_TABLE_BYTES:
            raise UserError(f"{path}: is larger than {words.size(MOST_TABLE_BYTES)} unpacked; give it in parts")
    return b"".join(parts)


def _chunks(path: Path) -> Iterator[bytes]:
    """A file's bytes, unpacked, as far as it is whole. Raises UserError where nothing can be read."""
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
