"""Processes in pid namespaces of their own: from outside a dead one is finished and a living one is not touched,
whatever numbers they have; from where not all can be seen nothing is taken for dead.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.programs import COLLECTOR, LIBRARY, Apps, Job, below, executable, job_in, need
from support.tally import assert_counts_tally, read_tallies, wait_for

REPEATS = int(os.environ.get("SLICEWISE_TEST_REPEATS", "3"))
LONGEST_WAIT_SECONDS = 120
LONGEST_LIFE_SECONDS = 0.45
LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
# The program has this very number in its namespace; the library is not loaded into the shell.
NUMBERED = 'echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid; shift; LD_PRELOAD=$LIBRARY "$@" & wait $!'


@pytest.fixture(autouse=True)
def _can_make_namespaces() -> None:
    need("unshare", "bash")
    if subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("making a pid namespace is not allowed here (it takes root)")
    if os.stat("/proc/self/ns/pid").st_ino != 0xEFFFFFFC:
        pytest.skip("this is a pid namespace itself (a container): only from the first one every process can be seen")


class Program:
    """A program that counts itself, below `job`, and the process that it is seen as from here.

    A steady one drains nothing for minutes: while it lives the profile has none of it.
    """

    def __init__(self, job: Job, apps: Apps, name: str, launcher: tuple[str, ...] = (), mode: str = "steady") -> None:
        self.tally = job.folder / f"{name}.tally"
        data = job.data / name
        data.mkdir()
        program = apps.build("tally", "-pthread")
        command = [program, mode, "2", "600", self.tally, data, data]
        preload = {"LD_PRELOAD": "", "LIBRARY": str(LIBRARY)} if launcher else {}
        self.launched = job.start([*launcher, *command], SLICEWISE_SLICE="0.1", **preload)
        wait_for(self.tally)
        self.pid = next(pid for pid in below(self.launched.pid) if executable(pid) == program)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.launched.communicate(timeout=LONGEST_WAIT_SECONDS)

    def number_within(self) -> int:
        """Its process id in its own namespace."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1])


@contextmanager
def running(*arguments: object) -> Iterator[Program]:
    program = Program(*arguments)
    try:
        yield program
    finally:
        program.launched.kill()
        program.launched.communicate()


def recover(job: Job, *launcher: str) -> str:
    done = subprocess.run(
        [*launcher, COLLECTOR, "recover", job.spool_dir],
        env=job.environment({"LD_PRELOAD": ""}), capture_output=True, text=True, check=False,
        timeout=LONGEST_WAIT_SECONDS,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def assert_holds(job: Job, *programs: Program) -> None:
    """All of these are in the profile, killed, and nothing else is."""
    profile = job.profile()
    assert profile.processes["ending"].to_list() == ["killed"] * len(programs)
    assert_counts_tally(profile, read_tallies([program.tally for program in programs]), 2 * len(programs))


def test_what_lived_and_died_in_a_namespace_is_recovered_from_outside(tmp_path: Path, apps: Apps) -> None:
    """As number 1 of its namespace: a number that is alive on this side too."""
    moments = random.Random("namespaces")
    for number in range(REPEATS):
        folder = tmp_path / str(number)
        folder.mkdir()
        with job_in(folder) as job:
            launcher = (*NAMESPACE, "env", f"LD_PRELOAD={LIBRARY}")
            with running(job, apps, "within", launcher, "restless") as program:
                assert program.number_within() == 1
                time.sleep(moments.random() * LONGEST_LIFE_SECONDS)
                (segment,) = job.segments()
                assert "recovered 0 processes killed before their profile was finished; 1 still runs" in recover(job)
                assert job.segments() == [segment]
                program.kill()
                assert "recovered 1 process " in recover(job)
                assert job.segments() == []
                assert_holds(job, program)


@pytest.mark.parametrize("first", ["within", "outside"])
def test_one_number_on_both_sides(job: Job, apps: Apps, first: str) -> None:
    """Two processes of a job with one process id: whichever dies first, the other is not touched."""
    if not LAST_PID.exists():
        pytest.skip(f"no {LAST_PID}: the kernel cannot be asked for a process id")
    with running(job, apps, "outside") as outside:
        launcher = (*NAMESPACE, "bash", "-c", NUMBERED, "bash", str(outside.pid))
        with running(job, apps, "within", launcher) as within:
            assert within.number_within() == outside.pid != within.pid
            programs = {"within": within, "outside": outside}
            (second,) = programs.keys() - {first}
            assert len(job.segments()) == 2
            assert "recovered 0" in recover(job)
            programs[first].kill()
            assert "recovered 1 process killed before its profile was finished; 1 still runs" in recover(job)
            assert_holds(job, programs[first])
            assert len(job.segments()) == 1
            programs[second].kill()
            assert "recovered 1" in recover(job)
            assert_holds(job, within, outside)
            assert job.segments() == []


def test_from_within_those_outside_are_not_touched(job: Job, apps: Apps) -> None:
    """Neither a living nor a dead one: from there they look the same."""
    with running(job, apps, "dead") as dead, running(job, apps, "living") as living:
        dead.kill()
        before = job.segments()
        assert len(before) == 2
        said = recover(job, *NAMESPACE)
        assert "recovered 0" in said
        assert "2 more cannot be judged from within this pid namespace" in said
        assert job.segments() == before
        assert "recovered 1 process killed before its profile was finished; 1 still runs" in recover(job)
        assert_holds(job, dead)
        living.kill()
        recover(job)
        assert_holds(job, dead, living)


def test_a_namespace_with_the_proc_of_another(job: Job, apps: Apps) -> None:
    """There /proc/PID is some other process: what lives beside whoever recovers is left alone."""
    recovery = f"{COLLECTOR} recover $SLICEWISE_DIR/$SLICEWISE_JOB"
    inside = f'LD_PRELOAD={LIBRARY} "$@" & read line && {recovery}; echo done; wait'
    launcher = ("unshare", "--pid", "--fork", "--kill-child", "bash", "-c", inside, "bash")
    with running(job, apps, "within", launcher) as program:
        before = job.segments()
        program.launched.stdin.write(b"recover\n")
        program.launched.stdin.flush()
        said = program.launched.stdout.readline(), program.launched.stdout.readline()
        assert said[0].startswith(b"slicewise: recovered 0")
        assert said[1] == b"done\n"
        assert job.segments() == before
        program.kill()
        assert "recovered 1" in recover(job)
        assert_holds(job, program)
