"""What a job lost outside of I/O calls, in clauses. Plain text, no markup."""

from slicewise.analysis.blame.outside import BY_NO_CALL
from slicewise.analysis.blame.result import Blame, Outside
from slicewise.constants import WORTH_NAMING_BYTES
from slicewise.text import words

# A part of what was lost outside of I/O: with less in I/O, I/O is not the reason. And so many page faults are a reason.
LEAST_PART, FEWEST_FAULTS = 0.1, 100.0
# Functions of the kernel in which a thread waits for a page of a file (Linux 5.16 on, and before).
PAGE_WAITS = ("folio_wait", "__folio_lock", "wait_on_page", "__lock_page", "filemap_")
# Those in which it waits for the storage in direct I/O, and for other reasons (for room in queues, for a server).
DIRECT_WAITS = ("__iomap_dio", "iomap_dio", "blkdev_direct", "__blkdev_direct", "do_blockdev_direct", "dio_await")
STORAGE_WAITS = (
    *("io_schedule", "bit_wait_io", "out_of_line_wait_on_bit", "wait_on_buffer", "__wait_on_buffer", "submit_bio"),
    *("blk_", "rq_qos_wait", "wbt_wait", "balance_dirty", "jbd2_", "xfs_", "ext4_", "btrfs_", "rpc_", "nfs_", "ceph_"),
)


def where_outside(outside: Outside) -> str:
    """Such as: outside of I/O calls, where it computed 8.10 s more."""
    if outside.is_for_processor:
        stall = outside.stall
        if stall is None:
            return "waiting for a processor"
        share = words.percent(round(stall, 2), 2)
        return f"waiting for a processor (some program on its nodes waited for one {share} of the time)"
    if not _slept_in(outside, (*DIRECT_WAITS, *STORAGE_WAITS)):
        return f"outside of I/O calls{why_outside(outside)}"
    at = f"{'direct I/O, ' if outside.slept_at.startswith(DIRECT_WAITS) else ''}{outside.slept_at} of the kernel"
    return f"waiting for the storage (in {at}) beyond what its calls show"


def waited_in_calls(outside: Outside) -> bool:
    return outside.io_seconds >= LEAST_PART * outside.seconds


def why_outside(outside: Outside) -> str:
    """What the kernel counted meanwhile, as a clause; empty where it does not tell."""
    half = outside.seconds / 2
    if outside.loaded_seconds > half:
        return f", {words.duration(outside.loaded_seconds)} of it while its program and libraries were loaded"
    if outside.is_for_memory:
        return f", {words.duration(outside.memory_seconds)} of it because memory was short"
    if outside.work_seconds > half:
        busy = ", on processors as busy as before" if outside.paced_seconds >= LEAST_PART * outside.seconds else ""
        return f", where it computed {words.duration(outside.computed_seconds)} more{busy}"
    if outside.faults >= FEWEST_FAULTS:
        return f", where {words.number(outside.faults)} more page faults read from storage"
    if moved_by_no_call(outside):
        return f", where {BY_NO_CALL.format(moved=words.size(outside.hidden_bytes))}"
    if _slept_in(outside, PAGE_WAITS):
        return ", where its threads waited for pages of files (mapped, or read by processes without a profile)"
    if outside.slept_seconds > half:
        at = f", mostly in {outside.slept_at}" if outside.slept_at else ""
        return f", where its threads slept in the kernel{at}"
    if outside.pages_bytes >= WORTH_NAMING_BYTES:
        fetched = words.size(outside.pages_bytes)
        return f", perhaps waiting for pages of programs and libraries ({fetched} were fetched for it)"
    return ", where it is not known what it waited for"


def is_outside_alone(blame: Blame, outside: Outside) -> bool:
    """Whether next to nothing was lost in I/O calls beside what was lost outside of them."""
    in_io = blame.lost.value if blame.is_claimed and blame.lost else 0.0
    return in_io < LEAST_PART * outside.seconds


def is_hidden_io(outside: Outside) -> bool:
    slept = _slept_in(outside, (*PAGE_WAITS, *DIRECT_WAITS, *STORAGE_WAITS))
    is_unseen = _is_not_known(outside) and (outside.hidden_bytes > 0 or outside.is_idle)
    return outside.loaded_seconds > outside.seconds / 2 or slept or is_unseen


def _slept_in(outside: Outside, functions: tuple[str, ...]) -> bool:
    half = outside.seconds / 2
    return _is_not_known(outside) and half < outside.slept_seconds and outside.slept_at.startswith(functions)


def moved_by_no_call(outside: Outside) -> bool:
    return _is_not_known(outside) and outside.hidden_bytes > 0


def _is_not_known(outside: Outside) -> bool:
    """Whether processors, memory and computing do not explain most of it."""
    others = max(outside.waited_seconds, outside.memory_seconds, outside.work_seconds)
    return others <= outside.seconds / 2
