"""What storages do at most of each kind of call, how full they are, and each job's part (docs/models.md)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.analysis.calls import AMOUNTS, KINDS, SECONDS, Kind, job_rows
from slicewise.analysis.runs.on_storage import AloneRun
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import (
    ACTIVE_SHARE,
    APART,
    FEWEST_SLICES,
    FILLED,
    LEAST_ERROR,
    MOST_SLOWER_DIRECTION,
    MUCH_BUFFERED,
    MUCH_METADATA,
    MUCH_OF_CAPACITY,
    NOT_SLOWED,
    ONE_KIND,
    PERCENTILE,
    TAKES_TURNS,
    WAITING_SHARE,
)
from slicewise.digest.activity import DIRECTIONS, common_slice_ns
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate
from slicewise.scalars import HALVINGS
from slicewise.statistics import block_error

Floats = npt.NDArray[np.float64]
# How full a storage was seen is not known worse than this, however slices scatter.
MOST_ERROR_OF_FULLNESS = 0.25


@dataclass(frozen=True)
class Capacities:
    """What a storage does at most, by kind: bytes/s or metadata operations/s; a kind that nobody used is missing.
    exponent: of its capacity region (r/C_r)^p + (w/C_w)^p + (m/M)^p = 1; None where no slices tell, and then it is
    taken to be 1 (`p`). mixed: how many slices told. pass_by: whether reads and writes take nothing from each other: by
    slices, though no exponent is known, or since a control group's limit of each holds. level: how much of its time a
    full storage was seen to spend; unfilled: kinds of which it may well do more; by `shown_together`, else unknown.
    """

    most: dict[Kind, float]
    exponent: float | None = None
    mixed: int = 0
    pass_by: bool = False
    level: Estimate | None = None
    unfilled: frozenset[Kind] = frozenset()

    @property
    def p(self) -> float:
        return self.exponent or TAKES_TURNS

    def across(self) -> float:
        """How much of another kind's storage time counts against a call: 1 where the device takes turns, 0 where
        kinds do not meet."""
        return 0.0 if self.p >= APART else 1.0 / self.p

    def counts(self, kind: Kind, other: Kind) -> float:
        """How much of a kind's storage time counts against a call of the first kind."""
        if kind == other:
            return 1.0
        return 0.0 if self.pass_by and "meta" not in (kind, other) else self.across()

    def parts(self, amounts: Mapping[Kind, float]) -> dict[Kind, float]:
        """Seconds of the storage's time that amounts of each kind take."""
        return {kind: amounts.get(kind, 0.0) / rate for kind, rate in self.most.items()}


def room_taken(parts: Sequence[float] | Floats, exponent: float) -> float:
    """The room that parts of a storage's time take, to the power of the exponent: no more than 1 fits."""
    return float(max(parts)) if exponent >= APART else float(sum(part**exponent for part in parts))


def fullness(parts: npt.ArrayLike, exponent: float) -> Floats:
    """How full a storage is by so much of its time of each kind (the first axis): 1 is full."""
    each = np.asarray(parts, float)
    return np.asarray(each.max(0) if exponent >= APART else (each**exponent).sum(0) ** (1 / exponent))


def is_always_in_calls(kinds: Iterable[Kind], seconds: float, processes: pl.Expr | float = 1) -> pl.Expr:
    """Whether a row's processes were in calls of these kinds throughout a slice of so many seconds."""
    return pl.sum_horizontal(SECONDS[kind] for kind in kinds) >= FILLED * seconds * processes


def capacities(rows: pl.DataFrame, grid_ns: int) -> dict[int, Capacities]:
    """The capacities of each storage from what all jobs did there (`calls.job_rows`), standalone runs included."""
    seconds = grid_ns / 1e9
    together = rows.group_by("storage", "slice", maintain_order=True).agg(
        pl.col(AMOUNTS.values()).sum(), pl.col(SECONDS.values()).sum()
    )
    found = {}
    for (storage,), slices in together.group_by("storage", maintain_order=True):
        most: dict[Kind, float] = {}
        for kind, amount in AMOUNTS.items():
            rates = slices.filter(pl.col(amount) > 0)[amount].to_numpy() / seconds
            if len(rates):
                most[kind] = float(np.percentile(rates, PERCENTILE))
        if "read" in most and "write" in most:
            most |= _directions(slices, most, seconds)
        exponent, mixed = _exponent(slices, most, seconds)
        found[int(str(storage))] = Capacities(most, exponent, mixed)
    return found


