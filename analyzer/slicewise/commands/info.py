"""What a profile holds: the job, its totals, how much of it was seen, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slicewise.analysis.job.totals import summarize
from slicewise.analysis.nodes.samples import moved
from slicewise.catalog.sources import read_digest
from slicewise.report.job.info_lines import info_lines
from slicewise.report.job.phase_words import phases_record
from slicewise.terminal.output import AsJson, OutputFile, write_json, write_text


def info(
    profile: Annotated[Path, typer.Argument(metavar="PROFILE", help="A job's directory, or one node's .swz file.")],
    phases: Annotated[bool, typer.Option("--phases", help="Also when it did I/O: phases and period.")] = False,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Say what a profile holds: the job, its totals, how much of it was seen, and what is missing.

    Example: slicewise info slicewise/48213
    """
    digest = read_digest(profile, in_sum=not phases, needs_axis=phases)
    summary = summarize(digest)
    found = None
    if phases:
        from slicewise.analysis.job.phases import phases as find_phases  # numpy comes along

        found = find_phases(digest)
    if json:
        record = vars(summary) | {"nodes": moved(digest).to_dicts()}
        write_json(record | ({"phases": phases_record(found)} if found else {}), output)
    else:
        write_text(info_lines(digest, summary, found), output)
