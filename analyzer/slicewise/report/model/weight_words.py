"""What a storage goes by when jobs share it, and to whom it is fair, in sentences."""

from __future__ import annotations

from slicewise.analysis.sharing.weights import FEWEST_RUNS, WeightFit, WeightKind
from slicewise.constants import TOO_FAR_OFF
from slicewise.text import words

MEANINGS: dict[WeightKind, str] = {
    "processes": "its processes",
    "nodes": "its compute nodes",
    "mounts": "its mounts of the storage",
    "equal": "nothing: every job gets as much",
    "outstanding": "the bytes that it keeps outstanding",
    "processes^beta": "a power of its processes",
}


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
