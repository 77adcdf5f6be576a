"""Waits of threads for each other: counted as long as the program's own clock says, and no call answers otherwise."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from support.command_line import json_of, slicewise_command
from support.programs import APPS, BUILD, Apps, Ended, Job, need, total

THREADS = BUILD / "lib" / "libslicewise-threads.so"
KINDS = ("lock", "condition", "barrier", "join", "semaphore")
PROFILER = BUILD / "lib" / "libslicewise.so"
BOTH = f"{PROFILER}:{THREADS}"
NEAR = 0.03
LITTLE_NS = 1_000_000  # that many calls take which do not wait
ATTEMPTS = 5
SLICE_NS = 500_000_000


def waits(job: Job, column: str = "ns") -> dict[str, int]:
    rows = job.profile().thread_waits.group_by("kind").agg(pl.col(column).sum())
    return dict(rows.iter_rows())


def told(ended: Ended) -> dict[str, tuple[int, int, int]]:
    """Waits, their time, and that of the first thread, by kind."""
    assert ended.status == 0, ended.errors
    lines = [line.split() for line in ended.output.decode().splitlines()]
    return {kind: (int(count), int(ns), int(main_ns)) for kind, count, ns, main_ns in lines}


def is_near(counted: float, own: float) -> bool:
    return abs(counted - own) <= max(NEAR * own, LITTLE_NS)


def agreeing(job: Job, attempt: Callable[[], bool]) -> None:
    """On a busy machine a thread loses its processor between the program's look at its clock and ours, now and then."""
    for _ in range(ATTEMPTS):
        shutil.rmtree(job.spool_dir, ignore_errors=True)
        if attempt():
            return
    raise AssertionError(f"counted {waits(job)} ns, of which the first thread {waits(job, 'main_ns')}")


@pytest.mark.parametrize("preload", [BOTH, f"{THREADS}:{PROFILER}"], ids=["behind", "in front"])
def test_waits_are_as_long_as_the_programs_own_clock_says(job: Job, apps: Apps, preload: str) -> None:
    """In sum and of the first thread, in the profile and in the report; its clock also has calls that do not wait."""

    def attempt() -> bool:
        own = told(job.run([apps.build("thread_waits")], LD_PRELOAD=preload, SLICEWISE_SLICE="0.5"))
        ns, main_ns, count = waits(job), waits(job, "main_ns"), waits(job, "waits")
        assert set(ns) == set(KINDS)
        assert all(count[kind] <= calls for kind, (calls, _, _) in own.items())
        return all(
            is_near(ns[kind], all_ns) and is_near(main_ns[kind], of_main) for kind, (_, all_ns, of_main) in own.items()
        )

    agreeing(job, attempt)
    by_slice = job.profile().thread_waits.group_by("slice").agg(pl.col("ns", "main_ns").sum())
    assert by_slice.height >= 4
    assert (by_slice["main_ns"] <= SLICE_NS).all()
    command = ["report", str(job.spool_dir), "--html", str(job.folder / "page.html")]
    shown = json_of(*command)["threads"]
    for column, seconds in {"ns": "seconds", "main_ns": "main_seconds"}.items():
        assert {row["kind"]: round(row[seconds] * 1e9) for row in shown["kinds"]} == waits(job, column)
    assert sum(row["waits"] for row in shown["slices"]) == sum(waits(job, "waits").values())
    assert "Threads waited" in slicewise_command(*command).text
    assert "for the end of threads" in (job.folder / "page.html").read_text()


def test_nothing_is_counted_or_in_front_of_a_function_unless_asked_for(job: Job, apps: Apps) -> None:
    told(job.run([apps.build("thread_waits"), "semaphore"]))
    assert job.profile().thread_waits.is_empty()
    exported = subprocess.run(["nm", "-D", PROFILER], capture_output=True, text=True, check=True).stdout
    assert "pthread_mutex_lock" not in exported


def test_programs_that_are_started_without_an_environment_are_timed_too(job: Job, apps: Apps) -> None:
    """The first counted call of this one is a wait of the first thread."""

    def attempt() -> bool:
        own = told(job.run(["env", "-i", apps.build("thread_waits"), "join"], LD_PRELOAD=BOTH))
        return is_near(waits(job)["join"], own["join"][1])

    agreeing(job, attempt)


PRELOADS = {"behind": BOTH, "in front": f"{THREADS}:{PROFILER}", "alone": str(THREADS)}


@pytest.mark.parametrize("preload", PRELOADS.values(), ids=PRELOADS)
def test_every_call_answers_as_without_us(job: Job, apps: Apps, preload: str) -> None:
    """Kinds of mutexes, deadlines, clocks that there are not, points of cancellation, errno, old forms, children."""
    program = apps.build("thread_corners")
    bare, ours = job.run_plainly([program]), job.run([program], LD_PRELOAD=preload)
    assert bare.status == ours.status == 0
    assert ours.output == bare.output
    assert len(bare.output.splitlines()) > 90


def test_many_threads_that_are_cancelled_meanwhile_come_to_their_ends(job: Job, apps: Apps) -> None:
    ended = job.run([apps.build("thread_corners"), "stress"], LD_PRELOAD=BOTH, SLICEWISE_SLICE="0.1")
    assert (ended.status, ended.output) == (0, b"1 1\n"), ended.errors
    assert {"lock", "condition", "join"} <= set(waits(job))


