"""Why one run took longer than another: tables, JSON and a page; `compare_words` has the sentences."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from slicewise.analysis.compare.compare import Comparison
from slicewise.analysis.compare.difference import PARTS, WORTH_A_WORD, Difference
from slicewise.analysis.compare.work import Tasks
from slicewise.analysis.job.sites import sites
from slicewise.charts import runtimes
from slicewise.charts.figure import Figure
from slicewise.charts.flame import estimated_from, flame
from slicewise.digest.digest import Digest
from slicewise.estimate import Estimate
from slicewise.report import columns
from slicewise.report.blame.blame_record import lower_limit_record, outside_record
from slicewise.report.columns import Made
from slicewise.report.compare.compare_words import (
    PART_NAMES,
    is_under_lower_limit,
    is_wait_in_calls,
    notes,
    opening,
    rule,
)
from slicewise.report.page import Fact, Page, Section, Step, command
from slicewise.report.records import picked
from slicewise.report.tables import NOTHING, Cell, Column, Table
from slicewise.scalars import whole
from slicewise.text import words


def compare_record(comparison: Comparison, page: Path | None) -> dict[str, Any]:
    """What `slicewise compare --json` prints: the keys of the difference that is told first at the top."""
    return {
        "runs": [_run(run) for run in comparison.runs],
        "against": comparison.against.job.job,
        "chosen": comparison.chosen,
        **_difference(comparison.told),
        "differences": [_difference(told) for told in comparison.differences],
        "variability": comparison.shares or None,
        "notes": [*notes(comparison), *rule(comparison)],
        "page": str(page) if page else None,
    }


def _run(run: Tasks) -> dict[str, Any]:
    return {
        **picked(run.job, "job", "program"),
        "processes": run.processes,
        "nodes": run.job.nodes,
        "start": words.iso_time(run.job.start_ns),
        "end": None if run.is_running else words.iso_time(run.job.end_ns),
        "is_running": run.is_running,
        **{f"{name}_seconds": getattr(run, f"{name}_ns") / 1e9 for name in ("runtime", "computing", "waited", "io")},
        **picked(run, "waits", "decided_by"),
        **{f"{kind}_bytes": run.total(kind, "bytes") for kind in ("read", "write")},
        **{f"{kind}_calls": run.total(kind, "calls") for kind in ("read", "write", "meta")},
    }


def _difference(told: Difference) -> dict[str, Any]:
    return {
        "job": told.of.job.job,
        **picked(told, "difference_seconds", "ratio", "computing_seconds"),
        "outside": told.outside and outside_record(told.outside),
        **picked(told, "memory_seconds", from_cache_shares="from_cache", waiting_seconds="waiting_seconds"),
        "lower_limit": told.lower_limit and lower_limit_record(told.lower_limit),
        "own_io_seconds": {**vars(told.own_io.seconds), "parts": told.own_io.parts},
        **picked(told, "lost_seconds", "lost_confidence"),
        "neighbours": told.loss.neighbours if told.loss else [],
        **picked(told, "unexplained_seconds", "confidence"),
    }


# Less than this fraction of the runtime is shown as nothing.
NEXT_TO_NOTHING = 0.0005


def parts_table(comparison: Comparison) -> Table:
    """Two runs: a row a part, what each run took for it, and their difference. Columns add up to the last row."""
    told = comparison.told
    table = Table(
        [
            Column("part", is_figure=False),
            Column(told.against.job.job, "s"),
            Column(told.of.job.job, "s"),
            Column("difference", "s"),
            Column("interval", "s", is_figure=False),
        ],
        title="Where the runtime went",
    )
    former = told.former_loss.seconds.value if told.former_loss else 0.0
    then, now = told.against, told.of

    def add(name: str, before: float | None, more: float | Estimate | None) -> None:
        """A row of what the first run took, and how much more the second one; None: unknown, or no time of its own."""
        if more is None:
            table.add(name, NOTHING, NOTHING, words.UNKNOWN, NOTHING)
            return
        value, said = (more, "") if isinstance(more, float) else (more.value, interval(more, told.longer_seconds))
        times = [NOTHING] * 2 if before is None else [_time(told, before), _time(told, before + value)]
        table.add(name, *times, _more_cell(told, value), said)

    where = "in or outside of I/O calls" if told.is_unseen else "outside I/O calls"
    add(where, then.computing_ns / 1e9, told.computing_seconds)
    if then.waited_ns or now.waited_ns:
        add("waiting for its turn", then.waited_ns / 1e9, told.waiting_seconds)
    add("own I/O", then.io_ns / 1e9 - former, told.own_io.seconds)
    for part in PARTS:
        found = told.own_io.parts[part]
        if found is None or abs(found.value) >= WORTH_A_WORD * told.longer_seconds:
            add(f"  {PART_NAMES[part]}", None, found)
    add("lost to neighbours", former, told.lost_seconds)
    add(_rest_of_difference(told), 0.0, told.unexplained_seconds)
    add("runtime", then.runtime_ns / 1e9, told.difference_seconds)
    return table


def _rest_of_difference(told: Difference) -> str:
    """What the part is called that is neither work nor neighbours."""
    rest = told.unexplained_seconds.value
    if is_under_lower_limit(told, rest):
        return "lower limit"
    return "calls that waited for a processor" if is_wait_in_calls(told, rest) else "unexplained"


def runs_table(comparison: Comparison) -> Table:
    """Several runs: a row a run, and why it took another time than the one that they are compared with."""
    found = {told.of.job.job: told for told in comparison.differences}

    def part(heading: str, name: str) -> Made[Tasks]:
        def cell(run: Tasks) -> Cell:
            told = found.get(run.job.job)
            if told is None:
                return NOTHING
            if name == "lost" and told.lost_seconds is None:
                return Cell(words.UNKNOWN, "")
            return _more_cell(told, told.parts()[name] if name else told.difference_seconds)

        return columns.figure(heading, cell, "s")

    def confidence(run: Tasks) -> str:
        told = found.get(run.job.job)
        return told.confidence if told else "the run to compare with"

    return columns.table(
        comparison.runs,
        columns.text("run", lambda run: run.job.job),
        columns.seconds("runtime", lambda run: run.runtime_ns / 1e9),
        part("difference", ""),
        part("outside I/O calls", "computing"),
        *([part("waiting for its turn", "waiting")] if any(run.waited_ns for run in comparison.runs) else []),
        part("own I/O", "own_io"),
        part("lost to neighbours", "lost"),
        part("unexplained", "unexplained"),
        columns.text("confidence", confidence),
        title=f"Against {comparison.chosen} run, {comparison.against.job.job}",
    )


def work_table(comparison: Comparison) -> Table:
    return columns.table(
        comparison.runs,
        columns.text("run", lambda run: run.job.job),
        columns.text("program", lambda run: run.job.program),
        columns.count("processes", lambda run: run.processes),
        columns.count("nodes", lambda run: run.job.nodes),
        columns.seconds("in I/O calls", lambda run: run.io_ns / 1e9),
        columns.size("written", lambda run: run.total("write", "bytes")),
        columns.count("write calls", lambda run: run.total("write", "calls")),
        columns.size("read", lambda run: run.total("read", "bytes")),
        columns.count("read calls", lambda run: run.total("read", "calls")),
        columns.count("metadata calls", lambda run: run.total("meta", "calls")),
    )


def signed(seconds: float, longer: float) -> str:
    """A difference such as "+1.9 s"; "0 s" where it is next to nothing beside the longer runtime."""
    if abs(seconds) < NEXT_TO_NOTHING * longer:
        return "0 s"
    return f"{'+' if seconds > 0 else '-'}{words.seconds(abs(seconds))}"


def interval(estimate: Estimate, longer: float) -> str:
    """Such as "[-0.2 to +1.9]", in seconds; empty where the ends say the same as the value."""
    ends = [
        "0" if abs(end) < NEXT_TO_NOTHING * longer else f"{'+' if end > 0 else '-'}{words.number(abs(end))}"
        for end in (estimate.low, estimate.high)
    ]
    return f"[{ends[0]} to {ends[1]}]" if ends[0] != ends[1] else ""


def _more_cell(told: Difference, seconds: float) -> Cell:
    return Cell(signed(seconds, told.longer_seconds), seconds)


def _time(told: Difference, seconds: float) -> Cell:
    if abs(seconds) < NEXT_TO_NOTHING * told.longer_seconds:
        return Cell("0 s", 0.0)
    return Cell(f"{words.number(seconds)} s", seconds)


def compare_page(
    comparison: Comparison,
    unseen: Sequence[str],
    paths: Mapping[str, Path] = MappingProxyType({}),
    call_sites: Sequence[Section] = (),
) -> Page:
    names = [run.job.job for run in comparison.runs]
    is_pair = len(names) == 2
    longer = (comparison.told.of if comparison.told.difference_seconds >= 0 else comparison.told.against).job.job
    return Page(
        title=f"{words.listing(names)} compared",
        kicker=f"Slicewise compare of {words.listing(names)}, {words.date_and_zone(comparison.runs[0].job.start_ns)}",
        sentences=opening(comparison),
        facts=_facts(comparison),
        sections=[
            Section(
                heading="Why the runtimes differ" if is_pair else "Why each run took another time",
                chart=_chart(comparison),
                tables=[parts_table(comparison) if is_pair else runs_table(comparison)],
                note="Own I/O is what more or other work costs at the speed of the run compared with. Parts add up to "
                "the difference. An interval says how far off these speeds may be.",
            ),
            *call_sites,
            Section(
                heading="What each run did",
                tables=[work_table(comparison)],
                note=" ".join(
                    ["A runtime is from the first process's start to the last one's end.", *rule(comparison)]
                ),
            ),
        ],
        steps=[Step("See who slowed the longer run down:", command("blame", paths.get(longer, longer)))],
        unseen=[*notes(comparison), *unseen],
    )


def sites_that_differ(of: Digest, against: Digest) -> list[Section]:
    """The flame graph of a run's call sites, by the difference to another run; nothing where one has no samples."""
    now, then = sites(of), sites(against)
    if now.samples.is_empty() or then.samples.is_empty():
        return []
    slices = range(whole(now.samples["slice"].min()), whole(now.samples["slice"].max()) + 1)
    section = Section(
        f"Call sites of {of.job}, by the difference to {against.job}",
        text=[
            f"Each call is as wide as what it costs in {of.job}. Red: more than in {against.job}; blue: less; grey: as "
            "much. Click one to enlarge it, and the top one to come back."
        ],
        flame=flame(now, slices, of.slice_ns, (against.job, then)),
        note=f"{of.job}: {estimated_from(now)} {against.job}: {estimated_from(then)}",
    )
    return [section]


