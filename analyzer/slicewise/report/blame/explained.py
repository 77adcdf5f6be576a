"""How each number of a blame came about, in sentences: what `slicewise blame --explain` and the page's end say."""

from collections.abc import Iterator

from slicewise.analysis.blame.result import Baseline, Blame, Neighbour, Outside
from slicewise.constants import HARDLY_MEET, NEARLY_TURNS
from slicewise.estimate import Estimate
from slicewise.report.blame import blame_words
from slicewise.text import words

WAYS = {
    "standalone runs": "its standalone runs of the same size",
    "other sizes": "standalone runs of the same program in other sizes",
    "quiet slices": "the slices of this run in which nobody else used the storage",
    "line": "a line through its speed against what its neighbours moved, carried on to neighbours that move nothing",
    "shared slices": "its share of what the storage served while others were there, and its speed without them",
    "envelope": "the highest rate that the storage served, if the job can fill the storage by itself",
}
WAITS = {
    "ranks": "Its ranks wait for each other, so every phase of the program lost what its slowest rank lost.",
    "processes": "Its processes do not wait for each other, so the job lost what its most delayed process lost.",
    "strands": "Processes that ran one after another, or of which one handed the other what it had read, count as one, "
    "and the job lost what the most delayed one lost.",
    "one process": "Its I/O is that of one process, whose loss is the job's.",
}


def explanation(blame: Blame, says_ways: bool = True) -> list[str]:
    """A sentence or two for each number, in the order in which they are computed. says_ways: also each way to know the
    time alone, which `sources_table` has too."""
    return [
        *_measured(blame),
        *_runs(blame),
        *(_alone(blame) if says_ways else []),
        *_lost(blame),
        *(line for neighbour in blame.neighbours for line in _neighbour(blame, neighbour)),
        *_traffic(blame),
        _confidence(blame),
    ]


def _measured(blame: Blame) -> Iterator[str]:
    until = f"to {words.clock(blame.as_of_ns)}, for it still runs" if blame.is_running else "to its last one's end"
    yield from words.asked({"command": blame.job.command, "directory": blame.job.directory})
    yield f"Runtime: {words.duration(blame.runtime_seconds)}, from the first process's start {until}."
    by = f", by the one of its {blame.io_processes:,} processes with most" if blame.io_processes > 1 else ""
    if blame.waits == "strands":
        by = ", by those of its processes with most that ran one after another or waited for each other"
    mapped = f" and in waits for mapped files ({words.duration(blame.mapped_seconds)}, a guess)"
    yield f"I/O: {words.duration(blame.io_seconds)} in calls on files{mapped if blame.mapped_seconds else ''}{by}."


def _runs(blame: Blame) -> Iterator[str]:
    for run in blame.runs:
        taken = "taken as a standalone run" if run.is_taken else f"not taken as a standalone run: {run.why_not}"
        yield f"{run.job}: {taken}."


def _alone(blame: Blame) -> Iterator[str]:
    for number, source in enumerate(blame.sources, 1):
        yield f"Time alone, way {number}, by {WAYS[source.source]}: {_told(blame, source)}"
    if blame.contradiction:
        yield words.sentence(blame.contradiction)


def _told(blame: Blame, source: Baseline) -> str:
    if source.seconds is None:
        return words.sentence(f"not to be had, because {source.refused}" if source.refused else "not to be had")
    runs = f", from {words.listing(source.runs)}" if source.runs else ""
    counts = blame.baseline is not None and source.source == blame.baseline.source
    taken = "This is the one that counts." if counts else "Told for comparison only."
    if source.refused:
        taken = words.sentence(f"Not taken: {source.refused}")
    return f"{blame_words.estimate(source.seconds)} of I/O{runs}, confidence {source.confidence}. {taken}"


