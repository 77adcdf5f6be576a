"""How long jobs would take side by side, by a run of each alone and others seen in company (docs/models.md)."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slicewise.analysis.calls import AMOUNTS, KINDS, SECONDS, Kind
from slicewise.analysis.capacity.by_kind import serves
from slicewise.analysis.predict.fitted import MOVES, Fitted, SeenRun, fitted_to, is_better, seen_runs
from slicewise.analysis.predict.laws import (
    AT_LIMIT,
    BY_REQUESTS,
    FEWEST_SEEN,
    LAWS,
    POOR,
    Law,
    Laws,
    dependence,
    further_laws,
    laws_of,
)
from slicewise.analysis.predict.side_by_side import NONE, Member, Segment, amounts, ends, joined
from slicewise.analysis.runs.limits import bytes_a_request, limit_of, times_at_limit
from slicewise.analysis.runs.matching import company, each_once
from slicewise.analysis.runs.on_storage import AloneRun, run_there, sampled_there
from slicewise.analysis.runs.storage import describe_all, storage_of
from slicewise.analysis.sharing.weights import Weighting
from slicewise.constants import MUCH_BUFFERED, MUCH_METADATA, NO_SECONDS
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.statistics import error_of_next_run
from slicewise.text import words

# A job's run alone, when it starts (s), and its timeline.
Plan = tuple["AloneRun", float, tuple[Segment, ...]]
# Slices whose figures are that close are one segment.
SAME = 0.1

# What a job has of others' share that is served last.
STARVED = 100.0

# One law each of those by which a job's timeline differs.
KINDS_OF_LAW = (LAWS[0], BY_REQUESTS[0])

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ServiceRates:
    """What the storage serves at most of each kind: bytes/s or metadata calls/s; and the same in calls of any kind."""

    amounts: dict[Kind, float]
    requests: dict[Kind, float]


def served_by(quiet: Sequence[AloneRun]) -> ServiceRates:
    return ServiceRates(serves(quiet), serves(run.in_requests for run in quiet))


@dataclass(frozen=True)
class PredictedJob:
    """seconds: of I/O beside the others (95 %); alone: by itself. doubt: why the law may not hold; else empty."""

    job: str
    start: float
    alone: float
    seconds: Estimate
    doubt: str

    @property
    def slowdown(self) -> float:
        return self.seconds.value / self.alone


@dataclass(frozen=True)
class Predicted:
    """runs in company, and `tried_on` them; the model of sharing where it is better; seen: other jobs there."""

    jobs: list[PredictedJob]
    laws: Laws
    serves: ServiceRates
    runs: list[SeenRun]
    tried: dict[Law, list[list[float]]]
    fitted: Fitted | None = None
    seen: int = 0

    @property
    def errors(self) -> list[float]:
        """ln(predicted / seen) of jobs in company, by the law or model that was chosen."""
        return self.fitted.errors(self.runs) if self.fitted is not None else self.laws.errors

    @property
    def mean_error(self) -> float | None:
        return float(np.mean(np.abs(np.expm1(self.errors)))) if self.errors else None

    @property
    def largest_error(self) -> float | None:
        return float(np.max(np.abs(np.expm1(self.errors)))) if self.errors else None


def predict(
    jobs: Sequence[tuple[Digest, float]], seen: Sequence[Digest] = (), progress: Progress | None = None
) -> Predicted:
    """Foretell. jobs: a run alone of each, and when its I/O begins (s after the first one's). seen: any other jobs, of
    which those in company tell the law, where there is a run alone of each of them. progress: told how many of how many
    steps are done. Raises UserError for fewer than two jobs, and for jobs that share no storage.
    """
    if len(jobs) < 2:
        raise UserError("predict needs two or more jobs; give a standalone run of each")
    storage = storage_of([digest for digest, _ in jobs], "they do not share one")
    others = each_once([*dict.fromkeys(digest for digest, _ in jobs), *seen])
    there = {id(digest): alone_run(digest, storage) for digest, _ in jobs}
    more = [one for digest in others if id(digest) not in there and (one := job_there(digest, storage)) is not None]
    everything = with_limits(storage, list(there.values()), more)
    there = dict(zip(there, everything, strict=False))
    alone = [there[id(digest)] for digest, _ in jobs]
    quiet, runs = seen_runs(everything)
    served = served_by([*alone, *quiet])
    among = LAWS if any(run.at_limit is None for run in alone) else AT_LIMIT
    tried = tried_on(runs, served, progress, among)
    laws = laws_of(tried, [run.sizes for run in runs], among)
    plans = [(one, start) for one, (_, start) in zip(alone, jobs, strict=True)]
    fitted = fitted_to(storage, runs, [*alone, *quiet]) if laws.is_held_out else None
    if fitted is not None and not is_better(fitted.errors(runs), laws):
        fitted = None
    errors = laws.errors if fitted is None else fitted.errors(runs)
    seconds = predicted_seconds(plans, served, laws) if fitted is None else fitted.predicted(plans)
    beside = [alone[:place] + alone[place + 1 :] for place in range(len(alone))]
    found = [
        PredictedJob(
            one.digest.job,
            start,
            one.seconds,
            value,
            _not_alone(one.digest, others) or doubt_of(one, beside[place], errors, served),
        )
        for place, ((one, start), value) in enumerate(zip(plans, seconds, strict=True))
    ]
    return Predicted(found, laws, served, runs, tried, fitted, len(more))


def _not_alone(digest: Digest, others: Sequence[Digest]) -> str:
    """Why what was given is no run alone, in a clause; empty: nothing says so."""
    there = words.some(other.job for other in company(digest, others))
    return f"it ran beside {there}, and may be faster alone; give a run of it that was alone" if there else ""


def alone_run(digest: Digest, storage: int) -> AloneRun:
    """A job on a storage. Raises UserError where it moved nothing there."""
    found = job_there(digest, storage)
    if found is None:
        raise UserError(f"{digest.path}: moved no bytes on the file system in question; give a run that did")
    return found


def job_there(digest: Digest, storage: int) -> AloneRun | None:
    """`run_there`, or `sampled_there` where that is more of what it moved."""
    found, sampled = run_there(digest, storage), sampled_there(digest, storage)
    if found is None or (sampled is not None and sum(sampled.bytes.values()) > sum(found.bytes.values())):
        return sampled
    return found


def with_limits(storage: int, alone: Sequence[AloneRun], more: Sequence[AloneRun] = ()) -> list[AloneRun]:
    """The runs alone and more runs there, each with the time that it takes of one control group's limits, if that group
    held all of the runs alone up, with the same limits. A further run that it did not hold up has no such time.
    """
    everyone = [*alone, *more]
    (where,) = describe_all([storage], [run.digest for run in everyone])
    limits = [limit_of(where, run.digest) for run in everyone]
    first = limits[0]
    if first is None or any(one is None or one.device != first.device for one in limits[: len(alone)]):
        return everyone
    held = [place for place, one in enumerate(limits) if one is not None and one.device == first.device]
    times = times_at_limit(where, first, [everyone[place].digest for place in held])
    found = list(everyone)
    for place, at_limit in zip(held, times, strict=True):
        size = bytes_a_request(where, first, found[place].digest)
        found[place] = replace(found[place], at_limit=at_limit, bytes_a_request=size)
    return found


def timeline(run: AloneRun, served: Mapping[Kind, float]) -> tuple[Segment, ...]:
    """A run's segments, from its first to its last I/O."""
    slice_ns = run.digest.slice_ns
    start, end = run.span
    rows = {row["slice"]: row for row in run.rows.iter_rows(named=True)}
    found: list[Segment] = []
    buffered, ahead = 0.0, (0.0, 0.0)
    for number in range(start // slice_ns, -(-end // slice_ns)):
        seconds = (min(end, (number + 1) * slice_ns) - max(start, number * slice_ns)) / 1e9
        if seconds <= 0:
            continue
        one = _segment(rows.get(number), seconds, run.processes, served)
        if run.at_limit is None:
            one, buffered = _drained(one, buffered)
        else:
            own = run.at_limit.get(number, (0.0, 0.0))
            one, ahead = _at_limit(one, (ahead[0] + own[0], ahead[1] + own[1]))
        if found and _is_same(found[-1], one):
            found[-1] = joined([found[-1], one])
        else:
            found.append(one)
    if found and buffered > 0:  # so much was never as slow as the storage is taken to be
        read, write, meta = found[-1].use
        found[-1] = replace(found[-1], use=(read, write + buffered / found[-1].seconds, meta))
    return tuple(found)


def line(run: AloneRun, served: ServiceRates, law: Law) -> tuple[Segment, ...]:
    """`timeline` in what takes the storage's time by a law."""
    return timeline(run.in_requests, served.requests) if law.is_by_requests else timeline(run, served.amounts)


def _segment(row: Mapping[str, float] | None, seconds: float, processes: int, served: Mapping[Kind, float]) -> Segment:
    if row is None:
        return Segment(seconds)
    use = [row[AMOUNTS[kind]] / served[kind] / seconds if kind in served else 0.0 for kind in KINDS]
    calls = [row[SECONDS[kind]] / processes / seconds for kind in KINDS]
    # Who used the storage was in calls, if only for as long as they are counted in whole nanoseconds.
    calls = [max(part, 1e-6) if used else part for part, used in zip(calls, use, strict=True)]
    whole = max(1.0, sum(calls))
    return Segment(seconds, amounts(use), amounts(part / whole for part in calls))


def _drained(segment: Segment, buffered: float) -> tuple[Segment, float]:
    """A segment with what the storage did meanwhile, and the seconds of buffered writes that it has yet to do."""
    read, write, meta = segment.use
    wanted = write * segment.seconds + buffered
    done = min(wanted, segment.seconds)
    return replace(segment, use=(read, done / segment.seconds, meta)), wanted - done


def _at_limit(segment: Segment, wanted: tuple[float, float]) -> tuple[Segment, tuple[float, float]]:
    """A segment with the time at the limits there, of reads and of writes, and what is left for the next: the kernel
    lets lumps through. Metadata calls wait in either queue. Who used a limit was in such calls, if only by those that
    the kernel made for it.
    """
    read, write = (min(one, segment.seconds) for one in wanted)
    use = amounts((read / segment.seconds, write / segment.seconds, 0.0))
    calls = amounts(max(part, 1e-6) if used else part for part, used in zip(segment.calls, use, strict=True))
    return replace(segment, use=use, calls=calls), (wanted[0] - read, wanted[1] - write)


def _is_same(one: Segment, other: Segment) -> bool:
    pairs = zip((*one.use, *one.calls), (*other.use, *other.calls), strict=True)
    return all(abs(mine - its) <= SAME for mine, its in pairs) and ((one.use == NONE) == (other.use == NONE))


def weight_of(run: AloneRun, law: Law) -> float:
    """The weight that a law gives a job while all of its processes are in calls. At a control group's limits the
    requests are known that wait there; else a call is taken to be one.
    """
    if run.bytes_a_request:
        return Weighting(law.by).of(
            run.processes, run.nodes, run.nodes, run.processes * min(run.bytes_a_request, law.part)
        )
    moves = [kind for kind in MOVES if run.calls[kind]]
    count = sum(run.calls[kind] for kind in moves)
    size = sum(run.bytes[kind] for kind in moves) / count if count else 1.0
    return Weighting(law.by).of(run.processes, run.nodes, run.nodes, run.processes * min(size, law.part))


def under_way(run: AloneRun, law: Law, served: ServiceRates) -> float:
    """How long the storage takes for what a job's processes have under way while all of them write (s)."""
    if not run.calls["write"]:
        return 0.0
    return run.processes * min(run.bytes["write"] / run.calls["write"], law.part) / served.amounts["write"]


def together(
    jobs: Sequence[Plan], served: ServiceRates, law: Law, weights: Sequence[float] | None = None
) -> list[float]:
    """How long each job's I/O takes beside the others (s), by a law. weights: other ones than its own."""
    weights = weights or [weight_of(run, law) for run, _, _ in jobs]
    plans = [
        Member(
            start,
            weight,
            alone,
            under_way(run, law, served),
            run.call_seconds("meta"),
            run.nodes,
            run.call_seconds("read"),
        )
        for (run, start, alone), weight in zip(jobs, weights, strict=True)
    ]
    return [end - plan.start for end, plan in zip(ends(plans, law.rules), plans, strict=True)]


def tried_on(
    runs: Sequence[SeenRun], served: ServiceRates, progress: Progress | None = None, among: Sequence[Law] = LAWS
) -> dict[Law, list[list[float]]]:
    """ln(predicted / seen) of each job of each run, by every law `among` these, and where none of all explains them by
    further ones.
    """
    drawn = [_drawn([(one.alone, one.start) for one in run.jobs], served) for run in runs]
    found: dict[Law, list[list[float]]] = {}
    laws = list(among if runs else among[:1])
    for done, law in enumerate(laws):
        found[law] = [
            [
                math.log(seconds / one.seconds)
                for seconds, one in zip(together(plans[law.is_by_requests], served, law), run.jobs, strict=True)
            ]
            for run, plans in zip(runs, drawn, strict=True)
        ]
        if law == among[-1] and among is LAWS:
            laws += further_laws(found)  # the loop goes on with them
        if progress is not None:
            progress(done + 1, len(laws))
    return found


def _drawn(plans: Sequence[tuple[AloneRun, float]], served: ServiceRates) -> dict[bool, list[Plan]]:
    """Runs alone and their starts with timelines, by whether a law goes by requests."""
    return {law.is_by_requests: [(run, start, line(run, served, law)) for run, start in plans] for law in KINDS_OF_LAW}


def times_of(
    run: SeenRun, runs: Sequence[SeenRun], tried: Mapping[Law, Sequence[Sequence[float]]]
) -> dict[Law, list[float]]:
    """What each law that was tried on `runs` says of the jobs of one of them (s)."""
    place = next(place for place, other in enumerate(runs) if other is run)
    return {
        law: [one.seconds * math.exp(error) for one, error in zip(run.jobs, errors[place], strict=True)]
        for law, errors in tried.items()
    }


def predicted_seconds(
    plans: Sequence[tuple[AloneRun, float]],
    served: ServiceRates,
    laws: Laws,
    known: Mapping[Law, Sequence[float]] | None = None,
) -> list[Estimate]:
    """How long each job's I/O takes beside the others. The interval is what the choice of a law was off by for
    combinations of jobs that it had not seen, for a job whose time depends as much on the law (`Laws.spread`); where
    too few were seen, what all possible laws say. known: times by law, where they have been worked out before.
    """
    drawn = _drawn(plans, served)
    wanted = dict.fromkeys([*laws.among, *laws.possible] if len(laws.errors) >= FEWEST_SEEN else laws.possible)
    by_law = {
        law: list(known[law]) if known and law in known else together(drawn[law.is_by_requests], served, law)
        for law in wanted
    }
    chosen = by_law[laws.chosen]
    stakes = dependence({law: [np.log(np.maximum(times, NO_SECONDS)).tolist()] for law, times in by_law.items()})[0]
    # That jobs do not meet at all is possible, too, as long as no run shows that they do; and that one gets what others
    # leave: calls that are few, or small, starve behind a long queue.
    bounds = [[run.seconds for run, _ in plans], last_served(drawn, served, laws.chosen)]
    possible = zip(*(by_law[law] for law in laws.possible), *([] if laws.errors else bounds), strict=True)
    found = [laws.estimate(*one) for one in zip(chosen, possible, stakes, strict=True)]
    if laws.among is not AT_LIMIT:
        return found
    # What a limit lets through is known: no law lets a job end before its run alone, or after who is served last.
    apart = 1 + error_of_next_run(0.0, 1)
    return [
        replace(one, low=max(one.low, min(alone / apart, one.value)), high=min(one.high, max(last * apart, one.value)))
        for one, alone, last in zip(found, *bounds, strict=True)
    ]


def last_served(drawn: Mapping[bool, Sequence[Plan]], served: ServiceRates, law: Law) -> list[float]:
    """How long each job's I/O takes if the storage serves it next to nothing while any other one asks (s)."""
    plans = drawn[law.is_by_requests]
    weights = [weight_of(run, law) for run, _, _ in plans]
    return [
        together(plans, served, law, [one / STARVED if at == place else one for at, one in enumerate(weights)])[place]
        for place in range(len(plans))
    ]


def told_by_others(found: Predicted) -> Iterator[tuple[SeenRun, Laws, list[Estimate]]]:
    """Each run in company, with the law that explains all others best and the times that it tells of this one."""
    for place, run in enumerate(found.runs):
        others = {law: [*errors[:place], *errors[place + 1 :]] for law, errors in found.tried.items()}
        laws = laws_of(others, [other.sizes for other in found.runs if other is not run], found.laws.among)
        plans = [(job.alone, job.start) for job in run.jobs]
        yield run, laws, predicted_seconds(plans, found.serves, laws, times_of(run, found.runs, found.tried))


def doubt_of(run: AloneRun, beside: Sequence[AloneRun], errors: Sequence[float], served: ServiceRates) -> str:
    """Why laws may not hold for a job beside others, in a clause; else empty. errors: logarithms, of what was seen."""
    for one in (run, *beside):
        if (part := one.most_buffered(served.amounts)) > MUCH_BUFFERED:
            whose = "it" if one is run else one.digest.job
            return (
                f"memory on the way took what {whose} wrote at first: {100 * part:.0f} % of its time alone was needed "
                "to store that, and no law tells whose data a server stores first"
            )
    for one in (run, *beside):
        if one.is_sampled:
            whose = "it" if one is run else one.digest.job
            return f"{whose} could not be profiled, and is taken to wait whenever the kernel moved bytes for it"
    for one in (run, *beside):
        if one.in_metadata() > MUCH_METADATA:
            whose = "its" if one is run else f"{one.digest.job}'s"
            return (
                f"{100 * one.in_metadata():.0f} % of {whose} time in calls is in metadata calls, which the laws of "
                "sharing hardly describe"
            )
    if 0 < len(errors) < FEWEST_SEEN:
        return "too few jobs were seen together there to tell how far off a law is"
    if errors and (off := float(np.mean(np.abs(np.expm1(errors))))) > POOR:
        return f"no law explains well what was seen here: the best is off by {100 * off:.0f} % in the mean"
    return ""
