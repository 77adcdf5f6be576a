"""Which clients that file servers counted are nodes of jobs that a catalog has, too: what they moved while the jobs ran
is the jobs' own, once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from slicewise.catalog.answers import Answers
from slicewise.catalog.schema import KEY
from slicewise.catalog.store import Batch, Catalog
from slicewise.constants import EQUAL_VOLUMES, LEAST_STRANGER, SECOND_NS, WORTH_NAMING_BYTES
from slicewise.digest.clients import as_nodes, is_address
from slicewise.digest.processes import SERVED, unknown_node

# In a job's time a client was its node: from start_ns until until_ns.
SPANS = {KEY: pl.UInt64, "storage": pl.UInt64, "start_ns": pl.Int64, "until_ns": pl.Int64}
# Of the frame of jobs.
IS_PROFILED = pl.col("source") != SERVED
BYTES = pl.sum_horizontal("read_bytes", "write_bytes")
CALLS = pl.sum_horizontal("read_ops", "write_ops", "meta_ops")
# Bytes a second: what a client sends and gets that uses nothing (CephFS: 0.1 to 2.9 KiB a second, for keep-alives and
# renewals). A request and its answer have 200 bytes.
IDLE_RATE = 4096
# Bytes: what a call sends and gets beside its data at most (files of 4 KiB that are made and removed on GlusterFS and
# CephFS: 0.9 KiB a call).
BYTES_A_CALL = 2048
# So many pairs of a job and a client are looked at together: it bounds memory.
PAIRS_AT_ONCE = 2_000_000


def once(catalog: Catalog, batches: Sequence[Batch], rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows of `job_slices`, without those of clients that are of profiled jobs of their nodes once more."""
    known = clients(catalog, batches)
    if known.is_empty():
        return rows
    own = Answers(catalog, batches).known("own-nodes", lambda: _Counted(catalog, batches, known).own_nodes())
    return rows if own.is_empty() else _outside(rows, own)


def at_work(catalog: Catalog, batches: Sequence[Batch], rows: pl.LazyFrame) -> pl.LazyFrame:
    """The same without slices in which a client was idle, though it sent keep-alives."""
    known = clients(catalog, batches)[KEY]
    if known.is_empty():
        return rows
    is_idle = IDLE_RATE * (pl.col("end_ns") - pl.col("begin_ns")) > BYTES * SECOND_NS
    return once(catalog, batches, rows).remove(pl.col(KEY).is_in(known.implode()) & is_idle)


def served_jobs(catalog: Catalog, batches: Sequence[Batch]) -> pl.DataFrame:
    """The jobs that file servers alone know: key."""
    return catalog.scan("jobs", batches).filter(~IS_PROFILED).select(KEY).collect()


def clients(catalog: Catalog, batches: Sequence[Batch]) -> pl.DataFrame:
    """Those of them that are clients, and what these are called: key, node."""
    served = served_jobs(catalog, batches)
    if served.is_empty():
        return served.with_columns(node=pl.lit(""))
    nodes = catalog.scan("processes", batches).filter(pl.col(KEY).is_in(served[KEY].implode())).select(KEY, "node")
    return nodes.filter(pl.col("node") != unknown_node()).unique().collect()


def beside_served(catalog: Catalog, batches: Sequence[Batch]) -> pl.DataFrame:
    """The profiled jobs beside which servers counted others, jobs or clients that are not their nodes: their keys. Who
    did next to nothing of all that was done there meanwhile is nobody."""
    known = clients(catalog, batches)
    counted = _Counted(catalog, batches, known)
    return counted.beside(served_jobs(catalog, batches).join(known, on=KEY, how="anti"), counted.own_nodes())


def _outside(rows: pl.LazyFrame, spans: pl.DataFrame) -> pl.LazyFrame:
    at = rows.sort("begin_ns").join_asof(
        spans.sort("start_ns").lazy(),
        left_on="begin_ns",
        right_on="start_ns",
        by=[KEY, "storage"],
        check_sortedness=False,
    )
    return at.filter((pl.col("begin_ns") >= pl.col("until_ns")).fill_null(True)).drop("start_ns", "until_ns")


