"""From I/O time that processes lost to runtime that the job lost.

Frames in, numbers out. Ranks wait for each other at the end of each phase, so the slowest one of a phase decides; of
processes that do not, the slowest in sum; those that ran one after another count as one of these, and so does a pair
of which one hands the other what it has read.
"""

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np
import polars as pl

from slicewise.analysis.blame.on_storage import SlicesOnStorage, on_storages
from slicewise.analysis.blame.uncontended import alone_seconds
from slicewise.analysis.calls import COUNTS, KINDS, SECONDS, call_rows, slice_rows
from slicewise.analysis.job.period import runs_above
from slicewise.constants import LEAST_OF_RATE, MAINLY, WAITING_SHARE
from slicewise.digest.activity import DIRECTIONS, members
from slicewise.digest.company import as_many
from slicewise.digest.digest import Digest
from slicewise.digest.processes import LEAST_SHARE_OF_TIME, are_ranks
from slicewise.kept_once import kept_once

# "strands": chains of processes that followed each other; --json has had that name since 2.0.
Waits = Literal["ranks", "processes", "strands", "one process"]
# A process that began so long before its predecessor's end began after it: clocks are read one after the other.
CLOCKS_NS = 1_000_000
# A pipeline's processes begin and end one after the other: each ends when the one before it has closed its pipe. On a
# busy machine `tar | gzip` began 6 ms and ended 2 ms apart.
TOGETHER_NS = 20_000_000
LIFETIME = ("process", "start_ns", "end_ns", "program")
# Processes of a job that are looked at for who waits for whom; and slices in which both may be: where one begins, and
# where it ends.
FEW = 64
BOTH_AT_ITS_ENDS = 2
# Such numbers of slices by which nobody waited, and everybody did that may have.
NOBODY_WAITED, ALL_WAITED = -1, 1 << 62


def phase_of_slices(slices: pl.DataFrame) -> pl.DataFrame:
    """slice, phase: of each slice in which the job made calls (`timeline.slice_rows`). What lies between two phases is
    of the earlier one.
    """
    took = (
        slices.group_by("slice", maintain_order=True)
        .agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
        .filter(pl.col("seconds") > 0)
        .sort("slice")
    )
    if took.is_empty():
        return pl.DataFrame(schema={"slice": pl.Int64, "phase": pl.Int64})
    first = int(took["slice"][0])
    series = np.zeros(int(took["slice"][-1]) - first + 1)
    series[took["slice"].to_numpy() - first] = took["seconds"].to_numpy()
    starts = [run.start for run in runs_above(series, LEAST_OF_RATE)][1:]
    phases = np.searchsorted(starts, took["slice"].to_numpy() - first, side="right")
    return pl.DataFrame({"slice": took["slice"], "phase": phases.astype(np.int64)})


def decisive(parts: np.ndarray, waits: Waits) -> float:
    """What of processes' seconds, (processes, phases), is the job's: of ranks that wait for each other the sum of each
    phase's most; of others the most of any process's sum.
    """
    if not parts.size:
        return 0.0
    return float(parts.max(0).sum() if waits == "ranks" else parts.sum(1).max())


def by_phase(rows: pl.DataFrame, phases: pl.DataFrame, value: pl.Expr) -> np.ndarray:
    """A value of rows with process and slice, added up: (processes, phases)."""
    summed = (
        rows.with_columns(value=value)
        .join(phases, on="slice", maintain_order="left")
        .group_by("process", "phase", maintain_order=True)
        .agg(pl.col("value").sum())
        .with_columns(row=pl.col("process").rank("dense") - 1, column=pl.col("phase").rank("dense") - 1)
    )
    if summed.is_empty():
        return np.zeros((0, 0))
    shape = (int(summed["row"].max() or 0) + 1, int(summed["column"].max() or 0) + 1)  # type: ignore[arg-type]
    parts = np.zeros(shape)
    parts[summed["row"].to_numpy(), summed["column"].to_numpy()] = summed["value"].to_numpy()
    return parts


