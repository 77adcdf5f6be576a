"""Fitted models: known weights are found again, published figures come out, and what cannot be told is said."""

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from slicewise.analysis.capacity.by_clients import CapacityCurve, CostLine, CurvePoint, combined_rates, fit_capacity
from slicewise.analysis.runs.rates import outliers
from slicewise.analysis.sharing import weights
from slicewise.analysis.sharing.fitted_model import check, cross_check, fit_model, predict, with_held_out
from slicewise.analysis.sharing.model import EndWait, FittedModel, ModelJob, Scatter, read_model, solve, write_model
from slicewise.analysis.sharing.proportional import alone_from_spans, common_start_times
from slicewise.analysis.sharing.weights import Weighting
from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.report.model.model_report import answer, check_words, summary
from support.closed_forms import alone_from_common_start
from support.published import jobs_of, slices_of
from support.synthetic import MIB, Size, campaign

# Sizes in which processes, nodes, mounts and bytes outstanding all differ.
MIXED = [
    [Size(1), Size(12, 2, 3)], [Size(4, 2), Size(6, 1, 4, 4 * MIB)], [Size(2, 2, 1), Size(8, 3, 2, 2 * MIB)],
    [Size(1), Size(8, 3, 2, 2 * MIB)], [Size(4, 2), Size(12, 2, 3)],
]  # fmt: skip


@pytest.mark.parametrize(
    "weighting",
    [
        Weighting("processes"), Weighting("nodes"), Weighting("mounts"), Weighting("equal"), Weighting("outstanding"),
        Weighting("processes^beta", 0.6),
    ],
    ids=lambda weighting: weighting.kind,
)  # fmt: skip
def test_the_weight_behind_the_slices_is_found(weighting):
    jobs, slices = campaign(MIXED, weighting)
    model = fit_model(jobs, slices)
    assert model.weight.chosen.kind == weighting.kind
    assert model.weight.possible in ([weighting.kind], [weighting.kind, "processes^beta"])
    assert model.weight.reason == ""
    if model.weight.possible == ["processes^beta"]:
        assert answer(model.weight).endswith("The file system is fair neither to processes nor to nodes.")
    checked = cross_check(jobs, slices)
    assert checked["weight"].unique().to_list() == [weighting.kind]
    assert checked["relative_error"].abs().max() < 0.03


@pytest.mark.parametrize("beta", [0.3, 1.0, 1.4])
def test_the_exponent_lies_in_its_interval(beta):
    weighting = Weighting("processes^beta", beta)
    fits = [weights.beta_interval(campaign(MIXED, weighting, seed=seed)[1]) for seed in range(10)]
    assert [fit.value for fit in fits] == pytest.approx([beta] * 10, abs=0.01)
    assert all(0 < fit.high - fit.low < 0.05 for fit in fits)
    assert sum(fit.low <= beta <= fit.high for fit in fits) >= 8


def test_jobs_of_one_size_tell_nothing():
    jobs, slices = campaign([[Size(4), Size(4)], [Size(4), Size(4), Size(4)]], Weighting("processes"))
    model = fit_model(jobs, slices)
    assert model.weight.chosen is None
    assert answer(model.weight).startswith("Cannot tell by what the storage is shared: all jobs")
    assert model.weight.beta is None
    with pytest.raises(ValueError, match="cannot tell by what"):
        predict(model, [ModelJob("A", 1e9, 4), ModelJob("B", 1e9, 8)])
    assert check(model, jobs)["predicted"].null_count() == 3 * (2 + 3)


def test_one_node_a_job_does_not_tell_nodes_from_mounts_or_jobs():
    jobs, slices = campaign([[Size(1), Size(6)], [Size(2), Size(6)]], Weighting("mounts"))
    fit = fit_model(jobs, slices).weight
    assert (fit.chosen.kind, fit.same) == ("nodes", ["mounts", "equal", "processes^beta"])
    words = answer(fit)
    assert "do not tell it from mounts, equal and processes^beta" in words
    assert "not to processes" in words


def test_combinations_for_which_two_weights_say_the_same_do_not_hide_those_that_tell_them_apart():
    # Nine pairs of one node a job, three of several; in any order of rows, for sums differ by their order.
    one_node = [[Size(one), Size(other)] for one in (1, 2, 4) for other in (6, 10, 12)]
    several = [[Size(2), Size(6, 3)], [Size(2), Size(10, 5)], [Size(4, 2), Size(10, 5)]]
    _, slices = campaign([*one_node, *several], Weighting("nodes"))
    for seed in range(5):
        fit = weights.fit_weight(slices.sample(fraction=1.0, shuffle=True, seed=seed))
        assert fit.possible == ["nodes", "mounts"]


