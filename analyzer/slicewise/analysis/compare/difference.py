"""The difference of two runs' times, in parts that add up to it (docs/models.md): computing, waiting for a turn, own
I/O, lost to neighbours, unexplained. Parts are whole nanoseconds, so that nothing is lost to rounding.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from slicewise.analysis.blame.result import LowerLimit, Outside
from slicewise.analysis.calls import Kind
from slicewise.analysis.compare.work import Tasks
from slicewise.analysis.runs.matching import are_other_syncs
from slicewise.constants import LEAST_ERROR, LEAST_OF_JOB, LIKE_SIZES, LITTLE_OF_RUNTIME, NEARLY_ALL
from slicewise.estimate import Estimate
from slicewise.kinds import CONFIDENCES, Confidence
from slicewise.scalars import real
from slicewise.statistics import block_error, two_prices

# Calls are of one size class where their sizes are within this factor, which is a power of two.
CLASS_BITS = 2
# A cost a call and a cost a byte are told apart where sizes differ by this factor, ...
LEAST_APART = 8.0
# ... and a line through both misses no size class by more than this fraction.
MOST_OFF = 0.25
# Sizes beyond those seen by more than this factor are not priced by that line.
MOST_BEYOND = 8.0


@dataclass(frozen=True)
class KindPrice:
    """What one kind of calls on one file system cost. Seconds: in calls, of those that decided the runtime. per_byte:
    with per_call, what is left of the cost after the calls'; without, all of it. per_call: None where sizes of calls
    were too much alike to tell. sizes: the least and the largest mean size of calls that the costs are from. by_class:
    seconds a byte of each size class; empty where there are no bytes. error: relative, 95 %.
    """

    per_byte: float
    per_call: float | None
    sizes: tuple[float, float]
    by_class: dict[int, float] = field(default_factory=dict)
    error: float = LEAST_ERROR

    def knows(self, size: float) -> bool:
        reach = LIKE_SIZES if self.per_call is None else MOST_BEYOND
        return self.sizes[0] / reach <= size <= self.sizes[1] * reach


def price_of_bytes(rows: pl.DataFrame, seconds: float) -> KindPrice | None:
    """The price of reads or writes on one file system; None where no bytes moved, or no time passed. rows: those of one
    place and kind. seconds: what they took of the runtime, which is less than their sum.
    """
    moved, taken = float(rows["bytes"].sum()), float(rows["seconds"].sum())
    if not (moved and taken and seconds):
        return None
    scale = seconds / taken
    classes = with_size_class(rows).group_by("size_class").agg(pl.col("seconds", "bytes", "calls").sum())
    telling = classes.filter(
        (pl.col("seconds") >= LEAST_OF_JOB * taken) & (pl.col("bytes") > 0) & (pl.col("calls") > 0)
    ).sort("size_class")
    mean_sizes = (telling["bytes"] / telling["calls"]).to_list() or [moved / max(1, int(rows["calls"].sum()))]
    sizes = (min(mean_sizes), max(mean_sizes))
    by_class = {
        number: scale * spent / volume
        for number, spent, volume in telling.select("size_class", "seconds", "bytes").iter_rows()
    }
    line = _line(telling) if sizes[1] >= LEAST_APART * sizes[0] else None
    if line is None:
        # A class that says too little costs what the mean byte does.
        cost = pl.col("size_class").replace_strict(by_class, default=seconds / moved, return_dtype=pl.Float64)
        return KindPrice(seconds / moved, None, sizes, by_class, _error(with_size_class(rows), pl.col("bytes") * cost))
    per_call, per_byte = line
    error = _error(rows, pl.col("calls") * per_call + pl.col("bytes") * per_byte)
    # So that what the run itself did costs what it took.
    scale = seconds / (per_call * float(rows["calls"].sum()) + per_byte * moved)
    return KindPrice(scale * per_byte, scale * per_call, sizes, by_class, error)


def price_of_calls(rows: pl.DataFrame, seconds: float) -> KindPrice | None:
    calls = float(rows["calls"].sum())
    if not (calls and seconds):
        return None
    return KindPrice(0.0, seconds / calls, (0.0, 0.0), error=_error(rows, pl.col("calls")))


def with_size_class(rows: pl.DataFrame) -> pl.DataFrame:
    size = (pl.col("bytes") / pl.col("calls").clip(1)).clip(1)
    return rows.with_columns(size_class=(size.log(2) / CLASS_BITS).floor().cast(pl.Int64))


def _line(classes: pl.DataFrame) -> tuple[float, float] | None:
    """Seconds a call and a byte, by least squares of relative errors over size classes; None where it misses one."""
    amounts = classes.select("calls", "bytes").to_numpy().astype(np.float64)
    seconds = classes["seconds"].to_numpy()
    relative = amounts / seconds[:, None]
    found = two_prices(relative[:, 0], relative[:, 1], np.ones(len(seconds)))
    return None if np.abs(relative @ found - 1).max() > MOST_OFF else found


def _error(rows: pl.DataFrame, expected: pl.Expr) -> float:
    """The relative error of costs: of what slices spent over what was to be expected of them (in any unit)."""
    of_slices = rows.group_by("slice").agg(pl.col("seconds").sum(), expected=expected.sum()).sort("slice")
    error = block_error(of_slices["seconds"].to_numpy(), of_slices["expected"].to_numpy().astype(np.float64))
    return LEAST_ERROR + (error if math.isfinite(error) else 0.0)


Part = Literal["bytes", "calls", "sizes", "metadata"]
PARTS: tuple[Part, ...] = ("bytes", "calls", "sizes", "metadata")
LEAST_SURE: Confidence = "low"
WhyUnknown = Literal["not done before", "other sizes", "other syncs"]

# An amount that the first run has less of than this fraction of the other's has no price there worth the name.
LEAST_OF_AMOUNT = 0.05
NONE = "there is none"
# What is less than this fraction of the longer runtime is not worth a word.
WORTH_A_WORD = 0.01
# How much of a difference may be unexplained, or in doubt, for what is told of it to be sure.
MOST_IN_DOUBT: dict[Confidence, float] = {"high": 0.2, "medium": 0.5}
# Mean sizes of calls, and shares of calls by size, further apart than this fraction are other sizes.
OTHER_SIZES = 0.02


class Amounts(NamedTuple):
    """One kind of calls on one file system: seconds not lost to neighbours, if known, and what was done in them."""

    seconds: float
    bytes: int
    calls: int
    syncs: int

    @property
    def size(self) -> float:
        return self.bytes / max(1, self.calls)


@dataclass(frozen=True)
class Unknown:
    """Work that the first run has no price for, and why: kind and place of the calls, what there is of it now and was
    then. It counts as long as it took where it was "not done before"; else what it costs more is unexplained.
    """

    why: WhyUnknown
    kind: Kind
    place: str
    now: Amounts
    then: Amounts


@dataclass(frozen=True)
class Loss:
    """What a run lost to neighbours: seconds of its runtime, who they were (most first), and how sure that is. Below 0:
    it was faster than alone. unsure: which of them may as well have cost nothing.
    """

    seconds: Estimate
    neighbours: list[str] = field(default_factory=list)
    confidence: Confidence = "unknown"
    unsure: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class OwnIo:
    """What a run's own I/O took more than another's at that one's cost, in seconds: in all, and by what there was more
    of; a part is None where nothing tells it, and then it is unexplained.
    """

    seconds: Estimate
    parts: dict[Part, Estimate | None]
    unknown: list[Unknown]


@dataclass(frozen=True)
class Difference:
    """Why a run took longer (or, below 0, less long) than another one, in seconds. difference_seconds =
    computing_seconds + waiting_seconds (for turns at I/O) + own_io.seconds + lost_seconds (where it is known) +
    unexplained_seconds. ratio: of the runtimes. loss: where lost_seconds is from. outside: why computing took longer,
    as blame has it; None: it hardly did. memory_seconds: for which `of` slept until what memory did not hold any more
    was read again, in calls or not; None: memory was not short. lower_limit: of the control group of `of`, which was
    higher for the other one, with the seconds that it cost. from_cache: which parts of what each of the two read came
    from the page cache, where that differs and matters.
    """

    of: Tasks
    against: Tasks
    difference_seconds: float
    ratio: float
    computing_seconds: float
    waiting_seconds: float
    own_io: OwnIo
    lost_seconds: Estimate | None
    loss: Loss | None
    former_loss: Loss | None
    unexplained_seconds: Estimate
    outside: Outside | None = None
    memory_seconds: Estimate | None = None
    lower_limit: LowerLimit | None = None
    from_cache: tuple[float, float] | None = None

    @property
    def longer_seconds(self) -> float:
        return max(self.of.runtime_ns, self.against.runtime_ns) / 1e9

    @property
    def is_none(self) -> bool:
        """Whether the two took as long as each other."""
        return abs(self.difference_seconds) < WORTH_A_WORD * self.longer_seconds

    @property
    def is_surely_lost(self) -> bool:
        """Whether neighbours surely cost one of the two more than the other."""
        return self.lost_seconds is not None and not self.lost_seconds.low <= 0 <= self.lost_seconds.high

    @property
    def lost_confidence(self) -> Confidence:
        """How sure blame is of lost_seconds: of what the one of the two lost of which it is less sure."""
        known = [loss.confidence for loss in (self.loss, self.former_loss) if loss is not None and loss.seconds.high]
        return max(known, key=CONFIDENCES.index, default="unknown")

    @property
    def has_other_program(self) -> bool:
        return self.of.job.program != self.against.job.program

    @property
    def is_unseen(self) -> bool:
        """Whether it is not known of one of the two what it spent in I/O calls."""
        return self.of.is_unseen or self.against.is_unseen

    @property
    def confidence(self) -> Confidence:
        """How sure the parts are: by how much of the difference is unexplained, and how much may belong to another
        part. A loss is no surer than it was told to be; another program, processes in another number, I/O that no call
        shows, or a run that goes on, make all of it less sure. Unknown: most of the difference is unexplained, and what
        neighbours cost is not known.
        """
        size = max(abs(self.difference_seconds), LITTLE_OF_RUNTIME * self.longer_seconds)
        unexplained = abs(self.unexplained_seconds.value) / size
        if self.is_unseen or (self.lost_seconds is None and unexplained > MOST_IN_DOUBT["medium"]):
            return "unknown"
        known = [self.own_io.seconds, *([self.lost_seconds] if self.lost_seconds else [])]
        doubt = max(unexplained, sum(part.high - part.low for part in known) / 2 / size)
        bounds: list[Confidence] = [next((word for word, most in MOST_IN_DOUBT.items() if doubt <= most), LEAST_SURE)]
        is_hidden = self.outside is not None and (self.outside.hidden_bytes > 0 or self.outside.is_idle)
        if self.of.processes != self.against.processes or self.has_other_program or is_hidden:
            bounds.append("medium")
        if self.of.is_running or self.against.is_running:
            bounds.append(LEAST_SURE)
        if self.loss is not None and abs(self.parts()["lost"]) > MOST_IN_DOUBT["high"] * size:
            bounds.append(self.lost_confidence)
        return max(bounds, key=CONFIDENCES.index)

    def parts(self) -> dict[str, float]:
        """computing, waiting, own_io, lost and unexplained, as they add up."""
        return {
            "computing": self.computing_seconds,
            "waiting": self.waiting_seconds,
            "own_io": self.own_io.seconds.value,
            "lost": self.lost_seconds.value if self.lost_seconds else 0.0,
            "unexplained": self.unexplained_seconds.value,
        }


def difference(of: Tasks, against: Tasks, loss: Loss | None = None, former_loss: Loss | None = None) -> Difference:
    """Why `of` took longer than `against`. loss: what `of` lost to neighbours; None: unknown, and part of what is
    unexplained. former_loss: what `against` did; None: nothing that is known.
    """
    loss, former_loss = _without_gains(loss), _without_gains(former_loss)
    own = own_io(of, against, (_share_alone(of, loss), _share_alone(against, former_loss)))
    lost = _lost(loss, former_loss)
    all_ns = of.runtime_ns - against.runtime_ns
    computing_ns = of.computing_ns - against.computing_ns
    waiting_ns = of.waited_ns - against.waited_ns
    rest_ns = all_ns - computing_ns - waiting_ns - _ns(own.seconds.value) - (_ns(lost.value) if lost else 0)
    known = [own.seconds, *([lost] if lost else [])]
    unexplained = Estimate(
        rest_ns / 1e9,
        rest_ns / 1e9 - sum(part.high - part.value for part in known),
        rest_ns / 1e9 + sum(part.value - part.low for part in known),
        "the rest of the difference; the other parts' intervals are added up",
    )
    return Difference(
        of=of,
        against=against,
        difference_seconds=all_ns / 1e9,
        ratio=of.runtime_ns / max(1, against.runtime_ns),
        computing_seconds=computing_ns / 1e9,
        waiting_seconds=waiting_ns / 1e9,
        own_io=own,
        lost_seconds=lost,
        loss=loss,
        former_loss=former_loss,
        unexplained_seconds=unexplained,
    )


def own_io(of: Tasks, against: Tasks, alone: tuple[float, float] = (1.0, 1.0)) -> OwnIo:
    """What `of`'s I/O would have taken at `against`'s cost, less what `against`'s took. alone: which share of the I/O
    time of each run is its own, the rest being lost to neighbours.
    """
    found: dict[Part, list[Estimate]] = {part: [] for part in PARTS}
    unknown: list[Unknown] = []
    both = pl.concat([of.amounts, against.amounts]).select("kind", "place").unique().sort("kind", "place")
    for kind, place in both.iter_rows():
        now, then = (_amounts(work, kind, place, share) for work, share in zip((of, against), alone, strict=True))
        priced = _priced(of, against, kind, place, now, then)
        for part, estimate in priced.items():
            found[part].append(estimate)
        why = _why_unknown(of, against, kind, place, now, then, priced)
        if why and now.seconds >= WORTH_A_WORD * of.runtime_ns / 1e9:
            unknown.append(Unknown(why, kind, place, now, then))
    is_untold = any(work.why == "other sizes" for work in unknown)
    parts: dict[Part, Estimate | None] = {
        part: None if is_untold and not each and part in ("calls", "sizes") else sum_of(each)
        for part, each in found.items()
    }
    return OwnIo(sum_of(part for part in parts.values() if part), parts, unknown)


def sum_of(estimates: Iterable[Estimate]) -> Estimate:
    """The sum, in whole nanoseconds, with all doubts added up."""
    estimates = list(estimates)
    value = sum(_ns(estimate.value) for estimate in estimates) / 1e9
    return Estimate(
        value,
        value - sum(estimate.value - estimate.low for estimate in estimates),
        value + sum(estimate.high - estimate.value for estimate in estimates),
        "; ".join(dict.fromkeys(estimate.how for estimate in estimates if estimate.how != NONE)) or NONE,
    )


def _priced(of: Tasks, against: Tasks, kind: Kind, place: str, now: Amounts, then: Amounts) -> dict[Part, Estimate]:
    """What there is more of one kind of calls on one file system, by part."""
    part: Part = "metadata" if kind == "meta" else "bytes"
    price = _price(against, kind, place, now, then)
    if price is None:
        more = now.seconds - then.seconds
        how = "work that the first run did not do, with all the time it took; less if unknown neighbours slowed it"
        return {part: Estimate(more, min(more, 0.0), max(more, 0.0), how)} if more else {}
    # What more or fewer processes make of the job's cost, at the least and at the most.
    factor = against.processes / of.processes if of.processes and against.processes else 1.0
    scales = min(1.0, factor), max(1.0, factor)
    if kind == "meta":
        return {part: _estimate(price.per_call or 0.0, now.calls, then.calls, price.error, scales)}
    if price.per_call is not None and price.knows(now.size):
        priced: dict[Part, Estimate] = {
            "bytes": _estimate(price.per_byte, now.bytes, then.bytes, price.error, scales),
            "calls": _estimate(price.per_call, now.calls, then.calls, price.error, scales),
        }
    else:
        priced = {"bytes": _estimate(then.seconds / then.bytes, now.bytes, then.bytes, price.error, scales)}
    has_others = _has_other_sizes(of, against, kind, place, now, then)
    by_size = _by_size(of, against, kind, place, price) if has_others else None
    if by_size is not None:
        more = by_size - sum(estimate.value for estimate in priced.values())
        doubt = price.error * abs(more)
        priced["sizes"] = Estimate(
            more, more - doubt, more + doubt, "at the first run's cost of a byte in calls of that size"
        )
    return priced


def _price(against: Tasks, kind: Kind, place: str, now: Amounts, then: Amounts) -> KindPrice | None:
    """What the first run's calls cost; None where it made too few to tell."""
    rows = against.rows.filter((pl.col("kind") == kind) & (pl.col("place") == place))
    if kind == "meta":
        return price_of_calls(rows, then.seconds) if then.calls >= LEAST_OF_AMOUNT * now.calls else None
    return price_of_bytes(rows, then.seconds) if then.bytes >= LEAST_OF_AMOUNT * now.bytes else None


