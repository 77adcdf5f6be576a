"""What the nodes' collectors sampled while a job ran: one list of signals, and their values by node, device and slice.

Nodes are counted as a whole: whatever else ran there is in these figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Literal

import polars as pl

Unit = Literal["share of the time", "bytes/s", "bytes", "times/s", "s", "segments"]
SHARE: Unit = "share of the time"


@dataclass(frozen=True)
class Signal:
    """A figure of a node or of one of its devices, from a table of the collector's: `amount` over `per`, each of them
    added up over samples first. per: None is the time that was sampled. of_devices: what a node's figure is, of those
    of its devices: their sum, or that of the busiest.
    """

    table: str
    meaning: str
    unit: Unit
    amount: pl.Expr
    per: pl.Expr | None = None
    of_devices: Literal["sum", "highest"] = "sum"


def _seconds(column: str) -> pl.Expr:
    return pl.col(column) / 1e9


def _level(column: str) -> pl.Expr:
    """A gauge, weighted by time: so its mean is a mean over time."""
    return pl.col(column) * pl.col("seconds")


def _added(columns: Iterable[str]) -> pl.Expr:
    return reduce(add, map(pl.col, columns))


def _lost_packets() -> pl.Expr:
    return _added(f"{way}_{what}" for way in ("received", "sent") for what in ("drops", "errors"))


def _of_requests(column: str) -> pl.Expr:
    return _added(f"{kind}_{column}" for kind in ("read", "write", "other"))


SIGNALS: dict[str, Signal] = {
    "io_stall": Signal("node_slices", "some task waited for I/O", SHARE, _seconds("io_stall_ns")),
    "io_full_stall": Signal("node_slices", "all tasks waited for I/O", SHARE, _seconds("io_full_stall_ns")),
    "cpu_stall": Signal("node_slices", "some task waited for a processor", SHARE, _seconds("cpu_stall_ns")),
    "memory_stall": Signal("node_slices", "some task waited for memory", SHARE, _seconds("memory_stall_ns")),
    "memory_full_stall": Signal("node_slices", "all tasks waited for memory", SHARE, _seconds("memory_full_stall_ns")),
    "dirty_bytes": Signal("node_slices", "page cache to be written", "bytes", _level("dirty_bytes")),
    "writeback_bytes": Signal("node_slices", "page cache being written", "bytes", _level("writeback_bytes")),
    "tcp_sent": Signal("node_slices", "TCP segments sent", "times/s", pl.col("tcp_sent_segments")),
    "tcp_retransmissions": Signal("node_slices", "TCP segments sent again", "times/s", pl.col("tcp_retransmissions")),
    "tcp_timeouts": Signal("node_slices", "TCP timers that ran out", "times/s", pl.col("tcp_timeouts")),
    "tcp_to_zero_window": Signal("node_slices", "TCP windows closed", "times/s", pl.col("tcp_to_zero_window")),
    "tcp_zero_windows": Signal(
        "node_slices",
        "TCP windows closed, opened again or to be closed",
        "times/s",
        _added(f"tcp_{way}_zero_window" for way in ("to", "from", "want")),
    ),
    "tcp_want_zero_window": Signal(
        "node_slices", "TCP windows that should have closed", "times/s", pl.col("tcp_want_zero_window")
    ),
    "listen_drops": Signal("node_slices", "TCP connections dropped", "times/s", pl.col("listen_drops")),
    "network_received": Signal("node_networks", "received", "bytes/s", pl.col("received_bytes")),
    "network_sent": Signal("node_networks", "sent", "bytes/s", pl.col("sent_bytes")),
    "network_drops": Signal("node_networks", "packets dropped or with errors", "times/s", _lost_packets()),
    "disk_written": Signal("node_blocks", "written", "bytes/s", pl.col("write_bytes")),
    "disk_read": Signal("node_blocks", "read", "bytes/s", pl.col("read_bytes")),
    "disk_busy": Signal("node_blocks", "busy", SHARE, _seconds("busy_ns"), of_devices="highest"),
    "disk_request": Signal(
        "node_blocks",
        "time of a request",
        "s",
        _seconds("read_ns") + _seconds("write_ns"),
        pl.col("read_ops") + pl.col("write_ops"),
        of_devices="highest",
    ),
    "nfs_written": Signal("node_nfs", "written to the server", "bytes/s", pl.col("write_bytes")),
    "nfs_read": Signal("node_nfs", "read from the server", "bytes/s", pl.col("read_bytes")),
    "nfs_request": Signal(
        "node_nfs", "time of a request", "s", _of_requests("execute_ns") / 1e9, _of_requests("ops"), "highest"
    ),
    "nfs_retransmissions": Signal("node_nfs", "requests sent again", "times/s", _of_requests("retransmissions")),
    "lustre_written": Signal("node_lustre", "written", "bytes/s", pl.col("write_bytes")),
    "lustre_read": Signal("node_lustre", "read", "bytes/s", pl.col("read_bytes")),
    "lustre_wait": Signal("node_lustre", "wait for a request", "s", _seconds("wait_ns"), pl.col("requests"), "highest"),
    "connection_sent": Signal("node_connections", "sent and acknowledged", "bytes/s", pl.col("sent_bytes")),
    "connection_received": Signal("node_connections", "received", "bytes/s", pl.col("received_bytes")),
    "connection_busy": Signal("node_connections", "data under way", SHARE, _seconds("busy_ns"), of_devices="highest"),
    "connection_window_limited": Signal(
        "node_connections",
        "held up by the receiver's window",
        SHARE,
        _seconds("window_limited_ns"),
        of_devices="highest",
    ),
    "connection_network_limited": Signal(
        "node_connections",
        "held up by the network: data under way, and room at the receiver",
        SHARE,
        _seconds("busy_ns") - _seconds("window_limited_ns"),
        of_devices="highest",
    ),
    "connection_buffer_limited": Signal(
        "node_connections", "held up by the send buffer", SHARE, _seconds("buffer_limited_ns"), of_devices="highest"
    ),
    "connection_retransmissions": Signal(
        "node_connections", "segments sent again", "times/s", pl.col("retransmissions")
    ),
    "connection_round_trip": Signal(
        "node_connections", "round trip", "s", _level("round_trip_ns") / 1e9, pl.col("seconds"), "highest"
    ),
    "connection_congestion_window": Signal(
        "node_connections", "congestion window", "segments", _level("congestion_window"), pl.col("seconds")
    ),
    "connection_unacknowledged": Signal(
        "node_connections", "segments under way", "segments", _level("unacknowledged"), pl.col("seconds")
    ),
    # Of the job alone, and of its control group as a whole: profiled processes and others.
    "cgroup_io_stall": Signal(
        "node_cgroups", "some task of the job's control group waited for I/O", SHARE, _seconds("io_stall_ns")
    ),
    "cgroup_io_full_stall": Signal(
        "node_cgroups", "all tasks of the job's control group waited for I/O", SHARE, _seconds("io_full_stall_ns")
    ),
    "cgroup_file_bytes": Signal("node_cgroups", "page cache of the job's control group", "bytes", _level("file_bytes")),
    "cgroup_dirty_bytes": Signal(
        "node_cgroups", "page cache of the job's control group to be written", "bytes", _level("dirty_bytes")
    ),
    "cgroup_writeback_bytes": Signal(
        "node_cgroups", "page cache of the job's control group being written", "bytes", _level("writeback_bytes")
    ),
    "cgroup_file_refaults": Signal(
        "node_cgroups", "pages of files fetched again after they had been evicted", "times/s", pl.col("file_refaults")
    ),
    "cgroup_anonymous_refaults": Signal(
        "node_cgroups", "pages of memory fetched again from swap", "times/s", pl.col("anonymous_refaults")
    ),
    "cgroup_major_faults": Signal(
        "node_cgroups", "page faults that read from storage", "times/s", pl.col("major_faults")
    ),
    "cgroup_disk_written": Signal(
        "node_cgroup_disks",
        "written to the disk for the job's control group: buffered writes when the kernel writes them out",
        "bytes/s",
        pl.col("write_bytes"),
    ),
    "cgroup_disk_read": Signal(
        "node_cgroup_disks", "read from the disk for the job's control group", "bytes/s", pl.col("read_bytes")
    ),
    "cgroup_disk_requests": Signal(
        "node_cgroup_disks",
        "requests to the disk for the job's control group",
        "times/s",
        pl.col("read_ops") + pl.col("write_ops"),
    ),
    # By BPF, where root asked for it: of the job's control group, or of all others.
    "mount_written": Signal("node_cgroup_mounts", "written to files", "bytes/s", pl.col("write_bytes")),
    "mount_read": Signal("node_cgroup_mounts", "read from files", "bytes/s", pl.col("read_bytes")),
    "mount_calls": Signal(
        "node_cgroup_mounts", "reads and writes of files", "times/s", pl.col("read_ops") + pl.col("write_ops")
    ),
}
TABLES = tuple(dict.fromkeys(signal.table for signal in SIGNALS.values()))
DEVICE_KEYS = ("node", "kind", "device")


def sampled(tables: Mapping[str, pl.DataFrame], slice_ns: int, start_ns: int, end_ns: int | None) -> pl.DataFrame:
    """The time that was sampled of each node and slice: process and run_slice (a collector's run, and its own number of
    the slice), node, slice, seconds.

    tables: nodes and node_slices, as a profile has them. slice_ns: of the slices that are told, at least as long as
    those of the collectors. Slices outside of the job's time are left out; end_ns: None while it runs.
    """
    begins_ns = pl.col("slice") * slice_ns
    is_within = begins_ns + slice_ns > start_ns
    if end_ns is not None:
        is_within = is_within & (begins_ns < end_ns)
    runs = tables["nodes"].select("process", node=pl.col("host").cast(pl.String), run_slice_ns=pl.col("slice_ns"))
    return (
        tables["node_slices"]
        .join(runs, on="process")
        .select(
            "process",
            "node",
            run_slice=pl.col("slice"),
            slice=(pl.col("slice") * pl.col("run_slice_ns") // slice_ns).cast(pl.Int64),
            seconds=_seconds("sampled_ns"),
        )
        .filter(pl.col("seconds") > 0, is_within)
    )


def counted(tables: Mapping[str, pl.DataFrame], times: pl.DataFrame) -> pl.DataFrame:
    """Every signal that did not stay 0, by node, device and slice: node, kind, device, signal, slice, amount, per.

    times: the frame of `sampled`; the time is that of all samples of a node in a slice.
    """
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
    signals = {signal_name: signal for signal_name, signal in SIGNALS.items() if signal.table == name}
    sums = rows.group_by(keys).agg(
        *(signal.amount.cast(pl.Float64).sum().alias(f"{one} amount") for one, signal in signals.items()),
        *(signal.per.sum().alias(f"{one} per") for one, signal in signals.items() if signal.per is not None),
    )
    return pl.concat(
        sums.select(
            *keys,
            amount=f"{one} amount",
            per=(pl.lit(None) if signal.per is None else pl.col(f"{one} per")).cast(pl.Float64),
            signal=pl.lit(one),
        )
        for one, signal in signals.items()
    ).filter(pl.col("amount") > 0)


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
