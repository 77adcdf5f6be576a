"""What a job, its neighbours and programs without a profile did on the job's storages while it ran, and how much of the
storages' time that took.

Digests in, frames out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from slicewise.analysis.blame.active import active_on, with_nobody
from slicewise.analysis.blame.in_memory import asked_no_disk
from slicewise.analysis.blame.memory import moved_by_no_call
from slicewise.analysis.blame.on_storage import SlicesOnStorage, on_storages
from slicewise.analysis.blame.requests import (
    Asked,
    Served,
    in_requests,
    limits_of_requests,
    small_syncs,
    time_of_requests,
)
from slicewise.analysis.blame.result import Traffic
from slicewise.analysis.blame.servers import (
    BY_SERVERS,
    ServerCounts,
    clients_shared_out,
    served_neighbours,
    served_on,
    shadows,
    shared_out,
)
from slicewise.analysis.blame.shared_slices import passes_by
from slicewise.analysis.blame.to_runtime import ProcessChains
from slicewise.analysis.blame.uncontended import Scene
from slicewise.analysis.blame.unprofiled import apart, unprofiled
from slicewise.analysis.calls import AMOUNTS, KINDS, SECONDS, Kind, Rows, process_seconds
from slicewise.analysis.capacity.by_kind import Capacities, capacities, took_time
from slicewise.analysis.runs import storage as storages
from slicewise.analysis.runs.limits import (
    Limit,
    by_disks,
    disk_parts,
    limits_of,
    outside,
)
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import SECOND_NS
from slicewise.digest.digest import Digest
from slicewise.digest.slices import BYTES


@dataclass(frozen=True)
class Meanwhile:
    """What was done on a job's storages while it ran, by slices of grid_ns.

    where: the storages, those first in whose calls it was longest. neighbours: without those that are others once more.
    limits: of the job's control groups. rows: what all jobs did (`job_rows`). rest: what no profile explains: storage,
    slice, BYTES. traffic: how much that is of all. served: what file servers counted; None: nothing.
    """

    digest: Digest
    neighbours: list[Digest]
    where: list[Storage]
    limits: dict[int, Limit]
    rows: pl.DataFrame
    rest: pl.DataFrame
    traffic: list[Traffic]
    served: ServerCounts | None
    grid_ns: int

    @property
    def is_used(self) -> pl.Expr:
        """Of rows: whether they are on one of the job's storages."""
        return pl.col("storage").is_in([storage.number for storage in self.where])


def meanwhile(
    digest: Digest,
    neighbours: Sequence[Digest],
    slices: pl.DataFrame,
    rows: Rows,
    counted: pl.DataFrame | None,
    grid_ns: int,
) -> Meanwhile:
    """slices: of the job's `ProcessChains`. rows: has what the jobs did. counted: what file servers counted
    (`jobstats.read_served`).
    """
    where = _storages_of(slices, digest, neighbours)
    beside = rows.of([digest, *neighbours], grid_ns)
    beside = beside.filter(pl.col("storage").is_in([storage.number for storage in where]))
    twice = set(shadows([digest, *neighbours], beside))
    twice |= {one.job for one in neighbours if counted is not None and one.is_served}
    neighbours = [one for one in neighbours if one.job not in twice]
    beside = beside.remove(pl.col("job").is_in(list(twice)))
    limits = limits_of(where, digest)
    for one in where:
        if one.number in limits:
            elsewhere = outside(one, limits[one.number], neighbours)
            beside = beside.remove(pl.col("storage") == one.number, pl.col("job").is_in(elsewhere))
    traffic, rest, beyond_calls = unprofiled(digest, neighbours, where, beside, grid_ns)
    if not beyond_calls.is_empty():
        beside = pl.concat([beside, beyond_calls]).group_by("job", "storage", "slice", maintain_order=True).sum()
    if counted is not None:
        by_job = shared_out(counted, [digest, *neighbours], where, grid_ns)
        lives = [(one.job, one.about["start_ns"], one.about["end_ns"]) for one in (digest, *neighbours)]
        served = served_on(by_job, where, beside, lives, grid_ns)
    else:
        beside = clients_shared_out(beside, [digest, *neighbours], where, grid_ns)
        served = served_neighbours(digest, neighbours, where, beside, grid_ns)
    if served is not None:  # the servers saw all there was
        beside = beside.remove(pl.col("job").is_in(served.rows["job"].unique().implode()))
        there = pl.col("storage") == served.storage.number
        rest, beside = rest.remove(there), pl.concat([beside, served.rows.select(beside.columns)])
        traffic = [_as_servers_counted(one, served) if one.storage == served.storage else one for one in traffic]
    return Meanwhile(digest, neighbours, where, limits, beside, rest, traffic, served, grid_ns)


@dataclass(frozen=True)
class TimeTaken:
    """How much of the storages' time others took while a job ran.

    rows: as of `Meanwhile`, with the bytes that disks moved. others: of these those of others and of programs without a
    profile, where the job was active. active: of `active_on`, those who took some, and harmless traffic. harmless:
    storages on which programs without a profile took nothing. unasked: those of whose disk the job asked nothing, so
    that nobody cost it anything there. scene: what the sources of the job's time alone look at.
    of_requests: of `limits_of_requests`. traffic: with what the storages' capacities are.
    """

    rows: pl.DataFrame
    others: pl.DataFrame
    active: pl.DataFrame
    harmless: list[int]
    unasked: list[int]
    scene: Scene
    of_requests: Mapping[int, Mapping[Kind, Served]]
    traffic: list[Traffic]

    @property
    def shared_by(self) -> dict[int, Capacities]:
        """Capacities by which a loss is divided among neighbours: whether reads and writes pass each other by."""
        own, seconds = self.scene.own, self.scene.seconds
        return {
            number: replace(
                one,
                pass_by=one.pass_by
                or (number in own and passes_by(self.scene.from_disk.get(number, own[number]), one, seconds)),
            )
            for number, one in self.scene.known.items()
        }


