"""Boxes of expectation: the example of the models' documentation, anomalies, growth, tails, and the command."""

import itertools
import json
import re
from configparser import ConfigParser
from datetime import datetime, timezone

import polars as pl
import pytest
from slicewise.analysis.blame.case import case_of
from slicewise.analysis.expect.expectation import (
    Box,
    Boxes,
    RunBox,
    area,
    box_of,
    expectation,
    growth,
    hull,
    strips,
    union_area,
)
from slicewise.analysis.expect.place import PlacedWork, place, position
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.io500 import results
from slicewise.io500.results import IO500Run, read_results
from slicewise.io500.texts import METADATA_PHASES, PHASES, Phase, Unreadable
from slicewise.report.expect import expect_report, place_words
from slicewise.report.expect.expect_report import expectation_page, places_page
from slicewise.report.page import html_of
from slicewise.running import benchmarks, expect_campaign
from slicewise.running.benchmarks import Programs, RunSize, choose, commands, io500_config, ior_steps, load_steps
from slicewise.running.expect_campaign import CampaignPlan, run_campaign
from slicewise.text import words
from support.command_line import json_of, refusal_of, slicewise_command
from support.io500_results import EXAMPLE, rank_table, write_example, write_result
from support.runs import metadata, write_run, wrote

GOOD = [Box(*EXAMPLE[name]) for name in ("run1", "run2", "run4")]
GIB = 1 << 30
ALL = Programs(["mpirun"], {"io500": "/b/io500", "ior": "/b/ior", "mdtest": "/b/mdtest", "load": "/b/slicewise-load"})
SIZE = RunSize(2, easy_mib=64, hard_transfers=400, files=100)
IOR_TABLE = """
access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     2048.00    2048.00    0.001000    8192       1024.00    0.000087   0.010651   0.000369   0.500000   0
"""
MDTEST_TABLE = """
   Operation                     Max            Min           Mean        Std Dev
   File creation                 0.000          0.000          0.000          0.000
   File stat                  4000.000       4000.000       4000.000          0.000
"""


def test_the_union_is_not_its_hull():
    assert union_area(GOOD) == pytest.approx(34.86)
    assert area(hull(GOOD)) == pytest.approx(37)
    assert any(box.holds((2, 5)) for box in GOOD)
    assert not any(box.holds((0.7, 2.5)) for box in GOOD)
    assert hull(GOOD).holds((0.7, 2.5))
    assert sum((right - left) * (high - low) for left, right, parts in strips(GOOD) for low, high in parts) == (
        pytest.approx(34.86)
    )


def test_hard_better_than_easy_is_an_anomaly_of_that_axis():
    assert Box(*EXAMPLE["run3"]).anomalies == ["bandwidth"]
    assert Box((1, 3), (2, 2)).anomalies == ["metadata"]
    assert GOOD[0].anomalies == []


def test_a_union_that_no_run_enlarges_has_stopped_growing():
    assert growth(GOOD).settled_after is None
    assert growth([Box((1, 1), (2 + 1 / number, 2)) for number in range(4, 0, -1)]).settled_after is None
    # The third run adds less than 5 %.
    found = growth([GOOD[1], GOOD[0], GOOD[2], *GOOD, *GOOD])
    assert found.settled_after == 2
    assert found.added == pytest.approx(0)
    assert found.areas[-1] == pytest.approx(34.86)


def test_the_box_of_a_run_is_made_of_geometric_means_by_kind(tmp_path):
    run = write_result(tmp_path / "run", (1, 2), (4, 10))
    text = (run / "result_summary.txt").read_text()
    lines = [line.replace("4.000000", "16.000000") if "ior-easy-read" in line else line for line in text.splitlines()]
    (run / "result_summary.txt").write_text("\n".join(lines))
    phases = read_results([run]).runs[0].phases
    assert box_of(phases, "aggregate") == Box((1, 2), (8, 10))
    assert box_of(phases, "write") == Box((1, 2), (4, 10))
    assert box_of(phases, "read") == Box((1, 2), (16, 10))