def _directions(slices: pl.DataFrame, most: Mapping[Kind, float], seconds: float) -> dict[Kind, float]:
    """What the storage reads and writes at most, where slices of one direction alone may be missing. A direction that
    was never alone was slowed by the other one. Beside a direction of known speed it had, if they take turns, what that
    one left over. Where neither is known, a byte is taken to cost as much either way.
    """
    ways: tuple[tuple[Kind, Kind], ...] = (("read", "write"), ("write", "read"))
    rates = {kind: slices[AMOUNTS[kind]].to_numpy() / seconds for kind, _ in ways}
    alone = {
        kind: bool(((rates[kind] >= MUCH_OF_CAPACITY * most[kind]) & (rates[other] < ONE_KIND * most[other])).any())
        for kind, other in ways
    }
    found = {kind: most[kind] for kind, _ in ways}
    if not any(alone.values()):
        both = float(np.percentile(rates["read"] + rates["write"], PERCENTILE))
        return {kind: max(rate, both) for kind, rate in found.items()}
    fastest = max(found.values())
    is_busy = np.logical_and(*(slices[SECONDS[kind]].to_numpy() >= FILLED * seconds for kind in rates))
    for kind, other in ways:
        left = 1 - rates[other] / most[other]
        is_told = is_busy & (left > 0.1) & (rates[kind] > 0)
        if not alone[kind] and is_told.sum() >= FEWEST_SLICES:
            told = float(np.median(rates[kind][is_told] / left[is_told]))
            found[kind] = min(max(found[kind], told), MOST_SLOWER_DIRECTION * fastest)
    fastest = max(found.values())
    return {kind: max(rate, fastest / MOST_SLOWER_DIRECTION) for kind, rate in found.items()}


def _exponent(slices: pl.DataFrame, most: Mapping[Kind, float], seconds: float) -> tuple[float | None, int]:
    """The exponent that slices of several kinds show, and how many they are. What the storage does at most of each kind
    must be known from slices of that kind alone; and the mixed slices must have been saturated: calls were under way
    throughout, of each kind.
    """
    parts = {kind: slices[AMOUNTS[kind]].to_numpy() / seconds / rate for kind, rate in most.items()}
    if len(parts) < 2:
        return None, 0
    shares = np.array(list(parts.values()))
    busy = np.array([slices[SECONDS[kind]].to_numpy() >= FILLED * seconds for kind in parts])
    alone = [bool(((share >= MUCH_OF_CAPACITY) & (shares.sum(0) - share < ONE_KIND)).any()) for share in shares]
    is_mixed = ((shares > ONE_KIND) & busy).sum(0) >= 2
    is_known = ~((shares > ONE_KIND) & ~np.array(alone)[:, None]).any(0)
    chosen = shares[:, is_mixed & is_known]
    beside = [_beside_another(shares[k], shares.sum(0) - shares[k], busy[k]) for k in range(len(parts))]
    if chosen.shape[1] < FEWEST_SLICES and any(beside):
        return APART, max(beside)
    if chosen.shape[1] < FEWEST_SLICES:
        return None, int(chosen.shape[1])
    exponents = _exponents_of(np.where(chosen > ONE_KIND, chosen, 0.0))
    return float(np.median(exponents)), len(exponents)


def _beside_another(share: np.ndarray, others: np.ndarray, is_busy: np.ndarray) -> int:
    """In how many slices a kind of call, under way throughout, was as fast beside much of the others as by itself. 0 if
    it was slower. Where it was not, they do not meet, however fast the others could be.
    """
    alone, beside = share[is_busy & (others < ONE_KIND)], share[is_busy & (others > MUCH_OF_CAPACITY)]
    if min(len(alone), len(beside)) < FEWEST_SLICES or np.median(alone) < MUCH_OF_CAPACITY:
        return 0
    return len(beside) if np.median(beside) >= NOT_SLOWED * np.median(alone) else 0


