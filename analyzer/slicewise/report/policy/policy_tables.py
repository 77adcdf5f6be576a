"""The tables of policies, the same for the terminal and for the page."""

from __future__ import annotations

from slicewise.analysis.policies.after_the_fact import AfterTheFact
from slicewise.analysis.policies.claims import Claims
from slicewise.analysis.policies.comparison import Comparison
from slicewise.kinds import METRICS
from slicewise.report.policy.policy_words import METRICS as NAMES
from slicewise.report.policy.policy_words import value
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

# More jobs have no row each on the terminal; the page and JSON have them.
MOST_JOBS = 12
# Less than this of a job's I/O span is rounding, or the ends of slices.
NO_GAIN = 1e-3


def costs_table(comparison: Comparison) -> Table:
    """A row a policy: every metric, and what the chosen metric gains."""
    units = {"cpu_seconds": "s", "makespan": "s"}
    table = Table(
        [
            Column("policy", is_figure=False),
            *(Column(NAMES[metric], units.get(metric, "")) for metric in METRICS),
            Column("change", "%"),
        ]
    )
    for one in comparison.simulated:
        change = -comparison.gain(one) / comparison.undisturbed.cost(comparison.metric)
        table.add(
            one.policy,
            *(Cell(value(metric, one.cost(metric)), one.cost(metric)) for metric in METRICS),
            Cell(words.signed_percent(change), change * 100),
        )
    return table


def claims_table(found: Claims) -> Table:
    """A row a job that has a profile: what it claimed and what it moved."""
    table = Table(
        [
            Column("job", is_figure=False),
            Column("phases"),
            Column("compared"),
            Column("claimed", "bytes"),
            Column("moved", "bytes"),
            Column("moved / claimed"),
            Column("went", "s"),
        ]
    )
    for one in found.jobs:
        table.add(
            one.job,
            Cell(f"{one.phases:,}", one.phases),
            Cell(f"{one.compared:,}", one.compared),
            Cell(words.size(one.claimed_bytes), one.claimed_bytes),
            Cell(words.size(one.moved_bytes), one.moved_bytes),
            Cell(words.number(one.ratio), one.ratio),
            Cell(words.seconds(one.needed_seconds), one.needed_seconds),
        )
    return table


def jobs_table(comparison: Comparison) -> Table:
    """A row a policy and job: I/O span, interference factor, and what the job gains."""
    table = Table(
        [
            Column("policy", is_figure=False),
            Column("job", is_figure=False),
            Column("I/O span", "s"),
            Column("alone", "s"),
            Column("factor"),
            Column("gains", "s"),
            Column("ends", "s"),
        ]
    )
    for one in comparison.simulated:
        origin = min(job.start for job in one.jobs)
        for job, won in zip(one.jobs, comparison.seconds_won(one), strict=True):
            table.add(
                one.policy,
                job.job,
                Cell(words.seconds(job.io_seconds), job.io_seconds),
                Cell(words.seconds(job.io_alone), job.io_alone),
                Cell(words.number(job.interference), job.interference),
                Cell("0 s" if abs(won) < NO_GAIN * job.io_seconds else words.number(won) + " s", won),
                Cell(words.seconds(job.end - origin), job.end - origin),
            )
    return table


def factors_table(comparison: Comparison) -> Table:
    """A row a job, a column a policy: I/O span and interference factor. For the terminal, and few jobs."""
    names = [one.policy for one in comparison.simulated]
    table = Table([Column("I/O span (interference factor)", is_figure=False), *(Column(name) for name in names)])
    for outcomes in zip(*(one.jobs for one in comparison.simulated), strict=True):
        cells = [f"{words.seconds(job.io_seconds)} ({words.number(job.interference)})" for job in outcomes]
        table.add(outcomes[0].job, *cells)
    return table


def checks_table(found: AfterTheFact) -> Table:
    """A row a job: I/O span as it was and as simulated without a policy."""
    table = Table(
        [
            Column("job", is_figure=False),
            Column("processes"),
            Column("I/O phases"),
            Column("I/O span", "s"),
            Column("simulated", "s"),
            Column("error", "%"),
            Column("rate alone from", is_figure=False),
        ]
    )
    for job, check in zip(found.jobs, found.checks, strict=True):
        table.add(
            check.job,
            Cell(f"{job.plan.processes:,}", job.plan.processes),
            Cell(f"{len(job.observed):,}", len(job.observed)),
            Cell(words.seconds(check.observed), check.observed),
            Cell(words.seconds(check.simulated), check.simulated),
            Cell(words.signed_percent(check.relative_error), check.relative_error * 100),
            job.source,
        )
    return table
