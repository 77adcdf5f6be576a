"""What is said of compared runs: sentences, tables, JSON and page, from one and the same analysis."""

import json

import pytest
from slicewise.analysis.compare.compare import compare
from slicewise.analysis.compare.difference import Loss
from slicewise.digest.shared import read_digests
from slicewise.estimate import Estimate
from slicewise.report.compare import compare_words
from slicewise.report.compare.compare_page import compare_page
from slicewise.report.compare.compare_tables import parts_table, runs_table
from slicewise.report.compare.compare_words import compare_record
from support.command_line import slicewise_command
from support.runs import metadata, read, write_run, wrote


@pytest.fixture
def runs(tmp_path):
    rows = {
        "yesterday": (15.2, {at: wrote(100, 0.9) for at in range(12)}),
        "today": (27.3, {at: wrote(50, 0.9) for at in range(24)}),
        "bigger": (24.2, {at: wrote(100, 0.9) for at in range(22)}),
        "smaller": (27.3, {at: wrote(50, 0.9, size=4096) for at in range(24)}),
        "reader": (
            19.0,
            {at: wrote(100, 0.9) for at in range(12)} | {at: read(200, 0.95) for at in range(12, 16)},
        ),
        "storm": (
            17.2,
            {at: wrote(100, 0.9) | metadata(500, 0.05) for at in range(12)},
        ),
    }
    return {name: write_run(tmp_path / name, seconds, [did]) for name, (seconds, did) in rows.items()}


def comparison(runs, *names, **losses):
    return compare(read_digests([runs[name] for name in names]), losses)


LOST = Loss(Estimate(10.5, 10.2, 10.8, "by blame"), ["large"], "high")


def test_the_first_sentence_says_how_much_why_and_how_sure(runs):
    found = comparison(runs, "yesterday", "today", today=LOST)
    assert compare_words.opening(found) == [
        "today took 1.8 times as long as yesterday: 12.1 s more, 10.5 s of it in I/O that large slowed down and 1.30 s "
        "of it outside I/O calls. Confidence: high."
    ]


def test_of_different_programs_it_says_so_and_is_less_sure(runs, tmp_path):
    other = {at: wrote(50, 0.9) for at in range(24)}
    runs["today"] = write_run(tmp_path / "other" / "today", 27.3, [other], program="/opt/solver")
    found = comparison(runs, "yesterday", "today", today=LOST)
    first, then = compare_words.opening(found)
    assert first.endswith("Confidence: medium.")
    assert then == "They are different programs: yesterday ran simulation and today ran solver."
    assert any("for any reason" in note for note in compare_words.notes(found))


def test_without_neighbours_it_says_what_would_tell(runs):
    first, then = compare_words.opening(comparison(runs, "yesterday", "today"))
    assert "10.8 s of it in I/O that took longer for the same work" in first
    assert first.endswith("Confidence: unknown.")
    assert then.startswith("Whether neighbours slowed today down is unknown.")


@pytest.mark.parametrize(
    ("first", "other", "said"),
    [
        ("yesterday", "bigger", "59 % longer than"),
        (
            "yesterday",
            "bigger",
            "9.00 s of it in I/O of its own (it wrote 2.15 GiB instead of 1.17 GiB)",
        ),
        (
            "yesterday",
            "reader",
            "3.80 s of it in I/O of its own (it read 800 MiB instead of 0 B)",
        ),
        (
            "yesterday",
            "storm",
            "600 ms of it in I/O of its own (it made 6,000 metadata calls instead of 0)",
        ),
        (
            "bigger",
            "yesterday",
            "yesterday took 37 % less time than bigger: 9.00 s less, 9.00 s of it in I/O of its own",
        ),
        ("today", "smaller", "smaller took as long as today: 27.3 s and 27.3 s."),
        (
            "yesterday",
            "smaller",
            "in I/O that took longer (in write calls of 4 KiB instead of 1 MiB)",
        ),
    ],
)
def test_reasons(runs, first, other, said):
    sentence = compare_words.headline(comparison(runs, first, other))
    if said.endswith("longer than"):
        said = "1.6 times as long as"
    assert said in sentence


