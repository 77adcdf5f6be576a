"""What counts what the storage served jobs: counters of their nodes, of mounts and of control groups, levels of caches,
and what file servers counted.

Digests in, `Counters` of `digest.served` out, and a job's slices by them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import polars as pl

from slicewise.constants import NEARLY_ALL
from slicewise.digest.served import (
    BY_COUNTER,
    ORDER,
    PAST_CACHE_SCHEMA,
    SENT_SCHEMA,
    USERS_SCHEMA,
    Counters,
    served_writes,
)
from slicewise.digest.shared import frames_of
from slicewise.digest.slices import synced_ns, with_mapped
from slicewise.digest.storages import BETWEEN, LIMITS, MOSTLY_IN_GROUP, SIGNALS, devices_of, limited, way_of
from slicewise.kept_once import kept_once
from slicewise.scalars import real

if TYPE_CHECKING:
    from slicewise.digest.digest import Digest

# Of what a process wrote to a storage: with so much past the cache, what it wrote into it (a log) is no matter.
MOSTLY_PAST = 0.95
# File systems that promise to whoever opens a file what was there when another closed it.
CLOSE_TO_OPEN = ("nfs", "nfs4", "cifs", "smb3", "afs")

# File systems without such a counter whose clients write back from the page cache, where nearly all that jobs wrote on
# a node was to that one file system; and the signals of how full the cache is.
BY_LEVEL = ("cifs", "smb3", "ceph")
LEVELS = ("dirty_bytes", "writeback_bytes")
# What stands between the parts of a counter's name, and those of counters that are none of the node's own.
SEPARATOR, LEVEL, SERVERS = "\0", "level", "servers"
# A counter's name, the storage, by slice what was sent, the processes that it counts, and how long a slice is (ns).
Counted = tuple[str, int, pl.DataFrame, pl.DataFrame, int]


def served_slices(digest: Digest) -> pl.DataFrame:
    """A job's `process_slices` with what the storage served in the place of what calls wrote, as far as a counter shows
    it, with what mapped files fetched, and with `moved_bytes`: what calls wrote. What is known by bursts alone stays
    with the calls: recorded runs side by side are predicted better so.
    """
    jobs = [digest, *(one for one in digest.beside if one.slice_ns == digest.slice_ns)]
    known = counters_of(jobs, digest.slice_ns)
    columns = digest.process_slices.columns
    did = [with_mapped(one.process_slices, one.fetched) for one in jobs]
    if known.sent.is_empty():
        return did[0].with_columns(moved_bytes="write_bytes")
    ways = pl.concat(did).sort(ORDER)
    found = served_writes(
        ways.with_columns(write=pl.col("write_ns") + pl.col("write_request_ns"), sync=synced_ns(), meta="meta_ns"),
        known,
    )
    is_counted = pl.col("how") == BY_COUNTER
    own = found.join(digest.processes.select("process"), on="process", how="semi", maintain_order="left")
    return (
        own.with_columns(
            pl.col("threads", "spread").fill_null(1),
            moved_bytes="write_bytes",
            write_bytes=pl.when(is_counted).then("served").otherwise("write_bytes"),
            write_ops=pl.when(is_counted).then("served_ops").otherwise("write_ops"),
        )
        .select(*columns, "moved_bytes")
        .fill_null(0)
    )


def counters_of(digests: Sequence[Digest], grid_ns: int) -> Counters:
    """What is known of these jobs' caches, in slices of the grid. An NFS mount and Lustre's targets have counters of
    their own, and a local file system has its disk's. They count what any program on the node wrote. Counters whose
    slices are longer than the grid's are spread over them. Where a process has none, what file servers counted of its
    job or node is one; it says more than the level of the cache. Of jobs that servers alone know all was served.
    """
    digests = [digest for digest in digests if not digest.is_served]
    found = [(*one, digest.node_slice_ns) for digest in digests for one in counters_in(digest, "write")]
    sent, users = _laid_out([*found, *_by_level(digests)], grid_ns)
    sent_by_servers, of_servers = _laid_out([one for digest in digests for one in _by_servers(digest)], grid_ns)
    closing = frames_of(digests, "storages").filter(pl.col("type").is_in(CLOSE_TO_OPEN))["storage"]
    known = _users_of_all(users.unique(maintain_order=True), digests)
    of_slice = ["counter", "storage", "slice"]
    # Jobs' collectors each count the node while their job runs.
    return Counters(
        pl.concat([sent, sent_by_servers]).group_by(of_slice).agg(pl.col("sent").max()).sort(of_slice),
        known if of_servers.is_empty() else _best(known, of_servers),
        frozenset(closing),
        _past_cache(frames_of(digests, "mounts")),
    )


def _past_cache(mounts: pl.DataFrame) -> pl.DataFrame:
    """process, storage: those that write past the cache there. What an older catalog does not say is null."""
    sums = mounts.group_by("place", "process", "storage", maintain_order=True).agg(
        pl.col("write_bytes", "past_cache_bytes").sum()
    )
    is_past = pl.col("past_cache_bytes") >= MOSTLY_PAST * pl.col("write_bytes")
    past = sums.filter(pl.col("past_cache_bytes") > 0, is_past)
    return past.select(*PAST_CACHE_SCHEMA).unique(maintain_order=True)


def _best(own: pl.DataFrame, of_servers: pl.DataFrame) -> pl.DataFrame:
    """The counter of each process: one that its node has; what servers counted; the level of its node's cache."""
    is_level = pl.col("counter").str.ends_with(f"{SEPARATOR}{LEVEL}")
    ordered = pl.concat([own.remove(is_level), of_servers, own.filter(is_level)])
    return ordered.unique(["process", "storage"], keep="first", maintain_order=True)


