"""One file of a job's node files: their bytes one after the other, damage included, copied by the kernel. A merge that
was interrupted goes on where it is known to be on the disk.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slicewise.errors import UserError

PARTIAL_SUFFIX = ".partial"
PLAN_SUFFIX = ".partial.json"
COPIED_AT_ONCE = 64 << 20
BYTES_BETWEEN_NOTES = 256 << 20
NOT_BY_COPY_FILE_RANGE = (errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)


@dataclass(frozen=True)
class Merged:
    """What came of it. resumed_bytes: of `bytes` those that an earlier attempt had copied."""

    file: Path
    files: int
    bytes: int
    resumed_bytes: int


def merge(sources: list[Path], output: Path) -> Merged:
    """Write the bytes of all sources to `output`, which must not be there. Raises UserError where it is there, where a
    source changed, or where something cannot be read or written; then what was copied stays for the next attempt."""
    if output.exists() or output.is_symlink():
        raise UserError(f"{output}: is there already, and is not overwritten; remove it, or name another file with -o")
    partial, plan = (output.with_name(output.name + suffix) for suffix in (PARTIAL_SUFFIX, PLAN_SUFFIX))
    try:
        with open(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb") as target:
            _lock(target.fileno(), output)
            may_group = all(source.stat().st_mode & 0o040 for source in sources)
            os.fchmod(target.fileno(), 0o640 if may_group else 0o600)
            resumed = noted = copied = _resume(target.fileno(), plan, sources)
            target.seek(copied)
            for source, begin, end in _parts(sources, copied):
                _copy(source, begin, end, target.fileno())
                copied += end - begin
                if copied - noted >= BYTES_BETWEEN_NOTES:
                    os.fdatasync(target.fileno())  # from there the next attempt may go on
                    _write_plan(plan, _plan_of(sources), copied)
                    noted = copied
            os.fsync(target.fileno())
            _publish(partial, output)
            plan.unlink(missing_ok=True)
    except OSError as error:
        where = error.filename or output
        raise UserError(
            f"{where}: cannot be merged ({error.strerror}); what was copied is kept: mend that and merge again"
        ) from error
    return Merged(output, len(sources), copied, resumed)


def _lock(descriptor: int, output: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UserError(f"{output}: is being merged by somebody else at this moment; wait for that") from error


def _plan_of(sources: list[Path]) -> list[list[str | int]]:
    return [[str(source.resolve()), source.stat().st_size, source.stat().st_mtime_ns] for source in sources]


def _resume(descriptor: int, plan: Path, sources: list[Path]) -> int:
    """How many bytes of an earlier attempt are good; the file is cut to them. A new plan is written where there is
    none."""
    wanted = _plan_of(sources)
    safe = 0
    if plan.exists():
        try:
            noted = json.loads(plan.read_text())
            safe, sources_then = int(noted["copied"]), noted["sources"]
        except (ValueError, KeyError, TypeError):
            safe, sources_then = 0, wanted
        if sources_then != wanted:
            partial = plan.with_name(plan.name.removesuffix(PLAN_SUFFIX) + PARTIAL_SUFFIX)
            raise UserError(
                f"{partial}: was begun when the job's files were others; remove it and {plan}, and merge again"
            )
    safe = min(safe, os.fstat(descriptor).st_size)
    os.ftruncate(descriptor, safe)
    _write_plan(plan, wanted, safe)
    return safe


def _write_plan(plan: Path, sources: list[list[str | int]], copied: int) -> None:
    new = plan.with_name(plan.name + ".new")
    new.write_text(json.dumps({"sources": sources, "copied": copied}))
    new.replace(plan)


def _parts(sources: list[Path], done: int) -> Iterator[tuple[Path, int, int]]:
    """What is left to copy after `done` bytes: (source, begin, end), none across a place where progress is noted."""
    for source in sources:
        size = source.stat().st_size
        skipped = min(done, size)
        done -= skipped
        for begin in range(skipped, size, BYTES_BETWEEN_NOTES):
            yield source, begin, min(begin + BYTES_BETWEEN_NOTES, size)


def _copy(source: Path, begin: int, end: int, target: int) -> None:
    with source.open("rb") as opened:
        while begin < end:
            moved = _move(opened.fileno(), begin, min(COPIED_AT_ONCE, end - begin), target)
            if moved == 0:
                raise UserError(f"{source}: became shorter while it was merged; merge again when nobody writes to it")
            begin += moved


def _move(source: int, begin: int, count: int, target: int) -> int:
    """Both ways leave the bytes in the kernel; the first does not even touch them where the file system can share."""
    if hasattr(os, "copy_file_range"):  # a Python that was built for an old glibc has none
        try:
            return os.copy_file_range(source, target, count, offset_src=begin)
        except OSError as error:
            if error.errno not in NOT_BY_COPY_FILE_RANGE:
                raise
    return os.sendfile(target, source, begin, count)


def _publish(partial: Path, output: Path) -> None:
    """Gives it its name unless somebody else took that meanwhile."""
    try:
        os.link(partial, output)
    except FileExistsError as error:
        raise UserError(f"{output}: came to be while it was merged, and is not overwritten; see {partial}") from error
    except OSError:
        if output.exists():
            raise
        partial.rename(output)
        return
    partial.unlink()
