"""Jobs by whatever names them: a profile's place, or, where SLICEWISE_CATALOG names a catalog, a job's name or key."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from slicewise.catalog.kept import KeptDigest, KeptJob, find_job
from slicewise.catalog.store import Catalog
from slicewise.digest import digest as profiles
from slicewise.digest.digest import Digest

SETTING = "SLICEWISE_CATALOG"


def site_catalog() -> Catalog | None:
    """The catalog that the environment names, if it names one. Raises UserError where that is none."""
    path = os.environ.get(SETTING)
    return Catalog(Path(path)) if path else None


def kept_job(place: Path) -> tuple[Catalog, KeptJob] | None:
    """The job of the site's catalog that a plain name means; None where a profile of that name is there, or no catalog.

    Raises UserError for a name that the catalog does not know.
    """
    if place.name != str(place) or place.exists():
        return None
    catalog = site_catalog()
    return None if catalog is None else (catalog, find_job(catalog, str(place)))


def read_digest(place: Path, *, in_sum: bool = False, distributions: bool = False, needs_axis: bool = True) -> Digest:
    """The digest of a job: as `slicewise.digest.digest.read_digest`, or of a job that the site's catalog keeps."""
    kept = kept_job(place)
    if kept is not None:
        return KeptDigest(*kept)
    return profiles.read_digest(place, in_sum=in_sum, distributions=distributions, needs_axis=needs_axis)


def read_digests(places: Sequence[Path], *, distributions: bool = False) -> list[Digest]:
    """The digests of several jobs, in order; of jobs with one name the later ones get a number."""
    kept = [kept_job(place) for place in places]
    read = iter(
        profiles.read_digests(
            [place for place, known in zip(places, kept, strict=True) if known is None], distributions=distributions
        )
    )
    found: list[Digest] = [next(read) if known is None else KeptDigest(*known) for known in kept]
    return found if not any(kept) else with_names_of_their_own(found)


def with_names_of_their_own(digests: Sequence[Digest]) -> list[Digest]:
    """The digests, of which no frame was asked yet, with a number behind a name that an earlier one has."""
    seen: Counter[str] = Counter()
    for digest in digests:
        seen[digest.job] += 1
        if seen[digest.job] > 1:
            digest.job = f"{digest.job} ({seen[digest.job]})"
    return list(digests)
