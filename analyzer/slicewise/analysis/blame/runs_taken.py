"""Which runs are taken as a job's standalone runs, which of these did its work, and why the others are not.

Digests in. A run that is found by itself is taken only where nothing speaks against its having been alone; one that
read from the page cache is none for a job that did not, whoever gave it.
"""

from collections.abc import Iterator, Sequence

import polars as pl

from slicewise.analysis.blame.in_memory import asked_no_disk
from slicewise.analysis.blame.limits import held_alike, lowered
from slicewise.analysis.blame.memory import (
    Fetched,
    did_as_much_by_calls,
    did_as_much_by_no_call,
    fetched_by,
    is_mostly_io,
    loading_of,
    most_slept,
    moved_by_no_call,
    reads_briefly,
    waited_little,
)
from slicewise.analysis.blame.result import RunTaken
from slicewise.analysis.blame.servers import BY_SERVERS, strangers_counted
from slicewise.analysis.blame.sources import NO_CALLS, Answered
from slicewise.analysis.blame.to_runtime import in_calls, process_chains
from slicewise.analysis.blame.unprofiled import unprofiled
from slicewise.analysis.calls import Rows
from slicewise.analysis.runs import storage as storages
from slicewise.analysis.runs.limits import from_disk, has_limits, limits_of
from slicewise.analysis.runs.matching import synced_otherwise
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import EQUAL_VOLUMES, LEAST_STRANGER, LITTLE_OF_RUNTIME, SECOND_NS
from slicewise.digest.activity import runtime_of
from slicewise.digest.digest import Digest
from slicewise.digest.slices import BYTES
from slicewise.scalars import real
from slicewise.statistics import NORMAL, RUNS_DIFFER
from slicewise.text import words

# Of what two runs read, the parts that came from storage differ by more than this: one of them was warm.
WARMTH_APART = 0.3
NOT_ALONE = "it was not alone"
OTHER_LIMIT = "limits of control groups that held it up, or this job, were others, and there are runs with the same"
NOT_COMPARED = "runs of different warmth are not compared"
# Reads of a smaller part of a job's bytes decide nothing.
LEAST_READ = 0.1
# Of a run's runtime: it spent so much more outside of calls than others with its command line. Of runs beside busy
# loops and other programs this was 0.38 to 0.47, and of runs of a cold and a warm program 0.07.
LEAST_HELD_UP = 0.2
# A run took so many times as long as another one that did the same: far more than RUNS_DIFFER. Those that a neighbour
# or a lower limit had slowed took 1.9 to 2.4 times as long.
SLOWED_RUN = 1.5
LOWER_LIMIT = "the limit of a control group held it up, and was lower than what this job had"


def runs_taken(
    digest: Digest,
    given: Sequence[Digest],
    found: Sequence[Digest],
    where: Sequence[Storage],
    rows: Rows,
    grid_ns: int,
    counted: pl.DataFrame | None = None,
) -> tuple[list[Digest], list[RunTaken], list[tuple[Digest, float]]]:
    """The runs that are taken, those given first; a word on each; and those that are not taken for traffic without a
    profile alone, with the seconds that this traffic can have cost them. counted: what file servers counted
    (`jobstats.read_served`).
    """
    own = fetched_by(digest) if given or found else None
    taken, told, beside_strangers = [], [], []
    known = {run.path for run in given}
    found = [one for one in found if one.path not in known]
    kind = [one for one in (digest, *found) if one.about["command"] and _asked_alike(digest, one)]
    least = min(((_outside_of_calls(one, grid_ns), one.job) for one in kind), default=(0.0, ""))
    same = [one for one in kind if _moved_alike(digest, one) and not other_warmth(own, fetched_by(one))]
    fastest = min(((_worked(one), one.job) for one in same if held_alike(where, digest, one)), default=(0.0, ""))
    for run in (*given, *found):
        its = fetched_by(run)
        why = other_warmth(own, its)
        if why and own and its:
            # What was cold may have cost next to nothing: a script of a job that syncs, or files of one that computes.
            colder, read = (digest, own) if own.of_files > its.of_files else (run, its)
            is_brief = run.path in known and reads_briefly(colder) and not read.is_by_faults
            why = "" if is_brief or (not is_mostly_io(digest) and waited_little(colder)) else why
        why = why or synced_otherwise(digest, run)
        if not why and run.path not in known:
            why = _held_up(run, least, grid_ns) if run in kind else ""
            why = why or (_slowed(run, fastest) if run in same else "")
        if not why and run.path not in known:
            why, seconds = _stranger(run, where, rows, grid_ns, counted)
            if why:
                beside_strangers.append((run, seconds))
        told.append(RunTaken(run.job, not why, why))
        if not why:
            taken.append(run)
    if any(map(has_limits, (digest, *taken))):
        alike = [run for run in taken if held_alike(where, digest, run)]
        apart = {run.job for run in taken if alike and run not in alike and run.path not in known}
        taken = [run for run in taken if run.job not in apart]
        told = [RunTaken(one.job, False, OTHER_LIMIT) if one.job in apart else one for one in told]
        lower = {run.job for run in taken if run.path not in known and _has_lower_limit(run, where, digest)}
        taken = [run for run in taken if run.job not in lower]
        told = [RunTaken(one.job, False, LOWER_LIMIT) if one.job in lower else one for one in told]
    return taken, told, _by_each_other(beside_strangers, grid_ns)


