"""Policies for jobs that ran: their phases, the check against what happened, and when nothing is recommended."""

import tarfile
from pathlib import Path

import pytest
from slicewise.analysis.capacity.capacity import given as given_capacity
from slicewise.analysis.policies.after_the_fact import after_the_fact
from slicewise.digest.shared import read_digests
from slicewise.errors import UserError
from slicewise.report.policy import policy_report
from support.command_line import json_of, slicewise_command
from support.tabled_jobs import EPOCH, MIB, write_job

S = 1_000_000_000
NETWORK = {"point": "/scratch", "type": "lustre", "source": "mds:/scratch"}
# 100 MiB/s in 1 s slices. A alone: 20 slices of 100; B alone: 5. B comes after 8 s; both have two processes.
ALONE_A, ALONE_B = [50.0] * 20, [50.0] * 5
TOGETHER_A = [50.0] * 8 + [25.0] * 10 + [50.0] * 7
TOGETHER_B = [25.0] * 10
CAMPAIGNS = Path(__file__).resolve().parents[1] / "golden" / "campaigns"
# Two equal jobs at one time and 2 s apart; a small and a large one.
RUNS = {
    "delta-glusterfs": (["4+4-1-1", "4+4-1-2"], ["4+4after2-1-1", "4+4after2-1-2"]),
    "glusterfs": (["1+12-1-1", "1+12-1-2"],),
}
ALONE = {"delta-glusterfs": ["4-1-1"], "glusterfs": ["1-1-1", "12-1-1"]}


def write(directory, name, row, begin=0, processes=2, program=None):
    return write_job(
        directory / name, [row] * processes, host=name, slice_ns=S, first_slice=EPOCH + begin, mount=NETWORK,
        program=program or f"/opt/{name[0]}",
    )  # fmt: skip


@pytest.fixture
def pair(tmp_path):
    return [write(tmp_path, "a", TOGETHER_A), write(tmp_path, "b", TOGETHER_B, begin=8)]


@pytest.fixture
def alone(tmp_path):
    return [write(tmp_path, "a-alone", ALONE_A, begin=1000), write(tmp_path, "b-alone", ALONE_B, begin=2000)]


def test_jobs_are_simulated_as_they_ran_and_under_each_policy(pair, alone):
    found = after_the_fact(pair, alone)
    assert [job.source for job in found.jobs] == ["standalone runs"] * 2
    assert found.capacity.rate.value == pytest.approx(100 * MIB, rel=1e-3)
    assert [check.observed for check in found.checks] == pytest.approx([25, 10], rel=1e-6)
    assert [check.simulated for check in found.checks] == pytest.approx([25, 10], rel=1e-2)
    interrupted = next(one for one in found.comparison.simulated if one.policy == "interrupt")
    assert [job.io_seconds for job in interrupted.jobs] == pytest.approx([25, 5], rel=1e-2)
    assert found.chosen == "interrupt"
    assert policy_report.for_whom(found.comparison, interrupted).startswith("Gains: b 5")


def test_without_standalone_runs_quiet_slices_and_the_capacity_stand_in(pair):
    found = after_the_fact(pair)
    assert [job.source for job in found.jobs] == ["quiet slices", "the storage's capacity"]
    assert [check.simulated for check in found.checks] == pytest.approx([25, 10], rel=1e-2)


def test_computing_between_phases_is_kept(tmp_path):
    a = write(tmp_path, "a", ([50.0] * 4 + [0.0] * 6) * 2)
    b = write(tmp_path, "b", [0.0] * 4 + [50.0] * 3, begin=0)
    found = after_the_fact([a, b], capacity=given_capacity(100 * MIB))
    assert [len(job.plan.phases) for job in found.jobs] == [2, 1]
    assert found.jobs[0].plan.phases[1].computing == pytest.approx(6, abs=0.01)
    assert found.comparison.undisturbed.jobs[0].phases[1] == pytest.approx((10, 14), abs=0.01)
    assert found.chosen == "interfere"
    assert policy_report.verdict_after(found).startswith("No policy lowers")


def test_a_policy_that_gains_less_than_the_error_is_not_recommended(pair, alone):
    found = after_the_fact(pair, alone, capacity=given_capacity(120 * MIB))
    assert not found.is_recommended
    assert found.chosen == "interfere"
    assert found.is_worth_it
    assert policy_report.verdict_after(found).startswith("No policy is recommended")


def test_jobs_that_cannot_be_compared_are_refused(tmp_path, pair):
    with pytest.raises(UserError, match="two or more jobs"):
        after_the_fact(pair[:1])
    elsewhere = write_job(
        tmp_path / "c", [[50.0] * 10], host="c", slice_ns=S, mount=NETWORK | {"source": "other:/", "point": "/other"}
    )
    with pytest.raises(UserError, match="no common file system"):
        after_the_fact([pair[0], elsewhere])


def test_the_command_takes_jobs_without_a_name_of_its_own(pair, alone, tmp_path):
    page = tmp_path / "page.html"
    jobs = [str(digest.path) for digest in pair]
    runs = [word for digest in alone for word in ("--alone", str(digest.path))]
    done = slicewise_command("turns", "policy", *jobs, *runs, "--html", page)
    assert done.text.startswith("The policy interrupt costs least: CPU seconds in I/O ")
    assert "Check of the simulation: simulated as they ran" in done.text
    assert "Does the simulation fit what happened?" in page.read_text()
    assert "a and b: one I/O phase, so the period is not known, by which set10 goes." in done.text
    record = json_of("turns", "policy", *jobs, "--metric", "sum_interference", "--html", page)
    assert {"policies", "chosen", "validation", "error", "capacity", "page"} < set(record)
    assert [one["job"] for one in record["validation"]] == ["a", "b"]
    assert slicewise_command("turns", "policy", jobs[0]).status == 2
    assert slicewise_command("turns").status == 0


def test_a_reader_and_a_writer_that_do_not_hold_each_other_up_share_all_that_both_move(tmp_path):
    def one(name, direction, begin=0):
        return write_job(
            tmp_path / name, [[50.0] * 10] * 2, host=name, slice_ns=S, first_slice=EPOCH + begin, mount=NETWORK,
            program=f"/opt/{direction}", direction=direction,
        )  # fmt: skip

    alone = [one("r-alone", "read", 100), one("w-alone", "write", 200)]
    found = after_the_fact([one("r", "read"), one("w", "write", 2)], alone)
    assert found.capacity.rate.value == pytest.approx(200 * MIB)
    assert found.capacity.is_floor
    assert [check.relative_error for check in found.checks] == pytest.approx([0, 0], abs=1e-6)
    assert found.chosen == "interfere"


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
