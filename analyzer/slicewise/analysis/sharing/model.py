"""A fitted model of sharing: what it is made of, and when it says that jobs beside each other end."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from slicewise.analysis.capacity.by_clients import CapacityCurve, Clients, CostLine, CurvePoint
from slicewise.analysis.sharing.proportional import ServedJob, SharingJob, share_out
from slicewise.analysis.sharing.weights import WEIGHT_KINDS, Candidate, WeightFit, Weighting
from slicewise.errors import UserError, mended_by
from slicewise.estimate import Estimate
from slicewise.statistics import student_t
from slicewise.text.safe_text import json_text

Basis = Literal["standalone times", "capacity curve"]
# A job whose neighbours go on for more than this part of its time after its end is one whose share is at stake: what
# it takes depends on its share. All others take what the work of all takes, whoever gets how much of it.
AT_STAKE = 0.05
FORMAT = "slicewise study model 2"


@dataclass(frozen=True)
class AloneRate:
    """What jobs of one size reach alone: bytes/s, mean of their standalone runs; dropped: those that stood out."""

    program: str
    processes: int
    nodes: int
    mounts: int
    rate: Estimate
    outstanding: float
    runs: int
    dropped: list[str]


@dataclass(frozen=True)
class HeldOut:
    """How far off runtimes of `combinations` were that the fit had not seen: |relative error|, root mean square."""

    mean: float
    worst: float
    root_mean_square: float
    combinations: int


@dataclass(frozen=True)
class EndWait:
    """What a job waits for at its end while others go on: seconds for each unit of the weight of those others. Answers
    to its last calls and syncs queue behind what the others have under way, which goes by their weight, and its
    processes do not end at one moment. deviation: the standard deviation of it over jobs of combinations; combinations:
    how many show it.
    """

    seconds: float
    deviation: float
    combinations: int

    def doubt(self, others: float) -> float:
        """How far off the wait of another combination may be, beside others of that weight: s, 95 %."""
        return student_t(self.combinations - 1) * math.sqrt(1 + 1 / self.combinations) * self.deviation * others


@dataclass(frozen=True)
class Scatter:
    """How far runtimes lie off the model: root mean squares over combinations of jobs of ln(observed / predicted).
    of_capacity: of jobs that end with all others or after them, whose time is work over capacity; of_shares: of those
    whose share is at stake (`AT_STAKE`). Each with the combinations that show it, which the fit had not seen.
    """

    of_capacity: float
    capacity_combinations: int
    of_shares: float
    share_combinations: int

    def factor(self, is_at_stake: bool) -> float:
        """The factor to both sides within which the runtime of another run lies, 95 %."""
        deviation, count = self.of_capacity, self.capacity_combinations
        if is_at_stake:
            deviation, count = self.of_shares, self.share_combinations
        return math.exp(student_t(count) * math.sqrt(1 + 1 / count) * deviation)


@dataclass(frozen=True)
class FittedModel:
    """How a storage shares itself out. weight, capacity: see there. basis: what a job's share is a share of:
    "standalone times" (the rate that this very job reaches alone, as in the pair model) or "capacity curve" (what the
    storage serves so many clients, up to the rate that the job reaches alone). process_demand: the rate that one
    process reaches by itself (bytes/s), where standalone runs below the capacity show it. alone: by size. end_wait,
    scatter: see there; None where too few combinations of jobs show them. provenance: what it was made from. disturbed:
    runs that were left out, for somebody else was at the storage (`disturbed`).
    """

    weight: WeightFit
    capacity: CapacityCurve | None
    basis: Basis
    process_demand: Estimate | None
    alone: list[AloneRate]
    end_wait: EndWait | None = None
    scatter: Scatter | None = None
    held_out: HeldOut | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    disturbed: list[str] = field(default_factory=list)

    def alone_rate(self, processes: int, nodes: int, mounts: int, program: str | None = None) -> AloneRate | None:
        """What jobs of that size reach alone; of any program where none is named."""
        fitting = (
            rate
            for rate in self.alone
            if (rate.processes, rate.nodes, rate.mounts) == (processes, nodes, mounts)
            and program in (None, rate.program)
        )
        return next(fitting, None)

    def alone_rate_of(self, job: ModelJob) -> AloneRate | None:
        """What jobs of the size of this one reach alone."""
        return self.alone_rate(job.processes, job.nodes, job.clients["mounts"], job.program)

    def knows_size_of(self, job: ModelJob) -> bool:
        """Whether it is given, or runs show, what the job reaches alone."""
        return job.alone is not None or self.alone_rate_of(job) is not None

    def by(self, weighting: Weighting) -> FittedModel:
        """The model with another weight, and without what is known of ends and scatter, which goes with its own."""
        return replace(self, weight=replace(self.weight, chosen=weighting), end_wait=None, scatter=None)


@dataclass(frozen=True)
class ModelJob:
    """A job to predict: bytes, start (s), what weights may go by, and the rate that it reaches alone (bytes/s; None:
    what the model knows of its size, else the capacity).
    """

    job: str
    bytes: float
    processes: int
    nodes: int = 1
    mounts: int | None = None
    outstanding: float | None = None
    start: float = 0.0
    alone: float | None = None
    program: str | None = None

    @property
    def clients(self) -> dict[str, int]:
        return {
            "constant": 1,
            "jobs": 1,
            "processes": self.processes,
            "nodes": self.nodes,
            "mounts": self.nodes if self.mounts is None else self.mounts,
        }


@dataclass(frozen=True)
class ModelledRuntime:
    """A job's predicted time beside the others, alone (s), and end; is_at_stake: it depends on its share."""

    job: str
    end: float
    t_co: Estimate
    t_alone: float
    interference: float
    is_at_stake: bool = False


