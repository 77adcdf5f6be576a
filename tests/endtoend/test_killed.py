"""Processes that are killed within a call: what they had done in it is in their profile, as the kernel counted it."""

import signal
import subprocess
import time

import polars as pl
import pytest
from slicewise.analysis.calls import job_rows
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.programs import BUILD
from testbed.contention import LIMIT_MIB_S, contention

SLICEWISE = BUILD / "bin" / "slicewise"
MIB = 1 << 20
# How long the one call takes: the kernel lets nobody die before its bytes are on the disk.
SECONDS = 5
# A look at its threads finds the call under way, and one finds it there again.
LOOKS_SECONDS = 1.0


@pytest.mark.parametrize(("killed", "outlives_the_command"), [(4, False), (2, True)])
def test_a_program_that_is_killed_within_a_call_has_its_time_and_bytes(tmp_path, killed, outlives_the_command):
    """A write past the cache. `slicewise run` waits for it for 2 s; what outlives that, `recover` finds."""
    with contention(tmp_path) as shared:
        if shared.group is None:
            pytest.skip(f"no disk can be limited here: {'; '.join(shared.refused)}")
        size = SECONDS * LIMIT_MIB_S
        dd = ["dd", "if=/dev/zero", f"of={tmp_path}/data", f"bs={size}M", "count=1", "oflag=direct", "status=none"]
        command = [SLICEWISE, "run", "--dir", tmp_path / "profiles", "--job", "killed", "--slice", "1", "--"]
        command += ["timeout", "-s", "KILL", str(killed), *dd]
        began = time.monotonic()
        with subprocess.Popen(command, preexec_fn=shared.join) as job:
            assert job.wait(timeout=120) == 128 + signal.SIGKILL
        seen_for = time.monotonic() - began
        if outlives_the_command:
            time.sleep(max(0.0, SECONDS + 2 - seen_for))
            subprocess.run([SLICEWISE, "recover", tmp_path / "profiles" / "killed"], check=True, timeout=60)
    digest = Digest(read_profile(tmp_path / "profiles" / "killed"))
    rows = job_rows([digest], digest.slice_ns)
    least = size if not outlives_the_command else size * (killed - LOOKS_SECONDS) / SECONDS
    assert 0.98 * least <= rows["write_bytes"].sum() / MIB <= 1.02 * size
    assert killed - LOOKS_SECONDS <= rows["write_seconds"].sum() <= seen_for
    assert rows.filter(pl.col("write_bytes") > 0)["slice"].n_unique() >= killed - 1
    assert digest.mishaps.filter(pl.col("mishap") == "unfinished_calls")["count"].sum() == 1
