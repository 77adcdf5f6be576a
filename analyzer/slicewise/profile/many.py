"""Many profiles at once: job directories, files, and directories that hold job directories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from slicewise.errors import UserError
from slicewise.profile.reader import SUFFIX, Profile, read_profile


def read_profiles(paths: Iterable[Path]) -> list[Profile]:
    """The profiles at `paths`, each once; a directory of job directories stands for all of them.

    Raises UserError for what is no profile, and where there is none.
    """
    found = {place.resolve(): place for path in paths for place in _job_places(path)}
    return [read_profile(place) for place in found.values()]


def _job_places(path: Path) -> Iterator[Path]:
    if not path.is_dir() or any(path.glob(f"*{SUFFIX}")):
        yield path
        return
    jobs = sorted(place for place in path.iterdir() if place.is_dir() and any(place.glob(f"*{SUFFIX}")))
    if not jobs:
        raise UserError(f"{path}: holds no profile; give jobs' directories, or a directory of such")
    yield from jobs