@pytest.mark.parametrize(("seconds", "lines"), [("0.000760", 1), ("300.000000", 0)])
def test_phases_that_are_too_short_are_told(tmp_path, seconds, lines):
    run = write_result(tmp_path / "run", (1, 2), (4, 10))
    text = (run / "result_summary.txt").read_text()
    (run / "result_summary.txt").write_text(re.sub(r"time \d+\.\d+", f"time {seconds}", text))
    said = expect_report.too_short(expectation(read_results([run])))
    assert len(said) == lines
    assert all("took less than 500 ms, one of them 760 us" in line for line in said)


def test_the_command_says_the_examples_figures(tmp_path):
    record = json_of("storage", "expect", write_example(tmp_path / "runs"), "--point", "2,5")
    assert record["union_area"] == pytest.approx(34.86)
    assert record["hull_area"] == pytest.approx(37)
    assert [(run["name"], tuple(run["hard"]), tuple(run["easy"])) for run in record["runs"]] == [
        (name, *corners) for name, corners in EXAMPLE.items()
    ]
    assert [run["is_anomaly"] for run in record["runs"]] == [False, False, True, False]
    assert record["runs"][2]["why"] == "bandwidth: hard is better than easy (2 against 1.5 GiB/s)"
    assert record["unreadable"] == []
    assert record["point"]["is_inside"]
    between = slicewise_command("storage", "expect", tmp_path / "runs", "--point", ".7,2.5", "--json")
    assert (json.loads(between.text)["point"]["is_inside"], json.loads(between.text)["point"]["is_in_hull"]) == (
        False,
        True,
    )


def test_the_command_in_words(tmp_path):
    page = tmp_path / "page.html"
    done = slicewise_command("storage", "expect", write_example(tmp_path / "runs"), "--point", ".7,2.5", "-o", page)
    assert done.text.startswith("Expect 0.500 to 4.20 GiB/s and 2.00 to 12.0 kIOPS here: from 3 runs of IO500")
    assert "is not in the box: it lies between the boxes of single runs, in none of them." in done.text
    assert "Anomaly, left out of the union: run3: bandwidth: hard is better than easy" in done.text
    assert f"Page: {page}" in done.text
    assert "What this file system gives" in page.read_text()


def test_bad_input_is_one_line(tmp_path):
    done = refusal_of("storage", "expect", write_example(tmp_path / "runs"), "--point", "2")
    assert "--point 2: is no point" in done


