"""Which profiles lie below some paths, and what their files look like from outside."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from slicewise.errors import UserError
from slicewise.profile.files import SUFFIX, unreadable
from slicewise.profile.many import batches
from slicewise.scalars import number_of

# Profiles that are read together.
JOBS_AT_ONCE = 512
WAY_OUT = "give a directory with profiles in it or anywhere below, such as SLICEWISE_DIR"


@dataclass(frozen=True)
class JobFiles:
    """A job's directory, or one file of it. files: (name, size, time of its last change in ns) of each, in order. real:
    its path without symbolic links."""

    path: Path
    files: Sequence[tuple[str, int, int]]
    real: str

    @property
    def size(self) -> int:
        return sum(size for _, size, _ in self.files)

    @property
    def changed_ns(self) -> int:
        return max(changed for _, _, changed in self.files)

    def fingerprint(self, salt: bytes) -> int:
        """A number that is another one as soon as any file is another, bigger or changed."""
        text = "\0".join([self.real, *(f"{n}/{size}/{changed}" for n, size, changed in self.files)])
        return number_of(os.fsencode(text), salt)


def places(paths: Iterable[Path]) -> list[JobFiles]:
    """The profiles at `paths` and in all directories below, each once, in order, by their absolute paths.

    Raises UserError for a path that is not there, or below which there is nothing; what cannot be looked into below one
    is passed over.
    """
    found: dict[str, JobFiles] = {}
    for path in paths:
        before = len(found)
        below = list(_places(path, os.path.realpath(path), is_named=True))
        found |= {place.real: place for place in below}
        if len(found) == before and not below:
            raise UserError(f"{path}: there is no {SUFFIX} file in it or below; {WAY_OUT}")
    return sorted(found.values(), key=lambda place: place.path)


def _places(path: Path, real: str, is_named: bool = False) -> Iterator[JobFiles]:
    """The profiles there. real: the path without symbolic links, which are not followed further down: asking for each
    profile's costs a look at every directory above it, which on a file server takes longer than all else."""
    try:
        if is_named and path.is_file():
            yield JobFiles(Path(os.path.abspath(path)), [_file(path.name, path.stat())], real)
            return
        if is_named and not path.exists():
            raise UserError(f"{path}: does not exist; {WAY_OUT}")
        files, directories = [], []
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.endswith(SUFFIX) and entry.name != SUFFIX and entry.is_file():
                    files.append(_file(entry.name, entry.stat()))
                elif not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                    directories.append(entry.name)
    except OSError as error:
        if is_named:
            raise UserError(unreadable(path, error)) from error
        return
    if files:
        yield JobFiles(Path(os.path.abspath(path)), sorted(files), real)
        return
    for name in sorted(directories):
        yield from _places(path / name, os.path.join(real, name))


def _file(name: str, stat: os.stat_result) -> tuple[str, int, int]:
    return name, stat.st_size, stat.st_mtime_ns


def chunks(places: Sequence[JobFiles], most: int = JOBS_AT_ONCE) -> Iterator[list[JobFiles]]:
    """Profiles that are to be read together."""
    return batches(places, lambda place: place.size, most)
