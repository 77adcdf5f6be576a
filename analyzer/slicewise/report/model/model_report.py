"""What `slicewise study model` shows: tables and lines of fits, predictions and checks."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from slicewise.analysis.capacity.by_clients import CapacityCurve
from slicewise.analysis.runs.rates import MOST_DEVIATIONS
from slicewise.analysis.sharing.fitted_model import misfit_of
from slicewise.analysis.sharing.goodness import Misfit
from slicewise.analysis.sharing.model import FittedModel, ModelJob, ModelledRuntime
from slicewise.analysis.sharing.proportional import Schedule, SharingJob
from slicewise.analysis.sharing.weights import FEWEST_RUNS, Candidate, WeightFit, WeightKind
from slicewise.charts import campaign
from slicewise.constants import TOO_FAR_OFF
from slicewise.report import columns
from slicewise.report.tables import Cell, Table
from slicewise.scalars import real_or_none
from slicewise.text import words

# The storage gave the rate that the model has if it is off by less than this fraction.
SAME_RATE = 0.03
BY_HOW_MUCH = f"{MOST_DEVIATIONS:g} standard deviations"
MEANINGS: dict[WeightKind, str] = {
    "processes": "its processes",
    "nodes": "its compute nodes",
    "mounts": "its mounts of the storage",
    "equal": "nothing: every job gets as much",
    "outstanding": "the bytes that it keeps outstanding",
    "processes^beta": "a power of its processes",
}


def misfit_words(misfit: Misfit) -> str:
    time = misfit.predicted
    took = (
        f"{misfit.job} took {words.seconds(misfit.observed)}; the prediction is {words.interval(time.low, time.high)} s"
    )
    if misfit.with_own_shares is None or misfit.own_share is None:
        return f"{took}. No slice shows what share it had."
    share = (
        f"its slices show a share of {words.percent(misfit.own_share)} where the model says "
        f"{words.percent(misfit.model_share)}"
    )
    if misfit.kind == "other shares":
        return (
            f"{took}. It got another share: {share}. With its own share the model gives "
            f"{words.seconds(misfit.with_own_shares)}."
        )
    return (
        f"{took}. No share law explains that: with the share that its slices show the model gives "
        f"{words.seconds(misfit.with_own_shares)}. {_where(misfit)}"
    )


def _where(misfit: Misfit) -> str:
    ratio = misfit.capacity_ratio
    if ratio is not None and abs(ratio - 1) > SAME_RATE:
        than = "less" if ratio < 1 else "more"
        return f"The storage gave all jobs together {words.percent(abs(ratio - 1))} {than} than the model has."
    if ratio is None:
        return "What the storage gave all jobs together is not known."
    together = "All jobs together got what the model has in the slices that they filled"
    if misfit.observed > misfit.predicted.high:
        return f"{together}: the time was lost at the beginning, at the end or in a pause."
    return f"{together}; where the time was gained is not known."


def dropped(runs: Sequence[str]) -> list[str]:
    """A sentence that names them; none without any."""
    return [f"Dropped as outliers ({BY_HOW_MUCH}): {words.listing(runs)}."] if runs else []


def answer(fit: WeightFit) -> str:
    behind = (
        f"{words.count(fit.runs, 'run')} of {words.count(fit.pairs, 'combination')}, {words.count(fit.slices, 'slice')}"
    )
    if fit.chosen is None:
        return f"Cannot tell by what the storage is shared: {fit.reason} ({behind})."
    errors = {candidate.kind: candidate.share_error for candidate in fit.candidates}
    kind = fit.chosen.kind
    exponent = f" (exponent {fit.beta.value:.2f} {words.interval(fit.beta.low, fit.beta.high)})" if fit.beta else ""
    if errors[kind] > TOO_FAR_OFF:
        return (
            f"Nothing explains how the storage is shared: by {MEANINGS[kind]}, which comes nearest, held-out shares "
            f"are off by {100 * errors[kind]:.0f} % ({behind})."
        )
    said = f"A job's share goes by {MEANINGS[kind]}: held-out shares are off by {100 * errors[kind]:.1f} %"
    others = ", ".join(f"{name} {100 * errors[name]:.1f} %" for name in errors if name != kind)
    doubt = [name for name in fit.possible if name != kind]
    undecided = f" These data do not tell it from {words.listing(doubt)}." if doubt else " All others are refuted."
    if fit.runs < FEWEST_RUNS:
        undecided += f" It takes {FEWEST_RUNS} runs to refute any."
    return f"{said}, by {others}{exponent if kind != 'equal' else ''} ({behind}).{undecided} {_fairness(fit)}"


def _fairness(fit: WeightFit) -> str:
    """The question that Kuo et al. leave open (section 4.2), as far as these data answer it."""
    by_process = "processes" in fit.possible
    by_node = {"nodes", "mounts", "equal"} & set(fit.possible)
    if by_process and not by_node:
        return "The file system is fair to processes, not to nodes."
    if "outstanding" in fit.possible and not by_process and not by_node:
        return (
            "The file system is fair neither to processes nor to nodes: whoever keeps more bytes under way gets more."
        )
    if by_node and not by_process and "outstanding" not in fit.possible:
        return "The file system is fair to nodes, or to what each node has one of, not to processes."
    if not by_process and not by_node:
        return "The file system is fair neither to processes nor to nodes."
    return (
        "These runs cannot tell whether the file system is fair to processes or to nodes. Runs with unequal numbers of "
        "processes a node would tell."
    )


def schedule_table(jobs: Sequence[SharingJob], schedule: Schedule) -> Table:
    return columns.table(
        zip(jobs, schedule.jobs, strict=True),
        columns.text("job", lambda both: both[0].job),
        columns.said("weight", lambda both: both[0].weight, "{:g}".format),
        columns.duration("start", lambda both: both[0].start, ""),
        columns.duration("end", lambda both: both[1].end, ""),
        columns.duration("together", lambda both: both[1].t_co, ""),
        columns.duration("alone", lambda both: both[1].t_alone, ""),
        columns.number("interference", lambda both: both[1].interference),
    )


def modelled_table(jobs: Sequence[ModelJob], found: Sequence[ModelledRuntime]) -> Table:
    return columns.table(
        zip(jobs, found, strict=True),
        columns.text("job", lambda both: both[0].job),
        columns.count("processes", lambda both: both[0].processes),
        columns.count("nodes", lambda both: both[0].nodes),
        columns.duration("start", lambda both: both[0].start, ""),
        columns.duration("end", lambda both: both[1].end, ""),
        columns.duration("together", lambda both: both[1].t_co.value, ""),
        columns.text("interval", lambda both: words.interval(both[1].t_co.low, both[1].t_co.high)),
        columns.duration("alone", lambda both: both[1].t_alone, ""),
        columns.number("interference", lambda both: both[1].interference),
    )


def candidates_table(fit: WeightFit) -> Table:
    def verdict(candidate: Candidate) -> str:
        if fit.chosen is not None and candidate.kind == fit.chosen.kind:
            return "taken"
        if candidate.is_refuted:
            return "refuted"
        return "comes to the same" if candidate.kind in fit.same else "not refuted"

    return columns.table(
        fit.candidates,
        columns.text("share by", lambda candidate: candidate.kind),
        columns.said(
            "held-out error",
            lambda candidate: 100 * candidate.share_error,
            lambda error: f"{words.number(error)} %",
            "%",
        ),
        columns.text("verdict", verdict),
    )


def _cost(curve: CapacityCurve) -> str:
    """What the line of costs says, and where it counts."""
    if curve.line is None:
        return ""
    more = curve.line.per_client / curve.line.seconds
    where = "Several jobs beside each other" if curve.is_line else f"Beyond {curve.points[-1].clients}"
    squared = " times their number" if curve.line.power > 1 else ""
    return f" {where}: a byte costs {words.percent(more)} more for each of the {curve.by}{squared}."


def capacity_lines(model: FittedModel) -> list[str]:
    """What there is to share, what a process can take by itself, and how well held-out runtimes came out."""
    lines = []
    curve = model.capacity
    if curve is not None:
        points = ", ".join(f"{words.rate(point.rate.value)} for {point.clients}" for point in curve.points)
        if curve.by == "constant":
            lines.append(f"Capacity: {words.rate(curve.points[0].rate.value)}, whoever is at it.")
        else:
            varies = "It is about constant" if curve.is_constant else "It is not constant"
            lines.append(f"Capacity by active {curve.by}: {points}. {varies}.{_cost(curve)}")
    if model.process_demand is not None:
        low, high = model.process_demand.low, model.process_demand.high
        lines.append(
            f"One process by itself takes {words.rate(model.process_demand.value)} "
            f"{words.interval(low / words.MIB, high / words.MIB)}: {model.process_demand.how}."
        )
    if model.held_out is not None:
        held = model.held_out
        lines.append(
            f"Runtimes of {words.count(held.combinations, 'combination')} of jobs, each by a model fitted to "
            f"the others: off by {words.percent(held.mean)} in the mean, {words.percent(held.worst)} at most."
        )
    if model.disturbed:
        lines.append(
            f"Left out: {words.count(len(model.disturbed), 'run')} in which the storage gave less than in their "
            f"repeats, as if somebody without a profile was at it: {words.listing(model.disturbed)}."
        )
    return lines + dropped([name for rate in model.alone for name in rate.dropped])


def check_table(checked: pl.DataFrame) -> Table:
    def between(row: Mapping[str, Any]) -> str:
        return words.interval(row["low"], row["high"]) if row["predicted"] is not None else ""

    def error(row: Mapping[str, Any]) -> Cell:
        said = words.signed_percent(row["relative_error"]) + (" (stood out)" if row["is_outlier"] else "")
        return Cell(said, row["relative_error"] and 100 * row["relative_error"])

    return columns.table(
        checked.iter_rows(named=True),
        columns.text("jobs together", "pair"),
        columns.text("job", "job"),
        columns.text("share by", lambda row: row["weight"] or "cannot tell"),
        columns.seconds("predicted", "predicted"),
        columns.text("interval", between, "s"),
        columns.seconds("observed", "observed"),
        columns.figure("error", error, "%"),
        columns.text("outside", lambda row: row["misfit"] or ""),
    )


def summary(checked: pl.DataFrame) -> dict[str, Any]:
    """The largest and the mean |relative error|, and over how many
    jobs of how many runs. Runs that stood out among their repeats are left out of these, and named, with the largest
    error in any of them."""
    of_outliers = checked.filter("is_outlier")
    checked = checked.filter(~pl.col("is_outlier"))
    errors = checked["relative_error"].drop_nulls().abs()
    return {
        "jobs": len(errors),
        "not_predicted": checked["relative_error"].null_count(),
        "runs": checked["run"].n_unique(),
        "max_relative_error": real_or_none(errors.max()),
        "mean_relative_error": real_or_none(errors.mean()),
        "outliers": of_outliers["run"].unique(maintain_order=True).to_list(),
        "max_relative_error_of_outliers": real_or_none(of_outliers["relative_error"].abs().max()),
    }


HELD_OUT = "by a model fitted to the runs of all other combinations of jobs"


def check_words(checked: pl.DataFrame, how: str) -> list[str]:
    found = summary(checked)
    if not found["jobs"]:
        return ["No runtime could be predicted: the runs cannot tell by what the storage is shared."]
    of = f"{words.count(found['jobs'], 'job')} in {words.count(found['runs'], 'run')}"
    told = [
        f"Predicted runtimes are off by {words.percent(found['mean_relative_error'])} on average and by at most "
        f"{words.percent(found['max_relative_error'])} ({of}).",
        f"They were predicted {how}.",
    ]
    if found["not_predicted"]:
        told.append(f"{words.count(found['not_predicted'], 'job')} could not be predicted.")
    worst = found["max_relative_error_of_outliers"]
    if worst is not None:
        told.append(
            f"Left out: {words.count(len(found['outliers']), 'run')} that stood out among repeats (by "
            f"{BY_HOW_MUCH}): {words.listing(found['outliers'])}, off by at most {words.percent(worst)}."
        )
    return [*told, _misfits_words(checked)]


def _misfits_words(checked: pl.DataFrame) -> str:
    """How many jobs lie outside of their intervals, and the one that is off most."""
    known = checked.filter(pl.col("relative_error").is_not_null())
    off = known.filter(pl.col("misfit").is_not_null()).sort(pl.col("relative_error").abs())
    if off.is_empty():
        return "All runtimes lie within their predicted intervals."
    worst = misfit_words(misfit_of(off.row(-1, named=True)))
    lie = "lies outside its predicted interval" if len(off) == 1 else "lie outside their predicted intervals"
    return f"{words.count(len(off), 'job')} of {len(known)} {lie}. The worst: {worst}"


def bars_and_diamonds(checked: pl.DataFrame) -> str:
    shown = "Bars are what was observed, diamonds what was predicted, with intervals"
    means = ", means of the runs of a combination, without those that stood out among them"
    return f"{shown}{means if campaign.shows_means(checked) else ''}."
