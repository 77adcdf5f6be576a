"""Old days leave a catalog."""

import re
import time
from typing import TypedDict

from slicewise.catalog.store import Catalog
from slicewise.constants import DAY_NS
from slicewise.errors import UserError

DAYS_OF = {"d": 1, "w": 7, "y": 365}


class Gone(TypedDict):
    day: str
    jobs: int


def age_ns(text: str) -> int:
    """An age such as 90d in ns. Raises UserError."""
    match = re.fullmatch(r"(\d{1,6})([dwy])", text)
    if match is None:
        raise UserError(f"--older-than {text}: is no age; give one such as 90d, 12w or 2y")
    return int(match[1]) * DAYS_OF[match[2]] * DAY_NS


def prune_older(catalog: Catalog, age: int, now_ns: int | None = None) -> list[Gone]:
    """Remove the days whose jobs all ended longer ago than `age` (ns), and say which."""
    before = (time.time_ns() if now_ns is None else now_ns) - age
    with catalog.locked() as writing:
        by_day: dict[str, list[int]] = {}
        batches = catalog.batches()
        kept = {batch.day for batch in batches if batch.end_ns >= before}
        old = [batch for batch in batches if batch.day not in kept]
        for batch in old:
            by_day.setdefault(batch.day, []).append(batch.jobs)
        if old:
            writing.put({}, old)
    return [Gone(day=day, jobs=sum(jobs)) for day, jobs in sorted(by_day.items())]
