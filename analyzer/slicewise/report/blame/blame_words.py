"""Who slowed a job down, by how much, and how sure that is, in sentences that need no docs. Plain text, no markup."""

from collections.abc import Iterator, Sequence

import polars as pl

from slicewise.analysis.blame.result import (
    Blame,
    LowerLimit,
    Neighbour,
    RunTaken,
    Source,
    TimeLimited,
    Traffic,
    Turn,
)
from slicewise.analysis.blame.runs_taken import NOT_ALONE
from slicewise.analysis.blame.servers import BY_SERVERS
from slicewise.analysis.blame.standalone import NO_RUN
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import LEAST_OF_JOB, MAINLY, WORTH_NAMING_BYTES
from slicewise.estimate import Estimate
from slicewise.report.blame.bystander_words import is_for_want_of_others, others_there, was_by_itself
from slicewise.report.blame.outside_words import (
    LEAST_PART,
    is_hidden_io,
    is_outside_alone,
    moved_by_no_call,
    waited_in_calls,
    where_outside,
)
from slicewise.report.blame.region_words import lost_lines
from slicewise.report.blame.waiting_words import waiting_lines
from slicewise.text import words

NOT_PROFILED = "programs without a profile"
# Shares of the loss: a neighbour with less is not named in the first sentence; a part with less gets no clause.
WORTH_BLAMING, WORTH_A_CLAUSE = 0.05, 0.005
# A share of the loss: if unequal processes lost less than that, it is told with what is unexplained.
WORTH_APART = 0.02
# Above this share of the loss neighbours are the reason; above the next one of what turns and limits leave, a part.
REASON, LEAST_REASON, PART_OF_REASON = 0.5, 0.25, 0.1
MOST_BLAMED, MOST_MISSING, MOST_DISAGREEMENTS = 3, 4, 2
# A value below this share of its interval's width is next to nothing.
LEAST_OF_INTERVAL = 0.001
# From here on minutes are easier to grasp than seconds.
LONG = 299.5
# A share of the I/O time: if the job's own processes cost each other less than that, it is not told.
WORTH_OWN_PROCESSES = 0.05
# A model and a blame that differ by less than this share of the runtime do not contradict each other.
WORTH_A_CONTRADICTION = 0.02
# A direction is not told if it has less than this share of what a neighbour moved. Metadata calls are told from so
# many a second on, unless each comes with so many bytes that those matter more.
WORTH_A_DIRECTION = 0.1
FEWEST_CALLS, MOST_BYTES_A_CALL = 50.0, 256 << 10
# Profiles that explain at least this share of a storage's traffic explain all of it.
ALL_TRAFFIC = 0.995
# A storage with less than this share of what all of the job's storages moved is not worth a line.
WORTH_A_STORAGE = 0.01

KINDS = {"read": "reads", "write": "writes", "meta": "metadata calls"}
FROM: dict[Source, str] = {
    "standalone runs": "from {runs}",
    "other sizes": "estimated from {runs}, of the same program in other sizes",
    "quiet slices": "from the parts of this very run in which nobody else used the storage",
    "line": "estimated from how its speed fell as its neighbours moved more",
    "shared slices": "from its share of what the storage served while others were there",
    "envelope": "from the most that the storage served, and so only if the job can fill the storage by itself",
}


def opening(blame: Blame) -> list[str]:
    """The first sentences, those of the page and of the terminal: the verdict, and what it is made of."""
    return [sentence for sentence in (headline(blame), second_sentence(blame)) if sentence]


def headline_with_confidence(blame: Blame) -> str:
    return f"{headline(blame)}   Confidence: {blame.confidence}"


