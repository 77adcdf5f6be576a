"""What a page lets its reader do, in a browser: find the way, sort, filter, copy and download tables, read terms,
choose a time by keyboard, change colours; at every width, without a mouse and without the network.
"""

import json

import numpy as np
import pytest
from slicewise.charts import style
from slicewise.report.over_time import OverTime, TimeAxis
from slicewise.report.page import Fact, Page, Section, Step, html_of
from slicewise.report.tables import Cell, Column, Table
from slicewise.text import glossary
from support import browser

NASTY = "</script><img src=x onerror=alert(1)>"
MIB = 1 << 20
SLICES, SLICE_NS = range(1000, 1010), 4_000_000_000

pytestmark = browser.needed


def wide_table(rows: int) -> Table:
    """Many columns, a figure that is told of a chosen time, and names made to break out."""
    headings = [Column("job", is_figure=False), Column("written", "bytes"), Column("interference")]
    table = Table(
        [*headings, *(Column(f"a figure of the kind {number}", "s") for number in range(8))], title=f"{rows} jobs"
    )
    for number in range(rows):
        name = [NASTY, "=1+1", f"job {number}"][min(number, 2)]
        sum_of = OverTime("size", [np.full(len(SLICES), MIB * (number + 1))])
        table.add(
            Cell(name, colour="#1A80C4"), Cell(f"{10 * (number + 1)} MiB", 10 * MIB * (number + 1), over_time=sum_of),
            Cell(f"{number / 7:.3g}", number / 7), *(Cell(f"{number}.0 s", float(number)) for _ in range(8)),
        )  # fmt: skip
    return table


def phases() -> Table:
    """A row each two slices, with the time that it is about."""
    table = Table([Column("phase", is_figure=False), Column("written", "bytes")])
    for first in SLICES[::2]:
        table.add(f"phase {first}", Cell("1.00 MiB", MIB), time=(first * SLICE_NS, (first + 2) * SLICE_NS))
    return table


def page() -> Page:
    chart = style.figure(height=200)
    values = np.arange(len(SLICES) + 1, dtype=float)
    for number in range(6):
        chart.add_scatter(
            x=style.clock_times(range(SLICES.start, SLICES.stop + 1), SLICE_NS), y=values, mode="lines",
            name=f"a line with a long name, number {number}",
        )  # fmt: skip
    chart.update_yaxes(title_text="throughput (MiB/s)")
    style.use_clock_axis(chart, SLICES, SLICE_NS)
    bytes_of = OverTime("size", [np.full(len(SLICES), 3.0 * MIB)])
    calls_of = OverTime("count", [np.arange(len(SLICES)), np.ones(len(SLICES))])
    return Page(
        title="a page",
        kicker="Slicewise of a job",
        sentences=["The job took 1.9 times as long as alone.", f"Its region is of {NASTY}."],
        facts=[
            Fact("slowdown", "1.9", "#009E73", note="Confidence: high"),
            Fact("written", "30 MiB", over_time=bytes_of),
            Fact("write, read calls", "45, 10", over_time=calls_of),
        ],
        steps=[Step("See it:", "slicewise overlap " + "a-very-long-name-of-a-job-" * 6)],
        sections=[
            Section("Throughput", chart=chart, note="10 slices.", is_linked=True),
            Section("Some jobs", tables=[wide_table(3)]),
            Section("Many jobs", tables=[wide_table(70)]),
            Section("Phases", tables=[phases()]),
            Section("Files", tables=[Table([Column("file", is_figure=False)], [[Cell("/data/out")]])]),
        ],
        axis=TimeAxis(SLICES, SLICE_NS),
    )


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(html_of(page()), encoding="utf-8")
    with browser.Browser() as opened:
        opened.open(file, browser.DRAWN)
        yield opened
        assert opened.troubles == []
        assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.fixture
def wide(window):
    window.resize(1400, 1000)
    window.wait_for("!document.querySelector('.stacked')")
    return window


def rows_of(number: int) -> str:
    rows = f"[...document.querySelectorAll('figure.table')[{number}].querySelectorAll('tbody tr')]"
    return f"{rows}.filter((row) => !row.hidden)"


