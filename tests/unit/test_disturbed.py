"""Runs beside somebody whom nobody profiled are left out of a fit, and named."""

import polars as pl
import pytest
from slicewise.analysis.sharing.fitted_model import disturbed_runs, fit_model
from slicewise.analysis.sharing.model import read_model, write_model
from slicewise.analysis.sharing.weights import Weighting
from slicewise.report.model.model_tables import capacity_lines
from support.synthetic import Size, campaign

JOBS, SLICES = campaign([[Size(2), Size(6)], [Size(1), Size(6)]], Weighting("processes"), repeats=5)
FIRST = JOBS.filter(pl.len().over("run") > 1)["run"][0]


def slower(factor: float, runs: list[str]) -> pl.DataFrame:
    """The slices, with runs to which the storage gave less."""
    return SLICES.with_columns(
        bytes=pl.when(pl.col("run").is_in(runs)).then((pl.col("bytes") * factor).cast(pl.Int64)).otherwise("bytes")
    )


def test_a_run_that_got_less_than_its_repeats():
    assert disturbed_runs(JOBS, SLICES) == []
    assert disturbed_runs(JOBS, slower(0.7, [FIRST])) == [FIRST]
    assert disturbed_runs(JOBS, slower(0.97, [FIRST])) == []
    assert disturbed_runs(JOBS, slower(1.5, [FIRST])) == []


def test_of_three_repeats_none_is_the_odd_one():
    few = JOBS.filter(~pl.col("run").str.contains("#[34]"))
    assert disturbed_runs(few, slower(0.7, [FIRST]).filter(pl.col("run").is_in(few["run"].to_list()))) == []


def test_runs_with_other_bytes_are_no_repeats():
    others = JOBS.with_columns(bytes=pl.when(pl.col("run") == FIRST).then(pl.col("bytes") * 2).otherwise("bytes"))
    assert disturbed_runs(others, slower(0.7, [FIRST])) == []


def test_a_fit_leaves_them_out_and_says_so(tmp_path):
    model = fit_model(JOBS, slower(0.7, [FIRST]))
    assert model.disturbed == [FIRST]
    assert model.scatter is not None
    kept = pl.col("run") != FIRST
    assert model.scatter == fit_model(JOBS.filter(kept), SLICES.filter(kept)).scatter
    assert any(line.startswith("Left out: 1 run ") and FIRST in line for line in capacity_lines(model))
    write_model(model, tmp_path / "m.json")
    assert read_model(tmp_path / "m.json").disturbed == [FIRST]


def test_twins_beside_a_third_have_their_share_at_stake():
    """They end at the same moment; that the third goes on is what counts."""
    from slicewise.analysis.sharing.fitted_model import predict
    from slicewise.analysis.sharing.model import ModelJob

    model = fit_model(JOBS, SLICES)
    found = predict(model, [ModelJob("a", 1e9, 6), ModelJob("b", 1e9, 6), ModelJob("c", 1e9, 1)])
    assert [job.is_at_stake for job in found] == [True, True, False]
    assert found[0].t_co.value == pytest.approx(found[1].t_co.value)
