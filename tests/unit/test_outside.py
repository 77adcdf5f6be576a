"""What a job took longer than alone outside of I/O, by what the kernel counted."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.blame.outside import outside_of_io
from slicewise.analysis.blame.own_processes import own_processes
from slicewise.analysis.blame.result import OwnProcesses
from slicewise.analysis.blame.without import without_its_part
from slicewise.analysis.calls import COUNTS, KINDS, SECONDS
from slicewise.estimate import Estimate

SECOND = 1_000_000_000
MIB = 1 << 20
NOBODY = pl.DataFrame(schema={"storage": pl.UInt64, "slice": pl.Int64})


def run(runtime, processor, switches, faults=0, stall=None):
    """A run of one process: seconds that it took, and with a processor; how often one was taken away from it."""
    usage = {
        "process": [1],
        "user_ns": [round(processor * SECOND)],
        "system_ns": [0],
        "involuntary_switches": [switches],
        "major_faults": [faults],
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


def test_the_end_without_a_neighbour_keeps_what_calls_waited_for_processors():
    """It was "not known" for a wait of 0.1 s of 10.9 s."""
    end = Estimate(14.0, 13.0, 15.0, "by the model of sharing")
    found = without_its_part(end, 0.5)
    assert (found.low, found.value, found.high) == (13.0, 14.5, 16.0)
    assert without_its_part(end, 0.0) == end
    assert without_its_part(None, 0.5) is None


def calls(slices: dict[int, list[float]], seconds: float = 4.0, call: int = MIB) -> pl.DataFrame:
    """By slice, the MiB that each of the processes in calls wrote in that time: rows of `call_rows` on storage 1."""
    nothing = {SECONDS[kind]: 0.0 for kind in KINDS} | dict.fromkeys(COUNTS, 0)
    rows = [
        {"process": place + 1, "storage": 1, "slice": number}
        | nothing
        | {"write_seconds": seconds, "write_bytes": round(mib * MIB), "write_ops": round(mib * MIB) // call}
        for number, each in slices.items()
        for place, mib in enumerate(each)
    ]
    return pl.DataFrame(rows, schema_overrides={"process": pl.UInt64, "storage": pl.UInt64})


def one_two_four(alone: float = 320, two: float = 160, four: float = 80) -> dict[int, list[float]]:
    """6 slices each with one, two and four processes in calls: 4 of each are between others like them."""
    counts = {1: alone, 2: two, 4: four}
    return {
        6 * place + number: [mib] * count for place, (count, mib) in enumerate(counts.items()) for number in range(6)
    }


def told(rows: pl.DataFrame, company: pl.DataFrame = NOBODY, runs: tuple[pl.DataFrame, ...] = (), most: float = 72.0):
    return own_processes(rows, company, list(runs), 1, most)


def test_one_two_and_four_processes() -> None:
    """A storage of 80 MiB/s: alone process 1 pays 1/80 s a MiB, with two 2/80, with four 4/80. Its 6 slices with two
    have 960 MiB, 12 s too long; those with four 480 MiB, 18 s too long.
    """
    own = told(calls(one_two_four()))
    assert own is not None
    assert own.seconds.value == pytest.approx(12 + 18)
    assert own.slices["seconds"].to_list() == pytest.approx([0.0] * 6 + [2.0] * 6 + [3.0] * 6)
    # Each cost is known to 0.5 %, and 1 % of 72 s may be in other slices: with two (0.005 * 12 s + 0.005 * 24 s) off.
    off = 0.005 * (12 + 24) + 0.005 * (6 + 24) + 0.72
    assert (own.seconds.low, own.seconds.high) == pytest.approx((30 - off, 30 + off))


def test_it_is_no_more_than_the_io_alone() -> None:
    own = told(calls(one_two_four()), most=29.9)
    assert own is not None
    assert own.seconds.value == pytest.approx(29.9) == pytest.approx(own.slices["seconds"].sum())
    assert told(calls(one_two_four()), most=10.0) is None


def test_processes_of_a_storage_that_nobody_fills_cost_each_other_nothing() -> None:
    own = told(calls(one_two_four(100, 100, 100)))
    assert own is not None
    assert (own.seconds.value, own.seconds.low) == (0, 0)
    assert own.seconds.high <= 0.05 * 72


def test_one_process_has_nobody_to_wait_for() -> None:
    own = told(calls({number: [320] for number in range(9)}))
    assert own is not None
    assert (own.seconds.value, own.seconds.low, own.seconds.high) == (0, 0, 0)


@pytest.mark.parametrize(
    "slices",
    [
        pytest.param({number: [80] * 4 for number in range(18)}, id="always as many"),
        pytest.param({number: [160] * (1 + number % 2) for number in range(18)}, id="never settled"),
        pytest.param(one_two_four(80, 160, 320), id="faster with more"),
        pytest.param(
            {n: [mib * (1 + (n % 3 - 1) * 0.5) for mib in row] for n, row in one_two_four().items()}, id="scattered"
        ),
    ],
)
def test_without_a_clear_difference_it_is_unknown(slices: dict[int, list[float]]) -> None:
    assert told(calls(slices)) is None


def test_the_fewest_are_two_where_one_alone_has_too_few_slices() -> None:
    """The four lose 480 MiB * (4 - 2) / 80 s."""
    own = told(calls({number: row for number, row in one_two_four().items() if number > 1}))
    assert own is not None
    assert own.seconds.value == pytest.approx(12)


def test_calls_of_other_sizes_are_not_compared() -> None:
    one = calls({number: row for number, row in one_two_four().items() if len(row) == 1})
    four = {number: row for number, row in one_two_four().items() if len(row) == 4}
    assert told(pl.concat([one, calls(four)])) is not None
    assert told(pl.concat([one, calls(four, call=MIB // 4)])) is None


def test_slices_with_company_tell_nothing_and_runs_alone_do_instead() -> None:
    rows = calls(one_two_four())
    company = pl.DataFrame({"storage": [1] * 6, "slice": list(range(6))}, schema=NOBODY.schema)
    own = told(rows, company)
    assert isinstance(own, OwnProcesses)
    # Without those with one process alone, only what four lose beyond two is known.
    assert own.seconds.value == pytest.approx(12)
    everywhere = pl.DataFrame({"storage": [1] * 18, "slice": list(range(18))}, schema=NOBODY.schema)
    assert told(rows, everywhere) is None
    own = told(rows, everywhere, (rows,))
    assert own is not None
    assert own.seconds.value == pytest.approx(30)
    assert "standalone runs" in own.seconds.how
