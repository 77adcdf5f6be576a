"""Two MPI jobs that really compete for a disk: the analyzer says what it cost them, and the testbed cleans up."""

import json
import math
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from support.programs import BUILD
from support.workload import LOAD, require_load
from testbed.contention import LIMIT_MIB_S, Contention, contention

SLICEWISE = BUILD / "bin" / "slicewise"
TESTS = Path(__file__).resolve().parents[1]
VOLUME_MIB = 168
PROCESSES = {"large": 4, "small": 1}


def start(folder: Path, shared: Contention, name: str, job: str, start_at: float) -> subprocess.Popen[str]:
    command = [SLICEWISE, "run", "--dir", folder, "--job", name, "--slice", "0.5", "--", "mpirun.openmpi"]
    command += ["--allow-run-as-root", "--oversubscribe", "-n", str(PROCESSES[job]), LOAD, "--direct"]
    command += ["--volume", f"{VOLUME_MIB // 4}M", "--repeats", "4", "--start-at", f"{start_at:.3f}", folder / job]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=shared.join
    )


def finish(process: subprocess.Popen[str]) -> None:
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said


def test_two_jobs_of_different_size(tmp_path):
    require_load()
    with contention(tmp_path) as shared:
        if shared.group is None:
            pytest.skip(
                f"no disk can be limited here, so nothing is known to compare with: {'; '.join(shared.refused)}"
            )
        for job in PROCESSES:
            finish(start(tmp_path, shared, f"{job}-alone", job, 0))
        start_at = math.ceil(time.time()) + 1
        for process in [start(tmp_path, shared, job, job, start_at) for job in PROCESSES]:
            finish(process)
        group = shared.group
    assert not group.exists()

    command = [SLICEWISE, "overlap", *(tmp_path / job for job in PROCESSES), "--json"]
    command += [word for job in PROCESSES for word in ("--alone", tmp_path / f"{job}-alone")]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    large, small = told["jobs"]
    assert (large["processes"], small["processes"]) == (4, 1)
    # The limit is shared by process, and is all that there is to share.
    assert large["region_mib_s"] / small["region_mib_s"] == pytest.approx(4, rel=0.5)
    assert large["region_mib_s"] + small["region_mib_s"] == pytest.approx(LIMIT_MIB_S, rel=0.25)


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
