"""Jobs by whatever names them: a profile's place; where SLICEWISE_CATALOG names a catalog, a job's name or key; where
file servers' counts are known (SLICEWISE_SERVERS, --servers), the name of a job there.

Every command that takes a PROFILE comes by its digests here.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slicewise.digest import digest as one_profile
from slicewise.digest import shared as profiles
from slicewise.digest.digest import Digest
from slicewise.digest.shared import with_names_of_their_own
from slicewise.digest.surroundings import Nearby, Surroundings, servers_nearby
from slicewise.errors import UserError
from slicewise.settings import CATALOG, servers_of_site

if TYPE_CHECKING:  # no command without a catalog waits for these
    import polars as pl

    from slicewise.catalog.kept import KeptJob
    from slicewise.catalog.store import Catalog


def site_catalog() -> Catalog | None:
    """The catalog that the environment names, if it names one. Raises UserError where that is none."""
    from slicewise.catalog.store import Catalog

    path = os.environ.get(CATALOG)
    return Catalog(Path(path)) if path else None


def kept_job(place: Path) -> tuple[Catalog, KeptJob] | None:
    """The job of the site's catalog that a plain name means; None where a profile of that name is there, or no catalog.
    Raises UserError for a name that the catalog does not know."""
    if place.name != str(place) or not os.environ.get(CATALOG) or place.exists():
        return None
    from slicewise.catalog.kept import find_job

    catalog = site_catalog()
    return None if catalog is None else (catalog, find_job(catalog, str(place)))


@functools.cache
def _written_jobs() -> tempfile.TemporaryDirectory[str]:
    """Where jobs that servers counted are profiles, for as long as this process lives."""
    return tempfile.TemporaryDirectory(prefix="slicewise-servers-")


@functools.cache
def _served_job(place: Path, servers: tuple[Path, ...]) -> Path | None:
    from slicewise.imports.served_jobs import write_job

    return write_job(str(place), servers, Path(_written_jobs().name))


def served_job(place: Path) -> Path | None:
    """A profile of the job that a plain name means to the file servers; None where a profile of that name is there, or
    where nobody knows what servers counted. Raises UserError for a name that they do not know, either."""
    servers = servers_of_site()
    if not servers or place.name != str(place) or place.exists():
        return None
    found = _served_job(place, tuple(servers))
    if found is None and not os.environ.get(CATALOG):
        raise UserError(
            f"{place}: is no profile, and the file servers counted no job of that name; see: slicewise list"
        )
    return found


def read_digest(place: Path, *, in_sum: bool = False, distributions: bool = False, needs_axis: bool = True) -> Digest:
    """The digest of a job: as `slicewise.digest.digest.read_digest`, or of a job that the site's catalog keeps."""
    where = served_job(place) or place
    kept = kept_job(where)
    if kept is not None:
        return _digest_of(kept)
    digest = one_profile.read_digest(where, in_sum=in_sum, distributions=distributions, needs_axis=needs_axis)
    digest.path = place  # as whoever asked knows it
    return digest


def read_digests(places: Sequence[Path], *, distributions: bool = False, without: Collection[str] = ()) -> list[Digest]:
    """The digests of several jobs, in order; of jobs with one name the later ones get a number. without: tables that
    are read when a job is first asked for one."""
    where = [served_job(place) or place for place in places]
    kept = [kept_job(place) for place in where]
    read = iter(
        profiles.read_digests(
            [place for place, known in zip(where, kept, strict=True) if known is None],
            distributions=distributions,
            without=without,
        )
    )
    found: list[Digest] = [next(read) if known is None else _digest_of(known) for known in kept]
    for digest, place, known in zip(found, places, kept, strict=True):
        if known is None:
            digest.path = place  # as whoever asked knows it
    return found if not any(kept) else with_names_of_their_own(found)


def counted_beside(
    job: Digest, runs: Sequence[Digest] = (), place: Path | None = None
) -> tuple[pl.DataFrame | None, list[str]]:
    """What file servers counted by job in a job's time (`jobstats.read_served`), and in that of its runs, and what was
    left out of it, a line each: where the site says, else beside the job's profile. None where that is nowhere, or
    where the servers' count is all that is known of the job. place: the job's profile.
    """
    servers = servers_of_site() or ([] if place is None else servers_nearby(place))
    if not servers or job.is_served:
        return None, []
    from slicewise.imports.jobstats import read_served

    told: list[str] = []
    times = [(one.about["start_ns"], one.about["end_ns"]) for one in (job, *runs)]
    return read_served(servers, told.append, times), told


def profile_place(place: Path) -> Path:
    """Where the profile of a job is, for what needs the profile itself. Raises UserError where a job of the catalog has
    none any more."""
    place = served_job(place) or place
    kept = kept_job(place)
    if kept is None:
        return place
    from slicewise.catalog.kept import KeptDigest

    digest = KeptDigest(*kept)
    if digest.profile_path is None:
        raise UserError(f"{place}: {digest.lacks('tables')}")
    return digest.profile_path


def find_nearby(place: Path, surroundings: Surroundings) -> Nearby:
    """What lies beside a job: beside its profile, or, of a job of the catalog, the keys of jobs there."""
    if served_job(place):
        return Nearby([], [], 0)
    kept = kept_job(place)
    if kept is None:
        return surroundings.nearby(place)
    from slicewise.catalog.kept import key_text
    from slicewise.catalog.neighbours import Neighbourhood

    catalog, job = kept
    look = Neighbourhood(catalog)
    near, quiet = ([Path(key_text(one.key)) for one in find(job)] for find in (look.neighbours_of, look.quiet_runs))
    return Nearby(near, quiet, len(near) + len(quiet))


def _digest_of(kept: tuple[Catalog, KeptJob]) -> Digest:
    from slicewise.catalog.kept import KeptDigest

    return KeptDigest(*kept)
