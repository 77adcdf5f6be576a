"""What a job lost with the page that shows it: for the command and for Python alike."""

from __future__ import annotations

from dataclasses import replace

from slicewise.analysis.blame.case import Case
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.coverage import coverage
from slicewise.report.blame.anonymous import anonymous
from slicewise.report.blame.blame_page import blame_page
from slicewise.report.coverage.unseen import unseen_lines, with_marks
from slicewise.report.page import Page


def blame_report(case: Case, is_anonymous: bool) -> tuple[Blame, Page]:
    """is_anonymous: without the neighbours' names; a case that hides names has none whatever is asked."""
    result, paths = case.result(), {one.job: one.path for one in (case.job, *case.neighbours)}
    if is_anonymous or case.hides_names:
        result, paths = anonymous(result, case.job, case.others(), case.unread), {}
    page = blame_page(result, unseen_lines([case.job]), paths, case.job)
    return result, replace(page, sections=with_marks(page.sections, {case.job.job: coverage(case.job)}))
