"""The page of compared runs: what stands on it, in which order, with which words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import polars as pl

from slicewise.analysis.compare.compare import Comparison
from slicewise.analysis.compare.difference import Difference
from slicewise.charts import runtimes
from slicewise.charts.figure import Figure
from slicewise.report.compare import compare_words
from slicewise.report.compare.compare_tables import parts_table, runs_table, signed, work_table
from slicewise.report.page import Fact, Page, Section, Step, command
from slicewise.text import words


def compare_page(
    comparison: Comparison, unseen: Sequence[str], paths: Mapping[str, Path] = MappingProxyType({})
) -> Page:
    names = [run.job.job for run in comparison.runs]
    is_pair = len(names) == 2
    sentences = compare_words.opening(comparison)
    longer = (comparison.told.of if comparison.told.difference_seconds >= 0 else comparison.told.against).job.job
    return Page(
        title=f"{words.listing(names)} compared",
        kicker=f"Slicewise compare of {words.listing(names)}, {words.date_and_zone(comparison.runs[0].job.start_ns)}",
        sentences=sentences,
        facts=_facts(comparison),
        sections=[
            Section(
                heading="Why the runtimes differ" if is_pair else "Why each run took another time",
                chart=_pair_chart(comparison) if is_pair else _runs_chart(comparison),
                tables=[parts_table(comparison) if is_pair else runs_table(comparison)],
                note="Own I/O is what more or other work costs at the speed of the run compared with. Parts add up to "
                "the difference. An interval says how far off these speeds may be.",
            ),
            Section(
                heading="What each run did",
                tables=[work_table(comparison)],
                note=" ".join(
                    [
                        "A runtime is from the first process's start to the last one's end.",
                        *compare_words.rule(comparison),
                    ]
                ),
            ),
        ],
        steps=[Step("See who slowed the longer run down:", command("blame", paths.get(longer, longer)))],
        unseen=[*compare_words.notes(comparison), *unseen],
    )


def _facts(comparison: Comparison) -> list[Fact]:
    told = comparison.told
    facts = [Fact(f"runtime of {run.job.job}", words.seconds(run.runtime_ns / 1e9)) for run in (told.against, told.of)]
    facts += [
        Fact(runtimes.PARTS[part][0], signed(value, told.longer_seconds), runtimes.PARTS[part][1])
        for part, value in _known(told)
    ]
    return [*facts, Fact("confidence", told.confidence)]


def _pair_chart(comparison: Comparison) -> Figure:
    told = comparison.told
    first, last = ((run.job.job, run.runtime_ns / 1e9) for run in (told.against, told.of))
    return runtimes.steps(first, last, _known(told))


def _runs_chart(comparison: Comparison) -> Figure:
    rows = [(told.of.job.job, part, value) for told in comparison.differences for part, value in _known(told)]
    return runtimes.by_run(pl.DataFrame(rows, schema=["run", "part", "seconds"], orient="row"))


def _known(told: Difference) -> list[tuple[str, float]]:
    """The parts that are known, with what each has of the difference; without turns there is no waiting for them."""
    missing = {
        *(["lost"] if told.lost_seconds is None else []),
        *([] if told.of.waited_ns or told.against.waited_ns else ["waiting"]),
    }
    return [(part, value) for part, value in told.parts().items() if part not in missing]
