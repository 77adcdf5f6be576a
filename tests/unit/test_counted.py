"""A job that servers alone know: its rate beside others against its rate alone."""

import polars as pl
import pytest
from slicewise.analysis.blame.counted import counted_job
from slicewise.report.blame.counted_words import record, sentences, table
from support.served_rows import MIB, rows


def test_a_job_that_was_alone_for_a_while():
    """It gets 20 MiB/s alone and 10 beside another: 10 s of company cost 5 s."""
    found = counted_job(
        rows(
            ("a", "l-OST0", 0, 10, 20), ("a", "l-OST0", 10, 20, 10), ("a", "l-OST0", 20, 30, 20),
            ("b", "l-OST0", 10, 20, 10),
        ),
        "a",
    )  # fmt: skip
    assert found.rates.alone.value == 20 * MIB
    assert found.rates.beside == 10 * MIB
    assert found.rates.lost.value == pytest.approx(5.0)
    assert found.rates.confidence == "medium"
    (one,) = found.neighbours
    assert (one.job, one.write_bytes, one.lost_seconds) == ("b", 100 * MIB, pytest.approx(5.0))
    assert any("5.00 s" in line and "Confidence: medium" in line for line in sentences(found))
    assert record(found)["lost"]["value"] == pytest.approx(5.0)
    assert [row[0].text for row in table(found).rows] == ["b"]


def test_jobs_on_other_targets_are_no_neighbours():
    found = counted_job(rows(("a", "l-OST0", 0, 20, 20), ("b", "l-OST1", 5, 15, 500)), "a")
    assert found.neighbours == []
    assert found.rates.lost is None
    assert any("Nobody else used these targets" in line for line in sentences(found))


def test_what_is_lost_is_shared_out_by_what_they_moved():
    found = counted_job(
        rows(
            ("a", "t", 0, 10, 40), ("a", "t", 10, 20, 10), ("b", "t", 10, 20, 20), ("c", "t", 10, 20, 10),
            ("d", "u", 0, 20, 99),
        ),
        "a",
    )  # fmt: skip
    assert {one.job: round(one.lost_seconds, 6) for one in found.neighbours} == {"b": 5.0, "c": 2.5}


def test_a_job_that_was_never_alone_says_so():
    found = counted_job(rows(("a", "t", 0, 20, 10), ("b", "t", 0, 20, 10)), "a")
    assert (found.rates.lost, found.rates.confidence, found.rates.alone) == (None, "unknown", None)
    assert [one.lost_seconds for one in found.neighbours] == [None]


def test_standalone_runs_of_it():
    data = rows(("a", "t", 0, 20, 10), ("b", "t", 0, 20, 10), ("a0", "t", 100, 110, 20), ("a1", "t", 200, 205, 20))
    found = counted_job(data, "a", ["a0"])
    assert (found.rates.lost.value, found.rates.confidence) == (pytest.approx(10.0), "medium")
    assert counted_job(data, "a", ["a1"]).rates.confidence == "low"  # it moved half as much
    with pytest.raises(KeyError):
        counted_job(data, "a", ["nobody"])


def test_a_pause_is_no_loss():
    found = counted_job(rows(("a", "t", 0, 10, 20), ("a", "t", 20, 30, 20), ("b", "t", 10, 20, 90)), "a")
    assert found.neighbours == []


def test_rates_that_scatter_are_less_sure():
    alone = [("a", "t", at, at + 1, 10 + 20 * (at % 2)) for at in range(10)]
    found = counted_job(rows(*alone, ("a", "t", 10, 20, 10), ("b", "t", 10, 20, 10)), "a")
    assert found.rates.confidence == "low"
    assert found.rates.lost.low < found.rates.lost.value < found.rates.lost.high


def test_one_hot_target_is_named():
    quiet = [("b", f"l-OST{number}", 0, 20, 1) for number in range(1, 6)]
    found = counted_job(rows(("a", "l-OST0", 0, 20, 50), ("c", "l-OST0", 0, 20, 45), *quiet), "a")
    assert found.hot == ("l-OST0", pytest.approx(0.95))
    assert any("l-OST0 was hot: it served 95.0 %" in line for line in sentences(found))


def test_programs_of_users_and_clients_are_named_as_such():
    found = counted_job(rows(("dd.1000", "t", 0, 9, 1), ("48213.0", "t", 0, 9, 1), ("cp.7", "t", 0, 9, 1)), "dd.1000")
    assert sentences(found)[0].startswith("dd of user 1000 has no profile")
    assert {row[0].text for row in table(found).rows} == {"48213.0", "cp of user 7"}


def test_a_start_of_long_ago_takes_no_memory():
    data = rows(("a", "t", 0, 9, 1))
    old = data.head(1).with_columns(begin_ns=pl.lit(1, pl.Int64), job=pl.lit("b"))
    assert counted_job(pl.concat([data, old]), "a") is not None
    assert counted_job(pl.concat([data, old]), "b") is not None


def test_nobody_knows_it():
    assert counted_job(rows(("a", "t", 0, 9, 1)), "b") is None
