"""What I/O cost a job whose ranks wait for each other in MPI: sentences, and a section of the page."""

from collections.abc import Iterator

import polars as pl

from slicewise.analysis.blame.result import CostByWaiting
from slicewise.analysis.job.split import by_slice
from slicewise.charts import blame as charts
from slicewise.charts import style
from slicewise.charts.blame import RuntimePart
from slicewise.digest.digest import Digest
from slicewise.report.page import Section
from slicewise.report.split import split_words
from slicewise.scalars import real, whole
from slicewise.text import words

MOST_HOLDS, MOST_PHASES = 2, 1


def waiting_lines(cost: CostByWaiting) -> Iterator[str]:
    """Where ranks' time went, whose I/O held others up, whom they waited for most, the efficiencies, and what a second
    lost in I/O cost by waiting."""
    line = split_words.shares_line(cost.split)
    if not line:
        return
    yield line
    yield from split_words.hold_lines(cost.split, MOST_HOLDS)
    yield from split_words.critical_lines(cost.split, MOST_PHASES)
    yield from split_words.efficiency_lines(cost.split)
    lost, waited = cost.lost_io_seconds, cost.lost_waited_seconds
    if lost is None or waited is None or lost < split_words.LEAST_SECONDS:
        return
    yield (
        f"Ranks that held others up lost {words.duration(lost)} in I/O, and the others waited "
        f"{words.duration(waited)} in MPI for that, added up over ranks: "
        f"each second lost there cost {words.number(waited / lost, 2)} s of waiting."
    )


def ranks_by_slice(cost: CostByWaiting, own: Digest, grid_ns: int) -> pl.DataFrame | None:
    """Ranks' seconds as analysis.job.split.by_slice gives them, in slices of the grid. None where there are none, or
    too many for a page. own: the job's digest."""
    slices = pl.col("slice") // (grid_ns // own.slice_ns)
    rows = by_slice(own, cost.split, split_words.MOST_ROWS).with_columns(slices)
    if rows.is_empty():
        return None
    length = whole(rows["slice"].max()) - whole(rows["slice"].min()) + 1
    return rows if length * rows["process"].n_unique() <= split_words.MOST_RANK_SLICES else None


def waiting_sections(
    cost: CostByWaiting, ranks: pl.DataFrame | None = None, axis: range = split_words.NO_SLICES
) -> list[Section]:
    """The mean rank's time as one bar, all ranks' table, and the critical ranks of phases, if there are any. ranks:
    what `ranks_by_slice` gives, for figures of a chosen time; axis: the slices of the page."""
    critical = split_words.critical_table(cost.split)
    return [
        Section("Where the mean rank's time went", chart=charts.runtime_bar(_parts(cost))),
        Section(
            "Computing, communicating and I/O",
            tables=[split_words.split_table(cost.split, ranks, axis)],
            note=split_words.NOTE,
        ),
        *([Section(split_words.CRITICAL, tables=[critical], note=split_words.CRITICAL_NOTE)] if critical.rows else []),
    ]


def _parts(cost: CostByWaiting) -> list[RuntimePart]:
    ranks = cost.split.processes

    def mean(name: str) -> float:
        return max(0.0, real(ranks[name].mean() or 0))

    for_io = min(mean("waiting"), cost.waited_seconds / max(ranks.height, 1))
    in_mpi = [
        RuntimePart("MPI, moving data", mean("mpi") - mean("waiting"), charts.MOVING),
        RuntimePart("MPI, waiting for I/O of others", for_io, charts.EACH_OTHER),
        RuntimePart("MPI, waiting for others", mean("waiting") - for_io, style.TURN),
    ]
    if cost.split.unknown_world:
        in_mpi = [RuntimePart("MPI, moving data or waiting", mean("mpi"), charts.MOVING)]
    parts = [
        RuntimePart("computing", mean("computing"), charts.COMPUTING),
        RuntimePart("idle", mean("idle"), charts.IDLE),
        *in_mpi,
        RuntimePart("begin and end of MPI", mean("begin_and_end"), style.INK),
        *(
            RuntimePart(words_of, mean(kind), style.KIND_COLOURS.get(kind, charts.UNEXPLAINED))
            for kind, words_of in split_words.DOES.items()
        ),
    ]
    return [part for part in parts if part.seconds > 0]
