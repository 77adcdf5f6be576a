"""The profile of a job that still runs, as far as it has come."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slicewise.errors import UserError
from slicewise.profile.files import SUFFIX
from slicewise.running.installation import find_installation

SECONDS_TO_WRITE = 60


@contextmanager
def as_of_now(place: Path) -> Iterator[Path]:
    """A job's directory, or, where processes of it still run on this node, a copy with what they have counted so far.

    The copy is gone afterwards. What processes of other nodes have not drained yet is in neither.
    """
    try:
        collector = find_installation().collector
    except UserError:  # an analyzer without the library: nothing that it could ask runs here
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="slicewise-snapshot-") as made:
        copy = Path(made) / place.resolve().name
        copy.mkdir()
        for file in sorted(place.glob(f"*{SUFFIX}")) if place.is_dir() else []:
            shutil.copy(file, copy)
        yield copy if _write(collector, place.resolve(), Path(made)) else place


def _write(collector: Path, job_dir: Path, into: Path) -> bool:
    """Add what living processes have to their node's file; False where there are none, or they cannot be asked."""
    command = [str(collector), "snapshot", "--into", str(into), str(job_dir)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS_TO_WRITE)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.strip().isdecimal() and int(done.stdout) > 0
