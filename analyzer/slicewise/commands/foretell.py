"""How long jobs would take side by side, foretold from a run of each alone: `slicewise foretell`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from slicewise.analysis.foretell.afterwards import misfits_seen
from slicewise.analysis.foretell.foretold import foretell as foretold
from slicewise.analysis.foretell.halfway import runs_off
from slicewise.catalog.sources import read_digests
from slicewise.errors import UserError
from slicewise.profile.files import job_places
from slicewise.report.foretell import foretell_words
from slicewise.report.tables import for_terminal
from slicewise.terminal.output import AsJson, OutputFile, write_json, write_text
from slicewise.terminal.progress import StepsDone

START = re.compile(r"(.+)@(\d+(?:\.\d+)?)")


def foretell(
    job: Annotated[
        list[str],
        typer.Argument(
            metavar="JOB[@SECONDS]...",
            help="The profile of a run alone of each job, and after how many seconds the job's I/O begins (0).",
        ),
    ],
    seen: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Profiles of jobs that ran side by side on the same file system, and of each of them alone.",
        ),
    ] = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Predict how long jobs would take side by side, from a standalone run of each.

    Example: slicewise foretell slicewise/sim-alone slicewise/post-alone@20 --seen slicewise
    """
    named = [_place_and_start(text) for text in job]
    places = job_places([path for path, _ in named])
    given = {place.resolve() for place in places}
    others = [place for place in job_places(seen or []) if place.resolve() not in given]
    digests = {place.resolve(): digest for place, digest in zip(places, read_digests(places), strict=True)}
    jobs = []
    for path, start in named:
        if path.resolve() not in digests:
            raise UserError(f"{path}: is not one job's profile; give the job's own directory")
        jobs.append((digests[path.resolve()], start))
    found = foretold(jobs, read_digests(others), StepsDone("Tried {done} of {total} laws of sharing ..."))
    off, misfits = runs_off(found), misfits_seen(found)
    if json:
        write_json(foretell_words.record(found, off, misfits), output)
        return
    write_text([*foretell_words.lines(found, off, misfits), "", for_terminal(foretell_words.table(found))], output)


def _place_and_start(text: str) -> tuple[Path, float]:
    match = START.fullmatch(text)
    if match is None or Path(text).exists():
        return Path(text), 0.0
    return Path(match[1]), float(match[2])
