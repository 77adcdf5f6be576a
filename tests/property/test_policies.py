"""Policies on random jobs: nothing is lost, the order of the jobs does not matter, dynamic is as good as fixed ones."""

import json
import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.analysis.policies.simulation import IoPhase, PolicyJob, simulate
from slicewise.kinds import METRICS, POLICIES, Simulable
from support.decided_again import replay

CAPACITY = 100.0
volumes = st.floats(1.0, 5000.0)
caps = st.one_of(st.just(math.inf), st.floats(10.0, 150.0))
starts = st.floats(0.0, 60.0)
processes = st.integers(1, 4096)
delays = st.sampled_from([0.0, 1.5, 20.0])


@st.composite
def plans(draw, name, most_phases=3):
    count = draw(processes)
    phases = tuple(
        IoPhase(draw(st.floats(0.0, 30.0)), draw(volumes), draw(caps)) for _ in range(draw(st.integers(1, most_phases)))
    )
    unit, period = draw(st.sampled_from([0.0, 0.0, 37.0])), draw(st.sampled_from([0.0, 30.0, 300.0]))
    return PolicyJob(name, count, float(count), draw(starts), phases, draw(st.floats(0.0, 5.0)), unit, period)


@st.composite
def crowds(draw):
    return [draw(plans(f"job {number}")) for number in range(draw(st.integers(1, 5)))]


@given(crowds(), st.sampled_from(get_args(Simulable)), st.sampled_from(METRICS), delays)
def test_bytes_and_time_are_conserved(jobs, policy, metric, delay):
    found = simulate(CAPACITY, jobs, policy, metric, delay)
    for plan, outcome in zip(jobs, found.jobs, strict=True):
        assert outcome.moved == pytest.approx(sum(phase.volume for phase in plan.phases), rel=1e-6)
        assert outcome.io_seconds >= outcome.io_alone * (1 - 1e-6)
        computing = sum(phase.computing for phase in plan.phases) + plan.computing_after
        assert outcome.end - outcome.start == pytest.approx(outcome.io_seconds + computing, rel=1e-6, abs=1e-6)
        for one, then in zip(outcome.stretches, outcome.stretches[1:], strict=False):
            assert one.end == pytest.approx(then.start)
    edges = sorted({one.start for outcome in found.jobs for one in outcome.stretches})
    for edge in edges:
        rates = [one.rate for outcome in found.jobs for one in outcome.stretches if one.start <= edge < one.end]
        assert math.fsum(rates) <= CAPACITY * (1 + 1e-9)


@given(crowds(), st.sampled_from(get_args(Simulable)), delays, st.randoms(use_true_random=False))
def test_the_order_of_the_jobs_does_not_matter(jobs, policy, delay, random):
    mixed = random.sample(jobs, len(jobs))
    ends = [
        {outcome.job: outcome.end for outcome in simulate(CAPACITY, order, policy, delay=delay).jobs}
        for order in (jobs, mixed)
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)


@given(
    volumes, volumes, caps, caps, processes, processes, st.floats(0.0, 60.0), st.sampled_from(METRICS), delays
)  # fmt: skip
def test_dynamic_is_never_worse_than_any_fixed_policy_for_two_jobs(a, b, cap_a, cap_b, n_a, n_b, offset, metric, delay):
    jobs = [
        PolicyJob("A", n_a, float(n_a), 0.0, (IoPhase(0.0, a, cap_a),)),
        PolicyJob("B", n_b, float(n_b), offset, (IoPhase(0.0, b, cap_b),)),
    ]
    costs = {policy: simulate(CAPACITY, jobs, policy, metric, delay).cost(metric) for policy in POLICIES}
    fixed = min(cost for policy, cost in costs.items() if policy != "dynamic")
    assert costs["dynamic"] <= fixed * (1 + 1e-5)


@given(
    st.lists(st.tuples(volumes, starts, processes), min_size=1, max_size=5),
    st.sampled_from(POLICIES),
    st.sampled_from(METRICS),
)
def test_the_log_of_a_simulation_agrees_with_the_replay_of_it(figures, policy, metric):
    jobs = [
        PolicyJob(str(number), count, float(count), start + number / 7, (IoPhase(0.0, volume),))
        for number, (volume, start, count) in enumerate(figures)
    ]
    found = simulate(CAPACITY, jobs, policy, metric)
    assert replay(log_of(found, metric), "log").disagreements == []


def log_of(simulated, metric):
    """The decision log of jobs with one phase each, from what the simulation let them do."""
    start = {"time_seconds": 0.0, "event": "start", "policy": simulated.policy, "metric": metric}
    changes, decisions = [], []
    for outcome in simulated.jobs:
        number = int(outcome.job)
        arrived, ended = outcome.phases[0]
        alone = outcome.io_alone
        informs = {"processes": outcome.processes, "seconds": alone, "remaining": alone}
        changes.append((arrived, 0, {"event": "inform", "job": number} | informs))
        changes.append((ended, 0, {"event": "release", "job": number, "remaining": 0.0}))
        stretches = [one for one in outcome.stretches if one.doing != "computing"]
        was_going = False
        for before, one in zip([None, *stretches], stretches, strict=False):
            is_going = one.doing == "io"
            if is_going != (before is not None and before.doing == "io"):
                what = "pause" if not is_going else "resume" if was_going else "authorise"
                decisions.append((one.start, 1, {"event": what, "job": number}))
            was_going |= is_going
    ordered = sorted([*changes, *decisions], key=lambda one: one[:2])
    return [json.dumps(record) for record in (start, *({"time_seconds": time} | event for time, _, event in ordered))]
