"""Who computed on a job's nodes while the job waited for a processor there.

A digest and `processor_times` in, seconds out.
"""

import polars as pl

from slicewise.analysis.blame.result import Blame
from slicewise.constants import MAINLY
from slicewise.digest.activity import members
from slicewise.digest.digest import Digest
from slicewise.text import words

# Of what the job waited: who computed for less is not named.
LEAST_OF_WAIT = 0.1
LEAST_SECONDS = 0.01
MOST_NAMED = 3


def waited_seconds(blame: Blame) -> float:
    """For how long the job waited for a processor, where that is worth a sentence; else 0."""
    if blame.outside is not None and blame.outside.waited_seconds > MAINLY * blame.outside.seconds:
        return blame.outside.waited_seconds
    return blame.delayed_seconds or 0.0


def computed_beside(digest: Digest, others: pl.DataFrame) -> dict[str, float]:
    """The seconds of processor time that each of the other jobs took on the job's nodes while it ran, the longest
    first. others: of `processor_times`. A process's time is spread evenly over its life.
    """
    begin, end = (int(digest.about[name]) for name in ("start_ns", "end_ns"))
    overlap = pl.min_horizontal("end_ns", pl.lit(end)) - pl.max_horizontal("start_ns", pl.lit(begin))
    part = overlap.clip(0) / (pl.col("end_ns") - pl.col("start_ns")).clip(1)
    there = others.filter(pl.col("node").is_in(members(digest)["node"].unique().implode()))
    took = there.group_by("job").agg(seconds=(pl.col("processor_ns") * part).sum() / 1e9)
    return dict(took.sort("seconds", "job", descending=[True, False]).iter_rows())


def words_of_processors(blame: Blame, digest: Digest, others: pl.DataFrame, has_names: bool) -> list[str]:
    """A sentence on who computed meanwhile, if any of the other jobs did so for long. others: of `processor_times`."""
    least = max(LEAST_OF_WAIT * waited_seconds(blame), LEAST_SECONDS)
    took = {job: seconds for job, seconds in computed_beside(digest, others).items() if seconds >= least}
    if not took:
        return []
    named = list(took.items())[: MOST_NAMED if has_names else 0]
    told = [f"{job} {words.duration(seconds)}" for job, seconds in named]
    if len(took) > len(named):
        rest = sum(took.values()) - sum(seconds for _, seconds in named)
        told.append(f"{words.count(len(took) - len(named), 'other job')} {words.duration(rest)}")
    nodes = words.count(members(digest)["node"].n_unique(), "node").removeprefix("1 ")
    return [f"Processor time of others on its {nodes} meanwhile: {words.listing(told)}"]
