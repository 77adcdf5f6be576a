"""The parts of a difference add up to it, whatever two runs did."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slicewise.analysis.compare.compare import compare
from slicewise.analysis.compare.difference import Loss
from slicewise.digest.shared import read_digests
from slicewise.estimate import Estimate
from support.runs import metadata, moved, write_run

SIZES = st.sampled_from([512, 4096, 65536, 1 << 20, 1 << 23])
AMOUNTS = st.floats(0, 200)
SECONDS = st.floats(0, 1)
ROWS = st.one_of(
    st.builds(moved, st.sampled_from(["read", "write"]), AMOUNTS, SECONDS, SIZES),
    st.builds(metadata, st.integers(0, 10_000), SECONDS),
)
PROCESSES = st.lists(st.dictionaries(st.integers(0, 19), ROWS, max_size=12), min_size=1, max_size=4)
RUNS = st.tuples(st.floats(0.001, 20), PROCESSES, st.booleans())
ESTIMATES = st.floats(-5, 20).map(lambda value: Estimate(value, value - 1, value + 1, "given"))


def in_ns(seconds: float) -> int:
    return round(seconds * 1e9)


@settings(max_examples=60)
@given(
    runs=st.lists(RUNS, min_size=2, max_size=3),
    losses=st.dictionaries(st.integers(0, 2), ESTIMATES),
)
def test_parts_add_up_exactly(runs, losses):
    with tempfile.TemporaryDirectory() as directory:
        paths = [
            write_run(Path(directory) / f"r{place}", seconds, processes, is_mpi=is_mpi)
            for place, (seconds, processes, is_mpi) in enumerate(runs)
        ]
        found = compare(
            read_digests(paths),
            {f"r{place}": Loss(lost) for place, lost in losses.items()},
        )
    for told in found.differences:
        assert sum(in_ns(value) for value in told.parts().values()) == in_ns(told.difference_seconds)
        of_own = [part.value for part in told.own_io.parts.values() if part]
        assert sum(map(in_ns, of_own)) == in_ns(told.own_io.seconds.value)
        for part in [
            told.own_io.seconds,
            told.unexplained_seconds,
            *filter(None, told.own_io.parts.values()),
        ]:
            assert part.low <= part.value <= part.high
    if found.shares:
        assert sum(found.shares.values()) == pytest.approx(1)


@settings(max_examples=30)
@given(run=RUNS)
def test_a_run_differs_from_its_like_by_nothing(run):
    seconds, processes, is_mpi = run
    with tempfile.TemporaryDirectory() as directory:
        paths = [write_run(Path(directory) / name, seconds, processes, is_mpi=is_mpi) for name in ("one", "other")]
        (told,) = compare(read_digests(paths)).differences
    parts = told.parts()
    assert set(parts) == {"computing", "own_io", "lost", "waiting", "unexplained"}
    assert list(parts.values()) == pytest.approx([0] * len(parts), abs=1e-6)
