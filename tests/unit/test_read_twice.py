"""What a job read twice, the second time from memory: storage had it when the kernel fetched it, and that is what
neighbours can slow down.
"""

from pathlib import Path

import pytest
from slicewise.analysis.blame.blame import blame
from support.blame_trials import digests
from support.limited_reader import FIRST, LIMIT, MIB, NS
from support.swz import build_profile, of_disk

FROM_MEMORY = 20


def twice(directory: Path, rate: int, cold: int, start: int = FIRST, says_when: bool = True, again_ns: int = 0) -> Path:
    """A job that reads from a disk for so many seconds, and then all of it once more, from memory, in one. rate: of the
    disk, for this job. says_when: whether the kernel's count has slices. again_ns: what the second time takes.
    """
    number = 1 + sum(map(ord, directory.name))
    process = {"process": number, "host": "n1", "program": "/usr/bin/split", "slice_ns": NS, "command": "split big"}
    process |= {"start_ns": NS * start, "end_ns": NS * (start + cold + 1)}
    own, kernel = {"process": number, "threads": 1}, {"process": number, "layer": "kernel", "mount": 0}
    did = []
    for at in range(start, start + cold):
        did += [own | {"slice": at, "read_ns": NS, "read_bytes": rate, "read_ops": rate // MIB}]
        did += [kernel | {"slice": at if says_when else start, "read_bytes": rate, "kernel_read_bytes": rate}]
    whole = cold * rate
    again = {"slice": start + cold, "read_bytes": whole}
    did += [own | again | {"read_ns": again_ns or NS // FROM_MEMORY, "read_ops": whole // MIB}, kernel | again]
    run = {"process": 5000 + number}
    slices = range(start, start + cold + 1)
    collected = of_disk(
        run["process"], slices, lambda at: {"read_bytes": LIMIT * (at < start + cold), "read_ops": 40, "read_ns": NS}
    )
    mounts = [{"process": number, "type": "ext4", "source": "/dev/sda1"}]
    return build_profile(directory, [process], did, mounts, collected=collected)


@pytest.mark.parametrize(
    ("options", "is_moved"),
    [
        ({}, True),
        ({"says_when": False}, False),
        ({"again_ns": 4 * NS}, False),  # its time goes by what it read: the disk is as fast as memory
    ],
)
def test_bytes_are_where_the_kernel_fetched_them(tmp_path, options, is_moved):
    (job,) = digests(twice(tmp_path / "job", LIMIT, 4, **options))
    found = job.process_slices.sort("slice")
    assert found["read_bytes"].to_list() == [LIMIT] * 4 + [4 * LIMIT]
    assert found["fetched_read_bytes"].to_list() == ([2 * LIMIT] * 4 + [0] if is_moved else [None] * 5)


def test_a_neighbour_costs_what_the_first_reading_took_longer(tmp_path):
    """By the bytes of its calls the job was slow for ten slices, and then much faster than alone."""
    own, other, run = digests(
        twice(tmp_path / "job", LIMIT // 2, 10),
        twice(tmp_path / "other", LIMIT // 2, 10),
        twice(tmp_path / "alone", LIMIT, 5, start=FIRST - 100),
    )
    known, unknown = blame(own, [other], [run]), blame(own, [other], [])
    for told in (known, unknown):
        assert told.lost is not None
        (neighbour,) = told.neighbours
        assert told.lost.value == pytest.approx(5, rel=0.05)
        assert neighbour.lost.value == pytest.approx(5, rel=0.05)
