"""What is known of files that have no row of their own in a profile."""

from __future__ import annotations

from slicewise.analysis.job.io_time import FilesWithoutRow
from slicewise.text import words


def without_row(files: FilesWithoutRow | None) -> str:
    """One sentence; empty where each file has its row."""
    if files is None:
        return ""
    each = f"at most {words.size(files.most_bytes)} and took at most {words.duration(files.most_seconds)}"
    together = f"all of them together moved {words.size(files.bytes)} ({words.count(files.opens, 'open')})"
    return (
        "The tables of files keep those that moved most bytes and those that took longest. "
        f"A file without a row there moved {each} in reads and writes; {together}."
    )
