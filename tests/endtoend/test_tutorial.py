"""The tutorial's answer comes on a busy machine, too, and a stopwatch confirms it."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.pages import blocks
from support.programs import BUILD, ROOT, need_built

SLICEWISE = BUILD / "bin" / "slicewise"
# From here on the job was slowed down beyond what runs of it differ by.
SLOWED = 1.3
LOOPS = 2
# Of the tutorial's bytes: under load its jobs take three times as long, and slices are as many.
PART = 0.6


@pytest.fixture
def load() -> Iterator[None]:
    """Somebody else's computing."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOOPS)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def commands() -> dict[str, list[str]]:
    """The tutorial's profiled commands by their jobs, whatever shell is around them, on fewer bytes."""
    text = "\n".join(block.lines for block in blocks(ROOT / "docs/tutorial.md")).replace("\\\n", " ")
    text = re.sub(r"\bcount=(\d+)", lambda found: f"count={round(PART * int(found[1]))}", text)
    lines = re.findall(r"^slicewise (run .*--job \S+ .*?)&?$", text, re.MULTILINE)
    return {shlex.split(line)[shlex.split(line).index("--job") + 1]: shlex.split(line) for line in lines}


@pytest.mark.usefixtures("load")
def test_the_answer_comes_under_load(tmp_path: Path) -> None:
    need_built(SLICEWISE)
    run = commands()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEWISE_", "LD_PRELOAD"))}
    took = {}

    def start(job: str) -> subprocess.Popen[bytes]:
        silent = subprocess.DEVNULL
        return subprocess.Popen([SLICEWISE, *run[job]], cwd=tmp_path, env=kept, stdout=silent, stderr=silent)

    def finish(job: str, process: subprocess.Popen[bytes], began: float) -> None:
        assert process.wait() == 0
        took[job] = time.monotonic() - began

    os.sync()  # what tests before this one wrote is no neighbour of the run alone
    finish("mine-alone", start("mine-alone"), time.monotonic())
    (tmp_path / "mine.dat").unlink()
    other, began = start("other"), time.monotonic()
    finish("mine", start("mine"), time.monotonic())
    finish("other", other, began)
    asked = [SLICEWISE, "blame", "slicewise/mine", "--json", "--html", tmp_path / "page.html"]
    told = json.loads(subprocess.run(asked, cwd=tmp_path, env=kept, capture_output=True, text=True, check=True).stdout)
    assert told["baseline"]["runs"] == ["mine-alone"], (took, told["sentences"], told["standalone_runs"])
    longer = took["mine"] - took["mine-alone"]
    if took["mine"] < SLOWED * took["mine-alone"]:
        assert not told["is_claimed"] or told["lost_seconds"]["value"] < (SLOWED - 1) * took["mine"]
        return
    assert told["confidence"] in ("high", "medium")
    outside = told["outside"]["seconds"] if told["outside"] else 0.0
    waited = told["outside"]["waited_seconds"] if told["outside"] else 0.0
    if waited < longer / 2:  # else it was the loops, and what the other job computes
        assert told["is_claimed"], told["sentences"]
        assert told["neighbours"][0]["job"] == "other"
    # The clock here also has what begins and ends the programs: 0.9 s of each under this load, at times more.
    assert told["lost_seconds"]["value"] + outside == pytest.approx(longer, rel=0.25, abs=1.0)
