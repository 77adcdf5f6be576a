"""More files than the table has rows, by several threads at once: sums are exact and bounds hold, after SIGKILL too."""

from __future__ import annotations

import signal
from pathlib import Path

import polars as pl
import pytest
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
        recovered = job.recover(job.spool_dir)
        assert (recovered.returncode, recovered.stderr) == (0, "")
        assert job.segments() == []
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
    assert {path for path in of_files if "/h" in path.removeprefix(str(job.data))} <= set(listed)
