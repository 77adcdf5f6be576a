"""Figures: what is drawn, not how it looks."""

import json

import numpy as np
import polars as pl
import pytest
from slicewise.analysis.job.heat import heats
from slicewise.charts import campaign, distributions, heatmap, runtimes, style, throughput
from slicewise.estimate import Estimate

MIB = 1 << 20
SLICE_NS = 4_000_000_000
SLICES = range(100, 106)
COLOURS = style.colours_of(["A", "B"])
NASTY = "</script><img src=x onerror=alert(1)>%{x}"


def moved(rows):
    return pl.DataFrame(rows, schema={"job": str, "slice": int, "bytes": int}, orient="row")


def drawn(chart, name):
    return next(trace for trace in chart.data if trace.name == name)


def test_jobs_are_stacked_in_mebibytes_a_second_and_a_step_holds_until_its_slice_ends():
    frame = moved([("A", 101, 400 * MIB), ("A", 101, 40 * MIB), ("B", 102, 80 * MIB)])
    chart = throughput.stacked(frame, COLOURS, SLICES, SLICE_NS)
    assert drawn(chart, "A").y.tolist() == [0, 110, 0, 0, 0, 0, 0]
    assert drawn(chart, "B").y.tolist() == [0, 0, 20, 0, 0, 0, 0]
    assert {drawn(chart, name).stackgroup for name in "AB"} == {"jobs"}
    assert len(drawn(chart, "A").x) == len(SLICES) + 1


def test_the_fair_share_between_two_jobs_is_drawn_only_where_there_is_one():
    frame = moved([("A", 101, MIB), ("B", 101, MIB)])
    fair = moved([("A", 102, 40 * MIB), ("A", 103, 80 * MIB), ("B", 102, 40 * MIB)])
    line = drawn(throughput.stacked(frame, COLOURS, SLICES, SLICE_NS, fair, "nodes"), "fair share by nodes")
    # The last value holds to the end of slice 103.
    np.testing.assert_array_equal(line.y, [np.nan, np.nan, 10, 20, 20, np.nan, np.nan])


def test_the_capacity_has_its_value_in_the_legend_and_its_interval_as_a_band():
    capacity = Estimate(100 * MIB, 90 * MIB, 104 * MIB, "by hand")
    chart = throughput.stacked(moved([("A", 101, MIB)]), COLOURS, SLICES, SLICE_NS, capacity=capacity)
    assert list(drawn(chart, "capacity 100 MiB/s").y) == [100, 100]
    assert [(shape.y0, shape.y1) for shape in chart.layout.shapes] == [(90, 104)]


def test_shares_are_percent_and_have_gaps_where_nothing_was_shared():
    frame = pl.DataFrame(
        {
            "job": ["A", "B"], "slice": [102, 102], "share": [0.8, 0.2], "fair_by_process": [0.75, 0.25],
            "fair_by_node": [0.5, 0.5],
        }
    )  # fmt: skip
    chart = throughput.shares(frame, COLOURS, SLICES, SLICE_NS)
    np.testing.assert_array_equal(drawn(chart, "B").y, [np.nan, np.nan, 20, 20, np.nan, np.nan, np.nan])


def test_progress_goes_from_nothing_to_all_and_is_flat_where_a_transfer_stands_still():
    frame = moved([("A", 101, MIB), ("A", 102, MIB), ("A", 104, 2 * MIB), ("B", 105, MIB)])
    chart = throughput.progress(frame, COLOURS, SLICES, SLICE_NS)
    np.testing.assert_array_equal(drawn(chart, "A").y, [np.nan, 0, 25, 50, 50, 100, np.nan])
    np.testing.assert_array_equal(drawn(chart, "B").y, [*[np.nan] * 5, 0, 100])


def test_clock_charts_share_one_axis_range():
    frame = moved([("A", 101, MIB)])
    charts = [
        throughput.stacked(frame, COLOURS, SLICES, SLICE_NS),
        throughput.directions(frame, SLICES, SLICE_NS, {"bytes": ("wrote", "#000000")}, "MiB/s", MIB),
        heatmap.processes_by_slices(heats(activity(2), SLICES, SLICE_NS), COLOURS, SLICES, SLICE_NS),
    ]
    assert len({tuple(map(str, chart.layout.xaxis.range)) for chart in charts}) == 1
    assert len({(chart.layout.margin.l, chart.layout.margin.r) for chart in charts}) == 1


