"""What is missing from a profile, in words: damaged bytes, lost frames, processes without an end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from slicewise.text import words

MOST_NAMED = 4


@dataclass(frozen=True)
class Damage:
    """Something that could not be read. `message` is the line for a user. kind: "damaged": bytes of a file are no sound
    frames; "missing": a process's frames are not there at all; "unfinished": processes without their last frame;
    "implausible": processes with numbers that no job has, which are left out. byte_ranges: (first, end) in `file`.
    processes: unique ids of those concerned, as far as known. lost_frames: frames that nobody has; lost_slices: slices
    that only they held.
    """

    kind: Literal["damaged", "missing", "unfinished", "implausible"]
    file: str
    message: str
    byte_ranges: tuple[tuple[int, int], ...] = ()
    processes: tuple[int, ...] = ()
    lost_frames: int = 0
    lost_slices: int = 0


@dataclass(frozen=True)
class Missed:
    """Frames of one process that nobody has. slices: how many lie between those of the frames around the gaps."""

    process: int
    frames: int
    slices: int


def in_words(
    file: str,
    sound_frames: int,
    byte_ranges: Sequence[tuple[int, int]],
    damaged_frames: int,
    losses: Sequence[Missed],
    pids: Mapping[int, int],
    slice_ns: int,
) -> str:
    """The line for one file: what is damaged, what is missing for it, and that the rest is there."""
    what = _lost(losses, pids, slice_ns)
    if not byte_ranges:
        return f"{file}: {what} missing; all else was read"
    are = "is" if damaged_frames == 1 else "are"
    frames = sound_frames + damaged_frames
    return (
        f"{file}: {damaged_frames:,} of {frames:,} frames {are} damaged (bytes {_ranges(byte_ranges)}): "
        f"{what + ' missing' if losses else 'nothing else is known to be missing'}; all else was read"
    )


def unfinished_in_words(profile: str, processes: int, is_directory: bool) -> str:
    who = f"{words.count(processes, 'process')} {'has' if processes == 1 else 'have'}"
    directory = profile if is_directory else "JOBDIR"
    return f"{profile}: {who} not finished (still running, or killed: slicewise recover {directory})"


def odd_in_words(profile: str, odd: Mapping[int, str], pids: Mapping[int, int]) -> str:
    """The line for processes that are left out, each with what is wrong with it."""
    named = [
        f"{f'process {pids[process]}' if process in pids else f'collector {process:#x}'} ({what})"
        for process, what in list(odd.items())[:MOST_NAMED]
    ]
    more = len(odd) - MOST_NAMED
    if more > 0:
        named.append(f"{more:,} more")
    are = "is" if len(odd) == 1 else "are"
    return f"{profile}: {', '.join(named)} {are} left out: no job has such numbers; all else was read"


def _ranges(byte_ranges: Sequence[tuple[int, int]]) -> str:
    named = ", ".join(f"{begin:,}-{end - 1:,}" for begin, end in byte_ranges[:MOST_NAMED])
    more = len(byte_ranges) - MOST_NAMED
    return f"{named}, and {more:,} more ranges" if more > 0 else named


def _lost(losses: Sequence[Missed], pids: Mapping[int, int], slice_ns: int) -> str:
    """ "8 s of process 4411 and 2 frames of process 4412 are"."""
    parts = []
    for loss in losses[:MOST_NAMED]:
        seconds = f"{loss.slices * slice_ns / 1e9:,.10g} s"
        amount = seconds if loss.slices else words.count(loss.frames, "frame")
        name = f"process {pids[loss.process]}" if loss.process in pids else f"an unknown process ({loss.process:#x})"
        parts.append(f"{amount} of {name}")
    more = len(losses) - MOST_NAMED
    if more > 0:
        parts.append(f"frames of {more:,} more processes")
    is_one = len(losses) == 1 and losses[0].frames == 1 and not losses[0].slices
    return f"{words.listing(parts)} {'is' if is_one else 'are'}"
