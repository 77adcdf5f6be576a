"""The page of copies of a job: what stands on it, in which order, with which words."""

from collections.abc import Sequence

import polars as pl

from slicewise.analysis.copies.copies import Copies
from slicewise.charts import runtimes as charts
from slicewise.report.copies import copies_words
from slicewise.report.copies.copies_words import copies_table
from slicewise.report.page import Fact, Page, Section, Step
from slicewise.text import words


def copies_page(found: Copies, unseen: Sequence[str]) -> Page:
    frame = pl.DataFrame(
        [(row.copies, row.loss.value, row.loss.low, row.loss.high, row.in_step) for row in found.rows],
        schema=["copies", "loss", "low", "high", "in_step"],
        orient="row",
    )
    demand = found.demand
    return Page(
        title=f"Copies of {demand.job.job} side by side",
        kicker=f"Slicewise copies of {demand.job.job}, {words.date_and_zone(demand.job.start_ns)}",
        sentences=copies_words.opening(found),
        facts=[
            Fact("copies that may run", f"{found.most:,}"),
            Fact("share of runtime in I/O", words.percent(demand.duty)),
            Fact("demand in I/O", words.rate(demand.rate.value)),
            Fact("the storage serves", words.rate(found.capacity.rate.value)),
            Fact("each may lose", f"{found.most_loss * 100:.3g} %"),
            Fact("confidence", found.confidence),
        ],
        sections=[
            Section(
                heading="What each copy loses",
                chart=charts.loss_over_copies(frame, found.most_loss),
                tables=[copies_table(found)],
                note=copies_words.notes(found)[0],
            ),
            *(
                Section(heading=heading, code=lines)
                for heading, lines in (
                    ("As a Slurm licence", copies_words.licence(found)),
                    ("As a rule of Lustre's token bucket filter", copies_words.token_bucket_rule(found)),
                )
                if lines
            ),
        ],
        steps=[
            Step("Check it: run two at once, then see what they cost each other:", "slicewise overlap FIRST SECOND")
        ],
        unseen=[*copies_words.notes(found)[1:], *unseen],
    )
