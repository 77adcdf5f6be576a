"""Answers for Python and notebooks: what `slicewise report`, `blame` and `overlap` say, as values, shown by Jupyter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicewise.analysis.blame.case import by_the_way, case_of
from slicewise.digest.digest import read_digest
from slicewise.digest.shared import read_digests
from slicewise.digest.surroundings import Surroundings
from slicewise.report.blame.blame_page import blame_report
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.job.job_page import job_page, job_report
from slicewise.report.overlap.overlap_page import overlap_report
from slicewise.report.page import Page, fragment_of, write_page


@dataclass(frozen=True, repr=False)
class Answer:
    """An answer. result: its figures, as the analysis gives them; page: what a person reads."""

    result: Any
    page: Page

    def __repr__(self) -> str:
        return "\n".join(self.page.sentences)

    def _repr_html_(self) -> str:
        return fragment_of(self.page)

    def save(self, path: str | Path) -> Path:
        """Write the whole page, with charts and tables, as one HTML file. Raises UserError where that cannot be."""
        write_page(self.page, Path(path))
        return Path(path)


def report(job: str | Path) -> Answer:
    """What one job did, as `slicewise report` says it. result: a JobReport.

    Raises UserError as `slicewise.read` does.
    """
    digest = read_digest(Path(job), distributions=True)
    found = job_report(digest, lost_share=by_the_way(Path(job), Surroundings()).lost_share)
    return Answer(found, job_page(found, unseen_lines([digest])))


def blame(job: str | Path, neighbours: Iterable[str | Path] = (), alone: Iterable[str | Path] = ()) -> Answer:
    """Who slowed a job down, by how much, and how sure that is, as `slicewise blame` says it. result: a Blame.

    neighbours: jobs that may have slowed it down; without any they are looked for beside the job. alone: standalone
    runs of the same program. Raises UserError as `slicewise.read` does.
    """
    case = case_of(Path(job), [Path(one) for one in neighbours], [Path(one) for one in alone], Surroundings())
    return Answer(*blame_report(case, is_anonymous=False))


def overlap(jobs: Iterable[str | Path], alone: Iterable[str | Path] = ()) -> Answer:
    """What jobs that ran at the same time cost each other, as `slicewise overlap` says it. result: an OverlapReport.

    alone: standalone runs of their programs. Raises UserError as `slicewise.read` does, and where fewer than two jobs
    are given or nothing of them can be compared.
    """
    found = overlap_report(read_digests([Path(one) for one in jobs]), read_digests([Path(one) for one in alone]))
    return Answer(found, found.page)
