"""Simulated jobs of some days (a month: SLICEWISE_TEST_DAYS=30), among which one program slows others down: `worst`
finds it, and the seconds that it cost.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.site.worst import worst
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.store import Catalog
from support.blame_scenarios import Scenario, neighbour, victims, writing
from support.simulated_profiles import BEGIN_SECONDS, write_profile
from support.simulated_storage import Compute

DAYS = int(os.environ.get("SLICEWISE_TEST_DAYS", "12"))
SECONDS_A_DAY = 86_400
KINDS = ("equal writers", "ranks with phases", "checkpoints with sync")
HOG = neighbour("hog", writing(64), processes=6, start=5.0, until=70.0, program="/opt/hog")
LIGHT = neighbour("light", Compute(3, 0.1), writing(4), processes=1, start=5.0, until=70.0, program="/opt/light")


def days() -> list[tuple[int, Scenario]]:
    """A job a day, of three programs in turn: beside the hog every third day, beside a light job, or alone."""
    kinds = {name: (job, storage) for name, job, _, storage in victims()}
    found = []
    for day in range(DAYS):
        name = KINDS[day % len(KINDS)]
        job, storage = kinds[name]
        job = replace(job, program=f"/opt/{name.replace(' ', '-')}")
        company = ((HOG,), (LIGHT,), ())[(day // len(KINDS)) % 3]
        found.append((day, Scenario(f"day {day}", job, company, (storage,), seed=day + 1)))
    return found


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catalog, float]:
    """The catalog, and how many seconds the hog cost, as the simulator knows."""
    directory: Path = tmp_path_factory.mktemp("month")
    truth = 0.0
    for day, scenario in days():
        begin = BEGIN_SECONDS + day * SECONDS_A_DAY
        for name in (scenario.job.name, *(other.name for other in scenario.neighbours)):
            write_profile(scenario.together, name, directory / f"{name}-{day:02}", begin_seconds=begin)
        if scenario.neighbours == (HOG,):
            truth += scenario.lost_to("hog")
    catalog = Catalog.make(directory.parent / f"{directory.name}-catalog")
    ingest(catalog, places([directory]))
    return catalog, truth


def test_worst_names_the_hog_first_with_what_it_cost(month):
    catalog, truth = month
    found = worst(catalog, 0, 1 << 62, 1000)
    assert found.asked == found.of
    by_program = (
        found.rows.group_by("program").agg(pl.col("caused_seconds").sum()).sort("caused_seconds", descending=True)
    )
    assert by_program["program"][0] == "hog"
    assert found.rows["program"][0] == "hog"
    assert by_program["caused_seconds"][0] == pytest.approx(truth, rel=0.1)
