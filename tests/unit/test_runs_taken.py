"""Which runs are taken as a job's standalone runs, and why the others are not; and what is told of that."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.case import case_of
from slicewise.analysis.blame.result import SOURCES, Baseline, Blame, Bystander, Outside, RunTaken
from slicewise.analysis.blame.runs_taken import as_other_work
from slicewise.analysis.blame.sources import NO_CALLS, Answered
from slicewise.analysis.blame.weighed import why_it_may_be_anything
from slicewise.analysis.calls import call_rows
from slicewise.analysis.compare.compare import compare
from slicewise.analysis.runs.limits import from_disk
from slicewise.analysis.runs.storage import Storage
from slicewise.digest.counters import know_each_other
from slicewise.digest.digest import read_digest
from slicewise.digest.slices import BYTES
from slicewise.estimate import Estimate
from slicewise.report.blame.anonymous import anonymous
from slicewise.report.blame.blame_words import headline
from slicewise.report.blame.explained import explanation
from slicewise.report.compare.compare_words import next_step
from slicewise.report.overlap.overlap_words import of_unknown
from support import blames
from support.blame_trials import digests
from support.swz import build_profile, of_disk

MIB = 1 << 20
NS = 1_000_000_000
FIRST = 1_700_000_000


@pytest.mark.parametrize("is_given", [True, False])
def test_a_run_that_computed_for_longer_is_no_run_alone(tmp_path, neighbour, is_given):
    """Beside busy loops it took 20 s in calls and 20 s outside of them, with the same command line as others."""
    command = "reader all"
    job = write(tmp_path / "job", 1, FIRST, 40, command=command)
    alone = write(tmp_path / "alone", 11, FIRST - 1000, 20, mib=20, command=command)
    slow = write(tmp_path / "slow", 21, FIRST - 2000, 20, mib=20, command=command, more=20)
    told = told_of(job, neighbour, [slow] if is_given else [], [alone, slow])
    assert {run.job: run.is_taken for run in told.runs} == {"alone": True, "slow": is_given}
    if not is_given:
        (why,) = [run.why_not for run in told.runs if not run.is_taken]
        assert why.startswith("it took 20.0 s outside of I/O calls, and ")
        no_other = told_of(job, neighbour, [], [slow])
        assert [note for note in no_other.notes if "slow is no standalone run of it: it took 20.0 s outside" in note]


def test_runs_alone_that_differ_are_no_sure_answer(tmp_path):
    """A job whose calls were as fast as ever, and that took longer than one run alone and less long than another."""
    job = write(tmp_path / "job", 1, FIRST, 20, command="a", more=15)
    runs = [write(tmp_path / f"r{n}", 11 + n, FIRST - 1000 * n, 20, command="a", more=10 * n) for n in (1, 2, 3)]
    told = blame(*digests(job), [], digests(*runs))
    assert told.alone is not None
    assert told.alone.low < 30 < 50 < told.alone.high
    assert told.is_too_uncertain
    assert told.confidence == "low"
    assert "another run alone makes the interval narrower" in told.next_step


def test_no_run_alone_is_asked_for_that_is_there(tmp_path, neighbour):
    """It took twice as long as alone and nobody was there: one more such run says no more of that."""
    job = write(tmp_path / "job", 1, FIRST, 40)
    alone = write(tmp_path / "job-alone", 11, FIRST - 1000, 20, mib=20)
    told = blame(*digests(job), [], [], digests(alone))
    assert (told.is_claimed, told.confidence, told.next_step) == (True, "low", "")
    warm = write(tmp_path / "other" / "job-alone", 21, FIRST - 2000, 10, mib=40, fetched=0)
    cold = write(tmp_path / "cold" / "job", 31, FIRST, 40, fetched=10)
    told = told_of(cold, neighbour, [], [warm])
    assert [run.is_taken for run in told.runs] == [False]
    assert "--job job-alone-2 --" in told.next_step


@pytest.mark.parametrize("computed", [0, 9])
def test_what_a_run_with_another_command_line_did_not_wait_for_is_not_taken_for_granted(tmp_path, computed):
    """`sleep 2` in place of `sleep 1` beside the same 200 MiB: 30 s, not 20 s; who computes more has more to do."""
    job = write(tmp_path / "job", 1, FIRST, 20, command="a 2", more=10, computed=computed)
    other = write(tmp_path / "other", 11, FIRST - 1000, 20, command="a 1", computed=0)
    told = blame(*digests(job), [], [], digests(other))
    assert (told.outside is None) == (computed > 0)
    if told.outside is not None:
        assert (told.outside.seconds, told.alone.value) == (pytest.approx(10), pytest.approx(20))
        assert (told.is_claimed, told.confidence) == (False, "low")
        assert "not because of I/O" in headline(told)
        assert any("another command line" in note for note in told.notes)
    given = blame(*digests(job), [], digests(other))
    assert (given.outside.seconds, given.outside.computed_seconds) == (pytest.approx(10), pytest.approx(computed))


def test_what_a_cache_served_no_disk_moved():
    """sqlite on pages that are cached: it read 1 GiB by calls and fetched 16 MiB, and wrote each page four times."""
    disk = Storage(7, "ext4", "/dev/vda", "n", "/")
    rows = pl.DataFrame(
        {"job": ["a", "b"], "storage": [7, 7], "slice": [0, 0]} | dict.fromkeys(BYTES, [1024 * MIB] * 2)
    )
    counted = {"read_seen": 1024 * MIB, "read_kernel": 1024 * MIB, "read_storage": 16 * MIB}
    counted |= {"write_seen": 1024 * MIB, "write_kernel": 1024 * MIB, "write_storage": 256 * MIB}
    did = pl.DataFrame({"storage": [7]} | dict.fromkeys(BYTES, 1024 * MIB))
    job = SimpleNamespace(job="a", not_kept={}, coverage=pl.DataFrame(counted), process_slices=did, mounts=did)
    unknown = SimpleNamespace(job="b", not_kept={"coverage": "nobody asks"})
    found = from_disk(rows, disk, [job, unknown])
    assert found.select("job", *BYTES).rows() == [("a", 16 * MIB, 256 * MIB), ("b", 1024 * MIB, 1024 * MIB)]
    halves = pl.DataFrame({"storage": [7, 8], "read_bytes": [512 * MIB] * 2, "write_bytes": [512 * MIB] * 2})
    elsewhere = SimpleNamespace(**vars(job) | {"process_slices": halves, "mounts": halves})
    assert from_disk(rows, disk, [elsewhere])["read_bytes"].to_list() == [1024 * MIB] * 2, "of which storage?"
    assert from_disk(rows, replace(disk, host=""), [job]).equals(rows)
    piped = SimpleNamespace(**vars(job) | {"coverage": pl.DataFrame(counted | {"read_seen": 4096 * MIB})})
    assert from_disk(rows, disk, [piped]).equals(found), "pipes are no storage"


@pytest.mark.parametrize(("kernel", "fetched", "moved"), [(512, 512, 1024), (512, 128, 256), (1, 1, 1)])
def test_of_a_killed_process_the_kernel_says_what_storage_moved_until_then(kernel, fetched, moved):
    """dd read 191 MiB and was killed after 7 s; the kernel's count was that of the first 4 s, and blame had half. Of 1
    GiB read by asynchronous requests the kernel counts the pages alone.
    """
    rows = pl.DataFrame({"job": ["a"], "storage": [7], "slice": [0], "read_bytes": [1024 * MIB], "write_bytes": [0]})
    counted = {"read_kernel": kernel * MIB, "read_storage": fetched * MIB, "write_kernel": 0, "write_storage": 0}
    did = pl.DataFrame({"storage": [7]} | dict.fromkeys(BYTES, 1024 * MIB))
    job = SimpleNamespace(job="a", not_kept={}, coverage=pl.DataFrame(counted), process_slices=did, mounts=did)
    found = from_disk(rows, Storage(7, "ext4", "/dev/vda", "n", "/"), [job])
    assert found["read_bytes"].to_list() == [moved * MIB]


def write(
    directory: Path, key: int, start: int, slices: int, program: str = "reader", mib: float = 10, command: str = "",
    more: int = 0, **counted: float,
) -> Path:  # fmt: skip
    """A job that reads so many MiB a second, all of a second in calls. more: seconds in which it computes then.
    counted: fetched, what the kernel fetched of that (MiB a second); beside, MiB a second of others that the mount's
    counter saw; synced, the part of its time in syncs; computed, seconds on a processor.
    """
    process = {"process": key, "program": f"/opt/{program}", "slice_ns": NS, "command": command}
    process |= {"start_ns": NS * start, "end_ns": NS * (start + slices + more)}
    times, moved = range(start, start + slices), round(mib * MIB)
    did = {"process": key, "threads": 1, "read_bytes": moved, "read_ops": 10}
    did |= {"read_ns": round(NS * (1 - counted.get("synced", 0))), "sync_ns": round(NS * counted.get("synced", 0))}
    rows = [did | {"slice": at} for at in times]
    if "fetched" in counted:
        kernel = {"process": key, "mount": 0, "layer": "kernel", "read_bytes": moved}
        kernel["kernel_read_bytes"] = round(counted["fetched"] * MIB)
        rows += [kernel | {"slice": at} for at in times]
    others = {}
    if "beside" in counted:
        in_all, run = round((mib + counted["beside"]) * MIB), {"process": key + 1, "device": 1}
        collected = of_disk(key + 1, times, lambda _: {"read_bytes": in_all}, "/scratch", kind="nfs")
        collected["node_devices"].append(run | {"kind": "waiting", "name": "folio_wait_bit_common"})
        collected["node_waits"] = [run | {"slice": at, "waiting_ns": NS} for at in times]
        others["collected"] = collected
    if "computed" in counted:
        usage = {"process": key, "number": 1, "slice": start, "sampled_ns": NS * (slices + more)}
        others["usage"] = [usage | {"user_ns": NS * round(counted["computed"])}]
    return build_profile(directory, [process], rows, [{"process": key, "type": "nfs4"}], **others)


@pytest.fixture
def neighbour(tmp_path) -> Path:
    return write(tmp_path / "neighbour", 900, FIRST, 40, "other")


def told_of(job: Path, neighbour: Path, given: list[Path], found: list[Path]) -> Blame:
    return blame(*digests(job), digests(neighbour), digests(*given), digests(*found))


def test_a_warm_run_is_none_for_a_cold_one(tmp_path, neighbour):
    """A cold run of 40 s beside another job; alone, cold, it takes 20 s, and from the page cache 4 s."""
    job = write(tmp_path / "job", 1, FIRST, 40, fetched=10)
    warm = write(tmp_path / "warm", 11, FIRST - 1000, 4, mib=100, fetched=1)
    cold = write(tmp_path / "cold", 21, FIRST - 2000, 20, mib=20, fetched=20)
    told = told_of(job, neighbour, [warm, cold], [])
    assert {run.job: run.is_taken for run in told.runs} == {"warm": False, "cold": True}
    assert told.baseline is not None
    assert told.baseline.runs == ["cold"]
    assert told.lost is not None
    assert told.lost.value == pytest.approx(20, rel=0.02)
    (line,) = [line for line in explanation(told) if line.startswith("warm:")]
    assert line == (
        "warm: not taken as a standalone run: it read 99 % of its bytes from the page cache, and this job 0 %: "
        "runs of different warmth are not compared."
    )
    assert "cold: taken as a standalone run." in explanation(told)


@pytest.mark.parametrize(("synced", "is_taken"), [(0.98, True), (0.9, False)])
def test_warmth_of_what_is_read_in_no_time_decides_nothing(tmp_path, neighbour, synced, is_taken):
    """A script that syncs all the time, begun from a cold disk when it ran alone."""
    job = write(tmp_path / "job", 1, FIRST, 40, mib=0.5, fetched=0, synced=synced)
    cold = write(tmp_path / "cold", 11, FIRST - 1000, 20, mib=1, fetched=1, synced=synced)
    assert {run.job: run.is_taken for run in told_of(job, neighbour, [cold], []).runs} == {"cold": is_taken}


def test_a_cold_run_is_none_for_a_warm_one(tmp_path, neighbour):
    job = write(tmp_path / "job", 1, FIRST, 40, fetched=0)
    cold = write(tmp_path / "cold", 21, FIRST - 2000, 20, mib=20, fetched=20)
    told = told_of(job, neighbour, [cold], [])
    assert [run.is_taken for run in told.runs] == [False]
    assert told.confidence == "low"


def test_the_page_cache_is_named_where_it_is_the_reason(tmp_path, neighbour):
    job = write(tmp_path / "job", 1, FIRST, 40, fetched=10)
    warm = write(tmp_path / "warm", 11, FIRST - 1000, 4, mib=100, fetched=0)
    told = told_of(job, neighbour, [warm], [])
    assert told.confidence == "low"
    (note,) = [note for note in told.notes if "warm" in note]
    assert note.startswith("warm is no standalone run of it: it read 100 % of its bytes from the page cache")
    assert note.endswith("The page cache alone makes such runs differ")


def test_reads_that_nobody_counted_are_of_no_other_warmth(tmp_path, neighbour):
    """FUSE does not tell the kernel what it fetches: 0 for all runs."""
    job = write(tmp_path / "job", 1, FIRST, 40, fetched=0)
    alone = write(tmp_path / "alone", 11, FIRST - 1000, 20, mib=20, fetched=0)
    told = told_of(job, neighbour, [alone], [])
    assert [run.is_taken for run in told.runs] == [True]


@pytest.mark.parametrize("is_given", [True, False])
def test_a_run_beside_a_stranger_is_not_found(tmp_path, neighbour, is_given):
    """Whoever gives it must know."""
    job = write(tmp_path / "job", 1, FIRST, 40)
    beside = write(tmp_path / "beside", 11, FIRST - 1000, 30, mib=400 / 30, beside=5.0)
    alone = write(tmp_path / "alone", 21, FIRST - 2000, 20, mib=20, beside=0.0)
    told = told_of(job, neighbour, [beside] if is_given else [], [beside, alone])
    assert {run.job: run.is_taken for run in told.runs} == {"beside": is_given, "alone": True}
    if not is_given:
        (why,) = [run.why_not for run in told.runs if not run.is_taken]
        assert why == (
            "it was not alone: the NFS mount /scratch counted 150 MiB of programs without a profile meanwhile"
        )
        assert told.lost is not None
        assert told.lost.value == pytest.approx(20, rel=0.02)


@pytest.mark.parametrize(("seconds", "is_taken"), [(29, True), (31, False)])
def test_of_runs_that_did_the_same_one_that_took_half_as_long_again_was_slowed_down(
    tmp_path, neighbour, seconds, is_taken
):
    """By whatever it was; the job itself is one of them. Who gives a run must know."""
    command = "reader all"
    job = write(tmp_path / "job", 1, FIRST, 20, mib=20, command=command)
    slow = write(tmp_path / "slow", 11, FIRST - 1000, seconds, mib=400 / seconds, command=command)
    told = told_of(job, neighbour, [], [slow])
    assert [run.is_taken for run in told.runs] == [is_taken]
    assert [run.why_not for run in told.runs] == [
        "" if is_taken else "it took 31.0 s, and job, which did the same, 20.0 s"
    ]
    assert [run.is_taken for run in told_of(job, neighbour, [slow], []).runs] == [True]


def test_traffic_where_a_run_was_for_next_to_nothing_is_no_stranger(tmp_path, neighbour):
    """It loaded its program there: 0.6 s of 20 in calls, beside 20 MiB/s of others. At 2 s it would be one."""
    job = write(tmp_path / "job", 1, FIRST, 40)
    for short, is_taken in ((0.6, True), (2.0, False)):
        where = tmp_path / f"run-{short}"
        run = write(where, 11, FIRST - 1000, 20, mib=20, beside=20.0, more=0)
        read = digests(run)[0]
        read.__dict__["process_slices"] = read.process_slices.with_columns(
            (pl.col("read_ns") * short / 20).cast(read.process_slices.schema["read_ns"]).alias("read_ns")
        )
        told = blame(*digests(job), digests(neighbour), [], [read])
        assert [one.is_taken for one in told.runs] == [is_taken]


def test_runs_that_took_as_long_beside_more_traffic_lost_nothing_to_it(tmp_path, neighbour):
    """Programs outside of a limit that the job has for itself use the same disk. By one run alone it is not known."""
    job = write(tmp_path / "job", 1, FIRST, 40)
    less = write(tmp_path / "less", 11, FIRST - 1000, 20, mib=20, beside=8.0)
    more = write(tmp_path / "more", 21, FIRST - 2000, 20, mib=20, beside=20.0)
    told = told_of(job, neighbour, [], [less, more])
    assert told.baseline is not None
    assert (told.baseline.source, set(told.baseline.runs)) == ("standalone runs", {"less", "more"})
    assert told.lost is not None
    assert told.lost.value == pytest.approx(20, rel=0.02)
    assert told.confidence == "medium"
    by_one = told_of(job, neighbour, [], [more])
    assert by_one.baseline is None or by_one.baseline.source != "standalone runs"


def counted(directory, key, seconds=1):
    """A job that writes 9 MiB a second, for 9 slices of so many seconds, on an NFS mount that counts."""
    slice_ns = seconds * NS
    wrote = {"write_bytes": 9 * seconds * MIB, "write_ops": 9, "write_ns": slice_ns}
    first = FIRST // seconds
    times = range(first, first + 9)
    return build_profile(
        directory,
        [{"process": key, "slice_ns": slice_ns, "start_ns": slice_ns * first, "end_ns": slice_ns * (first + 9)}],
        [{"process": key, "slice": at, **wrote} for at in times],
        [{"process": key, "type": "nfs4"}],
        collected=of_disk(key + 50, times, lambda _: {"write_bytes": 18 * seconds * MIB}, "/scratch", slice_ns, "nfs"),
    )


def test_a_job_that_was_read_twice_is_not_beside_itself(tmp_path):
    """As one that is given and lies in --seen, too: its rate was twice what it was."""
    job, again, other = (counted(tmp_path / name, key) for name, key in (("job", 1), ("again", 1), ("other", 2)))
    read = [read_digest(place) for place in (job, again, other)]
    know_each_other(read)
    assert [[one.job for one in digest.beside] for digest in read] == [["other"], ["other"], ["job", "again"]]
    moved = call_rows(read[0], NS).select(pl.sum("write_bytes"), pl.sum("write_seconds")).row(0)
    assert moved == (81 * MIB, pytest.approx(9.0))


def test_a_job_with_longer_slices_is_beside_none_with_shorter_ones(tmp_path):
    """Its slices cannot be laid on theirs: `compare` ended in a traceback."""
    read = [read_digest(counted(tmp_path / "job", 1)), read_digest(counted(tmp_path / "other", 2, seconds=4))]
    know_each_other(read)
    assert read[0].beside
    assert call_rows(read[0], NS)["write_bytes"].sum() == 81 * MIB
    assert call_rows(read[1], 4 * NS)["write_bytes"].sum() == 4 * 81 * MIB


@pytest.mark.parametrize(("low", "runs", "did_as_much", "why"), [
    (0.5, ("small",), False, "small did other work: it wrote 144 MiB instead of 240 MiB"),
    (0.5, (), False, "what is known of its time alone holds for anything from 500 ms to 40.0 s"),
    (0.5, ("small",), True, ""),
    (8.0, ("small",), False, ""),
])  # fmt: skip
def test_an_interval_that_holds_everything_is_no_answer(low, runs, did_as_much, why):
    """16 s, and alone [0.5-40 s]: it may have lost all of that, or none."""
    alone, lost = Estimate(16.1, low, 40.0, ""), Estimate(-0.1, -24.0, 16.0 - low, "")
    told = blames.blame([], runtime_seconds=16.0, alone=alone, lost=lost, is_claimed=False)
    job, small = (
        SimpleNamespace(job=name, about={"read_bytes": size, "write_bytes": size})
        for name, size in (("job", 240 * MIB), ("small", 144 * MIB))
    )
    sure = SimpleNamespace(chosen=SimpleNamespace(runs=runs, did_as_much=did_as_much))
    assert why_it_may_be_anything(told, job, [small], sure) == why
    outside = Outside(alone, 2.0, 0.0, 2.0, 0.0, 0.98, 0.0, 0.0, 0.0, "", 0.0)  # which takes nothing away from that
    assert why_it_may_be_anything(replace(told, outside=outside), job, [small], sure) == why
    sure_of_some = replace(told, outside=outside, alone=replace(alone, high=14.0))
    assert not why_it_may_be_anything(sure_of_some, job, [small], sure)


@pytest.mark.parametrize("has_run", [True, False])
def test_who_was_there_and_moved_next_to_nothing_is_named(tmp_path, has_run):
    job = write(tmp_path / "job", 1, FIRST, 40)
    runs = [write(tmp_path / "alone", 11, FIRST - 1000, 20, mib=20)] if has_run else []
    who = {"process": 21, "program": "/opt/tiny", "slice_ns": NS, "start_ns": NS * FIRST, "end_ns": NS * (FIRST + 40)}
    did = {"process": 21, "threads": 1, "read_bytes": 64, "read_ops": 1, "read_ns": 1000}
    rows = [did | {"slice": FIRST + at} for at in range(32)]
    tiny = build_profile(tmp_path / "tiny", [who], rows, [{"process": 21, "type": "nfs4"}])
    own, other, *alone = digests(job, tiny, *runs)
    told = blame(own, [other], [], alone)
    assert (told.bystanders, told.neighbours) == ([Bystander("tiny", 2048, 0, pytest.approx(32e-6))], [])
    said = "the only other job known to have used its file systems then, tiny, moved 2 KiB"
    assert (said.replace("its file systems", "it") if has_run else said) in headline(told)
    (in_overlap,) = [one for one in of_unknown([told]) if "tiny" in one] or [""]
    assert in_overlap == ("" if has_run else headline(told))
    hidden = anonymous(told, own, [other])
    assert "tiny" not in headline(hidden)


@pytest.mark.parametrize(
    ("syncs", "its_syncs", "its_command", "is_taken"),
    [
        (1, 0, "tar", False),  # what it left in the cache
        (0, 1, "tar", False),
        (200, 20, "tar", False),
        (30, 20, "tar", True),
        (1, 0, "tar; sync", True),  # it may sync from time to time
    ],
)
def test_a_run_that_left_in_the_cache_what_the_job_synced_did_other_work(
    tmp_path, syncs, its_syncs, its_command, is_taken
):
    job = write_synced(tmp_path / "job", 1, FIRST, "tar; sync", syncs)
    alone = write_synced(tmp_path / "alone", 11, FIRST - 1000, its_command, its_syncs)
    for given in ([], [alone]):
        told = told_of(job, write(tmp_path / f"other-{len(given)}", 900, FIRST, 40, "other"), given, [alone])
        assert [run.is_taken for run in told.runs] == [is_taken]
    own, run = digests(job, alone)
    (compared,) = compare([run, own]).differences
    is_alike = compared.own_io.unknown == []
    assert is_alike == (syncs == 30)


def test_what_never_was_in_the_cache_needs_no_sync(tmp_path, neighbour):
    """`dd oflag=dsync` and `dd conv=fsync`."""
    job = write_synced(tmp_path / "job", 1, FIRST, "dd fsync", 20)
    past = write_synced(tmp_path / "past", 11, FIRST - 1000, "dd dsync", 0, past_cache=1)
    assert [run.is_taken for run in told_of(job, neighbour, [], [past]).runs] == [True]


def write_synced(directory: Path, key: int, start: int, command: str, syncs: int, past_cache: int = 0) -> Path:
    """Writes 200 MiB in 10 s, and then waits in its syncs for 10 s, if it makes any."""
    process = {"process": key, "program": "/bin/tar", "command": command, "slice_ns": NS, "start_ns": NS * start}
    process["end_ns"] = NS * (start + (20 if syncs else 10))
    did = {"process": key, "threads": 1, "write_bytes": 20 * MIB, "write_ops": 20, "write_ns": NS}
    rows = [did | {"slice": start + at} for at in range(10)]
    if syncs:
        rows += [{"process": key, "threads": 1, "slice": start + 10 + at, "sync_ns": NS} for at in range(10)]
        rows[-1]["sync_ops"] = syncs
    file = {"process": key, "file": 1, "mount": 1, "write_bytes": 200 * MIB, "past_cache": past_cache}
    return build_profile(directory, [process], rows, [{"process": key, "type": "nfs4"}], files=[file])


def test_the_next_step_can_be_pasted(tmp_path, neighbour, monkeypatch):
    """The job's own command line, into its own directory; slices that are long for it are made finer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    command = "reader all.csv #inputs=0a1b2c3d"
    job = write(tmp_path / "runs" / "job", 1, FIRST, 40, command=command)
    step = told_of(job, neighbour, [], []).next_step
    asked = "slicewise run --dir runs --job job-alone -- reader all.csv, while nobody else uses the file system"
    assert step == asked
    code = write(tmp_path / "runs" / "code", 11, FIRST, 40, command="bash -c 9b952620")
    assert "-- YOUR COMMAND," in told_of(code, neighbour, [], []).next_step