def test_the_sick_node_of_a_campaign_is_named(tmp_path):
    for number in range(6):
        is_sick = number in (2, 4)
        hard, easy = ((2, 2.5), (1.5, 11)) if is_sick else ((1, 2 + number / 10), (4 + number / 10, 10))
        run = write_result(tmp_path / f"run{number}", hard, easy, seconds=300 + 200 * is_sick)
        rates = {rank: (30.0 if is_sick and rank // 4 == 5 else 100.0) + rank % 3 for rank in range(32)}
        (run / "ior-easy-write.csv").write_text(rank_table(rates, "ior-easy-write"))
        (run / "ior-easy-write.txt").write_text("".join(f"task {rank} on cn{rank // 4:03}\n" for rank in range(32)))
    found = expectation(read_results([tmp_path]))
    assert [run.run.name for run in found.first.runs if run.is_anomaly] == ["run2", "run4"]
    assert list(found.lagging) == ["cn005"]
    said = expect_report.anomalies(found)[0]
    assert "cn005 (ranks 20-23 of 32) was 3.2 times slower than the median rank in ior-easy-write." in said
    assert expect_report.lagging(found)[0].startswith("cn005 lagged in 2 of 6 runs (ior-easy-write)")
    tail = next(tail for tail in found.tails if tail.phase == "ior-easy-write")
    assert (tail.median, tail.worst) == (300, 500)
    assert "cn005" in html_of(expectation_page(found))


def test_where_most_runs_are_anomalies_it_is_said(tmp_path):
    for number in range(3):
        write_result(tmp_path / str(number), (2, 2.5), (1.5 if number else 4, 11))
    said = expect_report.opening(expectation(read_results([tmp_path])))
    assert said[-1].startswith("2 of 3 runs are anomalies. Either hard I/O is no harder here than easy I/O")


def boxes_of(*corners):
    runs = [RunBox(IO500Run(str(number), None, {}), Box(hard, easy)) for number, (hard, easy) in enumerate(corners)]
    return Boxes("POSIX", "IO500", "aggregate", runs)


EXAMPLE_BOXES = boxes_of(*(EXAMPLE[name] for name in ("run1", "run2", "run4")))


def work(gib=0.0, data_seconds=0.0, operations=0.0, metadata_seconds=0.0, seconds=100.0):
    return PlacedWork(seconds, 0, round(gib * GIB), operations, data_seconds, metadata_seconds)


def test_a_point_is_made_of_rates_over_the_time_in_calls_and_over_the_wall():
    done = work(gib=20, data_seconds=10, operations=50_000, metadata_seconds=10)
    assert done.point == (2, 5)
    assert done.metadata_per_wall == 0.5
    assert position(done, EXAMPLE_BOXES).is_inside
    assert not position(work(7, 10, 25_000, 10), EXAMPLE_BOXES).is_inside


def test_an_axis_without_time_does_not_judge():
    data = position(work(20, 10, operations=1, metadata_seconds=0.001), EXAMPLE_BOXES)
    assert (data.is_inside, data.sides) == (True, {"bandwidth": "within"})
    files = position(work(operations=130_000, metadata_seconds=10), EXAMPLE_BOXES)
    assert (files.is_inside, files.sides) == (False, {"metadata": "above"})
    assert position(work(), EXAMPLE_BOXES).is_inside is False


def test_the_share_of_easy_is_the_time_that_easy_io_would_take():
    boxes = boxes_of(((1, 2), (4, 10)))
    # 4 GiB at 4 GiB/s are 1 s, 10,000 operations at 10 kIOPS 1 s more: 2 of 8 s.
    found = position(work(4, 2, 10_000, 6), boxes)
    assert found.share_of_easy == pytest.approx(0.25)
    assert found.held_back == "metadata"
    assert position(work(4, 7, 10_000, 1), boxes).held_back == "bandwidth"
    assert position(work(8, 1, 10_000, 1), boxes).held_back is None
    # A benchmark of metadata alone, at twice the easy rate: bytes that it never moved hold nothing back.
    files = position(work(0, 0.001, 20_000, 1), boxes)
    assert files.share_of_easy == pytest.approx(2, rel=0.01)
    assert files.held_back is None
    assert position(work(0, 0.2, 5_000, 1), boxes).held_back == "metadata"


@pytest.fixture
def box(tmp_path):
    """A box from 50 to 500 MiB/s and 0.1 to 10 kIOPS."""
    return write_result(tmp_path / "io500" / "run", (50 / 1024, 0.1), (500 / 1024, 10))


def placed(job, box):
    return place(case_of(job), expectation(read_results([box])))


def test_a_job_is_placed_by_what_it_did_on_its_storage(tmp_path, box):
    # Two processes: 100 MiB/s together while in data calls, 1,000 metadata calls in 2 s of each.
    rows = [{at: wrote(50, 0.9) | metadata(100, 0.1) for at in range(10)} for _ in range(2)]
    job = write_run(tmp_path / "profiles" / "sim", 20, rows)
    found = placed(job, box)
    assert found.whole.bandwidth * 1024 == pytest.approx(1000 / 9, rel=1e-3)
    assert found.whole.metadata == pytest.approx(2.0)
    assert found.whole.metadata_per_wall == pytest.approx(0.1)
    assert found.position.is_inside
    assert found.phase.seconds == 10
    assert found.direction.kind == "write"
    verdict = place_words.lines(found)[-1]
    assert verdict.startswith(
        "sim is in the box, at 22 % of what this file system gives to well-formed I/O; bandwidth is"
    )
    assert "bandwidth is what holds it back: 1 MiB writes" in verdict


@pytest.mark.parametrize(("in_hdf5", "api"), [(0.6, "HDF5"), (0.4, "POSIX")])
def test_a_job_by_hdf5_is_held_against_hdf5s_box(tmp_path, box, monkeypatch, in_hdf5, api):
    """Where there is one: in_hdf5 is the share of the time in writes that was within its calls."""
    of_hdf5 = write_result(tmp_path / "by-hdf5" / "run", (40 / 1024, 0.1), (400 / 1024, 10))
    for directory, name in ((of_hdf5, "HDF5"), (box, "POSIX")):
        for phase in ("easy", "hard"):
            (directory / f"ior_{phase}_write.txt").write_text(f"api                = {name}\n")
    job = write_run(tmp_path / "profiles" / "sim", 20, [{at: wrote(50, 0.5) for at in range(10)}])
    calls = pl.DataFrame({"library": ["hdf5"], "file_ns": [int(in_hdf5 * 5e9)]})
    monkeypatch.setattr(Digest, "library_calls", calls)
    found = place(case_of(job), expectation(read_results([box, of_hdf5])))
    assert (found.api, found.boxes.api) == (api, api)
    assert place(case_of(job), expectation(read_results([box]))).api == "POSIX"


def test_programs_that_run_one_after_the_other_take_their_times_together(tmp_path, box):
    rows = [{at: wrote(100, 0.5) for at in range(5)}, {at: wrote(100, 0.5) for at in range(5, 10)}]
    found = placed(write_run(tmp_path / "profiles" / "chain", 20, rows), box)
    assert found.whole.data_seconds == pytest.approx(5)
    assert found.whole.bandwidth * 1024 == pytest.approx(200)


def test_worse_than_any_benchmark_with_nobody_else_is_news(tmp_path, box):
    job = write_run(tmp_path / "profiles" / "sim", 20, [{at: wrote(5, 0.9) | {"sync_ops": 1} for at in range(10)}])
    found = placed(job, box)
    assert (found.is_inside, found.is_below, found.company) == (False, True, [])
    assert found.is_cached is False
    assert found.is_news
    assert "Tell your operators" in place_words.verdict(found)


def test_with_company_it_is_no_news(tmp_path, box):
    job = write_run(tmp_path / "profiles" / "sim", 20, [{at: wrote(5, 0.9) for at in range(10)}])
    write_run(tmp_path / "profiles" / "other", 20, [{at: wrote(80, 0.9) for at in range(10)}], program="/opt/other")
    found = placed(job, box)
    assert found.company == ["other"]
    assert not found.is_news
    assert "Others were active, which may be why." in place_words.verdict(found)


def test_what_stays_in_memory_is_outside_of_any_honest_box(tmp_path, box):
    job = write_run(
        tmp_path / "profiles" / "sim", 20, [{at: wrote(100, 0.9) for at in range(10)}],
        mounts={"type": "tmpfs", "source": "tmpfs"},
    )  # fmt: skip
    found = placed(job, box)
    assert found.position.is_inside
    assert not found.is_inside
    assert place_words.verdict(found).startswith("sim cannot be judged by the box: it worked in the page cache")


def test_cached_bytes_that_took_no_time_do_not_judge_a_job(tmp_path, box):
    rows = [{at: wrote(1, 0.001) | metadata(500, 0.9) for at in range(10)}]
    job = write_run(tmp_path / "profiles" / "sim", 20, rows, mounts={"type": "tmpfs", "source": "tmpfs"})
    found = placed(job, box)
    assert (found.is_cached, found.is_apart, found.is_inside) == (True, False, True)
    assert "metadata is what holds it back: 1 MiB writes, 5,000 metadata operations." in place_words.verdict(found)


def test_a_job_without_io_has_no_place(tmp_path, box):
    job = write_run(tmp_path / "profiles" / "idle", 20, [{}])
    with pytest.raises(UserError, match="did no I/O on files"):
        placed(job, box)


def test_the_command_places_jobs(tmp_path, box):
    job = write_run(tmp_path / "profiles" / "sim", 20, [{at: wrote(100, 0.9) | {"sync_ops": 1} for at in range(10)}])
    record = json_of("storage", "place", job, "--box", box)
    (one,) = record["jobs"]
    assert one["job"] == "sim"
    assert one["bandwidth"] * 1024 == pytest.approx(1000 / 9, rel=1e-3)
    assert one["is_inside"]
    assert one["judged_by"] == ["bandwidth"]
    assert one["share_of_easy"] == pytest.approx(2 / 9, rel=1e-3)
    assert record["runs"][0]["easy"] == [pytest.approx(500 / 1024, rel=1e-5), 10]
    text = slicewise_command("storage", "place", job, "--box", box).text
    assert "sim is in the box, at 22 % of what this file system gives" in text
    assert "page:" in text.lower()
    refusal_of("storage", "place", job, "--box", tmp_path / "nowhere")


def test_the_page_shows_jobs_and_boxes(tmp_path, box):
    rows = [{at: wrote(50, 0.9) | metadata(100, 0.1) for at in range(10)}]
    found = placed(write_run(tmp_path / "profiles" / "a<b>", 20, rows), box)
    page = html_of(places_page(expectation(read_results([box])), [found], []))
    assert "a&lt;b&gt; is in the box" in page
    # The phases of the box are IO500's, and nothing but the busiest one is a phase of the job.
    terms = re.findall(r'([\w -]*)<a class="term" href="[^"]*" data-term="term-([a-z0-9-]*(?:phase|alone))"', page)
    assert {term for _, term in terms} == {"io500-phase", "phase"}
    assert {before for before, term in terms if term == "phase"} <= {" busiest "}


def test_few_operations_are_not_told_in_thousands():
    assert [place_words._operations(rate) for rate in (7.06e-05, 0.0251, None)] == [
        "0.0706 IOPS", "0.0251 kIOPS", f"{words.number(None)} kIOPS",
    ]  # fmt: skip


def test_the_most_real_benchmark_that_is_there_is_chosen():
    assert choose(ALL, None) == "io500"
    without = Programs(["mpirun"], {name: path for name, path in ALL.paths.items() if name != "io500"})
    assert choose(without, None) == "ior"
    assert choose(without, "load") == "load"
    assert choose(Programs(["mpirun"], {"ior": "/b/ior", "load": "/b/load"}), None) == "load"
    with pytest.raises(UserError, match="needs io500 in PATH; install that, or give results that you have"):
        choose(without, "io500")
    with pytest.raises(UserError, match="io500 in PATH, or ior and mdtest in PATH, or slicewise-load"):
        choose(Programs(["mpirun"]), None)


def test_hdf5_is_iors_and_io500s_and_mdtest_has_none(tmp_path):
    assert choose(ALL, None, "hdf5") == "io500"
    with pytest.raises(UserError, match="needs io500 in PATH, or ior and mdtest in PATH; install"):
        choose(Programs(["mpirun"], {"load": "/b/load"}), None, "hdf5")
    with pytest.raises(UserError, match="slicewise-load has no HDF5"):
        choose(ALL, "load", "hdf5")
    steps = [step.words[0] for step in ior_steps(ALL, SIZE, tmp_path, "hdf5")]
    assert all(words[1:3] == ["-a", "HDF5"] for words in steps if words[0].endswith("ior"))
    assert not any("HDF5" in words for words in steps if words[0].endswith("mdtest"))
    config = ConfigParser()
    config.read_string(io500_config(tmp_path, tmp_path, 1, "hdf5"))
    assert config["global"]["api"] == "POSIX"
    assert config["ior-easy"]["api"] == config["ior-hard"]["api"] == "HDF5"
    config.read_string(io500_config(tmp_path, tmp_path, 1, "mpiio"))
    assert config["global"]["api"] == "MPIIO"


def test_processes_with_words_of_their_own_are_one_job():
    assert commands(ALL, [["a", "b"]], 3) == ["mpirun", "-n", "3", "a", "b"]
    assert commands(ALL, [["a"], ["b"]], 2) == ["mpirun", "-n", "1", "a", ":", "-n", "1", "b"]


def test_ior_and_mdtest_give_every_phase(tmp_path):
    steps = ior_steps(ALL, SIZE, tmp_path, "posix")
    said = {"ior": IOR_TABLE, "mdtest": MDTEST_TABLE.replace("0.000", "8000.0", 1)}
    for what in ("File read", "File removal"):
        said["mdtest"] += f"   {what}  1000.000  1000.000\n"
    phases = [phase for step in steps for phase in step.read(said[step.words[0][0].rsplit("/", 1)[-1]])]
    assert {phase.name for phase in phases} == set(PHASES)
    rates = {phase.name: (phase.rate, phase.seconds) for phase in phases}
    assert rates["ior-easy-write"] == (2.0, 0.5)
    assert rates["mdtest-easy-stat"] == (4.0, 0.05)


def test_the_workload_program_gives_both_axes(tmp_path):
    said = (
        "2 processes wrote 1073741824 bytes in 2.000 s: 512.00 MiB/s, in calls 2 s at most, 2 s in the mean, from 1.0\n"
    )
    phases = {phase.name: phase for step in load_steps(ALL, SIZE, tmp_path, "posix") for phase in step.read(said)}
    assert phases["ior-hard-read"].rate == 0.5
    assert phases["mdtest-easy-write"].rate == pytest.approx(0.2)
    for kind in ("aggregate", "write", "read"):
        assert box_of(phases, kind).hard == (0.5, pytest.approx(0.2))
    with pytest.raises(UserError, match="ior-easy-write printed no result, and last: mpirun: no such host"):
        load_steps(ALL, SIZE, tmp_path, "posix")[0].read("mpirun: no such host\n")


def test_sizes_are_fitted_to_the_time_of_a_phase():
    took = {"ior-easy-write": 0.5, "ior-easy-read": 0.1, "ior-hard-write": 4.0, "mdtest-hard-write": 0.25}
    phases = {name: Phase(name, 1.0, seconds) for name, seconds in took.items()}
    assert SIZE.fitted(phases, 2.0) == RunSize(2, easy_mib=256, hard_transfers=200, files=800)


def test_a_run_is_kept_with_its_label(tmp_path):
    phases = {name: Phase(name, 1.5, 2.0) for name in PHASES}
    start = read_results([tmp_path])
    assert start.runs == []
    run = results.IO500Run("run-01", tmp_path, phases, "POSIX", datetime.now(timezone.utc), "x (not IO500)", 2)
    (tmp_path / "run-01").mkdir()
    (tmp_path / "run-01" / results.RUN_FILE).write_text(results.run_text(run))
    (found,) = read_results([tmp_path]).runs
    assert (found.benchmark, found.processes, found.phases, found.start) == ("x (not IO500)", 2, phases, run.start)
    with pytest.raises(Unreadable, match="damaged"):
        results.read_run("{}", "run-01", tmp_path)


def campaign(tmp_path, monkeypatch, rates, **changed):
    """A campaign whose programs say these rates, one after the other for ever."""
    said = itertools.cycle(rates)

    def one_run(*_):
        rate = next(said)
        hard = {name: Phase(name, rate / 2 if "hard" in name else rate, 0.1) for name in PHASES}
        return [benchmarks.BenchmarkStep([["x"]], lambda *_: list(hard.values()))]

    monkeypatch.setattr(benchmarks, "load_steps", one_run)
    monkeypatch.setattr(expect_campaign, "_output", lambda *_: "")
    plan = CampaignPlan(ALL, "load", SIZE, changed.get("seconds", 60), changed.get("most_runs", 20), "posix", 1)
    run_campaign(plan, tmp_path / "campaign", lambda _: None)
    return read_results([tmp_path / "campaign"]).runs


def test_a_campaign_ends_when_the_union_stops_growing(tmp_path, monkeypatch):
    runs = campaign(tmp_path, monkeypatch, [2.0])
    assert len(runs) == 4
    assert all(run.benchmark == "slicewise-load (not IO500)" for run in runs)
    assert set(METADATA_PHASES) <= set(runs[0].phases)
    assert not (tmp_path / "campaign" / "data").exists()


def test_a_campaign_ends_when_its_runs_are_used_up(tmp_path, monkeypatch):
    assert len(campaign(tmp_path, monkeypatch, [2.0**power for power in range(10)], most_runs=5)) == 5


def test_a_directory_with_other_files_is_refused(tmp_path, monkeypatch):
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "thesis.tex").write_text("")
    with pytest.raises(UserError, match=r"holds other files \(thesis.tex\)"):
        campaign(tmp_path, monkeypatch, [1.0])
