"""Which jobs of a catalog are standalone runs of others: for many jobs at once what `beside.Around.quiet_runs` says of
each.

A catalog in, a frame out.
"""

from collections.abc import Sequence

import polars as pl

from slicewise.catalog.beside import MOVED, PLACES, RUNS, Company, with_company
from slicewise.catalog.clients import IS_PROFILED
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog, day_of
from slicewise.constants import DAY_NS
from slicewise.digest.company import runs_like

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
