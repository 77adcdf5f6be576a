"""A process pays for what it does: before its first counted call it makes, opens and maps nothing; all of what it then
does is counted.
"""

import re
import time
from pathlib import Path

import polars as pl
import pytest
from support.programs import LIBRARY, Apps, Job, calls, need, total

MIB = 1 << 20


@pytest.fixture
def lazy_start(apps: Apps):
    return apps.build("life_lazy_start")


def test_a_process_that_reads_and_writes_nothing_makes_nothing(job: Job) -> None:
    need("strace")
    trace = job.folder / "trace"
    watched = ["strace", "-o", trace, "-E", f"LD_PRELOAD={LIBRARY}", "/bin/true"]
    assert job.run_plainly(watched).status == 0
    text = trace.read_text()
    ours = text[text.index("WIPEONFORK") :]
    assert not re.search(r"O_CREAT|O_WRONLY|O_RDWR|mkdir|MAP_SHARED|write|unlink|getdents", ours)
    assert not re.search(r"^(open|openat|openat2|mmap)\(", ours, re.MULTILINE)
    assert job.segments() == []
    assert not job.spool_dir.exists()
    looked_at = [Path(name) for name in re.findall(r'^\w+\((?:\w+, )?"([^"]*)"', ours, re.MULTILINE)]
    assert Path("/") in looked_at  # the one look at where it began
    on_the_way = [job.spool_dir, *job.spool_dir.parents][:-1]
    assert [name for name in looked_at if name in on_the_way or name.is_relative_to(job.spool_dir)] == []


def test_house_keeping_before_the_first_counted_call_is_counted_with_it(job: Job, lazy_start) -> None:
    assert job.run([lazy_start, "house"]).status == 0
    profile = job.profile()
    assert calls(profile) == {"dup": 1, "dup2": 1, "close": 4, "open": 1, "write": 1}
    assert total(profile, "errors") == 1
    assert total(profile, "write_bytes", obj="file") == 5


def test_of_forked_children_those_that_count_are_there(job: Job, lazy_start) -> None:
    assert job.run([lazy_start, "fork"]).status == 0
    profile = job.profile()
    assert profile.processes["ending"].to_list() == ["underscore_exit"]
    assert total(profile, "write_bytes", obj="file") == 3
    assert job.segments() == []


def test_a_vforked_child_starts_counting_in_its_parent(job: Job, lazy_start) -> None:
    assert job.run([lazy_start, "vfork"]).status == 0
    profile = job.profile()
    assert profile.processes["ending"].to_list() == ["exit"]
    assert calls(profile)["open"] == 2
    assert total(profile, "write_bytes", obj="file") == 7
    assert profile.mishaps.is_empty()
    assert job.segments() == []


def test_what_the_kernel_saw_of_a_process_that_counted_nothing_is_told(job: Job, lazy_start) -> None:
    assert job.run([lazy_start, "unseen"]).status == 0
    kernel = job.profile().slices.filter(pl.col("layer") == "kernel")
    assert MIB <= kernel["write_bytes"].sum() < MIB + 1000


def test_killed_before_the_first_counted_call_nothing_is_left(job: Job, lazy_start) -> None:
    with job.start([lazy_start, "wait"]) as process:
        time.sleep(0.3)
        process.kill()
        process.wait()
    assert job.segments() == []
    assert not job.spool_dir.exists()


def test_a_chain_of_execs_is_finished_by_its_last_program(job: Job) -> None:
    """Each program finds what the one before it left; a start finishes nothing, and no segment is left over."""
    steps = 25
    script = 'echo "$1" >> steps; [ "$1" -gt 0 ] && exec bash -c "$0" "$0" $(($1 - 1)); exec true'
    job.must_run(["bash", "-c", script, script, str(steps)])
    assert (job.data / "steps").read_text().split() == [str(step) for step in range(steps, -1, -1)]
    profile = job.profile()
    assert profile.processes.filter(pl.col("ending") == "exec").height >= steps
    last = profile.processes.sort("start_ns").tail(1)
    assert last["ending"].item() == "exit", "true counts nothing, and its end is that of the program before it"
    written = sum(len(f"{step}\n") for step in range(steps + 1))
    assert total(profile, "write_bytes", layers=["posix", "stdio"], obj="file") == written
    assert job.segments() == []
