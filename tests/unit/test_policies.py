"""Policies: decisions, the simulation, and the two-job formulas of Dorier et al. as known answers."""

import math

import pytest
from slicewise.analysis.policies.comparison import compare
from slicewise.analysis.policies.decisions import Present, decide, predict, set_of
from slicewise.analysis.policies.simulation import IoPhase, PolicyJob, simulate
from slicewise.kinds import METRICS, POLICIES


def job(name, volume, processes=1, start=0.0, cap=math.inf, **more):
    return PolicyJob(name, processes, processes, start, (IoPhase(0.0, volume, cap),), **more)


def two_jobs(offset, alone_a=20.0, alone_b=5.0, processes=2048):
    return [job("A", alone_a, processes), job("B", alone_b, processes, start=offset)]


def ends(simulated):
    return {outcome.job: outcome.end for outcome in simulated.jobs}


@pytest.mark.parametrize(
    ("offset", "costs"), [(0, (71680, 92160, 61440)), (14, (71680, 63488, 61440)), (16, (67584, 59392, 61440))]
)
def test_cpu_seconds_of_two_jobs_are_those_of_the_formulas(offset, costs):
    found = [
        simulate(1.0, two_jobs(offset), policy).cost("cpu_seconds") for policy in ("interfere", "fcfs", "interrupt")
    ]
    assert found == pytest.approx(costs, rel=1e-9)
    assert simulate(1.0, two_jobs(offset), "dynamic").cost("cpu_seconds") == pytest.approx(min(costs), rel=1e-9)


@pytest.mark.parametrize("begun", [0.0, 0.15, 0.4, 0.6, 0.95])
@pytest.mark.parametrize(("a", "b"), [(20.0, 5.0), (10.0, 10.0), (15.0, 30.0)])
@pytest.mark.parametrize(("many", "few"), [(2048, 2048), (512, 64), (64, 512)])
def test_fcfs_and_interrupt_cost_what_the_two_job_formulas_say(begun, a, b, many, few):
    offset = begun * a
    jobs = [job("A", a, many), job("B", b, few, start=offset)]
    fcfs = many * a + few * (a - offset + b)
    interrupt = many * (a + b) + few * b
    assert simulate(1.0, jobs, "fcfs").cost("cpu_seconds") == pytest.approx(fcfs)
    assert simulate(1.0, jobs, "interrupt").cost("cpu_seconds") == pytest.approx(interrupt)
    is_interrupted = offset < a - many / few * b
    dynamic = simulate(1.0, jobs, "dynamic")
    assert dynamic.cost("cpu_seconds") == pytest.approx(interrupt if is_interrupted else fcfs)


EQUAL = [(0, (20, 20)), (2.5, (17.5, 17.5)), (-2.5, (17.5, 17.5)), (5, (15, 15)), (-5, (15, 15)), (10, (10, 10)),
         (-12, (10, 10))]  # fmt: skip
THREE_TO_ONE = [(-5, (13 + 1 / 3, 20)), (0, (13 + 1 / 3, 20)), (1, (13, 19)), (5, (11 + 2 / 3, 15)),
                (8, (10 + 2 / 3, 12))]  # fmt: skip


@pytest.mark.parametrize(
    ("weights", "offset", "seconds"), [*(((1, 1), *of) for of in EQUAL), *(((36, 12), *of) for of in THREE_TO_ONE)]
)
def test_interfering_jobs_have_the_times_of_the_delta_graph(weights, offset, seconds):
    found = simulate(100.0, [job("A", 1000.0, weights[0]), job("B", 1000.0, weights[1], start=offset)], "interfere")
    assert [outcome.io_seconds for outcome in found.jobs] == pytest.approx(seconds)


