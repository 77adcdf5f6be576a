"""Evidence for what made jobs interfere: which signals of the nodes moved against runs alone. It ranks, and asserts
nothing (docs/models.md; Yildiz et al., "On the Root Causes of Cross-Application I/O Interference", 2016).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import polars as pl

from slicewise import contract
from slicewise.constants import FILLED, LEAST_OF_RATE
from slicewise.digest.activity import DIRECTIONS, Direction, members
from slicewise.digest.digest import Digest
from slicewise.digest.nodes import DEVICE_KEYS, SHARE, SIGNALS, by_node, values
from slicewise.digest.slices import with_mapped
from slicewise.scalars import real, whole

Cause = Literal[
    "client processors", "client network interface", "link", "incast", "server processors", "server and flow control",
    "device", "small requests", "shared file",
]  # fmt: skip


class Sign(NamedTuple):
    """What a signal is evidence for. worth: the least change that is worth a word, in the signal's unit. full: from
    here on the resource is at its limit, whatever it was alone; None where that depends on the machine.
    """

    cause: Cause
    worth: float
    full: float | None = None


# The signals that are evidence.
EVIDENCE: dict[str, Sign] = {
    name: Sign(sign["cause"], sign["worth"], sign["full"] or None) for name, sign in contract.SIGNS.items()
}
# Signals of the job's own requests, and their units.
REQUEST_UNITS = {"small_requests": "calls/s", "shared_file": "processes a file"}
# What servers' nodes have under a name of its own: there no process of the job ran.
OF_SERVERS = {"cpu_stall": "server_cpu_stall", "memory_stall": "server_memory_stall"}
# What tells of interfaces of clients alone.
OF_CLIENTS = ("network_received", "network_sent")
SHARE_OF_SEGMENTS = "share of segments"
UNITS = (
    {name: signal.unit for name, signal in SIGNALS.items()}
    | {server: SIGNALS[client].unit for client, server in OF_SERVERS.items()}
    | {"tcp_resent_share": SHARE_OF_SEGMENTS}
    | REQUEST_UNITS
)
OF_FLOW_CONTROL = (
    "tcp_zero_windows", "tcp_retransmissions", "connection_window_limited", "connection_retransmissions",
)  # fmt: skip
FLOW_CONTROL: Cause = "server and flow control"
# Causes that are at their limit, in the order in which they are named. What comes earlier explains what comes later:
# behind a slow device, or a server without processor time, windows close, and a queue that drops leaves senders waiting
# for the network, while a window that closed slows nothing down but its senders.
EXPLAINING: tuple[Cause, ...] = (
    "device", "incast", "server processors", "client processors", "client network interface", "link",
    "server and flow control",
)  # fmt: skip
# Causes that can let one of two equal jobs go first, each with the signals that tell that connections waited for it. A
# device or a processor serves whoever asks; what decides who may ask is how connections are let through. Segments that
# are sent again alone do not tell: a full queue drops some whoever waits.
PREFERRING: dict[Cause, tuple[str, ...]] = {
    FLOW_CONTROL: OF_FLOW_CONTROL, "incast": ("tcp_timeouts",), "link": ("connection_network_limited",),
}  # fmt: skip
# A signal moved if it grew by this factor, and by so many standard deviations of the slices alone.
LEAST_FACTOR = 1.2
LEAST_DEVIATIONS = 3.0
DECIMALS = 6
# An asymmetry from here on is one of who came first (see delta.py).
LEAST_ASYMMETRY = 0.25
SMALL_BYTES = 64 << 10

SIGNALS_SCHEMA = pl.Schema({"node": pl.String, "slice": pl.Int64, "signal": pl.String, "value": pl.Float64})
EVIDENCE_SCHEMA = pl.Schema(
    dict.fromkeys(("cause", "signal", "unit"), pl.String)
    | dict.fromkeys(("alone", "together", "change", "deviations"), pl.Float64)
    | dict.fromkeys(("moved", "counts", "full"), pl.Boolean)
)


@dataclass(frozen=True)
class Window:
    """A job, and the stretch of CLOCK_REALTIME (ns) in which its nodes are looked at."""

    digest: Digest
    start_ns: int
    end_ns: int


def window_of(digest: Digest) -> Window:
    """The time of a job's I/O on the storage with most of its bytes: from the first to the last slice in which it moved
    at least 5 % of what the mean byte's slice has. A job without any bytes counts its processes' time.
    """
    did = with_mapped(digest.process_slices, digest.fetched)
    own = did.select("storage", "slice", bytes=pl.col("read_bytes") + pl.col("write_bytes"))
    most = own.group_by("storage").agg(pl.col("bytes").sum()).sort("bytes", "storage").tail(1)["storage"]
    moved = own.filter(pl.col("storage").is_in(most.implode())).group_by("slice").agg(pl.col("bytes").sum())
    total = real(moved["bytes"].sum())
    if total == 0.0:
        processes = members(digest)
        return Window(digest, whole(processes["start_ns"].min()), whole(processes["end_ns"].max()))
    least = LEAST_OF_RATE * float((moved["bytes"].cast(pl.Float64) ** 2).sum()) / total
    slices = moved.filter(pl.col("bytes") >= least)["slice"]
    return Window(digest, whole(slices.min()) * digest.slice_ns, (whole(slices.max()) + 1) * digest.slice_ns)


def evidence_of(alone: Sequence[Window], together: Sequence[Window], asymmetry: float | None = None) -> pl.DataFrame:
    """`evidence` from the nodes' signals of jobs; without rows where either side has none."""
    return evidence(_signals_in(alone), _signals_in(together), asymmetry)


