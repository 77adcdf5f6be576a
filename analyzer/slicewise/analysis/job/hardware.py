"""The hardware counters of a job: a column an event, by the event's own name.

Frames in, frames out. Which events there are, and their units, the profile says.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from slicewise.digest.digest import Digest


@dataclass(frozen=True)
class Hardware:
    """per_process: process, slice (i64), a column (i64) an event; sorted. units, meanings: by event, as asked for.

    A process that did not count an event has null there.
    """

    per_process: pl.DataFrame
    units: dict[str, str]
    meanings: dict[str, str]

    def per_slice(self) -> pl.DataFrame:
        """slice and the events, all processes together; sorted."""
        return self.per_process.group_by("slice").agg(pl.col(list(self.units)).sum()).sort("slice")


def hardware(digest: Digest) -> Hardware:
    """The hardware events that a job counted. Without any there are no columns of events."""
    if digest.hardware.is_empty():
        return Hardware(digest.hardware.select("process", "slice"), {}, {})
    counted = digest.hardware.pivot("event", index=["process", "slice"], values="value").sort("process", "slice")
    # An event without a column was never counted.
    events = digest.events.filter(pl.col("event").is_in(counted.columns))
    counted = counted.select("process", "slice", *events["event"])
    return Hardware(
        counted,
        dict(events.select("event", "unit").iter_rows()),
        dict(events.select("event", "meaning").iter_rows()),
    )
