"""What a job's I/O would cost alone, by the very slices in which it had company: the storage's work goes on without
the neighbours, and the job has all of it.

Arrays in (`SlicesOnStorage`), prices out. Two laws, each with a gate. By the job's *share*: while it was in calls,
the storage served it so much and others so much, and alone it would have waited for its own part. By its *own speed*:
in slices without company it did so much a second. Where both are to be had, their mean counts, and the interval reaches
to both. docs/models.md has the formulas, and how far off they were.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from slicewise.analysis.blame.on_storage import Floats, Mask, SlicesOnStorage, main_kind
from slicewise.analysis.calls import Kind
from slicewise.analysis.capacity.by_kind import Capacities
from slicewise.constants import FEWEST_SLICES, FILLED, MAINLY, TRIVIAL, WAITING_SHARE
from slicewise.statistics import student_t

# Errors of the time alone, 95 %, to either side: of 157 recorded losses 95 % were within these. Metadata calls, whose
# cost a call depends on what directories hold, are known worse. By fewer than 4 slices 8 of 9 jobs of 4 to 14 s were
# off by 15 % at most, and one by 37 %, of whom the storage wrote all first.
ERROR_OF_SHARE, ERROR_OF_SPEED = 0.18, 0.35
ERROR_OF_FEW = 0.3
# With less of the time in calls in slices in which nearly all processes are, what the mean one waits for says little of
# the slowest.
MOSTLY_TOGETHER = 2 / 3
# The mean of what all were served is not above this many times its third quartile: else what was served is known for
# some slices together only, and not for each.
MOST_IN_FEW = 1.3
QUARTILE = 75
# Where others mostly go the other direction, each slice says whether the two meet: what the one gets the other lacks.
# Slices are taken in pairs, for requests end in one slice or in the next.
WORTH_ASKING = 0.1
FEWEST_PAIRS = 4
MEET = -0.5
# They pass each other by where a byte of the other direction took less than this of a byte of the job's, at its
# interval's end: limits of each direction, and links, which send both ways at once. On a limited disk under eleven jobs
# it took -0.1 to 0.1; where the two meet, it takes about 1. Where both rise and fall together, that is the storage's
# own speed, and tells nothing: on simulated storages their correlation is 0.997 and more, on that disk 0.5 at most.
PASSES_BY = 0.5
RISE_TOGETHER = 0.8
# Own speed counts from so many slices without company and such a part of the work on; and not where the job was so much
# slower in them than beside others, for then it was not the storage that it waited for.
FEWEST_OWN = 3
LEAST_OF_WORK = 0.1
SLOWER_THAN_SHARED = 0.8

OTHER: dict[Kind, Kind] = {"read": "write", "write": "read"}

ONE_BY_ONE = "its processes are seldom in calls at the same time"
NO_BYTES = "it waits for metadata calls, whose share of the storage is not known"
IN_FEW = "what was served is known for some slices together only"
DO_NOT_MEET = "its bytes and those of its neighbours, which go the other direction, do not seem to meet"


@dataclass(frozen=True)
class PartAlone:
    """What calls in company would have taken alone, as a part of what they took (0 to 1); error: relative, of all that
    the job's calls on the storage would have taken alone. is_sure: whether that is known of a job that need not fill
    the storage by itself.
    """

    of_shared: float
    error: float
    is_sure: bool


def part_alone(
    own: SlicesOnStorage, known: Capacities, slice_seconds: float, is_by_requests: bool = False
) -> PartAlone | str:
    """The part for one storage; why not, where neither law holds. is_by_requests: own counts requests, not bytes.

    A cache sends what the storage takes: of writes into one the share is sure. Of other calls, which may wait for
    answers and not for their turn, only if the own speed says the same; else the own speed counts.
    """
    work = _Work(own, known, slice_seconds, is_by_requests)
    if own.in_calls[own.is_at_work].sum() < MOSTLY_TOGETHER * own.in_calls.sum():
        return ONE_BY_ONE
    if work.is_in_few and not work.is_few:
        return IN_FEW
    share, speed = work.by_share(), work.by_speed()
    if isinstance(share, str):
        if speed is not None:
            return PartAlone(speed, ERROR_OF_SPEED, is_sure=True)
        if share == NO_BYTES or work.is_told_by_slices:
            return share
        least, most = sorted((work.share_if_all_meet(), work.share_of_directions()))
        middle = (least + most) / 2
        return PartAlone(middle, max(ERROR_OF_SHARE, work.relative((most - least) / 2, middle)), is_sure=False)
    share = max(share, work.least)
    error = max(ERROR_OF_FEW if work.is_few else ERROR_OF_SHARE, work.error_by_metadata(share))
    if work.is_few or speed is None:
        return PartAlone(share, error, is_sure=known.pass_by or (work.is_cached and not work.is_few))
    mean, apart = (share + speed) / 2, work.relative((share - speed) / 2, (share + speed) / 2)
    if work.is_cached or apart <= ERROR_OF_SHARE / 2:
        return PartAlone(mean, max(error, apart), is_sure=True)
    return PartAlone(speed, ERROR_OF_SPEED, is_sure=True)


def passes_by(own: SlicesOnStorage, known: Capacities, slice_seconds: float) -> bool:
    """Whether the slices of a job in company show that what others move in the other direction takes nothing of what
    there is in the job's.
    """
    return _Work(own, known, slice_seconds).passes_by()


@dataclass(frozen=True)
class _Work:
    """The job's work and everybody's on a storage, in seconds of the storage's time."""

    own: SlicesOnStorage
    known: Capacities
    slice_seconds: float
    is_by_requests: bool = False

    @cached_property
    def is_shared(self) -> Mask:
        return np.asarray(self.own.has_company & (self.own.in_calls > 0))

    @cached_property
    def shared_seconds(self) -> float:
        return float(self.own.in_calls[self.is_shared].sum())

    @cached_property
    def quiet_seconds(self) -> float:
        return float(self.own.in_calls[~self.is_shared].sum())

    @property
    def is_cached(self) -> bool:
        """Whether most of what the job had served in company had been in a cache."""
        cached = self._of(self.own.cached, "write")[self.is_shared].sum()
        return float(cached) >= MAINLY * float(self._bytes[self.is_shared].sum())

    def relative(self, apart: float, part: float) -> float:
        """How much two parts that differ by so much differ in all that the job would have taken alone."""
        return abs(apart) * self.shared_seconds / max(self.quiet_seconds + part * self.shared_seconds, 1e-9)

    def _of(self, amounts: Floats, kind: Kind) -> Floats:
        most = self.known.most.get(kind, 0.0)
        return np.asarray(amounts / most if most > 0 else np.zeros(len(amounts)), float)

    @cached_property
    def _bytes(self) -> Floats:
        return self._of(self.own.amounts["read"], "read") + self._of(self.own.amounts["write"], "write")

    @cached_property
    def _all(self) -> Floats:
        return self._bytes + self._of(self.own.amounts["meta"], "meta")

    @cached_property
    def _main(self) -> Kind:
        ways: tuple[Kind, Kind] = ("read", "write")
        done = {kind: float(self._of(self.own.amounts[kind], kind).sum()) for kind in ways}
        return main_kind(done | {"meta": -1.0})

    def _of_others(self, kind: Kind) -> Floats:
        """Bytes of others in a direction, as far as they count against the job's."""
        return self.known.counts(self._main, kind) * self._of(
            np.maximum(self.own.together[kind] - self.own.amounts[kind], 0.0), kind
        )

    @property
    def is_in_few(self) -> bool:
        """Whether few of the slices in company have most of what all were served in them."""
        served = self._of_all("read") + self._of_all("write")
        mean, most = float(served.mean()), float(np.percentile(served, QUARTILE))
        return mean > MOST_IN_FEW * most

    def _of_all(self, kind: Kind) -> Floats:
        return self._of(self.own.together[kind], kind)[self.is_shared]

    def by_share(self) -> float | str:
        """The job's part of the bytes that all were served while it was in calls."""
        its = self.is_shared
        mine = float(self._bytes[its].sum())
        if mine <= 0 or (mine < MAINLY * float(self._all[its].sum()) and self._waited_for_metadata()):
            return NO_BYTES
        if self.known.pass_by:
            return self.share_of_directions()
        same, across = (self._beside(self._of_others(kind)) for kind in (self._main, OTHER[self._main]))
        together = mine + same + across
        if across > WORTH_ASKING * together and self.known.exponent is None and not self._meet():
            return self.share_of_directions() if self._takes_nothing() else DO_NOT_MEET
        return mine / together

    @cached_property
    def is_few(self) -> bool:
        return bool(self.is_shared.sum() < FEWEST_SLICES)

    @cached_property
    def least(self) -> float:
        """The part of its time that its bytes took at the highest rate of the storage: nobody is faster alone. It is
        for few slices, of which the last one has what others were served after the job's end.
        """
        served = max(float(self._of(self.own.amounts[kind], kind)[self.is_shared].sum()) for kind in OTHER)
        return min(1.0, served / self.shared_seconds) if self.is_few else 0.0

    def share_if_all_meet(self) -> float:
        """The job's part of the bytes that all were served, whichever the direction."""
        mine = float(self._bytes[self.is_shared].sum())
        return mine / (mine + self._beside(np.asarray(sum(self._of_others(kind) for kind in OTHER))))

    def share_of_directions(self) -> float:
        """Its part of what was served in its own direction, of each of its two by the time that it waited there."""
        seconds, parts = 0.0, 0.0
        for kind in OTHER:
            mine = float(self._of(self.own.amounts[kind], kind)[self.is_shared].sum())
            its = self._of(np.maximum(self.own.together[kind] - self.own.amounts[kind], 0.0), kind)
            others = self._beside(its, self.own.seconds[kind])
            waited = float(self.own.seconds[kind][self.is_shared].sum())
            if mine > 0:
                seconds, parts = seconds + waited, parts + waited * mine / (mine + others)
        return parts / seconds if seconds > 0 else self.share_if_all_meet()

    def _waited_for_metadata(self) -> bool:
        """Whether its own calls on names took time. Where requests count, they do without: syncs of what was named ask
        for their blocks.
        """
        waited = float(self.own.seconds["meta"][self.is_shared].sum())
        return self.is_by_requests or waited > TRIVIAL * self.shared_seconds

    def error_by_metadata(self, share: float) -> float:
        """How far off the share is, relative, if others' metadata calls, too, take of what the job's bytes need. Those
        of groups' limits take nothing.
        """
        if self.known.pass_by:
            return 0.0
        mine = float(self._bytes[self.is_shared].sum())
        calls = np.maximum(self.own.together["meta"] - self.own.amounts["meta"], 0.0)
        others = sum(self._of_others(kind) for kind in OTHER) + self.known.across() * self._of(calls, "meta")
        return self.relative(share - max(self.least, mine / (mine + self._beside(others))), share)

    def _beside(self, others: Floats, seconds: Floats | None = None) -> float:
        """What others were served while the job was in calls; seconds: in those that count, where not all do."""
        waited = self.own.in_calls if seconds is None else seconds
        in_calls = np.minimum(1.0, waited / self.slice_seconds)
        return float((others * in_calls)[self.is_shared].sum())

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats]:
        """What all got in the job's direction and in the other one, in pairs of slices that it spent in calls."""
        its = np.flatnonzero(self.is_shared & (self.own.in_calls >= FILLED * self.slice_seconds))
        pairs = len(its) // 2 if len(its) >= 2 * FEWEST_PAIRS else 0
        one, other = (
            self.own.together[kind][its][: 2 * pairs].reshape(-1, 2).sum(1) for kind in (self._main, OTHER[self._main])
        )
        return one, other

    @property
    def is_told_by_slices(self) -> bool:
        """Whether there are enough slices to see whether the directions meet."""
        return len(self._pairs[0]) > 0

    def _meet(self) -> bool:
        """Whether what others got in the other direction is what the job lacked, slice by slice."""
        one, other = self._pairs
        if not (len(one) and one.std() and other.std()):
            return False
        return bool(np.corrcoef(one, other)[0, 1] <= MEET)

    def passes_by(self) -> bool:
        """The same where the other direction would count much, no slices of both tell, and it does not seem to meet the
        job's.
        """
        mine = float(self._bytes[self.is_shared].sum())
        same, across = (self._beside(self._of_others(kind)) for kind in (self._main, OTHER[self._main]))
        is_asked = across > WORTH_ASKING * (mine + same + across) and self.known.exponent is None
        return is_asked and not self._meet() and self._takes_nothing()

    def _takes_nothing(self) -> bool:
        """Whether what others got in the other direction took nothing of what there was in the job's."""
        one, other = self._pairs
        if not (len(one) and one.std() and other.std()) or np.corrcoef(one, other)[0, 1] >= RISE_TOGETHER:
            return False
        (slope, _), covariance = np.polyfit(other, one, 1, cov=True)
        return bool(-slope + student_t(len(one) - 2) * np.sqrt(covariance[0, 0]) < PASSES_BY)

    def by_speed(self) -> float | None:
        """How long the work in company would have taken at the job's own speed without it; no longer than it took."""
        its = ~self.is_shared & self.own.is_at_work
        is_own = its & (self.own.in_calls >= WAITING_SHARE * self.slice_seconds)
        work, shared = float(self._all[its].sum()), float(self._all[self.is_shared].sum())
        seconds = float(self.own.in_calls[its].sum())
        if is_own.sum() < FEWEST_OWN or work <= 0 or work < LEAST_OF_WORK * (work + shared):
            return None
        speed = work / seconds
        if speed < SLOWER_THAN_SHARED * shared / self.shared_seconds:
            return None
        return min(1.0, shared / speed / self.shared_seconds)


def seconds_alone(own: SlicesOnStorage, kind: Kind, part: PartAlone) -> Floats:
    return np.asarray(own.seconds[kind] * np.where(own.has_company, part.of_shared, 1.0), float)
