"""Scenarios through `slicewise blame`, as rows of what was told beside what is true.

PYTHONPATH=tests build/venv/bin/python -m support.blame_trials [PART OF A SCENARIO'S NAME] [--slice 1]
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import SOURCES, Blame
from slicewise.digest.digest import Digest
from slicewise.digest.shared import several
from slicewise.profile.reader import read_profile
from support.blame_scenarios import Scenario, scenarios

Given = tuple[str, ...]
# What the analysis is given beside the neighbours' profiles.
NOTHING: Given = ()
STANDALONE: Given = ("standalone",)
OTHER_SIZES: Given = ("other sizes",)


def digests(*paths: Path) -> list[Digest]:
    """Profiles as digests."""
    return [Digest(read_profile(path)) for path in paths]


def told(scenario: Scenario, slice_seconds: int, given: Given = NOTHING, has_collectors: bool = False) -> Blame:
    """What `blame` says of a scenario."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        job, neighbours = scenario.profiles(directory, slice_seconds, has_collectors)
        alone = scenario.standalone(directory, slice_seconds) if "standalone" in given else []
        if "other sizes" in given:
            alone += scenario.of_other_sizes(directory, slice_seconds)
        # Read together, as the command does: to make each one's frames by itself is most of the time that this takes.
        own, *others = several([job, *neighbours, *alone])
        # Frames are made when they are asked for, and files are gone afterwards.
        return blame(own, others[: len(neighbours)], others[len(neighbours) :])


def by_source(scenario: Scenario, slice_seconds: int, given: Given, result: Blame) -> Iterator[dict]:
    """A row a source: the I/O time lost in its words and in truth."""
    chosen = result.baseline.source if result.baseline else ""
    true = scenario.io_lost
    for baseline in result.sources:
        lost = None if baseline.seconds is None else result.io_seconds - baseline.seconds.value
        yield {
            "scenario": scenario.name, "slice": slice_seconds, "given": " ".join(given), "source": baseline.source,
            "chosen": baseline.source == chosen, "io": scenario.together.io_seconds(scenario.job.name),
            "true_io_lost": true, "io_lost": lost, "error": None if lost is None else (lost - true) / true,
            "confidence": baseline.confidence, "refused": baseline.refused,
        }  # fmt: skip


def in_short(scenario: Scenario, slice_seconds: int, given: Given, result: Blame) -> dict:
    """The runtime lost, and the parts of neighbours, in its words and in truth."""
    row = {
        "scenario": scenario.name, "slice": slice_seconds, "given": " ".join(given),
        "chosen": result.baseline.source if result.baseline else "", "confidence": result.confidence,
        "claimed": bool(result.is_claimed), "runtime": result.runtime_seconds, "true_lost": scenario.lost,
        "lost": result.lost.value if result.lost else None, "low": result.lost.low if result.lost else None,
        "high": result.lost.high if result.lost else None, "unexplained": result.unexplained_seconds,
        "apart": result.apart_seconds, "unknown": result.unknown_because,
    }  # fmt: skip
    parts = points(scenario, result)
    return row | {
        "error": (row["lost"] - scenario.lost) / scenario.lost if result.lost and scenario.lost else None,
        "points": max((abs(off) for off in parts.values()), default=None),
        "neighbours": " ".join(f"{name} {off:+.0f}" for name, off in parts.items()),
        "without": " ".join(
            f"{one.job} {without_error(scenario, one.job, one.without_it_end.value):+.0%}"
            if one.without_it_end
            else f"{one.job} -"
            for one in result.neighbours
        ),
    }


def points(scenario: Scenario, result: Blame) -> dict[str, float]:
    """By neighbour: its part of the loss as told less its part in truth, in percent of the true loss.

    What a job would lose less without each of several neighbours adds up to more than its loss, since all but one stay
    each time: then these parts are of their sum.
    """
    if result.lost is None:
        return {}
    said = {one.job: one.lost.value for one in result.neighbours}
    true = {other.name: scenario.lost_to(other.name) for other in scenario.neighbours if other.is_profiled}
    scale = min(1.0, scenario.lost / max(sum(true.values()), 1e-9))
    return {name: 100 * (said.get(name, 0.0) - scale * lost) / scenario.lost for name, lost in true.items()}


def without_error(scenario: Scenario, neighbour: str, end: float) -> float:
    """How far the told end without a neighbour is off, as a part of the true one."""
    true = scenario.together.runtime(scenario.job.name) - scenario.lost_to(neighbour)
    return (end - true) / true


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """By source, slice and confidence: |error| in %, of losses of 20 % of the I/O time and more."""
    large = rows.filter(pl.col("true_io_lost") >= 0.2 * pl.col("io"), pl.col("error").is_not_null())
    order = pl.col("source").replace_strict({source: place for place, source in enumerate(SOURCES)})
    return (
        large.with_columns(order=order)
        .group_by("order", "source", "slice", "confidence")
        .agg(pl.len().alias("count"), mean=pl.col("error").abs().mean() * 100, max=pl.col("error").abs().max() * 100)
        .sort("order", "slice", "confidence")
        .drop("order")
    )


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="", help="of the names of scenarios")
    parser.add_argument("--slice", type=int, action="append", help="its length in seconds; 1 and 4 if not given")
    parser.add_argument("--json", type=Path, help="a file for the same rows")
    options = parser.parse_args(arguments)
    sources, short = [], []
    for scenario in scenarios():
        if options.part not in scenario.name:
            continue
        for length in options.slice or [1, 4]:
            for given in (NOTHING, STANDALONE):
                result = told(scenario, length, given)
                short.append(in_short(scenario, length, given, result))
                # Standalone runs change nothing about the other sources but which of them is the first.
                sources += [
                    row
                    for row in by_source(scenario, length, given, result)
                    if given == NOTHING or row["source"] == "standalone runs"
                ]
    every = pl.DataFrame(sources, infer_schema_length=None)
    with pl.Config(
        tbl_rows=-1, tbl_cols=-1, tbl_width_chars=260, fmt_str_lengths=70, float_precision=3,
        tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_formatting="ASCII_BORDERS_ONLY_CONDENSED",
    ):  # fmt: skip
        print(every.drop("given"))
        print(pl.DataFrame(short, infer_schema_length=None))
        print(summary(every))
    if options.json:
        options.json.write_text(json.dumps({"sources": sources, "short": short}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
