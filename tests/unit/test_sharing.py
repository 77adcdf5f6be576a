"""Proportional sharing against figures worked out by hand, and against the measurements of the paper it is from."""

import math

import pytest
from slicewise.analysis.sharing.goodness import Misfit
from slicewise.analysis.sharing.proportional import SharingJob, common_start_times, fair_rates, share_out
from slicewise.analysis.sharing.weights import WEIGHT_KINDS, Candidate, WeightFit, Weighting, WeightKind
from slicewise.estimate import Estimate
from slicewise.report.model.model_report import answer, misfit_words
from support.closed_forms import alone_from_common_start

PAIRS = [
    # weight and standalone time of the first and of the other job, their times together
    (60, 12, 100, 100, 120, 200),
    (36, 12, 168, 170, 224, 338),
    (60, 36, 171, 168, 273.6, 339),
]


@pytest.mark.parametrize(("first", "last", "alone_first", "alone_last", "together_first", "together_last"), PAIRS)
def test_pair_of_equal_volumes(first, last, alone_first, alone_last, together_first, together_last):
    together = common_start_times(1.0, [alone_first, alone_last], [first, last])
    assert together == pytest.approx([together_first, together_last], abs=1e-6)
    assert alone_from_common_start(together, [first, last]) == pytest.approx([alone_first, alone_last], abs=1e-6)


def test_order_of_the_jobs_does_not_matter():
    assert common_start_times(1.0, [100, 100], [12, 60]) == pytest.approx([200, 120])
    assert alone_from_common_start([200, 120], [12, 60]) == pytest.approx([100, 100])


INF = math.inf
WATER_FILLING = [
    # capacity; volume, weight, cap and start of each job; end, t_co and interference of each
    (
        120,
        [(1200, 60, INF, 0), (1200, 36, INF, 0), (1200, 12, INF, 0)],
        [(18, 18, 1.8), (23.333333, 23.333333, 2.333333), (30, 30, 3)],
    ),
    (
        100,
        [(1000, 50, INF, 0), (300, 10, INF, 2), (600, 40, INF, 5)],
        [(16, 16, 1.6), (19, 17, 5.666667), (18, 13, 2.166667)],
    ),
    (100, [(300, 10, 30, 0), (400, 20, 40, 0)], [(10, 10, 1), (10, 10, 1)]),
]


@pytest.mark.parametrize(("capacity", "jobs", "served"), WATER_FILLING)
def test_water_filling(capacity, jobs, served):
    schedule = share_out(capacity, [SharingJob("job", *job) for job in jobs])
    got = [(job.end, job.t_co, job.interference) for job in schedule.jobs]
    assert [figure for job in got for figure in job] == pytest.approx(
        [figure for job in served for figure in job], abs=1e-6
    )


def test_what_a_capped_job_leaves_goes_to_the_others():
    assert fair_rates(100, [1, 1, 2], [10, INF, INF]) == pytest.approx([10, 30, 60])
    # The first cap that binds makes room that lets the second bind no more.
    assert fair_rates(100, [1, 1, 1], [10, 40, INF]) == pytest.approx([10, 40, 50])
    assert fair_rates(100, [1, 9], [20, 30]) == pytest.approx([20, 30])


def test_nobody_is_served_while_nobody_runs():
    schedule = share_out(10, [SharingJob("early", 100, 1), SharingJob("late", 100, 1, start=50)])
    assert [job.end for job in schedule.jobs] == pytest.approx([10, 60])
    assert [(stage.start, stage.end) for stage in schedule.stages] == [(0, 10), (50, 60)]


def test_starts_as_large_as_the_time_of_day_cost_no_digits():
    capacity, jobs, served = WATER_FILLING[1]
    now = 1_795_000_000.0
    late = [SharingJob("job", volume, weight, cap, start + now) for volume, weight, cap, start in jobs]
    assert [job.t_co for job in share_out(capacity, late).jobs] == pytest.approx(
        [t_co for _, t_co, _ in served], abs=1e-6
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"volume": 0}, "volume of A is 0"),
        ({"volume": math.nan}, "volume of A is nan"),
        ({"weight": -1}, "weight of A is -1"),
        ({"cap": 0}, "cap of A is 0"),
        ({"start": INF}, "start of A is inf"),
    ],
)
def test_jobs_that_cannot_be(change, complaint):
    with pytest.raises(ValueError, match=complaint):
        SharingJob(**({"job": "A", "volume": 1.0, "weight": 1.0} | change))


@pytest.mark.parametrize("capacity", [0, -1, math.nan, INF])
def test_capacities_that_cannot_be(capacity):
    with pytest.raises(ValueError, match="capacity is"):
        share_out(capacity, [SharingJob("A", 1, 1)])


def fit(*possible: WeightKind, error: float = 0.05) -> WeightFit:
    candidates = [Candidate(kind, error if kind in possible else 1.059, kind not in possible) for kind in WEIGHT_KINDS]
    return WeightFit(Weighting(possible[0]), candidates, [], list(possible), None, 6, 12, 90, "")


@pytest.mark.parametrize(
    ("possible", "said"),
    [
        (("processes",), "The file system is fair to processes, not to nodes."),
        (("nodes", "mounts"), "The file system is fair to nodes, or to what each node has one of, not to processes."),
        (("outstanding",), "fair neither to processes nor to nodes: whoever keeps more bytes under way gets more."),
        (("nodes", "outstanding"), "Runs with unequal numbers of processes a node would tell."),
        (("processes^beta",), "The file system is fair neither to processes nor to nodes."),
        (("processes", "nodes"), "These runs cannot tell whether the file system is fair to processes or to nodes."),
    ],
)
def test_a_storage_is_fair_to_what_is_not_refuted(possible, said):
    assert said in answer(fit(*possible))


def test_a_fit_that_explains_nothing_says_that_and_no_more():
    assert answer(fit("outstanding", error=0.93)) == (
        "Nothing explains how the storage is shared: by the bytes that it keeps outstanding, which comes nearest, "
        "held-out shares are off by 93 % (12 runs of 6 combinations, 90 slices)."
    )


@pytest.mark.parametrize(
    ("observed", "capacity_ratio", "said"),
    [
        (150.0, 1.0, "the time was lost at the beginning, at the end or in a pause."),
        (50.0, 1.0, "where the time was gained is not known."),
        (50.0, 1.2, "The storage gave all jobs together 20.0 % more than the model has."),
        (150.0, 0.9, "The storage gave all jobs together 10.0 % less than the model has."),
        (50.0, None, "What the storage gave all jobs together is not known."),
    ],
)
def test_where_a_prediction_was_missed_is_told_where_it_is_known(observed, capacity_ratio, said):
    predicted = Estimate(100.0, 95.0, 105.0, "")
    missed = Misfit("job", predicted, observed, "no share law", 101.0, 0.5, 0.5, capacity_ratio)
    assert misfit_words(missed).endswith(said)