def _facts(comparison: Comparison) -> list[Fact]:
    told = comparison.told
    facts = [Fact(f"runtime of {run.job.job}", words.seconds(run.runtime_ns / 1e9)) for run in (told.against, told.of)]
    facts += [
        Fact(runtimes.PARTS[part][0], signed(value, told.longer_seconds), runtimes.PARTS[part][1])
        for part, value in _known(told)
    ]
    return [*facts, Fact("confidence", told.confidence)]


def _chart(comparison: Comparison) -> Figure:
    told = comparison.told
    if len(comparison.runs) == 2:
        first, last = ((run.job.job, run.runtime_ns / 1e9) for run in (told.against, told.of))
        return runtimes.steps(first, last, _known(told))
    rows = [(told.of.job.job, part, value) for told in comparison.differences for part, value in _known(told)]
    return runtimes.by_run(pl.DataFrame(rows, schema=["run", "part", "seconds"], orient="row"))


def _known(told: Difference) -> list[tuple[str, float]]:
    """The parts that are known, with what each has of the difference; without turns there is no waiting for them."""
    missing = {
        *(["lost"] if told.lost_seconds is None else []),
        *([] if told.of.waited_ns or told.against.waited_ns else ["waiting"]),
    }
    return [(part, value) for part, value in told.parts().items() if part not in missing]