def headline(blame: Blame) -> str:
    who = _subject(blame)
    if blame.alone is None or blame.lost is None:
        return _held_up(blame, who) or _unknown(blame, who)
    took = f"{words.duration(blame.runtime_seconds)}{' so far' if blame.is_running else ''}"
    alone = estimate(blame.alone)
    if blame.time_limited is not None:
        return _in_the_same_time(blame, blame.time_limited, who, took)
    if blame.outside is not None:
        return _not_by_io_alone(blame, who, took)
    if is_faster(blame):
        return f"{who} was not slowed down: it took {took}, less than the {alone} that it takes alone."
    if blame.is_too_uncertain:
        known = f"it took {took}, and alone it takes {alone}"
        return f"{who} may have been slowed down: {known}, which is too uncertain to tell."
    if not blame.is_claimed:
        return f"{who} was not slowed down measurably: it took {took}, and alone it takes {alone}."
    return f"{who} took {slowdown(blame)}: {took} instead of {alone}{_because(blame)}."


def _held_up(blame: Blame, who: str) -> str:
    """What a job is known to have waited for on its own nodes, though its time alone is not; empty: nothing."""
    took = words.duration(blame.runtime_seconds)
    waited, memory = blame.delayed_seconds, blame.memory_seconds
    if memory is not None and memory.value >= (waited or LEAST_PART * blame.runtime_seconds):
        return slept_for_memory(who, memory, took)
    if waited is not None and waited > blame.runtime_seconds:  # of processes side by side
        return f"{who}'s processes waited {words.duration(waited)} for processors, added up, in its {took}."
    return "" if waited is None else f"{who} waited {words.duration(waited)} of its {took} for a processor."


def slept_for_memory(who: str, memory: Estimate, took: str) -> str:
    """That a job waited for what it had read before. took: its runtime, in words."""
    return f"{who} slept {estimate(memory)} of its {took} for what it had read before: memory was short."


def _unknown(blame: Blame, who: str) -> str:
    if blame.turn is not None:
        return f"{who} {waited(blame.turn)}; {unknown_beside_turn(blame)}"
    if is_for_want_of_others(blame):
        others = others_there(blame, "its file systems", "no profile shows anybody else on its file systems")
        return f"Nobody is known to have slowed {who} down: {others}."
    reason = short_reason(blame)
    return words.sentence(f"Unknown whether {who} was slowed down{': ' if reason else ''}{reason}")


def _in_the_same_time(blame: Blame, limited: TimeLimited, who: str, took: str) -> str:
    because = _because(blame) if blame.is_claimed and limited.less > 0 else ""
    than = f"{words.percent(abs(limited.less), 2)} {'less' if limited.less > 0 else 'more'} than alone"
    if limited.what == ("meta_ops",):
        did = f"made {words.number(limited.done)} metadata calls"
    else:
        did = f"moved {words.size(limited.done)}"
    return f"{who} runs for a set time: in {took} it {did}, {than}{because}."


def _not_by_io_alone(blame: Blame, who: str, took: str) -> str:
    """The headline where the job took longer outside of I/O, too: the larger part comes first."""
    assert blame.outside is not None
    assert blame.alone is not None
    assert blame.lost is not None
    outside = blame.outside
    longer = f"{who} took {slowdown(blame)}: {took} instead of {estimate(blame.alone)}"
    in_calls = words.duration(outside.io_seconds)
    if outside.is_for_processor:
        of_it = f", {in_calls} of it in I/O calls, which need one, too" if waited_in_calls(outside) else ""
        elsewhere = f"{words.duration(outside.seconds)} {where_outside(outside)}{of_it}"
    else:
        besides = f", and {in_calls} waiting for a processor in I/O calls" if waited_in_calls(outside) else ""
        elsewhere = f"{words.duration(outside.seconds - outside.io_seconds)} {where_outside(outside)}{besides}"
    if is_outside_alone(blame, outside):
        is_other = not is_hidden_io(outside) and not blame.is_io_open
        return f"{longer}{', not because of I/O' if is_other else ''}: it lost {elsewhere}."
    in_io, because = blame.lost.value, _because(blame)
    of_io = (
        f"{words.duration(in_io)} in I/O{because.replace(',', '', 1) if because.startswith(', because') else because}"
    )
    parts = [of_io, elsewhere] if in_io >= outside.seconds else [elsewhere, of_io]
    return f"{longer}: it lost {parts[0]}, and {parts[1]}."


