"""The benches that look at no time: instructions and sizes within their budgets, and memory that stays bounded."""

from __future__ import annotations

import os
import platform
import subprocess

import pytest
from support.programs import ROOT, need

COMPILER = "12"  # the major version of gcc that the budgets are written for, on x86-64
TIMEOUT_SECONDS = 1200


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
    """Ratios of processor time within one run, far from their budgets, so that a busy machine does not pass them."""
    make("bench-analyzer", "ANALYZER=--check")