def _by_each_other(beside: Sequence[tuple[Digest, float]], grid_ns: int) -> list[tuple[Digest, float]]:
    """Runs, with the seconds that what was active beside them cost at most. beside: the same, with what it can have
    cost each by itself. Two runs that did the same say more: if it can have cost one of them 4 s more, and that one was
    in calls for 1 s longer, it cost a quarter of what it can have cost.
    """
    took = [(run, seconds, _longest_in_calls(run, grid_ns)) for run, seconds in beside]
    found = []
    for run, seconds, _ in took:
        alike = [(most, in_calls) for one, most, in_calls in took if _did_alike(run, one)]
        (least, fast), (most, slow) = min(alike), max(alike)
        more = slow - fast + NORMAL * RUNS_DIFFER * 2**0.5 * slow
        part = min(1.0, max(0.0, more) / (most - least)) if most > least else 1.0
        found.append((run, part * seconds))
    return found


def _worked(run: Digest) -> float:
    return runtime_of(run) - loading_of(run)


def _slowed(run: Digest, fastest: tuple[float, str]) -> str:
    """Why a run was slowed down by something, whatever it was. fastest: seconds of a run that did the same, or of the
    job, and whose these were.
    """
    seconds, whose = fastest
    if not seconds or _worked(run) <= SLOWED_RUN * seconds:
        return ""
    return f"it took {words.duration(_worked(run))}, and {whose}, which did the same, {words.duration(seconds)}"


def _has_lower_limit(run: Digest, where: Sequence[Storage], digest: Digest) -> bool:
    return bool(lowered(where, limits_of(where, run), run, [digest]))


def _did_alike(one: Digest, other: Digest, counts: Sequence[str] = (*BYTES, "meta_ops")) -> bool:
    pairs = [(one.about[name], other.about[name]) for name in counts]
    is_alike = all(abs(its - others) <= EQUAL_VOLUMES * max(its, others) for its, others in pairs)
    return is_alike and one.about["command"] == other.about["command"]


def _moved_alike(one: Digest, other: Digest) -> bool:
    """Likewise, but for metadata calls where bytes were moved: who looks at a clock's pace makes more in a slow run."""
    return _did_alike(one, other, BYTES if any(one.about[name] for name in BYTES) else ("meta_ops",))


def _longest_in_calls(run: Digest, grid_ns: int) -> float:
    spent = process_chains(run, grid_ns).calls.group_by("process").agg(seconds=in_calls().sum())["seconds"].max()
    return real(spent or 0.0)


def _outside_of_calls(run: Digest, grid_ns: int) -> float:
    return max(0.0, runtime_of(run) - loading_of(run) - _longest_in_calls(run, grid_ns))


def _held_up(run: Digest, least: tuple[float, str], grid_ns: int) -> str:
    """Why a run was slowed down by more than I/O, such as by other programs on its processors: with the same command
    line it would have computed for as long as others did. least: seconds outside of calls, and whose these were.
    """
    seconds, whose = least
    took = _outside_of_calls(run, grid_ns)
    if not run.fetched.is_empty():
        return ""  # how long it waited for pages of mapped files is an estimate, of looks
    if took - seconds < LEAST_HELD_UP * runtime_of(run):
        return ""
    return f"it took {words.duration(took)} outside of I/O calls, and {whose} {words.duration(seconds)}"


