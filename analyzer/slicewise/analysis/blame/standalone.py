"""What a job's I/O costs alone by its standalone runs: those of its size, those of other sizes, and those that had
traffic without a profile beside them.

Arrays in (`SlicesOnStorage`), prices out; docs/models.md has the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slicewise.analysis.blame.on_storage import SlicesOnStorage
from slicewise.analysis.blame.uncontended import (
    ERROR_OF_SLICES,
    SURE_WITHIN,
    Place,
    Price,
    Prices,
    Scene,
    calls_of,
    expected_seconds,
    price_of,
)
from slicewise.constants import EQUAL_VOLUMES, FEWEST_REPEATS, MOST_ERROR_OF_A_RUN, TRIVIAL
from slicewise.digest.company import as_many
from slicewise.kinds import Confidence
from slicewise.statistics import deviation_of, error_of_next_run

NO_RUN = "no standalone run of the same program and size is known"
# However little is known of how runs differ: a loss so many times as large as that is no matter of it.
FAR_BEYOND = 5.0
# Of a run's I/O: what traffic beside it can have cost at most, if it is to count as nearly alone.
MOST_BY_STRANGERS = 0.25
# Of the loss: where runs differ by more for the storage's sake, nothing is told by them.
MOST_OPEN_OF_LOSS = 0.25
# Of the time alone: a run that must have taken so much more alone was made while the storage was slower.
LEAST_SLOWER = 0.2
AGREE_WITHIN = 0.05
# Relative: runs alone that sync a record at a time differ by more than others, by how their file grows. At a limit of
# requests they took 12.1 or 15.9 s; on a disk that others share 3.2 to 8.4 s.
ERROR_OF_SYNCS = 0.25


@dataclass(frozen=True)
class StandaloneRows:
    """A run that had the storages to itself. own: what it did, by storage; uneven: see `to_runtime.unevenness`.
    is_same_command: its command line was the job's, or the user gave it. strangers: of a run that had traffic without
    a profile beside it, the seconds that this can have cost it: it took as long alone, less these, or longer.
    """

    name: str
    processes: int
    own: Mapping[int, SlicesOnStorage]
    uneven: float
    is_same_command: bool = False
    strangers: float | None = None

    @property
    def in_calls(self) -> float:
        """Seconds in I/O."""
        return sum(float(own.in_calls.sum()) for own in self.own.values())

    @property
    def least_alone(self) -> float:
        return self.in_calls - (self.strangers or 0.0)

    @property
    def is_nearly_alone(self) -> bool:
        return self.in_calls > 0 and self.least_alone >= (1 - MOST_BY_STRANGERS) * self.in_calls


def with_waits_of(scene: Scene, runs: Sequence[StandaloneRows]) -> Scene:
    """The scene with the kinds of calls in which runs that did as much waited: where reads wait for others, writes that
    came through one limit with them may wait no more.
    """
    found = [
        (storage, kind)
        for run in runs
        if _did_as_much(scene, run)
        for storage, own in run.own.items()
        for kind, seconds in own.seconds.items()
        if float(seconds.sum()) >= TRIVIAL * run.in_calls
    ]
    return replace(scene, worth=frozenset(found))


def from_standalone(scene: Scene, runs: Sequence[StandaloneRows], processes: int) -> Prices:
    """Runs of the same program and size: what they took, by what they moved. Where any of them did as much as the job,
    the others are left out: they are other sizes. Where any of these has its command line, too, the others are left
    out: with other arguments a program may compute for another time. Where none was alone, those count that did as much
    beside so little that it can have cost them next to nothing.
    """
    places = list(scene.places)
    like = [run for run in runs if as_many(run.processes, processes) and run.strangers is None]
    like = like or [run for run in _beside_strangers(scene, runs, processes) if run.is_nearly_alone]
    if not like:
        return Prices("standalone runs", refused=NO_RUN)
    as_much = [run for run in like if _did_as_much(scene, run)]
    asked_alike = [run for run in as_much if run.is_same_command] or as_much
    asked_otherwise = tuple(run.name for run in as_much if run not in asked_alike)
    like = asked_alike or like
    names = tuple(run.name for run in like)
    found = [_prices_of(run, scene) for run in like]
    for place in places:
        if _served(scene.own, place) and not any(place in prices for prices in found):
            refused = f"no standalone run made {calls_of(place[1])} calls on the same file system"
            return Prices("standalone runs", refused=refused, runs=names)
    chosen, uneven, error = _middle_run(scene, like, found, bool(as_much))
    if like[0].strangers is not None:
        error = max(error, *(1 - run.least_alone / run.in_calls for run in like))
        chosen = {place: replace(price, error=max(price.error, error)) for place, price in chosen.items()}
    volume = expected_seconds(scene, chosen)
    lost = sum(scene.places.values()) - volume
    is_sure = volume > 0 and (error <= 2 * SURE_WITHIN or lost >= FAR_BEYOND * error * volume)
    sure: Confidence = "high" if is_sure and like[0].strangers is None else "medium"
    slowest = longest_alone(scene, runs, processes)
    if slowest is None or not as_much or lost <= 0 or slowest.least_alone <= (1 + max(error, LEAST_SLOWER)) * volume:
        return Prices("standalone runs", chosen, "", sure, uneven, names, bool(as_much), asked_otherwise)
    # The storage is not always as fast as in the runs that were alone.
    more = slowest.least_alone - volume
    if volume <= 0 or more > MOST_OPEN_OF_LOSS * lost:
        refused = (
            f"{slowest.name} did the same and took longer than the traffic beside it explains: storage speeds differ"
        )
        return Prices("standalone runs", refused=refused, runs=names, asked_otherwise=asked_otherwise)
    chosen = {place: replace(price, error=max(price.error, more / volume)) for place, price in chosen.items()}
    return Prices("standalone runs", chosen, "", "medium", uneven, names, True, asked_otherwise, slowest.name)


def _beside_strangers(scene: Scene, runs: Sequence[StandaloneRows], processes: int) -> list[StandaloneRows]:
    like = [run for run in runs if as_many(run.processes, processes) and run.is_same_command]
    its = [run for run in like if run.strangers is not None]
    return [run for run in its if _did_as_much(scene, run)]


def longest_alone(scene: Scene, runs: Sequence[StandaloneRows], processes: int) -> StandaloneRows | None:
    """The run beside traffic without a profile that did what the job did and must have taken longest alone."""
    return max(_beside_strangers(scene, runs, processes), key=lambda run: run.least_alone, default=None)


def _prices_of(run: StandaloneRows, scene: Scene) -> dict[Place, Price]:
    found = {place: _price_in(run, place, scene) for place in scene.places}
    return {place: price for place, price in found.items() if price is not None}


def _price_in(run: StandaloneRows, place: Place, scene: Scene) -> Price | None:
    """A cache sends when it likes: the same writes wait as long, however much of them was served meanwhile."""
    storage, kind = place
    price = price_of(run.own[storage], kind) if storage in run.own else None
    its, own = _served(run.own, place), _served(scene.own, place)
    if kind != "write" or _is_as_much(its, own) or not _wrote_as_much(scene, run, storage):
        return price
    if not own:
        return None
    seconds = float(run.own[storage].seconds[kind].sum()) / own
    return Price(seconds, MOST_ERROR_OF_A_RUN) if price is None else replace(price, seconds=seconds, call_seconds=0.0)


def _did_as_much(scene: Scene, run: StandaloneRows) -> bool:
    """Whether a run moved as many bytes, and made as many metadata calls, as the job on each storage."""
    return all(
        _is_as_much(_served(run.own, place), _served(scene.own, place))
        or (place[1] == "write" and _wrote_as_much(scene, run, place[0]))
        for place in scene.counted_in_work
    )


def _served(own: Mapping[int, SlicesOnStorage], place: Place) -> float:
    storage, kind = place
    return float(own[storage].amounts[kind].sum()) if storage in own else 0.0


def _wrote_as_much(scene: Scene, run: StandaloneRows, storage: int) -> bool:
    """Whether its calls wrote as much, whenever the storage served it."""
    its, own = (float(each[storage].written.sum()) if storage in each else 0.0 for each in (run.own, scene.own))
    return own > 0 and _is_as_much(its, own)


def _is_as_much(one: float, other: float) -> bool:
    return abs(one - other) <= EQUAL_VOLUMES * max(one, other)


def _middle_run(
    scene: Scene, runs: Sequence[StandaloneRows], found: Sequence[Mapping[Place, Price]], did_as_much: bool
) -> tuple[dict[Place, Price], float, float]:
    """The prices of the run in the middle, how uneven its processes were, and how far the next run may be from it.

    One run that was disturbed would pull a mean along. Of an even number of runs both in the middle count. What they
    did not do is priced by all that did it. did_as_much: the runs did what the job did; then one run is known to
    within the scatter of runs, and else to that of its slices, too.
    """
    most = max(len(prices) for prices in found)
    complete = [(run, prices) for run, prices in zip(runs, found, strict=True) if len(prices) == most]

    def cost(run: StandaloneRows, prices: Mapping[Place, Price]) -> float:
        return run.uneven * sum(price.of(scene.own[storage], kind) for (storage, kind), price in prices.items())

    ordered = sorted(complete, key=lambda one: cost(*one))
    costs = np.array([cost(*one) for one in ordered])
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    error = error_of_next_run(deviation_of(costs) if costs.mean() > 0 else 0.0, len(costs))
    if len(costs) < FEWEST_REPEATS and any((storage, "write") in scene.places for storage in scene.small_syncs):
        error = max(error, ERROR_OF_SYNCS)
    chosen = {}
    for place in dict.fromkeys(place for prices in found for place in prices):
        given = [prices[place] for _, prices in middle if place in prices] or [
            prices[place] for prices in found if place in prices
        ]
        of_bytes, of_call, idle = (
            float(np.mean(each)) for each in zip(*((p.seconds, p.call_seconds, p.idle) for p in given), strict=True)
        )
        is_known = did_as_much or len(costs) > 1
        chosen[place] = Price(of_bytes, error if is_known else max(error, given[0].error), of_call, idle)
    return chosen, float(np.mean([run.uneven for run, _ in middle])), error


def from_other_sizes(scene: Scene, runs: Sequence[StandaloneRows], processes: int) -> Prices:
    """Runs of the same program with other numbers of processes, if what they cost in all does not depend on that."""
    others = [run for run in runs if not as_many(run.processes, processes) and run.strangers is None]
    names = tuple(run.name for run in others)
    if len(others) < 2:
        return Prices("other sizes", refused="fewer than two standalone runs of other sizes are known", runs=names)
    prices: dict[Place, Price] = {}
    for place in scene.places:
        found = [_price_in(run, place, scene) for run in others]
        given = [price.seconds for price in found if price is not None]
        middle = float(np.median(given)) if len(given) == len(others) else 0.0
        if not middle or max(abs(price / middle - 1) for price in given) > AGREE_WITHIN:
            refused = "standalone runs of other sizes do not agree on what a byte costs"
            return Prices("other sizes", refused=refused, runs=names)
        prices[place] = Price(middle, max(ERROR_OF_SLICES, max(abs(price / middle - 1) for price in given)))
    return Prices("other sizes", prices, "", "medium", float(np.mean([run.uneven for run in others])), names)
