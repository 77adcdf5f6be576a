"""The checks of `slicewise doctor`: each finds one thing in order, or says what to do. They leave nothing behind."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from slicewise import __version__
from slicewise.analysis.job.totals import summarize
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.profile.reader import read_profile
from slicewise.running.command import DEFAULT_DIR
from slicewise.running.installation import Installation, find_installation

TIMEOUT_SECONDS = 30
# A process's segment takes well under 1 MiB, so this is room for many.
ENOUGH_SHARED_MEMORY = 64 << 20
TEST_WRITES = 3
TEST_BYTES = 4096
TEST_PROGRAM = f"""
import os, sys
with open(sys.argv[1], "wb", buffering=0) as file:
    for _ in range({TEST_WRITES}):
        file.write(bytes({TEST_BYTES}))
"""


@dataclass(frozen=True)
class Finding:
    """What a check found. is_fine: nothing has to be done. text: what is there, or what is wrong and the way out."""

    name: str
    is_fine: bool
    text: str


def check_all() -> Iterator[Finding]:
    """All findings. Without an installation there is only one."""
    try:
        installation = find_installation()
    except UserError as error:
        yield Finding("installation", False, str(error))
        return
    yield _library(installation)
    yield _collector(installation)
    yield from _self_test(installation)
    yield _shared_memory()
    yield _left_behind(installation)
    yield _profiles_directory()
    yield _kernel_count()
    yield _mpi()


def _output_of(*command: str | Path, **environment: str) -> tuple[int, str]:
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, str(error)
    return done.returncode, done.stdout.strip()


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""


def _library(installation: Installation) -> Finding:
    """The loader takes the library: it prints a line, and goes on without it, where it does not."""
    status, said = _output_of("/bin/true", LD_PRELOAD=str(installation.library), SLICEWISE_OFF="1")
    if status != 0 or "cannot be preloaded" in said:
        return Finding("library", False, f"{installation.library}: {_first_line(said)}; build it on this system: make")
    return Finding("library", True, f"{installation.library} loads")


def _collector(installation: Installation) -> Finding:
    status, said = _output_of(installation.collector, "--version")
    if status != 0:
        return Finding("collector", False, f"{installation.collector} does not run ({_first_line(said)}); make")
    if not said.endswith(__version__):
        return Finding(
            "collector", False, f"{said} and slicewise {__version__} are not of one installation; make install"
        )
    return Finding("collector", True, said)


def _self_test(installation: Installation) -> Iterator[Finding]:
    """Profiles a small program with this user's settings, and compares with what it is known to do."""
    with tempfile.TemporaryDirectory(prefix="slicewise-doctor-") as directory:
        status, said = _output_of(
            sys.executable, "-I", "-S", "-c", TEST_PROGRAM, f"{directory}/file",
            LD_PRELOAD=str(installation.library), SLICEWISE_DIR=directory, SLICEWISE_JOB="doctor",
            SLICEWISE_VERBOSE="1", SLICEWISE_QUIET="0",
        )  # fmt: skip
        yield _settings(said)
        if status != 0:
            yield Finding("self test", False, f"a profiled program failed ({_first_line(said)}); please report this")
            return
        try:
            digest = Digest(read_profile(Path(directory) / "doctor"))
        except UserError:
            off = " (SLICEWISE_OFF is set)" if os.environ.get("SLICEWISE_OFF") == "1" else ""
            yield Finding(
                "self test", False, f"a profiled program left no profile{off}; {said or 'please report this'}"
            )
            return
        yield _known_answer(digest)
        yield _clock(digest)


def _settings(said: str) -> Finding:
    """Whether the library had something to say about the SLICEWISE_ variables of this environment."""
    complaints = [line.removeprefix("slicewise: ") for line in said.splitlines() if line.startswith("slicewise: ")]
    if complaints:
        return Finding("settings", False, "; ".join(complaints))
    given = sorted(name for name in os.environ if name.startswith("SLICEWISE_"))
    return Finding("settings", True, ", ".join(f"{name}={os.environ[name]}" for name in given) or "none: all defaults")


def _known_answer(digest: Digest) -> Finding:
    summary = summarize(digest)
    posix = summary.totals["posix"]
    found, known = (posix["write_ops"], posix["write_bytes"]), (TEST_WRITES, TEST_WRITES * TEST_BYTES)
    if found != known or summary.damage:
        text = f"counted {found[0]} writes of {found[1]} bytes, not {known[0]} of {known[1]}; please report this"
        return Finding("self test", False, text)
    problems = ", ".join(summary.mishaps)
    if problems:
        return Finding("self test", False, f"right, but with problems ({problems}); what they mean: docs/counters.md")
    return Finding("self test", True, f"counted {known[0]} writes of {known[1]:,} bytes in all, as it should")


def _clock(digest: Digest) -> Finding:
    process = digest.processes.select("clock", pl.col("call_cost_ps") / 1000).row(0)
    how = (
        "the processor's tick counter"
        if process[0] == "counter"
        else "clock_gettime: there is no invariant tick counter"
    )
    return Finding("clock", True, f"{how}; a counted call costs {process[1]:.0f} ns")


def _left_behind(installation: Installation) -> Finding:
    """What stays on the node of processes that could not write a profile: this user's, and for root everybody's."""
    status, said = _output_of(installation.collector, "left", *(["--all-users"] if os.geteuid() == 0 else []))
    lines = [line.removeprefix("slicewise: ") for line in said.splitlines()]
    return Finding("left behind", status == 0, "; ".join(lines) or "every process that ended here has its profile")


def _shared_memory() -> Finding:
    directory = Path(os.environ.get("SLICEWISE_SEGMENT_DIR") or "/dev/shm")
    try:
        with tempfile.TemporaryFile(dir=directory):
            space = os.statvfs(directory)
    except OSError as error:
        text = f"{directory}: {error.strerror}; segments will lie in TMPDIR, which costs more; mount a tmpfs there"
        return Finding("shared memory", False, text)
    free = space.f_bavail * space.f_frsize
    if free < ENOUGH_SHARED_MEMORY:
        text = f"{directory} has {free >> 20} MiB free, too little for many processes; make room, or enlarge it (in a "
        return Finding("shared memory", False, text + "container: --shm-size)")
    return Finding("shared memory", True, f"{directory} has {free >> 20:,} MiB free")


def _profiles_directory() -> Finding:
    directory = Path(os.environ.get("SLICEWISE_DIR") or DEFAULT_DIR).absolute()
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        text = f"{existing} cannot be written ({error.strerror}); set SLICEWISE_DIR to a directory that can"
        return Finding("profiles", False, text)
    return Finding("profiles", True, f"{directory} {'is writable' if existing == directory else 'can be made'}")


def _kernel_count() -> Finding:
    try:
        Path("/proc/self/io").read_text()
    except OSError as error:
        text = f"/proc/self/io: {error.strerror}; profiles cannot say what share of the bytes they saw"
        return Finding("kernel's count", False, text)
    return Finding("kernel's count", True, "/proc/self/io can be read")


def _mpi() -> Finding:
    found: dict[str, str] = {}
    for name in ("mpirun", "mpirun.openmpi", "mpirun.mpich", "srun"):
        path = shutil.which(name)
        if path is not None:
            found.setdefault(os.path.realpath(path), f"{name} ({_version(path)})")
    return Finding("MPI", True, ", ".join(found.values()) or "no launcher found; needed for MPI jobs only")


def _version(launcher: str) -> str:
    lines = _output_of(launcher, "--version")[1].splitlines()
    telling = (" ".join(line.split()) for line in lines if any(letter.isdigit() for letter in line))
    return next(telling, "version unknown")