def other_warmth(own: Fetched | None, run: Fetched | None) -> str:
    """Why a run says nothing of the job: one of them read from storage what the other one had in memory. Empty: neither
    did, or page faults fetched it for the job again and again, for which memory that was short is the reason.
    """
    if own is None or run is None:
        return ""
    least = LEAST_READ * max(own.read + own.wrote, run.read + run.wrote)
    is_little = max(own.read, run.read) < least or abs(own.of_files - run.of_files) < least
    is_by_memory = own.is_again and own.is_by_faults
    if is_little or is_by_memory or abs(own.from_storage - run.from_storage) <= WARMTH_APART:
        return ""
    if own.is_by_faults or run.is_by_faults:
        its, here = (words.size(one.of_files) for one in (run, own))
        return f"{its} were fetched into the page cache for it, and for this job {here}: {NOT_COMPARED}"
    its, here = (words.percent(1 - one.from_storage, 2) for one in (run, own))
    return f"it read {its} of its bytes from the page cache, and this job {here}: {NOT_COMPARED}"


def _stranger(
    run: Digest, where: Sequence[Storage], rows: Rows, grid_ns: int, counted: pl.DataFrame | None
) -> tuple[str, float]:
    """What counters saw of others while a run went on, and the seconds of the storage's time that this can have taken:
    at the rate at which the storage moved the median byte then, or of requests in the slice with most; and no longer
    than the run slept in the kernel.
    """
    long = _long_on(run, grid_ns)
    numbers = [one.number for one in where if one.number in long and not asked_no_disk(one, run)]
    if not numbers or (run.node_slices.is_empty() and counted is None):
        return "", 0.0
    its = storages.describe_all(numbers, [run])
    own = rows.of([run], grid_ns)
    for whose, counter, what, others, everything, most in _seen_of_others(run, its, own, grid_ns, counted):
        if everything and others > LEAST_STRANGER * everything:
            much = words.size(others) if what == "bytes" else f"{others:,} {what}"
            why = f"{NOT_ALONE}: {counter} counted {much} of {whose} meanwhile"
            seconds, slept = others / max(most, 1) * grid_ns / SECOND_NS, most_slept(run)
            return why, seconds if slept is None else min(seconds, slept)
    return "", 0.0


def _long_on(run: Digest, grid_ns: int) -> set[int]:
    """The storages on which a run, or one of the chains of its processes, spent a part of its runtime that a stranger
    there can have made longer to any purpose: in calls, or waiting for mapped files. To load a program takes less of
    most.
    """
    calls = process_chains(run, grid_ns).calls.select("process", "storage", seconds=in_calls())
    waits = run.fetched.select("process", "storage", seconds=pl.col("waited_ns") / SECOND_NS)
    both = pl.concat([calls, waits], how="vertical_relaxed").group_by("process", "storage").agg(pl.col("seconds").sum())
    return set(both.filter(pl.col("seconds") >= LITTLE_OF_RUNTIME * runtime_of(run))["storage"])


def _seen_of_others(
    run: Digest, where: Sequence[Storage], own: pl.DataFrame, grid_ns: int, counted: pl.DataFrame | None
) -> Iterator[tuple[str, str, str, int, int, int]]:
    """Whose bytes or requests were counted while a run went on, by what counter, which of both, how many, of how many,
    and how many of all in a slice in which it was busy.
    """
    if not run.node_slices.is_empty():
        traffic, rest, _ = unprofiled(run, [], where, own, grid_ns)
        for one in traffic:
            there = rest.filter(pl.col("storage") == one.storage.number)
            others = int(there.select(pl.sum_horizontal(BYTES).sum()).item() or 0)
            its = from_disk(own.filter(pl.col("storage") == one.storage.number), one.storage, [run])
            by_slice = pl.concat([there, its.select(there.columns)])
            moved = by_slice.group_by("slice").agg(bytes=pl.sum_horizontal(BYTES).sum())["bytes"].sort()
            # Not the most: what caches took is written in bursts.
            usual = int(moved[int((moved.cum_sum() < moved.sum() / 2).sum())]) if len(moved) else 0
            yield "programs without a profile", one.counter, "bytes", others, one.counted or 0, usual
    if counted is not None:
        for what, amounts in strangers_counted(counted, run, where, own, grid_ns).items():
            yield "other jobs", BY_SERVERS, what, *amounts


def _asked_alike(digest: Digest, run: Digest) -> bool:
    """Whether a run had the job's command line, as far as is known: another one may compute for another time."""
    its, own = run.about["command"], digest.about["command"]
    return its == own or not its or not own


