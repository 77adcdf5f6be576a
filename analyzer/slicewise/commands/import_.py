"""Turn other profilers' logs into profiles: Darshan, DFTracer, CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from slicewise.errors import UserError
from slicewise.imports.job import ImportedJob, Mount
from slicewise.imports.write import write_profile
from slicewise.terminal.output import AsJson, OutputFile, write_json, write_text
from slicewise.terminal.shared_options import SliceSeconds
from slicewise.text import words
from slicewise.text.safe_text import say

SLICE_SECONDS = 4.0
SOME_REFUSED, NONE_IMPORTED = 1, 2
app = typer.Typer(add_completion=False, rich_markup_mode=None)

Into = Annotated[
    Path, typer.Option("--into", metavar="DIR", help="Where to write: each job in a directory of its name.")
]
DEFAULT_INTO = Path("slicewise")
Mounts = Annotated[
    list[str] | None,
    typer.Option(
        "--mount",
        metavar="POINT=TYPE,SOURCE",
        help="What is mounted at POINT, as `slicewise info` of a profile says it; may be repeated.",
    ),
]


@app.callback(invoke_without_command=True)
def _import(context: typer.Context) -> None:
    """Turn other profilers' logs into profiles: Darshan, DFTracer, CSV.

    Each job becomes a directory that every command takes where it takes a PROFILE.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("csv")
def csv_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="CSV files; docs/imports.md has the columns.")],
    into: Into = DEFAULT_INTO,
    slice_seconds: SliceSeconds = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Import CSV files with a call, or several calls in sum, in each row.

    Example: slicewise import csv calls.csv --into imported
    """
    from slicewise.imports.csv_rows import read_csv

    _write(read_csv(files, _slice_ns(slice_seconds)), [], into, json, output)


@app.command()
def darshan(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG...", help="Darshan logs; those of one job become one profile.")
    ],
    heat_map: Annotated[
        bool, typer.Option("--heat-map", help="Use heat maps even where there is DXT, as where DXT was cut short.")
    ] = False,
    mount: Mounts = None,
    shift: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="How many seconds the clock of the logs' machine was behind: Slicewise adds them to all times.",
        ),
    ] = 0.0,
    into: Into = DEFAULT_INTO,
    slice_seconds: SliceSeconds = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Import Darshan logs with DXT or heat maps (pip install 'slicewise[darshan]').

    Example: slicewise import darshan /logs/2026/11/22/*.darshan --into imported
    """
    from slicewise.imports.darshan import read_logs

    jobs, refused = read_logs(logs, _slice_ns(slice_seconds), heat_map, _mounts(mount), round(shift * 1e9))
    _write(jobs, refused, into, json, output)


@app.command()
def dftracer(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Traces of one job: .pfw or .pfw.gz.")],
    job: Annotated[
        str | None, typer.Option("--job", metavar="NAME", help="The job's name; else the first file's.")
    ] = None,
    mount: Mounts = None,
    cut: Annotated[bool, typer.Option("--cut", help="Take what there is of a trace whose end is missing.")] = False,
    into: Into = DEFAULT_INTO,
    slice_seconds: SliceSeconds = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Import DFTracer's traces; all files belong to one job.

    Example: slicewise import dftracer traces/*.pfw.gz --job 48213 --mount /p/lustre1=lustre,10.0.0.1@tcp:/l1
    """
    from slicewise.imports.dftracer import read_traces

    found = read_traces(files, job, _slice_ns(slice_seconds), _mounts(mount), cut)
    _write([found], [], into, json, output)


@app.command()
def recorder(
    directories: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Directories of traces.")],
) -> None:
    """Say why Recorder's traces are not read. They need a library of Recorder's own installation.

    Print them with its recorder2text, make CSV of them, and import that (docs/imports.md).

    Example: slicewise import csv calls.csv
    """
    raise UserError(
        f"{directories[0]}: Recorder's traces are read by libreader.so of its own installation alone, which no Python "
        "package has; print them with recorder2text and give: slicewise import csv (docs/imports.md)"
    )


def _mounts(texts: Sequence[str] | None) -> dict[str, Mount]:
    """What is mounted where, by mount point."""
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


def _write(jobs: Sequence[ImportedJob], refused: Sequence[str], into: Path, json: bool, output: Path | None) -> None:
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
    if json:
        write_json(told, output)
    else:
        write_text(lines, output)
    if refused:
        raise typer.Exit(SOME_REFUSED if told else NONE_IMPORTED)
