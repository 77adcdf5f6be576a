"""What overlapping jobs cost each other, in sentences."""

from collections.abc import Sequence

from slicewise.analysis.blame.result import Blame
from slicewise.analysis.overlap.direction import DirectionOverlap, JobInDirection, Region
from slicewise.analysis.overlap.overlap import Overlap
from slicewise.analysis.sharing.runtimes import Inverse, PredictedRuntime, Prediction
from slicewise.constants import LITTLE_BYTES, WORTH_A_WAIT
from slicewise.digest.activity import Direction
from slicewise.report.blame import blame_words
from slicewise.report.blame.bystander_words import is_for_want_of_others
from slicewise.report.model.model_report import misfit_words
from slicewise.text import words

DONE: dict[Direction, str] = {"read": "read from", "write": "wrote to"}
# Standalone times that imply capacities further apart than this fraction are no estimate to tell.
DISAGREEMENT = 0.1
VERDICTS = {
    True: "There was contention",
    False: "There was no contention",
    None: "Unknown whether they slowed each other down",
}


def opening(overlap: Overlap, direction: DirectionOverlap, blames: Sequence[Blame] = ()) -> list[str]:
    """The sentences that open a page and end a terminal's wait: what it cost each job and because of whom, where and
    when they met, who got what, and how well a model of sharing explains it.

    blames: of each job; what is known by them is not said in weaker words.
    """
    known = of_blames(blames)
    if not known and direction.contention.contended is None:
        known = of_unknown(blames)
    known += waits(overlap)
    if direction.not_applicable:
        return [*known, words.sentence(direction.not_applicable)]
    sentences = [*known, where_and_when(overlap, direction), who_got_what(direction)]
    cost = "" if of_blames(blames) else what_it_cost(direction)
    return [sentence for sentence in [*sentences, cost, how_well_predicted(direction)] if sentence]


def of_blames(blames: Sequence[Blame]) -> list[str]:
    sentences = []
    for one in blames:
        if one.lost is not None:
            headline, *more = blame_words.opening(one)
            sentences += [f"{headline} Confidence: {one.confidence}.", *more]
    return sentences


def waits(overlap: Overlap) -> list[str]:
    """Such as: small waited 12 s for its turn (coordination). Next to nothing is not told."""
    runtimes = {job.job: (job.end_ns - job.start_ns) / 1e9 for job in overlap.jobs}
    return [
        f"{job} waited {words.duration(seconds)} for its turn (coordination)."
        for job, seconds in overlap.waited_seconds.items()
        if seconds > WORTH_A_WAIT * runtimes[job]
    ]


def of_unknown(blames: Sequence[Blame]) -> list[str]:
    """Why it is not known of jobs with company whether they were slowed down, and the one step that would tell."""
    found = [(blame, is_for_want_of_others(blame)) for blame in blames if blame.lost is None]
    told = [blame_words.headline(blame) for blame, is_alone in found if is_alone and blame.bystanders]
    unknown = [blame for blame, is_alone in found if not is_alone]
    if unknown:
        reasons = dict.fromkeys(blame_words.short_reason(blame) for blame in unknown)
        jobs = " or ".join(blame.job.job for blame in unknown)
        told.append(f"Unknown whether {jobs} was slowed down: {next(iter(reasons))}.")
    steps = [one.next_step for one, is_alone in found if one.next_step and (one.bystanders or not is_alone)]
    return [*told, *(f"To find out: {words.sentence(step)}" for step in steps[:1])]


def where_and_when(overlap: Overlap, direction: DirectionOverlap) -> str:
    """Such as: Jobs A and B both wrote to /scratch from 10:31:04 to 10:34:28 (51 slices of 4 s). Where they met again
    and again: in how many slices, and which run of these is the region."""
    jobs = [job.job for job in overlap.jobs]
    who = f"Jobs {words.listing(jobs)} {'both' if len(jobs) == 2 else 'all'}"
    done = f"{DONE[direction.direction]} {place(direction)}"
    region = direction.basis
    if region is None:
        return f"{who} {done}, but never in the same slice."
    weaker = "" if region.kind == "every process" else ", though never with all their processes at once"
    shared = direction.regions.any_union
    if shared is None or shared.slices == region.slices:
        return f"{who} {done} {_from_to(overlap, region)}{weaker}."
    longest = "the longest run of slices with all their processes" if not weaker else "the longest run of such slices"
    return (
        f"{who} {done} {_from_to(overlap, shared)}{weaker}. The active overlapping region, {longest}, is "
        f"{_from_to(overlap, region)}."
    )


