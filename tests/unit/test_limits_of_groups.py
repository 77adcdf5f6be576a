"""A limit of a control group is shared by who is in the group: the disk's other users are no neighbours."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.case import case_of, kept_case, read_with_runs
from slicewise.analysis.blame.limits import lowered
from slicewise.analysis.blame.uncontended import BY_REQUESTS
from slicewise.analysis.blame.unprofiled import counted_rows, counter_of, excess, first_counted
from slicewise.analysis.compare.compare import compare
from slicewise.analysis.overlap.overlap import overlap
from slicewise.analysis.predict.predict import predict
from slicewise.analysis.runs.limits import limit_of, limits_of, outside
from slicewise.analysis.runs.storage import describe_all
from slicewise.catalog.kept import find_job
from slicewise.digest.counters import counters_in
from slicewise.digest.digest import Digest
from slicewise.digest.storages import contended, devices_of, disk_of, mounts_with_storage, storage_number
from slicewise.report.blame import all_words
from slicewise.report.blame.blame_words import headline, rest_of_loss, second_sentence
from slicewise.report.compare.compare_words import headline as compare_headline
from support.blame_trials import digests
from support.catalogs import catalog_of
from support.limited_reader import FIRST, LIMIT, MIB, NS, SECONDS, reader
from support.swz import build_profile, of_disk


@pytest.mark.parametrize(
    ("loaded", "slices"),
    [(0.0, 0), (0.05, 0), (0.3, 1), (1.5, 2)],  # s; of slices of 1 s, of which the first one had begun 0.2 s before
)
def test_what_is_read_to_load_a_program_is_its_own(loaded, slices):
    start_ns = FIRST * NS + NS // 5
    processes = pl.DataFrame({"start_ns": [start_ns + int(loaded * NS), start_ns + 9 * NS]})
    job = cast(Digest, SimpleNamespace(about={"start_ns": start_ns}, processes=processes))
    assert first_counted(job, NS) == FIRST + slices


def held(job: Digest):
    (storage,) = describe_all(job.mounts["storage"].to_list(), [job])
    return limit_of(storage, job)


@pytest.mark.parametrize(
    ("options", "is_held"),
    [
        ({}, True),
        ({"at_limit": (0.88, 1.3, 0.88, 0.92, 1.0)}, True),  # in lumps, as the kernel lets requests through
        ({"at_limit": (0.6,)}, False),  # the disk is slower than the limit
        ({"group_rate": 10 * MIB}, False),  # most of what the job did went elsewhere, or by nobody's group
        ({"limited": "sdb"}, False),
        ({"limited": "sda1"}, True),
        ({"first_known": 3}, True),  # it was met in the fourth slice
    ],
)
def test_a_limit_holds_a_job_up_where_it_is_used_up_by_the_jobs_group(tmp_path, options, is_held):
    (job,) = digests(reader(tmp_path / "job", LIMIT, **options))
    assert (held(job) is not None) == is_held


def test_a_process_is_in_calls_for_no_longer_than_it_lives(tmp_path):
    """However many requests it has under way: a short run would seem to wait for more than the limit."""
    at_limit = tuple(0.25 if at == FIRST % 3 else 1.0 for at in range(3))
    (job,) = digests(reader(tmp_path / "job", LIMIT, seconds=3, late=0.75, at_once=8, at_limit=at_limit))
    limit = held(job)
    assert limit is not None
    assert limit.share == pytest.approx(1)


def test_of_groups_in_each_other_the_one_that_is_nearest_to_its_limit_counts(tmp_path):
    (job,) = digests(reader(tmp_path / "job", LIMIT, at_limit=(0.88,), above="/users"))
    limit = held(job)
    assert limit is not None
    assert limit.group == "/users"


def test_traffic_of_another_group_costs_nothing_where_the_own_limit_held_the_job_up(tmp_path):
    """Half of what the disk moved is another group's: of the job's own nothing is lost to it, and its run beside such
    traffic is one alone.
    """
    own, run = digests(reader(tmp_path / "job", LIMIT), reader(tmp_path / "alone", LIMIT, start=FIRST - 100))
    told = blame(own, [], [], [run])
    assert not told.is_claimed
    assert not told.neighbours
    assert [one.is_taken for one in told.runs] == [True]
    (traffic,) = told.traffic
    assert traffic.profiled == traffic.counted == LIMIT * SECONDS
    assert any("control group /users/anna (40.0 MiB/s)" in note for note in told.notes)


def test_who_is_in_the_group_without_a_profile_is_still_seen(tmp_path):
    own, run = digests(
        reader(tmp_path / "job", LIMIT // 2, seconds=20), reader(tmp_path / "alone", LIMIT, start=FIRST - 100)
    )
    told = blame(own, [], [run])
    assert told.lost is not None
    assert told.lost.value == pytest.approx(10, rel=0.1)
    assert [neighbour.job for neighbour in told.neighbours] == [None]


def test_a_job_of_another_group_is_no_neighbour_and_one_of_the_same_is(tmp_path):
    own, run, same, other = digests(
        reader(tmp_path / "job", LIMIT // 2, seconds=20),
        reader(tmp_path / "alone", LIMIT, start=FIRST - 100),
        reader(tmp_path / "same", LIMIT // 2, seconds=20),
        reader(tmp_path / "other", LIMIT, group="/users/ben", seconds=20),
    )
    told = blame(own, [same, other], [run])
    assert [neighbour.job for neighbour in told.neighbours] == ["same"]
    assert told.neighbours[0].lost.value == pytest.approx(10, rel=0.1)
    (storage,) = describe_all(own.mounts["storage"].to_list(), [own])
    limit = held(own)
    assert limit is not None
    assert outside(storage, limit, [same, other]) == ["other"]


@pytest.mark.parametrize(("used_up", "in_calls"), [(1.0, 0.0), (0.9, 2.0)])
def test_who_waits_for_a_processor_while_the_limit_is_used_up_would_have_waited_for_that(tmp_path, used_up, in_calls):
    """It was ready to run for 8 of its 20 s in calls, in which the limit served the other one."""
    own, run, other = digests(
        reader(tmp_path / "job", LIMIT // 2, seconds=20, at_limit=(used_up,), delayed=0.4),
        reader(tmp_path / "alone", LIMIT, start=FIRST - 100, delayed=0.001),
        reader(tmp_path / "other", LIMIT // 2, seconds=20, at_limit=(used_up,)),
    )
    told = blame(own, [other], [run])
    assert told.neighbours[0].lost.value == pytest.approx(10 - in_calls, rel=0.02)
    assert (told.outside.io_seconds if told.outside else 0.0) == pytest.approx(in_calls, abs=0.01)


def test_nobody_is_outside_of_the_root(tmp_path):
    """Its limit holds what the kernel writes back, of every group."""
    own, other = digests(
        reader(tmp_path / "job", LIMIT // 2, group="/"), reader(tmp_path / "other", LIMIT // 2, group="/users/ben")
    )
    (storage,) = describe_all(own.mounts["storage"].to_list(), [own])
    limit = held(own)
    assert limit is not None
    assert limit.group == "/"
    assert outside(storage, limit, [other]) == []


@pytest.mark.parametrize(("group", "contended"), [("/users/ben", None), ("/users/anna", True)])
def test_jobs_that_limits_of_their_own_hold_up_do_not_contend(tmp_path, group, contended):
    own, other, *alone = digests(
        reader(tmp_path / "job", LIMIT // 2, group_rate=LIMIT // 2),
        reader(tmp_path / "other", LIMIT // 2, group=group, group_rate=LIMIT // 2, command="cat other"),
        reader(tmp_path / "alone", LIMIT, start=FIRST - 100),
    )
    told = overlap([own, other], alone).directions["read"]
    assert told.contention.contended is contended
    assert ("/users/ben (20.0 MiB/s)" in told.not_applicable) == (contended is None)


def test_a_limit_that_was_higher_in_the_run_alone_is_told(tmp_path):
    own, run = digests(
        reader(tmp_path / "job", LIMIT // 2, group_rate=LIMIT // 2, seconds=20),
        reader(tmp_path / "alone", LIMIT, start=FIRST - 100),
    )
    told = blame(own, [], [run])
    assert not told.neighbours
    assert any("(20.0 MiB/s; in runs alone it was 40.0 MiB/s)" in note for note in told.notes)
    assert told.lower_limit is not None
    assert told.lower_limit.seconds == pytest.approx(10, rel=0.01)
    assert told.confidence == "medium"
    assert rest_of_loss(told) == "lower limit"
    assert headline(told).endswith("because the limit of control group /users/anna on /scratch was lower.")
    assert "(20.0 MiB/s instead of 40.0 MiB/s in runs alone)" in second_sentence(told)
    of_all = [("job", told)]
    assert all_words.sentence(of_all, 0).endswith("the limit of control group /users/anna on /scratch was lower.")
    assert "a lower limit (10.0 s)" in [cell.text for cell in all_words.losses_table(of_all).rows[0]]
    (job,) = all_words.record(of_all, 0)["jobs"]
    assert (job["lower_limit"]["group"], job["lower_limit"]["alone_rate"]) == ("/users/anna", told.lower_limit.alone)


def test_compare_says_that_the_limit_was_lower(tmp_path):
    alone = reader(tmp_path / "alone", LIMIT, start=FIRST - 100)
    job = reader(tmp_path / "job", LIMIT // 2, group_rate=LIMIT // 2, seconds=2 * SECONDS)
    (told,) = compare(digests(alone, job)).differences
    assert (told.lower_limit.rate, told.lower_limit.alone) == (LIMIT // 2, LIMIT)
    assert told.lower_limit.seconds == pytest.approx(SECONDS, rel=0.02)
    said = compare_headline(compare(digests(alone, job)))
    assert "since the limit of control group /users/anna on " in said
    assert "was lower (20.0 MiB/s instead of 40.0 MiB/s)" in said


def test_a_run_that_no_limit_held_up_had_a_higher_one(tmp_path):
    own, free = digests(
        reader(tmp_path / "job", LIMIT // 2, group_rate=LIMIT // 2, seconds=20),
        reader(tmp_path / "free", LIMIT, at_limit=(0.0,), start=FIRST - 100),
    )
    told = blame(own, [], [free])
    assert told.lower_limit is not None
    assert (told.lower_limit.alone, told.lower_limit.seconds) == (LIMIT, pytest.approx(10, rel=0.01))


@pytest.mark.parametrize(("seconds", "is_lower"), [(1, False), (SECONDS, True)])
def test_few_bytes_that_took_no_time_are_no_sign_of_a_higher_limit(tmp_path, seconds, is_lower):
    own, run = digests(
        reader(tmp_path / "job", LIMIT // 2, group_rate=LIMIT // 2, seconds=2 * SECONDS),
        reader(tmp_path / "run", LIMIT, at_limit=(0.0,), start=FIRST - 100, seconds=seconds),
    )
    storages = describe_all(own.mounts["storage"].to_list(), [own])
    assert bool(lowered(storages, limits_of(storages, own), own, [run])) == is_lower


def test_the_limit_is_told_by_direction(tmp_path):
    """A group that reads and writes as fast as it may moves twice its limit."""
    (job,) = digests(reader(tmp_path / "job", LIMIT, wrote=LIMIT))
    limit = held(job)
    assert (limit.rate, limit.told()) == (2 * LIMIT, "40.0 MiB/s")
    (job,) = digests(reader(tmp_path / "small", 60 * SMALL, group_rates=(60 * SMALL, 50 * SMALL), requests=60))
    assert held(job).told() == "60.0 requests a second"


def test_runs_under_the_jobs_own_limit_come_first(tmp_path):
    """Unless somebody gives another one."""
    own, free, same = digests(
        reader(tmp_path / "job", LIMIT // 2, group_rate=LIMIT // 2, seconds=20),
        reader(tmp_path / "free", LIMIT, at_limit=(0.0,), start=FIRST - 100),
        reader(tmp_path / "same", LIMIT // 2, group_rate=LIMIT // 2, seconds=20, start=FIRST - 200),
    )
    told = blame(own, [], [], [free, same])
    assert {one.job: one.is_taken for one in told.runs} == {"free": False, "same": True}
    assert not told.is_claimed
    assert [one.is_taken for one in blame(free, [], [], [own, same]).runs] == [False, False], "their limit was lower"
    assert [one.is_taken for one in blame(free, [], [own], []).runs] == [True]
    assert [one.is_taken for one in blame(own, [], [free], [same]).runs] == [True, True]


def test_neighbours_cost_no_more_than_what_a_lower_limit_leaves(tmp_path):
    """Of 30 s instead of 10, half the limit took 10, and the neighbour the rest: it read a third."""
    rate = LIMIT // 2
    own, run, neighbour = digests(
        reader(tmp_path / "job", 2 * rate // 3, group_rate=rate, seconds=30),
        reader(tmp_path / "alone", LIMIT, start=FIRST - 100),
        reader(tmp_path / "other", rate // 3, group_rate=rate, seconds=30, command="cat other"),
    )
    told = blame(own, [neighbour], [run])
    assert told.lower_limit is not None
    assert told.lower_limit.seconds == pytest.approx(10, rel=0.01)
    assert told.neighbours[0].lost.value == pytest.approx(10, rel=0.01)
    assert told.shares["lost_seconds"].sum() == pytest.approx(10, rel=0.01)


def test_other_requests_at_the_same_limit_are_no_lower_limit(tmp_path):
    """60 requests a second let through 60 MiB of who asks for 1 MiB, and less beside who asks for 16 KiB."""
    both = 30 * (LARGE + SMALL)
    own, run, neighbour = digests(
        reader(tmp_path / "job", 30 * LARGE, group_rate=both, requests=60, seconds=20),
        reader(tmp_path / "alone", 60 * LARGE, group_rate=60 * LARGE, requests=60, start=FIRST - 100),
        reader(tmp_path / "small", 30 * SMALL, group_rate=both, requests=60, seconds=20, command="grep"),
    )
    told = blame(own, [neighbour], [run])
    assert told.lower_limit is None
    assert not any("in runs alone it was" in note for note in told.notes)


@pytest.mark.parametrize(
    ("options", "of_group"), [({}, True), ({"group_rate": 10 * MIB}, False), ({"limited": "sdb"}, False)]
)
def test_what_the_group_sent_is_what_a_job_of_it_can_have_sent(tmp_path, options, of_group):
    (job,) = digests(reader(tmp_path / "job", LIMIT, disk_rate=3 * LIMIT, **options))
    ((name, _, amounts, _),) = counters_in(job, "read")
    assert name == ("n1\0sda in /users/anna" if of_group else "n1")
    assert amounts["sent"].to_list() == [(1 if of_group else 3) * LIMIT] * SECONDS


# At 60 requests a second: what a job that asks for 16 KiB at a time reads, and one that asks for a MiB.
SMALL, LARGE = 16 << 10, MIB


def test_at_a_limit_of_requests_small_files_cost_what_they_ask_for(tmp_path):
    """Half of the group's requests are a neighbour's that moves 6 % of the bytes."""
    alone = reader(tmp_path / "alone", 60 * LARGE, group_rate=60 * LARGE, requests=60, start=FIRST - 100)
    both = 30 * (LARGE + SMALL)
    job = reader(tmp_path / "job", 30 * LARGE, group_rate=both, requests=60, seconds=20)
    small = {"size": SMALL, "command": "grep -r x ."}
    storm = reader(tmp_path / "storm", 30 * SMALL, group_rate=both, requests=60, seconds=20, **small)
    own, run, neighbour = digests(job, alone, storm)
    told = blame(own, [neighbour], [run])
    assert told.lost is not None
    assert told.lost.value == pytest.approx(10, rel=0.02)
    assert [one.job for one in told.neighbours] == ["storm"]
    assert told.neighbours[0].lost.value == pytest.approx(10, rel=0.02)
    assert told.confidence == "high"


@pytest.mark.parametrize(("size", "of_others"), [(SMALL, SMALL), (LARGE, SMALL // 2)])
def test_few_bytes_without_a_profile_count_where_a_limit_of_requests_lets_few_through(tmp_path, size, of_others):
    """Half of the requests are nobody's. They are half of the bytes, 10 MiB, which would not be worth a word on a disk;
    or 1 % of them.
    """
    alone = reader(tmp_path / "alone", 60 * size, group_rate=60 * size, requests=60, start=FIRST - 100)
    job = reader(tmp_path / "job", 30 * size, group_rate=30 * (size + of_others), requests=60, seconds=20)
    own, run = digests(job, alone)
    told = blame(own, [], [run])
    assert [(one.job, one.lost.value) for one in told.neighbours] == [(None, pytest.approx(10, rel=0.02))]
    quiet = blame(run, [], [], [own])
    assert not quiet.is_claimed
    assert [one.is_taken for one in quiet.runs] == [False]  # beside somebody


@pytest.mark.parametrize(("others", "who"), [(30, [None]), (6, [])])
def test_few_bytes_without_a_profile_count_on_a_disk_that_is_as_slow(tmp_path, others, who):
    """The job reads 0.5 MiB a second, and whoever has no profile as much, or a fifth of that."""
    no_limit = {"at_limit": (0.0,)}
    alone = reader(tmp_path / "alone", 60 * SMALL, disk_rate=60 * SMALL, start=FIRST - 100, **no_limit)
    job = reader(tmp_path / "job", 30 * SMALL, disk_rate=(30 + others) * SMALL, seconds=20, **no_limit)
    own, run = digests(job, alone)
    told = blame(own, [], [run])
    assert told.lost.value == pytest.approx(10, rel=0.02)
    assert [one.job for one in told.neighbours] == who


def test_what_a_limit_of_requests_let_through_is_no_envelope(tmp_path):
    """The job reads 256 KiB at a time, 16 or 17 times a second, and alone it would read so 60 times."""
    group = {"requests": 60, "seconds": 20}
    rates = [16 << 18, 17 << 18, 16 << 18, 19 << 18]
    own, other = digests(
        reader(tmp_path / "job", 0, rates=rates, group_rates=[rate + 44 * 4096 for rate in rates], **group),
        reader(tmp_path / "other", 44 * 4096, group_rate=17 << 18, command="grep -r x .", **group),
    )
    told = blame(own, [other])
    assert told.baseline is None
    (envelope,) = [one for one in told.sources if one.source == "envelope"]
    assert envelope.refused == "requests were limited, and how many bytes they can be is not known"


def test_requests_of_two_neighbours_are_told_apart_by_the_slices_in_which_each_asked(tmp_path):
    """Each makes 20 requests a second while it is there: one of 16 KiB, in every other slice, the other one of a MiB,
    in two of three.
    """
    first = FIRST - FIRST % 6
    small, large = (20 * SMALL, 0), (20 * LARGE, 20 * LARGE, 0)
    left = [60 - 20 * bool(small[at % 2]) - 20 * bool(large[at % 3]) for at in range(6)]
    group = {"group_rate": 50 * LARGE, "requests": 60, "seconds": 24, "start": first}
    own, run, *others = digests(
        reader(tmp_path / "job", 0, rates=[count * LARGE for count in left], **group),
        reader(tmp_path / "alone", 60 * LARGE, group_rate=60 * LARGE, requests=60, start=FIRST - 100),
        reader(tmp_path / "small", 0, rates=small, command="grep -r x .", size=SMALL, **group),
        reader(tmp_path / "large", 0, rates=large, command="dd if=big", **group),
    )
    told = blame(own, others, [run])
    lost = {neighbour.job: neighbour.lost.value for neighbour in told.neighbours}
    assert lost == {"small": pytest.approx(12 * 20 / 60, rel=0.03), "large": pytest.approx(16 * 20 / 60, rel=0.03)}


@pytest.mark.parametrize(("other", "seconds"), [("/users/anna", 20), ("/users/ben", 10)])
def test_side_by_side_jobs_share_the_requests_of_their_group(tmp_path, other, seconds):
    """Each uses the limit up by itself, one with 1 % of the other's bytes; in groups of their own they do not meet."""
    alone = digests(
        reader(tmp_path / "small", 60 * SMALL, group_rate=60 * SMALL, requests=60),
        reader(tmp_path / "large", 60 * LARGE, group_rate=60 * LARGE, requests=60, start=FIRST + 99, group=other),
    )
    small, _ = predict([(one, 0.0) for one in alone]).jobs
    assert small.seconds.value == pytest.approx(seconds, rel=0.05)


