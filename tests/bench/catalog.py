"""What a catalog costs: to take profiles in, and to ask it about synthetic days.

    make bench-analyzer                                     after reading and commands, with small catalogs
    make bench-catalog CATALOG="--days 30 --jobs 100000"    as large as the aims speak of

Each question is asked in a process of its own, after the imports, of files that were put out of the kernel's cache as
far as it allows. Of ROUNDS the least wall seconds are told, and the aim beside them.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from math import inf
from pathlib import Path

import polars as pl
from bench.profiles import Shape, build
from slicewise.analysis.site.summary import summary
from slicewise.analysis.site.worst import worst
from slicewise.catalog.answers import ANSWERS
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.kept import find_job
from slicewise.catalog.neighbours import partners
from slicewise.catalog.store import Catalog
from slicewise.constants import DAY_NS
from slicewise.report.page import write_page
from slicewise.report.site.site_page import site_page
from support.site_days import FIRST_DAY, write_days

ROUNDS = 5
PROFILES = {"2,000 jobs of 4 processes x 3 min": Shape(4, 45, jobs=2000), "1,024 processes x 1 h": Shape(1024, 900)}
DAYS_OF_A_YEAR = 365
GROWTH = (1, 3, 10)
LAST_NS = 1 << 62


def ask_open(catalog: Path, _: str) -> int:
    """What there is: days, and how many jobs."""
    return sum(batch.jobs for batch in Catalog(catalog).batches())


def ask_partners(catalog: Path, job: str) -> int:
    """All partners of a job that is known by its name."""
    opened = Catalog(catalog)
    return partners(opened, find_job(opened, job)).height


def ask_losses(catalog: Path, _: str) -> int:
    """What all jobs of the catalog lost to each other, nothing of it known before: of how many that is told."""
    shutil.rmtree(catalog / ANSWERS, ignore_errors=True)
    return worst(Catalog(catalog), 0, LAST_NS).rows["lost_seconds"].count()


def ask_page(catalog: Path, _: str) -> int:
    """The page of the first day, of which nothing was asked before: its bytes."""
    shutil.rmtree(catalog / ANSWERS, ignore_errors=True)
    return ask_page_again(catalog, _)


def ask_page_again(catalog: Path, _: str) -> int:
    """The same, where all answers are known."""
    start_ns = (FIRST_DAY.toordinal() - 719_163) * DAY_NS
    found = summary(Catalog(catalog), start_ns, start_ns + DAY_NS, None, inf)
    where = catalog.parent / "page.html"
    write_page(site_page(found, str(catalog)), where)
    return where.stat().st_size


def ask_floor(catalog: Path, _: str) -> int:
    """What no question can do without: a tenth of an hour's rows, asked of one file by plain polars."""
    file = sorted(catalog.glob("day=*/batch=*/job_slices.parquet"))[0]
    rows = pl.scan_parquet(file, hive_partitioning=False).select(*ROWS_OF_PARTNERS)
    begin = pl.col("begin_ns")
    return rows.filter(begin < rows.select(begin.min()).collect().item() + 360_000_000_000).collect().height


ROWS_OF_PARTNERS = ("key", "storage", "begin_ns", "end_ns", "read_bytes", "write_bytes", "meta_ops")
QUESTIONS: dict[str, tuple[Callable[[Path, str], int], float]] = {
    "open": (ask_open, 0.3), "partners": (ask_partners, 0.05), "losses": (ask_losses, 60.0),
    "page": (ask_page, 10.0), "page_again": (ask_page_again, inf), "floor": (ask_floor, inf),
}  # fmt: skip


def forget(catalog: Path) -> None:
    """Ask the kernel to put the catalog's files out of its cache."""
    for file in catalog.rglob("*.parquet"):
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def asked(question: str, catalog: Path, job: str) -> dict[str, float]:
    """The least of ROUNDS: wall and CPU seconds; what was found."""
    found = []
    for _ in range(ROUNDS):
        forget(catalog)
        command = [sys.executable, "-m", "bench.catalog", "--ask", question, catalog, job]
        found.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return {name: min(one[name] for one in found) for name in found[0]}


def answer(question: str, catalog: Path, job: str) -> dict[str, float]:
    """One question, in this process."""
    before, cpu_before = time.perf_counter(), time.process_time()
    found = QUESTIONS[question][0](catalog, job)
    return {"wall": time.perf_counter() - before, "cpu": time.process_time() - cpu_before, "found": found}


