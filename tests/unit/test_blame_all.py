"""All jobs of a directory: who lost how much to whom."""

from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.blame.case import kept_case
from slicewise.analysis.calls import Rows
from slicewise.analysis.site import at_once
from slicewise.analysis.site.at_once import NeighbourhoodOfMany, neighbourhood_of_jobs
from slicewise.catalog.neighbours import Neighbourhood
from slicewise.catalog.store import Catalog
from slicewise.estimate import Estimate
from slicewise.report.blame import all_words
from support.catalogs import catalog_of
from support.command_line import answer_of, json_of, refusal_of
from support.jobs import write_competing_jobs, write_job
from support.site_days import write_days
from support.swz import build_profile

LAST, MANY = 1 << 62, 1000
TOLD = ("lost", "io_lost", "alone", "confidence", "is_claimed", "io_seconds", "unexplained_seconds", "sources")


def told(job, lost, *neighbours, is_claimed=True, runtime=30.0, outside=None):
    """What is said of a job. neighbours: names and seconds. outside: seconds that it lost outside of I/O calls."""
    near = [
        SimpleNamespace(job=name, program="", lost=Estimate(cost, cost, cost, ""), kinds={})
        for name, cost in neighbours
    ]
    return SimpleNamespace(
        job=SimpleNamespace(job=job, program="sim"),
        lost=None if lost is None else Estimate(lost, lost, lost, ""),
        alone=None,
        is_claimed=is_claimed and lost is not None,
        neighbours=near,
        confidence="high",
        runtime_seconds=runtime,
        outside=None if outside is None else SimpleNamespace(seconds=outside),
        unknown_because="no run alone" if lost is None else "",
        lower_limit=None,
    )


ALL = {
    "a": told("a", 3.0, ("b", 3.0)), "b": told("b", 12.0, ("a", 9.0), ("c", 3.0)), "c": told("c", None),
    "d": told("d", 0.1, ("a", 0.1), is_claimed=False),
}  # fmt: skip


def test_who_lost_most_comes_first_and_who_is_unknown_last():
    ordered = all_words.worst_first(ALL)
    assert [name for name, _ in ordered] == ["b", "a", "d", "c"]
    assert all_words.sentence(ordered, 2) == (
        "Of 4 jobs beside others (2 more had no company) b lost most: 12.0 s, most of it while a was active."
    )


@pytest.mark.parametrize(
    ("cost", "low", "said", "whom"),
    [
        (9.0, 5.0, ", most of it while a was active.", "a (9.00 s)"),
        (4.0, 2.0, ", a part of it while a was active.", "a (4.00 s)"),
        (9.0, -1.0, "lost most: 12.0 s.", "a (perhaps 9.00 s)"),
    ],
)
def test_what_a_neighbour_cost_is_told_as_surely_as_it_is_known(cost, low, said, whom):
    worst = told("b", 12.0, ("a", cost))
    worst.neighbours[0].lost = Estimate(cost, low, 18.0, "")
    ordered = all_words.worst_first({"b": worst})
    assert all_words.sentence(ordered, 0).endswith(said)
    assert all_words.losses_table(ordered).rows[0][5].text == whom


def test_what_was_lost_outside_of_calls_counts_and_has_a_column():
    """A job beside busy loops had company on no file system."""
    ordered = all_words.worst_first(ALL | {"hog": told("hog", 0.4, outside=15.0)})
    assert ordered[0][0] == "hog"
    assert all_words.sentence(ordered, 0).endswith("hog lost most: 15.4 s, most of it outside of I/O calls.")
    table = all_words.losses_table(ordered)
    assert [cell.text for cell in table.rows[0]][3:5] == ["400 ms", "15.0"]


def test_the_matrix_has_a_row_for_who_lost_and_a_column_for_who_cost():
    table = all_words.matrix(all_words.worst_first(ALL))
    assert [column.heading for column in table.columns] == ["lost to", "a", "b", "c"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["b", "9.00", "-", "3.00"],
        ["a", "-", "3.00", "-"],
        ["all", "9.00", "3.00", "3.00"],
    ]


