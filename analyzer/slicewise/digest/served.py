"""What a storage served in each slice: the write-back ledger. A call hands bytes to a cache in no time, and the storage
takes them later, while the process waits in a sync that moves nothing, or computes.

Frames in, frames out, of any number of jobs: those on one node share what its counters show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.equal_rows import begins_of_equal_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# A sync that took less than this share of the time in writes and syncs since the last one had little left to wait for:
# what was served is known better by the calls then. Predictions of recorded jobs that seek are off by 5.1 % with 0.3,
# and by 9.5 % with 0.1; those of checkpoints by 6.4 and 5.4 %.
LEAST_WAIT = 0.3
# A slice in which a process was in write calls and wrote less than this share of its mean rate is one in which it
# waited for what it had written before.
WAITS_BELOW = 0.1
# What a counter shows of a burst at least; a counter that shows less is not of this traffic.
LEAST_COUNTED = 0.5
# Rounds of balancing what each process was served against what the node sent: the rest is below 1 % of a slice then.
ROUNDS = 100
# And bytes: a round that changes no slice by more than this is the last one.
CLOSE = 0.01
# Each slice of a burst begins with so much of an even share, since balancing only multiplies.
EVEN_SHARE = 0.05
# A slice in which a burst was served less than this share of its mean is one in which it was not.
LEAST_OF_MEAN = 0.02
# Larger nodes (processes times slices) are told by bursts alone: the arrays would take gigabytes.
MOST_CELLS = 1 << 23


# How it is known what was served: by the calls that moved it, spread over the waits that followed, or by a counter.
BY_CALLS, BY_BURST, BY_COUNTER = "calls", "burst", "counter"
ORDER = ("process", "storage", "slice")
SENT_SCHEMA = {"counter": pl.String, "storage": pl.UInt64, "slice": pl.Int64, "sent": pl.Float64}
PAST_CACHE_SCHEMA = {"process": pl.UInt64, "storage": pl.UInt64}
USERS_SCHEMA = {"process": pl.UInt64, "storage": pl.UInt64, "counter": pl.String}


@dataclass(frozen=True)
class Counters:
    """What is known of jobs' caches beside their calls. sent: by counter (a name), storage and slice, the bytes that a
    node sent there. users: process, storage, counter: which one counts what a process writes there. closing: the
    storages on which a close sends what is in the cache, and waits for it. past_cache: process, storage: it writes past
    the cache there.
    """

    sent: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SENT_SCHEMA))
    users: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=USERS_SCHEMA))
    closing: frozenset[int] = frozenset()
    past_cache: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PAST_CACHE_SCHEMA))


def served_writes(rows: pl.DataFrame, known: Counters) -> pl.DataFrame:
    """Rows with `served` (bytes), `served_ops` (calls go with their bytes) and `how`; where storage served a process
    that made no call there, more rows. rows: process, storage, slice, write_bytes, write_ops, and write, sync and meta
    (ns in such calls), sync_ops and meta_ops, sorted by the first three. More columns stay, and are null in added rows.
    What a process was served adds up to what it wrote between its syncs, and never runs ahead of it; only what it did
    not sync may be missing at the end, where a counter shows that it had not left the node.
    """
    given = rows.columns
    is_closing = pl.col("storage").is_in(list(known.closing))
    waited = pl.col("sync") + pl.when(is_closing).then("meta").otherwise(0)
    # In a slice with writes it may as well be the open before them.
    closes = pl.when(is_closing & (pl.col("write_bytes") == 0)).then("meta_ops").otherwise(0)
    rows = rows.with_columns(waited=waited, ends=pl.col("sync_ops") + closes)
    rows = rows.with_columns(_by_bursts(rows))
    if known.sent.is_empty() or rows.is_empty():
        return _with_calls(rows).drop("waited", "ends")
    place = ["process", "storage"]
    placed = rows.join(known.users, on=place, how="left", maintain_order="left")
    past = placed.join(known.past_cache, on=place, how="semi", maintain_order="left")
    placed = placed.join(known.past_cache, on=place, how="anti", maintain_order="left")
    apart = [past.with_columns(how=pl.lit(BY_CALLS)), placed.filter(pl.col("counter").is_null())]
    counted = placed.filter(pl.col("counter").is_not_null())
    for (counter, storage), its in counted.group_by("counter", "storage", maintain_order=True):
        sent = known.sent.filter(pl.col("counter") == counter, pl.col("storage") == storage)
        sent = _without(sent, past.filter(pl.col("counter") == counter, pl.col("storage") == storage))
        apart.append(_by_counter(its, sent) if len(sent) else its)
    return _with_calls(pl.concat(apart, how="diagonal").sort(ORDER)).select(*given, "served", "served_ops", "how")


def _without(sent: pl.DataFrame, past: pl.DataFrame) -> pl.DataFrame:
    """What a counter shows, less what was written past the cache."""
    if past.is_empty():
        return sent
    its = past.group_by("slice").agg(pl.col("served").sum())
    left = (pl.col("sent") - pl.col("served").fill_null(0)).clip(0)
    return sent.join(its, on="slice", how="left", maintain_order="left").select(*sent.columns[:-1], sent=left)


def _with_calls(rows: pl.DataFrame) -> pl.DataFrame:
    size = (pl.col("write_ops").sum() / pl.col("write_bytes").sum()).over("process", "storage")
    calls = (pl.col("served") * size).fill_nan(0.0).round().cast(pl.Int64)
    return rows.with_columns(served_ops=pl.when(pl.col("how") == BY_CALLS).then("write_ops").otherwise(calls))


def _by_bursts(rows: pl.DataFrame) -> list[pl.Series]:
    """The columns `served` and `how` without any counter. What was written since the last sync and then waited for in
    the next one is served evenly by time in writes and syncs. What a write waits for, slice after slice, likewise.
    """
    moved = rows["write_bytes"].to_numpy()
    is_of_burst = np.zeros(len(moved), bool)
    if not len(moved):
        return [pl.Series("served", moved, pl.Int64), pl.Series("how", [], pl.String)]
    waited, is_end = rows["waited"].to_numpy(), rows["ends"].to_numpy() > 0
    seconds = rows["write"].to_numpy() + waited
    starts = begins_of_equal_rows(rows["process"].to_numpy(), rows["storage"].to_numpy())
    begins = np.zeros(len(moved), bool)
    begins[starts] = True
    begins[1:] |= is_end[:-1]
    bursts = np.flatnonzero(begins)
    lengths = np.diff(bursts, append=len(moved))
    in_burst = np.add.reduceat(seconds, bursts)
    is_waited_for = (lengths > 1) & (np.add.reduceat(waited, bursts) >= LEAST_WAIT * in_burst) & (in_burst > 0)
    is_waited_for &= is_end[bursts + lengths - 1] & (np.add.reduceat(moved, bursts) > 0)
    served = moved.copy()
    for begin, length in zip(bursts[is_waited_for].tolist(), lengths[is_waited_for].tolist(), strict=True):
        its = slice(begin, begin + length)
        served[its] = _drained(moved[its], seconds[its], waited[its])
        is_of_burst[its] = True
    begins[1:] |= np.diff(rows["slice"].to_numpy()) != 1
    waits, lengths = _waits_of_writes(moved, seconds, starts, begins)
    is_wait = np.repeat(lengths > 1, lengths) & ~is_of_burst
    if is_wait.any():
        served = np.where(is_wait, _spread(moved, seconds, waits, lengths), served)
        is_of_burst |= is_wait
    how = pl.Series("how", [BY_CALLS, BY_BURST]).gather(is_of_burst.astype(np.uint32))
    return [pl.Series("served", served.astype(np.int64)), how]


def _drained(moved: Ints, seconds: Ints, waited: Ints) -> Ints:
    """What a burst was served in each of its slices: as evenly as a cache of its size allows. At the mean rate the sync
    drained so many bytes: so many the cache held at most. What was served runs behind what was written by that at most,
    and never ahead of it; of all such curves the shortest one is taken (a taut string).
    """
    time, reached = np.cumsum(seconds + 1.0), np.cumsum(moved, dtype=float)
    whole = reached[-1]
    held = whole * float(waited.sum()) / float(seconds.sum())
    lower = np.maximum(reached - held, 0.0)
    lower[-1] = whole
    curve = np.interp(time, *_taut_string(time, lower, reached))
    return np.asarray(np.diff(np.rint(curve), prepend=0.0), np.int64)


def _taut_string(time: Floats, lower: Floats, upper: Floats) -> tuple[list[float], list[float]]:
    """The corners of the shortest curve from 0 to the last point, where both bounds meet, that stays between them."""
    x, low, high = [0.0, *time.tolist()], [0.0, *lower.tolist()], [0.0, *upper.tolist()]
    corners, at = [(0.0, 0.0)], 0
    while at < len(x) - 1:
        begin, value = corners[-1]
        steepest, flattest, at_high, at_low = math.inf, -math.inf, at, at
        bend = len(x) - 1, low[-1]
        for place in range(at + 1, len(x)):
            apart = x[place] - begin
            rise, limit = (low[place] - value) / apart, (high[place] - value) / apart
            if rise > steepest:
                bend = at_high, high[at_high]
                break
            if limit < flattest:
                bend = at_low, low[at_low]
                break
            if rise >= flattest:
                flattest, at_low = rise, place
            if limit <= steepest:
                steepest, at_high = limit, place
        at = bend[0]
        corners.append((x[at], bend[1]))
    return [time for time, _ in corners], [value for _, value in corners]


def _spread(moved: Ints, seconds: Ints, begins: Ints, lengths: Ints) -> Ints:
    """The bytes of each stretch of rows by seconds, and none before they were moved. Sums stay what they are."""
    whole, of_all = (np.repeat(np.add.reduceat(each.astype(float), begins), lengths) for each in (moved, seconds))
    even = np.divide(whole * seconds, of_all, out=np.zeros(len(moved)), where=of_all > 0)
    before = [np.repeat((np.cumsum(each) - each)[begins], lengths) for each in (even, moved.astype(float))]
    reached = np.minimum(np.cumsum(even) - before[0], np.cumsum(moved) - before[1])
    reached = np.rint(reached)
    reached[begins + lengths - 1] = np.add.reduceat(moved, begins)  # to the last byte
    found = np.asarray(np.diff(reached, prepend=0), np.int64)
    found[begins[1:]] += reached[begins[1:] - 1].astype(np.int64)  # sums begin anew with each stretch
    return found


def _waits_of_writes(moved: Ints, seconds: Ints, starts: Ints, is_anew: Mask) -> tuple[Ints, Ints]:
    """Stretches of slices in which a process waited: begins and lengths. is_anew: rows that follow no other."""
    sums = np.add.reduceat(moved, starts), np.add.reduceat(seconds, starts)
    # Where nobody was in a write call, nobody waits.
    mean = np.divide(*sums, out=np.zeros(len(starts)), where=sums[1] > 0)
    is_wait = (seconds > 0) & (moved < WAITS_BELOW * np.repeat(mean, np.diff(starts, append=len(moved))) * seconds)
    is_wait &= ~is_anew
    begins = np.flatnonzero(~is_wait)
    return begins, np.diff(begins, append=len(moved))


def _by_counter(cell: pl.DataFrame, counted: pl.DataFrame) -> pl.DataFrame:
    """The rows of processes that one counter counts, by what it shows."""
    first = min(int(cell["slice"].min()), int(counted["slice"].min()))  # type: ignore[arg-type]
    last = max(int(cell["slice"].max()), int(counted["slice"].max()))  # type: ignore[arg-type]
    names, row = np.unique(cell["process"].to_numpy(), return_inverse=True)
    shape = (len(names), last - first + 1)
    if shape[0] * shape[1] > MOST_CELLS:
        return cell
    column = cell["slice"].to_numpy() - first

    def laid_out(name: str) -> Floats:
        values = np.zeros(shape)
        values[row, column] = cell[name].to_numpy()
        return values

    sent = np.zeros(shape[1])
    sent[counted["slice"].to_numpy() - first] = counted["sent"].to_numpy()
    is_sync = laid_out("ends") > 0
    written = after_syncs(laid_out("write_bytes"), is_sync, sent)
    bursts, endings = bursts_of(written, laid_out("write"), laid_out("waited"), is_sync)
    if float(sent[bursts.max(0) >= 0].sum()) < LEAST_COUNTED * float(written.sum()):
        return cell
    served = balanced(written, bursts, endings, sent)
    return _as_rows(cell, names, first, row, column, served)


def _as_rows(
    cell: pl.DataFrame, names: npt.NDArray[np.uint64], first: int, row: Ints, column: Ints, served: Floats
) -> pl.DataFrame:
    """The cell's rows with what was served, and rows for slices in which a process made no call."""
    whole = np.diff(np.rint(np.cumsum(served, axis=1)), axis=1, prepend=0.0).astype(np.int64)
    there = cell.with_columns(pl.Series("served", whole[row, column]), pl.lit(BY_COUNTER).alias("how"))
    whole[row, column] = 0
    more_row, more_column = np.nonzero(whole)
    if not len(more_row):
        return there
    more = pl.DataFrame(
        {
            "process": pl.Series(names[more_row], dtype=pl.UInt64),
            "storage": pl.Series([cell["storage"][0]], dtype=pl.UInt64).new_from_index(0, len(more_row)),
            "slice": pl.Series(more_column + first, dtype=pl.Int64),
            "served": whole[more_row, more_column],
        }
    )
    return pl.concat([there, more.with_columns(pl.lit(BY_COUNTER).alias("how"))], how="diagonal")


