"""When somebody's log says that it was taken: epoch seconds, `date` in many words, ISO 8601, with and without zones."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from slicewise.constants import SECOND_NS
from slicewise.profile.plausible import MOST_NS

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
