"""Neighbours that nobody profiled, by what file servers counted of each job.

Frames in, frames out. Servers count bytes and operations, and no time: nothing is said of their time in calls.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.blame.counted import by_slice, hot_target
from slicewise.analysis.blame.unprofiled import excess
from slicewise.analysis.calls import AMOUNTS, CALLS, OF_JOBS, SECONDS, job_rows
from slicewise.analysis.runs.storage import Storage, describe_all
from slicewise.constants import EQUAL_VOLUMES, LITTLE_USE, NEARLY_ALL, SAMPLE_NS
from slicewise.digest.clients import is_address, is_loopback, node_name
from slicewise.digest.digest import Digest
from slicewise.digest.fetched import unplaced_bytes
from slicewise.digest.slices import BYTES
from slicewise.digest.storages import NETWORK_TYPES, POOLS, contended, lustre_name, storage_number
from slicewise.text import words

# Who moves such a part of a job's bytes a slice just before or after it goes on with something else.
LOUD = 0.1
# A request and its answer have no fewer bytes: an NFS getattr has 200.
LEAST_REQUEST_BYTES = 100
# So many clients have their names told where it is not known which is which.
MOST_NAMED = 3
# What of a node's traffic is of no profiled job.
REST_OF = "the rest of "
# Who counted, in words.
BY_SERVERS = "the file system's servers"


@dataclass(frozen=True)
class ServerCounts:
    """What the servers of a storage counted. rows: as `timeline.job_rows` of jobs without a profile, with `job`. own:
    the name that the job has there; empty: it is not known; None: nobody asked. own_bytes: what they counted of it.
    all_bytes: of all jobs, while the job ran. elsewhere: how many jobs used other targets alone. hot: the target that
    served far more than others, and its share of all bytes; None: there is none.
    """

    storage: Storage
    rows: pl.DataFrame
    own: str | None
    own_bytes: int
    all_bytes: int
    elsewhere: int = 0
    hot: tuple[str, float] | None = None


def shared_out(
    counted: pl.DataFrame, jobs: Sequence[Digest], storages: Sequence[Storage], grid_ns: int
) -> pl.DataFrame:
    """What servers counted, with the names of profiled jobs for what clients did on whose nodes they ran: all of it
    where their profiles explain it, else their part. The rest is of other programs of that node.

    counted: of `jobstats.read_served`. storages: where to look for what the jobs did.
    """
    clients = counted.filter("is_client")
    storage = next((one for one in storages if _is_of(clients, one)), None) if clients.height else None
    if storage is None:
        return counted
    is_there = _is_on(clients, storage)
    clients, found = clients.filter(is_there), []
    for alike, ran, nodes in _nodes_of_clients(clients, jobs, storage.number, grid_ns):
        its = pl.col("job").is_in(alike) & _is_meanwhile(ran)
        found.append(_shared_out(clients.filter(its), _together(alike), ran, nodes, storage.number, grid_ns))
        clients = clients.remove(its)
    return pl.concat([counted.remove(pl.col("is_client") & is_there), clients, *found])


def let_servers_tell(counted: pl.DataFrame, jobs: Sequence[Digest]) -> None:
    """Gives profiled jobs what servers counted of them by name, or of the clients that their nodes are
    (`Digest.served_by`). Where servers counted a job by its name, that is its own alone.
    """
    profiled = [one for one in jobs if not one.is_served]
    for storage in _storages(profiled):
        _let_tell(counted.filter(_is_on(counted, storage)), profiled, storage.number)


def let_clients_tell(jobs: Sequence[Digest]) -> None:
    """The same where some of the jobs are clients that servers counted, as of a catalog."""
    profiled, clients = [one for one in jobs if not one.is_served], {one.job: one.client for one in jobs if one.client}
    if not clients:
        return
    grid_ns = max(one.slice_ns for one in jobs)
    did = job_rows([one for one in jobs if one.job in clients], grid_ns)
    for storage in _storages(profiled):
        there = did.filter(pl.col("storage") == storage.number)
        _let_tell(_as_counted(there, clients, grid_ns), profiled, storage.number)


def _storages(jobs: Sequence[Digest]) -> list[Storage]:
    return describe_all(sorted({number for one in jobs for number in one.storages["storage"].to_list()}), jobs)


def _let_tell(here: pl.DataFrame, profiled: Sequence[Digest], storage: int) -> None:
    """here: what servers counted on one storage."""
    clients = here.filter("is_client")
    for one in profiled if not here.is_empty() else []:
        if storage in one.storages["storage"]:
            _give(one, one.job, storage, here.filter(~pl.col("is_client"), pl.col("job") == one.job))
            there = [other for other in profiled if _is_during(one, other)]
            for alike, ran, nodes in _nodes_of_clients(clients, there, storage, one.slice_ns):
                if one in ran and len(alike) == 1 and len(nodes) == 1:
                    _give(one, nodes[0], storage, clients.filter(pl.col("job") == alike[0]))


def _is_during(one: Digest, other: Digest) -> bool:
    return bool(
        other.about["start_ns"] < one.about["end_ns"]
        and one.about["start_ns"] < other.about["end_ns"]
        and other.slice_ns <= one.slice_ns
    )


def _give(job: Digest, who: str, storage: int, rows: pl.DataFrame) -> None:
    start_ns, end_ns = int(job.about["start_ns"]), int(job.about["end_ns"])
    sliced = by_slice(rows, job.slice_ns, start_ns, end_ns, ())
    if not sliced.is_empty():
        job.served_by = (
            *job.served_by,
            (who, storage, sliced.select("slice", sent=pl.col("write_bytes").cast(pl.Float64))),
        )


def _nodes_of_clients(
    clients: pl.DataFrame, jobs: Sequence[Digest], storage: int, grid_ns: int
) -> Iterator[tuple[list[str], list[Digest], list[str]]]:
    """Which clients are nodes of profiled jobs: the client, the jobs that ran there, and the nodes by the jobs' names.
    Where several clients may be a node, all of them.
    """
    on_node: dict[str, dict[str, list[Digest]]] = {}
    for one in jobs:
        for node in [] if one.is_served else one.processes["node"].unique():
            on_node.setdefault(node_name(node), {}).setdefault(node, []).append(one)
    names = {client: node_name(client) for client in clients["job"].unique(maintain_order=True)}
    for client, name in names.items():
        here = on_node.get(name, {})
        if here:
            yield [client], list({id(one): one for some in here.values() for one in some}.values()), list(here)
    named = set(names.values())
    nameless = [next(iter(here.items())) for node, here in on_node.items() if node not in named and len(here) == 1]
    addresses = [client for client, name in names.items() if is_address(name) and name not in on_node]
    ends = _addresses_of(jobs) if nameless and addresses else {}
    for node, ran in list(nameless):
        if its := [client for client in addresses if names[client] in ends.get(node, ())]:
            yield its, ran, [node]
            nameless.remove((node, ran))
            addresses = [client for client in addresses if client not in its]
    yield from _clients_of(clients.filter(pl.col("job").is_in(addresses)), nameless, storage, grid_ns)


def _addresses_of(jobs: Sequence[Digest]) -> dict[str, set[str]]:
    """The addresses of nodes that are nobody else's, as collectors there saw them."""
    found: dict[str, set[str]] = {}
    for one in jobs:
        for node, addresses in ({} if one.is_served else one.addresses).items():
            found.setdefault(node, set()).update(map(node_name, addresses))
    times = Counter(address for addresses in found.values() for address in addresses)
    return {
        node: {one for one in addresses if times[one] == 1 and is_address(one) and not is_loopback(one)}
        for node, addresses in found.items()
    }


