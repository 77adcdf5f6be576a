"""Pages of compared runs and of copies as a reader sees them."""

from pathlib import Path

import pytest
from support import browser
from support.command_line import slicewise_command
from support.runs import read, write_run, wrote

NASTY = "<img src=x onerror=alert(1)>"
DRAWN = "document.documentElement.dataset.drawn || !document.getElementById('trouble').hidden"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of two and of three runs, and of copies of one, with a name made to break out of a page."""
    directory = tmp_path_factory.mktemp("runs")
    rows = {at: wrote(100, 0.9) for at in range(12)}
    runs = [
        write_run(directory / "yesterday", 15.2, [rows]),
        write_run(directory / NASTY, 27.3, [{at: wrote(50, 0.9) for at in range(24)}]),
        write_run(directory / "reader", 19.5, [rows | {at: read(100, 0.8) for at in range(12, 16)}]),
    ]
    made: dict[object, Path] = {}
    for count in (2, 3):
        made[count] = directory / f"{count}.html"
        done = slicewise_command("compare", *runs[:count], "--html", made[count])
        assert done.status == 0, done.errors
    made["copies"] = directory / "copies.html"
    done = slicewise_command("predict", "--copies", runs[1], "--capacity", "300MiB/s", "--html", made["copies"])
    assert done.status == 0, done.errors
    return made


@pytest.mark.skipif(
    browser.executable() is None, reason="no Chromium that runs: pages are not looked at (apt-get install chromium)"
)
def test_pages_are_drawn_within_their_edges_and_names_are_shown_as_they_are(pages):
    with browser.Browser() as window:
        for page in pages.values():
            for width in (1400, 600):
                window.resize(width, 1000)
                window.open(page, DRAWN)
                assert window.evaluate("document.getElementById('trouble').hidden"), window.troubles
                assert window.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
                assert window.evaluate("document.querySelectorAll('.chart .main-svg').length") >= 1
                assert NASTY in window.evaluate("document.querySelector('main').innerText")
                if page is pages["copies"]:
                    continue
                labels = "[...document.querySelectorAll('.chart text')].map((text) => text.textContent)"
                assert any(NASTY[:10] in label for label in window.evaluate(labels))
        assert window.evaluate("document.querySelectorAll('img').length") == 0
        assert window.troubles == []
        assert all(url.startswith(("data:", "file:")) for url in window.requests)
