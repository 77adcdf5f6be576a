"""What the nodes' collectors sampled while a job ran: the signals of schema/signals.def by node, device and slice.

Nodes are counted as a whole: whatever else ran there is in these figures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from slicewise import contract

SHARE = "share of the time"


@dataclass(frozen=True)
class Signal:
    """A figure of a node or of one of its devices, from a table of the collector's: `amount` over `per`, each of them
    added up over samples first. per: None is the time that was sampled. of_devices: what a node's figure is, of those
    of its devices: their sum, or that of the busiest.
    """

    table: str
    meaning: str
    unit: str
    amount: pl.Expr
    per: pl.Expr | None = None
    of_devices: Literal["sum", "highest"] = "sum"


def _amount(columns: str, units: Mapping[str, str]) -> pl.Expr:
    """An expression of schema/signals.def: columns with + and - between them. units: of the table's columns."""
    total = pl.lit(0.0)
    for sign, level, name in TERM.findall(columns):
        value = pl.col(name) / 1e9 if units.get(name) == "ns" else pl.col(name)
        if level:  # weighted by time, so that its mean is a mean over time
            value = value * pl.col("seconds")
        total = total - value if sign == "-" else total + value
    return total


def _signal(row: Mapping[str, Any], units: Mapping[str, str]) -> Signal:
    of_devices: Literal["sum", "highest"] = "highest" if row["of_devices"] == "HIGHEST" else "sum"
    per = _amount(row["per"], units) if row["per"] else None
    return Signal(row["table"], row["meaning"], row["unit"], _amount(row["amount"], units), per, of_devices)


# A term: its sign, whether it is a level, and the column.
TERM = re.compile(r"([+-]?) *(LEVEL\()?(\w+)\)?")
_UNITS = {table["name"]: {column["name"]: column["unit"] for column in table["columns"]} for table in contract.TABLES}
SIGNALS = {name: _signal(row, _UNITS[row["table"]]) for name, row in contract.SIGNALS.items()}
TABLES = tuple(dict.fromkeys(signal.table for signal in SIGNALS.values()))
DEVICE_KEYS = ("node", "kind", "device")


def runs_of(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Collectors' runs: process, node, run_slice_ns (of a run's own slices)."""
    return tables["nodes"].select("process", node=pl.col("host").cast(pl.String), run_slice_ns=pl.col("slice_ns"))


def is_within(slice_ns: int, start_ns: int, end_ns: int | None) -> pl.Expr:
    """Whether a slice has any of a job's time; end_ns: None while it runs."""
    begins_ns = pl.col("slice") * slice_ns
    return (begins_ns + slice_ns > start_ns) & (True if end_ns is None else begins_ns < end_ns)


