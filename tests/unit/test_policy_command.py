"""`slicewise turns policy` from figures alone: what it prints, its JSON, its page, and what it refuses."""

import json

import pytest
from slicewise.analysis.policies.comparison import compare, sweep
from slicewise.analysis.policies.simulation import IoPhase, PolicyJob
from support.command_line import slicewise_command

FIGURES = ("--capacity", "1", "--job", "A,volume=20,processes=2048,start=0")
VECTORS = [(0, (71680, 92160, 61440)), (14, (71680, 63488, 61440)), (16, (67584, 59392, 61440))]


def simulate(*more):
    return slicewise_command("turns", "simulate", *FIGURES, *more)


@pytest.mark.parametrize(("start", "costs"), VECTORS)
def test_json_has_every_policy_with_its_jobs(start, costs):
    record = json.loads(simulate("--job", f"B,volume=5,processes=2048,start={start}", "--json").text)
    by_policy = {one["policy"]: one for one in record["policies"]}
    assert [by_policy[name]["cpu_seconds"] for name in ("interfere", "fcfs", "interrupt")] == pytest.approx(costs)
    assert set(by_policy) == {"interfere", "fcfs", "interrupt", "delay", "dynamic"}
    assert by_policy[record["chosen"]]["cpu_seconds"] == pytest.approx(min(costs))
    keys = {"job", "start", "end", "io_seconds", "interference", "gained_seconds"}
    for one in record["policies"]:
        assert {"sum_interference", "makespan", "worst_slowdown"} < set(one)
        assert [set(job) for job in one["jobs"]] == [keys, keys]
        assert one["makespan"] == max(job["end"] for job in one["jobs"]) - min(job["start"] for job in one["jobs"])


def test_only_the_policy_that_is_asked_for_is_told():
    record = json.loads(simulate("--job", "B,volume=5,processes=1,start=1", "--policy", "fcfs", "--json").text)
    assert [one["policy"] for one in record["policies"]] == [record["chosen"]] == ["fcfs"]


def test_amounts_may_have_units_and_the_metric_may_be_chosen():
    done = slicewise_command(
        "turns", "simulate", "--capacity", "1GiB/s", "--metric", "worst_slowdown",
        "--job", "A,volume=20GiB,processes=8,start=0", "--job", "B,volume=5GiB,processes=8,start=5,cap=2GiB/s",
    )  # fmt: skip
    assert done.status == 0
    assert "costs least: worst slowdown 1.250 instead of" in done.text


def test_the_page_is_written_where_asked(tmp_path):
    page = tmp_path / "policies.html"
    assert simulate("--job", "<b>,volume=5,processes=1,start=1", "--html", page).status == 0
    assert "If &lt;b&gt; had begun earlier or later" in page.read_text()


@pytest.mark.parametrize(
    "more",
    [
        ["--job", "B,volume=5"],
        ["--job", "B,volume=5MiB,processes=1,start=0"],
        ["--job", "B,volume=0,processes=1,start=0"],
        ["--job", "A,volume=1,processes=1,start=0"],
        ["--job", "B,volume=1,processes=0,start=0"],
        ["--job", "B,volume=1,processes=1,start=soon"],
        ["--job", "B,volume=1,processes=1,start=0,cap=0"],
        ["--job", "B,volume=1,processes=1,start=0,unit=-1"],
        ["--policy", "fair"],
        ["--metric", "beauty"],
        ["--delay", "-1"],
    ],
)
def test_what_makes_no_sense_is_one_line_and_status_2(more):
    done = simulate(*more)
    assert done.status == 2
    assert done.errors.count("\n") == 1


def test_a_sweep_reaches_from_before_to_after_and_dynamic_is_the_lower_envelope():
    jobs = [PolicyJob(name, 64, 64.0, start, (IoPhase(0.0, volume),)) for name, volume, start in
            (("A", 20.0, 0.0), ("B", 5.0, 3.0))]  # fmt: skip
    found = sweep(1.0, jobs, compare(1.0, jobs, "sum_interference"))
    rows = found.rows
    assert (rows["dt"].min(), rows["dt"].max(), found.actual) == (-5.0, 20.0, 3.0)
    costs = rows.unique(["policy", "dt"]).pivot("policy", index="dt", values="cost")
    for fixed in ("interfere", "fcfs", "interrupt"):
        assert (costs["dynamic"] <= costs[fixed] * (1 + 1e-5)).all()
