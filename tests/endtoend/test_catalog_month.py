"""Simulated days of a site, as profiles, through ingest and `worst`: the program that takes more than there is comes
first, with the seconds that it cost others. `make bench-catalog-month` does it with a whole month.
"""

from pathlib import Path

import pytest
from slicewise.analysis.site.worst import worst
from slicewise.catalog.store import Catalog
from support.command_line import json_of
from support.site_month import AGGRESSOR, Month

DAYS = Month(days=6, file_systems=1, shift_seconds=600, jobs=4, seed=3)


def told(*words: object) -> list[dict]:
    return json_of("catalog", *words)


def test_worst_names_the_aggressor_first_with_what_it_cost(tmp_path: Path):
    truth = DAYS.write(tmp_path / "profiles")
    (done,) = told("ingest", tmp_path / "catalog", tmp_path / "profiles")
    assert done["added"] == len(truth)
    question = ("worst", tmp_path / "catalog", "--since", "2023-11-01", "--most", 1000, "--ask", 1000)
    jobs = told(*question)
    assert jobs[0]["program"] == AGGRESSOR.name
    lost = {row["job"]: row["lost_seconds"] or 0.0 for row in jobs}
    assert sum(lost.values()) == pytest.approx(sum(one.lost for one in truth.values()), rel=0.1)

    programs = told(*question, "--by", "program")
    first = programs[0]
    assert first["program"] == AGGRESSOR.name
    assert first["caused_seconds"] == pytest.approx(sum(one.to_aggressor for one in truth.values()), rel=0.1)
    assert first["caused_most_seconds"] >= first["caused_seconds"]
    assert first["jobs"] == len([row for row in jobs if row["program"] == AGGRESSOR.name])
    for name in ("lost_seconds", "caused_seconds"):
        assert sum(row[name] or 0.0 for row in programs) == pytest.approx(sum(row[name] or 0.0 for row in jobs))

    # Few or all: each is told by the one blame.
    catalog = Catalog(tmp_path / "catalog")
    few, every = worst(catalog, 0, 1 << 62, len(truth)), worst(catalog, 0, 1 << 62)
    assert few.rows.equals(every.rows)
    assert few.asked == every.asked
