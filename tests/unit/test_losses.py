"""Blame of all jobs at once: as of one job, and every second that is lost is somebody's."""

from __future__ import annotations

import shutil

import numpy as np
import polars as pl
import pytest
from slicewise.analysis.blame import sources
from slicewise.analysis.blame.uncontended import Scene
from slicewise.analysis.site import losses as site_losses
from slicewise.analysis.site import losses_by_day
from slicewise.analysis.site import worst as site_worst
from slicewise.analysis.site.everyone import everyone
from slicewise.analysis.site.losses import GROUPS, losses
from slicewise.analysis.site.losses_by_day import lost_by_all
from slicewise.analysis.site.runs_alone import Processes
from slicewise.analysis.site.unpriced import unpriced
from slicewise.analysis.site.worst import all_at_once, together, worst
from slicewise.catalog.answers import ANSWERS
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.store import Catalog
from slicewise.catalog.workers import OneByOne
from support.command_line import slicewise_command
from support.jobs import write_competing_jobs, write_job
from support.site_days import write_days

LAST = 1 << 62


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Two competing jobs, quiet earlier runs of the smaller one, and somebody on another day."""
    directory = tmp_path_factory.mktemp("jobs")
    write_competing_jobs(directory, quiet_runs=2)
    write_job(directory / "50000", 4, 4, {range(40_000, 40_020): 10.0}, program="/opt/other")
    opened = Catalog.make(tmp_path_factory.mktemp("catalog") / "site")
    ingest(opened, places([directory]))
    return opened


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A day of many jobs on four file systems."""
    return write_days(tmp_path_factory.mktemp("day") / "site", 1, 1500, processes=2)


def test_all_at_once_tells_what_one_by_one_does(catalog):
    one_by_one = worst(catalog, 0, LAST)
    at_once = all_at_once(catalog, 0, LAST, OneByOne(), 5)
    assert (at_once.asked, at_once.at_once, one_by_one.at_once) == (5, True, False)
    both = one_by_one.rows.join(at_once.rows, on="key", suffix="_at_once")
    assert both.height == one_by_one.rows.height == at_once.rows.height == 2
    for name in ("lost_seconds", "caused_seconds"):
        assert both[f"{name}_at_once"].to_list() == pytest.approx(both[name].to_list(), rel=0.02)
    assert set(at_once.rows["confidence"]) == {"medium"}
    for by in GROUPS:
        seconds = one_by_one.beside[by]
        assert at_once.beside[by] == {
            name: pytest.approx(seconds.get(name, 0.0), rel=0.02) for name in at_once.beside[by]
        }
        assert together(at_once, by)["jobs"].sum() == 2


def test_what_is_unknown_is_no_0_s(day):
    found = all_at_once(day, 0, LAST, OneByOne(), 1500)
    whole = losses(everyone(day, day.batches(), 0, LAST)).jobs
    assert 0 < whole["caused_seconds"].null_count() < whole.height
    assert found.rows.filter(pl.col("lost_seconds") == 0).is_empty()
    assert found.rows["caused_seconds"].fill_null(0.0).is_sorted(descending=True)
    assert not found.rows.filter(pl.col("caused_seconds").is_null())["lost_seconds"].null_count()
    for by in (*GROUPS, "job"):
        done = slicewise_command("catalog", "worst", day.path, "--by", by, "--most", 1000)
        assert done.status == 0, done.errors
        assert "unknown" in done.text
        assert " - " not in done.text.split("\n", 1)[1]


def test_a_cost_is_unknown_unless_somebody_beside_is_known_to_lose(catalog):
    one_by_one, at_once = worst(catalog, 0, LAST), all_at_once(catalog, 0, LAST, OneByOne(), 5)
    for found in (one_by_one, at_once):
        assert found.rows["caused_seconds"].is_null().to_list() == found.rows["lost_seconds"].is_null().to_list()[::-1]


def test_every_second_is_lost_to_somebody(day):
    found = losses(everyone(day, day.batches(), 0, LAST))
    lost, caused = (float(found.jobs[name].sum()) for name in ("lost_seconds", "caused_seconds"))
    assert lost > 0
    assert caused == pytest.approx(lost)
    for by in GROUPS:
        assert max(found.beside[by].values()) <= lost * (1 + 1e-9)


