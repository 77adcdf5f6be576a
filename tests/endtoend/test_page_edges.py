"""Pages of what-if commands as a reader sees them: in a browser, within their edges, without the network."""

import pytest
from slicewise.analysis.policies.comparison import compare, sweep
from slicewise.analysis.policies.probability import LoggedJob, of_log
from slicewise.analysis.policies.simulation import IoPhase, PolicyJob
from slicewise.analysis.size.points import write_table
from slicewise.report.page import html_of
from slicewise.report.policy.policy_page import machine_facts, policy_page, probability_page
from slicewise.report.policy.policy_words import for_whom, verdict
from support import browser
from support.command_line import slicewise_command
from support.io500_results import write_example
from support.size_tables import measured

DRAWN = "document.documentElement.dataset.drawn || !document.getElementById('trouble').hidden"
needs_browser = pytest.mark.skipif(
    browser.executable() is None, reason="no Chromium that runs: pages are not looked at (apt-get install chromium)"
)


def policies(file):
    phases = [tuple(IoPhase(2.0, 10.0 + number) for _ in range(3)) for number in range(4)]
    jobs = [
        PolicyJob(name, 64, 64.0, place * 3.0, phases[place], 1.0)
        for place, name in enumerate(("<b>one</b>", "two-with-a-name-that-is-longer-than-most", "three", "four"))
    ]
    found = compare(1.0, jobs)
    page = policy_page(
        found, sweep(1.0, jobs, found, 9), "test", [verdict(found), for_whom(found, found.best)],
        machine_facts(found, found.best.policy),
    )  # fmt: skip
    file.write_text(html_of(page), encoding="utf-8")


def probabilities(file):
    jobs = [LoggedJob(float(number), 30.0 + number % 7, 1 + number % 900) for number in range(2000)]
    file.write_text(html_of(probability_page(of_log(jobs, 0.05), None, "test")), encoding="utf-8")


def box(file):
    done = slicewise_command("storage", "expect", write_example(file.parent / "results"), "--html", file)
    assert done.status == 0, done.errors


def sizes(file):
    write_table(measured(0.05, 4), file.parent / "sizes.csv")
    done = slicewise_command("storage", "size", "--table", file.parent / "sizes.csv", "--own", "64KiB", "--html", file)
    assert done.status == 0, done.errors


@needs_browser
@pytest.mark.parametrize("width", [1400, 600])
@pytest.mark.parametrize("write", [policies, probabilities, box, sizes])
def test_a_page_is_drawn_within_its_edges_and_without_the_network(window, write, width, tmp_path):
    file = tmp_path / "page.html"
    write(file)
    window.requests.clear()
    window.troubles.clear()
    window.resize(width, 1000)
    window.open(file, DRAWN)
    assert window.evaluate("document.getElementById('trouble').hidden"), window.troubles
    assert not window.troubles
    assert window.evaluate("document.documentElement.scrollWidth") <= width
    assert all(request.startswith(("file:", "data:", "blob:")) for request in window.requests)
    assert window.evaluate("document.querySelectorAll('.js-plotly-plot').length") >= 2
