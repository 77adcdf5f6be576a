"""How much of a job was seen, and what the rest may have been, in words: the same on the terminal and on every page.

Pure functions that give plain text. A likely cause is always called a guess.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from slicewise.analysis.coverage import (
    LEAST_BYTES_TO_NAME,
    STORAGE_CAUSES,
    UNHEARD,
    Cause,
    Coverage,
    Gap,
    Rings,
    Unprofiled,
)
from slicewise.analysis.sampled import Sampled
from slicewise.digest.activity import Direction
from slicewise.digest.quality import Imported
from slicewise.text import words

WAYS: tuple[Direction, ...] = ("write", "read")
DONE = {"read": "read", "write": "written"}
ONLY_BELOW = 0.5
# Of the other direction's bytes.
TRIVIAL_UNSEEN = 0.01
LOADERS = " (the rest were small reads, such as those of the loader and libc)"
MOST_SAMPLED = 3
# Nothing in a profile tells these causes from one another: size and number alone are known.
NOT_MEASURED: tuple[Cause, ...] = ("small", "past_libc")
NOTHING_COUNTED = "had nothing to compare with, for the kernel counted no bytes"
REASONS = {
    "static": "static", "go": "Go", "privileged": "with other rights than their caller's",
    "foreign": "for another kind of processor", "no_room": "no room for Slicewise's variables",
    "other_libc": "for another C library than glibc", "off": "SLICEWISE_OFF=1 is set", "unknown": "why is not known",
}  # fmt: skip
CAUSES: dict[Cause, str] = {
    "small": "the loader and libc", "bound_apart": "dlopen", "copied": "copies in the kernel",
    "dropped": "could not be counted", "past_libc": "calls past libc", "io_uring": "io_uring", "mapped": "mmap",
    "pages": "whole pages", "uncounted": "asynchronous",
}  # fmt: skip
GUESSES: dict[Cause, str] = {
    "small": "not measured. The loader and libc make such small reads (headers of libraries opened while "
    "a program runs, locales, user names)",
    "bound_apart": "libraries opened so that they bind past Slicewise (dlopen with RTLD_DEEPBIND, dlmopen)",
    "copied": "copies within the kernel (sendfile, copy_file_range, splice)",
    "dropped": "calls or requests that Slicewise saw and could not count (the problems say why)",
    "past_libc": "not measured. Neither system calls past the functions that Slicewise wraps (docs/coverage.md lists "
    "them) are seen, nor what the loader reads of many libraries",
    "io_uring": "io_uring, entered by instructions of the program's own or by the kernel's polling thread",
    "mapped": "files mapped to memory (mmap), which programs and libraries are too",
    "pages": "storage is fetched and sent in whole pages, and read ahead, around smaller calls, and files that are "
    "removed at once count as sent; no call went by unseen",
    "uncounted": "asynchronous I/O (io_uring, libaio) or splice, which the kernel does not count as calls",
}


def seen(coverage: Coverage, says_bytes: bool = False) -> str:
    """What share was seen, with "only" where it is less than half, and the programs that could not be profiled: "saw
    99.98 % of the bytes written and only 12 % of the bytes read that the kernel counted (over 3 of 4 processes): ..."
    says_bytes: "of the 15.6 GiB written". Of an imported job, how well its slices are known.
    """
    if coverage.imported is not None:
        return imported_words(coverage.imported)
    items = []
    for way in WAYS:
        share = getattr(coverage, way)
        if share is None or is_trivial(coverage, way):
            continue
        moved = words.size(getattr(coverage, f"kernel_{way}_bytes")) if says_bytes else "bytes"
        is_small = _lacks_small_alone(coverage, way)
        part = words.percent(share, 2) if is_small else _share(share)
        items.append(f"{part} of the {moved} {DONE[way]}{LOADERS if is_small else ''}")
    over = ""
    if coverage.processes != coverage.of:
        killed = f"; {_killed(coverage)}" if coverage.killed else ""
        over = f" (over {coverage.processes:,} of {words.count(coverage.of, 'process')}{killed})"
    said = f"saw {words.listing(items)} that the kernel counted{over}"
    if is_from_outside(coverage):
        return "saw no call: its processes were begun without the library, and sampled from outside"
    nothing = f"had nothing to compare with: {_killed(coverage)}" if coverage.killed else NOTHING_COUNTED
    said = said if items else nothing
    return f"{said}: {could_not_be_profiled(coverage.unprofiled)}" if coverage.unprofiled else said


def is_all_seen(coverage: Coverage) -> bool:
    """Whether nothing is to tell of what was seen: each direction is whole but for what the loader and libc read."""
    return (
        coverage.imported is None
        and not coverage.unprofiled
        and coverage.processes == coverage.of
        and all(
            getattr(coverage, way) in (None, 1.0) or is_trivial(coverage, way) or _lacks_small_alone(coverage, way)
            for way in WAYS
        )
    )


def imported_words(job: Imported) -> str:
    """Such as: "imported from Darshan's heat maps: bytes were spread over up to 5 slices, and its clock is known to 1 s
    only; what the log left out is not known"."""
    if job.is_served:
        return "the file servers counted what it moved; its processes, its calls and what it waited for are not known"
    return f"imported from {job.source}: {_placed(job)}; what the log left out is not known"


