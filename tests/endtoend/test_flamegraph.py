"""The flame graph of call sites as a reader sees it: widths by cost, one click to change it, and a part of the run."""

import json
from pathlib import Path

import pytest
from support import browser
from support.command_line import answer_of, json_of, refusal_of
from support.command_line import completed as slicewise
from support.swz import build_profile

FIRST = 425_000_000
MIB = 1 << 20
S = 1_000_000_000
NASTY = "</script><img src=x onerror=alert(1)>"
STACKS = {1: ("save", "checkpoint", "main"), 2: ("load", "main"), 3: (NASTY, "main")}


@pytest.fixture(scope="module")
def profile(tmp_path_factory) -> Path:
    """Three sites, 70 : 20 : 10 of the time over ten slices, and the other way round in the last one; the bytes are all
    of the second, the calls all of the third.
    """
    samples = [(slice_, site, count) for slice_ in range(9) for site, count in ((1, 70), (2, 20), (3, 10))]
    return made(tmp_path_factory.mktemp("flame") / "48213", [*samples, (9, 1, 10), (9, 2, 20), (9, 3, 70)])


def made(directory: Path, samples: list[tuple[int, int, int]], process: int = 1) -> Path:
    """samples: slice, site, how many."""
    frames = [
        {"process": process, "site": site, "depth": depth, "function": name, "file": "/src/a.py", "line": 7 + depth}
        for site, names in STACKS.items()
        for depth, name in enumerate(names)
    ]
    sites = [
        {"process": process, "number": number, "site": site, "operation": "pwrite", "slice": FIRST + slice_,
         "samples": count, "likely_bytes": MIB if site == 2 else 0, "likely_calls": 5_000 if site == 3 else 0}
        for number, (slice_, site, count) in enumerate(samples)
    ]  # fmt: skip
    slices = [{"process": process, "slice": FIRST + place, "write_bytes": MIB, "write_ns": S} for place in range(10)]
    events = [{"process": process, "event": 0, "name": "perf::TASK-CLOCK", "unit": "ns", "meaning": "time of tasks"}]
    hardware = [{"process": process, "number": place, "slice": FIRST + place, "event_0": 3 * S} for place in range(10)]
    return build_profile(
        directory,
        [{"process": process, "site_ns": 10_000_000, "start_ns": FIRST * 4 * S, "end_ns": (FIRST + 10) * 4 * S}],
        slices, frames=frames, sites=sites, events=events, hardware=hardware,
        modules=[{"process": process, "module": 0}],
    )  # fmt: skip


def shares(window: browser.Browser) -> dict[str, float]:
    boxes = "[...document.querySelectorAll('.flame-box')].map((box) => [box.dataset.name, Number(box.dataset.share)])"
    return dict(window.evaluate(boxes))


def widths(window: browser.Browser) -> dict[str, float]:
    boxes = (
        "[...document.querySelectorAll('.flame-box')].map((box) => [box.dataset.name, "
        "box.getBoundingClientRect().width / document.querySelector('.flame-body').getBoundingClientRect().width])"
    )
    return dict(window.evaluate(boxes))


def press(window: browser.Browser, name: str) -> None:
    buttons = "[...document.querySelectorAll('.flame button')]"
    window.evaluate(f"{buttons}.find((one) => one.textContent === '{name}').click()")


@browser.needed
@pytest.mark.parametrize("options", [["--flamegraph"], []])
def test_widths_are_shares_of_what_a_click_chooses(profile, tmp_path, window, options):
    page = tmp_path / "page.html"
    answer_of("report", *options, profile, "--html", page)
    window.requests.clear()
    window.troubles.clear()
    window.open(page, browser.DRAWN)
    assert window.troubles == []
    assert not browser.AXE.is_file() or window.serious_findings() == []
    assert [request for request in window.requests if not request.startswith(("file:", "data:"))] == []
    by_time = {"all": 1, "main": 1, "checkpoint": 0.64, "save": 0.64, "load": 0.2, NASTY: 0.16, "pwrite": 0.16}
    assert shares(window) == pytest.approx(by_time)
    assert widths(window) == pytest.approx(by_time, abs=0.01)
    press(window, "bytes")
    assert shares(window) == pytest.approx({"all": 1, "main": 1, "load": 1, "pwrite": 1})
    press(window, "calls")
    assert shares(window) == pytest.approx({"all": 1, "main": 1, NASTY: 1, "pwrite": 1})
    press(window, "time")
    press(window, "checkpoint")
    assert widths(window) == pytest.approx({"all": 1, "main": 1, "checkpoint": 1, "save": 1, "pwrite": 1}, abs=0.01)
    assert shares(window)["checkpoint"] == pytest.approx(0.64)


