"""Which regions lost what to whom: the arithmetic, worked out on paper."""

from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.blame.case import case_of
from slicewise.analysis.blame.regions import lost_in_regions
from slicewise.analysis.job.regions import UNNAMED, by_name, in_slices, occurrences
from slicewise.report.blame.blame_words import further_lines
from slicewise.report.blame.region_words import lost_lines
from support.jobs import write_job

SECOND = 1_000_000_000


def job(regions: list[dict[str, object]], in_calls: list[tuple[int, int, float]], ranks: int = 0) -> SimpleNamespace:
    """A digest with slices of 1 s. regions: what is not given is 0. in_calls: process, slice, seconds."""
    nothing = dict.fromkeys(("read_bytes", "write_bytes", "calls", "io_ns", "mpi_ns", "left"), 0)
    rows = [
        {"process": 1, "occurrences": 1, "ns": row["end_ns"] - row["begin_ns"]} | nothing | row  # type: ignore[operator]
        for row in regions
    ]
    frame = pl.DataFrame(rows).with_columns(pl.col("process").cast(pl.UInt64))
    members = sorted({process for process, *_ in in_calls})
    return SimpleNamespace(
        not_kept={},
        slice_ns=SECOND,
        regions=frame.with_columns(slowest_ns="ns"),
        processes=pl.DataFrame(
            {"process": members, "is_of_job": True, "rank": list(range(ranks)) or [-1] * len(members)},
            schema_overrides={"process": pl.UInt64},
        ),
        process_slices=pl.DataFrame(
            [
                {"process": process, "slice": number, "read_ns": 0, "write_ns": round(seconds * SECOND)}
                for process, number, seconds in in_calls
            ],
            schema_overrides={"process": pl.UInt64},
        ).with_columns(meta_ns=0, sync_ns=0),
    )


def region(name: str, occurrence: int, begin: float, end: float, io: float, **more: object) -> dict[str, object]:
    times = {"begin_ns": round(begin * SECOND), "end_ns": round(end * SECOND), "io_ns": round(io * SECOND)}
    return {"region": name, "occurrence": occurrence} | times | more


def shares(rows: list[tuple[str | None, int, float]]) -> pl.DataFrame:
    schema = {"neighbour": pl.String, "slice": pl.Int64, "lost_seconds": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


TWO = [
    region("epoch", 1, 10, 12, 1.0),
    region("checkpoint", 1, 10, 11, 1.0),
    region("epoch", 2, 20, 21, 0.5),
]
IN_CALLS = [(1, 10, 1.0), (1, 20, 1.0)]


def test_a_slices_loss_is_a_regions_by_its_part_of_the_time_in_calls() -> None:
    """In slice 20 half of the calls are in no region."""
    neighbours = [SimpleNamespace(job="large", lost=SimpleNamespace(value=2.0))]
    found = lost_in_regions(job(TWO, IN_CALLS), shares([("large", 10, 0.6), ("large", 20, 0.4)]), neighbours, SECOND)
    assert found.select("region", "occurrence", "neighbour", "lost_seconds").rows() == [
        ("checkpoint", 1, "large", pytest.approx(1.2)),
        ("epoch", 1, "large", pytest.approx(1.2)),
        ("epoch", 2, "large", pytest.approx(0.4)),
    ]


def test_what_has_no_profile_costs_too_and_nothing_is_lost_without_neighbours() -> None:
    neighbours = [SimpleNamespace(job=None, lost=SimpleNamespace(value=1.0))]
    found = lost_in_regions(job(TWO, IN_CALLS), shares([(None, 10, 0.5)]), neighbours, SECOND)
    assert found["neighbour"].to_list() == [None, None]
    assert lost_in_regions(job(TWO, IN_CALLS), shares([]), [], SECOND).is_empty()


def test_of_a_region_around_another_one_the_inner_one_is_named() -> None:
    neighbours = [SimpleNamespace(job="large", lost=SimpleNamespace(value=2.0))]
    found = lost_in_regions(job(TWO, IN_CALLS), shares([("large", 10, 0.6), ("large", 20, 0.4)]), neighbours, SECOND)
    (line,) = lost_lines(found, 2.0, "others")
    assert "checkpoint 1 lost 1.20 s to large" in line
    assert "epoch 2" in line
    assert "epoch 1" not in line


def test_ranks_begin_a_region_together_and_other_processes_do_not() -> None:
    rows = [region("solve", 1, 10 + late, 11 + 2 * late, 0.5, process=1 + late, write_bytes=8) for late in (0, 1)]
    in_calls = [(1, 10, 0.5), (2, 11, 0.3), (2, 12, 0.2)]
    of_ranks = job(rows, in_calls, ranks=2)
    (together,) = occurrences(of_ranks).iter_rows(named=True)  # type: ignore[arg-type]
    assert (together["processes"], together["begin_ns"], together["end_ns"]) == (2, 10 * SECOND, 13 * SECOND)
    assert (together["seconds"], together["write_bytes"]) == (2, 16)
    assert by_name(of_ranks)["occurrences"].to_list() == [1]  # type: ignore[arg-type]
    apart = job(rows, in_calls)
    assert occurrences(apart)["occurrence"].to_list() == [1, 2]  # type: ignore[arg-type]
    assert by_name(apart)["occurrences"].to_list() == [2]  # type: ignore[arg-type]


def test_slices_have_what_their_calls_had() -> None:
    rows = [region("solve", 1, 10.5, 13, 1.0, write_bytes=100)]
    found = in_slices(job(rows, [(1, 10, 0.4), (1, 12, 0.8)]), SECOND)  # type: ignore[arg-type]
    assert found["seconds"].to_list() == [0.5, 1.0, 1.0]
    assert found["io_seconds"].to_list() == pytest.approx([0.2, 0.0, 0.8])
    assert found["write_bytes"].sum() == pytest.approx(100)


def test_names_without_room_have_a_name() -> None:
    rows = [region("", 0, 10, 20, 1.0, occurrences=50)]
    (row,) = by_name(job(rows, [(1, 10, 1.0)])).iter_rows(named=True)  # type: ignore[arg-type]
    assert (row["region"], row["occurrences"], row["slowest"]) == (UNNAMED, 50, None)
    assert occurrences(job(rows, [(1, 10, 1.0)])).is_empty()  # type: ignore[arg-type]


def test_blame_says_which_checkpoint_lost_how_much_to_whom(tmp_path: Path) -> None:
    """A quarter and three quarters of the time beside the other job are in the second and the third checkpoint."""
    rates = {range(15, 20): 102.0, range(20, 60): 19.0, range(60, 80): 102.0}
    checkpoints = [range(15, 20), range(20, 30), range(30, 60), range(60, 80)]
    write_job(tmp_path / "48213", 60, 12, {range(20, 60): 83.1})
    own = write_job(tmp_path / "48190", 12, 12, rates, first_node=6, program="/opt/postproc", regions=checkpoints)
    write_job(tmp_path / "48001", 12, 12, {range(-400, -360): 102.0}, first_node=6, program="/opt/postproc")
    told = case_of(own).result()
    assert told.is_claimed
    lost = {row["occurrence"]: row for row in told.regions.iter_rows(named=True)}
    assert list(lost) == [3, 2]
    assert {row["neighbour"] for row in lost.values()} == {"48213"}
    whole = told.neighbours[0].lost.value
    assert lost[3]["lost_seconds"] == pytest.approx(0.75 * whole, rel=0.05)
    assert lost[3]["lost_seconds"] + lost[2]["lost_seconds"] == pytest.approx(whole)
    assert any("checkpoint 3 lost" in line and "to 48213" in line for line in further_lines(told))
