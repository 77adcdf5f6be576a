"""Jobs that ran at the same time, with all that their page shows: for the command and for Python alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.coverage import Coverage, coverage
from slicewise.analysis.nodes.causes import Window, evidence_of, window_of
from slicewise.analysis.overlap import overlap as analysis
from slicewise.analysis.runs.matching import match_standalone
from slicewise.digest.digest import Digest
from slicewise.kinds import CampaignDirection
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.nodes.evidence import evidence_section
from slicewise.report.nodes.other_words import others_sections
from slicewise.report.overlap.overlap_page import overlap_page
from slicewise.report.page import Page

MOST_BLAMED_JOBS = 8


@dataclass(frozen=True)
class OverlapReport:
    """main: the direction that is told first; seen: what was seen, by job; evidence: what moved on the nodes in the
    region against the runs alone.
    """

    overlap: analysis.Overlap
    main: analysis.DirectionOverlap
    seen: Mapping[str, Coverage]
    blames: Sequence[Blame]
    evidence: pl.DataFrame
    page: Page


def overlap_report(
    jobs: list[Digest], standalone: list[Digest], direction: CampaignDirection = "auto"
) -> OverlapReport:
    """Analyse jobs beside standalone runs of their programs. direction: that is told first; auto: the one with more
    bytes.
    """
    found = analysis.overlap(jobs, standalone)
    main = found.directions[found.main_direction if direction == "auto" else direction]
    seen = {job.job: coverage(job) for job in jobs}
    blames = _blames(found, jobs, standalone)
    evidence = _evidence(found, main, jobs, standalone)
    page = overlap_page(found, main, seen, unseen_lines(jobs), blames, {job.job: job.path for job in jobs})
    shown = [evidence_section(evidence)] if len(evidence) else []
    axis = range(found.first_slice, found.end_slice)
    for job in jobs:
        of_job = others_sections(job, axis, found.slice_ns)
        shown += [replace(section, heading=f"{section.heading}: {job.job}") for section in of_job]
    return OverlapReport(found, main, seen, blames, evidence, replace(page, sections=[*page.sections, *shown]))


def _blames(overlap: analysis.Overlap, jobs: list[Digest], standalone: list[Digest]) -> list[Blame]:
    """What each job lost, and to whom; of many jobs nothing, for that is a question of its own."""
    if len(jobs) > MOST_BLAMED_JOBS:
        return []
    alone = match_standalone(standalone, overlap.jobs)
    return [
        blame(job, [other for other in jobs if other is not job], [run.digest for run in alone[job.job]])
        for job in jobs
    ]


def _evidence(
    overlap: analysis.Overlap, main: analysis.DirectionOverlap, jobs: list[Digest], standalone: list[Digest]
) -> pl.DataFrame:
    """What moved on the nodes in the region against the runs alone; nothing without a region."""
    region = main.basis
    begin, end = (region.first_slice, region.end_slice) if region else (0, 0)
    together = [Window(job, begin * overlap.slice_ns, end * overlap.slice_ns) for job in jobs]
    return evidence_of([window_of(digest) for digest in standalone], together)
