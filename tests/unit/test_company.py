"""Who had company: by activity on a storage, to the nanosecond."""

import ast
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import slicewise
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.runs.matching import company
from slicewise.digest.company import MOST_RUNS, as_many, company_of, in_company, runs_like
from slicewise.digest.digest import read_digest
from slicewise.report.blame import blame_words
from support.blame_trials import digests
from support.runs import write_run, wrote
from support.swz import build_profile, of_disk

ROOT = Path(slicewise.__file__).parent
NS = 1_000_000_000
MIB, KIB = 1 << 20, 1 << 10
FIRST, SECONDS = 1_700_000_000, 30
COMMITS = 200  # a second


@pytest.mark.parametrize(("begin", "expected"), [(2.5, 0), (2.4, 1)])
def test_jobs_one_after_the_other_inside_a_slice_had_no_company(tmp_path, begin, expected):
    first = read_digest(write_run(tmp_path / "first", 2.5, [{at: wrote(10, 0.3) for at in range(3)}]))
    rows = {at: wrote(10, 0.3) for at in (2, 3, 4)}
    second = read_digest(write_run(tmp_path / "second", 5, [rows], spans=[(begin, 5.0)]))
    assert len(company(first, [second])) == len(company(second, [first])) == expected


def test_many_jobs_at_once_are_told_what_pairs_are():
    random = np.random.default_rng(5)
    for _ in range(50):
        rows = []
        for job in range(12):
            for storage in random.permutation(4)[:2].tolist():
                cuts = np.sort(random.choice(400, 4, replace=False)).tolist()
                rows += [(job, storage, cuts[0], cuts[1]), (job, storage, cuts[2], cuts[3])]
        expected = {
            one[0]
            for one in rows
            for other in rows
            if one[0] != other[0] and one[1] == other[1] and one[2] < other[3] and other[2] < one[3]
        }
        frame = pl.DataFrame(rows, schema=["job", "storage", "begin_ns", "end_ns"], orient="row")
        assert in_company(frame).to_list() == sorted(expected)
        beside_one = {
            other[0]
            for one in rows
            for other in rows
            if one[0] == 0 != other[0] and one[1] == other[1] and one[2] < other[3] and other[2] < one[3]
        }
        is_one = pl.col("job") == 0
        assert company_of(frame.filter(is_one), frame.filter(~is_one)).to_list() == sorted(beside_one)


def test_runs_are_taken_by_storage_then_by_command_then_by_time_and_only_of_the_same_work():
    def run(name, processes=2, times=1, shared=1, start_ns=100, command="do"):
        did = {"read_bytes": 0, "read_ops": 0, "write_bytes": times << 30, "write_ops": times << 10}
        return {"name": name, "processes": processes, "shared": shared, "start_ns": start_ns, "command": command, **did}

    def names(*runs, **options):
        return [one["name"] for one in runs_like(run("own"), runs, **options)]

    near, far = run("near", start_ns=99), run("far", start_ns=300)
    elsewhere, both = run("elsewhere", shared=0), run("both", shared=2, start_ns=5)
    others = [run("wider", 4, 2), run("larger", times=8)]
    assert names(*others, elsewhere, far, near, both) == ["both", "near", "far", "elsewhere", "wider"]
    asked_otherwise = run("asked otherwise", command="do more")
    assert names(asked_otherwise, far, elsewhere) == ["far", "asked otherwise", "elsewhere"]
    assert names(near, far, is_quiet=lambda one: one is far) == ["far"]
    assert names(*[near] * (MOST_RUNS + 1)) == ["near"] * MOST_RUNS


@pytest.mark.parametrize(("processes", "is_as_many"), [(36, True), (37, True), (40, False)])
def test_one_brief_process_more_or_fewer_is_no_other_size(processes, is_as_many):
    own = {"processes": 36, "shared": 1, "start_ns": 0, "command": "do", "read_bytes": 0, "read_ops": 0}
    own |= {"write_bytes": 1 << 30, "write_ops": 1 << 10}
    assert as_many(36, processes) == is_as_many
    several = [own | {"processes": 40, "name": "wider"}, own | {"processes": processes, "name": "like"}]
    assert runs_like(own, several)[0]["name"] == ("like" if is_as_many else "wider")


