"""`make bench-check`: what a call costs in instructions stays within its written budget."""

from __future__ import annotations

import os
import platform
import subprocess

import pytest
from support.programs import ROOT

COMPILER = "12"  # the major version of gcc that the budgets are written for, on x86-64


def test_costs_are_within_their_budgets() -> None:
    """Instructions and sizes, no times: what bench-check prints is the report."""
    version = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True, check=True).stdout
    if platform.machine() != "x86_64" or version.split(".")[0].strip() != COMPILER:
        pytest.skip(f"the budgets are for x86-64 and gcc {COMPILER}, this is {platform.machine()} and gcc {version}")
    build = os.environ.get("BUILD", "build")
    command = ["make", "--no-print-directory", "bench-check", f"BUILD={build}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