def in_calls() -> pl.Expr:
    return pl.sum_horizontal(SECONDS.values())


def unevenness(calls: pl.DataFrame, phases: pl.DataFrame, waits: Waits) -> float:
    """By which factor what decides exceeds the mean process's time in calls."""
    return uneven_parts(by_phase(calls, phases, in_calls()), waits)


def uneven_parts(parts: np.ndarray, waits: Waits) -> float:
    """The same of processes' seconds in calls, (processes, phases)."""
    mean = float(parts.sum()) / max(1, len(parts))
    return decisive(parts, waits) / mean if mean > 0 else 1.0


def lost_runtime(
    calls: pl.DataFrame, prices: pl.DataFrame, phases: pl.DataFrame, waits: Waits, uneven: float | None
) -> tuple[float, float]:
    """Seconds of the job's runtime that its I/O lost; and how uneven its processes are alone, as a factor.

    calls: of `timeline.call_rows`. prices: of `uncontended.price_frame`, seconds of the mean process for a byte of the
    job. uneven: the `unevenness` of the job alone; None where it is not known: then a process's own bytes are taken to
    cost alone so much times the number of processes, and what decides is the most that any lost.
    """
    count = calls["process"].n_unique()
    priced = calls.join(prices, on="storage", how="left", maintain_order="left")
    alone = pl.sum_horizontal(
        pl.when(pl.col(f"{kind}_price").is_null()).then(SECONDS[kind]).otherwise(count * alone_seconds(kind))
        for kind in KINDS
    )
    return lost_parts(by_phase(priced, phases, in_calls()), by_phase(priced, phases, alone), waits, uneven)


def lost_parts(parts: np.ndarray, alone: np.ndarray, waits: Waits, uneven: float | None) -> tuple[float, float]:
    """The same of processes' seconds in calls, and what these would have taken alone: (processes, phases)."""
    mean_alone = float(alone.sum()) / max(1, len(alone))
    if uneven is None:
        return decisive(parts - alone, waits), decisive(alone, waits) / mean_alone if mean_alone > 0 else 1.0
    return decisive(parts, waits) - uneven * mean_alone, uneven


@dataclass(frozen=True)
class ProcessChains:
    """Processes that followed each other, as one. calls: of `timeline.call_rows` of a job, with the first process of
    its chain in place of each process. waits: whose I/O decides how long the job's takes.
    """

    calls: pl.DataFrame
    waits: Waits

    def __len__(self) -> int:
        """How many there are."""
        return self.calls["process"].n_unique()

    @cached_property
    def slices(self) -> pl.DataFrame:
        """The job as a whole: `timeline.slice_rows`."""
        return slice_rows(self.calls)

    @cached_property
    def phases(self) -> pl.DataFrame:
        """`to_runtime.phase_of_slices`."""
        return phase_of_slices(self.slices)

    @cached_property
    def by_itself(self) -> dict[int, SlicesOnStorage]:
        return on_storages(self.slices)


def process_chains(digest: Digest, grid_ns: int, like: ProcessChains | None = None) -> ProcessChains:
    """What a job's chains did. Ranks wait for each other, and stay what they are. like: of the same program's other
    run. Where that has another number of chains, since who hardly makes calls may wait for others in one run and not
    in the next, all that may have waited are taken to have, or none, if that gives as many.
    """
    beside = tuple(map(id, digest.beside))
    found = _chains(digest, grid_ns, BOTH_AT_ITS_ENDS, *beside)
    if like is None or len(found) == len(like) or found.waits in ("ranks", "one process"):
        return found
    others = (_chains(digest, grid_ns, most, *beside) for most in (NOBODY_WAITED, ALL_WAITED))
    return next((one for one in others if len(one) == len(like)), found)


