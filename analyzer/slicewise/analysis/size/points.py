"""What was measured at transfer sizes: a row a run, then runs of one configuration as a mean."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from slicewise.errors import UserError, mended_by
from slicewise.estimate import Estimate
from slicewise.statistics import error_of_mean
from slicewise.text.amounts import amount

# size, block_size and file_size in bytes, file_size of all files together; bandwidth in bytes/s; latencies in seconds a
# call. in_flight: calls under way at a time, where that is known; beside: the second job, empty without one.
POINTS = pl.Schema(
    {
        "mount": pl.String, "direction": pl.String, "access": pl.String, "sharing": pl.String, "processes": pl.Int64,
        "block_size": pl.Int64, "file_size": pl.Int64, "beside": pl.String, "size": pl.Int64, "run": pl.String,
        "bandwidth": pl.Float64, "latency": pl.Float64, "latency_p99": pl.Float64, "in_flight": pl.Float64,
    }
)  # fmt: skip
CURVE = ("mount", "direction", "access", "sharing", "processes", "block_size", "file_size", "beside")
CONFIGURATION = (*CURVE, "size")
HOW = "geometric mean of {} runs, 95 % by Student's t of their logarithms"
NEEDED = ("size", "bandwidth", "latency")
WORDS = {
    "direction": ("read", "write"),
    "access": ("sequential", "random"),
    "sharing": ("file per process", "shared file"),
}
DEFAULTS = {"mount": "", "direction": "write", "access": "sequential", "sharing": "file per process", "beside": ""}
AMOUNTS = {"size": False, "block_size": False, "file_size": False, "bandwidth": True}
NUMBERS = ("latency", "latency_p99", "in_flight", "processes")
WHOLE = ("size", "block_size", "file_size", "processes")


@dataclass(frozen=True)
class Mean:
    """The geometric mean of repeats, of which intervals are made. error: of its logarithm, 95 %; nan for one run."""

    value: float
    error: float
    runs: int

    @property
    def estimate(self) -> Estimate:
        """The mean with its interval, which is nan to nan where there was one run."""
        low, high = (self.value * math.exp(sign * self.error) for sign in (-1, 1))
        return Estimate(self.value, low, high, HOW.format(self.runs) if self.runs > 1 else "one run")

    def over(self, other: Mean) -> Mean:
        error = math.hypot(self.error, other.error)
        return Mean(self.value / other.value, error, min(self.runs, other.runs))


@dataclass(frozen=True)
class Curve:
    """All that was chosen but the transfer size."""

    mount: str
    direction: str
    access: str
    sharing: str
    processes: int | None
    block_size: int | None
    file_size: int | None
    beside: str


@dataclass(frozen=True)
class SizePoint:
    """One transfer size of a curve. latency_p99: the geometric mean of the repeats' 99 % quantiles; None: not known.
    in_flight: calls under way at a time as the configuration says it; None: not known. little: bandwidth x latency /
    size / in_flight, which Little's law has at 1 where all processes are in calls all the time. equation_1: seconds
    that eq. 1 of Biswas 2023 predicts for a call; None where block or file size is not known.
    """

    size: int
    bandwidth: Mean
    latency: Mean
    latency_p99: float | None
    in_flight: float | None
    little: float | None
    equation_1: float | None


@dataclass(frozen=True)
class SizeCurve:
    """A curve and its points, the smallest size first."""

    curve: Curve
    points: Sequence[SizePoint]

    def at(self, size: int) -> SizePoint | None:
        """The point of that size."""
        return next((point for point in self.points if point.size == size), None)


def mean_of(values: npt.NDArray[np.float64]) -> Mean:
    """The geometric mean of repeats of something that is above 0."""
    logs = np.log(values)
    error = error_of_mean(float(logs.std(ddof=1)), len(logs)) if len(logs) > 1 else math.nan
    return Mean(float(np.exp(logs.mean())), error, len(logs))


def equation_1(total_size: float, block_size: float, size: float, bandwidth: float) -> float:
    """Seconds of a call by eq. 1 of Biswas 2023: (total size / block size) x size = bandwidth x latency."""
    return total_size / block_size * size / bandwidth


def curves(points: pl.DataFrame) -> list[SizeCurve]:
    """The curves of a frame of POINTS, in the order of what tells them apart."""
    found: dict[Curve, list[SizePoint]] = {}
    ordered = points.sort(CONFIGURATION, nulls_last=True)
    for (*chosen, size), rows in ordered.group_by(CONFIGURATION, maintain_order=True):
        curve = Curve(*chosen)
        found.setdefault(curve, []).append(_point(curve, int(str(size)), rows))
    return [SizeCurve(curve, each) for curve, each in found.items()]


def _point(curve: Curve, size: int, rows: pl.DataFrame) -> SizePoint:
    bandwidth, latency = (mean_of(rows[name].to_numpy()) for name in ("bandwidth", "latency"))
    tails = rows["latency_p99"].drop_nulls().to_numpy()
    in_flight = rows["in_flight"].drop_nulls().mean()
    flying = float(in_flight) if isinstance(in_flight, float) else None
    has_blocks = curve.block_size and curve.file_size
    return SizePoint(
        size=size,
        bandwidth=bandwidth,
        latency=latency,
        latency_p99=mean_of(tails).value if len(tails) and (tails > 0).all() else None,
        in_flight=flying,
        little=bandwidth.value * latency.value / size / flying if flying else None,
        equation_1=equation_1(curve.file_size or 0, curve.block_size or 1, size, bandwidth.value)
        if has_blocks
        else None,
    )


@dataclass(frozen=True)
class CompanyEffect:
    """One size of a curve with a second job beside it, against the same without: bandwidth and latency as ratios."""

    curve: Curve
    size: int
    bandwidth: Mean
    latency: Mean


def company_effects(curves: Sequence[SizeCurve]) -> list[CompanyEffect]:
    alone = {each.curve: each for each in curves if not each.curve.beside}
    effects = []
    for beside in curves:
        quiet = alone.get(replace(beside.curve, beside=""))
        if quiet is None or not beside.curve.beside:
            continue
        for point in beside.points:
            before = quiet.at(point.size)
            if before is not None:
                ratios = point.bandwidth.over(before.bandwidth), point.latency.over(before.latency)
                effects.append(CompanyEffect(beside.curve, point.size, *ratios))
    return effects


def read_table(path: Path) -> pl.DataFrame:
    """The rows of a table as POINTS. Raises UserError with the line and the way out for what is no measurement."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader((line for line in file if not line.startswith("#")), strict=True)
            columns = _columns(path, reader.fieldnames or ())
            rows = [_row(path, place, row, columns) for place, row in enumerate(reader, start=2)]
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; give a CSV file to --table") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is no CSV file ({error}); give one with the columns {', '.join(NEEDED)}") from error
    if not rows:
        raise UserError(f"{path}: has no rows; give a table with a row a run")
    return pl.DataFrame(rows, schema=POINTS)


