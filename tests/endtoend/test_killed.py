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
# How long the one call takes, and when the program in it is killed.
SECONDS, KILLED = 8, 6
# A look at its threads finds the call under way, and one finds it there again.
LOOKS_SECONDS = 1.0


def test_a_program_that_is_killed_within_a_call_has_its_time_and_bytes(tmp_path):
    """A write past the cache: the kernel lets nobody die before its bytes are on the disk."""
    with contention(tmp_path) as shared:
        if shared.group is None:
            pytest.skip(f"no disk can be limited here: {'; '.join(shared.refused)}")
        size = SECONDS * LIMIT_MIB_S
        dd = ["dd", "if=/dev/zero", f"of={tmp_path}/data", f"bs={size}M", "count=1", "oflag=direct", "status=none"]
        command = [SLICEWISE, "run", "--dir", tmp_path / "profiles", "--job", "killed", "--slice", "1", "--"]
        command += ["timeout", "-s", "KILL", str(KILLED), *dd]
        began = time.monotonic()
        with subprocess.Popen(command, preexec_fn=shared.join) as job:
            assert job.wait(timeout=120) == 128 + signal.SIGKILL
        took = time.monotonic() - began
    digest = Digest(read_profile(tmp_path / "profiles" / "killed"))
    rows = job_rows([digest], digest.slice_ns)
    assert rows["write_bytes"].sum() == pytest.approx(size * MIB, rel=0.02)
    assert KILLED - LOOKS_SECONDS <= rows["write_seconds"].sum() <= took
    assert rows.filter(pl.col("write_bytes") > 0)["slice"].n_unique() >= KILLED - 1
    assert digest.mishaps.filter(pl.col("mishap") == "unfinished_calls")["count"].sum() == 1
