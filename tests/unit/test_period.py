"""The period of I/O: trains of bursts whose period is known, and series that have none."""

from __future__ import annotations

import numpy as np
import pytest
import slicewise.analysis.job.period
from slicewise.analysis.job.period import find_period

TAU = 4.0


def train(period: float, bursts: int, *, burst: float = 20, amounts=(1.0,), jitter: float = 0, tau: float = TAU):
    """Bytes a slice: a burst of so many seconds every `period` seconds, of one amount after the other."""
    random = np.random.default_rng(7)
    moved = np.zeros(int((period * bursts + burst) / tau) + 2)
    edges = np.arange(len(moved) + 1) * tau
    for number in range(bursts):
        start = number * period + (abs(random.normal(0, jitter)) if jitter else 0)
        within = np.clip(np.minimum(edges[1:], start + burst) - np.maximum(edges[:-1], start), 0, None)
        moved += within * amounts[number % len(amounts)]
    return moved


def period_of(moved, tau: float = TAU):
    found = find_period(moved, tau, "write")
    return found and found.seconds


@pytest.mark.parametrize("burst", [2, 10, 60, 120, 200])
def test_checkpoints_every_312_s_are_neither_156_nor_624(burst):
    found = find_period(train(312, 10, burst=burst), TAU, "write")
    assert found.seconds == pytest.approx(312, abs=TAU / 4)
    assert found.confidence > 0.8
    assert found.times == pytest.approx(9.3, abs=0.4)


@pytest.mark.parametrize("small", [0.3, 0.5, 0.6])
def test_a_small_checkpoint_half_way_is_not_the_period(small):
    assert period_of(train(156, 20, amounts=(1.0, small))) == pytest.approx(312, abs=TAU / 4)


@pytest.mark.parametrize("period", [40, 156, 310, 313, 21.3])
def test_periods_that_are_no_whole_number_of_slices(period):
    assert period_of(train(period, 12, burst=3)) == pytest.approx(period, rel=0.005)


def test_the_first_one_may_be_much_larger():
    amounts = (20.0, *[1.0] * 9)
    assert period_of(train(312, 10, amounts=amounts)) == pytest.approx(312, abs=TAU / 4)


def test_irregular_bursts_have_their_mean_period_and_less_confidence():
    regular, irregular = (find_period(train(312, 16, jitter=jitter), TAU, "write") for jitter in (0, 20))
    assert irregular.seconds == pytest.approx(312, rel=0.03)
    assert irregular.confidence < regular.confidence


def test_noise_and_a_background_hide_nothing():
    moved = train(312, 10)
    assert period_of(moved + np.random.default_rng(3).random(len(moved))) == pytest.approx(312, rel=0.01)


@pytest.mark.parametrize("tau", [0.5, 1, 10, 60])
def test_any_length_of_slice(tau):
    assert period_of(train(312, 20, tau=tau), tau) == pytest.approx(312, abs=tau / 4)


def test_random_bursts_noise_and_constants_have_none():
    random = np.random.default_rng(11)
    claimed = 0
    for bursts in range(4, 104):
        moved = np.zeros(400)
        for start in random.integers(0, 396, bursts):
            moved[start : start + 3] += random.random() + 0.5
        claimed += find_period(moved, TAU, "write") is not None
        claimed += find_period(random.random(bursts), TAU, "write") is not None
    assert claimed <= 4
    for series in (np.ones(100), np.arange(100.0), np.zeros(100), np.r_[np.zeros(9), 1.0], np.zeros(0)):
        assert find_period(series, TAU, "write") is None


def test_few_bursts_in_a_long_run_are_smoothed_as_sums_of_products_would(monkeypatch):
    moved = np.zeros(20_001, dtype=np.int64)
    moved[100::4_000] = moved[101::4_000] = 10**9
    by_spectra = find_period(moved, 1.0, "write")
    monkeypatch.setattr(slicewise.analysis.job.period, "MOST_REACH_OF_SUMS", len(moved))
    by_sums = find_period(moved, 1.0, "write")
    assert by_spectra.seconds == pytest.approx(by_sums.seconds) == pytest.approx(4_000, abs=0.5)
    assert by_spectra.confidence == pytest.approx(by_sums.confidence)


def test_two_bursts_are_no_period_and_nor_are_bursts_faster_than_slices_can_show():
    assert period_of(train(312, 2)) is None
    assert period_of(train(9, 60, burst=3)) is None
