"""Who lost most time to others, and who cost others most: blame over the jobs of a catalog.

Few jobs are asked one by one, and many all at once. A job loses at most the time in which others used its storages
while it was in calls there. So those that are asked one by one are asked in order of that time, and no more than can be
among the worst, or than the caller has patience for.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import Path

import polars as pl

from slicewise.analysis.blame.case import kept_case
from slicewise.analysis.blame.result import CONFIDENCES, Blame
from slicewise.analysis.blame.timeline import Rows
from slicewise.analysis.site.at_once import around_jobs
from slicewise.analysis.site.jobs import with_key_text
from slicewise.analysis.site.losses import GROUPS, Group
from slicewise.analysis.site.losses_by_day import lost_by_all
from slicewise.analysis.site.spans import Span, spans_of
from slicewise.catalog.answers import Answers
from slicewise.catalog.beside import LEAST_GRID_NS, Around, on_grid
from slicewise.catalog.kept import KeptJob, key_text
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.catalog.sums import Damaged
from slicewise.catalog.workers import OneByOne, Workers
from slicewise.errors import UserError


@dataclass(frozen=True)
class Worst:
    """What blame says of the jobs of some time. rows: a row a job that lost time or cost others any: key (as text),
    job, user, program, lost_seconds (to others; null: no loss is told), caused_seconds (that others lost by it; null:
    of nobody beside it a loss is told), confidence (of the larger of the two); who cost others most comes first. asked:
    of how many jobs blame was asked; of: how many had company. unasked: the others, and the most that each of them can
    have lost: key (a number), seconds; the most first. beside: by program and by user, seconds that jobs lost in slices
    in which a job of theirs had a part in it. at_once: all were asked together.
    """

    rows: pl.DataFrame
    asked: int
    of: int
    unasked: pl.DataFrame
    beside: Mapping[Group, Mapping[object, float]]
    at_once: bool = False

    @property
    def most_unasked(self) -> float:
        """No job that was not asked can have lost more seconds."""
        return float(self.unasked["seconds"].max() or 0.0)  # type: ignore[arg-type]

    @property
    def all_unasked(self) -> float:
        """Nor can they all together have lost more seconds."""
        return float(self.unasked["seconds"].sum())


# More jobs than this are asked all at once, if nobody says otherwise.
MOST_ONE_BY_ONE = 200
# Jobs of which blame is asked in one task.
ASKED_AT_ONCE = 8
# The answers of all jobs: what they are kept as, and how often while they are asked.
BLAME = "blame"
KEPT_EVERY_SECONDS = 60.0
WHO = ("job", "user", "program")
ROWS = {
    KEY: pl.String, "job": pl.String, "user": pl.Int64, "program": pl.String, "lost_seconds": pl.Float64,
    "caused_seconds": pl.Float64, "confidence": pl.String,
}  # fmt: skip
# `_Answer`, as it is kept.
KEPT = pl.Schema(
    {KEY: pl.UInt64(), "confidence": pl.String(), "others": pl.List(pl.UInt64()), "seconds": pl.List(pl.Float64())}
    | {"program": pl.List(pl.String()), "program_seconds": pl.List(pl.Float64())}
    | {"user": pl.List(pl.Int64()), "user_seconds": pl.List(pl.Float64())}
)


@dataclass(frozen=True)
class _Answer:
    """What blame says of a job. lost: seconds, by the key of who was there, 0 of who cost none; None where nothing is
    claimed. beside: as of `Worst`.
    """

    key: int
    lost: Sequence[tuple[int | None, float]] | None
    confidence: str
    beside: Mapping[Group, Mapping[object, float]]


def worst(
    catalog: Catalog,
    start_ns: int,
    end_ns: int,
    most_asked: int | None = None,
    workers: Workers | None = None,
    most_seconds: float = inf,
) -> Worst:
    """Ask blame of the jobs that ran between two instants. workers: who asks.

    most_asked: ask one by one those that can have lost most, at most so many; None: so too if they are at most
    MOST_ONE_BY_ONE, and else all at once. most_seconds: after so long no further one is asked one by one. Who was asked
    before is not asked again, and counts.
    """
    hands = workers or OneByOne()
    if most_asked is None:
        ran = catalog.scan("jobs", catalog.batches_between(start_ns, end_ns))
        ran = ran.filter(pl.col("start_ns") <= end_ns, pl.col("end_ns") >= start_ns)
        count = int(ran.select(pl.len()).collect().item())
        if count > MOST_ONE_BY_ONE:
            return all_at_once(catalog, start_ns, end_ns, hands, count)
        most_asked = MOST_ONE_BY_ONE
    answers = Answers(catalog)
    bounds = answers.known(
        f"most-lost-{start_ns}-{end_ns}",
        lambda: most_lost(catalog, catalog.batches_between(start_ns, end_ns), start_ns, end_ns, hands),
    )
    told = _kept(answers)
    keys = [key for key in bounds[KEY].head(most_asked) if key not in told]
    at_once = ASKED_AT_ONCE if most_seconds == inf else 1
    tasks = (
        (catalog.path, keys[at : at + at_once], start_ns, end_ns, len(keys)) for at in range(0, len(keys), at_once)
    )
    began = kept_at = time.monotonic()
    for some in hands.each(_answers, tasks):
        told |= {one.key: one for one in some}
        now = time.monotonic()
        if now - kept_at > KEPT_EVERY_SECONDS:
            _keep(answers, told)
            kept_at = now
        if now - began > most_seconds:
            break
    _around.cache_clear()
    if keys:
        _keep(answers, told)
    asked = [told[key] for key in bounds[KEY] if key in told]
    unasked = bounds.filter(~pl.col(KEY).is_in([one.key for one in asked]))
    return Worst(_rows(catalog, asked), len(asked), bounds.height, unasked, _beside_all(asked))


def all_at_once(catalog: Catalog, start_ns: int, end_ns: int, workers: Workers, count: int) -> Worst:
    """`worst` of all jobs that ran between two instants, asked together. count: how many they are."""
    found = lost_by_all(catalog, start_ns, end_ns, workers)
    who = catalog.scan("jobs").select(KEY, *WHO).join(found.jobs.lazy().select(KEY), on=KEY, how="semi").collect()
    rows = who.join(found.jobs, on=KEY)
    nobody = pl.DataFrame(schema={KEY: pl.UInt64, "seconds": pl.Float64})
    return Worst(_sorted(with_key_text(rows).select(*ROWS)), count, count, nobody, found.beside, at_once=True)


def _sorted(rows: pl.DataFrame) -> pl.DataFrame:
    """Who cost others most first."""
    return _by_cost(rows, KEY)


def _by_cost(rows: pl.DataFrame, then: str) -> pl.DataFrame:
    """In order of what they cost others, of what they lost, and of a column. What is unknown counts as none."""
    caused, lost = (pl.col(name).fill_null(0.0) for name in ("caused_seconds", "lost_seconds"))
    return rows.sort(caused, lost, then, descending=[True, True, False], nulls_last=True)


def _rows(catalog: Catalog, asked: Sequence[_Answer]) -> pl.DataFrame:
    """The rows of `Worst`."""
    losses: dict[int, tuple[float, str]] = {}
    caused: dict[int, list[tuple[float, str]]] = {}
    for one in asked:
        if one.lost is None:
            continue
        lost_to_others = sum(seconds for _, seconds in one.lost)
        if lost_to_others > 0:
            losses[one.key] = (lost_to_others, one.confidence)
        for other, seconds in one.lost:
            if other is not None:
                caused.setdefault(other, []).append((seconds, one.confidence))
    keys = losses.keys() | {key for key, cost in caused.items() if any(seconds for seconds, _ in cost)}
    jobs = catalog.scan("jobs").filter(pl.col(KEY).is_in(list(keys))).select(KEY, *WHO).collect()
    rows = []
    for key, *who in jobs.iter_rows():
        lost, sure = losses.get(key, (None, "unknown"))
        cost = caused.get(key, [])
        total = sum(seconds for seconds, _ in cost)
        confidence = sure if (lost or 0.0) >= total else _of_most(cost)
        rows.append((key_text(key), *who, lost, total if cost else None, confidence))
    return _sorted(pl.DataFrame(rows, schema=ROWS, orient="row"))


def _beside_all(asked: Sequence[_Answer]) -> dict[Group, Mapping[object, float]]:
    found: dict[Group, Counter[object]] = {by: Counter() for by in GROUPS}
    for one in asked:
        for by, seconds_of in one.beside.items():
            found[by].update(seconds_of)
    return dict(found)


def unasked_jobs(catalog: Catalog, found: Worst) -> pl.DataFrame:
    """The jobs that were not asked: key (as text), job, user, program, at_most_seconds (that it can have lost); the
    most first.
    """
    who = catalog.scan("jobs").select(KEY, *WHO).join(found.unasked.lazy().select(KEY), on=KEY, how="semi").collect()
    rows = found.unasked.join(who, on=KEY, how="left", maintain_order="left")
    return with_key_text(rows).select(KEY, *WHO, at_most_seconds="seconds")


def _kept(answers: Answers) -> dict[int, _Answer]:
    """The answers that were given before, by key."""
    rows = answers.read(BLAME)
    found: dict[int, _Answer] = {}
    for row in [] if rows is None else rows.iter_rows(named=True):
        lost = None if row["seconds"] is None else list(zip(row["others"], row["seconds"], strict=True))
        beside = {by: dict(zip(row[by], row[f"{by}_seconds"], strict=True)) for by in GROUPS if row[by]}
        found[row[KEY]] = _Answer(row[KEY], lost, row["confidence"], beside)
    return found


def _keep(answers: Answers, told: Mapping[int, _Answer]) -> None:
    rows = [
        {KEY: one.key, "confidence": one.confidence}
        | (
            {}
            if one.lost is None
            else {"others": [who for who, _ in one.lost], "seconds": [cost for _, cost in one.lost]}
        )
        | {by: list(found) for by, found in one.beside.items()}
        | {f"{by}_seconds": list(found.values()) for by, found in one.beside.items()}
        for one in told.values()
    ]
    answers.keep(BLAME, pl.DataFrame(rows, schema=KEPT, orient="row"))


def head(rows: pl.DataFrame, most: int) -> pl.DataFrame:
    """So many rows of `Worst`, or of `together`, in their order: as a half who lost most, and who cost others most."""
    numbered = rows.with_row_index("at")
    losers = numbered.filter(pl.col("lost_seconds") > 0).sort("lost_seconds", "at", descending=[True, False])
    chosen = pl.concat([losers.head(most // 2), numbered]).unique("at", keep="first", maintain_order=True).head(most)
    return chosen.sort("at").drop("at")


def together(found: Worst, by: Group) -> pl.DataFrame:
    """The rows of `Worst` added up by program or by user, in the same order: program or user, jobs (that lost time or
    cost others any), lost_seconds (null: of none of them a loss is told), caused_seconds, caused_most_seconds (that
    others lost while a job of theirs was there; both null: of nobody there a loss is told), confidence (that most of
    the larger of lost and caused has).

    A slice's loss is shared out among all who were there. Where one of them fills the storage and the others would
    not, it cost nearly all of that, and its part of it is less.
    """
    rows = []
    for (name,), own in found.rows.group_by(by, maintain_order=True):
        lost, caused = (float(own[name].sum()) for name in ("lost_seconds", "caused_seconds"))
        is_told, is_cost_told = (own[name].count() > 0 for name in ("lost_seconds", "caused_seconds"))
        larger = "lost_seconds" if lost >= caused else "caused_seconds"
        sure = _of_most(list(own.select(larger, "confidence").iter_rows()))
        most = max(caused, found.beside[by].get(name, 0.0))
        costs = (caused, most) if is_cost_told or most > 0 else (None, None)
        rows.append((name, own.height, lost if is_told else None, *costs, sure))
    seconds = ("lost_seconds", "caused_seconds", "caused_most_seconds")
    schema = {by: ROWS[by], "jobs": pl.Int64, **dict.fromkeys(seconds, pl.Float64), "confidence": pl.String}
    return _by_cost(pl.DataFrame(rows, schema=schema, orient="row"), by)


def _answers(catalog: Path, keys: Sequence[int], start_ns: int, end_ns: int, count: int) -> list[_Answer]:
    """What blame says of some jobs, in the order of the keys. count: how many are asked about in all."""
    around, rows = _around(catalog, start_ns, end_ns, count, Catalog(catalog).state())
    jobs = {job.key: job for job in around.jobs_of_keys(keys, start_ns, end_ns)}
    return [_answer(around, rows, jobs[key]) for key in keys if key in jobs]


@lru_cache(maxsize=1)
def _around(catalog: Path, start_ns: int, end_ns: int, count: int, _: object) -> tuple[Around, Rows]:
    """`around_jobs`, read once by each worker while the catalog stays as it is."""
    return around_jobs(Catalog(catalog), start_ns, end_ns, count)


def _answer(around: Around, rows: Rows, job: KeptJob) -> _Answer:
    result, neighbours = _asked(around, rows, job)
    if result is None or result.lost is None or not result.is_claimed:
        return _Answer(job.key, None, "unknown", {})
    lost = [
        (None if one.job is None else neighbours[one.job].key, max(0.0, one.lost.value)) for one in result.neighbours
    ]
    return _Answer(job.key, lost, result.confidence, _beside(result, neighbours))


def _beside(result: Blame, neighbours: Mapping[str, KeptJob]) -> dict[Group, dict[object, float]]:
    """What the job lost in slices in which neighbours of a program, or of a user, had a part in its loss."""
    parts = result.shares.filter(pl.col("lost_seconds") != 0)
    io_seconds = float(parts["lost_seconds"].sum())
    if io_seconds <= 0:
        return {}
    to_runtime = sum(one.lost.value for one in result.neighbours) / io_seconds
    whole = parts.with_columns(whole=pl.col("lost_seconds").sum().over("storage", "slice") * to_runtime)
    found: dict[Group, dict[object, float]] = {}
    for by in GROUPS:
        who = pl.DataFrame(
            [(name, other.row[by]) for name, other in neighbours.items()],
            schema={"neighbour": pl.String, by: ROWS[by]},
            orient="row",
        )
        once = whole.join(who, on="neighbour", maintain_order="left").unique(
            [by, "storage", "slice"], maintain_order=True
        )
        found[by] = dict(once.group_by(by, maintain_order=True).agg(pl.col("whole").sum()).iter_rows())
    return found


def most_lost(
    catalog: Catalog, batches: Sequence[Batch], start_ns: int, end_ns: int, workers: Workers | None = None
) -> pl.DataFrame:
    """The most that each job can have lost between two instants: key, seconds; the largest first, none without company.

    A slice counts as a whole for a job that was in calls in it while another job was, or for as long as its calls took.
    workers: who does it, day by day.
    """
    hands = workers or OneByOne()
    spans = spans_of(batches, start_ns, end_ns)
    longest = max(hands.each(_longest, ((catalog.path, span) for span in spans)), default=0)
    grid_ns = max(longest, LEAST_GRID_NS)
    found = list(hands.each(_most_lost_in, ((catalog.path, span, grid_ns) for span in spans)))
    if not found:
        return pl.DataFrame(schema={KEY: pl.UInt64, "seconds": pl.Float64})
    together = pl.concat(found).group_by(KEY).agg(seconds=pl.col("ns").sum() / 1e9)
    return together.sort("seconds", KEY, descending=[True, False])


def _longest(catalog: Path, span: Span) -> int:
    """How long the longest slice in a span is."""
    length = (pl.col("end_ns") - pl.col("begin_ns")).max()
    return span.rows(catalog, pl.col("begin_ns")).select(length).collect().item() or 0


def _most_lost_in(catalog: Path, span: Span, grid_ns: int) -> pl.DataFrame:
    """The most that each job can have lost in a span: key, ns."""
    begin = pl.col("begin_ns") // grid_ns * grid_ns  # a place on the grid is in one span as a whole
    rows = span.rows(catalog, begin).select(KEY, "storage", "begin_ns", ns=pl.sum_horizontal(NS)).collect()
    placed = on_grid(rows, grid_ns).group_by(KEY, "storage", "at").agg(pl.col("ns").sum())
    together = placed.filter(pl.len().over("storage", "at") > 1)
    in_slice = together.group_by(KEY, "at").agg(ns=pl.col("ns").sum().clip(0, grid_ns))
    return in_slice.group_by(KEY).agg(pl.col("ns").sum())


NS = ("read_ns", "write_ns", "meta_ns", "sync_ns", "read_request_ns", "write_request_ns")


def with_slowdown(catalog: Catalog, jobs: pl.DataFrame) -> pl.DataFrame:
    """The frame of `list_jobs` with slowdown (null: unknown) and confidence, by blame."""
    if jobs.is_empty():
        return jobs.with_columns(slowdown=pl.lit(None, pl.Float64), confidence=pl.lit("unknown"))
    keys = [int(key, 16) for key in jobs[KEY]]
    start_ns, end_ns = int(jobs["start_ns"].min()), int(jobs["end_ns"].max())  # type: ignore[arg-type]
    around, rows = around_jobs(catalog, start_ns, end_ns, len(keys))
    told = {key_text(job.key): _asked(around, rows, job)[0] for job in around.jobs_of_keys(keys, start_ns, end_ns)}
    slowdowns = [one.slowdown if one is not None else None for one in (told.get(key) for key in jobs[KEY])]
    sure = [one.confidence if one is not None else "unknown" for one in (told.get(key) for key in jobs[KEY])]
    return jobs.with_columns(pl.Series("slowdown", slowdowns, pl.Float64), pl.Series("confidence", sure, pl.String))


def _asked(around: Around, rows: Rows, job: KeptJob) -> tuple[Blame | None, dict[str, KeptJob]]:
    """What blame says of a job, and its neighbours by their names there. None where it cannot be asked."""
    case, neighbours = kept_case(around.catalog, job, around=around)
    try:
        return case.losses(rows), neighbours
    except Damaged:
        raise
    except UserError:  # slices that fit no common grid
        return None, neighbours


def _of_most(parts: Sequence[tuple[float | None, str]]) -> str:
    """The confidence that most of the seconds have."""
    by_confidence = {name: sum(seconds or 0.0 for seconds, other in parts if other == name) for name in CONFIDENCES}
    return max(by_confidence, key=lambda name: by_confidence[name])
