"""What a profile holds: the job, its totals, how much of it was seen, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slicewise.analysis.totals import summarize
from slicewise.output import AsJson, OutputFile, write_json, write_text
from slicewise.profile.reader import read_profile
from slicewise.report.info_lines import info_lines


def info(
    profile: Annotated[Path, typer.Argument(metavar="PROFILE", help="A job's directory, or one node's .swz file.")],
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Say what a profile holds: the job, its totals, how much of it was seen, and what is missing."""
    read = read_profile(profile)
    summary = summarize(read)
    if json:
        write_json(summary, output)
    else:
        write_text(info_lines(read, summary), output)
