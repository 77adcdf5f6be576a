"""A figure that has Plotly's own package make the same chart beside it, and compares what both say to plotly.js.

Plotly's package also knows all names and values that plotly.js takes, and refuses others.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import plotly.graph_objects as go
from slicewise.charts.figure import Figure


def _differences(where: str, ours: Any, plotly: Any) -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(plotly, dict):
        for name in sorted({*ours, *plotly}):
            yield from _differences(f"{where}.{name}", ours.get(name), plotly.get(name))
    elif isinstance(ours, list) and isinstance(plotly, list) and len(ours) == len(plotly):
        for place, (one, other) in enumerate(zip(ours, plotly, strict=True)):
            yield from _differences(f"{where}[{place}]", one, other)
    elif ours != plotly:
        yield f"{where}: {ours!r}, and {plotly!r} by Plotly"


class WitnessedFigure(Figure):
    """Takes the place of `Figure` in slicewise.charts.style, where figures are made."""

    def __init__(self) -> None:
        super().__init__()
        self.plotly = go.Figure()

    def plain(self) -> dict[str, Any]:
        expected = json.loads(self.plotly.to_json())
        expected["layout"].pop("template", None)
        said = super().plain()
        differences = list(_differences("", said, expected))
        assert not differences, "\n".join(differences)
        return said


def _of_both(name: str, *places: str) -> Callable[..., None]:
    """The method, which names what it is given by place. What belongs to a whole axis is a part of add_vline, add_hline
    or add_hrect, which Plotly's package is asked for.
    """

    def method(figure: WitnessedFigure, *given: Any, **values: Any) -> None:
        getattr(Figure, name)(figure, *given, **values)
        if not any(str(values.get(axis, "")).endswith("domain") for axis in ("xref", "yref")):
            by_name = dict(zip(places, given, strict=False))
            getattr(figure.plotly, name)(*given[len(by_name) :], **by_name, **values)

    return method


PLACES = {"add_vline": ("x", "annotation"), "add_hline": ("y", "annotation"), "add_hrect": ("y0", "y1")}
for _name in (_name for _name in vars(Figure) if _name.startswith(("add_", "update_"))):
    setattr(WitnessedFigure, _name, _of_both(_name, *PLACES.get(_name, ())))