def chains_to_match(digest: Digest, other: Digest, grid_ns: int) -> ProcessChains | None:
    """Those of another run, if it has as many processes, or the command line: `process_chains` makes the job's own like
    them. None: nothing.
    """
    own, its = digest.about, other.about
    is_like = as_many(own["processes"], its["processes"]) or (own["command"] and own["command"] == its["command"])
    return process_chains(other, grid_ns) if is_like else None


# As a digest's frames, these stay as long as it does: a run alone is held against many others.
@kept_once
def _chains(digest: Digest, grid_ns: int, most_both: int, *_beside: int) -> ProcessChains:
    calls, who = call_rows(digest, grid_ns), members(digest)
    if calls["process"].n_unique() < 2:
        return ProcessChains(calls, "one process")
    if who.select(are_ranks()).item():
        return ProcessChains(calls, "ranks")
    # A killed process has the latest end that it can have had: it may have been gone a slice before.
    least_ns = pl.max_horizontal("start_ns", pl.col("end_ns") - digest.slice_ns)
    ended = who.with_columns(end_ns=pl.when(pl.col("ending") == "killed").then(least_ns).otherwise("end_ns"))
    lifetimes = list(ended.join(calls, on="process", how="semi").select(LIFETIME).iter_rows())
    seconds = calls.group_by("process").agg(pl.sum_horizontal(SECONDS.values()).sum())
    first = first_of_chain(lifetimes, dict(seconds.iter_rows()))
    first |= _with_those_who_wait(by_chain(calls, first), lifetimes, first, grid_ns, most_both)
    chains = by_chain(calls, first)
    pair = _handing_on(who, chains["process"].unique().to_list(), first)
    if not (first or pair):
        return ProcessChains(calls, "processes")
    if pair:
        chains = _one_at_a_time(by_chain(chains, pair), grid_ns)
    # A process that mattered beside many brief ones may be next to nothing beside all of them together.
    chains = chains.with_columns(its=in_calls().sum().over("process"))
    return ProcessChains(
        chains.filter(pl.col("its") >= LEAST_SHARE_OF_TIME * pl.col("its").max()).drop("its"), "strands"
    )


def first_of_chain(
    lifetimes: Sequence[tuple[int, int, int, str]], seconds: Mapping[int, float] = MappingProxyType({})
) -> dict[int, int]:
    """The first process of its chain, of each process that is not that itself. lifetimes: of one job, LIFETIME.
    seconds: of each process in calls.

    A process goes on where one of its program ended before it began, in a pipeline, or else any; of several the last,
    and of those that ended with it, as a pipeline's do, the one whose chain was in calls for longest. Those that ran
    side by side are in different chains: there are as many of these as processes ran at one time at most.
    """
    found: dict[int, int] = {}
    took = {process: seconds.get(process, 0.0) for process, *_ in lifetimes}
    ended: list[tuple[int, int, str]] = []
    for process, start_ns, end_ns, program in sorted(lifetimes, key=lambda one: (one[1], one[2], one[0])):
        at = bisect_right(ended, start_ns + CLOCKS_NS, key=lambda one: one[0])
        first = process
        if at:
            near = range(at - 1, max(0, at - FEW) - 1, -1)
            together = [place for place in near if ended[place][0] >= ended[at - 1][0] - TOGETHER_NS]
            busiest = max(together, key=lambda place: took[ended[place][1]])
            _, first, _ = ended.pop(next((place for place in near if ended[place][2] == program), busiest))
            found[process] = first
            took[first] += took[process]
        insort(ended, (end_ns, first, program))
    return found


