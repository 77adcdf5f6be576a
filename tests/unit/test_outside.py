"""What a job took longer than alone outside of I/O, by what the kernel counted."""

import shutil
from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.memory import (
    LOOKS_A_SECOND,
    PROCESSES_A_LOOK,
    THREADS_A_LOOK,
    Fetched,
    fetched_by,
)
from slicewise.analysis.blame.outside import delayed_outside, delayed_seconds, outside_of_io, perhaps_delayed, starved
from slicewise.analysis.blame.result import Outside, RunTaken
from slicewise.analysis.blame.runs_taken import cache_notes, other_warmth
from slicewise.analysis.blame.weighed import with_outside, with_time_outside
from slicewise.analysis.blame.without import without_its_part
from slicewise.analysis.runs.storage import busy_on
from slicewise.catalog.store import Catalog
from slicewise.digest.digest import read_digest
from slicewise.digest.slices import REQUEST_TIMES, TIMES
from slicewise.estimate import Estimate
from slicewise.report.blame.blame_words import headline, second_sentence
from slicewise.report.blame.outside_words import where_outside, why_outside
from support import blames
from support.command_line import slicewise_command
from support.programs import ROOT
from support.swz import build_profile

SECOND = 1_000_000_000
MIB = 1 << 20
SIGNALS = {"node": pl.String, "kind": pl.String, "device": pl.String, "signal": pl.String, "amount": pl.Float64}
NS = 1_000_000_000
FIRST = 1_700_000_000


def run(
    runtime, processor, switches, faults=0, stall=None, delayed=None, signals=(), fetched=None, calls=0.0, first=None,
    kind="ext4",
):  # fmt: skip
    """A run of one process: seconds that it took, with a processor, and ready for one (None: not counted); how often
    one was taken away from it. signals: kind, device, signal and amount that its node's collector sampled. fetched:
    bytes from storage, by a process that mapped 256 MiB. calls: seconds in I/O calls, on a file system of this kind.
    first: seconds that its first thread had a processor (None: as long as the process).
    """
    usage = {
        "process": [1],
        "user_ns": [round(processor * SECOND)],
        "system_ns": [0],
        "involuntary_switches": [switches],
        "major_faults": [faults],
        "sampled_ns": [round(runtime * SECOND)],
        "delayed_ns": pl.Series([None if delayed is None else round(delayed * SECOND)], dtype=pl.Int64),
        "first_thread_ns": pl.Series([None if first is None else round(first * SECOND)], dtype=pl.Int64),
        **dict.fromkeys(("slice", "late_ns", "peak_bytes"), 0),
    }
    rows = [*signals] if stall is None else [("node", "", "cpu_stall", stall * runtime), *signals]
    samples = {"node": ["n"] if rows else [], "seconds": [float(runtime)] if rows else []}
    samples["watched_seconds"] = samples["seconds"]
    return SimpleNamespace(
        about={"start_ns": 0, "end_ns": round(runtime * SECOND)},
        usage=pl.DataFrame(usage),
        processes=pl.DataFrame({"process": [1], "node": ["n"], "rank": [-1], "matters": [True], "start_ns": [0]}),
        communication=pl.DataFrame(schema={"process": pl.Int64, "ns": pl.Int64}),
        node_samples=pl.DataFrame(
            samples, schema={"node": pl.String, "seconds": pl.Float64, "watched_seconds": pl.Float64}
        ),
        node_slices=pl.DataFrame([("n", *row) for row in rows], SIGNALS, orient="row"),
        not_kept={} if fetched is not None else {"coverage": "nobody asks"},
        fetched=pl.DataFrame({"storage": [1], "fetched_bytes": [0]}),
        launches=pl.DataFrame(),
        process_slices=pl.DataFrame(
            {"process": [1], "storage": [1], "write_ops": [0], "threads": [1 if first is None else 2]}
            | dict.fromkeys((*TIMES, *REQUEST_TIMES), 0)
            | {"read_ns": [round(calls * SECOND)]}
        ),
        mounts=pl.DataFrame({"process": [1], "read_bytes": [1000]}),
        storages=pl.DataFrame({"storage": [1], "type": [kind], "node": ["" if kind in ("nfs4", "lustre") else "n"]}),
        coverage=pl.DataFrame(
            {"process": [1], "read_seen": [1000], "write_seen": [0], "mapped": [256 * MIB], "read_storage": [fetched]}
            | {"read_kernel": [0]}
            | {"write_storage": [0], "read_requested": [0], "write_requested": [0]}
        ),
    )


ALONE = [run(7.4, 6.9, 40), run(7.2, 6.8, 30)]


