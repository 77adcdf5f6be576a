"""How long jobs would take side by side, and how many copies of one may run so."""

import re
from pathlib import Path

from slicewise.analysis.capacity import capacity as capacities
from slicewise.analysis.copies.copies import copies as analysis
from slicewise.analysis.predict.misfits import misfits_seen
from slicewise.analysis.predict.predict import predict as predicted
from slicewise.analysis.sharing.model import read_model
from slicewise.catalog.sources import read_digests
from slicewise.errors import UserError
from slicewise.profile.files import job_places
from slicewise.report.copies import copies_report
from slicewise.report.copies.copies_report import MOST_ROWS, copies_page, copies_record, copies_table
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.page import page_path, write_page
from slicewise.report.predict import predict_words
from slicewise.report.tables import for_terminal
from slicewise.terminal.output import page_line, write_answer
from slicewise.terminal.progress import StepsDone
from slicewise.text import amounts

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
        _copies(Path(job[0]), beside, seen, loss, capacity, model, html)
    else:
        _side_by_side(job, seen)


def _side_by_side(job: list[str], seen: list[Path]) -> None:
    named = [_place_and_start(text) for text in job]
    places = job_places([path for path, _ in named])
    digests = {place.resolve(): digest for place, digest in zip(places, read_digests(places), strict=True)}
    jobs = []
    for path, start in named:
        if path.resolve() not in digests:
            raise UserError(f"{path}: is not one job's profile; give the job's own directory")
        jobs.append((digests[path.resolve()], start))
    steps = StepsDone("Tried {done} of {total} laws of sharing ...")
    found = predicted(jobs, read_digests(job_places(seen)), steps)
    misfits = misfits_seen(found)
    write_answer(
        lambda: predict_words.record(found, misfits),
        [*predict_words.lines(found, misfits), "", for_terminal(predict_words.table(found))],
    )


def _copies(
    job: Path,
    beside: list[Path],
    seen: list[Path],
    most_loss: float,
    capacity: str | None,
    model: Path | None,
    html: Path | None,
) -> None:
    first, *digests = read_digests([job, *beside, *job_places(seen)])
    others, witnesses = digests[: len(beside)], digests[len(beside) :]
    known = None
    if capacity is not None:
        known = capacities.given(amounts.rate(capacity, "--capacity"))
    elif model is not None:
        known = capacities.fitted(read_model(model).capacity)
    found = analysis(first, others, witnesses, most_loss / 100, known)
    beside_it = page_path(job, f"copies-{found.demand.job.job}")
    page = write_page(copies_page(found, unseen_lines([first, *others])), html or beside_it)
    write_answer(
        lambda: copies_record(found, page),
        [
            *copies_report.opening(found),
            "",
            for_terminal(copies_table(found, MOST_ROWS)),
            "",
            *copies_report.notes(found),
            page_line(page),
        ],
    )


def _place_and_start(text: str) -> tuple[Path, float]:
    match = START.fullmatch(text)
    if match is None or Path(text).exists():
        return Path(text), 0.0
    return Path(match[1]), float(match[2])
