"""A job that runs across an upgrade: what its killed processes left is of another build than the collector is."""

import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import slicewise
from support.programs import COLLECTOR, Job, total

ROOT = Path(__file__).resolve().parents[2]
VERSION, EARLIER = slicewise.__version__.encode(), b"0.0.9"
SCRIPT = """#!/bin/sh
# Stands for a collector of the earlier build: reads its segments.
for segment in {segments}; do
    printf '{version}' | dd of="$segment" bs=1 seek={at} conv=notrunc 2> /dev/null
done
exec {collector} "$@"
"""


def kill_a_writer(job: Job) -> tuple[Path, int]:
    """A process that wrote 4 KiB and was killed: its segment, made one of an earlier build, and where that is told."""
    program = "import os; os.write(os.open('file', os.O_WRONLY | os.O_CREAT), bytes(4096)); os.kill(os.getpid(), 9)"
    assert job.run([sys.executable, "-I", "-S", "-c", program]).status == -signal.SIGKILL
    (segment,) = job.segments()
    content = segment.read_bytes()
    at = content.index(VERSION)
    with segment.open("r+b") as file:
        file.seek(at)
        file.write(EARLIER)
    return segment, at


def installed(directory: Path) -> Path:
    """A collector with the place beside it where those of earlier builds are kept."""
    (directory / "bin").mkdir(parents=True)
    return Path(shutil.copy(COLLECTOR, directory / "bin" / "slicewise-collect"))


def recover(collector: Path, job: Job) -> str:
    environment = job.environment({"LD_PRELOAD": ""})
    done = subprocess.run([collector, "recover"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_segment_of_another_build_stays_and_is_told(job, tmp_path):
    segment, _ = kill_a_writer(job)
    before = segment.read_bytes()
    said = recover(installed(tmp_path / "new"), job)
    assert "recovered 0 processes" in said
    assert (
        "1 more is of another build of Slicewise: running, or to be finished by that build's slicewise-collect" in said
    )
    assert segment.read_bytes() == before


def test_the_collector_that_was_kept_finishes_what_is_of_its_build(job, tmp_path):
    segment, at = kill_a_writer(job)
    collector = installed(tmp_path / "new")
    kept = tmp_path / "new" / "lib" / "slicewise" / "collectors" / "0123456789ab" / "slicewise-collect"
    kept.parent.mkdir(parents=True)
    kept.write_text(SCRIPT.format(segments=segment, version=VERSION.decode(), at=at, collector=COLLECTOR))
    kept.chmod(kept.stat().st_mode | stat.S_IXUSR)
    said = recover(collector, job)
    assert "recovered 1 process " in said
    assert "another build" not in said
    assert not job.segments()
    assert total(job.profile(), "write_bytes") == 4096


def test_installing_keeps_the_collector_that_it_replaces(tmp_path):
    """Once each, and the five youngest."""
    new = tmp_path / "new"
    for build in range(8):
        collector = installed(tmp_path / "prefix") if build == 0 else tmp_path / "prefix" / "bin" / "slicewise-collect"
        new.write_text(f"build {build}")
        new.chmod(0o755)
        for _ in range(2):
            subprocess.run([ROOT / "make" / "keep_collector", tmp_path / "prefix", new], check=True)
            shutil.copy(new, collector)
    kept = [path.read_text() for path in (tmp_path / "prefix" / "lib" / "slicewise" / "collectors").glob("*/*")]
    assert len(kept) == 5
    assert "build 7" not in kept
