"""Holds policies as they are simulated against jobs that really took turns: the figures of `testbed.policy_tables`.

Recorded is what `testbed.policy_campaign` left: phases by the jobs' own clocks, under each policy, at each dt.
"""

import functools
import json
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slicewise.analysis.policies.after_the_fact import after_the_fact
from slicewise.analysis.policies.simulation import IoPhase, PolicyJob, Simulated, simulate
from slicewise.digest.shared import read_digests
from slicewise.kinds import Metric, Policy
from support.decided_again import replay as decided_again

from testbed.policy_plans import ONCE, ONCE_AT, RECORDED, SCENARIOS, Scenario, Turns

FIGURES = "policies.json"
PROFILES = "policies-{scenario}"
# What is aimed at: how far a simulated time in I/O may be off; how much dearer `dynamic` may be than the better of
# FIXED; the interference factor of a small job that may interrupt, and what that may cost the large one.
MOST_ERROR = 0.10
MOST_DEARER = 0.05
MOST_INTERFERENCE = 1.2
MOST_COST = 0.10
FIXED: tuple[Policy, Policy] = ("fcfs", "interrupt")
JOBS = ("A", "B")
KEPT = ("scenario", "policy", "metric", "repeat", "attempts")


@dataclass(frozen=True)
class Phase:
    """A phase of a job: when the coordinator was told of it (s from the run's start), and how long it took by the job's
    own clock.
    """

    arrived: float
    seconds: float


@dataclass(frozen=True)
class Run:
    """Both jobs launched once under a policy, with a phase alone and then one for each dt of the scenario. changes:
    what the coordinator was told; decisions: what it told the jobs for that; agreeing: of the changes, those after
    which the policy's functions in Python decide the same.
    """

    scenario: Scenario
    turns: Turns
    repeat: int
    attempts: int
    phases: tuple[tuple[Phase, ...], tuple[Phase, ...]]
    changes: int
    decisions: int
    agreeing: int


@dataclass(frozen=True)
class Pair:
    """The phases of both jobs at one dt: in I/O for so long (s), as it was and as it is simulated."""

    run: Run
    dt: float
    alone: tuple[float, float]
    measured: tuple[float, float]
    simulated: tuple[float, float]

    @property
    def interference(self) -> tuple[float, float]:
        return _over(self.measured, self.alone)

    @property
    def errors(self) -> tuple[float, float]:
        """How far each job's simulated time is off."""
        first, second = _over(self.simulated, self.measured)
        return first - 1, second - 1

    def cost(self, metric: Metric) -> float:
        """Of the machine, as it was."""
        if metric == "cpu_seconds":
            processes = self.run.scenario.first.processes, self.run.scenario.second.processes
            return sum(count * each for count, each in zip(processes, self.measured, strict=True))
        assert metric == "sum_interference"
        return sum(_over(self.measured, self.alone))


