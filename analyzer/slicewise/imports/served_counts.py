"""Cumulative counts of servers (in any order, doubled, with gaps, begun anew), and what was done between."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import polars as pl

from slicewise.constants import SECOND_NS
from slicewise.profile.plausible import MOST_NS
from slicewise.profile.servers import COUNTS

# Operations on metadata, by Lustre's names. A rename is counted once more by its sort (samedir_rename, ...), and statfs
# is what `df` asks: neither is here.
OPERATIONS = frozenset({
    "open", "close", "mknod", "link", "unlink", "mkdir", "rmdir", "rename", "getattr", "setattr", "getxattr",
    "setxattr", "sync", "migrate", "fallocate", "readpage", "punch",
})  # fmt: skip
# A target that counts one of these is one of metadata: others are counted by data targets, too, for bytes' sake.
OF_METADATA = frozenset({"open", "close", "mknod", "mkdir", "unlink", "rename"})
SERVED_SCHEMA = (
    {"target": pl.String, "job": pl.String}
    | dict.fromkeys(("begin_ns", "end_ns", "read_bytes", "write_bytes", "meta_ops"), pl.Int64)
    | dict.fromkeys(("read_ops", "write_ops", "busy_ns"), pl.Int64)
    | {"is_client": pl.Boolean}
)
READING_SCHEMA = {"target": pl.String, "job": pl.String, "is_client": pl.Boolean} | dict.fromkeys(
    ("time_ns", "changed_ns", "start_ns", *COUNTS), pl.Int64
)
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
    readings: as READING_SCHEMA; a count may be null: that of the reading before. looks: target, time_ns; whoever is not
    in a look was not there yet, or no longer.
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
    if looks.is_empty():
        return ordered.with_columns(look_ns=pl.lit(None, pl.Int64))
    times = looks.unique().sort("time_ns")
    before = times.with_columns(look_ns=pl.col("time_ns").shift(1).over("target")).unique(
        ["target", "time_ns"], keep="first", maintain_order=True
    )
    return ordered.join(before, on=["target", "time_ns"], how="left", maintain_order="left")


# Digits of an epoch: seconds, and thousands, millions and milliards of them.
EPOCH_DIGITS = {9: 9, 10: 9, 11: 9, 13: 6, 16: 3, 19: 0}
# Around a time: its name, a host's.
BEFORE = (
    r"^[\s#=*\-\[\"']*(?:(?!\w+_time\b)[a-z][\w.-]*:?\s+)?"
    r"(?:(?:date|time|timestamp|ts|snapshot_time(?=:)|sample|sampled|at|now|epoch)\b(?:\s+at\b)?[:=\s]*)?[\"']?"
)
AFTER = r"(?:\s+[a-z][\w.-]*)?[\s#=*\-\]\"']*$"
EPOCH = re.compile(
    BEFORE + r"@?(?P<whole>\d{9,19})(?:[.,](?P<part>\d+))?\s*(?:s|secs?|ms|ns|secs\.nsecs)?" + AFTER, re.I
)
ISO = re.compile(
    BEFORE + r"(?:(?P<year>\d{4})[-/]?(?P<month>\d\d)[-/]?(?P<day>\d\d)|(?P<on>\d\d)\.(?P<of>\d\d)\.(?P<in>\d{4}))"
    r"[T _\-]?\s*(?P<hour>\d\d)[:-]?(?P<minute>\d\d)[:-]?(?P<second>\d\d)(?:[.,](?P<part>\d+))?\s*"
    r"(?P<zone>Z|[+-]\d\d:?\d\d|[+-]\d\d|[A-Z]{2,5})?" + AFTER,
    re.I,
)
CLOCK = re.compile(r"\b(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:\s*([AP])\.?M\.?)?", re.I)
YEAR, DAY = re.compile(r"\b((?:19|20|21)\d\d)\b"), re.compile(r"(?<![\d:.+-])(\d{1,2})(?![\d:])")
ZONE = re.compile(r"(?<!\w)([+-]\d\d:?\d\d)\b|\b([A-Z]{2,5})\b")
MONTH = re.compile(r"[^\W\d_]{3,}")
MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan ene gen", "feb fév fev", "mar mär mrz", "apr avr abr", "may mai mag", "jun jui giu", "jul lug",
         "aug aoû ago", "sep set", "oct okt ott", "nov", "dec dez déc dic"), 1,
    )
    for name in names.split()
}  # fmt: skip
MONTHS |= {"juil": 7, "juin": 6}
# Names of zones that say one thing everywhere, and the likelier meaning of some that do not.
SURE_ZONES = ("UTC", "GMT", "Z")
ZONES = {
    "CET": 1, "CEST": 2, "MEZ": 1, "MESZ": 2, "MET": 1, "MEST": 2, "WET": 0, "WEST": 1, "BST": 1, "EET": 2, "EEST": 3,
    "MSK": 3, "IST": 5.5, "SGT": 8, "HKT": 8, "AWST": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12,
    "NZDT": 13, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "AKST": -9,
    "AKDT": -8, "HST": -10,
}  # fmt: skip
LONGEST = 100


def stamp_ns(line: str) -> tuple[int, bool] | None:
    """The time that a line says and nothing else (UNIX time, ns), and whether its zone is certain; None: it is none."""
    found = _said_ns(line) if len(line) <= LONGEST else None
    return found if found is not None and 0 < found[0] < MOST_NS else None


def _said_ns(line: str) -> tuple[int, bool] | None:
    if (found := EPOCH.match(line)) is not None and (zeros := EPOCH_DIGITS.get(len(found["whole"]))) is not None:
        part = (found["part"] or "")[:zeros].ljust(zeros, "0") if zeros else ""
        return int(found["whole"]) * 10**zeros + int(part or 0), True
    if (found := ISO.match(line)) is not None:
        day = found.group("year", "month", "day") if found["year"] else found.group("in", "of", "on")
        numbers = map(int, (*day, *found.group("hour", "minute", "second")))
        return _made(tuple(numbers), found["part"], found["zone"])
    return _spoken_ns(line) if ":" in line else None


def _spoken_ns(line: str) -> tuple[int, bool] | None:
    """As `date` says it: Fri Nov 27 06:09:35 UTC 2026; Fri 27 Nov 2026 06:09:35 AM CET; with -R."""
    clock = CLOCK.search(line)
    if clock is None:
        return None
    rest = f"{line[: clock.start()]} {line[clock.end() :]}"
    year = YEAR.search(rest)
    names = [name.lower() for name in MONTH.findall(rest)]
    found = [number for name in names if (number := MONTHS.get(name[:4], MONTHS.get(name[:3], 0)))]
    month = found[-1] if found else 0  # the first one may be a day of the week: mar, in Spanish
    if year is None or not month:
        return None
    without_year = rest[: year.start()] + rest[year.end() :]
    zone = next((one or two for one, two in ZONE.findall(without_year) if one or two in {*ZONES, *SURE_ZONES}), None)
    day = DAY.search(without_year)
    if day is None:
        return None
    hour = int(clock[1])
    if clock[5] is not None:
        hour = hour % 12 + (12 if clock[5].upper() == "P" else 0)
    return _made((int(year[1]), month, int(day[1]), hour, int(clock[2]), int(clock[3])), clock[4], zone)


def _made(numbers: tuple[int, ...], part: str | None, zone: str | None) -> tuple[int, bool] | None:
    offset, is_sure = _offset(zone)
    year, month, day, hour, minute, second = numbers
    try:  # a leap second is the first one of the next minute
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=offset)
        seconds = int(moment.timestamp()) + max(0, second - 59)
    except (ValueError, OverflowError, OSError):
        return None
    return seconds * SECOND_NS + int((part or "0")[:9].ljust(9, "0")), is_sure


def _offset(zone: str | None) -> tuple[timezone | None, bool]:
    """The offset of a zone, and whether it is certain. None: that of whoever reads this."""
    if not zone:
        return None, False
    if zone.upper() in SURE_ZONES:
        return timezone.utc, True
    if zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        minutes = int(digits[:2]) * 60 + int(digits[2:4])
        if minutes >= 24 * 60:
            return None, False
        return timezone(timedelta(minutes=-minutes if zone[0] == "-" else minutes)), True
    hours = ZONES.get(zone.upper())
    return (None if hours is None else timezone(timedelta(hours=hours))), False
