"""`slicewise study campaign`: tables 1 to 3 of Kuo et al. from profiles, with values computed by hand."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.campaign.result import by_combination, campaign_result, figures
from slicewise.analysis.runs.campaign import campaign
from slicewise.analysis.sharing.fitted_model import CHECK_SCHEMA
from slicewise.charts.campaign import alone_and_together
from slicewise.digest.digest import Digest
from slicewise.digest.shared import read_digests
from slicewise.profile.reader import read_profile
from slicewise.report.campaign.campaign_report import campaign_page, campaign_record, figures_table, opening, tables
from slicewise.report.page import html_of
from slicewise.report.tables import Cell, Column, Table
from support.command_line import slicewise_command
from support.swz import build_profile, of_disk
from support.tabled_jobs import EPOCH, MIB, write_job

DOCUMENTED = (Path(__file__).resolve().parents[2] / "docs/commands.md").read_text()
DOCUMENTED = DOCUMENTED[
    DOCUMENTED.index("## slicewise study campaign") : DOCUMENTED.index("## slicewise study delta run")
]
MOUNT = {"type": "fuse.glusterfs", "source": "server:/volume", "point": "/mnt/volume", "object": "file"}
# MiB of each process in slices of 4 s: two jobs of two processes, which all were at work in slices 1 and 2 alone.
LARGE = [[0, 40, 40, 40, 40, 36, 0, 0, 0, 0], [0, 40, 38, 42, 40, 0, 0, 0, 0, 0]]
SMALL = [[10, 20, 20, 0, 20, 22, 60, 60, 60, 12], [12, 20, 22, 20, 20, 18, 58, 62, 60, 0]]


def write_run(folder: Path, name: str, first_slice: int, jobs: dict[str, list[list[float]]]) -> None:
    for host, (job, rows) in enumerate(jobs.items()):
        write_job(folder / f"{name}-{job}", rows, host=f"n{host}", first_slice=first_slice, mount=MOUNT)


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaign")
    for repeat in range(2):
        start = EPOCH + 1000 * repeat
        write_run(folder, f"alone{repeat}", start, {"two": [[40.0] * 4, [40.0] * 4]})
        write_run(folder, f"single{repeat}", start + 100, {"one": [[60.0] * 4]})
        write_run(folder, f"pair{repeat}", start + 200, {"large": LARGE, "small": SMALL})
    write_run(folder, "unequal", EPOCH + 5000, {"two": [[20.0] * 4, [20.0] * 4], "one": [[20.0] * 8]})
    return folder


@pytest.fixture(scope="module")
def result(profiles):
    return campaign_result([Digest(read_profile(path)) for path in sorted(profiles.iterdir())])


def test_jobs_alone(result):
    """Two processes of 160 MiB each in 16 s: 20 MiB/s; one of 240 MiB: 15 MiB/s."""
    one, two = result.alone.to_dicts()
    assert (one["pair"], two["pair"], one["files"], two["files"]) == ("1", "2", "one process", "file per process")
    assert (one["overall"], two["overall"]) == pytest.approx((15 * MIB, 20 * MIB))
    assert (one["runs"], two["runs"], two["run_rsd"], two["process_rsd"]) == (2, 2, 0, 0)


def test_jobs_together(result):
    """Large: 356 MiB in 5 slices, 158 in the region of 8 s; small: 576 in 10, 82 there. Of the four processes' bytes
    there, 80, 78, 40 and 42 MiB, the standard deviation is 19.026 and the mean 60.
    """
    pair = result.together.filter(pl.col("pair") == "2 + 2").to_dicts()
    assert [row["overall"] / MIB for row in pair] == pytest.approx([17.8, 14.4])
    assert [row["overlap"] / MIB for row in pair] == pytest.approx([19.75, 10.25])
    assert [row["overlap_seconds"] for row in pair] == [8, 8]
    assert [row["overall_ratio"] for row in pair] == pytest.approx([1, 14.4 / 17.8])
    assert [row["overlap_ratio"] for row in pair] == pytest.approx([1, 10.25 / 19.75])
    assert [row["run_process_rsd"] for row in pair] == pytest.approx([0.317105] * 2, abs=1e-6)
    assert [row["process_rsd"] for row in pair] == pytest.approx([1 / 79, 1 / 41])
    # 356 MiB alone take 17.8 s, and took 20; 576 take 28.8, and took 40.
    assert [row["alone_seconds"] for row in pair] == pytest.approx([17.8, 28.8])
    assert [row["slowdown"] for row in pair] == pytest.approx([20 / 17.8, 40 / 28.8])


def test_runs_with_other_starts_or_programs_are_no_repeats(tmp_path):
    """Of two pairs of equal jobs one begins 8 s later, and of a third one job is of another program."""
    for place, rows in enumerate(([[40.0] * 4], [[40.0] * 4])):
        write_run(tmp_path, f"r{place}", EPOCH + 1000 * place, {"a": rows, "b": [[0] * 2 * place + [40.0] * 4]})
    write_job(tmp_path / "r2-a", [[40.0] * 4], host="n0", first_slice=EPOCH + 2000, mount=MOUNT)
    write_job(tmp_path / "r2-b", [[40.0] * 4], host="n1", first_slice=EPOCH + 2000, mount=MOUNT, program="/bin/other")
    found = campaign_result([Digest(read_profile(path)) for path in sorted(tmp_path.iterdir())])
    assert found.together["runs"].to_list() == [1] * 6
    assert sorted(found.together["start"].to_list()) == [0] * 5 + [8]
    assert found.together.filter(pl.col("start") == 8)["overlap_ratio"].to_list() == [1]
    shown = tables(found)["together"]
    assert {"programs", "begins", "moves"} <= {column.heading for column in shown.columns}


def test_slices_in_which_a_job_waits_for_syncs_tell_nothing_of_the_others(tmp_path):
    """The first job writes until slice 5 and syncs until slice 8; meanwhile the storage works for it as well."""

    def row(process, slice_, **counters):
        return {"process": process, "slice": slice_, "threads": 1} | counters

    def written(folder, process, slices, syncs):
        writes = [row(process, at, write_bytes=MIB, write_ops=1, write_ns=10**9) for at in slices]
        syncing = [row(process, at, sync_ns=10**9, sync_ops=1) for at in syncs]
        ends = {"slice_ns": 10**9, "start_ns": EPOCH * 10**9, "end_ns": (EPOCH + 20) * 10**9}
        member = {"process": process, "rank": 0, "ranks": 1, "program": "/opt/writer", **ends}
        return Digest(read_profile(build_profile(tmp_path / folder, [member], [*writes, *syncing])))

    first = written("first", 1, range(EPOCH, EPOCH + 6), range(EPOCH + 6, EPOCH + 9))
    second = written("second", 2, range(EPOCH, EPOCH + 15), [])
    data = campaign([first, second])
    shown = {job: (rows["slice"] - EPOCH).to_list() for (job,), rows in data.slices.group_by("job")}
    assert shown == {"first": [1, 2, 3, 4], "second": [1, 2, 3, 4, *range(9, 14)]}


def test_what_a_disk_is_sent_after_a_job_ended_is_no_time_of_the_job(tmp_path):
    """Two jobs that never sync, one after the other on one disk, which goes on writing: each ran alone."""
    at_disk = {"mount": 1, "type": "ext4", "source": "/dev/vda", "point": "/", "object": "file"}
    second_ns = 10**9
    for name, process, first, mib in (("one", 1, EPOCH, 10), ("two", 2, EPOCH + 6, 2)):
        key = {"process": process}
        ends = {"slice_ns": second_ns, "start_ns": first * second_ns, "end_ns": (first + 5) * second_ns}
        rows = [
            key | {"slice": first + at, "write_bytes": mib * MIB, "write_ops": 1, "write_ns": second_ns // 10}
            for at in range(5)
        ]
        collected = of_disk(process + 10, range(first, first + 6), lambda _: {"write_bytes": 6 * MIB}, "vda")
        build_profile(tmp_path / name, [key | ends], rows, [key | at_disk], collected=collected)
    data = campaign(read_digests([tmp_path / "one", tmp_path / "two"]))
    assert data.activity.filter(pl.col("job") == "one")["slice"].max() > EPOCH + 4, "the disk went on"
    assert data.jobs["run"].to_list() == ["one", "two"]
    assert data.jobs["seconds"].max() <= 5


def test_overall_rates_mix_the_overlap_with_what_follows(result):
    one, two = result.together.filter(pl.col("pair") == "1 + 2").to_dicts()
    assert (one["overlap"] / MIB, two["overlap"] / MIB, two["overlap_ratio"]) == pytest.approx((5, 10, 2))
    assert (one["overall"] / MIB, two["overall"] / MIB) == pytest.approx((5, 10))
    assert one["slowdown"] == pytest.approx(32 / (160 / 15))


def test_the_conditions_are_told(result):
    found = result.conditions
    assert (found.runs_alone, found.runs_together, found.most_jobs, found.slice_seconds) == (4, 3, 2, 4)
    assert (found.processes, found.nodes, found.seconds_alone) == ((1, 2), (1, 1), (16, 16))
    assert found.files == ["file per process", "one process"]


def test_a_spread_of_one_value_is_unknown(result):
    """One process has no spread over processes, and one run none over runs."""
    assert result.alone.to_dicts()[0]["process_rsd"] is None
    assert result.together.filter(pl.col("pair") == "1 + 2")["run_rsd"].to_list() == [None, None]


def test_jobs_alone_show_nothing_of_competition(profiles):
    found = campaign_result([Digest(read_profile(path)) for path in sorted(profiles.glob("alone*"))])
    assert opening(found)[0].startswith("No two of these jobs did I/O at the same time (2 runs of one job alone)")
    assert set(tables(found)) == {"conditions", "alone"}
    assert html_of(campaign_page(found, "alone", []))


def test_two_jobs_of_equal_size_are_told_apart_in_charts(result):
    known = result.together.filter(pl.col("alone_seconds").is_not_null())
    chart = alone_and_together(known, ("alone_seconds", "seconds"), 1.0, "I/O span (s)")
    assert list(chart.layout.yaxis.ticktext) == ["1 + 2: 1", "1 + 2: 2", "2 + 2: 2 (job 1)", "2 + 2: 2 (job 2)"]


def test_documented_keys(result):
    record = campaign_record(result, None)
    for name in ("alone", "together", "runs", "figures", "combinations"):
        for key in record[name][0] if record[name] else ():
            assert f"`{key}`" in DOCUMENTED, key
    assert all(f"`{key}`" in DOCUMENTED for key in record)


def test_figures_of_checks():
    """Two runs of a pair: 10 % too fast, exact, 20 % too slow, exact; the second stood out."""
    rows = [
        ("r1", "a", 0.9, 0.95, 0.85, -0.1, True, False, "no share law"),
        ("r1", "b", 1.0, 1.1, 0.9, 0.0, False, False, None),
        ("r2", "a", 1.2, 1.3, 0.9, 0.2, True, True, None),
        ("r2", "b", 1.0, 1.1, 0.9, 0.0, False, True, None),
    ]
    names = ["run", "job", "predicted", "high", "low", "relative_error", "is_at_stake", "is_outlier", "misfit"]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        pair=pl.lit("1 + 2"), weight=pl.lit("nodes"), basis=pl.lit("capacity curve"), observed=1.0,
        own_seconds=None, own_share=None, model_share=None, capacity_ratio=None,
    )  # fmt: skip
    checked = frame.select(pl.col(name).cast(dtype) for name, dtype in CHECK_SCHEMA.items())
    every, kept, at_stake, at_stake_kept = figures(checked).to_dicts()
    assert (every["mean"], every["largest"], every["bias"], every["within"]) == pytest.approx((0.075, 0.2, 0.025, 0.75))
    assert (kept["runs"], kept["count"], kept["mean"], kept["bias"]) == pytest.approx(
        ("without outliers", 2, 0.05, -0.05)
    )
    assert (at_stake["mean"], at_stake["bias"], at_stake["within"]) == pytest.approx((0.15, 0.05, 0.5))
    assert (at_stake["largest_outside"], at_stake["warned"]) == (pytest.approx(0.1), 1)
    assert (at_stake_kept["count"], at_stake_kept["largest"]) == (1, pytest.approx(0.1))
    (combination,) = by_combination(checked).to_dicts()
    assert (combination["runs"], combination["outliers"], combination["at_stake_mean"]) == (2, 1, pytest.approx(0.15))
    assert [cell.text for cell in figures_table(figures(checked)).rows[2]][3:9] == [
        "2", "", "15.0 %", "20.0 %", "+5.0 %", "50.0 %",
    ]  # fmt: skip


def test_the_opening_tells_the_worst_first(result):
    off, worst, uneven = opening(result)
    assert off == (
        "The model of sharing does not hold here: runs that it had not seen are off by 70.8 % on average. What it says "
        "below is no forecast."
    )
    assert "3.00 times" in worst
    assert "(32.0 s instead of 10.7 s)" in worst
    assert worst.endswith(" in 1 + 2.")
    assert "bandwidths were 1 to 2.00" in uneven


def test_the_command_writes_tables_page_and_json(profiles, tmp_path, result):
    options = ("--html", tmp_path / "page.html", "--csv", tmp_path / "tables", "--json")
    done = slicewise_command("study", "campaign", profiles, *options)
    assert done.status == 0, done.errors
    record = json.loads(done.output)
    assert [row["overlap"] for row in record["together"]] == result.together["overlap"].to_list()
    assert record["alone"][1]["overall"] == pytest.approx(20 * MIB)
    assert (tmp_path / "page.html").read_text().startswith("<!")
    assert {path.stem for path in (tmp_path / "tables").iterdir()} == set(tables(result))
    headings, one, two = csv.reader((tmp_path / "tables" / "alone.csv").open())
    assert float(two[headings.index("throughput (MiB/s)")]) == pytest.approx(20)
    assert one[headings.index("processes alone")] == "1"


def test_no_name_is_a_formula_to_a_spreadsheet():
    table = Table([Column("program", is_figure=False), Column("bias", "%")])
    table.add("+cmd", Cell("-5.0 %", -5.0))
    table.add("=cmd", Cell(""))
    assert table.csv_rows() == [["program", "bias (%)"], ["'+cmd", "-5"], ["'=cmd", ""]]


def test_mistakes_are_one_line(tmp_path):
    done = slicewise_command("study", "campaign", tmp_path / "nowhere")
    assert (done.status, done.text, done.errors.count("\n")) == (2, "", 1)
    assert "nowhere" in done.errors
