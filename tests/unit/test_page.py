"""The page's frame: what it carries, what it forbids, and that names stay text."""

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs_version
from rich.console import Console
from slicewise.charts import style
from slicewise.errors import UserError
from slicewise.report.marking import kept_together, with_code
from slicewise.report.page import Fact, Page, Section, html_of, packed_plotly, page_path, write_page
from slicewise.report.tables import Cell, Column, Table, for_terminal
from slicewise.terminal.output import UNWRAPPED_WIDTH

NASTY = "</script><img src=x onerror=alert(1)>"


def nasty_page():
    chart = style.figure(height=200)
    chart.add_scatter(x=[1], y=[1], name=style.safe(NASTY))
    table = Table([Column("job", is_figure=False), Column(NASTY, NASTY)], title=NASTY)
    table.add(Cell(NASTY, colour="#000000"), Cell(NASTY, NASTY))
    section = Section(NASTY, text=[NASTY], chart=chart, tables=[table], note=NASTY)
    return Page(NASTY, NASTY, [NASTY], verdict=NASTY, facts=[Fact(NASTY, NASTY)], sections=[section], unseen=[NASTY])


def test_names_are_text_wherever_they_stand():
    text = html_of(nasty_page())
    assert "<img" not in text
    assert text.count("</script>") == text.count("<script")


def test_figures_are_in_the_page_as_they_are():
    packed = re.search(r'id="figures">([^<]*)<', html_of(nasty_page())).group(1)
    (figure,) = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert figure["layout"]["height"] == 200
    assert "template" not in figure["layout"]


def test_the_policy_allows_the_two_scripts_and_no_network():
    text = html_of(nasty_page())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert policy.startswith("default-src 'none';")
    hashes = set(re.findall(r"'(sha256-[^']*)'", policy))
    inline = re.search(r"<script>(.*?)</script>", text, re.DOTALL).group(1).encode()
    plotly = gzip.decompress(packed_plotly())
    assert hashes == {
        "sha256-" + base64.b64encode(hashlib.sha256(script).digest()).decode() for script in (inline, plotly)
    }
    assert not re.search(r'(src|href)="(?!data:|#)', text)


def test_the_bundle_is_of_the_version_that_makes_the_figures_and_that_its_readme_names():
    head = gzip.decompress(packed_plotly())[:200].decode()
    version = get_plotlyjs_version()
    assert f"v{version}\n" in head
    readme = Path(__file__).resolve().parents[2] / "analyzer/slicewise/report/vendor/README.md"
    assert f"plotly.js {version} " in readme.read_text()


def test_a_page_without_charts_or_unseen_lines_is_a_page():
    text = html_of(Page("a job", "a kicker", ["One sentence."]))
    assert text.count("<h1") == 1
    assert "Nothing that Slicewise knows of." in text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("5 min 18 s", "5\u00a0min 18\u00a0s"),
        ("83.1 MiB/s and 4 s", "83.1\u00a0MiB/s and 4\u00a0s"),
        ("60 processes", "60 processes"),
        ("12 sites", "12 sites"),
        ("2.04 [1.38-4.79] and [-9.02 to 12.8]", "2.04 [1.38\u20114.79] and [-9.02\u00a0to\u00a012.8]"),
        ("db-1 is 1-2", "db-1 is 1-2"),
    ],
)
def test_numbers_keep_their_units(text, kept):
    assert kept_together(text) == kept


def test_commands_in_the_terms_are_code():
    assert with_code("answers of `blame`, <b>") == "answers of <code>blame</code>, &lt;b&gt;"


def test_a_page_lies_beside_the_job_with_a_name_that_any_file_system_takes(tmp_path, monkeypatch):
    job = tmp_path / "profiles/48213"
    job.mkdir(parents=True)
    (job / "n1.swz").touch()
    monkeypatch.chdir("/var")  # the tests' own directory may lie below the one that they were started in
    assert page_path(job, "report-48213") == tmp_path / "profiles/report-48213.html"
    assert page_path(job / "n1.swz", "report-a/b\n" + "x" * 300).name == "report-a_b_" + "x" * 109 + ".html"
    monkeypatch.chdir(tmp_path)
    assert page_path(Path("profiles/48213"), "report") == Path("profiles/report.html")


def test_a_page_that_cannot_be_written_is_one_line_with_a_way_out(tmp_path):
    (tmp_path / "file").touch()
    line = r"file/page\.html: the page cannot be written: .*; name another place with --html FILE"
    with pytest.raises(UserError, match=line):
        write_page(Page("a job", "", []), tmp_path / "file/page.html")


def test_tables_are_copied_with_plain_values_and_units():
    table = Table([Column("job", is_figure=False), Column("overall", "MiB/s"), Column("alone", "s")])
    table.add("a\tb", Cell("83.1 MiB/s", 83.125), Cell("-", ""))
    assert [column.copied_heading for column in table.columns] == ["job", "overall (MiB/s)", "alone (s)"]
    assert [[cell.copied for cell in row] for row in table.rows] == [["a b", "83.125", ""]]
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 3 columns"):
        table.add("only one")


def test_the_terminal_shows_brackets_as_they_are():
    table = Table([Column("job", is_figure=False)])
    table.add("[bold]job[/bold]")
    assert for_terminal(table).columns[0]._cells[0].plain == "[bold]job[/bold]"


def shown_at(width, table):
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(for_terminal(table))
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_a_table_fits_the_terminal_and_breaks_no_word(width):
    columns = [
        Column("job", is_figure=False), Column("user", spare=3), Column("start", is_figure=False, spare=1),
        Column("runtime", "s"), Column("lost to all of the others", "s"), Column("on", is_figure=False, spare=2),
    ]  # fmt: skip
    table = Table(columns)
    for _ in range(2):
        table.add("simulation-48213", "anna", "2026-11-23 15:18:10", "5 min 18 s", "1 min 2 s", "/scratch/of/all")
    lines = shown_at(width, table)
    assert max(len(line.rstrip()) for line in lines) <= width or width == 30
    whole = {word for row in table.rows for cell in row for word in cell.text.split()}
    first = next(number for number, line in enumerate(lines) if "simulation-48213" in line)
    end = next((number for number, line in enumerate(lines) if line.startswith("(")), len(lines))
    headings = " ".join(lines[:first]).split()
    assert all(word in whole for line in lines[first:end] for word in line.split())
    left_out = [heading for heading in ("user", "start", "on") if heading not in headings]
    assert left_out == {200: [], 80: ["user"], 60: ["user", "on"], 30: ["user", "start", "on"]}[width]
    below = " ".join(" ".join(lines[end:]).split())
    assert below.startswith("(no room for: user" if left_out else "")
    assert all(heading in below for heading in left_out)


def test_without_a_terminal_a_table_has_all_columns():
    table = Table([Column(f"column {number}", is_figure=False, spare=number) for number in range(200)])
    table.add(*(f"cell {number}" for number in range(200)))
    assert len(shown_at(UNWRAPPED_WIDTH, table)) == 2
