"""Why runs of the same work took different times: simulated runs of which it is known, and a catalog's."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from slicewise.analysis.site.variation import HOUR_NS, Variation, variation
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.kept import key_text
from slicewise.catalog.store import Catalog
from slicewise.report.site.site_tables import variation_sentence
from support.catalogs import catalog_of
from support.command_line import slicewise_command
from support.swz import build_profile

NS = 1_000_000_000
MIB = 1 << 20


def found(noise: float, of_hour: float, most_lost: float, hours: int = 60, seed: int = 7) -> Variation:
    """Three programs, two runs of each an hour, of 100 s. noise, of_hour: standard deviations of what a run, and all
    runs of an hour, take longer; most_lost: seconds that a run lost to neighbours, as `blame` knows, half of the runs
    none.
    """
    random = np.random.default_rng(seed)
    count = hours * 6
    hour = np.repeat(np.arange(hours), 6)
    lost = np.where(random.random(count) < 0.5, 0.0, random.uniform(0, most_lost, count))
    took = 100 * np.exp(random.normal(0, noise, count) + random.normal(0, of_hour, hours)[hour]) + lost
    start_ns = hour * HOUR_NS + 1
    jobs = pl.DataFrame(
        {
            "key": np.arange(count).astype(np.uint64),
            "user": np.full(count, 7),
            "program": np.tile(["a", "b", "c"], count // 3),
            "command": "run",
            "processes": 4,
            "start_ns": start_ns,
            "end_ns": start_ns + (took * NS).astype(np.int64),
            "read_bytes": MIB,
            "write_bytes": 0,
            "is_running": False,
            "source": "profile",
        }
    )
    rows = pl.DataFrame({"key": [key_text(key) for key in range(count)], "lost_seconds": lost}).filter(
        pl.col("lost_seconds") > 0
    )
    unasked = pl.DataFrame(schema={"key": pl.UInt64, "seconds": pl.Float64})
    catalog = SimpleNamespace(scan=lambda *_: jobs.lazy(), batches_between=lambda *_: None)
    return variation(catalog, 0, 1 << 62, SimpleNamespace(rows=rows, unasked=unasked))


@pytest.mark.parametrize(
    ("noise", "of_hour", "most_lost"), [(0.05, 0.0, 0.0), (0.05, 0.1, 0.0), (0.02, 0.02, 60.0), (0.05, 0.05, 30.0)]
)
def test_shares_are_those_that_runs_were_made_with(noise, of_hour, most_lost):
    told = found(noise, of_hour, most_lost)
    without = noise**2 + of_hour**2
    lost = (np.log(100 + np.linspace(0, most_lost, 1000)) - np.log(100)) if most_lost else np.zeros(1)
    by_loss = (lost**2).mean() / 2 - (lost.mean() / 2) ** 2
    whole = without + by_loss
    shares = told.neighbours.value, told.hours.value, told.own.value
    assert sum(shares) == pytest.approx(1)
    assert shares == pytest.approx((by_loss / whole, of_hour**2 / whole, noise**2 / whole), abs=0.12)
    assert told.sets["runs"].to_list() == [120, 120, 120]


def test_intervals_hold_the_truth():
    """Of 30 months."""
    held = [
        told.hours.low <= 0.1**2 / (0.1**2 + 0.05**2) <= told.hours.high
        for told in (found(0.05, 0.1, 0.0, seed=seed) for seed in range(30))
    ]
    assert sum(held) >= 26


def test_runs_that_did_other_work_are_not_compared(tmp_path):
    """The fifth read twice as much; the four others take 20, 22, 24 and 26 s."""
    jobs = [
        build_profile(
            tmp_path / "jobs" / f"job{key}",
            [{"process": key, "slice_ns": NS, "start_ns": NS * first, "end_ns": NS * (first + took),
              "command": "reader all"}],
            [{"process": key, "slice": first, "read_bytes": mib * MIB, "read_ops": 1, "read_ns": NS // 2}],
        )
        for key, first, took, mib in ((1, 1000, 20, 8), (2, 2000, 22, 8), (3, 3000, 24, 8), (4, 4000, 26, 8),
                                      (5, 5000, 60, 16))
    ]  # fmt: skip
    catalog = catalog_of(tmp_path / "catalog", *jobs)
    told = slicewise_command("catalog", "variation", catalog.path, "--since", "1970-01-01").text
    assert told.startswith("4 runs in 1 set of the same work: a run is 11 % off its set")
    assert "reader" not in told.splitlines()[0]
    few = Catalog.make(tmp_path / "few")
    ingest(few, places(jobs[:3]))
    told = slicewise_command("catalog", "variation", few.path, "--since", "1970-01-01").text
    assert told.strip() == "No 4 runs did the same work and differ in how long they took."


def test_runs_that_nobody_asked_about_are_left_out():
    told = found(0.05, 0.0, 0.0)
    assert " left out" not in variation_sentence(told)
    told = Variation(told.sets, told.deviation, told.neighbours, told.hours, told.own, unasked=3)
    assert variation_sentence(told).endswith("3 runs that blame was not asked about are left out.")
