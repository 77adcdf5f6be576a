"""What a job took longer than alone outside of I/O, by what the kernel counted."""

from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.blame.outside import delayed_outside, delayed_seconds, outside_of_io
from slicewise.analysis.blame.without import without_its_part
from slicewise.estimate import Estimate

SECOND = 1_000_000_000


def run(runtime, processor, switches, faults=0, stall=None, delayed=None):
    """A run of one process: seconds that it took, with a processor, and ready for one (None: not counted); how often
    one was taken away from it.
    """
    usage = {
        "process": [1],
        "user_ns": [round(processor * SECOND)],
        "system_ns": [0],
        "involuntary_switches": [switches],
        "major_faults": [faults],
        "delayed_ns": pl.Series([None if delayed is None else round(delayed * SECOND)], dtype=pl.Int64),
    }
    samples = {"node": [] if stall is None else ["n"], "seconds": [] if stall is None else [float(runtime)]}
    signals = {"node": ["n"], "signal": ["cpu_stall"], "amount": [(stall or 0.0) * runtime]}
    return SimpleNamespace(
        about={"start_ns": 0, "end_ns": round(runtime * SECOND)},
        usage=pl.DataFrame(usage),
        processes=pl.DataFrame({"process": [1], "node": ["n"], "matters": [True]}),
        node_samples=pl.DataFrame(samples, schema={"node": pl.String, "seconds": pl.Float64}),
        node_slices=pl.DataFrame(signals),
        not_kept={},
    )


ALONE = [run(7.4, 6.9, 40), run(7.2, 6.8, 30)]


def test_a_job_that_waits_for_processors_is_told_so_and_its_calls_too():
    """Four busy loops on two processors: no neighbour took more than a moment of the storage's time."""
    found = outside_of_io(run(27.6, 6.9, 3000), ALONE, 1, io_alone=0.5, io_lost=1.2, taken=0.1)
    assert found.alone.value == pytest.approx(7.3)
    assert found.seconds == pytest.approx(27.6 - 7.3 - 1.2)
    assert found.waited_seconds == pytest.approx(found.seconds, rel=0.01)
    assert found.io_seconds == pytest.approx(1.1)


def test_a_pressure_of_the_node_tells_it_too():
    found = outside_of_io(run(20.0, 6.9, 50, stall=0.9), ALONE, 1, 0.5, 0.0, 0.0)
    assert found.waited_seconds > 0.9 * found.seconds
    assert found.stall == pytest.approx(0.9)


def test_nobody_waited_for_a_processor_for_longer_than_somebody_did():
    """A job that waits for others' start and hardly computes: a few moments without a processor say nothing."""
    idle = [run(11.0, 0.1, 0, stall=0.01)]
    found = outside_of_io(run(25.0, 0.12, 4, stall=0.02), idle, 1, 10.0, 10.5, 10.0)
    assert found.seconds == pytest.approx(3.5)
    assert found.waited_seconds == 0.0


def test_one_of_many_nodes_may_be_the_one_where_processors_were_waited_for():
    """The share is of all nodes' time."""
    job = run(27.6, 6.9, 3000, stall=0.1)
    rows = [{"process": at, "node": f"n{at}", "matters": True} for at in range(2, 10)]
    job.processes = pl.concat([job.processes, pl.DataFrame(rows)])
    assert outside_of_io(job, ALONE, 1, io_alone=0.5, io_lost=1.2, taken=0.1).waited_seconds > 15.0


def test_what_neighbours_can_have_cost_stays_theirs():
    found = outside_of_io(run(40.0, 6.9, 3000), ALONE, 1, io_alone=3.0, io_lost=12.0, taken=14.0)
    assert found.io_seconds == 0.0


def test_more_computing_is_no_wait():
    found = outside_of_io(run(20.0, 19.5, 100), ALONE, 1, 0.5, 0.0, 0.0)
    assert found.computed_seconds == pytest.approx(12.65, rel=0.01)
    assert found.waited_seconds == 0.0
    assert found.io_seconds == 0.0


def test_a_cause_that_nothing_shows_is_none():
    found = outside_of_io(run(20.0, 6.9, 40, faults=900), ALONE, 1, 0.5, 0.0, 0.0)
    assert (found.waited_seconds, found.computed_seconds) == (0.0, pytest.approx(0.05))
    assert found.faults == 900


@pytest.mark.parametrize(("runtime", "io_lost"), [(7.5, 0.0), (17.4, 10.0), (6.0, 0.0)])
def test_a_little_is_nothing(runtime, io_lost):
    assert outside_of_io(run(runtime, 6.9, 40), ALONE, 1, 0.5, io_lost, io_lost) is None


def test_without_runs_alone_nothing_is_known():
    assert outside_of_io(run(27.6, 6.9, 3000), [], 1, 0.5, 1.2, 0.1) is None


def test_what_the_kernel_counted_of_the_wait_counts():
    """9 s of 19.1 s: the others are not known, however often a processor was taken away."""
    alone = [run(7.4, 6.9, 40, delayed=0.1), run(7.2, 6.8, 30, delayed=0.1)]
    found = outside_of_io(run(27.6, 6.9, 3000, delayed=9.1), alone, 1, io_alone=0.5, io_lost=1.2, taken=0.1)
    assert found.waited_seconds == pytest.approx(9.0)
    calm = outside_of_io(run(27.6, 6.9, 30, delayed=20.1), alone, 1, io_alone=0.5, io_lost=1.2, taken=0.1)
    assert calm.waited_seconds == pytest.approx(27.6 - 7.3 - 1.2 - 0.05)
    assert calm.io_seconds == pytest.approx(20.0 - calm.waited_seconds)


def test_without_runs_alone_the_wait_that_was_counted_is_told():
    """26.1 s, of which 10.7 were lost in I/O and 4.2 waiting for a processor: 11.2 s alone."""
    lost = Estimate(10.7, 10.3, 11.0, "")
    found = delayed_outside(run(26.1, 0.3, 900, stall=0.85, delayed=4.2), 1, 21.5, lost)
    assert (found.seconds, found.waited_seconds, found.stall) == pytest.approx((4.2, 4.2, 0.85))
    assert found.alone.value == pytest.approx(11.2)
    assert (found.alone.low, found.alone.high) == (pytest.approx(26.1 - 11.0 - 4.2), pytest.approx(26.1 - 10.3))
    # More than there was time outside of calls was waited in calls, and never below 0.
    assert delayed_outside(run(26.1, 0.3, 900, delayed=9.0), 1, 21.5, lost).seconds == pytest.approx(4.6)
    assert delayed_outside(run(26.1, 0.3, 900, delayed=1.0), 1, 21.5, lost) is None
    assert delayed_outside(run(26.1, 0.3, 900), 1, 21.5, lost) is None


def test_a_wait_for_processors_is_told_where_nothing_else_is_known():
    assert delayed_seconds(run(27.6, 6.9, 3000, delayed=20.0), 1) == pytest.approx(20.0)
    assert delayed_seconds(run(27.6, 6.9, 3000, delayed=0.5), 1) is None
    assert delayed_seconds(run(27.6, 6.9, 3000), 1) is None


def test_the_end_without_a_neighbour_keeps_what_calls_waited_for_processors():
    """It was "not known" for a wait of 0.1 s of 10.9 s."""
    end = Estimate(14.0, 13.0, 15.0, "by the model of sharing")
    found = without_its_part(end, 0.5)
    assert (found.low, found.value, found.high) == (13.0, 14.5, 16.0)
    assert without_its_part(end, 0.0) == end
    assert without_its_part(None, 0.5) is None