@pytest.mark.parametrize("width", [400, 600, 1400, 2560])
def test_nothing_hangs_over_and_nothing_is_cut(window, width):
    window.resize(width, 1000)
    window.wait_for(
        "[...document.querySelectorAll('.chart')].every((chart) => "
        "Math.abs(chart.querySelector('.main-svg').clientWidth - chart.clientWidth) < 2)"
    )
    assert window.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    # Short tables drop to rows of headings and cells, long ones scroll in their own box and say so.
    few, many = ("document.querySelectorAll('figure.table')[0]", "document.querySelectorAll('figure.table')[1]")
    window.wait_for(f"{few}.querySelector('.scroll').scrollWidth <= {few}.querySelector('.scroll').clientWidth")
    window.wait_for(
        f"{many}.querySelector('.scroll').scrollWidth <= {many}.querySelector('.scroll').clientWidth "
        f"|| !{many}.querySelector('.more-columns').hidden"
    )
    window.wait_for(
        "[...document.querySelectorAll('.chart')].map((chart) => chart._fullLayout.legend)"
        ".every((legend) => legend._effHeight >= legend._height)"
    )
    if width == 400:
        cell = "document.querySelector('.stacked td:nth-child(2)')"
        assert window.evaluate(f"getComputedStyle({cell}, '::before').content") == '"written"'
        assert window.evaluate(f"{cell}.getAttribute('role')") == "cell"


def test_the_contents_stay_and_tell_where_the_reader_is(wide):
    links = wide.evaluate("[...document.querySelectorAll('nav a')].map((link) => link.textContent)")
    assert links == [
        "The answer", "Throughput", "Some jobs", "Many jobs", "Phases", "Files", "What was seen, and what was not",
        "Terms",
    ]  # fmt: skip
    wide.evaluate("document.getElementById('s2').scrollIntoView()")
    wide.wait_for("document.querySelector('nav [aria-current]').textContent === 'Some jobs'")
    assert 0 <= wide.evaluate("document.querySelector('nav').getBoundingClientRect().top") < 200
    wide.evaluate("window.scrollTo(0, 0)")


def test_rows_are_sorted_by_figure_and_by_name_and_say_so(wide):
    heading = "document.querySelectorAll('figure.table')[1].querySelectorAll('th')"
    wide.evaluate(f"{heading}[1].querySelector('button').click()")
    assert wide.evaluate(f"{heading}[1].getAttribute('aria-sort')") == "descending"
    written = wide.evaluate(f"{rows_of(1)}.map((row) => Number(row.cells[1].dataset.copied))")
    assert written == sorted(written, reverse=True)
    wide.evaluate(f"{heading}[0].querySelector('button').click()")
    assert wide.evaluate(f"[...{heading}].map((cell) => cell.getAttribute('aria-sort'))")[:2] == ["ascending", None]
    names = wide.evaluate(f"{rows_of(1)}.map((row) => row.cells[0].textContent)")
    assert names.index("job 9") < names.index("job 10")


def test_what_is_filtered_is_copied_and_downloaded_as_it_is_shown(wide):
    wide.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    wide.evaluate("HTMLAnchorElement.prototype.click = function () { window.file = this.download; }")
    wide.evaluate(
        "URL.createObjectURL = (blob) => { blob.text().then((text) => { window.csv = text; }); return 'blob:'; }"
    )
    figure = "document.querySelectorAll('figure.table')[1]"
    wide.evaluate(
        f"(() => {{ const field = {figure}.querySelector('.search'); field.value = 'SRC onerror';"
        " field.dispatchEvent(new Event('input')); })()"
    )
    assert wide.evaluate(f"{rows_of(1)}.length") == 1
    assert wide.evaluate(f"{figure}.querySelector('[role=status]').textContent") == "1 of 70 rows"
    wide.evaluate(f"{figure}.querySelector('.copy').click()")
    wide.wait_for("window.copied")
    assert len(wide.evaluate("window.copied").splitlines()) == 2
    wide.evaluate("document.querySelector('.csv').click()")
    wide.wait_for("window.csv")
    assert wide.evaluate("window.file") == "a-page-3-jobs.csv"
    lines = wide.evaluate("window.csv").splitlines()
    assert lines[0].startswith("job,written (bytes),interference,")
    assert [line.split(",")[0] for line in lines[1:]] == [NASTY, "'=1+1", "job 2"]
    assert wide.evaluate("tables.inCsv('=1+1')") == "'=1+1"
    assert wide.evaluate("tables.inCsv('-1.5')") == "-1.5"
    assert wide.evaluate("""tables.inCsv('a "b", c')""") == '"a ""b"", c"'
    wide.evaluate(
        f"(() => {{ const field = {figure}.querySelector('.search'); field.value = '';"
        " field.dispatchEvent(new Event('input')); })()"
    )


def test_a_term_says_what_it_means_to_mouse_and_keyboard(wide):
    term = "document.querySelector('.lede [data-term=term-region]')"
    wide.evaluate(f"{term}.focus()")
    region = next(one for one in glossary.TERMS if one.name == "region")
    assert wide.evaluate("document.getElementById('tip').textContent") == region.meaning
    assert wide.evaluate(f"{term}.getAttribute('aria-describedby')") == "tip"
    wide.evaluate(f"{term}.blur()")
    assert wide.evaluate("document.getElementById('tip').hidden")
    # A column's heading is a term as well, and each that the page has is explained at its end.
    assert wide.evaluate("document.querySelector('th:nth-child(3)').dataset.term") == "term-interference-factor"
    shown = wide.evaluate("[...document.querySelectorAll('.terms dt')].map((term) => term.textContent)")
    assert {"alone", "region", "slowdown", "interference factor", "slice"} <= set(shown)


