"""Catalogs of profiles that are there."""

from pathlib import Path

from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.store import Catalog


def catalog_of(path: Path, *profiles: Path) -> Catalog:
    """A new catalog at `path` with all jobs of these places."""
    catalog = Catalog.make(path)
    ingest(catalog, places(profiles))
    return catalog
