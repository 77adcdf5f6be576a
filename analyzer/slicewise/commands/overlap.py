"""Compare jobs that ran at the same time: when they overlapped, what each got, and what it cost them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from slicewise.analysis.blame.case import read_with_runs
from slicewise.errors import UserError
from slicewise.report.blame.blame_record import blame_record
from slicewise.report.coverage.unseen import coverage_lines
from slicewise.report.nodes.evidence import evidence_words
from slicewise.report.nodes.other_words import other_lines, others_record
from slicewise.report.overlap import overlap_words
from slicewise.report.overlap.overlap_page import jobs_table, meanings, overlap_record, overlap_report
from slicewise.report.page import joined_names, page_path, write_page
from slicewise.report.tables import for_terminal
from slicewise.terminal.output import page_line, write_answer


def overlap(
    profiles: list[Path], alone: list[Path], direction: Literal["auto", "read", "write"], html: Path | None
) -> None:
    if len(profiles) < 2:
        raise UserError(
            f"{profiles[0]}: one profile overlaps with none; give two or more, or: slicewise report {profiles[0]}"
        )
    digests, given, runs = read_with_runs(profiles, alone)
    found = overlap_report(digests, given, direction, runs)
    overlap, main, seen, blames, evidence = found.overlap, found.main, found.seen, found.blames, found.evidence
    name = f"overlap-{joined_names(job.job for job in overlap.jobs)}"
    page = write_page(found.page, html or page_path(profiles[0], name))

    def record() -> dict[str, Any]:
        records = [blame_record(blame, None) for blame in blames]
        in_short = [{key: one[key] for key in one if key not in ("slices", "shares", "page")} for one in records]
        others = {digest.job: others_record(digest) for digest in digests}
        more = {"evidence": evidence.to_dicts(), "blames": in_short, "others": others}
        return overlap_record(overlap, main, seen, page) | more

    opening = overlap_words.opening(overlap, main, blames)
    lines = [*opening, overlap_words.verdict(main, blames), evidence_words(evidence)]
    write_answer(
        record,
        [
            *(line for line in lines if line),
            "",
            for_terminal(jobs_table(overlap, main)),
            meanings(main),
            "",
            *(line for job, share in seen.items() for line in coverage_lines(job, share, says_small=False)),
            *(f"{digest.job}: {line}" for digest in digests for line in other_lines(digest)),
            "",
            page_line(page, "        Not what you expected? slicewise doctor"),
        ],
    )
