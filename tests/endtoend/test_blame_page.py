"""The page of a blame as a reader sees it: in a browser, of results made by hand."""

import base64
import gzip
import json
import re
from dataclasses import replace

import pytest
from slicewise.analysis.blame.outside import cost_by_waiting
from slicewise.analysis.blame.result import Outside
from slicewise.analysis.job.split import split
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from slicewise.report.blame.anonymous import anonymous
from slicewise.report.blame.blame_page import _axis, _selection, blame_page
from slicewise.report.page import html_of
from support import browser
from support.blames import SECOND, START_NS, blame, each_other, estimate, neighbour, unknown
from support.chosen_time import chosen_time
from support.jobs import write_competing_jobs
from support.ranks import digest_of

LINKED = "[...document.querySelectorAll('[data-linked]')]"


def starved():
    """It also lost 12.0 s waiting for a processor, 4.0 s of these in calls."""
    alone = estimate(7.1, 7.0, 7.2)
    outside = Outside(alone, 12.0, 0.0, 12.0, 4.0, 0.99, 0.0, 0.0, 0.0, "", 0.0)
    return blame(runtime_seconds=30.0, alone=alone, outside=outside)


def cases():
    many = [neighbour(name, lost) for name, lost in zip("abcdefg", (5.0, 2.0, 1.0, 0.8, 0.6, 0.5, 0.4), strict=True)]
    calls = blame([neighbour(write_bytes=0, meta_ops=90_000)])
    return {
        "one": blame(),
        "many": blame([*many, neighbour(None, 0.4)]),
        "nobody": blame([]),
        "outside": starved(),
        "each other": blame([*many], own_processes=each_other()),
        "not slowed": blame(runtime_seconds=10.8, lost=estimate(0.1, -0.1, 0.3), is_claimed=False),
        "faster": blame([], runtime_seconds=9.8, lost=estimate(-0.9, -1.1, -0.7), is_claimed=False),
        "unknown": unknown(),
        "idle": unknown(slices=blame().slices.clear(), shares=blame().shares.clear()),
        "metadata": replace(calls, slices=calls.slices.with_columns(write_bytes=0 * calls.slices["write_bytes"])),
    }


@pytest.fixture
def opened(window, tmp_path):
    def show(result, width=1400, own=None):
        page = tmp_path / "blame.html"
        page.write_text(html_of(blame_page(result, ["all was seen"], own=own)), encoding="utf-8")
        window.requests.clear()
        window.troubles.clear()
        window.resize(width, 1000)
        window.open(page, browser.DRAWN)
        return window

    return show


def text_of(window, what):
    return window.evaluate(f"document.querySelector({what!r}).innerText")


@browser.needed
@pytest.mark.parametrize("name", cases())
def test_every_case_is_drawn_within_its_edges_and_without_the_network(opened, name):
    window = opened(cases()[name])
    assert window.evaluate("document.getElementById('trouble').hidden"), window.troubles
    assert window.evaluate("document.querySelectorAll('.chart').length") >= 1
    for width in (1400, 600):
        window.resize(width, 1000)
        window.evaluate(browser.STILL)
        assert window.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), width
        overlap = window.evaluate(
            "(() => { const bar = document.getElementById('bar');"
            " const legend = bar.querySelector('.legend .bg').getBoundingClientRect();"
            " return legend.bottom - bar.querySelector('.nsewdrag').getBoundingClientRect().top; })()"
        )
        assert overlap <= 1, width
    assert window.troubles == []
    assert [url for url in window.requests if not url.startswith(("data:", "file:"))] == []


@browser.needed
def test_the_first_tile_has_the_slowdown_and_its_confidence_by_word_and_by_colour(opened):
    window = opened(blame())
    name, slowdown, confidence = text_of(window, ".facts div").split("\n")
    assert (name, slowdown.split()[0], confidence) == ("slowdown", "2.0", "Confidence: high")
    colour = "getComputedStyle(document.querySelector('.facts div')).borderLeftColor"
    high = window.evaluate(colour)
    assert opened(unknown()).evaluate(colour) != high
    assert "unknown" in text_of(window, ".facts div")


@browser.needed
def test_the_bar_adds_up_to_the_runtime(opened):
    window = opened(cases()["many"])
    lengths = window.evaluate("document.getElementById('bar').data.map((trace) => trace.x[0])")
    assert sum(lengths) == pytest.approx(21.6)
    names = window.evaluate("document.getElementById('bar').data.map((trace) => trace.name)")
    assert names[:3] == ["computing and waiting for others", "I/O as alone", "lost to a"]
    assert names[-2:] == ["lost to others", "lost, unexplained"]