def second_sentence(blame: Blame) -> str:
    """What the loss is made of; without a loss who was there and did no harm; unknown, the one step that would tell."""
    if blame.alone is None or blame.lost is None:
        step = _to_find_out(blame)
        there = _there_all_the_same(blame)
        if blame.is_running and was_by_itself(blame):
            there = "Other jobs that still run too are known only by what they have written to their profiles."
        known = _unknown(blame, _subject(blame)) if _held_up(blame, _subject(blame)) else ""
        return " ".join(part for part in (known, _at_most(blame), there, step) if part)
    there = _there_all_the_same(blame)
    if there and blame.outside is not None and is_hidden_io(blame.outside) and is_outside_alone(blame, blame.outside):
        return f"{there.removesuffix('.')}, and may have cost it that."
    if not blame.is_claimed:
        if blame.outside is not None and not is_hidden_io(blame.outside):
            if blame.is_io_open:
                return f"Whether it lost time in I/O, too, is too uncertain to tell: {estimate(blame.lost)}."
            but = ", but for that wait" if waited_in_calls(blame.outside) else ""
            return f"Its I/O took as long as alone{but}, as far as can be measured."
        shared = _shared_with(blame)
        if not shared:
            others = others_there(blame, "its storage", "No other profile shows anybody on its storage at that time")
            return f"{others[0].upper()}{others[1:]}." if not is_faster(blame) else ""
        harm = "" if blame.is_too_uncertain else ", and did it no measurable harm"
        return f"{shared}{harm}."
    lost = blame.lost.value
    clauses = [*_clauses_of_neighbours(blame), *_clauses_of_the_rest(blame)]
    in_calls = "in I/O calls" if not blame.mapped_seconds else "in I/O calls and in waits for mapped files"
    start = f"{words.duration(lost)} were lost {in_calls}"
    if blame.io_seconds >= lost:
        start = f"Of {words.duration(blame.io_seconds)} {in_calls}, {words.duration(lost)} were lost"
    if blame.turn is not None:
        start = f"It lost {words.duration(lost)}"
        waited = f"waiting for its turn{_who_had(blame.turn)}"
        clauses = [(f"of it {beside(blame.turn.seconds.value, lost)}", waited), *clauses]
    if len(clauses) == 1:
        return f"{start}, all of it {clauses[0][1]}."
    return f"{start}: {', '.join(map(' '.join, clauses))}." if clauses else ""


def to_find_out(step: str) -> str:
    return f"To find out: {step}" if step else ""


def _at_most(blame: Blame) -> str:
    """What a job can have lost that mostly did something else than I/O, though it is not known what it lost."""
    is_much = blame.io_seconds >= MAINLY * blame.runtime_seconds
    if is_much or blame.slices.is_empty() or blame.is_hidden or blame.waits == "ranks":
        return ""
    what = "I/O calls" if not blame.mapped_seconds else "I/O calls and waits for mapped files"
    took = words.duration(blame.runtime_seconds)
    return f"It lost at most {words.duration(blame.io_seconds)} of its {took} in {what}, which took no longer."


def _to_find_out(blame: Blame) -> str:
    there = beside_others(blame)
    if not blame.next_step or not there:
        return to_find_out(blame.next_step)
    names, first = [run.job for run in there[:MOST_BLAMED]], there[0]
    them, runs = ("it", "such a run") if len(names) == 1 else ("them", "such runs")
    why = first.why_not.removeprefix(f"{NOT_ALONE}: ")
    return (
        f"{words.listing(names)} may be {runs}, though others were active meanwhile ({first.job}: {why}). "
        f"To take {them} all the same: --alone PROFILE. Else: {blame.next_step}"
    )


def waited(turn: Turn) -> str:
    """Such as "waited 12.0 s for its turn while large had it"."""
    return f"waited {words.duration(turn.seconds.value)} for its turn{_who_had(turn)}"


def unknown_beside_turn(blame: Blame) -> str:
    reason = short_reason(blame)
    return words.sentence(f"whether others slowed its I/O down is unknown{': ' if reason else ''}{reason}")


def _who_had(turn: Turn) -> str:
    known = [one.job for one in turn.had_it if one.seconds >= WORTH_BLAMING * turn.seconds.value]
    return f" while {_first_of(known)} had it" if known else ""