def test_nobody_lost_and_nobody_was_there():
    assert all_words.sentence([], 3) == "No two of these jobs used a file system at the same time."
    quiet = all_words.worst_first({"d": ALL["d"], "c": ALL["c"]})
    assert all_words.sentence(quiet, 0) == (
        "None of 2 jobs is known to have lost time to another; of 1 it is not known."
    )
    assert all_words.matrix(quiet) is None


def test_the_command(tmp_path):
    for number, name in enumerate(("one", "two"), 1):
        slices = [
            {"process": number, "mount": 1, "layer": "posix", "slice": place, "write_bytes": 1 << 20, "write_ops": 1,
             "write_ns": 900_000_000}
            for place in range(10, 20)
        ]  # fmt: skip
        build_profile(
            tmp_path / "jobs" / name,
            [{"process": number, "host": "n", "start_ns": 10 * 10**9, "end_ns": 20 * 10**9, "slice_ns": 10**9}],
            slices,
        )
    done = answer_of("blame", "--all", tmp_path / "jobs")
    assert "one" in done
    found = json_of("blame", "--all", tmp_path / "jobs")
    assert {job["job"] for job in found["jobs"]} == {"one", "two"}


def test_more_than_a_directory_is_refused(tmp_path):
    done = refusal_of("blame", "--all", tmp_path, tmp_path)
    assert "--all takes one directory" in done


@pytest.fixture(scope="module")
def competing(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Two jobs that cost each other time, and quiet runs of the smaller one."""
    directory = tmp_path_factory.mktemp("jobs")
    write_competing_jobs(directory)
    for number in (1, 2):
        rates = {range(-400 * number, -400 * number + 40): 102.0}
        write_job(directory / f"4800{number}", 12, 12, rates, first_node=6, program="/opt/postproc")
    return catalog_of(tmp_path_factory.mktemp("catalog") / "site", directory)


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A synthetic day of jobs of one and two processes, and a few of the next day."""
    return write_days(tmp_path_factory.mktemp("days") / "site", days=2, jobs=60, processes=2)


@pytest.mark.parametrize("name", ["competing", "synthetic"])
def test_each_job_is_told_as_it_is_by_itself(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = request.getfixturevalue(name)
    monkeypatch.setattr(at_once, "RECORDS_AT_ONCE", 1000)
    many, rows = neighbourhood_of_jobs(catalog, 0, LAST, MANY)
    assert isinstance(many, NeighbourhoodOfMany)
    keys = catalog.scan("jobs").select(pl.col("key").sort()).collect()["key"].to_list()
    claimed = 0
    for key in keys[:: 1 if name == "competing" else 16]:
        (job,) = many.jobs_of_keys([key], 0, LAST)
        assert [one.key for one in many.neighbours_of(job)] == [
            one.key for one in Neighbourhood(catalog).neighbours_of(job)
        ]
        assert [one.key for one in many.quiet_runs(job)] == [one.key for one in Neighbourhood(catalog).quiet_runs(job)]
        case, _ = kept_case(catalog, job, around=many)
        together, alone = case.losses(rows), kept_case(catalog, job)[0].result()
        if together is None:
            assert (alone.lost, alone.is_claimed, alone.confidence) == (None, False, "unknown")
            continue
        for what in TOLD:
            assert getattr(together, what) == getattr(alone, what), what
        assert together.shares.equals(alone.shares)
        assert together.slices.equals(alone.slices)
        costs = [[(one.job, one.program, one.lost, one.kinds) for one in told.neighbours] for told in (together, alone)]
        assert costs[0] == costs[1]
        claimed += together.is_claimed
    assert (claimed >= 1) == (name == "competing")


def test_too_many_jobs_are_asked_one_by_one(synthetic: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_once, "MOST_RECORDS", 10)
    around, rows = neighbourhood_of_jobs(synthetic, 0, LAST, MANY)
    assert (type(around), type(rows)) == (Neighbourhood, Rows)


def test_few_jobs_are_asked_one_by_one(synthetic: Catalog) -> None:
    around, rows = neighbourhood_of_jobs(synthetic, 0, LAST, 2)
    assert (type(around), type(rows)) == (Neighbourhood, Rows)
