"""More files than the table has rows, by several threads at once: sums are exact and bounds hold, after SIGKILL too."""

import signal
import sys
from pathlib import Path

import polars as pl
import pytest
from support.command_line import slicewise_command
from support.programs import Apps, Job, total

THREADS, FILES = 4, 600
HEAVY, PIECES, PIECE_BYTES = 3, 8, 16384
FILES_KEPT = 256  # libprofiler/segment.h


def written(data: Path) -> dict[str, int]:
    """Bytes by file, as tests/apps/many_files.c writes them."""
    light = {str(data / f"l{t}.{i}"): 1 + (7 * i + t) % 100 for t in range(THREADS) for i in range(FILES)}
    return light | {str(data / f"h{t}.{h}"): PIECES * PIECE_BYTES for t in range(THREADS) for h in range(HEAVY)}


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_more_files_than_rows_by_several_threads(job: Job, apps: Apps, end: str) -> None:
    ended = job.run([apps.build("many_files", "-pthread"), str(THREADS), str(FILES), job.data, end])
    if end == "kill":
        assert ended.status == -signal.SIGKILL
        job.must_recover(job.spool_dir)
    else:
        assert (ended.status, ended.errors) == (0, "")
    profile = job.profile()
    of_files = written(job.data)
    everything = sum(of_files.values())
    assert total(profile, "write_bytes", obj="file") == everything
    assert profile.files["write_bytes"].sum() == everything
    assert profile.files["opens"].sum() == THREADS * (FILES + HEAVY * PIECES)
    rows = profile.files.filter(pl.col("path").is_in(list(of_files)))
    listed = {row["path"]: row for row in rows.iter_rows(named=True)}
    assert len(listed) == rows.height, "a path has one row"
    others = profile.files.filter(pl.col("path") == "")["error_bytes"].item()
    for path, moved in of_files.items():
        if path in listed:
            row = listed[path]
            assert row["write_bytes"] <= moved <= row["write_bytes"] + row["error_bytes"], path
            assert row["error_bytes"] <= everything // FILES_KEPT
        else:
            assert moved <= others <= everything // FILES_KEPT, path
    told = slicewise_command("report", "--detail", profile.path).text
    assert "A file without a row there moved at most" in " ".join(told.split())
    assert {path for path in of_files if "/h" in path.removeprefix(str(job.data))} <= set(listed)


@pytest.mark.parametrize("files", [416, 504, 600, 704, 808, 1000])
def test_killed_in_the_midst_of_rows_that_come_and_go(job: Job, apps: Apps, files: int) -> None:
    """Each file is larger than those before, so that each gets a row, and others are given up, whenever the kill comes.
    The process's own last calls, one a thread, may be in one of the sums and not in the other."""
    ended = job.run([apps.build("many_files", "-pthread"), str(THREADS), str(files), job.data, "amid"])
    assert ended.status == -signal.SIGKILL
    job.must_recover(job.spool_dir)
    profile = job.profile()
    of_files = {str(path): path.stat().st_size for path in job.data.iterdir()}
    under_way = THREADS * PIECE_BYTES
    everything = total(profile, "write_bytes", obj="file")
    assert sum(of_files.values()) - under_way <= everything <= sum(of_files.values())
    assert everything - under_way <= profile.files["write_bytes"].sum() <= everything + under_way
    others = profile.files.filter(pl.col("path") == "")["error_bytes"].item()
    rows = profile.files.filter(pl.col("path").is_in(list(of_files)))
    listed = {row["path"]: row for row in rows.iter_rows(named=True)}
    assert len(listed) == rows.height, "a path has one row"
    for path, moved in of_files.items():
        if path in listed:
            row = listed[path]
            most = row["write_bytes"] + row["error_bytes"] + PIECE_BYTES
            assert row["write_bytes"] - PIECE_BYTES <= moved <= most, path
        else:
            assert moved <= others + PIECE_BYTES, path


OPENS_BY_ALL_NAMES = """
import os, sys
data = sys.argv[1]
os.makedirs(f"{data}/real/deep"); os.makedirs(f"{data}/other")
os.symlink("real", f"{data}/link"); os.symlink("../other/behind", f"{data}/real/a_link")
moved = 0
def use(fd):
    global moved
    moved += 1
    name = os.readlink(f"/proc/self/fd/{fd}")
    os.write(fd, bytes(moved)); os.close(fd)
    print(moved, name)
def made(name, flags=0):
    return os.open(name, os.O_WRONLY | os.O_CREAT | flags)
for name in ("one", "two", "a_link", "deep/three", "../real/four", "./five", "deep//six"):
    use(made(f"{data}/real/{name}"))
for name in ("seven", "one"):
    use(made(f"{data}/link/{name}"))
os.chdir(f"{data}/link")
for name in ("eight", "a_link", "deep/nine", "deep/ten", "../other/eleven", "./twelve"):
    use(made(name))
use(made(f"{data}/real/thirteen"))
for name in ("real/new", "real/newer", "link/newest", "real/newest"):
    use(made(f"{data}/{name}", os.O_NOFOLLOW if name == "real/newest" else os.O_EXCL))
fd = made(f"{data}/real/going", os.O_EXCL); os.rename(f"{data}/real/going", f"{data}/other/gone"); use(fd)
fd = made(f"{data}/real/fourteen"); os.rename(f"{data}/real/fourteen", f"{data}/other/fourteen"); use(fd)
fd = made(f"{data}/real/fifteen"); os.rename(f"{data}/real/fifteen", f"{data}/other/fifteen")
made(f"{data}/real/fifteen"); use(fd)
fd = made("sixteen"); os.chdir("/"); use(fd)
fd = made(f"{data}/real/seventeen"); os.close(made(f"{data}/real/eighteen")); use(fd)
os.rename(f"{data}/real", f"{data}/moved"); os.symlink("other", f"{data}/real"); use(made(f"{data}/real/nineteen"))
"""


def test_a_file_has_the_name_that_the_kernel_knows_it_by(job: Job) -> None:
    """By whatever name it was opened, and though names are not asked for where they are known already."""
    ended = job.must_run([sys.executable, "-c", OPENS_BY_ALL_NAMES, job.data])
    expected: dict[str, int] = {}
    for line in ended.output.decode().splitlines():
        moved, name = line.split(" ", 1)
        expected[name] = expected.get(name, 0) + int(moved)
    of_files = job.profile().files.filter(pl.col("write_bytes") > 0).select("path", "write_bytes")
    written_to = {path: moved for path, moved in of_files.iter_rows() if path.startswith(str(job.data))}
    assert written_to == expected
