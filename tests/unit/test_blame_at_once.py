"""Blame of many jobs of a catalog at once: the same, to the last byte, as each job is told by itself."""

from __future__ import annotations

import polars as pl
import pytest
from slicewise.analysis.blame.case import kept_case
from slicewise.analysis.calls import Rows
from slicewise.analysis.site import at_once
from slicewise.analysis.site.at_once import AroundMany, around_jobs
from slicewise.catalog.beside import Around
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.store import Catalog
from support.jobs import write_competing_jobs, write_job
from support.site_days import write_days

LAST, MANY = 1 << 62, 1000
TOLD = ("lost", "io_lost", "alone", "confidence", "is_claimed", "io_seconds", "unexplained_seconds", "sources")


@pytest.fixture(scope="module")
def competing(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Two jobs that cost each other time, and quiet runs of the smaller one."""
    directory = tmp_path_factory.mktemp("jobs")
    write_competing_jobs(directory)
    for number in (1, 2):
        rates = {range(-400 * number, -400 * number + 40): 102.0}
        write_job(directory / f"4800{number}", 12, 12, rates, first_node=6, program="/opt/postproc")
    catalog = Catalog.make(tmp_path_factory.mktemp("catalog") / "site")
    ingest(catalog, places([directory]))
    return catalog


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A synthetic day of jobs of one and two processes, and a few of the next day."""
    return write_days(tmp_path_factory.mktemp("days") / "site", days=2, jobs=60, processes=2)


@pytest.mark.parametrize("name", ["competing", "synthetic"])
def test_each_job_is_told_as_it_is_by_itself(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = request.getfixturevalue(name)
    monkeypatch.setattr(at_once, "RECORDS_AT_ONCE", 1000)
    many, rows = around_jobs(catalog, 0, LAST, MANY)
    assert isinstance(many, AroundMany)
    keys = catalog.scan("jobs").select(pl.col("key").sort()).collect()["key"].to_list()
    claimed = 0
    for key in keys[:: 1 if name == "competing" else 16]:
        (job,) = many.jobs_of_keys([key], 0, LAST)
        assert [one.key for one in many.neighbours_of(job)] == [one.key for one in Around(catalog).neighbours_of(job)]
        assert [one.key for one in many.quiet_runs(job)] == [one.key for one in Around(catalog).quiet_runs(job)]
        case, _ = kept_case(catalog, job, around=many)
        together, alone = case.losses(rows), kept_case(catalog, job)[0].result()
        if together is None:
            assert (alone.lost, alone.is_claimed, alone.confidence) == (None, False, "unknown")
            continue
        for what in TOLD:
            assert getattr(together, what) == getattr(alone, what), what
        assert together.shares.equals(alone.shares)
        assert together.slices.equals(alone.slices)
        costs = [[(one.job, one.program, one.lost, one.kinds) for one in told.neighbours] for told in (together, alone)]
        assert costs[0] == costs[1]
        claimed += together.is_claimed
    assert (claimed >= 1) == (name == "competing")


def test_too_many_jobs_are_asked_one_by_one(synthetic: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_once, "MOST_RECORDS", 10)
    around, rows = around_jobs(synthetic, 0, LAST, MANY)
    assert (type(around), type(rows)) == (Around, Rows)


def test_few_jobs_are_asked_one_by_one(synthetic: Catalog) -> None:
    around, rows = around_jobs(synthetic, 0, LAST, 2)
    assert (type(around), type(rows)) == (Around, Rows)
