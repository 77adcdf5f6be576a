"""How evenly processes were served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Uniformity:
    """Bytes per process: processes (count), mean (bytes), rsd (population standard deviation / mean, a fraction), jain
    (1/n to 1).
    """

    processes: int
    mean_bytes: float
    rsd: float
    jain: float


def uniformity(process_bytes: Sequence[float] | np.ndarray) -> Uniformity | None:
    """How alike the bytes of processes are, those that moved none included; None where nothing was moved at all.

    rsd: Kuo et al., section 4.2. jain: (sum x)^2 / (n sum x^2), which is 1 / (1 + rsd^2) (Jain, Chiu and Hawe, DEC-
    TR-301, 1984).
    """
    moved = np.asarray(process_bytes, dtype=np.float64)
    mean = float(moved.mean()) if len(moved) else 0.0
    if mean <= 0:
        return None
    return Uniformity(
        len(moved), mean, float(moved.std()) / mean, float(moved.sum() ** 2 / (len(moved) * (moved**2).sum()))
    )