def test_a_job_that_waits_for_processors_is_told_so_and_its_calls_too():
    """Four busy loops on two processors: no neighbour took more than a moment of the storage's time."""
    found = outside_of_io(run(27.6, 6.9, 3000), ALONE, 1, io_alone=0.5, io_lost=1.2, taken=0.1)
    assert found.alone.value == pytest.approx(7.3)
    assert found.seconds == pytest.approx(27.6 - 7.3 - 0.1)
    assert found.waited_seconds == pytest.approx(found.seconds, rel=0.01)
    assert found.io_seconds == pytest.approx(1.1)


def test_calls_that_were_faster_than_alone_are_no_loss_elsewhere():
    """Beside busy loops: while it waited for a processor the kernel read ahead, and the time in calls fell by 4 s."""
    assert outside_of_io(run(7.5, 6.9, 3000), ALONE, 1, io_alone=5.0, io_lost=-4.0, taken=0.0) is None
    found = outside_of_io(run(9.0, 6.9, 3000), ALONE, 1, io_alone=5.0, io_lost=-4.0, taken=0.0)
    assert found.seconds == pytest.approx(9.0 - 7.3)


def test_pages_of_programs_are_perhaps_what_it_waited_for():
    """Python and its packages come from the storage that is slow."""
    found = outside_of_io(run(20.0, 6.9, 40, fetched=64 * MIB), [run(7.4, 6.9, 40, fetched=64 * MIB)], 1, 0.5, 0.0, 0.0)
    assert why_outside(found).startswith(", perhaps waiting for pages of programs and libraries (64.0 MiB")
    found = outside_of_io(run(20.0, 6.9, 40, fetched=MIB), [run(7.4, 6.9, 40, fetched=MIB)], 1, 0.5, 0.0, 0.0)
    assert why_outside(found) == ", where it is not known what it waited for"


def test_a_pressure_of_the_node_tells_it_too():
    found = outside_of_io(run(20.0, 6.9, 50, stall=0.9), ALONE, 1, 0.5, 0.0, 0.0)
    assert found.waited_seconds > 0.9 * found.seconds
    assert found.stall == pytest.approx(0.9)
    assert where_outside(found).endswith("(some program on its nodes waited for one 90 % of the time)")
    assert where_outside(replace(found, stall=0.9941)).endswith("waited for one 99 % of the time)")


def test_nobody_waited_for_a_processor_for_longer_than_somebody_did():
    """A job that waits for others' start and hardly computes: a few moments without a processor say nothing."""
    idle = [run(11.0, 0.1, 0, stall=0.01)]
    found = outside_of_io(run(25.0, 0.12, 4, stall=0.02), idle, 1, 10.0, 10.5, 10.0)
    assert found.seconds == pytest.approx(3.5)
    assert found.waited_seconds == 0.0


def test_a_script_that_waits_for_what_nobody_profiled_waited_for_no_processor():
    """It waits for a server of another user, who reads from a busy disk, and runs for 11 ms in all."""
    found = outside_of_io(run(21.4, 0.011, 4, stall=0.91), [run(4.7, 0.011, 4)], 1, 0.001, 0.0002, 0.0)
    assert (found.seconds, found.waited_seconds) == (pytest.approx(16.7, rel=0.01), pytest.approx(0.22))
    assert found.is_idle
    assert "waited for" in why_outside(found)
    told = blames.blame([], outside=found, is_claimed=False)
    assert "not because of I/O" not in headline(told)
    busy = outside_of_io(run(21.4, 15.0, 4), [run(4.7, 15.0, 4)], 1, 0.001, 0.0002, 0.0)
    assert not busy.is_idle


def test_one_of_many_nodes_may_be_the_one_where_processors_were_waited_for():
    """The share is of all nodes' time."""
    job = run(27.6, 6.9, 3000, stall=0.1)
    rows = [{"process": at, "node": f"n{at}", "rank": -1, "matters": True, "start_ns": 0} for at in range(2, 10)]
    job.processes = pl.concat([job.processes, pl.DataFrame(rows)])
    assert outside_of_io(job, ALONE, 1, io_alone=0.5, io_lost=1.2, taken=0.1).waited_seconds > 15.0


def test_what_neighbours_can_have_cost_stays_theirs():
    found = outside_of_io(run(40.0, 6.9, 3000), ALONE, 1, io_alone=3.0, io_lost=12.0, taken=14.0)
    assert found.io_seconds == 0.0


def test_more_computing_is_no_wait():
    found = outside_of_io(run(20.0, 19.5, 100), ALONE, 1, 0.5, 0.0, 0.0)
    assert found.computed_seconds == pytest.approx(12.65, rel=0.01)
    assert found.waited_seconds == 0.0
    assert found.io_seconds == 0.0


