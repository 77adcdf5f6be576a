"""Tables of transfer sizes with a known truth: B = B_max s / (s + s_0), and repeats with noise."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from slicewise.analysis.size.points import POINTS

KIB, MIB = 1 << 10, 1 << 20
SIZES = tuple(4 * KIB << (2 * power) for power in range(6))  # 4 KiB to 4 MiB
MOST, HALF_AT = 400.0 * MIB, 64.0 * KIB


def true_bandwidth(size: int, most: float = MOST, half_at: float = HALF_AT) -> float:
    """bytes/s at that size."""
    return most * size / (size + half_at)


def measured(
    noise: float, repeats: int, seed: int = 1, sizes: Sequence[int] = SIZES, processes: int = 2, **chosen: object
) -> pl.DataFrame:
    """Repeats of each size, in calls all the time; noise: relative, of each run. chosen: other columns."""
    random = np.random.default_rng(seed)
    rows = []
    for size in sizes:
        for repeat in range(repeats):
            bandwidth = true_bandwidth(size) * float(np.exp(random.normal(0, noise)))
            row = {
                "mount": "/scratch", "direction": "write", "access": "sequential", "sharing": "file per process",
                "processes": processes, "block_size": None, "file_size": None, "beside": "", "size": size,
                "run": str(repeat), "bandwidth": bandwidth, "latency": processes * size / bandwidth,
                "latency_p99": None, "in_flight": float(processes),
            }  # fmt: skip
            rows.append(row | chosen)
    return pl.DataFrame(rows, schema=POINTS)
