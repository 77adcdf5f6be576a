"""Who lost most of a catalog's jobs: what blame says of each, however many there are."""

import importlib.util
import shutil

import polars as pl
import pytest
from slicewise.analysis.blame.case import kept_case
from slicewise.analysis.site import worst as site_worst
from slicewise.analysis.site.at_once import NeighbourhoodOfMany
from slicewise.analysis.site.worst import GROUPS, Worst, runs_alone, together, worst
from slicewise.catalog.answers import ANSWERS
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.kept import find_job, key_text
from slicewise.catalog.store import Catalog
from support.catalogs import catalog_of
from support.command_line import answer_of
from support.jobs import write_competing_jobs, write_job
from support.programs import ROOT
from support.site_days import write_days

ONE_DAY = pytest.mark.xdist_group("one day")  # it is simulated once
LAST = 1 << 62
LOSER = "/opt/postproc"
SPEC = importlib.util.spec_from_file_location("site_lists", ROOT / "packaging/site/lists.py")


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Two competing jobs, quiet earlier runs of the smaller one, and somebody on another day."""
    directory = tmp_path_factory.mktemp("jobs")
    write_competing_jobs(directory, quiet_runs=2)
    write_job(directory / "50000", 4, 4, {range(40_000, 40_020): 10.0}, program="/opt/other")
    return catalog_of(tmp_path_factory.mktemp("catalog") / "site", directory)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A day of many jobs on four file systems."""
    return write_days(tmp_path_factory.mktemp("day") / "site", 1, 150, processes=2)


@pytest.fixture(scope="module")
def found(day: Catalog) -> Worst:
    """The day's losses."""
    return worst(day, 0, LAST)


@ONE_DAY
def test_who_had_company_is_asked(day, found):
    many = NeighbourhoodOfMany(day, day.batches(), 0, LAST, runs_alone(day, day.batches()))
    beside = many.jobs_with_company(day.days())
    assert 0 < beside.height <= sum(batch.jobs for batch in day.batches())
    assert (found.asked, found.of, found.unasked.height) == (beside.height, beside.height, 0)


@ONE_DAY
def test_each_loss_is_what_blame_says_of_the_job(day, found):
    losers = found.rows.filter(pl.col("lost_seconds") > 0)
    assert losers.height > 2
    for key, lost in losers.select("key", "lost_seconds").rows():
        told = kept_case(day, find_job(day, key))[0].result()
        assert sum(max(0.0, one.lost.value) for one in told.neighbours) == lost
        assert told.is_claimed


def test_one_more_job_that_was_with_nobody_changes_nothing(tmp_path):
    """Neither the 201st one, from which on all jobs were once told otherwise, nor another."""
    write_competing_jobs(tmp_path / "jobs", quiet_runs=2)
    site = catalog_of(tmp_path / "site", tmp_path / "jobs")
    first = worst(site, 0, LAST).rows
    for count in (195, 1, 1):
        height = site.scan("jobs").select(pl.len()).collect().item()
        for number in range(height, height + count):
            begin = 1000 + 20 * number
            write_job(tmp_path / "more" / f"6{number}", 1, 1, {range(begin, begin + 2): 1.0}, program="/opt/other")
        ingest(site, places([tmp_path / "more"]))
        assert worst(site, 0, LAST).rows.equals(first)
    assert site.scan("jobs").select(pl.len()).collect().item() == 201
    assert first.height == 2


def test_runs_alone_of_other_days_count_as_for_one_job(tmp_path):
    """A loss is the same whether its job is asked by itself or with all others, and known by runs of any day."""
    write_competing_jobs(tmp_path / "jobs")
    for days in (1, 2):
        rates = {range(-21_600 * days, -21_600 * days + 40): 102.0}
        write_job(tmp_path / "jobs" / f"4800{days}", 12, 12, rates, first_node=6, program=LOSER)
    site = catalog_of(tmp_path / "site", tmp_path / "jobs")
    loser = find_job(site, "48190")
    alone = kept_case(site, loser)[0].result()
    assert alone.baseline.source == "standalone runs"
    assert alone.baseline.runs == ["48001", "48002"]
    (lost,) = worst(site, 0, LAST).rows.filter(key=key_text(loser.key))["lost_seconds"]
    assert lost == sum(one.lost.value for one in alone.neighbours)


