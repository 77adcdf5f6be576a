"""Programs under the library: compiling the tiny ones of tests/apps, and running any as a job of its own."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from slicewise.profile.reader import Profile, read_profile

ROOT = Path(__file__).resolve().parents[2]
APPS = ROOT / "tests" / "apps"
BUILD = ROOT / os.environ.get("BUILD", "build")
LIBRARY = BUILD / "lib" / "libslicewise.so"
COLLECTOR = BUILD / "bin" / "slicewise-collect"
SHARED_MEMORY = Path("/dev/shm")
# Where programs are kept, for all processes and runs of the tests, and what go compiled: its own library takes 10 s.
COMPILED, GO_CACHE = BUILD / "apps", BUILD / "go"
JOB_NAME = "job"
TIMEOUT_SECONDS = 120
FORTIFIED = ("-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")

Command = Sequence[str | Path]


@cache
def _headers() -> bytes:
    """What programs may include."""
    files = [path for pattern in ("schema/*.def", "*/*.h", "*/*/*.h") for path in sorted(ROOT.glob(pattern))]
    return b"".join(path.read_bytes() for path in files)


def compiled(name: str, command: Command, into: Path = COMPILED) -> Path:
    """What a compiler's command makes of files of tests/apps; made once for the same files and words."""
    sources = [part.read_bytes() for part in command if isinstance(part, Path) and part.parent == APPS]
    told = b"\0".join([*map(os.fsencode, command), *sources, _headers()])
    target = into / f"{name}-{int.from_bytes(hashlib.blake2b(told, digest_size=5).digest())}"
    if not target.exists():
        into.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=into) as folder:  # modules of Fortran stay there
            subprocess.run([*command, "-o", f"{folder}/program"], cwd=folder, check=True)
            Path(folder, "program").replace(target)
    return target


@dataclass(frozen=True)
class Apps:
    """The programs of tests/apps, each compiled once for each set of options."""

    folder: Path = COMPILED

    def build(self, name: str, *options: str | Path) -> Path:
        """The path of the program (or with -shared the library) made from `name`.c."""
        command = ["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Werror", APPS / f"{name}.c"]
        return compiled(name, [*command, *options], self.folder)


def symbols_wanted(program: Path) -> set[str]:
    """What a program asks its libraries for."""
    lines = subprocess.run(["nm", "-D", "-u", program], capture_output=True, text=True, check=True).stdout.split()
    return {symbol.split("@")[0] for symbol in lines}


