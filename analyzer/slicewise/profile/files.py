"""Which files make a profile: a job's directory, one file of it, or directories of jobs."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from slicewise.errors import UserError
from slicewise.text import words

SUFFIX = ".swz"
WAY_OUT = f"give a job's directory (SLICEWISE_DIR/JOB) or a {SUFFIX} file"
MOST_NAMED_JOBS = 6
# The directory of a profile of file servers: its file system, and its day (UTC).
SERVERS_NAME = re.compile(r"servers\..*\.(\d{4}-[01]\d-[0-3]\d)")


def profile_files(path: Path) -> list[Path]:
    """The files of a profile, sorted. Raises UserError if there are none."""
    try:
        if path.is_file():
            return [path]
        if not path.is_dir():
            what = "is neither a directory nor a file" if path.exists() else "does not exist (a job writes as it ends)"
            raise UserError(f"{path}: {what}; {WAY_OUT}")
        files = sorted(_own_files(path))
        below = [] if files else sorted({str(file.parent) for file in path.glob(f"*/*{SUFFIX}")})
    except OSError as error:
        raise UserError(unreadable(path, error)) from error
    if below:
        raise UserError(f"{path}: holds jobs, not a job; give one of {words.some(below, MOST_NAMED_JOBS)}")
    if not files:
        raise UserError(
            f"{path}: there is no {SUFFIX} file in it; a job that still runs, or was killed, is completed by: "
            f"slicewise recover {path}"
        )
    return files


def job_places(paths: Iterable[Path]) -> list[Path]:
    """The jobs at `paths`, each once; directories of jobs stand for these. Raises UserError where none is."""
    found = {place.resolve(): place for path in paths for place in _job_places(path)}
    return list(found.values())


def _job_places(path: Path) -> Iterator[Path]:
    if not path.is_dir() or any(path.glob(f"*{SUFFIX}")):
        yield path
        return
    there = (place for place in path.iterdir() if place.is_dir() and not is_of_servers(place))
    jobs = sorted(place for place in there if any(place.glob(f"*{SUFFIX}")))
    if not jobs:
        raise UserError(f"{path}: holds no profile; give jobs' directories, or a directory of such")
    yield from jobs


def _own_files(directory: Path) -> Iterator[Path]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIX) and entry.name != SUFFIX and entry.is_file():
                yield directory / entry.name


def is_of_servers(place: Path) -> bool:
    """Whether a profile's directory or file is one of servers, by its name: servers.FILESYSTEM.YYYY-MM-DD."""
    return SERVERS_NAME.fullmatch(place.name) is not None or SERVERS_NAME.fullmatch(place.parent.name) is not None


def is_job_directory(path: Path) -> bool:
    try:
        return next(_own_files(path), None) is not None
    except (NotADirectoryError, FileNotFoundError):
        return False


def unreadable(path: Path, error: OSError | int) -> str:
    """The line for a file or directory that cannot be read. error: an errno too."""
    number = error if isinstance(error, int) else error.errno
    why = str(error) if number is None else os.strerror(number)
    if number in {errno.EACCES, errno.EPERM}:
        way_out = "ask its owner for permission to read it"
    elif number in {errno.ENOENT, errno.ESTALE}:
        way_out = "it is there no longer; give the place where it is now"
    else:
        way_out = "try again when its file system is well"
    return f"{path}: cannot be read: {why}; {way_out}"