def time_taken(there: Meanwhile, runs: Sequence[Digest], chains: ProcessChains, rows: Rows) -> TimeTaken:
    """runs: those that count as alone. chains: of the job. rows: has what the runs did."""
    digest, grid_ns = there.digest, there.grid_ns
    beside = there.rows
    names = set(beside["job"])
    from_disks = disk_parts(there.where, [*(one for one in (digest, *there.neighbours) if one.job in names), *runs])
    alone_rows = rows.of(runs, grid_ns).filter(there.is_used) if runs else beside.clear()
    beside, alone_rows = by_disks(beside, from_disks), by_disks(alone_rows, from_disks)
    known = {
        number: replace(one, pass_by=number in there.limits)
        for number, one in capacities(pl.concat([beside, alone_rows]), grid_ns).items()
    }
    harmless = apart(there.rest, beside, known, grid_ns)
    everyone = with_nobody(beside, there.rest, grid_ns)
    asked = Asked(there.where, there.limits, digest, there.neighbours, everyone, runs, alone_rows, grid_ns)
    of_requests = limits_of_requests(asked)
    by_requests = time_of_requests(asked, of_requests, from_disks)
    others = everyone.filter(pl.col("job").ne_missing(digest.job))
    if moved_by_no_call(digest):
        begin, end = (digest.about[name] // grid_ns for name in ("start_ns", "end_ns"))
        others = others.filter(pl.col("slice").is_between(begin, end))
    else:
        others = others.join(chains.slices, on=["storage", "slice"], how="semi", maintain_order="left")
    of_others = by_requests.filter(pl.col("job").ne_missing(digest.job))
    around = active_on(others, known, of_others, from_disks, grid_ns)
    unasked = [one.number for one in there.where if asked_no_disk(one, digest)]
    is_unasked = pl.col("storage").is_in(unasked)
    around = around.remove(is_unasked)
    took_nothing = pl.col("neighbour").is_null() & pl.col("storage").is_in(harmless)
    around = around.with_columns(
        pl.when(took_nothing).then(0.0).otherwise(f"{kind}_taken").alias(f"{kind}_taken") for kind in KINDS
    )
    is_harmless = pl.col("job").is_null() & pl.col("storage").is_in(harmless)
    is_elsewhere = is_unasked & pl.col("job").ne_missing(digest.job)
    together = (
        everyone.remove(is_harmless | is_elsewhere).group_by("storage", "slice").agg(pl.col(AMOUNTS.values()).sum())
    )
    on_each = on_storages(chains.slices, around.remove(took_nothing), together, known)
    scene = Scene(
        on_each,
        known,
        grid_ns / SECOND_NS,
        _unevenness(chains.calls),
        in_requests=in_requests(on_each, known, of_requests, by_requests, digest.job),
        small_syncs=small_syncs(digest),
        from_disk=_from_disk(on_each, from_disks.filter(pl.col("job") == digest.job)),
    )
    traffic = [_with_exponent(one, known.get(one.storage.number)) for one in there.traffic]
    harmless = [number for number in harmless if number not in unasked]
    active = around.filter(took_nothing | took_time())
    return TimeTaken(beside, others, active, harmless, unasked, scene, of_requests, traffic)


def _from_disk(on_each: Mapping[int, SlicesOnStorage], parts: pl.DataFrame) -> dict[int, SlicesOnStorage]:
    """The job's slices with the bytes that disks moved. parts: its rows of `disk_parts`."""
    found = {}
    for number, *of_ways in parts.select("storage", *(f"{name}_part" for name in BYTES)).iter_rows():
        if number in on_each and any(part is not None for part in of_ways):
            read, write = (1.0 if part is None else part for part in of_ways)
            one = on_each[number]
            moved = {**one.amounts, "read": one.amounts["read"] * read, "write": one.amounts["write"] * write}
            found[number] = replace(one, amounts=moved, cached=one.cached * write)
    return found


def _storages_of(slices: pl.DataFrame, digest: Digest, neighbours: Sequence[Digest]) -> list[Storage]:
    """Those with calls, the longest ones first, by the names that they have where the job saw them: a job that servers
    counted saw none.
    """
    took = (
        slices.group_by("storage", maintain_order=True)
        .agg(seconds=pl.sum_horizontal(SECONDS.values()).sum())
        .sort("seconds", "storage", descending=[True, False])
    )
    return storages.describe_all(took["storage"].to_list(), [digest, *(neighbours if digest.is_served else ())])


def _as_servers_counted(traffic: Traffic, served: ServerCounts) -> Traffic:
    """Traffic of which the servers know every job by name."""
    return replace(traffic, profiled=served.all_bytes, counted=served.all_bytes, counter=BY_SERVERS)


def _with_exponent(traffic: Traffic, known: Capacities | None) -> Traffic:
    return replace(traffic, exponent=known.exponent, mixed=known.mixed) if known else traffic


def _unevenness(calls: pl.DataFrame) -> float:
    by_process = process_seconds(calls)["seconds"].to_numpy()
    return float(by_process.max() / by_process.mean()) if len(by_process) and by_process.mean() > 0 else 1.0
