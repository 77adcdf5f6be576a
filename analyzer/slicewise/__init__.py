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

__version__ = "2.0.0"
__all__ = ["Digest", "Reading", "UserError", "read", "read_jobs", "read_tables"]

HOMES = {"Digest": "slicewise.digest.digest", "Reading": "slicewise.profile.reading", "UserError": "slicewise.errors"}


def read(path: str | Path, *, distributions: bool = False) -> Digest:
    """One job: its directory, or one node's `.swz` file of it.

    distributions: whether the sizes and latencies of calls are wanted, too (`Digest.distributions`).
    If a file is damaged, only the damaged pieces of it are missing; `Digest.damage` names them. Raises
    `slicewise.UserError` if there is nothing to read: no such file, not a profile, another format, several jobs or
    slice lengths, nothing that is undamaged, or slices that lie days apart, since the clock was set while the job ran.
    """
    from slicewise.digest.digest import read_digest

    return read_digest(path, distributions=distributions)


def read_jobs(paths: Iterable[str | Path]) -> list[Digest]:
    """Several jobs, each once: directories and files as `read` takes them, and directories that hold such directories.

    If several jobs have one name, the later ones get a number behind it. Raises UserError as `read` does, and if there
    is no profile at all.
    """
    from pathlib import Path

    from slicewise.digest.shared import read_digests
    from slicewise.profile.files import job_places

    return read_digests(job_places(Path(path) for path in paths))


def read_tables(
    paths: Iterable[str | Path], tables: Iterable[str], columns: Mapping[str, Collection[str]] | None = None
) -> Reading:
    """The raw tables of any number of jobs as one set of frames. Use it if the digest's frames hold too much, or lack
    something.

    tables: names of a profile's tables, as docs/counters.md lists them. columns: for a table's name, the columns that
    are wanted besides the keys; without it, all columns but bins. `Reading.tables` has a frame for each name. Its
    column `profile` is an index into `Reading.sources`, and says which file a row is from. The rows are of all
    processes and all layers of the I/O stack: nothing is left out or added up as in the digest. Raises UserError as
    `read` does.
    """
    from slicewise.profile.reading import read

    return read(paths, tuple(tables), columns)


def __getattr__(name: str) -> object:
    """The public classes, from where they live; imported when they are first asked for."""
    if name not in HOMES:
        raise AttributeError(f"module 'slicewise' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(HOMES[name]), name)
