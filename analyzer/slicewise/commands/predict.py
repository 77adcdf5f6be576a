"""How long jobs would take side by side, and how many copies of one may run so."""

from __future__ import annotations

import re
from pathlib import Path

from slicewise.analysis.predict.afterwards import misfits_seen
from slicewise.analysis.predict.halfway import runs_off
from slicewise.analysis.predict.predict import predict as predicted
from slicewise.catalog.sources import read_digests
from slicewise.commands.copies import copies as how_many
from slicewise.errors import UserError
from slicewise.profile.files import job_places
from slicewise.report.predict import predict_words
from slicewise.report.tables import for_terminal
from slicewise.terminal.output import write_json, write_text
from slicewise.terminal.progress import StepsDone

MOST_LOSS_PERCENT = 10.0
START = re.compile(r"(.+)@(\d+(?:\.\d+)?)")


def predict(
    job: list[str],
    seen: list[Path],
    copies: bool,
    beside: list[Path],
    most_loss: float | None,
    capacity: str | None,
    model: Path | None,
    html: Path | None,
    json: bool,
    output: Path | None,
) -> None:
    if copies and len(job) > 1:
        raise UserError(f"predict: --copies takes one job; give {job[1]} by --with if it always runs beside it")
    of_copies = {
        "--with": beside, "--most-loss": most_loss, "--capacity": capacity, "--fitted": model, "--html": html
    }  # fmt: skip
    given = [name for name, value in of_copies.items() if value not in (None, [])]
    if given and not copies:
        raise UserError(f"predict: {given[0]} goes with --copies; add --copies")
    if copies:
        loss = MOST_LOSS_PERCENT if most_loss is None else most_loss
        how_many(Path(job[0]), beside, seen, loss, capacity, model, html, json, output)
    else:
        _side_by_side(job, seen, json, output)


def _side_by_side(job: list[str], seen: list[Path], json: bool, output: Path | None) -> None:
    named = [_place_and_start(text) for text in job]
    places = job_places([path for path, _ in named])
    digests = {place.resolve(): digest for place, digest in zip(places, read_digests(places), strict=True)}
    jobs = []
    for path, start in named:
        if path.resolve() not in digests:
            raise UserError(f"{path}: is not one job's profile; give the job's own directory")
        jobs.append((digests[path.resolve()], start))
    steps = StepsDone("Tried {done} of {total} laws of sharing ...")
    found = predicted(jobs, read_digests(job_places(seen or [])), steps)
    off, misfits = runs_off(found), misfits_seen(found)
    if json:
        write_json(predict_words.record(found, off, misfits), output)
        return
    write_text([*predict_words.lines(found, off, misfits), "", for_terminal(predict_words.table(found))], output)


def _place_and_start(text: str) -> tuple[Path, float]:
    match = START.fullmatch(text)
    if match is None or Path(text).exists():
        return Path(text), 0.0
    return Path(match[1]), float(match[2])
