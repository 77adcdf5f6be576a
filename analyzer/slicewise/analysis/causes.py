"""Evidence for what made jobs interfere: which signals of the nodes moved, by how much against the runs alone.

Frames in (the tables of a node's collector), frames out. It ranks, and asserts nothing. Source: Yildiz et al., "On the
Root Causes of Cross-Application I/O Interference in HPC Storage Systems" (2016); the definitions are in docs/models.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from slicewise.analysis.activity import members, own_rows
from slicewise.profile.reader import Profile

Cause = Literal[
    "client processors", "client network interface", "link", "server and flow control", "device", "small requests",
    "shared file",
]  # fmt: skip
# signal: the cause that it is evidence for, its unit, and the least change that is worth a word.
SIGNALS: dict[str, tuple[Cause, str, float]] = {
    "processor_stall": ("client processors", "share of the time", 0.05),
    "memory_stall": ("client processors", "share of the time", 0.05),
    "interface_drops": ("client network interface", "packets/s", 1.0),
    "interface_bytes": ("client network interface", "bytes/s", 1e6),
    "retransmissions": ("link", "of segments sent", 0.001),
    "zero_windows": ("server and flow control", "times/s", 1.0),
    "tcp_timeouts": ("server and flow control", "times/s", 0.5),
    "device_busy": ("device", "share of the time", 0.1),
    "device_time": ("device", "s an operation", 0.001),
    "small_requests": ("small requests", "calls/s", 10.0),
    "shared_file": ("shared file", "processes a file", 0.5),
}
FLOW_CONTROL: Cause = "server and flow control"
# A signal moved if it grew by this factor, and by so many standard deviations of the slices alone.
LEAST_FACTOR = 1.2
LEAST_DEVIATIONS = 3.0
# An asymmetry from here on is one of who came first (see delta.py).
LEAST_ASYMMETRY = 0.25
SMALL_BYTES = 64 << 10
# The tables of a node's collector; profiles without one have none.
NODE_TABLES = ("nodes", "node_slices", "node_networks", "node_blocks")

SIGNALS_SCHEMA = pl.Schema({"node": pl.String, "slice": pl.Int64, "signal": pl.String, "value": pl.Float64})
EVIDENCE_SCHEMA = pl.Schema(
    {
        "cause": pl.String,
        "signal": pl.String,
        "unit": pl.String,
        "alone": pl.Float64,
        "together": pl.Float64,
        "change": pl.Float64,
        "deviations": pl.Float64,
        "moved": pl.Boolean,
        "counts": pl.Boolean,
    }
)


@dataclass(frozen=True)
class Window:
    """A profile, and the stretch of CLOCK_REALTIME (ns) in which its nodes are looked at."""

    profile: Profile
    start_ns: int
    end_ns: int


def window_of(profile: Profile) -> Window:
    """From the start of a job's first process to the end of its last one."""
    processes = members(profile)
    return Window(profile, int(processes["start_ns"].min()), int(processes["end_ns"].max()))


def evidence_of(alone: Sequence[Window], together: Sequence[Window], asymmetry: float | None = None) -> pl.DataFrame:
    """`evidence` from the nodes' counters in profiles; without rows where either side has none."""
    return evidence(_signals_in(alone), _signals_in(together), asymmetry)


def _signals_in(windows: Sequence[Window]) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=SIGNALS_SCHEMA)]
    for window in windows:
        tables = {name: table for name in NODE_TABLES if (table := getattr(window.profile, name, None)) is not None}
        if not tables or tables["nodes"].is_empty():
            continue
        of_nodes, of_requests = node_signals(tables), _requests_of(window.profile)
        frames.append(_within(of_nodes, window, int(tables["nodes"]["slice_ns"].max())))
        frames.append(_within(of_requests, window, window.profile.slice_ns))
    return pl.concat(frames)


def _within(signals: pl.DataFrame, window: Window, slice_ns: int) -> pl.DataFrame:
    begins = pl.col("slice") * slice_ns
    return signals.filter((begins < window.end_ns) & (begins + slice_ns > window.start_ns))


