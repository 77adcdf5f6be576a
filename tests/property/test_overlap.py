"""What must hold of any comparison of jobs, however odd the jobs are."""

import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slicewise.analysis.overlap.overlap import overlap
from slicewise.estimate import Estimate
from support.tabled_jobs import write_job

SLICES = 8
rows = st.lists(st.sampled_from([0, 0, 1, 20, 60]), min_size=SLICES, max_size=SLICES)
jobs = st.fixed_dictionaries(
    {
        "mib": st.lists(rows, min_size=1, max_size=3),
        "is_mpi": st.booleans(),
        "busy": st.sampled_from([0, 1e-6, 0.5, 1, 3]),
        "host": st.sampled_from(["n1", "n2"]),
        "direction": st.sampled_from(["read", "write", "write"]),
        "program": st.sampled_from(["/bin/a", "/bin/b"]),
    }
)

SLIGHT = 0.01


def estimates_in(value: object) -> Iterator[Estimate]:
    if isinstance(value, Estimate):
        yield value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from estimates_in(getattr(value, field.name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from estimates_in(item)
    elif isinstance(value, dict):
        yield from estimates_in(list(value.values()))


@settings(max_examples=30)
@given(st.lists(jobs, min_size=2, max_size=3), st.booleans())
def test_any_jobs(kinds, with_alone):
    with tempfile.TemporaryDirectory() as directory:
        profiles = [write_job(Path(directory, f"job{place}"), **kind) for place, kind in enumerate(kinds)]
        alone = [write_job(Path(directory, "alone"), **kinds[0])] if with_alone else []
        result = overlap(profiles, alone)
    for estimate in estimates_in(result):
        assert 0 <= estimate.low <= estimate.value * (1 + 1e-9)
        assert estimate.value <= estimate.high * (1 + 1e-9)
    for kind, profile, place in zip(kinds, profiles, range(len(kinds)), strict=True):
        for name, direction in result.directions.items():
            of_processes = [sum(row) * 2**20 if kind["direction"] == name else 0 for row in kind["mib"]]
            moved = sum(of_processes)
            # A process that moved next to nothing beside another may be none that matters.
            slight = sum(part for part in of_processes if part < SLIGHT * max(of_processes))
            job = direction.jobs[place]
            assert moved - slight <= job.bytes + job.use.elsewhere_bytes <= moved, profile.job
            assert (job.span is None) == (moved == 0)
    for direction in result.directions.values():
        every, any_ = direction.regions.every_process, direction.regions.any_process
        assert every is None or every.slices <= direction.regions.union.slices
        assert every is None or any_.slices >= every.slices
        for (_,), slice_shares in direction.shares.group_by("slice"):
            for column in ("share", "fair_by_process", "fair_by_node"):
                assert slice_shares[column].sum() == pytest.approx(1)
        if direction.not_applicable:
            assert not direction.predictions
            assert direction.contention.contended is None
