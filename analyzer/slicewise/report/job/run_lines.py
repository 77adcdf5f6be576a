"""What `slicewise run` says at the end of a command: what went wrong, what was seen, which share, what to do next."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from slicewise.analysis.coverage import Unprofiled
from slicewise.analysis.job.io_time import FilesWithoutRow, IoTime
from slicewise.analysis.job.totals import JobTotals
from slicewise.constants import LITTLE_BYTES
from slicewise.contract import SAID_PROBLEMS, advice
from slicewise.digest.digest import Digest
from slicewise.digest.layers import OWN_LAYERS
from slicewise.report.coverage import coverage_words
from slicewise.text import words
from slicewise.text.safe_text import as_named_from_here

# A command that is over sooner is told what it did, and no share of its runtime: profiling has a cost that comes once.
SHORT_SECONDS = 1.0
# Streams that fetched so many times what was read of them threw most of it away.
REFILLS = 4.0


def run_lines(summary: JobTotals, io_time: IoTime, job_dir: Path) -> Iterator[str]:
    """Three lines, two of a short command or one that only was sampled, and one more for each damage to the profile."""
    shown = as_named_from_here(job_dir)
    if summary.coverage.is_sampled_alone:
        unprofiled = summary.coverage.unprofiled
        why = coverage_words.could_not_be_profiled(unprofiled) if unprofiled else "no process of it had the library"
        yield f"nothing was profiled: {why}"
        yield from coverage_words.sampled_lines(summary.coverage.sampled)
        yield f"profile in {shown}; next: slicewise report {shown}"
        return
    who = words.processes_on_nodes(summary.processes, len(summary.hosts))
    moved = (sum(summary.totals[layer][f"{way}_bytes"] for layer in OWN_LAYERS) for way in ("write", "read"))
    did = words.wrote_and_read(*moved)
    how_long = words.duration_between(summary.start, summary.end)
    yield f"{who} {did} in a runtime of {how_long}; {_in_calls(summary, io_time)}"
    yield from turn_lines(summary)
    seen = coverage_words.seen(summary.coverage)
    share = summary.profiler.share_of_runtime
    seconds = words.seconds_between(summary.start, summary.end)
    if seconds is not None and seconds < SHORT_SECONDS:
        if not coverage_words.is_all_seen(summary.coverage):
            yield seen
        yield f"profile in {shown}; next: slicewise report {shown}"
        yield from (damage.message for damage in summary.damage)
        return
    cost = "" if share is None else f"; cost {words.percent(share, 2)} of the runtime"
    yield f"{seen}{cost}; profile in {shown}"
    yield f"next: slicewise report {shown}   or, who slowed it down:  slicewise blame {shown}"
    yield from (damage.message for damage in summary.damage)


def refill_lines(summary: JobTotals) -> Iterator[str]:
    """What streams fetched, where that is far more than was read of them: moves (fseek) threw it away."""
    stdio = summary.totals.get("stdio", {})
    read, fetched = stdio.get("read_bytes") or 0, stdio.get("kernel_read_bytes") or 0
    if fetched - read >= LITTLE_BYTES and fetched >= REFILLS * read:
        yield (
            f"Streams filled their buffers with {words.size(fetched)}, for {words.size(read)} that were read of them: "
            "each move to another place (fseek) fills a buffer anew."
        )


def problem_lines(digest: Digest) -> Iterator[str]:
    """A line for each problem of the job that is worth one: how many processes met it, what it is, and what to do."""
    said = digest.mishaps.filter(pl.col("mishap").is_in(SAID_PROBLEMS))
    meanings = digest.meanings("mishaps")
    for name, processes in said.group_by("mishap").agg(pl.col("process").n_unique()).sort("mishap").iter_rows():
        yield f"{words.count(processes, 'process')}: {meanings.get(name, name)}. {advice(name)}".rstrip()


def nothing_line(program: str, reason: str, write_bytes: int, read_bytes: int, has_collector: bool) -> str:
    """Why a command has no profile though it moved so much, as the kernel counted, and what to do about it.

    has_collector: whether the node's collector ran beside it.
    """
    why = "is the program static, or has it other rights than yours?"
    if reason != "unknown":
        why = f"{coverage_words.could_not_be_profiled([Unprofiled(program, reason, 1)])}."
    if write_bytes + read_bytes < LITTLE_BYTES:
        return f"nothing was profiled: {why.removesuffix('.')}"
    said = (
        f"nothing was profiled: {why} By the kernel's count the command {words.wrote_and_read(write_bytes, read_bytes)}"
    )
    if not has_collector:
        return f"{said}. Without --no-collector the node's collector samples such processes from outside"
    return f"{said}. The node's collector samples such processes once they run longer than a slice: try --slice 0.5"


def _in_calls(summary: JobTotals, io_time: IoTime) -> str:
    if io_time.processes.is_empty():
        return "no time in I/O calls"
    slowest, median = words.duration(io_time.slowest), words.duration(io_time.median)
    if io_time.processes.height == 1:
        runtime = words.seconds_between(summary.start, summary.end)
        is_part = runtime is None or io_time.slowest <= runtime
        return f"{slowest} of it in I/O calls" if is_part else f"{slowest} in I/O calls, added up over its threads"
    return f"in I/O calls the slowest {'rank' if summary.ranks else 'process'} was {slowest}, the median one {median}"


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
