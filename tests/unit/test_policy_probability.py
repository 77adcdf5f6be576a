"""How often somebody else does I/O: the formula, job logs, and what slices say."""

import gzip
import json
import random

import pytest
from slicewise.analysis.policies.comparison import compare, sweep
from slicewise.analysis.policies.probability import (
    LoggedJob,
    concurrency,
    of_log,
    of_profiles,
    others,
    probability,
    read_job_log,
    sizes,
)
from slicewise.analysis.policies.simulation import IoPhase, PolicyJob
from slicewise.errors import UserError
from support.command_line import answer_of, json_of, refusal_of, slicewise_command
from support.decided_again import replay
from support.tabled_jobs import EPOCH, write_job

S = 1_000_000_000
NETWORK = {"point": "/scratch", "type": "lustre", "source": "mds:/scratch"}
LOG = """; Version: 2.2
; MaxProcs: 64

1 0   5 100  4 -1 -1  4 200 -1 1 1 1 -1 1 1 -1 -1
2 50 -1 100 -1 -1 -1 16 200 -1 1 1 1 -1 1 1 -1 -1
3 60  0  -1  8 -1 -1  8 200 -1 0 1 1 -1 1 1 -1 -1
4 205 0 100 64 -1 -1 64 200 -1 1 1 1 -1 1 1 -1 -1
"""
FIGURES = ("--capacity", "1", "--job", "A,volume=20,processes=2048,start=0")
START = {"time_seconds": 0.0, "event": "start", "policy": "dynamic", "metric": "cpu_seconds", "delay_seconds": 0.0}


@pytest.mark.parametrize(
    ("concurrent", "io_share", "expected"),
    [
        ({0: 0.1, 1: 0.2, 2: 0.3, 4: 0.4}, 0.05, 0.113448),
        ({0: 0.1, 1: 0.2, 2: 0.3, 4: 0.4}, 0.5, 0.7),
        ({20: 1.0}, 0.05, 0.641514),
    ],
)
def test_the_formula(concurrent, io_share, expected):
    assert probability(concurrent, io_share) == pytest.approx(expected, abs=1e-6)


def test_a_moment_with_more_jobs_counts_for_more_of_them():
    assert others({0: 0.5, 1: 0.25, 3: 0.25}) == pytest.approx({0: 0.25, 2: 0.75})


def test_a_log_is_read_and_what_it_does_not_know_is_counted():
    log = read_job_log(LOG.splitlines(), "log")
    assert log.jobs == [LoggedJob(5, 100, 4), LoggedJob(50, 100, 16), LoggedJob(205, 100, 64)]
    assert (log.skipped, log.at_submission) == (1, 1)
    assert concurrency(log.jobs) == pytest.approx({0: 55 / 300, 1: 190 / 300, 2: 55 / 300})


def test_concurrency_is_the_share_of_time_of_a_naive_count():
    chance = random.Random(1)
    jobs = [LoggedJob(chance.randrange(100), chance.randrange(1, 30), 1) for _ in range(40)]
    first, last = min(job.start for job in jobs), max(job.start + job.seconds for job in jobs)
    counts = [sum(job.start <= at < job.start + job.seconds for job in jobs) for at in range(first, last)]
    assert concurrency(jobs) == pytest.approx({n: counts.count(n) / len(counts) for n in set(counts)})


def test_sizes_are_powers_of_two_and_shares_add_up():
    found = sizes([LoggedJob(0, 10, 1), LoggedJob(0, 30, 3), LoggedJob(0, 60, 4), LoggedJob(0, 100, 16)])
    assert [(size.low, size.high, size.of_jobs, size.of_time) for size in found] == [
        (1, 1, 0.25, 0.05), (2, 2, 0, 0), (3, 4, 0.5, 0.45), (5, 8, 0, 0), (9, 16, 0.25, 0.5)
    ]  # fmt: skip
    assert of_log([LoggedJob(0, 10, 1), LoggedJob(0, 30, 3), LoggedJob(0, 60, 4)], 0.1).median_of_time == 4