@pytest.mark.parametrize(("repeats", "refuted"), [(2, False), (3, True)])
def test_one_or_two_runs_refute_nothing(repeats, refuted):
    jobs, slices = campaign([[Size(1), Size(6)]], Weighting("nodes"), repeats=repeats)
    fit = fit_model(jobs, slices).weight
    assert fit.chosen.kind == "nodes"
    assert ("processes" not in fit.possible) == refuted
    assert ("It takes 3 runs to refute any." in answer(fit)) == (not refuted)


def test_jobs_that_get_all_that_they_can_take_say_nothing_of_sharing():
    # One process can take 5 MiB/s of 100: beside 12, its share of 1 to 13 is not the weight's doing.
    jobs, slices = campaign([[Size(1), Size(60)]], Weighting("equal"), process_cap=5.0 * MIB)
    model = fit_model(jobs, slices)
    assert model.weight.chosen is None
    assert "no slice shows jobs that compete" in model.weight.reason
    assert model.process_demand.value == pytest.approx(5 * MIB, rel=0.02)


def test_one_process_by_itself_takes_what_a_run_of_one_took_and_not_what_each_of_several_did():
    # One reaches 5 MiB/s, four together 10: two reach a rate between.
    jobs, slices = campaign([[Size(1), Size(60)], [Size(4), Size(60)]], Weighting("equal"), process_cap=5.0 * MIB)
    slow = jobs.with_columns(seconds=pl.when(pl.col("pair") == "4").then(2 * pl.col("seconds")).otherwise("seconds"))
    model = fit_model(slow, slices)
    assert model.process_demand.value == pytest.approx(5 * MIB, rel=0.02)
    assert model.process_demand.how == "standalone runs of 1 process, below the capacity"
    alone = [solve(model, [ModelJob("one", 100 * MIB, processes)], [1.0])[0].t_alone for processes in (1, 2, 4)]
    assert alone == pytest.approx([20, 100 / 50**0.5, 10], rel=0.02)


def test_a_slow_run_of_many_processes_is_no_demand_of_one():
    jobs, slices = campaign([[Size(1), Size(6)]], Weighting("nodes"))
    slow = jobs.with_columns(seconds=pl.when(pl.col("pair") == "6").then(2 * pl.col("seconds")).otherwise("seconds"))
    assert fit_model(slow, slices).process_demand is None


@pytest.mark.parametrize(
    ("mode", "kind", "largest"),
    [("private", "processes", 0.412), ("private", "nodes", 0.093), ("shared", "processes", 0.378)],
)
def test_the_published_pairs(mode, kind, largest):
    jobs = jobs_of(mode)
    model = replace(fit_model(jobs, slices_of(mode)), basis="standalone times")
    errors = check(model.by(Weighting(kind)), jobs)["relative_error"].abs()
    assert len(errors) == 12
    assert errors.max() == pytest.approx(largest, abs=0.0005)


def test_the_published_question_is_answered_by_runs_that_the_fit_has_not_seen():
    jobs, slices = jobs_of("private"), slices_of("private")
    model = with_held_out(fit_model(jobs, slices), cross_check(jobs, slices))
    assert (model.weight.chosen.kind, model.weight.possible) == ("nodes", ["nodes", "mounts"])
    assert "is fair to nodes" in answer(model.weight)
    assert model.held_out.combinations == 6
    # Table 3 by node weights, capacity by clients and all else from other rows: no worse than from standalone times.
    assert cross_check(jobs, slices)["weight"].unique().to_list() == ["nodes"]
    assert model.held_out.worst <= 0.093


def test_capacity_that_falls_with_clients_is_seen():
    jobs, slices = campaign(
        [[Size(1), Size(12)], [Size(12), Size(36)], [Size(36), Size(60)], [Size(1), Size(60)], [Size(12), Size(60)]],
        Weighting("processes"),
        capacity=lambda processes: 100.0 * MIB / (1 + processes / 100),
    )
    model = fit_model(jobs, slices)
    assert model.basis == "capacity curve"
    assert model.capacity.by == "processes"
    assert not model.capacity.is_constant
    assert model.capacity.is_line
    assert model.capacity.line.seconds * 100 * MIB == pytest.approx(1, rel=0.02)
    assert model.capacity.line.per_client / model.capacity.line.seconds == pytest.approx(0.01, rel=0.05)
    # 96 clients, when left out, lie beyond all others.
    assert cross_check(jobs, slices)["relative_error"].abs().max() < 0.05