def levels(windows: Sequence[Window]) -> dict[str, float]:
    """The mean of each node's signal over the slices of windows, each slice's value being the highest of a node."""
    found = _by_slice(_signals_in(windows).filter(~pl.col("signal").is_in(list(REQUEST_UNITS))))
    return dict(found.select("signal", "mean").iter_rows())


def _signals_in(windows: Sequence[Window]) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=SIGNALS_SCHEMA)]
    for window in windows:
        digest = window.digest
        if digest.node_samples.is_empty():
            continue
        frames.append(_within(node_signals(digest), window, digest.node_slice_ns))
        own = (
            digest.process_slices.lazy()
            .join(members(digest).lazy().select("process", "node"), on="process")
            .select(
                "node",
                "slice",
                calls=pl.col("read_ops") + pl.col("write_ops"),
                bytes=pl.col("read_bytes") + pl.col("write_bytes"),
            )
            .filter(pl.col("calls") > 0)
            .collect()
        )
        files = digest.files.select("process", "path", bytes=pl.col("read_bytes") + pl.col("write_bytes"))
        frames.append(_within(request_signals(own, files, digest.slice_ns / 1e9), window, digest.slice_ns))
    return pl.concat(frames)


def _within(signals: pl.DataFrame, window: Window, slice_ns: int) -> pl.DataFrame:
    begins = pl.col("slice") * slice_ns
    return signals.filter((begins < window.end_ns) & (begins + slice_ns > window.start_ns))


