"""What everyday programs do (cp and sync, scripts, static programs, readers of mapped files), as predictions, overlaps
and reports see it, under a control group's limits and without."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest
from slicewise.analysis.blame.result import Outside
from slicewise.analysis.compare.difference import Difference
from slicewise.analysis.overlap.overlap import overlap
from slicewise.analysis.predict.laws import AT_LIMIT
from slicewise.analysis.predict.predict import alone_run, predict
from slicewise.analysis.runs.limits import limit_of
from slicewise.analysis.runs.on_storage import at_one_time
from slicewise.analysis.runs.storage import describe_all
from slicewise.digest.counters import sent_by_group
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate
from slicewise.report.compare.compare_words import reason
from slicewise.report.job.job_page import JobReport, _without_advice
from support.blame_trials import digests
from support.runs import write_run, wrote
from support.swz import build_profile, of_disk
from unit.test_sampled_neighbours import go_program
from unit.test_sampled_neighbours import reader as reader_beside

NS, MIB = 1_000_000_000, 1 << 20
FIRST = 1_700_000_000
LIMIT = 40 * MIB
SECONDS = 20


def at_limit(
    directory: Path, way: str, request: int = MIB, start: int = FIRST, cached: int = 0, first: int = 0
) -> Path:
    """A job that a control group's limit for one direction holds up all the time. request: of the group, in bytes.
    cached: bytes that it also wrote in each slice, into the page cache.
    """
    number = first or 1 + sum(map(ord, directory.name))
    process = {"process": number, "host": "n1", "program": f"/usr/bin/{directory.name}", "slice_ns": NS}
    process |= {"start_ns": NS * start, "end_ns": NS * (start + SECONDS)}
    slices, run = range(start, start + SECONDS), {"process": 5000 + number}
    did = {f"{way}_bytes": LIMIT, f"{way}_ops": LIMIT // request}
    collected = of_disk(run["process"], slices, lambda _: did)
    collected["node_devices"] += [
        run | {"device": 1, "kind": "limit", "name": "sda in /users/anna", "source": "cgroup v1"}
    ]
    collected["node_limits"] = [run | did | {"device": 1, "slice": at, "at_limit_ns": NS} for at in slices]
    own: dict[str, Any] = {"process": number, f"{way}_ns": NS, "threads": 1} | did
    if cached:
        own |= {"write_bytes": cached, "write_ops": 1}
    mounts = [{"process": number, "type": "ext4", "source": "/dev/sda1"}]
    return build_profile(directory, [process], [own | {"slice": at} for at in slices], mounts, collected=collected)


def test_reads_and_writes_at_limits_of_their_own_do_not_meet(tmp_path):
    jobs = digests(at_limit(tmp_path / "reader", "read"), at_limit(tmp_path / "writer", "write", start=FIRST + 99))
    found = predict([(one, 0.0) for one in jobs])
    assert found.laws.chosen in AT_LIMIT
    for one in found.jobs:
        assert one.seconds.value == pytest.approx(SECONDS, rel=0.01)
        assert one.seconds.high < 1.07 * SECONDS


def test_whose_requests_are_small_waits_behind_large_ones_at_a_limit(tmp_path):
    """16 to 1: the large one leaves it a 17th, and it has all when that has ended."""
    jobs = digests(
        at_limit(tmp_path / "large", "read"), at_limit(tmp_path / "small", "read", MIB // 16, start=FIRST + 99)
    )
    large, small = predict([(one, 0.0) for one in jobs]).jobs
    assert large.seconds.value == pytest.approx(SECONDS * 17 / 16, rel=0.01)
    assert small.seconds.value == pytest.approx(2 * SECONDS, rel=0.01)
    assert small.seconds.low < SECONDS < 2 * SECONDS < small.seconds.high
    assert large.seconds.high > 2 * SECONDS  # that it is served last is possible, too


def test_what_the_cache_takes_does_not_hide_that_a_limit_holds_reads_up(tmp_path):
    (job,) = digests(at_limit(tmp_path / "archiver", "read", cached=LIMIT))
    (storage,) = describe_all(job.mounts["storage"].to_list(), [job])
    assert limit_of(storage, job) is not None


def test_writes_that_a_sync_alone_waits_for_are_predicted(tmp_path):
    """Their slices have bytes, and no calls that wrote."""
    rows = dict.fromkeys(range(10), wrote(100, 0.99) | {"write_ops": 0})
    jobs = digests(
        write_run(tmp_path / "one", 10, [rows], "/opt/one"),
        write_run(tmp_path / "two", 10, [rows], "/opt/two", begin=100),
    )
    assert all(one.seconds.high >= 19 for one in predict([(one, 0.0) for one in jobs]).jobs)


def test_the_io_of_a_copy_ends_with_the_sync_that_follows_it(tmp_path):
    """cp writes 200 MiB into the cache in 10 s, and the disk takes them in the 9.5 s of a sync that follows it."""
    names = {1: ("/bin/cp", 0.0, 10.0), 2: ("/bin/sync", 10.0, 19.5)}
    processes = [
        {
            "process": number, "host": "n1", "program": program, "slice_ns": NS,
            "start_ns": FIRST * NS + round(begin * NS), "end_ns": FIRST * NS + round(end * NS),
        }
        for number, (program, begin, end) in names.items()
    ]  # fmt: skip
    rows = [
        {"process": 1, "slice": FIRST + at, "threads": 1, "write_bytes": 20 * MIB, "write_ops": 20, "write_ns": NS}
        for at in range(10)
    ]
    rows += [{"process": 2, "slice": FIRST + at, "threads": 1, "sync_ops": 1, "sync_ns": NS} for at in range(10, 19)]
    rows += [{"process": 2, "slice": FIRST + 19, "threads": 1, "sync_ops": 1, "sync_ns": NS // 2}]
    collected = of_disk(5001, range(FIRST, FIRST + 20), lambda at: {"write_bytes": 20 * MIB if at >= FIRST + 10 else 0})
    mounts = [{"process": number, "type": "ext4", "source": "/dev/sda1"} for number in names]
    (job,) = digests(build_profile(tmp_path / "copy", processes, rows, mounts, collected=collected))
    found = alone_run(job, job.mounts["storage"][0])
    assert found.span[1] / NS - FIRST == pytest.approx(19.5, abs=0.01)
    assert found.processes == 1


@pytest.mark.parametrize(
    ("lives", "count"),
    [
        ([(0, 5), (5, 9), (9, 12)], 1),  # of a script, one after another
        ([(0, 5), (0, 5), (6, 9)], 2),
        ([(0, 5), (2, None)], 2),  # the second one still runs
    ],
)
def test_processes_that_follow_each_other_are_one_at_a_time(lives: Sequence[tuple[int, int | None]], count: int):
    schema = {"process": pl.UInt64, "start_ns": pl.Int64, "end_ns": pl.Int64}
    who = pl.DataFrame([(at, *life) for at, life in enumerate(lives)], schema, orient="row")
    rows = pl.DataFrame({"process": pl.Series(range(len(lives)), dtype=pl.UInt64)}).with_columns(
        read_seconds=1.0, write_seconds=0.0, meta_seconds=0.0
    )
    assert at_one_time(who, rows) == count
    hardly = rows.with_columns(read_seconds=pl.when(pl.col("process") == 0).then(1.0).otherwise(0.0))
    assert at_one_time(who, hardly) == 1


def test_a_program_that_could_not_be_profiled_is_predicted_by_the_kernels_count(tmp_path):
    """A Go program that reads 10 MiB/s for 20 s, beside one that reads as much: each has half of it."""
    jobs = digests(
        go_program(tmp_path / "go", "/dev/vdb"), reader_beside(tmp_path / "calls", 1, FIRST + 900, 20, 10, 10)
    )
    found = predict([(one, 0.0) for one in jobs])
    go, _ = found.jobs
    assert (go.alone, go.seconds.value) == (pytest.approx(20, abs=0.1), pytest.approx(40, rel=0.05))
    assert all("could not be profiled" in one.doubt for one in found.jobs)


def test_who_could_not_be_profiled_is_not_said_to_have_read_nothing(tmp_path):
    jobs = digests(go_program(tmp_path / "go", "/dev/vdb"), reader_beside(tmp_path / "calls", 1, FIRST, 20, 10, 20))
    told = str(overlap(jobs, []).directions["read"].not_applicable)
    assert told == "Only calls read bytes of files: go read 200 MiB at least in processes that could not be profiled"


@pytest.mark.parametrize(
    ("disk", "sent"),
    [
        ((10, 10, 10, 10, 0, 0), (10, 10, 10, 10)),  # it was under way before it was counted
        ((0, 0, 0, 10, 10, 10, 10), (0, 0, 0, 10, 10, 10, 10)),  # a sync sends it after it was counted
    ],
)
def test_what_a_group_counts_at_once_lies_where_its_disk_moved_it(disk, sent):
    """40 at once at a limit of 10 a second."""

    def signals(device: str, name: str, amounts: Sequence[float]) -> list[dict[str, Any]]:
        return [
            {"node": "n1", "device": device, "signal": name, "slice": at, "amount": float(amount)}
            for at, amount in enumerate(amounts)
            if amount
        ]

    group = "sda in /users/anna"
    rows = pl.DataFrame(
        [
            *signals(group, "limit_written", (0, 0, 0, 40)),
            *signals(group, "at_limit", (0, 0, 0, 4)),
            *signals("sda", "disk_written", disk),
        ]
    )
    digest = cast(Digest, SimpleNamespace(about={"start_ns": 0}, node_slice_ns=NS, node_slices=rows))
    found = sent_by_group(rows.filter(pl.col("device") == group), "limit_written", digest)
    assert dict(found.iter_rows()) == {at: amount for at, amount in enumerate(sent) if amount}


@pytest.mark.parametrize(("waited", "said"), [(15.8, "No known habit"), (None, "There is little to save")])
def test_waiting_for_mapped_files_is_no_little_thing(waited, said):
    report = SimpleNamespace(
        digest=SimpleNamespace(about={"start_ns": 0, "end_ns": 16 * NS}, not_kept=()),
        span=object(),
        io_time=SimpleNamespace(slowest=0.01),
        phases=SimpleNamespace(time_in_io=SimpleNamespace(slowest=waited)),
    )
    (line,) = _without_advice(cast(JobReport, report))
    assert line.startswith(said)


def test_a_wait_for_processors_while_the_kernel_read_ahead_is_one():
    """It waited for a processor for 12 s more, 8 of which its calls are shorter by: 3 s longer in all."""
    alone = Estimate(20.0, 19.0, 21.0, "")
    outside = Outside(alone, 3.0, 0.0, 3.0, 0.0, 0.99, 0.0, 0.0, 0.0, "", 0.0, delayed_seconds=12.0)
    told = SimpleNamespace(is_unseen=False, outside=outside)
    assert reason(cast(Difference, told), "computing", 11.0).startswith("waiting for a processor")
    told.outside = replace(outside, delayed_seconds=3.0)
    assert reason(cast(Difference, told), "computing", 11.0).startswith("outside of I/O calls")
