"""Show one job's I/O: a page, and a summary on the terminal."""

from pathlib import Path

from rich.console import RenderableType

from slicewise.analysis.blame.case import by_the_way
from slicewise.analysis.job.sites import of_waits
from slicewise.analysis.nodes.causes import moved
from slicewise.catalog.sources import read_digest
from slicewise.digest.activity import runtime_of
from slicewise.digest.surroundings import Surroundings
from slicewise.report.blame import blame_words
from slicewise.report.blame.anonymous import anonymous as without_names
from slicewise.report.coverage import coverage_words
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.job.accelerator_words import accelerator_record
from slicewise.report.job.advice_words import advice_record
from slicewise.report.job.beside_words import beside_record
from slicewise.report.job.job_page import job_page, job_report, opening
from slicewise.report.job.job_tables import mounts_table, usage_record
from slicewise.report.job.phase_words import phase_lines, phases_record
from slicewise.report.job.site_words import MOST_SITES, sites_record
from slicewise.report.nodes.other_words import other_lines, others_record
from slicewise.report.page import page_path, write_page
from slicewise.report.records import picked
from slicewise.report.split.split_words import split_record
from slicewise.report.tables import for_terminal, line_for_terminal
from slicewise.terminal.output import page_line, write_answer
from slicewise.terminal.progress import reading_profiles
from slicewise.text import words

OF_IO_TIME = {
    "slowest_seconds": "slowest", "slowest": "slowest_label", "median_seconds": "median", "processes": "processes",
}  # fmt: skip


def report(profile: Path, html: Path | None, symbols: list[Path]) -> None:
    digest = read_digest(profile, distributions=True)
    next_lines, lost_share = _who_slowed_it_down(profile)
    result = job_report(digest, symbols, lost_share)
    page = write_page(job_page(result, unseen_lines([digest])), html or page_path(profile, f"report-{digest.job}"))
    write_answer(
        lambda: {
            "summary": result.summary,
            "io_time": picked(result.io_time, **OF_IO_TIME),
            "phases": phases_record(result.phases),
            **picked(result, "per_slice", "sizes", "latencies", "files"),
            "sites": sites_record(result.sites)[:MOST_SITES],
            "hardware": result.hardware.per_slice().to_dicts() if result.hardware.units else [],
            "turns": {
                **picked(result.turns, waited_seconds="seconds", waits="waits"),
                "process": result.turns.label or None,
                **picked(result.turns, "slices"),
            },
            "advice": advice_record(result.advice, runtime_of(digest)),
            "split": split_record(result.split),
            **beside_record(digest, of_waits(result.all_sites)),
            "accelerators": accelerator_record(digest),
            "usage": usage_record(result.usage),
            "nodes": moved(result.digest).to_dicts(),
            "others": others_record(result.digest),
            "page": str(page),
        },
        [
            *opening(result),
            *phase_lines(result.phases),
            *coverage_words.gap_lines(result.summary.coverage, says_small=False),
            *other_lines(digest),
            *(f"{note}." for note in digest.notes),
            "",
            for_terminal(mounts_table(result.summary)),
            "",
            *next_lines,
            page_line(page),
        ],
    )


def _who_slowed_it_down(profile: Path) -> tuple[list[RenderableType], float]:
    """The answer of `slicewise blame` where neighbours lie beside the profile and are soon read, else the command; and
    the share of the time in I/O calls that was lost, as far as that says."""
    command = line_for_terminal(f"Next, who slowed it down: slicewise blame {profile}", is_folded=False)
    found = by_the_way(profile, Surroundings(progress=reading_profiles()))
    if found.case is None or found.result is None:
        jobs = words.count(len(found.beside.neighbours), "other job")
        there = [f"{jobs} used its storage at the same time."] if found.beside.neighbours else []
        return [*there, command], 0.0
    result = found.result
    if found.case.hides_names:
        result = without_names(result, found.case.job, found.case.others(), found.case.unread)
    return [blame_words.headline_with_confidence(result), command], found.lost_share