def node_signals(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The signals (`SIGNALS`) of each node and slice (`SIGNALS_SCHEMA`).

    tables: nodes, node_slices, node_networks, node_blocks, as a profile has them; a table that is missing or empty
    gives no signal. Interfaces of a node are added up; of its disks the busiest counts.
    """
    slices = tables.get("node_slices", pl.DataFrame())
    if slices.is_empty():
        return pl.DataFrame(schema=SIGNALS_SCHEMA)
    hosts = tables["nodes"].select("process", node=pl.col("host").cast(pl.String))
    seconds = slices.join(hosts, on="process").select(
        "process", "slice", "node", seconds=pl.col("sampled_ns") / 1e9
    ).filter(pl.col("seconds") > 0)  # fmt: skip
    wide = slices.join(seconds, on=["process", "slice"]).select(
        "node",
        "slice",
        processor_stall=pl.col("cpu_stall_ns") / 1e9 / pl.col("seconds"),
        memory_stall=pl.col("memory_stall_ns") / 1e9 / pl.col("seconds"),
        retransmissions=pl.col("tcp_retransmissions") / pl.col("tcp_sent_segments").clip(1),
        zero_windows=sum(pl.col(f"tcp_{way}_zero_window") for way in ("to", "from", "want")) / pl.col("seconds"),
        tcp_timeouts=pl.col("tcp_timeouts") / pl.col("seconds"),
    )
    found = [_long(wide)]
    networks = tables.get("node_networks", pl.DataFrame())
    if len(networks):
        found.append(
            _long(
                networks.join(seconds, on=["process", "slice"])
                .group_by("node", "slice")
                .agg(
                    interface_drops=sum(
                        pl.col(f"{way}_{what}").sum() for way in ("received", "sent") for what in ("drops", "errors")
                    )
                    / pl.col("seconds").first(),
                    interface_bytes=(pl.col("received_bytes").sum() + pl.col("sent_bytes").sum())
                    / pl.col("seconds").first(),
                )
            )
        )
    blocks = tables.get("node_blocks", pl.DataFrame())
    if len(blocks):
        operations = (pl.col("read_ops") + pl.col("write_ops")).clip(1)
        found.append(
            _long(
                blocks.join(seconds, on=["process", "slice"])
                .with_columns(
                    busy=pl.col("busy_ns") / 1e9 / pl.col("seconds"),
                    time=(pl.col("read_ns") + pl.col("write_ns")) / 1e9 / operations,
                )
                .group_by("node", "slice")
                .agg(device_busy=pl.col("busy").max(), device_time=pl.col("time").max())
            )
        )
    return pl.concat(found).sort("signal", "node", "slice")


def evidence(alone: pl.DataFrame, together: pl.DataFrame, asymmetry: float | None = None) -> pl.DataFrame:
    """The table of evidence (`EVIDENCE_SCHEMA`), a row a signal: causes with what moved most first.

    alone, together: `SIGNALS_SCHEMA`, of the slices in which the jobs ran alone, and in which they overlapped. A signal
    of a slice is that of the node where it is highest. Only what both have is compared. asymmetry: of the Delta-graph.
    `moved` is what the signal did; `counts`, whether that is evidence for its cause: for "server and flow control" only
    with asymmetry *and* zero windows or retransmissions that moved.
    """
    compared = _by_slice(alone).join(_by_slice(together), on="signal", suffix="_together")
    rows = []
    for row in compared.iter_rows(named=True):
        cause, unit, worth = SIGNALS[row["signal"]]
        change = row["mean_together"] - row["mean"]
        deviations = change / max(row["deviation"], worth / LEAST_DEVIATIONS)
        moved = (
            change >= worth and deviations >= LEAST_DEVIATIONS and row["mean_together"] >= LEAST_FACTOR * row["mean"]
        )
        rows.append((cause, row["signal"], unit, row["mean"], row["mean_together"], change, deviations, moved))
    measured = {name: dtype for name, dtype in EVIDENCE_SCHEMA.items() if name != "counts"}
    table = pl.DataFrame(rows, schema=measured, orient="row")
    of_windows = table.filter(pl.col("signal").is_in(["zero_windows", "retransmissions"]))
    is_flow_control = (asymmetry or 0.0) >= LEAST_ASYMMETRY and bool(of_windows["moved"].any())
    judged = table.with_columns(counts=pl.col("moved") & ((pl.col("cause") != FLOW_CONTROL) | is_flow_control))
    rank = pl.col("deviations").filter(pl.col("counts")).max().over("cause").fill_null(0.0)
    return (
        judged.with_columns(rank=rank).sort("rank", "cause", "deviations", descending=[True, False, True]).drop("rank")
    )


def request_signals(slices: pl.DataFrame, files: pl.DataFrame, seconds: float) -> pl.DataFrame:
    """Signals of the requests themselves: small calls a second of each slice, and how many processes share the file of
    the mean byte, so that small files that all of them read do not count.

    slices: node, slice, calls and bytes; files: process, path and bytes. seconds: a slice's.
    """
    is_small = pl.col("bytes") < SMALL_BYTES * pl.col("calls")
    small = (
        slices.group_by("node", "slice")
        .agg(pl.col("calls", "bytes").sum())
        .sort("node", "slice")
        .with_columns(
            signal=pl.lit("small_requests"), value=pl.when(is_small).then(pl.col("calls") / seconds).otherwise(0)
        )
    )
    sharing = (
        files.filter(pl.col("bytes") > 0, pl.col("path") != "")
        .group_by("path")
        .agg(pl.col("process").n_unique(), pl.col("bytes").sum())
    )
    sharers = float((sharing["process"] * sharing["bytes"]).sum() / max(sharing["bytes"].sum(), 1))
    shared = small.with_columns(signal=pl.lit("shared_file"), value=pl.lit(sharers))
    return pl.concat([_typed(small), _typed(shared)])


def _requests_of(profile: Profile) -> pl.DataFrame:
    own = (
        own_rows(profile)
        .join(members(profile).lazy().select("process", "node"), on="process")
        .select(
            "node",
            "slice",
            calls=(pl.col("read_ops") + pl.col("write_ops")).cast(pl.Int64),
            bytes=(pl.col("read_bytes") + pl.col("write_bytes")).cast(pl.Int64),
        )
        .filter(pl.col("calls") > 0)
        .collect()
    )
    files = profile.files.select("process", "path", bytes=pl.col("read_bytes") + pl.col("write_bytes"))
    return request_signals(own, files, profile.slice_ns / 1e9)


def _long(wide: pl.DataFrame) -> pl.DataFrame:
    return _typed(wide.unpivot(index=["node", "slice"], variable_name="signal", value_name="value"))


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(dtype) for name, dtype in SIGNALS_SCHEMA.items())


def _by_slice(signals: pl.DataFrame) -> pl.DataFrame:
    """signal, mean and deviation over slices, each slice's value being the highest of a node."""
    return (
        signals.group_by("signal", "slice")
        .agg(pl.col("value").max())
        .group_by("signal")
        .agg(mean=pl.col("value").mean(), deviation=pl.col("value").std(ddof=0).fill_null(0.0))
        .sort("signal")
    )