def activity(processes, job="A", slices=(101, 102)):
    rows = [
        (job, process, f"n{process // 4}", process, number, 4 * MIB)
        for process in range(processes)
        for number in slices
    ]
    schema = {"job": str, "process": int, "node": str, "rank": int, "slice": int, "bytes": int}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_a_heat_map_has_a_row_a_process_grouped_by_node():
    (heat,) = heats(activity(6), SLICES, SLICE_NS)
    assert heat.labels[:2] == ["rank 0 on n0", "rank 1 on n0"]
    assert heat.nodes == [(0, "n0"), (4, "n1")]
    assert (heat.rates / MIB).tolist() == [[0, 1, 1, 0, 0, 0]] * 6


def test_nodes_come_by_their_lowest_rank_not_by_their_names():
    frame = activity(8).with_columns(node=pl.when(pl.col("rank") < 4).then(pl.lit("n9")).otherwise(pl.lit("n10")))
    (heat,) = heats(frame, SLICES, SLICE_NS)
    assert heat.nodes == [(0, "n9"), (4, "n10")]


def test_many_processes_are_averaged_without_mixing_nodes_and_without_losing_bytes():
    frame = activity(1000)
    (heat,) = heats(frame, SLICES, SLICE_NS, most_rows=200)
    assert heat.processes_per_row == 5
    assert len(heat.labels) == 250  # 250 nodes of 4 processes: a row never holds processes of two
    assert (heat.rates[:, 1] / MIB).tolist() == [1.0] * 250


def test_long_runs_are_averaged_over_slices_and_keep_their_bytes():
    slices = range(1003)
    (heat,) = heats(activity(3, slices=range(0, 1003, 7)), slices, SLICE_NS, most_columns=100)
    assert heat.slices_per_column == 11
    assert heat.rates.shape == (3, 92)
    seconds = np.minimum(11, 1003 - 11 * np.arange(92)) * 4
    assert (heat.rates * seconds).sum() == pytest.approx(3 * 144 * 4 * MIB)


def test_every_job_keeps_its_colour():
    assert style.colours_of("ABCDEFGH")["G"] == style.colours_of("A")["A"]
    frame = moved([("B", 101, MIB)])
    assert drawn(throughput.stacked(frame, COLOURS, SLICES, SLICE_NS), "B").line.color == COLOURS["B"]


def test_names_are_text_in_plotly_never_markup_nor_templates():
    colours = style.colours_of([NASTY])
    frame = moved([(NASTY, 101, MIB)])
    runs = pl.DataFrame(
        {"job": [NASTY], "kind": ["alone"], "label": ["alone"], "seconds": [1.0], "low": [0.5], "high": [2.0]}
    )
    for chart in (
        throughput.stacked(frame, colours, SLICES, SLICE_NS),
        heatmap.processes_by_slices(heats(activity(2, NASTY), SLICES, SLICE_NS), colours, SLICES, SLICE_NS),
        runtimes.observed_and_predicted(runs, colours),
    ):
        assert "<img" not in json.dumps(chart.plain())
        assert "%{x}" not in json.dumps(chart.plain()).replace("%{x}: %{z", "").replace(": %{x:", "")


def test_runtimes_have_their_intervals():
    runs = pl.DataFrame(
        {"job": ["A"], "kind": ["alone"], "label": ["alone"], "seconds": [171.0], "low": [164.0], "high": [178.0]}
    )
    (trace,) = runtimes.observed_and_predicted(runs, COLOURS).data
    assert (trace.x[0], trace.error_x.arrayminus[0], trace.error_x.array[0]) == (171, 7, 7)


def test_kinds_without_time_are_left_out_of_the_bars():
    frame = pl.DataFrame(
        {
            "rank": [0, 1], "label": ["rank 0 on a", "rank 1 on b"], "read_seconds": [0.0, 0.0],
            "write_seconds": [1.0, 2.0], "meta_seconds": [0.0, 0.1], "sync_seconds": [0.0, 0.0],
        }
    )  # fmt: skip
    assert [trace.name for trace in distributions.io_time_by_rank(frame).data] == ["write", "meta"]


def test_checks_of_many_runs_are_means_of_those_that_did_not_stand_out():
    runs = [f"run {number}" for number in range(campaign.MOST_RUNS + 1)]
    frame = pl.DataFrame({"run": runs}).with_columns(
        pair=pl.lit("1 + 4"),
        predicted=2.0,
        low=1.9,
        high=2.1,
        observed=pl.when(pl.col("run") == "run 3").then(9.0).otherwise(2.0),
        is_outlier=pl.col("run") == "run 3",
    )
    observed, predicted = campaign.predicted_and_observed(frame).data
    assert list(observed.x) == list(predicted.x) == ["1 + 4"]
    assert list(observed.y) == [2.0]