def _why_unknown(
    of: Tasks, against: Tasks, kind: Kind, place: str, now: Amounts, then: Amounts, priced: dict[Part, Estimate]
) -> WhyUnknown | None:
    """Why the first run does not tell what such calls cost; None where it does."""
    price = _price(against, kind, place, now, then)
    if price is None:
        return "not done before"
    has_others = kind != "meta" and _has_other_sizes(of, against, kind, place, now, then)
    if has_others and not price.knows(now.size) and "sizes" not in priced:
        return "other sizes"
    return "other syncs" if are_other_syncs(now.syncs, then.syncs) else None


def _has_other_sizes(of: Tasks, against: Tasks, kind: Kind, place: str, now: Amounts, then: Amounts) -> bool:
    """Whether one kind of calls on one file system differed in size. Slices do not tell: a call that spans two has its
    bytes in both, and counts in one.
    """
    if abs(now.size - then.size) > OTHER_SIZES * max(now.size, then.size):
        return True
    shares = [
        work.sizes.filter(pl.col("kind") == kind, pl.col("place") == place).select(
            "least", share=pl.col("calls") / pl.col("calls").sum()
        )
        for work in (of, against)
    ]
    if any(each.is_empty() for each in shares):
        return False
    both = shares[0].join(shares[1], on="least", how="full", coalesce=True).fill_null(0.0)
    return real((both["share"] - both["share_right"]).abs().max()) > OTHER_SIZES


