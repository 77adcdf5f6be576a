"""Calls that span slices: their parts add up to the whole exactly, and lie where the time went."""

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.programs import Apps, Ended, Job, job_in, total

SLICE_NS = 100_000_000
ROUNDS = {"read": 3, "write": 3, "meta": 1}
READ_BYTES = 3 * 1000
PIPE_BYTES = 1 << 16
WRITTEN_BYTES = 4 * PIPE_BYTES  # one before the slow ones, which fills the pipe
# Between a call's start or end and the program's look at the clock: others run too.
CLOCK_TOLERANCE_NS = 60_000_000
Span = tuple[int, int]


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory, apps: Apps) -> tuple[Profile, Ended]:
    """One run for all questions, since it lasts two seconds."""
    with job_in(tmp_path_factory.mktemp("slow")) as job:
        ended = job.run([apps.build("slow_calls")], SLICEWISE_SLICE="0.1")
    assert (ended.status, ended.errors) == (0, "")
    return job.profile(), ended


def spans(ended: Ended, kind: str) -> list[Span]:
    return [(ended.told[f"{kind}_begin_{i}"], ended.told[f"{kind}_end_{i}"]) for i in range(ROUNDS[kind])]


def by_slice(profile: Profile, column: str) -> dict[int, int]:
    rows = profile.slices.filter(pl.col("layer") == "posix", pl.col(column) > 0)
    return dict(rows.group_by("slice").agg(pl.col(column).sum()).iter_rows())


def inside(begin: int, end: int, number: int) -> int:
    """How much of [begin, end) lies in a slice."""
    return max(0, min(end, (number + 1) * SLICE_NS) - max(begin, number * SLICE_NS))


@pytest.mark.parametrize("kind", ROUNDS)
def test_time_lies_in_its_slices(slow: tuple[Profile, Ended], kind: str) -> None:
    profile, ended = slow
    told = spans(ended, kind)
    counted = by_slice(profile, f"{kind}_ns")
    for number in set(counted) | {n for begin, end in told for n in range(begin // SLICE_NS, end // SLICE_NS + 1)}:
        expected = sum(inside(begin, end, number) for begin, end in told)
        assert abs(counted.get(number, 0) - expected) <= CLOCK_TOLERANCE_NS, (number, expected)
    assert all(ns <= SLICE_NS for ns in counted.values())
    assert abs(sum(counted.values()) - sum(end - begin for begin, end in told)) <= CLOCK_TOLERANCE_NS * len(told)


@pytest.mark.parametrize(("kind", "whole"), [("read", READ_BYTES), ("write", WRITTEN_BYTES - PIPE_BYTES)])
def test_bytes_lie_with_the_time(slow: tuple[Profile, Ended], kind: str, whole: int) -> None:
    profile, ended = slow
    told = spans(ended, kind)
    counted = by_slice(profile, f"{kind}_bytes")
    per_round = whole / len(told)
    if kind == "write":
        first = min(counted)
        counted[first] -= PIPE_BYTES
    for number, moved in counted.items():
        expected = sum(per_round * inside(begin, end, number) / (end - begin) for begin, end in told)
        tolerance = per_round * CLOCK_TOLERANCE_NS / min(end - begin for begin, end in told)
        assert abs(moved - expected) <= tolerance + 1, (number, expected)
    assert len(counted) >= 6  # three calls of more than two slices each


def test_parts_add_up_exactly(slow: tuple[Profile, Ended]) -> None:
    profile, ended = slow
    assert total(profile, "read_bytes", obj="pipe") == READ_BYTES
    assert total(profile, "write_bytes", obj="pipe") == WRITTEN_BYTES
    assert total(profile, "read_ops", obj="pipe") == 3
    assert total(profile, "write_ops", obj="pipe") == 4
    slowest = profile.slices["read_slowest_ns"].max()
    assert abs(slowest - max(end - begin for begin, end in spans(ended, "read"))) <= CLOCK_TOLERANCE_NS


def test_operations_are_counted_where_they_end(slow: tuple[Profile, Ended]) -> None:
    profile, ended = slow
    ends = sorted(end // SLICE_NS for _, end in spans(ended, "read"))
    counted = by_slice(profile, "read_ops")
    near = {number + step for number in ends for step in (-1, 0, 1)}
    assert sum(counted.values()) == 3
    assert set(counted) <= near


def test_many_slices_add_up_to_the_files(job: Job, apps: Apps) -> None:
    """Work that goes on over many slices: the sums over slices are those of the table of files."""
    command = [apps.build("tally", "-pthread"), "steady", "2", "1", job.folder / "tally", job.data, job.data]
    assert job.run(command, SLICEWISE_SLICE="0.1").status == 0
    profile = job.profile()
    assert profile.slices["slice"].n_unique() >= 10
    for column in ("read_bytes", "write_bytes", "read_ops", "write_ops", "read_ns", "write_ns"):
        assert profile.files[column].sum() == total(profile, column, obj="file"), column
