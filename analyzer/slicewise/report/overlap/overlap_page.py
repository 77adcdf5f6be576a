"""The page of jobs on one time axis: what stands on it, in which order, with which words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import polars as pl

from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.coverage import Coverage, coverage
from slicewise.analysis.job.heat import heats
from slicewise.analysis.nodes.causes import Window, evidence_of, window_of
from slicewise.analysis.overlap import overlap as analysis
from slicewise.analysis.overlap.overlap import DirectionOverlap, Overlap, is_negligible
from slicewise.analysis.runs.matching import match_standalone
from slicewise.charts import heatmap, runtimes, throughput
from slicewise.digest.activity import Direction
from slicewise.digest.digest import Digest
from slicewise.digest.processes import known_nodes
from slicewise.estimate import Estimate
from slicewise.kinds import CampaignDirection
from slicewise.report.coverage.unseen import seen_section, unseen_lines, with_marks
from slicewise.report.nodes.evidence import evidence_section
from slicewise.report.nodes.other_words import others_sections
from slicewise.report.over_time import TimeAxis
from slicewise.report.overlap import overlap_tables as tables
from slicewise.report.overlap import overlap_words
from slicewise.report.overlap.overlap_tables import colours_of
from slicewise.report.page import Fact, Page, Section, Step, command
from slicewise.text import words

TITLES: dict[Direction, str] = {"read": "Reads", "write": "Writes"}
MOST_BLAMED_JOBS = 8


def overlap_page(
    overlap: Overlap,
    main: DirectionOverlap,
    coverages: Mapping[str, Coverage],
    unseen: Sequence[str],
    blames: Sequence[Blame] = (),
    paths: Mapping[str, Path] = MappingProxyType({}),
) -> Page:
    """The page for `main`, a direction of `overlap`; the other one follows where there is something to show.

    coverages: how much was seen of each job. unseen: lines on what the profiles could not see or have lost. blames:
    what each job lost, and to whom. paths: of the jobs' profiles, for commands to copy.
    """
    names = [job.job for job in overlap.jobs]
    others = [direction for direction in overlap.directions.values() if direction is not main]
    sections = _sections(overlap, main)
    for other in others:
        said = _nothing_to_show(main, other)
        sections.extend([Section(TITLES[other.direction], text=[said])] if said else _sections(overlap, other))
    sections.extend(seen_section(coverages))
    start_ns = overlap.first_slice * overlap.slice_ns
    return Page(
        title=f"{words.listing(names)} on one time axis",
        kicker=f"Slicewise overlap of {words.listing(names)}, {words.date_and_zone(start_ns)}",
        sentences=overlap_words.opening(overlap, main, blames),
        verdict=overlap_words.verdict(main, blames),
        facts=_facts(overlap, main),
        sections=with_marks(sections, coverages),
        axis=TimeAxis(range(overlap.first_slice, overlap.end_slice), overlap.slice_ns),
        steps=[
            *(
                Step(f"See what {name} lost, and to whom:", command("blame", paths.get(name, name)))
                for name in names[:2]
            ),
            Step(
                "See what taking turns would have changed:",
                command("turns", "policy", *(paths.get(name, name) for name in names)),
            ),
        ],
        unseen=[*main.notes, *(note for other in others for note in other.notes if note not in main.notes), *unseen],
    )


def _facts(overlap: Overlap, direction: DirectionOverlap) -> list[Fact]:
    colours = colours_of(overlap)
    facts = [
        Fact(f"{job.job} in the region", words.rate(job.region_bytes_per_second), colours[job.job])
        for job in direction.jobs
        if job.region_bytes_per_second is not None
    ]
    if direction.ratio is not None:
        facts.append(Fact("ratio of the two", words.one_to_other(direction.ratio.region)))
    if direction.basis is not None:
        facts.append(Fact("length of the region", f"{direction.basis.seconds:,.10g} s"))
    if direction.uniformity is not None:
        facts.append(Fact("RSD over all processes", words.percent(direction.uniformity.rsd, 2)))
        facts.append(Fact("Jain's index", words.number(direction.uniformity.jain)))
    return facts


def _sections(overlap: Overlap, direction: DirectionOverlap) -> list[Section]:
    slices = range(overlap.first_slice, overlap.end_slice)
    region = (direction.basis.first_slice, direction.basis.end_slice) if direction.basis else None
    behind = _behind(overlap, direction)
    return [
        _throughput_section(overlap, direction, slices, region, behind),
        *([_shares_section(overlap, direction, slices, region)] if len(direction.shares) else []),
        Section(
            heading=f"Who {_did(direction)} when: processes by slices",
            text=[
                "A row is a process, grouped by job, node and rank; the stronger the colour, the more it moved in that "
                "slice. Dotted lines mark the region."
            ],
            chart=heatmap.processes_by_slices(
                heats(direction.activity, slices, overlap.slice_ns),
                colours_of(overlap),
                slices,
                overlap.slice_ns,
                region,
            ),
            note=behind,
            is_linked=True,
        ),
        _runtimes_section(overlap, direction),
        *([Section("Regions", tables=[tables.regions_table(overlap, direction)])] if direction.basis else []),
    ]


def _throughput_section(
    overlap: Overlap, direction: DirectionOverlap, slices: range, region: tuple[int, int] | None, behind: str
) -> Section:
    prediction = overlap_words.closest(direction)
    weight = prediction.weight if prediction else "processes"
    fair_column = {"processes": "fair_bytes_by_process", "nodes": "fair_bytes_by_node"}[weight]
    capacity = direction.capacity
    text = []
    if capacity is not None:
        estimate = capacity.rate
        between = words.interval(estimate.low / words.MIB, estimate.high / words.MIB)
        text = [f"Capacity {words.rate(estimate.value)} {between}: {estimate.how}."]
    return Section(
        heading=f"What {words.listing(job.job for job in overlap.jobs)} {_did(direction)}, stacked",
        text=text,
        chart=throughput.stacked(
            direction.activity,
            colours_of(overlap),
            slices,
            overlap.slice_ns,
            fair=direction.shares.select("job", "slice", pl.col(fair_column).alias("bytes")),
            fair_by=weight,
            capacity=capacity.rate if capacity else None,
            region=region,
            region_text="active overlapping region" if region else "",
        ),
        tables=[tables.jobs_table(overlap, direction)],
        note=behind,
        is_linked=True,
    )


def _shares_section(
    overlap: Overlap, direction: DirectionOverlap, slices: range, region: tuple[int, int] | None
) -> Section:
    together = direction.shares["slice"].n_unique()
    return Section(
        heading="Each slice's bytes: the share that a job got, and its fair share",
        text=["A fair share is a job's part of the processes, or of the nodes, that moved bytes in that slice."],
        chart=throughput.shares(direction.shares, colours_of(overlap), slices, overlap.slice_ns, region),
        note=f"{words.slices_of(together, overlap.slice_ns)} in which several jobs {_did(direction)}.",
        is_linked=True,
    )


def _runtimes_section(overlap: Overlap, direction: DirectionOverlap) -> Section:
    frame = _runtimes_frame(direction)
    table = tables.predictions_table(overlap, direction)
    return Section(
        heading="How long I/O took: observed, alone and predicted",
        text=tables.inapplicable(direction),
        chart=runtimes.observed_and_predicted(frame, colours_of(overlap)) if len(frame) else None,
        tables=[table] if table.rows else [],
        note="From the first to the last byte that the job moved; bars are intervals.",
    )


def _runtimes_frame(direction: DirectionOverlap) -> pl.DataFrame:
    """The rows of the chart of runtimes: job, kind, label, seconds, low, high."""
    rows: list[tuple[str, str, str, float, float, float]] = []
    for job in direction.jobs:
        estimates: list[tuple[str, str, Estimate | None]] = [
            ("observed", "together, observed", job.span.seconds if job.span else None)
        ]
        for prediction in direction.predictions:
            runtime = overlap_words.runtime_of(prediction, job.job)
            kind, said = ("doubtful", ", which does not hold") if prediction.doubt else ("predicted", "")
            label = f"together, by {prediction.weight}{said}"
            estimates.append((kind, label, runtime.seconds if runtime else None))
        estimates.append(("alone", "alone", job.alone_seconds))
        rows.extend(
            (job.job, kind, label, estimate.value, estimate.low, estimate.high)
            for kind, label, estimate in estimates
            if estimate is not None
        )
    schema = {"job": str, "kind": str, "label": str, "seconds": float, "low": float, "high": float}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _behind(overlap: Overlap, direction: DirectionOverlap) -> str:
    """What stands behind a chart: slices, processes, nodes, and the processes that never moved a byte."""
    active = direction.activity["slice"].n_unique()
    nodes = len(known_nodes(overlap.members))
    idle = sum(job.idle_processes for job in direction.jobs)
    processes = words.processes_on_nodes(len(overlap.members), nodes)
    note = f"{words.slices_of(active, overlap.slice_ns)} with bytes, {processes}"
    return f"{note}; {words.count(idle, 'process')} of them moved none." if idle else f"{note}."


def _did(direction: DirectionOverlap) -> str:
    return {"read": "read", "write": "wrote"}[direction.direction]


def _nothing_to_show(main: DirectionOverlap, other: DirectionOverlap) -> str:
    """Why the other direction has no charts: nothing to compare, or hardly a byte; empty if it has them."""
    if other.not_applicable:
        return words.sentence(other.not_applicable)
    if not is_negligible(other, main):
        return ""
    by_job = words.listing(f"{job.job} {_did(other)} {words.size(job.bytes)}" for job in other.jobs)
    return f"{by_job}: too little beside the other direction to draw; --direction {other.direction} does."


@dataclass(frozen=True)
class OverlapReport:
    """main: the direction that is told first; seen: what was seen, by job; evidence: what moved on the nodes in the
    region against the runs alone."""

    overlap: analysis.Overlap
    main: analysis.DirectionOverlap
    seen: Mapping[str, Coverage]
    blames: Sequence[Blame]
    evidence: pl.DataFrame
    page: Page


def overlap_report(
    jobs: list[Digest], standalone: list[Digest], direction: CampaignDirection = "auto"
) -> OverlapReport:
    """Analyse jobs beside standalone runs of their programs. direction: that is told first; auto: the one with more
    bytes."""
    found = analysis.overlap(jobs, standalone)
    main = found.directions[found.main_direction if direction == "auto" else direction]
    seen = {job.job: coverage(job) for job in jobs}
    blames = _blames(found, jobs, standalone)
    evidence = _evidence(found, main, jobs, standalone)
    page = overlap_page(found, main, seen, unseen_lines(jobs), blames, {job.job: job.path for job in jobs})
    shown = [evidence_section(evidence)] if len(evidence) else []
    axis = range(found.first_slice, found.end_slice)
    for job in jobs:
        of_job = others_sections(job, axis, found.slice_ns)
        shown += [replace(section, heading=f"{section.heading}: {job.job}") for section in of_job]
    return OverlapReport(found, main, seen, blames, evidence, replace(page, sections=[*page.sections, *shown]))


def _blames(overlap: analysis.Overlap, jobs: list[Digest], standalone: list[Digest]) -> list[Blame]:
    """What each job lost, and to whom; of many jobs nothing, for that is a question of its own."""
    if len(jobs) > MOST_BLAMED_JOBS:
        return []
    alone = match_standalone(standalone, overlap.jobs)
    return [
        blame(job, [other for other in jobs if other is not job], [run.digest for run in alone[job.job]])
        for job in jobs
    ]


def _evidence(
    overlap: analysis.Overlap, main: analysis.DirectionOverlap, jobs: list[Digest], standalone: list[Digest]
) -> pl.DataFrame:
    """What moved on the nodes in the region against the runs alone; nothing without a region."""
    region = main.basis
    begin, end = (region.first_slice, region.end_slice) if region else (0, 0)
    together = [Window(job, begin * overlap.slice_ns, end * overlap.slice_ns) for job in jobs]
    return evidence_of([window_of(digest) for digest in standalone], together)
