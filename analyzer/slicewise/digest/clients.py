"""Which job a client of file servers is: the one that ran on its node then."""

import functools
import ipaddress
import re
from pathlib import Path

import polars as pl

# Who had a node when (UNIX time, ns), a row a job and node.
ALLOCATIONS_SCHEMA = {"node": pl.String, "job": pl.String, "begin_ns": pl.Int64, "end_ns": pl.Int64}
HOSTS = Path("/etc/hosts")
# What an address has behind it: Lustre's network (10.0.0.7@tcp1), or a port.
NETWORK, PORT = re.compile(r"@\w+$"), re.compile(r"^(\d+\.\d+\.\d+\.\d+):\d+$|^\[(.+)\]:\d+$")


def with_jobs(rows: pl.DataFrame, allocations: pl.DataFrame) -> pl.DataFrame:
    """What servers counted, with the job's name in place of a client's, wherever one job alone had that node then.
    rows: of `jobstats.read_served`. allocations: as ALLOCATIONS_SCHEMA. A node that several jobs had stays a client:
    nobody knows whose traffic it was.
    """
    if not allocations.height or not rows["is_client"].any():
        return rows
    had = allocations.with_columns(node=as_nodes(allocations["node"])).unique()
    numbered = rows.with_row_index("row")
    clients = numbered.filter("is_client")
    clients = clients.select("row", "begin_ns", "end_ns", node=as_nodes(clients["job"]))
    there = (
        clients.join(had, on="node", suffix="_had")
        .filter(pl.col("begin_ns_had") < pl.col("end_ns"), pl.col("end_ns_had") > pl.col("begin_ns"))
        .group_by("row")
        .agg(pl.col("job").first().alias("of_job"), jobs=pl.col("job").n_unique())
        .filter(pl.col("jobs") == 1)
        .select("row", "of_job")
    )
    is_known = pl.col("of_job").is_not_null()
    return (
        numbered.join(there, on="row", how="left", maintain_order="left")
        .with_columns(job=pl.coalesce("of_job", "job"), is_client=pl.col("is_client") & ~is_known)
        .select(rows.columns)
    )


def as_nodes(names: pl.Series) -> pl.Series:
    return names.replace_strict({name: node_name(name) for name in names.unique()}, return_dtype=pl.String)


def node_name(client: str) -> str:
    """A node by its short name, whatever a client or a scheduler calls it; an address that nobody named stays one."""
    found = PORT.match(client)
    bare = (found[1] or found[2]) if found else NETWORK.sub("", client)
    name = _names().get(bare, bare).lower()
    return bare if is_address(name) else name.partition(".")[0]


@functools.cache
def _names() -> dict[str, str]:
    """The machine's table of addresses: the first name of each, but for those that mean whatever machine it is."""
    try:
        lines = HOSTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    words = [line.partition("#")[0].split() for line in lines]
    return {one[0]: one[1] for one in words if len(one) > 1 and is_address(one[0]) and not is_loopback(one[0])}


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(address: str) -> bool:
    """Whether no other machine reaches an address, which is given in digits."""
    at = ipaddress.ip_address(address)
    mapped = at.ipv4_mapped if isinstance(at, ipaddress.IPv6Address) else None
    return (mapped or at).is_loopback
