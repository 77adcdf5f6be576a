"""Decision logs: what a coordinator decided against the policy's rule, and logs that are none."""

import json

import pytest
from slicewise.analysis.policies.replay import replay
from slicewise.errors import UserError
from support.command_line import slicewise_command

START = {"time_seconds": 0.0, "event": "start", "policy": "dynamic", "metric": "cpu_seconds", "delay_seconds": 0.0}


def inform(time, job, seconds, processes=2048, **more):
    return {"time_seconds": time, "event": "inform", "job": job, "processes": processes, "seconds": seconds,
            "remaining": seconds} | more  # fmt: skip


def event(time, what, job=None, **more):
    return {"time_seconds": time, "event": what} | ({} if job is None else {"job": job}) | more


INTERRUPTED = [
    START,
    inform(1.5, 1, 20.0),
    event(1.5, "authorise", 1),
    inform(3.5, 2, 5.0),
    event(3.5, "pause", 1),
    event(3.5, "authorise", 2),
    event(8.5, "release", 2, remaining=0.0),
    event(8.5, "resume", 1),
    event(26.5, "release", 1, remaining=0.0),
]


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


def test_a_release_with_something_left_keeps_the_place_and_a_fresh_inform_of_it_too():
    log = [
        START | {"policy": "fcfs"},
        inform(0.0, 1, 10.0),
        event(0.0, "authorise", 1),
        inform(1.0, 2, 10.0),
        event(2.0, "release", 1, remaining=8.0),
        inform(3.0, 1, 10.0, remaining=8.0),
        event(11.0, "release", 1, remaining=0.0),
        event(11.0, "authorise", 2),
        event(12.0, "leave", 2),
    ]
    assert replay(lines(log), "log").agrees


def test_a_delay_ends_with_a_timer_and_a_deadline_takes_a_job_out():
    log = [
        START | {"policy": "delay", "delay_seconds": 2.0},
        inform(0.0, 1, 10.0),
        event(0.0, "authorise", 1),
        inform(1.0, 2, 10.0),
        event(3.0, "timer"),
        event(3.0, "authorise", 2),
        inform(4.0, 3, 1.0),
        event(5.0, "deadline", 3, why="wait"),
        event(9.0, "leave", 1),
        event(10.0, "leave", 2),
    ]
    assert replay(lines(log), "log").agrees


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
    "text",
    [
        "",
        "no json",
        "[]",
        "{}",
        json.dumps(event(0.0, "inform", 1)),
        json.dumps(START | {"policy": "fair"}),
        json.dumps(START) + "\n" + json.dumps(event(1.0, "inform", 1)),
        json.dumps(START) + "\n" + json.dumps(inform(1.0, 1, "long")),
        json.dumps(START) + "\n" + json.dumps(event(1.0, "inform")),
        json.dumps(START) + "\n" + json.dumps(event(1.0, "dance", 1)),
        json.dumps(START | {"delay_seconds": "long"}),
        json.dumps(START) + "\n" + json.dumps(event(float("nan"), "timer")),
        json.dumps(event(1.0, "authorise", 1)),
        "\n".join(lines([START, inform(2.0, 1, 1.0), event(2.0, "authorise", 1), event(1.0, "leave", 1)])),
        "\n".join(lines([START, inform(2.0, 1, 1.0, demand=0.0)])),
        "\n".join(lines([START, inform(2.0, 1, 1.0, weight=-1.0)])),
    ],
)
def test_what_is_no_decision_log_is_refused_in_one_line(text):
    with pytest.raises(UserError, match=r"^log: "):
        replay(text.splitlines(), "log")


def test_the_command_says_whether_a_log_agrees(tmp_path):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text("\n".join(lines(INTERRUPTED)))
    bad.write_text("\n".join(lines(INTERRUPTED[:5])))
    ended = [slicewise_command("turns", "replay", path) for path in (good, bad, tmp_path / "none")]
    assert [one.status for one in ended] == [0, 1, 2]
    assert "agree" in ended[0].text
    assert "By the policy: pause 1, authorise 2." in ended[1].text
    assert ended[2].errors.count("\n") == 1
    record = json.loads(slicewise_command("turns", "replay", bad, "--json").text)
    assert (record["agrees"], record["disagreements"][0]["line"]) == (False, 4)
