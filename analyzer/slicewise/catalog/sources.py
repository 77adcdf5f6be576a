"""Jobs by whatever names them: a profile's place, or, where SLICEWISE_CATALOG names a catalog, a job's name or key.

Every command that takes a PROFILE comes by its digests here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slicewise.digest import digest as one_profile
from slicewise.digest import shared as profiles
from slicewise.digest.beside import Beside, Surroundings, job_directory
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.settings import CATALOG

if TYPE_CHECKING:  # no command without a catalog waits for these
    from slicewise.catalog.kept import KeptJob
    from slicewise.catalog.store import Catalog


def site_catalog() -> Catalog | None:
    """The catalog that the environment names, if it names one. Raises UserError where that is none."""
    from slicewise.catalog.store import Catalog

    path = os.environ.get(CATALOG)
    return Catalog(Path(path)) if path else None


def kept_job(place: Path) -> tuple[Catalog, KeptJob] | None:
    """The job of the site's catalog that a plain name means; None where a profile of that name is there, or no catalog.

    Raises UserError for a name that the catalog does not know.
    """
    if place.name != str(place) or not os.environ.get(CATALOG) or place.exists():
        return None
    from slicewise.catalog.kept import find_job

    catalog = site_catalog()
    return None if catalog is None else (catalog, find_job(catalog, str(place)))


def read_digest(place: Path, *, in_sum: bool = False, distributions: bool = False, needs_axis: bool = True) -> Digest:
    """The digest of a job: as `slicewise.digest.digest.read_digest`, or of a job that the site's catalog keeps."""
    kept = kept_job(place)
    if kept is not None:
        return _digest_of(kept)
    return one_profile.read_digest(place, in_sum=in_sum, distributions=distributions, needs_axis=needs_axis)


def read_digests(places: Sequence[Path], *, distributions: bool = False) -> list[Digest]:
    """The digests of several jobs, in order; of jobs with one name the later ones get a number."""
    kept = [kept_job(place) for place in places]
    read = iter(
        profiles.read_digests(
            [place for place, known in zip(places, kept, strict=True) if known is None], distributions=distributions
        )
    )
    found: list[Digest] = [next(read) if known is None else _digest_of(known) for known in kept]
    return found if not any(kept) else with_names_of_their_own(found)


def profile_place(place: Path) -> Path:
    """Where the profile of a job is, for what needs the profile itself. Raises UserError where a job of the catalog
    has none any more.
    """
    kept = kept_job(place)
    if kept is None:
        return place
    from slicewise.catalog.kept import KeptDigest

    digest = KeptDigest(*kept)
    if digest.profile_path is None:
        raise UserError(f"{place}: {digest.lacks('tables')}")
    return digest.profile_path


def job_identity(place: Path) -> Path:
    """What two places have in common that are one job: its directory, or, of a job of the catalog, its key."""
    kept = kept_job(place)
    if kept is None:
        return job_directory(place)
    from slicewise.catalog.kept import key_text

    return Path(key_text(kept[1].key))


def beside(place: Path, around: Surroundings) -> Beside:
    """What lies beside a job: beside its profile, or, of a job of the catalog, the keys of jobs there."""
    kept = kept_job(place)
    if kept is None:
        return around.beside(place)
    from slicewise.catalog.beside import Around
    from slicewise.catalog.kept import key_text

    catalog, job = kept
    look = Around(catalog)
    near, quiet = ([Path(key_text(one.key)) for one in find(job)] for find in (look.neighbours_of, look.quiet_runs))
    return Beside(near, quiet, len(near) + len(quiet))


def with_names_of_their_own(digests: Sequence[Digest]) -> list[Digest]:
    """The digests, of which no frame was asked yet, with a number behind a name that an earlier one has."""
    seen: Counter[str] = Counter()
    for digest in digests:
        seen[digest.job] += 1
        if seen[digest.job] > 1:
            digest.job = f"{digest.job} ({seen[digest.job]})"
    return list(digests)


def _digest_of(kept: tuple[Catalog, KeptJob]) -> Digest:
    from slicewise.catalog.kept import KeptDigest

    return KeptDigest(*kept)
