"""What jobs that took turns gained and lost, and what the simulation says of them, as tables and as a drawing.

`python -m testbed.policy_tables --pack RECORDED ARCHIVES` makes what this reads of recordings (a directory a scenario,
`testbed.policy_campaign`).
"""

import functools
import itertools
import random
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

from slicewise.analysis.policies.simulation import IoPhase, PolicyJob, simulate
from slicewise.kinds import Simulable
from support.folders import folder_for_life

from testbed import policy_validation as recorded
from testbed.policy_chart import Line, Panel, chart
from testbed.policy_plans import RECORDED, SCENARIOS, Scenario, Turns
from testbed.policy_validation import JOBS, Pair
from testbed.tables import Table, listed, table

SMALL_BESIDE_LARGE = ("large-small", "write-back")
LINE_POINTS = 61
# Jobs of short, medium and long periods, as in the paper on IO-Sets: so many of each, whose I/O alone fills this part
# of the storage's time. The numbers are ours.
PERIODS, JOBS_EACH, LOAD, HORIZON_SECONDS = (10.0, 100.0, 1000.0), 20, 0.8, 2000


def main() -> None:
    """Packs the recordings."""
    if sys.argv[1] != "--pack":
        sys.exit("policy_tables: say --pack RECORDED ARCHIVES")
    recorded.pack(Path(sys.argv[2]), Path(sys.argv[3]))


def tables(archives: Path) -> list[Table]:
    """What the turns brought, how near the simulation comes, and every run."""
    return [
        _small_job(archives),
        _simulated(archives),
        listed("dynamic", recorded.dearer(archives), _dearer(archives)),
        _foretold(archives),
        _utilisation(archives),
        *(
            listed(f"all runs, {scenario.name}", sorted(_of(archives, scenario), key=_turns_and_dt), PAIR)
            for scenario in _scenarios(archives)
        ),
    ]


def _turns_and_dt(pair: Pair) -> tuple[int, float, int]:
    return pair.run.scenario.turns.index(pair.run.turns), pair.dt, pair.run.repeat


def _scenarios(archives: Path) -> list[Scenario]:
    known = {run.scenario.name for run in recorded.runs(archives)}
    return [SCENARIOS[name] for name in RECORDED if name in known]


def _of(archives: Path, scenario: Scenario, turns: Turns | None = None) -> list[Pair]:
    return [
        pair
        for pair in recorded.pairs(archives)
        if pair.run.scenario == scenario and (turns is None or pair.run.turns == turns)
    ]


def _simulated(archives: Path) -> Table:
    """How far simulated times in I/O are off, of each scenario and of all."""
    by = {scenario.name: _of(archives, scenario) for scenario in _scenarios(archives)}
    rows = []
    for name, pairs in {**by, "all": [pair for some in by.values() for pair in some]}.items():
        errors = [100 * abs(error) for pair in pairs for error in pair.errors]
        within = sum(error <= 5 for error in errors)
        rows.append([name, len(errors), statistics.mean(errors), max(errors), within])
    return table("simulated", ["scenario", "times", "off, mean, %", "off, most, %", "within 5 %"], rows)


def _small_job(archives: Path) -> Table:
    """The interference factors of the small job and of the large one beside it, over dt and repeats."""
    groups = dict[tuple[str, str, str], list[Pair]]()
    for pair in recorded.pairs(archives):
        if pair.run.scenario.name in SMALL_BESIDE_LARGE:
            named = pair.run.scenario.name, "second" if pair.dt > 0 else "first", pair.run.turns.name
            groups.setdefault(named, []).append(pair)
    rows = [
        [*named, *(_range([pair.interference[at] for pair in of]) for at in (1, 0))] for named, of in groups.items()
    ]
    return table("small job", ["scenario", "the small job comes", "policy", "small job", "large job"], rows)


def _dearer(archives: Path) -> dict[str, Callable[[recorded.Dearer], Any]]:
    """What `dynamic` cost at each dt, by each metric, beside no turns and the fixed policies: means of repeats."""
    return {
        "scenario": lambda one: one.scenario,
        "metric": lambda one: one.metric,
        "dt, s": lambda one: one.dt,
        "sharing": lambda one: statistics.mean(recorded.costs(archives, one.scenario, "interfere", one.metric, one.dt)),
        "fcfs": lambda one: one.fixed[0],
        "interrupt": lambda one: one.fixed[1],
        "dynamic": lambda one: one.dynamic,
        "dynamic over the better of fcfs and interrupt, %": lambda one: 100 * one.by,
        "dearest run of dynamic over it, %": lambda one: 100 * one.most_by,
    }


def _foretold(archives: Path) -> Table:
    """From the profiles of the run without turns."""
    rows = [
        [scenario.name, one.turns.name, *one.measured, *one.foretold]
        for scenario in _scenarios(archives)
        if (directory := unpacked(archives, scenario.name))
        for one in recorded.from_profiles(archives, directory, scenario)
    ]
    columns = [f"{job}{what}, s" for what in ("", ": foretold") for job in JOBS]
    return table("foretold from profiles", ["scenario", "policy", *columns], rows)


