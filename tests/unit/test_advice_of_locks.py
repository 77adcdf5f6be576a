"""The advice for waits for locks of files."""

import polars as pl
import pytest
from slicewise.analysis.job.sites import Sites
from support.advised import FIRST, NS, sites, told


def test_waits_for_locks(tmp_path):
    (one,) = told(tmp_path, {"meta_ops": 500, "meta_ns": 8 * NS}, calls={"flock": 500}, found=sites("flock", 8.0))
    assert (one.habit, one.calls, one.saving.low, one.saving.high) == (
        "locks",
        500,
        pytest.approx(4),
        pytest.approx(9.6),
    )


def test_who_holds_a_lock_may_wait_for_a_processor(tmp_path):
    """Ran for 4 s and waited for 4: with files of their own processes would wait for processors, too."""
    ran = {"process": 1, "number": 1, "slice": FIRST, "user_ns": 2 * NS, "first_thread_ns": 4 * NS}
    usage = [ran | {"delayed_ns": 4 * NS, "sampled_ns": 20 * NS}]
    did = {"meta_ops": 500, "meta_ns": 8 * NS}
    (one,) = told(tmp_path, did, calls={"flock": 500}, found=sites("flock", 8.0), usage=usage)
    assert (one.saving.low, one.saving.value, one.saving.high) == pytest.approx((2, 6, 9.6))


def test_locks_that_ask_a_server(tmp_path):
    """1.5 ms each, as unlocking takes; the rest of 8 s is what other processes held them for."""
    both = pl.concat(
        [sites("flock", 5.0).samples, sites("flock", 3.0).samples.with_columns(stack=pl.lit(1, pl.UInt32))]
    )
    calls = pl.when(pl.col("stack") == 1).then(2000.0).otherwise(1000.0)
    found = Sites(sites("flock", 5.0).stacks * 2, both.with_columns(calls=calls), 0.001)
    (one,) = told(tmp_path, {"meta_ops": 3000, "meta_ns": 8 * NS}, calls={"flock": 3000}, found=found)
    waited = 8 - 3000 * 0.0015
    assert (one.saving.low, one.saving.value, one.saving.high) == pytest.approx((waited / 2, (waited + 8) / 2, 9.6))


@pytest.mark.parametrize(
    ("type_", "of_each", "low", "value"),
    [
        ("nfs4", 1000, 5, 10),  # most calls unlock, and none of these was sampled
        ("ext4", 2000, 5, 10),  # the same: those that were sampled stand for all
        ("nfs4", 2000, 0, 5),  # or it unlocks at one of the two
    ],
)
def test_two_places_that_wait_for_locks(tmp_path, type_, of_each, low, value):
    rows = [sites("flock", 5.0).samples.with_columns(stack=pl.lit(n, pl.UInt32)) for n in (0, 1)]
    made = pl.concat(rows).with_columns(calls=pl.lit(float(of_each)))
    found = Sites(sites("flock", 5.0).stacks * 2, made, 0.001)
    mounts = [{"point": "/n", "type": type_, "source": "server:/x" if type_ == "nfs4" else "/dev/sda1"}]
    did = {"meta_ops": 4000, "meta_ns": 10 * NS}
    (one,) = told(tmp_path, did, calls={"flock": 4000}, found=found, mounts=mounts)
    assert (one.saving.low, one.saving.value, one.saving.high) == (
        *(pytest.approx(seconds, abs=1e-6) for seconds in (low, value, 12)),
    )
