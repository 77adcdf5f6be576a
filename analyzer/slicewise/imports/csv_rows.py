"""CSV with documented columns (docs/imports.md): a call in a row, or several calls that are known in sum."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slicewise.constants import SECOND_NS
from slicewise.contract import job_name
from slicewise.digest.processes import unknown_node
from slicewise.errors import UserError, mended_by
from slicewise.imports.job import WAYS, BadLine, Gathered, ImportedJob, Met, Mount, Process, identity, refuse_lines
from slicewise.kinds import KINDS
from slicewise.profile.plausible import MOST_NS, MOST_OF_ANYTHING

SOURCE = "CSV"
REQUIRED = ("begin", "end", "kind", "bytes")
OPTIONAL = (
    "job", "node", "process", "rank", "program", "user", "mount", "type", "source", "path", "calls", "seconds",
)  # fmt: skip
# A number of seconds with at most 9 digits behind the point: a nanosecond.
SECONDS = re.compile(r"(\d{1,10})(?:\.(\d{1,9})0*)?")
WHOLE = re.compile(r"\d{1,19}")
UNKNOWN = "unknown"
LAYER = "posix"


@dataclass
class _CsvJob(Gathered):
    name: str = ""
    user: int = 0
    who: dict[tuple[str, str], Met] = field(default_factory=dict)


def read_csv(files: Sequence[Path], slice_ns: int) -> list[ImportedJob]:
    """The jobs of some files. Raises UserError for a file that cannot be read, and for rows that say nothing sensible,
    by their lines."""
    jobs: dict[str, _CsvJob] = {}
    for file in files:
        _read(file, jobs)
    return [_made(job, slice_ns) for job in jobs.values()]


def _read(file: Path, jobs: dict[str, _CsvJob]) -> None:
    bad: list[str] = []
    count = 0
    try:
        with (
            mended_by(f"{file}: cannot be read", "name a CSV file"),
            file.open(newline="", encoding="utf-8-sig") as text,
        ):
            rows = csv.reader(text, strict=True)
            names = [name.strip() for name in next(rows, [])]
            _require_columns(file, names)
            for row in rows:
                if not row:
                    continue
                try:
                    if len(row) != len(names):
                        raise BadLine(f"has {len(row)} fields, and there are {len(names)} columns")
                    _take(dict(zip(names, (value.strip() for value in row), strict=True)), file, jobs)
                    count += 1
                except BadLine as error:
                    bad.append(f"line {rows.line_num} {error}")
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{file}: is no CSV in UTF-8 ({error}); see docs/imports.md for the columns") from error
    refuse_lines(file, bad)
    if not count:
        raise UserError(f"{file}: has no rows; see docs/imports.md for the columns")


def _require_columns(file: Path, names: Sequence[str]) -> None:
    wrong = [
        *(f"has no column {name}" for name in REQUIRED if name not in names),
        *(f"has a column {name!r} that is not known" for name in names if name not in (*REQUIRED, *OPTIONAL)),
        *(f"has the column {name} twice" for name in dict.fromkeys(names) if names.count(name) > 1),
    ]
    if wrong:
        raise UserError(f"{file}: {wrong[0]}; columns are {', '.join((*REQUIRED, *OPTIONAL))}")


def _take(row: Mapping[str, str], file: Path, jobs: dict[str, _CsvJob]) -> None:
    kind = row["kind"]
    if kind not in KINDS:
        raise BadLine(f"has the kind {kind!r}, which is none of {', '.join(KINDS)}")
    begin_ns, end_ns = _ns(row, "begin"), _ns(row, "end")
    if end_ns < begin_ns:
        raise BadLine("ends before it begins")
    moved = _whole(row, "bytes", MOST_OF_ANYTHING)
    if moved and kind not in WAYS:
        raise BadLine(f"moves bytes, which no {kind} call does")
    calls = _whole(row, "calls", MOST_OF_ANYTHING) if row.get("calls") else 1
    if moved and not calls:
        raise BadLine("moves bytes in no calls")
    busy_ns = _ns(row, "seconds") if row.get("seconds") else end_ns - begin_ns
    rank = _whole(row, "rank", MOST_OF_ANYTHING) if row.get("rank") else -1
    user = _whole(row, "user", MOST_NS) if row.get("user") else 0
    name = job_name(row.get("job") or file.stem)
    job = jobs.setdefault(name, _CsvJob(name=name))
    job.user = max(job.user, user)
    key = (row.get("node") or unknown_node(), row.get("process") or str(max(rank, 0)))
    who = job.who.setdefault(key, Met(len(job.who), begin_ns, end_ns, row.get("program") or UNKNOWN, rank))
    who.calls(begin_ns, end_ns)
    mount = Mount(row.get("mount") or "/", row.get("type") or UNKNOWN, row.get("source") or "")
    path = job.paths(row["path"]) if row.get("path") else -1
    place = job.mounts(mount)
    job.rows.append((who.place, place, path, LAYER, kind, begin_ns, end_ns, moved, calls, busy_ns, calls != 1))
    if kind in WAYS:
        job.moved[LAYER, kind] += moved


def _ns(row: Mapping[str, str], column: str) -> int:
    """Seconds as ns, digit by digit: a float would round them."""
    found = SECONDS.fullmatch(row[column])
    if found is None:
        raise BadLine(f"has {row[column]!r} in {column}: not seconds with at most 9 digits behind the point")
    ns = int(found[1]) * SECOND_NS + int((found[2] or "").ljust(9, "0"))
    if ns > MOST_NS:
        raise BadLine(f"has {row[column]!r} in {column}: later than any clock tells")
    return ns


def _whole(row: Mapping[str, str], column: str, most: int) -> int:
    if WHOLE.fullmatch(row[column]) is None or int(row[column]) > most:
        raise BadLine(f"has {row[column]!r} in {column}: not a whole number that a job can have")
    return int(row[column])


def _made(job: _CsvJob, slice_ns: int) -> ImportedJob:
    ranks = max((who.rank + 1 for who in job.who.values()), default=0)
    processes = [
        Process(
            number=identity(SOURCE, job.name, node, process, who.begin_ns),
            host=node,
            pid=int(process) if WHOLE.fullmatch(process) else who.place + 1,
            program=who.program,
            start_ns=who.begin_ns,
            end_ns=who.end_ns,
            rank=who.rank,
            ranks=ranks,
        )
        for (node, process), who in job.who.items()
    ]
    return job.job(job.name, SOURCE, job.user, slice_ns, processes)