def test_capacity_that_falls_with_the_square_of_clients_is_told_from_one_that_falls_with_clients():
    sizes = [[Size(1), Size(12)], [Size(12), Size(36)], [Size(36), Size(60)], [Size(1), Size(60)], [Size(12), Size(60)]]
    for power, each in ((1, 1 / 100), (2, 1 / 5000)):
        jobs, slices = campaign(
            sizes,
            Weighting("processes"),
            capacity=lambda processes, power=power, each=each: 100.0 * MIB / (1 + each * processes**power),
        )
        line = fit_model(jobs, slices).capacity.line
        assert line.power == power
        assert line.per_client / line.seconds == pytest.approx(each, rel=0.05)
        assert line.at(96) == pytest.approx(100 * MIB / (1 + each * 96**power), rel=0.03)
        assert cross_check(jobs, slices)["relative_error"].abs().max() < 0.06


def test_beyond_all_points_a_curve_goes_on_as_the_line_of_costs():
    points = [CurvePoint(clients, Estimate(rate, rate, rate, ""), 1) for clients, rate in ((2, 50.0), (4, 30.0))]
    curve = CapacityCurve("nodes", points, None, CostLine(0.01, 0.005, 1.1))
    assert (curve.at(2), curve.at(4), curve.at(6)) == pytest.approx((50, 30, 25))
    assert curve.at(6, -1) == pytest.approx(25 / 1.1)
    assert CapacityCurve("nodes", points, None).at(6) == 30
    # A line that lies above the last point does not lift the curve.
    assert CapacityCurve("nodes", points, None, CostLine(0.01, 0.001, 1.1)).at(6) == 30


def test_a_constant_capacity_is_called_so():
    _, slices = campaign(MIXED, Weighting("nodes"))
    curve = fit_capacity(combined_rates(slices))
    assert (curve.by, curve.is_constant) == ("constant", True)
    assert curve.at(5) == pytest.approx(100 * MIB, rel=0.01)
    assert curve.at(5, -1) < curve.at(5) < curve.at(5, 1)


@pytest.mark.parametrize(("exponent", "by"), [(0.05, "constant"), (0.1, "processes")])
def test_a_curve_must_be_worth_it(exponent, by):
    """Rates that fall as processes^-exponent, under noise: a curve that errs a fifth less is taken, of 18 % not."""
    noise = np.random.default_rng(5).normal(0, 0.06, 12)
    sizes = 2 + 3 * np.arange(len(noise))
    rates = pl.DataFrame(
        {
            "pair": [f"{size} + {size}" for size in sizes], "run": [f"run {size}" for size in sizes],
            "rate": 100 * MIB * np.exp(noise) * sizes**-exponent, "processes": 2 * sizes,
        }
    ).with_columns(jobs=2, nodes=2, mounts=2, slices=10)  # fmt: skip
    assert fit_capacity(rates).by == by


def test_more_jobs_with_starts_of_their_own_are_predicted():
    jobs, slices = campaign([*MIXED, [Size(1), Size(4, 2), Size(12, 2, 3)]], Weighting("nodes"), stagger=5.0)
    checked = cross_check(jobs, slices)
    assert checked.filter(pl.col("pair").str.count_matches(r"\+") == 2).height == 9
    assert checked["relative_error"].abs().max() < 0.03


def test_a_run_that_stood_out_is_told_apart():
    """One slow repeat of five neither counts as the model's error nor is passed over."""
    jobs, slices = campaign(MIXED, Weighting("nodes"))
    first = jobs.filter(pl.len().over("run") > 1).sort("run", "job").filter(pl.col("run") == pl.col("run").first())
    repeats = [
        first.with_columns(
            pl.format("{}#{}", "run", pl.lit(number)).alias("run"), pl.col("seconds") * (1.5 if number == 3 else 1)
        )
        for number in range(5)
    ]
    checked = check(fit_model(jobs, slices), pl.concat(repeats))
    assert checked.filter("is_outlier")["run"].unique().to_list() == [f"{first['run'][0]}#3"]
    said = " ".join(check_words(checked, "by a fit"))
    assert summary(checked)["max_relative_error"] < 0.03
    assert summary(checked)["max_relative_error_of_outliers"] == pytest.approx(1 / 3, abs=0.03)
    later = pl.when(pl.col("job") == pl.col("job").last()).then(pl.col("start") + 5).otherwise(pl.col("start"))
    other = repeats[3].with_columns(start=later)  # no repeat of the others
    assert not check(fit_model(jobs, slices), pl.concat([*repeats[:3], other, repeats[4]]))["is_outlier"].any()
    assert f"Left out: 1 run that stood out among repeats (by 1.5 standard deviations): {first['run'][0]}#3" in said


