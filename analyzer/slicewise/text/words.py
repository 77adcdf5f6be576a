"""Numbers with their units, times of day and the small parts of sentences: the one home of how Slicewise says things.

Pure functions that give plain text (never markup); None is "unknown" everywhere.
"""

import functools
import math
import pwd
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from slicewise.constants import INPUTS, SECOND_NS
from slicewise.estimate import Estimate

UNKNOWN = "unknown"
BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
LEAST_IN_SECONDS = 0.01
TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
MIB = 1 << 20
# What a job did with bytes, and with metadata calls.
DID = {"read": "read", "write": "wrote", "meta": "made"}
# MiB/s, below which nobody cares how much it is.
LEAST_MIB_S = 1e-4
# Of the other direction's bytes: a job that wrote gigabytes has read some libraries, which is no news.
TRIVIAL_SHARE = 0.001
MOST_NAMED = 4
# From here on "2.0 times as long" is easier to grasp than "100 % longer".
TIMES_FROM = 1.5


def number(value: float | None, digits: int = 3) -> str:
    """A number to so many significant digits, with thousands separated; scientific below 1e-4."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "-∞" if value < 0 else "∞"
    if value == 0:
        return "0"
    if abs(value) < 1e-4:
        return f"{value:.{digits - 1}e}"
    exponent = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def count(value: int, singular: str, plural: str | None = None) -> str:
    """Such as "1 node", "60 processes": a count with its noun."""
    if value == 1:
        return f"1 {singular}"
    if plural is None:
        plural = singular + ("es" if singular.endswith(("s", "x", "ch", "sh")) else "s")
    return f"{value:,} {plural}"


def byte_unit(value: float) -> tuple[float, str]:
    """The binary unit that `value` bytes are best said in: (bytes a unit, name)."""
    power = 0
    while power + 1 < len(BYTE_UNITS) and abs(value) >= 1024 ** (power + 1) * 0.99995:
        power += 1
    return float(1024**power), BYTE_UNITS[power]


def size(value: float | None) -> str:
    """Bytes as "15.6 GiB"; whole numbers of a unit have no decimals: "4 MiB"."""
    if value is None or math.isnan(value):
        return UNKNOWN
    scale, unit = byte_unit(value)
    scaled = value / scale
    return f"{scaled:,.0f} {unit}" if scaled == int(scaled) else f"{number(scaled)} {unit}"


def wrote_and_read(written: int, read: int) -> str:
    """Such as "wrote 15.6 GiB and read 0.2 GiB"; a direction that is next to nothing beside the other is not told."""
    sides = [("wrote", written), ("read", read)]
    told = [(did, moved) for did, moved in sides if moved >= TRIVIAL_SHARE * max(written, read)]
    return " and ".join(f"{did} {size(moved)}" for did, moved in told)


def rate(bytes_per_second: float | None) -> str:
    """A throughput in MiB/s, the unit of all of Slicewise's throughputs: "83.1 MiB/s"."""
    if bytes_per_second is None:
        return UNKNOWN
    mib = bytes_per_second / MIB
    return f"under {LEAST_MIB_S:g} MiB/s" if 0 < mib < LEAST_MIB_S else f"{number(mib)} MiB/s"


def duration(seconds: float | None) -> str:
    """A length of time: "12.3 ms", "4.03 s", "203 s", "5 min 18 s", "2 h 5 min"."""
    if seconds is None or math.isnan(seconds):
        return UNKNOWN
    magnitude = abs(seconds)
    if magnitude == 0:
        return "0 s"
    if magnitude < 299.5:
        scale, unit = next((scale, unit) for scale, unit in TIME_UNITS if magnitude >= scale * 0.9995 or unit == "ns")
        return f"{number(seconds / scale)} {unit}"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def seconds(value: float | None) -> str:
    """A runtime in seconds, whatever its length, as it is compared with others: "203 s"."""
    if value is None:
        return UNKNOWN
    return duration(value) if 0 < value < LEAST_IN_SECONDS else f"{number(value)} s"


def estimate_of_seconds(estimate: Estimate) -> str:
    """An estimated runtime with what it may lie between: "171 s [164-178]"."""
    return f"{seconds(estimate.value)} {interval(estimate.low, estimate.high)}"


def interval(low: float, high: float) -> str:
    """Such as "[164-178]", "[-0.2 to 0.3]": to three digits, or as many as tell the two ends apart, up to six."""
    digits = next((digits for digits in (3, 4, 5, 6) if number(low, digits) != number(high, digits)), 3)
    return f"[{number(low, digits)}{' to ' if low < 0 else '-'}{number(high, digits)}]"


def interval_of_percents(estimate: Estimate) -> str:
    """The interval of a fraction in percent, such as "[10-30]"; empty where its ends are one."""
    return interval(100 * estimate.low, 100 * estimate.high) if estimate.low != estimate.high else ""


def how_long(ratio: float) -> str:
    """How a time compares with another one: "2.0 times as long as", "12 % longer than", "5.0 % less time than"."""
    if ratio >= TIMES_FROM:
        return f"{number(ratio, 2)} times as long as"
    return f"{percent(ratio - 1, 2)} longer than" if ratio > 1 else f"{percent(1 - ratio, 2)} less time than"


