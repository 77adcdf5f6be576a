"""The hardware counters of a job: a column an event, by the event's own name.

Frames in, frames out. Which events there are, and their units, the profile says.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from slicewise.profile.reader import Profile


@dataclass(frozen=True)
class Hardware:
    """per_process: process, slice (i64), a column (u64) an event; sorted. units, meanings: by event, as asked for.

    A process that did not count an event has null there.
    """

    per_process: pl.DataFrame
    units: dict[str, str]
    meanings: dict[str, str]

    def per_slice(self) -> pl.DataFrame:
        """slice and the events, all processes together; sorted."""
        return self.per_process.group_by("slice").agg(pl.col(list(self.units)).sum()).sort("slice")


def hardware(profile: Profile) -> Hardware:
    """What a profile holds of hardware counters; no columns of events where it holds none."""
    keys = {"process": pl.UInt64, "slice": pl.Int64}
    if profile.events.is_empty() or profile.hardware.is_empty():
        return Hardware(pl.DataFrame(schema=keys), {}, {})
    events = profile.events.unique("name", maintain_order=True)
    known = profile.events.select("process", "event", "name")
    counted = (
        profile.hardware.unpivot(index=["process", "slice"], variable_name="event", value_name="value")
        .filter(pl.col("event") != "number")
        .with_columns(pl.col("event").str.strip_prefix("event_").cast(pl.UInt64), pl.col("slice").cast(pl.Int64))
        .join(known, on=["process", "event"])
        .group_by("process", "slice", "name")
        .agg(pl.col("value").sum())
        .pivot("name", index=["process", "slice"], values="value")
        .sort("process", "slice")
    )
    events = events.filter(pl.col("name").is_in(counted.columns))  # an event without a column was never counted
    counted = counted.select("process", "slice", *events["name"])
    return Hardware(
        counted,
        dict(events.select("name", "unit").iter_rows()),
        dict(events.select("name", "meaning").iter_rows()),
    )
