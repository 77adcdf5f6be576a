"""Pages as a reader sees them: in a browser, from profiles on disk through the command line."""

import json
import re
from pathlib import Path

import pytest
from support import browser
from support.command_line import answer_of, json_of, refusal_of
from support.command_line import completed as slicewise
from support.jobs import write_competing_jobs, write_job

MOST_PROCESSOR_SECONDS = 3.0
NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """A directory with two jobs, one of them with a name made to break out of a page, and their pages."""
    directory = tmp_path_factory.mktemp("profiles")
    write_competing_jobs(directory, "48213", NASTY, interface=NASTY)
    write_job(directory / "alone-48213", 60, 12, {range(43): 102.0})
    write_job(directory / "alone-48190", 12, 12, {range(39): 101.0}, program="/opt/postproc")
    answer_of(
        "overlap", "48213", NASTY, "--alone", "alone-48213", "--alone", "alone-48190", "--html", "overlap.html",
        directory=directory,
    )  # fmt: skip
    answer_of("report", NASTY, "--html", "report.html", directory=directory)
    return directory


@pytest.fixture(params=["overlap.html", "report.html"])
def page(request, jobs, window):
    window.requests.clear()
    window.troubles.clear()
    window.resize(1400, 1000)
    window.open(jobs / request.param, browser.DRAWN)
    return jobs / request.param


@browser.needed
def test_every_chart_is_drawn(page, window):
    charts = window.evaluate("document.querySelectorAll('.chart').length")
    assert charts >= 4
    assert window.evaluate("document.querySelectorAll('.chart .main-svg:first-child').length") == charts
    assert window.evaluate("[...document.querySelectorAll('.chart')].every((chart) => chart.data.length > 0)")


@browser.needed
def test_a_page_opens_within_seconds(page, window):
    """Of processor time, once the browser is warm: the clock would measure what else the machine does."""
    before = window.processor_seconds()
    window.open(page, browser.DRAWN)
    assert window.processor_seconds() - before < MOST_PROCESSOR_SECONDS


@browser.needed
def test_what_whole_nodes_did_is_on_the_axis_of_the_throughput(jobs, window):
    window.open(jobs / "report.html", browser.DRAWN)
    headings = window.evaluate("[...document.querySelectorAll('h2')].map((heading) => heading.textContent.trim())")
    of_nodes = [heading for heading in headings if heading.startswith("Whole node: ")]
    assert len(of_nodes) == 4
    assert headings.index(of_nodes[0]) > headings.index("Throughput")
    assert window.evaluate("document.querySelectorAll('[data-linked]').length") >= 2 + len(of_nodes)


@browser.needed
def test_names_are_shown_and_never_run(page, window):
    assert window.evaluate("document.querySelectorAll('img').length") == 0
    assert NASTY in window.evaluate("document.querySelector('main').innerText")
    assert window.evaluate(
        f"[...document.querySelectorAll('.chart text')].some((t) => t.textContent.includes({NASTY[:10]!r}))"
    )


@browser.needed
def test_a_range_chosen_in_one_chart_is_chosen_in_all_and_given_back(page, window):
    ranges = "[...document.querySelectorAll('[data-linked]')].map((chart) => String(chart.layout.xaxis.range))"
    before = window.evaluate(ranges)
    assert len(before) >= 3
    assert len(set(before)) == 1
    left, top, width, height = window.evaluate(
        "(() => { const chart = document.querySelector('[data-linked]'); chart.scrollIntoView({block: 'center'});"
        " const box = chart.querySelector('.nsewdrag').getBoundingClientRect();"
        " return [box.left, box.top, box.width, box.height]; })()"
    )
    middle = top + height / 2
    window.drag((left + width * 0.25, middle), (left + width * 0.5, middle))
    window.wait_for(f"new Set({ranges}).size === 1 && {ranges}[0] !== {json.dumps(before[0])}")
    window.evaluate("void Plotly.relayout(document.querySelectorAll('[data-linked]')[1], {'xaxis.autorange': true})")
    window.wait_for(f"String({ranges}) === {json.dumps(','.join(before))}")


