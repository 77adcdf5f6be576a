"""Which tests may skip in CI is a list, and a skip that is not in it fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
LISTED = "the kernel forbids io_uring"


@pytest.mark.parametrize(
    ("folder", "options", "status"),
    [("endtoend", ["--listed-skips"], 0), ("fault", ["--listed-skips", "-n", "2"], 1), ("fault", [], 0)],
    ids=["listed", "of another test", "nobody asks"],
)
def test_a_skip_must_be_listed(tmp_path: Path, folder: str, options: list[str], status: int) -> None:
    test = tmp_path / folder / "test_fio.py"
    test.parent.mkdir()
    test.write_text(f"import pytest\n\ndef test_it():\n    pytest.skip({LISTED!r})\n\ndef test_more():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.skips", "-p", "no:cacheprovider", *options, test]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert ("not in tests/may_skip.txt" in done.stdout) == (status != 0)