def _lost(blame: Blame) -> Iterator[str]:
    if blame.lost is None or blame.alone is None:
        yield words.sentence(f"Lost: unknown: {blame.unknown_because}")
        return
    if blame.io_lost is not None:
        yield f"Lost in I/O calls: {blame_words.estimate(blame.io_lost)} by the mean process."
    if blame.turn is not None:
        yield f"It {blame_words.waited(blame.turn)}: that is in no I/O call, and in no neighbour's share."
    yield f"Lost of the runtime: {blame_words.estimate(blame.lost)}. {WAITS[blame.waits]}"
    if blame.outside is None:
        yield f"Runtime alone: {blame_words.estimate(blame.alone)}, the runtime without that loss."
    else:
        yield from _outside(blame.outside, blame.alone)
    if not blame.is_claimed:
        yield "The loss is not claimed, because it lies within its interval or below 2 % of the time in I/O."
    lost = blame.lost.value
    nobody, apart = blame_words.beside(blame.unexplained_seconds, lost), blame_words.beside(blame.apart_seconds, lost)
    if abs(blame.unexplained_seconds) >= blame_words.WORTH_A_CLAUSE * abs(lost):
        yield f"Blamed on nobody: {nobody}, of which {apart} because processes lost unequally."


def _outside(outside: Outside, alone: Estimate) -> Iterator[str]:
    yield f"Runtime alone: {blame_words.estimate(alone)}, {alone.how}."
    computed, paced, waited = map(
        words.duration, (outside.computed_seconds, outside.paced_seconds, outside.waited_seconds)
    )
    with_it = f" with {paced} of such waits as came with computing before" if outside.paced_seconds else ""
    yield (
        f"Lost outside of I/O calls: {words.duration(outside.seconds - outside.io_seconds)}, by the kernel's counts "
        f"{computed} of computing more{with_it}, {waited} waiting for a processor."
    )
    if outside.loaded_seconds:
        yield f"Its program and libraries took {words.duration(outside.loaded_seconds)} longer to be loaded."
    if outside.memory_seconds:
        yield (
            f"For {words.duration(outside.memory_seconds)} of its time memory was short: something waited for it, or "
            "it slept until what had been in memory before was fetched again (an estimate, of looks at its threads)."
        )
    if outside.io_seconds:
        yield f"It waited {words.duration(outside.io_seconds)} of that in I/O calls, which is no neighbour's I/O."


def _neighbour(blame: Blame, neighbour: Neighbour) -> Iterator[str]:
    name = blame_words.name_of(neighbour)
    where = blame_words.place(neighbour.storage)
    if neighbour in blame_words.blamed(blame) or neighbour.lost.value:
        yield (
            f"Lost to {name}: {blame_words.estimate(neighbour.lost)} on {where}. In each slice the loss is split by "
            "how much of the storage's time each neighbour took."
        )
    end = neighbour.without_it_end
    if end is not None:
        after = blame_words.estimate(end)
        yield f"Without {name}, all else as it was, the job would have ended after {after}, a model says."
    elif neighbour.no_model:
        yield words.sentence(f"When the job would have ended without {name} is not known: {neighbour.no_model}")


def _traffic(blame: Blame) -> Iterator[str]:
    for traffic in blame_words.worth_telling(blame.traffic):
        where, profiled = blame_words.place(traffic.storage), words.size(traffic.profiled)
        if traffic.counted is None:
            yield f"Traffic on {where}: {profiled} in profiles; no counter says how much there was in all."
        else:
            yield f"Traffic on {where}: {profiled} in profiles, of {words.size(traffic.counted)} by {traffic.counter}."
        if traffic.exponent is not None:
            slices = words.count(traffic.mixed, "slice")
            told = f"exponent {words.number(traffic.exponent, 2)}, from {slices} with several kinds"
            yield f"On {where}, reads, writes and metadata calls {_meeting(traffic.exponent)} ({told})."


def _meeting(exponent: float) -> str:
    if exponent < NEARLY_TURNS:
        return "take turns"
    return "hardly meet" if exponent >= HARDLY_MEET else "partly get in each other's way"


def _confidence(blame: Blame) -> str:
    if blame.baseline is None:
        return f"Confidence: {blame.confidence}."
    return f"Confidence: {blame.confidence}; that of the time alone is {blame.baseline.confidence}."
