"""Runs that did not go as the model of sharing predicts, and what they did otherwise."""

import re

import polars as pl
import pytest
from slicewise.analysis.sharing.fitted_model import check, disturbed_runs, doubts, fit_model, misfit_of, predict
from slicewise.analysis.sharing.goodness import misfits, shares_shown
from slicewise.analysis.sharing.model import ModelJob, read_model, write_model
from slicewise.analysis.sharing.weights import Weighting
from slicewise.estimate import Estimate
from slicewise.report.model.model_report import capacity_lines, check_words, misfit_words
from support.synthetic import MIB, Size, campaign

PAIRS = [[Size(1), Size(12, 3)], [Size(4, 2), Size(6)], [Size(2, 4), Size(8, 3)], [Size(1), Size(8, 3)]]
SEEN_JOBS, SEEN_SLICES = campaign([[Size(2), Size(6)], [Size(1), Size(6)]], Weighting("processes"), repeats=5)
FIRST = SEEN_JOBS.filter(pl.len().over("run") > 1)["run"][0]


def time(value: float, part: float = 0.05) -> Estimate:
    return Estimate(value, value * (1 - part), value * (1 + part), "")


def test_shares_that_slices_show():
    rows = [("a", 0, 30), ("b", 0, 10), ("a", 1, 15), ("b", 1, 5), ("b", 2, 8), ("c", 2, 4), ("a", 3, 99)]
    slices = pl.DataFrame(rows, schema=["job", "slice", "bytes"], orient="row")
    a, b, c = shares_shown(slices, ["a", "b", "c"])
    assert (a / b, b / c) == pytest.approx((3, 2))
    assert shares_shown(slices.filter(pl.col("slice") < 2), ["a", "b", "c"]) is None


def test_jobs_within_their_intervals_are_no_misfits():
    assert misfits(["a", "b"], [time(10), time(20)], [10.4, 20], [3, 1], None, lambda given: [], None) == []


def test_a_run_with_other_shares_is_told_from_one_without_any_law():
    def solve(weights):
        return [time(20 * weights[1] / sum(weights) + 10), time(20)]

    other, none = (
        misfits(["a", "b"], [time(12.5), time(20)], [seconds, 20], [3, 1], [1, 1], solve, 0.8)[0]
        for seconds in (20.0, 30.0)
    )
    assert (other.kind, other.own_share, other.model_share, other.with_own_shares) == ("other shares", 0.5, 0.75, 20)
    assert misfit_words(other) == (
        "a took 20.0 s; the prediction is [11.9-13.1] s. It got another share: its slices "
        "show a share of 50.0 % where the model says 75.0 %. With its own share the model gives 20.0 s."
    )
    assert none.kind == "no share law"
    assert "No share law explains that" in misfit_words(none)
    assert misfit_words(none).endswith("The storage gave all jobs together 20.0 % less than the model has.")


def test_every_error_above_its_interval_comes_with_a_warning():
    jobs, slices = campaign(PAIRS, Weighting("nodes"))
    first = pl.col("job") == jobs.filter(pl.len().over("run") > 1)["job"][0]
    late = jobs.with_columns(pl.when(first).then(pl.col("seconds") * 1.5).otherwise("seconds"))
    checked = check(fit_model(jobs, slices), late, slices)
    outside = ~pl.col("observed").is_between("low", "high")
    assert checked.filter(outside)["misfit"].null_count() == 0
    assert checked.filter(~outside)["misfit"].is_null().all()
    told = checked.sort(pl.col("relative_error").abs()).row(-1, named=True)
    assert told["misfit"] == "no share law"
    assert "at the end or in a pause" in misfit_words(misfit_of(told))
    said = " ".join(check_words(checked, "by a fit"))
    assert re.search(r"outside (its|their) predicted intervals?\. The worst: .*No share law explains that", said)
    told = check_words(check(fit_model(jobs, slices), jobs), "by a fit")
    assert told[-1] == "All runtimes lie within their predicted intervals."