def _from_to(overlap: Overlap, region: Region) -> str:
    """Such as: from 10:31:04 to 10:34:28 (51 slices of 4 s). Where slices between are left out: in 51 slices of 4 s
    from 10:31:04 to 10:34:28."""
    slices = words.slices_of(region.slices, overlap.slice_ns)
    span = words.span(region.first_slice * overlap.slice_ns, region.end_slice * overlap.slice_ns, overlap.slice_ns)
    is_whole = region.slices == region.end_slice - region.first_slice
    return f"from {span} ({slices})" if is_whole else f"in {slices} from {span}"


def place(direction: DirectionOverlap) -> str:
    """The file system under analysis, as a reader knows it: where it is mounted, else where it comes from."""
    storage = direction.storage
    return "file systems of their own" if storage is None else storage.point or storage.source or storage.type


def who_got_what(direction: DirectionOverlap) -> str:
    """Such as: There A (60 processes on 5 nodes) got 83.1 MiB/s and B (12 on 1) got 19.0: 4.4 to 1, where ..."""
    got = [
        f"{job.job}{'' if job.processes is None else f' ({_processes(job, place == 0)})'} got "
        f"{words.rate(job.region_bytes_per_second)}"
        for place, job in enumerate(direction.jobs)
        if job.region_bytes_per_second is not None
    ]
    if direction.basis is None or not got:
        return ""
    ratio = direction.ratio
    few = [job for job in direction.jobs if job.bytes < LITTLE_BYTES]
    if few and len(few) < len(direction.jobs):
        who = words.listing(f"{job.job} {words.DID[direction.direction]} only {words.size(job.bytes)}" for job in few)
        return f"There {words.listing(got)}. {who}: no more than programs need to start."
    if ratio is None or not ratio.region or len(got) != 2:
        return f"There {words.listing(got)}."
    leads = ratio.region >= 1
    winner, loser = direction.jobs if leads else direction.jobs[::-1]
    rates = [words.number((job.region_bytes_per_second or 0.0) / words.MIB) for job in (winner, loser)]
    times = words.one_to_other(ratio.region, leads).removesuffix(" to 1")
    got_more = (
        f"While both {words.DID[direction.direction]}, {winner.job} got {times} times the bandwidth of {loser.job} "
        f"({rates[0]} against {rates[1]} MiB/s)"
        if times != "1"
        else f"While both {words.DID[direction.direction]}, they got about the same bandwidth "
        f"({winner.job} {rates[0]}, {loser.job} {rates[1]} MiB/s)"
        if rates[0] != rates[1]
        else f"While both {words.DID[direction.direction]}, each got {rates[0]} MiB/s"
    )
    return " ".join(words.sentence(said) for said in (got_more, _sizes(winner, loser)) if said)


def _sizes(one: JobInDirection, other: JobInDirection) -> str:
    """Such as: large has 60 processes on 5 nodes, small 12 on 1. Where some ranks moved nothing: how many moved
    bytes."""
    if one.processes is None or other.processes is None:
        known = [job for job in (one, other) if job.processes is not None]
        return f"{known[0].job} has {_processes(known[0], is_first=True)}" if known else ""
    if one.idle_processes or other.idle_processes:
        there = f", on {words.count(one.nodes, 'node')}" if one.nodes else ""
        also = f", on {other.nodes:,}" if other.nodes else ""
        return (
            f"{words.count(one.processes, 'process')} of {one.job} moved bytes there{there}"
            f"{',' if there else ''} and {other.processes:,} of {other.job}{also}"
        )
    return f"{one.job} has {_processes(one, is_first=True)}, {other.job} {_processes(other, is_first=False)}"


def what_it_cost(direction: DirectionOverlap) -> str:
    """Such as: The I/O of A would have taken about 171 s [164-178] alone; beside B it took 203 s."""
    known = [(job, job.span.seconds, job.alone_seconds) for job in direction.jobs if job.span and job.alone_seconds]
    if not known:
        return _estimated_cost(direction)
    told, seconds, alone = max(known, key=lambda of_job: of_job[1].value / of_job[2].value)
    others = words.listing(job.job for job in direction.jobs if job is not told)
    waiting = f", of it {words.seconds(told.waited_seconds)} waiting for its turn"
    waiting = waiting if told.waited_seconds > WORTH_A_WAIT * seconds.value else ""
    return (
        f"The I/O of {told.job} would have taken about {words.estimate_of_seconds(alone)} alone; "
        f"beside {others} it took {words.seconds(seconds.value)}{waiting}."
    )