def test_of_several_runs_the_slowest_is_told_and_what_varies(runs):
    first, varies, *_ = compare_words.opening(comparison(runs, "yesterday", "today", "bigger"))
    assert first.startswith("today, the slowest of 3 runs, took 13 % longer than the median run, bigger: 3.10 s more")
    assert varies.startswith("Runtimes range from 15.2 s to 27.3 s: ")


def test_runs_that_hardly_vary_are_not_explained(tmp_path):
    rows = {at: wrote(100, 0.9) for at in range(12)}
    alike = [write_run(tmp_path / f"r{place}", 15.2 + place / 100, [rows]) for place in range(3)]
    first, varies, *_ = compare_words.opening(compare(read_digests(alike)))
    assert first.startswith("r2, the slowest of 3 runs, took as long as the median run, r1")
    assert varies == "Runtimes range from 15.2 s to 15.2 s, which is next to no variability."


def test_every_column_of_the_parts_adds_up(runs):
    found = comparison(runs, "yesterday", "storm", storm=Loss(Estimate(0.2, 0.1, 0.3, "by blame")))
    table = parts_table(found)
    whole = [row for row in table.rows if not row[0].text.startswith("  ")]
    for column in (1, 2, 3):
        *parts, runtime = [row[column].value for row in whole]
        assert sum(parts) == pytest.approx(runtime)
    assert [row[0].text for row in whole] == [
        "outside I/O calls", "own I/O", "lost to neighbours", "unexplained", "runtime",
    ]  # fmt: skip


def test_what_is_not_known_is_called_so_in_the_tables(runs):
    found = comparison(runs, "yesterday", "smaller")
    shown = {row[0].text.strip(): row[3].text for row in parts_table(found).rows}
    assert shown["lost to neighbours"] == shown["other sizes of calls"] == "unknown"
    lost = [row[5].text for row in runs_table(comparison(runs, "yesterday", "today", "bigger")).rows]
    assert lost == ["unknown", "unknown", "-"]


def test_json_has_the_documented_keys(runs):
    record = compare_record(comparison(runs, "yesterday", "today", today=LOST), None)
    assert {
        "runs",
        "difference_seconds",
        "computing_seconds",
        "own_io_seconds",
        "lost_seconds",
    } <= set(record)
    assert set(record["own_io_seconds"]) == {"value", "low", "high", "how", "parts"}
    assert set(record["own_io_seconds"]["parts"]) == {
        "bytes",
        "calls",
        "sizes",
        "metadata",
    }
    assert record["neighbours"] == ["large"]
    several = compare_record(comparison(runs, "yesterday", "today", "bigger"), None)
    assert [each["job"] for each in several["differences"]] == ["yesterday", "today"]
    assert sum(several["variability"].values()) == pytest.approx(1)


def test_the_page_has_one_chart_for_two_runs_and_for_more(runs):
    for names in (("yesterday", "today"), ("yesterday", "today", "bigger")):
        page = compare_page(comparison(runs, *names), ["unseen"])
        assert sum(section.chart is not None for section in page.sections) == 1
        assert page.unseen[-1] == "unseen"


def test_the_command_writes_a_page_and_says_where(runs, tmp_path):
    done = slicewise_command("compare", runs["yesterday"], runs["today"])
    assert done.status == 0, done.errors
    page = tmp_path / "compare-yesterday-today.html"
    assert f"Page: {page}" in done.text
    assert page.exists()
    as_json = slicewise_command("compare", runs["yesterday"], runs["today"], "--json")
    assert json.loads(as_json.output)["job"] == "today"
    refused = slicewise_command("compare", runs["yesterday"])
    assert (refused.status, refused.errors.count("\n")) == (2, 1)
