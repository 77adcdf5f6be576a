"""Where processes are now: right, also where they hang in I/O, and without harm to them, whatever kills the looker."""

import ctypes.util
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.hanging import hanging_file_system
from support.mpi import OPEN_MPI
from support.programs import APPS, BUILD, COLLECTOR, LIBRARY, Apps, Job, below, need
from support.terminal import LONGEST_WAIT_SECONDS, Terminal
from support.waiting import wait_until

SLICEWISE = BUILD / "bin" / "slicewise"
KILLS = 30
MOST_MS = 30
NOBODY = "65534"
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
WRITE, OPENAT = 1, 257


@pytest.fixture(autouse=True)
def _libunwind() -> None:
    if platform.machine() != "x86_64":
        pytest.skip("stacks are walked from outside on x86-64")
    need("gcc")
    if ctypes.util.find_library("unwind-ptrace") is None:
        pytest.skip("libunwind is missing: install libunwind-dev")


def environment(job: Job) -> dict[str, str]:
    return job.environment({"LD_PRELOAD": ""})


def state(pid: int, tid: int | None = None) -> str:
    return Path(f"/proc/{pid}/task/{tid or pid}/stat").read_text().rpartition(")")[2].split()[0]


def switches(pid: int) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line for line in lines if line.startswith("voluntary_ctxt_switches"))


def settled_switches(pid: int) -> str:
    """When they have stayed the same for a while: a call into a file system may sleep more than once."""
    deadline, before = time.monotonic() + LONGEST_WAIT_SECONDS, ""
    while before != (before := switches(pid)):
        assert time.monotonic() < deadline, before
        time.sleep(0.2)
    return before


def wait_for_state(pid: int, letters: str) -> None:
    wait_until(lambda: state(pid) in letters, lambda: state(pid))


def wait_for_call(pid: int, *numbers: int) -> None:
    """Until the process waits in one of these system calls."""
    wait_until(lambda: Path(f"/proc/{pid}/syscall").read_text().split()[0] in map(str, numbers))


def started(job: Job, apps: Apps, *arguments: str | Path) -> subprocess.Popen[bytes]:
    process = job.start([apps.build("stacks_waiting", "-pthread"), *arguments])
    assert process.stdout.readline() == b"ready\n"
    return process


