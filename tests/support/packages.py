"""What `make dist` links and packs, made once in a test run: whichever worker of xdist needs it first makes it."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command: object, **options: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A directory that all workers of this run share, filled by `make`. Workers that need it meanwhile wait."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    directory, unfinished = shared / name, shared / f"{name}-unfinished"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.exists():
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(directory)
    return directory


def portable_parts(factory: pytest.TempPathFactory) -> Path:
    """Libraries and collector, linked from the build's objects, elsewhere: other tests use what lies in build/."""

    def link(directory: Path) -> None:
        made = run("make", "--no-print-directory", "portable", f"PORTABLE={directory}", cwd=ROOT)
        assert made.returncode == 0, made.stderr

    return made_once(factory, "portable", link)


def wheel_of(factory: pytest.TempPathFactory) -> Path:
    portable = portable_parts(factory)
    directory = made_once(factory, "wheel", lambda directory: packed(portable, directory))
    (wheel,) = (directory / "dist").glob("*.whl")
    return wheel


def packed(portable: Path, directory: Path) -> Path:
    """A wheel, made as `make dist` makes it, with its bytes independent of the time."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    (directory / "lib").mkdir()
    (directory / "lib" / "libslicewise-reader.so").symlink_to(portable / "lib" / "libslicewise-reader.so")
    (directory / "venv").symlink_to(ROOT / "build" / "venv")
    made = run("make/wheel", directory, cwd=ROOT, env=environment)
    assert made.returncode == 0, made.stderr
    (base,) = (directory / "wheel").glob("*.whl")
    written = run(sys.executable, "make/man_pages", directory / "man", cwd=ROOT)
    assert written.returncode == 0, written.stderr
    made = run(
        sys.executable, "make/pack_wheel", base, portable, directory / "man", "x86_64", "2.28", directory / "dist",
        cwd=ROOT, env=environment,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.strip())
