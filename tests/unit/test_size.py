"""Bandwidth and latency by transfer size: tables of measurements, intervals, the law, advice and predictions."""

import json
import math
import re

import numpy as np
import polars as pl
import pytest
from slicewise.analysis.size import predict
from slicewise.analysis.size.points import CONFIGURATION, curves, equation_1, read_table, write_table
from slicewise.analysis.size.predict import predictions
from slicewise.analysis.size.size import Requirements, advise, size_result
from slicewise.errors import UserError
from slicewise.report.page import html_of
from slicewise.report.size import size_report
from slicewise.report.size.size_report import size_page
from support.command_line import answer_of, refusal_of, slicewise_command
from support.size_tables import KIB, MIB, MOST, SIZES, measured, true_bandwidth

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch):
    monkeypatch.setattr(predict, "TREES", 5)


def only_curve(points: pl.DataFrame):
    [curve] = curves(points)
    return curve


def test_equation_1_of_the_paper():
    assert equation_1(16 * GIB, GIB, 4 * MIB, 400 * MIB) == pytest.approx(0.16)


def test_equation_1_stands_beside_what_was_measured():
    known = measured(0, 1, sizes=[4 * MIB], processes=16, block_size=GIB, file_size=16 * GIB)
    [point] = only_curve(known).points
    assert point.equation_1 == pytest.approx(16 * 4 * MIB / true_bandwidth(4 * MIB))
    assert point.equation_1 == pytest.approx(point.latency.value)
    assert point.little == pytest.approx(1)


def test_the_law_is_off_where_processes_were_not_in_calls_all_the_time():
    points = measured(0, 2).with_columns(bandwidth=pl.col("bandwidth") * 0.7)
    found = size_result(points, Requirements())
    assert (found.on_law, found.off_law) == (0, len(SIZES))
    assert all(point.little == pytest.approx(0.7) for point in found.first.curve.points)
    unknown = points.with_columns(in_flight=pl.lit(None, pl.Float64))
    assert (size_result(unknown, Requirements()).on_law, size_result(unknown, Requirements()).off_law) == (0, 0)


def test_intervals_hold_the_truth_in_95_of_100_tables():
    """200 tables, 6 sizes each; the binomial distribution of 1,200 leaves 95 % by 1.3 % at most, 95 times of 100."""
    held = [
        estimate.low <= truth <= estimate.high
        for seed in range(200)
        for point in only_curve(measured(0.08, 4, seed)).points
        for estimate, truth in (
            (point.bandwidth.estimate, true_bandwidth(point.size)),
            (point.latency.estimate, 2 * point.size / true_bandwidth(point.size)),
        )
    ]
    assert len(held) == 2400
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)


def test_ratios_hold_the_truth_too():
    truth = true_bandwidth(MIB) / true_bandwidth(64 * KIB)
    held = []
    for seed in range(200):
        curve = only_curve(measured(0.08, 4, seed))
        ratio = curve.at(MIB).bandwidth.over(curve.at(64 * KIB).bandwidth).estimate
        held.append(ratio.low <= truth <= ratio.high)
    assert np.mean(held) >= 0.93


@pytest.mark.parametrize(("noise", "right"), [(0.0, 1.0), (0.02, 1.0), (0.1, 0.97)])
def test_the_size_for_throughput_gives_nine_tenths_of_the_best(noise, right):
    """The truth: 1 MiB gives 94.1 % of 4 MiB's limit and 95.6 % of what 4 MiB gives."""
    best = true_bandwidth(SIZES[-1])
    taken = [advise(only_curve(measured(noise, 3, seed)), "throughput") for seed in range(200)]
    shares = [true_bandwidth(advice.point.size) / best for advice in taken]
    assert np.mean([share >= 0.9 for share in shares]) >= right
    if not noise:
        assert taken[0].point.size == MIB
        assert taken[0].best.size == 4 * MIB


def test_confidence_follows_repeats_and_noise():
    def confidence(noise, repeats, seed=1):
        return advise(only_curve(measured(noise, repeats, seed)), "throughput").confidence

    assert confidence(0.005, 5) == "high"
    assert confidence(0.005, 1) == "low"
    assert confidence(0.005, 2) == "medium"
    assert confidence(0.4, 3) == "low"
    assert advise(only_curve(measured(0.01, 5, sizes=[MIB])), "throughput").confidence == "unknown"