def measure_ingest(name: str, shape: Shape, directory: Path) -> dict[str, float]:
    """Jobs and slice records a second, the best of ROUNDS."""
    build(directory / "profiles", shape)
    best = {"wall": float("inf"), "cpu": float("inf")}
    for number in range(ROUNDS):
        catalog = Catalog.make(directory / f"catalog-{number}")
        before, cpu_before = time.perf_counter(), time.process_time()
        done = ingest(catalog, places([directory / "profiles"]))
        best["wall"] = min(best["wall"], time.perf_counter() - before)
        best["cpu"] = min(best["cpu"], time.process_time() - cpu_before)
    print(
        f"ingest {name:36} {best['wall']:7.2f} s, {best['cpu']:.2f} s of CPU: {done.added / best['wall']:,.0f} jobs/s, "
        f"{done.records / best['wall']:,.0f} records/s; a core: {done.added / best['cpu']:,.0f} jobs/s, "
        f"{done.records / best['cpu']:,.0f} records/s",
        flush=True,
    )
    return best | {"jobs": done.added, "records": done.records}


def measure_command(catalog: Path, job: str) -> None:
    """The whole command, beside a Python that imports polars and does nothing."""
    command = [sys.executable, "-m", "slicewise", "catalog", "show", catalog, job, "--json"]
    for name, words in (("the command", command), ("a Python with polars", [sys.executable, "-c", "import polars"])):
        seconds = []
        for _ in range(ROUNDS):
            forget(catalog)
            before, cpu_before = time.perf_counter(), sum(os.times()[2:4])
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            seconds.append((time.perf_counter() - before, sum(os.times()[2:4]) - cpu_before))
        wall, cpu = (min(column) for column in zip(*seconds, strict=True))
        print(f"partners of one job, {name:31} {wall:7.3f} s, {cpu:.3f} s of CPU", flush=True)


def measure_growth(jobs: int) -> None:
    """What a day costs in catalogs of several sizes: linear growth shows as the same figures."""
    for days in GROWTH:
        with tempfile.TemporaryDirectory() as temporary:
            catalog = Path(temporary) / "days"
            before = time.process_time()
            write_days(catalog, days, jobs)
            written = time.process_time() - before
            size = sum(file.stat().st_size for file in catalog.rglob("*") if file.is_file()) / 2**20
            found = asked("losses", catalog, "")
            print(
                f"of {days:2} days each: {size / days:.1f} MiB, {written / days:.2f} s of CPU to make, "
                f"{found['cpu'] / days:.3f} s of CPU to ask for all losses",
                flush=True,
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=3, help="of the catalog that is asked for partners")
    parser.add_argument("--jobs", type=int, default=20_000, help="a day")
    parser.add_argument("--ask", nargs=3, metavar=("QUESTION", "CATALOG", "JOB"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        question, catalog, job = options.ask
        print(json.dumps(answer(question, Path(catalog), job)))
        return 0
    for name, shape in PROFILES.items():
        with tempfile.TemporaryDirectory() as temporary:
            measure_ingest(name, shape, Path(temporary))
    with tempfile.TemporaryDirectory() as temporary:
        year, some, day = (Path(temporary) / name for name in ("year", "days", "day"))
        write_days(year, DAYS_OF_A_YEAR, 100)
        write_days(day, 1, options.jobs, processes=2)
        before = time.perf_counter()
        catalog = write_days(some, options.days, options.jobs)
        rows = sum(batch.rows["job_slices"] for batch in catalog.batches())
        size = sum(file.stat().st_size for file in some.rglob("*.parquet")) / 2**20
        seconds = time.perf_counter() - before
        print(f"{options.days} days of {options.jobs:,} jobs: {rows:,} job-slices, {size:,.0f} MiB, in {seconds:.1f} s")
        middle = catalog.scan("jobs", catalog.batches(catalog.days()[options.days // 2 :][:1])).collect()
        job = middle["job"][middle.height // 2]
        for question, where, what in (
            ("open", year, f"a catalog of {DAYS_OF_A_YEAR} days is opened"),
            ("partners", some, f"all partners of one job in {options.days} days"),
            ("floor", some, "of it: reading six minutes' rows with plain polars"),
            ("losses", day, "blame of all jobs of a day; known of"),
            ("page", day, "the page of that day, nothing known; bytes (aim 8 M)"),
            ("page_again", day, "the same page again; bytes"),
        ):
            found = asked(question, where, job)
            aim = QUESTIONS[question][1]
            beside = f" (aim {aim:g} s)" if aim < inf else ""
            print(f"{what:52} {found['wall']:7.3f} s, {found['cpu']:.3f} s of CPU{beside}; {found['found']:,}",
                  flush=True)  # fmt: skip
        measure_command(some, job)
    measure_growth(options.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
