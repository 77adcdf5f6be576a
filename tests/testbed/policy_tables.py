"""What jobs that took turns gained and lost, and what the simulation says of them, as tables and as a drawing.

`python -m testbed.policy_tables --pack RECORDED ARCHIVES` makes what this reads of recordings (a directory a scenario,
`testbed.policy_campaign`).
"""

import functools
import shutil
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path

from slicewise.analysis.policies.simulation import IoPhase, PolicyJob, simulate
from slicewise.kinds import Metric, Policy
from support.folders import folder_for_life

from testbed import policy_validation as recorded
from testbed.policy_chart import Line, Panel, chart
from testbed.policy_plans import ONCE_AT, RECORDED, SCENARIOS, Scenario, Turns
from testbed.policy_validation import JOBS, MOST_COST, MOST_DEARER, MOST_ERROR, MOST_INTERFERENCE, Pair
from testbed.tables import Table, table

SMALL_BESIDE_LARGE = ("large-small", "write-back")
LINE_POINTS = 61
METRIC_WORDS: dict[Metric, str] = {"cpu_seconds": "CPU seconds", "sum_interference": "sum of interference factors"}


def main() -> None:
    """Packs the recordings."""
    if sys.argv[1] != "--pack":
        sys.exit("policy_tables: say --pack RECORDED ARCHIVES")
    recorded.pack(Path(sys.argv[2]), Path(sys.argv[3]))


def tables(archives: Path) -> list[Table]:
    """What the turns brought, what ran, the aims, and every run."""
    return [
        _small_job(archives),
        _ran(archives),
        table("aims", ["what", "aim", "measured", ""], _aim_rows(archives)),
        _small_by_offset(archives),
        _dynamic(archives),
        _foretold(archives),
        *(_all_runs(archives, scenario) for scenario in _scenarios(archives)),
    ]


def _scenarios(archives: Path) -> list[Scenario]:
    known = {run.scenario.name for run in recorded.runs(archives)}
    return [SCENARIOS[name] for name in RECORDED if name in known]


def _of(archives: Path, scenario: Scenario, turns: Turns | None = None) -> list[Pair]:
    return [
        pair
        for pair in recorded.pairs(archives)
        if pair.run.scenario == scenario and (turns is None or pair.run.turns == turns)
    ]


def _ran(archives: Path) -> Table:
    rows = []
    for scenario in _scenarios(archives):
        alone = recorded.alone_seconds(archives, scenario.name)
        runs = [run for run in recorded.runs(archives) if run.scenario == scenario]
        for job, shape, seconds in zip(JOBS, (scenario.first, scenario.second), alone, strict=True):
            spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
            rows.append(
                [
                    scenario.name, job, str(shape.processes), str(shape.volume_mib),
                    f"{statistics.median(seconds):.2f} ({spread})", str(len(runs)),
                    *(f"{sum(getattr(run, name) for run in runs):,}" for name in ("changes", "decisions")),
                ]
            )  # fmt: skip
    headings = [
        "scenario", "job", "processes", "MiB", "alone, s: middle (range)", "starts", "events in its coordinator's log",
        "decisions",
    ]  # fmt: skip
    return table("recorded", headings, rows)