def short_reason(blame: Blame) -> str:
    """Why nothing can be told, in as few words as a headline has room for; `explanation` says it of each way."""
    first, *more = blame.unknown_because.split("; ")
    first = "no run is known that was alone" if first == NO_RUN and beside_others(blame) else first
    return f"{first}, and this run by itself does not tell" if more else first


def beside_others(blame: Blame) -> list[RunTaken]:
    """The runs that were not taken since something was active beside them, which may have cost them nothing."""
    return [run for run in blame.runs if not run.is_taken and run.why_not.startswith(NOT_ALONE)]


def is_faster(blame: Blame) -> bool:
    """Whether the job took less time than alone, beyond the interval."""
    is_less = blame.alone is not None and blame.runtime_seconds < blame.alone.low
    return is_less and blame.lost is not None and blame.lost.high < 0 and not blame.is_claimed


def slowdown(blame: Blame) -> str:
    """Such as "2.0 times as long as alone", "12 % longer than alone"."""
    ratio = blame.slowdown
    return "many times as long as alone" if ratio is None else f"{words.how_long(ratio)} alone"


def name_of(neighbour: Neighbour) -> str:
    return NOT_PROFILED if neighbour.job is None else _named(neighbour.job, neighbour.program)


def place(storage: Storage) -> str:
    return storage.point or storage.source or storage.type


def estimate(seconds: Estimate) -> str:
    """Such as "10.7 s [10.6-10.9]", "5 min 18 s [310-322 s]"; what is measured has no interval."""
    value = seconds.value
    if seconds.low == seconds.high:
        return words.duration(value)
    between = words.interval(seconds.low, seconds.high)
    if abs(value) < LEAST_OF_INTERVAL * (seconds.high - seconds.low):
        value = 0.0
    return f"{words.duration(value)} {between[:-1]} s]" if value >= LONG else f"{words.number(value)} s {between}"


def beside(value: float, whole: float) -> str:
    """Seconds of a part with the digits of the whole, so that what is read adds up: "0.1 s" of "10.9 s"."""
    if whole >= LONG:
        return words.duration(value)
    decimals = len(words.number(whole).partition(".")[2])
    return f"{round(value, decimals) + 0.0:,.{decimals}f} s"


def did(neighbour: Neighbour) -> str:
    """Such as "wrote 28.8 MiB/s to /scratch", "made 2,000 metadata calls a second on /scratch"."""
    where, seconds = place(neighbour.storage), max(neighbour.seconds, 1e-9)
    moved = neighbour.read_bytes + neighbour.write_bytes
    told = []
    if neighbour.read_bytes and neighbour.read_bytes >= WORTH_A_DIRECTION * moved:
        told.append(f"read {words.rate(neighbour.read_bytes / seconds)}")
    if neighbour.write_bytes and neighbour.write_bytes >= WORTH_A_DIRECTION * moved:
        told.append(f"wrote {words.rate(neighbour.write_bytes / seconds)}")
    calls = neighbour.meta_ops / seconds
    if calls and (not moved or (calls >= FEWEST_CALLS and moved < MOST_BYTES_A_CALL * neighbour.meta_ops)):
        told.append(f"made {words.number(calls)} metadata calls a second")
    if not told:
        return f"used {where}"
    preposition = {"read": "from", "wrote": "to"}.get(told[0].split()[0], "on") if len(told) == 1 else "on"
    return f"{words.listing(told)} {preposition} {where}"


def baseline_line(blame: Blame) -> str:
    """What the time alone is from; empty where it is unknown."""
    if blame.baseline is None:
        return ""
    runs = blame.baseline.runs
    named = f"its standalone run{'s' if len(runs) != 1 else ''} {words.listing(runs)}" if runs else "standalone runs"
    if blame.baseline.source == "other sizes":
        named = words.listing(runs) or "standalone runs"
    processors = blame.outside is not None and blame.baseline.source != "standalone runs"
    more = ", and without its waits for a processor" if processors else ""
    return words.sentence(f"Alone: {FROM[blame.baseline.source].format(runs=named)}{more}")


