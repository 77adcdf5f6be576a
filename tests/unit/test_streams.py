"""Commands whose standard streams are closed or full: one line, a status, and never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.swz import build_profile

COMMANDS = [
    "--help",
    "--version",
    "help run",
    "completion bash",
    "config",
    "report --detail JOB",
    "report --detail JOB --json",
    "export JOB --format csv",
]
FULL, CLOSED = ">/dev/full", ">&-"


def run(words: str, redirected: str, folder: Path) -> subprocess.CompletedProcess[str]:
    build_profile(
        folder / "job",
        [{"process": 1}],
        [{"process": 1, "slice": 5, "write_bytes": 7, "write_ops": 1}],
    )
    command = f"{sys.executable} -m slicewise {words.replace('JOB', str(folder / 'job'))} {redirected}"
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("redirected", [FULL, CLOSED])
@pytest.mark.parametrize("words", COMMANDS)
def test_a_result_that_cannot_be_written_is_one_line(tmp_path, words, redirected):
    done = run(words, redirected, tmp_path)
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("slicewise: standard output: cannot be written (")


@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-", ">&- 2>&-", ">/dev/full 2>&-"])
def test_a_mistake_keeps_its_status_where_nobody_hears_of_it(tmp_path, redirected):
    assert run("info nothing", redirected, tmp_path).returncode == 2


def test_a_reader_that_has_seen_enough_is_not_told(tmp_path):
    done = run("report --detail JOB", "| true; sleep 0.1", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_on_standard_output_is_whole_without_standard_error(tmp_path):
    assert (
        run("report --detail JOB --json", "2>&-", tmp_path).stdout
        == run("report --detail JOB --json", "", tmp_path).stdout
    )
