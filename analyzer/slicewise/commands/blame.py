"""Say who slowed a job down, by how much, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from slicewise.analysis.blame.case import Case, case_of
from slicewise.analysis.blame.result import Blame
from slicewise.digest.beside import Surroundings, job_directory
from slicewise.report.blame import blame_words
from slicewise.report.blame.blame_json import blame_record
from slicewise.report.blame.blame_tables import neighbours_table
from slicewise.report.blame.explained import explanation
from slicewise.report.blame.whole import blame_report
from slicewise.report.page import page_path, write_page
from slicewise.report.tables import for_terminal, line_for_terminal
from slicewise.running.snapshot import living_jobs
from slicewise.terminal.output import AsJson, OutputFile, PageFile, write_json, write_text
from slicewise.terminal.progress import reading_profiles

MOST_ROWS = 8


def blame(
    job: Annotated[Path, typer.Argument(metavar="JOB", help="The job's directory, or one of its .swz files.")],
    neighbours: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="NEIGHBOUR...",
            help="Jobs that may have slowed it down. If you give none, Slicewise looks beside the profile and in the "
            "catalog.",
        ),
    ] = None,
    alone: Annotated[
        list[Path] | None,
        typer.Option(metavar="JOBDIR", help="A standalone run of the same program; may be repeated."),
    ] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Hide others' names, programs, users and paths; keep their numbers.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say where each number comes from.")] = False,
    html: PageFile = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Say who slowed a job down, by how much, and how sure that is.

    Example: slicewise blame slicewise/48190 --alone slicewise/48001
    """
    with living_jobs(job_directory(job).parent) as copies:
        case = case_of(job, neighbours or [], alone or [], Surroundings(copies, reading_profiles()))
    anonymous |= case.hides_names
    result, whole = blame_report(case, anonymous)
    page = html or page_path(job, f"blame-{case.job.job}{'-anonymous' if anonymous else ''}")
    write_page(whole, page)
    if json:
        write_json(blame_record(result, page), output)
        return
    write_text([*_lines(result, explain), *_ending(case, job, page, explain)], output)


def _lines(result: Blame, explain: bool) -> list[RenderableType]:
    lines: list[RenderableType] = [blame_words.headline_with_confidence(result)]
    lines += [line for line in (blame_words.second_sentence(result),) if line]
    table = neighbours_table(result, MOST_ROWS)
    # Seconds that could be none are no table to lead with.
    if table.rows and (result.is_claimed or explain):
        lines += ["", for_terminal(table)]
    further = [line for line in (blame_words.baseline_line(result), *blame_words.further_lines(result)) if line]
    lines += ["", *further] if further else []
    return [*lines, "", *explanation(result)] if explain else lines


def _ending(case: Case, job: Path, page: Path, explain: bool) -> list[RenderableType]:
    why = "" if explain else f"        Why? slicewise blame {job} --explain"
    return [
        *(damage.message for damage in case.job.damage),
        "",
        line_for_terminal(f"Page: {page}{why}        Not what you expected? slicewise doctor", is_folded=False),
    ]
