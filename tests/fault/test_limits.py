"""Programs under resource limits do what they do without us, if the limit has room for the library itself."""

import itertools
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from support.programs import LIBRARY, Apps, Job, total

# What the loader maps for the library: nothing that we do can make it less (docs/limits.md).
LIBRARY_KB = 1700
UNUSED_USERS = itertools.count(61_000)  # one a run: what writes a profile may outlive its process
LEAST_SPARE_KB = 320 << 10  # with less the library counts nothing
ABOVE = (0, 4, 64, 1 << 10, 8 << 10, 30 << 10, 36 << 10, 40 << 10, 100 << 10, 1 << 20)
OWN_LINE = re.compile(rb"slicewise: [^\n]*\n")

Outcome = tuple[int, bytes, bytes]

PROGRAMS = {
    "true": ["/bin/true"],
    "cat": ["cat", "/etc/passwd"],
    "dd": ["dd", "if=/dev/zero", "of=file", "bs=64k", "count=4", "status=none"],
    "sh": ["sh", "-c", "echo one > file; cat file; echo two"],
    "make": ["make", "--no-print-directory", "-f", "rules"],
    "awk": ["awk", "BEGIN { for (i = 0; i < 100000; i++) all[i] = i; print length(all) }"],
    "big": ["dd", "if=/dev/zero", "of=/dev/null", "bs=40M", "count=1", "status=none"],
}
RULES = "all:\n\t@echo made > file; cat file\n"


def run(command: list[str], folder: Path, limit: int, value: int, environment: Mapping[str, str]) -> Outcome:
    return outcome_of(command, folder, environment, partial(resource.setrlimit, limit, (value, value)))


def outcome_of(
    command: list[str], folder: Path, environment: Mapping[str, str], before_exec: Callable[[], None]
) -> Outcome:
    done = subprocess.run(
        command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False,
        preexec_fn=before_exec,
    )  # fmt: skip
    return done.returncode, done.stdout, OWN_LINE.sub(b"", done.stderr)


def run_as_another_user(command: list[str], folder: Path, processes: int, environment: Mapping[str, str]) -> Outcome:
    """Root has no limit of processes, and a user whom nobody else is has none but these."""
    user = next(UNUSED_USERS)
    (folder / "file").unlink(missing_ok=True)  # another user's

    def become() -> None:
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
        if os.geteuid() == 0:
            os.setresuid(user, user, user)

    outcome = outcome_of(command, folder, environment, become)
    for place in ("/dev/shm", "/tmp"):
        shutil.rmtree(f"{place}/slicewise-{user}", ignore_errors=True)
    return outcome


def least(works: Callable[[int], bool], most: int) -> int:
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def environments(job: Job) -> tuple[dict[str, str], dict[str, str]]:
    (job.data / "rules").write_text(RULES)
    bare = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    ours = {name: value for name, value in job.environment({}).items() if name.startswith("SLICEWISE_")}
    return bare, bare | ours | {"LD_PRELOAD": str(LIBRARY)}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("limit", ["AS", "DATA"])
def test_memory(job: Job, name: str, limit: str) -> None:
    command, which = PROGRAMS[name], getattr(resource, f"RLIMIT_{limit}")
    bare, profiled = environments(job)
    aim = run(command, job.data, resource.RLIMIT_CORE, 0, bare)
    assert aim[0] == 0
    first = least(lambda pages: run(command, job.data, which, pages << 12, bare) == aim, 1 << 18) * 4
    for above in ABOVE:
        value = (first + LIBRARY_KB + above) << 10
        assert run(command, job.data, which, value, bare) == aim
        assert run(command, job.data, which, value, profiled) == aim, above


def test_make_prints_its_result_with_5004_kb(job: Job) -> None:
    bare, profiled = environments(job)
    aim = run(PROGRAMS["make"], job.data, resource.RLIMIT_AS, 5004 << 10, bare)
    assert aim[:2] == (0, b"made\n")
    assert run(PROGRAMS["make"], job.data, resource.RLIMIT_AS, 5004 << 10, profiled) == aim


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("limit", "values"),
    [
        ("STACK", (64 << 10, 128 << 10, 256 << 10, 1 << 20)),
        ("MEMLOCK", (0, 64 << 10)),
        ("FSIZE", (0, 1, 4096, 100_000, 1 << 20, 30 << 20, 40 << 20)),
        ("NOFILE", (*range(4, 10), 20)),
        ("CPU", (1, 2)),
    ],
)
def test_other_limits(job: Job, name: str, limit: str, values: tuple[int, ...]) -> None:
    bare, profiled = environments(job)
    for value in values:
        which = getattr(resource, f"RLIMIT_{limit}")
        assert run(PROGRAMS[name], job.data, which, value, profiled) == run(
            PROGRAMS[name], job.data, which, value, bare
        ), value


@pytest.mark.parametrize("name", PROGRAMS)
def test_number_of_processes(job: Job, name: str) -> None:
    bare, profiled = environments(job)
    (job.data / "rules").chmod(0o666)
    for folder in (job.data, job.folder):
        folder.chmod(0o777)
    for processes in (1, 2, 4):
        outcomes = [run_as_another_user(PROGRAMS[name], job.data, processes, ours) for ours in (bare, profiled)]
        assert outcomes[0] == outcomes[1], processes


def test_program_with_one_descriptor_to_spare_keeps_its_profile(job: Job, apps: Apps) -> None:
    """What is needed to write it is opened by the process beside it, which has descriptors of its own."""
    _, profiled = environments(job)
    for value in (8, 64, 1024):
        program = [apps.build("few_descriptors")]
        assert run(program, job.data, resource.RLIMIT_NOFILE, value, profiled) == (0, b"", b"")
        assert job.segments() == []
    assert job.profile().processes.height == 3


def test_what_is_spare_is_used(job: Job, apps: Apps) -> None:
    """Under a limit that leaves enough the program is profiled."""
    _, profiled = environments(job)
    command = PROGRAMS["dd"]
    assert run(command, job.data, resource.RLIMIT_AS, (LEAST_SPARE_KB + (8 << 10)) << 10, profiled) == (0, b"", b"")
    assert total(job.profile(), "write_bytes", obj="file") == 4 << 16


def test_the_library_takes_no_more_address_space_than_is_said() -> None:
    lines = subprocess.run(["readelf", "-lW", LIBRARY], capture_output=True, text=True, check=True).stdout.splitlines()
    loads = [line.split() for line in lines if line.split()[:1] == ["LOAD"]]
    assert max(int(load[2], 16) + int(load[5], 16) for load in loads) < LIBRARY_KB << 10
