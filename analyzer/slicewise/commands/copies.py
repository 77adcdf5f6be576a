"""How many copies of a job may run side by side before each loses more than it may."""

from __future__ import annotations

from pathlib import Path

from slicewise.analysis.capacity import capacity as capacities
from slicewise.analysis.copies.copies import copies as analysis
from slicewise.analysis.sharing.model import read_model
from slicewise.catalog.sources import read_digests
from slicewise.profile.files import job_places
from slicewise.report.copies import copies_words
from slicewise.report.copies.copies_page import copies_page
from slicewise.report.copies.copies_words import MOST_ROWS, copies_record, copies_table
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.page import page_path, write_page
from slicewise.report.tables import for_terminal, line_for_terminal
from slicewise.terminal.output import write_json, write_text
from slicewise.text import amounts


def copies(
    job: Path,
    beside: list[Path],
    seen: list[Path],
    most_loss: float,
    capacity: str | None,
    model: Path | None,
    html: Path | None,
    json: bool,
    output: Path | None,
) -> None:
    places = [job, *(beside or []), *job_places(seen or [])]
    digests = read_digests(places)
    first, others, witnesses = digests[0], digests[1 : 1 + len(beside or [])], digests[1 + len(beside or []) :]
    known = None
    if capacity is not None:
        known = capacities.given(amounts.rate(capacity, "--capacity"))
    elif model is not None:
        known = capacities.fitted(read_model(model).capacity)
    found = analysis(first, others, witnesses, most_loss / 100, known)
    page = html or page_path(job, f"copies-{found.demand.job.job}")
    write_page(copies_page(found, unseen_lines([first, *others])), page)
    if json:
        write_json(copies_record(found, page), output)
        return
    rule = copies_words.token_bucket_rule(found) if found.storage.type == "lustre" else []
    shown = [["", *lines] for lines in (copies_words.licence(found), rule) if lines]
    write_text(
        [
            *copies_words.opening(found),
            "",
            for_terminal(copies_table(found, MOST_ROWS)),
            *(line_for_terminal(line, is_folded=False) for lines in shown for line in lines),
            "",
            *copies_words.notes(found),
            line_for_terminal(f"Page: {page}", is_folded=False),
        ],
        output,
    )
