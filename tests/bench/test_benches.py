"""The benches that look at no time: instructions and sizes within their budgets, and memory that stays bounded."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from bench import commands
from bench.profiles import Shape, build
from support import browser
from support.programs import ROOT, need

COMPILER = "12"  # the major version of gcc that the budgets are written for, on x86-64
TIMEOUT_SECONDS = 1200
REPORTED = Shape(1024, 450)
# About three times what is measured.
MOST_KIB_A_PROCESS_SLICE = 1.5
MOST_PAGE_BYTES = 8 << 20
# What a page may take of its reader: 1.3 s and 0.9 MB are measured.
OPENED = Shape(1024, 225, has_collector=True)
MOST_OPENED_BYTES = 5_000_000
MOST_SECONDS_OF_THE_MAIN_THREAD = 3.0


def make(*words: str) -> None:
    """Run a target, in the build directory that the tests use."""
    build = os.environ.get("BUILD", "build")
    command = ["make", "--no-print-directory", *words, f"BUILD={build}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_costs_are_within_their_budgets() -> None:
    """Instructions and sizes, no times: what bench-check prints is the report."""
    need("valgrind")
    version = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True, check=True).stdout
    if platform.machine() != "x86_64" or version.split(".")[0].strip() != COMPILER:
        pytest.skip(f"the budgets are for x86-64 and gcc {COMPILER}, this is {platform.machine()} and gcc {version}")
    make("bench-check")


def test_memory_stays_bounded_and_every_call_is_accounted_for() -> None:
    """A short form of the endurance bench, in plenty of memory and in hardly any."""
    make("bench-endurance", "ENDURANCE=--seconds 2 --threads 100 --files 2000 --mounts 10")


def test_reading_costs_a_few_times_unpacking_and_grows_with_the_work() -> None:
    """Ratios of processor time within one round, far from their budgets, so that a busy machine does not pass them."""
    make("bench-analyzer", "ANALYZER=--check")


def imported(*words: str | Path) -> set[str]:
    """The packages that a command of the analyzer imports."""
    command = [sys.executable, "-I", "-X", "importtime", "-m", "slicewise", *map(str, words)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines() if "|" in line}


def test_commands_import_what_they_use(tmp_path: Path) -> None:
    """Most of what a short command takes is imports."""
    assert not imported("--help") & {"polars", "numpy", "plotly", "rich", "jinja2"}
    (job,) = build(tmp_path, Shape(1, 4))
    assert "polars" in imported("report", "--detail", job)
    assert not imported("report", "--detail", job) & {"numpy", "plotly", "jinja2", "scipy"}


def test_a_reports_memory_and_page_are_bounded(tmp_path: Path) -> None:
    """What a process-slice costs in memory, and a page that does not grow with the job."""
    page = tmp_path / "page.html"
    (tiny,), (job,) = build(tmp_path / "tiny", Shape(1, 4)), build(tmp_path / "job", REPORTED)
    before = commands.run(commands.REPORT, tiny, page)["peak"]
    peak = commands.run(commands.REPORT, job, page)["peak"]
    assert (peak - before) * 1024 / (REPORTED.processes * REPORTED.slices) < MOST_KIB_A_PROCESS_SLICE
    assert page.stat().st_size < MOST_PAGE_BYTES


@pytest.mark.skipif(
    browser.executable() is None, reason="no Chromium that runs: no page is opened (apt-get install chromium)"
)
def test_the_page_of_a_large_job_is_small_and_soon_there(tmp_path: Path) -> None:
    """In processor time, the better of two openings: the first is slowed down by the browser's own start."""
    page = tmp_path / "page.html"
    (job,) = build(tmp_path, OPENED)
    commands.run(commands.REPORT, job, page)
    assert page.stat().st_size < MOST_OPENED_BYTES
    seconds = []
    with browser.Browser() as window:
        for _ in range(2):
            window.open(page, browser.DRAWN)
            assert window.evaluate("document.getElementById('trouble').hidden"), window.troubles
            assert window.evaluate("document.querySelectorAll('.chart .main-svg:first-child').length") > 0
            seconds.append(window.main_thread_seconds())
    assert 0 < min(seconds) < MOST_SECONDS_OF_THE_MAIN_THREAD, seconds