def further_lines(blame: Blame, says_next: bool = True) -> list[str]:
    """What a reader must know beside the first two sentences: contradictions, other traffic, what is missing;
    says_next: and what would make it surer."""
    return [
        *([words.sentence(blame.contradiction)] if blame.contradiction else []),
        *([f"It {waited(blame.turn)}."] if blame.turn is not None and not blame.is_claimed and blame.lost else []),
        *(lost_lines(blame.regions, blame.lost.value, NOT_PROFILED) if blame.lost and blame.regions.height else []),
        *([line] if (line := own_processes_line(blame)) else []),
        *(waiting_lines(blame.by_waiting) if blame.by_waiting else []),
        *disagreements(blame),
        *(line for traffic in worth_telling(blame.traffic) if (line := traffic_line(traffic))),
        *missing_lines(blame),
        *(words.sentence(note) for note in blame.notes),
        *([f"To be surer: {words.sentence(blame.next_step)}"] if says_next and blame.next_step and blame.lost else []),
    ]


def has_own_processes(blame: Blame) -> bool:
    own = blame.own_processes
    return own is not None and own.seconds.low > 0 and own.seconds.value >= WORTH_OWN_PROCESSES * blame.io_seconds


def own_processes_line(blame: Blame) -> str:
    """What the job's processes lost to each other; empty where that is unknown or little."""
    own = blame.own_processes
    if own is None or not has_own_processes(blame):
        return ""
    seconds = f"about {estimate(own.seconds)} are its own {blame.io_processes:,} processes waiting for each other"
    return f"Of its own I/O, {seconds} (an estimate)."


def worth_telling(traffic: Sequence[Traffic]) -> list[Traffic]:
    """The storages with more than a trifle of the job's time in calls; where none took time, of what was moved."""
    moved = [max(each.profiled, each.counted or 0) for each in traffic]
    times = [each.own_ns for each in traffic]
    shares = times if any(times) else moved
    return [
        each
        for each, size, share in zip(traffic, moved, shares, strict=True)
        if size and share >= WORTH_A_STORAGE * sum(shares)
    ]


def missing_lines(blame: Blame) -> list[str]:
    if not blame.missing:
        return []
    more = len(blame.missing) - MOST_MISSING
    told = [*blame.missing[:MOST_MISSING], *([f"{more:,} more"] if more > 0 else [])]
    return [f"Missing: the profile of {words.listing(told)}. What happened there is in no figure."]


def traffic_line(traffic: Traffic) -> str:
    """What share of a storage's traffic profiles explain; empty where no counter tells."""
    if traffic.covered is None or not traffic.counted:
        return ""
    share = "all" if traffic.covered >= ALL_TRAFFIC else words.percent(traffic.covered, 2)
    moved = words.size(traffic.counted)
    if traffic.counter == BY_SERVERS:
        return f"{moved} moved on {place(traffic.storage)} meanwhile, as {BY_SERVERS} counted it."
    return f"Profiles explain {share} of the {moved} that moved on {place(traffic.storage)} meanwhile."


def disagreements(blame: Blame) -> Iterator[str]:
    """Where the model of sharing contradicts the blame of a neighbour beyond both intervals, the worst neighbours."""
    runtime = blame.runtime_seconds
    if not blame.is_claimed:
        return
    told = 0
    for neighbour in blamed(blame):
        end, lost = neighbour.without_it_end, neighbour.lost
        if end is None:
            continue
        sooner = end.through(lambda seconds: runtime - seconds, end.how)
        is_apart = sooner.low > lost.high or sooner.high < lost.low
        if is_apart and abs(sooner.value - lost.value) >= WORTH_A_CONTRADICTION * runtime and told < MOST_DISAGREEMENTS:
            told += 1
            yield (
                f"Two ways to see {name_of(neighbour)} disagree: {estimate(lost)} were lost while it was active, but "
                f"by the model of sharing {blame.job.job} would have ended {estimate(sooner)} sooner without it."
            )


def _subject(blame: Blame) -> str:
    name = _named(blame.job.job, blame.job.program)
    if not blame.is_running:
        return name
    return f"{name} (still running; as of {words.clock(blame.as_of_ns)})"


