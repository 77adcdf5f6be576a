"""List the jobs in a directory of profiles."""

from pathlib import Path

import polars as pl

from slicewise.analysis.site.jobs import list_profiles
from slicewise.catalog.find import chunks, places
from slicewise.report.site.site_tables import jobs_table, records
from slicewise.report.tables import for_terminal
from slicewise.terminal.output import wants_json, write_json, write_text
from slicewise.text.safe_text import say

SOME_UNREAD = 1


def list_(paths: list[Path]) -> None:
    told = [list_profiles(chunk) for chunk in chunks(places(paths))]
    found = pl.concat([frame for frame, _ in told]).sort("start_ns", "key")
    for _, unread in told:
        for line in unread:
            say(line)
    if wants_json():
        write_json(records(found))
    elif found.height or not any(unread for _, unread in told):
        write_text([for_terminal(jobs_table(found.iter_rows(named=True)))])
    if any(unread for _, unread in told):
        raise SystemExit(SOME_UNREAD)