def _laid_out(found: Sequence[Counted], grid_ns: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`sent` and `users`."""
    sent, users = [pl.DataFrame(schema=SENT_SCHEMA)], [pl.DataFrame(schema=USERS_SCHEMA)]
    for counter, storage, amounts, processes, slice_ns in found:
        keys = {"counter": pl.lit(counter), "storage": pl.lit(storage, pl.UInt64)}
        sent.append(amounts_on_grid(amounts, slice_ns, grid_ns).select("slice", "sent", **keys).select(*SENT_SCHEMA))
        users.append(processes.select("process", **keys).select(*USERS_SCHEMA))
    return pl.concat(sent), pl.concat(users)


def _by_servers(digest: Digest) -> Iterator[Counted]:
    """What file servers counted of a job or its nodes, and its processes that this counts."""
    for who, storage, amounts in digest.served_by:
        is_its = (pl.col("node") == who) | (who == digest.job)
        there = _busiest_points(digest).filter(pl.col("storage") == storage, is_its)
        yield f"{who}{SEPARATOR}{SERVERS}", storage, amounts, there, digest.slice_ns


def _by_level(digests: Sequence[Digest]) -> Iterator[Counted]:
    """Of file systems without a counter whose clients keep what is written in the page cache until it was sent: what
    was written less by how much the cache grew. Only where jobs wrote little else on the node.
    """
    sampled = [digest for digest in digests if not digest.node_slices.is_empty()]
    if not any(digest.storages["type"].is_in(BY_LEVEL).any() for digest in sampled):
        return
    slice_ns = max(digest.node_slice_ns for digest in sampled)
    levels = pl.concat(
        digest.node_slices.filter(pl.col("signal").is_in(LEVELS), pl.col("per") > 0)
        .group_by("node", slice=pl.col("slice") * digest.node_slice_ns // slice_ns)
        .agg(level=(pl.col("amount") / pl.col("per")).sum() / pl.col("slice").n_unique())
        for digest in sampled
    ).unique(["node", "slice"], keep="first", maintain_order=True)
    wrote = pl.concat(
        digest.process_slices.filter(pl.col("write_bytes") > 0)
        .join(_busiest_points(digest), on=["process", "storage"])
        .join(digest.storages.select("storage", "type").unique(), on="storage")
        .select(
            "node", "storage", "type", "process", "write_bytes", slice=pl.col("slice") * digest.slice_ns // slice_ns
        )
        for digest in digests
    )
    for (node,), here in wrote.group_by("node", maintain_order=True):
        for (storage, kind), its in here.group_by("storage", "type", maintain_order=True):
            if kind not in BY_LEVEL or real(its["write_bytes"].sum()) < NEARLY_ALL * real(here["write_bytes"].sum()):
                continue
            level = levels.filter(pl.col("node") == node).sort("slice")
            by_slice = its.group_by("slice").agg(pl.col("write_bytes").sum())
            grown = level.with_columns(grown=pl.col("level").diff().fill_null(0.0))
            both = grown.join(by_slice, on="slice", how="left").with_columns(pl.col("write_bytes").fill_null(0))
            amounts = both.select("slice", sent=(pl.col("write_bytes") - pl.col("grown")).clip(0.0))
            if len(amounts):
                who = its.select("process").unique()
                yield f"{node}{SEPARATOR}{LEVEL}", int(str(storage)), amounts, who, slice_ns


def _users_of_all(users: pl.DataFrame, digests: Sequence[Digest]) -> pl.DataFrame:
    """The users, with those of jobs that had no collector of their own, but ran where and while another job's counted.
    What was counted in another run says nothing: its bytes would be told to have been served then.
    """
    if users.is_empty():
        return users
    seen = set(users["process"].unique().to_list())
    more = [users]
    for digest in digests:
        places = _busiest_points(digest).filter(~pl.col("process").is_in(list(seen)))
        if places.is_empty():
            continue
        counting = pl.concat(other.processes.select("process") for other in digests if _ran_at_once(digest, other))
        names = users.join(counting, on="process", how="semi").select("counter", "storage").unique()
        for counter, storage in names.iter_rows():
            node, *points = counter.split(SEPARATOR)
            if points == [LEVEL]:
                continue
            there = places.filter(pl.col("node") == node, pl.col("storage") == storage)
            if points:
                there = there.filter(pl.col("point").is_in(points))
            more.append(there.select("process", "storage", counter=pl.lit(counter)))
    return pl.concat(more).unique(["process", "storage"], keep="first", maintain_order=True)


def _ran_at_once(digest: Digest, other: Digest) -> bool:
    return bool(digest.about["start_ns"] <= other.about["end_ns"] and other.about["start_ns"] <= digest.about["end_ns"])


def amounts_on_grid(total: pl.DataFrame, slice_ns: int, grid_ns: int) -> pl.DataFrame:
    if slice_ns <= grid_ns:
        slices = total.with_columns(slice=pl.col("slice") * slice_ns // grid_ns)
        return slices.group_by("slice").agg(pl.col("sent").sum())
    parts = slice_ns // grid_ns
    each = total.with_columns(part=pl.lit(list(range(parts)), pl.List(pl.Int64))).explode("part")
    return each.select(slice=pl.col("slice") * parts + pl.col("part"), sent=pl.col("sent") / parts)


@kept_once
def _busiest_points(digest: Digest) -> pl.DataFrame:
    """process, storage, node, point: through which mount each process wrote most to each storage."""
    there = digest.mounts.join(digest.processes.select("process", "node"), on="process")
    busiest = there.sort("write_bytes", "point", descending=[True, False])
    return busiest.unique(["process", "storage"], keep="first", maintain_order=True).select(
        "process", "storage", "node", "point"
    )


@kept_once
def counters_in(
    digest: Digest, direction: Literal["read", "write"]
) -> list[tuple[str, int, pl.DataFrame, pl.DataFrame]]:
    """What counts what a job's nodes read from its storages, or wrote to them: a counter's name (the node, and of NFS
    its mounts), the storage, by slice what was sent, and the processes that it counts.
    """
    names = [signals[direction] for signals in SIGNALS.values()]
    signals = digest.node_slices.filter(pl.col("signal").is_in(names)) if len(digest.node_slices) else None
    if signals is None or signals.is_empty():
        return []
    found = []
    places = _busiest_points(digest)
    known = digest.storages.select("storage", "type", "source").unique("storage")
    for (node, storage), here in places.group_by("node", "storage", maintain_order=True):
        kind, source = known.row(by_predicate=pl.col("storage") == storage)[1:]
        way = way_of(kind, source)
        if way is None:
            continue
        rows = signals.filter(pl.col("node") == node, pl.col("signal") == SIGNALS[way][direction])
        groups = devices_of(way, source, rows, here["point"].unique().sort().to_list())
        group = _group_of(digest, str(node), source, direction, here) if way == "disk" else None
        if group is not None:
            found.append((SEPARATOR.join([str(node), group[0]]), int(str(storage)), group[1], here))
            continue
        # An NFS client counts each of its mounts for those that it shares with; all else is counted by node.
        for points in groups if way == "nfs" else [[]]:
            devices = points[:1] if points else [device for group in groups for device in group]
            counted = rows.filter(pl.col("device").is_in(devices))
            if counted.is_empty():
                continue
            amounts = counted.group_by("slice").agg(sent=pl.col("amount").sum())
            its = here.filter(pl.col("point").is_in(points)) if points else here
            found.append((SEPARATOR.join([str(node), *points]), int(str(storage)), amounts, its))
    return found


def _group_of(
    digest: Digest, node: str, source: str, direction: Literal["read", "write"], here: pl.DataFrame
) -> tuple[str, pl.DataFrame] | None:
    """The limited control group of a job on a disk that did least: its name, and by slice what it sent; or None."""
    of_groups = limited(digest.node_slices, node, source)
    rows = of_groups.filter(pl.col("signal") == LIMITS[direction])
    if rows.is_empty():
        return None
    did = digest.process_slices.join(here, on=["process", "storage"], how="semi")
    own = int(did[f"{direction}_bytes"].sum())
    sums = rows.group_by("device").agg(pl.col("amount").sum()).filter(pl.col("amount") >= MOSTLY_IN_GROUP * own)
    if not own or sums.is_empty():
        return None
    name = str(sums.sort("amount", "device")["device"][0])
    return name, sent_by_group(of_groups.filter(pl.col("device") == name), LIMITS[direction], digest)


def sent_by_group(rows: pl.DataFrame, signal: str, digest: Digest) -> pl.DataFrame:
    """By slice what a control group with a limit sent in a direction. rows: of one group, of a job's `node_slices`."""
    at_limit = rows.filter(pl.col("signal") == "at_limit").select("slice", seconds="amount")
    sent = rows.filter(pl.col("signal") == signal).select("slice", sent="amount")
    sent = sent.join(at_limit, on="slice", how="left").with_columns(pl.col("seconds").fill_null(0.0))
    return _without_lumps(sent, _of_its_disk(rows, signal, digest), digest)


def _of_its_disk(rows: pl.DataFrame, signal: str, digest: Digest) -> dict[int, float]:
    """By slice, what the disk under a group's limit did in the same direction. rows, signal: as of `sent_by_group`."""
    of_disk = next(SIGNALS["disk"][way] for way, name in LIMITS.items() if name == signal)
    where = rows.select("node", pl.col("device").str.split(BETWEEN).list.first()).unique()
    its = digest.node_slices.filter(pl.col("signal") == of_disk).join(where, on=["node", "device"], how="semi")
    return dict(its.group_by("slice").agg(pl.col("amount").sum()).iter_rows())


def _without_lumps(sent: pl.DataFrame, disk: Mapping[int, float], digest: Digest) -> pl.DataFrame:
    """What a group sent by slice, where it counted more than its limit lets through in one. The kernel counts a large
    request when its time at the limit is over (so that it was under way in slices before), or all that a sync has to
    write when it begins (so that it is sent in those after): whichever the disk's own count speaks for.

    sent: slice, sent, seconds (that all the group did takes at the limit).
    """
    first, slice_seconds = digest.about["start_ns"] // digest.node_slice_ns, digest.node_slice_ns / 1e9
    most = sent.filter(pl.col("seconds") > 0).select((pl.col("sent") / pl.col("seconds")).max()).item()
    if most is None or (sent["sent"] <= most * slice_seconds).all():
        return sent.select("slice", "sent")
    at, whole = sent["slice"].to_numpy(), most * slice_seconds
    longest = math.ceil(float(sent["sent"].sum()) / whole)
    slices = range(min(first, int(at.min())), int(at.max()) + 1 + longest)
    counted = pl.DataFrame({"slice": slices}, {"slice": sent.schema["slice"]}).join(sent, on="slice", how="left")
    lumps = counted.sort("slice")["sent"].fill_null(0.0).to_list()
    before, after = _carried(lumps[: len(lumps) - longest][::-1], whole)[::-1], _carried(lumps, whole)

    def unseen(found: Sequence[float]) -> float:
        return sum(max(0.0, one - disk.get(slice_, 0.0)) for slice_, one in zip(slices, found, strict=False))

    found = after if disk and unseen(after) < unseen(before) else before
    return pl.DataFrame({"slice": slices[: len(found)], "sent": found}).filter(pl.col("sent") > 0)


def _carried(counted: Sequence[float], whole: float) -> list[float]:
    """Amounts of which what is more than the whole of a slice goes into the next one; the last one keeps all."""
    found = list(counted)
    for place in range(len(found) - 1):
        over = max(0.0, found[place] - whole)
        found[place], found[place + 1] = found[place] - over, found[place + 1] + over
    return found


def know_each_other(digests: Sequence[Digest]) -> None:
    """Lets jobs that one counter counts share what it shows (`Digest.beside`)."""
    if all(digest.node_slices.is_empty() for digest in digests):
        return
    on_node: dict[str, list[int]] = {}
    for place, digest in enumerate(digests):
        for node in [] if digest.is_served else digest.processes["node"].unique():
            on_node.setdefault(node, []).append(place)
    together = sorted({place for places in on_node.values() if len(places) > 1 for place in places})
    some = [digests[place] for place in together]
    if not some:
        return
    users = counters_of(some, max(digest.slice_ns for digest in some)).users
    wrote = [
        digest.process_slices.filter(pl.col("write_bytes") > 0)
        .select("process", "storage")
        .unique()
        .join(users, on=["process", "storage"])
        .select("counter", "storage")
        .iter_rows()
        for digest in some
    ]
    there = [set(rows) for rows in wrote]
    ids = [set(digest.processes["process"]) for digest in some]
    for place, digest in enumerate(some):
        digest.beside = tuple(
            other for at, other in enumerate(some) if not ids[at] & ids[place] and there[at] & there[place]
        )