def test_the_same_work_and_the_order_of_runs_are_decided_in_one_module():
    made = {"as_many", "is_same_work", "runs_like", "in_company", "company_of", "while_alive", "later_copies"}
    made |= {"groups_in_time"}
    places = {
        (node.name, path.relative_to(ROOT).as_posix())
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name in made
    }
    assert places == {(name, "digest/company.py") for name in made}


def database(
    directory: Path,
    journal_a_commit: int = 12 * KIB,
    beside: int = 0,
    start: int = FIRST,
    past_cache: int | None = None,
) -> Path:
    """A job on ext4 that commits so often, 4 KiB each, with what its disk wrote: its bytes, its journal, and so many
    bytes a second of others. past_cache: its writes are no syncs', but to a file that was opened so.
    """
    process = {"process": 1 + start % 1000, "host": "n1", "program": "/usr/bin/sqlite3", "slice_ns": NS}
    process |= {"start_ns": NS * start, "end_ns": NS * (start + SECONDS)}
    own = {"write_bytes": 4 * KIB * COMMITS, "write_ops": COMMITS, "write_ns": NS // 20, "sync_ops": COMMITS}
    own |= {"sync_ns": NS // 2, "threads": 1, "process": process["process"]}
    files = []
    if past_cache is not None:
        own |= {"sync_ops": 0, "sync_ns": 0, "write_ns": NS // 2}
        sums = {name: SECONDS * own[name] for name in ("write_ops", "write_bytes", "write_ns")}
        files = [{"process": process["process"], "path": "/a", "past_cache": past_cache, **sums}]
    wrote = own["write_bytes"] + journal_a_commit * COMMITS + beside
    slices = range(start, start + SECONDS)
    collected = of_disk(5000 + start % 1000, slices, lambda _: {"write_bytes": wrote}, "vdb")
    rows = [own | {"slice": at} for at in slices]
    mounts = [{"process": process["process"], "type": "ext4", "source": "/dev/vdb"}]
    return build_profile(directory, [process], rows, mounts, files, collected=collected)


def told_of(*jobs: Path) -> Blame:
    own, *runs = digests(*jobs)
    return blame(own, [], runs)


def test_a_database_that_is_alone_is_not_told_to_run_alone(tmp_path):
    """Its journal is three times its bytes."""
    told = told_of(database(tmp_path / "job"))
    (traffic,) = told.traffic
    assert traffic.counted == traffic.profiled == 4 * KIB * COMMITS * SECONDS
    assert blame_words.headline(told).startswith("Nobody is known to have slowed job down")


@pytest.mark.parametrize(("past_cache", "is_its_own"), [(2, True), (1, False)], ids=["O_DSYNC", "O_DIRECT"])
def test_a_journal_goes_with_writes_that_are_syncs(tmp_path, past_cache, is_its_own):
    (traffic,) = told_of(database(tmp_path / "job", past_cache=past_cache)).traffic
    assert (traffic.counted == traffic.profiled) == is_its_own


def test_who_wrote_beside_a_database_is_still_seen(tmp_path):
    told = told_of(database(tmp_path / "job", beside=20 * MIB))
    (traffic,) = told.traffic
    assert traffic.counted is not None
    # The journal may be as large as 16 KiB a commit: what it was less than that hides as much of the others.
    others = traffic.counted - traffic.profiled
    assert others == pytest.approx(20 * MIB * SECONDS, rel=0.05)


def test_a_run_alone_is_not_taken_for_one_in_company(tmp_path):
    told = told_of(database(tmp_path / "job"), database(tmp_path / "alone", start=FIRST - 500))
    assert [run.is_taken for run in told.runs] == [True]
    assert not told.is_claimed
    assert not told.neighbours