def _aim_rows(archives: Path) -> list[list[str]]:
    rows = []
    for scenario in _scenarios(archives):
        if scenario.name in SMALL_BESIDE_LARGE:
            shared, alone = (_later(archives, scenario, policy) for policy in ("interfere", "interrupt"))
            before = [pair.interference[1] for pair in shared]
            after = [pair.interference[1] for pair in alone]
            rows.append(
                [
                    f"{scenario.name}: the small job's interference factor under `interrupt`, if it comes second",
                    f"under {MOST_INTERFERENCE:g}",
                    f"{max(after):.2f} at most, {statistics.mean(after):.2f} in the mean "
                    f"(sharing: {_range(before, '.2f')})",
                    _met(max(after) < MOST_INTERFERENCE),
                ]
            )
            cost = max(pair.interference[0] - 1 for pair in alone)
            rows.append(
                [
                    f"{scenario.name}: how much longer the large job's I/O takes than alone, if the small one comes "
                    "second under `interrupt`",
                    f"under {MOST_COST:.0%}", f"{_percent(cost)} at most", _met(cost < MOST_COST),
                ]
            )  # fmt: skip
    for (scenario, metric), of in _dearer(archives).items():
        most, count = max(one.most_by for one in of), sum(len(one.runs) for one in of)
        of_means = f"; in the mean over repeats {_percent(max(one.by for one in of))} at most"
        rows.append(
            [
                f"{scenario}: dynamic over the better of fcfs and interrupt, in {METRIC_WORDS[metric]}",
                f"at most {MOST_DEARER:.0%}",
                f"{_percent(most)} at most, of {count} times that both jobs wrote under dynamic"
                f"{of_means if count > len(of) else ' (one at each dt)'}",
                _met(most <= MOST_DEARER),
            ]
        )  # fmt: skip
    for scenario in _scenarios(archives):
        errors = [abs(error) for pair in _of(archives, scenario) for error in pair.errors]
        rows.append(
            [
                f"{scenario.name}: a job's time in I/O, simulated from the times alone",
                f"within {MOST_ERROR:.0%}",
                f"off by {_percent(max(errors))} at most, {_percent(statistics.mean(errors))} in the mean; "
                f"{sum(error <= MOST_ERROR for error in errors)} of {len(errors)} within",
                _met(max(errors) <= MOST_ERROR),
            ]
        )
    return rows


def _small_job(archives: Path) -> Table:
    """The interference factors of the small job beside the large one, over dt and repeats."""
    small = [one for one in _scenarios(archives) if one.name in SMALL_BESIDE_LARGE]
    shown: list[tuple[Policy, Metric]] = [(policy, "cpu_seconds") for policy in ("interfere", "fcfs", "interrupt")]
    shown += [("dynamic", metric) for metric in METRIC_WORDS]
    rows = [
        [f"{scenario.name}, the small job comes {'second' if is_second else 'first'}", *_interference(of, shown)]
        for scenario in small
        for is_second in (True, False)
        if (of := [pair for pair in _of(archives, scenario) if (pair.dt > 0) == is_second])
    ]
    headings = [
        f"`{policy}`{f', {METRIC_WORDS[metric]}' if policy == 'dynamic' else ''}{job}"
        for policy, metric in shown
        for job in ((": small job", ": large job") if policy == "interrupt" else (": small job",))
    ]
    return table("small job", ["scenario", *headings], rows)


def _interference(of: list[Pair], shown: list[tuple[Policy, Metric]]) -> list[str]:
    """The small job's factors by policy; the large one's, too, where it is interrupted or interrupts."""
    cells = []
    for policy, metric in shown:
        found = [pair.interference for pair in of if (pair.run.turns.policy, pair.run.turns.metric) == (policy, metric)]
        for job in (1, 0) if policy == "interrupt" else (1,):
            cells.append(_range((factors[job] for factors in found), ".2f") if found else "")
    return cells


def _dearer(archives: Path) -> dict[tuple[str, Metric], list[recorded.Dearer]]:
    """What `dynamic` cost at each dt, by scenario and metric."""
    found: dict[tuple[str, Metric], list[recorded.Dearer]] = {}
    for one in recorded.dearer(archives):
        found.setdefault((one.scenario, one.metric), []).append(one)
    return found


def _later(archives: Path, scenario: Scenario, policy: str) -> list[Pair]:
    """With the second job beginning while the first one writes."""
    return [pair for pair in _of(archives, scenario) if pair.run.turns.policy == policy and pair.dt > 0]


def _small_by_offset(archives: Path) -> Table:
    """Interference factors of both, in the mean over repeats."""
    rows = []
    for scenario in _scenarios(archives):
        if scenario.name not in SMALL_BESIDE_LARGE:
            continue
        for dt in scenario.offsets:
            factors = []
            for policy in ("interfere", "fcfs", "interrupt"):
                of = [p for p in _of(archives, scenario) if p.run.turns.policy == policy and p.dt == dt]
                small, large = (statistics.mean(pair.interference[at] for pair in of) for at in (1, 0))
                factors += [f"{small:.2f}", f"{large:.3f}"]
            rows.append([scenario.name, f"{dt:+g}", *factors])
    headings = ["scenario", "dt, s"]
    for policy in ("sharing", "fcfs", "interrupt"):
        headings += [f"{policy}: small", f"{policy}: large"]
    return table("small job by offset", headings, rows)


