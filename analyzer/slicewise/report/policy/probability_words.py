"""How often somebody else does I/O: sentences, tables, JSON and the page, of one result."""

import math
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.analysis.policies.probability import IoSource, JobLog, Probability
from slicewise.charts import policy
from slicewise.estimate import Estimate
from slicewise.report import columns
from slicewise.report.page import Fact, Page, Section
from slicewise.report.records import picked
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

# Numbers of jobs in the tables; more are put together.
MOST_ROWS, MOST_ROWS_OF_PAGE = 10, 40
SOURCES: dict[IoSource, str] = {
    "profiles": "as its profiles say",
    "given": "as given by --io-share",
    "assumed": "an assumption, as in the paper; --io-share gives another",
}


def verdict(found: Probability) -> str:
    return (
        f"While a job does I/O, another one does too {words.percent(found.somebody_else)} of the time. Some job does "
        f"I/O {words.percent(found.anybody)} of all the time."
    )


def basis(found: Probability) -> list[str]:
    mean = math.fsum(jobs * share for jobs, share in found.concurrent.items())
    lines = [
        f"{words.count(found.jobs, 'job')} in {words.duration(found.seconds)}: {words.number(mean)} run at one time on "
        f"average, each in I/O for {words.percent(found.io_share)} of its time ({SOURCES[found.io_source]}).",
        f"Half of the jobs have at most {words.count(found.median_of_jobs, 'process')}. Half of the time of all jobs "
        f"belongs to jobs with at most {words.count(found.median_of_time, 'process')}.",
    ]
    if found.observed is not None:
        seen = found.observed
        lines.append(
            f"Observed on {seen.storage.point}: while a job did I/O, another one did too "
            f"{_estimated(seen.somebody_else)} of the time; some job did {_estimated(seen.anybody)} of all the time."
        )
    return lines


def notes(found: Probability) -> list[str]:
    lines = [
        "The formula takes the jobs to be independent: P = 1 - sum of P(X = n) (1 - mu)^n, X being the number of jobs "
        "that run, and mu the mean share of time in I/O.",
        "Jobs that begin together, wait for each other or hold each other up are not independent.",
    ]
    if found.io_source == "assumed":
        lines.append(
            "A job log does not hold the share of time in I/O. Profiles would tell: "
            "slicewise turns probability PROFILES --swf FILE"
        )
    if found.observed is not None:
        lines.append(f"Observed: {words.sentence(found.observed.anybody.how)}")
        lines.append("Jobs without a profile are not in it.")
    return lines


def _estimated(estimate: Estimate) -> str:
    return f"{words.percent(estimate.value)} {words.interval(estimate.low * 100, estimate.high * 100)}"


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


def sizes_table(found: Probability) -> Table:
    return columns.table(
        found.sizes,
        columns.text("processes", lambda size: _range(size.low, size.high)),
        columns.percent("of jobs", lambda size: size.of_jobs),
        columns.percent("of jobs' time", lambda size: size.of_time),
    )


def concurrent_table(found: Probability, most_rows: int | None = None) -> Table:
    """A row a number of jobs, or a range of numbers where there are more of them than `most_rows`."""
    table = Table([Column("jobs at one time", is_figure=False), Column("of the time", "%")])
    most = max(found.concurrent)
    step = math.ceil((most + 1) / most_rows) if most_rows else 1
    for low in range(0, most + 1, step):
        high = min(low + step - 1, most)
        share = math.fsum(found.concurrent.get(jobs, 0.0) for jobs in range(low, high + 1))
        if share:
            table.add(_range(low, high), Cell(words.percent(share), share * 100))
    return table


def log_lines(log: JobLog) -> list[str]:
    lines = []
    if log.skipped:
        lines.append(
            f"Left out: {words.count(log.skipped, 'job')} of the log that never ran, or whose start, runtime or size "
            "is not known."
        )
    if log.at_submission:
        lines.append(
            f"{words.count(log.at_submission, 'job')} of the log: how long they waited is not known; they are taken to "
            "begin when they were submitted."
        )
    return lines


def probability_record(found: Probability, log: JobLog | None, page: Path | None) -> dict[str, Any]:
    return {
        **picked(found, probability="anybody", probability_of_another="somebody_else", io_share="io_share"),
        **picked(found, io_share_source="io_source", jobs="jobs"),
        "skipped_jobs": log.skipped if log else 0,
        "seconds": found.seconds,
        "concurrent": [{"jobs": jobs, "share": share} for jobs, share in sorted(found.concurrent.items())],
        **picked(found, "sizes", median_processes_of_jobs="median_of_jobs", median_processes_of_time="median_of_time"),
        "observed": found.observed,
        "notes": [*notes(found), *(log_lines(log) if log else [])],
        "page": page,
    }


def probability_page(found: Probability, log: JobLog | None, kicker: str) -> Page:
    """The page. log: the job log that it is from, if any; kicker: says what it is from."""
    sizes = pl.DataFrame(
        [(_range(size.low, size.high), size.of_jobs, size.of_time) for size in found.sizes],
        schema=["size", "of_jobs", "of_time"],
        orient="row",
    )
    most = max(found.concurrent)
    shares = [found.concurrent.get(jobs, 0.0) for jobs in range(most + 1)]
    concurrent = pl.DataFrame({"jobs": range(most + 1), "share": shares})
    observed = found.observed
    return Page(
        title="How often does somebody else do I/O?",
        kicker=kicker,
        sentences=[verdict(found), *basis(found)],
        facts=[
            Fact("another job does I/O too", words.percent(found.somebody_else)),
            *([Fact("another job did, observed", words.percent(observed.somebody_else.value))] if observed else []),
            Fact("some job does I/O", words.percent(found.anybody)),
            *([Fact("some job did, observed", words.percent(observed.anybody.value))] if observed else []),
            Fact("a job's time in I/O", words.percent(found.io_share)),
            Fact("jobs", f"{found.jobs:,}"),
        ],
        sections=[
            Section(heading="How large jobs are", chart=policy.job_sizes(sizes), tables=[sizes_table(found)]),
            Section(
                heading="How many jobs run at one time",
                chart=policy.concurrent_jobs(concurrent),
                tables=[concurrent_table(found, MOST_ROWS_OF_PAGE)],
            ),
        ],
        unseen=[*notes(found), *(log_lines(log) if log else [])],
    )
