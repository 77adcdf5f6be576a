"""What happened to jobs that ran at the same time, in sentences that a scientist understands. Plain text, no markup."""

from __future__ import annotations

from slicewise.analysis.overlap.overlap import DirectionOverlap, JobInDirection, Overlap
from slicewise.analysis.sharing.runtimes import Inverse, PredictedRuntime, Prediction
from slicewise.digest.activity import Direction
from slicewise.text import words

DONE: dict[Direction, str] = {"read": "read from", "write": "wrote to"}
# Standalone times that imply capacities further apart than this fraction are no estimate to tell.
DISAGREEMENT = 0.1
VERDICTS = {
    True: "There was contention",
    False: "There was no contention to be had",
    None: "Whether there was contention cannot be told",
}


def opening(overlap: Overlap, direction: DirectionOverlap) -> list[str]:
    """The sentences that open a page and end a terminal's wait: where and when, who got what, what it cost."""
    if direction.not_applicable:
        return [words.sentence(direction.not_applicable)]
    sentences = [where_and_when(overlap, direction), who_got_what(direction)]
    return [sentence for sentence in [*sentences, what_it_cost(direction)] if sentence]


def where_and_when(overlap: Overlap, direction: DirectionOverlap) -> str:
    """Such as: Jobs A and B both wrote to /scratch from 10:31:04 to 10:34:28 (51 slices of 4 s)."""
    jobs = [job.job for job in overlap.jobs]
    who = f"Jobs {words.listing(jobs)} {'both' if len(jobs) == 2 else 'all'}"
    done = f"{DONE[direction.direction]} {place(direction)}"
    region = direction.basis
    if region is None:
        return f"{who} {done}, but never in the same slice."
    span = words.span(region.first_slice * overlap.slice_ns, region.end_slice * overlap.slice_ns, overlap.slice_ns)
    weaker = "" if region.kind == "every process" else ", though never with all their processes at once"
    return f"{who} {done} from {span} ({words.slices_of(region.slices, overlap.slice_ns)}){weaker}."


def place(direction: DirectionOverlap) -> str:
    """The file system under analysis, as a reader knows it: where it is mounted, else where it comes from."""
    storage = direction.storage
    return "file systems of their own" if storage is None else storage.point or storage.source or storage.type


def who_got_what(direction: DirectionOverlap) -> str:
    """Such as: There A (60 processes on 5 nodes) got 83.1 MiB/s and B (12 on 1) got 19.0: 4.4 to 1, where ..."""
    got = [
        f"{job.job} ({_processes(job, is_first=place == 0)}) got {words.rate(job.region_bytes_per_second)}"
        for place, job in enumerate(direction.jobs)
        if job.region_bytes_per_second is not None
    ]
    if direction.basis is None or not got:
        return ""
    ratio = direction.ratio
    if ratio is None or ratio.region is None:
        return f"There {words.listing(got)}."
    leads = ratio.region >= 1
    region, processes, nodes = (
        words.one_to_other(figure, leads) for figure in (ratio.region, ratio.processes, ratio.nodes)
    )
    return f"There {words.listing(got)}: {region}, where processes stand {processes} and nodes {nodes}."


def what_it_cost(direction: DirectionOverlap) -> str:
    """Such as: Alone, A would have taken about 171 s [164-178]; beside B it took 203 s. Shares by nodes predict ..."""
    known = [(job, job.span.seconds, job.alone_seconds) for job in direction.jobs if job.span and job.alone_seconds]
    if not known:
        return _estimated_cost(direction)
    told, seconds, alone = max(known, key=lambda of_job: of_job[1].value / of_job[2].value)
    others = words.listing(job.job for job in direction.jobs if job is not told)
    sentence = (
        f"Alone, {told.job} would have taken about {words.estimate_of_seconds(alone)}; "
        f"beside {others} it took {words.seconds(seconds.value)}."
    )
    return f"{sentence} {_predicted(direction, told.job)}".rstrip()


def _predicted(direction: DirectionOverlap, job: str) -> str:
    """What shares by each weight predict for a job; weights that say the same are told together."""
    weights: dict[str, list[str]] = {}
    for prediction in direction.predictions:
        runtime = runtime_of(prediction, job)
        if runtime is not None:
            error = f" ({words.signed_percent(runtime.relative_error)})" if runtime.relative_error is not None else ""
            weights.setdefault(f"{words.seconds(runtime.seconds.value)}{error}", []).append(prediction.weight)
    told = [f"by {' or by '.join(by)} predict {seconds}" for seconds, by in weights.items()]
    return f"Shares {words.listing(told)}." if told else ""


def _estimated_cost(direction: DirectionOverlap) -> str:
    inverse = most_credible(direction)
    # The models turned round take it that the jobs filled the storage: without contention they would invent a cost.
    if inverse is None or not direction.contention.contended:
        return ""
    seconds = {job.job: job.span.seconds.value for job in direction.jobs if job.span is not None}
    told = max(inverse.jobs, key=lambda job: seconds[job.job] / job.seconds.value)
    by = f"with shares by {inverse.weight}" if inverse.weight else f"by {inverse.method}"
    return (
        f"No standalone run was given; estimated from this run, {by}, {told.job} would have taken about "
        f"{words.estimate_of_seconds(told.seconds)} alone; it took {words.seconds(seconds[told.job])}."
    )


def verdict(direction: DirectionOverlap) -> str:
    """Whether there was contention, and the evidence; empty where there is nothing to compare."""
    if direction.not_applicable:
        return ""
    contention = direction.contention
    return f"{VERDICTS[contention.contended]}: {contention.evidence}."


def closest(direction: DirectionOverlap) -> Prediction | None:
    """The prediction whose worst job is nearest to what was observed; the first where none was observed."""
    applicable = [prediction for prediction in direction.predictions if prediction.jobs]
    errors = [(prediction.worst_relative_error, place) for place, prediction in enumerate(applicable)]
    known = [(error, place) for error, place in errors if error is not None]
    if known:
        return applicable[min(known)[1]]
    return applicable[0] if applicable else None


def most_credible(direction: DirectionOverlap) -> Inverse | None:
    """The estimate of standalone times to tell: the first whose jobs agree on the capacity, by a weight or by none."""
    applicable = (inverse for inverse in direction.inverses if inverse.jobs)
    return next((inverse for inverse in applicable if (inverse.disagreement or 0) < DISAGREEMENT), None)


def runtime_of(prediction: Prediction, job: str) -> PredictedRuntime | None:
    """The prediction's runtime of that job, or None."""
    return next((runtime for runtime in prediction.jobs if runtime.job == job), None)


def _processes(job: JobInDirection, is_first: bool) -> str:
    if is_first:
        return words.processes_on_nodes(job.processes, job.nodes)
    return f"{job.processes:,} on {job.nodes:,}"