def test_a_wait_within_a_call_of_mpi_is_that_calls_time(job: Job, apps: Apps) -> None:
    """The library stands in for an MPI whose barrier waits at a semaphore for 300 ms; the program waits so for 100."""
    library = apps.build("thread_waits_mpi", "-DSTAND_IN", "-shared", "-fPIC")
    program = apps.build("thread_waits_mpi", str(library), f"-Wl,-rpath,{library.parent}")

    def attempt() -> bool:
        own_ns, mpi_ns = map(int, job.run([program], LD_PRELOAD=BOTH).output.split())
        rows = job.profile().communication.filter(pl.col("class") == "barrier")
        return is_near(rows["ns"].sum(), mpi_ns) and is_near(waits(job)["semaphore"], own_ns)

    agreeing(job, attempt)


def test_barriers_of_openmp_by_its_interface_for_tools(job: Job, tmp_path: Path) -> None:
    need("clang")
    program = tmp_path / "openmp_waits"
    build = ["clang", "-fopenmp", "-O1", "-D_GNU_SOURCE", APPS / "openmp_waits.c", "-o", program]
    if subprocess.run(build, capture_output=True, check=False).returncode != 0:
        pytest.skip("LLVM's OpenMP is missing: apt install libomp-dev")

    def attempt() -> bool:
        waited_ns, idle_ns = map(int, job.run([program], LD_PRELOAD=BOTH).output.split())
        counted = waits(job)
        assert counted.get("condition", 0) < idle_ns / 10, "the runtime's own waits are within these"
        return is_near(waits(job, "main_ns")["barrier"], waited_ns) and is_near(counted["idle"], idle_ns)

    agreeing(job, attempt)


STREAM = """
#include <cstdio>
#include <thread>
static char block[100000];
int main() {
    std::thread others[3];
    for (auto &other : others) other = std::thread([] { fwrite(block, 1, sizeof block, stdout); });
    for (auto &other : others) other.join();
}
"""


def test_a_wait_for_a_streams_lock_is_time_in_that_io_call(job: Job) -> None:
    """One thread fills the pipe and holds the stream's lock; two wait for it, and the first for their ends."""
    (job.data / "stream.cpp").write_text(STREAM)
    build = ["g++", "-O1", job.data / "stream.cpp", "-o", job.data / "stream", "-lpthread"]
    subprocess.run(build, check=True)
    assert job.run(["sh", "-c", "./stream | { sleep 0.5; cat > out; }"], LD_PRELOAD=BOTH).status == 0
    counted = waits(job)
    assert set(counted) == {"join"}
    assert counted["join"] > 400e6
    assert total(job.profile(), "write_ns", layers=("stdio",)) > 3 * 400e6


CPP = """
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>
int main() {
    std::mutex mutex; std::timed_mutex timed; std::shared_mutex shared; std::recursive_mutex again;
    std::condition_variable turned; int turn = 0; long sum = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&, i] {
            for (int k = 0; k < 500; k++) {
                std::unique_lock lock(mutex);
                turned.wait(lock, [&] { return turn % 8 == i; });
                turn++;
                turned.notify_all();
                lock.unlock();
                std::shared_lock reading(shared);
                std::scoped_lock both(again, timed);
                std::scoped_lock twice(again);
                sum++;
            }
        });
    for (auto &thread : threads) thread.join();
    std::printf("%d %ld\\n", turn, sum);
}
"""
PYTHON = """
import queue, sqlite3, sys, threading
work, done, lock = queue.Queue(4), [], threading.RLock()
def run():
    while (it := work.get()) is not None:
        with lock, sqlite3.connect("of-%d.db" % it) as base:
            base.execute("create table t (x)")
            base.execute("insert into t values (?)", (it,))
            done.append(base.execute("select sum(x) from t").fetchone()[0])
threads = [threading.Thread(target=run) for _ in range(6)]
for thread in threads: thread.start()
for it in range(40): work.put(it)
for _ in threads: work.put(None)
for thread in threads: thread.join(60)
barrier = threading.Barrier(3, timeout=60)
others = [threading.Thread(target=barrier.wait, daemon=True) for _ in range(2)]
for thread in others: thread.start()
barrier.wait()
print(sorted(done) == list(range(40)), threading.Event().wait(0.01))
"""
FOREIGN = {
    "xz": "seq 600000 | xz -1 -T4 --block-size=200000 | tee out | sha256sum && xz -dc -T4 out | sha256sum",
    "zstd": "seq 2000000 > in && zstd -q -T4 -3 in && zstd -q -dc in.zst | sha256sum",
    "pigz": "seq 600000 | pigz -p4 -b128 | gzip -dc | sha256sum",
    "python3": "/usr/bin/python3 work.py",
    "g++": "g++ -std=c++17 -O1 -o program work.cpp -lpthread && ./program",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_programs_of_others_do_the_same(job: Job, name: str) -> None:
    need(name)
    outputs = {}
    for preload in ("", BOTH):
        folder = job.data / ("profiled" if preload else "bare")
        folder.mkdir()
        (folder / "work.py").write_text(PYTHON)
        (folder / "work.cpp").write_text(CPP)
        ended = job.run(["sh", "-c", FOREIGN[name]], cwd=folder, LD_PRELOAD=preload)
        outputs[preload] = (ended.status, ended.output, ended.errors)
    assert outputs[BOTH] == outputs[""]
    assert outputs[""][0] == 0, outputs[""]
    assert os.path.getsize(job.spool_dir) > 0
    assert not job.profile().thread_waits.is_empty()
