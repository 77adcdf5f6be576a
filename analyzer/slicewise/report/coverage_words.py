"""How much of a job was seen, and what the rest may have been, in words: the same on the terminal and on every page.

Pure functions that give plain text. A likely cause is always called a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from slicewise.analysis.coverage import Cause, Coverage, Gap, Unprofiled
from slicewise.report import words

DONE = {"read": "read", "write": "written"}
DID = {"read": "read", "write": "wrote"}
ONLY_BELOW = 0.5
MOST_NAMED = 4
REASONS = {
    "static": "static", "go": "Go", "privileged": "with other rights than their caller's",
    "foreign": "for another kind of processor", "unknown": "why is not known",
}  # fmt: skip
GUESSES: dict[Cause, str] = {
    "small": "small reads of the loader and of libc itself (headers of libraries, locales, user names)",
    "copied": "copies within the kernel (sendfile, copy_file_range, splice)",
    "past_libc": "system calls past the functions that Slicewise wraps (docs/coverage.md lists them): syscall(), "
    "inlined ones, or a statically linked library",
    "mapped": "files mapped to memory (mmap), or read-ahead and whole pages around small calls",
    "uncounted": "asynchronous I/O (io_uring, libaio) or splice, which the kernel does not count as calls",
}


def seen(coverage: Coverage, says_bytes: bool = False) -> str:
    """What share was seen, with "only" where it is less than half, and the programs that could not be profiled: "saw
    99.98 % of the bytes written and only 12 % of the bytes read that the kernel counted (over 3 of 4 processes): ..."
    says_bytes: "of the 15.6 GiB written".
    """
    sides = [
        (coverage.write, coverage.kernel_write_bytes, "written"),
        (coverage.read, coverage.kernel_read_bytes, "read"),
    ]
    items = [
        f"{_share(share)} of the {words.size(counted) if says_bytes else 'bytes'} {done}"
        for share, counted, done in sides
        if share is not None
    ]
    over = ""
    if coverage.processes != coverage.of:
        over = f" (over {coverage.processes:,} of {words.count(coverage.of, 'process')})"
    said = f"saw {words.listing(items)} that the kernel counted{over}"
    said = said if items else "the kernel counted no bytes to compare with"
    return f"{said}: {could_not_be_profiled(coverage.unprofiled)}" if coverage.unprofiled else said


def _share(share: float) -> str:
    return f"only {words.percent(share, 2)}" if share < ONLY_BELOW else words.percent(share)


def could_not_be_profiled(unprofiled: Iterable[Unprofiled]) -> str:
    """Such as "2 processes could not be profiled (static): busybox, rclone"."""
    unprofiled = list(unprofiled)
    times = words.count(sum(program.times for program in unprofiled), "process")
    reasons = words.listing(dict.fromkeys(REASONS.get(program.reason, program.reason) for program in unprofiled))
    names = list(dict.fromkeys(Path(program.program).name or "not known which" for program in unprofiled))
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"{times} could not be profiled ({reasons}): {', '.join(names[:MOST_NAMED])}{more}"


def gap_lines(coverage: Coverage) -> Iterator[str]:
    """What the programs moved that could not be profiled, each gap with its likely cause, the processes least seen."""
    moved = [
        f"{DID[way]} {words.size(count)}"
        for way, count in (("write", coverage.unprofiled_write_bytes), ("read", coverage.unprofiled_read_bytes))
        if count is not None
    ]
    if coverage.unprofiled and moved:
        yield f"By the kernel's count, what could not be profiled {words.listing(moved)}."
    yield from (_gap_line(gap) for gap in coverage.gaps)
    if coverage.least_seen:
        least = (
            f"{row.process} ({Path(row.program).name}: {words.percent(row.share, 2)} of "
            f"{words.size(row.kernel_bytes)} {DONE[row.direction]})"
            for row in coverage.least_seen
        )
        yield f"Least was seen of {words.listing(least)}."


def _gap_line(gap: Gap) -> str:
    bytes_done = f"{words.size(gap.bytes)} {DONE[gap.direction]}"
    calls = f" in at most {words.count(gap.calls, 'call')}" if gap.calls else ""
    who = f"by {words.count(gap.processes, 'process')}"
    if gap.cause == "mapped":
        stored = {"read": "fetched from storage", "write": "sent to storage"}[gap.direction]
        more = f"{words.size(gap.bytes)} more were {stored} than calls {DID[gap.direction]}"
        return f"{more}, {who}; a guess: {GUESSES[gap.cause]}."
    where = "seen, but not in the kernel's count" if gap.cause == "uncounted" else "not seen"
    return f"{bytes_done}{calls} {who}: {where}; a guess: {GUESSES[gap.cause]}."
