"""Programs that forbid themselves system calls or the tick counter: they run as without the library, which stands down
before a filter that it could not live under, with all that was counted until then."""

import time
from itertools import product
from pathlib import Path

import pytest
from slicewise.profile.reader import Profile
from support.programs import LIBRARY, Apps, Ended, Job, total

BEFORE = 10 * 100  # bytes that the program writes before it sandboxes itself
STATUS, NOT_HERE = 3, 77
OTHER = 10 * 100
ALL = BEFORE + 1001 * 100 + OTHER
OURS = ["openat", "statx", "getpid", "mmap", "munmap", "getdents64", "writev", "madvise"]
AT_START = [
    *OURS, "gettid", "futex", "rt_sigprocmask", "readlinkat", "mkdirat", "unlinkat", "ftruncate", "fallocate",
    "getcwd", "geteuid", "prlimit64", "fcntl", "kill", "tgkill", "process_vm_readv", "newfstatat", "getrusage",
    "clock_gettime", "flock", "prctl", "sched_yield", "nanosleep", "fchmod",
]  # fmt: skip


def run_both(job: Job, apps: Apps, *arguments: str | Path) -> Ended:
    """Under the library, after a run without it that must end and print the same."""
    program = apps.build("sandboxed")
    bare = job.run_plainly([program, *arguments])
    ended = job.run([program, *arguments])
    theirs = [line for line in ended.errors.splitlines() if not line.startswith("slicewise: ")]
    assert (ended.status, ended.output, theirs) == (bare.status, bare.output, bare.errors.splitlines())
    return ended


def stood_down(profile: Profile) -> dict[str, int]:
    mishaps = dict(profile.mishaps.select("mishap", "count").iter_rows())
    assert profile.processes["ending"].to_list() == ["stood_down"]
    assert total(profile, "write_bytes", obj="file") == BEFORE
    return mishaps


SELDOM_CALLED = ("openat2", "getppid", "faccessat", "renameat2", "lseek", "close_range", "wait4", "clone")
FATAL = [
    *product(("prctl", "seccomp"), ("trap", "errno", "kill_far"), OURS), *product(["prctl"], ["trap"], SELDOM_CALLED),
    ("prctl", "kill", "fstat"),  # what the program printed is left to libc, which looks at the stream no more
]  # fmt: skip


@pytest.mark.parametrize(("how", "action", "call"), FATAL)
def test_filter_that_we_cannot_live_under(job: Job, apps: Apps, how: str, action: str, call: str) -> None:
    run_both(job, apps, how, action, call)
    assert stood_down(job.profile()) == {"stood_down_seccomp": 1}
    assert job.segments() == []


@pytest.mark.parametrize("calls", ["openat2,getppid,renameat2,clone,wait4", "flock"])
def test_filter_that_refuses_what_costs_us_detail_or_nothing(job: Job, apps: Apps, calls: str) -> None:
    assert run_both(job, apps, "prctl", "errno", calls).status == STATUS
    profile = job.profile()
    assert profile.mishaps.is_empty()
    assert total(profile, "write_bytes", obj="file") == ALL


@pytest.mark.parametrize(("how", "clock"), [("strict", "auto"), ("tsc", "auto"), ("tsc", "vdso")])
def test_strict_mode_and_a_forbidden_counter(job: Job, apps: Apps, how: str, clock: str) -> None:
    job.settings["SLICEWISE_CLOCK"] = clock
    run_both(job, apps, how, "none", "none")
    assert stood_down(job.profile()) == {f"stood_down_{'seccomp' if how == 'strict' else how}": 1}


def test_system_calls_that_the_program_answers_itself(job: Job, apps: Apps) -> None:
    if run_both(job, apps, "dispatch", "none", "none").status == NOT_HERE:
        pytest.skip("the kernel dispatches no system calls to users")
    assert stood_down(job.profile()) == {"stood_down_dispatch": 1}


@pytest.mark.parametrize("clock", ["auto", "vdso"])
def test_vforked_child_that_forbids_itself_the_counter(job: Job, apps: Apps, clock: str) -> None:
    """It runs in its parent's memory, where all go on, and whose threads are counted with sound times."""
    job.settings["SLICEWISE_CLOCK"] = clock
    program, file = apps.build("vfork_no_counter", "-lpthread"), job.data / "file"
    began = time.monotonic_ns()
    ended = job.run([program, file])
    ran_ns = time.monotonic_ns() - began
    assert (ended.status, ended.output, ended.errors) == (0, b"done\n", "none\n" * 20)
    profile = job.profile()
    assert 0 < total(profile, "write_bytes", obj="file") <= file.stat().st_size == 3 * 2000 * 10
    assert total(profile, "write_ns") < 3 * ran_ns
    assert profile.slices["slice"].n_unique() <= 2 + ran_ns // profile.slice_ns


@pytest.mark.parametrize("action", ["trap", "errno"])
@pytest.mark.parametrize("call", OURS)
def test_filter_that_we_are_not_told_of(job: Job, apps: Apps, action: str, call: str) -> None:
    """The program enters the kernel by itself. Its handler answers our calls too, and nothing counted is lost."""
    ended = run_both(job, apps, "raw", action, call)
    job.recover(job.spool_dir)
    opened = b"other 0" in ended.output
    assert total(job.profile(), "write_bytes") == (ALL if opened else ALL - OTHER)


@pytest.mark.parametrize("action", ["kill", "errno"])
def test_programs_started_under_a_filter(job: Job, apps: Apps, action: str) -> None:
    """They inherit it, and the word that they are not to be profiled."""
    ended = run_both(job, apps, "prctl", action, "statx,getpid,madvise,rt_sigprocmask,prctl", "/bin/echo", "here")
    assert (ended.status, ended.output) == (0, b"here\n")
    stood_down(job.profile())


@pytest.mark.parametrize("call", AT_START)
def test_start_under_a_filter_that_refuses(job: Job, apps: Apps, call: str) -> None:
    """The program that installed it was not profiled."""
    program = apps.build("sandboxed")
    command = [program, "prctl", "errno", call, program, "prctl", "errno", "flock"]
    bare = job.run_plainly(command)
    ended = job.run_plainly(command, PRELOAD_LATER=str(LIBRARY))
    assert (ended.status, ended.output) == (bare.status, bare.output)
    if bare.status == STATUS:  # else the loader fails without us too
        theirs = [line for line in ended.errors.splitlines() if not line.startswith("slicewise: ")]
        assert theirs == bare.errors.splitlines()
