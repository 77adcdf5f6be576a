"""A heat map's bins as events: they say when a rank moved how much, the counters where and in how many calls. The map
rounds each part of a call to whole bytes: the counters' sums hold.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from slicewise.constants import SECOND_NS
from slicewise.errors import UserError
from slicewise.imports.darshan_log import SHARED_RANK, HeatBins, Log
from slicewise.imports.events import Numbers, by_weight


@dataclass(frozen=True)
class RecordAmounts:
    """What a record of counters says of one direction. mount, file: numbers."""

    rank: int
    mount: int
    file: int
    bytes: int
    calls: int
    busy_ns: int


@dataclass(frozen=True)
class HeatRow:
    """What a rank moved on a file in one bin."""

    rank: int
    mount: int
    file: int
    begin_ns: int
    end_ns: int
    bytes: int
    calls: int
    busy_ns: int


def heat_rows(
    log: Log, heat: Sequence[HeatBins], amounts: Sequence[RecordAmounts], module: str, way: str
) -> Iterator[HeatRow]:
    """Events of the bins of one module and direction, whose sums by file are those of the counters.

    Raises UserError where map and counters are further apart than rounding brings them.
    """
    moving = [one for one in amounts if one.bytes]
    counted, mapped = sum(one.bytes for one in moving), sum(int(one.bins.sum()) for one in heat)
    bins = sum(np.count_nonzero(one.bins) for one in heat)
    if abs(counted - mapped) > sum(one.calls for one in moving) + bins:
        raise UserError(
            f"{log.place}: the heat map of {module} has {mapped:,} of {counted:,} bytes that were "
            f"{'read' if way == 'read' else 'written'}; nothing says when the rest was moved"
        )
    if not moving:
        return
    ranks = {one.rank: one for one in heat}
    for place, shares in zip(moving, _shares(moving, heat), strict=True):
        for parts in _parts(place, shares, list(ranks)):
            yield from _rows(log, ranks[parts.rank], parts)


def _shares(moving: Sequence[RecordAmounts], heat: Sequence[HeatBins]) -> list[Numbers]:
    """How many of each record's bytes each rank moved; of a shared file by what its map has beyond its own files."""
    place = {one.rank: number for number, one in enumerate(heat)}
    rest = np.array([int(one.bins.sum()) for one in heat], np.int64)
    for one in moving:
        if one.rank in place:
            rest[place[one.rank]] -= one.bytes
    weights = np.maximum(rest, 0)
    if not weights.sum():
        weights = np.ones(len(heat), np.int64)
    shares = []
    for one in moving:
        own = np.zeros(len(heat), np.int64)
        if one.rank in place:
            own[place[one.rank]] = one.bytes
        else:
            own = by_weight(one.bytes, weights)
        shares.append(own)
    return shares


def _parts(whole: RecordAmounts, shares: Numbers, ranks: Sequence[int]) -> Iterator[RecordAmounts]:
    """A record's bytes, calls and time by rank."""
    if whole.rank in ranks:
        yield whole
        return
    assert whole.rank == SHARED_RANK
    calls, busy = by_weight(whole.calls, shares), by_weight(whole.busy_ns, shares)
    for rank, moved, number, spent in zip(ranks, shares.tolist(), calls.tolist(), busy.tolist(), strict=True):
        if moved or number or spent:
            yield RecordAmounts(rank, whole.mount, whole.file, moved, number, spent)


def _rows(log: Log, heat: HeatBins, part: RecordAmounts) -> Iterator[HeatRow]:
    used = np.flatnonzero(heat.bins)
    weights = heat.bins[used]
    amounts = [by_weight(amount, weights) for amount in (part.bytes, part.calls, part.busy_ns)]
    width = heat.bin_seconds * SECOND_NS
    for number, moved, calls, busy in zip(used.tolist(), *(one.tolist() for one in amounts), strict=True):
        if moved or calls or busy:
            begin, end = log.start_ns + round(number * width), log.start_ns + round((number + 1) * width)
            yield HeatRow(heat.rank, part.mount, part.file, begin, max(end, begin + 1), moved, calls, busy)