def stacks(job: Job, *arguments: str) -> dict:
    command = [SLICEWISE, "stacks", *arguments, "--json"]
    done = subprocess.run(command, env=environment(job), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def functions(thread: dict) -> list[str]:
    return [frame["function"] for frame in thread["frames"]]


def test_a_thread_that_waits_is_not_even_woken(job: Job, apps: Apps) -> None:
    """Its call would end with EINTR, and the program with it."""
    with started(job, apps, "epoll") as process:
        wait_for_state(process.pid, "S")
        before = switches(process.pid)
        found = [stacks(job, "job") for _ in range(3)]
        assert (state(process.pid), switches(process.pid), process.poll()) == ("S", before, None)
        process.kill()
    for one in found:
        (of_process,) = one["processes"]
        (thread,) = of_process["threads"]
        assert (of_process["pid"], of_process["ended"]) == (process.pid, "done")
        assert (thread["state"], thread["was_stopped"], thread["is_whole"]) == ("S", False, True)
        assert functions(thread)[-3:-1] == ["main", "wait_for_nothing"] or "wait_for_nothing" in functions(thread)
        assert "epoll_wait" in functions(thread)[-1]


def test_a_process_that_hangs_in_io(job: Job, apps: Apps, tmp_path: Path) -> None:
    need("sshfs")
    with hanging_file_system(tmp_path) as hanging, started(job, apps, "write", hanging.point / "file") as process:
        hanging.hang()
        try:
            process.stdin.write(b"x")
            process.stdin.flush()
            wait_for_call(process.pid, WRITE, OPENAT)
            before = settled_switches(process.pid)
            (of_process,) = stacks(job, "job")["processes"]
            (thread,) = of_process["threads"]
            assert (thread["was_stopped"], thread["is_whole"], switches(process.pid)) == (False, True, before)
            assert "write_there" in functions(thread)
            shown = subprocess.run(
                [SLICEWISE, "stacks"], env=environment(job), capture_output=True, text=True, check=True
            ).stdout
            assert "1 process with 1 thread: 1 waits" in shown
        finally:
            hanging.answer()  # nobody who waits for it can be killed
        assert process.wait(LONGEST_WAIT_SECONDS) == 0


def test_threads_that_run_go_on(job: Job, apps: Apps) -> None:
    with started(job, apps, "threads", "4") as process:
        (of_process,) = stacks(job)["processes"]
        states = [state(process.pid, thread["tid"]) for thread in of_process["threads"]]
        process.kill()
    assert all("compute" in functions(thread) and thread["was_stopped"] for thread in of_process["threads"])
    assert states == ["R"] * 4


def test_a_stopped_process_stays_stopped(job: Job, apps: Apps) -> None:
    with started(job, apps, "threads", "2") as process:
        process.send_signal(signal.SIGSTOP)
        wait_for_state(process.pid, "T")
        (of_process,) = stacks(job)["processes"]
        assert state(process.pid) == "T"
        process.send_signal(signal.SIGCONT)
        wait_for_state(process.pid, "R")
        process.kill()
    assert [thread["state"] for thread in of_process["threads"]] == ["T", "T"]


def test_a_looker_that_is_killed_leaves_nothing_stopped(job: Job, apps: Apps) -> None:
    chance = random.Random(7)
    with started(job, apps, "threads", "8") as process:
        for _ in range(KILLS):
            looker = subprocess.Popen([COLLECTOR, "stacks", str(process.pid)], stdout=subprocess.DEVNULL)
            time.sleep(chance.random() * MOST_MS / 1000)
            victims = [looker.pid, *list(below(looker.pid))[1:]][:: chance.choice((1, -1))]
            os.kill(victims[0], signal.SIGKILL)
            looker.wait()
        tids = [int(name) for name in os.listdir(f"/proc/{process.pid}/task")]
        wait_until(lambda: {state(process.pid, tid) for tid in tids} == {"R"})
        assert "TracerPid:\t0" in Path(f"/proc/{process.pid}/status").read_text()
        process.kill()


def test_another_user_is_told_so(job: Job, apps: Apps, tmp_path: Path) -> None:
    need("setpriv")
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    beside = Path(shutil.copy(COLLECTOR, "/dev/shm/slicewise-collect-" + tmp_path.name))
    try:
        with started(job, apps, "threads", "1") as process:
            command = ["setpriv", "--reuid", NOBODY, "--clear-groups", beside, "stacks", str(process.pid)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            process.kill()
    finally:
        beside.unlink()
    assert json.loads(done.stdout) == {"pid": process.pid, "ended": "denied"}


def test_root_reads_a_users_files_as_that_user(job: Job, apps: Apps, tmp_path: Path) -> None:
    need("setpriv", "strace")
    if os.geteuid() != 0:
        pytest.skip("needs root")
    if YAMA.exists() and YAMA.read_text().strip() != "0":
        pytest.skip("the kernel forbids users to trace their processes")
    folder = Path("/dev/shm") / f"slicewise-stacks-{tmp_path.name}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    shutil.copy(apps.build("stacks_waiting", "-pthread"), folder / "program")
    command = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", folder / "program", "epoll"]
    try:
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            wait_for_state(process.pid, "S")
            trace = ["strace", "-f", "-e", "trace=openat,setresuid", "-o", tmp_path / "trace", COLLECTOR, "stacks"]
            done = subprocess.run([*trace, str(process.pid)], capture_output=True, text=True, check=True)
            process.kill()
    finally:
        shutil.rmtree(folder)
    *_, thread, last = (json.loads(line) for line in done.stdout.splitlines())
    assert (last["ended"], len(thread["frames"]) > 2) == ("done", True)
    calls = (tmp_path / "trace").read_text()
    became = calls.index(f"setresuid({NOBODY}, {NOBODY}, {NOBODY})")
    assert became < calls.index("/maps") < calls.index('/program", O_RDONLY')


def test_a_number_that_belongs_to_another_process(job: Job, apps: Apps) -> None:
    with started(job, apps, "threads", "1") as process:
        command = [COLLECTOR, "stacks", "--job", "else", str(process.pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        process.kill()
    assert json.loads(done.stdout.splitlines()[-1]) == {"pid": process.pid, "ended": "another"}


def test_what_cannot_be_shown_is_told_in_a_line(job: Job) -> None:
    done = subprocess.run(
        [SLICEWISE, "stacks", "job"], env=environment(job), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "no profiled process runs here" in done.stderr


def test_a_job_of_open_mpi(job: Job, tmp_path: Path) -> None:
    program = tmp_path / "stacks_mpi"
    subprocess.run([OPEN_MPI.tool("mpicc"), "-O1", "-g", APPS / "stacks_mpi.c", "-o", program], check=True)
    names = ("SLICEWISE_DIR", "SLICEWISE_JOB", "SLICEWISE_SEGMENT_DIR")
    handed_on = [word for name in names for word in ("-x", name)]
    command = [*OPEN_MPI.launcher, "3", "-x", f"LD_PRELOAD={LIBRARY}", *handed_on, str(program)]
    with subprocess.Popen(command, env=environment(job), stdin=subprocess.DEVNULL) as launcher:
        try:
            tree = when_all_wait(job)
        finally:
            launcher.terminate()
    solve = node(tree, "solve")
    assert (solve["threads"], len(solve["pids"])) == (3, 3)
    assert node([solve], "read_step")["threads"] == 1
    assert node([solve], "MPI_Barrier")["threads"] == 2


def when_all_wait(job: Job) -> list[dict]:
    deadline = time.monotonic() + LONGEST_WAIT_SECONDS
    while True:
        command = [SLICEWISE, "stacks", "job", "--json"]
        done = subprocess.run(command, env=environment(job), capture_output=True, text=True, check=False)
        tree = json.loads(done.stdout)["tree"] if done.returncode == 0 else []
        inner = [(node(tree, name) or {}).get("threads") for name in ("read_step", "MPI_Barrier")]
        if inner == [1, 2]:
            return tree
        assert time.monotonic() < deadline, done
        time.sleep(0.2)


def node(tree: list[dict], function: str) -> dict | None:
    for one in tree:
        found = one if one["function"] == function else node(one["children"], function)
        if found:
            return found
    return None


def test_top_shows_them_at_a_key(job: Job, apps: Apps) -> None:
    with started(job, apps, "threads", "2") as process:
        terminal = Terminal([SLICEWISE, "top", "--every", "0.2"], environment(job), columns=150)
        terminal.wait_for("1 job, by throughput")
        terminal.press(b"s")
        terminal.wait_for("1 process with 2 threads: 2 run(.|\n)*compute")
        terminal.press(b"\x1b")
        terminal.wait_for("1 job, by throughput")
        terminal.press(b"q")
        assert terminal.end() == 0
        process.kill()
