"""Boxes of expectation: the example of the models' documentation, anomalies, growth, tails, and the command."""

import json
import re

import pytest
from slicewise.analysis.expect.box import Box, area, growth, hull, strips, union_area
from slicewise.analysis.expect.expectation import box_of, expectation
from slicewise.io500.results import read_results
from slicewise.report.expect import expect_words
from slicewise.report.expect.expect_page import expectation_page
from slicewise.report.page import html_of
from support.command_line import slicewise_command
from support.io500_results import EXAMPLE, rank_table, write_example, write_result

GOOD = [Box(*EXAMPLE[name]) for name in ("run1", "run2", "run4")]


def test_the_union_is_not_its_hull():
    assert union_area(GOOD) == pytest.approx(34.86)
    assert area(hull(GOOD)) == pytest.approx(37)
    assert any(box.holds((2, 5)) for box in GOOD)
    assert not any(box.holds((0.7, 2.5)) for box in GOOD)
    assert hull(GOOD).holds((0.7, 2.5))
    assert sum((right - left) * (high - low) for left, right, parts in strips(GOOD) for low, high in parts) == (
        pytest.approx(34.86)
    )


def test_hard_better_than_easy_is_an_anomaly_of_that_axis():
    assert Box(*EXAMPLE["run3"]).anomalies == ["bandwidth"]
    assert Box((1, 3), (2, 2)).anomalies == ["metadata"]
    assert GOOD[0].anomalies == []


def test_a_union_that_no_run_enlarges_has_stopped_growing():
    assert growth(GOOD).settled_after is None
    assert growth([Box((1, 1), (2 + 1 / number, 2)) for number in range(4, 0, -1)]).settled_after is None
    # The third run adds less than 5 %.
    found = growth([GOOD[1], GOOD[0], GOOD[2], *GOOD, *GOOD])
    assert found.settled_after == 2
    assert found.added == pytest.approx(0)
    assert found.areas[-1] == pytest.approx(34.86)


def test_the_box_of_a_run_is_made_of_geometric_means_by_kind(tmp_path):
    run = write_result(tmp_path / "run", (1, 2), (4, 10))
    text = (run / "result_summary.txt").read_text()
    lines = [line.replace("4.000000", "16.000000") if "ior-easy-read" in line else line for line in text.splitlines()]
    (run / "result_summary.txt").write_text("\n".join(lines))
    phases = read_results([run]).runs[0].phases
    assert box_of(phases, "aggregate") == Box((1, 2), (8, 10))
    assert box_of(phases, "write") == Box((1, 2), (4, 10))
    assert box_of(phases, "read") == Box((1, 2), (16, 10))


@pytest.mark.parametrize(("seconds", "lines"), [("0.000760", 1), ("300.000000", 0)])
def test_phases_that_are_too_short_are_told(tmp_path, seconds, lines):
    run = write_result(tmp_path / "run", (1, 2), (4, 10))
    text = (run / "result_summary.txt").read_text()
    (run / "result_summary.txt").write_text(re.sub(r"time \d+\.\d+", f"time {seconds}", text))
    said = expect_words.too_short(expectation(read_results([run])))
    assert len(said) == lines
    assert all("took less than 500 ms, one of them 760 us" in line for line in said)


def test_the_command_says_the_examples_figures(tmp_path):
    done = slicewise_command("storage", "expect", write_example(tmp_path / "runs"), "--point", "2,5", "--json")
    assert done.status == 0, done.errors
    record = json.loads(done.text)
    assert record["union_area"] == pytest.approx(34.86)
    assert record["hull_area"] == pytest.approx(37)
    assert [(run["name"], tuple(run["hard"]), tuple(run["easy"])) for run in record["runs"]] == [
        (name, *corners) for name, corners in EXAMPLE.items()
    ]
    assert [run["is_anomaly"] for run in record["runs"]] == [False, False, True, False]
    assert record["runs"][2]["why"] == "bandwidth: hard is better than easy (2 against 1.5 GiB/s)"
    assert record["unreadable"] == []
    assert record["point"]["is_inside"]
    between = slicewise_command("storage", "expect", tmp_path / "runs", "--point", ".7,2.5", "--json")
    assert (json.loads(between.text)["point"]["is_inside"], json.loads(between.text)["point"]["is_in_hull"]) == (
        False,
        True,
    )