def percent(fraction: float | None, digits: int = 3) -> str:
    """A fraction as "4.1 %"; close to 1 it keeps the digits that tell it from 100 %."""
    if fraction is None or math.isnan(fraction):
        return UNKNOWN
    value = fraction * 100
    if 0 < value < 0.01:
        return "under 0.01 %"
    if 99 < value < 100:
        return f"{min(value, 99.99):.2f} %"
    return f"{number(value, digits)} %"


def signed_percent(fraction: float | None) -> str:
    """A relative error as "+1 %", "-12 %", "+0.4 %"."""
    if fraction is None or math.isnan(fraction):
        return UNKNOWN
    value = fraction * 100
    decimals = 1 if 0.05 <= abs(value) < 0.95 else 0
    return f"{value:+.{decimals}f} %".replace("-0 %", "+0 %")


def one_to_other(ratio: float | None, is_first_larger: bool = True) -> str:
    """A ratio of two jobs: "4.4 to 1", or "1 to 4.4" as seen from the other one."""
    if ratio is None or math.isnan(ratio):
        return UNKNOWN
    ratio = ratio if is_first_larger else (1 / ratio if ratio else math.inf)
    if ratio == 0 or math.isinf(ratio):
        return "nothing to all" if ratio == 0 else "all to nothing"
    return f"{_short(ratio)} to 1" if ratio >= 1 else f"1 to {_short(1 / ratio)}"


def _short(ratio: float) -> str:
    """Two digits, and no decimals that are zero."""
    return number(ratio, 2).removesuffix(".0")


def listing(items: Iterable[str]) -> str:
    """Such as "A", "A and B", "A, B and C"."""
    items = list(items)
    if len(items) <= 1:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def some(names: Iterable[str], most: int = MOST_NAMED) -> str:
    """The names, or the first of many: "A, B, C, D and 2 more"."""
    names = list(names)
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def beginning(text: str, most: int) -> str:
    """A text, or as much of its beginning as `most` characters have room for."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def asked(about: Mapping[str, Any]) -> list[str]:
    """By which command line a job was started, and where, in a sentence; none where that is not known. about: command,
    directory."""
    where = f" in {about['directory']}" if about["directory"] else ""
    command = about["command"].partition(INPUTS)[0]  # the hash behind it serves comparisons alone
    return [f"Command line: {command}{where}."] if command else []


def sentence(text: str) -> str:
    """The text with a full stop, if it has none. Its first letter stays, for it may begin with a name."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def local_time(time_ns: int) -> datetime:
    """A CLOCK_REALTIME instant in the time zone of whoever reads the report."""
    return datetime.fromtimestamp(time_ns / 1e9).astimezone()


def utc_offset_ns(time_ns: int) -> int:
    """By how much the reader's time zone is ahead of UTC at a CLOCK_REALTIME instant."""
    offset = local_time(time_ns).utcoffset()
    return 0 if offset is None else round(offset.total_seconds()) * SECOND_NS


def clock(time_ns: int, slice_ns: int = SECOND_NS) -> str:
    """The time of day, "10:31:04", with a tenth where slices are shorter than a second."""
    time = local_time(time_ns)
    tenth = f".{time.microsecond // 100_000}" if slice_ns % SECOND_NS else ""
    return f"{time:%H:%M:%S}{tenth}"


def duration_between(start: str | None, end: str | None) -> str:
    """The time from one ISO 8601 instant to another."""
    seconds = seconds_between(start, end)
    return "an unknown time" if seconds is None else duration(seconds)


def seconds_between(start: str | None, end: str | None) -> float | None:
    """From one ISO 8601 instant to another; None where one is not known."""
    if start is None or end is None:
        return None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def iso_time(time_ns: int) -> str:
    """An instant for machines: ISO 8601 in UTC, to the microsecond."""
    return datetime.fromtimestamp(time_ns / 1e9, timezone.utc).isoformat(timespec="microseconds")


def date_and_zone(time_ns: int) -> str:
    """Such as "2026-11-21, UTC+01:00": what the times of day on a page leave out."""
    time = local_time(time_ns)
    offset = f"{time:%z}"
    return f"{time:%Y-%m-%d}, UTC{offset[:3]}:{offset[3:]}"


def span(start_ns: int, end_ns: int, slice_ns: int = SECOND_NS) -> str:
    """Such as "10:31:04 to 10:34:28", with dates where the two are not of one day."""
    start, end = local_time(start_ns), local_time(end_ns)
    if start.date() == end.date():
        return f"{clock(start_ns, slice_ns)} to {clock(end_ns, slice_ns)}"
    return f"{start:%Y-%m-%d} {clock(start_ns, slice_ns)} to {end:%Y-%m-%d} {clock(end_ns, slice_ns)}"


def slices_of(slices: int, slice_ns: int) -> str:
    """Such as "51 slices of 4 s"."""
    return f"{count(slices, 'slice')} of {slice_ns / 1e9:g} s"


def processes_on_nodes(processes: int, nodes: int | None) -> str:
    """Such as "60 processes on 5 nodes". nodes: None or 0 where it is not known on how many they ran."""
    return f"{count(processes, 'process')} on {count(nodes, 'node')}" if nodes else count(processes, "process")


@functools.cache
def user_name(number: int) -> str:
    """A user's name, or the number where this machine knows none: of another site, or one that stands for a user."""
    try:
        return pwd.getpwuid(number).pw_name
    except (KeyError, OverflowError):
        return str(number)
