"""The profiles of jobs that still run, as far as they have come."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from slicewise.errors import UserError
from slicewise.profile.files import SUFFIX
from slicewise.running.installation import find_installation

SECONDS_TO_WRITE = 60


@contextmanager
def living_jobs(profiles: Path) -> Iterator[Mapping[Path, Path]]:
    """Copies of the profiles in a directory whose jobs still run on this node, with what they have counted so far: by
    the jobs' own directories, which need not be there yet. The copies are gone afterwards. What processes of other
    nodes have not drained yet is in none.
    """
    with tempfile.TemporaryDirectory(prefix="slicewise-snapshot-") as made:
        names = _write(profiles, Path(made) / "names")
        # What is drained comes first: what a process drains meanwhile is missing then, and is in no file twice.
        copies = Path(made) / "copies"
        for name in names:
            (copies / name).mkdir(parents=True)
            for file in sorted((profiles / name).glob(f"*{SUFFIX}")):
                shutil.copy(file, copies / name)
        living = _write(profiles, copies) if names else []
        yield {profiles / name: copies / name for name in living}


def _write(profiles: Path, into: Path) -> list[str]:
    """Add what living processes have to files below `into`; the names of the jobs there, none where nothing lives."""
    into.mkdir(exist_ok=True)
    try:
        command = [str(find_installation().collector), "snapshot", "--into", str(into), str(profiles)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS_TO_WRITE)
    except (UserError, OSError, subprocess.TimeoutExpired):  # an analyzer without the library, for instance
        return []
    is_done = done.returncode == 0 and done.stdout.strip() not in ("", "0")
    return sorted(place.name for place in into.iterdir()) if is_done else []
