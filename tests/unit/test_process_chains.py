"""Processes that ran one after another count as one."""

from dataclasses import replace
from pathlib import Path

import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.to_runtime import first_of_chain, in_calls, process_chains
from slicewise.analysis.site.worst import worst
from slicewise.catalog.kept import key_text
from slicewise.digest.digest import read_digest
from support.blame_scenarios import scenarios
from support.blame_trials import NOTHING, STANDALONE, told
from support.catalogs import catalog_of
from support.swz import build_profile

MS, SECOND = 1_000_000, 1_000_000_000


@pytest.mark.parametrize(
    ("lifetimes", "first"),
    [
        ([], {}),
        ([(1, 0, 100 * MS), (2, 0, 100 * MS)], {}),
        ([(3, 200 * MS, 300 * MS), (1, 0, 100 * MS), (2, 100 * MS, 190 * MS)], {2: 1, 3: 1}),
        ([(1, 0, 50 * MS), (2, 0, 90 * MS), (3, 95 * MS, 100 * MS), (4, 50 * MS, 60 * MS)], {4: 1, 3: 2}),
        ([(1, 0, 100 * MS), (2, 60 * MS, 200 * MS), (3, 100 * MS, 200 * MS)], {3: 1}),
    ],
)
def test_who_goes_on_for_whom(lifetimes, first):
    assert first_of_chain([(*one, "x") for one in lifetimes]) == first


def test_a_program_of_a_pipeline_goes_on_for_itself():
    """`awk | sqlite3`, three times: awk begins and ends first. Half of sqlite3's time was told to be another's."""
    begins = [(at, at * SECOND) for at in (1, 2, 3)]
    first = [(at, begin, begin + 900 * MS, "awk") for at, begin in begins]
    then = [(10 + at, begin + 5 * MS, begin + SECOND, "sqlite3") for at, begin in begins]
    assert first_of_chain([*first, *then]) == {2: 1, 3: 1, 12: 11, 13: 11}


def test_what_follows_a_pipeline_goes_on_for_the_one_that_was_in_calls():
    """`tar | gzip; sync`: gzip ends last. The sync's 12.7 s were told to be outside of calls."""
    lifetimes = [(1, 0, 5000 * MS, "tar"), (2, 1, 5002 * MS, "gzip"), (3, 5004 * MS, 9000 * MS, "sync")]
    assert first_of_chain(lifetimes, {1: 4.2, 2: 0.02, 3: 3.9}) == {3: 1}
    apart = [(1, 0, 4900 * MS, "tar"), *lifetimes[1:]]
    assert first_of_chain(apart, {1: 4.2, 2: 0.02, 3: 3.9}) == {3: 2}


def test_clocks_that_are_read_one_after_the_other_are_no_overlap():
    assert first_of_chain([(1, 0, 10 * MS, "x"), (2, 10 * MS - 900_000, 20 * MS, "y")]) == {2: 1}
    assert first_of_chain([(1, 0, 10 * MS, "x"), (2, 8 * MS, 20 * MS, "x")]) == {}


