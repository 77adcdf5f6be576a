"""Who lost most time to others, and who cost others most: `blame` over the jobs of a catalog. All jobs of a day are
first looked at together: most had company and yet nothing to tell by, and are not asked (at_once.py). A job loses at
most the time in which others used its storages while it was in calls there: where few are asked, those come first that
can have lost most.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from pathlib import Path
from typing import Literal

import polars as pl

from slicewise.analysis.blame.case import kept_case
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.calls import Rows
from slicewise.analysis.site.at_once import RECORDS_AT_ONCE, NeighbourhoodOfMany, neighbourhood_of_jobs
from slicewise.analysis.site.jobs import with_key_text
from slicewise.catalog.answers import Answers
from slicewise.catalog.clients import IS_PROFILED
from slicewise.catalog.kept import KeptJob, key_text
from slicewise.catalog.neighbours import MOVED, PLACES, RUNS, Company, Neighbourhood, with_company
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog, day_of
from slicewise.catalog.sums import Damaged
from slicewise.constants import DAY_NS
from slicewise.contract import seconds_allowed
from slicewise.digest.company import runs_like
from slicewise.errors import UserError
from slicewise.kinds import CONFIDENCES

# A job's first slice began before it, and on a grid of longer slices it begins earlier still.
MARGIN_NS = 2 * int(seconds_allowed("SLICEWISE_SLICE")[1] * 1e9)
# Rows of `runs_alone`: a job, a run that it is compared with, and when that began.
SCHEMA = {KEY: pl.UInt64, "run": pl.UInt64, "start_ns": pl.Int64}


def runs_alone(catalog: Catalog, batches: Sequence[Batch], asked: Sequence[pl.Expr] = ()) -> pl.DataFrame:
    """The standalone runs of each job of some batches that had company, wherever the catalog has them: SCHEMA, of
    each job in the order in which they count. asked: which jobs. Jobs that servers alone know have no time that could
    be lost or compared.
    """
    own = catalog.scan("jobs", batches).filter(IS_PROFILED, *asked).select(*RUNS, "program", "slice_ns").collect()
    runs = _quiet(catalog, own["program"].unique())
    own = own.filter(pl.col("program").is_in(runs["program"].unique().implode()))
    if own.is_empty():
        return pl.DataFrame(schema=SCHEMA)
    own = own.join(with_company(catalog, batches), on=KEY, how="semi", maintain_order="left")
    moved = catalog.scan("storages").filter(MOVED).select(PLACES)
    keys = pl.concat([own[KEY], runs[KEY]]).unique().to_frame()
    places = moved.join(keys.lazy(), on=KEY, how="semi").group_by(KEY).agg("storage").collect()
    storages = {key: frozenset(some) for key, some in places.iter_rows()}
    by_program = {str(name): some for (name,), some in runs.partition_by("program", as_dict=True).items()}
    where = {name: [storages.get(key, frozenset()) for key in some[KEY]] for name, some in by_program.items()}
    found = []
    for job in own.iter_rows(named=True):
        its, program = storages.get(job[KEY], frozenset()), job["program"]
        shared = pl.Series("shared", [len(its & one) for one in where[program]], pl.Int64)
        others = by_program[program].with_columns(shared).filter(pl.col(KEY) != job[KEY])
        found += [(job[KEY], run[KEY], run["start_ns"]) for run in runs_like(job, others.iter_rows(named=True))]
    return pl.DataFrame(found, schema=SCHEMA, orient="row")


def _quiet(catalog: Catalog, programs: pl.Series) -> pl.DataFrame:
    """All runs of some programs that have ended and had no company, in order of their start: RUNS, program."""
    ended = catalog.scan("jobs").filter(IS_PROFILED, ~pl.col("is_running"), pl.col("program").is_in(programs.implode()))
    runs = ended.select(*RUNS, "program").sort("start_ns", KEY).collect()
    company = Company(catalog)
    days = (runs["start_ns"] // DAY_NS).unique()
    loud = {key for day in days for key in company.not_quiet(day_of(day * DAY_NS))}
    return runs.filter(~pl.col(KEY).is_in(pl.Series(list(loud), dtype=pl.UInt64).implode()))


# What jobs are added up by.
Group = Literal["program", "user"]
GROUPS: tuple[Group, ...] = ("program", "user")


@dataclass(frozen=True)
class Worst:
    """What blame says of the jobs of some time. rows: a row a job that lost time or cost others any: key (as text),
    job, user, program, lost_seconds (to others; null: no loss is told), caused_seconds (that others lost by it; null:
    of nobody beside it a loss is told), confidence (of the larger of the two); who cost others most comes first. asked:
    of how many jobs it is known what blame says; of: how many had company. unasked: the others, and the most that each
    of them can have lost: key (a number), seconds; the most first. beside: by program and by user, seconds that jobs
    lost in slices in which a job of theirs had a part in it.
    """

    rows: pl.DataFrame
    asked: int
    of: int
    unasked: pl.DataFrame
    beside: Mapping[Group, Mapping[object, float]]

    @property
    def most_unasked(self) -> float:
        """No job that was not asked can have lost more seconds."""
        return float(self.unasked["seconds"].max() or 0.0)  # type: ignore[arg-type]

    @property
    def all_unasked(self) -> float:
        """Nor can they all together have lost more seconds."""
        return float(self.unasked["seconds"].sum())


# How often answers are kept while a day's jobs are asked.
KEPT_EVERY_SECONDS = 60.0
WHO = ("job", "user", "program")
ROWS = {
    KEY: pl.String, "job": pl.String, "user": pl.Int64, "program": pl.String, "lost_seconds": pl.Float64,
    "caused_seconds": pl.Float64, "confidence": pl.String,
}  # fmt: skip
# What is kept of each job of a day that had company: when it ran, the most that it can have lost, and `_Answer`.
# confidence: null until blame is asked of it.
KEPT = pl.Schema(
    {KEY: pl.UInt64(), "start_ns": pl.Int64(), "end_ns": pl.Int64(), "at_most_seconds": pl.Float64()}
    | {"confidence": pl.String(), "others": pl.List(pl.UInt64()), "seconds": pl.List(pl.Float64())}
    | {"program": pl.List(pl.String()), "program_seconds": pl.List(pl.Float64())}
    | {"user": pl.List(pl.Int64()), "user_seconds": pl.List(pl.Float64())}
)
TOLD = ("confidence", "others", "seconds", *(f"{by}{what}" for by in GROUPS for what in ("", "_seconds")))


@dataclass(frozen=True)
class _Answer:
    """What blame says of a job. lost: seconds by key, 0 of who cost none; None: no claim. beside: as of `Worst`."""

    key: int
    lost: Sequence[tuple[int | None, float]] | None
    confidence: str
    beside: Mapping[Group, Mapping[object, float]]


class _Day:
    """The jobs that began on a day. Blame of them is kept while jobs beside them and standalone runs stay the same."""

    def __init__(self, catalog: Catalog, day_ns: int) -> None:
        self._catalog, self._begin_ns = catalog, day_ns
        is_of_day = pl.col("start_ns").is_between(day_ns, day_ns + DAY_NS, closed="left")
        its = catalog.scan("jobs", catalog.batches_between(day_ns, day_ns + DAY_NS)).filter(is_of_day)
        self._last_ns = int(its.select(pl.col("end_ns").max()).collect().item() or day_ns)
        self._batches = catalog.batches_between(day_ns - MARGIN_NS, self._last_ns + MARGIN_NS)
        self._runs = runs_alone(catalog, self._batches, (is_of_day,))
        its_runs = self._runs.select(KEY, "run").to_numpy().tobytes()
        self._answers, self._name = Answers(catalog, self._batches, its_runs), f"blame-{day_ns}"

    @cached_property
    def neighbourhood(self) -> NeighbourhoodOfMany:
        return NeighbourhoodOfMany(
            self._catalog, self._batches, self._begin_ns - MARGIN_NS, self._last_ns + MARGIN_NS, self._runs
        )

    def known(self) -> pl.DataFrame:
        """KEPT, of each job that had company."""
        return self._answers.known(self._name, self._company)

    def keep(self, known: pl.DataFrame) -> None:
        self._answers.keep(self._name, known)

    def _company(self) -> pl.DataFrame:
        jobs = self.neighbourhood.jobs_with_company([day_of(self._begin_ns)])
        return pl.concat([KEPT.to_frame(), jobs], how="diagonal")

    def asked(self, keys: Sequence[int]) -> Iterator[list[_Answer]]:
        some, records = list[int](), 0
        for key in keys:
            some.append(key)
            records += self.neighbourhood.records(key)
            if records >= RECORDS_AT_ONCE:
                yield self._asked_together(some)
                some, records = [], 0
        yield self._asked_together(some)

    def _asked_together(self, keys: Sequence[int]) -> list[_Answer]:
        self.neighbourhood.expect(keys)
        return [_answer(self.neighbourhood, self.neighbourhood, self.neighbourhood.job(key)) for key in keys]


@lru_cache(maxsize=1)
def _day(catalog: Path, day_ns: int, _: object) -> _Day:
    """A day, read once while the catalog stays as it is."""
    return _Day(Catalog(catalog), day_ns)


def worst(
    catalog: Catalog,
    start_ns: int,
    end_ns: int,
    most_asked: int | None = None,
    most_seconds: float = inf,
) -> Worst:
    """Ask blame of the jobs that ran between two instants. most_asked: only those that can have lost most, at most so
    many; None: all. most_seconds: after so long no further one is asked, where not all are. Who was asked before is not
    asked again, and counts.
    """
    ran = (pl.col("start_ns") <= end_ns, pl.col("end_ns") >= start_ns)
    began = catalog.scan("jobs", catalog.batches_between(start_ns, end_ns)).filter(ran)
    days = began.select((pl.col("start_ns") // DAY_NS * DAY_NS).unique().sort()).collect().to_series().to_list()
    found = [_known(catalog.path, day, most_asked is None) for day in days]
    known = pl.concat([KEPT.to_frame().with_columns(day=pl.lit(0, pl.Int64)), *found]).filter(ran)
    known = known.sort("at_most_seconds", KEY, descending=[True, False])
    if most_asked is not None:
        known = _ask_most(catalog, known, most_asked, most_seconds)
    _day.cache_clear()
    asked = known.filter(pl.col("confidence").is_not_null())
    told = []
    beside: dict[Group, Counter[object]] = {by: Counter() for by in GROUPS}
    for row in asked.filter(pl.col("others").is_not_null()).iter_rows(named=True):
        told.append((row[KEY], row["confidence"], list(zip(row["others"], row["seconds"], strict=True))))
        for by in GROUPS:
            beside[by].update(dict(zip(row[by] or (), row[f"{by}_seconds"] or (), strict=True)))
    unasked = known.filter(pl.col("confidence").is_null()).select(KEY, seconds="at_most_seconds")
    return Worst(_rows(catalog, told), asked.height, known.height, unasked, beside)


def _known(catalog: Path, day_ns: int, asks_all: bool) -> pl.DataFrame:
    """KEPT of a day, with the day. asks_all: blame is asked of all of whom it may tell anything."""
    day = _day(catalog, day_ns, Catalog(catalog).state())
    known = day.known()
    keys = known.filter(pl.col("confidence").is_null()).sort("at_most_seconds", descending=True)[KEY].to_list()
    if asks_all and keys:
        kept_at = time.monotonic()
        for some in day.asked(keys):
            known = _with(known, some)
            if time.monotonic() - kept_at > KEPT_EVERY_SECONDS:
                day.keep(known)
                kept_at = time.monotonic()
        day.keep(known)
    return known.with_columns(day=pl.lit(day_ns, pl.Int64))


def _ask_most(catalog: Catalog, known: pl.DataFrame, most_asked: int, most_seconds: float) -> pl.DataFrame:
    """The rows of KEPT, with blame asked of the first ones. most_asked, most_seconds: as of `worst`."""
    asks = known.head(most_asked).filter(pl.col("confidence").is_null()).select("day", KEY)
    if most_seconds == inf:
        asks = asks.sort("day", maintain_order=True)
    is_one_day = asks["day"].n_unique() == 1 or most_seconds == inf
    began = time.monotonic()
    told: list[_Answer] = []
    for day_ns, key in asks.iter_rows():
        told.append(_answer_alone(catalog.path, day_ns, key, is_one_day))
        if time.monotonic() - began > most_seconds:
            break
    known = _with(known, told)
    for (day_ns,), some in asks.head(len(told)).group_by("day"):
        day = _day(catalog.path, day_ns, catalog.state())
        day.keep(_with(day.known(), [one for one in told if one.key in set(some[KEY])]))
    return known


def _answer_alone(catalog: Path, day_ns: int, key: int, is_one_day: bool) -> _Answer:
    """What blame says of a job. is_one_day: others of that day are asked about, too."""
    opened = Catalog(catalog)
    if is_one_day:
        day = _day(catalog, day_ns, opened.state())
        return _answer(day.neighbourhood, day.neighbourhood, day.neighbourhood.job(key))
    around = Neighbourhood(opened)
    (job,) = around.jobs_of_keys([key], day_ns, day_ns + DAY_NS)
    return _answer(around, Rows(), job)


def _with(known: pl.DataFrame, told: Sequence[_Answer]) -> pl.DataFrame:
    """Rows of KEPT with what blame said of some."""
    rows = [
        {KEY: one.key, "confidence": one.confidence}
        | (
            {}
            if one.lost is None
            else {"others": [who for who, _ in one.lost], "seconds": [cost for _, cost in one.lost]}
        )
        | {by: list(found) for by, found in one.beside.items()}
        | {f"{by}_seconds": list(found.values()) for by, found in one.beside.items()}
        for one in told
    ]
    answers = pl.DataFrame(rows, schema={name: KEPT[name] for name in (KEY, *TOLD)}, orient="row")
    return known.update(answers, on=KEY)


def _by_cost(rows: pl.DataFrame, then: str) -> pl.DataFrame:
    """In order of what they cost others, of what they lost, and of a column. What is unknown counts as none."""
    caused, lost = (pl.col(name).fill_null(0.0) for name in ("caused_seconds", "lost_seconds"))
    return rows.sort(caused, lost, then, descending=[True, True, False], nulls_last=True)


def _rows(catalog: Catalog, told: Sequence[tuple[int, str, Sequence[tuple[int | None, float]]]]) -> pl.DataFrame:
    """`rows` of `Worst`. told: of each job its key, the confidence, and what it lost to whom."""
    losses: dict[int, tuple[float, str]] = {}
    caused: dict[int, list[tuple[float, str]]] = {}
    for key, confidence, lost_to in told:
        lost_to_others = sum(seconds for _, seconds in lost_to)
        if lost_to_others > 0:
            losses[key] = (lost_to_others, confidence)
        for other, seconds in lost_to:
            if other is not None:
                caused.setdefault(other, []).append((seconds, confidence))
    keys = losses.keys() | {key for key, cost in caused.items() if any(seconds for seconds, _ in cost)}
    jobs = catalog.scan("jobs").filter(pl.col(KEY).is_in(list(keys))).select(KEY, *WHO).collect()
    rows = []
    for key, *who in jobs.iter_rows():
        lost, sure = losses.get(key, (None, "unknown"))
        cost = caused.get(key, [])
        total = sum(seconds for seconds, _ in cost)
        confidence = sure if (lost or 0.0) >= total else _of_most(cost)
        rows.append((key_text(key), *who, lost, total if cost else None, confidence))
    return _by_cost(pl.DataFrame(rows, schema=ROWS, orient="row"), KEY)


def unasked_jobs(catalog: Catalog, found: Worst) -> pl.DataFrame:
    """The jobs that were not asked, the most first: key (as text), job, user, program, at_most_seconds."""
    who = catalog.scan("jobs").select(KEY, *WHO).join(found.unasked.lazy().select(KEY), on=KEY, how="semi").collect()
    rows = found.unasked.join(who, on=KEY, how="left", maintain_order="left")
    return with_key_text(rows).select(KEY, *WHO, at_most_seconds="seconds")


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
    the larger of lost and caused has). A slice's loss is shared out among all who were there. Where one of them fills
    the storage and the others would not, it cost nearly all of that, and its part of it is less.
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


def _answer(around: Neighbourhood, rows: Rows, job: KeptJob) -> _Answer:
    result, neighbours = _asked(around, rows, job)
    if result is None or result.lost is None or not result.is_claimed:
        return _Answer(job.key, None, "unknown", {})
    keys = {name: other.key for name, other in neighbours.items()}
    # What is left of a node's traffic is no job of the catalog.
    lost = [(keys.get(one.job or ""), max(0.0, one.lost.value)) for one in result.neighbours]
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


def with_slowdown(catalog: Catalog, jobs: pl.DataFrame) -> pl.DataFrame:
    """The frame of `list_jobs` with slowdown (null: unknown) and confidence, by blame."""
    if jobs.is_empty():
        return jobs.with_columns(slowdown=pl.lit(None, pl.Float64), confidence=pl.lit("unknown"))
    keys = [int(key, 16) for key in jobs[KEY]]
    start_ns, end_ns = int(jobs["start_ns"].min()), int(jobs["end_ns"].max())  # type: ignore[arg-type]
    around, rows = neighbourhood_of_jobs(catalog, start_ns, end_ns, len(keys))
    told = {key_text(job.key): _asked(around, rows, job)[0] for job in around.jobs_of_keys(keys, start_ns, end_ns)}
    found = [(one.slowdown, one.confidence) if (one := told.get(key)) else (None, "unknown") for key in jobs[KEY]]
    return jobs.hstack(pl.DataFrame(found, {"slowdown": pl.Float64, "confidence": pl.String}, orient="row"))


def _asked(around: Neighbourhood, rows: Rows, job: KeptJob) -> tuple[Blame | None, dict[str, KeptJob]]:
    """What blame says of a job, and its neighbours by their names there. None where it cannot be asked."""
    case, neighbours = kept_case(around.catalog, job, around=around)
    try:
        return case.losses(rows), neighbours
    except Damaged:
        raise
    except UserError:  # slices that fit no common grid
        return None, neighbours


def _of_most(parts: Sequence[tuple[float | None, str]]) -> str:
    by_confidence = {name: sum(seconds or 0.0 for seconds, other in parts if other == name) for name in CONFIDENCES}
    return max(by_confidence, key=lambda name: by_confidence[name])