def test_jobs_whose_caps_fit_do_not_hold_each_other_up_and_dynamic_lets_both_go():
    jobs = [job("A", 300.0, 10, cap=30.0), job("B", 400.0, 20, cap=40.0)]
    assert ends(simulate(100.0, jobs, "interfere")) == pytest.approx({"A": 10, "B": 10})
    assert ends(simulate(100.0, jobs, "fcfs")) == pytest.approx({"A": 10, "B": 20})
    for metric in METRICS:
        assert simulate(100.0, jobs, "dynamic", metric).cost("sum_interference") == pytest.approx(2.0)


def test_a_job_delayed_by_d_shares_when_the_delay_or_the_other_job_is_over():
    jobs = [job("A", 10.0), job("B", 10.0, start=2.0)]
    assert ends(simulate(1.0, jobs, "delay", delay=3.0)) == pytest.approx({"A": 15, "B": 20})
    assert ends(simulate(1.0, jobs, "delay", delay=30.0)) == ends(simulate(1.0, jobs, "fcfs"))
    assert ends(simulate(1.0, jobs, "delay", delay=0.0)) == pytest.approx(ends(simulate(1.0, jobs, "interfere")))


def test_an_interrupted_job_stops_only_between_its_units():
    jobs = [job("A", 20.0, unit=5.0), job("B", 5.0, start=7.0)]
    found = simulate(1.0, jobs, "interrupt")
    assert ends(found) == pytest.approx({"A": 25, "B": 15})
    assert [(one.start, one.end) for one in found.jobs[0].stretches if one.doing == "waiting"] == [(10.0, 15.0)]


def test_computing_between_phases_shifts_with_the_io():
    phases = (IoPhase(1.0, 2.0), IoPhase(3.0, 2.0))
    jobs = [PolicyJob("A", 1, 1.0, 0.0, phases, computing_after=1.0), PolicyJob("B", 1, 1.0, 0.0, phases)]
    found = simulate(1.0, jobs, "fcfs").jobs
    assert found[0].phases == ((1.0, 3.0), (6.0, 8.0))
    assert found[0].end == 9.0
    assert found[1].phases == ((1.0, 5.0), (8.0, 10.0))
    assert found[1].io_seconds == 6.0


def test_jobs_that_interrupt_each_other_are_a_stack():
    jobs = [job("A", 10.0), job("B", 10.0, start=2.0), job("C", 1.0, start=4.0)]
    assert ends(simulate(1.0, jobs, "interrupt")) == pytest.approx({"A": 21, "B": 13, "C": 5})


@pytest.mark.parametrize(
    ("period", "number"), [(20.0, 1), (31.6, 1), (31.7, 2), (0.4, 0), (1e-9, -6), (1e20, 12), (0, None)]
)
def test_the_set_of_a_job_is_the_rounded_logarithm_of_its_period(period, number):
    assert set_of(period) == number


SETS = [job("A", 10.0, period=100.0), job("B", 10.0, period=200.0), job("C", 10.0, period=10.0)]


def test_set10_serves_one_job_of_a_set_beside_other_sets_and_shares_go_by_priority():
    # A and C share 1 to 1, then B goes; by priority C has 10 of 11 until it ends, and A has 9 left then.
    assert ends(simulate(1.0, SETS, "set10")) == pytest.approx({"A": 20, "B": 30, "C": 20})
    assert ends(simulate(1.0, SETS, "set10_shares")) == pytest.approx({"A": 20, "B": 30, "C": 11})


def test_a_job_whose_period_is_not_known_is_of_a_set_of_its_own_and_has_the_share_of_the_longest():
    jobs = [*SETS[::2], job("D", 10.0), job("E", 1.0)]
    # C 10, A 1, D 1 of 12 until C ends at 12; A and D have 9 left each, and go 1 to 1; then E.
    assert ends(simulate(1.0, jobs, "set10_shares")) == pytest.approx({"C": 12, "A": 30, "D": 30, "E": 31})
    assert ends(simulate(1.0, jobs[2:], "set10_shares")) == pytest.approx({"D": 10, "E": 11})