@pytest.mark.parametrize("line", ["a b c d e", "1 2 3", "1 nan 3 4 5", "{}"])
def test_what_is_no_job_log_is_refused_with_its_line(line):
    with pytest.raises(UserError, match=r"^log: line 1: "):
        read_job_log([line], "log")
    with pytest.raises(UserError, match="no job that ran"):
        read_job_log(["; nothing"], "log")


def write(directory, name, row, begin=0, busy=1.0):
    return write_job(
        directory / name, [row], host=name, slice_ns=S, first_slice=EPOCH + begin, mount=NETWORK, busy=busy
    )


def test_slices_say_what_happened(tmp_path):
    one = write(tmp_path, "a", [10.0] * 5 + [0.0] * 5)
    other = write(tmp_path, "b", [0.0] * 4 + [10.0] * 6)
    found = of_profiles([one, other])
    assert found.concurrent == pytest.approx({2: 1.0})
    assert found.io_share == pytest.approx(11 / 20)
    assert found.anybody == pytest.approx(1 - 0.45**2)
    assert found.somebody_else == pytest.approx(0.55)
    assert found.observed.anybody.value == pytest.approx(1.0)
    assert found.observed.somebody_else.value == pytest.approx(2 / 11)
    half = of_profiles([write(tmp_path, "c", [10.0] * 4, busy=0.5), write(tmp_path, "d", [10.0] * 4, busy=0.5)])
    seen = half.observed.somebody_else
    assert (seen.low, seen.value, seen.high) == pytest.approx((0.0, 0.5, 1.0))
    assert half.observed.anybody.value == pytest.approx(0.75)


def test_the_command_reads_profiles_and_logs(tmp_path):
    write(tmp_path / "profiles", "a", [10.0] * 5 + [0.0] * 5)
    write(tmp_path / "profiles", "b", [0.0] * 4 + [10.0] * 6)
    log = tmp_path / "machine.swf.gz"
    log.write_bytes(gzip.compress(LOG.encode()))
    page = tmp_path / "page.html"
    done = slicewise_command("turns", "probability", tmp_path / "profiles", "--html", page)
    assert done.text.startswith("While a job does I/O, another one does too 55.0 % of the time")
    assert "Observed on /scratch: while a job did I/O" in done.text
    assert "How large jobs are" in page.read_text()
    record = json_of("turns", "probability", "--swf", log)
    assert (record["jobs"], record["skipped_jobs"], record["io_share_source"]) == (3, 1, "assumed")
    assert record["probability"] == pytest.approx(1 - sum(
        one["share"] * 0.95 ** one["jobs"] for one in record["concurrent"]))  # fmt: skip
    both = json_of("turns", "probability", tmp_path / "profiles", "--swf", log, "--html", page)
    assert (both["io_share_source"], both["jobs"]) == ("profiles", 3)
    for wrong in ([], ["--swf", tmp_path / "none"], ["--swf", page], ["--swf", log, "--io-share", "101"]):
        refusal_of("turns", "probability", *wrong)


def simulate(*more):
    return slicewise_command("turns", "simulate", *FIGURES, *more)


def test_json_has_every_policy_with_its_jobs():
    record = json.loads(simulate("--job", "B,volume=5,processes=2048,start=14", "--json").text)
    by_policy = {one["policy"]: one for one in record["policies"]}
    costs = (71680, 63488, 61440)
    assert [by_policy[name]["cpu_seconds"] for name in ("interfere", "fcfs", "interrupt")] == pytest.approx(costs)
    assert set(by_policy) == {"interfere", "fcfs", "interrupt", "delay", "dynamic", "set10", "set10_shares"}
    assert by_policy[record["chosen"]]["cpu_seconds"] == pytest.approx(min(costs))
    keys = {"job", "start", "end", "io_seconds", "interference", "gained_seconds"}
    for one in record["policies"]:
        assert {"sum_interference", "makespan", "worst_slowdown"} < set(one)
        assert (one["utilisation"], one["slowdown"]) == pytest.approx((0, one["sum_interference"] / 2))
        assert [set(job) for job in one["jobs"]] == [keys, keys]
        assert one["makespan"] == max(job["end"] for job in one["jobs"]) - min(job["start"] for job in one["jobs"])