def test_what_some_lost_is_a_part_of_what_all_lost(day):
    every = everyone(day, day.batches(), 0, LAST)
    is_first = np.arange(every.jobs.height) < 700
    whole, first, rest = (losses(every, asked).jobs for asked in (None, is_first, ~is_first))
    assert first["lost_seconds"][700:].null_count() == every.jobs.height - 700
    caused = (one["caused_seconds"].fill_null(0.0) for one in (first, rest, whole))
    assert (next(caused) + next(caused)).to_list() == pytest.approx(next(caused).to_list())


def test_who_cannot_be_priced_is_known_without_asking_the_sources(day, monkeypatch):
    """No source prices a job that is counted out, many are, and losses stay the same."""
    every = everyone(day, day.batches(), 0, LAST)
    processes = Processes(every)
    counted_out, priced = unpriced(every), np.zeros(every.jobs.height, bool)
    for place in range(every.jobs.height):
        scene = Scene(every.on_storages(place), every.known, every.grid_ns / 1e9)
        priced[place] = sources.ask(scene, [], processes.count(place)).chosen is not None
    assert not (counted_out & priced).any()
    assert priced.sum() > 20
    assert counted_out.sum() > every.jobs.height / 4

    found = losses(every)
    monkeypatch.setattr(site_losses, "unpriced", lambda every: np.zeros(every.jobs.height, bool))
    asked = losses(every)
    assert found.jobs.equals(asked.jobs)
    assert found.beside == asked.beside


def test_parts_that_are_read_one_after_the_other_are_the_same(day, monkeypatch):
    whole = everyone(day, day.batches(), 0, LAST)
    monkeypatch.setattr("slicewise.analysis.site.at_once.RECORDS_AT_ONCE", 500)
    in_parts = everyone(day, day.batches(), 0, LAST)
    assert in_parts.rows.equals(whole.rows)
    assert in_parts.processes.equals(whole.processes)


def test_a_profile_that_came_in_by_two_names_counts_once(tmp_path):
    write_competing_jobs(tmp_path / "jobs", quiet_runs=2)
    catalog = Catalog.make(tmp_path / "site")
    ingest(catalog, places([tmp_path / "jobs"]))
    once = lost_by_all(catalog, 0, LAST).jobs
    for job in (tmp_path / "jobs").iterdir():
        job.rename(job.with_name(f"{job.name}-again"))
    ingest(catalog, places([tmp_path / "jobs"]))
    again = lost_by_all(catalog, 0, LAST).jobs
    assert sorted(again["lost_seconds"].drop_nulls()) == pytest.approx(sorted(once["lost_seconds"].drop_nulls()))


def test_a_day_is_asked_anew_only_if_its_jobs_are_others(catalog, tmp_path, monkeypatch):
    shutil.rmtree(catalog.path / ANSWERS, ignore_errors=True)
    asked = []
    monkeypatch.setattr(losses_by_day, "everyone", lambda *given: asked.append(given[1:]) or everyone(*given))
    first = lost_by_all(catalog, 0, LAST)
    assert len(asked) == 2
    assert lost_by_all(catalog, 0, LAST).jobs.equals(first.jobs)
    assert len(asked) == 2
    write_job(tmp_path / "new" / "51000", 1, 1, {range(80_000, 80_004): 1.0}, first_node=50)
    ingest(catalog, places([tmp_path / "new"]))
    lost_by_all(catalog, 0, LAST)
    assert len(asked) == 3


def test_more_jobs_than_few_are_asked_at_once(catalog, monkeypatch):
    monkeypatch.setattr(site_worst, "MOST_ONE_BY_ONE", 1)
    done = slicewise_command("catalog", "worst", catalog.path, "--until", "2023-11-15")
    assert done.status == 0
    assert "2 of 4 jobs are known to have lost time to others. All were asked at once" in done.text
    assert "48190" in done.text
    assert "at once" not in slicewise_command("catalog", "worst", catalog.path, "--ask", "5").text


def test_nobody_lost_anything_where_nobody_was(tmp_path):
    empty = Catalog.make(tmp_path / "site")
    assert lost_by_all(empty, 0, LAST).jobs.is_empty()
    every = everyone(write_days(tmp_path / "no processes", 1, 20), [], 0, LAST)
    assert losses(every).jobs.select(pl.len()).item() == 0