def _over(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    return one[0] / other[0], one[1] / other[1]


def collect(recorded: Path) -> list[dict]:
    """The figures of recordings, a directory a scenario: what the golden file holds."""
    found = []
    for name in RECORDED:
        log = recorded / name / "runs.jsonl"
        for line in log.read_text().splitlines() if log.exists() else ():
            run = json.loads(line)
            file = recorded / name / f"{run['run']}.jsonl"
            lines = file.read_text().splitlines()
            again = decided_again(lines, file.name)
            phases = [
                [(arrived, seconds) for arrived, (_, seconds) in zip(of, job, strict=True)]
                for of, job in zip(_arrivals(lines, run["phases"]), run["phases"], strict=True)
            ]
            counts = {"changes": again.changes, "decisions": again.decisions, "agreeing": again.agreeing}
            found.append({key: run[key] for key in KEPT} | counts | {"phases": phases})
    return found


def _arrivals(lines: Sequence[str], phases: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Of each job, when the coordinator was told that its phases begin (s, as the phases have it)."""
    opened: dict[int, list[float]] = {}
    present: set[int] = set()
    for event in map(json.loads, lines):
        job = event.get("job", 0)
        if event["event"] == "inform" and job not in present:
            present.add(job)
            opened.setdefault(job, []).append(event["time_seconds"])
        elif event["event"] in ("leave", "deadline") or event.get("remaining") == 0:
            present.discard(job)
    by_first = sorted(opened.values())
    if phases[0][0][0] > phases[1][0][0]:
        by_first.reverse()
    origin = min(by_first)[0] - min(job[0][0] for job in phases)
    return [
        [round(min((time - origin for time in of), key=lambda time: abs(time - began)), 6) for began, _ in job]
        for of, job in zip(by_first, phases, strict=True)
    ]


def pack(recorded: Path, archives: Path) -> None:
    """Keeps the figures of all runs, and the profiles of each scenario's run without turns."""
    lines = ",\n".join(map(json.dumps, collect(recorded)))
    (archives / FIGURES).write_text(f"[\n{lines}\n]\n")
    for name in ONCE_AT:
        with tempfile.TemporaryDirectory() as folder:
            for profile in _profiles(recorded / f"{name}-{ONCE}", name):
                shutil.copytree(profile, Path(folder) / profile.name)
            shutil.make_archive(str(archives / PROFILES.format(scenario=name)), "xztar", folder)


def _profiles(directory: Path, scenario: str) -> list[Path]:
    """Of both jobs of the run without turns."""
    return [directory / f"{scenario}-{ONCE}-interfere-1-{place}" for place in (1, 2)]


@functools.cache
def runs(archives: Path) -> tuple[Run, ...]:
    """All runs that were recorded."""
    found = []
    for run in json.loads((archives / FIGURES).read_text()):
        first, second = (tuple(Phase(*phase) for phase in phases) for phases in run["phases"])
        turns = Turns(run["policy"], run["metric"])
        scenario = SCENARIOS[run["scenario"]]
        found.append(
            Run(
                scenario, turns, run["repeat"], run["attempts"], (first, second), run["changes"], run["decisions"],
                run["agreeing"],
            )
        )  # fmt: skip
    return tuple(found)


def alone_seconds(archives: Path, scenario: str) -> tuple[list[float], list[float]]:
    """What a phase of each job took without company, in each run."""
    of = [run for run in runs(archives) if run.scenario.name == scenario]
    return [run.phases[0][0].seconds for run in of], [run.phases[1][0].seconds for run in of]


@functools.cache
def pairs(archives: Path) -> tuple[Pair, ...]:
    """Every dt of every run, beside its simulation from what the jobs are alone."""
    return tuple(
        _pair(run, place, dt, *map(statistics.median, alone_seconds(archives, run.scenario.name)))
        for run in runs(archives)
        for place, dt in enumerate(run.scenario.offsets, 1)
    )


def _pair(run: Run, place: int, dt: float, alone_first: float, alone_second: float) -> Pair:
    scenario, (first, second) = run.scenario, (run.phases[0][place], run.phases[1][place])
    volumes = scenario.first.volume_mib, scenario.second.volume_mib
    capacity = sum(volumes) / (alone_first + alone_second)
    jobs = [
        PolicyJob(
            name, shape.processes, scenario.weight(shape), of[place].arrived, (IoPhase(0.0, shape.volume_mib),),
            period=_period(of, place),
        )
        for name, shape, of in zip(JOBS, (scenario.first, scenario.second), run.phases, strict=True)
    ]  # fmt: skip
    found = simulate(capacity, jobs, run.turns.policy, run.turns.metric, scenario.delay)
    return Pair(run, dt, (alone_first, alone_second), (first.seconds, second.seconds), _io_seconds(found))


def _period(phases: Sequence[Phase], place: int) -> float:
    """As the coordinator has learned it by then (s)."""
    return (phases[place].arrived - phases[0].arrived) / place


def _io_seconds(found: Simulated) -> tuple[float, float]:
    first, second = (job.io_seconds for job in found.jobs)
    return first, second


@dataclass(frozen=True)
class Dearer:
    """At one dt: what `dynamic` cost by its metric, each run of it and in the mean over repeats, and in that mean each
    of FIXED.
    """

    scenario: str
    metric: Metric
    dt: float
    runs: tuple[float, ...]
    fixed: tuple[float, float]

    @property
    def dynamic(self) -> float:
        return statistics.mean(self.runs)

    @property
    def by(self) -> float:
        """Over the better of the two, in the mean over repeats."""
        return self.dynamic / min(self.fixed) - 1

    @property
    def most_by(self) -> float:
        """The same of the dearest run."""
        return max(self.runs) / min(self.fixed) - 1


def dearer(archives: Path) -> list[Dearer]:
    """`dynamic` beside the fixed policies, wherever both were recorded."""
    found = []
    for scenario in (SCENARIOS[name] for name in RECORDED):
        for turns in (turns for turns in scenario.turns if turns.policy == "dynamic"):
            for dt in scenario.offsets:
                first, second = (costs(archives, scenario.name, policy, turns.metric, dt) for policy in FIXED)
                own = costs(archives, scenario.name, "dynamic", turns.metric, dt)
                if own and first and second:
                    fixed = statistics.mean(first), statistics.mean(second)
                    found.append(Dearer(scenario.name, turns.metric, dt, tuple(own), fixed))
    return found


def costs(archives: Path, scenario: str, policy: Policy, metric: Metric, dt: float) -> list[float]:
    """What each repeat cost."""
    return [
        pair.cost(metric)
        for pair in pairs(archives)
        if (pair.run.scenario.name, pair.run.turns.policy, pair.dt) == (scenario, policy, dt)
        and (policy != "dynamic" or pair.run.turns.metric == metric)
    ]


@dataclass(frozen=True)
class Foretold:
    """A policy at the dt of the run without turns: seconds in I/O of both jobs, in the mean over repeats, beside what
    is foretold from the profiles of that run.
    """

    turns: Turns
    measured: tuple[float, float]
    foretold: tuple[float, float]

    @property
    def errors(self) -> tuple[float, float]:
        first, second = _over(self.foretold, self.measured)
        return first - 1, second - 1


def from_profiles(archives: Path, directory: Path, scenario: Scenario) -> list[Foretold]:
    """Each policy foretold from profiles of jobs that took no turns, as `slicewise turns policy` has it of them. The
    last phase of each is the one in company.
    """
    profiled = after_the_fact(read_digests(_profiles(directory, scenario.name)))
    jobs = [
        PolicyJob(
            name, job.plan.processes, job.plan.weight, job.observed[-1][0],
            (replace(job.plan.phases[-1], computing=0.0),),
        )
        for name, job in zip(JOBS, profiled.jobs, strict=True)
    ]  # fmt: skip
    told = []
    for turns in scenario.turns:
        found = simulate(profiled.given_to, jobs, turns.policy, turns.metric, scenario.delay)
        measured = [
            pair.measured
            for pair in pairs(archives)
            if (pair.run.scenario, pair.run.turns, pair.dt) == (scenario, turns, ONCE_AT[scenario.name])
        ]
        if measured:
            first, second = (statistics.mean(seconds) for seconds in zip(*measured, strict=True))
            told.append(Foretold(turns, (first, second), _io_seconds(found)))
    return told