@browser.needed
def test_what_its_own_processes_cost_each_other_is_a_part_of_its_own_io(opened):
    told = blame(own_processes=each_other())
    window = opened(told)
    bar = dict(window.evaluate("document.getElementById('bar').data.map((trace) => [trace.name, trace.x[0]])"))
    assert sum(bar.values()) == pytest.approx(21.6)
    assert bar["lost among its own processes"] == pytest.approx(6.1)
    assert bar["I/O as alone"] == pytest.approx(21.6 - 10.9 - 6.1)
    data = json.dumps(_selection(told, _axis(told)))
    # The first two slices are beside a neighbour; in the last two each lost a seventh of it.
    for places, waiting in (([0, 1], 0.0), ([20, 21], 2 * 6.1 / 7)):
        shown = window.evaluate(f"selection.figures({data}, {places})")
        assert sum(shown["parts"]) == pytest.approx(shown["seconds"])
        assert shown["parts"][2] == pytest.approx(waiting, abs=1e-5)


@browser.needed
def test_what_was_lost_waiting_for_a_processor_is_a_part_of_the_bar(opened):
    """In a chosen time it is part of the rest, since nobody counts it by slice."""
    told = starved()
    window = opened(told)
    bar = dict(window.evaluate("document.getElementById('bar').data.map((trace) => [trace.name, trace.x[0]])"))
    assert sum(bar.values()) == pytest.approx(30.0)
    assert bar["lost waiting for a processor"] == pytest.approx(12.0)
    assert bar["I/O as alone"] == pytest.approx(21.6 - 10.9 - 4.0)
    assert bar["computing and waiting for others"] == pytest.approx(30.0 - 21.6 - 8.0)
    shown = window.evaluate(f"selection.figures({json.dumps(_selection(told, _axis(told)))}, [0, 1])")
    assert sum(shown["parts"]) == pytest.approx(shown["seconds"])
    assert len(shown["parts"]) == len(bar)
    assert shown["parts"][list(bar).index("lost waiting for a processor")] == 0


@pytest.mark.parametrize(("lost", "commands"), [(10.9, ["overlap", "turns policy"]), (0.5, [])])
def test_who_waited_for_processors_is_told_what_helps(lost, commands):
    """And nothing of turns where next to nothing was lost to neighbours."""
    told = replace(starved(), lost=estimate(lost, lost - 0.2, lost + 0.2))
    first, *others = blame_page(told, []).steps
    assert "--exclusive" in first.said
    assert [
        " ".join(step.command.split()[1:])[: len(name)] for step, name in zip(others, commands, strict=True)
    ] == commands


@browser.needed
def test_a_chosen_time_recomputes_the_figures_and_gives_them_back(opened):
    window = opened(blame())
    before = [text_of(window, what) for what in ("#slowdown", "#runtime", "#lost-0", "#chosen")]
    # The last two slices in which the job lost time, and the first two in which it did not.
    window.evaluate(
        f"void Plotly.relayout({LINKED}[1], {{'xaxis.range': ['2023-11-14 22:13:33', '2023-11-14 22:13:37']}})"
    )
    window.wait_for("document.getElementById('chosen').textContent.startsWith('From')")
    assert text_of(window, "#chosen") == (
        "From 22:13:33 to 22:13:37: I/O took 3.92 s (mean of 2 processes) and 2.48 s alone. The job lost 1.45 s "
        "of its runtime: 1.43 s to large, 0.0202 s unexplained. Double-click in a chart to see the whole run again."
    )
    assert "I/O took 1.6 times" in text_of(window, "#slowdown")
    assert "4.00 s" in text_of(window, "#runtime")
    assert "1.43 s" in text_of(window, "#lost-0")
    bar = window.evaluate("document.getElementById('bar').data.map((trace) => trace.x[0])")
    assert bar == pytest.approx([0.073, 2.474, 1.433, 0.020], abs=1e-3)
    window.wait_for(f"new Set({LINKED}.map((chart) => String(chart.layout.xaxis.range))).size === 1")
    window.evaluate(f"void Plotly.relayout({LINKED}[0], {{'xaxis.autorange': true}})")
    window.wait_for("document.getElementById('chosen').textContent.startsWith('Drag')")
    assert [text_of(window, what) for what in ("#slowdown", "#runtime", "#lost-0", "#chosen")] == before


