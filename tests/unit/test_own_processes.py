"""What a job's own processes cost each other, by slices with fewer of them in calls."""

import polars as pl
import pytest
from slicewise.analysis.blame.own_processes import own_processes
from slicewise.analysis.blame.result import OwnProcesses
from slicewise.analysis.calls import COUNTS, KINDS, SECONDS

MIB = 1 << 20
NOBODY = pl.DataFrame(schema={"storage": pl.UInt64, "slice": pl.Int64})


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
