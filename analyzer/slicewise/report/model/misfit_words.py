"""Jobs that did not take as long as a model of sharing says, in words."""

from __future__ import annotations

from slicewise.analysis.sharing.goodness import Misfit
from slicewise.text import words

# The storage gave the rate that the model has if it is off by less than this fraction.
SAME_RATE = 0.03


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
