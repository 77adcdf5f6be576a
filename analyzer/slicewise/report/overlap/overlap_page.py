"""What happened to jobs that ran at the same time: sentences, tables, JSON and a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.coverage import Coverage, coverage
from slicewise.analysis.job.heat import heats
from slicewise.analysis.nodes.causes import Window, evidence_of, window_of
from slicewise.analysis.overlap.direction import DirectionOverlap, JobInDirection, Region
from slicewise.analysis.overlap.overlap import Overlap, is_negligible
from slicewise.analysis.overlap.overlap import overlap as compared
from slicewise.analysis.runs.matching import match_standalone, runs_to_compare, that_fit
from slicewise.analysis.sharing.runtimes import Inverse, Prediction
from slicewise.charts import heatmap, runtimes, style, throughput
from slicewise.digest.activity import Direction
from slicewise.digest.digest import Digest
from slicewise.digest.processes import known_nodes
from slicewise.estimate import Estimate
from slicewise.kinds import CampaignDirection
from slicewise.report import columns
from slicewise.report.coverage.unseen import seen_section, unseen_lines, with_marks
from slicewise.report.nodes.evidence import evidence_section
from slicewise.report.nodes.other_words import others_sections
from slicewise.report.over_time import TimeAxis, sums
from slicewise.report.overlap.overlap_words import closest, is_fitted, opening, runtime_of, verdict
from slicewise.report.page import Fact, Page, Section, Step, command
from slicewise.report.records import mib_s, or_none, picked, rate_record
from slicewise.report.tables import NOTHING, Cell, Table
from slicewise.text import words


def colours_of(overlap: Overlap) -> dict[str, str]:
    """The colour that each job has in every chart and table, by its place among the jobs."""
    return style.colours_of(job.job for job in overlap.jobs)


def jobs_table(overlap: Overlap, direction: DirectionOverlap) -> Table:
    """One row a job: who it was, what it got overall and in the region, and how long it took, alone and together."""
    prediction = closest(direction)
    predicted = {runtime.job: runtime for runtime in prediction.jobs} if prediction else {}
    by_name = {job.job: job for job in overlap.jobs}
    colours = colours_of(overlap)
    heading = "predicted (fitted)" if is_fitted(direction) else "predicted"

    def overall(job: JobInDirection) -> Cell:
        own = direction.activity.filter(direction.activity["job"] == job.job)
        slices = range(overlap.first_slice, overlap.end_slice)
        rate = job.overall_bytes_per_second
        cell = NOTHING if rate is None else Cell(words.rate(rate), rate / words.MIB)
        return replace(cell, over_time=sums("rate", own, ["bytes"], slices, [job.bytes]))

    def alone(job: JobInDirection) -> float | None:
        return job.alone_seconds.value if job.alone_seconds else None

    def of_model(job: JobInDirection) -> float | None:
        return predicted[job.job].seconds.value if job.job in predicted else None

    def error(job: JobInDirection) -> float | None:
        return predicted[job.job].relative_error if job.job in predicted else None

    return columns.table(
        direction.jobs,
        columns.text("job", lambda job: Cell(job.job, colour=colours[job.job])),
        columns.text("program", lambda job: by_name[job.job].program, spare=4),
        columns.count("processes", lambda job: job.processes or None, spare=2, none=NOTHING),
        columns.count("nodes", lambda job: job.nodes or None, spare=3, none=NOTHING),
        columns.figure("overall", overall, "MiB/s", spare=1),
        columns.rate("region", lambda job: job.region_bytes_per_second, none=NOTHING),
        columns.size(
            "per process", lambda job: job.uniformity.mean_bytes if job.uniformity else None, spare=5, none=NOTHING
        ),
        columns.percent(
            "RSD", lambda job: job.uniformity.rsd if job.uniformity else None, spare=6, none=NOTHING, digits=2
        ),
        *(
            [columns.seconds("I/O alone", alone, none=NOTHING)]
            if any(job.alone_seconds for job in direction.jobs)
            else []
        ),
        columns.seconds("I/O together", lambda job: job.span.seconds.value if job.span else None, none=NOTHING),
        *([columns.seconds(heading, of_model, none=NOTHING)] if prediction else []),
        *([columns.error("error", error, spare=3, none=NOTHING)] if prediction else []),
        columns.seconds("runtime", lambda job: (by_name[job.job].end_ns - by_name[job.job].start_ns) / 1e9),
        title=meanings(direction),
    )


def meanings(direction: DirectionOverlap) -> str:
    """What the times of `jobs_table` are, in a sentence or two."""
    prediction = closest(direction)
    times = "I/O: from the first to the last byte; runtime: from the job's start to its end."
    if prediction is None:
        return times
    fitted = ", of several weights the one that fits this very run best" if is_fitted(direction) else ""
    return f"{times} Predicted: the I/O together, with shares by {prediction.weight}{fitted}."


def regions_table(overlap: Overlap, direction: DirectionOverlap) -> Table:
    found = direction.regions
    return columns.table(
        (region for region in (found.every_process, found.union, found.any_process) if region is not None),
        columns.text("region", lambda region: region.kind),
        columns.text("from", lambda region: words.clock(region.first_slice * overlap.slice_ns, overlap.slice_ns)),
        columns.text("to", lambda region: words.clock(region.end_slice * overlap.slice_ns, overlap.slice_ns)),
        columns.count("slices", lambda region: region.slices),
        columns.figure("length", lambda region: Cell(f"{region.seconds:,.10g} s", region.seconds), "s"),
        columns.text("what it is", lambda region: region.meaning),
        title="The active overlapping region and its variants",
    )


def predictions_table(overlap: Overlap, direction: DirectionOverlap) -> Table:
    """Every prediction and every estimate of a standalone time, one row a model, weight and job."""
    colours = colours_of(overlap)
    return columns.table(
        (
            (said, model, row)
            for said, models in (("together", direction.predictions), ("alone", direction.inverses))
            for model in models
            for row in model.jobs
        ),
        columns.text("job", lambda of: Cell(of[2].job, colour=colours[of[2].job])),
        columns.text("what", lambda of: of[0]),
        columns.text("shares by", lambda of: of[1].weight or "-"),
        columns.text("model", lambda of: _model(of[1])),
        columns.seconds("predicted", lambda of: of[2].seconds.value),
        columns.text("interval", lambda of: words.interval(of[2].seconds.low, of[2].seconds.high), "s"),
        columns.seconds("observed", lambda of: of[2].observed_seconds, none=NOTHING),
        columns.error("error", lambda of: of[2].relative_error, none=NOTHING),
        title="Models of sharing against what was observed",
        is_greyed=lambda of: bool(of[1].doubt),
    )


def _model(model: Prediction | Inverse) -> str:
    if isinstance(model, Prediction) and model.is_in_sample:
        return f"{model.method}, in-sample"
    return f"{model.method} (equations 1 and 2)" if model.method == "pair model" and model.doubt else model.method


def inapplicable(direction: DirectionOverlap) -> list[str]:
    """Why models were not applied, or not the simplest one; a sentence each."""
    reasons: list[str] = []
    for said, models in (("No prediction", direction.predictions), ("No standalone times", direction.inverses)):
        for model in models:
            if model.not_applicable:
                by = f"from shares by {model.weight}" if model.weight else f"by {model.method}"
                reasons.append(f"{said} {by}: {model.not_applicable}.")
    all_models: list[Prediction | Inverse] = [*direction.predictions, *direction.inverses]
    reasons.extend(
        f"Greyed: a model's assumption does not hold here. {words.sentence(model.doubt)}"
        for model in all_models
        if model.doubt
    )
    reasons.extend(
        f"Not the pair model: {model.method_reason}."
        for model in direction.predictions
        if model.jobs and model.method_reason
    )
    return list(dict.fromkeys(reasons))


VARIANTS = ("every_process", "union", "any_process", "any_union")


def overlap_record(
    overlap: Overlap, main: DirectionOverlap, coverages: Mapping[str, Coverage], page: Path | None
) -> dict[str, Any]:
    """What `slicewise overlap --json` prints: the keys of `main` at the top, all directions in `directions`."""
    directions = {name: _direction(overlap, direction) for name, direction in overlap.directions.items()}
    return {
        "slice_seconds": overlap.slice_ns / 1e9,
        **picked(overlap, "first_slice", "end_slice", "waited_seconds"),
        "direction": main.direction,
        **directions[main.direction],
        "directions": directions,
        "coverage": coverages,
        "page": str(page) if page else None,
    }


def _direction(overlap: Overlap, direction: DirectionOverlap) -> dict[str, Any]:
    programs = {job.job: job.program for job in overlap.jobs}
    uniformity, contention, capacity = direction.uniformity, direction.contention, direction.capacity
    variants = {kind: _region(overlap, getattr(direction.regions, kind)) for kind in VARIANTS}
    region = _region(overlap, direction.basis)
    return {
        **or_none(direction, "not_applicable"),
        "storage": direction.storage,
        "region": region and {**region, "variants": variants},
        "jobs": [_job(job, programs[job.job]) for job in direction.jobs],
        "ratio": direction.ratio and direction.ratio.region,
        "ratios": direction.ratio,
        "rsd": uniformity and uniformity.rsd,
        "jain": uniformity and uniformity.jain,
        "contended": contention.contended,
        "contention": {
            **picked(contention, "evidence", "share_of_alone"),
            "together_mib_s": mib_s(contention.together_bytes_per_second),
            "alone_mib_s": mib_s(contention.alone_bytes_per_second),
        },
        "model": {
            "capacity": capacity and {**rate_record(capacity.rate), "source": capacity.source},
            **picked(direction, "predictions", "inverses"),
        },
        "notes": direction.notes,
    }


def _job(job: JobInDirection, program: str) -> dict[str, Any]:
    even, span, demand = job.uniformity, job.span, job.demand
    return {
        "job": job.job,
        "program": program,
        **picked(job, "processes", "nodes", "idle_processes", "bytes"),
        "overall_mib_s": mib_s(job.overall_bytes_per_second),
        "region_bytes": job.region_bytes,
        "region_mib_s": mib_s(job.region_bytes_per_second),
        **picked(job, "region_share", "fair_share_by_process", "fair_share_by_node"),
        "bytes_per_process": even and {"mean": even.mean_bytes, **picked(even, "rsd", "jain")},
        "start": span and words.iso_time(span.start_ns),
        "end": span and words.iso_time(span.end_ns),
        "seconds": span and span.seconds,
        "busy_share": span and span.busy_share,
        "waited_seconds": job.waited_seconds,
        "alone_job": job.alone and job.alone.job,
        "alone_seconds": job.alone_seconds,
        "demand": demand and {**rate_record(demand.bytes_per_second), "source": demand.source},
        **picked(job.use, "elsewhere_bytes", "elsewhere_share"),
    }


def _region(overlap: Overlap, region: Region | None) -> dict[str, Any] | None:
    if region is None:
        return None
    return {
        "kind": region.kind.replace(" ", "_"),
        **picked(region, "meaning", "first_slice", "end_slice", "slices", "seconds"),
        "start": words.iso_time(region.first_slice * overlap.slice_ns),
        "end": words.iso_time(region.end_slice * overlap.slice_ns),
    }


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
    who, start_ns = words.listing(names), overlap.first_slice * overlap.slice_ns
    return Page(
        title=f"{who} on one time axis",
        kicker=f"Slicewise overlap of {who}, {words.date_and_zone(start_ns)}",
        sentences=opening(overlap, main, blames),
        verdict=verdict(main, blames),
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
            heading=f"How far each job's transfer was: {words.DID[direction.direction]} by then",
            chart=throughput.progress(direction.activity, colours_of(overlap), slices, overlap.slice_ns, region),
            note="Flat where a transfer stood still; the steeper, the faster.",
            is_linked=True,
        ),
        Section(
            heading=f"Who {words.DID[direction.direction]} when: processes by slices",
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
        *([Section("Regions", tables=[regions_table(overlap, direction)])] if direction.basis else []),
    ]


def _throughput_section(
    overlap: Overlap, direction: DirectionOverlap, slices: range, region: tuple[int, int] | None, behind: str
) -> Section:
    prediction = closest(direction)
    weight = prediction.weight if prediction else "processes"
    fair_column = {"processes": "fair_bytes_by_process", "nodes": "fair_bytes_by_node"}[weight]
    capacity = direction.capacity
    text = []
    if capacity is not None:
        estimate = capacity.rate
        between = words.interval(estimate.low / words.MIB, estimate.high / words.MIB)
        text = [f"Capacity {words.rate(estimate.value)} {between}: {estimate.how}."]
    return Section(
        heading=f"What {words.listing(job.job for job in overlap.jobs)} {words.DID[direction.direction]}, stacked",
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
        tables=[jobs_table(overlap, direction)],
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
        note=f"{words.slices_of(together, overlap.slice_ns)} in which several jobs {words.DID[direction.direction]}.",
        is_linked=True,
    )


def _runtimes_section(overlap: Overlap, direction: DirectionOverlap) -> Section:
    frame = _runtimes_frame(direction)
    table = predictions_table(overlap, direction)
    return Section(
        heading="How long I/O took: observed, alone and predicted",
        text=inapplicable(direction),
        chart=runtimes.observed_and_predicted(frame, colours_of(overlap)) if len(frame) else None,
        tables=[table] if table.rows else [],
        note="From the first to the last byte that the job moved; bars are intervals.",
    )


def _runtimes_frame(direction: DirectionOverlap) -> pl.DataFrame:
    rows: list[tuple[str, str, str, float, float, float]] = []
    for job in direction.jobs:
        estimates: list[tuple[str, str, Estimate | None]] = [
            ("observed", "together, observed", job.span.seconds if job.span else None)
        ]
        for prediction in direction.predictions:
            runtime = runtime_of(prediction, job.job)
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
    active = direction.activity["slice"].n_unique()
    nodes = len(known_nodes(overlap.members))
    idle = sum(job.idle_processes for job in direction.jobs)
    processes = words.processes_on_nodes(len(overlap.members), nodes)
    note = f"{words.slices_of(active, overlap.slice_ns)} with bytes, {processes}"
    return f"{note}; {words.count(idle, 'process')} of them moved none." if idle else f"{note}."


def _nothing_to_show(main: DirectionOverlap, other: DirectionOverlap) -> str:
    """Why the other direction has no charts: nothing to compare, or hardly a byte; empty if it has them."""
    if other.not_applicable:
        return words.sentence(other.not_applicable)
    if not is_negligible(other, main):
        return ""
    by_job = words.listing(f"{job.job} {words.DID[other.direction]} {words.size(job.bytes)}" for job in other.jobs)
    return f"{by_job}: too little beside the other direction to draw; --direction {other.direction} does."


@dataclass(frozen=True)
class OverlapReport:
    """main: the direction that is told first; seen: what was seen, by job; evidence: what moved on the nodes in the
    region against the runs alone."""

    overlap: Overlap
    main: DirectionOverlap
    seen: Mapping[str, Coverage]
    blames: Sequence[Blame]
    evidence: pl.DataFrame
    page: Page


def overlap_report(
    jobs: list[Digest],
    standalone: list[Digest],
    direction: CampaignDirection = "auto",
    found_alone: Sequence[Sequence[Digest]] = (),
) -> OverlapReport:
    """Analyse jobs beside standalone runs of their programs. direction: that is told first; auto: the one with more
    bytes. found_alone: for each job the runs that nobody gave, of which those count that blame takes.
    """
    found_alone = found_alone or [[] for _ in jobs]
    blames = _blames(jobs, standalone, found_alone)
    refused = {(told.job.job, run.job) for told in blames for run in told.runs if not run.is_taken}
    taken = [
        [run for run in runs if (job.job, run.job) not in refused] for job, runs in zip(jobs, found_alone, strict=True)
    ]
    standalone = [*standalone, *that_fit(taken, jobs)]
    found = compared(jobs, standalone)
    main = found.directions[found.main_direction if direction == "auto" else direction]
    seen = {job.job: coverage(job) for job in jobs}
    evidence = _evidence(found, main, jobs, standalone)
    page = overlap_page(found, main, seen, unseen_lines(jobs), blames, {job.job: job.path for job in jobs})
    shown = [evidence_section(evidence)] if len(evidence) else []
    axis = range(found.first_slice, found.end_slice)
    for job in jobs:
        of_job = others_sections(job, axis, found.slice_ns)
        shown += [replace(section, heading=f"{section.heading}: {job.job}") for section in of_job]
    return OverlapReport(found, main, seen, blames, evidence, replace(page, sections=[*page.sections, *shown]))


def _blames(jobs: list[Digest], standalone: list[Digest], found: Sequence[Sequence[Digest]]) -> list[Blame]:
    """What each job lost, and to whom; of many jobs nothing, for that is a question of its own."""
    if len(jobs) > MOST_BLAMED_JOBS:
        return []
    runs = runs_to_compare(jobs)
    alone = match_standalone(standalone, [run.job for run in runs])
    return [
        blame(job, [other for other in jobs if other is not job], [run.digest for run in alone[job.job]], its)
        for job, its in zip(jobs, found, strict=True)
    ]


def _evidence(overlap: Overlap, main: DirectionOverlap, jobs: list[Digest], standalone: list[Digest]) -> pl.DataFrame:
    """What moved on the nodes in the region against the runs alone; nothing without a region."""
    region = main.basis
    begin, end = (region.first_slice, region.end_slice) if region else (0, 0)
    together = [Window(job, begin * overlap.slice_ns, end * overlap.slice_ns) for job in jobs]
    return evidence_of([window_of(digest) for digest in standalone], together)
