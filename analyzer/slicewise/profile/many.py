"""Many profiles at once: job directories, files, and directories that hold job directories."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from slicewise.profile.files import job_places
from slicewise.profile.reader import Profile, read_profile


def read_profiles(paths: Iterable[Path]) -> list[Profile]:
    """The profiles at `paths`, each once; a directory of job directories stands for all of them.

    Raises UserError for what is no profile, and where there is none.
    """
    return [read_profile(place) for place in job_places(paths)]
