"""What jobs' shares of a storage may go by, and which of these laws explains what was seen."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from slicewise.analysis.predict.side_by_side import Rules
from slicewise.analysis.sharing.weights import WeightKind as WeightKind
from slicewise.constants import APART, TAKES_TURNS
from slicewise.estimate import Estimate
from slicewise.statistics import error_of_next_run, student_t

EXPONENTS = (TAKES_TURNS, 2.0, APART)
# Clients cut calls into parts: a process has no more bytes under way than this, as far as shares go.
PARTS = (128 << 10, 256 << 10, 1 << 20, math.inf)
# From so many jobs seen in company on an interval is told.
FEWEST_SEEN = 3
# Laws that are off by no more than this factor of the best, or this much more, are about as good: the first is taken.
LAWS_AS_GOOD = 1.1
NEGLIGIBLE = 0.005
# A law that is off by more in the mean explains nothing.
POOR = 0.1


@dataclass(frozen=True)
class Law:
    """What shares go by. part: the most bytes that a call counts for, of weights by bytes outstanding. is_by_requests:
    a call takes as much of the storage's time whatever its size, as where calls a second are limited.
    """

    by: WeightKind
    part: float
    rules: Rules
    is_by_requests: bool = False


WEIGHTS: list[tuple[WeightKind, float]] = [
    ("processes", math.inf),
    ("nodes", math.inf),
    ("equal", math.inf),
    *(("outstanding", part) for part in PARTS),
]
# The simplest first; of two that explain as much, a metadata call is rather taken to wait behind others' data. Reads
# and writes that do not meet in the device may meet in a queue before it.
LAWS = [
    Law(by, part, Rules(exponent, is_behind, is_one_queue))
    for is_behind, (by, part), is_one_queue, exponent in product((False, True), WEIGHTS, (True, False), EXPONENTS)
    if not (is_behind and (by == "outstanding" or is_one_queue))
    if not (is_one_queue and by != "outstanding")
] + [Law(by, part, Rules(EXPONENTS[-1], is_one_queue=True, are_reads_queued=True)) for by, part in WEIGHTS]
# At a control group's limits: the kernel has one queue for reads and one for writes, each with limits of its own, and
# takes requests out as they came. So whose requests are large has more: of two readers that read ahead as far as they
# may and piece by piece the first had 19 times the bandwidth.
AT_LIMIT = sorted(
    (law for law in LAWS if law.rules == Rules(APART)), key=lambda law: (law.by != "outstanding", -law.part)
)
# Storage that gets slower with clients, or limits calls, is looked for only where all these laws are off by more than
# this in the mean.
POOR_FROM = 0.05
CROWDING = (0.05, 0.1, 0.2, 0.4)
BY_REQUESTS = [
    Law(by, part, Rules(exponent), is_by_requests=True)
    for exponent, (by, part) in product((TAKES_TURNS, APART), WEIGHTS)
    if by != "outstanding"
]


# ln(predicted / seen) of each job of each run, by law.
Tried = Mapping[Law, Sequence[Sequence[float]]]


@dataclass(frozen=True)
class Laws:
    """chosen: the simplest with about the smallest error; errors: ln(predicted / seen) of each job in company by the
    law that other combinations of jobs choose, where there are any. possible: all that are about as good, the chosen
    one among them. at_stake: of each of these jobs, how much its time depends on the law (`dependence`). is_held_out:
    whether there were other combinations; combinations: how many there were then. among: all that were asked.
    """

    chosen: Law
    errors: list[float]
    possible: list[Law]
    at_stake: list[float] = field(default_factory=list)
    is_held_out: bool = False
    combinations: int = 0
    among: Sequence[Law] = tuple(LAWS)

    def estimate(self, value: float, possible: Sequence[float], at_stake: float) -> Estimate:
        """A job's time with its interval; possible: by all possible laws, where errors are unknown or of its choice."""
        if len(self.errors) < FEWEST_SEEN:
            apart = 1 + error_of_next_run(0.0, 1)
            return Estimate(value, min(possible) / apart, max(possible) * apart, "by laws that no run there has tested")
        spread = math.exp(self._spread(at_stake))
        low, high = (value, value) if self.is_held_out else (min(possible), max(possible))
        return Estimate(
            value, low / spread, high * spread, f"by the errors of {len(self.errors)} jobs that ran together there"
        )

    def _spread(self, at_stake: float) -> float:
        """The factor to both sides within which a job's time lies, 95 %, as a logarithm. at_stake: `dependence` of it.
        A job that every law gives the same time is known better than one whose time goes by shares: errors are taken as
        parts of what is at stake, the mean of that being added to each. Repeats have the error of their combination
        again, so combinations count as observations where a law is held out of them. There must be errors.
        """
        known = self.at_stake or [0.0] * len(self.errors)
        common = float(np.mean(known))
        parts = [1.0 if not common else common + one for one in known]
        own = 1.0 if not common else common + at_stake
        scaled = np.divide(self.errors, parts)
        return own * student_t(self.combinations or len(self.errors)) * math.sqrt(float(np.mean(np.square(scaled))))


