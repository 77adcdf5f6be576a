"""Runs of one program under a limited disk: compared, with more work and beside a neighbour, and foretold as copies
side by side; and the pages as a reader sees them.
"""

import json
import math
import subprocess
import time
from pathlib import Path

import pytest
from support import browser
from support.command_line import slicewise_command
from support.programs import BUILD
from support.runs import read, write_run, wrote
from support.workload import LOAD, require_load
from testbed.contention import LIMIT_MIB_S, Contention, contention

SLICEWISE = BUILD / "bin" / "slicewise"
NASTY = "<img src=x onerror=alert(1)>"
DRAWN = "document.documentElement.dataset.drawn || !document.getElementById('trouble').hidden"


def load(folder: Path, shared: Contention, job: str, mib: int, start_at: float = 0) -> subprocess.Popen[str]:
    command = [SLICEWISE, "run", "--dir", folder, "--job", job, "--slice", "0.5", "--", "mpirun.openmpi"]
    command += ["--allow-run-as-root", "--oversubscribe", "-n", "2", LOAD, "--direct", "--volume", f"{mib}M"]
    command += ["--start-at", f"{start_at:.3f}", folder / f"data-{job}"]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=shared.join
    )


def finish(process: subprocess.Popen[str]) -> None:
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said


def told(*arguments: object) -> dict:
    done = slicewise_command(*arguments, "--json")
    assert done.status == 0, done.errors
    return json.loads(done.output)


def test_more_work_and_a_neighbour_are_told_apart_and_copies_foretold(tmp_path):
    require_load()
    seconds = 5
    volume = LIMIT_MIB_S * seconds
    with contention(tmp_path) as shared:
        if shared.group is None:
            pytest.skip(
                f"no disk can be limited here, so nothing is known to compare with: {'; '.join(shared.refused)}"
            )
        finish(load(tmp_path, shared, "first", volume))
        finish(load(tmp_path, shared, "more", 2 * volume))
        start_at = math.ceil(time.time()) + 1
        for process in [load(tmp_path, shared, job, volume, start_at) for job in ("beside", "neighbour")]:
            finish(process)

    def compared(job: str) -> dict:
        return told("compare", tmp_path / "first", tmp_path / job)

    more = compared("more")
    assert more["own_io_seconds"]["value"] == pytest.approx(seconds, rel=0.2)
    assert abs(more["unexplained_seconds"]["value"]) < 0.25 * seconds
    beside = compared("beside")
    assert abs(beside["own_io_seconds"]["value"]) < 0.1 * seconds
    assert beside["lost_seconds"]["value"] == pytest.approx(seconds, rel=0.3)
    assert beside["neighbours"][0] == "neighbour"
    assert abs(beside["unexplained_seconds"]["value"]) < 0.25 * seconds

    both = [word for job in ("beside", "neighbour") for word in ("--seen", tmp_path / job)]
    copies = told("predict", "--copies", tmp_path / "first", *both)
    assert copies["copies"] == 1
    assert copies["capacity"]["mib_s"] == pytest.approx(LIMIT_MIB_S, rel=0.2)
    # Both began their I/O at one time, and did nothing else.
    foretold = next(row["in_step_loss"] for row in copies["rows"] if row["copies"] == 2) * copies["runtime_seconds"]
    alone, together = (run["io_seconds"] for run in beside["runs"])
    assert foretold == pytest.approx(together - alone, rel=0.2)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of two and of three runs, and of copies of one, with a name made to break out of a page."""
    directory = tmp_path_factory.mktemp("runs")
    rows = {at: wrote(100, 0.9) for at in range(12)}
    runs = [
        write_run(directory / "yesterday", 15.2, [rows]),
        write_run(directory / NASTY, 27.3, [{at: wrote(50, 0.9) for at in range(24)}]),
        write_run(directory / "reader", 19.5, [rows | {at: read(100, 0.8) for at in range(12, 16)}]),
    ]
    made: dict[object, Path] = {}
    for count in (2, 3):
        made[count] = directory / f"{count}.html"
        done = slicewise_command("compare", *runs[:count], "--html", made[count])
        assert done.status == 0, done.errors
    made["copies"] = directory / "copies.html"
    done = slicewise_command("predict", "--copies", runs[1], "--capacity", "300MiB/s", "--html", made["copies"])
    assert done.status == 0, done.errors
    return made


@pytest.mark.skipif(
    browser.executable() is None, reason="no Chromium that runs: pages are not looked at (apt-get install chromium)"
)
def test_pages_are_drawn_within_their_edges_and_names_are_shown_as_they_are(pages):
    with browser.Browser() as window:
        for page in pages.values():
            for width in (1400, 600):
                window.resize(width, 1000)
                window.open(page, DRAWN)
                assert window.evaluate("document.getElementById('trouble').hidden"), window.troubles
                assert window.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
                assert window.evaluate("document.querySelectorAll('.chart .main-svg').length") >= 1
                assert NASTY in window.evaluate("document.querySelector('main').innerText")
                if page is pages["copies"]:
                    continue
                labels = "[...document.querySelectorAll('.chart text')].map((text) => text.textContent)"
                assert any(NASTY[:10] in label for label in window.evaluate(labels))
        assert window.evaluate("document.querySelectorAll('img').length") == 0
        assert window.troubles == []
        assert all(url.startswith(("data:", "file:")) for url in window.requests)
