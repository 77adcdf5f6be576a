"""How long jobs would take side by side, foretold from a run of each alone and from others that were seen in company.

Digests in, dataclasses out. What happens side by side is `side_by_side`'s; docs/models.md has the definitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from slicewise.analysis.blame.timeline import AMOUNTS, CALLS, KINDS, SECONDS, Kind, call_rows
from slicewise.analysis.foretell.laws import FEWEST_SEEN, LAWS, SHORTEST, Law, Laws, crowded_laws, dependence, laws_of
from slicewise.analysis.foretell.side_by_side import NONE, Amounts, Beside, Segment, ends
from slicewise.analysis.job.io_span import io_span
from slicewise.analysis.runs.matching import run_of
from slicewise.analysis.runs.storage import shared_storage
from slicewise.analysis.sharing.weights import Weighting
from slicewise.digest.activity import DIRECTIONS, activity, bytes_by_storage
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.estimate import Estimate

# A job's run alone, when it starts (s), and its timeline.
Plan = tuple["AloneRun", float, tuple[Segment, ...]]
MOVES: tuple[Kind, ...] = ("read", "write")
# A run of the same program is one of the same job if its bytes and calls are as close as this.
ALIKE = 0.05
ALIKE_CALLS = 0.2
# Slices whose figures are that close are one segment.
SAME = 0.1
# What a storage serves at most is told by slices in which all processes were in calls for as much of the time.
BUSY = 0.9
FEWEST_SLICES = 4
PERCENTILE = 95
MUCH_METADATA = 0.1
# A slice in which no process was in calls for as much of the time is a pause.
PAUSED = 0.1
# Writes that memory took ahead of the storage, as a part of a job's time alone: clients hold back up to a tenth.
MUCH_BUFFERED = 0.25
# A law that is off by more in the mean explains nothing.
POOR = 0.1

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class AloneRun:
    """A job by itself on the storage. span: first and last I/O there, in ns; rows: by slice, of all processes."""

    digest: Digest
    processes: int
    nodes: int
    bytes: dict[Kind, int]
    calls: dict[Kind, int]
    span: tuple[int, int]
    rows: pl.DataFrame

    @property
    def seconds(self) -> float:
        return (self.span[1] - self.span[0]) / 1e9

    def weight(self, law: Law) -> float:
        """The weight that a law gives it while all of its processes are in calls."""
        moves = [kind for kind in MOVES if self.calls[kind]]
        count = sum(self.calls[kind] for kind in moves)
        size = sum(self.bytes[kind] for kind in moves) / count if count else 1.0
        outstanding = self.processes * min(size, law.part)
        return Weighting(law.by).of(self.processes, self.nodes, self.nodes, outstanding)

    def under_way(self, law: Law, served: Mapping[Kind, float]) -> float:
        """How long the storage takes for what its processes have under way while all of them write (s)."""
        if not self.calls["write"]:
            return 0.0
        return self.processes * min(self.bytes["write"] / self.calls["write"], law.part) / served["write"]

    def most_buffered(self, served: Mapping[Kind, float]) -> float:
        """The most that was written and not yet stored: how long the storage takes for it, as a part of the job's time.
        At the storage's mean rate, so that what a server's memory took in the first seconds shows.
        """
        if "write" not in served:
            return 0.0
        tau = self.digest.slice_ns / 1e9
        left = most = 0.0
        last = None
        for slice_, moved in self.rows.select("slice", AMOUNTS["write"]).iter_rows():
            idle = 0 if last is None else slice_ - last - 1
            left = max(0.0, max(0.0, left - idle * tau) + moved / served["write"] - tau)
            most, last = max(most, left), slice_
        return most / max(self.seconds, SHORTEST)

    def stored(self) -> tuple[float, float]:
        """What the storage stored of it (bytes/s) while it wrote or waited for what it had written, and by how much
        memory was ahead of that at most, as a part of that time.
        """
        tau = self.digest.slice_ns / 1e9
        rows = self.rows.filter(pl.col(SECONDS["write"]) >= PAUSED * tau).select("slice", AMOUNTS["write"])
        ends = rows["slice"].to_numpy().astype(float)[:, None] * tau + [0.0, tau]
        lengths = np.diff(np.clip(ends, self.span[0] / 1e9, self.span[1] / 1e9), axis=1).ravel()
        moved, whole = rows[AMOUNTS["write"]].to_numpy().astype(float), float(lengths.sum())
        if not moved.sum() or whole <= 0:
            return 0.0, 0.0
        rate = float(moved.sum()) / whole
        return rate, max(0.0, float(np.max(np.cumsum(moved) / rate - np.cumsum(lengths)))) / whole

    def call_seconds(self, kind: Kind) -> float:
        """How long a call of a kind takes (s); 0 without any."""
        return float(self.rows[SECONDS[kind]].sum()) / self.calls[kind] if self.calls[kind] else 0.0

    def in_metadata(self) -> float:
        """The fraction of its time in calls that is of metadata."""
        seconds = {kind: float(self.rows[SECONDS[kind]].sum()) for kind in KINDS}
        return seconds["meta"] / sum(seconds.values()) if any(seconds.values()) else 0.0


@dataclass(frozen=True)
class SeenJob:
    """A job that ran in company: when (s after the first one's I/O began), for how long, a run of it alone, and what it
    did there.
    """

    job: str
    start: float
    seconds: float
    alone: AloneRun
    seen: AloneRun


@dataclass(frozen=True)
class SeenRun:
    """Jobs that ran side by side. sizes: the same for its repeats."""

    jobs: list[SeenJob]

    @property
    def sizes(self) -> tuple[str, ...]:
        return tuple(sorted(one.alone.digest.job for one in self.jobs))


@dataclass(frozen=True)
class Foretold:
    """seconds: from its first to its last I/O beside the others, with an interval of 95 % where enough was seen; alone:
    the same by itself. doubt: why the law may not hold for it; else empty.
    """

    job: str
    start: float
    alone: float
    seconds: Estimate
    doubt: str

    @property
    def slowdown(self) -> float:
        return self.seconds.value / self.alone


@dataclass(frozen=True)
class Foretelling:
    """serves: what the storage serves at most, by kind (bytes/s, calls/s). runs, tried: in company; `tried_on` them."""

    jobs: list[Foretold]
    laws: Laws
    serves: dict[Kind, float]
    runs: list[SeenRun]
    tried: dict[Law, list[list[float]]]


def foretell(
    jobs: Sequence[tuple[Digest, float]], seen: Sequence[Digest] = (), progress: Progress | None = None
) -> Foretelling:
    """Foretell. jobs: a run alone of each, and when its I/O begins (s after the first one's). seen: any other jobs, of
    which those in company tell the law, where there is a run alone of each of them.

    progress: told how many of how many steps are done. Raises UserError for fewer than two jobs, and for jobs that
    share no storage.
    """
    if len(jobs) < 2:
        raise UserError("foretell needs two or more jobs; give a standalone run of each")
    storage = storage_of([digest for digest, _ in jobs])
    there = {id(digest): alone_run(digest, storage) for digest, _ in jobs}
    alone = [there[id(digest)] for digest, _ in jobs]
    more = [one for one in (run_there(digest, storage) for digest in seen) if one is not None]
    quiet, runs = seen_runs([*there.values(), *more])
    served = serves([*alone, *quiet])
    tried = tried_on(runs, served, progress)
    laws = laws_of(tried, [run.sizes for run in runs])
    plans = [(one, start) for one, (_, start) in zip(alone, jobs, strict=True)]
    seconds = foretold_seconds(plans, served, laws)
    others = [alone[:place] + alone[place + 1 :] for place in range(len(alone))]
    found = [
        Foretold(one.digest.job, start, one.seconds, value, doubt_of(one, others[place], laws, served))
        for place, ((one, start), value) in enumerate(zip(plans, seconds, strict=True))
    ]
    return Foretelling(found, laws, served, runs, tried)


def storage_of(digests: Sequence[Digest]) -> int:
    """The storage that all use. Raises UserError without one."""
    moved = {
        digest.job: pl.concat([bytes_by_storage(digest, way) for way in DIRECTIONS])
        .group_by("storage")
        .agg(pl.col("bytes").sum())
        for digest in digests
    }
    found = shared_storage(moved)
    if found is None:
        raise UserError("these jobs moved bytes on no common file system, so they do not share one")
    return found


def alone_run(digest: Digest, storage: int) -> AloneRun:
    """A job on a storage. Raises UserError where it moved nothing there."""
    found = run_there(digest, storage)
    if found is None:
        raise UserError(f"{digest.path}: moved no bytes on the file system in question; give a run that did")
    return found


def run_there(digest: Digest, storage: int) -> AloneRun | None:
    """A job on a storage; None where it moved nothing there."""
    spans = [io_span(activity(digest, way, storage), digest.processes, digest.slice_ns) for way in DIRECTIONS]
    there = [span for span in spans if span is not None]
    if not there:
        return None
    rows = call_rows(digest, digest.slice_ns).filter(pl.col("storage") == storage)
    who = digest.processes.join(rows, on="process", how="semi")
    sums = rows.select(pl.col(*AMOUNTS.values(), *CALLS.values()).sum()).row(0, named=True)
    return AloneRun(
        digest,
        max(1, len(who)),
        max(1, who["node"].n_unique()),
        {kind: int(sums[AMOUNTS[kind]]) for kind in KINDS},
        {kind: int(sums[CALLS.get(kind, AMOUNTS[kind])]) for kind in KINDS},
        (min(span.start_ns for span in there), max(span.end_ns for span in there)),
        rows.group_by("slice").agg(pl.col(*AMOUNTS.values(), *SECONDS.values()).sum()).sort("slice"),
    )


def seen_runs(there: Sequence[AloneRun]) -> tuple[list[AloneRun], list[SeenRun]]:
    """The jobs that had no company, and those in company of each of which there is a run without."""
    groups: list[list[AloneRun]] = []
    for one in sorted(there, key=lambda run: run.span):
        near = [group for group in groups if any(_meet(one, other) for other in group)]
        merged = [one, *(other for group in near for other in group)]
        groups = [group for group in groups if group not in near] + [merged]
    quiet = [group[0] for group in groups if len(group) == 1]
    runs = []
    for group in groups:
        origin = min(one.span[0] for one in group)
        found = [(one, _alike(one, quiet)) for one in group]
        if len(group) > 1 and all(other is not None for _, other in found):
            runs.append(
                SeenRun(
                    [
                        SeenJob(one.digest.job, (one.span[0] - origin) / 1e9, one.seconds, other, one)
                        for one, other in found
                        if other is not None
                    ]
                )
            )
    return quiet, runs


def _meet(one: AloneRun, other: AloneRun) -> bool:
    return one.span[0] < other.span[1] and other.span[0] < one.span[1]


def _alike(job: AloneRun, quiet: Sequence[AloneRun]) -> AloneRun | None:
    """A run alone of the same program on as many processes and nodes, with the same bytes and calls."""
    fitting = [one for one in quiet if _is_alike(job, one)]
    # One with the same slices, if there is one: their ends are known as well as the job's.
    fitting.sort(key=lambda one: one.digest.slice_ns != job.digest.slice_ns)
    return fitting[0] if fitting else None


def _is_alike(one: AloneRun, other: AloneRun) -> bool:
    same = (one.processes, one.nodes) == (other.processes, other.nodes)
    if not same or run_of(one.digest).job.program != run_of(other.digest).job.program:
        return False
    bytes_ = all(_is_near(one.bytes[kind], other.bytes[kind], ALIKE) for kind in MOVES)
    return bytes_ and all(_is_near(one.calls[kind], other.calls[kind], ALIKE_CALLS) for kind in KINDS)


def _is_near(one: float, other: float, fraction: float) -> bool:
    return abs(one - other) <= max(fraction * max(one, other), 16)


def serves(quiet: Iterable[AloneRun]) -> dict[Kind, float]:
    """What the storage serves at most of each kind (bytes/s, calls/s), by jobs that had it to themselves."""
    found: dict[Kind, float] = {}
    for run in quiet:
        stored, ahead = run.stored()
        seconds = run.digest.slice_ns / 1e9
        inner = run.rows.slice(1, max(0, len(run.rows) - 2))
        for kind in KINDS:
            if kind == "meta" and run.in_metadata() <= MUCH_METADATA:
                continue  # how fast it opened a few files says nothing of what the storage could do
            busy = inner.filter(pl.col(SECONDS[kind]) >= BUSY * seconds * run.processes)
            rates = run.rows.filter(pl.col(AMOUNTS[kind]) > 0)[AMOUNTS[kind]].to_numpy() / seconds
            if kind == "write" and ahead > MUCH_BUFFERED:
                rate = stored  # slices show how fast memory took it
            elif len(busy) >= FEWEST_SLICES:
                rate = float(busy[AMOUNTS[kind]].sum()) / (len(busy) * seconds)
            elif len(rates):
                rate = float(np.percentile(rates, PERCENTILE))
            else:
                continue
            found[kind] = max(found.get(kind, 0.0), rate)
    return found


def timeline(run: AloneRun, served: Mapping[Kind, float]) -> tuple[Segment, ...]:
    """A run's segments, from its first to its last I/O."""
    slice_ns = run.digest.slice_ns
    start, end = run.span
    rows = {row["slice"]: row for row in run.rows.iter_rows(named=True)}
    found: list[Segment] = []
    buffered = 0.0
    for number in range(start // slice_ns, -(-end // slice_ns)):
        seconds = (min(end, (number + 1) * slice_ns) - max(start, number * slice_ns)) / 1e9
        if seconds <= 0:
            continue
        one, buffered = _drained(_segment(rows.get(number), seconds, run.processes, served), buffered)
        if found and _is_same(found[-1], one):
            found[-1] = _joined(found[-1], one)
        else:
            found.append(one)
    if found and buffered > 0:  # so much was never as slow as the storage is taken to be
        read, write, meta = found[-1].use
        found[-1] = replace(found[-1], use=(read, write + buffered / found[-1].seconds, meta))
    return tuple(found)


def _segment(row: Mapping[str, float] | None, seconds: float, processes: int, served: Mapping[Kind, float]) -> Segment:
    if row is None:
        return Segment(seconds)
    use = [row[AMOUNTS[kind]] / served[kind] / seconds if kind in served else 0.0 for kind in KINDS]
    calls = [row[SECONDS[kind]] / processes / seconds for kind in KINDS]
    # Who used the storage was in calls, if only for as long as they are counted in whole nanoseconds.
    calls = [max(part, 1e-6) if used else part for part, used in zip(calls, use, strict=True)]
    whole = max(1.0, sum(calls))
    return Segment(seconds, _amounts(use), _amounts(part / whole for part in calls))


def _drained(segment: Segment, buffered: float) -> tuple[Segment, float]:
    """A segment with what the storage did meanwhile, and the seconds of buffered writes that it has yet to do."""
    read, write, meta = segment.use
    wanted = write * segment.seconds + buffered
    done = min(wanted, segment.seconds)
    return replace(segment, use=(read, done / segment.seconds, meta)), wanted - done


def _amounts(values: Iterable[float]) -> Amounts:
    read, write, meta = values
    return read, write, meta


def _is_same(one: Segment, other: Segment) -> bool:
    pairs = zip((*one.use, *one.calls), (*other.use, *other.calls), strict=True)
    return all(abs(mine - its) <= SAME for mine, its in pairs) and ((one.use == NONE) == (other.use == NONE))


def _joined(one: Segment, other: Segment) -> Segment:
    seconds = one.seconds + other.seconds

    def mean(mine: Amounts, its: Amounts) -> Amounts:
        return _amounts((a * one.seconds + b * other.seconds) / seconds for a, b in zip(mine, its, strict=True))

    return Segment(seconds, mean(one.use, other.use), mean(one.calls, other.calls))


def together(
    jobs: Sequence[Plan], served: Mapping[Kind, float], law: Law, weights: Sequence[float] | None = None
) -> list[float]:
    """How long each job's I/O takes beside the others (s), by a law. weights: other ones than its own."""
    weights = weights or [run.weight(law) for run, _, _ in jobs]
    plans = [
        Beside(
            start,
            weight,
            alone,
            run.under_way(law, served),
            run.call_seconds("meta"),
            run.nodes,
            run.call_seconds("read"),
        )
        for (run, start, alone), weight in zip(jobs, weights, strict=True)
    ]
    return [end - plan.start for end, plan in zip(ends(plans, law.rules), plans, strict=True)]


def tried_on(
    runs: Sequence[SeenRun], served: Mapping[Kind, float], progress: Progress | None = None
) -> dict[Law, list[list[float]]]:
    """ln(foretold / seen) of each job of each run, by every law."""
    plans = [[(one.alone, one.start, timeline(one.alone, served)) for one in run.jobs] for run in runs]
    found: dict[Law, list[list[float]]] = {}
    laws = list(LAWS if runs else LAWS[:1])
    for done, law in enumerate(laws):
        found[law] = [_errors(run, together(jobs, served, law)) for run, jobs in zip(runs, plans, strict=True)]
        if law == LAWS[-1]:
            laws += crowded_laws(found)  # the loop goes on with them
        if progress is not None:
            progress(done + 1, len(laws))
    return found


def _errors(run: SeenRun, seconds: Sequence[float]) -> list[float]:
    return [math.log(value / one.seconds) for value, one in zip(seconds, run.jobs, strict=True)]


def times_of(
    run: SeenRun, runs: Sequence[SeenRun], tried: Mapping[Law, Sequence[Sequence[float]]]
) -> dict[Law, list[float]]:
    """What each law that was tried on `runs` says of the jobs of one of them (s)."""
    place = next(place for place, other in enumerate(runs) if other is run)
    return {
        law: [one.seconds * math.exp(error) for one, error in zip(run.jobs, errors[place], strict=True)]
        for law, errors in tried.items()
    }


def foretold_seconds(
    plans: Sequence[tuple[AloneRun, float]],
    served: Mapping[Kind, float],
    laws: Laws,
    known: Mapping[Law, Sequence[float]] | None = None,
) -> list[Estimate]:
    """How long each job's I/O takes beside the others. The interval is what the choice of a law was off by for
    combinations of jobs that it had not seen, for a job whose time depends as much on the law (`Laws.spread`); where
    too few were seen, what all possible laws say. known: times by law, where they have been worked out before.
    """
    drawn = [(run, start, timeline(run, served)) for run, start in plans]
    wanted = dict.fromkeys([*LAWS, *laws.possible] if len(laws.errors) >= FEWEST_SEEN else laws.possible)
    by_law = {law: list(known[law]) if known and law in known else together(drawn, served, law) for law in wanted}
    chosen = by_law[laws.chosen]
    stakes = dependence({law: [np.log(np.maximum(times, SHORTEST)).tolist()] for law, times in by_law.items()})[0]
    possible = zip(*(by_law[law] for law in laws.possible), strict=True)
    return [laws.estimate(*one) for one in zip(chosen, possible, stakes, strict=True)]


def told_by_others(found: Foretelling) -> Iterator[tuple[SeenRun, Laws, list[Estimate]]]:
    """Each run in company, with the law that explains all others best and the times that it tells of this one."""
    for place, run in enumerate(found.runs):
        others = {law: [*errors[:place], *errors[place + 1 :]] for law, errors in found.tried.items()}
        laws = laws_of(others, [other.sizes for other in found.runs if other is not run])
        plans = [(job.alone, job.start) for job in run.jobs]
        yield run, laws, foretold_seconds(plans, found.serves, laws, times_of(run, found.runs, found.tried))


def doubt_of(run: AloneRun, beside: Sequence[AloneRun], laws: Laws, served: Mapping[Kind, float]) -> str:
    """Why laws may not hold for a job beside others, in a clause; else empty."""
    for one in (run, *beside):
        if (part := one.most_buffered(served)) > MUCH_BUFFERED:
            whose = "it" if one is run else one.digest.job
            return (
                f"memory on the way took what {whose} wrote at first: {100 * part:.0f} % of its time alone was needed "
                "to store that, and no law tells whose data a server stores first"
            )
    for one in (run, *beside):
        if one.in_metadata() > MUCH_METADATA:
            whose = "its" if one is run else f"{one.digest.job}'s"
            return (
                f"{100 * one.in_metadata():.0f} % of {whose} time in calls is in metadata calls, which the laws of "
                "sharing hardly describe"
            )
    if 0 < len(laws.errors) < FEWEST_SEEN:
        return "too few jobs were seen together there to tell how far off a law is"
    if laws.mean_error is not None and laws.mean_error > POOR:
        return f"no law explains well what was seen here: the best is off by {100 * laws.mean_error:.0f} % in the mean"
    return ""
