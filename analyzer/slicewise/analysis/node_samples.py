"""What the nodes' collectors sampled while a job ran: pressure, page cache, TCP, interfaces, disks, network mounts.

Frames in, frames out. Nodes are counted as a whole: whatever else ran there is in these figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from slicewise.analysis.coverage import job_processes
from slicewise.profile.reader import Profile

Unit = Literal["share of the time", "bytes/s", "bytes", "times/s", "s"]
SHARE: Unit = "share of the time"


@dataclass(frozen=True)
class Signal:
    """A figure of a node or of one of its devices, from a table of the collector's: `amount` over `per`, each of them
    added up over samples first. per: None is the time that was sampled.
    """

    table: str
    meaning: str
    unit: Unit
    amount: pl.Expr
    per: pl.Expr | None = None


def _seconds(column: str) -> pl.Expr:
    return pl.col(column) / 1e9


def _level(column: str) -> pl.Expr:
    """Of what is no count: so that its mean is one over time."""
    return pl.col(column) * pl.col("seconds")


def _lost_packets() -> pl.Expr:
    return sum(pl.col(f"{way}_{what}") for way in ("received", "sent") for what in ("drops", "errors"))


def _of_requests(column: str) -> pl.Expr:
    return sum(pl.col(f"{kind}_{column}") for kind in ("read", "write", "other"))


SIGNALS: dict[str, Signal] = {
    "io_stall": Signal("node_slices", "some task waited for I/O", SHARE, _seconds("io_stall_ns")),
    "io_full_stall": Signal("node_slices", "all tasks waited for I/O", SHARE, _seconds("io_full_stall_ns")),
    "cpu_stall": Signal("node_slices", "some task waited for a processor", SHARE, _seconds("cpu_stall_ns")),
    "memory_stall": Signal("node_slices", "some task waited for memory", SHARE, _seconds("memory_stall_ns")),
    "memory_full_stall": Signal("node_slices", "all tasks waited for memory", SHARE, _seconds("memory_full_stall_ns")),
    "dirty_bytes": Signal("node_slices", "page cache to be written", "bytes", _level("dirty_bytes")),
    "writeback_bytes": Signal("node_slices", "page cache being written", "bytes", _level("writeback_bytes")),
    "tcp_retransmissions": Signal("node_slices", "TCP segments sent again", "times/s", pl.col("tcp_retransmissions")),
    "tcp_timeouts": Signal("node_slices", "TCP timers that ran out", "times/s", pl.col("tcp_timeouts")),
    "tcp_to_zero_window": Signal("node_slices", "TCP windows closed", "times/s", pl.col("tcp_to_zero_window")),
    "tcp_want_zero_window": Signal(
        "node_slices", "TCP windows that should have closed", "times/s", pl.col("tcp_want_zero_window")
    ),
    "listen_drops": Signal("node_slices", "TCP connections dropped", "times/s", pl.col("listen_drops")),
    "network_received": Signal("node_networks", "received", "bytes/s", pl.col("received_bytes")),
    "network_sent": Signal("node_networks", "sent", "bytes/s", pl.col("sent_bytes")),
    "network_drops": Signal("node_networks", "packets dropped or with errors", "times/s", _lost_packets()),
    "disk_written": Signal("node_blocks", "written", "bytes/s", pl.col("write_bytes")),
    "disk_read": Signal("node_blocks", "read", "bytes/s", pl.col("read_bytes")),
    "disk_busy": Signal("node_blocks", "busy", SHARE, _seconds("busy_ns")),
    "nfs_written": Signal("node_nfs", "written to the server", "bytes/s", pl.col("write_bytes")),
    "nfs_read": Signal("node_nfs", "read from the server", "bytes/s", pl.col("read_bytes")),
    "nfs_request": Signal("node_nfs", "time of a request", "s", _of_requests("execute_ns") / 1e9, _of_requests("ops")),
    "nfs_retransmissions": Signal("node_nfs", "requests sent again", "times/s", _of_requests("retransmissions")),
    "lustre_written": Signal("node_lustre", "written", "bytes/s", pl.col("write_bytes")),
    "lustre_read": Signal("node_lustre", "read", "bytes/s", pl.col("read_bytes")),
    "lustre_wait": Signal("node_lustre", "wait for a request", "s", _seconds("wait_ns"), pl.col("requests")),
}
TABLES = tuple(dict.fromkeys(signal.table for signal in SIGNALS.values()))
DEVICE_KEYS = ("node", "kind", "device")

SAMPLED_SCHEMA = pl.Schema({"node": pl.String, "slice": pl.Int64, "seconds": pl.Float64})
COUNTED_SCHEMA = pl.Schema(
    {
        "node": pl.String,
        "kind": pl.String,
        "device": pl.String,
        "signal": pl.String,
        "slice": pl.Int64,
        "amount": pl.Float64,
        "per": pl.Float64,
    }
)


@dataclass(frozen=True)
class NodeSamples:
    """sampled: node, slice, seconds (the time that was sampled of it). counted: node, kind ("node" or a kind of
    device), device (its name), signal (of `SIGNALS`), slice, amount, per; rows only where the amount is not 0.

    Slices are of `slice_ns`, which need not be the job's; both frames are sorted.
    """

    slice_ns: int
    sampled: pl.DataFrame
    counted: pl.DataFrame


def node_samples(profile: Profile) -> NodeSamples:
    """The samples of a profile's nodes from the start of the job's first process to the end of its last one."""
    if profile.node_slices.is_empty() or profile.nodes.is_empty():
        return NodeSamples(profile.slice_ns, pl.DataFrame(schema=SAMPLED_SCHEMA), pl.DataFrame(schema=COUNTED_SCHEMA))
    runs = profile.nodes.select("process", node=pl.col("host").cast(pl.String), run_slice_ns=pl.col("slice_ns"))
    slice_ns = int(runs["run_slice_ns"].max())
    times = (
        profile.node_slices.join(runs, on="process")
        .select(
            "process",
            "node",
            run_slice=pl.col("slice"),
            slice=(pl.col("slice") * pl.col("run_slice_ns") // slice_ns).cast(pl.Int64),
            seconds=_seconds("sampled_ns"),
        )
        .filter(pl.col("seconds") > 0, _is_within(profile, slice_ns))
    )
    sampled = times.group_by("node", "slice").agg(pl.col("seconds").sum()).sort("node", "slice")
    counted = pl.concat([pl.DataFrame(schema=COUNTED_SCHEMA), *(_counted(profile, table, times) for table in TABLES)])
    over_time = counted.join(sampled, on=["node", "slice"]).with_columns(pl.coalesce("per", "seconds").alias("per"))
    return NodeSamples(
        slice_ns, sampled, over_time.select(COUNTED_SCHEMA.names()).sort("signal", "node", "kind", "device", "slice")
    )


def _is_within(profile: Profile, slice_ns: int) -> pl.Expr:
    processes, begins_ns = job_processes(profile), pl.col("slice") * slice_ns
    begun = begins_ns + slice_ns > int(processes["start_ns"].min())
    still_runs = (processes["end_ns"] == 0).any()
    return begun if still_runs else begun & (begins_ns < int(processes["end_ns"].max()))


def _counted(profile: Profile, name: str, times: pl.DataFrame) -> pl.DataFrame:
    """The signals of one table (`COUNTED_SCHEMA`), with `per` null where it is the time."""
    table: pl.DataFrame = getattr(profile, name)
    if table.is_empty():
        return pl.DataFrame(schema=COUNTED_SCHEMA)
    rows = table.rename({"slice": "run_slice"}).join(times, on=["process", "run_slice"])
    if name == "node_slices":
        rows = rows.with_columns(kind=pl.lit("node"), device=pl.lit(""))
    else:
        names = profile.node_devices.select("process", "device", "kind", pl.col("name").cast(pl.String))
        rows = rows.join(names, on=["process", "device"]).with_columns(device="name")
    keys = [*DEVICE_KEYS, "slice"]
    found = [
        rows.select(*keys, amount=signal.amount, per=pl.lit(None) if signal.per is None else signal.per)
        .group_by(keys)
        .agg(pl.col("amount").sum(), pl.lit(None).alias("per") if signal.per is None else pl.col("per").sum())
        .with_columns(signal=pl.lit(signal_name))
        .filter(pl.col("amount") > 0)
        .select(pl.col(column).cast(dtype) for column, dtype in COUNTED_SCHEMA.items())
        for signal_name, signal in SIGNALS.items()
        if signal.table == name
    ]
    return pl.concat(found)


def values(samples: NodeSamples) -> pl.DataFrame:
    """`counted` with its value in each slice, in the signal's unit; a share is 1 at most, however its sample came."""
    shares = [name for name, signal in SIGNALS.items() if signal.unit == SHARE]
    value = pl.col("amount") / pl.col("per")
    return samples.counted.filter(pl.col("per") > 0).with_columns(
        value=pl.when(pl.col("signal").is_in(shares)).then(value.clip(upper_bound=1.0)).otherwise(value)
    )


