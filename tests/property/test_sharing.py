"""What must hold of any jobs that share a capacity."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.analysis.sharing.proportional import SharingJob, common_start_times, share_out
from support.closed_forms import alone_from_common_start

amounts = st.floats(0.01, 1000)
capacities = st.floats(1, 1000)
caps = st.one_of(st.just(math.inf), st.floats(0.1, 2000))
jobs_of_all_kinds = st.lists(
    st.builds(SharingJob, st.just("job"), amounts, amounts, caps, st.floats(0, 100)), min_size=1, max_size=6
)

jobs_that_start_together = st.lists(st.builds(SharingJob, st.just("job"), amounts, amounts), min_size=1, max_size=6)


@given(capacities, jobs_of_all_kinds)
def test_every_job_gets_exactly_its_volume(capacity, jobs):
    schedule = share_out(capacity, jobs)
    for place, job in enumerate(jobs):
        moved = sum(stage.rates[place] * (stage.end - stage.start) for stage in schedule.stages)
        assert moved == pytest.approx(job.volume, rel=1e-6)


@given(capacities, jobs_of_all_kinds)
def test_capacity_is_neither_exceeded_nor_left_idle_while_wanted(capacity, jobs):
    for stage in share_out(capacity, jobs).stages:
        running = [job for job, rate in zip(jobs, stage.rates, strict=True) if rate > 0]
        assert sum(stage.rates) == pytest.approx(min(capacity, sum(job.cap for job in running)), rel=1e-9)
        assert all(rate <= job.cap * (1 + 1e-9) for job, rate in zip(jobs, stage.rates, strict=True))


@given(capacities, jobs_of_all_kinds)
def test_rates_below_the_cap_are_as_the_weights(capacity, jobs):
    for stage in share_out(capacity, jobs).stages:
        served = [(job, rate) for job, rate in zip(jobs, stage.rates, strict=True) if rate > 0]
        level = max(rate / job.weight for job, rate in served)
        for job, rate in served:
            assert rate == pytest.approx(min(job.cap, level * job.weight), rel=1e-9)


@given(capacities, jobs_of_all_kinds)
def test_no_job_is_faster_than_alone(capacity, jobs):
    for served in share_out(capacity, jobs).jobs:
        assert served.interference >= 1 - 1e-9


@given(capacities, jobs_of_all_kinds, st.floats(1, 10))
def test_more_weight_never_makes_a_job_later(capacity, jobs, factor):
    heavier = [replace(jobs[0], weight=jobs[0].weight * factor), *jobs[1:]]
    before, after = share_out(capacity, jobs).jobs[0].t_co, share_out(capacity, heavier).jobs[0].t_co
    assert after <= before * (1 + 1e-9)


@given(capacities, jobs_that_start_together)
def test_solver_gives_the_closed_form(capacity, jobs):
    expected = common_start_times(capacity, [job.volume for job in jobs], [job.weight for job in jobs])
    assert [served.t_co for served in share_out(capacity, jobs).jobs] == pytest.approx(expected, rel=1e-6)


@given(capacities, jobs_that_start_together)
def test_inverse_of_the_prediction_is_where_it_began(capacity, jobs):
    weights = [job.weight for job in jobs]
    together = common_start_times(capacity, [job.volume for job in jobs], weights)
    alone = [job.volume / capacity for job in jobs]
    # What is left after taking away all that went before has their rounding, not its own.
    assert alone_from_common_start(together, weights) == pytest.approx(alone, rel=1e-6, abs=1e-9 * max(together))
