"""What a run did and how long that took it: its runtime, and the I/O of the processes that decided it."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from slicewise.analysis.blame.to_runtime import Waits, chains_to_match, in_calls, phase_of_slices, process_chains
from slicewise.analysis.calls import AMOUNTS, CALLS, KINDS, SECONDS, Kind, slice_rows
from slicewise.analysis.job.turns import turns
from slicewise.analysis.runs.matching import Job, run_of
from slicewise.digest.activity import members
from slicewise.digest.digest import Digest
from slicewise.digest.processes import is_profiled
from slicewise.digest.slices import with_mapped
from slicewise.scalars import real


@dataclass(frozen=True)
class Tasks:
    """A run as comparisons see it.

    runtime_ns: from its first process to its last one's end; io_ns: the part of it in calls on files, of the processes
    that decided it: by `waits`, the slowest rank of each phase, or the chain (`to_runtime.ProcessChains`) with most.
    waited_ns: what it waited for its turn at I/O, by the process that waited longest; in no call.
    decided_by: what to call whoever decided most of it. processes: how many there are to choose from. is_unseen: none
    of its processes could be profiled, and of no call is known how long it took.

    amounts: a row a file system (`place`, the same in all runs) and kind: place, kind, seconds (in calls, of those that
    decided), bytes, calls (what calls read and wrote, and mapped files fetched, of all the job's processes), syncs
    (calls, of kind write).
    rows: process, slice, place, kind, seconds, bytes, calls, of processes that matter; bytes written lie where the
    storage served them, as far as that is known, and add up to those of `amounts`, and calls likewise.
    sizes: place, kind, least (bytes), calls: how many calls were of which size; empty where nobody counted that.
    """

    job: Job
    is_running: bool
    is_unseen: bool
    waits: Waits
    decided_by: str
    processes: int
    runtime_ns: int
    io_ns: int
    waited_ns: int
    amounts: pl.DataFrame
    rows: pl.DataFrame
    sizes: pl.DataFrame

    @property
    def computing_ns(self) -> int:
        """The rest of the runtime: computing, and all other waiting."""
        return self.runtime_ns - self.io_ns - self.waited_ns

    def total(self, kind: Kind, column: str) -> int:
        """The sum of a column of `amounts` over file systems."""
        return int(self.amounts.filter(pl.col("kind") == kind)[column].sum())


def work_of(digest: Digest, against: Digest | None = None) -> Tasks:
    """against: the run with which it is compared, like with like."""
    row = digest.jobs.row(0, named=True)
    who = members(digest)
    like = None if against is None else chains_to_match(digest, against, digest.slice_ns)
    chains = process_chains(digest, digest.slice_ns, like)
    did = _did(digest)
    rows = _as_done(_rows(digest, chains.calls), did)
    waits: Waits = "processes" if chains.waits == "strands" else chains.waits
    decided = _deciding(chains.calls, waits)
    deciding = rows.join(decided, on=["process", "slice"], how="semi")
    runtime_ns = row["end_ns"] - row["start_ns"]
    seconds = deciding.group_by("place", "kind").agg(pl.col("seconds").sum())
    amounts = (
        did.join(seconds, on=["place", "kind"], how="full", coalesce=True)
        .with_columns(pl.col("bytes", "calls").fill_null(0))
        .join(_syncs(digest), on=["place", "kind"], how="left")
        .with_columns(pl.col("seconds").fill_null(0.0), pl.col("syncs").fill_null(0))
        .sort("place", "kind")
    )
    # Clocks and rounding may have calls last a little longer than the run.
    io_ns = min(round(real(amounts["seconds"].sum()) * 1e9), runtime_ns)
    return Tasks(
        job=run_of(digest).job,
        is_running=row["is_running"],
        is_unseen=digest.processes.filter(is_profiled()).is_empty(),
        waits=waits,
        decided_by=_label(who, deciding),
        processes=who.height,
        runtime_ns=runtime_ns,
        io_ns=io_ns,
        waited_ns=min(round(turns(digest).seconds * 1e9), runtime_ns - io_ns),
        amounts=amounts.select("place", "kind", "seconds", "bytes", "calls", "syncs"),
        rows=rows,
        sizes=_sizes(digest),
    )


def place_names(digests: Sequence[Digest]) -> dict[str, str]:
    """Where each `place` is mounted."""
    return {
        place: point or source
        for digest in digests
        for place, point, source in _places(digest).select("place", "point", "source").iter_rows()
    }


def _places(digest: Digest) -> pl.DataFrame:
    """storage, place, point, source. Disks of different nodes are one place where they are called the same."""
    is_of_node = (pl.col("node") != "") & ~pl.col("source").str.starts_with("/")
    point = pl.when(is_of_node).then("point").otherwise(pl.lit(""))
    return digest.storages.select(
        "storage", "point", "source", place=pl.concat_str("type", "source", point, separator="\0")
    )


def _did(digest: Digest) -> pl.DataFrame:
    """place, kind, bytes, calls: what all processes of the job did, whether they matter or not."""
    own = digest.processes.filter("is_of_job")
    placed = (
        with_mapped(digest.process_slices, digest.fetched)
        .join(own, on="process", how="semi")
        .join(_places(digest).select("storage", "place"), on="storage")
    )
    return pl.concat(
        placed.group_by("place", kind=pl.lit(kind)).agg(
            bytes=pl.col(f"{kind}_bytes").sum() if kind in CALLS else pl.lit(0, pl.Int64),
            calls=pl.col(f"{kind}_ops").sum(),
        )
        for kind in KINDS
    ).filter((pl.col("bytes") > 0) | (pl.col("calls") > 0))


def _as_done(rows: pl.DataFrame, did: pl.DataFrame) -> pl.DataFrame:
    """Rows of `Tasks.rows` whose bytes and calls add up to what was done: of what is written a storage may be served
    less by the end, or it is not known when, and processes that do not matter did the rest.
    """
    of_all = rows.join(did, on=["place", "kind"], how="left", maintain_order="left", suffix="_done")
    names = ("bytes", "calls")
    share = {name: pl.col(name) / pl.col(name).sum().over("place", "kind") for name in ("seconds", *names)}

    def done(name: str) -> pl.Expr:
        part = share[name].fill_nan(share["seconds"]).fill_nan(0.0) * pl.col(f"{name}_done").fill_null(0)
        so_far = part.cum_sum().round()  # of the sum, so that rounding loses nothing
        return (so_far - so_far.shift(fill_value=0.0)).over("place", "kind").cast(pl.Int64)

    return of_all.with_columns(done(name).alias(name) for name in names).select(rows.columns)


def _rows(digest: Digest, calls: pl.DataFrame) -> pl.DataFrame:
    """See `Tasks.rows`. calls: of `timeline.call_rows`."""
    placed = calls.join(_places(digest), on="storage")
    each = [
        placed.group_by("process", "slice", "place", kind=pl.lit(kind)).agg(
            seconds=pl.col(SECONDS[kind]).sum(),
            # Metadata calls move nothing: what they amount to is their number.
            bytes=pl.col(AMOUNTS[kind]).sum() if kind in CALLS else pl.lit(0, pl.Int64),
            calls=pl.col(CALLS.get(kind, AMOUNTS[kind])).sum(),
        )
        for kind in KINDS
    ]
    some = (pl.col("calls") > 0) | (pl.col("seconds") > 0) | (pl.col("bytes") > 0)
    return pl.concat(each).filter(some).sort("process", "slice", "place", "kind")


def _sizes(digest: Digest) -> pl.DataFrame:
    """See `Tasks.sizes`."""
    if "storage_distributions" in digest.not_kept:
        return pl.DataFrame(schema={"place": pl.String, "kind": pl.String, "least": pl.Int64, "calls": pl.Int64})
    return (
        digest.storage_distributions.filter(pl.col("what") == "size", pl.col("calls") > 0)
        .join(_places(digest), on="storage")
        .group_by("place", "kind", "least")
        .agg(pl.col("calls").sum())
        .sort("place", "kind", "least")
    )


def _syncs(digest: Digest) -> pl.DataFrame:
    """place, kind (write), syncs: sync calls of the processes that matter."""
    return (
        digest.process_slices.lazy()
        .join(members(digest).lazy(), on="process", how="semi")
        .join(_places(digest).lazy(), on="storage")
        .group_by("place", kind=pl.lit("write"))
        .agg(syncs=pl.col("sync_ops").sum())
        .collect()
    )


def _deciding(calls: pl.DataFrame, waits: Waits) -> pl.DataFrame:
    """process, slice: whose calls decided how long the job's I/O took, and in which slices. calls: by chain."""
    spent = calls.group_by("process", "slice").agg(seconds=in_calls().sum())
    if waits == "ranks":
        placed = spent.join(phase_of_slices(slice_rows(calls)), on="slice")
        of_phase = placed.group_by("phase", "process").agg(pl.col("seconds").sum())
        by_time = of_phase.sort("phase", "seconds", "process", descending=[False, True, False])
        slowest = by_time.unique("phase", keep="first", maintain_order=True)
        return placed.join(slowest, on=["phase", "process"], how="semi").select("process", "slice")
    of_process = spent.group_by("process").agg(pl.col("seconds").sum())
    most = of_process.sort("seconds", "process", descending=[True, False]).head(1)
    return spent.join(most, on="process", how="semi").select("process", "slice")


def _label(who: pl.DataFrame, deciding: pl.DataFrame) -> str:
    most = (
        deciding.group_by("process").agg(pl.col("seconds").sum()).sort("seconds", "process", descending=[True, False])
    )
    if most.is_empty():
        return ""
    return str(who.filter(pl.col("process") == most["process"][0])["label"][0])
