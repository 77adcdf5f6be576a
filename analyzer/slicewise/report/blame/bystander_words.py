"""Who used a job's storage meanwhile and took next to none of its time, in words."""

from slicewise.analysis.blame.result import Blame
from slicewise.analysis.blame.uncontended import NOBODY
from slicewise.constants import LITTLE_OF_RUNTIME
from slicewise.text import words


def was_by_itself(blame: Blame) -> bool:
    """Whether the job used storages, and nobody else is known to have taken time of them."""
    return not blame.slices.is_empty() and blame.shares.is_empty()


def is_for_want_of_others(blame: Blame) -> bool:
    """Whether its time alone is not known, and nobody who could have made it longer."""
    return was_by_itself(blame) and blame.unknown_because.endswith(NOBODY)


def others_there(blame: Blame, places: str, nobody: str = "") -> str:
    """Such as "the only other job known to have used it then, tiny, moved 3.16 KiB". places: what they used; nobody:
    what is said where there was none.
    """
    there = blame.bystanders
    if not there:
        return nobody or f"no other job is known to have used {places} then"
    jobs = "job" if len(there) == 1 else "jobs"
    amounts = zip(*((one.moved, one.meta_ops, one.seconds) for one in there), strict=True)
    moved, calls, seconds = (sum(some) for some in amounts)
    did = f"moved {words.size(moved)}" if moved else f"made {words.count(round(calls), 'metadata call')}"
    if seconds >= LITTLE_OF_RUNTIME * blame.runtime_seconds:
        did += f" and waited {words.duration(seconds)} in calls there"
    return f"the only other {jobs} known to have used {places} then, {words.some([one.job for one in there])}, {did}"
