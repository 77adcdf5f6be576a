"""What the kernel counted of a job's processes: processor time, page faults, switches, memory. Frames in and out."""

from dataclasses import dataclass

import polars as pl

from slicewise.digest.digest import Digest
from slicewise.digest.processes import usage_in_sum

SUMMED = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")


@dataclass(frozen=True)
class Usage:
    """processes: process, label, runtime, sampled, user, system, delayed (s; null: not counted), voluntary_switches,
    involuntary_switches, minor_faults, major_faults, peak_bytes (the most memory that it had); who had most processor
    time comes first. processor: processor time of all over the time for which it was counted: 1 is one processor a
    process.
    """

    processes: pl.DataFrame
    processor: float

    def most(self, column: str) -> tuple[str, int]:
        """The label of the process with most of a column, and how much that is."""
        row = self.processes.sort(column, "label", descending=[True, False]).row(0, named=True)
        return row["label"], row[column]


def usage(digest: Digest) -> Usage | None:
    """None where the kernel's counts were not recorded."""
    if digest.usage.is_empty():
        return None
    who = digest.processes.filter("is_of_job")
    summed = usage_in_sum(digest.usage).select(
        "process",
        "peak_bytes",
        *SUMMED,
        **{name: pl.col(f"{name}_ns") / 1e9 for name in ("sampled", "user", "system")},
        delayed=pl.when(pl.col("delayed_ns") > 0).then(pl.col("delayed_ns") / 1e9),  # 0: the kernel does not count it
    )
    rows = who.select("process", "label", runtime=(pl.col("end_ns") - pl.col("start_ns")) / 1e9).join(
        summed, on="process"
    )
    sampled = float(rows["sampled"].sum())
    if sampled <= 0:
        return None
    columns = ("process", "label", "runtime", "sampled", "user", "system", "delayed", *SUMMED, "peak_bytes")
    busiest = pl.col("user") + pl.col("system")
    return Usage(
        rows.select(columns).sort(busiest, "label", descending=[True, False]),
        float(rows.select(busiest.sum()).item()) / sampled,
    )


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