def test_prediction_and_its_interval():
    jobs, slices = campaign(MIXED, Weighting("processes^beta", 0.5))
    model = fit_model(jobs, slices)
    found = predict(model, [ModelJob("A", 1000 * MIB, 16), ModelJob("B", 1000 * MIB, 4)])
    assert [job.t_co.value for job in found] == pytest.approx([15, 20], rel=0.02)
    assert all(job.t_co.low < job.t_co.value < job.t_co.high for job in found[:1])
    unknown = predict(replace(model, scatter=None), [ModelJob("A", 1000 * MIB, 16), ModelJob("B", 1000 * MIB, 4)])
    assert unknown[0].t_co.how == "exponent, capacity and standalone rates at their ends"


def test_an_interval_is_what_combinations_were_off_by():
    """By hand: two combinations, off by 3 and 4 %, make 3.54 %; Student's t of 2 is 4.303, one more run 1 + 1/2."""
    scatter = Scatter(math.sqrt((0.03**2 + 0.04**2) / 2), 2, 0.1, 5)
    assert scatter.factor(is_at_stake=False) == pytest.approx(math.exp(4.303 * math.sqrt(1.5) * 0.0353553), rel=1e-4)
    assert scatter.factor(is_at_stake=True) == pytest.approx(math.exp(2.571 * math.sqrt(1.2) * 0.1), rel=1e-4)
    wait = EndWait(0.3, 0.1, 5)
    assert wait.doubt(2.0) == pytest.approx(2.776 * math.sqrt(1.2) * 0.1 * 2)


def ends_late(jobs: pl.DataFrame, seconds: float) -> pl.DataFrame:
    """The jobs; of each pair the one that ends first ends so many seconds later for each node of the other."""
    is_first = (pl.len().over("run") > 1) & (pl.col("seconds") < 0.95 * pl.col("seconds").max().over("run"))
    others = pl.col("nodes").sum().over("run") - pl.col("nodes")
    return jobs.with_columns(pl.when(is_first).then(pl.col("seconds") + seconds * others).otherwise("seconds"))


def test_what_a_job_waits_for_at_its_end_is_found_and_predicted():
    jobs, slices = campaign(MIXED, Weighting("nodes"), noise=0.002)
    late = ends_late(jobs, 0.5)
    model = fit_model(late, slices)
    assert model.end_wait.seconds == pytest.approx(0.5, abs=0.1)
    assert cross_check(late, slices)["relative_error"].abs().max() < 0.01
    without = replace(model, end_wait=None)
    assert check(without, late)["relative_error"].min() < -0.02
    # It is no longer than the other goes on: jobs that end together wait for nobody.
    a, b = predict(model, [ModelJob("A", 1000 * MIB, 4, 2), ModelJob("B", 1001 * MIB, 4, 2)])
    assert (a.t_co.value, b.t_co.value) == pytest.approx((20.01, 20.01), rel=1e-3)
    assert not a.is_at_stake
    assert fit_model(jobs, slices).end_wait is None or fit_model(jobs, slices).end_wait.seconds < 0.05


@pytest.mark.parametrize("seed", range(2))
def test_intervals_hold_what_they_promise(seed):
    """Capacity that differs by 2 % from run to run, shares by 5 % from one combination to the next: 90 % at least."""
    random = np.random.default_rng(seed)
    pairs = [[Size(n), Size(m, k)] for n, m, k in ((1, 12, 2), (4, 6, 3), (2, 8, 4), (1, 8, 3), (4, 12, 5), (2, 12, 3))]
    jobs, slices = campaign(pairs, Weighting("nodes"), repeats=4)
    runs = jobs["run"].unique(maintain_order=True)
    factors = dict(zip(runs, np.exp(random.normal(0, 0.02, len(runs))), strict=True))
    shares = {pair: float(random.normal(0, 0.05)) for pair in jobs["pair"].unique(maintain_order=True)}
    is_first = (pl.len().over("run") > 1) & (pl.col("seconds") < pl.col("seconds").max().over("run"))
    share = pl.when(is_first).then(pl.col("pair").replace_strict(shares).exp()).otherwise(1.0)
    noisy = jobs.with_columns(pl.col("seconds") * share * pl.col("run").replace_strict(factors))
    checked = cross_check(noisy, slices)
    assert checked.select(pl.col("observed").is_between("low", "high").mean()).item() >= 0.9


