"""Say who slowed a job down, by how much, and how sure that is."""

from dataclasses import replace
from pathlib import Path

import polars as pl
from rich.console import RenderableType

from slicewise.analysis.blame.case import Case, case_of
from slicewise.analysis.blame.counted import CountedJob, counted_job, counted_of
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.blame.servers import shadows
from slicewise.digest.surroundings import Surroundings, job_directory
from slicewise.errors import UserError
from slicewise.profile.files import job_places
from slicewise.report.blame import blame_words, counted_words
from slicewise.report.blame.blame_page import blame_report, neighbours_table
from slicewise.report.blame.blame_record import blame_record
from slicewise.report.blame.explained import explanation
from slicewise.report.page import page_path, write_page
from slicewise.report.tables import for_terminal, line_for_terminal
from slicewise.running.snapshot import living_jobs
from slicewise.settings import servers_of_site
from slicewise.terminal.output import page_line, write_answer
from slicewise.terminal.progress import reading_profiles
from slicewise.text.safe_text import say

MOST_ROWS = 8


def blame(
    job: Path,
    neighbours: list[Path],
    alone: list[Path],
    same_as: list[Path],
    all_: bool,
    anonymous: bool,
    explain: bool,
    html: Path | None,
) -> None:
    if all_:
        _of_all(job, neighbours, [*alone, *same_as])
        return
    servers = servers_of_site()
    if servers and not job.exists() and _by_servers(job, alone, servers, anonymous):
        return
    with living_jobs(job_directory(job).parent) as copies:
        case = case_of(job, neighbours, [*alone, *same_as], Surroundings(copies, reading_profiles()))
    if same_as:
        case = replace(case, same_as=frozenset(run.path for run in case.alone[len(alone) :]))
    if case.job.is_served:
        given = [*case.alone, *(case.found if not case.alone else [])]
        counted = counted_of([case.job, *case.neighbours, *given])
        # Of a job that has both, what the servers counted says when it was served.
        twice = shadows([case.job, *case.neighbours], counted.rename({"target": "storage"})).values()
        counted = counted.remove(pl.col("job").is_in(list(twice)))
        quiet = [run.job for run in case.alone if run.is_served]
        _tell_counted(counted_job(counted, case.job.job, quiet), anonymous or case.hides_names)
        return
    anonymous |= case.hides_names
    result, whole = blame_report(case, anonymous)
    name = f"blame-{case.job.job}{'-anonymous' if anonymous else ''}"
    page = write_page(whole, html or page_path(job, name))
    write_answer(lambda: blame_record(result, page), [*_lines(result, explain), *_ending(case, job, page, explain)])


def _by_servers(job: Path, alone: list[Path], servers: list[Path], anonymous: bool) -> bool:
    """A job without a profile, by what servers counted of it. Returns whether they know it."""
    from slicewise.imports.jobstats import read_served

    try:
        found = counted_job(read_served(servers, say), str(job), [str(run) for run in alone])
    except KeyError as error:
        raise UserError(f"--alone {error.args[0]}: the servers counted no job of that name") from None
    if found is not None:
        _tell_counted(found, anonymous)
    return found is not None


def _tell_counted(found: CountedJob | None, anonymous: bool) -> None:
    if found is None:
        raise UserError("the servers counted nothing of this job")
    if anonymous:
        found = counted_words.anonymous(found)
    lines: list[RenderableType] = [*counted_words.sentences(found)]
    table = counted_words.table(found)
    if table.rows:
        lines[2:2] = ["", for_terminal(table), ""]
    write_answer(lambda: counted_words.record(found), lines)


def _of_all(directory: Path, others: list[Path], alone: list[Path]) -> None:
    from slicewise.report.blame import all_words

    if others or alone:
        raise UserError("--all takes one directory: neighbours and standalone runs are found in it")
    around, found, by_themselves = Surroundings(progress=reading_profiles()), {}, 0
    for place in job_places([directory]):
        case = case_of(place, surroundings=around)
        told = case.result()
        if not case.neighbours and not told.neighbours and told.outside is None:
            by_themselves += 1
            continue
        name = str(place.relative_to(directory)) if place.is_relative_to(directory) else str(place)
        found[name] = told
    ordered = all_words.worst_first(found)
    lines: list[RenderableType] = [all_words.sentence(ordered, by_themselves)]
    if ordered:
        lines += ["", for_terminal(all_words.losses_table(ordered))]
    matrix = all_words.matrix(ordered)
    if matrix is not None:
        lines += ["", "Seconds that each job (a row) lost to each other one:", for_terminal(matrix)]
    lines += ["", line_for_terminal(f"Why? slicewise blame {directory}/JOB --explain")]
    write_answer(lambda: all_words.record(ordered, by_themselves), lines)


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
        page_line(page, f"{why}        Not what you expected? slicewise doctor"),
    ]