def _placed(job: Imported) -> str:
    spread = f"bytes were spread over up to {job.spread:,} slices"
    placed = spread if job.spread > 1 else "bytes are in the slices of their calls"
    error = job.clock_error_seconds
    return f"{placed}, and its clock is known to {words.duration(error)} only" if error else placed


def mark(job: str, coverage: Coverage) -> str:
    """What a chart of a job over time must say under it where the job's slices are not known exactly; else nothing."""
    known = coverage.imported
    if known is None or (known.spread <= 1 and not known.clock_error_seconds):
        return ""
    return f"≈ {job}: {_placed(known)}."


def is_trivial(coverage: Coverage, way: Direction) -> bool:
    """Whether a direction is next to nothing beside the other one and lacks no more than what the loader and libc read:
    a program's start is no news under its output."""
    counted = {"read": coverage.kernel_read_bytes, "write": coverage.kernel_write_bytes}
    share = getattr(coverage, way)
    missing = 0.0 if share is None else (1.0 - share) * counted[way]
    return counted[way] < TRIVIAL_UNSEEN * max(counted.values()) and (
        missing < LEAST_BYTES_TO_NAME or _lacks_small_alone(coverage, way)
    )


def _killed(coverage: Coverage) -> str:
    """Why some processes are not compared. What the wrappers counted of them is whole nevertheless."""
    was, its = ("was", "its") if coverage.killed == 1 else ("were", "their")
    ended = f"{was} killed or ended by {its} own system call, as Go's do"
    return f"{words.count(coverage.killed, 'process')} {ended}, so the kernel's last count is not known"


def _lacks_small_alone(coverage: Coverage, way: Direction) -> bool:
    """Whether nothing went by unseen but what the loader and libc read for themselves."""
    causes = {gap.cause for gap in coverage.gaps if gap.direction == way}
    return causes - set(STORAGE_CAUSES) == {"small"} and not getattr(coverage, f"unprofiled_{way}_bytes")


def _share(share: float) -> str:
    return f"only {words.percent(share, 2)}" if share < ONLY_BELOW else words.percent(share)


def could_not_be_profiled(unprofiled: Iterable[Unprofiled]) -> str:
    """Such as "2 processes could not be profiled (static): busybox, rclone"."""
    of_all = list(unprofiled)
    unheard = sum(program.times for program in of_all if program.reason == UNHEARD)
    unprofiled = [program for program in of_all if program.reason != UNHEARD]
    waiting = f"nothing is known yet of {words.count(unheard, 'process')} that still run or could not be profiled"
    if unheard == 1:
        waiting = "nothing is known yet of 1 process that still runs or could not be profiled"
    if not unprofiled:
        return waiting
    times = words.count(sum(program.times for program in unprofiled), "process")
    reasons = words.listing(dict.fromkeys(REASONS.get(program.reason, program.reason) for program in unprofiled))
    names = list(dict.fromkeys(Path(program.program).name or "not known which" for program in unprofiled))
    said = f"{times} could not be profiled ({reasons}): {words.some(names)}"
    return f"{said}; {waiting}" if unheard else said


