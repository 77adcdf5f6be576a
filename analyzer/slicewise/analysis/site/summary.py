"""All that a page says of some time of a site. A catalog in, the page's frames out."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import polars as pl

from slicewise.analysis.site.jobs import Wanted, list_jobs, named
from slicewise.analysis.site.load import SiteLoad, by_day, changed_programs, load, not_profiled, slow_metadata
from slicewise.analysis.site.overlaps import Pairs, known_pairs
from slicewise.analysis.site.quality import quality
from slicewise.analysis.site.worst import Worst, worst
from slicewise.catalog.store import Catalog
from slicewise.catalog.workers import Workers
from slicewise.constants import DAY_NS

# Rows of a table, and of that of the busiest jobs.
MOST_ROWS, MOST_JOBS = 50, 500
# From so many days on there is something to say of how they differ.
FEWEST_DAYS = 2


@dataclass(frozen=True)
class SiteSummary:
    """Some time of a site. jobs: how many ran; users: how many people's; busiest: rows of `list_jobs`, those that moved
    most first; worst: of blame; pairs: as `named`, of looked_for; metadata: `slow_metadata`, and metadata_call_seconds
    its mean; quality: of all jobs; days and programs: nothing where there are fewer than FEWEST_DAYS days.
    """

    start_ns: int
    end_ns: int
    jobs: int
    users: int
    read_bytes: int
    write_bytes: int
    busiest: pl.DataFrame
    load: SiteLoad | None
    worst: Worst
    pairs: pl.DataFrame
    looked_for: Pairs
    metadata: pl.DataFrame
    metadata_call_seconds: float | None
    quality: pl.DataFrame
    unprofiled: pl.DataFrame
    days: pl.DataFrame
    programs: pl.DataFrame

    @property
    def is_of_several_days(self) -> bool:
        return self.days.height >= FEWEST_DAYS


def summary(
    catalog: Catalog,
    start_ns: int,
    end_ns: int,
    most_asked: int | None,
    most_seconds: float,
    workers: Workers | None = None,
) -> SiteSummary:
    """What a page says of the time between two instants. most_asked, most_seconds, workers: as of `worst`."""
    # Blame, which takes longest, is asked here, so that Ctrl-C ends it at once.
    with ThreadPoolExecutor(1) as beside:
        rest = beside.submit(_all_but_blame, catalog, start_ns, end_ns, workers)
        asked = worst(catalog, start_ns, end_ns, most_asked, workers, most_seconds)
        return rest.result()(worst=asked)


def _all_but_blame(catalog: Catalog, start_ns: int, end_ns: int, workers: Workers | None) -> Callable[..., SiteSummary]:
    """A summary that lacks `worst` alone."""
    batches = catalog.batches_between(start_ns, end_ns)
    jobs = list_jobs(catalog, Wanted(since_ns=start_ns, until_ns=end_ns))
    moved = pl.sum_horizontal("read_bytes", "write_bytes")
    metadata, call_seconds = slow_metadata(catalog, batches, start_ns, end_ns, MOST_ROWS)
    days = by_day(catalog, batches, start_ns, end_ns)
    together = known_pairs(catalog, batches, start_ns, end_ns, MOST_ROWS, workers)
    first_ns = max(start_ns, int(jobs["start_ns"].min() or 0)) if jobs.height else start_ns  # type: ignore[arg-type]
    last_ns = min(end_ns, int(jobs["end_ns"].max() or 0)) if jobs.height else end_ns  # type: ignore[arg-type]
    is_long = days.height >= FEWEST_DAYS and last_ns - first_ns > DAY_NS
    return partial(
        SiteSummary,
        start_ns=first_ns,
        end_ns=last_ns,
        jobs=jobs.height,
        users=jobs["user"].n_unique(),
        read_bytes=int(days["read_bytes"].sum()),
        write_bytes=int(days["write_bytes"].sum()),
        busiest=jobs.sort(moved, "key", descending=[True, False]).head(MOST_JOBS),
        load=load(catalog, batches, start_ns, end_ns),
        pairs=named(catalog, together.rows, batches),
        looked_for=together,
        metadata=metadata,
        metadata_call_seconds=call_seconds,
        quality=quality(catalog, batches),
        unprofiled=not_profiled(catalog, batches, MOST_ROWS),
        days=days if is_long else days.clear(),
        programs=changed_programs(catalog, batches, first_ns, last_ns, MOST_ROWS) if is_long else pl.DataFrame(),
    )