def test_a_cause_that_nothing_shows_is_none():
    found = outside_of_io(run(20.0, 6.9, 40, faults=900), ALONE, 1, 0.5, 0.0, 0.0)
    assert (found.waited_seconds, found.computed_seconds) == (0.0, pytest.approx(0.05))
    assert found.faults == 900


def test_memory_that_was_short_is_the_cause():
    """Whoever looks for memory may compute (the kernel does it in its name), or sleep: that comes first."""
    alone = [run(7.4, 6.9, 40, signals=[("node", "", "memory_stall", 0.2)])]
    short, asleep = ("node", "", "memory_stall", 10.2), ("waiting", "reclaim_throttle", "waiting", 11.0)
    found = outside_of_io(run(20.0, 15.0, 40, signals=[short, asleep]), alone, 1, 0.5, 0.0, 0.0)
    assert found.memory_seconds == pytest.approx(10.0)
    assert ", 10.0 s of it because memory was short" in why_outside(found)
    # Who neither slept nor had the kernel compute for it waited for nothing: it was somebody else.
    assert outside_of_io(run(20.0, 15.0, 40, signals=[short]), alone, 1, 0.5, 0.0, 0.0).memory_seconds == 0.0
    # Another job's control group has a limit of its own, which is nothing to this one.
    group = [
        short,
        asleep,
        ("cgroup", "/job", "cgroup_file_bytes", 1e9),
        ("cgroup", "/job", "cgroup_memory_stall", 0.1),
    ]
    found = outside_of_io(run(20.0, 15.0, 40, signals=group), alone, 1, 0.5, 0.0, 0.0)
    assert found.memory_seconds == 0.0
    assert "it computed 8.10 s more" in why_outside(found)


def test_files_that_memory_did_not_hold_are_the_cause():
    """256 MiB that are mapped were fetched 14 times, and something slept until they were there."""
    signals = [("node", "", "file_refaults", 3200.0 * MIB), ("waiting", "folio_wait_bit_common", "waiting", 10.0)]
    job = run(20.0, 6.9, 40, signals=signals, fetched=3500 * MIB)
    found = outside_of_io(job, ALONE, 1, 0.5, 0.0, 0.0)
    assert found.memory_seconds == pytest.approx(10.0 * 3200 / 3500)
    assert "memory was short" in why_outside(found)
    # A run whose files were in memory from its begin on is none for a cold job, but is for this one.
    warm = Fetched(called=1000, wrote=0, mapped=256 * MIB, fetched=0)
    its = fetched_by(job)
    assert its.is_again
    assert its.is_by_faults
    assert not other_warmth(its, warm)
    cold = Fetched(1000, 0, 256 * MIB, 255 * MIB)
    assert other_warmth(cold, warm).startswith("0 B were fetched into the page cache for it, and for this job 255")
    # By calls it is known how much of what they read was in memory.
    assert "page cache, and this job 0 %" in other_warmth(
        Fetched(3500 * MIB, 0, 0, 3500 * MIB), Fetched(3500 * MIB, 0, 0, 0)
    )


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("vfork_done", "outside of I/O calls, where its threads slept in the kernel, mostly in vfork_done"),
        (
            "__iomap_dio_rw",
            "waiting for the storage (in direct I/O, __iomap_dio_rw of the kernel) beyond what its calls",
        ),
        ("rpc_wait_bit_killable", "waiting for the storage (in rpc_wait_bit_killable of the kernel) beyond what its"),
    ],
)
def test_what_looks_at_sleeping_threads_show_is_told_as_an_estimate(function, said):
    slept = [("waiting", function, "waiting", 9.0), ("waiting", "", "waiting", 2.0)]
    found = outside_of_io(run(20.0, 6.9, 40, signals=slept), ALONE, 1, 0.5, io_lost=1.0, taken=0.0)
    assert (found.slept_seconds, found.slept_at) == (pytest.approx(10.0), function)
    assert where_outside(found).startswith(said)


def test_who_waits_for_pages_of_files_does_io_without_calls():
    slept = [("waiting", "folio_wait_bit_common", "waiting", 9.0)]
    found = outside_of_io(run(20.0, 6.9, 40, signals=slept), ALONE, 1, 0.5, io_lost=1.0, taken=0.0)
    assert why_outside(found).startswith(", where its threads waited for pages of files")


@pytest.mark.parametrize(("runtime", "io_lost"), [(7.5, 0.0), (17.4, 10.0), (6.0, 0.0)])
def test_a_little_is_nothing(runtime, io_lost):
    assert outside_of_io(run(runtime, 6.9, 40), ALONE, 1, 0.5, io_lost, io_lost) is None


