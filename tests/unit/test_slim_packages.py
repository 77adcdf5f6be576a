"""`make slim`: what it builds is of the lock file's versions, and pip takes it for them. Building takes an hour."""

import hashlib
import importlib.util
import shutil
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from support.packages import ROOT, run

PIP = (sys.executable, "-I", "-m", "pip", "--disable-pip-version-check")


@pytest.fixture(scope="module")
def slim():
    sys.path.insert(0, str(ROOT / "make"))
    try:
        loader = SourceFileLoader("slim", str(ROOT / "make" / "slim"))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("slim", loader))
        loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "make"))
    return module


def wheel(version, content):
    about = f"numpy-{version}.dist-info"
    return {
        "numpy/__init__.py": content,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: numpy\nVersion: {version}\n".encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\n",
    }


def test_its_sources_are_of_the_versions_of_the_lock_file(slim, monkeypatch):
    monkeypatch.chdir(ROOT)
    sources = tomllib.loads(slim.SOURCES.read_text())
    assert set(sources) == {"polars", "numpy"}
    assert [slim.is_locked(source) for source in sources.values()] == [True, True]
    assert not slim.is_locked({"name": "numpy", "version": "2.4"})


def test_pip_takes_it_for_the_version_that_is_asked_for(slim, tmp_path):
    files = wheel("2.4.6", b"of = 'the index'\n")
    slim.wheel_file.write(files, "py3-none-any", tmp_path / "found")
    slim.wheel_file.write(slim.renamed(files, "2.4.6"), "py3-none-any", tmp_path / "found")
    (tmp_path / "pins").write_text("numpy==2.4.6\n")
    offline = ("--no-index", "--find-links", tmp_path / "found", "--constraint", tmp_path / "pins")
    done = run(*PIP, "install", *offline, "--target", tmp_path / "there", "numpy>=1.26")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there" / "numpy-2.4.6+slim.dist-info").is_dir()


def test_another_version_than_said_is_refused(slim):
    with pytest.raises(SystemExit, match=r"not of version 2\.4\.5"):
        slim.renamed(wheel("2.4.6", b""), "2.4.5")


def packed_source(folder):
    (folder / "thing-1").mkdir()
    (folder / "thing-1" / "Cargo.toml").write_text("lto = false\n")
    packed = Path(shutil.make_archive(str(folder / "thing-1"), "gztar", folder, "thing-1"))
    edits = [{"files": ["Cargo.toml"], "find": "false", "replace": "true", "times": 1}]
    return {"url": packed.as_uri(), "sha256": hashlib.sha256(packed.read_bytes()).hexdigest(), "edits": edits}


def test_a_source_is_unpacked_and_edited_once(slim, tmp_path):
    source = packed_source(tmp_path)
    folder = slim.unpacked(source, tmp_path / "build")
    assert (folder / "Cargo.toml").read_text() == "lto = true\n"
    (folder / "Cargo.toml").write_text("by hand")
    assert (slim.unpacked(source, tmp_path / "build") / "Cargo.toml").read_text() == "by hand"


def test_another_source_than_the_one_that_was_tried_is_refused(slim, tmp_path):
    source = packed_source(tmp_path) | {"sha256": "0" * 64}
    with pytest.raises(SystemExit, match="its SHA-256 is not that of"):
        slim.unpacked(source, tmp_path / "build")


def test_a_source_that_is_no_longer_as_it_was_is_refused(slim, tmp_path):
    (tmp_path / "Cargo.toml").write_text("one\ntwo\n")
    edit = {"files": ["Cargo.toml"], "find": "^(one|three)\n", "replace": "", "times": 1}
    slim.edit({"edits": [edit]}, tmp_path)
    assert (tmp_path / "Cargo.toml").read_text() == "two\n"
    with pytest.raises(SystemExit, match=r"found .* 0 times, not 1"):
        slim.edit({"edits": [edit]}, tmp_path)