def like(digest: Digest, runs: Sequence[Digest], given: Sequence[Digest], sure: Answered) -> list[Digest]:
    """The runs alone that did what the job did, with its command line where nobody gave them. Where it fetched mapped
    files again and again, the command line and what they did by calls decide; where no call shows most of what it
    moved, the command line and how much that was.
    """
    if moved_by_no_call(digest):
        return [run for run in runs if did_as_much_by_no_call(digest, run)]
    if sure.chosen is None:
        return []
    chosen = [run for run in runs if run.job in sure.chosen.runs and (run in given or _asked_alike(digest, run))]
    if sure.chosen.did_as_much:
        return chosen
    fetched = fetched_by(digest)
    if fetched is None or not (fetched.is_again and fetched.is_by_faults):
        return []
    its = [(run, fetched_by(run)) for run in chosen if run.about["command"] == digest.about["command"]]
    return [run for run, one in its if one is not None and did_as_much_by_calls(fetched, one)]


def asked_otherwise(digest: Digest, runs: Sequence[Digest], sure: Answered) -> list[Digest]:
    """The runs that count for a job's I/O and did as much, with another command line, where none had its own."""
    if sure.chosen is None or not sure.chosen.did_as_much:
        return []
    return [run for run in runs if run.job in sure.chosen.runs and not _asked_alike(digest, run)]


def as_other_work(run: RunTaken, sure: Answered, is_known: bool, same_work: Sequence[Digest]) -> RunTaken:
    """A run that was taken, if any source did, or it is of `same_work`; else why none did: it is of another size, say,
    or of another command line. is_known: an answer is.
    """
    if any(one.job == run.job for one in same_work):
        return RunTaken(run.job, True, "")
    if not run.is_taken and sure.chosen is not None and run.job in sure.chosen.runs:
        return RunTaken(run.job, True, "")  # what it had beside it can have cost it little
    is_used = is_known or sure.chosen is None or sure.chosen.did_as_much
    asked = [base for base in sure.baselines if run.job in base.runs]
    if not run.is_taken or (is_used and any(base.seconds is not None for base in asked)):
        return run
    if all(base.refused == NO_CALLS for base in sure.baselines):
        return RunTaken(run.job, False, "no call of this job is known that could be compared")
    if run.job in sure.asked_otherwise:
        return RunTaken(run.job, False, "its command line was another one, and there are runs with this job's own")
    if is_used and asked:
        size = "it is of another size, and " if asked[0].source == "other sizes" else ""
        return RunTaken(run.job, False, f"{size}{asked[0].refused}")
    return RunTaken(run.job, False, "it is of another size: it moved other amounts than this job")


def speed_notes(sure: Answered, runs: Sequence[RunTaken]) -> list[str]:
    """Where a run that had traffic beside it shows that the storage is not always as fast as in those taken."""
    slow = sure.chosen.slower_run if sure.chosen is not None else ""
    return [
        f"{run.job} did the same and took longer than that traffic can have cost it ({run.why_not}): the storage was "
        "slower then, and may have been now"
        for run in runs
        if slow and run.job == slow
    ]


def why_none_taken(runs: Sequence[RunTaken]) -> list[str]:
    """Where no run is left: why the first one is none, unless that is told elsewhere."""
    others = [run for run in runs if "page cache" not in run.why_not and not run.why_not.startswith(NOT_ALONE)]
    return [f"{run.job} is no standalone run of it: {run.why_not}" for run in others[:1] if not _is_any_taken(runs)]


def _is_any_taken(runs: Sequence[RunTaken]) -> bool:
    return any(run.is_taken for run in runs)


def cache_notes(digest: Digest, runs: Sequence[RunTaken]) -> list[str]:
    """Where no run is left because of the page cache, it is the reason why jobs take longer or less long."""
    warm = [run for run in runs if "page cache" in run.why_not]
    if not warm or _is_any_taken(runs):
        return []
    fetched, short = fetched_by(digest), ""
    if fetched is not None and fetched.is_again:
        again = words.percent(fetched.again.value, 2)
        short = f". Memory was short: {again} of what was fetched for it had been in memory before, and was evicted"
    return [
        f"{words.sentence(f'{warm[0].job} is no standalone run of it: {warm[0].why_not}')[:-1]}. The page cache alone "
        f"makes such runs differ{short}"
    ]