def laws_of(tried: Tried, combinations: Sequence[Hashable] = (), among: Sequence[Law] = LAWS) -> Laws:
    """What the errors of `tried_on` say of laws. Where nothing was seen, the simplest is taken and any is possible.
    among: the laws that may hold, but for `further_laws`. combinations: which jobs each of the runs is of. The errors
    that are told are those of runs whose combination the choice of a law has not seen: the law that fits what it was
    chosen by is never as good elsewhere.
    """
    if not any(one for runs in tried.values() for one in runs):
        return Laws(among[0], [], [*among, *(BY_REQUESTS if among is LAWS else ())], among=among)
    possible = _possible(tried)
    stakes = dependence(tried)
    held_out = _held_out(tried, combinations, stakes)
    found = held_out or list(zip(_flat(tried[possible[0]]), _flat(stakes), strict=True))
    errors, at_stake = [error for error, _ in found], [stake for _, stake in found]
    count = len(set(combinations)) if held_out else 0
    return Laws(possible[0], errors, possible, at_stake, bool(held_out), count, among)


def dependence(tried: Tried) -> list[list[float]]:
    """How much each job's time depends on the law: the standard deviation over `LAWS` of its logarithm."""
    by_law = [tried[law] for law in LAWS if law in tried]
    return [[float(np.std(job)) for job in zip(*runs, strict=True)] for runs in zip(*by_law, strict=True)]


def _possible(tried: Tried) -> list[Law]:
    sizes = {law: float(np.mean(np.abs(_flat(runs)))) for law, runs in tried.items()}
    bound = max(LAWS_AS_GOOD * min(sizes.values()), min(sizes.values()) + NEGLIGIBLE)
    return [law for law, size in sizes.items() if size <= bound]


def _held_out(
    tried: Tried, combinations: Sequence[Hashable], stakes: Sequence[Sequence[float]]
) -> list[tuple[float, float]]:
    """The errors of each combination by the law that the others choose, with the jobs' stakes; none of one alone."""
    found: list[tuple[float, float]] = []
    different = dict.fromkeys(combinations)
    for one in different if len(different) > 1 else ():
        others = {
            law: [run for run, own in zip(runs, combinations, strict=True) if own != one] for law, runs in tried.items()
        }
        for run, own, stake in zip(tried[_possible(others)[0]], combinations, stakes, strict=True):
            if own == one:
                found += zip(run, stake, strict=True)
    return found


def _flat(runs: Sequence[Sequence[float]]) -> list[float]:
    return [one for run in runs for one in run]


def further_laws(tried: Tried) -> list[Law]:
    """The laws to try where no other explains what was seen, by errors as `laws_of` takes them; none where one does."""
    sizes = {law: float(np.mean(np.abs(_flat(runs)))) for law, runs in tried.items()}
    if not sizes or min(sizes.values()) <= POOR_FROM:
        return []
    plain = [law for law in LAWS if law.by != "outstanding"]
    crowded = [replace(law, rules=replace(law.rules, crowding=crowding)) for crowding, law in product(CROWDING, plain)]
    return [*crowded, *BY_REQUESTS]