def after_syncs(written: Floats, is_sync: Mask, sent: Floats) -> Floats:
    """What was written (processes, slices), with what a process wrote after its sync in the slice in which that ended
    put into the next one: more than the node sent since some slice after the sync before, and so it was not synced by
    then. A later sync has to tell when it was.
    """
    moved = written.copy()
    for process in np.flatnonzero(is_sync.sum(1) > 1):
        begin = 0
        for end in np.flatnonzero(is_sync[process])[:-1]:
            since = np.cumsum((moved[process] - sent)[begin : end + 1][::-1])
            left = min(moved[process, end], max(0.0, float(since.max())))
            moved[process, end : end + 2] += (-left, left)
            begin = end + 1
    return moved


# How a burst ended: not, by a sync, or by a sync that waited for a part of the time that is worth a word.
OPEN, SYNCED, WAITED_FOR = 0, 1, 2


def bursts_of(written: Floats, writing: Floats, waited: Floats, is_sync: Mask) -> tuple[Ints, Ints]:
    """Which burst each process's slices are of (processes, slices; -1: of none), and by burst how it ended. A burst is
    what a process wrote from its first write after the last one to the sync that waited for it: the process's last
    sync, or one that took a part of the burst's time that is worth a word. Without a sync it goes on to the last slice.
    written: bytes; writing, waited: ns in writes and in syncs; is_sync: whether one ended there.
    """
    bursts = np.full(written.shape, -1, np.int64)
    endings = list[int]()
    for process in range(len(written)):
        begin = 0
        syncs = np.flatnonzero(is_sync[process])
        for end in [*syncs.tolist(), written.shape[1] - 1]:
            wrote = np.flatnonzero(written[process, begin : end + 1])
            if not len(wrote):
                begin = max(begin, end + 1)
                continue
            start = begin + int(wrote[0])
            its = slice(start, end + 1)
            is_last = len(syncs) > 0 and end == syncs[-1]
            waits, whole = waited[process, its].sum(), (writing + waited)[process, its].sum()
            is_waited_for = bool(is_sync[process, end]) and waits >= LEAST_WAIT * whole
            if not (is_waited_for or is_last or end == written.shape[1] - 1):
                continue
            bursts[process, its] = len(endings)
            endings.append(WAITED_FOR if is_waited_for else SYNCED if is_last else OPEN)
            begin = end + 1
    return bursts, np.array(endings, np.int64)