def test_the_command_in_words(tmp_path):
    page = tmp_path / "page.html"
    done = slicewise_command("storage", "expect", write_example(tmp_path / "runs"), "--point", ".7,2.5", "-o", page)
    assert done.text.startswith("Expect 0.500 to 4.20 GiB/s and 2.00 to 12.0 kIOPS here: from 3 runs of IO500")
    assert "is not in the box: it lies between the boxes of single runs, in none of them." in done.text
    assert "Anomaly, left out of the union: run3: bandwidth: hard is better than easy" in done.text
    assert f"Page: {page}" in done.text
    assert "What this file system gives" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--point", "2"], "--point 2: is no point"),
        (["--against", "nowhere"], "--against nowhere: no result can be read (there is no such file or directory)"),
    ],
)
def test_bad_input_is_one_line(tmp_path, arguments, said):
    done = slicewise_command("storage", "expect", write_example(tmp_path / "runs"), *arguments)
    assert (done.status, done.errors.count("\n")) == (2, 1)
    assert said in done.errors


def test_no_result_is_an_error_that_says_why(tmp_path):
    done = slicewise_command("storage", "expect", tmp_path)
    assert done.status == 2
    assert "no result_summary.txt or result.txt lies there" in done.errors


def test_the_sick_node_of_a_campaign_is_named(tmp_path):
    for number in range(6):
        is_sick = number in (2, 4)
        hard, easy = ((2, 2.5), (1.5, 11)) if is_sick else ((1, 2 + number / 10), (4 + number / 10, 10))
        run = write_result(tmp_path / f"run{number}", hard, easy, seconds=300 + 200 * is_sick)
        rates = {rank: (30.0 if is_sick and rank // 4 == 5 else 100.0) + rank % 3 for rank in range(32)}
        (run / "ior-easy-write.csv").write_text(rank_table(rates, "ior-easy-write"))
        (run / "ior-easy-write.txt").write_text("".join(f"task {rank} on cn{rank // 4:03}\n" for rank in range(32)))
    found = expectation(read_results([tmp_path]))
    assert [run.run.name for run in found.first.runs if run.is_anomaly] == ["run2", "run4"]
    assert list(found.lagging) == ["cn005"]
    said = expect_words.anomalies(found)[0]
    assert "cn005 (ranks 20-23 of 32) was 3.2 times slower than the median rank in ior-easy-write." in said
    assert expect_words.lagging(found)[0].startswith("cn005 lagged in 2 of 6 runs (ior-easy-write)")
    tail = next(tail for tail in found.tails if tail.phase == "ior-easy-write")
    assert (tail.median, tail.worst) == (300, 500)
    assert "cn005" in html_of(expectation_page(found))


def test_where_most_runs_are_anomalies_it_is_said(tmp_path):
    for number in range(3):
        write_result(tmp_path / str(number), (2, 2.5), (1.5 if number else 4, 11))
    said = expect_words.opening(expectation(read_results([tmp_path])))
    assert said[-1].startswith("2 of 3 runs are anomalies. Either hard I/O is no harder here than easy I/O")


def test_percentiles_against_public_results(tmp_path):
    own = write_result(tmp_path / "own", (1, 2), (4, 10))
    for number in range(4):
        write_result(tmp_path / "public" / str(number), (number, 1) if number else (0.5, 1), (number + 2.0, 20))
    found = expectation(read_results([own]), read_results([tmp_path / "public"]))
    assert {place.name: place.below for place in found.places} == {
        "easy bandwidth": 0.5, "easy metadata": 0.0, "hard bandwidth": 0.25, "hard metadata": 1.0,
    }  # fmt: skip
    assert expect_words.percentiles(found)[0].startswith(
        "Among 4 public results: easy bandwidth 4.00 GiB/s: above 50 %"
    )
