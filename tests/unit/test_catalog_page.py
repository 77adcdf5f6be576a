"""The page of a day or a month of a site: who cost whom what, load by job, tables to sort and to search."""

import re
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.site.load import OTHERS, by_day, changed_programs, load, slow_metadata
from slicewise.analysis.site.summary import summary
from slicewise.catalog.answers import ANSWERS
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.store import Catalog
from slicewise.constants import DAY_NS
from slicewise.report.page import html_of
from slicewise.report.site.site_page import site_page
from support import browser
from support.command_line import answer_of, refusal_of
from support.jobs import write_competing_jobs
from support.site_days import FIRST_DAY, write_days

LAST = 1 << 62
DAY_START = (FIRST_DAY.toordinal() - date(1970, 1, 1).toordinal()) * DAY_NS


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The two competing jobs, and quiet runs of the smaller one."""
    directory = tmp_path_factory.mktemp("jobs")
    write_competing_jobs(directory, quiet_runs=2)
    opened = Catalog.make(tmp_path_factory.mktemp("catalog") / "site")
    assert ingest(opened, places([directory])).added == 4
    return opened


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Four synthetic days."""
    return write_days(tmp_path_factory.mktemp("month") / "site", days=4, jobs=300)


def test_the_load_is_that_of_all_jobs(month: Catalog) -> None:
    end_ns = DAY_START + 2 * DAY_NS
    batches = month.batches_between(DAY_START, end_ns)
    found = load(month, batches, DAY_START, end_ns)
    rows = month.scan("job_slices").filter(pl.col("begin_ns") >= DAY_START, pl.col("begin_ns") < end_ns).collect()
    assert found is not None
    assert len(found.storages) == found.of == 4
    for one in found.storages:
        assert one.rows["bytes"].sum() == one.read_bytes + one.write_bytes
        assert set(one.rows["job"]) == {*one.names, OTHERS}
        assert one.rows["slice"].is_between(found.first, found.end - 1).all()
    moved = sum(one.read_bytes + one.write_bytes for one in found.storages)
    assert moved == rows["read_bytes"].sum() + rows["write_bytes"].sum()


def test_days_and_programs_add_up(month: Catalog) -> None:
    end_ns = DAY_START + 4 * DAY_NS
    batches = month.batches_between(DAY_START, end_ns)
    days = by_day(month, batches, DAY_START, end_ns)
    assert days["day"].to_list() == [date(2026, 1, number) for number in (1, 2, 3, 4)]
    rows = month.scan("job_slices", batches).filter(pl.col("begin_ns") < end_ns).collect()
    assert days["write_bytes"].sum() == rows["write_bytes"].sum()
    programs = changed_programs(month, batches, DAY_START, end_ns, 1000)
    assert programs["change_seconds"].abs().is_sorted(descending=True)
    seconds = {half: programs[f"{half}_seconds"].sum() for half in ("first", "second")}
    is_first = rows["begin_ns"] < DAY_START + 2 * DAY_NS
    ns = rows["read_ns"] + rows["write_ns"]
    assert seconds["first"] == pytest.approx(ns.filter(is_first).sum() / 1e9, rel=0.01)
    assert seconds["second"] == pytest.approx(ns.filter(~is_first).sum() / 1e9, rel=0.01)


def test_metadata_without_calls_that_took_time(month: Catalog) -> None:
    rows, call_seconds = slow_metadata(month, month.batches(), 0, LAST, 10)
    assert rows.is_empty()
    assert call_seconds == 0


def test_a_day_with_jobs_that_cost_each_other_time(catalog: Catalog, tmp_path: Path) -> None:
    done = answer_of("catalog", "page", catalog.path, "--html", tmp_path / "day.html")
    assert re.match(r"2 jobs lost .* in all to others; 48213 .* cost them most", done)
    done = refusal_of("catalog", "page", catalog.path, "--pages", "4")
    assert "catalog page: --pages is gone; use: slicewise blame JOB" in done


def test_no_job_is_asked_when_there_is_no_time(catalog: Catalog) -> None:
    shutil.rmtree(catalog.path / ANSWERS, ignore_errors=True)
    found = summary(catalog, 0, LAST, most_asked=10, most_seconds=0)
    assert found.worst.asked == 1
    assert found.worst.most_unasked > 0


def test_who_lost_most_stands_before_those_who_cost_others_less(catalog: Catalog) -> None:
    found = summary(catalog, 0, LAST, most_asked=10, most_seconds=60)
    losers = found.worst.rows.filter(pl.col("lost_seconds") > 0)
    assert losers.height == 2
    lost, cost = [1.0, 99.0], [9.0, 0.0]
    rows = losers.with_columns(lost_seconds=pl.Series(lost), caused_seconds=pl.Series(cost))
    page = html_of(site_page(replace(found, worst=replace(found.worst, rows=rows)), "SITE"))
    table = page[page.index('<h2 id="h1">') :]
    assert table.index(rows["job"][1]) < table.index(rows["job"][0])


@browser.needed
@pytest.mark.parametrize("width", [600, 1400])
def test_its_tables_are_sorted_and_searched_in_the_browser(month: Catalog, tmp_path: Path, width: int) -> None:
    found = summary(month, DAY_START, DAY_START + 4 * DAY_NS, most_asked=1, most_seconds=0)
    assert found.is_of_several_days
    (tmp_path / "page.html").write_text(html_of(site_page(found, "SITE")), encoding="utf-8")
    with browser.Browser(width) as window:
        window.open(tmp_path / "page.html", until=browser.DRAWN)
        assert window.evaluate("document.getElementById('trouble').hidden")
        assert window.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        table = "[...document.querySelectorAll('table')].at(-1)"
        heading = f"[...{table}.tHead.rows[0].cells].find((cell) => cell.textContent == 'written')"
        values = f"[...{table}.tBodies[0].rows].map((row) => Number(row.cells[{heading}.cellIndex].dataset.copied))"
        window.evaluate(f"{heading}.click()")
        falling = window.evaluate(values)
        assert falling == sorted(falling, reverse=True)
        assert falling[0] > falling[-1]
        window.evaluate(f"{heading}.click()")
        assert window.evaluate(values) == sorted(falling)
        name = window.evaluate(f"{table}.tBodies[0].rows[0].cells[0].textContent")
        field = f"{table}.closest('figure').querySelector('.search')"
        window.evaluate(f"{field}.value = '{name}'; {field}.dispatchEvent(new Event('input'))")
        shown = window.evaluate(f"[...{table}.tBodies[0].rows].filter((row) => !row.hidden).length")
        assert shown == 1