def balanced(written: Floats, bursts: Ints, endings: Ints, sent: Floats) -> Floats:
    """Bytes that each process was served in each slice: (processes, slices). Each burst that a sync ended adds up to
    what was written in it; nobody is served what was not written yet; and together they are served what the node sent
    (one value a slice) at most, as far as the syncs leave a choice. Found by iterative proportional fitting. It begins
    with a constant share of what the node sent until the sync returned, where that waited for the last of it; else with
    shares in proportion to what was outstanding.
    """
    if not len(endings):
        return written.copy()
    at_once = float(np.median(sent[sent > 0])) if (sent > 0).any() else 0.0
    # Of many processes few write, and of a long time little is spent writing.
    used = np.ix_((bursts >= 0).any(1), (bursts >= 0).any(0))
    served = np.zeros(written.shape)
    served[used] = _balanced(written[used], bursts[used], endings, sent[used[1][0]], at_once)
    return served


def _balanced(written: Floats, bursts: Ints, endings: Ints, sent: Floats, at_once: float) -> Floats:
    is_ended = endings != OPEN
    is_in, flat = bursts >= 0, np.where(bursts >= 0, bursts, 0)
    count = len(endings)

    def sums(values: Floats) -> Floats:
        return np.asarray(np.bincount(flat.ravel(), weights=(values * is_in).ravel(), minlength=count), float)

    starts = np.ones(written.shape, bool)
    starts[:, 1:] = bursts[:, 1:] != bursts[:, :-1]
    first = np.maximum.accumulate(np.where(starts, np.arange(written.shape[1]), 0), axis=1)

    def reached_in_burst(values: Floats) -> Floats:
        whole = np.cumsum(values, axis=1)
        return whole - np.take_along_axis(whole - values, first, axis=1)

    targets, reached = sums(written), reached_in_burst(written)
    lengths = np.maximum(sums(np.ones(written.shape)), 1)
    of_all = _ratio(targets, sums(np.broadcast_to(sent, written.shape)), 0.0)
    served = np.where((endings == WAITED_FOR)[flat], sent * of_all[flat], _in_proportion(written, bursts, sent))
    served = np.where(is_in, (1 - EVEN_SHARE) * served + EVEN_SHARE * (targets / lengths)[flat], 0.0)
    for _ in range(ROUNDS):
        together = served.sum(0)
        served = served * np.minimum(1.0, _ratio(sent, together, 1.0))
        found = sums(served)
        factor = _ratio(targets, found, 1.0)
        until = np.minimum(reached_in_burst(served * factor[flat]), reached)
        before, served = served, np.where(starts, until, np.diff(until, axis=1, prepend=0.0))
        if np.abs(served - before).max() < CLOSE:
            break
    # Of a burst that no sync ended only what the node sent beyond the others is served for certain.
    is_open = is_in & ~is_ended[flat]
    open_ones, left = np.where(is_open, served, 0.0), np.maximum(sent - np.where(is_open, 0.0, served).sum(0), 0.0)
    together = open_ones.sum(0)
    kept = np.minimum(1.0, _ratio(left, together, 1.0))
    served = np.where(is_open, served * kept, served)
    # Crumbs that balancing leaves behind would make a job active that is not.
    served = np.where(served < LEAST_OF_MEAN * (targets / lengths)[flat], 0.0, served)
    # What the counter never showed of a burst that was synced was served by then all the same.
    missing = np.where(is_ended, np.maximum(targets - sums(served), 0.0), 0.0)
    is_last = np.ones(written.shape, bool)
    is_last[:, :-1] = starts[:, 1:]
    served = served + np.where(is_in & is_last, missing[flat], 0.0)
    # Whose bytes were never behind by more than the node sends in a slice had no cache to speak of: O_DIRECT, O_SYNC.
    behind = np.zeros(count)
    np.maximum.at(behind, flat, np.where(is_in, reached - reached_in_burst(served), 0.0))
    return np.asarray(np.where(is_in & (behind <= at_once)[flat], written, served), float)


def _ratio(over: Floats, under: Floats, otherwise: float) -> Floats:
    return np.asarray(np.divide(over, under, out=np.full(len(under), otherwise), where=under > 0), float)


def _in_proportion(written: Floats, bursts: Ints, sent: Floats) -> Floats:
    """What each would be served if all that is outstanding were sent in proportion."""
    served, outstanding = np.zeros(written.shape), np.zeros(len(written))
    for place in range(written.shape[1]):
        outstanding += written[:, place]
        whole = outstanding.sum()
        if whole > 0:
            served[:, place] = outstanding * min(1.0, sent[place] / whole)
            outstanding -= served[:, place]
        if place + 1 < written.shape[1]:  # what a sync ended is not outstanding any more
            outstanding[bursts[:, place] != bursts[:, place + 1]] = 0.0
    return served
