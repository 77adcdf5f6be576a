"""Times that were told held against those that were taken: by hand."""

import math

import pytest
from slicewise.estimate import Estimate
from support.told import Told, figures_of_told


def told(took: float, value: float, half: float, *, runs: str = "1+2", jobs: int = 2, doubt: str = "", **said: bool):
    seconds = Estimate(value, value - half, value + half, "")
    return Told(runs, "1", jobs, took, seconds, doubt, said.get("is_warned", False))


TIMES = [
    told(100, 110, 20, doubt="metadata"),
    told(120, 110, 20),
    told(100, 130, 20, runs="1+2+3", jobs=3),
    told(200, 100, 20, runs="2+3", is_warned=True),
]


def test_figures_of_times():
    found = figures_of_told(TIMES, 0.2)
    assert found.mean == pytest.approx((10 / 100 + 10 / 120 + 30 / 100 + 100 / 200) / 4)
    assert found.largest == pytest.approx(0.5)
    assert found.bias == pytest.approx((10 / 100 - 10 / 120 + 30 / 100 - 100 / 200) / 4)
    assert (found.within, found.outside, found.within_share) == (2, 2, 0.5)
    # The first two are repeats: 100 and 120 s lie 10 s off their mean of 110 s, which is told exactly.
    assert found.apart == pytest.approx(10 / 110)
    assert found.largest_of_means == pytest.approx(0.5)
    outside, within = found.of_outside, found.of_within
    assert (outside.beforehand, outside.afterwards, outside.at_all) == (0, 1, 1)
    assert (within.beforehand, within.at_all) == (1, 1)
    assert (found.bad, found.bad_covered) == (2, 0)
    # 90 to 130 s twice, 110 to 150 s, 80 to 120 s.
    assert (found.width, found.widest) == (pytest.approx(13 / 9), 1.5)
    assert figures_of_told([told(1, 1, 1)], 0.2).width == math.inf
    assert not found.is_as_intervals_say
