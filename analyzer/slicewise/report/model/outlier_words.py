"""Runs that stood out among their repeats, in words."""

from __future__ import annotations

from collections.abc import Sequence

from slicewise.analysis.runs.outliers import MOST_DEVIATIONS
from slicewise.text import words

BY_HOW_MUCH = f"{MOST_DEVIATIONS:g} standard deviations"


def dropped(runs: Sequence[str]) -> list[str]:
    """A sentence that names them; none without any."""
    return [f"Dropped as outliers ({BY_HOW_MUCH}): {words.listing(runs)}."] if runs else []