def test_the_most_that_is_lost_is_seldom_more_than_told():
    missed = 0
    for seed in range(200):
        advice = advise(only_curve(measured(0.05, 4, seed)), "throughput")
        missed += true_bandwidth(SIZES[-1]) / true_bandwidth(advice.point.size) - 1 > advice.most_loss
    assert missed <= 0.05 * 200


def test_sizes_that_cannot_be_told_apart_are_named():
    flat = measured(0.05, 3).with_columns(bandwidth=pl.lit(100.0 * MIB))
    advice = advise(only_curve(flat), "throughput")
    assert advice.point.size == SIZES[0]
    assert list(advice.as_good) == list(SIZES)


def test_two_runs_of_each_size_tell_22_times_the_bandwidth_apart():
    """105 against 2,334 MiB/s, each within a fifth of its mean: by two runs alone an interval is 12.7 times as wide."""
    factors = (0.85, 1.15)
    points = measured(0, 2, sizes=(4 * KIB, 64 * KIB, MIB, 4 * MIB))
    means = (105.0, 1200.0, 2334.0, 2300.0)
    curve = only_curve(
        points.with_columns(bandwidth=pl.Series([mean * MIB * factor for mean in means for factor in factors]))
    )
    assert list(advise(curve, "throughput").as_good) == [MIB, 4 * MIB]


def test_a_size_whose_mean_may_be_luck_is_passed_over():
    """256 KiB has the mean of 1 MiB and scatters; 1 MiB is steady."""
    steady, wild = (0.99, 1.0, 1.01), (0.8, 1.0, 1.25)
    factors = {256 * KIB: wild, MIB: steady, 4 * MIB: steady}
    points = measured(0, 3, sizes=tuple(factors))
    bandwidths = [100.0 * MIB * factor for each in factors.values() for factor in each]
    curve = only_curve(points.with_columns(bandwidth=pl.Series(bandwidths)))
    assert advise(curve, "throughput").point.size == MIB
    all_wild = points.with_columns(bandwidth=pl.Series([100.0 * MIB * factor for factor in wild] * 3))
    assert advise(only_curve(all_wild), "throughput").point.size == 256 * KIB


def test_for_latency_the_largest_of_the_shortest_calls():
    calls = pl.DataFrame({"size": SIZES, "latency": [1.0, 1.02, 1.04, 2.0, 4.0, 8.0]}, schema_overrides={"size": int})
    points = measured(0, 3).drop("latency").join(calls, on="size").select(measured(0, 1).columns)
    assert advise(only_curve(points), "latency").point.size == SIZES[2]
    assert advise(only_curve(measured(0, 3)), "latency").point.size == SIZES[0]


def test_bounds_on_latency_and_bandwidth():
    curve = only_curve(measured(0, 3))
    latency = {point.size: point.latency.value for point in curve.points}
    slowest = (latency[64 * KIB] + latency[256 * KIB]) / 2
    within = advise(curve, "throughput", Requirements(latency=slowest))
    assert within.point.size == 64 * KIB
    fast_enough = advise(curve, "latency", Requirements(bandwidth=0.75 * MOST))
    assert fast_enough.point.size == 256 * KIB
    assert advise(curve, "throughput", Requirements(latency=slowest, bandwidth=0.75 * MOST)) is None
    noisy = only_curve(measured(0.1, 3))
    on_the_edge = noisy.at(256 * KIB).latency.value * 1.0001
    assert not advise(noisy, "throughput", Requirements(latency=on_the_edge)).is_sure_of_bounds


def test_a_second_job_is_a_ratio_at_each_size():
    alone = measured(0.01, 3)
    beside = measured(0.01, 3, seed=2, beside="a second job").with_columns(
        bandwidth=pl.col("bandwidth") * 0.5, latency=pl.col("latency") * 2
    )
    found = size_result(pl.concat([alone, beside]), Requirements())
    assert [effect.size for effect in found.effects] == list(SIZES)
    for effect in found.effects:
        assert effect.bandwidth.estimate.low < 0.5 < effect.bandwidth.estimate.high
        assert effect.latency.value == pytest.approx(2, rel=0.05)
    assert found.first.curve.curve.beside == ""


