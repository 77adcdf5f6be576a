"""The verdict on contention, from rates in shared slices and from times."""

import pytest
from slicewise.analysis.capacity.capacity import Demand
from slicewise.analysis.overlap.direction import SlicesBeside, contention
from slicewise.analysis.overlap.region import uniformity
from slicewise.estimate import Estimate


def exactly(value: float) -> Estimate:
    return Estimate(value, value, value, "given")


def beside(rate: float, seconds: float) -> SlicesBeside:
    """A job that alone reaches 100 bytes/s and takes 10 s."""
    demand = Demand(exactly(100.0), "standalone run")
    return SlicesBeside("job", rate, demand, exactly(seconds), exactly(10.0))


@pytest.mark.parametrize(
    ("rate", "seconds", "verdict"),
    [(50, 20, True), (100, 10, False), (97, 10.3, False), (100, 24, None)],
    ids=["slower in shared slices", "as fast as alone", "within the least loss", "longer, but not in shared slices"],
)
def test_verdict(rate, seconds, verdict):
    assert contention([beside(rate, seconds)]).contended is verdict


def test_a_loss_that_shared_slices_do_not_show_is_said():
    evidence = contention([beside(100, 24)]).evidence
    assert "but took 2.4 times as long" in evidence


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