def _exponents_of(shares: np.ndarray) -> np.ndarray:
    """p with sum of shares^p = 1, from TAKES_TURNS to APART, for each column of shares; all at once, by halving."""
    bounded = np.minimum(shares, 1.0)
    low, high = (np.full(shares.shape[1], bound) for bound in (TAKES_TURNS, APART))

    def above(p: np.ndarray) -> np.ndarray:
        return np.asarray((bounded**p).sum(0) > 1.0)

    is_least, is_most = ~above(low), above(high) | ((bounded**high).sum(0) == 1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_above = above(middle)
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return np.select([is_least, is_most], [TAKES_TURNS, APART], (low + high) / 2)


def serves(quiet: Iterable[AloneRun]) -> dict[Kind, float]:
    """What the storage does at most of each kind, by jobs that had it to themselves."""
    found: dict[Kind, float] = {}
    in_calls: dict[Kind, float] = {}
    known = set[Kind]()
    for run in quiet:
        stored, ahead = run.stored()
        seconds = run.digest.slice_ns / 1e9
        inner = run.rows.slice(1, max(0, len(run.rows) - 2))
        for kind in KINDS:
            if kind == "meta" and run.in_metadata() <= MUCH_METADATA:
                continue  # how fast it opened a few files says nothing of what the storage could do
            busy = inner.filter(is_always_in_calls([kind], seconds, run.processes))
            rates = run.rates(kind)
            if kind == "write" and ahead > MUCH_BUFFERED:
                rate = stored  # slices show how fast memory took it
                known.add(kind)
            elif len(busy) >= FEWEST_SLICES:
                rate = float(busy[AMOUNTS[kind]].sum()) / (len(busy) * seconds)
                known.add(kind)
            elif len(rates):
                rate = float(np.percentile(rates, PERCENTILE))
                if kind != "meta":  # how fast single operations answer is not how many the storage can do
                    waited = float(run.rows[SECONDS[kind]].sum())
                    once = float(run.rows[AMOUNTS[kind]].sum()) / waited if waited > 0 else 0.0
                    in_calls[kind] = max(in_calls.get(kind, 0.0), once)
            else:
                continue
            if rate > 0:
                found[kind] = max(found.get(kind, 0.0), rate)
    return found | _while_in_calls(found, {kind: rate for kind, rate in in_calls.items() if kind not in known})


def _while_in_calls(found: Mapping[Kind, float], in_calls: Mapping[Kind, float]) -> dict[Kind, float]:
    """Of kinds that jobs did now and then: no less than what they got while they were in such calls. Memory takes
    writes, and hands out reads, faster than the storage: no more than it does of the other kinds, and of writes no more
    than slices show where nothing else is known.
    """
    told: dict[Kind, float] = {}
    for kind, rate in in_calls.items():
        others = [found[one] for one in DIRECTIONS if one in found and one != kind]
        most = max(others, default=0.0 if kind == "write" else math.inf)
        told[kind] = max(found[kind], min(rate, most))
    return told


def shown_together(storage: Storage, everyone: Sequence[Digest], alone: Mapping[str, Digest]) -> Capacities | str:
    """What a storage can do, with how full a full one is, or why the slices of these jobs do not show it. alone: by the
    names of jobs, runs of their program and size that had no company. What nobody did alone is taken to have been
    slowed down wherever several were at it.
    """
    grid_ns = common_slice_ns(everyone)
    seconds = grid_ns / 1e9
    rows = job_rows(everyone, grid_ns).filter(pl.col("storage") == storage.number)
    known = capacities(rows, grid_ns).get(storage.number, Capacities({}))
    shared = rows.filter(is_always_in_calls(KINDS, seconds)).filter(pl.len().over("slice") > 1)
    if shared["slice"].n_unique() < FEWEST_SLICES:
        return "no two profiles show it with two jobs at work"
    slower = _slower(shared, rows, alone)
    filled = frozenset(kind for kinds in slower.values() for kind in kinds)
    if "read" not in known.most or "write" not in known.most:
        return f"nobody was seen {'reading' if 'read' not in known.most else 'writing'} there"
    # Calls that ask for no data wait for a server's answer: how many it can give shows where several jobs wait.
    most = {kind: known.most[kind] for kind in KINDS if kind in known.most and (kind != "meta" or kind in filled)}
    slowed = [job for job, kinds in slower.items() if kinds]
    chosen = shared.filter(pl.col("slice").is_in(shared.filter(pl.col("job").is_in(slowed))["slice"].implode()))
    slices = (
        rows.join((chosen if slowed else shared).select("slice").unique(), on="slice", how="semi")
        .group_by("slice")
        .agg(pl.col(AMOUNTS.values()).sum())
        .sort("slice")
    )
    spent = fullness([slices[AMOUNTS[kind]].to_numpy() / seconds / rate for kind, rate in most.items()], known.p)
    error = LEAST_ERROR + min(block_error(spent, np.ones(len(spent))), MOST_ERROR_OF_FULLNESS)
    value = float(spent.mean())
    level = Estimate(value, value * (1 - error), value * (1 + error), "in the slices that several jobs filled")
    return replace(known, most=most, level=level, unfilled=frozenset(most) - filled)


def _slower(shared: pl.DataFrame, rows: pl.DataFrame, alone: Mapping[str, Digest]) -> dict[str, set[Kind]]:
    found: dict[str, set[Kind]] = {}
    for (job,), own in shared.group_by("job", maintain_order=True):
        run = alone.get(str(job))
        found[str(job)] = set()
        for kind in KINDS:
            amount, took = float(own[AMOUNTS[kind]].sum()), float(own[SECONDS[kind]].sum())
            if took < ONE_KIND * float(own.select(pl.sum_horizontal(SECONDS.values()).sum()).item()):
                continue
            before = None if run is None else _cost(rows.filter(pl.col("job") == run.job), kind)
            if before is None or took * NOT_SLOWED > before * amount:
                found[str(job)].add(kind)
    return found


def _cost(rows: pl.DataFrame, kind: Kind) -> float | None:
    amount = float(rows[AMOUNTS[kind]].sum())
    return float(rows[SECONDS[kind]].sum()) / amount if amount else None


def storage_seconds(rows: pl.DataFrame, found: Mapping[int, Capacities], grid_ns: int) -> pl.DataFrame:
    """Rows of `calls.job_rows` with the storage's time that each took, in s: of each kind as {kind}_taken. Reads and
    metadata operations took at most as long as the job was in such calls; but what the kernel reads ahead of calls
    takes its time, too: it counts where rows say that their bytes are those of the disk (`is_of_disk`). What took next
    to nothing is 0.
    """
    if rows.is_empty():
        return rows.with_columns(pl.lit(0.0).alias(f"{kind}_taken") for kind in KINDS)
    most = pl.DataFrame(
        [
            {"storage": storage} | {f"{kind}_most": known.most.get(kind) for kind in KINDS}
            for storage, known in found.items()
        ],
        schema={"storage": pl.UInt64} | {f"{kind}_most": pl.Float64 for kind in KINDS},
    )
    taken = {kind: (pl.col(AMOUNTS[kind]) / pl.col(f"{kind}_most")).fill_null(0.0) for kind in KINDS}
    bounded = {
        kind: took if kind == "write" else pl.min_horizontal(took, pl.col(SECONDS[kind]))
        for kind, took in taken.items()
    }
    if "is_of_disk" in rows.columns:
        by_disk = pl.when("is_of_disk").then(taken["read"].clip(upper_bound=grid_ns / 1e9))
        bounded["read"] = by_disk.otherwise(bounded["read"])
    is_active = pl.sum_horizontal(f"{kind}_taken" for kind in KINDS) >= ACTIVE_SHARE * grid_ns / 1e9
    return (
        rows.join(most, on="storage", how="left", maintain_order="left")
        .with_columns(took.alias(f"{kind}_taken") for kind, took in bounded.items())
        .with_columns(pl.when(is_active).then(f"{kind}_taken").otherwise(0.0).alias(f"{kind}_taken") for kind in KINDS)
        .drop(f"{kind}_most" for kind in KINDS)
    )


def took_time() -> pl.Expr:
    """Whether a row of `storage_seconds` took any of the storage's time."""
    return pl.sum_horizontal(f"{kind}_taken" for kind in KINDS) > 0


def in_calls(grid_ns: int) -> pl.Expr:
    """Whether a row's processes waited for the storage, served or not."""
    return pl.sum_horizontal(SECONDS.values()) >= WAITING_SHARE * grid_ns / 1e9


def against(kind: Kind, known: Capacities) -> pl.Expr:
    """How much of the storage's time a row's work counts against calls of a kind, in s."""
    return pl.sum_horizontal(pl.col(f"{other}_taken") * known.counts(kind, other) for other in KINDS)