def of_ranks(result):
    """The blame of a job of two ranks, rank 1 of which waits for rank 0's writes; and the job's digest."""
    calls = [(rank, number, "barrier", seconds) for number in range(22) for rank, seconds in ((0, 0.1), (1, 0.6))]
    calls += [(rank, -2, "life", 0.5) for rank in (0, 1)]
    calls += [(0, number, "message", 0.0) for number in range(22)]
    writes = [(0, number, "write", 0.3) for number in range(22)]
    own = digest_of(24, calls, writes, first=START_NS // SECOND)
    return replace(result, by_waiting=cost_by_waiting(split(own), SECOND, result.slices, SECOND)), own


RANKS = "[...document.querySelectorAll('figure.table')].find((each) => each.textContent.includes('begin and end'))"


def told_of_ranks(window):
    """A row a rank: its cells by their headings."""
    rows = window.evaluate(
        f"[...{RANKS}.querySelectorAll('tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


@browser.needed
@pytest.mark.parametrize("width", [1400, 600])
def test_ranks_are_told_of_a_chosen_time(opened, width):
    told, own = of_ranks(blame())
    window = opened(told, width, own)
    before = told_of_ranks(window)
    assert [row["MPI"] for row in before] == ["2.20 s", "13.2 s"]
    window.evaluate(
        f"void Plotly.relayout({LINKED}[1], {{'xaxis.range': ['2023-11-14 22:13:33', '2023-11-14 22:13:37']}})"
    )
    window.wait_for("document.getElementById('chosen').textContent.startsWith('From')")
    first, second = told_of_ranks(window)
    assert (first["MPI"], first["writes"], first["begin and end"]) == ("400 ms", "1.20 s", "0 s")
    assert (second["MPI"], second["of that waiting"]) == ("2.40 s", "2.00 s")
    assert (first["computing"], second["runtime"]) == (before[0]["computing"], "24.0 s")
    # What is of the whole run says so: the bar of the mean rank, and columns that no slice has.
    headings = "[...document.querySelectorAll('h2.of-whole')].map((heading) => heading.textContent)"
    assert window.evaluate(headings) == ["Where the mean rank's time went"]
    whole = f"[...{RANKS}.querySelectorAll('th.of-whole')].map((heading) => heading.textContent)"
    assert {"runtime", "computing", "idle, at least"} <= set(window.evaluate(whole))
    assert window.evaluate("document.querySelectorAll('.legend .scrollbar[height]:not([height=\"0\"])').length") == 0
    assert window.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    window.evaluate(f"void Plotly.relayout({LINKED}[0], {{'xaxis.autorange': true}})")
    window.wait_for("document.getElementById('chosen').textContent.startsWith('Drag')")
    assert told_of_ranks(window) == before


@browser.needed
def test_a_runtime_of_which_nothing_is_known_alone_says_that_it_is_of_the_whole_run(opened):
    window = opened(unknown())
    headings = "[...document.querySelectorAll('h2.of-whole')].map((heading) => heading.textContent)"
    assert window.evaluate(headings) == ["Where the runtime went"]


@browser.needed
@pytest.mark.parametrize("scaled", [1.0, 1.5])
def test_the_browser_computes_what_the_analysis_does_for_the_whole_run_and_a_part(opened, scaled):
    """The runtime lost is more than what the mean process lost: by its slowest one, and as processes end apart."""
    several = [neighbour("large", 6 * scaled), neighbour("other", 4.65 * scaled)]
    told = blame(
        several, lost=estimate(10.8 * scaled + 0.3, 10, 18), apart_seconds=0.3, unexplained_seconds=0.15 * scaled + 0.3
    )
    window, axis = opened(told), _axis(told)
    data = json.dumps(_selection(told, axis))
    for part in (axis, axis[3:12], axis[13:20], axis[16:]):
        places = [number - axis.start for number in part]
        shown = window.evaluate(f"selection.figures({data}, {places})")
        expected = chosen_time(told, part)
        assert (shown["calls"], shown["alone"]) == (pytest.approx(expected.calls), pytest.approx(expected.alone))
        lost = [*expected.lost.values(), expected.unexplained]
        assert shown["lost"] == pytest.approx(lost, abs=1e-4)
        assert sum(shown["parts"]) == pytest.approx(shown["seconds"])
    whole = chosen_time(told, axis)
    assert sum(whole.lost.values()) + whole.unexplained == pytest.approx(told.lost.value)
    assert whole.lost["large"] == pytest.approx(several[0].lost.value, rel=1e-3)
    assert whole.unexplained == pytest.approx(told.unexplained_seconds, abs=0.01)


def embedded(page):
    """A page's text with all that it carries packed, the bundle of plotly.js aside."""
    packed = re.findall(r'type="text/plain" id="(\w+)">([^<]*)<', page)
    return page + "".join(gzip.decompress(base64.b64decode(text)).decode() for name, text in packed if name != "plotly")


def test_an_anonymous_page_holds_no_name_of_anybody_else(tmp_path):
    secret, own = (Digest(read_profile(path)) for path in write_competing_jobs(tmp_path, "secretive", "own-job"))
    told = blame([neighbour("secretive")], job=replace(blame().job, job="own-job"), notes=["secretive ran on n1"])
    open_page = embedded(html_of(blame_page(told, [])))
    assert open_page.count("secretive") > 3
    hidden = embedded(html_of(blame_page(anonymous(told, own, [secret]), [])))
    for name in ("secretive", "simulation", "on n1"):
        assert not re.search(rf"\b{name}\b", hidden)
    assert "another job (A)" in hidden
    assert "own-job" in hidden
    assert str(tmp_path) not in hidden