@dataclass(frozen=True)
class Solved:
    """What becomes of a job: end, t_co, t_alone. others: the weight of those that go on when it ends; wait_doubt: how
    far off the wait for them may be, s; is_at_stake: whether its time depends on its share.
    """

    end: float
    t_co: float
    t_alone: float
    others: float
    wait_doubt: float
    is_at_stake: bool


def model_job(model: FittedModel, row: Mapping[str, Any]) -> ModelJob:
    alone = model.alone_rate(row["processes"], row["nodes"], row["mounts"], row["program"])
    return ModelJob(
        row["job"],
        row["bytes"],
        row["processes"],
        row["nodes"],
        row["mounts"],
        alone.outstanding if alone else row["outstanding"],
        row["start"],
        program=row["program"],
    )


def solve(model: FittedModel, jobs: Sequence[ModelJob], weights: Sequence[float], end: int = 0) -> list[Solved]:
    """What becomes of each job; end: -1, 0, 1 for low, middle, high rates. Raises ValueError for an unknown rate."""
    alone = [_alone(model, job, end) for job in jobs]
    curve = model.capacity
    each = list(zip(jobs, alone, weights, strict=True))
    if model.basis == "standalone times" or curve is None:
        served = [SharingJob(job.job, job.bytes / rate, weight, start=job.start) for job, rate, weight in each]
        schedule = share_out(1.0, served)
    else:

        def capacity(active: Sequence[int]) -> float:
            if len(active) == 1:
                return alone[active[0]]
            return curve.at(_clients(curve.by, [jobs[place] for place in active]), end)

        served = [SharingJob(job.job, job.bytes, weight, rate, job.start) for job, rate, weight in each]
        schedule = share_out(capacity, served)
    return [_at_its_end(model, place, jobs, weights, schedule.jobs) for place in range(len(jobs))]


def _clients(by: Clients, jobs: Sequence[ModelJob]) -> int:
    return 1 if by == "constant" else sum(job.clients[by] for job in jobs)


def _at_its_end(
    model: FittedModel, place: int, jobs: Sequence[ModelJob], weights: Sequence[float], served: Sequence[ServedJob]
) -> Solved:
    """A job with what it waits for at its end; no longer than the first of the others goes on."""
    own = served[place]
    others = [k for k, other in enumerate(served) if jobs[k].start < own.end < other.end]
    left = min((served[k].end - own.end for k in others), default=0.0)
    beside = math.fsum(weights[k] for k in others)
    wait = min(model.end_wait.seconds * beside, left) if model.end_wait else 0.0
    doubt = min(model.end_wait.doubt(beside), left) if model.end_wait else 0.0
    # One that ends together with its like depends on its share as well, as long as somebody else goes on.
    longest = max((served[k].end - own.end for k in others), default=0.0)
    return Solved(own.end + wait, own.t_co + wait, own.t_alone, beside, doubt, longest > AT_STAKE * own.t_co)


def _alone(model: FittedModel, job: ModelJob, end: int) -> float:
    """The rate that a job reaches alone: as given, as its size did, or as far as processes and capacity go."""
    if job.alone is not None:
        return job.alone
    known = model.alone_rate_of(job)
    if known is not None:
        return known.rate.end(end)
    if model.capacity is None:
        raise ValueError(f"how fast {job.job} is alone is not known; give its cap")
    rate = model.capacity.at(job.clients[model.capacity.by], end)
    return rate if model.process_demand is None else min(rate, _by_processes(model, job.processes, end))


