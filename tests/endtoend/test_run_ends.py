"""Commands that end before processes that they began, and beside others of the same name: what all of them counted is
in the profile, or it is said why not.
"""

import os
import subprocess
from pathlib import Path

import pytest
from slicewise.profile.reader import read_profile
from support.programs import BUILD
from support.waiting import wait_until

# Writes, and lives on for so many seconds after it was told to end, as a process does whose call waits for storage;
# then it is killed.
ENDS_LATE = """
import os, signal, sys, time
with open("out", "wb", buffering=0) as file:
    file.write(bytes(8192))
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
open("begun", "w").close()
while not told:
    time.sleep(0.01)
time.sleep(float(sys.argv[1]))
os.kill(os.getpid(), signal.SIGKILL)
"""
A_SHELL = 'python3 -I -c "$0" "$1" & until [ -e begun ]; do sleep 0.01; done; kill -TERM $!; kill -TERM $$'


@pytest.mark.parametrize(("seconds", "is_awaited"), [(0.5, True), (6, False)])
def test_a_process_that_outlives_its_killed_command(tmp_path: Path, seconds: float, is_awaited: bool) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEWISE_", "LD_PRELOAD"))}
    slicewise = [BUILD / "bin" / "slicewise"]
    run = [*slicewise, "run", "--job", "job", "--", "bash", "-c", A_SHELL, ENDS_LATE, str(seconds)]
    done = subprocess.run(run, cwd=tmp_path, env=kept, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 128 + 15
    job = tmp_path / "slicewise" / "job"
    assert ("processes of the job that still run: 1" in done.stderr) is not is_awaited, done.stderr
    recover = [*slicewise, "recover", job]
    if not is_awaited:
        wait_until(lambda: b"recovered 1 process" in subprocess.run(recover, capture_output=True, check=True).stdout)
    profile = read_profile(job)
    assert 8192 in profile.slices["write_bytes"]
    assert profile.damage == []


def test_jobs_of_one_name_in_two_directories_have_a_collector_each(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEWISE_", "LD_PRELOAD"))}
    run = [BUILD / "bin" / "slicewise", "run", "--slice", "0.5", "--job", "job"]
    write = ["dd", "if=/dev/zero", "of=out", "bs=1M", "count=8", "status=none"]
    script = f"{' '.join(write)}; sleep 1.5"
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    running = [subprocess.Popen([*run, "--", "bash", "-c", script], cwd=folder, env=kept) for folder in folders]
    assert [process.wait() for process in running] == [0, 0]
    for folder in folders:
        profile = read_profile(folder / "slicewise" / "job")
        assert int(profile.slices["write_bytes"].sum()) >= 8 << 20
        assert (profile.nodes.height, profile.node_slices.is_empty()) == (1, False)
