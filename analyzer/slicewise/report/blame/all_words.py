"""Who lost how much to whom, of all jobs in a directory: a row a job, and a matrix."""

from collections.abc import Mapping, Sequence
from typing import Any

from slicewise.analysis.blame.result import Blame, Neighbour
from slicewise.report import columns
from slicewise.report.blame.blame_record import lower_limit_record
from slicewise.report.blame.blame_words import (
    WORTH_BLAMING,
    blamed,
    estimate,
    limit_of_group,
    name_of,
    with_perhaps,
)
from slicewise.report.records import or_none, picked
from slicewise.report.tables import NOTHING, Cell, Column, Table
from slicewise.text import words

# More who cost others something are not set side by side.
MOST_COLUMNS = 8


def worst_first(found: Mapping[str, Blame]) -> list[tuple[str, Blame]]:
    """The jobs, by their names, that who cost most comes first; those that lost nothing, then those of which it is not
    known."""

    def rank(one: tuple[str, Blame]) -> tuple[int, float, str]:
        name, blame = one
        lost = _lost(blame)
        return (0, -lost, name) if lost else (1 if blame.lost else 2, 0.0, name)

    return sorted(found.items(), key=rank)


def sentence(ordered: Sequence[tuple[str, Blame]], alone: int) -> str:
    """The first sentence. alone: how many jobs had no company, and were not asked about."""
    asked = words.count(len(ordered), "job")
    rest = f" ({alone:,} more had no company)" if alone else ""
    if not ordered:
        return "No two of these jobs used a file system at the same time."
    name, worst = ordered[0]
    if not _lost(worst):
        unknown = sum(blame.lost is None for _, blame in ordered)
        more = f"; of {unknown} it is not known" if unknown else ""
        return f"None of {asked}{rest} is known to have lost time to another{more}."
    whom = next((one for one in blamed(worst) if one.lost.low > 0), None)
    elsewhere = worst.outside.seconds if worst.outside else 0.0
    to = ""
    if whom is not None:
        part = "most" if whom.lost.value > _lost(worst) / 2 else "a part"
        to = f", {part} of it while {name_of(whom)} was active"
    if worst.lower_limit and _cost_of_limit(worst) > _lost(worst) / 2:
        to = f", most of it because {limit_of_group(worst.lower_limit)} was lower"
    to = ", most of it outside of I/O calls" if elsewhere > _lost(worst) / 2 else to
    return f"Of {asked} beside others{rest} {name} lost most: {words.duration(_lost(worst))}{to}."


def losses_table(ordered: Sequence[tuple[str, Blame]]) -> Table:
    """A row a job: how long it took, what it lost, to whom, and how sure that is."""

    def lost(blame: Blame) -> Cell:
        return Cell(estimate(blame.lost), blame.lost.value) if blame.lost and blame.is_claimed else NOTHING

    def elsewhere(blame: Blame) -> Cell:
        seconds = blame.outside.seconds if blame.outside else 0.0
        return Cell(words.number(seconds), seconds) if seconds else NOTHING

    def whom(blame: Blame) -> str:
        their = blamed(blame) if blame.is_claimed else []
        costly = [(name_of(one), with_perhaps(one, words.duration(one.lost.value))) for one in their]
        of_limit = _cost_of_limit(blame)
        if of_limit >= WORTH_BLAMING * _lost(blame) > 0:
            costly.append(("a lower limit", words.duration(of_limit)))
        return words.listing(f"{name} ({seconds})" for name, seconds in costly) or "-"

    return columns.table(
        ordered,
        columns.text("job", lambda row: row[0]),
        columns.text("program", lambda row: row[1].job.program, spare=2),
        columns.duration("took", lambda row: row[1].runtime_seconds),
        columns.figure("lost in I/O", lambda row: lost(row[1]), "s"),
        columns.figure("outside of I/O", lambda row: elsewhere(row[1]), "s"),
        columns.text("to", lambda row: whom(row[1])),
        columns.text("confidence", lambda row: row[1].confidence),
    )


def matrix(ordered: Sequence[tuple[str, Blame]]) -> Table | None:
    """What each job (a row) lost to each other one (a column), in seconds; None where too many cost others something,
    or nobody did."""
    costs: dict[str, float] = {}
    for _, blame in ordered:
        for one in _costly(blame):
            costs[name_of(one)] = costs.get(name_of(one), 0.0) + one.lost.value
    if not 0 < len(costs) <= MOST_COLUMNS:
        return None
    losers = sorted(costs, key=lambda name: (-costs[name], name))
    table = Table([Column("lost to", is_figure=False), *(Column(name, "s") for name in losers)])
    for name, blame in ordered:
        own = {name_of(one): one.lost.value for one in _costly(blame)}
        if own:
            table.add(name, *(Cell(words.number(own[each]), own[each]) if each in own else NOTHING for each in losers))
    table.add("all", *(Cell(words.number(costs[each]), costs[each]) for each in losers))
    return table


def record(ordered: Sequence[tuple[str, Blame]], alone: int) -> dict[str, Any]:
    return {
        "sentence": sentence(ordered, alone),
        "jobs": [
            {
                "job": name,
                "program": blame.job.program,
                **picked(blame, "runtime_seconds", alone_seconds="alone", lost_seconds="lost"),
                "outside_seconds": blame.outside and blame.outside.seconds,
                "lower_limit": blame.lower_limit and lower_limit_record(blame.lower_limit),
                **picked(blame, "confidence", "is_claimed"),
                "neighbours": [picked(one, "job", "program", lost_seconds="lost") for one in blame.neighbours],
                **or_none(blame, "unknown_because"),
            }
            for name, blame in ordered
        ],
        "without_company": alone,
    }


def _lost(blame: Blame) -> float:
    in_io = blame.lost.value if blame.lost and blame.is_claimed else 0.0
    return in_io + (blame.outside.seconds if blame.outside else 0.0)


def _cost_of_limit(blame: Blame) -> float:
    return blame.lower_limit.seconds if blame.lower_limit and blame.is_claimed else 0.0


def _costly(blame: Blame) -> list[Neighbour]:
    return [one for one in blame.neighbours if one.lost.value > 0] if blame.is_claimed else []
