"""Which other profiles lie beside a job's: its neighbours, and quiet runs of the same program.

Paths in, paths out: profiles are read in sum, which takes milliseconds each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slicewise.digest import slices
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.profile.files import SUFFIX
from slicewise.profile.many import profiles_of

# More profiles than this in one directory are not looked through: a catalog is made for that.
MOST_PROFILES = 2000
# So many quiet runs of the job's size, and as many of other sizes: those nearest in time.
MOST_RUNS = 5


@dataclass(frozen=True)
class Beside:
    """What lies beside a job's profile. neighbours: of jobs that used one of its storages while it ran. quiet: of runs
    of its program that nobody shared a storage with. looked_at: how many profiles there are. unread: those of them that
    cannot be read.
    """

    neighbours: list[Path]
    quiet: list[Path]
    looked_at: int
    unread: Sequence[Path] = ()


@dataclass(frozen=True)
class _Seen:
    place: Path
    program: str
    processes: int
    start_ns: int
    end_ns: int
    storages: frozenset[int]
    ids: frozenset[int]

    def meets(self, other: _Seen) -> bool:
        return (
            self.start_ns < other.end_ns
            and other.start_ns < self.end_ns
            and not self.storages.isdisjoint(other.storages)
        )


def job_directory(place: Path) -> Path:
    """The directory of a job that is named by it, or by a file in it; it need not be there."""
    return (place.parent if place.is_file() else place).resolve()


def find_beside(place: Path, copies: Mapping[Path, Path] | None = None) -> Beside:
    """What lies in the directory that a job's directory (or file) lies in.

    copies: by jobs' directories, which need not be there, where to read those jobs instead: snapshots of what runs.
    """
    directory, instead = job_directory(place), copies or {}
    try:
        there = {one for one in directory.parent.iterdir() if one.is_dir() and any(one.glob(f"*{SUFFIX}"))}
        places = sorted(instead.get(one, one) for one in there | set(instead) if one != directory)
    except OSError:
        return Beside([], [], 0)
    if len(places) > MOST_PROFILES:
        return Beside([], [], len(places))
    seen = _seen(places)
    own = next(iter(_seen([instead.get(directory, place)])), None)
    if own is None:
        return Beside([], [], len(places))
    others = [one for one in seen if one.ids.isdisjoint(own.ids)]
    quiet = sorted(
        (
            one
            for one in others
            if one.program == own.program
            and not one.meets(own)
            and not any(one.meets(other) for other in [own, *seen] if other is not one)
        ),
        key=lambda one: abs(one.start_ns - own.start_ns),
    )
    like = [one.place for one in quiet if one.processes == own.processes][:MOST_RUNS]
    unlike = [one.place for one in quiet if one.processes != own.processes][:MOST_RUNS]
    read = {one.place for one in seen}
    unread = [one for one in places if one not in read]
    return Beside([one.place for one in others if one.meets(own)], [*like, *unlike], len(places), unread)


def _seen(places: Sequence[Path]) -> list[_Seen]:
    """The jobs of these places; what cannot be read is passed over."""
    try:
        profiles = profiles_of(places, slices.NONE, slices.IN_WHICH)
    except UserError:
        if len(places) == 1:
            return []
        middle = len(places) // 2
        return [*_seen(places[:middle]), *_seen(places[middle:])]
    return [_one(place, Digest(profile)) for place, profile in zip(places, profiles, strict=True)]


def _one(place: Path, digest: Digest) -> _Seen:
    row = digest.jobs.row(0, named=True)
    used = digest.mounts.filter((digest.mounts["read_bytes"] + digest.mounts["write_bytes"]) > 0)
    return _Seen(
        place, row["program"], row["processes"], row["start_ns"], row["end_ns"],
        frozenset(used["storage"].to_list()), frozenset(digest.processes["process"].to_list()),
    )  # fmt: skip