def _by_processes(model: FittedModel, processes: int, end: int) -> float:
    """The rate that so many processes reach alone, from the jobs with next fewer and next more: in proportion to a
    power of processes between them, and to processes beyond the smallest and the largest.
    """
    known = dict[int, list[float]]()
    for one in model.alone:
        known.setdefault(one.processes, []).append(one.rate.end(end))
    sizes = sorted(known)
    nearest = min(max(processes, sizes[0]), sizes[-1])
    logs = [math.log(math.fsum(known[size]) / len(known[size])) for size in sizes]
    found = math.exp(float(np.interp(math.log(nearest), [math.log(size) for size in sizes], logs)))
    return found * processes / nearest


def combined_rate(model: FittedModel, jobs: Sequence[ModelJob], weights: Sequence[float]) -> float:
    """What the storage gives to all of these jobs together, bytes/s; raises ValueError as `solve` does."""
    if model.basis == "standalone times" or model.capacity is None:
        whole = math.fsum(weights)
        rates = zip(jobs, weights, strict=True)
        return math.fsum(weight / whole * _alone(model, job, 0) for job, weight in rates)
    return model.capacity.at(_clients(model.capacity.by, jobs))


def weights_of(model: FittedModel, jobs: Sequence[ModelJob], weighting: Weighting) -> list[float]:
    """The jobs' weights. Raises ValueError where shares go by outstanding bytes that nothing tells of a job."""
    found = []
    for job in jobs:
        outstanding = job.outstanding
        if outstanding is None and weighting.kind == "outstanding":
            known = model.alone_rate_of(job)
            if known is None:
                raise ValueError(f"how much {job.job} keeps outstanding is not known; give outstanding=BYTES")
            outstanding = known.outstanding
        found.append(weighting.of(job.processes, job.nodes, job.clients["mounts"], outstanding or 0.0))
    return found


def model_record(model: FittedModel) -> dict[str, Any]:
    return {"format": FORMAT} | asdict(model)


def write_model(model: FittedModel, path: Path) -> None:
    """Write the model. Raises UserError where that cannot be."""
    with mended_by(f"{path}: cannot be written", "give another file to -o"):
        path.write_text(json_text(model_record(model), indent=2) + "\n", encoding="utf-8")


def read_model(path: Path) -> FittedModel:
    """Read a model that `slicewise study model fit` wrote. Raises UserError where there is none."""
    again = "slicewise study model fit"
    try:
        with mended_by(f"{path}: cannot be read", f"{again} -o {path} makes one"):
            record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: is no fitted model; {again} -o {path} makes one") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise UserError(f"{path}: is no fitted model of this version; {again} -o {path} makes one")
    try:
        return _model(record)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: is a damaged fitted model ({error}); {again} makes a new one") from error


def _model(record: dict[str, Any]) -> FittedModel:
    weight = record["weight"]
    capacity = record["capacity"]
    if weight["chosen"] is not None and weight["chosen"]["kind"] not in WEIGHT_KINDS:
        raise ValueError(f"no weight {weight['chosen']['kind']}")
    return FittedModel(
        weight=WeightFit(
            **weight
            | {
                "chosen": weight["chosen"] and Weighting(**weight["chosen"]),
                "candidates": [Candidate(**candidate) for candidate in weight["candidates"]],
                "beta": _estimate(weight["beta"]),
            }
        ),
        capacity=capacity
        and CapacityCurve(
            capacity["by"],
            [CurvePoint(point["clients"], Estimate(**point["rate"]), point["runs"]) for point in capacity["points"]],
            capacity["held_out_error"],
            CostLine(**capacity["line"]) if capacity.get("line") else None,
            capacity.get("is_line", False),
        ),
        basis=record["basis"],
        process_demand=_estimate(record["process_demand"]),
        alone=[AloneRate(**rate | {"rate": _estimate(rate["rate"])}) for rate in record["alone"]],
        end_wait=EndWait(**record["end_wait"]) if record.get("end_wait") else None,
        scatter=Scatter(**record["scatter"]) if record.get("scatter") else None,
        held_out=record["held_out"] and HeldOut(**record["held_out"]),
        provenance=record["provenance"],
        disturbed=record.get("disturbed", []),
    )


def _estimate(record: dict[str, Any] | None) -> Estimate | None:
    return Estimate(**record) if record else None
