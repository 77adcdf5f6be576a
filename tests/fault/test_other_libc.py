"""Programs of a libc that is not glibc: the library loads into them and lets every call pass."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.programs import APPS, Job, need


def test_program_of_musl_runs_as_without_us(job: Job, tmp_path: Path) -> None:
    need("musl-gcc")
    program = tmp_path / "program"
    subprocess.run(["musl-gcc", "-O1", APPS / "other_libc.c", "-o", program], check=True)
    bare, ended = job.run_plainly([program]), job.run([program])
    assert bare.status == 5
    assert (ended.status, ended.output, ended.errors) == (bare.status, bare.output, bare.errors)
    assert (job.data / "file").stat().st_size == 2 * 2 * 10
