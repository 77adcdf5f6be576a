"""Samples of what computes and of where threads wait: as much as the program's own clocks say."""

import re
import shutil
import sys

import polars as pl
import pytest
from slicewise.analysis.job.sites import Sites, sites
from slicewise.digest.digest import Digest
from support.command_line import json_of, slicewise_command
from support.programs import BUILD, Apps, Job

BOTH = f"{BUILD / 'lib' / 'libslicewise.so'}:{BUILD / 'lib' / 'libslicewise-threads.so'}"
ON = {"SLICEWISE_COMPUTING": "1", "SLICEWISE_SITE_MS": "4"}
NEAR = 0.03
ATTEMPTS = 5


def seconds(found: Sites, function: str, last: str) -> float:
    """Of stacks with this function, and this word in the place of the call."""
    stacks = [
        number
        for number, stack in enumerate(found.stacks)
        if stack[-1].function == last and function in {place.function for place in stack}
    ]
    return float(found.samples.filter(pl.col("stack").is_in(stacks))["seconds"].sum())


def test_computing_and_waiting_are_as_long_as_the_programs_own_clocks_say(apps: Apps, job: Job) -> None:
    """And the page and the flame graph show where."""
    program = apps.build("computing", "-pthread")
    for _ in range(ATTEMPTS):  # samples are as many as the clock's ticks let there be
        shutil.rmtree(job.spool_dir, ignore_errors=True)
        ended = job.must_run([program], LD_PRELOAD=BOTH, **ON)
        own = {name: int(us) / 1e6 for name, us in (line.split() for line in ended.output.decode().splitlines())}
        found = sites(Digest(job.profile()), has_all=True)
        counted = {
            "heavy": seconds(found, "heavy", "computing"),
            "light": seconds(found, "light", "computing"),
            "wait": seconds(found, "wait_here", "waiting for a lock"),
        }
        if all(abs(counted[name] - own[name]) < NEAR * sum(own.values()) for name in own):
            break
    else:
        raise AssertionError((counted, own))
    report = ["report", str(job.spool_dir), "--html", str(job.folder / "page.html")]
    of_threads = json_of(*report)["threads"]["sites"]
    assert {row["stack"][-1]["function"] for row in of_threads} == {"waiting for a lock", "waiting for a thread's end"}
    place = r"a (lock in wait_here|thread's end in main) \(computing.c:"
    assert re.search(rf"Most time of these waits \(.*\) is spent waiting for {place}", slicewise_command(*report).text)
    graph = json_of(*report, "--flamegraph")["sites"]
    ends = [[place["function"] for place in row["stack"]][-4:] for row in graph]
    assert ["work", "heavy", "turn", "computing"] in ends
    assert ";work;heavy;turn;computing " in slicewise_command("export", str(job.spool_dir), "--format", "folded").text


def test_nothing_of_it_is_there_unless_asked_for(apps: Apps, job: Job) -> None:
    job.must_run([apps.build("computing", "-pthread")])
    assert job.profile().sites.is_empty()


@pytest.mark.parametrize("each_ms", ["1", "10"])
def test_no_system_call_ends_otherwise(apps: Apps, job: Job, each_ms: str) -> None:
    """A signal of the usual kind would end some of them with EINTR, and some writes having moved less."""
    settings = ON | {"SLICEWISE_SITE_MS": each_ms}
    ended = job.must_run([apps.build("computing", "-pthread"), "calls"], **settings)
    assert ended.output == b"whole 20 of 20, 150000 of 150000\n"
    assert job.profile().sites["samples"].sum() > 20


@pytest.mark.parametrize("mode", ["small", "cancel"])
def test_small_stacks_blocked_signals_and_cancellation(apps: Apps, job: Job, mode: str) -> None:
    """The program cannot see the signal, and glibc, which has the same one, ends threads by it."""
    assert job.must_run([apps.build("computing", "-pthread"), mode], **ON).output == b"1\n"


def test_a_child_of_fork_is_sampled_too(apps: Apps, job: Job) -> None:
    job.must_run([apps.build("computing", "-pthread"), "fork"], **ON)
    found = sites(Digest(job.profile()), has_all=True)
    assert seconds(found, "light", "computing") == pytest.approx(0.5, rel=0.1)


PROFILED = """
import signal, time
hits = 0
def hit(*_):
    global hits
    hits += 1
signal.signal(signal.SIGPROF, hit)
signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(i * i for i in range(1000))
burn(1.0)
signal.setitimer(signal.ITIMER_PROF, 0)
print(hits > 40)
"""


def test_a_program_that_profiles_itself_goes_on_doing_so(job: Job) -> None:
    """And the lines of a Python program are known."""
    (job.data / "work.py").write_text(PROFILED)
    ended = job.must_run([sys.executable, "-S", "work.py"], **ON)
    assert ended.output == b"True\n"
    found = sites(Digest(job.profile()), has_all=True)
    assert seconds(found, "burn", "computing") == pytest.approx(1.0, rel=0.15)


def test_a_call_of_io_is_sampled_once(job: Job) -> None:
    """What the kernel computes within a call is the call's."""
    script = "import os\nfd = os.open('/dev/zero', os.O_RDONLY)\nfor _ in range(400): os.read(fd, 1 << 24)"
    job.must_run([sys.executable, "-S", "-c", script], **ON)
    found = sites(Digest(job.profile()), has_all=True)
    reading = found.samples.filter(pl.col("operation") == "read")["seconds"].sum()
    beside = sum(seconds(found, function, "computing") for function in ("read", "__GI___libc_read"))
    assert reading > 0.3
    assert beside < 0.05 * reading


def test_what_streams_do_by_themselves_is_computing(apps: Apps, job: Job) -> None:
    """Their buffers serve nearly all calls, which are no I/O and take no time as such."""
    ended = job.must_run([apps.build("computing", "-pthread"), "text"], **ON)
    found = sites(Digest(job.profile()), has_all=True)
    assert seconds(found, "main", "computing") == pytest.approx(int(ended.output.split()[1]) / 1e6, rel=0.1)


def test_it_ends_before_a_filter_of_system_calls(apps: Apps, job: Job) -> None:
    assert job.run([apps.build("computing", "-pthread"), "filter"], **ON).status == 0
    profile = job.profile()
    assert dict(profile.mishaps.select("mishap", "count").iter_rows()) == {"computing_unsampled": 1}
    assert seconds(sites(Digest(profile), has_all=True), "light", "computing") == pytest.approx(0.5, rel=0.1)
