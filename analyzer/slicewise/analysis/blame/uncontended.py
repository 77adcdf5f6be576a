"""What a job's I/O costs when nobody else is there, by this run itself; `standalone.py` has what other runs say.

Arrays in (`SlicesOnStorage`), dataclasses out. Each way gives a price for every kind of call on every storage, or
refuses with a reason; the gates and what they are for are in docs/models.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from slicewise.analysis.blame.on_storage import Mask, SlicesOnStorage
from slicewise.analysis.blame.result import Baseline, Source
from slicewise.analysis.blame.shared_slices import NO_BYTES, part_alone, seconds_alone
from slicewise.analysis.calls import AMOUNTS, CALLS, KINDS, SECONDS, Kind
from slicewise.analysis.capacity.by_kind import Capacities
from slicewise.constants import FEWEST_SLICES, FILLED, LIKE_SIZES, MOST_ERROR_OF_A_RUN, TRIVIAL
from slicewise.estimate import Estimate
from slicewise.kinds import Confidence
from slicewise.statistics import (
    DRAWS,
    block_error,
    error_of_draws,
    error_of_mean,
    error_of_ratio,
    error_of_rest,
    two_prices,
)

FEWEST_IN_A_SET = 3
SURE_WITHIN = 0.025
SURE_LINE = 0.04
MOST_ERROR_BY = {"quiet slices": 0.05, "line": 0.10, "shared slices": 0.40}
LEAST_RATIO_OF_RATES = 1.25
# A line is read off only if its lowest rate is at most so much of the range that its rates span.
NEAR_REST = 0.5
MOST_SCATTER = 0.10
# Slices whose mean is taken for that.
TOGETHER = 5
# Of a job's time in calls beside others: less in full slices is no sign that it fills the storage.
MOSTLY_FULL = 2 / 3
# A job that cannot fill the storage alone lost less than the envelope says: simulated ones, which waited for answers or
# had a pace of their own, no less than this part of it.
LEAST_OF_ENVELOPE = 0.5
# That the job fills the storage alone is seen where its neighbours have at most this share of what all have together,
# and that is within so much of what all have where they have more.
LITTLE_COMPANY = 0.1
STILL_FILLED = 0.95
# A slice in which a job was this much faster than alone was not served by the storage there and then.
FASTER_THAN_ALONE = 1.25
# Nobody whose calls never pause is this much faster alone than all jobs together were.
FASTER_THAN_ALL = 1.05
# What metadata calls cost changes with what directories hold: recorded storms took up to this part less a call after
# their neighbours had ended than they take alone.
ERROR_OF_METADATA = 0.25
# Where one process has so much more to wait for than the mean one, the mean one's part is not known to be its, too.
MOST_UNEVEN = 1.25
# Slices never say better than this what a run costs.
ERROR_OF_SLICES = 0.005

SMALL_SYNCS = "it syncs few bytes at a time, and what a sync costs without others is not known"
BY_REQUESTS = "requests were limited, and how many bytes they can be is not known"

Place = tuple[int, Kind]


@dataclass(frozen=True)
class Price:
    """Seconds of the mean process for a byte, or for a metadata operation, of the whole job; and for a call beside its
    bytes, where calls of several sizes show it. error: relative, to either side, 95 %. idle: the share of the time in
    slices in which nothing was served: what a cache takes before it begins to send.
    """

    seconds: float
    error: float
    call_seconds: float = 0.0
    idle: float = 0.0

    def of(self, own: SlicesOnStorage, kind: Kind) -> float:
        calls = float(own.calls[kind].sum()) if self.call_seconds else 0.0
        return self.seconds * float(own.amounts[kind].sum()) + self.call_seconds * calls


@dataclass(frozen=True)
class Prices:
    """What a source gives. of: the prices. refused: why it gives none. uneven: by how much the processes' slowest part
    exceeded the mean alone, as a factor (see to_runtime.py); None where it is not known. did_as_much: the runs did what
    the job did. asked_otherwise: runs that did so, too, and are left out, since their command lines are others.
    slower_run: a run that was not alone and shows that the storage is slower at times, if any does.
    """

    source: Source
    of: dict[Place, Price] = field(default_factory=dict)
    refused: str = ""
    confidence: Confidence = "unknown"
    uneven: float | None = None
    runs: tuple[str, ...] = ()
    did_as_much: bool = False
    asked_otherwise: tuple[str, ...] = ()
    slower_run: str = ""


@dataclass(frozen=True)
class Scene:
    """What sources look at. own: the job, by storage, and who was there with it. seconds: of a slice. uneven: how many
    times as long as the mean process the one with most was in calls. worth: places that are worth a price, however
    little the job waited there. in_requests: of storages where requests held the job up, own in seconds of the
    storage's time; None: nobody knows how many the job made. small_syncs: storages where the job mostly waits for
    syncs of few bytes. from_disk: own, where a disk is known to have moved other bytes than the calls did.
    """

    own: Mapping[int, SlicesOnStorage]
    known: Mapping[int, Capacities]
    seconds: float
    uneven: float = 1.0
    worth: frozenset[Place] = frozenset()
    in_requests: Mapping[int, SlicesOnStorage | None] = field(default_factory=dict)
    small_syncs: frozenset[int] = frozenset()
    from_disk: Mapping[int, SlicesOnStorage] = field(default_factory=dict)

    @cached_property
    def places(self) -> dict[Place, float]:
        """The storages and kinds that are worth a price, with the seconds that they took."""
        return {place: took for place, took in self._took.items() if place in self._waited_at or place in self.worth}

    @property
    def counted_in_work(self) -> list[Place]:
        """Those that say whether a run did as much: metadata calls only where the job itself waited for them."""
        return [place for place in self.places if place in self._waited_at or place[1] != "meta"]

    @cached_property
    def _took(self) -> dict[Place, float]:
        took = {(storage, kind): float(own.seconds[kind].sum()) for storage, own in self.own.items() for kind in KINDS}
        return {place: seconds for place, seconds in took.items() if seconds > 0}

    @cached_property
    def _waited_at(self) -> frozenset[Place]:
        least = TRIVIAL * sum(self._took.values())
        return frozenset(place for place, seconds in self._took.items() if seconds >= least)

    def counted(self, storage: int) -> tuple[SlicesOnStorage | None, str]:
        """What was done on a storage, by what fills it: requests or bytes; None: that is not known, and why. The bytes
        are those that a disk moved, as those of others are.
        """
        if storage in self.in_requests:
            return self.in_requests[storage], BY_REQUESTS
        own = self.from_disk.get(storage, self.own[storage])
        return (None, SMALL_SYNCS) if storage in self.small_syncs else (own, "")


def from_quiet_slices(scene: Scene) -> Prices:
    """Slices of this very run in which nobody else was on the storage, nor in the slices next to them."""
    source: Source = "quiet slices"
    prices: dict[Place, Price] = {}
    most_error, fewest, pauses = 0.0, np.inf, False
    for storage, kind in scene.places:
        own = scene.own[storage]
        if not own.has_company.any():
            prices[storage, kind] = _as_it_was(own, kind)
            continue
        quiet = _quiet(own, kind)
        if quiet is None:
            what = f"slices with {calls_of(kind)} calls"
            return Prices(source, refused=f"the job had fewer than {FEWEST_SLICES} {what} to itself")
        price = price_of(quiet, kind)
        if price is None or price.error > MOST_ERROR_BY[source]:
            return Prices(source, refused=f"what the job's {calls_of(kind)} calls cost in quiet slices varies too much")
        if _was_faster(own, kind, price, scene.seconds):
            return Prices(source, refused=IN_BURSTS)
        if kind == "meta":
            price = replace(price, error=max(price.error, ERROR_OF_METADATA))
        if not _are_like_sizes(quiet, own, kind):
            return Prices(
                source, refused=f"its {calls_of(kind)} calls had other sizes in quiet slices than in the rest"
            )
        most_error, fewest = max(most_error, price.error), min(fewest, len(quiet))
        # Of processes that pause it is chance whose calls meet, for a whole run: slices of one run do not show it.
        in_calls = float(quiet.in_calls.mean())
        pauses = pauses or in_calls < FILLED * scene.seconds
        prices[storage, kind] = price
    if fewest == np.inf:
        return Prices(source, refused=NOBODY)
    is_sure = most_error <= SURE_WITHIN and fewest >= 2 * FEWEST_SLICES and not pauses
    return Prices(source, prices, "", "high" if is_sure else "medium")


IN_BURSTS = "some of its slices were far faster than that: the storage takes bytes in bursts, or they were cached"
NOBODY = "nobody else is known to have taken time of its file systems meanwhile"


def from_line(scene: Scene) -> Prices:
    """A line through the job's mean speed against the rate of its neighbours, read off where they are at rest."""
    source: Source = "line"
    prices: dict[Place, Price] = {}
    most_error = 0.0
    for storage in {storage for storage, _ in scene.places}:
        own = scene.own[storage]
        kinds = [kind for place, kind in scene.places if place == storage]
        if not own.has_company.any():
            prices |= {(storage, kind): _as_it_was(own, kind) for kind in kinds}
            continue
        points = _speeds(own, scene.known[storage])
        line = speed_line(points, scene.seconds)
        if isinstance(line, str):
            return Prices(source, refused=line)
        is_always_in_calls = float(points.seconds.mean()) >= FILLED * scene.seconds
        if is_always_in_calls and line.speed > FASTER_THAN_ALL:
            return Prices(source, refused="a line through its slices makes it faster alone than the storage ever was")
        most_error = max(most_error, line.error)
        if line.error > MOST_ERROR_BY[source]:
            return Prices(source, refused="the job's speed varies too much at the same rates of its neighbours")
        most = scene.known[storage].most
        here = {(storage, kind): Price(1 / (most[kind] * line.speed), line.error) for kind in kinds}
        if any(_was_faster(own, kind, here[storage, kind], scene.seconds) for kind in kinds):
            return Prices(source, refused=IN_BURSTS)
        prices |= here
    if not most_error:
        return Prices(source, refused=NOBODY)
    return Prices(source, prices, "", "medium" if most_error <= SURE_LINE else "low")


