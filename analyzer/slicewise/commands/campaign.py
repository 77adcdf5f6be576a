"""Tabulate a folder of runs: throughput alone and together, slowdown, and how well it is predicted."""

import csv
from pathlib import Path

from slicewise.analysis.campaign.result import CampaignResult, campaign_result
from slicewise.catalog.sources import read_digests
from slicewise.errors import mended_by
from slicewise.kinds import CampaignDirection
from slicewise.profile.files import job_places
from slicewise.report.campaign import campaign_report
from slicewise.report.campaign.campaign_report import campaign_page, campaign_record, tables
from slicewise.report.coverage.unseen import least_seen_lines
from slicewise.report.page import page_path, write_page
from slicewise.report.tables import for_terminal
from slicewise.terminal.output import write_answer


def campaign(
    directories: list[Path],
    direction: CampaignDirection,
    tables_to: Path | None,
    html: Path | None,
) -> None:
    result = campaign_result(read_digests(job_places(directories)), direction)
    page = html or page_path(directories[0], f"campaign-{directories[0].resolve().name}")
    unseen = least_seen_lines(result.data.digests, result.data.direction)
    write_page(campaign_page(result, directories[0].resolve().name, unseen), page)
    if tables_to is not None:
        _write_csv(result, tables_to)
    shown = [part for table in tables(result).values() for part in (table.title, for_terminal(table), "")]
    where = [f"Tables: {tables_to}"] if tables_to else []
    lines = [*campaign_report.opening(result), "", *shown, *where, f"Page: {page}"]
    write_answer(lambda: campaign_record(result, page), lines)


def _write_csv(result: CampaignResult, directory: Path) -> None:
    with mended_by(f"{directory}: cannot be written", "give another directory to --csv"):
        directory.mkdir(parents=True, exist_ok=True)
        for name, table in tables(result).items():
            with (directory / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(table.csv_rows())
