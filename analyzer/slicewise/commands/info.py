"""What a profile holds: the job, its totals, how much of it was seen, and what is missing."""

from pathlib import Path

from slicewise.analysis.job.totals import summarize
from slicewise.analysis.nodes.causes import moved
from slicewise.catalog.sources import read_digest
from slicewise.report.job.info_lines import info_lines
from slicewise.report.job.phase_words import phases_record
from slicewise.terminal.output import write_answer


def info(profile: Path, phases: bool) -> None:
    digest = read_digest(profile, in_sum=not phases, needs_axis=phases)
    summary = summarize(digest)
    found = None
    if phases:
        from slicewise.analysis.job.phases import phases as find_phases  # numpy comes along

        found = find_phases(digest)
    of_phases = {"phases": phases_record(found)} if found else {}
    write_answer(
        lambda: vars(summary) | {"nodes": moved(digest).to_dicts()} | of_phases, info_lines(digest, summary, found)
    )
