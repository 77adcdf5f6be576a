"""A simulated month of a site, one program of which takes more than its file system has: what `worst` says that cost,
beside what the simulator knows.

    make bench-catalog-month                                  30 days, 3 file systems
    make bench-catalog-month MONTH="--days 10 --jobs 20"      with more jobs at a time
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import polars as pl
from slicewise.analysis.site.worst import Worst, together, worst
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.store import Catalog
from support.site_month import AGGRESSOR, Month, Truth

# A job that lost less says nothing of how far off a loss is.
LEAST_LOST_SECONDS = 5.0


def told(found: Worst, truth: Mapping[str, Truth]) -> None:
    """By program and by job: what was told beside what is true."""
    known = pl.DataFrame(
        [(job, one.program, one.lost, one.to_aggressor) for job, one in truth.items()],
        schema=["job", "program", "true_lost", "true_to_aggressor"],
        orient="row",
    )
    programs = known.group_by("program").agg(pl.col("true_lost").sum())
    with pl.Config(
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_formatting="ASCII_MARKDOWN",
    ):
        print(together(found, "program").join(programs, on="program", how="full", coalesce=True))
    first = together(found, "program").row(0, named=True)
    true = known["true_to_aggressor"].sum()
    print(
        f"first: {first['program']}, which cost others {first['caused_seconds']:.0f} s, at most "
        f"{first['caused_most_seconds']:.0f} s; in truth {AGGRESSOR.name} cost them {true:.0f} s "
        f"({first['caused_seconds'] / true - 1:+.1%}, at most {first['caused_most_seconds'] / true - 1:+.1%})"
    )
    jobs = known.join(found.rows.select("job", "lost_seconds"), on="job", how="left").with_columns(
        pl.col("lost_seconds").fill_null(0)
    )
    lost = jobs.filter(pl.col("true_lost") >= LEAST_LOST_SECONDS)
    claimed = lost.filter(pl.col("lost_seconds") > 0)
    off = (claimed["lost_seconds"] / claimed["true_lost"] - 1).abs()
    print(
        f"{lost.height} jobs lost {LEAST_LOST_SECONDS:g} s or more; of {claimed.height} it is told, off by "
        f"{off.mean():.1%} in the mean and {off.max():.1%} at most"
    )
    none = jobs.filter(pl.col("true_lost") < 0.1)
    wrong = none.filter(pl.col("lost_seconds") > 1)
    print(f"{none.height} jobs lost nothing; {wrong.height} of them are said to have lost more than 1 s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--file-systems", type=int, default=3)
    parser.add_argument(
        "--jobs", type=float, default=10.0, help="in half an hour a day on each file system",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    month = Month(options.days, options.file_systems, jobs=options.jobs, seed=options.seed)
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        truth = month.write(directory / "profiles")
        catalog = Catalog.make(directory / "catalog")
        done = ingest(catalog, places([directory / "profiles"]))
        before = time.perf_counter()
        found = worst(catalog, 0, 1 << 62)
        print(f"{done.added} jobs; blame was asked of {found.asked} in {time.perf_counter() - before:.0f} s")
        told(found, truth)
    return 0


if __name__ == "__main__":
    sys.exit(main())