def how_well_predicted(direction: DirectionOverlap) -> str:
    """How far the model of sharing that fits best is off for the job that it misses most; empty without one."""
    prediction = closest(direction)
    worst = prediction.worst if prediction else None
    if prediction is None or worst is None or worst.relative_error is None:
        return ""
    chosen = ", the weight that fits this very run best," if is_fitted(direction) else ""
    if prediction.is_in_sample:
        chosen += " (in-sample: with rates of this very run)"
    return (
        f"A model of sharing by {prediction.weight}{chosen} gives the I/O of {worst.job} "
        f"{words.seconds(worst.seconds.value)} instead of {words.seconds(worst.observed_seconds)} "
        f"({words.signed_percent(worst.relative_error)}), its largest error.{_misfit(prediction)}"
    )


def _misfit(prediction: Prediction) -> str:
    found = {misfit.job: misfit for misfit in prediction.misfits}
    known = [job for job in prediction.jobs if job.job in found and job.relative_error is not None]
    if not known:
        return ""
    return f" {misfit_words(found[max(known, key=lambda job: abs(job.relative_error or 0)).job])}"


def is_fitted(direction: DirectionOverlap) -> bool:
    """Whether the prediction that is told was chosen among several by how well it fits this very run."""
    said = {
        tuple(round(job.seconds.value, 3) for job in prediction.jobs)
        for prediction in direction.predictions
        if prediction.jobs and not prediction.doubt
    }
    return len(said) > 1


def _estimated_cost(direction: DirectionOverlap) -> str:
    inverse = most_credible(direction)
    # The models turned round take it that the jobs filled the storage: without contention they would invent a cost.
    if inverse is None or not direction.contention.contended:
        return ""
    seconds = {job.job: job.span.seconds.value for job in direction.jobs if job.span is not None}
    told = max(inverse.jobs, key=lambda job: seconds[job.job] / job.seconds.value)
    by = f"with shares by {inverse.weight}" if inverse.weight else f"by {inverse.method}"
    return (
        f"No standalone run was given; estimated from this run, {by}, the I/O of {told.job} would have taken about "
        f"{words.estimate_of_seconds(told.seconds)} alone; it took {words.seconds(seconds[told.job])}."
    )


def verdict(direction: DirectionOverlap, blames: Sequence[Blame] = ()) -> str:
    """Whether there was contention, and the evidence; empty where there is nothing to compare, or where more is known
    by blames."""
    if direction.not_applicable or of_blames(blames):
        return ""
    if direction.contention.contended is None and of_unknown(blames):
        return ""
    contention = direction.contention
    return f"{VERDICTS[contention.contended]}: {contention.evidence}."


def closest(direction: DirectionOverlap) -> Prediction | None:
    """The prediction whose worst job is nearest to what was observed; the first where none was observed; none whose
    assumptions do not hold."""
    applicable = [prediction for prediction in direction.predictions if prediction.jobs and not prediction.doubt]
    known = [prediction for prediction in applicable if prediction.worst is not None]
    return min(known, key=lambda one: abs(one.worst.relative_error), default=next(iter(applicable), None))


def most_credible(direction: DirectionOverlap) -> Inverse | None:
    """The estimate of standalone times to tell: the first whose jobs agree on the capacity, by a weight or by none."""
    applicable = (inverse for inverse in direction.inverses if inverse.jobs and not inverse.doubt)
    return next((inverse for inverse in applicable if (inverse.disagreement or 0) < DISAGREEMENT), None)


def runtime_of(prediction: Prediction, job: str) -> PredictedRuntime | None:
    """The prediction's runtime of that job, or None."""
    return next((runtime for runtime in prediction.jobs if runtime.job == job), None)


def _processes(job: JobInDirection, is_first: bool) -> str:
    assert job.processes is not None
    if is_first:
        return words.processes_on_nodes(job.processes, job.nodes)
    return f"{job.processes:,} on {job.nodes:,}" if job.nodes else f"{job.processes:,}"
