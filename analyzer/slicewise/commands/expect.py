"""Say what a file system gives to well-formed I/O, and where jobs lie in that."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import RenderableType

from slicewise.analysis.blame.case import Case, case_of
from slicewise.analysis.expect.expectation import Expectation, Point, expectation
from slicewise.analysis.expect.place import Placed
from slicewise.analysis.expect.place import place as placing
from slicewise.digest.surroundings import Surroundings, job_directory
from slicewise.errors import UserError
from slicewise.io500.results import read_results
from slicewise.report.blame.anonymous import anonymous, labels_of
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.expect import expect_report, place_words
from slicewise.report.page import Page, joined_names, page_path, write_page
from slicewise.report.tables import for_terminal
from slicewise.running.benchmarks import LABELS, Api, Name, RunSize, choose, find_programs
from slicewise.running.expect_campaign import CampaignPlan, run_campaign
from slicewise.running.snapshot import living_jobs
from slicewise.terminal.output import page_file, page_line, wants_json, write_answer
from slicewise.terminal.progress import reading_profiles
from slicewise.text.safe_text import visible

MOST_NOT_READ = 6


def box(results: list[Path], point: str | None, html: Path | None) -> None:
    at = _point(point) if point is not None else None
    found = expectation(read_results(results))
    if not found.results.runs and not wants_json():
        raise UserError(_nothing_read(results, found))
    _show_box(found, results[0], html, at)


def place(jobs: list[Path], box: list[Path], html: Path | None) -> None:
    found = expectation(read_results(box))
    if not found.results.runs:
        raise UserError(_nothing_read(box, found))
    placed = []
    digests = []
    with living_jobs(job_directory(jobs[0]).parent) as copies:
        around = Surroundings(copies, reading_profiles())
        for job in jobs:
            case = case_of(job, surroundings=around)
            digests.append(case.job)
            placed.append(_hidden(placing(case, found), case) if case.hides_names else placing(case, found))
    beside = page_path(jobs[0], f"expect-{joined_names(one.job for one in placed)}")
    page = written(expect_report.places_page(found, placed, unseen_lines(digests)), page_file(html), beside)
    lines: list[RenderableType] = [line for one in placed for line in (*place_words.lines(one), "")]
    write_answer(
        lambda: expect_report.places_record(found, placed, page), [*lines, page_line(page)] if page else lines[:-1]
    )


def run(
    directory: Path,
    benchmark: Name | None,
    launcher: str,
    processes: int,
    api: Api,
    seconds: float,
    most_runs: int,
    stonewall: int,
    html: Path | None,
) -> None:
    programs = find_programs(shlex.split(launcher))
    size = RunSize(processes, easy_mib=64, hard_transfers=400, files=400)
    plan = CampaignPlan(programs, choose(programs, benchmark, api), size, seconds, most_runs, api, stonewall)
    print(f"{LABELS[plan.benchmark]} in {visible(str(directory))}, at most {seconds:g} s", file=sys.stderr)
    run_campaign(plan, directory, lambda line: print(visible(line), file=sys.stderr))
    _show_box(expectation(read_results([directory])), directory, html)


def _hidden(placed: Placed, case: Case) -> Placed:
    """What is said of a job to whoever may not know the names of others."""
    labels = labels_of([*(one.job for one in placed.blame.neighbours if one.job), *placed.neighbours])
    told = anonymous(placed.blame, case.job, case.others(), case.unread)
    return replace(placed, neighbours=[labels[name] for name in placed.neighbours], blame=told)


def _nothing_read(results: list[Path], found: Expectation) -> str:
    first = found.results.unreadable[0] if found.results.unreadable else None
    if first is None:
        return f"{results[0]}: no result of IO500; name a directory that IO500 wrote"
    more = len(found.results.unreadable) - 1
    return f"{first.path}: {first.reason}" + (
        f" ({more} more cannot be read either; --json lists them)" if more else ""
    )


def written(page: Page, asked: Path | None, beside: Path) -> Path | None:
    """Writes the page where it was asked for, or beside the results if that can be. Returns where it is."""
    try:
        write_page(page, asked or beside)
    except UserError:
        # Results are often others' and cannot be written to: who asked for no page gets none.
        if asked is not None:
            raise
        return None
    return asked or beside


def _show_box(found: Expectation, place: Path, html: Path | None, at: Point | None = None) -> None:
    said = [("the point asked for", *at, "", expect_report.point_line(found, at))] if at else []
    beside = page_path(place, f"expect-{place.resolve().name}")
    page = written(expect_report.expectation_page(found, said), page_file(html), beside)
    write_answer(lambda: expect_report.expectation_record(found, at, page), _box_lines(found, at, page))


def _box_lines(found: Expectation, at: Point | None, page: Path | None) -> list[RenderableType]:
    wrong = [*expect_report.anomalies(found), *expect_report.lagging(found), *expect_report.invalid(found)]
    wrong += expect_report.too_short(found)
    lines: list[RenderableType] = [*expect_report.opening(found)]
    lines += [expect_report.point_line(found, at)] if at else []
    lines += ["", for_terminal(expect_report.boxes_table(found))]
    lines += ["", for_terminal(expect_report.tails_table(found))] if found.tails else []
    for group in (wrong, expect_report.not_read(found, MOST_NOT_READ)):
        lines += ["", *group] if group else []
    return [*lines, *(["", page_line(page)] if page else [])]


def _point(text: str) -> Point:
    parts = text.split(",")
    try:
        bandwidth, metadata = (float(part) for part in parts)
    except ValueError as error:
        raise UserError(f"--point {text}: is no point; give GiB/s and kIOPS, such as --point 2,5") from error
    return bandwidth, metadata
