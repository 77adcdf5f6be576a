"""Programs of a libc that is not glibc: the library loads into them and lets every call pass."""

import subprocess
from pathlib import Path

from support.programs import APPS, BUILD, Job, need


def test_program_of_musl_runs_as_without_us(job: Job, tmp_path: Path) -> None:
    need("musl-gcc")
    program = tmp_path / "program"
    subprocess.run(["musl-gcc", "-O1", APPS / "other_libc.c", "-o", program], check=True)
    bare, ended = job.run_plainly([program]), job.run([program])
    assert bare.status == 5
    assert (ended.status, ended.output, ended.errors) == (bare.status, bare.output, bare.errors)
    assert (job.data / "file").stat().st_size == 2 * 2 * 10


def test_the_reason_for_which_it_is_not_profiled_is_its_libc(job: Job, tmp_path: Path) -> None:
    need("musl-gcc")
    program = tmp_path / "program"
    subprocess.run(["musl-gcc", "-O1", APPS / "other_libc.c", "-o", program], check=True)
    looked = subprocess.run([BUILD / "bin" / "slicewise-collect", "look", program], capture_output=True, text=True)
    assert looked.stdout == f"other_libc {program}\n"
    ended = job.run(["sh", "-c", f"echo begin; {program} > /dev/null"])
    assert ended.status == 5, ended.errors
    (row,) = [row for row in job.profile().unprofiled.to_dicts() if row["program"] == str(program)]
    assert (row["reason"], row["times"]) == ("other_libc", 1)