TOO_ALIKE = "its neighbours' rates were too much alike to see how its speed depends on them"


@dataclass(frozen=True)
class SpeedLine:
    """speed: where the neighbours are at rest, in storage seconds a second in calls; error: of it, relative."""

    speed: float
    error: float


@dataclass(frozen=True)
class Points:
    """A value a slice: done (by the job), seconds (of its mean process in calls), others (what the neighbours did in
    it; done and others in one unit), company (a number for the set of neighbours that were active).
    """

    done: np.ndarray
    seconds: np.ndarray
    others: np.ndarray
    company: np.ndarray

    @property
    def speed(self) -> float:
        return float(self.done.sum()) / max(float(self.seconds.sum()), 1e-12)

    def of(self, chosen: Mask) -> Points:
        return Points(self.done[chosen], self.seconds[chosen], self.others[chosen], self.company[chosen])

    def by_company(self) -> list[Points]:
        """The slices of each set of neighbours, in the order in which they first were there; few slices of a set say
        nothing.
        """
        if len(self.company) < FEWEST_IN_A_SET:
            return []
        which, first, counts = np.unique(self.company, return_index=True, return_counts=True)
        often = counts >= FEWEST_IN_A_SET
        return [self.of(self.company == which[at]) for at in np.flatnonzero(often)[np.argsort(first[often])]]