def build_go(folder: Path, name: str, cgo: str = "0") -> Path:
    """A Go program of tests/apps; with cgo="1" one that is linked to libc."""
    need("go")
    source = (APPS / f"{name}.go").read_text()
    if cgo == "1":
        source = source.replace('import "os"', 'import "C"\nimport "os"')
    (folder / "main.go").write_text(source)
    (folder / "go.mod").write_text("module writer\n\ngo 1.18\n")
    variables = {"CGO_ENABLED": cgo, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GOCACHE": str(GO_CACHE)}
    subprocess.run(["go", "build", "-o", "writer", "."], cwd=folder, env=os.environ | variables, check=True)
    return folder / "writer"


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit status (negative: the signal), what it printed, and where it told what it did."""

    status: int
    output: bytes
    errors: str
    told_file: Path

    @property
    def told(self) -> dict[str, int]:
        """What a scenario told (tests/apps/scenario.h): name to number."""
        lines = self.told_file.read_text().splitlines()
        return {name: int(value) for name, value in (line.split() for line in lines)}


class Job:
    """One job's directory, segments and settings, apart from those of every other test."""

    def __init__(self, folder: Path, segment_dir: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir()
        self.spool_dir = folder / JOB_NAME
        self.segment_dir = segment_dir
        self.settings: dict[str, str] = {}

    def environment(self, settings: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SLICEWISE_")}
        ours = {
            "LD_PRELOAD": str(LIBRARY),
            "SLICEWISE_DIR": str(self.folder),
            "SLICEWISE_JOB": JOB_NAME,
            "SLICEWISE_SEGMENT_DIR": str(self.segment_dir),
            "SLICEWISE_VERBOSE": "1",  # so that tests see whatever the library has to say
            "TOLD": str(self.folder / "told"),
        }
        return kept | ours | self.settings | settings

    def run(
        self,
        command: Command,
        *,
        stdin: bytes = b"",
        cwd: Path | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        **settings: str,
    ) -> Ended:
        """Run a command under the library to its end."""
        done = subprocess.run(
            command, env=self.environment(settings), cwd=cwd or self.data, input=stdin, capture_output=True,
            timeout=timeout_seconds, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr.decode(errors="replace"), self.folder / "told")

    def must_run(self, command: Command, **options: Any) -> Ended:
        """Run a command under the library, which must end well and say nothing."""
        ended = self.run(command, **options)
        assert (ended.status, ended.errors) == (0, ""), (ended.status, ended.errors)
        return ended

    def profiled(self, command: Command, **options: Any) -> Profile:
        """The profile of such a run."""
        self.must_run(command, **options)
        return self.profile()

    def run_plainly(self, command: Command, **options: Any) -> Ended:
        """Run a command as if there were no Slicewise."""
        return self.run(command, **options | {"LD_PRELOAD": ""})

    def start(self, command: Command, **settings: str) -> subprocess.Popen[bytes]:
        """Start a command under the library."""
        return subprocess.Popen(
            command, env=self.environment(settings), cwd=self.data, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip

    def recover(
        self, *arguments: str | Path, cwd: Path | None = None, **settings: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COLLECTOR, "recover", *arguments], cwd=cwd, env=self.environment(settings) | {"LD_PRELOAD": ""},
            capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS,
        )  # fmt: skip

    def must_recover(self, *arguments: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
        """Recover what processes left, which must end well, say nothing on stderr, and leave no segment."""
        done = self.recover(*arguments, **settings)
        assert (done.returncode, done.stderr, self.segments()) == (0, "", []), done
        return done

    def profile(self, *, bins: bool = False, is_damaged: bool = False) -> Profile:
        """The job's profile, which must be whole unless damage is expected."""
        profile = read_profile(self.spool_dir, bins=bins)
        assert is_damaged or profile.damage == [], profile.damage
        return profile

    def segments(self) -> list[Path]:
        """What lies in the directory of segments."""
        return sorted(self.segment_dir.glob("slicewise-*/*"))


@contextmanager
def job_in(folder: Path) -> Iterator[Job]:
    """A job below `folder` whose segments lie in shared memory, in a directory that is removed at the end."""
    need_built(LIBRARY, COLLECTOR)
    with tempfile.TemporaryDirectory(prefix="slicewise-test-", dir=SHARED_MEMORY) as segment_dir:
        yield Job(folder, Path(segment_dir))


def need_built(*products: Path, how: str = "make") -> None:
    """Fail the test unless all of our own build is there: a skip would pass where nothing was tested."""
    missing = [str(product) for product in products if not product.exists()]
    if missing:
        pytest.fail(f"not built: {' '.join(missing)}: run {how}", pytrace=False)


def need(*commands: str) -> None:
    """Skip the test unless all commands are installed."""
    missing = [command for command in commands if shutil.which(command) is None]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)}")


def below(pid: int) -> Iterator[int]:
    """The process and its descendants."""
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from below(int(child))


def executable(pid: int) -> Path:
    return Path(f"/proc/{pid}/exe").readlink()


def total(profile: Profile, column: str, *, layers: Sequence[str] = ("posix",), obj: str | None = None) -> int:
    """A counter of the slices added up over layers and, if given, over mounts of one kind of object."""
    rows = profile.slices.filter(pl.col("layer").is_in(layers))
    if obj is not None:
        objects = profile.mounts.select("process", "mount", "object")
        rows = rows.join(objects, on=["process", "mount"]).filter(pl.col("object") == obj)
    return int(rows[column].sum())


def calls(profile: Profile) -> dict[str, int]:
    """How often each interposed function was called, over all processes."""
    return dict(profile.calls.group_by("operation").agg(pl.col("calls").sum()).iter_rows())
