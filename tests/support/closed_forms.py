"""Closed forms of the literature, which the code's general solutions must come to."""

import math
from collections.abc import Sequence


def alone_from_common_start(times: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Standalone times V_k / C from the concurrent times of such jobs: the inverse of `common_start_times`.

    In the order of ends: V_k / C = (t_k - sum_{j<k} V_j / C) / (1 + sum_{j>k} w_j / w_k). For two jobs these are
    equations 3 and 4 of Kuo et al.
    """
    order = sorted(range(len(times)), key=lambda i: times[i])
    alone = [0.0] * len(times)
    before = 0.0
    for place, k in enumerate(order):
        waiting = math.fsum(weights[j] for j in order[place + 1 :])
        alone[k] = (times[k] - before) / (1 + waiting / weights[k])
        before += alone[k]
    return alone
