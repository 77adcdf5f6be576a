"""A program that locks its memory locks no more and may lock as much as bare: our mappings stay out."""

import subprocess
from pathlib import Path

import pytest
from support.programs import Apps, Job, total

MORE_KB = 6 << 10  # the library itself, and the few pages of ours that are in use
LIMIT_KB = 7 << 10  # the program alone is well below it, and our mappings are above


def figures(output: bytes) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in output.decode().splitlines())}


@pytest.mark.parametrize("limit_kb", [0, LIMIT_KB, 64])
@pytest.mark.parametrize("way", ["current", "both", "touched", "number", "future"])
def test_locked_memory(job: Job, apps: Apps, tmp_path: Path, way: str, limit_kb: int) -> None:
    command = [apps.build("locked_memory"), way, job.data / "file", str(limit_kb)]
    alone = subprocess.run([*command[:2], tmp_path / "file", command[3]], capture_output=True, check=False)
    ended = job.run(command)
    assert alone.returncode == 0, alone.stderr
    bare, profiled = figures(alone.stdout), figures(ended.output)
    assert ended.status == 0
    assert (profiled["result"], profiled["error"]) == (bare["result"], bare["error"])
    assert profiled["locked"] <= bare["locked"] + MORE_KB
    assert profiled["resident"] <= bare["resident"] + MORE_KB
    if way == "future" and limit_kb != 0:  # no mapping as large as ours is allowed any more
        assert ended.errors == "slicewise: not profiled: no memory can be had to count in\n"
        return
    assert ended.errors == ""
    assert total(job.profile(), "write_ops", obj="file") == 20


def test_locked_memory_under_a_filter(job: Job, apps: Apps) -> None:
    """The filter kills whoever makes a call that this takes: so nothing is counted any more, and the program lives."""
    ended = job.run([apps.build("locked_memory"), "filtered", job.data / "file", "0"])
    assert (ended.status, figures(ended.output)["result"]) == (0, 0)
    assert total(job.profile(), "write_ops", obj="file") == 0