def test_without_runs_alone_nothing_is_known():
    assert outside_of_io(run(27.6, 6.9, 3000), [], 1, 0.5, 1.2, 0.1) is None


def test_what_the_kernel_counted_of_the_wait_counts():
    """9 s of 19.1 s: the others are not known, however often a processor was taken away."""
    alone = [run(7.4, 6.9, 40, delayed=0.1), run(7.2, 6.8, 30, delayed=0.1)]
    found = outside_of_io(run(27.6, 6.9, 3000, delayed=9.1), alone, 1, io_alone=0.5, io_lost=1.2, taken=0.1)
    assert found.waited_seconds == pytest.approx(9.0, rel=0.001)
    calm = outside_of_io(run(27.6, 6.9, 30, delayed=20.1), alone, 1, io_alone=0.5, io_lost=1.2, taken=0.1)
    assert calm.waited_seconds == pytest.approx(27.6 - 7.3 - 1.2 - 0.05, rel=0.001)
    assert calm.io_seconds == 0, "0.95 s in calls are less than runs differ by"


def test_a_wait_for_processors_in_calls_is_no_neighbours_io():
    """A reader's run beside busy loops, of 41.0 s: it slept for 0.7 s, and so little can storage have cost it."""
    alone = [run(10.6, 9.8, 400, delayed=0.01, calls=3.4)]
    job = run(41.0, 11.3, 9000, delayed=29.0, calls=18.4)
    found = outside_of_io(job, alone, 1, io_alone=3.4, io_lost=15.0, taken=15.0)
    assert found.io_seconds == pytest.approx(29.0 - (41.0 - 10.6 - 15.0 - (11.3 - 9.8)), rel=0.1)
    assert found.seconds == pytest.approx(41.0 - 10.6 - 15.0 + found.io_seconds)
    assert found.computed_seconds <= found.seconds - found.io_seconds
    # The wait is the first thread's, and processor time that of all.
    job = run(20.0, 44.0, 900, delayed=1.6, calls=9.0)
    threads = outside_of_io(job, [run(16.0, 40.0, 800, delayed=0.1, calls=6.0)], 1, 6.0, 3.0, 3.0)
    assert threads is None or threads.io_seconds == 0
    # A job whose calls sleep all the time waits for its storage, however busy the processors are.
    job = run(41.0, 2.0, 9000, delayed=10.0, calls=25.4)
    asleep = outside_of_io(job, alone, 1, io_alone=3.4, io_lost=22.0, taken=22.0)
    assert asleep.io_seconds == 0


def test_calls_that_ask_no_disk_wait_for_processors_alone(monkeypatch):
    """Shells and greps on files in memory, beside busy loops: nobody counts which of them waited within calls."""
    alone, job = [run(3.3, 2.0, 90, delayed=1.1, calls=1.1)], run(8.2, 2.1, 900, delayed=5.7, calls=2.2)
    job.process_slices = job.process_slices.with_columns(threads=pl.lit(2))
    by_disk = outside_of_io(job, alone, 1, io_alone=1.1, io_lost=1.1, taken=0.0)
    assert by_disk.seconds == pytest.approx(8.2 - 3.3 - 1.1)
    monkeypatch.setattr("slicewise.analysis.blame.outside.is_in_memory", lambda _: True)
    found = outside_of_io(job, alone, 1, io_alone=1.1, io_lost=1.1, taken=0.0)
    assert (found.seconds, found.io_seconds) == pytest.approx((8.2 - 3.3, 1.1))
    assert found.waited_seconds == pytest.approx(5.7 - 1.1 - found.paced_seconds)


def ranks_of(job):
    """The same run as two ranks of a job, of which the second did nothing."""
    row = {"node": "n", "matters": True, "start_ns": 0, "end_ns": job.about["end_ns"]}
    rows = [{"process": at, "rank": at - 1, **row} for at in (1, 2)]
    return SimpleNamespace(**vars(job) | {"processes": pl.DataFrame(rows)})


def test_who_computes_more_waits_the_more_where_processors_are_as_busy():
    """It read and checked 290 files in place of 150, both times beside others' programs: 5.1 s for 1 s of computing."""
    alone = [run(4.8, 0.7, 160, delayed=2.9, stall=0.96)]
    job = run(11.0, 1.5, 560, delayed=7.7, stall=0.98)
    found = outside_of_io(job, alone, 1, io_alone=1.2, io_lost=0.0, taken=0.0)
    assert (found.computed_seconds, found.paced_seconds) == pytest.approx((0.8, 0.8 * 2.9 / 0.7))
    assert found.waited_seconds == pytest.approx(7.7 - 2.9 - found.paced_seconds)
    assert why_outside(found) == ", where it computed 800 ms more, on processors as busy as before"