@ONE_DAY
def test_what_is_unknown_is_no_0_s(day, found):
    assert found.rows.filter(pl.col("lost_seconds") == 0).is_empty()
    assert found.rows["caused_seconds"].fill_null(0.0).is_sorted(descending=True)
    assert not found.rows.filter(pl.col("caused_seconds").is_null())["lost_seconds"].null_count()
    for by in (*GROUPS, "job"):
        done = answer_of("catalog", "worst", day.path, "--by", by, "--most", 1000)
        assert "unknown" in done
        assert " - " not in done.split("\n", 1)[1]


def test_a_cost_is_unknown_unless_somebody_beside_is_known_to_lose(catalog):
    rows = worst(catalog, 0, LAST).rows
    assert rows["caused_seconds"].is_null().to_list() == rows["lost_seconds"].is_null().to_list()[::-1]


@ONE_DAY
def test_every_second_is_lost_to_somebody(found):
    lost, caused = (float(found.rows[name].sum()) for name in ("lost_seconds", "caused_seconds"))
    assert lost > 0
    assert caused == pytest.approx(lost)
    for by in GROUPS:
        assert max(found.beside[by].values()) <= lost * (1 + 1e-9)
        assert together(found, by)["lost_seconds"].sum() == pytest.approx(lost)


def test_a_profile_that_came_in_by_two_names_counts_once(tmp_path):
    write_competing_jobs(tmp_path / "jobs", quiet_runs=2)
    site = catalog_of(tmp_path / "site", tmp_path / "jobs")
    once = worst(site, 0, LAST).rows
    for job in (tmp_path / "jobs").iterdir():
        job.rename(job.with_name(f"{job.name}-again"))
    ingest(site, places([tmp_path / "jobs"]))
    again = worst(site, 0, LAST).rows
    assert sorted(again["lost_seconds"].drop_nulls()) == pytest.approx(sorted(once["lost_seconds"].drop_nulls()))


def test_a_day_is_asked_anew_only_if_its_jobs_are_others(catalog, tmp_path, monkeypatch):
    shutil.rmtree(catalog.path / ANSWERS, ignore_errors=True)
    asked, real = [], site_worst.NeighbourhoodOfMany
    monkeypatch.setattr(site_worst, "NeighbourhoodOfMany", lambda *given: asked.append(given[1:]) or real(*given))
    first = worst(catalog, 0, LAST)
    assert len(asked) == 2
    assert worst(catalog, 0, LAST).rows.equals(first.rows)
    assert len(asked) == 2
    write_job(tmp_path / "new" / "51000", 1, 1, {range(80_000, 80_004): 1.0}, first_node=50, program="/opt/another")
    ingest(catalog, places([tmp_path / "new"]))
    worst(catalog, 0, LAST)
    assert len(asked) == 3
    # A run alone of the job that lost time: its loss is another one, the other days' are not.
    write_job(tmp_path / "run" / "52000", 12, 12, {range(120_000, 120_040): 102.0}, first_node=6, program=LOSER)
    ingest(catalog, places([tmp_path / "run"]))
    worst(catalog, 0, LAST)
    assert len(asked) == 5


def test_nobody_lost_anything_where_nobody_was(tmp_path):
    found = worst(Catalog.make(tmp_path / "site"), 0, LAST)
    assert (found.asked, found.of, found.rows.height) == (0, 0, 0)
    without = worst(write_days(tmp_path / "no processes", 1, 20), 0, LAST)
    assert without.rows.height == 0


assert SPEC is not None
assert SPEC.loader is not None
SITE_LISTS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SITE_LISTS)


def given(*lines: str) -> list[str]:
    return SITE_LISTS.on_page_markdown("\n".join(lines)).split("\n")


def test_what_belongs_to_an_item_stays_with_it():
    assert given("- one", "  more", "  - inner", "", "after", "    code") == [
        "- one", "    more", "    - inner", "", "after", "    code",
    ]  # fmt: skip


def test_a_list_needs_no_empty_line_before_it():
    assert given("Not counted:", "- one", "- two") == ["Not counted:", "", "- one", "- two"]


def test_blocks_of_code_stay_as_they_are():
    block = ["```sh", "- no item", "  indented", "```"]
    assert given(*block) == block
    assert given("    - an indented block is no list") == ["    - an indented block is no list"]