def sampled(tables: Mapping[str, pl.DataFrame], slice_ns: int, start_ns: int, end_ns: int | None) -> pl.DataFrame:
    """The time that was sampled of each node and slice: process and run_slice (a collector's run, and its own number of
    the slice), node, slice, seconds. tables: nodes and node_slices, as a profile has them. slice_ns: of the slices that
    are told, at least as long as those of the collectors. Slices outside of the job's time are left out; end_ns: None
    while it runs.
    """
    return (
        tables["node_slices"]
        .join(runs_of(tables), on="process")
        .select(
            "process",
            "node",
            run_slice=pl.col("slice"),
            slice=(pl.col("slice") * pl.col("run_slice_ns") // slice_ns).cast(pl.Int64),
            seconds=pl.col("sampled_ns") / 1e9,
        )
        .filter(pl.col("seconds") > 0, is_within(slice_ns, start_ns, end_ns))
    )


def addresses(tables: Mapping[str, pl.DataFrame]) -> dict[str, frozenset[str]]:
    """By node, the storage's addresses of connections sampled there. tables: nodes and node_devices."""
    devices = tables["node_devices"]
    if "source" not in devices.columns:
        return {}
    hosts = tables["nodes"].select("process", node=pl.col("host").cast(pl.String)).unique()
    ends = devices.filter(pl.col("kind").cast(pl.String) == "connection", pl.col("source") != "")
    known = ends.join(hosts, on="process").group_by("node").agg(pl.col("source").cast(pl.String).unique())
    return {node: frozenset(sources) for node, sources in known.iter_rows()}


def counted(tables: Mapping[str, pl.DataFrame], times: pl.DataFrame) -> pl.DataFrame:
    """Every signal that did not stay 0: node, kind, device, signal, slice, amount, per. times: of `sampled`."""
    found = [_counted(tables, name, times) for name in TABLES if not tables[name].is_empty()]
    if not found:
        return pl.DataFrame(schema={"node": pl.String, "slice": pl.Int64, "signal": pl.String})
    seconds = times.group_by("node", "slice").agg(pl.col("seconds").sum())
    return (
        pl.concat(found)
        .join(seconds, on=["node", "slice"])
        .with_columns(per=pl.coalesce("per", "seconds"))
        .sort("signal", *DEVICE_KEYS, "slice")
    )


def _counted(tables: Mapping[str, pl.DataFrame], name: str, times: pl.DataFrame) -> pl.DataFrame:
    """The signals of one table, with `per` null where it is the time."""
    rows = tables[name].rename({"slice": "run_slice"}).join(times, on=["process", "run_slice"])
    if name == "node_slices":
        rows = rows.with_columns(kind=pl.lit("node"), device=pl.lit(""))
    else:
        names = tables["node_devices"].select(
            "process", "device", pl.col("kind").cast(pl.String), pl.col("name").cast(pl.String)
        )
        rows = rows.join(names, on=["process", "device"]).with_columns(device="name")
    keys = [*DEVICE_KEYS, "slice"]
    signals = {  # an older profile lacks columns
        signal_name: signal
        for signal_name, signal in SIGNALS.items()
        if signal.table == name and set(signal.amount.meta.root_names()) <= set(rows.columns)
    }
    sums = rows.group_by(keys).agg(
        *(signal.amount.cast(pl.Float64).sum().alias(f"{one} amount") for one, signal in signals.items()),
        *(signal.per.sum().alias(f"{one} per") for one, signal in signals.items() if signal.per is not None),
    )
    by_time = pl.lit(None, pl.Float64)
    amounts, pers = (
        sums.select(*keys, **columns).unpivot(index=keys, variable_name="signal", value_name=what)
        for what, columns in (
            ("amount", {one: f"{one} amount" for one in signals}),
            (
                "per",
                {
                    one: by_time if signal.per is None else pl.col(f"{one} per").cast(pl.Float64)
                    for one, signal in signals.items()
                },
            ),
        )
    )
    return amounts.with_columns(pers["per"]).select(*keys, "amount", "per", "signal").filter(pl.col("amount") > 0)


def values(node_slices: pl.DataFrame) -> pl.DataFrame:
    """The digest's frame with `value`, in the signal's unit; a share is at most 1."""
    shares = [name for name, signal in SIGNALS.items() if signal.unit == SHARE]
    value = pl.col("amount") / pl.col("per")
    return node_slices.filter(pl.col("per") > 0).with_columns(
        value=pl.when(pl.col("signal").is_in(shares)).then(value.clip(upper_bound=1.0)).otherwise(value)
    )


def by_node(node_slices: pl.DataFrame) -> pl.DataFrame:
    """Each node's figure in each slice: node, slice, signal, value; of its devices the sum, or the highest."""
    highest = [name for name, signal in SIGNALS.items() if signal.of_devices == "highest"]
    value = (
        pl.when(pl.col("signal").first().is_in(highest)).then(pl.col("value").max()).otherwise(pl.col("value").sum())
    )
    return values(node_slices).group_by("node", "slice", "signal").agg(value).sort("signal", "node", "slice")