class _Counted:
    """What servers counted of clients, beside what profiled jobs did on the same storages."""

    def __init__(self, catalog: Catalog, batches: Sequence[Batch], known: pl.DataFrame) -> None:
        """known: of `clients`."""
        known = known.with_columns(node=as_nodes(known["node"]))
        rows = catalog.scan("job_slices", batches)
        self._rows = rows.select(KEY, "storage", "begin_ns", "end_ns", bytes=BYTES, calls=CALLS)
        # key, storage, begin_ns, end_ns, bytes, calls, node: of clients.
        self.moved = self._rows.join(known.lazy(), on=KEY).collect()
        profiled = catalog.scan("jobs", batches).filter(IS_PROFILED)
        there = rows.join(served_jobs(catalog, batches).lazy(), on=KEY, how="semi").select("storage").unique()
        # The same of profiled jobs on the storages of all that servers alone know, without node.
        self.did = (
            self._rows.join(there, on="storage", how="semi").join(profiled.select(KEY), on=KEY, how="semi").collect()
        )
        ran = catalog.scan("processes", batches).select(KEY, "node").unique()
        self.ran = ran.join(self.did.select(KEY).unique().lazy(), on=KEY, how="semi").collect()
        self.ran = self.ran.with_columns(node=as_nodes(self.ran["node"]))
        # When these lived: key, storage, start_ns, until_ns, slice_ns, own (bytes), calls, nodes.
        slice_ns = (pl.col("end_ns") - pl.col("begin_ns")).max()
        own = self.did.group_by(KEY, "storage").agg(pl.col("calls").sum(), own=pl.col("bytes").sum(), slice_ns=slice_ns)
        lived = profiled.select(KEY, "start_ns", until_ns="end_ns").collect()
        self.lives = (
            own.join(lived, on=KEY)
            .join(self.ran.group_by(KEY).agg(nodes=pl.col("node").n_unique()), on=KEY)
            .sort("start_ns", KEY, "storage")
        )

    def own_nodes(self) -> pl.DataFrame:
        """When clients were nodes of profiled jobs that explain what they moved: SPANS, which do not overlap."""
        if self.moved.is_empty() or self.did.is_empty():
            return pl.DataFrame(schema=SPANS)
        found = pl.concat([self._by_name(), *self._by_address()]).sort(KEY, "storage", "start_ns")
        of_client = [KEY, "storage"]
        is_apart = pl.col("start_ns") > pl.col("until_ns").cum_max().shift(1).over(of_client)
        spans = found.with_columns(span=is_apart.fill_null(True).cum_sum().over(of_client))
        spans = spans.group_by(*of_client, "span").agg(pl.col("start_ns").min(), pl.col("until_ns").max())
        return spans.select(*SPANS).sort(*SPANS)

    def beside(self, served: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
        """As `beside_served`. served: key, of jobs that are no clients. own: of `own_nodes`."""
        if self.lives.is_empty():
            return self.lives.select(KEY)
        by_name = self._rows.join(served.lazy(), on=KEY, how="semi").collect()
        others = pl.concat([by_name, _outside(self.moved.drop("node").lazy(), own).collect()])
        more = [_within(self.lives, others, ["storage"], what) for what in ("bytes", "calls")]
        of_all = [
            one > LEAST_STRANGER * (one + self.lives[what]) for one, what in zip(more, ("own", "calls"), strict=True)
        ]
        return self.lives.filter(of_all[0] | of_all[1]).select(KEY).unique()

    def _wide(self) -> pl.DataFrame:
        """The lives with a slice before and after: what a cache kept is sent later, and clocks differ."""
        margin = pl.col("slice_ns")
        return self.lives.with_columns(pl.col("start_ns") - margin, pl.col("until_ns") + margin)

    def _by_name(self) -> pl.DataFrame:
        did = self.did.join(self.ran, on=KEY)
        lives = self._wide().join(self.ran.join(self.moved.select("node").unique(), on="node", how="semi"), on=KEY)
        of_node = ["node", "storage"]
        lives = lives.with_columns(own=_within(lives, did, of_node), counted=_within(lives, self.moved, of_node))
        named = self.moved.select("node", "storage", client=KEY).unique()
        return _spans(lives.filter(_is_explained("counted", "own")).join(named, on=of_node))

    def _by_address(self) -> Iterator[pl.DataFrame]:
        """Of clients of which an address is known: those that moved more than next to nothing in a job's time, if they
        are no more than the job had nodes, and what they moved is explained, or if all that was moved is what profiled
        jobs did; else the one that moved as much as the job.
        """
        addresses = [name for name in self.moved["node"].unique() if is_address(name)]
        there = pl.col("node").is_in(self.ran["node"].implode())
        moved = self.moved.filter(pl.col("node").is_in(addresses), ~there)
        named = self.moved.select("node").unique()
        lives = (
            self._wide().join(self.ran.join(named, on="node", how="anti"), on=KEY, how="semi").filter(pl.col("own") > 0)
        )
        lives = lives.with_columns(all_own=_within(lives, self.did, ["storage"]))
        by_client = moved.select("storage", "begin_ns", "bytes", client=KEY)
        known = by_client.select("storage", "client").unique()
        for some in lives.iter_slices(max(1, PAIRS_AT_ONCE // max(1, known.height))):
            each = some.join(known, on="storage")
            each = each.with_columns(counted=_within(each, by_client, ["client", "storage"])).filter(
                pl.col("counted") > 0
            )
            of_job = [KEY, "storage"]
            all_of = pl.col("counted").sum().over(of_job)
            loud = each.filter(pl.col("counted") * pl.col("nodes") > LEAST_STRANGER * all_of)
            loud = loud.with_columns(clients=pl.len().over(of_job), all=all_of)
            is_own = (pl.col("clients") <= pl.col("nodes")) & _is_explained("all", "own")
            is_own |= _more("all", "all_own") <= EQUAL_VOLUMES * pl.col("all")
            apart = EQUAL_VOLUMES * pl.col("own") + BYTES_A_CALL * pl.col("calls")
            is_alike = _more("counted", "own").abs() <= apart
            yield _spans(loud.filter(is_own | (is_alike & (is_alike.sum().over(of_job) == 1))))


def _spans(found: pl.DataFrame) -> pl.DataFrame:
    return found.select(pl.col("client").alias(KEY), "storage", "start_ns", "until_ns")


def _is_explained(counted: str, own: str) -> pl.Expr:
    """Whether what clients moved is what jobs did on their nodes, but for what is not worth a word."""
    more = _more(counted, own)
    return (more <= WORTH_NAMING_BYTES) | (more <= EQUAL_VOLUMES * pl.col(counted))


def _more(counted: str, own: str) -> pl.Expr:
    return pl.col(counted).cast(pl.Int64) - pl.col(own).cast(pl.Int64)


def _within(lives: pl.DataFrame, rows: pl.DataFrame, by: Sequence[str], what: str = "bytes") -> pl.Series:
    """The bytes or calls of rows (of the same `by`) that began in each life."""
    sums = rows.group_by(*by, "begin_ns").agg(pl.col(what).sum()).sort("begin_ns")
    sums = sums.with_columns(pl.col(what).cum_sum().over(by)).rename({"begin_ns": "at"})
    asked = lives.with_row_index("place").select("place", *by, "start_ns", "until_ns")
    edges = [
        asked.sort(edge)
        .join_asof(sums, left_on=edge, right_on="at", by=list(by), allow_exact_matches=False, check_sortedness=False)
        .sort("place")[what]
        .fill_null(0)
        for edge in ("start_ns", "until_ns")
    ]
    return edges[1] - edges[0]
