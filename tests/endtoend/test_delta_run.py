"""`slicewise study delta run` with real commands: all runs are done and profiled; an interrupted campaign goes on."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import BUILD

SLICEWISE = BUILD / "bin" / "slicewise"
# A node has one collector a job, and those of test_delta_sweep.py have the same names.
pytestmark = pytest.mark.xdist_group("sweeps")
# Writes at times; together with the other one until that has written too, so that the two are sure to overlap.
PROGRAM = """
import os, pathlib, sys, time
own, other, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
job = os.path.basename(os.environ["SLICEWISE_JOB"])
flag = lambda who: folder / (job.rsplit("-", 1)[0] + "-" + who)
until, left = time.monotonic() + 120, 5
with open(folder / own, "wb", buffering=0) as file:
    while left:
        os.pwrite(file.fileno(), bytes(1 << 20), 0)
        flag(own).touch()
        if "alone" in job or flag(other).exists() or time.monotonic() > until:
            left -= 1
        time.sleep(0.1)
"""


def delta(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    (folder / "data").mkdir(exist_ok=True)
    commands = [shlex.join([sys.executable, str(program), *names, str(folder / "data")]) for names in ("ab", "ba")]
    command = [SLICEWISE, "study", "delta", "run", "--a", commands[0], "--b", commands[1], "--dir", folder / "campaign"]
    command += ["--slice", "0.1", "--html", folder / "page.html", "--json", *options]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, check=False)


def test_a_campaign_is_run_and_goes_on_where_it_stopped(tmp_path):
    offsets = ["--from", "-0.2", "--to", "0.2", "--step", "0.4"]
    done = delta(tmp_path, *offsets)
    assert done.returncode == 0, done.stderr
    names = ["a-alone-1", "b-alone-1", "dt-0.2-1", "dt+0.2-1"]
    assert (tmp_path / "campaign" / "done").read_text().split() == names
    assert [line.split()[1] for line in done.stderr.splitlines()] == names
    [configuration] = json.loads(done.stdout)["configurations"]
    runs = {point["run"] for point in configuration["points"]}
    assert runs == {f"{name}-a + {name}-b" for name in names[2:]}
    assert set(configuration["alone_seconds"]) == {"A", "B"}
    assert (tmp_path / "page.html").read_text().startswith("<!")

    # As if it had been interrupted in the last run.
    (tmp_path / "campaign" / "done").write_text("\n".join(names[:3]) + "\n")
    again = delta(tmp_path, *offsets)
    assert again.returncode == 0, again.stderr
    assert "3 runs done already; 1 to go" in again.stderr.splitlines()[0]
    assert [line.split()[1] for line in again.stderr.splitlines()[1:]] == names[3:]

    other = delta(tmp_path, "--from", "0", "--to", "0", "--step", "1")
    assert other.returncode == 2
    assert "holds a campaign of other commands or offsets; choose another --dir" in other.stderr


def test_a_command_that_fails_is_named(tmp_path):
    command = [
        SLICEWISE, "study", "delta", "run", "--a", "/bin/false", "--b", "/bin/true", "--dir", tmp_path / "campaign",
    ]  # fmt: skip
    command += ["--from", "0", "--to", "0", "--step", "1"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "/bin/false: ended with status 1; its output is in" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "campaign" / "done").exists()


def test_no_offsets_are_refused(tmp_path):
    done = delta(tmp_path, "--from", "1", "--to", "0", "--step", "1")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no offsets" in done.stderr