def speed_line(points: Points, slice_seconds: float) -> SpeedLine | str:
    """The line through the mean speeds of sets of neighbours; why not, where there is none."""
    sets = points.by_company()
    if len(sets) < 2:
        return "its neighbours came and went too seldom to see how its speed depends on them"
    rates = np.array([one.others.mean() / slice_seconds for one in sets])
    if rates.max() < LEAST_RATIO_OF_RATES * rates.min() or rates.max() <= 0:
        return TOO_ALIKE
    # What is far from all points is not read off a line.
    if rates.min() > NEAR_REST * float(np.ptp(rates)) * (1 + 1e-9):
        return "its neighbours' rates were never low enough to see how fast it is without them"
    weights = np.sqrt([len(one.done) for one in sets])
    slope, speed = np.polyfit(rates, [one.speed for one in sets], 1, w=weights)
    if slope >= 0 or speed <= 0:
        return "its speed did not fall while its neighbours were active"
    drawn = _intercepts(*_drawn_anew(sets, slice_seconds), weights**2)
    if not len(drawn):
        return TOO_ALIKE
    error = max(error_of_draws(drawn, float(speed)), _error_of_intercept(sets, rates) / float(speed))
    return SpeedLine(float(speed), error)


def _drawn_anew(sets: Sequence[Points], slice_seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """The rates of the neighbours and the job's speeds, (DRAWS, sets), with as many slices of each set drawn at random.

    All are drawn by one call, which gives the same numbers as one call a draw and set, in that order.
    """
    counts = np.array([len(one.done) for one in sets])
    chosen = np.random.default_rng(1).integers(0, np.tile(np.repeat(counts, counts), DRAWS)).reshape(DRAWS, -1)
    rates, speeds = (np.empty((DRAWS, len(sets))) for _ in range(2))
    for number, (one, end) in enumerate(zip(sets, counts.cumsum(), strict=True)):
        its = chosen[:, end - len(one.done) : end]
        rates[:, number] = one.others[its].mean(1) / slice_seconds
        speeds[:, number] = one.done[its].sum(1) / np.maximum(one.seconds[its].sum(1), 1e-12)
    return rates, speeds


def _intercepts(rates: np.ndarray, speeds: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Where lines through rows of points, (rows, points), are at rate 0: by least squares with these weights. A row
    whose rates are too much alike gives none.
    """
    apart = rates.max(1) >= LEAST_RATIO_OF_RATES * rates.min(1)
    rates, speeds = rates[apart], speeds[apart]
    share = weights / weights.sum()
    rate, speed = rates @ share, speeds @ share
    beside = rates - rate[:, None]
    slopes = (beside * speeds) @ weights / ((beside**2) @ weights)
    return np.asarray(speed - slopes * rate)


def _error_of_intercept(sets: Sequence[Points], rates: np.ndarray) -> float:
    """How far the line at rate 0 may be off, 95 %, by what few slices say of their mean: drawing them anew does not
    show that.
    """
    weights = np.array([float(len(one.done)) for one in sets])
    middle = float((weights * rates).sum() / weights.sum())
    spread = float((weights * (rates - middle) ** 2).sum())
    pulls = weights / weights.sum() - middle * weights * (rates - middle) / spread
    errors = np.array([error_of_ratio(one.done, one.seconds) * one.speed for one in sets])
    return float(np.sqrt(((pulls * errors) ** 2).sum()))


def from_envelope(scene: Scene) -> Prices:
    """What the storage gave to all together, if the job would fill it alone."""
    source: Source = "envelope"
    prices: dict[Place, Price] = {}
    scatter, is_filled, is_beside_any = 0.0, True, False
    for storage, kind in scene.places:
        own = scene.own[storage]
        if not own.has_company.any():
            prices[storage, kind] = _as_it_was(own, kind)
            continue
        if kind == "meta":
            return Prices(source, refused="how many metadata operations the storage can do is not known")
        counted, why_not = scene.counted(storage)
        if counted is None:
            return Prices(source, refused=why_not)
        if storage in scene.in_requests and counted.amounts["meta"].sum() > counted.amounts[kind].sum():
            return Prices(source, refused=NO_BYTES)
        seconds, is_shared = own.seconds[kind], own.inner & own.has_company
        is_full = is_shared & (seconds >= FILLED * scene.seconds)
        is_mostly_full = seconds[is_full].sum() >= MOSTLY_FULL * seconds[is_shared].sum()
        if is_full.sum() < FEWEST_SLICES or not is_mostly_full:
            return Prices(source, refused="the job does not fill the storage: its processes were not always in calls")
        full = counted.of(is_full & (own.others_metadata <= TRIVIAL * scene.seconds))
        if len(full) < FEWEST_SLICES:
            return Prices(source, refused="its neighbours' metadata calls took some of the storage's time")
        moved, other = full.together[kind], full.together["write" if kind == "read" else "read"]
        if other.sum() > TRIVIAL * (moved.sum() + other.sum()):
            return Prices(
                source,
                refused="reads and writes came together, and how fast the storage is for each alone is not known",
            )
        is_beside_any = True
        rates = _evened(moved) / scene.seconds
        middle = float(np.median(rates))
        if middle <= 0:
            return Prices(source, refused="nothing was counted in most of its slices beside others")
        scatter = max(scatter, float(rates.std() / middle))
        if scatter > MOST_SCATTER:
            return Prices(source, refused="how much the storage served in all varies too much")
        error = max(ERROR_OF_SLICES, error_of_mean(float(rates.std(ddof=1)) / middle, len(rates)))
        a_byte = 1.0 if counted is own else float(counted.amounts[kind].sum() / max(1.0, own.amounts[kind].sum()))
        prices[storage, kind] = Price(a_byte / middle, error)
        is_filled = is_filled and _is_filled(full, kind, middle * scene.seconds)
    if not is_beside_any:
        return Prices(source, refused=NOBODY)
    # Bytes that fill the storage take as long however unevenly processes have them.
    return Prices(source, prices, "", "medium" if scatter <= MOST_SCATTER and is_filled else "low", uneven=1.0)


def from_shared_slices(scene: Scene) -> Prices:
    """The slices in which others were there, by the job's share of what the storage served and by its own speed."""
    source: Source = "shared slices"
    prices: dict[Place, Price] = {}
    least = TRIVIAL * sum(float(own.in_calls.sum()) for own in scene.own.values())
    most_error, is_sure = 0.0, scene.uneven <= MOST_UNEVEN
    for storage in {storage for storage, _ in scene.places}:
        own = scene.own[storage]
        kinds = [kind for place, kind in scene.places if place == storage]
        if float(own.in_calls[own.has_company].sum()) < least:
            prices |= {(storage, kind): _as_it_was(own, kind) for kind in kinds}
            continue
        (counted, why_not), known = scene.counted(storage), scene.known[storage]
        if counted is None:
            return Prices(source, refused=why_not)
        is_by_requests = storage in scene.in_requests
        if is_by_requests:  # in seconds of the storage's time already
            known = replace(known, most=dict.fromkeys(known.most, 1.0))
        part = part_alone(counted, known, scene.seconds, is_by_requests)
        if isinstance(part, str):
            return Prices(source, refused=part)
        most_error, is_sure = max(most_error, part.error), is_sure and part.is_sure
        for kind in kinds:
            alone, amounts = seconds_alone(own, kind, part), own.amounts[kind]
            if amounts.sum() and alone.sum():
                idle = float(alone[amounts == 0].sum() / alone.sum())
                prices[storage, kind] = Price(float(alone.sum() / amounts.sum()), part.error, idle=idle)
    if not most_error:
        return Prices(source, refused=NOBODY)
    return Prices(source, prices, "", "medium" if is_sure and most_error <= MOST_ERROR_BY[source] else "low")


def _evened(moved: np.ndarray) -> np.ndarray:
    """The mean of some slices in a row each, where there are enough: requests end in one slice or in the next, and the
    more so the larger they are.
    """
    if len(moved) < TOGETHER * FEWEST_SLICES:
        return moved
    return np.array([part.mean() for part in np.array_split(moved, len(moved) // TOGETHER)])


def _is_filled(full: SlicesOnStorage, kind: Kind, middle: float) -> bool:
    """Whether the storage moves as much in the slices that are nearly all the job's: then the job fills it alone."""
    moved = full.together[kind]
    nearly_alone = moved[full.amounts[kind] >= (1 - LITTLE_COMPANY) * moved]
    return len(nearly_alone) >= FEWEST_SLICES and float(nearly_alone.mean()) >= STILL_FILLED * middle


def as_baseline(prices: Prices, scene: Scene) -> Baseline:
    if prices.refused:
        return Baseline(prices.source, None, "unknown", prices.refused, list(prices.runs))
    uneven = prices.uneven or 1.0
    value = uneven * expected_seconds(scene, prices.of)
    error = uneven * _expected_error(scene, prices.of)
    high = value + error
    if prices.source in IF_IT_FILLS and prices.confidence == "low":
        took = uneven * sum(float(own.in_calls.sum()) for own in scene.own.values())
        high = max(high, value + LEAST_OF_ENVELOPE * (took - value))
    seconds = Estimate(value, value - error, high, HOW[prices.source])
    return Baseline(prices.source, seconds, prices.confidence, "", list(prices.runs))


# What these say of a job that may not fill the storage by itself is the least that it takes alone.
IF_IT_FILLS: tuple[Source, ...] = ("shared slices", "envelope")
HOW: dict[Source, str] = {
    "standalone runs": "by standalone runs of the same program and size",
    "other sizes": "by standalone runs of other sizes, which agree",
    "quiet slices": "by the slices of this run in which nobody else used the storage",
    "line": "by a line through the job's speed against its neighbours' rates",
    "shared slices": "by its share of what the storage served beside others, and by its speed without them",
    "envelope": "if it fills the storage alone",
}


PRICES = tuple(f"{kind}_{what}" for kind in KINDS for what in ("price", "call_price", "idle"))


def price_frame(prices: Mapping[Place, Price]) -> pl.DataFrame:
    """storage, and of each kind {kind}_price, {kind}_call_price (s; null: not priced) and {kind}_idle."""
    rows = []
    for storage in sorted({storage for storage, _ in prices}):
        row: dict[str, float | None] = {"storage": storage}
        for kind in KINDS:
            price = prices.get((storage, kind))
            row[f"{kind}_price"] = price.seconds if price else None
            row[f"{kind}_call_price"] = price.call_seconds if price else None
            row[f"{kind}_idle"] = price.idle if price else None
        rows.append(row)
    return pl.DataFrame(rows, schema={"storage": pl.UInt64} | dict.fromkeys(PRICES, pl.Float64))


def alone_seconds(kind: Kind) -> pl.Expr:
    """What a row's calls of a kind would have taken alone, by its price; without one, what they took."""
    cost = pl.col(f"{kind}_price") * pl.col(AMOUNTS[kind])
    if kind in CALLS:
        cost = cost + pl.col(f"{kind}_call_price") * pl.col(CALLS[kind])
    return cost.fill_null(pl.col(SECONDS[kind]))


def expected_seconds(scene: Scene, prices: Mapping[Place, Price]) -> float:
    return sum(
        prices[storage, kind].of(own, kind) if (storage, kind) in prices else float(own.seconds[kind].sum())
        for storage, own in scene.own.items()
        for kind in KINDS
    )


def _expected_error(scene: Scene, prices: Mapping[Place, Price]) -> float:
    own = scene.own
    return sum(
        price.error * price.of(own[storage], kind) for (storage, kind), price in prices.items() if storage in own
    )


def price_of(own: SlicesOnStorage, kind: Kind) -> Price | None:
    """What a kind of call cost in slices: ratios of sums, for write-back makes single slices too fast or too slow."""
    seconds, amounts, calls = own.seconds[kind], own.amounts[kind], own.calls[kind]
    if not amounts.sum() or not seconds.sum():
        return None
    error = max(block_error(seconds, amounts), error_of_ratio(seconds, amounts))
    error = max(ERROR_OF_SLICES, error if np.isfinite(error) else MOST_ERROR_OF_A_RUN)
    idle = float(seconds[amounts == 0].sum() / seconds.sum())
    if kind in CALLS and _sizes_differ(own, kind):
        of_bytes, of_call = two_prices(amounts, calls, seconds)
        told = of_bytes * float(amounts.sum()) + of_call * float(calls.sum())
        if told > 0 and of_call > 0:
            scale = float(seconds.sum()) / told
            left = seconds - scale * (of_bytes * amounts + of_call * calls)
            return Price(scale * of_bytes, max(ERROR_OF_SLICES, error_of_rest(left, seconds)), scale * of_call, idle)
    return Price(float(seconds.sum() / amounts.sum()), error, idle=idle)


def _sizes_differ(own: SlicesOnStorage, kind: Kind) -> bool:
    """Whether the mean size of a slice's calls varies, leaving the tenth of the slices at either end aside."""
    made = own.calls[kind] > 0
    sizes = own.amounts[kind][made] / own.calls[kind][made]
    low, high = np.percentile(sizes, [10, 90]) if len(sizes) >= FEWEST_SLICES else (1.0, 1.0)
    return bool(high > LIKE_SIZES * low)


def _as_it_was(own: SlicesOnStorage, kind: Kind) -> Price:
    """The price at which nothing is lost, where nobody can have cost the job anything."""
    return Price(float(own.seconds[kind].sum()) / max(1.0, float(own.amounts[kind].sum())), 0.0)


def _was_faster(own: SlicesOnStorage, kind: Kind, price: Price, slice_seconds: float) -> bool:
    """Whether full slices took so much less time than they would have alone that this is no price."""
    full = own.of((own.seconds[kind] >= slice_seconds / 2) & own.is_at_work)
    seconds = full.seconds[kind]
    alone = price.seconds * full.amounts[kind] + price.call_seconds * full.calls[kind]
    too_fast = alone > FASTER_THAN_ALONE * seconds
    return bool((alone - seconds)[too_fast].sum() > TRIVIAL * alone.sum())


def _quiet(own: SlicesOnStorage, kind: Kind) -> SlicesOnStorage | None:
    if len(own) - own.has_company.sum() < FEWEST_SLICES:
        return None
    taken = own.slice[own.has_company]
    is_near = np.isin(own.slice, np.concatenate([taken - 1, taken, taken + 1]))
    is_quiet = own.inner & ~is_near & (own.seconds[kind] > 0)
    return own.of(is_quiet) if is_quiet.sum() >= FEWEST_SLICES else None


def _are_like_sizes(quiet: SlicesOnStorage, own: SlicesOnStorage, kind: Kind) -> bool:
    if kind not in CALLS or _sizes_differ(quiet, kind):
        return True
    sizes = [float(rows.amounts[kind].sum()) / max(1.0, float(rows.calls[kind].sum())) for rows in (quiet, own)]
    return max(sizes) <= LIKE_SIZES * min(sizes)


def _speeds(own: SlicesOnStorage, known: Capacities) -> Points:
    """The points of `speed_line` for a storage, in seconds of its time."""
    inner = own.inner
    none = np.zeros(int(inner.sum()))
    done = sum((own.amounts[kind][inner] / rate for kind, rate in known.most.items()), none)
    return Points(done, own.in_calls[inner], own.others[inner], own.company[inner])


def calls_of(kind: Kind) -> str:
    return "metadata" if kind == "meta" else kind
