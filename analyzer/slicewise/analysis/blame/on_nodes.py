"""Who computed, or had memory, on a job's nodes while the job waited for a processor or for memory there.

A digest and `node_use` in, sentences out.
"""

from collections.abc import Callable

import polars as pl

from slicewise.analysis.blame.result import Blame
from slicewise.constants import WORTH_NAMING_BYTES
from slicewise.digest.activity import members
from slicewise.digest.digest import Digest
from slicewise.scalars import real
from slicewise.text import words

# Of what the job waited: who computed for less is not named.
PART_WORTH_NAMING = 0.1
MOST_NAMED = 3


def waited(blame: Blame) -> tuple[float, float]:
    """For how long the job waited for a processor, and for memory, where that is worth a sentence; else 0."""
    outside = blame.outside
    if outside is None:
        return blame.delayed_seconds or 0.0, blame.memory_seconds.value if blame.memory_seconds else 0.0
    return (
        outside.waited_seconds if outside.is_for_processor else 0.0,
        outside.memory_seconds if outside.is_for_memory else 0.0,
    )


def words_of_nodes(blame: Blame, digest: Digest, others: pl.DataFrame, has_names: bool) -> list[str]:
    """A sentence each on who took what the job waited for, if any of the other jobs did. others: of `node_use`."""
    used = used_meanwhile(digest, others)
    for_processor, for_memory = waited(blame)
    nodes = words.count(members(digest)["node"].n_unique(), "node").removeprefix("1 ")
    told = []
    if for_processor:
        least = PART_WORTH_NAMING * for_processor
        told += _those(f"Processor time of others on its {nodes}", used, "seconds", least, words.duration, has_names)
    if for_memory:
        told += _those(f"Memory of others on its {nodes}", used, "bytes", WORTH_NAMING_BYTES, words.size, has_names)
    return told


def used_meanwhile(digest: Digest, others: pl.DataFrame) -> pl.DataFrame:
    """What each of the other jobs used on the job's nodes while it ran: job, seconds (of processors; those of a process
    are spread evenly over its life), bytes (its processes' peaks, added up). others: of `node_use`.
    """
    begin, end = (int(digest.about[name]) for name in ("start_ns", "end_ns"))
    ended = pl.when(pl.col("end_ns") > 0).then("end_ns").otherwise(pl.lit(end))
    overlap = (pl.min_horizontal(ended, pl.lit(end)) - pl.max_horizontal("start_ns", pl.lit(begin))).clip(0)
    part = overlap / (ended - pl.col("start_ns")).clip(1)
    there = others.filter(pl.col("node").is_in(members(digest)["node"].unique().implode()))
    return there.group_by("job").agg(
        seconds=(pl.col("processor_ns") * part).sum() / 1e9, bytes=pl.col("peak_bytes").filter(overlap > 0).sum()
    )


def _those(
    what: str, used: pl.DataFrame, column: str, least: float, told_as: Callable[[float], str], has_names: bool
) -> list[str]:
    took = used.filter(pl.col(column) >= least).sort(column, "job", descending=[True, False])
    if took.is_empty():
        return []
    named = took.head(MOST_NAMED if has_names else 0)
    told = [f"{job} {told_as(amount)}" for job, amount in named.select("job", column).iter_rows()]
    rest = took.slice(len(named))
    if len(rest):
        told.append(f"{words.count(len(rest), 'other job')} {told_as(real(rest[column].sum()))}")
    return [f"{what} meanwhile: {words.listing(told)}"]
