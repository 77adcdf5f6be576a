"""The pages of single jobs and of pairs that the page of a day leads to."""

from dataclasses import replace
from pathlib import Path

from slicewise.analysis.blame.case import kept_case
from slicewise.analysis.coverage import coverage
from slicewise.analysis.overlap.overlap import overlap
from slicewise.analysis.site.summary import SiteSummary
from slicewise.catalog.kept import KeptDigest, KeptJob, find_job
from slicewise.catalog.store import Catalog
from slicewise.catalog.sums import Damaged
from slicewise.digest.shared import with_names_of_their_own
from slicewise.errors import UserError
from slicewise.report.blame.blame_page import blame_page
from slicewise.report.coverage.unseen import unseen_lines, with_marks
from slicewise.report.overlap.overlap_page import overlap_page
from slicewise.report.page import Page, write_page

FOLDER = "-pages"


def pages_of(catalog: Catalog, found: SiteSummary, most: int, where: Path) -> dict[tuple[str, str], str]:
    """Write the pages of the jobs that lost or cost most and of the pairs that were together longest, so many in all,
    to a folder beside the page at `where`: keys, and the link from there. Two thirds are jobs, if there are as many."""
    folder = where.with_name(where.stem + FOLDER)
    pairs = [(row["key"], row["other"]) for row in found.pairs.iter_rows(named=True)]
    pairs = list(dict.fromkeys(pairs))
    jobs = found.worst.rows["key"].to_list()
    count = max(most - len(pairs), min(len(jobs), -(-2 * most // 3)))
    links = {}
    for keys in [*((key, "") for key in jobs[:count]), *pairs[: most - min(count, len(jobs))]]:
        try:
            page = _of_pair(catalog, *keys) if keys[1] else _of_job(catalog, keys[0])
        except Damaged:
            raise
        except UserError:  # what a catalog keeps of a job may be too little
            continue
        name = f"{'-'.join(key for key in keys if key)}.html"
        write_page(page, folder / name)
        links[keys] = f"{folder.name}/{name}"
    return links


def _of_job(catalog: Catalog, key: str) -> Page:
    case, _ = kept_case(catalog, find_job(catalog, key))
    page = blame_page(case.result(), unseen_lines([case.job]), own=case.job)
    return replace(page, sections=with_marks(page.sections, {case.job.job: coverage(case.job)}))


def _of_pair(catalog: Catalog, one: str, other: str) -> Page:
    jobs: list[KeptJob] = [find_job(catalog, key) for key in (one, other)]
    digests = [KeptDigest(catalog, job) for job in jobs]
    with_names_of_their_own(digests)
    found = overlap(digests, [])
    main = found.directions[found.main_direction]
    seen = {digest.job: coverage(digest) for digest in digests}
    return overlap_page(found, main, seen, unseen_lines(digests), [])