@pytest.mark.parametrize("own_seconds", [0.0, 0.03, 0.06, 0.6])
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_parent_of_workers_is_a_chain_with_one_of_them(tmp_path, own_seconds, is_killed):
    """However long its own few calls took, and where its workers were killed at its end, whose slice ends after it."""
    counted = {"read_ops": 1, "read_bytes": 1 << 26}
    slices = [counted | {"process": 1, "slice": 1000, "read_ns": round(own_seconds * SECOND)}]
    slices += [
        counted | {"process": worker, "slice": 1000 + at, "read_ns": SECOND * 9 // 10}
        for worker in (2, 3)
        for at in range(2, 20)
    ]
    ended = {"ending": "killed", "end_ns": 1020 * SECOND} if is_killed else {"end_ns": 1019 * SECOND + 1}
    workers = [{"process": at, "slice_ns": SECOND, "start_ns": 1001 * SECOND} | ended for at in (2, 3)]
    parent = {"process": 1, "slice_ns": SECOND, "start_ns": 1000 * SECOND, "end_ns": 1019 * SECOND + SECOND // 2}
    place = build_profile(tmp_path / "job", [parent, *workers], slices)
    assert process_chains(read_digest(place), SECOND).calls["process"].n_unique() == 2


@pytest.mark.parametrize(("of_job", "of_run"), [(0.3, 0.001), (0.001, 0.3)])
def test_who_hardly_makes_calls_makes_no_run_one_of_another_size(tmp_path, of_job, of_run):
    """A copy's second process: of one run it counts with the first one, of the next it may not."""
    jobs = []
    for number, (name, seconds) in enumerate((("job", of_job), ("run", of_run))):
        begin, key = 1000 - 100 * number, 10 * number
        counted = {"read_ops": 1, "read_bytes": 1 << 26}
        slices = [
            counted | {"process": key + place, "slice": begin + at, "read_ns": round(its * SECOND)}
            for at in range(20)
            for place, its in ((1, 0.9), (2, seconds))
        ]
        lived = {
            "slice_ns": SECOND,
            "start_ns": begin * SECOND,
            "end_ns": (begin + 20) * SECOND,
            "command": "rsync a b",
        }
        child = {"process": key + 2, "start_ns": begin * SECOND + MS, "end_ns": (begin + 20) * SECOND - MS}
        processes = [lived | {"process": key + 1}, lived | child]
        jobs.append(read_digest(build_profile(tmp_path / name, processes, slices)))
    assert [len(process_chains(one, SECOND)) for one in jobs] == ([2, 1] if of_job > of_run else [1, 2])
    found = blame(jobs[0], [], [], jobs[1:])
    assert found.baseline is not None
    assert found.baseline.source == "standalone runs"


@pytest.mark.parametrize("given", [NOTHING, STANDALONE])
@pytest.mark.parametrize("name", ["a script of many programs, for a while", "pairs of programs, for a while"])
def test_what_many_programs_lost_is_what_one_would_have(name, given):
    scenario = next(one for one in scenarios() if one.name == name)
    found = told(scenario, 4, given)
    assert found.waits == "strands"
    assert found.io_processes == scenario.job.processes
    assert found.lost.value == pytest.approx(scenario.lost, rel=0.1)
    one = told(replace(scenario, job=replace(scenario.job, in_turn=1)), 4, given)
    assert found.lost.value == pytest.approx(one.lost.value, rel=0.01)
    assert (found.confidence, found.is_claimed) == (one.confidence, one.is_claimed)


def test_many_programs_in_a_catalog_asked_at_once(tmp_path: Path):
    scenario = next(one for one in scenarios() if one.name == "a script of many programs, for a while")
    scenario.profiles(tmp_path / "profiles", 4)
    catalog = catalog_of(tmp_path / "catalog", tmp_path / "profiles")
    (key,) = catalog.scan("jobs").collect().filter(job=scenario.job.name)["key"]
    (lost,) = worst(catalog, 0, 1 << 62).rows.filter(key=key_text(key))["lost_seconds"]
    assert lost == pytest.approx(scenario.lost, rel=0.1)


@pytest.mark.parametrize("handed_on", [1.0, 0.0])
def test_who_hands_on_what_it_reads_is_one_with_who_writes_it(tmp_path, handed_on):
    """`rsync --fsync` beside readers: the one waits while the other does. 9.3 of 17.0 s were told to be lost."""
    mib = 1 << 20
    slices = [{"process": 1, "slice": 1000 + at, "read_ns": SECOND * 6 // 10, "read_bytes": mib} for at in range(10)]
    slices += [
        {"process": 2, "slice": 1000 + at, "write_bytes": mib, "sync_ops": 9, "sync_ns": round(seconds * SECOND)}
        for at, seconds in enumerate([0.3] * 5 + [0.9] * 5)
    ]
    passed = round(handed_on * 10 * mib)
    lived = {"slice_ns": SECOND, "start_ns": 1000 * SECOND, "end_ns": 1010 * SECOND}
    giver = lived | {"process": 1, "all_read_bytes": 10 * mib, "all_write_bytes": passed}
    taker = lived | {"process": 2, "all_read_bytes": passed, "all_write_bytes": 10 * mib}
    found = process_chains(read_digest(build_profile(tmp_path / "job", [giver, taker], slices)), SECOND)
    assert len(found) == (1 if handed_on else 2)
    assert found.calls.select(in_calls().sum()).item() == pytest.approx(5 * 0.9 + 5 * 1.0 if handed_on else 12)
