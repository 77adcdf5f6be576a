"""The page of policies: what stands on it, in which order, with which words."""

from collections.abc import Iterator, Sequence

import polars as pl

from slicewise.analysis.policies.comparison import PolicyComparison, Sweep
from slicewise.analysis.policies.probability import JobLog, Probability
from slicewise.analysis.policies.simulation import Simulated
from slicewise.charts import policy
from slicewise.charts import policy as charts
from slicewise.kinds import METRICS
from slicewise.report.page import Fact, Page, Section, Step
from slicewise.report.policy import policy_words
from slicewise.report.policy.policy_words import costs_table, jobs_table
from slicewise.report.policy.probability_words import (
    basis,
    concurrent_table,
    log_lines,
    notes,
    size_range,
    sizes_table,
    verdict,
)
from slicewise.report.tables import Table
from slicewise.text import words

# A chart shows no finer stretches than this part of its width.
FINEST = 1 / 2000
SHORT_NAMES = {"cpu_seconds": "CPU seconds in I/O", "sum_interference": "sum of factors",
               "makespan": "makespan", "worst_slowdown": "worst slowdown"}  # fmt: skip
MOST_ROWS = 40


def policy_page(
    comparison: PolicyComparison,
    sweep: Sweep | None,
    kicker: str,
    sentences: Sequence[str],
    facts: Sequence[Fact] = (),
    checked: Table | None = None,
    notes: Sequence[str] = (),
    unseen: Sequence[str] = (),
) -> Page:
    """The page. checked: simulated against observed; notes: what the figures take for granted; unseen: lines on what
    the profiles could not see."""
    names = [job.job for job in comparison.undisturbed.jobs]
    return Page(
        title="What if they had taken turns?",
        kicker=kicker,
        sentences=list(sentences),
        facts=list(facts),
        sections=[
            Section(
                heading="Who would have done what, when",
                chart=charts.strips(_stretches(comparison), [one.policy for one in comparison.simulated], names),
                note="Full bars are I/O, hatched ones wait for their turn, thin ones compute. "
                + " ".join(policy_words.meanings(comparison)),
            ),
            Section(
                heading="What each policy costs",
                chart=charts.costs(_costs(comparison), SHORT_NAMES),
                tables=[costs_table(comparison)],
                note="Each metric is shown as a share of what it is where the jobs interfere. Less is better. An "
                "interference factor is the I/O span over the I/O span alone; a job's time in I/O counts from the "
                "beginning of each I/O phase, with waiting. CPU seconds: processes times that.",
            ),
            Section(heading="What each job gains and loses", tables=[jobs_table(comparison)]),
            *([Section(heading="Does the simulation fit what happened?", tables=[checked])] if checked else []),
            *(_sweep_sections(comparison, sweep) if sweep else []),
        ],
        steps=[Step("Let jobs take turns, with a coordinator:", "slicewise turns wait --help")],
        unseen=[*notes, *unseen],
    )


def _sweep_sections(comparison: PolicyComparison, sweep: Sweep) -> Iterator[Section]:
    moved, against = sweep.moved, sweep.against
    low, high = sweep.rows["dt"].min(), sweep.rows["dt"].max()
    actual = sweep.actual if low <= sweep.actual <= high else None  # type: ignore[operator]
    metric = comparison.metric
    yield Section(
        heading=f"If {sweep.moved} had begun earlier or later",
        chart=charts.over_offset(
            sweep.rows.unique(["policy", "dt"], maintain_order=True),
            "cost",
            SHORT_NAMES[metric],
            moved,
            against,
            actual,
        ),
        note="The dotted line is when it began." + (" It lies outside of what is shown." if actual is None else ""),
    )
    for name in (sweep.against, sweep.moved):
        rows = sweep.rows.filter(pl.col("job") == name)
        yield Section(
            heading=f"{name}: interference factor",
            chart=charts.over_offset(rows, "interference", "interference factor", moved, against, actual),
        )
        yield Section(
            heading=f"{name}: I/O span",
            chart=charts.over_offset(rows, "seconds", "I/O span (s)", moved, against, actual),
        )


def _costs(comparison: PolicyComparison) -> pl.DataFrame:
    rows = [
        (one.policy, metric, one.cost(metric), one.cost(metric) / comparison.undisturbed.cost(metric))
        for one in comparison.simulated
        for metric in METRICS
    ]
    return pl.DataFrame(rows, schema=["policy", "metric", "value", "share"], orient="row")


def _stretches(comparison: PolicyComparison) -> pl.DataFrame:
    origin = min(job.start for job in comparison.undisturbed.jobs)
    last = max(job.end for one in comparison.simulated for job in one.jobs)
    finest = (last - origin) * FINEST
    rows = [row for one in comparison.simulated for row in _of_policy(one, origin, finest)]
    schema = {"policy": pl.String, "job": pl.String, "doing": pl.String, "start": pl.Float64, "end": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _of_policy(simulated: Simulated, origin: float, finest: float) -> Iterator[tuple[str, str, str, float, float]]:
    """The stretches to draw: rates are not told apart, and what is shorter than a pixel joins what came before."""
    for job in simulated.jobs:
        drawn: tuple[str, float, float] | None = None
        for one in job.stretches:
            if drawn and (one.doing == drawn[0] or one.end - one.start < finest):
                drawn = (drawn[0], drawn[1], one.end)
                continue
            if drawn:
                yield simulated.policy, job.job, drawn[0], drawn[1] - origin, drawn[2] - origin
            drawn = (one.doing, one.start, one.end)
        if drawn:
            yield simulated.policy, job.job, drawn[0], drawn[1] - origin, drawn[2] - origin


def machine_facts(comparison: PolicyComparison, chosen: str) -> list[Fact]:
    best = next((one for one in comparison.simulated if one.policy == chosen), comparison.undisturbed)
    now, then = (one.cost(comparison.metric) for one in (comparison.undisturbed, best))
    return [
        Fact("policy", chosen),
        Fact(SHORT_NAMES[comparison.metric], policy_words.value(comparison.metric, then)),
        Fact("where they interfere", policy_words.value(comparison.metric, now)),
        Fact("change", words.signed_percent((then - now) / now)),
        Fact("worst slowdown", words.number(best.cost("worst_slowdown"))),
    ]


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
            Section(heading="How large jobs are", chart=policy.job_sizes(sizes), tables=[sizes_table(found)]),
            Section(
                heading="How many jobs run at one time",
                chart=policy.concurrent_jobs(concurrent),
                tables=[concurrent_table(found, MOST_ROWS)],
            ),
        ],
        unseen=[*notes(found), *(log_lines(log) if log else [])],
    )
