"""Which runs are taken as a job's standalone runs, and why the others are not.

Digests in. A run that is found by itself is taken only where nothing speaks against its having been alone; one that
read from the page cache is none for a job that did not, whoever gave it.
"""

from collections.abc import Iterator, Sequence

import polars as pl

from slicewise.analysis.blame.memory import Fetched, fetched_by, is_mostly_io, waited_little
from slicewise.analysis.blame.result import RunTaken
from slicewise.analysis.blame.servers import BY_SERVERS, strangers_counted
from slicewise.analysis.blame.unprofiled import unprofiled
from slicewise.analysis.calls import Rows
from slicewise.analysis.runs import storage as storages
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import LEAST_STRANGER, SECOND_NS
from slicewise.digest.digest import Digest
from slicewise.digest.slices import BYTES
from slicewise.text import words

# Of what two runs read, the parts that came from storage differ by more than this: one of them was warm.
MOST_APART = 0.3
NOT_COMPARED = "runs of different warmth are not compared"
# Reads of a smaller part of a job's bytes decide nothing.
LEAST_READ = 0.1


def runs_taken(
    digest: Digest,
    given: Sequence[Digest],
    found: Sequence[Digest],
    where: Sequence[Storage],
    rows: Rows,
    grid_ns: int,
    counted: pl.DataFrame | None = None,
) -> tuple[list[Digest], list[RunTaken], list[tuple[Digest, float]]]:
    """The runs that are taken, those given first; a word on each; and those that are not taken for traffic without a
    profile alone, with the seconds that this traffic can have cost them. counted: what file servers counted
    (`jobstats.read_served`).
    """
    own = fetched_by(digest) if given or found else None
    taken, told, beside_strangers = [], [], []
    known = {run.path for run in given}
    for run in (*given, *(one for one in found if one.path not in known)):
        its = fetched_by(run)
        why = _other_warmth(own, its)
        if why and own and its and not is_mostly_io(digest):
            # Of a job that mostly computes, what was cold may have cost next to nothing.
            why = "" if waited_little(digest if own.of_files > its.of_files else run) else why
        if not why and run.path not in known:
            why, seconds = _stranger(run, where, rows, grid_ns, counted)
            if why:
                beside_strangers.append((run, seconds))
        told.append(RunTaken(run.job, not why, why))
        if not why:
            taken.append(run)
    return taken, told, beside_strangers


def _other_warmth(own: Fetched | None, run: Fetched | None) -> str:
    """Why a run says nothing of the job: one of them read from storage what the other one had in memory. Empty: neither
    did, or page faults fetched it for the job again and again, for which memory that was short is the reason.
    """
    if own is None or run is None:
        return ""
    least = LEAST_READ * max(own.read + own.wrote, run.read + run.wrote)
    is_little = max(own.read, run.read) < least or abs(own.of_files - run.of_files) < least
    is_by_memory = own.is_again and own.is_by_faults
    if is_little or is_by_memory or abs(own.from_storage - run.from_storage) <= MOST_APART:
        return ""
    if own.is_by_faults or run.is_by_faults:
        its, here = (words.size(one.of_files) for one in (run, own))
        return f"{its} were fetched into the page cache for it, and for this job {here}: {NOT_COMPARED}"
    its, here = (words.percent(1 - one.from_storage, 2) for one in (run, own))
    return f"it read {its} of its bytes from the page cache, and this job {here}: {NOT_COMPARED}"


def _stranger(
    run: Digest, where: Sequence[Storage], rows: Rows, grid_ns: int, counted: pl.DataFrame | None
) -> tuple[str, float]:
    """What counters saw of others while a run went on, and the seconds of the storage's time that this can have taken:
    at the rate of the slice in which most was counted.
    """
    used = set(run.mounts["storage"])
    numbers = [one.number for one in where if one.number in used]
    if not numbers or (run.node_slices.is_empty() and counted is None):
        return "", 0.0
    its = storages.describe_all(numbers, [run])
    own = rows.of([run], grid_ns)
    for whose, counter, what, others, everything, most in _seen_of_others(run, its, own, grid_ns, counted):
        if everything and others > LEAST_STRANGER * everything:
            much = words.size(others) if what == "bytes" else f"{others:,} {what}"
            why = f"it was not alone: {counter} counted {much} of {whose} meanwhile"
            return why, others / max(most, 1) * grid_ns / SECOND_NS
    return "", 0.0


def _seen_of_others(
    run: Digest, where: Sequence[Storage], own: pl.DataFrame, grid_ns: int, counted: pl.DataFrame | None
) -> Iterator[tuple[str, str, str, int, int, int]]:
    """Whose bytes or requests were counted while a run went on, by what counter, which of both, how many, of how many,
    and how many of all in the slice in which most were.
    """
    if not run.node_slices.is_empty():
        traffic, rest = unprofiled(run, [], where, own, grid_ns)
        for one in traffic:
            there = rest.filter(pl.col("storage") == one.storage.number)
            others = int(there.select(pl.sum_horizontal(BYTES).sum()).item() or 0)
            by_slice = pl.concat([there, own.filter(pl.col("storage") == one.storage.number).select(there.columns)])
            moved = by_slice.group_by("slice").agg(bytes=pl.sum_horizontal(BYTES).sum())["bytes"].max()
            yield "programs without a profile", one.counter, "bytes", others, one.counted or 0, int(moved or 0)  # type: ignore[arg-type]
    if counted is not None:
        for what, amounts in strangers_counted(counted, run, where, own, grid_ns).items():
            yield "other jobs", BY_SERVERS, what, *amounts
