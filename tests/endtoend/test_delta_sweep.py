"""`slicewise study sweep` with real commands: two tiny panels are run, not run again, and drawn without running."""

import json
import os
import re
import sys
from pathlib import Path

import pytest
from endtoend.test_delta_run import PROGRAM
from slicewise.errors import UserError
from slicewise.profile.reader import read_profile
from slicewise.running.delta_campaign import read_plan
from support.command_line import answer_of, completed, refusal_of, run_slicewise

# A node has one collector a job, and these jobs have the same names.
pytestmark = pytest.mark.xdist_group("sweeps")

PLAN = """
title = "Two tiny panels"
a = "{python} program.py a b data"
b = "{python} program.py b a data"
setup = "sh -c 'echo {size} >> set-up'"
teardown = "sh -c 'echo {size} >> torn-down'"
from = 0
to = 0
step = 1
slice = 0.1
size = 1
"""
PANELS = """
[[panel]]
name = "one"
sweep = "size"

[[panel]]
name = "two"
sweep = "size"
size = 2
"""


def test_two_panels_are_run_once_and_drawn_from_what_was_recorded(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "data").mkdir()
    python = f"python = {json.dumps(sys.executable)}\n"
    (tmp_path / "plan.toml").write_text(python + PLAN + PANELS)
    arguments = ("study", "sweep", "plan.toml", "--dir", "swept", "--html", "page.html", "--json")
    first = run_slicewise(*arguments, "--panel", "one", directory=tmp_path)
    assert [panel["panel"] for panel in json.loads(first.stdout)["panels"]] == ["one"], first.stderr
    assert json.loads(first.stdout)["missing"] == ["two"]
    unknown = completed(*arguments, "--panel", "three", directory=tmp_path)
    assert (unknown.returncode, "the plan has no panel three; it has one and two" in unknown.stderr) == (2, True)

    done = run_slicewise(*arguments, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [(panel["sweep"], panel["panel"]) for panel in told["panels"]] == [("size", "one"), ("size", "two")]
    assert all(set(panel["peak"]) == {"A", "B"} and "hints" in panel for panel in told["panels"])
    assert told["missing"] == []
    for around in ("set-up", "torn-down"):
        assert (tmp_path / around).read_text().split() == ["1", "2"]

    again = run_slicewise(*arguments, directory=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "panel 2/2, two: recorded already" in again.stderr
    assert (tmp_path / "set-up").read_text().split() == ["1", "2"]

    (tmp_path / "swept" / "two" / "done").unlink()
    drawn = answer_of("study", "sweep", "--page", "swept", "--html", "again.html", directory=tmp_path)
    assert "two: not recorded yet" in drawn
    assert (tmp_path / "again.html").read_text().startswith("<!")

    (tmp_path / "plan.toml").write_text(python + PLAN.replace("step = 1", "step = 2") + PANELS.replace("= 2", "= 3"))
    other = refusal_of(*arguments, directory=tmp_path)
    assert "its panel two is another one" in other


def test_a_server_is_sampled_over_ssh_for_as_long_as_a_job_runs(tmp_path, monkeypatch):
    """With a collector as it is; only ssh is a shell here, and the server's segments lie apart as on another node."""
    (tmp_path / "program.py").write_text(PROGRAM)
    for folder in ("data", "segments", "temporary", "bin"):
        (tmp_path / folder).mkdir()
    ssh = tmp_path / "bin" / "ssh"
    own = f"SLICEWISE_SEGMENT_DIR={tmp_path}/segments TMPDIR={tmp_path}/temporary"
    ssh.write_text(f'#!/bin/sh\n[ "$3" = away ] && {{ echo no such host >&2; exit 255; }}\nexec env {own} sh -c "$4"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    python = f"python = {json.dumps(sys.executable)}\n"
    (tmp_path / "plan.toml").write_text(python + 'servers = "server1,away"\n' + PLAN + PANELS)
    done = run_slicewise("study", "sweep", "plan.toml", "--panel", "one", "--dir", "swept", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("away: was not sampled: no such host") == 1
    jobs = [path for path in (tmp_path / "swept" / "one").iterdir() if path.is_dir() and path.name != "output"]
    assert len(jobs) == 4
    collectors = []
    for job in jobs:
        [fetched] = job.glob("sampled-*.swz")
        nodes = read_profile(job).nodes
        # Both collectors count slices as the job does.
        assert (fetched.stat().st_size > 0, set(nodes["slice_ns"])) == (True, {100_000_000})
        collectors.append(len(nodes))
    # On its own node each job has the collector of `slicewise run`: on a busy machine so short a job may end before it.
    assert max(collectors) == 2
    assert list((tmp_path / "temporary").iterdir()) == []


def plan_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return path


def test_settings_of_a_panel_go_before_those_of_the_file(tmp_path):
    text = 'python = "p"\n' + PLAN.replace("to = 0", "to = 2").replace('data"', 'data {start}"', 1) + PANELS
    first, second = read_plan(plan_of(tmp_path, text)).panels
    assert first.setup == "sh -c 'echo 1 >> set-up'"
    assert second.setup == "sh -c 'echo 2 >> set-up'"
    assert first.plan.a == "p program.py a b data {start}"
    assert first.plan.offsets == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "is no TOML"),
        (PLAN, "has no panels"),
        (PLAN + '[[panel]]\nname = "../x"\n', "is no word of letters"),
        (PLAN + PANELS, "{python} in a command has no value; add python = VALUE"),
        ('python = "p"\n' + PLAN + PANELS.replace("two", "one"), "two panels are named one"),
        ('python = "p"\n' + PLAN.replace("to = 0", "to = -1") + PANELS, ": no offsets;"),
        ('python = "p"\n' + PLAN.replace("from = 0", "from = 'x'") + PANELS, "from is no number"),
        ('python = "p"\n' + PLAN.replace("b = ", "c = ") + PANELS, "b is no command"),
    ],
)
def test_a_plan_that_is_none_is_refused(tmp_path, text, said):
    with pytest.raises(UserError, match=re.escape(said)):
        read_plan(plan_of(tmp_path, text))