def choose(window, first: str, last: str) -> None:
    window.evaluate(
        f"(() => {{ const {{ from, to }} = document.getElementById('time').elements; from.value = '{first}';"
        f" to.value = '{last}'; to.dispatchEvent(new Event('change')); }})()"
    )


def test_a_time_chosen_by_keyboard_is_that_of_charts_tiles_and_tables(wide):
    whole = wide.evaluate("['from', 'to'].map((name) => document.getElementById('time').elements[name].value)")
    tiles = "[...document.querySelectorAll('.facts dd')].map((tile) => tile.textContent)"
    before = wide.evaluate(tiles)
    start = whole[0][11:]
    seconds = sum(int(part) * factor for part, factor in zip(start.split(":"), (3600, 60, 1), strict=True))
    clock = [f"{at // 3600:02}:{at % 3600 // 60:02}:{at % 60:02}" for at in (seconds + 8, seconds + 20)]
    choose(wide, *clock)
    wide.wait_for("document.documentElement.hasAttribute('data-chosen')")
    assert wide.evaluate(tiles) == [before[0], before[1], "9.00 MiB", "9, 3"]
    assert wide.evaluate("document.querySelector('[data-sum]:is(td)').dataset.copied") == str(3 * MIB)
    assert wide.evaluate("String(document.querySelector('[data-linked]').layout.xaxis.range)").count(clock[0]) == 1
    # What is not told of a time says so: columns, and tables as a whole.
    headings = "document.querySelector('figure.table').querySelectorAll('th.figure')"
    after = f"[...{headings}].map((cell) => getComputedStyle(cell, '::after').content)"
    assert set(wide.evaluate(after)[1:]) == {'" (whole run)"'}
    assert wide.evaluate(after)[0] == "none"
    caption = (
        "getComputedStyle([...document.querySelectorAll('figcaption > span:first-child')].at({}), '::after').content"
    )
    assert wide.evaluate(caption.format(-1)) == '"Over the whole run"'
    assert wide.evaluate(caption.format(-2)) == '"Rows of the chosen time"'
    shown = f"{rows_of(2)}.filter((row) => row.offsetHeight).map((row) => row.cells[0].textContent)"
    assert wide.evaluate(shown) == ["phase 1002", "phase 1004"]  # from 8 s to 20 s; slices are of 4 s
    choose(wide, "tomorrow", clock[1])
    assert wide.evaluate("document.getElementById('time-said').textContent").startswith("Not a time")
    wide.evaluate("document.getElementById('time').elements.whole.click()")
    wide.wait_for("!document.documentElement.hasAttribute('data-chosen')")
    assert wide.evaluate(tiles) == before
    assert len(wide.evaluate(shown)) == 5
    assert wide.evaluate("['from', 'to'].map((name) => document.getElementById('time').elements[name].value)") == whole


def test_a_chart_is_words_and_a_table_as_well(wide):
    details = "document.querySelector('.numbers')"
    assert "number 0: 0 to 10.0 MiB/s" in wide.evaluate(f"{details}.querySelector('p').textContent")
    wide.evaluate(f"{details}.open = true")
    wide.wait_for(f"{details}.querySelector('tbody')")
    assert wide.evaluate(f"{details}.querySelectorAll('tbody tr').length") == 6 * 11
    headings = wide.evaluate(f"[...{details}.querySelectorAll('th')].map((cell) => cell.textContent)")
    assert headings[2] == "throughput (MiB/s)"
    wide.evaluate(f"{details}.open = false")


def test_the_switch_changes_the_colours_of_page_and_charts(wide):
    colours = "[getComputedStyle(document.body).color, document.querySelector('.chart').layout.font.color]"
    before = wide.evaluate(colours)
    wide.evaluate("document.getElementById('theme').click()")
    wide.wait_for(f"{colours}.every((colour, place) => colour !== {json.dumps(before)}[place])")
    wide.evaluate("document.getElementById('theme').click()")
    wide.wait_for(f"String({colours}) === {json.dumps(','.join(before))}")


@pytest.mark.parametrize(("width", "colours"), [(400, "light"), (1400, "dark")])
def test_axe_finds_nothing_serious(window, width, colours):
    if not browser.AXE.is_file():
        pytest.skip("no axe-core: the page's accessibility is not looked at (make axe needs npm)")
    window.resize(width, 1000)
    window.prefer(colours)
    found = window.serious_findings()
    window.prefer("light")
    assert found == []
