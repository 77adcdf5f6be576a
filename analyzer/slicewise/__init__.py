"""Slicewise: who slowed my job down, by how much, and what would it have taken alone?

`slicewise.read(...)` gives a job as tables; docs/python.md has examples. Nothing large is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from slicewise.digest.digest import Digest
    from slicewise.errors import UserError
    from slicewise.profile.reading import Reading

__version__ = "0.1.0"
__all__ = ["Digest", "Reading", "UserError", "read", "read_jobs", "read_tables"]

HOMES = {"Digest": "slicewise.digest.digest", "Reading": "slicewise.profile.reading", "UserError": "slicewise.errors"}


def read(path: str | Path, *, distributions: bool = False) -> Digest:
    """One job: its directory, or one node's `.swz` file of it.

    distributions: whether the sizes and latencies of calls are wanted, too (`Digest.distributions`).
    Damage costs the frames that it touches, and is told in `Digest.damage`. Raises UserError where there is nothing to
    tell: no such file, not a profile, another format, several jobs or slice lengths, no sound frame, or a clock that
    was set so that slices lie on no axis.
    """
    from slicewise.digest.digest import read_digest

    return read_digest(path, distributions=distributions)


def read_jobs(paths: Iterable[str | Path]) -> list[Digest]:
    """Several jobs, each once: directories and files as `read` takes them, and directories that hold such directories.

    Of jobs with one name the later ones have a number behind it. Raises UserError as `read` does, and where there is no
    profile at all.
    """
    from pathlib import Path

    from slicewise.digest.digest import read_digests
    from slicewise.profile.files import job_places

    return read_digests(job_places(Path(path) for path in paths))


def read_tables(
    paths: Iterable[str | Path],
    tables: Iterable[str],
    columns: Mapping[str, Collection[str]] | None = None,
) -> Reading:
    """The raw tables of any number of jobs as one set of frames, where the digest's are too much, or not enough.

    tables: names of a profile's tables, as docs/format.md lists them. columns: by table, those that are wanted besides
    the keys; else all but bins. `Reading.tables` has a frame by table's name, whose column `profile` is a place in
    `Reading.sources`. Nothing is decided here: rows are of all processes and all layers of the I/O stack. Raises
    UserError as `read` does.
    """
    from slicewise.profile.reading import read

    return read(paths, tuple(tables), columns)


def __getattr__(name: str) -> object:
    """The public classes, from where they live; imported when they are first asked for."""
    if name not in HOMES:
        raise AttributeError(f"module 'slicewise' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(HOMES[name]), name)
