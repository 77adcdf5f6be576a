"""How many copies of a job may run side by side before each loses more than it may, and on what evidence.

Digests in, dataclasses out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from slicewise.analysis.copies.demand import Demand, demand_of, where_most
from slicewise.analysis.copies.known_capacity import KnownCapacity, refusal, seen_capacity
from slicewise.analysis.copies.side_by_side import MOST_OTHERS, Customer, expected_loss, loss_in_step, rates_of_all
from slicewise.analysis.runs.matching import company
from slicewise.analysis.runs.storage import Storage
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.estimate import Estimate

Confidence = Literal["high", "medium", "low"]
# More are not looked at; beside other jobs there are several times as many states to compute.
MOST_COPIES = 64
MOST_COPIES_BESIDE = 24
# So many are shown beyond what is allowed.
BEYOND = 2
ROUNDING = 1e-5
HOW = "random phases, from the storage's high and the job's low to the storage's low and the job's high rate"


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
    company: who ran while the job did: its rate may be lower than alone.
    """

    demand: Demand
    others: list[Demand]
    storage: Storage
    capacity: KnownCapacity
    most_loss: float
    rows: list[Row]
    most: int
    fewest_sure: int
    most_possible: int
    is_bounded: bool
    company: list[str]

    @property
    def confidence(self) -> Confidence:
        """How sure the number is: high where even the ends of the losses allow as many; low where they allow a quarter
        more or less, where the job had company, and where the storage was never seen full.
        """
        apart = self.most_possible - self.fewest_sure
        if self.company or self.capacity.is_floor or apart > max(1, 0.25 * self.most):
            return "low"
        return "medium" if apart else "high"

    def row(self, copies: int) -> Row | None:
        """The row of so many copies."""
        return next((row for row in self.rows if row.copies == copies), None)


def copies(
    digest: Digest,
    beside: Sequence[Digest] = (),
    seen: Sequence[Digest] = (),
    most_loss: float = 0.1,
    capacity: KnownCapacity | None = None,
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
    everyone = _each_once([digest, *beside, *seen])
    if capacity is None:
        capacity = seen_capacity(everyone, storage, direction, _alone(storage, everyone))
    if capacity is None:
        raise refusal(storage, demand)
    rows = _rows(demand, others, capacity, most_loss)
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
    )


def _limit(others: Sequence[Demand]) -> int:
    return MOST_COPIES_BESIDE if others else MOST_COPIES


def _within(rows: Sequence[Row], copies: int, end: str, most_loss: float) -> bool:
    return all(getattr(row.loss, end) <= most_loss for row in rows if row.copies <= copies)


def _rows(demand: Demand, others: Sequence[Demand], capacity: KnownCapacity, most_loss: float) -> list[Row]:
    """Rows up to where even the low end of the loss is more than allowed, and beyond."""
    rows: list[Row] = []
    too_many = 0
    for number in range(1, _limit(others) + 1):
        rows.append(_row(number, demand, others, capacity))
        too_many += rows[-1].loss.low > most_loss
        if too_many > BEYOND:
            break
    return rows


def _row(number: int, demand: Demand, others: Sequence[Demand], capacity: KnownCapacity) -> Row:
    losses = [
        _no_less_than_none(
            expected_loss(number, *_customers(demand, others, end, weight), _serves(demand, others, capacity, end))
        )
        for end in (0, -1, 1)
        # What shares go by matters beside other jobs alone.
        for weight in (("processes", "nodes") if others else ("processes",))
    ]
    serves = _serves(demand, others, capacity, 0)
    job, beside = _customers(demand, others, 0, "processes")
    return Row(
        copies=number,
        loss=Estimate(losses[0], min(losses), max(losses), HOW),
        in_step=_no_less_than_none(loss_in_step(number, job, beside, serves)),
        rate=rates_of_all(number, range(len(others)), job, beside, serves)[0],
    )


def _no_less_than_none(loss: float) -> float:
    """What rounding leaves of no loss is none."""
    return loss if loss > ROUNDING else 0.0


def _customers(demand: Demand, others: Sequence[Demand], end: int, weight: str) -> tuple[Customer, list[Customer]]:
    """The job and the others; end: -1, 0, 1 for the low end of their rates, the middle, the high end."""
    found = [
        Customer(
            volume=one.volume,
            rate=_rate(one, end),
            computing=one.computing_seconds,
            weight=float(one.processes if weight == "processes" else one.job.nodes),
        )
        for one in (demand, *others)
    ]
    return found[0], found[1:]


def _rate(demand: Demand, end: int) -> float:
    return (demand.rate.value, demand.rate.high, demand.rate.low)[end]


def _serves(demand: Demand, others: Sequence[Demand], capacity: KnownCapacity, end: int) -> partial[float]:
    """What the storage serves when so many copies and these others are in I/O. end: -1 is the case with the least loss,
    where the jobs ask for little and the storage serves much.
    """
    alone = max(_rate(one, end) for one in (demand, *others))
    return partial(_served, demand, others, capacity, -end, alone)


def _served(
    demand: Demand,
    others: Sequence[Demand],
    capacity: KnownCapacity,
    end: int,
    alone: float,
    copies: int,
    working: Sequence[int],
) -> float:
    present = [demand] * copies + [others[place] for place in working]
    processes, nodes = sum(one.processes for one in present), sum(one.job.nodes for one in present)
    together = capacity.at(len(present), processes, nodes, end)
    # One job by itself reaches what it did; several may well get less in all than it did alone.
    return together if len(present) > 1 else max(alone, together)


def _each_once(digests: Sequence[Digest]) -> list[Digest]:
    """The digests without those of processes that an earlier one has."""
    kept: list[Digest] = []
    for digest in digests:
        own = set(digest.processes["process"])
        if not any(own & set(earlier.processes["process"]) for earlier in kept):
            kept.append(digest)
    return kept


def _alone(storage: Storage, everyone: Sequence[Digest]) -> dict[str, Demand]:
    """By the name of a job, the fastest of its program and size that had no company; jobs without any are left out."""
    each = {digest.job: demand_of(digest, storage) for digest in everyone}
    apart = [each[digest.job] for digest in everyone if not company(digest, everyone)]
    found: dict[str, Demand] = {}
    for name, demand in each.items():
        like = [one for one in apart if one is not None and demand is not None and _size(one) == _size(demand)]
        if like:
            found[name] = max(like, key=lambda one: one.rate.value)
    return found


def _size(demand: Demand) -> tuple[str, int]:
    return demand.job.program, demand.job.processes