def _named(job: str, program: str) -> str:
    """A job by its name, and by its program where the name is a scheduler's number."""
    says_more = program not in ("", words.UNKNOWN) and not any(letter.isalpha() for letter in job)
    return f"{job} ({program})" if says_more else job


def blamed(blame: Blame) -> list[Neighbour]:
    """The neighbours that took a part of the loss that is worth their name, the one that took most first."""
    lost = blame.lost.value if blame.lost else 0.0
    found = [neighbour for neighbour in blame.neighbours if neighbour.lost.value >= WORTH_BLAMING * lost > 0]
    return sorted(found, key=lambda neighbour: -neighbour.lost.value)


def _because(blame: Blame) -> str:
    lost = blame.lost.value if blame.lost else 0.0
    turn = blame.turn if blame.turn_seconds >= WORTH_BLAMING * lost else None
    limit = blame.lower_limit if blame.lower_limit and blame.lower_limit.seconds >= WORTH_BLAMING * lost else None
    if blame.shares.is_empty() and turn is None and limit is None:
        if blame.is_in_memory:
            return ": what its calls read was in memory, and no disk slowed them down"
        if blame.baseline is not None and blame.baseline.source == "standalone runs":
            return f": its storage was slower, and {others_there(blame, 'it')}"
        return f", but {others_there(blame, 'its storage')}"
    # Whoever may as well have cost nothing is in the second sentence, and not the reason in the first.
    neighbours = blamed(blame)
    sure = [neighbour for neighbour in neighbours if neighbour.lost.low > 0]
    share, together = (sum(each.lost.value for each in some) / max(lost, 1e-9) for some in (sure, neighbours))
    reasons = []
    known = (turn.seconds.value if turn else 0.0) + (limit.seconds if limit else 0.0)
    least = max(PART_OF_REASON, LEAST_REASON * (1 - known / max(lost, 1e-9)))
    if share >= least:
        reasons.append(f"because of {_first_of([name_of(neighbour) for neighbour in sure])}")
    elif len(neighbours) > 1 and together >= least and blame.lost and together * lost > lost - blame.lost.low:
        reasons.append("because of its neighbours together")
        share = together
    if turn is not None:
        reasons.append(f"because it waited for its turn{_who_had(turn)}")
        share += turn.seconds.value / lost
    if limit is not None:
        reasons.insert(0, f"because {limit_of_group(limit)} was lower")
        share += limit.seconds / lost
    if reasons:
        return f", {'' if share >= REASON else 'partly '}{' and '.join(reasons)}"
    return ", and no profile shows why" if together < least or neighbours[0].job is None else ""


def _first_of(names: Sequence[str]) -> str:
    """Such as "a, b, c and 2 other jobs"."""
    more = len(names) - MOST_BLAMED
    return words.listing([*names[:MOST_BLAMED], *([words.count(more, "other job")] if more > 0 else [])])


def _there(blame: Blame) -> pl.DataFrame:
    """The shares of whoever used the storages of which the job made use: on one on which it hardly was in calls, such
    as to load its program, nobody cost it anything.
    """
    spent = sum(one.own_ns for one in blame.traffic)
    hardly = [one.storage.number for one in blame.traffic if one.own_ns < LEAST_OF_JOB * spent]
    return blame.shares.remove(pl.col("storage").is_in(hardly))


def near(blame: Blame) -> list[Neighbour]:
    """The neighbours without those who used no storage of which the job made use, and cost it nothing."""
    there, least = set(_there(blame)["neighbour"]), WORTH_A_CLAUSE * (blame.lost.value if blame.lost else 0.0)
    return [one for one in blame.neighbours if one.job in there or one.lost.value > max(least, 0.0)]


def _shared_with(blame: Blame) -> str:
    """Such as "large and 2 other jobs used /scratch at the same time"; empty: nobody."""
    there = _there(blame)
    numbers, who = there["storage"].unique().to_list(), set(there["neighbour"])
    places = [place(one.storage) for one in blame.traffic if one.storage.number in numbers]
    names = _first_of([name_of(neighbour) for neighbour in blame.neighbours if neighbour.job in who])
    used = f"{names} used {words.listing(dict.fromkeys(places))} at the same time" if names else ""
    return f"{used[:1].upper()}{used[1:]}" if names.startswith(NOT_PROFILED) else used


