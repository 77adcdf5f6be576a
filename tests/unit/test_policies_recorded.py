"""Policies on recorded runs on GlusterFS: the simulation of jobs as they ran against when their I/O really ended."""

import tarfile
from pathlib import Path

import pytest
from slicewise.analysis.policies.after_the_fact import after_the_fact
from slicewise.digest.shared import read_digests

CAMPAIGNS = Path(__file__).resolve().parents[1] / "golden" / "campaigns"
# Two equal jobs at one time and 2 s apart; a small and a large one.
RUNS = {
    "delta-glusterfs": (["4+4-1-1", "4+4-1-2"], ["4+4after2-1-1", "4+4after2-1-2"]),
    "glusterfs": (["1+12-1-1", "1+12-1-2"],),
}
ALONE = {"delta-glusterfs": ["4-1-1"], "glusterfs": ["1-1-1", "12-1-1"]}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    directory = tmp_path_factory.mktemp("campaigns")
    for campaign, runs in RUNS.items():
        wanted = {name for run in (*runs, ALONE[campaign]) for name in run}
        with tarfile.open(CAMPAIGNS / f"{campaign}.tar.xz") as packed:
            members = [one for one in packed if wanted & set(Path(one.name).parts)]
            packed.extractall(directory, members)
    return directory


@pytest.mark.parametrize(("campaign", "run"), [(campaign, run) for campaign, runs in RUNS.items() for run in runs])
def test_jobs_simulated_as_they_ran_end_their_io_within_a_tenth_of_when_they_did(recorded, campaign, run):
    digests = read_digests([recorded / campaign / name for name in (*run, *ALONE[campaign])])
    found = after_the_fact(digests[: len(run)], digests[len(run) :], metric="sum_interference")
    assert {job.source for job in found.jobs} == {"standalone runs"}
    for check in found.checks:
        assert abs(check.relative_error) < 0.1
    assert found.is_recommended
    costs = {one.policy: one.cost("sum_interference") for one in found.comparison.simulated}
    assert costs["dynamic"] <= min(costs.values()) * 1.05