@browser.needed
def test_a_box_without_room_for_a_name_shows_no_letter_of_it(profile, tmp_path, window):
    page = tmp_path / "page.html"
    assert slicewise("report", "--flamegraph", profile, "--html", page).returncode == 0
    window.resize(1400, 1000)
    window.open(page, browser.DRAWN)
    tiny = "[...document.querySelectorAll('.flame-box.tiny')].map((box) => box.dataset.name)"
    assert window.evaluate(tiny) == []
    window.evaluate("document.querySelector('.flame-body').style.width = '120px'")
    window.wait_for("document.querySelector('.flame-box.tiny')")
    assert set(window.evaluate(tiny)) == {"load", NASTY, "pwrite"}


@browser.needed
def test_calls_of_two_runs_are_coloured_by_the_difference(profile, tmp_path, window):
    """The longer run is drawn. save: 640 samples instead of 320 (red); load: as many (grey); the other: none before."""
    former = made(tmp_path / "before", [(0, 1, 320), (0, 2, 200)], process=2)
    page = tmp_path / "compare.html"
    assert slicewise("compare", former, profile, "--html", page).returncode == 0
    window.open(page, browser.DRAWN)
    boxes = (
        "[...document.querySelectorAll('.flame-box')].map((box) => [box.dataset.name, [box.title, "
        "getComputedStyle(box).backgroundColor.match(/[0-9]+/g).map(Number)]])"
    )
    told = dict(window.evaluate(boxes))
    red, _, blue = told["save"][1]
    assert red > blue
    assert len(set(told["load"][1])) == 1, "grey"
    assert "6.4 s, 64.0 % of all; in before 3.2 s" in told["save"][0]
    assert "; in before nothing" in told[NASTY][0]


@browser.needed
def test_zooming_a_chart_limits_the_flame_graph(profile, tmp_path, window):
    page = tmp_path / "page.html"
    assert slicewise("report", profile, "--html", page).returncode == 0
    window.open(page, browser.DRAWN)
    window.evaluate(
        """(async () => {
        const chart = document.querySelector('.chart[data-linked]');
        const [a, b] = chart.layout.xaxis.range.map((time) => Date.parse(time.replace(' ', 'T') + 'Z'));
        const said = (time) => new Date(time).toISOString().replace('T', ' ').replace('Z', '');
        await Plotly.relayout(chart, {'xaxis.range': [a + (b - a) * 0.91, b].map(said)});
        })()"""
    )
    window.wait_for("Math.abs(document.querySelectorAll('.flame-box')[2].dataset.share - 0.7) < 0.01")
    assert shares(window)["save"] == pytest.approx(0.1)
    # So are the tables of call sites and of file systems: the last slice has 0.1, 0.2 and 0.7 s, and 1 of 10 MiB.
    cells = "[...document.querySelectorAll('td[data-sum]')]"
    told = window.evaluate(
        f"{cells}.map((cell) => [cell.closest('section').querySelector('h2').textContent, cell.textContent])"
    )
    sites = [text for heading, text in told if heading.startswith("Call sites")]
    assert [sites[place] for place in (0, 3, 6)] == ["100 ms", "200 ms", "700 ms"]
    assert next(text for heading, text in told if heading == "File systems") == "1.00 MiB"


def test_the_report_draws_hardware_events_under_the_throughput(profile, tmp_path):
    page = tmp_path / "page.html"
    record = json_of("report", profile, "--html", page)
    assert [row["perf::TASK-CLOCK"] for row in record["hardware"]] == [3 * S] * 10
    text = page.read_text()
    headings = [text.index(f">{name}</h2>") for name in ("Throughput", "perf::TASK-CLOCK", "Metadata and sync calls")]
    assert headings == sorted(headings)
    assert record["sites"][0]["stack"][-2]["function"] == "save"
    assert record["sites"][0]["seconds"] == pytest.approx(6.4)


def test_the_command_limits_slices(profile, tmp_path):
    page = tmp_path / "page.html"
    done = slicewise(
        "report", "--flamegraph", profile, "--html", page, "--slices", f"{FIRST + 9}:{FIRST + 10}", "--json"
    )
    record = json.loads(done.stdout)
    assert [round(site["seconds"], 3) for site in record["sites"]] == [0.7, 0.2, 0.1]
    assert (record["first_slice"], record["end_slice"], record["sample_seconds"]) == (FIRST + 9, FIRST + 10, 0.01)
    folded = slicewise("export", profile, "--format", "folded").stdout
    assert "main;checkpoint;save;pwrite " in folded
    assert "<img" not in page.read_text()
    text = slicewise("report", "--flamegraph", profile, "--html", page).stdout
    assert "Most time in I/O calls (64 %) is spent in pwrite() called by save (a.py:7)." in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--slices", "x"], "--slices x: is not FIRST:END"),
        (["--slices", "1:2"], "--slices 1:2: no call site was sampled there"),
        (["--html", "/dev/null/x"], "cannot be written"),
    ],
)
def test_mistakes_are_one_line(profile, arguments, said):
    done = refusal_of("report", "--flamegraph", profile, *arguments)
    assert said in done


def test_a_job_without_samples_says_so(tmp_path):
    done = refusal_of("report", "--flamegraph", build_profile(tmp_path / "bare", [{"process": 1}]))
    assert "has no samples of call sites" in done