def test_only_the_policy_that_is_asked_for_is_told():
    record = json.loads(simulate("--job", "B,volume=5,processes=1,start=1", "--policy", "fcfs", "--json").text)
    assert [one["policy"] for one in record["policies"]] == [record["chosen"]] == ["fcfs"]


def test_jobs_may_have_periods_and_phases():
    words = [word for name, volume in (("B", 4), ("C", 2))
             for word in ("--job", f"{name},volume={volume},processes=1,start=0,period=10,phases=3")]  # fmt: skip
    done = slicewise_command("turns", "simulate", "--capacity", "1", *words, "--policy", "set10", "--json")
    # B writes 0 to 4, 10 to 14, 20 to 24; C begins at 0 and 8 s after each end, and writes 4 to 6, 14 to 16, 24 to 26.
    for one in json.loads(done.text)["policies"]:
        assert [job["end"] for job in one["jobs"]] == pytest.approx([24, 26])
        assert [job["io_seconds"] for job in one["jobs"]] == pytest.approx([12, 10])
        assert (one["utilisation"], one["slowdown"]) == pytest.approx((1 - 22 / 50, (1 + 10 / 6) / 2))


def test_amounts_may_have_units_and_the_metric_may_be_chosen():
    said = answer_of(
        "turns", "simulate", "--capacity", "1GiB/s", "--metric", "worst_slowdown",
        "--job", "A,volume=20GiB,processes=8,start=0", "--job", "B,volume=5GiB,processes=8,start=5,cap=2GiB/s",
    )  # fmt: skip
    assert "costs least: worst slowdown 1.250 instead of" in said


def test_the_page_is_written_where_asked(tmp_path):
    page = tmp_path / "policies.html"
    assert simulate("--job", "<b>,volume=5,processes=1,start=1", "--html", page).status == 0
    assert "If &lt;b&gt; had begun earlier or later" in page.read_text()


