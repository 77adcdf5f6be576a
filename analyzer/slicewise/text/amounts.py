"""Amounts and rates as people write them: 16GiB, 1.5TB, 100MiB/s."""

import re

from slicewise.errors import UserError

PREFIXES = {prefix: 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T", "P"))} | {
    f"{prefix}i": 1024 ** (power + 1) for power, prefix in enumerate(("K", "M", "G", "T", "P"))
}
UNIT = r"(?P<prefix>[kMGTP]?|[KMGTP]i)B(?P<rate>/s)?"
NUMBER = r"(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)"
AMOUNT = re.compile(rf"{NUMBER}\s*(?:{UNIT})?")
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
DURATION = re.compile(rf"{NUMBER}\s*(?P<unit>us|ms|s)")


def amount(text: str, what: str, is_rate: bool) -> tuple[float, bool]:
    """An amount in bytes (a rate: bytes a second), or a plain number; and whether it had a unit."""
    match = AMOUNT.fullmatch(text.strip())
    unit_fits = match and (match["prefix"] is None or bool(match["rate"]) == is_rate)
    if not match or not unit_fits:
        example = "100MiB/s" if is_rate else "16GiB"
        raise UserError(
            f"{what} {text} is not {'a rate' if is_rate else 'an amount'}; give one such as 1200 or {example}"
        )
    found = float(match["number"]) * (PREFIXES[match["prefix"]] if match["prefix"] is not None else 1)
    return found, match["prefix"] is not None


def rate(text: str, what: str) -> float:
    """A rate above 0 in bytes/s, from a number with its unit. Raises UserError for anything else."""
    found, has_unit = amount(text, what, is_rate=True)
    if not has_unit or found <= 0:
        raise UserError(f"{what} {text}: give a rate with its unit, such as 2GiB/s")
    return found


def duration(text: str, what: str) -> float:
    """A length of time above 0, in seconds, from a number with its unit. Raises UserError for anything else."""
    match = DURATION.fullmatch(text.strip())
    seconds = float(match["number"]) * SECONDS[match["unit"]] if match else 0.0
    if not seconds > 0:
        raise UserError(f"{what} {text} is not a time; give one such as 5ms or 0.2s")
    return seconds
