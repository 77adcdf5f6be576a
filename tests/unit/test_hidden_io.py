"""I/O that no call shows: programs that make their system calls by themselves, and what loads programs. The kernel
counts it by process, and the disk's counter by slice.
"""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.memory import fetched_by, moved_by_no_call
from slicewise.analysis.blame.result import Outside
from slicewise.analysis.blame.unprofiled import changing
from slicewise.analysis.blame.weighed import no_longer_than
from slicewise.analysis.compare.compare import compare
from slicewise.analysis.runs.matching import company
from slicewise.digest.surroundings import Surroundings
from slicewise.estimate import Estimate
from slicewise.report.blame.blame_words import headline, second_sentence
from support.blame_trials import digests
from support.swz import build_profile, of_disk

NS, MIB = 1_000_000_000, 1 << 20
FIRST = 1_700_000_000


def job(
    directory: Path,
    seconds: int,
    called: int = 0,
    fetched: int = 0,
    disk: int = 0,
    start: int = FIRST,
    command: str = "fio random.fio",
    loading: int = 0,
    disk_when_loading: int = 0,
    write: bool = False,
    in_calls: float = 1.0,
    requested: int = 0,
    is_warm: bool = False,
    slices_with_calls: int = 1000,
    calls_a_mib: int = 1,
    faults: int = 0,
) -> Path:
    """A job that looks at its files every second, reads `called` MiB a second by calls that take all of it, and fetches
    as much in all as `fetched` says (MiB, beyond its calls); disk: what the disk read meanwhile, MiB a second. loading:
    seconds before its first call. write: it is all written. in_calls: the part of the time that calls take; the rest
    is spent on what was read ahead. requested: MiB a second by requests, of which the kernel's count of calls knows
    nothing. is_warm: the page cache served its calls. slices_with_calls: the first ones; it reads on without.
    calls_a_mib: how many calls read one. faults: page faults that read from storage.
    """
    number = 1 + sum(map(ord, directory.name))
    begin = start + loading
    process = {"process": number, "host": "n1", "program": "/usr/bin/fio", "slice_ns": NS, "command": command}
    process |= {"start_ns": NS * begin, "end_ns": NS * (start + seconds)}
    slices = range(begin, start + seconds)
    way = "write" if write else "read"
    did = {"process": number, "meta_ops": 98, "meta_ns": NS // 1000, "threads": 1}
    if called:
        did |= {f"{way}_bytes": called * MIB, f"{way}_ops": calls_a_mib * called, f"{way}_ns": round(in_calls * NS)}
    kernel = {
        "process": number, "layer": "kernel", "slice": begin, "mount": 0, f"{way}_bytes": called * MIB * len(slices),
        f"kernel_{way}_bytes": (0 if is_warm else called * MIB * len(slices)) + fetched * MIB,
    }  # fmt: skip
    asked = {
        "process": number, "layer": "async", "read_bytes": requested * MIB, "read_ops": requested, "read_ns": NS,
    }  # fmt: skip
    collected = of_disk(
        5000 + number, range(start, start + seconds),
        lambda at: {f"{way}_bytes": (disk_when_loading if at < begin else disk) * MIB}, "sda1",
    )  # fmt: skip
    if loading:
        launch = {"process": 7000 + number, "pid": 7, "host": "n1", "program": "/usr/bin/fio", "reason": "unknown"}
        collected["launches"] = [launch | {"start_ns": NS * start, "end_ns": NS * (start + seconds)}]
    mounts = [{"process": number, "type": "ext4", "source": "/dev/sda1"}]
    rows = [one | {"slice": at} for at in slices[:slices_with_calls] for one in ([did, asked] if requested else [did])]
    looks = [{"process": number, "slice": begin, "sampled_ns": NS, "major_faults": faults}] if faults else []
    return build_profile(directory, [process], [*rows, kernel], mounts, usage=looks, collected=collected)


def halved(tmp_path: Path) -> list[Path]:
    """A job that gets half of what its disk reads, and takes 20 s instead of 10; and its run alone."""
    return [
        job(tmp_path / "job", 20, called=20, disk=40, command="cat big"),
        job(tmp_path / "alone", 10, called=40, disk=40, command="cat big", start=FIRST - 99),
    ]


def test_a_job_of_hidden_io_took_as_long_as_its_runs_alone_say(tmp_path):
    """By its calls, of 1 ms a second, it takes 16.0 s alone."""
    own, run = digests(
        job(tmp_path / "job", 16, fetched=250, disk=45),
        job(tmp_path / "alone", 6, fetched=250, disk=42, start=FIRST - 99),
    )
    assert moved_by_no_call(own) == 250 * MIB
    told = blame(own, [], [run])
    assert told.alone is not None
    assert told.alone.value == pytest.approx(6)
    assert "it lost 10.0 s outside of I/O calls, where 250 MiB were moved for it by no call" in headline(told)
    assert "not because of I/O" not in headline(told)
    assert second_sentence(told).startswith("Programs without a profile used the same file system"), "470 MiB of it"


def test_a_run_whose_program_was_loaded_from_the_disk_is_no_other_work(tmp_path):
    """Its 8 page faults may have read up to 32 MiB of the 68."""
    own, run = digests(
        job(tmp_path / "job", 21, fetched=67, disk=4),
        job(tmp_path / "alone", 10, fetched=68, disk=7, start=FIRST - 99, faults=8),
    )
    assert moved_by_no_call(run) == 36 * MIB
    told = blame(own, [], [run])
    assert told.alone is not None
    assert told.alone.value == pytest.approx(10)


def test_which_part_of_hidden_reads_a_cache_had_is_not_known(tmp_path):
    """1 MiB by calls, and 64 by none: the job was told to have read all from the cache, and its run alone nothing."""
    own, run = digests(
        job(tmp_path / "job", 14, fetched=64, disk=5, called=1, slices_with_calls=1, is_warm=True),
        job(tmp_path / "alone", 10, fetched=64, disk=7, start=FIRST - 99),
    )
    assert [fetched_by(one) for one in (own, run)] == [None, None]
    told = compare([run, own]).told
    assert (told.from_cache, told.confidence) == (None, "medium")
    assert [(one.job, one.is_taken) for one in blame(own, [], [], [run]).runs] == [("alone", True)]


def test_what_programs_did_that_could_not_be_profiled_is_io_of_the_job(tmp_path):
    """`bash -c restic`, of which the kernel counted 300 MiB and calls show none: nobody knows that it was no I/O."""
    for name, seconds, start in (("job", 16, FIRST), ("alone", 12, FIRST - 99)):
        number = 1 + sum(map(ord, name))
        life = {"start_ns": NS * start, "end_ns": NS * (start + seconds)}
        shell = {"process": number, "pid": 8, "host": "n1", "program": "/bin/bash", "slice_ns": NS, "command": "bash"}
        launch = {"host": "n1", "pid": 9, "program": "/usr/bin/restic", "reason": "go"} | life
        launch |= {"process": 7000 + number, "read_bytes": 200 * MIB, "write_bytes": 100 * MIB}
        did = {"process": number, "meta_ops": 98, "meta_ns": NS // 1000, "threads": 1}
        rows = [did | {"slice": start + at} for at in range(seconds)]
        build_profile(tmp_path / name, [shell | life], rows, collected={"launches": [launch]})
    own, run = digests(tmp_path / "job", tmp_path / "alone")
    assert [moved_by_no_call(one) for one in (own, run)] == [300 * MIB] * 2
    told = blame(own, [], [run])
    assert (told.alone and told.alone.value, told.is_claimed) == (pytest.approx(12), False)
    assert "not because of I/O" not in headline(told)
    assert compare([run, own]).told.confidence == "medium"
    assert blame(own, [], []).confidence == "unknown"


def test_without_a_run_alone_nothing_is_known_of_it(tmp_path):
    own, other = digests(job(tmp_path / "job", 16, fetched=250, disk=16), job(tmp_path / "alone", 6, fetched=25))
    for runs in ([], [other]):
        told = blame(own, [], runs)
        assert told.lost is None
        assert told.confidence == "unknown"
    assert "250 MiB were moved for it by no call that can be seen" in headline(told) + second_sentence(told)


def test_hidden_writes_are_known_too(tmp_path):
    (own,) = digests(job(tmp_path / "job", 16, fetched=250, disk=16, write=True))
    assert moved_by_no_call(own) == pytest.approx(250 * MIB, rel=0.01)


@pytest.mark.parametrize(
    "options",
    [{"called": 10, "fetched": 120}, {"fetched": 12}, {"called": 1, "calls_a_mib": 64, "fetched": 40, "write": True}],
    ids=["read ahead", "loading", "a piece of the cache each"],
)
def test_what_is_read_ahead_or_to_load_a_program_hides_nothing(tmp_path, options):
    (own,) = digests(job(tmp_path / "job", 16, **options))
    assert moved_by_no_call(own) == 0


def test_a_neighbour_of_hidden_io_has_its_name(tmp_path):
    """The disk reads 40 MiB a second: 20 for the job, and 20 for a neighbour whose calls show none."""
    own, run, neighbour = digests(*halved(tmp_path), job(tmp_path / "ring", 20, fetched=400, disk=40))
    told = blame(own, [neighbour], [run])
    assert [one.job for one in told.neighbours] == ["ring"]
    assert told.neighbours[0].lost.value == pytest.approx(10, rel=0.1)
    assert told.traffic[0].covered == pytest.approx(1)


def test_what_loads_a_neighbours_program_is_the_neighbours(tmp_path):
    """Of 20 s the neighbour's program takes 12 to be loaded, and reads 20 MiB/s; it makes few calls."""
    own, run, neighbour = digests(
        job(tmp_path / "job", 20, called=20, disk=40, command="cat big"),
        job(tmp_path / "alone", 14, called=29, disk=29, command="cat big", start=FIRST - 99),
        job(tmp_path / "late", 20, called=20, fetched=240, loading=12),
    )
    told = blame(own, [neighbour], [run])
    assert [one.job for one in told.neighbours] == ["late"]


@pytest.mark.parametrize(
    ("options", "who"),
    [
        # `head big | gzip`: it waits for its pipe, while the kernel reads the next pages for it.
        ({"called": 20, "in_calls": 0.03}, "neighbour"),
        # A reader of 2 GiB/s from the page cache: a stranger's 20 MiB/s cost what they cost without it.
        ({"called": 2048, "is_warm": True}, None),
    ],
)
def test_what_is_read_for_a_neighbour_takes_the_disks_time_where_the_disk_read_it(tmp_path, options, who):
    own, run, neighbour = digests(*halved(tmp_path), job(tmp_path / "neighbour", 20, **options))
    told = blame(own, [neighbour], [run])
    assert told.neighbours[0].job == who
    assert told.neighbours[0].lost.value == pytest.approx(10, rel=0.1)


def test_requests_that_were_seen_are_not_hidden(tmp_path):
    (own,) = digests(job(tmp_path / "job", 16, requested=20, fetched=320))
    assert moved_by_no_call(own) == 0


def test_who_reads_on_without_calls_is_found_beside_a_job(tmp_path):
    """Its only calls open and map a file, before the job begins."""
    place = job(tmp_path / "job", 20, called=20, command="cat big", start=FIRST + 5)
    job(tmp_path / "mapper", 40, fetched=400, slices_with_calls=2)
    job(tmp_path / "computes", 40, fetched=10, slices_with_calls=2, command="solve")
    assert [one.name for one in Surroundings().nearby(place).neighbours] == ["mapper"]
    own, mapper, computes = digests(place, tmp_path / "mapper", tmp_path / "computes")
    assert company(own, [mapper, computes]) == [mapper]


@pytest.mark.parametrize(
    ("calls", "does_write", "part"),
    [
        ({"openat": 60, "fstat": 20, "close": 20, "read": 500}, False, 0.0),  # grep
        ({"openat": 60, "fstat": 20, "close": 20, "write": 500}, True, 0.6),
        ({"unlink": 50, "lstat": 50}, False, 0.5),
        ({}, False, 1.0),
    ],
)
def test_calls_on_metadata_that_change_nothing_write_no_blocks(calls, does_write, part):
    counts = pl.DataFrame(
        {"operation": list(calls), "calls": list(calls.values())}, {"operation": pl.String, "calls": pl.UInt64}
    )
    kinds = {"read": "read", "write": "write"}
    one = SimpleNamespace(not_kept={}, calls=counts, kind_of_operation=lambda name: kinds.get(name, "meta"))
    assert changing(one, does_write) == pytest.approx(part)


def test_a_run_alone_whose_program_was_not_in_memory(tmp_path):
    """It took 14 s, of which fio and its libraries took 4 to come from the disk: they say nothing of a job's calls."""
    own = job(tmp_path / "job", 20, called=20, disk=40, command="cat big")
    run = job(tmp_path / "alone", 14, called=40, disk=40, command="cat big", start=FIRST - 99, loading=4)
    warm = job(tmp_path / "warm", 10, called=40, disk=40, command="cat big", start=FIRST - 199)
    own, run, warm, other = digests(own, run, warm, job(tmp_path / "other", 20, called=20, disk=40))
    told = blame(own, [other], [], [run, warm])
    assert {one.job: one.is_taken for one in told.runs} == {"alone": True, "warm": True}
    assert (told.alone.value, told.is_claimed) == (pytest.approx(10.0, rel=0.02), True)
    slow = blame(run, [], [], [warm])
    assert slow.alone.value == pytest.approx(10.0)
    assert "it lost 4.00 s outside of I/O calls, 4.00 s of it while its program" in headline(slow)
    assert not blame(warm, [], [], [run]).is_claimed
    assert blame(warm, [], [], [run]).alone.value == pytest.approx(10.0)


def test_a_loss_that_is_not_sure_and_no_more_than_runs_differ_is_none(tmp_path):
    own, run = digests(job(tmp_path / "job", 10, called=40, disk=40), job(tmp_path / "alone", 10, called=40, disk=40))
    lost = Estimate(0.4, 0.1, 0.7, "")
    told = replace(blame(own, [], [run]), alone=Estimate(9.6, 9.3, 9.9, ""), lost=lost, is_claimed=True)
    runs = Estimate(9.8, 9.3, 10.3, "the runtime of its standalone runs")
    for confidence, is_claimed in (("low", False), ("medium", True)):
        assert no_longer_than(replace(told, confidence=confidence), runs).is_claimed == is_claimed
    # The job took as long as the runs, and the loss is smaller than these differ: git clone beside a storm of metadata.
    as_long = Estimate(9.95, 9.45, 10.45, runs.how)
    assert not no_longer_than(replace(told, confidence="medium"), as_long).is_claimed
    more = replace(told, confidence="medium", alone=Estimate(9.0, 8.7, 9.9, ""), lost=Estimate(1.0, 0.7, 1.3, ""))
    assert no_longer_than(more, as_long).is_claimed, "more than runs differ by"


@pytest.mark.parametrize(("seconds", "is_claimed"), [(9.97, False), (9.5, True)])
def test_what_runs_alone_leave_of_a_loss_is_claimed_where_it_is_no_trifle(tmp_path, seconds, is_claimed):
    """In the page cache 6.70 s, alone 6.67 s, "because of" a writer (high): calls had waited for processors."""
    own, run = digests(job(tmp_path / "job", 10, called=40, disk=40), job(tmp_path / "alone", 10, called=40, disk=40))
    lost = Estimate(0.9, 0.88, 0.92, "")
    told = replace(blame(own, [], [run]), alone=Estimate(9.1, 9.08, 9.12, ""), lost=lost, is_claimed=True)
    runs = Estimate(seconds, 9.4, 10.5, "the runtime of its standalone runs")
    found = no_longer_than(replace(told, confidence="high"), runs)
    assert (found.is_claimed, found.lost.value) == (is_claimed, pytest.approx(10.0 - seconds))


@pytest.mark.parametrize(
    ("alone", "lost", "told_lost", "is_claimed"),
    [
        ((7.0, 6.5, 7.5), 13.0, 10.0, True),  # looks found 7 of the 10 s in which the run alone waited for pages
        ((9.6, 9.0, 10.2), 10.4, 10.4, True),  # they agree
        ((12.0, 11.5, 12.5), 8.0, 8.0, True),  # more than calls show was lost
    ],
)
def test_the_time_alone_is_what_the_runs_alone_took_where_the_two_contradict_each_other(
    tmp_path, alone, lost, told_lost, is_claimed
):
    own, run, neighbour = digests(*halved(tmp_path), job(tmp_path / "other", 20, called=20))
    told = replace(blame(own, [neighbour], [run]), alone=Estimate(*alone, ""), lost=Estimate(lost, lost, lost, ""))
    runs = Estimate(10.0, 9.4, 10.6, "the runtime of its standalone runs")
    found = no_longer_than(told, runs)
    assert (found.lost.value, found.is_claimed) == (pytest.approx(told_lost), is_claimed)
    # Where they agree, the interval is that of both.
    assert found.alone == (Estimate(9.6, 9.0, 10.6, "") if alone[0] == 9.6 else runs)
    assert not no_longer_than(told, Estimate(25.0, 24.0, 26.0, "")).is_claimed


def test_runs_alone_that_are_known_better_than_the_loss_bound_it(tmp_path):
    """What the most delayed process lost is known to a factor of five; the job took 1.3 s longer than its run alone."""
    own, run, neighbour = digests(*halved(tmp_path), job(tmp_path / "other", 20, called=20))
    told = blame(own, [neighbour], [run])
    lost, runs = Estimate(11.5, 2.0, 13.0, ""), Estimate(10.0, 9.4, 10.6, "the runtime of its standalone runs")
    told = replace(told, alone=Estimate(8.5, 7.0, 18.0, ""), lost=lost)
    for waits, its in (("processes", 10.0), ("one process", 11.5)):
        found = no_longer_than(replace(told, waits=waits), runs)
        assert found.lost is not None
        assert found.lost.value == pytest.approx(its)


@pytest.mark.parametrize(("high", "is_open"), [(6.0, True), (0.4, False)])
def test_a_loss_in_io_that_is_open_is_said_to_be(tmp_path, high, is_open):
    """It waited for a processor, and whether its calls took longer than alone is not known."""
    own, run = digests(job(tmp_path / "job", 16, called=40, disk=40), job(tmp_path / "alone", 10, called=40, disk=40))
    told = blame(own, [], [run])
    lost = Estimate(0.3, -0.3, high, "")
    outside = Outside(Estimate(10.0, 9.5, 10.5, ""), 6.0, 0.0, 6.0, 0.0, 0.9, 0.0, 0.0, 0.0, "", 0.0)
    told = replace(told, lost=lost, is_claimed=False, outside=outside, alone=outside.alone)
    assert ("not because of I/O" in headline(told)) != is_open
    assert ("too uncertain to tell: 0.300 s" in second_sentence(told)) == is_open


@pytest.mark.parametrize(("calls_a_mib", "strangers"), [(256, 0), (1, 40 * MIB)])
def test_what_small_reads_of_a_neighbour_fetch_in_whole_pages_is_no_stranger_s(tmp_path, calls_a_mib, strangers):
    """The disk read 7 MiB a second, calls 5; reads of 4 KiB that begin within a page fetch two."""
    own, other = digests(
        job(tmp_path / "job", 20, called=1, disk=7),
        job(tmp_path / "other", 20, called=4, fetched=40, calls_a_mib=calls_a_mib),
    )
    (traffic,) = blame(own, [other], []).traffic
    assert traffic.counted is not None
    assert traffic.counted - traffic.profiled == pytest.approx(strangers, rel=0.02)