def _by_size(of: Tasks, against: Tasks, kind: Kind, place: str, price: KindPrice) -> float | None:
    """What the runs differ by at the first run's cost a byte of each size class; None where these say too little."""
    if len(price.by_class) < 2:
        return None
    costs = []
    for work in (of, against):
        rows = work.rows.filter((pl.col("kind") == kind) & (pl.col("place") == place))
        volumes = with_size_class(rows).group_by("size_class").agg(pl.col("bytes").sum()).sort("size_class")
        priced = [
            (volume, price.by_class[number]) for number, volume in volumes.iter_rows() if number in price.by_class
        ]
        total, known = float(volumes["bytes"].sum()), sum(volume for volume, _ in priced)
        if known < NEARLY_ALL * total:
            return None
        costs.append(total / known * sum(volume * cost for volume, cost in priced) if known else 0.0)
    return costs[0] - costs[1]


def _estimate(cost: float, now: float, then: float, error: float, scales: tuple[float, float]) -> Estimate:
    """cost x (now - then), with the cost's error: as much work as then is no other work, whatever it costs. scales: see
    `_scales`.
    """
    ends = [cost * (now * scale - then) for scale in scales]
    doubt = error * max(map(abs, ends))
    return Estimate(cost * (now - then), min(ends) - doubt, max(ends) + doubt, "at the first run's cost")


def _amounts(work: Tasks, kind: Kind, place: str, alone: float) -> Amounts:
    rows = work.amounts.filter((pl.col("kind") == kind) & (pl.col("place") == place))
    if rows.is_empty():
        return Amounts(0.0, 0, 0, 0)
    return Amounts(*rows.select(pl.col("seconds") * alone, *Amounts._fields[1:]).row(0))


def _without_gains(loss: Loss | None) -> Loss | None:
    """A loss that is not below 0: whoever was faster than alone was so by itself."""
    return loss and replace(loss, seconds=loss.seconds.through(lambda seconds: max(0.0, seconds), loss.seconds.how))


def _share_alone(work: Tasks, loss: Loss | None) -> float:
    if loss is None or not work.io_ns:
        return 1.0
    return min(1.0, max(0.0, 1 - loss.seconds.value / (work.io_ns / 1e9)))


def _lost(loss: Loss | None, former: Loss | None) -> Estimate | None:
    if loss is None or former is None:
        return None if loss is None else loss.seconds
    now, then = loss.seconds, former.seconds
    return Estimate(now.value - then.value, now.low - then.high, now.high - then.low, f"{now.how}; less: {then.how}")


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
