"""A chart in words, for those who do not see it: what each of its lines, bars or maps runs from and to."""

import html
import re
from typing import Any

import numpy as np

from slicewise.charts.figure import Figure, FigurePart
from slicewise.text import words

TAG = re.compile(r"<[^>]*>")
UNIT = re.compile(r"\(([^()]+)\)\s*$")
MOST_TRACES = 12


def in_words(chart: Figure) -> str:
    told = [said for trace in chart.data if (said := _trace(chart, trace))]
    if not told:
        return "The chart has no values."
    more = len(told) - MOST_TRACES
    rest = f" And {words.count(more, 'more line or bar', 'more lines or bars')}." if more > 0 else ""
    return " ".join(told[:MOST_TRACES]) + rest


def plain(text: str) -> str:
    """Text of Plotly's as it is read: without its tags, and with its entities as the characters that they are."""
    return html.unescape(TAG.sub(" ", text)).strip()


def unit_of(title: str) -> str:
    """The unit that an axis names behind its title, in brackets; a title that is a unit as it stands is one."""
    found = UNIT.search(title)
    return found.group(1) if found else title if "/s" in title or title in ("%", "s") else ""


def _trace(chart: Figure, trace: FigurePart) -> str:
    is_map = trace.type == "heatmap"
    name = plain(str(trace.name or ""))
    values = _numbers(trace.z if is_map else trace.x if trace.orientation == "h" else trace.y)
    if values.size == 0:
        return ""
    if is_map:
        rows, columns = np.atleast_2d(values).shape
        values = values[np.isfinite(values)]
        if not values.size:
            return ""
        return f"{words.count(rows, 'row')} by {words.count(columns, 'column')}, at most {words.number(values.max())}."
    axis = (trace.xaxis or "x") if trace.orientation == "h" else (trace.yaxis or "y")
    title = getattr(chart.layout.get(f"{axis[0]}axis{axis[1:]}", FigurePart()), "title", None) or {}
    unit = unit_of(plain(str(title.get("text", ""))))
    known = np.isfinite(values)
    if not known.any():
        return ""
    low, high = words.number(float(values[known].min())), words.number(float(values[known].max()))
    spread = low if low == high else f"{low} to {high}"
    when = ""
    if low != high and isinstance(trace.x, np.ndarray) and trace.x.dtype.kind == "M" and len(trace.x) == len(values):
        when = f", most at {str(trace.x[int(np.nanargmax(values))].astype('datetime64[s]'))[11:]}"
    return f"{name[:1].upper() + name[1:] or 'Values'}: {spread}{f' {unit}' if unit else ''}{when}."


def _numbers(values: Any) -> np.ndarray:
    """The values as floats; nothing where they are no numbers."""
    if values is None:
        return np.empty(0)
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return np.empty(0)
