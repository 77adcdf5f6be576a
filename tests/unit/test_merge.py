"""Merging a job's node files: the sum of every counter before is the sum after, whatever interrupts it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from slicewise.errors import UserError
from slicewise.profile import merge as merging
from slicewise.profile.files import profile_files
from slicewise.profile.reader import TABLES, read_profile
from support.swz import Writer

NODES = 5


@pytest.fixture
def job_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    for node in range(NODES):
        writer = Writer()
        parts = [writer.schema_frame()]
        for process in range(1, 4):
            rows = [
                {"mount": 1, "layer": "posix", "slice": slice_number, "write_bytes": slice_number * process + node,
                 "write_ops": 1, "write_slowest_ns": slice_number}
                for slice_number in range(100, 130)
            ]  # fmt: skip
            payload = writer.rows("processes", [{"host": f"node{node}", "pid": process}]) + writer.rows("slices", rows)
            parts.append(writer.frame(node * 10 + process, 0, payload, flags=1))
        (folder / f"node{node}.swz").write_bytes(b"".join(parts))
        (folder / f"node{node}.swz").chmod(0o600)
    return folder


def assert_same(before: Path, after: Path) -> None:
    one, two = read_profile(before, bins=True), read_profile(after, bins=True)
    assert two.damage == []
    for table in TABLES:
        first, second = getattr(one, table), getattr(two, table)
        assert first.sort(pl.all()).equals(second.sort(pl.all())), table


def test_merged_file_holds_what_the_directory_holds(job_dir: Path) -> None:
    output = job_dir.with_name("merged.swz")
    merged = merging.merge(profile_files(job_dir), output)
    assert (merged.files, merged.bytes, merged.resumed_bytes) == (NODES, output.stat().st_size, 0)
    assert output.stat().st_mode & 0o777 == 0o600
    assert_same(job_dir, output)
    assert sorted(path.name for path in job_dir.parent.iterdir()) == ["job", "merged.swz"]


def test_the_group_may_read_what_it_could_read(job_dir: Path) -> None:
    for file in job_dir.iterdir():
        file.chmod(0o640)
    merging.merge(profile_files(job_dir), output := job_dir.with_name("merged.swz"))
    assert output.stat().st_mode & 0o777 == 0o640


def test_nothing_is_overwritten(job_dir: Path) -> None:
    output = job_dir.with_name("merged.swz")
    output.write_text("mine")
    with pytest.raises(UserError, match="not overwritten"):
        merging.merge(profile_files(job_dir), output)
    assert output.read_text() == "mine"


def test_a_name_that_is_taken_meanwhile_is_not_overwritten(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = job_dir.with_name("merged.swz")
    copy = merging._copy

    def copy_and_take(*arguments: object) -> None:
        copy(*arguments)
        output.write_text("mine")

    monkeypatch.setattr(merging, "_copy", copy_and_take)
    with pytest.raises(UserError, match="not overwritten"):
        merging.merge(profile_files(job_dir), output)
    assert output.read_text() == "mine"


@pytest.mark.parametrize("copies", range(NODES + 1))
def test_goes_on_after_being_killed(job_dir: Path, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    output = job_dir.with_name("merged.swz")
    script = f"""
import os, signal
from pathlib import Path
from slicewise.profile import merge as merging
merging.BYTES_BETWEEN_NOTES = 700
merging.COPIED_AT_ONCE = 333
copy, left = merging._copy, [{copies * 4}]
def copy_or_die(*arguments):
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    copy(*arguments)
merging._copy = copy_or_die
merging.merge(sorted(Path({str(job_dir)!r}).glob("*.swz")), Path({str(output)!r}))
"""
    ended = subprocess.run([sys.executable, "-c", script], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not output.exists()
    with output.with_name(output.name + merging.PARTIAL_SUFFIX).open("ab") as partial:
        partial.write(b"what a crash may leave behind")
    monkeypatch.setattr(merging, "BYTES_BETWEEN_NOTES", 700)
    merged = merging.merge(profile_files(job_dir), output)
    assert (merged.resumed_bytes > 0) == (copies > 0)
    assert output.read_bytes() == b"".join(file.read_bytes() for file in profile_files(job_dir))
    assert_same(job_dir, output)
    assert sorted(path.name for path in job_dir.parent.iterdir()) == ["job", "merged.swz"]


def test_files_that_changed_since_are_said(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = job_dir.with_name("merged.swz")
    with monkeypatch.context() as patch:
        patch.setattr(merging, "_publish", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(UserError, match="No space left"):
            merging.merge(profile_files(job_dir), output)
    file = profile_files(job_dir)[0]
    file.write_bytes(file.read_bytes() + b"more")
    with pytest.raises(UserError, match="were others; remove it"):
        merging.merge(profile_files(job_dir), output)


def test_where_files_cannot_be_copied_by_the_file_system(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_copy_file_range(*_: object, **__: object) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "copy_file_range", no_copy_file_range, raising=False)
    output = job_dir.with_name("merged.swz")
    merging.merge(profile_files(job_dir), output)
    assert_same(job_dir, output)


def test_where_python_was_built_for_an_old_glibc(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    output = job_dir.with_name("merged.swz")
    merging.merge(profile_files(job_dir), output)
    assert_same(job_dir, output)