@pytest.mark.parametrize("is_spinning", [False, True])
def test_a_rank_that_computes_more_is_no_wait_for_a_processor(is_spinning):
    """Others wait for it, and may spin. Nobody counts what ranks wait; so long a run alone took for its computing."""
    processor, mpi = (40.0, 36.3) if is_spinning else (7.0, 0.0)
    job = ranks_of(run(43.3, processor, 2600, stall=0.98))
    job.communication = pl.DataFrame({"process": [1], "ns": [round(mpi * SECOND)]})
    found = outside_of_io(job, [ranks_of(run(21.6, 3.2, 1200, stall=0.98))], 1, io_alone=0.0, io_lost=0.0, taken=0.0)
    assert found.computed_seconds == pytest.approx(3.8)
    assert found.waited_seconds == 0.0
    assert found.work_seconds == pytest.approx(found.seconds)
    calm = outside_of_io(job, [ranks_of(run(21.6, 3.2, 1200, stall=0.1))], 1, io_alone=0.0, io_lost=0.0, taken=0.0)
    assert (calm.computed_seconds, calm.paced_seconds) == pytest.approx((3.8, 0.0))


def test_ranks_wait_for_processors_in_calls_too():
    """How long they wait in all is not known, since they may spin; in calls they do not."""
    alone = [ranks_of(run(13.9, 3.5, 8000, delayed=10.0, calls=2.6, stall=0.1))]
    job = ranks_of(run(46.2, 4.1, 9800, delayed=41.7, calls=11.1, stall=0.99))
    found = outside_of_io(job, alone, 1, io_alone=2.6, io_lost=8.5, taken=8.5)
    assert found.io_seconds == pytest.approx((11.1 - 0.4) * 41.7 / 45.8 - (2.6 - 0.4) * 10 / 13.5)
    assert found.waited_seconds == pytest.approx(found.seconds, rel=0.05)
    no_run = delayed_outside(job, 1, 11.1, Estimate(8.0, 7.0, 9.0, ""))
    assert (no_run.io_seconds, no_run.waited_seconds) == (8.0, 8.0)


@pytest.mark.parametrize(
    ("kind", "looks", "in_calls"),
    [
        ("ext4", (), 8.0 - 0.75),
        ("ext4", [("waiting", "rq_qos_wait", "waiting", 4.0)], 8.0 - 4.0 - 1.96 - 0.75),
        ("nfs4", (), 8.0 - 0.75),
        ("lustre", (), 0.0),
        ("fuse.sshfs", (), 0.0),
    ],
)
def test_what_other_threads_lost_in_calls_is_their_storages_if_they_slept(kind, looks, in_calls):
    """A pool of threads, for which the first one waits, beside busy loops: its own wait says nothing of theirs."""
    alone = [run(9.3, 4.4, 9000, delayed=0.02, calls=4.1, first=0.1, stall=0.1)]
    job = run(25.4, 4.5, 4000, delayed=0.05, calls=12.1, first=0.1, stall=0.99, signals=looks, kind=kind)
    found = outside_of_io(job, alone, 1, io_alone=4.1, io_lost=8.0, taken=8.0)
    assert found.io_seconds == pytest.approx(in_calls, abs=0.01)
    assert found.waited_seconds == pytest.approx(25.4 - 9.3 - 8.0 - 0.1 + in_calls, abs=0.01)
    assert starved(job, 1, 12.1) == pytest.approx(0.99), "without a run alone nothing is known"
    assert starved(job, 1, 2 * 13.0) is None, "two threads were in calls for half of the time"


def test_threads_that_sleep_in_their_calls_show_there_how_slow_storage_was():
    """Of 12.1 s in calls they were seen to sleep 11.8 s. The rest of 25.4 s they may have waited for a processor."""
    signals = [("waiting", "folio_wait_bit_common", "waiting", 11.8)]
    job = run(25.4, 4.5, 4000, delayed=0.05, calls=12.1, first=0.1, stall=0.99, signals=signals)
    assert starved(job, 1, 12.1) is None
    assert perhaps_delayed(job, 1, 12.1) == pytest.approx(25.4 - 12.1 - 4.5)
    calm = run(25.4, 4.5, 4000, delayed=0.05, calls=12.1, first=0.1, stall=0.5, signals=signals)
    assert perhaps_delayed(calm, 1, 12.1) == 0.0


