"""A chart as plotly.js takes it: traces and a layout, as nested dictionaries.

The few methods that charts use, with the names and the meaning that they have in Plotly's Python package, which would
be 64 MB of every installation; tests compare what both make of all charts.
"""

import base64
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

AXIS = re.compile(r"[xy]axis\d*")
# Names of plotly.js with an underscore in them; in all others it leads to a part: title_text is text of title.
WHOLE_NAMES = ("error_x", "error_y", "paper_bgcolor", "plot_bgcolor")
# Types of numbers that travel as bytes; whole ones in the shortest that holds them.
BYTES_OF = {"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
            "float32": "f4", "float64": "f8"}  # fmt: skip
SHORTER = {"int64": ("int8", "int16", "int32"), "uint64": ("uint8", "uint16", "uint32")}


class FigurePart(dict[str, Any]):
    """A part of a figure, whose own parts are attributes, too: layout.xaxis.range."""

    def __getattr__(self, name: str) -> Any:
        """None for what was not set."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def merge(self, values: Mapping[str, Any]) -> None:
        """Take values over: dictionaries part by part, `title_text` as the text of the title."""
        for name, value in values.items():
            if value is None:
                continue
            if name not in WHOLE_NAMES and "_" in name:
                first = next((whole for whole in WHOLE_NAMES if name.startswith(f"{whole}_")), name.split("_")[0])
                self.merge({first: {name[len(first) + 1 :]: value}})
            elif isinstance(value, Mapping):
                if not isinstance(self.get(name), FigurePart):
                    self[name] = FigurePart()
                self[name].merge(value)
            else:
                self[name] = [_part(one) for one in value] if isinstance(value, (list, tuple)) else value


def _part(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    part = FigurePart()
    part.merge(value)
    return part


class Figure:
    """data: traces, in the order in which they are drawn. layout: axes, legend, shapes, annotations."""

    def __init__(self) -> None:
        self.data: list[FigurePart] = []
        self.layout = FigurePart()

    def add_scatter(self, **values: Any) -> None:
        self._add("scatter", values)

    def add_bar(self, **values: Any) -> None:
        self._add("bar", values)

    def add_heatmap(self, **values: Any) -> None:
        self._add("heatmap", values)

    def _add(self, kind: str, values: Mapping[str, Any]) -> None:
        self.data.append(_part({**values, "type": kind}))

    def update_layout(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        self.layout.merge({**(values or {}), **more})

    def update_xaxes(self, **values: Any) -> None:
        self._update_axes("xaxis", values)

    def update_yaxes(self, **values: Any) -> None:
        self._update_axes("yaxis", values)

    def _update_axes(self, first: str, values: Mapping[str, Any]) -> None:
        others = [name for name in self.layout if AXIS.fullmatch(name) and name.startswith(first) and name != first]
        for name in (first, *others):
            self.layout.merge({name: values})

    def add_shape(self, **values: Any) -> None:
        self.layout.setdefault("shapes", []).append(_part(values))

    def add_annotation(self, **values: Any) -> None:
        self.layout.setdefault("annotations", []).append(_part(values))

    def add_vline(self, x: Any, annotation: Mapping[str, Any] | None = None, **values: Any) -> None:
        """A line from bottom to top, with a text at its head."""
        self.add_shape(type="line", x0=x, x1=x, y0=0, y1=1, xref="x", yref="y domain", **values)
        if annotation:
            where = {"x": x, "y": 1, "xref": "x", "yref": "y domain", "xanchor": "left", "yanchor": "top"}
            self.add_annotation(**where, showarrow=False, **annotation)

    def add_hline(self, y: Any, annotation: Mapping[str, Any] | None = None, **values: Any) -> None:
        """A line from left to right, with a text at its end."""
        self.add_shape(type="line", x0=0, x1=1, y0=y, y1=y, xref="x domain", yref="y", **values)
        if annotation:
            where = {"x": 1, "y": y, "xref": "x domain", "yref": "y", "xanchor": "right", "yanchor": "bottom"}
            self.add_annotation(**where, showarrow=False, **annotation)

    def add_hrect(self, y0: Any, y1: Any, **values: Any) -> None:
        self.add_shape(type="rect", x0=0, x1=1, y0=y0, y1=y1, xref="x domain", yref="y", **values)

    def plain(self) -> dict[str, Any]:
        """What JSON can say, with arrays of numbers as plotly.js takes their bytes."""
        return {"data": [_plain(trace) for trace in self.data], "layout": _plain(self.layout)}


def _plain(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part, key) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return _plain_array(value, name)
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item().isoformat()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain_array(values: np.ndarray, name: str) -> Any:
    if values.dtype.kind == "M":
        return (
            [one.isoformat() for one in values.tolist()] if name == "range" else np.datetime_as_string(values).tolist()
        )
    # plotly.js takes no bytes for the range of an axis.
    if name == "range" or not values.size:
        return _plain(values.tolist())
    for shorter in SHORTER.get(str(values.dtype), ()):
        limits = np.iinfo(shorter)
        if limits.min <= values.min() and values.max() <= limits.max:
            values = values.astype(shorter)
            break
    if str(values.dtype) not in BYTES_OF:
        return _plain(values.tolist())
    packed = {"dtype": BYTES_OF[str(values.dtype)], "bdata": base64.b64encode(values.tobytes()).decode()}
    return packed | ({"shape": ", ".join(map(str, values.shape))} if values.ndim > 1 else {})