@browser.needed
def test_a_table_is_copied_as_tab_separated_values_with_units(page, window):
    window.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    window.evaluate("document.querySelector('.copy').click()")
    window.wait_for("window.copied")
    rows = [line.split("\t") for line in window.evaluate("window.copied").splitlines()]
    assert len({len(row) for row in rows}) == 1
    headings = {"overlap.html": "overall (MiB/s)", "report.html": "written (bytes)"}
    column = rows[0].index(headings[page.name])
    assert all(float(row[column]) > 0 for row in rows[1:])


@browser.needed
def test_charts_are_painted_again_when_the_colour_scheme_changes(page, window):
    colour = "document.querySelector('.chart').layout.font.color"
    light = window.evaluate(colour)
    window.prefer("dark")
    window.wait_for(f"{colour} !== {json.dumps(light)}")
    window.prefer("light")
    window.wait_for(f"{colour} === {json.dumps(light)}")


def test_a_page_is_small(jobs):
    assert (jobs / "overlap.html").stat().st_size < 1_000_000


def test_the_terminal_says_what_happened_and_where_the_page_is(tmp_path):
    write_competing_jobs(tmp_path)
    said = slicewise("overlap", "48213", "48190", directory=tmp_path).stdout
    assert re.match("48213 .* 48190 .*83[.]1 against 19[.]0.*\\nPage: overlap-48213-48190.html", said, re.DOTALL)
    assert (tmp_path / "overlap-48213-48190.html").is_file()


def test_overlap_as_json_has_its_documented_keys(tmp_path):
    write_competing_jobs(tmp_path)
    answer_of("overlap", "48213", "48190", "--json", "-o", "overlap.json", directory=tmp_path)
    record = json.loads((tmp_path / "overlap.json").read_text())
    region = record["region"]
    assert (region["end_slice"] - region["first_slice"], region["seconds"]) == (51, 204)
    large, small = record["jobs"]
    assert (large["job"], large["processes"], large["nodes"]) == ("48213", 60, 5)
    assert large["region_mib_s"] == pytest.approx(83.1, rel=0.01)
    assert small["region_mib_s"] == pytest.approx(19.0, rel=0.01)
    assert record["ratio"] == pytest.approx(large["region_mib_s"] / small["region_mib_s"])
    assert record["contended"] is True
    assert record["direction"] == "write"
    assert record["directions"]["write"]["jobs"] == record["jobs"]
    assert record["directions"]["read"]["not_applicable"]
    documented = (Path(__file__).resolve().parents[2] / "docs/commands.md").read_text()
    for key in (*record, *large, *record["model"]):
        assert f"`{key}`" in documented


def test_report_as_json_has_its_documented_keys(tmp_path):
    job = write_job(tmp_path / "48213", 4, 2, {range(5): 10.0})
    record = json_of("report", job, directory=tmp_path)
    assert record["summary"]["processes"] == 4
    assert len(record["per_slice"]) == 5
    documented = (Path(__file__).resolve().parents[2] / "docs/commands.md").read_text()
    for key in (*record, *record["per_slice"][0], *record["files"][0], *record["sizes"][0]):
        assert f"`{key}`" in documented


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["overlap", "48213"], "slicewise: 48213: one profile overlaps with none; give two or more"),
        (["overlap", "48213", "late"], "slicewise: these profiles do not overlap in time: 48213 ended at "),
        (["report", "nowhere"], "slicewise: nowhere: does not exist"),
        (
            ["report", "48213", "--html", "48213/n1.swz/page.html"],
            "slicewise: 48213/n1.swz/page.html: the page cannot be",
        ),
    ],
)
def test_a_users_error_is_one_line(tmp_path, arguments, line):
    write_job(tmp_path / "48213", 2, 2, {range(5): 10.0})
    write_job(tmp_path / "late", 2, 2, {range(100, 105): 10.0})
    made = refusal_of(*arguments, directory=tmp_path)
    assert made.startswith(line)