def test_looks_tell_nothing_of_more_threads_than_they_see_and_of_locks():
    alone = [run(9.3, 4.4, 9000, delayed=0.02, calls=4.1, first=0.1, stall=0.1)]
    crowd, locks = (run(25.4, 4.5, 4000, delayed=0.05, calls=12.1, first=0.1, stall=0.6) for _ in range(2))
    crowd.process_slices = crowd.process_slices.with_columns(threads=9)
    locks.process_slices = locks.process_slices.with_columns(read_ns=0, meta_ns=round(12.1 * SECOND))
    for job in (crowd, locks):
        found = outside_of_io(job, alone, 1, io_alone=4.1, io_lost=8.0, taken=8.0)
        assert found.io_seconds == 0


def test_a_run_alone_of_an_older_version_does_not_make_a_wait_one_of_calls():
    job = run(33.0, 13.0, 900, delayed=20.0, calls=13.0)
    assert outside_of_io(job, [run(30.0, 10.0, 900, delayed=20.0, calls=10.0)], 1, 10.0, 3.0, 3.0) is None
    assert outside_of_io(job, [run(30.0, 10.0, 900, calls=10.0)], 1, 10.0, 3.0, 3.0) is None


def test_looks_are_as_many_as_the_collectors():
    """They are stated where the collector looks."""
    run_c, waiting_c = ((ROOT / "collector" / name).read_text() for name in ("run.c", "waiting.c"))
    assert f"NS_PER_SECOND / {LOOKS_A_SECOND})" in run_c
    looked_at = f"PROCESSES_LOOKED_AT = {PROCESSES_A_LOOK}, THREADS_A_PROCESS = {THREADS_A_LOOK}"
    assert looked_at in waiting_c


def test_without_runs_alone_the_wait_that_was_counted_is_told():
    """26.1 s, of which 10.7 were lost in I/O and 4.2 waiting for a processor: 11.2 s alone."""
    lost = Estimate(10.7, 10.3, 11.0, "")
    found = delayed_outside(run(26.1, 0.3, 900, stall=0.85, delayed=4.2), 1, 21.5, lost)
    assert (found.seconds, found.waited_seconds, found.stall) == pytest.approx((4.2, 4.2, 0.85))
    assert found.alone.value == pytest.approx(11.2)
    assert (found.alone.low, found.alone.high) == (pytest.approx(26.1 - 11.0 - 4.2), pytest.approx(26.1 - 10.3))
    # It slept for 16.8 s, and was in calls for 21.5 s: for 4.6 s of these it ran, or waited for a processor.
    in_calls = delayed_outside(run(26.1, 0.3, 900, delayed=9.0, calls=21.5), 1, 21.5, lost)
    assert (in_calls.seconds, in_calls.io_seconds) == pytest.approx((9.0, (21.5 - 16.8) * 9.0 / 9.3))
    assert in_calls.alone.value == pytest.approx(26.1 - 10.7 - (9.0 - in_calls.io_seconds))
    assert delayed_outside(run(26.1, 0.3, 900, delayed=1.0), 1, 21.5, lost) is None
    assert delayed_outside(run(26.1, 0.3, 900), 1, 21.5, lost) is None


def test_a_wait_for_processors_is_told_where_nothing_else_is_known():
    assert delayed_seconds(run(27.6, 6.9, 3000, delayed=20.0), 1) == pytest.approx(20.0)
    assert delayed_seconds(run(27.6, 6.9, 3000, delayed=0.5), 1) is None
    assert delayed_seconds(run(27.6, 6.9, 3000), 1) is None


def test_a_kernel_that_counts_no_waits_says_nothing_of_them():
    counted = [run(7.4, 6.9, 40, delayed=0), run(7.2, 6.8, 30, delayed=0)]
    found = outside_of_io(run(27.6, 6.9, 3000, delayed=0), counted, 1, io_alone=0.5, io_lost=1.2, taken=0.1)
    assert found == outside_of_io(run(27.6, 6.9, 3000), ALONE, 1, io_alone=0.5, io_lost=1.2, taken=0.1)
    assert delayed_seconds(run(27.6, 6.9, 3000, delayed=0), 1) is None


def test_ranks_that_spin_wait_for_no_processor():
    job = ranks_of(run(27.6, 6.9, 3000, delayed=20.0))
    assert delayed_seconds(job, 2) is None
    assert delayed_outside(job, 2, 5.0, Estimate(1.0, 0.9, 1.1, "")) is None
    runs, not_ranks = [ranks_of(one) for one in ALONE], run(27.6, 6.9, 3000)
    assert outside_of_io(job, runs, 1, 0.5, 1.2, 0.1) == outside_of_io(not_ranks, ALONE, 1, 0.5, 1.2, 0.1)


