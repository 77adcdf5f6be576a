"""What to change, held against a stopwatch: a program as it was, and as it is told to be."""

import json
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from support.programs import BUILD, LIBRARY, Apps, need_built

SLICEWISE = BUILD / "venv/bin/slicewise"
SECONDS = 2.5
# Of the saving: what else runs on this machine makes runs differ.
NOISE = 0.15


@pytest.mark.parametrize(
    ("before", "after", "kind"), [("syncs", "synced", "syncs"), ("small", "large", "small writes")]
)
def test_a_saving_holds_what_the_stopwatch_says(apps: Apps, before: str, after: str, kind: str) -> None:
    need_built(LIBRARY)
    program = apps.build("habits")
    with tempfile.TemporaryDirectory(dir=BUILD) as name:  # on a disk, where a sync costs something
        folder = Path(name)
        run = [SLICEWISE, "run", "--dir", folder, "--job"]
        done = subprocess.run(
            [*run, "before", "--", program, before, folder / "file", str(SECONDS)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        began = time.monotonic()
        subprocess.run([program, after, folder / "file", done.stdout.split()[0]], check=True, capture_output=True)
        took = time.monotonic() - began
        subprocess.run([*run, "after", "--", program, after, folder / "file", "10"], check=True, capture_output=True)
        (one,) = advice(folder / "before")
        assert one["kind"] == kind
        assert one["site"][-2]["file"].endswith("habits.c")
        saving, saved = one["saving_seconds"], SECONDS - took
        assert (1 - NOISE) * saving["low"] <= saved <= (1 + NOISE) * saving["high"], (saving, took)
        assert advice(folder / "after") == []


def advice(job: Path) -> list[dict]:
    told = subprocess.run(
        [SLICEWISE, "report", job, "--json", "--html", job.parent / "page.html"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(told.stdout)["advice"]