def gap_lines(coverage: Coverage, says_small: bool = True) -> Iterator[str]:
    """What the programs moved that could not be profiled, each gap with its likely cause, the processes least seen.
    says_small: also what the loader and libc read for themselves."""
    moved = [
        f"{words.DID[way]} {words.size(count)}"
        for way, count in (("write", coverage.unprofiled_write_bytes), ("read", coverage.unprofiled_read_bytes))
        if count is not None
    ]
    if (coverage.unprofiled or coverage.sampled) and moved:
        what = "processes sampled from outside" if is_from_outside(coverage) else "what could not be profiled"
        yield f"By the kernel's count, {what} {words.listing(moved)}."
    yield from sampled_lines(coverage.sampled)
    yield from (_gap_line(gap) for gap in coverage.gaps if gap.cause != "small" or says_small)
    if coverage.io_uring:
        yield _rings_line(coverage.io_uring)
    least = [row for row in coverage.least_seen if says_small or not _lacks_small_alone(coverage, row.direction)]
    if least:
        named = (
            f"{row.process} ({Path(row.program).name}: {words.percent(row.share, 2)} of "
            f"{words.size(row.kernel_bytes)} {DONE[row.direction]})"
            for row in least
        )
        yield f"Least was seen of {words.listing(named)}."


def is_from_outside(coverage: Coverage) -> bool:
    """Whether all processes were sampled, as by `slicewise run --attach`, and none could have been profiled."""
    return coverage.is_sampled_alone and not coverage.unprofiled


def sampled_alone(coverage: Coverage, nodes: int) -> str:
    moved = words.wrote_and_read(coverage.unprofiled_write_bytes or 0, coverage.unprofiled_read_bytes or 0)
    who = words.processes_on_nodes(len(coverage.sampled), nodes)
    were = "was" if len(coverage.sampled) == 1 else "were"
    if is_from_outside(coverage):
        return f"{who} {were} sampled from outside, and {moved} by the kernel's count"
    return (
        f"none of its processes could be profiled; {who} {were} sampled from outside, and {moved} by the kernel's count"
    )


def sampled_lines(sampled: list[Sampled]) -> Iterator[str]:
    """Which processes could not be profiled, when they ran, and how much they moved: those that moved most."""
    for one in sampled[:MOST_SAMPLED]:
        who = f"{Path(one.program).name} ({one.process}, {REASONS.get(one.reason, one.reason)})"
        when = words.span(one.begin_ns, one.end_ns)
        if one.is_refused:
            yield f"{who} ran {when}; the kernel does not tell what it read and wrote."
            continue
        most = f", most of it about {words.clock(one.busiest_ns)}" if one.busiest_ns is not None else ""
        yield f"{who} {words.wrote_and_read(one.write_bytes, one.read_bytes)} at least, {when}{most}; sampled."
    if len(sampled) > MOST_SAMPLED:
        rest = sampled[MOST_SAMPLED:]
        moved = words.wrote_and_read(sum(one.write_bytes for one in rest), sum(one.read_bytes for one in rest))
        yield f"{words.count(len(rest), 'more process', 'more processes')} without a profile {moved}; sampled."


def _rings_line(rings: Rings) -> str:
    where = f"io_uring was in use in {words.count(rings.processes, 'process')}, and the kernel does not count its bytes"
    known = rings.requests + rings.unseen
    if not known:
        return f"{where}: none of its requests was seen."
    of = f"of its {words.count(known, 'request')}"
    if not rings.unseen:
        return f"{where}: all {of} were seen."
    return f"{where}: {_share(rings.requests / known)} {of} were seen, and the bytes of the others are in no count."


def _gap_line(gap: Gap) -> str:
    bytes_done = f"{words.size(gap.bytes)} {DONE[gap.direction]}"
    calls = f" in at most {words.count(gap.calls, 'call')}" if gap.calls else ""
    who = f"by {words.count(gap.processes, 'process')}"
    if gap.cause in STORAGE_CAUSES:
        stored = {"read": "fetched from storage", "write": "sent to storage"}[gap.direction]
        more = f"{words.size(gap.bytes)} more were {stored} than calls {words.DID[gap.direction]}"
        return f"{more}, {who}; a guess: {GUESSES[gap.cause]}."
    where = "seen, but not in the kernel's count" if gap.cause == "uncounted" else "not seen"
    basis = "cause" if gap.cause in NOT_MEASURED else "a guess"
    return f"{bytes_done}{calls} {who}: {where}; {basis}: {GUESSES[gap.cause]}."
