"""What a process waited for a processor, against the kernel's own sum for it; and what blame says of it first."""

from __future__ import annotations

import sys

import pytest
from support.command_line import slicewise_command
from support.programs import Job

# Two processes on one processor: each has it for half of the time.
BESIDE_ANOTHER = """
import os, signal, sys, time
def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def waited():
    with open("/proc/self/schedstat") as file:
        return int(file.read().split()[1])
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
child = os.fork()
if child == 0:
    while True: pass
"""
WRITES = """
began = waited()
with open("out", "wb", buffering=0) as file:
    for _ in range(10):
        compute(0.05)
        file.write(b"x" * 1000)
with open("told", "w") as file:
    before = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    file.write(f"{waited() - began} {waited() - before}")
"""
ENDS = """
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
"""
PROGRAM = BESIDE_ANOTHER + WRITES + ENDS
# Waits for longer than the program that it makes way for.
BEFORE = (
    f"{BESIDE_ANOTHER}compute(0.8){ENDS}os.execv(sys.executable, [sys.executable, '-c', {PROGRAM!r}, str(waited())])"
)


@pytest.mark.parametrize("program", [PROGRAM, BEFORE], ids=["by itself", "after another program"])
def test_the_wait_is_the_kernels(job: Job, program: str) -> None:
    job.run([sys.executable, "-c", program], cwd=job.data)
    least, most = map(int, (job.data / "told").read_text().split())
    profile = job.profile()
    last = profile.processes.sort("start_ns").tail(1)["process"].item()
    waited, sampled = profile.usage.filter(process=last).select("delayed_ns", "sampled_ns").sum().row(0)
    assert least > 150_000_000
    assert least <= waited <= most + 200_000_000  # it has yet to end
    assert waited <= sampled


def test_blame_says_it_first(job: Job) -> None:
    job.run([sys.executable, "-c", PROGRAM], cwd=job.data)
    told = slicewise_command("blame", job.spool_dir, "--html", job.data / "page.html").text
    assert " for a processor" in told.splitlines()[0]


# A first thread that computes for 0.1 s, and waits for another one that does for 0.6 s.
THREADS = """
import threading, time
def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
    with open(f"out-{seconds}", "w") as file: file.write("x" * 1000)
compute(0.1)
other = threading.Thread(target=compute, args=(0.6,))
other.start()
other.join()
"""


def test_the_first_threads_processor_time_is_its_own(job: Job) -> None:
    job.run([sys.executable, "-c", THREADS], cwd=job.data)
    usage = job.profile().usage
    first, *both = usage.select("first_thread_ns", "user_ns", "system_ns").sum().row(0)
    assert 0.1e9 <= first < 0.4e9
    assert sum(both) >= first + 0.55e9
