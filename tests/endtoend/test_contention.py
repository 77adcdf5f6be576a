"""Two MPI jobs that really compete for a limited disk, alone, with more work and together: what they shared, what it
cost the smaller one, what its copies would lose; and the testbed cleans up.
"""

import math
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from support.command_line import json_of
from support.programs import BUILD
from support.workload import LOAD, require_load
from testbed.contention import LIMIT_MIB_S, Contention, contention

SLICEWISE = BUILD / "bin" / "slicewise"
TESTS = Path(__file__).resolve().parents[1]
SECONDS = 3  # of each job alone, whatever its processes
VOLUME_MIB = SECONDS * LIMIT_MIB_S
PROCESSES = {"large": 4, "small": 1}


def start(
    folder: Path, shared: Contention, name: str, job: str, start_at: float = 0, volume: int = VOLUME_MIB
) -> subprocess.Popen[str]:
    command = [SLICEWISE, "run", "--dir", folder, "--job", name, "--slice", "0.5", "--", "mpirun.openmpi"]
    command += ["--allow-run-as-root", "--oversubscribe", "-n", str(PROCESSES[job]), LOAD, "--direct"]
    command += ["--volume", f"{volume // 4}M", "--repeats", "4", "--start-at", f"{start_at:.3f}", folder / name]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=shared.join
    )


def finish(process: subprocess.Popen[str]) -> None:
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """small-alone and small-more (twice the bytes); then large and small together."""
    require_load()
    folder = tmp_path_factory.mktemp("contention")
    with contention(folder) as shared:
        if shared.group is None:
            pytest.skip(
                f"no disk can be limited here, so nothing is known to compare with: {'; '.join(shared.refused)}"
            )
        finish(start(folder, shared, "small-alone", "small"))
        finish(start(folder, shared, "small-more", "small", volume=2 * VOLUME_MIB))
        start_at = math.ceil(time.time()) + 1
        for process in [start(folder, shared, job, job, start_at) for job in PROCESSES]:
            finish(process)
        group = shared.group
    assert not group.exists()
    return folder


def test_two_jobs_of_different_size(runs: Path) -> None:
    words = [*(runs / job for job in PROCESSES), "--alone", runs / "small-alone", "--html", runs / "page.html"]
    large, small = json_of("overlap", *words)["jobs"]
    assert (large["processes"], small["processes"]) == (4, 1)
    # The limit is shared by process, and is all that there is to share.
    assert large["region_mib_s"] / small["region_mib_s"] == pytest.approx(4, rel=0.5)
    assert large["region_mib_s"] + small["region_mib_s"] == pytest.approx(LIMIT_MIB_S, rel=0.25)


def test_more_work_and_a_neighbour_are_told_apart_and_copies_foretold(runs: Path) -> None:
    """Whoever shares the limit, the smaller job ends last, and has had to wait for all of the larger one's bytes."""

    def compared(job: str) -> dict:
        return json_of("compare", runs / "small-alone", runs / job, "--html", runs / "page.html")

    more = compared("small-more")
    assert more["own_io_seconds"]["value"] == pytest.approx(SECONDS, rel=0.2)
    assert abs(more["unexplained_seconds"]["value"]) < 0.25 * SECONDS
    beside = compared("small")
    assert abs(beside["own_io_seconds"]["value"]) < 0.1 * SECONDS
    assert beside["lost_seconds"]["value"] == pytest.approx(SECONDS, rel=0.3)
    assert beside["neighbours"][0] == "large"
    assert abs(beside["unexplained_seconds"]["value"]) < 0.25 * SECONDS

    seen = [word for job in PROCESSES for word in ("--seen", runs / job)]
    copies = json_of("predict", "--copies", runs / "small-alone", *seen, "--html", runs / "page.html")
    assert copies["copies"] == 1
    assert copies["capacity"]["mib_s"] == pytest.approx(LIMIT_MIB_S, rel=0.2)
    # Beside as many bytes of another job it lost what a copy of it would have cost.
    foretold = next(row["in_step_loss"] for row in copies["rows"] if row["copies"] == 2) * copies["runtime_seconds"]
    by_itself, together = (run["io_seconds"] for run in beside["runs"])
    assert foretold == pytest.approx(together - by_itself, rel=0.2)


def test_without_rights_the_disk_as_it_is_remains():
    if os.geteuid() != 0:
        pytest.skip("needs root, to give it up")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        shutil.copytree(TESTS / "testbed", f"{folder}/testbed")
        program = "import sys, pathlib; from testbed.contention import contention\n"
        program += "with contention(pathlib.Path(sys.argv[1])) as shared: print(shared.method, len(shared.refused))"
        command = ["setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/python3", "-c", program, folder]
        own = {"PYTHONPATH": folder, "PATH": "/usr/bin:/bin"}
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert done.stdout == "disk 2\n", done.stderr
