"""What is said of transfer sizes: sentences, tables, JSON, page, and the command's own words."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest
from slicewise.analysis.size import predict
from slicewise.analysis.size.points import write_table
from slicewise.analysis.size.recommend import Bounds
from slicewise.analysis.size.size import size_result
from slicewise.report.page import html_of
from slicewise.report.size import size_words
from slicewise.report.size.size_page import size_page
from support.command_line import slicewise_command
from support.size_tables import KIB, MIB, measured


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch):
    monkeypatch.setattr(predict, "TREES", 5)


@pytest.fixture
def table(tmp_path):
    write_table(measured(0.001, 4), tmp_path / "scratch.csv")
    return tmp_path / "scratch.csv"


def test_the_headline_names_both_sizes_and_what_they_give():
    found = size_result(measured(0.001, 4), Bounds(), own=64 * KIB)
    said = size_words.opening(found)
    assert re.match(r"For throughput use 1 MiB \(1.8\d times \[1.88.*\] the bandwidth of your 64 KiB\), for ", said[0])
    assert said[0].endswith("for latency 4 KiB. Confidence: high.")
    assert said[1] == (
        "This rests on 24 runs of 6 sizes; it holds for sequential writes of 2 processes on /scratch, file per process."
    )


def test_one_size_is_no_choice():
    found = size_result(measured(0.01, 4, sizes=[MIB]), Bounds())
    assert "Only 1 MiB was measured" in size_words.opening(found)[0]
    assert size_words.opening(found)[0].endswith("Confidence: unknown.")
    assert [section.chart for section in size_page(found, "Sizes").sections if section.chart] == []


def test_a_bound_that_nothing_keeps():
    found = size_result(measured(0, 3), Bounds(latency=1e-6))
    assert size_words.opening(found)[0].startswith(
        "No transfer size that was measured keeps 1.00 us a call: the shortest calls take"
    )
    assert html_of(size_page(found, "Sizes"))


def test_single_runs_are_said_to_be_single():
    assert any("run once" in line for line in size_words.opening(size_result(measured(0.1, 1), Bounds())))


def test_a_page_of_many_curves_stands(tmp_path):
    kinds = [
        {"direction": direction, "access": access, "sharing": sharing, "beside": beside}
        for direction in ("read", "write")
        for access in ("sequential", "random")
        for sharing in ("file per process", "shared file")
        for beside in ("", "a second job")
    ]
    points = pl.concat(measured(0.05, 3, place, **kind) for place, kind in enumerate(kinds))
    found = size_result(points, Bounds())
    html = html_of(size_page(found, "Sizes"))
    for heading in ("Random reads on /scratch", "What a second job does", "Can bandwidth and latency be predicted?"):
        assert heading in html
    assert found.first.curve.curve.direction == "write"


def test_the_command_says_writes_and_prints_json(table, tmp_path):
    done = slicewise_command("storage", "size", "--table", table, "--own", "64KiB", "--html", tmp_path / "page.html")
    assert done.status == 0, done.errors
    assert done.text.startswith("For throughput use 1 MiB (1.88 times [1.880-1.882]")
    assert "for latency 4 KiB" in done.text
    assert (tmp_path / "page.html").exists()
    printed = slicewise_command(
        "storage", "size", "--table", table, "--json", "--latency-below", "1ms", "--html", tmp_path / "p.html"
    )
    record = json.loads(printed.output)
    [curve] = record["curves"]
    assert [point["size"] for point in curve["points"]] == [4 * KIB << (2 * power) for power in range(6)]
    assert curve["throughput"]["size"] == 64 * KIB
    assert curve["points"][0]["bandwidth"]["low"] < curve["points"][0]["bandwidth"]["value"]
    assert record["bounds"]["latency_below_seconds"] == 0.001


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ([], "nothing to read: give profiles, or a table"),
        (["--table", "none.csv"], "none.csv: cannot be read"),
        (["--own", "big"], "--own big is not an amount"),
        (["--latency-below", "5"], "--latency-below 5 is not a time; give one such as 5ms"),
        (["--bandwidth-above", "200"], "--bandwidth-above 200/s"),
    ],
)
def test_what_is_wrong_is_one_line(table, options, wrong):
    given = options if not options or "none.csv" in options else ["--table", table, *options]
    done = slicewise_command("storage", "size", *given)
    assert done.status == 2
    assert wrong in done.errors
    assert done.errors.count("\n") == 1
