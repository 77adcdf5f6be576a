"""All jobs of a directory: who lost how much to whom."""

import json
from types import SimpleNamespace

from slicewise.estimate import Estimate
from slicewise.report.blame import all_words
from support.command_line import slicewise_command
from support.swz import build_profile


def told(job, lost, *neighbours, is_claimed=True, runtime=30.0):
    """What is said of a job. neighbours: names and seconds."""
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
        unknown_because="no run alone" if lost is None else "",
    )


ALL = {
    "a": told("a", 3.0, ("b", 3.0)),
    "b": told("b", 12.0, ("a", 9.0), ("c", 3.0)),
    "c": told("c", None),
    "d": told("d", 0.1, ("a", 0.1), is_claimed=False),
}


def test_who_lost_most_comes_first_and_who_is_unknown_last():
    ordered = all_words.worst_first(ALL)
    assert [name for name, _ in ordered] == ["b", "a", "d", "c"]
    assert all_words.sentence(ordered, 2) == (
        "Of 4 jobs beside others (2 more had no company) b lost most: 12.0 s, most of it while a was active."
    )


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
    done = slicewise_command("blame", "--all", tmp_path / "jobs")
    assert done.status == 0, done.errors
    assert "one" in done.text
    found = json.loads(slicewise_command("blame", "--all", tmp_path / "jobs", "--json").text)
    assert {job["job"] for job in found["jobs"]} == {"one", "two"}


def test_more_than_a_directory_is_refused(tmp_path):
    done = slicewise_command("blame", "--all", tmp_path, tmp_path)
    assert done.status == 2
    assert "--all takes one directory" in done.errors