@pytest.mark.parametrize("lumps", [(1.0,), (3.0, 0.0, 0.0)])
def test_requests_that_the_kernel_lets_through_in_lumps_take_their_time(tmp_path, lumps):
    alone = digests(
        *[
            reader(tmp_path / name, 60 * SMALL, group_rate=60 * SMALL, requests=60, seconds=12, at_limit=lumps)
            for name in ("one", "two")
        ]
    )
    assert [job.seconds.value for job in predict([(one, 0.0) for one in alone]).jobs] == [
        pytest.approx(24, rel=0.1)
    ] * 2


def test_what_the_kernel_lets_through_at_once_was_under_way_before(tmp_path):
    """Requests of 1.5 s at the limit, each counted when it is over."""
    lumps = {"group_rates": (0, LIMIT // 2 * 3, 0, LIMIT // 2 * 3, LIMIT), "at_limit": (0.0, 1.5, 0.0, 1.5, 1.0)}
    (job,) = digests(reader(tmp_path / "job", 4 * LIMIT // 5, **lumps))
    ((_, _, amounts, _),) = counters_in(job, "read")
    evenly = [LIMIT / 2, LIMIT, LIMIT / 2, LIMIT, LIMIT] * 2
    assert amounts.sort("slice")["sent"].to_list() == pytest.approx(evenly)
    (storage,) = describe_all(job.mounts["storage"].to_list(), [job])
    counter = counter_of(storage, job)
    assert counter is not None
    assert counted_rows(counter, job, NS)["read_bytes"].to_list() == pytest.approx(evenly)


@pytest.mark.parametrize(("group", "source"), [("/users/ben", "standalone runs"), ("/users/anna", None)])
def test_a_run_beside_a_job_of_another_group_is_one_alone(tmp_path, group, source):
    """Found by itself, from files and from a catalog."""
    jobs = tmp_path / "jobs"
    own = reader(jobs / "job", LIMIT, start=FIRST + 100)
    reader(jobs / "run", LIMIT)
    reader(jobs / "other", LIMIT, group=group, command="cat other")
    catalog = catalog_of(tmp_path / "catalog", jobs)
    of_files, of_catalog = case_of(own).result(), kept_case(catalog, find_job(catalog, "job"))[0].result()
    for told in (of_files, of_catalog):
        assert (told.baseline.source if told.baseline else None) == source
        assert [one.job for one in told.runs if one.is_taken] == (["run"] if source else [])
    assert ("run" in [one.job for one in read_with_runs([own], [])[2][0]]) == (source is not None)


@pytest.mark.parametrize(("own", "is_somebodys"), [(1 * MIB, True), (5 * MIB, False)])
def test_a_journal_is_known_to_a_factor_of_two(own, is_somebodys):
    """A disk wrote 10 MiB, and profiles have 2 of them: without a journal's own MiB, 7 MiB are left, or 3."""
    both = pl.DataFrame({"write_bytes": [10 * MIB], "write_bytes_seen": [2 * MIB]})
    assert (both.select(excess("write_bytes", own, MIB)).item() > 0) == is_somebodys


def on_slow_disk(tmp_path: Path) -> list[Digest]:
    """A job that makes 30 of the 60 requests a second that a disk serves, its run alone, and who makes the other 30."""
    disk = {"at_limit": (0.0,), "disk_requests": 60}
    both = {"disk_rate": 30 * (LARGE + SMALL), "seconds": 20, **disk}
    return digests(
        reader(tmp_path / "job", 30 * LARGE, **both),
        reader(tmp_path / "alone", 60 * LARGE, disk_rate=60 * LARGE, start=FIRST - 100, **disk),
        reader(tmp_path / "storm", 30 * SMALL, size=SMALL, command="grep -r x .", **both),
    )


@pytest.mark.parametrize("has_profile", [True, False])
def test_a_disk_that_serves_so_many_requests_and_no_more_is_shared_by_requests(tmp_path, has_profile):
    own, run, neighbour = on_slow_disk(tmp_path)
    told = blame(own, [neighbour] if has_profile else [], [run])
    lost = [(one.job, one.lost.value) for one in told.neighbours]
    assert lost == [("storm" if has_profile else None, pytest.approx(10, rel=0.02))]
    assert told.confidence == "high"


def test_a_run_alone_without_counts_made_some_requests_nevertheless(tmp_path):
    own, _, neighbour = on_slow_disk(tmp_path)
    disk = {"at_limit": (0.0,), "disk_rate": 60 * LARGE}
    (run,) = digests(reader(tmp_path / "uncounted", 60 * LARGE, start=FIRST - 100, **disk))
    before = reader(tmp_path / "b", 60 * SMALL, size=SMALL, start=FIRST - 50, disk_requests=60, **disk)
    told = blame(own, [neighbour, *digests(before)], [run])
    assert [one.job for one in told.neighbours] == ["storm"]


def test_counts_that_end_before_the_neighbour_comes_are_no_answer(tmp_path):
    """The collector of the job ended after half of its time: the other half is not known, and there is no crash."""
    own, run, neighbour = on_slow_disk(tmp_path)
    ended = own.node_slices.filter(pl.col("slice") < FIRST + SECONDS)
    assert len(ended) < len(own.node_slices)
    own.__dict__["node_slices"] = ended
    refused = {one.source: one.refused for one in blame(own, [neighbour], [run]).sources}
    assert [refused[source] for source in ("shared slices", "envelope")] == [BY_REQUESTS] * 2


def test_without_a_run_alone_the_share_of_a_disk_goes_by_requests_too(tmp_path):
    """What the neighbour asked for without the job says how many of both one's requests are the job's."""
    own, *_ = on_slow_disk(tmp_path)
    before, there = FIRST - 10, FIRST % 30  # what it did in which slice goes by the slice's number
    rates = [(60 if (at - there) % 30 >= 20 else 30) * SMALL for at in range(30)]
    disk = {"at_limit": (0.0,), "disk_requests": 60, "disk_rate": 60 * SMALL}
    (neighbour,) = digests(reader(tmp_path / "one", 0, size=SMALL, rates=rates, start=before, seconds=30, **disk))
    told = blame(own, [neighbour])
    share = next(one for one in told.sources if one.source == "shared slices")
    assert share.seconds.value == pytest.approx(10, rel=0.1)


def test_a_disk_whose_bytes_are_as_many_as_its_requests_is_shared_by_bytes(tmp_path):
    own, run, neighbour = on_slow_disk(tmp_path)
    assert blame(own, [neighbour], [run]).neighbours  # else this test shows nothing
    disk = {"at_limit": (0.0,), "disk_requests": 60, "disk_rate": 60 * LARGE}
    own, other = digests(
        reader(tmp_path / "one", 30 * LARGE, seconds=20, **disk),
        reader(tmp_path / "two", 30 * LARGE, seconds=20, command="dd", **disk),
    )
    refused = {one.source: one.refused for one in blame(own, [other]).sources}
    assert "requests" not in refused["envelope"]


def test_of_syncs_of_few_bytes_the_disk_s_bytes_count_and_not_those_of_calls(tmp_path):
    """A record of 512 B costs the disk as much as the job's page: a block of data, and a journal."""
    a_second = 600 << 10  # that the disk writes, however many records these are

    def syncing(name: str, records: int, size: int, seconds: int, start: int = FIRST) -> Path:
        number = 1 + sum(map(ord, name))
        process = {"process": number, "host": "n1", "slice_ns": NS, "command": "fsync", "program": f"/bin/{size}"}
        process |= {"start_ns": NS * start, "end_ns": NS * (start + seconds)}
        did = {"process": number, "threads": 1, "sync_ops": records, "sync_ns": NS, "write_ops": records}
        slices = [did | {"slice": at, "write_bytes": records * size} for at in range(start, start + seconds)]
        collected = of_disk(5000 + number, range(start, start + seconds), lambda _: {"write_bytes": a_second})
        mounts = [{"process": number, "type": "ext4", "source": "/dev/sda1"}]
        return build_profile(tmp_path / name, [process], slices, mounts, collected=collected)

    own, run, other = digests(
        syncing("job", 10, 4096, 20), syncing("alone", 20, 4096, 10, FIRST - 100), syncing("other", 20, 512, 20)
    )
    told = blame(own, [other], [run])
    assert told.lost.value == pytest.approx(10, rel=0.02)
    assert [(one.job, one.lost.value) for one in told.neighbours] == [("other", pytest.approx(10, rel=0.02))]


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("/dev/sda1", "/dev/sda3", True),
        ("/dev/nvme0n1p1", "/dev/nvme0n1p2", True),
        ("/dev/sda1", "/dev/sdb1", False),
        ("/dev/loop0", "/dev/loop1", False),
        ("/dev/md0", "/dev/md1", False),
        ("/dev/mapper/vg-home1", "/dev/mapper/vg-home2", False),  # of which nobody told the disk
    ],
)
def test_partitions_of_one_disk_are_one_storage(one, other, is_one):
    """Whoever uses one of them takes the other one's time, and the kernel counts the disk."""
    numbers = {storage_number(*contended(kind, source, "n1", "")) for kind, source in (("ext4", one), ("xfs", other))}
    assert (len(numbers) == 1) == is_one
    counted = pl.DataFrame({"device": [disk_of(one).rpartition("/")[2]]})
    assert devices_of("disk", one, counted, []) == [counted["device"].to_list()]
    assert (devices_of("disk", other, counted, []) == [counted["device"].to_list()]) == is_one


@pytest.mark.parametrize(("beneath", "is_one"), [("sda2", True), ("sda", True), ("md0", False), ("", False)])
def test_volumes_of_one_disk_are_one_storage_with_its_partitions(beneath, is_one):
    mounts = pl.DataFrame(
        [
            ("p", 2, "file", "ext4", "/dev/mapper/vg-home", "/home", beneath),
            ("p", 3, "file", "xfs", "/dev/mapper/vg-var", "/var", beneath),
            ("p", 4, "file", "ext4", "/dev/sda1", "/boot", ""),
            ("p", 5, "file", "gfs2", "/dev/mapper/vg-shared", "/shared", beneath),  # of several nodes
        ],
        schema=["process", "mount", "object", "type", "source", "point", "address"],
        orient="row",
    )
    found = mounts_with_storage(mounts, pl.DataFrame({"process": ["p"], "node": ["n1"]}))
    home, var, boot, _ = found.sort("mount")["storage"]
    assert found.sort("mount").select("source", "node").row(3) == ("/dev/mapper/vg-shared", "")
    assert (home == var) == (beneath != "")
    assert (home == boot) == is_one
    source = found.sort("mount")["source"][0]
    assert source == (f"/dev/{beneath}" if beneath else "/dev/mapper/vg-home")
    assert devices_of("disk", source, pl.DataFrame({"device": ["sda"]}), []) == ([["sda"]] if is_one else [])


@pytest.mark.parametrize("fetched", [0, 20 * 30 * SMALL])
def test_reads_that_memory_answers_are_no_requests(tmp_path, fetched):
    """Half of a disk's requests are the storm's. Somebody else reads the line that it has just written, again and
    again, with all calls on names that this takes; but the kernel fetched nothing for it, or as much as for the storm.
    """
    own, run, storm = on_slow_disk(tmp_path)
    disk = {"at_limit": (0.0,), "disk_requests": 60, "seconds": 20}
    (tiny,) = digests(reader(tmp_path / "tiny", 150, size=75, fetched=fetched, on_names=10, **disk))
    lost = {one.job: one.lost.value for one in blame(own, [storm, tiny], [run]).neighbours}
    assert lost.get("tiny", 0.0) == pytest.approx(0.77 if fetched else 0, abs=0.05)
    assert lost["storm"] == pytest.approx(10 - lost.get("tiny", 0.0), rel=0.02), "and nothing is nobody's"


def writer(directory: Path, in_group: int, on_disk: int) -> Path:
    """A job that writes 10 MiB/s into a cache, and never syncs. in_group, on_disk: what was sent by slice."""
    number = 1 + sum(map(ord, directory.name))
    process = {"process": number, "host": "n1", "program": "/usr/bin/split", "slice_ns": NS, "command": directory.name}
    process |= {"start_ns": NS * FIRST, "end_ns": NS * (FIRST + SECONDS)}
    slices, run = range(FIRST, FIRST + SECONDS), {"process": 5000 + number}
    did = [{"process": number, "slice": at, "write_bytes": 10 * MIB, "write_ns": NS * 4 // 5} for at in slices]
    collected = of_disk(run["process"], slices, lambda _: {"write_bytes": on_disk, "write_ops": 40, "write_ns": NS})
    limit = {"device": 1, "kind": "limit", "name": "sda in /users/anna", "source": "cgroup v1"}
    collected["node_devices"] += [run | limit]
    group = {"device": 1, "write_bytes": in_group, "at_limit_ns": NS // 4}
    collected["node_limits"] = [run | group | {"slice": at} for at in slices]
    return build_profile(
        directory,
        [process],
        did,
        [{"process": number, "type": "ext4", "source": "/dev/sda1"}],
        collected=collected,
    )


@pytest.mark.parametrize(("on_disk", "others"), [(20 * MIB, 0), (40 * MIB, 20 * MIB * SECONDS)])
def test_what_jobs_wrote_and_the_kernel_sent_past_their_group_is_nobody_elses(tmp_path, on_disk, others):
    """cgroup v1 holds the root responsible for what the cache writes back by itself."""
    own, other = digests(*(writer(tmp_path / name, 12 * MIB, on_disk) for name in ("job", "other")))
    (traffic,) = blame(own, [other]).traffic
    assert traffic.counted - traffic.profiled == pytest.approx(others, abs=MIB)
