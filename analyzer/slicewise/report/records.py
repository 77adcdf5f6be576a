"""Results as JSON: keys that are fields of what an analysis gives, under their names or others."""

from typing import Any

import polars as pl

from slicewise.estimate import Estimate
from slicewise.text import words


def picked(thing: object, *names: str, **renamed: str) -> dict[str, Any]:
    """Fields by their names, then fields by other keys (key=field). Frames are lists of rows."""
    values = {key: getattr(thing, name) for key, name in (*zip(names, names, strict=True), *renamed.items())}
    return {key: value.to_dicts() if isinstance(value, pl.DataFrame) else value for key, value in values.items()}


def or_none(thing: object, *names: str) -> dict[str, Any]:
    """The same of texts and the like: null where one is empty."""
    return {key: value or None for key, value in picked(thing, *names).items()}


def mib_s(bytes_per_second: float | None) -> float | None:
    return None if bytes_per_second is None else bytes_per_second / words.MIB


def rate_record(rate: Estimate) -> dict[str, Any]:
    """An estimated rate (bytes/s)."""
    between = {"mib_s": mib_s(rate.value), "low_mib_s": mib_s(rate.low), "high_mib_s": mib_s(rate.high)}
    return between | {"how": rate.how}
