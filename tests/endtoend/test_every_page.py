"""The page of every command, in a browser: nothing cut off at any width, in light and dark, and accessible."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
from endtoend.test_flamegraph import profile as job_with_sites  # noqa: F401 (a fixture)
from slicewise.analysis.policies.comparison import compare, sweep
from slicewise.analysis.policies.probability import LoggedJob, of_log
from slicewise.analysis.policies.simulation import IoPhase, PolicyJob
from slicewise.analysis.size.points import write_table
from slicewise.report.page import html_of
from slicewise.report.policy.policy_report import for_whom, machine_facts, policy_page, verdict
from slicewise.report.policy.probability_words import probability_page
from slicewise.running.delta_campaign import DESCRIBED, DeltaPlan, SweepPanel, SweepPlan, runs_of
from support import browser
from support.command_line import answer_of
from support.io500_results import write_example, write_result
from support.jobs import write_competing_jobs, write_job
from support.size_tables import measured

# Texts of charts that reach over the chart's edge, but for those that show on demand.
CUT = """[...document.querySelectorAll('.chart')].flatMap((chart) => {
    const box = chart.getBoundingClientRect();
    return [...chart.querySelectorAll('text')].filter((text) => {
        const { left, right, top, bottom, width } = text.getBoundingClientRect();
        return width && !text.closest('.hoverlayer') && text.textContent.trim()
            && (left < box.left - 2 || right > box.right + 2 || top < box.top - 2 || bottom > box.bottom + 2);
    }).map((text) => text.textContent);
})"""
# Texts that their own box cuts, but for those that are for screen readers alone, and the boxes of a flame graph, which
# are as wide as what they cost.
HIDDEN = """[...document.querySelectorAll('body *:not(svg, svg *)')].filter((element) => {
    const { overflowX, overflowY } = getComputedStyle(element), cuts = (kind) => /hidden|clip/.test(kind);
    return element.clientWidth && element.textContent.trim() && !element.closest('.for-readers, .flame-box')
        && (cuts(overflowX) && element.scrollWidth > element.clientWidth + 2
            || cuts(overflowY) && element.scrollHeight > element.clientHeight + 2);
}).map((element) => [element.tagName, element.className, element.textContent.trim().slice(0, 60)])"""
OVER = "Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)"
# Colours move nothing: dark is looked at where a page is widest for its charts and narrowest for its tables.
LOOKS = {400: ("light", "dark"), 600: ("light",), 1400: ("light", "dark"), 2560: ("light",)}
ACCESSIBLE = ((400, "light"), (1400, "dark"))  # axe takes longer than all else
JOB, OTHER, ALONE = "48190", "48213", "alone-48190"
CAMPAIGNS = Path(__file__).parents[1] / "golden/campaigns"
RECORDED = ("delta-turns", "delta-glusterfs")
COMMANDS = {
    "report": ("report", JOB), "blame": ("blame", JOB), "overlap": ("overlap", OTHER, JOB, "--alone", ALONE),
    "compare": ("compare", ALONE, JOB), "compare-three": ("compare", ALONE, JOB, OTHER),
    "copies": ("predict", "--copies", ALONE, "--capacity", "2GiB/s"), "campaign": ("study", "campaign", "."),
    "policy": ("turns", "policy", OTHER, JOB),
    "policy-probability": ("turns", "probability", "."),
    "catalog-page": ("catalog", "page", "catalog"),
    "expect-place": ("storage", "place", JOB, OTHER, "--box", "../io500"),
    "delta": ("study", "delta", "read", "../sweep/delta-turns"),
    "delta-sweep": ("study", "sweep", "--page", "../sweep"), "flamegraph": ("report", "--flamegraph", "../sites"),
}  # fmt: skip


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
    answer_of("storage", "expect", write_example(file.parent / "results"), "--html", file)


def sizes(file):
    write_table(measured(0.05, 4), file.parent / "sizes.csv")
    answer_of("storage", "size", "--table", file.parent / "sizes.csv", "--own", "64KiB", "--html", file)


OF_FIGURES = {"expect-box": box, "size-table": sizes, "policies": policies, "probabilities": probabilities}

pytestmark = browser.needed


@pytest.fixture(scope="module")
def jobs(tmp_path_factory, job_with_sites):  # noqa: F811
    """Two jobs side by side and each alone, a catalog of them, a box, Delta-graphs and a job with call sites."""
    beside = tmp_path_factory.mktemp("pages")
    directory = beside / "jobs"
    write_competing_jobs(directory, OTHER, JOB)
    write_job(directory / f"alone-{OTHER}", 60, 12, {range(43): 102.0})
    write_job(directory / ALONE, 12, 12, {range(39): 101.0}, program="/opt/postproc")
    answer_of("catalog", "ingest", directory / "catalog", directory)
    write_result(beside / "io500" / "run", (0.05, 0.1), (2.0, 10))
    (beside / "sites").symlink_to(job_with_sites)
    write_sweep(beside / "sweep")
    return directory


def write_sweep(directory: Path) -> None:
    """A sweep of two panels, as it is once it is recorded: of each run the first, without its repeats."""
    plan = DeltaPlan("write a", "write b", [0.0], 1, None)
    for name in RECORDED:
        shutil.unpack_archive(CAMPAIGNS / f"{name}.tar.xz", directory)
        for repeat in [*(directory / name).glob("4*-[23]-[12]"), *(directory / name).glob("4-[23]")]:
            shutil.rmtree(repeat)
        (directory / name / "done").write_text("\n".join(run.name for run in runs_of(plan)))
    panels = [SweepPanel(name, "server", "", "", plan) for name in RECORDED]
    (directory / DESCRIBED).write_text(json.dumps(asdict(SweepPlan("How the server shares", panels))))


@pytest.mark.parametrize("kind", [*COMMANDS, *OF_FIGURES])
def test_a_page_is_whole_and_accessible(window, jobs, tmp_path, kind, monkeypatch):
    page = tmp_path / "page.html"
    monkeypatch.chdir(jobs)
    if kind in OF_FIGURES:
        OF_FIGURES[kind](page)
    else:
        answer_of(*COMMANDS[kind], "--html", page)
    window.troubles.clear()
    window.requests.clear()
    window.resize(min(LOOKS), 1000)
    window.prefer("light")
    window.open(page, browser.DRAWN)
    assert window.evaluate("document.getElementById('trouble').hidden"), window.troubles
    assert window.troubles == []
    assert [url for url in window.requests if not url.startswith(("file:", "data:"))] == []
    assert kind not in OF_FIGURES or window.evaluate("document.querySelectorAll('.js-plotly-plot').length") >= 2
    for width, each in LOOKS.items():
        window.resize(width, 1000)
        window.evaluate(browser.STILL)
        for colours in each:
            window.prefer(colours)
            window.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
            found = [window.evaluate(sought) for sought in ("innerWidth", OVER, CUT, HIDDEN)]
            assert found == [width, 0, [], []], (width, colours)
            if (width, colours) in ACCESSIBLE and browser.AXE.is_file():
                assert window.serious_findings() == [], (width, colours)
    assert window.troubles == []