def node_signals(digest: Digest) -> pl.DataFrame:
    """The signals of `EVIDENCE` of each node and slice that was sampled (`SIGNALS_SCHEMA`), zeros included. Signals of
    connections to storage are left out where no connection was sampled: nobody knows that they were 0. So are nodes on
    which only such processes of the job ran that do not matter, as mpirun: these are neither clients nor servers.
    """
    has_connections = "connection" in digest.node_slices["kind"]
    told = [
        name for name in EVIDENCE if name in SIGNALS and (has_connections or SIGNALS[name].table != "node_connections")
    ]
    every = digest.node_samples.select("node", "slice").join(pl.DataFrame({"signal": told}), how="cross")
    counted = by_node(digest.node_slices)
    found = pl.concat(
        [every.join(counted, on=["node", "slice", "signal"], how="left"), _resent_share(digest.node_samples, counted)]
    )
    clients = pl.concat([members(digest)["node"], digest.sampled_processes["node"]]).unique()
    is_client = pl.col("node").is_in(clients.implode())
    present = pl.concat([clients, digest.processes["node"], digest.launches["node"]]).unique()
    is_server = ~pl.col("node").is_in(present.implode())
    signal = pl.when(is_client).then(pl.col("signal")).otherwise(pl.col("signal").replace(OF_SERVERS))
    by_role = found.filter(is_client | (is_server & ~pl.col("signal").is_in(OF_CLIENTS))).with_columns(signal=signal)
    return _typed(by_role.with_columns(pl.col("value").fill_null(0.0))).sort("signal", "node", "slice")


def _resent_share(samples: pl.DataFrame, counted: pl.DataFrame) -> pl.DataFrame:
    keys = ["node", "slice"]
    sent, again = (
        counted.filter(pl.col("signal") == signal).select(*keys, pl.col("value").alias(signal))
        for signal in ("tcp_sent", "tcp_retransmissions")
    )
    # The kernel counts as sent what it sends for the first time.
    share = pl.col("tcp_retransmissions") / (pl.col("tcp_sent") + pl.col("tcp_retransmissions"))
    found = samples.select(keys).unique().join(sent, on=keys, how="left").join(again, on=keys, how="left")
    return found.select(*keys, signal=pl.lit("tcp_resent_share"), value=share)


def evidence(alone: pl.DataFrame, together: pl.DataFrame, asymmetry: float | None = None) -> pl.DataFrame:
    """The table of evidence (`EVIDENCE_SCHEMA`), a row a signal: causes at their limit first, as `EXPLAINING` has them,
    then what moved most. alone, together: `SIGNALS_SCHEMA`, of the slices in which the jobs ran alone, and in which
    they overlapped. A signal of a slice is that of the node where it is highest. Only what both have is compared.
    asymmetry: of the Delta-graph. `moved` is what the signal did; `counts`, whether that is evidence for its cause: for
    "server and flow control" only with asymmetry *and* zero windows or retransmissions that moved. `full`: together the
    resource is at its limit; one that is so alone too cannot move, and is still what the jobs compete for.
    """
    compared = _by_slice(alone).join(_by_slice(together), on="signal", suffix="_together")
    rows = []
    for row in compared.iter_rows(named=True):
        cause, worth, limit = EVIDENCE[row["signal"]]
        unit = UNITS[row["signal"]]
        change = row["mean_together"] - row["mean"]
        deviations = change / max(row["deviation"], worth / LEAST_DEVIATIONS)
        moved = (
            change >= worth and deviations >= LEAST_DEVIATIONS and row["mean_together"] >= LEAST_FACTOR * row["mean"]
        )
        full = is_full(limit, row["mean"], row["mean_together"])
        rows.append((cause, row["signal"], unit, row["mean"], row["mean_together"], change, deviations, moved, full))
    measured = {name: dtype for name, dtype in EVIDENCE_SCHEMA.items() if name != "counts"}
    table = pl.DataFrame(rows, schema=measured, orient="row")
    of_windows = table.filter(pl.col("signal").is_in(OF_FLOW_CONTROL))
    is_flow_control = (asymmetry or 0.0) >= LEAST_ASYMMETRY and bool(of_windows["moved"].any())
    judged = table.with_columns(counts=pl.col("moved") & ((pl.col("cause") != FLOW_CONTROL) | is_flow_control))
    explains = {cause: len(EXPLAINING) - place for place, cause in enumerate(EXPLAINING)}
    place = pl.col("cause").replace_strict(explains, default=0, return_dtype=pl.Int64)
    of_cause = {
        "cause_is_full": pl.when(pl.col("full").any().over("cause")).then(place).otherwise(0),
        "rank": pl.col("deviations").filter(pl.col("counts")).max().over("cause").fill_null(0.0).round(DECIMALS),
    }
    # Rounded, so that how sums were made cannot decide between two that are equal.
    of_signal = {"by": pl.col("deviations").round(DECIMALS)}
    order = {"cause_is_full": True, "rank": True, "cause": False, "full": True, "by": True, "signal": False}
    ranked = judged.with_columns(**of_cause, **of_signal).sort(*order, descending=list(order.values()))
    return ranked.select(*EVIDENCE_SCHEMA)


