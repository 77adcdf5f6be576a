"""The page of how often somebody else does I/O."""

from __future__ import annotations

import polars as pl

from slicewise.analysis.policies.job_log import JobLog
from slicewise.analysis.policies.probability import Probability
from slicewise.charts import concurrency
from slicewise.report.page import Fact, Page, Section
from slicewise.report.policy.probability_words import (
    basis,
    concurrent_table,
    log_lines,
    notes,
    size_range,
    sizes_table,
    verdict,
)
from slicewise.text import words

MOST_ROWS = 40


def probability_page(found: Probability, log: JobLog | None, kicker: str) -> Page:
    """The page. log: the job log that it is from, if any; kicker: says what it is from."""
    sizes = pl.DataFrame(
        [(size_range(size), size.of_jobs, size.of_time) for size in found.sizes],
        schema=["size", "of_jobs", "of_time"],
        orient="row",
    )
    most = max(found.concurrent)
    concurrent = pl.DataFrame(
        {"jobs": range(most + 1), "share": [found.concurrent.get(jobs, 0.0) for jobs in range(most + 1)]}
    )
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
            Section(heading="How large jobs are", chart=concurrency.job_sizes(sizes), tables=[sizes_table(found)]),
            Section(
                heading="How many jobs run at one time",
                chart=concurrency.concurrent_jobs(concurrent),
                tables=[concurrent_table(found, MOST_ROWS)],
            ),
        ],
        unseen=[*notes(found), *(log_lines(log) if log else [])],
    )
