"""The tables of jobs on one time axis, the same for the terminal and for the page."""

from dataclasses import replace

from slicewise.analysis.overlap.overlap import DirectionOverlap, JobInDirection, Overlap
from slicewise.analysis.sharing.runtimes import Inverse, Prediction
from slicewise.charts import style
from slicewise.report import columns
from slicewise.report.over_time import OverTime, sums
from slicewise.report.overlap.overlap_words import closest, is_fitted, runtime_of
from slicewise.report.tables import NOTHING, Cell, Column, Table
from slicewise.text import words


def colours_of(overlap: Overlap) -> dict[str, str]:
    """The colour that each job has in every chart and table, by its place among the jobs."""
    return style.colours_of(job.job for job in overlap.jobs)


def jobs_table(overlap: Overlap, direction: DirectionOverlap) -> Table:
    """One row a job: who it was, what it got overall and in the region, and how long it took, alone and together."""
    prediction = closest(direction)
    has_alone = any(job.alone_seconds is not None for job in direction.jobs)
    headings = [
        Column("job", is_figure=False),
        Column("program", is_figure=False, spare=4),
        Column("processes", spare=2),
        Column("nodes", spare=3),
        Column("overall", "MiB/s", spare=1),
        Column("region", "MiB/s"),
        Column("per process", "bytes", spare=5),
        Column("RSD", "%", spare=6),
        *([Column("I/O alone", "s")] if has_alone else []),
        Column("I/O together", "s"),
        *([Column("predicted (fitted)" if is_fitted(direction) else "predicted", "s")] if prediction else []),
        *([Column("error", "%", spare=3)] if prediction else []),
        Column("runtime", "s"),
    ]
    table = Table(headings, title=meanings(direction))
    programs = {job.job: job.program for job in overlap.jobs}
    runtimes = {job.job: (job.end_ns - job.start_ns) / 1e9 for job in overlap.jobs}
    colours = colours_of(overlap)
    for job in direction.jobs:
        even = job.uniformity
        cells = [
            Cell(job.job, colour=colours[job.job]),
            Cell(programs[job.job]),
            Cell(f"{job.processes:,}", job.processes) if job.processes else NOTHING,
            Cell(f"{job.nodes:,}", job.nodes) if job.nodes else NOTHING,
            replace(rate_cell(job.overall_bytes_per_second), over_time=_rate_over_time(overlap, direction, job)),
            rate_cell(job.region_bytes_per_second),
            Cell(words.size(even.mean_bytes), even.mean_bytes) if even else NOTHING,
            Cell(words.percent(even.rsd, 2), even.rsd * 100) if even else NOTHING,
        ]
        if has_alone:
            cells.append(_seconds_cell(job.alone_seconds.value) if job.alone_seconds else NOTHING)
        cells.append(_seconds_cell(job.span.seconds.value) if job.span else NOTHING)
        if prediction:
            cells.extend(_predicted_cells(prediction, job))
        table.add(*cells, _seconds_cell(runtimes[job.job]))
    return table


def _rate_over_time(overlap: Overlap, direction: DirectionOverlap, job: JobInDirection) -> OverTime | None:
    own = direction.activity.filter(direction.activity["job"] == job.job)
    return sums("rate", own, ["bytes"], range(overlap.first_slice, overlap.end_slice), [job.bytes])


def meanings(direction: DirectionOverlap) -> str:
    """What the times of `jobs_table` are, in a sentence or two."""
    prediction = closest(direction)
    times = "I/O: from the first to the last byte; runtime: from the job's start to its end."
    if prediction is None:
        return times
    fitted = ", of several weights the one that fits this very run best" if is_fitted(direction) else ""
    return f"{times} Predicted: the I/O together, with shares by {prediction.weight}{fitted}."


def regions_table(overlap: Overlap, direction: DirectionOverlap) -> Table:
    """The active overlapping region and its variants, each with its definition."""
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
    table = Table(
        [
            Column("job", is_figure=False),
            Column("what", is_figure=False),
            Column("shares by", is_figure=False),
            Column("model", is_figure=False),
            Column("predicted", "s"),
            Column("interval", "s", is_figure=False),
            Column("observed", "s"),
            Column("error", "%"),
        ],
        title="Models of sharing against what was observed",
    )
    colours = colours_of(overlap)
    for said, models in (("together", direction.predictions), ("alone", direction.inverses)):
        for model in models:
            for row in model.jobs:
                table.add(
                    Cell(row.job, colour=colours[row.job]),
                    said,
                    model.weight or "-",
                    _model(model),
                    _seconds_cell(row.seconds.value),
                    words.interval(row.seconds.low, row.seconds.high),
                    _seconds_cell(row.observed_seconds),
                    _error_cell(row.relative_error),
                    is_greyed=bool(model.doubt),
                )
    return table


def _model(model: Prediction | Inverse) -> str:
    if isinstance(model, Prediction) and model.is_in_sample:
        return f"{model.method}, in-sample"
    return f"{model.method} (equations 1 and 2)" if model.method == "pair model" and model.doubt else model.method


def inapplicable(direction: DirectionOverlap) -> list[str]:
    """Why models were not applied, or not the simplest one; a sentence each."""
    reasons: list[str] = []
    for said, models in (("No prediction", direction.predictions), ("No standalone times", direction.inverses)):
        reasons.extend(f"{said} {_by(model)}: {model.not_applicable}." for model in models if model.not_applicable)
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


def _by(model: Prediction | Inverse) -> str:
    return f"from shares by {model.weight}" if model.weight else f"by {model.method}"


def rate_cell(bytes_per_second: float | None) -> Cell:
    if bytes_per_second is None:
        return NOTHING
    return Cell(words.rate(bytes_per_second), bytes_per_second / words.MIB)


def _seconds_cell(seconds: float | None) -> Cell:
    return NOTHING if seconds is None else Cell(words.seconds(seconds), float(seconds))


def _error_cell(relative_error: float | None) -> Cell:
    return NOTHING if relative_error is None else Cell(words.signed_percent(relative_error), relative_error * 100)


def _predicted_cells(prediction: Prediction, job: JobInDirection) -> list[Cell]:
    runtime = runtime_of(prediction, job.job)
    if runtime is None:
        return [NOTHING, NOTHING]
    return [_seconds_cell(runtime.seconds.value), _error_cell(runtime.relative_error)]
