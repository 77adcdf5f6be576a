"""What a catalog has beside a job: who used its storages while it did, and quiet runs of its program.

A catalog in; frames, or jobs of the catalog, out. Two jobs were together on a storage where both made calls on it at
one time; who had company is `digest.company`'s rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from slicewise.catalog.answers import Answers
from slicewise.catalog.clients import at_work, beside_served, clients, served_jobs
from slicewise.catalog.kept import FrameCache, KeptJob, jobs_of_keys
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog, day_of
from slicewise.constants import SECOND_NS
from slicewise.digest.company import company_of, in_company, later_copies, runs_like, while_alive, without_overlaps
from slicewise.digest.node_use import NO_PROCESSES
from slicewise.digest.processes import DIRECTIONS
from slicewise.digest.sampled import on_storages
from slicewise.scalars import whole

AMOUNTS = ("read_bytes", "write_bytes", "meta_ops")
DID = (f"{way}_{what}" for way in DIRECTIONS for what in ("bytes", "ops"))
RUNS = (KEY, "start_ns", "end_ns", "command", "processes", *DID)
PLACES = (KEY, "storage")
MOVED = pl.sum_horizontal("read_bytes", "write_bytes") > 0
# The finest grid that jobs are laid on, so that rows stay few.
LEAST_GRID_NS = SECOND_NS


def partners(catalog: Catalog, kept: KeptJob, with_own_node: bool = True) -> pl.DataFrame:
    """The jobs that used a storage while a job did, those who moved most there first: key (a number), storage, seconds
    (in which both did), start_ns, end_ns (of these), and what the other did in them: read_bytes, write_bytes, meta_ops.
    with_own_node: also the client that was the job's node, and others while they were idle.
    """
    begin_ns, end_ns = kept.times
    slice_ns = whole(kept.row["slice_ns"])
    # Read at once, for its own rows lie among the others'. A clock that was set may have moved the first and last one.
    batches = catalog.batches_between(begin_ns - slice_ns, end_ns + slice_ns)
    rows = rows_of_slices(catalog, batches, with_own_node)
    near = rows.filter(pl.col("begin_ns") <= end_ns + slice_ns, pl.col("end_ns") >= begin_ns - slice_ns)
    return partners_among(near.collect(), kept.key)


def rows_of_slices(catalog: Catalog, batches: Sequence[Batch], with_own_nodes: bool = True) -> pl.LazyFrame:
    """What jobs did in slices, and when they lived: key, storage, begin_ns, end_ns, AMOUNTS, start_ns, ended_ns. Calls
    did it, and of processes that no library profiled the kernel.
    """
    lived = catalog.scan("jobs", batches).select(KEY, "start_ns", ended_ns="end_ns")
    rows = catalog.scan("job_slices", batches)
    rows = rows if with_own_nodes else at_work(catalog, batches, rows)
    of_calls = rows.select(KEY, "storage", "begin_ns", "end_ns", *AMOUNTS)
    return pl.concat([of_calls, _sampled(catalog, batches)]).join(lived, on=KEY)


def _sampled(catalog: Catalog, batches: Sequence[Batch]) -> pl.LazyFrame:
    """What processes did that no library profiled, where it is known on which storage: as of calls."""
    lengths = catalog.scan("jobs", batches).select(KEY, node_ns="node_slice_ns")
    slices, storages = (catalog.scan(name, batches) for name in ("sampled_slices", "sampled_storages"))
    rows = on_storages(slices, storages, (KEY,)).join(lengths, on=KEY)
    begin_ns = pl.col("slice") * pl.col("node_ns")
    sums = rows.group_by(KEY, "storage", begin_ns=begin_ns, end_ns=begin_ns + pl.col("node_ns"))
    return sums.agg(pl.col("read_bytes", "write_bytes").sum(), meta_ops=pl.lit(0, pl.Int64))


def keys_of_sampled(catalog: Catalog, batches: Sequence[Batch]) -> pl.Series:
    """The keys of the jobs with processes that no library profiled, where it is known on which storage."""
    return catalog.scan("sampled_storages", batches).select(pl.col(KEY).unique().sort()).collect()[KEY]


def partners_among(rows: pl.DataFrame, key: int) -> pl.DataFrame:
    """`partners` of a job among all `rows_of_slices` of its time."""
    own = rows.filter(pl.col(KEY) == key)
    others = rows.filter(
        pl.col("begin_ns") < own["end_ns"].max(),
        pl.col("end_ns") > own["begin_ns"].min(),
        pl.col("storage").is_in(own["storage"].unique().implode()),
        pl.col(KEY) != key,
    )
    alive = [while_alive(some).rename({KEY: "job"}) for some in (own, others)]
    others = others.filter(pl.col(KEY).is_in(company_of(*alive).implode()))
    if others.is_empty():
        return nobody()
    grid_ns = grid_of(own, others)
    mine = on_grid(own, grid_ns).select("storage", "at").unique()
    return (
        on_grid(others, grid_ns)
        .join(mine, on=["storage", "at"], how="semi")
        .group_by(KEY, "storage")
        .agg(
            seconds=pl.col("at").n_unique().cast(pl.Int64) * grid_ns / 1e9,
            start_ns=pl.col("at").min() * grid_ns,
            end_ns=(pl.col("at").max() + 1) * grid_ns,
            **{name: pl.col(name).sum() for name in AMOUNTS},
        )
        .sort(pl.sum_horizontal("read_bytes", "write_bytes"), KEY, "storage", descending=[True, False, False])
    )


def at_once(catalog: Catalog, kept: KeptJob) -> pl.DataFrame:
    """`node_use` of the jobs that ran while a job did."""
    begin_ns, end_ns = kept.times
    batches = catalog.batches_between(begin_ns, end_ns)
    names = catalog.scan("jobs", batches).select(KEY, "job")
    lived = pl.col("start_ns") < end_ns, pl.col("end_ns") > begin_ns, pl.col(KEY) != kept.key
    processes = catalog.scan("processes", batches).filter(*lived).select(KEY, "process", "node", "start_ns", "end_ns")
    took = catalog.scan("usage", batches).select(
        KEY, "process", "peak_bytes", processor_ns=pl.col("user_ns") + pl.col("system_ns")
    )
    found = processes.join(took, on=[KEY, "process"]).join(names, on=KEY)
    return found.select(pl.col(name).cast(kind) for name, kind in NO_PROCESSES.schema.items()).collect()


def copies_in(catalog: Catalog, batches: Sequence[Batch]) -> pl.DataFrame:
    """The jobs that are `later_copies` of others: their keys."""
    jobs = catalog.scan("jobs", batches).select(KEY).with_row_index("place")
    twice = catalog.scan("processes", batches).select(KEY, "process").filter(pl.col("process").is_duplicated())
    return later_copies(twice.join(jobs, on=KEY).rename({KEY: "job"}).collect()).rename(KEY).to_frame()


def with_company(catalog: Catalog, batches: Sequence[Batch], rows: pl.LazyFrame | None = None) -> pl.DataFrame:
    """The keys of those of the jobs in some batches that had company. rows: some of their `rows_of_slices`; None: all.

    A job or client that file servers alone know is company of a profiled job if it did more than next to nothing and is
    not a node of the job; nobody is company of a client.
    """
    looked_at = rows_of_slices(catalog, batches) if rows is None else rows
    served, sampled = served_jobs(catalog, batches), keys_of_sampled(catalog, batches)
    found = [_in_company(looked_at.join(served.lazy(), on=KEY, how="anti"), sampled)]
    if not served.is_empty():
        known = clients(catalog, batches).lazy()
        of_all = _in_company(looked_at.join(known, on=KEY, how="anti"), sampled)
        found += [of_all.join(served, on=KEY, how="semi"), beside_served(catalog, batches)]
    return pl.concat(found).unique()


def _in_company(rows: pl.LazyFrame, sampled: pl.Series) -> pl.DataFrame:
    """sampled: the keys of jobs of which rows may overlap."""
    alive = while_alive(rows).select(pl.col(KEY).alias("job"), "storage", "begin_ns", "end_ns").collect()
    if len(sampled):
        may_overlap = pl.col("job").is_in(sampled.implode())
        alive = pl.concat([alive.filter(~may_overlap), without_overlaps(alive.filter(may_overlap))])
    return in_company(alive).rename(KEY).to_frame()


class Company:
    """Which jobs of a catalog had company, by `digest.company.in_company`. All jobs that began on one day are looked at
    together, and the answer is kept."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[str, frozenset[int]] = {}

    def is_quiet(self, key: int, start_ns: int) -> bool:
        """Whether a job had no company. A copy of an earlier job is no run of its own."""
        return key not in self.not_quiet(day_of(start_ns))

    def not_quiet(self, day: str) -> frozenset[int]:
        """The jobs that began on a day and are no quiet runs."""
        if day not in self._known:
            own = self._catalog.batches([day])
            begin_ns = min((batch.start_ns for batch in own), default=0)
            end_ns = max((batch.end_ns for batch in own), default=0)
            near = self._catalog.batches_between(begin_ns, end_ns) if own else []

            def find() -> pl.DataFrame:
                twice = copies_in(self._catalog, near)
                rows = rows_of_slices(self._catalog, near).filter(
                    pl.col("begin_ns") < end_ns, pl.col("end_ns") > begin_ns
                )
                rows = rows.join(twice.lazy(), on=KEY, how="anti")
                loud = pl.concat([with_company(self._catalog, near, rows), twice])
                return self._catalog.scan("jobs", own).select(KEY).join(loud.lazy(), on=KEY, how="semi").collect()

            self._known[day] = frozenset(Answers(self._catalog, near).known(f"company-{day}", find)[KEY])
        return self._known[day]


