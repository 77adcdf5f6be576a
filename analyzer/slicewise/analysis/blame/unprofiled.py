"""Traffic of a storage that no profile explains: what counters of nodes and mounts show beyond all profiles.

Digests' frames in, frames out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from slicewise.analysis.blame.memory import MOST_PAGES_A_CALL, PAGE_BYTES, loading_of, moved_by_no_call
from slicewise.analysis.blame.result import Traffic
from slicewise.analysis.calls import AMOUNTS, SECONDS, job_rows
from slicewise.analysis.capacity.by_kind import Capacities
from slicewise.analysis.runs.limits import from_disk, limit_of, synced_writes
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import BLOCK_A_CALL, LITTLE_BYTES, WORTH_NAMING_BYTES
from slicewise.digest.activity import DIRECTIONS
from slicewise.digest.counters import sent_by_group
from slicewise.digest.digest import Digest
from slicewise.digest.fetched import unplaced_bytes
from slicewise.digest.processes import is_profiled
from slicewise.digest.quality import mishaps_of
from slicewise.digest.sampled import on_storages
from slicewise.digest.shared import frames_of
from slicewise.digest.slices import BYTES, REQUEST_TIMES, TIMES, with_mapped
from slicewise.digest.storages import LIMITS, NETWORK_TYPES, SIGNALS, devices_of, way_of

# A counter holds journals, headers and what was sent again, too: so much more than the profiles is nobody's.
MARGIN = 0.05
# Bytes without a profile that are too few to be named elsewhere count from this part of what profiles moved on a disk.
# Readers of 4 KiB at a limit of requests, who cost a job half of its time, had 0.77.
LEAST_OF_FEW = 0.25
# What a local file system writes by itself: its journal for each sync (measured on ext4: 2 to 16 KiB with kernels 6.1
# and 6.12, 24 KiB for a record and a sync each with 6.18).
JOURNAL_A_SYNC = 16 << 10
# Calls on metadata that change nothing, though there be many: what is left may.
CHANGES_NOTHING = (
    *("close", "dup", "dup2", "fcntl", "lseek", "fseek", "ftell", "stat", "lstat", "fstat", "fstatat", "statx"),
    *("statfs", "fstatfs", "access", "readlink", "realpath", "opendir", "readdir", "seekdir", "closedir", "scandir"),
    *("getdents", "getxattr", "listxattr", "flock", "ioctl", "readahead", "posix_fadvise", "mmap", "munmap"),
)
# Nor do these in a job that writes less than a byte for each.
OPENS = ("open", "openat", "fopen", "fdopen", "freopen", "fclose", "fflush", "open_by_handle_at")
# Traffic that came and went takes nothing from jobs whose speed together stayed within MOST_CHANGE meanwhile. It was
# there in slices in which it moved LEAST_CHANGE more, of what the jobs reach at most, than in the slice in the middle.
# Of the jobs' speeds the fifths at both ends are left out.
FEWEST_TOGETHER = 8
# How a process is marked in whose counts a call is that never returned.
UNFINISHED = "unfinished_calls"
OF_BYTES: dict[str, type[pl.DataType]] = dict.fromkeys(BYTES, pl.Int64)
# A client's connection, as the collector names it, and the address of its server.
NFS_CONNECTION = r"^(.*):\d+ to port 2049$"
FEWEST_WITH_IT = 3
# Of a slice: a program that took longer to load read from a disk what memory did not hold.
LOADING = 0.1
LEAST_CHANGE = 0.2
MOST_CHANGE = 0.05
ENDS = (0.2, 0.8)


@dataclass(frozen=True)
class Counter:
    """Where a storage's traffic is counted. devices: None for all of them. signals: by direction, of the digest's
    `node_slices`. least_bytes: what nobody profiled is worth naming from here on: no more than a group's limit lets
    through in a second.
    """

    what: str
    node: str | None
    devices: list[str] | None
    signals: dict[str, str]
    least_bytes: float = WORTH_NAMING_BYTES


def counter_of(storage: Storage, digest: Digest) -> Counter | None:
    """The counter of a storage's traffic in a job's own node samples; None where nobody counted it.

    A local file system has its disk's counter, and where a control group's limit held the job up, that group's: others
    do not share the limit. A network file system has the counter of a server's network, if one
    server was sampled (a node without any of the job's processes): it sees all clients. Else NFS has that of the mount
    on the job's nodes, and Lustre that of its targets there.
    """
    sampled = digest.node_slices
    if sampled.is_empty():
        return None
    own_nodes = digest.processes["node"].unique().to_list()
    way = way_of(storage.type, storage.source)
    servers = [] if storage.host else [node for node in sampled["node"].unique().to_list() if node not in own_nodes]
    if len(servers) == 1 and storage.type in NETWORK_TYPES:
        # What a server sends is what clients read.
        signals = {"read": "network_sent", "write": "network_received"}
        return Counter(f"the network of {servers[0]}", servers[0], None, signals)
    if way is None or (way == "disk") != bool(storage.host):
        return None
    node = storage.host or None
    limit = limit_of(storage, digest) if way == "disk" else None
    if limit is not None:
        least = max(LITTLE_BYTES, min(WORTH_NAMING_BYTES, limit.rate))
        return Counter(f"control group {limit.group}", node, [limit.device], dict(LIMITS), least)
    rows = sampled.filter(pl.col("signal").is_in(list(SIGNALS[way].values())))
    rows = rows if node is None else rows.filter(pl.col("node") == node)
    points = _nfs_mounts(storage, digest, sampled, rows) if way == "nfs" else []
    groups = devices_of(way, storage.source, rows, points)
    here = [storage.point if storage.point in group else group[0] for group in groups]
    what = {
        "nfs": f"the NFS mount {storage.point}",
        "lustre": f"the job's nodes' counters of the targets of {storage.point}",
        "disk": f"disk {here[0] if here else ''} of {storage.host}",
    }
    return Counter(what[way], node, here, dict(SIGNALS[way])) if here else None


def _nfs_mounts(storage: Storage, digest: Digest, sampled: pl.DataFrame, rows: pl.DataFrame) -> list[str]:
    """The mounts of a storage; with those that the job did not use, where the nodes have connections to one NFS server
    alone.
    """
    points = set(digest.mounts.filter(pl.col("storage") == storage.number)["point"].to_list())
    servers = sampled.filter(pl.col("kind") == "connection")["device"].str.extract(NFS_CONNECTION).drop_nulls()
    if servers.n_unique() == 1:
        points |= set(rows["device"].to_list()) - set(digest.mounts["point"].to_list())
    return sorted(points)


def counted_rows(counter: Counter, digest: Digest, grid_ns: int) -> pl.DataFrame:
    """What the counter counted: slice (of the grid), and the columns of BYTES."""
    there = digest.node_slices.lazy().filter(pl.col("signal").is_in(list(counter.signals.values())))
    if counter.node is not None:
        there = there.filter(pl.col("node") == counter.node)
    if counter.devices is not None:
        there = there.filter(pl.col("device").is_in(counter.devices))
    node_ns = digest.node_slice_ns
    if counter.signals == LIMITS:
        there = _without_lumps(counter, digest)
    return (
        there.group_by(slice=pl.col("slice") * node_ns // grid_ns)
        .agg(
            pl.col("amount").filter(pl.col("signal") == signal).sum().round().cast(pl.Int64).alias(f"{direction}_bytes")
            for direction, signal in counter.signals.items()
        )
        .sort("slice")
        .collect()
    )


def _without_lumps(counter: Counter, digest: Digest) -> pl.LazyFrame:
    """What a control group sent: signal, slice, amount."""
    its = pl.col("node") == counter.node, pl.col("device").is_in(counter.devices or [])
    rows = digest.node_slices.filter(*its)
    by_way = [
        sent_by_group(rows, signal, digest).select(pl.lit(signal).alias("signal"), "slice", amount="sent")
        for signal in counter.signals.values()
    ]
    return pl.concat(by_way).lazy()


def unprofiled(
    digest: Digest, neighbours: Sequence[Digest], storages: Sequence[Storage], rows: pl.DataFrame, grid_ns: int
) -> tuple[list[Traffic], pl.DataFrame, pl.DataFrame]:
    """How much of each storage's traffic profiles explain while the job ran, the rest by storage and slice, and what
    was read for neighbours beyond their calls, as rows of these.

    rows: what all jobs did (`timeline.job_rows`); what a cache served of that, no disk moved. The rest (storage, slice,
    read_bytes, write_bytes) is put into the slices in which the counter shows more than the profiles; what was cached
    is written later than it was counted, so that only sums over the whole run say how much it is.
    """
    job = digest.about
    begin, last = job["start_ns"] // grid_ns, job["end_ns"] // grid_ns
    first = first_counted(digest, grid_ns)
    traffic, rests, gates = [], [], []
    did = with_mapped(digest.process_slices, digest.fetched)
    own = did.group_by("storage").agg(pl.sum_horizontal(pl.col(*TIMES, *REQUEST_TIMES).sum()).alias("ns"))
    own_ns = dict(own.select("storage", "ns").iter_rows())
    moving = _sampled_on_grid(digest, grid_ns).group_by("storage").agg(slices=pl.col("slice").n_unique())
    for number, slices in moving.iter_rows():
        own_ns[number] = own_ns.get(number, 0) + slices * grid_ns
    for storage in storages:
        in_calls = own_ns.get(storage.number, 0)
        while_it_ran = (pl.col("storage") == storage.number) & pl.col("slice").is_between(begin, last)
        counter = counter_of(storage, digest)
        if counter is None:
            total = int(rows.filter(while_it_ran).select(pl.sum_horizontal(BYTES).sum()).item())
            traffic.append(Traffic(storage, total, None, "", own_ns=in_calls))
            continue
        # The counter of a mount sees what its node did, and nothing of neighbours elsewhere.
        seen = rows if counter.node is not None else job_rows([digest, *neighbours], grid_ns, _sampled_nodes(digest))
        seen, there = (from_disk(one.filter(while_it_ran), storage, [digest, *neighbours]) for one in (seen, rows))
        total = int(there.select(pl.sum_horizontal(BYTES).sum()).item())
        profiled = seen.group_by("slice").agg(pl.col(BYTES).sum())
        counted = counted_rows(counter, digest, grid_ns).filter(pl.col("slice").is_between(first, last))
        both = counted.join(profiled, on="slice", how="full", suffix="_seen", coalesce=True).fill_null(0)
        there_too = set(seen["job"])
        jobs = [digest, *(one for one in neighbours if one.job in there_too)]
        least = counter.least_bytes
        if storage.host:  # a network's protocol takes some
            least = min(least, max(LITTLE_BYTES, LEAST_OF_FEW * total, _in_a_second(digest, storage.number)))
        own_bytes, called = _beside_calls(jobs, storage, job["start_ns"], job["end_ns"])
        # A group counts what is written when it is sent on its way, and the disk when it arrives: perhaps past the
        # group, and when the job that wrote it has ended.
        if storage.host:
            own_bytes["write_bytes"] += max(0, called - int(seen["write_bytes"].sum()))
        least_named = [_least_named(name, own_bytes.get(name, 0), least).alias(f"{name}_least") for name in BYTES]
        gates.append(both.select(pl.lit(storage.number, pl.UInt64).alias("storage"), *least_named))
        rest = both.select(
            pl.lit(storage.number, pl.UInt64).alias("storage"),
            "slice",
            *(excess(name, own_bytes.get(name, 0), least) for name in BYTES),
        ).filter(pl.sum_horizontal(BYTES) > 0)
        traffic.append(
            Traffic(
                storage,
                total,
                total + int(rest.select(pl.sum_horizontal(BYTES).sum()).item()),
                counter.what,
                own_ns=in_calls,
            )
        )
        rests.append(rest)
    schema: dict[str, type[pl.DataType]] = {"storage": pl.UInt64, "slice": pl.Int64, **OF_BYTES}
    rest = pl.concat([pl.DataFrame(schema=schema), *rests]).sort("storage", "slice")
    by_sampling, rest = _sampled_beyond_calls(rest, rows, digest, neighbours, storages, grid_ns)
    by_calls, rest = _beyond_calls(rest, rows, neighbours, grid_ns)
    beyond_calls = pl.concat([by_sampling, by_calls])
    if gates:
        rest = _worth_naming(rest, pl.concat(gates))
    moved, left = (
        dict(one.group_by("storage").agg(pl.sum_horizontal(pl.col(BYTES).sum())).iter_rows())
        for one in (beyond_calls, rest)
    )
    traffic = [_of_whom(one, moved.get(one.storage.number, 0), left.get(one.storage.number, 0)) for one in traffic]
    return traffic, rest, beyond_calls


def _of_whom(traffic: Traffic, beyond_calls: int, left: int) -> Traffic:
    """The traffic of a storage with what profiled jobs moved beyond calls; left: what is nobody's."""
    profiled = traffic.profiled + beyond_calls
    return replace(traffic, profiled=profiled, counted=None if traffic.counted is None else profiled + left)


def _worth_naming(rest: pl.DataFrame, gates: pl.DataFrame) -> pl.DataFrame:
    """What is left of the rest after some of it was found to be somebody's, if that is worth a word by itself. gates:
    storage, and {name}_least for each of BYTES.
    """
    its_sums = (pl.col(name).sum().over("storage") > pl.col(f"{name}_least") for name in BYTES)
    kept = (pl.when(one).then(pl.col(name)).otherwise(0).alias(name) for name, one in zip(BYTES, its_sums, strict=True))
    found = rest.join(gates, on="storage", how="left", maintain_order="left").select("storage", "slice", *kept)
    return found.filter(pl.sum_horizontal(BYTES) > 0)


def _in_a_second(digest: Digest, storage: int) -> float:
    """How many bytes a job moved in a second in calls on a storage: what takes it a second is worth a word, however few
    bytes that are where each request waits.
    """
    its = digest.process_slices.filter(pl.col("storage") == storage)
    moved, ns = its.select(pl.sum_horizontal(pl.col(BYTES).sum()), ns=pl.sum_horizontal(pl.col(TIMES).sum())).row(0)
    return int(moved) / max(1, int(ns)) * 1e9


def first_counted(digest: Digest, grid_ns: int) -> int:
    """The first slice of a job in which its calls were counted. What was read before for a command, to load a program
    and its libraries, is the job's own.
    """
    loaded_ns = round(loading_of(digest) * 1e9)
    return (int(digest.about["start_ns"]) + loaded_ns) // grid_ns + (1 if loaded_ns > LOADING * grid_ns else 0)


def _beyond_calls(
    rest: pl.DataFrame, rows: pl.DataFrame, neighbours: Sequence[Digest], grid_ns: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What was read for neighbours beyond their calls, as rows of these jobs: to load their programs before any of
    their calls was counted; or by no call that can be seen. And what is left of the rest.

    rest: of `unprofiled`; rows: of `timeline.job_rows`. It is no more than the kernel fetched for them, and placed as
    the rest is.
    """
    found = [rows.clear()]
    for one in neighbours if len(rest) else ():
        begin, end = (int(str(one.about[name])) // grid_ns for name in ("start_ns", "end_ns"))
        last = end if moved_by_no_call(one) else first_counted(one, grid_ns) - 1
        used = rows.filter(pl.col("job") == one.job)["storage"].unique()
        is_its = pl.col("slice").is_between(begin, last) & pl.col("storage").is_in(used.implode())
        there = int(rest.filter(is_its)["read_bytes"].sum())
        part = min(1.0, unplaced_bytes(one) / there) if there else 0.0
        if part <= 0:
            continue
        read = (pl.col("read_bytes") * part).round().cast(pl.Int64)
        seconds = {name: pl.lit(grid_ns / 1e9 if name == SECONDS["read"] else 0.0) for name in SECONDS.values()}
        amounts = {name: pl.lit(0, pl.Int64) for name in AMOUNTS.values()} | {"read_bytes": read}
        its = rest.filter(is_its).with_columns(job=pl.lit(one.job), **seconds, **amounts)
        found.append(its.select(rows.columns))
        rest = rest.with_columns(read_bytes=pl.col("read_bytes") - pl.when(is_its).then(read).otherwise(0))
    return pl.concat(found), rest.filter(pl.sum_horizontal(BYTES) > 0)


def _sampled_beyond_calls(
    rest: pl.DataFrame,
    rows: pl.DataFrame,
    digest: Digest,
    neighbours: Sequence[Digest],
    storages: Sequence[Storage],
    grid_ns: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What neighbours' processes moved that no library profiled, as rows of these jobs: so much of the rest as the
    kernel counted of them there. And what is left of the rest, also without what the job's own
    such processes moved. The disk has reads by the next slice, and writes when it sends them.
    """
    found = [rows.clear()]
    for one in (digest, *neighbours) if len(rest) else ():
        counted = _sampled_on_grid(one, grid_ns)
        for storage in storages:
            is_there = pl.col("storage") == storage.number
            its = counted.filter(is_there).group_by("slice").agg(pl.col(BYTES).sum()).sort("slice")
            there = rest.filter(is_there).sort("slice")
            if its.is_empty() or there.is_empty():
                continue
            part = there.with_columns(_moved_of(there, its, name) for name in BYTES)
            rest = pl.concat([rest, part.with_columns(-pl.col(BYTES))])
            rest = rest.group_by("storage", "slice").agg(pl.col(BYTES).sum())
            if one is digest:
                continue
            seconds = {
                SECONDS[kind]: (pl.col(AMOUNTS[kind]) > 0).cast(pl.Float64) * (grid_ns / 1e9) for kind in DIRECTIONS
            }
            nothing = {AMOUNTS["meta"]: pl.lit(0, pl.Int64), SECONDS["meta"]: pl.lit(0.0)}
            moved = part.filter(pl.sum_horizontal(BYTES) > 0).with_columns(job=pl.lit(one.job), **seconds, **nothing)
            found.append(moved.select(rows.columns))
    return pl.concat(found), rest.filter(pl.sum_horizontal(BYTES) > 0).sort("storage", "slice")


def estimated_words(named: Sequence[str | None], neighbours: Sequence[Digest]) -> list[str]:
    """Which of the neighbours with these names moved bytes that no call's end counted."""
    found = []
    its = [one for one in neighbours if one.job in set(named)]
    unfinished = mishaps_of(its, UNFINISHED)
    profiled = set(frames_of(its, "processes").filter(is_profiled())["place"])
    for place, one in enumerate(its):
        if unfinished[place]:
            found.append(f"{one.job} was killed within a call: what it transferred in that call is an estimate")
        if place not in profiled:
            found.append(f"{one.job} could not be profiled: what it transferred is an estimate, by the kernel's count")
    return found


def _sampled_on_grid(digest: Digest, grid_ns: int) -> pl.DataFrame:
    """What the kernel moved between storages and memory for a job's processes that no library profiled, where it is
    known on which storage: storage, slice, BYTES.
    """
    if digest.sampled_storages.is_empty():
        return pl.DataFrame(schema={"storage": pl.UInt64, "slice": pl.Int64, **OF_BYTES})
    return on_storages(digest.sampled_slices, digest.sampled_storages).with_columns(
        slice=pl.col("slice") * digest.node_slice_ns // grid_ns
    )


def _moved_of(there: pl.DataFrame, its: pl.DataFrame, name: str) -> pl.Series:
    """By slices of `there`, how much of what was moved processes account for that moved `its`."""
    slices, sums = its["slice"].to_numpy(), np.append(0, its[name].to_numpy().cumsum())
    by_then, before = (sums[np.searchsorted(slices, there["slice"].to_numpy() + ahead, "right")] for ahead in (1, -2))
    found, given = [], 0
    for moved, most, least in zip(there[name].to_list(), by_then.tolist(), before.tolist(), strict=True):
        given = max(given, least) if name == "read_bytes" else given
        found.append(min(moved, max(0, most - given)))
        given += found[-1]
    return pl.Series(name, found, pl.Int64)


def apart(rest: pl.DataFrame, rows: pl.DataFrame, known: Mapping[int, Capacities], grid_ns: int) -> list[int]:
    """The storages on which traffic without a profile took nothing from the profiled jobs.

    There it came and went, and the jobs together, who waited throughout, were as fast as ever: what limits them (a
    limit of their own, a link) does not limit that traffic. rest: of `unprofiled`; rows: `timeline.job_rows` of all
    jobs. Traffic that was the same throughout cannot be told apart from a slow storage, and stays.
    """
    seconds = grid_ns / 1e9
    found = []
    for (storage,), its in rest.group_by("storage", maintain_order=True):
        most = known[int(str(storage))].most if int(str(storage)) in known else {}
        if not most:
            continue
        together = (
            rows.filter(pl.col("storage") == storage)
            .group_by("slice", maintain_order=True)
            .agg(pl.col(*AMOUNTS.values(), *SECONDS.values()).sum())
            .filter(pl.sum_horizontal(SECONDS.values()) >= seconds)
            .join(its.select("slice", *(pl.col(name).alias(f"{name}_rest") for name in BYTES)), on="slice", how="left")
            .fill_null(0)
        )
        if len(together) < FEWEST_TOGETHER:
            continue
        jobs = together.select(pl.sum_horizontal(pl.col(AMOUNTS[kind]) / rate for kind, rate in most.items()))
        others = together.select(pl.sum_horizontal(f"{name}_rest" for name in BYTES) / max(most.values()) / seconds)
        speeds, traffic = jobs.to_series().to_numpy(), others.to_series().to_numpy()
        is_there = traffic >= np.median(traffic) + LEAST_CHANGE
        slowest, fastest = np.quantile(speeds, ENDS)
        if (
            is_there.sum() >= FEWEST_WITH_IT
            and min(slowest, np.median(speeds[is_there])) >= (1 - MOST_CHANGE) * fastest
        ):
            found.append(int(str(storage)))
    return found


def _sampled_nodes(digest: Digest) -> list[str]:
    return sorted(digest.node_samples["node"].unique().to_list())


def _beside_calls(
    digests: Sequence[Digest], storage: Storage, start_ns: int, end_ns: int
) -> tuple[dict[str, int], int]:
    """What a disk moves for jobs beside the bytes of their calls: a file system's journal and its blocks, by their
    syncs and metadata calls; and what the kernel fetched for the first of them, ahead or for mappings, in no slice, and
    for others in whole pages. And the bytes that their calls wrote meanwhile.
    """
    if not storage.host:
        return {}, 0
    wrote = called = 0
    fetched = unplaced_bytes(digests[0])
    for digest in digests:
        begin = pl.col("slice") * digest.slice_ns
        there = digest.process_slices.filter(
            pl.col("storage") == storage.number, begin <= end_ns, begin + digest.slice_ns > start_ns
        )
        syncs, calls, moved, reads = there.select(pl.col("sync_ops", "meta_ops", "write_bytes", "read_ops").sum()).row(
            0
        )
        if digest is not digests[0]:
            fetched += min(unplaced_bytes(digest), PAGE_BYTES * MOST_PAGES_A_CALL * reads)
        wrote += JOURNAL_A_SYNC * (syncs + synced_writes(digest, storage.number)) + round(
            BLOCK_A_CALL * changing(digest, moved > calls) * calls
        )
        called += moved
    return {"write_bytes": wrote, "read_bytes": fetched}, called


def changing(digest: Digest, does_write: bool) -> float:
    """The part of a job's calls on metadata that may change some; 1 where nobody knows."""
    if "calls" in digest.not_kept:
        return 1.0
    sums = digest.calls.group_by("operation").agg(pl.col("calls").sum())
    on_metadata = {name: count for name, count in sums.iter_rows() if digest.kind_of_operation(name) == "meta"}
    nothing = CHANGES_NOTHING if does_write else (*CHANGES_NOTHING, *OPENS)
    may_change = sum(count for name, count in on_metadata.items() if name not in nothing)
    return may_change / sum(on_metadata.values()) if on_metadata else 1.0


def excess(name: str, own: int, least_bytes: float = WORTH_NAMING_BYTES) -> pl.Expr:
    """What a counter shows beyond the profiles ({name}_seen) in one direction, by slice. own: what it shows of the jobs
    themselves beside their calls.

    Sums over the run say how much it is, and nothing where that is not worth a word. Each slice gets its part of it in
    proportion to its own excess.
    """
    counted, seen = pl.col(name), pl.col(f"{name}_seen")
    more = counted.sum() - seen.sum() - own
    above = (counted - seen).clip(0)
    share = above * (more / above.sum())
    is_real = (more > _least_named(name, own, least_bytes)) & (above.sum() > 0)
    return pl.when(is_real).then(share).otherwise(0).round().cast(pl.Int64).alias(name)


def _least_named(name: str, own: int, least_bytes: float) -> pl.Expr:
    """Less is not worth a word; what is a job's own is known to a factor of two."""
    return pl.max_horizontal(pl.lit(max(least_bytes, own)), MARGIN * pl.col(name).sum())
