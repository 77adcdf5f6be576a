"""Which job had which nodes when, as a scheduler's accounting says: sacct's text, or a table of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import polars as pl

from slicewise.constants import SECOND_NS
from slicewise.digest.clients import ALLOCATIONS_SCHEMA
from slicewise.errors import UserError
from slicewise.imports.served_times import stamp_ns

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
    try:
        table = pl.read_csv(
            text,
            infer_schema=False,
            separator=_separator(head),
            encoding="utf8-lossy",
            truncate_ragged_lines=True,
        )
    except pl.exceptions.PolarsError as error:
        raise UserError(f"{path}: is no table of jobs ({str(error).splitlines()[0]})") from None
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
    return [name.strip().strip('"').lower() for name in head.rstrip("\r\n").split(_separator(head))]


def _separator(head: str) -> str:
    return max(SEPARATORS, key=head.count)


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