def test_folds_hold_whole_configurations(monkeypatch):
    """With random truths for each configuration, whoever has learnt from a repeat would know the others."""
    random = np.random.default_rng(7)
    points = pl.concat(measured(0, 4, sizes=SIZES, processes=n) for n in (1, 2, 4, 8, 16, 32))
    truths = points.select(CONFIGURATION).unique(maintain_order=True)
    truths = truths.with_columns(bandwidth=pl.Series(random.uniform(1e6, 1e9, truths.height)))
    points = points.drop("bandwidth").join(truths, on=CONFIGURATION, nulls_equal=True).select(points.columns)
    found = predictions(points)
    errors = {model.model: model.rmse for model in found.models if model.target == "bandwidth"}
    assert found.configurations == 36
    assert min(errors.values()) > 0.9 * points["bandwidth"].std()
    seen = []

    def remember(features, truth):
        seen.append({tuple(row) for row in features})
        return lambda judged: (seen.append({tuple(row) for row in judged}), np.zeros(len(judged)))[1]

    monkeypatch.setattr(predict, "_mean", remember)
    predictions(points)
    for learnt, judged in zip(seen[::2], seen[1::2], strict=True):
        assert learnt.isdisjoint(judged)


def test_the_regression_finds_a_logarithmic_law_and_the_mean_does_not():
    points = pl.concat(
        measured(0, 2, sizes=[4 * KIB << power for power in range(11)], processes=n) for n in (1, 2, 4)
    ).with_columns(bandwidth=1e8 + 3e7 * pl.col("size").log() - 1e7 * pl.col("processes").log())
    errors = {model.model: model.rmse for model in predictions(points).models if model.target == "bandwidth"}
    assert errors["logarithmic regression"] < 1e-6 * errors["mean"]


def test_the_forest_finds_what_no_logarithm_has():
    pytest.importorskip("sklearn.ensemble", reason="not installed: scikit-learn")
    points = pl.concat(
        measured(0.02, 3, sizes=[4 * KIB << power for power in range(11)], processes=n) for n in (1, 2, 4)
    ).with_columns(bandwidth=pl.when(pl.col("size") > 100 * KIB).then(4e8).otherwise(1e8) * pl.col("processes").sqrt())
    errors = {model.model: model.rmse for model in predictions(points).models if model.target == "bandwidth"}
    assert errors["random forest"] < errors["logarithmic regression"] < errors["mean"]


def test_without_scikit_learn_one_line_says_so(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(predict.importlib, "import_module", missing)
    found = predictions(pl.concat(measured(0, 2, processes=n) for n in (1, 2)))
    assert {model.model for model in found.models} == {"mean", "logarithmic regression"}
    assert "pip install 'slicewise[forest]'" in found.refused


def test_too_few_configurations_are_not_modelled():
    assert predictions(measured(0, 5)).models == []
    assert "6 configurations are too few" in predictions(measured(0, 5)).refused


def test_a_table_is_read_as_it_was_written(tmp_path):
    points = measured(0.1, 2, block_size=GIB, file_size=2 * GIB)
    write_table(points, tmp_path / "a.csv", ["made by a test"])
    assert (tmp_path / "a.csv").read_text().startswith("# made by a test\n")
    assert read_table(tmp_path / "a.csv").equals(points)


def test_a_table_takes_units_and_fills_in_what_it_lacks(tmp_path):
    (tmp_path / "a.csv").write_text("Size,bandwidth,latency,processes\n64KiB,400MiB/s,0.01,2\n4096,1000,1e-3,\n")
    first, second = read_table(tmp_path / "a.csv").to_dicts()
    assert (first["size"], first["bandwidth"], first["in_flight"]) == (64 * KIB, 400 * MIB, 2)
    assert (second["size"], second["bandwidth"], second["in_flight"], second["processes"]) == (4096, 1000, None, None)
    assert (first["direction"], first["access"], first["sharing"]) == ("write", "sequential", "file per process")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "has no column size"),
        ("size,bandwidth,latency\n", "has no rows"),
        ("size,bandwidth\n1,2\n", "has no column latency"),
        ("size,bandwidth,latency,speed\n1,2,3,4\n", "column speed is not known"),
        ("size,bandwidth,latency\n4KiB,1,0\n", "row 2: latency is 0; give a number above 0"),
        ("size,bandwidth,latency\n4KiB,1,nan\n", "row 2: latency is nan"),
        ("size,bandwidth,latency\nlarge,1,1\n", "row 2: size large is not an amount"),
        ("size,bandwidth,latency\n,1,1\n", "row 2: size  is not an amount"),
        ("size,bandwidth,latency\n4096,1,1\n4096,1\n", "row 3: has other columns than the head"),
        ("size,bandwidth,latency\n4096,1,1,1\n", "row 2: has other columns than the head"),
        (
            "size,bandwidth,latency,access\n4096,1,1,odd\n",
            "row 2: access is 'odd'; it must be 'sequential' or 'random'",
        ),
        ('size,bandwidth,latency\n"4096,1,1\n', "is no CSV file"),
    ],
)
def test_what_is_no_table_is_told_in_one_line(tmp_path, text, wrong):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(UserError, match=r"a\.csv: ") as told:
        read_table(tmp_path / "a.csv")
    assert wrong in str(told.value)
    assert "\n" not in str(told.value)