def test_a_catalog_tells_of_the_wait_what_the_profile_does(tmp_path, monkeypatch):
    process = {"process": 7, "slice_ns": SECOND, "start_ns": FIRST * SECOND, "end_ns": (FIRST + 40) * SECOND}
    rows = [
        {"process": 7, "slice": FIRST + at, "write_bytes": MIB, "write_ops": 1, "write_ns": SECOND // 2, "threads": 1}
        for at in range(40)
    ]
    looks = [
        {"process": 7, "number": at, "slice": FIRST + at, "sampled_ns": 10 * SECOND, "delayed_ns": 2 * SECOND}
        for at in range(0, 40, 10)
    ]
    job = build_profile(tmp_path / "job", [process], rows, usage=looks)
    Catalog.make(tmp_path / "catalog")
    assert slicewise_command("catalog", "ingest", tmp_path / "catalog", job).status == 0
    monkeypatch.chdir(tmp_path)
    told = slicewise_command("blame", job).text.splitlines()
    assert told[0].startswith("job waited 8.00 s of its 40.0 s for a processor.")
    shutil.rmtree(job)
    monkeypatch.setenv("SLICEWISE_CATALOG", str(tmp_path / "catalog"))
    assert slicewise_command("blame", "job").text.splitlines()[:2] == told[:2]


def test_the_end_without_a_neighbour_keeps_what_calls_waited_for_processors():
    """It was "not known" for a wait of 0.1 s of 10.9 s."""
    end = Estimate(14.0, 13.0, 15.0, "by the model of sharing")
    found = without_its_part(end, 0.5)
    assert (found.low, found.value, found.high) == (13.0, 14.5, 16.0)
    assert without_its_part(end, 0.0) == end
    assert without_its_part(None, 0.5) is None


def test_what_was_evicted_before_it_was_read_is_the_reason_of_a_cold_run():
    evicted = run(20.0, 6.9, 40, signals=[("node", "", "file_refaults", 3200.0 * MIB)], fetched=3500 * MIB)
    warm = RunTaken("warm", False, "it read 99 % of its bytes from the page cache, and this job 0 %")
    (note,) = cache_notes(evicted, [warm])
    assert note.endswith("Memory was short: 91 % of what was fetched for it had been in memory before, and was evicted")
    (other,) = cache_notes(run(20.0, 6.9, 40, fetched=3500 * MIB), [warm])
    assert other.endswith("makes such runs differ")


@pytest.mark.parametrize(
    ("fetched", "signals", "is_again"),
    [
        (200, [("cpu_stall", 3.0)], False),  # it read each byte once, and nobody waited for memory
        (200, [("cpu_stall", 3.0), ("memory_stall", 4.0)], True),
        (200, [("cpu_stall", 3.0), ("memory_stall", 0.1)], False),
        (200, [], True),  # the kernel counts no such waits
        (900, [("cpu_stall", 3.0)], True),  # it read some bytes more than once
    ],
)
def test_memory_was_not_short_for_what_a_job_read_once_while_nobody_waited_for_it(fetched, signals, is_again):
    """Who had these files in memory before, and when they were evicted, is not told by their refaults."""
    rows = [("node", "", "file_refaults", fetched * float(MIB)), *(("node", "", *one) for one in signals)]
    assert fetched_by(run(20.0, 6.9, 40, signals=rows, fetched=fetched * MIB)).is_again == is_again


def test_a_loss_that_is_not_claimed_is_in_the_interval_of_the_time_alone_only():
    job, lost = run(14.0, 0.3, 900, delayed=2.0), Estimate(1.7, -0.5, 3.9, "")
    claimed, open_ = (delayed_outside(job, 1, 11.0, lost, is_claimed) for is_claimed in (True, False))
    assert claimed.alone.value == pytest.approx(14.0 - 1.7 - 2.0)
    assert open_.alone.value == pytest.approx(14.0 - 2.0)
    assert (open_.alone.low, open_.alone.high) == (claimed.alone.low, claimed.alone.high)


def test_a_loss_that_may_be_none_is_as_open_when_the_wait_for_a_processor_is_taken_off():
    """A dd that took 32.8 s beside another writer, and some 21 s alone, was "not because of I/O", medium."""
    lost = Estimate(2.3, -8.5, 13.1, "")
    told = blames.blame(
        [blames.neighbour(lost=2.3)], lost=lost, is_claimed=False, confidence="medium", runtime_seconds=32.8,
        io_seconds=32.6, io_processes=1,
    )  # fmt: skip
    outside = Outside(Estimate(30.3, 19.5, 41.3, ""), 2.5, 0.0, 2.5, 2.3, 0.99, 0.0, 0.0, 0.0, "", 0.0)
    found = with_outside(told, outside)
    assert (found.lost.value, found.lost.low, found.lost.high) == pytest.approx((0.0, -10.8, 10.8))
    assert "not because of I/O" not in headline(found)
    assert second_sentence(found) == "Whether it lost time in I/O, too, is too uncertain to tell: 0 s [-10.8 to 10.8]."
    job = run(32.8, 0.3, 900, stall=0.99, delayed=2.5, calls=32.6)
    assert with_time_outside(told, job, [], [], is_hidden=False, of_seconds_alone=False).confidence == "low"
    # What is claimed is a part of what was claimed.
    told = replace(told, lost=Estimate(10.0, 8.0, 12.0, ""), is_claimed=True)
    sure = with_outside(told, replace(outside, io_seconds=5.0))
    assert (sure.lost.low, sure.lost.high) == pytest.approx((4.0, 6.0))


def test_strangers_where_a_run_hardly_did_anything_cost_it_nothing():
    """It loaded its program from a disk that others used, and read its data from another one."""
    took = pl.DataFrame({"storage": [1, 2], **{name: [int(0.01 * NS), NS] for name in (*TIMES, *REQUEST_TIMES)}})
    nothing, about = pl.DataFrame(schema={"storage": pl.Int64}), {"start_ns": 0, "end_ns": 10 * NS}
    run_there = SimpleNamespace(process_slices=took, fetched=nothing, about=about)
    assert busy_on(run_there) == [2]
    run_there.about = about | {"end_ns": 1000 * NS}  # it computed for all the rest
    assert busy_on(run_there) == []
    run_there.fetched = pl.DataFrame({"storage": [1]})
    assert busy_on(run_there) == [1]


def test_a_job_that_was_faster_than_alone_by_more_than_it_waited_lost_nothing():
    faster = Estimate(-8.0, -9.0, -7.0, "")
    assert delayed_outside(run(12.8, 3.0, 900, delayed=1.6), 1, 9.0, faster) is None


def test_where_ranks_had_no_processors_nothing_is_known_of_those_that_hardly_did_io():
    job = ranks_of(run(400, 60, 9000, stall=0.97))
    assert starved(job, 1, io_seconds=9.0) == pytest.approx(0.97)
    assert starved(job, 1, io_seconds=90.0) is None
    waited = ranks_of(run(400, 60, 9000, stall=0.97, delayed=300))
    assert starved(waited, 1, io_seconds=90.0) == pytest.approx(0.97), "they waited, or spun, for most of the rest"
    assert starved(waited, 1, io_seconds=370.0) is None
    for delayed in (300, None, 0):
        alone = run(400, 60, 9000, stall=0.97, delayed=delayed)
        assert starved(alone, 1, io_seconds=9.0) is None, "no ranks: the kernel counts their waits, or nobody does"
    assert starved(ranks_of(run(400, 60, 9000, stall=0.6)), 1, 9.0) is None


@pytest.mark.parametrize(
    ("launches", "program", "own", "told"),
    [
        (["taskset -c 0 dd if=a"], "/usr/bin/taskset", {"command": "dd if=a"}, "taskset -c 0 dd if=a"),
        (["srun -n 2 sim x"], "/usr/bin/srun", {"command": "sim x", "rank": 0, "ranks": 2}, "srun -n 2 sim x"),
        ([], "", {"command": "sim x", "rank": 0, "ranks": 2}, "YOUR COMMAND"),  # who launched its ranks is not known
        ([""], "/usr/bin/taskset", {"command": "dd if=a"}, "YOUR COMMAND"),  # of an older version
        ([""], "/usr/bin/dd", {"command": "dd if=a"}, "dd if=a"),
        (["cat a", "cat b"], "/usr/bin/cat", {"command": "cat a"}, "YOUR COMMAND"),
        (["mysql --password ... db"], "/usr/bin/mysql", {}, "YOUR COMMAND"),
        (["env A=1 python3 -c 0a1b2c3d x"], "/usr/bin/env", {}, "YOUR COMMAND"),
    ],
)
def test_the_next_step_has_the_command_that_was_run(tmp_path, launches, program, own, told):
    process = {"process": 1, "pid": 7, "host": "n1", "program": "/usr/bin/dd", "slice_ns": NS} | own
    process |= {"start_ns": NS * FIRST, "end_ns": NS * (FIRST + 1)}
    rows = [
        {"process": 5 + at, "pid": 7, "host": "n1", "program": program, "command": command}
        for at, command in enumerate(launches)
    ]
    slices = [{"process": 1, "slice": FIRST, "threads": 1, "read_bytes": MIB, "read_ns": NS // 2}]
    job = read_digest(build_profile(tmp_path / "job", [process], slices, collected={"launches": rows}))
    assert f"--job job-alone -- {told}, while" in blame(job, []).next_step
