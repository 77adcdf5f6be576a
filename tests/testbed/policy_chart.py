"""Interference factors over dt as a drawing (SVG): a panel for each scenario and job, a colour for each policy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

PANEL_WIDTH, PANEL_HEIGHT = 400, 230
LEFT, TOP, BETWEEN_X, BETWEEN_Y = 60, 76, 60, 76
# Of Okabe and Ito: told apart by those who do not see all colours.
COLOURS = ("#555555", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
STEPS = (1, 1.05, 1.1, 1.2, 1.3, 1.5, 2, 3, 4, 6, 8, 10, 15, 20)
LEAST_APART = 14
ROOM = 1.08


@dataclass(frozen=True)
class Line:
    """A policy in a panel: its name, measured points (dt, factor) and the simulation's line."""

    name: str
    measured: Sequence[tuple[float, float]]
    simulated: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """The interference factor of a job over dt."""

    title: str
    lines: Sequence[Line]


def chart(rows: Sequence[Sequence[Panel]], title: str) -> str:
    """The drawing of all panels, row by row."""
    names = list(dict.fromkeys(line.name for row in rows for panel in row for line in panel.lines))
    colours = dict(zip(names, COLOURS, strict=False))
    width = LEFT + max(map(len, rows)) * (PANEL_WIDTH + BETWEEN_X)
    height = TOP + len(rows) * (PANEL_HEIGHT + BETWEEN_Y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>{title}</title>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_legend(colours),
    ]
    for down, row in enumerate(rows):
        for along, panel in enumerate(row):
            x, y = LEFT + along * (PANEL_WIDTH + BETWEEN_X), TOP + down * (PANEL_HEIGHT + BETWEEN_Y)
            parts += [f'<g transform="translate({x} {y})">', *_panel(panel, colours), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _legend(colours: dict[str, str]) -> list[str]:
    parts, x = [], LEFT
    for name, colour in colours.items():
        parts.append(f'<circle cx="{x + 5}" cy="16" r="4" fill="{colour}"/><text x="{x + 14}" y="20">{name}</text>')
        x += 34 + 7 * len(name)
    said = "points: measured; lines: simulated from what the jobs take alone"
    return [*parts, f'<text x="{LEFT}" y="38" fill="#555555">{said}</text>']


def _panel(panel: Panel, colours: dict[str, str]) -> list[str]:
    points = [point for line in panel.lines for point in (*line.measured, *line.simulated)]
    low, high = min(dt for dt, _ in points), max(dt for dt, _ in points)
    top = next((step for step in STEPS if step >= ROOM * max(factor for _, factor in points)), STEPS[-1])

    def x(dt: float) -> float:
        return PANEL_WIDTH * (dt - low) / (high - low or 1)

    def y(factor: float) -> float:
        return PANEL_HEIGHT * (1 - math.log(max(factor, 0.9) / 0.9) / math.log(top / 0.9))

    parts = [f'<text x="0" y="-8" font-weight="bold">{panel.title}</text>']
    last = math.inf
    for step in STEPS:
        if step <= top and last - y(step) >= LEAST_APART:
            last = y(step)
            at = f'y1="{y(step):.1f}" y2="{y(step):.1f}"'
            parts.append(f'<line x1="0" x2="{PANEL_WIDTH}" {at} stroke="#dddddd"/>')
            parts.append(f'<text x="-8" y="{y(step) + 4:.1f}" text-anchor="end">{step:g}</text>')
    for dt in sorted({dt for line in panel.lines for dt, _ in line.measured}):
        parts.append(f'<text x="{x(dt):.1f}" y="{PANEL_HEIGHT + 18}" text-anchor="middle">{dt:g}</text>')
    parts.append(f'<text x="{PANEL_WIDTH / 2}" y="{PANEL_HEIGHT + 36}" text-anchor="middle">dt, s</text>')
    for line in panel.lines:
        colour = colours[line.name]
        path = " ".join(f"{x(dt):.1f},{y(factor):.1f}" for dt, factor in line.simulated)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts += [
            f'<circle cx="{x(dt):.1f}" cy="{y(factor):.1f}" r="4" fill="{colour}"/>' for dt, factor in line.measured
        ]
    return parts