def is_full(limit: float | None, alone: float, together: float) -> bool:
    """Whether a resource is at its limit together: nearly so, where it was at it alone."""
    return limit is not None and together >= (limit if alone < limit else FILLED * limit)


def preferring(evidence: pl.DataFrame, asymmetry: float | None) -> Cause | None:
    """The first of `PREFERRING` that is at its limit or counts: what may have let one of two equal jobs go first."""
    if (asymmetry or 0.0) < LEAST_ASYMMETRY:
        return None
    told = set(evidence.filter(pl.col("full") | pl.col("counts"))["cause", "signal"].iter_rows())
    return next((cause for cause, signals in PREFERRING.items() if any((cause, one) in told for one in signals)), None)


def request_signals(slices: pl.DataFrame, files: pl.DataFrame, seconds: float) -> pl.DataFrame:
    """Signals of the requests themselves: small calls a second of each slice, and how many processes share the file of
    the mean byte, so that small files that all of them read do not count. slices: node, slice, calls and bytes; files:
    process, path and bytes. seconds: a slice's.
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
    sharers = real((sharing["process"] * sharing["bytes"]).sum()) / max(whole(sharing["bytes"].sum()), 1)
    shared = small.with_columns(signal=pl.lit("shared_file"), value=pl.lit(sharers))
    return pl.concat([_typed(small), _typed(shared)])


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(dtype) for name, dtype in SIGNALS_SCHEMA.items())


def _by_slice(signals: pl.DataFrame) -> pl.DataFrame:
    """signal, mean and deviation over slices, each slice's value being the highest of a node."""
    return (
        signals.group_by("signal", "slice")
        .agg(pl.col("value").max())
        .sort("signal", "slice")  # sums of reals go by the order of rows
        .group_by("signal", maintain_order=True)
        .agg(mean=pl.col("value").mean(), deviation=pl.col("value").std(ddof=0).fill_null(0.0))
        .sort("signal")
    )