def test_compared_runs_of_other_warmth_are_told_so(tmp_path):
    cold = write(tmp_path / "cold", 1, FIRST, 20, mib=20, fetched=20)
    warm = write(tmp_path / "warm", 11, FIRST - 1000, 4, mib=100, fetched=1)
    (told,) = compare(digests(warm, cold)).differences
    assert told.from_cache == (pytest.approx(0.0), pytest.approx(0.99))
    words = next_step(compare(digests(warm, cold)))
    assert words == [
        "cold read 0 % of its bytes from the page cache, and warm 99 %: that alone makes such runs differ."
    ]
    (told,) = compare(digests(cold, write(tmp_path / "again", 21, FIRST - 2000, 20, mib=20, fetched=20))).differences
    assert told.from_cache is None


def test_a_run_of_another_size_is_said_to_be_one(tmp_path, neighbour):
    job = write(tmp_path / "job", 1, FIRST, 40)
    same = write(tmp_path / "same", 11, FIRST - 1000, 20, mib=20)
    small = write(tmp_path / "small", 21, FIRST - 2000, 10, mib=20)
    told = told_of(job, neighbour, [], [same, small])
    assert {run.job: run.why_not for run in told.runs} == {
        "same": "",
        "small": "it is of another size: it moved other amounts than this job",
    }


