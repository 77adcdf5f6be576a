"""Policies: what each means, what the best one would change, for whom: sentences, tables, JSON and a page."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.analysis.policies.after_the_fact import LEAST_GAIN, AfterTheFact
from slicewise.analysis.policies.comparison import PolicyComparison, Sweep
from slicewise.analysis.policies.simulation import Outcome, Simulated, Stretch
from slicewise.charts import policy as charts
from slicewise.constants import TOO_FAR_OFF
from slicewise.kinds import METRICS, Metric, Simulable
from slicewise.report import columns
from slicewise.report.columns import Made
from slicewise.report.page import Fact, Page, Section, Step
from slicewise.report.records import picked, rate_record
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import words

METRIC_WORDS: dict[str, str] = {
    "cpu_seconds": "CPU seconds in I/O",
    "sum_interference": "sum of interference factors",
    "makespan": "makespan",
    "worst_slowdown": "worst slowdown",
}
MEANINGS: dict[Simulable, str] = {
    "interfere": "all jobs do I/O when they want to, and share the storage",
    "fcfs": "one job at a time, in the order of arrival (first come, first served)",
    "interrupt": "one job at a time: who arrives last goes first, and who was interrupted goes on after it",
    "delay": "who arrives while others do I/O waits for a while, or until they are done, and then shares",
    "dynamic": "at each arrival and end, whichever of these, or the shortest I/O first, is expected to cost least",
    "set10": "jobs whose periods are of one power of ten go one at a time, in the order of arrival, beside the others",
    "set10_shares": "set10, with bandwidth by 10^-s for periods of 10^s s: simulated only, no coordinator can do it",
}
ASSUMED_WEIGHT = ", which is an assumption: these runs cannot tell by what the storage is shared"
# As JSON lists them.
COSTS: tuple[Metric, ...] = ("sum_interference", "cpu_seconds", "makespan", "worst_slowdown")
# From this error of a job's I/O span on it is told what to do.
LARGE_ERROR = 0.1
# More jobs have no row each on the terminal; the page and JSON have them.
MOST_JOBS = 12
# Less than this of a job's I/O span is rounding, or the ends of slices.
NO_GAIN = 1e-3


def value(metric: Metric, cost: float) -> str:
    """A cost with its unit, where it has one."""
    return words.seconds(cost) if metric == "makespan" else words.number(cost, 4)


def verdict(comparison: PolicyComparison) -> str:
    """The first sentence: which policy costs least, and by how much."""
    best, metric = comparison.best, comparison.metric
    now = comparison.undisturbed.cost(metric)
    if comparison.gain(best) <= LEAST_GAIN * now:
        return f"No policy lowers the {METRIC_WORDS[metric]} ({value(metric, now)}) by more than 0.5 %."
    return (
        f"The policy {best.policy} costs least: {METRIC_WORDS[metric]} {value(metric, best.cost(metric))} instead of "
        f"{value(metric, now)} ({words.signed_percent(-comparison.gain(best) / now)})."
    )


def verdict_after(found: AfterTheFact) -> str:
    """The first sentence on jobs that ran: the policy that would have cost least, or why none is recommended."""
    comparison = found.comparison
    if _worst(found) > TOO_FAR_OFF:
        return f"What turns would change is not known: {_off(found)}. The figures below are no forecast."
    if not found.is_worth_it or found.is_recommended:
        return verdict(comparison)
    metric, gain = comparison.metric, comparison.gain(found.best)
    return (
        f"No policy is recommended: {found.best.policy} would lower the {METRIC_WORDS[metric]} by "
        f"{value(metric, gain)}, and the simulation is off by {value(metric, found.error)}."
    )


def _worst(found: AfterTheFact) -> float:
    return max((abs(check.relative_error) for check in found.checks), default=0.0)


def _off(found: AfterTheFact) -> str:
    errors = [f"{check.job} {words.signed_percent(check.relative_error)}" for check in found.checks]
    return f"simulated as they ran, the jobs' I/O spans are off by {words.listing(errors)}"


def fit(found: AfterTheFact) -> str:
    said = f"Check of the simulation: {_off(found)}."
    if _worst(found) <= LARGE_ERROR:
        return said
    return f"{said} A model of more runs may fit better: slicewise study model fit PROFILES -o M, then --fitted M."


def basis(found: AfterTheFact) -> list[str]:
    capacity, point = found.capacity, found.storage.point
    least = "at least " if capacity.is_floor else ""
    lines = [
        f"{point} serves {least}{words.rate(capacity.rate.value)}: {words.sentence(capacity.rate.how)}",
        f"Shares go by {found.weighting.kind}{'' if found.is_weight_fitted else ASSUMED_WEIGHT}.",
    ]
    for source in ("standalone runs", "quiet slices", "the storage's capacity"):
        names = [job.plan.job for job in found.jobs if job.source == source]
        if names:
            lines.append(f"{words.listing(names)}: the rate alone is from {source}.")
    if any(job.source == "the storage's capacity" for job in found.jobs):
        lines.append(
            "A job whose rate alone is not known is assumed to fill the storage by itself. If it does not, policies "
            "gain less than this page says. To know, give a standalone run of it with --alone."
        )
    once = [job.plan.job for job in found.jobs if len(job.plan.phases) == 1]
    if once:
        lines.append(f"{words.listing(once)}: one I/O phase, so the period is not known, by which set10 goes.")
    lines += [
        f"I/O on other file systems than {point} and metadata calls count as computing.",
        "A byte read counts like a byte written.",
        "Waiting and interrupting cost nothing in the simulation, and a phase can be interrupted anywhere.",
        "Jobs that are not given, or were not profiled, are not in it.",
    ]
    return lines


def for_whom(comparison: PolicyComparison, simulated: Simulated) -> str:
    gains, losses = [], []
    for job, won in zip(comparison.undisturbed.jobs, comparison.seconds_won(simulated), strict=True):
        if won > LEAST_GAIN * job.io_seconds:
            gains.append(f"{job.job} {words.seconds(won)}")
        elif -won > LEAST_GAIN * job.io_seconds:
            losses.append(f"{job.job} {words.seconds(-won)}")
    told = [f"{verb}: {words.listing(jobs)}" for verb, jobs in (("Gains", gains), ("Loses", losses)) if jobs]
    return f"{'. '.join(told)} of I/O span." if told else "No job gains or loses I/O span."


def meanings(comparison: PolicyComparison) -> list[str]:
    return [
        f"{one.policy}: {MEANINGS[one.policy]}{f'; here {words.seconds(one.delay)}' if one.policy == 'delay' else ''}."
        for one in comparison.simulated
    ]


def comparison_record(comparison: PolicyComparison, chosen: str) -> dict[str, Any]:
    return {
        "metric": comparison.metric,
        "policies": [_policy(comparison, one) for one in comparison.simulated],
        "chosen": chosen,
    }


def after_the_fact_record(found: AfterTheFact, page: Path) -> dict[str, Any]:
    return {
        **comparison_record(found.comparison, found.chosen),
        "best": found.best.policy,
        **picked(found, "is_recommended", "error"),
        "validation": [
            {
                "job": check.job,
                "processes": job.plan.processes,
                "phases": len(job.observed),
                **picked(check, observed_io_seconds="observed", simulated_io_seconds="simulated"),
                "relative_error": check.relative_error,
                "rate_alone_from": job.source,
            }
            for job, check in zip(found.jobs, found.checks, strict=True)
        ],
        "storage": found.storage,
        "capacity": {
            **{key: rate for key, rate in rate_record(found.capacity.rate).items() if key != "how"},
            **picked(found.capacity, "source", "is_floor"),
        },
        **picked(found, weight="weighting", is_weight_fitted="is_weight_fitted"),
        "notes": basis(found),
        "page": page,
    }


def _policy(comparison: PolicyComparison, simulated: Simulated) -> dict[str, Any]:
    won = comparison.seconds_won(simulated)
    keys = ("job", "start", "end", "io_seconds", "interference")
    return {
        "policy": simulated.policy,
        **{metric: simulated.cost(metric) for metric in COSTS},
        **picked(simulated, "utilisation", "slowdown"),
        "gain": comparison.gain(simulated),
        **({"delay_seconds": simulated.delay} if simulated.policy == "delay" else {}),
        "jobs": [
            picked(job, *keys) | {"gained_seconds": seconds} for job, seconds in zip(simulated.jobs, won, strict=True)
        ],
    }


def costs_table(comparison: PolicyComparison) -> Table:
    """A row a policy: every metric, and what the chosen metric gains."""

    def cost(metric: Metric) -> Made[Simulated]:
        unit = "s" if metric in ("cpu_seconds", "makespan") else ""
        return columns.said(METRIC_WORDS[metric], lambda one: one.cost(metric), lambda cost: value(metric, cost), unit)

    return columns.table(
        comparison.simulated,
        columns.text("policy", lambda one: one.policy),
        *map(cost, METRICS),
        columns.number("mean slowdown", lambda one: one.slowdown),
        columns.percent("utilisation", lambda one: one.utilisation),
        columns.error("change", lambda one: -comparison.gain(one) / comparison.undisturbed.cost(comparison.metric)),
    )


def jobs_table(comparison: PolicyComparison) -> Table:
    """A row a policy and job: I/O span, interference factor, and what the job gains."""

    def gain(job: Outcome, won: float) -> Cell:
        return Cell("0 s" if abs(won) < NO_GAIN * job.io_seconds else f"{words.number(won)} s", won)

    return columns.table(
        (
            (one.policy, job, won, min(each.start for each in one.jobs))
            for one in comparison.simulated
            for job, won in zip(one.jobs, comparison.seconds_won(one), strict=True)
        ),
        columns.text("policy", lambda row: row[0]),
        columns.text("job", lambda row: row[1].job),
        columns.seconds("I/O span", lambda row: row[1].io_seconds),
        columns.seconds("alone", lambda row: row[1].io_alone),
        columns.number("factor", lambda row: row[1].interference),
        columns.figure("gains", lambda row: gain(row[1], row[2]), "s"),
        columns.seconds("ends", lambda row: row[1].end - row[3]),
    )


def factors_table(comparison: PolicyComparison) -> Table:
    """A row a job, a column a policy: I/O span and interference factor. For the terminal, and few jobs."""
    names = [one.policy for one in comparison.simulated]
    table = Table([Column("I/O span (interference factor)", is_figure=False), *(Column(name) for name in names)])
    for outcomes in zip(*(one.jobs for one in comparison.simulated), strict=True):
        cells = [f"{words.seconds(job.io_seconds)} ({words.number(job.interference)})" for job in outcomes]
        table.add(outcomes[0].job, *cells)
    return table


def checks_table(found: AfterTheFact) -> Table:
    """A row a job: I/O span as it was and as simulated without a policy."""
    return columns.table(
        zip(found.jobs, found.checks, strict=True),
        columns.text("job", lambda both: both[1].job),
        columns.count("processes", lambda both: both[0].plan.processes),
        columns.count("I/O phases", lambda both: len(both[0].observed)),
        columns.seconds("I/O span", lambda both: both[1].observed),
        columns.seconds("simulated", lambda both: both[1].simulated),
        columns.error("error", lambda both: both[1].relative_error),
        columns.text("rate alone from", lambda both: both[0].source),
    )


# A chart shows no finer stretches than this part of its width.
FINEST = 1 / 2000
SHORT_NAMES = METRIC_WORDS | {"sum_interference": "sum of factors"}


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
                + " ".join(meanings(comparison)),
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
    costs = sweep.rows.unique(["policy", "dt"], maintain_order=True)
    yield Section(
        heading=f"If {sweep.moved} had begun earlier or later",
        chart=charts.over_offset(costs, "cost", SHORT_NAMES[comparison.metric], moved, against, actual),
        note="The dotted line is when it began." + (" It lies outside of what is shown." if actual is None else ""),
    )
    figures = (("interference", "interference factor", ""), ("seconds", "I/O span", " (s)"))
    for name, (column, said, unit) in product((against, moved), figures):
        rows = sweep.rows.filter(pl.col("job") == name)
        chart = charts.over_offset(rows, column, f"{said}{unit}", moved, against, actual)
        yield Section(heading=f"{name}: {said}", chart=chart)


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
        drawn: list[Stretch] = []
        for one in job.stretches:
            if drawn and (one.doing == drawn[-1].doing or one.end - one.start < finest):
                drawn[-1] = replace(drawn[-1], end=one.end)
            else:
                drawn.append(one)
        yield from ((simulated.policy, job.job, one.doing, one.start - origin, one.end - origin) for one in drawn)


def machine_facts(comparison: PolicyComparison, chosen: str) -> list[Fact]:
    best = next((one for one in comparison.simulated if one.policy == chosen), comparison.undisturbed)
    now, then = (one.cost(comparison.metric) for one in (comparison.undisturbed, best))
    return [
        Fact("policy", chosen),
        Fact(SHORT_NAMES[comparison.metric], value(comparison.metric, then)),
        Fact("where they interfere", value(comparison.metric, now)),
        Fact("change", words.signed_percent((then - now) / now)),
        Fact("worst slowdown", words.number(best.cost("worst_slowdown"))),
    ]
