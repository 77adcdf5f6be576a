"""Measurements that were published: tables 1 to 3 of Kuo et al., "Environment Matters" (2013), hard disks.

Two IMB-IO jobs of p and q processes, 12 a node, each of which wrote 16 MiB a thousand times, over Gigabit Ethernet to
one NFS server. Rates are in MiB/s.
"""

import polars as pl
from slicewise.analysis.runs.campaign import JOBS_SCHEMA, SLICES_SCHEMA, pair_of

MIB = 1 << 20
VOLUME = 16_000 * MIB
SLICE_SECONDS = 4.0
# processes: MiB/s alone
ALONE = {"private": {1: 82.6, 12: 95.5, 36: 95.0, 60: 93.5}, "shared": {1: 83.8, 12: 78.5, 36: 73.8, 60: 55.4}}
# (p, q): overall MiB/s of P and Q, then the same in the active overlapping region
TOGETHER = {
    "private": {
        (1, 12): (47.3, 51.8, 45.0, 52.5), (1, 36): (46.8, 74.8, 23.6, 77.0), (1, 60): (46.8, 82.0, 16.6, 87.1),
        (12, 36): (48.3, 69.2, 24.7, 71.6), (12, 60): (50.4, 78.8, 19.0, 83.1), (36, 60): (51.5, 59.9, 41.4, 64.9),
    },
    "shared": {
        (1, 12): (49.1, 45.1, 49.6, 43.1), (1, 36): (43.3, 51.5, 33.8, 54.7), (1, 60): (37.9, 45.6, 25.5, 50.6),
        (12, 36): (38.3, 50.8, 24.0, 54.4), (12, 60): (35.3, 47.8, 16.1, 53.7), (36, 60): (23.9, 23.7, 24.4, 33.3),
    },
}  # fmt: skip


def jobs_of(mode: str) -> pl.DataFrame:
    """The runs of a mode as a campaign's jobs; spans are volumes over overall rates."""
    rows = [_job(f"{p} alone", p, rate, [p]) for p, rate in ALONE[mode].items()]
    for (p, q), (rate_p, rate_q, _, _) in TOGETHER[mode].items():
        rows += [_job(f"{p} + {q}", p, rate_p, [p, q]), _job(f"{p} + {q}", q, rate_q, [p, q])]
    return pl.DataFrame(rows, schema=JOBS_SCHEMA)


def slices_of(mode: str) -> pl.DataFrame:
    """The rates as slices: one of each job alone, and one of each pair, with the rates of its region."""
    rows = [_slice(f"{p} alone", p, rate, [p]) for p, rate in ALONE[mode].items()]
    for (p, q), (_, _, rate_p, rate_q) in TOGETHER[mode].items():
        rows += [_slice(f"{p} + {q}", p, rate_p, [p, q]), _slice(f"{p} + {q}", q, rate_q, [p, q])]
    return pl.DataFrame(rows, schema=SLICES_SCHEMA)


def _size(processes: int) -> dict[str, int]:
    nodes = -(-processes // 12)
    return {"processes": processes, "nodes": nodes, "mounts": nodes, "outstanding": float(processes * MIB)}


def pair_name(sizes: tuple[int, int]) -> str:
    """The combination of a pair, as frames have it."""
    return _pair(list(sizes))


def _pair(sizes: list[int]) -> str:
    return pair_of((p, _size(p)["nodes"], _size(p)["mounts"]) for p in sizes)


def _job(run: str, processes: int, rate: float, sizes: list[int]) -> dict:
    seconds = VOLUME / MIB / rate
    spans = {"start": 0.0, "seconds": seconds, "seconds_low": seconds, "seconds_high": seconds}
    own = {"run": run, "pair": _pair(sizes), "job": f"{run}: {processes}", "program": "IMB-IO", "bytes": VOLUME}
    return own | _size(processes) | spans


def _slice(run: str, processes: int, rate: float, sizes: list[int]) -> dict:
    own = {"run": run, "pair": _pair(sizes), "slice": 0, "job": f"{run}: {processes}", "seconds": SLICE_SECONDS}
    return own | _size(processes) | {"bytes": round(rate * SLICE_SECONDS * MIB)}
