"""How evenly processes were served."""

from __future__ import annotations

import pytest
from slicewise.analysis.overlap.region import uniformity


def test_unequal_processes():
    even = uniformity([80, 78, 40, 42])
    assert (even.processes, even.mean_bytes) == (4, 60)
    assert even.rsd == pytest.approx(0.317105, abs=1e-6)
    assert even.jain == pytest.approx(0.908632, abs=1e-6)


def test_equal_processes_are_perfectly_even():
    even = uniformity([7, 7, 7])
    assert (even.rsd, even.jain) == (0, 1)


def test_one_process_of_many_has_it_all():
    even = uniformity([12, 0, 0, 0])
    assert even.rsd == pytest.approx(3**0.5)
    assert even.jain == pytest.approx(1 / 4)


@pytest.mark.parametrize("moved", [[], [0, 0]])
def test_nothing_moved_is_neither_even_nor_uneven(moved):
    assert uniformity(moved) is None
