"""Intervals and small fits: each formula against figures worked out on paper, or against scipy."""

import numpy as np
import pytest
from scipy import special
from slicewise.scalars import zero_between
from slicewise.statistics import (
    block_error,
    error_of_mean,
    error_of_mean_run,
    error_of_next_run,
    error_of_ratio,
    group_draws,
    mean_of_runs,
    mean_of_slices,
    student_t,
    sum_draws,
    two_prices,
)
from support.binomial import is_as_often


def test_student_t() -> None:
    assert [student_t(freedom) for freedom in range(1, 16)] == pytest.approx(
        [special.stdtrit(freedom, 0.975) for freedom in range(1, 16)], abs=5e-4
    )
    assert student_t(1000) == pytest.approx(special.ndtri(0.975), abs=5e-4)


def test_two_prices() -> None:
    calls, amounts = np.array([1.0, 2.0, 10.0]), np.array([8.0, 1.0, 3.0])
    assert two_prices(amounts, calls, 2 * amounts + 3 * calls) == pytest.approx((2, 3))
    assert two_prices(amounts, calls, 2 * amounts - 0.1 * calls)[1] == 0
    assert two_prices(amounts, np.zeros(3), 2 * amounts) == pytest.approx((2, 0))


def test_a_zero() -> None:
    assert zero_between(lambda x: x**2 - 2, 0, 2) == pytest.approx(2**0.5)
    assert zero_between(lambda x: 2 - x**2, 0, 2) == pytest.approx(2**0.5)


def test_how_far_repeats_may_be_off() -> None:
    assert error_of_mean(0.01, 2) == pytest.approx(12.706 * 0.01 / 2**0.5)
    assert error_of_mean(0.01, 400) == pytest.approx(1.96 * 0.01 / 20)
    # Around their ratio, 2, these are 1, -1 and 0 off: a standard deviation of 1 of a mean of 6.
    assert error_of_ratio(np.array([7.0, 5.0, 6.0]), np.full(3, 3.0)) == pytest.approx(4.303 / 6 / 3**0.5)


def test_how_far_the_next_run_may_be() -> None:
    assert error_of_next_run(0.0, 1) == pytest.approx(2.776 * 0.015 * 2**0.5)
    assert error_of_next_run(0.0, 2) == pytest.approx(2.571 * (4 / 5 * 0.015**2 * 3 / 2) ** 0.5)
    # One that was disturbed counts in full.
    assert error_of_next_run(0.4, 3) == pytest.approx(2.447 * ((4 * 0.015**2 + 2 * 0.4**2) / 6 * 4 / 3) ** 0.5)


def test_runs_are_known_by_more_than_their_own_scatter() -> None:
    # One run is known to 4.2 %, since runs differ by 1.5 %; two that are 2 % apart are not known to only 13 %.
    assert error_of_mean_run(0.0, 1) == pytest.approx(2.776 * 0.015)
    assert mean_of_runs([99.0, 101.0], "").high == pytest.approx(100 * (1 + error_of_mean_run(2**0.5 / 100, 2)))
    assert error_of_mean_run(2**0.5 / 100, 2) < 0.03 < error_of_mean(2**0.5 / 100, 2)


def test_a_mean_of_slices_stays_above_zero() -> None:
    mean = mean_of_slices(np.array([1.0, 19.0]), "two")
    assert (mean.value, mean.how) == (10.0, "two")
    assert 0 < mean.low < mean.value < mean.high


def test_blocks_hold_a_ratio_of_sums() -> None:
    random = np.random.default_rng(3)
    errors, misses = [], 0
    for _ in range(200):
        under = random.uniform(1, 2, 60)
        over = 5 * under + random.normal(0, 1, 60)
        errors.append(block_error(over, under))
        misses += abs(over.sum() / under.sum() / 5 - 1) > errors[-1]
    assert np.mean(errors) == pytest.approx(1.96 / (5 * 1.5 * 60**0.5), rel=0.1)
    assert misses <= 24
    assert block_error(np.array([1.0]), np.array([1.0])) == np.inf


def test_groups_and_their_rows_are_drawn_anew() -> None:
    drawn = sum_draws([rows.mean(axis=1) for rows in group_draws([np.array([1.0, 3.0]), np.full(4, 2.0)], 500, 1)], 2)
    assert drawn.shape == (500,)
    assert drawn.mean() == pytest.approx(4, rel=0.05)
    assert set(np.unique(drawn)) <= {2.0, 3.0, 4.0, 5.0, 6.0}


@pytest.mark.parametrize(
    ("count", "of", "is_so"),
    [
        (40, 40, True),
        (15, 15, True),
        (13, 15, True),
        (11, 15, False),
        (100, 100, False),
        (95, 100, True),
        (28, 33, False),
    ],
)
def test_counts_within_intervals(count, of, is_so):
    """0.95^40 = 13 %, 0.95^100 = 0.6 %; 11 or fewer of 15: 0.5 %, 28 or fewer of 33: 2.2 %."""
    assert is_as_often(count, of) == is_so
