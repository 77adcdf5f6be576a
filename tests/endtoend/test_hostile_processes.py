"""Processes whose every name would steer a terminal: `top` and `recover`, as whole commands, show none of it raw."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from slicewise.text.safe_text import UNSAFE, visible
from support.programs import BUILD, COLLECTOR, LIBRARY, Apps, Job, need
from support.tally import wait_for
from support.terminal import Terminal

SLICEWISE = BUILD / "bin" / "slicewise"
OWN_STYLES = re.compile(r"\x1b\[[0-9;]*m")
# A colour that we never use, a bell, a control sequence of one byte, text that is turned around, a byte of no text.
STEERING = "\x1b[5;31m\x07\x9b1m\u202e\r\n\udcff"
RAW = [name.encode(errors="surrogateescape") for name in ("\x1b[5;31m", "\x07", "\x9b", "\u202e", "\udcff")]
IN_PLACE = """
import ctypes, os, socket, sys
host, point, source, *command = map(os.fsencode, sys.argv[1:])
socket.sethostname(host)
if point and ctypes.CDLL(None).mount(source, point, b"tmpfs", 0, None) != 0:
    raise OSError("no file system can be mounted")
os.execvp(command[0], command)
"""


def steering(name: str) -> str:
    """Such a name, with a letter of its own."""
    return name + STEERING


def as_file_name(name: str) -> str:
    """What the engine makes of a name that it makes files of: jobs and hosts."""
    return re.sub(rb"[^A-Za-z0-9._-]", b"_", os.fsencode(name)).decode()


def as_text(name: str) -> str:
    """What profiles make of bytes that are no text."""
    return os.fsencode(name).decode(errors="replace")


class Place:
    """A node, a directory, a mount, a program and a job whose names all steer."""

    def __init__(self, job: Job, program: Path) -> None:
        self.host = steering("host")
        self.profiles = job.folder / steering("profiles")
        self.point = job.folder / steering("point")
        self.profiles.mkdir()
        self.point.mkdir()
        self.program = self.profiles / steering("program")
        shutil.copy(program, self.program)
        self.job = as_file_name(steering("job"))
        job.spool_dir = self.profiles / self.job
        job.settings = {
            "SLICEWISE_DIR": str(self.profiles), "SLICEWISE_JOB": steering("job"), "SLURM_STEP_ID": steering("step"),
            "SLURM_JOB_ACCOUNT": steering("account"), "SLURM_JOB_NODELIST": steering("nodes"),
        }  # fmt: skip

    def command(self, *arguments: str | Path) -> list[str | Path]:
        """The program under the library, on that node, in that mount."""
        profiled = ["env", "-C", self.point, f"LD_PRELOAD={LIBRARY}", self.program, *arguments]
        return [*self._there(self.point), *profiled]

    def on_its_node(self, command: Sequence[str | Path]) -> list[str | Path]:
        return [*self._there(""), *command]

    def _there(self, point: str | Path) -> list[str | Path]:
        spaces = ["unshare", "--mount", "--uts"]
        return [*spaces, sys.executable, "-c", IN_PLACE, self.host, point, steering("source")]


@pytest.fixture(autouse=True)
def namespaces() -> None:
    need("unshare", "env")
    if subprocess.run(["unshare", "--mount", "--uts", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("only root may name a node and mount a file system, in a namespace of its own")


def said(job: Job, command: Sequence[str | Path], status: int = 0) -> tuple[str, str]:
    """What the whole command says on standard output and standard error; nothing of it steers a terminal."""
    done = subprocess.run(command, env=job.environment({"LD_PRELOAD": ""}), capture_output=True, check=False)
    texts = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == status, texts
    for text in texts:
        assert not UNSAFE.search(OWN_STYLES.sub("", text).replace("\n", ""))
        assert not any(raw in text.encode() for raw in RAW)
    return texts


def test_recover(job: Job, apps: Apps) -> None:
    place = Place(job, apps.build("life_ending"))
    ended = job.run_plainly(place.command("kill"))
    assert ended.status == -signal.SIGKILL, ended.errors
    assert len(job.segments()) == 1

    job.spool_dir.write_text("in the way")
    for arguments in ([], [job.spool_dir]):
        output, errors = said(job, [SLICEWISE, "recover", *arguments], status=1)
        assert "recovered 0 processes" in output
        assert errors.count("\n") == 1
        assert f"{visible(str(job.spool_dir))}/" in errors or f"{visible(str(job.spool_dir))}: " in errors
    job.spool_dir.unlink()

    missing = job.folder / steering("missing")
    _, errors = said(job, [SLICEWISE, "recover", missing], status=2)
    assert errors.startswith(f"slicewise: {visible(str(missing))}: ")
    assert errors.count("\n") == 1
    _, errors = said(job, [COLLECTOR, "recover", "--user", steering("user")], status=2)
    assert errors.startswith(f"slicewise: user {visible(steering('user'))}: ")
    assert errors.count("\n") == 1

    output, errors = said(job, [SLICEWISE, "recover", job.spool_dir])
    assert ("recovered 1 process " in output, errors) == (True, "")
    profile = job.profile()
    text = dict(zip(profile.processes.columns, profile.processes.row(0), strict=True))
    for column in ("job", "host"):
        assert text[column] == as_file_name(steering(column)), column
    for column in ("step", "account", "nodes"):
        assert text[column] == as_text(steering(column)), column
    assert text["program"] == as_text(str(place.program))
    (mount,) = profile.mounts.filter(profile.mounts["source"] == as_text(steering("source"))).to_dicts()
    assert mount["point"] == as_text(str(place.point))
    output, _ = said(job, [SLICEWISE, "report", "--detail", job.spool_dir])
    assert place.job in output


def test_top(job: Job, apps: Apps) -> None:
    place = Place(job, apps.build("tally", "-pthread"))
    tally = job.folder / "tally"
    with job.start(place.command("steady", "1", "300", tally, place.point, place.point), LD_PRELOAD="") as process:
        try:
            wait_for(tally)
            look_at(job, place)
        finally:
            process.kill()


def look_at(job: Job, place: Place) -> None:
    top = [SLICEWISE, "top"]
    output, errors = said(job, place.on_its_node([*top, "--once"]))
    assert errors == ""
    assert output.count("\n") >= 2
    output, errors = said(job, place.on_its_node([*top, "--once", "--json"]))
    assert errors == ""
    shown = json.loads(output)
    assert as_text(shown["host"]) == as_text(place.host)
    (only,) = shown["jobs"]
    assert only["job"] == place.job
    assert as_text(str(place.point)) in [as_text(mount["point"]) for mount in only["mounts"]]
    (running,) = only["processes"]
    assert as_text(running["program"]) == as_text(str(place.program))

    terminal = Terminal(place.on_its_node([*top, "--every", "0.2"]), job.environment({"LD_PRELOAD": ""}), columns=400)
    terminal.wait_for(re.escape(visible(place.host)) + ": 1 job, by throughput")
    terminal.press(b"\r")
    terminal.wait_for(re.escape(visible("program\x1b[5;31m\x07\x9b1m\u202e")))
    terminal.press(b"q")
    assert terminal.end() == 0
    assert [raw for raw in RAW if raw in terminal.shown] == []
