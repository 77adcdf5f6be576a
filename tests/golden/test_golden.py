"""Profiles that were written once and must be read the same for ever: of each format the first and the released one."""

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest
from support.command_line import slicewise_command

HERE = Path(__file__).resolve().parent
FILES = sorted(HERE.glob("*.swz"))
MOST_BYTES = 12288

_spec = importlib.util.spec_from_file_location("golden_contents", HERE / "contents.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
contents = _module.contents


def test_there_are_golden_files():
    assert [file.name for file in FILES] == ["format-1-released.swz", "format-1.swz"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_golden_file_is_read_as_it_always_was(file: Path):
    assert file.stat().st_size < MOST_BYTES
    expected = json.loads(file.with_suffix(".json").read_text())
    found = contents(file)
    # A later reader may know more tables or columns; what was there stays.
    for name, rows in expected.items():
        assert found[name] == rows, name


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_golden_file_holds_what_its_program_did(file: Path):
    """Counted by hand from program.c, and not by any reader."""
    found = contents(file)
    by_object = {(row["process"], row.get("mount", 0)): row["object"] for row in found["mounts"]}

    def total(layer: str, object_: str, counter: str) -> int:
        return sum(
            row.get(counter, 0)
            for row in found["slices"]
            if row["layer"] == layer and by_object[row["process"], row.get("mount", 0)] == object_
        )

    assert found["job"] == "golden"
    assert found["slice_ns"] == 1_000_000_000
    assert sorted(row["ending"] for row in found["processes"]) == ["exit", "underscore_exit"]
    assert total("posix", "file", "write_bytes") == 10 * 4096
    assert total("posix", "file", "write_ops") == 10
    assert total("posix", "file", "write_consecutive") == 9
    assert total("posix", "file", "read_bytes") == 3 * 1000 + 2 * 100
    assert total("posix", "file", "read_size_0") == 2
    assert total("posix", "file", "read_size_1") == 3
    assert total("posix", "file", "sync_ops") == 1
    assert total("posix", "file", "errors") == 1
    assert total("posix", "pipe", "read_bytes") == total("posix", "pipe", "write_bytes") == 5
    assert total("stdio", "file", "write_bytes") == 50 * 8
    assert total("stdio", "file", "write_ops") == 50
    assert len({row["slice"] for row in found["slices"] if row["layer"] != "kernel"}) == 3


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_golden_file_is_a_stock_zstd_stream(file: Path):
    assert subprocess.run(["zstd", "-dc", file], check=True, capture_output=True).stdout.startswith(b'{"format": ')


@pytest.mark.parametrize(
    "command", ["report --detail", "report --detail --phases --json", "report --html PAGE", "export --format csv"]
)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_commands_answer_on_a_golden_file(file: Path, command: str, tmp_path: Path):
    """Its version knew fewer tables and columns than this one."""
    name, *options = command.split()
    done = slicewise_command(name, file, *(tmp_path / "page.html" if word == "PAGE" else word for word in options))
    assert (done.status, done.errors) == (0, "")
    assert done.output