def moved(digest: Digest) -> pl.DataFrame:
    """What did not stay 0: node, kind, device, signal, meaning, unit, mean (over the time sampled), highest (of a
    slice), highest_ns (when that slice began). The highest is of slices that were sampled for at least half of their
    time, if there is one. Sorted by node, and then in the order of `SIGNALS`, devices with the most first.
    """
    order = pl.DataFrame(
        [(place, name, signal.table, signal.meaning, signal.unit, signal.per is None)
         for place, (name, signal) in enumerate(SIGNALS.items())],
        schema=["place", "signal", "table", "meaning", "unit", "is_over_time"], orient="row",
    )  # fmt: skip
    samples = digest.node_samples
    of_nodes = samples.group_by("node").agg(
        node_seconds=pl.col("seconds").sum(),
        least_seconds=pl.min_horizontal(pl.col("seconds").max(), digest.node_slice_ns / 1e9) / 2,
    )
    is_share = pl.col("unit") == SHARE
    mean = pl.col("amount") / pl.when("is_over_time").then(pl.col("node_seconds")).otherwise(pl.col("per"))
    keys = [*DEVICE_KEYS, "signal"]
    return (
        values(digest.node_slices)
        .join(samples, on=["node", "slice"])
        .join(of_nodes, on="node")
        .with_columns(is_whole=pl.col("seconds") >= pl.col("least_seconds"))
        .sort("is_whole", "value", "slice", descending=[True, True, False])
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("amount", "per").sum(),
            pl.col("node_seconds").first(),
            highest=pl.col("value").first(),
            highest_ns=pl.col("slice").first() * digest.node_slice_ns,
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


COUNTS = [f"{way}_{what}" for what in ("bytes", "ops") for way in DIRECTIONS]
# A slice is slow in which a byte took so many times as long as in the job's median slice with I/O; one that moved next
# to nothing beside the mean one says nothing.
SLOW = 2.0
FEWEST_WITH_IO = 3
STORAGE_COUNTS = [f"storage_{way}_bytes" for way in DIRECTIONS]


def by_user(digest: Digest) -> pl.DataFrame:
    """node, user (null: all whom the site does not name), is_own_user (of the job's user), processes (at most), the
    counts in sum, busiest_ns (when the slice began in which most bytes were moved): those that moved most first.
    """
    rows = digest.others
    own = digest.about["user"]
    moved = pl.sum_horizontal(f"{way}_bytes" for way in DIRECTIONS)
    return (
        rows.with_columns(moved=moved)
        .sort("moved", "slice", descending=[True, False])
        .group_by("node", "user", maintain_order=True)
        .agg(
            pl.col("processes").max(),
            pl.col(*COUNTS, *STORAGE_COUNTS, "moved").sum(),
            busiest_ns=pl.col("slice").first() * digest.node_slice_ns,
        )
        .with_columns(is_own_user=(pl.col("user") == own).fill_null(value=False))
        .sort("moved", "node", "user", descending=[True, False, False], nulls_last=True)
        .select("node", "user", "is_own_user", "processes", *COUNTS, *STORAGE_COUNTS, "busiest_ns")
    )


@dataclass(frozen=True)
class BesideSlow:
    """What neighbours without a profile moved on the job's nodes together (bytes/s) in slices in which the job was slow
    in the direction in which it moved most, and in its other slices with I/O. slow, other: how many slices those are.
    That both come together is no proof: which file system the neighbours used is not known.
    """

    direction: Direction
    slow: int
    other: int
    slow_rate: float
    other_rate: float


def beside_slow(digest: Digest) -> BesideSlow | None:
    """None where nobody else was sampled, the slices are of different lengths, or too few are slow."""
    if digest.others.is_empty() or digest.node_slice_ns != digest.slice_ns:
        return None
    own = digest.processes.filter("is_of_job")
    way = max(DIRECTIONS, key=lambda direction: whole(own[f"{direction}_bytes"].sum()))
    did = (
        digest.process_slices.join(own, on="process", how="semi")
        .group_by("slice")
        .agg(bytes=pl.col(f"{way}_bytes").sum(), ns=pl.col(f"{way}_ns").sum())
    )
    both = [f"{direction}_bytes" for direction in DIRECTIONS]
    moved = digest.others.group_by("slice").agg(moved=pl.sum_horizontal(pl.col(both).sum()))
    rows = (
        did.filter(pl.col("bytes") >= LEAST_OF_RATE * pl.col("bytes").mean(), pl.col("bytes") > 0)
        .join(digest.node_samples.select("slice").unique(), on="slice", how="semi")
        .join(moved, on="slice", how="left")
        .with_columns(pl.col("moved").fill_null(0), price=pl.col("ns") / pl.col("bytes"))
        .with_columns(is_slow=pl.col("price") > SLOW * pl.col("price").median())
    )
    slow, other = rows.filter("is_slow")["moved"], rows.filter(~pl.col("is_slow"))["moved"]
    if min(len(slow), len(other)) < FEWEST_WITH_IO:
        return None
    seconds = digest.slice_ns / 1e9
    rates = [whole(part.sum()) / len(part) / seconds for part in (slow, other)]
    return BesideSlow(way, len(slow), len(other), *rates)
