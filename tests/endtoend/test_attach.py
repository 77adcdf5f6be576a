"""A process that runs already: what it and its children do from then on, and nothing of before."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from slicewise.digest.digest import read_digest
from support.programs import BUILD, LIBRARY, need_built

SLICEWISE = BUILD / "venv/bin/slicewise"
MIB = 1 << 20
BEFORE, AFTER, BY_CHILD = 64, 32, 16
WRITER = f"""
import subprocess, sys, time
def put(name, mib):
    with open(name, "wb") as file:
        file.write(bytes({MIB} * mib))
put("before", {BEFORE})
print("ready", flush=True)
sys.stdin.readline()
put("after", {AFTER})
subprocess.run(["/bin/bash", "-c", "printf '%*s' {BY_CHILD * MIB} > child; sleep 1.5; :"])
time.sleep(1)
sys.stdin.readline()
"""


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_what_a_process_does_from_now_on(tmp_path: Path, is_interrupted: bool) -> None:
    need_built(LIBRARY, SLICEWISE)
    with subprocess.Popen(
        ["python3", "-c", WRITER], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        writer.stdout.readline()
        attached = subprocess.Popen(
            [SLICEWISE, "run", "--slice", "1", "--job", "job", "--attach", str(writer.pid)],
            cwd=tmp_path, env=own_segments(tmp_path), stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert f"sampling python3 (process {writer.pid})" in attached.stderr.readline()
        time.sleep(1.5)  # it has looked once
        print(file=writer.stdin, flush=True)
        if is_interrupted:
            time.sleep(3.5)
            attached.send_signal(signal.SIGINT)
            said = attached.communicate()[1]
        writer.communicate("\n")
    said = said if is_interrupted else attached.communicate()[1]
    assert (attached.returncode, "next: slicewise report slicewise/job" in said) == (0, True)
    sampled = read_digest(tmp_path / "slicewise/job").sampled_processes
    written = {row["program"]: row["write_bytes"] for row in sampled.to_dicts()}
    by_python = sum(bytes_ for program, bytes_ in written.items() if program.startswith("python"))
    assert by_python == pytest.approx(AFTER * MIB, rel=0.01)
    assert written["bash"] == pytest.approx(BY_CHILD * MIB, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["--attach", "4194305"],
            "process 4194305: there is none on this node; give the number of a process that runs",
        ),
        (["--attach", "1", "--", "true"], "name the command that is to be profiled, or --attach PID"),
        ([], "name the command that is to be profiled, or --attach PID"),
    ],
)
def test_what_cannot_be_sampled(tmp_path: Path, arguments: list[str], reason: str) -> None:
    done = subprocess.run([SLICEWISE, "run", *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def own_segments(folder: Path) -> dict[str, str]:
    (folder / "segments").mkdir()
    return {**os.environ, "SLICEWISE_SEGMENT_DIR": str(folder / "segments")}