@pytest.mark.parametrize(
    "more",
    [
        "--job B,volume=5", "--job B,volume=5MiB,processes=1,start=0", "--job B,volume=0,processes=1,start=0",
        "--job A,volume=1,processes=1,start=0", "--job B,volume=1,processes=0,start=0",
        "--job B,volume=1,processes=1,start=soon", "--job B,volume=1,processes=1,start=0,cap=0",
        "--job B,volume=1,processes=1,start=0,unit=-1", "--job B,volume=1,processes=1,start=0,period=-1",
        "--job B,volume=5,processes=1,start=0,period=3,phases=2",
        "--job B,volume=5,processes=1,start=0,cap=0,period=30,phases=2", "--policy fair", "--metric beauty",
        "--delay -1",
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_one_line_and_status_2(more):
    done = simulate(*more.split())
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


def inform(time, job, seconds, processes=2048, **more):
    return {"time_seconds": time, "event": "inform", "job": job, "processes": processes, "seconds": seconds,
            "remaining": seconds} | more  # fmt: skip


def event(time, what, job=None, **more):
    return {"time_seconds": time, "event": what} | ({} if job is None else {"job": job}) | more


INTERRUPTED = [
    START, inform(1.5, 1, 20.0), event(1.5, "authorise", 1), inform(3.5, 2, 5.0), event(3.5, "pause", 1),
    event(3.5, "authorise", 2), event(8.5, "release", 2, remaining=0.0), event(8.5, "resume", 1),
    event(26.5, "release", 1, remaining=0.0),
]  # fmt: skip


def lines(log):
    return [json.dumps(record) for record in log]


def test_a_log_that_follows_the_rule_agrees():
    found = replay(lines(INTERRUPTED), "log")
    assert found.agrees
    assert (found.changes, found.agreeing, found.decisions, found.policies) == (4, 4, 4, ["dynamic"])


def test_what_remains_of_a_job_that_went_decides():
    late = [START, inform(0.0, 1, 20.0), event(0.0, "authorise", 1), inform(16.0, 2, 5.0)]
    assert replay(lines(late), "log").agrees
    wrong = replay(lines([*late, event(16.0, "pause", 1), event(16.0, "authorise", 2)]), "log")
    assert [(one.line, one.logged, one.expected) for one in wrong.disagreements] == [
        (4, "pause 1, authorise 2", "nothing")
    ]


FOLLOWING = {
    "a release with something left keeps the place, and a fresh inform of it too": [
        START | {"policy": "fcfs"}, inform(0.0, 1, 10.0), event(0.0, "authorise", 1), inform(1.0, 2, 10.0),
        event(2.0, "release", 1, remaining=8.0), inform(3.0, 1, 10.0, remaining=8.0),
        event(11.0, "release", 1, remaining=0.0), event(11.0, "authorise", 2), event(12.0, "leave", 2),
    ],
    "what jobs use, and how often they come": [
        START | {"policy": "set10"}, inform(0.0, 1, 10.0, period=20.0), event(0.0, "authorise", 1),
        inform(1.0, 2, 10.0, period=20.0, targets="0000000000000003"),
        inform(2.0, 3, 10.0, period=20.0, targets="0000000000000004"),
        inform(3.0, 4, 10.0, period=200.0), event(3.0, "authorise", 4),
        event(10.0, "release", 1, remaining=0.0), event(10.0, "authorise", 2), event(10.0, "authorise", 3),
    ],
    "a delay ends with a timer, and a deadline takes a job out": [
        START | {"policy": "delay", "delay_seconds": 2.0}, inform(0.0, 1, 10.0), event(0.0, "authorise", 1),
        inform(1.0, 2, 10.0), event(3.0, "timer"), event(3.0, "authorise", 2), inform(4.0, 3, 1.0),
        event(5.0, "deadline", 3, why="wait"), event(9.0, "leave", 1), event(10.0, "leave", 2),
    ],
}  # fmt: skip


@pytest.mark.parametrize("what", FOLLOWING)
def test_a_log_that_follows_its_policy_agrees(what):
    assert replay(lines(FOLLOWING[what]), "log").agrees


@pytest.mark.parametrize("kept", [1, 20, 48])
def test_a_log_that_was_cut_in_its_last_line_counts_up_to_there(kept):
    whole = lines(INTERRUPTED)
    found = replay([*whole[:4], whole[4][:kept]], "log")
    assert (found.agrees, found.changes) == (True, 1)


def test_one_difference_is_told_once():
    log = [
        *INTERRUPTED[:4],
        event(21.5, "release", 1, remaining=0.0),
        event(21.5, "authorise", 2),
        event(26.5, "release", 2, remaining=0.0),
    ]
    found = replay(lines(log), "log")
    assert [(one.line, one.logged) for one in found.disagreements] == [(4, "nothing")]
    assert found.agreeing == found.changes - 1


@pytest.mark.parametrize(
    "records",
    [
        [], ["no json"], [[]], [{}], [event(0.0, "inform", 1)], [START | {"policy": "fair"}],
        [START, event(1.0, "inform", 1)], [START, inform(1.0, 1, "long")], [START, event(1.0, "inform")],
        [START, event(1.0, "dance", 1)], [START | {"delay_seconds": "long"}], [START, event(float("nan"), "timer")],
        [event(1.0, "authorise", 1)],
        [START, inform(2.0, 1, 1.0), event(2.0, "authorise", 1), event(1.0, "leave", 1)],
        [START, inform(2.0, 1, 1.0, demand=0.0)], [START, inform(2.0, 1, 1.0, weight=-1.0)],
        [START, inform(2.0, 1, 1.0, targets="none")],
    ],
)  # fmt: skip
def test_what_is_no_decision_log_is_refused_in_one_line(records):
    with pytest.raises(UserError, match=r"^log: "):
        replay([one if isinstance(one, str) else json.dumps(one) for one in records], "log")
