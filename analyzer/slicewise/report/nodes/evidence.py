"""Evidence for causes of interference, as a table and a sentence."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from slicewise.analysis.nodes.causes import EVIDENCE, FLOW_CONTROL, REQUEST_UNITS, SHARE_OF_SEGMENTS
from slicewise.report import columns
from slicewise.report.nodes.node_words import said
from slicewise.report.page import Section
from slicewise.report.tables import Cell, Table
from slicewise.text import words


def evidence_table(evidence: pl.DataFrame) -> Table:
    """A row a signal, for a frame of `causes.EVIDENCE_SCHEMA`."""
    return columns.table(
        evidence.iter_rows(named=True),
        columns.text("cause", "cause"),
        columns.text("signal", lambda row: signal_name(row["signal"])),
        columns.figure("alone", lambda row: Cell(_said(row["alone"], row["unit"]), row["alone"])),
        columns.figure("together", lambda row: Cell(_said(row["together"], row["unit"]), row["together"])),
        columns.text("moved", lambda row: _moved(row["moved"], row["counts"])),
        columns.text("at its limit", _full),
    )


def signal_name(signal: str) -> str:
    return signal.replace("_", " ").replace("tcp", "TCP").replace("cpu", "CPU")


def _said(value: float, unit: str) -> str:
    if unit == SHARE_OF_SEGMENTS:
        return words.percent(value)
    if unit in REQUEST_UNITS.values():
        return f"{words.number(value)} {unit}"
    return said(value, unit)


def _moved(moved: bool, counts: bool) -> str:
    if moved and not counts:
        return "yes, by itself no evidence"
    return "yes" if moved else "no"


def _full(row: Mapping[str, Any]) -> str:
    """When the signal was at its limit; nearly: alone, and a little below that together. Empty: it has no limit."""
    limit = EVIDENCE[row["signal"]].full
    if not row["full"]:
        return "no" if limit is not None else ""
    if limit is None or row["alone"] < limit:
        return "together"
    return "nearly" if row["together"] < limit else "yes"


def evidence_words(evidence: pl.DataFrame) -> str:
    """Which causes have evidence, the strongest first; empty where nothing was measured."""
    if evidence.is_empty():
        return ""
    told = _limit_words(evidence)
    if not evidence["moved"].any():
        return " ".join([*told, "No node counter (CPU, network, disk) changed compared with the standalone runs."])
    if causes := evidence.filter("counts")["cause"].unique(maintain_order=True).to_list():
        told.append(
            f"Compared with the standalone runs, node counters changed for: {words.listing(causes)}. That is evidence, "
            "not proof."
        )
    if by_themselves := evidence.filter(pl.col("moved") & ~pl.col("counts"))["signal"].to_list():
        signals = words.listing([signal_name(signal) for signal in by_themselves])
        told.append(
            f"{signals[:1].upper()}{signals[1:]} moved{' too' if causes else ''}, which is evidence for {FLOW_CONTROL} "
            "only together with an advantage of whoever comes first."
        )
    return " ".join(told)


def _limit_words(evidence: pl.DataFrame) -> list[str]:
    told = []
    for full, when in (
        ("yes", "alone and together, so that it need not have changed"),
        ("nearly", "alone, and nearly so together"),
        ("together", "together"),
    ):
        if rows := [row for row in evidence.iter_rows(named=True) if _full(row) == full]:
            told.append(f"At its limit {when}: {words.listing(map(_figures, rows))}.")
    return told


def _figures(row: Mapping[str, Any]) -> str:
    return (
        f"{row['cause']} ({signal_name(row['signal'])}: {_said(row['alone'], row['unit'])} alone and "
        f"{_said(row['together'], row['unit'])} together; the limit is "
        f"{_said(EVIDENCE[row['signal']].full or 0.0, row['unit'])})"
    )


def evidence_section(evidence: pl.DataFrame, of: str = "") -> Section:
    """The section of a page. of: what it is about, on a page that has several."""
    return Section(
        f"Evidence for causes{f' in {of}' if of else ''}",
        text=[evidence_words(evidence)],
        tables=[evidence_table(evidence)],
        note="In each slice the node with the highest value of a signal counts. Alone and together are means "
        "over slices. "
        "At its limit: whatever it was alone; empty where that depends on the machine.",
    )
