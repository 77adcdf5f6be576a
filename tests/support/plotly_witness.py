"""A figure that has Plotly's own package make the same chart beside it, and compares what both say to plotly.js.

Plotly's package also knows all names and values that plotly.js takes, and refuses others.
"""

import json
from collections.abc import Iterator
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

    def add_scatter(self, **values: Any) -> None:
        super().add_scatter(**values)
        self.plotly.add_scatter(**values)

    def add_bar(self, **values: Any) -> None:
        super().add_bar(**values)
        self.plotly.add_bar(**values)

    def add_heatmap(self, **values: Any) -> None:
        super().add_heatmap(**values)
        self.plotly.add_heatmap(**values)

    def update_layout(self, *values: Any, **more: Any) -> None:
        super().update_layout(*values, **more)
        self.plotly.update_layout(*values, **more)

    def update_xaxes(self, **values: Any) -> None:
        super().update_xaxes(**values)
        self.plotly.update_xaxes(**values)

    def update_yaxes(self, **values: Any) -> None:
        super().update_yaxes(**values)
        self.plotly.update_yaxes(**values)

    def add_shape(self, **values: Any) -> None:
        super().add_shape(**values)
        if values.get("yref", "").endswith("domain") or values.get("xref", "").endswith("domain"):
            return  # a part of add_vline, add_hline or add_hrect, which Plotly's package is asked for
        self.plotly.add_shape(**values)

    def add_annotation(self, **values: Any) -> None:
        super().add_annotation(**values)
        if values.get("yref", "").endswith("domain") or values.get("xref", "").endswith("domain"):
            return
        self.plotly.add_annotation(**values)

    def add_vline(self, x: Any, annotation: Any = None, **values: Any) -> None:
        super().add_vline(x, annotation, **values)
        self.plotly.add_vline(x, annotation=annotation, **values)

    def add_hline(self, y: Any, annotation: Any = None, **values: Any) -> None:
        super().add_hline(y, annotation, **values)
        self.plotly.add_hline(y, annotation=annotation, **values)

    def add_hrect(self, y0: Any, y1: Any, **values: Any) -> None:
        super().add_hrect(y0, y1, **values)
        self.plotly.add_hrect(y0=y0, y1=y1, **values)