def write_table(points: pl.DataFrame, path: Path, remarks: Iterable[str] = ()) -> None:
    """Write POINTS as a table that `read_table` reads. remarks: lines that open it as comments."""
    with mended_by(f"{path}: cannot be written", "choose another directory"):
        head = "".join(f"# {line}\n" for line in remarks)
        path.write_text(head + points.write_csv(), encoding="utf-8")


def _columns(path: Path, named: Iterable[str]) -> dict[str, str]:
    """The table's own names of the columns, by ours."""
    columns = {name.strip().lower().replace(" ", "_"): name for name in named if name}
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise UserError(f"{path}: has no column {missing[0]}; a table needs {', '.join(NEEDED)}")
    unknown = sorted(set(columns) - set(POINTS))
    if unknown:
        raise UserError(f"{path}: column {unknown[0]} is not known; the columns are {', '.join(POINTS)}")
    return columns


def _row(path: Path, place: int, row: Mapping[str, str | None], columns: Mapping[str, str]) -> dict[str, object]:
    where = f"{path}: row {place}"
    if None in row or any(value is None for value in row.values()):
        raise UserError(f"{where}: has other columns than the head; give each row as many values")
    given = {ours: (row[theirs] or "").strip() for ours, theirs in columns.items()}
    found: dict[str, object] = {name: given.get(name) or default for name, default in DEFAULTS.items()}
    for name, allowed in WORDS.items():
        if found[name] not in allowed:
            raise UserError(f"{where}: {name} is {found[name]!r}; it must be {' or '.join(map(repr, allowed))}")
    values = {name: _value(where, name, given.get(name, "")) for name in (*AMOUNTS, *NUMBERS)}
    whole = {name: None if values[name] is None else round(values[name] or 0) for name in WHOLE}
    in_flight = values["in_flight"] or whole["processes"]
    return found | values | whole | {"run": given.get("run") or str(place), "in_flight": in_flight}


def _value(where: str, name: str, text: str) -> float | None:
    """A value above 0; None where there is none and none is needed."""
    if not text and name not in NEEDED:
        return None
    if name in AMOUNTS:
        value = amount(text, f"{where}: {name}", AMOUNTS[name])[0]
    else:
        try:
            value = float(text)
        except ValueError as error:
            raise UserError(f"{where}: {name} is {text!r}; give a number above 0") from error
    if not (math.isfinite(value) and value > 0):
        raise UserError(f"{where}: {name} is {text}; give a number above 0")
    return value