def test_a_run_of_a_job_without_known_calls_is_not_said_to_be_of_another_size():
    """A Go program, which cannot be profiled, and read as much as alone."""
    refused = [Baseline(source, None, "unknown", NO_CALLS) for source in SOURCES]
    run = as_other_work(RunTaken("alone", True), Answered(refused, None, None, "", frozenset()), False, [])
    assert run == RunTaken("alone", False, "no call of this job is known that could be compared")


def test_a_run_that_no_estimate_uses_is_not_said_to_be_taken(tmp_path, neighbour):
    """A run alone by two processes: runs of other sizes count where two of them agree."""
    job = write(tmp_path / "job", 1, FIRST, 40)
    run = tmp_path / "alone"
    process = {"program": "/opt/reader", "slice_ns": NS, "start_ns": NS * (FIRST - 1000), "end_ns": NS * (FIRST - 980)}
    who = [{"process": 11 + at} | process for at in (0, 1)]
    did = {"threads": 1, "read_bytes": 10 * MIB, "read_ops": 10, "read_ns": NS}
    rows = [{"process": one["process"], "slice": FIRST - 1000 + at} | did for one in who for at in range(20)]
    build_profile(run, who, rows, [{"process": one["process"], "type": "nfs4"} for one in who])
    told = told_of(job, neighbour, [], [run])
    assert [one.is_taken for one in told.runs] == [False]
    assert told.runs[0].why_not.startswith("it is of another size")
    assert not any("taken as a standalone run" in line for line in explanation(told) if "not taken" not in line)


def test_runs_with_company_are_named(tmp_path, neighbour):
    """Two runs of the program side by side, elsewhere in time, and one alone."""
    job = write(tmp_path / "job", 1, FIRST, 40)
    write(tmp_path / "one", 11, FIRST - 1000, 40)
    write(tmp_path / "two", 21, FIRST - 1000, 40)
    write(tmp_path / "alone", 31, FIRST - 2000, 20, mib=20)
    told = case_of(job).result()
    assert {run.job: run.is_taken for run in told.runs} == {"alone": True, "one": False, "two": False}
    assert "one: not taken as a standalone run: it had company on the same file system." in explanation(told)