def _shared(archives: Path, one: recorded.Dearer) -> float:
    """What no turns cost at the same dt, by the same metric, in the mean over repeats."""
    return statistics.mean(recorded.costs(archives, one.scenario, "interfere", one.metric, one.dt))


def _over_sharing(archives: Path, one: recorded.Dearer) -> float:
    return one.dynamic / _shared(archives, one) - 1


def _dynamic(archives: Path) -> Table:
    rows = [
        [
            one.scenario, METRIC_WORDS[one.metric], f"{one.dt:+g}", f"{_shared(archives, one):.2f}",
            *(f"{cost:.2f}" for cost in one.fixed), f"{one.dynamic:.2f}", f"{100 * one.by:+.1f} %",
            f"{100 * one.most_by:+.1f} %", f"{100 * _over_sharing(archives, one):+.1f} %",
        ]
        for one in recorded.dearer(archives)
    ]  # fmt: skip
    headings = [
        "scenario", "metric", "dt, s", "sharing", "fcfs", "interrupt", "dynamic",
        "dynamic over the better of fcfs and interrupt", "dearest run of dynamic over it", "dynamic over sharing",
    ]  # fmt: skip
    return table("dynamic", headings, rows)


def _foretold(archives: Path) -> Table:
    """From the profiles of the run without turns."""
    rows = []
    for scenario in _scenarios(archives):
        directory = unpacked(archives, scenario.name)
        if directory is None:
            continue
        for one in recorded.from_profiles(archives, directory, scenario):
            row = [scenario.name, f"{ONCE_AT[scenario.name]:+g}", one.turns.name]
            for foretold, measured, error in zip(one.foretold, one.measured, one.errors, strict=True):
                row += [f"{measured:.2f}", f"{foretold:.2f}", f"{100 * error:+.1f} %"]
            rows.append(row)
    headings = ["scenario", "dt, s", "policy"]
    for name in JOBS:
        headings += [f"{name}, s", "foretold, s", "error"]
    return table("foretold from profiles", headings, rows)


@functools.cache
def unpacked(archives: Path, scenario: str) -> Path | None:
    """Where the profiles of a scenario's run without turns lie; None where there are none."""
    archive = archives / f"{recorded.PROFILES.format(scenario=scenario)}.tar.xz"
    if not archive.exists():
        return None
    target = folder_for_life("slicewise-policies-")
    shutil.unpack_archive(archive, target)
    return target


def _all_runs(archives: Path, scenario: Scenario) -> Table:
    rows = [
        [pair.run.turns.name, f"{pair.dt:+g}", str(pair.run.repeat), *_job(pair, 0), *_job(pair, 1)]
        for turns in scenario.turns
        for dt in scenario.offsets
        for pair in _of(archives, scenario, turns)
        if pair.dt == dt
    ]
    headings = ["policy", "dt, s", "repeat"]
    for name in JOBS:
        headings += [f"{name}, s", "simulated, s", "error", "factor"]
    return table(f"all runs, {scenario.name}", headings, rows)


def _job(pair: Pair, at: int) -> list[str]:
    return [
        f"{pair.measured[at]:.2f}", f"{pair.simulated[at]:.2f}", f"{100 * pair.errors[at]:+.1f} %",
        f"{pair.interference[at]:.2f}",
    ]  # fmt: skip


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


def _range(values: Iterable[float], form: str) -> str:
    known = sorted(values)
    ends = dict.fromkeys(f"{end:{form}}" for end in (known[0], known[-1]))
    return " to ".join(ends)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


def _met(is_met: bool) -> str:
    return "met" if is_met else "missed"


if __name__ == "__main__":
    main()