@pytest.mark.parametrize("capacity", [None, lambda processes: 100.0 * MIB / (1 + processes / 20)])
def test_a_model_is_read_back_as_it_was_written(tmp_path, capacity):
    jobs, slices = campaign(MIXED, Weighting("processes^beta", 0.5), **({"capacity": capacity} if capacity else {}))
    model = with_held_out(fit_model(jobs, slices, {"profiles": ["a", "b"]}), cross_check(jobs, slices))
    write_model(model, tmp_path / "m.json")
    assert read_model(tmp_path / "m.json") == model
    assert (model.capacity.line is None) == (capacity is None)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "is no fitted model"),
        ('{"format": "slicewise study model 9"}', "is no fitted model of this version"),
        ('{"format": "slicewise study model 2"}', "is a damaged fitted model ('weight')"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path, content, complaint):
    path = tmp_path / "m.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match="slicewise study model fit") as refused:
        read_model(path)
    assert complaint in str(refused.value)


def test_a_model_with_an_unknown_weight_is_refused(tmp_path):
    jobs, slices = campaign(MIXED, Weighting("nodes"))
    write_model(fit_model(jobs, slices), tmp_path / "m.json")
    record = json.loads((tmp_path / "m.json").read_text())
    record["weight"]["chosen"]["kind"] = "mass"
    (tmp_path / "m.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match="no weight mass"):
        read_model(tmp_path / "m.json")


def test_spans_give_standalone_times():
    times = common_start_times(100.0, [1200, 1200, 1200], [60, 36, 12])
    from_spans = alone_from_spans([(0.0, time) for time in times], [60, 36, 12])
    assert from_spans == pytest.approx([12, 12, 12])
    assert from_spans == pytest.approx(alone_from_common_start(times, [60, 36, 12]))
    # The second set of test_sharing.py: C = 100, starts 0, 2 and 5, ends 16, 19 and 18.
    assert alone_from_spans([(0, 16), (2, 19), (5, 18)], [50, 10, 40]) == pytest.approx([10, 3, 6])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 10.5, 9.5, 10.2, 14], [False, False, False, False, True]),
        ([10, 10.01, 10.02, 10.0, 10.05], [False] * 5),
        ([10, 20, 10], [False] * 3),
        ([], []),
    ],
)
def test_outliers(values, expected):
    assert outliers(values) == expected
    assert math.isfinite(sum(values))


def test_an_exponent_is_judged_by_pairs_that_it_was_not_fitted_to():
    _, flat = campaign([[Size(1), Size(4)]], Weighting("processes^beta", 0.2), noise=0)
    _, steep = campaign([[Size(1), Size(6)]], Weighting("processes^beta", 1.0), noise=0)
    both = pl.concat([weights.contended(slices, {}) for slices in (flat, steep)])
    errors = weights.held_out_errors(both)["processes^beta"]
    # Each pair by the other's exponent: 0.8 too much, or too little, of the distance between the two jobs.
    for (pair,), runs in errors.group_by("pair"):
        assert math.sqrt(runs["error"].mean()) > 0.3, pair


def test_what_is_left_of_a_job_goes_at_the_rate_that_it_reaches_alone():
    rate = Estimate(100.0, 100.0, 100.0, "given")
    curve = CapacityCurve("jobs", [CurvePoint(1, rate, 1), CurvePoint(2, rate, 1)], None)
    weight = weights.WeightFit(Weighting("equal"), [], [], ["equal"], None, 1, 1, 1, "")
    model = FittedModel(weight, curve, "capacity curve", None, [])
    a, b = predict(model, [ModelJob("A", 2000, 1, alone=120.0), ModelJob("B", 1000, 1, alone=80.0)])
    assert (a.t_co.value, b.t_co.value) == pytest.approx((20 + 1000 / 120, 20))
    assert (a.t_alone, b.t_alone) == pytest.approx((2000 / 120, 12.5))
