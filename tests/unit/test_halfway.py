"""Runs that are told to be off when half of their bytes have been moved, and those that are not."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from slicewise.analysis.runs.campaign import PROGRESS_SCHEMA
from slicewise.analysis.sharing.fitted_model import check, fit_model, predict
from slicewise.analysis.sharing.halfway import halfway
from slicewise.analysis.sharing.model import ModelJob, weights_of
from slicewise.analysis.sharing.weights import Weighting
from support.synthetic import MIB, Size, campaign

JOBS = [ModelJob("a", 600 * MIB, 6), ModelJob("b", 600 * MIB, 2)]
JOBS_FRAME, SLICES = campaign([[Size(2), Size(6)], [Size(1), Size(6)], [Size(2), Size(8)]], Weighting("processes"))
MODEL = fit_model(JOBS_FRAME, SLICES)
assert MODEL.weight.chosen is not None
WEIGHTS = weights_of(MODEL, JOBS, MODEL.weight.chosen)
RATE = 600 * MIB / predict(MODEL, JOBS[:1])[0].t_alone


def progress(rates: dict[str, list[tuple[float, float]]]) -> pl.DataFrame:
    """Bytes so far of jobs that moved so many MiB/s for so many seconds, one after the other."""
    rows = []
    for job, stretches in rates.items():
        now = moved = 0.0
        rows.append(("r", job, now, 0))
        for seconds, rate in stretches:
            now, moved = now + seconds, moved + seconds * rate
            rows.append(("r", job, now, round(moved)))
    return pl.DataFrame(rows, schema=PROGRESS_SCHEMA, orient="row")


def told(frame: pl.DataFrame, model=MODEL, jobs=JOBS):
    return halfway(model, jobs, WEIGHTS, [job.t_co for job in predict(model, jobs)], frame)


def even(slower: float = 1.0, share: float = 0.75, held: float = 0.0) -> pl.DataFrame:
    """Both at shares of a storage that is slower than it was, until a ends; then b alone. held: bytes that clients take
    at once.
    """
    first = 600 * MIB / (share * RATE) * slower
    rest = (600 * MIB - first * (1 - share) * RATE / slower) / RATE * slower
    a, b = share * RATE / slower, (1 - share) * RATE / slower
    at_once = (1e-6, held / 1e-6)
    return progress(
        {
            "a": [at_once, (first - held / a, a)],
            "b": [at_once, (first, b), (rest - held / RATE * slower, RATE / slower)],
        }
    )


def test_a_run_that_goes_as_predicted_is_not_warned_of():
    found = told(even())
    assert not found.is_off
    assert found.seconds == pytest.approx(600 * MIB / RATE, rel=0.01)
    assert found.t_co == pytest.approx([job.t_co.value for job in predict(MODEL, JOBS)], rel=0.02)


def test_a_storage_that_gives_less_is_seen_halfway():
    """As beside somebody whom nobody profiled; what is left is taken to go as predicted."""
    found = told(even(slower=1.5))
    assert found.is_off
    expected = predict(MODEL, JOBS)[1].t_co.value + 0.5 * 600 * MIB / RATE
    assert found.t_co[1] == pytest.approx(expected, rel=0.02)


def test_other_shares_are_seen_halfway():
    assert told(even(share=0.4)).is_off


def test_what_clients_hold_back_is_left_to_do():
    """Both wrote 30 MiB at once, ahead of what the storage served, as they do alone."""
    held = 30 * MIB
    model = replace(MODEL, alone=[replace(rate, held_back=held) for rate in MODEL.alone])
    expected = [job.t_co.value for job in predict(MODEL, JOBS)]
    assert told(even(held=held), model).t_co == pytest.approx(expected, rel=0.02)
    assert told(even(held=held)).t_co[1] < 0.97 * expected[1]


def test_who_had_moved_all_by_then_is_not_foretold_any_more():
    jobs = [replace(JOBS[0], bytes=60 * MIB), JOBS[1]]
    quick = progress({"a": [(2.0, 30 * MIB)], "b": [(100.0, 6 * MIB)]})
    assert told(quick, jobs=jobs).t_co[0] is None
    assert told(quick.filter(pl.col("job") == "b"), jobs=jobs) is None


def test_a_check_tells_it_of_all_jobs_of_the_run():
    run = JOBS_FRAME.filter(pl.len().over("run") == 2).head(2)
    rows = [("slow", row["job"], 1000.0 * end, end * row["bytes"]) for row in run.to_dicts() for end in (0, 1)]
    slow = pl.DataFrame([(run["run"][0], *row[1:]) for row in rows], schema=PROGRESS_SCHEMA, orient="row")
    assert check(MODEL, run, None, SLICES, slow)["is_warned_halfway"].to_list() == [True, True]
    assert check(MODEL, run, None, SLICES)["is_warned_halfway"].to_list() == [None, None]