def io_sets() -> list[PolicyJob]:
    """Jobs of three periods, each 10 % about its mean, of two phases at least, that begin within the first period."""
    chosen = random.Random(1)
    jobs = []
    for mean in PERIODS:
        for number in range(JOBS_EACH):
            period = chosen.gauss(mean, mean / 10)
            io = period * LOAD / (JOBS_EACH * len(PERIODS))
            later = [IoPhase(period - io, io)] * (max(2, round(HORIZON_SECONDS / period)) - 1)
            phases = (IoPhase(chosen.uniform(0, period), io), *later)
            jobs.append(PolicyJob(f"{mean:g}-{number}", 1, 1.0, 0.0, phases, period - io))
    return jobs


def _two_jobs(archives: Path, scenario: Scenario) -> list[PolicyJob]:
    """Both jobs of a scenario, with all their phases as planned; a second of I/O alone is a volume of 1."""
    alone = [statistics.median(seconds) for seconds in recorded.alone_seconds(archives, scenario.name)]
    jobs = []
    for name, shape, starts, io in zip(JOBS, (scenario.first, scenario.second), scenario.starts(), alone, strict=True):
        between = [max(0.0, then - start - io) for start, then in itertools.pairwise(starts)]
        phases = (IoPhase(0.0, io), *(IoPhase(computing, io) for computing in between))
        jobs.append(PolicyJob(name, shape.processes, scenario.weight(shape), starts[0], phases))
    return jobs


def _utilisation(archives: Path) -> Table:
    """Each policy on jobs with many phases, simulated: how many of the CPU seconds compute, and I/O slowdowns."""
    workloads = {"IO-Sets": io_sets()} | {one.name: _two_jobs(archives, one) for one in _scenarios(archives)}
    # Fig. 10 of CALCioM: A writes four files, and B one when A has written three.
    four_to_one = (("A", 20.0, 0.0), ("B", 5.0, 14.0))
    workloads["CALCioM"] = [PolicyJob(name, 2048, 2048, at, (IoPhase(0.0, io),)) for name, io, at in four_to_one]
    rows = []
    for name, jobs in workloads.items():
        for policy in get_args(Simulable):
            found = simulate(1.0, jobs, policy, delay=1.0)
            rows.append([name, policy, 100 * found.utilisation, found.slowdown, found.cost("worst_slowdown")])
    return table("utilisation", ["workload", "policy", "utilisation, %", "slowdown", "worst slowdown"], rows)


@functools.cache
def unpacked(archives: Path, scenario: str) -> Path | None:
    """Where the profiles of a scenario's run without turns lie; None where there are none."""
    archive = archives / f"{recorded.PROFILES.format(scenario=scenario)}.tar.xz"
    if not archive.exists():
        return None
    target = folder_for_life("slicewise-policies-")
    shutil.unpack_archive(archive, target)
    return target


PAIR: dict[str, Callable[[Pair], Any]] = {
    "policy": lambda pair: pair.run.turns.name,
    "dt, s": lambda pair: pair.dt,
    "repeat": lambda pair: pair.run.repeat,
    **{
        f"{job}{what}": lambda pair, at=at, of=of: of(pair)[at]
        for at, job in enumerate(JOBS)
        for what, of in {
            ", s": lambda pair: pair.measured,
            ": simulated, s": lambda pair: pair.simulated,
            ": factor": lambda pair: pair.interference,
        }.items()
    },
}


def drawing(archives: Path) -> str:
    """Interference factors over dt, a row of panels a scenario."""
    rows = [[_panel(archives, scenario, at) for at in (0, 1)] for scenario in _scenarios(archives)]
    return chart(rows, "Interference factors over dt, by policy")


def _panel(archives: Path, scenario: Scenario, at: int) -> Panel:
    lines = []
    for turns in scenario.turns:
        measured = [(pair.dt, pair.interference[at]) for pair in _of(archives, scenario, turns)]
        if measured and turns.policy != "delay" and turns.metric == "cpu_seconds":
            lines.append(Line(turns.policy, measured, _simulated_line(archives, scenario, turns, at)))
    return Panel(f"{scenario.name}: {JOBS[at]}, {(scenario.first, scenario.second)[at].processes} processes", lines)


def _simulated_line(archives: Path, scenario: Scenario, turns: Turns, at: int) -> list[tuple[float, float]]:
    alone = [statistics.median(seconds) for seconds in recorded.alone_seconds(archives, scenario.name)]
    shapes = (scenario.first, scenario.second)
    capacity = sum(shape.volume_mib for shape in shapes) / sum(alone)
    low, high = min(scenario.offsets), max(scenario.offsets)
    points = []
    for step in range(LINE_POINTS):
        dt = low + (high - low) * step / (LINE_POINTS - 1)
        jobs = [
            PolicyJob(name, shape.processes, scenario.weight(shape), start, (IoPhase(0.0, shape.volume_mib),))
            for name, shape, start in zip(JOBS, shapes, (0.0, dt), strict=True)
        ]
        found = simulate(capacity, jobs, turns.policy, turns.metric, scenario.delay)
        points.append((dt, found.jobs[at].io_seconds / alone[at]))
    return points


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


if __name__ == "__main__":
    main()
