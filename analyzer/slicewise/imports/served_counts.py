"""Cumulative counts of servers (in any order, doubled, with gaps, begun anew), and what was done between."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from slicewise.constants import SECOND_NS

# What is counted, of a job (or client) and target. busy_ns: time that the server took for its reads and writes.
COUNTS = ("read_bytes", "write_bytes", "read_ops", "write_ops", "meta_ops", "busy_ns")
# Operations on metadata, by Lustre's names. A rename is counted once more by its sort (samedir_rename, ...), and statfs
# is what `df` asks: neither is here.
OPERATIONS = frozenset({
    "open", "close", "mknod", "link", "unlink", "mkdir", "rmdir", "rename", "getattr", "setattr", "getxattr",
    "setxattr", "sync", "migrate", "fallocate", "readpage", "punch",
})  # fmt: skip
# A target that counts one of these is one of metadata: others are counted by data targets, too, for bytes' sake.
OF_METADATA = frozenset({"open", "close", "mknod", "mkdir", "unlink", "rename"})
SERVED_SCHEMA = {
    "target": pl.String,
    "job": pl.String,
    "begin_ns": pl.Int64,
    "end_ns": pl.Int64,
    "read_bytes": pl.Int64,
    "write_bytes": pl.Int64,
    "meta_ops": pl.Int64,
    "read_ops": pl.Int64,
    "write_ops": pl.Int64,
    "busy_ns": pl.Int64,
    "is_client": pl.Boolean,
}
READING_SCHEMA = {
    "target": pl.String,
    "job": pl.String,
    "is_client": pl.Boolean,
    "time_ns": pl.Int64,
    "changed_ns": pl.Int64,
    "start_ns": pl.Int64,
    **dict.fromkeys(COUNTS, pl.Int64),
}
# No target has counted so much of anything: a larger number is damage. Sums of what is below stay below 2^63.
MOST = 1 << 58
# No target moves so much for one job in a second.
MOST_A_SECOND = float(1 << 40)
KEY = ("target", "job", "is_client")
# Before the numbers of targets without names.
UNNAMED = "#"
SHORTEST_NS = SECOND_NS
# Lustre forgets a job that was idle for job_cleanup_interval, which is 600 s unless a site has another one.
IDLE_NS = 120_000_000_000


@dataclass
class Readings:
    """Readings while they are collected, in columns. looks: which target was looked at as a whole, and when. damaged:
    readings that were left out. is_any: whether there was any text of such counts at all. mixed: when targets without
    names may have been others than otherwise. is_mixed: they always are.
    """

    targets: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    columns: list[array[int]] = field(default_factory=lambda: [array("q") for _ in range(6 + len(COUNTS))])
    looks: tuple[array[int], array[int]] = field(default_factory=lambda: (array("q"), array("q")))
    mixed: array[int] = field(default_factory=lambda: array("q"))
    damaged: int = 0
    is_any: bool = False
    is_mixed: bool = False

    def frame(self) -> pl.DataFrame:
        """As READING_SCHEMA."""
        target, job, is_client, *rest = self.columns
        return self._sure(
            {
                "target": _named(self.targets, target),
                "job": _named(self.jobs, job),
                "is_client": pl.Series(_numbers(is_client)).cast(pl.Boolean),
                **dict(zip(list(READING_SCHEMA)[3:], map(_numbers, rest), strict=True)),
            },
            READING_SCHEMA,
        )

    def look_frame(self) -> pl.DataFrame:
        """target, time_ns."""
        target, time = self.looks
        return self._sure({"target": _named(self.targets, target), "time_ns": _numbers(time)})

    def _sure(self, columns: dict[str, pl.Series], schema: Any = None) -> pl.DataFrame:
        is_mixed = pl.col("target").str.starts_with(UNNAMED) & pl.col("time_ns").is_in(self.mixed.tolist())
        return pl.DataFrame(columns, schema).remove(is_mixed)


def _numbers(values: array[int]) -> pl.Series:
    import numpy as np

    return pl.Series(values=np.frombuffer(values, np.int64)) if len(values) else pl.Series(values=[], dtype=pl.Int64)


def _named(names: list[str], places: array[int]) -> pl.Series:
    return pl.Series(values=names, dtype=pl.String).gather(_numbers(places).cast(pl.UInt32))


def done_between(readings: pl.DataFrame, looks: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """What was done between two readings, as SERVED_SCHEMA, and how many readings said what no server can have done.

    readings: as READING_SCHEMA; a count may be null: that of the reading before. looks: target, time_ns; whoever is
    not in a look was not there yet, or no longer.
    """
    ordered = readings.sort(*KEY, "time_ns", maintain_order=True).unique(
        [*KEY, "time_ns"], keep="last", maintain_order=True
    )
    # What nobody asked for yet is what it was when somebody did.
    ordered = ordered.with_columns(pl.col(COUNTS).forward_fill().backward_fill().over(KEY))
    ordered = ordered.with_columns(pl.col(COUNTS).fill_null(0))
    ordered = _with_looks(ordered, looks)
    before = {name: pl.col(name).shift(1).over(KEY) for name in (*COUNTS, "time_ns", "start_ns", "changed_ns")}
    is_first = before["time_ns"].is_null()
    restarted = (pl.col("start_ns") > 0) & (before["start_ns"] > 0) & (pl.col("start_ns") > before["start_ns"])
    fell = pl.any_horizontal(pl.col(name) < before[name] for name in COUNTS)
    # An idle job that a look in between did not meet was forgotten, and what it has now it did since that look.
    is_back = (pl.col("look_ns") > before["time_ns"]) & (pl.col("changed_ns") > before["changed_ns"])
    is_back &= (before["changed_ns"] > 0) & (pl.col("look_ns") - before["changed_ns"] > IDLE_NS)
    is_back = is_back.fill_null(False)
    ordered = ordered.with_columns(
        is_first=is_first,
        is_anew=is_first | is_back | restarted.fill_null(False) | fell.fill_null(False),
        before_ns=pl.when(is_back).then("look_ns").otherwise(before["time_ns"]),
        **{f"{name}_before": before[name] for name in COUNTS},
    )
    started, known = pl.col("start_ns"), pl.col("look_ns").fill_null(0)
    # A counter that began while we looked counts from its start; one that was there before from the reading before.
    anew = pl.max_horizontal("before_ns", "start_ns")
    first = pl.when(started > 0).then(started).otherwise(known)
    begin = pl.when(pl.col("is_first")).then(first).when(pl.col("is_anew")).then(anew).otherwise(pl.col("before_ns"))
    told = ordered.with_columns(begin_ns=begin).filter(
        (pl.col("begin_ns") > 0) & ~(pl.col("is_first") & (known == 0) & (pl.col("changed_ns") <= pl.col("start_ns")))
    )
    is_within = (pl.col("changed_ns") > pl.col("begin_ns")) & (pl.col("changed_ns") < pl.col("time_ns"))
    done = {
        name: pl.when("is_anew").then(pl.col(name)).otherwise(pl.col(name) - pl.col(f"{name}_before"))
        for name in COUNTS
    }
    rows = told.select(
        *KEY,
        "begin_ns",
        end_ns=pl.when(is_within).then("changed_ns").otherwise("time_ns"),
        **done,
    ).filter(pl.any_horizontal(pl.col(COUNTS) > 0))
    rows = rows.with_columns(begin_ns=pl.min_horizontal("begin_ns", pl.col("end_ns") - 1))
    seconds = pl.max_horizontal(pl.col("end_ns") - pl.col("begin_ns"), pl.lit(SHORTEST_NS)) / 1e9
    is_odd = pl.sum_horizontal("read_bytes", "write_bytes") / seconds > MOST_A_SECOND
    sound = rows.remove(is_odd)
    return sound.select(*SERVED_SCHEMA), rows.height - sound.height


def _with_looks(ordered: pl.DataFrame, looks: pl.DataFrame) -> pl.DataFrame:
    """With look_ns: when the target was looked at before the reading."""
    if looks.is_empty():
        return ordered.with_columns(look_ns=pl.lit(None, pl.Int64))
    times = looks.unique().sort("time_ns")
    before = times.with_columns(look_ns=pl.col("time_ns").shift(1).over("target")).unique(
        ["target", "time_ns"], keep="first", maintain_order=True
    )
    return ordered.join(before, on=["target", "time_ns"], how="left", maintain_order="left")