def test_a_period_is_that_of_a_jobs_phases_with_nobody_else():
    often = PolicyJob("A", 1, 1.0, 0.0, (IoPhase(0.0, 4.0), IoPhase(6.0, 4.0), IoPhase(16.0, 4.0)))
    beside, behind = (PolicyJob("B", 1, 1.0, 0.0, (IoPhase(0.0, 4.0),), period=period) for period in (32.0, 16.0))
    assert simulate(1.0, [often, beside], "set10").jobs[1].end == pytest.approx(8)
    found = simulate(1.0, [often, behind], "set10").jobs[1]
    assert [one.doing for one in found.stretches] == ["waiting", "io"]


def test_utilisation_is_the_share_of_cpu_seconds_that_computes_and_slowdown_the_mean_factor():
    jobs = [
        PolicyJob("A", 3, 3.0, 0.0, (IoPhase(3.0, 2.0),), computing_after=5.0),
        PolicyJob("B", 1, 1.0, 3.0, (IoPhase(0.0, 2.0),)),
    ]
    found = simulate(1.0, jobs, "fcfs")
    assert found.utilisation == pytest.approx(1 - (3 * 2 + 4) / (3 * 10 + 4))
    assert found.slowdown == pytest.approx(1.5)


def test_shares_by_priority_are_shown_and_never_the_best_for_no_coordinator_can_give_them():
    jobs = [job("A", 100.0, 1, period=1000.0), job("B", 1.0, 1000, period=1.0)]
    found = compare(1.0, jobs, "sum_interference", ("interfere", "set10"))
    assert [one.policy for one in found.simulated] == ["interfere", "set10", "set10_shares"]
    costs = [one.cost("sum_interference") for one in found.simulated]
    assert costs[2] <= min(costs)
    assert found.best.policy == "interfere"


def test_jobs_on_other_targets_do_not_wait_for_each_other():
    def present(number, targets):
        return Present(number, float(number), 9.0, 9.0, 8, 8.0, targets=targets)

    jobs = [present(1, 0b0011), present(2, 0b0110), present(3, 0b1000), present(4, 0b0001)]
    assert decide("fcfs", jobs, 4.0) == decide("set10", jobs, 4.0) == decide("delay", jobs, 4.0, delay=9.0) == {1, 3}
    assert decide("interrupt", jobs, 4.0) == {2, 3, 4}
    assert decide("dynamic", jobs[::2], 4.0) == {1, 3}
    assert decide("interrupt", [*jobs, Present(5, 5.0, 1.0, 1.0, 1, 1.0)], 5.0) == {5}


def test_starts_as_large_as_the_time_of_day_cost_no_digits():
    late = 1.7e9
    jobs = [job("A", 20.0, start=late), job("B", 5.0, start=late + 14)]
    assert ends(simulate(1.0, jobs, "fcfs")) == pytest.approx({"A": late + 20, "B": late + 25}, abs=1e-6)


def test_with_a_job_there_is_somebody_who_may_go():
    crowd = [Present(n, float(n), 5.0 + n % 3, 1.0 + n % 4, 1 + n % 7, 1.0, 0.1 + 0.2 * (n % 5)) for n in range(1, 30)]
    for policy in POLICIES:
        for metric in METRICS:
            assert decide(policy, crowd, 40.0, metric, delay=2.0)
            assert decide(policy, crowd[:1], 40.0, metric) == {1}
            assert decide(policy, [], 40.0, metric) == set()


def test_a_prediction_ends_jobs_that_have_nothing_left_at_once():
    jobs = [Present(1, 0.0, 5.0, 0.0, 1, 1.0), Present(2, 1.0, 4.0, 4.0, 1, 1.0)]
    assert predict("fcfs", jobs, 10.0, "cpu_seconds", 0.0) == {1: 10.0, 2: 14.0}


@pytest.mark.parametrize("wrong", [{"volume": 0.0}, {"volume": math.nan}, {"processes": 0}, {"start": math.inf}])
def test_a_job_of_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"A"):
        job(**({"name": "A", "volume": 1.0} | wrong))
