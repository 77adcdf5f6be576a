"""The program tests/apps/tally.c: what it counted of itself, and whether a profile has it."""

import struct
from collections.abc import Sequence
from pathlib import Path

from slicewise.profile.reader import Profile
from support.programs import total
from support.waiting import wait_until

TALLY = struct.Struct("6Q16x")
COUNTED = (
    ("posix", "write_ops"), ("posix", "write_bytes"), ("stdio", "write_ops"), ("stdio", "write_bytes"),
    ("posix", "read_ops"), ("posix", "read_bytes"),
)  # fmt: skip
LARGEST_CALL_BYTES = 4096


def wait_for(path: Path) -> None:
    """Until the file is there and has something in it."""
    wait_until(lambda: path.exists() and path.stat().st_size > 0, path, pause_seconds=0.001)


def wait_for_count(tally: Path) -> None:
    """Until the program has counted a call in its tally, and so the engine has, too."""
    wait_until(lambda: tally.exists() and any(tally.read_bytes()), tally, pause_seconds=0.001)


def read_tallies(files: Sequence[Path]) -> list[int]:
    """What programs counted, in the order of COUNTED."""
    rows = [row for file in files for row in TALLY.iter_unpack(file.read_bytes())]
    return [sum(column) for column in zip(*rows, strict=True)]


def read_tally(file: Path) -> list[int]:
    return read_tallies([file])


def assert_counts_tally(profile: Profile, tally: Sequence[int], threads: int) -> None:
    """Every call that had returned and been counted by the program, and of each thread at most one more."""
    for (layer, counter), own in zip(COUNTED, tally, strict=True):
        in_flight = threads * (LARGEST_CALL_BYTES if counter.endswith("bytes") else 1)
        counted = total(profile, counter, layers=[layer])
        assert own <= counted <= own + in_flight, (layer, counter, tally)