def clients_shared_out(
    did: pl.DataFrame, jobs: Sequence[Digest], storages: Sequence[Storage], grid_ns: int
) -> pl.DataFrame:
    """What jobs did, without what profiled jobs did once more in the names of their nodes: of these the rest is left.

    did: `timeline.job_rows` of the jobs, of which some are clients that servers counted, as of a catalog.
    """
    names = {one.job: one.client for one in jobs if one.client}
    if not names:  # the processes of large neighbours are not read for nothing
        return did
    nodes = {node_name(node) for one in jobs if not one.is_served for node in one.processes["node"].unique()}
    clients = [job for job, name in names.items() if name in nodes or is_address(name)]
    found = [did.remove(pl.col("job").is_in(clients))]
    for storage in storages if clients else []:
        rows = did.filter(pl.col("job").is_in(clients), pl.col("storage") == storage.number)
        counted = _as_counted(rows, names, grid_ns)
        left = shared_out(counted, jobs, [storage], grid_ns).filter("is_client")
        left = left.with_columns(pl.col("job").replace({name: job for job, name in names.items()}))
        by_slice = left.group_by("job", slice=pl.col("begin_ns") // grid_ns).agg(pl.col(AMOUNTS.values()).sum())
        found.append(
            by_slice.select(
                "job",
                "slice",
                *AMOUNTS.values(),
                storage=pl.lit(storage.number, pl.UInt64),
                **{name: pl.lit(grid_ns / 1e9) for name in SECONDS.values()},
            )
            .sort("job", "slice")
            .select(did.columns)
        )
    return pl.concat(found)


def _as_counted(rows: pl.DataFrame, names: Mapping[str, str], grid_ns: int) -> pl.DataFrame:
    """What clients did on one storage as servers' counts of them: a catalog may hide jobs' names, and shows nodes'."""
    begin = pl.col("slice") * grid_ns
    return rows.select(
        pl.col("job").replace(names),
        *AMOUNTS.values(),
        target=pl.lit(""),
        begin_ns=begin,
        end_ns=begin + grid_ns,
        **dict.fromkeys(("read_ops", "write_ops", "busy_ns"), pl.lit(0, pl.Int64)),
        is_client=pl.lit(True),
    )


def _clients_of(
    clients: pl.DataFrame, nodes: Sequence[tuple[str, list[Digest]]], storage: int, grid_ns: int
) -> Iterator[tuple[list[str], list[Digest], list[str]]]:
    """As `_nodes_of_clients`, of clients of which only an address is known. Of several that may be a node, it is not
    one that another node is, but the one that was silent before and after, or the one that moved as many bytes. Nodes
    that may be the same clients, as those of one job are, are told together.
    """
    own = {node: _own(jobs, node, storage, grid_ns) for node, jobs in nodes}
    found = {node: _alike(clients.filter(_is_meanwhile(jobs)), own[node], grid_ns) for node, jobs in nodes}
    sure = {node: next(iter(alike)) for node, (alike, near) in found.items() if len(alike) == 1 and near <= alike}
    groups: list[tuple[list[str], list[Digest], list[str]]] = []
    for node, jobs in nodes:
        most = sum(other == jobs for _, other in nodes)
        by_bytes, near = found[node]
        others = {client for other, client in sure.items() if other != node}
        alike = (by_bytes | near) - others
        if len(alike) > most:
            ways = (_silent(alike, clients, own[node], jobs, grid_ns), by_bytes & near, by_bytes)
            alike = next((left for way in ways if 0 < len(left := way & alike) <= most), alike)
        same = [group for group in groups if set(group[0]) & set(alike)]
        together = [*same, (alike, jobs, [node])]
        groups = [group for group in groups if group not in same]
        groups.append(
            (
                sorted({one for group in together for one in group[0]}),
                list({id(job): job for group in together for job in group[1]}.values()),
                [name for group in together for name in group[2]],
            )
        )
    yield from (group for group in groups if group[0])


def _own(jobs: Sequence[Digest], node: str, storage: int, grid_ns: int) -> pl.DataFrame:
    own = job_rows(jobs, grid_ns, [node]).filter(pl.col("storage") == storage)
    return own.group_by("slice").agg(pl.col(AMOUNTS.values()).sum())


def _least(own: pl.DataFrame) -> int:
    """The bytes that a client moved at least that did this."""
    sums = own.select(pl.sum_horizontal(BYTES).sum(), pl.col("meta_ops").sum() * LEAST_REQUEST_BYTES).row(0)
    return int(max(sums))


def _alike(clients: pl.DataFrame, own: pl.DataFrame, grid_ns: int) -> tuple[set[str], set[str]]:
    """The clients that may be a node: those that moved the bytes of its jobs in their time; and those that moved enough
    in every slice in which the jobs moved bytes, or, where nobody did, since a cache kept them, as much as requests
    need in the slices with requests.
    """
    if not _least(own) or clients.is_empty():
        return set(), set()
    moved = int(own.select(pl.sum_horizontal(BYTES).sum()).item())
    totals = clients.group_by("job").agg(bytes=pl.sum_horizontal(BYTES).sum())
    by_bytes = set(totals.filter((pl.col("bytes") - moved).abs() < EQUAL_VOLUMES * moved)["job"])
    by_client = clients.partition_by("job", as_dict=True)
    near, asked = (
        {str(one) for (one,), rows in by_client.items() if _could_be(own, rows, grid_ns, requests)}
        for requests in (False, True)
    )
    return by_bytes, near if by_bytes | near else asked


def _silent(
    alike: set[str], clients: pl.DataFrame, own: pl.DataFrame, jobs: Sequence[Digest], grid_ns: int
) -> set[str]:
    """Those of some clients that moved next to nothing in the last slice before jobs and in the first one after."""
    least = LOUD * _least(own) / max(1, own.height)
    return alike - set(_before_and_after(clients, jobs, grid_ns).filter(pl.col("bytes") > least)["job"])


def _together(clients: Sequence[str]) -> str:
    return words.listing(clients) if len(clients) <= MOST_NAMED else f"{len(clients)} clients"


def _before_and_after(clients: pl.DataFrame, jobs: Sequence[Digest], grid_ns: int) -> pl.DataFrame:
    first = int(min(one.about["start_ns"] for one in jobs)) // grid_ns
    last = int(max(one.about["end_ns"] for one in jobs)) // grid_ns
    near = by_slice(clients, grid_ns, (first - 1) * grid_ns, (last + 2) * grid_ns, ("job",))
    outside = near.remove(pl.col("slice").is_between(first, last))
    return outside.group_by("job").agg(bytes=pl.sum_horizontal(BYTES).sum())


def _could_be(own: pl.DataFrame, client: pl.DataFrame, grid_ns: int, requests: bool) -> bool:
    """Whether a client moved what jobs did, in the same slices or those beside them: their bytes, or the least that
    their requests need. own: slice, and AMOUNTS.
    """
    served = by_slice(client, grid_ns, int(client["begin_ns"].min()), int(client["end_ns"].max()), ())  # type: ignore[arg-type]
    near = pl.concat([served.select(pl.col("slice") + step, *BYTES) for step in (-1, 0, 1)])
    both = own.join(near.group_by("slice").agg(pl.col(BYTES).sum()), on="slice", how="left", suffix="_served")
    if requests:
        pairs = [(pl.col("meta_ops") * LEAST_REQUEST_BYTES, pl.sum_horizontal(f"{name}_served" for name in BYTES))]
    else:
        pairs = [(pl.col(name), pl.col(f"{name}_served").fill_null(0)) for name in BYTES]
    wanted = sum(int(both.select(want.sum()).item()) for want, _ in pairs)
    common = sum(int(both.select(pl.min_horizontal(*pair).sum()).item()) for pair in pairs)
    return common >= NEARLY_ALL * wanted > 0


def _is_meanwhile(jobs: Sequence[Digest]) -> pl.Expr:
    begin_ns = int(min(one.about["start_ns"] for one in jobs))
    end_ns = int(max(one.about["end_ns"] for one in jobs))
    return (pl.col("end_ns") > begin_ns) & (pl.col("begin_ns") < end_ns)


def _shared_out(
    rows: pl.DataFrame, client: str, jobs: Sequence[Digest], nodes: Sequence[str], storage: int, grid_ns: int
) -> pl.DataFrame:
    did = job_rows(jobs, grid_ns, nodes).filter(pl.col("storage") == storage)
    moved = did.group_by("job").agg(bytes=pl.sum_horizontal(BYTES).sum()).filter(pl.col("bytes") > 0).sort("job")
    if rows.is_empty() or moved.is_empty():
        return rows
    sliced = by_slice(rows, grid_ns, int(rows["begin_ns"].min()), int(rows["end_ns"].max()), ("target",))  # type: ignore[arg-type]
    own = {"read_bytes": sum(unplaced_bytes(one) for one in jobs)}
    seen = did.group_by("slice").agg(pl.col(BYTES).sum())
    both = sliced.group_by("slice").agg(pl.col(BYTES).sum())
    both = both.join(seen, on="slice", how="full", suffix="_seen", coalesce=True).fill_null(0).sort("slice")
    both = both.with_columns(excess(name, own.get(name, 0)).alias(f"{name}_rest") for name in BYTES)
    of_bytes = pl.sum_horizontal(f"{name}_rest" for name in BYTES) / pl.sum_horizontal(BYTES)
    shares = both.select(
        "slice",
        *((pl.col(f"{name}_rest") / pl.col(name)).fill_nan(0.0).alias(f"{name}_share") for name in BYTES),
        meta_ops_share=of_bytes.fill_nan(0.0),
    )
    split = sliced.join(shares, on="slice", how="left", maintain_order="left")
    names = ("read_bytes", "write_bytes", "meta_ops")
    rest = {name: (pl.col(name) * pl.col(f"{name}_share")).round().cast(pl.Int64) for name in names}
    parts = [(REST_OF + client, True, rest)]
    for job, part in zip(moved["job"], (moved["bytes"] / moved["bytes"].sum()).to_list(), strict=True):
        parts.append(
            (job, False, {name: ((pl.col(name) - rest[name]) * part).round().cast(pl.Int64) for name in names})
        )
    told = [
        split.select(
            "target",
            pl.lit(name).alias("job"),
            begin_ns=pl.col("slice") * grid_ns,
            end_ns=(pl.col("slice") + 1) * grid_ns,
            **amounts,
            read_ops=pl.lit(0, pl.Int64),
            write_ops=pl.lit(0, pl.Int64),
            busy_ns=pl.lit(0, pl.Int64),
            is_client=pl.lit(is_client),
        )
        for name, is_client, amounts in parts
    ]
    return pl.concat(told).filter(pl.any_horizontal(pl.col(names) > 0)).select(rows.columns)


def served_on(
    counted: pl.DataFrame,
    storages: Sequence[Storage],
    did: pl.DataFrame,
    lifetimes: Sequence[tuple[str, int, int]],
    grid_ns: int,
) -> ServerCounts | None:
    """What servers counted on one of the job's storages; None where they are none of its servers.

    counted: of `jobstats.read_served`. storages: the job's, most used first. did: `timeline.job_rows` of all profiled
    jobs. lifetimes: of these, the job itself first: name, start and end (ns).
    """
    storage = next((one for one in storages if _is_of(counted, one)), None)
    if storage is None or not lifetimes:
        return None
    here = counted.filter(_is_on(counted, storage))
    of_all = pl.sum_horizontal("read_bytes", "write_bytes").sum()
    sums = here.group_by("job").agg(bytes=of_all)
    known: dict[str, str] = {}
    for name, start_ns, end_ns in lifetimes:
        found = _name_of(
            name, start_ns, end_ns, here, sums.filter(~pl.col("job").is_in(list(known.values()))), did, storage
        )
        if found:
            known[name] = found
    own, start_ns, end_ns = lifetimes[0]
    sliced = by_slice(here, grid_ns, start_ns - grid_ns, end_ns + grid_ns, ("job", "target"))
    is_meanwhile = pl.col("slice").is_between(start_ns // grid_ns, end_ns // grid_ns)
    name = known.get(own, "")
    used = _targets_of(here.filter(pl.col("job") == name))
    near = sliced.filter(pl.col("target").is_in(used)) if used else sliced
    by_job = near.group_by("job", "slice").agg(pl.col(AMOUNTS.values()).sum()).sort("job", "slice")
    rows = by_job.remove(pl.col("job").is_in(list(known.values()))).with_columns(
        pl.lit(storage.number, pl.UInt64).alias("storage"),
        *(pl.lit(grid_ns / 1e9).alias(seconds) for seconds in SECONDS.values()),
    )
    return ServerCounts(
        storage,
        rows.select("job", *OF_JOBS),
        name,
        int(sums.filter(pl.col("job") == name)["bytes"].sum()),
        int(sliced.filter(is_meanwhile).select(of_all).item()),
        elsewhere=len(set(sliced.filter(is_meanwhile)["job"]) - set(near["job"]) - {name}),
        hot=hot_target(here, start_ns, end_ns, used),
    )


def strangers_counted(
    counted: pl.DataFrame, run: Digest, storages: Sequence[Storage], did: pl.DataFrame, grid_ns: int
) -> dict[str, tuple[int, int, int]]:
    """What servers counted of others on the targets of a run while it went on, and of all; and of all in the slice in
    which most was counted: of bytes, and of requests of metadata, which all calls of the run are held against. counted,
    storages, grid_ns: as of `served_on`. did: `timeline.job_rows` of the run.
    """
    start_ns, end_ns = int(run.about["start_ns"]), int(run.about["end_ns"])
    near = counted.filter(pl.col("begin_ns") < end_ns + 2 * grid_ns, pl.col("end_ns") > start_ns - 2 * grid_ns)
    counted = shared_out(near, [run], storages, grid_ns)
    found = served_on(counted, storages, did, [(run.job, start_ns, end_ns)], grid_ns)
    if found is None:
        return {}
    here = counted.filter(_is_on(counted, found.storage))
    used = _targets_of(here.filter(pl.col("job") == found.own)) or here["target"].unique().to_list()
    inside = pl.min_horizontal("end_ns", end_ns) - pl.max_horizontal("begin_ns", start_ns)
    share = inside / (pl.col("end_ns") - pl.col("begin_ns"))
    near = here.filter(pl.col("target").is_in(used), inside > 0)
    own = near.filter(pl.col("job") == found.own) if found.own else None
    calls = did.filter(pl.col("storage") == found.storage.number)
    most = by_slice(near, grid_ns, start_ns, end_ns, ()) if not near.is_empty() else near
    told = []
    for columns in (BYTES, (AMOUNTS["meta"],)):
        amount = pl.sum_horizontal(columns)
        everything = near.select((amount * share).sum()).item()
        its = calls.select(amount.sum()).item() if own is None else own.select((amount * share).sum()).item()
        busiest = 0 if most.is_empty() else most.select(amount.max()).item()
        told.append((max(0, round(everything - its)), round(everything), int(busiest)))
    (more, of_all, busiest), (requests, _, most_requests) = told
    there = run.process_slices.filter(pl.col("storage") == found.storage.number)
    made = there.select(pl.sum_horizontal(*CALLS.values(), AMOUNTS["meta"]).sum()).item()
    return {"bytes": (more, of_all, busiest), "requests": (requests, requests + int(made or 0), most_requests)}


def _targets_of(own: pl.DataFrame) -> list[str]:
    """The targets that a job used: jobs on others do not hurt it. Nothing where the job or the targets have no name."""
    moved = own.group_by("target").agg(
        bytes=pl.sum_horizontal("read_bytes", "write_bytes").sum(), meta_ops=pl.col("meta_ops").sum()
    )
    share = [pl.col(name) > LITTLE_USE * pl.col(name).sum() for name in ("bytes", "meta_ops")]
    used = moved.filter(pl.any_horizontal(share))["target"].to_list()
    return used if all(target and target != "storage" for target in used) else []


def served_neighbours(
    job: Digest, neighbours: Sequence[Digest], storages: Sequence[Storage], did: pl.DataFrame, grid_ns: int
) -> ServerCounts | None:
    """The neighbours that servers alone know, as of a catalog, on the storage where most of their bytes are; None:
    there are none. job: whose neighbours they are. did: `timeline.job_rows` of all jobs.
    """
    names = [one.job for one in neighbours if one.is_served]
    names += [name for name in did["job"].unique().sort() if name.startswith(REST_OF)]
    here = did.filter(pl.col("job").is_in(names), pl.col("storage").is_in([one.number for one in storages]))
    if here.is_empty():
        return None
    moved = pl.sum_horizontal("read_bytes", "write_bytes")
    most = here.group_by("storage").agg(moved.sum().alias("bytes")).sort("bytes", "storage")["storage"][-1]
    there = did.filter(pl.col("storage") == most)
    rows = there.filter(pl.col("job").is_in(names)).with_columns(
        pl.lit(grid_ns / 1e9).alias(seconds) for seconds in SECONDS.values()
    )
    storage = next(one for one in storages if one.number == most)
    is_meanwhile = pl.col("slice").is_between(job.about["start_ns"] // grid_ns, job.about["end_ns"] // grid_ns)
    all_bytes = int(there.filter(is_meanwhile).select(moved.sum()).item())
    return ServerCounts(storage, rows.select("job", *OF_JOBS), None, 0, all_bytes)


def _is_of(counted: pl.DataFrame, storage: Storage) -> bool:
    return any(_is_target(name, storage) for name in counted["target"].unique().to_list())


def _is_on(counted: pl.DataFrame, storage: Storage) -> pl.Expr:
    return pl.col("target").is_in([name for name in counted["target"].unique() if _is_target(name, storage)])


def _is_target(target: str, storage: Storage) -> bool:
    if storage.type not in NETWORK_TYPES:
        return False
    if target in ("", "storage") or target.startswith("#"):
        return True
    if storage.type == "lustre":
        name = lustre_name(storage.source)
        return target == name or target.startswith((f"{name}-OST", f"{name}-MDT"))
    kind, server, *_ = contended(storage.type, storage.source, "", "")
    is_server = target.lower() == server.lower() or storage.number == storage_number(kind, target.lower(), "", "")
    is_of_pool = "/" in target and target.partition("/")[0] == POOLS.get(storage.type)
    return is_server or is_of_pool or target == storage.source.rstrip("/").rpartition("/")[2]


def _name_of(
    name: str, start_ns: int, end_ns: int, here: pl.DataFrame, sums: pl.DataFrame, did: pl.DataFrame, storage: Storage
) -> str:
    """What the servers call a profiled job: its name, or that of the one job that moved its bytes in its time."""
    if name in sums["job"].to_list():
        return name
    moved = did.filter(pl.col("job") == name, pl.col("storage") == storage.number)
    own = int(moved.select(pl.sum_horizontal("read_bytes", "write_bytes").sum()).item())
    if not own:
        return ""
    is_in_time = (pl.col("begin_ns") >= start_ns - SAMPLE_NS) & (pl.col("end_ns") <= end_ns + SAMPLE_NS)
    inside = here.filter(is_in_time).group_by("job").agg(inside=pl.sum_horizontal("read_bytes", "write_bytes").sum())
    alike = sums.join(inside, on="job").filter(
        (pl.col("bytes") - own).abs() <= EQUAL_VOLUMES * own, pl.col("inside") >= NEARLY_ALL * pl.col("bytes")
    )
    return str(alike["job"][0]) if alike.height == 1 else ""


def with_time(job: Digest, runs: Sequence[Digest]) -> list[Digest]:
    """The runs of a job's program whose time in calls can be compared with its own."""
    return [] if job.is_served else [run for run in runs if not run.is_served]


def shadows(jobs: Sequence[Digest], did: pl.DataFrame) -> dict[str, str]:
    """Those of some jobs that servers counted, and that are one of the others, which has a profile: of one name, or
    with the same bytes in its time; by name, with the other's name. Blaming a job for its own traffic would be the
    worst answer.

    did: `timeline.job_rows` of all of them.
    """
    served = [job for job in jobs if job.is_served]
    profiled = [job for job in jobs if not job.is_served]
    if not served or not profiled:
        return {}
    sums = did.group_by("job", "storage").agg(bytes=pl.sum_horizontal("read_bytes", "write_bytes").sum())
    moved = {(job, storage): much for job, storage, much in sums.iter_rows()}
    return {one.job: other.job for one in served for other in profiled if _is_shadow(one, other, moved)}


def _is_shadow(one: Digest, other: Digest, moved: Mapping[tuple[str, object], int]) -> bool:
    its, own = one.about, other.about
    if its["end_ns"] < own["start_ns"] or own["end_ns"] < its["start_ns"]:
        return False
    if _plain(one.job) == _plain(other.job):
        return True
    is_within = its["start_ns"] >= own["start_ns"] - SAMPLE_NS and its["end_ns"] <= own["end_ns"] + SAMPLE_NS
    storages = [storage for job, storage in moved if job == one.job]
    return is_within and any(
        moved.get((other.job, storage), 0) > 0
        and abs(moved[one.job, storage] - moved[other.job, storage]) <= EQUAL_VOLUMES * moved[other.job, storage]
        for storage in storages
    )


def _plain(name: str) -> str:
    """A job's name without the number that later ones of one name have."""
    return re.sub(r" \(\d+\)$", "", name)


def served_words(served: ServerCounts, names: Sequence[str | None], own_bytes: int) -> list[str]:
    """What to say of it. names: of the neighbours that are told of. own_bytes: what the job's own calls moved there."""
    unprofiled = set(served.rows["job"].unique().to_list())
    by_servers = [name for name in names if name is not None and name in unprofiled]
    found = []
    if by_servers:
        who = words.listing(by_servers)
        has = "has" if len(by_servers) == 1 else "have"
        who = who[0].upper() + who[1:] if who.startswith(REST_OF) else who
        found.append(f"{who} {has} no profile: the servers of {served.storage.point} counted what moved")
    if served.own:
        theirs, ours = words.size(served.own_bytes), words.size(own_bytes)
        found.append(f"The servers know this job as {served.own}: they counted {theirs}, and its calls moved {ours}")
        if served.own_bytes > (1 + EQUAL_VOLUMES) * own_bytes:
            found.append(
                "The servers counted more than its calls moved, and no cache explains that: programs of it without a "
                "profile, memory-mapped files, reading ahead, or, where clients are counted, requests themselves"
            )
        elif served.own_bytes < (1 - EQUAL_VOLUMES) * own_bytes:
            found.append(
                "The servers counted less than its calls moved: caches served the rest, or it was not written back yet"
            )
    elif served.own is not None and not served.rows.is_empty():
        found.append(
            f"None of the jobs that the servers of {served.storage.point} counted is this job for certain: it may be "
            "among its own neighbours"
        )
    if served.elsewhere:
        others = words.count(served.elsewhere, "job used", "jobs used")
        found.append(f"{others} other targets of {served.storage.point} alone, and cost this job nothing there")
    if served.hot is not None:
        found.append(f"{served.hot[0]} was hot: it served {words.percent(served.hot[1])} of all bytes meanwhile")
    return found
