"""Say why one run took longer than another: computing, its own I/O, neighbours, or not explained."""

from pathlib import Path

from slicewise.analysis.compare.compare import blamed_of
from slicewise.analysis.compare.compare import compare as analysis
from slicewise.catalog.sources import read_digests
from slicewise.report.compare import compare_words
from slicewise.report.compare.compare_report import (
    compare_page,
    compare_record,
    parts_table,
    runs_table,
    sites_that_differ,
)
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.page import joined_names, page_path, write_page
from slicewise.report.tables import for_terminal
from slicewise.terminal.output import page_line, write_answer
from slicewise.terminal.progress import reading_profiles


def compare(runs: list[Path], neighbours: list[Path], html: Path | None) -> None:
    digests = read_digests(runs, distributions=True)
    jobs = [digest.job for digest in digests]
    comparison = analysis(digests, dict(zip(jobs, blamed_of(runs, neighbours, reading_profiles()), strict=True)))
    page = html or page_path(runs[0], f"compare-{joined_names(run.job.job for run in comparison.runs)}")
    by_job = {digest.job: digest for digest in digests}
    pair = sorted((comparison.told.of, comparison.told.against), key=lambda run: -run.runtime_ns)
    differ = sites_that_differ(*(by_job[run.job.job] for run in pair))
    paths = {job: digest.path for job, digest in by_job.items()}
    write_page(compare_page(comparison, unseen_lines(digests), paths, differ), page)
    table = parts_table(comparison) if len(runs) == 2 else runs_table(comparison)
    write_answer(
        lambda: compare_record(comparison, page),
        [
            *compare_words.opening(comparison),
            "",
            for_terminal(table),
            "",
            *compare_words.notes(comparison),
            *compare_words.rule(comparison),
            page_line(page),
        ],
    )