def _with_those_who_wait(
    calls: pl.DataFrame,
    lifetimes: Sequence[tuple[int, int, int, str]],
    first: Mapping[int, int],
    grid_ns: int,
    most_both: int,
) -> dict[int, int]:
    """More of `first_of_chain`: a process within whose life another one began and ended, and which made no calls while
    that one did, waited for it. What both did is one chain; of several that it may have waited for, the busiest.

    calls: by chain. most_both: in so many slices both may have been busy. Of more processes than FEW none is looked
    at: they are not a script's.
    """
    if len(lifetimes) > FEW:
        return {}
    took = calls.group_by("process", "slice").agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
    busy = took.filter(pl.col("seconds") >= WAITING_SHARE * grid_ns / 1e9)
    seconds = {int(process): float(its["seconds"].sum()) for (process,), its in took.group_by("process")}
    slices: dict[int, set[int]] = {process: set() for process in seconds}  # none for who hardly made calls
    slices |= {int(process): set(its["slice"]) for (process,), its in busy.group_by("process")}
    spans: dict[int, tuple[int, int]] = {}
    for process, start_ns, end_ns, _ in lifetimes:
        chain = first.get(process, process)
        low, high = spans.get(chain, (start_ns, end_ns))
        spans[chain] = min(low, start_ns), max(high, end_ns)
    found: dict[int, int] = {}
    busiest = sorted(slices, key=lambda process: -seconds[process])
    for parent in sorted(slices, key=lambda process: spans[process]):
        for child in busiest:
            if child == parent or child in found or parent in found:
                continue
            (begin, end), (its_begin, its_end) = spans[parent], spans[child]
            is_within = begin <= its_begin + TOGETHER_NS and its_end <= end + CLOCKS_NS
            both = slices[parent] & slices[child]
            if is_within and spans[parent] != spans[child] and len(both) <= most_both:
                found[child] = parent
                break
    return found | {process: found[chain] for process, chain in first.items() if chain in found}


def _handing_on(who: pl.DataFrame, chains: Sequence[int], first: Mapping[int, int]) -> dict[int, int]:
    """More of `first_of_chain`, of a job of two chains: one passed on what it had read from files, by a pipe or a
    socket, and the other wrote to files what it had got so. The one waits while the other does. who: `members`.
    """
    if len(chains) != 2:
        return {}
    sums = (
        who.select(
            pl.col("process").replace(first).alias("chain"),
            *(pl.col(f"{way}_bytes") for way in DIRECTIONS),
            *(
                (pl.col(f"all_{way}_bytes").fill_null(0) - pl.col(f"{way}_bytes")).clip(0).alias(f"{way}_elsewhere")
                for way in DIRECTIONS
            ),
        )
        .group_by("chain")
        .sum()
        .filter(pl.col("chain").is_in(chains))
    )
    hands_on = (pl.col("read_bytes") > 0) & (pl.col("write_elsewhere") >= MAINLY * pl.col("read_bytes"))
    writes_down = (pl.col("write_bytes") > 0) & (pl.col("read_elsewhere") >= MAINLY * pl.col("write_bytes"))
    does_one = (hands_on & ~writes_down, writes_down & ~hands_on)
    giver, taker = (sums.filter(does)["chain"].to_list() for does in does_one)
    return {taker[0]: giver[0]} if len(giver) == 1 and len(taker) == 1 else {}


def _one_at_a_time(calls: pl.DataFrame, grid_ns: int) -> pl.DataFrame:
    """Rows of calls of a pair, in no slice longer than it is: both may have been in calls at the same time."""
    most = pl.max_horizontal(1.0, in_calls().sum().over("process", "slice") / (grid_ns / 1e9))
    return calls.with_columns(pl.col(SECONDS.values()) / most)


def by_chain(calls: pl.DataFrame, first: Mapping[int, int]) -> pl.DataFrame:
    """Rows of calls with these processes' rows added to those of the first one of their chain."""
    if not first:
        return calls
    counts = (*SECONDS.values(), *COUNTS)
    places = [name for name in calls.columns if name not in counts]
    return (
        calls.with_columns(pl.col("process").replace(first))
        .group_by(places, maintain_order=True)
        .agg(pl.col(counts).sum())
        .select(calls.columns)
        .sort("storage", "slice", "process")
    )