def moved(samples: NodeSamples) -> pl.DataFrame:
    """What did not stay 0: node, kind, device, signal, meaning, unit, mean (over the time sampled), highest (of a
    slice), highest_ns (when that slice began).

    Of a slice that was sampled for less than half of its time no highest is taken, unless there is no other. Sorted by
    node, and then in the order of `SIGNALS`, devices with the most first.
    """
    order = pl.DataFrame(
        [(place, name, signal.table, signal.meaning, signal.unit, signal.per is None)
         for place, (name, signal) in enumerate(SIGNALS.items())],
        schema=["place", "signal", "table", "meaning", "unit", "is_over_time"], orient="row",
    )  # fmt: skip
    of_nodes = samples.sampled.group_by("node").agg(
        node_seconds=pl.col("seconds").sum(),
        least_seconds=pl.min_horizontal(pl.col("seconds").max(), samples.slice_ns / 1e9) / 2,
    )
    is_share = pl.col("unit") == SHARE
    mean = pl.col("amount") / pl.when("is_over_time").then(pl.col("node_seconds")).otherwise(pl.col("per"))
    keys = [*DEVICE_KEYS, "signal"]
    return (
        values(samples)
        .join(samples.sampled, on=["node", "slice"])
        .join(of_nodes, on="node")
        .with_columns(is_whole=pl.col("seconds") >= pl.col("least_seconds"))
        .sort("is_whole", "value", "slice", descending=[True, True, False])
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("amount", "per").sum(),
            pl.col("node_seconds").first(),
            highest=pl.col("value").first(),
            highest_ns=pl.col("slice").first() * samples.slice_ns,
        )
        .join(order, on="signal")
        .with_columns(mean=pl.when(is_share).then(mean.clip(upper_bound=1.0)).otherwise(mean))
        .with_columns(most=pl.col("amount").max().over(DEVICE_KEYS))
        .with_columns(table_place=pl.col("place").min().over("table"))
        .sort(
            "node",
            "table_place",
            "kind",
            "most",
            "device",
            "place",
            descending=[False, False, False, True, False, False],
        )
        .select(*keys, "meaning", "unit", "mean", "highest", "highest_ns")
    )
