"""What a job did with its files, in words: onwards or to and fro, in files without a row, and waiting for its turn."""

from collections.abc import Iterator

from slicewise.analysis.job.io_time import FilesWithoutRow
from slicewise.analysis.job.totals import JobTotals
from slicewise.digest.layers import OWN_LAYERS
from slicewise.text import words


def access_lines(summary: JobTotals) -> list[str]:
    """What share of the job's writes and reads was consecutive and sequential, in one sentence; none without any that
    had one to follow."""
    if not all("write_sequential" in summary.totals.get(layer, {}) for layer in OWN_LAYERS):
        return []
    said = []
    for way in ("write", "read"):
        calls, first, consecutive, sequential = (
            sum(summary.totals[layer].get(f"{way}_{what}", 0) for layer in OWN_LAYERS)
            for what in ("ops", "first", "consecutive", "sequential")
        )
        calls -= first
        if calls > 0:
            said.append(
                f"{words.percent(consecutive / calls)} of {way}s began where the thread's last access to the file "
                f"ended, {words.percent(sequential / calls)} there or further on"
            )
    return [f"Access pattern: {'; '.join(said)}."] if said else []


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


def turn_lines(summary: JobTotals) -> Iterator[str]:
    """A sentence where the job waited: "It waited 12 s for its turn at I/O."."""
    if summary.waited_seconds > 0:
        yield f"It waited {words.duration(summary.waited_seconds)} for its turn at I/O."