def test_a_table_that_is_not_there_or_no_text(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"size,bandwidth,latency\n\xff\xfe,1,1\n")
    with pytest.raises(UserError, match="is no CSV file"):
        read_table(tmp_path / "binary.csv")


def test_one_run_has_no_interval():
    point = only_curve(measured(0, 1)).points[0]
    assert math.isnan(point.bandwidth.estimate.low)
    assert point.bandwidth.estimate.how == "one run"


@pytest.fixture
def table(tmp_path):
    write_table(measured(0.001, 4), tmp_path / "scratch.csv")
    return tmp_path / "scratch.csv"


def test_the_headline_names_both_sizes_and_what_they_give():
    found = size_result(measured(0.001, 4), Requirements(), own=64 * KIB)
    said = size_report.opening(found)
    assert re.match(r"For throughput use 1 MiB \(1.8\d times \[1.88.*\] the bandwidth of your 64 KiB\), for ", said[0])
    assert said[0].endswith("for latency 4 KiB. Confidence: high.")
    assert said[1] == (
        "This rests on 24 runs of 6 sizes; it holds for sequential writes of 2 processes on /scratch, file per process."
    )


def test_one_size_is_no_choice():
    found = size_result(measured(0.01, 4, sizes=[MIB]), Requirements())
    assert "Only 1 MiB was measured" in size_report.opening(found)[0]
    assert size_report.opening(found)[0].endswith("Confidence: unknown.")
    assert [section.chart for section in size_page(found, "Sizes").sections if section.chart] == []


def test_a_bound_that_nothing_keeps():
    found = size_result(measured(0, 3), Requirements(latency=1e-6))
    assert size_report.opening(found)[0].startswith(
        "No transfer size that was measured keeps 1.00 us a call: the shortest calls take"
    )
    assert html_of(size_page(found, "Sizes"))


def test_single_runs_are_said_to_be_single():
    assert any("run once" in line for line in size_report.opening(size_result(measured(0.1, 1), Requirements())))


def test_a_page_of_many_curves_stands(tmp_path):
    kinds = [
        {"direction": direction, "access": access, "sharing": sharing, "beside": beside}
        for direction in ("read", "write")
        for access in ("sequential", "random")
        for sharing in ("file per process", "shared file")
        for beside in ("", "a second job")
    ]
    points = pl.concat(measured(0.05, 3, place, **kind) for place, kind in enumerate(kinds))
    found = size_result(points, Requirements())
    html = html_of(size_page(found, "Sizes"))
    for heading in ("Random reads on /scratch", "What a second job does", "Can bandwidth and latency be predicted?"):
        assert heading in html
    assert found.first.curve.curve.direction == "write"


def test_the_command_says_writes_and_prints_json(table, tmp_path):
    done = answer_of("storage", "size", "--table", table, "--own", "64KiB", "--html", tmp_path / "page.html")
    assert done.startswith("For throughput use 1 MiB (1.88 times [1.880-1.882]")
    assert "for latency 4 KiB" in done
    assert (tmp_path / "page.html").exists()
    printed = slicewise_command(
        "storage", "size", "--table", table, "--json", "--latency-below", "1ms", "--html", tmp_path / "p.html"
    )
    record = json.loads(printed.output)
    [curve] = record["curves"]
    assert [point["size"] for point in curve["points"]] == [4 * KIB << (2 * power) for power in range(6)]
    assert curve["throughput"]["size"] == 64 * KIB
    assert curve["points"][0]["bandwidth"]["low"] < curve["points"][0]["bandwidth"]["value"]
    assert record["bounds"]["latency_below_seconds"] == 0.001


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ([], "missing option '--table'"),
        (["--table", "none.csv"], "none.csv: cannot be read"),
        (["--own", "big"], "--own big is not an amount"),
        (["--latency-below", "5"], "--latency-below 5 is not a time; give one such as 5ms"),
        (["--bandwidth-above", "200"], "--bandwidth-above 200/s"),
    ],
)
def test_what_is_wrong_is_one_line(table, options, wrong):
    given = options if not options or "none.csv" in options else ["--table", table, *options]
    done = refusal_of("storage", "size", *given)
    assert wrong in done
