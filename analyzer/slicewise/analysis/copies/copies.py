"""How many copies of a job may run side by side before each loses more than it may, and on what evidence.

Digests in, dataclasses out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.calls import KINDS
from slicewise.analysis.capacity.by_kind import Capacities, shown_together
from slicewise.analysis.capacity.capacity import Capacity, got_together
from slicewise.analysis.copies.demand import Demand, demand_of, where_most
from slicewise.analysis.copies.losses import MOST_OTHERS, Losses, Weight, together
from slicewise.analysis.runs.campaign import campaign_there
from slicewise.analysis.runs.matching import company, each_once
from slicewise.analysis.runs.storage import Storage
from slicewise.digest.activity import Direction
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.kinds import Confidence

# More are not looked at; beside other jobs there are several times as many states to compute.
MOST_COPIES = 64
MOST_COPIES_BESIDE = 24
# So many are shown beyond what is allowed.
BEYOND = 2
# A kind of call is part of what a job does from this share of its I/O on.
WORTH_A_WORD = 0.05
# Why reads and writes are taken to share one capacity where it is not the jobs' slices that tell it.
ONE_BECAUSE = {
    "given": "it was given as one number",
    "fitted curve": "a fitted model has one capacity",
}
ROUNDING = 1e-5
HOW = "random phases; at one end the storage at its fastest and the job at its slowest, at the other the reverse"


@dataclass(frozen=True)
class Row:
    """So many copies: what each loses, as a fraction of its runtime alone: on average with random phases (loss), and if
    all begin their I/O at once (in_step); rate: bytes/s that each gets while all are in I/O.
    """

    copies: int
    loss: Estimate
    in_step: float
    rate: float


@dataclass(frozen=True)
class Copies:
    """most: the largest number of copies of which none loses more than most_loss on average. fewest_sure and
    most_possible: the same with the losses' high and low ends. is_bounded: whether that is below what is looked at.
    company: who ran while the job did: its rate may be lower than alone. one_because: why there is one capacity for
    all kinds of call; empty where there is one for each, or where the jobs make calls of one kind.
    """

    demand: Demand
    others: list[Demand]
    storage: Storage
    capacity: Capacity
    most_loss: float
    rows: list[Row]
    most: int
    fewest_sure: int
    most_possible: int
    is_bounded: bool
    company: list[str]
    one_because: str

    @property
    def confidence(self) -> Confidence:
        """How sure the number is: high where even the ends of the losses allow as many; low where they allow a quarter
        more or less, where what one copy more would lose is known to no better than itself, where the job had company,
        and where the storage was never seen full. A capacity that was typed in
        is an assumption, and so is that reads and writes take turns where no slices show it: medium at most.
        """
        apart = self.most_possible - self.fewest_sure
        more = self.row(self.most + 1)
        is_vague = more is not None and more.loss.high - more.loss.low > more.loss.value
        if self.company or self.capacity.is_floor or apart > max(1, 0.25 * self.most) or is_vague:
            return "low"
        region = self.capacity.region
        is_assumed = self.capacity.source == "given" or (region is not None and region.exponent is None)
        return "medium" if apart or is_assumed else "high"

    def row(self, copies: int) -> Row | None:
        """The row of so many copies."""
        return next((row for row in self.rows if row.copies == copies), None)


def copies(
    digest: Digest,
    beside: Sequence[Digest] = (),
    seen: Sequence[Digest] = (),
    most_loss: float = 0.1,
    capacity: Capacity | None = None,
) -> Copies:
    """How many copies of a job may run side by side, beside all of `beside`.

    seen: jobs that ran on the same storage and show what it can serve. capacity: where it is known otherwise. Raises
    UserError where the job moved no bytes, one beside it none on the same storage, or the capacity is not known.
    """
    storage, direction = where_most(digest)
    demand = demand_of(digest, storage)
    if demand is None:
        raise UserError(f"{digest.path}: spent no time in reads and writes, so nothing can be said of copies of it")
    if len(beside) > MOST_OTHERS:
        raise UserError(f"--with is given {len(beside)} times; give {MOST_OTHERS} jobs at most")
    others = []
    for other in beside:
        found = demand_of(other, storage)
        if found is None:
            raise UserError(
                f"{other.path}: did no I/O on {storage.point}, where {demand.job.job} does its I/O; leave it out"
            )
        others.append(found)
    everyone = each_once([digest, *beside, *seen])
    one_because = ONE_BECAUSE[capacity.source] if capacity is not None else ""
    if capacity is None:
        alone = _alone(storage, everyone)
        capacity = _side_by_side(storage, direction, everyone, {name: asked for name, (_, asked) in alone.items()})
        region = shown_together(storage, everyone, {name: run for name, (run, _) in alone.items()})
        if isinstance(region, str):
            one_because = region
        elif capacity is None or _differ([digest, *beside], storage):
            kinds = tuple(region.most)
            demand, *others = (_required(demand_of(one, storage, kinds)) for one in (digest, *beside))
            capacity = _of_region(region, demand)
    if capacity is None:
        raise _refusal(storage, demand)
    losses = Losses(demand, others, capacity)
    rows = _rows(losses, others, most_loss)
    allowed = [
        max((row.copies for row in rows if _within(rows, row.copies, end, most_loss)), default=0)
        for end in ("value", "high", "low")
    ]
    limit = _limit(others)
    return Copies(
        demand=demand,
        others=others,
        storage=storage,
        capacity=capacity,
        most_loss=most_loss,
        rows=[row for row in rows if row.copies <= max(allowed[0], 1) + BEYOND],
        most=allowed[0],
        fewest_sure=allowed[1],
        most_possible=allowed[2],
        is_bounded=allowed[2] < limit,
        company=[other.job for other in company(digest, everyone)],
        one_because=one_because,
    )


def _differ(digests: Sequence[Digest], storage: Storage) -> bool:
    """Whether jobs make several kinds of call on a storage, each for a part of their I/O there that is worth a word."""
    found = [demand_of(digest, storage, KINDS) for digest in digests]
    kinds = {
        kind
        for demand in found
        if demand is not None
        for kind, seconds in demand.seconds.items()
        if seconds >= WORTH_A_WORD * demand.io_seconds
    }
    return len(kinds) > 1


def _side_by_side(
    storage: Storage, direction: Direction, everyone: Sequence[Digest], alone: Mapping[str, Demand | None]
) -> Capacity | None:
    """What jobs that ran side by side got together. alone: what jobs ask for by themselves, by their names."""
    data = campaign_there(everyone, storage.number, direction)
    if data is None:
        return None
    rates = {name: asked.rate.value for name, asked in alone.items() if asked is not None}
    reached = pl.col("job").replace_strict(rates, default=None, return_dtype=pl.Float64)
    return got_together(data.slices.with_columns(alone=reached), {"read": "read", "write": "wrote"}[direction])


def _refusal(storage: Storage, demand: Demand) -> UserError:
    """Says that the capacity is not known, and how to come to know it."""
    name = demand.job.job
    return UserError(
        f"how much {storage.point} can serve is not known: no two profiles show it with two jobs at work; run two of "
        f"{demand.job.program} side by side once and give both: slicewise predict --copies {name} --seen A --seen B "
        "(or, where it is known: --capacity 2GiB/s)"
    )


def _of_region(region: Capacities, demand: Demand) -> Capacity:
    parts = region.parts(demand.amounts)
    asked = {kind for kind, part in parts.items() if part >= WORTH_A_WORD * sum(parts.values())}
    is_floor = bool(asked & region.unfilled)
    return Capacity(together(demand, region), "capacity region", is_floor, region=region)


def _required(demand: Demand | None) -> Demand:
    assert demand is not None
    return demand


def _limit(others: Sequence[Demand]) -> int:
    return MOST_COPIES_BESIDE if others else MOST_COPIES


def _within(rows: Sequence[Row], copies: int, end: str, most_loss: float) -> bool:
    return all(getattr(row.loss, end) <= most_loss for row in rows if row.copies <= copies)


def _rows(losses: Losses, others: Sequence[Demand], most_loss: float) -> list[Row]:
    """Rows up to where even the low end of the loss is more than allowed, and beyond."""
    rows: list[Row] = []
    too_many = 0
    for number in range(1, _limit(others) + 1):
        rows.append(_row(number, losses, bool(others)))
        too_many += rows[-1].loss.low > most_loss
        if too_many > BEYOND:
            break
    return rows


def _row(number: int, losses: Losses, has_others: bool) -> Row:
    # What shares go by matters beside other jobs alone.
    weights: tuple[Weight, ...] = ("processes", "nodes") if has_others else ("processes",)
    found = [
        _no_less_than_none(losses.expected(number, end, weight))
        for end in (0, -1, 1)
        for weight in weights
    ]  # fmt: skip
    return Row(
        copies=number,
        loss=Estimate(found[0], min(found), max(found), HOW),
        in_step=_no_less_than_none(losses.in_step(number)),
        rate=losses.rate(number),
    )


def _no_less_than_none(loss: float) -> float:
    """What rounding leaves of no loss is none."""
    return loss if loss > ROUNDING else 0.0


def _alone(storage: Storage, everyone: Sequence[Digest]) -> dict[str, tuple[Digest, Demand | None]]:
    """By the name of a job, the fastest of its program and size that had no company, and what that asks for; jobs
    without any are left out.
    """
    each = {digest.job: demand_of(digest, storage) for digest in everyone}
    apart = [digest for digest in everyone if not company(digest, everyone)]
    found: dict[str, tuple[Digest, Demand | None]] = {}
    for name, demand in each.items():
        like = [
            (known.rate.value, place)
            for place, digest in enumerate(apart)
            if (known := each[digest.job]) is not None and demand is not None and _size(known) == _size(demand)
        ]
        if like:
            run = apart[max(like)[1]]
            found[name] = run, each[run.job]
    return found


def _size(demand: Demand) -> tuple[str, int]:
    return demand.job.program, demand.job.processes