def _there_all_the_same(blame: Blame) -> str:
    """Who used the storages of which the job made use, where it is not known what that cost."""
    took = _there(blame).group_by("neighbour").agg(pl.col("storage_seconds").sum())
    most_first = took.sort("storage_seconds", "neighbour", descending=[True, False])["neighbour"].to_list()
    is_hidden = blame.outside is not None and moved_by_no_call(blame.outside)
    beyond = max(((one.counted or 0) - one.profiled for one in blame.traffic), default=0)
    if not most_first and is_hidden and beyond >= WORTH_NAMING_BYTES:
        most_first = [None]  # nobody knows at what rate the storage serves, and how much of its time they took
    names = _first_of([NOT_PROFILED if job is None else job for job in most_first])
    used = f"{names} used the same file system at the same time."
    if most_first[:1] == [None]:
        used = f"{used[0].upper()}{used[1:]}"
    return used if names else ""


def _clauses_of_neighbours(blame: Blame) -> list[tuple[str, str]]:
    """Seconds, and what happened in them: of each neighbour that is worth a clause, and of the others together."""
    lost = blame.lost.value if blame.lost else 0.0
    told = blamed(blame)
    clauses = [
        (with_perhaps(n, beside(n.lost.value, lost)), f"while {name_of(n)} {did(n)}") for n in told[:MOST_BLAMED]
    ]
    rest = [n for n in blame.neighbours if n not in told[:MOST_BLAMED]]
    others = sum(n.lost.value for n in rest)
    if others >= WORTH_A_CLAUSE * lost:
        clauses.append(
            (beside(others, lost), f"while {words.count(len(rest), 'other neighbour')} used the same storage")
        )
    return clauses


def with_perhaps(neighbour: Neighbour, seconds: str) -> str:
    return f"perhaps {seconds}" if neighbour.lost.low <= 0 < neighbour.lost.value else seconds


def _clauses_of_the_rest(blame: Blame) -> list[tuple[str, str]]:
    """What no neighbour is blamed for: processes that end apart, what is unexplained, what was made up elsewhere."""
    lost = blame.lost.value if blame.lost else 0.0
    least = WORTH_A_CLAUSE * lost
    apart = blame.apart_seconds
    unexplained = blame.unexplained_seconds - apart
    if abs(apart) < WORTH_APART * lost:
        unexplained, apart = blame.unexplained_seconds, 0.0
    clauses = []
    if apart > 0:
        clauses.append((beside(apart, lost), "waiting for its own slowest process"))
    limit = blame.lower_limit
    if limit is not None and limit.seconds >= least:
        instead = f"{limit.told(limit.rate)} instead of {limit.told(limit.alone)} in runs alone"
        clauses.append((beside(limit.seconds, lost), f"since {limit_of_group(limit)} was lower ({instead})"))
        unexplained -= limit.seconds
    if unexplained >= least:
        clauses.append((beside(unexplained, lost), "unexplained"))
    if apart < 0:
        clauses.append((f"less {beside(-apart, lost)}", "because its processes lost unequally"))
    if unexplained <= -least:
        clauses.append((f"less {beside(-unexplained, lost)}", "made up at other times"))
    return clauses


def rest_of_loss(blame: Blame) -> str:
    """What the part of the loss is called that no neighbour is blamed for."""
    limit, rest = blame.lower_limit, blame.unexplained_seconds
    if limit is None or limit.seconds < PART_OF_REASON * rest:
        return "unexplained"
    return "lower limit" if limit.seconds >= (1 - PART_OF_REASON) * rest else "lower limit and unexplained"


def limit_of_group(limit: LowerLimit) -> str:
    return f"the limit of control group {limit.group} on {place(limit.storage)}"


def names_of(neighbours: Sequence[Neighbour]) -> list[str]:
    return ["not profiled" if neighbour.job is None else neighbour.job for neighbour in neighbours]
