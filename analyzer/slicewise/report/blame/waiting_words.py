"""What I/O cost a job whose ranks wait for each other in MPI: sentences, and a section of the page."""

from __future__ import annotations

from collections.abc import Iterator

from slicewise.analysis.blame.result import CostByWaiting
from slicewise.charts import blame as charts
from slicewise.charts import style
from slicewise.charts.blame import Part
from slicewise.report.page import Section
from slicewise.report.split.split_words import (
    CRITICAL,
    CRITICAL_NOTE,
    DOES,
    LEAST_SECONDS,
    NOTE,
    critical_lines,
    critical_table,
    efficiency_lines,
    hold_lines,
    shares_line,
    split_table,
)
from slicewise.scalars import real
from slicewise.text import words

MOST_HOLDS, MOST_PHASES = 2, 1


def waiting_lines(cost: CostByWaiting) -> Iterator[str]:
    """Where ranks' time went, whose I/O held others up, whom they waited for most, the efficiencies, and what a second
    lost in I/O cost by waiting.
    """
    line = shares_line(cost.split)
    if not line:
        return
    yield line
    yield from hold_lines(cost.split, MOST_HOLDS)
    yield from critical_lines(cost.split, MOST_PHASES)
    yield from efficiency_lines(cost.split)
    lost, waited = cost.lost_io_seconds, cost.lost_waited_seconds
    if lost is None or waited is None or lost < LEAST_SECONDS:
        return
    yield (
        f"Ranks that held others up lost {words.duration(lost)} in I/O, and the others waited "
        f"{words.duration(waited)} in MPI for that, added up over ranks: "
        f"each second lost there cost {words.number(waited / lost, 2)} s of waiting."
    )


def waiting_sections(cost: CostByWaiting) -> list[Section]:
    """The mean rank's time as one bar with all ranks' table, and the critical ranks of phases, if there are any."""
    ranks = Section(
        "Computing, communicating and I/O",
        text=["The bar is the mean rank's time."],
        chart=charts.runtime_bar(_parts(cost)),
        tables=[split_table(cost.split)],
        note=NOTE,
    )
    critical = critical_table(cost.split)
    return [ranks, *([Section(CRITICAL, tables=[critical], note=CRITICAL_NOTE)] if critical.rows else [])]


def _parts(cost: CostByWaiting) -> list[Part]:
    ranks = cost.split.processes

    def mean(name: str) -> float:
        return max(0.0, real(ranks[name].mean() or 0))

    for_io = min(mean("waiting"), cost.waited_seconds / max(ranks.height, 1))
    in_mpi = [
        Part("MPI, moving data", mean("mpi") - mean("waiting"), charts.MOVING),
        Part("MPI, waiting for I/O of others", for_io, charts.EACH_OTHER),
        Part("MPI, waiting for others", mean("waiting") - for_io, style.TURN),
    ]
    if cost.split.unknown_world:
        in_mpi = [Part("MPI, moving data or waiting", mean("mpi"), charts.MOVING)]
    parts = [
        Part("computing", mean("computing"), charts.COMPUTING),
        Part("idle", mean("idle"), charts.IDLE),
        *in_mpi,
        Part("begin and end of MPI", mean("begin_and_end"), style.INK),
        *(
            Part(words_of, mean(kind), style.KIND_COLOURS.get(kind, charts.UNEXPLAINED))
            for kind, words_of in DOES.items()
        ),
    ]
    return [part for part in parts if part.seconds > 0]