class Neighbourhood:
    """Who and what a catalog has around a job. Its files are asked each time."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._company = Company(catalog)

    def partners(self, kept: KeptJob) -> pl.DataFrame:
        return partners(self.catalog, kept)

    def jobs_of_keys(self, keys: Sequence[int], start_ns: int, end_ns: int) -> list[KeptJob]:
        """The jobs with these keys, all of which ran at some time between two instants."""
        return jobs_of_keys(self.catalog, keys, start_ns, end_ns)

    def runs_of(self, program: str) -> pl.DataFrame:
        """All runs of a program in the catalog that have ended, in order of their start: RUNS."""
        is_run = (pl.col("program") == program) & ~pl.col("is_running")
        return self.catalog.scan("jobs").filter(is_run).select(RUNS).sort("start_ns", KEY).collect()

    def storages_of(self, program: str) -> pl.DataFrame:
        """Where the runs of a program moved bytes: key, storage."""
        keys = self.runs_of(program)[KEY]
        return self.catalog.scan("storages").filter(MOVED, pl.col(KEY).is_in(keys.implode())).select(PLACES).collect()

    def cache(self, job: KeptJob, neighbours: Sequence[KeptJob], quiet: Sequence[KeptJob]) -> FrameCache:
        return FrameCache(self.catalog, [job, *neighbours, *quiet])

    def neighbours_of(self, kept: KeptJob) -> list[KeptJob]:
        keys = self.partners(kept)[KEY].unique(maintain_order=True).to_list()
        by_key = {job.key: job for job in self.jobs_of_keys(keys, *kept.times)}
        return [by_key[key] for key in keys if key in by_key]

    def quiet_runs(self, kept: KeptJob) -> list[KeptJob]:
        """Runs of its program that did the same kind of work and had no company, of its size and of others: MOST_RUNS
        each."""
        return self.runs_like_it(kept, had_company=False)

    def runs_like_it(self, kept: KeptJob, had_company: bool) -> list[KeptJob]:
        """The same of runs that had company, or had none."""
        program = str(kept.row["program"])
        own = self.catalog.scan("storages", [kept.batch]).filter(MOVED, pl.col(KEY) == kept.key).select("storage")
        places = self.storages_of(program).filter(pl.col("storage").is_in(own.collect()["storage"].implode()))
        shared = places.group_by(KEY).agg(shared=pl.col("storage").n_unique().cast(pl.Int64))
        runs = self.runs_of(program).filter(pl.col(KEY) != kept.key)
        runs = runs.join(shared, on=KEY, how="left", maintain_order="left").with_columns(pl.col("shared").fill_null(0))
        company = self._company

        def counts(run: Mapping[str, Any]) -> bool:
            return company.is_quiet(run[KEY], run["start_ns"]) != had_company

        return self._runs(runs_like(kept.row, runs.iter_rows(named=True), counts))

    def _runs(self, rows: Sequence[Mapping[str, Any]]) -> list[KeptJob]:
        if not rows:
            return []
        starts = [row["start_ns"] for row in rows]
        by_key = {job.key: job for job in self.jobs_of_keys([row[KEY] for row in rows], min(starts), max(starts))}
        return [by_key[row[KEY]] for row in rows]


def grid_of(*frames: pl.DataFrame) -> int:
    """The longest slice of all: what both did in it counts as at one time."""
    longest = max(int((frame["end_ns"] - frame["begin_ns"]).max()) for frame in frames)  # type: ignore[arg-type]
    return max(longest, LEAST_GRID_NS)


def on_grid(frame: pl.DataFrame, grid_ns: int) -> pl.DataFrame:
    return frame.with_columns(at=pl.col("begin_ns") // grid_ns)


def nobody() -> pl.DataFrame:
    """The frame of `partners` without a row."""
    numbers = ("start_ns", "end_ns", *AMOUNTS)
    schema = {KEY: pl.UInt64, "storage": pl.UInt64, "seconds": pl.Float64} | dict.fromkeys(numbers, pl.Int64)
    return pl.DataFrame(schema=schema)
