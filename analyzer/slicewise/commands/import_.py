"""Turn other profilers' logs into profiles: Darshan, CSV, and servers' counts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from slicewise.errors import UserError
from slicewise.imports.job import ImportedJob, Mount
from slicewise.imports.write import write_profile
from slicewise.terminal.output import write_answer
from slicewise.text import words
from slicewise.text.safe_text import say

SLICE_SECONDS = 4.0
SOME_REFUSED, NONE_IMPORTED = 1, 2


def csv_(files: list[Path], into: Path, slice_seconds: float | None) -> None:
    from slicewise.imports.csv_rows import read_csv

    _write(read_csv(files, _slice_ns(slice_seconds)), [], into)


def darshan(
    logs: list[Path], heat_map: bool, mount: list[str], shift: float, into: Path, slice_seconds: float | None
) -> None:
    from slicewise.imports.darshan import read_logs

    jobs, refused = read_logs(logs, _slice_ns(slice_seconds), heat_map, _mounts(mount), round(shift * 1e9))
    _write(jobs, refused, into)


def jobstats(logs: list[Path], storage: str | None, into: Path, slice_seconds: float | None) -> None:
    from slicewise.imports.jobstats import read_served
    from slicewise.imports.write_servers import write_servers

    source = "\0".join(str(log.resolve()) for log in logs)
    written, left_out = write_servers(read_served(logs, say), _slice_ns(slice_seconds), into, source, storage or "")
    if not written:
        raise UserError(
            f"{logs[0]}: no count changed between two samples of it; sample at least twice while jobs do I/O, "
            "with `date +%s` before each sample"
        )
    if left_out:
        say(f"{words.size(left_out)} from more than a day before the first sample are left out: nobody knows when")
    if not all(one.storage for one in written):
        say(
            "the logs name no file system: a catalog cannot tell whose neighbours these jobs are; import them with "
            "--storage NAME (of Lustre: its fsname)"
        )
    lines = [
        f"{one.path}: {words.count(one.jobs, 'job')} on {words.count(one.targets, 'target')} "
        f"{words.wrote_and_read(one.write_bytes, one.read_bytes)}"
        for one in written
    ]
    write_answer(lambda: written, lines)


def _mounts(texts: Sequence[str] | None) -> dict[str, Mount]:
    found = {}
    for text in texts or ():
        point, _, what = text.partition("=")
        kind, _, source = what.partition(",")
        if not (point.startswith("/") and kind and source):
            raise UserError(
                f"--mount {text}: is none of the form POINT=TYPE,SOURCE, such as /scratch=lustre,10.0.0.1@tcp:/scratch"
            )
        found[point] = Mount(point, kind, source)
    return found


def _slice_ns(seconds: float | None) -> int:
    return round((seconds or SLICE_SECONDS) * 1e9)


def _write(jobs: Sequence[ImportedJob], refused: Sequence[str], into: Path) -> None:
    """Write the jobs and say what became of all; exit status 1 if there are some that were refused."""
    told: list[dict[str, Any]] = []
    lines: list[RenderableType] = []
    refused = list(refused)
    for job in jobs:
        try:
            place = write_profile(job, into)
        except UserError as error:
            refused.append(str(error))
            continue
        moved = {way: sum(count for (_, one), count in job.moved.items() if one == way) for way in ("read", "write")}
        told.append(
            {
                "job": job.name,
                "profile": str(place),
                "source": job.source,
                "processes": len(job.processes),
                "read_bytes": moved["read"],
                "write_bytes": moved["write"],
                "notes": list(job.notes),
            }
        )
        who = words.count(len(job.processes), "process")
        did = words.wrote_and_read(moved["write"], moved["read"])
        lines += [f"{place}: {who} {did} (from {job.source})", *(f"{place}: {note}" for note in job.notes)]
    if not told and len(refused) == 1:
        raise UserError(refused[0])
    for line in refused:
        say(line)
    write_answer(lambda: told, lines)
    if refused:
        raise SystemExit(SOME_REFUSED if told else NONE_IMPORTED)
