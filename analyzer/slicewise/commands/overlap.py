"""Compare jobs that ran at the same time: when they overlapped, what each got, and what it cost them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import typer

from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.coverage import coverage
from slicewise.analysis.nodes.causes import Window, evidence_of, window_of
from slicewise.analysis.overlap import overlap as analysis
from slicewise.analysis.runs.matching import match_standalone
from slicewise.catalog.sources import read_digests
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.report.blame.blame_json import blame_record
from slicewise.report.coverage.unseen import coverage_lines, unseen_lines
from slicewise.report.nodes.evidence import evidence_section, evidence_words
from slicewise.report.overlap import overlap_words
from slicewise.report.overlap.overlap_json import overlap_record
from slicewise.report.overlap.overlap_page import overlap_page
from slicewise.report.overlap.overlap_tables import jobs_table, meanings
from slicewise.report.page import joined_names, page_path, write_page
from slicewise.report.tables import for_terminal, line_for_terminal
from slicewise.terminal.output import AsJson, OutputFile, PageFile, write_json, write_text

MOST_BLAMED_JOBS = 8


def overlap(
    profiles: Annotated[
        list[Path], typer.Argument(metavar="PROFILE PROFILE...", help="Jobs' directories or .swz files.")
    ],
    alone: Annotated[
        list[Path] | None,
        typer.Option(metavar="JOBDIR", help="A standalone run of one of the programs; may be repeated."),
    ] = None,
    direction: Annotated[
        Literal["auto", "read", "write"], typer.Option(help="Tell of this first; auto: whichever moved more bytes.")
    ] = "auto",
    html: PageFile = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Compare jobs that ran at the same time: when they overlapped, what each got, and what it cost them.

    Example: slicewise overlap slicewise/48213 slicewise/48190 --alone slicewise/48001
    """
    if len(profiles) < 2:
        raise UserError(
            f"{profiles[0]}: one profile overlaps with none; give two or more, or: slicewise report {profiles[0]}"
        )
    digests = read_digests(profiles)
    standalone = read_digests(alone or [])
    overlap = analysis.overlap(digests, standalone)
    main = overlap.directions[overlap.main_direction if direction == "auto" else direction]
    page = html or page_path(profiles[0], f"overlap-{joined_names(job.job for job in overlap.jobs)}")
    seen = {digest.job: coverage(digest) for digest in digests}
    blames = _blames(overlap, digests, standalone)
    evidence = _evidence(overlap, main, digests, standalone)
    whole = overlap_page(overlap, main, seen, unseen_lines(digests), blames)
    shown = [evidence_section(evidence)] if len(evidence) else []
    write_page(replace(whole, sections=[*whole.sections, *shown]), page)
    if json:
        more = {"evidence": evidence.to_dicts(), "blames": [_in_short(blame) for blame in blames]}
        write_json(overlap_record(overlap, main, seen, page) | more, output)
        return
    opening = overlap_words.opening(overlap, main, blames)
    lines = [*opening, overlap_words.verdict(main, blames), evidence_words(evidence)]
    write_text(
        [
            *(line for line in lines if line),
            "",
            for_terminal(jobs_table(overlap, main)),
            meanings(main),
            "",
            *(line for job, share in seen.items() for line in coverage_lines(job, share, says_small=False)),
            "",
            line_for_terminal(f"Page: {page}        Not what you expected? slicewise doctor", is_folded=False),
        ],
        output,
    )


def _blames(overlap: analysis.Overlap, jobs: list[Digest], standalone: list[Digest]) -> list[Blame]:
    """What each job lost, and to whom; of many jobs nothing, for that is a question of its own."""
    if len(jobs) > MOST_BLAMED_JOBS:
        return []
    alone = match_standalone(standalone, overlap.jobs)
    return [
        blame(job, [other for other in jobs if other is not job], [run.digest for run in alone[job.job]])
        for job in jobs
    ]


def _in_short(of_job: Blame) -> dict[str, Any]:
    """What `slicewise blame --json` says of a job, without its slices."""
    return {key: value for key, value in blame_record(of_job, None).items() if key not in ("slices", "shares", "page")}


def _evidence(
    overlap: analysis.Overlap, main: analysis.DirectionOverlap, jobs: list[Digest], standalone: list[Digest]
) -> pl.DataFrame:
    """What moved on the nodes in the region against the runs alone; nothing without a region."""
    region = main.basis
    begin, end = (region.first_slice, region.end_slice) if region else (0, 0)
    together = [Window(job, begin * overlap.slice_ns, end * overlap.slice_ns) for job in jobs]
    return evidence_of([window_of(digest) for digest in standalone], together)
