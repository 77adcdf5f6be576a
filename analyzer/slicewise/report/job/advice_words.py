"""What to change in a program, in words and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from slicewise.analysis.job.advice import A_BATCH, A_PIECE, CostlyHabit, Habit
from slicewise.report.job.site_words import place_words
from slicewise.text import words

HOW: dict[Habit, str] = {
    "syncs": "sync once after many records (in a database: many changes in one transaction)",
    "small writes": f"write {words.size(A_PIECE)} at a time, from a buffer (setvbuf; in MPI-IO a collective call)",
    "small reads": f"read {words.size(A_PIECE)} at a time, into a buffer (setvbuf; in MPI-IO a collective call)",
    "opens": "open it once and keep it open",
    "small files": "one file instead of many (an archive, a container, HDF5), or a copy of them on the node",
    "failing calls": "fewer directories in the paths that are searched (PATH, PYTHONPATH, -I), or all of it in one "
    "directory or container on the node",
}


def advice_lines(told: Sequence[CostlyHabit], runtime: float) -> Iterator[str]:
    """Two sentences for each: what it costs, and what the change saves."""
    for one in told:
        by = f", by {place_words(one.site)}" if one.site else ""
        cost = f"{_what(one)} took {words.duration(one.seconds)} of {words.duration(runtime)}{by}."
        yield f"{cost} {_saving(one)}: {HOW[one.habit]}."


def _what(one: CostlyHabit) -> str:
    count, size = f"{one.calls:,}", words.size(round(one.bytes))
    where = one.file or words.count(one.files, "file")
    if one.habit == "syncs":
        return f"{count} syncs, one for every {size} written,"
    if one.habit == "opens":
        return f"{count} opens of {where}, for {size} each,"
    if one.habit == "small files":
        return f"{count} opens of small files, for {size} each,"
    if one.habit == "failing calls":
        return f"{count} calls that failed"
    return f"{count} {one.habit.removeprefix('small ')} of {size} {'to' if 'writes' in one.habit else 'from'} {where}"


def _saving(one: CostlyHabit) -> str:
    if one.saving is None:
        return "How much of that can be saved this run does not show; to try"
    by = f" with one for {A_BATCH} of them" if one.habit == "syncs" else ""
    return f"About {words.estimate_of_seconds(one.saving)} of that can be saved{by}"


def advice_record(told: Sequence[CostlyHabit], runtime: float) -> list[dict[str, Any]]:
    """The key `advice` of JSON output, see docs/commands.md."""
    return [
        {
            "kind": one.habit,
            "seconds": one.seconds,
            "saving_seconds": one.saving,
            "calls": one.calls,
            "bytes_a_call": one.bytes,
            "files": [one.file] if one.file else [],
            "site": [vars(place) for place in one.site],
            "how": HOW[one.habit],
            "sentence": sentence,
        }
        for one, sentence in zip(told, advice_lines(told, runtime), strict=True)
    ]
