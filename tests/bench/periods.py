"""How well the next burst of periodic I/O is known while a job runs, beside FTIO's DFT and autocorrelation.

Trains of bursts with a known period, asked at moments spread over each (as `slicewise top` asks); FTIO runs in the
environment of `build/peers`, at the same moments on the same series. FTIO tells a period alone: its next burst is the
begin of the last burst and that period, which favours it.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from slicewise.analysis.job.period import find_period, next_burst

# In the environment of FTIO: series of bytes a slice in, for each the dominant period in seconds or null out. Where the
# merging of its two methods raises (0.0.9 does, if one of them finds nothing), its spectrum alone is asked.
FTIO = """
import contextlib, io, json, sys
import numpy as np
from ftio.cli.ftio_core import core
from ftio.parse.args import parse_args

seconds, series = json.load(sys.stdin)
common = ["ftio", "-e", "no", "-f", str(1 / seconds)]
both, spectrum = parse_args([*common, "-au"]), parse_args(common)
found = []
for moved in series:
    rate = np.array(moved) / seconds
    job = {"time": np.arange(len(rate)) * seconds, "bandwidth": rate, "total_bytes": int(sum(moved)), "ranks": 1}
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            told = core(job, both)[0]
        except (ValueError, IndexError):
            told = core(job, spectrum)[0]
    pairs = [(float(sure), float(one)) for one, sure in zip(told.dominant_freq, told.conf) if one > 0]
    found.append(1 / max(pairs)[1] if pairs else None)
json.dump(found, sys.stdout)
"""
SLICE = 4.0
PERIODS = (37.0, 60.0, 156.0, 312.5, 900.0)
BURSTS, FIRST_ASKED = 16, 5
# Seconds of a burst, as a part of the period; how far the distance of two bursts varies; what moves between them, as a
# part of a burst's rate; the amounts of bursts in turn, of which the largest alone are the period.
KINDS = {
    "equal bursts": (0.1, 0.0, 0.0, (1.0,)),
    "long bursts": (0.4, 0.0, 0.0, (1.0,)),
    "bursts 5 % early or late": (0.1, 0.05, 0.0, (1.0,)),
    "bursts 15 % early or late": (0.1, 0.15, 0.0, (1.0,)),
    "beside steady I/O": (0.1, 0.0, 0.1, (1.0,)),
    "amounts that vary": (0.1, 0.02, 0.05, (1.0, 0.7, 1.3, 0.9, 1.1)),
}


@dataclass(frozen=True)
class Asked:
    """A moment at which the next burst is asked for. moved: bytes a slice until then; coming: seconds until it."""

    kind: str
    period: float
    moved: np.ndarray
    coming: float


def asked(kind: str, period: float, random: np.random.Generator) -> Iterator[Asked]:
    """Moments of one train, each in the middle of the quiet after a burst."""
    part, varies, steady, amounts = KINDS[kind]
    begins = period * np.cumsum(np.maximum(1 + varies * random.standard_normal(BURSTS + 1), 2 * part))
    edges = np.arange(int((begins[-1] + period) / SLICE) + 2) * SLICE
    moved = steady * SLICE * random.random(len(edges) - 1)
    for number, begin in enumerate(begins):
        within = np.minimum(edges[1:], begin + part * period) - np.maximum(edges[:-1], begin)
        moved += within.clip(0) * amounts[number % len(amounts)]
    for number in range(FIRST_ASKED, BURSTS):
        ends = begins[number] + part * period
        now = int((ends + random.random() * max(begins[number + 1] - ends, 0)) / SLICE)
        if SLICE * now < begins[number + 1] - SLICE:
            yield Asked(kind, period, 1e6 * moved[: now + 1], begins[number + 1] - SLICE * (now + 1))


def last_begin(moved: np.ndarray) -> float:
    """Seconds from the begin of the last burst to the end of the series."""
    inside = moved >= 0.3 * moved.max()
    return SLICE * (len(moved) - (np.flatnonzero(inside[1:] & ~inside[:-1])[-1] + 1))


def by_ftio(peers: Path, series: list[np.ndarray]) -> list[float | None]:
    given = json.dumps([SLICE, [one.tolist() for one in series]])
    done = subprocess.run(
        [peers / "bin/python", "-c", FTIO], input=given, stdout=subprocess.PIPE, text=True, check=True, timeout=1800
    )
    found: list[float | None] = json.loads(done.stdout)
    return found


def row(name: str, errors: list[float], due: list[float], moments: int, held: list[bool]) -> str:
    def of(values: list[float]) -> str:
        return " ".join(f"{np.quantile(np.abs(values), part):7.1%}" if values else "      -" for part in (0.5, 0.9))

    inside = f"{np.mean(held):7.0%}" if held else "      -"
    return f"{name:28} {len(due) / moments:8.0%}  {of(errors)}   {of(due)}   {inside}"


def main() -> None:
    peers = Path(sys.argv[1]) / "peers"
    random = np.random.default_rng(20)
    moments = [one for kind in KINDS for period in PERIODS for _ in range(2) for one in asked(kind, period, random)]
    theirs = by_ftio(peers, [one.moved for one in moments])
    print("of the period:                          error of it        next burst off      in its")
    print(f"{'':28} {'answers':>8}   median     9 of 10    median 9 of 10   interval")
    for kind in KINDS:
        its = [(one, found) for one, found in zip(moments, theirs, strict=True) if one.kind == kind]
        ours = [(one, find_period(one.moved, SLICE, "write"), next_burst(one.moved, SLICE)) for one, _ in its]
        known = [(one, period, due) for one, period, due in ours if due]
        print(
            row(
                f"{kind}: Slicewise",
                [period.seconds / one.period - 1 for one, period, _ in known if period],
                [(due.value - one.coming) / one.period for one, _, due in known],
                len(its),
                [due.low <= one.coming <= due.high for one, _, due in known],
            )
        )
        found = [(one, period) for one, period in its if period]
        print(
            row(
                f"{'FTIO':>{len(kind) + 6}}",
                [period / one.period - 1 for one, period in found],
                [(period - last_begin(one.moved) - one.coming) / one.period for one, period in found],
                len(its),
                [],
            )
        )


if __name__ == "__main__":
    main()
