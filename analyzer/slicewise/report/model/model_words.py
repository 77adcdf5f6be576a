"""How well a model of sharing fits, in words: what it misses, which repeats stood out, and what jobs weigh."""

from __future__ import annotations

from collections.abc import Sequence

from slicewise.analysis.runs.rates import MOST_DEVIATIONS
from slicewise.analysis.sharing.goodness import Misfit
from slicewise.analysis.sharing.weights import FEWEST_RUNS, WeightFit, WeightKind
from slicewise.constants import TOO_FAR_OFF
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
    """What differs from the prediction, in up to three sentences."""
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
    """To whom the storage is fair, in words, with the evidence."""
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