def test_shares_by_the_wrong_weight_are_told():
    """The storage shares by nodes, the model by processes: the slices show that, and explain the times."""
    jobs, slices = campaign([[Size(12), Size(12, 3)]], Weighting("nodes"), noise=0.001)
    fitted = fit_model(*campaign([[Size(4), Size(12)], [Size(12), Size(12, 3)]], Weighting("processes"), noise=0.001))
    checked = check(fitted, jobs, slices).filter(pl.col("misfit").is_not_null())
    assert checked["misfit"].unique().to_list() == ["other shares"]
    assert checked["own_share"].max() == pytest.approx(0.75, abs=0.01)


def test_what_a_prediction_does_not_know():
    jobs, slices = campaign(PAIRS, Weighting("nodes"))
    model = fit_model(jobs, slices)
    known = [ModelJob("a", 1000 * MIB, 4, 2), ModelJob("b", 1000 * MIB, 6)]
    assert doubts(model, known, predict(model, known)) == []
    new = [ModelJob("a", 1000 * MIB, 40, 7), ModelJob("b", 1000 * MIB, 6)]
    assert doubts(model, new, predict(model, new)) == ["no run shows what a reaches alone"]
    few = fit_model(*campaign([[Size(1), Size(6)], [Size(2), Size(6)]], Weighting("mounts")))
    pair = [ModelJob("a", 1000 * MIB, 6, 1, 2), ModelJob("b", 1000 * MIB, 2, alone=100.0 * MIB)]
    told = doubts(few, pair, predict(few, pair))
    assert "shares by mounts, which the runs do not refute, give a 15.03 s" in told


def slower(factor: float, runs: list[str]) -> pl.DataFrame:
    """The slices, with runs to which the storage gave less."""
    return SEEN_SLICES.with_columns(
        bytes=pl.when(pl.col("run").is_in(runs)).then((pl.col("bytes") * factor).cast(pl.Int64)).otherwise("bytes")
    )


def test_a_run_that_got_less_than_its_repeats():
    assert disturbed_runs(SEEN_JOBS, SEEN_SLICES) == []
    assert disturbed_runs(SEEN_JOBS, slower(0.7, [FIRST])) == [FIRST]
    assert disturbed_runs(SEEN_JOBS, slower(0.97, [FIRST])) == []
    assert disturbed_runs(SEEN_JOBS, slower(1.5, [FIRST])) == []


def test_of_three_repeats_none_is_the_odd_one():
    few = SEEN_JOBS.filter(~pl.col("run").str.contains("#[34]"))
    assert disturbed_runs(few, slower(0.7, [FIRST]).filter(pl.col("run").is_in(few["run"].to_list()))) == []


def test_runs_with_other_bytes_are_no_repeats():
    others = SEEN_JOBS.with_columns(bytes=pl.when(pl.col("run") == FIRST).then(pl.col("bytes") * 2).otherwise("bytes"))
    assert disturbed_runs(others, slower(0.7, [FIRST])) == []


def test_a_fit_leaves_them_out_and_says_so(tmp_path):
    model = fit_model(SEEN_JOBS, slower(0.7, [FIRST]))
    assert model.disturbed == [FIRST]
    assert model.scatter is not None
    kept = pl.col("run") != FIRST
    assert model.scatter == fit_model(SEEN_JOBS.filter(kept), SEEN_SLICES.filter(kept)).scatter
    assert any(line.startswith("Left out: 1 run ") and FIRST in line for line in capacity_lines(model))
    write_model(model, tmp_path / "m.json")
    assert read_model(tmp_path / "m.json").disturbed == [FIRST]


def test_twins_beside_a_third_have_their_share_at_stake():
    """They end at the same moment; that the third goes on is what counts."""
    from slicewise.analysis.sharing.fitted_model import predict
    from slicewise.analysis.sharing.model import ModelJob

    model = fit_model(SEEN_JOBS, SEEN_SLICES)
    found = predict(model, [ModelJob("a", 1e9, 6), ModelJob("b", 1e9, 6), ModelJob("c", 1e9, 1)])
    assert [job.is_at_stake for job in found] == [True, True, False]
    assert found[0].t_co.value == pytest.approx(found[1].t_co.value)
